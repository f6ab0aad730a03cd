#!/usr/bin/env python3
# SPDX-License-Identifier: CC0-1.0
"""Makes multi-view RGB-D videos of simple physics with MuJoCo, as a data set for vpd (docs/data.md).

    python3 -m venv venv
    venv/bin/pip install mujoco h5py pillow     # mujoco==4.0.0 repeats the published files bit for bit
    apt-get install libosmesa6                  # software rendering on Debian and Ubuntu; MUJOCO_GL=egl takes a GPU
    venv/bin/python data/make_mujoco_scenes.py --scene blocks --split train:40,val:6,test:6 --out blocks.h5
    vpd data check blocks.h5

Scenes:
    blocks   one (15 %) or two rigid objects (box, sphere, cylinder, ellipsoid or capsule), thrown at each other with spin
             from 0.3-0.6 m above the floor
    drop     one to three rigid objects that are let go or thrown straight up, above up to two that stand
    many     8 to 32 rigid objects that fall into a heap
    soft     one or two elastic solids, green (soft) to yellow (stiff), in some episodes with a red rigid object
    cloth    a square cloth that falls over a red rounded object, which is fixed or free
    pusher   a dark paddle that moves through two of 2-4 resting blocks; its pose is in `actions`

The floor is tiled, 4 x 4 m, and there is one light with shadows. An attempt in which something leaves the workspace is
made again. Episode i depends on (--seed, i) alone, not on --workers. SOURCE_DATE_EPOCH fixes the attribute `created`.

Units are metres and seconds, world z points up. Cameras follow OpenCV (x right, y down, z forward) with pixel centres at
(u + 0.5, v + 0.5). Depth lies along the camera's z axis, 0 is sky. Mask k + 1 is object k of `state/*`, 0 is floor and sky.
"""
import argparse
import io
import multiprocessing
import os
import time
from colorsys import hsv_to_rgb
from datetime import datetime, timezone

os.environ.setdefault("MUJOCO_GL", "osmesa")
os.environ.setdefault("LP_NUM_THREADS", "1")  # of the software renderer: the workers share the cores
import h5py
import mujoco
import numpy as np
from PIL import Image

from mujoco_objects import SCENES, SHAPES, text, unit

FAR = 15.0  # metres; what is farther is sky
BOUNDS = np.array([[-1.0, -1.0, -0.05], [1.0, 1.0, 1.2]])  # workspace; centres of objects stay within 0.8 of it
DEPTH_SCALE = 1 / 4096  # metres per unit of the stored depth
ATTEMPTS = 50
SPLITS = ("train", "val", "test")
GEOM, FLEX = mujoco.mjtObj.mjOBJ_GEOM, mujoco.mjtObj.mjOBJ_FLEX

# Every random draw below is in a fixed order, as in mujoco_objects.py.


# ---- one episode

def pusher_pose(path, s):
    """Position and quaternion at s in [0,1] on the Bezier curve of these control points, facing along it."""

    def curve(p):
        return p[0] if len(p) == 1 else curve(p[:-1] * (1 - s) + p[1:] * s)

    along = curve(np.diff(path, axis=0))
    yaw = np.arctan2(along[1], along[0])
    return np.concatenate([curve(path), [np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)]])


# ---- MuJoCo's model and the cameras

def floor_texture(rng):
    """Tiles of 0.25 m with little contrast, as a PNG: a checkerboard, or random grey levels."""
    checkered = rng.uniform() < 0.5
    level = np.indices((16, 16)).sum(0) % 2 - 0.5 if checkered else rng.integers(-2, 3, (16, 16)) / 4
    base = np.array(hsv_to_rgb(rng.uniform(), rng.uniform(0.05, 0.2), rng.uniform(0.5, 0.7)))
    tiles, png = np.clip(base * (1 + rng.uniform(0.1, 0.2) * level[..., None]), 0, 1), io.BytesIO()
    Image.fromarray((255 * tiles).astype(np.uint8)).resize((768, 768), Image.NEAREST).save(png, "png")
    return png.getvalue()


def build_model(rng, options, objects, time_step):
    """Floor, one directional light with shadows, sky and objects. With extent 1, znear and zfar are metres."""
    angle, tilt = rng.uniform(0, 2 * np.pi), rng.uniform(0.3, 0.6)
    light = np.array([-np.cos(angle) * tilt, -np.sin(angle) * tilt, -1])
    sky = text(np.array([0.62, 0.72, 0.84]) * rng.uniform(0.8, 1.1))
    solver = 'solver="CG" tolerance="1e-6"' if any(o.shape == "cloth" for o in objects) else ""
    height, width = options.size
    xml = f"""<mujoco><option timestep="{time_step!r}" {solver}/>
<statistic extent="1" center="0 0 0"/>
<visual><map znear="0.2" zfar="20" shadowclip="4"/><global offwidth="{width}" offheight="{height}"/>
<quality shadowsize="2048"/><headlight ambient="0.4 0.4 0.4" diffuse="0 0 0" specular="0 0 0"/></visual>
<asset><texture type="skybox" builtin="flat" rgb1="{sky}" rgb2="{sky}" width="8" height="8"/>
<texture name="floor" type="2d" file="floor.png"/><material name="floor" texture="floor" specular="0"/>
<material name="plain" specular="0.2" shininess="0.3"/></asset>
<worldbody><light type="directional" pos="{text(-6 * light)}" dir="{text(light)}" diffuse="0.6 0.6 0.6" ambient="0 0 0"/>
<geom name="floor" type="plane" size="2 2 0.1" material="floor" friction="0.1 0.005 0.0001" solmix="0.001"/>
<camera name="view"/>{"".join(o.xml for o in objects)}</worldbody></mujoco>"""
    return mujoco.MjModel.from_xml_string(xml, {"floor.png": floor_texture(rng)})


def look_at(eye, target, roll):
    """OpenCV camera-to-world matrix: x right, y down, z forward."""
    z = unit(target - eye)
    x = unit(np.cross(z, [0, 0, 1]))
    y, c, s = np.cross(z, x), np.cos(roll), np.sin(roll)
    return np.vstack([np.stack([c * x + s * y, c * y - s * x, z, eye], 1), [0, 0, 0, 1]])


def camera_rig(rng, options):
    """Cameras about evenly on a ring, then the extra views anywhere: K [V,3,3], poses [V,4,4], vertical field of view."""
    start, fov, poses = rng.uniform(0, 2 * np.pi), rng.uniform(*options.fov), []
    for v in range(options.cameras + options.extra_views):
        on_ring = start + 2 * np.pi / options.cameras * v
        azimuth = on_ring + rng.uniform(-0.15, 0.15) if v < options.cameras else rng.uniform(0, 2 * np.pi)
        elevation, distance = np.radians(rng.uniform(*options.elevation)), rng.uniform(*options.distance)
        out = np.array([np.cos(azimuth) * np.cos(elevation), np.sin(azimuth) * np.cos(elevation), np.sin(elevation)])
        target = np.array([0, 0, 0.2]) + rng.uniform(-0.05, 0.05, 3)
        roll = np.radians(rng.uniform(-options.roll, options.roll))
        poses.append(look_at(target + distance * out, target, roll))
    height, width = options.size
    focal = height / 2 / np.tan(np.radians(fov) / 2)
    K = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])
    return np.repeat(K[None], len(poses), 0), np.array(poses), fov


class Camera:
    """Draws colour (four samples a pixel), depth and mask (one sample, at the pixel's centre)."""

    def __init__(self, model, options, objects):
        ids = {o.name: k + 1 for k, o in enumerate(objects)}
        flexes = [mujoco.mj_id2name(model, FLEX, f) for f in range(model.nflex)]
        self.model = model
        self.ids = {int(GEOM): np.array([ids.get(model.body(b).name, 0) for b in model.geom_bodyid], np.uint16),
                    int(FLEX): np.array([ids[name] for name in flexes], np.uint16)}
        model.vis.quality.offsamples = 4
        self.renderers = [mujoco.Renderer(model, *options.size)]
        model.vis.quality.offsamples = 0
        self.renderers += [mujoco.Renderer(model, *options.size), mujoco.Renderer(model, *options.size)]
        self.renderers[1].enable_depth_rendering()
        self.renderers[2].enable_segmentation_rendering()

    def close(self):
        for renderer in self.renderers:
            renderer.close()

    def shoot(self, data, pose, fov):
        """Colour [H,W,3] u8, depth [H,W] f32, mask [H,W] u16. MuJoCo's camera looks along -z with y up."""
        rotation = np.ascontiguousarray(pose[:3, :3] @ np.diag([1.0, -1, -1]))
        mujoco.mju_mat2Quat(self.model.cam_quat[0], rotation.ravel())
        self.model.cam_pos[0], self.model.cam_fovy[0] = pose[:3, 3], fov
        mujoco.mj_camlight(self.model, data)
        for renderer in self.renderers:
            renderer.update_scene(data, "view")
        colour, depth, segments = [renderer.render() for renderer in self.renderers]
        mask = np.zeros(depth.shape, np.uint16)
        for kind, ids in self.ids.items():
            of_kind = segments[..., 1] == kind
            mask[of_kind] = ids[segments[of_kind, 0]]
        return colour, np.where(depth < FAR, depth, 0), mask


# ---- simulation

def flex_parts(model, name):
    """The slice of a flex's vertices, and the bodies that carry its degrees of freedom."""
    f = mujoco.mj_name2id(model, FLEX, name)
    vertices = slice(model.flex_vertadr[f], model.flex_vertadr[f] + model.flex_vertnum[f])
    nodes = slice(model.flex_nodeadr[f], model.flex_nodeadr[f] + model.flex_nodenum[f])
    return vertices, model.flex_nodebodyid[nodes] if model.flex_nodenum[f] else model.flex_vertbodyid[vertices]


def throw(model, data, objects):
    """Sets the velocity that each free object starts with; a flex gets it node by node."""
    for o in objects:
        if o.kind == "rigid" and o.free:
            first = model.body(o.name).dofadr[0]
            data.qvel[first:first + 6] = np.concatenate([o.velocity, o.spin])
        elif o.kind == "flex":
            _, bodies = flex_parts(model, o.name)
            for b in bodies:
                arm = data.xpos[b] - data.xpos[bodies].mean(0)
                data.qvel[model.body_dofadr[b]:][:3] = o.velocity + np.cross(o.spin, arm)


def object_pose(model, data, o, rest):
    """Position and quaternion (w first); of a flex the mean vertex and the best rotation from its first shape."""
    if o.kind != "flex":
        return data.body(o.name).xpos.copy(), data.body(o.name).xquat.copy()
    vertices, quaternion = data.flexvert_xpos[flex_parts(model, o.name)[0]], np.zeros(4)
    u, _, vt = np.linalg.svd((vertices - vertices.mean(0)).T @ (rest - rest.mean(0)))
    mujoco.mju_mat2Quat(quaternion, (u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt).ravel())
    return vertices.mean(0), quaternion


def properties(model, objects):
    """What stays constant in an episode: arrays over objects, and attributes with those of the first four."""
    def mass(o):
        bodies = flex_parts(model, o.name)[1] if o.kind == "flex" else [model.body(o.name).id]
        return model.body_mass[np.unique(bodies)].sum()

    columns = {"mass": [mass(o) for o in objects], "friction": [o.friction for o in objects],
               "contact_damping": [o.damping for o in objects], "young": [o.young for o in objects]}
    arrays = {"state/object_" + key: np.array(values, np.float32) for key, values in columns.items()}
    attributes = {f"properties/object{k}_{key}": float(arrays["state/object_" + key][k])
                  for key in columns for k in range(min(len(objects), 4))}
    arrays["state/object_size"] = np.array([o.size for o in objects], np.float32)
    arrays["state/object_shape"] = np.array([o.shape for o in objects], "S16")
    attributes["properties/object_count"] = float(len(objects))
    attributes["properties/gravity"] = float(-model.opt.gravity[2])
    return arrays, attributes


def simulate(index, attempt, options):
    """One episode as arrays and attributes, or None when it became unstable or left the workspace."""
    rng, scene = np.random.default_rng([options.seed, index, attempt]), options.scene[index % len(options.scene)]
    objects, path = SCENES[scene](rng, options)
    K, poses, fov = camera_rig(rng, options)
    T, V, O = options.frames, len(K), len(objects)
    steps = int(np.ceil(1000 / options.fps))  # of about 1 ms, a whole number per frame
    model = build_model(rng, options, objects, 1 / (options.fps * steps))
    data, flexes = mujoco.MjData(model), [o for o in objects if o.kind == "flex"]
    mujoco.mj_forward(model, data)
    throw(model, data, objects)
    rest = {o.name: data.flexvert_xpos[flex_parts(model, o.name)[0]].copy() for o in flexes}
    rgb = np.zeros((T, V, *options.size, 3), np.uint8)
    depth, mask = np.zeros(rgb.shape[:4], np.float32), np.zeros(rgb.shape[:4], np.uint16)
    position, quaternion, vertices = np.zeros((T, O, 3), np.float32), np.zeros((T, O, 4), np.float32), []
    camera, good = Camera(model, options, objects), True
    for t in range(T):
        for n in range((t - 1) * steps + 1, t * steps + 1) if t else (0,):
            if path is not None:
                data.mocap_pos[0], data.mocap_quat[0] = np.split(pusher_pose(path, n / ((T - 1) * steps)), [3])
            if n:
                mujoco.mj_step(model, data)
        mujoco.mj_forward(model, data)  # the poses of this instant, not of the last step's start
        for k, o in enumerate(objects):
            position[t, k], quaternion[t, k] = object_pose(model, data, o, rest.get(o.name))
        inside = (position[t] > 0.8 * BOUNDS[0]).all() and (position[t] < 0.8 * BOUNDS[1]).all()
        good = inside and not any(w.number for w in data.warning)
        if not good:
            break
        vertices.append(data.flexvert_xpos.astype(np.float32))
        for v in range(V):
            rgb[t, v], depth[t, v], mask[t, v] = camera.shoot(data, poses[v], fov)
    camera.close()
    if not good:
        return None
    arrays, attributes = properties(model, objects)
    arrays |= {"rgb": rgb, "depth": np.round(depth / DEPTH_SCALE).astype(np.uint16), "mask": mask,
               "time": np.arange(T) / options.fps, "intrinsics": K, "world_from_camera": poses, "bounds": BOUNDS,
               "state/object_position": position, "state/object_quaternion": quaternion}
    attributes |= {"scene": scene, "attempt": attempt, "source": "MuJoCo " + mujoco.__version__}
    if options.extra_views:
        attributes["heldout_views"] = options.cameras + np.arange(options.extra_views, dtype=np.int32)
    if flexes:
        ids = np.array([k + 1 for k, o in enumerate(objects) if o.kind == "flex"], np.uint16)
        arrays["state/vertices"] = np.array(vertices)
        arrays["state/vertex_object"] = np.repeat(ids, [len(rest[o.name]) for o in flexes])
    if path is not None:
        arrays["actions"] = np.concatenate([position[:, -1], quaternion[:, -1]], 1)
    return arrays, attributes


def make_episode(job):
    """The first attempt that stays in the workspace."""
    index, options = job
    for attempt in range(ATTEMPTS):
        episode = simulate(index, attempt, options)
        if episode:
            return episode
    raise RuntimeError(f"episode {index}: none of {ATTEMPTS} attempts stayed in the workspace; change --seed or the ranges")


# ---- the file

def write_episode(group, arrays, attributes, pack):
    """Images in chunks of `pack` frames of a view with shuffle, deflate and checksum; other arrays contiguous."""
    group.attrs.update(attributes)
    filters = {"shuffle": True, "compression": "gzip", "compression_opts": 9 if pack > 1 else 4, "fletcher32": True}
    for key, array in arrays.items():
        image = {**filters, "chunks": (pack, 1) + array.shape[2:]} if key in ("rgb", "depth", "mask") else {}
        group.create_dataset(key, data=array, **image)
    group["depth"].attrs["scale"] = DEPTH_SCALE
    group["state/object_quaternion"].attrs["order"] = "w x y z, world from object"
    group["state/object_position"].attrs["frame"] = "world, metres; object k has mask id k + 1"
    if "actions" in arrays:
        group["actions"].attrs["columns"] = "pusher x y z, quaternion w x y z, at time[t]"


def write_dataset(options):
    """Writes to a draft beside the file, and renames it when it is whole."""
    draft = options.out + ".part"
    created = datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), timezone.utc)
    jobs = [(i, options) for i in range(len(options.split))]
    with h5py.File(draft, "w") as file, multiprocessing.Pool(options.workers) as pool:
        file.attrs.update({
            "format": "vpd-dataset", "format_version": np.array([1, 0], np.uint32), "created": created.isoformat(),
            "generator": f"make_mujoco_scenes.py, MuJoCo {mujoco.__version__}", "camera_convention": "opencv",
            "missing_depth": "sky", "length_unit": "m", "licence": "CC0-1.0",
            "name": os.path.splitext(os.path.basename(options.out))[0]})
        for i, (arrays, attributes) in enumerate(pool.imap(make_episode, jobs)):
            write_episode(file.create_group(f"episodes/{i:06d}"), arrays, attributes | {"split": options.split[i]}, options.pack)
            print(f"episode {i + 1} of {len(jobs)}", flush=True)
    os.replace(draft, options.out)
    print(f"{options.out}: {len(jobs)} episodes written")


# ---- the command line

def pair(argument):
    low, high = map(float, argument.split(","))
    return low, high


def names_of(table):
    def parse(argument):
        names = argument.split(",")
        for name in names:
            if name not in table:
                raise argparse.ArgumentTypeError(f"expected {', '.join(table)}; found {name}")
        return names
    return parse


def image_size(argument):
    height, width = map(int, argument.split("x"))
    return height, width


def splits(argument):
    """train:40,val:6 as the split of each episode."""
    found = []
    for part in argument.split(","):
        name, _, count = part.partition(":")
        if name not in SPLITS or not count.isdecimal():
            raise argparse.ArgumentTypeError(f"expected NAME:COUNT with a name of {', '.join(SPLITS)}; found {part}")
        found += [name] * int(count)
    return found


def command_line():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--out", required=True, metavar="FILE.h5")
    p.add_argument("--scene", type=names_of(SCENES), default=["blocks"], help="one kind, or several in turn: many,soft (blocks)")
    p.add_argument("--split", type=splits, default=splits("train:40,val:6,test:6"), metavar="NAME:COUNT,..",
                   help="episodes (train:40,val:6,test:6)")
    p.add_argument("--seed", type=int, default=0, help="of all random choices (0)")
    p.add_argument("--size", type=image_size, default=(64, 64), metavar="HxW", help="of images (64x64)")
    p.add_argument("--frames", type=int, default=24, help="per episode (24)")
    p.add_argument("--fps", type=float, default=24.0, help="frames per second (24)")
    p.add_argument("--cameras", type=int, default=4, help="on a ring around the workspace (4)")
    p.add_argument("--extra-views", type=int, default=0, metavar="N", help="held-out cameras: stored last, listed in heldout_views (0)")
    p.add_argument("--shapes", type=names_of(SHAPES), default=list(SHAPES), help="of rigid objects (all: %s)" % ",".join(SHAPES))
    for name, default, text_of_help in (
            ("object-size", (0.18, 0.30), "largest extent of objects, metres"), ("hue", (0, 1), "of objects"),
            ("saturation", (0.6, 0.95), "of objects"), ("distance", (1.7, 2.0), "of cameras, metres"),
            ("elevation", (25, 50), "of cameras, degrees"), ("fov", (45, 50), "vertical field of view, degrees")):
        p.add_argument("--" + name, type=pair, default=default, metavar="LOW,HIGH",
                       help=f"{text_of_help} ({default[0]},{default[1]})")
    p.add_argument("--roll", type=float, default=0.0, help="largest roll of cameras, degrees (0)")
    p.add_argument("--pack", type=int, default=1, metavar="N",
                   help="frames of a view compressed as one: smaller files, which are read more slowly (1)")
    p.add_argument("--workers", type=int, default=2, help="processes (2)")
    return p.parse_args()


if __name__ == "__main__":
    write_dataset(command_line())
