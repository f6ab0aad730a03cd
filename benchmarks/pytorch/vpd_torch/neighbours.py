# SPDX-License-Identifier: Apache-2.0
"""k nearest neighbours: brute force for small sets and on a GPU, scipy's cKDTree for large ones. No gradients here."""
import numpy as np
import torch
from scipy.spatial import cKDTree

from .host import to_device, to_numpy

EXACT = False # sort all distances in double, ties by index (for reference values); else the fastest way
WORKERS = 1


def knn(query, data, k, exclude=None):
    """query (Q, d), data (P, d) -> (Q, min(k, P)) indices, nearest first. `exclude` (Q): an index to leave out."""
    with torch.no_grad():
        k = min(k, len(data) - (exclude is not None))
        if EXACT:
            d = ((query.double()[:, None] - data.double()[None]) ** 2).sum(-1)
        elif len(query) * len(data) > 1 << 22:
            return _tree(query, data, k, exclude) if data.device.type == "cpu" else _in_parts(query, data, k, exclude)
        else:
            d = torch.cdist(query, data, compute_mode="donot_use_mm_for_euclid_dist")
        if exclude is not None:
            d.scatter_(1, exclude[:, None], float("inf"))
        if EXACT:
            return torch.sort(d, dim=1, stable=True)[1][:, :k]
        return d.topk(k, 1, largest=False)[1]


def _in_parts(query, data, k, exclude):
    """Brute force, in blocks of queries whose distances take 256 MiB."""
    rows, found = max(1, (1 << 26) // len(data)), []
    for first in range(0, len(query), rows):
        d = torch.cdist(query[first : first + rows], data, compute_mode="donot_use_mm_for_euclid_dist")
        if exclude is not None:
            d.scatter_(1, exclude[first : first + rows, None], float("inf"))
        found.append(d.topk(k, 1, largest=False)[1])
    return torch.cat(found)


def _tree(query, data, k, exclude):
    found = cKDTree(to_numpy(data)).query(to_numpy(query), k=k + (exclude is not None), workers=WORKERS)[1]
    found = to_device(found.reshape(len(query), -1))
    if exclude is None:
        return found
    # move the query itself to the end
    self_last = (found == exclude[:, None]).to(torch.int8).argsort(dim=1, stable=True)
    return found.gather(1, self_last)[:, :k]


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
    """A search index of `data`: query (Q, d) -> index of the nearest (Q) and its squared distance (Q)."""

    def __init__(self, data):
        self.data, self.tree = data, None if EXACT else cKDTree(to_numpy(data))

    def __call__(self, query):
        if EXACT:
            index = knn(query, self.data, 1)[:, 0]
        else:
            index = to_device(self.tree.query(to_numpy(query), workers=WORKERS)[1])
        return index, (query - self.data[index]).square().sum(1)
