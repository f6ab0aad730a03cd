# SPDX-License-Identifier: Apache-2.0
"""Graph network of docs/model.md: one rollout step of the particle sets."""
from dataclasses import dataclass

import torch

from . import particles
from .host import to_device, to_numpy
from .layers import activation, geometry, message, mlp, update
from .neighbours import knn


@dataclass
class State:
    """T sets, oldest first; the last is the present one."""
    x: list                      # T x (N_t, 3)
    f: list                      # T x (N_t, D)
    m: list                      # T x (N_t) moving flags, for losses
    c: list                      # T x (N_t, 3)
    R: torch.Tensor = None # (N) support radii of the present particles
    rollout_step: int = 0


@dataclass
class Graph:
    """Neighbour lists of one rollout step, all without gradient."""
    node: torch.Tensor = None    # (M) particles of the present set
    to_node: list = None         # T x (N_t, k)
    node_node: torch.Tensor = None   # (M, k)
    to_particle: torch.Tensor = None # (N, k)
    past: torch.Tensor = None    # flat: (N, k) of the past set


def build_graph(c, state, step, episode, node=None):
    x = [t.detach() for t in state.x]
    g = Graph()
    if c.graph == "flat":
        everyone = torch.arange(len(x[-1]))
        g.node, g.node_node = everyone, knn(x[-1], x[-1], c.k_node_to_node, everyone)
        if c.T > 1:
            g.past = knn(x[-1], x[-2], c.k_particle_to_node)
        return g
    if node is None:
        node = to_device(particles.choose_nodes(c, to_numpy(state.x[-1]), step, state.rollout_step, episode))
    g.node = node
    xa = x[-1][node]
    g.to_node = [knn(t, xa, c.k_particle_to_node) for t in x]
    g.node_node = knn(xa, xa, c.k_node_to_node, torch.arange(len(node)))
    g.to_particle = knn(x[-1], xa, c.k_node_to_particle)
    return g


def inputs(c, state):
    """s_i of every set: [f, onehot_T(t)]"""
    out = []
    for t, f in enumerate(state.f):
        out.append(torch.cat([f, torch.eye(c.T, dtype=f.dtype)[t].expand(len(f), -1)], 1))
    return out


def encode(p, c, s, x, xa, to_node, counts):
    """Messages from particles to nodes: h (M, C)."""
    act, M = activation(c.activation), len(xa)
    index, mark = torch.cat(to_node), torch.cat([i + t * M for t, i in enumerate(to_node)])
    k = index.shape[1]
    sender = torch.cat(s) @ p["gnn.encode.edge.sender"] + p["gnn.encode.edge.bias0"]
    g = geometry(torch.cat(x)[:, None], xa.index_select(0, index.reshape(-1)).view(-1, k, 3), c.ell)
    first = sender[:, None] + (g.reshape(-1, 4) @ p["gnn.encode.edge.edge"]).view(-1, k, sender.shape[1])
    message_ = message(p, "gnn.encode.edge", first.view(-1, sender.shape[1]), act)
    total = torch.zeros(c.T * M, message_.shape[1], dtype=message_.dtype).index_add(0, mark.reshape(-1), message_)
    agg = (total / counts.clamp_min(1)[:, None]).view(c.T, M, -1)
    parts = list(agg) + [torch.log1p(counts).view(c.T, M).T]
    return update(p, "gnn.encode.node", torch.cat(parts, 1), act)


def rounds(p, c, h, xa, index):
    """L rounds of messages between nodes. Edges of a receiver are consecutive, so aggregation is a mean over one axis."""
    act = activation(c.activation)
    M, k = index.shape
    flat = index.reshape(-1)
    g = geometry(xa.index_select(0, flat).view(M, k, 3), xa[:, None], c.ell)
    e = update(p, "gnn.edge", g.reshape(M * k, -1), act)
    for l in range(c.L):
        X = f"gnn.round{l}."
        h, e = message_round({name[len(X):]: w for name, w in p.items() if name.startswith(X)}, h, e, flat, act)
    return h


def message_round(w, h, e, sender, act):
    """One round with weights w: states of nodes h (M, C) and of edges e (M k, C), whose senders are `sender` (M k)."""
    M, k = len(h), len(e) // len(h)
    both = torch.addmm(w["edge.bias0"], h, w["edge.receiver"])
    first = torch.addmm((h @ w["edge.sender"]).index_select(0, sender), e, w["edge.edge"]).view(M, k, -1) + both[:, None]
    e = e + message(w, "edge", first.view(M * k, -1), act)
    return h + update(w, "node", torch.cat([h, e.view(M, k, -1).mean(1)], 1), act), e


def decode(p, c, h, s, x, xa, index):
    """dx (N, 3) and feature change or None."""
    act = activation(c.activation)
    N, k = index.shape
    flat = index.reshape(-1)
    g = geometry(xa.index_select(0, flat).view(N, k, 3), x[:, None], c.ell).view(-1, 4)
    own = torch.addmm(p["gnn.decode.edge.bias0"], s, p["gnn.decode.edge.receiver"])
    first = torch.addmm((h @ p["gnn.decode.edge.sender"]).index_select(0, flat), g, p["gnn.decode.edge.edge"]).view(N, k, -1)
    q = message(p, "gnn.decode.edge", (first + own[:, None]).view(N * k, -1), act)
    o = mlp(p, "gnn.decode.node", torch.cat([s, q.view(N, k, -1).mean(1)], 1), act)
    return displacement(c, o)


def displacement(c, o):
    return c.s * o[:, :3], (o[:, 3:] if c.feature_outputs else None)


def flat_network(p, c, s, x, g):
    act, N = activation(c.activation), len(x[-1])
    parts = [s[-1]]
    if g.past is not None:
        k = g.past.shape[1]
        geo = geometry(x[-2][g.past], x[-1][:, None], c.ell)
        sender = s[-2] @ p["gnn.encode.edge.sender"] + p["gnn.encode.edge.bias0"]
        first = sender[g.past] + geo @ p["gnn.encode.edge.edge"]
        parts.append(message(p, "gnn.encode.edge", first.view(N * k, -1), act).view(N, k, -1).mean(1))
    else:
        parts.append(torch.zeros(N, c.C, dtype=x[-1].dtype))
    h = update(p, "gnn.encode.node", torch.cat(parts, 1), act)
    h = rounds(p, c, h, x[-1], g.node_node)
    return displacement(c, mlp(p, "gnn.decode.node", h, act)) + (h,)


def network(p, c, s, x, g, counts):
    """The differentiable part of a step, which torch.compile compiles."""
    if c.graph == "flat":
        return flat_network(p, c, s, x, g)
    xa = x[-1].index_select(0, g.node)
    h = rounds(p, c, encode(p, c, s, x, xa, g.to_node, counts), xa, g.node_node)
    dx, df = decode(p, c, h, s[-1], x[-1], xa, g.to_particle)
    return dx, df, h


def edges_of_nodes(index, M, dtype):
    """Number of edges of each node (M). torch.bincount would wait for the device."""
    return torch.zeros(M, dtype=dtype).index_add_(0, index.reshape(-1), torch.ones(index.numel(), dtype=dtype))


def step(p, c, state, step_number=0, episode=0, node=None, net=network, graph=None):
    """-> (next State, dict with dx, h, node)"""
    if c.graph == "none":
        dx = torch.zeros_like(state.x[-1])
        return advance(c, state, dx, None), {"dx": dx}
    g, counts = graph or build_graph(c, state, step_number, episode, node), None
    if c.graph == "hierarchical":
        counts = torch.cat([edges_of_nodes(i, len(g.node), state.x[-1].dtype) for i in g.to_node])
    dx, df, h = net(p, c, inputs(c, state), state.x, g, counts)
    return advance(c, state, dx, df), {"dx": dx, "h": h, "node": g.node}


def advance(c, state, dx, df):
    """Shifts the sets by one. The predicted present set keeps m, c and R."""
    f = state.f[-1]
    if df is not None:
        change = c.feature_change * torch.tanh(df)
        f = torch.cat([f[:, :3], f[:, 3:] + change], 1) if c.carry_rgb else f + change
    shift = lambda old, new: old[1:] + [new]
    return State(shift(state.x, state.x[-1] + dx), shift(state.f, f), shift(state.m, state.m[-1]),
                 shift(state.c, state.c[-1]), state.R, state.rollout_step + 1)
