// SPDX-License-Identifier: Apache-2.0
// `vpd sim fit`: numbers of a scene from a recording.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "app/sim_fit_film.h"
#include "app/sim_scene.h"
#include "base/clock.h"
#include "base/file.h"
#include "infer/video.h"
#include "lab/fit_log.h"
#include "lab/fit_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAVE_SECONDS 10 // between two versions of an unfinished fit
#define LOG_SECONDS 1   // and of its log

static const Flag flags[] = {
    {.name = "data", .value = "FILE.h5", .help = "recording: a data set, or a rollout file (required)"},
    {.name = "episode", .value = "E", .help = "of a data set, by name or number (default: the first)"},
    {.name = "output",
     .value = "FILE.yaml",
     .help = "the scene with the fitted numbers (required)",
     .letter = 'o',
     .writes = "fitted"},
    {.name = "free",
     .value = "NAME",
     .help = "fit this number, as ball.density, in place of the scene's \"fit: {free: ..}\"",
     .repeated = true},
    {.name = "compare",
     .value = "KIND",
     .help = "states, colour, depth or mask (default states, if there are)",
     .repeated = true},
    {.name = "method",
     .value = "METHOD",
     .help = "auto, lm, lbfgs or adam (default auto: lm up to 64 numbers, 128 from states)"},
    {.name = "iterations", .value = "N", .help = "at most, for each horizon (default 100; adam 300)"},
    {.name = "starts", .value = "N", .help = "the scene's numbers, and others within their bounds (default 1)"},
    {.name = "horizon", .value = "FRAMES", .help = "compare these first, then twice as many, .. (default: an eighth)"},
    {.name = "resume", .help = "go on from the numbers in the output file"},
    {.name = "plot", .value = "FILE.svg", .help = "plot residuals and numbers over the steps", .writes = "svg"},
    {.name = "log",
     .value = "FILE.jsonl",
     .help = "residuals and numbers of each step, for vpd view",
     .writes = "jsonl"},
    {.name = "film",
     .value = "FILE.gif",
     .help = "recording, start and fit side by side (.gif, .mp4)",
     .writes = "gif mp4"},
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

typedef struct Work {
    const CommandLine *line;
    const char *out;
    FitFree free;
    SimScene scene;
    Dataset *dataset;
    FitData data;
    FitOptions options;
    FitResult result;
    int episode;
    double *at;   // where to go on
    double saved; // when the output was last written
    double logged;
    Error *err;
} Work;

// ---- what is asked for

static Status read_options(Work *work) {
    const CommandLine *line = work->line;
    FitOptions *o = &work->options;
    int method = FIT_AUTO;
    Status status = command_choice(line, "method", "auto|lm|lbfgs|adam", &method, work->err);
    if (status == STATUS_OK) status = command_int(line, "iterations", 1, 1000000, &o->iterations, work->err);
    if (status == STATUS_OK) status = command_int(line, "starts", 1, 1000, &o->starts, work->err);
    if (status == STATUS_OK) status = command_int(line, "horizon", 2, 1 << 20, &o->horizon, work->err);
    o->method = (FitMethod)method;
    o->threads = command_text(line, "threads", NULL) ? line->threads : 0;
    return status;
}

static Status read_free(Work *work, const char *path, FitFree *out) {
    const char **names = calloc((size_t)work->line->given_count + 1, sizeof *names);
    size_t count = 0;
    if (!names) return error_set(work->err, STATUS_FAILED, "out of memory for names");
    while ((names[count] = command_repeated(work->line, "free", (int)count))) count++;
    Status status = fit_free_read(path, count ? names : NULL, count, out, work->err);
    free(names);
    return status;
}

static Status read_compare(const Work *work, uint32_t *out) {
    const char *word;
    *out = work->free.compare;
    for (int i = 0; (word = command_repeated(work->line, "compare", i)); i++) {
        const uint32_t kind = fit_kind(word);
        if (i == 0) *out = 0;
        if (!kind)
            return error_set(work->err, STATUS_BAD_INPUT, "--compare %s: expected states, colour, depth or mask", word);
        *out |= kind;
    }
    return STATUS_OK;
}

// The numbers that an earlier run wrote.
static Status read_resumed(Work *work) {
    FitFree old;
    if (!command_has(work->line, "resume")) return STATUS_OK;
    if (!file_exists(work->out))
        return error_set(work->err, STATUS_BAD_INPUT, "%s: there is nothing to resume; leave out --resume", work->out);
    Status status = read_free(work, work->out, &old);
    if (status != STATUS_OK) return status;
    work->at = calloc(work->free.count, sizeof *work->at);
    if (!work->at) status = error_set(work->err, STATUS_FAILED, "out of memory for a fit");
    bool same = fit_same_names(&work->free, old.text) && old.count == work->free.count;
    for (size_t i = 0; i < work->free.count && status == STATUS_OK && same; i++) {
        same = !strcmp(old.variable[i].name, work->free.variable[i].name);
        work->at[i] = old.variable[i].in_file;
    }
    if (status == STATUS_OK && !same)
        status = error_set(work->err, STATUS_BAD_INPUT,
                           "%s: was fitted with other numbers than those that are free now; leave out --resume, and "
                           "give it as SCENE.yaml",
                           work->out);
    work->options.at = work->at;
    fit_free_close(&old);
    return status;
}

static Status open_data(Work *work) {
    FitFile file = {.episode = command_text(work->line, "episode", NULL),
                    .smooth = fit_by_adjoint(&work->options, work->free.count),
                    .threads = work->line->threads};
    Status status = command_required(work->line, "data", &file.path, work->err);
    if (status == STATUS_OK) status = read_compare(work, &file.kinds);
    if (status != STATUS_OK) return status;
    return fit_data_open_file(&file, &work->scene, &work->dataset, &work->episode, &work->data, work->err);
}

// ---- what is told

static void report(void *context, long step, size_t frames, double rms, const double *x) {
    Work *work = context;
    const double now = clock_now();
    Error ignored;
    const char *steps = command_text(work->line, "log", NULL);
    log_note(&work->line->log, "step %3ld   %zu frames   residuals %.6g", step, frames, rms);
    if (steps && now - work->logged >= LOG_SECONDS) {
        work->logged = now;
        fit_write_log(&work->free, &work->result, steps, &ignored);
    }
    if (now - work->saved < SAVE_SECONDS) return;
    work->saved = now;
    fit_write_scene(&work->free, &work->data, &work->result, x, false, work->out, &ignored);
}

// Where the fit began; what is not determined is back at the scene's start.
static double start_of(const Work *work, size_t i) {
    const bool back = work->result.value[i].verdict == FIT_UNDETERMINED;
    return work->at && !back ? work->at[i] : work->free.variable[i].start;
}

static json_t *value_json(const Work *work, size_t i) {
    const FitVariable *v = work->free.variable + i;
    const FitValue *value = work->result.value + i;
    json_t *with = json_array();
    for (size_t k = 0; k < work->free.count; k++)
        if (value->with[k / 32] >> k % 32 & 1) json_array_append_new(with, json_string(work->free.variable[k].name));
    return json_pack("{s:s s:o s:o s:o s:s s:o}", "name", v->name, "start", json_finite(start_of(work, i)), "value",
                     json_finite(value->value), "error", json_finite(value->error), "verdict",
                     fit_verdicts[value->verdict], "with", with);
}

static Status tell_json(const Work *work) {
    const FitResult *r = &work->result;
    const char *plot = command_text(work->line, "plot", NULL), *film = command_text(work->line, "film", NULL);
    json_t *values = json_array(), *warnings = json_array(), *written = json_pack("[s]", work->out);
    char words[FIT_WARNING_SIZE];
    if (plot) json_array_append_new(written, json_string(plot));
    if (film) json_array_append_new(written, json_string(film));
    if (command_has(work->line, "log"))
        json_array_append_new(written, json_string(command_text(work->line, "log", "")));
    for (size_t i = 0; i < r->count; i++) json_array_append_new(values, value_json(work, i));
    for (int i = 0; i < FIT_WARNINGS; i++)
        if (fit_warning(r, i, words, sizeof words)) json_array_append_new(warnings, json_string(words));
    return result_json(work->line,
                       json_pack("{s:o s:s s:I s:o s:o s:I s:b s:o s:o}", "written", written, "data", work->data.source,
                                 "frames", (json_int_t)r->frames, "rms", json_finite(r->rms), "first_rms",
                                 json_finite(r->first_rms), "steps", (json_int_t)r->steps, "converged", r->converged,
                                 "values", values, "warnings", warnings),
                       work->err);
}

static Status tell(const Work *work) {
    const FitResult *r = &work->result;
    char words[512];
    if (command_has(work->line, "json")) return tell_json(work);
    printf("%-24s %14s   %s\n", "number", "start", r->has_errors ? "fitted, standard error" : "fitted");
    for (size_t i = 0; i < r->count; i++) {
        fit_words(&work->free, r, i, words, sizeof words);
        printf("%-24s %14.7g   %s\n", work->free.variable[i].name, start_of(work, i), words);
    }
    printf("%s: %zu frames, %ld rollouts, %.1f s%s\n", work->out, r->frames, r->calls,
           clock_now() - work->line->started, r->converged ? "" : "; not converged");
    printf("the rollout differs from the recording by %.4g%s, root mean square; at the start by %.4g\n", r->rms,
           fit_residual_unit(work->data.kinds), r->first_rms);
    return STATUS_OK;
}

// ---- the command

static Status fit(Work *work) {
    const char *plot = command_text(work->line, "plot", NULL), *film = command_text(work->line, "film", NULL);
    work->options.report = report;
    work->options.context = work;
    work->saved = clock_now();
    Error stopped;
    Status status = fit_run(&work->free, &work->data, &work->options, &work->result, work->err);
    if (status == STATUS_INTERRUPTED) {
        if (fit_write_scene(&work->free, &work->data, &work->result, NULL, false, work->out, &stopped) == STATUS_OK)
            log_warning(&work->line->log, "%s: has the best numbers so far; go on with --resume", work->out);
    }
    if (status != STATUS_OK) return status;
    char words[FIT_WARNING_SIZE];
    for (int i = 0; i < FIT_WARNINGS; i++)
        if (fit_warning(&work->result, i, words, sizeof words)) log_warning(&work->line->log, "%s", words);
    status = fit_write_scene(&work->free, &work->data, &work->result, NULL, true, work->out, work->err);
    if (status == STATUS_OK && plot) status = fit_write_plot(&work->free, &work->result, plot, work->err);
    const char *steps = command_text(work->line, "log", NULL);
    if (status == STATUS_OK && steps) status = fit_write_log(&work->free, &work->result, steps, work->err);
    if (status == STATUS_OK && film)
        status = sim_fit_film(&work->free, &work->data, &work->result, work->dataset, work->episode,
                              work->line->threads, film, work->err);
    return status == STATUS_OK ? tell(work) : status;
}

static Status run(const CommandLine *line, Error *err) {
    Work work = {.line = line, .err = err};
    Status status = command_required(line, "output", &work.out, err);
    if (status == STATUS_OK) status = read_options(&work);
    if (status == STATUS_OK) status = read_free(&work, command_argument(line, 0), &work.free);
    if (status == STATUS_OK) status = fit_free_scene(&work.free, NULL, &work.scene, err);
    if (status == STATUS_OK) sim_scene_warn(line, &work.scene);
    if (status == STATUS_OK) status = open_data(&work);
    if (status == STATUS_OK) status = read_resumed(&work);
    if (status == STATUS_OK) status = fit_check_folder(&work.free, work.out, err);
    if (status == STATUS_OK) status = command_check_writable(work.out, err);
    if (status == STATUS_OK && command_has(line, "log"))
        status = command_check_writable(command_text(line, "log", ""), err);
    if (status == STATUS_OK && command_has(line, "film"))
        status = video_check_path(command_text(line, "film", ""), err);
    if (status == STATUS_OK && command_has(line, "film"))
        status = output_check_frames(line, command_text(line, "film", ""), work.data.frames, err);
    if (status == STATUS_OK) status = fit(&work);
    fit_result_free(&work.result);
    fit_data_close(&work.data);
    dataset_close(work.dataset);
    scene_free(&work.scene);
    fit_free_close(&work.free);
    free(work.at);
    return status;
}

const Command command_sim_fit = {
    .name = "sim fit",
    .summary = "find numbers of a scene from a recording",
    .arguments = "SCENE.yaml",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "Standard errors come from the curvature at the result. A number that the recording does not determine "
               "stays at its start,\nand the result names it. docs/fits.md explains both. Fits run on the CPU, in f64.",
    .run = run,
};
