#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares measured figures on a GPU with their targets, from the result.json of a bundle (scripts/bundle).

    benchmarks/figures.py build/bundle/result.json

Parts that were not run are left out. The table is also written to the file, as "figures". Exit status 1: a target is missed.
"""
import json
import sys


def rows(result, part, **wanted):
    """Rows with these values, of the parts whose name begins with `part`."""
    return [row for p in result["parts"] if p["part"].startswith(part) for row in p["rows"]
            if all(row.get(key) == value for key, value in wanted.items())]


def step_figures(result):
    asked = {"f32": 45, "tf32": 16, "bf16": 12} # milliseconds of an H100
    for precision, most in asked.items():
        for row in rows(result, f"step-paper-{precision}", bench="step", episodes=1):
            yield f"step of paper, {precision}: {row['step_ms']:.1f} ms, times the floor", row["over_floor"], 3, "most"
            if row["commands"]:
                yield f"step of paper, {precision}: commands to the GPU", sum(row["commands"]), 600, "most"
        for row in rows(result, f"step-paper-{precision}", bench="whole step"):
            graphs = ", captured graphs" if row["cuda_graph"] else ""
            name = f"step of paper, {precision}, episodes {row['episodes']}{graphs}: ms an episode"
            yield name, row["step_ms"] / row["episodes"], most if row["episodes"] == 1 else most / 2, "most"
    for row in rows(result, "step-large", bench="step"):
        yield "step of large, bf16, ms", row["step_ms"], 150, "most"
        yield "memory of large, GB", sum(row["memory"].values()) / 1e9, 80, "most"


def rival_figures(result):
    asked = {"eager": (50, 0.5), "compile": (50, 0.5), "strongest": (8, 1)}  # times faster, share of the memory
    for part in result["parts"]:
        kinds = [row for table in part["rows"] for row in table.get("rows", []) if part["part"].startswith("rivals-")]
        for rival in (k for k in kinds if not k["ours"]):
            for own in (k for k in kinds if k["ours"]):
                name = f"{rival['preset']}, {rival['kind']} against {own['kind']}"
                if rival["kind"] in asked:
                    yield f"{name}: times faster", rival["wall"] / own["wall"], asked[rival["kind"]][0], "least"
                    yield f"{name}: share of the memory", own["memory"] / rival["memory"], asked[rival["kind"]][1], "most"


def scale_figures(result):
    for row in rows(result, "neighbours", bench="neighbours", points=131072):
        yield "131,072 points, 16 nearest, ms", row["ms"], 0.7, "most"
    for what in ("training", "inference"):
        table = [r for r in rows(result, "doubling", bench="doubling", what=what) if r["N"] <= 1 << 17]
        for key, name in (("step_ms", "time"), ("bytes", "memory")):
            ratios = [b[key] / a[key] for a, b in zip(table, table[1:])]
            if ratios:
                yield f"{what}, {name} of a doubling, at most", max(ratios), 2.2, "most"
    for precision in ("f32", "tf32", "bf16"):
        for row in rows(result, f"frames-{precision}", bench="frames"):
            name = f"rollout and picture {row['width']}x{row['height']}, {row['N']} particles, {precision}, frames/s"
            yield name, row["frames_per_second"], 600 if row["width"] <= 128 else 200, "least"
        for row in rows(result, f"bench-bodies-{precision}", bench="bodies"):
            ms = sum(row[key] for key in ("inputs_ms", "forward_ms", "backward_ms", "motions_ms"))
            yield f"motion of bodies, {precision}, windows/s", 1e3 * row["windows"] / ms, 10000, "least"


def agreement_figures(result):
    for test in (row for row in rows(result, "selftest") if row.get("format") == "vpd-selftest"):
        for name in dict.fromkeys(r["part"] for r in test["results"]):
            found = [r for r in test["results"] if r["part"] == name]
            worst = [r["worst"] if r["worst"] is not None else float("inf") for r in found]
            yield f"self-test, {name}: largest error", max(worst), max(r["allowed"] for r in found), "most"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1]) as file:
        result = json.load(file)
    figures = []
    for make in (step_figures, rival_figures, scale_figures, agreement_figures):
        for name, found, asked, kind in make(result):
            figures.append({"figure": name, "found": found, "asked": asked, "at": kind,
                            "reached": found <= asked if kind == "most" else found >= asked})
    for f in figures:
        print(f"{f['figure']:78s} {f['found']:10.4g}  at {f['at']:5s} {f['asked']:8.4g}  {'' if f['reached'] else 'NOT REACHED'}")
    head = {key: value for key, value in result.items() if key != "parts"} | {"figures": figures}
    with open(sys.argv[1], "w") as file: # one line per part, as `run merge` expects
        file.write(json.dumps(head, separators=(",", ":"))[:-1] + ',"parts":[\n')
        file.write(",\n".join(json.dumps(part, separators=(",", ":"), allow_nan=False) for part in result["parts"]) + "\n]}\n")
    return 0 if all(f["reached"] for f in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
