// SPDX-License-Identifier: Apache-2.0
// A rollout of a scene of bench/sim_scenes.h with its frames, and laws that it keeps.
#ifndef VPD_TESTS_SIM_RUN_H
#define VPD_TESTS_SIM_RUN_H

#include "bench/sim_scenes.h"
#include "tests/test.h"

typedef struct Run {
    Sim *sim;
    SimRun run;
    SimArrays frames;
} Run;

// Steps a scene from its values; frames are kept after every step of `every`.
static inline void run_scene(const SimScene *s, SimOptions options, size_t steps, size_t every, bool gradient, Run *r) {
    const size_t row = 3 * s->model.scenes * s->model.particles;
    Error err;
    *r = (Run){.run = {.steps = steps,
                       .every = every,
                       .position = s->values.of[SIM_POSITION],
                       .velocity = s->values.of[SIM_VELOCITY],
                       .gradient = gradient,
                       .keep = sim_keep_arrays}};
    r->frames = (SimArrays){.row = row,
                            .position = malloc(sim_frames(&r->run) * row * sizeof(double)),
                            .velocity = malloc(sim_frames(&r->run) * row * sizeof(double))};
    assert_true(r->frames.position && r->frames.velocity);
    r->run.context = &r->frames;
    assert_status_ok(sim_open(&s->model, &options, &r->sim, &err), err);
    assert_status_ok(sim_set(r->sim, &s->values, &err), err);
    assert_status_ok(sim_rollout(r->sim, &r->run, &err), err);
}

static inline void end_run(Run *r) {
    sim_close(r->sim);
    free(r->frames.position);
    free(r->frames.velocity);
}

// Momentum, and angular momentum about the origin, of one frame.
static inline void momenta(const SimScene *s, const Run *r, size_t frame, double out[6]) {
    memset(out, 0, 6 * sizeof *out);
    for (size_t i = 0; i < s->model.particles; i++) {
        const double *x = r->frames.position + frame * r->frames.row + 3 * i,
                     *v = r->frames.velocity + frame * r->frames.row + 3 * i, m = s->values.of[SIM_MASS][i];
        for (size_t c = 0; c < 3; c++) {
            const size_t a = (c + 1) % 3, b = (c + 2) % 3;
            out[c] += m * v[c];
            out[3 + c] += m * (x[a] * v[b] - x[b] * v[a]);
        }
    }
}

// The largest change of a component of momentum, and of angular momentum, from frame 0 to another.
static inline void momenta_lost(const SimScene *s, const Run *r, size_t frame, double out[2]) {
    double before[6], after[6];
    momenta(s, r, 0, before);
    momenta(s, r, frame, after);
    out[0] = out[1] = 0;
    for (size_t c = 0; c < 6; c++) out[c / 3] = fmax(out[c / 3], fabs(after[c] - before[c]));
}

// Kinetic energy and energy of the tets (stable neo-Hookean), from the definition.
static inline double energy(const SimScene *s, const Run *r, size_t frame) {
    const double *x = r->frames.position + frame * r->frames.row, *v = r->frames.velocity + frame * r->frames.row,
                 *rest = s->values.of[SIM_REST];
    double sum = 0;
    for (size_t i = 0; i < 3 * s->model.particles; i++) sum += s->values.of[SIM_MASS][i / 3] * v[i] * v[i] / 2;
    for (size_t t = 0; t < s->model.tets; t++) {
        const int32_t *tet = s->tet + 4 * t;
        double D[2][3][3], inverse[3][3], F[3][3] = {{0}}, det[2], square = 0;
        for (int k = 0; k < 2; k++) {
            const double *p = k ? x : rest;
            for (size_t j = 0; j < 3; j++)
                for (size_t c = 0; c < 3; c++) D[k][c][j] = p[3 * tet[j + 1] + (int)c] - p[3 * tet[0] + (int)c];
            double(*d)[3] = D[k];
            det[k] = d[0][0] * (d[1][1] * d[2][2] - d[1][2] * d[2][1]) -
                     d[0][1] * (d[1][0] * d[2][2] - d[1][2] * d[2][0]) +
                     d[0][2] * (d[1][0] * d[2][1] - d[1][1] * d[2][0]);
        }
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3; j++) {
                const size_t a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
                inverse[i][j] = (D[0][a][c] * D[0][b][d] - D[0][a][d] * D[0][b][c]) / det[0];
            }
        for (size_t i = 0; i < 3; i++)
            for (size_t j = 0; j < 3; j++) {
                for (size_t k = 0; k < 3; k++) F[i][j] += D[1][i][k] * inverse[k][j];
                square += F[i][j] * F[i][j];
            }
        const double mu = s->values.of[SIM_TET_MU][t], lambda = s->values.of[SIM_TET_LAMBDA][t],
                     off = det[1] / det[0] - 1 - 3 * mu / (4 * lambda);
        sum += det[0] / 6 * (mu / 2 * (square - 3) + lambda / 2 * off * off - mu / 2 * log(square + 1));
    }
    return sum;
}

// ---- what changes no bits

static inline void run_with(const SimScene *scene, SimOptions options, Run *r, SimValues *gradient) {
    enum { STEPS = 150 };
    Error err;
    run_scene(scene, options, STEPS, 50, true, r);
    const size_t all = sim_frames(&r->run) * r->frames.row;
    double *ones = malloc(all * sizeof *ones);
    assert_non_null(ones);
    for (size_t i = 0; i < all; i++) ones[i] = 1 + (double)(i % 7);
    for (SimValue v = 0; v < SIM_VALUES; v++)
        gradient->of[v] = calloc(sim_value_count(&scene->model, 0, v) + 1, sizeof(double));
    assert_status_ok(sim_adjoint(r->sim, &r->run, &(SimLoss){ones, ones}, gradient, NULL, &err), err);
    free(ones);
}

static inline void assert_same_bits(const SimScene *scene, SimOptions one, SimOptions other) {
    Run r[2];
    SimValues g[2];
    run_with(scene, one, &r[0], &g[0]);
    run_with(scene, other, &r[1], &g[1]);
    const size_t all = sim_frames(&r[0].run) * r[0].frames.row;
    assert_memory_equal(r[0].frames.position, r[1].frames.position, all * sizeof(double));
    assert_memory_equal(r[0].frames.velocity, r[1].frames.velocity, all * sizeof(double));
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        const size_t count = sim_value_count(&scene->model, 0, v);
        if (count && memcmp(g[0].of[v], g[1].of[v], count * sizeof(double)) != 0)
            fail_msg("%s: bits of the gradient differ with %d threads, %g MiB", sim_value_info[v].name, other.threads,
                     other.memory_mib);
        free(g[0].of[v]);
        free(g[1].of[v]);
    }
    end_run(&r[0]);
    end_run(&r[1]);
}

#endif
