#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of the gradient of many steps of a beam, on one thread in f32.

    PYTHONPATH=python VPD_LIBRARY=build/release/libvpd.so.0 benchmarks/sim_memory.py TETS air|ground [STEPS]

TETS is 1000, 10000 or 100000; 10,000 steps of 1e-4 s. Memory is the peak of the process above what it had with the scene open.
"""
import os
import sys
import tempfile
import time

import numpy as np
import vpd

BEAMS = {1000: ((8, 5, 5), 16), 10000: ((20, 10, 10), 48), 100000: ((50, 20, 20), 200)}  # cells, memory_mib


def memory(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith(key))


def write_scene(path, tets, ground, steps):
    cells, budget = BEAMS[tets]
    size = [0.1 * count for count in cells]
    held = "" if ground else f", fixed: {{max: [{1e-3 - size[0] / 2}, 9, 9]}}"
    with open(path, "w") as file:
        file.write(f"frames: 1\nsubsteps: {steps}\nfps: {1e4 / steps}\nmemory_mib: {budget}\n"
                   f"contacts: {{g: {{k_e: 1e4, k_d: 10, k_f: 10, mu: 0.5}}}}\n{'planes: [{}]' if ground else ''}\n"
                   f"objects: {{beam: {{box: {{size: {size}, cells: {list(cells)}}}, density: 1000, "
                   f"solid: {{mu: 5e4, lambda: 5e4, k_d: 10}}, position: [0, 0, {size[2] / 2}]{held}}}}}\n")


def main():
    tets, ground, steps = int(sys.argv[1]), sys.argv[2] == "ground", int((sys.argv + ["10000"])[3])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "beam.yaml")
        write_scene(path, tets, ground, steps)
        sim = vpd.Sim(path, precision="f32", threads=1)
    before = memory("VmRSS")
    start = time.time()
    sim.rollout()
    forward, plain = time.time() - start, memory("VmHWM") - before
    start = time.time()
    states = sim.rollout(gradient=True)
    slope = np.zeros_like(states.position)
    slope[-1] = 1
    sim.adjoint(slope, wrt=["position"])
    both, peak = time.time() - start, memory("VmHWM") - before
    print(f"{tets} tets {'on the ground' if ground else 'in the air'}, {steps} steps: forward {forward:.2f} s and {plain:.0f} MiB, "
          f"with the gradient {both:.2f} s ({both / forward:.2f} times) and {peak:.0f} MiB")


if __name__ == "__main__":
    sys.exit(main())
