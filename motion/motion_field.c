// SPDX-License-Identifier: Apache-2.0
#include "motion/motion_field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

MotionField motion_field_in(real *x, size_t count) {
    return (MotionField){count, x, x + 3 * count, x + 6 * count, x + 9 * count, x + 18 * count, x + 19 * count};
}

Status motion_field_create(size_t count, MotionField *out, Error *err) {
    *out = (MotionField){0};
    real *memory = calloc(count + 1, MOTION_FIELD_WIDTH * sizeof *memory);
    if (!memory) return error_set(err, STATUS_FAILED, "out of memory for a motion field of %zu points", count);
    *out = motion_field_in(memory, count);
    return STATUS_OK;
}

void motion_field_free(MotionField *field) {
    free(field->position);
    *field = (MotionField){0};
}

void motion_field_put(const MotionField *from, MotionField *to) {
    if (from->count == 0) return;
    memcpy(to->position, from->position, 3 * from->count * sizeof *to->position);
    memcpy(to->colour, from->colour, 3 * from->count * sizeof *to->colour);
    memcpy(to->motion, from->motion, 3 * from->count * sizeof *to->motion);
    memcpy(to->gradient, from->gradient, 9 * from->count * sizeof *to->gradient);
    memcpy(to->body, from->body, from->count * sizeof *to->body);
    memcpy(to->mirrored, from->mirrored, from->count * sizeof *to->mirrored);
}

static double distance2(const double x[3], const real *y) {
    double sum = 0;
    for (int d = 0; d < 3; d++) sum += (x[d] - (double)y[d]) * (x[d] - (double)y[d]);
    return sum;
}

int motion_field_body(const MotionField *f, double colour_length, const double x[3], const real c[3]) {
    const double colour[3] = {(double)c[0], (double)c[1], (double)c[2]};
    double least = INFINITY;
    int body = -1;
    for (size_t j = 0; j < f->count; j++) {
        if (f->body[j] < 0 || f->mirrored[j] > 0) continue;
        double d2 =
            distance2(x, f->position + 3 * j) + colour_length * colour_length * distance2(colour, f->colour + 3 * j);
        if (d2 < least) least = d2, body = (int)f->body[j];
    }
    return body;
}

void motion_field_before(const MotionField *f, int body, const double x[3], double before[3]) {
    double least = INFINITY, r[3];
    size_t nearest = 0;
    for (size_t j = 0; j < f->count; j++) {
        double d2 = (int)f->body[j] == body ? distance2(x, f->position + 3 * j) : INFINITY;
        if (d2 < least) least = d2, nearest = j;
    }
    for (size_t d = 0; d < 3; d++) r[d] = x[d] - (double)f->position[3 * nearest + d];
    for (size_t d = 0; d < 3; d++) {
        const real *g = f->gradient + 9 * nearest + 3 * d;
        before[d] = x[d] - (double)f->motion[3 * nearest + d] -
                    ((double)g[0] * r[0] + (double)g[1] * r[1] + (double)g[2] * r[2]);
    }
}

Status motion_field_copy(const MotionField *from, MotionField *out, Error *err) {
    MotionField of = *from;
    Status status = motion_field_create(of.count, out, err);
    if (status != STATUS_OK || of.count == 0) return status;
    memcpy(out->position, of.position, of.count * MOTION_FIELD_WIDTH * sizeof *of.position); // one block
    return STATUS_OK;
}
