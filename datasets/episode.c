// SPDX-License-Identifier: Apache-2.0
#include "base/camera.h"
#include "base/sort.h"
#include "base/time_step.h"
#include "datasets/dataset_private.h"
#include "datasets/stored.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_ARRAY_MAX ((size_t)1 << 28) // bytes of cameras, times, states and actions, each
#define ARENA_MAX ((size_t)1 << 32)       // and of all of them
enum { TEXT_SIZE = 512, ATTRIBUTES_MAX = 4096 };

// Reads a whole small array into the arena; *out stays NULL when it is absent. `dims` gets what was found.
static Status keep_array(Dataset *dataset, const H5Place *group, const char *name, bool required, H5Expect expect,
                         H5Kind kind, const void **out, hsize_t *dims, Error *err) {
    H5Array array;
    bool found;
    *out = NULL;
    expect.bytes_max = SMALL_ARRAY_MAX;
    Status status = h5_open_array(group, name, required, &expect, &array, &found, err);
    if (status || !found) return status;
    size_t bytes = array.bytes / h5_kind_bytes(array.kind) * h5_kind_bytes(kind);
    void *memory = dataset->arena.used + bytes < ARENA_MAX ? arena_alloc(&dataset->arena, bytes) : NULL;
    if (!memory) status = error_no_memory(err, "%s", group->text);
    if (!status) status = h5_array_read(&array, kind, memory, err);
    if (!status) *out = memory;
    if (dims) memcpy(dims, array.dims, sizeof array.dims);
    h5_array_close(&array);
    return status;
}

// "" where the attribute is missing.
static Status keep_text(Dataset *dataset, const H5Place *group, const char *name, const char **out, Error *err) {
    char text[TEXT_SIZE];
    Status status = h5_attribute_text(group, name, false, text, sizeof text, NULL, err);
    if (status) return status;
    *out = dataset_keep_text(dataset, text);
    return *out ? STATUS_OK : error_no_memory(err, "%s", group->text);
}

static Status read_texts(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    const char *split;
    Status status = keep_text(dataset, group, "split", &split, err);
    if (!status) status = keep_text(dataset, group, "source", &info->source, err);
    if (!status) status = keep_text(dataset, group, "scene", &info->scene, err);
    if (status || split_parse(split, &info->split)) return status;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected attribute split \"train\", \"val\" or \"test\", found %s%.100s%s", group->text,
                     *split ? "\"" : "", *split ? split : "none", *split ? "\"" : "");
}

// rgb fixes F, V, H and W for everything else.
static Status read_image_shapes(const H5Place *group, EpisodeInfo *info, Error *err) {
    H5Array array;
    H5Expect rgb = {.kinds = H5_U8,
                    .rank = 5,
                    .dims = {0, 0, 0, 0, 3},
                    .dims_max = FRAMES_MAX,
                    .letters = "F,V,H,W,3",
                    .remedy = "the order is frames, views, rows, columns and the three colours last"};
    Status status = h5_open_array(group, "rgb", true, &rgb, &array, NULL, err);
    h5_array_close(&array);
    if (status) return status;
    if (array.dims[1] > VIEWS_MAX || array.dims[2] > SIDE_MAX || array.dims[3] > SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected at most %d views and sides of %d pixels, found %llu, %llu x "
                         "%llu",
                         array.text, VIEWS_MAX, SIDE_MAX, (unsigned long long)array.dims[1],
                         (unsigned long long)array.dims[3], (unsigned long long)array.dims[2]);
    info->F = (int)array.dims[0];
    info->V = (int)array.dims[1];
    info->H = (int)array.dims[2];
    info->W = (int)array.dims[3];
    H5Expect mask = {.kinds = H5_U16,
                     .rank = 4,
                     .dims = {array.dims[0], array.dims[1], array.dims[2], array.dims[3]},
                     .letters = "F,V,H,W"};
    status = h5_open_array(group, "mask", false, &mask, &array, &info->has_mask, err);
    h5_array_close(&array);
    return status;
}

static Status read_depth_scale(const H5Array *array, EpisodeInfo *info, Error *err) {
    double scale = 1;
    int count;
    Status status = h5_attribute_numbers(array->id, array->text, "scale", false, false, &scale, 1, &count, err);
    if (status) return status;
    info->depth_scale = count == 1 ? scale : 1;
    if (count == 0 && info->depth_is_u16)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected the attribute scale, found none; write the metres per unit there, 0.001 for "
                         "depth in millimetres",
                         array->text);
    if (!info->depth_is_u16 && info->depth_scale != 1)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected f32 metres without a scale, found scale %g; store metres",
                         array->text, scale);
    if (!(info->depth_scale > 0 && info->depth_scale <= 1))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected attribute scale in metres per unit, above 0 and at most 1, "
                         "found %g",
                         array->text, scale);
    return STATUS_OK;
}

static Status read_depth_shape(const H5Place *group, EpisodeInfo *info, Error *err) {
    H5Array array;
    H5Expect depth = {.kinds = H5_F32 | H5_U16,
                      .rank = 4,
                      .letters = "F,V,H,W",
                      .dims = {(hsize_t)info->F, (hsize_t)info->V, (hsize_t)info->H, (hsize_t)info->W}};
    Status status = h5_open_array(group, "depth", true, &depth, &array, NULL, err);
    info->depth_is_u16 = !status && array.kind == H5_U16;
    if (!status) status = read_depth_scale(&array, info, err);
    h5_array_close(&array);
    return status;
}

static Status check_finite(const H5Place *group, const char *name, const double *values, size_t count, Error *err) {
    for (size_t i = 0; values && i < count; i++) {
        if (!isfinite(values[i]))
            return error_set(err, STATUS_BAD_INPUT, "%s/%s: expected finite numbers, found %g at element %zu",
                             group->text, name, values[i], i);
    }
    return STATUS_OK;
}

static Status check_intrinsics(const H5Place *group, const EpisodeInfo *info, Error *err) {
    Status status = check_finite(group, "intrinsics", info->intrinsics, 9 * (size_t)info->V, err);
    for (int v = 0; !status && v < info->V; v++) {
        const double *K = info->intrinsics + 9 * v;
        if (!(K[0] > 0 && K[4] > 0)) // NOLINT: the array is required
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/intrinsics: expected positive focal lengths, found %g and %g in view "
                             "%d; a negative one mirrors the scene",
                             group->text, K[0], K[4], v);
        if (K[3] != 0 || K[6] != 0 || K[7] != 0 || K[8] != 1)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/intrinsics: expected [fx s cx; 0 fy cy; 0 0 1], found another form "
                             "in view %d; is it transposed?",
                             group->text, v);
    }
    return status;
}

static Status check_pose(const H5Place *group, const double *pose, int frame, int view, Error *err) {
    double error = 0, determinant = 1;
    const double *last = pose + 12;
    for (int i = 0; i < 16; i++)
        if (!isfinite(pose[i]))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/world_from_camera: expected finite numbers, found %g in row %d, column %d of frame "
                             "%d, view %d",
                             group->text, pose[i], i / 4, i % 4, frame, view);
    bool transposed = pose[3] == 0 && pose[7] == 0 && pose[11] == 0 && pose[15] == 1;
    if (!pose_rotation_error(pose, &error, &determinant))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s/world_from_camera: expected 0 0 0 1 in the last row, found %.4g %.4g %.4g %.4g in frame "
                         "%d, view %d%s",
                         group->text, last[0], last[1], last[2], last[3], frame, view,
                         transposed ? "; is the matrix transposed?" : "");
    if (determinant < 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s/world_from_camera: expected a rotation with determinant +1, found %.3f in "
                         "frame %d, view %d: the camera is mirrored",
                         group->text, determinant, frame, view);
    if (error <= POSE_TOLERANCE) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s/world_from_camera: expected [R t; 0 0 0 1] with R orthonormal within %g, found an error of "
                     "%.3g in frame %d, view %d",
                     group->text, POSE_TOLERANCE, error, frame, view);
}

static Status read_cameras(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    hsize_t F = (hsize_t)info->F, V = (hsize_t)info->V;
    H5Expect intrinsics = {.kinds = H5_F64, .rank = 3, .dims = {V, 3, 3}, .letters = "V,3,3"};
    H5Expect moving = {.kinds = H5_F64, .rank = 4, .dims = {F, V, 4, 4}, .letters = "F,V,4,4"};
    H5Expect fixed = {.kinds = H5_F64, .rank = 3, .dims = {V, 4, 4}, .letters = "V,4,4] or [F,V,4,4"};
    const void *K, *poses;
    Status status = keep_array(dataset, group, "intrinsics", true, intrinsics, H5_F64, &K, NULL, err);
    if (status) return status;
    info->intrinsics = K;
    // Four dimensions mean moving cameras; any other shape is reported against the fixed form.
    Error ignored;
    info->moving_cameras =
        keep_array(dataset, group, "world_from_camera", true, moving, H5_F64, &poses, NULL, &ignored) == 0;
    if (!info->moving_cameras)
        status = keep_array(dataset, group, "world_from_camera", true, fixed, H5_F64, &poses, NULL, err);
    if (status) return status;
    info->world_from_camera = poses;
    status = check_intrinsics(group, info, err);
    int frames = info->moving_cameras ? info->F : 1;
    for (int f = 0; f < frames; f++) {
        for (int v = 0; !status && v < info->V; v++) status = check_pose(group, episode_pose(info, f, v), f, v, err);
    }
    return status;
}

// Missing frames do not count: the time step is the mean of the intervals that fit the median.
static Status skip_gaps(EpisodeInfo *info, Error *err) {
    size_t intervals = (size_t)info->F - 1, used = 0;
    double sum = 0, *sorted = malloc(intervals * sizeof *sorted);
    if (!sorted) return error_no_memory(err, "the times of %d frames", info->F);
    for (size_t i = 0; i < intervals; i++) sorted[i] = info->time[i + 1] - info->time[i];
    sort_doubles(sorted, intervals);
    double median = sorted[intervals / 2];
    for (size_t i = 0; i < intervals; i++)
        if (time_step_fits(sorted[i], median)) sum += sorted[i], used++;
    info->time_step = sum / (double)used;
    free(sorted);
    return STATUS_OK;
}

static Status read_time(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    H5Expect expect = {.kinds = H5_F64, .rank = 1, .dims = {(hsize_t)info->F}, .letters = "F"};
    const void *time;
    Status status = keep_array(dataset, group, "time", true, expect, H5_F64, &time, NULL, err);
    if (!status) status = check_finite(group, "time", time, (size_t)info->F, err);
    if (status) return status;
    info->time = time;
    for (int f = 1; f < info->F; f++) {
        if (!(info->time[f] > info->time[f - 1])) // NOLINT: the array is required
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/time: expected strictly increasing seconds, found %g after %g at "
                             "frame %d",
                             group->text, info->time[f], info->time[f - 1], f);
    }
    const double clock = 0.05; // such as milliseconds at 60 frames a second
    info->time_step = info->F > 1 ? (info->time[info->F - 1] - info->time[0]) / (info->F - 1) : 0;
    info->even_time = true;
    for (int f = 1; f < info->F; f++) {
        double off = fabs(info->time[f] - info->time[f - 1] - info->time_step);
        if (off > clock * info->time_step) info->even_time = false;
    }
    return info->even_time ? STATUS_OK : skip_gaps(info, err);
}

static Status read_bounds(Dataset *dataset, const DataFile *file, const H5Place *group, EpisodeInfo *info, Error *err) {
    H5Expect expect = {.kinds = H5_F64, .rank = 2, .dims = {2, 3}};
    const void *bounds;
    Status status = keep_array(dataset, group, "bounds", false, expect, H5_F64, &bounds, NULL, err);
    if (status) return status;
    info->bounds = bounds ? bounds : file->has_bounds ? file->bounds : NULL;
    for (int i = 0; info->bounds && i < 3; i++) {
        double low = info->bounds[i], high = info->bounds[3 + i];
        if (!(isfinite(low) && isfinite(high) && low < high))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/bounds: expected [lower, upper] corners in metres with lower < upper, "
                             "found %g and %g",
                             group->text, low, high);
    }
    return STATUS_OK;
}

static Status read_actions(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    H5Expect expect = {
        .kinds = H5_F32, .rank = 2, .dims = {(hsize_t)info->F, 0}, .dims_max = ACTIONS_MAX, .letters = "F,A"};
    hsize_t dims[H5_RANK_MAX] = {0};
    const void *actions;
    Status status = keep_array(dataset, group, "actions", false, expect, H5_F32, &actions, dims, err);
    if (status || !actions) return status;
    info->actions = actions;
    info->A = (int)dims[1];
    for (size_t i = 0; i < (size_t)info->F * (size_t)info->A; i++) {
        if (!isfinite(info->actions[i]))
            return error_set(err, STATUS_BAD_INPUT, "%s/actions: expected finite numbers, found %g in frame %zu",
                             group->text, info->actions[i], i / (size_t)info->A);
    }
    return STATUS_OK;
}

// Numbers that are far from a rotation are something else: Euler angles, or an object that was not there.
static Status check_quaternions(const H5Place *state, const EpisodeInfo *info, Error *err) {
    size_t count = info->object_quaternion ? (size_t)info->F * (size_t)info->O : 0;
    for (size_t i = 0; i < count; i++) {
        const double *q = info->object_quaternion + 4 * i;
        double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (!(length > 0.5 && length < 2))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/object_quaternion: expected quaternions of length 1, found length %.3g in frame %zu, "
                             "object %zu",
                             state->text, length, i / (size_t)info->O, i % (size_t)info->O);
    }
    return STATUS_OK;
}

static Status read_objects(Dataset *dataset, const H5Place *state, EpisodeInfo *info, Error *err) {
    hsize_t dims[H5_RANK_MAX] = {0}, F = (hsize_t)info->F;
    H5Expect position = {.kinds = H5_REALS, .rank = 3, .dims = {F, 0, 3}, .dims_max = OBJECTS_MAX, .letters = "F,O,3"};
    const void *values;
    Status status = keep_array(dataset, state, "object_position", false, position, H5_F64, &values, dims, err);
    if (status || !values) return status;
    info->object_position = values;
    info->O = (int)dims[1];
    size_t count = (size_t)info->F * (size_t)info->O;
    H5Expect quaternion = {.kinds = H5_REALS, .rank = 3, .dims = {F, dims[1], 4}, .letters = "F,O,4"};
    status = keep_array(dataset, state, "object_quaternion", false, quaternion, H5_F64, &values, NULL, err);
    info->object_quaternion = values;
    if (!status) status = check_finite(state, "object_position", info->object_position, 3 * count, err);
    if (!status) status = check_finite(state, "object_quaternion", info->object_quaternion, 4 * count, err);
    return status ? status : check_quaternions(state, info, err);
}

static Status read_state(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    H5Place state;
    bool found;
    Status status = h5_open_group(group, "state", false, &state, &found, err);
    if (!status && found) status = read_objects(dataset, &state, info, err);
    h5_close(&state);
    return status;
}

static int compare_ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static Status read_heldout(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    double *numbers = calloc((size_t)info->V, sizeof *numbers);
    int count;
    if (!numbers) return error_no_memory(err, "%s", group->text);
    Status status =
        h5_attribute_numbers(group->id, group->text, "heldout_views", false, true, numbers, info->V, &count, err);
    int *views = status ? NULL : arena_array(&dataset->arena, (size_t)count, sizeof *views);
    if (!status && !views) status = error_no_memory(err, "%s", group->text);
    for (int i = 0; !status && i < count; i++) {
        if (numbers[i] >= 0 && numbers[i] < info->V) views[i] = (int)numbers[i];
        else
            status = error_set(err, STATUS_BAD_INPUT, "%s: expected heldout_views below the %d views, found %g",
                               group->text, info->V, numbers[i]);
    }
    free(numbers);
    if (status) return status;
    if (count == info->V)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected a view that is not held out, found all %d in heldout_views", group->text, count);
    qsort(views, (size_t)count, sizeof *views, compare_ints);
    for (int i = 1; i < count; i++) {
        if (views[i] == views[i - 1])
            return error_set(err, STATUS_BAD_INPUT, "%s: expected each of heldout_views once, found %d twice",
                             group->text, views[i]);
    }
    info->heldout_views = count ? views : NULL;
    info->heldout_count = count;
    return STATUS_OK;
}

typedef struct PropertyVisit {
    const H5Place *group;
    Property *properties; // (PROPERTIES_MAX)
    int count;
} PropertyVisit;

static Status visit_property(void *owner, const char *name, Error *err) {
    static const char PREFIX[] = "properties/";
    PropertyVisit *visit = owner;
    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0 || !h5_attribute_is_scalar_number(visit->group, name))
        return STATUS_OK;
    Property *property = &visit->properties[visit->count];
    const char *short_name = name + sizeof PREFIX - 1;
    int count;
    if (visit->count == PROPERTIES_MAX || strlen(short_name) >= sizeof property->name)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d properties with names below %zu bytes",
                         visit->group->text, PROPERTIES_MAX, sizeof property->name);
    snprintf(property->name, sizeof property->name, "%s", short_name);
    visit->count++;
    return h5_attribute_numbers(visit->group->id, visit->group->text, name, true, false, &property->value, 1, &count,
                                err);
}

static Status read_properties(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    PropertyVisit visit = {group, calloc(PROPERTIES_MAX + 1, sizeof(Property)), 0};
    if (!visit.properties) return error_no_memory(err, "%s", group->text);
    Status status = h5_each_attribute(group, ATTRIBUTES_MAX, visit_property, &visit, err);
    size_t bytes = (size_t)visit.count * sizeof(Property);
    void *copy = status ? NULL : arena_alloc(&dataset->arena, bytes);
    if (!status && !copy) status = error_no_memory(err, "%s", group->text);
    if (!status && visit.count) {
        info->properties = memcpy(copy, visit.properties, bytes);
        info->property_count = visit.count;
    }
    free(visit.properties);
    return status;
}

static bool find_array(const H5Place *group, const EpisodeInfo *info, StoredArray which, StoredImages *out) {
    static const char *const names[STORED_COUNT] = {"rgb", "depth", "mask"};
    const H5Expect any = {
        .kinds = H5_U8 | H5_U16 | H5_F32, .rank = which == STORED_RGB ? 5 : 4, .dims_max = FRAMES_MAX};
    H5Array array;
    Error ignored;
    if (h5_open_array(group, names[which], true, &any, &array, NULL, &ignored) != STATUS_OK) return false;
    bool good = stored_find(&array, info, which, out);
    h5_array_close(&array);
    return good;
}

// Leaves info->stored NULL when some image is no chunk of its own.
static Status find_stored(Dataset *dataset, const H5Place *group, EpisodeInfo *info, Error *err) {
    size_t bytes = stored_bytes(info);
    StoredImages *stored =
        bytes && dataset->arena.used + bytes < ARENA_MAX ? arena_alloc(&dataset->arena, bytes) : NULL;
    if (!stored) return error_no_memory(err, "%s", group->text);
    memset(stored, 0, bytes);
    bool good = find_array(group, info, STORED_RGB, stored) && find_array(group, info, STORED_DEPTH, stored) &&
                (!info->has_mask || find_array(group, info, STORED_MASK, stored));
    info->stored = good ? stored : NULL;
    return STATUS_OK;
}

static Status read_episode(Dataset *dataset, const DataFile *file, const H5Place *group, EpisodeInfo *info,
                           Error *err) {
    Status status = read_texts(dataset, group, info, err);
    if (!status) status = read_image_shapes(group, info, err);
    if (!status) status = read_depth_shape(group, info, err);
    if (!status) status = read_cameras(dataset, group, info, err);
    if (!status) status = read_time(dataset, group, info, err);
    if (!status) status = read_bounds(dataset, file, group, info, err);
    if (!status) status = read_actions(dataset, group, info, err);
    if (!status) status = read_state(dataset, group, info, err);
    if (!status) status = read_heldout(dataset, group, info, err);
    if (!status) status = read_properties(dataset, group, info, err);
    if (!status && dataset->find_stored) status = find_stored(dataset, group, info, err);
    return status;
}

Status dataset_add_episode(Dataset *dataset, int file, const H5Place *episodes, const char *name, Error *err) {
    const DataFile *data = &dataset->files[file];
    EpisodeInfo info = {.file = data->path, .name = dataset_keep_text(dataset, name)};
    H5Place group;
    if (!info.name) return error_no_memory(err, "%s", episodes->text);
    Status status = h5_open_group(episodes, name, true, &group, NULL, err);
    if (!status) status = read_episode(dataset, data, &group, &info, err);
    if (!status) status = dataset_append(dataset, file, &info, err);
    h5_close(&group);
    return status;
}
