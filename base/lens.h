// SPDX-License-Identifier: Apache-2.0
// A lens as calibrations give it: intrinsics and distortion. With (x, y) = (X/Z, Y/Z) and r^2 = x^2 + y^2, the picture
// shows the point at K (x', y', 1):
//   plain    x' = x s + 2 p1 x y + p2 (r^2 + 2 x^2),  y' = y s + p1 (r^2 + 2 y^2) + 2 p2 x y,
//            s = 1 + k1 r^2 + k2 r^4 + k3 r^6 + k4 r^8        (OpenCV's first five numbers; nerfstudio's k4)
//   fisheye  (x', y') = (x, y) t / r,  t = a (1 + k1 a^2 + k2 a^4 + k3 a^6 + k4 a^8),  a = atan(r)   (OpenCV's fisheye)
#ifndef VPD_BASE_LENS_H
#define VPD_BASE_LENS_H

#include <stdbool.h>

typedef struct Lens {
    int H, W;                        // size of the picture that K belongs to; 0: of any picture it is used with
    double K[9];                     // 3x3 row-major, pixel centres at halves
    double radial[4], tangential[2]; // k1..k4, p1 p2
    bool fisheye;
} Lens;

// fx fy cx cy with pixel centres at halves; OpenCV's and ROS's centres are whole numbers: give cx + 0.5, cy + 0.5.
Lens lens_of(double fx, double fy, double cx, double cy);
bool lens_is_plain(const Lens *lens);                                   // no distortion
void lens_distort(const Lens *lens, double x, double y, double out[2]); // (x, y) to (x', y')
// Where pixel position `xy` of a picture without distortion and with intrinsics K lies in the lens's own picture.
void lens_map(const Lens *lens, const double K[9], const double xy[2], double out[2]);
// The same lens for a picture of another size.
Lens lens_resize(const Lens *lens, int H, int W);

#endif
