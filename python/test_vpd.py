# SPDX-License-Identifier: Apache-2.0
"""python/test_vpd.py CHECKPOINT DATA ROLLOUT EDITED: a tiny model, its data, what `vpd rollout` made of both, and what `vpd edit`
made of that (tests/cli/python.sh)."""
import copy
import functools
import gc
import json
import os
import pathlib
import pickle
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

import numpy as np
import vpd

CHECKPOINT, DATA, ROLLOUT, EDITED = sys.argv[1:5]


class Library(unittest.TestCase):
    def setUp(self):
        self.model = vpd.Model(CHECKPOINT, device="cpu", threads=1)

    def frames(self):
        """Frames in memory as the data set has them: the arguments of Model.encode."""
        scene = self.model.episode(DATA)
        view = scene.camera(0)
        rng = np.random.default_rng(0)
        shape = (self.model.history, 1, view.height, view.width)
        return (rng.integers(0, 255, shape + (3,), dtype=np.uint8), np.full(shape, 1.5, np.float32), view.intrinsics[None],
                view.world_from_camera[None])

    def test_facts(self):
        model = self.model
        self.assertEqual((model.history, model.features, model.particles_max), (2, 6, 300))
        self.assertTrue(model.has_dynamics and model.time_step > 0 and model.radius > 0 and model.path.endswith(".h5"))
        self.assertIn("cpu", repr(model))
        self.assertEqual(vpd.library_version.count("."), 2)

    def test_as_the_program(self):
        expected = self.model.read(ROLLOUT)
        scene = self.model.episode(DATA, expected.name).step(expected.steps)
        self.assertGreater(expected.steps, 2)
        for step in range(expected.steps + 1):
            np.testing.assert_array_equal(scene.positions(step), expected.positions(step))
        self.assertEqual(scene.positions().shape, (scene.particles, 3))
        self.assertEqual(scene.features().shape, (scene.particles, 6))
        self.assertEqual(scene.positions().dtype, np.float32)
        self.assertEqual((scene.colours().dtype, scene.labels().dtype, scene.moving().dtype), (np.uint8, np.uint16, bool))
        radii = scene.radii()  # those of hidden points are 0
        self.assertTrue((radii >= 0).all() and 0 < (radii > 0).sum() <= self.model.particles_max)
        self.assertEqual(len(scene.label_names), 1 + scene.labels().max())
        self.assertAlmostEqual(scene.time(2) - scene.time(1), scene.time_step, places=5)
        self.assertEqual(scene.background.shape, (3,))

    def test_frames_in_memory(self):
        rgb, depth, K, pose = self.frames()
        mask = np.ones(depth.shape, np.uint16)
        a = self.model.encode(rgb, depth, K, pose, name="x", mask=mask)
        b = self.model.encode(rgb, depth.astype(np.float64), K, np.broadcast_to(pose, (2, 1, 4, 4)), name="x",
                              time=np.arange(2) * self.model.time_step)
        np.testing.assert_array_equal(a.positions(), b.positions())
        self.assertTrue((a.labels() == 1).all() and b.labels() is None)
        for wrong, words in (((rgb[..., :2], depth, K, pose), r"rgb: expected shape \(F, V, H, W, 3\), found"),
                             ((rgb.astype(np.float32), depth, K, pose), "rgb: expected uint8, found float32"),
                             ((rgb, (1000 * depth).astype(np.uint16), K, pose), "multiply it by its scale"),
                             ((rgb, depth[:, :, :-1], K, pose), "depth: expected shape"),
                             ((rgb, -depth, K, pose), "found -1.5 in frame 0, view 0"),
                             ((rgb, depth, K[0], pose), "intrinsics: expected shape"),
                             ((rgb, depth, K, 2 * pose), "world_from_camera"),
                             ((rgb[:1], depth[:1], K, pose), "expected F = 2 frames")):
            with self.assertRaisesRegex(vpd.InputError, words):
                self.model.encode(*wrong)

    def test_no_copy(self):
        scene = self.model.episode(DATA).step(2)
        shown = scene.positions(copy=False)
        self.assertFalse(shown.flags.writeable or shown.flags.owndata)
        self.assertEqual(shown.ctypes.data, scene.positions(copy=False).ctypes.data)
        np.testing.assert_array_equal(shown, scene.positions())
        part = shown[:5]  # what is made of it counts too
        del shown
        for change in (scene.step, lambda: scene.rewind(0), scene.close, lambda: scene.set_positions(scene.positions())):
            with self.assertRaisesRegex(BufferError, "share this scene's memory"):
                change()
        values = part.copy()
        first = scene.positions()[:5]
        del scene
        gc.collect()
        np.testing.assert_array_equal(part, first)  # it keeps the scene alive
        np.testing.assert_array_equal(values, first)
        other = self.model.episode(DATA)
        del part
        other.step()

    def test_changes(self):
        scene = self.model.episode(DATA).step(2)
        copy = scene.copy()
        moved = copy.positions(1) + np.float32(0.05)
        copy.set_positions(moved, 1)
        np.testing.assert_array_equal(copy.positions(1), moved)
        self.assertFalse(np.array_equal(copy.step().positions(), scene.step().positions()))
        self.assertEqual(copy.rewind(-2).steps, 2)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.h5"
            copy.save(path)
            np.testing.assert_array_equal(self.model.read(path).positions(1), moved)
        for wrong, words in ((lambda: scene.positions(9), "step 9: expected a step of the scene, 0 to 3"),
                             (lambda: scene.positions(-5), "step -5"), (lambda: scene.step(-1), "found -1"),
                             (lambda: scene.step(1.5), "step: expected a whole number, found 1.5"),
                             (lambda: scene.step(2**64 + 1), r"step: expected a whole number below 2\^31"),
                             (lambda: scene.camera(2**32), "camera: expected a whole number"),
                             (lambda: vpd.Model(CHECKPOINT, threads=2**32 + 1), "threads: expected a whole number"),
                             (lambda: self.model.episode(DATA, "x\0y"), "episode: expected text without NUL"),
                             (lambda: self.model.encode(*self.frames(), name="x\0y"), "name: expected text without NUL"),
                             (lambda: scene.positions("last"), "step: expected a whole number, found 'last'"),
                             (lambda: scene.render(vpd.View(np.eye(3), np.eye(4), 8.0, 8)), "height: expected a whole number"),
                             (lambda: scene.set_positions(moved[:5]), "particles, found 5"),
                             (lambda: scene.set_positions(moved * np.nan), "found nan"),
                             (lambda: scene.camera(99), "camera 99"), (lambda: self.model.read(DATA), "vpd-rollout"),
                             (lambda: self.model.episode(DATA, "zebra"), "zebra"),
                             (lambda: self.model.episode("there is none"), "there is none"),
                             (lambda: vpd.Model("there is none"), "there is none")):
            with self.assertRaisesRegex(vpd.InputError, words):
                wrong()
        self.assertIsInstance(vpd.InputError("x"), (vpd.Error, ValueError))

    def test_copies(self):
        """A scene that is copied in any way owns its own memory; what cannot be copied says so."""
        scene = self.model.episode(DATA).step(2)
        expected = scene.positions()
        copies = [copy.copy(scene), copy.deepcopy(scene)]
        del scene
        gc.collect()
        for one in copies:
            np.testing.assert_array_equal(one.positions(), expected)
            one.step()
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, "vpd.Model can be neither copied nor pickled"):
                make(self.model)
        with self.assertRaisesRegex(TypeError, "vpd.Scene can be neither"):
            pickle.dumps(copies[0])

    def test_edits(self):
        scene = self.model.read(ROLLOUT)
        expected = self.model.read(EDITED)  # vpd edit --step 2 with the same edits
        copy = scene.copy()
        report = copy.edit("move: {label: object 0, by: [0.1, 0, 0.2]}",
                           {"copy": {"label": 1, "by": np.array([0.3, 0, 0]), "as": "Zwölf"}},
                           {"remove": {"height": {"below": np.float32(-50)}, "if_empty": "skip"}}, step=2)
        self.assertEqual(report, (scene.particles, expected.particles, 2, 1, []))
        self.assertEqual(copy.steps, 0)
        for array in ("positions", "features", "labels", "colours", "moving", "radii"):
            np.testing.assert_array_equal(getattr(copy, array)(), getattr(expected, array)())
        np.testing.assert_array_equal(copy.step(2).positions(), expected.step(2).positions())
        self.assertEqual((copy.label_names[1], copy.label_names[-1]), ("object 0", "Zwölf"))
        # A text of several lines among others, a list with and without its version, none at all.
        for edits in (["""
                       move:
                         all: true
                         by: [0, 0, 1]""", "move: {all: true, by: [0, 0, 0]}"],
                      ["version: 1\nedits: [{move: {all: true, by: [0, 0, 1]}}, {move: {all: true, by: [0, 0, 0]}}]"],
                      ["- move: {all: true, by: [0, 0, 1]}\n- move: {all: true, by: [0, 0, 0]}"]):
            moved = scene.copy()
            self.assertEqual(moved.edit(*edits, step=0).applied, 2)
            np.testing.assert_array_equal(moved.positions(), scene.positions(0) + np.float32((0, 0, 1)))
        self.assertEqual((moved.edit().applied, moved.edit().warnings), (0, []))
        # What is to be known of mechanics.
        report = scene.copy().edit({"remove": {"label": "background"}}, "simulate: {}", step=0)
        self.assertEqual(report.warnings, ["no floor was found among what stands still: bodies fall for ever"])
        # Labels of the caller's, and another scene beside it.
        lower = scene.positions(0)[:, 2] < np.median(scene.positions(0)[:, 2])
        scene.set_labels(lower * 3, ["rest", "a", "b", "low"])
        self.assertEqual((scene.label_names[3], int((scene.labels() == 3).sum())), ("low", int(lower.sum())))
        self.assertEqual(scene.copy().edit("keep: {label: low}").after, lower.sum())
        two = scene.copy()
        self.assertEqual(two.append(scene, by=(1, 0, 0), label="guests", step=0, other_step=0).after, 2 * scene.particles)
        np.testing.assert_array_equal(two.positions()[scene.particles:], scene.positions(0) + np.float32((1, 0, 0)))
        self.assertTrue((two.labels()[scene.particles:] == two.label_names.index("guests")).all())
        before, steps = scene.positions(), scene.steps
        for wrong, words in ((lambda: scene.edit("remove: {label: cup}"), 'there is no label "cup"'),
                             (lambda: scene.edit("remov: {label: 1}"), 'did you mean "remove"'),
                             (lambda: scene.edit("remove: {label: 1"), "not valid YAML"),
                             (lambda: scene.edit("remove: {label: 1}\0"), "NUL"),
                             (lambda: scene.edit({"remove": {"height": {"above": 99}}}), "the selection takes none"),
                             (lambda: scene.edit({"remove": {"height": {"above": float("nan")}}}), "above"),
                             (lambda: scene.edit("compose: {file: absent.h5}", folder="/tmp"), "/tmp/absent.h5"),
                             (lambda: scene.edit("remove: {label: 1}", step=99), "step 99"),
                             (lambda: scene.append(scene, by=(0, 0)), "by: expected shape"),
                             (lambda: scene.append(scene, label=""), "label: expected a name"),
                             (lambda: scene.set_labels(lower * 1.0), "whole numbers, found float64"),
                             (lambda: scene.set_labels(lower * 70000), "found 0 to 70000"),
                             (lambda: scene.set_labels(lower[:3]), "particles, found 3"),
                             (lambda: scene.set_labels(lower, ["two\nlines"]), "one line of text")):
            with self.assertRaisesRegex(vpd.InputError, words):
                wrong()
        self.assertEqual(scene.steps, steps)
        np.testing.assert_array_equal(scene.positions(), before)
        shown = scene.positions(copy=False)
        for change in (lambda: scene.edit("move: {all: true, by: [0, 0, 1]}"), lambda: scene.append(two),
                       lambda: scene.set_labels(lower)):
            with self.assertRaisesRegex(BufferError, "share this scene's memory"):
                change()
        del shown

    def test_pictures(self):
        scene = self.model.episode(DATA)
        view = scene.camera(0)
        picture = scene.render(view)
        self.assertEqual(picture.rgb.shape, (view.height, view.width, 3))
        self.assertTrue(picture.colour is None and picture.opacity is None and picture.depth.dtype == np.float32)
        every = scene.render(view, parts=("rgb", "depth", "colour", "opacity"))
        np.testing.assert_array_equal(every.rgb, picture.rgb)
        self.assertLess(np.abs(every.rgb - 255 * every.colour.clip(0, 1)).max(), 0.51)
        out = vpd.Picture(rgb=np.zeros_like(picture.rgb), depth=None, colour=None, opacity=None)
        self.assertIs(scene.render(view, out=out).rgb, out.rgb)
        np.testing.assert_array_equal(out.rgb, picture.rgb)
        self.assertEqual(scene.render(view.resized(10, 12)).rgb.shape, (10, 12, 3))
        # A camera that looks at the particles' middle sees them there.
        middle = np.median(scene.positions(), axis=0)
        ahead = vpd.View.look_at(middle + [1.5, 0.3, 1], middle, height=31, width=41)
        np.testing.assert_allclose(ahead.world_from_camera[:3, :3] @ ahead.world_from_camera[:3, :3].T, np.eye(3), atol=1e-12)
        toward = np.linalg.inv(ahead.world_from_camera) @ [*middle, 1]
        np.testing.assert_allclose(toward[:2], 0, atol=1e-6)
        self.assertGreater(toward[2], 1)
        scene.render(ahead)
        for wrong, words in ((lambda: scene.render(view, parts=["normals"]), "unknown part 'normals'"),
                             (lambda: scene.render(view, parts=[]), "at least one"),
                             (lambda: scene.render(view.resized(0, 5)), "rows and columns"),
                             (lambda: scene.render(view, out=out._replace(rgb=out.rgb[:, ::-1])), "contiguous"),
                             (lambda: vpd.View.look_at((0, 0, 1), (0, 0, 0)), "look_at")):
            with self.assertRaisesRegex(vpd.InputError, words):
                wrong()

    def test_threads_and_ends(self):
        expected = self.model.episode(DATA).step(3).positions()
        found = [None, None]

        def work(i):
            with vpd.Model(CHECKPOINT, threads=1) as model:
                scene = model.episode(DATA)
            found[i] = scene.step(3).positions()  # its model is closed, the scene keeps it

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for positions in found:
            np.testing.assert_array_equal(positions, expected)
        scene = self.model.episode(DATA)
        scene.close()
        scene.close()
        self.model.close()
        for used, words in ((scene.step, "this vpd.Scene is closed"), (scene.positions, "this vpd.Scene is closed"),
                            (lambda: self.model.episode(DATA), "this vpd.Model is closed")):
            with self.assertRaisesRegex(vpd.InputError, words):
                used()
        self.assertEqual((repr(scene), repr(self.model)), ("<vpd.Scene, closed>", "<vpd.Model, closed>"))

    # ---- files for other programs

    def test_export(self):
        scene = self.model.read(ROLLOUT)
        with tempfile.TemporaryDirectory() as folder:
            place = pathlib.Path(folder)
            for name in ("out.npz", "out.glb", "out.usda", "out_ply"):
                scene.export(place / name)
                vpd.export_rollout(ROLLOUT, place / f"again_{name}")
            scene.export(place / "named.npz", "npz")
            with np.load(place / "out.npz") as arrays:
                np.testing.assert_array_equal(arrays["positions"][2], scene.positions(2))
            for name in ("out.npz", "out.glb", "out.usda"):
                self.assertEqual((place / name).read_bytes(), (place / f"again_{name}").read_bytes())
            self.assertEqual((place / "named.npz").read_bytes(), (place / "out.npz").read_bytes())
            self.assertEqual(len(list((place / "out_ply").glob("*.ply"))), scene.steps + 1)
            for wrong, words in ((lambda: scene.export(place / "named", "npz"), "named: expected a name that ends in .npz"),
                                 (lambda: scene.export(place / "out.obj"), "out.obj: expected FILE.npz"),
                                 (lambda: scene.export(place / "x.npz", "obj"), "format= one of ply, npz, gltf, usda"),
                                 (lambda: vpd.export_rollout(DATA, place / "x.npz"), "vpd-rollout")):
                with self.assertRaisesRegex(vpd.InputError, words):
                    wrong()

    def test_environment(self):
        self.assertEqual(os.environ["OMP_WAIT_POLICY"], "passive")


# One step takes some milliseconds.
TINY = {"train": {"steps": 3, "motion_steps": 0, "rollout": [1], "rollout_from": (0,), "rays": np.int64(8), "picture_every": 0,
                  "eval_every": 0, "log_every": 1},
        "encoder": {"N": 300, "widths": np.array([4, 6])}, "model.C": 8, "model.D": 6, "gnn.M": 16, "gnn.L": 1,
        "renderer.widths": [8, 8]}
ENDLESS = {**TINY, "train": {**TINY["train"], "steps": 1000000}}


def write_png(path, array):
    """(H, W, 3) u8 or (H, W) u16."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    colour = array.ndim == 3
    rows = b"".join(b"\0" + row.tobytes() for row in array.astype(">u1" if colour else ">u2"))
    header = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], 8 if colour else 16, 2 if colour else 0, 0, 0, 0)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Work(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.place = pathlib.Path(folder.name)

    def recording(self, second=2000):
        """A floor 2 m below three cameras, in the layout "hololens"; `second` is the depth that the second one has, in mm."""
        folder = self.place / "recording"
        rng = np.random.default_rng(0)
        poses = []
        for i in range(3):
            write_png(folder / "images" / f"{i:05}.png", rng.integers(0, 255, (48, 64, 3), np.uint8))
            write_png(folder / "depth" / f"{i:05}.png", np.full((48, 64), second if i == 1 else 2000, np.uint16))
            poses.append([1, 0, 0, 0.2 * i, 0, -1, 0, 0, 0, 0, -1, 2, 0, 0, 0, 1])
        np.savetxt(folder / "poses.txt", poses)
        np.savetxt(folder / "K.txt", [[60, 0, 31.5], [0, 60, 23.5], [0, 0, 1]])
        return folder

    def test_import_and_check(self):
        folder, out = self.recording(), self.place / "floor.h5"
        told = vpd.import_data(folder, out, format="hololens", holdout=3, split="test", bounds=[[-2, -2, -1], [2, 2, 1]])
        self.assertEqual((told["episodes"], told["images"], told["splits"]["test"], told["warnings"]), (1, 3, 1, []))
        self.assertEqual(told["moments_left_out"], 0)
        found = vpd.check_data(out)
        self.assertTrue(found["pass"] and found["verdict"] == "pass" and found["all"]["median_mm"] < 1, found)
        vpd.import_data(folder, self.place / "smaller.h5", height=24, width=32, near=0.5, far=3, name="Boden")
        vpd.import_data(self.recording(second=1900), self.place / "wrong.h5")
        found = vpd.check_data(self.place / "wrong.h5")
        self.assertFalse(found["pass"])
        with self.assertRaisesRegex(vpd.InputError, "this data set exists"):
            vpd.import_data(folder, out)
        out = self.place / "none_yet.h5"
        for wrong, words in ((lambda: vpd.import_data(folder, out, format="vhs"), "expected one of hololens"),
                             (lambda: vpd.import_data(folder, out, every=-1), "every: expected"),
                             (lambda: vpd.import_data(folder, out, near=5, far=1), "near: expected less than far"),
                             (lambda: vpd.import_data(folder, out, intrinsics=[1, 2, 3]), "found 3 numbers"),
                             (lambda: vpd.import_data(folder, out, bounds=[1, 2, 3]), "bounds: expected shape"),
                             (lambda: vpd.import_data(self.place / "none", out), "none"),
                             (lambda: vpd.check_data(self.place / "none.h5"), "none.h5")):
            with self.assertRaisesRegex(vpd.InputError, words):
                wrong()

    def test_train_and_evaluate(self):
        run, lines = self.place / "run", []
        done = vpd.train(options=TINY, data=DATA, out=run, device="cpu", threads=1, callback=lines.append)
        self.assertEqual((done["step"], done["stopped"], done["written"]), (3, False, [str(run)]))
        self.assertEqual([(line["kind"], line["step"]) for line in lines if line["kind"] == "train"],
                         [("train", 1), ("train", 2), ("train", 3)])
        self.assertGreater(lines[0]["loss"], 0)
        self.assertEqual([json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()], lines)
        # The same options from a file give the same weights.
        again = vpd.train(run / "config.yaml", data=DATA, out=self.place / "again", device="cpu", threads=1)
        self.assertEqual(again["loss"], done["loss"])
        self.assertGreater(vpd.train(options=TINY, data=DATA, out=self.place / "planned", threads=1, dry_run=True)["tape_mib"], 0)
        found = vpd.evaluate(run, DATA, split="test", starts=[3], steps=2)
        with vpd.Model(run, device="cpu", threads=1) as model:
            self.assertEqual(vpd.evaluate(model, DATA, episodes=[2], starts=[3], steps=1, input_views=[0])["rollouts"], 1)
            self.assertEqual(vpd.evaluate(model, DATA, motion=True)["pictures"], [])
            self.assertEqual(vpd.evaluate(model, DATA, motion=True, analytic=True)["analytic"], "{}")
            self.assertIn('"mu": 0.3', vpd.evaluate(model, DATA, motion=True, analytic={"contact": {"mu": np.float64(0.3)}})["analytic"])
            for wrong, words in ((lambda: vpd.evaluate(model, DATA, split="noon"), "split: expected train, val or test"),
                                 (lambda: vpd.evaluate(model, DATA, analytic={"steps": 2}), "analytic: steps: the rollout says"),
                                 (lambda: vpd.evaluate(model, DATA, steps=-1), "steps: expected 0 or more"),
                                 (lambda: vpd.evaluate(model, DATA, starts=[-1]), "starts: expected 0"),
                                 (lambda: vpd.evaluate(model, DATA, driven=[2**32]), "driven: expected a whole number below"),
                                 (lambda: vpd.evaluate(model, DATA, steps=2**32 + 2), "steps: expected a whole number below"),
                                 (lambda: vpd.evaluate(model, DATA, driven=[-65535]), "driven: expected -65534 to 65534"),
                                 (lambda: vpd.evaluate(model, DATA, episodes=["zebra"]), "zebra"),
                                 (lambda: vpd.evaluate(model, "none.h5"), "none.h5"),
                                 (lambda: vpd.train(options={"train.stepps": 3}, data=DATA, out=run), "train.steps"),
                                 (lambda: vpd.train(options=TINY, data=DATA, out=run), "this folder holds a run already"),
                                 (lambda: vpd.train("none.yaml", data=DATA, out=run), "none.yaml"),
                                 (lambda: vpd.train(options=TINY, data="none.h5", out=self.place / "x"), "none.h5")):
                with self.assertRaisesRegex(vpd.InputError, words):
                    wrong()
        whole = [row for row in found["pictures"] if row["method"] == "model" and row["view"] is None]
        self.assertEqual({row["step"] for row in whole}, {0, 1, 2})
        self.assertTrue(all(0 < row["whole"]["psnr_db"]["mean"] < 99 for row in whole))

    def test_example(self):
        """A patch that slides over a floor, seen by three cameras from above, in the layout "nerfstudio"."""
        folder, frames = self.place / "video", []
        v, u = np.mgrid[:24, :32] + 0.5
        for f, i in np.ndindex(8, 3):
            x, y = 0.2 * (i - 1) + 1.8 * (u - 16) / 30, -1.8 * (v - 12) / 30  # where a ray meets the patch's height
            patch = (abs(x + 0.3 - 0.08 * f) < 0.2) & (abs(y) < 0.2)
            write_png(folder / "rgb" / f"{i}_{f}.png", np.where(patch[..., None], [220, 30, 30], [90, 120, 90]).astype(np.uint8))
            write_png(folder / "depth" / f"{i}_{f}.png", np.where(patch, 1800, 2000))
            pose = np.eye(4)
            pose[:3, 3] = 0.2 * (i - 1), 0, 2
            frames.append({"file_path": f"rgb/{i}_{f}.png", "depth_file_path": f"depth/{i}_{f}.png", "transform_matrix": pose.tolist(),
                           "time": f / 10, "camera_id": i})
        (folder / "transforms.json").write_text(json.dumps(
            {"fl_x": 30, "fl_y": 30, "cx": 16, "cy": 12, "w": 32, "h": 24, "frames": frames}))
        example = pathlib.Path(__file__).parent / "examples" / "train_own.py"
        settings = ["train.steps=2", "train.rollout=1", "train.rollout_from=0", "train.rays=8", "encoder.N=200", "encoder.widths=4,6",
                    "model.C=8", "model.D=6", "gnn.M=16", "gnn.L=1", "renderer.widths=8,8", "train.log_every=1", "train.picture_every=0"]
        command = [sys.executable, example, folder, self.place / "out", *settings]
        for words in ("step 2: loss", "PSNR"):  # the second time it finds the run complete
            printed = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(printed.returncode, 0, printed.stderr)
            self.assertIn(words, printed.stdout)
        self.assertGreater((self.place / "out" / "rollout.glb").stat().st_size, 1000)

    def test_callback_stops(self):
        run = self.place / "run"
        train = functools.partial(vpd.train, options=ENDLESS, data=DATA, out=run, device="cpu", threads=1)
        done = train(callback=lambda line: line["step"] == 2)
        self.assertEqual((done["step"], done["stopped"]), (2, True))

        def fail(line):
            raise LookupError("mine")
        with self.assertRaisesRegex(LookupError, "mine"):
            train(callback=fail, resume=True)
        self.assertEqual(train(callback=lambda line: True, resume=True)["step"], 4)  # each was saved
        self.assertTrue(all(threading.current_thread() is thread for thread in self.heard(train)))

    def heard(self, train):
        """In which thread the callback runs."""
        threads = []
        train(resume=True, callback=lambda line: threads.append(threading.current_thread()) or True)
        return threads

    def interrupt(self, work, begun):
        """Ctrl-C while `work` goes on, half a second after `begun`; how long it took to end, seconds."""
        sent = []

        def send():
            begun.wait()
            time.sleep(0.5)
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)
        sender = threading.Thread(target=send)
        sender.start()
        with self.assertRaises(KeyboardInterrupt):
            work()
        seconds = time.monotonic() - sent[0]
        sender.join()
        return seconds

    def test_keyboard_interrupt(self):
        run, begun = self.place / "run", threading.Event()
        train = functools.partial(vpd.train, options=ENDLESS, data=DATA, out=run, device="cpu", threads=1)
        seconds = self.interrupt(lambda: train(callback=lambda line: begun.set()), begun)
        self.assertLess(seconds, 10)  # 0.1 here; more on a busy machine
        done = train(resume=True, callback=lambda line: True)
        self.assertGreater(done["step"], 1)  # a checkpoint was saved
        scene = vpd.Model(CHECKPOINT, device="cpu", threads=1).episode(DATA)
        self.assertLess(self.interrupt(lambda: scene.step(1000000), begun), 10)
        done = scene.steps
        self.assertEqual(scene.step().steps, done + 1)

    def test_in_another_thread(self):
        done = []
        thread = threading.Thread(target=lambda: done.append(vpd.train(
            options=ENDLESS, data=DATA, out=self.place / "run", device="cpu", threads=1, callback=lambda line: line["step"] == 2)))
        thread.start()
        thread.join()
        self.assertEqual(done[0]["step"], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
