// SPDX-License-Identifier: Apache-2.0
#include "view/scene.h"

#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEP_HEAD = 6 * sizeof(float) };

static Status no_memory(Error *err) { return error_set(err, STATUS_FAILED, "out of memory for the viewer"); }

static size_t padded(size_t bytes) { return (bytes + 3) / 4 * 4; }

void view_find_up(ViewScene *scene) {
    rollout_up(scene->surface, scene->world_from_camera, (size_t)scene->V, scene->up);
}

// ---- which particles

// Objects that the model takes to stand still may move in truth, and both are shown in one order.
static bool moves(const ViewScene *scene, size_t i) {
    return !scene->body || scene->body[i] >= 0 || (scene->labels && scene->labels[i] > 0);
}

// Hidden points are not.
static bool is_drawn(const ViewScene *scene, size_t i) { return !scene->radius || scene->radius[i] != 0; }

// Of every second, third, .. particle.
static void count_shown(const ViewScene *scene, size_t every, ViewOrder *out) {
    *out = (ViewOrder){.every = every};
    for (size_t i = 0; i < scene->count; i += every) {
        out->shown += is_drawn(scene, i);
        out->movers += is_drawn(scene, i) && moves(scene, i);
    }
}

Status view_order(const ViewScene *scene, size_t steps, ViewOrder *out, Error *err) {
    size_t drawn = 0;
    for (size_t every = 1;; every++) {
        count_shown(scene, every, out);
        if (every == 1) drawn = out->shown;
        if (out->shown <= VIEW_PARTICLES_MAX && (out->movers == 0 || steps <= VIEW_BYTES_MAX / (6 * out->movers)))
            break;
    }
    out->drawn = drawn;
    size_t at[2] = {0, out->movers};
    out->index = malloc((out->shown + 1) * sizeof *out->index);
    if (!out->index) return no_memory(err);
    for (size_t i = 0; i < scene->count; i += out->every)
        if (is_drawn(scene, i)) out->index[at[!moves(scene, i)]++] = (uint32_t)i;
    return STATUS_OK;
}

void view_order_free(ViewOrder *order) {
    free(order->index);
    *order = (ViewOrder){0};
}

// ---- bytes

// Makes room for `size` more bytes, which are zero; NULL without memory.
static unsigned char *extend(ViewBytes *out, size_t size) {
    unsigned char *data = realloc(out->data, out->size + size + 1);
    if (!data) return NULL;
    out->data = data;
    data += out->size;
    out->size += size;
    return memset(data, 0, size);
}

static uint16_t unit16(double x) { return x > 0 ? (uint16_t)lrint(65535 * fmin(x, 1)) : 0; }

Status view_put_step(const float *positions, const ViewOrder *order, size_t step, ViewBytes *out, Error *err) {
    size_t n = step == 0 ? order->shown : order->movers;
    unsigned char *data = extend(out, STEP_HEAD + padded(6 * n));
    float box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY};
    if (!data) return no_memory(err);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++) {
            float x = positions[3 * (size_t)order->index[i] + c];
            box[c] = fminf(box[c], x);
            box[3 + c] = fmaxf(box[3 + c], x);
        }
    for (int c = 0; c < 6; c++)
        if (!isfinite(box[c])) box[c] = 0;
    memcpy(data, box, sizeof box);
    for (size_t i = 0; i < 3 * n; i++) {
        size_t c = i % 3;
        double wide = (double)box[3 + c] - (double)box[c],
               x = (double)positions[3 * (size_t)order->index[i / 3] + c] - (double)box[c];
        uint16_t value = wide > 0 ? unit16(x / wide) : 0;
        memcpy(data + STEP_HEAD + 2 * i, &value, 2);
    }
    return STATUS_OK;
}

static json_t *numbers(const double *values, int count) {
    json_t *list = json_array();
    for (int i = 0; i < count; i++) json_array_append_new(list, json_finite(values[i]));
    return list;
}

static json_t *cameras(const ViewScene *scene) {
    json_t *list = json_array();
    for (int v = 0; v < scene->V; v++)
        json_array_append_new(list, json_pack("{s:o s:o}", "intrinsics", numbers(scene->intrinsics + 9 * v, 9), "pose",
                                              numbers(scene->world_from_camera + 16 * v, 16)));
    return list;
}

static double largest_radius(const ViewScene *scene) {
    double largest = 0;
    for (size_t i = 0; scene->radius && i < scene->count; i++)
        if (isfinite(scene->radius[i])) largest = fmax(largest, (double)scene->radius[i]);
    return largest;
}

// The JSON, with spaces behind it up to a multiple of 4 bytes.
static Status put_json(const ViewScene *scene, const ViewOrder *order, double radius, ViewBytes *out, Error *err) {
    const RolloutSurface *s = order->every == 1 && scene->surface ? scene->surface : &(RolloutSurface){0};
    json_t *box =
        scene->bounds ? json_pack("[o, o]", numbers(scene->bounds, 3), numbers(scene->bounds + 3, 3)) : json_null();
    json_t *head =
        json_pack("{s:I s:I s:I s:I s:I s:f s:f s:b s:b s:o s:o s:o s:[i,i] s:o s:o s:[I,I,I]}", "particles",
                  (json_int_t)order->drawn, "shown", (json_int_t)order->shown, "movers", (json_int_t)order->movers,
                  "every", (json_int_t)order->every, "steps", (json_int_t)scene->steps, "time_step", scene->time_step,
                  "radius", radius, "labelled", scene->labels != NULL, "bodies", scene->body != NULL, "cameras",
                  cameras(scene), "name", json_text(scene->name), "labels", json_text(scene->label_names), "size",
                  scene->W, scene->H, "bounds", box, "up", numbers(scene->up, 3), "surface", (json_int_t)s->triangles,
                  (json_int_t)s->springs, (json_int_t)(s->frames == scene->steps + 1 ? s->frames : 0));
    char *words = head ? json_dumps(head, JSON_COMPACT) : NULL;
    json_decref(head);
    size_t length = words ? strlen(words) : 0;
    uint32_t size = (uint32_t)padded(length);
    unsigned char *data = words ? extend(out, sizeof size + size) : NULL;
    if (data) {
        memcpy(data, &size, sizeof size);
        memset(data + sizeof size, ' ', size);
        memcpy(data + sizeof size, words, length); // NOLINT(bugprone-not-null-terminated-result): its size is said
    }
    free(words);
    return data ? STATUS_OK : no_memory(err);
}

Status view_put_head(const ViewScene *scene, const ViewOrder *order, ViewBytes *out, Error *err) {
    size_t n = order->shown, part = padded(2 * n);
    double radius = largest_radius(scene);
    Status status = put_json(scene, order, radius, out, err);
    unsigned char *data = status == STATUS_OK ? extend(out, 4 * n + 3 * part) : NULL;
    if (!data) return status == STATUS_OK ? no_memory(err) : status;
    for (size_t k = 0; k < n; k++) {
        size_t i = order->index[k];
        uint16_t values[3] = {scene->radius && radius > 0 ? unit16((double)scene->radius[i] / radius) : 0,
                              scene->labels ? scene->labels[i] : 0, 0};
        if (scene->body && scene->body[i] >= 0 && scene->body[i] < UINT16_MAX)
            values[2] = (uint16_t)(scene->body[i] + 1);
        for (size_t c = 0; c < 3; c++) data[4 * k + c] = scene->colour ? scene->colour[3 * i + c] : 160;
        for (size_t a = 0; a < 3; a++) memcpy(data + 4 * n + a * part + 2 * k, values + a, 2);
    }
    return STATUS_OK;
}

static ViewScene view_of_file(const RolloutFile *file) {
    const RolloutSet *now = &file->sets[0];
    ViewScene view = {.count = now->N,
                      .steps = file->steps,
                      .colour = now->colour,
                      .radius = now->radius,
                      .labels = now->labels,
                      .body = now->body,
                      .time_step = file->time_step,
                      .V = file->V,
                      .H = file->H,
                      .W = file->W,
                      .intrinsics = file->intrinsics,
                      .world_from_camera = file->world_from_camera,
                      .name = file->episode,
                      .label_names = file->label_names,
                      .bounds = file->has_bounds ? file->bounds : NULL,
                      .surface = &file->surface};
    view_find_up(&view);
    return view;
}

static void put_corners(const int32_t *corners, size_t count, const uint32_t *place, unsigned char *data) {
    for (size_t i = 0; i < count; i++) memcpy(data + 4 * i, place + corners[i], 4);
}

// Triangles, springs and contact of a file all of whose particles are shown.
static Status put_surface(const RolloutFile *file, const ViewOrder *order, ViewBytes *out, Error *err) {
    const RolloutSurface *s = &file->surface;
    const size_t frames = s->frames == file->steps + 1 ? s->frames : 0, m = order->movers;
    if (order->every > 1 || !(s->triangles + s->springs + frames)) return STATUS_OK;
    uint32_t *place = calloc(file->sets[0].N + 1, sizeof *place);
    unsigned char *data = place ? extend(out, 12 * s->triangles + 8 * s->springs + padded(frames * m)) : NULL;
    for (size_t k = 0; data && k < order->shown; k++) place[order->index[k]] = (uint32_t)k;
    if (data) {
        put_corners(s->triangle, 3 * s->triangles, place, data);
        put_corners(s->spring, 2 * s->springs, place, data + 12 * s->triangles);
        unsigned char *touching = data + 12 * s->triangles + 8 * s->springs;
        for (size_t i = 0; i < frames * m; i++)
            touching[i] = s->touching[i / m * file->sets[0].N + order->index[i % m]];
    }
    free(place);
    return data ? STATUS_OK : no_memory(err);
}

Status view_file_bytes(const RolloutFile *file, ViewBytes *out, Error *err) {
    const RolloutSet *now = &file->sets[0];
    ViewScene view = view_of_file(file);
    ViewOrder order = {0};
    *out = (ViewBytes){0};
    Status status = view_order(&view, view.steps, &order, err);
    if (status == STATUS_OK) status = view_put_head(&view, &order, out, err);
    for (size_t s = 0; s <= view.steps && status == STATUS_OK; s++)
        status = view_put_step(s == 0 ? now->positions : file->positions + (s - 1) * 3 * now->N, &order, s, out, err);
    if (status == STATUS_OK) status = put_surface(file, &order, out, err);
    view_order_free(&order);
    if (status == STATUS_OK) return status;
    free(out->data);
    *out = (ViewBytes){0};
    return status;
}
