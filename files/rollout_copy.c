// SPDX-License-Identifier: Apache-2.0
// Copies, frees and hashes rollouts in memory.
#include "base/array.h"
#include "base/camera_rig.h"
#include "base/vector.h"
#include "files/rollout_layout.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

// Replaces `*slot` by a copy of its `bytes` bytes, or by NULL and false if memory is short. Missing arrays stay
// missing.
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
        good = own(set_pointer(set, array), set->N * width * h5_kind_bytes(array->kind)) && good;
    }
    return good;
}

Status rollout_file_copy(const RolloutFile *from, RolloutFile *out, Error *err) {
    RolloutFile r = *from;
    size_t N = r.sets[0].N, V = (size_t)r.V;
    bool good = true;
    for (int i = 0; i < ROLLOUT_SETS_MAX; i++) good = own_set(r.sets + i) && good;
    good = own(&r.positions, r.steps * 3 * N * sizeof *r.positions) && good;
    good = own(&r.features, r.steps * r.sets[0].D * N * sizeof *r.features) && good;
    good = own(&r.time, (r.steps + 1) * sizeof *r.time) && good;
    good = own(&r.intrinsics, 9 * V * sizeof *r.intrinsics) && good;
    good = own(&r.world_from_camera, 16 * (size_t)r.camera_frames * V * sizeof *r.world_from_camera) && good;
    good = own(&r.heldout, V) && good;
    good = own(&r.label_names, r.label_names ? strlen(r.label_names) + 1 : 0) && good;
    good = own(&r.edit_history, r.edit_history ? strlen(r.edit_history) + 1 : 0) && good;
    good = own(&r.surface.triangle, 3 * r.surface.triangles * sizeof *r.surface.triangle) && good;
    good = own(&r.surface.spring, 2 * r.surface.springs * sizeof *r.surface.spring) && good;
    good = own(&r.surface.touching, r.surface.frames * N) && good;
    good = own(&r.drives.body, r.drives.count * sizeof *r.drives.body) && good;
    good = own(&r.drives.step, r.drives.count * sizeof *r.drives.step) && good;
    good = own(&r.drives.motion, 16 * r.drives.count * sizeof *r.drives.motion) && good;
    *out = r;
    if (good) return STATUS_OK;
    rollout_file_free(out);
    return error_set(err, STATUS_FAILED, "out of memory for a copy of %zu particles", N);
}

bool rollout_has_light(const RolloutFile *r) { return vector_dot(r->light, r->light) > 0; }

bool rollout_is_hidden(const RolloutSet *set, size_t i) { return set->radius && set->radius[i] == 0; }

size_t rollout_drawn(const RolloutSet *set) {
    size_t count = 0;
    for (size_t i = 0; i < set->N; i++) count += !rollout_is_hidden(set, i);
    return count;
}

const char *rollout_count_text(size_t drawn, size_t hidden, char out[80]) {
    int used = snprintf(out, 80, "%zu particle%s", drawn, drawn == 1 ? "" : "s");
    if (hidden) snprintf(out + used, 80 - (size_t)used, " and %zu hidden point%s", hidden, hidden == 1 ? "" : "s");
    return out;
}

const char *rollout_label_line(const char *line, long label, char *out, size_t size) {
    size_t length = strcspn(line, "\n");
    if (length >= size)
        for (length = size - 1; length > 0 && ((unsigned char)line[length] & 0xC0) == 0x80;) length--;
    if (length == 0) snprintf(out, size, "label %ld", label);
    else snprintf(out, size, "%.*s", (int)length, line);
    line += strcspn(line, "\n");
    return line + (*line == '\n');
}

void rollout_up(const RolloutSurface *s, const double *world_from_camera, size_t count, double up[3]) {
    const bool simulated = s && (s->triangles || s->springs || s->frames);
    memcpy(up, (double[]){0, 0, 1}, 3 * sizeof *up);
    if (count && !simulated) camera_rig_up(world_from_camera, count, 16 * sizeof *world_from_camera, up);
}

void rollout_surface_free(RolloutSurface *surface) {
    free(surface->triangle);
    free(surface->spring);
    free(surface->touching);
    *surface = (RolloutSurface){0};
}

void rollout_drives_tidy(RolloutDrives *drives) {
    size_t kept = 0;
    for (size_t k = 0; k < drives->count; k++) {
        if (drives->body[k] < 0 || drives->step[k] < 1) continue;
        drives->body[kept] = drives->body[k];
        drives->step[kept] = drives->step[k];
        memmove(drives->motion + 16 * kept++, drives->motion + 16 * k, 16 * sizeof *drives->motion);
    }
    drives->count = kept;
}

Status rollout_drive_add(RolloutDrives *drives, int32_t body, size_t step, const double motion[16], Error *err) {
    size_t k = drives->count;
    if (k >= ROLLOUT_DRIVES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "expected at most %d motions of driven bodies in all steps",
                         ROLLOUT_DRIVES_MAX);
    if (!array_grow(&drives->body, k + 1, sizeof *drives->body) ||
        !array_grow(&drives->step, k + 1, sizeof *drives->step) ||
        !array_grow(&drives->motion, 16 * (k + 1), sizeof *drives->motion))
        return error_no_memory(err, "the motions of driven bodies");
    drives->body[k] = body;
    drives->step[k] = (int32_t)step;
    memcpy(drives->motion + 16 * k, motion, 16 * sizeof *motion);
    drives->count++;
    return STATUS_OK;
}

void rollout_file_free(RolloutFile *rollout) {
    for (int i = 0; i < ROLLOUT_SETS_MAX; i++)
        for (int k = 0; k < SET_ARRAY_COUNT; k++) free(*set_pointer(rollout->sets + i, SET_ARRAYS + k));
    free(rollout->positions);
    free(rollout->features);
    free(rollout->time);
    free(rollout->intrinsics);
    free(rollout->world_from_camera);
    free(rollout->heldout);
    free(rollout->label_names);
    free(rollout->edit_history);
    rollout_surface_free(&rollout->surface);
    free(rollout->drives.body);
    free(rollout->drives.step);
    free(rollout->drives.motion);
    *rollout = (RolloutFile){0};
}

bool rollout_has_ties(const RolloutFile *rollout) {
    bool has = false;
    for (int k = 0; k < rollout->set_count; k++) has |= rollout->sets[k].ties != NULL;
    return has;
}

void rollout_hash_places(const RolloutFile *rollout, char out[32]) {
    uint64_t sum = 0;
    for (int k = 0; k < rollout->set_count; k++) {
        const RolloutSet *set = &rollout->sets[k];
        sum = XXH3_64bits_withSeed(set->positions, set->positions ? 12 * set->N : 0, sum);
    }
    snprintf(out, 32, "xxh3:%016llx", (unsigned long long)sum);
}
