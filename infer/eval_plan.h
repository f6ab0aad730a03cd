// SPDX-License-Identifier: Apache-2.0
// Plans the rollouts of an evaluation: each episode with each start frame whose history and steps fit into the episode.
#ifndef VPD_INFER_EVAL_PLAN_H
#define VPD_INFER_EVAL_PLAN_H

#include "datasets/dataset.h"
#include "model/vpd.h"

enum { EVAL_DEFAULT_STEPS = 12 };

typedef struct EvalChoice {
    const int *episodes; // (episode_count)
    int episode_count;
    IntList starts; // present frames; empty: the earliest possible and one halfway to the last
    int steps;      // < 0: EVAL_DEFAULT_STEPS, or as many as all episodes allow
} EvalChoice;

typedef struct EvalRollout {
    int episode, start, stride;
} EvalRollout;

typedef struct EvalPlan {
    EvalRollout *rollouts; // (count) grouped by episode
    int count, episodes;   // rollouts; episodes with at least one
    int steps;
    int views;          // most views of an episode
    char left_out[512]; // "", or names the starts that do not fit
} EvalPlan;

// STATUS_BAD_INPUT if no start fits.
Status eval_plan_make(const Vpd *model, const Dataset *dataset, const EvalChoice *choice, EvalPlan *plan, Error *err);
void eval_plan_free(EvalPlan *plan); // accepts {0}

#endif
