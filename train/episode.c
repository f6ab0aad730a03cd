// SPDX-License-Identifier: Apache-2.0
#include "train/episode.h"

#include "base/check.h"
#include "nn/backend.h"
#include "nn/combine.h"

#include <string.h>

enum { SSIM_PATCHES = 1 };

// ---- forward: encode, then render and step by turns

// The history: the first T frames, input views alone.
static Observation input_frames(const LossEpisode *e, const EpisodeInput *in) {
    const Observation *o = e->frames;
    int T = e->last_input + 1;
    size_t pixels = (size_t)o->H * (size_t)o->W, V = (size_t)in->input_view_count, images = (size_t)T * V;
    uint8_t *rgb = tape_context(e->tape, 3 * pixels * images);
    float *depth = tape_context(e->tape, pixels * images * sizeof *depth);
    double *intrinsics = tape_context(e->tape, 9 * V * sizeof *intrinsics),
           *pose = tape_context(e->tape, 16 * images * sizeof *pose);
    int *views = tape_context(e->tape, V * sizeof *views);
    Observation out = {T, (int)V, o->H, o->W, views, rgb, depth, intrinsics, pose, o->bounds, o->turn};
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

// Encodes the input frames into particles.
static Status encode(LossEpisode *e, const EpisodeInput *input, Error *err) {
    Observation history = input_frames(e, input);
    if (e->tape->device->failed) return device_status(e->tape->device, err);
    VideoFrame present = input->first;
    present.frame += e->last_input * present.stride;
    const MotionSeen *seen;
    Status status = motion_cache_seen(&e->workspace->motion, e->tape, e->model, &history, present, &seen, err);
    if (status != STATUS_OK) return status;
    return vpd_encode(e->tape, e->model, &e->workspace->scene, &history, seen, input->key, &e->scene, err);
}

// Renders rays of all training views of the present frame and compares them with the video.
static Status render_and_compare(LossEpisode *e, const EpisodeInput *input, double weight, Error *err) {
    const TrainConfig *train = &e->model->config.train;
    RayBatch *rays = &e->workspace->rays;
    RayBatchOptions options = {train->rays,        train->ssim_term > 0 ? SSIM_PATCHES : 0,
                               train->moving_rays, input->key.seed,
                               input->key.step,    input->key.episode};
    // Changes are counted against the last input frame, and for that frame against the one before it.
    int last = e->last_input, reference = e->step > 0 ? last : last > 0 ? last - 1 : 0;
    Status status = ray_batch_draw(rays, e->frames, last + e->step, reference, e->step, &options, err);
    if (status != STATUS_OK) return status;
    e->drawn = vpd_render(e->tape, e->model, &e->scene, rays->count, rays->origin, rays->direction, rays->jitter, NULL);
    e->colours = tape_upload(e->tape, rays->colour, 3 * rays->count, sizeof(real));
    if (e->tape->device->failed) return device_status(e->tape->device, err);
    return loss_add_terms(e, weight, err);
}

// Values read by the host after the backward pass: loss terms in order, then these, then the last dx.
enum { STEP0 = LOSS_TERM_COUNT, LAST, SPREAD, PARTS };

// Values that are reported beside the loss terms.
typedef struct Report {
    Tensor *h, *dx; // hidden state of the abstract nodes at the first step, displacements of the last
    // PARTS + 3 N values, allocated before the tape's first stage so that the backward pass does not overwrite them
    real *read;
} Report;

// Encode, render; then step, render, step, render, ..
static Status forward(LossEpisode *e, const EpisodeInput *input, Report *report, Error *err) {
    Status status = encode(e, input, err);
    if (status == STATUS_OK)
        report->read = tape_memory(e->tape, PARTS + 3 * scene_present(&e->scene)->x->rows, sizeof(real)); // NOLINT
    step_clock_part(input->clock, e->tape, PART_ENCODER);
    for (e->step = 0; e->step <= input->rollout && status == STATUS_OK; e->step++) {
        if (e->step > 0) {
            tape_stage(e->tape);
            StepOutput out = vpd_step(e->tape, e->model, &e->scene);
            status = device_status(e->tape->device, err);
            if (e->step == 1) report->h = out.h;
            report->dx = out.dx;
            step_clock_part(input->clock, e->tape, PART_DYNAMICS);
        }
        if (status == STATUS_OK) status = render_and_compare(e, input, 1.0 / (input->rollout + 1), err);
        step_clock_part(input->clock, e->tape, PART_RENDERER);
    }
    return status;
}

// ---- backward

static void keep_values(Device *device, const Tensor *values, real *out) {
    if (values) device->nn->copy(device, out, values->value, values->rows * values->cols * sizeof *out);
}

// Copies the reported values on the device, because the backward pass reuses the tensors' memory.
static void keep_parts(const LossEpisode *e, const Report *report) {
    Device *device = e->tape->device;
    real *out = report->read;
    if (device->failed) return;
    device->nn->zero(device, out, PARTS * sizeof *out);
    for (int i = 0; i < LOSS_TERM_COUNT; i++) keep_values(device, e->sum[i], out + i);
    keep_values(device, e->step0, out + STEP0);
    keep_values(device, e->last, out + LAST);
    if (report->h) dynamics_spread(device, report->h, out + SPREAD);
    keep_values(device, report->dx, out + PARTS);
}

static void backward(const LossEpisode *e, double scale) {
    Tensor *total = NULL;
    for (int i = 0; i < LOSS_TERM_COUNT; i++)
        if (e->sum[i]) total = total ? tensor_add(e->tape, total, e->sum[i]) : e->sum[i];
    if (total) tape_backward(e->tape, tensor_scale(e->tape, total, (real)scale));
}

Status train_episode(Tape *tape, const Vpd *model, LossWorkspace *workspace, const EpisodeInput *input,
                     LossValues *values, Error *err) {
    LossEpisode e = {.tape = tape,
                     .model = model,
                     .workspace = workspace,
                     .frames = input->frames,
                     .first = input->first,
                     .last_input = (int)model->config.model.T - 1};
    Report report = {NULL, NULL, NULL};
    CHECK_EQ(input->frames->F, e.last_input + 1 + input->rollout);
    step_clock_start(input->clock, tape->device);
    tape_reset(tape);
    arena_reset(&tape->device->scratch); // merges its blocks
    Status status = forward(&e, input, &report, err);
    if (status != STATUS_OK) return status;
    keep_parts(&e, &report);
    backward(&e, input->scale);
    step_clock_end(input->clock);
    *values = (LossValues){report.read, report.dx ? report.dx->rows : 0, scene_present(&e.scene)->x->rows};
    return device_status(tape->device, err);
}

// ---- reading the loss

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
    *parts = (LossParts){.step0 = (double)read[STEP0],
                         .last = (double)read[LAST],
                         .spread = (double)read[SPREAD],
                         .motion = mean_length(values->moved, read + PARTS),
                         .particles = values->particles};
    for (int i = 0; i < LOSS_TERM_COUNT; i++) parts->total += parts->term[i] = (double)read[i];
    return device_status(tape->device, err);
}
