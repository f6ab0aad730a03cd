// SPDX-License-Identifier: Apache-2.0
// Compares one view with another; datasets/check.h describes the test.
#ifndef VPD_DATASETS_REPROJECT_H
#define VPD_DATASETS_REPROJECT_H

#include "datasets/check.h"

// Where a position of the camera's picture lies in a stored picture: [a b c; d e f] (x, y, 1), in pixels, with pixel
// centres at halves.
typedef struct StoredMap {
    bool moves; // else the identity
    double m[6];
} StoredMap;

// An image with its camera, without or under a hypothesis.
typedef struct Shot {
    int H, W; // 0 when the hypothesis has no image here
    double K[9], pose[16], inverse[16];
    double k1;            // radial distortion in the pictures: x_d = x (1 + k1 r^2)
    const float *depth;   // (H,W)
    const uint16_t *mask; // (H,W) or NULL
    double depth_scale;
    double near, far;   // metres: a renderer's buffer is stored, from 0 (near) to 1 (far); near 0: depth is
    int ray_power;      // depth along z = stored depth * |Kc^-1 (u, v, 1)|^ray_power
    StoredMap in_depth; // of the depth picture
} Shot;

Shot shot_of(const Frames *frames, int frame, int view);

// Depth along z of pixel (x, y); 0 = missing.
double shot_depth(const Shot *shot, int x, int y);

// The point of pixel (x, y) of a as b sees it.
typedef struct Landing {
    double z, there; // metres along b's axis: of the point, and what b has there
    double xy[2];    // where it lands in b
} Landing;
// false when depth is missing, or the point lies on a depth edge or turns its back to b, or lands outside b, on a depth
// edge or on another mask.
bool shot_land(const Shot *a, const Shot *b, int x, int y, Landing *out);

// 5 % of depth is far more than the error of a sensor and less than most steps between surfaces.
#define REPROJECT_OCCLUSION 0.05
#define REPROJECT_AGREE 0.01

// Pixel n of a deterministic sequence that covers rows and columns evenly at every length.
void sample_pixel(size_t n, int H, int W, int *x, int *y);

// Errors gathered for one pair of views, or for all.
typedef struct ErrorList {
    float *errors; // metres, of tested points that are neither occluded nor seen through
    size_t count, capacity, tested, occluded, through, agreeing, nearer; // nearer: as in PairStats
} ErrorList;

// Called for each tested point with its pixel in a.
typedef void PointSeen(void *context, const Shot *a, int x, int y, const Landing *landing);

// Adds up to `points` pixels of a; `seen` may be NULL. STATUS_FAILED without memory.
Status reproject_add(const Shot *a, const Shot *b, size_t points, ErrorList *list, PointSeen *seen, void *context,
                     Error *err);
Status error_list_append(ErrorList *to, const ErrorList *from, Error *err);
void error_list_free(ErrorList *list);

// Sorts the errors.
PairStats error_list_stats(ErrorList *list, int a, int b);

// Value at share q of a sorted array; NaN when it is empty.
double sorted_quantile(const float *sorted, size_t count, double q);

#endif
