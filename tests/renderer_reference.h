// SPDX-License-Identifier: Apache-2.0
// The renderer against PyTorch's values: placement, shading, compositing and the whole, forward and gradients. Included
// by a test in float and one in double, which say how close is close.
#ifndef VPD_TESTS_RENDERER_REFERENCE_H
#define VPD_TESTS_RENDERER_REFERENCE_H

#include "nn/backend.h"
#include "renderer/composite.h"
#include "renderer/elements.h"
#include "renderer/renderer.h"
#include "renderer/shade.h"
#include "tests/gnn_reference_file.h"

#ifdef VPD_DOUBLE
static const double OUT_TOLERANCE = 1e-8;  // stored in double, but inputs (a unit direction) in float32
static const double GRAD_TOLERANCE = 1e-6; // stored in float32
#else
static const double OUT_TOLERANCE = 2e-5; // some ten roundings of 6e-8, exponents multiply them by up to 30
static const double GRAD_TOLERANCE = 2e-4;
#endif

static void *put(Bench *b, const char *name, size_t *rows, size_t *cols, bool integers) {
    char path[96];
    snprintf(path, sizeof path, "in/%s", name);
    ReferenceArray a = reference_read(b->file, path);
    if (!a.v) fail_msg("%s has no %s", b->file->group, path);
    size_t count = a.rows * a.cols;
    int32_t *ints = tape_context(&b->tape, (count + 1) * sizeof *ints);
    real *reals = tape_context(&b->tape, (count + 1) * sizeof *reals);
    for (size_t i = 0; i < count; i++) ints[i] = (int32_t)(integers ? a.v[i] : 0), reals[i] = (real)a.v[i];
    void *memory = tape_memory(&b->tape, count, integers ? sizeof *ints : sizeof *reals);
    b->device->nn->upload(b->device, memory, integers ? (void *)ints : reals,
                          count * (integers ? sizeof *ints : sizeof *reals));
    *rows = a.rows;
    *cols = a.cols;
    reference_free(&a);
    return memory;
}

static real *read_reals(Bench *b, const char *name, size_t *rows) {
    size_t cols;
    return put(b, name, rows, &cols, false);
}

static Tensor *read_tensor(Bench *b, const char *name) {
    Tensor *t = tape_tensor(&b->tape, 0, 0, true);
    t->value = put(b, name, &t->rows, &t->cols, false);
    if (t->cols == 1) t->cols = t->rows, t->rows = 1; // a vector is one row
    return t;
}

static RendererConfig read_config(Bench *b, size_t D) {
    RendererConfig c = {.features = (int)D, .hidden = {8, 8}, .carry_rgb = true};
    c.neighbours = (int)reference_number(b->file, "K");
    c.samples = (int)reference_number(b->file, "S");
    c.radius = reference_number(b->file, "r");
    c.near = reference_number(b->file, "near");
    c.far = reference_number(b->file, "far");
    return c;
}

// The largest difference from dataset `name`, relative to its largest value; rows of `got` are at most `cols` wide.
static void compare(Bench *b, const char *name, const real *got, size_t count, double tolerance) {
    ReferenceArray want = reference_read(b->file, name);
    double size = 1e-3, most = want.v && want.rows * want.cols == count && (got || count == 0) ? 0 : INFINITY;
    for (size_t i = 0; i < count && most == 0; i++) size = fmax(size, fabs(want.v[i]));
    for (size_t i = 0; i < count && isfinite(most); i++) {
        double d = fabs((double)got[i] - want.v[i]) / size;
        most = d <= most ? most : isnan(d) ? INFINITY : d;
    }
    if (most > tolerance) {
        print_message("%s/%s: off by %.3g\n", b->file->group, name, most);
        b->wrong++;
    }
    reference_free(&want);
}

static void set_upstream(Bench *b, Tensor *const *parts, int count) {
    ReferenceArray up = reference_read(b->file, "grad_out");
    size_t at = 0;
    for (int p = 0; p < count; p++) {
        real *grad = tape_grad(&b->tape, parts[p]);
        for (size_t i = 0; i < parts[p]->rows; i++)
            for (size_t c = 0; c < parts[p]->cols; c++) grad[i * parts[p]->cols + c] = (real)up.v[i * up.cols + at + c];
        at += parts[p]->cols;
    }
    assert_int_equal(at, up.cols);
    reference_free(&up);
    tape_backward_from_grads(&b->tape);
}

static void compare_tensor(Bench *b, const char *name, const Tensor *t) {
    char path[96];
    snprintf(path, sizeof path, "grad/%s", name);
    compare(b, path, t->grad, t->rows * t->cols, GRAD_TOLERANCE);
}

// Columns of several tensors side by side.
static void compare_joined(Bench *b, Tensor *const *parts, int count) {
    size_t rows = parts[0]->rows, cols = 0, at = 0;
    for (int p = 0; p < count; p++) cols += parts[p]->cols;
    real *joined = tape_context(&b->tape, rows * cols * sizeof *joined);
    for (int p = 0; p < count; at += parts[p++]->cols)
        for (size_t i = 0; i < rows * parts[p]->cols; i++)
            joined[i / parts[p]->cols * cols + at + i % parts[p]->cols] = parts[p]->value[i];
    compare(b, "out", joined, rows * cols, OUT_TOLERANCE);
}

static void read_mlp(Bench *b, Tensor *weight[3], Tensor *bias[3]) {
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "renderer.weight%d", i);
        weight[i] = read_tensor(b, name);
        snprintf(name, sizeof name, "renderer.bias%d", i);
        bias[i] = read_tensor(b, name);
    }
}

static void compare_mlp(Bench *b, Tensor *const weight[3], Tensor *const bias[3]) {
    for (int i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "renderer.weight%d", i);
        compare_tensor(b, name, weight[i]);
        snprintf(name, sizeof name, "renderer.bias%d", i);
        compare_tensor(b, name, bias[i]);
    }
}

static RendererParticles read_particles(Bench *b, bool features) {
    size_t N;
    RendererParticles p = {.x = read_tensor(b, "x"), .f = features ? read_tensor(b, "f") : NULL};
    p.radius = read_reals(b, "R", &N);
    p.reach = renderer_reach(N, p.radius);
    return p;
}

static RendererRays *read_rays(Bench *b, bool background) {
    size_t R, one;
    real *origin = read_reals(b, "origin", &R), *direction = read_reals(b, "direction", &R),
         *jitter = read_reals(b, "jitter", &R);
    return renderer_rays(&b->tape, R, origin, direction, jitter, background ? read_reals(b, "background", &one) : NULL);
}

// As stored: each sample's place is its ray and its own point.
static void shade_case(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    RendererParticles particles = read_particles(b, true);
    RendererConfig config = read_config(b, particles.f->cols);
    config.view_direction = reference_number(file, "view_direction") != 0;
    size_t n, K;
    real *q = read_reals(b, "q", &n), *dir = read_reals(b, "dir", &n),
         *zeros = tape_context(&b->tape, n * sizeof *zeros);
    RendererSamples samples = {.rays = n, .count = n, .neighbours = config.neighbours};
    samples.neighbour = put(b, "neighbour", &n, &K, true);
    int32_t *ray = tape_context(&b->tape, n * sizeof *ray);
    for (size_t i = 0; i < n; i++) ray[i] = (int32_t)i;
    samples.z = zeros;
    samples.ray = ray;
    RendererRays *rays = renderer_rays(&b->tape, n, q, dir, NULL, NULL);
    Tensor *weight[3], *bias[3];
    read_mlp(b, weight, bias);
    Tensor *y = shade(&b->tape, &config, &particles, rays, &samples, weight, bias);
    compare(b, "out", y->value, 4 * n, OUT_TOLERANCE);
    set_upstream(b, &y, 1);
    compare_tensor(b, "x", particles.x);
    compare_tensor(b, "f", particles.f);
    compare_mlp(b, weight, bias);
    tape_reset(&b->tape);
}

static void composite_case(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    size_t n, R, one;
    Tensor *density = read_tensor(b, "density"), *colour = read_tensor(b, "colour"),
           *background = read_tensor(b, "background");
    RendererSamples samples = {.z = read_reals(b, "z", &n), .start = put(b, "start", &R, &one, true)};
    samples.rays = R - 1;
    samples.count = n;
    Tensor *shaded = tape_tensor(&b->tape, n, 4, true);
    for (size_t i = 0; i < 4 * n; i++)
        shaded->value[i] = i % 4 ? colour->value[i / 4 * 3 + i % 4 - 1] : density->value[i / 4];
    CompositeOutput out =
        composite(&b->tape, &samples, shaded, background, false, (real)reference_number(file, "delta"));
    Tensor *parts[] = {out.colour, out.opacity, out.depth};
    compare_joined(b, parts, 3);
    set_upstream(b, parts, 3);
    tape_grad(&b->tape, density);
    tape_grad(&b->tape, colour);
    for (size_t i = 0; i < 4 * n; i++)
        *(i % 4 ? &colour->grad[i / 4 * 3 + i % 4 - 1] : &density->grad[i / 4]) = shaded->grad[i];
    compare_tensor(b, "density", density);
    compare_tensor(b, "colour", colour);
    compare_tensor(b, "background", background);
    tape_reset(&b->tape);
}

static int ascending(const void *a, const void *b) {
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

static void place_case(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    RendererParticles particles = read_particles(b, false);
    Renderer renderer = {.config = read_config(b, 3)};
    RendererRays *rays = read_rays(b, false);
    RendererSamples *got =
        renderer_place_samples(&b->tape, &renderer, renderer_index_build(&b->tape, &renderer, &particles), rays);
    ReferenceArray want = reference_read(file, "out");
    size_t K = (size_t)got->neighbours;
    if (got->count != want.rows || want.cols != K + 2)
        fail_msg("%s: %zu samples, expected %zu", file->group, got->count, want.rows);
    for (size_t s = 0; s < got->count; s++) {
        int32_t row[RENDERER_MAX_NEIGHBOURS], theirs[RENDERER_MAX_NEIGHBOURS]; // as sets: the order has no meaning
        for (size_t k = 0; k < K; k++)
            row[k] = got->neighbour[s * K + k], theirs[k] = (int32_t)want.v[s * want.cols + 2 + k];
        qsort(row, K, sizeof *row, ascending);
        qsort(theirs, K, sizeof *theirs, ascending);
        bool same = !memcmp(row, theirs, K * sizeof *row) && got->ray[s] == (int32_t)want.v[s * want.cols] &&
                    (int32_t)s - got->start[got->ray[s]] == (int32_t)want.v[s * want.cols + 1];
        if (!same) {
            print_message("%s: sample %zu differs\n", file->group, s);
            b->wrong++;
        }
    }
    reference_free(&want);
    tape_reset(&b->tape);
}

static void render_case(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    RendererParticles particles = read_particles(b, true);
    Renderer renderer = {.config = read_config(b, particles.f->cols)};
    renderer.config.view_direction = reference_number(file, "view_direction") != 0;
    read_mlp(b, renderer.weight, renderer.bias);
    RendererRays *rays = read_rays(b, true);
    RendererSamples *samples =
        renderer_place_samples(&b->tape, &renderer, renderer_index_build(&b->tape, &renderer, &particles), rays);
    RendererOutput out = renderer_forward(&b->tape, &renderer, &particles, rays, samples);
    Tensor *parts[] = {out.colour, out.opacity, out.depth};
    compare_joined(b, parts, 3);
    set_upstream(b, parts, 3);
    compare_tensor(b, "x", particles.x);
    compare_tensor(b, "f", particles.f);
    compare_mlp(b, renderer.weight, renderer.bias);
    tape_reset(&b->tape);
}

static void run_op(const char *op, void (*visit)(Reference *, void *)) {
    Reference file = reference_open();
    Bench b;
    bench_open(&b);
    assert_true(reference_each(&file, op, visit, &b) > 0);
    assert_int_equal(b.wrong, 0);
    bench_close(&b);
    H5Fclose(file.file);
}

static void shading(void **state) { (void)state, run_op("shade", shade_case); }
static void compositing(void **state) { (void)state, run_op("composite", composite_case); }
static void placement(void **state) { (void)state, run_op("place", place_case); }
static void whole(void **state) { (void)state, run_op("render", render_case); }

// Outputs in the wrong place must be noticed.
static void planted_case(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    ReferenceArray want = reference_read(file, "out");
    size_t count = want.rows * want.cols;
    real *got = tape_context(&b->tape, count * sizeof *got);
    for (size_t i = 0; i < count; i++) got[i] = (real)want.v[i];
    compare(b, "out", got, count, OUT_TOLERANCE);
    assert_int_equal(b->wrong, 0);
    got[count / 2] += (real)1e-3;
    compare(b, "out", got, count, OUT_TOLERANCE);
    assert_int_equal(b->wrong, 1);
    b->wrong = 0;
    reference_free(&want);
}

static void planted_error_is_caught(void **state) { (void)state, run_op("render", planted_case); }

static int run_reference_tests(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(placement), cmocka_unit_test(shading),
                                       cmocka_unit_test(compositing), cmocka_unit_test(whole),
                                       cmocka_unit_test(planted_error_is_caught)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
