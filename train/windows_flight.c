// SPDX-License-Identifier: Apache-2.0
// Windows in free flight, which may have any velocity.
#include "base/vector.h"
#include "bodies/outside.h"
#include "train/windows.h"

#include <math.h>
#include <string.h>

// Bodies that are slower may rest on what was not seen: a share of the unit of velocities. The fastest that windows are
// made, in the same unit.
#define SLOW 0.25
#define FAST 1.25

static void mean_of(const real *x, size_t count, double *out) {
    for (size_t c = 0; c < 3; c++) out[c] = 0;
    for (size_t i = 0; i < 3 * count; i++) out[i % 3] += (double)x[i] / (double)count;
}

// The largest distance of points from their mean.
static double radius_of(const real *x, size_t count) {
    double mean[3], most2 = 0;
    mean_of(x, count, mean);
    const real middle[3] = {(real)mean[0], (real)mean[1], (real)mean[2]};
    for (size_t i = 0; i < count; i++) most2 = fmax(most2, squared_distance(x + 3 * i, middle));
    return sqrt(most2);
}

// Body b flies for as many steps as it is followed, at most `rollout`, if it is faster by `push`: a sphere around its
// nodes is near to no surface.
static bool flies(const Tracks *t, size_t window, size_t b, long rollout, const double *push, real reach) {
    const BodySet *set = &t->set;
    size_t first = set->first_node[b], count = set->first_node[b + 1] - first;
    double radius = radius_of(set->now + 3 * first, count);
    for (long k = 0; k <= rollout && k <= t->steps[b]; k++) {
        NearPatches near;
        double mean[3];
        real at[3];
        mean_of(k ? tracks_places(t, b, (size_t)k - 1) : set->now + 3 * first, count, mean);
        for (int c = 0; c < 3; c++) at[c] = (real)(mean[c] + (double)k * push[c]);
        surfaces_about(set, window, at, at, radius, reach, &near);
        if (near.count) return false;
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
        if (!flies(&w->tracks, window, b, rollout, push, w->scales.reach)) return false;
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
