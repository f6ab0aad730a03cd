#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours: libvpd's knn against scipy's cKDTree, build + query, alternating, median of several runs.

    benchmarks/knn.py [build/release/libvpd_internals.so] [--points 131072] [--k 16] [--threads 2] [--repeat 7]

    cmake --build build/release --target vpd_internals      # builds the library

Points lie on surfaces (floor, spheres, far wall) unprojected from two depth images, in random order. Results are compared too."""
import argparse
import ctypes
import json
import pathlib
import statistics
import time

import numpy as np
from scipy.spatial import cKDTree


class KnnArgs(ctypes.Structure):
    _fields_ = [("points", ctypes.c_size_t), ("queries", ctypes.c_size_t), ("point", ctypes.c_void_p),
                ("query", ctypes.c_void_p), ("extra", ctypes.c_size_t), ("point_extra", ctypes.c_void_p),
                ("query_extra", ctypes.c_void_p), ("point_scenes", ctypes.c_size_t), ("first_point", ctypes.c_void_p),
                ("query_scenes", ctypes.c_size_t), ("first_query", ctypes.c_void_p), ("self", ctypes.c_void_p), ("guesses", ctypes.c_bool),
                ("guess", ctypes.c_void_p), ("k", ctypes.c_int),
                ("index", ctypes.c_void_p), ("distance2", ctypes.c_void_p), ("visited", ctypes.c_void_p)]


def surfaces(count, seed=0):
    """Points seen by two pinhole cameras: a floor with spheres, and a wall behind them."""
    rng = np.random.default_rng(seed)
    h = int(np.sqrt(count / 2))
    w = -(-count // (2 * h))
    out = []
    for angle in (0.3, 2.0):
        eye = np.array([2.2 * np.cos(angle), 2.2 * np.sin(angle), 1.6])
        z = -eye / np.linalg.norm(eye)
        x = np.cross(z, [0, 0, 1])
        x /= np.linalg.norm(x)
        R = np.stack([x, np.cross(z, x), z], 1)
        u, v = np.meshgrid((np.arange(w) + 0.5) / w * 2 - 1, (np.arange(h) + 0.5) / h * 2 - 1)
        d = np.stack([u * 0.6, v * 0.6, np.ones_like(u)], -1) @ R.T
        depth = np.where(d[..., 2] < -1e-3, -eye[2] / np.minimum(d[..., 2], -1e-3), 40.0)
        depth = np.minimum(depth, 12.0)
        for centre in rng.uniform([-0.8, -0.8, 0.1], [0.8, 0.8, 0.6], (12, 3)):
            a, b, c = (d * d).sum(-1), (d @ (eye - centre)), ((eye - centre) ** 2).sum() - 0.15 ** 2
            s = np.sqrt(np.maximum(b * b - a * c, 0))
            depth = np.where((b * b > a * c), np.minimum(depth, (-b - s) / a), depth)
        out.append((eye + d * depth[..., None]).reshape(-1, 3))
    x = np.concatenate(out)
    return np.ascontiguousarray(x[rng.permutation(len(x))[:count]].astype(np.float32))


class Vpd:
    def __init__(self, path, threads):
        self.lib = ctypes.CDLL(path)
        self.device = ctypes.c_void_p()
        if self.lib.device_open(b"cpu", threads, ctypes.byref(self.device), None):
            raise SystemExit("cannot open the device")

    def knn(self, point, k, extra=None):
        index = np.empty((len(point), k), np.int32)
        distance = np.empty((len(point), k), np.float32)
        visited = np.zeros(1, np.uint64)
        dims = 0 if extra is None else extra.shape[1]
        more = 0 if extra is None else extra.ctypes.data
        a = KnnArgs(len(point), len(point), point.ctypes.data, point.ctypes.data, dims, more, more, 0, None, 0,
                    None, None, False, None, k, index.ctypes.data, distance.ctypes.data, visited.ctypes.data)
        start = time.perf_counter()
        self.lib.knn(self.device, ctypes.byref(a))
        return time.perf_counter() - start, index, distance, visited[0] / len(point)


def scipy_knn(x, k, threads):
    start = time.perf_counter()
    distance, index = cKDTree(x).query(x, k=k, workers=threads)
    return time.perf_counter() - start, distance, index


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?", default="build/release/libvpd_internals.so")
    parser.add_argument("--points", type=int, default=131072)
    parser.add_argument("--k", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--extra", type=int, default=0, help="number of extra coordinates (uniform in +-0.25)")
    o = parser.parse_args()
    x = surfaces(o.points)
    extra = np.random.default_rng(1).uniform(-0.25, 0.25, (len(x), o.extra)).astype(np.float32) if o.extra else None
    both = x if extra is None else np.hstack([x, extra])
    vpd = Vpd(str(pathlib.Path(o.library).resolve()), o.threads)
    vpd.knn(x, o.k, extra)
    ours, rival = [], []
    for _ in range(o.repeat):
        seconds, _, distance, visited = vpd.knn(x, o.k, extra)
        ours.append(seconds)
        seconds, d, _ = scipy_knn(both, o.k, o.threads)
        rival.append(seconds)
    # Distances agree up to float rounding; indices may differ between equal distances.
    worst = float(np.abs(np.sqrt(distance) - d).max())
    print(json.dumps({"points": len(x), "k": o.k, "extra": o.extra, "threads": o.threads, "vpd_s": statistics.median(ours), "vpd_s_range": [min(ours), max(ours)],
                      "scipy_s": statistics.median(rival), "scipy_s_range": [min(rival), max(rival)],
                      "ratio": statistics.median(rival) / statistics.median(ours), "visited_per_query": visited, "largest_difference_m": worst}))
    if not worst < 1e-4:
        raise SystemExit("results differ")


if __name__ == "__main__":
    main()
