// SPDX-License-Identifier: Apache-2.0
// The whole model (docs/model.md): posed RGB-D frames in, predicted particles and rendered pictures out.
//   vpd_place   T frames of V views           -> T sets of points
//   vpd_encode  the same and its points       -> T particle sets
//   vpd_steps   T particle sets               -> T sets: the predicted one is added, the oldest is dropped; with bodies
//                                                one set, in which bodies and their shadows have moved
//   vpd_renders present set, rays (R,3)+(R,3) -> colour (R,3) in [0,1], opacity (R,1), depth (R,1) metres
// They take several scenes at once, which do not see each other, so that a GPU has more to do at a time: their
// particles, and their rays, stand one behind the other.
#ifndef VPD_MODEL_VPD_H
#define VPD_MODEL_VPD_H

#include "bodies/body_network.h"
#include "encoder/encoder.h"
#include "encoder/sample.h"
#include "gnn/dynamics.h"
#include "model/body_step.h"
#include "model/config.h"
#include "model/shadows.h"
#include "motion/observe.h"
#include "nn/parameters.h"
#include "renderer/renderer.h"

typedef struct Vpd {
    Config config; // resolved, all lengths known
    Device *device;
    Parameters parameters;
    Encoder encoder;
    Dynamics *dynamics;
    BodyNetwork bodies; // with gnn.graph=bodies, in place of the dynamics
    Renderer renderer;
} Vpd;

// Builds the model with initial weights from a resolved config with all lengths (model/lengths.h). The device must
// outlive the model.
Status vpd_create(const Config *config, Device *device, Vpd **out, Error *err);
void vpd_free(Vpd *model); // accepts NULL

typedef enum VpdPart { VPD_ENCODER, VPD_DYNAMICS, VPD_RENDERER } VpdPart;
// Marks the current part for tape_part. Encode, step and render call it themselves.
void vpd_part(Tape *tape, VpdPart part);

// Host memory that encoding reuses, so that a warm step allocates nothing. Starts as {0}.
typedef struct Workspace {
    PointCloud *clouds;    // (frames) of each input frame of each scene: its points,
    Selection *selections; // (frames) and those that are chosen
    size_t frames;
    BodyStep step;
} Workspace;

void workspace_free(Workspace *workspace);

// Mean colour of the pixels without depth, or of all pixels if all have depth.
void observation_background(const Observation *observation, real out[3]);
// The camera of view `view` at a frame.
RendererCamera observation_camera(const Observation *observation, int frame, int view);

// Random key of a scene.
typedef struct SceneKey {
    uint32_t seed, step, episode;
} SceneKey;

// Particles of a set when it was encoded, host memory.
typedef struct ScenePoints {
    size_t count;
    const real *position, *colour; // (N,3) metres, (N,3)
    const int32_t *pixel;          // (N) (view position * H + row) * W + column that a particle came from
} ScenePoints;

// The state of a rollout, on a tape.
typedef struct Scene {
    GnnSets sets;                     // oldest first; the last is the present
    Tensor *radius;                   // (N,1) metres, support radii of the present particles; no gradient
    real reach;                       // the largest radius
    ScenePoints points[GNN_MAX_SETS]; // of each set
    const real *moving, *radii;       // (N) host, of the present points: flags; metres
    SceneBodies bodies;               // with gnn.graph=bodies
    BodyStep *step;                   // memory for their steps
    double light[3];                  // the way that light travels, a unit vector; 0: none is known
    Shadows *shadows;                 // that go with bodies from the first step on; NULL: none
    Tensor *features;                 // before the first step
    real background[3];               // mean colour of the input pixels without depth
    SceneKey key;
    uint32_t rollout_step;
} Scene;

static inline GnnSet *scene_present(Scene *scene) { return &scene->sets.set[scene->sets.count - 1]; }

// Options of motion_observe for this model.
MotionOptions vpd_motion_options(const Vpd *model);
Status vpd_observe(Tape *tape, const Vpd *model, const Observation *history, MotionSeen *out, Error *err);

// What a scene is encoded from.
typedef struct SceneInput {
    const Observation *history; // the T input frames
    const MotionSeen *seen;     // the motion in them
    SceneKey key;
} SceneInput;

// Chooses the particles of several scenes: inputs, scenes (count). It needs no weights. The host does it, but for
// searches of neighbours, which the tape's device does for all scenes at once. STATUS_BAD_INPUT if no pixel of a last
// frame has valid depth; *at is then its scene.
Status vpd_place(Tape *tape, const Vpd *model, Workspace *workspace, size_t count, const SceneInput *inputs,
                 Scene *const *scenes, size_t *at, Error *err);
// Gives these particles to the tape's device, which may be another one, with their features. Images of one size are one
// call of the encoder.
Status vpd_encode(Tape *tape, const Vpd *model, size_t count, const SceneInput *inputs, Scene *const *scenes,
                  Error *err);

// vpd_observe, vpd_place, then vpd_encode, of one scene, for callers that do not need the motion.
Status vpd_observe_and_encode(Tape *tape, const Vpd *model, Workspace *workspace, const Observation *history,
                              SceneKey key, Scene *scene, Error *err);

// Results of a step besides the new sets.
typedef struct StepOutput {
    Tensor *dx; // (N,3) metres; NULL without dynamics
    Tensor *h;  // (M,C) abstract nodes after the last round; NULL without nodes or under tape_checkpoint
} StepOutput;

// Steps of several scenes: one graph, or one batch of bodies. Each scene moves as it would alone. out (count).
void vpd_steps(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, StepOutput *out);
StepOutput vpd_step(Tape *tape, const Vpd *model, Scene *scene);
// The two halves of vpd_steps without bodies: nodes and edges of the next step, then the step. A plan may be kept and
// reused (finite differences).
void vpd_plan(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, GnnPlan *plan);
void vpd_move(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, const GnnPlan *plan, StepOutput *out);
// Whether steps predict motion, which needs a graph and at least two input frames.
bool vpd_has_dynamics(const Vpd *model);
bool vpd_has_bodies(const Vpd *model); // gnn.graph=bodies
BodyScales vpd_body_scales(const Vpd *model);
// Lengths that the network of bodies sees for a metre where frames come every `time_step` seconds (docs/model.md,
// "Frames at another rate"). 1 at the time step that it learned (data.time_step), or where one of both is not known.
double vpd_scale(const Vpd *model, double time_step);
// Whether the model can move what frames every `time_step` seconds show: the time step that it learned, with bodies one
// up to 4 times as long or short; any if one of both is not known.
bool vpd_moves_at(const Vpd *model, double time_step);

RendererParticles vpd_particles(const Scene *scene);
// Rays in host memory, those of each scene behind those of the one before.
typedef struct SceneRays {
    const size_t *count;            // (scenes) rays of each; R in all
    const real *origin, *direction; // (R,3)
    const real *jitter;             // (R); NULL = 0.5
} SceneRays;

// Pictures of several scenes: each ray sees its scene alone. The output's rows are in the order of the rays.
RendererOutput vpd_renders(Tape *tape, const Vpd *model, size_t count, Scene *const *scenes, const SceneRays *rays);
// If `samples` is not NULL, a non-NULL *samples is used instead of placing new samples, and *samples is set.
RendererOutput vpd_render(Tape *tape, const Vpd *model, const Scene *scene, size_t count, const real *origin,
                          const real *direction, const real *jitter, RendererSamples **samples);

#endif
