// SPDX-License-Identifier: Apache-2.0
// An evaluation as `vpd eval` and the library request it: choose episodes by name or split, then plan and run.
#ifndef VPD_INFER_EVAL_REQUEST_H
#define VPD_INFER_EVAL_REQUEST_H

#include "infer/eval.h"
#include "infer/session.h"

typedef struct EvalEpisodes {
    int *list, count;
    bool split[SPLIT_COUNT]; // which splits were asked for
    char words[64];          // "val,test", for the heading
} EvalEpisodes;

// `splits`: "train,test"; NULL: "val,test". Episodes in `names` (name_count), by name or number, are used instead if
// there are any. An unknown name or split, or an empty result, is STATUS_BAD_INPUT. Free `out` also after an error.
Status eval_episodes_choose(const Dataset *dataset, const char *splits, const char *const *names, int name_count,
                            EvalEpisodes *out, Error *err);
void eval_episodes_free(EvalEpisodes *episodes); // accepts {0}

typedef struct EvalRequest {
    const EvalEpisodes *episodes;
    IntList starts, views, driven; // as in EvalChoice and EvalOptions
    const char *analytic;          // as in RolloutRequest
    int steps;                     // < 0: as in EvalChoice
    bool seen_only, motion_only;
    const char *pictures; // folder, created if missing; NULL: none
    const Log *log;       // progress, and a warning about starts that are left out
    Ranks *ranks;         // as in EvalOptions
} EvalRequest;

// Fills the report and its heading. Pictures together with motion_only are STATUS_BAD_INPUT.
Status eval_request_run(const Session *session, const Dataset *dataset, const EvalRequest *request, Report *report,
                        Error *err);

#endif
