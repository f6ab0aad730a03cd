// SPDX-License-Identifier: Apache-2.0
// sizes: gather: rows picked, every how many-th is absent (0: none). segments: number, then whether the mean is taken;
// the rows are shared out by random cuts, so that some segments are empty.
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

static Tensor *run_segments(Tape *tape, Tensor *const *in, const OpCase *c) {
    size_t segments = (size_t)c->sizes[0];
    int32_t *start = tape_context(tape, (segments + 2) * sizeof *start), rows = (int32_t)in[0]->rows;
    RandomKey key = {.seed = 4, .purpose = RANDOM_TEST};
    for (size_t s = 0; start && s < segments; s++) // sorted by insertion
        for (size_t at = s + 1, cut = random_below(key, s, (uint32_t)rows + 1);; at--) {
            bool here = at == 1 || (size_t)start[at - 1] <= cut;
            start[at] = here ? (int32_t)cut : start[at - 1];
            if (here) break;
        }
    if (start && segments) start[segments] = rows;
    start = start ? upload(tape, segments + 1, start) : NULL;
    return c->sizes[1] ? segment_mean(tape, in[0], segments, start) : segment_sum(tape, in[0], segments, start);
}

#define X(rows, cols)                                                                                                  \
    { "x", rows, cols, -1, 1, true }

static const OpCase cases[] = {
    {.name = "gather none", .inputs = {X(4, 3)}, .run = run_gather, .sizes = {0, 0}},
    {.name = "gather from one", .inputs = {X(1, 3)}, .run = run_gather, .sizes = {9, 0}},
    {.name = "gather odd", .inputs = {X(7, 5)}, .run = run_gather, .sizes = {23, 4}},
    {.name = "gather few", .inputs = {X(300, 2)}, .run = run_gather, .sizes = {5, 0}},
    {.name = "segment sum none", .inputs = {X(0, 3)}, .run = run_segments, .sizes = {3, 0}},
    {.name = "segment sum one", .inputs = {X(9, 3)}, .run = run_segments, .sizes = {1, 0}},
    {.name = "segment sum", .inputs = {X(40, 3)}, .run = run_segments, .sizes = {17, 0}},
    {.name = "segment mean", .inputs = {X(40, 5)}, .run = run_segments, .sizes = {33, 1}},
    {.name = "gather 65536x128", .inputs = {X(16384, 128)}, .run = run_gather, .sizes = {65536, 0}, .bench = true},
    {.name = "segment mean 65536x128",
     .inputs = {X(65536, 128)},
     .run = run_segments,
     .sizes = {1024, 1},
     .bench = true},
};

const OpCases rows_cases = {"rows", cases, sizeof cases / sizeof *cases};
