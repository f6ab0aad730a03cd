// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "datasets/import/import.h"
#include "datasets/json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const Flag flags[] = {
    {.name = "output", .value = "FILE", .help = "the new data set (required)", .letter = 'o', .writes = "vpd-dataset"},
    {.name = "format", .value = "NAME", .help = "one of the layouts below (guessed)"},
    {.name = "size", .value = "WxH", .help = "width x height to resample to, scaling the intrinsics (as recorded)"},
    {.name = "every", .value = "N", .help = "take every Nth picture (1)"},
    {.name = "as",
     .value = "KIND",
     .help = "for one moving camera: still (a view per picture) or video (a frame per picture)"},
    {.name = "fps", .value = "N", .help = "frames per second, for recordings without times"},
    {.name = "time-unit",
     .value = "UNIT",
     .help = "s, ms, us or ns: unit of the time stamps (tum, pgnd, nerfstudio; guessed from their steps)"},
    {.name = "gap",
     .value = "S",
     .help = "largest time between pictures of the same moment, seconds (half a step; tum 0.02)"},
    {.name = "intrinsics",
     .value = "LIST",
     .help = "fx,fy,cx,cy[,k1,k2,p1,p2[,k3]] as in OpenCV, for layouts without intrinsics (tum, open3d)"},
    {.name = "cameras",
     .value = "FILE",
     .help = "JSON file of cameras, for layouts without cameras (robot; docs/data.md)"},
    {.name = "depth", .value = "FOLDER", .help = "folder of depth pictures outside the recording (robot, colmap)"},
    {.name = "depth-unit", .value = "M", .help = "metres per unit of the depth pictures (the layout's)"},
    {.name = "holdout", .value = "N", .help = "hold out every Nth view (none)"},
    {.name = "holdout-first", .value = "K", .help = "with --holdout: the first held-out view, counted from 0 (0)"},
    {.name = "window",
     .value = "N",
     .help = "cut a still scene into episodes of N consecutive pictures (one episode of all)"},
    {.name = "near", .value = "M", .help = "discard depth below this, metres (0; apc 0.25, which removes the gripper)"},
    {.name = "far", .value = "M", .help = "discard depth beyond this, metres"},
    {.name = "bounds", .value = "LIST", .help = "x,y,z,x,y,z: lower and upper corner of the workspace, metres (none)"},
    {.name = "split", .value = "NAME", .help = "train, val or test (train)"},
    {.name = "name", .value = "TEXT", .help = "name of the data set (the folder's)"},
    {.name = "level", .value = "N", .help = "deflate level, 1 to 9 (4)"},
    {.name = "skip-bad", .help = "leave out pictures that cannot be read, and list them at the end"},
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

static Status take_intrinsics(const CommandLine *line, ImportOptions *options, Error *err) {
    const char *text = command_text(line, "intrinsics", NULL), *at = text;
    int count = 0;
    if (!text) return STATUS_OK;
    for (; count < 9; count++) {
        char *end;
        options->intrinsics[count] = strtod(at, &end);
        if (end == at || !isfinite(options->intrinsics[count])) break;
        at = end;
        if (*at != ',') {
            count++;
            break;
        }
        at++;
    }
    bool good = !*at && (count == 4 || count == 8 || count == 9) && at[-1] != ',';
    options->has_intrinsics = good && options->intrinsics[0] > 0 && options->intrinsics[1] > 0;
    return options->has_intrinsics
               ? STATUS_OK
               : error_set(err, STATUS_BAD_INPUT,
                           "--intrinsics: expected fx,fy,cx,cy[,k1,k2,p1,p2[,k3]] with fx and fy above 0, such as "
                           "525,525,319.5,239.5, found \"%.80s\"",
                           text);
}

// Flags that only some layouts read.
static Status take_recording(const CommandLine *line, ImportOptions *options, Error *err) {
    static const double SECONDS[] = {0, 1, 1e-3, 1e-6, 1e-9};
    int as = AS_RECORDED - 1, unit = -1;
    options->cameras = command_text(line, "cameras", NULL);
    options->depth = command_text(line, "depth", NULL);
    Status status = command_choice(line, "as", "still|video", &as, err);
    if (!status) status = command_choice(line, "time-unit", "s|ms|us|ns", &unit, err);
    if (!status) status = command_real(line, "fps", 1e-3, 1e5, &options->fps, err);
    if (!status) status = command_real(line, "gap", 1e-6, 1e6, &options->gap, err);
    if (!status) status = command_real(line, "depth-unit", 1e-9, 1, &options->depth_unit, err);
    if (!status) status = take_intrinsics(line, options, err);
    options->as = (ImportAs)(as + 1);
    options->time_unit = SECONDS[unit + 1];
    return status;
}

// What --skip-bad left out: a warning for each picture, and with --json a list of the same sentences.
static Status tell_bad(const CommandLine *line, const ImportReport *report, json_t *object, Error *err) {
    if (report->bad)
        log_warning(&line->log, "%zu of %zu pictures cannot be read; %zu left out:", report->bad, report->pictures,
                    report->left_out);
    for (size_t i = 0; i < report->bad; i++) log_warning(&line->log, "%s", report->why[i]);
    return object && command_has(line, "skip-bad") ? import_skipped_json(report, object, err) : STATUS_OK;
}

static Status run_import(const CommandLine *line, Error *err) {
    ImportOptions options = {.format = command_text(line, "format", NULL),
                             .near = NAN,
                             .far = NAN,
                             .every = 1,
                             .level = 4,
                             .name = command_text(line, "name", NULL)};
    const char *path;
    int split = SPLIT_TRAIN;
    ImportReport report = {0};
    Status status = command_required(line, "output", &path, err);
    if (!status && access(command_argument(line, 0), R_OK))
        status = file_error(err, command_argument(line, 0), "open", errno);
    if (!status) status = command_size(line, "size", &options.H, &options.W, err);
    if (!status) status = command_small_int(line, "every", 1, INT_MAX, &options.every, err);
    if (!status) status = command_small_int(line, "holdout", 2, INT_MAX, &options.holdout, err);
    if (!status && !options.holdout && command_text(line, "holdout-first", NULL))
        status = error_set(err, STATUS_BAD_INPUT, "--holdout-first needs --holdout N");
    if (!status && options.holdout)
        status = command_small_int(line, "holdout-first", 0, options.holdout - 1, &options.holdout_first, err);
    if (!status) status = command_small_int(line, "window", 1, INT_MAX, &options.window, err);
    if (!status) status = command_real(line, "near", 0, 1e6, &options.near, err);
    if (!status) status = command_real(line, "far", 0, 1e6, &options.far, err);
    if (!status && options.far > 0 && options.near >= options.far)
        status =
            error_set(err, STATUS_BAD_INPUT, "--near %g --far %g: no depth lies between them; expected near below far",
                      options.near, options.far);
    if (!status) status = command_small_int(line, "level", 1, 9, &options.level, err);
    if (!status) status = command_box(line, "bounds", options.bounds, &options.has_bounds, err);
    if (!status) status = take_recording(line, &options, err);
    if (!status) status = command_choice(line, "split", "train|val|test", &split, err);
    if (status) return status;
    options.split = (Split)split;
    if (command_has(line, "skip-bad")) options.report = &report;
    status = dataset_import(command_argument(line, 0), &options, path, &line->log, err);
    json_t *object = NULL;
    if (!status) status = result_of_dataset(line, path, &object, err);
    if (!status) status = tell_bad(line, &report, object, err);
    if (status) json_decref(object);
    else status = result_tell(line, object, RESULT_NOTE, err, "%s written; now \"vpd data check %s\"", path, path);
    import_report_free(&report);
    return status;
}

const Command command_data_import = {
    .name = "data import",
    .summary = "convert a recording in another layout to a data set",
    .arguments = "PATH",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details =
        "Lens distortion is removed, all cameras are resampled to one size, depth becomes metres along z, and "
        "poses\nbecome camera to world with OpenCV axes. A static scene becomes one episode of one frame, with one "
        "view per\npicture (--window: several such episodes; remaining pictures join the last). Layouts:\n"
        "  hololens    K.txt, poses.txt (camera to world), images/, depth/ (mm), frames.txt (optional)\n"
        "  apc         cam.info.txt and frame-*.color.png, frame-*.depth.png, or scene-* folders of them\n"
        "  nerfstudio  transforms.json with depth_file_path; \"time\" and \"camera_id\" make a video (also "
        "instant-ngp)\n"
        "  kubric      metadata.json, rgba_*.png, depth_*.tiff; cam_*/ and episode_*/ of them (MOVi, 3DGSim)\n"
        "  tum         rgb.txt, depth.txt, groundtruth.txt\n"
        "  scannet     color/, depth/, pose/, intrinsic/\n"
        "  bop         scene_camera.json, rgb/, depth/ (and scene_gt.json, mask_visib/), or folders of such scenes\n"
        "  open3d      color/, depth/, odometry.log or trajectory.log, camera_intrinsic.json\n"
        "  colmap      images/, sparse/0/ (bin or txt), stereo/depth_maps/ or depth/\n"
        "  pgnd        camera_*/rgb, camera_*/depth, calibration/*.npy, timestamps.txt\n"
        "  phystwin    color/N/, depth/N/, metadata.json, calibrate.npy (made from the pickle)\n"
        "  robot       HDF5 of robomimic, LIBERO, ManiSkill, ALOHA, or a folder of such files",
    .run = run_import,
};
