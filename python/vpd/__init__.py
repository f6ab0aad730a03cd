# SPDX-License-Identifier: Apache-2.0
"""vpd: 3D particle simulators learned from multi-view RGB-D video.

A `Model` turns posed RGB-D frames into a `Scene` of particles, which is stepped, drawn from any camera (`View`), edited and saved.
Lengths are metres, times seconds, places world coordinates; cameras are OpenCV's (x right, y down, z forward, pixel centres at
(u + 0.5, v + 0.5), depth along z)."""
from vpd._library import Error, InputError, library_path, library_version
from vpd._scene import EditReport, Model, Picture, Scene, View

__all__ = ["EditReport", "Error", "InputError", "Model", "Picture", "Scene", "View", "library_path", "library_version"]
