// SPDX-License-Identifier: Apache-2.0
// Colour against depth. Points on which two views agree in depth should agree in colour, up to a gain and an offset of
// each pair of images. Hypotheses move the colour pictures against depth, or exchange them, on the same points.
#include "datasets/check_match.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MATCHES_MIN = 300, // fewer decide nothing
    MATCHES_SHUFFLED = 500,
    SEARCH_MATCHES = 800, // used by a search
    FRAMES_OFF_MAX = 4,
    VIEW_MATCHES_MIN = 100 // of one view
};
#define CLEARLY_BETTER 0.5 // largest ratio of 1 - correlation, after to before,
#define MARGIN 0.04        // and how much the correlation must rise
#define MARGIN_UNTOLD 0.2  // the same where there is little texture
#define BELONGS 0.97       // no hypothesis is tried above this correlation
#define GOOD 0.5           // smallest correlation of a reported hypothesis
#define NONE_AT_ALL 0.4    // largest correlation of pictures that show something else
#define TEXTURE_LEVELS 4   // grey levels against the surroundings
#define SPREAD_LEVELS 6    // smallest standard deviation of the points themselves, about the mean of their picture
#define TEXTURE_SHARE 0.2  // smallest fraction of points with that difference
#define COHERENT 0.6       // smallest correlation of neighbouring pixels in texture; noise has less
#define SHIFT_SHARE 0.1    // of the width: the largest shift that is searched

typedef struct Colours {
    const Evidence *evidence;
    StoredMap *base; // (images) from the grid of the camera to the colour picture, as geometry has it
    Matches matches;
    int step; // every step-th is used
    ColourGuess guess;
    double number[2];
} Colours;

// ---- lookups under a hypothesis

static void map_point(const StoredMap *map, double *x, double *y) {
    if (!map->moves) return;
    double u = *x, v = *y;
    *x = map->m[0] * u + map->m[1] * v + map->m[2];
    *y = map->m[3] * u + map->m[4] * v + map->m[5];
}

// The image whose colours replace those of `image` under the hypothesis; -1 when there is none.
static int source_image(const Colours *colours, int image) {
    const KeptImage *kept = &colours->evidence->images[image];
    int views = colours->evidence->episodes[kept->slot].views, number = (int)colours->number[0];
    int first = number / views, second = number % views, view = kept->view, order = kept->order;
    if (colours->guess == COLOUR_OTHER_FRAME) order += number;
    else if (colours->guess == COLOUR_NEXT_VIEW) view = (view + number) % views;
    else if (colours->guess == COLOUR_EXCHANGED) view = view == first ? second : view == second ? first : view;
    else return image;
    return evidence_find(colours->evidence, kept->slot, order, view);
}

static void move_colour(const Colours *colours, const KeptImage *image, double *x, double *y) {
    double W = image->W, H = image->H, u = *x, v = *y;
    switch (colours->guess) {
    case COLOUR_MIRRORED: *x = W - u; break;
    case COLOUR_UPSIDE_DOWN: *y = H - v; break;
    case COLOUR_HALF_TURN: *x = W - u, *y = H - v; break;
    case COLOUR_TURNED_LEFT: *x = v * W / H, *y = H - u * H / W; break;
    case COLOUR_TURNED_RIGHT: *x = W - v * W / H, *y = u * H / W; break;
    case COLOUR_TRANSPOSED: *x = v * W / H, *y = u * H / W; break;
    case COLOUR_SHIFTED: *x = u + colours->number[0] * W, *y = v + colours->number[1] * W; break;
    case COLOUR_ZOOMED:
        *x = 0.5 * W + (u - 0.5 * W) * colours->number[0];
        *y = 0.5 * H + (v - 0.5 * H) * colours->number[0];
        break;
    default: break;
    }
}

// Interpolated between pixel centres; false outside.
static bool grey_at(const KeptImage *image, double x, double y, double *out) {
    double u = x - 0.5, v = y - 0.5;
    if (!(u > -0.5 && v > -0.5 && u < image->W - 0.5 && v < image->H - 0.5)) return false;
    u = u < 0 ? 0 : u > image->W - 1 ? image->W - 1 : u, v = v < 0 ? 0 : v > image->H - 1 ? image->H - 1 : v;
    int x0 = (int)u, y0 = (int)v, x1 = x0 + 1 < image->W ? x0 + 1 : x0, y1 = y0 + 1 < image->H ? y0 + 1 : y0;
    double tx = u - x0, ty = v - y0;
    const float *top = image->grey + (size_t)y0 * (size_t)image->W,
                *bottom = image->grey + (size_t)y1 * (size_t)image->W;
    *out = (1 - ty) * ((1 - tx) * top[x0] + tx * top[x1]) + ty * ((1 - tx) * bottom[x0] + tx * bottom[x1]);
    return true;
}

// Difference from the mean of four pixels a sixteenth of the width away, which removes vignetting and shading.
static bool detail(const KeptImage *image, double x, double y, double *out) {
    double r = fmax(2, image->W / 16.0), sum = 0, value;
    int count = 0;
    for (int i = 0; i < 4; i++) {
        if (!grey_at(image, x + r * (i == 0) - r * (i == 1), y + r * (i == 2) - r * (i == 3), &value)) continue;
        sum += value;
        count++;
    }
    if (!grey_at(image, x, y, &value) || count < 2) return false;
    *out = value - sum / count;
    return true;
}

// The picture in which a match's colour lies, and the position there; NULL when there is none.
static const KeptImage *place_colour(const Colours *colours, const Match *match, int end, double *x, double *y) {
    StoredMap alone;
    int image = match->image[end], source = source_image(colours, image);
    if (source < 0 || !colours->evidence->images[source].grey) return NULL;
    *x = match->xy[end][0], *y = match->xy[end][1];
    if (colours->guess != COLOUR_DEPTH_ALONE) map_point(&colours->base[image], x, y);
    else {
        alone = colours->base[colours->evidence->image_count + image];
        map_point(&alone, x, y);
    }
    move_colour(colours, &colours->evidence->images[source], x, y);
    return &colours->evidence->images[source];
}

static bool colour_of(const Colours *colours, const Match *match, int end, double *out) {
    double x, y;
    const KeptImage *source = place_colour(colours, match, end, &x, &y);
    return source && grey_at(source, x, y, out);
}

// ---- correlation

typedef struct Sums {
    double n, a, b, aa, bb, ab;
} Sums;

static void add_sums(Sums *sums, double a, double b) {
    sums->n++;
    sums->a += a, sums->b += b;
    sums->aa += a * a, sums->bb += b * b, sums->ab += a * b;
}

// Adds the products about the means, so that each pair of images has an offset of its own.
static void pool(const Sums *sums, Sums *all) {
    if (sums->n < 2) return;
    all->n += sums->n;
    all->aa += sums->aa - sums->a * sums->a / sums->n;
    all->bb += sums->bb - sums->b * sums->b / sums->n;
    all->ab += sums->ab - sums->a * sums->b / sums->n;
}

static double correlation_of(const Sums *all) {
    return all->aa > 0 && all->bb > 0 ? all->ab / sqrt(all->aa * all->bb) : 0;
}

// Correlation over all matches, or over those with one view; 0 when too few have colour.
static double correlate_view(const Colours *colours, int view, int *points) {
    Sums sums = {0}, all = {0};
    int pair = -1;
    for (int i = 0; i < colours->matches.count; i += colours->step) {
        const Match *match = &colours->matches.of[i];
        double a, b;
        if (match->pair != pair) {
            pool(&sums, &all);
            sums = (Sums){0}, pair = match->pair;
        }
        const KeptImage *images = colours->evidence->images;
        if (view >= 0 && images[match->image[0]].view != view && images[match->image[1]].view != view) continue;
        if (colour_of(colours, match, 0, &a) && colour_of(colours, match, 1, &b)) add_sums(&sums, a, b);
    }
    pool(&sums, &all);
    if (points) *points = (int)all.n;
    return all.n * colours->step < (view < 0 ? MATCHES_MIN : VIEW_MATCHES_MIN) ? 0 : correlation_of(&all);
}

static double correlate(Colours *colours, ColourGuess guess) {
    colours->guess = guess;
    return correlate_view(colours, -1, NULL);
}

// Correlation of the details of both views under the present hypothesis.
static double correlate_detail(const Colours *colours) {
    Sums sums = {0};
    for (int i = 0; i < colours->matches.count; i++) {
        const Match *match = &colours->matches.of[i];
        double x, y, here, there;
        const KeptImage *source = place_colour(colours, match, 0, &x, &y);
        if (!source || !detail(source, x, y, &here)) continue;
        source = place_colour(colours, match, 1, &x, &y);
        if (source && detail(source, x, y, &there)) add_sums(&sums, here, there);
    }
    return correlation_of(&sums);
}

// ---- search

static double zoomed(void *context, double number) {
    Colours *colours = context;
    colours->number[0] = number;
    return correlate(colours, COLOUR_ZOOMED);
}

// A grid, then smaller and smaller steps around the best.
static void search_shift(Colours *colours, double W) {
    double best[2] = {0, 0}, best_value = -2, step = fmax(SHIFT_SHARE / 8, 1 / W);
    for (int i = -8; i <= 8; i++) {
        for (int j = -8; j <= 8; j++) {
            colours->number[0] = i * step, colours->number[1] = j * step;
            double value = correlate(colours, COLOUR_SHIFTED);
            if (value > best_value) best_value = value, best[0] = i * step, best[1] = j * step;
        }
    }
    for (step /= 2; step * W > 0.2; step /= 2) {
        double centre[2] = {best[0], best[1]};
        for (int i = 0; i < 9; i++) {
            int column = i % 3 - 1, row = i / 3 - 1;
            colours->number[0] = centre[0] + column * step, colours->number[1] = centre[1] + row * step;
            double value = correlate(colours, COLOUR_SHIFTED);
            if (value > best_value) best_value = value, best[0] = colours->number[0], best[1] = colours->number[1];
        }
    }
    colours->number[0] = best[0], colours->number[1] = best[1];
}

static void search_whole(Colours *colours, ColourGuess guess, int low, int high) {
    double best = NAN, best_value = -2;
    for (int i = low; i <= high; i++) {
        if (i == 0) continue;
        colours->number[0] = i;
        double value = correlate(colours, guess);
        if (value > best_value) best_value = value, best = i;
    }
    colours->number[0] = best;
}

// The view that agrees least with the others, exchanged with each of them.
static void search_exchanged(Colours *colours, int views) {
    double best = NAN, best_value = -2, least = 2;
    int worst = 0;
    colours->guess = COLOUR_NONE;
    for (int v = 0; v < views; v++) {
        int points;
        double value = correlate_view(colours, v, &points);
        if (points * colours->step >= VIEW_MATCHES_MIN && value < least) least = value, worst = v;
    }
    for (int v = 0; v < views; v++) {
        if (v == worst) continue;
        colours->number[0] = v < worst ? v * views + worst : worst * views + v;
        double value = correlate(colours, COLOUR_EXCHANGED);
        if (value > best_value) best_value = value, best = colours->number[0];
    }
    colours->number[0] = best;
}

static bool same_views(const Evidence *evidence) {
    for (int i = 1; i < evidence->episode_count; i++)
        if (evidence->episodes[i].views != evidence->episodes[0].views) return false;
    return true;
}

// Fits the numbers of a hypothesis to the colours; false when it cannot be tried here.
static bool fit(Colours *colours, ColourGuess guess, bool alone) {
    const Evidence *evidence = colours->evidence;
    const KeptEpisode *episode = &evidence->episodes[0];
    int views = same_views(evidence) ? episode->views : 0;
    colours->number[0] = colours->number[1] = 0;
    if (guess == COLOUR_DEPTH_ALONE) return alone;
    if (guess == COLOUR_ZOOMED) colours->number[0] = check_search(zoomed, colours, 0.5, 2, 33, true);
    else if (guess == COLOUR_SHIFTED) search_shift(colours, evidence->images[0].W);
    else if (guess == COLOUR_OTHER_FRAME)
        search_whole(colours, guess, -FRAMES_OFF_MAX, episode->frames > 1 ? FRAMES_OFF_MAX : -FRAMES_OFF_MAX - 1);
    else if (guess == COLOUR_NEXT_VIEW) search_whole(colours, guess, 1, views > 2 ? views - 1 : 0);
    else if (guess == COLOUR_EXCHANGED) search_exchanged(colours, views);
    return isfinite(colours->number[0]);
}

// Where the guess about geometry puts the colour pictures: moved like depth, and (second half) not moved.
static bool set_maps(Colours *colours, const CheckReport *report) {
    const Evidence *evidence = colours->evidence;
    bool alone = false;
    for (int i = 0; i < evidence->image_count; i++) {
        if (!evidence->images[i].depth) continue;
        colours->base[i] = check_guessed_shot(evidence, report, i).in_depth;
        alone = check_depth_alone(evidence, report, i, &colours->base[evidence->image_count + i]);
    }
    return alone;
}

// ---- is there anything to see?

// Texture is detail that neighbouring pixels share; `detail_correlation` is that of the two views' details as they are.
static void measure_texture(const Colours *colours, ColourCheck *check) {
    Sums beside = {0}, levels = {0}, all_beside = {0}, all_levels = {0};
    int strong = 0;
    for (int i = 0; i < colours->matches.count; i++) {
        const Match *match = &colours->matches.of[i];
        const KeptImage *a = &colours->evidence->images[match->image[0]],
                        *b = &colours->evidence->images[match->image[1]];
        double here, next, level[2];
        if (grey_at(a, match->xy[0][0], match->xy[0][1], level) &&
            grey_at(b, match->xy[1][0], match->xy[1][1], level + 1))
            add_sums(&levels, level[0], level[1]);
        if (!detail(a, match->xy[0][0], match->xy[0][1], &here) ||
            !detail(a, match->xy[0][0] + 1, match->xy[0][1], &next))
            continue;
        strong += fabs(here) >= TEXTURE_LEVELS;
        add_sums(&beside, here, next);
    }
    pool(&beside, &all_beside);
    pool(&levels, &all_levels);
    const bool varied = fmin(all_levels.aa, all_levels.bb) >= SPREAD_LEVELS * SPREAD_LEVELS * all_levels.n;
    check->texture = all_beside.n > 0 ? strong / all_beside.n : 0;
    check->coherence = correlation_of(&all_beside);
    check->detail_correlation = correlate_detail(colours);
    check->told = colours->matches.count >= MATCHES_SHUFFLED && check->texture >= TEXTURE_SHARE &&
                  check->coherence >= COHERENT && varied;
}

// ---- choice

static bool explains(double correlation, double stands) {
    return correlation >= GOOD && correlation - stands > MARGIN && 1 - correlation < CLEARLY_BETTER * (1 - stands);
}

static void try_guess(Colours *colours, ColourGuess guess, ColourCheck *check, double *best) {
    // A shift or zoom below two kept pixels is within the usual error of a calibration.
    double W = colours->evidence->images[0].W, *number = check->numbers[guess];
    memcpy(number, colours->number, sizeof colours->number);
    double correlation = correlate(colours, guess);
    if (guess == COLOUR_SHIFTED && hypot(number[0], number[1]) * W < 2) return;
    if (guess == COLOUR_ZOOMED && fabs(log(number[0])) * W < 4) return;
    check->correlations[guess] = correlation;
    // A guess with a fitted number must beat the others by a larger margin.
    double margin = guess >= COLOUR_SHIFTED ? 0.02 : 0;
    if (!check->told || !explains(correlation, check->correlations[COLOUR_NONE]) || correlation - margin <= *best)
        return;
    // Where a wrong guess puts the sky beside the ground, colours agree better by that alone, and details do not.
    if (correlate_detail(colours) < check->detail_correlation + MARGIN) return;
    *best = correlation - margin;
    check->guess = guess;
}

// Tries colours of other frames where something moves, unless the colours are wrong in another way.
static void try_frames(Colours *colours, CheckReport *report) {
    ColourCheck *check = &report->colour;
    matches_collect_moving(colours->evidence, report, &colours->matches);
    if (check->guess || colours->matches.count < MATCHES_MIN) return;
    double stands = correlate(colours, COLOUR_NONE);
    if (!fit(colours, COLOUR_OTHER_FRAME, false)) return;
    memcpy(check->numbers[COLOUR_OTHER_FRAME], colours->number, sizeof colours->number);
    double then = check->correlations[COLOUR_OTHER_FRAME] = correlate(colours, COLOUR_OTHER_FRAME);
    if (!check->told || !explains(then, stands)) return;
    check->guess = COLOUR_OTHER_FRAME;
    check->moving = stands;
}

// A view whose colour hardly agrees with the others, while theirs does.
static void judge_views(Colours *colours, const ColourCheck *check, CheckReport *report) {
    int views = same_views(colours->evidence) ? colours->evidence->episodes[0].views : 0;
    double stands = check->correlations[COLOUR_NONE];
    colours->guess = COLOUR_NONE;
    for (int v = 0; views > 2 && check->told && v < views; v++) {
        int points;
        double here = correlate_view(colours, v, &points), next = -1;
        if (points < VIEW_MATCHES_MIN || here > NONE_AT_ALL) continue;
        for (int o = 0, seen; o < views; o++)
            if (o != v) next = fmax(next, correlate_view(colours, o, &seen));
        if (fmax(stands, next) < GOOD || next < here + GOOD / 2) continue;
        check_add_finding(report, true,
                          "the colour pictures of view %d do not show what its depth and the other views show "
                          "(correlation %.2f): are they of another camera, moment or folder, or "
                          "is its pose wrong?",
                          v, here);
    }
}

static void add_guess(const Evidence *evidence, CheckReport *report) {
    const ColourCheck *check = &report->colour;
    const KeptEpisode *episode = &evidence->episodes[0];
    double number[2] = {check->numbers[check->guess][0], check->numbers[check->guess][1]};
    double W = evidence->images[0].W * evidence->images[0].step;
    double stands = check->guess == COLOUR_OTHER_FRAME ? check->moving : check->correlations[COLOUR_NONE];
    char advice[256];
    if (check->guess == COLOUR_SHIFTED) number[0] *= W, number[1] *= W;
    if (check->guess == COLOUR_OTHER_FRAME) number[0] *= episode->stride;
    colour_guess_advice(check->guess, number, episode->views, advice, sizeof advice);
    check_add_finding(
        report, true,
        "the colours of the views agree far better under the hypothesis \"%s\" (correlation %.2f instead of %.2f): %s",
        colour_guess_name(check->guess), check->correlations[check->guess], stands, advice);
}

static void judge(Colours *colours, CheckReport *report) {
    const ColourCheck *check = &report->colour;
    double stands = check->correlations[COLOUR_NONE];
    if (check->guess && check->guess != COLOUR_DEPTH_ALONE) add_guess(colours->evidence, report);
    if (check->guess) return;
    if (check->told && stands < NONE_AT_ALL && check->detail_correlation < NONE_AT_ALL)
        check_add_finding(report, true,
                          "points that agree in depth do not agree in colour (correlation %.2f), though the pictures "
                          "have texture: are the colour pictures shuffled, of other moments or of other cameras?",
                          stands);
    else judge_views(colours, check, report);
    if (!check->told && stands < GOOD)
        check_add_finding(report, false,
                          "not enough texture to tell whether colour and depth belong together (%zu points)",
                          check->points);
}

static void try_all(Colours *colours, CheckReport *report) {
    ColourCheck *check = &report->colour;
    bool alone = set_maps(colours, report);
    matches_collect(colours->evidence, report, &colours->matches);
    check->points = (size_t)colours->matches.count;
    if (colours->matches.count < MATCHES_MIN) return;
    colours->step = 1;
    double best = check->correlations[COLOUR_NONE] = correlate(colours, COLOUR_NONE);
    measure_texture(colours, check);
    for (int g = COLOUR_NONE + 1; g < COLOUR_OTHER_FRAME && best < BELONGS; g++) {
        colours->step = colours->matches.count / SEARCH_MATCHES + 1;
        bool fits = fit(colours, (ColourGuess)g, alone);
        colours->step = 1;
        if (fits) try_guess(colours, (ColourGuess)g, check, &best);
    }
    try_frames(colours, report);
    if (check->guess != COLOUR_OTHER_FRAME) matches_collect(colours->evidence, report, &colours->matches);
    judge(colours, report);
}

static Status colours_open(Colours *colours, const Evidence *evidence, Error *err) {
    *colours = (Colours){.evidence = evidence, .step = 1};
    colours->base = calloc(2 * (size_t)evidence->image_count + 1, sizeof *colours->base);
    colours->matches.of = calloc(MATCHES_MAX, sizeof *colours->matches.of);
    bool good = colours->base && colours->matches.of;
    return good ? STATUS_OK : error_set(err, STATUS_FAILED, "no memory to compare colours");
}

static void colours_free(Colours *colours) {
    free(colours->base);
    free(colours->matches.of);
}

// Correlation under the report's guess about cameras and depth, of the colour pictures moved like depth or not.
static double best_under(Colours *colours, const CheckReport *report) {
    bool alone = set_maps(colours, report);
    matches_collect(colours->evidence, report, &colours->matches);
    double moved = correlate(colours, COLOUR_NONE);
    return alone ? fmax(moved, correlate(colours, COLOUR_DEPTH_ALONE)) : moved;
}

Status check_colour_refutes(const Evidence *evidence, CheckReport *report, bool *refuted, Error *err) {
    Colours colours;
    ColourCheck check = {0};
    Guess guess = report->guess;
    Status status = colours_open(&colours, evidence, err);
    *refuted = false;
    if (status == STATUS_OK) {
        double under = best_under(&colours, report);
        report->guess = GUESS_NONE;
        double stands = best_under(&colours, report);
        measure_texture(&colours, &check);
        *refuted = stands > NONE_AT_ALL && stands > under + (check.told ? MARGIN : MARGIN_UNTOLD);
        report->guess = guess;
    }
    colours_free(&colours);
    return status;
}

Status check_colour(const Evidence *evidence, CheckReport *report, Error *err) {
    Colours colours;
    for (int g = 0; g < COLOUR_COUNT; g++) report->colour.correlations[g] = NAN;
    Status status = colours_open(&colours, evidence, err);
    if (status == STATUS_OK) try_all(&colours, report);
    colours_free(&colours);
    return status;
}
