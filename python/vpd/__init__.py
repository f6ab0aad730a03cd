# SPDX-License-Identifier: Apache-2.0
"""vpd: 3D particle simulators learned from multi-view RGB-D video.

`import_data`, `check_data`, `train` and `evaluate` do what the commands of the same names do. A `Model` turns posed RGB-D frames
into a `Scene` of particles, which can be stepped, drawn from any camera (`View`), edited, saved and exported. A `Sim` is a
scene of the differentiable simulator.
Lengths are in metres, times in seconds, positions in world coordinates; cameras are OpenCV's (x right, y down, z forward, pixel centres at
(u + 0.5, v + 0.5), depth along z)."""
from vpd._library import Error, InputError, Stopped, library_path, library_version
from vpd._scene import EditReport, Model, Picture, Scene, View
from vpd._sim import Sim, SimFit, SimNumber, SimStates, SimValue
from vpd._work import check_data, evaluate, export_rollout, import_data, train

__all__ = ["EditReport", "Error", "InputError", "Model", "Picture", "Scene", "Sim", "SimFit", "SimNumber", "SimStates", "SimValue", "Stopped", "View", "check_data", "evaluate",
           "export_rollout", "import_data", "library_path", "library_version", "train"]
