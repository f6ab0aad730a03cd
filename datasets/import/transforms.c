// SPDX-License-Identifier: Apache-2.0
// nerfstudio and instant-ngp: transforms.json with camera-to-world matrices in OpenGL axes; intrinsics and distortion
// for all pictures or each; depth in millimetres unless depth_unit_scale_factor (instant-ngp: integer_depth_scale) says
// otherwise, 0 = unknown. Pictures without depth are left out. With "time" (and "camera_id") it is a video.
#include "base/camera.h"
#include "base/file.h"
#include "base/json_fields.h"
#include "datasets/import/formats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CAMERAS_MAX = 4096 };

typedef struct Transforms {
    const char *path;            // of the JSON file
    char folder[FILE_PATH_SIZE]; // its folder: every path must lie beneath it
    json_t *root;
    const char *cameras[CAMERAS_MAX]; // names of camera_id, in the order of their first pictures
    long numbers[CAMERAS_MAX];        // their values, if they are whole numbers
    int camera_count;
    size_t timed;
    const char *other_time; // a key of a frame without "time" that may be meant for it; NULL: none
} Transforms;

static bool find_file(const char *path, char out[FILE_PATH_SIZE]) {
    static const char *const NAMES[] = {"transforms.json", "transforms_train.json"};
    if (name_ends(path, ".json") && file_exists(path) && !file_is_folder(path))
        return file_join(out, FILE_PATH_SIZE, "", path, NULL) == STATUS_OK;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (file_join(out, FILE_PATH_SIZE, path, NAMES[i], NULL) == STATUS_OK && file_exists(out)) return true;
    }
    return false;
}

static bool is_episode(const char *path) {
    char unused[FILE_PATH_SIZE];
    return find_file(path, unused);
}

// The value of the frame, else of the file.
static const json_t *holder_of(const Transforms *file, const json_t *frame, const char *key) {
    return json_object_get(frame, key) ? frame : file->root;
}

static Status number_of(const Transforms *file, const json_t *frame, const char *key, double *out, Error *err) {
    return json_field_number_optional(file->path, holder_of(file, frame, key), key, out, err);
}

static Status read_model(const Transforms *file, const json_t *frame, Lens *lens, Error *err) {
    static const char *const PLAIN[] = {"OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL"};
    const char *model = json_string_value(json_object_get(holder_of(file, frame, "camera_model"), "camera_model"));
    lens->fisheye = json_is_true(json_object_get(holder_of(file, frame, "is_fisheye"), "is_fisheye"));
    if (!model) return STATUS_OK;
    if (strcmp(model, "OPENCV_FISHEYE") == 0) lens->fisheye = true;
    bool known = lens->fisheye;
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++) known = known || strcmp(model, PLAIN[i]) == 0;
    return known ? STATUS_OK
                 : error_set(
                       err, STATUS_BAD_INPUT,
                       "%s: \"camera_model\": expected OPENCV, PINHOLE or OPENCV_FISHEYE, found \"%.40s\"; undistort "
                       "the pictures first",
                       file->path, model);
}

static Status read_distortion(const Transforms *file, const json_t *frame, Lens *lens, Error *err) {
    static const char *const RADIAL[4] = {"k1", "k2", "k3", "k4"}, *const TANGENTIAL[2] = {"p1", "p2"};
    Status status = read_model(file, frame, lens, err);
    for (int i = 0; !status && i < 4; i++) status = number_of(file, frame, RADIAL[i], &lens->radial[i], err);
    for (int i = 0; !status && i < 2; i++) status = number_of(file, frame, TANGENTIAL[i], &lens->tangential[i], err);
    return status;
}

static Status check_angle(const Transforms *file, const char *key, double angle, Error *err) {
    if (!(angle < 0) && angle < 3.14159) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected \"%s\" in radians, from 0 to pi, found %.6g%s", file->path,
                     key, angle, angle > 0 ? "; are those degrees?" : "");
}

// Focal lengths in pixels, or from the horizontal field of view.
static Status read_lens(const Transforms *file, const json_t *frame, const char *colour, Lens *lens, Error *err) {
    double w = 0, h = 0, fx = 0, fy = 0, cx = NAN, cy = NAN, angle = 0, angle_y = 0;
    Status status = number_of(file, frame, "w", &w, err);
    if (!status) status = number_of(file, frame, "h", &h, err);
    if (!status) status = number_of(file, frame, "fl_x", &fx, err);
    if (!status) status = number_of(file, frame, "fl_y", &fy, err);
    if (!status) status = number_of(file, frame, "cx", &cx, err);
    if (!status) status = number_of(file, frame, "cy", &cy, err);
    if (!status) status = number_of(file, frame, "camera_angle_x", &angle, err);
    if (!status) status = number_of(file, frame, "camera_angle_y", &angle_y, err);
    if (status) return status;
    if (fx == 0) status = check_angle(file, "camera_angle_x", angle, err);
    if (!status && fy == 0) status = check_angle(file, "camera_angle_y", angle_y, err);
    if (status) return status;
    int H = (int)fmin(h, 1e6), W = (int)fmin(w, 1e6);
    if (!(w >= 1 && h >= 1)) status = image_read_size(colour, &H, &W, err);
    if (status) return status;
    if (fx == 0 && angle > 0) fx = 0.5 * W / tan(0.5 * angle);
    if (fy == 0 && angle_y > 0) fy = 0.5 * H / tan(0.5 * angle_y);
    if (fy == 0) fy = fx;
    if (fx == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected \"fl_x\" or \"camera_angle_x\", found neither",
                         file->path);
    *lens = lens_of(fx, fy, isnan(cx) ? 0.5 * W : cx, isnan(cy) ? 0.5 * H : cy);
    lens->H = H;
    lens->W = W;
    return read_distortion(file, frame, lens, err);
}

// 4x4, or 3x4 as some programs write it.
static Status read_pose(const Transforms *file, const json_t *frame, double pose[16], Error *err) {
    bool short_one = json_count_numbers(json_object_get(frame, "transform_matrix")) == 12;
    pose_identity(pose);
    Status status = json_field_numbers(file->path, frame, "transform_matrix", pose, short_one ? 12 : 16, err);
    pose_flip_opengl(pose, pose);
    return status;
}

// Blender omits the ending of the name.
static Status read_colour(const Transforms *file, const json_t *frame, char **out, Error *err) {
    static const char *const ENDINGS[] = {"", ".png", ".jpg", ".webp"};
    const char *name;
    char longer[FILE_PATH_SIZE], path[FILE_PATH_SIZE];
    Status status = json_field_text(file->path, frame, "file_path", &name, err);
    if (status) return status;
    for (size_t i = 0; i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
        snprintf(longer, sizeof longer, "%.4000s%s", name, ENDINGS[i]);
        status = file_join(path, sizeof path, file->folder, longer, err);
        if (!status && file_exists(path)) return posed_path(file->folder, longer, out, err);
    }
    return status ? status : posed_path(file->folder, name, out, err);
}

static Status read_depth(const Transforms *file, const json_t *frame, char **out, Error *err) {
    const char *key = json_object_get(frame, "depth_file_path") ? "depth_file_path" : "depth_path", *name;
    if (!json_object_get(frame, key)) return STATUS_OK;
    Status status = json_field_text(file->path, frame, key, &name, err);
    return status ? status : posed_path(file->folder, name, out, err);
}

static bool is_camera(const Transforms *file, int i, const json_t *id) {
    if (json_is_string(id)) return file->cameras[i] && strcmp(file->cameras[i], json_string_value(id)) == 0;
    return !file->cameras[i] && file->numbers[i] == (long)json_integer_value(id);
}

static Status read_camera(Transforms *file, const json_t *frame, int *view, Error *err) {
    const json_t *id = json_object_get(frame, "camera_id");
    if (id && !json_is_string(id) && !json_is_integer(id))
        return error_set(err, STATUS_BAD_INPUT, "%s: \"camera_id\": expected a text or a whole number", file->path);
    for (*view = 0; *view < file->camera_count; ++*view) {
        if (is_camera(file, *view, id)) return STATUS_OK;
    }
    if (*view == CAMERAS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d cameras, found more", file->path, CAMERAS_MAX);
    file->cameras[*view] = json_string_value(id);
    file->numbers[*view] = (long)json_integer_value(id);
    file->camera_count++;
    return STATUS_OK;
}

static const char *find_other_time(const json_t *frame) {
    static const char *const NAMES[] = {"timestamp", "time_stamp", "timestamps", "stamp", "t"};
    for (size_t i = 0; !json_object_get(frame, "time") && i < sizeof NAMES / sizeof *NAMES; i++)
        if (json_object_get(frame, NAMES[i])) return NAMES[i];
    return NULL;
}

static Status read_frame(Transforms *file, const json_t *frame, PosedSet *out, Error *err) {
    PosedImage image = {.time = NAN};
    Status status = read_depth(file, frame, &image.depth, err);
    if (!status && !image.depth) {
        out->pictures_left_out++;
        return STATUS_OK;
    }
    if (!status) status = read_colour(file, frame, &image.colour, err);
    if (!status) status = read_lens(file, frame, image.colour, &image.lens, err);
    if (!status) status = read_pose(file, frame, image.world_from_camera, err);
    if (!status) status = json_field_number_optional(file->path, frame, "time", &image.time, err);
    if (!status) status = read_camera(file, frame, &image.view, err);
    file->timed += isfinite(image.time);
    if (!file->other_time) file->other_time = find_other_time(frame);
    if (!status) return posed_set_add(out, &image, err);
    posed_image_free(&image);
    return status;
}

static Status read_units(const Transforms *file, double *out, bool *said, Error *err) {
    *out = 0.001;
    *said =
        json_object_get(file->root, "integer_depth_scale") || json_object_get(file->root, "depth_unit_scale_factor");
    Status status = json_field_number_optional(file->path, file->root, "integer_depth_scale", out, err);
    if (!status) status = json_field_number_optional(file->path, file->root, "depth_unit_scale_factor", out, err);
    if (!status && !(*out > 0 && *out <= 1000))
        status =
            error_set(err, STATUS_BAD_INPUT, "%s: expected a depth unit above 0 metres, found %.6g", file->path, *out);
    return status;
}

// Without times `count` pictures are a still scene, which may not be what was recorded.
static void warn_of_still(const Transforms *file, size_t count, const Log *log) {
    if (file->other_time)
        log_warning(log,
                    "%s: its frames have \"%s\" and no \"time\", so the %zu pictures are views of one moment; rename "
                    "it to \"time\" if things move (seconds, or --time-unit)",
                    file->path, file->other_time, count);
    else if (file->camera_count > 1 && (size_t)file->camera_count < count)
        log_warning(log,
                    "%s: %zu pictures of %d cameras (camera_id) have no \"time\", so they are %zu views of one moment; "
                    "give each frame its time in seconds if things move",
                    file->path, count, file->camera_count, count);
}

static Status read_frames(Transforms *file, const ImportSource *source, PosedSet *out, Error *err) {
    json_t *frames;
    Status status = read_units(file, &out->depth_scale, &out->unit_is_said, err);
    if (!status) status = json_field_list(file->path, file->root, "frames", &frames, err);
    for (size_t i = 0; !status && i < json_array_size(frames); i++) {
        status = read_frame(file, json_array_get(frames, i), out, err);
        if (status) error_prefix(err, "frame %zu", i);
    }
    if (status) return status;
    if (out->count == 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected \"depth_file_path\" in its frames, found none: pictures without depth cannot be "
                         "used",
                         file->path);
    if (out->pictures_left_out)
        log_warning(source->log, "%s: %zu pictures have no depth and are left out", file->path, out->pictures_left_out);
    if (file->timed == 0) {
        warn_of_still(file, out->count, source->log);
        return STATUS_OK;
    }
    out->V = file->camera_count;
    status = times_to_seconds(out, source, file->path, err);
    if (status) return status;
    return posed_set_align(out, source->options->gap, file->path, source->log, err);
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    char path[FILE_PATH_SIZE];
    Transforms *file = calloc(1, sizeof *file);
    if (!file) return error_set(err, STATUS_FAILED, "%s: no memory to import it", source->path);
    find_file(source->path, path);
    file->path = path;
    Status status = file_folder(file->folder, path, err);
    if (!status) status = json_read_file(path, JSON_FILE_MAX, &file->root, err);
    if (!status) status = read_frames(file, source, out, err);
    snprintf(out->source, sizeof out->source, "imported from transforms.json (nerfstudio)");
    json_decref(file->root);
    free(file);
    return status;
}

const Importer import_transforms = {
    .name = "nerfstudio",
    .layout = "transforms.json with file_path, depth_file_path and transform_matrix of each frame",
    .is_episode = is_episode,
    .run = run,
};
