// SPDX-License-Identifier: Apache-2.0
// What must hold of the whole model: translation of world and cameras changes no picture, an untrained model moves
// nothing, few particles, one view and one input time are no errors.
#include "base/random.h"
#include "model/vpd.h"
#include "tests/model_scene.h"

enum { STEPS = 2, RAYS = SCENE_PIXELS };

typedef struct Outcome {
    real colour[3 * RAYS], motion; // of the last picture; largest |dx|
    size_t particles;
    Status status;
    Error err;
} Outcome;

static void stir(Vpd *model) {
    RandomKey key = {.seed = 9, .purpose = RANDOM_TEST};
    for (size_t i = 0; i < model->parameters.size; i++)
        model->parameters.values[i] += (real)(0.2 * (2 * (double)random_uniform(key, i) - 1));
}

static void pixel_rays(const ModelScene *s, int view, real *origin, real *direction) {
    const double *pose = s->pose + 16 * view;
    for (int p = 0; p < RAYS; p++) {
        double point[3];
        camera_unproject_world(s->intrinsics + 9 * view, pose, p % SCENE_W + 0.5, p / SCENE_W + 0.5, 1, point);
        for (int c = 0; c < 3; c++) {
            origin[3 * p + c] = (real)pose[4 * c + 3];
            direction[3 * p + c] = (real)(point[c] - pose[4 * c + 3]);
        }
    }
}

// Encodes `observation`, steps, and draws the scene's view 0.
static void simulate(const ModelScene *s, const Observation *observation, const char *const *options, bool stirred,
                     Outcome *out) {
    static real origin[3 * RAYS], direction[3 * RAYS];
    Config config;
    Device *device;
    Vpd *model;
    Tape tape;
    Scene scene;
    Workspace workspace = {0};
    memset(out, 0, sizeof *out);
    scene_config(&config, options);
    assert_status_ok(device_open("cpu", 2, &device, &out->err), out->err);
    assert_status_ok(vpd_create(&config, device, &model, &out->err), out->err);
    if (stirred) stir(model);
    tape_init(&tape, device);
    tape.recording = false;
    pixel_rays(s, 0, origin, direction);
    out->status = vpd_observe_and_encode(&tape, model, &workspace, observation, (SceneKey){3, 0, 0}, &scene, &out->err);
    for (int step = 0; step < STEPS && out->status == STATUS_OK; step++) {
        StepOutput moved = vpd_step(&tape, model, &scene);
        for (size_t i = 0; moved.dx && i < 3 * moved.dx->rows; i++)
            out->motion = real_fabs(moved.dx->value[i]) > out->motion ? real_fabs(moved.dx->value[i]) : out->motion;
    }
    if (out->status == STATUS_OK) {
        out->particles = scene_present(&scene)->x->rows;
        RendererOutput drawn = vpd_render(&tape, model, &scene, RAYS, origin, direction, NULL, NULL);
        assert_status_ok(device_status(device, &out->err), out->err);
        memcpy(out->colour, drawn.colour->value, sizeof out->colour);
    }
    tape_free(&tape);
    workspace_free(&workspace);
    vpd_free(model);
    device_close(device);
}

static double largest_difference(const Outcome *a, const Outcome *b) {
    double largest = 0;
    for (size_t i = 0; i < 3 * RAYS; i++) largest = fmax(largest, fabs((double)(a->colour[i] - b->colour[i])));
    return largest;
}

static void a_shifted_world_gives_the_same_picture(void **state) {
    (void)state;
    static ModelScene here, there;
    static Outcome a, b;
    const double none[3] = {0, 0, 0}, shift[3] = {3.7, -11.3, 0.9};
    // Voxels are fixed to the world: particles and nodes are chosen without them.
    const char *const *forms[] = {(const char *[]){"encoder.sampling=uniform", "gnn.graph=flat", NULL},
                                  (const char *[]){"encoder.sampling=uniform", "gnn.graph=hierarchical", NULL}};
    scene_make(&here, none);
    scene_make(&there, shift);
    for (int i = 0; i < 2; i++) {
        simulate(&here, &here.observation, forms[i], true, &a);
        simulate(&there, &there.observation, forms[i], true, &b);
        assert_true(a.motion > 1e-3);
        // Coordinates of ten metres in double carry errors of 1e-15; the network multiplies them by far less than 1e6.
        assert_true(largest_difference(&a, &b) < 1e-9);
    }
    // The planted difference: another seed of the world is not the same picture.
    simulate(
        &here, &here.observation,
        (const char *[]){"encoder.sampling=uniform", "gnn.graph=hierarchical", "gnn.displacement_scale=0.06", NULL},
        true, &b);
    assert_true(largest_difference(&a, &b) > 1e-6);
}

static void an_untrained_model_moves_nothing(void **state) {
    (void)state;
    static ModelScene s;
    static Outcome out;
    const double none[3] = {0, 0, 0};
    const char *const *forms[] = {(const char *[]){"gnn.graph=hierarchical", NULL},
                                  (const char *[]){"gnn.graph=flat", NULL}};
    scene_make(&s, none);
    for (int i = 0; i < 2; i++) {
        simulate(&s, &s.observation, forms[i], false, &out);
        assert_int_equal(out.status, STATUS_OK);
        assert_true(out.motion == 0);
    }
}

static void little_input_is_no_error(void **state) {
    (void)state;
    static ModelScene s;
    static Outcome out;
    const double none[3] = {0, 0, 0};
    scene_make(&s, none);
    Observation one_time = s.observation, one_view = s.observation;
    one_time.F = 1;
    simulate(&s, &one_time, (const char *[]){"model.T=1", NULL}, true, &out);
    assert_int_equal(out.status, STATUS_OK);
    assert_true(out.motion == 0); // one input time means no dynamics
    // Fewer points than particles: all of them, none twice. With bodies also what these hide, less than all.
    simulate(&s, &s.observation, (const char *[]){"encoder.N=100000", "gnn.graph=hierarchical", NULL}, true, &out);
    assert_int_equal(out.status, STATUS_OK);
    size_t valid = 0;
    for (size_t i = 0; i < SCENE_VIEWS * SCENE_PIXELS; i++) valid += s.depth[SCENE_VIEWS * SCENE_PIXELS + i] > 0;
    assert_int_equal(out.particles, valid);
    simulate(&s, &s.observation, (const char *[]){"encoder.N=100000", NULL}, true, &out);
    assert_int_equal(out.status, STATUS_OK);
    assert_true(out.particles > valid && out.particles < 2 * valid);
    // One camera, with the arrays of both frames of view 0 alone.
    static ModelScene single;
    single = s;
    memcpy(single.rgb + 3 * SCENE_PIXELS, s.rgb + 3 * SCENE_PIXELS * SCENE_VIEWS, 3 * SCENE_PIXELS);
    memcpy(single.depth + SCENE_PIXELS, s.depth + SCENE_PIXELS * SCENE_VIEWS, SCENE_PIXELS * sizeof(float));
    memcpy(single.pose + 16, s.pose + 16 * SCENE_VIEWS, 16 * sizeof(double));
    one_view = (Observation){.F = SCENE_FRAMES,
                             .V = 1,
                             .H = SCENE_H,
                             .W = SCENE_W,
                             .views = single.views,
                             .rgb = single.rgb,
                             .depth = single.depth,
                             .intrinsics = single.intrinsics,
                             .world_from_camera = single.pose};
    simulate(&s, &one_view, NULL, true, &out);
    assert_int_equal(out.status, STATUS_OK);
}

static void no_depth_is_a_sentence(void **state) {
    (void)state;
    static ModelScene s;
    static Outcome out;
    const double none[3] = {0, 0, 0};
    scene_make(&s, none);
    memset(s.depth, 0, sizeof s.depth);
    simulate(&s, &s.observation, NULL, false, &out);
    assert_int_equal(out.status, STATUS_BAD_INPUT);
    assert_non_null(strstr(out.err.text, "no valid depth"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shifted_world_gives_the_same_picture),
        cmocka_unit_test(an_untrained_model_moves_nothing),
        cmocka_unit_test(little_input_is_no_error),
        cmocka_unit_test(no_depth_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
