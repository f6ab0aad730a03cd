// SPDX-License-Identifier: Apache-2.0
// How well a minimum is determined.
#include "lab/minimise_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FAR_ROUNDS = 3 };

// Lengths of differences in z: a standard error, but no less than what their rounding allows, and no more than half of
// what counts as lost.
#define SHORTEST 1e-6
#define LONGEST (0.5 * MINIMISE_LOST)
#define ALIKE 1.1 // two lengths whose ratio is below this

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

// J'J along the directions that were found, for more exact ones; `vector` (n,n) is overwritten by those. With `length`
// (n) by differences so long.
static Status look_along(const MinimiseProblem *problem, const double *x, const size_t *which, size_t n, double *value,
                         double *vector, const double *length, bool *good, Error *err) {
    const size_t P = problem->variables;
    double *memory = calloc(2 * P * P + P + 3 * n * n, sizeof *memory);
    double *basis = memory, *normal = basis + P * P, *gradient = normal + P * P, *matrix = gradient + P,
           *turned = matrix + n * n, *before = turned + n * n;
    if (!memory) return error_set(err, STATUS_FAILED, "out of memory for the errors of %zu variables", P);
    memcpy(before, vector, n * n * sizeof *vector);
    for (size_t k = 0; k < n * n; k++) basis[k / n * P + which[k % n]] = vector[k] * (length ? length[k / n] : 1);
    MinimiseSums sums = {.gradient = gradient, .normal = normal, .basis = basis, .far = length != NULL};
    Status status = problem->function(problem->context, x, &sums, err);
    for (size_t k = 0; k < n * n; k++)
        matrix[k] = normal[k / n * P + k % n] / (length ? length[k / n] * length[k % n] : 1);
    *good = status == STATUS_OK && isfinite(sums.cost);
    if (*good) {
        minimise_eigen(n, matrix, value, turned);
        for (size_t k = 0; k < n * n; k++) {
            vector[k] = 0;
            for (size_t j = 0; j < n; j++) vector[k] += turned[k / n * n + j] * before[j * n + k % n];
        }
    }
    free(memory);
    return status;
}

// The length of differences along each direction, out of its standard error; whether one of them is new.
static bool choose_lengths(size_t n, double variance, const double *value, double *length) {
    bool any = false;
    for (size_t k = 0; k < n; k++) {
        const double error = value[k] > 0 ? sqrt(variance / value[k]) : INFINITY;
        const double now = fmin(fmax(error, SHORTEST), LONGEST);
        any = any || now > ALIKE * length[k] || length[k] > ALIKE * now;
        length[k] = now;
    }
    return any;
}

// The same by differences as long as the standard errors. Where the function has no value so far away, what was found
// nearer stays.
static Status look_far(const MinimiseProblem *problem, const double *x, const size_t *which, size_t n, double variance,
                       double *value, double *vector, double *length, Error *err) {
    Status status = STATUS_OK;
    bool good = true;
    for (size_t k = 0; k < n; k++) length[k] = SHORTEST;
    for (int i = 0; i < FAR_ROUNDS && status == STATUS_OK && good; i++) {
        if (!choose_lengths(n, variance, value, length)) break;
        status = look_along(problem, x, which, n, value, vector, length, &good, err);
    }
    return status;
}

// By how many variances of a residual 2 cost rises from x to `by` along a direction (n) in z; beyond a bound by
// INFINITY, since nothing is known there. x itself is left as it is.
static Status rise_along(const MinimiseProblem *problem, const double *x, const size_t *which, size_t n,
                         const MinimiseSpread *at, const double *direction, double by, double *trial, double *out,
                         Error *err) {
    MinimiseSums sums = {0};
    memcpy(trial, x, problem->variables * sizeof *x);
    for (size_t a = 0; a < n; a++) {
        const MinimiseVariable *v = problem->variable + which[a];
        trial[which[a]] = minimise_x(v, minimise_z(v, x[which[a]]) + by * direction[a]);
        *out = INFINITY;
        if (trial[which[a]] < v->low || trial[which[a]] > v->high) return STATUS_OK;
    }
    Status status = problem->function(problem->context, trial, &sums, err);
    *out = isfinite(sums.cost) ? 2 * (sums.cost - at->cost) / at->variance : INFINITY;
    return status;
}

// Where residuals jump, differences are large and the cost hardly rises: a direction's standard error is then how far
// x may go until 2 cost has risen by a variance of a residual, to the side where that is further.
static Status widen(const MinimiseProblem *problem, const double *x, const size_t *which, size_t n,
                    const MinimiseSpread *at, double *value, double *vector, Error *err) {
    double *trial = malloc(problem->variables * sizeof *trial), rise = 0;
    Status status = trial ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for errors");
    for (size_t k = 0; k < 2 * n && status == STATUS_OK; k++) {
        const double *direction = vector + k / 2 * n, side = k % 2 ? -1 : 1;
        double width = sqrt(at->variance / value[k / 2]);
        if (!(width > SHORTEST)) continue;
        while (status == STATUS_OK && width < MINIMISE_LOST) {
            status = rise_along(problem, x, which, n, at, direction, 2 * side * width, trial, &rise, err);
            if (!(rise < 1)) break;
            width *= 2;
        }
        value[k / 2] = fmin(value[k / 2], at->variance / (width * width));
    }
    free(trial);
    put_in_order(n, value, vector);
    return status;
}

// Eigenvalues and eigenvectors of the packed matrix, and better ones by looking along them.
static Status look(const MinimiseProblem *problem, const double *x, const size_t *which, size_t n, double *matrix,
                   MinimiseSpread *out, double *value, double *vector, Error *err) {
    Status status = STATUS_OK;
    bool good;
    minimise_eigen(n, matrix, value, vector);
    if (n > 1) status = look_along(problem, x, which, n, value, vector, NULL, &good, err);
    if (status != STATUS_OK || !(out->variance > 0) || !isfinite(out->variance)) return status;
    status = look_far(problem, x, which, n, out->variance, value, vector, out->width, err);
    return status == STATUS_OK && problem->kinked ? widen(problem, x, which, n, out, value, vector, err) : status;
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
        look_at_bounds(out, problem, x, sums.normal);
        status = look(problem, x, which, n, matrix, out, value, vector, err);
        if (status == STATUS_OK) fill(out, problem, x, which, n, value, vector, sums.residuals);
    }
    free(memory);
    free(which);
    if (status != STATUS_OK) minimise_spread_free(out);
    return status;
}
