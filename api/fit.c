// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "lab/fit_write.h"

#include <stdlib.h>
#include <string.h>

struct vpd_sim_fitted {
    FitFree free;
    FitResult result;
    char *scene, *warnings;
    char **with; // (count) names, one a line
};

// Of one call.
typedef struct Fitting {
    const vpd_sim_fit_options *options;
    vpd_sim_fitted *fitted;
    FitOptions fit;
    uint32_t compare;
    SimScene scene;
    Dataset *dataset;
    FitData data;
} Fitting;

// ---- what is asked for

static Status check_source(const vpd_sim_fit_options *o, Error *err) {
    if (!o->data == !o->position)
        return error_set(err, STATUS_BAD_INPUT, "data, position: expected one of the two, found %s",
                         o->data ? "both" : "neither");
    if (o->position && o->episode)
        return error_set(err, STATUS_BAD_INPUT, "episode: needs a data set, and positions were given");
    return STATUS_OK;
}

static Status read_method(const char *word, FitMethod *out, Error *err) {
    static const char *const words[] = {"auto", "lm", "lbfgs", "adam"};
    *out = FIT_AUTO;
    for (int i = 0; word && i < 4; i++) {
        *out = (FitMethod)i;
        if (!strcmp(word, words[i])) return STATUS_OK;
    }
    return word ? error_set(err, STATUS_BAD_INPUT, "method: expected auto, lm, lbfgs or adam, found \"%.40s\"", word)
                : STATUS_OK;
}

static Status read_compare(Fitting *f, Error *err) {
    const vpd_sim_fit_options *o = f->options;
    Status status = api_check_texts(o->compare, o->compare_count, "compare", err);
    for (size_t i = 0; i < o->compare_count && status == STATUS_OK; i++) {
        const uint32_t kind = fit_kind(o->compare[i]);
        if (!kind)
            return error_set(err, STATUS_BAD_INPUT, "compare: expected states, colour, depth or mask, found \"%.40s\"",
                             o->compare[i]);
        f->compare |= kind;
    }
    return status;
}

static Status read_options(Fitting *f, Error *err) {
    const vpd_sim_fit_options *o = f->options;
    Status status = API_CHECK_STRUCT(o, vpd_sim_fit_options, err);
    if (status == STATUS_OK) status = api_check_threads(o->threads, err);
    if (status == STATUS_OK) status = check_source(o, err);
    if (status == STATUS_OK) status = api_check_whole(o->iterations, 1, 1000000, "iterations", err);
    if (status == STATUS_OK) status = api_check_whole(o->starts, 1, 1000, "starts", err);
    if (status == STATUS_OK) status = api_check_whole(o->horizon, 2, 1 << 20, "horizon", err);
    if (status == STATUS_OK) status = read_method(o->method, &f->fit.method, err);
    if (status == STATUS_OK) status = read_compare(f, err);
    if (status == STATUS_OK) status = api_check_list(o->free, o->free_count, FIT_VARIABLES_MAX, "free", err);
    for (size_t i = 0; i < o->free_count && status == STATUS_OK; i++)
        status = api_check_pointer(o->free[i].name, "name of a free number", err);
    if (status != STATUS_OK) return status;
    f->fit.iterations = o->iterations, f->fit.starts = o->starts, f->fit.horizon = o->horizon;
    f->fit.threads = o->threads;
    return status;
}

static Status read_free(Fitting *f, const char *scene, Error *err) {
    const vpd_sim_fit_options *o = f->options;
    FitFree *numbers = &f->fitted->free;
    const char **names = calloc(o->free_count + 1, sizeof *names);
    if (!names) return error_set(err, STATUS_FAILED, "out of memory for a fit");
    for (size_t i = 0; i < o->free_count; i++) names[i] = o->free[i].name;
    Status status = fit_free_read(scene, o->free_count ? names : NULL, o->free_count, numbers, err);
    for (size_t i = 0; i < o->free_count && status == STATUS_OK; i++)
        status = fit_free_bound(numbers, names[i], o->free[i].start, o->free[i].low, o->free[i].high, err);
    free(names);
    if (!f->compare) f->compare = numbers->compare;
    return status;
}

static Status open_data(Fitting *f, Error *err) {
    const vpd_sim_fit_options *o = f->options;
    int episode;
    if (o->position && f->compare & ~(uint32_t)FIT_STATES)
        return error_set(err, STATUS_BAD_INPUT, "compare: positions have states alone");
    if (o->position) return fit_data_open_states(o->position, o->frames, &f->scene, &f->data, err);
    const FitFile file = {.path = o->data,
                          .episode = o->episode,
                          .kinds = f->compare,
                          .smooth = fit_by_adjoint(&f->fit, f->fitted->free.count),
                          .threads = o->threads};
    return fit_data_open_file(&file, &f->scene, &f->dataset, &episode, &f->data, err);
}

// ---- the fit

static char *names_with(const FitFree *numbers, const FitValue *value) {
    char *out = NULL;
    size_t length;
    FILE *stream = open_memstream(&out, &length);
    for (size_t i = 0; stream && i < numbers->count; i++)
        if (value->with[i / 32] >> i % 32 & 1) fprintf(stream, "%s\n", numbers->variable[i].name);
    if (stream) fclose(stream);
    return out;
}

static char *warnings_of(const FitResult *result) {
    char *out = NULL, words[FIT_WARNING_SIZE];
    size_t length;
    FILE *stream = open_memstream(&out, &length);
    for (int i = 0; stream && i < FIT_WARNINGS; i++)
        if (fit_warning(result, i, words, sizeof words)) fprintf(stream, "%s\n", words);
    if (stream) fclose(stream);
    return out;
}

static Status keep_texts(Fitting *f, Error *err) {
    vpd_sim_fitted *fitted = f->fitted;
    Status status = fit_scene_text(&fitted->free, &f->data, &fitted->result, &fitted->scene, err);
    fitted->with = calloc(fitted->free.count, sizeof *fitted->with);
    fitted->warnings = warnings_of(&fitted->result);
    bool good = fitted->with && fitted->warnings;
    for (size_t i = 0; i < fitted->free.count && good; i++)
        good = (fitted->with[i] = names_with(&fitted->free, fitted->result.value + i));
    return status == STATUS_OK && !good ? error_set(err, STATUS_FAILED, "out of memory for a fit") : status;
}

static Status fit(Fitting *f, const char *scene, Error *err) {
    Status status = read_free(f, scene, err);
    if (status == STATUS_OK) status = fit_free_scene(&f->fitted->free, NULL, &f->scene, err);
    if (status == STATUS_OK) status = open_data(f, err);
    if (status == STATUS_OK) status = fit_run(&f->fitted->free, &f->data, &f->fit, &f->fitted->result, err);
    if (status == STATUS_OK) status = keep_texts(f, err);
    fit_data_close(&f->data);
    dataset_close(f->dataset);
    scene_free(&f->scene);
    return status;
}

void vpd_sim_fitted_close(vpd_sim_fitted *fitted) {
    if (!fitted) return;
    for (size_t i = 0; i < fitted->free.count && fitted->with; i++) free(fitted->with[i]);
    free(fitted->with);
    free(fitted->scene);
    free(fitted->warnings);
    fit_result_free(&fitted->result);
    fit_free_close(&fitted->free);
    free(fitted);
}

vpd_status vpd_sim_fit(const char *scene, const vpd_sim_fit_options *options, vpd_sim_fitted **out, vpd_error *err) {
    Error e = {0};
    Fitting f = {.options = options};
    Status status = api_check_pointer(out, "out", &e);
    if (status == STATUS_OK) *out = NULL;
    if (status == STATUS_OK) status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(options, "options", &e);
    if (status == STATUS_OK) status = read_options(&f, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    f.fitted = calloc(1, sizeof *f.fitted);
    if (!f.fitted) return api_result(error_set(&e, STATUS_FAILED, "out of memory for a fit"), &e, err);
    Call call = call_begin(NULL, options->threads, true);
    status = fit(&f, scene, &e);
    call_end(&call);
    if (status == STATUS_OK) *out = f.fitted;
    else vpd_sim_fitted_close(f.fitted);
    return api_result(status, &e, err);
}

// ---- the result

vpd_status vpd_sim_fitted_get_facts(const vpd_sim_fitted *fitted, vpd_sim_fitted_facts *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(fitted, "fitted", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_sim_fitted_facts, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    const FitResult *r = &fitted->result;
    *out = (vpd_sim_fitted_facts){.struct_size = sizeof *out,
                                  .numbers = r->count,
                                  .frames = r->frames,
                                  .steps = r->steps,
                                  .rms = r->rms,
                                  .first_rms = r->first_rms,
                                  .converged = r->converged,
                                  .has_errors = r->has_errors,
                                  .scene = fitted->scene,
                                  .warnings = fitted->warnings};
    return api_result(STATUS_OK, &e, err);
}

vpd_status vpd_sim_fitted_get_number(const vpd_sim_fitted *fitted, size_t index, vpd_sim_number *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(fitted, "fitted", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_sim_number, &e);
    if (status == STATUS_OK && index >= fitted->result.count)
        status = error_set(&e, STATUS_BAD_INPUT, "number %zu: expected 0 to %zu", index, fitted->result.count - 1);
    if (status != STATUS_OK) return api_result(status, &e, err);
    const FitValue *value = fitted->result.value + index;
    *out = (vpd_sim_number){.struct_size = sizeof *out,
                            .name = fitted->free.variable[index].name,
                            .start = fitted->free.variable[index].start,
                            .value = value->value,
                            .error = value->error,
                            .verdict = fit_verdicts[value->verdict],
                            .with = fitted->with[index]};
    return api_result(STATUS_OK, &e, err);
}
