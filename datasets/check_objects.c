// SPDX-License-Identifier: Apache-2.0
// Masks against the known poses of objects: where the objects are, and how they turn.
#include "datasets/check_private.h"

#include "base/camera.h"

#include <math.h>

enum {
    OBJECTS_CHECKED_MAX = 256,
    OBJECT_POINTS_MIN = 30,
    MOMENTS = 3,           // frames of an episode whose poses are compared, evenly
    PICTURE_POINTS = 2000, // pixels of each picture that are looked at
    TURN_POINTS_MIN = 300
};
#define OBJECT_DISTANCE_MAX 4.0 // in units of the points' spread; a half sphere has 0.7
#define TURN_APART 2.0          // ratio of the distance between both places of a point to the tolerance of depth
#define TURN_WRONG 0.03         // share of points that are seen through as the numbers are read (right data: 0),
#define TURN_BETTER 0.2         // and what of it may be left in the other order

// ---- places

// How far the mean of object k's points lies from its known position, in units of their spread; NaN without enough
// points.
static double object_distance(const Frames *frames, int k) {
    size_t pixels = (size_t)frames->H * (size_t)frames->W, count = 0;
    double mean[3] = {0}, square = 0, distance = 0;
    for (size_t at = 0; at < pixels * (size_t)frames->V; at++) {
        size_t v = at / pixels, i = at % pixels;
        double point[3];
        if (frames->mask[at] != k + 1 || !(frames->depth[at] > 0)) continue;
        camera_unproject_pixel(frames->intrinsics + 9 * v, frames->world_from_camera + 16 * v, frames->W, i,
                               frames->depth[at], point);
        for (int c = 0; c < 3; c++) {
            mean[c] += point[c];
            square += point[c] * point[c];
        }
        count++;
    }
    if (count < OBJECT_POINTS_MIN) return NAN;
    for (int c = 0; c < 3; c++) {
        mean[c] /= (double)count;
        square -= (double)count * mean[c] * mean[c];
        distance += (mean[c] - frames->object_position[3 * k + c]) * (mean[c] - frames->object_position[3 * k + c]);
    }
    return sqrt(distance / fmax(square / (double)count, 1e-12));
}

// In the first frame. The mean of the visible points differs from the object's centre by about their spread.
static void check_places(const Dataset *dataset, const Frames *frames, CheckReport *report) {
    int seen = 0, off = 0;
    for (int k = 0; k < frames->O; k++) {
        double distance = object_distance(frames, k);
        seen += isfinite(distance);
        off += distance > OBJECT_DISTANCE_MAX;
    }
    if (2 * off > seen)
        check_add_finding(report, true,
                          "episode %s: %d of %d objects are not at their state/object_position in frame 0; check that "
                          "mask id k + 1 is object k, that no picture is mirrored, and the cameras",
                          dataset_episode_label(dataset, frames->episode).text, off, seen);
}

// ---- turns

// The pose of object k with the four numbers read w first or w last.
static void object_pose(const Frames *frames, int frame, int k, bool w_last, double out[16]) {
    size_t at = (size_t)frame * (size_t)frames->O + (size_t)k;
    const double *q = frames->object_quaternion + 4 * at;
    double R[9], wxyz[4] = {q[3], q[0], q[1], q[2]};
    rotation_from_quaternion(w_last ? wxyz : q, R);
    pose_from_rotation(R, frames->object_position + 3 * at, out);
}

// Whether all nine pixels around (x, y) of a picture have the mask.
static bool inside_mask(const Shot *shot, int x, int y, int id) {
    if (x < 1 || y < 1 || x > shot->W - 2 || y > shot->H - 2) return false;
    for (int n = 0; n < 9; n++)
        if (shot->mask[(y + n / 3 - 1) * shot->W + x + n % 3 - 1] != id) return false;
    return true;
}

// Whether a view sees what is behind a point at all nine pixels around it, by more than the tolerance of depth.
static bool sees_through(const Shot *shot, const double world[3]) {
    double p[3], xy[2];
    pose_apply(shot->inverse, world, p);
    double z = camera_project(shot->K, p, xy);
    if (!(z > 0 && xy[0] >= 1 && xy[1] >= 1 && xy[0] < shot->W - 1 && xy[1] < shot->H - 1)) return false;
    for (int n = 0; n < 9; n++) {
        double there = shot_depth(shot, (int)xy[0] + n % 3 - 1, (int)xy[1] + n / 3 - 1);
        if (!(there > z * (1 + REPROJECT_AGREE))) return false;
    }
    return true;
}

static bool any_sees_through(const Frames *frames, int frame, const double world[3]) {
    for (int v = 0; v < frames->V; v++) {
        Shot shot = shot_of(frames, frame, v);
        if (sees_through(&shot, world)) return true;
    }
    return false;
}

// Moves points of view v's picture from one frame to another by the poses of their objects, in both orders. Points that
// both put at about the same place say nothing: of objects that hardly turn.
static void add_turns(const Frames *frames, int from, int to, int v, TurnCounts *counts) {
    Shot shot = shot_of(frames, from, v);
    for (size_t n = 0; n < PICTURE_POINTS; n++) {
        int x, y;
        double moved[2][3], point[3], pose[16], then[16];
        sample_pixel(n, frames->H, frames->W, &x, &y);
        int id = shot.mask[y * frames->W + x];
        double z = shot_depth(&shot, x, y), apart = 0;
        if (!id || id > frames->O || !(z > 0) || !inside_mask(&shot, x, y, id)) continue;
        camera_unproject_world(shot.K, shot.pose, x + 0.5, y + 0.5, z, point);
        for (int last = 0; last < 2; last++) {
            object_pose(frames, from, id - 1, last, pose);
            pose_inverse(pose, pose);
            object_pose(frames, to, id - 1, last, then);
            pose_product(then, pose, pose);
            pose_apply(pose, point, moved[last]);
        }
        for (int c = 0; c < 3; c++) apart += (moved[0][c] - moved[1][c]) * (moved[0][c] - moved[1][c]);
        if (!(sqrt(apart) > TURN_APART * REPROJECT_AGREE * z)) continue;
        counts->points++;
        for (int last = 0; last < 2; last++) counts->through[last] += any_sees_through(frames, to, moved[last]);
    }
}

Status check_objects(const Dataset *dataset, int episode, Frames *frames, TurnCounts *turns, CheckReport *report,
                     Error *err) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    int moments = info->F < MOMENTS ? info->F : MOMENTS;
    FrameRequest request = {
        .episode = episode, .count = moments, .stride = moments > 1 ? (info->F - 1) / (moments - 1) : 1};
    if (!info->has_mask || !info->O || info->O > OBJECTS_CHECKED_MAX) return STATUS_OK;
    Status status = dataset_read_frames(dataset, request, frames, err);
    if (status) return status;
    check_places(dataset, frames, report);
    for (int pair = 0; frames->object_quaternion && pair < moments * moments * info->V; pair++) {
        int from = pair / info->V % moments, to = pair / info->V / moments;
        if (from != to) add_turns(frames, from, to, pair % info->V, turns);
    }
    return STATUS_OK;
}

void check_turns(const TurnCounts *turns, CheckReport *report) {
    double points = (double)turns->points, first = (double)turns->through[0], last = (double)turns->through[1];
    if (turns->points < TURN_POINTS_MIN || first < TURN_WRONG * points || last > TURN_BETTER * first) return;
    check_add_finding(report, true,
                      "objects do not turn as state/object_quaternion says: cameras see through %.0f %% of the points "
                      "that it moves, and through %.0f %% with w last; w comes first here (w, x, y, z), so reorder the "
                      "numbers: q[..., [3, 0, 1, 2]]",
                      100 * first / points, 100 * last / points);
}
