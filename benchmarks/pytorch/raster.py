# SPDX-License-Identifier: Apache-2.0
"""SoftRas and DIB-R written plainly in PyTorch, every pixel with every face (docs/rasterisers.md has the equations).

    python benchmarks/pytorch/raster.py -o tests/reference/raster.h5    reference values, in double precision
    python benchmarks/pytorch/raster.py --time [--threads 2]            1,000 faces of `vpd bench raster`, in float32

Layout of the file: see reference.py. Cases: soft/plain, soft/sharp, dibr/plain, dibr/wide. Inputs: position (V,3), face (F,3), colour (V,3),
direction (3), light (3), K (3,3), world_from_camera (4,4), background (3); attributes H, W, near, far, sigma, gamma, delta. `out`: colour and
alpha (H,W,4).
"""
import argparse
import math
import os
import resource
import time

import h5py
import numpy as np
import torch

CUT = 1e-4


def torus(across, around, dtype):
    """As bench/raster_bench.c: 2 across around faces."""
    i = torch.arange(across * around)
    u, v = 2 * math.pi * (i // around) / across, 2 * math.pi * (i % around) / around
    u, v = u.double(), v.double()
    r = 1 + 0.4 * torch.cos(v)
    position = torch.stack([r * torch.cos(u), r * torch.sin(u), 0.4 * torch.sin(v)], 1)
    colour = torch.stack([0.5 + 0.4 * torch.cos(u), 0.5 + 0.4 * torch.cos(v), 0.6 + 0 * u], 1)
    b, d = (i // around + 1) % across * around, i // around * around
    k, above = i % around, (i % around + 1) % around
    face = torch.stack([i, b + k, b + above, i, b + above, d + above], 1).reshape(-1, 3)
    return position.to(dtype), colour.to(dtype), face


def look_at(eye, target, up):
    """world_from_camera, OpenCV axes."""
    eye, target, up = (np.asarray(a, float) for a in (eye, target, up))
    z = (target - eye) / np.linalg.norm(target - eye)
    x = np.cross(z, up)
    x /= np.linalg.norm(x)
    pose = np.eye(4)
    pose[:3] = np.stack([x, np.cross(z, x), z, eye], 1)
    return pose


def project(t, H, W):
    """Corners on the screen (F,3,2), inverse depths (F,3), lit colours (F,3,3)."""
    pose, K = t["world_from_camera"], t["K"]
    seen = (t["position"] - pose[:3, 3]) @ pose[:3, :3]
    pixel = seen @ K.T
    xy = (pixel[:, :2] / pixel[:, 2:] - torch.tensor([W, H], dtype=seen.dtype) / 2) * 2 / min(H, W)
    p = t["position"][t["face"].long()]
    n = torch.linalg.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    n, l = n / n.norm(dim=1, keepdim=True), t["direction"] / t["direction"].norm()
    shade = (n @ l).clamp(min=0)[:, None, None] * t["light"]
    face = t["face"].long()
    return xy[face], 1 / seen[:, 2][face], t["colour"][face] * shade


def pairs(sample, xy, r):
    """What samples (P,2) see of faces: weights b on the face, depth, d^2, inside, 1/depth at the sample itself."""
    a, b = xy, xy.roll(-1, 1)  # edges
    ab, ap = b - a, sample[:, None, None] - a
    along = ((ap * ab).sum(-1) / (ab * ab).sum(-1)).clamp(0, 1)
    d2, edge = ((ap - along[..., None] * ab) ** 2).sum(-1).min(-1)
    cross = ab[..., 0] * ap[..., 1] - ab[..., 1] * ap[..., 0]
    w = (cross / cross.sum(-1, keepdim=True)).roll(-1, -1)  # weight of corner i: the edge opposite to it, i + 1
    inside = (w >= 0).all(-1)
    along = along.gather(-1, edge[..., None])
    start = torch.nn.functional.one_hot(edge, 3)
    on_edge = start * (1 - along) + start.roll(1, -1) * along
    inner = (w * r).sum(-1)
    w = torch.where(inside[..., None], w, on_edge)
    z = 1 / (w * r).sum(-1)
    return w * r * z[..., None], z, d2, inside, inner


def soft(sample, xy, r, lit, c, background):
    b, z, d2, inside, _ = pairs(sample, xy, r)
    D = torch.sigmoid(torch.where(inside, d2, -d2) / c["sigma"])
    seen = inside | (d2 < c["sigma"] * math.log(1 / CUT - 1))
    D = torch.where(seen, D, torch.zeros_like(D))
    alpha = 1 - (1 - D).prod(-1)
    l = (c["far"] - z) / ((c["far"] - c["near"]) * c["gamma"])
    l = torch.cat([torch.where(seen, l, torch.zeros_like(l)), torch.full_like(z[:, :1], 1e-3 / c["gamma"])], 1)
    weight = torch.exp(l - l.max(-1, keepdim=True)[0].detach()) * torch.cat([D, torch.ones_like(D[:, :1])], 1)
    weight = weight / weight.sum(-1, keepdim=True)
    colour = (weight[:, :-1, None] * (b[..., None] * lit).sum(-2)).sum(1) + weight[:, -1:] * background
    return torch.cat([colour, alpha[:, None]], 1)


def dibr(sample, xy, r, lit, c, background):
    b, z, d2, inside, inner = pairs(sample, xy, r)
    front = torch.where(inside, inner, torch.full_like(inner, -1)).argmax(-1)
    covered = inside.any(-1)
    pick = torch.arange(len(sample))
    colour = torch.where(covered[:, None], (b[pick, front][..., None] * lit[front]).sum(-2), background)
    e = torch.exp(-d2 / c["delta"])
    e = torch.where(d2 < c["delta"] * math.log(1 / CUT), e, torch.zeros_like(e))
    alpha = torch.where(covered, torch.ones_like(e[:, 0]), 1 - (1 - torch.where(covered[:, None], 0 * e, e)).prod(-1))
    return torch.cat([colour, alpha[:, None]], 1)


def samples(H, W, dtype):
    y, x = torch.meshgrid(torch.arange(H, dtype=dtype), torch.arange(W, dtype=dtype), indexing="ij")
    return torch.stack([x + 0.5 - W / 2, y + 0.5 - H / 2], -1).reshape(-1, 2) * 2 / min(H, W)


def write_case(file, name, function, t, fixed, c):
    t = {k: v.detach().clone() for k, v in t.items()}
    active = [k for k in t if k not in fixed]
    for k in active:
        t[k].requires_grad_()
    out = function(samples(c["H"], c["W"], torch.float64), *project(t, c["H"], c["W"]), c, t["background"])
    grad_out = torch.tensor(np.random.default_rng(3).normal(size=out.shape).astype(np.float32).astype(np.float64))
    grads = torch.autograd.grad((out * grad_out).sum(), [t[k] for k in active])
    group = file.create_group(name)
    for k, v in c.items():
        group.attrs[k] = v
    for k, v in t.items():
        group["in/" + k] = v.detach().numpy()
    for k, g in zip(active, grads):
        group["grad/" + k] = g.numpy()
    group["out"], group["grad_out"] = out.detach().numpy(), grad_out.numpy().astype(np.float32)


def reference(path):
    H, W = 18, 24
    position, colour, face = torus(7, 6, torch.float64)
    noise = torch.tensor(np.random.default_rng(1).normal(size=position.shape) * 0.05)
    f = 1.1 * W
    t = dict(position=position + noise, face=face.int(), colour=colour, direction=torch.tensor([0.5, -0.3, 1.0], dtype=torch.float64),
             light=torch.tensor([0.9, 0.8, 0.7], dtype=torch.float64), K=torch.tensor([[f, 0, W / 2 + 0.3], [0, f, H / 2], [0, 0, 1]], dtype=torch.float64),
             world_from_camera=torch.tensor(look_at([0.4, -1.9, 2.3], [0, 0, 0], [0, 0, 1])),
             background=torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64))
    fixed = ("face", "K", "world_from_camera")
    c = dict(H=H, W=W, near=1.0, far=6.0, sigma=1e-3, gamma=1e-2, delta=1 / 7000)
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        write_case(file, "soft/plain", soft, t, fixed, c)
        write_case(file, "soft/sharp", soft, t, fixed, {**c, "sigma": 1e-4, "gamma": 1e-3})
        write_case(file, "dibr/plain", dibr, t, fixed, c)
        write_case(file, "dibr/wide", dibr, t, fixed, {**c, "delta": 3e-3})
    print(f"{path}: {os.path.getsize(path)} bytes")


def timed(function, across, around, side, chunk):
    """Seconds of one picture and its gradient. A chunk of pixels goes forward and backward before the next, so that memory suffices."""
    position, colour, face = torus(across, around, torch.float32)
    f = side / 2 / math.tan(0.45)
    t = dict(position=position.requires_grad_(), face=face, colour=colour.requires_grad_(), direction=torch.tensor([0.5, -0.3, 1.0], requires_grad=True),
             light=torch.full((3,), 0.9, requires_grad=True), K=torch.tensor([[f, 0, side / 2], [0, f, side / 2], [0, 0, 1]]),
             world_from_camera=torch.tensor(look_at([0.4, -1.9, 2.3], [0, 0, 0], [0, 0, 1]), dtype=torch.float32))
    c = dict(near=1.0, far=6.0, sigma=1e-5, gamma=1e-4, delta=1 / 7000)
    start = time.time()
    seen = project(t, side, side)
    leaves = [s.detach().requires_grad_() for s in seen]
    for part in samples(side, side, torch.float32).split(chunk):
        out = function(part, *leaves, c, torch.zeros(3))
        (out * out.detach()).sum().backward()
    torch.autograd.backward(seen, [leaf.grad for leaf in leaves])
    return time.time() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    if arguments.o:
        torch.set_num_threads(1)
        reference(arguments.o)
    if arguments.time:
        for name, function in (("soft", soft), ("dib-r", dibr)):
            for chunk in (1024, 4096, 16384):
                seconds = [timed(function, 25, 20, 128, chunk) for _ in range(3)]
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(f"{name}: 1000 faces, 128x128, chunks of {chunk} pixels: {1e3 * min(seconds):.0f} ms, at most {peak:.0f} MiB so far", flush=True)


if __name__ == "__main__":
    main()
