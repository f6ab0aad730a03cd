#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint whose dynamics of bodies are a mean of those of several checkpoints.

    pip install h5py numpy xxhash
    python benchmarks/mean_of_weights.py OUT.h5 BASE.h5 WEIGHT:CHECKPOINT.h5 ..

OUT is BASE, a file of `vpd export --checkpoint`, with other values of bodies.*: the weighted mean of the averaged weights
(/ema) of the checkpoints, their model.C and data.slowest. They should come from one another by further training. Checksums are as
files/checkpoint.h says.
"""
import argparse
import re
import shutil

import h5py
import numpy as np
import xxhash

GROUPS = ("parameters", "moments/m", "moments/v", "ema")


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def digest(data, seed=0):
    return xxhash.xxh3_64_intdigest(data, seed=seed)


def checksum_of_group(group):
    total = 0
    for name in sorted(group, key=str.encode):
        values = group[name][()].astype("<f4")
        for piece in (name.encode(), np.array(values.shape, "<u8").tobytes(), values.tobytes()):
            total = digest(piece, total)
    return f"{total:016x}"


def checksum_of_file(f):
    a = f.attrs
    score = "nan" if np.isnan(a["best_score"]) else "%.17g" % a["best_score"]
    lines = ["%d.%d" % tuple(a["format_version"]), text(a["contents"]), text(a["commit"]), "%d" % a["step"], score,
             "%.17g" % a["time_step"], "%.17g" % a["seconds"]]
    lines += [text(f[group].attrs["checksum"]) if group in f else "" for group in GROUPS]
    return "%016x" % digest(f["config"][()].tobytes(), digest("".join(line + "\n" for line in lines).encode()))


def put(group, name, values):
    """Replaces a dataset by values of perhaps another shape."""
    del group[name]
    group.create_dataset(name, data=values)


def config_with(config, other):
    """The bytes of a config with the model.C of another one, and the slowest rate that it learned from."""
    config, other = config.tobytes(), other.tobytes()
    for key in (rb"(\n *C: )(\S+)", rb"(\n *slowest: )(\S+)"):
        config = re.sub(key, rb"\g<1>" + re.search(key, other)[2], config)
    return np.frombuffer(config, np.uint8)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("base")
    parser.add_argument("parts", nargs="+", metavar="WEIGHT:CHECKPOINT")
    args = parser.parse_args()
    parts = [(float(weight), h5py.File(path)) for weight, path in (part.split(":", 1) for part in args.parts)]
    if abs(sum(weight for weight, _ in parts) - 1) > 1e-6:
        parser.error("the weights do not add up to 1")
    with h5py.File(args.base) as base:
        if checksum_of_file(base) != text(base.attrs["checksum"]):
            parser.error(f"{args.base}: its checksum is wrong")
    shutil.copy(args.base, args.out)
    with h5py.File(args.out, "r+") as f:
        ema = f["ema"]
        for name in ema:
            if name.startswith("bodies."):
                mean = sum(weight * part["ema"][name][()].astype("f8") for weight, part in parts)
                put(ema, name, mean.astype(ema[name].dtype))
        put(f, "config", config_with(f["config"][()], parts[0][1]["config"][()]))
        ema.attrs.modify("checksum", np.bytes_(checksum_of_group(ema)))
        f.attrs.modify("checksum", np.bytes_(checksum_of_file(f)))


if __name__ == "__main__":
    main()
