#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps a second of the simulator beside warp.sim and Newton on one CPU thread, by turns in one run.

    benchmarks/sim_rivals.py --vpd build/release/vpd --warp WARP_PYTHON --newton NEWTON_PYTHON

WARP_PYTHON has `pip install warp-lang==1.9.1` (the last release with warp.sim), NEWTON_PYTHON `pip install newton`;
leave one out and it is not measured. The scenes are those of `vpd bench sim`: the same cells, masses, stiffnesses and
time step, 64 steps a measurement, f32. A rival's triangles of the surface are taken away, so it steps tets alone; its
states are allocated beforehand. Bodies that meet are spheres at their particles for a rival, all but touching those of
their own body; vpd has particles and triangles. The gradient is that of the sum of the last positions. Prints medians and ratios.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

STEPS, DT = 64, 1e-4
BEAMS = {1000: (8, 5, 5), 10000: (20, 10, 10), 100000: (50, 20, 20)}
NET_SIDE = 71
RADIUS = 0.0499  # of particles, in metres


def add_beam(builder, wp, cells, ground):
    builder.add_soft_grid(pos=wp.vec3(0, 0, 0), rot=wp.quat_identity(), vel=wp.vec3(0, 0, 0), dim_x=cells[0], dim_y=cells[1],
                          dim_z=cells[2], cell_x=0.1, cell_y=0.1, cell_z=0.1, density=1000.0, k_mu=5e4, k_lambda=5e4,
                          k_damp=10.0, fix_left=not ground, tri_ke=0.0, tri_ka=0.0, tri_kd=0.0, tri_drag=0.0, tri_lift=0.0)


def add_blocks(builder, wp, cells):
    for at in ((0, 0, 0), (0.03, 0.1 * cells[1] + 2 * RADIUS - 0.001, 0.02)):  # one upon the other, 1 mm deep
        builder.add_soft_grid(pos=wp.vec3(*at), rot=wp.quat_identity(), vel=wp.vec3(0, 0, 0), dim_x=cells[0], dim_y=cells[1],
                              dim_z=cells[2], cell_x=0.1, cell_y=0.1, cell_z=0.1, density=1000.0, k_mu=5e4, k_lambda=5e4,
                              k_damp=10.0, tri_ke=0.0, tri_ka=0.0, tri_kd=0.0, tri_drag=0.0, tri_lift=0.0)


def add_net(builder, wp):
    for i in range(NET_SIDE * NET_SIDE):
        mass = 0.0 if i in (0, NET_SIDE - 1) else 0.01
        builder.add_particle(pos=wp.vec3(0.1 * (i % NET_SIDE), 0, 0.1 * (i // NET_SIDE)), vel=wp.vec3(0, 0, 0), mass=mass)
    for i in range(NET_SIDE * NET_SIDE):
        if i % NET_SIDE + 1 < NET_SIDE:
            builder.add_spring(i, i + 1, ke=1000.0, kd=0.1, control=0.0)
        if i // NET_SIDE + 1 < NET_SIDE:
            builder.add_spring(i, i + NET_SIDE, ke=1000.0, kd=0.1, control=0.0)


def make(rival, wp, scene):
    """The model and a function that steps from one state to the next."""
    if rival == "warp":
        import warp.sim as lib
        builder = lib.ModelBuilder()
    else:
        import newton as lib
        builder = lib.ModelBuilder(up_axis=lib.Axis.Y)
    kind, tets = scene
    if kind == "net":
        add_net(builder, wp)
    elif kind == "meet":
        add_blocks(builder, wp, BEAMS[tets // 2])
    else:
        add_beam(builder, wp, BEAMS[tets], kind == "ground")
    if rival == "newton" and kind == "ground":
        builder.add_ground_plane()
    model = builder.finalize(requires_grad=True)
    model.tri_count = 0
    if kind == "meet":
        model.particle_radius.fill_(RADIUS)
        model.particle_max_radius = RADIUS
        model.particle_ke, model.particle_kd, model.particle_kf, model.particle_mu = 2e3, 2.0, 5.0, 0.4
        model.particle_grid.reserve(model.particle_count)
    model.edge_count = 0
    model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_kf, model.soft_contact_mu = 1e4, 10.0, 10.0, 0.5
    if rival == "warp":
        if kind != "meet":
            model.particle_max_radius = 0.0  # no contact among particles
        model.ground = kind == "ground"
        integrator = lib.SemiImplicitIntegrator()

        def step(before, after):
            before.clear_forces()
            if kind == "meet":
                model.particle_grid.build(before.particle_q, radius=2 * RADIUS)
            integrator.simulate(model, before, after, DT)
    else:
        if kind != "meet":
            model.particle_grid = None  # no contact among particles
        solver = lib.solvers.SolverSemiImplicit(model, enable_tri_contact=False)
        control = model.control()

        contacts = model.collide(model.state()) if kind == "ground" else None  # once, as for the steps of one frame

        def step(before, after):
            before.clear_forces()
            solver.step(before, after, control, contacts, DT)
    return model, step


def rate(rival, scene, repeat):
    import warp as wp
    wp.config.quiet = True
    wp.init()
    wp.set_device("cpu")

    @wp.kernel
    def add_up(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(out, 0, x[i][0] + x[i][1] + x[i][2])

    model, step = make(rival, wp, scene)
    states = [model.state(requires_grad=True) for _ in range(STEPS + 1)]
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    forward, both = [], []
    for i in range(repeat + 1):
        start = time.perf_counter()
        for n in range(STEPS):
            step(states[n], states[n + 1])
        between = time.perf_counter()
        loss.zero_()
        with wp.Tape() as tape:
            for n in range(STEPS):
                step(states[n], states[n + 1])
            wp.launch(add_up, dim=model.particle_count, inputs=[states[-1].particle_q], outputs=[loss])
        tape.backward(loss)
        end = time.perf_counter()
        tape.zero()
        if i:  # the first compiles and warms up
            forward.append(between - start)
            both.append(end - between)
    return {"forward": STEPS / statistics.median(forward), "both": STEPS / statistics.median(both)}


def ours(vpd, repeat):
    lines = subprocess.run([vpd, "bench", "sim", "--json", "--device", "cpu", "--repeat", str(repeat)], check=True,
                           capture_output=True, text=True, env=dict(os.environ, VPD_THREADS="1")).stdout.splitlines()
    out = {}
    for row in map(json.loads, lines):
        if row["bench"] != "sim" or row["precision"] != "f32" or row["threads"] != 1:
            continue
        scene = {"beam": ("beam", row["tets"]), "beam on ground": ("ground", row["tets"]), "net of springs": ("net", 0),
                 "blocks that meet": ("meet", row["tets"])}
        if row["scene"] in scene:
            out[scene[row["scene"]]] = {"forward": row["steps_per_second"], "both": row["with_gradient"]}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vpd", default="build/release/vpd")
    parser.add_argument("--warp", help="a Python with warp-lang 1.9.1")
    parser.add_argument("--newton", help="a Python with newton")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--child", nargs=3, metavar=("RIVAL", "KIND", "TETS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        rival, kind, tets = arguments.child
        print(json.dumps(rate(rival, (kind, int(tets)), arguments.repeat)))
        return 0
    scenes = [("beam", 1000), ("beam", 10000), ("beam", 100000), ("ground", 1000), ("ground", 10000),
              ("ground", 100000), ("meet", 2000), ("meet", 20000), ("net", 0)]
    pythons = {"warp": arguments.warp, "newton": arguments.newton}
    found = {}
    for _ in range(arguments.turns):
        for scene, row in ours(arguments.vpd, arguments.repeat).items():
            found.setdefault(("vpd", scene), []).append(row)
        for scene in scenes:
            for rival in filter(pythons.get, pythons):
                command = [pythons[rival], __file__, "--repeat", str(arguments.repeat), "--child", rival, scene[0], str(scene[1])]
                child = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="1"))
                if child.returncode:
                    print(f"{rival}, {scene}: {child.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                    continue
                found.setdefault((rival, scene), []).append(json.loads(child.stdout.splitlines()[-1]))
    print(f"{'scene':16}{'who':8}{'forward':>10}{'gradient':>10}  ours over it")
    for scene in scenes:
        for who in ("vpd", *pythons):
            rows = found.get((who, scene))
            if not rows or ("vpd", scene) not in found:
                continue
            value = {k: statistics.median(r[k] for r in rows) for k in ("forward", "both")}
            base = {k: statistics.median(r[k] for r in found[("vpd", scene)]) for k in value}
            ratio = "" if who == "vpd" else f"  {base['forward'] / value['forward']:.1f} / {base['both'] / value['both']:.1f}"
            print(f"{scene[0] + ' ' + str(scene[1] or ''):16}{who:8}{value['forward']:10.0f}{value['both']:10.0f}{ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
