// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "datasets/json.h"

#include <math.h>
#include <stdlib.h>

enum { PAIRS_SHOWN = 30, EXTREMES_SHOWN = 10, PAIR_POINTS_MIN = 200 };

static const Flag flags[] = {
    {.name = "output",
     .value = "PNG",
     .help = "draw the camera frusta and the merged points",
     .letter = 'o',
     .writes = "png"},
    {.name = "episode", .value = "E", .help = "episode to draw, by name or number (0)"},
    {.name = "frame", .value = "N", .help = "its frame (0)"},
    {.name = "json", .help = "one JSON object instead of tables"},
    FLAG_FORCE,
    {0},
};

static void print_millimetres(double metres) {
    if (isfinite(metres)) printf(" %9.2f", 1e3 * metres);
    else printf(" %9s", "-");
}

static void print_pair(const PairStats *pair) {
    double tested = pair->tested ? (double)pair->tested : 1;
    if (pair->a < 0) printf("  %-9s", "all");
    else printf("  %3d->%-4d", pair->a, pair->b);
    printf(" %9zu", pair->tested);
    print_millimetres(pair->median);
    print_millimetres(pair->p90);
    print_millimetres(pair->p99);
    printf(" %8.1f%% %9.1f%% %8.1f%%\n", pair->tested ? 100 * pair->agree : 0, 100 * (double)pair->occluded / tested,
           100 * (double)pair->through / tested);
}

static int by_median(const void *a, const void *b) {
    double x = ((const PairStats *)a)->median, y = ((const PairStats *)b)->median;
    return (x > y) - (x < y);
}

// Few pairs are all listed; of many, the best and the worst among those with enough common points.
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
        printf("  ... %d pairs share at least %d points", count, PAIR_POINTS_MIN);
        if (count) printf("; the median of their medians is %.2f mm", 1e3 * sorted[count / 2].median);
        printf("\n");
        for (int i = count - shown; i < count; i++) print_pair(&sorted[i]);
        free(sorted);
    }
    print_pair(&report->all);
}

static void print_episodes(const Dataset *dataset, const CheckReport *report) {
    int width = dataset_label_width(dataset);
    printf("\n%-*s %-5s %11s %9s %9s %9s %9s\n", width, "episode", "split", "median mm", "depth 1%", "50%", "99%",
           "valid");
    for (int i = 0; i < report->episode_count; i++) {
        const EpisodeCheck *check = &report->episodes[i];
        const EpisodeInfo *info = dataset_episode(dataset, i);
        const double values[] = {1e3 * check->median, check->depth_low, check->depth_median, check->depth_high};
        printf("%-*s %-5s  ", width, dataset_episode_label(dataset, i).text, split_name(info->split));
        for (int c = 0; c < 4; c++) {
            if (isfinite(values[c])) printf(" %9.*f", c ? 3 : 2, values[c]);
            else printf(" %9s", "-");
        }
        printf(" %8.1f%%\n", 100 * check->valid);
    }
}

// When the error is large: the error under each hypothesis about the data.
static void print_guesses(const CheckReport *report) {
    if (report->guess == GUESS_NONE && report->all.median <= report->pass) return;
    printf("\nReprojection error if the data were\n  %-36s %10s %9s %9s %9s %10s\n", "", "number", "points",
           "median mm", "agree", "through");
    for (int g = 0; g < GUESS_COUNT; g++) {
        const PairStats *guess = &report->guesses[g];
        if (!guess->tested) continue;
        printf("%c %-36s", g && (Guess)g == report->guess ? '*' : ' ', guess_name((Guess)g));
        if (g >= GUESS_NEXT_CAMERA) printf(" %10.4g", report->numbers[g]);
        else printf(" %10s", "");
        printf(" %9zu", guess->tested);
        print_millimetres(guess->median);
        printf(" %8.1f%% %9.1f%%\n", 100 * guess->agree, 100 * (double)guess->through / (double)guess->tested);
    }
}

static void print_colour(const CheckReport *report) {
    const ColourCheck *colour = &report->colour;
    double correlation = colour->correlations[COLOUR_NONE];
    if (!isfinite(correlation)) return;
    printf("\nColour of %zu points that agree in depth: correlation %.2f across views%s\n", colour->points, correlation,
           colour->told ? "" : "; not enough texture to tell more");
    if (colour->guess) printf("* %s: %.2f\n", colour_guess_name(colour->guess), colour->correlations[colour->guess]);
}

static void print_report(const Dataset *dataset, const CheckReport *report) {
    if (report->pair_count || report->all.tested) print_pairs(report);
    print_episodes(dataset, report);
    if (report->all.tested) print_guesses(report);
    print_colour(report);
    printf("\n");
    for (int i = 0; i < report->finding_count; i++)
        printf("%s %s\n", report->findings[i].wrong ? "WRONG" : "note ", report->findings[i].text);
    if (check_report_unlisted(report)) printf("note  %d more findings are not listed\n", check_report_unlisted(report));
    char verdict[300];
    check_report_verdict(report, verdict, sizeof verdict);
    printf("%s\n", verdict);
}

// One line above the picture: the verdict, and what the data look like instead.
static void picture_title(const CheckReport *report, char *out, size_t size) {
    const char *instead = report->guess          ? guess_name(report->guess)
                          : report->colour.guess ? colour_guess_name(report->colour.guess)
                          : report->clock_count  ? "clocks apart"
                                                 : NULL;
    int used = snprintf(out, size, "%s: ", check_report_word(report));
    if (isfinite(report->all.median))
        used += snprintf(out + used, size - (size_t)used, "median error %.2f mm, %.0f %% of points agree",
                         1e3 * report->all.median, 100 * report->all.agree);
    else used += snprintf(out + used, size - (size_t)used, "nothing to compare");
    if (instead) snprintf(out + used, size - (size_t)used, "; looks like \"%s\"", instead);
}

// Checks the choice of the picture first, since the check takes minutes.
typedef struct Drawing {
    const char *path; // NULL: nothing
    int episode, frame;
} Drawing;

static Status read_drawing(const CommandLine *line, const Dataset *dataset, Drawing *out, Error *err) {
    *out = (Drawing){.path = command_text(line, "output", NULL)};
    Status status = dataset_find_episode(dataset, command_text(line, "episode", "0"), &out->episode, err);
    if (!status)
        status = command_small_int(line, "frame", 0, dataset_episode(dataset, out->episode)->F - 1, &out->frame, err);
    return !status && out->path ? command_check_writable(out->path, err) : status;
}

static Status draw(const Drawing *drawing, const Dataset *dataset, const CheckReport *report, Error *err) {
    char title[160];
    if (!drawing->path) return STATUS_OK;
    picture_title(report, title, sizeof title);
    return dataset_check_picture(dataset, drawing->episode, drawing->frame, title, drawing->path, err);
}

static Status run_check(const CommandLine *line, Error *err) {
    Dataset *dataset;
    CheckReport report = {0};
    Status status = dataset_open(command_argument(line, 0), &dataset, err);
    if (status) return status;
    Drawing drawing;
    status = read_drawing(line, dataset, &drawing, err);
    if (!status) status = dataset_check(dataset, &line->log, &report, err);
    if (!status) status = draw(&drawing, dataset, &report, err);
    if (!status && command_has(line, "json"))
        status = json_write_line(stdout, check_report_json(dataset, &report), err);
    else if (!status) print_report(dataset, &report);
    if (!status && check_report_fails(&report))
        status = error_set(err, STATUS_BAD_INPUT, "%s: the check found errors in the data; they are listed above",
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
        "Reads every image and compares all views: each sampled pixel of one view is projected into the others, and "
        "depth\n"
        "and colour are compared there. When common mistakes explain the data better, the best explanation is named:\n"
        "wrong axes, units, scales, lens distortion, mirrored, rotated or shuffled pictures, colour that is not "
        "registered\nto depth, cameras that are not synchronised. docs/data.md lists them. Exit status 2 when "
        "something is wrong.",
    .run = run_check,
};
