# SPDX-License-Identifier: Apache-2.0
"""Scene flow between two clouds of coloured points (docs/model.md, "Scene flow"). No gradients here.

Clouds are pairs (x, colour) with the colours in metres (lc rgb)."""
import torch

from .neighbours import Nearest, knn, mean_nearest

NEIGHBOURS, PASSES, FEWEST_MOVING = 96, 3, 8
WINDOW, EVERY, PLANE_NEIGHBOURS = 256, 4, 10
FIRST_STEPS, MORE_STEPS = 4, 3
ELECTIONS, CANDIDATES, VOTERS = 2, 8, 24
PAIR_COLOUR = 0.1 # of the colour length, because shading does not move with a body
PLANE_SCALE, DISTANCE_SCALE, DAMPING = 0.00375, 0.015, 0.005   # of X
POINT_SHARE = 0.02 # weight of point-to-point distance relative to point-to-plane distance


def between(c, queries, source, target, source_moving, target_moving):
    """Flow u (Q, 3) and its gradient g (Q, 3, 3) at the queries, from the source to the target cloud."""
    with torch.no_grad():
        x = queries[0]
        u, g = torch.zeros_like(x), x.new_zeros(len(x), 3, 3)
        if len(x) and len(source[0]) and len(target[0]):
            u = means(queries, source, target)
            if min(len(source_moving[0]), len(target_moving[0])) >= FEWEST_MOVING:
                R, u = Registration(c, queries, source_moving, target_moving).run(u)
                g = R - torch.eye(3, dtype=x.dtype)
        return u, g


def means(queries, source, target):
    x, colour = queries
    here = mean_nearest(torch.cat(queries, 1), torch.cat(source, 1), source[0], NEIGHBOURS)
    u = torch.zeros_like(x)
    for _ in range(PASSES):
        u = mean_nearest(torch.cat([x + u, colour], 1), torch.cat(target, 1), target[0], NEIGHBOURS) - here
    return u


def normals(cloud):
    """Normals: the direction of least extent of the points around each point."""
    e = torch.cat(cloud, 1)
    return least_direction(cloud[0][knn(e, e, PLANE_NEIGHBOURS)])


def least_direction(points):
    """The unit vector, of either sign, of least extent of points (n, k, 3)."""
    d = points - points.mean(1, keepdim=True)
    return torch.linalg.eigh(d.mT @ d)[1][..., 0]


def skew(w):
    """The matrices of the cross product with w."""
    x, y, z = w.unbind(-1)
    o = torch.zeros_like(x)
    return torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).view(*w.shape[:-1], 3, 3)


class Registration:
    """Around each query a rigid motion y = R (x - centre) + centre + t: point-to-plane registration (Chen and Medioni 1992) of the
    moving points around it, with hypothesis selection between neighbouring queries."""

    def __init__(self, c, queries, source, target):
        self.X, self.centre, self.target = c.X, queries[0], target[0]
        near = knn(torch.cat(queries, 1), torch.cat(source, 1), WINDOW)[:, ::EVERY]
        self.window, self.look = source[0][near], PAIR_COLOUR * source[1][near]       # (Q, pairs, 3)
        self.normal = normals(target)
        self.nearest = Nearest(torch.cat([target[0], PAIR_COLOUR * target[1]], 1))

    def run(self, u):
        R = torch.eye(3, dtype=u.dtype).repeat(len(u), 1, 1)
        R, t = self.improve(R, u, FIRST_STEPS)
        for _ in range(ELECTIONS):
            R, t = self.improve(*self.elect(R, t), MORE_STEPS)
        return R, t

    def match(self, place, look):
        """Correspondences of points (.., 3): e towards the nearest target point, the normal there, and the fit."""
        index, distance2 = self.nearest(torch.cat([place, look], -1).view(-1, 6))
        index = index.view(place.shape[:-1])
        e, normal = self.target[index] - place, self.normal[index]
        plane = (normal * e).sum(-1) / (PLANE_SCALE * self.X)
        return e, normal, 1 / (1 + plane ** 2 + distance2.view(index.shape) / (DISTANCE_SCALE * self.X) ** 2)

    def improve(self, R, t, times):
        damping = torch.tensor([(DAMPING * self.X) ** 2] * 3 + [1e-6] * 3, dtype=t.dtype)
        for _ in range(times):
            r = (self.window - self.centre[:, None]) @ R.mT
            e, n, fit = self.match(r + (self.centre + t)[:, None], self.look)
            w = fit ** 2
            # A small motion [omega, move] takes the point r by omega x r + move: along the normal, and a little along every axis.
            along = torch.cat([torch.linalg.cross(r, n), n], -1)                      # (Q, pairs, 6)
            axes = torch.cat([-skew(r), torch.eye(3, dtype=t.dtype).expand(*r.shape, 3)], -1)  # (Q, pairs, 3, 6)
            rows = torch.cat([along[:, :, None], axes], 2)                            # (Q, pairs, 4, 6)
            ends = torch.cat([(n * e).sum(-1, keepdim=True), e], -1)                  # (Q, pairs, 4)
            weight = w[..., None] * torch.tensor([1.0] + [POINT_SHARE] * 3, dtype=t.dtype)
            A = torch.einsum("qpi,qpij,qpik->qjk", weight, rows, rows) + torch.diag_embed(w.sum(1, keepdim=True) * damping)
            step = torch.linalg.solve(A, torch.einsum("qpi,qpij,qpi->qj", weight, rows, ends))
            R, t = torch.linalg.matrix_exp(skew(step[:, :3])) @ R, t + step[:, 3:]
        return R, t

    def elect(self, R, t):
        """Hypothesis selection: each query takes, among the motions of the queries nearest to it, the one that fits its window best."""
        candidate = knn(self.centre, self.centre, CANDIDATES)                         # (Q, candidates)
        window, look = self.window[:, None, :VOTERS], self.look[:, None, :VOTERS]
        centre = self.centre[candidate]
        place = (window - centre[:, :, None]) @ R[candidate].mT + (centre + t[candidate])[:, :, None]
        fit = self.match(place, look.expand_as(place))[2].mean(-1)
        best = torch.sort(fit, dim=1, descending=True, stable=True)[1][:, 0] # on ties, the nearest
        chosen = candidate.gather(1, best[:, None])[:, 0]
        offset = self.centre - self.centre[chosen] # about this query's own centre
        return R[chosen], t[chosen] + (R[chosen] @ offset[..., None])[..., 0] - offset
