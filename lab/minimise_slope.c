// SPDX-License-Identifier: Apache-2.0
// Methods that need cost and gradient alone: L-BFGS (Nocedal 1980; Liu and Nocedal 1989) with steps cut at the bounds,
// and Adam (Kingma and Ba 2015), whose moments are double here, unlike those of networks.
#include "lab/minimise_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HISTORY = 10, HALVINGS = 40 };

// ---- L-BFGS

typedef struct History {
    double *s, *y; // (HISTORY,P) steps and changes of the gradient
    double rho[HISTORY];
    size_t kept; // so far; pair k is in row k % HISTORY
} History;

// step = -H gradient over the variables that are not held.
static void direction(Minimise *m, const History *h) {
    const size_t P = m->P, first = h->kept > HISTORY ? h->kept - HISTORY : 0;
    double along[HISTORY];
    for (size_t i = 0; i < P; i++) m->step[i] = minimise_held(m, i, m->gradient) ? 0 : -m->gradient[i];
    for (size_t k = h->kept; k-- > first;) {
        const double *s = h->s + k % HISTORY * P, *y = h->y + k % HISTORY * P;
        const double a = along[k % HISTORY] = h->rho[k % HISTORY] * minimise_dot(P, s, m->step);
        for (size_t i = 0; i < P; i++) m->step[i] -= a * y[i];
    }
    if (h->kept) {
        const double *y = h->y + (h->kept - 1) % HISTORY * P;
        const double size = 1 / (h->rho[(h->kept - 1) % HISTORY] * minimise_dot(P, y, y));
        for (size_t i = 0; i < P; i++) m->step[i] *= size;
    }
    for (size_t k = first; k < h->kept; k++) {
        const double *s = h->s + k % HISTORY * P, *y = h->y + k % HISTORY * P;
        const double b = h->rho[k % HISTORY] * minimise_dot(P, y, m->step);
        for (size_t i = 0; i < P; i++) m->step[i] += (along[k % HISTORY] - b) * s[i];
    }
    for (size_t i = 0; i < P; i++)
        if (minimise_held(m, i, m->gradient)) m->step[i] = 0;
}

// Steepest descent of length 0.1 while nothing is known, or when the step does not descend.
static void start_afresh(Minimise *m, History *h) {
    double most = 0;
    h->kept = 0;
    direction(m, h);
    for (size_t i = 0; i < m->P; i++) most = fmax(most, fabs(m->step[i]));
    for (size_t i = 0; i < m->P && most > 0; i++) m->step[i] *= 0.1 / most;
}

static void remember(const Minimise *m, History *h) {
    const size_t P = m->P, row = h->kept % HISTORY;
    double *s = h->s + row * P, *y = h->y + row * P;
    for (size_t i = 0; i < P; i++) {
        s[i] = m->trial[i] - m->z[i];
        y[i] = m->slope[i] - m->gradient[i];
    }
    const double sy = minimise_dot(P, s, y);
    if (!(sy > 1e-12 * sqrt(minimise_dot(P, s, s) * minimise_dot(P, y, y)))) return;
    h->rho[row] = 1 / sy;
    h->kept++;
}

// Weak Wolfe conditions by bisection (Lewis and Overton 2013). *done: no step is left.
static Status line_search(Minimise *m, History *h, double tolerance, bool *done) {
    const double before = m->result->cost, down = minimise_dot(m->P, m->gradient, m->step);
    double factor = 1, low = 0, high = INFINITY;
    *done = true;
    for (int i = 0; i < HALVINGS; i++) {
        const double most = minimise_try(m, factor);
        double cost;
        if (!(most > tolerance)) break;
        Status status = minimise_at(m, m->trial, &cost, m->slope, NULL);
        if (status != STATUS_OK) return status;
        const bool falls = cost <= before + 1e-4 * factor * down;
        const bool flat = minimise_dot(m->P, m->slope, m->step) >= 0.9 * down;
        if (!falls) high = factor;
        else if (!flat && factor < 1e6) low = factor;
        if (falls && (flat || factor >= 1e6 || i + 1 == HALVINGS)) {
            remember(m, h);
            memcpy(m->gradient, m->slope, m->P * sizeof *m->slope);
            minimise_take(m, cost);
            *done = before - cost <= 1e-15 * before;
            return STATUS_OK;
        }
        factor = high < INFINITY ? (low + high) / 2 : 2 * factor;
    }
    return STATUS_OK;
}

Status minimise_lbfgs(Minimise *m) {
    const double tolerance = m->options->tolerance > 0 ? m->options->tolerance : 1e-9;
    double *memory = calloc(2 * HISTORY * m->P, sizeof *memory), cost;
    History h = {.s = memory, .y = memory + HISTORY * m->P};
    bool done = false;
    if (!memory) return error_no_memory(m->err, "%zu variables", m->P);
    Status status = minimise_at(m, m->z, &cost, m->gradient, NULL);
    if (status == STATUS_OK && !isfinite(cost)) status = minimise_no_slope(m);
    while (status == STATUS_OK && !done && m->result->iterations < m->options->iterations) {
        m->result->iterations++;
        direction(m, &h);
        const bool fresh = !h.kept || !(minimise_dot(m->P, m->step, m->gradient) < 0);
        if (fresh) start_afresh(m, &h);
        status = line_search(m, &h, tolerance, &done);
        if (done && !fresh) done = false, h.kept = 0; // once more along the gradient
    }
    m->result->converged = done;
    free(memory);
    return status;
}

// ---- Adam

typedef struct Moments {
    double *first, *second, *best; // (P)
    double rate;
    long step;
} Moments;

static void adam_step(Minimise *m, Moments *w) {
    const double correct1 = 1 - pow(0.9, (double)++w->step), correct2 = 1 - pow(0.999, (double)w->step);
    for (size_t i = 0; i < m->P; i++) {
        const double g = minimise_held(m, i, m->gradient) ? 0 : m->gradient[i];
        w->first[i] = 0.9 * w->first[i] + 0.1 * g;
        w->second[i] = 0.999 * w->second[i] + 0.001 * g * g;
        const double size = sqrt(w->second[i] / correct2);
        m->step[i] = size > 0 && !m->problem->variable[i].fixed ? -w->rate * w->first[i] / correct1 / size : 0;
    }
}

// Where the cost is not finite: back to the best point with half the rate.
static void go_back(Minimise *m, Moments *w) {
    memset(w->first, 0, 2 * m->P * sizeof *w->first);
    memcpy(m->z, w->best, m->P * sizeof *m->z);
    w->rate /= 2;
    w->step = 0;
}

Status minimise_adam(Minimise *m) {
    const size_t P = m->P, row = P * sizeof(double);
    const double rate = m->options->rate > 0 ? m->options->rate : 0.03;
    double *memory = calloc(3 * P, sizeof *memory), cost, halved = 1;
    Moments w = {memory, memory + P, memory + 2 * P, rate, 0};
    Status status = STATUS_OK;
    if (!memory) return error_no_memory(m->err, "%zu variables", m->P);
    memcpy(w.best, m->z, row);
    while (status == STATUS_OK && m->result->iterations < m->options->iterations) {
        const double share = (double)m->result->iterations / (double)m->options->iterations;
        status = minimise_at(m, m->z, &cost, m->gradient, NULL);
        if (status != STATUS_OK) break;
        m->result->iterations++;
        if (!isfinite(cost)) {
            go_back(m, &w);
            halved /= 2;
            continue;
        }
        if (cost <= m->result->cost) {
            memcpy(w.best, m->z, row);
            memcpy(m->trial, m->z, row);
            minimise_take(m, cost);
        }
        w.rate = halved * rate * 0.5 * (1 + cos(3.141592653589793 * share));
        adam_step(m, &w);
        minimise_try(m, 1);
        memcpy(m->z, m->trial, row);
    }
    memcpy(m->z, w.best, row);
    m->result->converged = false;
    free(memory);
    return status;
}
