// SPDX-License-Identifier: Apache-2.0
// How well a minimum is determined.
#include "lab/minimise_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- eigenvalues

// Makes matrix[p][q] zero; rows of `vector` are the eigenvectors so far.
static void rotate(size_t n, double *matrix, double *vector, size_t p, size_t q) {
    const double off = matrix[p * n + q];
    if (off == 0) return;
    const double theta = (matrix[q * n + q] - matrix[p * n + p]) / (2 * off);
    const double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t k = 0; k < n; k++) {
        const double a = matrix[k * n + p], b = matrix[k * n + q];
        matrix[k * n + p] = c * a - s * b;
        matrix[k * n + q] = s * a + c * b;
    }
    for (size_t k = 0; k < n; k++) {
        const double a = matrix[p * n + k], b = matrix[q * n + k], u = vector[p * n + k], v = vector[q * n + k];
        matrix[p * n + k] = c * a - s * b;
        matrix[q * n + k] = s * a + c * b;
        vector[p * n + k] = c * u - s * v;
        vector[q * n + k] = s * u + c * v;
    }
    matrix[p * n + q] = matrix[q * n + p] = 0;
}

// Rising eigenvalues, by exchanges.
static void put_in_order(size_t n, double *value, double *vector) {
    for (size_t i = 0; i < n; i++) {
        size_t least = i;
        for (size_t j = i + 1; j < n; j++)
            if (value[j] < value[least]) least = j;
        const double other = value[i];
        value[i] = value[least], value[least] = other;
        for (size_t k = 0; k < n && least != i; k++) {
            const double a = vector[i * n + k];
            vector[i * n + k] = vector[least * n + k], vector[least * n + k] = a;
        }
    }
}

void minimise_eigen(size_t n, double *matrix, double *value, double *vector) {
    memset(vector, 0, n * n * sizeof *vector);
    for (size_t i = 0; i < n; i++) vector[i * n + i] = 1;
    for (int sweep = 0; sweep < 60; sweep++) {
        double off = 0, all = 0;
        for (size_t i = 0; i < n * n; i++) {
            all += matrix[i] * matrix[i];
            if (i / n != i % n) off += matrix[i] * matrix[i];
        }
        if (!(off > 1e-40 * all)) break;
        for (size_t p = 0; p + 1 < n; p++)
            for (size_t q = p + 1; q < n; q++) rotate(n, matrix, vector, p, q);
    }
    for (size_t i = 0; i < n; i++) value[i] = matrix[i * n + i];
    put_in_order(n, value, vector);
}

// ---- standard errors

void minimise_spread_free(MinimiseSpread *spread) {
    free(spread->error);
    free(spread->covariance);
    free(spread->direction);
    free(spread->width);
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
                 const double *value, const double *vector) {
    const size_t P = p->variables;
    const double weak = n ? MINIMISE_WEAK * value[n - 1] : 0;
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

// J'J along the directions that were found, for more exact ones; `vector` (n,n) is overwritten by those.
static Status look_along(const MinimiseProblem *problem, const double *x, const size_t *which, size_t n, double *value,
                         double *vector, Error *err) {
    const size_t P = problem->variables;
    double *memory = calloc(2 * P * P + P + 3 * n * n, sizeof *memory);
    double *basis = memory, *normal = basis + P * P, *gradient = normal + P * P, *matrix = gradient + P,
           *turned = matrix + n * n, *before = turned + n * n;
    if (!memory) return error_set(err, STATUS_FAILED, "out of memory for the errors of %zu variables", P);
    memcpy(before, vector, n * n * sizeof *vector);
    for (size_t k = 0; k < n * n; k++) basis[k / n * P + which[k % n]] = vector[k];
    MinimiseSums sums = {.gradient = gradient, .normal = normal, .basis = basis};
    Status status = problem->function(problem->context, x, &sums, err);
    for (size_t k = 0; k < n * n; k++) matrix[k] = normal[k / n * P + k % n];
    if (status == STATUS_OK && isfinite(sums.cost)) {
        minimise_eigen(n, matrix, value, turned);
        for (size_t k = 0; k < n * n; k++) {
            vector[k] = 0;
            for (size_t j = 0; j < n; j++) vector[k] += turned[k / n * n + j] * before[j * n + k % n];
        }
    }
    free(memory);
    return status;
}

Status minimise_spread(const MinimiseProblem *problem, const double *x, MinimiseSpread *out, Error *err) {
    const size_t P = problem->variables;
    double *memory = calloc(3 * P * P + 2 * P, sizeof *memory);
    size_t *which = calloc(P, sizeof *which);
    MinimiseSums sums = {.gradient = memory, .normal = memory ? memory + P : NULL};
    *out = (MinimiseSpread){P,
                            0,
                            0,
                            calloc(P, sizeof(double)),
                            calloc(P * P, sizeof(double)),
                            calloc(P * P, sizeof(double)),
                            calloc(P, sizeof(double)),
                            0};
    Status status = STATUS_OK;
    if (!memory || !which || !out->error || !out->covariance || !out->direction || !out->width)
        status = error_set(err, STATUS_FAILED, "out of memory for the errors of %zu variables", P);
    if (status == STATUS_OK) status = problem->function(problem->context, x, &sums, err);
    if (status == STATUS_OK && !isfinite(sums.cost))
        status = error_set(err, STATUS_FAILED, "the derivatives of the loss are not finite at the result");
    if (status == STATUS_OK) {
        double *matrix = memory + P + P * P, *vector = matrix + P * P, *value = vector + P * P;
        const size_t n = pack(problem, x, sums.normal, which, matrix);
        out->cost = sums.cost;
        out->variance = sums.residuals > (double)n ? 2 * sums.cost / (sums.residuals - (double)n) : INFINITY;
        minimise_eigen(n, matrix, value, vector);
        look_at_bounds(out, problem, x, sums.normal);
        if (n > 1) status = look_along(problem, x, which, n, value, vector, err);
        if (status == STATUS_OK) fill(out, problem, x, which, n, value, vector);
    }
    free(memory);
    free(which);
    if (status != STATUS_OK) minimise_spread_free(out);
    return status;
}
