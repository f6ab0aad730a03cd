// SPDX-License-Identifier: Apache-2.0
// TUM RGB-D: rgb.txt and depth.txt ("time file"), groundtruth.txt ("time tx ty tz qx qy qz qw", camera to world, w
// last). The three streams are not synchronised: each colour picture gets the nearest depth within 20 ms, and a pose
// interpolated between the two around it when they are at most 40 ms apart; else it is left out. 16-bit PNG, 5000 a
// metre, registered to colour. The intrinsics are not in the folder: by name for the Freiburg cameras, else
// --intrinsics, else ROS's 525.
#include "base/camera.h"
#include "base/file.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAP 0.02        // seconds: pictures come every 33 ms, poses every 10
#define POSE_GAPS 2.001 // poses that many gaps apart are interpolated: at 5 m/s^2 that is off by 1 mm
#define POSE_ITSELF 0.1 // a single pose within this many gaps is used as it is

// Lines of a time and more, in the order of time.
typedef struct Stream {
    double *times; // (count)
    void *items;   // (count): char * or double[7]
    size_t count;
} Stream;

static bool is_episode(const char *path) { return has_file(path, "rgb.txt") && has_file(path, "depth.txt"); }

static void free_names(Stream *stream) {
    char **names = stream->items;
    for (size_t i = 0; names && i < stream->count; i++) free(names[i]);
    free(names);
    free(stream->times);
}

// Room for as many lines as the text can hold.
static Status stream_make(const TextFile *text, size_t width, Stream *out, Error *err) {
    size_t lines = 1;
    for (size_t i = 0; i < text->length; i++) lines += text->text[i] == '\n';
    *out = (Stream){.times = calloc(lines, sizeof(double)), .items = calloc(lines, width)};
    return out->times && out->items ? STATUS_OK : error_no_memory(err, "%s", text->path);
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
    if (!(names[out->count] = strdup(name))) return error_no_memory(err, "%s", text->path);
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
                    "%s: no freiburg1, 2 or 3 in the name, so the intrinsics are assumed to be 525,525,319.5,239.5; "
                    "give them with --intrinsics",
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

static void normalise(double q[4]) {
    double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) q[i] /= length;
}

// Positions linearly, rotations by slerp; t is 0 at a and 1 at b.
static void interpolate(const double a[7], const double b[7], double t, double out[7]) {
    double from[4], to[4];
    memcpy(from, a + 3, sizeof from);
    memcpy(to, b + 3, sizeof to);
    normalise(from);
    normalise(to);
    for (int i = 0; i < 3; i++) out[i] = (1 - t) * a[i] + t * b[i];
    quaternion_slerp(from, to, t, out + 3);
}

// The pose at a time; false when the recording has none.
static bool pose_at(const Stream *poses, double time, double gap, double pose[16]) {
    const double *items = poses->items, *times = poses->times;
    size_t nearest = (size_t)nearest_time(times, poses->count, time, INFINITY);
    size_t after = times[nearest] > time ? nearest : nearest + 1;
    double numbers[7], step = after > 0 && after < poses->count ? times[after] - times[after - 1] : INFINITY;
    if (fabs(times[nearest] - time) > 0 && step <= POSE_GAPS * gap) {
        interpolate(items + 7 * (after - 1), items + 7 * after, (time - times[after - 1]) / step, numbers);
        pose_of(numbers, pose);
        return true;
    }
    pose_of(items + 7 * nearest, pose);
    return fabs(times[nearest] - time) <= POSE_ITSELF * gap;
}

static Status pair(const ImportSource *source, const Stream *colour, const Stream *depth, const Stream *poses,
                   const Lens *lens, PosedSet *out, Error *err) {
    double gap = source->options->gap > 0 ? source->options->gap : GAP;
    Status status = STATUS_OK;
    for (size_t i = 0; !status && i < colour->count; i++) {
        double time = colour->times[i];
        long d = nearest_time(depth->times, depth->count, time, gap);
        PosedImage image = {.time = time, .lens = *lens};
        if (d < 0 || !pose_at(poses, time, gap, image.world_from_camera)) continue;
        status = add_named_picture(source->path, ((char **)colour->items)[i], source->path, ((char **)depth->items)[d],
                                   &image, out, err);
    }
    if (status) return status;
    if (out->count == 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected depth within %.4g s of a colour picture and poses at most %.4g s apart around "
                         "it, found none; "
                         "are the clocks the same? (--gap)",
                         source->path, gap, 2 * gap);
    out->pictures_left_out = colour->count - out->count;
    if (out->pictures_left_out)
        log_warning(source->log,
                    "%s: %zu of %zu pictures have no depth within %.4g s, or no poses at most %.4g s apart around "
                    "them, and are left out",
                    source->path, out->pictures_left_out, colour->count, gap, 2 * gap);
    return STATUS_OK;
}

static Status in_seconds(const ImportSource *source, Stream *colour, Stream *depth, Stream *poses, Error *err) {
    Stream *const all[3] = {colour, depth, poses};
    double unit;
    Status status = time_unit(colour->times, colour->count, source, source->path, &unit, err);
    for (int s = 0; !status && s < 3; s++)
        for (size_t i = 0; i < all[s]->count; i++) all[s]->times[i] *= unit;
    return status;
}

// Views of a still scene are what is taken unless more is said. --window and --holdout say that it is one.
static void note_still(const ImportSource *source, size_t count) {
    const ImportOptions *options = source->options;
    if (options->as != AS_RECORDED || options->window || options->holdout || count < 2) return;
    log_note(source->log,
             "%s: taken as %zu views of a still scene; --as video makes frames of a scene that moves, --as still says "
             "that it is one",
             source->path, count);
}

static Status check_poses(const char *folder, Error *err) {
    if (has_file(folder, "groundtruth.txt")) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected groundtruth.txt beside rgb.txt and depth.txt, the camera's poses in lines of \"time "
                     "tx ty tz qx qy qz qw\" (camera to world, metres), found none; tracking such as ORB-SLAM writes "
                     "one",
                     folder);
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    Stream colour = {0}, depth = {0}, poses = {0};
    Status status = check_poses(source->path, err);
    if (!status) status = read_stream(source->path, "rgb.txt", false, &colour, err);
    if (!status) status = read_stream(source->path, "depth.txt", false, &depth, err);
    if (!status) status = read_stream(source->path, "groundtruth.txt", true, &poses, err);
    if (!status) status = in_seconds(source, &colour, &depth, &poses, err);
    if (!status) {
        bool given = source->options->has_intrinsics;
        Lens lens = given ? given_lens(source->options) : lens_by_name(source->path, source->log);
        status = pair(source, &colour, &depth, &poses, &lens, out, err);
        if (!status) note_still(source, out->count);
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
    .is_episode = is_episode,
    .run = run,
};
