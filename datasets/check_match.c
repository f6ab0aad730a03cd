// SPDX-License-Identifier: Apache-2.0
#include "datasets/check_match.h"

#include <math.h>

enum {
    TRIED = 8, // pixels for each match that is wanted
    MOVING_MOMENTS = 6,
    MOVING_PARTNERS = 3, // views that each view is compared with there
    MOVING_POINTS = 800,
    UNKNOWN_MAX = 2 // neighbours without depth; at the rim of an object there are three
};
#define SAME_SURFACE 0.03 // relative difference of depth
#define MOVED 0.05        // relative change of depth from one kept frame to the next

static bool has_moved(const Evidence *evidence, int image, int x, int y) {
    const KeptImage *kept = &evidence->images[image];
    for (int step = -1; step <= 1; step += 2) {
        int other = evidence_find(evidence, kept->slot, kept->order + step, kept->view);
        size_t at = (size_t)y * (size_t)kept->W + (size_t)x;
        if (other < 0 || !evidence->images[other].depth) continue;
        if (fabs(evidence->images[other].depth[at] - kept->depth[at]) > MOVED * kept->depth[at]) return true;
    }
    return false;
}

// Next to an edge of depth a pixel mixes colours of two surfaces.
static bool beside_edge(const Shot *shot, double x, double y) {
    const int column = (int)x, row = (int)y; // NOLINT: inside the picture
    const double depth = shot_depth(shot, column, row);
    int unknown = 0;
    for (int i = 0; i < 9; i++) {
        int u = column + i % 3 - 1, v = row + i / 3 - 1;
        if (u < 0 || v < 0 || u >= shot->W || v >= shot->H) continue;
        double other = shot_depth(shot, u, v);
        if (other > 0 && fabs(other - depth) > MOVED * depth) return true;
        unknown += !(other > 0);
    }
    return unknown > UNKNOWN_MAX;
}

// Points of image a that agree with b; with `moved`, only those where something moves.
static void collect_pair(const Evidence *evidence, const CheckReport *report, Matches *matches, KeptPair images,
                         int pair, size_t points, bool moved) {
    int image_a = images.a, image_b = images.b;
    Shot a = check_guessed_shot(evidence, report, image_a), b = check_guessed_shot(evidence, report, image_b);
    int most = moved ? MATCHES_MAX : matches->count + (int)points / TRIED;
    if (most > MATCHES_MAX) most = MATCHES_MAX;
    for (size_t n = 0; a.H && b.H && n < points && matches->count < most; n++) {
        int x, y;
        Landing at;
        sample_pixel(n, a.H, a.W, &x, &y);
        if (moved && !has_moved(evidence, image_a, x, y)) continue;
        if (!shot_land(&a, &b, x, y, &at) || fabs(at.z - at.there) > SAME_SURFACE * at.z) continue;
        if (beside_edge(&a, x, y) || beside_edge(&b, at.xy[0], at.xy[1])) continue;
        matches->of[matches->count++] = (Match){
            pair, {image_a, image_b}, {{(float)(x + 0.5), (float)(y + 0.5)}, {(float)at.xy[0], (float)at.xy[1]}}};
    }
}

void matches_collect(const Evidence *evidence, const CheckReport *report, Matches *matches) {
    size_t points = evidence->pair_count ? (size_t)(TRIED * MATCHES_MAX / evidence->pair_count) : 0;
    matches->count = 0;
    for (int p = 0; p < evidence->pair_count; p++)
        collect_pair(evidence, report, matches, evidence->pairs[p], p, points, false);
}

// Also where something moves, at more moments: only there do the colours of another frame differ.
void matches_collect_moving(const Evidence *evidence, const CheckReport *report, Matches *matches) {
    int pair = 0;
    matches->count = 0;
    for (int slot = 0; slot < evidence->episode_count; slot++) {
        const KeptEpisode *kept = &evidence->episodes[slot];
        for (int i = 0; kept->frames > 2 && !kept->moving && i < MOVING_MOMENTS * kept->views; i++) {
            int order = (2 * (i / kept->views) + 1) * kept->frames / (2 * MOVING_MOMENTS), v = i % kept->views;
            for (int step = 1; step < kept->views && step <= MOVING_PARTNERS; step++)
                collect_pair(evidence, report, matches,
                             (KeptPair){evidence_find(evidence, slot, order, v),
                                        evidence_find(evidence, slot, order, (v + step) % kept->views)},
                             pair++, MOVING_POINTS, true);
        }
    }
}
