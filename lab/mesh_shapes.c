// SPDX-License-Identifier: Apache-2.0
// Boxes, balls, cloths and grids of springs.
#include "base/hash.h"
#include "base/vector.h"
#include "lab/mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static Status check_count(double count, const char *what, Error *err) {
    if (count <= MESH_ITEMS_MAX) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "at most %d %s are possible, found %.0f", MESH_ITEMS_MAX, what, count);
}

// points[0] x points[1] x points[2] vertices, x slowest.
static Status add_lattice(Mesh *mesh, const double size[3], const int points[3], Error *err) {
    Status status = check_count((double)points[0] * points[1] * points[2], "vertices", err);
    for (int i = 0; i < points[0] && status == STATUS_OK; i++)
        for (int j = 0; j < points[1] && status == STATUS_OK; j++)
            for (int k = 0; k < points[2] && status == STATUS_OK; k++) {
                const int at[3] = {i, j, k};
                double x[3];
                for (int c = 0; c < 3; c++)
                    x[c] = points[c] > 1 ? size[c] * ((double)at[c] / (points[c] - 1) - 0.5) : 0;
                status = mesh_add_vertex(mesh, x, err);
            }
    return status;
}

// ---- boxes

Status mesh_add_cell(Mesh *mesh, const int32_t corner[8], bool mirrored, Error *err) {
    static const int tets[2][5][4] = {{{0, 3, 5, 6}, {1, 0, 5, 3}, {2, 0, 3, 6}, {4, 0, 6, 5}, {7, 3, 6, 5}},
                                      {{1, 2, 4, 7}, {0, 1, 2, 4}, {3, 2, 1, 7}, {5, 1, 4, 7}, {6, 2, 7, 4}}};
    Status status = STATUS_OK;
    for (int t = 0; t < 5 && status == STATUS_OK; t++) {
        int32_t tet[4];
        for (int c = 0; c < 4; c++) tet[c] = corner[tets[mirrored][t][c]];
        status = mesh_add_tet(mesh, tet, err);
        if (status == STATUS_OK && mesh_tet_volume(mesh, mesh->T - 1) < 0) {
            int32_t *last = mesh->tet + 4 * (mesh->T - 1), first = last[0];
            last[0] = last[1];
            last[1] = first;
        }
    }
    return status;
}

Status mesh_make_box(const double size[3], const int cells[3], Mesh *out, Error *err) {
    const int points[3] = {cells[0] + 1, cells[1] + 1, cells[2] + 1};
    Status status = check_count(5.0 * cells[0] * cells[1] * cells[2], "tetrahedra", err);
    if (status == STATUS_OK) status = add_lattice(out, size, points, err);
    for (int i = 0; i < cells[0] && status == STATUS_OK; i++)
        for (int j = 0; j < cells[1] && status == STATUS_OK; j++)
            for (int k = 0; k < cells[2] && status == STATUS_OK; k++) {
                int32_t corner[8];
                for (int c = 0; c < 8; c++)
                    corner[c] = ((i + (c & 1)) * points[1] + j + (c >> 1 & 1)) * points[2] + k + (c >> 2);
                status = mesh_add_cell(out, corner, (i + j + k) % 2, err);
            }
    return status;
}

// ---- balls

static const double golden = 1.6180339887498949;

// The 12 corners of an icosahedron and its 20 faces.
static void icosahedron(double corner[12][3], int face[20][3]) {
    int faces = 0;
    for (int i = 0; i < 12; i++) {
        const double s = i & 1 ? 1 : -1, t = (i & 2 ? 1 : -1) * golden;
        const int axis = i / 4;
        corner[i][axis] = 0;
        corner[i][(axis + 1) % 3] = s;
        corner[i][(axis + 2) % 3] = t;
    }
    for (int a = 0; a < 12; a++)
        for (int b = a + 1; b < 12; b++)
            for (int c = b + 1; c < 12; c++) {
                bool near = true;
                const int pairs[3][2] = {{a, b}, {b, c}, {c, a}};
                for (int p = 0; p < 3; p++) {
                    double d = 0;
                    for (int x = 0; x < 3; x++) d += pow(corner[pairs[p][0]][x] - corner[pairs[p][1]][x], 2);
                    near = near && d < 4.5; // edges are 2 long, the next distance is 3.24
                }
                if (near) memcpy(face[faces++], (int[]){a, b, c}, sizeof face[0]);
            }
}

// Vertices that several of the 20 tets share, found by their place on the corners they lie between.
typedef struct BallPoint {
    uint64_t key;
    int32_t index;
} BallPoint;

typedef struct Ball {
    Mesh *mesh;
    double radius, corner[12][3];
    int cells;
    BallPoint *points; // open addressing
    size_t room;       // power of two
} Ball;

// Weights of the corners, in units of 1 / cells; the rest belongs to the centre.
static Status ball_vertex(Ball *ball, const int face[3], const int weight[3], int32_t *out, Error *err) {
    uint64_t key = 1;
    double at[3] = {0}, length = 0, sum = weight[0] + weight[1] + weight[2];
    for (int c = 0; c < 3; c++) {
        if (weight[c]) key = key << 20 | (uint64_t)face[c] << 12 | (uint64_t)weight[c]; // corners in ascending order
        for (int x = 0; x < 3; x++) at[x] += weight[c] * ball->corner[face[c]][x];
    }
    size_t slot = hash_slot(key, ball->room);
    while (ball->points[slot].key && ball->points[slot].key != key) slot = (slot + 1) & (ball->room - 1);
    *out = ball->points[slot].index;
    if (ball->points[slot].key) return STATUS_OK;
    for (int x = 0; x < 3; x++) length += at[x] * at[x];
    for (int x = 0; x < 3 && sum > 0; x++) at[x] *= ball->radius * sum / (ball->cells * sqrt(length));
    *out = (int32_t)ball->mesh->N;
    ball->points[slot] = (BallPoint){key, *out};
    return mesh_add_vertex(ball->mesh, at, err);
}

// One small tet, whose corners are at steps (i,j,k), cells >= i >= j >= k >= 0; others are left out.
static Status ball_tet(Ball *ball, const int face[3], const int place[4][3], Error *err) {
    int32_t tet[4];
    Status status = STATUS_OK;
    for (int v = 0; v < 4; v++)
        if (place[v][0] > ball->cells || place[v][0] < place[v][1] || place[v][1] < place[v][2]) return STATUS_OK;
    for (int v = 0; v < 4 && status == STATUS_OK; v++) {
        const int weight[3] = {place[v][0] - place[v][1], place[v][1] - place[v][2], place[v][2]};
        status = ball_vertex(ball, face, weight, tet + v, err);
    }
    if (status == STATUS_OK) status = mesh_add_tet(ball->mesh, tet, err);
    if (status == STATUS_OK && mesh_tet_volume(ball->mesh, ball->mesh->T - 1) < 0)
        memcpy(ball->mesh->tet + 4 * (ball->mesh->T - 1), (int32_t[]){tet[1], tet[0], tet[2], tet[3]}, sizeof tet);
    return status;
}

// The six tets of one cube of steps, along the paths from its first corner to its last.
static Status ball_cube(Ball *ball, const int face[3], const int at[3], Error *err) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    Status status = STATUS_OK;
    for (int o = 0; o < 6 && status == STATUS_OK; o++) {
        int place[4][3] = {{at[0], at[1], at[2]}};
        for (int v = 1; v < 4; v++) {
            memcpy(place[v], place[v - 1], sizeof place[v]);
            place[v][orders[o][v - 1]]++;
        }
        status = ball_tet(ball, face, (const int(*)[3])place, err);
    }
    return status;
}

Status mesh_make_sphere(double radius, int cells, Mesh *out, Error *err) {
    Ball ball = {.mesh = out, .radius = radius, .cells = cells, .room = 64};
    int face[20][3];
    Status status = check_count(20.0 * cells * cells * cells, "tetrahedra", err);
    if (status != STATUS_OK) return status;
    while (ball.room < 8 * (size_t)cells * (size_t)cells * (size_t)cells) ball.room *= 2;
    ball.room *= 4;
    ball.points = calloc(ball.room, sizeof *ball.points);
    if (!ball.points) return error_set(err, STATUS_FAILED, "out of memory for a ball");
    icosahedron(ball.corner, face);
    for (int f = 0; f < 20; f++)
        for (int i = 0; i < cells; i++)
            for (int j = 0; j <= i; j++)
                for (int k = 0; k <= j && status == STATUS_OK; k++)
                    status = ball_cube(&ball, face[f], (int[]){i, j, k}, err);
    free(ball.points);
    return status;
}

// ---- cloths and grids

Status mesh_make_cloth(const double size[2], const int cells[2], Mesh *out, Error *err) {
    const double sides[3] = {size[0], size[1], 0};
    const int points[3] = {cells[0] + 1, cells[1] + 1, 1};
    Status status = add_lattice(out, sides, points, err);
    for (int i = 0; i < cells[0]; i++)
        for (int j = 0; j < cells[1] && status == STATUS_OK; j++) {
            const int32_t a = i * points[1] + j, b = a + points[1], c = b + 1, d = a + 1;
            const bool mirrored = (i + j) % 2;
            status = mesh_add_triangle(out, (int32_t[]){a, b, mirrored ? d : c}, err);
            if (status == STATUS_OK) status = mesh_add_triangle(out, (int32_t[]){mirrored ? b : a, c, d}, err);
        }
    return status;
}

Status mesh_make_grid(const double size[3], const int points[3], Mesh *out, Error *err) {
    Status status = add_lattice(out, size, points, err);
    // Along the edges, then both diagonals of the squares.
    static const int steps[9][3] = {{1, 0, 0}, {0, 1, 0},  {0, 0, 1}, {1, 1, 0}, {1, -1, 0},
                                    {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}};
    for (size_t v = 0; v < out->N && status == STATUS_OK; v++) {
        const int at[3] = {(int)v / (points[1] * points[2]), (int)v / points[2] % points[1], (int)v % points[2]};
        for (int s = 0; s < 9 && status == STATUS_OK; s++) {
            int32_t other = 0;
            bool inside = true;
            for (int c = 0; c < 3; c++) {
                int to = at[c] + steps[s][c];
                inside = inside && to >= 0 && to < points[c];
                other = other * points[c] + to;
            }
            if (inside) status = mesh_add_spring(out, (int32_t)v, other, err);
        }
    }
    return status;
}
