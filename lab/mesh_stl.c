// SPDX-License-Identifier: Apache-2.0
// STL, binary and ASCII: three corners for each facet. Corners at the very same place become one vertex.
#include "lab/mesh_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 84, FACET = 50 }; // bytes

static uint32_t number_at(const char *bytes) {
    const unsigned char *b = (const unsigned char *)bytes;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

// Every third corner ends a triangle.
static Status add_corner(Mesh *mesh, int32_t place, const double at[3], Error *err) {
    Status status = mesh_add_vertex(mesh, at, err);
    const int32_t N = (int32_t)mesh->N;
    mesh->place = place;
    return status == STATUS_OK && N % 3 == 0 ? mesh_add_triangle(mesh, (int32_t[]){N - 3, N - 2, N - 1}, err) : status;
}

static Status read_binary(const char *bytes, size_t count, const char *name, Mesh *out, Error *err) {
    Status status = STATUS_OK;
    for (size_t i = 0; i < 3 * count && status == STATUS_OK; i++) {
        const char *corner = bytes + HEADER + FACET * (i / 3) + 12 + 12 * (i % 3);
        double at[3];
        for (int c = 0; c < 3; c++) {
            uint32_t bits = number_at(corner + 4 * c);
            float value;
            memcpy(&value, &bits, sizeof value);
            at[c] = (double)value;
        }
        if (!isfinite(at[0]) || !isfinite(at[1]) || !isfinite(at[2]))
            return error_set(err, STATUS_BAD_INPUT, "%s: face %zu: expected finite positions", name, i / 3 + 1);
        status = add_corner(out, (int32_t)(i / 3 + 1), at, err);
    }
    return status;
}

static Status read_ascii(MeshText *text, Mesh *out) {
    Status status = STATUS_OK;
    out->lines = true;
    while (status == STATUS_OK && mesh_text_line(text)) {
        double at[3];
        const char *word = mesh_text_word(text);
        if (word && !strcmp(word, "endloop") && out->N % 3) break;
        if (!word || strcmp(word, "vertex") != 0) continue;
        status = mesh_text_numbers(text, "a vertex", 3, at);
        if (status == STATUS_OK) status = add_corner(out, (int32_t)text->line, at, text->err);
    }
    if (status == STATUS_OK && out->N % 3)
        return mesh_text_error(text, "expected 3 vertices a facet, found %zu in all", out->N);
    return status;
}

Status mesh_parse_stl(char *bytes, size_t size, const char *name, Mesh *out, Error *err) {
    size_t count = size >= HEADER ? number_at(bytes + HEADER - 4) : 0;
    bool binary = size >= HEADER && size == HEADER + FACET * count;
    Status status;
    if (!binary && strncmp(bytes, "solid", 5) != 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected an STL file: %zu facets need %zu bytes, found %zu", name,
                         count, HEADER + FACET * count, size);
    MeshText text = mesh_text(bytes, size, name, err);
    status = binary ? read_binary(bytes, count, name, out, err) : read_ascii(&text, out);
    return status == STATUS_OK ? mesh_weld(out, NULL, err) : status;
}
