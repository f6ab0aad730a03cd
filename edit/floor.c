// SPDX-License-Identifier: Apache-2.0
// The floor is the largest plane: the best of many planes through three particles (RANSAC), then fitted to all
// particles near it.
#include "edit/scene.h"

#include "base/random.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 1024, SAMPLE = 4096, FITS = 3 };
#define WITHIN_SHARE 0.25 // of the median support radius

Status scene_median_radius(const EditScene *scene, double *out, Error *err) {
    *out = rollout_median_radius(scene->file);
    if (*out > 0) return STATUS_OK;
    return error_set(
        err, STATUS_BAD_INPUT,
        "the particles have no radii, from which the default lengths follow; give \"link\" and \"within\" in metres");
}

typedef struct Plane {
    double normal[3], offset;
} Plane;

static double height_of(const Plane *plane, const float *p) {
    return plane->normal[0] * p[0] + plane->normal[1] * p[1] + plane->normal[2] * p[2] - plane->offset;
}

// The plane through three points; false if they are collinear.
static bool through(const float *a, const float *b, const float *c, Plane *out) {
    double u[3], v[3], *n = out->normal;
    for (int i = 0; i < 3; i++) {
        u[i] = (double)b[i] - a[i];
        v[i] = (double)c[i] - a[i];
    }
    vector_cross(u, v, n);
    double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    if (!(length > 1e-12)) return false;
    for (int i = 0; i < 3; i++) n[i] /= length;
    out->offset = n[0] * a[0] + n[1] * a[1] + n[2] * a[2];
    return true;
}

static size_t count_on(const Plane *plane, const float *x, size_t count, double within) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += fabs(height_of(plane, x + 3 * i)) <= within;
    return sum;
}

// Solves the symmetric 3x3 system of m (its upper triangle, row by row) by Cramer's rule; false when it is singular.
static bool solve3(const double m[6], const double r[3], double out[3]) {
    double a = m[0], b = m[1], c = m[2], d = m[3], e = m[4], f = m[5];
    double A = d * f - e * e, B = c * e - b * f, C = b * e - c * d, det = a * A + b * B + c * C;
    if (!(fabs(det) > 1e-12 * fabs(a * d * f))) return false;
    out[0] = (A * r[0] + B * r[1] + C * r[2]) / det;
    out[1] = (B * r[0] + (a * f - c * c) * r[1] + (b * c - a * e) * r[2]) / det;
    out[2] = (C * r[0] + (b * c - a * e) * r[1] + (a * d - b * b) * r[2]) / det;
    return true;
}

// Least-squares fit to the points near the plane: height above it as a linear function of two axes in it.
static void fit(Plane *plane, const float *x, size_t count, double within) {
    const double *n = plane->normal;
    int least = fabs(n[0]) < fabs(n[1]) ? 0 : 1;
    if (fabs(n[2]) < fabs(n[least])) least = 2;
    const double axis[3] = {least == 0, least == 1, least == 2};
    double u[3], v[3], m[6] = {0}, r[3] = {0}, s[3];
    vector_cross(axis, n, u);
    double length = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    for (int i = 0; i < 3; i++) u[i] /= length;
    vector_cross(n, u, v);
    for (size_t i = 0; i < count; i++) {
        const float *p = x + 3 * i;
        double h = height_of(plane, p), a = u[0] * p[0] + u[1] * p[1] + u[2] * p[2],
               b = v[0] * p[0] + v[1] * p[1] + v[2] * p[2];
        if (fabs(h) > within) continue;
        m[0] += a * a, m[1] += a * b, m[2] += a, m[3] += b * b, m[4] += b, m[5] += 1;
        r[0] += a * h, r[1] += b * h, r[2] += h;
    }
    if (!(m[5] >= 3) || !solve3(m, r, s)) return;
    // the fitted plane is height = s0 a + s1 b + s2
    double tilted[3], norm = sqrt(1 + s[0] * s[0] + s[1] * s[1]);
    for (int i = 0; i < 3; i++) tilted[i] = (n[i] - s[0] * u[i] - s[1] * v[i]) / norm;
    plane->offset = (plane->offset + s[2]) / norm;
    memcpy(plane->normal, tilted, sizeof tilted);
}

// Turns the normal towards the mean position of the cameras, or up if there are none.
static void turn_up(const RolloutFile *file, Plane *plane) {
    double side = 0;
    for (int v = 0; v < file->V; v++) {
        const double *pose = file->world_from_camera + 16 * v;
        for (int c = 0; c < 3; c++) side += plane->normal[c] * pose[4 * c + 3];
        side -= plane->offset;
    }
    if (file->V == 0) side = plane->normal[2];
    for (int c = 0; c < 3 && side < 0; c++) plane->normal[c] = -plane->normal[c];
    if (side < 0) plane->offset = -plane->offset;
}

// Draws a subset of the particles that depends on the seed alone.
static size_t draw_sample(const RolloutSet *now, RandomKey key, float *out) {
    size_t count = now->N < SAMPLE ? now->N : SAMPLE;
    for (size_t i = 0; i < count; i++) {
        size_t from = count == now->N ? i : random_below(key, i, (uint32_t)now->N);
        memcpy(out + 3 * i, now->positions + 3 * from, 3 * sizeof *out);
    }
    return count;
}

Status scene_floor(const EditScene *scene, const FloorOptions *options, double normal[3], double *offset,
                   double *within, Error *err) {
    const RolloutSet *now = scene_now(scene);
    const RandomKey key = {.seed = (uint32_t)options->seed, .purpose = RANDOM_FLOOR};
    float *sample = malloc(3 * SAMPLE * sizeof *sample);
    Plane best = {{0, 0, 1}, 0};
    size_t most = 0;
    Status status = sample ? STATUS_OK : scene_no_memory(err);
    *within = options->within;
    if (status == STATUS_OK && !(*within > 0)) {
        status = scene_median_radius(scene, within, err);
        *within *= WITHIN_SHARE;
    }
    size_t count = status == STATUS_OK ? draw_sample(now, key, sample) : 0;
    for (uint64_t t = 0; t < TRIES && count > 0; t++) {
        Random4 r = random4((RandomKey){key.seed, key.purpose, 1, 0}, t);
        const float *three[3];
        Plane plane;
        for (int i = 0; i < 3; i++) three[i] = sample + 3 * (size_t)(((uint64_t)r.v[i] * count) >> 32);
        size_t on = through(three[0], three[1], three[2], &plane) ? count_on(&plane, sample, count, *within) : 0;
        if (on > most) {
            most = on;
            best = plane;
        }
    }
    if (status == STATUS_OK && most < 3)
        status = error_set(err, STATUS_BAD_INPUT, "found no floor: expected particles that lie on a plane");
    for (int i = 0; i < FITS && status == STATUS_OK; i++) fit(&best, now->positions, now->N, *within);
    turn_up(scene->file, &best);
    memcpy(normal, best.normal, sizeof best.normal);
    *offset = best.offset;
    free(sample);
    return status;
}
