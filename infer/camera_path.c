// SPDX-License-Identifier: Apache-2.0
#include "infer/camera_path.h"

#include "base/camera.h"
#include "base/check.h"
#include "base/vector.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double TWO_PI = 6.283185307179586;

// ---- vectors and quaternions

static bool normalise(double v[3]) {
    double length = sqrt(vector_dot(v, v));
    if (!(length > 1e-9)) return false;
    for (int c = 0; c < 3; c++) v[c] /= length;
    return true;
}

static void pose_column(const double pose[16], int column, double out[3]) {
    for (int c = 0; c < 3; c++) out[c] = pose[4 * c + column];
}

// Unit quaternion (w first) of a rotation. The largest component is computed first, so that no division is by a small
// number (Shepperd 1978).
static void quaternion_of(const double R[9], double q[4]) {
    double squares[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                         1 - R[0] - R[4] + R[8]};
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (squares[i] > squares[k]) k = i;
    double a = R[7] - R[5], b = R[2] - R[6], c = R[3] - R[1], d = R[1] + R[3], e = R[2] + R[6], f = R[5] + R[7];
    const double rows[4][4] = {
        {squares[0], a, b, c}, {a, squares[1], d, e}, {b, d, squares[2], f}, {c, e, f, squares[3]}};
    double scale = 0.5 / sqrt(squares[k]);
    for (int i = 0; i < 4; i++) q[i] = rows[k][i] * scale;
}

// ---- the focus

// Solves the 3x3 system A x = b, A symmetric; false if it is singular.
static bool solve(const double A[9], const double b[3], double x[3]) {
    double rows[3][3], inverse[3][3];
    for (int i = 0; i < 3; i++) memcpy(rows[i], A + 3 * i, sizeof rows[i]);
    for (int i = 0; i < 3; i++) vector_cross(rows[(i + 1) % 3], rows[(i + 2) % 3], inverse[i]);
    double determinant = vector_dot(rows[0], inverse[0]), scale = A[0] + A[4] + A[8];
    if (!(fabs(determinant) > 1e-9 * scale * scale * scale)) return false;
    for (int c = 0; c < 3; c++) {
        x[c] = 0;
        for (int i = 0; i < 3; i++) x[c] += inverse[i][c] * b[i] / determinant;
    }
    return true;
}

// Least squares over the optical axes d: sum of (1 - d d^T) (x - eye) = 0.
static bool nearest_to_axes(const PathCamera *cameras, int count, double out[3]) {
    double A[9] = {0}, b[3] = {0};
    for (int i = 0; i < count; i++) {
        double d[3], eye[3];
        pose_column(cameras[i].world_from_camera, 2, d);
        pose_column(cameras[i].world_from_camera, 3, eye);
        for (int k = 0; k < 9; k++) {
            double p = (k / 3 == k % 3) - d[k / 3] * d[k % 3];
            A[k] += p;
            b[k / 3] += p * eye[k % 3];
        }
    }
    return solve(A, b, out);
}

void camera_path_focus(const PathCamera *cameras, int count, double focus[3], double up[3]) {
    double mean[3] = {0}, ahead[3] = {0};
    memset(up, 0, 3 * sizeof *up);
    for (int i = 0; i < count; i++) {
        double axis[3], eye[3], down[3];
        pose_column(cameras[i].world_from_camera, 1, down);
        pose_column(cameras[i].world_from_camera, 2, axis);
        pose_column(cameras[i].world_from_camera, 3, eye);
        for (int c = 0; c < 3; c++) {
            up[c] -= down[c];
            mean[c] += eye[c] / count;
            ahead[c] += axis[c] / count;
        }
    }
    if (!normalise(up)) memcpy(up, (double[]){0, 0, 1}, 3 * sizeof *up);
    // one camera or parallel ones: a metre ahead
    if (count < 2 || !nearest_to_axes(cameras, count, focus))
        for (int c = 0; c < 3; c++) focus[c] = mean[c] + ahead[c];
}

// ---- orbit

// Unit vectors across `up`: `a` as close to the x axis as possible (to y if up is x), and b = up x a.
static void orbit_axes(const double up[3], double a[3], double b[3]) {
    int axis = fabs(up[0]) > 0.9 ? 1 : 0;
    for (int c = 0; c < 3; c++) a[c] = (c == axis) - up[axis] * up[c];
    CHECK(normalise(a));
    vector_cross(up, a, b);
}

// Azimuth about up, elevation and distance of a point seen from the focus, and back.
typedef struct Place {
    double angle, elevation, radius;
} Place;

static Place place_of(const double point[3], const double focus[3], const double up[3]) {
    double a[3], b[3], r[3];
    orbit_axes(up, a, b);
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
    orbit_axes(up, a, b);
    for (int c = 0; c < 3; c++) {
        double across = cos(place.angle) * a[c] + sin(place.angle) * b[c];
        eye[c] = focus[c] + place.radius * (cos(place.elevation) * across + sin(place.elevation) * up[c]);
    }
    if (!camera_look_at(eye, focus, up, pose)) pose_identity(pose);
}

void camera_path_orbit_like(const PathCamera *cameras, int count, const double *bounds, OrbitOptions *out) {
    double focus[3];
    *out = (OrbitOptions){.turns = 1, .H = cameras[0].H, .W = cameras[0].W};
    camera_path_focus(cameras, count, focus, out->up);
    for (int c = 0; c < 3; c++) out->centre[c] = bounds ? (bounds[c] + bounds[3 + c]) / 2 : focus[c];
    for (int i = 0; i < count; i++) {
        double eye[3];
        pose_column(cameras[i].world_from_camera, 3, eye);
        Place place = place_of(eye, out->centre, out->up);
        if (i == 0) out->start = place.angle;
        out->radius += place.radius / count;
        out->elevation += place.elevation / count;
    }
    out->fov = 2 * atan(cameras[0].W / (2 * cameras[0].K[0]));
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
    quaternion_of(turn, key.turn);
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
