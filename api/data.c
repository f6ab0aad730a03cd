// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "base/image.h"
#include "datasets/import/import.h"
#include "datasets/json.h"

#include <math.h>
#include <string.h>

// ---- check

static Status check_data(const char *path, ApiNotes *notes, char **report, Error *err) {
    Dataset *dataset = NULL;
    CheckReport found = {0};
    Status status = dataset_open(path, &dataset, err);
    if (status == STATUS_OK) status = dataset_check(dataset, &notes->log, &found, err);
    if (status == STATUS_OK) status = api_report(check_report_json(dataset, &found), notes, report, err);
    check_report_free(&found);
    dataset_close(dataset);
    return status;
}

vpd_status vpd_data_check(const char *path, char **report, vpd_error *err) {
    Error e = {0};
    ApiNotes notes = {0};
    if (report) *report = NULL;
    Status status = api_check_pointer(path, "dataset", &e);
    if (status == STATUS_OK) status = api_notes_open(&notes, &e);
    if (status == STATUS_OK) {
        Call call = call_begin(NULL, 0, true);
        status = check_data(path, &notes, report, &e);
        call_end(&call);
    }
    api_notes_free(&notes);
    return api_result(status, &e, err);
}

// ---- import

static Status check_real(double value, double max, const char *what, Error *err) {
    if (value >= 0 && value <= max) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected 0 for the default, or a number up to %g, found %g", what, max,
                     value);
}

static Status check_numbers(const vpd_import_options *o, Error *err) {
    const struct {
        const char *name;
        int value, min, max;
    } wholes[] = {{"height", o->height, 1, IMAGE_SIDE_MAX}, {"width", o->width, 1, IMAGE_SIDE_MAX},
                  {"every", o->every, 1, INT32_MAX},        {"holdout", o->holdout, 2, INT32_MAX},
                  {"window", o->window, 1, INT32_MAX},      {"level", o->level, 1, 9}};
    const struct {
        const char *name;
        double value, max;
    } reals[] = {
        {"near", o->near, 1e6},           {"far", o->far, 1e6},          {"fps", o->fps, 1e5}, {"gap", o->gap, 1e6},
        {"depth_unit", o->depth_unit, 1}, {"time_unit", o->time_unit, 1}};
    Status status = STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && i < sizeof wholes / sizeof *wholes; i++)
        status = api_check_whole(wholes[i].value, wholes[i].min, wholes[i].max, wholes[i].name, err);
    for (size_t i = 0; status == STATUS_OK && i < sizeof reals / sizeof *reals; i++)
        status = check_real(reals[i].value, reals[i].max, reals[i].name, err);
    if (status == STATUS_OK && (o->holdout_first < 0 || (o->holdout_first && o->holdout_first >= o->holdout)))
        status = error_set(err, STATUS_BAD_INPUT, "holdout_first: expected a number below holdout (%d), found %d",
                           o->holdout, o->holdout_first);
    if (status == STATUS_OK && !o->height != !o->width)
        status = error_set(err, STATUS_BAD_INPUT, "height and width: expected both or neither, found %d and %d",
                           o->height, o->width);
    if (status == STATUS_OK && o->near > 0 && o->far > 0 && o->near >= o->far)
        status = error_set(err, STATUS_BAD_INPUT, "near: expected less than far, found %g and %g", o->near, o->far);
    return status;
}

static Status take_bounds(const double *bounds, ImportOptions *out, Error *err) {
    if (!bounds) return STATUS_OK;
    for (int axis = 0; axis < 3; axis++)
        if (!isfinite(bounds[axis]) || !isfinite(bounds[3 + axis]) || !(bounds[axis] < bounds[3 + axis]))
            return error_set(err, STATUS_BAD_INPUT,
                             "bounds: expected a finite lower corner below the upper one, found %g to %g on axis %d",
                             bounds[axis], bounds[3 + axis], axis);
    memcpy(out->bounds, bounds, sizeof out->bounds);
    out->has_bounds = true;
    return STATUS_OK;
}

static Status take_intrinsics(const vpd_import_options *o, ImportOptions *out, Error *err) {
    size_t count = o->intrinsics_count;
    bool good = count == 4 || count == 8 || count == 9;
    if (!o->intrinsics && !count) return STATUS_OK;
    for (size_t i = 0; good && i < count; i++) good = o->intrinsics && isfinite(o->intrinsics[i]);
    if (!good || o->intrinsics[0] <= 0 || o->intrinsics[1] <= 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "intrinsics: expected 4, 8 or 9 finite numbers fx fy cx cy [k1 k2 p1 p2 [k3]] with fx and fy "
                         "above 0, found %zu numbers",
                         count);
    memcpy(out->intrinsics, o->intrinsics, count * sizeof *o->intrinsics);
    out->has_intrinsics = true;
    return STATUS_OK;
}

static Status take_words(const vpd_import_options *o, ImportOptions *out, Error *err) {
    if (o->split && !split_parse(o->split, &out->split))
        return error_set(err, STATUS_BAD_INPUT, "split: expected train, val or test, found \"%.40s\"", o->split);
    if (!o->as) return STATUS_OK;
    out->as = !strcmp(o->as, "still") ? AS_STILL : !strcmp(o->as, "video") ? AS_VIDEO : AS_RECORDED;
    if (out->as != AS_RECORDED) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "as: expected still or video, found \"%.40s\"", o->as);
}

static Status take_options(const vpd_import_options *o, ImportOptions *out, Error *err) {
    *out = (ImportOptions){.split = SPLIT_TRAIN, .near = NAN, .far = NAN};
    if (!o) return STATUS_OK;
    Status status = API_CHECK_STRUCT(o, vpd_import_options, err);
    if (status == STATUS_OK) status = check_numbers(o, err);
    if (status == STATUS_OK) status = take_bounds(o->bounds, out, err);
    if (status == STATUS_OK) status = take_intrinsics(o, out, err);
    if (status == STATUS_OK) status = take_words(o, out, err);
    if (status != STATUS_OK) return status;
    out->format = o->format;
    out->H = o->height, out->W = o->width;
    out->every = o->every;
    out->holdout = o->holdout, out->holdout_first = o->holdout_first;
    out->window = o->window;
    if (o->near > 0) out->near = o->near;
    if (o->far > 0) out->far = o->far;
    out->name = o->name;
    out->fps = o->fps, out->gap = o->gap;
    out->depth_unit = o->depth_unit;
    out->time_unit = o->time_unit;
    out->cameras = o->cameras, out->depth = o->depth;
    out->level = o->level;
    return STATUS_OK;
}

static Status import_data(const char *path, const char *target, ImportOptions options, bool skip_bad, ApiNotes *notes,
                          char **report, Error *err) {
    json_t *written = NULL;
    ImportLeftOut left_out = {0};
    ImportReport skipped = {0};
    options.left_out = &left_out;
    if (skip_bad) options.report = &skipped;
    Status status = dataset_import(path, &options, target, &notes->log, err);
    if (status == STATUS_OK) status = dataset_written_json(target, &written, err);
    if (status == STATUS_OK) status = import_left_out_json(&left_out, written, err);
    if (status == STATUS_OK && skip_bad) status = import_skipped_json(&skipped, written, err);
    import_report_free(&skipped);
    if (status == STATUS_OK) return api_report(written, notes, report, err);
    json_decref(written);
    return status;
}

vpd_status vpd_data_import(const char *path, const char *out, const vpd_import_options *options, char **report,
                           vpd_error *err) {
    Error e = {0};
    ApiNotes notes = {0};
    ImportOptions wanted;
    if (report) *report = NULL;
    Status status = api_check_pointer(path, "path", &e);
    if (status == STATUS_OK) status = api_check_pointer(out, "out", &e);
    if (status == STATUS_OK) status = api_check_output(out, "vpd-dataset", &e);
    if (status == STATUS_OK) status = take_options(options, &wanted, &e);
    if (status == STATUS_OK) status = api_notes_open(&notes, &e);
    if (status == STATUS_OK) {
        Call call = call_begin(NULL, 0, true);
        status = import_data(path, out, wanted, options && options->skip_bad, &notes, report, &e);
        call_end(&call);
    }
    api_notes_free(&notes);
    return api_result(status, &e, err);
}
