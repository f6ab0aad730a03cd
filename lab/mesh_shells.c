// SPDX-License-Identifier: Apache-2.0
// Which way the shells of a closed surface are turned: the parts of it that share no edge.
#include "base/vector.h"
#include "lab/mesh.h"

#include <math.h>
#include <stdlib.h>

typedef struct Shell {
    int32_t name;        // a face of it
    size_t first, faces; // of the list
    double volume;       // m^3, below 0 where it is turned inwards
    double low[3], high[3];
} Shell;

typedef struct Shells {
    Mesh *mesh;
    int32_t *of, *face; // (F) the shell's name; faces of each shell one after the other
    Shell *shell;
    size_t count;
} Shells;

// van Oosterom and Strackee 1983
double mesh_solid_angle(const Mesh *mesh, size_t triangle, const double at[3]) {
    double r[3][3], length[3], normal[3];
    for (int v = 0; v < 3; v++) {
        for (int c = 0; c < 3; c++) r[v][c] = mesh->position[3 * mesh->triangle[3 * triangle + (size_t)v] + c] - at[c];
        length[v] = sqrt(vector_dot(r[v], r[v]));
    }
    vector_cross(r[1], r[2], normal);
    double across = length[0] * length[1] * length[2];
    for (int v = 0; v < 3; v++) across += vector_dot(r[(v + 1) % 3], r[(v + 2) % 3]) * length[v];
    return 2 * atan2(vector_dot(r[0], normal), across);
}

static int32_t name_of(int32_t *of, int32_t face) {
    while (of[face] != face) face = of[face] = of[of[face]];
    return face;
}

static int larger_first(const void *a, const void *b) {
    const Shell *x = a, *y = b;
    if (fabs(x->volume) != fabs(y->volume)) return fabs(x->volume) > fabs(y->volume) ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

static Status name_shells(const Mesh *mesh, int32_t *of, Error *err) {
    MeshEdge *edge;
    size_t edges;
    Status status = mesh_edges(mesh, &edge, &edges, err);
    for (size_t f = 0; f < mesh->F; f++) of[f] = (int32_t)f;
    for (size_t e = 0; e < edges && status == STATUS_OK; e++)
        of[name_of(of, edge[e].face[0])] = name_of(of, edge[e].face[1]);
    for (size_t f = 0; f < mesh->F; f++) of[f] = name_of(of, (int32_t)f);
    free(edge);
    return status;
}

static void add_face(Shells *s, Shell *shell, int32_t f) {
    const int32_t *corner = s->mesh->triangle + 3 * f;
    s->face[shell->first + shell->faces++] = f;
    shell->volume += vector_enclosed(s->mesh->position, 0, corner, 1);
    for (int i = 0; i < 9; i++) {
        const double at = s->mesh->position[3 * corner[i / 3] + i % 3];
        shell->low[i % 3] = fmin(shell->low[i % 3], at);
        shell->high[i % 3] = fmax(shell->high[i % 3], at);
    }
}

static void list_shells(Shells *s) {
    const size_t F = s->mesh->F;
    size_t first = 0;
    for (size_t f = 0; f < F; f++)
        s->shell[f] = (Shell){
            .name = (int32_t)f, .low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
    for (size_t f = 0; f < F; f++) s->shell[s->of[f]].faces++;
    for (size_t f = 0; f < F; f++) {
        s->shell[f].first = first;
        first += s->shell[f].faces;
        s->shell[f].faces = 0;
    }
    for (size_t f = 0; f < F; f++) add_face(s, s->shell + s->of[f], (int32_t)f);
    for (size_t f = 0; f < F; f++)
        if (s->shell[f].faces) s->shell[s->count++] = s->shell[f];
    qsort(s->shell, s->count, sizeof *s->shell, larger_first);
}

// How often a shell winds around a point.
static double winding(const Shells *s, const Shell *shell, const double at[3]) {
    double sum = 0;
    for (int c = 0; c < 3; c++)
        if (at[c] < shell->low[c] || at[c] > shell->high[c]) return 0;
    for (size_t k = 0; k < shell->faces; k++) sum += mesh_solid_angle(s->mesh, (size_t)s->face[shell->first + k], at);
    return sum / (4 * M_PI);
}

static const double *place_of(const Shells *s, const Shell *shell, size_t k) {
    return s->mesh->position + 3 * s->mesh->triangle[3 * s->face[shell->first + k]];
}

// Whether no other shell is around a part of it; some of its vertices are looked at.
static bool is_outside(const Shells *s, const Shell *shell) {
    enum { LOOKED_AT = 16 };
    const double nearly = 0.1; // at a vertex on a face of another shell it is a half
    for (size_t k = 0; k < shell->faces; k += 1 + shell->faces / LOOKED_AT) {
        double sum = 0;
        for (const Shell *other = s->shell; other < s->shell + s->count; other++)
            if (other != shell) sum += winding(s, other, place_of(s, shell, k));
        if (fabs(sum) < nearly) return true;
    }
    return false;
}

// A shell and those in it: corners in the other order.
static void turn(Shells *s, const Shell *around) {
    for (Shell *shell = s->shell; shell < s->shell + s->count; shell++) {
        if (shell != around && fabs(winding(s, around, place_of(s, shell, 0))) < 0.5) continue;
        shell->volume = -shell->volume;
        for (size_t k = 0; k < shell->faces; k++) {
            int32_t *corner = s->mesh->triangle + 3 * s->face[shell->first + k], kept = corner[0];
            corner[0] = corner[1], corner[1] = kept;
        }
    }
}

// The largest first: what is in one is smaller.
Status mesh_turn_outwards(Mesh *surface, Error *err) {
    Shells s = {.mesh = surface};
    s.of = malloc((surface->F + 1) * sizeof *s.of);
    s.face = malloc((surface->F + 1) * sizeof *s.face);
    s.shell = malloc((surface->F + 1) * sizeof *s.shell);
    Status status = s.of && s.face && s.shell
                        ? name_shells(surface, s.of, err)
                        : error_set(err, STATUS_FAILED, "out of memory for %zu faces", surface->F);
    if (status == STATUS_OK) list_shells(&s);
    for (size_t k = 0; k < s.count; k++)
        if (s.shell[k].volume < 0 && is_outside(&s, s.shell + k)) turn(&s, s.shell + k);
    free(s.of);
    free(s.face);
    free(s.shell);
    return status;
}
