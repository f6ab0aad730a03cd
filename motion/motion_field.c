// SPDX-License-Identifier: Apache-2.0
#include "motion/motion_field.h"

#include <stdlib.h>
#include <string.h>

Status motion_field_create(size_t count, MotionField *out, Error *err) {
    *out = (MotionField){0};
    real *memory = calloc(count + 1, MOTION_FIELD_WIDTH * sizeof *memory);
    if (!memory) return error_set(err, STATUS_FAILED, "out of memory for a motion field of %zu points", count);
    *out = (MotionField){count, memory, memory + 3 * count, memory + 6 * count, memory + 9 * count};
    return STATUS_OK;
}

void motion_field_free(MotionField *field) {
    free(field->position);
    *field = (MotionField){0};
}

Status motion_field_copy(const MotionField *from, MotionField *out, Error *err) {
    MotionField of = *from;
    Status status = motion_field_create(of.count, out, err);
    if (status != STATUS_OK || of.count == 0) return status;
    memcpy(out->position, of.position, 3 * of.count * sizeof *of.position);
    memcpy(out->colour, of.colour, 3 * of.count * sizeof *of.colour);
    memcpy(out->motion, of.motion, 3 * of.count * sizeof *of.motion);
    memcpy(out->gradient, of.gradient, 9 * of.count * sizeof *of.gradient);
    return STATUS_OK;
}
