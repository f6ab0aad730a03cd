#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_recordings.py FOLDER: writes the episodes of the sample as recordings, one folder each, for docs/tutorial.md.

A recording is what a capture program leaves: colour PNGs, 16-bit depth PNGs in millimetres, and transforms.json (the layout of
nerfstudio) with the lens, pose, time and camera of every picture. Masks and the simulator's states stay behind. Needs h5py and numpy."""
import json
import pathlib
import struct
import sys
import zlib

import h5py
import numpy as np


def write_png(path, picture):
    """8-bit RGB (H,W,3) or 16-bit grey (H,W)."""
    height, width = picture.shape[:2]
    bits, kind = (8, 2) if picture.ndim == 3 else (16, 0)
    rows = picture.astype(picture.dtype.newbyteorder(">")).reshape(height, -1).view(np.uint8)
    lines = b"".join(b"\0" + row.tobytes() for row in rows)

    def part(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, bits, kind, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(lines)) + part(b"IEND", b""))


def write_recording(folder, episode):
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        sys.exit(f"{folder}: cannot make this folder ({error.strerror}); give a new one, or remove what is there")
    rgb, depth = episode["rgb"][:], episode["depth"][:] * episode["depth"].attrs.get("scale", 1.0)
    lenses, poses, times = episode["intrinsics"][:], episode["world_from_camera"][:], episode["time"][:]
    frames = []
    for frame, time in enumerate(times):
        for view, lens in enumerate(lenses):
            colour_name, depth_name = f"color_{view}_{frame:04}.png", f"depth_{view}_{frame:04}.png"
            write_png(folder / colour_name, rgb[frame, view])
            write_png(folder / depth_name, np.round(1000 * depth[frame, view]).astype(np.uint16))
            pose = poses[view] @ np.diag([1.0, -1, -1, 1])  # OpenGL's axes, as nerfstudio has them
            frames.append({"file_path": colour_name, "depth_file_path": depth_name, "time": time, "camera_id": view,
                           "fl_x": lens[0, 0], "fl_y": lens[1, 1], "cx": lens[0, 2], "cy": lens[1, 2],
                           "w": rgb.shape[3], "h": rgb.shape[2], "transform_matrix": pose.tolist()})
    (folder / "transforms.json").write_text(json.dumps({"frames": frames}, indent=1))


if len(sys.argv) != 2:
    sys.exit("expected a folder to write to: make_recordings.py FOLDER")
with h5py.File(pathlib.Path(__file__).resolve().parent / "mujoco_blocks_sample.h5") as sample:
    for name, episode in sample["episodes"].items():
        write_recording(pathlib.Path(sys.argv[1]) / name, episode)
