// SPDX-License-Identifier: Apache-2.0
// Which body particles at the rims of bodies belong to (docs/model.md, "Bodies"). There colours are mixed, and other
// bodies or the floor may be nearer than the next particle of the same body.
#ifndef VPD_MODEL_BODY_LABELS_H
#define VPD_MODEL_BODY_LABELS_H

#include "nn/tape.h"

enum { BODY_DISPUTED = -2 }; // a particle that may as well be of another body

// Particles of a scene, in host memory.
typedef struct LabelledParticles {
    size_t count;
    const real *x, *colour; // (count, 3) metres; rgb in [0,1]
    int32_t *body;          // (count) number of each particle's body, or -1 if it stands still
} LabelledParticles;

// Particles of each scene take the body whose surface they lie on, or become BODY_DISPUTED. extent: X, metres. If
// memory is short, the device is marked as failed.
void body_labels_settle(Tape *tape, double extent, size_t scenes, const LabelledParticles *particles);

#endif
