# SPDX-License-Identifier: Apache-2.0
"""Terms of the training loss (docs/model.md, "Loss")."""
import numpy as np
import torch

from . import philox
from .neighbours import nearest


def huber(e, h):
    return torch.sqrt((e * e).sum(-1) + h * h) - h


def displacement_penalty(c, dx):
    return dx.abs().sum(1).mean() / c.s


def nearest_term(c, state, cloud, cloud_embedding, closer=None):
    """Between the moving particles and the point cloud of the target frame, both ways; metres over s."""
    h, w = 0.01 * c.X, c.lc
    moving = torch.nonzero(state.m[-1])[:, 0]
    if not len(moving):
        return state.x[-1].sum() * 0
    x = state.x[-1].index_select(0, moving)
    mine = torch.cat([x.detach(), w * state.c[-1][moving]], 1)
    points, norms = cloud_embedding
    term = huber(x - cloud.xt.to(x.dtype)[nearest(mine, points, norms)], h).mean()
    if closer is not None and len(closer):
        y = cloud.xt.to(x.dtype)[closer]
        term = term + huber(y - x[nearest(points[closer], mine)], h).mean()
    return term / c.s


def closer_pixels(c, episode, frame, last, seed, step, count=200):
    """Points of the cloud of `frame` whose depth came closer than in the last input frame by at least 0.01 X."""
    views = episode.views
    cloud = episode.cloud(c, frame, max(frame - 1, 0))
    now, then = episode.depth[frame][views].reshape(-1)[cloud.pixel], episode.depth[last][views].reshape(-1)[cloud.pixel]
    found = np.flatnonzero((then > 0) & (then - now >= 0.01 * c.X))
    if len(found) > count:
        keys = philox.key64(seed, philox.PARTICLES, step, episode.number, cloud.key_index[found])
        found = found[np.argsort(keys, kind="stable")[:count]]
    return torch.from_numpy(found), cloud
