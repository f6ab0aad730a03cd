#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plan a push: simulate many straight pushes, and keep the one that brings a block nearest to its goal.

    python/examples/plan_push.py [FOLDER]      # needs numpy; runs on the repository's own files

The dark paddle in data/mujoco_pusher.h5 stands for a gripper: it goes where a controller takes it, and the model says what that
does to the blocks. A step of so small a scene has no work for several threads, so each processor has a model of one thread.
Writes to FOLDER (default: a new one in /tmp): seen.h5, seen.png, pushed.png, pushed.h5 (vpd render pushed.h5)."""
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import vpd
from roll_out import REPOSITORY, output_folder, write_png

BLOCK, PADDLE = "object 1", "object 3"
STEPS, SPEEDS, DIRECTIONS = 16, (0.3, 0.5, 0.7), np.arange(0, 360, 22.5)  # time steps, m/s, degrees


def centre(scene, label, step=-1):
    return scene.positions(step)[scene.labels() == scene.label_names.index(label)].mean(0)


def push(scene, speed, degrees):
    """A copy of the scene in which the paddle goes straight in this direction, and what that does."""
    velocity = [speed * np.cos(np.radians(degrees)), speed * np.sin(np.radians(degrees)), 0.0]
    tried = scene.copy()
    tried.edit({"drive": {"label": PADDLE, "velocity": velocity, "steps": STEPS}})
    return tried.step(STEPS)


def miss(scene, plans, goal):
    """How far from its goal, metres, each of these pushes leaves the block."""
    return [np.linalg.norm(centre(push(scene, *plan), BLOCK) - goal) for plan in plans]


def main():
    folder = output_folder(__doc__)
    workers = min(len(os.sched_getaffinity(0)), 8)
    model, *others = [vpd.Model(REPOSITORY / "demo/carried.h5", threads=1) for _ in range(workers)]
    scene = model.episode(REPOSITORY / "data/mujoco_pusher.h5", start=3)
    view = vpd.View.look_at((1.6, -1.6, 1.4), (0, 0, 0.1), height=240, width=320)
    write_png(folder / "seen.png", scene.render(view).rgb)
    scene.save(folder / "seen.h5")
    scenes = [scene] + [other.read(folder / "seen.h5") for other in others]
    away = centre(scene, BLOCK) - centre(scene, PADDLE)
    goal = centre(scene, BLOCK) + 0.25 * np.array([away[0], away[1], 0]) / np.hypot(*away[:2])

    plans = [(speed, degrees) for speed in SPEEDS for degrees in DIRECTIONS]
    errors = np.empty(len(plans))
    with ThreadPoolExecutor(workers) as pool:
        for w, part in enumerate(pool.map(miss, scenes, (plans[w::workers] for w in range(workers)), [goal] * workers)):
            errors[w::workers] = part
    best = int(np.argmin(errors))
    speed, degrees = plans[best]
    print(f"{len(plans)} pushes: the best one, with {speed} m/s to {degrees:.0f} degrees, leaves the block "
          f"{100 * errors[best]:.1f} cm from its goal; without a push it would be 25")
    pushed = push(scene, *plans[best])
    write_png(folder / "pushed.png", pushed.render(view).rgb)
    pushed.save(folder / "pushed.h5")
    print(f"pictures and pushed.h5 are in {folder}")


if __name__ == "__main__":
    main()
