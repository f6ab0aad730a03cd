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

// A soft plank and a rigid one, of one cell, across a free box and a fixed one of one cell, of different materials:
// hardly anything but edges touches.
static inline void planks(SimScene *s) {
    const SimSceneBody bodies[] = {
        {.cells = {1, 1, 1}, .at = {-0.1, -0.05, 0}, .turn = {0, 0.1, 0}, .mass = 0.04},
        {.cells = {1, 1, 1}, .at = {0.13, -0.05, 0.01}, .turn = {0.02, -0.3, 0}, .mass = 0.04, .fixed = true},
        {.cells = {1, 1, 1},
         .cell = {0.5, 0.03, 0.05},
         .at = {0, 0.0145, 0},
         .velocity = {0.3, -0.5, 0.1},
         .turn = {0.02, 0.05, 0},
         .mass = 0.01,
         .rigid = true,
         .material = 1},
        {.cells = {1, 1, 1},
         .cell = {0.04, 0.03, 0.4},
         .at = {0.03, 0.044, 0.01},
         .velocity = {0, -0.6, 0.4},
         .mass = 0.01}};
    meet(s, bodies, 4, 0.002);
    gravity(s);
    s->values.of[SIM_CONTACT_KE][1] = 4000;
    s->values.of[SIM_CONTACT_MU][1] = 0.2;
    sim_scene_fill(s, SIM_TET_MU, 3e5);
}

#endif
