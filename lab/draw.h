// SPDX-License-Identifier: Apache-2.0
// Scenes with random numbers: those of the section `random`, drawn anew for each episode.
#ifndef VPD_LAB_DRAW_H
#define VPD_LAB_DRAW_H

#include "lab/fit_free.h"

// Whether the scene's reader takes the numbers that can be drawn: reads it with all near their low, and with all near
// their high.
Status draw_check(const FitFree *random, Error *err);

// The scene of an episode: each number of `random` (fit_free_random) uniform between its low and high, into x (count)
// too; the same for the same seed, episode and *draw, whatever was drawn before. Drawn again while an object starts
// inside another one or below a plane; STATUS_BAD_INPUT when 1000 draws do. *draw, 0 at first, is moved behind the draw
// that is given, so that another call gives the episode other numbers.
Status draw_scene(const FitFree *random, uint32_t seed, size_t episode, uint32_t *draw, double *x, SimScene *out,
                  Error *err);

#endif
