// SPDX-License-Identifier: Apache-2.0
#include "bench/sim_cases.h"

#include "base/random.h"
#include "base/vector.h"
#include "bench/case_error.h"

#include <math.h>
#include <string.h>

// ---- scenes

static double random_number(uint32_t stream, size_t i) { // in -1 .. 1
    return 2 * (double)random_uniform((RandomKey){.seed = 7, .purpose = RANDOM_TEST, .step = stream}, i) - 1;
}

// Adds random numbers up to `size` to each entry.
static void shake(SimScene *s, SimValue value, double size) {
    for (size_t i = 0; i < sim_value_count(&s->model, 0, value); i++)
        s->values.of[value][i] += size * random_number((uint32_t)value, i);
}

static void shake_state(SimScene *s, double position, double velocity) {
    shake(s, SIM_POSITION, position);
    shake(s, SIM_VELOCITY, velocity);
}

static Status springs(SimScene *s, Error *err) {
    Status status = sim_scene_net(s, 7, err);
    if (status == STATUS_OK) shake_state(s, 0.03, 1);
    return status;
}

static Status tets(SimScene *s, Error *err) {
    static const size_t cells[3] = {3, 1, 2};
    Status status = sim_scene_beam(s, cells, false, err);
    if (status == STATUS_OK) shake_state(s, 0.01, 1), shake(s, SIM_TET_ACT, 0.05);
    return status;
}

static Status published_tets(SimScene *s, Error *err) {
    Status status = tets(s, err);
    s->model.damping = SIM_DAMPING_VELOCITY;
    return status;
}

// Stiff in bending alone, in the air.
static Status hinges(SimScene *s, Error *err) {
    Status status = sim_scene_cloth(s, 5, err);
    if (status != STATUS_OK) return status;
    sim_scene_fill(s, SIM_SPRING_KE, 0), sim_scene_fill(s, SIM_SPRING_KD, 0);
    s->plane[0].offset = -1;
    shake_state(s, 0.02, 0.5);
    return status;
}

// The same with limits, which some have passed, and friction.
static Status stops(SimScene *s, Error *err) {
    static const double middle[] = {-0.2, 0.2, 2, 1e-3, 1e-3, 1e-3}, around[] = {0.1, 0.1, 1, 5e-4, 8e-4, 8e-4};
    Status status = hinges(s, err);
    if (status == STATUS_OK) status = sim_scene_add_stops(s, middle, err);
    for (SimValue v = SIM_HINGE_LOW; v <= SIM_HINGE_KF && status == STATUS_OK; v++)
        shake(s, v, around[v - SIM_HINGE_LOW]);
    return status;
}

// A lattice of 4 x 4 particles a layer.
static void place_lattice(SimScene *s) {
    for (size_t i = 0; i < s->model.scenes * s->model.particles; i++) {
        const size_t at[] = {i % 4, i / 4 % 4, i / 16};
        for (size_t c = 0; c < 3; c++) s->values.of[SIM_POSITION][3 * i + c] = 0.1 * (double)at[c];
    }
    sim_scene_fill(s, SIM_MASS, 0.01);
    shake_state(s, 0.02, 0.5);
}

// Between the particles of two lattices; some have passed their limits.
static Status slides(SimScene *s, Error *err) {
    static const double middle[] = {20, 0.05, 0, -0.05, 0.05, 30, 0.1, 0.05, 0.1},
                        around[] = {10, 0.03, 0.05, 0.03, 0.03, 15, 0.08, 0.04, 0.05};
    const SimModel counts = {.scenes = 2, .particles = 40, .slides = 70, .dt = 1e-4};
    Status status = sim_scene_allocate(s, &counts, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < 4 * counts.slides; i++) {
        static const size_t corner[] = {0, 7, 13, 22};
        s->slide[i] = (int32_t)((i / 4 + corner[i % 4]) % counts.particles);
    }
    place_lattice(s);
    for (SimValue v = SIM_SLIDE_KE; v <= SIM_SLIDE_KF; v++) {
        sim_scene_fill(s, v, middle[v - SIM_SLIDE_KE]);
        shake(s, v, around[v - SIM_SLIDE_KE]);
    }
    return STATUS_OK;
}

// Of two lattices too: frames that are turned against each other by any angle. Some have passed their limits, and
// friction holds some; more than a chunk of them.
static Status sockets(SimScene *s, Error *err) {
    static const double middle[] = {2e-3, 1e-4, 1.2, 3e-3, 1e-3, 2e-3, 4e-4},
                        around[] = {1e-3, 5e-5, 0.8, 2e-3, 9e-4, 1.9e-3, 3e-4};
    const SimModel counts = {.scenes = 2, .particles = 40, .sockets = 70, .dt = 1e-4};
    Status status = sim_scene_allocate(s, &counts, err);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < 6 * counts.sockets; i++) {
        static const size_t corner[] = {0, 1, 4, 21, 37, 22}, other[] = {0, 17, 5, 6, 3, 11};
        const size_t *of = i / 6 % 2 ? corner : other;
        s->socket[i] = (int32_t)((i / 6 + of[i % 6]) % counts.particles);
    }
    place_lattice(s);
    for (SimValue v = SIM_SOCKET_KE; v <= SIM_SOCKET_KF; v++) {
        sim_scene_fill(s, v, middle[v - SIM_SOCKET_KE]);
        shake(s, v, around[v - SIM_SOCKET_KE]);
    }
    return STATUS_OK;
}

// Particles in and above a plane that is not level; `speed` along it decides whether they slide.
static Status contact(SimScene *s, double speed, Error *err) {
    const SimModel counts = {.scenes = 1, .particles = 40, .planes = 2, .materials = 2, .dt = 1e-4};
    Status status = sim_scene_allocate(s, &counts, err);
    if (status != STATUS_OK) return status;
    static const double values[2][4] = {{500, 0.3, 2, 0.4}, {800, 0.1, 3, 0.6}};
    for (size_t m = 0; m < 2; m++) {
        s->contact[m] = (SimMaterial){.margin = 0.001, .fade = 0.002};
        for (size_t v = 0; v < 4; v++) s->values.of[SIM_CONTACT_KE + v][m] = values[m][v];
    }
    s->plane[0] = (SimPlane){.normal = {0.1, 1, 0.2}};
    s->plane[1] = (SimPlane){.normal = {1, 0.3, 0}, .offset = -0.01, .material = 1};
    sim_scene_fill(s, SIM_MASS, 0.01);
    s->values.of[SIM_GRAVITY][1] = -9.81;
    shake_state(s, 0.01, speed);
    return status;
}

static Status sliding(SimScene *s, Error *err) { return contact(s, 5, err); }
static Status holding(SimScene *s, Error *err) { return contact(s, 0.01, err); }

static Status sliding_beam(SimScene *s, Error *err) {
    static const size_t cells[3] = {6, 4, 3}; // two chunks
    Status status = sim_scene_beam(s, cells, true, err);
    for (size_t i = 0; i < s->model.particles && status == STATUS_OK; i++) s->values.of[SIM_VELOCITY][3 * i] = 1;
    return status;
}

static Status falling_cloth(SimScene *s, Error *err) {
    Status status = sim_scene_cloth(s, 11, err); // springs and hinges in several chunks
    if (status == STATUS_OK) s->contact[0].fade = 0.001, shake_state(s, 0.001, 0.05);
    return status;
}

static Status batch(SimScene *s, Error *err) {
    SimScene one;
    Status status = tets(&one, err);
    if (status == STATUS_OK) status = sim_scene_repeat(&one, 5, s, err);
    if (status == STATUS_OK) shake_state(s, 0.002, 0.5);
    sim_scene_free(&one);
    return status;
}

// Two solids on a cloth, one above the other, and one beneath it, at whose faces, edges and corners particles touch.
static Status meeting(SimScene *s, Error *err) {
    static const SimSceneBody bodies[] = {{.cells = {5, 0, 6}, .at = {0.12, -0.004, 0.16}},
                                          {.cells = {2, 1, 2}, .at = {0.1, 0.05, 0.1}, .material = 1},
                                          {.cells = {1, 1, 1}, .at = {0.05, 0.156, 0.05}, .material = 2},
                                          {.cells = {1, 1, 2}, .at = {0.1, -0.06, 0.13}, .material = 3}};
    SimScene one;
    Status status = sim_scene_bodies(&one, bodies, 4, 0.006, err);
    for (size_t m = 0; m < 4 && status == STATUS_OK; m++) one.contact[m].margin += 0.001 * (double)m;
    if (status == STATUS_OK) status = sim_scene_repeat(&one, 2, s, err);
    if (status == STATUS_OK) shake_state(s, 0.002, 0.3);
    for (SimValue v = SIM_CONTACT_KE; v <= SIM_CONTACT_MU && status == STATUS_OK; v++)
        shake(s, v, 0.3 * s->values.of[v][0]);
    sim_scene_free(&one);
    return status;
}

// A cloth that is folded, so that it touches itself.
static Status folded_cloth(SimScene *s, Error *err) {
    static const SimSceneBody cloth = {.cells = {7, 0, 4}, .at = {0.35, 0, 0.2}};
    Status status = sim_scene_bodies(s, &cloth, 1, 0.005, err);
    for (size_t i = 0; i < s->model.particles && status == STATUS_OK; i++) {
        double *at = s->values.of[SIM_POSITION] + 3 * i;
        if (at[0] > 0.37) at[0] = 0.74 - at[0], at[1] = 0.004;
    }
    if (status == STATUS_OK) shake_state(s, 0.001, 0.2);
    return status;
}

// Springs between particles of a scene that has none.
static Status tie(SimScene *s, size_t count, const int32_t (*end)[2], Error *err) {
    double *value[3];
    bool ok = true;
    s->model.spring = s->spring = arena_array(&s->memory, 2 * count, sizeof *s->spring);
    for (int v = 0; v < 3; v++) {
        value[v] = s->values.of[SIM_SPRING_LENGTH + v] = arena_array(&s->memory, count, sizeof(double));
        ok = ok && value[v];
    }
    if (!s->spring || !ok) return error_set(err, STATUS_FAILED, "out of memory for %zu springs", count);
    s->model.springs = count;
    for (size_t i = 0; i < count; i++) {
        double d[3];
        for (int j = 0; j < 2; j++) s->spring[2 * i + (size_t)j] = end[i][j];
        vector_between(s->values.of[SIM_POSITION], end[i][0], end[i][1], d);
        value[0][i] = sqrt(vector_dot(d, d)), value[1][i] = 2000, value[2][i] = 2;
    }
    return STATUS_OK;
}

// Rigid bodies of 12, 45 and 343 particles, and a soft one, that meet on the ground; springs hold them to each other.
static Status rigid_meeting(SimScene *s, Error *err) {
    static const SimSceneBody bodies[] = {
        {.cells = {1, 2, 1}, .at = {0, 0.1, 0}, .velocity = {1, 0.3, 0}, .spin = {1, 2, 0.5}, .rigid = true},
        {.cells = {4, 2, 2},
         .cell = {0.05, 0.05, 0.05},
         .at = {0.16, 0.074, 0.02},
         .turn = {0.1, 0.3, 0.2},
         .velocity = {-1, 0, 0.2},
         .spin = {0, -2, 1},
         .material = 1,
         .rigid = true},
        {.cells = {1, 1, 1}, .at = {-0.02, 0.262, 0.01}, .turn = {0.1, 0.3, 0.2}, .velocity = {0, -1, 0}, .mass = 0.05},
        {.cells = {6, 6, 6}, .cell = {0.03, 0.03, 0.03}, .at = {0.02, 0.09, -0.137}, .rigid = true}};
    static const int32_t ties[][2] = {{3, 12 + 7}, {11, 57 + 2}, {12 + 20, 65 + 100}, {12 + 20, 65 + 200}};
    static SimPlane ground = {.normal = {0, 1, 0}, .offset = 0.001};
    SimScene one;
    Status status = sim_scene_bodies(&one, bodies, 4, 0.004, err);
    if (status == STATUS_OK) status = tie(&one, sizeof ties / sizeof *ties, ties, err);
    one.model.plane = one.plane = &ground, one.model.planes = 1;
    if (status == STATUS_OK) one.values.of[SIM_GRAVITY][1] = -9.81;
    if (status == STATUS_OK) status = sim_scene_repeat(&one, 3, s, err);
    if (status == STATUS_OK) shake_state(s, 0.001, 0.3), shake(s, SIM_MASS, 0.0005);
    sim_scene_free(&one);
    return status;
}

// Of one cell each: a rigid plank and a soft one across a free box and a fixed one, which hardly anything but edges
// touches.
static Status planks(SimScene *s, Error *err) {
    static const SimSceneBody bodies[] = {
        {.cells = {1, 1, 1}, .at = {-0.1, -0.05, 0}, .turn = {0, 0.1, 0}, .mass = 0.04},
        {.cells = {1, 1, 1}, .at = {0.13, -0.05, 0.01}, .turn = {0.02, -0.3, 0}, .fixed = true},
        {.cells = {1, 1, 1}, .cell = {0.5, 0.03, 0.05}, .at = {0, 0.0145, 0}, .mass = 0.01, .rigid = true},
        {.cells = {1, 1, 1}, .cell = {0.04, 0.03, 0.4}, .at = {0.03, 0.042, 0.01}, .mass = 0.01, .material = 1}};
    SimScene one;
    Status status = sim_scene_bodies(&one, bodies, 4, 0.003, err);
    if (status == STATUS_OK) one.values.of[SIM_GRAVITY][1] = -9.81;
    if (status == STATUS_OK) status = sim_scene_repeat(&one, 3, s, err);
    if (status == STATUS_OK) shake_state(s, 0.001, 0.2), shake(s, SIM_MASS, 0.001);
    for (SimValue v = SIM_CONTACT_KE; v <= SIM_CONTACT_MU && status == STATUS_OK; v++)
        shake(s, v, 0.3 * s->values.of[v][0]);
    sim_scene_free(&one);
    return status;
}

// Products may be fused and sums go in another order, and a rollout makes such differences grow: the CPU's instruction
// sets differ by up to 9e-7 and 2e-15 in one step, and by 5e-5 and 7e-14 in rollouts.
const SimCase sim_cases[] = {
    {"springs", springs, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"tets", tets, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"tets, as published", published_tets, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"hinges", hinges, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"stops", stops, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"stops, many steps", stops, 30, 10, 6, 0, {1e-3, 1e-11}},
    {"slides", slides, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"slides, many steps", slides, 30, 10, 6, 0, {1e-3, 1e-11}},
    {"sockets", sockets, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"sockets, many steps", sockets, 30, 10, 6, 0, {1e-3, 1e-11}},
    {"contact, sliding", sliding, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"contact, holding", holding, 1, 1, 1, 0, {1e-5, 1e-13}},
    {"beam with controls", tets, 60, 20, 12, 0, {1e-3, 1e-11}},
    {"sliding beam", sliding_beam, 60, 20, 0, 0.25, {1e-3, 1e-11}},
    {"falling cloth", falling_cloth, 60, 15, 7, 0, {1e-3, 1e-11}},
    {"bodies that meet", meeting, 60, 20, 12, 0.2, {1e-3, 1e-11}},
    {"rigid bodies that meet", rigid_meeting, 30, 10, 6, 1.5, {1e-3, 1e-11}},
    {"edges that cross", planks, 60, 20, 0, 0, {1e-3, 1e-11}},
    {"folded cloth", folded_cloth, 30, 10, 0, 0, {1e-3, 1e-11}},
    {"five scenes", batch, 30, 10, 0, 0, {1e-3, 1e-11}},
};
const size_t sim_case_count = sizeof sim_cases / sizeof *sim_cases;

// ---- running

static double *zeroed(SimCaseRun *r, size_t count) {
    double *out = arena_array(&r->scene.memory, count, sizeof *out);
    if (out) memset(out, 0, count * sizeof *out);
    return out;
}

static Status allocate(const SimCase *c, SimCaseRun *r, Error *err) {
    SimModel *m = &r->scene.model;
    bool ok = true;
    r->run = (SimRun){.steps = c->steps, .every = c->every, .control_every = c->control_every, .gradient = true};
    const size_t row = 3 * m->scenes * m->particles, all = 2 * sim_frames(&r->run) * row;
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        const size_t count = sim_value_count(m, sim_controls(&r->run), v);
        const bool control = sim_value_is_control(v);
        r->values.of[v] = control ? zeroed(r, count) : r->scene.values.of[v];
        r->gradient.of[v] = zeroed(r, count);
        ok = ok && (r->values.of[v] || sim_value_is_stop(v)) && r->gradient.of[v];
        for (size_t i = 0; control && ok && i < count; i++)
            r->values.of[v][i] = (v == SIM_TORQUE ? 1e-4 : 0.05) * random_number(50 + (uint32_t)v, i);
    }
    r->loss = zeroed(r, all);
    r->frames = zeroed(r, all);
    if (!ok || !r->loss || !r->frames)
        return error_set(err, STATUS_FAILED, "out of memory for a case of the simulator");
    for (size_t i = 0; i < all; i++) r->loss[i] = random_number(90, i);
    return STATUS_OK;
}

static Status run(SimCaseRun *r, const SimOptions *options, Error *err) {
    const SimModel *m = &r->scene.model;
    const size_t row = 3 * m->scenes * m->particles, half = sim_frames(&r->run) * row;
    SimArrays arrays = {.row = row, .position = r->frames, .velocity = r->frames + half};
    const SimLoss loss = {r->loss, r->loss + half};
    Sim *sim = NULL;
    r->run.position = r->values.of[SIM_POSITION], r->run.velocity = r->values.of[SIM_VELOCITY];
    r->run.force = r->run.control_every ? r->values.of[SIM_FORCE] : NULL;
    r->run.drive = r->run.control_every ? r->values.of[SIM_DRIVE] : NULL;
    r->run.activation = r->run.control_every && m->tets ? r->values.of[SIM_ACTIVATION] : NULL;
    r->run.thrust = r->run.control_every && m->slides ? r->values.of[SIM_THRUST] : NULL;
    r->run.torque = r->run.control_every && m->hinges ? r->values.of[SIM_TORQUE] : NULL;
    r->run.keep = sim_keep_arrays, r->run.context = &arrays;
    Status status = sim_open(m, options, &sim, err);
    if (status == STATUS_OK) status = sim_set(sim, &r->values, err);
    if (status == STATUS_OK) status = sim_rollout(sim, &r->run, err);
    if (status == STATUS_OK) status = sim_adjoint(sim, &r->run, &loss, &r->gradient, &r->growth, err);
    sim_close(sim);
    return status;
}

Status sim_case_run(const SimCase *c, const SimOptions *options, SimCaseRun *out, Error *err) {
    SimOptions used = *options;
    used.memory_mib = c->memory_mib;
    *out = (SimCaseRun){0};
    Status status = c->make(&out->scene, err);
    if (status == STATUS_OK) status = allocate(c, out, err);
    return status == STATUS_OK ? run(out, &used, err) : status;
}

void sim_case_run_free(SimCaseRun *run) { sim_scene_free(&run->scene); }

// ---- comparing

double sim_case_error(const SimCaseRun *expected, const SimCaseRun *found, const char **where) {
    const SimModel *m = &expected->scene.model;
    const size_t half = sim_frames(&expected->run) * 3 * m->scenes * m->particles;
    double worst = case_error(expected->frames, found->frames, half),
           speeds = case_error(expected->frames + half, found->frames + half, half);
    *where = speeds > worst ? "velocities" : "positions";
    if (speeds > worst) worst = speeds;
    for (SimValue v = 0; v < SIM_VALUES; v++) {
        const double here = case_error(expected->gradient.of[v], found->gradient.of[v],
                                       sim_value_count(m, sim_controls(&expected->run), v));
        if (here > worst) worst = here, *where = sim_value_info[v].name;
    }
    return worst;
}
