// SPDX-License-Identifier: Apache-2.0
// Scenes of `vpd bench sim` and of the simulator's tests: beams of tetrahedra, nets of springs, cloth, and bodies
// that meet.
#ifndef VPD_BENCH_SIM_SCENES_H
#define VPD_BENCH_SIM_SCENES_H

#include "base/arena.h"
#include "sim/sim.h"

typedef struct SimScene {
    Arena memory;
    SimModel model;
    SimValues values; // all parameters of the model, and SIM_POSITION, SIM_VELOCITY
    int32_t *spring, *tet, *hinge, *slide, *socket;
    uint8_t *fixed;
    SimPlane *plane;
    SimMaterial *contact;
    int32_t *material, *face, *body, *rigid;
    double *inertia;
} SimScene;

// Arrays for a model whose counts are set, zeroed; elements and values are the caller's to fill.
Status sim_scene_allocate(SimScene *scene, const SimModel *counts, Error *err);
void sim_scene_free(SimScene *scene);

// `scenes` copies of a model of one scene.
Status sim_scene_repeat(const SimScene *one, size_t scenes, SimScene *out, Error *err);

void sim_scene_fill(SimScene *scene, SimValue value, double x);
// Limits and friction of all hinges: low, high, stop_k_e, stop_k_d, friction, k_f.
Status sim_scene_add_stops(SimScene *s, const double values[6], Error *err);

typedef struct SimSceneBody {
    size_t cells[3]; // cubes of five tets; {x, 0, z}: squares of a sheet of springs; {x, 0, 0}: x + 1 loose particles
    double cell[3];  // metres; 0: 0.1
    double at[3];    // of the middle
    double turn[3];  // rotation vector, about the middle
    double velocity[3];
    double spin[3]; // rad/s, about the middle
    double mass;    // kg of each particle; 0: solids have 1000 kg/m3, others 10 g a particle
    bool fixed;
    bool rigid; // a solid without tets; particles have a third of their masses in the inertia, as those of a cube do
    int32_t material;
} SimSceneBody;

// Bodies that meet, without gravity. mu = lambda = 5e4 Pa, k_d 10 Pa s; springs 1000 N/m and 0.1 N s/m; each material
// has `margin`, fade 1 mm, k_e 2000 N/m, k_d 2, k_f 5 N s/m and mu 0.5.
Status sim_scene_bodies(SimScene *scene, const SimSceneBody *bodies, size_t count, double margin, Error *err);

void sim_scene_turn(const double turn[3], const double in[3], double out[3]);

// A solid body, y up, in gravity, with its lowest corner at 0 and one end fixed. With `ground` it is free and lies 1 mm
// deep in a plane of friction.
Status sim_scene_beam(SimScene *scene, const size_t cells[3], bool ground, Error *err);

// A sheet of side x side particles without springs across its squares; two corners fixed.
Status sim_scene_net(SimScene *scene, size_t side, Error *err);

// A sheet of side x side particles with hinges, 4 mm above the ground.
Status sim_scene_cloth(SimScene *scene, size_t side, Error *err);

#endif
