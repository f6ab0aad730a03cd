// SPDX-License-Identifier: Apache-2.0
// Levenberg-Marquardt, and what the methods share.
#include "lab/minimise.h"

#include "base/stop.h"
#include "lab/minimise_inside.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double minimise_z(const MinimiseVariable *variable, double x) { return variable->log ? log(x) : x / variable->unit; }
double minimise_x(const MinimiseVariable *variable, double z) { return variable->log ? exp(z) : z * variable->unit; }
double minimise_dx_dz(const MinimiseVariable *variable, double x) { return variable->log ? x : variable->unit; }

void minimise_add_rows(MinimiseSums *sums, size_t P, size_t rows, const double *residual, const double *jacobian) {
    for (size_t r = 0; r < rows; r++) {
        sums->cost += residual[r] * residual[r] / 2;
        for (size_t i = 0; i < P && sums->gradient; i++) sums->gradient[i] += jacobian[r * P + i] * residual[r];
        for (size_t i = 0; i < P && sums->normal; i++)
            for (size_t j = 0; j < P; j++) sums->normal[i * P + j] += jacobian[r * P + i] * jacobian[r * P + j];
    }
    sums->residuals += (double)rows;
}

// ---- shared by the methods

// x at z; a variable that is fixed keeps its bits.
static void to_x(const Minimise *m, const double *z, double *x) {
    for (size_t i = 0; i < m->P; i++) {
        const MinimiseVariable *v = m->problem->variable + i;
        if (!v->fixed) x[i] = fmin(fmax(minimise_x(v, z[i]), v->low), v->high);
    }
}

Status minimise_at(Minimise *m, const double *z, double *cost, double *gradient, double *normal) {
    const size_t P = m->P;
    MinimiseSums sums = {.gradient = gradient, .normal = normal};
    *cost = INFINITY;
    if (stop_requested()) return stop_error(m->err);
    if (gradient) memset(gradient, 0, P * sizeof *gradient);
    if (normal) memset(normal, 0, P * P * sizeof *normal);
    to_x(m, z, m->x);
    m->result->calls++;
    Status status = m->problem->function(m->problem->context, m->x, &sums, m->err);
    *cost = isfinite(sums.cost) ? sums.cost : INFINITY;
    m->residuals = sums.residuals;
    for (size_t i = 0; i < P && gradient; i++) {
        const double scale = minimise_dx_dz(m->problem->variable + i, m->x[i]);
        gradient[i] *= scale;
        for (size_t j = 0; j < P && normal; j++)
            normal[i * P + j] *= scale * minimise_dx_dz(m->problem->variable + j, m->x[j]);
        if (!isfinite(gradient[i])) *cost = INFINITY;
    }
    return status;
}

Status minimise_no_slope(const Minimise *m) {
    return error_set(m->err, STATUS_FAILED, "the derivatives of the loss are not finite after %ld iterations",
                     m->result->iterations - 1);
}

bool minimise_held(const Minimise *m, size_t i, const double *gradient) {
    return m->problem->variable[i].fixed || (m->z[i] <= m->low[i] && gradient[i] > 0) ||
           (m->z[i] >= m->high[i] && gradient[i] < 0);
}

double minimise_try(Minimise *m, double factor) {
    double most = 0;
    for (size_t i = 0; i < m->P; i++) {
        m->trial[i] = fmin(fmax(m->z[i] + factor * m->step[i], m->low[i]), m->high[i]);
        most = fmax(most, fabs(m->trial[i] - m->z[i]));
    }
    return most;
}

void minimise_take(Minimise *m, double cost) {
    memcpy(m->z, m->trial, m->P * sizeof *m->z);
    m->result->cost = cost;
    to_x(m, m->z, m->x);
    if (m->options->report) m->options->report(m->options->context, m->result->iterations, cost, m->x);
}

// ---- Levenberg-Marquardt: steps -(J'J + mu D)^-1 J'r with D the largest diagonal so far (More 1978), mu as by Nielsen
// (1999). One eigendecomposition of D^-1/2 J'J D^-1/2 serves every mu.

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

static Status marquardt(Minimise *m) {
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

// ---- all methods

static Status begin(Minimise *m, const double *x) {
    const size_t P = m->P, arrays = 8, squares = m->options->method == MINIMISE_LM ? P * P : 0;
    double *at = calloc(arrays * P + squares, sizeof *at);
    if (!at) return error_set(m->err, STATUS_FAILED, "out of memory for %zu variables", P);
    m->memory = at;
    double **const of[] = {&m->low, &m->high, &m->z, &m->trial, &m->x, &m->gradient, &m->slope, &m->step};
    for (size_t i = 0; i < arrays; i++) *of[i] = at + i * P;
    m->normal = at + arrays * P;
    memcpy(m->x, x, P * sizeof *x);
    for (size_t i = 0; i < P; i++) {
        const MinimiseVariable *v = m->problem->variable + i;
        m->low[i] = v->fixed ? -INFINITY : minimise_z(v, v->low);
        m->high[i] = v->fixed ? INFINITY : minimise_z(v, v->high);
        m->z[i] = v->fixed ? 0 : minimise_z(v, fmin(fmax(x[i], v->low), v->high));
    }
    memcpy(m->trial, m->z, P * sizeof *m->z);
    return STATUS_OK;
}

Status minimise(const MinimiseProblem *problem, const MinimiseOptions *options, double *x, MinimiseResult *result,
                Error *err) {
    static Status (*const methods[])(Minimise *) = {marquardt, minimise_lbfgs, minimise_adam};
    Minimise m = {.problem = problem, .options = options, .result = result, .err = err, .P = problem->variables};
    double cost;
    *result = (MinimiseResult){0};
    Status status = begin(&m, x);
    if (status == STATUS_OK) status = minimise_at(&m, m.z, &cost, NULL, NULL);
    if (status == STATUS_OK && !isfinite(cost))
        status = error_set(err, STATUS_FAILED, "the loss is not finite at the start");
    if (status == STATUS_OK) {
        result->first_cost = cost;
        minimise_take(&m, cost);
        status = methods[options->method](&m);
        to_x(&m, m.z, x);
    }
    free(m.memory);
    return status;
}
