// SPDX-License-Identifier: Apache-2.0
// The choice of a reader, and what is left out of files.
#include "lab/mesh.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_MAX ((size_t)1 << 30) // bytes

// ---- what files hold beside or instead of what is needed

static void note_unused(Mesh *mesh, size_t unused, const char *name) {
    snprintf(mesh->note, sizeof mesh->note, "%.300s: %zu %s to no element and %s left out; later numbers move", name,
             unused, unused == 1 ? "vertex belongs" : "vertices belong", unused == 1 ? "is" : "are");
}

// Pieces that only seem to be joined: each corner has a vertex of its own there.
static Status note_doubles(Mesh *mesh, const char *name, Error *err) {
    size_t doubles = 0;
    Status status = mesh->note[0] ? STATUS_OK : mesh_doubles(mesh, &doubles, err);
    if (doubles)
        snprintf(
            mesh->note, sizeof mesh->note,
            "%.300s: %zu %s at the very place of others and %s not joined to them, so the object comes apart there",
            name, doubles, doubles == 1 ? "vertex lies" : "vertices lie", doubles == 1 ? "is" : "are");
    return status;
}

static Status drop_unused(Mesh *mesh, const char *name, Error *err) {
    bool moved = false;
    int32_t *map = calloc(mesh->N ? mesh->N : 1, sizeof *map), kept = 0;
    if (!map) return error_set(err, STATUS_FAILED, "out of memory for %zu vertices", mesh->N);
    for (size_t i = 0; i < 3 * mesh->F; i++) map[mesh->triangle[i]] = 1;
    for (size_t i = 0; i < 4 * mesh->T; i++) map[mesh->tet[i]] = 1;
    for (size_t i = 0; i < mesh->N; i++) {
        if (!map[i]) continue;
        memmove(mesh->position + 3 * (size_t)kept, mesh->position + 3 * i, 3 * sizeof *mesh->position);
        moved = moved || (size_t)kept != i;
        map[i] = kept++;
    }
    if (moved) note_unused(mesh, mesh->N - (size_t)kept, name);
    mesh->N = (size_t)kept;
    for (size_t i = 0; i < 3 * mesh->F; i++) mesh->triangle[i] = map[mesh->triangle[i]];
    for (size_t i = 0; i < 4 * mesh->T; i++) mesh->tet[i] = map[mesh->tet[i]];
    free(map);
    return STATUS_OK;
}

// Some programs number the corners of tets the other way round.
static void turn_tets(Mesh *mesh) {
    for (size_t t = 0; t < mesh->T; t++)
        if (!(mesh_tet_volume(mesh, t) < 0)) return;
    for (size_t t = 0; t < mesh->T; t++) {
        int32_t *corner = mesh->tet + 4 * t, first = corner[0];
        corner[0] = corner[1];
        corner[1] = first;
    }
}

static Status tidy(Mesh *mesh, const char *name, Error *err) {
    if (mesh->T) mesh->F = 0;
    if (!mesh->T && !mesh->F)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected triangles or tetrahedra, found none", name);
    turn_tets(mesh);
    Status status = drop_unused(mesh, name, err);
    return status == STATUS_OK ? note_doubles(mesh, name, err) : status;
}

// ---- files

static Status load(const char *path, MeshFile *out, Error *err) {
    out->name = path;
    return file_read_all(path, FILE_MAX, &out->text, &out->size, err);
}

static Status read_tetgen(const char *path, Mesh *out, Error *err) {
    char paths[2][FILE_PATH_SIZE];
    static const char *const endings[] = {".node", ".ele"};
    int stem = (int)(strrchr(path, '.') - path);
    MeshFile files[2] = {{0}};
    Status status = STATUS_OK;
    for (int i = 0; i < 2 && status == STATUS_OK; i++) {
        if (snprintf(paths[i], FILE_PATH_SIZE, "%.*s%s", stem, path, endings[i]) >= FILE_PATH_SIZE)
            status = error_set(err, STATUS_BAD_INPUT, "%.200s: the path is too long", path);
        if (status == STATUS_OK) status = load(paths[i], files + i, err);
    }
    if (status == STATUS_OK) status = mesh_parse_tetgen(files[0], files[1], out, err);
    free(files[0].text);
    free(files[1].text);
    return status;
}

typedef Status Parser(char *text, size_t size, const char *name, Mesh *out, Error *err);

static Status read_one(const char *path, Parser *parse, Mesh *out, Error *err) {
    MeshFile file = {0};
    Status status = load(path, &file, err);
    if (status == STATUS_OK) status = parse(file.text, file.size, path, out, err);
    free(file.text);
    return status;
}

Status mesh_read(const char *path, Mesh *out, Error *err) {
    static const struct {
        const char *ending;
        Parser *parse;
    } kinds[] = {
        {".obj", mesh_parse_obj}, {".ply", mesh_parse_ply}, {".stl", mesh_parse_stl}, {".msh", mesh_parse_msh}};
    Status status = STATUS_BAD_INPUT;
    bool known = name_ends(path, ".node") || name_ends(path, ".ele");
    *out = (Mesh){0};
    if (known) status = read_tetgen(path, out, err);
    for (size_t i = 0; !known && i < sizeof kinds / sizeof *kinds; i++) {
        if (!name_ends(path, kinds[i].ending)) continue;
        known = true;
        status = read_one(path, kinds[i].parse, out, err);
    }
    if (!known)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a mesh .obj, .ply, .stl, .msh, .node or .ele", path);
    if (status == STATUS_OK) status = tidy(out, path, err);
    if (status != STATUS_OK) mesh_free(out);
    return status;
}
