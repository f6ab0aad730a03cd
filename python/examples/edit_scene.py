#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Change a recorded scene, then simulate it: one object is removed, another is copied and thrown upwards.

    python/examples/edit_scene.py [FOLDER]      # needs numpy and h5py; runs on the repository's own files

Writes to FOLDER (default: a new one in /tmp): as_seen.png, edited.png, edited_later.png, edited.h5 (vpd render edited.h5).
docs/editing.md lists every edit and selection."""
import numpy as np
import vpd
from roll_out import REPOSITORY, output_folder, write_png


def main():
    folder = output_folder(__doc__)
    model = vpd.Model(REPOSITORY / "demo/carried.h5")
    scene = model.episode(REPOSITORY / "data/mujoco_blocks_sample.h5", start=3)
    view = vpd.View.look_at((1.6, -1.6, 1.4), (0, 0, 0.2), height=240, width=320)
    write_png(folder / "as_seen.png", scene.render(view).rgb)
    print(f"{scene}, labels {', '.join(scene.label_names)}")

    # Labels come from the recording's masks, if it has any; otherwise scene.edit("cluster: {}") finds connected parts, and
    # scene.set_labels(array, names) sets your own.
    report = scene.edit("remove: {label: object 1}")
    print(f"removed {report.before - report.after} particles of {report.before}")
    scene.edit({"copy": {"label": "object 0", "by": [0.5, 0.4, 0], "as": "twin"}},
               {"throw": {"label": "twin", "velocity": [0, 0, 1.5], "replace": True}})
    write_png(folder / "edited.png", scene.render(view).rgb)

    steps = 6
    scene.step(steps)
    for name in ("object 0", "twin"):
        part = scene.labels() == scene.label_names.index(name)
        rise = np.mean(scene.positions()[part, 2] - scene.positions(0)[part, 2])
        print(f"{name}: {part.sum()} particles, {100 * rise:+.0f} cm in height after {steps} steps")
    write_png(folder / "edited_later.png", scene.render(view).rgb)
    scene.save(folder / "edited.h5")
    print(f"pictures and edited.h5 are in {folder}")


if __name__ == "__main__":
    main()
