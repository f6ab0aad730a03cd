// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/robot_file.h"

#include "base/camera.h"
#include "datasets/import/listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EPISODES_MAX = 100000, ENTRIES_MAX = 4096, FRAMES_MAX = 1000000, ACTION_MAX = 4096, COMPRESSED_MAX = 1 << 26 };

// ---- episodes of a file

typedef struct Names {
    const char *prefix;
    FileList list;
    size_t capacity;
} Names;

static Status collect(void *owner, const char *name, Error *err) {
    Names *names = owner;
    if (strncmp(name, names->prefix, strlen(names->prefix)) != 0) return STATUS_OK;
    if (names->list.count == names->capacity) {
        size_t capacity = 2 * names->capacity + 64;
        char **grown = realloc(names->list.names, capacity * sizeof *grown);
        if (!grown) return error_set(err, STATUS_FAILED, "no memory for %zu names", capacity);
        names->list.names = grown;
        names->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy) return error_set(err, STATUS_FAILED, "no memory for a name");
    names->list.names[names->list.count++] = copy;
    return STATUS_OK;
}

static int by_number(const void *a, const void *b) {
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static Status list_children(const H5Place *group, const char *prefix, size_t max, FileList *out, Error *err) {
    Names names = {.prefix = prefix};
    Status status = h5_each_child(group, max, collect, &names, err);
    *out = names.list;
    if (out->count) qsort(out->names, out->count, sizeof *out->names, by_number);
    return status;
}

// Opens group after group: "obs/sensor_data".
static Status open_path(const H5Place *from, const char *const *path, H5Place *out, bool *found, Error *err) {
    H5Place at = *from;
    *out = (H5Place){0};
    *found = true;
    for (int i = 0; path[i]; i++) {
        H5Place next;
        Status status = h5_open_group(&at, path[i], false, &next, found, err);
        if (i > 0) h5_close(&at);
        if (status || !*found) return status;
        at = next;
    }
    *out = at;
    return STATUS_OK;
}

typedef struct Inside {
    RobotLayout layout;
    H5Place parent; // of the episodes' groups
    FileList names;
} Inside;

static Status look_inside(const H5Place *file, Inside *out, Error *err) {
    static const char *const DATA[] = {"data", NULL}, *const ALOHA[] = {"observations", "images", NULL};
    bool found;
    *out = (Inside){0};
    Status status = open_path(file, ALOHA, &out->parent, &found, err);
    if (status) return status;
    if (found) {
        out->layout = ROBOT_ALOHA;
        return STATUS_OK;
    }
    status = open_path(file, DATA, &out->parent, &found, err);
    if (!status && found) status = list_children(&out->parent, "demo_", EPISODES_MAX, &out->names, err);
    else if (!status) status = list_children(file, "traj_", EPISODES_MAX, &out->names, err);
    if (!status && out->names.count) out->layout = found ? ROBOT_OBS : ROBOT_SENSORS;
    return status;
}

static void inside_free(Inside *inside) {
    h5_close(&inside->parent);
    file_list_free(&inside->names);
}

static bool is_hdf5(const char *name) { return name_ends(name, ".hdf5") || name_ends(name, ".h5"); }

// The files of a path, sorted.
static Status list_files(const char *path, FileList *out, Error *err) {
    if (!file_is_folder(path)) {
        out->names = calloc(1, sizeof *out->names);
        if (out->names && (out->names[0] = strdup(path))) out->count = 1;
        return out->count ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: no memory", path);
    }
    FileList all = {0};
    Status status = list_names(path, NULL, NULL, &all, err);
    out->names = calloc(all.count + 1, sizeof *out->names);
    for (size_t i = 0; !status && out->names && i < all.count; i++) {
        char joined[FILE_PATH_SIZE];
        if (is_hdf5(all.names[i]) && file_join(joined, sizeof joined, path, all.names[i], NULL) == STATUS_OK &&
            (out->names[out->count] = strdup(joined)))
            out->count++;
    }
    file_list_free(&all);
    return status;
}

// ---- one episode

static void camera_close(RobotCamera *camera) {
    h5_array_close(&camera->colour);
    h5_array_close(&camera->depth);
    free(camera->poses);
}

void robot_close(RobotEpisode *episode) {
    for (int i = 0; i < episode->camera_count; i++) camera_close(&episode->cameras[i]);
    h5_close(&episode->file);
    free(episode->actions);
    *episode = (RobotEpisode){0};
}

static Status open_pictures(const H5Place *group, const char *name, RobotEpisode *episode, RobotCamera *out,
                            Error *err) {
    H5Expect expect = {
        .kinds = H5_U8, .rank = 4, .dims = {episode->frames, 0, 0, 3}, .dims_max = FRAMES_MAX, .letters = "T,H,W,C"};
    Status status = h5_open_array(group, name, true, &expect, &out->colour, NULL, err);
    if (status) return status;
    episode->frames = (size_t)out->colour.dims[0];
    out->H = (int)out->colour.dims[1];
    out->W = (int)out->colour.dims[2];
    return STATUS_OK;
}

// Depth as (T,H,W,1) or (T,H,W) of any type that is written.
static Status open_depth(const H5Place *group, const char *name, const RobotEpisode *episode, H5Array *out,
                         Error *err) {
    unsigned kinds = H5_REALS | H5_U16 | H5_I16 | H5_I32;
    H5Expect flat = {.kinds = kinds, .rank = 3, .dims = {episode->frames, 0, 0}, .letters = "T,H,W"};
    H5Expect deep = {.kinds = kinds, .rank = 4, .dims = {episode->frames, 0, 0, 1}, .letters = "T,H,W,1"};
    bool found;
    *out = (H5Array){0};
    if (h5_open_array(group, name, false, &deep, out, &found, NULL) == STATUS_OK) return STATUS_OK;
    *out = (H5Array){0};
    return h5_open_array(group, name, false, &flat, out, &found, err);
}

static RobotCamera *new_camera(RobotEpisode *episode, const char *name, size_t length, Error *err) {
    if (episode->camera_count == ROBOT_CAMERAS_MAX || length >= sizeof episode->cameras[0].name) {
        error_set(err, STATUS_BAD_INPUT, "%s expected at most %d cameras with names of at most 63 letters",
                  episode->file.text, ROBOT_CAMERAS_MAX);
        return NULL;
    }
    RobotCamera *camera = &episode->cameras[episode->camera_count++];
    *camera = (RobotCamera){0};
    memcpy(camera->name, name, length);
    return camera;
}

// obs/NAME_image or obs/NAME_rgb.
static Status add_observation(RobotEpisode *episode, const H5Place *obs, const char *name, Error *err) {
    size_t ending = name_ends(name, "_image") ? 6 : name_ends(name, "_rgb") ? 4 : 0;
    char depth[96];
    if (!ending) return STATUS_OK;
    RobotCamera *camera = new_camera(episode, name, strlen(name) - ending, err);
    if (!camera) return STATUS_BAD_INPUT;
    snprintf(depth, sizeof depth, "%s_depth", camera->name);
    Status status = open_pictures(obs, name, episode, camera, err);
    return status ? status : open_depth(obs, depth, episode, &camera->depth, err);
}

static Status read_doubles(const H5Place *group, const char *name, const H5Expect *expect, H5Array *array, double **out,
                           Error *err) {
    Status status = h5_open_array(group, name, true, expect, array, NULL, err);
    if (status) return status;
    size_t count = array->bytes / h5_kind_bytes(array->kind);
    *out = malloc((count + 1) * sizeof **out);
    status =
        *out ? h5_array_read(array, H5_F64, *out, err) : error_set(err, STATUS_FAILED, "%s: no memory", array->text);
    h5_array_close(array);
    return status;
}

// ManiSkill: intrinsic_cv (T,3,3) and extrinsic_cv (T,3,4), camera from world, OpenCV axes.
static Status read_calibration(RobotEpisode *episode, const H5Place *group, RobotCamera *camera, Error *err) {
    static const double LAST[4] = {0, 0, 0, 1};
    H5Expect lens = {.kinds = H5_REALS, .rank = 3, .dims = {0, 3, 3}, .dims_max = FRAMES_MAX};
    H5Expect pose = {.kinds = H5_REALS, .rank = 3, .dims = {0, 3, 4}, .dims_max = FRAMES_MAX};
    H5Array array = {0};
    double *K = NULL, *rows = NULL;
    Status status = read_doubles(group, "intrinsic_cv", &lens, &array, &K, err);
    if (!status) status = read_doubles(group, "extrinsic_cv", &pose, &array, &rows, err);
    size_t count = status ? 0 : (size_t)array.dims[0];
    if (!status && count < episode->frames) count = 1;
    if (!status && !(camera->poses = calloc(count, 16 * sizeof(double))))
        status = error_set(err, STATUS_FAILED, "%s no memory", episode->file.text);
    for (size_t i = 0; !status && i < count; i++) {
        double *to = camera->poses + 16 * i;
        memcpy(to, rows + 12 * i, 12 * sizeof(double));
        memcpy(to + 12, LAST, sizeof LAST);
        pose_inverse(to, to);
    }
    if (!status) {
        camera->pose_count = count;
        camera->has_lens = true;
        camera->lens = lens_of(K[0], K[4], K[2], K[5]);
    }
    free(K);
    free(rows);
    return status;
}

static Status add_sensor(RobotEpisode *episode, const H5Place *group, const char *name, Error *err) {
    const char *const data[] = {"obs", "sensor_data", name, NULL}, *const parameters[] = {"obs", "sensor_param", name,
                                                                                          NULL};
    H5Place place;
    bool found;
    RobotCamera *camera = new_camera(episode, name, strlen(name), err);
    if (!camera) return STATUS_BAD_INPUT;
    Status status = open_path(group, data, &place, &found, err);
    if (!status) status = open_pictures(&place, "rgb", episode, camera, err);
    if (!status) status = open_depth(&place, "depth", episode, &camera->depth, err);
    h5_close(&place);
    if (!status) status = open_path(group, parameters, &place, &found, err);
    if (!status && found) status = read_calibration(episode, &place, camera, err);
    h5_close(&place);
    return status;
}

// (T,H,W,3), or (T,bytes): a JPEG in each row.
static Status add_aloha(RobotEpisode *episode, const H5Place *images, const char *name, Error *err) {
    H5Expect rows = {.kinds = H5_U8, .rank = 2, .dims = {episode->frames, 0}, .dims_max = COMPRESSED_MAX};
    RobotCamera *camera = new_camera(episode, name, strlen(name), err);
    Image first = {0};
    if (!camera) return STATUS_BAD_INPUT;
    if (h5_open_array(images, name, true, &rows, &camera->colour, NULL, NULL) != STATUS_OK) {
        camera->colour = (H5Array){0};
        return open_pictures(images, name, episode, camera, err);
    }
    episode->frames = (size_t)camera->colour.dims[0];
    Status status = robot_read(&camera->colour, 0, &first, err);
    camera->H = first.H;
    camera->W = first.W;
    image_free(&first);
    return status;
}

static Status add_cameras(RobotEpisode *episode, const H5Place *group, Error *err) {
    static const char *const OBS[] = {"obs", NULL}, *const SENSORS[] = {"obs", "sensor_data", NULL};
    H5Place place = {0};
    FileList names = {0};
    bool found = true, aloha = episode->layout == ROBOT_ALOHA;
    Status status = STATUS_OK;
    if (!aloha) status = open_path(group, episode->layout == ROBOT_OBS ? OBS : SENSORS, &place, &found, err);
    if (!status && !found)
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: expected pictures under obs, found none; was the set recorded with states alone?",
                           group->text);
    if (!status) status = list_children(aloha ? group : &place, "", ENTRIES_MAX, &names, err);
    for (size_t i = 0; !status && i < names.count; i++) {
        status = aloha                          ? add_aloha(episode, group, names.names[i], err)
                 : episode->layout == ROBOT_OBS ? add_observation(episode, &place, names.names[i], err)
                                                : add_sensor(episode, group, names.names[i], err);
    }
    if (!status && episode->camera_count == 0)
        status =
            error_set(err, STATUS_BAD_INPUT, "%s: expected pictures of at least one camera, found none", group->text);
    file_list_free(&names);
    h5_close(&place);
    return status;
}

// Actions of the steps; an extra last frame repeats the last action.
static Status read_actions(RobotEpisode *episode, const H5Place *group, const char *name, Error *err) {
    H5Expect expect = {.kinds = H5_REALS, .rank = 2, .dims_max = FRAMES_MAX, .letters = "T,A"};
    H5Array array = {0};
    bool found;
    Status status = h5_open_array(group, name, false, &expect, &array, &found, err);
    if (status || !found) return status;
    size_t rows = (size_t)array.dims[0], A = (size_t)array.dims[1], F = episode->frames;
    if (A > ACTION_MAX || (rows != F && rows + 1 != F))
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected %zu actions of at most %d numbers, found %zu of %zu",
                           array.text, F, ACTION_MAX, rows, A);
    if (!status && !(episode->actions = calloc(F * A, sizeof(float))))
        status = error_set(err, STATUS_FAILED, "%s: no memory", array.text);
    if (!status) status = h5_array_read(&array, H5_F32, episode->actions, err);
    if (!status && rows < F) memcpy(episode->actions + rows * A, episode->actions + (rows - 1) * A, A * sizeof(float));
    episode->A = status ? 0 : A;
    h5_array_close(&array);
    return status;
}

// Number `wanted` of the file's episodes; *count becomes how many there are.
static Status open_in_file(const char *path, int wanted, int *count, RobotEpisode *out, Error *err) {
    Inside inside = {0};
    H5Place group = {0};
    Status status = h5_open_file(path, &out->file, err);
    if (!status) status = look_inside(&out->file, &inside, err);
    *count = status ? 0 : inside.layout == ROBOT_ALOHA ? 1 : (int)inside.names.count;
    if (status || wanted < 0 || wanted >= *count) {
        inside_free(&inside);
        return status;
    }
    out->layout = inside.layout;
    bool aloha = inside.layout == ROBOT_ALOHA;
    const char *slash = strrchr(path, '/');
    snprintf(out->name, sizeof out->name, "%.63s", aloha ? (slash ? slash + 1 : path) : inside.names.names[wanted]);
    if (!aloha)
        status = h5_open_group(inside.layout == ROBOT_OBS ? &inside.parent : &out->file, inside.names.names[wanted],
                               true, &group, NULL, err);
    if (!status) status = add_cameras(out, aloha ? &inside.parent : &group, err);
    if (!status) status = read_actions(out, aloha ? &out->file : &group, aloha ? "action" : "actions", err);
    h5_close(&group);
    inside_free(&inside);
    return status;
}

int robot_count(const char *path) {
    FileList files = {0};
    int total = 0;
    if (list_files(path, &files, NULL) == STATUS_OK) {
        for (size_t i = 0; i < files.count; i++) {
            RobotEpisode episode = {0};
            int count;
            if (open_in_file(files.names[i], -1, &count, &episode, NULL) == STATUS_OK) total += count;
            robot_close(&episode);
        }
    }
    file_list_free(&files);
    return total;
}

Status robot_open(const char *path, int wanted, RobotEpisode *out, Error *err) {
    FileList files = {0};
    *out = (RobotEpisode){0};
    Status status = list_files(path, &files, err);
    for (size_t i = 0; !status && i < files.count; i++) {
        int count;
        status = open_in_file(files.names[i], wanted, &count, out, err);
        if (status || out->layout) break;
        robot_close(out);
        wanted -= count;
    }
    file_list_free(&files);
    if (status) robot_close(out);
    return status;
}

static Status read_frame(H5Array *array, size_t frame, H5Kind kind, void *out, Error *err) {
    hsize_t start[H5_RANK_MAX] = {frame}, count[H5_RANK_MAX] = {1};
    for (int i = 1; i < array->rank; i++) count[i] = array->dims[i];
    Status status = h5_array_read_block(array, start, count, kind, out, err);
    if (status != STATUS_BAD_INPUT) return status;
    return error_set(err, status, "%s: the picture of frame %zu cannot be read; the file is damaged", array->text,
                     frame);
}

// Bytes behind the picture's end are ignored: rows are as long as the longest picture.
static Status read_compressed(H5Array *array, size_t frame, Image *out, Error *err) {
    size_t size = (size_t)array->dims[1];
    char name[H5_PLACE_SIZE + 32];
    *out = (Image){0};
    void *bytes = malloc(size);
    if (!bytes) return error_set(err, STATUS_FAILED, "%s: no memory for %zu bytes", array->text, size);
    Status status = read_frame(array, frame, H5_U8, bytes, err);
    snprintf(name, sizeof name, "%s: frame %zu", array->text, frame);
    if (!status) status = image_decode(bytes, size, name, out, err);
    free(bytes);
    return status;
}

Status robot_read(H5Array *array, size_t frame, Image *out, Error *err) {
    bool colour = array->kind == H5_U8, real = array->kind & H5_REALS;
    if (array->rank == 2) return read_compressed(array, frame, out, err);
    int H = (int)fmin((double)array->dims[1], 1e9), W = (int)fmin((double)array->dims[2], 1e9);
    Status status = image_create(H, W, colour ? 3 : 1, colour ? PIXEL_U8 : real ? PIXEL_F32 : PIXEL_U16, out, err);
    if (status) return error_prefix(err, "%s", array->text);
    status = read_frame(array, frame, colour ? H5_U8 : real ? H5_F32 : H5_U16, out->pixels, err);
    if (status) image_free(out);
    return status;
}
