// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_planes.h"

#include "motion/bodies.h"
#include "motion/plane_fit.h"

#include <math.h>
#include <string.h>

// Points that are looked at, at most; times that a plane is fitted to its points.
enum { SEEN = 512, FITS = 3 };
static const double WITHIN = 0.0075; // times X: of the points of a plane
static const double LEAST = 0.0025;  // times X: what is so near to a plane lies in it,
static const double ERRORS = 4;      // or so many times the usual error of its points
static const double SHARE = 0.1;     // of the points that are looked at: a large plane has so many
static const double LARGE = 0.1;     // times X: and they are so far from their mean, by the root of the mean square

typedef struct Points {
    size_t count;
    real x[3 * SEEN];
} Points;

// Points without a flag, spread evenly over the cloud.
static void look(const PointCloud *cloud, Points *out) {
    size_t still = 0, at = 0;
    for (size_t i = 0; i < cloud->count; i++) still += !(cloud->moving[i] > 0);
    out->count = still < SEEN ? still : SEEN;
    for (size_t i = 0, k = 0; i < cloud->count && k < out->count; i++) {
        if (cloud->moving[i] > 0 || at++ != k * still / out->count) continue;
        memcpy(out->x + 3 * k++, cloud->position + 3 * i, 3 * sizeof *out->x);
    }
}

static double height(const Plane *plane, const real *x) {
    return plane_height(plane, (const double[3]){(double)x[0], (double)x[1], (double)x[2]});
}

static Plane plane_of(const PlaneFit *fit) {
    Plane out = {.normal = {(double)fit->normal[0], (double)fit->normal[1], (double)fit->normal[2]}};
    out.offset = vector_dot(out.normal, fit->mean);
    return out;
}

static size_t within(const Points *p, const Plane *plane, double most, int32_t *index) {
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (fabs(height(plane, p->x + 3 * i)) < most) index[count++] = (int32_t)i;
    return count;
}

// The plane through a point and those around it that has most points near it, fitted to these; they go. False if they
// are fewer than `least`.
static bool take_largest(Points *p, double extent, size_t least, PlaneFit *fit, Plane *out) {
    int32_t index[SEEN];
    size_t best = 0, kept = 0;
    double most = WITHIN * extent, error[SEEN];
    for (size_t i = 0; i < p->count; i++) {
        plane_fit_near(p->x, p->count, i, fit);
        Plane plane = plane_of(fit);
        size_t count = within(p, &plane, most, index);
        if (count > best) best = count, *out = plane;
    }
    for (int k = 0; k < FITS && best >= least; k++) {
        best = within(p, out, most, index);
        plane_fit(p->x, index, best, fit);
        *out = plane_of(fit);
    }
    if (best < least) return false;
    for (size_t k = 0; k < best; k++) error[k] = fabs(height(out, p->x + 3 * index[k]));
    out->within = fmin(most, fmax(LEAST * extent, ERRORS * bodies_median(error, best)));
    for (size_t i = 0; i < p->count; i++)
        if (!(fabs(height(out, p->x + 3 * i)) < most)) memmove(p->x + 3 * kept++, p->x + 3 * i, 3 * sizeof *p->x);
    p->count = kept;
    return true;
}

Planes planes_find(const PointCloud *cloud, double extent) {
    Planes out = {0};
    Points points;
    PlaneFit fit = {0};
    look(cloud, &points);
    size_t least = (size_t)fmax(PLANE_FIT_NEAR, ceil(SHARE * (double)points.count));
    while (out.count < PLANES_MOST && points.count >= PLANE_FIT_NEAR &&
           take_largest(&points, extent, least, &fit, &out.plane[out.count]))
        out.count += fit.apart / (double)fit.count >= LARGE * extent * LARGE * extent;
    return out;
}

int32_t planes_of(const Planes *p, const real *x) {
    for (size_t k = 0; k < p->count; k++)
        if (fabs(height(&p->plane[k], x)) < p->plane[k].within) return (int32_t)k;
    return -1;
}
