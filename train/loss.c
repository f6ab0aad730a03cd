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
    if (workspace->chosen.device) tape_free(&workspace->chosen);
    device_close(workspace->host);
}

// ---- terms of rendered pictures

// Whether the surface that ray r meets lies in the workspace box, which is not turned.
static bool is_inside(const RayBatch *rays, size_t r, const Observation *o) {
    double turned[3], x[3];
    for (size_t c = 0; c < 3; c++)
        turned[c] = (double)(rays->origin[3 * r + c] + rays->depth[r] * rays->direction[3 * r + c]);
    observation_turn_back(o, turned, x);
    return rays->depth[r] > 0 && observation_inside(o, x);
}

// Colours of all rays and their shares, in one upload.
static void upload_truth(LossBatch *b) {
    const RayBatch *rays = &b->workspace->rays;
    real *host = tape_context(b->tape, (4 * rays->count + 1) * sizeof *host);
    if (!host) return;
    memcpy(host, rays->colour, 3 * rays->count * sizeof *host);
    for (size_t e = 0, r = 0; e < b->count; e++) {
        bool crop = b->model->config.data.crop && b->frames[e]->bounds;
        for (size_t last = r + b->rays[e]; r < last; r++)
            host[3 * rays->count + r] = crop && !is_inside(rays, r, b->frames[e]) ? 0 : 1 / (real)b->rays[e];
    }
    b->colours = tape_upload(b->tape, host, 4 * rays->count, sizeof *host);
    b->share = b->colours ? b->colours + 3 * rays->count : NULL;
}

static Status loss_pixels(LossBatch *b, Tensor **out, Error *err) {
    (void)err;
    *out = reduce(b->tape, b->drawn.colour, REDUCE_SQUARE, b->colours, b->share, 1 / 3.0);
    if (b->step == 0) b->step0 = *out;
    b->last = *out;
    return STATUS_OK;
}

// Mean of |opacity (depth - truth)| / X over an episode's rays with depth. Opacity carries no gradient.
Status loss_depth(LossBatch *b, Tensor **out, Error *err) {
    const real *truth = b->workspace->rays.depth;
    size_t n = b->workspace->rays.count, compared = 0;
    real *weight = tape_context(b->tape, n * sizeof *weight), *opacity = tape_context(b->tape, n * sizeof *opacity);
    if (!weight || !opacity) return device_status(b->tape->device, err);
    b->tape->device->nn->download(b->tape->device, opacity, b->drawn.opacity->value, n * sizeof *opacity);
    for (size_t e = 0, first = 0; e < b->count; first += b->rays[e++]) {
        size_t valid = 0, last = first + b->rays[e];
        for (size_t r = first; r < last; r++) valid += truth[r] > 0 && opacity[r] > 0;
        for (size_t r = first; r < last; r++) weight[r] = valid && truth[r] > 0 ? opacity[r] / (real)valid : 0;
        compared += valid;
    }
    if (compared == 0) return STATUS_OK;
    *out = reduce(b->tape, b->drawn.depth, REDUCE_ABS, tape_upload(b->tape, truth, n, sizeof *truth),
                  tape_upload(b->tape, weight, n, sizeof *weight), 1 / b->model->config.data.extent);
    return STATUS_OK;
}

// The rays of patches come after the single rays of each view.
static size_t find_patches(const LossBatch *b, size_t e, size_t first_ray, int32_t *first) {
    size_t views = (size_t)b->frames[e]->V, per_view = b->rays[e] / views;
    size_t singles = (size_t)b->model->config.train.rays, side2 = SSIM_SIDE * SSIM_SIDE;
    size_t patches = (per_view - singles) / side2;
    for (size_t i = 0; first && i < views * patches; i++)
        first[i] = (int32_t)(first_ray + i / patches * per_view + singles + i % patches * side2);
    return views * patches;
}

Status loss_ssim(LossBatch *b, Tensor **out, Error *err) {
    size_t most = b->workspace->rays.count / (SSIM_SIDE * SSIM_SIDE), all = 0;
    int32_t *host = tape_context(b->tape, (most + 1) * sizeof *host);
    if (!host) return device_status(b->tape->device, err);
    for (size_t e = 0, ray = 0; e < b->count; ray += b->rays[e++]) all += find_patches(b, e, ray, host + all);
    const int32_t *first = tape_upload(b->tape, host, all, sizeof *host);
    for (size_t e = 0; e < b->count && !b->tape->device->failed; e++) {
        size_t patches = find_patches(b, e, 0, NULL);
        if (patches == 0) continue;
        Tensor *own = ssim_loss(b->tape, b->drawn.colour, b->colours, patches, first);
        *out = *out ? tensor_add(b->tape, *out, own) : own;
        first += patches;
    }
    return device_status(b->tape->device, err);
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

Status loss_add_terms(LossBatch *b, double factor, Error *err) {
    upload_truth(b);
    Status status = device_status(b->tape->device, err);
    for (int i = 0; i < LOSS_TERM_COUNT && status == STATUS_OK; i++) {
        double weight = weight_of(&b->model->config.train, i);
        Tensor *term = NULL, **sum = &b->sum[i];
        if (!terms[i].record || !(weight > 0)) continue;
        status = terms[i].record(b, &term, err);
        if (status != STATUS_OK || !term) continue;
        if (*sum) *sum = tensor_add_scaled(b->tape, *sum, term, (real)(weight * factor));
        else *sum = tensor_scale(b->tape, term, (real)(weight * factor));
    }
    return status;
}

const char *loss_parts_not_finite(const LossParts *parts) {
    for (int i = 0; i < LOSS_TERM_COUNT; i++)
        if (!isfinite(parts->term[i])) return terms[i].words;
    return NULL;
}
