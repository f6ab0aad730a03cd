// SPDX-License-Identifier: Apache-2.0
// For the fuzz targets of mesh readers: a mesh that was read has all its corners, and can be checked and filled.
#ifndef VPD_TESTS_FUZZ_MESH_FUZZ_H
#define VPD_TESTS_FUZZ_MESH_FUZZ_H

#include "tests/fuzz/fuzz.h"

#include "lab/mesh.h"

#include <math.h>
#include <string.h>

// With the 0 behind it that readers expect.
static inline char *fuzz_text(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, data, size);
    text[size] = 0;
    return text;
}

static inline double fuzz_size(const Mesh *mesh) {
    double size = 0;
    for (size_t i = 0; i < 3 * mesh->N; i++) size = fmax(size, fabs(mesh->position[i]));
    return size;
}

static inline void fuzz_mesh(Status status, Mesh *mesh, const Error *err) {
    Error wrong;
    if (status != STATUS_OK && !err->text[0]) abort(); // an error without a word
    for (size_t i = 0; i < 3 * mesh->F; i++)
        if ((size_t)mesh->triangle[i] >= mesh->N) abort();
    for (size_t i = 0; i < 4 * mesh->T; i++)
        if ((size_t)mesh->tet[i] >= mesh->N) abort();
    if (status == STATUS_OK && mesh_check(mesh, "fuzz", &wrong) == STATUS_OK && mesh->F && mesh->F < 100) {
        Mesh solid = {0};
        if (fuzz_size(mesh) < 8 && mesh_check_closed(mesh, "fuzz", &wrong) == STATUS_OK)
            mesh_fill(mesh, 0.25, "fuzz", &solid, &wrong);
        mesh_free(&solid);
    }
    mesh_free(mesh);
}

#endif
