# SPDX-License-Identifier: Apache-2.0
"""UNet of docs/model.md ("Features"). Images (B, H, W, channels) in and out; channels-last memory inside."""
import torch
import torch.nn.functional as F

from .layers import activation


def conv(p, name, x):
    return F.conv2d(x, p[name + ".weight"].permute(3, 2, 0, 1), p[name + ".bias"], padding=1)


def groups(width):
    return max(g for g in range(1, 9) if width % g == 0)


def group_norm(p, name, x):
    return F.group_norm(x, groups(x.shape[1]), p[name + ".gain"], p[name + ".offset"], 1e-5)


def _block(p, name, x, act):
    for i in (0, 1):
        x = act(group_norm(p, f"{name}.norm{i}", conv(p, f"{name}.conv{i}", x)))
    return x


def unet(p, c, x):
    """x (B, H, W, 3 or 4) -> y (B, H, W, D')"""
    act, levels = activation(c.activation), len(c.widths)
    H, W = x.shape[1:3]
    x = x.permute(0, 3, 1, 2)  # NCHW view of NHWC memory = channels_last
    grain = 1 << (levels - 1)
    if H % grain or W % grain:
        x = F.pad(x, (0, -W % grain, 0, -H % grain), mode="replicate").contiguous(memory_format=torch.channels_last)
    skip = []
    for l in range(levels):
        if l:
            x = F.avg_pool2d(x, 2)
        x = _block(p, f"encoder.down{l}", x, act)
        skip.append(x)
    for l in range(levels - 2, -1, -1):
        x = torch.cat([skip[l], F.interpolate(x, scale_factor=2, mode="nearest")], 1)
        x = _block(p, f"encoder.up{l}", x, act)
    x = x.permute(0, 2, 3, 1)[:, :H, :W]
    return x @ p["encoder.out.weight"] + p["encoder.out.bias"]


def image_input(c, rgb, depth):
    """rgb (B, H, W, 3) in [0, 1], depth (B, H, W) with 0 = missing"""
    x = rgb - 0.5
    return torch.cat([x, (depth / c.X)[..., None]], -1) if c.depth_input else x
