// SPDX-License-Identifier: Apache-2.0
#include "lab/draw.h"

#include "base/random.h"
#include "base/stop.h"
#include "lab/record.h"

#include <stdio.h>
#include <stdlib.h>

enum { DRAWS = 1000, SENTENCE_SIZE = 256 };

// Whether all starts apart; else why not.
static bool starts_apart(const SimScene *scene, char why[SENTENCE_SIZE]) {
    const RecordWorst inside = record_start(scene);
    const SceneObject *lowest;
    const double below = record_below(scene, &lowest);
    if (inside.share > RECORD_INSIDE_MOST)
        snprintf(why, SENTENCE_SIZE, "%s starts %.2g m inside another object", inside.object->name, inside.deep);
    else if (below > RECORD_BELOW_MOST)
        snprintf(why, SENTENCE_SIZE, "%s starts %.2g m below a plane", lowest->name, below);
    else return true;
    return false;
}

// The scene with numbers x; an error says that they were drawn.
static Status read_drawn(const FitFree *f, const double *x, SimScene *out, Error *err) {
    Error why;
    const Status status = fit_free_scene(f, x, out, &why);
    return status == STATUS_OK ? status : error_set(err, status, "random draws what is refused: %s", why.text);
}

Status draw_check(const FitFree *f, Error *err) {
    double *x = calloc(f->count + 1, sizeof *x);
    Status status = x ? STATUS_OK : error_no_memory(err, "%s", f->path);
    for (int high = 0; high < 2 && status == STATUS_OK; high++) {
        SimScene scene;
        for (size_t i = 0; i < f->count; i++) { // not all at one place, where vectors of no length would be refused
            const RandomKey key = {.purpose = RANDOM_SCENE};
            const double in = 1e-6 * (double)random_uniform(key, i);
            x[i] = f->variable[i].low + (f->variable[i].high - f->variable[i].low) * (high ? 1 - in : in);
        }
        status = read_drawn(f, x, &scene, err);
        scene_free(&scene);
    }
    free(x);
    return status;
}

Status draw_scene(const FitFree *f, uint32_t seed, size_t episode, uint32_t *draw, double *x, SimScene *out,
                  Error *err) {
    char why[SENTENCE_SIZE];
    for (int tried = 0; tried < DRAWS; tried++) {
        const RandomKey key = {.seed = seed, .purpose = RANDOM_SCENE, .step = (*draw)++, .episode = (uint32_t)episode};
        for (size_t i = 0; i < f->count; i++)
            x[i] = f->variable[i].low + (f->variable[i].high - f->variable[i].low) * (double)random_uniform(key, i);
        Status status = stop_requested() ? stop_error(err) : read_drawn(f, x, out, err);
        if (status != STATUS_OK || starts_apart(out, why)) return status;
        scene_free(out);
    }
    return error_set(err, STATUS_BAD_INPUT, "%s: random: %d draws of episode %zu do not start apart: %s", f->path,
                     DRAWS, episode, why);
}
