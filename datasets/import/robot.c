// SPDX-License-Identifier: Apache-2.0
// robomimic, LIBERO, ManiSkill and ALOHA HDF5 (robot_file.h has the layouts). All but ManiSkill's lack cameras, and
// most lack depth: --cameras FILE gives the cameras and the units of the pictures:
//   {"agentview": {"intrinsics": [[fx, 0, cx], [0, fy, cy], [0, 0, 1]], "world_from_camera": 4x4 or one for each
//   frame},
//    "upside_down": true, "depth_near": 0.01, "depth_far": 50, "depth_unit": 0.001, "fps": 20}
// OpenCV axes, metres, pixel centres at halves (as robosuite's camera utilities give them). robosuite renders upside
// down and its depth is OpenGL's buffer (depth_near, depth_far); --depth DIR/EPISODE/CAMERA/000000.png or .npy has
// depth instead.
#include "base/camera.h"
#include "base/json_fields.h"
#include "base/options.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"
#include "datasets/import/robot_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ADVICE "give --cameras FILE with their intrinsics and poses (\"vpd data import --help\", docs/data.md)"

static int count_episodes(const char *path) {
    bool named = name_ends(path, ".hdf5") || name_ends(path, ".h5");
    return named || file_is_folder(path) ? robot_count(path) : 0;
}

typedef struct Given {
    const char *path;
    json_t *root; // NULL without --cameras
    double depth_near, depth_far, depth_unit, fps;
} Given;

static Status read_given(const ImportSource *source, RobotLayout layout, Given *out, PosedSet *set, Error *err) {
    *out = (Given){.path = source->options->cameras, .fps = source->options->fps};
    if (!out->path) return STATUS_OK;
    Status status = json_read_file(out->path, JSON_FILE_MAX, &out->root, err);
    if (!status) status = json_field_number_optional(out->path, out->root, "depth_near", &out->depth_near, err);
    if (!status) status = json_field_number_optional(out->path, out->root, "depth_far", &out->depth_far, err);
    if (!status) status = json_field_number_optional(out->path, out->root, "depth_unit", &out->depth_unit, err);
    if (!status && out->fps == 0) status = json_field_number_optional(out->path, out->root, "fps", &out->fps, err);
    if (!status && out->depth_unit > 0 && (out->depth_near > 0 || out->depth_far > 0))
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: \"depth_unit\" and \"depth_near\", \"depth_far\" (of OpenGL's buffer): expected one of "
                           "them, found both",
                           out->path);
    const json_t *over = json_object_get(out->root, "upside_down");
    if (!status && layout == ROBOT_OBS && !json_is_boolean(over))
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: expected \"upside_down\": true (pictures as robosuite and LIBERO render them) or false "
                           "(robomimic turns them)",
                           out->path);
    set->upside_down = json_is_true(over);
    return status;
}

// Every key that --cameras may have: settings and the cameras of the episode. Returns how many.
enum { SETTINGS = 5 };
static size_t known_keys(const RobotEpisode *episode, const char *out[SETTINGS + ROBOT_CAMERAS_MAX]) {
    static const char *const settings[SETTINGS] = {"depth_near", "depth_far", "depth_unit", "fps", "upside_down"};
    size_t count = 0;
    for (int i = 0; i < SETTINGS; i++) out[count++] = settings[i];
    for (int v = 0; v < episode->camera_count; v++) out[count++] = episode->cameras[v].name;
    return count;
}

static Status unknown_key(const Given *given, const RobotEpisode *episode, const char *key, const char *near,
                          Error *err) {
    char names[400] = "", meant[100] = "";
    for (int v = 0; v < episode->camera_count; v++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%.60s", v ? ", " : "",
                 episode->cameras[v].name);
    if (near) snprintf(meant, sizeof meant, "; did you mean \"%.60s\"?", near);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: \"%.60s\" is no camera of %s (%s), and not depth_near, depth_far, depth_unit, fps or "
                     "upside_down%s",
                     given->path, key, episode->file.text, names, meant);
}

// An error unless every key of --cameras is known.
static Status check_keys(const Given *given, const RobotEpisode *episode, Error *err) {
    const char *key, *known[SETTINGS + ROBOT_CAMERAS_MAX];
    json_t *value;
    size_t count = known_keys(episode, known);
    json_object_foreach(given->root, key, value) {
        bool found = false;
        for (size_t i = 0; i < count; i++) found = found || !strcmp(key, known[i]);
        if (!found) return unknown_key(given, episode, key, options_nearest_word(key, known, count), err);
    }
    return STATUS_OK;
}

static Status no_camera(const RobotEpisode *episode, const RobotCamera *camera, Error *err) {
    bool depth = camera->depth.id > 0;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s expected intrinsics%s of camera \"%s\", which this layout does not hold; " ADVICE "%s",
                     episode->file.text, depth ? " and poses" : ", poses and depth", camera->name,
                     depth ? "" : ", and --depth DIR");
}

// Intrinsics and poses of one camera from --cameras.
static Status take_given(const Given *given, RobotCamera *camera, size_t frames, Error *err) {
    json_t *object;
    double K[9];
    Status status = json_field_object(given->path, given->root, camera->name, &object, err);
    if (!status) status = json_field_numbers(given->path, object, "intrinsics", K, 9, err);
    if (status) return error_prefix(err, "camera \"%s\"", camera->name);
    bool many = json_count_numbers(json_object_get(object, "world_from_camera")) != 16;
    camera->pose_count = many ? frames : 1;
    free(camera->poses);
    camera->poses = calloc(camera->pose_count, 16 * sizeof(double));
    if (!camera->poses) return error_set(err, STATUS_FAILED, "%s: no memory", given->path);
    status = json_field_numbers(given->path, object, "world_from_camera", camera->poses, 16 * camera->pose_count, err);
    camera->has_lens = true;
    camera->lens = lens_of(K[0], K[4], K[2], K[5]);
    return status ? error_prefix(err, "camera \"%s\"", camera->name) : STATUS_OK;
}

// How depth is converted to metres; *external: pictures beneath --depth.
static Status settle_depth(const ImportSource *source, const RobotEpisode *episode, const Given *given, PosedSet *out,
                           Error *err) {
    const H5Array *depth = &episode->cameras[0].depth;
    bool inside = depth->id > 0 && !source->options->depth, real = depth->kind & H5_REALS;
    out->unit_is_said = given->depth_unit > 0;
    out->depth_scale = given->depth_unit > 0 ? given->depth_unit : inside && real ? 1 : 0.001;
    if (!inside && !source->options->depth)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s expected depth, which this file does not hold; give --depth DIR with "
                         "DIR/%s/%s/000000.png (16 bit, millimetres) or .npy",
                         episode->file.text, episode->name, episode->cameras[0].name);
    if (given->depth_near > 0 && given->depth_far > given->depth_near) {
        out->coding = DEPTH_BUFFER;
        out->buffer_near = given->depth_near;
        out->buffer_far = given->depth_far;
        return STATUS_OK;
    }
    if (inside && real && episode->layout == ROBOT_OBS && !(given->depth_unit > 0))
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s: expected \"depth_near\" and \"depth_far\" (metres, of OpenGL's buffer as robosuite stores it) or "
            "\"depth_unit\" (1: metres) in %s, found neither",
            depth->text, given->path);
    return STATUS_OK;
}

// Called from several threads: HDF5 has its lock.
static Status read_picture(const PosedSet *set, const PosedImage *image, bool depth, Image *out, Error *err) {
    RobotEpisode *episode = set->owner;
    RobotCamera *camera = &episode->cameras[image->number / episode->frames];
    if (depth && image->depth) return image_read(image->depth, out, err);
    return robot_read(depth ? &camera->depth : &camera->colour, image->number % episode->frames, out, err);
}

static void close_episode(void *owner) {
    robot_close(owner);
    free(owner);
}

static Status find_external(const ImportSource *source, const RobotEpisode *episode, const RobotCamera *camera,
                            size_t frame, char **out, Error *err) {
    char stem[160], name[192];
    snprintf(stem, sizeof stem, "%s/%s/%06zu", episode->name, camera->name, frame);
    if (find_depth_picture(source->options->depth, stem, ".png", name, sizeof name))
        return posed_path(source->options->depth, name, out, err);
    return error_set(err, STATUS_BAD_INPUT, "%s: expected %s/%s/%06zu.png, .npy, .npz or .exr, found none",
                     source->options->depth, episode->name, camera->name, frame);
}

static Status add_camera(const ImportSource *source, RobotEpisode *episode, const Given *given, int v, int view,
                         PosedSet *out, Error *err) {
    RobotCamera *camera = &episode->cameras[v];
    Status status = STATUS_OK;
    bool named = given->root && json_object_get(given->root, camera->name);
    if (named) status = take_given(given, camera, episode->frames, err);
    else if (!camera->has_lens) status = no_camera(episode, camera, err);
    if (!status && camera->depth.id <= 0 && !source->options->depth)
        status = error_set(err, STATUS_BAD_INPUT, "%s expected depth of camera \"%s\" too, found none",
                           episode->file.text, camera->name);
    camera->lens.H = camera->H;
    camera->lens.W = camera->W;
    for (size_t f = 0; !status && f < episode->frames; f++) {
        PosedImage image = {
            .frame = (int)f, .view = view, .number = (size_t)v * episode->frames + f, .lens = camera->lens};
        size_t pose = camera->pose_count > 1 ? f : 0;
        memcpy(image.world_from_camera, camera->poses + 16 * pose, sizeof image.world_from_camera);
        if (source->options->depth) status = find_external(source, episode, camera, f, &image.depth, err);
        if (!status) status = posed_set_add(out, &image, err);
    }
    return status;
}

// Of cameras without a calibration, those named in --cameras are used; without --cameras the first one is an error.
static Status add_cameras(const ImportSource *source, RobotEpisode *episode, const Given *given, PosedSet *out,
                          Error *err) {
    Status status = settle_depth(source, episode, given, out, err);
    if (!given->root && !episode->cameras[0].has_lens) return no_camera(episode, &episode->cameras[0], err);
    for (int v = 0; !status && v < episode->camera_count; v++) {
        bool named = given->root && json_object_get(given->root, episode->cameras[v].name);
        if (named || episode->cameras[v].has_lens) status = add_camera(source, episode, given, v, out->V++, out, err);
    }
    if (!status && out->V == 0) status = no_camera(episode, &episode->cameras[0], err);
    return status;
}

static Status set_times(const RobotEpisode *episode, double fps, PosedSet *out, Error *err) {
    if (!(fps > 0))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s expected --fps N (or \"fps\" in --cameras), since this layout has no times",
                         episode->file.text);
    out->F = (int)episode->frames;
    out->time = calloc(episode->frames, sizeof *out->time);
    if (!out->time) return error_set(err, STATUS_FAILED, "%s no memory", episode->file.text);
    for (size_t f = 0; f < episode->frames; f++) out->time[f] = (double)f / fps;
    return STATUS_OK;
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    Given given = {0};
    RobotEpisode *episode = calloc(1, sizeof *episode);
    if (!episode) return error_set(err, STATUS_FAILED, "%s: no memory", source->path);
    out->owner = episode;
    out->close = close_episode;
    out->read = read_picture;
    Status status = robot_open(source->path, source->episode, episode, err);
    if (!status) status = read_given(source, episode->layout, &given, out, err);
    if (!status) status = check_keys(&given, episode, err);
    if (!status) status = add_cameras(source, episode, &given, out, err);
    if (!status) status = set_times(episode, given.fps, out, err);
    if (!status && episode->actions) {
        out->actions = episode->actions;
        out->A = (int)episode->A;
        episode->actions = NULL;
    }
    json_decref(given.root);
    snprintf(out->scene, sizeof out->scene, "%.60s", episode->name);
    snprintf(out->source, sizeof out->source, "robot HDF5");
    return status;
}

const Importer import_robot = {
    .name = "robot",
    .layout = "an HDF5 file with data/demo_N/obs (robomimic, LIBERO), traj_N/obs/sensor_data (ManiSkill) or "
              "observations/images (ALOHA), or a folder of them",
    .count = count_episodes,
    .run = run,
};
