// SPDX-License-Identifier: Apache-2.0
// The rotation that takes centred points a_i nearest to b_i in the least squares, from S = sum_i a_i b_i^T alone (Horn,
// Closed-form solution of absolute orientation using unit quaternions, 1987).
#ifndef VPD_BASE_HORN_H
#define VPD_BASE_HORN_H

// S (3,3), row by row. *quaternion (w, x, y, z), or NULL, is the unit quaternion of the rotation R; of several best
// ones it is one of them. Returns lambda = sum_i b_i . R a_i: the least sum_i |b_i - R a_i|^2 is sum_i (|a_i|^2 +
// |b_i|^2) - 2 lambda.
double horn_rotation(const double S[9], double quaternion[4]);

#endif
