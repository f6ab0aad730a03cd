// SPDX-License-Identifier: Apache-2.0
// What a scene file may say, what arrays it becomes, and what is said about one that is wrong.
#include "lab/scene.h"

#include "tests/test.h"

#define HEAD "frames: 4\nsubsteps: 8\n"
#define SOLID "solid: {young: 1e5, poisson: 0.25}"
#define BOX "box: {size: [1, 1, 1], cells: [1, 1, 1]}"

static Status parse(const char *text, SimScene *out, Error *err) {
    return scene_parse(text, strlen(text), "s.yaml", "tests/fuzz/corpus", out, err);
}

static double sum(const double *values, size_t count, size_t stride) {
    double out = 0;
    for (size_t i = 0; i < count; i++) out += values[i * stride];
    return out;
}

static void test_solid(void **state) {
    SimScene scene;
    Error err;
    (void)state;
    assert_status_ok(parse(HEAD "fps: 10\nprecision: f64\nobjects:\n  cube: {" BOX ", density: 800, " SOLID
                                ", position: [0, 0, 2], rotation: {axis: [0, 0, 2], angle: 90}, velocity: [1, 0, 0], "
                                "spin: [0, 0, 2], fixed: {max: [9, 9, -0.4]}}\n",
                           &scene, &err),
                     err);
    double *const *of = scene.values.of;
    assert_int_equal(scene.model.particles, 8);
    assert_int_equal(scene.model.tets, 5);
    assert_true(scene.precision == SIM_F64 && scene.has_precision);
    assert_close(scene.model.dt, 0.1 / 8, 0, 1e-15);
    assert_close(sum(of[SIM_MASS], 8, 1), 800, 0, 1e-12);
    assert_close(of[SIM_TET_MU][0], 4.0 / 3 * 4e4, 0, 1e-12);           // Lame mu is 1e5 / (2 * 1.25)
    assert_close(of[SIM_TET_LAMBDA][0], 4e4 + 5.0 / 6 * 4e4, 0, 1e-12); // and lambda the same
    assert_close(of[SIM_GRAVITY][2], -9.81, 0, 0);
    int fixed = 0;
    for (int i = 0; i < 8; i++) {
        const double *x = of[SIM_REST] + 3 * i, *u = of[SIM_VELOCITY] + 3 * i;
        fixed += scene.model.fixed[i];
        assert_true(scene.model.fixed[i] == (x[2] < 2));
        assert_close(u[0], scene.model.fixed[i] ? 0 : 1 - 2 * x[1], 1e-12, 0); // v + spin x (x - centre)
        assert_close(u[1], scene.model.fixed[i] ? 0 : 2 * x[0], 1e-12, 0);
    }
    assert_int_equal(fixed, 4);
    assert_true(fabs(of[SIM_REST][0] - 0.5) < 1e-12 &&
                fabs(of[SIM_REST][1] + 0.5) < 1e-12); // (-.5,-.5) turned by 90 degrees
    scene_free(&scene);
}

static void test_cloth(void **state) {
    SimScene scene;
    Error err;
    (void)state;
    assert_status_ok(parse(HEAD
                           "up: y\ncontacts: {soft: {k_e: 10}, hard: {k_e: 1e4, mu: 0.5, fade: 0.01}}\n"
                           "planes: [{contact: hard}, {normal: [1, 0, 0], offset: -2}]\nobjects:\n"
                           "  rope: {grid: {size: [1, 0.1, 0], points: [5, 1, 1]}, mass: 1, springs: {k_e: 100}}\n"
                           "  sheet: {cloth: {size: [2, 1], cells: [2, 1]}, density: 0.5, springs: {k_e: 50, k_d: 1},"
                           " bending: {k_e: 0.1}, contact: hard, fixed: [0, 3]}\n"
                           "controls: [{object: rope, force: [0, 0, 2], from: 1, to: 2}]\n",
                           &scene, &err),
                     err);
    double *const *of = scene.values.of;
    assert_int_equal(scene.object_count, 2);
    assert_int_equal(scene.model.particles, 5 + 6);
    assert_int_equal(scene.model.springs, 4 + 9);
    assert_int_equal(scene.model.hinges, 3);
    assert_int_equal(scene.model.materials, 2);
    assert_int_equal(scene.model.plane[0].material, 1);
    assert_int_equal(scene.model.plane[1].material, 0);
    assert_close(scene.model.plane[0].normal[1], 1, 0, 0);
    assert_int_equal(scene.model.material[4], 0);
    assert_int_equal(scene.model.material[5], 1);
    assert_int_equal(scene.model.fixed[5] + scene.model.fixed[8], 2);
    assert_close(of[SIM_GRAVITY][1], -9.81, 0, 0);
    assert_close(sum(of[SIM_MASS] + 5, 6, 1), 1, 0, 1e-12);
    assert_close(of[SIM_SPRING_LENGTH][0], 0.25, 0, 1e-12);
    assert_close(sum(of[SIM_FORCE] + 2, 11, 3), 0, 0, 0);          // frame 0
    assert_close(sum(of[SIM_FORCE] + 33 + 2, 11, 3), 2, 0, 1e-12); // frame 1
    for (int h = 0; h < 3; h++) assert_close(of[SIM_HINGE_ANGLE][h], 0, 0, 0);
    scene_free(&scene);
}

// A mesh beside the scene, filled; points with springs; the rest angle of a folded sheet.
static void test_files(void **state) {
    SimScene scene;
    Error err;
    (void)state;
    assert_status_ok(
        parse(HEAD "objects:\n  a: {mesh: {file: mesh_stl/box_binary.stl, scale: 2, fill: 1}, mass: 1, " SOLID "}\n"
                   "  b: {points: {at: [[0, 0, 0], [0, 0, 1]], springs: [[0, 1]]}, mass: 1, springs: {k_e: 1}}\n"
                   "  c: {mesh: {file: mesh_obj/box.obj}, mass: 1, springs: {k_e: 1}, bending: {k_e: 1}}\n",
              &scene, &err),
        err);
    assert_int_equal(scene.model.tets, 40);
    assert_close(scene.values.of[SIM_SPRING_LENGTH][0], 1, 0, 0);
    double right = 0;
    for (size_t h = 0; h < scene.model.hinges; h++) right += fabs(scene.values.of[SIM_HINGE_ANGLE][h]) > 1;
    assert_close(right, 12, 0, 0); // edges of the cube; the six diagonals are flat
    scene_free(&scene);
}

// The centre that `spin` turns about is that of the object's own masses, not of those in `values`.
static void test_spin(void **state) {
    SimScene scene;
    Error err;
    (void)state;
    assert_status_ok(parse(HEAD "objects:\n  d: {points: {at: [[0, 0, 0], [1, 0, 0]], springs: [[0, 1]]}, mass: 2, "
                                "springs: {k_e: 1}, spin: [0, 0, 1]}\nvalues:\n  d: {mass: [1.9, 0.1]}\n",
                           &scene, &err),
                     err);
    assert_close(scene.values.of[SIM_MASS][0], 1.9, 0, 0);
    assert_close(scene.values.of[SIM_VELOCITY][1], -0.5, 0, 1e-15);
    assert_close(scene.values.of[SIM_VELOCITY][4], 0.5, 0, 1e-15);
    scene_free(&scene);
}

// Where the velocities of a drive take a particle until the end of frame `frames`.
static void driven_to(const SimScene *scene, size_t particle, size_t frames, double out[3]) {
    for (size_t c = 0; c < 3; c++) {
        out[c] = scene->values.of[SIM_POSITION][3 * particle + c];
        for (size_t f = 0; f < frames; f++)
            out[c] += scene->frame_time * scene->values.of[SIM_DRIVE][3 * (f * scene->model.particles + particle) + c];
    }
}

// Two fixed corners of a sheet 1 m wide go up while they turn about their middle, to right where that takes them; then
// they go on as `values` says.
static void test_drive(void **state) {
    SimScene scene;
    Error err;
    double at[3];
    (void)state;
    assert_status_ok(
        parse(HEAD "fps: 10\nobjects:\n  free: {" BOX ", mass: 1, " SOLID "}\n"
                   "  sheet: {cloth: {size: [1, 1], cells: [1, 1]}, mass: 1, springs: {k_e: 1}, fixed: [0, 1]}\n"
                   "values: {sheet: {velocity: [[0.5, 0, 0]]}}\ncontrols:\n"
                   "  - {object: sheet, velocity: [0, 0, 2], to: 3}\n"
                   "  - {object: sheet, spin: [0, 0, 5.235987755982989], to: 3}\n", // a quarter turn
              &scene, &err),
        err);
    const double *rest = scene.values.of[SIM_POSITION] + 3 * 8;
    for (size_t i = 0; i < 2; i++) { // the corners are at x -.5, and y -.5 and .5
        driven_to(&scene, 8 + i, 3, at);
        assert_close(at[0], -0.5 - rest[3 * i + 1] + 0.15, 0, 1e-12);
        assert_close(at[1], 0, 1e-12, 0);
        assert_close(at[2], 0.6, 0, 1e-12);
    }
    driven_to(&scene, 8, 4, at);
    assert_close(at[0], -0.5 + 0.5 + 0.2, 0, 1e-12);
    for (size_t f = 0; f < 4; f++)
        for (size_t i = 0; i < 3 * 12; i++)
            if (i < 3 * 8 || i >= 3 * 10) assert_close(scene.values.of[SIM_DRIVE][3 * 12 * f + i], 0, 0, 0);
    scene_free(&scene);
}

static void test_wrong(void **state) {
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "s.yaml:1: "},
        {"frames: 4\nobjects: {}\n", "\"substeps\" is missing"},
        {HEAD "gravty: [0, 0, 0]\n", "s.yaml:3: unknown key \"gravty\"; did you mean \"gravity\"?"},
        {HEAD "objects: {}\n", "s.yaml:3: objects: expected a map of objects"},
        {HEAD "objects:\n  a: {" BOX "}\n", "s.yaml:4: a: a solid shape needs \"solid: {young: .., poisson: ..}\""},
        {HEAD "objects:\n  a: {" BOX ", " SOLID "}\n", "s.yaml:4: a: expected either \"density\" or \"mass\""},
        {HEAD "objects:\n  a: {" BOX ", mass: 0, " SOLID "}\n",
         "s.yaml:4: mass: expected more than 0, found 0; particles that stay in their place are \"fixed\""},
        {HEAD "objects:\n  a: {grid: {size: [0, 0, 0], points: [2, 1, 1]}, mass: 1}\n",
         "size: expected at least 1e-06 along 2 points, found 0"},
        {HEAD "objects:\n  a.b: {mass: 1}\n", "s.yaml:4: a.b: a name has no dot, which leads to its numbers"},
        {HEAD "contacts:\n  wet.ice: {k_e: 1}\nobjects: {}\n", "s.yaml:4: wet.ice: a name has no dot"},
        {HEAD "objects:\n  a: {mass: 1}\n", "a: expected a shape: box, sphere, cloth, grid, mesh or points"},
        {HEAD "objects:\n  a: {bx: 1}\n", "unknown key \"bx\"; did you mean \"box\"?"},
        {HEAD "objects:\n  a: {" BOX ", sphere: {radius: 1, cells: 1}}\n", "sphere: the object has a shape already"},
        {HEAD "objects:\n  a: {box: {size: [1, 1], cells: [1, 1, 1]}}\n", "size: expected a list of 3 finite numbers"},
        {HEAD "objects:\n  a: {box: {size: [1, 1, 1], cells: [1, 1.5, 1]}}\n", "cells: expected whole numbers"},
        {HEAD "objects:\n  a: {box: {size: [1, 1, 1], cells: [4000, 4000, 4000]}}\n",
         "s.yaml:4: at most 16777216 tetrahedra are possible, found 320000000000"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, solid: {young: 1e5, mu: 3}}\n",
         "solid: expected young and poisson, or"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, solid: {young: 1e5, poisson: 0.5}}\n",
         "poisson: expected a finite number"},
        {HEAD "objects:\n  a: {cloth: {size: [1, 1], cells: [1, 1]}, mass: 1}\n",
         "a: its edges need \"springs: {k_e: ..}\""},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID ", bending: {k_e: 1}}\n",
         "bending: the shape has no triangles"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID ", fixed: [8]}\n",
         "fixed: expected numbers of particles, 0 to 7"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID ", fixed: {min: [2, 2, 2]}}\n",
         "the box holds none of the 8 particles"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID ", contact: ice}\n",
         "s.yaml:4: contact: the scene has no \"contacts\""},
        {HEAD "contacts: {rubber: {k_e: 1}}\nobjects:\n  a: {" BOX ", mass: 1, " SOLID ", contact: ruber}\n",
         "s.yaml:5: unknown contact material \"ruber\"; did you mean \"rubber\"?"},
        {HEAD "planes: [{offset: 1}]\nobjects: {}\n", "s.yaml:3: a plane needs a material"},
        {HEAD "contacts: {g: {k_e: 1}}\nplanes: [{normal: [0, 0, 0]}]\nobjects: {}\n",
         "normal: expected a vector of non-zero length"},
        {HEAD "objects:\n  a: {points: {at: [[0, 0, 0]], springs: [[0, 1]]}, mass: 1}\n",
         "s.yaml:4: springs: expected numbers from 0 to 0, found 1"},
        {HEAD "objects:\n  a: {points: {at: [[0, 0, 0], [0, 0, 0]], springs: [[0, 1]]}, mass: 1}\n",
         "s.yaml:4: springs: points 0 and 1 are at one place: expected at least 1e-06 m"},
        {HEAD "objects:\n  a: {points: {at: [[0, 0, .inf]]}, mass: 1}\n",
         "s.yaml:4: at: expected numbers from -1000000 to 1000000, found .inf"},
        {HEAD "objects:\n  a: {" BOX ", density: -3, " SOLID "}\n",
         "s.yaml:4: density: expected more than 0, found -3; particles that stay in their place are \"fixed\""},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\nvalues:\n  a:\n    mass: [0]\n",
         "s.yaml:7: mass: expected more than 0, found 0; particles that stay in their place are \"fixed\""},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\nvalues:\n  a:\n    rest: [[0, 0, 1]]\n",
         "s.yaml:7: rest: tetrahedron 1 is flat or inverted: its volume is 0 m^3"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, rigid: yes}\nvalues:\n  a:\n    rest: [[0, 0, 1]]\n",
         "s.yaml:7: rest: a has no rest pose: it is rigid"},
        {HEAD "objects:\n  a: {points: {at: [[0, 0, 1]]}, mass: 1}\nvalues:\n  a:\n    rest: [[0, 0, 1]]\n",
         "s.yaml:7: rest: a has no rest pose: it has neither"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\nvalues:\n  a:\n    rest: [[0, 0, x]]\n",
         "s.yaml:7: rest: expected [x, y, z] from"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\ncontrols: [{object: a, activation: 1, from: 2, to: 2}]\n",
         "s.yaml:5: to: expected a frame after 2, where the control begins, found 2"},
        {"frames: 1048576\nsubsteps: 1\nobjects:\n  a: {grid: {size: [1, 1, 1], points: [50, 50, 50]}, mass: 1, "
         "springs: "
         "{k_e: 1}}\n",
         "s.yaml:4: objects: 1048576 frames of 125000 particles: more than 68719476736 positions in all"},
        {"", "s.yaml:1: expected a scene, a map with frames, substeps and objects"},
        {"- 1\n", "s.yaml:1: expected a scene, a map with frames, substeps and objects"},
        {"frames: 2000000000\n", "s.yaml:1: frames: expected a whole number from 1 to 1048576, found 2000000000"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\nvalues: {}\n",
         "s.yaml:5: values: expected a map of objects {ball: {mass: [..]}}, found an empty map"},
        {HEAD "objects:\n  a: {mesh: {file: no.obj}, mass: 1}\n", "no.obj"},
        {HEAD "objects:\n  a: {mesh: {file: mesh_obj}, mass: 1}\n",
         "mesh_obj: expected a mesh .obj, .ply, .stl, .msh, .node or .ele"},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\ncontrols: [{object: b, force: [0, 0, 1]}]\n",
         "s.yaml:5: unknown object \"b\""},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\ncontrols: [{object: a, from: 1}]\n",
         "expected \"force\", \"activation\", \"velocity\" or \"spin\""},
        {HEAD "objects:\n  a: {" BOX ", mass: 1, " SOLID "}\ncontrols: [{object: a, velocity: [0, 0, 1]}]\n",
         "s.yaml:5: velocity: a control moves \"fixed\" particles, and a has none"},
        {"frames: 1000000\nsubsteps: 1\nobjects:\n  a: {box: {size: [1, 1, 1], cells: [9, 9, 9]}, mass: 1, " SOLID
         "}\ncontrols: [{object: a, activation: 1}]\n",
         "s.yaml:5: controls: 1000000 frames of 1000 particles and 3645 tetrahedra"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SimScene scene;
        Error err;
        assert_status_error(parse(cases[i].text, &scene, &err), STATUS_BAD_INPUT, err, cases[i].words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_solid), cmocka_unit_test(test_cloth),
                                       cmocka_unit_test(test_files), cmocka_unit_test(test_spin),
                                       cmocka_unit_test(test_drive), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
