// SPDX-License-Identifier: Apache-2.0
// Rigid objects whose vertices alone cannot hold the inertia of their solid: wedges, and what has vertices at its rims
// alone. Points inside them hold the rest, are hidden and touch nothing.
#include "lab/fit_free.h"
#include "lab/record.h"
#include "lab/rigid_mass.h"
#include "lab/scene_file.h"

#include "tests/lab_movie.h"
#include "tests/lab_outlines.h"

#define G 9.81
#define HEAD "frames: 30\nfps: 30\nsubsteps: 100\nprecision: f64\n"
#define GROUND "contacts: {g: {k_e: 2e4, k_d: 60, k_f: 400, mu: 0.4, fade: 1e-4}}\nplanes: [{}]\n"

// ---- solids

typedef struct Case {
    const char *name;
    Outline outline;
    double volume, middle, second[6]; // m^3; its centre's z; mean squares xx yy zz xy yz zx about it
    bool points, convex;
} Case;

// Over a regular polygon.
static Case upright(const char *name, int corners, double radius, double height, double top, bool points) {
    const double turn = 2 * M_PI / corners, area = corners / 2.0 * radius * radius * sin(turn);
    const double across = radius * radius * (2 + cos(turn)) / 12;
    Case out = {name, outline_regular(corners, radius, height, top), .points = points, .convex = true};
    out.volume = top > 0 ? area * height : area * height / 3;
    out.middle = top > 0 ? height / 2 : height / 4;
    out.second[0] = out.second[1] = top > 0 ? across : 0.6 * across;
    out.second[2] = height * height * (top > 0 ? 1.0 / 12 : 3.0 / 80);
    return out;
}

// With a right angle, whose legs are a and b.
static Case wedge(double a, double b, double height) {
    Case out = {"wedge", {.corners = 3, .height = height, .top = 1}, .points = true, .convex = true};
    const double at[3][2] = {{-a / 3, -b / 3}, {2 * a / 3, -b / 3}, {-a / 3, 2 * b / 3}};
    memcpy(out.outline.at, at, sizeof at);
    out.volume = a * b * height / 2;
    out.middle = height / 2;
    out.second[0] = a * a / 18, out.second[1] = b * b / 18, out.second[2] = height * height / 12;
    out.second[3] = -a * b / 36;
    return out;
}

// Two legs of 1 x 3 on a bar of 4 x 1; the centre of the 10 squares is 1.9 above its underside.
static Case channel(double height) {
    static const double at[8][2] = {{0, 0}, {4, 0}, {4, 4}, {3, 4}, {3, 1}, {1, 1}, {1, 4}, {0, 4}};
    static const double rectangle[3][4] = {{2, 0.5, 4, 1}, {0.5, 2.5, 1, 3}, {3.5, 2.5, 1, 3}};
    Case out = {"channel", {.corners = 8, .height = height, .top = 1}, .points = false, .convex = false};
    for (int i = 0; i < 8; i++) out.outline.at[i][0] = at[i][0] - 2, out.outline.at[i][1] = at[i][1] - 1.7;
    for (int r = 0; r < 3; r++) {
        const double *w = rectangle[r], part = w[2] * w[3] / 10;
        out.second[0] += part * ((w[0] - 2) * (w[0] - 2) + w[2] * w[2] / 12);
        out.second[1] += part * ((w[1] - 1.7) * (w[1] - 1.7) + w[3] * w[3] / 12);
    }
    out.volume = 10 * height;
    out.middle = height / 2;
    out.second[2] = height * height / 12;
    return out;
}

enum { CASES = 13 };
static void all_cases(Case out[CASES]) {
    const Case all[CASES] = {upright("disc of 8", 8, 0.3, 0.02, 1, true),
                             upright("disc of 16", 16, 0.3, 1e-3, 1, true),
                             upright("cylinder of 16", 16, 0.1, 0.2, 1, true),
                             upright("rod of 64", 64, 0.01, 5, 1, true),
                             upright("cylinder of 64", 64, 1, 1, 1, true),
                             upright("triangle", 3, 0.2, 0.3, 1, true),
                             upright("box", 4, 0.2, 0.3, 1, false),
                             upright("tetrahedron", 3, 0.2, 0.3, 0, false),
                             upright("pyramid", 4, 0.2, 0.3, 0, false),
                             upright("cone of 16", 16, 0.2, 0.3, 0, false),
                             upright("flat cone of 64", 64, 1, 0.02, 0, false),
                             wedge(0.3, 0.1, 0.2),
                             channel(2)};
    memcpy(out, all, sizeof all);
}

// ---- what scenes make of them

static char folder[64];

// The scene whose object "a" is the outline; `more` follows its shape.
static SimScene read_outline(const Outline *o, bool stl, const char *head, const char *more) {
    char path[96], text[1024];
    SimScene scene;
    Error err;
    Mesh mesh = outline_mesh(o);
    snprintf(path, sizeof path, "%s/a.%s", folder, stl ? "stl" : "obj");
    if (stl) outline_write_stl(&mesh, path);
    else outline_write_obj(&mesh, path);
    mesh_free(&mesh);
    snprintf(text, sizeof text, "%s\nobjects:\n  a: {mesh: {file: a.%s}, rigid: yes, %s\n", head, stl ? "stl" : "obj",
             more);
    assert_status_ok(scene_parse(text, strlen(text), "s.yaml", folder, &scene, &err), err);
    return scene;
}

// Of an object's particles: kg, centre, and mean squares about it by shares.
static void weigh(const SimScene *scene, const SceneObject *o, double *mass, double centre[3], double second[6]) {
    *mass = 0;
    memset(centre, 0, 3 * sizeof *centre);
    memset(second, 0, 6 * sizeof *second);
    for (size_t i = o->particle; i < o->particle + o->particles; i++) {
        *mass += scene->values.of[SIM_MASS][i];
        for (size_t c = 0; c < 3; c++)
            centre[c] += scene->values.of[SIM_MASS][i] * scene->values.of[SIM_REST][3 * i + c];
    }
    for (int c = 0; c < 3; c++) centre[c] /= *mass;
    for (size_t i = o->particle; i < o->particle + o->particles; i++)
        for (size_t k = 0; k < 6; k++) {
            const double *x = scene->values.of[SIM_REST] + 3 * i;
            const size_t a = k % 3, b = k < 3 ? k : (k + 1) % 3;
            second[k] += scene->model.inertia[i] * scene->values.of[SIM_MASS][i] / *mass * (x[a] - centre[a]) *
                         (x[b] - centre[b]);
        }
}

static void assert_weighs(const Case *c, const SimScene *scene) {
    double mass, centre[3], second[6];
    weigh(scene, scene->objects, &mass, centre, second);
    print_message("%s:", c->name);
    assert_close(mass, 700 * c->volume, 0, 1e-12);
    for (int k = 0; k < 3; k++) assert_close(centre[k], k == 2 ? c->middle : 0, 1e-11 * sqrt(c->second[k]), 0);
    for (int k = 0; k < 6; k++) {
        const double size = sqrt(c->second[k % 3] * c->second[k < 3 ? k : (k + 1) % 3]);
        assert_close(second[k], c->second[k], 1e-11 * size, 0);
    }
    print_message(" right\n");
}

// Hidden points are inside of what is convex, and behind the particles of the shape, which are those of the file.
static void assert_placed(const Case *c, const SimScene *scene) {
    const SceneObject *o = scene->objects;
    const double *x = scene->values.of[SIM_REST];
    const size_t own = scene_own_particles(o);
    const int apex = c->outline.top == 0;
    assert_int_equal(own, (2 - apex) * c->outline.corners + apex);
    assert_int_equal(o->hidden, c->points ? RIGID_POINTS : 0);
    for (size_t i = 0; i < 3 * o->faces; i++) assert_true(scene->face[i] < (int32_t)own);
    for (size_t f = 0; f < o->faces && c->convex; f++)
        for (size_t i = own; i < o->particles; i++) {
            const int32_t *v = scene->face + 3 * f;
            double a[3], b[3], n[3], to[3];
            vector_between(x, v[0], v[1], a);
            vector_between(x, v[0], v[2], b);
            vector_between(x, v[0], (int32_t)i, to);
            vector_cross(a, b, n);
            assert_true(vector_dot(n, to) < 0);
        }
}

static void test_solids(void **state) {
    Case cases[CASES];
    (void)state;
    all_cases(cases);
    for (int k = 0; k < CASES; k++)
        for (int stl = 0; stl < 2; stl++) {
            SimScene scene = read_outline(&cases[k].outline, stl, HEAD, "density: 700}");
            const SceneObject *o = scene.objects;
            assert_weighs(cases + k, &scene);
            assert_placed(cases + k, &scene);
            assert_string_equal(o->note, "");
            for (size_t i = 0; i < o->particles; i++) {
                assert_true(scene.values.of[SIM_MASS][i] > 0);
                if (o->hidden) assert_true(scene.model.inertia[i] > 0 && scene.model.inertia[i] < 4);
            }
            Mesh mesh = outline_mesh(&cases[k].outline);
            for (size_t i = 0; i < 3 * mesh.N && !stl; i++)
                assert_close(scene.values.of[SIM_REST][i], mesh.position[i], 0, 0);
            mesh_free(&mesh);
            scene_free(&scene);
        }
}

// A cylinder with narrow chamfers can be held by its vertices alone, and by shares that nearly cancel where they are
// very narrow.
static void test_chamfers(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        const double cut = k ? 1e-4 : 2e-2;
        const double ring[4][2] = {{0.2 - cut, 0}, {0.2, cut}, {0.2, 0.1 - cut}, {0.2 - cut, 0.1}};
        Mesh mesh = {0};
        double mass[64 + RIGID_POINTS], share[64 + RIGID_POINTS];
        RigidPoints points;
        Error err;
        for (int i = 0; i < 64; i++) {
            const double *r = ring[i / 16], turn = 2 * M_PI * (i % 16) / 16;
            assert_status_ok(mesh_add_vertex(&mesh, (double[]){r[0] * cos(turn), r[0] * sin(turn), r[1]}, &err), err);
        }
        for (int i = 0; i < 48; i++) {
            const int next = i / 16 * 16 + (i + 1) % 16;
            outline_add_face(&mesh, i, next, next + 16);
            outline_add_face(&mesh, i, next + 16, i + 16);
        }
        outline_add_cap(&mesh, 0, 16, false);
        outline_add_cap(&mesh, 48, 16, true);
        assert_status_ok(mesh_check_closed(&mesh, "chamfers", &err), err);
        assert_status_ok(rigid_mass(&mesh, 1, 0, mass, share, &points, &err), err);
        assert_int_equal(points.count, k ? RIGID_POINTS : 0);
        mesh_free(&mesh);
    }
}

// An obstacle needs no inertia; a joint's points are behind those of the inertia, which they leave.
static void test_numbers(void **state) {
    const Case c = upright("cylinder", 16, 0.1, 0.2, 1, true);
    double mass, centre[3], second[6];
    (void)state;
    SimScene scene = read_outline(&c.outline, false, HEAD, "density: 700, fixed: all}");
    assert_int_equal(scene.objects->particles, 32);
    scene_free(&scene);
    scene = read_outline(&c.outline, false, HEAD GROUND,
                         "density: 700}\n  b: {box: {size: [1, 1, 1], cells: [1, 1, 1]}, density: 1, rigid: yes, "
                         "position: [0, 0, -0.5]}\njoints: {j: {between: [b, a], at: [0, 0, 0], k_e: 100}}");
    assert_int_equal(scene.objects[0].hidden, RIGID_POINTS + 4);
    assert_int_equal(scene.objects[1].hidden, 1);
    assert_int_equal(scene.model.materials, 2);
    for (size_t i = 0; i < scene.model.particles; i++) {
        const SceneObject *o = scene.objects + (i >= scene.objects[1].particle);
        assert_int_equal(scene.model.material[i], i >= o->particle + scene_own_particles(o));
    }
    assert_weighs(&c, &scene);
    weigh(&scene, scene.objects + 1, &mass, centre, second);
    assert_close(mass, 1, 0, 1e-12);
    scene_free(&scene);
}

// `values` have rows for hidden points too.
static void test_values(void **state) {
    const Outline prism = outline_regular(3, 0.2, 0.3, 1);
    char text[256];
    SimScene scene = read_outline(&prism, false, HEAD, "mass: 2}\nvalues: {a: {velocity: [[1, 2, 3]]}}");
    Error err;
    (void)state;
    for (int i = 0; i < 10; i++) assert_close(scene.values.of[SIM_VELOCITY][3 * i + 1], 2, 0, 0);
    scene_free(&scene);
    snprintf(text, sizeof text,
             HEAD "objects: {a: {mesh: {file: a.obj}, rigid: yes, mass: 2}}\nvalues: {a: {mass: [1, 2, 3, 4, 5, 6]}}");
    assert_status_error(scene_parse(text, strlen(text), "s.yaml", folder, &scene, &err), STATUS_BAD_INPUT, err,
                        "s.yaml:6: mass: expected a list of 10 rows");
    assert_non_null(strstr(err.text, "; the last 4 are of hidden points"));
}

// ---- how they move

// A cylinder that is thrown in any way: its axis goes round its angular momentum, |L| over the inertia across the axis
// times a second, and it turns about the axis as fast as before.
static void assert_tumbles(const char *head, const char *isa, double limit) {
    static const double spin[3] = {4, 1, 7};
    const Case c = upright("cylinder", 8, 0.2, 0.1, 1, true);
    const double across = c.second[1] + c.second[2], along = 2 * c.second[0];
    double way[3] = {across * spin[0], across * spin[1], along * spin[2]}, off = 0;
    const double L = sqrt(vector_dot(way, way));
    Movie m = {.scene = read_outline(&c.outline, false, head, "mass: 3, velocity: [1, 0, 0], spin: [4, 1, 7]}")};
    movie_run(&m, isa);
    for (int k = 0; k < 3; k++) way[k] /= L;
    const Part turn = {.axis = {way[0], way[1], way[2]}}, own = {.axis = {0, 0, 1}};
    for (size_t i = 0; i < m.row; i += 3) {
        const double *x = m.position + i, *end = m.position + (m.frames - 1) * m.row + i;
        double about[3], to[3];
        part_turn(&own, spin[2] - L / across * way[2], (const double[]){x[0], x[1], x[2] - c.middle}, about);
        part_turn(&turn, L / across, about, to); // what that leaves is about its own axis
        to[0] += 1, to[2] += c.middle;
        for (int k = 0; k < 3; k++) off = fmax(off, fabs(end[k] - to[k]));
    }
    print_message("%s: %.2g m apart\n", isa ? isa : "best", off);
    assert_true(off < limit);
    movie_end(&m);
}

static void test_tumble(void **state) {
    const char *single = "frames: 30\nfps: 30\nsubsteps: 100\ngravity: [0, 0, 0]\n";
    (void)state;
    assert_tumbles(HEAD "gravity: [0, 0, 0]\n", NULL, 2e-6); // by steps of 1/3000 s
    assert_tumbles(single, NULL, 2e-5);                      // f32
    assert_tumbles(single, "base", 2e-5);
}

// Dropped flat it rests on the particles of its rim alone.
static void test_rest(void **state) {
    const Outline disc = outline_regular(16, 0.3, 0.01, 1);
    Movie m = {.scene = read_outline(&disc, false, "frames: 60\nfps: 20\nsubsteps: 300\nprecision: f64\n" GROUND,
                                     "mass: 4, position: [0, 0, 0.02]}")};
    (void)state;
    movie_run(&m, NULL);
    for (size_t i = 0; i < 16; i++)
        assert_close(m.position[(m.frames - 1) * m.row + 3 * i + 2], -4 * G / (16 * 2e4), 1e-6, 0);
    movie_end(&m);
}

// It rolls as one does whose ends have a vertex in the middle, which needs no hidden points and touches nothing more.
static void test_roll(void **state) {
    Outline cylinder = outline_regular(24, 0.1, 0.2, 1);
    Movie m[2];
    double off = 0, far = 0;
    (void)state;
    for (int k = 0; k < 2; k++) {
        cylinder.middles = k;
        m[k] = (Movie){.scene = read_outline(
                           &cylinder, false,
                           HEAD "contacts: {g: {k_e: 2e3, k_d: 5, k_f: 20, mu: 0.4, fade: 1e-3}}\nplanes: [{}]\n",
                           "mass: 2, position: [0, 0, 0.11], rotation: {axis: [1, 0, 0], angle: "
                           "90}, velocity: [1, 0.2, 0], spin: [0, 3, 0.5]}")};
        assert_int_equal(m[k].scene.objects->hidden, k ? 0 : RIGID_POINTS);
        movie_run(m + k, NULL);
    }
    for (size_t f = 0; f < m->frames; f++)
        for (size_t i = 0; i < 3 * 48; i++) {
            off = fmax(off, fabs(m[0].position[f * m[0].row + i] - m[1].position[f * m[1].row + i]));
            far = fmax(far, fabs(m[0].position[f * m[0].row + i] - m[0].position[i]));
        }
    print_message("%.2g m apart, %.2g m moved\n", off, far);
    assert_true(off < 1e-9 && far > 0.5);
    for (int k = 0; k < 2; k++) movie_end(m + k);
}

// ---- gradients, files, fits

#define MEET                                                                                                           \
    "frames: 4\nfps: 30\nsubsteps: 60\n"                                                                               \
    "contacts: {g: {k_e: 2e3, k_d: 4, k_f: 9, mu: 0.3, fade: 0.01}}\nplanes: [{}]\n"
#define MEETING                                                                                                        \
    "density: 300, position: [0, 0, 0.004], rotation: {axis: [1, 0, 0], angle: 3}, velocity: [0.4, 0, -0.2], spin: "   \
    "[1, 2, 3]}\n"                                                                                                     \
    "  b: {mesh: {file: a.obj, scale: 0.5}, density: 900, rigid: yes, position: [0.01, 0.02, 0.11], velocity: [0, "    \
    "0.1, -0.9]}\n"

static void test_gradients(void **state) {
    const Outline disc = outline_regular(8, 0.2, 0.1, 1);
    SimScene scene = read_outline(&disc, false, MEET, MEETING);
    (void)state;
    movie_check_scene(&scene);
    scene_free(&scene);
}

// Files do not draw hidden points, and nothing touches them.
static void test_record(void **state) {
    const Outline disc = outline_regular(8, 0.2, 0.1, 1);
    SimScene scene = read_outline(&disc, false, MEET, MEETING);
    const size_t N = scene.model.particles;
    RolloutFile file = {0};
    RecordWorst worst = {0};
    bool any = false;
    Error err;
    (void)state;
    assert_int_equal(N, 2 * (16 + RIGID_POINTS));
    assert_status_ok(record_run(&scene, &(SimOptions){.threads = 1}, &file, &worst, &err), err);
    for (size_t i = 0; i < N; i++) {
        const bool hidden = i % 20 >= 16;
        assert_true((file.sets[0].radius[i] == 0) == hidden);
        for (size_t k = 0; k <= file.steps; k++) {
            const bool touching = file.surface.touching[k * N + i];
            assert_false(hidden && touching);
            any = any || touching;
        }
    }
    assert_true(any);
    rollout_file_free(&file);
    scene_free(&scene);
}

// Its size can be fitted: the shares stay.
static void test_fit(void **state) {
    static const char *const names[] = {"a.mesh.scale", "a.density", "a.spin", "values.a.mass.17"};
    const Outline disc = outline_regular(8, 0.2, 0.1, 1);
    const char *text = MEET "objects:\n  a: {mesh: {file: a.obj, scale: 1}, rigid: yes, density: 300, spin: [1, 2, 3], "
                            "position: [0, 0, 0.2]}\n";
    char path[96];
    FitFree f;
    Error err;
    (void)state;
    SimScene scene = read_outline(&disc, false, HEAD, "mass: 1}"); // writes a.obj
    scene_free(&scene);
    snprintf(path, sizeof path, "%s/s.yaml", folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_status_ok(fit_free_parse(text, strlen(text), path, names + i, 1, &f, &err), err);
        fit_free_close(&f);
    }
}

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_folder(folder);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_solids),    cmocka_unit_test(test_chamfers),
                                       cmocka_unit_test(test_numbers),   cmocka_unit_test(test_values),
                                       cmocka_unit_test(test_tumble),    cmocka_unit_test(test_rest),
                                       cmocka_unit_test(test_roll),      cmocka_unit_test(test_record),
                                       cmocka_unit_test(test_gradients), cmocka_unit_test(test_fit)};
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
