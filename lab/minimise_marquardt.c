// SPDX-License-Identifier: Apache-2.0
// Levenberg-Marquardt: steps -(J'J + mu D)^-1 J'r with D the largest diagonal so far (More 1978), mu as by Nielsen
// (1999). One eigendecomposition of D^-1/2 J'J D^-1/2 serves every mu.
#include "lab/minimise_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Marquardt {
    double *scale;                 // (P) square root of D
    double *matrix;                // (P,P) overwritten
    double *value, *vector, *bend; // eigenvalues, eigenvectors as rows, and the scaled gradient along them
    double mu, grow;
    bool *moving; // (P)
} Marquardt;

// The variables that take part in the step: not held, and not without effect but for rounding.
static void choose_moving(const Minimise *m, Marquardt *w) {
    const size_t P = m->P;
    double most = 0;
    for (size_t i = 0; i < P; i++) {
        const double size = m->normal[i * P + i];
        w->scale[i] = fmax(w->scale[i], sqrt(size));
        most = fmax(most, size);
    }
    for (size_t i = 0; i < P; i++)
        w->moving[i] = m->normal[i * P + i] > MINIMISE_WEAK * most && !minimise_held(m, i, m->gradient);
}

static void decompose(const Minimise *m, Marquardt *w) {
    const size_t P = m->P;
    choose_moving(m, w);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++)
            w->matrix[i * P + j] =
                w->moving[i] && w->moving[j] ? m->normal[i * P + j] / (w->scale[i] * w->scale[j]) : 0;
    minimise_eigen(P, w->matrix, w->value, w->vector);
    for (size_t k = 0; k < P; k++) {
        w->bend[k] = 0;
        for (size_t i = 0; i < P; i++)
            if (w->moving[i]) w->bend[k] += w->vector[k * P + i] * m->gradient[i] / w->scale[i];
    }
}

// The step for mu; returns the decrease that the linear residuals predict.
static double solve(Minimise *m, const Marquardt *w) {
    const size_t P = m->P;
    const double weak = MINIMISE_WEAK * fmax(w->value[P - 1], 0);
    double decrease = 0;
    memset(m->step, 0, P * sizeof *m->step);
    for (size_t k = 0; k < P; k++) {
        if (!(w->value[k] > weak)) continue;
        const double along = -w->bend[k] / (w->value[k] + w->mu);
        decrease -= along * (w->bend[k] + w->value[k] * along / 2);
        for (size_t i = 0; i < P; i++)
            if (w->moving[i]) m->step[i] += along * w->vector[k * P + i] / w->scale[i];
    }
    return decrease;
}

// No z that is a logarithm moves by more than a factor of e^2 at once.
static double reach(const Minimise *m) {
    double most = 0;
    for (size_t i = 0; i < m->P; i++)
        if (m->problem->variable[i].log) most = fmax(most, fabs(m->step[i]));
    return most > 2 ? 2 / most : 1;
}

// Tries larger mu until the cost falls. *done: no step is left.
static Status search(Minimise *m, Marquardt *w, double tolerance, bool *done) {
    const double before = m->result->cost;
    for (;;) {
        const double decrease = solve(m, w), most = minimise_try(m, reach(m));
        double cost;
        *done = !(most > tolerance) ||
                !(decrease > 1e-6 * before / fmax(m->residuals, 1)); // variance / 2 = cost / residuals
        if (*done && !(most > 0)) return STATUS_OK;
        Status status = minimise_at(m, m->trial, &cost, NULL, NULL);
        if (status != STATUS_OK) return status;
        if (cost < before) {
            const double gain = 2 * (before - cost) / decrease - 1;
            w->mu = fmax(w->mu * fmax(1.0 / 3, 1 - gain * gain * gain), 1e-14);
            w->grow = 2;
            *done = *done || before - cost < 1e-4 * before / fmax(m->residuals, 1);
            minimise_take(m, cost);
            return STATUS_OK;
        }
        if (*done) return STATUS_OK;
        w->mu *= w->grow;
        w->grow *= 2;
    }
}

Status minimise_marquardt(Minimise *m) {
    const size_t P = m->P;
    const double tolerance = m->options->tolerance > 0 ? m->options->tolerance : 1e-9;
    double *memory = calloc(2 * P * P + 3 * P, sizeof *memory);
    Marquardt w = {memory, memory + P, memory + P + P * P,     memory + 2 * P + P * P, memory + 2 * P + 2 * P * P,
                   1e-3,   2,          calloc(P, sizeof(bool))};
    Status status = STATUS_OK;
    bool done = false;
    if (!memory || !w.moving) status = error_set(m->err, STATUS_FAILED, "out of memory for %zu variables", P);
    while (status == STATUS_OK && !done && m->result->iterations < m->options->iterations) {
        double cost;
        m->result->iterations++;
        status = minimise_at(m, m->z, &cost, m->gradient, m->normal);
        if (status == STATUS_OK && !isfinite(cost)) status = minimise_no_slope(m);
        if (status == STATUS_OK) decompose(m, &w);
        if (status == STATUS_OK) status = search(m, &w, tolerance, &done);
        if (m->result->cost == 0) done = true;
    }
    m->result->converged = done;
    free(w.moving);
    free(memory);
    return status;
}
