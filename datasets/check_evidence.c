// SPDX-License-Identifier: Apache-2.0
#include "datasets/check_evidence.h"

#include "base/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGES_MAX = 384,
    EPISODES_MAX = 16,
    FRAMES_MAX = 41,   // of one episode: enough for clocks 0.6 s apart
    SIDE_MAX = 192,    // pixels of a thinned picture
    PAIRED_FRAMES = 3, // of each episode, when several cameras see each
    SINGLE_FRAMES = 10,
    ALL_PAIRS_VIEWS = 8,
    POINTS_TOTAL = 4000,
    POINTS_MIN = 32,
    POINTS_MAX = 500
};
#define FRAME_SECONDS (1 / 30.0) // frames closer in time are left out

static int clamp(int value, int low, int high) { return value < low ? low : value > high ? high : value; }

static void plan_episode(KeptEpisode *kept, const EpisodeInfo *info, int episode, int frames_max) {
    int stride = info->time_step > 0 ? (int)lround(FRAME_SECONDS / info->time_step) : 1;
    // A single moving camera is compared over all of its path.
    if (info->V == 1) stride = (info->F - 1) / frames_max + 1;
    stride = clamp(stride, 1, info->F > 2 ? info->F / 3 : 1);
    int frames = clamp((info->F - 1) / stride + 1, 1, frames_max);
    *kept = (KeptEpisode){.episode = episode,
                          .first = (info->F - 1 - (frames - 1) * stride) / 2,
                          .stride = stride,
                          .frames = frames,
                          .views = clamp(info->V, 1, IMAGES_MAX / 2),
                          .moving = info->moving_cameras,
                          .seconds = info->time_step * stride};
}

// All ordered pairs of a few images; of many, each with some that follow it, near and far.
static void pair_images(Evidence *evidence, const int *images, int count) {
    static const int STEPS[] = {1, 2, 4, 9};
    for (int a = 0; a < count; a++) {
        for (int b = 0; count <= ALL_PAIRS_VIEWS && b < count; b++) {
            if (a != b) evidence->pairs[evidence->pair_count++] = (KeptPair){images[a], images[b]};
        }
        for (int s = 0; count > ALL_PAIRS_VIEWS && s < 4; s++) {
            int b = (a + STEPS[s]) % count;
            if (a == b) continue;
            evidence->pairs[evidence->pair_count++] = (KeptPair){images[a], images[b]};
            evidence->pairs[evidence->pair_count++] = (KeptPair){images[b], images[a]};
        }
    }
}

static void plan_pairs(Evidence *evidence, const KeptEpisode *kept) {
    int images[IMAGES_MAX], moments = kept->frames < PAIRED_FRAMES ? kept->frames : PAIRED_FRAMES;
    for (int i = 0; kept->views > 1 && i < moments; i++) {
        int order = moments > 1 ? i * (kept->frames - 1) / (moments - 1) : 0;
        for (int v = 0; v < kept->views; v++) images[v] = kept->image + order * kept->views + v;
        pair_images(evidence, images, kept->views);
    }
    if (kept->views > 1 || !kept->moving) return;
    int count = kept->frames < SINGLE_FRAMES ? kept->frames : SINGLE_FRAMES;
    for (int i = 0; i < count; i++) images[i] = kept->image + (count > 1 ? i * (kept->frames - 1) / (count - 1) : 0);
    pair_images(evidence, images, count);
}

Status evidence_plan(Evidence *evidence, const Dataset *dataset, Error *err) {
    int count = dataset_episode_count(dataset), wanted = 1, images = 0;
    for (int i = 0; i < count; i++) {
        const EpisodeInfo *info = dataset_episode(dataset, i);
        wanted = clamp(clamp(info->F, 1, FRAMES_MAX) * info->V, wanted, IMAGES_MAX);
    }
    int episodes = clamp(IMAGES_MAX / wanted, 1, clamp(count, 1, EPISODES_MAX));
    evidence->episodes = calloc((size_t)episodes, sizeof *evidence->episodes);
    evidence->images = calloc(IMAGES_MAX, sizeof *evidence->images);
    // At most 8 partners each way for each image.
    evidence->pairs = calloc((size_t)IMAGES_MAX * 8, sizeof *evidence->pairs);
    if (!evidence->episodes || !evidence->images || !evidence->pairs)
        return error_set(err, STATUS_FAILED, "no memory for the images to compare");
    for (int i = 0; i < episodes; i++) {
        KeptEpisode *kept = &evidence->episodes[evidence->episode_count++];
        int episode = (int)((long long)i * count / episodes);
        const EpisodeInfo *info = dataset_episode(dataset, episode);
        int share = IMAGES_MAX / episodes;
        plan_episode(kept, info, episode, clamp(share / clamp(info->V, 1, share), 1, FRAMES_MAX));
        if (kept->views > share) kept->views = share;
        kept->image = images;
        images += kept->frames * kept->views;
        plan_pairs(evidence, kept);
    }
    evidence->image_count = images;
    evidence->points =
        (size_t)clamp(evidence->pair_count ? POINTS_TOTAL / evidence->pair_count : POINTS_MIN, POINTS_MIN, POINTS_MAX);
    return STATUS_OK;
}

// Every `step`-th pixel, the middle one of its block: `step` is odd, so the ray of a kept pixel is that of the block.
static void thin(KeptImage *image, const Frames *frames, int view) {
    int step = image->step;
    const float *depth = frames->depth + (size_t)view * (size_t)frames->H * (size_t)frames->W;
    const uint8_t *rgb = frames->rgb + 3 * (size_t)view * (size_t)frames->H * (size_t)frames->W;
    for (int at = 0; at < image->H * image->W; at++) {
        int left = at % image->W * step, top = at / image->W * step;
        double sum = 0;
        for (int i = 0; i < step * step; i++) {
            const uint8_t *pixel = rgb + 3 * ((size_t)(top + i / step) * (size_t)frames->W + (size_t)(left + i % step));
            sum += 0.3 * pixel[0] + 0.6 * pixel[1] + 0.1 * pixel[2];
        }
        image->grey[at] = (float)(sum / (step * step));
        image->depth[at] = depth[(size_t)(top + step / 2) * (size_t)frames->W + (size_t)(left + step / 2)];
    }
}

static Status keep(KeptImage *image, const Frames *frames, int view, Error *err) {
    int side = frames->H > frames->W ? frames->H : frames->W, step = (side + SIDE_MAX - 1) / SIDE_MAX;
    image->step = step | 1;
    if (frames->H < 4 * image->step || frames->W < 4 * image->step) image->step = 1;
    step = image->step;
    image->view = view;
    image->H = frames->H / step, image->W = frames->W / step;
    size_t pixels = (size_t)image->H * (size_t)image->W;
    image->depth = malloc(pixels * sizeof *image->depth);
    image->grey = malloc(pixels * sizeof *image->grey);
    if (!image->depth || !image->grey) return error_set(err, STATUS_FAILED, "no memory for the images to compare");
    memcpy(image->K, frames->intrinsics + 9 * view, sizeof image->K);
    for (int i = 0; i < 6; i++) image->K[i] /= step;
    memcpy(image->pose, frames->world_from_camera + 16 * view, sizeof image->pose);
    thin(image, frames, view);
    return STATUS_OK;
}

Status evidence_take(Evidence *evidence, const Frames *frames, Error *err) {
    Status status = STATUS_OK;
    for (int slot = 0; slot < evidence->episode_count; slot++) {
        const KeptEpisode *kept = &evidence->episodes[slot];
        int offset = frames->first - kept->first, order = offset / kept->stride;
        if (kept->episode != frames->episode || offset < 0 || offset % kept->stride || order >= kept->frames) continue;
        for (int v = 0; !status && v < kept->views; v++) {
            KeptImage *image = &evidence->images[kept->image + order * kept->views + v];
            if (image->depth) continue;
            image->slot = slot, image->order = order;
            status = keep(image, frames, v, err);
        }
    }
    return status;
}

void evidence_free(Evidence *evidence) {
    for (int i = 0; evidence->images && i < evidence->image_count; i++) {
        free(evidence->images[i].depth);
        free(evidence->images[i].grey);
    }
    free(evidence->episodes);
    free(evidence->images);
    free(evidence->pairs);
    *evidence = (Evidence){0};
}

int evidence_find(const Evidence *evidence, int slot, int order, int view) {
    const KeptEpisode *kept = &evidence->episodes[slot];
    if (order < 0 || order >= kept->frames || view < 0 || view >= kept->views) return -1;
    return kept->image + order * kept->views + view;
}

float evidence_farthest(const Evidence *evidence) {
    float farthest = 0;
    for (int i = 0; i < evidence->image_count; i++) {
        const KeptImage *image = &evidence->images[i];
        for (int at = 0; image->depth && at < image->H * image->W; at++)
            if (image->depth[at] > farthest) farthest = image->depth[at];
    }
    return farthest;
}

Shot evidence_shot(const KeptImage *image) {
    Shot shot = {.H = image->H, .W = image->W, .depth = image->depth, .depth_scale = 1};
    memcpy(shot.K, image->K, sizeof shot.K);
    memcpy(shot.pose, image->pose, sizeof shot.pose);
    pose_inverse(shot.pose, shot.inverse);
    return shot;
}
