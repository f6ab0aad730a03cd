// SPDX-License-Identifier: Apache-2.0
#include "datasets/check.h"

#include "base/camera.h"
#include "base/progress.h"
#include "datasets/reproject.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_COMPARED = 3,
    PAIR_VIEWS_MAX = 100,
    POINTS_MIN = 256,
    POINTS_MAX = 4096,
    FINDINGS_MAX = 200,
    SAMPLE_MAX = 1 << 16,
    OBJECT_POINTS_MIN = 30,
    OBJECTS_CHECKED_MAX = 256
};
#define POINTS_TOTAL 5e6
#define OBJECT_DISTANCE_MAX 4.0 // spreads; a half sphere has 0.7
#define DEPTH_FAR 100.0         // metres; a median beyond it is taken for another unit
#define DEPTH_NEAR 0.005

typedef struct Work {
    const Dataset *dataset;
    CheckReport *report;
    ErrorList *pairs; // (pair_views, pair_views)
    ErrorList guesses[GUESS_COUNT];
    int pair_views; // views that take part in pairs: the first ones
    size_t points;  // per pair of images
    Frames frames;
    float *sample; // (SAMPLE_MAX) depths of the episode under way
    size_t sample_count, sample_seen;
} Work;

static void add_finding(CheckReport *report, bool wrong, const char *format, ...) {
    if (report->finding_count >= FINDINGS_MAX) return;
    if (report->finding_count == report->finding_capacity) {
        int capacity = 2 * report->finding_capacity + 8;
        Finding *grown = realloc(report->findings, (size_t)capacity * sizeof *grown);
        if (!grown) return;
        report->findings = grown;
        report->finding_capacity = capacity;
    }
    Finding *finding = &report->findings[report->finding_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    finding->wrong = wrong;
}

bool check_report_passes(const CheckReport *report) {
    for (int i = 0; i < report->finding_count; i++) {
        if (report->findings[i].wrong) return false;
    }
    return true;
}

void check_report_free(CheckReport *report) {
    free(report->episodes);
    free(report->pairs);
    free(report->findings);
    *report = (CheckReport){0};
}

// ---- every image on its own

// Keeps a spread of depths for the percentiles: every valid one at first, thinner and thinner later.
static void sample_depth(Work *work, float depth) {
    size_t seen = work->sample_seen++;
    if (work->sample_count < SAMPLE_MAX) work->sample[work->sample_count++] = depth;
    else if (seen % (seen / SAMPLE_MAX + 1) == 0) work->sample[(seen * 2654435761u) % SAMPLE_MAX] = depth;
}

static void scan_image(Work *work, const EpisodeInfo *info, EpisodeCheck *check, size_t image, size_t *valid) {
    const Frames *frames = &work->frames;
    size_t pixels = (size_t)info->H * (size_t)info->W, before = *valid;
    const float *depth = frames->depth + image * pixels;
    for (size_t i = 0; i < pixels; i++) {
        if (depth[i] <= 0) continue;
        ++*valid;
        sample_depth(work, depth[i]);
    }
    check->images_without_depth += *valid == before;
    const uint16_t *mask = frames->mask ? frames->mask + image * pixels : NULL;
    for (size_t i = 0; mask && info->O && i < pixels; i++) {
        if (mask[i] > info->O) {
            check->bad_masks++;
            break;
        }
    }
}

static Status scan_episode(Work *work, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(work->dataset, episode);
    EpisodeCheck *check = &work->report->episodes[episode];
    size_t valid = 0;
    work->sample_count = work->sample_seen = 0;
    for (int f = 0; f < info->F; f++) {
        Status status = dataset_read_frames(work->dataset, (FrameRequest){.episode = episode, .first = f, .count = 1},
                                            &work->frames, err);
        if (status) return status;
        for (int v = 0; v < info->V; v++) scan_image(work, info, check, (size_t)v, &valid);
    }
    sort_floats(work->sample, work->sample_count);
    check->depth_low = sorted_quantile(work->sample, work->sample_count, 0.01);
    check->depth_median = sorted_quantile(work->sample, work->sample_count, 0.5);
    check->depth_high = sorted_quantile(work->sample, work->sample_count, 0.99);
    check->valid = (double)valid / ((double)info->F * info->V * info->H * info->W);
    return STATUS_OK;
}

static void judge_values(CheckReport *report, const EpisodeInfo *info, const EpisodeCheck *check) {
    double images = (double)info->F * info->V;
    if (check->valid == 0) add_finding(report, true, "episode %s: no image has any depth", info->name);
    else if (check->images_without_depth > 0)
        add_finding(report, false, "episode %s: %zu of %.0f images have no depth at all", info->name,
                    check->images_without_depth, images);
    if (check->bad_masks)
        add_finding(report, true, "episode %s: mask ids above the %d objects of state/object_position in %zu images",
                    info->name, info->O, check->bad_masks);
    if (check->depth_median > DEPTH_FAR || check->depth_median < DEPTH_NEAR)
        add_finding(report, true, "episode %s: the median depth is %.4g m; is depth in %s taken for metres?",
                    info->name, check->depth_median, check->depth_median > DEPTH_FAR ? "millimetres" : "kilometres");
    if (!info->even_time)
        add_finding(report, false, "episode %s: uneven time steps (mean %.4g s); training wants even ones", info->name,
                    info->time_step);
    for (int v = 0; v < info->V; v++) {
        const double *K = info->intrinsics + 9 * v;
        if (K[2] < 0 || K[2] > info->W || K[5] < 0 || K[5] > info->H)
            add_finding(report, false,
                        "episode %s: view %d has its principal point (%.1f, %.1f) outside the %d x %d image",
                        info->name, v, K[2], K[5], info->W, info->H);
        if (K[0] / K[4] > 1.5 || K[4] / K[0] > 1.5)
            add_finding(report, false,
                        "episode %s: view %d has focal lengths %.1f and %.1f; was only one side resized?", info->name,
                        v, K[0], K[4]);
    }
    if (info->V == 1 && !info->moving_cameras)
        add_finding(report, false, "episode %s: one camera that stands still: nothing to compare it with", info->name);
}

// ---- views against each other

static Status compare(Work *work, const Shot *a, const Shot *b, ErrorList *pair, ErrorList *episode, Error *err) {
    ErrorList here = {0};
    Status status = reproject_add(a, b, work->points, &here, err);
    if (!status && pair) status = error_list_append(pair, &here, err);
    if (!status) status = error_list_append(episode, &here, err);
    error_list_free(&here);
    // The guesses look at fewer points: they only have to tell wrong from right.
    for (int g = GUESS_NONE; !status && g < GUESS_COUNT; g++) {
        Shot other_a = shot_under(a, (Guess)g), other_b = shot_under(b, (Guess)g);
        status = reproject_add(&other_a, &other_b, work->points / 8 + 1, &work->guesses[g], err);
    }
    return status;
}

// All ordered pairs of views at one moment.
static Status compare_views(Work *work, ErrorList *episode, Error *err) {
    int V = work->frames.V < work->pair_views ? work->frames.V : work->pair_views;
    Status status = STATUS_OK;
    for (int a = 0; !status && a < V; a++) {
        for (int b = 0; !status && b < V; b++) {
            if (a == b) continue;
            Shot shot_a = shot_of(&work->frames, 0, a), shot_b = shot_of(&work->frames, 0, b);
            status = compare(work, &shot_a, &shot_b, &work->pairs[a * work->pair_views + b], episode, err);
        }
    }
    return status;
}

// A single moving camera is held against itself at other times: what moves in the scene adds error.
static Status compare_times(Work *work, ErrorList *episode, Error *err) {
    Status status = STATUS_OK;
    for (int a = 0; !status && a < work->frames.F; a++) {
        for (int b = 0; !status && b < work->frames.F; b++) {
            if (a == b) continue;
            Shot shot_a = shot_of(&work->frames, a, 0), shot_b = shot_of(&work->frames, b, 0);
            status = compare(work, &shot_a, &shot_b, NULL, episode, err);
        }
    }
    return status;
}

static Status compare_episode(Work *work, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(work->dataset, episode);
    EpisodeCheck *check = &work->report->episodes[episode];
    ErrorList all = {0};
    Status status = STATUS_OK;
    int count = info->F < FRAMES_COMPARED ? info->F : FRAMES_COMPARED,
        stride = count > 1 ? (info->F - 1) / (count - 1) : 1;
    if (info->V == 1 && info->moving_cameras && count > 1) {
        FrameRequest request = {.episode = episode, .count = count, .stride = stride};
        status = dataset_read_frames(work->dataset, request, &work->frames, err);
        if (!status) status = compare_times(work, &all, err);
    }
    for (int i = 0; !status && info->V > 1 && i < count; i++) {
        FrameRequest request = {.episode = episode, .first = i * stride, .count = 1};
        status = dataset_read_frames(work->dataset, request, &work->frames, err);
        if (!status) status = compare_views(work, &all, err);
    }
    if (!status) check->median = error_list_stats(&all, -1, -1).median;
    error_list_free(&all);
    return status;
}

// ---- masks against known positions

// How far the mean of object k's points lies from its known position, in units of their spread; NaN without enough
// points.
static double object_distance(const Frames *frames, int k) {
    size_t pixels = (size_t)frames->H * (size_t)frames->W, count = 0;
    double mean[3] = {0}, square = 0, distance = 0;
    for (size_t at = 0; at < pixels * (size_t)frames->V; at++) {
        size_t v = at / pixels, i = at % pixels;
        double point[3];
        if (frames->mask[at] != k + 1 || !(frames->depth[at] > 0)) continue;
        camera_unproject_world(frames->intrinsics + 9 * v, frames->world_from_camera + 16 * v,
                               (double)(i % (size_t)frames->W) + 0.5, (double)(i / (size_t)frames->W) + 0.5,
                               frames->depth[at], point);
        for (int c = 0; c < 3; c++) {
            mean[c] += point[c];
            square += point[c] * point[c];
        }
        count++;
    }
    if (count < OBJECT_POINTS_MIN) return NAN;
    for (int c = 0; c < 3; c++) {
        mean[c] /= (double)count;
        square -= (double)count * mean[c] * mean[c];
        distance += (mean[c] - frames->object_position[3 * k + c]) * (mean[c] - frames->object_position[3 * k + c]);
    }
    return sqrt(distance / fmax(square / (double)count, 1e-12));
}

// The first frame of an episode: a visible side's middle is off its object's by about the spread of the points on it.
static Status check_objects(Work *work, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(work->dataset, episode);
    int seen = 0, off = 0;
    if (!info->has_mask || !info->O || info->O > OBJECTS_CHECKED_MAX) return STATUS_OK;
    Status status =
        dataset_read_frames(work->dataset, (FrameRequest){.episode = episode, .count = 1}, &work->frames, err);
    if (status) return status;
    for (int k = 0; k < info->O; k++) {
        double distance = object_distance(&work->frames, k);
        seen += isfinite(distance);
        off += distance > OBJECT_DISTANCE_MAX;
    }
    if (2 * off > seen)
        add_finding(work->report, true,
                    "episode %s: %d of %d objects do not lie where state/object_position says (frame 0): is "
                    "mask id k + 1 object k, are pictures mirrored or cameras wrong?",
                    info->name, off, seen);
    return STATUS_OK;
}

static Status collect_pairs(Work *work, Error *err) {
    CheckReport *report = work->report;
    ErrorList all = {0};
    int V = work->pair_views;
    report->pairs = calloc((size_t)V * (size_t)V + 1, sizeof *report->pairs);
    if (!report->pairs) return error_set(err, STATUS_FAILED, "no memory for the pairs of views");
    Status status = STATUS_OK;
    for (int i = 0; !status && i < V * V; i++) {
        if (work->pairs[i].tested == 0) continue;
        report->pairs[report->pair_count++] = error_list_stats(&work->pairs[i], i / V, i % V);
        status = error_list_append(&all, &work->pairs[i], err);
    }
    for (int g = 0; g < GUESS_COUNT; g++) report->guesses[g] = error_list_stats(&work->guesses[g], -1, -1);
    // One moving camera has no pairs of views: its points stand in the first guess alone.
    report->all = all.tested ? error_list_stats(&all, -1, -1) : report->guesses[GUESS_NONE];
    error_list_free(&all);
    return status;
}

// ---- verdict

// A guess is taken when it makes a larger share of points agree, or the error much smaller, and loses no points; or
// when it lets views see the same places that hardly did before (points a thousand times too far away agree about a
// floor).
static void choose_guess(CheckReport *report) {
    const PairStats *none = &report->guesses[GUESS_NONE];
    double best = none->tested ? none->agree : 0, best_median = none->tested ? none->median : INFINITY;
    size_t best_tested = none->tested;
    for (int g = GUESS_NONE + 1; g < GUESS_COUNT; g++) {
        const PairStats *guess = &report->guesses[g];
        if (guess->tested < 100 || guess->tested < none->tested / 4) continue;
        // A thousand times farther away, views of a camera that hardly moved agree about anything.
        if (g == GUESS_POSE_MILLIMETRES && none->median <= report->pass) continue;
        bool agrees = guess->agree > best + 0.2;
        bool smaller = guess->median < 0.4 * best_median && guess->agree >= best - 0.02 && guess->median > 0;
        bool meets = guess->tested > 4 * best_tested && guess->agree > 0.8;
        if (!agrees && !smaller && !meets) continue;
        report->guess = (Guess)g;
        best = guess->agree;
        best_median = guess->median;
        best_tested = guess->tested;
    }
}

static double median_depth(const CheckReport *report) {
    double sum = 0;
    int count = 0;
    for (int i = 0; i < report->episode_count; i++) {
        if (!isfinite(report->episodes[i].depth_median)) continue;
        sum += report->episodes[i].depth_median;
        count++;
    }
    return count ? sum / count : 0;
}

static void judge_pairs(const Dataset *dataset, CheckReport *report) {
    const PairStats *all = &report->all;
    report->pass = CHECK_PASS_ABSOLUTE + CHECK_PASS_RELATIVE * median_depth(report);
    choose_guess(report);
    if (report->guess)
        add_finding(report, true,
                    "the views agree far better (%.1f mm median, %.0f %% of points) as \"%s\" than as they stand "
                    "(%.1f mm, %.0f %%): %s",
                    1e3 * report->guesses[report->guess].median, 100 * report->guesses[report->guess].agree,
                    guess_name(report->guess), 1e3 * report->guesses[GUESS_NONE].median,
                    100 * report->guesses[GUESS_NONE].agree, guess_advice(report->guess));
    if (all->tested == 0) {
        bool several = dataset_episode(dataset, 0)->V > 1;
        if (several) add_finding(report, false, "no two views see the same place: their cameras cannot be compared");
        return;
    }
    if (!(all->median <= report->pass))
        add_finding(report, true,
                    "the median reprojection error is %.1f mm, above the floor of %.1f mm (1 %% of the median "
                    "depth + 2 mm): cameras, depth or both are off",
                    1e3 * all->median, 1e3 * report->pass);
    double through = (double)all->through / (double)all->tested;
    if (through > CHECK_PASS_THROUGH)
        add_finding(report, true,
                    "%.0f %% of the compared points lie more than 5 %% in front of what the other view sees: "
                    "cameras, depth or both are off",
                    100 * through);
}

static void plan(Work *work) {
    int count = dataset_episode_count(work->dataset), V = 1;
    double pairs = 0;
    for (int i = 0; i < count; i++) {
        const EpisodeInfo *info = dataset_episode(work->dataset, i);
        if (info->V > V) V = info->V;
        pairs += (double)info->V * info->V * (info->F < FRAMES_COMPARED ? info->F : FRAMES_COMPARED);
    }
    work->pair_views = V < PAIR_VIEWS_MAX ? V : PAIR_VIEWS_MAX;
    double points = POINTS_TOTAL / pairs;
    work->points = points < POINTS_MIN ? POINTS_MIN : points > POINTS_MAX ? POINTS_MAX : (size_t)points;
}

static Status check_all(Work *work, const Log *log, Error *err) {
    CheckReport *report = work->report;
    Progress progress;
    Status status = STATUS_OK;
    progress_start(&progress, log, "check", "episodes", 0, (size_t)report->episode_count);
    for (int i = 0; !status && i < report->episode_count; i++) {
        status = scan_episode(work, i, err);
        if (!status) status = compare_episode(work, i, err);
        if (!status) status = check_objects(work, i, err);
        if (!status) judge_values(report, dataset_episode(work->dataset, i), &report->episodes[i]);
        progress_update(&progress, (size_t)i + 1, NULL);
    }
    if (!status) status = collect_pairs(work, err);
    if (!status) judge_pairs(work->dataset, report);
    progress_end(&progress, NULL);
    return status;
}

Status dataset_check(const Dataset *dataset, const Log *log, CheckReport *out, Error *err) {
    *out = (CheckReport){.episode_count = dataset_episode_count(dataset)};
    Work work = {.dataset = dataset, .report = out};
    plan(&work);
    size_t cells = (size_t)work.pair_views * (size_t)work.pair_views;
    out->episodes = calloc((size_t)out->episode_count, sizeof *out->episodes);
    work.pairs = calloc(cells, sizeof *work.pairs);
    work.sample = calloc(SAMPLE_MAX, sizeof *work.sample);
    Status status = STATUS_FAILED;
    if (!out->episodes || !work.pairs || !work.sample)
        error_set(err, status, "%s: no memory to check it", dataset_info(dataset)->path);
    else status = check_all(&work, log, err);
    for (size_t i = 0; work.pairs && i < cells; i++) error_list_free(&work.pairs[i]);
    for (int g = 0; g < GUESS_COUNT; g++) error_list_free(&work.guesses[g]);
    frames_free(&work.frames);
    free(work.pairs);
    free(work.sample);
    if (status) check_report_free(out);
    return status;
}

static const char *const GUESS_WORDS[GUESS_COUNT][2] = {
    [GUESS_NONE] = {"as it stands", ""},
    [GUESS_RAY_LENGTH] = {"ray length", "depth is the length of the ray; divide it by |Kc^-1 (u, v, 1)|"},
    [GUESS_OPENGL] = {"OpenGL cameras", "multiply world_from_camera by diag(1, -1, -1, 1) from the right"},
    [GUESS_INVERSE] = {"camera from world", "invert world_from_camera"},
    [GUESS_INVERSE_OPENGL] = {"camera from world, OpenGL",
                              "invert world_from_camera, then multiply by diag(1, -1, -1, 1) "
                              "from the right"},
    [GUESS_HALF_PIXEL_LESS] = {"half a pixel less", "subtract 0.5 from cx and cy"},
    [GUESS_HALF_PIXEL_MORE] = {"half a pixel more", "pixel centres lie at whole numbers; add 0.5 to cx and cy"},
    [GUESS_MILLIMETRES] = {"millimetres", "depth is in millimetres; store metres, or u16 with scale 0.001"},
    [GUESS_POSE_MILLIMETRES] = {"poses in millimetres", "divide the translations of world_from_camera by 1000"},
    [GUESS_MIRRORED] = {"mirrored", "the images are mirrored left to right; flip them"},
    [GUESS_UPSIDE_DOWN] = {"upside down", "the images are upside down; flip them"},
    [GUESS_SWAPPED_FOCAL] = {"swapped focal lengths", "fx and fy are swapped"},
    [GUESS_SWAPPED_CENTRE] = {"swapped centre", "cx and cy are swapped"},
    [GUESS_W_LAST] = {"quaternions w last", "the quaternions had w last and were read as w first"},
    [GUESS_W_FIRST] = {"quaternions w first", "the quaternions had w first and were read as w last"},
};

const char *guess_name(Guess guess) { return GUESS_WORDS[guess][0]; }
const char *guess_advice(Guess guess) { return GUESS_WORDS[guess][1]; }
