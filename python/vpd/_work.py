# SPDX-License-Identifier: Apache-2.0
"""Import, check, train, evaluate, export."""
from __future__ import annotations

import ctypes
import json
import os
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from vpd import _library as c
from vpd._call import call_report, call_train
from vpd._scene import Model, PathLike, _array, _export_format, _path, _text, _whole, _yaml


def _optional(path: Optional[PathLike]) -> Optional[bytes]:
    return None if path is None else _path(path)


def _words(text: Optional[str], name: str) -> Optional[bytes]:
    return None if text is None else _text(text, name)


def _texts(texts: Sequence[bytes]):
    return (ctypes.c_char_p * max(len(texts), 1))(*texts)


def _numbers(values: Optional[Sequence[int]], name: str):
    """A C array of whole numbers, and its length."""
    try:
        numbers = [] if values is None else [_whole(value, name) for value in values]
    except TypeError:
        raise c.InputError(f"{name}: expected whole numbers, found {values!r}") from None
    return (ctypes.c_int * max(len(numbers), 1))(*numbers), len(numbers)


def _pairs(options: Mapping[str, Any], prefix: str = "") -> list[bytes]:
    """{"train": {"steps": 9}, "gnn.M": 64} as "train.steps=9", "gnn.M=64"."""
    out = []
    for key, value in options.items():
        if isinstance(value, Mapping):
            out += _pairs(value, f"{prefix}{key}.")
        else:
            if isinstance(value, (np.ndarray, np.generic)):
                value = value.tolist()
            if isinstance(value, tuple):
                value = list(value)
            text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else json.dumps(value)
            out.append(_text(f"{prefix}{key}={text}", f"{prefix}{key}"))
    return out


def train(config: Optional[PathLike] = None, options: Optional[Mapping[str, Any]] = None, *, data: Optional[PathLike] = None,
          out: Optional[PathLike] = None, resume: bool = False, dry_run: bool = False, device: str = "auto", threads: int = 0,
          callback: Optional[Callable[[dict], Any]] = None) -> dict:
    """Trains a model as `vpd train` does; returns a summary: "step", "loss", "best_score", "weights", "stopped", ..

    config: YAML file, as `vpd init` writes it (None: default options).
    options: override the file's options, nested or with dots: {"train": {"steps": 2000}, "model.preset": "small"}; docs/training.md.
    data: the data set ("data.path").  out: the folder of the run ("train.out").
    resume: continue from the folder's latest checkpoint.
    dry_run: run a few steps to measure "tape_mib" and "seconds_per_step", without writing anything.
    device, threads: as for `Model`.
    callback: called with each line of metrics.jsonl as a dict ("kind": "train" or "eval", "step", "loss", ..). When it returns
        a true value, the run saves a checkpoint and ends, with "stopped": True.

    Ctrl-C saves a checkpoint of the last whole step and raises KeyboardInterrupt; resume=True continues from it."""
    pairs = _pairs(options or {})
    native = c.TrainOptions(config=_optional(config), set=_texts(pairs), set_count=len(pairs), data=_optional(data),
                            out=_optional(out), resume=bool(resume), dry_run=bool(dry_run), device=_text(device, "device"),
                            threads=_whole(threads, "threads"))
    return call_train(native, callback)


def evaluate(model: Union[Model, PathLike], data: PathLike, *, split: Optional[str] = None,
             episodes: Sequence[Union[str, int]] = (), starts: Optional[Sequence[int]] = None, steps: Optional[int] = None,
             input_views: Optional[Sequence[int]] = None, seen: bool = False, motion: bool = False,
             driven: Optional[Sequence[int]] = None, analytic: Union[bool, Mapping[str, Any]] = False,
             pictures: Optional[PathLike] = None) -> dict:
    """Compares a model's predictions with a data set; returns the report of `vpd eval --json` (docs/evaluation.md).

    "pictures" has PSNR (dB), SSIM and depth error (metres) for each step and view, "motion" the error of positions (metres).

    model: a Model, a checkpoint, or the folder of a run.  data: a data set.
    split: "train", "val", "test", or a list such as "val,test" (the default).  episodes: names or numbers, instead of split.
    starts: present frames (default: the earliest, and one halfway).
    steps: number of predicted steps (default: 12, or as many as all episodes allow); 0: only reconstruct the present frame.
    input_views: the model's input views (default: all that are not held out).
    seen: measure only pixels whose point an input view saw at step 0.  motion: measure only motion: fast, since nothing is drawn.
    driven: objects that move as the recording says, such as a gripper: their numbers, -1 being the last object. They are not measured.
    analytic: simulate all bodies as rigid solids, in place of the model's dynamics; a dict has keys of the edit `simulate`.
    pictures: folder for the drawn pictures, beside the true ones."""
    if not isinstance(model, Model):
        with Model(model) as opened:
            return evaluate(opened, data, split=split, episodes=episodes, starts=starts, steps=steps, input_views=input_views,
                            seen=seen, motion=motion, driven=driven, analytic=analytic, pictures=pictures)
    if steps is not None and _whole(steps, "steps") < 0:
        raise c.InputError(f"steps: expected 0 or more, found {steps}")
    names = [_text(str(episode), "episodes") for episode in episodes]
    (start_list, start_count), (view_list, view_count) = _numbers(starts, "starts"), _numbers(input_views, "input_views")
    driven_list, driven_count = _numbers(driven, "driven")
    options = c.EvaluateOptions(split=_words(split, "split"), episodes=_texts(names), episode_count=len(names), starts=start_list,
                                start_count=start_count, input_views=view_list, input_view_count=view_count,
                                steps=0 if steps is None else steps or -1, seen=bool(seen), motion=bool(motion),
                                pictures=_optional(pictures), driven=driven_list, driven_count=driven_count,
                                analytic=None if analytic is False else _yaml({} if analytic is True else analytic, "analytic"))
    return call_report("vpd_model_evaluate", model._pointer, _path(data), ctypes.byref(options))


def check_data(data: PathLike) -> dict:
    """Looks for wrong cameras, depth and values in a data set, as `vpd data check` does.

    Returns "verdict" ("pass", "FAIL" or "not checked": nothing could be compared), "pass" (the same as True, False or None), "findings" (a list of {"wrong": bool, "text": str}), and the errors between views in millimetres."""
    return call_report("vpd_data_check", _path(data))


def import_data(path: PathLike, out: PathLike, *, format: Optional[str] = None, height: int = 0, width: int = 0, every: int = 0,
                holdout: int = 0, holdout_first: int = 0, window: int = 0, near: float = 0, far: float = 0,
                bounds: Optional[np.ndarray] = None, split: str = "train", name: Optional[str] = None, kind: Optional[str] = None,
                fps: float = 0, gap: float = 0, intrinsics: Optional[Sequence[float]] = None, cameras: Optional[PathLike] = None,
                depth: Optional[PathLike] = None, depth_unit: float = 0, level: int = 0,
                time_unit: float = 0, skip_bad: bool = False) -> dict:
    """Turns a recording in another layout into the data set `out`, as `vpd data import` does.

    Returns "episodes", "frames", "images", "splits", "warnings", and what was left out: "moments_left_out", "pictures_left_out". Arguments that are 0 or None take the defaults.

    format: "tum", "colmap", "nerfstudio", .. (None: detected); docs/data.md lists all.
    height, width: pixels to resample to, with the intrinsics.  every: take every Nth picture.
    holdout, holdout_first: hold out every Nth view, from this one on.  window: for static scenes, an episode of each N pictures.
    near, far: metres; depth outside is dropped.  bounds: (2, 3) metres, lower and upper corner of the workspace.
    split: "train", "val" or "test".  name: of the data set.  kind: whether one moving camera recorded a "still" scene or a "video" (`--as`).
    fps: frames a second, gap: seconds between pictures of one moment, of recordings without times.
    intrinsics: fx, fy, cx, cy[, k1, k2, p1, p2[, k3]] in pixels, cameras: JSON file, depth: folder; for layouts without them.
    depth_unit: metres for each unit of the depth pictures.  level: of compression, 1 to 9.
    time_unit: seconds per unit of time stamps (0: guessed from their spacing).
    skip_bad: skip pictures that cannot be read, and list them under "skipped"."""
    box = None if bounds is None else _array(bounds, np.float64, (2, 3), "bounds")
    lens = None if intrinsics is None else _array(intrinsics, np.float64, (None,), "intrinsics")
    whole = {"height": height, "width": width, "every": every, "holdout": holdout, "holdout_first": holdout_first,
             "window": window, "level": level}
    options = c.ImportOptions(format=_words(format, "format"), **{key: _whole(value, key) for key, value in whole.items()},
                              near=near, far=far,
                              bounds=None if box is None else box.ctypes.data, split=_text(split, "split"),
                              name=_words(name, "name"), **{"as": _words(kind, "kind")}, fps=fps, gap=gap,
                              intrinsics=None if lens is None else lens.ctypes.data,
                              intrinsics_count=0 if lens is None else len(lens), cameras=_optional(cameras),
                              depth=_optional(depth), depth_unit=depth_unit, time_unit=time_unit, skip_bad=bool(skip_bad))
    return call_report("vpd_data_import", _path(path), _path(out), ctypes.byref(options))


def export_rollout(rollout: PathLike, path: PathLike, format: Optional[str] = None) -> None:
    """Writes a rollout file for other programs, as `vpd export` does; `Scene.export` writes a scene.

    format: "npz", "gltf", "usda", or "ply" for a folder with a file for each step (None: by the path's suffix)."""
    c.call("vpd_rollout_export", _path(rollout), _export_format(path, format), _path(path))
