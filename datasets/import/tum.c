// SPDX-License-Identifier: Apache-2.0
// TUM RGB-D: rgb.txt and depth.txt ("time file"), groundtruth.txt ("time tx ty tz qx qy qz qw", camera to world, w
// last). The three clocks do not tick together: each colour picture takes the nearest depth and the nearest pose within
// 20 ms, or is left out. 16-bit PNG, 5000 a metre, registered to colour. The intrinsics are not in the folder: by name
// for the Freiburg cameras, else --intrinsics, else ROS's 525.
#include "base/camera.h"
#include "base/file.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP 0.02 // seconds: pictures come every 33 ms, poses every 10

// Lines of a time and more, in the order of time.
typedef struct Stream {
    double *times; // (count)
    void *items;   // (count): char * or double[7]
    size_t count;
} Stream;

static bool detect(const char *path) {
    return has_file(path, "rgb.txt") && has_file(path, "depth.txt") && has_file(path, "groundtruth.txt");
}

static void free_names(Stream *stream) {
    char **names = stream->items;
    for (size_t i = 0; names && i < stream->count; i++) free(names[i]);
    free(names);
    free(stream->times);
}

static Status no_memory(const char *path, Error *err) {
    return error_set(err, STATUS_FAILED, "%s: no memory to read it", path);
}

// Room for as many lines as the text can hold.
static Status stream_make(const TextFile *text, size_t width, Stream *out, Error *err) {
    size_t lines = 1;
    for (size_t i = 0; i < text->length; i++) lines += text->text[i] == '\n';
    *out = (Stream){.times = calloc(lines, sizeof(double)), .items = calloc(lines, width)};
    return out->times && out->items ? STATUS_OK : no_memory(text->path, err);
}

static Status check_order(const TextFile *text, const Stream *stream, Error *err) {
    size_t i = stream->count;
    if (i == 0 || stream->times[i] > stream->times[i - 1]) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected increasing times, found %.6f s after %.6f s", text->path,
                     text->line, stream->times[i], stream->times[i - 1]);
}

static Status take_name(const TextFile *text, char *line, Stream *out, Error *err) {
    char *end, **names = out->items;
    out->times[out->count] = strtod(line, &end);
    char *name = end + strspn(end, " \t");
    name[strcspn(name, " \t")] = 0;
    if (end == line || !*name || !isfinite(out->times[out->count]))
        return error_set(err, STATUS_BAD_INPUT, "%s:%d: expected a time and a file", text->path, text->line);
    Status status = check_order(text, out, err);
    if (status) return status;
    if (!(names[out->count] = strdup(name))) return no_memory(text->path, err);
    out->count++;
    return STATUS_OK;
}

static Status take_pose(const TextFile *text, const char *line, Stream *out, Error *err) {
    double numbers[8];
    Status status = text_numbers(text, line, numbers, 8, err);
    if (status) return status;
    out->times[out->count] = numbers[0];
    memcpy((double *)out->items + 7 * out->count, numbers + 1, 7 * sizeof(double));
    status = check_order(text, out, err);
    out->count += !status;
    return status;
}

static Status read_stream(const char *folder, const char *name, bool poses, Stream *out, Error *err) {
    char path[FILE_PATH_SIZE], *line;
    TextFile text = {0};
    *out = (Stream){0};
    Status status = file_join(path, sizeof path, folder, name, err);
    if (!status) status = text_open(path, &text, err);
    if (!status) status = stream_make(&text, poses ? 7 * sizeof(double) : sizeof(char *), out, err);
    while (!status && text_next_line(&text, &line)) {
        if (line[strspn(line, " \t")] == '#') continue;
        status = poses ? take_pose(&text, line, out, err) : take_name(&text, line, out, err);
    }
    if (!status && out->count == 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected lines with times, found none", path);
    text_close(&text);
    return status;
}

// The calibrations that the data set's page gives for its three cameras.
static Lens lens_by_name(const char *folder, const Log *log) {
    static const struct {
        const char *name;
        double k[9];
    } known[] = {
        {"freiburg1", {517.3, 516.5, 318.6, 255.3, 0.2624, -0.9531, -0.0054, 0.0026, 1.1633}},
        {"freiburg2", {520.9, 521.0, 325.1, 249.7, 0.2312, -0.7849, -0.0033, -0.0001, 0.9172}},
        {"freiburg3", {535.4, 539.2, 320.1, 247.6, 0, 0, 0, 0, 0}},
    };
    ImportOptions options = {.intrinsics = {525, 525, 319.5, 239.5}};
    bool found = false;
    for (size_t i = 0; !found && i < sizeof known / sizeof *known; i++) {
        found = strstr(folder, known[i].name) != NULL;
        if (found) memcpy(options.intrinsics, known[i].k, sizeof options.intrinsics);
    }
    if (!found)
        log_warning(log,
                    "%s: no intrinsics in this layout and no freiburg1, 2 or 3 in the name: taking 525,525,319.5,239.5 "
                    "(--intrinsics)",
                    folder);
    Lens lens = given_lens(&options);
    lens.H = 480;
    lens.W = 640;
    return lens;
}

static void pose_of(const double numbers[7], double pose[16]) {
    double R[9], wxyz[4] = {numbers[6], numbers[3], numbers[4], numbers[5]};
    rotation_from_quaternion(wxyz, R);
    pose_from_rotation(R, numbers, pose);
}

static Status pair(const ImportSource *source, const Stream *colour, const Stream *depth, const Stream *poses,
                   const Lens *lens, PosedSet *out, Error *err) {
    double gap = source->options->gap > 0 ? source->options->gap : GAP;
    Status status = STATUS_OK;
    for (size_t i = 0; !status && i < colour->count; i++) {
        double time = colour->times[i];
        long d = nearest_time(depth->times, depth->count, time, gap),
             p = nearest_time(poses->times, poses->count, time, gap);
        if (d < 0 || p < 0) continue;
        PosedImage image = {.time = time, .lens = *lens};
        pose_of((const double *)poses->items + 7 * p, image.world_from_camera);
        status = add_named_picture(source->path, ((char **)colour->items)[i], source->path, ((char **)depth->items)[d],
                                   &image, out, err);
    }
    if (status) return status;
    if (out->count == 0)
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: expected depth and poses within %.4g s of a colour picture, found none; are the clocks the "
            "same? (--gap)",
            source->path, gap);
    if (out->count < colour->count)
        log_warning(source->log, "%s: %zu of %zu pictures have no depth or no pose within %.4g s and are left out",
                    source->path, colour->count - out->count, colour->count, gap);
    return STATUS_OK;
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    Stream colour = {0}, depth = {0}, poses = {0};
    Status status = read_stream(source->path, "rgb.txt", false, &colour, err);
    if (!status) status = read_stream(source->path, "depth.txt", false, &depth, err);
    if (!status) status = read_stream(source->path, "groundtruth.txt", true, &poses, err);
    if (!status) {
        bool given = source->options->has_intrinsics;
        Lens lens = given ? given_lens(source->options) : lens_by_name(source->path, source->log);
        status = pair(source, &colour, &depth, &poses, &lens, out, err);
    }
    free_names(&colour);
    free_names(&depth);
    free(poses.times);
    free(poses.items);
    out->depth_scale = 1.0 / 5000;
    snprintf(out->source, sizeof out->source, "TUM RGB-D");
    return status;
}

const Importer import_tum = {
    .name = "tum",
    .layout = "rgb.txt, depth.txt, groundtruth.txt and the pictures that they name",
    .detect = detect,
    .count = one_episode,
    .run = run,
};
