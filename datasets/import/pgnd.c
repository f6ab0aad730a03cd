// SPDX-License-Identifier: Apache-2.0
// PGND: camera_i/rgb/%06d.jpg, camera_i/depth/%06d.png (millimetres), calibration/{intrinsics,rvecs,tvecs}.npy (world
// to camera, rotation vectors), timestamps.txt with a line a frame whose last numbers are each camera's time: the
// cameras are not synchronised, so the pictures nearest in time are matched. An episode, or a folder of episodes.
#include "base/camera.h"
#include "datasets/import/listing.h"
#include "datasets/import/rig.h"
#include "datasets/import/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CAMERAS_MAX = 256 };

static bool is_episode(const char *folder) {
    return has_file(folder, "calibration/intrinsics.npy") && has_file(folder, "calibration/rvecs.npy") &&
           has_folder(folder, "camera_0/rgb") && has_folder(folder, "camera_0/depth");
}

typedef struct Rig {
    const char *folder;
    NpyArray K, rotation, translation; // (V,3,3), (V,3), (V,3)
    int V;
    double *times; // (lines,V); NULL: frames at `fps`
    size_t lines;
    double fps;
} Rig;

static void rotation_from_vector(const double r[3], double R[9]) {
    double angle = sqrt(r[0] * r[0] + r[1] * r[1] + r[2] * r[2]), s = angle > 1e-12 ? sin(0.5 * angle) / angle : 0.5;
    rotation_from_quaternion((double[]){cos(0.5 * angle), s * r[0], s * r[1], s * r[2]}, R);
}

// The last V words of a line.
static Status take_times(const TextFile *text, char *line, int V, double *out, Error *err) {
    char *end = line + strlen(line);
    for (int v = V - 1; v >= 0; v--) {
        while (end > line && strchr(" \t,", end[-1])) *--end = 0;
        char *begin = end, *behind;
        while (begin > line && !strchr(" \t,", begin[-1])) begin--;
        out[v] = strtod(begin, &behind);
        if (begin == end || behind != end || !isfinite(out[v]))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s:%d: expected a time of each of the %d cameras at the end of the line", text->path,
                             text->line, V);
        end = begin;
    }
    return STATUS_OK;
}

static Status read_times(Rig *rig, Error *err) {
    char path[FILE_PATH_SIZE], *line;
    TextFile text = {0};
    Status status = file_join(path, sizeof path, rig->folder, "timestamps.txt", err);
    if (!status) status = text_open(path, &text, err);
    for (size_t i = 0; !status && i < text.length; i++) rig->lines += text.text[i] == '\n';
    if (!status && !(rig->times = calloc((rig->lines + 1) * (size_t)rig->V, sizeof(double))))
        status = error_set(err, STATUS_FAILED, "%s: no memory to read it", path);
    rig->lines = 0;
    while (!status && text_next_line(&text, &line)) {
        status = take_times(&text, line, rig->V, rig->times + rig->lines * (size_t)rig->V, err);
        rig->lines++;
    }
    text_close(&text);
    return status;
}

static double time_of(const void *owner, int view, long number) {
    const Rig *rig = owner;
    if (number < 0) return NAN;
    if (!rig->times) return (double)number / rig->fps;
    return (size_t)number < rig->lines ? rig->times[(size_t)number * (size_t)rig->V + (size_t)view] : NAN;
}

static Status read_calibration(Rig *rig, Error *err) {
    char folder[FILE_PATH_SIZE];
    Status status = file_join(folder, sizeof folder, rig->folder, "calibration", err);
    if (!status) status = rig_read_array(folder, "intrinsics.npy", 3, (size_t[]){0, 3, 3}, &rig->K, err);
    size_t V = status ? 0 : rig->K.dims[0];
    if (!status && V > CAMERAS_MAX)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d cameras, found %zu", folder, CAMERAS_MAX, V);
    if (!status) status = rig_read_array(folder, "rvecs.npy", 2, (size_t[]){V, 3}, &rig->rotation, err);
    if (!status) status = rig_read_array(folder, "tvecs.npy", 2, (size_t[]){V, 3}, &rig->translation, err);
    rig->V = (int)V;
    return status;
}

static Status add_camera(const Rig *rig, int v, PosedSet *out, Error *err) {
    char name[64];
    double R[9], camera_from_world[16];
    RigCamera camera = {.view = v, .depth_ending = ".png", .lens = lens_of_matrix(rig->K.values + 9 * v, 3)};
    rotation_from_vector(rig->rotation.values + 3 * v, R);
    pose_from_rotation(R, rig->translation.values + 3 * v, camera_from_world);
    pose_inverse(camera_from_world, camera.world_from_camera);
    snprintf(name, sizeof name, "camera_%d/rgb", v);
    Status status = file_join(camera.colour, sizeof camera.colour, rig->folder, name, err);
    snprintf(name, sizeof name, "camera_%d/depth", v);
    if (!status) status = file_join(camera.depth, sizeof camera.depth, rig->folder, name, err);
    return status ? status : rig_add_camera(&camera, time_of, rig, out, err);
}

static Status read_clock(Rig *rig, const ImportOptions *options, Error *err) {
    if (has_file(rig->folder, "timestamps.txt")) return read_times(rig, err);
    rig->fps = options->fps;
    return rig->fps > 0
               ? STATUS_OK
               : error_set(err, STATUS_BAD_INPUT, "%s: expected timestamps.txt, found none; give --fps N", rig->folder);
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    Rig rig = {.folder = source->path};
    Status status = read_calibration(&rig, err);
    if (!status) status = read_clock(&rig, source->options, err);
    for (int v = 0; !status && v < rig.V; v++) status = add_camera(&rig, v, out, err);
    out->V = rig.V;
    if (!status && rig.times) status = times_to_seconds(out, source, source->path, err);
    if (!status) status = rig_align(source, out, err);
    npy_free(&rig.K);
    npy_free(&rig.rotation);
    npy_free(&rig.translation);
    free(rig.times);
    out->depth_scale = 0.001;
    snprintf(out->source, sizeof out->source, "PGND");
    return status;
}

const Importer import_pgnd = {
    .name = "pgnd",
    .layout = "camera_*/rgb, camera_*/depth, calibration/{intrinsics,rvecs,tvecs}.npy, timestamps.txt",
    .is_episode = is_episode,
    .in_folders = true,
    .run = run,
};
