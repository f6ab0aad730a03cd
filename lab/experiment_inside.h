// SPDX-License-Identifier: Apache-2.0
// Shared by lab/experiment*.c alone.
#ifndef VPD_LAB_EXPERIMENT_INSIDE_H
#define VPD_LAB_EXPERIMENT_INSIDE_H

#include "base/random.h"
#include "lab/experiment.h"
#include "lab/fit.h"

enum { EXPERIMENT_TEXT = 4096, EXPERIMENT_UNKNOWNS = 96 };

Status experiment_mass(const ExperimentOptions *options, ExperimentResult *out, Error *err);
Status experiment_contact(const ExperimentOptions *options, ExperimentResult *out, Error *err);
Status experiment_fem(const ExperimentOptions *options, ExperimentResult *out, Error *err);
Status experiment_landscape(const ExperimentOptions *options, ExperimentResult *out, Error *err);
Status experiment_policy(const ExperimentOptions *options, ExperimentResult *out, Error *err);

// Random numbers of one instance of an experiment.
typedef struct Dice {
    RandomKey key;
    uint64_t index;
} Dice;

static inline double dice(Dice *d, double low, double high) {
    return low + (high - low) * (double)random_uniform(d->key, d->index++);
}

typedef struct Unknown {
    char name[40];                  // as in a fit (lab/fit_free.h)
    double truth, start, low, high; // with `share`, of the text's own number
    bool share;
} Unknown;

// An instance: a scene, what is unknown in it, and where the search starts.
typedef struct Instance {
    char text[EXPERIMENT_TEXT];
    Unknown unknown[EXPERIMENT_UNKNOWNS];
    size_t unknowns;
} Instance;

#endif
