// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "datasets/subset.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS_MAX = 4096 };

static const Flag flags[] = {
    {.name = "output", .value = "FILE", .help = "the new data set (required)", .letter = 'o'},
    {.name = "split",
     .value = "LIST",
     .help = "how many episodes of each split, as train:16,val:2,test:2 (all of those named alone)"},
    {.name = "first", .value = "N", .help = "first frame of each episode (0)"},
    {.name = "frames", .value = "N", .help = "how many frames (all)"},
    {.name = "stride", .value = "N", .help = "take every Nth frame (1)"},
    {.name = "views", .value = "LIST", .help = "views to keep, as 0,1,4 (all)"},
    {.name = "name", .value = "TEXT", .help = "name of the new data set"},
    {.name = "level", .value = "N", .help = "deflate level, 1 to 9 (4)"},
    {0},
};

static Status wrong_split(const char *text, Error *err) {
    return error_set(err, STATUS_BAD_INPUT, "--split: expected a list such as train:16,val:2,test:2, found \"%.100s\"",
                     text);
}

// One "train:16" or "train"; ends at a comma or the end.
static Status parse_split(const char *item, size_t length, const char *text, SubsetOptions *options, Error *err) {
    char name[32];
    const char *colon = memchr(item, ':', length);
    size_t name_length = colon ? (size_t)(colon - item) : length;
    Split split;
    if (name_length >= sizeof name) return wrong_split(text, err);
    memcpy(name, item, name_length);
    name[name_length] = 0;
    if (!split_parse(name, &split)) return wrong_split(text, err);
    if (!colon) {
        options->episodes[split] = -1;
        return STATUS_OK;
    }
    char *end;
    long count = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || end != item + length || count < 0 || count > INT_MAX) return wrong_split(text, err);
    options->episodes[split] = (int)count;
    return STATUS_OK;
}

static Status parse_splits(const char *text, SubsetOptions *options, Error *err) {
    memset(options->episodes, 0, sizeof options->episodes); // a split that is not named is left out
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        Status status = parse_split(item, length, text, options, err);
        item += length;
        if (status || !*item) return status;
    }
}

static Status parse_views(const char *text, int *views, SubsetOptions *options, Error *err) {
    for (const char *item = text;; item++) {
        char *end;
        long view = strtol(item, &end, 10);
        bool rising = options->view_count == 0 || view > views[options->view_count - 1];
        if (end == item || (*end && *end != ',') || view < 0 || view > INT_MAX || !rising ||
            options->view_count == VIEWS_MAX)
            return error_set(err, STATUS_BAD_INPUT, "--views: expected rising numbers such as 0,1,4, found \"%.100s\"",
                             text);
        views[options->view_count++] = (int)view;
        item = end;
        if (!*item) break;
    }
    options->views = views;
    return STATUS_OK;
}

static Status parse_number(const CommandLine *line, const char *flag, long min, int *out, Error *err) {
    long value = *out;
    Status status = command_int(line, flag, min, INT_MAX, &value, err);
    *out = (int)value;
    return status;
}

static Status run_subset(const CommandLine *line, Error *err) {
    SubsetOptions options = {
        .episodes = {-1, -1, -1}, .stride = 1, .deflate_level = 4, .name = command_text(line, "name", NULL)};
    const char *path, *split = command_text(line, "split", NULL), *views = command_text(line, "views", NULL);
    int kept[VIEWS_MAX];
    Dataset *dataset;
    Status status = command_required(line, "output", &path, err);
    if (!status && split) status = parse_splits(split, &options, err);
    if (!status && views) status = parse_views(views, kept, &options, err);
    if (!status) status = parse_number(line, "first", 0, &options.first, err);
    if (!status) status = parse_number(line, "frames", 1, &options.count, err);
    if (!status) status = parse_number(line, "stride", 1, &options.stride, err);
    if (!status) status = parse_number(line, "level", 1, &options.deflate_level, err);
    if (!status && options.deflate_level > 9) status = error_set(err, STATUS_BAD_INPUT, "--level: expected 1 to 9");
    if (!status) status = dataset_open(command_argument(line, 0), &dataset, err);
    if (status) return status;
    status = dataset_write_subset(dataset, &options, path, &line->log, err);
    dataset_close(dataset);
    return status;
}

const Command command_data_subset = {
    .name = "data subset",
    .summary = "cut episodes, frames or views out of a data set",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "Takes the first episodes of each split, in file order. What it does not know under state/ is left out.",
    .run = run_subset,
};
