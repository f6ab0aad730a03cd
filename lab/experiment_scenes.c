// SPDX-License-Identifier: Apache-2.0
// Experiments that find numbers again: mass, contact, fem.
#include "lab/experiment_inside.h"

#include "lab/fit_pictures.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FROM_STATES, FROM_PIXELS, FROM_BYTES, SOURCES };

// How an experiment looks at its scenes.
typedef struct Plan {
    const char *name;
    uint32_t key; // of its random numbers
    Status (*make)(Dice *d, size_t number, Instance *out, Error *err);
    const char *const *what; // (rows)
    const size_t *share;     // (rows) unknowns of each; 0: all others
    const double *paper[2];  // (rows) from states, from pixels
    size_t rows;
    size_t every, first_horizon;
    double good[2];     // a search whose residuals are below this has found its place
    double hopeless[2]; // and one above this is given up; 0: none
    size_t starts[2];   // at most
} Plan;

// What a scene's text has: the mass of its objects, and the substeps that are stable.
static Status measure(const char *text, double *mass, long *substeps, Error *err) {
    SimScene scene;
    Status status = scene_parse(text, strlen(text), "experiment", ".", &scene, err);
    if (status != STATUS_OK) return status;
    *mass = 0;
    for (size_t i = 0; i < scene.model.particles; i++) *mass += scene.values.of[SIM_MASS][i];
    *substeps = (long)ceil(1.25 * scene.frame_time / sim_stable_step(&scene.model, &scene.values)) + 1;
    scene_free(&scene);
    return STATUS_OK;
}

// ---- one instance

// An instance's scene and recording, and what the fit may change in it.
typedef struct Search {
    const Plan *plan;
    const Instance *instance;
    FitFree free;
    SimScene scene; // at the truth
    FitData data;
    size_t at[EXPERIMENT_UNKNOWNS]; // number of each unknown in `free`
    int source, threads;            // FROM_STATES or FROM_PIXELS
} Search;

// Where a search ended.
typedef struct Finding {
    double x[EXPERIMENT_UNKNOWNS], bar[EXPERIMENT_UNKNOWNS]; // the numbers and their standard errors
    double rms;
    size_t starts;
    long rollouts;
} Finding;

// The unknowns in the order of the fit, and their bounds; truth (count) in that order.
static Status order_unknowns(Search *s, double *truth, Error *err) {
    for (size_t u = 0; u < s->instance->unknowns; u++) {
        const Unknown *unknown = s->instance->unknown + u;
        size_t i = 0;
        while (i < s->free.count && strcmp(s->free.variable[i].name, unknown->name) != 0) i++;
        if (i == s->free.count)
            return error_set(err, STATUS_FAILED, "experiment %s: no number %s", s->plan->name, unknown->name);
        FitVariable *v = s->free.variable + i;
        const double by = unknown->share ? v->in_file : 1;
        v->range = (MinimiseVariable){.low = by * unknown->low, .high = by * unknown->high, .unit = by, .log = true};
        truth[i] = by * unknown->truth;
        s->at[u] = i;
    }
    return STATUS_OK;
}

static Status open_search(Search *s, Error *err) {
    const Instance *instance = s->instance;
    const char *names[EXPERIMENT_UNKNOWNS];
    double truth[EXPERIMENT_UNKNOWNS];
    for (size_t u = 0; u < instance->unknowns; u++) names[u] = instance->unknown[u].name;
    Status status =
        fit_free_parse(instance->text, strlen(instance->text), "experiment", names, instance->unknowns, &s->free, err);
    if (status == STATUS_OK) status = order_unknowns(s, truth, err);
    if (status == STATUS_OK) status = fit_free_scene(&s->free, truth, &s->scene, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < s->scene.object_count; i++) s->scene.objects[i].smooth = false; // flat faces show turns
    status = fit_data_record(&s->scene, s->source == FROM_STATES ? FIT_STATES : FIT_COLOUR, s->threads, &s->data, err);
    if (s->source == FROM_PIXELS) s->data.every = s->plan->every;
    return status;
}

static void close_search(Search *s) {
    fit_data_close(&s->data);
    scene_free(&s->scene);
    fit_free_close(&s->free);
}

// A fit from x (unknowns), which gets the result, over all frames at once or a growing number of them.
static Status fit_from(Search *s, size_t horizon, double *x, Finding *out, Error *err) {
    const FitOptions options = {.method = FIT_LM,
                                .horizon = (long)(horizon ? horizon : s->data.frames),
                                .threads = s->threads,
                                .hopeless = s->plan->hopeless[s->source]};
    FitResult result;
    for (size_t u = 0; u < s->instance->unknowns; u++) {
        FitVariable *v = s->free.variable + s->at[u];
        v->start = x[u] * v->range.unit;
    }
    Status status = fit_run(&s->free, &s->data, &options, &result, err);
    if (status == STATUS_OK && result.no_errors.status != STATUS_OK)
        status = error_set(err, result.no_errors.status, "%s", result.no_errors.text);
    if (status != STATUS_OK) fit_result_free(&result);
    if (status != STATUS_OK) return status;
    out->rms = result.has_errors ? result.rms : INFINITY;
    out->rollouts += result.calls;
    for (size_t u = 0; u < s->instance->unknowns; u++) {
        const FitValue *value = result.value + s->at[u];
        x[u] = value->value / s->free.variable[s->at[u]].range.unit;
        out->bar[u] = isfinite(value->error) ? value->error / s->free.variable[s->at[u]].range.unit : INFINITY;
    }
    fit_result_free(&result);
    return status;
}

// The best of some starts: each after the first changes about half of the best numbers so far.
static Status search(Search *s, Dice *d, Finding *out, Error *err) {
    const Plan *plan = s->plan;
    Finding trial = {.rms = INFINITY};
    Status status = STATUS_OK;
    *out = (Finding){.rms = INFINITY};
    for (size_t u = 0; u < s->instance->unknowns; u++) out->x[u] = s->instance->unknown[u].start;
    while (status == STATUS_OK && out->starts < plan->starts[s->source] && !(out->rms < plan->good[s->source])) {
        for (size_t u = 0; u < s->instance->unknowns; u++) {
            const Unknown *unknown = s->instance->unknown + u;
            const double other = exp(dice(d, log(unknown->low), log(unknown->high))), toss = dice(d, 0, 1);
            trial.x[u] = out->starts == 0 || toss < 0.5 ? out->x[u] : other;
        }
        status = fit_from(s, plan->first_horizon, trial.x, &trial, err);
        trial.starts++;
        if (status == STATUS_OK && trial.rms < out->rms) *out = trial;
        out->starts = trial.starts, out->rollouts = trial.rollouts;
    }
    return status;
}

// The same numbers from pictures of 8 bits, from beside where the search ended.
static Status round_off(Search *s, Finding *finding, Error *err) {
    for (size_t u = 0; u < s->instance->unknowns; u++) finding->x[u] *= 1.0001; // not from the truth itself
    fit_pictures_round(s->data.pictures);
    return fit_from(s, 0, finding->x, finding, err);
}

// Means over the unknowns of each row.
static void fold(const Plan *plan, const Instance *instance, const Finding *finding, size_t number,
                 ExperimentRow *rows) {
    size_t first = 0, named = 0;
    for (size_t r = 0; r < plan->rows; r++) named += plan->share[r];
    for (size_t r = 0; r < plan->rows; r++) {
        const size_t count = plan->share[r] ? plan->share[r] : instance->unknowns - named;
        rows[r].error[number] = 0;
        for (size_t u = first; u < first + count; u++) {
            const double truth = instance->unknown[u].truth;
            rows[r].error[number] += fabs(finding->x[u] / truth - 1) / (double)count;
            if (rows[r].bar) rows[r].bar[number] += finding->bar[u] / truth / (double)count;
        }
        first += count;
    }
}

// ---- all instances

static Status make_rows(const Plan *plan, size_t instances, ExperimentResult *out, Error *err) {
    static const char *const from[SOURCES] = {"states", "pixels", "pixels of 8 bits"};
    for (size_t s = 0; s < SOURCES; s++)
        for (size_t r = 0; r < plan->rows; r++) {
            ExperimentRow *row = out->row + out->rows++;
            *row = (ExperimentRow){plan->what[r], from[s], plan->paper[s > 0][r], NULL, NULL, instances};
            row->error = calloc(instances, sizeof *row->error);
            row->bar = s == FROM_BYTES ? calloc(instances, sizeof *row->bar) : NULL;
            if (!row->error || (s == FROM_BYTES && !row->bar))
                return error_set(err, STATUS_FAILED, "out of memory for an experiment");
        }
    return STATUS_OK;
}

static Status run_source(const Plan *plan, const Instance *instance, size_t number, int source, Dice *d,
                         const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    Search s = {.plan = plan, .instance = instance, .source = source, .threads = options->threads};
    ExperimentRow *rows = out->row + (size_t)source * plan->rows;
    Finding finding;
    Status status = open_search(&s, err);
    if (status == STATUS_OK) status = search(&s, d, &finding, err);
    if (status == STATUS_OK) {
        fold(plan, instance, &finding, number, rows);
        out->lost[source] += !(finding.rms < plan->good[source]);
        log_note(options->log, "%s %zu of %zu from %s: %zu starts, %ld rollouts, residual %.2g, error of %s %.2g",
                 plan->name, number + 1, options->instances, rows->from, finding.starts, finding.rollouts, finding.rms,
                 plan->what[0], rows->error[number]);
    }
    if (status == STATUS_OK && source == FROM_PIXELS) {
        status = round_off(&s, &finding, err);
        if (status == STATUS_OK) fold(plan, instance, &finding, number, rows + plan->rows);
    }
    close_search(&s);
    return status;
}

static Status run_plan(const Plan *plan, const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    Instance *instance = calloc(1, sizeof *instance);
    Status status = instance ? make_rows(plan, options->instances, out, err)
                             : error_set(err, STATUS_FAILED, "out of memory for an experiment");
    for (size_t i = 0; i < options->instances && status == STATUS_OK; i++) {
        Dice d = {{20251123, RANDOM_EXPERIMENT, plan->key, (uint32_t)i}, 0};
        memset(instance, 0, sizeof *instance);
        status = plan->make(&d, i, instance, err);
        for (int s = 0; s < 2 && status == STATUS_OK; s++)
            status = run_source(plan, instance, i, s, &d, options, out, err);
    }
    snprintf(out->text, sizeof out->text,
             "Searches that ended away from the recording (residuals above %.0e m, %.0e of full colour): %zu from "
             "states, %zu from pixels. They are counted in the figures.",
             plan->good[0], plan->good[1], out->lost[0], out->lost[1]);
    free(instance);
    return status;
}

// ---- mass: one number, a thrown body of one of four shapes

enum { MEASURED = 2 }; // density of the text: the lightest, so that its substeps are enough for all

static const char *const shapes[] = {"box: {size: [1.1, 1, 0.9], cells: [3, 3, 3]}", "sphere: {radius: 0.6, cells: 2}",
                                     "box: {size: [1.8, 0.5, 0.5], cells: [6, 2, 2]}",
                                     "box: {size: [1.4, 1.2, 0.3], cells: [5, 4, 1]}"};

// Fills in the substeps, and the force within the first frame that gives the true mass the velocity v.
static Status finish_text(const char *head, const char *body, double density, const double v[3], Instance *out,
                          Error *err) {
    double mass;
    long substeps;
    snprintf(out->text, sizeof out->text, "%ssubsteps: 1\n%s", head, body);
    Status status = measure(out->text, &mass, &substeps, err);
    const double push = 30 * mass * density / MEASURED;
    if (status == STATUS_OK)
        snprintf(out->text, sizeof out->text,
                 "%ssubsteps: %ld\n%scontrols: [{object: body, force: [%.17g, %.17g, %.17g], from: 0, to: 1}]\n", head,
                 substeps, body, push * v[0], push * v[1], push * v[2]);
    return status;
}

static void roll(Dice *d, size_t count, double low, double high, double *out) {
    for (size_t i = 0; i < count; i++) out[i] = dice(d, low, high);
}

static Status make_mass(Dice *d, size_t number, Instance *out, Error *err) {
    const double density = dice(d, 2, 12), v[3] = {dice(d, -1.5, 1.5), dice(d, -1.5, 1.5), dice(d, 8.5, 10)};
    double r[8];
    char body[1024];
    roll(d, 8, -1, 1, r);
    snprintf(body, sizeof body,
             "objects:\n  body: {%s, density: %d, solid: {mu: 4000, lambda: 4000, k_d: 1}, position: [%.9g, %.9g, 1], "
             "rotation: {axis: [%.9g, %.9g, 1], angle: %.9g}, spin: [%.9g, %.9g, %.9g]}\n",
             shapes[number % 4], MEASURED, r[0], r[1], r[2], r[3], 180 * r[4], r[5], r[6], r[7]);
    out->unknown[0] = (Unknown){"body.density", density, dice(d, 2, 12), 2, 12, false};
    out->unknowns = 1;
    return finish_text("frames: 60\nfps: 30\nprecision: f64\ncameras: {a: {eye: [0, -14, 3.5], look_at: [0, 0, 3.2]}}\n"
                       "picture: {size: [128, 128], rasteriser: soft, sigma: 2e-4, gamma: 1e-2, near: 5, far: 40}\n",
                       body, density, v, out, err);
}

Status experiment_mass(const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    static const char *const what[] = {"mass"};
    static const size_t share[] = {1};
    static const double states[] = {5.17e-9}, pixels[] = {9.01e-5};
    static const Plan plan = {.name = "mass",
                              .key = 1,
                              .make = make_mass,
                              .what = what,
                              .share = share,
                              .paper = {states, pixels},
                              .rows = 1,
                              .every = 1,
                              .first_horizon = 2,
                              .good = {1e-7, 1e-6},
                              .hopeless = {0, 0.01},
                              .starts = {3, 20}};
    return run_plan(&plan, options, out, err);
}

// ---- contact: five numbers, a body that is thrown along the ground and bounces

// Few particles: light ones with stiff contact need many substeps.
static const char *const coarse[] = {"box: {size: [1.1, 1, 0.9], cells: [1, 1, 1]}", "sphere: {radius: 0.6, cells: 1}",
                                     "box: {size: [1.8, 0.7, 0.7], cells: [2, 1, 1]}",
                                     "box: {size: [1.4, 1.2, 0.5], cells: [1, 1, 1]}"};

static Status make_contact(Dice *d, size_t number, Instance *out, Error *err) {
    static const char *const name[5] = {"body.density", "ground.k_d", "ground.k_e", "ground.k_f", "ground.mu"};
    static const double least[5] = {2, 1, 1, 1, 0.2}, most[5] = {12, 500, 500, 500, 1};
    const double v[3] = {dice(d, 2, 4), dice(d, -1, 1), dice(d, 0, 2)}, height = dice(d, 1.2, 1.8);
    double r[4];
    char body[1024];
    roll(d, 4, -1, 1, r);
    for (size_t u = 0; u < 5; u++) {
        Unknown *unknown = out->unknown + u;
        *unknown = (Unknown){.truth = dice(d, least[u], most[u]), .low = least[u], .high = most[u]};
        unknown->start = dice(d, least[u], most[u]);
        snprintf(unknown->name, sizeof unknown->name, "%s", name[u]);
    }
    out->unknowns = 5;
    snprintf(body, sizeof body,
             "contacts: {ground: {k_e: 500, k_d: 500, k_f: 500, mu: 1, fade: 0.02}}\nplanes: [{contact: ground}]\n"
             "objects:\n  body: {%s, density: %d, solid: {mu: 4000, lambda: 4000, k_d: 4}, position: [-2.5, %.9g, "
             "%.9g], rotation: {axis: [%.9g, %.9g, 1], angle: %.9g}}\n",
             coarse[number % 4], MEASURED, r[0], height, r[1], r[2], 180 * r[3]);
    return finish_text(
        "frames: 60\nfps: 30\nprecision: f64\ncameras: {a: {eye: [0, -9, 3], look_at: [0, 0, 0.7]}}\n"
        "picture: {size: [128, 128], rasteriser: soft, sigma: 4e-4, gamma: 1e-2, near: 3, far: 30, planes: no}\n",
        body, out->unknown[0].truth, v, out, err);
}

Status experiment_contact(const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    static const char *const what[] = {"mass", "k_d", "k_e", "k_f", "mu"};
    static const size_t share[] = {1, 1, 1, 1, 1};
    static const double states[] = {1.7e-8, .036, .0020, .0007, .0107}, pixels[] = {2.87e-4, .4, .0026, .0017, .0073};
    static const Plan plan = {.name = "contact",
                              .key = 2,
                              .make = make_contact,
                              .what = what,
                              .share = share,
                              .paper = {states, pixels},
                              .rows = 5,
                              .every = 2,
                              .first_horizon = 2,
                              .good = {1e-7, 1e-6},
                              .starts = {12, 12}};
    return run_plan(&plan, options, out, err);
}

// ---- fem: the mass of every particle, mu and lambda, of beams that hang and of balls that bounce

// Force, in the first frames, of known size: without it all masses and stiffnesses could be multiplied by one number.
static Status make_fem(Dice *d, size_t number, Instance *out, Error *err) {
    const bool ball = number % 2;
    const double mu = exp(dice(d, log(1000), log(4000))), lambda = exp(dice(d, log(1000), log(4000)));
    double r[6], mass;
    char body[1024], head[512];
    long substeps;
    roll(d, 6, -1, 1, r);
    snprintf(head, sizeof head,
             "frames: 30\nfps: 30\nprecision: f64\ncameras: {a: {eye: [0, -4, 0.9], look_at: [0, 0, %g]}, b: {eye: [4, "
             "0, 1.5], look_at: [0, 0, 0.5]}}\n"
             "picture: {size: [64, 64], rasteriser: soft, sigma: 3e-4, near: 1, far: 20, planes: no}\n",
             ball ? 0.6 : 0.5);
    if (ball)
        snprintf(body, sizeof body,
                 "contacts: {ground: {k_e: 400, k_d: 2, k_f: 10, mu: 0.5, fade: 0.02}}\nplanes: [{contact: ground}]\n"
                 "objects: {body: {sphere: {radius: 0.4, cells: 1}, density: 10, solid: {mu: 1000, lambda: 1000, k_d: "
                 "2}, position: [%.9g, %.9g, 0.7], rotation: {axis: [%.9g, %.9g, 1], angle: %.9g}}}\n",
                 0.2 * r[0], 0.2 * r[1], r[2], r[3], 180 * r[4]);
    else
        snprintf(body, sizeof body,
                 "objects: {body: {box: {size: [1.2, 0.3, 0.3], cells: [4, 1, 1]}, density: 10, solid: {mu: 1000, "
                 "lambda: 1000, k_d: 2}, position: [0, 0, 0.9], rotation: {axis: [%.9g, %.9g, 1], angle: %.9g}, fixed: "
                 "{max: [-0.55, 1, 1]}}}\n",
                 0.3 * r[0], 0.3 * r[1], 20 * r[2]);
    snprintf(out->text, sizeof out->text, "%ssubsteps: 1\n%s", head, body);
    Status status = measure(out->text, &mass, &substeps, err);
    if (status != STATUS_OK) return status;
    snprintf(out->text, sizeof out->text,
             "%ssubsteps: %ld\n%scontrols: [{object: body, force: [%.17g, %.17g, %.17g], from: 0, to: 4}]\n", head,
             2 * substeps, body, 3 * mass * r[3], 3 * mass * r[4], 4 * mass * r[5]);
    for (size_t i = ball ? 0 : 4; i < (ball ? 13 : 20); i++) { // the beam's first four particles are fixed
        Unknown *unknown = out->unknown + out->unknowns++;
        *unknown = (Unknown){"", dice(d, 0.7, 1.4), 1, 0.5, 2, true};
        snprintf(unknown->name, sizeof unknown->name, "values.body.mass.%zu", i);
    }
    out->unknown[out->unknowns++] = (Unknown){"body.solid.mu", mu, 2000, 1000, 4000, false};
    out->unknown[out->unknowns++] = (Unknown){"body.solid.lambda", lambda, 2000, 1000, 4000, false};
    return status;
}

Status experiment_fem(const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    static const char *const what[] = {"mass", "mu", "lambda"};
    static const size_t share[] = {0, 1, 1};
    static const double states[] = {.032, .0025, .0024}, pixels[] = {.048, .0054, .0056};
    static const Plan plan = {.name = "fem",
                              .key = 3,
                              .make = make_fem,
                              .what = what,
                              .share = share,
                              .paper = {states, pixels},
                              .rows = 3,
                              .every = 3,
                              .first_horizon = 3,
                              .hopeless = {0, 0.03},
                              .good = {1e-7, 1e-6},
                              .starts = {3, 10}};
    return run_plan(&plan, options, out, err);
}
