// SPDX-License-Identifier: Apache-2.0
// The recording that a fit compares a rollout with, frame by frame: states of a rollout file, states or pictures of a
// data set.
#ifndef VPD_LAB_FIT_DATA_H
#define VPD_LAB_FIT_DATA_H

#include "datasets/dataset.h"
#include "lab/fit_free.h"

typedef struct FitData {
    const SimScene *scene;
    char source[1200];            // "my.h5, episode 000003"
    uint32_t kinds;               // FIT_STATES, ..
    double size[FIT_KINDS];       // of residuals, by which they are divided: 1 when one kind is compared
    double usual;                 // size of a residual that need not surprise
    size_t frames;                // compared, the first included
    size_t every;                 // of them, so far apart; the last one always. 0: 1
    double *position;             // (frames,N,3) of every particle, in the scene's axes; or NULL
    double *centre;               // (frames,O,3) of every object; or NULL
    struct FitPictures *pictures; // or NULL
} FitData;

// `kinds` 0: states, or colour where the recording has none. Scene and dataset must outlive it. STATUS_BAD_INPUT: the
// recording lacks what is to be compared, has another number of particles or objects, or its frames come at other times
// than the scene's.
Status fit_data_open_rollout(const char *path, uint32_t kinds, const SimScene *scene, FitData *out, Error *err);
// `smooth`: by the adjoint; `threads` draw, 0: threads_available().
Status fit_data_open(const Dataset *dataset, int episode, uint32_t kinds, const SimScene *scene, bool smooth,
                     int threads, FitData *out, Error *err);
// A file of either kind. `dataset` and `episode` stay NULL and 0 for a rollout file; the caller closes the first.
typedef struct FitFile {
    const char *path, *episode; // by name or number; NULL: the first. STATUS_BAD_INPUT with a rollout file
    uint32_t kinds;
    bool smooth;
    int threads;
} FitFile;
Status fit_data_open_file(const FitFile *file, const SimScene *scene, Dataset **dataset, int *episode, FitData *out,
                          Error *err);
// Positions (frames,N,3) in the scene's axes, at its times. They are copied.
Status fit_data_open_states(const double *position, size_t frames, const SimScene *scene, FitData *out, Error *err);
// What the scene itself does: FIT_STATES, or FIT_COLOUR in double and without blur (docs/simulator_experiments.md).
Status fit_data_record(SimScene *scene, uint32_t kind, int threads, FitData *out, Error *err);
// Pictures are blurred by so many pixels.
void fit_data_blur(FitData *data, double pixels);
void fit_data_close(FitData *data); // accepts {0}

// A frame of a rollout.
typedef struct FitFrame {
    size_t frame;
    const double *position; // (N,3)
    size_t variables;       // P
    const double *along;    // (P,N,3) dposition/dx; NULL: sums->gradient is not wanted from it
    double *slope;          // (N,3) dcost/dposition is added to it; NULL: not wanted
    // Of every particle, for centres of mass: (N) mass, (P,N) dmass/dx with `along`, (N) dcost/dmass, to which is
    // added, with `slope`.
    const double *mass, *mass_along;
    double *mass_slope;
} FitFrame;

// Adds the residuals of a frame: metres, and shares of full colour.
Status fit_data_compare(FitData *data, const FitFrame *in, MinimiseSums *sums, Error *err);

#endif
