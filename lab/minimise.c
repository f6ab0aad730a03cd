// SPDX-License-Identifier: Apache-2.0
#include "lab/minimise.h"

#include "lab/minimise_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    static Status (*const methods[])(Minimise *) = {minimise_marquardt, minimise_lbfgs, minimise_adam};
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
        minimise_to_x(&m, m.z, x);
    }
    free(m.memory);
    return status;
}
