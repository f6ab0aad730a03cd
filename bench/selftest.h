// SPDX-License-Identifier: Apache-2.0
// Does a device compute what another one does? Every case of every op forward and backward, the same bits when it is
// done again, nearest neighbours entry by entry, and training steps of whole models. Inputs are made up, so that a
// program alone is enough (`vpd selftest`).
#ifndef VPD_BENCH_SELFTEST_H
#define VPD_BENCH_SELFTEST_H

#include "nn/device.h"

// What one op, or one model, came to. An error of a tensor is the largest difference of an element over the largest
// magnitude of an element of the reference; infinity where one of the two is not finite and the other is something
// else.
typedef struct SelfTestResult {
    const char *part;       // "ops", "again", "neighbours", "models", "graphs", and "ops bf16" and so on
    const char *name;       // of the op or form
    size_t checked, failed; // cases
    double worst, allowed;  // error
    char where[256];        // the case of `worst`, or what went wrong in the first that failed
} SelfTestResult;

typedef struct SelfTest {
    Device *reference, *device;
    bool large;          // also the sizes that `vpd bench ops` times, and models of the reference widths
    int steps;           // training steps of each model
    const char *model;   // that one alone ("paper", "paper, velocity", "full"); NULL: all
    Precision precision; // of the device, one that it has; the reference is in f32
    void (*report)(void *context, const SelfTestResult *result);
    void *context;
    size_t failed; // results with a failure so far
} SelfTest;

// STATUS_OK also when something differs: that is in `failed`. Errors are those of the reference, and of memory. In
// another precision than f32 ops whose gradients jump are left out, and gradients of models are compared as a whole.
Status selftest_ops(SelfTest *test, Error *err);
Status selftest_neighbours(SelfTest *test, Error *err);
Status selftest_models(SelfTest *test, Error *err);
// Whether test->device comes to the same bits with train.cuda_graph as without.
Status selftest_replays(SelfTest *test, Error *err);

// ---- for these three

// What precisions may cost, and the names of parts in them.
typedef struct SelfTestPrecision {
    double op_error, model_error, gradient_error; // the last: of the whole gradient, by its length
    const char *ops, *again, *models, *gradients;
} SelfTestPrecision;
extern const SelfTestPrecision selftest_precisions[]; // by Precision

// Counts a case that has this error.
void selftest_note(SelfTestResult *result, const char *where, double error);
// Counts a case that could not be computed.
void selftest_note_failure(SelfTestResult *result, const char *where, const char *why);
void selftest_report(SelfTest *test, const SelfTestResult *result);
// The error of `count` reals of test->device against those of test->reference, which count as no smaller than `least`;
// NULLs are 0. False without memory.
bool selftest_difference(const SelfTest *test, const real *expected, const real *found, size_t count, double least,
                         double *error);
// The largest magnitude. False without memory.
bool selftest_largest(Device *device, const real *values, size_t count, double *out);

#endif
