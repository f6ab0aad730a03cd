// SPDX-License-Identifier: Apache-2.0
#include "files/rollout_file.h"

#include "base/camera.h"
#include "base/check.h"
#include "base/file.h"
#include "base/vector.h"
#include "datasets/dataset.h"
#include "files/rollout_layout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CAMERAS_MAX = 4096, STEPS_MAX = 1 << 20, TEXT_BYTES_MAX = 1 << 24, PICTURE_SIDE_MAX = 16384 };
#define PARTICLES_MAX ((hsize_t)1 << 28)
#define FEATURES_MAX ((hsize_t)4096)

// ---- arrays

// Reads an array into new memory. `expect` has the required dimensions; *dims receives those found. A missing optional
// array leaves *out NULL.
static Status take_array(const H5Place *place, const char *name, bool required, const H5Expect *expect, H5Kind kind,
                         hsize_t *dims, void **out, Error *err) {
    H5Array array = {0};
    bool found = false;
    size_t bytes = h5_kind_bytes(kind);
    *out = NULL;
    Status status = h5_open_array(place, name, required, expect, &array, &found, err);
    if (status != STATUS_OK || !found) return status;
    for (int i = 0; i < array.rank; i++) {
        if (dims) dims[i] = array.dims[i];
        if (!size_mul(bytes, (size_t)array.dims[i], &bytes)) bytes = SIZE_MAX / 2;
    }
    void *memory = malloc(bytes);
    status = memory ? h5_array_read(&array, kind, memory, err)
                    : error_set(err, STATUS_FAILED, "%s: out of memory for %zu bytes", array.text, bytes);
    if (status == STATUS_OK) *out = memory;
    else free(memory);
    h5_array_close(&array);
    return status;
}

static Status not_finite(const H5Place *place, const char *name, Error *err) {
    return error_set(err, STATUS_BAD_INPUT, "%s/%s: expected finite numbers, found NaN or infinity", place->text, name);
}

static bool floats_finite(const float *values, size_t count) {
    for (size_t i = 0; values && i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static bool doubles_finite(const double *values, size_t count) {
    for (size_t i = 0; values && i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

// ---- input sets

static Status take_set_array(const H5Place *group, const SetArray *array, bool required, RolloutSet *set, Error *err) {
    hsize_t dims[H5_RANK_MAX] = {0};
    H5Expect expect = {.kinds = array->kind, .rank = array->width == 1 ? 1 : 2, .letters = array->letters};
    expect.dims[0] = set->N;
    expect.dims[1] = array->width; // 0: any
    expect.dims_max = PARTICLES_MAX;
    if (array->width == 0) expect.kinds |= H5_F16;
    Status status = take_array(group, array->name, required, &expect, array->kind, dims, set_pointer(set, array), err);
    if (status != STATUS_OK || !*set_pointer(set, array)) return status;
    set->N = (size_t)dims[0];
    if (array->width == 0 && dims[1] > FEATURES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s/%s: expected at most %d features, found %llu", group->text,
                         array->name, (int)FEATURES_MAX, (unsigned long long)dims[1]);
    if (array->width == 0) set->D = (size_t)dims[1];
    size_t count = (size_t)dims[0] * (array->width ? array->width : set->D);
    if (array->kind == H5_F32 && !floats_finite(*set_pointer(set, array), count))
        return not_finite(group, array->name, err);
    return STATUS_OK;
}

// Checks bodies, and flags the particles that belong to one.
static Status take_flags(const H5Place *group, RolloutSet *set, Error *err) {
    if (!set->body != !set->before)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected before and body, or neither, found %s alone", group->text,
                         set->body ? "body" : "before");
    if (!set->body) return STATUS_OK;
    if (!(set->moving = malloc(set->N)))
        return error_set(err, STATUS_FAILED, "%s/body: out of memory for %zu particles", group->text, set->N);
    for (size_t i = 0; i < set->N; i++) {
        if (set->body[i] < -1 || set->body[i] >= ROLLOUT_BODIES_MAX)
            return error_set(err, STATUS_BAD_INPUT, "%s/body: expected -1 to %d, found %d", group->text,
                             ROLLOUT_BODIES_MAX - 1, set->body[i]);
        set->moving[i] = set->body[i] >= 0;
    }
    return STATUS_OK;
}

static Status check_radii(const H5Place *group, const RolloutSet *set, Error *err) {
    for (size_t i = 0; set->radius && i < set->N; i++)
        if (!(set->radius[i] >= 0 && isfinite(set->radius[i])))
            return error_set(err, STATUS_BAD_INPUT, "%s/radius: expected finite lengths of 0 or more, found %g",
                             group->text, (double)set->radius[i]);
    return STATUS_OK;
}

// *found is false if there is no such set.
static Status take_set(const H5Place *file, int index, RolloutSet *set, bool *found, Error *err) {
    H5Place group = {0};
    Status status = h5_open_group(file, SET_NAMES[index], index == 0, &group, found, err);
    if (status != STATUS_OK || !*found) return status;
    for (int i = 0; i < SET_ARRAY_COUNT && status == STATUS_OK; i++) {
        if (i > 0 && set->N == 0) break; // an empty past set
        if (!set_has_array(index, SET_ARRAYS + i)) continue;
        status = take_set_array(&group, SET_ARRAYS + i, SET_ARRAYS[i].required && index == 0, set, err);
    }
    if (status == STATUS_OK) status = check_radii(&group, set, err);
    if (status == STATUS_OK) status = take_flags(&group, set, err);
    h5_close(&group);
    return status;
}

static Status check_past(const H5Place *file, const char *name, const RolloutSet *past, const RolloutSet *now,
                         Error *err) {
    for (size_t i = 0; past->ties && i < past->N; i++)
        if (past->ties[i] >= now->N)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/%s/ties: expected indices of the %zu present particles, found %u; remove this array "
                             "and they are found again",
                             file->text, name, now->N, past->ties[i]);
    if (past->N > 0 && past->D != now->D)
        return error_set(err, STATUS_BAD_INPUT, "%s/%s/features: expected %zu features as in now, found %zu",
                         file->text, name, now->D, past->D);
    return STATUS_OK;
}

static Status take_sets(const H5Place *file, RolloutFile *out, Error *err) {
    bool found = true;
    Status status = STATUS_OK;
    while (status == STATUS_OK && found && out->set_count < ROLLOUT_SETS_MAX) {
        status = take_set(file, out->set_count, out->sets + out->set_count, &found, err);
        // counted even after an error, so that its arrays are freed
        out->set_count += found;
    }
    for (int i = 1; status == STATUS_OK && i < out->set_count; i++)
        status = check_past(file, SET_NAMES[i], &out->sets[i], &out->sets[0], err);
    return status;
}

// ---- ties

static void forget_ties(RolloutFile *r) {
    for (int k = 0; k < r->set_count; k++) {
        free(r->sets[k].ties);
        r->sets[k].ties = NULL;
    }
}

static Status take_ties(const H5Place *file, RolloutFile *out, Error *err) {
    char noted[32] = "", found[32];
    if (!rollout_has_ties(out)) return STATUS_OK;
    Status status = h5_attribute_text(file, "ties_of", false, noted, sizeof noted, NULL, err);
    if (status != STATUS_OK) return status;
    rollout_hash_places(out, found);
    if (strcmp(noted, found) != 0) forget_ties(out);
    return status;
}

// ---- rollout, time, cameras

static Status take_rollout(const H5Place *file, RolloutFile *out, Error *err) {
    H5Place group = {0};
    bool found;
    hsize_t dims[H5_RANK_MAX] = {0};
    size_t N = out->sets[0].N, D = out->sets[0].D;
    Status status = h5_open_group(file, "rollout", false, &group, &found, err);
    if (status != STATUS_OK || !found) return status;
    H5Expect expect = {.kinds = H5_F32, .rank = 3, .dims = {0, N, 3}, .dims_max = STEPS_MAX, .letters = "steps,N,3"};
    status = take_array(&group, "positions", true, &expect, H5_F32, dims, (void **)&out->positions, err);
    if (status == STATUS_OK) {
        out->steps = (size_t)dims[0];
        if (!floats_finite(out->positions, 3 * N * out->steps)) status = not_finite(&group, "positions", err);
    }
    if (status == STATUS_OK && D > 0) {
        expect = (H5Expect){.kinds = H5_F32 | H5_F16, .rank = 3, .dims = {out->steps, N, D}, .letters = "steps,N,D"};
        status = take_array(&group, "features", false, &expect, H5_F32, dims, (void **)&out->features, err);
        if (status == STATUS_OK && out->features && !floats_finite(out->features, D * N * out->steps))
            status = not_finite(&group, "features", err);
    }
    h5_close(&group);
    return status;
}

static Status take_time(const H5Place *file, RolloutFile *out, Error *err) {
    H5Expect expect = {.kinds = H5_F64, .rank = 1, .dims = {out->steps + 1}, .letters = "steps+1"};
    Status status = take_array(file, "time", true, &expect, H5_F64, NULL, (void **)&out->time, err);
    for (size_t i = 0; status == STATUS_OK && i <= out->steps; i++) {
        bool later = i == 0 || out->time[i] > out->time[i - 1];
        if (!isfinite(out->time[i]) || !later)
            status = error_set(err, STATUS_BAD_INPUT,
                               "%s/time: expected finite, strictly increasing seconds, found %g at "
                               "step %zu",
                               file->text, out->time[i], i);
    }
    return status;
}

static Status check_cameras(const H5Place *group, const RolloutFile *r, Error *err) {
    if (!doubles_finite(r->intrinsics, 9 * (size_t)r->V)) return not_finite(group, "intrinsics", err);
    for (int v = 0; v < r->V; v++) {
        const double *K = r->intrinsics + 9 * v;
        if (!(K[0] > 0 && K[4] > 0))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/intrinsics: expected focal lengths above 0 for camera %d, found %g "
                             "and %g",
                             group->text, v, K[0], K[4]);
    }
    for (size_t i = 0; i < (size_t)r->camera_frames * (size_t)r->V; i++) {
        double off = 0, determinant = 0;
        if (!pose_rotation_error(r->world_from_camera + 16 * i, &off, &determinant) || off > POSE_TOLERANCE ||
            determinant < 0)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s/world_from_camera: expected rigid poses (rotation with determinant "
                             "+1), pose %zu is none",
                             group->text, i);
    }
    if (r->H < 1 || r->W < 1 || r->H > PICTURE_SIDE_MAX || r->W > PICTURE_SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s/size: expected sides of 1 to %d pixels, found %d x %d", group->text,
                         PICTURE_SIDE_MAX, r->W, r->H);
    return STATUS_OK;
}

static Status take_camera_arrays(const H5Place *group, RolloutFile *out, Error *err) {
    hsize_t dims[H5_RANK_MAX] = {0};
    void *size = NULL;
    H5Expect expect = {.kinds = H5_F64, .rank = 3, .dims = {0, 3, 3}, .dims_max = CAMERAS_MAX, .letters = "V,3,3"};
    Status status = take_array(group, "intrinsics", false, &expect, H5_F64, dims, (void **)&out->intrinsics, err);
    if (status != STATUS_OK || !out->intrinsics) return status;
    hsize_t V = dims[0];
    expect = (H5Expect){.kinds = H5_F64, .rank = 4, .dims = {0, V, 4, 4}, .dims_max = STEPS_MAX, .letters = "F,V,4,4"};
    status = take_array(group, "world_from_camera", true, &expect, H5_F64, dims, (void **)&out->world_from_camera, err);
    if (status != STATUS_OK) return status;
    if (dims[0] != 1 && dims[0] != out->steps + 1)
        return error_set(err, STATUS_BAD_INPUT, "%s/world_from_camera: expected poses for 1 or %zu frames, found %llu",
                         group->text, out->steps + 1, (unsigned long long)dims[0]);
    out->V = (int)V;
    out->camera_frames = (int)dims[0];
    expect = (H5Expect){.kinds = H5_I32, .rank = 1, .dims = {2}, .letters = "2"};
    status = take_array(group, "size", true, &expect, H5_I32, NULL, &size, err);
    if (status == STATUS_OK) {
        out->H = ((int32_t *)size)[0];
        out->W = ((int32_t *)size)[1];
        free(size);
        expect = (H5Expect){.kinds = H5_U8, .rank = 1, .dims = {V}, .letters = "V"};
        status = take_array(group, "heldout", false, &expect, H5_U8, NULL, (void **)&out->heldout, err);
    }
    return status == STATUS_OK ? check_cameras(group, out, err) : status;
}

static Status take_cameras(const H5Place *file, RolloutFile *out, Error *err) {
    H5Place group = {0};
    bool found;
    Status status = h5_open_group(file, "cameras", false, &group, &found, err);
    if (status == STATUS_OK && found) status = take_camera_arrays(&group, out, err);
    h5_close(&group);
    return status;
}

// ---- triangles, springs, contact

static Status take_corners(const H5Place *group, const char *name, size_t width, size_t N, int32_t **out, size_t *count,
                           Error *err) {
    hsize_t dims[H5_RANK_MAX] = {0};
    H5Expect expect = {
        .kinds = H5_I32, .rank = 2, .dims = {0, width}, .dims_max = PARTICLES_MAX, .letters = "count,corners"};
    Status status = take_array(group, name, false, &expect, H5_I32, dims, (void **)out, err);
    *count = status == STATUS_OK && *out ? (size_t)dims[0] : 0;
    for (size_t i = 0; i < *count * width; i++)
        if ((*out)[i] < 0 || (size_t)(*out)[i] >= N)
            return error_set(err, STATUS_BAD_INPUT, "%s/%s: expected numbers of the %zu particles, found %d",
                             group->text, name, N, (*out)[i]);
    return status;
}

static Status take_surface(const H5Place *file, RolloutFile *out, Error *err) {
    RolloutSurface *s = &out->surface;
    const size_t N = out->sets[0].N;
    H5Place group = {0};
    bool found;
    Status status = h5_open_group(file, "surface", false, &group, &found, err);
    if (status != STATUS_OK || !found) return status;
    H5Expect expect = {.kinds = H5_U8, .rank = 2, .dims = {out->steps + 1, N}, .letters = "steps+1,N"};
    status = take_corners(&group, "triangles", 3, N, &s->triangle, &s->triangles, err);
    if (status == STATUS_OK) status = take_corners(&group, "springs", 2, N, &s->spring, &s->springs, err);
    if (status == STATUS_OK)
        status = take_array(&group, "touching", false, &expect, H5_U8, NULL, (void **)&s->touching, err);
    if (s->touching) s->frames = out->steps + 1;
    h5_close(&group);
    return status;
}

static Status check_drive(const H5Place *group, const RolloutDrives *d, size_t k, Error *err) {
    double off, determinant;
    if (d->body[k] < 0 || d->body[k] >= ROLLOUT_BODIES_MAX || d->step[k] < 1 || d->step[k] > STEPS_MAX)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected bodies from 0 to %d and steps from 1 to %d, found body %d, step %d", group->text,
                         ROLLOUT_BODIES_MAX - 1, STEPS_MAX, d->body[k], d->step[k]);
    if (pose_rotation_error(d->motion + 16 * k, &off, &determinant) && off <= POSE_TOLERANCE && determinant > 0)
        return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s/motion: expected rotations and translations [R t; 0 1], found something else in row %zu",
                     group->text, k);
}

static Status take_drives(const H5Place *file, RolloutFile *out, Error *err) {
    RolloutDrives *d = &out->drives;
    hsize_t dims[H5_RANK_MAX] = {0};
    H5Place group = {0};
    bool found;
    Status status = h5_open_group(file, "drives", false, &group, &found, err);
    if (status != STATUS_OK || !found) return status;
    H5Expect expect = {.kinds = H5_I32, .rank = 1, .dims_max = ROLLOUT_DRIVES_MAX, .letters = "n"};
    status = take_array(&group, "body", true, &expect, H5_I32, dims, (void **)&d->body, err);
    d->count = (size_t)dims[0], expect.dims[0] = dims[0];
    if (status == STATUS_OK) status = take_array(&group, "step", true, &expect, H5_I32, NULL, (void **)&d->step, err);
    expect = (H5Expect){.kinds = H5_F64, .rank = 3, .dims = {dims[0], 4, 4}, .letters = "n,4,4"};
    if (status == STATUS_OK)
        status = take_array(&group, "motion", true, &expect, H5_F64, NULL, (void **)&d->motion, err);
    for (size_t k = 0; k < d->count && status == STATUS_OK; k++) status = check_drive(&group, d, k, err);
    h5_close(&group);
    return status;
}

// ---- texts and small values

static Status take_number(const H5Place *file, const char *name, bool integer, double *out, Error *err) {
    const double most = 1e9;
    int count = 0;
    Status status = h5_attribute_numbers(file->id, file->text, name, true, integer, out, 1, &count, err);
    if (status == STATUS_OK && (count != 1 || !(*out >= 0 && *out <= most)))
        status =
            error_set(err, STATUS_BAD_INPUT, "%s attribute %s: expected a number from 0 to %g", file->text, name, most);
    return status;
}

// Files of models with moving nodes: all of format 1.x, and those of format 2.x with a motion field.
static Status check_motion(const H5Place *file, int major, Error *err) {
    H5Place group = {0};
    bool found = major == 1;
    Status status = major == 2 ? h5_open_group(file, "motion", false, &group, &found, err) : STATUS_OK;
    h5_close(&group);
    if (status != STATUS_OK || !found) return status;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s made by a model of an earlier version with moving nodes, which is gone; make it again with "
                     "\"vpd rollout\"",
                     file->text);
}

static Status take_format(const H5Place *file, Error *err) {
    double version[2] = {0};
    int count = 0;
    Status status = h5_check_format(file, "vpd-rollout", "vpd-particles", err);
    if (status != STATUS_OK) return status;
    status = h5_attribute_numbers(file->id, file->text, "format_version", true, true, version, 2, &count, err);
    if (status == STATUS_OK && (count != 2 || !(version[0] >= 1 && version[0] <= ROLLOUT_MAJOR)))
        status =
            error_set(err, STATUS_BAD_INPUT, "%s expected format version 1.x to %d.x, found %g.%g; use a newer vpd",
                      file->text, ROLLOUT_MAJOR, version[0], version[1]);
    return status == STATUS_OK ? check_motion(file, (int)version[0], err) : status;
}

Status rollout_file_detect(const char *path, bool *found, Error *err) {
    H5Place file = {0};
    char format[64] = "";
    *found = false;
    if (file_is_folder(path) || dataset_is_list(path)) return STATUS_OK;
    Status status = h5_open_file(path, &file, err);
    if (status == STATUS_OK) status = h5_attribute_text(&file, "format", false, format, sizeof format, NULL, err);
    *found = status == STATUS_OK && (!strcmp(format, "vpd-rollout") || !strcmp(format, "vpd-particles"));
    h5_close(&file);
    return status;
}

static Status take_words(const H5Place *file, RolloutFile *out, Error *err) {
    struct {
        const char *name;
        char *out;
        size_t size;
    } words[] = {{"checkpoint", out->checkpoint, sizeof out->checkpoint},
                 {"checkpoint_hash", out->checkpoint_hash, sizeof out->checkpoint_hash},
                 {"dataset", out->dataset, sizeof out->dataset},
                 {"episode", out->episode, sizeof out->episode},
                 {"generator", out->generator, sizeof out->generator},
                 {"created", out->created, sizeof out->created}};
    double first, stride;
    Status status = STATUS_OK;
    for (size_t i = 0; i < sizeof words / sizeof *words && status == STATUS_OK; i++)
        status = h5_attribute_text(file, words[i].name, false, words[i].out, words[i].size, NULL, err);
    if (status == STATUS_OK) status = take_number(file, "first_frame", true, &first, err);
    if (status == STATUS_OK) status = take_number(file, "frame_stride", true, &stride, err);
    if (status == STATUS_OK) status = take_number(file, "time_step", false, &out->time_step, err);
    if (status != STATUS_OK) return status;
    out->first_frame = (int)first;
    out->frame_stride = (int)stride;
    return STATUS_OK;
}

// Text of several lines, with a NUL appended.
static Status take_lines(const H5Place *file, const char *name, char **out, Error *err) {
    hsize_t dims[H5_RANK_MAX] = {0};
    void *bytes = NULL;
    H5Expect expect = {.kinds = H5_U8, .rank = 1, .dims_max = TEXT_BYTES_MAX, .letters = "bytes"};
    Status status = take_array(file, name, false, &expect, H5_U8, dims, &bytes, err);
    if (status != STATUS_OK || !bytes) return status;
    *out = strndup(bytes, (size_t)dims[0]);
    free(bytes);
    return *out ? STATUS_OK : error_set(err, STATUS_FAILED, "%s/%s: out of memory", file->text, name);
}

static Status check_light(const H5Place *file, const double way[3], Error *err) {
    double length = sqrt(vector_dot(way, way));
    if (fabs(length - 1) < 1e-6) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s/light: expected a vector of length 1, found length %g", file->text,
                     length);
}

static Status take_surroundings(const H5Place *file, RolloutFile *out, Error *err) {
    void *background = NULL, *bounds = NULL, *light = NULL;
    H5Expect expect = {.kinds = H5_F32, .rank = 1, .dims = {3}, .letters = "3"};
    Status status = take_array(file, "background", true, &expect, H5_F32, NULL, &background, err);
    if (status == STATUS_OK && background) {
        memcpy(out->background, background, sizeof out->background);
        if (!floats_finite(out->background, 3)) status = not_finite(file, "background", err);
    }
    expect = (H5Expect){.kinds = H5_F64, .rank = 2, .dims = {2, 3}, .letters = "2,3"};
    if (status == STATUS_OK) status = take_array(file, "bounds", false, &expect, H5_F64, NULL, &bounds, err);
    if (status == STATUS_OK && bounds) {
        memcpy(out->bounds, bounds, sizeof out->bounds);
        out->has_bounds = true;
        if (!doubles_finite(out->bounds, 6)) status = not_finite(file, "bounds", err);
    }
    expect = (H5Expect){.kinds = H5_F64, .rank = 1, .dims = {3}, .letters = "3"};
    if (status == STATUS_OK) status = take_array(file, "light", false, &expect, H5_F64, NULL, &light, err);
    if (status == STATUS_OK && light) {
        memcpy(out->light, light, sizeof out->light);
        status = check_light(file, out->light, err);
    }
    free(background);
    free(bounds);
    free(light);
    if (status == STATUS_OK) status = take_lines(file, "edit_history", &out->edit_history, err);
    if (status == STATUS_OK) status = take_lines(file, "label_names", &out->label_names, err);
    return status;
}

// ---- the file

static Status take_file(H5Place *file, Status opened, RolloutFile *out, Error *err) {
    Status status = opened;
    if (status == STATUS_OK) status = take_format(file, err);
    if (status == STATUS_OK) status = take_words(file, out, err);
    if (status == STATUS_OK) status = take_sets(file, out, err);
    if (status == STATUS_OK) status = take_ties(file, out, err);
    if (status == STATUS_OK) status = take_rollout(file, out, err);
    if (status == STATUS_OK) status = take_time(file, out, err);
    if (status == STATUS_OK) status = take_cameras(file, out, err);
    if (status == STATUS_OK) status = take_surface(file, out, err);
    if (status == STATUS_OK) status = take_drives(file, out, err);
    if (status == STATUS_OK) status = take_surroundings(file, out, err);
    if (status != STATUS_OK) rollout_file_free(out);
    h5_close(file);
    return status;
}

Status rollout_file_read(const char *path, RolloutFile *out, Error *err) {
    H5Place file = {0};
    *out = (RolloutFile){0};
    return take_file(&file, h5_open_file(path, &file, err), out, err);
}

Status rollout_file_read_memory(const void *bytes, size_t size, const char *name, RolloutFile *out, Error *err) {
    H5Place file = {0};
    *out = (RolloutFile){0};
    return take_file(&file, h5_open_memory(bytes, size, name, &file, err), out, err);
}

Status rollout_file_note(RolloutFile *rollout, const char *line, Error *err) {
    char *joined = NULL;
    const char *before = rollout->edit_history ? rollout->edit_history : "";
    if (asprintf(&joined, "%s%s\n", before, line) < 0)
        return error_set(err, STATUS_FAILED, "out of memory for the edit history");
    free(rollout->edit_history);
    rollout->edit_history = joined;
    return STATUS_OK;
}
