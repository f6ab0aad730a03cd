// SPDX-License-Identifier: Apache-2.0
// Masses and shares of bodies that move as one piece, against closed forms and quadrature.
#include "lab/rigid_mass.h"

#include "base/vector.h"
#include "tests/test.h"

enum { MOST = 4096 };

typedef struct Body { // mass, centre, and second moment (3,3) about it
    double mass, centre[3], second[9];
} Body;

// What the masses and shares of vertices make.
static Body body_of(const Mesh *mesh, const double *mass, const double *share) {
    Body out = {0};
    for (size_t i = 0; i < mesh->N; i++) out.mass += mass[i];
    for (size_t i = 0; i < 3 * mesh->N; i++) out.centre[i % 3] += mass[i / 3] * mesh->position[i] / out.mass;
    for (size_t i = 0; i < mesh->N; i++)
        for (size_t k = 0; k < 9; k++)
            out.second[k] += share[i] * mass[i] * (mesh->position[3 * i + k / 3] - out.centre[k / 3]) *
                             (mesh->position[3 * i + k % 3] - out.centre[k % 3]);
    return out;
}

// Vertices that hold the inertia alone.
static void weigh(const Mesh *mesh, double density, double total, double *mass, double *share) {
    RigidPoints points;
    Error err;
    assert_true(mesh->N + RIGID_POINTS <= MOST);
    assert_status_ok(rigid_mass(mesh, density, total, mass, share, &points, &err), err);
    assert_int_equal(points.count, 0);
}

static Body body_by(const Mesh *mesh, double density, double total) {
    double mass[MOST], share[MOST];
    weigh(mesh, density, total, mass, share);
    return body_of(mesh, mass, share);
}

// The largest part by which two bodies differ.
static double apart(const Body *a, const Body *b) {
    const double size = sqrt((b->second[0] + b->second[4] + b->second[8]) / b->mass);
    double out = fabs(a->mass / b->mass - 1);
    for (int c = 0; c < 3; c++) out = fmax(out, fabs(a->centre[c] - b->centre[c]) / size);
    for (int k = 0; k < 9; k++) out = fmax(out, fabs(a->second[k] - b->second[k]) / (b->mass * size * size));
    return isfinite(out) ? out : INFINITY;
}

// Tets of density 1 by four points each, which is exact for squares.
static Body quadrature(const Mesh *mesh) {
    const double near = (5 + 3 * sqrt(5)) / 20, far = (5 - sqrt(5)) / 20;
    Body out = {0};
    double square[9] = {0};
    for (size_t i = 0; i < 4 * mesh->T; i++) {
        const double part = mesh_tet_volume(mesh, i / 4) / 4;
        double at[3] = {0};
        for (size_t k = 0; k < 4; k++)
            for (int c = 0; c < 3; c++)
                at[c] += (k == i % 4 ? near : far) * mesh->position[3 * mesh->tet[i / 4 * 4 + k] + c];
        out.mass += part;
        for (int c = 0; c < 3; c++) out.centre[c] += part * at[c];
        for (int k = 0; k < 9; k++) square[k] += part * at[k / 3] * at[k % 3];
    }
    for (int c = 0; c < 3; c++) out.centre[c] /= out.mass;
    for (int k = 0; k < 9; k++) out.second[k] = square[k] - out.mass * out.centre[k / 3] * out.centre[k % 3];
    return out;
}

// The surface of a solid, without the vertices inside.
static Mesh surface_of(const Mesh *mesh) {
    Mesh out = {0};
    int32_t *face, number[MOST];
    size_t faces;
    Error err;
    assert_true(mesh->N <= MOST);
    assert_status_ok(mesh_surface(mesh, &face, &faces, &err), err);
    for (size_t i = 0; i < mesh->N; i++) number[i] = -1;
    for (size_t i = 0; i < 3 * faces; i++) {
        if (number[face[i]] < 0) {
            number[face[i]] = (int32_t)out.N;
            assert_status_ok(mesh_add_vertex(&out, mesh->position + 3 * face[i], &err), err);
        }
        face[i] = number[face[i]];
    }
    for (size_t f = 0; f < faces; f++) assert_status_ok(mesh_add_triangle(&out, face + 3 * f, &err), err);
    assert_status_ok(mesh_check_closed(&out, "surface", &err), err);
    free(face);
    return out;
}

static Mesh box(const double size[3], int x, int y, int z) {
    Mesh out = {0};
    Error err;
    assert_status_ok(mesh_make_box(size, (int[]){x, y, z}, &out, &err), err);
    return out;
}

static Mesh ball(double radius, int cells) {
    Mesh out = {0};
    Error err;
    assert_status_ok(mesh_make_sphere(radius, cells, &out, &err), err);
    return out;
}

// Three unit cubes: at the origin, and behind it along x and along y.
static Mesh corner_piece(void) {
    Mesh out = {0};
    Error err;
    for (int i = 0; i < 18; i++)
        assert_status_ok(mesh_add_vertex(&out, (double[]){i % 3, i / 3 % 3, i / 9}, &err), err);
    for (int cube = 0; cube < 3; cube++) {
        int32_t corner[8];
        for (int c = 0; c < 8; c++)
            corner[c] = ((c & 1) + (cube == 1)) + 3 * ((c >> 1 & 1) + (cube == 2)) + 9 * (c >> 2);
        assert_status_ok(mesh_add_cell(&out, corner, cube > 0, &err), err);
    }
    out.N = 17; // the last, at (2,2,1), belongs to none; that at (2,2,0) is number 8
    for (int c = 0; c < 3; c++) out.position[3 * 8 + c] = out.position[3 * 16 + c];
    for (int i = 0; i < 60; i++)
        if (out.tet[i] == 16) out.tet[i] = 8;
    out.N = 16;
    return out;
}

static void test_box(void **state) {
    const double size[3] = {0.6, 0.2, 0.05};
    const Body exact = {.mass = 12, .second = {0.36, [4] = 0.04, [8] = 0.0025}}; // M a^2 / 12
    (void)state;
    for (int n = 1; n <= 4; n++) {
        Mesh solid = box(size, n, 2 * n - 1, 1), surface = surface_of(&solid);
        const Body inside = body_by(&solid, 2000, 0), outside = body_by(&surface, 1, 12);
        assert_close(apart(&inside, &exact), 0, 1e-12, 0);
        assert_close(apart(&outside, &exact), 0, 1e-12, 0);
        mesh_free(&solid);
        mesh_free(&surface);
    }
}

// All corners of a box are alike, whichever way its faces are cut; so are those of a tetrahedron.
static void test_alike(void **state) {
    Mesh cell = box((double[]){1, 2, 0.1}, 1, 1, 1), surface = surface_of(&cell), tet = {0};
    double mass[8 + RIGID_POINTS], share[8 + RIGID_POINTS];
    Error err;
    (void)state;
    weigh(&cell, 1, 0, mass, share);
    for (int i = 0; i < 8; i++) assert_close(share[i], 1.0 / 3, 0, 1e-12);
    weigh(&surface, 1, 4, mass, share);
    for (int i = 0; i < 8; i++) assert_close(share[i], 1.0 / 3, 0, 1e-12);
    for (int i = 0; i < 8; i++) assert_close(mass[i], 0.5, 0, 1e-12);
    for (int i = 0; i < 4; i++)
        assert_status_ok(mesh_add_vertex(&tet, (double[]){i == 1, 3 * (i == 2), i == 3}, &err), err);
    assert_status_ok(mesh_add_tet(&tet, (int32_t[]){0, 1, 2, 3}, &err), err);
    weigh(&tet, 8, 0, mass, share);
    for (int i = 0; i < 4; i++) assert_close(share[i], 0.2, 0, 1e-12);
    for (int i = 0; i < 4; i++) assert_close(mass[i], 1, 0, 1e-12);
    mesh_free(&cell);
    mesh_free(&surface);
    mesh_free(&tet);
}

static void test_ball(void **state) {
    Mesh solid = ball(0.3, 7), surface = surface_of(&solid);
    const Body exact = quadrature(&solid), inside = body_by(&solid, 1, 0), outside = body_by(&surface, 1, 0);
    (void)state;
    assert_close(apart(&inside, &exact), 0, 1e-12, 0);
    assert_close(apart(&outside, &exact), 0, 1e-12, 0);
    for (int k = 0; k < 9; k += 4) // the polyhedron is a little smaller than the ball
        assert_close(exact.second[k], exact.mass * 0.2 * 0.09, 0, 0.02);
    mesh_free(&solid);
    mesh_free(&surface);
}

static void test_corner_piece(void **state) {
    Mesh solid = corner_piece(), surface = surface_of(&solid);
    // Cubes with centres at (.5,.5), (1.5,.5), (.5,1.5); each has 1/12 about its own.
    Body exact = {.mass = 3, .centre = {5.0 / 6, 5.0 / 6, 0.5}, .second = {[8] = 0.25}};
    (void)state;
    exact.second[0] = exact.second[4] = 0.25 + 2.75 - 3 * 25.0 / 36;
    exact.second[1] = exact.second[3] = 1.75 - 3 * 25.0 / 36;
    const Body inside = body_by(&solid, 1, 0), outside = body_by(&surface, 1, 0), sampled = quadrature(&solid);
    assert_close(apart(&sampled, &exact), 0, 1e-12, 0);
    assert_close(apart(&inside, &exact), 0, 1e-12, 0);
    assert_close(apart(&outside, &exact), 0, 1e-12, 0);
    mesh_free(&solid);
    mesh_free(&surface);
}

// Makes it thin along y and long along z, turns it, and puts it far away.
static void flatten_and_turn(Mesh *mesh) {
    for (size_t i = 0; i < mesh->N; i++) {
        double *x = mesh->position + 3 * i;
        const double from[3] = {x[0], 0.01 * x[1], 3 * x[2]};
        x[0] = 0.36 * from[0] + 0.48 * from[1] - 0.8 * from[2] + 100;
        x[1] = -0.8 * from[0] + 0.6 * from[1] - 70;
        x[2] = 0.48 * from[0] + 0.64 * from[1] + 0.6 * from[2];
    }
}

// Turned, moved far away and stretched, a body keeps its shares; a surface that is turned inside out is the same body.
static void test_poses(void **state) {
    Mesh solid = corner_piece(), surface = surface_of(&solid);
    double mass[2][MOST], share[2][MOST];
    (void)state;
    weigh(&solid, 1, 0, mass[0], share[0]);
    flatten_and_turn(&solid);
    const Body exact = quadrature(&solid);
    weigh(&solid, 1, 0, mass[1], share[1]);
    const Body moved = body_of(&solid, mass[1], share[1]);
    assert_close(apart(&moved, &exact), 0, 1e-10, 0); // coordinates of 100 are rounded to 1e-14
    for (size_t i = 0; i < solid.N; i++) assert_close(share[1][i], share[0][i], 1e-8, 0);
    const Body outwards = body_by(&surface, 1, 0);
    for (size_t f = 0; f < surface.F; f++) {
        int32_t *v = surface.triangle + 3 * f, kept = v[0];
        v[0] = v[1], v[1] = kept;
    }
    const Body inwards = body_by(&surface, 1, 0);
    assert_close(apart(&inwards, &outwards), 0, 1e-13, 0);
    mesh_free(&solid);
    mesh_free(&surface);
}

// Random tets that share corners: a body without any symmetry.
static void test_uneven(void **state) {
    Mesh solid = ball(1, 2);
    (void)state;
    for (size_t i = 0; i < 3 * solid.N; i++)
        solid.position[i] = (solid.position[i] + 0.1 * sin(37.0 * (double)i)) * (1 + 0.5 * (i % 3 == 0));
    Mesh surface = surface_of(&solid);
    const Body exact = quadrature(&solid), inside = body_by(&solid, 1, 0), outside = body_by(&surface, 1, 0);
    assert_close(apart(&inside, &exact), 0, 1e-12, 0);
    assert_close(apart(&outside, &exact), 0, 1e-12, 0);
    mesh_free(&solid);
    mesh_free(&surface);
}

// A plate with a long thin pole of eight rings: much of the surface is far from the body's centre.
static void test_pole(void **state) {
    Mesh plate = box((double[]){2, 2, 0.2}, 9, 9, 1), solid = {0};
    Error err;
    (void)state;
    for (size_t i = 0; i < plate.N; i++) assert_status_ok(mesh_add_vertex(&solid, plate.position + 3 * i, &err), err);
    for (size_t t = 0; t < plate.T; t++) assert_status_ok(mesh_add_tet(&solid, plate.tet + 4 * t, &err), err);
    int32_t below[4], corner[8];
    for (int i = 0; i < 4; i++) below[i] = ((4 + (i & 1)) * 10 + 4 + (i >> 1)) * 2 + 1; // the middle square of the top
    for (int ring = 0; ring < 8; ring++) {
        for (int i = 0; i < 4; i++) {
            const double *at = solid.position + 3 * below[i], next[3] = {at[0], at[1], at[2] + 1};
            corner[i] = below[i];
            corner[4 + i] = below[i] = (int32_t)solid.N;
            assert_status_ok(mesh_add_vertex(&solid, next, &err), err);
        }
        assert_status_ok(mesh_add_cell(&solid, corner, ring % 2 == 0, &err), err);
    }
    Mesh surface = surface_of(&solid);
    double mass[MOST], share[MOST];
    const Body exact = quadrature(&solid);
    weigh(&surface, 1, 0, mass, share);
    const Body outside = body_of(&surface, mass, share);
    assert_close(apart(&outside, &exact), 0, 1e-12, 0);
    for (size_t i = 0; i < surface.N; i++) assert_true(mass[i] > 0);
    mesh_free(&plate);
    mesh_free(&solid);
    mesh_free(&surface);
}

static void test_planted(void **state) {
    Mesh solid = box((double[]){1, 1, 1}, 2, 2, 2);
    double mass[27 + RIGID_POINTS], share[27 + RIGID_POINTS];
    (void)state;
    weigh(&solid, 1, 0, mass, share);
    for (int i = 0; i < 27; i++) share[i] = 1;
    const Body points = body_of(&solid, mass, share), exact = quadrature(&solid);
    assert_true(apart(&points, &exact) > 0.1);
    mesh_free(&solid);
}

// Four of the six tets along the ways from one corner of a cube to the opposite one: its centre is the cube's, from
// where all corners are as far along x, y and z, but the body is not.
static Mesh four_ways(void) {
    static const int ways[4][4] = {{0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}};
    Mesh out = {0};
    Error err;
    for (int c = 0; c < 8; c++)
        assert_status_ok(mesh_add_vertex(&out, (double[]){c & 1, c >> 1 & 1, c >> 2}, &err), err);
    for (int t = 0; t < 4; t++) {
        const int turned = t < 2; // each has a positive volume
        const int32_t *w = ways[t], tet[4] = {w[0], w[1 + turned], w[2 - turned], w[3]};
        assert_status_ok(mesh_add_tet(&out, tet, &err), err);
    }
    return out;
}

// Tets whose vertices cannot hold their inertia get points that hold the rest; however far and skew, they are right.
static void test_points(void **state) {
    Mesh few = four_ways();
    RigidPoints points;
    Error err;
    (void)state;
    assert_status_ok(mesh_check(&few, "few", &err), err);
    for (int pose = 0; pose < 2; pose++) {
        double mass[8 + RIGID_POINTS], share[8 + RIGID_POINTS];
        const Body exact = quadrature(&few);
        assert_status_ok(rigid_mass(&few, 1, 0, mass, share, &points, &err), err);
        assert_int_equal(points.count, RIGID_POINTS);
        Mesh all = {0};
        for (size_t k = 0; k < 12; k++)
            assert_status_ok(mesh_add_vertex(&all, k < 8 ? few.position + 3 * k : points.at[k - 8], &err), err);
        const Body held = body_of(&all, mass, share);
        assert_close(apart(&held, &exact), 0, pose ? 1e-10 : 1e-14, 0);
        for (int k = 0; k < 12; k++) assert_true(mass[k] > 0 && share[k] > 0 && share[k] < 4);
        assert_status_ok(rigid_mass(&few, 1, 0, mass, NULL, NULL, &err), err); // the masses alone
        const Body alone = body_of(&few, mass, share);
        assert_close(alone.mass, exact.mass, 0, 1e-14);
        for (int c = 0; c < 3; c++) assert_close(alone.centre[c], exact.centre[c], 1e-13, 0);
        flatten_and_turn(&few);
        mesh_free(&all);
    }
    mesh_free(&few);
}

// Two cubes, of which one is inside out: the smaller of 0.8^3 is taken from the other's volume.
static Mesh half_inside_out(void) {
    Mesh out = {0};
    Error err;
    for (int part = 0; part < 2; part++) {
        Mesh solid = box((double[]){1 - 0.2 * part, 1 - 0.2 * part, 1 - 0.2 * part}, 1, 1, 1),
             cube = surface_of(&solid);
        for (size_t i = 0; i < cube.N; i++) {
            const double *x = cube.position + 3 * i, moved[3] = {x[0] + 3 * part, x[1], x[2]};
            assert_status_ok(mesh_add_vertex(&out, moved, &err), err);
        }
        for (size_t f = 0; f < cube.F; f++) {
            const int32_t *v = cube.triangle + 3 * f, more = 8 * part;
            assert_status_ok(
                mesh_add_triangle(&out, (int32_t[]){more + v[part], more + v[1 - part], more + v[2]}, &err), err);
        }
        mesh_free(&solid);
        mesh_free(&cube);
    }
    assert_status_ok(mesh_check_closed(&out, "cubes", &err), err);
    return out;
}

static void test_wrong(void **state) {
    Mesh flat = {0}, crossing = half_inside_out();
    double mass[16 + RIGID_POINTS], share[16 + RIGID_POINTS];
    RigidPoints points;
    Error err;
    (void)state;
    for (int i = 0; i < 3; i++) assert_status_ok(mesh_add_vertex(&flat, (double[]){i == 1, i == 2, 0}, &err), err);
    assert_status_ok(mesh_add_triangle(&flat, (int32_t[]){0, 1, 2}, &err), err);
    assert_status_ok(mesh_add_triangle(&flat, (int32_t[]){0, 2, 1}, &err), err);
    assert_status_error(rigid_mass(&flat, 1, 0, mass, share, &points, &err), STATUS_BAD_INPUT, err,
                        "the surface encloses no volume");
    assert_status_error(rigid_mass(&crossing, 1, 0, mass, share, &points, &err), STATUS_BAD_INPUT, err,
                        "no solid has its centre and inertia");
    mesh_free(&flat);
    mesh_free(&crossing);
}

static void test_spans(void **state) {
    const double line[9] = {0, 0, 0, 1, 2, 3, -2, -4, -6}, corner[9] = {0, 0, 0, 1, 0, 0, 0, 0.01, 0},
                 mass[3] = {1, 2, 3};
    (void)state;
    assert_false(rigid_spans(line, mass, 3));
    assert_false(rigid_spans(corner, mass, 2));
    assert_false(rigid_spans(corner, mass, 1));
    assert_true(rigid_spans(corner, mass, 3));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box),          cmocka_unit_test(test_alike),   cmocka_unit_test(test_ball),
        cmocka_unit_test(test_poses),        cmocka_unit_test(test_uneven),  cmocka_unit_test(test_pole),
        cmocka_unit_test(test_corner_piece), cmocka_unit_test(test_planted), cmocka_unit_test(test_points),
        cmocka_unit_test(test_wrong),        cmocka_unit_test(test_spans)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
