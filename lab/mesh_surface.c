// SPDX-License-Identifier: Apache-2.0
// Faces of tetrahedra, and the surface of a mesh.
#include "lab/mesh.h"

#include <stdlib.h>
#include <string.h>

static int compare_faces(const void *a, const void *b) {
    const MeshFace *x = a, *y = b;
    for (int c = 0; c < 3; c++)
        if (x->corner[c] != y->corner[c]) return x->corner[c] < y->corner[c] ? -1 : 1;
    return (x->tet > y->tet) - (x->tet < y->tet);
}

static MeshFace make_face(const int32_t *tet, int without, int32_t number) {
    MeshFace out = {.tet = number, .without = without};
    int count = 0;
    for (int c = 0; c < 4; c++) {
        if (c == without) continue;
        int at = count++;
        for (; at > 0 && out.corner[at - 1] > tet[c]; at--) out.corner[at] = out.corner[at - 1];
        out.corner[at] = tet[c];
    }
    return out;
}

Status mesh_tet_faces(const Mesh *mesh, MeshFace **out, Error *err) {
    size_t count = 4 * mesh->T;
    MeshFace *faces = *out = calloc(count ? count : 1, sizeof *faces);
    if (!faces) return error_set(err, STATUS_FAILED, "out of memory for %zu faces", count);
    for (size_t i = 0; i < count; i++) faces[i] = make_face(mesh->tet + 4 * (i / 4), (int)(i % 4), (int32_t)(i / 4));
    if (count) qsort(faces, count, sizeof *faces, compare_faces);
    return STATUS_OK;
}

static bool same(const MeshFace *a, const MeshFace *b) { return !memcmp(a->corner, b->corner, sizeof a->corner); }

Status mesh_surface(const Mesh *mesh, int32_t **out, size_t *count, Error *err) {
    static const int outwards[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
    const size_t all = 4 * mesh->T;
    MeshFace *faces;
    *out = NULL, *count = 0;
    Status status = mesh_tet_faces(mesh, &faces, err);
    if (status == STATUS_OK && !(*out = malloc((3 * (mesh->F + all) + 1) * sizeof **out)))
        status = error_set(err, STATUS_FAILED, "out of memory for %zu faces", all);
    for (size_t i = 0; i < all && status == STATUS_OK; i++) {
        if ((i && same(faces + i, faces + i - 1)) || (i + 1 < all && same(faces + i, faces + i + 1))) continue;
        for (int c = 0; c < 3; c++)
            (*out)[3 * *count + (size_t)c] = mesh->tet[4 * faces[i].tet + outwards[faces[i].without][c]];
        ++*count;
    }
    if (status == STATUS_OK && mesh->F) memcpy(*out + 3 * *count, mesh->triangle, 3 * mesh->F * sizeof **out);
    *count += mesh->F;
    free(faces);
    return status;
}
