// SPDX-License-Identifier: Apache-2.0
// J'J and the cost along directions, for standard errors.
#include "lab/minimise_inside.h"

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
void minimise_put_in_order(size_t n, double *value, double *vector) {
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
    minimise_put_in_order(n, value, vector);
}

// ---- along directions

Status minimise_look_along(const MinimiseLook *l, const double *length, bool *good) {
    const size_t P = l->problem->variables, n = l->n;
    double *memory = calloc(2 * P * P + P + 3 * n * n, sizeof *memory);
    double *basis = memory, *normal = basis + P * P, *gradient = normal + P * P, *matrix = gradient + P,
           *turned = matrix + n * n, *before = turned + n * n;
    if (!memory) return error_set(l->err, STATUS_FAILED, "out of memory for the errors of %zu variables", P);
    memcpy(before, l->vector, n * n * sizeof *before);
    for (size_t k = 0; k < n * n; k++) basis[k / n * P + l->which[k % n]] = before[k] * (length ? length[k / n] : 1);
    MinimiseSums sums = {.gradient = gradient, .normal = normal, .basis = basis, .far = length != NULL};
    Status status = l->problem->function(l->problem->context, l->x, &sums, l->err);
    for (size_t k = 0; k < n * n; k++)
        matrix[k] = normal[k / n * P + k % n] / (length ? length[k / n] * length[k % n] : 1);
    *good = status == STATUS_OK && isfinite(sums.cost);
    if (*good) {
        minimise_eigen(n, matrix, l->value, turned);
        for (size_t k = 0; k < n * n; k++) {
            l->vector[k] = 0;
            for (size_t j = 0; j < n; j++) l->vector[k] += turned[k / n * n + j] * before[j * n + k % n];
        }
    }
    free(memory);
    return status;
}

Status minimise_rise(const MinimiseLook *l, size_t k, double by, double *out) {
    MinimiseSums sums = {0};
    MinimiseSpread *at = l->out;
    memcpy(l->trial, l->x, l->problem->variables * sizeof *l->trial);
    for (size_t a = 0; a < l->n; a++) {
        const size_t i = l->which[a];
        const MinimiseVariable *v = l->problem->variable + i;
        l->trial[i] = minimise_x(v, minimise_z(v, l->x[i]) + by * l->vector[k * l->n + a]);
        *out = INFINITY;
        if (l->trial[i] < v->low || l->trial[i] > v->high) return STATUS_OK;
    }
    Status status = l->problem->function(l->problem->context, l->trial, &sums, l->err);
    *out = isfinite(sums.cost) ? 2 * (sums.cost - at->cost) / at->variance : INFINITY;
    if (status != STATUS_OK || !(sums.cost < at->least_cost)) return status;
    at->least_cost = sums.cost;
    memcpy(at->least, l->trial, l->problem->variables * sizeof *l->trial);
    return status;
}
