// SPDX-License-Identifier: Apache-2.0
// The last frame of an observation as its cameras show it: the point of each pixel, and where each camera stands. Host
// memory.
#ifndef VPD_MOTION_VIEWS_H
#define VPD_MOTION_VIEWS_H

#include "encoder/unproject.h"

#include <stdbool.h>

typedef struct Views {
    const Observation *o;
    const PointCloud *now; // the frame's points
    int32_t *at;           // (V,H,W) number of the point of each pixel, or -1
    double *eye;           // (V,3) metres, turned as the points are
    double *from_world;    // (V,4,4)
} Views;

Status views_make(const Observation *observation, const PointCloud *now, Views *out, Error *err);
void views_free(Views *views); // accepts {0}

// The view that shows a point.
static inline size_t views_of(const Views *f, size_t point) {
    return (size_t)f->now->pixel[point] / ((size_t)f->o->H * (size_t)f->o->W);
}

// Whether a pixel has another one on all sides.
bool views_inner(const Views *views, size_t pixel);

// The pixel of view v that x falls into, (v * H + row) * W + column. Returns its depth z there; 0 if it is behind the
// camera or out of the picture.
double views_project(const Views *views, size_t v, const double x[3], size_t *pixel);
// The same with the pose (4,4) of any frame.
double views_find_pixel(const Observation *observation, size_t v, const double from_world[16], const double x[3],
                        size_t *pixel);

#endif
