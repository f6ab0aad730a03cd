// SPDX-License-Identifier: Apache-2.0
#include "train/loss.h"

#include "base/check.h"
#include "nn/backend.h"
#include "nn/combine.h"
#include "nn/reduce.h"
#include "nn/ssim_loss.h"
#include "train/nearest_term.h"
#include "train/schedule.h"

#include <string.h>

enum { MAX_ROLLOUT = 1000, SSIM_PATCHES = 1 };

void loss_workspace_free(LossWorkspace *workspace) {
    workspace_free(&workspace->scene);
    ray_batch_free(&workspace->rays);
    point_cloud_free(&workspace->cloud);
    motion_cache_close(&workspace->motion);
}

void loss_parts_add(LossParts *sum, const LossParts *one, double weight) {
    sum->total += weight * one->total;
    sum->pixels += weight * one->pixels;
    sum->displacement += weight * one->displacement;
    sum->nearest += weight * one->nearest;
    sum->flow += weight * one->flow;
    sum->depth += weight * one->depth;
    sum->ssim += weight * one->ssim;
    sum->step0 += weight * one->step0;
    sum->last += weight * one->last;
    sum->spread += weight * one->spread;
    sum->motion += weight * one->motion;
    sum->particles = one->particles;
}

const char *loss_parts_not_finite(const LossParts *parts) {
    if (!isfinite(parts->pixels)) return "pixel";
    if (!isfinite(parts->displacement)) return "displacement";
    if (!isfinite(parts->nearest)) return "nearest-point";
    if (!isfinite(parts->flow)) return "flow";
    if (!isfinite(parts->depth)) return "depth";
    if (!isfinite(parts->ssim)) return "SSIM";
    return NULL;
}

// One episode's loss while it is being recorded. Terms keep their tensors until their values are read at the end.
typedef struct Episode {
    Tape *tape;
    const Vpd *model;
    const LossInput *input;
    LossWorkspace *workspace;
    Scene scene;
    int T;
    Tensor *pixels, *displacement, *nearest, *flow, *depth, *ssim; // (1,1) weighted sums so far, or NULL
    Tensor *step0, *last;                                          // mean squared errors of single steps
    Tensor *h, *dx;
    real *read; // PARTS + 3 N values that outlive the backward pass, for the host to read behind it
    FlowTrack track;
} Episode;

static void add_term(Episode *e, Tensor **sum, Tensor *term, double weight) {
    if (!term) return;
    if (*sum) *sum = tensor_add_scaled(e->tape, *sum, term, (real)weight);
    else *sum = tensor_scale(e->tape, term, (real)weight);
}

// The history is the first T frames, of the input views alone.
static Observation history_of(Episode *e) {
    const LossInput *in = e->input;
    const Observation *o = in->frames;
    size_t pixels = (size_t)o->H * (size_t)o->W, V = (size_t)in->input_view_count, images = (size_t)e->T * V;
    uint8_t *rgb = tape_context(e->tape, 3 * pixels * images);
    float *depth = tape_context(e->tape, pixels * images * sizeof *depth);
    double *intrinsics = tape_context(e->tape, 9 * V * sizeof *intrinsics),
           *pose = tape_context(e->tape, 16 * images * sizeof *pose);
    int *views = tape_context(e->tape, V * sizeof *views);
    Observation out = {e->T, (int)V, o->H, o->W, views, rgb, depth, intrinsics, pose, o->bounds, o->turn};
    if (e->tape->device->failed) return out;
    for (size_t i = 0; i < images; i++) {
        size_t from = i / V * (size_t)o->V + (size_t)in->input_views[i % V];
        memcpy(rgb + 3 * pixels * i, o->rgb + 3 * pixels * from, 3 * pixels);
        memcpy(depth + pixels * i, o->depth + pixels * from, pixels * sizeof *depth);
        memcpy(pose + 16 * i, o->world_from_camera + 16 * from, 16 * sizeof *pose);
    }
    for (size_t v = 0; v < V; v++) {
        memcpy(intrinsics + 9 * v, o->intrinsics + 9 * in->input_views[v], 9 * sizeof *intrinsics);
        views[v] = o->views[in->input_views[v]];
    }
    return out;
}

// Weight of each ray of the pixel loss: none for those that the workspace box excludes (data.crop).
static const real *crop_weights(Episode *e) {
    const RayBatch *rays = &e->workspace->rays;
    const double *bounds = e->input->frames->bounds;
    if (!e->model->config.data.crop || !bounds) return NULL;
    real *weight = tape_context(e->tape, rays->count * sizeof *weight);
    for (size_t r = 0; weight && r < rays->count; r++) {
        weight[r] = rays->depth[r] > 0;
        double turned[3], x[3];
        for (size_t c = 0; c < 3; c++)
            turned[c] = (double)(rays->origin[3 * r + c] + rays->depth[r] * rays->direction[3 * r + c]);
        observation_turn_back(e->input->frames, turned, x);
        for (size_t c = 0; c < 3; c++) {
            if (x[c] < bounds[c] || x[c] > bounds[3 + c]) weight[r] = 0;
        }
    }
    return weight ? tape_upload(e->tape, weight, rays->count, sizeof *weight) : NULL;
}

// Mean of |opacity (depth - truth)| / X over rays with depth; opacity is taken as it is, without a gradient.
static Tensor *depth_term(Episode *e, const RendererOutput *output) {
    const RayBatch *rays = &e->workspace->rays;
    size_t n = rays->count, valid = 0;
    real *weight = tape_context(e->tape, n * sizeof *weight), *opacity = tape_context(e->tape, n * sizeof *opacity);
    if (!weight || !opacity) return NULL;
    e->tape->device->nn->download(e->tape->device, opacity, output->opacity->value, n * sizeof *opacity);
    for (size_t r = 0; r < n; r++) valid += rays->depth[r] > 0 && opacity[r] > 0;
    for (size_t r = 0; r < n; r++) weight[r] = rays->depth[r] > 0 ? opacity[r] : 0;
    if (valid == 0) return NULL;
    return reduce(e->tape, output->depth, REDUCE_ABS, tape_upload(e->tape, rays->depth, n, sizeof(real)),
                  tape_upload(e->tape, weight, n, sizeof *weight), 1 / ((double)valid * e->model->config.data.extent));
}

// Patches stand behind the single rays of each view.
static Tensor *ssim_term(Episode *e, const RendererOutput *output, const real *target, size_t views) {
    const RayBatch *rays = &e->workspace->rays;
    size_t per_view = rays->count / views, singles = (size_t)e->model->config.train.rays, side2 = SSIM_SIDE * SSIM_SIDE;
    size_t patches = (per_view - singles) / side2;
    int32_t *first = tape_context(e->tape, (views * patches + 1) * sizeof *first);
    if (!first || patches == 0) return NULL;
    for (size_t i = 0; i < views * patches; i++)
        first[i] = (int32_t)(i / patches * per_view + singles + i % patches * side2);
    return ssim_loss(e->tape, output->colour, target, views * patches,
                     tape_upload(e->tape, first, views * patches, sizeof *first));
}

// Draws rays of one frame and adds their error.
static Status draw_and_compare(Episode *e, int step, double weight, Error *err) {
    const TrainConfig *train = &e->model->config.train;
    const Observation *frames = e->input->frames;
    RayBatch *rays = &e->workspace->rays;
    int all[256], count = frames->V < 256 ? frames->V : 256;
    for (int v = 0; v < count; v++) all[v] = v;
    RayBatchOptions options = {all,
                               count,
                               train->rays,
                               train->ssim_term > 0 ? SSIM_PATCHES : 0,
                               train->moving_rays,
                               e->input->key.seed,
                               e->input->key.step,
                               e->input->key.episode};
    // Change is counted against the last input frame; the last input frame's own against the one before.
    int frame = e->T - 1 + step, reference = step > 0 ? e->T - 1 : e->T > 1 ? e->T - 2 : 0;
    Status status = ray_batch_draw(rays, frames, frame, reference, step, &options, err);
    if (status != STATUS_OK) return status;
    RendererOutput output =
        vpd_render(e->tape, e->model, &e->scene, rays->count, rays->origin, rays->direction, rays->jitter, NULL);
    const real *target = tape_upload(e->tape, rays->colour, 3 * rays->count, sizeof(real)), *weights = crop_weights(e);
    if (e->tape->device->failed) return device_status(e->tape->device, err);
    Tensor *error = reduce(e->tape, output.colour, REDUCE_SQUARE, target, weights, 1 / (3.0 * (double)rays->count));
    add_term(e, &e->pixels, error, weight);
    if (train->depth_term > 0) add_term(e, &e->depth, depth_term(e, &output), train->depth_term * weight);
    if (train->ssim_term > 0)
        add_term(e, &e->ssim, ssim_term(e, &output, target, (size_t)count), train->ssim_term * weight);
    if (step == 0) e->step0 = error;
    e->last = error;
    return STATUS_OK;
}

// One rollout step and the terms on how the particles moved.
static Status move_and_compare(Episode *e, int step, Error *err) {
    const TrainConfig *train = &e->model->config.train;
    double share = 1.0 / e->input->rollout, s = e->model->config.gnn.displacement_scale;
    StepOutput out = vpd_step(e->tape, e->model, &e->workspace->scene, &e->scene);
    if (step == 1) e->h = out.h;
    e->dx = out.dx;
    if (e->tape->device->failed || !out.dx) return device_status(e->tape->device, err);
    if (train->displacement_penalty > 0)
        add_term(e, &e->displacement, reduce(e->tape, out.dx, REDUCE_ABS, NULL, NULL, 1 / ((double)out.dx->rows * s)),
                 train->displacement_penalty * share);
    if (train->nearest_term > 0) {
        Error problem = {STATUS_OK, ""};
        Tensor *term = nearest_term(e->tape, e->model, &e->scene, e->input->frames, e->T - 1 + step, e->T - 1,
                                    &e->workspace->cloud, &problem);
        if (problem.status != STATUS_OK) return error_set(err, problem.status, "%s", problem.text);
        add_term(e, &e->nearest, term, train->nearest_term * share);
    }
    if (train->flow_term > 0) {
        MotionFrame frame = {e->input->frames, e->T - 2 + step, e->input->first};
        MotionField field;
        Tensor *term = NULL;
        Status status = motion_cache_next(&e->workspace->motion, e->tape, e->model, &frame, &field, err);
        if (status == STATUS_OK)
            status = flow_term(e->tape, e->model, &e->scene, frame.frames, &field, &e->track, &term, err);
        if (status != STATUS_OK) return status;
        add_term(e, &e->flow, term, train->flow_term * share);
    }
    return STATUS_OK;
}

// Terms of LossParts in the order of Episode's tensors, then the spread.
enum { TERMS = 8, SPREAD = TERMS, PARTS };

static void keep_values(Episode *e, const Tensor *values, size_t at) {
    Device *device = e->tape->device;
    if (!values) return;
    device->nn->copy(device, e->read + at, values->value, values->rows * values->cols * sizeof *e->read);
}

// Copies what is reported, on the device: the backward pass uses the tensors' memory again.
static void keep_parts(Episode *e) {
    Device *device = e->tape->device;
    const Tensor *terms[TERMS] = {e->pixels, e->displacement, e->nearest, e->flow,
                                  e->depth,  e->ssim,         e->step0,   e->last};
    if (device->failed) return;
    device->nn->zero(device, e->read, PARTS * sizeof *e->read);
    for (size_t i = 0; i < TERMS; i++) keep_values(e, terms[i], i);
    if (e->h) dynamics_spread(device, e->h, e->read + SPREAD);
    keep_values(e, e->dx, PARTS);
}

static double mean_length(size_t count, const real *x) {
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += sqrt((double)(x[3 * i] * x[3 * i] + x[3 * i + 1] * x[3 * i + 1] + x[3 * i + 2] * x[3 * i + 2]));
    return count ? sum / (double)count : 0;
}

Status loss_read(Tape *tape, const LossValues *values, LossParts *parts, Error *err) {
    size_t count = PARTS + 3 * values->moved;
    real *read = tape_context(tape, count * sizeof *read);
    if (!read) return device_status(tape->device, err);
    tape->device->nn->download(tape->device, read, values->read, count * sizeof *read);
    *parts = (LossParts){.pixels = (double)read[0],
                         .displacement = (double)read[1],
                         .nearest = (double)read[2],
                         .flow = (double)read[3],
                         .depth = (double)read[4],
                         .ssim = (double)read[5],
                         .step0 = (double)read[6],
                         .last = (double)read[7],
                         .spread = (double)read[SPREAD],
                         .motion = mean_length(values->moved, read + PARTS),
                         .particles = values->particles};
    parts->total = parts->pixels + parts->displacement + parts->nearest + parts->flow + parts->depth + parts->ssim;
    return device_status(tape->device, err);
}

static void run_backward(Episode *e) {
    Tensor *total = NULL, *terms[] = {e->pixels, e->displacement, e->nearest, e->flow, e->depth, e->ssim};
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        if (terms[i]) total = total ? tensor_add(e->tape, total, terms[i]) : terms[i];
    if (total) tape_backward(e->tape, tensor_scale(e->tape, total, (real)e->input->scale));
}

Status loss_backward(Tape *tape, const Vpd *model, LossWorkspace *workspace, const LossInput *input, LossValues *values,
                     Error *err) {
    Episode e = {.tape = tape, .model = model, .input = input, .workspace = workspace, .T = (int)model->config.model.T};
    double weights[MAX_ROLLOUT + 1];
    CHECK(input->rollout <= MAX_ROLLOUT && input->frames->F == e.T + input->rollout);
    schedule_step_weights(&model->config.train, input->rollout, weights);
    step_clock_start(input->clock, tape->device);
    tape_reset(tape);
    arena_reset(&tape->device->scratch); // joins its blocks
    Observation history = history_of(&e);
    if (tape->device->failed) return device_status(tape->device, err);
    const TrainConfig *train = &model->config.train;
    EncodeOptions options = {.key = input->key,
                             .position_noise = train->position_noise * model->config.gnn.displacement_scale,
                             .no_latents = input->motion_only,
                             .particles = input->motion_only ? (size_t)train->motion_particles : 0};
    VideoFrame present = input->first;
    present.frame += (e.T - 1) * present.stride;
    const MotionSeen *seen;
    Status status = motion_cache_seen(&workspace->motion, tape, model, &history, present, &seen, err);
    // Encode, draw; then step, draw, step, draw, ...; without images only the steps.
    if (status == STATUS_OK)
        status = vpd_encode(tape, model, &workspace->scene, &history, seen, options, &e.scene, err);
    if (status == STATUS_OK) e.read = tape_memory(tape, PARTS + 3 * scene_present(&e.scene)->x->rows, sizeof *e.read);
    step_clock_part(input->clock, tape, PART_ENCODER);
    for (int step = 0; step <= input->rollout && status == STATUS_OK; step++) {
        if (step > 0) {
            tape_stage(tape);
            status = move_and_compare(&e, step, err);
            step_clock_part(input->clock, tape, PART_DYNAMICS);
        }
        if (status == STATUS_OK && !input->motion_only) status = draw_and_compare(&e, step, weights[step], err);
        step_clock_part(input->clock, tape, PART_RENDERER);
    }
    if (status == STATUS_OK) {
        keep_parts(&e);
        run_backward(&e);
        step_clock_end(input->clock);
        *values = (LossValues){e.read, e.dx ? e.dx->rows : 0, scene_present(&e.scene)->x->rows};
    }
    return status == STATUS_OK ? device_status(tape->device, err) : status;
}
