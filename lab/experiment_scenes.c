// SPDX-License-Identifier: Apache-2.0
// Experiments that find numbers again: mass, contact, fem.
#include "lab/experiment_inside.h"

#include "base/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

Status experiment_measure(const char *text, double *mass, long *substeps, Error *err) {
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

// Where a search ended.
typedef struct Finding {
    double x[EXPERIMENT_UNKNOWNS], bar[EXPERIMENT_UNKNOWNS]; // the numbers and their standard errors
    double rms;
    size_t starts;
    long rollouts;
} Finding;

// The best of some starts: each after the first changes about half of the best numbers so far.
static Status search(const Plan *plan, const Instance *instance, EstimateSource source, Estimate *estimate, Dice *d,
                     Finding *out, Error *err) {
    double x[EXPERIMENT_UNKNOWNS], bar[EXPERIMENT_UNKNOWNS];
    Status status = STATUS_OK;
    *out = (Finding){.rms = INFINITY};
    memcpy(out->x, instance->start, sizeof out->x);
    while (status == STATUS_OK && out->starts < plan->starts[source] && !(out->rms < plan->good[source])) {
        EstimateResult result = {.error = bar};
        for (size_t u = 0; u < instance->unknowns; u++) {
            const EstimateUnknown *unknown = instance->unknown + u;
            const double other = exp(dice(d, log(unknown->low), log(unknown->high))), toss = dice(d, 0, 1);
            x[u] = out->starts == 0 || toss < 0.5 ? out->x[u] : other;
        }
        status = estimate_solve(estimate, plan->first_horizon, x, &result, err);
        out->starts++;
        out->rollouts += result.rollouts;
        if (status != STATUS_OK || !(result.rms < out->rms)) continue;
        out->rms = result.rms;
        memcpy(out->x, x, sizeof x);
        memcpy(out->bar, bar, sizeof bar);
    }
    return status;
}

// The same numbers from pictures of 8 bits, from beside where the search ended.
static Status round_off(Estimate *estimate, Finding *finding, Error *err) {
    EstimateResult result = {.error = finding->bar};
    for (size_t u = 0; u < EXPERIMENT_UNKNOWNS; u++) finding->x[u] *= 1.0001; // not from the truth itself
    estimate_round(estimate);
    Status status = estimate_solve(estimate, 0, finding->x, &result, err);
    finding->rms = result.rms;
    return status;
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

enum { FROM_STATES, FROM_PIXELS, FROM_BYTES, SOURCES };

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

static Status run_source(const Plan *plan, const Instance *instance, size_t number, EstimateSource source, Dice *d,
                         const ExperimentOptions *options, ExperimentResult *out, Error *err) {
    const EstimateProblem problem = {instance->text,
                                     instance->unknown,
                                     instance->unknowns,
                                     source,
                                     source == ESTIMATE_PIXELS ? plan->every : 1,
                                     plan->hopeless[source],
                                     true,
                                     options->threads};
    ExperimentRow *rows = out->row + (size_t)source * plan->rows;
    Estimate *estimate = NULL;
    Finding finding;
    Status status = estimate_open(&problem, &estimate, err);
    if (status == STATUS_OK) status = search(plan, instance, source, estimate, d, &finding, err);
    if (status == STATUS_OK) {
        fold(plan, instance, &finding, number, rows);
        out->lost[source] += !(finding.rms < plan->good[source]);
        log_note(options->log, "%s %zu of %zu from %s: %zu starts, %ld rollouts, residual %.2g, error of %s %.2g",
                 plan->name, number + 1, options->instances, rows->from, finding.starts, finding.rollouts, finding.rms,
                 plan->what[0], rows->error[number]);
    }
    if (status == STATUS_OK && source == ESTIMATE_PIXELS) {
        status = round_off(estimate, &finding, err);
        if (status == STATUS_OK) fold(plan, instance, &finding, number, rows + plan->rows);
    }
    estimate_close(estimate);
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
            status = run_source(plan, instance, i, (EstimateSource)s, &d, options, out, err);
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

// ---- mass: one number, a thrown body of one of four shapes

static const char *const shapes[] = {"box: {size: [1.1, 1, 0.9], cells: [3, 3, 3]}", "sphere: {radius: 0.6, cells: 2}",
                                     "box: {size: [1.8, 0.5, 0.5], cells: [6, 2, 2]}",
                                     "box: {size: [1.4, 1.2, 0.3], cells: [5, 4, 1]}"};

// Fills in the substeps, and the force within the first frame that gives the true mass the velocity v.
static Status finish_text(const char *head, const char *body, double density, const double v[3], Instance *out,
                          Error *err) {
    double mass;
    long substeps;
    snprintf(out->text, sizeof out->text, "%ssubsteps: 1\n%s", head, body);
    Status status = experiment_measure(out->text, &mass, &substeps, err);
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
    out->unknown[0] = (EstimateUnknown){SIM_MASS, 0, 0, true, density / MEASURED, 2.0 / MEASURED, 12.0 / MEASURED};
    out->start[0] = dice(d, 2, 12) / MEASURED;
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
    static const SimValue value[5] = {SIM_MASS, SIM_CONTACT_KD, SIM_CONTACT_KE, SIM_CONTACT_KF, SIM_CONTACT_MU};
    static const double least[5] = {2.0 / MEASURED, 1, 1, 1, 0.2}, most[5] = {12.0 / MEASURED, 500, 500, 500, 1};
    const double v[3] = {dice(d, 2, 4), dice(d, -1, 1), dice(d, 0, 2)}, height = dice(d, 1.2, 1.8);
    double r[4];
    char body[1024];
    roll(d, 4, -1, 1, r);
    for (size_t u = 0; u < 5; u++) {
        const double truth = dice(d, least[u], most[u]);
        out->unknown[u] = (EstimateUnknown){value[u], 0, 0, u == 0, truth, least[u], most[u]};
        out->start[u] = dice(d, least[u], most[u]);
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
        body, out->unknown[0].truth * MEASURED, v, out, err);
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
    Status status = experiment_measure(out->text, &mass, &substeps, err);
    if (status != STATUS_OK) return status;
    snprintf(out->text, sizeof out->text,
             "%ssubsteps: %ld\n%scontrols: [{object: body, force: [%.17g, %.17g, %.17g], from: 0, to: 4}]\n", head,
             2 * substeps, body, 3 * mass * r[3], 3 * mass * r[4], 4 * mass * r[5]);
    for (size_t i = ball ? 0 : 4; i < (ball ? 13 : 20); i++) { // the beam's first four particles are fixed
        out->unknown[out->unknowns] = (EstimateUnknown){SIM_MASS, i, 1, true, dice(d, 0.7, 1.4), 0.5, 2};
        out->start[out->unknowns++] = 1;
    }
    out->unknown[out->unknowns] = (EstimateUnknown){SIM_TET_MU, 0, 0, false, mu, 1000, 4000};
    out->start[out->unknowns++] = 2000;
    out->unknown[out->unknowns] = (EstimateUnknown){SIM_TET_LAMBDA, 0, 0, false, lambda, 1000, 4000};
    out->start[out->unknowns++] = 2000;
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
