// SPDX-License-Identifier: Apache-2.0
// Parts of the demo's page: a model's rollouts beside the truth, its figures, and the curves of a run.
#ifndef VPD_APP_STORY_H
#define VPD_APP_STORY_H

#include "base/log.h"
#include "datasets/dataset.h"
#include "infer/session.h"
#include "view/page.h"

typedef struct StoryOptions {
    const Dataset *dataset;
    const int *episodes; // (episode_count) shown as moving pictures
    int episode_count;
    const int *measured; // (measured_count) evaluated for the table
    int measured_count;
    int start; // present frame of the moving pictures
    int steps; // predicted in them
    const Log *log;
} StoryOptions;

// Moving pictures of each shown episode: truth above prediction, an input view and the held-out one.
Status story_moving(Page *page, const Session *session, const StoryOptions *options, Error *err);

// Large figures, a table over steps and curves, from an evaluation of the measured episodes.
Status story_figures(Page *page, const Session *session, const StoryOptions *options, Error *err);

// A section with the first shown episode as it was seen, and edited: an object removed, copied, the ground removed, 16
// objects. Nothing where no object is found.
Status story_edits(Page *page, const Session *session, const StoryOptions *options, Error *err);

// Loss and PSNR over steps, from FOLDER/metrics.jsonl.
Status story_curves(Page *page, const char *folder, Error *err);

#endif
