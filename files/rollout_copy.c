// SPDX-License-Identifier: Apache-2.0
#include "files/rollout_layout.h"

#include <stdlib.h>
#include <string.h>

// `*slot` becomes a copy of the `bytes` it points to; false without memory, and then NULL. Absent arrays stay absent.
static bool own(void *slot, size_t bytes) {
    void **pointer = slot;
    const void *from = *pointer;
    if (!from) return true;
    *pointer = malloc(bytes ? bytes : 1);
    if (*pointer) memcpy(*pointer, from, bytes);
    return *pointer;
}

static bool own_set(RolloutSet *set) {
    bool good = true;
    for (int i = 0; i < SET_ARRAY_COUNT; i++) {
        const SetArray *array = SET_ARRAYS + i;
        size_t width = array->width ? array->width : set->D;
        good = own(set_pointer(set, array), *set_rows(set, array) * width * h5_kind_bytes(array->kind)) && good;
    }
    return good;
}

Status rollout_file_copy(const RolloutFile *from, RolloutFile *out, Error *err) {
    RolloutFile r = *from;
    size_t N = r.sets[0].N, V = (size_t)r.V;
    bool good = true;
    for (int i = 0; i < ROLLOUT_SETS_MAX; i++) good = own_set(r.sets + i) && good;
    good = motion_field_copy(&from->motion, &r.motion, err) == STATUS_OK && good;
    good = own(&r.positions, r.steps * 3 * N * sizeof *r.positions) && good;
    good = own(&r.features, r.steps * r.sets[0].D * N * sizeof *r.features) && good;
    good = own(&r.time, (r.steps + 1) * sizeof *r.time) && good;
    good = own(&r.intrinsics, 9 * V * sizeof *r.intrinsics) && good;
    good = own(&r.world_from_camera, 16 * (size_t)r.camera_frames * V * sizeof *r.world_from_camera) && good;
    good = own(&r.heldout, V) && good;
    good = own(&r.label_names, r.label_names ? strlen(r.label_names) + 1 : 0) && good;
    good = own(&r.edit_history, r.edit_history ? strlen(r.edit_history) + 1 : 0) && good;
    *out = r;
    if (good) return STATUS_OK;
    rollout_file_free(out);
    return error_set(err, STATUS_FAILED, "out of memory for a copy of %zu particles", N);
}
