#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Roll out a trained model from frames in memory, draw it from a new viewpoint, throw the objects upwards, and save everything.

    python/examples/roll_out.py [FOLDER]      # needs numpy and h5py; runs on the repository's own files

Writes to FOLDER (default: a new one in /tmp): seen.png, predicted.png, pushed.png, rollout.h5 (vpd render rollout.h5)."""
import argparse
import pathlib
import struct
import tempfile
import zlib

import h5py
import numpy as np
import vpd

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def output_folder(text):
    """The FOLDER that the command line names, or a new one in /tmp. Nothing is made of a wrong command line, or for --help, which prints the text."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path, help=argparse.SUPPRESS)
    folder = parser.parse_args().folder or pathlib.Path(tempfile.mkdtemp(prefix="vpd_"))
    folder.mkdir(exist_ok=True)
    return folder


def write_png(path, rgb):
    """rgb (H, W, 3) u8."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    height, width = rgb.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in rgb)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main():
    folder = output_folder(__doc__)
    model = vpd.Model(REPOSITORY / "demo/carried.h5")
    print(f"{model}: sees {model.history} frames, learned from {1 / model.time_step:.0f} per second")

    # The model's input: the first frames of a recording, as arrays. Yours may come from cameras.
    with h5py.File(REPOSITORY / "data/mujoco_blocks_sample.h5") as file:
        name, episode = list(file["episodes"].items())[-1]
        views = [v for v in range(episode["rgb"].shape[1]) if v not in episode.attrs.get("heldout_views", [])]
        frames = slice(6, 6 + model.history)
        depth = episode["depth"][frames][:, views] * np.float32(episode["depth"].attrs.get("scale", 1))  # metres
        scene = model.encode(episode["rgb"][frames][:, views], depth,
                             episode["intrinsics"][:][views], episode["world_from_camera"][:][views],
                             mask=episode["mask"][frames][:, views], bounds=episode["bounds"][:],
                             time=episode["time"][frames], name=name)
    print(scene)

    # Drawn from a new viewpoint, before and after half a second.
    view = vpd.View.look_at((1.6, -1.6, 1.4), (0, 0, 0.2), height=240, width=320)
    write_png(folder / "seen.png", scene.render(view).rgb)
    steps = 12
    scene.step(steps)
    write_png(folder / "predicted.png", scene.render(view).rgb)
    moved = np.linalg.norm(scene.positions() - scene.positions(0), axis=1)
    objects = scene.labels() > 0
    print(f"after {steps} steps: objects moved {100 * np.median(moved[objects]):.1f} cm, "
          f"the rest {100 * np.median(moved[~objects]):.2f} cm")

    # The same scene with its objects thrown upwards: lower positions in the step before the last give them an upward velocity.
    pushed = scene.copy().rewind(2)
    before = pushed.positions(1)
    before[objects] -= (0, 0, 1.2 * scene.time_step)
    pushed.set_positions(before, 1).step(steps - 2)
    rise = [pushed.positions(k)[objects, 2].mean() - scene.positions(k)[objects, 2].mean() for k in range(2, steps + 1)]
    write_png(folder / "pushed.png", pushed.render(view, 2 + int(np.argmax(rise))).rgb)
    print(f"thrown upwards at 1.2 m/s they rise {100 * max(rise):.0f} cm higher")

    scene.save(folder / "rollout.h5")
    print(f"pictures and rollout.h5 are in {folder}")


if __name__ == "__main__":
    main()
