// SPDX-License-Identifier: Apache-2.0
#include "train/loss.h"

#include "nn/backend.h"
#include "nn/combine.h"
#include "nn/reduce.h"
#include "nn/ssim_loss.h"

#include <math.h>
#include <string.h>

void loss_workspace_free(LossWorkspace *workspace) {
    workspace_free(&workspace->scene);
    ray_batch_free(&workspace->rays);
    motion_cache_close(&workspace->motion);
}

// ---- terms of rendered pictures

// Weight of each ray in the pixel loss: 0 outside the workspace box (data.crop).
static const real *crop_weights(LossEpisode *e) {
    const RayBatch *rays = &e->workspace->rays;
    const double *bounds = e->frames->bounds;
    if (!e->model->config.data.crop || !bounds) return NULL;
    real *weight = tape_context(e->tape, rays->count * sizeof *weight);
    for (size_t r = 0; weight && r < rays->count; r++) {
        weight[r] = rays->depth[r] > 0;
        double turned[3], x[3];
        for (size_t c = 0; c < 3; c++)
            turned[c] = (double)(rays->origin[3 * r + c] + rays->depth[r] * rays->direction[3 * r + c]);
        observation_turn_back(e->frames, turned, x);
        for (size_t c = 0; c < 3; c++) {
            if (x[c] < bounds[c] || x[c] > bounds[3 + c]) weight[r] = 0;
        }
    }
    return weight ? tape_upload(e->tape, weight, rays->count, sizeof *weight) : NULL;
}

static Status loss_pixels(LossEpisode *e, Tensor **out, Error *err) {
    const real *weights = crop_weights(e);
    if (e->tape->device->failed) return device_status(e->tape->device, err);
    *out = reduce(e->tape, e->drawn.colour, REDUCE_SQUARE, e->colours, weights,
                  1 / (3.0 * (double)e->workspace->rays.count));
    if (e->step == 0) e->step0 = *out;
    e->last = *out;
    return STATUS_OK;
}

// Mean of |opacity (depth - truth)| / X over rays with depth. Opacity carries no gradient.
Status loss_depth(LossEpisode *e, Tensor **out, Error *err) {
    const RayBatch *rays = &e->workspace->rays;
    size_t n = rays->count, valid = 0;
    real *weight = tape_context(e->tape, n * sizeof *weight), *opacity = tape_context(e->tape, n * sizeof *opacity);
    if (!weight || !opacity) return device_status(e->tape->device, err);
    e->tape->device->nn->download(e->tape->device, opacity, e->drawn.opacity->value, n * sizeof *opacity);
    for (size_t r = 0; r < n; r++) valid += rays->depth[r] > 0 && opacity[r] > 0;
    for (size_t r = 0; r < n; r++) weight[r] = rays->depth[r] > 0 ? opacity[r] : 0;
    if (valid == 0) return STATUS_OK;
    *out = reduce(e->tape, e->drawn.depth, REDUCE_ABS, tape_upload(e->tape, rays->depth, n, sizeof(real)),
                  tape_upload(e->tape, weight, n, sizeof *weight), 1 / ((double)valid * e->model->config.data.extent));
    return STATUS_OK;
}

// The rays of patches come after the single rays of each view.
Status loss_ssim(LossEpisode *e, Tensor **out, Error *err) {
    size_t views = (size_t)e->frames->V, per_view = e->workspace->rays.count / views;
    size_t singles = (size_t)e->model->config.train.rays, side2 = SSIM_SIDE * SSIM_SIDE;
    size_t patches = (per_view - singles) / side2;
    int32_t *first = tape_context(e->tape, (views * patches + 1) * sizeof *first);
    if (!first) return device_status(e->tape->device, err);
    if (patches == 0) return STATUS_OK;
    for (size_t i = 0; i < views * patches; i++)
        first[i] = (int32_t)(i / patches * per_view + singles + i % patches * side2);
    *out = ssim_loss(e->tape, e->drawn.colour, e->colours, views * patches,
                     tape_upload(e->tape, first, views * patches, sizeof *first));
    return STATUS_OK;
}

// ---- all terms

typedef struct LossTerm {
    const char *name, *words; // metric; its name in errors
    size_t weight;            // offset of the weight in TrainConfig; unused for pixels and bodies, whose weight is 1
    LossFunction *record;     // NULL: of windows alone
} LossTerm;

#define LOSS_ROW(NAME, name, words, ...)                                                                               \
    [LOSS_##NAME] = {#name, words, offsetof(TrainConfig, name##_term), loss_##name},
static const LossTerm terms[LOSS_TERM_COUNT] = {[LOSS_PIXELS] = {"pixels", "pixel", 0, loss_pixels},
                                                [LOSS_BODIES] = {"bodies", "bodies'", 0, NULL},
                                                LOSS_TERMS(LOSS_ROW)};

const char *loss_term_name(LossTermId term) { return terms[term].name; }

static double weight_of(const TrainConfig *train, int term) {
    return term == LOSS_PIXELS || term == LOSS_BODIES ? 1 : *(const double *)((const char *)train + terms[term].weight);
}

Status loss_add_terms(LossEpisode *e, double share, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; i < LOSS_TERM_COUNT && status == STATUS_OK; i++) {
        double weight = weight_of(&e->model->config.train, i);
        Tensor *term = NULL, **sum = &e->sum[i];
        if (!terms[i].record || !(weight > 0)) continue;
        status = terms[i].record(e, &term, err);
        if (status != STATUS_OK || !term) continue;
        if (*sum) *sum = tensor_add_scaled(e->tape, *sum, term, (real)(weight * share));
        else *sum = tensor_scale(e->tape, term, (real)(weight * share));
    }
    return status;
}

const char *loss_parts_not_finite(const LossParts *parts) {
    for (int i = 0; i < LOSS_TERM_COUNT; i++)
        if (!isfinite(parts->term[i])) return terms[i].words;
    return NULL;
}
