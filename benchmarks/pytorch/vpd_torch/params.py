# SPDX-License-Identifier: Apache-2.0
"""Parameters as a flat dict name -> tensor, in the layouts of docs/model.md."""
import math

import numpy as np
import torch

from . import philox, safetensors


def _mlp(out, name, widths, *, norm, first_zero=False, zero_last=False):
    for i in range(3):
        out[f"{name}.weight{i}"] = ((widths[i], widths[i + 1]), 0 if zero_last and i == 2 else widths[i])
        out[f"{name}.bias{i}"] = ((widths[i + 1],), 0)
    if norm:
        out[f"{name}.gain"] = ((widths[3],), "one")
        out[f"{name}.offset"] = ((widths[3],), 0)


def _message(out, name, sender, receiver, edge, C):
    fan_in = sender + receiver + edge
    for part, width in (("sender", sender), ("receiver", receiver), ("edge", edge)):
        if width:
            out[f"{name}.{part}"] = ((width, C), fan_in)
    out[f"{name}.bias0"] = ((C,), 0)
    for i in (1, 2):
        out[f"{name}.weight{i}"] = ((C, C), C)
        out[f"{name}.bias{i}"] = ((C,), 0)
    out[f"{name}.gain"] = ((C,), "one")
    out[f"{name}.offset"] = ((C,), 0)


def encoder_shapes(c):
    out = {}

    def block(name, cin, cout):
        for i, width in enumerate((cin, cout)):
            out[f"{name}.conv{i}.weight"] = ((3, 3, width, cout), 9 * width)
            out[f"{name}.conv{i}.bias"] = ((cout,), 0)
            out[f"{name}.norm{i}.gain"] = ((cout,), "one")
            out[f"{name}.norm{i}.offset"] = ((cout,), 0)

    w, cin = c.widths, 4 if c.depth_input else 3
    for l, width in enumerate(w):
        block(f"encoder.down{l}", cin if l == 0 else w[l - 1], width)
    for l in range(len(w) - 2, -1, -1):
        block(f"encoder.up{l}", w[l] + w[l + 1], w[l])
    Dy = c.D - 3 if c.carry_rgb else c.D
    out["encoder.out.weight"] = ((w[0], Dy), 0)
    out["encoder.out.bias"] = ((Dy,), 0)
    return out


def gnn_shapes(c):
    out, C, S = {}, c.C, c.S_in
    if c.graph == "none":
        return out
    flat = c.graph == "flat"
    _message(out, "gnn.encode.edge", S, 0, 4, C)
    _mlp(out, "gnn.encode.node", (S + C if flat else c.T * C + c.T, C, C, C), norm=True)
    _mlp(out, "gnn.edge", (4, C, C, C), norm=True)
    for l in range(c.L):
        _message(out, f"gnn.round{l}.edge", C, C, C, C)
        _mlp(out, f"gnn.round{l}.node", (2 * C, C, C, C), norm=True)
    if not flat:
        _message(out, "gnn.decode.edge", C, S, 4, C)
    _mlp(out, "gnn.decode.node", (C if flat else S + C, C, C, 3 + c.feature_outputs), norm=False, zero_last=True)
    return out


def renderer_shapes(c):
    out = {}
    _mlp(out, "renderer", (4 * c.D + 4 + (3 if c.view_direction else 0), c.hidden, c.hidden, 4), norm=False)
    if c.background == "learned":
        out["renderer.background"] = ((3,), 0)
    if c.background == "direction":
        _mlp(out, "renderer.sky", (3, 16, 16, 3), norm=False, zero_last=True)
    return out


def shapes(c):
    """name -> (shape, fan_in); fan_in 0 starts at zero, "one" at one."""
    return {**encoder_shapes(c), **gnn_shapes(c), **renderer_shapes(c)}


def init(c, dtype=torch.float32):
    out = {}
    for i, (name, (shape, fan_in)) in enumerate(shapes(c).items()):
        if fan_in == "one":
            value = np.ones(shape)
        elif fan_in == 0:
            value = np.zeros(shape)
        else:
            u = philox.uniform(c.seed, philox.INIT, i, 0, np.arange(math.prod(shape), dtype=np.uint64))
            value = ((2.0 * u.astype(np.float64) - 1.0) * math.sqrt(3.0 / fan_in)).reshape(shape)
        out[name] = torch.tensor(value, dtype=dtype).requires_grad_()
    return out


def load(path, c, dtype=torch.float32):
    tensors, metadata = safetensors.read(path)
    expected = {name: shape for name, (shape, _) in shapes(c).items()}
    wrong = [f"{n}: expected {expected.get(n)}, found {tensors[n].shape if n in tensors else None}"
             for n in {**expected, **tensors} if n not in expected or n not in tensors or tensors[n].shape != tuple(expected[n])]
    if wrong:
        raise ValueError(f"{path} does not fit the config: " + "; ".join(wrong))
    return {n: torch.tensor(tensors[n], dtype=dtype).requires_grad_() for n in expected}, metadata


def save(path, params, metadata=None):
    safetensors.write(path, {n: t.detach().float().numpy() for n, t in params.items()}, metadata)
