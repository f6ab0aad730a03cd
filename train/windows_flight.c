// SPDX-License-Identifier: Apache-2.0
// Windows in free flight, which may have any velocity.
#include "base/vector.h"
#include "train/windows.h"

#include <math.h>
#include <string.h>

// Bodies that are slower may rest on what was not seen: a share of the unit of velocities. The fastest that windows are
// made, in the same unit.
#define SLOW 0.25
#define FAST 1.25

// A body's nodes at some time: the middle, and the largest distance from it.
typedef struct Sphere {
    double centre[3], radius;
} Sphere;

static void mean_of(const real *x, size_t count, double *out) {
    for (size_t c = 0; c < 3; c++) out[c] = 0;
    for (size_t i = 0; i < 3 * count; i++) out[i % 3] += (double)x[i] / (double)count;
}

static Sphere sphere_around(const real *x, size_t count) {
    Sphere out = {{0}, 0};
    mean_of(x, count, out.centre);
    for (size_t i = 0; i < count; i++) {
        double d2 = 0;
        for (int c = 0; c < 3; c++) d2 += pow((double)x[3 * i + (size_t)c] - out.centre[c], 2);
        out.radius = fmax(out.radius, sqrt(d2));
    }
    return out;
}

static bool sees(const Sphere *sphere, const double *push, double times, const SurfacePatch *patch, double reach) {
    double d2 = 0, along = 0, within = (double)patch->radius + sphere->radius;
    for (int c = 0; c < 3; c++) {
        double d = sphere->centre[c] + times * push[c] - (double)patch->position[c];
        d2 += d * d, along += d * (double)patch->normal[c];
    }
    return fabs(along) < reach + sphere->radius && d2 - along * along < within * within;
}

static bool clear(const BodySet *set, size_t window, const Sphere *sphere, const double *push, double times,
                  double reach) {
    for (size_t p = set->first_patch[window]; p < set->first_patch[window + 1]; p++)
        if (sees(sphere, push, times, &set->patch[p], reach)) return false;
    return true;
}

// Body b flies for as many steps as it is followed, at most `rollout`, if it is faster by `push`.
static bool flies(const Tracks *t, size_t window, size_t b, long rollout, const double *push, double reach) {
    const BodySet *set = &t->set;
    size_t first = set->first_node[b], count = set->first_node[b + 1] - first;
    Sphere sphere = sphere_around(set->now + 3 * first, count);
    for (long k = 0; k <= rollout && k <= t->steps[b]; k++) {
        if (k) mean_of(tracks_places(t, b, (size_t)k - 1), count, sphere.centre);
        if (!clear(set, window, &sphere, push, (double)k, reach)) return false;
    }
    return true;
}

static void velocity_of(const BodySet *set, size_t b, double *out) {
    size_t first = set->first_node[b], last = set->first_node[b + 1];
    for (size_t c = 0; c < 3; c++) {
        out[c] = 0;
        for (size_t i = first; i < last; i++)
            out[c] += (double)(set->now[3 * i + c] - set->before[3 * i + c]) / (double)(last - first);
    }
}

// Any direction; slow ones more often than fast ones, because few videos show bodies that are slow in the air.
static void draw_velocity(Random4 random, double most, double *out) {
    double share = (double)random_to_unit(random.v[1]), speed = most * share * share,
           up = 2 * (double)random_to_unit(random.v[2]) - 1,
           angle = 6.283185307179586 * (double)random_to_unit(random.v[3]), across = sqrt(1 - up * up);
    out[0] = speed * across * cos(angle);
    out[1] = speed * across * sin(angle);
    out[2] = speed * up;
}

// All bodies of a window fly, `push` faster, and none is slow in the video.
static bool all_fly(const Windows *w, size_t window, long rollout, const double *push) {
    const BodySet *set = &w->tracks.set;
    for (size_t b = set->first_body[window]; b < set->first_body[window + 1]; b++) {
        double v[3];
        velocity_of(set, b, v);
        if (!(sqrt(vector_dot(v, v)) > SLOW * (double)w->scales.speed)) return false;
        if (!flies(&w->tracks, window, b, rollout, push, (double)w->scales.reach)) return false;
    }
    return true;
}

void windows_push(const Windows *w, size_t window, long rollout, Random4 random, double push[3]) {
    static const double none[3] = {0};
    const BodySet *set = &w->tracks.set;
    double old[3], wanted[3];
    memcpy(push, none, sizeof none);
    if (!(random.v[0] & 1) || !all_fly(w, window, rollout, none)) return;
    velocity_of(set, set->first_body[window], old);
    draw_velocity(random, FAST * (double)w->scales.speed, wanted);
    for (int c = 0; c < 3; c++) wanted[c] -= old[c];
    if (all_fly(w, window, rollout, wanted)) memcpy(push, wanted, sizeof wanted);
}
