// SPDX-License-Identifier: Apache-2.0
// All frames of a scene that a test writes.
#ifndef VPD_TESTS_LAB_MOVIE_H
#define VPD_TESTS_LAB_MOVIE_H

#include "base/vector.h"
#include "lab/fit_free.h"
#include "lab/gradcheck.h"
#include "lab/scene.h"
#include "sim/backend.h"
#include "tests/test.h"

typedef struct Movie {
    SimScene scene;
    size_t frames, row;          // numbers of a frame
    double *position, *velocity; // (frames,N,3)
} Movie;

// Files that the text names lie in tests/fuzz/corpus.
static inline SimScene movie_parse(const char *text) {
    SimScene scene;
    Error err;
    assert_status_ok(scene_parse(text, strlen(text), "s.yaml", "tests/fuzz/corpus", &scene, &err), err);
    return scene;
}

// Of m->scene. Its time step has to be below the stable bound.
static inline void movie_run(Movie *m, const char *isa) {
    Error err;
    Sim *sim;
    SimRun run = scene_run(&m->scene);
    SimOptions options = scene_options(&m->scene);
    options.threads = 1, options.isa = isa;
    m->frames = sim_frames(&run);
    m->row = 3 * m->scene.model.particles;
    m->position = malloc(m->frames * m->row * sizeof(double));
    m->velocity = malloc(m->frames * m->row * sizeof(double));
    assert_true(m->position && m->velocity);
    SimArrays arrays = {m->row, m->position, m->velocity};
    run.keep = sim_keep_arrays, run.context = &arrays;
    assert_true(m->scene.model.dt < sim_stable_step(&m->scene.model, &m->scene.values));
    assert_status_ok(sim_open(&m->scene.model, &options, &sim, &err), err);
    assert_status_ok(sim_set(sim, &m->scene.values, &err), err);
    assert_status_ok(sim_rollout(sim, &run, &err), err);
    sim_close(sim);
}

static inline void movie_play(Movie *m, const char *text) {
    m->scene = movie_parse(text);
    movie_run(m, NULL);
}

// Between two half planes through p[2] and p[3], by the components of p[0] and p[1] across that line.
static inline double movie_hinge_angle(const double *x, const int32_t p[4]) {
    double h[3], arm[2][3], across[3];
    vector_between(x, p[2], p[3], h);
    const double length = sqrt(vector_dot(h, h));
    for (int k = 0; k < 2; k++) {
        vector_between(x, p[2], p[k], arm[k]);
        const double along = vector_dot(arm[k], h) / (length * length);
        for (int c = 0; c < 3; c++) arm[k][c] = (k ? -1 : 1) * (arm[k][c] - along * h[c]);
    }
    vector_cross(arm[1], arm[0], across);
    return atan2(vector_dot(across, h) / length, vector_dot(arm[0], arm[1]));
}

// Of p[0] from p[1] along the way from p[2] to p[3].
static inline double movie_slide_position(const double *x, const int32_t p[4]) {
    double r[3], h[3];
    vector_between(x, p[1], p[0], r);
    vector_between(x, p[2], p[3], h);
    return vector_dot(r, h) / sqrt(vector_dot(h, h));
}

// Between the axes of a socket's two frames.
static inline double movie_swing(const double *x, const int32_t p[6]) {
    double a[3], b[3], across[3];
    vector_between(x, p[0], p[1], a);
    vector_between(x, p[3], p[4], b);
    vector_cross(a, b, across);
    return atan2(sqrt(vector_dot(across, across)), vector_dot(a, b));
}

// By how much the frames are turned against each other, of arms with right angles: twice the angle of a quaternion
// whose square of the real part is (1 + trace)/4.
static inline double movie_socket_angle(const double *x, const int32_t p[6]) {
    double u[2][3], v[2][3], n[2][3], trace = 0;
    for (int k = 0; k < 2; k++) {
        vector_between(x, p[3 * k], p[3 * k + 1], u[k]);
        vector_between(x, p[3 * k], p[3 * k + 2], v[k]);
        vector_cross(u[k], v[k], n[k]);
    }
    trace += vector_dot(u[0], u[1]) / sqrt(vector_dot(u[0], u[0]) * vector_dot(u[1], u[1]));
    trace += vector_dot(v[0], v[1]) / sqrt(vector_dot(v[0], v[0]) * vector_dot(v[1], v[1]));
    trace += vector_dot(n[0], n[1]) / sqrt(vector_dot(n[0], n[0]) * vector_dot(n[1], n[1]));
    return 2 * acos(fmin(sqrt(fmax(1 + trace, 0)) / 2, 1));
}

// In joules: of motion, of gravity, of springs, hinges, slides and sockets, in a scene of rigid objects.
static inline double movie_energy(const Movie *m, size_t frame) {
    const SimScene *s = &m->scene;
    const double *x = m->position + frame * m->row, *v = m->velocity + frame * m->row;
    double out = 0;
    for (size_t i = 0; i < s->model.particles; i++) {
        const double mass = s->values.of[SIM_MASS][i];
        for (size_t c = 0; c < 3 && !s->model.fixed[i]; c++) out -= mass * s->values.of[SIM_GRAVITY][c] * x[3 * i + c];
    }
    for (size_t r = 0; r < s->model.rigids; r++) { // m V^2/2 + sum share m u^2/2, u from the centre
        double mass = 0, velocity[3] = {0};
        for (size_t i = 0; i < s->model.particles; i++)
            for (size_t c = 0; c < 3 && s->model.rigid[i] == (int32_t)r; c++) {
                velocity[c] += s->values.of[SIM_MASS][i] * v[3 * i + c];
                mass += s->values.of[SIM_MASS][i] / 3;
            }
        out += vector_dot(velocity, velocity) / (2 * mass);
        for (size_t i = 0; i < s->model.particles; i++)
            for (size_t c = 0; c < 3 && s->model.rigid[i] == (int32_t)r; c++) {
                const double u = v[3 * i + c] - velocity[c] / mass;
                out += s->model.inertia[i] * s->values.of[SIM_MASS][i] * u * u / 2;
            }
    }
    for (size_t e = 0; e < s->model.springs; e++) {
        double d[3];
        vector_between(x, s->model.spring[2 * e], s->model.spring[2 * e + 1], d);
        const double longer = sqrt(vector_dot(d, d)) - s->values.of[SIM_SPRING_LENGTH][e];
        out += s->values.of[SIM_SPRING_KE][e] * longer * longer / 2;
    }
    for (size_t e = 0; e < s->model.hinges; e++) {
        const int32_t *p = s->model.hinge + 4 * e;
        const double bend = remainder(movie_hinge_angle(x, p) - s->values.of[SIM_HINGE_ANGLE][e], 2 * M_PI);
        double d[3];
        vector_between(s->values.of[SIM_REST], p[2], p[3], d);
        out += sqrt(vector_dot(d, d)) * s->values.of[SIM_HINGE_KE][e] * bend * bend / 2;
        if (!s->values.of[SIM_STOP_KE]) continue;
        const double low = s->values.of[SIM_HINGE_LOW][e], high = s->values.of[SIM_HINGE_HIGH][e];
        const double from = remainder(movie_hinge_angle(x, p) - (low + high) / 2, 2 * M_PI);
        const double over = fmax(fabs(from) - (high - low) / 2, 0);
        out += s->values.of[SIM_STOP_KE][e] * over * over / 2;
    }
    for (size_t e = 0; e < s->model.slides; e++) {
        double *const *of = s->values.of;
        const double way = movie_slide_position(x, s->model.slide + 4 * e), off = way - of[SIM_SLIDE_POSITION][e];
        const double over = fmax(fmax(way - of[SIM_SLIDE_HIGH][e], of[SIM_SLIDE_LOW][e] - way), 0);
        out += (of[SIM_SLIDE_KE][e] * off * off + of[SIM_SLIDE_STOP_KE][e] * over * over) / 2;
    }
    for (size_t e = 0; e < s->model.sockets; e++) {
        double *const *of = s->values.of;
        const double angle = movie_socket_angle(x, s->model.socket + 6 * e);
        const double over = fmax(movie_swing(x, s->model.socket + 6 * e) - of[SIM_SOCKET_HIGH][e], 0);
        out += (of[SIM_SOCKET_KE][e] * angle * angle + of[SIM_SOCKET_STOP_KE][e] * over * over) / 2;
    }
    return out;
}

// Wrong: what is said has `words`.
static inline void movie_refused(const char *text, const char *words) {
    SimScene scene;
    Error err;
    assert_status_error(scene_parse(text, strlen(text), "s.yaml", "tests/fuzz/corpus", &scene, &err), STATUS_BAD_INPUT,
                        err, words);
}

// All gradients of the scene agree with differences, and those of `acting` and the values behind it are not 0.
static inline void movie_check_acting(const SimScene *scene, SimValue acting) {
    Gradcheck out;
    Error err;
    assert_status_ok(gradcheck_run(scene, &(SimOptions){.threads = 1}, &out, &err), err);
    for (size_t i = 0; i < out.rows; i++)
        if (out.row[i].verdict != GRADCHECK_RIGHT || (out.row[i].value >= acting && out.row[i].adjoint == 0))
            fail_msg("%s: %g, error %g", sim_value_info[out.row[i].value].name, out.row[i].adjoint, out.row[i].error);
}

static inline void movie_check_scene(const SimScene *scene) { movie_check_acting(scene, SIM_VALUES); }

static inline void movie_check_gradients(const char *text) {
    SimScene scene = movie_parse(text);
    movie_check_scene(&scene);
    scene_free(&scene);
}

// Fits may change these numbers of the scene.
static inline void movie_check_names(const char *text, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        FitFree f;
        Error err;
        assert_status_ok(fit_free_parse(text, strlen(text), "s.yaml", names + i, 1, &f, &err), err);
        fit_free_close(&f);
    }
}

// The largest speed after 3,000 steps, each `part` of the stable bound; INFINITY: it explodes.
static inline double movie_speed_at(const char *objects, double part) {
    char text[4096];
    Error err;
    Sim *sim;
    double out = 0;
    snprintf(text, sizeof text, "frames: 1\nfps: 1\nsubsteps: 1000\nprecision: f64\ngravity: [0, 0, 0]\nobjects:\n%s",
             objects);
    SimScene scene = movie_parse(text);
    const size_t row = 3 * scene.model.particles;
    double *kept = calloc(4 * row, sizeof *kept);
    SimArrays arrays = {row, kept, kept + 2 * row};
    scene.model.dt = part * sim_stable_step(&scene.model, &scene.values);
    SimRun run = scene_run(&scene);
    run.steps = run.every = 3000, run.keep = sim_keep_arrays, run.context = &arrays;
    assert_non_null(kept);
    assert_status_ok(sim_open(&scene.model, &(SimOptions){.precision = SIM_F64}, &sim, &err), err);
    assert_status_ok(sim_set(sim, &scene.values, &err), err);
    if (sim_rollout(sim, &run, &err) != STATUS_OK) out = INFINITY;
    for (size_t i = 0; i < row; i++) out = fmax(out, fabs(kept[3 * row + i]));
    sim_close(sim);
    free(kept);
    scene_free(&scene);
    return out;
}

// The stable bound is right to 3 %: what begins with 2 mm/s is quiet below it, and explodes above.
static inline void movie_check_stable(const char *objects) {
    const double below = movie_speed_at(objects, 0.97), above = movie_speed_at(objects, 1.03);
    print_message("%g m/s below, %g above\n", below, above);
    assert_true(below < 0.02);
    assert_true(above > 1);
}

static inline void movie_end(Movie *m) {
    scene_free(&m->scene);
    free(m->position);
    free(m->velocity);
}

// All instruction sets and both precisions take the same way.
static inline void movie_check_isas(const char *text) {
    static const char *const isas[] = {"base", "avx2", "avx512"};
    Movie exact;
    exact.scene = movie_parse(text);
    exact.scene.precision = SIM_F64;
    movie_run(&exact, "base");
    for (int i = 0; i < 6; i++) {
        Movie m;
        double apart = 0;
        if (!sim_backend_find(isas[i % 3], i < 3)) continue; // not of this processor
        m.scene = movie_parse(text);
        m.scene.precision = i < 3 ? SIM_F64 : SIM_F32;
        movie_run(&m, isas[i % 3]);
        for (size_t k = 0; k < m.frames * m.row; k++) apart = fmax(apart, fabs(m.position[k] - exact.position[k]));
        print_message("%s, f%d: %.2g m apart\n", isas[i % 3], i < 3 ? 64 : 32, apart);
        assert_true(apart < (i < 3 ? 1e-11 : 1e-4));
        movie_end(&m);
    }
    movie_end(&exact);
}

#endif
