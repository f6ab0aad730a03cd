// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan.
#include "gnn/plan.h"
#include "gnn/cpu/functions.h"
#include "nn/element.h"

#include <string.h>

void CPU_FN(plan_mark)(Device *device, const PlanMarkArgs *a) {
    (void)device;
    memset(a->out, 0, a->count * a->stride * sizeof(real));
    for (size_t i = 0; i < a->count; i++) a->out[i * a->stride + a->t] = 1;
}

void CPU_FN(plan_count)(Device *device, const PlanCountArgs *a) {
    (void)device;
    memset(a->count, 0, a->edges.others * sizeof *a->count);
    for (size_t r = 0; r < edge_rows(&a->edges); r++)
        if (a->edges.index[r] >= 0) a->count[a->edges.index[r]]++;
    for (size_t o = 0; o < a->edges.others; o++)
        a->log_count[o * a->stride + a->column] = real_log1p((real)a->count[o]);
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
