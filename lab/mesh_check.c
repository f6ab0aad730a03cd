// SPDX-License-Identifier: Apache-2.0
#include "base/vector.h"
#include "lab/mesh.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Volume by the cube of the longest edge, area by its square: a regular tet has 0.12, a regular triangle 0.43.
#define FLAT 1e-6

double mesh_tet_volume(const Mesh *mesh, size_t tet) {
    const int32_t *v = mesh->tet + 4 * tet;
    double a[3], b[3], c[3], n[3];
    vector_between(mesh->position, v[0], v[1], a);
    vector_between(mesh->position, v[0], v[2], b);
    vector_between(mesh->position, v[0], v[3], c);
    vector_cross(a, b, n);
    return vector_dot(n, c) / 6;
}

double mesh_triangle_area(const Mesh *mesh, size_t triangle) {
    const int32_t *v = mesh->triangle + 3 * triangle;
    double a[3], b[3], n[3];
    vector_between(mesh->position, v[0], v[1], a);
    vector_between(mesh->position, v[0], v[2], b);
    vector_cross(a, b, n);
    return sqrt(vector_dot(n, n)) / 2;
}

// Number of an element for a sentence: its line, its number in the file, or its number from 1.
static int32_t number_of(const Mesh *mesh, const int32_t *places, size_t element) {
    const int32_t place = places ? places[element] : 0;
    return place ? place - mesh->from_zero : (int32_t)element + 1;
}

// Error "a.obj:7: the face .." or "a.stl: face 3 ..".
static Status element_error(const Mesh *mesh, const char *name, bool tet, size_t element, Error *err,
                            const char *format, ...) __attribute__((format(printf, 6, 7)));
static Status element_error(const Mesh *mesh, const char *name, bool tet, size_t element, Error *err,
                            const char *format, ...) {
    const int32_t *places = tet ? mesh->tet_place : mesh->triangle_place;
    const int32_t place = places ? places[element] : 0;
    const char *what = tet ? "tetrahedron" : "face";
    char words[256];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    if (place && mesh->lines) return error_set(err, STATUS_BAD_INPUT, "%s:%d: the %s %s", name, place, what, words);
    return error_set(err, STATUS_BAD_INPUT, "%s: %s %d %s", name, what, number_of(mesh, places, element), words);
}

static double longest_edge(const Mesh *mesh, const int32_t *corner, int count) {
    double longest = 0, d[3];
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++) {
            vector_between(mesh->position, corner[i], corner[j], d);
            longest = fmax(longest, sqrt(vector_dot(d, d)));
        }
    return longest;
}

static Status check_shapes(const Mesh *mesh, const char *name, Error *err) {
    for (size_t t = 0; t < mesh->T; t++) {
        double volume = mesh_tet_volume(mesh, t), length = longest_edge(mesh, mesh->tet + 4 * t, 4);
        if (!(fabs(volume) > FLAT * length * length * length))
            return element_error(mesh, name, true, t, err, "is flat: its volume is %.3g m^3", volume);
        if (volume < 0) return element_error(mesh, name, true, t, err, "is inverted: its volume is %.3g m^3", volume);
    }
    for (size_t f = 0; f < mesh->F; f++) {
        double area = mesh_triangle_area(mesh, f), length = longest_edge(mesh, mesh->triangle + 3 * f, 3);
        if (!(area > FLAT * length * length))
            return element_error(mesh, name, false, f, err, "is flat: its area is %.3g m^2", area);
    }
    return STATUS_OK;
}

static Status check_faces(const Mesh *mesh, const char *name, Error *err) {
    MeshFace *faces;
    Status status = mesh_tet_faces(mesh, &faces, err);
    for (size_t i = 2; i < 4 * mesh->T && status == STATUS_OK; i++)
        if (!memcmp(faces[i].corner, faces[i - 2].corner, sizeof faces[i].corner))
            status =
                error_set(err, STATUS_BAD_INPUT, "%s: not a manifold: the tetrahedra %s%d, %d and %d share one face",
                          name, mesh->lines && mesh->tet_place[0] ? "in lines " : "",
                          number_of(mesh, mesh->tet_place, (size_t)faces[i - 2].tet),
                          number_of(mesh, mesh->tet_place, (size_t)faces[i - 1].tet),
                          number_of(mesh, mesh->tet_place, (size_t)faces[i].tet));
    free(faces);
    return status;
}

// ---- edges of triangles

static int compare_edges(const void *a, const void *b) {
    const MeshEdge *x = a, *y = b;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    if (x->b != y->b) return x->b < y->b ? -1 : 1;
    return (x->face[0] > y->face[0]) - (x->face[0] < y->face[0]);
}

// Side `side` of a triangle; `same_way` here: it runs from the smaller number to the larger.
static MeshEdge make_edge(const Mesh *mesh, size_t face, size_t side) {
    const int32_t *v = mesh->triangle + 3 * face;
    int32_t from = v[side], to = v[(side + 1) % 3];
    return (MeshEdge){.a = from < to ? from : to,
                      .b = from < to ? to : from,
                      .opposite = {v[(side + 2) % 3], -1},
                      .face = {(int32_t)face, -1},
                      .count = 1,
                      .same_way = from < to};
}

// Adds a side to the edge that it lies on.
static void join(MeshEdge *edge, const MeshEdge *side) {
    if (edge->count == 1) {
        edge->opposite[1] = side->opposite[0];
        edge->face[1] = side->face[0];
        edge->same_way = edge->same_way == side->same_way;
    }
    edge->count++;
}

Status mesh_edges(const Mesh *mesh, MeshEdge **out, size_t *count, Error *err) {
    size_t sides = 3 * mesh->F, used = 0;
    MeshEdge *edges = *out = calloc(sides ? sides : 1, sizeof *edges);
    *count = 0;
    if (!edges) return error_set(err, STATUS_FAILED, "out of memory for %zu edges", sides);
    for (size_t i = 0; i < sides; i++) edges[i] = make_edge(mesh, i / 3, i % 3);
    if (sides) qsort(edges, sides, sizeof *edges, compare_edges);
    for (size_t i = 0; i < sides; i++) {
        if (used && edges[used - 1].a == edges[i].a && edges[used - 1].b == edges[i].b)
            join(edges + used - 1, edges + i);
        else edges[used++] = edges[i];
    }
    *count = used;
    for (size_t i = 0; i < used; i++)
        if (edges[i].count == 1) edges[i].same_way = false;
    return STATUS_OK;
}

// What is wrong with an edge, or NULL. An open surface may have edges of one triangle.
static const char *edge_fault(const MeshEdge *edge, bool closed) {
    if (edge->count > 2) return "and more than one other share an edge, so the surface is not a manifold:";
    if (closed && edge->count == 1) return "has an edge at which no other is, so the surface is not closed:";
    return closed && edge->same_way ? "and the other one at an edge are turned in different ways:" : NULL;
}

static Status check_edges(const Mesh *mesh, const char *name, bool closed, Error *err) {
    MeshEdge *edges;
    size_t count;
    Status status = mesh_edges(mesh, &edges, &count, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        const char *fault = edge_fault(edges + i, closed);
        const double *a = mesh->position + 3 * edges[i].a, *b = mesh->position + 3 * edges[i].b;
        if (fault)
            status = element_error(mesh, name, false, (size_t)edges[i].face[0], err,
                                   "%s from (%g, %g, %g) to (%g, %g, %g) m", fault, a[0], a[1], a[2], b[0], b[1], b[2]);
    }
    free(edges);
    return status;
}

Status mesh_check(const Mesh *mesh, const char *name, Error *err) {
    for (size_t i = 0; i < 3 * mesh->N; i++)
        if (!(fabs(mesh->position[i]) < 1e6))
            return error_set(err, STATUS_BAD_INPUT, "%s: a vertex at (%g, %g, %g) m: expected less than 1e6 m", name,
                             mesh->position[i - i % 3], mesh->position[i - i % 3 + 1], mesh->position[i - i % 3 + 2]);
    Status status = check_shapes(mesh, name, err);
    if (status == STATUS_OK) status = check_faces(mesh, name, err);
    return status == STATUS_OK ? check_edges(mesh, name, false, err) : status;
}

Status mesh_check_closed(const Mesh *mesh, const char *name, Error *err) { return check_edges(mesh, name, true, err); }
