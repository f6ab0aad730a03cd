# SPDX-License-Identifier: Apache-2.0
"""Dynamics of docs/model.md: one rollout step of the particle sets."""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from . import flow, particles
from .host import to_device, to_numpy
from .layers import activation, geometry, message, mlp, update
from .neighbours import knn

NEAREST_NODES = 32 # nearest nodes among which contact edges choose
# bodies: neighbours that a point may be joined with; points of the smallest body that counts as another body
JOINED, FEWEST = 8, 10
SEARCHED = 512 # most moving particles, and others, among which gaps search (at least four per moving node)
# points of a plane, fewest of another body's plane; without rotation, points around a node
PLANE, PLANE_LEAST, AROUND = 10, 3, 128


@dataclass
class State:
    """T sets, oldest first; the last is the present one."""
    x: list                      # T x (N_t, 3)
    f: list                      # T x (N_t, D)
    m: list                      # T x (N_t)
    c: list                      # T x (N_t, 3)
    R: torch.Tensor = None # (N) support radii of the present particles
    cue: tuple = None            # (x, colour in metres, u, g): flow from the present to the past, for velocities at rollout step 0
    rollout_step: int = 0


@dataclass
class Graph:
    """Neighbour lists of one rollout step, all without gradient."""
    node: torch.Tensor = None    # (M) particles of the present set
    to_node: list = None         # T x (N_t, k)
    node_node: torch.Tensor = None   # (M, k + cross)
    node_mask: torch.Tensor = None # (M, k + cross), or None: all edges exist
    smooth_k: int = 0
    to_particle: torch.Tensor = None # (N, k)
    past: torch.Tensor = None    # flat: (N, k) of the past set


def embed(c, x, colour, m):
    """Coordinates in which neighbours are searched."""
    if c.distance == "position":
        return x.detach()
    return torch.cat([x.detach(), c.lc * colour, c.lm * m[:, None]], 1)


def squared(a, b):
    d = a - b
    return (d * d).sum(-1)


def build_graph(c, state, step, episode, node=None):
    e = [embed(c, *s) for s in zip(state.x, state.c, state.m)]
    g = Graph()
    if c.graph == "flat":
        everyone = torch.arange(len(e[-1]))
        g.node, g.node_node = everyone, knn(e[-1], e[-1], c.k_node_to_node, everyone)
        if c.T > 1:
            g.past = knn(e[-1], e[-2], c.k_particle_to_node)
        return g, e
    if node is None:
        node = to_device(particles.choose_nodes(c, to_numpy(state.x[-1]), to_numpy(state.m[-1]), step,
                                                       state.rollout_step, episode))
    g.node = node
    en, M = e[-1][node], len(node)
    g.to_node = [knn(t, en, c.k_particle_to_node) for t in e]
    g.node_node = knn(en, en, c.k_node_to_node, torch.arange(M))
    g.smooth_k = g.node_node.shape[1]
    if c.cross_edges:
        add_cross_edges(c, g, en, state.m[-1][node])
    g.to_particle = knn(e[-1], en, c.k_node_to_particle)
    return g, e


def add_cross_edges(c, g, en, m):
    still = torch.nonzero(m == 0)[:, 0]
    if not len(still):
        return
    k = min(c.cross_edges, len(still))
    d = torch.cdist(en, en[still], compute_mode="donot_use_mm_for_euclid_dist")
    own = torch.arange(len(en))[:, None] == still[None]
    d = d.masked_fill(own, float("inf"))
    near, index = torch.sort(d, dim=1, stable=True)
    g.node_node = torch.cat([g.node_node, still[index[:, :k]]], 1)
    there = torch.isfinite(near[:, :k])
    if not bool(there.all()):
        g.node_mask = torch.cat([torch.ones(len(en), g.smooth_k, dtype=torch.bool), there], 1)


def moves_otherwise(c, x, v, spin, a, b):
    """Which of the points b move differently from the rigid motion of the points a at their place."""
    own = carried(v[a], None if spin is None else spin[a], x[b] - x[a])
    return squared(v[b], own) >= (c.contact_speed * c.s) ** 2


def add_contact_edges(c, g, x, v, spin):
    """Contact edges, from the nearest nodes that move differently: what a body may collide with."""
    me = torch.arange(len(x))
    near = knn(x, x, NEAREST_NODES, me)
    if not near.shape[1]:
        return
    differs = moves_otherwise(c, x, v, spin, me[:, None], near)
    first = torch.sort((~differs).to(torch.int8), dim=1, stable=True)[1][:, : c.contact_edges]
    mask = torch.ones(g.node_node.shape, dtype=torch.bool) if g.node_mask is None else g.node_mask
    g.node_node = torch.cat([g.node_node, near.gather(1, first)], 1)
    g.node_mask = torch.cat([mask, differs.gather(1, first)], 1)


def carried(v, spin, r):
    """The velocity of a node's rigid motion at offset r from it."""
    return v.expand_as(r) if spin is None else v + torch.linalg.cross(spin.expand_as(r), r)


def particle_velocity(c, state):
    """`particle`: differences of local means at rollout step 0, later the last displacement."""
    x, past = state.x[-1].detach(), state.x[-2].detach()
    if state.rollout_step:
        return x - past
    w = 0.3 * c.X / 2
    present = torch.cat([x, w * state.c[-1]], 1)
    before = torch.cat([past, w * state.c[-2]], 1)
    return x[knn(present, present, 24)].mean(1) - past[knn(present, before, 24)].mean(1)


def node_velocity(c, state, g, e):
    """`node`: from scene flow at rollout step 0, later from the particles' displacements. -> v (M, 3), angular velocity spin (M, 3) or None."""
    en = e[-1][g.node]
    if state.rollout_step == 0:
        v, spin = read_cue(c, state, g.node)
    else:
        v, spin = carry(c, state, g, e)
    return smooth(c, v, en, g) if c.smooth else v, spin if c.has_spin else None


def read_cue(c, state, node):
    """Velocity and angular velocity at moving nodes: minus the flow from the present to the past, at the nearest point of the cue."""
    u, g = flow.at(state.cue, (state.x[-1].detach()[node], c.lc * state.c[-1][node]), 1)
    moves = (state.m[-1][node] > 0)[:, None] if c.moving_flag else torch.ones(len(node), 1, dtype=torch.bool)
    turn = torch.stack([g[:, 1, 2] - g[:, 2, 1], g[:, 2, 0] - g[:, 0, 2], g[:, 0, 1] - g[:, 1, 0]], 1) / 2
    return torch.where(moves, -u, 0), torch.where(moves, turn, 0)


def carry(c, state, g, e):
    """Rigid motion fitted to the particles around each node: velocity at the node and angular velocity; without rotation their mean velocity."""
    M, x, xa = len(g.node), state.x[-1].detach(), state.x[-1].detach()[g.node]
    P = torch.softmax(-squared(e[-1][:, None], e[-1][g.node][g.to_particle]) / (2 * c.wd ** 2), 1)[..., None]
    r = x[:, None] - xa[g.to_particle]                                            # (N, k, 3)
    d = (x - state.x[-2].detach())[:, None].expand_as(r)
    moments = torch.cat([torch.ones_like(P), r, d, torch.linalg.cross(r, d), (r[..., :, None] * r[..., None, :]).flatten(2)], 2)
    top = torch.zeros(M, moments.shape[2], dtype=x.dtype).index_add_(0, g.to_particle.reshape(-1), (P * moments).flatten(0, 1))
    there = top[:, :1] >= 1e-6
    r, d, turn, rr = (top[:, 1:] / top[:, :1].clamp_min(1e-6)).split([3, 3, 3, 9], 1)
    if not c.has_spin:
        return torch.where(there, d, 0), None
    S = rr.view(M, 3, 3) - r[:, :, None] * r[:, None] # about their mean
    one = torch.eye(3, dtype=x.dtype)
    inertia = (S.diagonal(dim1=1, dim2=2).sum(1)[:, None, None] + (flow.DAMPING * c.X) ** 2) * one - S
    spin = torch.linalg.solve(inertia, turn - torch.linalg.cross(r, d))
    return torch.where(there, d - torch.linalg.cross(spin, r), 0), torch.where(there, spin, 0)


def smooth(c, v, en, g):
    index = torch.cat([torch.arange(len(en))[:, None], g.node_node[:, : g.smooth_k]], 1)
    w = torch.softmax(-squared(en[:, None], en[index]) / (2 * c.ws ** 2), 1)
    return (w[..., None] * v[index]).sum(1)


def node_extras(c, state, node, v):
    """[v/s, offset/ell, |offset|/ell, m], with the mean offset to the 3 nearest present particles of the other moving flag."""
    x, m = state.x[-1].detach(), state.m[-1]
    offset = torch.zeros(len(node), 3, dtype=x.dtype)
    for flag in (0, 1):
        mine = torch.nonzero(m[node] == flag)[:, 0]
        others = torch.nonzero(m != flag)[:, 0]
        if len(mine) and len(others):
            near = others[knn(x[node[mine]], x[others], 3)]
            offset[mine] = x[near].mean(1) - x[node[mine]]
    length = torch.sqrt((offset * offset).sum(1, keepdim=True))
    factor = torch.clamp(3 * c.ell / length.clamp_min(1e-12), max=1.0)
    offset, length = offset * factor / c.ell, length * factor / c.ell
    return torch.cat([v / c.s, offset, length, m[node][:, None]], 1)


def node_gaps(c, state, g, e, v, spin):
    """Gap between the particles around a moving node and the nearest static surface (mean of the 3 nearest). With rotation: the first
    contact of the node's body with a static plane, and with a plane of another body."""
    x, m, node = state.x[-1].detach(), state.m[-1], g.node
    out = torch.zeros(len(node), c.gap_width, dtype=x.dtype)
    mine, movers, still = torch.nonzero(m[node] > 0)[:, 0], torch.nonzero(m > 0)[:, 0], torch.nonzero(m <= 0)[:, 0]
    if not (len(mine) and len(movers)):
        return out
    xm, xs, xa = x[movers], x[still], x[node[mine]]
    if not c.has_spin:
        if len(still):
            out[mine] = nearest_place(c, xa, xm, knn(xa, xm, AROUND), xs[knn(xm, xs, 3)].mean(1) - xm)
        return out
    most = max(SEARCHED, 4 * len(mine))
    extra = ~torch.isin(movers, node[mine])
    movers, xs = movers[~extra | (extra.cumsum(0) <= most - len(mine))], xs[:most]
    xm = x[movers]
    w, turn = particle_motion(g, movers, x, m, v, spin)
    body = bodies(c, xm, e[-1][movers], w, turn)
    stands = None
    if len(still):
        points = xs[knn(xm, xs, PLANE)]
        stands = points.mean(1), flow.least_direction(points), torch.zeros_like(w), torch.ones(len(xm), dtype=torch.bool)
    to, there, own = sides(xm, body)
    others = xm[to], flow.least_direction(xm[own])[to], w[to], there
    row = torch.searchsorted(movers, node[mine])
    out[mine] = torch.cat([soonest(c, xa, row, xm, w, body, stands), soonest(c, xa, row, xm, w, body, others, 0.5 * c.ell)], 1)
    return out


def bodies(c, x, e, w, turn):
    """Number of each point's body. A body is a connected component of the graph that joins neighbours, in coordinates e (n, d), if each
    moves as the other's rigid motion (velocity w, angular velocity turn, (n, 3)) predicts."""
    me = torch.arange(len(x))[:, None]
    near = knn(e, e, JOINED, me[:, 0])
    one = ~(moves_otherwise(c, x, w, turn, me, near) | moves_otherwise(c, x, w, turn, near, me))
    pairs = coo_array((to_numpy(one[one]), (to_numpy(me.expand_as(near)[one]), to_numpy(near[one]))), shape=(len(x), len(x)))
    return to_device(connected_components(pairs, directed=False)[1]).long()


def sides(x, body):
    """Among the points nearest to each: the first of another body (of at least FEWEST points, and with others of its body nearby), whether
    there is one, and the first PLANE points (n, PLANE) of its own body, padded with the point itself."""
    me = torch.arange(len(x))
    near = torch.cat([knn(x, x, NEAREST_NODES, me), me[:, None].expand(-1, PLANE)], 1)
    foreign = body[near] != body[:, None]
    own = near.gather(1, torch.sort(foreign.to(torch.int8), dim=1, stable=True)[1][:, :PLANE])
    flat = own[:, PLANE_LEAST - 1] != me
    other = foreign & (torch.bincount(body)[body[near]] >= FEWEST) & flat[near]
    to = near.gather(1, other.to(torch.int8).argmax(1, keepdim=True))[:, 0]
    return to, other.any(1), own


def particle_motion(g, movers, x, m, v, spin):
    """Velocity and angular velocity of particles, from the nearest moving node, or the nearest node if none moves."""
    near = g.to_particle[movers]
    a = near.gather(1, (m[g.node[near]] > 0).to(torch.int8).argmax(1, keepdim=True))[:, 0]
    return carried(v[a], spin[a], x[movers] - x[g.node[a]]), spin[a]


def nearest_place(c, xa, x, near, offset):
    """Among the particles `near` each node (n, k), the one nearest to its target, at `offset` from it:
    [its position relative to the node, offset, |offset|] / ell, with the offset clipped to 3 ell."""
    length = torch.sqrt((offset * offset).sum(1))
    best = near.gather(1, torch.sort(length[near], dim=1, stable=True)[1][:, :1])[:, 0]
    factor = torch.clamp(3 * c.ell / length.clamp_min(1e-12), max=1.0)[best, None] / c.ell
    return torch.cat([(x[best] - xa) / c.ell, offset[best] * factor, length[best, None] * factor], 1)


def soonest(c, xa, row, x, w, body, planes, reach=float("inf")):
    """First contact of each node's body with a plane. Nodes are at xa, and are the particles `row`; the body has particles x with
    velocities w, and the particle that reaches its plane first is taken. With n the plane's normal towards the mean of the body and d
    from the plane's target point to the particle: [position relative to the node / ell, n, gap = d . n over ell, left = gap + w . n
    over s, |d - gap n| / ell, w / s], with w relative to the target's velocity and lengths clipped to 3 ell. `planes`: for every
    particle (target, normal of either sign, velocity, whether there is one), or None. A plane counts if the particle will be within
    `reach` of the target along the plane."""
    nothing, limit = torch.zeros(len(row), 12, dtype=x.dtype), 3 * c.ell
    nothing[:, 6], nothing[:, 7] = 3, limit / c.s
    if planes is None:
        return nothing
    target, normal, target_w, there = planes
    size = torch.bincount(body)
    middle = torch.zeros(len(size), 3, dtype=x.dtype).index_add_(0, body, x) / size[:, None]
    n = torch.where(((middle[body] - target) * normal).sum(1, keepdim=True) < 0, -normal, normal)
    d, w = x - target, w - target_w
    gap = (d * n).sum(1, keepdim=True)
    left = gap + (w * n).sum(1, keepdim=True)
    along = torch.sqrt((d - gap * n).square().sum(1, keepdim=True))
    there = there & ((d + w - left * n).square().sum(1) <= reach ** 2)
    soon = torch.where(there, left[:, 0], float("inf"))
    order = torch.sort(soon, stable=True)[1]
    place = torch.full((len(size),), len(x)).scatter_reduce_(0, body[order], torch.arange(len(x)), "amin")
    j = order[place[body[row]]] # for each node, the particle with the first contact
    out = torch.cat([(x[j] - xa) / c.ell, n[j], gap[j].clamp(-limit, limit) / c.ell, left[j].clamp(-limit, limit) / c.s,
                     along[j].clamp(max=limit) / c.ell, w[j] / c.s], 1)
    return torch.where(there[j, None], out, nothing)


def inputs(c, state):
    """s_i of every set: [f, onehot_T(t), m]"""
    out = []
    for t, (f, m) in enumerate(zip(state.f, state.m)):
        mark = torch.zeros(len(f), c.T, dtype=f.dtype)
        mark[:, t] = 1
        out.append(torch.cat([f, mark] + ([m[:, None]] if c.moving_flag else []), 1))
    return out


def encode(p, c, s, x, xa, to_node, counts, extra):
    """Messages from particles to nodes: h (M, C)."""
    act, M = activation(c.activation), len(xa)
    index, mark = torch.cat(to_node), torch.cat([i + t * M for t, i in enumerate(to_node)])
    k = index.shape[1]
    sender = torch.cat(s) @ p["gnn.encode.edge.sender"] + p["gnn.encode.edge.bias0"]
    g = geometry(torch.cat(x)[:, None], xa[index], c.ell)
    first = sender[:, None] + (g.reshape(-1, 4) @ p["gnn.encode.edge.edge"]).view(-1, k, sender.shape[1])
    message_ = message(p, "gnn.encode.edge", first.view(-1, sender.shape[1]), act)
    total = torch.zeros(c.T * M, message_.shape[1], dtype=message_.dtype).index_add(0, mark.reshape(-1), message_)
    agg = (total / counts.clamp_min(1)[:, None]).view(c.T, M, -1)
    parts = list(agg) + [torch.log1p(counts).view(c.T, M).T]
    return update(p, "gnn.encode.node", torch.cat(parts + ([extra] if extra is not None else []), 1), act)


def rounds(p, c, h, xa, v, index, mask):
    """L rounds of messages between nodes. Edges of a receiver are consecutive, so aggregation is a mean over one axis."""
    act = activation(c.activation)
    M, k = index.shape
    flat = index.reshape(-1)
    g = geometry(xa[flat].view(M, k, 3), xa[:, None], c.ell)
    if c.velocity == "node" and v is not None:
        g = torch.cat([g, (v[flat].view(M, k, 3) - v[:, None]) / c.s], -1)
    e = update(p, "gnn.edge", g.reshape(M * k, -1), act)
    share = None if mask is None else (mask.to(h.dtype) / mask.sum(1, keepdim=True))[..., None]
    for l in range(c.L):
        X = f"gnn.round{l}.edge"
        both = torch.addmm(p[X + ".bias0"], h, p[X + ".receiver"])
        first = torch.addmm((h @ p[X + ".sender"]).index_select(0, flat), e, p[X + ".edge"]).view(M, k, -1) + both[:, None]
        e = e + message(p, X, first.view(M * k, -1), act)
        into = e.view(M, k, -1)
        agg = into.mean(1) if share is None else (into * share).sum(1)
        h = h + update(p, f"gnn.round{l}.node", torch.cat([h, agg], 1), act)
    return h


def decode_particle(p, c, h, s, x, xa, index, v):
    """dx (N, 3) and feature change or None."""
    act = activation(c.activation)
    N, k = index.shape
    flat = index.reshape(-1)
    g = geometry(xa[flat].view(N, k, 3), x[:, None], c.ell).view(-1, 4)
    own = torch.addmm(p["gnn.decode.edge.bias0"], s, p["gnn.decode.edge.receiver"])
    first = torch.addmm((h @ p["gnn.decode.edge.sender"]).index_select(0, flat), g, p["gnn.decode.edge.edge"]).view(N, k, -1)
    q = message(p, "gnn.decode.edge", (first + own[:, None]).view(N * k, -1), act)
    o = mlp(p, "gnn.decode.node", torch.cat([s, q.view(N, k, -1).mean(1)], 1), act)
    return displacement(c, o, v)


def displacement(c, o, v):
    dx, at = c.s * o[:, :3], 3
    if v is not None:
        dx, at = dx + (c.gain_start + o[:, 3:4]) * v, 4
    return dx, (o[:, at:] if c.feature_outputs else None)


def decode_node(p, c, h, s, x, xa, index, d2, v_node, spin, v_particle):
    act = activation(c.activation)
    N, k = index.shape
    flat, X = index.reshape(-1), "gnn.decode.weight"
    u = torch.addmm(p["gnn.decode.node.bias1"], act(torch.addmm(p["gnn.decode.node.bias0"], h, p["gnn.decode.node.weight0"])),
                    p["gnn.decode.node.weight1"])
    xs = xa[flat].view(N, k, 3)
    g = geometry(xs, x[:, None], c.ell).view(-1, 4)
    own = torch.addmm(p[X + ".bias0"], s, p[X + ".receiver"])
    first = torch.addmm((h @ p[X + ".sender"]).index_select(0, flat), g, p[X + ".edge"]).view(N, k, -1) + own[:, None]
    z = (act(first) @ p[X + ".weight1"])[..., 0]
    w = torch.softmax(-d2 / (2 * c.wd ** 2) + z, 1)
    gathered, at = u.index_select(0, flat).view(N, k, -1), 3
    move = c.s * gathered[..., :3]
    if c.rotation:
        move = move + c.s * torch.linalg.cross(gathered[..., 3:6], (x[:, None] - xs) / c.ell)
        at = 6
    if v_node is not None:
        own = carried(v_node[index], None if spin is None else spin[index], x[:, None] - xs)
        move = move + (c.gain_start + gathered[..., at:at + 1]) * own
        at += 1
    dx = (w[..., None] * move).sum(1)
    if v_particle is not None:
        dx = dx + (c.gain_start + (w[..., None] * gathered[..., at:at + 1]).sum(1)) * v_particle
        at += 1
    return dx, ((w[..., None] * gathered[..., at:]).sum(1) if c.feature_outputs else None)


def flat_network(p, c, s, x, v, g):
    act, N = activation(c.activation), len(x[-1])
    parts = [s[-1]] + ([v / c.s] if v is not None else [])
    if g.past is not None:
        k = g.past.shape[1]
        geo = geometry(x[-2][g.past], x[-1][:, None], c.ell)
        sender = s[-2] @ p["gnn.encode.edge.sender"] + p["gnn.encode.edge.bias0"]
        first = sender[g.past] + geo @ p["gnn.encode.edge.edge"]
        parts.append(message(p, "gnn.encode.edge", first.view(N * k, -1), act).view(N, k, -1).mean(1))
    else:
        parts.append(torch.zeros(N, c.C, dtype=x[-1].dtype))
    h = update(p, "gnn.encode.node", torch.cat(parts, 1), act)
    h = rounds(p, c, h, x[-1], None, g.node_node, None)
    return displacement(c, mlp(p, "gnn.decode.node", h, act), v) + (h,)


def network(p, c, s, x, g, counts, extra, v_node, spin, v_particle, d2):
    """The differentiable part of a step, which torch.compile compiles."""
    if c.graph == "flat":
        return flat_network(p, c, s, x, v_particle, g)
    xa = x[-1][g.node]
    h = encode(p, c, s, x, xa, g.to_node, counts, extra)
    h = rounds(p, c, h, xa, v_node, g.node_node, g.node_mask)
    if c.decode == "particle":
        dx, df = decode_particle(p, c, h, s[-1], x[-1], xa, g.to_particle, v_particle)
    else:
        dx, df = decode_node(p, c, h, s[-1], x[-1], xa, g.to_particle, d2, v_node, spin, v_particle)
    return dx, df, h


def step(p, c, state, step_number=0, episode=0, node=None, net=network, graph=None):
    """-> (next State, dict with dx, h, node, v)"""
    if c.graph == "none":
        dx, info = torch.zeros_like(state.x[-1]), {}
        return advance(c, state, dx, None), {"dx": dx}
    g, e = graph or build_graph(c, state, step_number, episode, node)
    v_node = spin = v_particle = counts = extra = d2 = None
    with torch.no_grad():
        if c.has_velocity:
            if c.velocity == "node":
                v_node, spin = node_velocity(c, state, g, e)
                if c.contact_edges:
                    add_contact_edges(c, g, state.x[-1].detach()[g.node], v_node, spin)
            else:
                v_particle = particle_velocity(c, state)
        if c.graph == "hierarchical":
            M = len(g.node)
            counts = torch.cat([torch.bincount(i.reshape(-1), minlength=M) for i in g.to_node]).to(state.x[-1].dtype)
            d2 = squared(e[-1][:, None], e[-1][g.node][g.to_particle])
            own = [node_extras(c, state, g.node, v_node if v_node is not None else torch.zeros(M, 3, dtype=d2.dtype))] if c.node_extras else []
            own += [node_gaps(c, state, g, e, v_node, spin)] if c.has_gap else []
            own += [spin * c.ell / c.s] if spin is not None else []
            extra = torch.cat(own, 1) if own else None
    dx, df, h = net(p, c, inputs(c, state), state.x, g, counts, extra, v_node, spin, v_particle, d2)
    return advance(c, state, dx, df), {"dx": dx, "h": h, "node": g.node, "v": v_node if v_node is not None else v_particle}


def advance(c, state, dx, df):
    """Shifts the sets by one. The predicted present set keeps m, c and R."""
    f = state.f[-1]
    if df is not None:
        change = c.feature_change * torch.tanh(df)
        f = torch.cat([f[:, :3], f[:, 3:] + change], 1) if c.carry_rgb else f + change
    shift = lambda old, new: old[1:] + [new]
    return State(shift(state.x, state.x[-1] + dx), shift(state.f, f), shift(state.m, state.m[-1]),
                 shift(state.c, state.c[-1]), state.R, None, state.rollout_step + 1)
