// SPDX-License-Identifier: Apache-2.0
// sizes: rows picked, every how many-th is absent (0: none).
#include "nn/cases.h"
#include "nn/rows.h"

#include "base/random.h"
#include "nn/backend.h"

static int32_t *upload(Tape *tape, size_t count, const int32_t *host) {
    int32_t *device = tape_memory(tape, count, sizeof *device);
    if (device) tape->device->nn->upload(tape->device, device, host, count * sizeof *host);
    return device;
}

static Tensor *run_gather(Tape *tape, Tensor *const *in, const OpCase *c) {
    size_t rows = (size_t)c->sizes[0], absent = (size_t)c->sizes[1];
    int32_t *index = tape_context(tape, (rows + 1) * sizeof *index);
    RandomKey key = {.seed = 3, .purpose = RANDOM_TEST};
    for (size_t i = 0; index && i < rows; i++)
        index[i] = absent && i % absent == 0 ? -1 : (int32_t)random_below(key, i, (uint32_t)in[0]->rows);
    return gather_rows(tape, in[0], rows, index ? upload(tape, rows, index) : NULL);
}

// Every other row of x, the last one first.
static Tensor *run_distinct(Tape *tape, Tensor *const *in, const OpCase *c) {
    size_t rows = (size_t)c->sizes[0], absent = (size_t)c->sizes[1];
    int32_t *index = tape_context(tape, (rows + 1) * sizeof *index);
    for (size_t i = 0; index && i < rows; i++)
        index[i] = absent && i % absent == 0 ? -1 : (int32_t)(in[0]->rows - 1 - 2 * i);
    return gather_distinct_rows(tape, in[0], rows, index ? upload(tape, rows, index) : NULL);
}

#define X(rows, cols)                                                                                                  \
    { "x", rows, cols, -1, 1, true }

static const OpCase cases[] = {
    {.name = "gather none", .inputs = {X(4, 3)}, .run = run_gather, .sizes = {0, 0}},
    {.name = "gather from one", .inputs = {X(1, 3)}, .run = run_gather, .sizes = {9, 0}},
    {.name = "gather odd", .inputs = {X(7, 5)}, .run = run_gather, .sizes = {23, 4}},
    {.name = "gather distinct", .inputs = {X(97, 5)}, .run = run_distinct, .sizes = {48, 7}},
    {.name = "gather few", .inputs = {X(300, 2)}, .run = run_gather, .sizes = {5, 0}},
    {.name = "gather 65536x128", .inputs = {X(16384, 128)}, .run = run_gather, .sizes = {65536, 0}, .bench = true},
};

const OpCases rows_cases = {"rows", cases, sizeof cases / sizeof *cases};
