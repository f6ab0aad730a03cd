// SPDX-License-Identifier: Apache-2.0
#include "datasets/reproject.h"

#include "base/camera.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// 5 % of depth is far more than the error of a sensor and less than most steps between surfaces.
#define SPREAD 0.05
#define OCCLUSION 0.05
#define AGREE 0.01
enum { JUMP = 1000003 }; // a prime: walks through the pixels in scattered order

Shot shot_of(const Frames *frames, int frame, int view) {
    size_t pixels = (size_t)frames->H * (size_t)frames->W, image = (size_t)frame * (size_t)frames->V + (size_t)view;
    Shot shot = {.H = frames->H,
                 .W = frames->W,
                 .depth = frames->depth + image * pixels,
                 .depth_scale = 1,
                 .mask = frames->mask ? frames->mask + image * pixels : NULL};
    memcpy(shot.K, frames->intrinsics + 9 * view, sizeof shot.K);
    memcpy(shot.pose, frames->world_from_camera + 16 * image, sizeof shot.pose);
    pose_inverse(shot.pose, shot.inverse);
    return shot;
}

static void swap(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

// The rotation with the four numbers of its quaternion moved on by `places`.
static void rotate_quaternion(double pose[16], int places) {
    double R[9], q[4], moved[4], t[3] = {pose[3], pose[7], pose[11]};
    for (int i = 0; i < 9; i++) R[i] = pose[4 * (i / 3) + i % 3];
    quaternion_from_rotation(R, q);
    for (int i = 0; i < 4; i++) moved[i] = q[(i + places) % 4];
    rotation_from_quaternion(moved, R);
    pose_from_rotation(R, t, pose);
}

Shot shot_under(const Shot *shot, Guess guess) {
    Shot other = *shot;
    switch (guess) {
    case GUESS_RAY_LENGTH: other.ray_length = true; break;
    case GUESS_OPENGL: pose_flip_opengl(shot->pose, other.pose); break;
    case GUESS_INVERSE: memcpy(other.pose, shot->inverse, sizeof other.pose); break;
    case GUESS_INVERSE_OPENGL: pose_flip_opengl(shot->inverse, other.pose); break;
    case GUESS_HALF_PIXEL_LESS: other.K[2] -= 0.5, other.K[5] -= 0.5; break;
    case GUESS_HALF_PIXEL_MORE: other.K[2] += 0.5, other.K[5] += 0.5; break;
    case GUESS_MILLIMETRES: other.depth_scale = 1e-3; break;
    case GUESS_POSE_MILLIMETRES: other.depth_scale = 1e3; break;
    case GUESS_MIRRORED: other.flip_x = true; break;
    case GUESS_UPSIDE_DOWN: other.flip_y = true; break;
    case GUESS_SWAPPED_FOCAL: swap(&other.K[0], &other.K[4]); break;
    case GUESS_SWAPPED_CENTRE: swap(&other.K[2], &other.K[5]); break;
    case GUESS_W_LAST: rotate_quaternion(other.pose, 3); break;
    case GUESS_W_FIRST: rotate_quaternion(other.pose, 1); break;
    default: break;
    }
    pose_inverse(other.pose, other.inverse);
    return other;
}

static size_t pixel_index(const Shot *shot, int x, int y) {
    if (shot->flip_x) x = shot->W - 1 - x;
    if (shot->flip_y) y = shot->H - 1 - y;
    return (size_t)y * (size_t)shot->W + (size_t)x;
}

// Depth along z of pixel (x, y); 0 = missing.
static double depth_of(const Shot *shot, int x, int y) {
    double depth = shot->depth_scale * shot->depth[pixel_index(shot, x, y)];
    if (!shot->ray_length) return depth;
    double ray[3];
    camera_unproject(shot->K, x + 0.5, y + 0.5, 1, ray);
    return depth / sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1);
}

// Depth of b at a position between pixel centres; 0 where it is unknown or torn.
static double depth_between(const Shot *b, const double xy[2]) {
    double u = xy[0] - 0.5, v = xy[1] - 0.5;
    if (!(u >= 0 && v >= 0 && u <= b->W - 1 && v <= b->H - 1)) return 0;
    int x0 = (int)u, y0 = (int)v, x1 = x0 + 1 < b->W ? x0 + 1 : x0, y1 = y0 + 1 < b->H ? y0 + 1 : y0;
    double z[4] = {depth_of(b, x0, y0), depth_of(b, x1, y0), depth_of(b, x0, y1), depth_of(b, x1, y1)};
    double low = INFINITY, high = 0, tx = u - x0, ty = v - y0;
    for (int i = 0; i < 4; i++) {
        low = fmin(low, z[i]);
        high = fmax(high, z[i]);
    }
    if (!(low > 0) || high > (1 + SPREAD) * low) return 0;
    return 1 / ((1 - ty) * ((1 - tx) / z[0] + tx / z[1]) + ty * ((1 - tx) / z[2] + tx / z[3]));
}

static bool same_mask(const Shot *a, size_t index, const Shot *b, const double xy[2]) {
    if (!a->mask || !b->mask) return true;
    return a->mask[index] == b->mask[pixel_index(b, (int)xy[0], (int)xy[1])];
}

static void add_point(const Shot *a, const Shot *b, int x, int y, ErrorList *list) {
    double point[3], xy[2], depth = depth_of(a, x, y);
    if (!(depth > 0)) return;
    camera_unproject_world(a->K, a->pose, x + 0.5, y + 0.5, depth, point);
    pose_apply(b->inverse, point, point);
    double z = camera_project(b->K, point, xy);
    double there = z > 0 ? depth_between(b, xy) : 0;
    if (there == 0 || !same_mask(a, pixel_index(a, x, y), b, xy)) return;
    list->tested++;
    if (z - there > OCCLUSION * z) list->occluded++;
    else if (there - z > OCCLUSION * z) list->through++;
    else list->errors[list->count++] = (float)fabs(z - there);
    list->agreeing += fabs(z - there) <= AGREE * z;
}

static Status reserve(ErrorList *list, size_t more, Error *err) {
    if (list->capacity - list->count >= more) return STATUS_OK;
    size_t capacity = 2 * list->capacity + more;
    float *grown = realloc(list->errors, capacity * sizeof *grown);
    if (!grown) return error_set(err, STATUS_FAILED, "no memory for %zu reprojection errors", capacity);
    list->errors = grown;
    list->capacity = capacity;
    return STATUS_OK;
}

Status reproject_add(const Shot *a, const Shot *b, size_t points, ErrorList *list, Error *err) {
    size_t pixels = (size_t)a->H * (size_t)a->W, jump = pixels % JUMP == 0 ? 1 : JUMP % pixels;
    if (points > pixels) points = pixels;
    Status status = reserve(list, points, err);
    if (status) return status;
    // When all pixels are wanted their order does not matter; a jump that shares no factor with their number visits
    // each once.
    if (points == pixels) jump = 1;
    for (size_t n = 0, at = 0; n < points; n++, at = (at + jump) % pixels)
        add_point(a, b, (int)(at % (size_t)a->W), (int)(at / (size_t)a->W), list);
    return STATUS_OK;
}

Status error_list_append(ErrorList *to, const ErrorList *from, Error *err) {
    Status status = reserve(to, from->count, err);
    if (status) return status;
    if (from->count) memcpy(to->errors + to->count, from->errors, from->count * sizeof *from->errors);
    to->count += from->count;
    to->tested += from->tested;
    to->occluded += from->occluded;
    to->through += from->through;
    to->agreeing += from->agreeing;
    return STATUS_OK;
}

void error_list_free(ErrorList *list) {
    free(list->errors);
    *list = (ErrorList){0};
}

static int compare_floats(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

void sort_floats(float *values, size_t count) {
    if (count) qsort(values, count, sizeof *values, compare_floats);
}

double sorted_quantile(const float *sorted, size_t count, double q) {
    return count ? sorted[(size_t)(q * (double)(count - 1) + 0.5)] : NAN;
}

PairStats error_list_stats(ErrorList *list, int a, int b) {
    sort_floats(list->errors, list->count);
    return (PairStats){a,
                       b,
                       list->tested,
                       list->occluded,
                       list->through,
                       sorted_quantile(list->errors, list->count, 0.5),
                       sorted_quantile(list->errors, list->count, 0.9),
                       sorted_quantile(list->errors, list->count, 0.99),
                       list->tested ? (double)list->agreeing / (double)list->tested : NAN};
}
