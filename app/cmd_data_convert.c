// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "datasets/convert.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VIEWS_MAX = 4096, FILES_MAX = 256 };

static const Flag flags[] = {
    {.name = "output", .value = "FILE", .help = "the new data set (required)", .letter = 'o', .writes = "vpd-dataset"},
    {.name = "split",
     .value = "LIST",
     .help = "episodes of each split, such as train:16,val:2,test:2 (without a number: all of the split)"},
    {.name = "assign",
     .value = "LIST",
     .help = "new splits for the kept episodes, in their order, such as train:16,val:2"},
    {.name = "first", .value = "N", .help = "first frame of each episode (0)"},
    {.name = "frames", .value = "N", .help = "number of frames of each episode (all)"},
    {.name = "stride", .value = "N", .help = "take every Nth frame (1)"},
    {.name = "views", .value = "LIST", .help = "views to keep, such as 0,1,4 (all)"},
    {.name = "crop", .value = "LIST", .help = "x,y,width,height in pixels, before --size (whole pictures)"},
    {.name = "size", .value = "WxH", .help = "width x height to resample to, scaling the intrinsics (as stored)"},
    {.name = "box",
     .value = "LIST",
     .help = "x,y,z,x,y,z: depth outside this box becomes unknown; the box is stored as bounds"},
    {.name = "depth", .value = "KIND", .help = "u16 or f32 (as stored)"},
    {.name = "unit", .value = "M", .help = "metres per unit of u16 depth (as stored, else 0.001)"},
    {.name = "name",
     .value = "TEXT",
     .help = "name of the new data set (the old one's; of several files the new file's)"},
    {.name = "level", .value = "N", .help = "deflate level, 1 to 9 (4)"},
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

static Status wrong_split(const char *flag, const char *text, Error *err) {
    return error_set(err, STATUS_BAD_INPUT, "--%s: expected a list such as train:16,val:2,test:2, found \"%.100s\"",
                     flag, text);
}

// One "train:16" or "train"; ends at a comma or the end.
static Status parse_split(const char *flag, const char *item, size_t length, const char *text,
                          int episodes[SPLIT_COUNT], Error *err) {
    char name[32];
    const char *colon = memchr(item, ':', length);
    size_t name_length = colon ? (size_t)(colon - item) : length;
    Split split;
    if (name_length >= sizeof name) return wrong_split(flag, text, err);
    memcpy(name, item, name_length);
    name[name_length] = 0;
    if (!split_parse(name, &split)) return wrong_split(flag, text, err);
    if (!colon) {
        episodes[split] = -1;
        return STATUS_OK;
    }
    char *end;
    long count = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || end != item + length || count < 0 || count > INT_MAX / 4)
        return wrong_split(flag, text, err);
    episodes[split] = (int)count;
    return STATUS_OK;
}

static Status parse_splits(const char *flag, const char *text, int episodes[SPLIT_COUNT], Error *err) {
    memset(episodes, 0, SPLIT_COUNT * sizeof *episodes); // a split that is not named is left out
    for (const char *item = text;; item++) {
        size_t length = strcspn(item, ",");
        Status status = parse_split(flag, item, length, text, episodes, err);
        item += length;
        if (status || !*item) return status;
    }
}

static Status parse_views(const char *text, int *views, ConvertOptions *options, Error *err) {
    for (const char *item = text;; item++) {
        char *end;
        long view = strtol(item, &end, 10);
        bool rising = options->view_count == 0 || view > views[options->view_count - 1];
        if (end == item || (*end && *end != ',') || view < 0 || view > INT_MAX || !rising ||
            options->view_count == VIEWS_MAX)
            return error_set(err, STATUS_BAD_INPUT,
                             "--views: expected increasing numbers such as 0,1,4, found \"%.100s\"", text);
        views[options->view_count++] = (int)view;
        item = end;
        if (!*item) break;
    }
    options->views = views;
    return STATUS_OK;
}

static Status parse_assigned(const CommandLine *line, ConvertOptions *options, Error *err) {
    const char *text = command_text(line, "assign", NULL);
    if (!text) return STATUS_OK;
    options->assign = true;
    Status status = parse_splits("assign", text, options->assigned, err);
    for (int s = 0; !status && s < SPLIT_COUNT; s++) {
        if (options->assigned[s] < 0) status = wrong_split("assign", text, err);
    }
    return status;
}

static Status parse_crop(const CommandLine *line, ConvertOptions *options, Error *err) {
    const char *text = command_text(line, "crop", NULL);
    int *c = options->crop, used = 0;
    if (!text) return STATUS_OK;
    bool good = sscanf(text, "%6d,%6d,%6d,%6d%n", c, c + 1, c + 2, c + 3, &used) == 4 && !text[used];
    return good && c[0] >= 0 && c[1] >= 0 && c[2] > 0 && c[3] > 0
               ? STATUS_OK
               : error_set(err, STATUS_BAD_INPUT,
                           "--crop: expected x,y,width,height in pixels such as 16,0,96,96, found \"%.80s\"", text);
}

static Status parse_pictures(const CommandLine *line, ConvertOptions *options, Error *err) {
    int depth = DEPTH_AS_STORED - 1;
    Status status = parse_crop(line, options, err);
    if (!status) status = command_size(line, &options->H, &options->W, err);
    if (!status) status = command_box(line, "box", options->box, &options->has_box, err);
    if (!status) status = command_choice(line, "depth", "u16|f32", &depth, err);
    if (!status) status = command_real(line, "unit", 1e-9, 1, &options->unit, err);
    options->depth = (ConvertDepth)(depth + 1);
    if (!status && options->unit > 0 && options->depth != DEPTH_AS_U16)
        status = error_set(err, STATUS_BAD_INPUT, "--unit needs --depth u16");
    return status;
}

static Status parse_options(const CommandLine *line, ConvertOptions *options, int kept[VIEWS_MAX], Error *err) {
    const char *split = command_text(line, "split", NULL), *views = command_text(line, "views", NULL);
    Status status = split ? parse_splits("split", split, options->episodes, err) : STATUS_OK;
    if (!status && views) status = parse_views(views, kept, options, err);
    if (!status) status = parse_assigned(line, options, err);
    if (!status) status = command_small_int(line, "first", 0, INT_MAX, &options->first, err);
    if (!status) status = command_small_int(line, "frames", 1, INT_MAX, &options->count, err);
    if (!status) status = command_small_int(line, "stride", 1, INT_MAX, &options->stride, err);
    if (!status) status = command_small_int(line, "level", 1, 9, &options->deflate_level, err);
    return status ? status : parse_pictures(line, options, err);
}

static Status run_convert(const CommandLine *line, Error *err) {
    ConvertOptions options = {
        .episodes = {-1, -1, -1}, .stride = 1, .deflate_level = 4, .name = command_text(line, "name", NULL)};
    const char *path;
    int kept[VIEWS_MAX], opened = 0;
    Dataset *datasets[FILES_MAX];
    Status status = command_required(line, "output", &path, err);
    if (!status) status = parse_options(line, &options, kept, err);
    for (; !status && opened < line->argument_count; opened += !status)
        status = dataset_open(command_argument(line, opened), &datasets[opened], err);
    if (!status) status = dataset_convert(datasets, opened, &options, path, &line->log, err);
    for (int i = 0; i < opened; i++) dataset_close(datasets[i]);
    json_t *object = NULL;
    if (!status) status = result_of_dataset(line, path, &object, err);
    if (!status) status = result_tell(line, object, RESULT_NOTE, err, "%s written", path);
    return status;
}

const Command command_data_convert = {
    .name = "data convert",
    .summary = "merge, cut, crop, resize data sets into a new one",
    .arguments = "FILE...",
    .min_arguments = 1,
    .max_arguments = FILES_MAX,
    .flags = flags,
    .details = "Several files are merged in the order given. --split takes the first episodes of each split. Each "
               "picture is\nstored as one chunk. Arrays under state/ that the format does not define are left out.",
    .run = run_convert,
};

const Command command_data_subset = {
    .name = "data subset",
    .summary = "another name of data convert",
    .arguments = "FILE...",
    .min_arguments = 1,
    .max_arguments = FILES_MAX,
    .flags = flags,
    .run = run_convert,
};
