// SPDX-License-Identifier: Apache-2.0
// What the methods share.
#include "lab/minimise_inside.h"

#include "base/stop.h"

#include <math.h>
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

void minimise_to_x(const Minimise *m, const double *z, double *x) {
    for (size_t i = 0; i < m->P; i++) {
        const MinimiseVariable *v = m->problem->variable + i;
        if (v->fixed) continue;
        x[i] = fmin(fmax(minimise_x(v, z[i]), v->low), v->high);
        if (z[i] <= m->low[i]) x[i] = v->low; // exp(log(x)) may differ from x
        if (z[i] >= m->high[i]) x[i] = v->high;
    }
}

Status minimise_at(Minimise *m, const double *z, double *cost, double *gradient, double *normal) {
    const size_t P = m->P;
    MinimiseSums sums = {.gradient = gradient, .normal = normal};
    *cost = INFINITY;
    if (stop_requested()) return stop_error(m->err);
    if (gradient) memset(gradient, 0, P * sizeof *gradient);
    if (normal) memset(normal, 0, P * P * sizeof *normal);
    minimise_to_x(m, z, m->x);
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
    minimise_to_x(m, m->z, m->x);
    if (m->options->report) m->options->report(m->options->context, m->result->iterations, cost, m->x);
}
