// SPDX-License-Identifier: Apache-2.0
// Compares the clocks of the cameras: each camera's frames are compared with earlier and later frames of the other
// cameras, on pixels whose depth changes. The offset at which they agree is the offset of its clock.
#include "base/camera.h"
#include "base/sort.h"
#include "datasets/check_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OFFSET_MAX = 20, MOMENTS = 5, MOVING_PIXELS = 120, TESTED_MIN = 150, VIEWS_MAX = 24 };
#define ERROR_CAP 0.05     // of depth
#define CLEARLY_BETTER 0.6 // of the mean error without an offset
#define MARGIN 0.003       // and the smallest decrease, relative to depth
#define MOVES 0.03         // smallest change over all kept frames, relative to depth

typedef struct Clocks {
    const Evidence *evidence;
    const CheckReport *report;
    int slot;
    int *pixels;                           // (views, MOVING_PIXELS)
    int counts[VIEWS_MAX];                 // of them
    int offset[VIEWS_MAX];                 // offset found so far, in kept frames
    int judged[VIEWS_MAX], off[VIEWS_MAX]; // episodes
    ClockCheck found[VIEWS_MAX];           // the last
} Clocks;

// Largest change of a pixel's depth over all kept frames, relative to its depth; 0 with fewer than two known depths.
static float range_of(const Evidence *evidence, const KeptEpisode *kept, int view, size_t at) {
    float low = INFINITY, high = 0;
    for (int order = 0; order < kept->frames; order++) {
        float depth = evidence->images[kept->image + order * kept->views + view].depth[at];
        if (!(depth > 0)) continue;
        low = fminf(low, depth);
        high = fmaxf(high, depth);
    }
    return high > 0 ? (high - low) / low : 0;
}

// Pixels whose depth changes by far more than the quieter half of the picture does.
static bool find_moving(Clocks *clocks, int view) {
    const KeptEpisode *kept = &clocks->evidence->episodes[clocks->slot];
    const KeptImage *image = &clocks->evidence->images[kept->image + view];
    size_t pixels = (size_t)image->H * (size_t)image->W, known = 0;
    float *ranges = malloc(2 * pixels * sizeof *ranges), *sorted = ranges + pixels;
    if (!ranges) return false;
    for (size_t i = 0; i < pixels; i++) {
        ranges[i] = range_of(clocks->evidence, kept, view, i);
        if (ranges[i] > 0) sorted[known++] = ranges[i];
    }
    sort_floats(sorted, known);
    double least = fmax(MOVES, known ? 2 * sorted_quantile(sorted, known, 0.25) : 0);
    int count = 0;
    for (size_t n = 0; n < 4 * pixels && count < MOVING_PIXELS; n++) {
        int x, y;
        sample_pixel(n, image->H, image->W, &x, &y);
        int at = y * image->W + x;
        if (kept->moving || ranges[at] > least) clocks->pixels[view * MOVING_PIXELS + count++] = at;
    }
    clocks->counts[view] = count;
    free(ranges);
    return true;
}

typedef struct Mean {
    double sum;
    int count;
} Mean;

static void add_way(const Clocks *clocks, int a, int b, Mean *mean) {
    const KeptImage *image = &clocks->evidence->images[a];
    Shot from = check_guessed_shot(clocks->evidence, clocks->report, a),
         to = check_guessed_shot(clocks->evidence, clocks->report, b);
    for (int i = 0; from.H && to.H && i < clocks->counts[image->view]; i++) {
        int at = clocks->pixels[image->view * MOVING_PIXELS + i];
        Landing landing;
        if (!shot_land(&from, &to, at % image->W, at / image->W, &landing)) continue;
        mean->sum += fmin(fabs(landing.z - landing.there) / landing.z, ERROR_CAP);
        mean->count++;
    }
}

// Compares one frame of a view with another moment of all other views.
static void add_moment(const Clocks *clocks, int view, int own, int others, Mean *mean) {
    const KeptEpisode *kept = &clocks->evidence->episodes[clocks->slot];
    int a = evidence_find(clocks->evidence, clocks->slot, own, view);
    for (int other = 0; other < kept->views; other++) {
        if (other == view) continue;
        int b = evidence_find(clocks->evidence, clocks->slot, others + clocks->offset[other], other);
        if (a < 0 || b < 0) continue;
        add_way(clocks, a, b, mean);
        add_way(clocks, b, a, mean);
    }
}

// Mean error of a view against all others when its clock is corrected by some kept frames, and without the correction
// at the same moments: in some of them the objects may be at rest.
static void error_at(const Clocks *clocks, int view, int offset, Mean *then, Mean *stands) {
    const KeptEpisode *kept = &clocks->evidence->episodes[clocks->slot];
    *then = *stands = (Mean){0};
    for (int i = 0; i < MOMENTS; i++) {
        int room = kept->frames - abs(offset), order = (2 * i + 1) * room / (2 * MOMENTS) + (offset < 0 ? -offset : 0);
        if (i && order == (2 * i - 1) * room / (2 * MOMENTS) + (offset < 0 ? -offset : 0)) continue;
        add_moment(clocks, view, order + offset, order, then);
        if (offset == 0) continue;
        add_moment(clocks, view, order, order, stands);
        add_moment(clocks, view, order + offset, order + offset, stands);
    }
    if (then->count) then->sum /= then->count;
    if (stands->count) stands->sum /= stands->count;
}

typedef struct Offset {
    int frames;                 // kept ones; 0 when the clock is right
    bool judged;                // enough moves
    double before, after, left; // mean errors, and after over before
} Offset;

// The offset of a view that explains its pixels best.
static Offset best_offset(const Clocks *clocks, int view) {
    const KeptEpisode *kept = &clocks->evidence->episodes[clocks->slot];
    int most = 2 * (kept->frames - 1) / 3 < OFFSET_MAX ? 2 * (kept->frames - 1) / 3 : OFFSET_MAX;
    Offset best = {.left = CLEARLY_BETTER};
    Mean then, stands;
    error_at(clocks, view, 0, &then, &stands);
    best.judged = then.count >= TESTED_MIN;
    if (!best.judged || then.sum < MARGIN) return best;
    for (int k = -most; k <= most; k++) {
        if (k == 0) continue;
        error_at(clocks, view, k, &then, &stands);
        if (then.count < TESTED_MIN || stands.sum - then.sum < MARGIN || then.sum >= best.left * stands.sum) continue;
        best = (Offset){k, true, stands.sum, then.sum, then.sum / stands.sum};
    }
    return best;
}

// The view whose offset explains most comes first; the others are then compared with the corrected view.
static void fit_episode(Clocks *clocks) {
    const KeptEpisode *kept = &clocks->evidence->episodes[clocks->slot];
    for (int round = 0; round < kept->views / 2; round++) {
        Offset best = {.left = CLEARLY_BETTER};
        int view = -1;
        // With two cameras either clock may be wrong: the second is reported.
        for (int v = kept->views == 2; v < kept->views; v++) {
            if (clocks->offset[v]) continue;
            Offset here = best_offset(clocks, v);
            if (round == 0) clocks->judged[v] += here.judged;
            if (here.left < best.left) best = here, view = v;
        }
        if (view < 0) return;
        clocks->offset[view] = best.frames;
        clocks->off[view]++;
        clocks->found[view] =
            (ClockCheck){view, best.frames * kept->stride, best.frames * kept->seconds, best.before, best.after};
    }
}

// A clock is reported when it is wrong in most of the episodes with motion.
static void judge(const Clocks *clocks, CheckReport *report) {
    for (int v = 0; v < VIEWS_MAX; v++) {
        const ClockCheck *clock = &clocks->found[v];
        if (2 * clocks->off[v] <= clocks->judged[v] || !clocks->off[v]) continue;
        report->clocks[report->clock_count++] = *clock;
        check_add_finding(
            report, true,
            "view %d is %d frames (%.3g s) %s the other views: moving surfaces agree within %.1f %% of depth when its "
            "pictures are shifted by that, and within %.1f %% otherwise; synchronise the clocks of the cameras",
            v, abs(clock->frames), fabs(clock->seconds), clock->frames > 0 ? "behind" : "ahead of", 100 * clock->after,
            100 * clock->before);
    }
}

Status check_clocks(const Evidence *evidence, CheckReport *report, Error *err) {
    Clocks clocks = {.evidence = evidence, .report = report};
    clocks.pixels = calloc((size_t)VIEWS_MAX * MOVING_PIXELS, sizeof *clocks.pixels);
    if (!clocks.pixels) return error_set(err, STATUS_FAILED, "no memory to compare clocks");
    bool memory = true;
    for (int slot = 0; memory && slot < evidence->episode_count; slot++) {
        const KeptEpisode *kept = &evidence->episodes[slot];
        if (kept->views < 2 || kept->views > VIEWS_MAX || kept->frames < 3) continue;
        clocks.slot = slot;
        memset(clocks.offset, 0, sizeof clocks.offset);
        for (int v = 0; memory && v < kept->views; v++) memory = find_moving(&clocks, v);
        if (memory) fit_episode(&clocks);
    }
    judge(&clocks, report);
    free(clocks.pixels);
    return memory ? STATUS_OK : error_set(err, STATUS_FAILED, "no memory to compare clocks");
}
