# SPDX-License-Identifier: Apache-2.0
"""libvpd.so by ctypes: the structs and functions of vpd.h, one by one."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import pathlib
from ctypes import (POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint8, c_uint16, c_void_p)

API_VERSION = 1


class Error(Exception):
    """The library failed; the text is one sentence."""


class InputError(Error, ValueError):
    """A file, array or value is wrong."""


class Stopped(Error):
    """The call ended early, at the request of a signal or another thread."""


class CError(ctypes.Structure):
    _fields_ = [("status", c_int), ("text", c_char * 1024)]


class Sized(ctypes.Structure):
    """A struct of vpd.h that begins with its size."""

    def __init__(self, **values) -> None:
        super().__init__(ctypes.sizeof(type(self)), **values)


class OpenOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("device", c_char_p), ("threads", c_int), ("raw", c_int)]


class ModelFacts(Sized):
    _fields_ = [("struct_size", c_size_t), ("history", c_int), ("features", c_int), ("particles_max", c_int),
                ("has_dynamics", c_int), ("time_step", c_double), ("radius", c_double), ("train_step", c_int64),
                ("path", c_char_p), ("hash", c_char_p), ("device", c_char_p), ("note", c_char_p),
                ("device_why", c_char_p)]


class Frames(Sized):
    _fields_ = [("struct_size", c_size_t), ("F", c_int), ("V", c_int), ("H", c_int), ("W", c_int), ("rgb", c_void_p),
                ("depth", c_void_p), ("intrinsics", c_void_p), ("world_from_camera", c_void_p), ("time", c_void_p),
                ("mask", c_void_p), ("bounds", c_void_p), ("name", c_char_p)]


class SceneFacts(Sized):
    _fields_ = [("struct_size", c_size_t), ("particles", c_size_t), ("features", c_size_t), ("steps", c_size_t),
                ("time_step", c_double), ("cameras", c_int), ("height", c_int), ("width", c_int),
                ("background", c_float * 3), ("name", c_char_p), ("label_names", c_char_p)]


class ParticleArrays(Sized):
    _fields_ = [("struct_size", c_size_t), ("count", c_size_t), ("features", c_size_t), ("time", c_double),
                ("positions", c_void_p), ("feature", c_void_p), ("colour", c_void_p), ("labels", c_void_p),
                ("moving", c_void_p), ("radius", c_void_p), ("body", c_void_p)]


class CView(Sized):
    _fields_ = [("struct_size", c_size_t), ("H", c_int), ("W", c_int), ("intrinsics", c_double * 9),
                ("world_from_camera", c_double * 16)]


class CPicture(Sized):
    _fields_ = [("struct_size", c_size_t), ("rgb", c_void_p), ("colour", c_void_p), ("depth", c_void_p),
                ("opacity", c_void_p)]


class EditReport(Sized):
    _fields_ = [("struct_size", c_size_t), ("before", c_size_t), ("after", c_size_t), ("applied", c_size_t),
                ("skipped", c_size_t), ("warnings", c_char_p)]


class TrainOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("config", c_char_p), ("set", POINTER(c_char_p)), ("set_count", c_size_t),
                ("data", c_char_p), ("out", c_char_p), ("resume", c_int), ("dry_run", c_int), ("device", c_char_p),
                ("threads", c_int), ("line", c_void_p), ("context", c_void_p)]


class EvaluateOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("split", c_char_p), ("episodes", POINTER(c_char_p)), ("episode_count", c_size_t),
                ("starts", POINTER(c_int)), ("start_count", c_size_t), ("input_views", POINTER(c_int)),
                ("input_view_count", c_size_t), ("steps", c_int), ("seen", c_int), ("motion", c_int), ("pictures", c_char_p),
                ("driven", POINTER(c_int)), ("driven_count", c_size_t), ("analytic", c_char_p)]


class ImportOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("format", c_char_p), ("height", c_int), ("width", c_int), ("every", c_int),
                ("holdout", c_int), ("holdout_first", c_int), ("window", c_int), ("near", c_double), ("far", c_double),
                ("bounds", c_void_p), ("split", c_char_p), ("name", c_char_p), ("as", c_char_p), ("fps", c_double),
                ("gap", c_double), ("intrinsics", c_void_p), ("intrinsics_count", c_size_t), ("cameras", c_char_p),
                ("depth", c_char_p), ("depth_unit", c_double), ("level", c_int), ("time_unit", c_double), ("skip_bad", c_int)]


class SimOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("precision", c_char_p), ("scenes", c_int), ("threads", c_int),
                ("memory_mib", c_double), ("device", c_char_p)]


class SimFacts(Sized):
    _fields_ = [("struct_size", c_size_t), ("scenes", c_size_t), ("particles", c_size_t), ("springs", c_size_t),
                ("tets", c_size_t), ("hinges", c_size_t), ("materials", c_size_t), ("frames", c_size_t),
                ("substeps", c_size_t), ("time_step", c_double), ("frame_time", c_double), ("stable_step", c_double),
                ("values", c_size_t), ("precision", c_char_p), ("objects", c_char_p), ("device", c_char_p),
                ("device_why", c_char_p), ("joints", c_char_p), ("sliders", c_char_p), ("balls", c_char_p)]


class SimValueRow(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("unit", c_char_p), ("help", c_char_p),
                ("intervals", c_size_t), ("rows", c_size_t), ("axes", c_size_t), ("count", c_size_t), ("low", c_double),
                ("high", c_double), ("data", c_void_p)]


class SimArray(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("data", c_void_p), ("count", c_size_t)]


class SimFree(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("start", c_double), ("low", c_double), ("high", c_double)]


class SimFitOptions(Sized):
    _fields_ = [("struct_size", c_size_t), ("data", c_char_p), ("episode", c_char_p), ("position", c_void_p),
                ("frames", c_size_t), ("free", POINTER(SimFree)), ("free_count", c_size_t),
                ("compare", POINTER(c_char_p)), ("compare_count", c_size_t), ("method", c_char_p), ("iterations", c_int),
                ("starts", c_int), ("horizon", c_int), ("threads", c_int)]


class SimFittedFacts(Sized):
    _fields_ = [("struct_size", c_size_t), ("numbers", c_size_t), ("frames", c_size_t), ("steps", c_size_t),
                ("rms", c_double), ("first_rms", c_double), ("converged", c_int), ("has_errors", c_int),
                ("scene", c_char_p), ("warnings", c_char_p)]


class SimNumberRow(Sized):
    _fields_ = [("struct_size", c_size_t), ("name", c_char_p), ("start", c_double), ("value", c_double),
                ("error", c_double), ("verdict", c_char_p), ("with_", c_char_p)]


# Arguments of each function that returns a status, without the final error.
FUNCTIONS = {
    "vpd_model_open": [c_char_p, POINTER(OpenOptions), POINTER(c_void_p)],
    "vpd_model_get_facts": [c_void_p, POINTER(ModelFacts)],
    "vpd_scene_encode": [c_void_p, POINTER(Frames), POINTER(c_void_p)],
    "vpd_scene_episode": [c_void_p, c_char_p, c_char_p, c_int, POINTER(c_void_p)],
    "vpd_scene_read": [c_void_p, c_char_p, POINTER(c_void_p)],
    "vpd_scene_write": [c_void_p, c_char_p],
    "vpd_scene_copy": [c_void_p, POINTER(c_void_p)],
    "vpd_scene_get_facts": [c_void_p, POINTER(SceneFacts)],
    "vpd_scene_get_particles": [c_void_p, c_size_t, POINTER(ParticleArrays)],
    "vpd_scene_step": [c_void_p, c_size_t],
    "vpd_scene_rewind": [c_void_p, c_size_t],
    "vpd_scene_set_positions": [c_void_p, c_size_t, c_void_p, c_size_t],
    "vpd_scene_edit": [c_void_p, c_size_t, c_char_p, c_char_p, POINTER(EditReport)],
    "vpd_scene_append": [c_void_p, c_size_t, c_void_p, c_size_t, POINTER(c_double), c_char_p, POINTER(EditReport)],
    "vpd_scene_set_labels": [c_void_p, c_void_p, c_size_t, c_char_p],
    "vpd_scene_camera": [c_void_p, c_size_t, c_int, POINTER(CView)],
    "vpd_scene_render": [c_void_p, c_size_t, POINTER(CView), POINTER(CPicture)],
    "vpd_scene_export": [c_void_p, c_int, c_char_p],
    "vpd_rollout_export": [c_char_p, c_int, c_char_p],
    "vpd_train": [POINTER(TrainOptions), POINTER(c_void_p)],
    "vpd_model_evaluate": [c_void_p, c_char_p, POINTER(EvaluateOptions), POINTER(c_void_p)],
    "vpd_data_check": [c_char_p, POINTER(c_void_p)],
    "vpd_data_import": [c_char_p, c_char_p, POINTER(ImportOptions), POINTER(c_void_p)],
    "vpd_sim_open": [c_char_p, POINTER(SimOptions), POINTER(c_void_p)],
    "vpd_sim_get_facts": [c_void_p, POINTER(SimFacts)],
    "vpd_sim_get_value": [c_void_p, c_size_t, POINTER(SimValueRow)],
    "vpd_sim_rollout": [c_void_p, POINTER(SimArray), c_size_t, c_int, c_void_p, c_void_p],
    "vpd_sim_fit": [c_char_p, POINTER(SimFitOptions), POINTER(c_void_p)],
    "vpd_sim_fitted_get_facts": [c_void_p, POINTER(SimFittedFacts)],
    "vpd_sim_fitted_get_number": [c_void_p, c_size_t, POINTER(SimNumberRow)],
    "vpd_sim_adjoint": [c_void_p, c_void_p, c_void_p, POINTER(SimArray), c_size_t, POINTER(c_double)],
}


def _candidates() -> list[str]:
    """Places of libvpd.so in order of search: only VPD_LIBRARY if it is set; else beside this file, then the system."""
    wanted = os.environ.get("VPD_LIBRARY")
    if wanted:
        return [wanted]
    beside = sorted(str(path) for path in pathlib.Path(__file__).parent.glob("libvpd.so*"))
    found = ctypes.util.find_library("vpd")
    return beside + [name for name in (found, "libvpd.so.0") if name]


def _load() -> tuple[ctypes.CDLL, str]:
    # OpenMP reads this when it is loaded: waiting threads sleep instead of spinning.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    reasons = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            reasons.append(f"{path}: {error}")
    raise ImportError("libvpd.so is not found; set VPD_LIBRARY to its path (" + "; ".join(reasons) + ")")


def _declare(library: ctypes.CDLL, path: str) -> None:
    try:
        library.vpd_library_api.restype = c_int
        version = library.vpd_library_api()
        for name, arguments in FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes = arguments + [POINTER(CError)]
            function.restype = c_int
    except AttributeError as error:
        raise ImportError(f"{path} is not the library of vpd: {error}") from None
    if version != API_VERSION:
        raise ImportError(f"{path}: expected version {API_VERSION} of vpd.h, found {version}; install both from one source")
    library.vpd_library_version.restype = c_char_p
    for name, arguments in {"vpd_model_close": [c_void_p], "vpd_scene_free": [c_void_p], "vpd_text_free": [c_void_p],
                            "vpd_sim_close": [c_void_p],
                            "vpd_stop": []}.items():
        getattr(library, name).argtypes = arguments
        getattr(library, name).restype = None


_lib, library_path = _load()
_declare(_lib, library_path)
library_version: str = _lib.vpd_library_version().decode()
close_model = _lib.vpd_model_close
free_scene = _lib.vpd_scene_free
close_sim = _lib.vpd_sim_close
close_fitted = _lib.vpd_sim_fitted_close
free_text = _lib.vpd_text_free
stop = _lib.vpd_stop


def call(name: str, *arguments) -> None:
    """Calls a function of FUNCTIONS; an error becomes an exception."""
    error = CError()
    status = getattr(_lib, name)(*arguments, ctypes.byref(error))
    if status:
        text = error.text.decode(errors="replace")
        raise {2: InputError, 3: Stopped}.get(status, Error)(text)
