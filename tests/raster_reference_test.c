// SPDX-License-Identifier: Apache-2.0
// The rasterisers against PyTorch's values (benchmarks/pytorch/raster.py), pictures and gradients, in f64 and f32; and
// the front face of each pixel against rays that meet every face in turn.
#include "tests/gnn_reference_file.h"
#include "tests/raster_scene.h"

#define RASTER_REFERENCE "tests/reference/raster.h5"

typedef struct Scene {
    ReferenceArray in[8];
    int32_t *face;
    RasterMesh mesh;
    RasterLight light;
    RasterScene scene;
    RasterCamera camera;
    RasterOptions options;
} Scene;

enum { POSITION, FACE, COLOUR, DIRECTION, LIGHT, INTRINSICS, POSE, BACKGROUND };
static const char *const names[] = {"position",          "face",      "colour", "direction", "light", "K",
                                    "world_from_camera", "background"};

static void read_scene(const Reference *r, Scene *s) {
    *s = (Scene){.options = {.precision = RASTER_F64,
                             .sigma = reference_number(r, "sigma"),
                             .gamma = reference_number(r, "gamma"),
                             .delta = reference_number(r, "delta")}};
    for (int i = 0; i < 8; i++) {
        char path[64];
        snprintf(path, sizeof path, "in/%s", names[i]);
        s->in[i] = reference_read(r, path);
        if (!s->in[i].v) fail_msg("%s has no %s", r->group, path);
    }
    size_t faces = s->in[FACE].rows;
    s->face = calloc(3 * faces, sizeof *s->face);
    for (size_t i = 0; i < 3 * faces; i++) s->face[i] = (int32_t)s->in[FACE].v[i];
    s->mesh = (RasterMesh){.vertices = s->in[POSITION].rows,
                           .faces = faces,
                           .position = s->in[POSITION].v,
                           .face = s->face,
                           .colour = s->in[COLOUR].v};
    memcpy(s->light.direction, s->in[DIRECTION].v, sizeof s->light.direction);
    memcpy(s->light.colour, s->in[LIGHT].v, sizeof s->light.colour);
    s->scene = (RasterScene){.mesh = &s->mesh, .meshes = 1, .light = &s->light, .lights = 1};
    memcpy(s->scene.background, s->in[BACKGROUND].v, sizeof s->scene.background);
    s->camera = (RasterCamera){.H = (int)reference_number(r, "H"),
                               .W = (int)reference_number(r, "W"),
                               .near = reference_number(r, "near"),
                               .far = reference_number(r, "far")};
    memcpy(s->camera.K, s->in[INTRINSICS].v, sizeof s->camera.K);
    memcpy(s->camera.world_from_camera, s->in[POSE].v, sizeof s->camera.world_from_camera);
}

static void free_scene(Scene *s) {
    for (int i = 0; i < 8; i++) reference_free(&s->in[i]);
    free(s->face);
}

static double off(const Reference *r, const char *name, const double *got, size_t count) {
    ReferenceArray want = reference_read(r, name);
    double size = 1e-3, most = want.v && want.rows * want.cols == count ? 0 : INFINITY;
    for (size_t i = 0; i < count && most == 0; i++) size = fmax(size, fabs(want.v[i]));
    for (size_t i = 0; i < count && isfinite(most); i++) {
        double d = fabs(got[i] - want.v[i]) / size;
        most = d <= most ? most : isnan(d) ? INFINITY : d;
    }
    reference_free(&want);
    return most;
}

// The largest difference of picture and gradients; `spoil` changes a face first.
static double compare_case(const Reference *r, RasterMethod method, RasterPrecision precision, bool spoil) {
    Scene s;
    Error err;
    read_scene(r, &s);
    s.options.method = method, s.options.precision = precision;
    if (spoil) s.face[4] = s.face[0];
    size_t count = (size_t)s.camera.H * (size_t)s.camera.W, V = s.mesh.vertices;
    double *room = calloc(12 * count + 6 * V, sizeof *room), *colour = room, *alpha = room + 3 * count,
           *both = room + 4 * count, *colour_grad = room + 8 * count, *alpha_grad = room + 11 * count,
           *position = room + 12 * count;
    ReferenceArray up = reference_read(r, "grad_out");
    RasterMeshGradient mesh = {position, position + 3 * V, NULL};
    RasterLightGradient light;
    RasterGradient gradient = {.mesh = &mesh, .light = &light};
    Raster *raster = test_raster(s.options);
    assert_status_ok(raster_draw(raster, &s.scene, &s.camera, &(RasterPicture){.colour = colour, .alpha = alpha}, &err),
                     err);
    for (size_t i = 0; i < 4 * count; i++) {
        both[i] = i % 4 < 3 ? colour[i / 4 * 3 + i % 4] : alpha[i / 4];
        *(i % 4 < 3 ? &colour_grad[i / 4 * 3 + i % 4] : &alpha_grad[i / 4]) = up.v[i];
    }
    assert_status_ok(
        raster_gradient(raster, &s.scene, &s.camera, &(RasterLoss){colour_grad, alpha_grad, NULL}, &gradient, &err),
        err);
    const double error[] = {off(r, "out", both, 4 * count),
                            off(r, "grad/position", mesh.position, 3 * V),
                            off(r, "grad/colour", mesh.colour, 3 * V),
                            off(r, "grad/direction", light.direction, 3),
                            off(r, "grad/light", light.colour, 3),
                            off(r, "grad/background", gradient.background, 3)};
    double worst = 0;
    for (size_t i = 0; i < sizeof error / sizeof *error; i++) worst = fmax(worst, error[i]);
    raster_close(raster);
    reference_free(&up);
    free(room);
    free_scene(&s);
    return worst;
}

static void test_pytorch(void **state) {
    (void)state;
    static const struct {
        const char *group;
        RasterMethod method;
        double single; // what f32 may be off by. Thin faces count: the height of one is 1/300 of its length on the
                       // screen, so its weights have errors of 300 roundings, and l is up to 1/gamma times them
    } cases[] = {{"soft/plain", RASTER_SOFT, 3e-3},
                 {"soft/sharp", RASTER_SOFT, 3e-2},
                 {"dibr/plain", RASTER_DIBR, 1e-4},
                 {"dibr/wide", RASTER_DIBR, 1e-4}};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    Reference r = {.file = H5Fopen(RASTER_REFERENCE, H5F_ACC_RDONLY, H5P_DEFAULT)};
    assert_true(r.file >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(r.group, sizeof r.group, "%s", cases[i].group);
        double f64 = compare_case(&r, cases[i].method, RASTER_F64, false),
               f32 = compare_case(&r, cases[i].method, RASTER_F32, false),
               spoilt = compare_case(&r, cases[i].method, RASTER_F64, true);
        if (!(f64 < 1e-10 && f32 < cases[i].single && spoilt > 1e-3)) // f64: the same sums in another order
            fail_msg("%s: off by %.3g in f64, %.3g in f32, %.3g with a wrong face", r.group, f64, f32, spoilt);
    }
    H5Fclose(r.file);
}

// ---- rays

// Depth at which the ray through a pixel meets a triangle (Moeller and Trumbore); INFINITY if it does not.
static double ray_meets(const double o[3], const double d[3], const double *a, const double *b, const double *c) {
    double e[3], f[3], s[3], p[3], q[3];
    for (int i = 0; i < 3; i++) e[i] = b[i] - a[i], f[i] = c[i] - a[i], s[i] = o[i] - a[i];
    for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        p[i] = d[j] * f[k] - d[k] * f[j], q[i] = s[j] * e[k] - s[k] * e[j];
    }
    double det = e[0] * p[0] + e[1] * p[1] + e[2] * p[2], u = (s[0] * p[0] + s[1] * p[1] + s[2] * p[2]) / det,
           v = (d[0] * q[0] + d[1] * q[1] + d[2] * q[2]) / det;
    return u >= 0 && v >= 0 && u + v <= 1 ? (f[0] * q[0] + f[1] * q[1] + f[2] * q[2]) / det : INFINITY;
}

static double nearest_face(const TestScene *s, int pixel, int32_t *face) {
    double o[3], d[3], nearest = INFINITY;
    int32_t number = 0;
    for (int i = 0; i < 3; i++) o[i] = s->camera.world_from_camera[4 * i + 3];
    camera_unproject_pixel(s->camera.K, s->camera.world_from_camera, s->camera.W, (size_t)pixel, 1, d);
    for (int i = 0; i < 3; i++) d[i] -= o[i];
    *face = -1;
    for (size_t m = 0; m < s->scene.meshes; m++)
        for (size_t f = 0; f < s->mesh[m].faces; f++, number++) {
            const int32_t *v = s->mesh[m].face + 3 * f;
            const double *x = s->mesh[m].position;
            double z = ray_meets(o, d, x + 3 * v[0], x + 3 * v[1], x + 3 * v[2]);
            if (z >= s->camera.near && z <= s->camera.far && z < nearest) nearest = z, *face = number;
        }
    return *face < 0 ? 0 : nearest;
}

static void test_rays(void **state) {
    (void)state;
    TestScene s;
    TestPicture p;
    Error err;
    test_scene(&s);
    int seen[3] = {0};
    for (int k = 0; k < 4; k++) {
        Raster *raster = test_raster((RasterOptions){
            .method = k < 2 ? RASTER_HARD : RASTER_SOFT, .samples = 1 + k % 2, .precision = RASTER_F64});
        RasterPicture out = test_arrays(&p);
        assert_status_ok(raster_draw(raster, &s.scene, &s.camera, &out, &err), err);
        for (int i = 0; i < TEST_PIXELS; i++) {
            int32_t face;
            double depth = nearest_face(&s, i, &face);
            assert_int_equal(p.face[i], face);
            assert_close(p.depth[i], depth, 1e-12, 1e-9);
            if (face >= 0) seen[face < SHEET_FACES ? 0 : face < SHEET_FACES + 4 ? 1 : 2]++;
        }
        raster_close(raster);
    }
    assert_true(seen[0] > 100 && seen[1] > 20 && seen[2] > 20); // the last crosses the near plane
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pytorch), cmocka_unit_test(test_rays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
