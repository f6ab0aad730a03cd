#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The overhead of the Python package over the C library: one step and one picture, the same calls from C and from Python.

    cmake --build build/release --target library_calls
    PYTHONPATH=python VPD_LIBRARY=build/release/libvpd.so benchmarks/library_calls.py build/release/library_calls [--rounds 8]

Two measurements. "C" and "Python": alternating processes, median over all calls of each; on a shared machine their scatter exceeds
the overhead. "added": in one process, the time of Scene.step and Scene.render minus that of the C call inside them."""
import argparse
import statistics
import subprocess
import sys
import time

COUNT = 12


def by_python(checkpoint, data):
    import vpd
    from vpd import _library
    inside = {}

    def timed(function):
        def run(*arguments):
            start = time.perf_counter()
            status = function(*arguments)
            inside[function.__name__] = 1e3 * (time.perf_counter() - start)
            return status
        return run

    class Timed:
        """The library, with its two functions timed."""

        def __getattr__(self, name):
            return getattr(library, name)

    library, timed_library = _library._lib, Timed()
    for name in ("vpd_scene_step", "vpd_scene_render"):
        setattr(timed_library, name, timed(getattr(library, name)))
    _library._lib = timed_library
    scene = vpd.Model(checkpoint).episode(data)
    view = scene.camera(0)
    for _ in range(COUNT):
        start = time.perf_counter()
        scene.step()
        stepped = time.perf_counter()
        scene.render(view, 0)
        end = time.perf_counter()
        step, render = 1e3 * (stepped - start), 1e3 * (end - stepped)
        print(step, render, step - inside["vpd_scene_step"], render - inside["vpd_scene_render"])
        scene.rewind(0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--checkpoint", default="demo/carried.h5")
    parser.add_argument("--data", default="data/mujoco_blocks_sample.h5")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--python", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.python:
        return by_python(given.checkpoint, given.data)
    rows = {"C": [], "Python": []}
    for _ in range(given.rounds):
        for who, command in (("C", [given.program, given.checkpoint, given.data, str(COUNT)]),
                             ("Python", [sys.executable, __file__, "-", "--python", "--checkpoint", given.checkpoint,
                                         "--data", given.data])):
            lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
            rows[who] += [[float(word) for word in line.split()] for line in lines[2:]] # the first ones warm up
    for i, what in enumerate(("step", "render")):
        c = statistics.median(row[i] for row in rows["C"])
        python = statistics.median(row[i] for row in rows["Python"])
        added = statistics.median(row[i + 2] for row in rows["Python"])
        print(f"{what:7} C {c:8.3f} ms   Python {python:8.3f} ms   added {1e3 * added:6.1f} us = {100 * added / c:.3f} % of the C call")


if __name__ == "__main__":
    main()
