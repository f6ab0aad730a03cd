// SPDX-License-Identifier: Apache-2.0
// A model in training on one device, for self-tests.
#ifndef VPD_BENCH_SELFTEST_MODEL_H
#define VPD_BENCH_SELFTEST_MODEL_H

#include "bench/selftest.h"
#include "bench/step_bench.h"
#include "nn/optimizer.h"
#include "train/episode.h"
#include "train/windows.h"

enum { SELFTEST_VIEWS = 2, SELFTEST_EPISODES = 2 };

typedef struct SelfTestModel {
    Vpd *model;
    Optimizer optimizer;
    Tape tape;
    LossWorkspace workspace;
    Windows windows; // if it is trained on windows
} SelfTestModel;

enum { SELFTEST_WINDOW_STEPS = 2 };

// Opens a model that is trained on `frames`, whose motion is measured once, or with NULL on windows of balls that fall
// onto a floor. `model` must not move in memory. Close it after a failure, too.
Status selftest_open_model(SelfTestModel *model, Device *device, const Config *config, const Observation *frames,
                           Error *err);
void selftest_close_model(SelfTestModel *model); // accepts {0}
// Loss and gradients of training step `step`: of SELFTEST_EPISODES episodes that all show `frames`, of which all views
// are input and rendered; NULL: of a batch of windows.
Status selftest_gradient(SelfTestModel *model, const Observation *frames, int step, double *loss, Error *err);
Status selftest_update(SelfTestModel *model, int step, Error *err);

typedef Status SelfTestGraph(SelfTest *test, StepGraph graph, const Observation *frames, Error *err);
// Calls `compare` for each graph that the test selects, with this number of frames of SELFTEST_VIEWS views of a
// synthetic room.
Status selftest_each_graph(SelfTest *test, int frames, int side, SelfTestGraph *compare, Error *err);

#endif
