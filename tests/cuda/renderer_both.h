// SPDX-License-Identifier: Apache-2.0
// What the renderer makes of a scene, copied to the host, to compare one device with another.
#ifndef VPD_TESTS_CUDA_RENDERER_BOTH_H
#define VPD_TESTS_CUDA_RENDERER_BOTH_H

#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/renderer_scene.h"

enum { MADE_ITEMS = 32, MADE_LABELS = 5 };

typedef struct MadeItem {
    const char *name;
    bool exact; // bytes that must be equal; else reals
    size_t bytes;
    void *host;
} MadeItem;

typedef struct Made {
    Device *device;
    size_t count;
    MadeItem item[MADE_ITEMS];
} Made;

// Room for an item.
static inline void *made_item(Made *m, const char *name, bool exact, size_t bytes) {
    void *host = calloc(1, bytes + 1);
    assert_true(host && m->count < MADE_ITEMS);
    m->item[m->count++] = (MadeItem){name, exact, bytes, host};
    return host;
}

static inline void made_number(Made *m, const char *name, size_t number) {
    memcpy(made_item(m, name, true, sizeof number), &number, sizeof number);
}

static inline void made_add(Made *m, const char *name, bool exact, const void *from, size_t bytes) {
    void *host = made_item(m, name, exact, bytes);
    if (bytes) m->device->nn->download(m->device, host, from, bytes);
}

static inline void made_free(Made *m) {
    for (size_t i = 0; i < m->count; i++) free(m->item[i].host);
}

static inline void made_index(Made *m, const RendererIndex *index) {
    IndexFound found;
    m->device->nn->download(m->device, &found, index->found, sizeof found);
    assert_true(found.entries <= index->room);
    made_number(m, "entries", found.entries);
    made_number(m, "left out", found.left_out);
    made_number(m, "levels", (size_t)found.levels);
    made_add(m, "packed", true, index->packed, index->count * 4 * sizeof(real));
    made_add(m, "starts of buckets", true, index->start, (index_buckets(index) + 1) * sizeof(int32_t));
    made_add(m, "lists of buckets", true, index->entry, found.entries * sizeof(int32_t));
    for (int level = 1; level <= found.levels; level++)
        made_add(m, "level", true, index->level[level], index->scenes * ((size_t)index->level_mask[level] + 1));
}

static inline void made_samples(Made *m, const RendererSamples *samples) {
    SamplesFound found;
    int32_t used;
    m->device->nn->download(m->device, &found, samples->found, sizeof found);
    m->device->nn->download(m->device, &used, samples->start + samples->rays, sizeof used);
    size_t count = (size_t)used;
    assert_true(count <= samples->count);
    made_number(m, "samples", count);
    made_number(m, "candidates", found.candidates);
    made_number(m, "cells", found.cells);
    made_add(m, "starts of rays", true, samples->start, (samples->rays + 1) * sizeof(int32_t));
    made_add(m, "rays of samples", true, samples->ray, count * sizeof(int32_t));
    made_add(m, "places of samples", true, samples->z, count * sizeof(real));
    made_add(m, "neighbours", true, samples->neighbour, count * (size_t)samples->neighbours * sizeof(int32_t));
}

static inline void made_tensor(Made *m, const char *name, const real *from, const Tensor *t) {
    made_add(m, name, false, from, from ? t->rows * t->cols * sizeof(real) : 0);
}

static inline void made_labels(Made *m, Scene *s, const Drawn *d) {
    int32_t *host = calloc(s->N + 1, sizeof *host), *label = tape_memory(&s->tape, s->N, sizeof *label);
    assert_true(host && label);
    for (size_t i = 0; i < s->N; i++) host[i] = (int32_t)(i * 7 % (MADE_LABELS + 2)) - 1; // some are no label
    s->device->nn->upload(s->device, label, host, s->N * sizeof *host);
    free(host);
    const Tensor *out =
        renderer_blend_labels(&s->tape, &s->renderer, &d->particles, d->rays, d->samples, &d->out, label, MADE_LABELS);
    made_tensor(m, "labels", out->value, out);
}

static inline void made_backward(Made *m, Scene *s, Drawn *d) {
    Tensor *parts[3] = {d->out.colour, d->out.opacity, d->out.depth};
    parameters_zero_grad(&s->set);
    for (int p = 0; p < 3; p++) {
        size_t count = parts[p]->rows * parts[p]->cols;
        real *host = calloc(count + 1, sizeof *host);
        assert_non_null(host);
        for (size_t i = 0; i < count; i++) host[i] = (real)scene_upstream(p, i);
        s->device->nn->upload(s->device, tape_grad(&s->tape, parts[p]), host, count * sizeof *host);
        free(host);
    }
    tape_backward_from_grads(&s->tape);
    made_tensor(m, "dx", d->particles.x->grad, d->particles.x);
    made_tensor(m, "df", d->particles.f->grad, d->particles.f);
    for (int i = 0; i < 3; i++) {
        made_tensor(m, "dweight", s->renderer.weight[i]->grad, s->renderer.weight[i]);
        made_tensor(m, "dbias", s->renderer.bias[i]->grad, s->renderer.bias[i]);
    }
}

// Index, samples, picture, labels and gradients of the scene.
static inline Made made_of_scene(Scene *s) {
    Made m = {.device = s->device};
    Error err = {0};
    tape_reset(&s->tape);
    s->tape.recording = true;
    Drawn d = {0};
    scene_place(s, &d);
    d.out = renderer_forward(&s->tape, &s->renderer, &d.particles, d.rays, d.samples);
    if (device_status(s->device, &err) != STATUS_OK) fail_msg("%s (%s)", err.text, cuda_on_cpu_report());
    made_index(&m, d.index);
    made_samples(&m, d.samples);
    made_tensor(&m, "colour", d.out.colour->value, d.out.colour);
    made_tensor(&m, "opacity", d.out.opacity->value, d.out.opacity);
    made_tensor(&m, "depth", d.out.depth->value, d.out.depth);
    made_labels(&m, s, &d);
    made_backward(&m, s, &d);
    if (device_status(s->device, &err) != STATUS_OK) fail_msg("%s (%s)", err.text, cuda_on_cpu_report());
    return m;
}

// Largest difference relative to the largest value; infinite when there is no number.
static inline double made_error(const real *a, const real *b, size_t count) {
    double error = 0, size = 1e-30;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        if (!isfinite(difference)) return INFINITY;
        error = fmax(error, difference);
        size = fmax(size, fabs((double)b[i]));
    }
    return error / size;
}

// Whether an item of `got` is not that of `want`; its name and error go to `what`. Reals may differ by `tolerance` of
// the largest.
static inline bool made_differs(const Made *got, const Made *want, double tolerance, char what[96]) {
    snprintf(what, 96, "the number of items differs");
    if (got->count != want->count) return true;
    for (size_t i = 0; i < want->count; i++) {
        const MadeItem *a = &got->item[i], *b = &want->item[i];
        double error = a->bytes != b->bytes || (a->exact && memcmp(a->host, b->host, a->bytes)) ? INFINITY : 0;
        if (!a->exact && error == 0) error = made_error(a->host, b->host, a->bytes / sizeof(real));
        snprintf(what, 96, "%s is off by %.3g", a->name, error);
        if (!(error <= tolerance)) return true;
    }
    return false;
}

#endif
