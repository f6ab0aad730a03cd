// SPDX-License-Identifier: Apache-2.0
#include "train/ray_batch.h"

#include "base/array.h"
#include "base/camera.h"
#include "base/random.h"

#include <stdbool.h>
#include <stdlib.h>

enum { ROLLOUT_KEYS = 64, VIEW_KEYS = 1 << 20 }; // random streams per step; indices per view

void ray_batch_free(RayBatch *batch) {
    free(batch->origin);
    free(batch->direction);
    free(batch->jitter);
    free(batch->colour);
    free(batch->depth);
    free(batch->pixel);
    free(batch->candidates);
    *batch = (RayBatch){0};
}

static Status reserve(RayBatch *batch, size_t rays, size_t pixels, Error *err) {
    bool ok = true;
    if (rays > batch->capacity) {
        ok = array_grow(&batch->origin, 3 * rays, sizeof(real)) &&
             array_grow(&batch->direction, 3 * rays, sizeof(real)) && array_grow(&batch->jitter, rays, sizeof(real)) &&
             array_grow(&batch->colour, 3 * rays, sizeof(real)) && array_grow(&batch->depth, rays, sizeof(real)) &&
             array_grow(&batch->pixel, rays, sizeof(int));
        if (ok) batch->capacity = rays;
    }
    if (ok && pixels > batch->candidate_capacity) {
        ok = array_grow(&batch->candidates, pixels, sizeof(int));
        if (ok) batch->candidate_capacity = pixels;
    }
    return ok ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for %zu training rays", rays);
}

// Pixels of one view whose colour differs between two frames by more than the threshold in any channel.
static size_t find_changes(const Observation *o, int frame, int reference, int view, int *out) {
    size_t pixels = (size_t)o->H * (size_t)o->W, count = 0;
    const uint8_t *a = o->rgb + 3 * pixels * (size_t)(frame * o->V + view);
    const uint8_t *b = o->rgb + 3 * pixels * (size_t)(reference * o->V + view);
    for (size_t i = 0; i < pixels; i++)
        for (int c = 0; c < 3; c++)
            if (abs(a[3 * i + c] - b[3 * i + c]) > CHANGE_THRESHOLD) {
                out[count++] = (int)i;
                break;
            }
    return count;
}

static void set_ray(RayBatch *batch, const Observation *o, int frame, int view, int pixel) {
    size_t pixels = (size_t)o->H * (size_t)o->W, r = batch->count++;
    size_t image = (size_t)frame * (size_t)o->V + (size_t)view;
    const double *pose = o->world_from_camera + 16 * image;
    double point[3], eye[3] = {pose[3], pose[7], pose[11]}, origin[3], direction[3];
    camera_unproject_pixel(o->intrinsics + 9 * view, pose, o->W, (size_t)pixel, 1, point);
    for (int c = 0; c < 3; c++) point[c] -= eye[c];
    observation_turn(o, point, direction);
    observation_turn(o, eye, origin);
    for (int c = 0; c < 3; c++) {
        batch->origin[3 * r + (size_t)c] = (real)origin[c];
        batch->direction[3 * r + (size_t)c] = (real)direction[c];
        batch->colour[3 * r + (size_t)c] = (real)o->rgb[3 * (pixels * image + (size_t)pixel) + (size_t)c] / 255;
    }
    batch->depth[r] = (real)o->depth[pixels * image + (size_t)pixel];
    batch->pixel[r] = view * (int)pixels + pixel;
}

// Pixel of the index-th draw of a view: with probability moving_share a changed pixel, else any.
static int draw_pixel(const RayBatch *batch, size_t changes, int pixels, double moving_share, RandomKey key,
                      uint64_t index) {
    Random4 random = random4(key, index);
    bool moving = changes > 0 && (double)random_to_unit(random.v[1]) < moving_share;
    uint32_t below = moving ? (uint32_t)changes : (uint32_t)pixels;
    int pick = (int)(((uint64_t)random.v[0] * below) >> 32);
    return moving ? batch->candidates[pick] : pick;
}

static int clamp_int(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

// A patch around the drawn pixel, shifted to lie inside the image.
static void set_patch(RayBatch *batch, const Observation *o, int frame, int view, int centre) {
    int row = clamp_int(centre / o->W - SSIM_SIDE / 2, 0, o->H - SSIM_SIDE);
    int column = clamp_int(centre % o->W - SSIM_SIDE / 2, 0, o->W - SSIM_SIDE);
    for (int i = 0; i < SSIM_SIDE * SSIM_SIDE; i++)
        set_ray(batch, o, frame, view, (row + i / SSIM_SIDE) * o->W + column + i % SSIM_SIDE);
}

Status ray_batch_add(RayBatch *batch, const Observation *o, int frame, int reference, int rollout_step,
                     const RayBatchOptions *options, Error *err) {
    int pixels = o->H * o->W, patches = o->H < SSIM_SIDE || o->W < SSIM_SIDE ? 0 : options->patches;
    size_t per_view = (size_t)options->rays + (size_t)patches * SSIM_SIDE * SSIM_SIDE;
    size_t first_ray = batch->count;
    Status status = reserve(batch, first_ray + per_view * (size_t)o->V, (size_t)pixels, err);
    if (status != STATUS_OK) return status;
    RandomKey key = {options->seed, RANDOM_RAYS, options->step * ROLLOUT_KEYS + (uint32_t)rollout_step,
                     options->episode};
    for (int view = 0; view < o->V; view++) {
        uint64_t first = (uint64_t)o->views[view] * VIEW_KEYS;
        size_t changes = find_changes(o, frame, reference, view, batch->candidates);
        for (long r = 0; r < options->rays + patches; r++) {
            int pixel = draw_pixel(batch, changes, pixels, options->moving_share, key, first + (uint64_t)r);
            if (r < options->rays) set_ray(batch, o, frame, view, pixel);
            else set_patch(batch, o, frame, view, pixel);
        }
    }
    key.purpose = RANDOM_JITTER;
    for (size_t r = first_ray; r < batch->count; r++) batch->jitter[r] = (real)random_uniform(key, r - first_ray);
    return STATUS_OK;
}
