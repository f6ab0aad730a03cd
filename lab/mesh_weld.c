// SPDX-License-Identifier: Apache-2.0
// One vertex in place of several at the very same place.
#include "lab/mesh.h"

#include <stdlib.h>
#include <string.h>

typedef struct Corner {
    double at[3];
    int32_t index;
} Corner;

static int compare(const void *a, const void *b) {
    const Corner *x = a, *y = b;
    for (int c = 0; c < 3; c++)
        if (x->at[c] != y->at[c]) return x->at[c] < y->at[c] ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

Status mesh_weld(Mesh *mesh, size_t *joined, Error *err) {
    size_t count = mesh->N;
    Corner *corners = calloc(count ? count : 1, sizeof *corners);
    int32_t *vertex = calloc(count ? count : 1, sizeof *vertex);
    Status status = corners && vertex ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a mesh");
    for (size_t i = 0; i < count && corners; i++) {
        for (int c = 0; c < 3; c++) corners[i].at[c] = mesh->position[3 * i + (size_t)c] + 0.0; // -0 is 0
        corners[i].index = (int32_t)i;
    }
    if (status == STATUS_OK && count) qsort(corners, count, sizeof *corners, compare);
    mesh->N = 0;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        if (i == 0 || memcmp(corners[i].at, corners[i - 1].at, sizeof corners[i].at) != 0) {
            memcpy(mesh->position + 3 * mesh->N, corners[i].at, sizeof corners[i].at);
            mesh->N++;
        }
        vertex[corners[i].index] = (int32_t)mesh->N - 1;
    }
    for (size_t i = 0; i < 3 * mesh->F && status == STATUS_OK; i++) mesh->triangle[i] = vertex[mesh->triangle[i]];
    if (joined) *joined = count - mesh->N;
    free(corners);
    free(vertex);
    return status;
}

Status mesh_doubles(const Mesh *mesh, size_t *out, Error *err) {
    Mesh copy = {.N = mesh->N, .position = calloc(3 * mesh->N + 1, sizeof *copy.position)};
    if (!copy.position) return error_set(err, STATUS_FAILED, "out of memory for %zu vertices", mesh->N);
    if (mesh->N) memcpy(copy.position, mesh->position, 3 * mesh->N * sizeof *copy.position);
    Status status = mesh_weld(&copy, out, err);
    mesh_free(&copy);
    return status;
}

Status mesh_close(Mesh *surface, const char *name, Error *err) {
    Error open;
    size_t doubles;
    Status status = mesh_check_closed(surface, name, &open);
    if (status != STATUS_OK) {
        status = mesh_doubles(surface, &doubles, err);
        if (status == STATUS_OK && doubles) status = mesh_weld(surface, NULL, err);
        if (status == STATUS_OK && doubles) surface->note[0] = 0; // which said that they are not joined
        if (status == STATUS_OK) status = mesh_check_closed(surface, name, err);
    }
    return status == STATUS_OK ? mesh_turn_outwards(surface, err) : status;
}
