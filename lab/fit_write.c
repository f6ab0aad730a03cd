// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_write.h"

#include "base/file.h"
#include "base/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TITLE "# Fitted by \"vpd sim fit\""
#define LINE "#: "

// ---- words

// Names of those that move along with it, at most four.
static void add_names(const FitFree *f, const FitValue *value, char *out, size_t size) {
    size_t names = 0, used = strlen(out);
    for (size_t i = 0; i < f->count && used < size; i++) {
        if (!(value->with[i / 32] >> i % 32 & 1)) continue;
        if (++names > 4) break;
        used +=
            (size_t)snprintf(out + used, size - used, "%s%s", names == 1 ? " apart from " : ", ", f->variable[i].name);
    }
    if (names > 4 && used < size) snprintf(out + used, size - used, ", ..");
}

void fit_words(const FitFree *f, const FitResult *result, size_t i, char *out, size_t size) {
    const FitValue *value = result->value + i;
    char number[32];
    snprintf(number, sizeof number, "%.7g", value->value);
    if (value->verdict == FIT_UNDETERMINED) {
        snprintf(out, size, "not determined by the recording");
        add_names(f, value, out, size);
        const size_t used = strlen(out);
        snprintf(out + used, size - used, "; stays at its start, %s", number);
        return;
    }
    if (value->verdict == FIT_FITTED && isfinite(value->error)) snprintf(out, size, "%s +- %.2g", number, value->error);
    else snprintf(out, size, "%s", number);
    const size_t used = strlen(out);
    if (value->verdict == FIT_AT_BOUND) snprintf(out + used, size - used, ", its bound");
}

const char *fit_residual_unit(uint32_t kinds) {
    switch (kinds) {
    case FIT_STATES:
    case FIT_DEPTH: return " m";
    case FIT_COLOUR: return " of full colour";
    case FIT_MASK: return " of a pixel";
    default: return " usual errors";
    }
}

bool fit_warning(const FitResult *r, int which, char *out, size_t size) {
    const bool applies[FIT_WARNINGS] = {
        r->no_errors.status != STATUS_OK, r->jumps,     r->no_better, r->many && r->has_errors,
        r->rounded && r->has_errors,      !r->converged};
    if (!applies[which]) return false;
    switch (which) {
    case 0: snprintf(out, size, "there are no standard errors: %s", r->no_errors.text); break;
    case 1:
        snprintf(
            out, size,
            "a contact has k_d and no \"fade\", so its force jumps at touch: numbers and standard errors are rough; "
            "\"fade: 0.01\" makes them exact");
        break;
    case 2:
        snprintf(out, size,
                 "residuals of %.3g are hardly better than those at the %sstart, %.3g: unless the start was right, try "
                 "20 starts, or ask whether the recording is of this scene",
                 r->rms, r->start_rms != r->first_rms ? "scene's " : "", r->start_rms);
        break;
    case 3:
        snprintf(
            out, size,
            "standard errors of more than 16 numbers from pictures are rough, and can be too small by a factor of two");
        break;
    case 4:
        snprintf(out, size,
                 "residuals of %.3g m are of the size of rounding in single precision, which goes on from frame to "
                 "frame: numbers can be off by tens of their standard errors; \"precision: f64\" in a simulated "
                 "recording's scene mends it",
                 r->rms);
        break;
    default:
        snprintf(out, size, "the fit has not converged: its numbers%s mean little; give it more iterations",
                 r->has_errors ? " and standard errors" : "");
    }
    return true;
}

// ---- the scene

typedef struct Written {
    const FitFree *free;
    const FitData *data;
    const FitResult *result;
    const char *text; // behind an earlier fit's head
    size_t length;
    const double *x; // (count) the numbers in it
    bool finished;
} Written;

static bool starts_with(const char *text, const char *word) { return !strncmp(text, word, strlen(word)); }

static const char *next_line(const char *text) {
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

static const char *behind_head(const char *text) {
    while (starts_with(text, TITLE) || starts_with(text, LINE)) text = next_line(text);
    return text;
}

static bool is_free(const FitFree *f, const char *line) {
    for (size_t i = 0; i < f->count; i++) {
        const char *name = f->variable[i].name;
        if (starts_with(line, name) && starts_with(line + strlen(name), " = ")) return true;
    }
    return false;
}

bool fit_same_names(const FitFree *f, const char *text) {
    const char *body = behind_head(text);
    size_t named = 0;
    for (; text < body; text = next_line(text)) {
        if (!starts_with(text, LINE)) continue;
        if (!is_free(f, text + strlen(LINE))) return false;
        named++;
    }
    return !named || named == f->count;
}

static bool write_text(FILE *file, void *context) {
    const Written *w = context;
    const FitResult *r = w->result;
    char words[512];
    fprintf(file, TITLE " to %s, %zu frames%s", w->data->source, r->frames,
            w->finished && !r->converged ? ", not converged" : "");
    if (w->finished) {
        fprintf(file, "; root mean square of residuals %.3g, %.3g at the start%s\n", r->rms, r->first_rms,
                r->has_errors ? "; with standard errors" : "");
        for (size_t i = 0; i < r->count; i++) {
            fit_words(w->free, r, i, words, sizeof words);
            fprintf(file, LINE "%s = %s\n", w->free->variable[i].name, words);
        }
    } else {
        fprintf(file, "; not finished, --resume goes on\n");
        for (size_t i = 0; i < r->count; i++)
            fprintf(file, LINE "%s = %.7g, so far\n", w->free->variable[i].name, w->x[i]);
    }
    return fwrite(w->text, 1, w->length, file) == w->length && !ferror(file);
}

// Calls `write` with what is to be written at x, NULL: the result.
static Status with_text(Written *w, const double *x, Status (*write)(Written *, void *, Error *), void *context,
                        Error *err) {
    const FitFree *f = w->free;
    double *values = calloc(f->count, sizeof *values);
    char *text = NULL;
    size_t length;
    if (!values) return error_no_memory(err, "a fit of %s", f->path);
    for (size_t i = 0; i < f->count; i++) values[i] = x ? x[i] : w->result->value[i].value;
    Status status = fit_free_text(f, values, &text, &length, err);
    if (status == STATUS_OK) {
        w->text = behind_head(text);
        w->length = strlen(w->text);
        w->x = values;
        status = write(w, context, err);
    }
    free(text);
    free(values);
    return status;
}

static Status to_file(Written *w, void *path, Error *err) { return file_write_stream(path, write_text, w, err); }

static Status to_memory(Written *w, void *out, Error *err) {
    size_t length;
    FILE *stream = open_memstream(out, &length);
    const bool good = stream && write_text(stream, w);
    if (!stream || fclose(stream) || !good) return error_no_memory(err, "a fit of %s", w->free->path);
    return STATUS_OK;
}

Status fit_write_scene(const FitFree *f, const FitData *data, const FitResult *result, const double *x, bool finished,
                       const char *path, Error *err) {
    Written written = {.free = f, .data = data, .result = result, .finished = finished};
    return with_text(&written, x, to_file, (void *)path, err);
}

Status fit_scene_text(const FitFree *f, const FitData *data, const FitResult *result, char **out, Error *err) {
    Written written = {.free = f, .data = data, .result = result, .finished = true};
    *out = NULL;
    return with_text(&written, NULL, to_memory, out, err);
}

Status fit_check_folder(const FitFree *f, const char *path, Error *err) {
    char folder[FILE_PATH_SIZE];
    SimScene scene = {0};
    Error other;
    Status status = file_folder(folder, path, err);
    if (status != STATUS_OK) return status;
    status = scene_parse(f->text, f->length, f->path, folder, &scene, &other);
    scene_free(&scene);
    if (status != STATUS_BAD_INPUT) return STATUS_OK;
    return error_set(err, status, "%s: %s names files beside it; write the fitted scene into the same folder", path,
                     f->path);
}

// ---- the plot

typedef struct Curves {
    Plot plot[2];
    PlotSeries *series; // (1 + P)
    double *x, *y;      // (steps); (1 + P,steps)
} Curves;

static bool make_curves(const FitFree *f, const FitResult *r, Curves *out) {
    const size_t P = f->count, steps = r->steps;
    out->series = calloc(1 + P, sizeof *out->series);
    out->x = calloc((2 + P) * (steps + 1), sizeof *out->x);
    if (!out->series || !out->x) return false;
    out->y = out->x + steps;
    for (size_t s = 0; s < steps; s++) {
        out->x[s] = (double)s;
        out->y[s] = r->step[s].rms;
        for (size_t p = 0; p < P; p++) {
            const double start = f->variable[p].start, value = r->path[s * P + p];
            out->y[(1 + p) * steps + s] = f->variable[p].range.log ? value / start : value - start;
        }
    }
    for (size_t k = 0; k <= P; k++)
        out->series[k] = (PlotSeries){.name = k ? f->variable[k - 1].name : NULL,
                                      .x = out->x,
                                      .y = out->y + k * steps,
                                      .count = (int)steps,
                                      .colour = -1,
                                      .markers = steps < 40};
    out->plot[0] = (Plot){.title = "Residuals",
                          .x_label = "step",
                          .y_label = "root mean square",
                          .log_y = true,
                          .series = out->series,
                          .series_count = 1};
    out->plot[1] = (Plot){.title = "Numbers: by, or apart from, their start",
                          .x_label = "step",
                          .series = out->series + 1,
                          .series_count = (int)(P < PLOT_COLOURS ? P : PLOT_COLOURS)};
    return true;
}

static bool write_plots(FILE *file, void *context) {
    plot_write_grid(((Curves *)context)->plot, 2, file);
    return !ferror(file);
}

Status fit_write_plot(const FitFree *f, const FitResult *result, const char *path, Error *err) {
    Curves curves = {0};
    Status status = make_curves(f, result, &curves) ? file_write_stream(path, write_plots, &curves, err)
                                                    : error_no_memory(err, "a fit of %s", f->path);
    free(curves.series);
    free(curves.x);
    return status;
}
