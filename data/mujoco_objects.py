# SPDX-License-Identifier: CC0-1.0
"""The objects of make_mujoco_scenes.py, and the scenes in which they are thrown.

Every random draw is in a fixed order: another order would give other episodes for the same seed.
"""
from colorsys import hsv_to_rgb
from dataclasses import dataclass

import numpy as np

RED = (0.85, 0.1, 0.1)


# ---- objects

@dataclass
class Thing:
    """An object: what is recorded of it, how it is thrown, and its XML."""

    name: str
    kind: str  # "rigid", "flex" (elastic solid or cloth) or "pusher"
    shape: str
    size: float  # largest extent, metres
    xml: str
    friction: float
    damping: float = 1.0  # of its contacts; 1 does not bounce
    young: float = 0.0  # Young's modulus, Pa
    velocity: np.ndarray = None
    spin: np.ndarray = None  # rad/s
    free: bool = True


def text(values):
    return " ".join(f"{v:.6g}" for v in np.atleast_1d(values))


def unit(v):
    return v / np.linalg.norm(v)


def half_sizes(rng, shape, size):
    """MuJoCo's sizes of a shape whose largest extent is `size`."""
    if shape == "box":
        return size / 2 * rng.uniform(0.7, 1, 3)
    if shape == "cylinder":
        return size / 2 * rng.uniform(0.7, 1, 2)
    if shape == "ellipsoid":
        return size / 2 * rng.uniform(0.65, 1, 3)
    return [size / 2] if shape == "sphere" else [size * 0.25, size * 0.3]


SHAPES = ("box", "sphere", "cylinder", "ellipsoid", "capsule")


def random_colour(rng, options):
    return hsv_to_rgb(rng.uniform(*options.hue) % 1, rng.uniform(*options.saturation), rng.uniform(0.65, 0.95))


def rigid(rng, options, name, place, quaternion=None, size=None, colour=None, shape=None, free=True, **motion):
    """A rigid object; the floor takes on its friction and the damping of its contacts."""
    size = rng.uniform(*options.object_size) if size is None else size
    shape = shape or options.shapes[rng.integers(len(options.shapes))]
    friction, damping, density = rng.uniform(0.3, 1.0), rng.uniform(0.35, 1.0), rng.uniform(200, 1500)
    half = half_sizes(rng, shape, size)
    colour = colour or random_colour(rng, options)
    quaternion = unit(rng.normal(size=4)) if quaternion is None else quaternion
    geom = (f'<geom type="{shape}" size="{text(half)}" rgba="{text(colour)} 1" material="plain" '
            f'density="{density:.4g}" condim="6" friction="{friction:.4g} 0.01 0.02" solref="0.02 {damping:.4g}"/>')
    xml = (f'<body name="{name}" pos="{text(place)}" quat="{text(quaternion)}">'
           f'{"<freejoint/>" if free else ""}{geom}</body>')
    return Thing(name, "rigid", shape, size, xml, friction, damping, free=free, **motion)


def elastic(rng, name, place, **motion):
    """An elastic solid; its colour runs from green (soft) to yellow (stiff) with Young's modulus."""
    stiff, size = rng.uniform(), rng.uniform(0.22, 0.34)
    shape, count = (("box", 5), ("ellipsoid", 7))[rng.integers(2)]
    young = 10 ** (3.1 + 1.3 * stiff)
    spacing = size * rng.uniform(0.75, 1, 3) / (count - 1)
    quaternion, mass, damping = unit(rng.normal(size=4)), rng.uniform(0.5, 1.5), rng.uniform(0.002, 0.01)
    xml = (f'<flexcomp name="{name}" type="{"grid" if shape == "box" else shape}" count="{text([count] * 3)}" '
           f'spacing="{text(spacing)}" pos="{text(place)}" quat="{text(quaternion)}" dim="3" radius="0.004" '
           f'rgba="{text(hsv_to_rgb(0.40 - 0.25 * stiff, 0.85, 0.8))} 1" mass="{mass:.4g}" dof="trilinear">'
           f'<elasticity young="{young:.6g}" poisson="0.25" damping="{damping:.4g}"/>'
           f'<contact selfcollide="none" condim="3" friction="0.8"/></flexcomp>')
    return Thing(name, "flex", "soft_" + shape, size, xml, 0.8, young=young, **motion)


def cloth(rng, options, name, place, **motion):
    """A square cloth whose edges keep their length."""
    count, size = 15, rng.uniform(0.65, 0.85)
    tilt, turn = rng.uniform(-12, 12, 2), rng.uniform(0, 360)
    colour, mass = random_colour(rng, options), rng.uniform(0.15, 0.4)
    xml = (f'<flexcomp name="{name}" type="grid" count="{count} {count} 1" spacing="{text([size / (count - 1)] * 3)}" '
           f'pos="{text(place)}" euler="{text(tilt)} {turn:.4g}" dim="2" radius="0.012" rgba="{text(colour)} 1" '
           f'mass="{mass:.4g}"><edge equality="true" damping="0.01"/>'
           f'<contact selfcollide="none" condim="3" friction="0.6"/></flexcomp>')
    return Thing(name, "flex", "cloth", size, xml, 0.6, **motion)


# ---- scenes: each gives its objects, and the control points of the pusher's path or None

def place_in_disc(rng, radius, heights):
    angle, r = rng.uniform(0, 2 * np.pi), radius * np.sqrt(rng.uniform())
    return np.array([r * np.cos(angle), r * np.sin(angle), rng.uniform(*heights)])


def standing(rng, options, name, place, size):
    """A box or cylinder on the floor at `place`."""
    yaw, shape = rng.uniform(0, np.pi), ("box", "cylinder")[rng.integers(2)]
    return rigid(rng, options, name, place + [0, 0, size / 2 + 0.002], size=size, shape=shape,
                 quaternion=(np.cos(yaw), 0, 0, np.sin(yaw)), velocity=np.zeros(3), spin=np.zeros(3))


def scene_blocks(rng, options):
    angle, radius, objects = rng.uniform(0, 2 * np.pi), rng.uniform(0.32, 0.55), []
    for k in range(1 if rng.uniform() < 0.15 else 2):
        a = angle + np.pi * k + rng.uniform(-0.3, 0.3)
        place = np.array([radius * np.cos(a), radius * np.sin(a), rng.uniform(0.28, 0.62)])
        across = (rng.uniform(-0.05, 0.05, 3) - place) * [1, 1, 0] / rng.uniform(0.24, 0.40)
        velocity = across + [0, 0, rng.uniform(-0.5, 0.8)]
        spin = rng.normal(size=3) * 4
        objects.append(rigid(rng, options, f"object{k}", place, velocity=velocity, spin=spin))
    return objects, None


def scene_many(rng, options):
    objects, taken = [], []
    for k in range(rng.integers(8, 33)):
        size = rng.uniform(options.object_size[0], 0.7 * options.object_size[1])
        tries = (place_in_disc(rng, 0.65, (0.18, 0.9)) for _ in range(500))
        place = next((q for q in tries if all(np.linalg.norm(q - p) > 0.7 * (size + s) for p, s in taken)), None)
        if place is None:
            continue
        taken.append((place, size))
        velocity = -place * [1, 1, 0] * rng.uniform(0.5, 2.0) + rng.normal(size=3) * 0.2
        spin = rng.normal(size=3) * 4
        objects.append(rigid(rng, options, f"object{k}", place, size=size, velocity=velocity, spin=spin))
    return objects, None


def scene_soft(rng, options):
    angle, objects, elastic_count = rng.uniform(0, 2 * np.pi), [], rng.integers(1, 3)
    total = elastic_count + (rng.uniform() < 0.6)
    for k in range(total):
        a = angle + 2 * np.pi * k / max(total, 2)
        place = np.array([0.36 * np.cos(a), 0.36 * np.sin(a), rng.uniform(0.40, 0.75)])
        motion = {"velocity": -place * [1, 1, 0] * rng.uniform(1.0, 2.5), "spin": rng.normal(size=3) * 2}
        if k < elastic_count:
            objects.append(elastic(rng, f"object{k}", place, **motion))
        else:
            objects.append(rigid(rng, options, f"object{k}", place, colour=RED, **motion))
    return objects, None


def scene_cloth(rng, options):
    size = rng.uniform(0.28, 0.38)
    place = place_in_disc(rng, 0.12, size / 2 + np.array([0.002, 0.004]))
    shape, free = ("ellipsoid", "sphere")[rng.integers(2)], rng.uniform() < 0.5
    below = rigid(rng, options, "object0", place, quaternion=(1, 0, 0, 0), size=size, colour=RED, shape=shape, free=free,
                  velocity=np.zeros(3), spin=np.zeros(3))
    place, velocity = place_in_disc(rng, 0.12, (0.45, 0.65)), rng.normal(size=3) * 0.15
    return [below, cloth(rng, options, "object1", place, velocity=velocity, spin=np.zeros(3))], None


def scene_pusher(rng, options):
    objects, places, heading = [], [], rng.uniform(0, 2 * np.pi)
    for k in range(rng.integers(2, 5)):
        tries = (place_in_disc(rng, 0.45, (0, 0)) for _ in range(1000))
        place = next(q for q in tries if all(np.linalg.norm(q - p) > 0.32 for p in places))
        places.append(place)
        size = rng.uniform(options.object_size[0], 0.8 * options.object_size[1])
        objects.append(standing(rng, options, f"object{k}", place, size))
    start = 0.75 * np.array([np.cos(heading), np.sin(heading), 0])
    near, far = sorted(places, key=lambda p: np.linalg.norm(p - start))[:2]
    path = np.array([start, near, (near + far) / 2 + rng.uniform(-0.1, 0.1, 3), far, far + 0.25 * (far - near)])
    xml = ('<body name="pusher" mocap="true"><geom type="box" size="0.02 0.12 0.1" rgba="0.15 0.15 0.17 1" '
           'friction="0.5" material="plain"/></body>')
    pusher = Thing("pusher", "pusher", "box", 0.24, xml, 0.5, free=False)
    return objects + [pusher], path * [1, 1, 0] + [0, 0, 0.11]


def scene_drop(rng, options):
    objects, taken = [], []
    falling, upright = rng.integers(1, 4), rng.integers(0, 3)
    for k in range(upright + falling):
        size, stands = rng.uniform(*options.object_size), k < upright
        tries = (place_in_disc(rng, 0.5, (0.2, 0.85)) * [1, 1, not stands] for _ in range(1000))
        place = next(q for q in tries if all(np.linalg.norm(q - p) > 0.6 * (size + s) + 0.05 for p, s in taken))
        taken.append((place, size))
        if stands:
            objects.append(standing(rng, options, f"object{k}", place, size))
            continue
        up, turns = rng.uniform(0, 1.5) * (rng.uniform() < 0.5), rng.uniform() < 0.5
        velocity, spin = rng.normal(size=3) * 0.1 * turns + [0, 0, up], rng.normal(size=3) * 2 * turns
        objects.append(rigid(rng, options, f"object{k}", place, size=size, velocity=velocity, spin=spin))
    return objects, None


SCENES = {"blocks": scene_blocks, "drop": scene_drop, "many": scene_many, "soft": scene_soft, "cloth": scene_cloth,
          "pusher": scene_pusher}
