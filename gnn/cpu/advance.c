// SPDX-License-Identifier: Apache-2.0
#include "gnn/advance.h"
#include "gnn/cpu/functions.h"

void CPU_FN(advance_forward)(Device *device, const AdvanceArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->count; i++) {
        const real *o = a->o + i * a->width;
        for (size_t c = 0; c < 3; c++) {
            real d = a->scale * o[c] + (a->velocity ? o[3] * a->velocity[i * 3 + c] : 0);
            a->dx[i * 3 + c] = d;
            a->x_next[i * 3 + c] = a->x[i * 3 + c] + d;
        }
        if (!a->features) continue;
        const real *f = a->f + i * a->f_width;
        real *next = a->f_next + i * a->f_width;
        memcpy(next, f, a->f_width * sizeof *f);
        for (size_t j = 0; j < a->features; j++) next[a->f_first + j] += a->change * real_tanh(o[a->feature_at + j]);
    }
}

void CPU_FN(advance_backward)(Device *device, const AdvanceArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t i = 0; i < a->count; i++) {
        const real *o = a->o + i * a->width;
        real *grad_o = a->grad_o ? a->grad_o + i * a->width : NULL;
        for (size_t c = 0; c < 3; c++) {
            real moved = a->d_x_next ? a->d_x_next[i * 3 + c] : 0, d = moved + (a->d_dx ? a->d_dx[i * 3 + c] : 0);
            if (a->grad_x) a->grad_x[i * 3 + c] += moved;
            if (grad_o) grad_o[c] += a->scale * d;
            if (grad_o && a->velocity) grad_o[3] += d * a->velocity[i * 3 + c];
        }
        if (!a->d_f_next) continue;
        const real *df = a->d_f_next + i * a->f_width;
        for (size_t j = 0; a->grad_f && j < a->f_width; j++) a->grad_f[i * a->f_width + j] += df[j];
        for (size_t j = 0; grad_o && j < a->features; j++) {
            real tanh_o = real_tanh(o[a->feature_at + j]);
            grad_o[a->feature_at + j] += a->change * (1 - tanh_o * tanh_o) * df[a->f_first + j];
        }
    }
}
