// SPDX-License-Identifier: Apache-2.0
// Fits of scenes to states: which numbers can be free, derivatives, recovery, standard errors, what is not determined.
#include "lab/fit.h"
#include "lab/fit_pictures.h"
#include "lab/fit_rollout.h"
#include "lab/fit_write.h"

#include "base/random.h"
#include "lab/footage.h"
#include "tests/test.h"

// A soft box slides and bounces on the ground. The comment has characters of two bytes before the numbers.
#define SCENE                                                                                                          \
    "# m/s² and ±\nframes: 16\nfps: 30\nsubsteps: 20\nprecision: f64\n"                                              \
    "contacts: {g: {k_e: 300, k_d: 0.5, k_f: 5, mu: 0.3, fade: 0.02}}\nplanes: [{}]\nobjects:\n"                       \
    "  b: {box: {size: [0.2, 0.2, 0.2], cells: [1, 1, 1]}, density: 200, colour: [1, 2, 3],\n"                         \
    "      solid: {young: 2e3, poisson: 0.3, k_d: 1}, position: [0, 0, 0.12], velocity: [1, 0, -1]}\n"

typedef struct World {
    char folder[64], path[128];
    FitFree free;
    SimScene scene;
    FitData data;
} World;

static Status free_of(World *w, const char *text, const char *const *names, size_t count, Error *err) {
    test_make_folder(w->folder);
    snprintf(w->path, sizeof w->path, "%s/s.yaml", w->folder);
    FILE *file = fopen(w->path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    Status status = fit_free_read(w->path, names, count, &w->free, err);
    test_remove_folder(w->folder);
    return status;
}

static Status keep_positions(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    World *w = context;
    const size_t row = 3 * w->scene.model.particles;
    (void)velocity;
    (void)err;
    memcpy(w->data.position + frame * row, position, row * sizeof *position);
    return STATUS_OK;
}

// A recording of the scene with numbers x; the file says others.
static void open_world(World *w, const char *text, const char *const *names, size_t count, const double *truth) {
    *w = (World){0};
    Sim *sim;
    Error err;
    double x[FIT_VARIABLES_MAX];
    assert_status_ok(free_of(w, text, names, count, &err), err);
    for (size_t i = 0; i < w->free.count; i++) x[i] = truth ? truth[i] : w->free.variable[i].start;
    assert_status_ok(fit_free_scene(&w->free, x, &w->scene, &err), err);
    w->data =
        (FitData){.scene = &w->scene, .kinds = FIT_STATES, .size = {1, 1, 1, 1}, .frames = (size_t)w->scene.frames + 1};
    w->data.position = calloc(w->data.frames * 3 * w->scene.model.particles, sizeof(double));
    assert_non_null(w->data.position);
    const SimOptions options = {.precision = SIM_F64, .threads = 1};
    SimRun run = scene_run(&w->scene);
    run.keep = keep_positions;
    run.context = w;
    assert_status_ok(sim_open(&w->scene.model, &options, &sim, &err), err);
    assert_status_ok(sim_set(sim, &w->scene.values, &err), err);
    assert_status_ok(sim_rollout(sim, &run, &err), err);
    sim_close(sim);
}

static void close_world(World *w) {
    fit_data_close(&w->data);
    scene_free(&w->scene);
    fit_free_close(&w->free);
}

// ---- names

static void test_names(void **state) {
    World w = {0};
    Error err;
    (void)state;
    static const struct {
        const char *name, *words;
    } wrong[] = {{"b.densty", "unknown number of the scene \"b.densty\"; did you mean \"b.density\"?"},
                 {"fps", "fps cannot be fitted: it is none of the values that have gradients"},
                 {"substeps", "substeps: a fit cannot change this number by a little"},
                 {"g.fade", "g.fade cannot be fitted: it is none"},
                 {"b.colour", "b.colour.x cannot be fitted: the motion does not depend on it"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status_error(free_of(&w, SCENE, &wrong[i].name, 1, &err), STATUS_BAD_INPUT, err, wrong[i].words);
    assert_status_error(free_of(&w, SCENE, NULL, 0, &err), STATUS_BAD_INPUT, err, "nothing is free");
    assert_status_error(free_of(&w, SCENE "fit: {free: {g.mu: {low: 0.5}}}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "g.mu: the start 0.3 is not between low 0.5 and high inf");
    assert_status_error(free_of(&w, SCENE "fit: {fre: [g.mu]}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "unknown key \"fre\"; did you mean \"free\"?");
    assert_status_error(free_of(&w, SCENE "fit: {free: {g.mu: {lo: 1}}}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "\"low\"");
    assert_status_error(free_of(&w, SCENE "fit: {compare: [colours]}\n", NULL, 0, &err), STATUS_BAD_INPUT, err,
                        "expected states, colour, depth or mask");
}

// The text keeps every other byte; numbers above 0 are fitted as logarithms, vectors are not.
static void test_text(void **state) {
    World w = {0};
    Error err;
    char *text;
    size_t length;
    (void)state;
    assert_status_ok(
        free_of(&w, SCENE "fit: {free: {g.mu: {start: 0.5, high: 2}, b.velocity: , b.density: }}\n", NULL, 0, &err),
        err);
    static const char *const names[] = {"g.mu", "b.density", "b.velocity.x", "b.velocity.y", "b.velocity.z"};
    assert_int_equal(w.free.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(w.free.variable[i].name, names[i]);
        assert_true(w.free.variable[i].range.log == (i < 2));
    }
    assert_true(w.free.variable[0].start == 0.5 && w.free.variable[0].in_file == 0.3);
    assert_true(w.free.variable[0].range.high == 2 && w.free.variable[1].range.high == 2e6);
    const double x[] = {0.25, 123.456, -1, 1e-9, 3};
    assert_status_ok(fit_free_text(&w.free, x, &text, &length, &err), err);
    assert_int_equal(strlen(text), length);
    assert_non_null(strstr(text, "mu: 0.25, fade: 0.02}}"));
    assert_non_null(strstr(text, "density: 123.456, colour"));
    assert_non_null(strstr(text, "velocity: [-1, 1.0000000000000001e-09, 3]}\n"));
    assert_memory_equal(text, SCENE, 60);
    free(text);
    fit_free_close(&w.free);
}

// ---- derivatives: J'r from differences against the adjoint

static void test_derivatives(void **state) {
    static const char *const names[] = {"g.k_e",     "g.k_d",   "g.k_f",      "g.mu",
                                        "b.density", "b.solid", "b.position", "b.velocity"};
    const double h[] = {330, 0.4, 6, 0.2, 210, 1800, 0.25, 1.2, 0.01, 0, 0.12, 1.1, 0.1, -1};
    World w;
    open_world(&w, SCENE, names, 8, h);
    const size_t P = w.free.count;
    MinimiseVariable variable[32];
    double x[32], differences[32] = {0}, adjoint[32] = {0}, normal[32 * 32] = {0};
    MinimiseSums many = {.gradient = differences, .normal = normal}, one = {.gradient = adjoint};
    FitRollout rollout;
    Error err;
    (void)state;
    assert_int_equal(P, 14);
    for (size_t i = 0; i < P; i++) variable[i] = w.free.variable[i].range, x[i] = w.free.variable[i].start;
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    rollout.variable = variable;
    assert_status_ok(fit_rollout_sums(&rollout, x, &many, &err), err);
    assert_status_ok(fit_rollout_sums(&rollout, x, &one, &err), err);
    assert_true(many.cost == one.cost && one.cost > 1e-3);
    assert_close(many.residuals, 17 * 24, 0, 0);
    for (size_t i = 0; i < P; i++) {
        const double size = sqrt(2 * many.cost * normal[i * P + i]); // the gradient is at most that
        assert_true(size > 0);
        assert_close(differences[i], adjoint[i], 1e-8 * size,
                     1e-7); // both are of f64; differences have an error of 1e-10
    }
    fit_rollout_close(&rollout);
    close_world(&w);
}

// ---- recovery

static FitResult fit(World *w, FitOptions options) {
    FitResult result;
    Error err;
    assert_status_ok(fit_run(&w->free, &w->data, &options, &result, &err), err);
    return result;
}

static void test_recovery(void **state) {
    static const char *const names[] = {"g.k_e", "g.mu", "b.density", "b.velocity"};
    const double truth[] = {200, 0.45, 350, 0.8, 0.1, -1.2};
    static const FitMethod methods[] = {FIT_AUTO, FIT_LBFGS};
    (void)state;
    for (int m = 0; m < 2; m++) {
        World w;
        open_world(&w, SCENE, names, 4, truth);
        FitResult r = fit(&w, (FitOptions){.method = methods[m], .iterations = 200, .horizon = 4, .threads = 1}),
                  same = fit(&w, (FitOptions){.method = methods[m], .iterations = 200, .horizon = 4, .threads = 2});
        assert_true(r.converged && r.has_errors && r.first_rms > 1e-3);
        for (size_t i = 0; i < w.free.count; i++) {
            // L-BFGS ends where a step of 1e-9 of the largest number changes nothing
            assert_close(r.value[i].value, truth[i], m ? 1e-5 : 1e-8, m ? 1e-5 : 1e-8);
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            assert_memory_equal(&r.value[i].value, &same.value[i].value, sizeof(double)); // with any number of threads
        }
        fit_result_free(&r);
        fit_result_free(&same);
        close_world(&w);
    }
}

// Of a start from which a rollout explodes nothing is said but where; a search survives such points.
static void test_explosion(void **state) {
    static const char *const names[] = {"b.solid.young"};
    const double truth[] = {4e3}, start[] = {1e9};
    World w;
    open_world(&w, SCENE, names, 1, truth);
    FitResult r;
    Error err;
    (void)state;
    w.free.variable[0].range.high = 1e12;
    assert_status_error(fit_run(&w.free, &w.data, &(FitOptions){.at = start, .threads = 1}, &r, &err), STATUS_FAILED,
                        err, "s.yaml, at the start of the fit: ");
    r = fit(&w, (FitOptions){.starts = 4, .threads = 1}); // drawn up to 1e12 Pa
    assert_close(r.value[0].value, 4e3, 0, 1e-6);
    fit_result_free(&r);
    close_world(&w);
}

// ---- standard errors

// How many of the fits to recordings with noise have the truth within `bars` standard errors, of all numbers.
static double covered(double bars) {
    static const char *const names[] = {"g.k_e", "g.mu", "b.velocity"};
    World w;
    open_world(&w, SCENE, names, 3, NULL);
    const size_t count = w.data.frames * 3 * w.scene.model.particles, P = w.free.count;
    double *clean = malloc(count * sizeof *clean), inside = 0;
    enum { DRAWS = 60 };
    assert_non_null(clean);
    memcpy(clean, w.data.position, count * sizeof *clean);
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        const RandomKey key = {4, RANDOM_TEST, draw, 0};
        for (size_t i = 0; i < count; i++) {
            const double u = 1 - (double)random_uniform(key, 2 * i), v = (double)random_uniform(key, 2 * i + 1);
            w.data.position[i] = clean[i] + 2e-3 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        }
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        for (size_t i = 0; i < P; i++) {
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            inside += fabs(r.value[i].value - w.free.variable[i].start) < bars * r.value[i].error;
        }
        fit_result_free(&r);
    }
    free(clean);
    close_world(&w);
    return inside / (double)(DRAWS * P);
}

// 68.3 % of 300; errors within one fit are correlated, so the allowance is four standard deviations of 120 draws.
// Planted: bars of half the length cover 38 %.
static void test_coverage(void **state) {
    (void)state;
    assert_close(covered(1), 0.683, 0.17, 0);
    assert_false(test_close(covered(0.5), 0.683, 0.17, 0));
}

// ---- what is not determined

static void test_undetermined(void **state) {
    // In the air friction does nothing; what touches later does not count.
    static const char *const air[] = {"g.mu", "b.velocity.x"};
    // Without a known force mass and all stiffnesses scale together.
    static const char *const scale[] = {"g.k_e", "g.k_d", "g.k_f", "b.density", "b.solid.young", "b.solid.k_d"};
    const double truth[] = {300, 0.5, 5, 200, 2e3, 1};
    World w;
    open_world(&w,
               "frames: 3\n"
               "contacts: {g: {k_e: 300, mu: 0.3}}\nplanes: [{}]\nsubsteps: 4\nobjects:\n"
               "  b: {points: {at: [[0, 0, 9]]}, mass: 1, velocity: [1, 0, 0]}\n",
               air, 2, (double[]){0.3, 2});
    FitResult r = fit(&w, (FitOptions){.threads = 1});
    char words[256];
    (void)state;
    assert_int_equal(r.value[0].verdict, FIT_UNDETERMINED);
    assert_true(r.value[0].value == 0.3 && isnan(r.value[0].error));
    assert_close(r.value[1].value, 2, 0, 1e-8);
    fit_words(&w.free, &r, 0, words, sizeof words);
    assert_string_equal(words, "0.3, its start: not determined");
    fit_result_free(&r);
    close_world(&w);

    open_world(&w, SCENE, scale, 6, truth);
    for (size_t i = 0; i < 6; i++) w.free.variable[i].start = truth[i] * (i % 2 ? 1.2 : 0.9);
    r = fit(&w, (FitOptions){.threads = 1});
    assert_int_equal(r.value[0].verdict, FIT_UNDETERMINED);
    assert_int_equal(r.value[0].with[0], 62); // with all others
    for (size_t i = 1; i < 6; i++) {
        assert_int_equal(r.value[i].verdict, FIT_FITTED);
        assert_close(r.value[i].value / truth[i], 0.9, 0, 1e-5); // for the k_e that it started with
    }
    fit_result_free(&r);
    close_world(&w);
}

// Two particles slide on the ground and stop. At the minimum the curvature along velocity.z is small, but its start is
// far from what the recording lets it be.
static const char slide[] =
    "frames: 30\nfps: 30\nsubsteps: 200\nprecision: f64\n"
    "contacts: {g: {k_e: 2000, k_d: 20, k_f: 100, mu: 0.3, fade: 0.001}}\nplanes: [{}]\nobjects:\n"
    "  p: {points: {at: [[0, 0, 0], [0.1, 0, 0]], springs: [[0, 1]]}, mass: 0.4,\n"
    "      springs: {k_e: 100, k_d: 0.5}, velocity: [2, 0.5, 0], position: [0, 0, -0.000981]}\n";

static void test_against(void **state) {
    static const char *const names[] = {"g.mu", "p.velocity"};
    static const double truth[] = {0.3, 2, 0.5, 0}, start[] = {0.5, 1, 1, 1};
    (void)state;
    for (uint32_t draw = 1; draw < 3; draw++) {
        const RandomKey key = {6, RANDOM_TEST, draw, 0};
        World w;
        open_world(&w, slide, names, 2, NULL);
        for (size_t i = 0; i < 4; i++) w.free.variable[i].start = start[i];
        for (size_t i = 0; i < w.data.frames * 6; i++) {
            const double u = 1 - (double)random_uniform(key, 2 * i), v = (double)random_uniform(key, 2 * i + 1);
            w.data.position[i] += 5e-3 * sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
        }
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        assert_close(r.rms, 5e-3, 0, 0.2);
        for (size_t i = 1; i < 3; i++) assert_close(r.value[i].value, truth[i], 0.05, 0);
        assert_int_equal(r.value[3].verdict, FIT_FITTED);
        assert_true(r.value[3].error > 1);
        fit_result_free(&r);
        close_world(&w);
    }
}

// A number that goes back to its start uses up no frame. White noise in x alone, so that frames disagree by more than
// the curvature says.
static void test_used_up(void **state) {
    static const char *const names[] = {"b.velocity.x", "g.mu"};
    double error[2];
    (void)state;
    for (size_t count = 1; count <= 2; count++) {
        World w;
        open_world(&w,
                   "frames: 8\n"
                   "contacts: {g: {k_e: 300, mu: 0.3}}\nplanes: [{}]\nsubsteps: 4\nobjects:\n"
                   "  b: {points: {at: [[0, 0, 9]]}, mass: 1, velocity: [1, 0, 0]}\n",
                   names, count, NULL);
        const RandomKey key = {5, RANDOM_TEST, 0, 0};
        for (size_t f = 1; f < w.data.frames; f++)
            w.data.position[3 * f] += 1e-3 * ((double)random_uniform(key, f) - 0.5);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        assert_int_equal(r.value[count - 1].verdict, FIT_FITTED);
        error[count - 1] = r.value[count - 1].error;
        fit_result_free(&r);
        close_world(&w);
    }
    assert_close(error[1], error[0], 0, 1e-6);
}

// ---- what a text may not have, and what a user may not say

static void test_refused(void **state) {
    static const char *const poisson[] = {"b.solid.poisson"}, *const mu[] = {"g.mu"};
    static const char limit[] =
        "frames: 2\nsubsteps: 4\nobjects:\n  b: {box: {size: [1, 1, 1], cells: [1, 1, 1]}, density: 200,\n"
        "    solid: {young: 2e3, poisson: 0.4999}}\n";
    FitFree f;
    Error err;
    (void)state;
    assert_status_error(fit_free_parse(SCENE "\0x: 1\n", sizeof SCENE "\0x: 1\n" - 1, "nul", mu, 1, &f, &err),
                        STATUS_BAD_INPUT, err, "nul");
    assert_status_ok(fit_free_parse(limit, strlen(limit), "limit", poisson, 1, &f, &err), err);
    const double most = f.variable[0].range.high;
    assert_status_ok(fit_free_bound(&f, poisson[0], NAN, NAN, 0.6, &err), err);
    assert_true(f.variable[0].range.high == most && most < 0.5);
    assert_status_ok(fit_free_bound(&f, poisson[0], 0.3, NAN, 0.4, &err), err);
    assert_true(f.variable[0].range.high == 0.4);
    fit_free_close(&f);
}

// ---- pictures

// A data set of the scene at other numbers, and the fit's own view of it.
static void open_pictures(World *w, const char *text, const char *const *names, size_t count, const double *truth,
                          uint32_t kinds, bool smooth, Dataset **dataset) {
    Footage footage;
    Error err;
    char path[160];
    open_world(w, text, names, count, truth);
    test_make_folder(w->folder);
    snprintf(path, sizeof path, "%s/d.h5", w->folder);
    assert_status_ok(footage_run(&w->scene, &(SimOptions){.threads = 1}, &footage, &err), err);
    assert_status_ok(footage_write(&w->scene, &footage, SPLIT_TRAIN, &(SimOptions){.threads = 1}, path, &err), err);
    assert_status_ok(dataset_open(path, dataset, &err), err);
    footage_free(&footage);
    fit_data_close(&w->data);
    assert_status_ok(fit_data_open(*dataset, 0, kinds, &w->scene, smooth, 1, &w->data, &err), err);
    test_remove_folder(w->folder);
}

#define PICTURE "picture: {size: [48, 40], rasteriser: soft}\n"

// Numbers from colour, depth or masks; the same bits with more threads. Pixels are bytes.
static void test_pictures(void **state) {
    static const char *const names[] = {"b.density", "b.velocity.x"};
    static const uint32_t kinds[] = {FIT_COLOUR, FIT_DEPTH, FIT_MASK | FIT_STATES};
    const double truth[] = {350, 0.8};
    (void)state;
    for (int k = 0; k < 3; k++) {
        World w;
        Dataset *dataset;
        open_pictures(&w, SCENE PICTURE, names, 2, truth, kinds[k], false, &dataset);
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(r.value[i].verdict, FIT_FITTED);
            assert_close(r.value[i].value, truth[i], 0, 0.02);
            assert_true(r.value[i].error < 0.05 * truth[i]);
        }
        fit_result_free(&r);
        close_world(&w);
        dataset_close(dataset);
    }
}

// Errors of drawing are not independent from pixel to pixel. Root mean square of error over standard error: 1.1 here;
// by the curvature alone it would be 3.8.
static void test_picture_errors(void **state) {
    static const char *const names[] = {"b.density", "b.velocity.x"};
    double sum = 0, used = 0;
    (void)state;
    for (int k = 0; k < 4; k++) {
        World w;
        Dataset *dataset;
        const double truth[] = {180 + 50 * k, 0.7 + 0.13 * k};
        open_pictures(&w, SCENE "picture: {size: [48, 40]}\n", names, 2, truth, FIT_COLOUR, false, &dataset);
        for (int i = 0; i < 2; i++) w.free.variable[i].start = 1.05 * truth[i];
        FitResult r = fit(&w, (FitOptions){.threads = 1});
        for (int i = 0; i < 2; i++) sum += pow((r.value[i].value - truth[i]) / r.value[i].error, 2), used++;
        fit_result_free(&r);
        close_world(&w);
        dataset_close(dataset);
    }
    if (!(sqrt(sum / used) < 2.5)) fail_msg("errors are %.2f standard errors", sqrt(sum / used));
}

// The adjoint through SoftRas against differences of the cost. Silhouettes are smooth; colours jump where faces end.
static void test_picture_slope(void **state) {
    static const char *const names[] = {"b.density", "b.velocity.x"};
    const double truth[] = {350, 0.8}, at[] = {300, 0.9};
    World w;
    Dataset *dataset;
    FitRollout rollout;
    double gradient[2] = {0};
    MinimiseSums sums = {.gradient = gradient};
    Error err;
    (void)state;
    open_pictures(&w, SCENE "picture: {size: [48, 40], rasteriser: soft, sigma: 1e-3}\n", names, 2, truth, FIT_MASK,
                  true, &dataset);
    const MinimiseVariable variable[] = {w.free.variable[0].range, w.free.variable[1].range};
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    rollout.variable = variable;
    assert_status_ok(fit_rollout_sums(&rollout, at, &sums, &err), err);
    for (int i = 0; i < 2; i++) {
        double x[] = {at[0], at[1]}, cost[2];
        const double h = 1e-5 * at[i];
        for (int side = 0; side < 2; side++) {
            MinimiseSums one = {0};
            x[i] = at[i] + (side ? h : -h);
            assert_status_ok(fit_rollout_sums(&rollout, x, &one, &err), err);
            cost[side] = one.cost;
        }
        assert_close(gradient[i], (cost[1] - cost[0]) / (2 * h), 0, 1e-2); // pixels that come and go at D = 1e-4
    }
    fit_rollout_close(&rollout);
    close_world(&w);
    dataset_close(dataset);
}

// ---- recordings of the scene itself, as experiments make them

// A box falls on its edge, bounces and slides.
static const char edge[] =
    "frames: 10\nfps: 30\nsubsteps: 60\nprecision: f64\n"
    "cameras: {a: {eye: [0, -4, 1], look_at: [0, 0, 0.3]}}\n"
    "picture: {size: [32, 32], rasteriser: soft, sigma: 1e-3, gamma: 1e-2, near: 1, far: 12}\n"
    "contacts: {ground: {k_e: 300, k_d: 3, k_f: 10, mu: 0.5, fade: 0.02}}\nplanes: [{contact: ground}]\n"
    "objects: {b: {box: {size: [0.6, 0.5, 0.4], cells: [1, 1, 1]}, density: 10,\n"
    "    solid: {mu: 2000, lambda: 2000, k_d: 2}, position: [-0.3, 0, 0.38],\n"
    "    rotation: {axis: [0, 1, 0.3], angle: 35}, velocity: [1.5, 0, -1]}}\n"
    "controls: [{object: b, force: [0, 3, 0], from: 0, to: 2}]\n";
static const char *const edge_names[] = {"b.density", "b.solid.mu", "ground.mu"};
static const double edge_truth[] = {0.4, 13, 2500}; // in the order of the file: ground.mu, b.density, b.solid.mu

static void open_recorded(World *w, uint32_t kind) {
    Error err;
    *w = (World){0};
    assert_status_ok(fit_free_parse(edge, strlen(edge), "edge", edge_names, 3, &w->free, &err), err);
    assert_status_ok(fit_free_scene(&w->free, edge_truth, &w->scene, &err), err);
    w->scene.objects[0].smooth = false; // flat faces show turns
    assert_status_ok(fit_data_record(&w->scene, kind, 1, &w->data, &err), err);
    w->data.every = 2;
}

static void test_recorded(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        World w;
        open_recorded(&w, k ? FIT_COLOUR : FIT_STATES);
        FitResult r = fit(&w, (FitOptions){.horizon = 3, .threads = 1});
        for (size_t i = 0; i < 3; i++) assert_close(r.value[i].value, edge_truth[i], 0, 1e-7); // paper: 1e-4 to 5e-3
        assert_true(r.rms < 1e-8 && r.has_errors);
        fit_result_free(&r);
        close_world(&w);
    }
}

// A frame that a shorter horizon compared last, and a longer one does not, has no part in the errors.
static void test_left_out(void **state) {
    World w;
    FitRollout rollout;
    MinimiseVariable variable[3];
    double gradient[3], normal[9], x[3];
    Error err;
    (void)state;
    open_recorded(&w, FIT_STATES);
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    for (size_t i = 0; i < 3; i++) variable[i] = w.free.variable[i].range, x[i] = w.free.variable[i].start;
    rollout.variable = variable;
    for (int k = 0; k < 2; k++) {
        MinimiseSums sums = {.gradient = gradient, .normal = normal};
        rollout.horizon = k ? w.data.frames : 4;
        memset(gradient, 0, sizeof gradient);
        memset(normal, 0, sizeof normal);
        assert_status_ok(fit_rollout_sums(&rollout, x, &sums, &err), err);
        for (size_t i = 0; i < 3; i++) assert_true((rollout.score[3 * 3 + i] != 0) == (k == 0));
    }
    fit_rollout_close(&rollout);
    close_world(&w);
}

// The recording is in double whatever the scene says.
static void test_recorded_precision(void **state) {
    World w;
    FitData again;
    Error err;
    (void)state;
    open_recorded(&w, FIT_STATES);
    w.scene.precision = SIM_F32;
    assert_status_ok(fit_data_record(&w.scene, FIT_STATES, 1, &again, &err), err);
    assert_true(w.scene.precision == SIM_F32);
    assert_memory_equal(again.position, w.data.position, w.data.frames * 3 * w.scene.model.particles * sizeof(double));
    fit_data_close(&again);
    close_world(&w);
}

// Of pictures with 8 bits the errors are as large as the standard errors say.
static void test_rounded(void **state) {
    World w;
    (void)state;
    open_recorded(&w, FIT_COLOUR);
    fit_pictures_round(w.data.pictures);
    FitResult r = fit(&w, (FitOptions){.horizon = 3, .threads = 1});
    assert_close(r.rms, 1 / 255.0 / sqrt(12), 0, 0.3);
    for (size_t i = 0; i < 3; i++) {
        assert_close(r.value[i].value, edge_truth[i], 4 * r.value[i].error, 0);
        assert_true(r.value[i].error > 1e-7 * edge_truth[i] && r.value[i].error < 0.01 * edge_truth[i]);
    }
    fit_result_free(&r);
    close_world(&w);
}

// The adjoint of pictures without blur against central differences of the loss, and the frames that are left out.
static void test_recorded_slope(void **state) {
    World w;
    FitRollout rollout;
    MinimiseVariable variable[3];
    double gradient[3] = {0}, x[3];
    MinimiseSums sums = {.gradient = gradient};
    Error err;
    (void)state;
    open_recorded(&w, FIT_COLOUR);
    assert_status_ok(fit_rollout_open(&w.free, &w.data, 1, &rollout, &err), err);
    for (size_t i = 0; i < 3; i++) variable[i] = w.free.variable[i].range, x[i] = w.free.variable[i].start;
    rollout.variable = variable;
    assert_status_ok(fit_rollout_sums(&rollout, x, &sums, &err), err);
    assert_true(sums.cost > 1e-3);
    for (size_t i = 0; i < 3; i++) {
        const double at = x[i], h = 1e-6 * at;
        double cost[2];
        for (int side = 0; side < 2; side++) {
            MinimiseSums one = {0};
            x[i] = at + (side ? h : -h);
            assert_status_ok(fit_rollout_sums(&rollout, x, &one, &err), err);
            cost[side] = one.cost;
        }
        x[i] = at;
        assert_close(gradient[i], (cost[1] - cost[0]) / (2 * h), 0, 1e-5); // rounding of 1e-16 / 1e-6, and h^2
    }
    fit_rollout_close(&rollout);
    close_world(&w);
}

// A start in another basin is given up, and says so; the file's own is not.
static void test_hopeless(void **state) {
    const double far_off[] = {1, 3, 9000};
    World w;
    (void)state;
    open_recorded(&w, FIT_STATES);
    for (int k = 0; k < 2; k++) {
        FitResult r = fit(&w, (FitOptions){.horizon = 3, .threads = 1, .hopeless = 1e-4, .at = k ? far_off : NULL});
        assert_true(r.has_errors == (k == 0));
        fit_result_free(&r);
    }
    close_world(&w);
}

// ---- rows of the section `values`

static const char rows[] =
    "frames: 20\nfps: 30\nsubsteps: 40\nprecision: f64\nobjects:\n"
    "  b: {box: {size: [0.8, 0.2, 0.2], cells: [4, 1, 1]}, density: 100, solid: {mu: 2e4, lambda: 2e4, k_d: 3},\n"
    "      fixed: {max: [-0.39, 1, 1]}}\ncontrols: [{object: b, force: [0, 3, 1], from: 0, to: 5}]\n";

static void test_rows(void **state) {
    static const char *const names[] = {"values.b.tet.mu.3", "values.b.velocity.7.y", "values.b.mass"};
    World w = {0};
    Error err;
    char *text;
    size_t length;
    SimScene scene;
    (void)state;
    assert_status_ok(fit_free_parse(rows, strlen(rows), "rows", names, 3, &w.free, &err), err);
    assert_int_equal(w.free.count, 22); // 20 masses
    double x[22];
    for (size_t i = 0; i < 22; i++) x[i] = w.free.variable[i].start;
    const size_t velocity = w.free.variable[0].entry == 22 ? 0 : 1;
    assert_string_equal(w.free.variable[velocity].name, "values.b.velocity.7.y");
    assert_true(!w.free.variable[velocity].range.log && w.free.variable[2].range.log);
    x[velocity] = 5;
    assert_status_ok(fit_free_scene(&w.free, x, &scene, &err), err);
    assert_close(scene.values.of[SIM_VELOCITY][22], 5, 0, 0);
    assert_close(scene.values.of[SIM_TET_MU][3], 2e4, 0, 0);
    assert_status_ok(fit_free_text(&w.free, x, &text, &length, &err), err);
    assert_non_null(strstr(text, "values: # one number for each particle or element\n  b:\n"));
    scene_free(&scene);
    free(text);
    fit_free_close(&w.free);
    static const struct {
        const char *name, *words;
    } wrong[] = {{"values.b.mas", "unknown number"},
                 {"values.c.mass", "unknown number"},
                 {"values.b.mass.20", "unknown number"},
                 {"values.b.spring.k_e", "unknown number"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status_error(fit_free_parse(rows, strlen(rows), "rows", &wrong[i].name, 1, &w.free, &err),
                            STATUS_BAD_INPUT, err, wrong[i].words);
}

// Stiffness of four groups, each of a cell's five tets, from states; by the gradient of the adjoint too.
static void test_groups(void **state) {
    static const char *const names[] = {"values.b.tet.mu", "values.b.mass"};
    char text[1024];
    (void)state;
    snprintf(text, sizeof text, "%svalues: {b: {tet.mu: [2e4, 2e4, 2e4, 2e4]}}\n", rows);
    double truth[4] = {1e4, 3e4, 2e4, 1.5e4};
    World w;
    open_world(&w, text, names, 1, truth);
    assert_int_equal(w.free.count, 4);
    assert_int_equal(w.free.variable[0].entries, 5);
    for (int m = 0; m < 2; m++) {
        FitResult r = fit(&w, (FitOptions){.method = m ? FIT_LBFGS : FIT_LM, .threads = 1});
        for (size_t i = 0; i < 4; i++) assert_close(r.value[i].value, truth[i], 0, m ? 1e-4 : 1e-7);
        fit_result_free(&r);
    }
    close_world(&w);
    snprintf(text, sizeof text, "%svalues: {b: {tet.mu: [2e4, 2e4, 2e4]}}\n", rows);
    Error err;
    assert_status_error(fit_free_parse(text, strlen(text), "rows", names, 1, &w.free, &err), STATUS_BAD_INPUT, err,
                        "tet.mu: expected a list of 20 rows, or of a number by which 20 can be divided");
    snprintf(text, sizeof text, "%svalues: {b: {tet.mu: [2e4]}}\n", rows);
    assert_status_error(fit_free_parse(text, strlen(text), "rows", names, 2, &w.free, &err), STATUS_BAD_INPUT, err,
                        "the section \"values\" is there without values.b.mass");
}

// Masses of all particles, by LM, which FIT_AUTO takes of up to 128 numbers of states, and by L-BFGS. Those of the
// fixed ones do nothing, and are named.
static void test_many(void **state) {
    static const char *const names[] = {"values.b.mass"};
    double truth[20];
    World w;
    (void)state;
    for (size_t i = 0; i < 20; i++) truth[i] = 0.16 * (0.8 + 0.02 * (double)i);
    open_world(&w, rows, names, 1, truth);
    assert_int_equal(w.free.count, 20);
    for (size_t i = 0; i < 20; i++) w.free.variable[i].start = 0.16;
    for (int m = 0; m < 2; m++) {
        FitResult r = fit(&w, (FitOptions){.method = m ? FIT_LBFGS : FIT_AUTO, .iterations = 400, .threads = 1});
        assert_true(r.has_errors);
        for (size_t i = 0; i < 20; i++) {
            const bool fixed = w.scene.model.fixed[i];
            assert_int_equal(r.value[i].verdict, fixed ? FIT_UNDETERMINED : FIT_FITTED);
            assert_close(r.value[i].value, fixed ? 0.16 : truth[i], 0, m ? 1e-3 : 1e-8); // L-BFGS ends at 4e-8
        }
        fit_result_free(&r);
    }
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_names),          cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_derivatives),    cmocka_unit_test(test_recovery),
                                       cmocka_unit_test(test_explosion),      cmocka_unit_test(test_coverage),
                                       cmocka_unit_test(test_undetermined),   cmocka_unit_test(test_pictures),
                                       cmocka_unit_test(test_picture_slope),  cmocka_unit_test(test_picture_errors),
                                       cmocka_unit_test(test_recorded),       cmocka_unit_test(test_rounded),
                                       cmocka_unit_test(test_recorded_slope), cmocka_unit_test(test_hopeless),
                                       cmocka_unit_test(test_rows),           cmocka_unit_test(test_against),
                                       cmocka_unit_test(test_used_up),        cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_left_out),       cmocka_unit_test(test_recorded_precision),
                                       cmocka_unit_test(test_groups),         cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
