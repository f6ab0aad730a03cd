# SPDX-License-Identifier: Apache-2.0
"""python smoke_test.py CHECKPOINT DATA: trains, evaluates, rolls out, draws and exports with an installed wheel and its own libraries.

Prints one line. Fails if the process uses a library of the system that a manylinux wheel must bring itself."""
import ctypes # with the libraries that it loads
import importlib
import pathlib
import sys
import tempfile

import numpy  # noqa: F401

# Libraries that every Linux with Python has: glibc, the compiler's runtime, and zlib, which Python needs itself.
EXPECTED = ("ld-linux", "libc.", "libm.", "libpthread.", "libdl.", "librt.", "libresolv.", "libutil.", "libgcc_s.", "libstdc++.", "libz.")


def libraries():
    """Shared libraries of this process outside Python's own folders and the wheel's."""
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    paths = {pathlib.Path(line.split(None, 5)[5]) for line in lines if ".so" in line}
    return {path for path in paths if not {"site-packages", "lib-dynload", "dist-packages"} & set(path.parts)
            and not path.name.startswith("libpython")}


def main(checkpoint, data):
    before = libraries()
    vpd = importlib.import_module("vpd")
    options = {"train": {"steps": 2, "motion_steps": 0, "rollout": [1], "rollout_from": [0], "rays": 8, "eval_every": 0, "picture_every": 0},
               "encoder": {"N": 300, "widths": [4, 6]}, "model": {"C": 8, "D": 6}, "gnn": {"M": 16, "L": 1},
               "renderer.widths": [8, 8]}
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        done = vpd.train(options=options, data=data, out=place / "run")
        found = vpd.evaluate(place / "run", data, motion=True, steps=2)
        scene = vpd.Model(checkpoint).episode(data).step(2)
        picture = scene.render(scene.camera(0))
        scene.export(place / "out.npz")
        size = (place / "out.npz").stat().st_size
    strange = sorted(str(path) for path in libraries() - before if not path.name.startswith(EXPECTED))
    strange += [vpd.library_path] * ("site-packages" not in vpd.library_path)
    if strange:
        sys.exit(f"expected the wheel's own libraries, found the system's: {', '.join(strange)}")
    print(f"vpd {vpd.library_version} on Python {sys.version.split()[0]}: {done['step']} steps trained, {found['rollouts']} rollouts "
          f"measured, {scene.particles} particles, a picture of {picture.rgb.shape[1]}x{picture.rgb.shape[0]}, {size} bytes exported")


main(*sys.argv[1:])
