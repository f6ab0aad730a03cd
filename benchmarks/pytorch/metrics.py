# SPDX-License-Identifier: Apache-2.0
"""Motion of object particles and PSNR of pictures, per rollout step."""
import numpy as np
import torch

from vpd_torch import data, gnn, renderer

STEPS, STARTS = (1, 3, 6, 12), (3, 7)


def rotation(q):
    w, x, y, z = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


def rigid_residual(a, b):
    """Root mean square residual of b against the best rigid motion of a."""
    a0, b0 = a - a.mean(0), b - b.mean(0)
    U, _, Vt = np.linalg.svd(a0.T @ b0)
    D = np.diag([1, 1, np.sign(np.linalg.det(U @ Vt))])
    return float(np.sqrt((((a0 @ (U @ D @ Vt)) - b0) ** 2).sum(1).mean()))


class Motion:
    """Objects are weighted by their number of particles; slopes go through the origin."""

    def __init__(self):
        self.rows = {j: [] for j in STEPS}

    def add(self, j, episode, start, label, x0, x):
        if start + j >= len(episode.position):
            return
        floor = label == 0
        drift = np.linalg.norm(x[floor] - x0[floor], axis=1).mean()
        for o in range(episode.position.shape[1]):
            own = label == o + 1
            if own.sum() < 5:
                continue
            truth = episode.position[start + j, o] - episode.position[start, o]
            R = rotation(episode.quaternion[start + j, o]) @ rotation(episode.quaternion[start, o]).T
            rigid = (x0[own] - episode.position[start, o]) @ R.T + episode.position[start + j, o]
            dx = (x[own] - x0[own]).mean(0)
            self.rows[j].append([own.sum(), *truth, *dx, np.linalg.norm(x[own] - rigid, axis=1).mean(), rigid_residual(x0[own], x[own]),
                                 drift, np.linalg.norm((rigid - x0[own]).mean(0) - truth)])

    def table(self):
        out = {}
        for j, rows in self.rows.items():
            r = np.array(rows)
            w, t, d = r[:, 0] / r[:, 0].sum(), r[:, 1:4], r[:, 4:7]
            slope = lambda k: (w[:, None] * t[:, k] * d[:, k]).sum() / (w[:, None] * t[:, k] ** 2).sum()
            out[j] = dict(motion=100 * (w * np.linalg.norm(t, axis=1)).sum(), error=100 * (w * np.linalg.norm(d - t, axis=1)).sum(),
                          particle=100 * (w * r[:, 7]).sum(), h=slope([0, 1]), v=slope([2]), nonrigid=100 * (w * r[:, 8]).sum(),
                          floor=100 * r[:, 9].mean(), oracle=100 * (w * r[:, 10]).sum())
        return out


def line(table):
    pick = lambda key, form: "/".join(form % table[j][key] for j in STEPS)
    return (f"err {pick('error', '%.1f')} (per particle {pick('particle', '%.1f')}) h {pick('h', '%.2f')} v {pick('v', '%.2f')} "
            f"nonrigid {pick('nonrigid', '%.1f')} floor {pick('floor', '%.2f')}")


def rim(mask):
    """Pixels within two pixels of the object."""
    out = mask.copy()
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            out |= np.roll(np.roll(mask, dy, -2), dx, -1) & True
    return out


class Pictures:
    def __init__(self):
        self.sums = {}

    def add(self, key, error, where):
        total, count = self.sums.get(key, (0.0, 0))
        self.sums[key] = (total + float((error * where).sum()), count + int(where.sum()))

    def psnr(self, key):
        total, count = self.sums.get(key, (0, 0))
        return -10 * np.log10(total / count) if count else float("nan")


def draw(p, c, episode, frame, view, x, f, R, background):
    H, W = episode.rgb.shape[2:4]
    row, column = (a.ravel() for a in np.meshgrid(np.arange(H), np.arange(W), indexing="ij"))
    o, d = renderer.pixel_rays(episode.Kc, episode.poses(frame), np.full(H * W, view), row, column)
    return renderer.render(p, c, x, f, R, o, d, background)[0].clamp(0, 1).view(H, W, 3).numpy()


def evaluate(p, c, episodes, encode, pictures=False, steps=STEPS):
    """-> motion table, dict of PSNR by (what, step)"""
    motion, shots = Motion(), Pictures()
    with torch.no_grad():
        for episode in episodes:
            for start in STARTS:
                frames = list(range(start - c.T + 1, start + 1))
                state, index, cloud = encode(p, c, episode, frames, 0)
                label = cloud.mask[index].astype(int)
                x0 = state.x[-1].numpy()
                background = episode.background(frames)
                for j in range(max(steps) + 1):
                    if j:
                        state, _ = gnn.step(p, c, state, 0, episode.number)
                    if j in STEPS:
                        motion.add(j, episode, start, label, x0, state.x[-1].numpy())
                    if pictures and j in (0,) + STEPS and start + j < len(episode.rgb):
                        photograph(p, c, episode, start, j, state, background, shots)
    return motion.table(), shots


def photograph(p, c, episode, start, j, state, background, shots):
    frame = start + j
    for view in episode.views + episode.heldout:
        truth = episode.rgb[frame, view] / 255
        picture = draw(p, c, episode, frame, view, state.x[-1], state.f[-1], state.R, background)
        mask = episode.mask[frame, view] > 0
        side = "held " if view in episode.heldout else ""
        for name, image in (("", picture), ("unmoved ", episode.rgb[start, view] / 255)):
            error = ((image - truth) ** 2).mean(-1)
            shots.add((name + side + "whole", j), error, np.ones_like(mask))
            shots.add((name + side + "object", j), error, mask)
            shots.add((name + side + "rim", j), error, rim(mask))
