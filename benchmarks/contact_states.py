# SPDX-License-Identifier: Apache-2.0
"""Motion of MuJoCo block scenes without pictures, for benchmarks/contact.c.

    python benchmarks/contact_states.py OUT.h5 EPISODES SEED

Scenes as `data/make_mujoco_scenes.py --scene blocks` makes them: one or two bodies thrown at each other, 24 frames at 24 a second. OUT.h5:
points (E,T,2,48,3) f32, metres, on the bodies' surfaces; seen (E,T,2,48) u8, whether one of four cameras sees the point, by its normal alone; centre (E,T,2,3) f32;
bodies (E) i32. Needs mujoco, numpy, h5py and Pillow; minutes on one core.
"""
import argparse
import multiprocessing
import os
import re
import sys

os.environ["MUJOCO_GL"] = "disabled"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data"))
import h5py  # noqa: E402
import make_mujoco_scenes as scenes  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402

FRAMES, BODIES, POINTS, CAMERAS = 24, 2, 48, 4


def box(rng, half):
    area = half[[1, 2, 0]] * half[[2, 0, 1]]
    axis = rng.choice(3, POINTS, p=area / area.sum())
    p, normal, row = rng.uniform(-1, 1, (POINTS, 3)), np.zeros((POINTS, 3)), np.arange(POINTS)
    p[row, axis] = normal[row, axis] = rng.choice([-1, 1], POINTS)
    return p * half, normal


def ellipsoid(rng, half):
    u = rng.normal(size=(POINTS, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    normal = u / half
    return u * half, normal / np.linalg.norm(normal, axis=1, keepdims=True)


def round_bar(rng, radius, half, is_capsule):
    """A cylinder or a capsule along z: points on its side, and on its ends."""
    side = rng.uniform(size=POINTS) < half / (half + (radius if is_capsule else radius / 2))  # its share of the area
    angle, z = rng.uniform(0, 2 * np.pi, POINTS), rng.uniform(-half, half, POINTS)
    circle = np.stack([np.cos(angle), np.sin(angle), 0 * angle], 1)
    if is_capsule:
        end_normal = rng.normal(size=(POINTS, 3))
        end_normal /= np.linalg.norm(end_normal, axis=1, keepdims=True)
        end = end_normal * radius + np.sign(end_normal[:, 2:]) * half * np.array([0, 0, 1])
    else:
        end_normal = rng.choice([-1.0, 1.0], (POINTS, 1)) * np.array([0, 0, 1])
        end = circle * radius * np.sqrt(rng.uniform(size=(POINTS, 1))) + end_normal * half
    s = side[:, None]
    return np.where(s, circle * radius + z[:, None] * np.array([0, 0, 1]), end), np.where(s, circle, end_normal)


def surface(rng, xml):
    """Points on a body's surface with outward normals, in the body's frame."""
    kind, size = re.search(r'type="(\w+)" size="([^"]+)"', xml).groups()
    size = np.array([float(v) for v in size.split()])
    if kind == "box":
        return box(rng, size)
    if kind in ("sphere", "ellipsoid"):
        return ellipsoid(rng, np.full(3, size[0]) if kind == "sphere" else size)
    return round_bar(rng, size[0], size[1], kind == "capsule")


def rotation(quaternion):
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, quaternion)
    return matrix.reshape(3, 3)


def simulate(rng, options):
    """Objects, and (FRAMES, objects) poses; None when one leaves the scene."""
    objects, _ = scenes.SCENES["blocks"](rng, options)
    steps = int(np.ceil(1000 / 24))
    model = scenes.build_model(rng, options, objects, 1 / (24 * steps))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    scenes.throw(model, data, objects)
    poses = []
    for frame in range(FRAMES):
        for _ in range(steps if frame else 0):
            mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)
        poses.append([scenes.object_pose(model, data, o, None) for o in objects])
        places = np.array([p for p, _ in poses[-1]])
        if (places < 0.8 * scenes.BOUNDS[0]).any() or (places > 0.8 * scenes.BOUNDS[1]).any():
            return None
    return objects, poses


def cameras(rng):
    around = rng.uniform(0, 2 * np.pi) + np.pi / 2 * np.arange(CAMERAS) + rng.uniform(-0.15, 0.15, CAMERAS)
    up, away = np.radians(rng.uniform(25, 50, CAMERAS)), rng.uniform(1.9, 2.3, CAMERAS)
    return np.stack([away * np.cos(around) * np.cos(up), away * np.sin(around) * np.cos(up), 0.2 + away * np.sin(up)], 1)


def episode(job):
    index, seed, options = job
    found, attempt = None, 0
    while found is None:
        rng = np.random.default_rng([seed, index, attempt])
        found, attempt = simulate(rng, options), attempt + 1
    objects, poses = found
    points = np.zeros((FRAMES, BODIES, POINTS, 3), np.float32)
    seen, centre = np.zeros(points.shape[:3], np.uint8), np.zeros((FRAMES, BODIES, 3), np.float32)
    eyes = cameras(rng)
    for b, body in enumerate(objects):
        p, normal = surface(rng, body.xml)
        for t in range(FRAMES):
            place, r = poses[t][b][0], rotation(poses[t][b][1])
            points[t, b], centre[t, b] = p @ r.T + place, place
            seen[t, b] = (((eyes[None] - points[t, b][:, None]) * (normal @ r.T)[:, None]).sum(-1) > 0).any(1)
    return points, seen, centre, len(objects)


def main():
    out, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    options = argparse.Namespace(object_size=(0.18, 0.30), shapes=list(scenes.SHAPES), hue=(0, 1), saturation=(0.6, 0.95), size=(64, 64))
    picture = scenes.floor_texture(np.random.default_rng(0))
    scenes.floor_texture = lambda rng: picture  # nothing is drawn
    with multiprocessing.get_context("fork").Pool() as pool:
        rows = pool.map(episode, [(i, seed, options) for i in range(count)], chunksize=8)
    with h5py.File(out, "w") as f:
        for i, name in enumerate(("points", "seen", "centre")):
            f[name] = np.stack([r[i] for r in rows])
        f["bodies"] = np.array([r[3] for r in rows], np.int32)
    print(f"{out}: {count} episodes")


if __name__ == "__main__":
    main()
