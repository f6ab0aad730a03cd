// SPDX-License-Identifier: Apache-2.0
// Wavefront OBJ: vertices and faces. Polygons become triangles; normals, texture and materials are left out.
#include "lab/mesh_text.h"

#include <stdlib.h>
#include <string.h>

// "7", "7/2", "7//3" or "-1"; counted from 1, or backwards from the last vertex read.
static Status read_corner(MeshText *text, const Mesh *mesh, char *word, int32_t *out) {
    char *end;
    long number = strtol(word, &end, 10), count = (long)mesh->N;
    if (end == word || (*end && *end != '/'))
        return mesh_text_error(text, "expected a corner such as 7 or 7/2/3, found \"%.40s\"", word);
    if (number < 0) number += count + 1;
    if (number < 1 || number > count)
        return mesh_text_error(text, "the face names vertex %.20s, but %ld were read so far", word, count);
    *out = (int32_t)(number - 1);
    return STATUS_OK;
}

static Status read_face(MeshText *text, Mesh *mesh) {
    int32_t corners[MESH_CORNERS_MAX], triangles[MESH_CORNERS_MAX][3];
    int count = 0;
    Status status = STATUS_OK;
    for (char *word; status == STATUS_OK && (word = mesh_text_word(text));) {
        if (!strcmp(word, "\\") && mesh_text_line(text)) continue; // the face goes on in the next line
        if (count == MESH_CORNERS_MAX) return mesh_text_error(text, "a face has more than %d corners", count);
        status = read_corner(text, mesh, word, corners + count++);
    }
    if (status != STATUS_OK) return status;
    if (count < 3) return mesh_text_error(text, "a face needs 3 corners, found %d", count);
    if (!mesh_polygon(mesh, corners, count, triangles))
        return mesh_text_error(text, "the face is flat, its corners coincide or its sides cross");
    for (int i = 0; i < count - 2 && status == STATUS_OK; i++)
        status = mesh_add_triangle(mesh, triangles[i], text->err);
    return status;
}

Status mesh_parse_obj(char *bytes, size_t size, const char *name, Mesh *out, Error *err) {
    MeshText text = mesh_text(bytes, size, name, err);
    Status status = STATUS_OK;
    out->lines = true;
    while (status == STATUS_OK && mesh_text_line(&text)) {
        double at[3];
        const char *word = mesh_text_word(&text);
        out->place = (int32_t)text.line;
        if (word && !strcmp(word, "v")) {
            status = mesh_text_numbers(&text, "a vertex", 3, at);
            if (status == STATUS_OK) status = mesh_add_vertex(out, at, err);
        } else if (word && !strcmp(word, "f")) status = read_face(&text, out);
    }
    return status;
}
