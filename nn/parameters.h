// SPDX-License-Identifier: Apache-2.0
// The named parameters of a model: values and gradients each in one block, so that optimiser, clipping, checkpoints and
// all-reduce are loops over one block.
#ifndef VPD_NN_PARAMETERS_H
#define VPD_NN_PARAMETERS_H

#include "nn/tape.h"

enum { PARAMETER_NAME_SIZE = 64, PARAMETER_MAX_RANK = 4 };

typedef enum ParameterInit {
    INIT_ZERO,
    INIT_ONE,
    INIT_UNIFORM // in +-sqrt(3 / fan_in)
} ParameterInit;

typedef struct Parameter {
    char name[PARAMETER_NAME_SIZE]; // "gnn.round3.edge.weight1"
    int rank;
    size_t dims[PARAMETER_MAX_RANK]; // as written to files; the tensor has rows = product of all but the last
    size_t offset;                   // first element in the blocks
    ParameterInit init;
    double fan_in;
    bool frozen; // no gradient, no update
    bool stays;  // frozen whatever is chosen
    bool muon;   // Muon updates it, not Adam (nn/optimizer.h)
    Tensor tensor;
} Parameter;

typedef struct Parameters {
    Device *device;
    Parameter **items; // stable addresses: models keep &item->tensor
    size_t count, capacity;
    size_t size; // elements of all parameters, each padded to 16
    real *values, *grads;
    bool failed; // an allocation failed while adding
} Parameters;

void parameters_init(Parameters *set, Device *device);
void parameters_free(Parameters *set);

// Declares a parameter; its tensor gets memory in parameters_allocate. Never NULL (see `failed`). rank 1: (n); rank 2:
// (in, out); rank 4: (kh, kw, in, out).
Tensor *parameters_add(Parameters *set, ParameterInit init, double fan_in, int rank, const size_t *dims,
                       const char *format, ...) __attribute__((format(printf, 6, 7)));

// Makes the blocks and fills the initial values, keyed by (seed, INIT, index of the parameter, 0).
Status parameters_allocate(Parameters *set, uint32_t seed, Error *err);
void parameters_zero_grad(Parameters *set);
// Freezes every parameter whose name begins with `prefix`, for good; returns how many.
size_t parameters_freeze(Parameters *set, const char *prefix);
// Until the next call, those whose names begin with `prefix` are trained alone (inside), or all others (not inside).
void parameters_choose(Parameters *set, const char *prefix, bool inside);
// From now on Muon updates the square matrices whose names begin with `prefix`.
void parameters_use_muon(Parameters *set, const char *prefix);
const Parameter *parameters_find(const Parameters *set, const char *name);
// Elements without padding.
size_t parameters_element_count(const Parameters *set);

#endif
