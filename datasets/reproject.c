// SPDX-License-Identifier: Apache-2.0
#include "datasets/reproject.h"

#include "base/camera.h"
#include "base/sort.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPREAD 0.05 // largest relative difference of the four depths around a position; more is a depth edge
#define BACK (-0.1) // cosine between a surface and the view of it, below which it turns its back

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

// Pixel of a stored picture; SIZE_MAX outside.
static size_t pixel_index(const Shot *shot, int x, int y) {
    if (shot->in_depth.moves) {
        const double *m = shot->in_depth.m;
        double u = x + 0.5, v = y + 0.5;
        x = (int)floor(m[0] * u + m[1] * v + m[2]), y = (int)floor(m[3] * u + m[4] * v + m[5]);
        if (x < 0 || y < 0 || x >= shot->W || y >= shot->H) return SIZE_MAX;
    }
    return (size_t)y * (size_t)shot->W + (size_t)x;
}

// Undistorted direction of a pixel at z = 1; false beyond the radius at which the distortion folds back.
static bool shot_ray(const Shot *shot, double x, double y, double ray[3]) {
    camera_unproject(shot->K, x, y, 1, ray);
    if (shot->k1 == 0) return true;
    double bent = sqrt(ray[0] * ray[0] + ray[1] * ray[1]), r = bent;
    for (int i = 0; i < 20 && bent > 0; i++) {
        double slope = 1 + 3 * shot->k1 * r * r;
        if (slope < 0.05) return false;
        double step = (r * (1 + shot->k1 * r * r) - bent) / slope;
        r -= step;
        if (fabs(step) < 1e-9) break;
    }
    for (int i = 0; i < 2 && bent > 0; i++) ray[i] *= r / bent;
    return true;
}

static double shot_project(const Shot *shot, const double point[3], double xy[2]) {
    double bent[3] = {point[0], point[1], point[2]};
    if (!(point[2] > 0)) return point[2];
    if (shot->k1 != 0) {
        double r2 = (point[0] * point[0] + point[1] * point[1]) / (point[2] * point[2]);
        if (1 + 3 * shot->k1 * r2 < 0.05) return 0;
        bent[0] *= 1 + shot->k1 * r2, bent[1] *= 1 + shot->k1 * r2;
    }
    return camera_project(shot->K, bent, xy);
}

// Where nothing was drawn, a buffer has 1.
static double buffer_depth(const Shot *shot, double stored) {
    if (!(stored > 0 && stored < 1)) return 0;
    return shot->near * shot->far / (shot->far - (shot->far - shot->near) * stored);
}

double shot_depth(const Shot *shot, int x, int y) {
    size_t index = pixel_index(shot, x, y);
    double depth = index == SIZE_MAX ? 0 : shot->depth_scale * shot->depth[index], ray[3];
    if (shot->near > 0) depth = buffer_depth(shot, depth);
    if (!shot->ray_power || !(depth > 0)) return depth;
    camera_unproject(shot->K, x + 0.5, y + 0.5, 1, ray);
    double length = sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1);
    return shot->ray_power > 0 ? depth * length : depth / length;
}

// Depth of b at a position between pixel centres; 0 where it is unknown or at a depth edge.
static double depth_between(const Shot *b, const double xy[2]) {
    double u = xy[0] - 0.5, v = xy[1] - 0.5; // NOLINT: the caller has projected
    if (!(u >= 0 && v >= 0 && u <= b->W - 1 && v <= b->H - 1)) return 0;
    int x0 = (int)u, y0 = (int)v, x1 = x0 + 1 < b->W ? x0 + 1 : x0, y1 = y0 + 1 < b->H ? y0 + 1 : y0;
    double z[4] = {shot_depth(b, x0, y0), shot_depth(b, x1, y0), shot_depth(b, x0, y1), shot_depth(b, x1, y1)};
    double low = INFINITY, high = 0, tx = u - x0, ty = v - y0;
    for (int i = 0; i < 4; i++) {
        if (z[i] < low) low = z[i]; // inlined, unlike fmin
        if (z[i] > high) high = z[i];
    }
    if (!(low > 0) || high > (1 + SPREAD) * low) return 0;
    return 1 / ((1 - ty) * ((1 - tx) / z[0] + tx / z[1]) + ty * ((1 - tx) / z[2] + tx / z[3]));
}

static bool same_mask(const Shot *a, int x, int y, const Shot *b, const double xy[2]) {
    if (!a->mask || !b->mask) return true;
    // NOLINTNEXTLINE: the caller has projected
    size_t from = pixel_index(a, x, y), to = pixel_index(b, (int)xy[0], (int)xy[1]);
    return from != SIZE_MAX && to != SIZE_MAX && a->mask[from] == b->mask[to];
}

// The point of pixel (x, y) at this depth, in the camera's own coordinates.
static bool point_of(const Shot *shot, int x, int y, double depth, double out[3]) {
    if (!(depth > 0) || !shot_ray(shot, x + 0.5, y + 0.5, out)) return false;
    for (int i = 0; i < 3; i++) out[i] *= depth;
    return true;
}

// A step on the surface along a row or a column of pixels: between the neighbours of (x, y), or from it to one of them.
// false at edges of depth.
static bool step_across(const Shot *shot, int x, int y, bool down, const double point[3], double out[3]) {
    double ends[9] = {0, 0, 0, point[0], point[1], point[2]};
    int from = 1, to = 1;
    for (int i = 0; i <= 2; i += 2) {
        int u = x + (down ? 0 : i - 1), v = y + (down ? i - 1 : 0);
        if (u < 0 || v < 0 || u >= shot->W || v >= shot->H) continue;
        double z = shot_depth(shot, u, v);
        if (!(fabs(z - point[2]) <= SPREAD * z) || !point_of(shot, u, v, z, ends + 3 * i)) continue;
        if (i) to = i;
        else from = i;
    }
    vector_between(ends, from, to, out);
    return from < to;
}

// Whether the surface of a at a point faces b. Otherwise b sees another surface there, which behind a thin thing is
// nearer than REPROJECT_OCCLUSION.
static bool faces(const Shot *a, const Shot *b, int x, int y, const double point[3]) {
    double right[3], down[3], away[3], eye[3] = {b->pose[3], b->pose[7], b->pose[11]}, ray[3];
    if (!step_across(a, x, y, false, point, right) || !step_across(a, x, y, true, point, down)) return false;
    vector_cross(right, down, away); // from a
    pose_apply(a->inverse, eye, eye);
    vector_between((double[]){eye[0], eye[1], eye[2], point[0], point[1], point[2]}, 0, 1, ray);
    return vector_dot(away, ray) >= BACK * sqrt(vector_dot(away, away) * vector_dot(ray, ray));
}

bool shot_land(const Shot *a, const Shot *b, int x, int y, Landing *out) {
    double seen[3], point[3];
    if (!point_of(a, x, y, shot_depth(a, x, y), seen)) return false;
    pose_apply(a->pose, seen, point);
    pose_apply(b->inverse, point, point);
    out->z = shot_project(b, point, out->xy);
    if (!(out->z > 0)) return false;
    out->there = depth_between(b, out->xy);
    return out->there > 0 && same_mask(a, x, y, b, out->xy) && faces(a, b, x, y, seen);
}

// The additive recurrence of the plastic number p (p^3 = p + 1): steps 1/p and 1/p^2 keep every stretch of it even in
// both directions (Roberts, 2018).
void sample_pixel(size_t n, int H, int W, int *x, int *y) {
    double u = 0.5 + (double)n * 0.75487766624669276, v = 0.5 + (double)n * 0.56984029099805327;
    *x = (int)((u - floor(u)) * W);
    *y = (int)((v - floor(v)) * H);
}

static void add_point(ErrorList *list, const Landing *landing) {
    double z = landing->z, there = landing->there;
    list->tested++;
    if (z - there > REPROJECT_OCCLUSION * z) list->occluded++;
    else if (there - z > REPROJECT_OCCLUSION * z) list->through++;
    else list->errors[list->count++] = (float)fabs(z - there);
    list->agreeing += fabs(z - there) <= REPROJECT_AGREE * z;
    list->nearer += there - z > REPROJECT_AGREE * z;
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

Status reproject_add(const Shot *a, const Shot *b, size_t points, ErrorList *list, PointSeen *seen, void *context,
                     Error *err) {
    size_t pixels = (size_t)a->H * (size_t)a->W;
    bool every = points >= pixels;
    if (every) points = pixels;
    Status status = reserve(list, points, err);
    for (size_t n = 0; !status && n < points; n++) {
        int x = (int)(n % (size_t)a->W), y = (int)(n / (size_t)a->W);
        Landing landing;
        if (!every) sample_pixel(n, a->H, a->W, &x, &y);
        if (!shot_land(a, b, x, y, &landing)) continue;
        add_point(list, &landing);
        if (seen) seen(context, a, x, y, &landing);
    }
    return status;
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
    to->nearer += from->nearer;
    return STATUS_OK;
}

void error_list_free(ErrorList *list) {
    free(list->errors);
    *list = (ErrorList){0};
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
                       list->nearer,
                       sorted_quantile(list->errors, list->count, 0.5),
                       sorted_quantile(list->errors, list->count, 0.9),
                       sorted_quantile(list->errors, list->count, 0.99),
                       list->tested ? (double)list->agreeing / (double)list->tested : NAN};
}
