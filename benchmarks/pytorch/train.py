# SPDX-License-Identifier: Apache-2.0
"""Trains the model on a vpd-dataset file and prints its figures (metrics.py). Training recipes are tried here first.

    python benchmarks/pytorch/train.py --minutes 6 name=NAME [option=value ...]

Options are those of Opt below (training) and vpd_torch.config.Config (model). `pixels=0` trains the dynamics alone on the
nearest-point terms, without encoder and renderer (features = rgb and zeros): a quick way to compare dynamics.
"""
import ast
import json
import sys
import time
from dataclasses import dataclass, fields

import numpy as np
import torch
from scipy.spatial import cKDTree

import metrics
from vpd_torch import config, data, flow, gnn, loss, params, particles, renderer


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
    pixels: int = 1
    rays: int = 128               # per view and rollout step
    moving_rays: float = 0.7
    nearest: float = 0.02
    flow: float = 0.0 # weight of the scene-flow term
    # weight of entropic transport between moving particles and the moving points of the target frame
    transport: float = 0.0
    reach: float = 0.15 # of X: search radius of transport
    still: float = 0.0 # weight of displacements of background particles, over s
    rigid: float = 0.0            # change of distance between neighbouring moving particles, over s
    yaw: int = 0                  # rotate (and mirror) the world about its vertical at random
    busy: int = 0 # draw start frames by how much the depth pictures change after them
    drop: float = 0.0 # share of moving flags that are set wrong
    eval_minutes: float = 100.0
    pictures: int = 0
    threads: int = 1
    save: str = ""
    init: str = ""
    weight_growth: float = 1.0    # weight of rollout step j is growth^j
    inputs: str = "" # file that caches input states between runs (with pixels=0)
    keep: int = 1 # write new input states to `inputs`
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


def encode(p, c, episode, frames, step):
    if opt.pixels:
        return data.encode(p, c, episode, frames, step)
    nothing = lambda p_, c_, x: torch.zeros(*x.shape[:3], c_.D - 3)
    return data.encode(p, c, episode, frames, step, nothing)


class Inputs:
    """Caches input states during the run and on disk (`inputs=FILE`), so that particles do not change between visits of a start frame.
    For experiments with the dynamics alone."""
    cache, new, voted = {}, 0, set()

    @classmethod
    def of(cls, p, c, episode, start):
        key = (episode.number, start)
        if key not in cls.cache:
            state, index, cloud = encode(p, c, episode, list(range(start - c.T + 1, start + 1)), 0)
            label = cloud.mask[index].astype(np.uint8)
            cls.cache[key] = (state.x, state.f, state.m, state.c, state.R, label)
            cls.new += 1
            cls.voted.add(key)
        if c.moving_vote and key not in cls.voted: # cached by a run without it
            x, f, m, colour, R, label = cls.cache[key]
            m = [torch.from_numpy(particles.filtered(c, *(a.numpy() for a in s))) for s in zip(x, colour, m)]
            cls.cache[key] = (x, f, m, colour, R, label)
            cls.voted.add(key)
        x, f, m, colour, R, label = cls.cache[key]
        return gnn.State(list(x), list(f), list(m), list(colour), R), label

    @classmethod
    def load(cls, path):
        try:
            cls.cache = torch.load(path, weights_only=False)
        except FileNotFoundError:
            pass

    @classmethod
    def save(cls, path):
        if cls.new and opt.keep:
            torch.save(cls.cache, path + ".part")
            __import__("os").replace(path + ".part", path)


class Foreground:
    """Foreground points of a frame (static cameras): nearer than the largest depth at their pixel during the episode."""
    cache = {}

    @classmethod
    def of(cls, c, episode, frame):
        key = (episode.number, frame)
        if key not in cls.cache:
            cloud = episode.cloud(c, frame, max(frame - 1, 0))
            far = episode.depth[:, episode.views].max(0).reshape(-1)[cloud.pixel]
            now = episode.depth[frame][episode.views].reshape(-1)[cloud.pixel]
            seen_empty = (episode.depth[:, episode.views] <= 0).any(0).reshape(-1)[cloud.pixel]
            front = ((far - now > 0.01 * c.X) | seen_empty) & (cloud.inside if cloud.inside is not None else True)
            cls.cache[key] = np.flatnonzero(front)
        return cls.cache[key]


def foreground_flags(c, episode, start, x, cache={}):
    """Which of the chosen particles (positions x in the original, not rotated world) are foreground points of their frame."""
    key = (episode.number, start)
    if key not in cache or not opt.inputs:
        front = Foreground.of(c, episode, start)
        cloud = episode.cloud(c, start, max(start - 1, 0))
        flags = np.zeros(len(x), bool)
        if len(front):
            flags = cKDTree(cloud.x[front]).query(x.numpy())[0] < 1e-5
        cache[key] = torch.from_numpy(flags)
    return cache[key]


def transport(c, x, colour, y, y_colour, blur=0.02, reach=0.15, iterations=12):
    """Unbalanced entropic transport plan between moved particles and the target's foreground, in (position, lc rgb); the
    loss pulls every particle to the mean of the points that it is matched to."""
    with torch.no_grad():
        a, b = torch.cat([x, c.lc * colour], 1), torch.cat([y, c.lc * y_colour], 1)
        C = torch.cdist(a, b).square()
        eps = (blur * c.X) ** 2
        share = (reach * c.X) ** 2 / ((reach * c.X) ** 2 + eps)
        f, g = torch.zeros(len(a)), torch.zeros(len(b))
        la, lb = -np.log(len(a)), -np.log(len(b))
        for _ in range(iterations):
            f = -share * eps * torch.logsumexp((g[None] - C) / eps + lb, 1)
            g = -share * eps * torch.logsumexp((f[:, None] - C) / eps + la, 0)
        P = torch.exp((f[:, None] + g[None] - C) / eps + la + lb)
        mass = P.sum(1)
        target = (P @ y) / mass.clamp_min(1e-12)[:, None]
        weight = mass / mass.sum().clamp_min(1e-12)
    return (loss.huber(x - target, 0.01 * c.X) * weight).sum() / c.s


class RigidPairs:
    """Pairs of neighbouring moving particles of one colour; their distances should not change."""

    def __init__(self, c, state):
        moving = torch.nonzero(state.m[-1])[:, 0]
        x = state.x[-1].detach()[moving]
        near = torch.cdist(torch.cat([x, c.lc * state.c[-1][moving]], 1), torch.cat([x, c.lc * state.c[-1][moving]], 1))
        k = min(9, len(moving))
        d, j = near.topk(k, 1, largest=False)
        i = torch.arange(len(moving))[:, None].expand_as(j)
        ok = (d < 0.06 * c.X) & (i != j)
        self.i, self.j = moving[i[ok]], moving[j[ok]]
        self.rest = (state.x[-1].detach()[self.i] - state.x[-1].detach()[self.j]).norm(dim=1)

    def loss(self, c, state):
        if not len(self.i):
            return 0.0
        d = state.x[-1][self.i] - state.x[-1][self.j]
        now = torch.sqrt((d * d).sum(1) + 1e-12)
        return loss.huber((now - self.rest)[:, None], 0.002 * c.X).mean() / c.s


def yaw(rng):
    a = rng.uniform(0, 2 * np.pi)
    Q = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    if rng.random() < 0.5:
        Q[:, 0] *= -1
    return torch.tensor(Q, dtype=torch.float32)


class Turned:
    """A cloud in the rotated world."""

    def __init__(self, cloud, Q):
        self.xt, self.ct, self.m, self.inside = cloud.xt @ Q.T, cloud.ct, cloud.m, cloud.inside


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


def turned(field, Q):
    """A flow field in the rotated world."""
    x, colour, u, g = field
    return x @ Q.T, colour, u @ Q.T, Q @ g @ Q.T


def episode_loss(p, c, episode, start, steps, number, rng, log):
    frames = list(range(start - c.T + 1, start + 1))
    if opt.inputs:
        state, _ = Inputs.of(p, c, episode, start)
    else:
        state, index, cloud = encode(p, c, episode, frames, number)
    front = foreground_flags(c, episode, start, state.x[-1]) if opt.transport else None
    Q = yaw(rng) if opt.yaw else torch.eye(3)
    if opt.yaw:
        state.x = [x @ Q.T for x in state.x]
    if opt.drop:
        state.m = [torch.where(torch.rand_like(m) < opt.drop, 1 - m, m) for m in state.m]
    background = episode.background(frames) if opt.pixels else None
    weight = opt.weight_growth ** np.arange(steps + 1)
    weight /= weight.sum()
    pairs = RigidPairs(c, state) if opt.rigid else None
    total, sums = 0.0, {}
    R, track = state.R, state.x[-1]
    for j in range(steps + 1):
        if j:
            state, info = gnn.step(p, c, state, number, episode.number)
            add_terms(p, c, episode, start, j, state, info, Q, number, pairs, sums, steps, front)
            state.R = R
            if opt.flow:
                field = turned(loss.flow_field(c, episode, start + j - 1), Q)
                track = track + flow.at(field, (track, c.lc * state.c[-1]), 4)[0]
                sums["flow"] = sums.get("flow", 0) + opt.flow / steps * loss.flow_term(c, state, track)
        if opt.pixels:
            view, row, column = train_rays(episode, start + j, start, rng)
            o, d = renderer.pixel_rays(episode.Kc, episode.poses(start + j), view, row, column)
            o, d = o @ Q.T, d @ Q.T
            truth = torch.from_numpy(episode.rgb[start + j][view, row, column]).float() / 255
            colour, _, _ = renderer.render(p, c, state.x[-1], state.f[-1], state.R, o, d, background, torch.from_numpy(rng.random(len(o))).float())
            mse = (colour - truth).square().mean()
            sums["pixels"] = sums.get("pixels", 0) + float(weight[j]) * mse
    for key, value in sums.items():
        total = total + value
        log[key] = log.get(key, 0) + float(value)
    h = info["h"].detach()
    log["spread"] = log.get("spread", 0) + float(h.std(0).mean())
    return total


def add_terms(p, c, episode, start, j, state, info, Q, number, pairs, sums, steps, own=None):
    def add(key, value):
        sums[key] = sums.get(key, 0) + value
    if opt.nearest:
        closer, cloud = loss.closer_pixels(c, episode, start + j, start, c.seed, number)
        cloud = Turned(cloud, Q)
        points = torch.cat([cloud.xt, c.lc * cloud.ct], 1)
        add("nearest", opt.nearest / steps * loss.nearest_term(c, state, cloud, (points, (points * points).sum(1)), closer))
    if opt.transport:
        front = Foreground.of(c, episode, start + j)
        moving = torch.nonzero(own & (state.m[-1] > 0))[:, 0]
        if opt.still:
            add("still", opt.still / steps * loss.huber(info["dx"][~own], 0.002 * c.X).mean() / c.s)
        if len(front) > 10 and len(moving) > 10:
            if len(front) > 400:
                front = np.random.default_rng(number * 64 + j).choice(front, 400, replace=False)
            cloud = episode.cloud(c, start + j, max(start + j - 1, 0))
            y = cloud.xt[front] @ Q.T
            add("transport", opt.transport / steps * transport(c, state.x[-1][moving], state.c[-1][moving], y, cloud.ct[front], reach=opt.reach))
    if opt.rigid:
        add("rigid", opt.rigid / steps * pairs.loss(c, state))


def evaluate(p, c, test):
    cached = (lambda p_, c_, e, frames, step: Inputs.of(p_, c_, e, frames[-1])) if opt.inputs else None
    return metrics.evaluate(p, c, test, encode, cached=cached)


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
    if opt.inputs:
        Inputs.load(opt.inputs)
    p = params.init(c)
    if opt.init:
        loaded, _ = __import__("vpd_torch.safetensors").safetensors.read(opt.init)
        for name in p:
            if name in loaded and loaded[name].shape == tuple(p[name].shape):
                p[name].data.copy_(torch.tensor(loaded[name]))
            else:
                print("not in --init:", name)
    trained = {n: t for n, t in p.items() if (opt.pixels or n.startswith("gnn")) and not (opt.frozen and n.startswith(opt.frozen))}
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
        if opt.inputs and number % 200 == 0:
            Inputs.save(opt.inputs)
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
            print("  ", metrics.line(evaluate(ema, c, test)[0]), flush=True)
            evaluating += time.process_time() - at
    table, shots = evaluate(ema, c, test)
    if opt.inputs:
        Inputs.save(opt.inputs)
    print(f"{opt.name}: {number} steps in {(time.process_time() - begin - evaluating) / 60:.1f} min:", metrics.line(table), flush=True)
    if opt.save:
        params.save(opt.save, ema, {"config": json.dumps({k: v for k, v in vars(c).items()})})
    if opt.pictures:
        _, shots = metrics.evaluate(ema, c, test[:: max(1, len(test) // opt.pictures)], encode, True)
        for what in ("whole", "object", "rim", "held whole", "held object", "unmoved whole", "unmoved object"):
            print(f"  {what}: " + " / ".join(f"{shots.psnr((what, j)):.1f}" for j in (0, 1, 3, 6, 12)), flush=True)


if __name__ == "__main__":
    main()
