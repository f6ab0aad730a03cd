// SPDX-License-Identifier: Apache-2.0
#include "bench/raster_bench.h"

#include "base/camera.h"
#include "bench/raster_cases.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WARM_UP = 2 };

static const struct {
    const char *name;
    RasterMethod method;
    RasterPrecision precision;
    int across, around, side;
} benches[RASTER_BENCHES] = {
    {"soft", RASTER_SOFT, RASTER_F32, 25, 20, 128},     {"soft", RASTER_SOFT, RASTER_F32, 100, 50, 256},
    {"soft", RASTER_SOFT, RASTER_F64, 25, 20, 128},     {"soft", RASTER_SOFT, RASTER_F64, 100, 50, 256},
    {"dib-r", RASTER_DIBR, RASTER_F32, 25, 20, 128},    {"dib-r", RASTER_DIBR, RASTER_F32, 100, 50, 256},
    {"z-buffer", RASTER_HARD, RASTER_F32, 25, 20, 128}, {"z-buffer", RASTER_HARD, RASTER_F32, 100, 50, 256},
};

typedef struct Bench {
    Device *device;
    RasterMesh mesh;
    RasterLight light;
    RasterScene scene;
    RasterCamera camera;
    RasterPicture picture;
    RasterMeshGradient mesh_gradient;
    RasterLightGradient light_gradient;
    RasterGradient gradient;
    double *room; // every array of doubles
    int32_t *face;
    Raster *raster;
} Bench;

// Distance of the tube from the axis 1 m, radius of the tube 0.4 m; u goes around the axis, v around the tube.
static void fill_torus(double *position, double *colour, int32_t *face, int across, int around) {
    for (int i = 0; i < across * around; i++) {
        int j = i / around, k = i % around, next = (j + 1) % across, above = (k + 1) % around;
        double u = 6.283185307179586 * j / across, v = 6.283185307179586 * k / around;
        double r = 1 + 0.4 * cos(v), at[3] = {r * cos(u), r * sin(u), 0.4 * sin(v)};
        int32_t a = (int32_t)i, b = (int32_t)(next * around + k), c = (int32_t)(next * around + above),
                d = (int32_t)(j * around + above), corner[6] = {a, b, c, a, c, d};
        memcpy(position + 3 * i, at, sizeof at);
        memcpy(face + 6 * i, corner, sizeof corner);
        colour[3 * i] = 0.5 + 0.4 * cos(u), colour[3 * i + 1] = 0.5 + 0.4 * cos(v), colour[3 * i + 2] = 0.6;
    }
}

static double *take(double **room, size_t count) {
    double *out = *room;
    *room += count;
    return out;
}

static Status make_bench(Bench *b, int number, Error *err) {
    const double eye[3] = {0.4, -1.9, 2.3}, target[3] = {0}, up[3] = {0, 0, 1};
    int across = benches[number].across, around = benches[number].around, side = benches[number].side;
    size_t vertices = (size_t)across * (size_t)around, pixels = (size_t)side * (size_t)side;
    double *room = b->room = calloc(12 * vertices + 5 * pixels, sizeof *room);
    b->face = calloc(6 * vertices, sizeof *b->face);
    if (!b->room || !b->face) return error_set(err, STATUS_FAILED, "out of memory for a torus");
    double *position = take(&room, 3 * vertices), *colour = take(&room, 3 * vertices);
    fill_torus(position, colour, b->face, across, around);
    b->mesh = (RasterMesh){.vertices = vertices,
                           .faces = 2 * vertices,
                           .position = position,
                           .face = b->face,
                           .colour = colour,
                           .smooth = true};
    b->mesh_gradient = (RasterMeshGradient){take(&room, 3 * vertices), take(&room, 3 * vertices), NULL};
    b->picture = (RasterPicture){.colour = take(&room, 3 * pixels), .alpha = take(&room, pixels)};
    if (benches[number].method != RASTER_SOFT) b->picture.depth = take(&room, pixels);
    b->light = (RasterLight){{0.5, -0.3, 1}, {0.9, 0.9, 0.9}, true};
    b->scene = (RasterScene){.mesh = &b->mesh, .meshes = 1, .light = &b->light, .lights = 1};
    b->gradient = (RasterGradient){.mesh = &b->mesh_gradient, .light = &b->light_gradient};
    b->camera = (RasterCamera){.H = side, .W = side};
    camera_intrinsics_from_fov(0.9, side, side, b->camera.K);
    camera_look_at(eye, target, up, b->camera.world_from_camera);
    raster_depth_range(&b->scene, b->camera.world_from_camera, &b->camera.near, &b->camera.far);
    return STATUS_OK;
}

static Status time_once(void *context, BenchTime *times, Error *err) {
    Bench *b = context;
    BenchTime start = bench_now(b->device);
    Status status = raster_draw(b->raster, &b->scene, &b->camera, &b->picture, err);
    times[0] = bench_since(b->device, start);
    if (status != STATUS_OK) return status;
    RasterLoss loss = {b->picture.colour, b->picture.alpha, b->picture.depth}; // any numbers
    start = bench_now(b->device);
    status = raster_gradient(b->raster, &b->scene, &b->camera, &loss, &b->gradient, err);
    times[1] = bench_since(b->device, start);
    return status;
}

Status raster_bench(Device *device, int number, int repetitions, RasterBench *out, Error *err) {
    BenchTime times[2] = {{0}};
    Bench b = {.device = device};
    RasterOptions options = raster_options_of(device, benches[number].method, benches[number].precision);
    *out = (RasterBench){.method = benches[number].name,
                         .precision = options.precision == RASTER_F64 ? "f64" : "f32",
                         .across = benches[number].across,
                         .around = benches[number].around,
                         .side = benches[number].side};
    Status status = make_bench(&b, number, err);
    if (status == STATUS_OK) status = raster_open(&options, &b.raster, err);
    if (status == STATUS_OK) status = bench_medians(time_once, &b, WARM_UP, repetitions, 2, times, err);
    out->forward = times[0], out->backward = times[1];
    if (status == STATUS_OK) out->peak_bytes = raster_peak_bytes(b.raster), out->isa = raster_isa(b.raster);
    raster_close(b.raster);
    free(b.room);
    free(b.face);
    return status;
}
