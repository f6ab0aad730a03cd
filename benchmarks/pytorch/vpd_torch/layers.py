# SPDX-License-Identifier: Apache-2.0
"""MLP, Message and Update of docs/model.md. First layers stay in parts: nodes are multiplied once, then gathered."""
import torch
import torch.nn.functional as F


def activation(name):
    return F.silu if name == "silu" else F.relu


def _tail(p, X, y, act):
    y = act(torch.addmm(p[X + ".bias1"], y, p[X + ".weight1"]))
    return torch.addmm(p[X + ".bias2"], y, p[X + ".weight2"])


def mlp(p, X, x, act):
    return _tail(p, X, act(torch.addmm(p[X + ".bias0"], x, p[X + ".weight0"])), act)


def norm(p, X, y):
    return F.layer_norm(y, y.shape[-1:], p[X + ".gain"], p[X + ".offset"], 1e-5)


def update(p, X, x, act):
    return norm(p, X, mlp(p, X, x, act))


def message(p, X, first, act):
    """`first` (E, C): sender W_s + receiver W_r + edge W_e + b0."""
    return norm(p, X, _tail(p, X, act(first), act))


def grouped_index(index, n):
    return index.reshape(-1)


class _GatherRows(torch.autograd.Function):
    """x[index] whose backward is a product with a sparse 0/1 matrix: faster than index_add on wide rows."""

    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(index)
        ctx.rows = x.shape[0]
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx, grad):
        index, = ctx.saved_tensors
        return torch.zeros(ctx.rows, grad.shape[1], dtype=grad.dtype).index_add_(0, index, grad), None


def geometry(x_sender, x_receiver, ell):
    d = x_sender - x_receiver
    return torch.cat([d, torch.sqrt((d * d).sum(-1, keepdim=True) + 1e-12)], -1) / ell
