// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan.
#include "gnn/plan.h"
#include "gnn/cpu/functions.h"
#include "nn/element.h"

#include <string.h>

static void count_ends(const PlanRowsArgs *a, size_t t) {
    const GnnEdges *edges = &a->edges[t];
    int32_t *count = a->count[t];
    memset(count, 0, a->nodes * sizeof *count);
    for (size_t r = 0; r < edge_rows(edges); r++)
        if (edges->index[r] >= 0) count[edges->index[r]]++;
    for (size_t o = 0; o < a->nodes; o++) a->log_count[o * a->sets + t] = real_log1p((real)count[o]);
}

void CPU_FN(plan_rows)(Device *device, const PlanRowsArgs *a) {
    (void)device;
    for (size_t t = 0; t < a->sets; t++) {
        memset(a->mark[t], 0, a->particles[t] * a->sets * sizeof(real));
        for (size_t i = 0; i < a->particles[t]; i++) a->mark[t][i * a->sets + t] = 1;
        if (a->nodes) count_ends(a, t);
    }
}

void CPU_FN(plan_spread)(Device *device, const PlanSpreadArgs *a) {
    (void)device;
    double total = 0;
    for (size_t j = 0; j < a->channels; j++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < a->nodes; i++) sum += (double)a->h[i * a->channels + j];
        double mean = sum / (double)(a->nodes ? a->nodes : 1);
        for (size_t i = 0; i < a->nodes; i++)
            square += ((double)a->h[i * a->channels + j] - mean) * ((double)a->h[i * a->channels + j] - mean);
        total += sqrt(square / (double)(a->nodes ? a->nodes : 1));
    }
    *a->spread = (real)(total / (double)(a->channels ? a->channels : 1));
}
