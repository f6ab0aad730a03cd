// SPDX-License-Identifier: Apache-2.0
#include "gnn/cases.h"

#include "base/random.h"
#include "nn/backend.h"

GnnEdges case_edges(Tape *tape, size_t groups, size_t k, size_t others, size_t hole) {
    size_t rows = groups * k;
    int32_t *host = tape_context(tape, (rows + others + 1) * sizeof *host);
    int32_t *device = tape_memory(tape, rows + others + 1, sizeof *device);
    GnnEdges edges = {
        .groups = groups, .k = k, .others = others, .index = device, .count = device ? device + rows : NULL};
    if (!host || !device) return edges;
    RandomKey key = {.seed = 11, .purpose = RANDOM_TEST};
    for (size_t r = 0; r < rows; r++) {
        host[r] = hole && r % hole == hole - 1 ? -1 : (int32_t)random_below(key, r, (uint32_t)others);
        if (host[r] >= 0) host[rows + (size_t)host[r]]++;
    }
    tape->device->nn->upload(tape->device, device, host, (rows + others) * sizeof *host);
    edges_order(tape, 1, (GnnEdges *[]){&edges});
    return edges;
}

static void join_backward(Tape *tape, void *context) {
    Tensor **three = context;
    size_t at = 0;
    for (int i = 0; i < 2; i++) {
        real *grad = tape_grad(tape, three[i]);
        size_t count = three[i]->rows * three[i]->cols;
        if (grad)
            tape->device->nn->copy(tape->device, grad, three[2]->grad + at, count * sizeof(real)); // the only user
        at += count;
    }
}

Tensor *case_join(Tape *tape, Tensor *a, Tensor *b) {
    size_t na = a->rows * a->cols, nb = b->rows * b->cols;
    Tensor *y = tape_tensor(tape, na + nb, 1, true);
    Tensor **three = tape_context(tape, 3 * sizeof *three);
    if (!three) return y;
    tape->device->nn->copy(tape->device, y->value, a->value, na * sizeof(real));
    tape->device->nn->copy(tape->device, y->value + na, b->value, nb * sizeof(real));
    three[0] = a;
    three[1] = b;
    three[2] = y;
    tape_record(tape, join_backward, three);
    return y;
}
