// SPDX-License-Identifier: Apache-2.0
// The report as JSON. docs/evaluation.md explains every key.
#include "base/json.h"
#include "base/vector.h"
#include "base/version.h"
#include "infer/report.h"

static json_t *mean_json(const Mean *mean) {
    return json_pack("{s:o, s:o, s:I, s:I}", "mean", json_finite(mean_value(mean)), "deviation",
                     json_finite(mean_deviation(mean)), "count", (json_int_t)mean->count, "not_finite",
                     (json_int_t)mean->rejected);
}

static json_t *line_json(const LineFit *fit) {
    return json_pack("{s:o, s:o, s:o, s:I}", "slope", json_finite(line_fit_slope(fit)), "slope_with_offset",
                     json_finite(line_fit_slope_centred(fit)), "correlation", json_finite(line_fit_correlation(fit)),
                     "count", (json_int_t)fit->count);
}

static const char *group_name(ReportGroup group) { return group == GROUP_INPUT ? "input" : "heldout"; }

// One row, or NULL if nothing was added for it.
static json_t *picture_row(const Report *report, ReportMethod method, ReportGroup group, int step, int view) {
    static const char *const regions[] = {"whole", "moving", "rim"}, *const metrics[] = {"psnr_db", "ssim",
                                                                                         "depth_error_m"};
    Mean whole = report_mean(report, method, group, REGION_WHOLE, METRIC_PSNR, step, view);
    if (whole.count + whole.rejected == 0) return NULL;
    json_t *row =
        json_pack("{s:s, s:s, s:i}", "method", report_method_name(method), "views", group_name(group), "step", step);
    json_object_set_new(row, "view", view < 0 ? json_null() : json_integer(view));
    for (int r = 0; r < REGION_COUNT; r++) {
        json_t *region = json_object();
        for (int m = 0; m < METRIC_COUNT; m++) {
            Mean mean = report_mean(report, method, group, (ReportRegion)r, (ReportMetric)m, step, view);
            json_object_set_new(region, metrics[m], mean_json(&mean));
        }
        json_object_set_new(row, regions[r], region);
    }
    return row;
}

// Writes one row per line, with commas between; frees the row.
static bool put_row(FILE *out, json_t *row, bool *first) {
    if (!row) return true;
    fputs(*first ? "\n  " : ",\n  ", out);
    *first = false;
    int bad = json_dumpf(row, out, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(row);
    return !bad;
}

static bool put_pictures(const Report *report, FILE *out) {
    bool first = true, good = true;
    for (int m = 0; m < METHOD_COUNT; m++)
        for (int g = 0; g < GROUP_COUNT; g++)
            for (int step = 0; step <= report->steps; step++)
                for (int view = -1; view < report->views; view++)
                    good =
                        put_row(out, picture_row(report, (ReportMethod)m, (ReportGroup)g, step, view), &first) && good;
    return good;
}

static json_t *motion_row(const MotionTally *t, ReportMethod method, int step) {
    return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "method",
                     report_method_name(method), "step", step, "true_motion_m", mean_json(&t->true_motion), "error_m",
                     mean_json(&t->error), "centre_error_m", mean_json(&t->centre_error), "centre_motion_m",
                     mean_json(&t->centre_motion), "particle_error_m", mean_json(&t->point_error), "spread_m",
                     mean_json(&t->spread), "floor_drift_m", mean_json(&t->floor_drift), "horizontal",
                     line_json(&t->horizontal), "vertical", line_json(&t->vertical), "objects_unseen",
                     (json_int_t)t->unseen, "particles_ignored", (json_int_t)t->ignored, "steps_not_finite",
                     (json_int_t)t->rejected);
}

static bool put_motion(const Report *report, FILE *out) {
    bool first = true, good = true;
    for (int i = 0; i < METHOD_COUNT * (report->steps + 1); i++) {
        const MotionTally *tally = report->motion + i;
        if (tally->error.count + tally->floor_drift.count + tally->unseen + tally->rejected == 0) continue;
        json_t *row = motion_row(tally, (ReportMethod)(i / (report->steps + 1)), i % (report->steps + 1));
        good = put_row(out, row, &first) && row && good;
    }
    return good;
}

// Bytes of paths that are not valid UTF-8 become '?'.
static json_t *text_json(const char *text) {
    char clean[512];
    json_t *out = json_string(text);
    if (out) return out;
    snprintf(clean, sizeof clean, "%s", text);
    for (char *c = clean; *c; c++)
        if ((unsigned char)*c >= 128) *c = '?';
    return json_string(clean);
}

static json_t *up_json(const Report *report) {
    const double *up = report->up;
    return vector_dot(up, up) > 0 ? json_pack("[f,f,f]", up[0], up[1], up[2]) : json_null();
}

static json_t *driven_json(const Report *report) {
    json_t *list = json_array();
    for (int i = 0; i < report->driven.count; i++) json_array_append_new(list, json_integer(report->driven.v[i]));
    return list;
}

static bool put_heading(const Report *report, FILE *out) {
    const char *key;
    json_t *value,
        *head = json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:o, s:o}", "format",
                          "vpd-eval", "version", 1, "vpd", version_number(), "commit", version_commit(), "model",
                          text_json(report->model), "data", text_json(report->data), "split", text_json(report->split),
                          "moving_pixels", text_json(report->moving), "driven_objects", driven_json(report), "analytic",
                          report->analytic[0] ? text_json(report->analytic) : json_null(), "episodes", report->episodes,
                          "rollouts", report->rollouts, "steps", report->steps, "time_step_s",
                          json_finite(report->time_step), "up", up_json(report));
    if (!head) return false;
    json_object_foreach(head, key, value) {
        fprintf(out, " \"%s\": ", key);
        json_dumpf(value, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
        fputs(",\n", out);
    }
    json_decref(head);
    return true;
}

static bool put_verdict(const Report *report, FILE *out) {
    ReportVerdict verdict;
    report_verdict(report, &verdict);
    json_t *row = json_pack("{s:s, s:s, s:s}", "pictures", verdict.pictures, "motion", verdict.motion, "weakest",
                            verdict.weakest);
    bool good = row && json_dumpf(row, out, 0) == 0;
    json_decref(row);
    return good;
}

Status report_write_json(const Report *report, FILE *out, Error *err) {
    fputs("{\n", out);
    bool good = put_heading(report, out);
    fputs(" \"pictures\": [", out);
    good = put_pictures(report, out) && good;
    fputs("],\n \"motion\": [", out);
    good = put_motion(report, out) && good;
    fputs("],\n \"verdict\": ", out);
    good = put_verdict(report, out) && good;
    fputs("\n}\n", out);
    if (!good || fflush(out) != 0 || ferror(out))
        return error_set(err, STATUS_FAILED,
                         "the evaluation cannot be written as JSON: out of memory, or the disk is full");
    return STATUS_OK;
}
