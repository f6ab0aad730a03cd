# SPDX-License-Identifier: Apache-2.0
"""Models, scenes, views and pictures."""
from __future__ import annotations

import ctypes
import json
import operator
import os
import pathlib
import textwrap
import threading
import weakref
from dataclasses import dataclass
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from vpd import _library as c
from vpd._call import call_long

PathLike = Union[str, "os.PathLike[str]"]
Edit = Union[str, Mapping[str, Any]]


def _path(path: PathLike) -> bytes:
    return os.fsencode(path)


def _text(text: str, name: str) -> bytes:
    """Text for C, where a string ends at its first NUL."""
    if not isinstance(text, str) or "\0" in text:
        raise c.InputError(f"{name}: expected text without NUL, found {text!r}")
    return text.encode()


def _whole(value, name: str) -> int:
    """A whole number that fits C's int, of which ctypes would drop the upper bits; numpy's are whole numbers too, and 2.0 is none."""
    try:
        number = operator.index(value)
    except TypeError:
        raise c.InputError(f"{name}: expected a whole number, found {value!r}") from None
    if not -2**31 <= number < 2**31:
        raise c.InputError(f"{name}: expected a whole number below 2^31, found {number}")
    return number


def _yaml(value: Mapping[str, Any], name: str) -> bytes:
    """JSON, which is YAML; numpy's numbers and arrays become numbers and lists."""
    return _text(json.dumps(value, ensure_ascii=False, default=lambda value: value.tolist()), name)


def _edits(edits: Sequence[Edit]) -> bytes:
    """One YAML text of all edits."""
    texts = [textwrap.dedent(edit) if isinstance(edit, str) else _yaml(edit, "edit").decode() for edit in edits]
    if len(texts) == 1:
        return _text(texts[0], "edit")
    items = [textwrap.indent(text, "  ").replace("  ", "- ", 1) for text in texts]
    return _text("\n".join(items) if items else "[]", "edit")


def _array(value, dtype, shape: tuple, name: str) -> np.ndarray:
    """`value` as a contiguous array of that shape; None or a text in it is any length. No copy when it is one already."""
    array = np.asarray(value)
    if array.dtype != dtype and (np.dtype(dtype).kind in "ui" or array.dtype.kind not in "fui"):
        raise c.InputError(f"{name}: expected {np.dtype(dtype).name}, found {array.dtype.name}")
    fits = array.ndim == len(shape) and all(want == have or want is None or isinstance(want, str) for want, have in zip(shape, array.shape))
    if not fits:
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise c.InputError(f"{name}: expected shape ({wanted}), found {array.shape}")
    return np.ascontiguousarray(array, dtype)


def _target(array: np.ndarray, dtype, shape: tuple, name: str) -> np.ndarray:
    """Checks an array of the caller that will be written to."""
    good = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape == shape
    if not good or not array.flags.c_contiguous or not array.flags.writeable:
        raise c.InputError(f"{name}: expected a writable, contiguous {np.dtype(dtype).name} array of shape {shape}")
    return array


FORMATS = {"ply": 0, "npz": 1, "gltf": 2, "usda": 3}  # vpd_export_format
SUFFIXES = {".npz": "npz", ".glb": "gltf", ".usda": "usda", "": "ply"}


def _export_format(path: PathLike, format: Optional[str]) -> int:
    """The number of a format by its name, or by the path's suffix."""
    if format is None:
        format = SUFFIXES.get(pathlib.Path(path).suffix)
    if format not in FORMATS:
        raise c.InputError(f"{os.fspath(path)}: expected FILE.npz, FILE.glb, FILE.usda or a FOLDER for PLY files, or format= one of "
                           f"{', '.join(FORMATS)}")
    return FORMATS[format]


@dataclass(frozen=True)
class View:
    """A pinhole camera: intrinsics (3, 3) in pixels, world_from_camera (4, 4), and the picture's height and width."""

    intrinsics: np.ndarray
    world_from_camera: np.ndarray
    height: int
    width: int

    @staticmethod
    def look_at(eye: Sequence[float], target: Sequence[float], *, up: Sequence[float] = (0, 0, 1), fov_degrees: float = 50,
                height: int = 96, width: int = 128) -> "View":
        """A camera at `eye` (metres) that looks at `target`; fov_degrees is the horizontal field of view."""
        z = np.asarray(target, float) - np.asarray(eye, float)
        x = np.cross(z, np.asarray(up, float))
        if not np.linalg.norm(x) > 1e-9 * max(np.linalg.norm(z), 1e-300):
            raise c.InputError("look_at: expected a target away from the eye, and not along `up`")
        z /= np.linalg.norm(z)
        x /= np.linalg.norm(x)
        pose = np.eye(4)
        pose[:3, :3] = np.stack([x, np.cross(z, x), z], 1)
        pose[:3, 3] = eye
        focal = width / 2 / np.tan(np.radians(fov_degrees) / 2)
        return View(np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]]), pose, height, width)

    def resized(self, height: int, width: int) -> "View":
        """The same field of view with another number of pixels."""
        scale = np.diag([width / self.width, height / self.height, 1])
        return View(scale @ self.intrinsics, self.world_from_camera, height, width)

    def _c(self) -> c.CView:
        view = c.CView(H=_whole(self.height, "height"), W=_whole(self.width, "width"))
        view.intrinsics[:] = _array(self.intrinsics, np.float64, (3, 3), "intrinsics").ravel().tolist()
        view.world_from_camera[:] = _array(self.world_from_camera, np.float64, (4, 4), "world_from_camera").ravel().tolist()
        return view


class Picture(NamedTuple):
    """Pictures drawn by `Scene.render`; parts that were not requested are None."""

    rgb: Optional[np.ndarray]  # (H, W, 3) u8
    depth: Optional[np.ndarray]  # (H, W) f32 metres along the camera's z, 0 = no particle
    colour: Optional[np.ndarray]  # (H, W, 3) f32 in [0, 1], not rounded
    opacity: Optional[np.ndarray]  # (H, W) f32 in [0, 1]


class EditReport(NamedTuple):
    """Result of `Scene.edit` and `Scene.append`."""

    before: int  # particles
    after: int
    applied: int  # edits
    skipped: int # those with `if_empty: skip` and an empty selection
    warnings: List[str] # what is to be known of the edits, as sentences


def _edit_report(report: c.EditReport) -> EditReport:
    return EditReport(report.before, report.after, report.applied, report.skipped, report.warnings.decode().split("\n")[:-1])


class _Handle:
    """Owns a pointer of the library."""

    def __init__(self, pointer: int, free) -> None:
        self._open_pointer: Optional[int] = pointer
        self._finalizer = weakref.finalize(self, free, pointer)

    @property
    def _pointer(self) -> int:
        if self._open_pointer is None:
            raise c.InputError(f"this vpd.{type(self).__name__} is closed")
        return self._open_pointer

    def close(self) -> None:
        """Frees it now; later use is an error."""
        self._finalizer()
        self._open_pointer = None

    def __reduce_ex__(self, _):
        """Neither `copy` nor `pickle` knows that the pointer has one owner: a copy would go on with freed memory."""
        raise TypeError(f"a vpd.{type(self).__name__} can be neither copied nor pickled")

    def __repr__(self) -> str:
        name = f"vpd.{type(self).__name__}"
        return f"<{name}{self._words()}>" if self._open_pointer is not None else f"<{name}, closed>"

    def _words(self) -> str:
        """What `repr` says of it behind its name."""
        return ""


class Model(_Handle):
    """A trained model.

    path: a checkpoint, or the folder of a run (its best checkpoint, else its latest).
    device: "auto", "cpu", "cpu:avx2", "cuda", "cuda:1".  threads: 0 = all that the process may use.
    raw: use the weights of the optimiser, not their moving average."""

    def __init__(self, path: PathLike, *, device: str = "auto", threads: int = 0, raw: bool = False) -> None:
        out = ctypes.c_void_p()
        options = c.OpenOptions(device=_text(device, "device"), threads=_whole(threads, "threads"), raw=bool(raw))
        c.call("vpd_model_open", _path(path), ctypes.byref(options), ctypes.byref(out))
        super().__init__(out.value, c.close_model)
        facts = c.ModelFacts()
        c.call("vpd_model_get_facts", self._pointer, ctypes.byref(facts))
        self.history: int = facts.history  #: T: input frames of a rollout
        self.features: int = facts.features  #: D: features per particle
        self.particles_max: int = facts.particles_max  #: N: most particles per frame
        self.has_dynamics: bool = bool(facts.has_dynamics)  #: False: the model draws, but predicts no motion
        self.time_step: float = facts.time_step  #: seconds between the frames that it learned from; 0: single frames
        self.radius: float = facts.radius  #: metres: support radius of a particle
        self.train_step: int = facts.train_step
        self.path: str = os.fsdecode(facts.path)
        self.hash: str = facts.hash.decode()
        self.device: str = facts.device.decode()
        self.note: str = facts.note.decode(errors="replace")  #: "" or a warning about a damaged file that was skipped
        self.device_why: str = facts.device_why.decode(errors="replace")  #: "", or why "auto" chose the CPU and not the GPU

    def _words(self) -> str:
        return f" {self.path!r}, {self.device}"

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _scene(self, function: str, *arguments) -> "Scene":
        out = ctypes.c_void_p()
        call_long(function, self._pointer, *arguments, ctypes.byref(out))
        return Scene(out.value)

    def encode(self, rgb: np.ndarray, depth: np.ndarray, intrinsics: np.ndarray, world_from_camera: np.ndarray, *,
               time: Optional[np.ndarray] = None, mask: Optional[np.ndarray] = None,
               bounds: Optional[np.ndarray] = None, name: str = "") -> "Scene":
        """Encodes frames in memory as particles. F = self.history frames, oldest first, of V views.

        rgb (F, V, H, W, 3) u8.  depth (F, V, H, W) metres along z, 0 = missing; other units are refused where the points are spread
        over a hundred times the model's scene, or `bounds`.  intrinsics (V, 3, 3) pixels.
        world_from_camera (F, V, 4, 4), or (V, 4, 4) for static cameras.
        time (F) seconds, evenly spaced, up to 4 times as far apart as self.time_step, or as close (without bodies: 20 %).
        Steps of the scene are as long.  None: self.time_step; of a camera with another rate things fall too fast or slowly.
        mask (F, V, H, W) u16, 0 = background, k+1 = object k: labels of the particles.  bounds (2, 3) workspace box, metres.
        name seeds the random choices: the same frames with the same name give the same bits."""
        rgb = _array(rgb, np.uint8, ("F", "V", "H", "W", 3), "rgb")
        if np.asarray(depth).dtype.kind != "f":
            raise c.InputError(f"depth: expected metres as float32, found {np.asarray(depth).dtype}; multiply it by its scale")
        F, V, H, W = rgb.shape[:4]
        arrays = {"rgb": rgb, "depth": _array(depth, np.float32, (F, V, H, W), "depth"),
                  "intrinsics": _array(intrinsics, np.float64, (V, 3, 3), "intrinsics")}
        if np.ndim(world_from_camera) == 3:
            world_from_camera = np.broadcast_to(world_from_camera, (F,) + np.shape(world_from_camera))
        arrays["world_from_camera"] = _array(world_from_camera, np.float64, (F, V, 4, 4), "world_from_camera")
        for key, value, dtype, shape in (("time", time, np.float64, (F,)), ("mask", mask, np.uint16, (F, V, H, W)),
                                         ("bounds", bounds, np.float64, (2, 3))):
            if value is not None:
                arrays[key] = _array(value, dtype, shape, key)
        frames = c.Frames(F=F, V=V, H=H, W=W, name=_text(name, "name"), **{k: a.ctypes.data for k, a in arrays.items()})
        return self._scene("vpd_scene_encode", ctypes.byref(frames))

    def episode(self, dataset: PathLike, episode: Union[str, int, None] = None, start: int = -1) -> "Scene":
        """Encodes an episode of a data set, as `vpd rollout` does. episode: name or number (None: the first test episode).
        start: the present frame (-1: the earliest with a complete history)."""
        name = None if episode is None else _text(str(episode), "episode")
        return self._scene("vpd_scene_episode", _path(dataset), name, start)

    def read(self, path: PathLike) -> "Scene":
        """Reads a rollout or particle file that was made with this model's weights."""
        return self._scene("vpd_scene_read", _path(path))


class _Shown:
    """Base of arrays that share a scene's memory. It keeps the scene alive, and lets the scene know which arrays still exist."""

    __slots__ = ("scene", "__array_interface__", "__weakref__")

    def __init__(self, scene: "Scene", pointer: int, shape: tuple, dtype) -> None:
        self.scene = scene
        self.__array_interface__ = {"data": (pointer, True), "shape": shape, "typestr": np.dtype(dtype).str, "version": 3}


class Scene(_Handle):
    """The particles of one recording at its present frame (step 0) and at every predicted step.

    Made by `Model.encode`, `Model.episode` and `Model.read`; it may outlive its model. Negative steps count from the end: -1 is
    the last. Arrays are copies; `copy=False` gives read-only arrays that share the scene's memory, and while one of them
    exists the scene cannot be changed (BufferError)."""

    def __init__(self, pointer: int) -> None:
        super().__init__(pointer, c.free_scene)
        self._shown: "weakref.WeakSet[_Shown]" = weakref.WeakSet()
        self._lock = threading.RLock()

    def _words(self) -> str:
        return f" of {self.particles} particles, {self.steps} steps"

    def _facts(self) -> c.SceneFacts:
        facts = c.SceneFacts()
        c.call("vpd_scene_get_facts", self._pointer, ctypes.byref(facts))
        return facts

    @property
    def particles(self) -> int:
        """N, the same at every step."""
        return self._facts().particles

    @property
    def steps(self) -> int:
        """Number of predicted steps."""
        return self._facts().steps

    @property
    def time_step(self) -> float:
        """Seconds per step."""
        return self._facts().time_step

    @property
    def cameras(self) -> int:
        """The recording's cameras, for `camera`."""
        return self._facts().cameras

    @property
    def name(self) -> str:
        return self._facts().name.decode(errors="replace")

    @property
    def label_names(self) -> list[str]:
        """Names of the labels; empty if there are none."""
        return self._facts().label_names.decode(errors="replace").splitlines()

    @property
    def background(self) -> np.ndarray:
        """(3) f32: rgb in [0, 1] of rays that hit no particle."""
        return np.array(self._facts().background, np.float32)

    # ---- arrays

    def _index(self, step: int) -> int:
        steps, step = self.steps, _whole(step, "step")
        index = step + steps + 1 if step < 0 else step
        if not 0 <= index <= steps:
            raise c.InputError(f"step {step}: expected a step of the scene, 0 to {steps}")
        return index

    def _get(self, field: str, width: Optional[int], dtype, step: int, copy: bool) -> Optional[np.ndarray]:
        with self._lock:
            arrays = c.ParticleArrays()
            c.call("vpd_scene_get_particles", self._pointer, self._index(step), ctypes.byref(arrays))
            pointer = getattr(arrays, field)
            if not pointer:
                return None
            columns = {None: (), 0: (arrays.features,)}.get(width, (width,))
            shown = _Shown(self, pointer, (arrays.count,) + columns, dtype)
            if copy:
                return np.array(shown)
            self._shown.add(shown)
            return np.asarray(shown)

    def positions(self, step: int = -1, *, copy: bool = True) -> np.ndarray:
        """(N, 3) f32 metres, world."""
        return self._get("positions", 3, np.float32, step, copy)

    def features(self, step: int = -1, *, copy: bool = True) -> Optional[np.ndarray]:
        """(N, D) f32."""
        return self._get("feature", 0, np.float32, step, copy)

    def colours(self, *, copy: bool = True) -> Optional[np.ndarray]:
        """(N, 3) u8: colours of the particles' pixels. This and the following are None if unknown."""
        return self._get("colour", 3, np.uint8, 0, copy)

    def labels(self, *, copy: bool = True) -> Optional[np.ndarray]:
        """(N) u16: 0 = background, k+1 = object k."""
        return self._get("labels", None, np.uint16, 0, copy)

    def moving(self, *, copy: bool = True) -> Optional[np.ndarray]:
        """(N) bool: whether the particle moved before the present frame."""
        return self._get("moving", None, np.bool_, 0, copy)

    def radii(self, *, copy: bool = True) -> Optional[np.ndarray]:
        """(N) f32 metres: support radii; 0: a hidden point, which is not drawn."""
        return self._get("radius", None, np.float32, 0, copy)

    def bodies(self, *, copy: bool = True) -> Optional[np.ndarray]:
        """(N) i32: number of the particle's rigid body, -1: it stands still."""
        return self._get("body", None, np.int32, 0, copy)

    def time(self, step: int = -1) -> float:
        """Seconds."""
        arrays = c.ParticleArrays()
        c.call("vpd_scene_get_particles", self._pointer, self._index(step), ctypes.byref(arrays))
        return arrays.time

    # ---- changes

    def _check_shown(self) -> None:
        if len(self._shown):
            raise BufferError(f"{len(self._shown)} arrays share this scene's memory; copy or delete them before changing the scene")

    def _change(self, function: str, *arguments, call=c.call) -> None:
        with self._lock:
            self._check_shown()
            call(function, self._pointer, *arguments)

    def close(self) -> None:
        """Frees it now; later use is an error."""
        with self._lock:
            self._check_shown()
            super().close()

    def step(self, count: int = 1) -> "Scene":
        """Predicts `count` more steps; returns itself. After Ctrl-C the scene keeps the steps that were finished."""
        count = _whole(count, "step")
        if count < 0:
            raise c.InputError(f"step: expected 0 or more, found {count}")
        self._change("vpd_scene_step", count, call=call_long)
        return self

    def rewind(self, step: int) -> "Scene":
        """Removes the steps after `step`; returns itself."""
        self._change("vpd_scene_rewind", self._index(step))
        return self

    def set_positions(self, positions: np.ndarray, step: int = -1) -> "Scene":
        """Sets the positions of the particles at a step: (N, 3) metres. The next step reads the last two steps, so
        changing the positions of the step before the last changes the velocity. Returns itself."""
        positions = _array(positions, np.float32, (None, 3), "positions")
        self._change("vpd_scene_set_positions", self._index(step), positions.ctypes.data, len(positions))
        return self

    def edit(self, *edits: Edit, step: int = -1, folder: PathLike = ".") -> EditReport:
        """Applies edits (docs/editing.md) to the state at `step`, which becomes step 0; later steps are removed.

        Each is a text as after `vpd edit --do`, or the same as a dict; a whole list (version, edits) may be given as one text:

            scene.edit("remove: {label: object 0}")
            scene.edit({"cluster": {}}, {"throw": {"label": "cluster 1", "velocity": [0, 0, 2]}})

        Relative paths in edits are relative to `folder`. An unknown label, an empty selection or a wrong edit is an InputError,
        and the scene is unchanged."""
        report = c.EditReport()
        self._change("vpd_scene_edit", self._index(step), _edits(edits), _path(folder), ctypes.byref(report),
                     call=call_long)
        return _edit_report(report)

    def append(self, other: "Scene", by: Sequence[float] = (0, 0, 0), *, label: Optional[str] = None, step: int = -1,
               other_step: int = -1) -> EditReport:
        """Adds the particles of another scene's state, moved by `by` metres, to those at `step`, which becomes step 0.

        Both must be made with the same weights. Labels keep their names and get new numbers; `label` gives all new particles one label."""
        place = (ctypes.c_double * 3)(*_array(by, np.float64, (3,), "by"))
        name = None if label is None else _text(label, "label")
        report = c.EditReport()
        first, second = sorted((self, other), key=id) # one order for all threads, against deadlocks
        with first._lock, second._lock:
            self._change("vpd_scene_append", self._index(step), other._pointer, other._index(other_step), place, name,
                         ctypes.byref(report))
        return _edit_report(report)

    def set_labels(self, labels: np.ndarray, names: Optional[Sequence[str]] = None) -> "Scene":
        """Sets the particles' labels: (N) whole numbers, 0 = background. names: of label 0, 1, ..; None keeps the names. Steps
        are kept. `edit("cluster: {}")` makes labels from connected parts. Returns itself."""
        array = np.asarray(labels)
        if array.dtype.kind not in "uib":
            raise c.InputError(f"labels: expected whole numbers, found {array.dtype}")
        if array.size and not 0 <= array.min() <= array.max() < 65536:
            raise c.InputError(f"labels: expected 0 to 65535, found {array.min()} to {array.max()}")
        array = _array(array.astype(np.uint16, copy=False), np.uint16, (None,), "labels")
        text = None
        if names is not None:
            if isinstance(names, str) or any("\n" in name or not name for name in names):
                raise c.InputError(f"names: expected a list with one line of text for each label, found {names!r}")
            text = _text("".join(f"{name}\n" for name in names), "names")
        self._change("vpd_scene_set_labels", array.ctypes.data, len(array), text)
        return self

    def copy(self) -> "Scene":
        """A copy of the scene."""
        with self._lock:
            out = ctypes.c_void_p()
            c.call("vpd_scene_copy", self._pointer, ctypes.byref(out))
        return Scene(out.value)

    __copy__ = copy

    def __deepcopy__(self, _) -> "Scene":
        return self.copy()

    def save(self, path: PathLike) -> None:
        """Writes a rollout file for `vpd render`, `vpd rollout` and `Model.read`."""
        with self._lock:
            c.call("vpd_scene_write", self._pointer, _path(path))

    def export(self, path: PathLike, format: Optional[str] = None) -> None:
        """Writes all steps for other programs, as `vpd export` does.

        format: "npz", "gltf", "usda", or "ply" for a folder with a file for each step (None: by the path's suffix)."""
        with self._lock:
            c.call("vpd_scene_export", self._pointer, _export_format(path, format), _path(path))

    # ---- pictures

    def camera(self, index: int, step: int = -1) -> View:
        """A camera of the recording."""
        view = c.CView()
        c.call("vpd_scene_camera", self._pointer, self._index(step), _whole(index, "camera"), ctypes.byref(view))
        return View(np.array(view.intrinsics).reshape(3, 3), np.array(view.world_from_camera).reshape(4, 4), view.H, view.W)

    def render(self, view: View, step: int = -1, *, parts: Sequence[str] = ("rgb", "depth"),
               out: Optional[Picture] = None) -> Picture:
        """Draws a step from any camera. parts: any of "rgb", "depth", "colour", "opacity". out: arrays to draw into."""
        kinds = {"rgb": (np.uint8, (3,)), "depth": (np.float32, ()), "colour": (np.float32, (3,)), "opacity": (np.float32, ())}
        unknown = set(parts) - set(kinds)
        if unknown:
            raise c.InputError(f"render: unknown part {sorted(unknown)[0]!r}; expected any of {', '.join(kinds)}")
        native = view._c()
        arrays = {}
        for part, (dtype, tail) in kinds.items():
            shape = (view.height, view.width) + tail
            given = getattr(out, part) if out is not None else None
            if given is not None:
                arrays[part] = _target(given, dtype, shape, part)
            elif out is None and part in parts and view.height > 0 and view.width > 0:
                arrays[part] = np.empty(shape, dtype)
        picture = c.CPicture(**{part: array.ctypes.data for part, array in arrays.items()})
        with self._lock:
            call_long("vpd_scene_render", self._pointer, self._index(step), ctypes.byref(native), ctypes.byref(picture))
        return Picture(**{part: arrays.get(part) for part in kinds})
