// SPDX-License-Identifier: Apache-2.0
#include "lab/draw.h"

#include "base/random.h"
#include "base/vector.h"
#include "lab/record.h"

#include <math.h>
#include <stdio.h>

enum { DRAWS = 1000, SENTENCE_SIZE = 256 };
#define SHARE 0.02 // of the distance between particles: so deep may an object be inside something

// Metres below a plane, of the particle that is deepest below one.
static double below_planes(const SimScene *scene) {
    const SimModel *m = &scene->model;
    double deepest = 0;
    for (size_t k = 0; k < m->planes; k++)
        for (size_t i = 0; i < m->particles; i++) {
            const double *n = m->plane[k].normal, length = sqrt(vector_dot(n, n));
            deepest =
                fmax(deepest, m->plane[k].offset - vector_dot(n, scene->values.of[SIM_POSITION] + 3 * i) / length);
        }
    return deepest;
}

// Whether all starts apart; else why not.
static bool starts_apart(const SimScene *scene, char why[SENTENCE_SIZE]) {
    const RecordInside inside = record_start(scene);
    const double below = below_planes(scene);
    if (inside.share > SHARE)
        snprintf(why, SENTENCE_SIZE, "%s starts %.2g m inside another object", inside.object->name, inside.deep);
    else if (below > 1e-3) snprintf(why, SENTENCE_SIZE, "a particle starts %.2g m below a plane", below);
    else return true;
    return false;
}

Status draw_scene(const FitFree *f, uint32_t seed, size_t episode, double *x, SimScene *out, Error *err) {
    char why[SENTENCE_SIZE];
    for (uint32_t draw = 0; draw < DRAWS; draw++) {
        const RandomKey key = {.seed = seed, .purpose = RANDOM_SCENE, .step = draw, .episode = (uint32_t)episode};
        for (size_t i = 0; i < f->count; i++)
            x[i] = f->variable[i].low + (f->variable[i].high - f->variable[i].low) * (double)random_uniform(key, i);
        Status status = fit_free_scene(f, x, out, err);
        if (status != STATUS_OK || starts_apart(out, why)) return status;
        scene_free(out);
    }
    return error_set(err, STATUS_BAD_INPUT, "%s: random: %d draws of episode %zu do not start apart: %s", f->path,
                     DRAWS, episode, why);
}
