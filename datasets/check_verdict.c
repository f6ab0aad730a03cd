// SPDX-License-Identifier: Apache-2.0
#include "datasets/check_private.h"

#include "base/sort.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define DEPTH_FAR 100.0 // metres; a larger median suggests another unit
#define DEPTH_NEAR 0.005
#define VIEW_MARGIN 0.18  // the agreeing fraction of a wrong view is lower than usual by this,
#define VIEW_SPREADS 6    // by this many median deviations,
#define VIEW_SHARE 0.8    // and at most this ratio of the usual one (correct recordings: 0.13 and 0.79 at worst)
#define EPISODE_SHARE 0.5 // the same ratio for a view of one episode
#define CONFIRMED 0.5     // correlation of colour
#define CAMERA_NEAR 0.1   // relative to depth: cameras that are closer count as at the same place
#define FIELD_RATIO 1.3   // largest ratio of the fields of view of similar lenses
#define DEPTH_SHARE 0.8   // ratio of pixels with depth: an episode with fewer may lack the depth to compare
enum { VIEW_POINTS_MIN = 200, EPISODE_POINTS_MIN = 300 };

static bool depth_is_plausible(const EpisodeCheck *check) {
    return check->depth_median >= DEPTH_NEAR && check->depth_median <= DEPTH_FAR;
}

// Mean of `field`, a double of EpisodeCheck, over the episodes where it is known; 0 when there are none. Episodes
// without an error, or with an implausible depth, count only when there are no others.
static double mean_known(const CheckReport *report, size_t field) {
    double sum[2] = {0};
    int count[2] = {0};
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        double value = *(const double *)((const char *)check + field);
        bool counts = isfinite(check->median) && depth_is_plausible(check);
        if (!isfinite(value)) continue;
        sum[counts] += value;
        count[counts]++;
    }
    bool some = count[true] > 0;
    return count[some] ? sum[some] / count[some] : 0;
}

static double floor_of(double depth, double noise) {
    return CHECK_PASS_ABSOLUTE + depth * (CHECK_PASS_RELATIVE + CHECK_PASS_NOISE * fmin(noise, CHECK_NOISE_MAX));
}

// Error of a guess in millimetres of the corrected data: where poses are scaled, depth keeps its metres.
static double guess_millimetres(const CheckReport *report, Guess guess, double depth) {
    double number = report->numbers[guess], median = 1e3 * report->guesses[guess].median;
    return guess == GUESS_SCALE && guess_scale_of_poses(number, depth) ? median / number : median;
}

static void judge_guess(const Evidence *evidence, double depth, CheckReport *report) {
    const PairStats *guess = &report->guesses[report->guess], *none = &report->guesses[GUESS_NONE];
    const KeptEpisode *episode = &evidence->episodes[0];
    GuessFacts facts = {report->numbers[report->guess],
                        report->numbers[report->guess] * report->far_over_near,
                        depth,
                        episode->seconds,
                        episode->views,
                        report->colour.guess == COLOUR_DEPTH_ALONE};
    char advice[400];
    if (!report->guess) return;
    guess_advice(report->guess, &facts, advice, sizeof advice);
    char stands[64] = "no point agrees";
    if (isfinite(none->median))
        snprintf(stands, sizeof stands, "%.1f mm, %.0f %%", 1e3 * none->median, 100 * none->agree);
    check_add_cause(
        report,
        "the views agree far better under the hypothesis \"%s\" (%.1f mm median, %.0f %% of points, instead of %s): %s",
        guess_name(report->guess), guess_millimetres(report, report->guess, depth), 100 * guess->agree, stands, advice);
}

static double floor_of_episode(const EpisodeCheck *check) {
    return floor_of(check->depth_median, isfinite(check->noise) ? check->noise : 0);
}

// Cameras of two episodes that stand at about the same places at the start, in the middle and at the end, with lenses
// of about the same field of view. `near`: metres.
static bool same_cameras(const EpisodeInfo *a, const EpisodeInfo *b, double near) {
    if (a->V != b->V) return false;
    for (int v = 0; v < a->V; v++) {
        double ratio = a->intrinsics[9 * v] / a->W / (b->intrinsics[9 * v] / b->W);
        if (!(ratio < FIELD_RATIO && ratio > 1 / FIELD_RATIO)) return false;
        for (int part = 0; part <= 2; part++) {
            const double *p = episode_pose(a, part * (a->F - 1) / 2, v), *q = episode_pose(b, part * (b->F - 1) / 2, v);
            double x = p[3] - q[3], y = p[7] - q[7], z = p[11] - q[11];
            if (!(x * x + y * y + z * z < near * near)) return false;
        }
    }
    return true;
}

// Another episode with about the same cameras and as much depth, whose views agree; -1 when there is none.
static int same_cameras_agree(const Dataset *dataset, const CheckReport *report, int episode) {
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        if (i == episode || !depth_is_plausible(check) || check->tested < EPISODE_POINTS_MIN) continue;
        if (!(check->median <= floor_of_episode(check)) || check->valid * DEPTH_SHARE > report->episodes[episode].valid)
            continue;
        if (same_cameras(dataset_episode(dataset, episode), dataset_episode(dataset, i),
                         CAMERA_NEAR * check->depth_median))
            return i;
    }
    return -1;
}

// Agreeing views do not prove metres: depth and poses in millimetres agree too, but no room is that large.
static void judge_depths(const Dataset *dataset, CheckReport *report) {
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        bool far = check->depth_median > DEPTH_FAR;
        if (!isfinite(check->depth_median) || depth_is_plausible(check) || report->guess == GUESS_SCALE) continue;
        // Far points of a bare floor agree at any scale, so poses that fit another episode count as right here too.
        bool agree = check->tested >= CHECK_POINTS_MIN && check->median <= floor_of_episode(check) &&
                     same_cameras_agree(dataset, report, i) < 0;
        const char *cause = far ? "is its depth in millimetres?" : "was its depth in metres taken for millimetres?";
        if (agree)
            cause = far ? "depth and poses agree, so are both in millimetres? Lengths are in metres"
                        : "depth and poses agree, so are both in kilometres? Lengths are in metres";
        check_add_finding(report, true, "episode %s: the median depth is %.4g m; %s",
                          dataset_episode_label(dataset, i).text, check->depth_median, cause);
    }
}

// Share of the points that agree among the pairs of views with `view` or among those without it; NaN of too few. Points
// behind what the other view sees are left out: anything, however thin, may hide them. A wrong view puts as many of its
// own, or of the other views', in front.
static double share_agreeing(const PairStats *pairs, int pair_count, int view, bool with) {
    double seen = 0, agreeing = 0;
    for (int i = 0; i < pair_count; i++) {
        const PairStats *pair = &pairs[i];
        if ((pair->a == view || pair->b == view) != with) continue;
        double here = pair->tested ? pair->agree * (double)pair->tested : 0;
        agreeing += here;
        seen += here + (double)pair->nearer;
    }
    return seen < VIEW_POINTS_MIN ? NAN : agreeing / seen;
}

// Fills `shares` (views) with what agrees of each view, and says below which share a view is off: far less than views
// usually have, and at most `ratio` of it. NaN of fewer than three views.
static Status view_shares(const PairStats *pairs, int pair_count, int views, double ratio, float *shares, double *least,
                          Error *err) {
    float *sorted = calloc(2 * (size_t)views + 1, sizeof *sorted), *off = sorted + views;
    size_t count = 0;
    if (!sorted) return error_set(err, STATUS_FAILED, "no memory to compare %d views", views);
    for (int v = 0; v < views; v++) {
        shares[v] = (float)share_agreeing(pairs, pair_count, v, true);
        if (isfinite(shares[v])) sorted[count++] = shares[v];
    }
    sort_floats(sorted, count);
    double usual = sorted_quantile(sorted, count, 0.5);
    for (size_t i = 0; i < count; i++) off[i] = (float)fabs(sorted[i] - usual);
    sort_floats(off, count);
    double margin = fmax(VIEW_MARGIN, VIEW_SPREADS * sorted_quantile(off, count, 0.5));
    *least = count > 2 ? fmin(usual - margin, ratio * usual) : NAN;
    free(sorted);
    return STATUS_OK;
}

Status check_view_of_episode(const PairStats *pairs, int pair_count, int views, EpisodeCheck *check, Error *err) {
    float *shares = calloc((size_t)views + 1, sizeof *shares);
    double least = NAN;
    check->view_off = -1;
    if (!shares) return error_set(err, STATUS_FAILED, "no memory to compare %d views", views);
    Status status = view_shares(pairs, pair_count, views, EPISODE_SHARE, shares, &least, err);
    for (int v = 0; !status && v < views; v++) {
        double rest = share_agreeing(pairs, pair_count, v, false);
        if (!(shares[v] < least) || !isfinite(rest) || (check->view_off >= 0 && shares[v] >= check->view_agree))
            continue;
        check->view_off = v;
        check->view_agree = shares[v];
        check->rest_agree = rest;
    }
    free(shares);
    return status;
}

// Whether the view is off in some episodes, but not in most: then these are named.
static bool off_in_few(const CheckReport *report, int view) {
    int off = 0;
    for (int i = 0; i < report->episode_count; i++) off += report->episodes[i].view_off == view;
    return off > 0 && 2 * off <= report->episode_count;
}

// Reports a view that agrees far less with the others than views usually do in these data.
static Status judge_views(CheckReport *report, int views, Error *err) {
    float *shares = calloc((size_t)views + 1, sizeof *shares);
    double least = NAN;
    if (!shares) return error_set(err, STATUS_FAILED, "no memory to compare %d views", views);
    Status status = view_shares(report->pairs, report->pair_count, views, VIEW_SHARE, shares, &least, err);
    for (int v = 0; !status && v < views; v++) {
        double rest = share_agreeing(report->pairs, report->pair_count, v, false);
        if (!(shares[v] < least) || !isfinite(rest) || off_in_few(report, v)) continue;
        check_add_finding(report, true,
                          "view %d disagrees with the others (%.0f %% of its points agree, %.0f %% among the others): "
                          "its pose or intrinsics are wrong",
                          v, 100 * shares[v], 100 * rest);
    }
    free(shares);
    return status;
}

// Reports what is wrong with one view, or with many points, of one episode.
static void judge_episode_views(const char *label, const EpisodeCheck *check, CheckReport *report) {
    double through = check->tested ? (double)check->through / (double)check->tested : 0;
    if (check->view_off >= 0 && off_in_few(report, check->view_off))
        check_add_finding(report, true,
                          "episode %s: view %d disagrees with the others (%.0f %% of its points agree, %.0f %% among "
                          "the others): its pose or intrinsics are wrong in this episode",
                          label, check->view_off, 100 * check->view_agree, 100 * check->rest_agree);
    else if (report->episode_count > 1 && check->tested >= EPISODE_POINTS_MIN && through > CHECK_PASS_THROUGH)
        check_add_finding(report, true,
                          "episode %s: %.0f %% of the compared points lie more than 5 %% in front of what the other "
                          "view sees: its cameras, depth or both are wrong",
                          label, 100 * through);
}

// Reports an episode in which nothing agrees while others do. Cameras at other places may rightly see different things.
static void judge_apart(const Dataset *dataset, int episode, CheckReport *report) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    const EpisodeCheck *check = &report->episodes[episode];
    const EpisodeLabel label = dataset_episode_label(dataset, episode);
    const char *what = !check->tested
                           ? info->V > 1 ? "no two views show the same place" : "no two frames show the same place"
                       : info->V > 1 ? "the views agree at no point"
                                     : "the frames agree at no point";
    if (info->V > 1 && same_cameras_agree(dataset, report, episode) >= 0)
        check_add_finding(
            report, true,
            "episode %s: %s, as they do in the other episodes; its cameras or its depth differ from theirs", label.text,
            what);
    else
        check_add_finding(report, false, "episode %s: %s, so its cameras and its depth could not be checked",
                          label.text, what);
}

// With depth: another view, or the frames of a moving camera, may show the same place.
static bool could_be_compared(const EpisodeInfo *info) { return info->V > 1 || (info->moving_cameras && info->F > 1); }

static void judge_episodes(const Dataset *dataset, CheckReport *report) {
    if (!(report->all.median <= report->pass)) return; // said of all
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        const EpisodeInfo *info = dataset_episode(dataset, i);
        const EpisodeLabel label = dataset_episode_label(dataset, i);
        double most = floor_of_episode(check);
        judge_episode_views(label.text, check, report);
        bool comparable = check->valid > 0 && could_be_compared(info);
        if (comparable && !isfinite(check->median)) judge_apart(dataset, i, report);
        else if (comparable && check->tested < EPISODE_POINTS_MIN)
            check_add_finding(report, false, "episode %s: only %zu points could be compared: its views hardly overlap",
                              label.text, check->tested);
        if (check->tested < EPISODE_POINTS_MIN || !(check->median > most)) continue;
        check_add_finding(report, true,
                          "episode %s: the median reprojection error is %.1f mm, above its limit of %.1f mm",
                          label.text, 1e3 * check->median, 1e3 * most);
    }
}

static void judge_errors(CheckReport *report) {
    const PairStats *all = &report->all;
    double through = (double)all->through / (double)all->tested;
    // Points that are all occluded or seen through have no median.
    if (!isfinite(all->median))
        check_add_finding(report, true, "no point agrees within 5 %% of depth: cameras, depth or both are wrong");
    else if (all->median > report->pass)
        check_add_finding(report, true,
                          "the median reprojection error is %.1f mm, above the limit of %.1f mm (1 %% of the median "
                          "depth + 2 mm + noise): cameras, depth or both are wrong",
                          1e3 * all->median, 1e3 * report->pass);
    if (through > CHECK_PASS_THROUGH)
        check_add_finding(report, true,
                          "%.0f %% of the compared points lie more than 5 %% in front of what the other view sees: "
                          "cameras, depth or both are wrong",
                          100 * through);
}

// Why nothing is said of cameras and depth; NULL when enough points were compared.
static const char *why_not_compared(const Dataset *dataset, const CheckReport *report) {
    if (report->all.tested >= CHECK_POINTS_MIN) return NULL;
    if (report->all.tested) return "too few points could be compared";
    for (int i = 0; i < report->episode_count; i++)
        if (could_be_compared(dataset_episode(dataset, i)))
            return "no two views, or frames of a moving camera, have depth of the same place";
    return "each episode has one camera that stands still, which nothing can be compared with";
}

Status check_verdict(const Dataset *dataset, const Evidence *evidence, WhereLists *where, CheckReport *report,
                     Error *err) {
    int views = dataset_episode(dataset, 0)->V;
    report->not_compared = why_not_compared(dataset, report);
    double depth = mean_known(report, offsetof(EpisodeCheck, depth_median));
    report->noise = mean_known(report, offsetof(EpisodeCheck, noise));
    report->pass = floor_of(depth, report->noise);
    bool refuted = false;
    Status status = report->guess ? check_colour_refutes(evidence, report, &refuted, err) : STATUS_OK;
    if (refuted) report->guess = GUESS_NONE;
    if (!status) status = check_colour(evidence, report, err);
    // A guess about views that do not overlap without it needs a confirmation by colour.
    double colour = report->colour.correlations[report->colour.guess];
    if (report->guesses[GUESS_NONE].tested < CHECK_POINTS_MIN && !(report->colour.told && colour > CONFIRMED))
        report->guess = GUESS_NONE;
    judge_guess(evidence, depth, report);
    judge_depths(dataset, report);
    if (report->all.tested >= CHECK_POINTS_MIN) judge_errors(report);
    else if (report->all.tested)
        check_add_finding(report, false, "too few points to compare (%zu): the views hardly overlap",
                          report->all.tested);
    else if (views > 1)
        check_add_finding(report, false, "no two views see the same place: their cameras cannot be compared");
    if (report->all.tested && !report->guess) {
        if (!status) status = judge_views(report, report->pair_views, err);
        judge_episodes(dataset, report);
        if (!status) status = check_clocks(evidence, report, err);
    }
    where_judge(where, report);
    return status;
}
