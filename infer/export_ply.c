// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/file.h"
#include "infer/export.h"
#include "infer/rollout.h"

#include <stdlib.h>
#include <string.h>

static int write_header(const RolloutFile *r, size_t step, char *out, size_t size) {
    const RolloutSet *set = &r->sets[0];
    return snprintf(out, size,
                    "ply\nformat binary_little_endian 1.0\ncomment vpd, step %zu, %.9g s\nelement vertex %zu\n"
                    "property float x\nproperty float y\nproperty float z\n%s%s%send_header\n",
                    step, r->time[step], set->N,
                    set->colour ? "property uchar red\nproperty uchar green\nproperty uchar blue\n" : "",
                    set->labels ? "property ushort label\n" : "", set->radius ? "property float radius\n" : "");
}

static uint8_t *put(uint8_t *to, const void *from, size_t bytes) {
    memcpy(to, from, bytes);
    return to + bytes;
}

static void write_rows(const RolloutSet *set, const float *x, uint8_t *to) {
    for (size_t i = 0; i < set->N; i++) {
        to = put(to, x + 3 * i, 3 * sizeof *x);
        if (set->colour) to = put(to, set->colour + 3 * i, 3);
        if (set->labels) to = put(to, set->labels + i, sizeof *set->labels);
        if (set->radius) to = put(to, set->radius + i, sizeof *set->radius);
    }
}

Status export_ply(const RolloutFile *r, const char *folder, Error *err) {
    const RolloutSet *set = &r->sets[0];
    size_t row = 12 + (set->colour ? 3 : 0) + (set->labels ? 2 : 0) + (set->radius ? 4 : 0), bytes;
    char path[FILE_PATH_SIZE], name[32];
    enum { HEADER = 512 };
    Status status = file_make_folders(folder, err);
    if (status != STATUS_OK) return status;
    uint8_t *memory = size_mul(row, set->N, &bytes) && size_add(bytes, HEADER, &bytes) ? malloc(bytes) : NULL;
    if (!memory) return error_set(err, STATUS_FAILED, "%s: out of memory for %zu particles", folder, set->N);
    for (size_t step = 0; step <= r->steps && status == STATUS_OK; step++) {
        size_t header = (size_t)write_header(r, step, (char *)memory, HEADER);
        write_rows(set, rollout_positions(r, step), memory + header);
        snprintf(name, sizeof name, "step_%04zu.ply", step);
        status = file_join(path, sizeof path, folder, name, err);
        if (status == STATUS_OK) status = file_write_bytes(path, memory, header + row * set->N, err);
    }
    free(memory);
    return status;
}
