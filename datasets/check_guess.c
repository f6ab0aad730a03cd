// SPDX-License-Identifier: Apache-2.0
// Hypotheses about cameras and depth. Each transforms the images of the evidence, many with a fitted number, and is
// tested on the same sampled points. It is reported when the views then agree clearly better than without it.
#include "base/camera.h"
#include "datasets/check_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TESTED_MIN = 100,
    TESTED_FEW = 500,
    EFFORT_MORE = 3,
    EFFORT_MAX = 8,
    DEPTH_STEP = 37,
    LATE_MAX = 8,
    GOLDEN_STEPS = 12,
    SEARCH_POINTS = 600,
    FINAL_POINTS = 2500,
    PAIR_POINTS = 24
};
#define COST_CAP 0.05        // relative to depth; larger errors count as this
#define COST_FLOOR 1e-4      // relative to depth; smaller costs are not distinguished
#define CLEARLY_BETTER 0.6   // largest ratio of costs with and without the hypothesis,
#define BETTER 0.85          // or this one with noise, if
#define BETTER_MARGIN 0.0015 // the cost falls by this much, relative to depth,
#define BETTER_AGREES 0.03  // and the fraction of points that agree grows by this (correct recordings: cost below 0.02)
#define AGREES_MORE 0.02    // points that are no longer seen through explain little unless this many more agree
#define PRICE_OF_NUMBER 1.3 // a fitted number must explain more than a fixed hypothesis
#define NEXT_TO_NOTHING 0.005 // smallest relative change by a factor or a distortion that is reported
#define SCALE_PEAK 0.8        // largest ratio of the costs at the best scale and at ten times it
#define THROUGH_EDGES 0.05    // share of points seen through at edges of correct data,
#define THROUGH_EXACT 0.002   // and where depth is exact
#define ALONE_SUPPORT 0.02    // smallest fraction of points tested, if none are without the hypothesis
#define ALONE_FITS 0.6
#define THROUGH_LEFT 0.2 // largest ratio of the points seen through with and without the hypothesis

// ---- what each does to one image

typedef struct Trial {
    const Evidence *evidence;
    Guess guess;
    double number, far_over_near; // the second: of the planes of a depth buffer
    size_t effort;                // factor on the number of points: pictures with little depth or overlap need more
} Trial;

static void swap(double *a, double *b) {
    double kept = *a;
    *a = *b;
    *b = kept;
}

static void transpose_rotation(double pose[16]) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < i; j++) swap(&pose[4 * i + j], &pose[4 * j + i]);
}

// The rotation with the four numbers of its quaternion rotated by `places`.
static void rotate_quaternion(double pose[16], int places) {
    double R[9], q[4], moved[4], t[3] = {pose[3], pose[7], pose[11]};
    for (int i = 0; i < 9; i++) R[i] = pose[4 * (i / 3) + i % 3];
    quaternion_from_rotation(R, q);
    for (int i = 0; i < 4; i++) moved[i] = q[(i + places) % 4];
    rotation_from_quaternion(moved, R);
    pose_from_rotation(R, t, pose);
}

// The pictures show the centre of the view of K, magnified by `number` along one axis (0: x, 1: y).
static void stretch(Shot *shot, int side, double number) {
    int focal = side ? 4 : 0, centre = side ? 5 : 2;
    double middle = 0.5 * (side ? shot->H : shot->W);
    shot->K[focal] *= number;
    shot->K[centre] = middle + (shot->K[centre] - middle) * number;
}

// Number of view `view` once names are sorted as texts: 0, 1, 10, 11, ..., 2, 20, ...
static int as_text_order(int view, int views) {
    char name[16], other[16];
    int place = 0;
    snprintf(name, sizeof name, "%d", view);
    for (int i = 0; i < views; i++) {
        snprintf(other, sizeof other, "%d", i);
        place += strcmp(other, name) < 0;
    }
    return place;
}

static int exchanged(int view, int views, double number) {
    int first = (int)number / views, second = (int)number % views;
    return view == first ? second : view == second ? first : view;
}

static void take_pose(const Trial *trial, const KeptImage *image, int view, Shot *shot) {
    int from = evidence_find(trial->evidence, image->slot, image->order, view);
    if (from >= 0) memcpy(shot->pose, trial->evidence->images[from].pose, sizeof shot->pose);
}

static void take_camera(const Trial *trial, const KeptImage *image, int view, Shot *shot) {
    int from = evidence_find(trial->evidence, image->slot, image->order, view);
    if (from >= 0) memcpy(shot->K, trial->evidence->images[from].K, sizeof shot->K);
    take_pose(trial, image, view, shot);
}

static void take_pictures(const Trial *trial, const KeptImage *image, int order, Shot *shot) {
    int from = evidence_find(trial->evidence, image->slot, order, image->view);
    if (from < 0) shot->H = shot->W = 0;
    else shot->depth = trial->evidence->images[from].depth;
}

static Shot shot_under(const Trial *trial, const KeptImage *image) {
    Shot shot = evidence_shot(image);
    double number = trial->number, H = shot.H, W = shot.W, half = 0.5 / image->step;
    int views = trial->evidence->episodes[image->slot].views;
    switch (trial->guess) {
    case GUESS_RAY_LENGTH: shot.ray_power = -1; break;
    case GUESS_NOT_RAY_LENGTH: shot.ray_power = 1; break;
    case GUESS_OPENGL: pose_flip_opengl(shot.pose, shot.pose); break;
    case GUESS_INVERSE: pose_inverse(shot.pose, shot.pose); break;
    case GUESS_INVERSE_OPENGL: pose_flip_opengl(shot.inverse, shot.pose); break;
    case GUESS_ROTATION_TRANSPOSED: transpose_rotation(shot.pose); break;
    case GUESS_HALF_PIXEL_LESS: shot.K[2] -= half, shot.K[5] -= half; break;
    case GUESS_HALF_PIXEL_MORE: shot.K[2] += half, shot.K[5] += half; break;
    case GUESS_ROWS_FROM_BELOW: shot.K[2] += half, shot.K[5] -= half; break;
    case GUESS_MIRRORED: shot.in_depth = (StoredMap){true, {-1, 0, W, 0, 1, 0}}; break;
    case GUESS_UPSIDE_DOWN: shot.in_depth = (StoredMap){true, {1, 0, 0, 0, -1, H}}; break;
    case GUESS_HALF_TURN: shot.in_depth = (StoredMap){true, {-1, 0, W, 0, -1, H}}; break;
    case GUESS_TURNED_LEFT: shot.in_depth = (StoredMap){true, {0, W / H, 0, -H / W, 0, H}}; break;
    case GUESS_TURNED_RIGHT: shot.in_depth = (StoredMap){true, {0, -W / H, W, H / W, 0, 0}}; break;
    case GUESS_TRANSPOSED: shot.in_depth = (StoredMap){true, {0, W / H, 0, H / W, 0, 0}}; break;
    case GUESS_SWAPPED_FOCAL: swap(&shot.K[0], &shot.K[4]); break;
    case GUESS_SWAPPED_CENTRE: swap(&shot.K[2], &shot.K[5]); break;
    case GUESS_FIELD_OF_HEIGHT: shot.K[0] *= H / W, shot.K[4] *= H / W; break;
    case GUESS_FIELD_OF_WIDTH: shot.K[0] *= W / H, shot.K[4] *= W / H; break;
    case GUESS_W_LAST: rotate_quaternion(shot.pose, 3); break;
    case GUESS_W_FIRST: rotate_quaternion(shot.pose, 1); break;
    case GUESS_TEXT_ORDER: take_camera(trial, image, as_text_order(image->view, views), &shot); break;
    case GUESS_NEXT_CAMERA: take_camera(trial, image, (image->view + (int)number) % views, &shot); break;
    case GUESS_EXCHANGED: take_camera(trial, image, exchanged(image->view, views, number), &shot); break;
    case GUESS_EXCHANGED_POSES: take_pose(trial, image, exchanged(image->view, views, number), &shot); break;
    case GUESS_LATE: take_pictures(trial, image, image->order + (int)number, &shot); break;
    case GUESS_SCALE: shot.depth_scale = number; break;
    case GUESS_DEPTH_BUFFER: shot.near = number, shot.far = number * trial->far_over_near; break;
    case GUESS_DISTORTED: shot.k1 = number; break;
    case GUESS_OTHER_SIZE:
        for (int i = 0; i < 6; i++) shot.K[i] *= number;
        break;
    case GUESS_FOCAL: shot.K[0] *= number, shot.K[4] *= number; break;
    case GUESS_STRETCHED_X: stretch(&shot, 0, number); break;
    case GUESS_STRETCHED_Y: stretch(&shot, 1, number); break;
    default: break;
    }
    pose_inverse(shot.pose, shot.inverse);
    return shot;
}

// ---- how well the points agree

typedef struct Score {
    size_t tested;
    double agree;   // share of the tested points within 1 % of depth
    double fit;     // the same of those that are not occluded
    double cost;    // mean error of the points that are not occluded, of depth, each at most COST_CAP
    bool exact;     // almost no error except at edges that are seen through
    double beside;  // mean error of the points that are not seen through either
    double through; // share of the points seen through, of those that are not occluded
    double support; // sum over points of 1 - error / COST_CAP, over points sampled
} Score;

typedef struct Tally {
    size_t sampled, tested, seen, through, agreeing;
    double cost, support, beside; // beside: error of the points that are not seen through
} Tally;

static void tally(Tally *tally, const Landing *landing) {
    double error = (landing->there - landing->z) / landing->z, capped = fabs(error) < COST_CAP ? fabs(error) : COST_CAP;
    tally->tested++;
    tally->agreeing += capped <= REPROJECT_AGREE;
    if (error < -REPROJECT_OCCLUSION) return;
    tally->seen++;
    tally->cost += capped;
    tally->through += error > REPROJECT_OCCLUSION;
    if (error <= REPROJECT_OCCLUSION) tally->beside += capped;
    tally->support += 1 - capped / COST_CAP;
}

static void tally_seen(void *context, const Shot *a, int x, int y, const Landing *landing) {
    (void)a, (void)x, (void)y;
    tally(context, landing);
}

static Score score_of(const Tally *sum) {
    double seen = (double)sum->seen, through = (double)sum->through;
    bool exact = sum->beside < COST_FLOOR * seen && through < THROUGH_EXACT * seen;
    return (Score){.tested = sum->tested,
                   .agree = sum->tested ? (double)sum->agreeing / (double)sum->tested : 0,
                   .fit = sum->seen ? (double)sum->agreeing / seen : 0,
                   .exact = exact,
                   .beside = seen > through ? sum->beside / (seen - through) : 0,
                   .through = sum->seen ? through / seen : 0,
                   .cost = sum->seen ? sum->cost / seen : COST_CAP,
                   .support = sum->sampled ? sum->support / (double)sum->sampled : 0};
}

// Some points of some pairs, for a search.
static Score score_quickly(const Trial *trial, size_t points_total) {
    const Evidence *evidence = trial->evidence;
    Tally sum = {0};
    size_t points = PAIR_POINTS, step = (size_t)evidence->pair_count * points / points_total + 1;
    if (points * (size_t)evidence->pair_count < points_total)
        points = points_total / ((size_t)evidence->pair_count + 1) + 1;
    for (size_t p = 0; p < (size_t)evidence->pair_count; p += step) {
        Shot a = shot_under(trial, &evidence->images[evidence->pairs[p].a]),
             b = shot_under(trial, &evidence->images[evidence->pairs[p].b]);
        for (size_t n = 0; a.H && b.H && n < points; n++) {
            int x, y;
            Landing landing;
            // Each pair uses another part of the sequence.
            sample_pixel(n + p * points, a.H, a.W, &x, &y);
            sum.sampled++;
            if (shot_land(&a, &b, x, y, &landing)) tally(&sum, &landing);
        }
    }
    return score_of(&sum);
}

// All points of all pairs; errors go to `list`.
static Status score_fully(const Trial *trial, ErrorList *list, Score *out, Error *err) {
    const Evidence *evidence = trial->evidence;
    Tally sum = {0};
    Status status = STATUS_OK;
    for (int p = 0; !status && p < evidence->pair_count; p++) {
        Shot a = shot_under(trial, &evidence->images[evidence->pairs[p].a]),
             b = shot_under(trial, &evidence->images[evidence->pairs[p].b]);
        if (!a.H || !b.H) continue;
        size_t pixels = (size_t)a.H * (size_t)a.W;
        size_t points = trial->effort * evidence->points;
        sum.sampled += points < pixels ? points : pixels;
        status = reproject_add(&a, &b, points, list, tally_seen, &sum, err);
    }
    *out = score_of(&sum);
    return status;
}

// ---- search for a number

double check_search(Objective *value, void *context, double low, double high, int count, bool logarithmic) {
    double from = logarithmic ? log(low) : low, step = ((logarithmic ? log(high) : high) - from) / (count - 1);
    double best = 0, best_value = -INFINITY;
#define AT(t) (logarithmic ? exp(t) : (t))
    for (int i = 0; i < count; i++) {
        double here = value(context, AT(from + i * step));
        if (here > best_value) best = from + i * step, best_value = here;
    }
    double a = best - step, b = best + step, golden = 0.61803398874989;
    double c = b - golden * (b - a), d = a + golden * (b - a), fc = value(context, AT(c)), fd = value(context, AT(d));
    for (int i = 0; i < GOLDEN_STEPS; i++) {
        if (fc > fd) b = d, d = c, fd = fc, c = b - golden * (b - a), fc = value(context, AT(c));
        else a = c, c = d, fc = fd, d = a + golden * (b - a), fd = value(context, AT(d));
    }
    double between = 0.5 * (a + b);
    return value(context, AT(between)) >= best_value ? AT(between) : AT(best);
#undef AT
}

static double support_of(void *context, double number) {
    Trial trial = *(const Trial *)context;
    trial.number = number;
    return score_quickly(&trial, trial.effort * SEARCH_POINTS).support;
}

static double less_cost(void *context, double number) {
    Trial trial = *(const Trial *)context;
    trial.number = number;
    return -score_quickly(&trial, trial.effort * FINAL_POINTS).cost;
}

// First by the support of a sample of points, at the end by the error of all points.
static double search_factor(Trial *trial, double low, double high, int count) {
    double rough = check_search(support_of, trial, low, high, count, true);
    // A factor near 1 explains nothing.
    if (fabs(log(rough)) < NEXT_TO_NOTHING) return NAN;
    return check_search(less_cost, trial, 0.98 * rough, 1.02 * rough, 5, true);
}

// The best of some whole numbers, NaN when there are none.
static double search_whole(Trial *trial, int low, int high) {
    double best = NAN, best_support = -1;
    for (int i = low; i <= high; i++) {
        double support = i ? support_of(trial, i) : -1;
        if (support > best_support) best = i, best_support = support;
    }
    return best;
}

static double search_exchanged(Trial *trial, int views) {
    double best = NAN, best_support = -1;
    for (int i = 0; i < views * views && views <= 8; i++) {
        double support = i / views < i % views ? support_of(trial, i) : -1;
        if (support > best_support) best = i, best_support = support;
    }
    return best;
}

// Likely scales are tried exactly, others are rounded to a percent.
static double search_scale(Trial *trial) {
    static const double likely[] = {1e-3, 1e3, 0.2, 5, 2e-4, 5e3, 1e-2, 1e2, 0.1, 10, 1e-4, 1e4};
    double best = search_factor(trial, 1e-4, 1e4, 340), best_support = isfinite(best) ? support_of(trial, best) : 0;
    if (!isfinite(best)) return best;
    for (size_t i = 0; i < sizeof likely / sizeof likely[0]; i++) {
        double support = support_of(trial, likely[i]);
        bool close = fabs(log(best / likely[i])) < 0.01;
        if (support > best_support || (close && support > 0.97 * best_support))
            best = likely[i], best_support = support;
    }
    return best;
}

typedef struct Planes {
    Trial *trial;
    Objective *value;   // of a near plane
    double near, share; // what the near plane is searched about, and how far
} Planes;

static double best_near(const Planes *planes) {
    double share = 1 + planes->share;
    return check_search(planes->value, planes->trial, planes->near / share, planes->near * share, 11, true);
}

// With the near plane that is best for this ratio of the planes.
static double value_of_ratio(void *context, double ratio) {
    const Planes *planes = context;
    planes->trial->far_over_near = ratio;
    return planes->value(planes->trial, best_near(planes));
}

// The near plane: first for some ratios of the planes, then for the best one about these, by support and by cost.
static double search_planes(Trial *trial) {
    double ratio = 0, best = -1;
    Planes planes = {trial, support_of, 0, 0.5};
    if (!(evidence_farthest(trial->evidence) <= 1)) return NAN; // of a buffer
    for (double tried = 4; tried < 1e6; tried *= 4) {
        trial->far_over_near = tried;
        double near = check_search(support_of, trial, 1e-3, 10, 200, true), support = support_of(trial, near);
        if (support > best) planes.near = near, ratio = tried, best = support;
    }
    ratio = trial->far_over_near = check_search(value_of_ratio, &planes, ratio / 4, 4 * ratio, 17, true);
    planes = (Planes){trial, less_cost, best_near(&planes), 0.03};
    trial->far_over_near = check_search(value_of_ratio, &planes, 0.9 * ratio, ratio / 0.9, 5, true);
    return best_near(&planes);
}

// Whether the views of the first episode have different intrinsics: otherwise exchanged poses are exchanged cameras.
static bool lenses_differ(const Evidence *evidence) {
    const KeptImage *first = &evidence->images[evidence->episodes[0].image];
    for (int v = 1; v < evidence->episodes[0].views; v++)
        if (memcmp(first[v].K, first->K, sizeof first->K) != 0) return true;
    return false;
}

// The number that explains the points best; 0 for hypotheses without one, NaN for those that cannot be tried here.
static double fit(Trial *trial) {
    const KeptEpisode *episode = &trial->evidence->episodes[0];
    int views = episode->views;
    for (int i = 1; i < trial->evidence->episode_count; i++)
        if (trial->evidence->episodes[i].views != views) views = 0; // cameras differ between episodes
    switch (trial->guess) {
    case GUESS_TEXT_ORDER: return views > 10 ? 0 : NAN;
    case GUESS_NEXT_CAMERA: return views > 2 ? search_whole(trial, 1, views < 12 ? views - 1 : 11) : NAN;
    case GUESS_EXCHANGED: return views > 1 ? search_exchanged(trial, views) : NAN;
    case GUESS_EXCHANGED_POSES:
        return views > 1 && lenses_differ(trial->evidence) ? search_exchanged(trial, views) : NAN;
    case GUESS_LATE: return episode->moving && episode->frames > 2 ? search_whole(trial, -LATE_MAX, LATE_MAX) : NAN;
    case GUESS_SCALE: return search_scale(trial);
    case GUESS_DISTORTED: {
        double rough = check_search(support_of, trial, -0.5, 0.5, 21, false);
        if (fabs(rough) < NEXT_TO_NOTHING) return NAN;
        return check_search(less_cost, trial, rough - 0.02, rough + 0.02, 5, false);
    }
    case GUESS_DEPTH_BUFFER: return search_planes(trial);
    case GUESS_OTHER_SIZE: return search_factor(trial, 0.2, 5, 41);
    case GUESS_FOCAL:
    case GUESS_STRETCHED_X:
    case GUESS_STRETCHED_Y: return search_factor(trial, 0.5, 2, 25);
    default: return 0;
    }
}

// ---- choice

static Status try_guess(const Trial *trial, CheckReport *report, Score *score, Error *err) {
    ErrorList list = {0};
    Status status = score_fully(trial, &list, score, err);
    report->guesses[trial->guess] = error_list_stats(&list, -1, -1);
    report->numbers[trial->guess] = trial->number;
    error_list_free(&list);
    return status;
}

// Views of a camera that hardly moved agree at any large scale; the right scale must beat ten times itself.
static bool is_peak(const Trial *trial, double cost) {
    Trial other = *trial;
    if (trial->guess != GUESS_SCALE) return true;
    other.number = 10 * trial->number;
    return cost < SCALE_PEAK * score_quickly(&other, other.effort * FINAL_POINTS).cost;
}

static bool explains(const Trial *trial, const Score *score, const Score *stands) {
    // Where no views overlap without a hypothesis, it must fit well by itself, and colour must confirm it
    // (check_verdict).
    if (stands->tested < TESTED_MIN)
        return score->tested >= TESTED_MIN && score->support > ALONE_SUPPORT && score->fit > ALONE_FITS &&
               score->cost < 0.3 * COST_CAP && is_peak(trial, score->cost);
    double gain = stands->cost - score->cost;
    bool clear = score->cost < CLEARLY_BETTER * stands->cost && gain > COST_FLOOR;
    bool noisy =
        score->cost < BETTER * stands->cost && gain > BETTER_MARGIN && score->agree > stands->agree + BETTER_AGREES;
    // On a bare floor that agrees either way, a handful of points at edges is seen through or not: chance, unless the
    // rest agrees better too.
    if (score->agree < stands->agree + AGREES_MORE && score->beside > CLEARLY_BETTER * stands->beside) return false;
    // What leaves many points seen through is not the cause: one wrong view among right ones stays wrong.
    if (score->through > fmax(THROUGH_EDGES, THROUGH_LEFT * stands->through)) return false;
    return score->tested >= TESTED_MIN && score->support > stands->support && score->agree >= stands->agree - 0.02 &&
           (clear || noisy) && (score->cost < 0.4 * COST_CAP || score->agree > 0.6) && is_peak(trial, score->cost);
}

// One over the share of pixels with depth.
static size_t effort_for(const Evidence *evidence) {
    size_t known = 0, count = 1;
    for (int i = 0; i < evidence->image_count; i++) {
        const KeptImage *image = &evidence->images[i];
        for (int at = 0; image->depth && at < image->H * image->W; at += DEPTH_STEP, count++)
            known += image->depth[at] > 0;
    }
    size_t effort = count / (known + 1);
    return effort < 1 ? 1 : effort > EFFORT_MAX ? EFFORT_MAX : effort;
}

Status check_guess(const Evidence *evidence, CheckReport *report, Error *err) {
    Trial trial = {.evidence = evidence, .guess = GUESS_NONE, .effort = effort_for(evidence)};
    report->guess = GUESS_NONE;
    for (int g = 0; g < GUESS_COUNT; g++) report->guesses[g] = error_list_stats(&(ErrorList){0}, -1, -1);
    Score stands, score;
    Status status = try_guess(&trial, report, &stands, err);
    double best = INFINITY;
    if (!status && stands.tested < TESTED_FEW) {
        trial.effort *= EFFORT_MORE;
        status = try_guess(&trial, report, &stands, err);
    }
    if (evidence->pair_count == 0 || (stands.tested >= TESTED_MIN && stands.exact)) return status;
    for (int g = GUESS_NONE + 1; !status && g < GUESS_COUNT; g++) {
        trial.guess = (Guess)g;
        trial.number = fit(&trial);
        if (!isfinite(trial.number)) continue;
        status = try_guess(&trial, report, &score, err);
        double cost = fmax(score.cost, COST_FLOOR) * (trial.number != 0 ? PRICE_OF_NUMBER : 1);
        if (cost >= best || !explains(&trial, &score, &stands)) continue;
        best = cost;
        report->guess = trial.guess;
        report->far_over_near = trial.far_over_near;
    }
    return status;
}

Shot check_guessed_shot(const Evidence *evidence, const CheckReport *report, int image) {
    Trial trial = {evidence, report->guess, report->guess ? report->numbers[report->guess] : 0, report->far_over_near,
                   1};
    return shot_under(&trial, &evidence->images[image]);
}

bool check_depth_alone(const Evidence *evidence, const CheckReport *report, int image, StoredMap *out) {
    const KeptImage *kept = &evidence->images[image];
    Shot shot = check_guessed_shot(evidence, report, image);
    switch (report->guess) {
    case GUESS_MIRRORED:
    case GUESS_UPSIDE_DOWN:
    case GUESS_HALF_TURN:
    case GUESS_TURNED_LEFT:
    case GUESS_TURNED_RIGHT:
    case GUESS_TRANSPOSED: *out = (StoredMap){0}; return true;
    case GUESS_FOCAL:
    case GUESS_OTHER_SIZE:
    case GUESS_STRETCHED_X:
    case GUESS_STRETCHED_Y: break;
    default: return false;
    }
    // Through the ray: K as it stands times the inverse of the hypothesis's K.
    double x = kept->K[0] / shot.K[0], y = kept->K[4] / shot.K[4];
    *out = (StoredMap){true, {x, 0, kept->K[2] - x * shot.K[2], 0, y, kept->K[5] - y * shot.K[5]}};
    return true;
}
