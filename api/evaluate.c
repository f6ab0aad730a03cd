// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "edit/edit.h"
#include "infer/eval_request.h"

#include <stdlib.h>

enum { STEPS_MAX = 100000 };

static Status take_list(const int *values, size_t count, int min, int max, const char *what, IntList *out, Error *err) {
    Status status = api_check_list(values, count, OPTION_LIST_SIZE, what, err);
    for (size_t i = 0; status == STATUS_OK && i < count; i++) {
        out->v[out->count++] = values[i];
        if (values[i] < min || values[i] > max)
            status = error_set(err, STATUS_BAD_INPUT, "%s: expected %d to %d, found %d", what, min, max, values[i]);
    }
    return status;
}

static Status take_options(const vpd_evaluate_options *o, EvalRequest *out, Error *err) {
    *out = (EvalRequest){.steps = -1};
    if (!o) return STATUS_OK;
    Status status = API_CHECK_STRUCT(o, vpd_evaluate_options, err);
    if (status == STATUS_OK) status = api_check_texts(o->episodes, o->episode_count, "episodes", err);
    if (status == STATUS_OK) status = take_list(o->starts, o->start_count, 0, 1000000000, "starts", &out->starts, err);
    if (status == STATUS_OK)
        status = take_list(o->input_views, o->input_view_count, 0, 65535, "input_views", &out->views, err);
    if (status == STATUS_OK) status = take_list(o->driven, o->driven_count, -65534, 65534, "driven", &out->driven, err);
    if (status == STATUS_OK && (o->steps < -1 || o->steps > STEPS_MAX))
        status = error_set(err, STATUS_BAD_INPUT, "steps: expected 1 to %d, 0 for the default or -1 for none, found %d",
                           STEPS_MAX, o->steps);
    if (status == STATUS_OK && o->analytic) status = edit_simulation_check("analytic", o->analytic, err);
    if (status != STATUS_OK) return status;
    out->steps = o->steps < 0 ? 0 : o->steps ? o->steps : -1;
    out->seen_only = o->seen, out->motion_only = o->motion;
    out->pictures = o->pictures;
    out->analytic = o->analytic;
    return STATUS_OK;
}

// The report as the text that `vpd eval --json` writes, and the warnings.
static Status tell(const Report *report, ApiNotes *notes, char **out, Error *err) {
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    if (!stream) return error_set(err, STATUS_FAILED, "out of memory for the report");
    Status status = report_write_json(report, stream, err);
    fclose(stream);
    if (status == STATUS_OK) status = api_report(json_loadb(text, length, 0, NULL), notes, out, err);
    free(text);
    return status;
}

static Status evaluate(vpd_model *model, const char *path, const vpd_evaluate_options *options, EvalRequest request,
                       char **out, Error *err) {
    Dataset *dataset = NULL;
    EvalEpisodes episodes = {0};
    Report report = {0};
    ApiNotes notes;
    Status status = api_notes_open(&notes, err);
    request.episodes = &episodes;
    request.log = &notes.log;
    if (status == STATUS_OK) status = dataset_open(path, &dataset, err);
    if (status == STATUS_OK)
        status = eval_episodes_choose(dataset, options ? options->split : NULL, options ? options->episodes : NULL,
                                      options ? (int)options->episode_count : 0, &episodes, err);
    if (status == STATUS_OK) status = eval_request_run(&model->session, dataset, &request, &report, err);
    if (status == STATUS_OK) status = tell(&report, &notes, out, err);
    report_free(&report);
    eval_episodes_free(&episodes);
    dataset_close(dataset);
    api_notes_free(&notes);
    return status;
}

vpd_status vpd_model_evaluate(vpd_model *model, const char *dataset, const vpd_evaluate_options *options, char **report,
                              vpd_error *err) {
    Error e = {0};
    EvalRequest request;
    if (report) *report = NULL;
    Status status = api_check_pointer(model, "model", &e);
    if (status == STATUS_OK) status = api_check_pointer(dataset, "dataset", &e);
    if (status == STATUS_OK) status = take_options(options, &request, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(model, 0, true);
    status = evaluate(model, dataset, options, request, report, &e);
    call_end(&call);
    return api_result(status, &e, err);
}
