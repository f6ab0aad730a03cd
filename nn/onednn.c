// SPDX-License-Identifier: Apache-2.0
#include "nn/onednn.h"

#include "base/check.h"

#ifndef VPD_DOUBLE
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

// ---- what differs between version 2 and version 3

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t Desc; // a handle
static dnnl_status_t desc_make(Desc *d, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    return dnnl_memory_desc_create_with_tag(d, rank, dims, dnnl_f32, tag);
}
static void desc_free(Desc d) {
    if (d) dnnl_memory_desc_destroy(d);
}
#define DESC_ARG(d) (d)
typedef const_dnnl_memory_desc_t DescView;
#else
typedef dnnl_memory_desc_t Desc; // a struct
static dnnl_status_t desc_make(Desc *d, int rank, const dnnl_dims_t dims, dnnl_format_tag_t tag) {
    return dnnl_memory_desc_init_by_tag(d, rank, dims, dnnl_f32, tag);
}
static void desc_free(Desc d) { (void)d; }
#define DESC_ARG(d) (&(d))
typedef const dnnl_memory_desc_t *DescView;
#endif

typedef enum Kind { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS, KIND_COUNT } Kind;

typedef struct Descs {
    Desc x, weight_any, weight_user, bias, y;
} Descs;

// One direction of one shape.
typedef struct Primitive {
    dnnl_primitive_desc_t description;
    dnnl_primitive_t run, reorder;  // reorder: weights between (3,3,in,out) and the layout that oneDNN chose
    dnnl_memory_t x, weight, weight_user, bias, y, scratch;
    size_t weight_bytes, scratch_bytes;
} Primitive;

typedef struct Convolution {
    ImageShape shape;
    size_t in, out;
    Primitive kinds[KIND_COUNT];
    bool made[KIND_COUNT];
} Convolution;

typedef struct State {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    Convolution *items;
    size_t count, capacity;
} State;

// ---- making primitives

static dnnl_status_t make_descs(const Convolution *c, Descs *d) {
    dnnl_dim_t n = (dnnl_dim_t)c->shape.n, h = (dnnl_dim_t)c->shape.h, w = (dnnl_dim_t)c->shape.w, in = (dnnl_dim_t)c->in, out = (dnnl_dim_t)c->out;
    dnnl_status_t status = desc_make(&d->x, 4, (dnnl_dims_t){n, in, h, w}, dnnl_nhwc);
    if (!status) status = desc_make(&d->weight_any, 4, (dnnl_dims_t){out, in, 3, 3}, dnnl_format_tag_any);
    if (!status) status = desc_make(&d->weight_user, 4, (dnnl_dims_t){out, in, 3, 3}, dnnl_hwio);
    if (!status) status = desc_make(&d->bias, 1, (dnnl_dims_t){out}, dnnl_x);
    if (!status) status = desc_make(&d->y, 4, (dnnl_dims_t){n, out, h, w}, dnnl_nhwc);
    return status;
}

static void free_descs(Descs *d) {
    desc_free(d->x);
    desc_free(d->weight_any);
    desc_free(d->weight_user);
    desc_free(d->bias);
    desc_free(d->y);
}

static const dnnl_dims_t ones = {1, 1};

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t describe(State *s, Kind kind, const Descs *d, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out) {
    static const dnnl_dims_t none = {0, 0};
    if (kind == FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(out, s->engine, dnnl_forward_training, dnnl_convolution_direct, d->x, d->weight_any, d->bias, d->y, ones, none, ones, ones, attr);
    if (kind == BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(out, s->engine, dnnl_convolution_direct, d->x, d->weight_any, d->y, ones, none, ones, ones, hint, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(out, s->engine, dnnl_convolution_direct, d->x, d->weight_any, d->bias, d->y, ones, none, ones, ones, hint, attr);
}
#else
static dnnl_status_t describe(State *s, Kind kind, const Descs *d, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out) {
    dnnl_convolution_desc_t c;
    dnnl_status_t status;
    if (kind == FORWARD)
        status = dnnl_convolution_forward_desc_init(&c, dnnl_forward_training, dnnl_convolution_direct, &d->x, &d->weight_any, &d->bias, &d->y, ones, ones, ones);
    else if (kind == BACKWARD_DATA)
        status = dnnl_convolution_backward_data_desc_init(&c, dnnl_convolution_direct, &d->x, &d->weight_any, &d->y, ones, ones, ones);
    else
        status = dnnl_convolution_backward_weights_desc_init(&c, dnnl_convolution_direct, &d->x, &d->weight_any, &d->bias, &d->y, ones, ones, ones);
    return status ? status : dnnl_primitive_desc_create(out, &c, attr, s->engine, hint);
}
#endif

static dnnl_status_t make_memory(State *s, DescView desc, dnnl_memory_t *out) { return dnnl_memory_create(out, desc, s->engine, DNNL_MEMORY_NONE); }

static dnnl_status_t make_reorder(State *s, Kind kind, DescView user, DescView chosen, Primitive *p) {
    dnnl_primitive_desc_t description;
    bool to_user = kind == BACKWARD_WEIGHTS;
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&description, to_user ? chosen : user, s->engine, to_user ? user : chosen, s->engine, NULL);
    if (status) return status;
    status = dnnl_primitive_create(&p->reorder, description);
    dnnl_primitive_desc_destroy(description);
    return status;
}

static dnnl_status_t make_memories(State *s, Kind kind, const Descs *d, Primitive *p) {
    DescView weight = dnnl_primitive_desc_query_md(p->description, kind == BACKWARD_WEIGHTS ? dnnl_query_diff_weights_md : dnnl_query_weights_md, 0);
    DescView scratch = dnnl_primitive_desc_query_md(p->description, dnnl_query_scratchpad_md, 0);
    p->weight_bytes = dnnl_memory_desc_get_size(weight);
    p->scratch_bytes = dnnl_memory_desc_get_size(scratch);
    dnnl_status_t status = make_memory(s, DESC_ARG(d->x), &p->x);
    if (!status) status = make_memory(s, weight, &p->weight);
    if (!status) status = make_memory(s, DESC_ARG(d->weight_user), &p->weight_user);
    if (!status) status = make_memory(s, DESC_ARG(d->bias), &p->bias);
    if (!status) status = make_memory(s, DESC_ARG(d->y), &p->y);
    if (!status) status = make_memory(s, scratch, &p->scratch);
    return status ? status : make_reorder(s, kind, DESC_ARG(d->weight_user), weight, p);
}

static void free_primitive(Primitive *p) {
    dnnl_memory_t memories[] = {p->x, p->weight, p->weight_user, p->bias, p->y, p->scratch};
    for (size_t i = 0; i < sizeof memories / sizeof *memories; i++)
        if (memories[i]) dnnl_memory_destroy(memories[i]);
    if (p->run) dnnl_primitive_destroy(p->run);
    if (p->reorder) dnnl_primitive_destroy(p->reorder);
    if (p->description) dnnl_primitive_desc_destroy(p->description);
    *p = (Primitive){0};
}

static dnnl_status_t make_primitive(State *s, Convolution *c, Kind kind) {
    Descs d = {0};
    Primitive *p = &c->kinds[kind];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);
    if (!status) status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!status) status = make_descs(c, &d);
    if (!status) status = describe(s, kind, &d, attr, c->kinds[FORWARD].description, &p->description);
    if (!status) status = dnnl_primitive_create(&p->run, p->description);
    if (!status) status = make_memories(s, kind, &d, p);
    if (status) free_primitive(p);
    c->made[kind] = !status;
    if (attr) dnnl_primitive_attr_destroy(attr);
    free_descs(&d);
    return status;
}

// ---- the cache

static State *get_state(Device *device) {
    if (device->state) return device->state;
    State *s = calloc(1, sizeof *s);
    if (!s || dnnl_engine_create(&s->engine, dnnl_cpu, 0) || dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags)) {
        device_fail(device, STATUS_FAILED, "oneDNN: no engine for the CPU");
        if (s && s->engine) dnnl_engine_destroy(s->engine);
        free(s);
        return NULL;
    }
    return device->state = s;
}

static Convolution *find(State *s, const Conv2dArgs *a) {
    for (size_t i = 0; i < s->count; i++) {
        Convolution *c = &s->items[i];
        if (c->shape.n == a->shape.n && c->shape.h == a->shape.h && c->shape.w == a->shape.w && c->in == a->in && c->out == a->out) return c;
    }
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 32;
        Convolution *items = realloc(s->items, capacity * sizeof *items);
        if (!items) return NULL;
        s->items = items;
        s->capacity = capacity;
    }
    s->items[s->count] = (Convolution){.shape = a->shape, .in = a->in, .out = a->out};
    return &s->items[s->count++];
}

static Primitive *get_primitive(Device *device, const Conv2dArgs *a, Kind kind) {
    State *s = get_state(device);
    if (!s) return NULL;
    Convolution *c = find(s, a);
    dnnl_status_t status = c ? dnnl_success : dnnl_out_of_memory;
    if (c && !c->made[FORWARD]) status = make_primitive(s, c, FORWARD); // the others' hint
    if (!status && !c->made[kind]) status = make_primitive(s, c, kind);
    if (!status) return &c->kinds[kind];
    device_fail(device, STATUS_FAILED, "oneDNN: convolution of %zux%zux%zu, %zu to %zu channels: error %d", a->shape.n, a->shape.h, a->shape.w, a->in, a->out, (int)status);
    return NULL;
}

void onednn_close(Device *device) {
    State *s = device->state;
    if (!s) return;
    for (size_t i = 0; i < s->count; i++)
        for (int kind = 0; kind < KIND_COUNT; kind++) free_primitive(&s->items[i].kinds[kind]);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s->items);
    free(s);
    device->state = NULL;
}

// ---- running

static dnnl_status_t set(dnnl_memory_t memory, const void *data) { return dnnl_memory_set_data_handle(memory, (void *)(uintptr_t)data); }

static dnnl_status_t reorder(State *s, const Primitive *p, dnnl_memory_t from, dnnl_memory_t to) {
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(p->reorder, s->stream, 2, args);
}

// Scratch for the weights in oneDNN's layout and for the primitive itself.
static dnnl_status_t set_scratch(Device *device, Primitive *p) {
    void *weight = device_scratch_bytes(device, p->weight_bytes), *scratch = device_scratch_bytes(device, p->scratch_bytes);
    if (!weight || !scratch) return dnnl_out_of_memory;
    dnnl_status_t status = set(p->weight, weight);
    return status ? status : set(p->scratch, scratch);
}

static void report(Device *device, const Conv2dArgs *a, const char *what, dnnl_status_t status) {
    if (status)
        device_fail(device, STATUS_FAILED, "oneDNN: convolution (%s) of %zux%zux%zu, %zu to %zu channels: error %d", what, a->shape.n, a->shape.h, a->shape.w, a->in, a->out, (int)status);
}

void onednn_conv2d_forward(Device *device, const Conv2dArgs *a) {
    Primitive *p = get_primitive(device, a, FORWARD);
    if (!p) return;
    State *s = device->state;
    ArenaMark mark = arena_mark(&device->scratch);
    dnnl_status_t status = set_scratch(device, p);
    if (!status) status = set(p->weight_user, a->weight);
    if (!status) status = reorder(s, p, p->weight_user, p->weight);
    if (!status) status = set(p->x, a->x);
    if (!status) status = set(p->bias, a->bias);
    if (!status) status = set(p->y, a->y);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p->x}, {DNNL_ARG_WEIGHTS, p->weight}, {DNNL_ARG_BIAS, p->bias}, {DNNL_ARG_DST, p->y}, {DNNL_ARG_SCRATCHPAD, p->scratch}};
    if (!status) status = dnnl_primitive_execute(p->run, s->stream, 5, args);
    report(device, a, "forward", status);
    arena_release(&device->scratch, mark);
}

static void backward_data(Device *device, const Conv2dArgs *a) {
    Primitive *p = get_primitive(device, a, BACKWARD_DATA);
    if (!p) return;
    State *s = device->state;
    size_t count = image_pixels(a->shape) * a->in;
    ArenaMark mark = arena_mark(&device->scratch);
    real *dx = a->dx_is_new ? a->dx : device_scratch(device, count);
    dnnl_status_t status = dx ? set_scratch(device, p) : dnnl_out_of_memory;
    if (!status) status = set(p->weight_user, a->weight);
    if (!status) status = reorder(s, p, p->weight_user, p->weight);
    if (!status) status = set(p->x, dx);
    if (!status) status = set(p->y, a->dy);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_DIFF_SRC, p->x}, {DNNL_ARG_WEIGHTS, p->weight}, {DNNL_ARG_DIFF_DST, p->y}, {DNNL_ARG_SCRATCHPAD, p->scratch}};
    if (!status) status = dnnl_primitive_execute(p->run, s->stream, 4, args);
    for (size_t i = 0; !status && !a->dx_is_new && i < count; i++) a->dx[i] += dx[i];
    report(device, a, "backward, data", status);
    arena_release(&device->scratch, mark);
}

static void backward_weights(Device *device, const Conv2dArgs *a) {
    Primitive *p = get_primitive(device, a, BACKWARD_WEIGHTS);
    if (!p) return;
    State *s = device->state;
    size_t count = 9 * a->in * a->out;
    ArenaMark mark = arena_mark(&device->scratch);
    real *dweight = device_scratch(device, count), *dbias = device_scratch(device, a->out);
    dnnl_status_t status = dweight && dbias ? set_scratch(device, p) : dnnl_out_of_memory;
    if (!status) status = set(p->weight_user, dweight);
    if (!status) status = set(p->bias, dbias);
    if (!status) status = set(p->x, a->x);
    if (!status) status = set(p->y, a->dy);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, p->x}, {DNNL_ARG_DIFF_WEIGHTS, p->weight}, {DNNL_ARG_DIFF_BIAS, p->bias}, {DNNL_ARG_DIFF_DST, p->y}, {DNNL_ARG_SCRATCHPAD, p->scratch}};
    if (!status) status = dnnl_primitive_execute(p->run, s->stream, 5, args);
    if (!status) status = reorder(s, p, p->weight, p->weight_user);
    for (size_t i = 0; !status && a->dweight && i < count; i++) a->dweight[i] += dweight[i];
    for (size_t i = 0; !status && a->dbias && i < a->out; i++) a->dbias[i] += dbias[i];
    report(device, a, "backward, weights", status);
    arena_release(&device->scratch, mark);
}

void onednn_conv2d_backward(Device *device, const Conv2dArgs *a) {
    if (a->dx) backward_data(device, a);
    if (a->dweight || a->dbias) backward_weights(device, a);
}

#else

// In double the plain loops of nn/cpu/conv2d.c run instead.
typedef int onednn_is_not_used;

#endif
