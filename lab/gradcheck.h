// SPDX-License-Identifier: Apache-2.0
// Holds the gradient of a scene against differences. The loss is a sum of all positions and velocities of all frames
// with random weights. Each value of the table (sim/values.h) is changed along one random direction, all of its entries
// at once; the loss is then a function of one number h, whose slope is known from the adjoint and from differences:
// (L(h) - L(-h)) / 2h, or, where an entry is 0 and may not be less, (4 L(h) - L(2h) - 3 L(0)) / 2h.
// Differences are always of f64. Where rounding hides the slope, as that of a stiffness in free flight, three larger
// steps are taken: rounding is what
// loss and gradient change by when the start is moved by a unit in the last place. Where none
// of three step sizes fits, three smaller ones are taken: near a kink (a contact that begins, friction that stops a
// particle) only short steps stay on one side of it.
#ifndef VPD_LAB_GRADCHECK_H
#define VPD_LAB_GRADCHECK_H

#include "lab/scene.h"

enum { GRADCHECK_STEPS = 3 };

typedef enum GradcheckVerdict {
    GRADCHECK_RIGHT,    // at one of the steps the error is within the limit, or within rounding
    GRADCHECK_WRONG,    // two differences agree with each other, and the adjoint is far from them
    GRADCHECK_UNKNOWN,  // no two differences say enough: kinks (also at the very point), chaos or rounding
    GRADCHECK_F32_ALONE // the same adjoint in f64 is right: f32 rounds too much, or takes the other side of a kink
} GradcheckVerdict;
extern const char *const gradcheck_verdicts[]; // in words

typedef struct GradcheckRow {
    SimValue value;
    size_t entries;
    double adjoint;
    double step[GRADCHECK_STEPS]; // h, by the entry itself or by its unit (positions: a tenth of the shortest edge,
                                  // forces: 10 m/s2 of the particle's mass)
    double difference[GRADCHECK_STEPS], rounding[GRADCHECK_STEPS]; // rounding: what it may do to a difference
    double usual; // size of a slope along a random direction: parts of opposite sign may cancel in this one
    double error; // least over the steps of |adjoint - difference| / the largest of the two and `usual`
    GradcheckVerdict verdict;
} GradcheckRow;

typedef struct Gradcheck {
    SimPrecision precision; // of the adjoint
    double limit;           // of errors: 1e-6 in f64, 1e-3 in f32
    double growth;          // of the adjoint over the rollout
    GradcheckRow row[SIM_VALUES];
    size_t rows;
    size_t of[GRADCHECK_F32_ALONE + 1]; // rows of each verdict
} Gradcheck;

#define GRADCHECK_GROWTH 1e6 // above it, a right gradient is useless

// The adjoint in the scene's precision when its file names one, else in f64. `on`: as for record_run (lab/record.h).
Status gradcheck_run(const SimScene *scene, const SimOptions *on, Gradcheck *out, Error *err);

// Fills in error and verdict; never GRADCHECK_F32_ALONE.
void gradcheck_judge(GradcheckRow *row, double limit);
// Takes the differences of smaller steps for a row that is not right, where they say more: they are rounded more, so
// those that agreed before stay unless a kink parts them from these.
void gradcheck_refine(GradcheckRow *row, GradcheckRow *finer, double limit);
// Judges a row of larger steps, for a slope that rounding hides, by the better of the first two: it is off by no more
// than its rounding and its distance from the next, and the adjoint by `own`. A word is said only where all of that is
// little, by the slope, or where the slope is a millionth (the limit) of `size` at most: the sum of the sizes of the
// loss's terms.
void gradcheck_judge_coarse(GradcheckRow *row, double own, double size, double limit);
// Excuses a wrong row where the loss has a kink at the very point: the slopes to either side differ, and the gradient
// is not ten times as far from their mean as they are apart. A body at rest has a kink at each step, of which the
// adjoint takes one side, so it need not lie between the two. `up`, `down`: rows of differences to that side alone.
void gradcheck_judge_sides(GradcheckRow *row, const GradcheckRow *up, const GradcheckRow *down, double limit);

#endif
