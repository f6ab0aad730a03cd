// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/file.h"
#include "infer/export.h"
#include "infer/rollout.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 640, TRIANGLE = 1 + 3 * sizeof(int32_t), SPRING = 2 * sizeof(int32_t) }; // bytes

static int write_header(const RolloutFile *r, size_t step, char *out) {
    const RolloutSet *set = &r->sets[0];
    char faces[96] = "", edges[96] = "";
    if (r->surface.triangles)
        snprintf(faces, sizeof faces, "element face %zu\nproperty list uchar int vertex_indices\n",
                 r->surface.triangles);
    if (r->surface.springs)
        snprintf(edges, sizeof edges, "element edge %zu\nproperty int vertex1\nproperty int vertex2\n",
                 r->surface.springs);
    return snprintf(out, HEADER,
                    "ply\nformat binary_little_endian 1.0\ncomment vpd, step %zu, %.9g s\nelement vertex %zu\n"
                    "property float x\nproperty float y\nproperty float z\n%s%s%s%s%send_header\n",
                    step, r->time[step], set->N,
                    set->colour ? "property uchar red\nproperty uchar green\nproperty uchar blue\n" : "",
                    set->labels ? "property ushort label\n" : "", set->radius ? "property float radius\n" : "", faces,
                    edges);
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

// The same of every step.
static void write_surface(const RolloutSurface *s, uint8_t *to) {
    for (size_t i = 0; i < s->triangles; i++) {
        *to++ = 3;
        to = put(to, s->triangle + 3 * i, 3 * sizeof *s->triangle);
    }
    if (s->springs) put(to, s->spring, s->springs * SPRING);
}

Status export_ply(const RolloutFile *r, const char *folder, Error *err) {
    const RolloutSet *set = &r->sets[0];
    const size_t row = 12 + (set->colour ? 3 : 0) + (set->labels ? 2 : 0) + (set->radius ? 4 : 0),
                 surface = r->surface.triangles * TRIANGLE + r->surface.springs * SPRING;
    size_t bytes;
    char path[FILE_PATH_SIZE], name[32];
    Status status = file_make_folders(folder, err);
    if (status != STATUS_OK) return status;
    bool fits = size_mul(row, set->N, &bytes) && size_add(bytes, surface, &bytes) && size_add(bytes, HEADER, &bytes);
    uint8_t *memory = fits ? malloc(bytes) : NULL;
    if (!memory) return error_set(err, STATUS_FAILED, "%s: out of memory for %zu particles", folder, set->N);
    for (size_t step = 0; step <= r->steps && status == STATUS_OK; step++) {
        size_t used = (size_t)write_header(r, step, (char *)memory);
        write_rows(set, rollout_positions(r, step), memory + used);
        write_surface(&r->surface, memory + used + row * set->N);
        snprintf(name, sizeof name, "step_%04zu.ply", step);
        status = file_join(path, sizeof path, folder, name, err);
        if (status == STATUS_OK) status = file_write_bytes(path, memory, used + row * set->N + surface, err);
    }
    free(memory);
    return status;
}
