// SPDX-License-Identifier: Apache-2.0
// Compares a device with a reference device: every case of every op, forward and backward; whether a repetition gives
// the same bits; nearest neighbours entry by entry; the simulator and the rasterisers with their gradients; and
// training steps of whole models. Inputs are synthetic, so `vpd selftest` needs no files.
#ifndef VPD_BENCH_SELFTEST_H
#define VPD_BENCH_SELFTEST_H

#include "nn/device.h"

// Result of one op or model. The error of a tensor is its largest absolute difference over the largest magnitude in the
// reference, or infinity if exactly one of the two is not finite.
typedef struct SelfTestResult {
    const char *part; // "ops", "again", "neighbours", "sim f32", "models", "graphs", or with a precision "ops bf16", ..
    const char *name; // of the op or form
    size_t checked, failed; // cases
    double worst, allowed;  // error
    char where[256];        // the case of `worst`, or the error of the first case that failed
} SelfTestResult;

typedef struct SelfTest {
    Device *reference, *device;
    bool large;          // include the sizes of `vpd bench ops`, and models of the reference widths
    bool quick;          // ops in each precision, but models in f32 alone, and no graphs
    int steps;           // training steps of each model
    const char *model;   // test only this one ("hierarchical", "bodies", "windows"); NULL: all
    Precision precision; // of the device; the reference uses f32
    void (*report)(void *context, const SelfTestResult *result);
    void *context;
    size_t failed; // number of results with a failure so far
} SelfTest;

// Returns STATUS_OK even if results differ; `failed` counts those. Errors are those of the reference, and of memory. In
// precisions other than f32, ops with discontinuous gradients are skipped, and gradients of models are compared as a
// whole.
Status selftest_ops(SelfTest *test, Error *err);
Status selftest_neighbours(SelfTest *test, Error *err);
Status selftest_sim(SelfTest *test, Error *err);
Status selftest_raster(SelfTest *test, Error *err);
Status selftest_models(SelfTest *test, Error *err);
// Whether test->device gives the same bits with train.cuda_graph as without.
Status selftest_replays(SelfTest *test, Error *err);

// ---- shared by these

// Errors allowed in each precision, and the names of its parts.
typedef struct SelfTestPrecision {
    double op_error, model_error, gradient_error; // gradient_error: of the whole gradient, by its length
    const char *ops, *again, *models, *gradients;
} SelfTestPrecision;
extern const SelfTestPrecision selftest_precisions[]; // by Precision

// Records the error of a case.
void selftest_note(SelfTestResult *result, const char *where, double error);
// Records a case that could not be computed.
void selftest_note_failure(SelfTestResult *result, const char *where, const char *why);
void selftest_report(SelfTest *test, const SelfTestResult *result);
// The error of `count` reals of test->device relative to test->reference, whose magnitude counts as at least `least`.
// NULL arrays count as 0. False if memory is short.
bool selftest_difference(const SelfTest *test, const real *expected, const real *found, size_t count, double least,
                         double *error);
// The largest magnitude. False if memory is short.
bool selftest_largest(Device *device, const real *values, size_t count, double *out);

#endif
