// SPDX-License-Identifier: Apache-2.0
// Scenes of bodies that meet.
#ifndef VPD_TESTS_SIM_MEETING_H
#define VPD_TESTS_SIM_MEETING_H

#include "bench/sim_scenes.h"
#include "tests/test.h"

static inline void meet(SimScene *s, const SimSceneBody *bodies, size_t count, double margin) {
    Error err;
    assert_status_ok(sim_scene_bodies(s, bodies, count, margin, &err), err);
}

static inline void gravity(SimScene *s) { s->values.of[SIM_GRAVITY][1] = -9.81; }

#endif
