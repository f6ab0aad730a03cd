// SPDX-License-Identifier: Apache-2.0
#include "train/episode.h"

#include "base/check.h"
#include "nn/backend.h"
#include "nn/combine.h"
#include "nn/rows.h"

#include <string.h>

enum { SSIM_PATCHES = 1 };

// ---- particles

// The history: the first T frames, input views alone.
static Observation input_frames(Tape *tape, int T, const EpisodeInput *in) {
    const Observation *o = in->frames;
    size_t pixels = (size_t)o->H * (size_t)o->W, V = (size_t)in->input_view_count, images = (size_t)T * V;
    uint8_t *rgb = tape_context(tape, 3 * pixels * images);
    float *depth = tape_context(tape, pixels * images * sizeof *depth);
    double *intrinsics = tape_context(tape, 9 * V * sizeof *intrinsics),
           *pose = tape_context(tape, 16 * images * sizeof *pose);
    int *views = tape_context(tape, V * sizeof *views);
    Observation out = {T, (int)V, o->H, o->W, views, rgb, depth, intrinsics, pose, o->time_step, o->bounds, o->turn};
    if (tape->device->failed) return out;
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

static VideoFrame present_frame(int T, const EpisodeInput *input) {
    VideoFrame out = input->first;
    out.frame += (T - 1) * out.stride;
    return out;
}

static Status open_host(LossWorkspace *workspace, Device *device, Error *err) {
    Status status = STATUS_OK;
    if (workspace->chosen.device) return STATUS_OK;
    if (!device_shares_host(device)) status = device_open("cpu", device->threads, &workspace->host, err);
    if (status == STATUS_OK) tape_init(&workspace->chosen, workspace->host ? workspace->host : device);
    return status;
}

Status train_place(const Vpd *model, LossWorkspace *workspace, const EpisodeBatch *batch, PlacedBatch *out,
                   Error *err) {
    Status status = open_host(workspace, model->device, err);
    if (status != STATUS_OK) return status;
    Tape *tape = &workspace->chosen;
    tape_reset(tape);
    size_t count = batch->count, at;
    int T = (int)model->config.model.T;
    const EpisodeInput *episodes = batch->episodes;
    Observation *history = tape_context(tape, count * sizeof *history);
    MotionSeen *seen = tape_context(tape, count * sizeof *seen);
    Scene **scenes = tape_context(tape, count * sizeof *scenes);
    *out = (PlacedBatch){*batch, tape_context(tape, count * sizeof *out->inputs),
                         tape_context(tape, count * sizeof *out->scenes)};
    status = device_status(tape->device, err);
    for (size_t e = 0; e < count && status == STATUS_OK; e++) {
        CHECK_EQ(episodes[e].frames->F, T + batch->rollout);
        history[e] = input_frames(tape, T, &episodes[e]);
        out->inputs[e] = (SceneInput){&history[e], &seen[e], episodes[e].key};
        scenes[e] = &out->scenes[e];
        status = device_status(tape->device, err);
        if (status == STATUS_OK)
            status = motion_cache_seen(&workspace->motion, tape, model, &history[e], present_frame(T, &episodes[e]),
                                       &seen[e], err);
    }
    if (status != STATUS_OK) return status;
    status = vpd_place(tape, model, &workspace->scene, count, out->inputs, scenes, &at, err);
    if (status == STATUS_BAD_INPUT && episodes[at].file)
        status = error_prefix(err, "%s:/episodes/%s, frame %d", episodes[at].file, episodes[at].name,
                              present_frame(T, &episodes[at]).frame);
    return status;
}

// ---- forward: encode, then render and step by turns

// Draws rays of all training views of the present frames.
static Status draw_rays(const LossBatch *b, const EpisodeInput *episodes, Error *err) {
    const TrainConfig *train = &b->model->config.train;
    RayBatch *rays = &b->workspace->rays;
    // Changes are counted against the last input frame, and for that frame against the one before it.
    int last = b->last_input, reference = b->step > 0 ? last : last > 0 ? last - 1 : 0;
    Status status = STATUS_OK;
    rays->count = 0;
    for (size_t e = 0; e < b->count && status == STATUS_OK; e++) {
        SceneKey key = episodes[e].key;
        RayBatchOptions options = {
            train->rays, train->ssim_term > 0 ? SSIM_PATCHES : 0, train->moving_rays, key.seed, key.step, key.episode};
        size_t before = rays->count;
        status = ray_batch_add(rays, b->frames[e], last + b->step, reference, b->step, &options, err);
        b->rays[e] = rays->count - before;
    }
    return status;
}

// Renders these rays and compares them with the video. Terms are multiplied by `factor`.
static Status render_and_compare(LossBatch *b, const EpisodeInput *episodes, double factor, Error *err) {
    const RayBatch *rays = &b->workspace->rays;
    Status status = draw_rays(b, episodes, err);
    if (status != STATUS_OK) return status;
    SceneRays drawn = {b->rays, rays->origin, rays->direction, rays->jitter};
    b->drawn = vpd_renders(b->tape, b->model, b->count, b->scenes, &drawn);
    return loss_add_terms(b, factor, err);
}

// Values that the host reads after the backward pass: sums of the loss terms over the episodes, in order, then these;
// then the spread of each episode, and the last dx of all.
enum { STEP0 = LOSS_TERM_COUNT, LAST, SUMS };

// A batch while its loss is computed.
typedef struct Work {
    const EpisodeBatch *input;
    const PlacedBatch *placed;
    LossBatch loss;
    StepOutput *out;  // (count) of the last step
    Tensor **h;       // (count) hidden state of the abstract nodes at the first step; or NULLs
    size_t particles; // of all episodes
    // (SUMS), (count) and (particles, 3) values, allocated before the tape's first stage so that the backward pass does
    // not overwrite them
    real *read;
} Work;

static Status begin(Work *work, Tape *tape, const Vpd *model, LossWorkspace *workspace, Error *err) {
    const EpisodeBatch *input = work->input;
    size_t count = input->count;
    LossBatch *b = &work->loss;
    *b = (LossBatch){.tape = tape,
                     .model = model,
                     .workspace = workspace,
                     .count = count,
                     .last_input = (int)model->config.model.T - 1,
                     .frames = tape_context(tape, count * sizeof *b->frames),
                     .scenes = tape_context(tape, count * sizeof *b->scenes),
                     .rays = tape_context(tape, count * sizeof *b->rays)};
    work->out = tape_context(tape, count * sizeof *work->out);
    work->h = tape_context(tape, count * sizeof *work->h);
    if (tape->device->failed) return device_status(tape->device, err);
    for (size_t e = 0; e < count; e++) {
        b->frames[e] = input->episodes[e].frames;
        b->scenes[e] = &work->placed->scenes[e];
    }
    Status status = vpd_encode(tape, model, count, work->placed->inputs, b->scenes, err);
    if (status != STATUS_OK) return status;
    for (size_t e = 0; e < count; e++) work->particles += scene_present(b->scenes[e])->x->rows;
    work->read = tape_memory(tape, SUMS + count + 3 * work->particles, sizeof(real));
    return device_status(tape->device, err);
}

// Encode, render; then step, render, step, render, .. Each step is a stage of the tape, so that its gradients are not
// kept beside those of another.
static Status forward(Work *work, Error *err) {
    const EpisodeBatch *input = work->input;
    LossBatch *b = &work->loss;
    Status status = STATUS_OK;
    step_clock_part(input->clock, b->tape, PART_ENCODER);
    for (b->step = 0; b->step <= input->rollout && status == STATUS_OK; b->step++) {
        tape_stage(b->tape);
        if (b->step > 0) {
            vpd_steps(b->tape, b->model, b->count, b->scenes, work->out);
            step_clock_part(input->clock, b->tape, PART_DYNAMICS);
        }
        for (size_t e = 0; b->step == 1 && e < b->count; e++) work->h[e] = work->out[e].h;
        status = device_status(b->tape->device, err);
        if (status == STATUS_OK) status = render_and_compare(b, input->episodes, 1.0 / (input->rollout + 1), err);
        step_clock_part(input->clock, b->tape, PART_RENDERER);
    }
    return status;
}

// ---- backward

static void keep_values(Device *device, const Tensor *values, real *out) {
    if (values) device->nn->copy(device, out, values->value, values->rows * values->cols * sizeof *out);
}

// Copies the reported values on the device, because the backward pass reuses the tensors' memory. Returns the rows of
// the last dx.
static size_t keep_parts(const Work *work) {
    const LossBatch *b = &work->loss;
    Device *device = b->tape->device;
    Tensor **dx = tape_context(b->tape, b->count * sizeof *dx);
    if (!dx) return 0;
    device->nn->zero(device, work->read, (SUMS + b->count) * sizeof *work->read);
    for (int i = 0; i < LOSS_TERM_COUNT; i++) keep_values(device, b->sum[i], work->read + i);
    keep_values(device, b->step0, work->read + STEP0);
    keep_values(device, b->last, work->read + LAST);
    for (size_t e = 0; e < b->count; e++) {
        dx[e] = work->out[e].dx;
        if (work->h[e]) dynamics_spread(device, work->h[e], work->read + SUMS + e);
    }
    const Tensor *moved = dx[0] ? join_rows(b->tape, b->count, dx) : NULL;
    keep_values(device, moved, work->read + SUMS + b->count);
    return moved ? moved->rows : 0;
}

static void backward(const Work *work) {
    const LossBatch *b = &work->loss;
    Tensor *total = NULL;
    for (int i = 0; i < LOSS_TERM_COUNT; i++)
        if (b->sum[i]) total = total ? tensor_add(b->tape, total, b->sum[i]) : b->sum[i];
    if (total) tape_backward(b->tape, tensor_scale(b->tape, total, (real)(1 / (double)work->input->total)));
}

Status train_episodes(Tape *tape, const Vpd *model, LossWorkspace *workspace, const PlacedBatch *placed,
                      LossValues *values, Error *err) {
    const EpisodeBatch *input = &placed->input;
    Work work = {.input = input, .placed = placed};
    step_clock_start(input->clock, tape->device);
    tape_reset(tape);
    arena_reset(&tape->device->scratch); // merges its blocks
    Status status = begin(&work, tape, model, workspace, err);
    if (status == STATUS_OK) status = forward(&work, err);
    if (status != STATUS_OK) return status;
    *values = (LossValues){work.read, input->count, input->total, keep_parts(&work), work.particles};
    backward(&work);
    step_clock_end(input->clock);
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
    size_t episodes = values->episodes, count = SUMS + episodes + 3 * values->moved;
    double share = 1 / (double)values->total;
    real *read = tape_context(tape, count * sizeof *read);
    if (!read) return device_status(tape->device, err);
    tape->device->nn->download(tape->device, read, values->read, count * sizeof *read);
    *parts = (LossParts){.step0 = share * (double)read[STEP0],
                         .last = share * (double)read[LAST],
                         .motion = mean_length(values->moved, read + SUMS + episodes),
                         .particles = values->particles / episodes};
    for (int i = 0; i < LOSS_TERM_COUNT; i++) {
        parts->term[i] = share * (double)read[i];
        parts->total += parts->term[i];
    }
    for (size_t e = 0; e < episodes; e++) parts->spread += share * (double)read[SUMS + e];
    return device_status(tape->device, err);
}
