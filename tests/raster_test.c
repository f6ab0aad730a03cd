// SPDX-License-Identifier: Apache-2.0
// The rasterisers against closed forms, and what they do with empty, degenerate and wrong scenes.
#include "tests/raster_scene.h"

enum { SIDE = 32, PIXELS = SIDE * SIDE };

// A camera at the origin that looks along z; x and y of a point at depth 1 are NDC.
typedef struct Flat {
    double position[12], colour[12];
    RasterMesh mesh;
    RasterLight light;
    RasterScene scene;
    RasterCamera camera;
    double shown[3 * PIXELS], alpha[PIXELS], depth[PIXELS];
    int32_t face[PIXELS];
} Flat;

static const int32_t square_face[] = {0, 2, 1, 0, 3, 2}; // normals towards the camera

static void flat_init(Flat *f, const double position[12], size_t faces) {
    memset(f, 0, sizeof *f);
    memcpy(f->position, position, sizeof f->position);
    for (int i = 0; i < 12; i++) f->colour[i] = 1;
    f->mesh =
        (RasterMesh){.vertices = 4, .faces = faces, .position = f->position, .face = square_face, .colour = f->colour};
    f->scene = (RasterScene){.mesh = &f->mesh, .meshes = 1, .light = &f->light};
    f->camera = (RasterCamera){
        .H = SIDE, .W = SIDE, .near = 0.1, .far = 10, .K = {SIDE / 2, 0, SIDE / 2, 0, SIDE / 2, SIDE / 2, 0, 0, 1}};
    pose_identity(f->camera.world_from_camera);
}

static void flat_draw(Flat *f, RasterOptions options) {
    Error err;
    options.precision = RASTER_F64;
    Raster *raster = test_raster(options);
    assert_status_ok(
        raster_draw(raster, &f->scene, &f->camera, &(RasterPicture){f->shown, f->alpha, f->depth, f->face}, &err), err);
    raster_close(raster);
}

static double centre(int pixel) { return (pixel + 0.5) * 2 / SIDE - 1; }

static const double square[] = {-0.5, -0.25, 1, 0.25, -0.25, 1, 0.25, 0.5, 1, -0.5, 0.5, 1};

// 12 x 12 pixels: the corners lie between samples, the diagonal on them. How many pixels are not as they should be
// when the square is moved by `shift`.
static int wrong_pixels(RasterMethod method, double shift) {
    Flat f;
    int wrong = 0;
    flat_init(&f, square, 2);
    for (int v = 0; v < 4; v++) f.position[3 * v] += shift;
    flat_draw(&f, (RasterOptions){.method = method, .delta = 1e-9});
    for (int i = 0; i < PIXELS; i++) {
        int x = i % SIDE, y = i / SIDE;
        bool in = x >= 8 && x < 20 && y >= 12 && y < 24;
        bool good = fabs(f.alpha[i] - in) <= 1e-12 && fabs(f.depth[i] - in) <= 1e-12 && (f.face[i] >= 0) == in;
        wrong += !good;
    }
    return wrong;
}

// Planted: a square that is off by a little more than half a pixel has a wrong column on either side.
static void test_square(void **state) {
    (void)state;
    for (int method = RASTER_DIBR; method <= RASTER_HARD; method++) {
        assert_int_equal(wrong_pixels((RasterMethod)method, 0), 0);
        assert_int_equal(wrong_pixels((RasterMethod)method, 0.51 * 2 / SIDE), 24);
    }
}

// With a small sigma SoftRas's silhouette is the triangle.
static void test_sharp(void **state) {
    (void)state;
    Flat soft, hard;
    const double triangle[] = {-0.81, -0.63, 1, 0.24, 0.87, 1.3, 0.91, -0.4, 1.7, 0, 0, 1};
    flat_init(&soft, triangle, 1);
    flat_init(&hard, triangle, 1);
    flat_draw(&soft, (RasterOptions){.method = RASTER_SOFT, .sigma = 1e-12});
    flat_draw(&hard, (RasterOptions){.method = RASTER_HARD});
    int covered = 0;
    for (int i = 0; i < PIXELS; i++) {
        covered += hard.alpha[i] == 1;
        assert_close(soft.alpha[i], hard.alpha[i], 1e-9, 0);
        assert_close(soft.shown[3 * i], hard.shown[3 * i], 1e-3, 0); // the background's weight at depth 1.7 of 10 is 0
    }
    assert_true(covered > 150);
}

// Left of a long edge at distance d: sigmoid(-d^2 / sigma), exp(-d^2 / delta); right of it sigmoid(d^2 / sigma).
static void test_edge(void **state) {
    (void)state;
    Flat f;
    const double wide[] = {0, -90, 1, 90, 0, 1, 0, 90, 1, 0, 0, 1};
    for (int method = RASTER_SOFT; method <= RASTER_DIBR; method++) {
        flat_init(&f, wide, 1);
        flat_draw(&f, (RasterOptions){.method = (RasterMethod)method, .sigma = 2e-2, .delta = 2e-2});
        for (int x = 0; x < SIDE; x++) {
            double d = centre(x), a = d * d / 2e-2;
            double outside = method == RASTER_SOFT ? 1 / (1 + exp(a)) : exp(-a);
            double wanted = d < 0 ? (outside < 1e-4 ? 0 : outside) : method == RASTER_SOFT ? 1 / (1 + exp(-a)) : 1;
            assert_close(f.alpha[SIDE * 16 + x], wanted, 1e-12, 0);
        }
    }
}

// Ground that reaches behind the camera: depth is height over slope of the ray.
static void test_ground(void **state) {
    (void)state;
    Flat f;
    const double ground[] = {-50, 1.5, -20, 50, 1.5, -20, 50, 1.5, 40, -50, 1.5, 40};
    for (int method = RASTER_SOFT; method <= RASTER_HARD; method++) {
        flat_init(&f, ground, 2);
        flat_draw(&f, (RasterOptions){.method = (RasterMethod)method});
        for (int i = 0; i < PIXELS; i++) {
            double z = 1.5 / centre(i / SIDE);
            assert_close(f.depth[i], z > 0 && z < 10 ? z : 0, 1e-12, 1e-9);
        }
    }
}

// One texel to a pixel.
static void test_texture(void **state) {
    (void)state;
    Flat f;
    double texel[3 * PIXELS];
    const double full[] = {-1, -1, 1, 1, -1, 1, 1, 1, 1, -1, 1, 1}, uv[] = {0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1};
    for (size_t i = 0; i < 3 * PIXELS; i++) texel[i] = test_uniform(20, i);
    for (int method = RASTER_SOFT; method <= RASTER_HARD; method++) {
        flat_init(&f, full, 2);
        f.mesh.texel = texel, f.mesh.uv = uv, f.mesh.texture_H = f.mesh.texture_W = SIDE;
        flat_draw(&f, (RasterOptions){.method = (RasterMethod)method});
        for (int i = 0; i < 3 * PIXELS; i++) assert_close(f.shown[i], texel[i], 1e-9, 0);
    }
}

// Lambert, Phong and harmonics on the square that faces the camera, n = (0, 0, -1).
static void test_light(void **state) {
    (void)state;
    Flat f;
    double harmonics[27] = {0};
    flat_init(&f, square, 2);
    f.light = (RasterLight){.direction = {0.6, 0, -0.8}, .colour = {1, 2, 3}};
    f.scene.lights = 1;
    f.scene.harmonics = harmonics;
    harmonics[0] = 0.5, harmonics[6] = 0.25; // Y_00 and Y_10 = 0.4886 z
    f.mesh.specular = 0.3, f.mesh.shininess = 2;
    for (int i = 0; i < 12; i++) f.colour[i] = 0.5;
    flat_draw(&f, (RasterOptions){.method = RASTER_HARD});
    // pixel (8, 12) lies on the diagonal, 1/24 of the way from (-0.5, -0.25, 1) to (0.25, 0.5, 1); reflection (-0.6, 0,
    // -0.8)
    double one = (0.5 * -0.6 + 0.8) / sqrt(0.5 * 0.5 + 0.25 * 0.25 + 1);
    double two = (-0.25 * -0.6 + 0.8) / sqrt(0.25 * 0.25 + 0.5 * 0.5 + 1);
    double shine = 0.3 * (one * one + (two * two - one * one) / 24);
    double factor = 0.5 * (0.8 + 0.5 * 0.28209479177387814 - 0.25 * 0.48860251190291992);
    assert_close(f.shown[3 * (12 * SIDE + 8)], factor + shine, 1e-12, 0);
    f.light.direction[2] = 0.8; // from behind
    flat_draw(&f, (RasterOptions){.method = RASTER_HARD});
    assert_close(f.shown[3 * (12 * SIDE + 8)], factor - 0.5 * 0.8, 1e-12, 0);
}

// A square at depth 1 throws its shadow on a wall at depth 3, in parallel light.
static void test_shadow(void **state) {
    (void)state;
    Flat f;
    const double wall[] = {-4, -4, 3, 4, -4, 3, 4, 4, 3, -4, 4, 3};
    flat_init(&f, square, 2);
    RasterMesh both[2] = {f.mesh, f.mesh};
    both[1].position = wall;
    f.scene.mesh = both, f.scene.meshes = 2, f.scene.lights = 1;
    f.light = (RasterLight){.direction = {1.2, 0, -1}, .colour = {1, 1, 1}, .shadow = true};
    flat_draw(&f, (RasterOptions){.method = RASTER_HARD, .shadow_size = 2048});
    int dark = 0;
    for (int i = 0; i < PIXELS; i++) {
        double x = 3 * centre(i % SIDE) + 2.4, y = 3 * centre(i / SIDE); // where the light comes through at depth 1
        double border = fmin(fmin(fabs(x + 0.5), fabs(x - 0.25)), fmin(fabs(y + 0.25), fabs(y - 0.5)));
        bool shadow = f.face[i] >= 2 && x > -0.5 && x < 0.25 && y > -0.25 && y < 0.5;
        if (border < 8.0 / 2048 * 2) continue; // two texels of the map
        assert_close(f.shown[3 * i], shadow ? 0 : 1 / sqrt(2.44), 1e-9, 0);
        dark += shadow;
    }
    assert_true(dark > 5);
}

// ---- scenes with nothing to see

static void expect_nothing(Flat *f) {
    for (int method = RASTER_SOFT; method <= RASTER_HARD; method++) {
        Error err;
        double loss[3 * PIXELS], position[12], colour[12];
        for (int i = 0; i < 3 * PIXELS; i++) loss[i] = 1;
        Raster *raster = test_raster((RasterOptions){.method = (RasterMethod)method});
        RasterMeshGradient mesh = {position, colour, NULL};
        RasterGradient g = {.mesh = &mesh};
        f->scene.background[1] = 0.5;
        assert_status_ok(
            raster_draw(raster, &f->scene, &f->camera, &(RasterPicture){f->shown, f->alpha, f->depth, f->face}, &err),
            err);
        assert_status_ok(raster_gradient(raster, &f->scene, &f->camera, &(RasterLoss){loss, loss, loss}, &g, &err),
                         err);
        for (int i = 0; i < PIXELS; i++) {
            assert_true(f->shown[3 * i] == 0 && f->shown[3 * i + 1] == 0.5 && f->shown[3 * i + 2] == 0);
            assert_true(f->alpha[i] == 0 && f->depth[i] == 0 && f->face[i] == -1);
        }
        assert_close(g.background[0], PIXELS, 1e-6, 0);
        for (int k = 0; k < 6; k++) assert_true(g.pose[k] == 0);
        for (size_t k = 0; k < 3 * f->mesh.vertices && f->scene.meshes; k++)
            assert_true(position[k] == 0 && colour[k] == 0);
        raster_close(raster);
    }
}

static void test_nothing(void **state) {
    (void)state;
    Flat f;
    const double point[] = {0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1}, line[] = {-1, 0, 1, 0, 0, 1, 1, 0, 1, 0.5, 0, 1},
                 behind[] = {-1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, -1},
                 beyond[] = {-9, -9, 11, 9, -9, 11, 9, 9, 11, -9, 9, 11},
                 beside[] = {5, -1, 1, 6, -1, 1, 6, 1, 1, 5, 1, 1}, edge_on[] = {0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4},
                 huge[] = {1e60, 1e60, 1, 1e61, 1e60, 1, 1e61, 1e61, 1, 1e60, 1e61, 1};
    const double *const scenes[] = {point, line, behind, beyond, beside, edge_on, huge};
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        flat_init(&f, scenes[i], 2);
        expect_nothing(&f);
    }
    flat_init(&f, square, 0); // no faces
    expect_nothing(&f);
    f.mesh = (RasterMesh){0};
    expect_nothing(&f);
    f.scene.meshes = 0;
    expect_nothing(&f);
    double near, far;
    raster_depth_range(&f.scene, f.camera.world_from_camera, &near, &far);
    assert_true(near > 0 && near < far);
}

// ---- wrong input

static void expect_error(const Flat *f, const char *words) {
    Error err;
    Raster *raster = test_raster((RasterOptions){0});
    assert_status_error(raster_draw(raster, &f->scene, &f->camera, &(RasterPicture){0}, &err), STATUS_BAD_INPUT, err,
                        words);
    assert_status_error(raster_gradient(raster, &f->scene, &f->camera, &(RasterLoss){0}, &(RasterGradient){0}, &err),
                        STATUS_BAD_INPUT, err, "draw the picture");
    raster_close(raster);
}

static void test_wrong(void **state) {
    (void)state;
    Flat f;
    static const int32_t far_vertex[] = {0, 1, 4}, negative[] = {0, -1, 2};
    flat_init(&f, square, 1), f.position[5] = NAN, expect_error(&f, "mesh 0: the position of vertex 1 is not finite");
    flat_init(&f, square, 1), f.colour[9] = INFINITY, expect_error(&f, "the colour of vertex 3");
    flat_init(&f, square, 1), f.mesh.face = far_vertex, expect_error(&f, "face 0 names vertex 4 of 4");
    flat_init(&f, square, 1), f.mesh.face = negative, expect_error(&f, "face 0 names vertex -1 of 4");
    flat_init(&f, square, 1), f.mesh.texel = square, expect_error(&f, "no uv");
    flat_init(&f, square, 1), f.mesh.texel = f.mesh.uv = square, expect_error(&f, "a texture of 0 x 0");
    flat_init(&f, square, 1), f.mesh.specular = 1, expect_error(&f, "shininess is at least 1");
    flat_init(&f, square, 1), f.scene.lights = 1, expect_error(&f, "light 0 has no direction");
    flat_init(&f, square, 1), f.scene.background[2] = NAN, expect_error(&f, "the background's colour");
    flat_init(&f, square, 1), f.camera.near = 0, expect_error(&f, "near 0 and far 10");
    flat_init(&f, square, 1), f.camera.far = NAN, expect_error(&f, "expected 0 < near < far");
    flat_init(&f, square, 1), f.camera.W = 20000, expect_error(&f, "a picture of 32 x 20000");
    flat_init(&f, square, 1), f.camera.K[0] = NAN, expect_error(&f, "the camera has a number");
    const RasterOptions wrong[] = {{.sigma = -1}, {.gamma = NAN}, {.samples = 3}, {.shadow_size = -1}, {.isa = "mmx"}};
    const char *const words[] = {"sigma is -1", "gamma is", "3 samples", "side -1", "mmx: not compiled in"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        Raster *raster;
        Error err;
        assert_status_error(raster_open(&wrong[i], &raster, &err), STATUS_BAD_INPUT, err, words[i]);
        assert_null(raster);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_square), cmocka_unit_test(test_sharp),   cmocka_unit_test(test_edge),
        cmocka_unit_test(test_ground), cmocka_unit_test(test_texture), cmocka_unit_test(test_light),
        cmocka_unit_test(test_shadow), cmocka_unit_test(test_nothing), cmocka_unit_test(test_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
