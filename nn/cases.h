// SPDX-License-Identifier: Apache-2.0
// Each op has one table of cases (NAME_cases.c beside it): shapes, awkward sizes, expected work. Four things read it:
// the finite-difference check (in double), the comparison with stored PyTorch values, the comparison of back ends
// (`vpd selftest`), and the benchmark (`vpd bench ops`). To add an op is one header, glue, one file per back end, one
// table, and its name in the list of backend.h.
#ifndef VPD_NN_CASES_H
#define VPD_NN_CASES_H

#include "base/random.h"
#include "nn/tape.h"

enum { CASE_INPUTS = 16, CASE_SIZES = 12 };

typedef struct CaseInput {
    const char *name;
    size_t rows, cols;
    double low, high; // uniform random values between
    bool wants_grad;
} CaseInput;

typedef struct OpCase OpCase;
struct OpCase {
    const char *name;              // "odd 7x5x3"
    CaseInput inputs[CASE_INPUTS]; // up to the first without a name
    // Runs the op; integer inputs (lists, segments) are made here from `sizes`.
    Tensor *(*run)(Tape *tape, Tensor *const *inputs, const OpCase *c);
    long sizes[CASE_SIZES]; // the op's own
    double flops;           // useful work forward + backward; 0 = bound by memory
    bool bench;             // a size worth timing; left out of finite differences
};

typedef struct OpCases {
    const char *op;
    const OpCase *cases;
    size_t count;
} OpCases;

size_t case_input_count(const OpCase *c);

// Key of a case's random numbers: of input 0, 1, .., then of these streams. It comes of the name, so that a case keeps
// its numbers when others are added.
enum { CASE_UPSTREAM = CASE_INPUTS, CASE_DIRECTION };
RandomKey case_key(const OpCase *c, uint32_t stream);

// One run of a case on a tape: inputs keyed by the case's name, upstream gradient keyed too.
typedef struct CaseRun {
    Tape tape;
    Tensor *inputs[CASE_INPUTS];
    Tensor *output;
    size_t input_count;
    double forward_seconds, backward_seconds; // of the op alone
    double forward_bytes, backward_bytes;     // of inputs, output and their gradients, each moved once
} CaseRun;

// Makes the inputs (values moved by `step` * `direction` in input `moved`, for finite differences; direction NULL =
// none), runs forward and, when `backward`, backward from the keyed upstream gradient.
Status case_run(Device *device, const OpCase *c, int moved, const real *direction, real step, bool backward,
                CaseRun *run, Error *err);
// Runs it again, backward too, in the same memory.
Status case_run_again(CaseRun *run, const OpCase *c, Error *err);
void case_run_free(CaseRun *run);

#endif
