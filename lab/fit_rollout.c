// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_rollout.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Of z (lab/minimise.h). A central difference then has an error of about 1e-9 of the derivative, if no contact begins
// or ends between the two rollouts.
#define STEP 1e-6

// No more threads than asked for, and no more than pay: those of a small scene wait for each other most of the time.
static Status open_sim(const FitRollout *r, const SimModel *model, Sim **out, Error *err) {
    SimOptions options = scene_options(&r->scene);
    options.precision = SIM_F64; // differences of f32 are noise
    options.threads = r->threads == 1;
    Status status = sim_open(model, &options, out, err);
    if (status != STATUS_OK || r->threads == 0 || sim_threads(*out) <= r->threads) return status;
    sim_close(*out);
    options.threads = r->threads;
    return sim_open(model, &options, out, err);
}

Status fit_rollout_open(const FitFree *f, FitData *data, int threads, FitRollout *out, Error *err) {
    *out = (FitRollout){.free = f, .data = data, .threads = threads, .horizon = data->frames};
    out->x = calloc(2 * f->count, sizeof *out->x);
    if (!out->x) return error_no_memory(err, "a fit of %zu numbers", out->free->count);
    out->apart = out->x + f->count;
    Status status = fit_free_scene(f, NULL, &out->scene, err);
    return status == STATUS_OK ? open_sim(out, &out->scene.model, &out->one, err) : status;
}

void fit_rollout_close(FitRollout *r) {
    sim_close(r->one);
    sim_close(r->many);
    scene_free(&r->scene);
    scene_free(&r->batch);
    for (int v = 0; v < SIM_VALUES; v++) free(r->gradient.of[v]);
    free(r->along);
    free(r->score);
    free(r->slope);
    free(r->x);
    *r = (FitRollout){0};
}

static SimRun run_of(FitRollout *r, const SimScene *scene, SimKeep *keep) {
    SimRun run = scene_run(scene);
    run.steps = (r->horizon - 1) * run.every;
    run.keep = keep;
    run.context = r;
    return run;
}

// An error of the rollout itself: no result here, which a search survives.
static Status no_result(FitRollout *r, Status status, MinimiseSums *out, Error *err) {
    if (status == STATUS_OK || status == STATUS_INTERRUPTED || r->status != STATUS_OK) return status;
    r->last = *err;
    out->cost = INFINITY;
    return STATUS_OK;
}

// ---- the cost alone, and what the adjoint needs

static bool is_compared(const FitRollout *r, size_t frame) {
    return r->data->every < 2 || frame % r->data->every == 0 || frame + 1 == r->horizon;
}

static Status compare_one(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    FitRollout *r = context;
    const size_t row = 3 * r->scene.model.particles;
    double *slope = r->slope ? r->slope + frame * row : NULL;
    (void)velocity;
    if (slope) memset(slope, 0, row * sizeof *slope);
    if (!is_compared(r, frame)) return STATUS_OK;
    const FitFrame in = {
        .frame = frame, .position = position, .slope = slope, .mass = r->mass, .mass_slope = r->mass_slope};
    r->status = fit_data_compare(r->data, &in, r->sums, err);
    return r->status;
}

static Status cost_alone(FitRollout *r, const double *x, bool gradient, MinimiseSums *out, Error *err) {
    const size_t N = r->scene.model.particles;
    SimScene scene = {0};
    r->sums = out;
    Status status = fit_free_scene(r->free, x, &scene, err);
    SimRun run = run_of(r, &scene, compare_one);
    r->mass = scene.values.of[SIM_MASS];
    run.gradient = gradient;
    if (gradient) memset(r->mass_slope, 0, N * sizeof *r->mass_slope);
    if (status == STATUS_OK) status = sim_set(r->one, &scene.values, err);
    if (status == STATUS_OK) status = sim_rollout(r->one, &run, err);
    if (status == STATUS_OK && gradient)
        status = sim_adjoint(r->one, &run, &(SimLoss){.position = r->slope}, &r->gradient, NULL, err);
    for (size_t i = 0; i < N && status == STATUS_OK && gradient; i++) r->gradient.of[SIM_MASS][i] += r->mass_slope[i];
    scene_free(&scene);
    return status;
}

// ---- scenes with one number changed

// Moves variable i by `by` in z, but not beyond its bounds.
static double moved(const MinimiseVariable *v, double x, double by) {
    const double to = minimise_x(v, minimise_z(v, x) + by);
    return v->fixed ? x : fmin(fmax(to, v->low), v->high);
}

// How much of a step of `by` in z leads to a bound, at most all of it.
static double room(const MinimiseVariable *v, double x, double by) {
    if (by == 0) return 1;
    return fmin((minimise_z(v, by > 0 ? v->high : v->low) - minimise_z(v, x)) / by, 1);
}

// Point p beside x: along x_p, or along direction p in z as far as all bounds let it. Returns how far it is, in that
// measure.
static double beside(const FitRollout *r, const double *x, size_t p, double side, double *out) {
    const size_t P = r->free->count;
    const MinimiseVariable *v = r->variable;
    memcpy(out, x, P * sizeof *x);
    if (side == 0) return 0;
    if (r->basis) {
        const double *along = r->basis + p * P;
        double far = side * r->step;
        for (size_t i = 0; i < P; i++) far *= room(v + i, x[i], far * along[i]);
        for (size_t i = 0; i < P; i++)
            if (along[i] != 0) out[i] = moved(v + i, x[i], far * along[i]);
        return far;
    }
    out[p] = moved(v + p, x[p], side * STEP);
    return out[p] - x[p];
}

// ---- J'J by differences of a batch

static Status make_batch(FitRollout *r, Error *err) {
    const size_t P = r->free->count, N = r->scene.model.particles;
    if (r->many) return STATUS_OK;
    r->along = calloc(P * 4 * N, sizeof *r->along);
    r->score = calloc(r->data->frames * P, sizeof *r->score);
    Status status = r->along && r->score ? fit_free_scene(r->free, NULL, &r->batch, err)
                                         : error_no_memory(err, "a fit of %zu numbers", r->free->count);
    if (status == STATUS_OK) r->mass_along = r->along + P * 3 * N;
    if (status == STATUS_OK) status = scene_repeat(&r->batch, 1 + 2 * P, err);
    return status == STATUS_OK ? open_sim(r, &r->batch.model, &r->many, err) : status;
}

// Values of a scene become those of scene b of the batch.
static void put_scene(FitRollout *r, const SimScene *scene, size_t b) {
    const SimRun run = scene_run(scene);
    const size_t controls = sim_controls(&run), B = r->batch.model.scenes;
    for (int v = 0; v < SIM_VALUES; v++) {
        const bool control = sim_value_is_control(v);
        const size_t count = sim_value_count(&scene->model, controls, v), rows = control ? controls : 1;
        if (!count || !rows || !scene->values.of[v]) continue;
        const size_t row = count / rows;
        for (size_t i = 0; i < rows; i++)
            memcpy(r->batch.values.of[v] + (i * B + b) * row, scene->values.of[v] + i * row, row * sizeof(double));
    }
}

// Scene b of the batch is that at r->x, which differs from `middle` in variable p. A row of the section `values` needs
// no reader.
static Status put_point(FitRollout *r, const SimScene *middle, size_t p, size_t b, Error *err) {
    const FitVariable *v = r->free->variable + p;
    SimScene scene = {0};
    Status status = STATUS_OK;
    if (v->entries && !r->basis) {
        put_scene(r, middle, b);
        double *to = r->batch.values.of[v->value] + b * sim_value_count(&r->scene.model, 0, v->value) + v->entry;
        for (size_t i = 0; i < v->entries; i++) to[i * v->apart] = r->x[p];
    } else {
        status = fit_free_scene(r->free, r->x, &scene, err);
        if (status == STATUS_OK) put_scene(r, &scene, b);
        scene_free(&scene);
    }
    return status;
}

static Status fill_batch(FitRollout *r, const double *x, Error *err) {
    SimScene middle = {0};
    Status status = fit_free_scene(r->free, x, &middle, err);
    if (status == STATUS_OK) put_scene(r, &middle, 0);
    for (size_t b = 1; b < r->batch.model.scenes && status == STATUS_OK; b++) {
        const size_t p = (b - 1) / 2;
        const double side = b % 2 ? -1 : 1, far = beside(r, x, p, side, r->x);
        status = put_point(r, &middle, p, b, err);
        r->apart[p] = side < 0 ? -far : r->apart[p] + far;
    }
    scene_free(&middle);
    return status;
}

// Derivatives (P,count) of numbers of the batch, of which each scene has `count`.
static void divide(const FitRollout *r, const double *batch, size_t count, double *out) {
    for (size_t p = 0; p < r->free->count; p++) {
        const double *low = batch + (1 + 2 * p) * count, *high = low + count;
        const double apart = r->apart[p] > 0 ? r->apart[p] : INFINITY; // fixed
        for (size_t i = 0; i < count; i++) out[p * count + i] = (high[i] - low[i]) / apart;
    }
}

static Status compare_many(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    FitRollout *r = context;
    const size_t P = r->free->count;
    double *score = r->score + frame * P;
    (void)velocity;
    memset(score, 0, P * sizeof *score);
    if (!is_compared(r, frame)) return STATUS_OK;
    divide(r, position, 3 * r->scene.model.particles, r->along);
    const FitFrame in = {.frame = frame,
                         .position = position,
                         .variables = P,
                         .along = r->along,
                         .mass = r->mass,
                         .mass_along = r->mass_along};
    for (size_t p = 0; p < P; p++) score[p] = -r->sums->gradient[p];
    r->status = fit_data_compare(r->data, &in, r->sums, err);
    for (size_t p = 0; p < P; p++) score[p] += r->sums->gradient[p];
    return r->status;
}

static Status by_differences(FitRollout *r, const double *x, MinimiseSums *out, Error *err) {
    r->sums = out;
    Status status = make_batch(r, err);
    if (status == STATUS_OK) status = fill_batch(r, x, err);
    if (status == STATUS_OK) status = sim_set(r->many, &r->batch.values, err);
    SimRun run = run_of(r, &r->batch, compare_many);
    if (status != STATUS_OK) return status;
    r->mass = r->batch.values.of[SIM_MASS];
    divide(r, r->mass, r->scene.model.particles, r->mass_along);
    return sim_rollout(r->many, &run, err);
}

// ---- the gradient by the adjoint

static Status make_gradient(FitRollout *r, Error *err) {
    const size_t N = r->scene.model.particles;
    const SimRun run = scene_run(&r->scene);
    if (r->slope) return STATUS_OK;
    bool good = true;
    for (int v = 0; v < SIM_VALUES; v++) {
        const size_t count = sim_value_count(&r->scene.model, sim_controls(&run), v);
        if (!count || !r->scene.values.of[v] || r->gradient.of[v]) continue;
        good = (r->gradient.of[v] = calloc(count, sizeof(double))) && good;
    }
    r->slope = good ? calloc((r->data->frames * 3 + 1) * N, sizeof *r->slope) : NULL;
    if (!r->slope) return error_no_memory(err, "a fit of %zu numbers", r->free->count);
    r->mass_slope = r->slope + r->data->frames * 3 * N;
    return STATUS_OK;
}

// sum over values of gradient (b - a).
static double along_values(const FitRollout *r, const SimScene *a, const SimScene *b) {
    const SimRun run = scene_run(a);
    double sum = 0;
    for (int v = 0; v < SIM_VALUES; v++) {
        const size_t count = sim_value_count(&a->model, sim_controls(&run), v);
        for (size_t i = 0; i < count && r->gradient.of[v]; i++)
            sum += r->gradient.of[v][i] * (b->values.of[v][i] - a->values.of[v][i]);
    }
    return sum;
}

// The values' gradient along variable p, by two scenes of the reader; of a row of `values` it is known.
static Status along_variable(FitRollout *r, const double *x, size_t p, double *out, Error *err) {
    const FitVariable *v = r->free->variable + p;
    SimScene low = {0}, high = {0};
    Status status = STATUS_OK;
    for (size_t i = 0; i < v->entries; i++) *out += r->gradient.of[v->value][v->entry + i * v->apart];
    if (v->entries) return status;
    double apart = -beside(r, x, p, -1, r->x);
    status = fit_free_scene(r->free, r->x, &low, err);
    apart += beside(r, x, p, 1, r->x);
    if (status == STATUS_OK) status = fit_free_scene(r->free, r->x, &high, err);
    if (status == STATUS_OK) *out = along_values(r, &low, &high) / apart;
    scene_free(&low);
    scene_free(&high);
    return status;
}

static Status by_adjoint(FitRollout *r, const double *x, MinimiseSums *out, Error *err) {
    Status status = make_gradient(r, err);
    if (status == STATUS_OK) status = cost_alone(r, x, true, out, err);
    for (size_t p = 0; p < r->free->count && status == STATUS_OK; p++)
        if (!r->variable[p].fixed) status = along_variable(r, x, p, out->gradient + p, err);
    return status;
}

static void add_hold(const FitRollout *r, const double *x, MinimiseSums *out) {
    const size_t P = r->free->count;
    for (size_t i = 0; i < P && r->hold > 0; i++) {
        const MinimiseVariable *v = r->variable + i;
        if (v->fixed) continue;
        const double slope = 1 / minimise_dx_dz(v, x[i]);
        const double off = minimise_z(v, x[i]) - minimise_z(v, r->free->variable[i].start);
        out->cost += r->hold * off * off / 2;
        if (out->gradient) out->gradient[i] += r->hold * off * slope;
        if (out->normal) out->normal[i * P + i] += r->hold * slope * slope;
    }
}

Status fit_rollout_sums(void *context, const double *x, MinimiseSums *out, Error *err) {
    FitRollout *r = context;
    Status status;
    r->status = STATUS_OK;
    r->basis = out->basis;
    r->step = out->far ? 1 : STEP;
    if (out->normal) status = by_differences(r, x, out, err);
    else if (out->gradient) status = by_adjoint(r, x, out, err);
    else status = cost_alone(r, x, false, out, err);
    if (status == STATUS_OK) r->residuals = out->residuals;
    if (status == STATUS_OK) add_hold(r, x, out);
    return no_result(r, status, out, err);
}
