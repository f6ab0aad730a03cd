// SPDX-License-Identifier: Apache-2.0
#include "motion/bodies_planes.h"

#include "motion/bodies.h"
#include "motion/nearest.h"
#include "motion/rigid.h"

#include <math.h>
#include <string.h>

// Points that are looked at, at most; points of a plane that is tried; times that a plane is fitted to its points.
enum { SEEN = 512, PLANE = 8, FITS = 3 };
static const double WITHIN = 0.0075; // times X: of the points of a plane
static const double LEAST = 0.0025;  // times X: what is so near to a plane lies in it,
static const double ERRORS = 4;      // or so many times the usual error of its points
static const double SHARE = 0.1;     // of the points that are looked at: a large plane has so many
static const double LARGE = 0.1;     // times X: and they are so far from their mean, by the root of the mean square

typedef struct Points {
    size_t count;
    double x[3 * SEEN];
} Points;

typedef struct Flat {
    double normal[3], offset;
    double error, reach2; // of its points: median distance from it, mean squared distance from their mean
} Flat;

// Points without a flag, spread evenly over the cloud.
static void look(const PointCloud *cloud, Points *out) {
    size_t still = 0, at = 0;
    for (size_t i = 0; i < cloud->count; i++) still += !(cloud->moving[i] > 0);
    out->count = still < SEEN ? still : SEEN;
    for (size_t i = 0, k = 0; i < cloud->count && k < out->count; i++) {
        if (cloud->moving[i] > 0 || at++ != k * still / out->count) continue;
        for (size_t c = 0; c < 3; c++) out->x[3 * k + c] = (double)cloud->position[3 * i + c];
        k++;
    }
}

static double height(const Flat *f, const double *x) {
    return f->normal[0] * x[0] + f->normal[1] * x[1] + f->normal[2] * x[2] - f->offset;
}

// Through the listed points.
static Flat fit(const Points *p, const size_t *index, size_t count) {
    double mean[3] = {0}, spread[9] = {0};
    real normal[3];
    Flat out = {{0}, 0, 0, 0};
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < 3; c++) mean[c] += p->x[3 * index[k] + c] / (double)count;
    for (size_t k = 0; k < count; k++)
        for (size_t c = 0; c < 9; c++)
            spread[c] += (p->x[3 * index[k] + c / 3] - mean[c / 3]) * (p->x[3 * index[k] + c % 3] - mean[c % 3]);
    out.reach2 = (spread[0] + spread[4] + spread[8]) / (double)count;
    rigid_least_direction(spread, normal);
    for (size_t c = 0; c < 3; c++) out.normal[c] = (double)normal[c], out.offset += (double)normal[c] * mean[c];
    return out;
}

static size_t within(const Points *p, const Flat *f, double most, size_t *index) {
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        if (fabs(height(f, p->x + 3 * i)) < most) index[count++] = i;
    return count;
}

static Flat around(const Points *p, size_t i) {
    double near[PLANE];
    size_t index[PLANE], count = 0;
    for (size_t j = 0; j < p->count; j++) {
        double d2 = 0;
        for (size_t c = 0; c < 3; c++) d2 += (p->x[3 * i + c] - p->x[3 * j + c]) * (p->x[3 * i + c] - p->x[3 * j + c]);
        count = nearest_keep(near, index, count, PLANE, d2, j);
    }
    return fit(p, index, count);
}

// The plane through a point and those around it that has most points near it, fitted to these; they go. False if they
// are fewer than `least`.
static bool take_largest(Points *p, double most, size_t least, Flat *out) {
    size_t index[SEEN], best = 0, kept = 0;
    for (size_t i = 0; i < p->count; i++) {
        Flat f = around(p, i);
        size_t count = within(p, &f, most, index);
        if (count > best) best = count, *out = f;
    }
    for (int k = 0; k < FITS && best >= least; k++) {
        best = within(p, out, most, index);
        *out = fit(p, index, best);
    }
    if (best < least) return false;
    double error[SEEN];
    for (size_t k = 0; k < best; k++) error[k] = fabs(height(out, p->x + 3 * index[k]));
    out->error = bodies_median(error, best);
    for (size_t i = 0; i < p->count; i++)
        if (!(fabs(height(out, p->x + 3 * i)) < most)) memmove(p->x + 3 * kept++, p->x + 3 * i, 3 * sizeof *p->x);
    p->count = kept;
    return true;
}

Planes planes_find(const PointCloud *cloud, double extent) {
    Planes out = {0};
    Points points;
    Flat found = {{0}, 0, 0, 0};
    look(cloud, &points);
    size_t least = (size_t)fmax(PLANE, ceil(SHARE * (double)points.count));
    while (out.count < PLANES_MOST && points.count >= PLANE && take_largest(&points, WITHIN * extent, least, &found)) {
        if (found.reach2 < LARGE * extent * LARGE * extent) continue;
        memcpy(out.normal[out.count], found.normal, sizeof found.normal);
        out.within[out.count] = fmin(WITHIN * extent, fmax(LEAST * extent, ERRORS * found.error));
        out.offset[out.count++] = found.offset;
    }
    return out;
}

bool planes_outside(const Planes *p, const real *x) {
    for (size_t k = 0; k < p->count; k++) {
        double along = -p->offset[k];
        for (size_t c = 0; c < 3; c++) along += p->normal[k][c] * (double)x[c];
        if (fabs(along) < p->within[k]) return false;
    }
    return p->count > 0;
}
