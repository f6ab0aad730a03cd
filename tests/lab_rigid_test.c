// SPDX-License-Identifier: Apache-2.0
// Rigid objects of scene files: what they become, how they rest, slide, spin and bounce, and what is refused.
#include "lab/fit_free.h"
#include "lab/record.h"

#include "base/vector.h"
#include "tests/lab_movie.h"

#define HEAD "frames: 30\nfps: 30\nsubsteps: 100\nprecision: f64\n"
#define GROUND "contacts: {g: {k_e: 2e4, k_d: 60, k_f: 400, mu: 0.4, fade: 1e-4}}\nplanes: [{}]\n"
#define BOX "box: {size: [1, 1, 1], cells: [1, 1, 1]}"
#define G 9.81

// ---- what is read

static double mass_of(const SimScene *scene, size_t object) {
    const SceneObject *o = scene->objects + object;
    double out = 0;
    for (size_t i = o->particle; i < o->particle + o->particles; i++) out += scene->values.of[SIM_MASS][i];
    return out;
}

static void test_reading(void **state) {
    SimScene scene = movie_parse(
        HEAD "contacts: {c: {k_e: 1}}\nobjects:\n"
             "  soft: {" BOX ", density: 2, solid: {young: 1e3, poisson: 0.3}}\n"
             "  box: {box: {size: [1, 2, 3], cells: [2, 2, 2]}, density: 10, rigid: yes, position: [9, 0, 0]}\n"
             "  obj: {mesh: {file: mesh_obj/box.obj, scale: 2}, density: 10, rigid: yes, position: [0, 9, 0]}\n"
             "  stl: {mesh: {file: mesh_stl/box_binary.stl, fill: 0.5}, mass: 3, rigid: yes}\n"
             "  msh: {mesh: {file: mesh_msh/box_4.1.msh}, density: 4, rigid: yes, position: [0, 0, 9]}\n"
             "  dots: {points: {at: [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, mass: 6, rigid: yes}\n"
             "  grid: {grid: {size: [1, 1, 0], points: [2, 2, 1]}, mass: 1, rigid: yes, velocity: [1, 0, 0], "
             "spin: [0, 0, 2]}\n"
             "  soft2: {" BOX ", density: 2, rigid: no, solid: {young: 1e3, poisson: 0.3}}\n");
    const SimModel *m = &scene.model;
    static const double masses[] = {2, 60, 80, 3, 1, 6, 1, 2};
    (void)state;
    assert_int_equal(m->rigids, 6);
    assert_int_equal(m->tets, 10);
    assert_int_equal(m->springs, 0);
    for (size_t o = 0; o < scene.object_count; o++) {
        const SceneObject *object = scene.objects + o;
        const bool soft = o == 0 || o == 7;
        assert_true(object->rigid == !soft);
        assert_int_equal(object->tets, soft ? 5 : 0);
        assert_int_equal(object->springs + object->hinges, 0);
        assert_true((object->faces > 0) == (o < 5 || o == 7));
        assert_close(mass_of(&scene, o), masses[o], 0, 1e-12);
        for (size_t i = object->particle; i < object->particle + object->particles; i++) {
            assert_int_equal(m->rigid[i], soft ? -1 : (int)o - 1);
            assert_true((m->inertia[i] == 1) == (soft || o > 4));
        }
    }
    const double *u = scene.values.of[SIM_VELOCITY] + 3 * scene.objects[6].particle,
                 *x = scene.values.of[SIM_REST] + 3 * scene.objects[6].particle;
    for (int i = 0; i < 4; i++) {
        assert_close(u[3 * i], 1 - 2 * x[3 * i + 1], 1e-12, 0);
        assert_close(u[3 * i + 1], 2 * x[3 * i], 1e-12, 0);
    }
    scene_free(&scene);
    scene = movie_parse(HEAD "objects: {soft: {" BOX ", density: 2, solid: {young: 1e3, poisson: 0.3}}}\n");
    assert_true(!scene.model.rigid && !scene.model.inertia);
    scene_free(&scene);
}

// A rigid object that is fixed is an obstacle: no rigid body. One that is pushed by it goes along.
static void test_fixed(void **state) {
    SimScene scene =
        movie_parse(HEAD GROUND "objects:\n"
                                "  wall: {" BOX ", density: 1, rigid: yes, fixed: all, position: [-0.51, 0, 0.51]}\n"
                                "  box: {" BOX ", density: 1000, rigid: yes, position: [0.51, 0, 0.51]}\n"
                                "controls: [{object: wall, velocity: [0.5, 0, 0]}]\n");
    RolloutFile file = {0};
    RecordWorst worst = {0};
    Error err;
    (void)state;
    assert_int_equal(scene.model.rigids, 1);
    assert_int_equal(scene.model.tets, 0);
    for (size_t i = 0; i < 16; i++) {
        assert_int_equal(scene.model.fixed[i], i < 8);
        assert_int_equal(scene.model.rigid[i], i < 8 ? -1 : 0);
    }
    assert_status_ok(record_run(&scene, &(SimOptions){.threads = 1}, &file, &worst, &err), err);
    const float *end = file.positions + (file.steps - 1) * 3 * 16;
    assert_close((double)end[0] + 1.01, 0.5, 1e-6, 0);
    assert_true(end[3 * 8] > 0.4F && end[3 * 8] < 0.55F); // it was at .01, and is pushed
    rollout_file_free(&file);
    scene_free(&scene);
}

// Obstacles alone: there is no rigid body at all.
static void test_obstacles(void **state) {
    SimScene scene = movie_parse(HEAD GROUND "objects:\n"
                                             "  ramp: {" BOX ", density: 2, rigid: yes, fixed: all}\n"
                                             "  dot: {points: {at: [[0, 0, 9]]}, mass: 1, rigid: yes, fixed: all}\n"
                                             "  soft: {" BOX
                                             ", density: 3, solid: {young: 1e3, poisson: 0.3}, position: [0, 0, 2]}\n");
    (void)state;
    assert_int_equal(scene.model.rigids, 0);
    assert_close(mass_of(&scene, 0), 2, 0, 1e-12);
    assert_close(mass_of(&scene, 1), 1, 0, 1e-12);
    scene_free(&scene);
}

// Masses in `values` leave the shares.
static void test_values(void **state) {
    SimScene scene = movie_parse(HEAD "objects: {a: {" BOX ", density: 2, rigid: yes}}\n"
                                      "values: {a: {mass: [1, 2, 3, 4, 5, 6, 7, 8], velocity: [[1, 2, 3]]}}\n");
    (void)state;
    for (int i = 0; i < 8; i++) {
        assert_close(scene.model.inertia[i], 1.0 / 3, 0, 1e-12);
        assert_close(scene.values.of[SIM_MASS][i], i + 1, 0, 0);
        assert_close(scene.values.of[SIM_VELOCITY][3 * i + 2], 3, 0, 0);
    }
    scene_free(&scene);
}

// The first faces of a tetrahedron of volume 1, turned inwards, each with vertices of its own.
static void write_faces(const char *path, int count) {
    static const char *const corner[] = {"0 0 0", "6 0 0", "0 1 0", "0 0 1"};
    static const int faces[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {0, 2, 3}};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 3 * count; i++) fprintf(file, "v %s\n", corner[faces[i / 3][i % 3]]);
    for (int i = 0; i < count; i++) fprintf(file, "f %d %d %d\n", 3 * i + 1, 3 * i + 2, 3 * i + 3);
    assert_int_equal(fclose(file), 0);
}

// Vertices that programs write twice are joined where that closes a surface.
static void test_seams(void **state) {
    const char *text = HEAD "objects: {a: {mesh: {file: t.obj}, density: 4, rigid: yes}}\n";
    char folder[64], path[96];
    SimScene scene;
    Error err;
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/t.obj", folder);
    write_faces(path, 4);
    assert_status_ok(scene_parse(text, strlen(text), "s.yaml", folder, &scene, &err), err);
    assert_int_equal(scene.model.particles, 4);
    assert_string_equal(scene.objects->note, "");
    assert_close(vector_enclosed(scene.values.of[SIM_REST], 0, scene.face, scene.faces), 1, 0, 1e-12);
    for (int i = 0; i < 4; i++) assert_close(scene.values.of[SIM_MASS][i], 1, 0, 1e-12);
    scene_free(&scene);
    write_faces(path, 3);
    assert_status_error(scene_parse(text, strlen(text), "s.yaml", folder, &scene, &err), STATUS_BAD_INPUT, err,
                        "s.yaml:5: a: rigid: t.obj:");
    assert_non_null(strstr(err.text, "so the surface is not closed"));
    test_remove_folder(folder);
}

// ---- how they move

static void centre(const Movie *m, size_t frame, size_t object, double out[3]) {
    const SceneObject *o = m->scene.objects + object;
    const double *mass = m->scene.values.of[SIM_MASS];
    memset(out, 0, 3 * sizeof *out);
    for (size_t i = o->particle; i < o->particle + o->particles; i++)
        for (size_t c = 0; c < 3; c++)
            out[c] += mass[i] / mass_of(&m->scene, object) * m->position[frame * m->row + 3 * i + c];
}

// Dropped flat, a box rests where its n particles on the ground bear it: m g / (n k_e) deep.
static void test_rest(void **state) {
    static const struct {
        const char *object;
        double mass, particles;
    } cases[] = {{"{box: {size: [0.4, 0.4, 0.2], cells: [1, 1, 1]}, density: 250, ", 8, 4},
                 {"{box: {size: [0.4, 0.4, 0.2], cells: [3, 2, 1]}, mass: 9, ", 9, 12},
                 {"{mesh: {file: mesh_obj/box.obj, scale: 0.2}, mass: 5, ", 5, 4}};
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[512];
        Movie m;
        double lowest = INFINITY, highest = -INFINITY;
        snprintf(text, sizeof text,
                 "frames: 60\nfps: 20\nsubsteps: 300\nprecision: f64\n" GROUND
                 "objects:\n  a: %srigid: yes, position: [0, 0, 0.11]}\n",
                 cases[k].object);
        movie_play(&m, text);
        const double *end_at = m.position + (m.frames - 1) * m.row;
        for (size_t i = 2; i < m.row; i += 3) {
            lowest = fmin(lowest, end_at[i]);
            if (end_at[i] < 0.01) highest = fmax(highest, end_at[i]);
        }
        const double depth = cases[k].mass * G / (cases[k].particles * 2e4);
        assert_close(lowest, -depth, 0, 1e-6);
        assert_close(highest, -depth, 0, 1e-6);
        movie_end(&m);
    }
}

// Friction mu stops a box after v^2 / (2 mu g); then it stays.
static void test_slide(void **state) {
    Movie m;
    double start[3], stop[3], before[3];
    const double v = 1.5, mu = 0.4, depth = 8 * G / (9 * 2e4);
    char text[512];
    (void)state;
    snprintf(text, sizeof text,
             HEAD GROUND "objects:\n  a: {box: {size: [0.4, 0.4, 0.1], cells: [2, 2, 1]}, mass: 8, rigid: yes, "
                         "position: [0, 0, %.12g], velocity: [%g, 0, 0]}\n",
             0.05 - depth, v);
    movie_play(&m, text);
    centre(&m, 0, 0, start);
    centre(&m, m.frames - 2, 0, before);
    centre(&m, m.frames - 1, 0, stop);
    assert_close(stop[0] - start[0], v * v / (2 * mu * G), 0, 2e-3); // friction is soft at low speed
    assert_close(stop[0], before[0], 1e-4, 0);
    assert_close(stop[1], 0, 1e-9, 0);
    movie_end(&m);
}

static void spun(const double inertia[3], const double R[9], const double L[3], double out[3]) {
    double own[3];
    for (int i = 0; i < 3; i++) own[i] = (R[i] * L[0] + R[3 + i] * L[1] + R[6 + i] * L[2]) / inertia[i];
    for (int i = 0; i < 3; i++) out[i] = vector_dot(R + 3 * i, own);
}

// dR/dt = w x R with the angular momentum L kept: Runge's and Kutta's method.
static void turn_by_euler(const double inertia[3], const double L[3], double time, double R[9]) {
    enum { STEPS = 20000 };
    const double dt = time / STEPS;
    for (int step = 0; step < STEPS; step++) {
        double k[4][9], at[9], w[3];
        for (int stage = 0; stage < 4; stage++) {
            const double part = stage == 0 ? 0 : stage == 3 ? dt : dt / 2;
            for (int i = 0; i < 9; i++) at[i] = R[i] + (stage ? part * k[stage - 1][i] : 0);
            spun(inertia, at, L, w);
            for (int j = 0; j < 3; j++) {
                double turned[3];
                vector_cross(w, (const double[]){at[j], at[3 + j], at[6 + j]}, turned);
                for (int i = 0; i < 3; i++) k[stage][3 * i + j] = turned[i];
            }
        }
        for (int i = 0; i < 9; i++) R[i] += dt / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
    }
}

// How far a box of that size that turns by Euler's equations is from the movie after a second.
static double off_tumble(const Movie *m, const double size[3], const double spin[3]) {
    const double *from = m->position, *to = m->position + (m->frames - 1) * m->row;
    double inertia[3], L[3], R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, off = 0;
    for (int i = 0; i < 3; i++) {
        const double a = size[(i + 1) % 3], b = size[(i + 2) % 3];
        inertia[i] = (a * a + b * b) / 12;
        L[i] = inertia[i] * spin[i];
    }
    turn_by_euler(inertia, L, 1, R);
    for (size_t i = 0; i < m->row; i++) off = fmax(off, fabs(to[i] - vector_dot(R + i % 3 * 3, from + i / 3 * 3)));
    return off;
}

// A box that is spun about its middle axis flips over as Euler's equations say, whatever its cells are.
static void test_tumble(void **state) {
    static const double size[3] = {0.5, 0.3, 0.1}, other[3] = {0.5, 0.3, 0.12}, spin[3] = {0.2, 8, 0.1};
    static const char *const cells[] = {"[1, 1, 1]", "[3, 2, 1]"};
    (void)state;
    for (int k = 0; k < 2; k++) {
        char text[512];
        Movie m;
        snprintf(text, sizeof text,
                 HEAD
                 "gravity: [0, 0, 0]\nobjects:\n  a: {box: {size: [0.5, 0.3, 0.1], cells: %s}, mass: 6, rigid: yes, "
                 "spin: [0.2, 8, 0.1]}\n",
                 cells[k]);
        movie_play(&m, text);
        assert_close(off_tumble(&m, size, spin), 0, 1e-6, 0); // by steps of 1/3000 s
        assert_true(off_tumble(&m, other, spin) > 1e-3);      // planted: a thicker box turns otherwise
        movie_end(&m);
    }
}

// A stiff solid bounces as a rigid box of its mass does.
static void test_bounce(void **state) {
    Movie m[2];
    double low = INFINITY, a[3], b[3];
    (void)state;
    for (int k = 0; k < 2; k++) {
        char text[512];
        snprintf(text, sizeof text,
                 "frames: 30\nsubsteps: 400\nprecision: f64\ncontacts: {g: {k_e: 1e3, k_d: 3}}\nplanes: [{}]\n"
                 "objects:\n  a: {box: {size: [0.2, 0.2, 0.2], cells: [2, 2, 2]}, density: 500, %s, "
                 "position: [0, 0, 0.3], velocity: [0.3, 0, 0]}\n",
                 k ? "solid: {young: 1e7, poisson: 0.3, k_d: 300}" : "rigid: yes");
        movie_play(m + k, text);
    }
    for (size_t f = 0; f < m->frames; f++) {
        centre(m, f, 0, a);
        centre(m + 1, f, 0, b);
        low = fmin(low, a[2]);
        for (int c = 0; c < 3; c++) assert_close(a[c], b[c], 1e-3, 0);
    }
    assert_true(low < 0.1);
    movie_end(m);
    movie_end(m + 1);
}

// A force in newtons moves the centre; a lone body does not touch itself, two meet.
static void test_push(void **state) {
    Movie m;
    double at[3];
    (void)state;
    movie_play(&m, HEAD "gravity: [0, 0, 0]\nobjects:\n  a: {" BOX ", mass: 3, rigid: yes, rotation: {axis: [1, 2, 3], "
                        "angle: 40}}\ncontrols: [{object: a, force: [0, 6, 0]}]\n");
    centre(&m, m.frames - 1, 0, at);
    assert_close(at[1], 1 + 1.0 / 3000, 1e-9, 0); // a t (t + dt) / 2
    for (size_t i = 0; i < m.row; i++)
        assert_close(m.velocity[(m.frames - 1) * m.row + i], i % 3 == 1 ? 2 : 0, 1e-9, 0);
    movie_end(&m);
}

// ---- gradients, files, fits

#define MEET                                                                                                           \
    "frames: 4\nfps: 30\nsubsteps: 60\n"                                                                               \
    "contacts: {g: {k_e: 2e3, k_d: 4, k_f: 9, mu: 0.3, fade: 0.01}}\nplanes: [{}]\nobjects:\n"                         \
    "  low: {box: {size: [0.3, 0.3, 0.1], cells: [2, 2, 1]}, density: 200, rigid: yes, position: [0, 0, 0.0483], "     \
    "velocity: [0.4, 0, -0.2]}\n"                                                                                      \
    "  high: {box: {size: [0.1, 0.2, 0.1], cells: [1, 1, 1]}, density: 300, rigid: yes, position: [0.02, 0.01, "       \
    "0.17], "                                                                                                          \
    "rotation: {axis: [1, 1, 0], angle: 9}, velocity: [0, 0.1, -0.9], spin: [1, 2, 3]}\n"                              \
    "  soft: {box: {size: [0.1, 0.1, 0.1], cells: [1, 1, 1]}, density: 300, position: [0.1981, 0.033, 0.0447], "       \
    "velocity: [-0.5, 0.02, -0.1], solid: {young: 2e4, poisson: 0.3, k_d: 2}}\n"

static void test_gradients(void **state) {
    (void)state;
    movie_check_gradients(MEET);
}

static void test_record(void **state) {
    SimScene scene = movie_parse(MEET);
    RolloutFile file = {0};
    RecordWorst worst = {0};
    Error err;
    (void)state;
    assert_status_ok(record_run(&scene, &(SimOptions){.threads = 1}, &file, &worst, &err), err);
    assert_int_equal(file.surface.springs, 0);
    assert_int_equal(file.surface.triangles, 32 + 12 + 12);
    assert_close(file.sets[0].radius[0], 0.15, 0.05, 0); // about the distance of particles
    bool touched = false;
    for (size_t i = 0; i < (file.steps + 1) * scene.model.particles; i++) touched = touched || file.surface.touching[i];
    assert_true(touched);
    rollout_file_free(&file);
    scene_free(&scene);
}

// What a fit may change, among it the sides of a box of many cells, whose shares stay.
static void test_fit(void **state) {
    static const char *const names[] = {"low.density",  "low.box.size.x", "high.density",     "high.spin",
                                        "low.velocity", "high.rotation",  "values.low.mass.3"};
    FitFree f;
    Error err;
    (void)state;
    movie_check_names(MEET, names, sizeof names / sizeof *names);
    assert_status_error(fit_free_parse(MEET, strlen(MEET), "s.yaml", (const char *[]){"low.solid.young"}, 1, &f, &err),
                        STATUS_BAD_INPUT, err, "unknown number of the scene \"low.solid.young\"");
}

static void test_wrong(void **state) {
    static const struct {
        const char *object, *words;
    } cases[] = {
        {BOX ", density: 1, rigid: yes, solid: {young: 1e5, poisson: 0.3}",
         "s.yaml:6: a: solid: a rigid object has none; leave out this or \"rigid\""},
        {BOX ", density: 1, rigid: yes, springs: {k_e: 1}", "s.yaml:6: a: springs: a rigid object has none"},
        {BOX ", density: 1, rigid: yes, bending: {k_e: 1}", "s.yaml:6: a: bending: a rigid object has none"},
        {BOX ", density: 1, rigid: yes, fixed: [0]", "s.yaml:6: a: fixed: a rigid object is fixed as a whole"},
        {BOX ", rigid: yes", "s.yaml:6: a: expected either \"density\" or \"mass\""},
        {BOX ", density: 0, rigid: yes", "s.yaml:6: density: expected more than 0, found 0"},
        {BOX ", density: 1, rigid: maybe", "s.yaml:6: rigid: expected"},
        {"cloth: {size: [1, 1], cells: [1, 1]}, density: 1, rigid: yes",
         "s.yaml:6: a: rigid: a cloth fills no volume; take a flat box, or a closed mesh"},
        {"points: {at: [[0, 0, 0], [0, 0, 1], [0, 0, 3]]}, mass: 1, rigid: yes",
         "s.yaml:6: a: rigid: expected three particles that are not on one line"},
        {"points: {at: [[0, 0, 0]]}, mass: 1, rigid: yes", "expected three particles that are not on one line"},
        {"points: {at: [[0, 0, 0], [0, 0, 1], [0, 1, 3]]}, density: 1, rigid: yes",
         "density: the shape has no volume or area; say \"mass\""},
        {BOX ", density: 1, rigid: yes}\ncontrols: [{object: a, activation: 1}]\nvalues: {b: 1",
         "s.yaml:7: activation: a is rigid; it can be moved by a \"force\""},
        {BOX ", density: 1, rigid: yes}\nvalues: {a: {position: [[1, 2, 3]]}",
         "s.yaml:7: position: all particles of a are on one line, and it is rigid"},
        {BOX ", density: 1, rigid: yes}\nvalues: {a: {tet.mu: [1]}",
         "s.yaml:7: unknown value of particles or elements \"tet.mu\""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        snprintf(text, sizeof text, HEAD "objects:\n  a: {%s}\n", cases[i].object);
        movie_refused(text, cases[i].words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reading),   cmocka_unit_test(test_values),    cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_obstacles), cmocka_unit_test(test_seams),     cmocka_unit_test(test_rest),
        cmocka_unit_test(test_slide),     cmocka_unit_test(test_tumble),    cmocka_unit_test(test_bounce),
        cmocka_unit_test(test_push),      cmocka_unit_test(test_gradients), cmocka_unit_test(test_record),
        cmocka_unit_test(test_fit),       cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
