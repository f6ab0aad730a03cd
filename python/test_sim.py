# SPDX-License-Identifier: Apache-2.0
"""vpd.Sim on the example scenes (tests/cli/python.sh)."""
import pathlib
import unittest

import numpy as np
import vpd

SCENES = pathlib.Path(__file__).resolve().parents[1] / "scenes"


class Simulator(unittest.TestCase):
    def open(self, name="ball", **options):
        return vpd.Sim(SCENES / f"{name}.yaml", **{"precision": "f64", "threads": 1, **options})

    def test_joints(self):
        with self.open("hand") as sim:
            self.assertEqual((sim.joints, sim.values["torque"].shape), ({"left": 0, "right": 1}, (90, 1, 2)))
            self.assertAlmostEqual(sim.values["torque"].data[0, 0, 1], 4 * np.radians(35))
            self.assertIsNone(sim.values["hinge.low"].data)
        with self.open("joints") as sim:
            elbow = sim.joints["elbow"]
            self.assertAlmostEqual(sim.values["hinge.high"].data[0, elbow], np.radians(140))
            high = sim.values["hinge.high"].data.copy()
            high[0, elbow] = 0.05
            bent = sim.rollout()
            held = sim.rollout({"hinge.high": high})
            self.assertGreater(np.abs(bent.position - held.position).max(), 0.05)

    def test_sliders(self):
        with self.open("gripper") as sim:
            self.assertEqual((sim.joints, sim.values["thrust"].shape), ({"lift": 0, "left": 1, "right": 2}, (120, 1, 21)))
            self.assertAlmostEqual(sim.values["thrust"].data[0, 0, 1], 400 * 0.065)
            self.assertAlmostEqual(sim.values["slide.high"].data[0, 1], 0.08)
            thrust = sim.values["thrust"].data.copy()
            height = sim.rollout().position[:, 0, -27:, 2].mean(1)  # of the block, the last object
            self.assertGreater(height[55] - height[0], 0.15)
            self.assertLess(abs(height[118] - height[0]), 0.01)
            thrust[:, :, [sim.joints["left"], sim.joints["right"]]] = 0  # open jaws lift nothing
            self.assertLess(np.ptp(sim.rollout({"thrust": thrust}).position[:, 0, -27:, 2].mean(1)), 0.01)

    def test_balls(self):
        with self.open("doll") as sim:
            rows = {"neck": 0, "right_shoulder": 1, "right_hip": 2, "left_shoulder": 3, "left_hip": 4}
            self.assertEqual({name: sim.joints[name] for name in rows}, rows)
            self.assertEqual(sim.joints["left_knee"], 3)  # of the hinges
            self.assertAlmostEqual(sim.values["socket.high"].data[0, 1], np.radians(80))
            high = sim.values["socket.high"].data.copy()
            free = sim.rollout().position
            high[0, [rows["right_hip"], rows["left_hip"]]] = 0  # it stays straight
            self.assertGreater(np.abs(sim.rollout({"socket.high": high}).position - free).max(), 0.1)

    def test_facts(self):
        sim = self.open(scenes=2)
        self.assertEqual((sim.scenes, sim.particles, sim.frames, sim.objects), (2, 147, 90, ["ball"]))
        self.assertLess(sim.time_step, sim.stable_step)
        mass = sim.values["mass"]
        self.assertEqual((mass.unit, mass.shape, mass.data.shape, mass.low), ("kg", (2, 147), (2, 147), 0))
        self.assertEqual(sim.values["force"].shape, (90, 2, 147, 3))
        self.assertIsNone(sim.values["force"].data)
        self.assertNotIn("spring.k_e", sim.values)
        self.assertIn("ball", repr(sim))
        with self.assertRaises(ValueError):
            mass.data[0] = 1

    def test_values_outlive_the_simulation(self):
        with self.open("beam") as sim:
            values = {name: value.data for name, value in sim.values.items() if value.data is not None}
            before = {name: data.copy() for name, data in values.items()}
        taken = [bytes([255]) * data.nbytes for data in values.values() for _ in range(50)]  # the memory that was freed
        self.assertGreater(len(taken), 50)
        for name, data in values.items():
            self.assertTrue(data.flags.owndata and (data == before[name]).all(), name)

    def test_gradient(self):
        """Random directions, against differences in f64."""
        sim, rng, h = self.open(), np.random.default_rng(0), 1e-6
        weight = rng.standard_normal(sim.rollout().position.shape)
        loss = lambda values: (sim.rollout(values).position * weight).sum()
        for name in ("mass", "tet.mu", "contact.mu", "gravity", "velocity"):
            now = sim.values[name].data
            along = rng.uniform(-1, 1, now.shape) * (now if name != "velocity" else 1)
            sim.rollout(gradient=True)
            slope = (sim.adjoint(weight, wrt=[name])[name] * along).sum()
            difference = (loss({name: now + h * along}) - loss({name: now - h * along})) / (2 * h)
            self.assertLess(abs(slope - difference) / abs(difference), 1e-5, name)
        self.assertTrue(1 < sim.growth < 1e6)

    def test_no_copies(self):
        """The library reads and writes numpy's memory."""
        sim = self.open("beam")
        force = np.zeros(sim.values["force"].shape)
        before = sim.rollout({"force": force}).position
        force[..., 2] = 0.01  # the same array, changed in place
        self.assertGreater((sim.rollout({"force": force}).position - before)[-1].max(), 0.001)
        states = sim.rollout(gradient=True)
        first = sim.adjoint(states.position, states.velocity, wrt=["tet.act"])["tet.act"]
        again = sim.adjoint(states.position, states.velocity, wrt=["tet.act"])["tet.act"]
        self.assertTrue((first == again).all())
        self.assertEqual(list(sim.adjoint(states.position, wrt="tet.act")), ["tet.act"])  # no list is needed

    def test_closed(self):
        sim = self.open()
        sim.close()
        with self.assertRaisesRegex(vpd.InputError, "this vpd.Sim is closed"):
            sim.rollout()
        self.assertEqual(repr(sim), "<vpd.Sim, closed>")

    def test_wrong(self):
        sim = self.open()
        for call, words in ((lambda: self.open(precision="f16"), "expected f32 or f64"),
                            (lambda: self.open("none"), "none.yaml"),
                            (lambda: sim.rollout({"mas": np.ones(1)}), "the scene has no value 'mas'"),
                            (lambda: sim.rollout({"mass": np.ones(3)}), r"mass: expected shape \(1, 147\), found \(3,\)"),
                            (lambda: sim.rollout({"mass": np.ones((1, 147), complex)}), "mass: expected float64"),
                            (lambda: sim.rollout({"mass": -sim.values["mass"].data}), "mass"),
                            (lambda: sim.adjoint(wrt=["mass"]), "expected a rollout with gradient"),
                            (lambda: sim.adjoint(wrt=["spring.k_e"]), "the scene has no value")):
            with self.assertRaisesRegex(vpd.InputError, words):
                call()
        with self.assertRaisesRegex(vpd.Error, "step .*not finite"):
            sim.rollout({"contact.k_e": sim.values["contact.k_e"].data * 1e6})

    def test_fit(self):
        sim = self.open("throw")
        seen = sim.rollout().position[:20]
        fit = sim.fit(seen, free={"box.density": 400, "box.velocity.z": {"start": 0.3, "low": -2, "high": 2}}, threads=1)
        density, speed = fit.numbers["box.density"], fit.numbers["box.velocity.z"]
        self.assertEqual((density.start, density.verdict, density.with_, fit.frames), (400, "fitted", [], 20))
        self.assertLess(abs(density.value - 300), 1e-4)
        self.assertLess(abs(speed.value - 0.5), 1e-7)
        self.assertLess(density.error, 1e-4)
        self.assertTrue(fit.converged and fit.rms < 1e-9 < fit.first_rms)
        self.assertIn("# Fitted by", fit.scene)
        self.assertEqual(fit.warnings, [])
        with self.assertWarnsRegex(UserWarning, "hardly better than those at the start"):  # a recording of another scene
            self.assertEqual(len(sim.fit(seen + 3, free=["ground.mu"], threads=1).warnings), 1)
        for free in (["ground.mu"], ["ground.mu", "box.density"]):  # nothing touches the ground in these frames
            mu = sim.fit(seen[:4, 0], free=free, threads=1).numbers["ground.mu"]
            self.assertEqual((mu.value, mu.verdict, mu.error), (mu.start, "not determined", None))
        for arguments, words in ((("none.h5",), "none.h5"), ((seen[:, :, :9],), "data: expected shape"), ((seen[:1],), "found 1 frames")):
            with self.assertRaisesRegex(vpd.InputError, words):
                sim.fit(*arguments)
        for options, words in (({"free": ["box.densty"]}, "did you mean"), ({"free": "box"}, "expected names"),
                               ({"free": 3}, "expected names"), ({"free": []}, "at least one name"), ({"free": {"box.density": "x"}}, "expected numbers"),
                               ({"free": {"box.density": {"lo": 1}}}, "expected start, low or high"),
                               ({"method": "newton"}, "expected auto"), ({"compare": "colour"}, "states alone"),
                               ({"episode": 3}, "needs a data set"), ({"free": {"box.density": {"low": 600}}}, "not between")):
            with self.assertRaisesRegex(vpd.InputError, words):
                sim.fit(seen, **options)

    def test_planted(self):
        """A gradient that is twice too large would be seen by test_gradient's comparison."""
        sim = self.open()
        states = sim.rollout(gradient=True)
        slope = 2 * sim.adjoint(np.ones_like(states.position), wrt=["contact.mu"])["contact.mu"].item()
        ends = [sim.rollout({"contact.mu": np.array([[0.6 + h]])}).position.sum() for h in (1e-6, -1e-6)]
        self.assertGreater(abs(slope - (ends[0] - ends[1]) / 2e-6) / abs(slope), 0.4)


if __name__ == "__main__":
    unittest.main()
