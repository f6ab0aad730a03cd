// SPDX-License-Identifier: Apache-2.0
// Points on which two images agree in depth, so that they should agree in colour.
#ifndef VPD_DATASETS_CHECK_MATCH_H
#define VPD_DATASETS_CHECK_MATCH_H

#include "datasets/check_private.h"

typedef struct Match {
    int pair, image[2]; // those of a pair follow each other
    float xy[2][2];     // in the grid of the camera
} Match;

typedef struct Matches {
    Match *of; // room for MATCHES_MAX
    int count;
} Matches;

enum { MATCHES_MAX = 16000 };

// The points of all pairs of the evidence, under the report's guess about cameras and depth.
void matches_collect(const Evidence *evidence, const CheckReport *report, Matches *out);
// Those where something moves before cameras that stand still, at more moments.
void matches_collect_moving(const Evidence *evidence, const CheckReport *report, Matches *out);

#endif
