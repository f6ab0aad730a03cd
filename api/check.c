// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "base/camera.h"
#include "base/image.h"
#include "datasets/output_kind.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

vpd_status api_result(Status status, const Error *from, vpd_error *to) {
    static const vpd_status names[] = {VPD_OK, VPD_FAILED, VPD_BAD_INPUT, VPD_STOPPED}; // as in base/error.h
    vpd_status out = names[status];
    if (!to) return out;
    to->status = out;
    snprintf(to->text, sizeof to->text, "%s", status == STATUS_OK ? "" : from->text);
    return out;
}

Status api_check_pointer(const void *pointer, const char *what, Error *err) {
    return pointer ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: expected an object or array, found NULL", what);
}

Status api_check_size(size_t given, size_t known, const char *name, Error *err) {
    if (given == known) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: expected struct_size %zu, found %zu; set it to sizeof(%s), with the vpd.h of this library",
                     name, known, given, name);
}

static Status check_intrinsics(const double K[9], const char *what, Error *err) {
    bool finite = true;
    for (int i = 0; i < 9; i++) finite = finite && isfinite(K[i]);
    bool form = K[3] == 0 && K[6] == 0 && K[7] == 0 && K[8] == 1;
    if (finite && form && K[0] > 0 && K[4] > 0) return STATUS_OK;
    return error_set(
        err, STATUS_BAD_INPUT,
        "%s intrinsics: expected finite [fx s cx; 0 fy cy; 0 0 1] with fx, fy above 0, found [%g %g %g; %g "
        "%g %g; %g %g %g]",
        what, K[0], K[1], K[2], K[3], K[4], K[5], K[6], K[7], K[8]);
}

Status api_check_camera(const double K[9], const double pose[16], const char *what, Error *err) {
    double off = 0, determinant = 0;
    Status status = check_intrinsics(K, what, err);
    if (status != STATUS_OK) return status;
    bool form = pose_rotation_error(pose, &off, &determinant);
    if (form && off <= POSE_TOLERANCE && determinant > 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s world_from_camera: expected a finite [R t; 0 0 0 1] with a rotation of determinant +1, found "
                     "%s%.3g, determinant %.3g",
                     what, form ? "orthonormal within " : "another form; ", off, determinant);
}

Status api_check_step(const RolloutFile *scene, size_t step, Error *err) {
    if (step <= scene->steps) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "step %zu: the scene has the steps 0 to %zu", step, scene->steps);
}

Status api_check_camera_index(const RolloutFile *scene, int camera, Error *err) {
    if (camera >= 0 && camera < scene->V) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "camera %d: the scene has %d cameras, counted from 0", camera, scene->V);
}

Status api_check_count(const RolloutFile *scene, size_t count, const char *what, Error *err) {
    if (count == scene->sets[0].N) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected those of %zu particles, found %zu", what, scene->sets[0].N,
                     count);
}

Status api_check_sides(int H, int W, const char *what, Error *err) {
    if (H >= 1 && W >= 1 && H <= IMAGE_SIDE_MAX && W <= IMAGE_SIDE_MAX) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected 1 to %d rows and columns, found %d and %d", what,
                     IMAGE_SIDE_MAX, H, W);
}

Status api_check_threads(int threads, Error *err) {
    if (threads == 0) return threads_check_environment(err);
    if (threads > 0 && threads <= THREADS_MAX) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "threads: expected 0 to %d, found %d", THREADS_MAX, threads);
}

Status api_check_whole(int value, int low, int high, const char *what, Error *err) {
    if (value == 0 || (value >= low && value <= high)) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected 0 for the default, or %d to %d, found %d", what, low, high,
                     value);
}

Status api_check_list(const void *list, size_t count, size_t most, const char *what, Error *err) {
    if (count > most) return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %zu, found %zu", what, most, count);
    return count ? api_check_pointer(list, what, err) : STATUS_OK;
}

Status api_check_texts(const char *const *list, size_t count, const char *what, Error *err) {
    Status status = api_check_list(list, count, API_TEXTS_MAX, what, err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) status = api_check_pointer(list[i], what, err);
    return status;
}

Status api_check_output(const char *path, const char *kinds, Error *err) {
    struct stat info;
    char words[OUTPUT_KIND_WORDS];
    if (stat(path, &info) || !S_ISREG(info.st_mode) || info.st_size == 0) {
        const char *ending = output_missing_ending(path, kinds);
        return ending ? error_set(err, STATUS_BAD_INPUT, "%s: expected a name that ends in %s", path, ending)
                      : STATUS_OK;
    }
    bool own = output_is_of_kind(path, kinds);
    if (own && !strcmp(kinds, "vpd-dataset"))
        return error_set(err, STATUS_BAD_INPUT, "%s: this data set exists; remove it or give another name", path);
    if (own) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: this file exists and is not %s; give another name", path,
                     output_kind_words(kinds, words));
}
