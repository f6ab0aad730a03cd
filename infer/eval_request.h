// SPDX-License-Identifier: Apache-2.0
// An evaluation as it is asked for by `vpd eval` and by the library: which episodes by name or split, then
// plan and run.
#ifndef VPD_INFER_EVAL_REQUEST_H
#define VPD_INFER_EVAL_REQUEST_H

#include "infer/eval.h"
#include "infer/session.h"

typedef struct EvalEpisodes {
    int *list, count;
    bool split[SPLIT_COUNT]; // which splits were asked for
    char words[64];          // "val,test", for the heading
} EvalEpisodes;

// `splits`: "train,test"; NULL: "val,test". `names` (name_count), by name or number, take their place. An unknown name
// or split, or no episode at all, is STATUS_BAD_INPUT. Free `out` also after an error.
Status eval_episodes_choose(const Dataset *dataset, const char *splits, const char *const *names, int name_count,
                            EvalEpisodes *out, Error *err);
void eval_episodes_free(EvalEpisodes *episodes); // accepts {0}

typedef struct EvalRequest {
    const EvalEpisodes *episodes;
    IntList starts, views; // as in EvalChoice and EvalOptions
    int steps;             // < 0: as in EvalChoice
    bool seen_only, motion_only;
    const char *pictures; // folder, made when missing; NULL: none
    const Log *log;       // progress, and what was left out as a warning
} EvalRequest;

// Fills the report with its heading. Pictures together with motion_only are STATUS_BAD_INPUT.
Status eval_request_run(const Session *session, const Dataset *dataset, const EvalRequest *request, Report *report,
                        Error *err);

#endif
