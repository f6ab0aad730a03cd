# SPDX-License-Identifier: Apache-2.0
"""Checks vpd_torch/strongest.py without a GPU against the form of bench.py: searches, samples, loss, gradients; and that a CUDA
graph can hold a step, as far as a CPU and tensors without memory on a GPU (FakeTensorMode) can tell.

    python benchmarks/pytorch/check_strongest.py [tiny|small|paper] [--data FOLDER]
"""
import argparse
from unittest import mock

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from vpd_torch import config, data, gnn, neighbours, params, renderer, static, strongest

WAITS = ("_local_scalar_dense", "item", "nonzero", "masked_select", "unique", "_unique2", "unique_dim", "unique_consecutive", "bincount",
         "repeat_interleave", "lift_fresh", "equal", "is_nonzero")


class NoWaits(TorchDispatchMode):
    """Fails at operations that would wait for a GPU or copy to it."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        indexed = name in ("index", "index_put", "index_put_", "_index_put_impl_")
        masks = indexed and any(t is not None and t.dtype in (torch.bool, torch.uint8) for t in args[1])
        if name in WAITS or masks:
            raise AssertionError(f"a step waits for the device: {func}")
        return func(*args, **(kwargs or {}))


def expect(what, worst, allowed):
    print(f"{what:70s} {worst:9.2e}, allowed {allowed:.0e}", flush=True)
    if not worst <= allowed:
        raise SystemExit(f"check_strongest.py: {what}: {worst} is more than {allowed}")


def search(what, query, points, k, exclude_self=False):
    """Compares indices where the distances of the k + 1 nearest differ from each other."""
    own = torch.arange(len(query)) if exclude_self else None
    found = static.nearest(query, points, k, exclude_self)
    neighbours.EXACT = True
    right = torch.cat([neighbours.knn(q, points, k + 1, None if own is None else own[i : i + 256])
                       for i, q in zip(range(0, len(query), 256), query.split(256))])
    neighbours.EXACT = False
    d = (query.double()[:, None] - points.double()[right]).square().sum(2)
    clear = (d[:, 1:] - d[:, :-1] > 1e-5 * d[:, 1:]).all(1)
    expect(f"{what}: queries with other neighbours ({int(clear.sum())} of {len(query)} without ties)",
           (found != right[:, :k]).any(1)[clear].sum().item(), 0)


def form_of_bench(p, c, step, episode, frames, choices):
    """The loss as bench.py computes it, its states, the samples of its pictures, and the share of neighbours that differ. With those
    of the strongest form, because a tie that falls the other way changes gradients by 1e-3."""
    states, loss, samples, different = [data.encode(p, c, episode, frames, 0)[0]], 0, [], []
    for node in choices.nodes:
        lists = lambda g: torch.cat([i.sort(1)[0].view(-1) for i in (*g.to_node, g.node_node, g.to_particle)])
        own, graph = gnn.build_graph(c, states[-1], 0, 0, node), step.graph(states[-1], node)
        different.append((lists(own) != lists(graph)).float().mean().item())
        states.append(gnn.step(p, c, states[-1], graph=graph)[0])
    size = episode.rgb.shape[2]
    for s, pixels, jitter in zip(states, choices.pixels, choices.jitter):
        view, row, column = np.unravel_index(pixels.numpy(), (len(episode.views), size, size))
        o, d = renderer.pixel_rays(episode.Kc, episode.pose, view, row, column)
        truth = torch.from_numpy(episode.rgb[frames[-1] + s.rollout_step][view, row, column]).float() / 255
        samples.append(renderer.place(c, s.x[-1], s.R, o, d, jitter))
        colour = renderer.render(p, c, s.x[-1], s.f[-1], s.R, o, d, step.background, samples=samples[-1])[0]
        loss = loss + torch.mean((colour - truth) ** 2) / len(choices.pixels)
    return loss, states, samples, max(different)


def placing(c, step, states, choices, samples):
    """Compares rays, slots, places and sets of neighbours of all samples."""
    x = torch.stack([s.x[-1] for s in states]).detach()
    shape = (*choices.pixels.shape, 3)
    found = static.place(c, step.room, x, step.R, step.origin[choices.pixels.view(-1)].view(shape),
                         step.direction[choices.pixels.view(-1)].view(shape), choices.jitter)[0]
    there = found.ray < choices.pixels.numel()
    rays, N = choices.pixels.shape[1], x.shape[1]
    right = [torch.cat([s.ray + i * rays for i, s in enumerate(samples)]), torch.cat([s.slot for s in samples]),
             torch.cat([s.z for s in samples]),
             torch.cat([torch.where(s.neighbour < 0, -1, s.neighbour + i * N) for i, s in enumerate(samples)]).sort(1)[0]]
    mine = [found.ray[there], found.slot[there], found.z[there], found.neighbour[there].sort(1)[0]]
    expect(f"placing: {len(mine[0])} samples of {len(states)} pictures: samples too many", abs(len(mine[0]) - len(right[0])), 0)
    for name, a, b in zip(("rays", "slots", "places", "neighbours"), mine, right):
        expect(f"placing: {name} that differ", (a != b).sum().item(), 0)
    expect("placing: neighbours of samples that are left over", (found.neighbour[~there] >= 0).sum().item(), 0)


def without_weights(preset, folder, autocast):
    c, episode, rollout, rays = data.of_preset(preset, folder)
    p = {name: torch.empty(shape) for name, (shape, _) in params.shapes(c).items()}
    return strongest.Step(p, c, episode, [3, 4], rollout, rays, autocast)


def on_fake_gpu(preset, folder):
    """The forward pass with tensors that have a device and a shape and no memory. A shape that depends on data, or a tensor left on
    the CPU, raises an error."""
    with (mock.patch("torch.cuda.amp.common.amp_definitely_not_available", lambda: False),
          mock.patch("torch.cuda.is_bf16_supported", lambda *_: True), FakeTensorMode(allow_non_fake_inputs=True), torch.device("cuda")):
        step = without_weights(preset, folder, autocast=True)
        assert step.loss(step.choose()).device.type == "cuda"


def compiled_without_memory(preset, folder):
    """A compiled step with gradients on the device `meta`, which has shapes alone: a tensor that is made on the CPU raises an error."""
    with torch.device("meta"):
        step = without_weights(preset, folder, autocast=False)
        step.compile(backend="aot_eager", fullgraph=True)
        step.forward(step.choose()).backward()
        assert step.factors.data.grad.device.type == step.norms.data.grad.device.type == "meta"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("preset", nargs="?", default="tiny", choices=config.PRESETS)
    parser.add_argument("--data", default="data")
    args = parser.parse_args()
    torch.manual_seed(1)
    c, episode, rollout, rays = data.of_preset(args.preset, args.data)
    frames, p = [3, 4], params.init(c)
    for w in p.values():  # weights that start at zero would hide errors
        w.data += 0.02 * torch.randn(w.shape)
    step = strongest.Step(p, c, episode, frames, rollout, rays, autocast=False)

    for P, k in ((1024, 4), (1024, 10), (960, 3), (1000, 10), (128, 10)):
        search(f"random: {k} of {P}", torch.randn(2000, 3), torch.randn(P, 3), k)
    x = torch.from_numpy(np.concatenate([cloud.x for cloud in episode.sequence(c, frames)]))
    some, nodes = x[torch.randperm(len(x))[:4000]], x[torch.randperm(len(x))[:1024]]
    search("surfaces: 4 of 1024", some, nodes, 4)
    search("surfaces: 10 of 1024, not itself", nodes, nodes, 10, True)

    while True:  # until there is room
        with torch.no_grad():
            choices = step.choose()
            choices.particles = [torch.from_numpy(cloud.choose(c, 0, episode.number)) for cloud in episode.sequence(c, frames)]
            step.loss(choices)
        if not step.room.grow():
            break
    print("room:", dict(zip(step.room.NAMES, step.room.sizes)))
    right, states, samples, different = form_of_bench(p, c, step, episode, frames, choices)
    expect("graphs: largest share of neighbours that differ, by ties", different, 1e-4)
    right.backward()
    placing(c, step, states, choices, samples)
    found = step.loss(choices)
    found.backward()
    expect(f"loss {found.item():.6f}: relative difference", abs(found.item() / right.item() - 1), 1e-5)
    gradients = step.factors.views(step.factors.data.grad) | step.norms.views(step.norms.data.grad)
    worst = max(((gradients[name] - w.grad).norm() / w.grad.norm()).item() for name, w in p.items())
    expect("gradients: largest relative difference of a parameter", worst, 1e-4)

    try:
        with NoWaits():
            form_of_bench(p, c, step, episode, frames, choices)
        raise SystemExit("check_strongest.py: the form of bench.py waits, and NoWaits does not see it")
    except AssertionError:
        pass
    for autocast in (False, True):
        step.autocast = autocast
        with NoWaits():
            step()
    on_fake_gpu(args.preset, args.data)
    compiled_without_memory(args.preset, args.data)
    print("a step without waits, a forward pass on a GPU that is not there, a compiled step on `meta`: passed")


if __name__ == "__main__":
    main()
