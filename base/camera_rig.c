// SPDX-License-Identifier: Apache-2.0
#include "base/camera_rig.h"

#include "base/vector.h"

#include <math.h>
#include <string.h>

static void pose_column(const double *poses, size_t at, int column, double out[3]) {
    const double *pose = (const double *)((const char *)poses + at);
    for (int c = 0; c < 3; c++) out[c] = pose[4 * c + column];
}

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
static bool nearest_to_axes(const double *poses, size_t count, size_t stride, double out[3]) {
    double A[9] = {0}, b[3] = {0};
    for (size_t i = 0; i < count; i++) {
        double d[3], eye[3];
        pose_column(poses, i * stride, 2, d);
        pose_column(poses, i * stride, 3, eye);
        for (int k = 0; k < 9; k++) {
            double p = (k / 3 == k % 3) - d[k / 3] * d[k % 3];
            A[k] += p;
            b[k / 3] += p * eye[k % 3];
        }
    }
    return solve(A, b, out);
}

void camera_rig_focus(const double *poses, size_t count, size_t stride, double focus[3]) {
    if (count > 1 && nearest_to_axes(poses, count, stride, focus)) return;
    memset(focus, 0, 3 * sizeof *focus);
    for (size_t i = 0; i < count; i++) {
        double ahead[3], eye[3];
        pose_column(poses, i * stride, 2, ahead);
        pose_column(poses, i * stride, 3, eye);
        for (int c = 0; c < 3; c++) focus[c] += (eye[c] + ahead[c]) / (double)count;
    }
}

// The axis of the world nearest to v.
static void nearest_axis(const double v[3], double out[3]) {
    int axis = vector_axis(v);
    for (int c = 0; c < 3; c++) out[c] = c == axis ? copysign(1, v[c]) : 0;
}

// Means over the cameras: products of x axes with themselves, and a rough direction. Cameras look down rather than up.
static void add_up(const double *poses, size_t count, size_t stride, double across[9], double rough[3]) {
    const double back = 0.5; // so one level camera that looks 18 degrees up to 72 down is nearest to the right axis
    for (size_t i = 0; i < count; i++) {
        double x[3], y[3], z[3];
        pose_column(poses, i * stride, 0, x);
        pose_column(poses, i * stride, 1, y);
        pose_column(poses, i * stride, 2, z);
        for (int k = 0; k < 9; k++) across[k] += x[k / 3] * x[k % 3] / (double)count;
        for (int c = 0; c < 3; c++) rough[c] -= (y[c] + back * z[c]) / (double)count;
    }
}

// Least squares: sum of (x axis . up)^2, and a little of |up - rough|^2, which decides the sign and what is left open.
bool camera_rig_up(const double *poses, size_t count, size_t stride, double up[3]) {
    // `turned` is sin^2 of the angle between two x axes, its mean over all pairs; .04 is 16 degrees between two cameras
    const double little = 1e-4, turned_least = .04, tilted_most = .03; // sin^2 of 10 degrees
    double across[9] = {0}, rough[3] = {0}, squares = 0;
    add_up(poses, count, stride, across, rough);
    for (int k = 0; k < 9; k++) squares += across[k] * across[k];
    for (int c = 0; c < 3; c++) across[4 * c] += little;
    bool turned = 1 - squares >= turned_least && solve(across, rough, up);
    if (!turned) nearest_axis(rough, up);
    double length = sqrt(vector_dot(up, up)), tilted = 0; // mean of sin^2 of what x axes lack of a right angle
    for (int c = 0; c < 3; c++) up[c] = length > 0 ? up[c] / length : c == 2;
    for (int k = 0; k < 9; k++) tilted += up[k / 3] * across[k] * up[k % 3];
    return turned && tilted - little < tilted_most;
}

void camera_rig_across(const double up[3], double a[3], double b[3]) {
    int axis = fabs(up[0]) > 0.9 ? 1 : 0;
    for (int c = 0; c < 3; c++) a[c] = (c == axis) - up[axis] * up[c];
    double length = sqrt(vector_dot(a, a));
    for (int c = 0; c < 3; c++) a[c] /= length;
    vector_cross(up, a, b);
}
