# SPDX-License-Identifier: Apache-2.0
"""The simulator: scenes of springs, soft solids, rigid bodies and contact, and gradients of their rollouts."""
from __future__ import annotations

import ctypes
import math
import numbers
import os
import warnings
from dataclasses import dataclass
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from vpd import _library as c
from vpd._call import call_long
from vpd._scene import PathLike, _array, _Handle, _path, _text, _whole


@dataclass(frozen=True)
class SimValue:
    """Something that a rollout depends on and has a gradient, such as "mass" or "tet.mu"."""

    name: str
    unit: str
    help: str
    shape: tuple  #: (B, rows) or (B, rows, 3); of controls with the frames before it
    low: float  #: allowed values
    high: float
    data: Optional[np.ndarray]  #: the scene's own, a copy, read-only; None for controls that the scene has not


class SimStates(NamedTuple):
    """Result of `Sim.rollout`."""

    position: np.ndarray  # (frames+1, B, N, 3) metres
    velocity: np.ndarray  # the same, m/s


@dataclass(frozen=True)
class SimNumber:
    """A number that `Sim.fit` has found."""

    start: float
    value: float
    error: Optional[float]  #: standard error; None: there is none
    verdict: str  #: "fitted", "at its bound" or "not determined": then it is, or moves along with, its start
    with_: list  #: names of those that move along with one that is not determined


@dataclass(frozen=True)
class SimFit:
    """Result of `Sim.fit`."""

    numbers: dict  #: SimNumber by name, in the order of the file
    frames: int  #: compared, the first included
    steps: int
    rms: float  #: root of the mean square of the residuals: metres, shares of full colour
    first_rms: float  #: at the start
    converged: bool
    scene: str  #: YAML: the scene's file with the fitted numbers
    warnings: list  #: what is to be known of the result, as sentences


def _free_row(name, given) -> c.SimFree:
    """A number and what is given for it: None, its start, or {"start": .., "low": .., "high": ..}."""
    given = given if isinstance(given, Mapping) else {} if given is None else {"start": given}
    unknown = set(given) - {"start", "low", "high"}
    if unknown:
        raise c.InputError(f"free: {name}: expected start, low or high, found {sorted(unknown, key=str)[0]!r}")
    values = [given.get(key, math.nan) for key in ("start", "low", "high")]
    if not all(isinstance(value, numbers.Real) for value in values):
        raise c.InputError(f"free: {name}: expected numbers, found {given!r}")
    return c.SimFree(_text(name, "free"), *map(float, values))


def _free(free) -> tuple:
    """A C array of vpd_sim_free from names, or from {name: start or {"start": .., "low": .., "high": ..}}."""
    if free is None:
        return (c.SimFree * 1)(), 0
    if isinstance(free, (str, bytes)) or not isinstance(free, Iterable):
        raise c.InputError(f"free: expected names, or a dict of them, found {free!r}")
    rows = [_free_row(name, free[name] if isinstance(free, Mapping) else None) for name in free]
    if not rows:
        raise c.InputError('free: expected at least one name; None takes those of the section "fit"')
    return (c.SimFree * len(rows))(*rows), len(rows)


def _fitted(pointer: int) -> SimFit:
    facts, found = c.SimFittedFacts(), {}
    c.call("vpd_sim_fitted_get_facts", pointer, ctypes.byref(facts))
    for index in range(facts.numbers):
        row = c.SimNumberRow()
        c.call("vpd_sim_fitted_get_number", pointer, index, ctypes.byref(row))
        error = None if math.isnan(row.error) else row.error
        found[row.name.decode()] = SimNumber(row.start, row.value, error, row.verdict.decode(), row.with_.decode().split("\n")[:-1])
    return SimFit(found, facts.frames, facts.steps, facts.rms, facts.first_rms, bool(facts.converged), facts.scene.decode(),
                  facts.warnings.decode().split("\n")[:-1])


def _arrays(values: Mapping[str, np.ndarray]):
    """A C array of vpd_sim_array."""
    rows = [c.SimArray(name.encode(), array.ctypes.data, array.size) for name, array in values.items()]
    return (c.SimArray * max(len(rows), 1))(*rows), len(rows)


class Sim(_Handle):
    """A scene of the simulator (docs/simulator.md).

    scene: a YAML file.  scenes: B scenes of this topology that step together, each with its own values.
    precision: "f32" or "f64"; None: the scene's.  threads: 0 = as many as pay.
    memory_mib: for the states that a gradient keeps; 0: the scene's.
    device: "cpu", "cpu:ISA", "cuda", "cuda:NUMBER" or "auto".

    Arrays are float64. Those that are C-contiguous float64 already go to the library without a copy, and results are
    written where numpy holds them."""

    def __init__(self, scene: PathLike, *, scenes: int = 1, precision: Optional[str] = None, threads: int = 0,
                 memory_mib: float = 0, device: Optional[str] = None) -> None:
        out = ctypes.c_void_p()
        options = c.SimOptions(precision=None if precision is None else _text(precision, "precision"), scenes=_whole(scenes, "scenes"),
                               threads=_whole(threads, "threads"), memory_mib=memory_mib,
                               device=None if device is None else _text(device, "device"))
        c.call("vpd_sim_open", _path(scene), ctypes.byref(options), ctypes.byref(out))
        super().__init__(out.value, c.close_sim)
        self._scene = _path(scene)
        facts = c.SimFacts()
        c.call("vpd_sim_get_facts", self._pointer, ctypes.byref(facts))
        self.scenes: int = facts.scenes  #: B
        self.particles: int = facts.particles  #: N
        self.frames: int = facts.frames  #: after the first
        self.substeps: int = facts.substeps  #: steps of a frame
        self.time_step: float = facts.time_step  #: seconds
        self.frame_time: float = facts.frame_time  #: seconds
        self.stable_step: float = facts.stable_step  #: seconds: above it the scene may explode
        self.precision: str = facts.precision.decode()
        self.device: str = facts.device.decode()  #: "cpu", or the device that was opened
        self.device_why: str = facts.device_why.decode()  #: why "auto" took the CPU although there is a GPU back end
        self.objects: list = facts.objects.decode().split("\n")[:-1]
        joints = facts.joints.decode().split("\n")[:-1]
        sliders = facts.sliders.decode().split("\n")[:-1]
        self.joints: dict = {name: facts.hinges - len(joints) + i for i, name in enumerate(joints)}  #: row of each hinge in "torque", ..
        self.joints.update((name, i) for i, name in enumerate(sliders))  # and of each slider in "thrust", ..
        self.joints.update((name, i) for i, name in enumerate(facts.balls.decode().split("\n")[:-1]))  # of each ball joint in "socket.k_e", ..
        self.values: dict = {}  #: SimValue by name; those of which the scene has any
        self.growth: Optional[float] = None  #: of the last adjoint; far above 1e6, a right gradient is useless
        self._inputs: dict = {}  # of the last rollout: the adjoint reads them
        for index in range(facts.values):
            self._add_value(index)

    def _add_value(self, index: int) -> None:
        row = c.SimValueRow()
        c.call("vpd_sim_get_value", self._pointer, index, ctypes.byref(row))
        if not row.count:
            return
        shape = ((row.intervals,) if row.intervals else ()) + (self.scenes, row.rows) + ((row.axes,) if row.axes > 1 else ())
        data = None
        if row.data:
            memory = (ctypes.c_double * row.count).from_address(row.data)
            data = np.frombuffer(memory, np.float64).reshape(shape).copy()  # the library's memory goes with close()
            data.flags.writeable = False
        name = row.name.decode()
        self.values[name] = SimValue(name, row.unit.decode(), row.help.decode(), shape, row.low, row.high, data)

    def _words(self) -> str:
        return f" {', '.join(self.objects)}: {self.particles} particles, {self.frames} frames, {self.precision}"

    def __enter__(self) -> "Sim":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def _value(self, name: str) -> SimValue:
        if name not in self.values:
            raise c.InputError(f"the scene has no value {name!r}; it has {', '.join(self.values)}")
        return self.values[name]

    def rollout(self, inputs: Optional[Mapping[str, np.ndarray]] = None, *, gradient: bool = False) -> SimStates:
        """All frames, from the scene's values or from `inputs`, {"mass": array, ..}, where they name one.

        With gradient=True an `adjoint` may follow; until then, do not change the inputs."""
        taken = {name: _array(array, np.float64, self._value(name).shape, name) for name, array in (inputs or {}).items()}
        shape = (self.frames + 1, self.scenes, self.particles, 3)
        states = SimStates(np.empty(shape), np.empty(shape))
        rows, count = _arrays(taken)
        call_long("vpd_sim_rollout", self._pointer, rows, count, int(gradient), states.position.ctypes.data,
                  states.velocity.ctypes.data)
        self._inputs = taken
        return states

    def adjoint(self, position: Optional[np.ndarray] = None, velocity: Optional[np.ndarray] = None, *,
                wrt: Union[str, Sequence[str]]) -> dict:
        """dLoss/dvalue for each name of `wrt`, or for a single one, from dLoss/dposition and dLoss/dvelocity of the last
        rollout's states."""
        shape = (self.frames + 1, self.scenes, self.particles, 3)
        seeds = [None if array is None else _array(array, np.float64, shape, name)
                 for array, name in ((position, "position"), (velocity, "velocity"))]
        out = {name: np.empty(self._value(name).shape) for name in ([wrt] if isinstance(wrt, str) else wrt)}
        rows, count = _arrays(out)
        growth = ctypes.c_double()
        call_long("vpd_sim_adjoint", self._pointer, *(None if seed is None else seed.ctypes.data for seed in seeds), rows,
                  count, ctypes.byref(growth))
        self.growth = growth.value
        return out

    def fit(self, data: Union[PathLike, np.ndarray], *, free=None, episode: Optional[str] = None,
            compare: Sequence[str] = (), method: str = "auto", iterations: int = 0, starts: int = 0, horizon: int = 0,
            threads: int = 0) -> SimFit:
        """Numbers of the scene's file from a recording, with standard errors (docs/fits.md). It works in f64, and on one scene.

        data: a data set or a rollout file, or the positions (frames, N, 3) of all particles at the scene's times, in
        its axes.  free: names of numbers, ["ball.density"], or {name: start or {"start": .., "low": .., "high": ..}};
        None: those of the file's section "fit".  episode: of a data set, by name or number.
        compare: "states", "colour", "depth", "mask".  method: "auto", "lm", "lbfgs" or "adam".
        iterations (at most, for each horizon), starts, horizon, threads: 0 = the default."""
        position, path = None, None
        if isinstance(data, (str, bytes, os.PathLike)):
            path = _path(data)
        else:
            shape = (None, 1, self.particles, 3) if np.ndim(data) == 4 else (None, self.particles, 3)
            position = _array(data, np.float64, shape, "data")
        kinds = [compare] if isinstance(compare, str) else list(compare)
        words = (ctypes.c_char_p * max(len(kinds), 1))(*(_text(word, "compare") for word in kinds))
        rows, count = _free(free)
        options = c.SimFitOptions(data=path, episode=None if episode is None else _text(str(episode), "episode"),
                                  position=None if position is None else position.ctypes.data,
                                  frames=0 if position is None else len(position), free=rows, free_count=count,
                                  compare=words, compare_count=len(kinds), method=_text(method, "method"),
                                  iterations=_whole(iterations, "iterations"), starts=_whole(starts, "starts"),
                                  horizon=_whole(horizon, "horizon"), threads=_whole(threads, "threads"))
        out = ctypes.c_void_p()
        call_long("vpd_sim_fit", self._scene, ctypes.byref(options), ctypes.byref(out))
        try:
            fitted = _fitted(out)
        finally:
            c.close_fitted(out)
        for sentence in fitted.warnings:
            warnings.warn(sentence, stacklevel=2)
        return fitted
