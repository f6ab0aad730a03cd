// SPDX-License-Identifier: Apache-2.0
// How well a minimum is determined.
#include "lab/minimise_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAR_ROUNDS = 3 };

#define ALIKE 1.1 // two lengths whose ratio is below this

void minimise_spread_free(MinimiseSpread *spread) {
    free(spread->error);
    free(spread->covariance);
    free(spread->direction);
    free(spread->width);
    free(spread->least);
    *spread = (MinimiseSpread){0};
}

// The free variables' part of J'J in z, packed; which[k] is the number of the k-th of them.
static size_t pack(const MinimiseProblem *p, const double *x, const double *normal, size_t *which, double *matrix) {
    size_t n = 0;
    for (size_t i = 0; i < p->variables; i++) {
        const MinimiseVariable *v = p->variable + i;
        if (!v->fixed && x[i] > v->low && x[i] < v->high) which[n++] = i;
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            matrix[a * n + b] = normal[which[a] * p->variables + which[b]] *
                                minimise_dx_dz(p->variable + which[a], x[which[a]]) *
                                minimise_dx_dz(p->variable + which[b], x[which[b]]);
    return n;
}

// A variable at a bound that could leave it by far without notice is there by chance.
static void look_at_bounds(MinimiseSpread *out, const MinimiseProblem *p, const double *x, const double *normal) {
    for (size_t i = 0; i < p->variables; i++) {
        const MinimiseVariable *v = p->variable + i;
        const double scale = minimise_dx_dz(v, x[i]);
        if (v->fixed || (x[i] > v->low && x[i] < v->high)) continue;
        if (!(normal[i * p->variables + i] * scale * scale * MINIMISE_LOST * MINIMISE_LOST > out->variance))
            out->error[i] = INFINITY;
    }
}

// From eigenvalues and eigenvectors of the packed matrix.
static void fill(MinimiseSpread *out, const MinimiseProblem *p, const double *x, const size_t *which, size_t n,
                 const double *value, const double *vector, double residuals) {
    const size_t P = p->variables;
    const double noise = residuals * MINIMISE_NOISE * MINIMISE_NOISE;
    const double weak = n ? fmax(MINIMISE_WEAK * value[n - 1], noise) : 0;
    for (size_t k = 0; k < n; k++) {
        const bool none = !(value[k] > weak);
        out->width[k] = none ? INFINITY : sqrt(out->variance / value[k]);
        const bool lost = out->width[k] > MINIMISE_LOST;
        out->undetermined += lost;
        for (size_t a = 0; a < n; a++) {
            const double along = vector[k * n + a];
            out->direction[k * P + which[a]] = along;
            if (lost && along * along > 0.01) out->error[which[a]] = INFINITY;
            for (size_t b = 0; b < n && !lost; b++)
                out->covariance[which[a] * P + which[b]] += along * vector[k * n + b] * out->variance / value[k];
        }
    }
    for (size_t a = 0; a < n; a++) {
        const size_t i = which[a];
        if (isfinite(out->error[i]))
            out->error[i] = sqrt(out->covariance[i * P + i]) * minimise_dx_dz(p->variable + i, x[i]);
    }
}

void minimise_along(const MinimiseProblem *problem, const double *direction, size_t i, double to, double *x) {
    const MinimiseVariable *v = problem->variable;
    const double by = (minimise_z(v + i, to) - minimise_z(v + i, x[i])) / direction[i];
    for (size_t k = 0; k < problem->variables; k++) {
        if (v[k].fixed || direction[k] == 0) continue;
        const double moved = minimise_x(v + k, minimise_z(v + k, x[k]) + by * direction[k]);
        x[k] = fmin(fmax(moved, v[k].low), v[k].high);
    }
    x[i] = to;
}

// The length of differences along each direction, out of its standard error; whether one of them is new.
static bool choose_lengths(const MinimiseLook *l, double *length) {
    bool any = false;
    for (size_t k = 0; k < l->n; k++) {
        const double now = minimise_reach(l, k);
        any = any || now > ALIKE * length[k] || length[k] > ALIKE * now;
        length[k] = now;
    }
    return any;
}

// The same by differences as long as the standard errors. Where the function has no value so far away, what was found
// nearer stays.
static Status look_far(const MinimiseLook *l, double *length) {
    Status status = STATUS_OK;
    bool good = true;
    for (size_t k = 0; k < l->n; k++) length[k] = MINIMISE_SHORTEST;
    for (int i = 0; i < FAR_ROUNDS && status == STATUS_OK && good; i++) {
        if (!choose_lengths(l, length)) break;
        status = minimise_look_along(l, length, &good);
    }
    return status;
}

// Where residuals have kinks, differences are large and the cost hardly rises: a direction's standard error is then how
// far x may go until 2 cost has risen by a variance of a residual, to the side where that is further.
static Status widen(const MinimiseLook *l) {
    Status status = STATUS_OK;
    for (size_t k = 0; k < 2 * l->n && status == STATUS_OK; k++) {
        double width = sqrt(l->out->variance / l->value[k / 2]), rise = 0;
        if (!(width > MINIMISE_SHORTEST)) continue;
        while (status == STATUS_OK && width < MINIMISE_LOST) {
            status = minimise_rise(l, k / 2, (k % 2 ? -2 : 2) * width, &rise);
            if (!(rise < 1)) break;
            width *= 2;
        }
        l->value[k / 2] = fmin(l->value[k / 2], l->out->variance / (width * width));
    }
    minimise_put_in_order(l->n, l->value, l->vector);
    return status;
}

// Eigenvalues and eigenvectors of the packed matrix, and better ones by looking along them.
static Status look(const MinimiseLook *l, double *matrix) {
    const double variance = l->out->variance;
    Status status = STATUS_OK;
    bool good;
    minimise_eigen(l->n, matrix, l->value, l->vector);
    if (l->n > 1) status = minimise_look_along(l, NULL, &good);
    if (status != STATUS_OK || !(variance > 0) || !isfinite(variance)) return status;
    status = look_far(l, l->out->width);
    if (status == STATUS_OK && l->problem->shape != MINIMISE_SMOOTH) status = widen(l);
    return status == STATUS_OK && l->problem->shape >= MINIMISE_JUMPS ? minimise_past_jumps(l) : status;
}

Status minimise_spread(const MinimiseProblem *problem, const double *x, MinimiseSpread *out, Error *err) {
    const size_t P = problem->variables;
    double *memory = calloc(3 * P * P + 3 * P, sizeof *memory);
    size_t *which = calloc(P, sizeof *which);
    MinimiseSums sums = {.gradient = memory, .normal = memory ? memory + P : NULL};
    *out = (MinimiseSpread){.variables = P,
                            .error = calloc(P, sizeof(double)),
                            .covariance = calloc(P * P, sizeof(double)),
                            .direction = calloc(P * P, sizeof(double)),
                            .width = calloc(P, sizeof(double)),
                            .least = calloc(P, sizeof(double))};
    Status status = STATUS_OK;
    if (!memory || !which || !out->error || !out->covariance || !out->direction || !out->width || !out->least)
        status = error_set(err, STATUS_FAILED, "out of memory for the errors of %zu variables", P);
    if (status == STATUS_OK) status = problem->function(problem->context, x, &sums, err);
    if (status == STATUS_OK && !isfinite(sums.cost))
        status = error_set(err, STATUS_FAILED, "the derivatives of the loss are not finite at the result");
    if (status == STATUS_OK) {
        double *matrix = memory + P + P * P, *vector = matrix + P * P, *value = vector + P * P;
        const size_t n = pack(problem, x, sums.normal, which, matrix);
        out->cost = out->least_cost = sums.cost;
        memcpy(out->least, x, P * sizeof *x);
        out->variance = sums.residuals > (double)n ? 2 * sums.cost / (sums.residuals - (double)n) : INFINITY;
        look_at_bounds(out, problem, x, sums.normal);
        status = look(&(MinimiseLook){problem, x, which, n, out, value, vector, value + P, err}, matrix);
        if (status == STATUS_OK) fill(out, problem, x, which, n, value, vector, sums.residuals);
    }
    free(memory);
    free(which);
    if (status != STATUS_OK) minimise_spread_free(out);
    return status;
}
