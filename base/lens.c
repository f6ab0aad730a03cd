// SPDX-License-Identifier: Apache-2.0
#include "base/lens.h"

#include "base/camera.h"

#include <math.h>

Lens lens_of(double fx, double fy, double cx, double cy) { return (Lens){.K = {fx, 0, cx, 0, fy, cy, 0, 0, 1}}; }

bool lens_is_plain(const Lens *lens) {
    bool plain = !lens->fisheye && lens->tangential[0] == 0 && lens->tangential[1] == 0;
    for (int i = 0; i < 4; i++) plain = plain && lens->radial[i] == 0;
    return plain;
}

// 1 + k1 q + k2 q^2 + k3 q^3 + k4 q^4
static double series(const double k[4], double q) { return 1 + q * (k[0] + q * (k[1] + q * (k[2] + q * k[3]))); }

void lens_distort(const Lens *lens, double x, double y, double out[2]) {
    double r2 = x * x + y * y;
    if (lens->fisheye) {
        double r = sqrt(r2), a = atan(r), s = r > 1e-9 ? a * series(lens->radial, a * a) / r : 1;
        out[0] = s * x;
        out[1] = s * y;
        return;
    }
    double s = series(lens->radial, r2), p1 = lens->tangential[0], p2 = lens->tangential[1];
    out[0] = s * x + 2 * p1 * x * y + p2 * (r2 + 2 * x * x);
    out[1] = s * y + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y;
}

void lens_map(const Lens *lens, const double K[9], const double xy[2], double out[2]) {
    double ray[3], bent[2];
    camera_unproject(K, xy[0], xy[1], 1, ray);
    lens_distort(lens, ray[0], ray[1], bent);
    out[0] = lens->K[0] * bent[0] + lens->K[1] * bent[1] + lens->K[2];
    out[1] = lens->K[4] * bent[1] + lens->K[5];
}

Lens lens_resize(const Lens *lens, int H, int W) {
    Lens other = *lens;
    other.H = H;
    other.W = W;
    if (lens->H) camera_resize_intrinsics(lens->K, lens->H, lens->W, H, W, other.K);
    return other;
}
