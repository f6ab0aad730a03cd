#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far f32 is from f64, and f64 from itself with a start that is moved a little: paths, and gradients of a loss with
random weights on all positions and velocities.

    PYTHONPATH=python VPD_LIBRARY=build/release/libvpd.so.0 benchmarks/sim_f32.py scenes/throw.yaml
"""
import argparse

import numpy as np
import vpd


def gradients(scene, precision, inputs, weights):
    """Positions, and the gradient of each value that is no control."""
    sim = vpd.Sim(scene, precision=precision, threads=1)
    states = sim.rollout(inputs, gradient=True)
    wrt = [name for name, value in sim.values.items() if value.data is not None]
    return np.array(states.position), sim.adjoint(*weights(states.position.shape), wrt=wrt)


def random_weights(shape):
    random = np.random.default_rng(1)
    return [random.uniform(-1, 1, shape) / np.sqrt(np.prod(shape)) for _ in range(2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene")
    scene = parser.parse_args().scene
    start = np.array(vpd.Sim(scene, precision="f64").values["position"].data)
    path, exact = gradients(scene, "f64", {}, random_weights)
    tried = {"f32": ("f32", {}), "f64, start rounded to f32": ("f64", {"position": start.astype("f4").astype("f8")})}
    for size in (1e-8, 1e-7, 1e-6):
        moved = start + size * np.random.default_rng(3).uniform(-1, 1, start.shape)
        tried[f"f64, start moved by {size:g} m"] = ("f64", {"position": moved})
    for name, (precision, inputs) in tried.items():
        other, found = gradients(scene, precision, inputs, random_weights)
        errors = {key: np.abs(found[key] - exact[key]).max() / np.abs(exact[key]).max()
                  for key in exact if np.abs(exact[key]).max() > 0}
        print(f"{name:28} path {np.abs(other - path).max():.1e} m, gradients",
              " ".join(f"{key} {error:.0e}" for key, error in errors.items()))


if __name__ == "__main__":
    main()
