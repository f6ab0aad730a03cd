// SPDX-License-Identifier: Apache-2.0
// Pictures of scenes: gradients against central differences in f64, what is where in them, and the cameras around.
#include "lab/render.h"

#include "base/camera.h"
#include "base/random.h"
#include "tests/test.h"

enum { H = 30, W = 40, PIXELS = H * W };
#define STEP 1e-6
// Central differences of a loss of size 10 in f64, as in raster_gradient_test; relative to the largest entry.
static const double TOLERANCE = 1e-6;

static const char text[] =
    "frames: 1\nsubsteps: 1\n"
    "contacts: {ground: {k_e: 1}}\nplanes: [{normal: [0, 0.1, 1], offset: -0.4}]\n"
    "cameras: {front: {eye: [0.7, -2.1, 1.1], look_at: [0.1, 0, 0], fov: 36}}\n"
    "lights: [{direction: [-0.5, -0.4, 1], colour: [0.6, 0.5, 0.4]}, {direction: [1, -1, 0.2], colour: [0.1, 0.2, "
    "0.3]}]\n"
    "objects:\n"
    "  box: {box: {size: [0.4, 0.3, 0.3], cells: [1, 1, 1]}, density: 1, solid: {mu: 1, lambda: 1},"
    " rotation: {axis: [1, 2, 3], angle: 25}}\n"
    "  sheet: {cloth: {size: [0.5, 0.4], cells: [2, 2]}, density: 1, springs: {k_e: 1}, position: [0.4, 0.2, 0.31]}\n"
    "  chain: {grid: {size: [0.4, 1, 1], points: [3, 1, 1]}, mass: 1, springs: {k_e: 1}, position: [-0.35, 0.11, "
    "0.25]}\n";

typedef struct Case {
    SimScene scene;
    Render *render;
    double colour[3 * PIXELS], alpha[PIXELS], depth[PIXELS];
    RasterLoss loss;
} Case;

static double weight(uint32_t stream, size_t i) {
    return 2 * (double)random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST, .step = stream}, i) - 1;
}

static void open_text(const char *more, SimScene *scene) {
    char all[4096];
    Error err;
    snprintf(all, sizeof all, "%spicture: {size: [40, 30], %s}\n", text, more);
    assert_status_ok(scene_parse(all, strlen(all), "s.yaml", ".", scene, &err), err);
}

static Case *case_make(const char *more) {
    Error err;
    Case *c = calloc(1, sizeof *c);
    open_text(more, &c->scene);
    assert_status_ok(render_open(&c->scene, &(SimOptions){.precision = SIM_F64, .threads = 1}, &c->render, &err), err);
    for (size_t i = 0; i < 3 * PIXELS; i++) c->colour[i] = weight(0, i);
    for (size_t i = 0; i < PIXELS; i++) c->alpha[i] = weight(1, i), c->depth[i] = weight(2, i);
    c->loss = (RasterLoss){c->colour, c->alpha, c->depth};
    return c;
}

static void case_free(Case *c) {
    render_close(c->render);
    scene_free(&c->scene);
    free(c);
}

static double loss_of(Case *c) {
    static double colour[3 * PIXELS], alpha[PIXELS], depth[PIXELS];
    const RenderPicture out = {colour, alpha, depth, NULL};
    double sum = 0;
    Error err;
    assert_status_ok(render_draw(c->render, c->scene.picture.camera, c->scene.values.of[SIM_POSITION], &out, &err),
                     err);
    for (size_t i = 0; i < 3 * PIXELS; i++) sum += c->colour[i] * colour[i];
    for (size_t i = 0; i < PIXELS; i++) sum += c->alpha[i] * alpha[i] + c->depth[i] * depth[i];
    return sum;
}

// The largest error of a gradient relative to its largest entry.
static double compare(Case *c, double *value, const double *gradient, size_t count) {
    double worst = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        const double at = value[i];
        value[i] = at + STEP;
        const double above = loss_of(c);
        value[i] = at - STEP;
        const double wanted = (above - loss_of(c)) / (2 * STEP), error = fabs(wanted - gradient[i]);
        value[i] = at;
        worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        size = fmax(size, fabs(wanted));
    }
    assert_true(size > 0.01); // the check means something
    if (getenv("VERBOSE")) print_message("%zu values: size %.3g error %.2g\n", count, size, worst / size);
    return worst / size;
}

// Pictures are linear in colours, so that large steps do.
static double compare_colours(Case *c, const double *gradient) {
    double worst = 0, size = 0;
    for (size_t i = 0; i < 9; i++) {
        uint8_t *value = &c->scene.objects[i / 3].colour[i % 3], at = *value;
        *value = (uint8_t)(at + 20);
        const double above = loss_of(c);
        *value = (uint8_t)(at - 20);
        const double wanted = (above - loss_of(c)) / (40 / 255.0), error = fabs(wanted - gradient[i]);
        *value = at;
        worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        size = fmax(size, fabs(wanted));
    }
    return worst / size;
}

static double check(Case *c, double plant) {
    static double position[3 * 64], colour[9];
    RasterLightGradient light[2] = {{{0}, {0}}};
    double pose[6] = {0}, shift[3], worst;
    Error err;
    const size_t N = c->scene.model.particles;
    memset(position, 0, sizeof position);
    memset(colour, 0, sizeof colour);
    assert_true(N <= 64);
    loss_of(c);
    assert_status_ok(render_gradient(c->render, &c->loss, &(RenderGradient){position, colour, light, pose}, &err), err);
    position[7] *= 1 + plant;
    worst = compare(c, c->scene.values.of[SIM_POSITION], position, 3 * N);
    worst = fmax(worst, compare_colours(c, colour));
    for (int i = 0; i < 2; i++) {
        worst = fmax(worst, compare(c, c->scene.picture.light[i].colour, light[i].colour, 3));
        worst = fmax(worst, compare(c, c->scene.picture.light[i].direction, light[i].direction, 3));
    }
    for (int k = 0; k < 3; k++) { // of the camera's place
        double *at = c->scene.picture.camera->world_from_camera + 4 * k + 3;
        shift[0] = *at, *at = shift[0] + STEP, shift[1] = loss_of(c);
        *at = shift[0] - STEP, shift[2] = loss_of(c), *at = shift[0];
        worst = fmax(worst, fabs((shift[1] - shift[2]) / (2 * STEP) - pose[k]) / fabs(pose[k]));
    }
    return worst;
}

// Fixed depths: near and far are constants for the gradient.
#define DEPTHS "near: 0.5, far: 9"

static void test_gradients(void **state) {
    static const char *const pictures[] = {
        "rasteriser: soft, sigma: 1e-3, gamma: 1e-2, " DEPTHS,
        "rasteriser: soft, sigma: 3e-3, gamma: 1e-2, planes: no, samples: 2, " DEPTHS,
        "rasteriser: dib-r, delta: 3e-3, " DEPTHS};
    (void)state;
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++) {
        Case *c = case_make(pictures[i]);
        const double error = check(c, 0);
        if (!(error <= TOLERANCE)) fail_msg("picture %zu: a gradient is off by %.3g", i, error);
        case_free(c);
    }
}

static void test_planted(void **state) {
    (void)state;
    Case *c = case_make("rasteriser: soft, sigma: 1e-3, gamma: 1e-2, " DEPTHS);
    assert_true(check(c, 1e-3) > TOLERANCE);
    case_free(c);
}

// Masks name the objects; the silhouette leaves the plane out; depth is that of camera_project.
static void test_what_is_where(void **state) {
    static double alpha[PIXELS], depth[PIXELS];
    static uint16_t mask[PIXELS];
    SimScene scene;
    Render *render;
    Error err;
    size_t seen[4] = {0};
    (void)state;
    open_text("rasteriser: z-buffer", &scene);
    const SceneCamera *camera = scene.picture.camera;
    assert_status_ok(render_open(&scene, &(SimOptions){.precision = SIM_F32, .threads = 1}, &render, &err), err);
    assert_status_ok(
        render_draw(render, camera, scene.values.of[SIM_POSITION], &(RenderPicture){NULL, alpha, depth, mask}, &err),
        err);
    for (size_t i = 0; i < PIXELS; i++) {
        assert_true(mask[i] <= 3);
        seen[mask[i]]++;
        if (mask[i]) assert_true(alpha[i] > 0 && depth[i] > 0);
        if (depth[i] == 0 || mask[i]) continue;
        double point[3]; // the rest with depth is the plane
        camera_unproject_pixel(camera->K, camera->world_from_camera, W, i, depth[i], point);
        assert_close((0.1 * point[1] + point[2]) / sqrt(1.01), -0.4, 1e-6, 0);
    }
    for (int k = 0; k < 4; k++) assert_true(seen[k] > 5);
    render_close(render);
    scene_free(&scene);
}

// Cameras around the scene see all of the box, with y up and z up, in wide and high pictures.
static void test_around(void **state) {
    static const char *const heads[] = {"up: z\npicture: {size: [64, 32]}\n", "up: y\npicture: {size: [32, 64]}\n"};
    char all[512];
    (void)state;
    for (int i = 0; i < 2; i++) {
        SimScene scene;
        Error err;
        snprintf(all, sizeof all,
                 "frames: 1\nsubsteps: 1\ncameras: 5\n%sobjects: {b: {box: {size: [1, 2, 3], cells: "
                 "[1, 1, 1]}, density: 1, solid: {mu: 1, lambda: 1}, position: [4, 5, 6]}}\n",
                 heads[i]);
        assert_status_ok(scene_parse(all, strlen(all), "s.yaml", ".", &scene, &err), err);
        assert_int_equal(scene.picture.cameras, 5);
        for (size_t k = 0; k < 5 * 8; k++) {
            const SceneCamera *camera = scene.picture.camera + k / 8;
            double inverse[16], seen[3], xy[2];
            pose_inverse(camera->world_from_camera, inverse);
            pose_apply(inverse, scene.values.of[SIM_POSITION] + 3 * (k % 8), seen);
            assert_true(camera_project(camera->K, seen, xy) > 0);
            assert_true(xy[0] > 0 && xy[0] < scene.picture.W && xy[1] > 0 && xy[1] < scene.picture.H);
            assert_true(camera->world_from_camera[4 * (i ? 1 : 2) + 1] < 0); // rows go down
        }
        scene_free(&scene);
    }
}

// A camera straight above has y at the top of its picture; with y up this is -z, and the data set's y in both.
static void test_from_above(void **state) {
    static const struct {
        const char *head;
        double right[3], down[3], ahead[3];
    } cases[] = {{"cameras: {a: {eye: [1, 2, 5], look_at: [1, 2, 0]}}\n", {1, 0, 0}, {0, -1, 0}, {0, 0, -1}},
                 {"cameras: {a: {eye: [1, 2, -5], look_at: [1, 2, 0]}}\n", {-1, 0, 0}, {0, -1, 0}, {0, 0, 1}},
                 {"up: y\ncameras: {a: {eye: [1, 5, 2], look_at: [1, 0, 2]}}\n", {1, 0, 0}, {0, 0, 1}, {0, -1, 0}}};
    char all[512];
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        SimScene scene;
        Error err;
        snprintf(all, sizeof all,
                 "frames: 1\nsubsteps: 1\n%sobjects: {b: {box: {size: [1, 2, 3], cells: [1, 1, 1]}, density: 1, solid: "
                 "{mu: 1, lambda: 1}}}\n",
                 cases[k].head);
        assert_status_ok(scene_parse(all, strlen(all), "s.yaml", ".", &scene, &err), err);
        const double *pose = scene.picture.camera->world_from_camera;
        for (int c = 0; c < 3; c++) {
            assert_close(pose[4 * c], cases[k].right[c], 0, 1e-15);
            assert_close(pose[4 * c + 1], cases[k].down[c], 0, 1e-15);
            assert_close(pose[4 * c + 2], cases[k].ahead[c], 0, 1e-15);
        }
        scene_free(&scene);
    }
}

// Cameras around a scene with a wall stand before it, each elsewhere. Those of a bead of .4 mm come near.
static void test_before_planes(void **state) {
    static const char walled[] = "frames: 1\nsubsteps: 1\ncameras: 7\ncontacts: {g: {k_e: 1}}\n"
                                 "planes: [{}, {normal: [2, 0, 2], offset: -0.0002}]\nobjects: {b: {sphere: {radius: "
                                 "2e-4, cells: 1}, density: 1, solid: {mu: 1, lambda: 1}, position: [0, 0, 3e-4]}}\n";
    SimScene scene;
    Error err;
    (void)state;
    assert_status_ok(scene_parse(walled, strlen(walled), "s.yaml", ".", &scene, &err), err);
    for (size_t i = 0; i < 7; i++) {
        const double *pose = scene.picture.camera[i].world_from_camera;
        const double *other = scene.picture.camera[i < 6 ? i + 1 : 0].world_from_camera;
        assert_true(pose[11] > 0 && (pose[3] + pose[11]) / sqrt(2) > -2e-4 && pose[11] < 3e-3);
        assert_true(hypot(pose[3] - other[3], pose[7] - other[7]) > 1e-4);
    }
    scene_free(&scene);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradients),     cmocka_unit_test(test_planted),
                                       cmocka_unit_test(test_what_is_where), cmocka_unit_test(test_around),
                                       cmocka_unit_test(test_from_above),    cmocka_unit_test(test_before_planes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
