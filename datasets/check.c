// SPDX-License-Identifier: Apache-2.0
#include "datasets/check.h"

#include "base/camera.h"
#include "base/progress.h"
#include "base/sort.h"
#include "datasets/check_private.h"
#include "datasets/reach.h"
#include "datasets/time_unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_COMPARED = 3,
    FRAMES_OF_SINGLE = 8, // frames, of a single moving camera
    NOISE_SAMPLES = 50,   // in each image
    PAIR_VIEWS_MAX = 100,
    POINTS_MIN = 256,
    POINTS_MAX = 4096,
    SAMPLE_MAX = 1 << 16
};
#define POINTS_TOTAL 5e6

typedef struct Work {
    const Dataset *dataset;
    CheckReport *report;
    ErrorList *pairs;      // (pair_views, pair_views)
    PairStats *of_episode; // (pair_views, pair_views) of the episode under way, points and agreement alone
    ErrorList times;       // of single cameras at different times
    Evidence evidence;
    WhereLists *where;
    TurnCounts turns;
    int pair_views; // number of views in pairs: the first ones
    size_t points;  // per pair of images
    Frames frames;
    float *sample; // (SAMPLE_MAX) depths of the episode under way
    size_t sample_count, sample_seen;
    float *noise; // (SAMPLE_MAX) differences of depth between neighbours, over depth
    size_t noise_count;
} Work;

// ---- every image on its own

// Keeps a sample of the depths for percentiles: every valid one at first, a smaller and smaller fraction later.
static void sample_depth(Work *work, float depth) {
    size_t seen = work->sample_seen++;
    if (work->sample_count < SAMPLE_MAX) work->sample[work->sample_count++] = depth;
    else if (seen % (seen / SAMPLE_MAX + 1) == 0) work->sample[(seen * 2654435761u) % SAMPLE_MAX] = depth;
}

// Second differences of 1/z along rows vanish on a plane; what is left in the middle of their spread is noise.
static void sample_noise(Work *work, const float *depth, int H, int W) {
    for (size_t n = 0; W > 2 && n < NOISE_SAMPLES && work->noise_count < SAMPLE_MAX; n++) {
        int x, y;
        sample_pixel(n, H, W - 2, &x, &y);
        const float *z = depth + (size_t)y * (size_t)W + (size_t)x;
        if (!(z[0] > 0 && z[1] > 0 && z[2] > 0)) continue;
        double bend = z[1] * (1.0 / z[0] - 2.0 / z[1] + 1.0 / z[2]);
        work->noise[work->noise_count++] = (float)fabs(bend);
    }
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
    bool one_depth = *valid == before + pixels && !memcmp(depth, depth + 1, (pixels - 1) * sizeof *depth);
    if (one_depth && !check->images_of_one_depth) check->view_of_one_depth = (int)image;
    check->images_of_one_depth += one_depth;
    const uint8_t *rgb = frames->rgb + 3 * image * pixels;
    check->images_of_one_colour += !memcmp(rgb, rgb + 3, 3 * (pixels - 1)); // each pixel is as the next
    for (size_t i = 0; i < 3 * pixels; i++)
        if (rgb[i] > check->colour_highest) check->colour_highest = rgb[i];
    sample_noise(work, depth, info->H, info->W);
    const uint16_t *mask = frames->mask ? frames->mask + image * pixels : NULL;
    int highest = 0;
    for (size_t i = 0; mask && i < pixels; i++)
        if (mask[i] > highest) highest = mask[i];
    check->bad_masks += info->O && highest > info->O;
    if (highest > check->mask_highest) check->mask_highest = highest;
}

static Status scan_episode(Work *work, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(work->dataset, episode);
    EpisodeCheck *check = &work->report->episodes[episode];
    size_t valid = 0;
    work->sample_count = work->sample_seen = work->noise_count = 0;
    for (int f = 0; f < info->F; f++) {
        Status status = dataset_read_frames(work->dataset, (FrameRequest){.episode = episode, .first = f, .count = 1},
                                            &work->frames, err);
        if (!status) status = evidence_take(&work->evidence, &work->frames, err);
        if (status) return status;
        for (int v = 0; v < info->V; v++) scan_image(work, info, check, (size_t)v, &valid);
    }
    sort_floats(work->sample, work->sample_count);
    check->depth_low = sorted_quantile(work->sample, work->sample_count, 0.01);
    check->depth_median = sorted_quantile(work->sample, work->sample_count, 0.5);
    check->depth_high = sorted_quantile(work->sample, work->sample_count, 0.99);
    sort_floats(work->noise, work->noise_count);
    // Median of |x| is 0.6745 sigma; weights 1, -2, 1 make sqrt(6) sigma.
    check->noise = sorted_quantile(work->noise, work->noise_count, 0.5) / (0.6745 * sqrt(6));
    check->valid = (double)valid / ((double)info->F * info->V * info->H * info->W);
    return STATUS_OK;
}

static void judge_values(const Dataset *dataset, int episode, double usual_step, CheckReport *report) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    const EpisodeCheck *check = &report->episodes[episode];
    const EpisodeLabel label = dataset_episode_label(dataset, episode);
    double images = (double)info->F * info->V;
    if (check->valid == 0) check_add_finding(report, true, "episode %s: no image has any depth", label.text);
    else if (check->images_without_depth > 0)
        check_add_finding(report, false, "episode %s: %zu of %.0f images have no depth at all", label.text,
                          check->images_without_depth, images);
    if (check->images_of_one_depth)
        check_add_finding(report, false,
                          "episode %s: %zu of %.0f images have the same depth in all pixels (the first is of view %d): "
                          "is it a measured one?",
                          label.text, check->images_of_one_depth, images, check->view_of_one_depth);
    if ((double)check->images_of_one_colour == images)
        check_add_finding(report, false, "episode %s: each colour picture is of one colour alone", label.text);
    else if (check->colour_highest == 1)
        check_add_finding(
            report, true,
            "episode %s: no colour is above 1 of 255; were the colours numbers from 0 to 1? Multiply them "
            "by 255 before they become bytes",
            label.text);
    if (check->bad_masks)
        check_add_finding(report, true,
                          "episode %s: mask ids above the %d objects of state/object_position in %zu images, up to %d; "
                          "object k (from 0 on) has id k + 1, the background 0",
                          label.text, info->O, check->bad_masks, check->mask_highest);
    if (!info->even_time)
        check_add_finding(report, false, "episode %s: uneven time steps (usually %.4g s); training wants even ones",
                          label.text, info->time_step);
    else if (info->F > 1 && fabs(info->time_step - usual_step) > 0.01 * usual_step)
        check_add_finding(
            report, false,
            "episode %s: its time step is %.4g s, and most have %.4g s; only models of bodies (gnn.graph) learn from "
            "both",
            label.text, info->time_step, usual_step);
    for (int v = 0; v < info->V; v++) {
        const double *K = info->intrinsics + 9 * v;
        if (K[2] < 0 || K[2] > info->W || K[5] < 0 || K[5] > info->H)
            check_add_finding(report, false,
                              "episode %s: view %d has its principal point (%.1f, %.1f) outside the %d x %d image",
                              label.text, v, K[2], K[5], info->W, info->H);
        if (K[0] / K[4] > 1.5 || K[4] / K[0] > 1.5)
            check_add_finding(report, false,
                              "episode %s: view %d has focal lengths %.1f and %.1f; was only one side resized?",
                              label.text, v, K[0], K[4]);
    }
    if (info->V == 1 && !info->moving_cameras)
        check_add_finding(report, false,
                          "episode %s: a single camera that stands still cannot be compared with anything", label.text);
}

static bool counts_frames(const EpisodeInfo *info) {
    for (int f = 0; f < info->F; f++)
        if (info->time[f] != info->time[0] + f) return false;
    return true;
}

// One note for all episodes: they mostly have the same unit.
static void judge_time_unit(const Dataset *dataset, CheckReport *report) {
    char doubt[240] = "", words[240];
    int doubted = 0, numbered = 0;
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeInfo *info = dataset_episode(dataset, i);
        numbered += info->F > 2 && counts_frames(info);
        if (info->F < 2 || !time_unit_doubt(info->time_step, words, sizeof words)) continue;
        if (!doubted++) snprintf(doubt, sizeof doubt, "%s", words);
    }
    if (numbered)
        check_add_finding(
            report, false,
            "in %d of %d episodes the times are 0, 1, 2, ..: are they the numbers of frames? \"time\" is in "
            "seconds",
            numbered, report->episode_count);
    if (doubted) check_add_finding(report, false, "in %d of %d episodes %s", doubted, report->episode_count, doubt);
}

static Status judge_extent(const Dataset *dataset, CheckReport *report, Error *err) {
    char doubt[500];
    Reach reach;
    Status status = reach_measure(dataset, &reach, err);
    if (!status && reach_doubt(&reach, reach.extent, dataset_info(dataset)->path, doubt, sizeof doubt))
        check_add_finding(report, false, "%s", doubt);
    return status;
}

// ---- views against each other

static void add_counts(PairStats *sum, const ErrorList *list) {
    size_t tested = sum->tested + list->tested;
    double agreeing = sum->agree * (double)sum->tested + (double)list->agreeing;
    sum->occluded += list->occluded;
    sum->nearer += list->nearer;
    sum->agree = tested ? agreeing / (double)tested : 0;
    sum->tested = tested;
}

// `counts` is NULL for two moments of one camera.
static Status compare(Work *work, const Shot *a, const Shot *b, ErrorList *pair, ErrorList *episode, PairStats *counts,
                      Error *err) {
    ErrorList here = {0};
    PointSeen *seen = counts ? where_add : where_add_moments;
    Status status = reproject_add(a, b, work->points, &here, seen, work->where, err);
    if (!status) status = error_list_append(pair, &here, err);
    if (!status) status = error_list_append(episode, &here, err);
    if (counts) add_counts(counts, &here);
    error_list_free(&here);
    return status;
}

// All ordered pairs of views at one moment, or of the frames of a single moving camera, where moving objects add error.
static Status compare_all(Work *work, bool times, ErrorList *episode, Error *err) {
    const Frames *frames = &work->frames;
    int views = frames->V < work->pair_views ? frames->V : work->pair_views, count = times ? frames->F : views;
    Status status = STATUS_OK;
    for (int i = 0; !status && i < count * count; i++) {
        int a = i / count, b = i % count;
        if (a == b) continue;
        Shot shot_a = times ? shot_of(frames, a, 0) : shot_of(frames, 0, a);
        Shot shot_b = times ? shot_of(frames, b, 0) : shot_of(frames, 0, b);
        int at = a * work->pair_views + b;
        ErrorList *pair = times ? &work->times : &work->pairs[at];
        status = compare(work, &shot_a, &shot_b, pair, episode, times ? NULL : &work->of_episode[at], err);
    }
    return status;
}

static void clear_counts(Work *work) {
    int V = work->pair_views;
    for (int i = 0; i < V * V; i++) work->of_episode[i] = (PairStats){.a = i / V, .b = i % V};
}

static int frames_compared(const EpisodeInfo *info) {
    int most = info->V == 1 ? FRAMES_OF_SINGLE : FRAMES_COMPARED;
    return info->F < most ? info->F : most;
}

static Status compare_episode(Work *work, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(work->dataset, episode);
    EpisodeCheck *check = &work->report->episodes[episode];
    ErrorList all = {0};
    Status status = STATUS_OK;
    clear_counts(work);
    int count = frames_compared(info), stride = count > 1 ? (info->F - 1) / (count - 1) : 1;
    if (info->V == 1 && info->moving_cameras && count > 1) {
        FrameRequest request = {.episode = episode, .count = count, .stride = stride};
        status = dataset_read_frames(work->dataset, request, &work->frames, err);
        if (!status) status = compare_all(work, true, &all, err);
    }
    for (int i = 0; !status && info->V > 1 && i < count; i++) {
        FrameRequest request = {.episode = episode, .first = i * stride, .count = 1};
        status = dataset_read_frames(work->dataset, request, &work->frames, err);
        if (!status) status = compare_all(work, false, &all, err);
    }
    check->tested = all.tested;
    check->through = all.through;
    if (!status)
        status =
            check_view_of_episode(work->of_episode, work->pair_views * work->pair_views, work->pair_views, check, err);
    if (!status) check->median = error_list_stats(&all, -1, -1).median;
    error_list_free(&all);
    return status;
}

static Status collect_pairs(Work *work, Error *err) {
    CheckReport *report = work->report;
    ErrorList all = {0};
    int V = report->pair_views = work->pair_views;
    report->pairs = calloc((size_t)V * (size_t)V + 1, sizeof *report->pairs);
    if (!report->pairs) return error_set(err, STATUS_FAILED, "no memory for the pairs of views");
    Status status = STATUS_OK;
    for (int i = 0; !status && i < V * V; i++) {
        if (work->pairs[i].tested == 0) continue;
        report->pairs[report->pair_count++] = error_list_stats(&work->pairs[i], i / V, i % V);
        status = error_list_append(&all, &work->pairs[i], err);
    }
    if (!status) status = error_list_append(&all, &work->times, err);
    report->all = error_list_stats(&all, -1, -1);
    error_list_free(&all);
    return status;
}

static void plan(Work *work) {
    int count = dataset_episode_count(work->dataset), V = 1;
    double pairs = 0;
    for (int i = 0; i < count; i++) {
        const EpisodeInfo *info = dataset_episode(work->dataset, i);
        if (info->V > V) V = info->V;
        pairs += (double)info->V * info->V * frames_compared(info);
    }
    work->pair_views = V < PAIR_VIEWS_MAX ? V : PAIR_VIEWS_MAX;
    double points = POINTS_TOTAL / pairs;
    work->points = points < POINTS_MIN ? POINTS_MIN : points > POINTS_MAX ? POINTS_MAX : (size_t)points;
}

static Status check_all(Work *work, const Log *log, Error *err) {
    CheckReport *report = work->report;
    Progress progress;
    double usual_step = dataset_usual_step(work->dataset, false);
    Status status = STATUS_OK;
    progress_start(&progress, log, "check", "episodes", 0, (size_t)report->episode_count);
    for (int i = 0; !status && i < report->episode_count; i++) {
        status = scan_episode(work, i, err);
        if (!status) status = compare_episode(work, i, err);
        if (!status) status = check_objects(work->dataset, i, &work->frames, &work->turns, report, err);
        if (!status) judge_values(work->dataset, i, usual_step, report);
        progress_update(&progress, (size_t)i + 1, NULL);
    }
    judge_time_unit(work->dataset, report);
    check_turns(&work->turns, report);
    if (!status) status = judge_extent(work->dataset, report, err);
    if (!status) status = collect_pairs(work, err);
    if (!status) status = check_guess(&work->evidence, report, err);
    if (!status) status = check_verdict(work->dataset, &work->evidence, work->where, report, err);
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
    work.of_episode = calloc(cells, sizeof *work.of_episode);
    work.sample = calloc(SAMPLE_MAX, sizeof *work.sample);
    work.noise = calloc(SAMPLE_MAX, sizeof *work.noise);
    work.where = where_create();
    Status status = STATUS_FAILED;
    if (!out->episodes || !work.pairs || !work.of_episode || !work.sample || !work.noise || !work.where)
        error_set(err, status, "%s: no memory to check it", dataset_info(dataset)->path);
    else status = evidence_plan(&work.evidence, dataset, err);
    if (!status) status = check_all(&work, log, err);
    for (size_t i = 0; work.pairs && i < cells; i++) error_list_free(&work.pairs[i]);
    error_list_free(&work.times);
    evidence_free(&work.evidence);
    where_free(work.where);
    frames_free(&work.frames);
    free(work.pairs);
    free(work.of_episode);
    free(work.sample);
    free(work.noise);
    if (status) check_report_free(out);
    return status;
}
