// SPDX-License-Identifier: Apache-2.0
// The whole renderer in double precision: gradients of a loss on colour, opacity and depth against central differences
// with frozen samples, for positions, features, every weight and the background, each on its own.
#include "tests/renderer_scene.h"

// Step 1e-6 on values of order 0.1 to 1: truncation ~1e-8 relative where density is steep, rounding ~1e-10.
static const double STEP = 1e-6, TOLERANCE = 1e-6;

typedef struct Loss {
    Scene *scene;
    Drawn *drawn; // its samples are kept
} Loss;

static double loss_value(const Loss *loss) {
    Drawn *d = loss->drawn;
    d->out = renderer_forward(&loss->scene->tape, &loss->scene->renderer, &d->particles, d->rays, d->samples);
    return scene_objective(d);
}

// One random direction in all coordinates, or one coordinate.
static double direction(uint32_t stream, long only, size_t i) {
    return only < 0 ? scene_uniform(stream, i, -1, 1) : i == (size_t)only;
}

// Relative error of the directional derivative.
static double directional_error(const Loss *loss, Tensor *tensor, uint32_t stream, long only) {
    size_t count = tensor->rows * tensor->cols;
    double analytic = 0, size = 0, sides[2];
    for (size_t i = 0; i < count; i++) {
        double part = tensor->grad[i] * direction(stream, only, i);
        analytic += part;
        size += fabs(part);
    }
    for (int side = 0; side < 2; side++) {
        double move = side ? -STEP : STEP;
        for (size_t i = 0; i < count; i++) tensor->value[i] += (real)(move * direction(stream, only, i));
        sides[side] = loss_value(loss);
        for (size_t i = 0; i < count; i++) tensor->value[i] -= (real)(move * direction(stream, only, i));
    }
    double numeric = (sides[0] - sides[1]) / (2 * STEP);
    double error = fabs(numeric - analytic) /
                   fmax(fmax(fabs(numeric), fabs(analytic)), fmax(1e-2 * size, 1e-6)); // sums that cancel
    return isnan(error) ? INFINITY : error;
}

// Draws with gradients; then the tape records no more.
static void draw_with_gradients(Scene *s, Drawn *d) {
    *d = scene_draw(s);
    scene_backward(s, d);
    s->tape.recording = false;
}

static void check(const Loss *loss, Tensor *tensor, const char *name) {
    assert_non_null(tensor->grad);
    double size = 0;
    for (size_t i = 0; i < tensor->rows * tensor->cols; i++) size = fmax(size, fabs(tensor->grad[i]));
    if (!(size > 1e-6)) fail_msg("%s: the gradient is zero", name); // a derivative that is never used would pass below
    for (uint32_t stream = 50; stream < 53; stream++) {
        double error = directional_error(loss, tensor, stream, -1);
        if (error > TOLERANCE) fail_msg("%s: off by %.3g", name, error);
    }
}

static void check_config(const RendererConfig *config) {
    Scene s;
    Drawn d;
    scene_open_with(&s, config, 400, 70, 2);
    Renderer *r = &s.renderer;
    double mean[3] = {0.3, 0.5, 0.6};
    renderer_set_background(r, s.device, mean);
    draw_with_gradients(&s, &d);
    Loss loss = {&s, &d};
    assert_true(d.samples->count > 200);
    check(&loss, d.particles.x, "positions");
    check(&loss, d.particles.f, "features");
    for (int i = 0; i < 3; i++) {
        check(&loss, r->weight[i], "weight");
        check(&loss, r->bias[i], "bias");
    }
    if (r->background) check(&loss, r->background, "background");
    if (r->sky_weight[2]) {
        check(&loss, r->sky_weight[2], "sky weight");
        check(&loss, r->sky_bias[2], "sky bias");
    }
    scene_close(&s);
}

static void published(void **state) {
    (void)state;
    RendererConfig config = scene_config();
    check_config(&config);
}

static void direction_and_learned_background(void **state) {
    (void)state;
    RendererConfig config = scene_config();
    config.view_direction = true;
    config.background = BACKGROUND_LEARNED;
    config.features = 16;
    check_config(&config);
}

static void sky_without_rgb(void **state) {
    (void)state;
    RendererConfig config = scene_config();
    config.carry_rgb = false;
    config.background = BACKGROUND_DIRECTION;
    config.neighbours = 3;
    config.samples = 4;
    check_config(&config);
}

// The position gradient trains the dynamics: single coordinates, not only sums over all of them.
static void single_coordinates(void **state) {
    (void)state;
    Scene s;
    Drawn d;
    scene_open(&s, 300, 60);
    draw_with_gradients(&s, &d);
    Loss loss = {&s, &d};
    int tried = 0;
    for (size_t i = 0; i < 3 * s.N && tried < 60; i++) {
        if (fabs(d.particles.x->grad[i]) < 0.05) continue;
        double error = directional_error(&loss, d.particles.x, 60, (long)i);
        if (error > TOLERANCE) fail_msg("coordinate %zu: off by %.3g", i, error);
        tried++;
    }
    assert_true(tried >= 40);
    scene_close(&s);
}

// What no ray comes near has no gradient at all.
static void untouched_particles_have_no_gradient(void **state) {
    (void)state;
    Scene s;
    Drawn d;
    scene_open(&s, 500, 40);
    draw_with_gradients(&s, &d);
    bool *used = calloc(s.N, sizeof *used);
    for (size_t i = 0; i < d.samples->count * 8; i++)
        if (d.samples->neighbour[i] >= 0) used[d.samples->neighbour[i]] = true;
    size_t unused = 0;
    for (size_t p = 0; p < s.N; p++) {
        if (used[p]) continue;
        unused++;
        for (size_t c = 0; c < 3; c++) assert_true(d.particles.x->grad[3 * p + c] == 0);
        for (size_t c = 0; c < (size_t)s.D; c++) assert_true(d.particles.f->grad[(size_t)s.D * p + c] == 0);
    }
    assert_true(unused > 50);
    free(used);
    scene_close(&s);
}

static void planted_error_is_caught(void **state) {
    (void)state;
    Scene s;
    Drawn d;
    scene_open(&s, 300, 60);
    draw_with_gradients(&s, &d);
    Loss loss = {&s, &d};
    assert_true(directional_error(&loss, d.particles.x, 50, -1) < TOLERANCE);
    for (size_t i = 0; i < 3 * s.N; i++) d.particles.x->grad[i] *= (real)(1 + 1e-4);
    assert_true(directional_error(&loss, d.particles.x, 50, -1) > 10 * TOLERANCE);
    scene_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published),
        cmocka_unit_test(direction_and_learned_background),
        cmocka_unit_test(sky_without_rgb),
        cmocka_unit_test(single_coordinates),
        cmocka_unit_test(untouched_particles_have_no_gradient),
        cmocka_unit_test(planted_error_is_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
