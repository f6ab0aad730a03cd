// SPDX-License-Identifier: Apache-2.0
// The UNet as a whole: parameters by name, every image on its own, same bits again, no allocation once warm, no crash
// without memory. Values are compared in nn_reference_test.
#include "tests/test.h"

#include "encoder/encoder.h"
#include "nn/backend.h"

static const EncoderConfig SMALL = {.levels = 3, .widths = {8, 16, 24}, .latent = 5, .depth_input = true, .extent = 2};

typedef struct Model {
    Device *device;
    Parameters set;
    Encoder encoder;
    Tape tape;
} Model;

static void model_open(Model *m, const EncoderConfig *config, int threads) {
    Error err = {0};
    memset(m, 0, sizeof *m);
    assert_status_ok(device_open("cpu", threads, &m->device, &err), err);
    parameters_init(&m->set, m->device);
    encoder_create(&m->encoder, &m->set, config);
    assert_status_ok(parameters_allocate(&m->set, 5, &err), err);
    tape_init(&m->tape, m->device);
}

static void model_close(Model *m) {
    tape_free(&m->tape);
    parameters_free(&m->set);
    device_close(m->device);
}

enum { V = 3, H = 13, W = 10, PIXELS = V * H * W }; // neither divides by 4

// Smooth pictures with some missing depth.
static void fill_pictures(uint8_t *rgb, float *depth) {
    for (int i = 0; i < PIXELS; i++) {
        for (int c = 0; c < 3; c++) rgb[3 * i + c] = (uint8_t)(127 + 100 * sin(0.3 * i + 1.7 * c));
        depth[i] = i % 7 == 3 ? 0 : 1 + 0.5f * (float)cos(0.1 * i);
    }
}

// Forward, and backward from a fixed gradient; the tensor holds one row per pixel.
static Tensor *run(Model *m, const Observation *o, int32_t *pick, size_t count) {
    tape_reset(&m->tape);
    parameters_zero_grad(&m->set);
    Tensor *images = encoder_input(&m->tape, &m->encoder, 1, &o, 0, 1);
    Tensor *hidden =
        encoder_pixels(&m->tape, &m->encoder, images, (ImageShape){(size_t)o->V, (size_t)o->H, (size_t)o->W});
    Tensor *y = encoder_latents(&m->tape, &m->encoder, hidden, count, pick);
    real *grad = tape_grad(&m->tape, y);
    for (size_t i = 0; grad && i < y->rows * y->cols; i++) grad[i] = (real)sin(0.7 * (double)i);
    tape_backward_from_grads(&m->tape);
    return y;
}

typedef struct Pictures {
    uint8_t rgb[3 * PIXELS];
    float depth[PIXELS];
    int32_t pick[PIXELS];
    Observation o;
} Pictures;

static void pictures_make(Pictures *p) {
    fill_pictures(p->rgb, p->depth);
    for (int i = 0; i < PIXELS; i++) p->pick[i] = i;
    p->o = (Observation){.F = 1, .V = V, .H = H, .W = W, .rgb = p->rgb, .depth = p->depth};
}

static void names_and_order_are_the_documented(void **state) {
    (void)state;
    static const char *const expected[] = {"encoder.down0.conv0.weight", "encoder.down0.conv0.bias",
                                           "encoder.down0.norm0.gain",   "encoder.down0.norm0.offset",
                                           "encoder.down0.conv1.weight", "encoder.down0.conv1.bias",
                                           "encoder.down0.norm1.gain",   "encoder.down0.norm1.offset"};
    Model m;
    model_open(&m, &SMALL, 1);
    assert_int_equal(m.set.count, 8 * (3 + 2) + 2);
    for (size_t i = 0; i < 8; i++) assert_string_equal(m.set.items[i]->name, expected[i]);
    assert_string_equal(m.set.items[3 * 8]->name, "encoder.up1.conv0.weight"); // the way up begins below
    const Parameter *up = parameters_find(&m.set, "encoder.up1.conv0.weight");
    assert_int_equal(up->dims[2], 16 + 24); // skip first, then what comes up
    assert_int_equal(up->dims[3], 16);
    assert_string_equal(m.set.items[m.set.count - 2]->name, "encoder.out.weight");
    model_close(&m);
}

static void same_bits_again(void **state) {
    (void)state;
    Pictures p;
    pictures_make(&p);
    Model m[2];
    for (int i = 0; i < 2; i++) model_open(&m[i], &SMALL, 2);
    Tensor *a = run(&m[0], &p.o, p.pick, PIXELS), *b = run(&m[1], &p.o, p.pick, PIXELS);
    for (int repeat = 0; repeat < 3; repeat++) {
        assert_memory_equal(a->value, b->value, a->rows * a->cols * sizeof(real));
        assert_memory_equal(m[0].set.grads, m[1].set.grads, m[0].set.size * sizeof(real));
        b = run(&m[1], &p.o, p.pick, PIXELS);
    }
    for (int i = 0; i < 2; i++) model_close(&m[i]);
}

// Each image alone gives what it gives among others; only the way products are cut up may differ.
static void images_do_not_see_each_other(void **state) {
    (void)state;
    Pictures p;
    pictures_make(&p);
    Model m;
    model_open(&m, &SMALL, 2);
    Tensor *together = run(&m, &p.o, p.pick, PIXELS);
    size_t part = (size_t)H * W * SMALL.latent;
    real *kept = malloc(V * part * sizeof *kept);
    memcpy(kept, together->value, V * part * sizeof *kept);
    for (int v = 0; v < V; v++) {
        Observation one = p.o;
        one.V = 1;
        one.rgb += 3 * v * H * W;
        one.depth += v * H * W;
        Tensor *alone = run(&m, &one, p.pick, H * W);
        for (size_t i = 0; i < part; i++)
            assert_close(alone->value[i], kept[(size_t)v * part + i], 2e-5, 0); // outputs of order 1
    }
    free(kept);
    model_close(&m);
}

static void chosen_pixels_alone_get_gradients(void **state) {
    (void)state;
    Pictures p;
    pictures_make(&p);
    Model m;
    model_open(&m, &SMALL, 2);
    int32_t few[] = {5, PIXELS - 1, 5};
    Tensor *all = run(&m, &p.o, p.pick, PIXELS);
    real expected[3 * 5];
    for (int i = 0; i < 3; i++) memcpy(expected + 5 * i, all->value + 5 * few[i], 5 * sizeof(real));
    Tensor *y = run(&m, &p.o, few, 3);
    for (int i = 0; i < 15; i++) assert_close(y->value[i], expected[i], 1e-6, 1e-6);
    run(&m, &p.o, few, 0); // no particle at all
    for (size_t i = 0; i < m.set.size; i++) assert_true(m.set.grads[i] == 0);
    Error err = {0};
    assert_status_ok(device_status(m.device, &err), err);
    model_close(&m);
}

static void warm_steps_allocate_nothing(void **state) {
    (void)state;
    Pictures p;
    pictures_make(&p);
    Model m;
    model_open(&m, &SMALL, 2);
    for (int i = 0; i < 3; i++) { // the second one joins the blocks of the first
        arena_reset(&m.device->scratch);
        run(&m, &p.o, p.pick, PIXELS);
    }
    size_t before = tape_allocations(&m.tape) + m.device->scratch.allocations;
    for (int i = 0; i < 3; i++) {
        arena_reset(&m.device->scratch);
        run(&m, &p.o, p.pick, PIXELS);
    }
    assert_int_equal(tape_allocations(&m.tape) + m.device->scratch.allocations, before);
    model_close(&m);
}

// A source that hands out `left` more blocks.
static void *allocate_some(void *owner, size_t bytes) {
    int *left = owner;
    return (*left)-- > 0 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
}

static void release_some(void *owner, void *memory, size_t bytes) {
    (void)owner;
    (void)bytes;
    free(memory);
}

// Wherever memory ends, the step ends with one sentence, and works once there is memory again.
static void no_memory_is_an_error(void **state) {
    (void)state;
    static const EncoderConfig wide = {.levels = 2, .widths = {96, 96}, .latent = 5}; // several blocks of 1 MiB
    Pictures p;
    pictures_make(&p);
    int left = 1 << 20, failures = 0;
    Model m;
    Error err = {0};
    model_open(&m, &wide, 2);
    ArenaSource source = {allocate_some, release_some, &left, NULL}, usual = m.device->source;
    for (int blocks = 0;; blocks++) {
        tape_free(&m.tape);
        arena_free(&m.device->scratch);
        m.device->source = source;
        arena_init(&m.device->scratch, source);
        tape_init(&m.tape, m.device);
        left = blocks;
        run(&m, &p.o, p.pick, PIXELS);
        Status status = device_status(m.device, &err);
        if (status == STATUS_OK) break;
        assert_int_equal(status, STATUS_FAILED);
        if (!strstr(err.text, "out of memory")) fail_msg("%s", err.text);
        failures++;
    }
    assert_true(failures >= 3);
    m.device->source = usual;
    model_close(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_order_are_the_documented), cmocka_unit_test(same_bits_again),
        cmocka_unit_test(images_do_not_see_each_other),       cmocka_unit_test(chosen_pixels_alone_get_gradients),
        cmocka_unit_test(warm_steps_allocate_nothing),        cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
