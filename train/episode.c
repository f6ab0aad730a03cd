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

// Chooses the particles of an episode's input frames.
static Status place(LossEpisode *e, const EpisodeInput *input, const Observation *history, Error *err) {
    VideoFrame present = input->first;
    present.frame += e->last_input * present.stride;
    const MotionSeen *seen;
    if (e->tape->device->failed) return device_status(e->tape->device, err);
    Status status = motion_cache_seen(&e->workspace->motion, e->tape, e->model, history, present, &seen, err);
    if (status != STATUS_OK) return status;
    status = vpd_place(e->tape, e->model, &e->workspace->scene, history, seen, input->key, &e->scene, err);
    if (status == STATUS_BAD_INPUT && input->file)
        status = error_prefix(err, "%s:/episodes/%s, frame %d", input->file, input->name, present.frame);
    return status;
}

// Encodes the input frames of all episodes into particles.
static Status encode(LossEpisode *episodes, const EpisodeBatch *batch, Error *err) {
    Tape *tape = episodes->tape;
    Observation *history = tape_context(tape, batch->count * sizeof *history);
    const Observation **histories = tape_context(tape, batch->count * sizeof *histories);
    Scene **scenes = tape_context(tape, batch->count * sizeof *scenes);
    Status status = device_status(tape->device, err);
    for (size_t b = 0; b < batch->count && status == STATUS_OK; b++) {
        history[b] = input_frames(&episodes[b], &batch->episodes[b]);
        histories[b] = &history[b];
        scenes[b] = &episodes[b].scene;
        status = place(&episodes[b], &batch->episodes[b], &history[b], err);
    }
    if (status != STATUS_OK) return status;
    return vpd_add_features(tape, episodes->model, batch->count, histories, scenes, err);
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

// Values of an episode that the host reads after the backward pass: loss terms in order, then these. The last dx of all
// episodes comes behind them.
enum { STEP0 = LOSS_TERM_COUNT, LAST, SPREAD, PARTS };

// A batch while its loss is computed.
typedef struct LossBatch {
    const EpisodeBatch *input;
    LossEpisode *episodes; // (input->count)
    size_t particles;      // of all episodes
    // (count, PARTS) and (particles, 3) values, allocated before the tape's first stage so that the backward pass does
    // not overwrite them
    real *read;
} LossBatch;

static Status begin(LossBatch *batch, Tape *tape, const Vpd *model, LossWorkspace *workspace, Error *err) {
    const EpisodeBatch *input = batch->input;
    batch->episodes = tape_context(tape, input->count * sizeof *batch->episodes);
    if (!batch->episodes) return device_status(tape->device, err);
    for (size_t b = 0; b < input->count; b++) {
        batch->episodes[b] = (LossEpisode){.tape = tape,
                                           .model = model,
                                           .workspace = workspace,
                                           .frames = input->episodes[b].frames,
                                           .last_input = (int)model->config.model.T - 1};
        CHECK_EQ(input->episodes[b].frames->F, model->config.model.T + input->rollout);
    }
    Status status = encode(batch->episodes, input, err);
    for (size_t b = 0; b < input->count && status == STATUS_OK; b++)
        batch->particles += scene_present(&batch->episodes[b].scene)->x->rows; // NOLINT
    if (status == STATUS_OK) batch->read = tape_memory(tape, PARTS * input->count + 3 * batch->particles, sizeof(real));
    return status == STATUS_OK ? device_status(tape->device, err) : status;
}

// Moves the particles of all episodes by one time step.
static Status step(LossBatch *batch, int number, Error *err) {
    size_t count = batch->input->count;
    LossEpisode *episodes = batch->episodes;
    Tape *tape = episodes->tape;
    Scene **scenes = tape_context(tape, count * sizeof *scenes);
    StepOutput *out = tape_context(tape, count * sizeof *out);
    if (!scenes || !out) return device_status(tape->device, err);
    for (size_t b = 0; b < count; b++) scenes[b] = &episodes[b].scene;
    vpd_steps(tape, episodes->model, count, scenes, out);
    for (size_t b = 0; b < count; b++) {
        if (number == 1) episodes[b].h = out[b].h;
        episodes[b].dx = out[b].dx;
    }
    return device_status(tape->device, err);
}

// Encode, render; then step, render, step, render, .. Each step is a stage of the tape, so that its gradients are not
// kept beside those of another.
static Status forward(LossBatch *batch, Error *err) {
    const EpisodeBatch *input = batch->input;
    Tape *tape = batch->episodes->tape;
    Status status = STATUS_OK;
    step_clock_part(input->clock, tape, PART_ENCODER);
    for (int i = 0; i <= input->rollout && status == STATUS_OK; i++) {
        tape_stage(tape);
        if (i > 0) status = step(batch, i, err);
        if (i > 0) step_clock_part(input->clock, tape, PART_DYNAMICS);
        for (size_t b = 0; b < input->count && status == STATUS_OK; b++) {
            batch->episodes[b].step = i;
            status = render_and_compare(&batch->episodes[b], &input->episodes[b], 1.0 / (input->rollout + 1), err);
        }
        step_clock_part(input->clock, tape, PART_RENDERER);
    }
    return status;
}

// ---- backward

static void keep_values(Device *device, const Tensor *values, real *out) {
    if (values) device->nn->copy(device, out, values->value, values->rows * values->cols * sizeof *out);
}

// Copies the reported values on the device, because the backward pass reuses the tensors' memory. Returns the rows of
// the last dx.
static size_t keep_parts(const LossBatch *batch) {
    size_t count = batch->input->count, moved = 0;
    Device *device = batch->episodes->tape->device;
    if (device->failed) return 0;
    device->nn->zero(device, batch->read, PARTS * count * sizeof *batch->read);
    for (size_t b = 0; b < count; b++) {
        const LossEpisode *e = &batch->episodes[b];
        real *out = batch->read + PARTS * b;
        for (int i = 0; i < LOSS_TERM_COUNT; i++) keep_values(device, e->sum[i], out + i);
        keep_values(device, e->step0, out + STEP0);
        keep_values(device, e->last, out + LAST);
        if (e->h) dynamics_spread(device, e->h, out + SPREAD);
        keep_values(device, e->dx, batch->read + PARTS * count + 3 * moved);
        if (e->dx) moved += e->dx->rows;
    }
    return moved;
}

static void backward(const LossBatch *batch) {
    size_t count = batch->input->count;
    Tape *tape = batch->episodes->tape;
    Tensor *total = NULL;
    for (size_t b = 0; b < count; b++)
        for (int i = 0; i < LOSS_TERM_COUNT; i++) {
            Tensor *sum = batch->episodes[b].sum[i];
            if (sum) total = total ? tensor_add(tape, total, sum) : sum;
        }
    if (total) tape_backward(tape, tensor_scale(tape, total, (real)(1 / (double)batch->input->total)));
}

Status train_episodes(Tape *tape, const Vpd *model, LossWorkspace *workspace, const EpisodeBatch *input,
                      LossValues *values, Error *err) {
    LossBatch batch = {.input = input};
    step_clock_start(input->clock, tape->device);
    tape_reset(tape);
    arena_reset(&tape->device->scratch); // merges its blocks
    Status status = begin(&batch, tape, model, workspace, err);
    if (status == STATUS_OK) status = forward(&batch, err);
    if (status != STATUS_OK) return status;
    *values = (LossValues){batch.read, input->count, input->total, keep_parts(&batch), batch.particles};
    backward(&batch);
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

// Adds the share of one episode.
static void add_parts(const real *read, double share, LossParts *parts) {
    for (int i = 0; i < LOSS_TERM_COUNT; i++) {
        parts->term[i] += share * (double)read[i];
        parts->total += share * (double)read[i];
    }
    parts->step0 += share * (double)read[STEP0];
    parts->last += share * (double)read[LAST];
    parts->spread += share * (double)read[SPREAD];
}

Status loss_read(Tape *tape, const LossValues *values, LossParts *parts, Error *err) {
    size_t episodes = values->episodes, count = PARTS * episodes + 3 * values->moved;
    real *read = tape_context(tape, count * sizeof *read);
    if (!read) return device_status(tape->device, err);
    tape->device->nn->download(tape->device, read, values->read, count * sizeof *read);
    *parts = (LossParts){.motion = mean_length(values->moved, read + PARTS * episodes),
                         .particles = values->particles / episodes};
    for (size_t b = 0; b < episodes; b++) add_parts(read + PARTS * b, 1 / (double)values->total, parts);
    return device_status(tape->device, err);
}
