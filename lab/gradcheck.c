// SPDX-License-Identifier: Apache-2.0
#include "lab/gradcheck.h"

#include "base/random.h"
#include "base/vector.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const gradcheck_verdicts[] = {"right", "wrong", "differences disagree", "f32 alone"};

#define FIRST_STEP 1e-4     // a tenth and a hundredth of it are the others
#define FINER 1e-3          // where none of them fits
#define FINER_ROUNDING 1e-4 // by the slope: with more of it, a difference at such a step says nothing
#define COARSER 1e3         // where rounding hides the slope

#define SIDES 10 // times the limit: slopes to either side that differ by less are the same
#define KINKS 10 // how many times as far from their mean a gradient may be that takes one side of each of many kinks

// A gradient is not wrong that is no further from differences than so many times what they may be off by.
#define DOUBT 10

#define F64_LIMIT 1e-6 // of errors
#define F32_LIMIT 1e-3

// Rounding of a loss by its size: a few units in the last place.
#define ROUNDING (32 * DBL_EPSILON)
// Draws are numbered: 0 and 1 are of the loss, then each value has one. Those of noise keep their number when the table
// of values grows, so that verdicts at the edge of rounding stay what they are.
enum { NOISE_TRIALS = 4, NOISE_DRAW = 31 };

typedef struct Work {
    const SimScene *scene;
    Sim *exact;       // f64, for differences
    SimValues values; // those in use: the scene's, and controls
    SimRun run;
    size_t row;              // doubles of a frame
    double *weight[2];       // (frames,N,3) of positions and velocities
    double *changed, *along; // of the value that is changed, and its direction
    double heaviest;         // kg, of a particle
    double loss, size;       // of the last rollout; the sum of its terms' sizes
    double noise;            // how far the loss moves when the start is rounded otherwise
    SimValues moved;         // the gradient, in f64, at such a start
} Work;

// Between -1 and 1.
static double number(const Work *work, uint32_t what, size_t index) {
    const RandomKey key = {(uint32_t)work->scene->seed, RANDOM_GRADCHECK, what, 0};
    return 2 * (double)random_uniform(key, index) - 1;
}

// ---- the loss

static Status add_loss(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    Work *work = context;
    const double *state[2] = {position, velocity};
    (void)err;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < work->row; i++) {
            double term = state[s][i] * work->weight[s][frame * work->row + i];
            work->loss += term;
            work->size += fabs(term);
        }
    return STATUS_OK;
}

static SimRun make_run(Work *work, const SimValues *values) {
    SimRun run = work->run;
    run.position = values->of[SIM_POSITION];
    run.velocity = values->of[SIM_VELOCITY];
    run.force = values->of[SIM_FORCE];
    run.drive = values->of[SIM_DRIVE];
    run.activation = values->of[SIM_ACTIVATION];
    run.torque = values->of[SIM_TORQUE];
    run.thrust = values->of[SIM_THRUST];
    run.keep = add_loss;
    run.context = work;
    return run;
}

static Status loss_of(Work *work, const SimValues *values, double *out, Error *err) {
    SimRun run = make_run(work, values);
    work->loss = work->size = 0;
    Status status = sim_set(work->exact, values, err);
    if (status == STATUS_OK) status = sim_rollout(work->exact, &run, err);
    *out = work->loss;
    return scene_failed(work->scene, status, err);
}

// The loss with one value changed by h along the direction.
static Status loss_at(Work *work, SimValue value, size_t entries, double h, double *out, Error *err) {
    SimValues values = work->values;
    for (size_t i = 0; i < entries; i++) work->changed[i] = work->values.of[value][i] + h * work->along[i];
    values.of[value] = work->changed;
    return loss_of(work, &values, out, err);
}

// The gradient of every value, by a simulation of its own.
static Status find_gradient(Work *work, SimPrecision precision, const SimOptions *on, const SimValues *gradient,
                            double *growth, Error *err) {
    SimOptions options = scene_options_on(work->scene, on);
    SimRun run = make_run(work, &work->values);
    const SimLoss loss = {work->weight[0], work->weight[1]};
    Sim *sim = NULL;
    options.precision = precision;
    run.gradient = true;
    Status status = sim_open(&work->scene->model, &options, &sim, err);
    if (status == STATUS_OK) status = sim_set(sim, &work->values, err);
    if (status == STATUS_OK) status = sim_rollout(sim, &run, err);
    status = scene_failed(work->scene, status, err);
    if (status == STATUS_OK) status = sim_adjoint(sim, &run, &loss, gradient, growth, err);
    sim_close(sim);
    return status;
}

// The start moved by a unit in the last place of its largest number.
static void move_start(const Work *work, uint32_t trial, double *out) {
    const size_t entries = 3 * work->scene->model.particles;
    const double *x = work->scene->values.of[SIM_POSITION];
    double reach = 0;
    for (size_t i = 0; i < entries; i++) reach = fmax(reach, fabs(x[i]));
    for (size_t i = 0; i < entries; i++) out[i] = x[i] + DBL_EPSILON * reach * number(work, NOISE_DRAW + trial, i);
}

// Each step rounds all positions, and stiff elements pass that on enlarged: the loss of a block of 1e8 Pa moves by
// 1e-11 where that of one of 1e4 Pa moves by 1e-13. Gradients move too.
static Status find_noise(Work *work, const SimOptions *on, Error *err) {
    const SimValues values = work->values;
    double *moved = calloc(3 * work->scene->model.particles, sizeof *moved), before, now, growth;
    if (!moved) return error_no_memory(err, "a gradient check of %s", work->scene->path);
    Status status = loss_of(work, &values, &before, err);
    for (uint32_t k = 0; k < NOISE_TRIALS && status == STATUS_OK; k++) {
        move_start(work, k, moved);
        work->values.of[SIM_POSITION] = moved;
        status = loss_of(work, &work->values, &now, err);
        work->noise = fmax(work->noise, fabs(now - before));
    }
    if (status == STATUS_OK) status = find_gradient(work, SIM_F64, on, &work->moved, &growth, err);
    work->values = values;
    free(moved);
    return status;
}

// ---- one value

// What one step of h changes an entry by that is 0 or may be below 0.
static double unit_of(const Work *work, SimValue value, size_t i, double edge) {
    const size_t N = work->scene->model.particles;
    if (value == SIM_FORCE) return 10 * work->values.of[SIM_MASS][i / 3 % N];
    if (value == SIM_THRUST) return 10 * work->heaviest;
    if (value == SIM_TORQUE) return 100 * work->heaviest * edge; // edge: a tenth of one
    const bool length = value == SIM_SLIDE_POSITION || value == SIM_SLIDE_LOW || value == SIM_SLIDE_HIGH;
    return value == SIM_POSITION || value == SIM_REST || length ? edge : 1;
}

// The shortest side of a rigid object's faces.
static double short_side(const SimScene *scene, const SceneObject *object) {
    const double *x = scene->values.of[SIM_REST] + 3 * object->particle;
    double least = INFINITY;
    for (size_t i = 3 * object->face; i < 3 * (object->face + object->faces) && object->rigid; i++) {
        double d[3];
        vector_between(x, scene->face[i], scene->face[i / 3 * 3 + (i + 1) % 3], d);
        least = fmin(least, sqrt(vector_dot(d, d)));
    }
    return least;
}

// A tenth of the shortest edge of an element: how far a position may move in a difference.
static double short_length(const SimScene *scene) {
    const SimModel *m = &scene->model;
    const double *x = scene->values.of[SIM_REST];
    double least = INFINITY;
    for (size_t i = 0; i < 6 * m->tets; i++) {
        static const int pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
        const int32_t *tet = m->tet + 4 * (i / 6);
        double d[3];
        vector_between(x, tet[pairs[i % 6][0]], tet[pairs[i % 6][1]], d);
        least = fmin(least, sqrt(vector_dot(d, d)));
    }
    for (size_t i = 0; i < m->springs; i++) least = fmin(least, scene->values.of[SIM_SPRING_LENGTH][i]);
    for (size_t o = 0; o < scene->object_count; o++) least = fmin(least, short_side(scene, scene->objects + o));
    return isfinite(least) && least > 0 ? 0.1 * least : 0.1;
}

// The direction: parts of the entry itself, or of its unit where it is 0 or may be below 0. `edge`: an entry is at its
// lower bound, so that the direction may only point upwards.
static void choose_direction(Work *work, SimValue value, size_t entries, bool *edge) {
    const SimValueInfo *info = sim_value_info + value;
    const double *now = work->values.of[value];
    const double length = short_length(work->scene);
    *edge = false;
    for (size_t i = 0; i < entries && info->low == 0; i++) *edge = *edge || now[i] <= 0;
    for (size_t i = 0; i < entries; i++) {
        double size = info->low == 0 && now[i] > 0 ? now[i] : unit_of(work, value, i, length);
        work->along[i] = size * number(work, (uint32_t)value + 2, i);
        if (*edge) work->along[i] = fabs(work->along[i]);
    }
}

static Status difference(Work *work, GradcheckRow *row, int step, bool edge, Error *err) {
    const double h = row->step[step];
    double a, b, c = 0;
    Status status = loss_at(work, row->value, row->entries, h, &a, err);
    if (status == STATUS_OK) status = loss_at(work, row->value, row->entries, edge ? 2 * h : -h, &b, err);
    if (status == STATUS_OK && edge) status = loss_at(work, row->value, row->entries, 0, &c, err);
    if (status != STATUS_OK) return status;
    row->difference[step] = edge ? (4 * a - b - 3 * c) / (2 * h) : (a - b) / (2 * h);
    row->rounding[step] = ROUNDING * work->size / h;
    return STATUS_OK;
}

// Two differences at neighbouring steps are the same within the limit, or within rounding.
static bool settled(const GradcheckRow *row, int step, double limit) {
    const double a = row->difference[step], b = row->difference[step + 1];
    const double larger = fmax(fabs(a), fabs(b)); // not row->usual, which is the adjoint's
    return fabs(a - b) <= larger * limit + row->rounding[step] + row->rounding[step + 1];
}

// Two differences that agree, and a gradient that is far from them: the rounding of a long path is more than that of
// the loss, so differences that agree within rounding may both be off.
static bool accused(const GradcheckRow *row, double limit) {
    for (int s = 0; s + 1 < GRADCHECK_STEPS; s++) {
        const double a = row->difference[s], b = row->difference[s + 1];
        if (settled(row, s, limit) && !(fabs(row->adjoint - b) <= DOUBT * (fabs(a - b) + row->rounding[s + 1])))
            return true;
    }
    return false;
}

void gradcheck_judge(GradcheckRow *row, double limit) {
    row->error = INFINITY;
    row->verdict = accused(row, limit) ? GRADCHECK_WRONG : GRADCHECK_UNKNOWN;
    for (int s = 0; s < GRADCHECK_STEPS; s++) {
        double larger = fmax(row->usual, fmax(fabs(row->adjoint), fabs(row->difference[s])));
        double apart = fabs(row->adjoint - row->difference[s]);
        if (!isfinite(apart)) continue;
        if (apart <= larger * limit + row->rounding[s]) row->verdict = GRADCHECK_RIGHT;
        if (larger == 0) row->error = 0; // the value has no effect
        else if (apart / larger < row->error) row->error = apart / larger;
    }
    if (!isfinite(row->adjoint)) row->verdict = GRADCHECK_WRONG;
}

// Two differences that agree, and a finer one that is another by more than rounding: a kink lies between.
static bool has_kink(const GradcheckRow *row, const GradcheckRow *finer, double limit) {
    for (int i = 0; i < (GRADCHECK_STEPS - 1) * GRADCHECK_STEPS; i++) {
        const int s = i / GRADCHECK_STEPS, f = i % GRADCHECK_STEPS;
        const double before = row->difference[s + 1], apart = fabs(finer->difference[f] - before);
        if (settled(row, s, limit) && apart > fabs(before) * limit + row->rounding[s + 1] + finer->rounding[f])
            return true;
    }
    return false;
}

void gradcheck_refine(GradcheckRow *row, GradcheckRow *finer, double limit) {
    const bool unknown = row->verdict == GRADCHECK_UNKNOWN, kink = unknown || has_kink(row, finer, limit);
    const bool wrong = accused(finer, limit);
    for (int s = 0; s < GRADCHECK_STEPS; s++)
        finer->rounding[s] = fmin(finer->rounding[s], FINER_ROUNDING * fmax(finer->usual, fabs(finer->adjoint)));
    gradcheck_judge(finer, limit);
    if (finer->verdict == GRADCHECK_WRONG && !wrong && isfinite(finer->adjoint)) finer->verdict = GRADCHECK_UNKNOWN;
    const bool more = finer->verdict != GRADCHECK_UNKNOWN || finer->error < row->error;
    if ((unknown && more) || (kink && finer->verdict == GRADCHECK_RIGHT)) *row = *finer;
}

// Whether one of the differences is the slope within the limit, whatever rounding does.
static bool confirmed(const GradcheckRow *row, double limit) {
    for (int s = 0; s < GRADCHECK_STEPS; s++) {
        const double larger = fmax(row->usual, fmax(fabs(row->adjoint), fabs(row->difference[s])));
        if (fabs(row->adjoint - row->difference[s]) <= larger * limit) return true;
    }
    return false;
}

void gradcheck_judge_coarse(GradcheckRow *row, double own, double size, double limit) {
    const double *d = row->difference, *rounding = row->rounding;
    const double doubts[2] = {fabs(d[0] - d[1]) + rounding[0], fabs(d[1] - d[2]) + rounding[1]};
    const int best = doubts[1] < doubts[0];
    const double doubt = doubts[best] + own, apart = fabs(row->adjoint - d[best]);
    const double larger = fmax(row->usual, fmax(fabs(row->adjoint), fabs(d[best])));
    const bool told = doubt <= FINER_ROUNDING * larger || larger + doubt <= limit * size;
    row->error = larger > 0 ? apart / larger : 0;
    row->verdict = GRADCHECK_UNKNOWN;
    if (told && apart <= larger * limit + doubt) row->verdict = GRADCHECK_RIGHT;
    else if (told && apart > DOUBT * (larger * limit + doubt)) row->verdict = GRADCHECK_WRONG;
}

// The difference that the next one confirms; NaN of none.
static double settled_difference(const GradcheckRow *row, double limit) {
    for (int s = 0; s + 1 < GRADCHECK_STEPS; s++)
        if (settled(row, s, limit)) return row->difference[s + 1];
    return NAN;
}

void gradcheck_judge_sides(GradcheckRow *row, const GradcheckRow *up, const GradcheckRow *down, double limit) {
    const double after = settled_difference(up, limit), before = -settled_difference(down, limit);
    const double apart = fabs(after - before), larger = fmax(fabs(after), fabs(before));
    const bool kink = apart > SIDES * limit * larger + up->rounding[0] + down->rounding[0];
    if (kink && fabs(row->adjoint - (after + before) / 2) <= KINKS * apart) row->verdict = GRADCHECK_UNKNOWN;
}

// The slope along the direction, from the adjoint.
static void take_slope(const Work *work, const SimValues *gradient, GradcheckRow *row) {
    row->adjoint = row->usual = 0;
    for (size_t i = 0; i < row->entries; i++) {
        double part = gradient->of[row->value][i] * work->along[i];
        row->adjoint += part;
        row->usual += part * part;
    }
    row->usual = sqrt(row->usual);
}

static Status take_differences(Work *work, GradcheckRow *row, double first, bool edge, Error *err) {
    Status status = STATUS_OK;
    for (int s = 0; s < GRADCHECK_STEPS && status == STATUS_OK; s++) {
        row->step[s] = first * pow(0.1, s);
        status = difference(work, row, s, edge, err);
    }
    return status;
}

// Differences to either side alone.
static Status check_sides(Work *work, double limit, GradcheckRow *row, Error *err) {
    GradcheckRow up = *row, down = *row;
    Status status = take_differences(work, &up, row->step[0], true, err);
    for (size_t i = 0; i < row->entries; i++) work->along[i] = -work->along[i];
    if (status == STATUS_OK) status = take_differences(work, &down, row->step[0], true, err);
    gradcheck_judge_sides(row, &up, &down, limit);
    return status;
}

// How far the slope of the f64 adjoint moves when the start is rounded otherwise.
static double own_noise(const Work *work, const GradcheckRow *row) {
    double moved = 0;
    for (size_t i = 0; i < row->entries; i++) moved += work->moved.of[row->value][i] * work->along[i];
    return 2 * fabs(moved - row->adjoint);
}

// Larger steps for a slope that rounding hides. A value that is changed so far may let the scene explode.
static Status check_coarser(Work *work, double limit, bool edge, GradcheckRow *row, Error *err) {
    const double larger = fmax(row->usual, fmax(fabs(row->adjoint), fabs(row->difference[0])));
    const double noise = fmax(ROUNDING * work->size, 2 * work->noise);
    GradcheckRow coarse = *row;
    Error exploded;
    if (confirmed(row, limit) || larger * limit > noise / row->step[0] || !isfinite(larger)) return STATUS_OK;
    Status status = take_differences(work, &coarse, FIRST_STEP * COARSER, edge, &exploded);
    if (status == STATUS_FAILED) return STATUS_OK;
    if (status != STATUS_OK) {
        *err = exploded;
        return status;
    }
    for (int s = 0; s < GRADCHECK_STEPS; s++) coarse.rounding[s] = noise / coarse.step[s];
    gradcheck_judge_coarse(&coarse, limit == F64_LIMIT ? own_noise(work, row) : 0, work->size, limit);
    const bool same = coarse.verdict == row->verdict;
    if (coarse.verdict != GRADCHECK_UNKNOWN && (!same || coarse.error < row->error)) *row = coarse;
    return STATUS_OK;
}

static Status check_value(Work *work, const SimValues *gradient, double limit, GradcheckRow *row, Error *err) {
    GradcheckRow finer;
    bool edge;
    choose_direction(work, row->value, row->entries, &edge);
    take_slope(work, gradient, row);
    Status status = take_differences(work, row, FIRST_STEP, edge, err);
    gradcheck_judge(row, limit);
    if (status == STATUS_OK) status = check_coarser(work, limit, edge, row, err);
    if (status != STATUS_OK || row->verdict == GRADCHECK_RIGHT) return status;
    finer = *row;
    status = take_differences(work, &finer, FIRST_STEP * FINER, edge, err);
    if (status == STATUS_OK) gradcheck_refine(row, &finer, limit);
    if (status == STATUS_OK && row->verdict == GRADCHECK_WRONG && !edge) status = check_sides(work, limit, row, err);
    return status;
}

// ---- all of them

// The scene's values; forces and activations of 0 where it has none.
static Status begin(Work *work, const SimScene *scene, const SimOptions *on, Error *err) {
    SimOptions options = scene_options_on(scene, on);
    *work = (Work){.scene = scene, .values = scene->values, .run = scene_run(scene), .row = 3 * scene->model.particles};
    size_t frames = sim_frames(&work->run), controls, largest = 1;
    for (size_t i = 0; i < scene->model.particles; i++)
        work->heaviest = fmax(work->heaviest, scene->values.of[SIM_MASS][i]);
    work->run.control_every = work->run.every;
    controls = sim_controls(&work->run);
    for (int v = 0; v < SIM_VALUES; v++) {
        size_t count = sim_value_count(&scene->model, controls, v);
        largest = count > largest ? count : largest;
        // Drives of 0 would stop what is fixed and moves.
        if ((v == SIM_DRIVE || sim_value_is_stop((SimValue)v)) && !work->values.of[v]) continue;
        if (count && !work->values.of[v]) work->values.of[v] = calloc(count, sizeof(double));
        if (count && !work->values.of[v]) return error_no_memory(err, "a gradient check of %s", scene->path);
    }
    work->changed = calloc(largest, sizeof(double));
    work->along = calloc(largest, sizeof(double));
    for (int s = 0; s < 2; s++) work->weight[s] = calloc(frames * work->row, sizeof(double));
    if (!work->changed || !work->along || !work->weight[0] || !work->weight[1])
        return error_no_memory(err, "a gradient check of %s", scene->path);
    for (size_t i = 0; i < 2 * frames * work->row; i++)
        work->weight[i % 2][i / 2] = number(work, (uint32_t)(i % 2), i / 2) / sqrt((double)(frames * work->row));
    options.precision = SIM_F64;
    return sim_open(&scene->model, &options, &work->exact, err);
}

static void end(Work *work) {
    sim_close(work->exact);
    for (int v = 0; v < SIM_VALUES; v++)
        if (work->values.of[v] != work->scene->values.of[v]) free(work->values.of[v]);
    free(work->changed);
    free(work->along);
    free(work->weight[0]);
    free(work->weight[1]);
}

static Status check_all(Work *work, const SimValues *gradient, Gradcheck *out, Error *err) {
    Status status = STATUS_OK;
    for (int v = 0; v < SIM_VALUES && status == STATUS_OK; v++) {
        size_t entries = sim_value_count(&work->scene->model, sim_controls(&work->run), v);
        if (!entries || !work->values.of[v]) continue;
        GradcheckRow *row = out->row + out->rows++;
        *row = (GradcheckRow){.value = (SimValue)v, .entries = entries};
        status = check_value(work, gradient, out->limit, row, err);
    }
    return status;
}

// Looks whether f32 alone is to blame for a row.
static Status judge_exact(Work *work, const SimValues *exact, GradcheckRow *row, Error *err) {
    GradcheckRow other = *row;
    Status status = check_value(work, exact, F64_LIMIT, &other, err);
    if (status != STATUS_OK || other.verdict != GRADCHECK_RIGHT) return status;
    memcpy(row->step, other.step, sizeof row->step);
    memcpy(row->difference, other.difference, sizeof row->difference);
    memcpy(row->rounding, other.rounding, sizeof row->rounding);
    gradcheck_judge(row, F32_LIMIT);
    if (row->verdict != GRADCHECK_RIGHT) row->verdict = GRADCHECK_F32_ALONE;
    return STATUS_OK;
}

// The rows that are not right in f32 again; `gradient` is overwritten.
static Status check_exact(Work *work, const SimOptions *on, const SimValues *gradient, Gradcheck *out, Error *err) {
    double growth;
    size_t bad = 0;
    for (size_t i = 0; i < out->rows; i++) bad += out->row[i].verdict != GRADCHECK_RIGHT;
    if (out->precision == SIM_F64 || !bad) return STATUS_OK;
    Status status = find_gradient(work, SIM_F64, on, gradient, &growth, err);
    for (size_t i = 0; i < out->rows && status == STATUS_OK; i++)
        if (out->row[i].verdict != GRADCHECK_RIGHT) status = judge_exact(work, gradient, out->row + i, err);
    return status;
}

Status gradcheck_run(const SimScene *scene, const SimOptions *on, Gradcheck *out, Error *err) {
    SimValues gradient = {{NULL}};
    Work work;
    *out = (Gradcheck){.precision = scene->has_precision ? scene->precision : SIM_F64};
    out->limit = out->precision == SIM_F64 ? F64_LIMIT : F32_LIMIT;
    Status status = begin(&work, scene, on, err);
    for (int v = 0; v < SIM_VALUES && status == STATUS_OK; v++) {
        size_t count = sim_value_count(&scene->model, sim_controls(&work.run), v);
        if (!count || !work.values.of[v]) continue;
        gradient.of[v] = calloc(count, sizeof(double));
        work.moved.of[v] = calloc(count, sizeof(double));
        if (!gradient.of[v] || !work.moved.of[v]) status = error_no_memory(err, "a gradient check of %s", scene->path);
    }
    if (status == STATUS_OK) status = find_gradient(&work, out->precision, on, &gradient, &out->growth, err);
    if (status == STATUS_OK) status = find_noise(&work, on, err);
    if (status == STATUS_OK) status = check_all(&work, &gradient, out, err);
    if (status == STATUS_OK) status = check_exact(&work, on, &gradient, out, err);
    for (size_t i = 0; i < out->rows; i++) out->of[out->row[i].verdict]++;
    for (int v = 0; v < SIM_VALUES; v++) {
        free(gradient.of[v]);
        free(work.moved.of[v]);
    }
    end(&work);
    return status;
}
