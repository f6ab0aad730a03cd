// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_DOUBLE
#define VPD_DOUBLE // of sim/crossing.h: the rest pose is in double for either precision of the simulation
#endif
#include "sim/thickness.h"

#include "base/vector.h"
#include "sim/crossing.h"

#include <math.h>
#include <stdlib.h>

double sim_thickness(const int32_t *face, size_t faces, const double *rest, bool *convex) {
    enum { LOOKED_AT = 128 };
    const double flat = 1e-3; // of the way through: what is above a face by less is not
    double thin = INFINITY;
    *convex = true;
    for (size_t f = 0; f < faces; f += 1 + faces / LOOKED_AT) {
        const int32_t *corner = face + 3 * f;
        double low = INFINITY, high = -INFINITY, e[2][3], normal[3];
        for (int k = 0; k < 2; k++) vector_between(rest, corner[0], corner[1 + k], e[k]);
        vector_cross(e[0], e[1], normal);
        const double area = sqrt(vector_dot(normal, normal));
        for (size_t i = 0; i < 3 * faces && area > 0; i++) {
            const double at = vector_dot(normal, rest + 3 * face[i]) / area;
            low = fmin(low, at);
            high = fmax(high, at);
        }
        if (!(area > 0)) continue;
        thin = fmin(thin, high - low);
        *convex &= high - vector_dot(normal, rest + 3 * corner[0]) / area <= flat * (high - low);
    }
    return thin;
}

// ---- at edges

// A tree of the faces at rest, whose numbers are those of the records.
static Status make_tree(const int32_t *face, size_t faces, const double *rest, size_t particles, SimTree *tree,
                        double **records, Error *err) {
    const int32_t groups = sim_tree_groups((int32_t)faces);
    *tree = (SimTree){malloc((size_t)groups * SIM_GROUP * sizeof(double)), face, groups, (int32_t)faces, 3, 3};
    *records = malloc(particles * SIM_RECORD * sizeof **records);
    if (!tree->group || !*records) return error_set(err, STATUS_FAILED, "out of memory for %zu faces", faces);
    for (size_t i = 0; i < 3 * particles; i++) (*records)[i / 3 * SIM_RECORD + i % 3] = rest[i];
    for (int32_t node = groups; node-- > 0;) sim_fit_group(tree, *records, node);
    return STATUS_OK;
}

// Where on the way from a to b (0 .. 1), `thin` metres long, it first leaves the body; 1: nowhere.
static double way_out(SimTree tree, const double *records, const double a[3], const double b[3], double thin) {
    const double near = 1e-3, rounding = 1e-6; // nearer faces are those that the way begins on
    double around[SIM_RECORD], first = 1, way;
    int32_t f;
    SimWalk walk;
    for (int c = 0; c < 3; c++) around[c] = fmin(a[c], b[c]), around[SIM_QUAD + c] = fmax(a[c], b[c]);
    sim_walk_begin(tree, around, 0, &walk);
    while ((f = sim_walk_next(&walk)) >= 0)
        if (sim_pierces(tree.element + 3 * f, records, a, b, rounding * thin, &way) > 0 && way > near)
            first = fmin(first, way);
    return first;
}

// The way into the body with this number (sim_way_of), of length `thin`.
static void way_in(const double normal[2][3], int number, double thin, double out[3]) {
    double cosine;
    const double share = 0.5 + sim_way_spread(normal, &cosine) * (2.0 * number / (SIM_WAYS - 1) - 1);
    for (int c = 0; c < 3; c++) out[c] = -(share * normal[0][c] + (1 - share) * normal[1][c]);
    const double length = sqrt(vector_dot(out, out));
    for (int c = 0; c < 3; c++) out[c] *= thin / length;
}

// From points along the edge, as far apart as a quarter of `thin`, but eight at most.
static void look_through(SimTree tree, const double *records, const int32_t edge[4], double thin, float out[SIM_WAYS]) {
    enum { POINTS = 8 };
    double along[3], normal[2][3], way[3], a[3], b[3];
    const double *end = sim_place(records, edge[0]);
    num_sub(sim_place(records, edge[1]), end, along);
    sim_edge_normals(records, edge, normal);
    const int points = 1 + (int)fmin(POINTS - 1, 4 * sqrt(vector_dot(along, along)) / thin);
    for (int k = 0; k < SIM_WAYS; k++) {
        double least = 1;
        way_in(normal, k, thin, way);
        for (int i = 0; i < points; i++) {
            for (int c = 0; c < 3; c++) {
                a[c] = end[c] + (i + 0.5) / points * along[c];
                b[c] = a[c] + way[c];
            }
            least = fmin(least, way_out(tree, records, a, b, thin));
        }
        out[k] = least < 1 ? (float)(1 / (least * thin)) : 0;
    }
}

Status sim_thickness_at_edges(const int32_t *face, size_t faces, const double *rest, size_t particles, double thin,
                              const int32_t *edge, size_t edges, float *out, Error *err) {
    SimTree tree;
    double *records;
    const Status status = make_tree(face, faces, rest, particles, &tree, &records, err);
    for (size_t e = 0; e < edges && status == STATUS_OK; e++)
        look_through(tree, records, edge + 4 * e, thin, out + SIM_WAYS * e);
    free(tree.group);
    free(records);
    return status;
}
