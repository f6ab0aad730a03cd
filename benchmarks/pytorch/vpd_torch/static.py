# SPDX-License-Identifier: Apache-2.0
"""Searches whose shapes do not depend on data and that never wait for the device, so that a CUDA graph can hold them
(strongest.py). They find what neighbours.knn and renderer.place find. No gradients here.
torch.arange names its device, because torch.compile does not give it the default one (PyTorch 2.11)."""
import torch

from .renderer import Samples

GROUP = 32


def nearest(query, data, k, exclude_self=False):
    """query (Q, d), data (P, d) -> (Q, k) indices, nearest first; exclude_self: query i is data point i and not its own neighbour.

    The k nearest lie in the k groups of points whose nearest points are nearest: were one of them in another group, the nearest
    points of k groups would all be nearer than it. So k of P are found in P / GROUP and then in k GROUP distances. A grid of 27
    cells as large as the largest k-th distance would hold more than the 1024 nodes of `paper` (up to 246 in one cell)."""
    with torch.no_grad():
        Q, P = len(query), len(data)
        own, everyone = (torch.arange(n, device=data.device) for n in (Q, P))

        def distance(index, point):
            d = ((query[:, None] - point) ** 2).sum(-1)
            return d.masked_fill(index == own[:, None], float("inf")) if exclude_self else d
        d = distance(everyone, data[None])
        if P % GROUP or P // GROUP <= 2 * k:
            return d.topk(k, 1, largest=False)[1]
        group = d.view(Q, P // GROUP, GROUP).amin(2).topk(k, 1, largest=False)[1]
        index = (group[:, :, None] * GROUP + everyone[:GROUP]).view(Q, k * GROUP)
        d = distance(index, data.index_select(0, index.view(-1)).view(Q, k * GROUP, -1))
        return index.gather(1, d.topk(k, 1, largest=False)[1])


class Room:
    """Sizes of arrays whose length the data decides, with room to spare. `needed` (on the device) is the most that was needed."""
    NAMES = ("cells", "steps", "in a cell", "tested", "kept")

    def __init__(self):
        self.cells, self.steps, self.in_a_cell, self.tested, self.kept = self.sizes = [1024] * 5
        self.needed = torch.zeros(5, dtype=torch.long)

    def note(self, needed):
        torch.maximum(self.needed, needed, out=self.needed)

    def grow(self):
        """Makes room for what was needed, and says what was too small. Waits for the device."""
        needed, old = self.needed.tolist(), self.sizes
        small = [f"{name} {n} > {size}" for name, n, size in zip(self.NAMES, needed, old) if n > size]
        if small:
            self.cells, self.steps, self.in_a_cell, self.tested, self.kept = self.sizes = [n + n // 4 + 16 for n in needed]
            self.needed.zero_()
        return ", ".join(small)


def compact(mask, size):
    """Positions of the first `size` true entries of mask (n), whether there is one, and how many there are in all."""
    count = torch.cumsum(mask, 0)
    at = torch.searchsorted(count, torch.arange(1, size + 1, device=mask.device))
    return at.clamp_max(len(mask) - 1), at < len(mask), count[-1]


def fill_cells(c, room, x, R):
    """A grid with edge c.r >= R for each picture: the particles (of B N) whose support touches a cell, by cell; start and count
    (room.cells) of a cell's part of them; lowest cell and size of a grid (3)."""
    B, N = x.shape[:2]
    low = torch.floor((x - R[:, None]).amin((0, 1)) / c.r)
    size = (torch.floor((x + R[:, None]).amax((0, 1)) / c.r) - low + 1).long()
    at, cell = x[:, :, None], torch.floor(x / c.r)[:, :, None] + torch.arange(-1, 2, device=x.device)[:, None]  # (B, N, 3 sides, 3 axes)
    gap = ((cell * c.r - at).clamp_min(0) + (at - (cell + 1) * c.r).clamp_min(0)) ** 2
    gap = gap[:, :, :, None, None, 0] + gap[:, :, None, :, None, 1] + gap[:, :, None, None, :, 2]
    i, j, k = (cell - low).long().unbind(-1)
    number = (i[:, :, :, None, None] * size[1] + j[:, :, None, :, None]) * size[2] + k[:, :, None, None, :]
    number = number + (torch.arange(B, device=x.device) * size.prod()).view(B, 1, 1, 1, 1)
    touches = gap < (R * R * (1 + 1e-5))[:, None, None, None]
    number, order = torch.where(touches, number, B * size.prod()).to(torch.int32).view(-1).sort()
    numbers = torch.arange(room.cells + 1, device=x.device, dtype=torch.int32)
    start = torch.searchsorted(number, numbers)
    beyond = numbers[:-1] >= B * size.prod()
    return order // 27, start[:-1], (start[1:] - start[:-1]).masked_fill(beyond, 0), low, size


def place(c, room, x, R, origin, direction, jitter):
    """renderer.place for B pictures at once: x (B, N, 3), R (N) <= c.r, origin and direction (B, rays, 3), jitter (B, rays) ->
    Samples of the B rays, neighbours among the B N particles, and what room was needed (5). There are room.kept samples: those
    left over have no neighbours and belong to ray number B rays, which the caller adds."""
    with torch.no_grad():
        (B, N), rays = x.shape[:2], origin.shape[1]
        particles, start, count, low, size = fill_cells(c, room, x, R)
        x, R = x.reshape(B * N, 3), R.repeat(B)
        spacing = c.delta / direction.norm(dim=2)
        inverse = 1 / torch.where(direction.abs() < 1e-12, torch.full_like(direction, 1e-12), direction)
        a, b = (low * c.r - origin) * inverse, ((low + size) * c.r - origin) * inverse
        enter = torch.minimum(a, b).amax(2).clamp_min(c.near)
        leave = torch.maximum(a, b).amin(2).clamp_max(c.far)
        first, last = (torch.floor(enter / spacing) - 1).clamp_min(0), torch.ceil(leave / spacing) + 1
        steps = (last - first).clamp_min(0).max().long()

        # Samples in cells that particles touch.
        j = first[..., None] + torch.arange(room.steps, device=x.device)
        z = (j + jitter[..., None]) * spacing[..., None]
        inside = (z >= c.near) & (z <= c.far) & (j <= last[..., None])
        cell = (torch.arange(B, device=x.device) * size.prod()).view(B, 1, 1)
        for axis, stride in enumerate((size[1] * size[2], size[2], 1)):
            i = torch.floor((origin[..., axis, None] + z * direction[..., axis, None]) / c.r) - low[axis]
            inside, cell = inside & (i >= 0) & (i < size[axis]), cell + i.long() * stride
        cell = cell.masked_fill(~inside, 0).clamp_max(room.cells - 1).view(-1)
        at, there, tested = compact(inside.view(-1) & (count[cell] > 0), room.tested)

        # Which of them have a neighbour, and the first S of each ray.
        ray, z, cell = at // room.steps, z.view(-1)[at], cell[at]
        q = origin.reshape(-1, 3)[ray] + z[:, None] * direction.reshape(-1, 3)[ray]
        slots = torch.arange(room.in_a_cell, device=x.device)
        particle = particles[(start[cell][:, None] + slots).clamp_max(len(particles) - 1)]
        d = q[:, None] - x[particle]
        u = torch.sqrt((d * d).sum(2) + 1e-12) / R[particle]
        u = u.masked_fill((slots >= count[cell][:, None]) | ~there[:, None], 1)
        found = u.amin(1) < 1
        running, begin = torch.cumsum(found, 0), torch.searchsorted(ray, ray)
        slot = running - running[begin] + found[begin].long() - 1
        at, there, kept = compact(found & (slot < c.S), room.kept)

        u, best = u[at].topk(c.K, 1, largest=False)
        neighbour = particle[at].gather(1, best).masked_fill((u >= 1) | ~there[:, None], -1)
        needed = torch.stack([B * size.prod(), steps, count.max(), tested, kept])
        return Samples(ray[at].masked_fill(~there, B * rays), slot[at].masked_fill(~there, 0), z[at], neighbour), needed
