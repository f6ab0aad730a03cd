// SPDX-License-Identifier: Apache-2.0
// The recording that a fit compares a rollout with, frame by frame: states of a rollout file or of a data set.
#ifndef VPD_LAB_FIT_DATA_H
#define VPD_LAB_FIT_DATA_H

#include "datasets/dataset.h"
#include "lab/fit_free.h"

typedef struct FitData {
    const SimScene *scene;
    char source[1200]; // "my.h5, episode 000003"
    uint32_t kinds;    // FIT_STATES
    size_t frames;     // compared, the first included
    double *position;  // (frames,N,3) of every particle, in the scene's axes; or NULL
    double *centre;    // (frames,O,3) of every object; or NULL
} FitData;

// `kinds` 0: states. The scene must outlive it. STATUS_BAD_INPUT: the recording lacks what is to be compared, has
// another number of particles or objects, or its frames come at other times than the scene's.
Status fit_data_open_rollout(const char *path, uint32_t kinds, const SimScene *scene, FitData *out, Error *err);
Status fit_data_open(const Dataset *dataset, int episode, uint32_t kinds, const SimScene *scene, FitData *out,
                     Error *err);
void fit_data_close(FitData *data); // accepts {0}

// A frame of a rollout.
typedef struct FitFrame {
    size_t frame;
    const double *position; // (N,3)
    size_t variables;       // P
    const double *along;    // (P,N,3) dposition/dx; NULL: sums->gradient is not wanted from it
    double *slope;          // (N,3) gets dcost/dposition; NULL: not wanted
} FitFrame;

// Adds the residuals of a frame, in metres.
Status fit_data_compare(FitData *data, const FitFrame *in, MinimiseSums *sums, Error *err);

#endif
