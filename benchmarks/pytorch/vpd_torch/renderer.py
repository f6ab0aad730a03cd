# SPDX-License-Identifier: Apache-2.0
"""Ray renderer of docs/model.md. Samples are placed and given neighbours without gradient, then shaded and composited."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F

from .host import to_device, to_numpy
from .layers import activation, mlp

RINGS = 4 # at 0, 1/4, 2/4, 3/4
SIGMA = 0.25


@dataclass
class Samples:
    ray: torch.Tensor      # (n) ray of each sample, ascending
    slot: torch.Tensor     # (n) 0 .. S-1 along its ray
    z: torch.Tensor        # (n)
    neighbour: torch.Tensor  # (n, K), -1 = none


def _order(key):
    """Stable sort order of integers; numpy's radix sort is faster on a CPU."""
    if key.device.type == "cpu":
        return to_device(np.argsort(to_numpy(key), kind="stable"))
    return torch.argsort(key, stable=True)


class Cells:
    """For every cell of a grid, the indices of the particles whose support touches it: candidates for samples in the cell."""

    def __init__(self, x, R, edge):
        self.edge = edge
        self.low = torch.floor((x - R[:, None]).amin(0) / edge)
        self.size = (torch.floor((x + R[:, None]).amax(0) / edge) - self.low + 1).long()
        base = torch.floor(x / edge)
        reach = torch.ceil(R / edge).long()
        particle, cell = [], []
        stride = torch.tensor([int(self.size[1] * self.size[2]), int(self.size[2]), 1])
        for m in torch.unique(reach).tolist():
            own = torch.nonzero(reach == m)[:, 0]
            side = torch.arange(-m, m + 1)
            gaps, ids = [], []
            for axis in range(3):  # squared gap between particle and cell along each axis: (n, 2 m + 1)
                b, at = base[own, axis][:, None] + side, x[own, axis][:, None]
                gap = (b * edge - at).clamp_min(0) + (at - (b + 1) * edge).clamp_min(0)
                gaps.append(gap * gap)
                ids.append((b - self.low[axis]).long() * stride[axis])
            total = gaps[0][:, :, None, None] + gaps[1][:, None, :, None] + gaps[2][:, None, None, :]
            where = ids[0][:, :, None, None] + ids[1][:, None, :, None] + ids[2][:, None, None, :]
            touch = total < (R[own] * R[own] * (1 + 1e-5))[:, None, None, None]
            cell.append(where[touch])
            particle.append(own.repeat_interleave(touch.flatten(1).sum(1)))
        particle, cell = torch.cat(particle), torch.cat(cell)
        self.count = torch.bincount(cell, minlength=int(self.size.prod()))
        order = _order(cell * len(x) + particle)
        self.particle = particle[order]
        self.start = torch.cumsum(self.count, 0) - self.count

    def find(self, origin, z, direction):
        """Cell of origin + z direction, -1 outside; origin, direction (rays, 3), z (rays, J)"""
        number, inside = 0, True
        for axis in range(3):
            i = torch.floor((origin[:, axis, None] + z * direction[:, axis, None]) / self.edge) - self.low[axis]
            inside = inside & (i >= 0) & (i < self.size[axis])
            number = number * self.size[axis] + i.to(torch.int32)
        return torch.where(inside, number, -1)


def neighbours(c, cells, q, cell, x, R):
    """(n, K) of smallest u < 1, ties by index, -1 = none; and how many there are at all."""
    count, n = cells.count[cell], len(q)
    sample = torch.repeat_interleave(count)
    shift = cells.start[cell] - (torch.cumsum(count, 0) - count)
    particle = cells.particle.index_select(0, torch.arange(len(sample)) + shift.index_select(0, sample))
    d = q.index_select(0, sample) - x.index_select(0, particle)
    u = torch.sqrt((d * d).sum(1) + 1e-12) / R.index_select(0, particle)
    near = u < 1
    sample, particle, u = sample[near], particle[near], u[near]
    found = torch.bincount(sample, minlength=n)
    rank = torch.arange(len(sample)) - (torch.cumsum(found, 0) - found)[sample]
    width = max(int(found.max()) if n else 0, c.K)
    table = torch.full((n, width), -1, dtype=torch.long)
    table[sample, rank] = particle
    many = torch.nonzero(found > c.K)[:, 0]
    if len(many):
        reach = torch.full((n, width), float("inf"), dtype=x.dtype)
        reach[sample, rank] = u
        best = torch.sort(reach[many], dim=1, stable=True)[1][:, : c.K]
        table[many, : c.K] = table[many].gather(1, best)
    return table[:, : c.K], found


def place(c, x, R, origin, direction, jitter):
    """The first S samples of each ray that have a neighbour."""
    with torch.no_grad():
        x, rays = x.detach(), len(origin)
        cells = Cells(x, R, c.r)
        length = direction.norm(dim=1)
        spacing = (c.delta / length)[:, None]
        low, high = cells.low * c.r, (cells.low + cells.size) * c.r
        inverse = 1 / torch.where(direction.abs() < 1e-12, torch.full_like(direction, 1e-12), direction)
        a, b = (low - origin) * inverse, (high - origin) * inverse
        enter = torch.minimum(a, b).amax(1).clamp_min(c.near)
        leave = torch.maximum(a, b).amin(1).clamp_max(c.far)
        first = (torch.floor(enter / spacing[:, 0]) - 1).clamp_min(0)
        last = torch.ceil(leave / spacing[:, 0]) + 1
        steps = int((last - first).clamp_min(0).max()) if rays else 0
        j = first[:, None] + torch.arange(steps)
        z = (j + jitter[:, None]) * spacing
        inside = (z >= c.near) & (z <= c.far) & (j <= last[:, None])
        cell = cells.find(origin, z, direction)
        inside &= (cell >= 0) & (cells.count > 0)[cell.clamp_min(0)]
        ray, column = torch.nonzero(inside, as_tuple=True)
        z, cell = z[ray, column], cell[ray, column].long()
        q = origin.index_select(0, ray) + z[:, None] * direction.index_select(0, ray)
        table, found = neighbours(c, cells, q, cell, x, R)
        kept = torch.nonzero(found > 0)[:, 0]
        ray, z, table = ray[kept], z[kept], table[kept]
        count = torch.bincount(ray, minlength=rays)
        slot = torch.arange(len(ray)) - (torch.cumsum(count, 0) - count)[ray]
        early = torch.nonzero(slot < c.S)[:, 0]
        return Samples(ray[early], slot[early], z[early], table[early])


def ring_features(c, q, x, f, R, neighbour):
    """(n, 4 D + 4) network input without direction, mean colour (n, 3), sum of cuts (n)"""
    index, present = neighbour.clamp_min(0), neighbour >= 0
    flat = index.reshape(-1)
    d = q[:, None] - x.index_select(0, flat).view(*index.shape, 3)
    u = torch.sqrt((d * d).sum(-1) + 1e-12) / R.index_select(0, flat).view(index.shape)
    cut = torch.where(present, torch.square(1 - u * u), torch.zeros_like(u))
    rho = torch.arange(RINGS, dtype=q.dtype, device=q.device) / RINGS
    w = torch.exp(-torch.square((u[..., None] - rho) / SIGMA)) * cut[..., None]      # (n, K, 4)
    total = w.sum(1)                                                                # (n, 4)
    a = torch.bmm(w.transpose(1, 2), f.index_select(0, flat).view(*index.shape, -1)) / (0.01 + total)[..., None]
    return torch.cat([a.flatten(1), torch.log1p(total)], 1), a[..., :3].mean(1), cut.sum(1)


def shade(p, c, q, unit, x, f, R, neighbour):
    """density (n) in 1/m and colour (n, 3)"""
    features, mean_colour, cuts = ring_features(c, q, x, f, R, neighbour)
    raw = mlp(p, "renderer", torch.cat([features, unit], 1) if c.view_direction else features, activation(c.activation))
    density = F.softplus(raw[:, 0]) * (4 / c.r) * (1 - torch.exp(-4 * cuts))
    logits = raw[:, 1:] + 3 * mean_colour if c.carry_rgb else raw[:, 1:]
    return density, torch.sigmoid(logits)


def composite(density, colour, z, ray, slot, rays, S, delta, background):
    """-> colour (rays, 3), opacity (rays), depth (rays)"""
    at = ray * S + slot
    tau = torch.zeros(rays * S, dtype=density.dtype).index_copy(0, at, density * delta).view(rays, S)
    passed = torch.cumsum(tau, 1)
    weight = (torch.exp(-(passed - tau)) * -torch.expm1(-tau)).view(-1).index_select(0, at)
    sums = torch.zeros(rays, 4, dtype=density.dtype).index_add(0, ray, weight[:, None] * torch.cat([colour, z[:, None]], 1))
    end = torch.exp(-passed[:, -1])
    opacity = 1 - end
    return sums[:, :3] + end[:, None] * background, opacity, sums[:, 3] / opacity.clamp_min(1e-6)


def sky(p, c, unit, mean_background):
    if c.background == "learned":
        return torch.sigmoid(p["renderer.background"])
    if c.background == "direction":
        return torch.sigmoid(mlp(p, "renderer.sky", unit, activation(c.activation)))
    return mean_background


def render(p, c, x, f, R, origin, direction, background, jitter=None, samples=None, shade_=shade):
    """x (N, 3), f (N, D), R (N); rays origin, direction (rays, 3) with camera z 1; background (3)"""
    rays = len(origin)
    if samples is None:
        samples = place(c, x, R, origin, direction,
                        torch.full((rays,), 0.5, dtype=x.dtype) if jitter is None else jitter)
    unit = direction / direction.norm(dim=1, keepdim=True)
    q = origin[samples.ray] + samples.z[:, None] * direction[samples.ray]
    density, colour = shade_(p, c, q, unit[samples.ray], x, f, R, samples.neighbour)
    return composite(density, colour, samples.z, samples.ray, samples.slot, rays, c.S, c.delta, sky(p, c, unit, background))


def pixel_rays(Kc, pose, view, row, column, dtype=torch.float32):
    """Rays of pixels (view, row, column) (numpy int arrays): origin, direction (n, 3)"""
    inverse = np.linalg.inv(Kc)[view]
    pixel = np.stack([column + 0.5, row + 0.5, np.ones(len(row))], 1)
    direction = np.einsum("nij,nj->ni", pose[view][:, :3, :3], np.einsum("nij,nj->ni", inverse, pixel))
    return torch.tensor(pose[view][:, :3, 3], dtype=dtype), torch.tensor(direction, dtype=dtype)
