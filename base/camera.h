// SPDX-License-Identifier: Apache-2.0
// Pinhole cameras in double precision. Intrinsics Kc are 3x3, poses 4x4, both row-major; camera axes are OpenCV's (x
// right, y down, z forward), pixel centres lie at (u + 0.5, v + 0.5), depth is along the camera's z axis in metres.
//   pixel (x, y) with depth d: p_camera = d Kc^-1 [x, y, 1];  p_world = world_from_camera p_camera
#ifndef VPD_BASE_CAMERA_H
#define VPD_BASE_CAMERA_H

#include <stdbool.h>
#include <stddef.h>

// Pixel position (x, y), in pixels with the half added for centres, and depth to a point in the camera or the world.
void camera_unproject(const double K[9], double x, double y, double depth, double point[3]);
void camera_unproject_world(const double K[9], const double world_from_camera[16], double x, double y, double depth,
                            double point[3]);

// The same of the centre of pixel row * W + column.
void camera_unproject_pixel(const double K[9], const double world_from_camera[16], int W, size_t pixel, double depth,
                            double point[3]);

// Point in camera axes to pixel position (x, y); returns depth (z). (x, y) is untouched when z <= 0.
double camera_project(const double K[9], const double point[3], double xy[2]);

// Rigid transforms [R t; 0 1]. Output may be an input.
void pose_identity(double out[16]);
void pose_inverse(const double pose[16], double out[16]);
void pose_product(const double a[16], const double b[16], double out[16]); // b first, then a
void pose_apply(const double pose[16], const double point[3], double out[3]);
void pose_from_rotation(const double R[9], const double t[3], double out[16]);
void rotation_from_quaternion(const double wxyz[4], double R[9]); // any non-zero length
void quaternion_from_rotation(const double R[9], double wxyz[4]); // unit length, either sign
// From a (t = 0) to b (t = 1), both of unit length, along the shorter way and at constant speed.
void quaternion_slerp(const double a[4], const double b[4], double t, double out[4]);
// world_from_camera * diag(1,-1,-1,1): OpenGL (y up, z backward) to OpenCV and back.
void pose_flip_opengl(const double pose[16], double out[16]);

// Largest |R^T R - 1| and the determinant of R; false when the last row is not 0 0 0 1 or a value is not finite.
// A recorded pose may deviate by this, as rounding to 3 digits does.
#define POSE_TOLERANCE 5e-3
bool pose_rotation_error(const double pose[16], double *orthonormality, double *determinant);

// Camera at `eye` that looks at `target`, image columns downward along -up. false when both directions coincide.
bool camera_look_at(const double eye[3], const double target[3], const double up[3], double world_from_camera[16]);

// Kc of an image that is resized from (H0,W0) to (H1,W1), with pixel centres at halves.
void camera_resize_intrinsics(const double K[9], int H0, int W0, int H1, int W1, double out[9]);
// Kc with square pixels and a horizontal field of view in radians, principal point in the middle.
void camera_intrinsics_from_fov(double fov_x, int H, int W, double K[9]);

#endif
