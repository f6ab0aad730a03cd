// SPDX-License-Identifier: Apache-2.0
#include "raster/raster.h"

#include "base/threads.h"
#include "raster/check.h"
#include "raster/on_device.h"
#include "raster/surface.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CUT 1e-4 // a face is not seen by samples outside it for which D, or exp(-d2 / delta), would be less
enum { TEXEL_PARTS = 16 };
#define TEXEL_DOUBLES ((size_t)1 << 22) // of all parts; at least one part is made

struct Raster {
    RasterOptions options;
    const RasterBackend *backend;
    RasterOnDevice *on_device; // NULL on the CPU
    Arena memory;
    bool drawn;
    Prepared p;
    RasterGrid samples, pixels;
    Surface surface, centres; // of the samples; of the pixels' centres. slot NULL: not there
    RasterTiles near;         // tiles with the faces that reach them: RASTER_SOFT, RASTER_DIBR's silhouette
    double limit2;
    void *state;            // RASTER_SOFT
    uint8_t *covered;       // RASTER_DIBR
    double *colour, *alpha; // of the samples
};

// ---- opening

static RasterOptions with_defaults(RasterOptions o) {
    if (o.threads == 0) o.threads = threads_available();
    if (o.samples == 0) o.samples = 1;
    if (o.sigma == 0) o.sigma = 1e-5;
    if (o.gamma == 0) o.gamma = 1e-4;
    if (o.delta == 0) o.delta = 1.0 / 7000;
    if (o.shadow_size == 0) o.shadow_size = 1024;
    return o;
}

Status raster_open(const RasterOptions *options, Raster **out, Error *err) {
    RasterOptions o = with_defaults(*options);
    *out = NULL;
    Status status = raster_check_options(&o, err);
    if (status != STATUS_OK) return status;
    const bool on_device = o.device && o.device->raster;
    if (on_device) o.isa = NULL;
    const RasterBackend *backend = raster_backend(&o.isa, o.precision == RASTER_F64);
    if (!backend)
        return error_set(err, STATUS_BAD_INPUT,
                         "instruction set %s: not compiled in, or this processor does not run it; use avx512, avx2 or "
                         "base",
                         o.isa);
    Raster *r = calloc(1, sizeof *r);
    if (!r) return error_set(err, STATUS_FAILED, "out of memory for a rasteriser");
    r->options = o;
    r->backend = backend;
    r->limit2 = o.method == RASTER_SOFT ? o.sigma * log(1 / CUT - 1) : o.delta * log(1 / CUT);
    arena_init(&r->memory, arena_host_source());
    if (on_device && !raster_device_open(o.device, o.precision == RASTER_F64, backend, &r->on_device)) {
        raster_close(r);
        return error_set(err, STATUS_FAILED, "out of memory for a rasteriser");
    }
    if (on_device) r->backend = raster_device_table(r->on_device), r->options.isa = o.device->raster->name;
    *out = r;
    return STATUS_OK;
}

void raster_close(Raster *r) {
    if (!r) return;
    raster_device_close(r->on_device);
    arena_free(&r->memory);
    free(r);
}

size_t raster_peak_bytes(const Raster *r) { return r->memory.peak + raster_device_peak(r->on_device); }
const char *raster_isa(const Raster *r) { return r->options.isa; }

static size_t count_samples(const RasterGrid *grid) { return (size_t)grid->H * (size_t)grid->W; }

// ---- drawing

static RasterSoftArgs soft_args(const Raster *r) {
    RasterSoftArgs a = {.faces = &r->p.faces,
                        .tiles = &r->near,
                        .threads = r->options.threads,
                        .device = r->on_device,
                        .sigma = r->options.sigma,
                        .gamma = r->options.gamma,
                        .near = r->p.camera->near,
                        .far = r->p.camera->far,
                        .limit2 = r->limit2,
                        .colour = r->colour,
                        .alpha = r->alpha,
                        .state = r->state};
    memcpy(a.background, r->p.scene->background, sizeof a.background);
    return a;
}

static RasterCoverArgs cover_args(const Raster *r) {
    return (RasterCoverArgs){.faces = &r->p.faces,
                             .tiles = &r->near,
                             .threads = r->options.threads,
                             .device = r->on_device,
                             .delta = r->options.delta,
                             .limit2 = r->limit2,
                             .covered = r->covered,
                             .alpha = r->alpha};
}

static bool build_near(Raster *r) {
    return raster_tiles_build(&r->near, r->samples, r->p.faces.count, r->p.faces.place, sqrt(r->limit2), &r->memory);
}

static bool draw_soft(Raster *r) {
    r->state = arena_array(&r->memory, count_samples(&r->samples), RASTER_STATE * r->backend->real_bytes);
    if (!r->state || !build_near(r)) return false;
    RasterSoftArgs a = soft_args(r);
    r->backend->soft(&a);
    return true;
}

static bool draw_surface(Raster *r) {
    size_t count = count_samples(&r->samples);
    if (!raster_surface_find(&r->surface, r->backend, &r->p, r->samples, &r->memory)) return false;
    if (r->p.sets > 1 && !raster_surface_shadows(&r->surface, r->backend, &r->p, r->options.shadow_size,
                                                 r->colour, // not yet drawn
                                                 &r->memory))
        return false;
    raster_surface_draw(&r->surface, &r->p, r->colour, NULL);
    for (size_t i = 0; i < count; i++) r->alpha[i] = r->surface.slot[i] >= 0;
    if (r->options.method != RASTER_DIBR) return true;
    r->covered = arena_array(&r->memory, count, 1);
    if (!r->covered || !build_near(r)) return false;
    for (size_t i = 0; i < count; i++) r->covered[i] = r->surface.slot[i] >= 0;
    RasterCoverArgs a = cover_args(r);
    r->backend->cover(&a);
    return true;
}

// The front faces at the centres of the pixels.
static bool find_centres(Raster *r) {
    if (r->centres.slot) return true;
    r->centres = r->surface;
    return (r->surface.slot && r->options.samples == 1) ||
           raster_surface_find(&r->centres, r->backend, &r->p, r->pixels, &r->memory);
}

// Means over the samples of each pixel.
static void shrink(const Raster *r, const double *from, int channels, double *to) {
    size_t n = (size_t)r->options.samples, W = (size_t)r->pixels.W, C = (size_t)channels;
    if (n == 1) memcpy(to, from, count_samples(&r->pixels) * C * sizeof *to);
    for (size_t i = 0; n > 1 && i < (size_t)r->pixels.H * W; i++) {
        const double *first = from + (i / W * n * W + i % W) * n * C;
        for (size_t c = 0; c < C; c++) {
            double sum = 0;
            for (size_t y = 0; y < n; y++)
                for (size_t x = 0; x < n; x++) sum += first[(y * W * n + x) * C + c];
            to[i * C + c] = sum / (double)(n * n);
        }
    }
}

static void spread(const Raster *r, const double *from, int channels, double *to) {
    size_t n = (size_t)r->options.samples, W = (size_t)r->samples.W, C = (size_t)channels;
    for (size_t y = 0; y < (size_t)r->samples.H; y++)
        for (size_t i = 0; i < W * C; i++)
            to[y * W * C + i] = from[(y / n * (W / n) + i / C / n) * C + i % C] / (double)(n * n);
}

static bool write_picture(Raster *r, const RasterPicture *out) {
    if (out->colour) shrink(r, r->colour, 3, out->colour);
    if (out->alpha) shrink(r, r->alpha, 1, out->alpha);
    if (!out->depth && !out->face) return true;
    if (!find_centres(r)) return false;
    if (out->depth) raster_surface_draw(&r->centres, &r->p, NULL, out->depth);
    for (size_t i = 0; out->face && i < count_samples(&r->pixels); i++) {
        int32_t f = surface_face(&r->centres, i);
        out->face[i] = f < 0 ? -1 : r->p.source[f];
    }
    return true;
}

static void set_grids(Raster *r, const RasterCamera *camera) {
    int n = r->options.samples, shorter = camera->H < camera->W ? camera->H : camera->W;
    r->pixels = (RasterGrid){camera->H, camera->W, 2.0 / shorter};
    r->samples = (RasterGrid){n * camera->H, n * camera->W, 2.0 / shorter / n};
}

static bool draw(Raster *r, const RasterScene *scene, const RasterCamera *camera, const RasterPicture *out) {
    size_t count = count_samples(&r->samples);
    bool shadows = r->options.method == RASTER_HARD;
    r->surface = r->centres = (Surface){0};
    r->state = r->covered = NULL;
    if (!raster_prepare(&r->p, scene, camera, shadows, r->options.threads, r->on_device, &r->memory)) return false;
    r->colour = arena_array(&r->memory, 3 * count, sizeof *r->colour);
    r->alpha = arena_array(&r->memory, count, sizeof *r->alpha);
    if (!r->colour || !r->alpha) return false;
    if (!(r->options.method == RASTER_SOFT ? draw_soft(r) : draw_surface(r))) return false;
    return write_picture(r, out);
}

Status raster_draw(Raster *r, const RasterScene *scene, const RasterCamera *camera, const RasterPicture *out,
                   Error *err) {
    r->drawn = false;
    Status status = raster_check_scene(scene, err);
    if (status == STATUS_OK) status = raster_check_camera(camera, err);
    if (status != STATUS_OK) return status;
    arena_reset(&r->memory);
    set_grids(r, camera);
    r->drawn = draw(r, scene, camera, out);
    status = raster_device_status(r->on_device, err);
    if (status != STATUS_OK) r->drawn = false;
    return r->drawn || status != STATUS_OK ? status
                                           : error_no_memory(err, "a picture of %d x %d", r->pixels.H, r->pixels.W);
}

// ---- gradient

typedef struct Back {
    Raster *r;
    const double *colour, *alpha, *depth; // dLoss/d(samples), of depth d(pixels)
    double *face_grad;                    // (faces, prepared_row)
    RasterTexelSums texels;
} Back;

static bool begin_texels(Back *b, const RasterGradient *gradient) {
    const RasterScene *scene = b->r->p.scene;
    RasterTexelSums *t = &b->texels;
    size_t *first = arena_array(&b->r->memory, scene->meshes, sizeof *first);
    if (!first) return false;
    bool wanted = false;
    for (size_t m = 0; m < scene->meshes; m++) {
        const RasterMesh *mesh = &scene->mesh[m];
        first[m] = t->texels;
        t->texels += mesh->texel ? 3 * (size_t)mesh->texture_H * (size_t)mesh->texture_W : 0;
        wanted |= mesh->texel && gradient->mesh && gradient->mesh[m].texel;
    }
    t->first = first;
    if (!wanted) return true;
    t->parts = (size_t)TEXEL_PARTS * t->texels <= TEXEL_DOUBLES ? TEXEL_PARTS : (int)(TEXEL_DOUBLES / t->texels);
    t->parts = t->parts ? t->parts : 1;
    t->sum = arena_array(&b->r->memory, (size_t)t->parts * t->texels, sizeof *t->sum);
    if (t->sum) memset(t->sum, 0, (size_t)t->parts * t->texels * sizeof *t->sum);
    return t->sum;
}

static void end_texels(const Back *b, RasterGradient *gradient) {
    const RasterTexelSums *t = &b->texels;
    const RasterScene *scene = b->r->p.scene;
    for (int part = 1; part < t->parts; part++)
        for (size_t i = 0; i < t->texels; i++) t->sum[i] += t->sum[(size_t)part * t->texels + i];
    for (size_t m = 0; m < scene->meshes && t->parts; m++)
        if (gradient->mesh[m].texel && scene->mesh[m].texel)
            memcpy(gradient->mesh[m].texel, t->sum + t->first[m],
                   3 * (size_t)scene->mesh[m].texture_H * (size_t)scene->mesh[m].texture_W * sizeof(double));
}

// Adds the slots' gradients, rows of `row` values, to those of their faces, in the order of the slots.
static void add_slots(const Back *b, const RasterTiles *tiles, const double *slot_grad, size_t row) {
    size_t face_row = prepared_row(&b->r->p), slots = raster_tiles_slots(tiles);
    for (size_t k = 0; k < slots; k++) {
        double *to = b->face_grad + (size_t)tiles->face[k] * face_row;
        for (size_t i = 0; i < row; i++) to[i] += slot_grad[k * row + i];
    }
}

static double *slot_rows(const Back *b, const RasterTiles *tiles, size_t row) {
    return arena_array(&b->r->memory, raster_tiles_slots(tiles) * row, sizeof(double));
}

static bool soft_back(Back *b) {
    size_t row = raster_row(&b->r->p.faces);
    RasterSoftArgs a = soft_args(b->r);
    a.colour_grad = b->colour, a.alpha_grad = b->alpha, a.texels = b->texels;
    a.slot_grad = slot_rows(b, a.tiles, row);
    if (!a.slot_grad) return false;
    b->r->backend->soft_back(&a);
    add_slots(b, a.tiles, a.slot_grad, row);
    return true;
}

static bool cover_back(Back *b) {
    size_t row = raster_row(&b->r->p.faces);
    RasterCoverArgs a = cover_args(b->r);
    a.alpha_grad = b->alpha;
    a.slot_grad = slot_rows(b, a.tiles, row);
    if (!a.slot_grad) return false;
    b->r->backend->cover_back(&a);
    add_slots(b, a.tiles, a.slot_grad, row);
    return true;
}

static bool surface_back(Back *b, const Surface *surface, const double *colour, const double *depth) {
    size_t row = prepared_row(&b->r->p);
    double *slot_grad = slot_rows(b, &surface->tiles, row);
    if (!slot_grad) return false;
    raster_surface_back(surface, &b->r->p, colour, depth, slot_grad, &b->texels);
    add_slots(b, &surface->tiles, slot_grad, row);
    return true;
}

// The share of the background in each sample: SoftRas weighs it, else it is there where no face is.
static void background_back(const Back *b, double out[3]) {
    const Raster *r = b->r;
    size_t count = count_samples(&r->samples);
    double first = 1e-3 / r->options.gamma;
    memset(out, 0, 3 * sizeof *out);
    for (size_t i = 0; b->colour && i < count; i++) {
        double share = r->surface.slot && r->surface.slot[i] < 0;
        if (r->state && r->backend->real_bytes == sizeof(float)) {
            const float *state = r->state;
            share = exp(first - (double)state[i]) / (double)state[count + i];
        } else if (r->state) {
            const double *state = r->state;
            share = exp(first - state[i]) / state[count + i];
        }
        for (size_t c = 0; c < 3; c++) out[c] += share * b->colour[3 * i + c];
    }
}

static bool spread_loss(Back *b, const RasterLoss *loss) {
    Raster *r = b->r;
    size_t count = count_samples(&r->samples);
    b->colour = loss->colour, b->alpha = loss->alpha, b->depth = loss->depth;
    if (r->options.samples == 1) return true;
    double *colour = arena_array(&r->memory, 3 * count, sizeof *colour);
    double *alpha = arena_array(&r->memory, count, sizeof *alpha);
    if (!colour || !alpha) return false;
    if (loss->colour) spread(r, loss->colour, 3, colour), b->colour = colour;
    if (loss->alpha) spread(r, loss->alpha, 1, alpha), b->alpha = alpha;
    return true;
}

static bool gradient_of(Raster *r, const RasterLoss *loss, RasterGradient *gradient) {
    Back b = {.r = r};
    size_t values = r->p.faces.count * prepared_row(&r->p);
    b.face_grad = arena_array(&r->memory, values, sizeof *b.face_grad);
    if (!b.face_grad || !spread_loss(&b, loss) || !begin_texels(&b, gradient)) return false;
    memset(b.face_grad, 0, values * sizeof *b.face_grad);
    if (r->state && (b.colour || b.alpha) && !soft_back(&b)) return false;
    if (r->surface.slot && b.colour && !surface_back(&b, &r->surface, b.colour, NULL)) return false;
    if (r->covered && b.alpha && !cover_back(&b)) return false;
    if (b.depth && (!find_centres(r) || !surface_back(&b, &r->centres, NULL, b.depth))) return false;
    background_back(&b, gradient->background);
    end_texels(&b, gradient);
    return raster_prepare_back(&r->p, b.face_grad, gradient, &r->memory);
}

Status raster_gradient(Raster *r, const RasterScene *scene, const RasterCamera *camera, const RasterLoss *loss,
                       RasterGradient *gradient, Error *err) {
    if (!r->drawn) return error_set(err, STATUS_BAD_INPUT, "draw the picture before its gradient");
    r->p.scene = scene, r->p.camera = camera;
    ArenaMark before = arena_mark(&r->memory);
    Surface centres = r->centres;
    bool ok = gradient_of(r, loss, gradient);
    r->centres = centres; // those that were found here are released
    arena_release(&r->memory, before);
    Status status = raster_device_status(r->on_device, err);
    return ok || status != STATUS_OK ? status : error_no_memory(err, "a picture of %d x %d", r->pixels.H, r->pixels.W);
}

// ---- depth of the scene

void raster_depth_range(const RasterScene *scene, const double pose[16], double *near, double *far) {
    double low = INFINITY, high = 0;
    for (size_t m = 0; m < scene->meshes; m++)
        for (size_t v = 0; v < scene->mesh[m].vertices; v++) {
            const double *x = scene->mesh[m].position + 3 * v;
            double z = 0;
            for (int i = 0; i < 3; i++) z += pose[4 * i + 2] * (x[i] - pose[4 * i + 3]);
            if (z > 0) low = fmin(low, z), high = fmax(high, z);
        }
    *near = high > 0 ? fmax(0.5 * low, 1e-3 * high) : 1e-3;
    *far = high > 0 ? high + 0.25 * (high - *near) : 1;
}
