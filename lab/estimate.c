// SPDX-License-Identifier: Apache-2.0
#include "lab/estimate.h"

#include "lab/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEP 1e-5 // of central differences, relative: in f64 their error is about 1e-10

enum { ITERATIONS = 20, LAST_ITERATIONS = 60 }; // of a minimisation; of the last one with all frames

struct Estimate {
    EstimateProblem problem;
    EstimateUnknown *unknown; // (P)
    SimScene scene, batch;    // of one, and of 1 + 2 P
    Sim *one, *many;
    Render *render;
    size_t frames, row, pixels; // compared frames at most; doubles of a state; of all pictures of a frame
    double *target;             // (frames,row) or (frames,pixels)
    double *residual, *jacobian, *seen, *slope; // slope: (frames,row) dLoss/dposition
    double *start;                              // the scene's own numbers of every unknown's entries
    size_t horizon;                             // frames compared now, the first included
    MinimiseSums *sums;
    size_t P;
    long rollouts;
    bool record, adjoint; // what the frames of this rollout are for
};

static size_t compared_size(const Estimate *e) { return e->problem.source == ESTIMATE_STATES ? e->row : e->pixels; }

static bool is_compared(const Estimate *e, size_t frame) {
    return frame < e->horizon && (frame % e->problem.every == 0 || frame + 1 == e->horizon);
}

// ---- values

static void put_values(const Estimate *e, SimScene *scene, size_t b, const double *x) {
    const double *start = e->start;
    for (size_t u = 0; u < e->P; start += e->unknown[u++].count) {
        const EstimateUnknown *unknown = e->unknown + u;
        const size_t entries = sim_value_rows(&scene->model, unknown->value) * sim_value_info[unknown->value].axes;
        double *to = scene->values.of[unknown->value] + b * entries + unknown->first;
        for (size_t i = 0; i < unknown->count; i++) to[i] = unknown->scale ? start[i] * x[u] : x[u];
    }
}

static Status keep_start(Estimate *e, Error *err) {
    size_t count = 0;
    e->unknown = calloc(e->P, sizeof *e->unknown);
    if (!e->unknown) return error_set(err, STATUS_FAILED, "out of memory for an estimate");
    for (size_t u = 0; u < e->P; u++) {
        e->unknown[u] = e->problem.unknown[u];
        const SimValue value = e->unknown[u].value;
        if (!e->unknown[u].count)
            e->unknown[u].count = sim_value_rows(&e->scene.model, value) * sim_value_info[value].axes;
    }
    for (size_t u = 0; u < e->P; u++) count += e->unknown[u].count;
    double *to = e->start = calloc(count + 1, sizeof *to);
    if (!to) return error_set(err, STATUS_FAILED, "out of memory for an estimate");
    for (size_t u = 0; u < e->P; to += e->unknown[u++].count) {
        const EstimateUnknown *unknown = e->unknown + u;
        memcpy(to, e->scene.values.of[unknown->value] + unknown->first, unknown->count * sizeof *to);
    }
    return STATUS_OK;
}

// ---- frames

// The compared numbers of a state.
static Status look(Estimate *e, const double *position, double *out, Error *err) {
    const ScenePicture *picture = &e->scene.picture;
    const size_t one = 3 * (size_t)picture->H * (size_t)picture->W;
    Status status = STATUS_OK;
    if (e->problem.source == ESTIMATE_STATES) memcpy(out, position, e->row * sizeof *out);
    else
        for (size_t v = 0; v < picture->cameras && status == STATUS_OK; v++)
            status =
                render_draw(e->render, picture->camera + v, position, &(RenderPicture){.colour = out + one * v}, err);
    return status;
}

// dLoss/dposition of a frame, from residuals of pictures or states.
static Status look_back(Estimate *e, const double *position, double *slope, Error *err) {
    const ScenePicture *picture = &e->scene.picture;
    const size_t one = 3 * (size_t)picture->H * (size_t)picture->W;
    const RenderGradient out = {.position = slope};
    Status status = STATUS_OK;
    if (e->problem.source == ESTIMATE_STATES) memcpy(slope, e->residual, e->row * sizeof *slope);
    else
        for (size_t v = 0; v < picture->cameras && status == STATUS_OK; v++) {
            status = render_draw(e->render, picture->camera + v, position,
                                 &(RenderPicture){.colour = e->seen + one * v}, err);
            if (status == STATUS_OK)
                status = render_gradient(e->render, &(RasterLoss){.colour = e->residual + one * v}, &out, err);
        }
    return status;
}

// Columns of the Jacobian from states b = 1 + 2 p and 2 + 2 p of the batch.
static Status fill_jacobian(Estimate *e, const double *position, const double *x, Error *err) {
    const size_t size = compared_size(e);
    Status status = STATUS_OK;
    for (size_t k = 0; k < 2 * e->P && status == STATUS_OK; k++) {
        const double share = (k % 2 ? -0.5 : 0.5) / (STEP * x[k / 2]);
        status = look(e, position + (1 + k) * e->row, e->seen, err);
        for (size_t i = 0; i < size; i++) {
            double *to = e->jacobian + i * e->P + k / 2;
            *to = (k % 2 ? *to : 0) + share * e->seen[i];
        }
    }
    return status;
}

typedef struct Pass {
    Estimate *e;
    const double *x;
} Pass;

static Status keep(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    const Pass *pass = context;
    Estimate *e = pass->e;
    const size_t size = compared_size(e);
    double *target = e->target + frame * size;
    (void)velocity;
    if (e->record) return look(e, position, target, err);
    if (!is_compared(e, frame)) return STATUS_OK;
    Status status = look(e, position, e->residual, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < size; i++) e->residual[i] -= target[i];
    if (e->adjoint) {
        for (size_t i = 0; i < size; i++) e->sums->cost += e->residual[i] * e->residual[i] / 2;
        return look_back(e, position, e->slope + frame * e->row, err);
    }
    if (e->sums->gradient) status = fill_jacobian(e, position, pass->x, err);
    if (status == STATUS_OK) minimise_add_rows(e->sums, e->P, size, e->residual, e->jacobian);
    return status;
}

static SimRun make_run(const SimScene *scene, size_t frames, Pass *pass) {
    SimRun run = scene_run(scene);
    run.steps = (frames - 1) * run.every;
    run.keep = keep;
    run.context = pass;
    return run;
}

// A MinimiseFunction.
static Status add_sums(void *context, const double *x, MinimiseSums *out, Error *err) {
    Estimate *e = context;
    Pass pass = {e, x};
    double moved[256];
    const bool many = out->gradient != NULL;
    SimScene *scene = many ? &e->batch : &e->scene;
    Sim *sim = many ? e->many : e->one;
    e->record = e->adjoint = false;
    e->sums = out;
    put_values(e, scene, 0, x);
    for (size_t k = 0; k < 2 * e->P && many; k++) {
        memcpy(moved, x, e->P * sizeof *moved);
        moved[k / 2] *= 1 + (k % 2 ? -STEP : STEP);
        put_values(e, scene, 1 + k, moved);
    }
    const SimRun run = make_run(scene, e->horizon, &pass);
    Status status = sim_set(sim, &scene->values, err);
    if (status == STATUS_OK) status = sim_rollout(sim, &run, err);
    e->rollouts++;
    if (status != STATUS_FAILED) return status;
    out->cost = INFINITY; // the rollout exploded
    return STATUS_OK;
}

// ---- opening

static Status make_arrays(Estimate *e, Error *err) {
    const size_t size = compared_size(e);
    bool good = true;
    e->target = allocate(e->frames * size, sizeof(double), &good);
    e->residual = allocate(size, sizeof(double), &good);
    e->seen = allocate(size, sizeof(double), &good);
    e->jacobian = allocate(size * e->P, sizeof(double), &good);
    e->slope = allocate(e->frames * e->row, sizeof(double), &good);
    return good ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for an estimate");
}

static Status record(Estimate *e, Error *err) {
    double truth[256];
    Pass pass = {e, truth};
    for (size_t u = 0; u < e->P; u++) truth[u] = e->unknown[u].truth;
    put_values(e, &e->scene, 0, truth);
    const SimRun run = make_run(&e->scene, e->frames, &pass);
    e->record = true;
    Status status = sim_set(e->one, &e->scene.values, err);
    return status == STATUS_OK ? sim_rollout(e->one, &run, err) : status;
}

Status estimate_open(const EstimateProblem *problem, Estimate **out, Error *err) {
    Estimate *e = *out = calloc(1, sizeof *e);
    if (!e) return error_set(err, STATUS_FAILED, "out of memory for an estimate");
    e->problem = *problem;
    e->P = problem->unknowns;
    const size_t length = strlen(problem->text);
    Status status = scene_parse(problem->text, length, "experiment", ".", &e->scene, err);
    if (status == STATUS_OK) status = scene_parse(problem->text, length, "experiment", ".", &e->batch, err);
    if (status == STATUS_OK) status = scene_repeat(&e->batch, 1 + 2 * e->P, err);
    if (status == STATUS_OK) status = keep_start(e, err);
    if (status == STATUS_OK) {
        const ScenePicture *picture = &e->scene.picture;
        SimOptions options = scene_options(&e->scene);
        options.precision = SIM_F64;
        options.threads = problem->threads;
        for (size_t i = 0; i < e->scene.object_count && problem->flat; i++) e->scene.objects[i].smooth = false;
        e->row = 3 * e->scene.model.particles;
        e->pixels = picture->cameras * 3 * (size_t)picture->H * (size_t)picture->W;
        e->frames = (size_t)e->scene.frames + 1;
        e->horizon = e->frames;
        status = make_arrays(e, err);
        if (status == STATUS_OK) status = sim_open(&e->scene.model, &options, &e->one, err);
        if (status == STATUS_OK) status = sim_open(&e->batch.model, &options, &e->many, err);
        if (status == STATUS_OK) status = render_open(&e->scene, &options, &e->render, err);
        if (status == STATUS_OK) status = record(e, err);
    }
    if (status == STATUS_OK) return status;
    estimate_close(e);
    *out = NULL;
    return status;
}

void estimate_close(Estimate *e) {
    if (!e) return;
    render_close(e->render);
    sim_close(e->one);
    sim_close(e->many);
    scene_free(&e->scene);
    scene_free(&e->batch);
    free(e->target);
    free(e->residual);
    free(e->seen);
    free(e->jacobian);
    free(e->slope);
    free(e->start);
    free(e->unknown);
    free(e);
}

// ---- the estimate

static void make_variables(const Estimate *e, MinimiseVariable *out) {
    for (size_t u = 0; u < e->P; u++)
        out[u] = (MinimiseVariable){.low = e->unknown[u].low, .high = e->unknown[u].high, .unit = 1, .log = true};
}

static Status find_spread(const MinimiseProblem *problem, const double *x, EstimateResult *out, Error *err) {
    MinimiseSpread spread = {0};
    Status status = minimise_spread(problem, x, &spread, err);
    for (size_t u = 0; u < problem->variables && status == STATUS_OK; u++) out->error[u] = spread.error[u];
    out->lost = spread.undetermined;
    minimise_spread_free(&spread);
    return status;
}

static double residual_of(const Estimate *e, const MinimiseResult *result) {
    size_t compared = 0;
    for (size_t f = 0; f < e->horizon; f++) compared += is_compared(e, f);
    return sqrt(2 * result->cost / (double)(compared * compared_size(e)));
}

void estimate_round(Estimate *e) {
    const size_t count = e->problem.source == ESTIMATE_PIXELS ? e->frames * e->pixels : 0;
    for (size_t i = 0; i < count; i++) e->target[i] = round(255 * fmin(fmax(e->target[i], 0), 1)) / 255;
}

Status estimate_solve(Estimate *e, size_t horizon, double *x, EstimateResult *out, Error *err) {
    MinimiseVariable variable[256];
    const MinimiseProblem problem = {e->P, variable, add_sums, e};
    MinimiseOptions options = {.method = MINIMISE_LM, .iterations = ITERATIONS, .tolerance = 1e-6};
    MinimiseResult result;
    Status status = STATUS_OK;
    make_variables(e, variable);
    e->rollouts = 0;
    out->rms = INFINITY;
    for (; status == STATUS_OK; horizon = 2 * horizon - 1) {
        const bool last = horizon == 0 || horizon >= e->frames;
        e->horizon = last ? e->frames : horizon;
        status = minimise(&problem, &options, x, &result, err);
        out->rollouts = e->rollouts;
        const bool hopeless = e->problem.hopeless > 0 && residual_of(e, &result) > e->problem.hopeless;
        if (status != STATUS_OK || (hopeless && horizon)) break;
        if (!last) continue;
        options.iterations = LAST_ITERATIONS, options.tolerance = 1e-9;
        status = minimise(&problem, &options, x, &result, err);
        out->rollouts = e->rollouts;
        out->rms = residual_of(e, &result);
        break;
    }
    return status == STATUS_OK && isfinite(out->rms) ? find_spread(&problem, x, out, err) : status;
}

Status estimate_gradient(Estimate *e, const double *x, double *loss, double *gradient, Error *err) {
    Pass pass = {e, x};
    MinimiseSums sums = {0};
    SimValues slopes = {{NULL}};
    e->record = false, e->adjoint = true, e->horizon = e->frames, e->sums = &sums;
    memset(e->slope, 0, e->frames * e->row * sizeof *e->slope);
    put_values(e, &e->scene, 0, x);
    SimRun run = make_run(&e->scene, e->frames, &pass);
    run.gradient = true;
    bool good = true;
    for (size_t u = 0; u < e->P; u++) {
        const SimValue v = e->unknown[u].value;
        if (!slopes.of[v])
            slopes.of[v] = allocate(sim_value_count(&e->scene.model, sim_controls(&run), v), sizeof(double), &good);
    }
    Status status = good ? sim_set(e->one, &e->scene.values, err) : error_set(err, STATUS_FAILED, "out of memory");
    if (status == STATUS_OK) status = sim_rollout(e->one, &run, err);
    if (status == STATUS_OK) status = sim_adjoint(e->one, &run, &(SimLoss){.position = e->slope}, &slopes, NULL, err);
    const double *start = e->start;
    for (size_t u = 0; u < e->P && status == STATUS_OK; start += e->unknown[u++].count) {
        const EstimateUnknown *unknown = e->unknown + u;
        gradient[u] = 0;
        for (size_t i = 0; i < unknown->count; i++)
            gradient[u] += slopes.of[unknown->value][unknown->first + i] * (unknown->scale ? start[i] : 1);
    }
    for (int v = 0; v < SIM_VALUES; v++) free(slopes.of[v]);
    *loss = sums.cost;
    return status;
}
