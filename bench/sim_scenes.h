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
    int32_t *spring, *tet, *hinge;
    uint8_t *fixed;
    SimPlane *plane;
    SimMaterial *contact;
    int32_t *material, *face, *body;
} SimScene;

// Arrays for a model whose counts are set, zeroed; elements and values are the caller's to fill.
Status sim_scene_allocate(SimScene *scene, const SimModel *counts, Error *err);
void sim_scene_free(SimScene *scene);

// `scenes` copies of a model of one scene.
Status sim_scene_repeat(const SimScene *one, size_t scenes, SimScene *out, Error *err);

// A bar of cells[0] x cells[1] x cells[2] cubes of 0.1 m, five tets each, 1000 kg/m3, one end fixed, y up; mu = lambda
// = 5e4 Pa, k_d 10 Pa s. With `ground` it is free and lies 1 mm deep in a plane of friction.
Status sim_scene_beam(SimScene *scene, const size_t cells[3], bool ground, Error *err);

// side x side particles of 10 g, 0.1 m apart, joined to their neighbours by springs of 1000 N/m; two corners fixed.
Status sim_scene_net(SimScene *scene, size_t side, Error *err);

// A flat cloth of side x side particles with springs along all edges and hinges, 4 mm above the ground.
Status sim_scene_cloth(SimScene *scene, size_t side, Error *err);

// A body of a scene in which bodies meet.
typedef struct SimBlock {
    size_t cells[3]; // cubes of 0.1 m as those of a beam; {x, 0, z}: a cloth of springs, 10 g a particle
    double at[3];    // its lowest corner
} SimBlock;

// Bodies 0 .. blocks-1, none of them fixed, in the air. Body b has material b: k_e 2000 N/m, k_d 2, k_f 5 N s/m, mu 0.4
// and margin 5 mm, all times 1 + b/2; fade 2 mm.
Status sim_scene_blocks(SimScene *scene, const SimBlock *block, size_t blocks, Error *err);

#endif
