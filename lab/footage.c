// SPDX-License-Identifier: Apache-2.0
#include "lab/footage.h"

#include "base/horn.h"
#include "base/vector.h"
#include "lab/allocate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void footage_free(Footage *f) {
    free(f->position);
    free(f->velocity);
    *f = (Footage){0};
}

Status footage_run(SimScene *scene, const SimOptions *on, Footage *out, Error *err) {
    const SimOptions options = scene_options_on(scene, on);
    SimRun run = scene_run(scene);
    Sim *sim = NULL;
    const size_t row = 3 * scene->model.particles;
    *out = (Footage){sim_frames(&run), .box = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    out->position = calloc(out->frames * row, sizeof(double));
    out->velocity = calloc(out->frames * row, sizeof(double));
    SimArrays arrays = {row, out->position, out->velocity};
    run.keep = sim_keep_arrays;
    run.context = &arrays;
    Status status = out->position && out->velocity
                        ? STATUS_OK
                        : error_no_memory(err, "%ld frames of %s", scene->frames, scene->path);
    if (status == STATUS_OK) status = scene_failed(scene, sim_open(&scene->model, &options, &sim, err), err);
    if (status == STATUS_OK) status = scene_failed(scene, sim_set(sim, &scene->values, err), err);
    const bool began = status == STATUS_OK;
    if (status == STATUS_OK) status = scene_failed(scene, sim_rollout(sim, &run, err), err);
    sim_close(sim);
    if (status == STATUS_OK) {
        for (size_t i = 0; i < out->frames * row; i += 3) scene_grow_box(out->box, out->position + i);
        scene_aim(scene, out->box);
    } else footage_free(out);
    out->began = began;
    return status;
}

void footage_bytes(const double *colour, size_t pixels, uint8_t *out) {
    for (size_t i = 0; i < 3 * pixels; i++) out[i] = (uint8_t)lround(255 * fmin(fmax(colour[i], 0), 1));
}

// ---- where objects are

static void find_centre(const SimScene *scene, const SceneObject *object, const double *x, double out[3]) {
    const double *mass = scene->values.of[SIM_MASS];
    double total = 0;
    out[0] = out[1] = out[2] = 0;
    for (size_t i = object->particle; i < object->particle + object->particles; i++) {
        for (size_t c = 0; c < 3; c++) out[c] += mass[i] * x[3 * i + c];
        total += mass[i];
    }
    for (int c = 0; c < 3; c++) out[c] /= total;
}

// The pose of an object at positions x: its centre of mass, and the rotation that takes the rest pose nearest to x.
static void find_pose(const SimScene *scene, const SceneObject *object, const double *x, double place[3],
                      double quaternion[4]) {
    const double *mass = scene->values.of[SIM_MASS], *rest = scene->values.of[SIM_REST];
    double middle[3], S[9] = {0};
    find_centre(scene, object, rest, middle);
    find_centre(scene, object, x, place);
    for (size_t i = object->particle; i < object->particle + object->particles; i++) {
        double a[3], b[3];
        for (size_t c = 0; c < 3; c++) {
            a[c] = rest[3 * i + c] - middle[c];
            b[c] = x[3 * i + c] - place[c];
        }
        scene_turn(scene, a, a);
        scene_turn(scene, b, b);
        for (int k = 0; k < 9; k++) S[k] += mass[i] * a[k / 3] * b[k % 3];
    }
    scene_turn(scene, place, place);
    horn_rotation(S, quaternion);
}

// ---- the data set

typedef struct Copy { // what an episode's arrays are made in
    double *time, *K, *pose, *place, *quaternion, *vertex;
    uint16_t *owner;
    Property *property;
    double bounds[6];
} Copy;

static void copy_free(Copy *copy) {
    free(copy->time);
    free(copy->K);
    free(copy->pose);
    free(copy->place);
    free(copy->quaternion);
    free(copy->vertex);
    free(copy->owner);
    free(copy->property);
}

static bool copy_make(const SimScene *scene, const Footage *footage, size_t drawn, Copy *out) {
    const size_t F = footage->frames, O = scene->object_count, V = scene->picture.cameras, N = scene->model.particles;
    bool good = true;
    *out = (Copy){.time = allocate(F, sizeof(double), &good)};
    out->K = allocate(V, 9 * sizeof(double), &good);
    out->pose = allocate(V, 16 * sizeof(double), &good);
    out->place = allocate(F * O, 3 * sizeof(double), &good);
    out->quaternion = allocate(F * O, 4 * sizeof(double), &good);
    out->vertex = allocate(F * N, 3 * sizeof(double), &good);
    out->owner = allocate(N, sizeof *out->owner, &good);
    out->property = allocate(O + drawn, sizeof *out->property, &good);
    return good;
}

static void copy_states(const SimScene *scene, const Footage *footage, Copy *out) {
    const size_t O = scene->object_count, N = scene->model.particles;
    for (size_t f = 0; f < footage->frames; f++) {
        out->time[f] = (double)f * scene->frame_time;
        for (size_t o = 0; o < O; o++) {
            double *q = out->quaternion + 4 * (f * O + o), along = 0;
            find_pose(scene, scene->objects + o, footage->position + 3 * f * N, out->place + 3 * (f * O + o), q);
            for (int c = 0; c < 4 && f; c++) along += q[c] * q[c - 4 * (long)O];
            for (int c = 0; c < 4 && along < 0; c++) q[c] = -q[c]; // the sign goes on
        }
    }
    for (size_t i = 0; i < footage->frames * N; i++) scene_turn(scene, footage->position + 3 * i, out->vertex + 3 * i);
}

static void copy_rest(const SimScene *scene, const Footage *footage, Copy *out) {
    double corner[2][3], edge = 0;
    for (size_t v = 0; v < scene->picture.cameras; v++) {
        memcpy(out->K + 9 * v, scene->picture.camera[v].K, 9 * sizeof(double));
        scene_turn_pose(scene, scene->picture.camera[v].world_from_camera, out->pose + 16 * v);
    }
    for (size_t o = 0; o < scene->object_count; o++) {
        const SceneObject *object = scene->objects + o;
        snprintf(out->property[o].name, sizeof out->property[o].name, "object%zu_mass", o);
        for (size_t i = object->particle; i < object->particle + object->particles; i++) {
            out->owner[i] = (uint16_t)(o + 1);
            out->property[o].value += scene->values.of[SIM_MASS][i];
        }
    }
    scene_turn(scene, footage->box, corner[0]);
    scene_turn(scene, footage->box + 3, corner[1]);
    for (int c = 0; c < 3; c++) edge = fmax(edge, fabs(corner[1][c] - corner[0][c]));
    for (int c = 0; c < 3; c++) { // some room on each side
        out->bounds[c] = fmin(corner[0][c], corner[1][c]) - 0.05 * fmax(edge, 0.02);
        out->bounds[3 + c] = fmax(corner[0][c], corner[1][c]) + 0.05 * fmax(edge, 0.02);
    }
}

static Status write_pixels(DatasetWriter *writer, const SimScene *scene, const Footage *footage, const SimOptions *on,
                           Error *err) {
    const ScenePicture *p = &scene->picture;
    const size_t pixels = (size_t)p->H * (size_t)p->W, N = scene->model.particles;
    const SimOptions options = scene_options_on(scene, on);
    bool good = true;
    Render *render = NULL;
    double *colour = allocate(3 * pixels, sizeof *colour, &good), *depth = allocate(pixels, sizeof *depth, &good);
    uint8_t *rgb = allocate(pixels, 3, &good);
    float *metres = allocate(pixels, sizeof *metres, &good);
    uint16_t *mask = allocate(pixels, sizeof *mask, &good);
    const RenderPicture picture = {colour, NULL, depth, mask};
    Status status = good ? STATUS_OK : error_no_memory(err, "%ld frames of %s", scene->frames, scene->path);
    if (status == STATUS_OK) status = render_open(scene, &options, &render, err);
    for (size_t i = 0; i < footage->frames * p->cameras && status == STATUS_OK; i++) {
        const size_t frame = i / p->cameras, view = i % p->cameras;
        PackedImage image;
        status = render_draw(render, p->camera + view, footage->position + 3 * frame * N, &picture, err);
        if (status != STATUS_OK) break;
        footage_bytes(colour, pixels, rgb);
        for (size_t k = 0; k < pixels; k++) metres[k] = (float)depth[k];
        status = dataset_writer_pack(writer, rgb, metres, mask, &image, err);
        if (status == STATUS_OK) status = dataset_writer_put_packed(writer, (int)frame, (int)view, &image, err);
        packed_image_free(&image);
    }
    render_close(render);
    free(colour);
    free(depth);
    free(rgb);
    free(metres);
    free(mask);
    return status;
}

static Status copy_drawn(const FitFree *drawn, const double *x, Property *out, Error *err) {
    for (size_t i = 0; i < drawn->count; i++) {
        const char *name = drawn->variable[i].name;
        const size_t length = strlen(name);
        if (length >= sizeof out[i].name)
            return error_set(err, STATUS_BAD_INPUT, "%s: %s: a data set's properties have names of at most %zu bytes",
                             drawn->path, name, sizeof out[i].name - 1);
        memcpy(out[i].name, name, length + 1);
        out[i].value = x[i];
    }
    return STATUS_OK;
}

static Status write_episode(DatasetWriter *writer, const SimScene *scene, const Footage *footage, Split split,
                            const Copy *copy, size_t properties, const SimOptions *on, Error *err) {
    const size_t F = footage->frames, N = scene->model.particles;
    const EpisodeInfo info = {.source = "vpd sim render",
                              .scene = scene->path,
                              .split = split,
                              .F = (int)F,
                              .V = (int)scene->picture.cameras,
                              .H = scene->picture.H,
                              .W = scene->picture.W,
                              .O = (int)scene->object_count,
                              .has_mask = true,
                              .depth_scale = 1,
                              .intrinsics = copy->K,
                              .world_from_camera = copy->pose,
                              .time = copy->time,
                              .bounds = copy->bounds,
                              .object_position = copy->place,
                              .object_quaternion = copy->quaternion,
                              .properties = copy->property,
                              .property_count = (int)properties};
    Status status = dataset_writer_begin_episode(writer, &info, err);
    if (status == STATUS_OK)
        status = dataset_writer_put_state(writer, "vertices", H5_F64, 3, (size_t[]){F, N, 3}, copy->vertex, err);
    if (status == STATUS_OK)
        status = dataset_writer_put_state(writer, "vertex_object", H5_U16, 1, &N, copy->owner, err);
    if (status == STATUS_OK) status = write_pixels(writer, scene, footage, on, err);
    return status == STATUS_OK ? dataset_writer_end_episode(writer, err) : status;
}

Status footage_open(const char *path, DatasetWriter **out, Error *err) {
    const WriterOptions options = {.generator = "vpd sim render", .missing_depth = MISSING_SKY};
    return dataset_writer_open(path, &options, out, err);
}

Status footage_add(DatasetWriter *writer, const SimScene *scene, const Footage *footage, Split split,
                   const FitFree *drawn, const double *x, const SimOptions *on, Error *err) {
    Copy copy;
    Status status = copy_make(scene, footage, drawn->count, &copy)
                        ? STATUS_OK
                        : error_no_memory(err, "%ld frames of %s", scene->frames, scene->path);
    if (status == STATUS_OK) {
        copy_states(scene, footage, &copy);
        copy_rest(scene, footage, &copy);
        status = copy_drawn(drawn, x, copy.property + scene->object_count, err);
    }
    if (status == STATUS_OK)
        status = write_episode(writer, scene, footage, split, &copy, scene->object_count + drawn->count, on, err);
    copy_free(&copy);
    return status;
}
