// SPDX-License-Identifier: Apache-2.0
// Standard errors where residuals jump, as motion does with the step of a touch, and pictures as edges cross pixels.
// The cost is then a saw-tooth on a wide valley. A search ends in some tooth, and the slopes there belong to the tooth.
// So along each direction the cost is asked at many distances, and it is estimated how low the teeth reach there: a
// standard error is half of how far away they still reach below what two standard errors would cost.
#include "lab/minimise_inside.h"

#include <stdlib.h>

enum { POINTS = 5, BEYOND = 3 }; // of a distance; distances in a row beyond which a rough valley has ended

#define APART 0.1  // of a distance, between its points
#define DEEPER 0.5 // of the roughness: how far teeth reach below the lowest point
#define FAR 2.0    // standard errors
#define WIDER 1.1  // times the standard error counts as another one

// How low the teeth reach about `far` away along direction k, in variances of a residual: the lowest of some points,
// and below it by a share of their roughness, which is the largest distance from a straight line over the squared
// distance.
static Status look_low(const MinimiseLook *l, size_t k, double far, double *out) {
    double rise[POINTS], square[POINTS], mean = 0, centre = 0, slope = 0, size = 0, rough = 0, least = INFINITY;
    for (int i = 0; i < POINTS; i++) {
        const double share = 1 - APART * i;
        Status status = minimise_rise(l, k, share * far, rise + i);
        if (status != STATUS_OK) return status;
        square[i] = share * share;
        mean += rise[i] / POINTS, centre += square[i] / POINTS;
        least = fmin(least, rise[i]);
    }
    for (int i = 0; i < POINTS; i++) {
        slope += (square[i] - centre) * (rise[i] - mean);
        size += (square[i] - centre) * (square[i] - centre);
    }
    for (int i = 0; i < POINTS && isfinite(mean); i++)
        rough = fmax(rough, fabs(rise[i] - mean - slope / size * (square[i] - centre)));
    *out = least - DEEPER * rough;
    return STATUS_OK;
}

// The standard error along direction k, to a factor of 2 where it is wider than the slopes say.
static Status follow(const MinimiseLook *l, size_t k, double *error) {
    Status status = STATUS_OK;
    const bool rough = l->problem->shape == MINIMISE_ROUGH;
    int beyond = 0;
    *error = minimise_reach(l, k);
    for (double far = 2 * FAR * *error; far < FAR * MINIMISE_LOST && status == STATUS_OK; far *= 2) {
        beyond++;
        for (int side = -1; side <= 1 && status == STATUS_OK; side += 2) {
            double low = INFINITY;
            status = look_low(l, k, side * far, &low);
            if (low < FAR * FAR) *error = far / FAR, beyond = 0;
        }
        if (rough && beyond == BEYOND) break;
    }
    return status;
}

// Directions by differences over the teeth, and the errors along those.
static Status turn(const MinimiseLook *l, double *error, double *length) {
    bool good = true;
    for (size_t k = 0; k < l->n; k++) length[k] = fmin(error[k], MINIMISE_LONGEST);
    Status status = minimise_look_along(l, length, &good);
    for (size_t k = 0; k < l->n && status == STATUS_OK; k++) {
        if (good) status = follow(l, k, error + k);
        l->value[k] = fmin(l->value[k], l->out->variance / (error[k] * error[k])); // less: it is lost
    }
    minimise_put_in_order(l->n, l->value, l->vector);
    return status;
}

Status minimise_past_jumps(const MinimiseLook *l) {
    double *error = calloc(2 * l->n + 1, sizeof *error);
    Status status = error ? STATUS_OK : error_set(l->err, STATUS_FAILED, "out of memory for errors");
    bool any = false;
    for (size_t k = 0; k < l->n && status == STATUS_OK; k++) {
        status = follow(l, k, error + k);
        any = any || error[k] > WIDER * minimise_reach(l, k);
    }
    if (status == STATUS_OK && any) status = turn(l, error, error + l->n);
    free(error);
    return status;
}
