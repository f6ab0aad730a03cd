# SPDX-License-Identifier: Apache-2.0
"""MLP, Message and Update of docs/model.md. First layers are applied in parts: node features are multiplied once and then gathered."""
import torch
import torch.nn.functional as F


def activation(name):
    return F.silu if name == "silu" else F.relu


def mlp_core(x, w0, b0, w1, b1, w2, b2, act):
    return torch.addmm(b2, act(torch.addmm(b1, act(torch.addmm(b0, x, w0)), w1)), w2)


def update_core(x, w0, b0, w1, b1, w2, b2, gain, offset, act):
    y = mlp_core(x, w0, b0, w1, b1, w2, b2, act)
    return F.layer_norm(y, y.shape[-1:], gain, offset, 1e-5)


def message_core(first, w1, b1, w2, b2, gain, offset, act):
    y = torch.addmm(b2, act(torch.addmm(b1, act(first), w1)), w2)
    return F.layer_norm(y, y.shape[-1:], gain, offset, 1e-5)


_core = {"mlp": mlp_core, "update": update_core, "message": message_core}


def compile_cores():
    """Compiles the three functions above once for all layers and sizes (whole networks take minutes to compile)."""
    for name in _core:
        _core[name] = torch.compile(_core[name], dynamic=True)


def _weights(p, X, names):
    return [p[f"{X}.{name}"] for name in names]


def mlp(p, X, x, act):
    return _core["mlp"](x, *_weights(p, X, ("weight0", "bias0", "weight1", "bias1", "weight2", "bias2")), act)


def norm(p, X, y):
    return F.layer_norm(y, y.shape[-1:], p[X + ".gain"], p[X + ".offset"], 1e-5)


def update(p, X, x, act):
    return _core["update"](x, *_weights(p, X, ("weight0", "bias0", "weight1", "bias1", "weight2", "bias2", "gain", "offset")), act)


def message(p, X, first, act):
    """`first` (E, C): sender W_s + receiver W_r + edge W_e + b0."""
    return _core["message"](first, *_weights(p, X, ("weight1", "bias1", "weight2", "bias2", "gain", "offset")), act)


def geometry(x_sender, x_receiver, ell):
    d = x_sender - x_receiver
    return torch.cat([d, torch.sqrt((d * d).sum(-1, keepdim=True) + 1e-12)], -1) / ell
