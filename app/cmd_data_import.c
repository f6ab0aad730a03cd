// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "base/file.h"
#include "datasets/import/import.h"
#include "datasets/json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Flag flags[] = {
    {.name = "output",
     .value = "FILE",
     .help = "the new data set (required); of several processes a folder",
     .letter = 'o',
     .writes = "vpd-dataset"},
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

// ---- several processes: each writes its part of the episodes into a file of one folder

static Status gather(void *owner, const void *own, size_t bytes, void *all, Error *err) {
    return ranks_gather(owner, own, bytes, all, err);
}

// Files of an earlier import would be episodes of this one.
static Status make_folder(const char *folder, Error *err) {
    FileList list = {0};
    const char *found = NULL;
    Status status = file_make_folders(folder, err);
    if (!status) status = file_list(folder, &list, err);
    for (size_t i = 0; i < list.count; i++)
        if (name_ends(list.names[i], ".h5") || name_ends(list.names[i], ".hdf5")) found = list.names[i];
    if (!status && found)
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: expected a folder without data sets, into which several processes write one each, "
                           "found %s; remove it or give another folder",
                           folder, found);
    file_list_free(&list);
    return status;
}

// What the processes must have in common, a line each.
static Status check_same(const CommandLine *line, int episodes, Error *err) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return error_set(err, STATUS_FAILED, "out of memory for the options");
    fprintf(out, "recording: %s\nepisodes: %d\n", command_argument(line, 0), episodes);
    for (int i = 0; i < line->given_count; i++)
        fprintf(out, "%s: %s\n", line->given[i].flag->name, line->given[i].value ? line->given[i].value : "given");
    bool good = fclose(out) == 0;
    Status status =
        good ? ranks_same_text(line->ranks, text, err) : error_set(err, STATUS_FAILED, "out of memory for the options");
    free(text);
    return status;
}

// Chooses this process's episodes, and its file.
static Status take_part(const CommandLine *line, const ImportOptions *options, const char *folder, ImportPart *part,
                        char path[FILE_PATH_SIZE], Error *err) {
    int processes = ranks_count(line->ranks), episodes;
    size_t first, end;
    char name[32];
    Status status = dataset_import_count(command_argument(line, 0), options, &episodes, err);
    if (!status) status = check_same(line, episodes, err);
    if (!status && processes > episodes)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d processes, one for each recording, found %d",
                           command_argument(line, 0), episodes, processes);
    if (!status) status = ranks_first_begin(line->ranks, err);
    if (!status && ranks_rank(line->ranks) == 0) status = make_folder(folder, err);
    if (!status) status = ranks_first_end(line->ranks, err);
    if (status) return status;
    ranks_share(line->ranks, (size_t)episodes, &first, &end);
    *part = (ImportPart){(int)first, (int)end, processes, gather, line->ranks};
    snprintf(name, sizeof name, "part_%04d.h5", ranks_rank(line->ranks));
    return file_join(path, FILE_PATH_SIZE, folder, name, err);
}

// What a process tells of its report; its sentences follow, each with its end.
typedef struct ReportSize {
    size_t pictures, left_out, bad, bytes;
} ReportSize;

static void *sentences_of(const ImportReport *report, size_t bytes) {
    char *text = calloc(bytes + 1, 1), *at = text;
    for (size_t i = 0; text && i < report->bad; i++) at = stpcpy(at, report->why[i]) + 1;
    return text;
}

static Status add_report(ImportReport *to, ReportSize size, const char *text, Error *err) {
    char **why = realloc(to->why, (to->bad + size.bad + 1) * sizeof *why);
    if (!why) return error_set(err, STATUS_FAILED, "no memory for a list of pictures");
    to->why = why;
    to->pictures += size.pictures;
    to->left_out += size.left_out;
    for (size_t i = 0; i < size.bad; i++, text += strlen(text) + 1)
        if (!(why[to->bad++] = strdup(text))) return error_set(err, STATUS_FAILED, "no memory for a list of pictures");
    return STATUS_OK;
}

// Rank 0 tells of the pictures of all.
static Status join_reports(const CommandLine *line, ImportReport *report, Error *err) {
    size_t processes = (size_t)ranks_count(line->ranks), longest = 0;
    ReportSize own = {report->pictures, report->left_out, report->bad, 0}, *all = calloc(processes, sizeof *all);
    for (size_t i = 0; i < report->bad; i++) own.bytes += strlen(report->why[i]) + 1;
    Status status = all ? ranks_gather(line->ranks, &own, sizeof own, all, err)
                        : error_set(err, STATUS_FAILED, "no memory for %zu processes", processes);
    for (size_t r = 0; !status && r < processes; r++) longest = all[r].bytes > longest ? all[r].bytes : longest;
    char *text = status ? NULL : sentences_of(report, longest),
         *texts = status ? NULL : malloc(processes * longest + 1);
    if (!status && (!text || !texts)) status = error_set(err, STATUS_FAILED, "no memory for a list of pictures");
    if (!status) status = ranks_gather(line->ranks, text, longest, texts, err);
    import_report_free(report);
    for (size_t r = 0; !status && r < processes; r++) status = add_report(report, all[r], texts + r * longest, err);
    free(all);
    free(text);
    free(texts);
    return status;
}

static Status import_part(const CommandLine *line, ImportOptions *options, const char *folder, Error *err) {
    ImportPart part = {0};
    char path[FILE_PATH_SIZE];
    Status status = take_part(line, options, folder, &part, path, err);
    options->part = &part;
    if (!status) status = dataset_import(command_argument(line, 0), options, path, &line->log, err);
    options->part = NULL;
    if (!status && options->report) status = join_reports(line, options->report, err);
    return status ? status : ranks_barrier(line->ranks, err);
}

static Status tell(const CommandLine *line, const char *path, const ImportReport *report, const ImportLeftOut *left_out,
                   Error *err) {
    json_t *object = NULL;
    Status status = result_of_dataset(line, path, &object, err);
    if (!status && object) status = import_left_out_json(left_out, object, err);
    if (!status) status = tell_bad(line, report, object, err);
    if (!status)
        return result_tell(line, object, RESULT_NOTE, err, "%s written; now \"vpd data check %s\"", path, path);
    json_decref(object);
    return status;
}

static Status run_import(const CommandLine *line, Error *err) {
    ImportLeftOut left_out = {0};
    ImportOptions options = {.format = command_text(line, "format", NULL),
                             .near = NAN,
                             .far = NAN,
                             .every = 1,
                             .level = 4,
                             .name = command_text(line, "name", NULL),
                             .left_out = &left_out};
    const char *path;
    int split = SPLIT_TRAIN;
    ImportReport report = {0};
    Status status = command_required(line, "output", &path, err);
    if (!status && access(command_argument(line, 0), R_OK))
        status = file_error(err, command_argument(line, 0), "open", errno);
    if (!status) status = command_size(line, &options.H, &options.W, err);
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
    if (line->ranks) status = import_part(line, &options, path, err);
    else status = dataset_import(command_argument(line, 0), &options, path, &line->log, err);
    if (!status && ranks_rank(line->ranks) == 0) status = tell(line, path, &report, &left_out, err);
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
    .spreads = true,
    .run = run_import,
};
