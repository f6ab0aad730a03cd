// SPDX-License-Identifier: Apache-2.0
// Kubric's raw renders (MOVi): a camera's folder has metadata.json and rgba_00000.png, depth_00000.tiff,
// segmentation_00000.png, each kind also in a folder of its own (3DGSim). An episode is one camera's folder, or a
// folder of them (cam_0, cam_1, ...); a recording is an episode or a folder of episodes. Depth is the length of the
// ray, not z; quaternions are w first; axes OpenGL's; K is normalised to a picture of size 1 with OpenGL's signs; the
// field of view is in radians.
#include "base/camera.h"
#include "base/json_fields.h"
#include "datasets/import/formats.h"
#include "datasets/import/listing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS_MAX = 4096, FRAMES_MAX = 1000000 };

static const char *const COLOUR_FOLDERS[] = {"rgba", "rgb", NULL}, *const DEPTH_FOLDERS[] = {"depth", NULL},
                         *const MASK_FOLDERS[] = {"segmentation", NULL};

static bool is_camera(const char *folder) {
    return has_file(folder, "metadata.json") && (has_file(folder, "rgba_00000.png") || has_folder(folder, "rgba"));
}

static bool is_episode(const char *folder) {
    char unused[FILE_PATH_SIZE];
    FileList cameras = {0};
    bool found = is_camera(folder);
    if (found || list_names(folder, "cam", NULL, &cameras, NULL) != STATUS_OK) return found;
    for (size_t i = 0; !found && i < cameras.count; i++)
        found = file_join(unused, sizeof unused, folder, cameras.names[i], NULL) == STATUS_OK && is_camera(unused);
    file_list_free(&cameras);
    return found;
}

typedef struct Camera {
    const char *path; // of metadata.json
    const char *folder;
    json_t *root, *camera;
    char colour[FILE_PATH_SIZE], depth[FILE_PATH_SIZE], mask[FILE_PATH_SIZE]; // folders
    bool has_mask;
    double frame_rate;
    double *positions, *quaternions; // (poses,3), (poses,4)
    size_t poses;
    Lens lens;
} Camera;

// Kubric's K is [fx 0 -cx; 0 -fy -cy; 0 0 -1], divided by the picture's size; some tools write it in pixels.
static Status read_matrix(Camera *camera, int H, int W, Error *err) {
    double K[9];
    Status status = json_field_numbers(camera->path, camera->camera, "K", K, 9, err);
    if (status) return status;
    bool normalised = fabs(K[2]) <= 2 && fabs(K[5]) <= 2;
    double w = normalised ? W : 1, h = normalised ? H : 1;
    camera->lens = lens_of(fabs(K[0]) * w, fabs(K[4]) * h, fabs(K[2]) * w, fabs(K[5]) * h);
    return STATUS_OK;
}

static Status read_lens(Camera *camera, int H, int W, Error *err) {
    double focal = 0, sensor = 0, angle = 0;
    if (json_object_get(camera->camera, "K")) return read_matrix(camera, H, W, err);
    Status status = json_field_number_optional(camera->path, camera->camera, "focal_length", &focal, err);
    if (!status) status = json_field_number_optional(camera->path, camera->camera, "sensor_width", &sensor, err);
    if (!status) status = json_field_number_optional(camera->path, camera->camera, "field_of_view", &angle, err);
    if (status) return status;
    double f = focal > 0 && sensor > 0 ? focal / sensor * W : angle > 0 ? 0.5 * W / tan(0.5 * angle) : 0;
    camera->lens = lens_of(f, f, 0.5 * W, 0.5 * H);
    return f > 0 ? STATUS_OK
                 : error_set(err, STATUS_BAD_INPUT,
                             "%s: \"camera\": expected K, focal_length with sensor_width, or field_of_view",
                             camera->path);
}

// A list of rows of `row` numbers, malloc'ed; *count of them when it is not 0 already.
static Status read_rows(const char *path, const json_t *object, const char *key, size_t row, size_t *count,
                        double **out, Error *err) {
    size_t numbers = json_count_numbers(json_object_get(object, key));
    if (*count == 0) *count = numbers / row;
    if (*count == 0 || *count > FRAMES_MAX || numbers != *count * row)
        return error_set(err, STATUS_BAD_INPUT, "%s: \"%s\": expected %zu rows of %zu numbers, found %zu numbers", path,
                         key, *count, row, numbers);
    *out = malloc(numbers * sizeof **out);
    if (!*out) return error_set(err, STATUS_FAILED, "%s: no memory to import it", path);
    return json_field_numbers(path, object, key, *out, numbers, err);
}

static Status read_camera(Camera *camera, const ImportOptions *options, Error *err) {
    json_t *about = NULL;
    Status status = json_read_file(camera->path, JSON_FILE_MAX, &camera->root, err);
    if (!status) status = json_field_object(camera->path, camera->root, "camera", &camera->camera, err);
    if (!status)
        status = read_rows(camera->path, camera->camera, "positions", 3, &camera->poses, &camera->positions, err);
    if (!status)
        status = read_rows(camera->path, camera->camera, "quaternions", 4, &camera->poses, &camera->quaternions, err);
    camera->frame_rate = options->fps;
    about = json_object_get(camera->root, "metadata");
    if (!status) status = json_field_number_optional(camera->path, about, "frame_rate", &camera->frame_rate, err);
    if (!status && !(camera->frame_rate > 0))
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: expected \"frame_rate\" in \"metadata\", found none; give --fps N", camera->path);
    return status;
}

static void camera_free(Camera *camera) {
    json_decref(camera->root);
    free(camera->positions);
    free(camera->quaternions);
}

// rgba/ or the camera's folder itself.
static void place_pictures(Camera *camera) {
    bool parts = first_folder(camera->folder, COLOUR_FOLDERS, camera->colour);
    if (!parts || !first_folder(camera->folder, DEPTH_FOLDERS, camera->depth))
        snprintf(camera->depth, sizeof camera->depth, "%s", camera->folder);
    if (!parts || !first_folder(camera->folder, MASK_FOLDERS, camera->mask))
        snprintf(camera->mask, sizeof camera->mask, "%s", camera->folder);
    if (!parts) snprintf(camera->colour, sizeof camera->colour, "%s", camera->folder);
    camera->has_mask = has_file(camera->mask, "segmentation_00000.png");
}

static Status add_picture(Camera *camera, const char *name, int view, PosedSet *out, Error *err) {
    char stem[64], file[80], depth[96], mask[96];
    long number = name_number(name);
    PosedImage image = {.view = view, .time = (double)number / camera->frame_rate};
    if (number < 0 || (size_t)number >= camera->poses)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a pose of frame %ld, found %zu poses", camera->path,
                         number, camera->poses);
    double R[9], *q = camera->quaternions + 4 * number;
    rotation_from_quaternion(q, R);
    pose_from_rotation(R, camera->positions + 3 * number, image.world_from_camera);
    pose_flip_opengl(image.world_from_camera, image.world_from_camera);
    snprintf(stem, sizeof stem, "%05ld", number);
    snprintf(file, sizeof file, "depth_%s", stem);
    find_depth_picture(camera->depth, file, ".tiff", depth, sizeof depth);
    snprintf(mask, sizeof mask, "segmentation_%s.png", stem);
    image.lens = camera->lens;
    Status status = camera->has_mask ? posed_path(camera->mask, mask, &image.mask, err) : STATUS_OK;
    return status ? status : add_named_picture(camera->colour, name, camera->depth, depth, &image, out, err);
}

static Status add_camera(Camera *camera, int view, PosedSet *out, Error *err) {
    FileList names = {0};
    char first[FILE_PATH_SIZE];
    int H, W;
    place_pictures(camera);
    Status status = list_names(camera->colour, "rgba_", ".png", &names, err);
    if (!status && names.count == 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected rgba_00000.png and so on, found none", camera->colour);
    if (!status) status = file_join(first, sizeof first, camera->colour, names.names[0], err);
    if (!status) status = image_read_size(first, &H, &W, err);
    if (!status) status = read_lens(camera, H, W, err);
    for (size_t i = 0; !status && i < names.count; i++) status = add_picture(camera, names.names[i], view, out, err);
    file_list_free(&names);
    return status;
}

// ---- ground truth of the objects: never an input

// Row `number` of each object's list into out[f][o].
static Status place_rows(const Camera *camera, const json_t *instances, const char *key, size_t row,
                         const PosedSet *set, double *out, Error *err) {
    size_t O = (size_t)set->O, count = 0;
    Status status = STATUS_OK;
    for (size_t o = 0; !status && o < O; o++) {
        double *values = NULL;
        count = camera->poses;
        status = read_rows(camera->path, json_array_get(instances, o), key, row, &count, &values, err);
        for (size_t f = 0; !status && f < (size_t)set->F; f++) {
            double number = rint(set->time[f] * camera->frame_rate);
            if (!(number >= 0 && number < (double)camera->poses))
                status = error_set(err, STATUS_BAD_INPUT, "%s: expected \"%s\" of frame %.0f, found %zu rows",
                                   camera->path, key, number, camera->poses);
            else memcpy(out + (f * O + o) * row, values + (size_t)number * row, row * sizeof *out);
        }
        free(values);
    }
    return status;
}

static Status read_objects(const Camera *camera, PosedSet *set, Error *err) {
    json_t *instances = json_object_get(camera->root, "instances");
    size_t O = json_array_size(instances);
    if (O == 0 || !json_object_get(json_array_get(instances, 0), "positions")) return STATUS_OK;
    if (O > OBJECTS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d instances, found %zu", camera->path,
                         OBJECTS_MAX, O);
    set->O = (int)O;
    set->object_position = calloc((size_t)set->F * O, 3 * sizeof(double));
    set->object_quaternion = calloc((size_t)set->F * O, 4 * sizeof(double));
    if (!set->object_position || !set->object_quaternion)
        return error_set(err, STATUS_FAILED, "%s: no memory to import it", camera->path);
    Status status = place_rows(camera, instances, "positions", 3, set, set->object_position, err);
    if (!status) status = place_rows(camera, instances, "quaternions", 4, set, set->object_quaternion, err);
    return status;
}

// One camera after the other; the first one's metadata describe the objects.
static Status read_cameras(const ImportSource *source, const FileList *names, PosedSet *out, Error *err) {
    const char *episode = source->path;
    Status status = STATUS_OK;
    Camera first = {0};
    char first_path[FILE_PATH_SIZE];
    for (size_t v = 0; !status && v < names->count; v++) {
        char folder[FILE_PATH_SIZE], path[FILE_PATH_SIZE];
        Camera *camera = calloc(1, sizeof *camera);
        if (!camera) {
            status = error_set(err, STATUS_FAILED, "%s: no memory to import it", episode);
            break;
        }
        status = file_join(folder, sizeof folder, episode, names->names[v], err);
        if (!status) status = file_join(path, sizeof path, folder, "metadata.json", err);
        camera->path = path;
        camera->folder = folder;
        if (!status) status = read_camera(camera, source->options, err);
        if (!status) status = add_camera(camera, (int)v, out, err);
        if (v == 0) {
            first = *camera;
            memcpy(first_path, path, sizeof first_path);
            first.path = first_path;
        } else camera_free(camera);
        free(camera);
    }
    out->V = (int)names->count;
    if (!status) status = posed_set_align(out, source->options->gap, episode, source->log, err);
    if (!status) status = read_objects(&first, out, err);
    camera_free(&first);
    return status;
}

static Status run(const ImportSource *source, PosedSet *out, Error *err) {
    const char *episode = source->path;
    FileList names = {0};
    static char here[] = ".";
    char *only[1] = {here};
    bool single = is_camera(episode);
    Status status = single ? STATUS_OK : list_names(episode, "cam", NULL, &names, err);
    if (!status) status = read_cameras(source, single ? &(FileList){only, 1} : &names, out, err);
    file_list_free(&names);
    out->coding = DEPTH_RAY_LENGTH;
    out->far = 1e4; // the background has a huge depth
    snprintf(out->source, sizeof out->source, "Kubric");
    return status;
}

const Importer import_kubric = {
    .name = "kubric",
    .layout =
        "metadata.json with rgba_*.png, depth_*.tiff, segmentation_*.png; also cam_*/ of them (3DGSim), and folders of "
        "such episodes",
    .is_episode = is_episode,
    .in_folders = true,
    .run = run,
};
