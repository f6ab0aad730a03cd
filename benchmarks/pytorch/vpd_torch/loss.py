# SPDX-License-Identifier: Apache-2.0
"""Terms of the training loss (docs/model.md, "Losses")."""
import numpy as np
import torch

from . import flow, philox
from .host import to_device
from .neighbours import knn, nearest


def huber(e, h):
    return torch.sqrt((e * e).sum(-1) + h * h) - h


def nearest_term(c, state, cloud, cloud_embedding, closer=None):
    """Distances between the moving particles and the point cloud of the target frame, in both directions; metres over s."""
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
    """Points of the cloud of `frame` whose depth is smaller than in the last input frame by at least 0.01 X."""
    views = episode.views
    cloud = episode.cloud(c, frame, max(frame - 1, 0))
    now, then = episode.depth[frame][views].reshape(-1)[cloud.pixel], episode.depth[last][views].reshape(-1)[cloud.pixel]
    found = np.flatnonzero((then > 0) & (then - now >= 0.01 * c.X))
    if len(found) > count:
        keys = philox.key64(seed, philox.PARTICLES, step, episode.number, cloud.key_index[found])
        found = found[np.argsort(keys, kind="stable")[:count]]
    return to_device(found), cloud


def flow_field(c, episode, frame, points=256, voters=8):
    """Flow to the next frame, at points of this one that changed, and 0 at points that did not: (x, colour, u, g). Cached."""
    if frame not in episode.fields:
        now, before, after = (episode.cloud(c, *pair) for pair in ((frame, frame + 1), (frame, frame - 1), (frame + 1, frame)))
        keys = philox.key64(c.seed, philox.FLOW, frame, episode.number, now.pixel)
        changed = (now.m > 0) | (before.m > 0)
        some, others = (part[np.argsort(keys[part], kind="stable")[:points]] for part in (np.flatnonzero(changed), np.flatnonzero(~changed)))
        source, target = ((s.xt, c.lc * s.ct) for s in (now, after))
        moving = [tuple(a[to_device(s.moving(c) > 0)] for a in cloud) for s, cloud in ((now, source), (after, target))]
        queries = tuple(a[some] for a in source)
        u, g = flow.between(c, queries, source, target, *moving)
        # floor that a body uncovers, or will cover, changes in one direction of time only
        voter = np.flatnonzero(changed)
        near = knn(torch.cat(queries, 1), torch.cat([a[voter] for a in source], 1), voters)
        rests = to_device((now.m * before.m)[voter])[near].mean(1) < 0.5
        u[rests], g[rests] = 0, 0
        where, none = np.concatenate([some, others]), len(others)
        episode.fields[frame] = tuple(a[where] for a in source) + (torch.cat([u, u.new_zeros(none, 3)]), torch.cat([g, g.new_zeros(none, 3, 3)]))
    return episode.fields[frame]


def flow_term(c, state, y):
    """Distance of particles to y (N, 3), where scene flow has taken them: mean over moving particles plus mean over static ones."""
    m = state.m[-1]
    count = torch.where(m > 0, (m > 0).sum(), (m <= 0).sum())
    return (huber(state.x[-1] - y, 0.05 * c.X) / count).sum() / c.s
