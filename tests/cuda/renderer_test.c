// SPDX-License-Identifier: Apache-2.0
// The renderer's CUDA kernels, run on the CPU, against the CPU back end: index and places of samples entry by entry,
// pictures and gradients to 1e-5; the same bits whatever the order of threads; no device memory touched by host code.
#include "tests/cuda/renderer_both.h"

#include "bench/case_tables.h"
#include "renderer/backend.h"
#include "renderer/cases.h"
#include "renderer/shade.h"
#include "tests/cuda_on_cpu/faulty_renderer.h"

static const double OP_TOLERANCE = 1e-5, // sums of up to some thousand floats in two orders
    SCENE_TOLERANCE = 3e-5;              // through three ops; terms of the weights' gradients cancel
// Factors are rounded by up to 2^-11 and 2^-8, in up to three products one behind the other.
static const double ROUNDED_TOLERANCE[] = {[PRECISION_TF32] = 5e-3, [PRECISION_BF16] = 4e-2};

// ---- cases of the ops

static Made run_case(Device *device, const OpCase *c) {
    CaseRun run;
    Error err = {0};
    Made m = {.device = device};
    if (case_run(device, c, -1, NULL, 0, true, &run, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", c->name, err.text, cuda_on_cpu_report());
    made_tensor(&m, "value", run.output->value, run.output);
    for (size_t i = 0; i < run.input_count; i++) made_tensor(&m, c->inputs[i].name, run.inputs[i]->grad, run.inputs[i]);
    case_run_free(&run);
    return m;
}

static void check_case(Device *cpu, Device *cuda, const OpCase *c) {
    Made want = run_case(cpu, c), first = {0};
    bool rounded = cuda->precision != PRECISION_F32;
    double tolerance = rounded ? ROUNDED_TOLERANCE[cuda->precision] : OP_TOLERANCE;
    char off[96];
    for (uint64_t seed = 0; seed < 3; seed++) {
        cuda_on_cpu_seed(seed);
        Made got = run_case(cuda, c);
        if (made_differs(&got, &want, tolerance, off)) fail_msg("%s, precision %d: %s", c->name, cuda->precision, off);
        if (rounded && strstr(c->name, "shade") && c->sizes[1] > 0 && !made_differs(&got, &want, OP_TOLERANCE, off))
            fail_msg("%s, precision %d: as in f32", c->name, cuda->precision);
        if (seed == 0) first = got;
        if (made_differs(&got, &first, 0, off)) fail_msg("%s, order %d: %s", c->name, (int)seed, off);
        if (seed) made_free(&got);
    }
    made_free(&first);
    made_free(&want);
}

static void cases_equal_the_cpu(void **state) {
    (void)state;
    Device *cpu, *cuda;
    Error err = {0};
    assert_status_ok(device_open("cpu", 2, &cpu, &err), err);
    assert_status_ok(cuda_on_cpu_open(&cuda, &err), err);
    cuda_on_cpu_guard(true);
    bool found = false;
    for (size_t t = 0; t < renderer_case_table_count; t++)
        for (size_t i = 0; i < renderer_case_tables[t]->count; i++) {
            OpCase c = renderer_case_tables[t]->cases[i];
            for (Precision p = PRECISION_F32; p <= PRECISION_TF32 && c.flops < 1e8; p++) { // others take seconds here
                device_set_precision(cuda, p);
                if (cuda->precision == p) check_case(cpu, cuda, &c);
            }
            device_set_precision(cuda, PRECISION_F32);
            if (strcmp(c.name, "shade more chunks than groups")) continue;
            c.sizes[1] = 16500; // samples: more tiles than blocks sum gradients
            check_case(cpu, cuda, &c);
            found = true;
        }
    assert_true(found);
    cuda_on_cpu_guard(false);
    cuda_on_cpu_seed(0);
    device_close(cpu);
    device_close(cuda);
}

// ---- scenes

typedef struct Both {
    Scene cpu, cuda;
} Both;

static void open_both(Both *b, const RendererConfig *config, size_t N, size_t R) {
    Device *cuda = NULL;
    Error err = {0};
    scene_open_with(&b->cpu, config, N, R, 2);
    assert_status_ok(cuda_on_cpu_open(&cuda, &err), err);
    cuda_on_cpu_guard(true);
    scene_open_on(&b->cuda, cuda, config, N, R);
}

static void close_both(Both *b) {
    cuda_on_cpu_guard(false);
    cuda_on_cpu_seed(0);
    scene_close(&b->cpu);
    scene_close(&b->cuda);
}

// Returns the number of samples.
static size_t check(Both *b, const char *what) {
    Made want = made_of_scene(&b->cpu), first = {0};
    size_t samples = 0;
    char off[96];
    for (uint64_t seed = 0; seed < 3; seed++) {
        cuda_on_cpu_seed(seed);
        Made got = made_of_scene(&b->cuda);
        if (made_differs(&got, &want, SCENE_TOLERANCE, off)) fail_msg("%s: %s", what, off);
        if (seed == 0) first = got;
        if (made_differs(&got, &first, 0, off)) fail_msg("%s, order %d: %s", what, (int)seed, off);
        if (seed) made_free(&got);
    }
    for (size_t i = 0; i < want.count; i++)
        if (!strcmp(want.item[i].name, "samples")) memcpy(&samples, want.item[i].host, sizeof samples);
    made_free(&first);
    made_free(&want);
    return samples;
}

static void surfaces(void **state) {
    (void)state;
    Both b;
    RendererConfig config = scene_config();
    config.view_direction = true;
    open_both(&b, &config, 700, 60);
    assert_true(check(&b, "surfaces") > 200);
    close_both(&b);
    config.neighbours = 40; // two to a lane
    config.samples = 70;    // more than a warp composites at once
    config.radius = 0.16;
    config.features = 19;
    config.background = BACKGROUND_LEARNED;
    open_both(&b, &config, 700, 12);
    assert_true(check(&b, "many neighbours") > 60);
    close_both(&b);
}

static void several_scenes(void **state) {
    (void)state;
    Both b;
    RendererConfig config = scene_config();
    open_both(&b, &config, 900, 90);
    Scene *scenes[2] = {&b.cpu, &b.cuda};
    for (int n = 0; n < 2; n++) {
        scene_split(scenes[n]);
        scenes[n]->x[0] = 400; // coarser levels are used
    }
    assert_true(check(&b, "several scenes") > 150);
    close_both(&b);
}

static void one_heap(void **state) {
    (void)state;
    Both b;
    RendererConfig config = scene_config();
    open_both(&b, &config, 300, 12);
    // Many particles in one cell, many of them at the same place: ties by index, lists longer than a warp.
    Scene *scenes[2] = {&b.cpu, &b.cuda};
    for (int n = 0; n < 2; n++) {
        Scene *s = scenes[n];
        for (size_t i = 0; i < 3 * s->N; i++) s->x[i] = (real)(i % 3 == 2 ? 0.5 : 0.02 * (double)(i / 3 % 3));
        for (size_t i = 0; i < s->N; i++) s->radius[i] = (real)0.1;
        for (size_t i = 0; i < 3 * s->R; i++) s->direction[i] = (i % 3 == 2 ? (real)0.5 : (real)0.01) - s->origin[i];
    }
    assert_true(check(&b, "heap") > 20);
    close_both(&b);
}

static void outliers_and_broken_values(void **state) {
    (void)state;
    Both b;
    RendererConfig config = scene_config();
    open_both(&b, &config, 400, 40);
    real far_away[][3] = {{1e3, 0, 0}, {-4e3, 2e3, 50}, {0, 0, -1e5}, {3e6f, 1, 1}, {1e30f, 0, 0}, {NAN, 0, 0}};
    Scene *scenes[2] = {&b.cpu, &b.cuda};
    for (int n = 0; n < 2; n++) {
        Scene *s = scenes[n];
        for (size_t i = 0; i < 6; i++) memcpy(s->x + 3 * (17 * i + 2), far_away[i], sizeof far_away[i]);
        for (size_t i = 3; i < s->N; i += 11) s->radius[i] = i % 2 ? 0 : (real)NAN;
        for (size_t i = 0; i < s->R; i += 9)
            s->direction[3 * i] = s->direction[3 * i + 1] = s->direction[3 * i + 2] = i % 2 ? 0 : (real)INFINITY;
    }
    assert_true(check(&b, "outliers") > 40);
    close_both(&b);
}

static void few_or_none(void **state) {
    (void)state;
    size_t sizes[][2] = {{0, 5}, {1, 30}, {5, 30}, {50, 0}, {0, 0}, {300, 1}};
    RendererConfig config = scene_config();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        Both b;
        open_both(&b, &config, sizes[i][0], sizes[i][1]);
        check(&b, "few or none");
        close_both(&b);
    }
}

// ---- whole frames

// Two tiles of rays, each part of the frame. Labels are left out: their ids lie in device memory.
static void draw(Scene *s, float *out, size_t *peak) {
    RendererCamera camera = scene_camera(1, 66, 64);
    size_t pixels = 66 * 64;
    RendererFrame frame = {.colour = out, .depth = out + 3 * pixels, .opacity = out + 4 * pixels};
    Error err = {0};
    s->tape.recording = false;
    RendererParticles particles = scene_upload(s);
    if (renderer_draw_image(&s->tape, &s->renderer, &particles, s->background, &camera, &frame, &err) != STATUS_OK)
        fail_msg("%s (%s)", err.text, cuda_on_cpu_report());
    *peak = s->device->scratch.peak;
}

static void frames_in_tiles(void **state) {
    (void)state;
    enum { COUNT = 5 * 66 * 64 };
    Both b;
    RendererConfig config = scene_config();
    config.radius = 0.4;
    config.samples = 2;
    open_both(&b, &config, 60, 1);
    float *cpu = malloc(COUNT * sizeof *cpu), *cuda = malloc(COUNT * sizeof *cuda);
    assert_true(cpu && cuda);
    size_t peak;
    draw(&b.cpu, cpu, &peak);
    draw(&b.cuda, cuda, &peak);
    assert_true(made_error(cuda, cpu, COUNT) < OP_TOLERANCE); // depths are the largest
    assert_true(peak < (size_t)4096 * 2 * 10 * 8);            // of one tile: K + 2 numbers a sample
    free(cpu);
    free(cuda);
    close_both(&b);
}

static void widths_beyond_shared_memory(void **state) {
    (void)state;
    Both b;
    RendererConfig config = scene_config();
    Error err = {0};
    config.hidden[0] = 900; // fewer rows to a tile
    open_both(&b, &config, 40, 2);
    check(&b, "wide");
    close_both(&b);
    ShadeArgs args = {.samples = 1, .features = 6, .neighbours = 8, .hidden = {4096, 4096}}; // looks at nothing else
    open_both(&b, &config, 0, 0);
    b.cuda.device->renderer->shade_backward(b.cuda.device, &args);
    assert_status_error(device_status(b.cuda.device, &err), STATUS_BAD_INPUT, err, "renderer.widths = 4096, 4096");
    close_both(&b);
}

// ---- planted faults

// Whether some order of threads gives another result than the CPU's.
static bool is_noticed(Both *b, const RendererBackend *backend, const Made *want) {
    bool noticed = false;
    char what[96];
    b->cuda.device->renderer = backend;
    for (uint64_t seed = 1; seed < 4 && !noticed; seed++) {
        cuda_on_cpu_seed(seed);
        Made got = made_of_scene(&b->cuda);
        noticed = made_differs(&got, want, SCENE_TOLERANCE, what);
        made_free(&got);
    }
    return noticed;
}

static void planted_faults_are_caught(void **state) {
    (void)state;
    Both b;
    RendererConfig config = scene_config();
    open_both(&b, &config, 300, 20);
    cuda_on_cpu_guard(false); // a fault may write anywhere
    const RendererBackend *right = b.cuda.device->renderer;
    Made want[PRECISION_TF32 + 1] = {{0}};
    for (Precision p = PRECISION_F32; p <= PRECISION_TF32; p++) {
        device_set_precision(b.cuda.device, p);
        if (b.cuda.device->precision != p) continue;
        // In f32 as the CPU; rounded, as the right kernels, whose cases have been compared with the CPU.
        want[p] = made_of_scene(p == PRECISION_F32 ? &b.cpu : &b.cuda);
        assert_false(is_noticed(&b, right, &want[p]));
    }
    size_t count;
    const FaultyRenderer *faulty = faulty_renderers(&count);
    for (size_t i = 0; i < count; i++) {
        device_set_precision(b.cuda.device, faulty[i].precision);
        if (!is_noticed(&b, &faulty[i].backend, &want[faulty[i].precision]))
            fail_msg("not noticed: %s", faulty[i].fault);
    }
    for (Precision p = PRECISION_F32; p <= PRECISION_TF32; p++) made_free(&want[p]);
    close_both(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_equal_the_cpu),
        cmocka_unit_test(surfaces),
        cmocka_unit_test(several_scenes),
        cmocka_unit_test(one_heap),
        cmocka_unit_test(outliers_and_broken_values),
        cmocka_unit_test(few_or_none),
        cmocka_unit_test(frames_in_tiles),
        cmocka_unit_test(widths_beyond_shared_memory),
        cmocka_unit_test(planted_faults_are_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
