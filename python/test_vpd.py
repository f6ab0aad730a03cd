# SPDX-License-Identifier: Apache-2.0
"""python/test_vpd.py CHECKPOINT DATA ROLLOUT EDITED: a tiny model, its data, what `vpd rollout` made of both, and what `vpd edit`
made of that (tests/cli/python.sh)."""
import gc
import os
import pathlib
import sys
import tempfile
import threading
import unittest

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
        self.assertGreater(scene.radii().min(), 0)
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
        for wrong, words in (((rgb[..., :2], depth, K, pose), "rgb: expected shape"),
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
            with self.assertRaisesRegex(BufferError, "show this scene's memory"):
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
        for wrong, words in ((lambda: scene.positions(9), "step 9: the scene has the steps 0 to 3"),
                             (lambda: scene.positions(-5), "step -5"), (lambda: scene.step(-1), "found -1"),
                             (lambda: scene.set_positions(moved[:5]), "particles, found 5"),
                             (lambda: scene.set_positions(moved * np.nan), "found nan"),
                             (lambda: scene.camera(99), "camera 99"), (lambda: self.model.read(DATA), "vpd-rollout"),
                             (lambda: self.model.episode(DATA, "zebra"), "zebra"),
                             (lambda: self.model.episode("there is none"), "there is none"),
                             (lambda: vpd.Model("there is none"), "there is none")):
            with self.assertRaisesRegex(vpd.InputError, words):
                wrong()
        self.assertIsInstance(vpd.InputError("x"), (vpd.Error, ValueError))

    def test_edits(self):
        scene = self.model.read(ROLLOUT)
        expected = self.model.read(EDITED)  # vpd edit --step 2 with the same edits
        copy = scene.copy()
        report = copy.edit("move: {label: object 0, by: [0.1, 0, 0.2]}",
                           {"copy": {"label": 1, "by": np.array([0.3, 0, 0]), "as": "Zwölf"}},
                           {"remove": {"height": {"below": np.float32(-50)}, "if_empty": "skip"}}, step=2)
        self.assertEqual(report, (scene.particles, expected.particles, 2, 1))
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
        self.assertEqual(moved.edit().applied, 0)
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
            with self.assertRaisesRegex(BufferError, "show this scene's memory"):
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
        with self.assertRaisesRegex(vpd.InputError, "scene: expected an object"):
            scene.step()
        self.model.close()
        with self.assertRaisesRegex(vpd.InputError, "model: expected an object"):
            self.model.episode(DATA)

    def test_environment(self):
        self.assertEqual(os.environ["OMP_WAIT_POLICY"], "passive")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
