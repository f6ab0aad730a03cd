# SPDX-License-Identifier: Apache-2.0
"""vpd-dataset files (docs/data.md), whole episodes in memory, and the input state of the model."""
from functools import lru_cache

import h5py
import numpy as np
import torch

from . import particles, philox
from .config import PRESETS, Config
from .encoder import image_input, unet
from .gnn import State
from .host import to_device, to_numpy


class Episode:
    def __init__(self, group, number, bounds):
        self.number, self.split = number, group.attrs["split"]
        self.rgb = group["rgb"][:]
        depth = group["depth"]
        self.depth = depth[:].astype(np.float32) * np.float32(depth.attrs.get("scale", 1.0))
        self.Kc = group["intrinsics"][:]
        self.pose = group["world_from_camera"][:]
        self.time = group["time"][:]
        self.bounds = group["bounds"][:] if "bounds" in group else bounds
        self.mask = group["mask"][:] if "mask" in group else None
        held = set(np.atleast_1d(group.attrs.get("heldout_views", [])).astype(int).tolist())
        self.views = [v for v in range(self.rgb.shape[1]) if v not in held]
        self.heldout = sorted(held)
        if "state" in group and "object_position" in group["state"]:
            self.position = group["state/object_position"][:].astype(np.float64)
            self.quaternion = group["state/object_quaternion"][:].astype(np.float64)
        self.clouds = {}  # by frame

    def poses(self, frame):
        return self.pose[frame] if self.pose.ndim == 4 else self.pose

    def cloud(self, c, frame, other):
        """All valid pixels of the training views of a frame; m against frame `other`."""
        if (frame, other) not in self.clouds:
            self.clouds[frame, other] = Cloud(self, c, frame, other)
        return self.clouds[frame, other]

    def sequence(self, c, frames):
        """The clouds of input frames, oldest first: flags against the frame before, of the first against the next."""
        return [self.cloud(c, frame, frames[t - 1] if t else frames[min(1, len(frames) - 1)]) for t, frame in enumerate(frames)]

    def images(self, frames):
        """rgb (T, V, H, W, 3) of bytes and depth (T, V, H, W), on the device"""
        rgb, depth = self.rgb[frames][:, self.views], np.nan_to_num(self.depth[frames][:, self.views])
        return to_device(np.ascontiguousarray(rgb)), to_device(np.ascontiguousarray(depth))

    def background(self, frames):
        rgb, depth = self.rgb[frames][:, self.views], self.depth[frames][:, self.views]
        empty = ~(np.isfinite(depth) & (depth > 0))
        chosen = rgb[empty] if empty.any() else rgb.reshape(-1, 3)
        return torch.tensor(chosen.astype(np.float64).mean(0) / 255, dtype=torch.float32)


class Cloud:
    def __init__(self, episode, c, frame, other):
        views, e = episode.views, episode
        Kc, pose = e.Kc[views], e.poses(frame)[views]
        depth = e.depth[frame][views]
        x, valid = particles.unproject(depth, Kc, pose)
        m = particles.moving_flag(depth, Kc, pose, e.depth[other][views], e.poses(other)[views], c.zm)
        H, W = depth.shape[1:]
        number = (np.array(views)[:, None, None] * H + np.arange(H)[:, None]) * W + np.arange(W)
        inside = None
        if e.bounds is not None:
            inside = ((x >= e.bounds[0]) & (x <= e.bounds[1])).all(-1)
            if c.crop:
                valid &= inside
        self.pixel = np.flatnonzero(valid)                    # into (view, row, column) of the input views
        self.key_index = number[valid]                        # (view of the data set * H + row) * W + column
        self.x = x[valid].astype(np.float32)
        self.colour = (e.rgb[frame][views][valid] / np.float32(255)).astype(np.float32)
        self.m = m[valid]
        self.inside = inside[valid] if inside is not None else None
        self.mask = e.mask[frame][views][valid] if e.mask is not None else None
        self.grids, self.confirmed = {}, None
        self.xt, self.ct = to_device(self.x), to_device(self.colour)

    def moving(self, c):
        """Flags after the majority filter."""
        if self.confirmed is None:
            self.confirmed = particles.confirmed(c, self.x, self.colour, self.m)
        return self.confirmed

    def choose(self, c, step, episode):
        keys = philox.key64(c.seed, philox.PARTICLES, step, episode, self.key_index)
        return particles.choose_particles(c, self.x, keys, self.inside, self.moving(c), self.grids)


def load(path, splits=None):
    with h5py.File(path) as file:
        bounds = file["bounds"][:] if "bounds" in file else None
        return [Episode(g, i, bounds) for i, g in enumerate(file["episodes"].values())
                if splits is None or g.attrs["split"] in splits]


def of_preset(name, folder):
    """Config, episode, rollout steps and rays of a view at the reference shapes, from mujoco_blocks_64.h5 or mujoco_blocks_128.h5."""
    shapes, views, size, rollout, rays = PRESETS[name]
    c = Config(moving_vote=0, sampling="uniform", radius_per_particle=False, r={"tiny": 0.07, "small": 0.05, "paper": 0.03}[name], **shapes)
    episode = load(f"{folder}/mujoco_blocks_{size}.h5", ["test"])[0]
    episode.views = episode.views[:views]
    return c, episode, rollout, rays


def encode(p, c, episode, frames, step, encoder=unet):
    """Input frames (T, oldest first) -> State, and the chosen particles' indices into the present frame's cloud."""
    chosen, dtype = [], next(iter(p.values())).dtype
    for cloud in episode.sequence(c, frames):
        index = cloud.choose(c, step, episode.number)
        chosen.append((cloud.xt[index].to(dtype), cloud.ct[index].to(dtype), to_device(cloud.moving(c)[index]).to(dtype),
                       to_device(cloud.pixel[index])))
    state = features(p, c, *episode.images(frames), chosen, encoder)
    state.R = to_device(particles.radii(c, to_numpy(state.x[-1]))).to(dtype)
    return state, index, cloud


def features(p, c, rgb, depth, chosen, encoder=unet):
    """Images (T, V, H, W, 3) and (T, V, H, W), and of each set the chosen particles' x, colour, m, pixel -> State without R."""
    T, V, H, W = depth.shape
    dtype = next(iter(p.values())).dtype
    rgb, depth = rgb.to(dtype) / 255, depth.to(dtype)
    y = encoder(p, c, image_input(c, rgb.reshape(T * V, H, W, 3), depth.reshape(T * V, H, W))).reshape(T, V * H * W, -1)
    state = State([], [], [], [])
    for own, (x, colour, m, pixel) in zip(y, chosen):
        own = own.index_select(0, pixel)
        state.x.append(x)
        state.c.append(colour)
        state.m.append(m)
        state.f.append(torch.cat([colour, own], 1) if c.carry_rgb else own)
    return state
