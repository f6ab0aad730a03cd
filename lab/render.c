// SPDX-License-Identifier: Apache-2.0
#include "lab/render.h"

#include "base/vector.h"
#include "lab/render_meshes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define Y_00 0.28209479177387814 // the constant spherical harmonic

typedef struct View {
    RasterScene scene;
    RasterCamera camera;
    double harmonics[27];
} View;

struct Render {
    const SimScene *scene;
    Raster *all, *objects; // objects: for the silhouette, where planes are drawn
    View view[2];          // of the last picture: of all, and of objects; the rasterisers keep pointers to it
    RenderMeshes meshes;
    RasterMeshGradient *mesh_gradient;   // (meshes)
    RasterLightGradient *light_gradient; // (lights)
    double *colour;                      // (objects,3)
    int32_t *face;                       // (H,W)
    size_t lights;
    // RASTER_SOFT: the rasteriser's own colour (H,W,3) and alpha (H,W) of the last picture, and gradients to them.
    double *own_colour, *own_alpha, *colour_loss, *alpha_loss;
};

static bool has_planes(const Render *r) { return r->meshes.count > r->scene->object_count; }

static Status open_rasters(Render *r, const SimOptions *on, Error *err) {
    RasterOptions options = r->scene->picture.raster;
    options.precision = on->precision == SIM_F64 ? RASTER_F64 : RASTER_F32;
    options.threads = on->threads;
    options.isa = on->isa;
    options.device = on->device;
    Status status = raster_open(&options, &r->all, err);
    if (status == STATUS_OK && has_planes(r)) status = raster_open(&options, &r->objects, err);
    return status;
}

Status render_open(const SimScene *scene, const SimOptions *on, Render **out, Error *err) {
    const ScenePicture *picture = &scene->picture;
    const size_t pixels = (size_t)picture->H * (size_t)picture->W;
    Render *r = *out = calloc(1, sizeof *r);
    if (!r) return error_no_memory(err, "pictures of %d x %d", scene->picture.W, scene->picture.H);
    r->scene = scene;
    r->lights = picture->lights;
    r->colour = calloc(scene->object_count, 3 * sizeof *r->colour);
    r->face = calloc(pixels, sizeof *r->face);
    r->own_colour = calloc(8 * pixels, sizeof *r->own_colour);
    r->light_gradient = calloc(r->lights + 1, sizeof *r->light_gradient);
    bool good = r->colour && r->face && r->own_colour && r->light_gradient && render_meshes_make(scene, &r->meshes);
    r->mesh_gradient = calloc(r->meshes.count + 1, sizeof *r->mesh_gradient);
    r->own_alpha = good ? r->own_colour + 3 * pixels : NULL;
    r->colour_loss = good ? r->own_alpha + pixels : NULL;
    r->alpha_loss = good ? r->colour_loss + 3 * pixels : NULL;
    Status status = good && r->mesh_gradient
                        ? open_rasters(r, on, err)
                        : error_no_memory(err, "pictures of %d x %d", scene->picture.W, scene->picture.H);
    for (size_t i = 0; i < scene->object_count && status == STATUS_OK; i++) {
        r->mesh_gradient[i].position = r->meshes.position_gradient + 3 * r->meshes.first[i];
        r->mesh_gradient[i].colour = r->meshes.colour_gradient + 3 * r->meshes.first[i];
    }
    if (status == STATUS_OK) return status;
    render_close(r);
    *out = NULL;
    return status;
}

void render_close(Render *r) {
    if (!r) return;
    raster_close(r->all);
    raster_close(r->objects);
    render_meshes_free(&r->meshes);
    free(r->mesh_gradient);
    free(r->light_gradient);
    free(r->colour);
    free(r->face);
    free(r->own_colour);
    free(r);
}

// ---- what the rasteriser is given

// Depths that hold the scene with room for motion.
static void choose_depths(const ScenePicture *p, RasterCamera *camera) {
    double square = 0, radius = 0;
    for (int c = 0; c < 3; c++) {
        const double half = 0.5 * (p->box[3 + c] - p->box[c]),
                     d = p->box[c] + half - camera->world_from_camera[4 * c + 3];
        square += d * d;
        radius += half * half;
    }
    const double distance = fmax(sqrt(square), 1e-3);
    camera->near = p->near > 0 ? p->near : distance / 50;
    camera->far = p->far > 0 ? p->far : distance + 10 * fmax(sqrt(radius), 0.1 * distance);
    if (camera->near >= camera->far) camera->near = camera->far / 50; // one of them was given
}

static void make_view(const Render *r, const SceneCamera *camera, bool planes, View *out) {
    const ScenePicture *p = &r->scene->picture;
    *out = (View){.scene = {.mesh = r->meshes.mesh,
                            .meshes = planes ? r->meshes.count : r->scene->object_count,
                            .light = p->light,
                            .lights = p->lights,
                            .harmonics = out->harmonics},
                  .camera = {.H = p->H, .W = p->W}};
    for (int c = 0; c < 3; c++) {
        out->harmonics[c] = p->ambient / Y_00;
        out->scene.background[c] = p->background[c];
    }
    memcpy(out->camera.K, camera->K, sizeof camera->K);
    memcpy(out->camera.world_from_camera, camera->world_from_camera, sizeof camera->world_from_camera);
    choose_depths(p, &out->camera);
}

// ---- forwards

static void label_pixels(const Render *r, uint16_t *mask) {
    const ScenePicture *p = &r->scene->picture;
    for (size_t i = 0; i < (size_t)p->H * (size_t)p->W; i++) {
        size_t object = 0, end = 0;
        for (; object < r->scene->object_count; object++) {
            end += r->meshes.mesh[object].faces;
            if (r->face[i] < (int32_t)end) break;
        }
        mask[i] = r->face[i] < 0 || object == r->scene->object_count ? 0 : (uint16_t)(object + 1);
    }
}

static size_t pixels_of(const Render *r) { return (size_t)r->scene->picture.H * (size_t)r->scene->picture.W; }

// SoftRas' colour ends abruptly where the last face does; alpha lets it fade into the background.
static bool fades(const Render *r) { return r->scene->picture.raster.method == RASTER_SOFT; }

static void fade(const Render *r, double *colour) {
    const double *ground = r->scene->picture.background;
    for (size_t i = 0; i < 3 * pixels_of(r); i++)
        colour[i] = ground[i % 3] + r->own_alpha[i / 3] * (r->own_colour[i] - ground[i % 3]);
}

Status render_draw(Render *r, const SceneCamera *camera, const double *position, const RenderPicture *out, Error *err) {
    Status status = STATUS_OK;
    const bool apart = has_planes(r), fading = fades(r) && out->colour;
    const RasterPicture all = {fading ? r->own_colour : out->colour,
                               fading  ? r->own_alpha
                               : apart ? NULL
                                       : out->alpha,
                               out->depth, out->mask ? r->face : NULL},
                        objects = {.alpha = out->alpha};
    for (size_t i = 0; i < 3 * r->scene->object_count; i++)
        r->colour[i] = r->scene->objects[i / 3].colour[i % 3] / 255.0;
    render_meshes_move(r->scene, position, r->colour, &r->meshes);
    for (int k = 0; k < 2; k++) make_view(r, camera, k == 0, r->view + k);
    if (all.colour || all.alpha || all.depth || all.face)
        status = raster_draw(r->all, &r->view[0].scene, &r->view[0].camera, &all, err);
    if (status == STATUS_OK && out->mask) label_pixels(r, out->mask);
    if (status == STATUS_OK && fading) {
        fade(r, out->colour);
        if (!apart && out->alpha) memcpy(out->alpha, r->own_alpha, pixels_of(r) * sizeof *out->alpha);
    }
    if (status != STATUS_OK || !apart || !out->alpha) return status;
    return raster_draw(r->objects, &r->view[1].scene, &r->view[1].camera, &objects, err);
}

// ---- backwards

static void add_gradient(const Render *r, const RasterGradient *from, const RenderGradient *out) {
    if (out->position) render_meshes_back(r->scene, &r->meshes, out->position);
    for (size_t i = 0; i < r->scene->object_count && out->colour; i++)
        for (size_t v = 0; v < 3 * r->meshes.mesh[i].vertices; v++)
            out->colour[3 * i + v % 3] += r->mesh_gradient[i].colour[v];
    for (size_t i = 0; i < r->lights && out->light; i++)
        for (int c = 0; c < 3; c++) {
            out->light[i].direction[c] += from->light[i].direction[c];
            out->light[i].colour[c] += from->light[i].colour[c];
        }
    for (int i = 0; i < 6 && out->pose; i++) out->pose[i] += from->pose[i];
}

static Status gradient_of(Render *r, Raster *raster, const View *view, const RasterLoss *loss,
                          const RenderGradient *out, Error *err) {
    RasterGradient gradient = {.mesh = r->mesh_gradient, .light = r->light_gradient};
    Status status = raster_gradient(raster, &view->scene, &view->camera, loss, &gradient, err);
    if (status == STATUS_OK) add_gradient(r, &gradient, out);
    return status;
}

// dLoss/d(own colour, own alpha) from dLoss/d(colour, alpha).
static void fade_back(Render *r, const double *colour, const double *alpha) {
    const double *ground = r->scene->picture.background;
    for (size_t i = 0; i < pixels_of(r); i++) r->alpha_loss[i] = alpha ? alpha[i] : 0;
    for (size_t i = 0; i < 3 * pixels_of(r); i++) {
        r->colour_loss[i] = r->own_alpha[i / 3] * colour[i];
        r->alpha_loss[i / 3] += (r->own_colour[i] - ground[i % 3]) * colour[i];
    }
}

Status render_gradient(Render *r, const RasterLoss *loss, const RenderGradient *out, Error *err) {
    Status status = STATUS_OK;
    const bool apart = has_planes(r), fading = fades(r) && loss->colour;
    RasterLoss all = {loss->colour, apart ? NULL : loss->alpha, loss->depth};
    const RasterLoss objects = {.alpha = loss->alpha};
    if (fading) {
        fade_back(r, loss->colour, all.alpha);
        all.colour = r->colour_loss, all.alpha = r->alpha_loss;
    }
    if (all.colour || all.alpha || all.depth) status = gradient_of(r, r->all, r->view, &all, out, err);
    if (status != STATUS_OK || !apart || !loss->alpha) return status;
    return gradient_of(r, r->objects, r->view + 1, &objects, out, err);
}
