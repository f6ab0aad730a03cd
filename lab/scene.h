// SPDX-License-Identifier: Apache-2.0
// Scenes of the simulator: a YAML file (docs/simulator.md has every key) becomes a model, its values and a run.
#ifndef VPD_LAB_SCENE_H
#define VPD_LAB_SCENE_H

#include "base/vector.h"
#include "lab/mesh.h"
#include "raster/raster.h"
#include "sim/sim.h"

enum { SCENE_NAME_SIZE = 128, SCENE_OBJECTS_MAX = 1000, SCENE_CAMERAS_MAX = 1000 };

// Particles, springs, tets, hinges and faces of an object are consecutive. One that is rigid has particles and faces
// alone.
typedef struct SceneObject {
    char name[SCENE_NAME_SIZE];
    size_t particle, particles, spring, springs, tet, tets, hinge, hinges, face, faces; // first, and how many
    size_t hidden; // the last of its particles, which lie in no face, touch nothing and are not drawn
    uint8_t colour[3];
    bool rigid;                // moves as one piece
    bool smooth;               // is drawn with normals of vertices, not of faces
    char note[MESH_NOTE_SIZE]; // of its mesh
} SceneObject;

// Particles of its shape, which are its first.
static inline size_t scene_own_particles(const SceneObject *object) { return object->particles - object->hidden; }

// Rows of a value that belong to an object: how many, and the first. 0: it is no value of particles or elements.
size_t scene_value_rows(const SceneObject *object, SimValue value, size_t *first);

// A joint that is a hinge, whose angle grows as its second object turns about the axis, or a slider, whose position
// grows as that moves along the axis; or a ball joint that resists turning.
typedef struct SceneAxis {
    char name[SCENE_NAME_SIZE];
    size_t row; // of the model's hinges, slides or sockets
} SceneAxis;

typedef struct SceneCamera {
    char name[SCENE_NAME_SIZE];
    double K[9], world_from_camera[16];
} SceneCamera;

// How the scene is drawn (lab/render.h).
typedef struct ScenePicture {
    int H, W;
    RasterOptions raster;
    double near, far;     // metres; 0: from the camera and the box
    double background[3]; // 0 to 1
    double ambient;       // light from everywhere
    bool planes;          // are drawn
    RasterLight *light;   // (lights)
    size_t lights;
    SceneCamera *camera; // (cameras)
    size_t cameras;
    bool has_cameras; // the file names each; else they stand around the scene
    double box[6];    // (2,3) metres: of the particles at the start, and of where they would fall
} ScenePicture;

typedef struct SimScene {
    char *path;
    SimModel model;   // of one scene; its arrays belong to the SimScene
    SimValues values; // each value of the model: parameters, initial state, and controls of one interval per frame
    SceneObject *objects;
    size_t object_count;
    int32_t *face; // (faces,3) surfaces of solids and cloth, outwards; numbers within the object
    size_t faces;
    size_t joint_springs; // the last springs of the model, which belong to no object
    SceneAxis *hinge;     // (hinges) of joints, which are the model's last
    SceneAxis *slider;    // (sliders) whose positions are the model's first slides
    SceneAxis *ball;      // (balls) which are the model's sockets
    size_t hinges, sliders, balls;
    ScenePicture picture;
    SimPrecision precision;
    bool has_precision; // the file says it
    bool y_up;
    bool has_fit, has_random; // whether the file has these sections, which lab/fit_free.h reads
    double frame_time;        // seconds
    long frames;              // after the first
    long substeps;            // of a frame
    double memory_mib;
    size_t memory_line; // where the file says it; 0: nowhere
    long seed;          // of the directions in which gradients are checked
} SimScene;

Status scene_read(const char *path, SimScene *out, Error *err);
// The same for a text; files that it names lie in `folder`. `name` is for messages.
Status scene_parse(const char *text, size_t length, const char *name, const char *folder, SimScene *out, Error *err);
void scene_free(SimScene *scene); // accepts {0}

// Makes B scenes of a scene of one, all with the same values.
Status scene_repeat(SimScene *scene, size_t B, Error *err);

static inline void scene_grow_box(double box[6], const double at[3]) {
    for (int c = 0; c < 3; c++) {
        if (at[c] < box[c]) box[c] = at[c];
        if (at[c] > box[3 + c]) box[3 + c] = at[c];
    }
}
// Along a plane's normal of length 1: the particle is above the plane where this is more than its offset.
static inline double scene_height(const SimPlane *plane, const double at[3]) {
    return vector_dot(plane->normal, at) / sqrt(vector_dot(plane->normal, plane->normal));
}
// From the scene's axes to those of rollout files and data sets, whose z is up. *out may be *in.
void scene_turn(const SimScene *scene, const double in[3], double out[3]);
void scene_turn_pose(const SimScene *scene, const double in[16], double out[16]);

// Turns the cameras that stand around the scene to a box (2,3) in which the motion takes place; named ones stay.
void scene_aim(SimScene *scene, const double box[6]);

// The rollout that the scene describes, without keep.
SimRun scene_run(const SimScene *scene);
SimOptions scene_options(const SimScene *scene);
SimOptions scene_options_on(const SimScene *scene, const SimOptions *on); // with the threads, isa and device of `on`

// Puts the scene's file before an error of its simulation, and the line of `memory_mib` where that is refused.
Status scene_failed(const SimScene *scene, Status status, Error *err);

#endif
