# SPDX-License-Identifier: Apache-2.0
"""Writes tests/reference/ops.h5: reference values of the C program's operations and modules, in double precision.

    python benchmarks/pytorch/reference.py [-o tests/reference/ops.h5]

Layout. One group per case, "op/variant". In each:
    attributes       scalars: sizes, constants and options by their names in docs/model.md
    in/NAME          inputs and weights (float32: exact in both precisions; int32; uint8; uint64 keys), weights by their names
    out              the result (float64, or int32, ..), one dataset
    grad_out         the gradient that is fed into out (float32)     } only for cases with
    grad/NAME        d sum(out * grad_out) / d in/NAME (float32: double, rounded) } gradients
Constants that a case does not name have their values in docs/model.md. Attribute `act` is silu or none. Outputs with several
parts are concatenated along the last axis in the order of the attribute `columns`. The file is small on purpose and is the
same bit for bit each time (no time stamps; fixed Philox streams).

Cases: philox/*, linear/*, conv2d/*, group_norm/*, average_pool/*, upsample/*, message/*, update/*, mlp/*,
knn/*, voxel/*, nodes/*, particles/*, moving_flag/*, unproject/*, radii/*, observation/*, flow_between/*, encoder/*, step/*, rings/*,
shade/*, composite/*, place/*, render/*.
"""
import argparse
import os

import h5py
import numpy as np
import torch
import torch.nn.functional as F

from vpd_torch import config, encoder, flow, gnn, layers, neighbours, params, particles, philox, renderer

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
neighbours.EXACT = True
counter = [0]


def normal(*shape, scale=1.0):
    """float32 values, so that both precisions of the C program read the same inputs."""
    counter[0] += 1
    n = int(np.prod(shape)) if shape else 1
    r = philox.random4(7, philox.TEST, counter[0], 0, np.arange(n))
    u, v = (r[:, 0] + 0.5) * 2.0 ** -32, r[:, 1] * 2.0 ** -32
    value = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v) * scale
    return torch.tensor(value.astype(np.float32).astype(np.float64).reshape(shape))


def unit(*shape):
    counter[0] += 1
    u = philox.uniform(7, philox.TEST, counter[0], 1, np.arange(int(np.prod(shape))))
    return torch.tensor(u.astype(np.float64).reshape(shape))


class Writer:
    def __init__(self, path):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        self.file = h5py.File(path, "w", libver=("v110", "v110"))

    def _put(self, group, name, value):
        value = np.asarray(value)
        if "/" in name:
            group = group.require_group(name.split("/")[0])
            name = name.split("/", 1)[1]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_obj_track_times(False)
        if value.size >= 1000:
            plist.set_chunk(value.shape)
            plist.set_shuffle()
            plist.set_deflate(9)
        elif value.nbytes:  # small: within the object header
            plist.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple(value.shape) if value.ndim else h5py.h5s.create(h5py.h5s.SCALAR)
        dataset = h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(value.dtype), space, plist)
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(value))

    def _group(self, name, attributes):
        group = self.file.create_group(name)
        for key, value in attributes.items():
            group.attrs[key] = value
        return group

    def plain(self, name, inputs, out, **attributes):
        """A case without gradients; `inputs` are arrays or tensors."""
        group = self._group(name, attributes)
        for key, value in inputs.items():
            self._put(group, "in/" + key, narrow(value))
        out = np.asarray(out)
        self._put(group, "out", out.astype(np.int32) if out.dtype == np.int64 else out)

    def case(self, name, function, inputs, fixed=(), **attributes):
        """function(dict of tensors) -> out; gradients of every floating input but `fixed`."""
        tensors = {k: (v.detach().clone() if torch.is_tensor(v) else torch.tensor(v)) for k, v in inputs.items()}
        active = [k for k, v in tensors.items() if v.is_floating_point() and k not in fixed]
        for key in active:
            tensors[key].requires_grad_()
        out = function(tensors)
        assert torch.isfinite(out).all(), name
        grad_out = normal(*out.shape)
        grads = torch.autograd.grad((out * grad_out).sum(), [tensors[k] for k in active], allow_unused=True)
        group = self._group(name, attributes)
        for key, value in tensors.items():
            self._put(group, "in/" + key, narrow(value))
        self._put(group, "out", out.detach().numpy())
        self._put(group, "grad_out", grad_out.numpy().astype(np.float32))
        for key, g in zip(active, grads):
            if g is None:
                g = torch.zeros_like(tensors[key])
            self._put(group, "grad/" + key, g.numpy().astype(np.float32))


def narrow(value):
    value = value.detach().numpy() if torch.is_tensor(value) else np.asarray(value)
    if value.dtype == np.float64:
        assert np.array_equal(value, value.astype(np.float32), equal_nan=True), "inputs must be exact in float32"
        return value.astype(np.float32)
    return value.astype(np.int32) if value.dtype == np.int64 else value


def weights(c, prefix, shapes=None, scale=1.0):
    """Random weights of all parameters that begin with `prefix`: nothing is left at zero."""
    out = {}
    for name, (shape, fan_in) in (shapes or params.shapes(c)).items():
        if name.startswith(prefix):
            if len(shape) == 1:
                out[name] = normal(*shape, scale=0.2) + (1.0 if fan_in == "one" else 0.0)
            else:
                out[name] = normal(*shape, scale=scale / np.sqrt(np.prod(shape[:-1])))
            out[name] = out[name].float().double()
    return out


def ops(w):
    x, W, b = normal(5, 3), normal(3, 4), normal(4)
    for act, f in (("none", lambda t: t), ("silu", F.silu)):
        w.case(f"linear/{act}", lambda t: f(t["x"] @ t["weight"] + t["bias"]), dict(x=x, weight=W, bias=b), act=act)
    counter[0] += 1  # of a case that is gone: the numbers of later cases stay
    w.case("linear/one_row", lambda t: F.silu(t["x"] @ t["weight"] + t["bias"]),
           dict(x=normal(1, 7), weight=normal(7, 1), bias=normal(1)), act="silu")
    for name, shape, cout in (("odd", (2, 5, 3, 3), 4), ("one_pixel", (1, 1, 1, 2), 3)):
        w.case(f"conv2d/{name}", lambda t: encoder.conv({"c.weight": t["weight"], "c.bias": t["bias"]}, "c",
                                                        t["x"].permute(0, 3, 1, 2)).permute(0, 2, 3, 1),
               dict(x=normal(*shape), weight=normal(3, 3, shape[3], cout, scale=0.4), bias=normal(cout)))
    for name, shape in (("groups_8", (2, 3, 2, 16)), ("groups_6", (1, 2, 2, 12)), ("groups_4", (2, 3, 3, 4))):
        w.case(f"group_norm/{name}_silu",
               lambda t: F.silu(encoder.group_norm({"n.gain": t["gain"], "n.offset": t["offset"]}, "n",
                                                   t["x"].permute(0, 3, 1, 2))).permute(0, 2, 3, 1),
               dict(x=normal(*shape), gain=normal(shape[3]), offset=normal(shape[3])), act="silu",
               groups=encoder.groups(shape[3]), eps=1e-5)
        counter[0] += 4 if name == "groups_8" else 0  # of a case that is gone
    counter[0] += 4  # of a case that is gone
    w.case("average_pool/even", lambda t: F.avg_pool2d(t["x"].permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1), dict(x=normal(2, 4, 6, 3)))
    w.case("upsample/nearest", lambda t: F.interpolate(t["x"].permute(0, 3, 1, 2), scale_factor=2).permute(0, 2, 3, 1),
           dict(x=normal(2, 2, 3, 3)))


def message_case(w, name, sender, receiver, edge, C=8, rows=5, E=9):
    """Edges in the order given; `from` and `to` are rows of sender and receiver inputs."""
    shapes = {}
    params._message(shapes, "X", sender, receiver, edge, C)
    inputs = weights(None, "X", shapes)
    counter[0] += 1
    index = philox.random4(7, philox.TEST, counter[0], 0, np.arange(E)).astype(np.int64)
    inputs["from"], inputs["to"] = torch.tensor(index[:, 0] % rows), torch.tensor(index[:, 1] % rows)
    for part, width, n in (("sender", sender, rows), ("receiver", receiver, rows), ("edge", edge, E)):
        if width:
            inputs[part] = normal(n, width)

    def run(t):
        first = t["X.bias0"]
        if sender:
            first = first + (t["sender"] @ t["X.sender"])[t["from"]]
        if receiver:
            first = first + (t["receiver"] @ t["X.receiver"])[t["to"]]
        if edge:
            first = first + t["edge"] @ t["X.edge"]
        return layers.message(t, "X", first, F.silu)
    w.case(f"message/{name}", run, inputs, act="silu")


def small_networks(w):
    for name, sizes in (("sender_receiver_edge", (6, 5, 4)), ("sender_edge", (6, 0, 4)), ("edge", (0, 0, 4)),
                        ("sender_receiver", (6, 5, 0))):
        message_case(w, name, *sizes)
    for kind, run in (("update", layers.update), ("mlp", layers.mlp)):
        shapes = {}
        params._mlp(shapes, "X", (7, 8, 8, 8 if kind == "update" else 4), norm=kind == "update")
        w.case(f"{kind}/plain", lambda t: run(t, "X", t["x"], F.silu), dict(x=normal(6, 7), **weights(None, "X", shapes)), act="silu")
    counter[0] += 64  # of cases that are gone


def integers(w):
    index = np.array([0, 1, 2, 12345, 2 ** 32 - 1, 2 ** 32 + 5], np.uint64)
    w.plain("philox/random4", dict(index=index), philox.random4(3, philox.NODES, 17, 5, index), seed=3, purpose=philox.NODES,
            step=17, episode=5)
    w.plain("philox/uniform", dict(index=index), philox.uniform(3, philox.NODES, 17, 5, index), seed=3, purpose=philox.NODES,
            step=17, episode=5)
    grid = torch.cartesian_prod(*[torch.arange(4.0)] * 3)[philox.random4(1, 8, 0, 0, np.arange(64))[:, 0].argsort()][:40]
    for name, query, data, k in (("ties", grid[:15], grid, 5), ("random", normal(20, 3), normal(33, 3), 4),
                                 ("seven", normal(12, 7), normal(25, 7), 6), ("fewer_than_k", normal(3, 3), normal(2, 3), 4)):
        w.plain(f"knn/{name}", dict(query=query, data=data), neighbours.knn(query, data, k), k=k)
    w.plain("knn/others", dict(data=grid), neighbours.knn(grid, grid, 3, torch.arange(len(grid))), k=3)
    x = (normal(120, 3) * torch.tensor([0.6, 0.6, 0.05])).float().numpy()
    keys = philox.key64(2, philox.PARTICLES, 4, 6, np.arange(120) * 3)
    for n in (10, 50, 119, 200):
        w.plain(f"voxel/{n}", dict(x=x, keys=keys), particles.choose_voxel(x, keys, n, 2.0), n=n, X=2.0)
    inside = (np.abs(x) <= 0.5).all(1)
    for name, sampling, n, box in (("uniform", "uniform", 40, None), ("voxel", "voxel", 40, inside), ("voxel_no_box", "voxel", 40, None),
                                   ("voxel_few_outside", "voxel", 90, inside), ("voxel_few_inside", "voxel", 100, np.arange(120) < 20)):
        c = config.Config(sampling=sampling, N=n)
        data = dict(x=x, keys=keys) if box is None else dict(x=x, keys=keys, inside=box.astype(np.uint8))
        w.plain(f"particles/{name}", data, particles.choose_particles(c, x, keys, box), N=n, X=2.0, moving_share=0.25, inside_share=0.7,
                sampling=sampling, seed=2, step=4, episode=6)
    # the last: 11 static points
    for name, n, every in (("moving", 40, 3), ("moving_few", 60, 13), ("moving_many", 60, 1.1)):
        c, flags = config.Config(N=n), (np.arange(120) % every < 1).astype(np.float32)
        w.plain(f"particles/{name}", dict(x=x, keys=keys, inside=inside.astype(np.uint8), m=flags),
                particles.choose_particles(c, x, keys, inside, flags), N=n, X=2.0, moving_share=0.25, inside_share=0.7, sampling="voxel",
                seed=2, step=4, episode=6)
    c = config.Config(M=12, seed=5)
    w.plain("nodes/random", dict(x=x), particles.choose_nodes(c, x, 3, 2, 6), M=12, X=2.0, seed=5, step=3, rollout_step=2, episode=6)
    c = config.Config(r=0.1)
    w.plain("radii/per_particle", dict(x=x), particles.radii(c, x.astype(np.float64)), r=0.1)


def camera(angle, position):
    """OpenCV camera at `position` that looks at the origin, rolled by `angle`."""
    z = -np.asarray(position, np.float64)
    z /= np.linalg.norm(z)
    x = np.cross(z, [0.0, 0.0, 1.0])
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    ca, sa = np.cos(angle), np.sin(angle)
    pose = np.eye(4)
    pose[:3, :3] = np.stack([ca * x + sa * y, -sa * x + ca * y, z], 1)
    pose[:3, 3] = position
    return pose


def geometry_cases(w):
    Kc = np.array([[[9.0, 0, 4.25], [0, 8.5, 3.125], [0, 0, 1]]] * 2)
    pose = np.stack([camera(0.1, [1.0, 0.4, 0.8]), camera(-0.2, [-0.6, 1.1, 0.7])]).astype(np.float32).astype(np.float64)
    depth = (1.2 + 0.3 * unit(2, 6, 8)).float().numpy()
    depth[0, 2, 3], depth[1, 0, 0] = 0, np.nan
    x, valid = particles.unproject(depth, Kc, pose)
    w.plain("unproject/two_views", dict(depth=depth, Kc=Kc, pose=pose),
            np.concatenate([x, valid[..., None]], -1), columns="x (3), valid (then x is of no meaning)")
    other = (depth + np.where(unit(2, 6, 8).numpy() < 0.4, 0.05, 0.001)).astype(np.float32)
    moved = pose.copy()
    moved[0] = camera(0.15, [1.02, 0.43, 0.78]).astype(np.float32)
    for name, to in (("fixed", pose), ("moving", moved)):
        flag = particles.moving_flag(depth, Kc, pose, other, to, 0.02)
        w.plain(f"moving_flag/{name}", dict(depth=depth, other_depth=other, Kc=Kc, pose=pose, other_pose=to),
                np.where(valid, flag, 0).astype(np.float32), zm=0.02)


def observation_case(w):
    """From images to chosen particles and their confirmed flags: a plate slides before a wall."""
    c = config.Config(N=200, X=2.0, lc=1.0, zm=0.015, ell=0.2, seed=3)
    V, H, W = 2, 12, 15
    Kc = np.array([[[14.0, 0, 7.5], [0, 14.0, 6.0], [0, 0, 1]]] * V)
    pose = np.stack([camera(0.1, [1.0, 0.4, 0.8]), camera(-0.2, [-0.6, 1.1, 0.7])]).astype(np.float32).astype(np.float64)
    row, column = np.meshgrid(np.arange(H), np.arange(W), indexing="ij")
    depth, rgb = np.empty((2, V, H, W), np.float32), np.empty((2, V, H, W, 3), np.uint8)
    noise = (unit(2, V, H, W, 3).numpy() * 30).astype(np.uint8)
    for t in range(2):
        plate = (row >= 3) & (row < 9) & (column >= 3 + 2 * t) & (column < 9 + 2 * t)
        depth[t] = np.where(plate, 1.0 - 0.02 * t, 1.5 + 0.01 * column)
        rgb[t] = np.where(plate[..., None], [180, 60, 40], [90, 120, 150]) + noise[t]
    number = (np.arange(V)[:, None, None] * H + row) * W + column
    columns = []
    for t in (1, 0):
        x, valid = particles.unproject(depth[t], Kc, pose)
        m = particles.moving_flag(depth[t], Kc, pose, depth[1 - t], pose, c.zm).ravel()
        x, colour = x.reshape(-1, 3).astype(np.float32), (rgb[t].reshape(-1, 3) / np.float32(255)).astype(np.float32)
        keys = philox.key64(c.seed, philox.PARTICLES, 4, 6, number.ravel())
        m = particles.confirmed(c, x, colour, m)
        chosen = particles.choose_particles(c, x, keys, None, m)
        columns += [chosen, m[chosen]]
    w.plain("observation/two_views", dict(rgb=rgb, depth=depth, Kc=Kc, pose=pose), np.stack(columns, 1).astype(np.int32),
            columns="pixel, m of the present particles; the same of the past", N=c.N, X=c.X, lc=c.lc, zm=c.zm, ell=c.ell, seed=c.seed, step=4, episode=6,
            moving_share=c.moving_share, moving_vote=c.moving_vote)


LENGTHS = dict(X=1.0, lc=0.5, r=0.12)
SMALL = dict(C=6, L=1, D=5, M=7, k_node_to_node=4, seed=5, **LENGTHS)


def small_state(c, N=(20, 24), later=False):
    """Two sets on a wavy sheet with a moving blob; the same particles in both when `later`."""
    if later:
        N = (24, 24)
    state = {}
    base = normal(24, 3, scale=0.2)
    for t, n in enumerate(N):
        x = base[:n] + normal(n, 3, scale=0.02) if t == 0 or later else normal(n, 3, scale=0.2)
        state[f"x{t}"] = (x if t == 0 or not later else base + 0.0).float().double()
        state[f"f{t}"] = normal(n, c.D, scale=0.5)
        state[f"m{t}"] = torch.tensor((np.arange(n) % 3 == 0).astype(np.float64))
        state[f"c{t}"] = unit(n, 3)
    if later:
        state["m1"], state["c1"] = state["m0"], state["c0"]
    return state


def to_state(c, t, rollout_step):
    return gnn.State([t["x0"], t["x1"]], [t["f0"], t["f1"]], [t["m0"], t["m1"]], [t["c0"], t["c1"]], None, rollout_step)


def box_points(n, time):
    """Points on a painted box that moves and turns, at a time, and their colours: drawn anew, so that none corresponds to another."""
    p, face = 2 * unit(n, 3) - 1, torch.arange(n) % 3
    side = torch.where(torch.arange(n) // 3 % 2 == 0, 1.0, -1.0)
    p[torch.arange(n), face] = side
    turn = torch.linalg.matrix_exp(time * flow.skew(torch.tensor([0.05, -0.08, 0.12])))
    x = p * torch.tensor([0.07, 0.05, 0.04]) @ turn.T + time * torch.tensor([0.03, -0.02, 0.01])
    return x.float().double(), (0.5 + 0.4 * torch.sin(2 * p + torch.arange(3))).float().double()


def box_cloud(time, box=180, floor=60):
    """The box over a floor: points, colours and flags."""
    x, c = box_points(box, time)
    ground = torch.cat([unit(floor, 2) - 0.5, torch.full((floor, 1), -0.1)], 1)
    return (torch.cat([x, ground]).float().double(), torch.cat([c, 0.3 * unit(floor, 3).float().double()]).float().double(),
            torch.cat([torch.ones(box), torch.zeros(floor)]))


def step_case(w, name, c, rollout_step):
    inputs = small_state(c, later=rollout_step > 0)
    fixed = {"m0", "m1", "c0", "c1"}
    if c.graph == "hierarchical":
        inputs["node"] = torch.from_numpy(particles.choose_nodes(c, inputs["x1"].numpy(), 3, rollout_step, 6))
    inputs.update(weights(c, "gnn"))

    def run(t):
        state, _ = gnn.step(t, c, to_state(c, t, rollout_step), 3, 6, t.get("node"))
        return torch.cat([state.x[-1], state.f[-1]], 1)
    attributes = {k: v for k, v in vars(c).items() if isinstance(v, (int, float, str)) and k not in ("N", "K", "S", "near", "far", "hidden")}
    attributes = {("s_length" if k == "s" else k): (int(v) if isinstance(v, bool) else v) for k, v in attributes.items()}
    w.case(f"step/{name}", run, inputs, fixed=fixed, columns="x of the next set (3), f of the next set (D)", rollout_step=rollout_step,
           step=3, episode=6, **attributes)


def dynamics(w):
    step_case(w, "hierarchical", config.Config(**SMALL), 0)
    step_case(w, "features", config.Config(feature_change=0.1, **{**SMALL, "L": 2}), 1)
    step_case(w, "flat", config.Config(graph="flat", **{**SMALL, "k_node_to_node": 3}), 0)
    counter[0] = 761  # as it was before cases that are gone
    flows(w, config.Config(**SMALL))


def flows(w, c):
    """Of the moving and turning box over its floor, at points of the box."""
    now, past, queries = box_cloud(1), box_cloud(0), box_points(20, 1)
    inputs = dict(x=queries[0], c=queries[1], **{f"{time}_{kind}": value for time, one in (("now", now), ("past", past))
                                                 for kind, value in zip("xcm", one)})
    metres = [(x, c.lc * colour) for x, colour in (queries, now[:2], past[:2])]
    moving = [tuple(a[one[2] > 0] for a in cloud) for cloud, one in zip(metres[1:], (now, past))]
    u, g = flow.between(c, *metres, *moving)
    w.plain("flow_between/rigid", inputs, torch.cat([u, g.flatten(1)], 1), columns="u (3), g row by row (9)", X=c.X, lc=c.lc)


def whole_encoder(w):
    for name, depth_input, widths in (("rgb", False, (8,)), ("depth_three_levels", True, (2, 4, 6))):
        c = config.Config(D=6, widths=widths, depth_input=depth_input, X=1.5)
        rgb = torch.tensor((philox.random4(4, 8, 9, 0, np.arange(2 * 6 * 5 * 3))[:, 0] % 256).astype(np.uint8).reshape(2, 6, 5, 3))
        depth = (1 + unit(2, 6, 5)).float().double()
        depth[0, 1, 2] = 0

        def run(t):
            return encoder.unet(t, c, encoder.image_input(c, t["rgb"].double() / 255, t["depth"]))
        w.case(f"encoder/{name}", run, dict(rgb=rgb, depth=depth, **weights(c, "encoder")), fixed=("depth",), act="silu", D=6,
               levels=len(widths), widths=np.array(widths, np.int32), depth_input=int(depth_input), X=1.5)


def scene(c, N=40):
    """Particles on a bumpy sheet, rays from two cameras."""
    xy = (unit(N, 2) - 0.5) * 0.8
    x = torch.cat([xy, 0.1 * torch.sin(5 * xy.sum(1, keepdim=True))], 1).float().double()
    R = torch.from_numpy(particles.radii(c, x.numpy())).float().double()
    f = torch.cat([unit(N, 3), normal(N, c.D - 3, scale=0.5)], 1)
    Kc = np.array([[[9.0, 0, 4.0], [0, 9.0, 3.0], [0, 0, 1]]] * 2)
    pose = np.stack([camera(0.0, [0.9, 0.3, 0.7]), camera(0.3, [-0.5, 0.8, 0.9])])
    row, column = np.meshgrid(np.arange(6), np.arange(8), indexing="ij")
    view = np.repeat([0, 1], 12)
    pick = (np.arange(24) * 17) % 48
    o, d = renderer.pixel_rays(Kc, pose, view, row.ravel()[pick], column.ravel()[pick], torch.float64)
    return x, f, R, o.float().double(), d.float().double()


def rendering(w):
    for name, view_direction, per_particle in (("plain", False, False), ("direction", True, True)):
        c = config.Config(D=5, K=4, S=5, hidden=8, view_direction=view_direction, radius_per_particle=per_particle, near=0.2, far=4.0, **LENGTHS)
        x, f, R, o, d = scene(c)
        jitter = unit(len(o))
        rays = dict(origin=o, direction=d, jitter=jitter)
        sm = renderer.place(c, x, R, o, d, jitter)
        attributes = dict(K=c.K, S=c.S, near=c.near, far=c.far, r=c.r, delta=c.delta)
        count = torch.bincount(sm.ray, minlength=len(o))
        w.plain(f"place/{name}", dict(x=x, R=R, **rays), torch.cat([sm.ray[:, None], sm.slot[:, None], sm.neighbour], 1),
                columns="ray, number along the ray, neighbours by u (K; -1 none)", **attributes)
        keep = slice(0, 14)
        q = (o[sm.ray] + sm.z[:, None] * d[sm.ray])[keep].float().double()
        unit_dir = (d / d.norm(dim=1, keepdim=True))[sm.ray][keep].float().double()
        p = weights(c, "renderer")
        near = sm.neighbour[keep]
        w.case(f"rings/{name}", lambda t: torch.cat([a if a.dim() > 1 else a[:, None] for a in
                                                     renderer.ring_features(c, t["q"], t["x"], t["f"], t["R"], t["neighbour"])], 1),
               dict(q=q, x=x, f=f, R=R, neighbour=near), fixed=("q", "R"),
               columns="a_0 .. a_3 (4 D), log(1 + sum w_k) (4), mean colour (3), sum of cuts (1)", **attributes)
        w.case(f"shade/{name}", lambda t: torch.cat([a if a.dim() > 1 else a[:, None] for a in
                                                     renderer.shade(t, c, t["q"], t["dir"], t["x"], t["f"], t["R"], t["neighbour"])], 1),
               dict(q=q, dir=unit_dir, x=x, f=f, R=R, neighbour=near, **p), fixed=("q", "R", "dir"), columns="density, colour (3)",
               act="silu", view_direction=int(view_direction), carry_rgb=1, hidden=8, **attributes)
        background = unit(3)

        def whole(t):
            colour, opacity, depth = renderer.render(t, c, t["x"], t["f"], t["R"], t["origin"], t["direction"], t["background"], t["jitter"])
            return torch.cat([colour, opacity[:, None], depth[:, None]], 1)
        w.case(f"render/{name}", whole, dict(x=x, f=f, R=R, background=background, **rays, **p),
               fixed=("R", "origin", "direction", "jitter", "background"), columns="colour (3), opacity, depth", act="silu",
               view_direction=int(view_direction), carry_rgb=1, hidden=8, **attributes)
        if per_particle:
            continue
        n = len(sm.ray)
        start = torch.cat([torch.zeros(1, dtype=torch.long), torch.cumsum(count, 0)])

        def mix(t):
            colour, opacity, depth = renderer.composite(t["density"], t["colour"], t["z"], sm.ray, sm.slot, len(o), c.S, c.delta, t["background"])
            return torch.cat([colour, opacity[:, None], depth[:, None]], 1)
        w.case("composite/plain", mix, dict(density=(unit(n) * 40).float().double(), colour=unit(n, 3), z=sm.z.float().double(),
                                            start=start, background=background), fixed=("z",),
               columns="colour (3), opacity, depth; the samples of ray i are start[i] .. start[i + 1] - 1", **attributes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", default=os.path.join(os.path.dirname(__file__), "../../tests/reference/ops.h5"))
    path = parser.parse_args().o
    w = Writer(path)
    for part in (ops, small_networks, integers, geometry_cases, observation_case, dynamics, whole_encoder, rendering):
        part(w)
    cases = sum(len(g) for g in w.file.values())
    w.file.close()
    print(f"{path}: {cases} cases, {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
