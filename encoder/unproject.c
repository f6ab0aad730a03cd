// SPDX-License-Identifier: Apache-2.0
#include "encoder/unproject.h"

#include "base/array.h"
#include "base/camera.h"
#include "base/check.h"

#include <stdlib.h>
#include <string.h>

void point_cloud_free(PointCloud *cloud) {
    free(cloud->position);
    free(cloud->colour);
    free(cloud->moving);
    free(cloud->pixel);
    free(cloud->inside);
    *cloud = (PointCloud){0};
}

void point_cloud_get(const PointCloud *cloud, size_t point, real *x, real *c) {
    memcpy(x, cloud->position + 3 * point, 3 * sizeof *x);
    memcpy(c, cloud->colour + 3 * point, 3 * sizeof *c);
}

Status point_cloud_reserve(PointCloud *cloud, size_t count, Error *err) {
    if (count <= cloud->capacity) return STATUS_OK;
    if (!array_grow(&cloud->position, count, 3 * sizeof *cloud->position) ||
        !array_grow(&cloud->colour, count, 3 * sizeof *cloud->colour) ||
        !array_grow(&cloud->moving, count, sizeof *cloud->moving) ||
        !array_grow(&cloud->pixel, count, sizeof *cloud->pixel) ||
        !array_grow(&cloud->inside, count, sizeof *cloud->inside))
        return error_set(err, STATUS_FAILED, "out of memory for the points of %zu pixels", count);
    cloud->capacity = count;
    return STATUS_OK;
}

static bool is_depth(float z) { return isfinite(z) && z > 0; }

// One view of the frame, and of the frame used to detect motion.
typedef struct View {
    const double *K, *pose;
    const float *depth;
    const uint8_t *rgb;
    const float *other_depth; // NULL: no flags
    double other_from_world[16];
    bool fixed; // same pose at both times: a point falls into its own pixel
    int H, W;
} View;

// The change of depth at the projected point, over the square of depth, as a sensor's noise is: positive if it is above
// the threshold, else negative. INFINITY where the other frame has no depth, -INFINITY if the point is not in its
// picture.
static double depth_change(const View *v, const double point[3], int pixel, double threshold) {
    double q[3], xy[2];
    pose_apply(v->other_from_world, point, q);
    double z = camera_project(v->K, q, xy);
    if (!(z > 0)) return -INFINITY;
    if (!v->fixed) {
        double column = floor(xy[0]), row = floor(xy[1]);
        if (!(column >= 0 && column < v->W && row >= 0 && row < v->H)) return -INFINITY;
        pixel = (int)row * v->W + (int)column;
    }
    float stored = v->other_depth[pixel];
    if (!is_depth(stored)) return INFINITY;
    double change = fabs((double)stored - z);
    return (change > threshold ? change : -change) / (z * z);
}

static bool same_pose(const double *a, const double *b) {
    for (int i = 0; i < 16; i++)
        if (a[i] != b[i]) return false;
    return true;
}

static void add_points(PointCloud *cloud, const Observation *o, const View *v, int first_pixel,
                       UnprojectOptions options) {
    for (int p = 0; p < v->H * v->W; p++) {
        if (!is_depth(v->depth[p])) continue;
        double point[3];
        camera_unproject_pixel(v->K, v->pose, v->W, (size_t)p, (double)v->depth[p], point);
        bool inside = observation_inside(o, point);
        if (options.crop && !inside) continue;
        size_t i = cloud->count++;
        double turned[3];
        observation_turn(o, point, turned);
        for (int c = 0; c < 3; c++) {
            cloud->position[3 * i + (size_t)c] = (real)turned[c];
            cloud->colour[3 * i + (size_t)c] = (real)v->rgb[3 * p + c] / 255;
        }
        cloud->moving[i] = (real)(v->other_depth ? depth_change(v, point, p, options.moving_threshold) : -INFINITY);
        cloud->pixel[i] = first_pixel + p;
        cloud->inside[i] = inside;
    }
}

static size_t count_changes(const PointCloud *cloud, double most) {
    size_t count = 0;
    for (size_t i = 0; i < cloud->count; i++) count += fabs((double)cloud->moving[i]) <= most;
    return count;
}

// Most points stand still, so the median change is noise. Found by bisection, because it needs no memory.
static double measure_noise(const PointCloud *cloud) {
    static const double most = 1, of_median = 1.4826; // a normal distribution's standard deviation
    size_t half = (count_changes(cloud, most) + 1) / 2;
    double low = 0, high = most;
    if (half == 0 || count_changes(cloud, low) >= half) return 0;
    for (int step = 0; step < 24; step++) {
        double middle = (low + high) / 2;
        if (count_changes(cloud, middle) < half) low = middle;
        else high = middle;
    }
    return of_median * high;
}

// From changes of depth to flags.
static void set_flags(PointCloud *cloud) {
    static const double times = 1.5; // the noise
    cloud->noise = measure_noise(cloud);
    for (size_t i = 0; i < cloud->count; i++) cloud->moving[i] = (double)cloud->moving[i] > times * cloud->noise;
}

Status unproject_frame(const Observation *o, int frame, UnprojectOptions options, PointCloud *out, Error *err) {
    CHECK(frame >= 0 && frame < o->F);
    size_t pixels = (size_t)o->H * (size_t)o->W;
    Status status = point_cloud_reserve(out, pixels * (size_t)o->V, err);
    if (status != STATUS_OK) return status;
    int other = frame > 0 ? frame - 1 : 1;
    bool flags = options.moving_threshold > 0 && other < o->F;
    out->count = 0;
    for (int view = 0; view < o->V; view++) {
        size_t V = (size_t)o->V, image = (size_t)frame * V + (size_t)view,
               other_image = (size_t)other * V + (size_t)view;
        View v = {.K = o->intrinsics + 9 * view,
                  .pose = o->world_from_camera + 16 * image,
                  .depth = o->depth + pixels * image,
                  .rgb = o->rgb + 3 * pixels * image,
                  .H = o->H,
                  .W = o->W};
        if (flags) {
            const double *pose = o->world_from_camera + 16 * other_image;
            v.other_depth = o->depth + pixels * other_image;
            v.fixed = same_pose(pose, v.pose);
            pose_inverse(pose, v.other_from_world);
        }
        add_points(out, o, &v, view * (int)pixels, options);
    }
    set_flags(out);
    return STATUS_OK;
}
