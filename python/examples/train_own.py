#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From a recording of your own to a simulator: import, check, train, evaluate, roll out, export.

    python/examples/train_own.py RECORDING FOLDER [KEY=VALUE ..]     # layouts: docs/data.md; options: docs/training.md

Writes to FOLDER: data.h5, run/ and rollout.glb (animated points for 3D viewers). Ctrl-C saves the training, and the same command
continues it."""
import argparse
import pathlib
import sys

import vpd


def show(line):
    if line["kind"] == "train":
        print(f"step {line['step']}: loss {line['loss']:.4f}")


def setting(text):
    key, value = text.split("=", 1)
    return key, value


def arguments():
    """The command line; nothing is made of a wrong one."""
    parser = argparse.ArgumentParser(usage=argparse.SUPPRESS, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("RECORDING", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("FOLDER", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("KEY=VALUE", nargs="*", type=setting, help=argparse.SUPPRESS)
    recording, folder, settings = vars(parser.parse_args()).values()
    if not recording.exists():
        parser.error(f"{recording} does not exist")
    return recording, folder, dict(settings)


def main(recording, folder, settings):
    data, run = folder / "data.h5", folder / "run"
    folder.mkdir(parents=True, exist_ok=True)
    if not data.exists():
        told = vpd.import_data(recording, data)
        print(f"{told['episodes']} episodes, {told['frames']} frames, {told['images']} pictures")
    found = vpd.check_data(data)
    for finding in found["findings"]:
        print("wrong:" if finding["wrong"] else "note:", finding["text"])
    if found["verdict"] == "FAIL":
        sys.exit("the data are wrong; correct them first")

    options = {"model.preset": "small", **settings}
    vpd.train(options=options, data=data, out=run, callback=show, resume=(run / "checkpoints" / "latest").exists())

    model = vpd.Model(run)
    report = vpd.evaluate(model, data, split="train")
    for row in report["pictures"]:
        if row["method"] == "model" and row["view"] is None:
            print(f"{row['views']} views, step {row['step']}: PSNR {row['whole']['psnr_db']['mean']:.1f} dB")
    model.episode(data).step(6).export(folder / "rollout.glb")


if __name__ == "__main__":
    main(*arguments())
