// SPDX-License-Identifier: Apache-2.0
#include "bench/raster_cases.h"

#include "base/camera.h"
#include "base/random.h"
#include "bench/case_error.h"
#include "gnn/backend.h"

#include <math.h>
#include <string.h>

// Exponentials and the order of sums differ, and gradients of edges cancel: the CPU's instruction sets differ by up to
// 7e-6 and 3e-15, and not at all for the z-buffer, whose colours are computed in double on the host.
const RasterCase raster_cases[] = {
    {"SoftRas", RASTER_SOFT, 1, false, {1e-4, 1e-12}},
    {"SoftRas, 2x2, texels", RASTER_SOFT, 2, true, {1e-4, 1e-12}},
    {"DIB-R", RASTER_DIBR, 1, true, {1e-4, 1e-12}},
    {"DIB-R, 2x2", RASTER_DIBR, 2, false, {1e-4, 1e-12}},
    {"z-buffer with shadows", RASTER_HARD, 1, true, {1e-4, 1e-12}},
};
const size_t raster_case_count = sizeof raster_cases / sizeof *raster_cases;

RasterOptions raster_options_of(Device *device, RasterMethod method, RasterPrecision precision) {
    RasterOptions o = {.method = method, .precision = precision, .threads = device->threads};
    if (device->raster) o.device = device;
    else o.isa = device->gnn->name;
    return o;
}

// ---- the scene

enum { ACROSS = 9, AROUND = 7, SIDE = 6, TEXTURE = 5, H = 37, W = 50 };
enum { TORUS = ACROSS * AROUND, SHEET = SIDE * SIDE, SHEET_FACES = 2 * (SIDE - 1) * (SIDE - 1) };

typedef struct CaseScene {
    double torus[3 * TORUS], torus_colour[3 * TORUS], sheet[3 * SHEET], sheet_colour[3 * SHEET], uv[6 * SHEET_FACES],
        texel[3 * TEXTURE * TEXTURE], harmonics[27];
    int32_t torus_face[6 * TORUS], sheet_face[3 * SHEET_FACES];
    RasterMesh mesh[2];
    RasterLight light[2];
    RasterScene scene;
    RasterCamera camera;
} CaseScene;

static double random_number(uint32_t stream, size_t i) { // in -1 .. 1
    return 2 * (double)random_uniform((RandomKey){.seed = 11, .purpose = RANDOM_TEST, .step = stream}, i) - 1;
}

static void make_torus(CaseScene *s) {
    for (int i = 0; i < TORUS; i++) {
        const int j = i / AROUND, k = i % AROUND, next = (j + 1) % ACROSS, above = (k + 1) % AROUND;
        const double u = 6.283185307179586 * j / ACROSS, v = 6.283185307179586 * k / AROUND, r = 0.5 + 0.2 * cos(v);
        const double at[3] = {r * cos(u), 0.2 * sin(v), r * sin(u)};
        const int32_t a = next * AROUND + k, b = next * AROUND + above, c = j * AROUND + above;
        const int32_t corner[6] = {i, a, b, i, b, c};
        memcpy(s->torus_face + 6 * i, corner, sizeof corner);
        for (size_t n = 0; n < 3; n++) {
            const size_t entry = 3 * (size_t)i + n;
            s->torus[entry] = at[n] + 0.01 * random_number(0, entry);
            s->torus_colour[entry] = 0.6 + 0.4 * random_number(1, entry);
        }
    }
}

static void make_sheet(CaseScene *s) {
    size_t f = 0;
    for (size_t v = 0; v < SHEET; v++) {
        const size_t column = v % SIDE, row = v / SIDE;
        s->sheet[3 * v] = 2.5 * ((double)column / (SIDE - 1) - 0.5) + 0.03 * random_number(2, 3 * v);
        s->sheet[3 * v + 1] = 2.1 * ((double)row / (SIDE - 1) - 0.5) + 0.03 * random_number(2, 3 * v + 1);
        s->sheet[3 * v + 2] = 0.9 + 0.1 * random_number(2, 3 * v + 2);
    }
    for (int32_t v = 0; v < SHEET - SIDE; v++) {
        if (v % SIDE == SIDE - 1) continue;
        const int32_t corner[6] = {v, v + SIDE, v + 1, v + 1, v + SIDE, v + SIDE + 1};
        for (size_t k = 0; k < 6; k++, f++) {
            const int32_t column = corner[k] % SIDE, row = corner[k] / SIDE;
            s->sheet_face[f] = corner[k];
            s->uv[2 * f] = 0.1 + 0.8 * (double)column / (SIDE - 1) + 0.01 * random_number(3, f);
            s->uv[2 * f + 1] = 0.1 + 0.8 * (double)row / (SIDE - 1);
        }
    }
}

static void make_scene(CaseScene *s) {
    static const double eye[3] = {0.3, -0.5, -1.9}, target[3] = {0.05, 0, 0.1}, up[3] = {0.1, -1, 0};
    memset(s, 0, sizeof *s);
    make_torus(s);
    make_sheet(s);
    for (size_t i = 0; i < 3 * SHEET; i++) s->sheet_colour[i] = 0.7 + 0.3 * random_number(4, i);
    for (size_t i = 0; i < 3 * TEXTURE * TEXTURE; i++) s->texel[i] = 0.5 + 0.5 * random_number(5, i);
    for (size_t i = 0; i < 27; i++) s->harmonics[i] = i < 3 ? 0.5 : 0.1 * random_number(6, i);
    s->mesh[0] = (RasterMesh){
        .vertices = TORUS, .faces = 2 * TORUS, .position = s->torus, .face = s->torus_face, .colour = s->torus_colour};
    s->mesh[1] = (RasterMesh){.vertices = SHEET,
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
    s->light[0] = (RasterLight){{0.4, -0.6, -1.2}, {0.6, 0.5, 0.4}, true};
    s->light[1] = (RasterLight){{-1, 0.2, -0.7}, {0.2, 0.3, 0.5}, false};
    s->scene = (RasterScene){.mesh = s->mesh,
                             .meshes = 2,
                             .light = s->light,
                             .lights = 2,
                             .harmonics = s->harmonics,
                             .background = {0.1, 0.2, 0.3}};
    s->camera = (RasterCamera){.H = H, .W = W, .near = 0.8, .far = 4};
    camera_intrinsics_from_fov(0.8, H, W, s->camera.K);
    camera_look_at(eye, target, up, s->camera.world_from_camera);
}

// ---- running

static double *take(RasterCaseRun *r, const char *name, size_t count) {
    int k = 0;
    while (r->array[k]) k++;
    double *out = r->array[k] = arena_array(&r->memory, count, sizeof *out);
    r->count[k] = count;
    r->name[k] = name;
    if (out) memset(out, 0, count * sizeof *out);
    return out;
}

static Status run(Raster *raster, const RasterCase *c, CaseScene *s, RasterCaseRun *r, Error *err) {
    enum { PIXELS = H * W };
    const bool depth = c->method != RASTER_SOFT;
    double *weight = arena_array(&r->memory, 5 * PIXELS, sizeof *weight);
    const RasterPicture picture = {take(r, "colour", 3 * PIXELS), take(r, "alpha", PIXELS),
                                   depth ? take(r, "depth", PIXELS) : NULL, NULL};
    RasterMeshGradient mesh[2] = {{take(r, "torus", 3 * TORUS), take(r, "colours of the torus", 3 * TORUS), NULL},
                                  {take(r, "sheet", 3 * SHEET), take(r, "colours of the sheet", 3 * SHEET),
                                   c->texels ? take(r, "texels", 3 * TEXTURE * TEXTURE) : NULL}};
    double *light = take(r, "lights", 12), *rest = take(r, "background and pose", 9);
    RasterLightGradient lights[2];
    RasterGradient g = {.mesh = mesh, .light = lights, .harmonics = take(r, "harmonics", 27)};
    if (!weight || !g.harmonics || !light || !rest || !mesh[1].colour || !picture.colour)
        return error_set(err, STATUS_FAILED, "out of memory for a case of the rasterisers");
    for (size_t i = 0; i < 5 * PIXELS; i++) weight[i] = random_number(9, i);
    const RasterLoss loss = {weight, weight + 3 * PIXELS, depth ? weight + 4 * PIXELS : NULL};
    Status status = raster_draw(raster, &s->scene, &s->camera, &picture, err);
    if (status == STATUS_OK) status = raster_gradient(raster, &s->scene, &s->camera, &loss, &g, err);
    if (status != STATUS_OK) return status;
    memcpy(light, lights, sizeof lights);
    memcpy(rest, g.background, sizeof g.background);
    memcpy(rest + 3, g.pose, sizeof g.pose);
    return STATUS_OK;
}

Status raster_case_run(const RasterCase *c, const RasterOptions *options, RasterCaseRun *out, Error *err) {
    RasterOptions used = *options;
    Raster *raster = NULL;
    *out = (RasterCaseRun){0};
    arena_init(&out->memory, arena_host_source());
    used.samples = c->samples;
    used.sigma = 1e-3; // faces reach over several samples
    used.gamma = 1e-2;
    used.delta = 2e-3;
    used.shadow_size = 64;
    CaseScene *scene = arena_alloc(&out->memory, sizeof *scene);
    if (!scene) return error_set(err, STATUS_FAILED, "out of memory for a case of the rasterisers");
    make_scene(scene);
    Status status = raster_open(&used, &raster, err);
    if (status == STATUS_OK) status = run(raster, c, scene, out, err);
    raster_close(raster);
    return status;
}

void raster_case_run_free(RasterCaseRun *run) { arena_free(&run->memory); }

// ---- comparing

double raster_case_error(const RasterCaseRun *expected, const RasterCaseRun *found, const char **where) {
    double worst = 0;
    *where = "";
    for (int k = 0; k < RASTER_CASE_ARRAYS && expected->array[k]; k++) {
        const double here = case_error(expected->array[k], found->array[k], expected->count[k]);
        if (here > worst) worst = here, *where = expected->name[k];
    }
    return worst;
}
