#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures rollouts of rigid bodies against the simulator that made the video (docs/evaluation.md, "Rigid bodies").

    pip install h5py mujoco numpy
    python benchmarks/rollout_figures.py VPD CHECKPOINT DATA.h5 [--splits val,test] [--starts 3,7] [--pusher] [--json]

DATA.h5 is what data/make_mujoco_scenes.py makes. Its true states are never an input. A body is the particles that lie on
an object at step 0; where it is later is the best rigid motion of these particles.
"""
import argparse
import json
import os
import subprocess
import tempfile

import h5py
import mujoco
import numpy as np

GEOMS = {"sphere": 2, "capsule": 3, "ellipsoid": 4, "cylinder": 5, "box": 6}  # mjtGeom
AXIAL = ("capsule", "cylinder")  # turning about their axis shows nothing
LIFT, FAR, GRAVITY = 0.6, 5.0, 9.81  # m, m, m/s^2
RESTS, HIT, STAYS = 0.001, 0.04, 0.01  # m: least motion in a frame; in the steps after it, when hit and when not


# ---- true states

def rotation(q):
    m = np.zeros(9)
    mujoco.mju_quat2Mat(m, np.asarray(q, float) / np.linalg.norm(q))
    return m.reshape(3, 3)


class Episode:
    """True poses of rigid objects: place (frames, objects, 3), turn (frames, objects, 3, 3), and their shapes."""

    def __init__(self, group, name, pusher=False):
        self.name, self.group = name, group
        self.place = group["state/object_position"][()].astype(float)
        self.turn = np.array([[rotation(q) for q in row] for row in group["state/object_quaternion"][()]])
        self.shape = [s.decode() for s in group["state/object_shape"][()]]
        self.objects = [k for k, s in enumerate(self.shape) if s in GEOMS]
        if pusher: self.objects.remove(len(self.shape) - 1)
        self.half = {k: self.half_sizes(k) for k in self.objects}

    def seen_points(self, k):
        """All pixels of an object in all frames, in its own axes."""
        depth, K = self.group["depth"], self.group["intrinsics"][()]
        unit, out = float(depth.attrs.get("scale", 1)), []
        poses = self.group["world_from_camera"][()]
        for t in range(len(self.place)):
            camera = poses[t] if poses.ndim == 4 else poses
            for v in range(depth.shape[1]):
                row, column = np.nonzero(self.group["mask"][t, v] == k + 1)
                z = depth[t, v][row, column] * unit
                p = np.stack([column + 0.5, row + 0.5, np.ones(len(z))], -1) @ np.linalg.inv(K[v]).T * z[:, None]
                world = p @ camera[v, :3, :3].T + camera[v, :3, 3]
                out.append(((world - self.place[t, k]) @ self.turn[t, k])[z > 0])
        return np.concatenate(out)

    def half_sizes(self, k):
        """MuJoCo's sizes. Those that are not recorded are fitted to what the cameras see."""
        size = float(self.group["state/object_size"][k])
        if self.shape[k] == "sphere": return [size / 2]
        if self.shape[k] == "capsule": return [size * 0.25, size * 0.3]
        x = self.seen_points(k)
        if self.shape[k] == "ellipsoid":
            return list(1 / np.sqrt(np.maximum(np.linalg.lstsq(x**2, np.ones(len(x)), rcond=None)[0], 4 / size**2)))
        along = np.abs(x) if self.shape[k] == "box" else np.stack([np.hypot(x[:, 0], x[:, 1]), np.abs(x[:, 2])], -1)
        half = np.quantile(along, 0.99, axis=0)
        for _ in range(10):  # a point lies on the face that is nearest to it
            face = np.argmin(np.abs(along - half), axis=1)
            half = np.array([np.median(along[face == c, c]) if (face == c).any() else half[c] for c in range(len(half))])
        return list(half)


class Shapes:
    """The floor and some objects of an episode, to measure how far they are apart."""

    def __init__(self, episode, objects):
        text = lambda v: " ".join(f"{a:.6g}" for a in v)
        bodies = "".join(f'<body mocap="true"><geom type="{episode.shape[k]}" size="{text(episode.half[k])}"/></body>'
                         for k in objects)
        self.model = mujoco.MjModel.from_xml_string(
            f'<mujoco><worldbody><geom type="plane" size="9 9 1"/>{bodies}</worldbody></mujoco>')
        self.data = mujoco.MjData(self.model)

    def gaps(self, place, turn):
        """Distances of all pairs of floor and objects: negative inside one another. Symmetric; row 0 is the floor."""
        for i in range(len(place)):
            self.data.mocap_pos[i] = place[i]
            mujoco.mju_mat2Quat(self.data.mocap_quat[i], turn[i].ravel())
        mujoco.mj_kinematics(self.model, self.data)
        n = len(place) + 1
        out = np.full((n, n), FAR)
        for i in range(n):
            for j in range(i + 1, n):
                out[i, j] = out[j, i] = mujoco.mj_geomDistance(self.model, self.data, i, j, FAR, None)
        return out


# ---- rollouts

def run(options, command, *arguments):
    subprocess.run([options.vpd, command, "-q", *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def predict(options, episode, start, steps, folder):
    path = os.path.join(folder, f"{steps}.h5")
    given = ["--driven", len(episode.shape) - 1] if options.pusher else []
    run(options, "rollout", options.checkpoint, options.data, "--episode", episode.name, "--start", start, "--steps",
        steps, *given, "-o", path)
    return Rollout(path)


class Rollout:
    """x (particles, 3) at step 0, before (particles, 3), y (steps, particles, 3), body and object of each particle."""

    def __init__(self, path):
        self.path = path
        with h5py.File(path) as f:
            self.x, self.before = f["now/positions"][()].astype(float), f["now/before"][()].astype(float)
            self.y = f["rollout/positions"][()].astype(float) if "rollout/positions" in f else np.zeros((0, *self.x.shape))
            self.body, self.label = f["now/body"][()], f["now/labels"][()]
            self.present = int(np.ravel(f.attrs["first_frame"])[0])
            self.step = float(np.ravel(f.attrs["time_step"])[0])
            if np.ravel(f.attrs["frame_stride"])[0] != 1:
                raise SystemExit(f"{path}: expected a step for each frame of the data, found one for every "
                                 f"{np.ravel(f.attrs['frame_stride'])[0]}; resample them (vpd data subset --stride)")


def rigid_fit(x, y):
    """R and t of the best y = R x + t, and the root mean square of what is left."""
    a, b = x.mean(0), y.mean(0)
    u, _, v = np.linalg.svd((x - a).T @ (y - b))
    flip = np.diag([1, 1, np.sign(np.linalg.det(v.T @ u.T))])
    R = v.T @ flip @ u.T
    return R, b - R @ a, np.sqrt(((x @ R.T + b - R @ a - y) ** 2).sum(-1).mean())


def angle(R):
    w = np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]) / 2
    s, c = np.linalg.norm(w), (np.trace(R) - 1) / 2
    return w if s < 1e-9 else w / s * np.arctan2(s, c)


class Bodies:
    """The objects of which enough particles were chosen, and their predicted poses."""

    def __init__(self, episode, rollout):
        r, t = rollout, rollout.present
        self.of = [k for k in episode.objects if (r.label == k + 1).sum() >= 5]
        self.place, self.turn, self.left = (np.zeros((len(r.y), len(self.of), *s)) for s in ((3,), (3, 3), ()))
        self.reach = np.array([np.linalg.norm(r.x[r.label == k + 1].std(0)) for k in self.of])
        for i, k in enumerate(self.of):
            on = r.label == k + 1
            for s, y in enumerate(r.y):
                R, shift, self.left[s, i] = rigid_fit(r.x[on], y[on])
                self.place[s, i], self.turn[s, i] = R @ episode.place[t, k] + shift, R @ episode.turn[t, k]


def start_errors(episode, rollout, k):
    """Errors of the motion into the present: of the centre, m, and of the turn that can be seen, rad (None: none)."""
    r, t, on = rollout, rollout.present, rollout.label == k + 1
    R, shift, _ = rigid_fit(r.x[on], r.before[on])
    centre = np.linalg.norm(R @ episode.place[t, k] + shift - episode.place[t - 1, k])
    if episode.shape[k] == "sphere": return centre, None
    off = angle(R.T) - angle(episode.turn[t, k] @ episode.turn[t - 1, k].T)
    if episode.shape[k] in AXIAL:
        axis = episode.turn[t, k][:, 2]
        off = off - axis * (axis @ off)
    return centre, np.linalg.norm(off)


# ---- figures

def depths(shapes, place, turn):
    """Of each step, the deepest place inside the floor or another body, metres."""
    return [max(0.0, -shapes.gaps(p, t).min()) for p, t in zip(place, turn)]


def add_resting(out, episode, bodies, present):
    """Objects that rest in the two frames before the present: those that are moved later, and those that are not."""
    for i, k in enumerate(bodies.of):
        place = episode.place[:, k]
        if present < 2 or np.linalg.norm(np.diff(place[present - 2:present + 1], axis=0), axis=1).max() > RESTS: continue
        true, predicted = place[present + 12] - place[present], bodies.place[11, i] - place[present]
        moved = np.linalg.norm(true)
        if moved > HIT: out["hit"].append([predicted @ true / moved**2, np.linalg.norm(predicted - true) / moved])
        elif moved < STAYS: out["stay"].append(np.linalg.norm(predicted))


def add_prediction(out, options, episode, start, folder):
    rollout = predict(options, episode, start, 12, folder)
    bodies = Bodies(episode, rollout)
    shapes, t = Shapes(episode, bodies.of), rollout.present
    depth, frames = depths(shapes, bodies.place, bodies.turn), np.ix_(range(t + 1, t + 13), bodies.of)
    out["depth"] += depth
    out["worst"].append(max(depth))
    out["true depth"] += depths(shapes, episode.place[frames], episode.turn[frames])
    for i, k in enumerate(bodies.of):
        out["centre"].append([np.linalg.norm(bodies.place[s - 1, i] - episode.place[t + s, k]) for s in (1, 3, 6, 12)])
        centre, turn = start_errors(episode, rollout, k)
        out["velocity"].append(centre)
        if turn is not None: out["turn"].append(turn)
    add_resting(out, episode, bodies, t)


def add_long(out, options, episode, start, folder):
    """50 steps: is each body whole, at rest, and on something?"""
    rollout = predict(options, episode, start, 50, folder)
    bodies = Bodies(episode, rollout)
    gaps = Shapes(episode, bodies.of).gaps(bodies.place[-1], bodies.turn[-1])
    true = Shapes(episode, bodies.of).gaps(episode.place[-1, bodies.of], episode.turn[-1, bodies.of])
    speed = np.linalg.norm(bodies.place[-1] - bodies.place[-2], axis=-1) / rollout.step
    whole, rest = bodies.left[-1] < 0.05 * bodies.reach, speed < 0.1
    held = gaps[1:].min(1) < 0.015
    out["whole"] += list(whole)
    out["rest"] += list(rest)
    out["held"] += list(held)
    out["rollout"].append(bool((whole & rest & held).all()))
    lies = gaps[0, 1:] < 0.05
    out["floor gap"] += list(gaps[0, 1:][lies])
    out["true floor gap"] += list(true[0, 1:][true[0, 1:] < 0.05])


def add_falls(out, options, episode, folder):
    """Each body is lifted and let go: the share of its ballistic fall after six steps."""
    edited, fallen = (os.path.join(folder, name) for name in ("edited.h5", "fallen.h5"))
    first = predict(options, episode, 1, 0, folder)
    for k in Bodies(episode, first).of:
        label = k + 1
        run(options, "edit", first.path, "-o", edited, "--do", f"move: {{label: {label}, by: [0, 0, {LIFT}]}}", "--do",
            f"throw: {{label: {label}, velocity: [0, 0, 0], gravity: [0, 0, {-GRAVITY}], replace: true}}")
        run(options, "rollout", options.checkpoint, edited, "--steps", 6, "-o", fallen)
        r = Rollout(fallen)
        fall = (r.x - r.y[-1])[r.label == label, 2].mean()
        out["fall"].append(fall / (0.5 * GRAVITY * (6 * r.step) ** 2))


def measure(options):
    out = {key: [] for key in ("centre", "velocity", "turn", "depth", "worst", "true depth", "whole", "rest", "held",
                               "rollout", "floor gap", "true floor gap", "fall", "hit", "stay")}
    with h5py.File(options.data) as data, tempfile.TemporaryDirectory() as folder:
        for name in sorted(data["episodes"]):
            group = data["episodes"][name]
            split = group.attrs["split"]
            if (split.decode() if isinstance(split, bytes) else split) not in options.splits: continue
            episode = Episode(group, name, options.pusher)
            for start in options.starts:
                add_prediction(out, options, episode, start, folder)
                add_long(out, options, episode, start, folder)
            add_falls(out, options, episode, folder)
    return {key: np.array(values, float) for key, values in out.items()}


def report(out):
    cm, mm = lambda a: 100 * a, lambda a: 1000 * a
    found = {
        "centre_cm": [*map(float, cm(out["centre"]).mean(0))],
        "centre_median_cm": [*map(float, np.median(cm(out["centre"]), 0))],
        "start_velocity_cm": [float(cm(out["velocity"]).mean()), float(np.median(cm(out["velocity"])))],
        "start_turn_rad": [float(out["turn"].mean()), float(np.median(out["turn"]))],
        "depth_mm": [float(mm(out["depth"]).mean()), float(np.median(mm(out["worst"])))],
        "true_depth_mm": float(mm(out["true depth"]).mean()),
        "fall_share": [float(f(out["fall"])) for f in (np.median, np.min, np.max)],
        "fall_right": float((np.abs(out["fall"] - 1) <= 0.05).mean()),
        "whole_rest_held": [float(out[k].mean()) for k in ("whole", "rest", "held")],
        "long_rollouts": float(out["rollout"].mean()),
        "floor_gap_mm": [float(np.median(mm(out[k]))) for k in ("floor gap", "true floor gap")],
        "objects": len(out["centre"]), "rollouts": len(out["worst"]), "falls": len(out["fall"]),
        "resting_hit": len(out["hit"]), "resting_stay": len(out["stay"]),
    }
    if len(out["hit"]): found["resting_hit_share"] = [*map(float, out["hit"].mean(0))]
    if len(out["stay"]): found["resting_stay_cm"] = [float(cm(f(out["stay"]))) for f in (np.mean, np.max)]
    return found


WORDS = {
    "centre_cm": "centre, steps 1 / 3 / 6 / 12, mean, cm", "centre_median_cm": "the same, median",
    "start_velocity_cm": "motion of the centre into the present, error a frame, mean / median, cm",
    "start_turn_rad": "turn into the present that can be seen, error a frame, mean / median, rad",
    "depth_mm": "inside floor or other bodies, mean of steps 1-12 / worst of a rollout (median), mm",
    "true_depth_mm": "the same of the true motion, mean, mm",
    "fall_share": "fall from rest in six steps, share of the ballistic one, median / least / most",
    "fall_right": "falls of .95 to 1.05 of it, share",
    "whole_rest_held": "after 50 steps: bodies whole / at rest / on floor or body, share",
    "long_rollouts": "rollouts of 50 steps in which all bodies are all three, share",
    "floor_gap_mm": "gap to the floor of what lies on it after 50 steps, median, mm / at the video's end",
    "objects": "bodies", "rollouts": "rollouts", "falls": "bodies let go",
    "resting_hit": "bodies at rest that are moved by more than 4 cm in twelve steps", "resting_stay": "by less than 1 cm",
    "resting_hit_share": "of the former, twelve steps: predicted along true motion / error, shares of the true motion, mean",
    "resting_stay_cm": "of the latter: predicted to move by, mean / most, cm",
}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words = lambda text: text.split(",")
    p.add_argument("vpd")
    p.add_argument("checkpoint")
    p.add_argument("data")
    p.add_argument("--splits", type=words, default=["val", "test"])
    p.add_argument("--starts", type=lambda s: [int(v) for v in words(s)], default=[3, 7])
    p.add_argument("--pusher", action="store_true",
                   help="the last object, which is the pusher in such scenes, moves as recorded and is not measured")
    p.add_argument("--json", action="store_true", help="print one JSON object")
    options = p.parse_args()
    found = report(measure(options))
    if options.json: return print(json.dumps(found))
    for key, value in found.items():
        numbers = " / ".join(f"{v:.3g}" for v in value) if isinstance(value, list) else f"{value:.3g}"
        print(f"{WORDS[key]}: {numbers}")


if __name__ == "__main__":
    main()
