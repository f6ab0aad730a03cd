// SPDX-License-Identifier: Apache-2.0
// Bodies that move by the laws of mechanics (docs/editing.md, "Simulated bodies"): what the simulator finds is noted as
// for bodies that are driven.
#include "edit/scene.h"

#include "base/array.h"
#include "base/camera.h"
#include "base/progress.h"
#include "base/vector.h"
#include "motion/bodies_planes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 16, BODIES_MAX = 256, POINTS_MAX = 2048 }; // steps without a number; points of a body that are looked at
static const double LEVEL = 0.985;                        // cosine of 10 degrees: a floor is so near to level

// ---- reading

Status edit_contact_read(const ArgumentReader *reader, const YamlNode *node, void *field) {
#define CONTACT(word, most)                                                                                            \
    { .key = #word, .type = ARG_NUMBER, .offset = offsetof(AnalyticContact, word), .max = most }
    static const Argument table[] = {CONTACT(k_e, 1e12), CONTACT(k_d, 1e12), CONTACT(k_f, 1e12),
                                     CONTACT(mu, 100),   CONTACT(fade, 1),   CONTACT(margin, 1)};
    const ArgumentGroup group = {table, sizeof table / sizeof *table, field};
    if (node->kind != YAML_MAP) return argument_wrong(reader, node, "a map such as {mu: 0.5}");
    return arguments_read(reader, node, &group, 1, NULL);
}

// ---- what is simulated

// The bodies that take part: those that are selected, and those that are driven.
typedef struct Cast {
    size_t count, steps;
    size_t driven;      // of the selected bodies
    int32_t *number;    // (count) of each
    AnalyticBody *body; // (count)
    double *points;     // those of all bodies, at the present and before
    double *told;       // (driven,steps,4,4)
    double middle[BODIES_MAX][3];
} Cast;

static void cast_free(Cast *cast) {
    free(cast->number);
    free(cast->body);
    free(cast->points);
    free(cast->told);
}

// role (numbers): 0: takes no part, 1: moves freely, 2: is driven. *both: selected and driven. NULL if memory is short.
static uint8_t *cast_roles(const EditScene *scene, const Mask *mask, size_t *numbers, size_t *both) {
    const RolloutDrives *drives = &scene->file->drives;
    uint8_t *role = scene_bodies_of(scene_now(scene), mask, numbers);
    size_t same;
    Mask *there = scene_bodies_of(scene_now(scene), NULL, &same);
    *both = 0;
    for (size_t k = 0; role && there && k < drives->count; k++) {
        const size_t body = (size_t)drives->body[k];
        if (body >= same || !there[body]) continue;
        *both += role[body] == 1;
        role[body] = 2;
    }
    if (!there) {
        free(role);
        role = NULL;
    }
    free(there);
    return role;
}

// The points of a body, mirror images among them; of many, some that are spread evenly over their order.
static double *take_points(const RolloutSet *now, int32_t number, double *to, AnalyticBody *body) {
    size_t all = 0, at = 0;
    for (size_t i = 0; i < now->N; i++) all += now->body[i] == number;
    const size_t most = all < POINTS_MAX ? all : POINTS_MAX;
    double *present = to, *before = to + 3 * most;
    body->now = present, body->before = before, body->count = most;
    for (size_t i = 0; i < now->N; i++) {
        if (now->body[i] != number) continue;
        const bool taken = (at + 1) * most / all > at * most / all;
        at++;
        for (size_t c = 0; c < 3 && taken; c++) {
            *present++ = (double)now->positions[3 * i + c];
            *before++ = (double)now->before[3 * i + c];
        }
    }
    return before;
}

// Its motions in the order of steps; where none is noted it stays.
static void take_drives(const RolloutDrives *drives, int32_t number, size_t steps, double *to, AnalyticBody *body) {
    for (size_t s = 0; s < steps; s++) pose_identity(to + 16 * s);
    for (size_t k = 0; k < drives->count; k++) {
        const size_t step = (size_t)drives->step[k];
        if (drives->body[k] != number || step > steps) continue;
        memcpy(to + 16 * (step - 1), drives->motion + 16 * k, 16 * sizeof *to);
        if (step > body->told) body->told = step;
    }
    body->motion = to;
}

static Status cast_fill(const EditScene *scene, const uint8_t *role, size_t numbers, Cast *cast, Error *err) {
    const RolloutSet *now = scene_now(scene);
    size_t driven = 0;
    for (size_t b = 0; b < numbers; b++) cast->count += role[b] > 0, driven += role[b] == 2;
    if (cast->count > BODIES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "expected at most %d bodies, found %zu", BODIES_MAX, cast->count);
    cast->number = calloc(cast->count + 1, sizeof *cast->number);
    cast->body = calloc(cast->count + 1, sizeof *cast->body);
    cast->points = malloc((6 * now->N + 1) * sizeof *cast->points);
    cast->told = malloc((driven * cast->steps * 16 + 1) * sizeof *cast->told);
    if (!cast->number || !cast->body || !cast->points || !cast->told) return scene_no_memory(err);
    double *points = cast->points, *told = cast->told;
    for (size_t b = 0, k = 0; b < numbers; b++) {
        if (!role[b]) continue;
        AnalyticBody *body = cast->body + k;
        cast->number[k] = (int32_t)b;
        points = take_points(now, (int32_t)b, points, body);
        for (size_t i = 0; i < 3 * body->count; i++) cast->middle[k][i % 3] += body->now[i] / (double)body->count;
        if (role[b] == 2) {
            take_drives(&scene->file->drives, (int32_t)b, cast->steps, told, body);
            told += 16 * cast->steps;
        }
        k++;
    }
    return STATUS_OK;
}

static Status cast_make(const EditScene *scene, const Mask *mask, Cast *cast, Error *err) {
    size_t numbers;
    uint8_t *role = cast_roles(scene, mask, &numbers, &cast->driven);
    if (!role) return scene_no_memory(err);
    Status status = cast_fill(scene, role, numbers, cast, err);
    free(role);
    return status;
}

// ---- what stands still

static int compare_values(const void *a, const void *b) {
    const real x = *(const real *)a, y = *(const real *)b;
    return (x > y) - (x < y);
}

// X of docs/model.md: the longest side of the workspace box, or of the 5 to 95 percentile box of the points.
static Status find_extent(const RolloutFile *file, const PointCloud *cloud, double *out, Error *err) {
    *out = 0;
    for (int c = 0; c < 3 && file->has_bounds; c++) *out = fmax(*out, file->bounds[3 + c] - file->bounds[c]);
    if (*out > 0 || cloud->count == 0) return STATUS_OK;
    const size_t last = cloud->count - 1;
    real *values = malloc(cloud->count * sizeof *values);
    if (!values) return scene_no_memory(err);
    for (size_t c = 0; c < 3; c++) {
        for (size_t i = 0; i <= last; i++) values[i] = cloud->position[3 * i + c];
        qsort(values, cloud->count, sizeof *values, compare_values);
        *out = fmax(*out, (double)values[(size_t)(0.95 * (double)last + 0.5)] -
                              (double)values[(size_t)(0.05 * (double)last + 0.5)]);
    }
    free(values);
    return STATUS_OK;
}

static Status find_planes(const EditScene *scene, Planes *out, Error *err) {
    const RolloutSet *now = scene_now(scene);
    PointCloud cloud = {.position = malloc((3 * now->N + 1) * sizeof(real)),
                        .moving = calloc(now->N + 1, sizeof(real))};
    double extent = 0;
    Status status = cloud.position && cloud.moving ? STATUS_OK : scene_no_memory(err);
    for (size_t i = 0; status == STATUS_OK && i < now->N; i++) {
        if (now->body[i] >= 0) continue;
        for (size_t c = 0; c < 3; c++) cloud.position[3 * cloud.count + c] = (real)now->positions[3 * i + c];
        cloud.count++;
    }
    if (status == STATUS_OK) status = find_extent(scene->file, &cloud, &extent, err);
    if (status == STATUS_OK) *out = planes_find(&cloud, extent);
    free(cloud.position);
    free(cloud.moving);
    return status;
}

// Whether the points of a body lie within about `thin` of a plane: with the variances along the axes of their spread,
// the inverse of the sum of their inverses is at most the smallest, and at least a third of it.
static bool is_flat(const AnalyticBody *body, const double middle[3], double thin) {
    double s[9] = {0};
    for (size_t i = 0; i < body->count; i++)
        for (size_t c = 0; c < 9; c++)
            s[c] += (body->now[3 * i + c / 3] - middle[c / 3]) * (body->now[3 * i + c % 3] - middle[c % 3]) /
                    (double)body->count;
    const double yz = s[4] * s[8] - s[5] * s[5], xz = s[0] * s[8] - s[2] * s[2], xy = s[0] * s[4] - s[1] * s[1];
    const double product = s[0] * yz - s[1] * (s[1] * s[8] - s[5] * s[2]) + s[2] * (s[1] * s[5] - s[4] * s[2]);
    return product <= thin * thin * (yz + xz + xy);
}

// Bodies are on the side of the cameras, or without cameras on their own. A plane that has one behind it ends before
// that: it is left out. What is flat is no such body, but a piece of the ground, such as the side of a table's top.
static size_t use_planes(const RolloutFile *file, const Cast *cast, Planes *found, SimPlane *out) {
    size_t used = 0;
    for (size_t p = 0; p < found->count; p++) {
        Plane *plane = found->plane + p;
        double side = 0;
        for (int v = 0; v < file->V; v++) {
            const double *pose = file->world_from_camera + 16 * v, eye[3] = {pose[3], pose[7], pose[11]};
            side += plane_height(plane, eye);
        }
        for (size_t b = 0; b < cast->count && file->V == 0; b++) side += plane_height(plane, cast->middle[b]);
        for (int c = 0; c < 3 && side < 0; c++) plane->normal[c] = -plane->normal[c];
        if (side < 0) plane->offset = -plane->offset;
        bool behind = false;
        for (size_t b = 0; b < cast->count; b++)
            behind |=
                plane_height(plane, cast->middle[b]) < 0 && !is_flat(cast->body + b, cast->middle[b], plane->within);
        if (behind) continue;
        out[used] = (SimPlane){.offset = plane->offset};
        memcpy(out[used++].normal, plane->normal, sizeof plane->normal);
    }
    return used;
}

// Against gravity: as the cameras are held, or across the largest plane that is level to 10 degrees.
static void find_gravity(const RolloutFile *file, const SimPlane *planes, size_t count, double gravity[3]) {
    double up[3];
    rollout_up(&file->surface, file->world_from_camera, (size_t)file->V * (size_t)file->camera_frames, up);
    for (size_t p = 0; p < count; p++)
        if (vector_dot(planes[p].normal, up) > LEVEL) {
            memcpy(up, planes[p].normal, sizeof up);
            break;
        }
    for (int c = 0; c < 3; c++) gravity[c] = -EDIT_GRAVITY * up[c];
}

static bool holds(const SimPlane *planes, size_t count, const double gravity[3]) {
    bool out = vector_dot(gravity, gravity) == 0;
    for (size_t p = 0; p < count; p++) out = out || vector_dot(planes[p].normal, gravity) < 0;
    return out;
}

// ---- the edit

struct EditMechanics {
    int references;
    Cast cast;
    AnalyticScene world;
    SimPlane plane[PLANES_MOST];
    bool solid[BODIES_MAX];
    Analytic *analytic;
    size_t done;    // steps that are computed
    double *motion; // (done,bodies,4,4) from the present
};

EditMechanics *edit_mechanics_share(EditMechanics *m) {
    if (m) m->references++;
    return m;
}

void edit_mechanics_free(EditMechanics *m) {
    if (!m || --m->references > 0) return;
    analytic_end(m->analytic);
    cast_free(&m->cast);
    free(m->motion);
    free(m);
}

static Status compute_step(EditMechanics *m, Error *err) {
    const size_t row = 16 * m->cast.count;
    if (!array_grow(&m->motion, (m->done + 1) * row, sizeof *m->motion))
        return error_no_memory(err, "the motions of %zu bodies", m->cast.count);
    Status status = analytic_frame(m->analytic, m->motion + m->done * row, err);
    m->done += status == STATUS_OK;
    return status;
}

// Of each body the motion of a step follows from where the steps have brought it.
static Status note_step(const EditMechanics *m, size_t s, RolloutFile *file, Error *err) {
    const Cast *cast = &m->cast;
    Status status = STATUS_OK;
    for (size_t b = 0; b < cast->count && status == STATUS_OK; b++) {
        double step[16];
        if (!m->solid[b] || cast->body[b].told) continue;
        pose_identity(step);
        if (s > 0) pose_inverse(m->motion + 16 * (cast->count * (s - 1) + b), step);
        pose_product(m->motion + 16 * (cast->count * s + b), step, step);
        status = rollout_drive_add(&file->drives, cast->number[b], s + 1, step, err);
    }
    return status;
}

Status edit_mechanics_tell(EditMechanics *m, RolloutFile *file, size_t *told, size_t steps, const Log *log,
                           Error *err) {
    Progress progress;
    Status status = STATUS_OK;
    if (!m) return status;
    if (steps > m->cast.steps) steps = m->cast.steps;
    progress_start(&progress, log, "simulate", "steps", 0, steps);
    while (*told < steps && status == STATUS_OK) {
        if (*told == m->done) status = compute_step(m, err);
        if (status == STATUS_OK) status = note_step(m, *told, file, err);
        *told += status == STATUS_OK;
        progress_update(&progress, *told, NULL);
    }
    if (progress.shown > progress.started) progress_end(&progress, NULL); // else it was short
    return status;
}

static void warn_of_flat(const EditScene *scene, const EditMechanics *m) {
    size_t flat = 0;
    for (size_t b = 0; b < m->cast.count; b++) flat += !m->solid[b] && !m->cast.body[b].told;
    if (flat)
        log_warning(scene->log, "%zu of %zu bodies have no volume, and move as the model says", flat, m->cast.count);
}

static Status begin(const EditScene *scene, const Edit *edit, EditMechanics *m, Error *err) {
    Planes found = {0};
    m->world = (AnalyticScene){.bodies = m->cast.count,
                               .body = m->cast.body,
                               .plane = m->plane,
                               .frame_time = scene->file->time_step,
                               .contact = edit->contact};
    Status status = find_planes(scene, &found, err);
    if (status != STATUS_OK) return status;
    m->world.planes = use_planes(scene->file, &m->cast, &found, m->plane);
    find_gravity(scene->file, m->plane, m->world.planes, m->world.gravity);
    if (edit->has_gravity) memcpy(m->world.gravity, edit->gravity, sizeof m->world.gravity);
    if (!holds(m->plane, m->world.planes, m->world.gravity))
        log_warning(scene->log, "no floor was found among what stands still: bodies fall for ever");
    status = analytic_begin(&m->world, m->solid, &m->analytic, err);
    if (status == STATUS_OK) warn_of_flat(scene, m);
    return status;
}

// The mechanics of a file, or NULL of one without bodies.
static Status make(EditScene *scene, const Edit *edit, const Mask *mask, EditMechanics **out, Error *err) {
    EditMechanics *m = calloc(1, sizeof *m);
    if (!m) return scene_no_memory(err);
    m->references = 1;
    m->cast.steps = edit->steps ? (size_t)edit->steps : STEPS;
    Status status = edit->select ? scene_embody(scene, mask, err) : STATUS_OK;
    if (status == STATUS_OK) status = cast_make(scene, mask, &m->cast, err);
    const size_t driven = edit->select || m->cast.driven == m->cast.count ? m->cast.driven : 0;
    if (status == STATUS_OK && driven)
        log_warning(scene->log, "%zu of the selected bodies %s driven, and not simulated: throw %s first", driven,
                    driven == 1 ? "is" : "are", driven == 1 ? "it" : "them");
    if (status == STATUS_OK && m->cast.count) status = begin(scene, edit, m, err);
    if (status == STATUS_OK && m->cast.count) *out = m;
    else edit_mechanics_free(m);
    return status;
}

Status edit_simulate(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    EditMechanics *mechanics = NULL;
    size_t told = 0;
    if (!scene_now(scene)->body)
        return error_set(err, STATUS_BAD_INPUT,
                         "only bodies can be simulated, and a model with the graph of the paper has none");
    if (!(scene->file->time_step > 0))
        return error_set(err, STATUS_BAD_INPUT, "gravity needs a time step, found %g s", scene->file->time_step);
    Status status = make(scene, edit, mask, &mechanics, err);
    if (scene->coming && !edit->next) {
        *scene->coming = mechanics;
        return status;
    }
    if (status == STATUS_OK) status = edit_mechanics_tell(mechanics, scene->file, &told, SIZE_MAX, scene->log, err);
    edit_mechanics_free(mechanics);
    return status;
}
