// SPDX-License-Identifier: Apache-2.0
#include "lab/analytic.h"

#include "base/camera.h"
#include "base/horn.h"
#include "base/vector.h"
#include "lab/allocate.h"
#include "lab/hull.h"
#include "lab/rigid_mass.h"

#include <stdlib.h>
#include <string.h>

static const double DENSITY = 1000; // kg/m^3; ratios of masses alone matter
// A body that rests on three corners sinks by so many metres; the damping of one that meets a third of the body's mass,
// as a share of the critical one.
static const double SINKS = 2e-4, DAMPING = 3;
static const double SHARE = 1. / 3, SAFE = 0.5; // that share; the time step is this times the largest that is stable
// How fast a body rises or falls that stands, as a share of what gravity adds in a frame, and how high it is seen above
// the floor, as a share of the edge of a cube of its volume.
static const double LEVEL = 0.125, NEAR = 0.1;
static const double EDGE = 0.6;     // longest edge of a body's surface, as a share of its extent
static const double SETTLED = 1e-6; // metres in a step
enum { STEPS_MIN = 16, STEPS_MAX = 4096, SETTLE_STEPS = 4000 };

struct Analytic {
    const AnalyticScene *scene;
    size_t frames; // behind the present
    SimModel model;
    SimValues values, loose; // of the simulation, and of bodies that only go out of each other
    Sim *sim;
    size_t steps;                // of a frame
    size_t *first;               // (bodies+1) corners and points of body b are particles first[b] to first[b+1]
    double *kg;                  // (bodies)
    size_t *whole;               // (bodies) the body that one is a part of; itself
    double *seen;                // (N,3) where the corners are at the present, as seen: SIM_REST
    double *start;               // (N,3) where they are put then: not inside each other
    double *position, *velocity; // (N,3)
    double *kept[2];             // (2,N,3) positions and velocities of a rollout
    double *inertia;             // (N)
    bool *level;                 // (bodies) 1: it hardly rises or falls at the present
    int32_t *face, *body, *rigid, *material;
    uint8_t *fixed;
    SimPlane *plane;
};

void analytic_end(Analytic *w) {
    if (!w) return;
    void *const all[] = {w->first,   w->kg,      w->whole, w->level, w->start, w->position, w->velocity, w->kept[0],
                         w->kept[1], w->inertia, w->face,  w->body,  w->rigid, w->material, w->fixed,    w->plane};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    for (int v = SIM_GRAVITY; v < SIM_VALUES; v++) {
        free(w->values.of[v]);
        if (v != SIM_REST) free(w->loose.of[v]);
    }
    sim_close(w->sim);
    free(w);
}

// Room for hulls of all corners that there may be.
static bool make_room(Analytic *w, const AnalyticScene *scene) {
    const size_t B = scene->bodies, N = B * (HULL_POINTS + RIGID_POINTS);
    bool good = true;
    *w = (Analytic){.scene = scene, .model = {.scenes = 1, .planes = scene->planes, .materials = B + 2}};
    w->first = allocate(B + 1, sizeof(size_t), &good);
    w->kg = allocate(B, sizeof(double), &good);
    w->whole = allocate(B, sizeof(size_t), &good);
    w->level = allocate(B, sizeof(bool), &good);
    double **const vectors[] = {&w->start, &w->position, &w->velocity};
    for (int k = 0; k < 3; k++) *vectors[k] = allocate(N, 3 * sizeof(double), &good);
    for (int k = 0; k < 2; k++) w->kept[k] = allocate(N, 6 * sizeof(double), &good);
    w->inertia = allocate(N, sizeof(double), &good);
    w->face = allocate(B * HULL_TRIANGLES, 3 * sizeof(int32_t), &good);
    int32_t **const numbers[] = {&w->body, &w->rigid, &w->material};
    for (int k = 0; k < 3; k++) *numbers[k] = allocate(N, sizeof(int32_t), &good);
    w->fixed = allocate(N, 1, &good);
    w->plane = allocate(scene->planes, sizeof *w->plane, &good);
    SimValues *const both[] = {&w->values, &w->loose};
    for (int k = 0; k < 2; k++) {
        both[k]->of[SIM_GRAVITY] = allocate(3, sizeof(double), &good);
        both[k]->of[SIM_MASS] = allocate(N, sizeof(double), &good);
        for (int v = SIM_CONTACT_KE; v <= SIM_CONTACT_MU; v++) both[k]->of[v] = allocate(B + 2, sizeof(double), &good);
    }
    w->seen = w->values.of[SIM_REST] = w->loose.of[SIM_REST] = allocate(N, 3 * sizeof(double), &good);
    return good;
}

// ---- shapes

// What is round meets other bodies with its corners: no edge should be long.
static void refine(Hull *hull) {
    double low[3], high[3], extent = 0;
    for (int c = 0; c < 3; c++) {
        low[c] = INFINITY, high[c] = -INFINITY;
        for (size_t p = 0; p < hull->corners; p++) {
            low[c] = fmin(low[c], hull->corner[p][c]);
            high[c] = fmax(high[c], hull->corner[p][c]);
        }
        extent = fmax(extent, high[c] - low[c]);
    }
    hull_refine(hull, EDGE * extent);
}

// A body whose middle is inside a larger one is a part of it, which was taken for a body of its own.
static void find_parts(Analytic *w, const Hull *hull) {
    double *volume = w->kg; // until there are masses
    for (size_t b = 0; b < w->scene->bodies; b++)
        volume[b] = vector_enclosed(hull[b].corner[0], 0, hull[b].triangle[0], hull[b].triangles);
    for (size_t b = 0; b < w->scene->bodies; b++) {
        double middle[3] = {0};
        size_t whole = b;
        for (size_t p = 0; p < hull[b].corners; p++)
            for (int c = 0; c < 3; c++) middle[c] += hull[b].corner[p][c] / (double)hull[b].corners;
        for (size_t a = 0; a < w->scene->bodies && hull[b].corners && !w->scene->body[b].told; a++)
            if (volume[a] > volume[whole] && hull_holds(hull + a, middle)) whole = a;
        w->whole[b] = whole;
    }
    for (size_t b = 0; b < w->scene->bodies; b++) // each is the part of one that is larger
        while (w->whole[w->whole[b]] != w->whole[b]) w->whole[b] = w->whole[w->whole[b]];
    memset(w->kg, 0, w->scene->bodies * sizeof *w->kg);
}

// A hull behind those of the bodies before. Of a body without volume there are no particles, nor of a part.
static Status add_hull(Analytic *w, size_t b, Hull *hull, int32_t *solids, Error *err) {
    const size_t N = w->model.particles;
    const bool told = w->scene->body[b].told > 0;
    double *x = w->seen + 3 * N, *mass = w->values.of[SIM_MASS] + N;
    if (!hull->corners || w->whole[b] != b) return STATUS_OK;
    refine(hull);
    memcpy(x, hull->corner, hull->corners * sizeof *hull->corner);
    const Mesh mesh = {.N = hull->corners, .F = hull->triangles, .position = x, .triangle = hull->triangle[0]};
    RigidPoints points = {0};
    Status status = rigid_mass(&mesh, DENSITY, 0, mass, told ? NULL : w->inertia + N, &points, err);
    if (status == STATUS_BAD_INPUT) return STATUS_OK; // too flat
    memcpy(x + 3 * hull->corners, points.at, points.count * sizeof *points.at);
    for (size_t p = 0; p < hull->corners + points.count; p++) {
        w->body[N + p] = *solids;
        w->fixed[N + p] = told;
        w->rigid[N + p] = told ? -1 : (int32_t)w->model.rigids;
        w->material[N + p] = (int32_t)(p < hull->corners ? b : w->scene->bodies) + 1;
        w->kg[b] += mass[p];
    }
    for (size_t i = 0; i < 3 * hull->triangles; i++)
        w->face[3 * w->model.faces + i] = hull->triangle[i / 3][i % 3] + (int32_t)N;
    w->model.particles += hull->corners + points.count;
    w->model.faces += hull->triangles;
    w->model.rigids += !told;
    *solids += 1;
    return status;
}

static Status add_hulls(Analytic *w, Error *err) {
    const size_t B = w->scene->bodies;
    int32_t solids = 0;
    Hull *hull = calloc(B + 1, sizeof *hull);
    Status status = hull ? STATUS_OK : error_no_memory(err, "%zu bodies", B);
    for (size_t b = 0; b < B && hull; b++) hull_make(w->scene->body[b].now, w->scene->body[b].count, hull + b);
    if (hull) find_parts(w, hull);
    for (size_t b = 0; b < B && status == STATUS_OK; b++) {
        status = add_hull(w, b, hull + b, &solids, err);
        w->first[b + 1] = w->model.particles;
    }
    free(hull);
    return status;
}

// ---- contact and the time step

static double given_or(double given, double derived) { return isnan(given) ? derived : given; }

// Stiffness and damping of a corner where a body meets a plane. The law takes the mean of two materials.
static void corner_law(const Analytic *w, size_t b, double *k_e, double *k_d) {
    const double k = w->kg[b] * 9.81 / (3 * SINKS);
    *k_e = k;
    *k_d = 2 * DAMPING * sqrt(k * w->kg[b] * SHARE);
}

// Planes and bodies that are told how to move add nothing to what follows from masses.
static void set_contact(Analytic *w) {
    const AnalyticContact *c = &w->scene->contact;
    double **of = w->values.of;
    for (size_t k = 0; k <= w->scene->bodies; k++) {
        double k_e = 0, k_d = 0;
        if (k > 0 && !w->scene->body[k - 1].told) corner_law(w, k - 1, &k_e, &k_d);
        of[SIM_CONTACT_KE][k] = given_or(c->k_e, 2 * k_e);
        of[SIM_CONTACT_KD][k] = given_or(c->k_d, 2 * k_d);
        of[SIM_CONTACT_KF][k] = given_or(c->k_f, 2 * k_d);
        of[SIM_CONTACT_MU][k] = c->mu;
    }
}

// Bodies of 1 kg, as hard as the time step allows where nothing has a speed.
static void set_loose(Analytic *w) {
    double *k_e = w->loose.of[SIM_CONTACT_KE];
    for (size_t b = 0; b < w->scene->bodies; b++)
        for (size_t i = w->first[b]; i < w->first[b + 1]; i++)
            w->loose.of[SIM_MASS][i] = w->values.of[SIM_MASS][i] / w->kg[b];
    for (size_t k = 0; k < w->model.materials; k++) k_e[k] = 1;
    const double part = sim_stable_step(&w->model, &w->loose) / w->model.dt;
    for (size_t k = 0; k < w->model.materials; k++) k_e[k] = part * part / 4;
}

// An even number, for half a frame. Where it would be too large, contact is softer.
static void choose_steps(Analytic *w) {
    const double steps = 2 * ceil(w->scene->frame_time / (2 * SAFE * sim_stable_step(&w->model, &w->values))),
                 share = fmin(1, STEPS_MAX / fmax(steps, 1));
    for (size_t k = 0; k < w->model.materials; k++) {
        w->values.of[SIM_CONTACT_KE][k] *= share * share;
        w->values.of[SIM_CONTACT_KD][k] *= share;
        w->values.of[SIM_CONTACT_KF][k] *= share;
    }
    w->steps = (size_t)fmin(fmax(steps, STEPS_MIN), STEPS_MAX);
}

static Status open(Analytic *w, Error *err) {
    SimModel *m = &w->model;
    memcpy(w->values.of[SIM_GRAVITY], w->scene->gravity, sizeof w->scene->gravity);
    set_contact(w);
    for (size_t p = 0; p < w->scene->planes; p++) {
        w->plane[p] = w->scene->plane[p];
        w->plane[p].material = 0;
    }
    SimMaterial *contacts = calloc(m->materials, sizeof *contacts);
    if (!contacts) return error_no_memory(err, "%zu bodies", w->scene->bodies);
    for (size_t k = 0; k < m->materials; k++)
        contacts[k] = (SimMaterial){w->scene->contact.margin, w->scene->contact.fade};
    contacts[m->materials - 1].margin = SIM_NO_CONTACT; // of points inside
    m->fixed = w->fixed, m->material = w->material, m->plane = w->plane, m->contacts = contacts;
    m->face = w->face, m->body = w->body, m->rigid = w->rigid, m->inertia = w->inertia;
    choose_steps(w);
    m->dt = w->scene->frame_time / (double)w->steps;
    set_loose(w);
    const SimOptions options = {.precision = SIM_F64};
    Status status = sim_open(m, &options, &w->sim, err);
    m->contacts = NULL;
    free(contacts);
    return status;
}

// ---- motions

// The rotation R and means from which and to which it takes points (count,3).
typedef struct Turn {
    double R[9], from[3], to[3];
} Turn;

static Turn turn_between(const double *from, const double *to, size_t count) {
    Turn out = {.from = {0}};
    double S[9] = {0}, q[4];
    for (size_t i = 0; i < 3 * count; i++) {
        out.from[i % 3] += from[i] / (double)count;
        out.to[i % 3] += to[i] / (double)count;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < 9; k++)
            S[k] += (from[3 * i + k / 3] - out.from[k / 3]) * (to[3 * i + k % 3] - out.to[k % 3]);
    horn_rotation(S, q);
    rotation_from_quaternion(q, out.R);
    return out;
}

static void turn_pose(const Turn *turn, double out[16]) {
    double t[3];
    for (int r = 0; r < 3; r++) t[r] = turn->to[r] - vector_dot(turn->R + 3 * r, turn->from);
    pose_from_rotation(turn->R, t, out);
}

// Motion in half a frame: half the turn about the mean.
static void turn_half(const Turn *turn, double out[16]) {
    static const double none[4] = {1, 0, 0, 0};
    double q[4], half[4];
    Turn part = *turn;
    quaternion_from_rotation(turn->R, q);
    quaternion_slerp(none, q, 0.5, half);
    rotation_from_quaternion(half, part.R);
    for (int c = 0; c < 3; c++) part.to[c] = (turn->from[c] + turn->to[c]) / 2;
    turn_pose(&part, out);
}

// ---- rollouts

// So many steps from the state; the last is the new state.
static Status go(Analytic *w, size_t steps, Error *err) {
    const size_t row = 3 * w->model.particles;
    SimArrays arrays = {.row = row, .position = w->kept[0], .velocity = w->kept[1]};
    const SimRun run = {.steps = steps,
                        .every = steps,
                        .position = w->position,
                        .velocity = w->velocity,
                        .keep = sim_keep_arrays,
                        .context = &arrays};
    Status status = sim_rollout(w->sim, &run, err);
    if (status != STATUS_OK) return status;
    memcpy(w->position, w->kept[0] + row, row * sizeof(double));
    memcpy(w->velocity, w->kept[1] + row, row * sizeof(double));
    return STATUS_OK;
}

// Bodies that are inside each other or below planes go out, until none moves any more. What pushes them gives them no
// speed.
static Status settle(Analytic *w, Error *err) {
    const size_t row = 3 * w->model.particles;
    double moved = INFINITY;
    Status status = sim_set(w->sim, &w->loose, err);
    for (int k = 0; k < SETTLE_STEPS && moved > SETTLED && status == STATUS_OK; k++) {
        memset(w->velocity, 0, row * sizeof(double));
        status = go(w, 1, err);
        moved = 0;
        for (size_t i = 0; i < row; i++) moved = fmax(moved, fabs(w->kept[0][row + i] - w->kept[0][i]));
    }
    return status == STATUS_OK ? sim_set(w->sim, &w->values, err) : status;
}

// ---- the start

static double speed_down(const Analytic *w, size_t b, const double *velocity) {
    const double *g = w->scene->gravity, count = (double)(w->first[b + 1] - w->first[b]);
    double sum = 0;
    for (size_t i = w->first[b]; i < w->first[b + 1]; i++) sum += vector_dot(velocity + 3 * i, g) / count;
    return sum / fmax(sqrt(vector_dot(g, g)), 1e-30);
}

// Metres down from a body to a plane below it; INFINITY: it is above none.
static double gap_below(const Analytic *w, size_t b) {
    const double *g = w->scene->gravity, length = sqrt(vector_dot(g, g));
    double least = INFINITY;
    for (size_t p = 0; p < w->scene->planes; p++) {
        const SimPlane *plane = w->plane + p;
        const double size = sqrt(vector_dot(plane->normal, plane->normal)),
                     steep = -vector_dot(plane->normal, g) / (size * length);
        for (size_t i = w->first[b]; i < w->first[b + 1] && steep > 0.1; i++)
            least = fmin(least, (vector_dot(plane->normal, w->position + 3 * i) / size - plane->offset) / steep);
    }
    return least;
}

// Undersides are not seen: what is a little above the floor, and hardly rises or falls, stands on it.
static void put_down(Analytic *w) {
    const double *g = w->scene->gravity, length = sqrt(vector_dot(g, g));
    for (size_t b = 0; b < w->scene->bodies; b++) {
        if (!w->level[b]) continue;
        const double gap = gap_below(w, b);
        for (size_t i = 3 * w->first[b]; i < 3 * w->first[b + 1] && gap > 0 && gap < NEAR * cbrt(w->kg[b] / DENSITY);
             i++)
            w->position[i] += gap * g[i % 3] / length;
    }
}

// Half a frame before the present each body has the velocity that is seen: the mean of that frame. From there it is
// simulated to the present. What it meets on the way, and gravity, change the velocity; its place is the one that is
// seen.
static Status find_velocity(Analytic *w, double *velocity, Error *err) {
    const size_t row = 3 * w->model.particles;
    for (size_t b = 0; b < w->scene->bodies; b++) {
        const AnalyticBody *body = w->scene->body + b;
        const Turn back = turn_between(body->now, body->before, body->count);
        double all[16], half[16], before[3];
        turn_pose(&back, all);
        turn_half(&back, half);
        for (size_t i = 3 * w->first[b]; i < 3 * w->first[b + 1]; i += 3) {
            pose_apply(all, w->seen + i, before);
            pose_apply(half, w->seen + i, w->position + i);
            for (size_t c = 0; c < 3; c++) velocity[i + c] = (w->seen[i + c] - before[c]) / w->scene->frame_time;
        }
        const double gained = sqrt(vector_dot(w->scene->gravity, w->scene->gravity)) * w->scene->frame_time;
        w->level[b] = !body->told && fabs(speed_down(w, b, velocity)) < LEVEL * gained;
    }
    put_down(w);
    Status status = settle(w, err);
    memcpy(w->velocity, velocity, row * sizeof(double));
    if (status == STATUS_OK) status = go(w, w->steps / 2, err);
    memcpy(velocity, w->velocity, row * sizeof(double));
    return status;
}

static Status start(Analytic *w, Error *err) {
    const size_t row = 3 * w->model.particles;
    double *velocity = malloc((row + 1) * sizeof *velocity);
    if (!velocity) return error_no_memory(err, "%zu bodies", w->scene->bodies);
    Status status = find_velocity(w, velocity, err);
    memcpy(w->position, w->seen, row * sizeof(double));
    put_down(w);
    if (status == STATUS_OK) status = settle(w, err);
    memcpy(w->start, w->position, row * sizeof(double));
    // Each step takes gravity first: so falls are exact at its end.
    for (size_t i = 0; i < row; i++) w->velocity[i] = velocity[i] - w->scene->gravity[i % 3] * w->model.dt / 2;
    free(velocity);
    return status;
}

// ---- frames

// What is told how to move goes straight to where it is at the end of the frame.
static void aim(Analytic *w, size_t frame) {
    for (size_t b = 0; b < w->scene->bodies; b++) {
        const AnalyticBody *body = w->scene->body + b;
        if (!body->told) continue;
        const double *motion = body->motion + 16 * (frame < body->told ? frame : body->told - 1);
        for (size_t i = 3 * w->first[b]; i < 3 * w->first[b + 1]; i += 3) {
            double to[3];
            pose_apply(motion, w->position + i, to);
            for (size_t c = 0; c < 3; c++) w->velocity[i + c] = (to[c] - w->position[i + c]) / w->scene->frame_time;
        }
    }
}

Status analytic_frame(Analytic *w, double *motion, Error *err) {
    const size_t B = w->scene->bodies;
    Status status = STATUS_OK;
    for (size_t b = 0; b < B; b++) pose_identity(motion + 16 * b);
    if (!w->model.rigids) return status;
    aim(w, w->frames++);
    status = go(w, w->steps, err);
    for (size_t b = 0; b < B && status == STATUS_OK; b++) {
        const size_t at = 3 * w->first[b], count = w->first[b + 1] - w->first[b];
        const Turn turn = turn_between(w->start + at, w->position + at, count);
        if (count) turn_pose(&turn, motion + 16 * b);
    }
    for (size_t b = 0; b < B; b++)
        if (w->whole[b] != b) memcpy(motion + 16 * b, motion + 16 * w->whole[b], 16 * sizeof *motion);
    return status;
}

Status analytic_begin(const AnalyticScene *scene, bool *solid, Analytic **out, Error *err) {
    Analytic *w = *out = malloc(sizeof *w);
    if (!w) return error_no_memory(err, "%zu bodies", scene->bodies);
    Status status = make_room(w, scene) ? add_hulls(w, err) : error_no_memory(err, "%zu bodies", scene->bodies);
    for (size_t b = 0; b < scene->bodies && status == STATUS_OK; b++)
        solid[b] = w->first[w->whole[b] + 1] > w->first[w->whole[b]];
    if (status == STATUS_OK && w->model.rigids) status = open(w, err);
    if (status == STATUS_OK && w->model.rigids) status = start(w, err);
    if (status == STATUS_OK) return status;
    analytic_end(w);
    *out = NULL;
    return status;
}
