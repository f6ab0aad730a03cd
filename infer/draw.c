// SPDX-License-Identifier: Apache-2.0
#include "infer/draw.h"

#include "base/camera.h"
#include "base/check.h"
#include "base/draw.h"
#include "nn/backend.h"

#include <math.h>
#include <string.h>
#include <xxhash.h>

// Radii of the particles, and the largest one in *reach. Files without radii use the model's r.
static const real *load_radii(Tape *tape, const Vpd *model, const RolloutSet *set, real *reach) {
    real *host = tape_context(tape, (set->N + 1) * sizeof *host), *radius = tape_memory(tape, set->N, sizeof *radius);
    for (size_t i = 0; host && i < set->N; i++)
        host[i] = set->radius ? set->radius[i] : (real)model->config.renderer.radius;
    if (host && radius) tape->device->nn->upload(tape->device, radius, host, set->N * sizeof *host);
    *reach = host ? renderer_reach(set->N, host) : 0;
    return radius;
}

static void load_labels(Tape *tape, const RolloutSet *set, DrawScene *out) {
    int32_t *host = set->labels ? tape_context(tape, (set->N + 1) * sizeof *host) : NULL;
    int32_t *labels = host ? tape_memory(tape, set->N, sizeof *labels) : NULL;
    if (!labels) return;
    for (size_t i = 0; i < set->N; i++) {
        host[i] = set->labels[i];
        if (host[i] >= out->label_count) out->label_count = host[i] + 1;
    }
    tape->device->nn->upload(tape->device, labels, host, set->N * sizeof *host);
    out->labels = labels;
}

static uint64_t hash_of(const RolloutFile *r) {
    const RolloutSet *set = &r->sets[0];
    uint64_t sum = XXH3_64bits(r->light, sizeof r->light);
    sum = XXH3_64bits_withSeed(set->positions, 3 * set->N * sizeof *set->positions, sum);
    sum = XXH3_64bits_withSeed(set->body, set->N * sizeof *set->body, sum);
    return XXH3_64bits_withSeed(set->features, set->N * set->D * sizeof *set->features, sum);
}

// Those of the present particles; NULL: none.
static Shadows *shadows_of(RolloutWorkspace *w, const RolloutFile *r) {
    const RolloutSet *set = &r->sets[0];
    uint64_t hash = hash_of(r);
    if (w->shadows_of == hash) return w->shadows;
    ShadeMemory memory = {w->tape.device, &w->shadow_memory};
    ShadeScene scene = {set->N, set->positions, set->body};
    arena_reset(&w->shadow_memory);
    w->shadows = shadows_find(memory, &scene, r->light, set->D, set->features);
    w->shadows_of = w->tape.device->failed ? 0 : hash;
    return w->shadows;
}

// Features with which the particles of a step are drawn: those of the present set, darker where a shadow comes and
// lighter where one goes. Features that a file has of every step are drawn as they are. NULL if memory is short.
static const float *drawn_features(RolloutWorkspace *workspace, const RolloutFile *r, size_t step) {
    const RolloutSet *set = &r->sets[0];
    Tape *tape = &workspace->tape;
    if (step == 0 || r->features || !set->body || !rollout_has_light(r)) return rollout_features(r, step);
    Shadows *shadows = shadows_of(workspace, r);
    if (!shadows) return tape->device->failed ? NULL : set->features;
    const real *change = shadows_change(tape, shadows, rollout_positions(r, step));
    float *out = tape_context(tape, (set->N * set->D + 1) * sizeof *out);
    for (size_t i = 0; change && out && i < set->N * set->D; i++) out[i] = set->features[i] + change[i];
    return change ? out : NULL;
}

Status draw_load(RolloutWorkspace *workspace, const RolloutFile *rollout, size_t step, DrawScene *out, Error *err) {
    Tape *tape = &workspace->tape;
    const Vpd *model = workspace->model;
    const RolloutSet *set = &rollout->sets[0];
    size_t D = (size_t)model->config.model.D;
    CHECK(step <= rollout->steps);
    *out = (DrawScene){0};
    if (!set->features || set->D != D)
        return error_set(err, STATUS_BAD_INPUT,
                         "the rollout: expected %zu features per particle, as the model draws, found %zu", D, set->D);
    tape_reset(tape);
    vpd_part(tape, VPD_RENDERER);
    const float *features = drawn_features(workspace, rollout, step);
    if (!features) return device_status(tape->device, err);
    out->particles = (RendererParticles){.x = tape_constant(tape, set->N, 3, rollout_positions(rollout, step)),
                                         .f = tape_constant(tape, set->N, D, features)};
    out->particles.radius = load_radii(tape, model, set, &out->particles.reach);
    load_labels(tape, set, out);
    for (int c = 0; c < 3; c++) out->background[c] = rollout->background[c];
    return device_status(tape->device, err);
}

Status draw_view(Tape *tape, const Vpd *model, const DrawScene *scene, const RendererCamera *camera,
                 RendererFrame frame, Error *err) {
    frame.labels = scene->labels;
    frame.label_count = scene->label_count;
    if (!scene->labels) frame.label = NULL;
    return renderer_draw_image(tape, &model->renderer, &scene->particles, scene->background, camera, &frame, err);
}

RendererCamera draw_camera(const RolloutFile *rollout, size_t step, int view) {
    RendererCamera camera = {.H = rollout->H, .W = rollout->W};
    memcpy(camera.K, rollout->intrinsics + 9 * view, sizeof camera.K);
    memcpy(camera.world_from_camera, rollout_pose(rollout, step, view), sizeof camera.world_from_camera);
    return camera;
}

RendererCamera draw_resized(const RendererCamera *camera, int H, int W) {
    RendererCamera out = *camera;
    camera_resize_intrinsics(camera->K, camera->H, camera->W, H, W, out.K);
    out.H = H;
    out.W = W;
    return out;
}

void draw_label_colours(const float *share, int labels, size_t pixels, uint8_t *rgb) {
    for (size_t i = 0; i < pixels; i++) {
        float sum[3] = {0};
        for (int l = 0; l < labels; l++) {
            Colour colour = l ? draw_palette(l - 1) : (Colour){90, 90, 90};
            float s = share[i * (size_t)labels + (size_t)l];
            sum[0] += s * colour.r, sum[1] += s * colour.g, sum[2] += s * colour.b;
        }
        for (int c = 0; c < 3; c++)
            rgb[3 * i + (size_t)c] = sum[c] >= 255 ? 255 : sum[c] > 0 ? (uint8_t)lrintf(sum[c]) : 0;
    }
}
