// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/model_flags.h"
#include "datasets/import/import.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

static const Flag flags[] = {
    {.name = "output", .value = "FILE", .help = "the new data set (required)", .letter = 'o'},
    {.name = "format", .value = "NAME", .help = "hololens or apc (guessed from the folder)"},
    {.name = "size", .value = "WxH", .help = "width x height to resample to, scaling the intrinsics (as recorded)"},
    {.name = "every", .value = "N", .help = "take every Nth picture (1)"},
    {.name = "holdout", .value = "N", .help = "hold out every Nth view (none)"},
    {.name = "holdout-first", .value = "K", .help = "the first view that is held out, counted from 0 (0)"},
    {.name = "window",
     .value = "N",
     .help = "an episode for each N consecutive pictures of a still scene (one of all)"},
    {.name = "near", .value = "M", .help = "drop depth below, metres (0; apc 0.25, where the gripper is)"},
    {.name = "far", .value = "M", .help = "drop depth beyond, metres"},
    {.name = "bounds", .value = "LIST", .help = "x,y,z,x,y,z: lower and upper corner of the workspace, metres (none)"},
    {.name = "split", .value = "NAME", .help = "train, val or test (train)"},
    {.name = "name", .value = "TEXT", .help = "name of the data set (the folder's)"},
    {0},
};

static Status take_bounds(const CommandLine *line, ImportOptions *options, Error *err) {
    const char *text = command_text(line, "bounds", NULL);
    double *b = options->bounds;
    int used = 0;
    if (!text) return STATUS_OK;
    bool good = sscanf(text, "%lf,%lf,%lf,%lf,%lf,%lf%n", b, b + 1, b + 2, b + 3, b + 4, b + 5, &used) == 6;
    good = good && !text[used];
    for (int c = 0; c < 3 && good; c++) good = isfinite(b[c]) && isfinite(b[3 + c]) && b[c] < b[3 + c];
    options->has_bounds = good;
    return good ? STATUS_OK
                : error_set(err, STATUS_BAD_INPUT,
                            "--bounds: expected x,y,z,x,y,z with each lower number below its upper one, such as "
                            "-2,-2,0,2,2,1.5, found \"%.80s\"",
                            text);
}

static Status run_import(const CommandLine *line, Error *err) {
    ImportOptions options = {.format = command_text(line, "format", NULL),
                             .near = NAN,
                             .far = NAN,
                             .name = command_text(line, "name", NULL)};
    const char *path;
    long every = 1, holdout = 0, holdout_first = 0, window = 0;
    int split = SPLIT_TRAIN;
    Status status = command_required(line, "output", &path, err);
    if (!status) status = command_size(line, "size", &options.H, &options.W, err);
    if (!status) status = command_int(line, "every", 1, INT_MAX, &every, err);
    if (!status) status = command_int(line, "holdout", 2, INT_MAX, &holdout, err);
    if (!status && !holdout && command_text(line, "holdout-first", NULL))
        status = error_set(err, STATUS_BAD_INPUT, "--holdout-first: expected --holdout N beside it");
    if (!status && holdout) status = command_int(line, "holdout-first", 0, holdout - 1, &holdout_first, err);
    if (!status) status = command_int(line, "window", 1, INT_MAX, &window, err);
    if (!status) status = command_real(line, "near", 0, 1e6, &options.near, err);
    if (!status) status = command_real(line, "far", 0, 1e6, &options.far, err);
    if (!status) status = take_bounds(line, &options, err);
    if (!status) status = command_choice(line, "split", "train|val|test", &split, err);
    if (status) return status;
    options.every = (int)every;
    options.holdout = (int)holdout;
    options.holdout_first = (int)holdout_first;
    options.window = (int)window;
    options.split = (Split)split;
    status = dataset_import(command_argument(line, 0), &options, path, &line->log, err);
    if (!status) log_note(&line->log, "%s written; now \"vpd data check %s\"", path, path);
    return status;
}

const Command command_data_import = {
    .name = "data import",
    .summary = "turn a folder of posed pictures into a data set",
    .arguments = "FOLDER",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "A static scene becomes one episode of one frame, with one view per picture (--window: several such\n"
               "episodes, what is left over joins the last). Layouts:\n"
               "  hololens  K.txt, poses.txt (camera to world), images/, depth/ (mm), frames.txt (optional)\n"
               "  apc       cam.info.txt and frame-*.color.png, frame-*.depth.png, or scene-* folders of them",
    .run = run_import,
};
