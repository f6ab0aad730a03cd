// SPDX-License-Identifier: Apache-2.0
// Scenes for tests of the rasterisers: a bumpy textured sheet that shines, a pyramid with coloured corners in front of
// it, and a triangle that crosses the near plane.
#ifndef VPD_TESTS_RASTER_SCENE_H
#define VPD_TESTS_RASTER_SCENE_H

#include "base/camera.h"
#include "base/random.h"
#include "raster/raster.h"
#include "tests/test.h"

enum {
    SHEET = 4,
    SHEET_VERTICES = SHEET * SHEET,
    SHEET_FACES = 2 * (SHEET - 1) * (SHEET - 1),
    TEXTURE = 5,
    TEXELS = 75
};

typedef struct TestScene {
    double sheet[3 * SHEET_VERTICES], sheet_colour[3 * SHEET_VERTICES], uv[6 * SHEET_FACES], texel[TEXELS];
    int32_t sheet_face[3 * SHEET_FACES];
    double pyramid[12], pyramid_colour[12], bar[9], bar_colour[9], harmonics[27];
    RasterMesh mesh[3];
    RasterLight light[2];
    RasterScene scene;
    RasterCamera camera;
} TestScene;

static inline double test_uniform(uint32_t stream, size_t i) { // -1 to 1
    return 2 * (double)random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST, .step = stream}, i) - 1;
}

static inline void test_sheet(TestScene *s) {
    size_t f = 0;
    for (size_t v = 0; v < SHEET_VERTICES; v++) {
        double x = (double)(v % SHEET) / (SHEET - 1) - 0.5, y = (double)(v / SHEET) / (SHEET - 1) - 0.5;
        s->sheet[3 * v] = 1.6 * x + 0.05 * test_uniform(0, 3 * v);
        s->sheet[3 * v + 1] = 1.3 * y + 0.05 * test_uniform(0, 3 * v + 1);
        s->sheet[3 * v + 2] = 0.15 * test_uniform(0, 3 * v + 2);
    }
    for (int32_t v = 0; v < SHEET_VERTICES - SHEET; v++) {
        if (v % SHEET == SHEET - 1) continue;
        const int32_t corner[6] = {v, v + SHEET, v + 1, v + 1, v + SHEET, v + SHEET + 1};
        for (size_t k = 0; k < 6; k++, f++) {
            s->sheet_face[f] = corner[k];
            s->uv[2 * f] = (double)(corner[k] % SHEET) / (SHEET - 1) * 0.8 + 0.1 + 0.01 * test_uniform(1, f);
            s->uv[2 * f + 1] = (double)(corner[k] / SHEET) / (SHEET - 1) * 0.8 + 0.1;
        }
    }
}

static inline void test_scene(TestScene *s) {
    static const int32_t pyramid_face[] = {0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2}, bar_face[] = {0, 1, 2};
    static const double pyramid[] = {0.05, 0.1, -0.75, 0.33, 0.02, -0.4, -0.21, 0.35, -0.42, -0.13, -0.27, -0.38};
    static const double bar[] = {0.31, -0.42, 0.1, 0.52, -0.36, 0.2, 0.9, -0.6, -3.1}, eye[] = {0.3, -0.4, -2.1};
    memset(s, 0, sizeof *s);
    test_sheet(s);
    memcpy(s->pyramid, pyramid, sizeof pyramid);
    memcpy(s->bar, bar, sizeof bar);
    for (size_t i = 0; i < 3 * SHEET_VERTICES; i++) s->sheet_colour[i] = 0.7 + 0.3 * test_uniform(2, i);
    for (size_t i = 0; i < TEXELS; i++) s->texel[i] = 0.5 + 0.5 * test_uniform(3, i);
    for (size_t i = 0; i < 12; i++) s->pyramid_colour[i] = 0.5 + 0.5 * test_uniform(4, i);
    for (size_t i = 0; i < 9; i++) s->bar_colour[i] = 0.5 + 0.5 * test_uniform(5, i);
    for (size_t i = 0; i < 27; i++) s->harmonics[i] = i < 3 ? 1 : 0.2 * test_uniform(6, i);
    s->mesh[0] = (RasterMesh){.vertices = SHEET_VERTICES,
                              .faces = SHEET_FACES,
                              .position = s->sheet,
                              .face = s->sheet_face,
                              .colour = s->sheet_colour,
                              .texel = s->texel,
                              .uv = s->uv,
                              .texture_H = TEXTURE,
                              .texture_W = TEXTURE,
                              .smooth = true,
                              .specular = 0.4,
                              .shininess = 3.5};
    s->mesh[1] = (RasterMesh){
        .vertices = 4, .faces = 4, .position = s->pyramid, .face = pyramid_face, .colour = s->pyramid_colour};
    s->mesh[2] = (RasterMesh){.vertices = 3, .faces = 1, .position = s->bar, .face = bar_face, .colour = s->bar_colour};
    s->light[0] = (RasterLight){{0.4, -0.3, -1.2}, {0.6, 0.5, 0.4}, true};
    s->light[1] = (RasterLight){{-1, 0.2, -0.7}, {0.2, 0.3, 0.5}, false};
    s->scene = (RasterScene){.mesh = s->mesh,
                             .meshes = 3,
                             .light = s->light,
                             .lights = 2,
                             .harmonics = s->harmonics,
                             .background = {0.1, 0.2, 0.3}};
    s->camera = (RasterCamera){.H = 20, .W = 26, .near = 0.4, .far = 4};
    camera_intrinsics_from_fov(0.8, 20, 26, s->camera.K);
    s->camera.K[2] += 0.7; // the principal point is not in the middle
    camera_look_at(eye, (double[]){0.03, 0.02, 0}, (double[]){0.1, -1, 0}, s->camera.world_from_camera);
}

enum { TEST_PIXELS = 20 * 26 };

typedef struct TestPicture {
    double colour[3 * TEST_PIXELS], alpha[TEST_PIXELS], depth[TEST_PIXELS];
    int32_t face[TEST_PIXELS];
} TestPicture;

static inline RasterPicture test_arrays(TestPicture *p) {
    return (RasterPicture){p->colour, p->alpha, p->depth, p->face};
}

static inline Raster *test_raster(RasterOptions options) {
    Raster *raster;
    Error err;
    assert_status_ok(raster_open(&options, &raster, &err), err);
    return raster;
}

#endif
