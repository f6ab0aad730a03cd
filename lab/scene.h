// SPDX-License-Identifier: Apache-2.0
// Scenes of the simulator: a YAML file (docs/simulator.md has every key) becomes a model, its values and a run.
#ifndef VPD_LAB_SCENE_H
#define VPD_LAB_SCENE_H

#include "sim/sim.h"

enum { SCENE_NAME_SIZE = 128, SCENE_OBJECTS_MAX = 1000 };

// Particles, springs, tets and hinges of an object are consecutive.
typedef struct SceneObject {
    char name[SCENE_NAME_SIZE];
    size_t particle, particles, spring, springs, tet, tets, hinge, hinges; // first, and how many
    uint8_t colour[3];
} SceneObject;

typedef struct SimScene {
    char *path;
    SimModel model;   // of one scene; its arrays belong to the SimScene
    SimValues values; // each value of the model: parameters, initial state, and controls of one interval per frame
    SceneObject *objects;
    size_t object_count;
    SimPrecision precision;
    bool has_precision; // the file says it
    bool y_up;
    double frame_time; // seconds
    long frames;       // after the first
    long substeps;     // of a frame
    double memory_mib;
    long seed; // of the directions in which gradients are checked
} SimScene;

Status scene_read(const char *path, SimScene *out, Error *err);
// The same for a text; files that it names lie in `folder`. `name` is for messages.
Status scene_parse(const char *text, size_t length, const char *name, const char *folder, SimScene *out, Error *err);
void scene_free(SimScene *scene); // accepts {0}

// Makes B scenes of a scene of one, all with the same values.
Status scene_repeat(SimScene *scene, size_t B, Error *err);

// The rollout that the scene describes, without keep.
SimRun scene_run(const SimScene *scene);
SimOptions scene_options(const SimScene *scene);

#endif
