# SPDX-License-Identifier: Apache-2.0
"""From pixels to particles: unprojection, moving flag, choice, radii. numpy: nothing here has a gradient."""
import numpy as np
import torch
from scipy.spatial import cKDTree

from . import neighbours, philox
from .host import to_device, to_numpy


def unproject(depth, Kc, pose):
    """depth (V, H, W) -> positions (V, H, W, 3) float64, valid (V, H, W)"""
    V, H, W = depth.shape
    valid = np.isfinite(depth) & (depth > 0)
    z = np.where(valid, depth, 0).astype(np.float64)
    u, v = np.meshgrid(np.arange(W) + 0.5, np.arange(H) + 0.5)
    pixel = np.stack([u, v, np.ones_like(u)], -1)
    ray = np.einsum("vij,hwj->vhwi", np.linalg.inv(Kc), pixel)
    world = np.einsum("vij,vhwj->vhwi", pose[:, :3, :3], ray * z[..., None]) + pose[:, None, None, :3, 3]
    return world, valid


def moving_flag(depth, Kc, pose, other_depth, other_pose, zm):
    """m (V, H, W): 1 where the depth stored at the other time is missing, or differs from the projected depth z by more than zm and 1.5 noise z^2."""
    V, H, W = depth.shape
    point, valid = unproject(depth, Kc, pose)
    change, missing = np.full((V, H, W), np.inf), np.zeros((V, H, W), bool)  # |stored - z| / z^2
    far = np.zeros((V, H, W), bool)
    for view in range(V):
        inverse = np.linalg.inv(other_pose[view])
        q = point[view] @ inverse[:3, :3].T + inverse[:3, 3]
        z = q[..., 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            uv = (q @ Kc[view].T)[..., :2] / z[..., None]
        if np.array_equal(pose[view], other_pose[view]): # a static camera: the same pixel
            u, v = np.meshgrid(np.arange(W), np.arange(H))
        else:
            uv = np.where(np.isfinite(uv), uv, -1)
            u, v = np.floor(uv[..., 0]).astype(np.int64), np.floor(uv[..., 1]).astype(np.int64)
        inside = (u >= 0) & (u < W) & (v >= 0) & (v < H) & (z > 0) & valid[view]
        stored = other_depth[view][np.clip(v, 0, H - 1), np.clip(u, 0, W - 1)]
        there = np.isfinite(stored) & (stored > 0)
        missing[view] = inside & ~there
        both = inside & there
        change[view][both] = np.abs(stored[both] - z[both]) / z[both] ** 2
        far[view][both] = np.abs(stored[both] - z[both]) > zm
    sizes = np.sort(change[change <= 1])
    noise = 1.4826 * sizes[(len(sizes) + 1) // 2 - 1] if len(sizes) else 0
    return (missing | (far & (change > 1.5 * noise))).astype(np.float32)


def voxel_ids(x, a):
    cell = np.floor(x.astype(np.float64) / a).astype(np.int64)
    cell -= cell.min(0)
    extent = cell.max(0) + 1
    return (cell[:, 0] * extent[1] + cell[:, 1]) * extent[2] + cell[:, 2]


def voxel_grid(x, n, X):
    """Voxel number of each point for the coarsest edge X 2^(-j/4), j = -8 .. 64, with at least n occupied voxels."""
    for j in range(-8, 65):
        ids = voxel_ids(x, X * 2.0 ** (-j / 4))
        if len(np.unique(ids)) >= n:
            break
    return ids


def choose_voxel(x, keys, n, X, ids=None):
    """Indices of n points, ordered by key: the point of smallest key in each voxel, and of these the n with the smallest keys."""
    order = np.argsort(keys, kind="stable")
    if len(x) <= n:
        return order
    ids = voxel_grid(x, n, X) if ids is None else ids
    _, first = np.unique(ids[order], return_index=True)
    return order[np.sort(first)[:n]]


def choose_particles(c, x, keys, inside, m=None, grids=None):
    """x (P, 3) valid points, keys (P) uint64, inside (P) bool or None (no box), m (P) or None -> indices, ordered by key.
    `grids` may hold voxel numbers by (part, n), which do not depend on the keys."""
    if c.sampling == "uniform":
        return np.argsort(keys, kind="stable")[: c.N]
    share = int(round(c.moving_share * c.N))
    moving = np.flatnonzero(m > 0) if share and m is not None else np.empty(0, np.int64)
    rest = np.setdiff1d(np.arange(len(x)), moving)
    n_moving = min(len(moving), max(share, c.N - len(rest)))
    n_rest = c.N - n_moving
    n_in = int(round(c.inside_share * n_rest))
    n_out = n_rest - n_in
    there = np.ones(len(rest), bool) if inside is None else inside[rest]
    parts = [rest[there], rest[~there]]
    targets = [n_moving, n_in + max(0, n_out - len(parts[1])), n_out + max(0, n_in - len(parts[0]))]
    chosen = []
    for number, (part, n) in enumerate(zip([moving] + parts, targets)):
        ids = None
        if grids is not None and len(part) > n:
            if (number, n) not in grids:
                grids[number, n] = voxel_grid(x[part], n, c.X)
            ids = grids[number, n]
        chosen.append(part[choose_voxel(x[part], keys[part], n, c.X, ids)])
    chosen = np.concatenate(chosen)
    return chosen[np.argsort(keys[chosen], kind="stable")]


def confirmed(c, x, colour, m):
    """Flags of a whole cloud, without those that most of the c.moving_vote nearest points in (position, lc rgb) do not share."""
    asked = np.flatnonzero(m > 0)
    if c.moving_vote < 2 or not len(asked):
        return m
    e, out = to_device(np.concatenate([x, c.lc * colour], 1)), m.copy()
    out[asked] = m[to_numpy(neighbours.knn(e[asked], e, c.moving_vote))].mean(1) > 0.5
    return out


def radii(c, x):
    if not c.radius_per_particle or len(x) < 2:
        return np.full(len(x), c.r)
    k = min(4, len(x) - 1)
    d = cKDTree(x).query(x, k=k + 1)[0][:, k]
    return np.clip(1.25 * d, 0.6 * c.r, 2.3 * c.r)


def derive_radius(x_inside):
    """r: 2.1 x the median distance to the nearest neighbour."""
    return 2.1 * float(np.median(cKDTree(x_inside).query(x_inside, k=2)[0][:, 1]))


def choose_nodes(c, x, step, rollout_step, episode):
    """Indices of at most M abstract nodes of the present set: x (N, 3)."""
    keys = philox.key64(c.seed, philox.NODES, step * 64 + rollout_step, episode, np.arange(len(x)))
    return np.argsort(keys, kind="stable")[: c.M]
