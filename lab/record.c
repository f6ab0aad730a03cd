// SPDX-License-Identifier: Apache-2.0
#include "lab/record.h"

#include "base/vector.h"
#include "sim/rest_shape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Record {
    const SimScene *scene;
    RolloutFile *file;
    double box[6]; // of the motion
    Sim *probe;    // finds the particles that touch other objects; NULL: objects do not meet
    double *gap;   // (N) to those
    RecordWorst *worst;
} Record;

static bool touches(const SimModel *m, size_t i, const double position[3]) {
    for (size_t k = 0; k < m->planes; k++) {
        const SimPlane *plane = m->plane + k;
        const SimMaterial *a = m->contacts + (m->material ? m->material[i] : 0), *b = m->contacts + plane->material;
        if (plane->offset + (a->margin + b->margin) / 2 > scene_height(plane, position)) return true;
    }
    return false;
}

// Mean length of an object's springs and of one edge of each tet, or of each face: the particles' distance.
static double spacing(const SimScene *scene, const SceneObject *object) {
    const SimModel *m = &scene->model;
    const double *x = scene->values.of[SIM_REST];
    double sum = 0, d[3];
    for (size_t i = object->spring; i < object->spring + object->springs; i++)
        sum += scene->values.of[SIM_SPRING_LENGTH][i];
    for (size_t i = object->tet; i < object->tet + object->tets; i++) {
        vector_between(x, m->tet[4 * i], m->tet[4 * i + 1], d);
        sum += sqrt(vector_dot(d, d));
    }
    if (sum > 0) return sum / (double)(object->springs + object->tets);
    for (size_t i = object->face; i < object->face + object->faces; i++) {
        vector_between(x + 3 * object->particle, scene->face[3 * i], scene->face[3 * i + 1], d);
        sum += sqrt(vector_dot(d, d));
    }
    return sum > 0 ? sum / (double)object->faces : 0.02;
}

void record_note_inside(const SimScene *scene, const double *gap, RecordWorst *worst) {
    for (size_t o = 0; o < scene->object_count; o++) {
        const SceneObject *object = scene->objects + o;
        const double wide = spacing(scene, object);
        for (size_t i = object->particle; i < object->particle + object->particles; i++)
            if (-gap[i] > worst->share * wide)
                worst->object = object, worst->deep = -gap[i], worst->share = -gap[i] / wide;
    }
}

static void note_limits(const SimScene *scene, const double *position, RecordWorst *worst) {
    double *const *of = scene->values.of;
    for (size_t h = 0; h < scene->hinges && of[SIM_HINGE_LOW]; h++) {
        const size_t row = scene->hinge[h].row;
        const double low = of[SIM_HINGE_LOW][row], high = of[SIM_HINGE_HIGH][row];
        const double from = rest_hinge(position, scene->model.hinge + 4 * row).angle - (low + high) / 2;
        const double beyond = (fabs(remainder(from, 2 * M_PI)) - (high - low) / 2) * 180 / M_PI;
        if (beyond > worst->beyond) worst->turning = scene->hinge + h, worst->beyond = beyond;
    }
    for (size_t b = 0; b < scene->balls; b++) {
        const size_t row = scene->ball[b].row;
        const double swing = rest_socket(position, scene->model.socket + 6 * row).swing;
        const double beyond = (swing - of[SIM_SOCKET_HIGH][row]) * 180 / M_PI;
        if (of[SIM_SOCKET_STOP_KE][row] > 0 && beyond > worst->beyond)
            worst->turning = scene->ball + b, worst->beyond = beyond;
    }
    for (size_t s = 0; s < scene->sliders; s++) {
        const size_t row = scene->slider[s].row;
        const double at = rest_slide(position, scene->model.slide + 4 * row).position;
        const double beyond = fmax(at - of[SIM_SLIDE_HIGH][row], of[SIM_SLIDE_LOW][row] - at);
        if (of[SIM_SLIDE_STOP_KE][row] > 0 && beyond > worst->beyond_m)
            worst->slider = scene->slider + s, worst->beyond_m = beyond;
    }
}

// A simulation that is asked for touches alone, so it has no elements.
static Status open_probe(const SimScene *scene, SimPrecision precision, Sim **out, Error *err) {
    const SimOptions options = {.precision = precision, .threads = 1};
    SimModel model = scene->model;
    model.springs = model.tets = model.hinges = model.slides = model.sockets = 0;
    Status status = sim_open(&model, &options, out, err);
    return status == STATUS_OK ? sim_set(*out, &scene->values, err) : status;
}

double record_below(const SimScene *scene, const SceneObject **object) {
    const SimModel *m = &scene->model;
    double deepest = 0;
    *object = NULL;
    for (size_t k = 0; k < m->planes; k++)
        for (size_t o = 0; o < scene->object_count; o++) {
            const SceneObject *of = scene->objects + o;
            for (size_t i = of->particle; i < of->particle + scene_own_particles(of); i++) {
                const double *at = scene->values.of[SIM_POSITION] + 3 * i,
                             below = m->plane[k].offset - scene_height(&m->plane[k], at);
                if (m->fixed[i] || below <= deepest) continue;
                deepest = below;
                *object = of;
            }
        }
    return deepest;
}

RecordWorst record_start(const SimScene *scene) {
    const SimModel *m = &scene->model;
    RecordWorst out = {0};
    Error ignored; // what is wrong with the scene is told where it is run
    Sim *sim = NULL;
    double *gap = m->faces ? malloc(m->scenes * m->particles * sizeof *gap) : NULL;
    if (gap && open_probe(scene, SIM_F64, &sim, &ignored) == STATUS_OK &&
        sim_touching(sim, scene->values.of[SIM_POSITION], gap, &ignored) == STATUS_OK)
        record_note_inside(scene, gap, &out);
    sim_close(sim);
    free(gap);
    return out;
}

static Status keep(void *context, size_t frame, const double *position, const double *velocity, Error *err) {
    Record *record = context;
    const size_t N = record->scene->model.particles;
    RolloutFile *file = record->file;
    float *to = frame ? file->positions + (frame - 1) * 3 * N : file->sets[0].positions;
    (void)velocity;
    note_limits(record->scene, position, record->worst);
    Status status = record->probe ? sim_touching(record->probe, position, record->gap, err) : STATUS_OK;
    if (status == STATUS_OK && record->probe) record_note_inside(record->scene, record->gap, record->worst);
    for (size_t i = 0; i < N; i++) {
        double turned[3];
        scene_grow_box(record->box, position + 3 * i);
        scene_turn(record->scene, position + 3 * i, turned);
        for (int c = 0; c < 3; c++) to[3 * i + (size_t)c] = (float)turned[c];
        file->surface.touching[frame * N + i] =
            (record->probe && isfinite(record->gap[i])) || touches(&record->scene->model, i, position + 3 * i);
    }
    file->surface.frames = frame + 1;
    file->set_count = 1;
    file->steps = frame;
    return status;
}

// Names of the labels, one a line.
static char *label_names(const SimScene *scene) {
    char *out = malloc(16 + scene->object_count * SCENE_NAME_SIZE), *at = out;
    if (!out) return NULL;
    at = stpcpy(at, "background\n");
    for (size_t i = 0; i < scene->object_count; i++) at = stpcpy(stpcpy(at, scene->objects[i].name), "\n");
    return out;
}

static Status prepare(const SimScene *scene, RolloutFile *file, Error *err) {
    const size_t N = scene->model.particles, frames = (size_t)scene->frames;
    RolloutSet *set = &file->sets[0];
    *file = (RolloutFile){.time_step = scene->frame_time, .frame_stride = 1, .background = {1, 1, 1}};
    set->N = N;
    set->positions = calloc(N, 3 * sizeof(float));
    set->colour = calloc(N, 3);
    set->labels = calloc(N, sizeof *set->labels);
    set->radius = calloc(N, sizeof *set->radius);
    file->positions = calloc(frames * N, 3 * sizeof(float));
    file->time = calloc(frames + 1, sizeof *file->time);
    file->label_names = label_names(scene);
    if (!set->positions || !set->colour || !set->labels || !set->radius || !file->positions || !file->time ||
        !file->label_names)
        return error_no_memory(err, "%ld frames of %s", scene->frames, scene->path);
    const char *slash = strrchr(scene->path, '/');
    snprintf(file->episode, sizeof file->episode, "%s", slash ? slash + 1 : scene->path);
    for (size_t f = 0; f <= frames; f++) file->time[f] = (double)f * scene->frame_time;
    for (size_t o = 0; o < scene->object_count; o++) {
        const float radius = (float)spacing(scene, scene->objects + o);
        for (size_t i = 0; i < scene->objects[o].particles; i++) {
            const size_t at = scene->objects[o].particle + i;
            memcpy(set->colour + 3 * at, scene->objects[o].colour, 3);
            set->labels[at] = (uint16_t)(o + 1);
            set->radius[at] = i < scene_own_particles(scene->objects + o) ? radius : 0; // not drawn
        }
    }
    return STATUS_OK;
}

// Triangles and springs, as numbers of the scene's particles.
static Status add_surface(const SimScene *scene, RolloutFile *file, Error *err) {
    const SimModel *m = &scene->model;
    RolloutSurface *s = &file->surface;
    *s = (RolloutSurface){.triangles = scene->faces, .springs = m->springs - scene->joint_springs};
    s->triangle = calloc(3 * scene->faces + 1, sizeof *s->triangle);
    s->spring = calloc(2 * s->springs + 1, sizeof *s->spring);
    s->touching = calloc((size_t)scene->frames + 1, m->particles);
    if (!s->triangle || !s->spring || !s->touching)
        return error_no_memory(err, "%ld frames of %s", scene->frames, scene->path);
    for (size_t o = 0; o < scene->object_count; o++) {
        const SceneObject *object = scene->objects + o;
        for (size_t i = 3 * object->face; i < 3 * (object->face + object->faces); i++)
            s->triangle[i] = scene->face[i] + (int32_t)object->particle;
    }
    if (s->springs) memcpy(s->spring, m->spring, 2 * s->springs * sizeof *s->spring);
    return STATUS_OK;
}

static Status add_cameras(const SimScene *scene, RolloutFile *file, Error *err) {
    const ScenePicture *picture = &scene->picture;
    file->V = (int)picture->cameras, file->camera_frames = 1, file->H = picture->H, file->W = picture->W;
    file->intrinsics = calloc(picture->cameras, 9 * sizeof *file->intrinsics);
    file->world_from_camera = calloc(picture->cameras, 16 * sizeof *file->world_from_camera);
    file->heldout = calloc(picture->cameras, 1);
    if (!file->intrinsics || !file->world_from_camera || !file->heldout)
        return error_no_memory(err, "%ld frames of %s", scene->frames, scene->path);
    for (size_t v = 0; v < picture->cameras; v++) {
        memcpy(file->intrinsics + 9 * v, picture->camera[v].K, sizeof picture->camera[v].K);
        scene_turn_pose(scene, picture->camera[v].world_from_camera, file->world_from_camera + 16 * v);
    }
    for (int c = 0; c < 3; c++) file->background[c] = (float)picture->background[c];
    return STATUS_OK;
}

Status record_run(SimScene *scene, const SimOptions *on, RolloutFile *out, RecordWorst *worst, Error *err) {
    Record record = {.scene = scene,
                     .file = out,
                     .box = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY},
                     .worst = worst,
                     .gap = calloc(scene->model.particles, sizeof(double))};
    const SimOptions options = scene_options_on(scene, on);
    SimRun run = scene_run(scene);
    Sim *sim = NULL;
    run.keep = keep;
    run.context = &record;
    Status status = prepare(scene, out, err);
    if (status == STATUS_OK) status = add_surface(scene, out, err);
    if (status == STATUS_OK) status = scene_failed(scene, sim_open(&scene->model, &options, &sim, err), err);
    if (status == STATUS_OK) status = scene_failed(scene, sim_set(sim, &scene->values, err), err);
    if (status == STATUS_OK && scene->model.faces)
        status = record.gap ? open_probe(scene, scene->precision, &record.probe, err)
                            : error_no_memory(err, "%ld frames of %s", scene->frames, scene->path);
    if (status == STATUS_OK) status = scene_failed(scene, sim_rollout(sim, &run, err), err);
    sim_close(sim);
    sim_close(record.probe);
    free(record.gap);
    if (out->set_count) {
        Error later;
        scene_aim(scene, record.box);
        Status added = add_cameras(scene, out, status == STATUS_OK ? err : &later);
        if (status == STATUS_OK) status = added;
    }
    if (!out->set_count) rollout_file_free(out);
    return status;
}
