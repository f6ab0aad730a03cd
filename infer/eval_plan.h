// SPDX-License-Identifier: Apache-2.0
// Which rollouts an evaluation makes: episodes times start frames, as far as history and steps fit into the episode.
#ifndef VPD_INFER_EVAL_PLAN_H
#define VPD_INFER_EVAL_PLAN_H

#include "datasets/dataset.h"
#include "model/vpd.h"

enum { EVAL_DEFAULT_STEPS = 12 };

typedef struct EvalChoice {
    const int *episodes; // (episode_count)
    int episode_count;
    IntList starts;   // present frames; empty: the earliest and one halfway to the last that fits
    int steps;        // < 0: EVAL_DEFAULT_STEPS, or as many as every episode allows
    double time_step; // seconds between two frames that the model learned; 0: unknown
} EvalChoice;

typedef struct EvalRollout {
    int episode, start, stride;
} EvalRollout;

typedef struct EvalPlan {
    EvalRollout *rollouts; // (count) grouped by episode
    int count, episodes;   // rollouts; episodes with at least one
    int steps;
    int views;          // of the episode with the most
    char left_out[512]; // "" or which starts do not fit
} EvalPlan;

// Not one start that fits is STATUS_BAD_INPUT.
Status eval_plan_make(const Vpd *model, const Dataset *dataset, const EvalChoice *choice, EvalPlan *plan, Error *err);
void eval_plan_free(EvalPlan *plan); // accepts {0}

#endif
