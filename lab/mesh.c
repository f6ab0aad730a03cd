// SPDX-License-Identifier: Apache-2.0
#include "lab/mesh.h"

#include <stdlib.h>
#include <string.h>

void mesh_free(Mesh *mesh) {
    free(mesh->position);
    free(mesh->triangle);
    free(mesh->tet);
    free(mesh->spring);
    free(mesh->triangle_place);
    free(mesh->tet_place);
    *mesh = (Mesh){0};
}

// Appends an item; the room is doubled when the count reaches a power of two.
static Status append(void **items, size_t *count, const void *item, size_t size, const char *what, Error *err) {
    if (*count >= MESH_ITEMS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "more than %d %s in one mesh", MESH_ITEMS_MAX, what);
    if ((*count & (*count - 1)) == 0) {
        void *more = realloc(*items, (*count ? 2 * *count : 1) * size);
        if (!more) return error_set(err, STATUS_FAILED, "out of memory for %zu %s", *count + 1, what);
        *items = more;
    }
    memcpy((char *)*items + (*count)++ * size, item, size);
    return STATUS_OK;
}

Status mesh_add_vertex(Mesh *mesh, const double at[3], Error *err) {
    return append((void **)&mesh->position, &mesh->N, at, 3 * sizeof *at, "vertices", err);
}

Status mesh_add_triangle(Mesh *mesh, const int32_t corners[3], Error *err) {
    size_t count = mesh->F;
    Status status = append((void **)&mesh->triangle_place, &count, &mesh->place, sizeof mesh->place, "triangles", err);
    if (status != STATUS_OK) return status;
    return append((void **)&mesh->triangle, &mesh->F, corners, 3 * sizeof *corners, "triangles", err);
}

Status mesh_add_tet(Mesh *mesh, const int32_t corners[4], Error *err) {
    size_t count = mesh->T;
    Status status = append((void **)&mesh->tet_place, &count, &mesh->place, sizeof mesh->place, "tetrahedra", err);
    if (status != STATUS_OK) return status;
    return append((void **)&mesh->tet, &mesh->T, corners, 4 * sizeof *corners, "tetrahedra", err);
}

Status mesh_add_spring(Mesh *mesh, int32_t a, int32_t b, Error *err) {
    return append((void **)&mesh->spring, &mesh->S, (int32_t[]){a, b}, 2 * sizeof a, "springs", err);
}
