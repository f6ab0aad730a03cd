# SPDX-License-Identifier: Apache-2.0
"""Seconds of one training step at the reference shapes (PRESETS in vpd_torch/config.py), by part, and peak memory.

    python benchmarks/pytorch/bench.py tiny [--compile | --autocast | --strongest] [--device cuda] [--threads 2] [--steps 8]

--strongest is the whole step as one CUDA graph in bfloat16, not by part (vpd_torch/strongest.py); on a CPU in float32.
"""
import argparse
import resource
import sys
import time

import numpy as np
import torch

from vpd_torch import config, data, encoder, gnn, host, layers, neighbours, params, renderer, strongest

parser = argparse.ArgumentParser()
parser.add_argument("preset", choices=config.PRESETS)
parser.add_argument("--compile", nargs="?", const="cores", choices=["cores", "all"], help="cores: MLPs; all: UNet too")
parser.add_argument("--autocast", action="store_true", help="products and convolutions in bfloat16")
parser.add_argument("--strongest", action="store_true", help="one CUDA graph in bfloat16, with and without torch.compile")
parser.add_argument("--device", default="cpu", help="cpu or cuda")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--data", default="data", help="folder with mujoco_blocks_64.h5 and mujoco_blocks_128.h5 (data/SOURCE.md)")
args = parser.parse_args()
torch.set_num_threads(args.threads)
torch.set_default_device(args.device)
on_gpu = args.device.startswith("cuda")
neighbours.WORKERS = args.threads

c, episode, steps, rays = data.of_preset(args.preset, args.data)
views, frames, H = len(episode.views), [3, 4], episode.rgb.shape[2]
p = params.init(c)


def print_resident():
    print(f"  peak resident      {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MiB")


if args.strongest:
    print(f"{args.preset} paper strongest, {args.threads} threads, median of {args.steps} steps (least)")
    strongest.bench(strongest.Step(p, c, episode, frames, steps, rays, autocast=on_gpu), args.steps, args.threads)
    print_resident()
    sys.exit()
optimiser = torch.optim.Adam(p.values(), 1e-3, fused=True)
unet, network, shade = encoder.unet, gnn.network, renderer.shade
if args.compile:
    layers.compile_cores()
    if args.compile == "all":  # minutes of compiling
        unet = torch.compile(unet)

rng = np.random.default_rng(0)
seconds = {}


def clock():
    """The clock, after the device has finished."""
    if on_gpu:
        torch.cuda.synchronize()
    return time.perf_counter()


def timed(name, work):
    begin = clock()
    out = work()
    seconds.setdefault(name, []).append(clock() - begin)
    return out


def hook(module, name):
    """Times a function of a module wherever it is called."""
    inner = getattr(module, name)
    total = {"now": 0.0}

    def outer(*a, **k):
        begin = clock()
        out = inner(*a, **k)
        total["now"] += clock() - begin
        return out
    setattr(module, name, outer)
    return total


search, placing = hook(gnn, "build_graph"), hook(renderer, "place")


def cut(t):
    """A leaf in place of t, so that the backward pass of each part can be timed separately."""
    return t.detach().requires_grad_()


def train_step(step):
    search["now"] = placing["now"] = 0.0
    begin, begin_cpu = clock(), time.process_time()
    optimiser.zero_grad(set_to_none=True)
    state = timed("encoder forward", lambda: data.encode(p, c, episode, frames, step, unet))[0]
    encoded, state.f = state.f, [cut(f) for f in state.f]
    leaves = state.f
    states, infos = [state], []

    def rollout():
        for _ in range(steps):
            after, info = gnn.step(p, c, states[-1], step, net=network)
            states.append(after)
            infos.append(info)
    timed("dynamics forward", rollout)
    shown = [(cut(s.x[-1]), cut(s.f[-1])) for s in states]

    def draw():
        loss = 0
        for s, (x, f) in zip(states, shown):
            n = rays * views
            view, row, column = np.repeat(np.arange(views), rays), rng.integers(0, H, n), rng.integers(0, H, n)
            o, d = renderer.pixel_rays(episode.Kc, episode.pose, view, row, column)
            truth = host.to_device(episode.rgb[frames[-1] + s.rollout_step][view, row, column]).float() / 255
            colour, _, _ = renderer.render(p, c, x, f, state.R, o, d, torch.ones(3), torch.rand(n), shade_=shade)
            loss = loss + torch.mean((colour - truth) ** 2) / (steps + 1)
        return loss
    loss = timed("renderer forward", draw)
    timed("renderer backward", loss.backward)
    ends = [(s.x[-1], x.grad) for s, (x, _) in zip(states[1:], shown[1:])]
    first = shown[0][1].grad
    for i, s in enumerate(states[1:]): # features do not change, so their gradients add up
        if s.f[-1] is not leaves[-1]:
            ends.append((s.f[-1], shown[i + 1][1].grad))
        else:
            first = first + shown[i + 1][1].grad
    timed("dynamics backward", lambda: torch.autograd.backward([a for a, _ in ends], [g for _, g in ends]))
    grads = [f.grad if f.grad is not None else torch.zeros_like(f) for f in leaves]
    grads[-1] = grads[-1] + first
    timed("encoder backward", lambda: torch.autograd.backward(encoded, grads))
    timed("update", optimiser.step)
    seconds.setdefault("(neighbours)", []).append(search["now"])
    seconds.setdefault("(placing)", []).append(placing["now"])
    seconds.setdefault("step", []).append(clock() - begin)
    seconds.setdefault("step cpu", []).append((time.process_time() - begin_cpu) / args.threads)


for i in range(args.steps + 2):
    with torch.autocast(args.device.split(":")[0], torch.bfloat16, enabled=args.autocast):
        train_step(i)
    if i == 1:
        seconds.clear()
print(f"{args.preset} paper"
      f"{' compiled' if args.compile else ' autocast' if args.autocast else ' eager'}, {args.threads} threads, median of {args.steps} steps (least)")
for name, values in seconds.items():
    print(f"  {name:18s} {np.median(values):8.4f} ({min(values):.4f})")
print_resident()
if on_gpu:
    print(f"  peak memory        {torch.cuda.max_memory_allocated() / 2**20:8.0f} MiB")
