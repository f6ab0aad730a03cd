# SPDX-License-Identifier: Apache-2.0
"""Trains the model on a vpd-dataset file and prints its figures (metrics.py). Training recipes are tried here first.

    python benchmarks/pytorch/train.py --minutes 6 name=NAME [option=value ...]

Options are those of Opt below (training) and vpd_torch.config.Config (model). The loss is the squared error of pixels.
"""
import ast
import json
import sys
import time
from dataclasses import dataclass, fields

import numpy as np
import torch

import metrics
from vpd_torch import config, data, gnn, params, particles, renderer


@dataclass
class Opt:
    name: str = "run"
    data: str = "data/mujoco_blocks_64.h5"  # data/SOURCE.md says how to make it
    minutes: float = 6.0 # of processor time (the machine is shared), on which the learning rate depends
    updates: int = 0              # > 0: this many updates instead
    rate: float = 7e-4
    warm: int = 30
    decay: str = "cosine"         # cosine | none
    batch: int = 1                # episodes summed into one update
    steps: str = "3"              # rollout lengths over equal parts of the time: "3,6"
    clip: float = 1.0
    ema: float = 0.99
    rays: int = 128               # per view and rollout step
    moving_rays: float = 0.7
    yaw: int = 0                  # rotate (and mirror) the world about its vertical at random
    busy: int = 0 # draw start frames by how much the depth pictures change after them
    eval_minutes: float = 100.0
    pictures: int = 0
    threads: int = 1
    save: str = ""
    init: str = ""
    weight_growth: float = 1.0    # weight of rollout step j is growth^j
    frozen: str = ""              # parameters that begin with this are not trained


def parse(argv):
    opt, model = Opt(), {}
    names = {f.name: f.type for f in fields(Opt)}
    for word in argv:
        key, value = word.lstrip("-").split("=", 1)
        if key in names:
            setattr(opt, key, type(getattr(opt, key))(value))
        else:
            try:
                model[key] = ast.literal_eval(value)
            except (ValueError, SyntaxError):
                model[key] = value
    return opt, model


def yaw(rng):
    a = rng.uniform(0, 2 * np.pi)
    Q = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    if rng.random() < 0.5:
        Q[:, 0] *= -1
    return torch.tensor(Q, dtype=torch.float32)


def train_rays(episode, frame, last, rng):
    """Pixels of all training views; a share of them where the picture differs from the last input frame."""
    views, H, W = episode.views, *episode.rgb.shape[2:4]
    out = []
    now, then = episode.rgb[frame].astype(int), episode.rgb[last].astype(int)
    for view in views:
        changed = np.flatnonzero(np.abs(now[view] - then[view]).max(-1) > 12)
        n = int(opt.rays * opt.moving_rays) if len(changed) and frame != last else 0
        pixel = np.concatenate([rng.choice(changed, n) if n else np.empty(0, int), rng.integers(0, H * W, opt.rays - n)])
        out.append(np.stack([np.full(opt.rays, view), pixel // W, pixel % W], 1))
    return np.concatenate(out).T


def episode_loss(p, c, episode, start, steps, number, rng, log):
    frames = list(range(start - c.T + 1, start + 1))
    state, _, _ = data.encode(p, c, episode, frames, number)
    Q = yaw(rng) if opt.yaw else torch.eye(3)
    if opt.yaw:
        state.x = [x @ Q.T for x in state.x]
    background = episode.background(frames)
    weight = opt.weight_growth ** np.arange(steps + 1)
    weight /= weight.sum()
    total, R = 0.0, state.R
    for j in range(steps + 1):
        if j:
            state, info = gnn.step(p, c, state, number, episode.number)
            state.R = R
        view, row, column = train_rays(episode, start + j, start, rng)
        o, d = renderer.pixel_rays(episode.Kc, episode.poses(start + j), view, row, column)
        o, d = o @ Q.T, d @ Q.T
        truth = torch.from_numpy(episode.rgb[start + j][view, row, column]).float() / 255
        colour, _, _ = renderer.render(p, c, state.x[-1], state.f[-1], state.R, o, d, background, torch.from_numpy(rng.random(len(o))).float())
        total = total + float(weight[j]) * (colour - truth).square().mean()
    log["pixels"] = log.get("pixels", 0) + float(total.detach())
    log["spread"] = log.get("spread", 0) + float(info["h"].detach().std(0).mean())
    return total


def choose_start(c, episode, steps, rng, cache={}):
    last = len(episode.rgb) - steps
    if not opt.busy:
        return int(rng.integers(c.T - 1, last))
    if episode.number not in cache:
        z = episode.depth[:, episode.views]
        later = z[np.minimum(np.arange(len(z)) + 2, len(z) - 1)]
        cache[episode.number] = (np.abs(later - z) > 0.01 * c.X).sum((1, 2, 3)) + 20.0
    w = cache[episode.number][c.T - 1:last]
    return int(rng.choice(np.arange(c.T - 1, last), p=w / w.sum()))


def derive(c, episodes):
    found = []
    for e in episodes[:4]:
        cloud = e.cloud(c, 3, 2)
        index = cloud.choose(c, 0, e.number)
        found.append(particles.derive_radius(cloud.x[index][cloud.inside[index]]))
    c.r = float(np.median(found))


def main():
    global opt
    opt, model = parse(sys.argv[1:])
    torch.set_num_threads(opt.threads)
    torch.manual_seed(1)
    c = config.Config(**model)
    train = data.load(opt.data, ["train"])
    test = data.load(opt.data, ["val", "test"])
    if "r" not in model:
        derive(c, train)
    p = params.init(c)
    if opt.init:
        loaded, _ = __import__("vpd_torch.safetensors").safetensors.read(opt.init)
        for name in p:
            if name in loaded and loaded[name].shape == tuple(p[name].shape):
                p[name].data.copy_(torch.tensor(loaded[name]))
            else:
                print("not in --init:", name)
    trained = {n: t for n, t in p.items() if not (opt.frozen and n.startswith(opt.frozen))}
    ema = {n: t.detach().clone() for n, t in p.items()}
    optimiser = torch.optim.Adam(trained.values(), opt.rate, betas=(0.9, 0.98))
    rng = np.random.default_rng(1)
    lengths = [int(s) for s in opt.steps.split(",")]
    print(f"{opt} {model} r {c.r:.4f}", flush=True)
    begin = time.process_time()
    evaluated, evaluating, number, log, count, last = 0, 0.0, 0, {}, 0, time.time()
    while True:
        spent = number / opt.updates if opt.updates else (time.process_time() - begin - evaluating) / 60 / opt.minutes
        if spent >= 1:
            break
        steps = lengths[min(int(spent * len(lengths)), len(lengths) - 1)]
        factor = min(1, (number + 1) / opt.warm) * ((0.5 + 0.5 * np.cos(np.pi * spent)) * 0.98 + 0.02 if opt.decay == "cosine" else 1)
        for group in optimiser.param_groups:
            group["lr"] = opt.rate * factor
        optimiser.zero_grad(set_to_none=True)
        for b in range(opt.batch):
            episode = train[rng.integers(len(train))]
            start = choose_start(c, episode, steps, rng)
            (episode_loss(p, c, episode, start, steps, number * opt.batch + b, rng, log) / opt.batch).backward()
            count += 1
        norm = torch.nn.utils.clip_grad_norm_([t for t in trained.values() if t.grad is not None], opt.clip)
        if not torch.isfinite(norm):
            print("not finite at step", number)
            break
        optimiser.step()
        number += 1
        decay = min(opt.ema, (1 + number) / (10 + number))
        for n, t in trained.items():
            ema[n].lerp_(t.detach(), 1 - decay)
        if time.time() - last > 30:
            print(f"step {number} {(time.process_time() - begin - evaluating) / 60:.1f} min " + " ".join(f"{k} {v / count:.4f}" for k, v in log.items()) + f" grad {norm:.3f}", flush=True)
            if log["spread"] / count < 0.1:
                print("WARNING: all nodes predict the same (spread of h)")
            log, count, last = {}, 0, time.time()
        if (time.process_time() - begin - evaluating) / 60 > (evaluated + 1) * opt.eval_minutes:
            evaluated += 1
            at = time.process_time()
            print("  ", metrics.line(metrics.evaluate(ema, c, test, data.encode)[0]), flush=True)
            evaluating += time.process_time() - at
    table, _ = metrics.evaluate(ema, c, test, data.encode)
    print(f"{opt.name}: {number} steps in {(time.process_time() - begin - evaluating) / 60:.1f} min:", metrics.line(table), flush=True)
    if opt.save:
        params.save(opt.save, ema, {"config": json.dumps({k: v for k, v in vars(c).items()})})
    if opt.pictures:
        _, shots = metrics.evaluate(ema, c, test[:: max(1, len(test) // opt.pictures)], data.encode, True)
        for what in ("whole", "object", "rim", "held whole", "held object", "unmoved whole", "unmoved object"):
            print(f"  {what}: " + " / ".join(f"{shots.psnr((what, j)):.1f}" for j in (0, 1, 3, 6, 12)), flush=True)


if __name__ == "__main__":
    main()
