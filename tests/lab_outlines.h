// SPDX-License-Identifier: Apache-2.0
// Closed surfaces whose vertices lie at their sharp edges alone, as CAD programs write them, and what they weigh.
#ifndef VPD_TESTS_LAB_OUTLINES_H
#define VPD_TESTS_LAB_OUTLINES_H

#include "lab/mesh.h"
#include "tests/test.h"

enum { OUTLINE_CORNERS = 64 };

// A polygon in the xy plane, and at the height h the same polygon, made smaller by `top`; 0: an apex.
typedef struct Outline {
    int corners;
    double at[OUTLINE_CORNERS][2], height, top;
    bool middles; // both ends have a vertex in the middle too
} Outline;

static inline Outline outline_regular(int corners, double radius, double height, double top) {
    Outline out = {.corners = corners, .height = height, .top = top};
    for (int i = 0; i < corners; i++) {
        out.at[i][0] = radius * cos(2 * M_PI * i / corners);
        out.at[i][1] = radius * sin(2 * M_PI * i / corners);
    }
    return out;
}

static inline void outline_add_face(Mesh *mesh, int32_t a, int32_t b, int32_t c) {
    Error err;
    assert_status_ok(mesh_add_triangle(mesh, (int32_t[]){a, b, c}, &err), err);
}

// A fan around a new vertex, so many metres up, in the middle.
static inline void outline_add_fan(Mesh *mesh, int32_t first, int count, double height, bool up) {
    const int32_t middle = (int32_t)mesh->N;
    Error err;
    assert_status_ok(mesh_add_vertex(mesh, (double[]){0, 0, height}, &err), err);
    for (int32_t i = 0; i < count; i++) {
        const int32_t next = (i + 1) % count;
        outline_add_face(mesh, first + (up ? i : next), first + (up ? next : i), middle);
    }
}

static inline void outline_add_cap(Mesh *mesh, int32_t first, int count, bool up) {
    int32_t corner[OUTLINE_CORNERS], triangle[OUTLINE_CORNERS][3];
    for (int i = 0; i < count; i++) corner[i] = first + i;
    assert_true(mesh_polygon(mesh, corner, count, triangle));
    for (int i = 0; i < count - 2; i++)
        outline_add_face(mesh, triangle[i][0], triangle[i][up ? 1 : 2], triangle[i][up ? 2 : 1]);
}

static inline Mesh outline_mesh(const Outline *o) {
    const int n = o->corners, rings = o->top > 0 ? 2 : 1;
    Mesh out = {0};
    Error err;
    for (int i = 0; i < rings * n; i++) {
        const double part = i < n ? 1 : o->top,
                     x[3] = {part * o->at[i % n][0], part * o->at[i % n][1], i < n ? 0 : o->height};
        assert_status_ok(mesh_add_vertex(&out, x, &err), err);
    }
    if (rings == 1) assert_status_ok(mesh_add_vertex(&out, (double[]){0, 0, o->height}, &err), err);
    for (int i = 0; i < n; i++) {
        const int next = (i + 1) % n;
        outline_add_face(&out, i, next, rings == 2 ? n + next : n);
        if (rings == 2) outline_add_face(&out, i, n + next, n + i);
    }
    for (int end = 0; end < rings; end++)
        if (o->middles) outline_add_fan(&out, end * n, n, end * o->height, end);
        else outline_add_cap(&out, end * n, n, end);
    assert_status_ok(mesh_check(&out, "outline", &err), err);
    assert_status_ok(mesh_check_closed(&out, "outline", &err), err);
    return out;
}

// ---- files of them

static inline void outline_write_obj(const Mesh *mesh, const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < mesh->N; i++) {
        const double *x = mesh->position + 3 * i;
        fprintf(file, "v %.17g %.17g %.17g\n", x[0], x[1], x[2]);
    }
    for (size_t f = 0; f < mesh->F; f++) {
        const int32_t *v = mesh->triangle + 3 * f;
        fprintf(file, "f %d %d %d\n", v[0] + 1, v[1] + 1, v[2] + 1);
    }
    assert_int_equal(fclose(file), 0);
}

static inline void outline_write_stl(const Mesh *mesh, const char *path) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "solid a\n");
    for (size_t f = 0; f < mesh->F; f++) {
        fprintf(file, "facet normal 0 0 0\nouter loop\n");
        for (int k = 0; k < 3; k++) {
            const double *x = mesh->position + 3 * mesh->triangle[3 * f + (size_t)k];
            fprintf(file, "vertex %.17g %.17g %.17g\n", x[0], x[1], x[2]);
        }
        fprintf(file, "endloop\nendfacet\n");
    }
    fprintf(file, "endsolid a\n");
    assert_int_equal(fclose(file), 0);
}

#endif
