// SPDX-License-Identifier: Apache-2.0
// Gradients of the rasterisers against central differences in f64: positions, colours, texels, camera, lights,
// harmonics, background; each method, with and without supersampling, a face that crosses the near plane included.
#include "tests/raster_scene.h"

#include "base/threads.h"

#define STEP 1e-6
// Central differences of a loss of size 10 in f64: rounding 10 * 2^-53 / 1e-6 = 1e-9, and h^2 f''' of 1e-8; relative to
// the largest value of each array.
static const double TOLERANCE = 1e-6;

typedef struct Gradients {
    double sheet[3 * SHEET_VERTICES], sheet_colour[3 * SHEET_VERTICES], texel[TEXELS], pyramid[12], pyramid_colour[12],
        bar[9], bar_colour[9], harmonics[27];
    RasterMeshGradient mesh[3];
    RasterLightGradient light[2];
    RasterGradient all;
} Gradients;

static void gradients_init(Gradients *g) {
    memset(g, 0, sizeof *g);
    g->mesh[0] = (RasterMeshGradient){g->sheet, g->sheet_colour, g->texel};
    g->mesh[1] = (RasterMeshGradient){g->pyramid, g->pyramid_colour, NULL};
    g->mesh[2] = (RasterMeshGradient){g->bar, g->bar_colour, NULL};
    g->all = (RasterGradient){.mesh = g->mesh, .light = g->light, .harmonics = g->harmonics};
}

typedef struct Case {
    TestScene s;
    Raster *raster;
    double colour[3 * TEST_PIXELS], alpha[TEST_PIXELS], depth[TEST_PIXELS];
    RasterLoss loss;
} Case;

static Case *case_make(RasterOptions options) {
    Case *c = calloc(1, sizeof *c);
    test_scene(&c->s);
    c->raster = test_raster(options);
    for (size_t i = 0; i < 3 * TEST_PIXELS; i++) c->colour[i] = test_uniform(10, i);
    for (size_t i = 0; i < TEST_PIXELS; i++) c->alpha[i] = test_uniform(11, i), c->depth[i] = test_uniform(12, i);
    c->loss = (RasterLoss){c->colour, c->alpha, c->depth};
    return c;
}

static void case_free(Case *c) {
    raster_close(c->raster);
    free(c);
}

static double loss_of(Case *c) {
    TestPicture p;
    Error err;
    double sum = 0;
    assert_status_ok(
        raster_draw(c->raster, &c->s.scene, &c->s.camera, &(RasterPicture){p.colour, p.alpha, p.depth, NULL}, &err),
        err);
    for (size_t i = 0; i < 3 * TEST_PIXELS; i++) sum += c->colour[i] * p.colour[i];
    for (size_t i = 0; i < TEST_PIXELS; i++) sum += c->alpha[i] * p.alpha[i] + c->depth[i] * p.depth[i];
    return sum;
}

static double difference(Case *c, double *value) {
    double at = *value;
    *value = at + STEP;
    double above = loss_of(c);
    *value = at - STEP;
    double below = loss_of(c);
    *value = at;
    return (above - below) / (2 * STEP);
}

// Number k of the pose: shifts and turns of the camera.
static double pose_difference(Case *c, int k) {
    double *pose = c->s.camera.world_from_camera, before[16], loss[2];
    memcpy(before, pose, sizeof before);
    for (int side = 0; side < 2; side++) {
        double h = side ? -STEP : STEP;
        if (k < 3) pose[4 * k + 3] += h;
        for (int column = 0; column < 3 && k >= 3; column++) { // exp([h e_k]) R
            int i = (k - 2) % 3, j = (k - 1) % 3;
            double a = before[4 * i + column], b = before[4 * j + column];
            pose[4 * i + column] = cos(h) * a - sin(h) * b;
            pose[4 * j + column] = sin(h) * a + cos(h) * b;
        }
        loss[side] = loss_of(c);
        memcpy(pose, before, sizeof before);
    }
    return (loss[0] - loss[1]) / (2 * STEP);
}

// The largest difference relative to the largest value.
static double compare(const char *name, const double *found, const double *wanted, size_t count) {
    double worst = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs(found[i] - wanted[i]);
        worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
        size = fmax(size, fabs(wanted[i]));
    }
    if (getenv("VERBOSE")) print_message("%-16s size %.3g error %.2g\n", name, size, worst / size);
    return worst / (size + 1e-300);
}

static double check_array(Case *c, const char *name, double *values, const double *grad, size_t count) {
    double wanted[3 * SHEET_VERTICES + TEXELS];
    for (size_t i = 0; i < count; i++) wanted[i] = difference(c, &values[i]);
    return compare(name, grad, wanted, count);
}

static void gradient(Case *c, Gradients *g) {
    Error err;
    TestPicture p;
    gradients_init(g);
    RasterPicture out = test_arrays(&p);
    assert_status_ok(raster_draw(c->raster, &c->s.scene, &c->s.camera, &out, &err), err);
    assert_status_ok(raster_gradient(c->raster, &c->s.scene, &c->s.camera, &c->loss, &g->all, &err), err);
}

// The largest error over all kinds of inputs.
static double check_all(Case *c, const Gradients *g) {
    TestScene *s = &c->s;
    double pose[6], worst = 0;
    for (int k = 0; k < 6; k++) pose[k] = pose_difference(c, k);
    const double error[] = {check_array(c, "sheet", s->sheet, g->sheet, 3 * SHEET_VERTICES),
                            check_array(c, "sheet colour", s->sheet_colour, g->sheet_colour, 3 * SHEET_VERTICES),
                            check_array(c, "texels", s->texel, g->texel, TEXELS),
                            check_array(c, "pyramid", s->pyramid, g->pyramid, 12),
                            check_array(c, "pyramid colour", s->pyramid_colour, g->pyramid_colour, 12),
                            check_array(c, "bar", s->bar, g->bar, 9),
                            check_array(c, "bar colour", s->bar_colour, g->bar_colour, 9),
                            check_array(c, "direction 0", s->light[0].direction, g->light[0].direction, 3),
                            check_array(c, "direction 1", s->light[1].direction, g->light[1].direction, 3),
                            check_array(c, "light 0", s->light[0].colour, g->light[0].colour, 3),
                            check_array(c, "light 1", s->light[1].colour, g->light[1].colour, 3),
                            check_array(c, "harmonics", s->harmonics, g->harmonics, 27),
                            check_array(c, "background", s->scene.background, g->all.background, 3),
                            compare("pose", g->all.pose, pose, 6)};
    for (size_t i = 0; i < sizeof error / sizeof *error; i++) worst = fmax(worst, error[i]);
    return worst;
}

static void check_options(RasterOptions options) {
    Gradients g;
    options.precision = RASTER_F64;
    Case *c = case_make(options);
    gradient(c, &g);
    double error = check_all(c, &g);
    if (!(error <= TOLERANCE)) fail_msg("a gradient is off by %.3g of its array's largest value", error);
    case_free(c);
}

static void test_soft(void **state) {
    (void)state;
    check_options((RasterOptions){.method = RASTER_SOFT, .sigma = 1e-3, .gamma = 1e-2});
    check_options((RasterOptions){.method = RASTER_SOFT, .sigma = 3e-3, .gamma = 3e-3, .samples = 2});
}

static void test_dibr(void **state) {
    (void)state;
    check_options((RasterOptions){.method = RASTER_DIBR, .delta = 3e-3});
    check_options((RasterOptions){.method = RASTER_DIBR, .samples = 2});
}

static void test_hard(void **state) {
    (void)state;
    check_options((RasterOptions){.method = RASTER_HARD});
}

// One wrong number in a thousand is noticed, in each array.
static void test_planted(void **state) {
    (void)state;
    Gradients g, wrong;
    Case *c = case_make((RasterOptions){.method = RASTER_SOFT, .precision = RASTER_F64, .sigma = 1e-3, .gamma = 1e-2});
    gradient(c, &g);
    const size_t at[] = {offsetof(Gradients, sheet[22]), offsetof(Gradients, texel[36]),
                         offsetof(Gradients, pyramid_colour[1]), offsetof(Gradients, light[1].direction[1]),
                         offsetof(Gradients, all.pose[4])};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        wrong = g;
        *(double *)(void *)((char *)&wrong + at[i]) *= 1.001;
        if (check_all(c, &wrong) <= TOLERANCE) fail_msg("planted error %zu was not noticed", i);
    }
    case_free(c);
}

// f32 agrees with f64 as far as it can: z/gamma is up to 1e2 here, rounded to 6e-8.
static void test_single(void **state) {
    (void)state;
    Gradients g[2];
    for (int method = RASTER_SOFT; method <= RASTER_DIBR; method++) {
        for (int k = 0; k < 2; k++) {
            Case *c = case_make((RasterOptions){.method = (RasterMethod)method,
                                                .precision = (RasterPrecision)k,
                                                .sigma = 1e-3,
                                                .gamma = 1e-2,
                                                .delta = 3e-3});
            gradient(c, &g[k]);
            case_free(c);
        }
        assert_true(compare("f32 sheet", g[0].sheet, g[1].sheet, 3 * SHEET_VERTICES) < 1e-3);
        assert_true(compare("f32 texels", g[0].texel, g[1].texel, TEXELS) < 1e-3);
        assert_true(compare("f32 pose", g[0].all.pose, g[1].all.pose, 6) < 1e-3);
    }
}

// The same bits with any number of threads.
static void test_threads(void **state) {
    (void)state;
    for (int method = RASTER_SOFT; method <= RASTER_HARD; method++) {
        Gradients g[2];
        TestPicture p[2];
        memset(p, 0, sizeof p);
        for (int k = 0; k < 2; k++) {
            Case *c = case_make((RasterOptions){.method = (RasterMethod)method, .threads = k ? 3 : 1});
            RasterPicture out = test_arrays(&p[k]);
            Error err;
            assert_status_ok(raster_draw(c->raster, &c->s.scene, &c->s.camera, &out, &err), err);
            gradient(c, &g[k]);
            case_free(c);
        }
        assert_memory_equal(&p[0], &p[1], sizeof p[0]);
        assert_memory_equal(g[0].sheet, g[1].sheet, offsetof(Gradients, mesh));
        assert_memory_equal(g[0].light, g[1].light, sizeof g[0].light);
        assert_memory_equal(g[0].all.pose, g[1].all.pose, sizeof g[0].all.pose);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_soft),   cmocka_unit_test(test_dibr),
                                       cmocka_unit_test(test_hard),   cmocka_unit_test(test_planted),
                                       cmocka_unit_test(test_single), cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
