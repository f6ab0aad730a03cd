#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole training steps of vpd and of PyTorch, alternating: the same recording, views, image size, N, M, rays and rollout.

    benchmarks/compare.py [--vpd build/release/vpd] [--python PYTHON] [--presets tiny,small,paper]
                          [--rivals eager,compile,autocast,strongest] [--rounds 3] [--steps 5] [--data FOLDER] [--keep MIB]
                          [--precision f32,bf16x3] [--device cuda] [--json FILE]

Each round runs one process of each kind, one after the other. The output has medians over the rounds of the median step, wall and
processor time over threads (which other work on the same cores disturbs less), and the largest resident set (on a GPU: of its memory); then
ratios. Captured graphs (the rival `strongest`, and ours with bf16-graph) have no parts. FOLDER (default: data) holds mujoco_blocks_64.h5
and mujoco_blocks_128.h5; data/SOURCE.md says how to make them. A step of vpd does more: it unprojects the pixels again, clips
gradients and averages weights.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys

PARTS = ("encoder", "dynamics", "renderer")
SIZES = {"tiny": 64, "small": 64, "paper": 128}


def command_line():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vpd", default="build/release/vpd")
    parser.add_argument("--python", default=sys.executable, help="a Python with torch, numpy, scipy and h5py")
    parser.add_argument("--presets", default="tiny,small,paper")
    parser.add_argument("--rivals", default="eager,compile")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", default="data", metavar="FOLDER")
    parser.add_argument("--precision", default="f32", help="model.precision of vpd: one or several; bf16-graph: with train.cuda_graph")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:NUMBER, for both")
    parser.add_argument("--json", default=None, metavar="FILE", help="also write the medians to this file")
    parser.add_argument("--keep", default=None, help="train.keep_mib of vpd")
    return parser.parse_args()


def run(command):
    environment = dict(os.environ, OMP_WAIT_POLICY="passive")
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def on_gpu(args):
    return args.device.startswith("cuda")


def run_vpd(args, preset, precision):
    command = [args.vpd, "bench", "step", "--preset", preset, "--graph", "hierarchical", "--repeat", str(args.steps),
               "--threads", str(args.threads), "--data", f"{args.data}/mujoco_blocks_{SIZES[preset]}.h5", "--device", args.device,
               "--json"]
    command += ["--precision", precision.removesuffix("-graph")]
    command += ["--cuda-graph"] if precision.endswith("-graph") else []
    command += ["--keep", args.keep] if args.keep else []
    lines = [json.loads(line) for line in run(command).splitlines()]
    step = next(line for line in lines if line["bench"] in ("step", "whole step"))
    resident = None if on_gpu(args) else step.get("peak_resident_bytes")
    memory = resident or sum(step["memory"].values())
    whole = {"wall": step["step_ms"] / 1e3, "cpu": step["step_cpu_ms"] / 1e3, "memory": memory / 2**20, "over_floor": step["over_floor"]}
    if step["bench"] == "whole step":
        return whole
    return whole | {part: (a + b) / 1e3 for part, a, b in zip(PARTS, step["forward_ms"], step["backward_ms"])}


def run_torch(args, preset, rival):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch", "bench.py")
    command = [args.python, script, preset, "--threads", str(args.threads), "--steps", str(args.steps), "--data", args.data,
               "--device", args.device.split(":")[0]]
    command += {"eager": [], "compile": ["--compile"], "autocast": ["--autocast"], "strongest": ["--strongest"]}[rival]
    text = run(command)

    def number(name):
        return float(re.search(rf"^  {name} +([\d.]+)", text, re.M).group(1))
    whole = {"wall": number("step"), "cpu": number("step cpu"), "memory": number("peak memory" if on_gpu(args) else "peak resident"), "over_floor": None}
    if rival == "strongest":
        return whole | {"as_it_is": number("as it is"), "compiled": number("compiled")}
    return whole | {part: number(f"{part} forward") + number(f"{part} backward") for part in PARTS}


def main():
    args = command_line()
    ours = args.precision.split(",")
    kinds, rows = ours + args.rivals.split(","), []
    for preset in args.presets.split(","):
        runs = {kind: [] for kind in kinds}
        for _ in range(args.rounds):
            for kind in kinds:
                runs[kind].append(run_vpd(args, preset, kind) if kind in ours else run_torch(args, preset, kind))
        middle = {kind: {key: statistics.median(r[key] for r in runs[kind]) for key, value in runs[kind][0].items() if value is not None}
                  for kind in kinds}
        rows += [{"preset": preset, "graph": "hierarchical", "kind": kind, "ours": kind in ours, "least": min(r["wall"] for r in runs[kind]),
                  **middle[kind]} for kind in kinds]
        print(f"\n{preset}, hierarchical: {args.rounds} alternating rounds of {args.steps} steps, {args.threads} threads")
        print(f"{'':10s} {'step s':>8s} {'least':>8s} {'cpu s':>8s} {'encoder':>8s} {'dynamics':>8s} {'renderer':>8s} {'MiB':>8s}"
              f" {'x step':>7s} {'x cpu':>7s} {'x MiB':>7s}")
        for kind in kinds:
            m = middle[kind]
            parts = " ".join(f"{m[part]:8.3f}" if part in m else f"{'-':>8s}" for part in PARTS)
            print(f"{kind:10s} {m['wall']:8.3f} {min(r['wall'] for r in runs[kind]):8.3f} {m['cpu']:8.3f} {parts} {m['memory']:8.0f}"
                  f" {m['wall'] / middle[ours[0]]['wall']:7.2f} {m['cpu'] / middle[ours[0]]['cpu']:7.2f} {m['memory'] / middle[ours[0]]['memory']:7.2f}",
                  flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"format": "vpd-compare", "version": 1, "device": args.device, "rows": rows}, file)
            file.write("\n")


if __name__ == "__main__":
    main()
