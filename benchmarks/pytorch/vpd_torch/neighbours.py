# SPDX-License-Identifier: Apache-2.0
"""k nearest neighbours: brute force for small sets, scipy's cKDTree for large ones. No gradients here."""
import numpy as np
import torch
from scipy.spatial import cKDTree

EXACT = False        # sort all distances in double, ties by index (references); else the fastest way
WORKERS = 1


def knn(query, data, k, exclude=None):
    """query (Q, d), data (P, d) -> (Q, min(k, P)) indices, nearest first. `exclude` (Q): an index not to be returned."""
    with torch.no_grad():
        k = min(k, len(data) - (exclude is not None))
        if EXACT:
            d = ((query.double()[:, None] - data.double()[None]) ** 2).sum(-1)
        elif len(query) * len(data) > 1 << 22:
            return _tree(query, data, k, exclude)
        else:
            d = torch.cdist(query, data, compute_mode="donot_use_mm_for_euclid_dist")
        if exclude is not None:
            d.scatter_(1, exclude[:, None], float("inf"))
        if EXACT:
            return torch.sort(d, dim=1, stable=True)[1][:, :k]
        return d.topk(k, 1, largest=False)[1]


def _tree(query, data, k, exclude):
    found = cKDTree(data.numpy()).query(query.numpy(), k=k + (exclude is not None), workers=WORKERS)[1]
    found = torch.from_numpy(found.reshape(len(query), -1))
    if exclude is None:
        return found
    self_last = (found == exclude[:, None]).to(torch.int8).argsort(1, stable=True)  # the query itself to the end
    return found.gather(1, self_last)[:, :k]


def nearest(query, data, data_norm=None):
    """Index of the nearest of many `data` for each query, by one matrix product."""
    with torch.no_grad():
        if EXACT:
            return knn(query, data, 1)[:, 0]
        data_norm = (data * data).sum(1) if data_norm is None else data_norm
        return torch.addmm(data_norm, query, data.T, alpha=-2).argmin(1)


def mean_nearest(query, data, values, k):
    """Mean of values of the k nearest: (Q, 3)."""
    with torch.no_grad():
        k = min(k, len(data))
        if EXACT:
            index = knn(query, data, k)
        else:
            d = torch.addmm((data * data).sum(1), query, data.T, alpha=-2)
            index = d.topk(k, 1, largest=False, sorted=False)[1]
        return values[index].mean(1)


class Nearest:
    """Of `data`, for many searches: query (Q, d) -> index of the nearest (Q) and the squared distance to it (Q)."""

    def __init__(self, data):
        self.data, self.tree = data, None if EXACT else cKDTree(data.numpy())

    def __call__(self, query):
        if EXACT:
            index = knn(query, self.data, 1)[:, 0]
        else:
            index = torch.from_numpy(self.tree.query(query.numpy(), workers=WORKERS)[1])
        return index, (query - self.data[index]).square().sum(1)
