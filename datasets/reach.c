// SPDX-License-Identifier: Apache-2.0
#include "datasets/reach.h"

#include "base/camera.h"
#include "base/sort.h"
#include "datasets/reproject.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    EPISODES = 8,
    MOMENTS = 8,     // frames of each, evenly
    FRAMES_MIN = 8,  // of an episode; shorter ones show too little of what happens
    SIDE_MAX = 128,  // pixels of a thinned picture
    NEIGHBOURS = 5,  // of 8, at least, that change as a pixel does: noise is not so common
    POINTS_MIN = 200 // that move
};
#define CHANGED 0.03    // of depth: more than the noise of sensors
#define USUAL 3.0       // ratio of the extent to where things move (good data: 2.3 at most; those that a box mends: 4)
#define MARGIN 0.35     // around where things move, of its longest side
#define OUTSIDE 0.01    // share of the moving points below, and above
#define BACKGROUND 0.05 // the same of all points, as of data.extent

// Growing lists of coordinates.
typedef struct Points {
    float *axis[3];
    size_t count, capacity;
} Points;

static Status add_point(Points *points, const double p[3], Error *err) {
    if (points->count == points->capacity) {
        size_t capacity = 2 * points->capacity + 4096;
        for (int c = 0; c < 3; c++) {
            float *grown = realloc(points->axis[c], capacity * sizeof *grown);
            if (!grown) return error_set(err, STATUS_FAILED, "out of memory for the points that move");
            points->axis[c] = grown;
        }
        points->capacity = capacity;
    }
    for (int c = 0; c < 3; c++) points->axis[c][points->count] = (float)p[c];
    points->count++;
    return STATUS_OK;
}

static void sort_points(Points *points) {
    for (int c = 0; c < 3; c++) sort_floats(points->axis[c], points->count);
}

static double spread(const Points *points, int axis, double outside) {
    const float *sorted = points->axis[axis];
    return sorted_quantile(sorted, points->count, 1 - outside) - sorted_quantile(sorted, points->count, outside);
}

// -1 where a pixel has become nearer, 1 farther, 0 as before or unknown.
static int change(float before, float after) {
    if (!(before > 0 && after > 0) || fabsf(after - before) <= (float)CHANGED * fminf(before, after)) return 0;
    return after < before ? -1 : 1;
}

// Adds the nearer one of both surfaces at each pixel that changes: the other is what lies behind the thing that moves.
static Status add_changes(const Frames *first, const Frames *now, int view, Points *out, Error *err) {
    int H = now->H, W = now->W, step = ((H > W ? H : W) + SIDE_MAX - 1) / SIDE_MAX;
    size_t at = (size_t)view * (size_t)H * (size_t)W;
    const float *before = first->depth + at, *after = now->depth + at;
    for (int y = step; y < H - step; y += step) {
        for (int x = step; x < W - step; x += step) {
            int i = y * W + x, here = change(before[i], after[i]), alike = -1;
            for (int n = 0; here && n < 9; n++) {
                int j = i + (n / 3 - 1) * step * W + (n % 3 - 1) * step;
                alike += change(before[j], after[j]) == here;
            }
            if (!here || alike < NEIGHBOURS) continue;
            double p[3];
            camera_unproject_pixel(now->intrinsics + 9 * view, now->world_from_camera + 16 * view, W, (size_t)i,
                                   fminf(before[i], after[i]), p);
            Status status = add_point(out, p, err);
            if (status) return status;
        }
    }
    return STATUS_OK;
}

static Status add_all(const Frames *frames, Points *out, Error *err) {
    size_t pixels = (size_t)frames->H * (size_t)frames->W, step = pixels / (SIDE_MAX * SIDE_MAX) + 1;
    for (size_t at = 0; at < pixels * (size_t)frames->V; at += step) {
        size_t v = at / pixels;
        double p[3];
        if (!(frames->depth[at] > 0)) continue;
        camera_unproject_pixel(frames->intrinsics + 9 * v, frames->world_from_camera + 16 * v, frames->W, at % pixels,
                               frames->depth[at], p);
        Status status = add_point(out, p, err);
        if (status) return status;
    }
    return STATUS_OK;
}

typedef struct Search {
    Frames first, now;
    Points moving, all;
} Search;

static Status look(Search *s, const Dataset *dataset, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    if (info->F < FRAMES_MIN) return STATUS_OK;
    Status status = dataset_read_frames(dataset, (FrameRequest){.episode = episode, .count = 1}, &s->first, err);
    if (!status && !info->bounds) status = add_all(&s->first, &s->all, err);
    for (int i = 1; i < MOMENTS && !status; i++) {
        FrameRequest request = {.episode = episode, .first = i * (info->F - 1) / (MOMENTS - 1), .count = 1};
        status = dataset_read_frames(dataset, request, &s->now, err);
        for (int v = 0; v < info->V && !status; v++) {
            const double *pose = s->now.world_from_camera + 16 * v;
            if (!memcmp(pose, s->first.world_from_camera + 16 * v, 16 * sizeof *pose))
                status = add_changes(&s->first, &s->now, v, &s->moving, err);
        }
    }
    return status;
}

static void summarise(Search *s, Reach *out) {
    out->moves = s->moving.count >= POINTS_MIN;
    sort_points(&s->moving);
    sort_points(&s->all);
    for (int c = 0; c < 3; c++) {
        out->lower[c] = sorted_quantile(s->moving.axis[c], s->moving.count, OUTSIDE);
        out->upper[c] = sorted_quantile(s->moving.axis[c], s->moving.count, 1 - OUTSIDE);
        if (s->all.count) out->extent = fmax(out->extent, spread(&s->all, c, BACKGROUND));
    }
}

Status reach_measure(const Dataset *dataset, Reach *out, Error *err) {
    int count = dataset_episode_count(dataset), looked = count < EPISODES ? count : EPISODES;
    Search search = {0};
    Status status = STATUS_OK;
    *out = (Reach){0};
    for (int i = 0; i < looked && !status; i++) {
        int episode = (int)((int64_t)i * count / looked);
        const double *bounds = dataset_episode(dataset, episode)->bounds;
        for (int c = 0; bounds && c < 3; c++) out->extent = fmax(out->extent, bounds[3 + c] - bounds[c]);
        status = look(&search, dataset, episode, err);
    }
    if (!status) summarise(&search, out);
    for (int c = 0; c < 3; c++) free(search.moving.axis[c]), free(search.all.axis[c]);
    frames_free(&search.first);
    frames_free(&search.now);
    return status;
}

bool reach_doubt(const Reach *reach, double extent, const char *path, char *out, size_t size) {
    double side = 0, box[6];
    for (int c = 0; c < 3; c++) side = fmax(side, reach->upper[c] - reach->lower[c]);
    if (!reach->moves || !(side > 0) || !(extent > USUAL * side)) return false;
    double digit = pow(10, floor(log10(side)) - 1); // of the box, which is rounded outwards
    for (int c = 0; c < 3; c++) {
        box[c] = digit * floor((reach->lower[c] - MARGIN * side) / digit);
        box[3 + c] = digit * ceil((reach->upper[c] + MARGIN * side) / digit);
    }
    snprintf(
        out, size,
        "cameras see far beyond where things move: data.extent, with which all lengths of a model grow, is %.3g m, "
        "and what moves stays within %.2g m. Train on data with a workspace box: \"vpd data convert %s "
        "--box=%.6g,%.6g,%.6g,%.6g,%.6g,%.6g -o BOXED.h5\" (larger where things at rest beside them matter)",
        extent, side, path, box[0], box[1], box[2], box[3], box[4], box[5]);
    return true;
}
