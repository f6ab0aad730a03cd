// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "base/json.h"
#include "datasets/check.h"

#include <math.h>
#include <stdlib.h>

enum { PAIRS_SHOWN = 30, EXTREMES_SHOWN = 10, PAIR_POINTS_MIN = 200 };

static const Flag flags[] = {
    {.name = "output", .value = "PNG", .help = "draw camera frusta and merged points", .letter = 'o'},
    {.name = "episode", .value = "N", .help = "number of the episode to draw (0)"},
    {.name = "frame", .value = "N", .help = "its frame (0)"},
    {.name = "json", .help = "one JSON object instead of tables"},
    {0},
};

static void print_pair(const PairStats *pair) {
    double tested = pair->tested ? (double)pair->tested : 1;
    if (pair->a < 0) printf("  %-9s", "all");
    else printf("  %3d->%-4d", pair->a, pair->b);
    printf(" %9zu %9.2f %9.2f %9.2f %8.1f%% %9.1f%% %8.1f%%\n", pair->tested, 1e3 * pair->median, 1e3 * pair->p90,
           1e3 * pair->p99, 100 * pair->agree, 100 * (double)pair->occluded / tested,
           100 * (double)pair->through / tested);
}

static int by_median(const void *a, const void *b) {
    double x = ((const PairStats *)a)->median, y = ((const PairStats *)b)->median;
    return (x > y) - (x < y);
}

// Few pairs: all of them. Many: the best and the worst of those that share enough points.
static void print_pairs(const CheckReport *report) {
    printf("Reprojection error per ordered pair of views, mm\n");
    printf("  %-9s %9s %9s %9s %9s %9s %10s %9s\n", "a->b", "points", "median", "90 %", "99 %", "agree", "occluded",
           "through");
    if (report->pair_count <= PAIRS_SHOWN) {
        for (int i = 0; i < report->pair_count; i++) print_pair(&report->pairs[i]);
    } else {
        PairStats *sorted = calloc((size_t)report->pair_count, sizeof *sorted);
        int count = 0;
        for (int i = 0; sorted && i < report->pair_count; i++) {
            if (report->pairs[i].tested >= PAIR_POINTS_MIN && isfinite(report->pairs[i].median))
                sorted[count++] = report->pairs[i];
        }
        if (count) qsort(sorted, (size_t)count, sizeof *sorted, by_median);
        int shown = count < 2 * EXTREMES_SHOWN ? count / 2 : EXTREMES_SHOWN;
        for (int i = 0; i < shown; i++) print_pair(&sorted[i]);
        printf("  ... %d pairs share at least %d points; the median of their medians is %.2f mm\n", count,
               PAIR_POINTS_MIN, count ? 1e3 * sorted[count / 2].median : NAN);
        for (int i = count - shown; i < count; i++) print_pair(&sorted[i]);
        free(sorted);
    }
    print_pair(&report->all);
}

static void print_episodes(const Dataset *dataset, const CheckReport *report) {
    printf("\n%-8s %-5s %11s %9s %9s %9s %9s\n", "episode", "split", "median mm", "depth 1%", "50%", "99%", "valid");
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        const EpisodeInfo *info = dataset_episode(dataset, i);
        printf("%-8s %-5s %11.2f %9.3f %9.3f %9.3f %8.1f%%\n", info->name, split_name(info->split), 1e3 * check->median,
               check->depth_low, check->depth_median, check->depth_high, 100 * check->valid);
    }
}

// When the error is large: what it would be if the data were something else.
static void print_guesses(const CheckReport *report) {
    if (report->guess == GUESS_NONE && report->all.median <= report->pass) return;
    printf("\nWhat the error would be if the data were\n  %-26s %9s %9s %9s %10s\n", "", "points", "median mm", "agree",
           "through");
    for (int g = 0; g < GUESS_COUNT; g++) {
        const PairStats *guess = &report->guesses[g];
        printf("%c %-26s %9zu", g && (Guess)g == report->guess ? '*' : ' ', guess_name((Guess)g), guess->tested);
        if (guess->tested)
            printf(" %9.2f %8.1f%% %9.1f%%\n", 1e3 * guess->median, 100 * guess->agree,
                   100 * (double)guess->through / (double)guess->tested);
        else printf(" %9s %9s %10s\n", "-", "-", "-");
    }
}

static void print_report(const Dataset *dataset, const CheckReport *report) {
    if (report->pair_count || report->all.tested) print_pairs(report);
    print_episodes(dataset, report);
    if (report->all.tested) print_guesses(report);
    printf("\n");
    for (int i = 0; i < report->finding_count; i++)
        printf("%s %s\n", report->findings[i].wrong ? "WRONG" : "note ", report->findings[i].text);
    if (report->all.tested)
        printf("%s: median reprojection error %.2f mm; the floor is %.1f mm (1 %% of the median depth + 2 mm), with at "
               "most "
               "20 %% of the points seen through\n",
               check_report_passes(report) ? "pass" : "FAIL", 1e3 * report->all.median, 1e3 * report->pass);
    else printf("%s: no reprojection error (nothing to compare)\n", check_report_passes(report) ? "pass" : "FAIL");
}

static json_t *pair_json(const PairStats *pair) {
    return json_pack("{s:i s:i s:I s:I s:I s:o s:o s:o s:o}", "a", pair->a, "b", pair->b, "points",
                     (json_int_t)pair->tested, "occluded", (json_int_t)pair->occluded, "through",
                     (json_int_t)pair->through, "median_mm", json_finite(1e3 * pair->median), "p90_mm",
                     json_finite(1e3 * pair->p90), "p99_mm", json_finite(1e3 * pair->p99), "agree",
                     json_finite(pair->agree));
}

static json_t *report_json(const Dataset *dataset, const CheckReport *report) {
    json_t *pairs = json_array(), *episodes = json_array(), *findings = json_array(), *guesses = json_object();
    for (int i = 0; i < report->pair_count; i++) json_array_append_new(pairs, pair_json(&report->pairs[i]));
    for (int g = 0; g < GUESS_COUNT; g++)
        json_object_set_new(guesses, guess_name((Guess)g), pair_json(&report->guesses[g]));
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        json_array_append_new(
            episodes, json_pack("{s:s s:o s:o s:o s:o s:o}", "name", dataset_episode(dataset, i)->name, "median_mm",
                                json_finite(1e3 * check->median), "depth_p1_m", json_finite(check->depth_low),
                                "depth_median_m", json_finite(check->depth_median), "depth_p99_m",
                                json_finite(check->depth_high), "valid", json_finite(check->valid)));
    }
    for (int i = 0; i < report->finding_count; i++)
        json_array_append_new(
            findings, json_pack("{s:b s:s}", "wrong", report->findings[i].wrong, "text", report->findings[i].text));
    return json_pack("{s:s s:b s:o s:o s:s s:o s:o s:o s:o}", "path", dataset_info(dataset)->path, "pass",
                     check_report_passes(report), "floor_mm", json_finite(1e3 * report->pass), "all",
                     pair_json(&report->all), "guess", guess_name(report->guess), "guesses", guesses, "pairs", pairs,
                     "episodes", episodes, "findings", findings);
}

static Status draw(const CommandLine *line, const Dataset *dataset, const CheckReport *report, Error *err) {
    long episode = 0, frame = 0;
    char title[160];
    const char *path = command_text(line, "output", NULL);
    Status status = command_int(line, "episode", 0, dataset_episode_count(dataset) - 1, &episode, err);
    if (!status) status = command_int(line, "frame", 0, dataset_episode(dataset, (int)episode)->F - 1, &frame, err);
    if (status || !path) return status;
    snprintf(title, sizeof title, "%s: median error %.2f mm, %.0f %% of points agree",
             check_report_passes(report) ? "pass" : "FAIL", 1e3 * report->all.median, 100 * report->all.agree);
    return dataset_check_picture(dataset, (int)episode, (int)frame, title, path, err);
}

static Status run_check(const CommandLine *line, Error *err) {
    Dataset *dataset;
    CheckReport report = {0};
    Status status = dataset_open(command_argument(line, 0), &dataset, err);
    if (status) return status;
    status = dataset_check(dataset, &line->log, &report, err);
    if (!status) status = draw(line, dataset, &report, err);
    if (!status && command_has(line, "json")) status = json_write_line(stdout, report_json(dataset, &report), err);
    else if (!status) print_report(dataset, &report);
    if (!status && !check_report_passes(&report))
        status = error_set(err, STATUS_BAD_INPUT, "%s: the check found what is wrong with it (above)",
                           dataset_info(dataset)->path);
    check_report_free(&report);
    dataset_close(dataset);
    return status;
}

const Command command_data_check = {
    .name = "data check",
    .summary = "find wrong cameras, depth and values",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details =
        "Reads every image, and holds all views against each other: unprojects view a, projects into view b and "
        "compares\n"
        "depth there. Tries what usual mistakes would look like (OpenGL cameras, camera-from-world poses, ray length,\n"
        "millimetres, half a pixel, mirrored pictures, swapped focal lengths, quaternions in the wrong order), and "
        "prints the\n"
        "error of each when it is large as it stands. Exit status 2 when something is wrong.",
    .run = run_check,
};
