// SPDX-License-Identifier: Apache-2.0
// Rollout steps of particles that belong to bodies (docs/model.md, "Bodies"): each body moves as the network of bodies/
// says, and stays rigid; the other particles stand still.
#ifndef VPD_MODEL_BODY_STEP_H
#define VPD_MODEL_BODY_STEP_H

#include "base/observation.h"
#include "bodies/body_network.h"
#include "motion/motion_field.h"

// A body that moves as it is told, whatever it meets, such as a gripper.
typedef struct SceneDrive {
    int32_t body;
    RigidMotion motion; // from the present to the next time step
} SceneDrive;

// The bodies of present particles, in the tape's host memory.
typedef struct SceneBodies {
    size_t count;       // particles; 0: no bodies are known
    int32_t *body;      // (count) number of its body, from 0; -1: it stands still
    real *before, *now; // (count, 3) metres: one time step ago, and at present
    real scale;         // lengths that the network sees for a metre (vpd_scale)
    uint8_t *image;     // (count) 1: a mirror image (motion/mirror.h), which is not drawn; NULL: none
    size_t drives;
    SceneDrive *drive; // (drives) for the next step
} SceneBodies;

// What stands still around the bodies of a scene. It looks the same in the next step.
typedef struct StepSurface {
    size_t count;
    real point[3 * BODY_PATCHES]; // (count, 3) metres
    SurfacePatch patch[BODY_PATCHES];
} StepSurface;

// Host memory that steps reuse. Starts as {0}.
typedef struct BodyStep {
    BodySet set;
    BodyInputs inputs;
    StepSurface *surface; // (surfaces) of the scenes of the last steps
    size_t surfaces;
} BodyStep;

void body_step_free(BodyStep *step); // accepts {0}

// Particles whose bodies are to be found, in host memory.
typedef struct BodiesInput {
    const Observation *observation;
    const MotionField *field; // the motion seen in it
    size_t count;
    const real *position, *colour, *moving; // (count, 3) metres, (count, 3), (count)
} BodiesInput;

// The particles' bodies and past positions in each scene, as the motion seen in the input tells them, with room for the
// field's points, at scale 1: in, out (scenes). extent: X, metres. If memory is short, the device is marked as failed.
void scene_bodies_find(Tape *tape, double colour_length, double extent, size_t scenes, const BodiesInput *in,
                       SceneBodies *out);

// Adds mirror images of what is seen of bodies that have particles; like[k] (field->count): the particle of its body
// that is nearest to the k-th image. Returns their number. If memory is short, the device is marked as failed.
size_t scene_bodies_add_images(Tape *tape, SceneBodies *bodies, const Observation *observation,
                               const MotionField *field, int32_t *like);

// Moves the bodies of one or more scenes, which do not see each other, by one time step. If memory is short, the device
// is marked as failed.
void body_step(Tape *tape, const BodyNetwork *network, const BodyScales *scales, BodyStep *step, size_t scenes,
               SceneBodies *const *bodies);

#endif
