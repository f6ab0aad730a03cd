// SPDX-License-Identifier: Apache-2.0
#include "base/camera.h"

#include "base/vector.h"

#include <math.h>
#include <string.h>

void camera_unproject(const double K[9], double x, double y, double depth, double point[3]) {
    // Back substitution through the upper triangle [fx skew cx; 0 fy cy; 0 0 1].
    double yn = (y - K[5]) / K[4];
    double xn = (x - K[2] - K[1] * yn) / K[0];
    point[0] = xn * depth;
    point[1] = yn * depth;
    point[2] = depth;
}

void camera_unproject_world(const double K[9], const double world_from_camera[16], double x, double y, double depth,
                            double point[3]) {
    camera_unproject(K, x, y, depth, point);
    pose_apply(world_from_camera, point, point);
}

void camera_unproject_pixel(const double K[9], const double world_from_camera[16], int W, size_t pixel, double depth,
                            double point[3]) {
    size_t row = pixel / (size_t)W, column = pixel % (size_t)W;
    camera_unproject_world(K, world_from_camera, (double)column + 0.5, (double)row + 0.5, depth, point);
}

double camera_project(const double K[9], const double point[3], double xy[2]) {
    double z = point[2];
    if (!(z > 0)) return z;
    xy[0] = (K[0] * point[0] + K[1] * point[1]) / z + K[2];
    xy[1] = K[4] * point[1] / z + K[5];
    return z;
}

void pose_identity(double out[16]) {
    for (int i = 0; i < 16; i++) out[i] = i % 5 == 0;
}

void pose_product(const double a[16], const double b[16], double out[16]) {
    double product[16];
    for (int k = 0; k < 16; k++) {
        product[k] = 0;
        for (int i = 0; i < 4; i++) product[k] += a[k / 4 * 4 + i] * b[4 * i + k % 4];
    }
    memcpy(out, product, sizeof product);
}

void pose_inverse(const double pose[16], double out[16]) {
    double R[9], t[3], Rt[9], moved[3];
    for (int i = 0; i < 3; i++) {
        t[i] = pose[4 * i + 3];
        for (int j = 0; j < 3; j++) R[3 * i + j] = pose[4 * i + j];
    }
    // [R t]^-1 = [R^T  -R^T t]
    for (int i = 0; i < 3; i++) {
        moved[i] = -(R[i] * t[0] + R[3 + i] * t[1] + R[6 + i] * t[2]);
        for (int j = 0; j < 3; j++) Rt[3 * i + j] = R[3 * j + i];
    }
    pose_from_rotation(Rt, moved, out);
}

void pose_apply(const double pose[16], const double point[3], double out[3]) {
    double p[3];
    for (int i = 0; i < 3; i++)
        p[i] = pose[4 * i] * point[0] + pose[4 * i + 1] * point[1] + pose[4 * i + 2] * point[2] + pose[4 * i + 3];
    memcpy(out, p, sizeof p);
}

void pose_from_rotation(const double R[9], const double t[3], double out[16]) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) out[4 * i + j] = R[3 * i + j];
        out[4 * i + 3] = t[i];
    }
    out[12] = out[13] = out[14] = 0;
    out[15] = 1;
}

void quaternion_from_rotation(const double R[9], double wxyz[4]) {
    // 4 q q^T from the sums and differences of R's elements; the row of its largest diagonal element is q times a
    // factor.
    double w = 1 + R[0] + R[4] + R[8], x = 1 + R[0] - R[4] - R[8], y = 1 - R[0] + R[4] - R[8],
           z = 1 - R[0] - R[4] + R[8];
    double wx = R[7] - R[5], wy = R[2] - R[6], wz = R[3] - R[1], xy = R[1] + R[3], xz = R[2] + R[6], yz = R[5] + R[7];
    const double square[4][4] = {{w, wx, wy, wz}, {wx, x, xy, xz}, {wy, xy, y, yz}, {wz, xz, yz, z}};
    int largest = 0;
    for (int i = 1; i < 4; i++) {
        if (square[i][i] > square[largest][largest]) largest = i;
    }
    for (int i = 0; i < 4; i++) wxyz[i] = 0.5 * square[largest][i] / sqrt(square[largest][largest]);
}

void rotation_from_quaternion(const double wxyz[4], double R[9]) {
    double w = wxyz[0], x = wxyz[1], y = wxyz[2], z = wxyz[3];
    double s = 2 / (w * w + x * x + y * y + z * z);
    R[0] = 1 - s * (y * y + z * z);
    R[1] = s * (x * y - w * z);
    R[2] = s * (x * z + w * y);
    R[3] = s * (x * y + w * z);
    R[4] = 1 - s * (x * x + z * z);
    R[5] = s * (y * z - w * x);
    R[6] = s * (x * z - w * y);
    R[7] = s * (y * z + w * x);
    R[8] = 1 - s * (x * x + y * y);
}

void quaternion_slerp(const double a[4], const double b[4], double t, double out[4]) {
    double cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = cosine < 0 ? -1 : 1;
    double angle = acos(fmin(fabs(cosine), 1)), s = sin(angle);
    double wa = s < 1e-6 ? 1 - t : sin((1 - t) * angle) / s, wb = s < 1e-6 ? t : sin(t * angle) / s;
    for (int i = 0; i < 4; i++) out[i] = wa * a[i] + wb * sign * b[i];
}

void pose_flip_opengl(const double pose[16], double out[16]) {
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 4; j++) out[4 * i + j] = j == 1 || j == 2 ? -pose[4 * i + j] : pose[4 * i + j];
    }
}

static double determinant3(const double pose[16]) {
    const double *a = pose, *b = pose + 4, *c = pose + 8;
    return a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
}

bool pose_rotation_error(const double pose[16], double *orthonormality, double *determinant) {
    double worst = 0;
    for (int i = 0; i < 16; i++) {
        if (!isfinite(pose[i])) return false;
    }
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            double dot = pose[i] * pose[j] + pose[4 + i] * pose[4 + j] + pose[8 + i] * pose[8 + j];
            worst = fmax(worst, fabs(dot - (i == j)));
        }
    }
    *orthonormality = worst;
    *determinant = determinant3(pose);
    return pose[12] == 0 && pose[13] == 0 && pose[14] == 0 && pose[15] == 1;
}

static bool normalise(double v[3]) {
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(length > 1e-12)) return false;
    for (int i = 0; i < 3; i++) v[i] /= length;
    return true;
}

bool camera_look_at(const double eye[3], const double target[3], const double up[3], double world_from_camera[16]) {
    double x[3], y[3], z[3], upward[3] = {up[0], up[1], up[2]};
    for (int i = 0; i < 3; i++) z[i] = target[i] - eye[i];
    if (!normalise(z) || !normalise(upward)) return false;
    vector_cross(z, upward, x); // right of the viewing direction
    if (!normalise(x)) return false;
    vector_cross(z, x, y); // down
    double R[9] = {x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]};
    pose_from_rotation(R, eye, world_from_camera);
    return true;
}

void camera_resize_intrinsics(const double K[9], int H0, int W0, int H1, int W1, double out[9]) {
    // With centres at halves a pixel position scales exactly: x' = x W1/W0.
    double sx = (double)W1 / W0, sy = (double)H1 / H0;
    double scaled[9] = {K[0] * sx, K[1] * sx, K[2] * sx, 0, K[4] * sy, K[5] * sy, 0, 0, 1};
    memcpy(out, scaled, sizeof scaled);
}

void camera_intrinsics_from_fov(double fov_x, int H, int W, double K[9]) {
    double f = 0.5 * W / tan(0.5 * fov_x);
    double made[9] = {f, 0, 0.5 * W, 0, f, 0.5 * H, 0, 0, 1};
    memcpy(K, made, sizeof made);
}
