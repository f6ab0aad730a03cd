// SPDX-License-Identifier: Apache-2.0
#include "lab/fit.h"

#include "base/random.h"
#include "lab/fit_pictures.h"
#include "lab/fit_rollout.h"
#include "lab/fit_scatter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ITERATIONS = 100,
    ADAM_ITERATIONS = 300,
    FIRST_ITERATIONS = 8,
    STAGE_ITERATIONS = 12,
    ONE_BY_ONE = 16,  // numbers that go back to their start one by one, and whose errors look past jumps
    PICTURES_LM = 64, // a row of derivatives is as long as a picture; more have no errors either
    STATE_ERRORS = 512,
    STATES_LM = 128,
    AGAIN = 5 // searches from better points that the errors have met
};

#define AGAINST 1.05  // times the residuals
#define ROUNDING 1e-6 // of the first residuals
#define NO_BETTER 0.9 // of the first residuals
// Halves of an ulp in single precision by which motions that are computed in it differ; states that are only stored in
// it differ by 1.
#define ROUNDED 32
#define BETTER 0.1 // variances of a residual by which 2 cost falls at a point worth a search of its own

const char *const fit_verdicts[FIT_VERDICTS] = {"fitted", "at its bound", "not determined"};

typedef struct Fit {
    const FitFree *free;
    const FitOptions *options;
    FitResult *result;
    FitRollout rollout;
    MinimiseVariable *variable; // (P) with those that are fixed
    MinimiseProblem problem;
    double *x, *best; // (P)
    double first;     // cost of all frames at the start
    double residuals; // of all frames there
    bool keep;        // steps are written down
    bool hopeless;
    Error *err;
} Fit;

void fit_result_free(FitResult *result) {
    free(result->value);
    free(result->step);
    free(result->path);
    *result = (FitResult){0};
}

// ---- steps

// Over all frames one number of residuals holds, that of the start, since fewer pixels differ the better a fit is.
static double rms_of(const Fit *f, double cost) {
    const bool all = f->rollout.horizon == f->result->frames && f->residuals > 0;
    const double residuals = all ? f->residuals : f->rollout.residuals;
    return residuals > 0 ? sqrt(2 * cost / residuals) : 0;
}

// Without memory the plot lacks steps.
static void write_down(Fit *f, double rms, const double *x) {
    FitResult *r = f->result;
    const size_t P = f->free->count, more = r->steps + 1;
    FitStep *step = realloc(r->step, more * sizeof *step);
    if (step) r->step = step;
    double *path = realloc(r->path, more * P * sizeof *path);
    if (path) r->path = path;
    if (!step || !path) return;
    r->step[r->steps] = (FitStep){f->rollout.horizon, rms};
    memcpy(r->path + r->steps * P, x, P * sizeof *x);
    r->steps = more;
}

static void report(void *context, long iteration, double cost, const double *x) {
    Fit *f = context;
    const double rms = rms_of(f, cost);
    (void)iteration;
    if (!f->keep) return;
    write_down(f, rms, x);
    if (f->options->report)
        f->options->report(f->options->context, (long)f->result->steps - 1, f->rollout.horizon, rms, x);
}

// ---- one minimisation

bool fit_by_adjoint(const FitOptions *options, size_t count) {
    return options->method > FIT_LM || (options->method == FIT_AUTO && count > PICTURES_LM);
}

static MinimiseMethod method_of(const Fit *f) {
    static const MinimiseMethod methods[] = {MINIMISE_LM, MINIMISE_LM, MINIMISE_LBFGS, MINIMISE_ADAM};
    const size_t most = f->rollout.data->pictures ? PICTURES_LM : STATES_LM;
    if (f->options->method == FIT_AUTO && f->free->count > most) return MINIMISE_LBFGS;
    return methods[f->options->method];
}

// Why the rollout at the start has no result. Errors of the reader name the file already.
static Status no_rollout(Fit *f) {
    const Error *last = &f->rollout.last;
    const bool named = !strncmp(last->text, f->free->path, strlen(f->free->path));
    if (last->status == STATUS_BAD_INPUT || named) *f->err = *last;
    if (named) return last->status;
    if (last->status == STATUS_BAD_INPUT) return scene_failed(&f->rollout.scene, last->status, f->err);
    return error_set(f->err, last->status, "%s, at the start of the fit: %s", f->free->path, last->text);
}

// From f->x on. The error of a start without a result is that of its rollout.
static Status run(Fit *f, long iterations, MinimiseResult *result) {
    const MinimiseOptions options = {.method = method_of(f), .iterations = iterations, .report = report, .context = f};
    f->rollout.last = (Error){0};
    Status status = minimise(&f->problem, &options, f->x, result, f->err);
    f->result->calls += result->calls;
    f->result->converged = result->converged;
    return status == STATUS_FAILED && f->rollout.last.status != STATUS_OK ? no_rollout(f) : status;
}

static long iterations_of(const Fit *f) {
    if (f->options->iterations > 0) return f->options->iterations;
    return method_of(f) == MINIMISE_ADAM ? ADAM_ITERATIONS : ITERATIONS;
}

// While few frames are compared, the minimum is not needed to the last digit.
static long iterations_now(const Fit *f, size_t frames) {
    const long most = iterations_of(f);
    return f->rollout.horizon < frames && method_of(f) == MINIMISE_LM && most > STAGE_ITERATIONS ? STAGE_ITERATIONS
                                                                                                 : most;
}

// ---- several starts: a few steps from each over the first horizon; the best goes on

// Start k: drawn from within the bounds, evenly in logarithms where those are the variables; unbounded ones stay.
static void draw_start(Fit *f, long k) {
    const RandomKey key = {(uint32_t)f->rollout.scene.seed, RANDOM_FIT, (uint32_t)k, 0};
    for (size_t i = 0; i < f->free->count; i++) {
        const MinimiseVariable *v = f->variable + i;
        const double share = (double)random_uniform(key, i);
        f->x[i] = f->free->variable[i].start;
        if (v->fixed || !isfinite(v->high - v->low)) continue;
        f->x[i] = v->log ? v->low * pow(v->high / v->low, share) : v->low + (v->high - v->low) * share;
    }
}

static Status try_starts(Fit *f) {
    const size_t bytes = f->free->count * sizeof *f->x;
    double least = INFINITY;
    Status status = STATUS_OK;
    f->keep = false;
    for (long k = 0; k < f->options->starts && status == STATUS_OK; k++) {
        MinimiseResult result;
        if (k) draw_start(f, k);
        status = run(f, FIRST_ITERATIONS, &result);
        if (k && (status == STATUS_FAILED || status == STATUS_BAD_INPUT)) status = STATUS_OK; // explodes, or is refused
        else if (status == STATUS_OK && result.cost < least) {
            least = result.cost;
            memcpy(f->best, f->x, bytes);
        }
    }
    if (isfinite(least)) memcpy(f->x, f->best, bytes);
    f->keep = true;
    return status;
}

// ---- what is determined

// The first of the largest parts of the least determined direction, and all its parts as bits.
static size_t weakest(const Fit *f, const MinimiseSpread *spread, uint32_t *with) {
    double most = 0;
    size_t found = 0;
    for (size_t i = 0; i < f->free->count; i++) most = fmax(most, fabs(spread->direction[i]));
    for (size_t i = f->free->count; i-- > 0;) {
        const double part = fabs(spread->direction[i]);
        if (part > 0.9 * most) found = i;
        if (part > 0.1) with[i / 32] |= 1u << i % 32;
    }
    with[found / 32] &= ~(1u << found % 32);
    return found;
}

static Status take_errors(Fit *f, const MinimiseSpread *spread) {
    double *scatter = calloc(f->free->count, sizeof *scatter);
    if (!scatter) return error_no_memory(f->err, "a fit of %zu numbers", f->free->count);
    Status status = fit_scatter(&f->rollout, &f->problem, f->x, spread, scatter, f->err);
    for (size_t i = 0; i < f->free->count; i++) {
        FitValue *value = f->result->value + i;
        const MinimiseVariable *v = f->variable + i;
        if (v->fixed) continue;
        const bool bound = f->x[i] <= v->low || f->x[i] >= v->high, lost = isinf(spread->error[i]);
        value->verdict = lost ? FIT_UNDETERMINED : bound ? FIT_AT_BOUND : FIT_FITTED;
        value->error = bound || lost ? NAN : fmax(spread->error[i], scatter[i] * minimise_dx_dz(v, f->x[i]));
    }
    free(scatter);
    f->result->has_errors = status == STATUS_OK;
    return status;
}

// A variable that lies at a bound without being determined; P: none.
static size_t find_stray(const Fit *f, const MinimiseSpread *spread) {
    size_t i = 0;
    for (; i < f->free->count; i++) {
        const bool bound = f->x[i] <= f->variable[i].low || f->x[i] >= f->variable[i].high;
        if (bound && isinf(spread->error[i])) break;
    }
    return i;
}

// Puts what is least determined back to its start: a stray, or else the weakest along its direction. Which it was.
static size_t put_back(Fit *f, const MinimiseSpread *spread) {
    FitValue value = {.error = NAN, .verdict = FIT_UNDETERMINED};
    size_t i = find_stray(f, spread);
    if (i == f->free->count) {
        i = weakest(f, spread, value.with);
        minimise_along(&f->problem, spread->direction, i, f->free->variable[i].start, f->x);
    }
    f->x[i] = f->free->variable[i].start;
    f->result->value[i] = value;
    f->variable[i].fixed = true;
    return i;
}

// Whether the recording speaks against the start that a number went back to, although the curvature at the minimum does
// not: residuals rise by a twentieth and by more than noise and rounding let them. Directions without any effect say
// nothing about that.
static bool speaks_against(const Fit *f, const MinimiseSpread *spread, double cost) {
    const bool effect = !spread->undetermined || isfinite(spread->width[0]);
    return effect && cost > AGAINST * AGAINST * spread->cost && cost - spread->cost > 5 * spread->variance &&
           rms_of(f, cost) > ROUNDING * f->result->first_rms;
}

// Keeps the minimum (f->best): number i does not go back, and errors are given however wide.
static void keep_minimum(Fit *f, MinimiseSpread *spread, size_t i) {
    const size_t P = f->free->count;
    memcpy(f->x, f->best, P * sizeof *f->x);
    f->variable[i].fixed = false;
    f->result->value[i] = (FitValue){.error = NAN};
    for (size_t k = 0; k < spread->undetermined; k++)
        for (size_t n = 0; n < P * P; n++)
            spread->covariance[n] += spread->width[k] * spread->width[k] * spread->direction[k * P + n / P] *
                                     spread->direction[k * P + n % P];
    for (size_t n = 0; n < P; n++)
        spread->error[n] = sqrt(spread->covariance[n * P + n]) * minimise_dx_dz(f->variable + n, f->x[n]);
}

// ---- of many numbers, all at once

// Bits of those that move along with number i where nothing is determined.
static void name_others(const Fit *f, const MinimiseSpread *spread, size_t i) {
    const size_t P = f->free->count;
    const double *u = spread->direction;
    for (size_t j = 0; j < P; j++) {
        double along = 0, own = 0;
        for (size_t k = 0; k < spread->undetermined; k++) {
            along += u[k * P + i] * u[k * P + j];
            own += u[k * P + i] * u[k * P + i];
        }
        if (j != i && fabs(along) > 0.1 * own) f->result->value[i].with[j / 32] |= 1u << j % 32;
    }
}

// Takes back, along the directions that are not determined, how far x is from the start.
static void take_back(Fit *f, const MinimiseSpread *spread) {
    const size_t P = f->free->count;
    for (size_t k = 0; k < spread->undetermined; k++) {
        const double *u = spread->direction + k * P;
        double along = 0;
        for (size_t i = 0; i < P; i++)
            if (u[i] != 0)
                along += u[i] * (minimise_z(f->variable + i, f->x[i]) -
                                 minimise_z(f->variable + i, f->free->variable[i].start));
        for (size_t i = 0; i < P; i++) {
            const MinimiseVariable *v = f->variable + i;
            if (u[i] == 0) continue;
            f->x[i] = fmin(fmax(minimise_x(v, minimise_z(v, f->x[i]) - along * u[i]), v->low), v->high);
        }
    }
    for (size_t i = 0; i < P; i++) {
        const bool bound = f->x[i] <= f->variable[i].low || f->x[i] >= f->variable[i].high;
        if (bound && isinf(spread->error[i])) f->x[i] = f->free->variable[i].start;
    }
}

static Status judge_many(Fit *f) {
    MinimiseSpread spread;
    Status status = minimise_spread(&f->problem, f->x, &spread, f->err);
    if (status != STATUS_OK) return status;
    take_back(f, &spread);
    status = take_errors(f, &spread);
    for (size_t i = 0; i < f->free->count; i++)
        if (f->result->value[i].verdict == FIT_UNDETERMINED) name_others(f, &spread, i);
    minimise_spread_free(&spread);
    return status;
}

// Standard errors; where residuals jump, those of the best point that the search for them leads to.
static Status spread_of(Fit *f, MinimiseSpread *spread) {
    for (int i = 0;; i++) {
        MinimiseResult result;
        Status status = minimise_spread(&f->problem, f->x, spread, f->err);
        if (status != STATUS_OK || f->problem.shape < MINIMISE_JUMPS || i == AGAIN) return status;
        if (!(2 * (spread->cost - spread->least_cost) > BETTER * spread->variance)) return status;
        memcpy(f->x, spread->least, f->free->count * sizeof *f->x);
        minimise_spread_free(spread);
        status = run(f, iterations_of(f), &result);
        if (status != STATUS_OK) return status;
    }
}

// One number after the other, each time with a new minimum.
static Status judge(Fit *f) {
    MinimiseSpread spread;
    MinimiseResult result;
    if (f->free->count > ONE_BY_ONE) return judge_many(f);
    for (;;) {
        Status status = spread_of(f, &spread);
        if (status != STATUS_OK) return status;
        if (!spread.undetermined && find_stray(f, &spread) == f->free->count) break;
        memcpy(f->best, f->x, f->free->count * sizeof *f->x);
        const size_t i = put_back(f, &spread);
        status = run(f, iterations_of(f), &result);
        if (status == STATUS_OK && speaks_against(f, &spread, result.cost)) {
            keep_minimum(f, &spread, i);
            break;
        }
        minimise_spread_free(&spread);
        if (status != STATUS_OK) return status;
    }
    Status status = take_errors(f, &spread);
    minimise_spread_free(&spread);
    return status;
}

static size_t most_errors(const FitData *data) { return data->pictures ? PICTURES_LM : STATE_ERRORS; }

// A fit without errors is still a fit: when the judgement fails, the numbers are those of the last minimum.
static Status try_judge(Fit *f) {
    const size_t P = f->free->count;
    Error *err = f->err;
    if (P > most_errors(f->rollout.data)) return STATUS_OK;
    memcpy(f->best, f->x, P * sizeof *f->x);
    f->err = &f->result->no_errors;
    const Status status = judge(f);
    f->err = err;
    if (status == STATUS_INTERRUPTED) {
        *err = f->result->no_errors;
        f->result->no_errors = (Error){0};
    }
    if (status == STATUS_OK || status == STATUS_INTERRUPTED) return status;
    memcpy(f->x, f->best, P * sizeof *f->x);
    for (size_t i = 0; i < P; i++) f->result->value[i] = (FitValue){.error = NAN};
    return STATUS_OK;
}

// ---- all of it

static void put_start(Fit *f) {
    for (size_t i = 0; i < f->free->count; i++)
        f->x[i] = f->options->at ? f->options->at[i] : f->free->variable[i].start;
}

// Without `fade` all damping begins at touch: the force jumps, and the motion with the step in which that is.
static bool force_jumps(const SimScene *scene) {
    bool jumps = false;
    for (size_t i = 0; i < scene->model.materials && (scene->model.planes || scene->model.faces); i++)
        jumps = jumps || (scene->values.of[SIM_CONTACT_KD][i] > 0 && !(scene->model.contacts[i].fade > 0));
    return jumps;
}

static Status begin(Fit *f, FitData *data) {
    const size_t P = f->free->count;
    *f->result = (FitResult){.count = P, .frames = data->frames, .value = calloc(P, sizeof(FitValue))};
    f->variable = calloc(P, sizeof *f->variable);
    f->x = calloc(2 * P, sizeof *f->x);
    if (!f->result->value || !f->variable || !f->x)
        return error_no_memory(f->err, "a fit of %zu numbers", f->free->count);
    f->best = f->x + P;
    for (size_t i = 0; i < P; i++) {
        f->variable[i] = f->free->variable[i].range;
        f->result->value[i].error = NAN;
    }
    put_start(f);
    Status status = fit_rollout_open(f->free, data, f->options->threads, &f->rollout, f->err);
    f->rollout.variable = f->variable;
    f->result->many = data->pictures && P > ONE_BY_ONE;
    f->result->jumps = status == STATUS_OK && force_jumps(&f->rollout.scene);
    const bool jumps = f->result->jumps && P <= ONE_BY_ONE,
               rough = data->pictures && fit_pictures_rough(data->pictures);
    const MinimiseShape shape = rough            ? MINIMISE_ROUGH
                                : data->pictures ? MINIMISE_SMOOTH
                                : jumps          ? MINIMISE_JUMPS
                                                 : MINIMISE_KINKS;
    f->problem = (MinimiseProblem){P, f->variable, fit_rollout_sums, &f->rollout, shape};
    return status;
}

// Of a fit that goes on. Infinite where the rollout has no result.
static Status start_rms(Fit *f) {
    MinimiseSums sums = {0};
    for (size_t i = 0; i < f->free->count; i++) f->best[i] = f->free->variable[i].start;
    f->result->calls++;
    Status status = fit_rollout_sums(&f->rollout, f->best, &sums, f->err);
    f->result->start_rms = rms_of(f, sums.cost);
    return status;
}

static Status first_rms(Fit *f) {
    MinimiseSums sums = {0};
    f->result->calls++;
    Status status = fit_rollout_sums(&f->rollout, f->x, &sums, f->err);
    if (status == STATUS_OK && !isfinite(sums.cost)) return no_rollout(f);
    f->first = sums.cost;
    f->residuals = sums.residuals;
    f->result->first_rms = f->result->start_rms = rms_of(f, sums.cost);
    return status == STATUS_OK && f->options->at ? start_rms(f) : status;
}

// Compares so many frames; with fewer than all, pictures are blurred more, since less is known of where things are.
static void set_horizon(Fit *f, size_t horizon, size_t frames) {
    double blur = 1;
    f->rollout.horizon = horizon < frames ? horizon : frames;
    for (size_t h = f->rollout.horizon; h < frames; h *= 2) blur *= 2;
    fit_data_blur(f->rollout.data, blur);
}

// While few frames are compared, what they do not determine is held near its start: as strongly as one standard
// deviation of 1 in z would be, if the residuals that there are were noise.
static Status hold(Fit *f, size_t frames) {
    MinimiseSums sums = {0};
    f->rollout.hold = 0;
    if (f->rollout.horizon == frames) return STATUS_OK;
    Status status = fit_rollout_sums(&f->rollout, f->x, &sums, f->err);
    if (status == STATUS_OK && isfinite(sums.cost) && sums.residuals > 0)
        f->rollout.hold = 2 * sums.cost / sums.residuals;
    return status;
}

// Fewer frames led to where all of them fit worse than at the start, as a motion that nearly explodes can: all at once.
static Status from_start(Fit *f) {
    MinimiseResult result = {0};
    put_start(f);
    Status status = run(f, iterations_of(f), &result);
    f->result->rms = rms_of(f, result.cost);
    return status;
}

static Status minimise_all(Fit *f, size_t frames) {
    MinimiseResult result = {0};
    size_t horizon = f->options->horizon > 1 ? (size_t)f->options->horizon : 2 + frames / 8;
    set_horizon(f, horizon, frames);
    Status status = hold(f, frames);
    if (status == STATUS_OK && f->options->starts > 1) status = try_starts(f);
    for (;;) {
        if (status == STATUS_OK) status = run(f, iterations_now(f, frames), &result);
        f->result->rms = rms_of(f, result.cost);
        if (status == STATUS_OK && f->rollout.horizon == frames && result.cost > f->first) return from_start(f);
        if (status != STATUS_OK || f->rollout.horizon == frames) return status;
        f->hopeless = f->options->hopeless > 0 && f->result->rms > f->options->hopeless;
        if (f->hopeless) return status;
        set_horizon(f, 2 * f->rollout.horizon, frames);
        status = hold(f, frames);
    }
}

// A recording of states that was computed in single precision, and has no other noise.
static bool only_rounded(const FitData *data, double rms) {
    double largest = 0;
    for (size_t i = 0; data->position && i < 3 * data->frames * data->scene->model.particles; i++)
        largest = fmax(largest, fabs(data->position[i]));
    const double rounding = largest / (1 << 24);
    return data->kinds == FIT_STATES && rms > rounding && rms < ROUNDED * rounding;
}

static Status last_rms(Fit *f) {
    MinimiseSums sums = {0};
    Status status = fit_rollout_sums(&f->rollout, f->x, &sums, f->err);
    f->result->rms = rms_of(f, sums.cost);
    f->result->rounded = only_rounded(f->rollout.data, f->result->rms);
    f->result->no_better = f->result->rms > NO_BETTER * f->result->start_rms && f->result->rms > f->rollout.data->usual;
    return status;
}

Status fit_run(const FitFree *free_numbers, FitData *data, const FitOptions *options, FitResult *out, Error *err) {
    Fit f = {.free = free_numbers, .options = options, .result = out, .keep = true, .err = err};
    Status status = begin(&f, data);
    if (status == STATUS_OK) status = first_rms(&f);
    if (status == STATUS_OK) status = minimise_all(&f, data->frames);
    if (status == STATUS_OK && !f.hopeless) status = try_judge(&f);
    if (status == STATUS_OK) status = last_rms(&f);
    for (size_t i = 0; i < out->count && f.x && out->value; i++) out->value[i].value = f.x[i];
    fit_rollout_close(&f.rollout);
    free(f.variable);
    free(f.x);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED) fit_result_free(out);
    return status;
}
