// SPDX-License-Identifier: Apache-2.0
#include "infer/camera_path.h"

#include "base/camera.h"
#include "base/camera_rig.h"
#include "base/check.h"
#include "base/vector.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double TWO_PI = 6.283185307179586;

// ---- vectors

static bool normalise(double v[3]) {
    double length = sqrt(vector_dot(v, v));
    if (!(length > 1e-9)) return false;
    for (int c = 0; c < 3; c++) v[c] /= length;
    return true;
}

static void pose_column(const double pose[16], int column, double out[3]) {
    for (int c = 0; c < 3; c++) out[c] = pose[4 * c + column];
}

// ---- the focus

void camera_path_focus(const PathCamera *cameras, int count, double focus[3], double up[3]) {
    camera_rig_focus(cameras->world_from_camera, (size_t)count, sizeof *cameras, focus);
    camera_rig_up(cameras->world_from_camera, (size_t)count, sizeof *cameras, up);
}

// ---- orbit

// Azimuth about up, elevation and distance of a point seen from the focus, and back.
typedef struct Place {
    double angle, elevation, radius;
} Place;

static Place place_of(const double point[3], const double focus[3], const double up[3]) {
    double a[3], b[3], r[3];
    camera_rig_across(up, a, b);
    for (int c = 0; c < 3; c++) r[c] = point[c] - focus[c];
    double x = vector_dot(r, a), y = vector_dot(r, b), z = vector_dot(r, up);
    return (Place){atan2(y, x), atan2(z, hypot(x, y)), sqrt(vector_dot(r, r))};
}

// Pose of a camera at this place, looking at the focus.
static void pose_at(Place place, const double focus[3], const double up[3], double pose[16]) {
    double a[3], b[3], eye[3];
    // Directly above or below the focus, the picture's upward direction would be undefined.
    place.elevation = fmin(fmax(place.elevation, -1.5), 1.5);
    place.radius = fmax(place.radius, 1e-6);
    camera_rig_across(up, a, b);
    for (int c = 0; c < 3; c++) {
        double across = cos(place.angle) * a[c] + sin(place.angle) * b[c];
        eye[c] = focus[c] + place.radius * (cos(place.elevation) * across + sin(place.elevation) * up[c]);
    }
    if (!camera_look_at(eye, focus, up, pose)) pose_identity(pose);
}

static bool inside(const double point[3], const double *bounds) {
    for (int c = 0; c < 3; c++)
        if (!(point[c] >= bounds[c] && point[c] <= bounds[3 + c])) return false;
    return true;
}

// Half the width that a camera sees at 1 metre.
static double half_width(const PathCamera *camera) { return camera->W / (2 * camera->K[0]); }

void camera_path_orbit_like(const PathCamera *cameras, int count, const double *bounds, OrbitOptions *out) {
    double focus[3];
    *out = (OrbitOptions){.turns = 1, .H = cameras[0].H, .W = cameras[0].W};
    camera_path_focus(cameras, count, focus, out->up);
    bool focused = !bounds || (count > 1 && inside(focus, bounds));
    for (int c = 0; c < 3; c++) out->centre[c] = focused ? focus[c] : (bounds[c] + bounds[3 + c]) / 2;
    for (int i = 0; i < count; i++) {
        double eye[3];
        pose_column(cameras[i].world_from_camera, 3, eye);
        Place place = place_of(eye, out->centre, out->up);
        if (i == 0) out->start = place.angle;
        out->radius += place.radius * half_width(cameras + i) / (half_width(cameras) * count);
        out->elevation += place.elevation / count;
    }
    out->fov = 2 * atan(half_width(cameras));
}

void camera_path_orbit(const OrbitOptions *orbit, int count, PathCamera *out) {
    double up[3];
    memcpy(up, orbit->up, sizeof up);
    if (!normalise(up)) memcpy(up, (double[]){0, 0, 1}, sizeof up);
    for (int i = 0; i < count; i++) {
        Place place = {orbit->start + TWO_PI * orbit->turns * i / count, orbit->elevation, orbit->radius};
        out[i] = (PathCamera){.H = orbit->H, .W = orbit->W};
        camera_intrinsics_from_fov(orbit->fov, orbit->H, orbit->W, out[i].K);
        pose_at(place, orbit->centre, up, out[i].world_from_camera);
    }
}

// ---- path between cameras

// A key camera in the coordinates that are interpolated linearly: its place, and its rotation relative to a camera at
// that place that looks at the focus.
typedef struct Key {
    Place place;
    double turn[4];
} Key;

static void rotation_product(const double a[9], const double b[9], bool transpose_a, double out[9]) {
    for (int i = 0; i < 9; i++) {
        out[i] = 0;
        for (int k = 0; k < 3; k++) out[i] += a[transpose_a ? 3 * k + i / 3 : i / 3 * 3 + k] * b[3 * k + i % 3];
    }
}

static void rotation_of(const double pose[16], double R[9]) {
    for (int i = 0; i < 9; i++) R[i] = pose[4 * (i / 3) + i % 3];
}

static Key key_of(const PathCamera *camera, const double focus[3], const double up[3]) {
    double eye[3], pose[16], ideal[9], own[9], turn[9];
    pose_column(camera->world_from_camera, 3, eye);
    Key key = {.place = place_of(eye, focus, up)};
    pose_at(key.place, focus, up, pose);
    rotation_of(pose, ideal);
    rotation_of(camera->world_from_camera, own);
    rotation_product(ideal, own, true, turn);
    quaternion_from_rotation(turn, key.turn);
    return key;
}

static void pose_between(const Key *a, const Key *b, double t, const double focus[3], const double up[3],
                         double pose[16]) {
    double across = remainder(b->place.angle - a->place.angle, TWO_PI), turn[4], R[9], ideal[9], out[9];
    Place place = {a->place.angle + t * across, (1 - t) * a->place.elevation + t * b->place.elevation,
                   (1 - t) * a->place.radius + t * b->place.radius};
    pose_at(place, focus, up, pose);
    quaternion_slerp(a->turn, b->turn, t, turn);
    rotation_from_quaternion(turn, R);
    rotation_of(pose, ideal);
    rotation_product(ideal, R, false, out);
    for (int i = 0; i < 9; i++) pose[4 * (i / 3) + i % 3] = out[i];
}

void camera_path_between(const PathCamera *keys, int key_count, int count, PathCamera *out) {
    double focus[3], up[3];
    CHECK(key_count >= 1);
    camera_path_focus(keys, key_count, focus, up);
    for (int i = 0; i < count; i++) {
        double along = count > 1 ? (double)i * (key_count - 1) / (count - 1) : 0;
        int first = (int)along < key_count - 1 ? (int)along : key_count > 1 ? key_count - 2 : 0;
        const PathCamera *a = keys + first, *b = keys + (key_count > 1 ? first + 1 : 0);
        double t = along - first;
        Key from = key_of(a, focus, up), to = key_of(b, focus, up);
        out[i] = (PathCamera){.H = keys[0].H, .W = keys[0].W};
        pose_between(&from, &to, t, focus, up, out[i].world_from_camera);
        double Ka[9], Kb[9]; // keys of other sizes keep their field of view at the first key's size
        camera_resize_intrinsics(a->K, a->H, a->W, keys[0].H, keys[0].W, Ka);
        camera_resize_intrinsics(b->K, b->H, b->W, keys[0].H, keys[0].W, Kb);
        for (int k = 0; k < 9; k++) out[i].K[k] = (1 - t) * Ka[k] + t * Kb[k];
    }
}
