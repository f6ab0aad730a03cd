// SPDX-License-Identifier: Apache-2.0
// Gradients of the simulator against central differences, for scenes of bench/sim_scenes.h.
#ifndef VPD_TESTS_SIM_CHECK_H
#define VPD_TESTS_SIM_CHECK_H

#include "base/random.h"
#include "bench/sim_scenes.h"
#include "tests/test.h"

enum { CHECK_FRAMES_MAX = 64 };

typedef struct SimCheck {
    SimScene *scene;
    SimRun run; // steps, every, control_every
    SimOptions options;
    SimValues values; // copies of the scene's, and controls; differences change them
    SimValues gradient;
    double *weights, *aim; // of the loss, (frames,B,N,3) twice: positions, velocities
    double *frames;        // the same shape
    double *dloss;
    double growth;
} SimCheck;

static inline double sim_check_uniform(size_t stream, size_t i) { // in -1 .. 1
    return 2 * (double)random_uniform((RandomKey){.seed = 10, .purpose = RANDOM_TEST, .step = (uint32_t)stream}, i) - 1;
}

static inline size_t sim_check_row(const SimCheck *c) { return 3 * c->scene->model.scenes * c->scene->model.particles; }
static inline size_t sim_check_count(const SimCheck *c, SimValue v) {
    if (sim_value_is_stop(v) && !c->scene->values.of[v]) return 0;
    return sim_value_count(&c->scene->model, sim_controls(&c->run), v);
}

static inline void sim_check_begin(SimCheck *c) {
    const size_t all = 2 * sim_frames(&c->run) * sim_check_row(c);
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        const size_t count = sim_check_count(c, v);
        if (sim_value_is_stop(v) && !count) continue; // no hinge has limits
        c->values.of[v] = calloc(count + 1, sizeof(double));
        c->gradient.of[v] = calloc(count + 1, sizeof(double));
        assert_true(c->values.of[v] && c->gradient.of[v]);
        if (!sim_value_is_control(v)) memcpy(c->values.of[v], c->scene->values.of[v], count * sizeof(double));
    }
    c->weights = calloc(all, sizeof(double));
    c->aim = calloc(all, sizeof(double));
    c->frames = calloc(all, sizeof(double));
    c->dloss = calloc(all, sizeof(double));
    assert_true(c->weights && c->aim && c->frames && c->dloss);
    for (size_t i = 0; i < all; i++) c->weights[i] = sim_check_uniform(900, i), c->aim[i] = sim_check_uniform(901, i);
}

static inline void sim_check_end(SimCheck *c) {
    for (SimValue v = 0; v < SIM_VALUES; v++) free(c->values.of[v]), free(c->gradient.of[v]);
    free(c->weights), free(c->aim), free(c->frames), free(c->dloss);
}

// Changes each number of a value at random: by `relative` of itself and `absolute`.
static inline void sim_check_shake(SimCheck *c, SimValue v, double relative, double absolute) {
    for (size_t i = 0; i < sim_check_count(c, v); i++) {
        double *x = &c->values.of[v][i];
        *x += (relative * *x + absolute) * sim_check_uniform(v, i);
    }
}

// Runs the scene; the loss is sum w (x + (x - aim)^2 / 2) over positions and velocities of all frames.
static inline double sim_check_loss(SimCheck *c, Sim *sim, bool gradient) {
    const size_t half = sim_frames(&c->run) * sim_check_row(c);
    SimArrays arrays = {.row = sim_check_row(c), .position = c->frames, .velocity = c->frames + half};
    Error err;
    double loss = 0;
    c->run.position = c->values.of[SIM_POSITION];
    c->run.velocity = c->values.of[SIM_VELOCITY];
    c->run.force = c->run.control_every ? c->values.of[SIM_FORCE] : NULL;
    c->run.activation = c->run.control_every ? c->values.of[SIM_ACTIVATION] : NULL;
    c->run.torque = c->run.control_every ? c->values.of[SIM_TORQUE] : NULL;
    c->run.thrust = c->run.control_every ? c->values.of[SIM_THRUST] : NULL;
    c->run.drive = c->run.control_every ? c->values.of[SIM_DRIVE] : NULL;
    c->run.gradient = gradient;
    c->run.keep = sim_keep_arrays;
    c->run.context = &arrays;
    assert_status_ok(sim_set(sim, &c->values, &err), err);
    assert_status_ok(sim_rollout(sim, &c->run, &err), err);
    for (size_t i = 0; i < 2 * half; i++) {
        const double x = c->frames[i], off = x - c->aim[i];
        loss += c->weights[i] * (x + off * off / 2);
        c->dloss[i] = c->weights[i] * (1 + off);
    }
    if (gradient)
        assert_status_ok(
            sim_adjoint(sim, &c->run, &(SimLoss){c->dloss, c->dloss + half}, &c->gradient, &c->growth, &err), err);
    return loss;
}

static inline Sim *sim_check_open(const SimCheck *c) {
    Sim *sim;
    Error err;
    assert_status_ok(sim_open(&c->scene->model, &c->options, &sim, &err), err);
    return sim;
}

// A step for differences of a value, from its size.
static inline double sim_check_scale(const SimCheck *c, SimValue v) {
    double most = 0;
    for (size_t i = 0; i < sim_check_count(c, v); i++) most = fmax(most, fabs(c->values.of[v][i]));
    if (v == SIM_POSITION || v == SIM_REST || v == SIM_SPRING_LENGTH) return 0.1;
    return most > 0 ? most : v == SIM_TORQUE ? 0.01 : 1;
}

// Derivative along a random direction of one value: by the adjoint, and by differences extrapolated from `step` and
// step/2.
static inline void sim_check_direction(SimCheck *c, Sim *sim64, SimValue v, size_t draw, double step, double out[2]) {
    const size_t count = sim_check_count(c, v), stream = 100 + 50 * draw + v;
    const double h = step * sim_check_scale(c, v);
    double slope[2];
    out[0] = 0;
    for (size_t i = 0; i < count; i++) out[0] += c->gradient.of[v][i] * sim_check_uniform(stream, i);
    for (int k = 0; k < 2; k++) {
        const double size = k ? h / 2 : h;
        double loss[2];
        for (int side = 0; side < 2; side++) {
            const double by = side ? -size : size;
            for (size_t i = 0; i < count; i++) c->values.of[v][i] += by * sim_check_uniform(stream, i);
            loss[side] = sim_check_loss(c, sim64, false);
            for (size_t i = 0; i < count; i++) c->values.of[v][i] -= by * sim_check_uniform(stream, i);
        }
        slope[k] = (loss[0] - loss[1]) / (2 * size);
    }
    out[1] = (4 * slope[1] - slope[0]) / 3;
}

// How far the adjoint of value v is from differences, relative to the derivative; NAN when there is none.
static inline double sim_check_error(SimCheck *c, Sim *sim64, SimValue v, size_t draw, double step) {
    double got[2];
    sim_check_direction(c, sim64, v, draw, step, got);
    return fabs(got[0] - got[1]) / (fabs(got[1]) + 1e-30);
}

// Best of six step sizes: large ones pass over touches of the ground, where the derivative jumps; small ones round.
static inline double sim_check_best(SimCheck *c, Sim *sim, SimValue v, size_t draw, double *derivative) {
    double best = INFINITY;
    for (double step = 1e-2; step > 5e-8; step /= 10) {
        double got[2];
        sim_check_direction(c, sim, v, draw, step, got);
        best = fmin(best, fabs(got[0] - got[1]));
        *derivative = got[0];
    }
    return best;
}

// Two random directions of each value, relative to the larger of both derivatives: across the gradient one is next to
// 0, but not what rounding does to it. A value that a scene does not touch has derivative 0 on both sides.
static inline void sim_check_compare(SimCheck *c, Sim *sim, double allowed, const char *name) {
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        double derivative[2] = {0}, error[2] = {0};
        for (size_t draw = 0; draw < 2 && sim_check_count(c, v) > 0; draw++)
            error[draw] = sim_check_best(c, sim, v, draw, &derivative[draw]);
        const double most = fmax(fabs(derivative[0]), fabs(derivative[1]));
        for (int draw = 0; draw < 2; draw++)
            if (!(error[draw] <= allowed * most + 1e-12))
                fail_msg("%s: %s: the adjoint %.12g is %.3g from differences", name, sim_value_info[v].name,
                         derivative[draw], error[draw]);
    }
}

// The gradient in `precision` is compared with differences in double. `single`: how far f32 may be off.
static inline void sim_check_gradient(SimCheck *c, SimPrecision precision, double single, const char *name) {
    c->options = (SimOptions){.precision = SIM_F64, .threads = 1};
    Sim *exact = sim_check_open(c);
    c->options.precision = precision;
    Sim *sim = sim_check_open(c);
    sim_check_loss(c, sim, true);
    sim_check_compare(c, exact, precision == SIM_F64 ? 1e-6 : single, name);
    sim_close(sim);
    sim_close(exact);
}

#endif
