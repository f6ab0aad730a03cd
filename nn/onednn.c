// SPDX-License-Identifier: Apache-2.0
#include "nn/onednn.h"

#ifndef VPD_DOUBLE
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

// ---- what differs between version 2 and version 3

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t Desc; // a handle
typedef const_dnnl_memory_desc_t DescView;
#define DESC_ARG(d) (d)
static dnnl_status_t desc_make(Desc *d, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                               dnnl_format_tag_t tag) {
    return dnnl_memory_desc_create_with_tag(d, rank, dims, type, tag);
}
static void desc_free(Desc d) {
    if (d) dnnl_memory_desc_destroy(d);
}
#else
typedef dnnl_memory_desc_t Desc; // a struct
typedef const dnnl_memory_desc_t *DescView;
#define DESC_ARG(d) (&(d))
static dnnl_status_t desc_make(Desc *d, int rank, const dnnl_dims_t dims, dnnl_data_type_t type,
                               dnnl_format_tag_t tag) {
    return dnnl_memory_desc_init_by_tag(d, rank, dims, type, tag);
}
static void desc_free(Desc d) { (void)d; }
#endif

typedef enum Kind { FORWARD, BACKWARD_DATA, BACKWARD_WEIGHTS, KIND_COUNT } Kind;
typedef enum Operand { X, WEIGHT, Y, BIAS, OPERAND_COUNT } Operand;

// One operand in the caller's layout and in the one that oneDNN prefers, which is faster than NHWC including the
// conversion.
typedef struct Slot {
    dnnl_memory_t given, wanted;
    dnnl_primitive_t reorder; // NULL: both are the same
    size_t bytes;             // as wanted
} Slot;

// One direction of one shape.
typedef struct Primitive {
    dnnl_primitive_desc_t description;
    dnnl_primitive_t run;
    Slot slots[OPERAND_COUNT];
    dnnl_memory_t scratch;
    size_t scratch_bytes;
} Primitive;

typedef struct Convolution {
    ImageShape shape;
    size_t in, out, block;
    bool bf16; // factors are rounded to bfloat16; sums and results are float
    Primitive kinds[KIND_COUNT];
    bool made[KIND_COUNT];
} Convolution;

typedef struct State {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    Convolution *items;
    size_t count, capacity;
} State;

// The output operand of a direction.
static Operand output_of(Kind kind) { return kind == FORWARD ? Y : kind == BACKWARD_DATA ? X : WEIGHT; }

// ---- making primitives

static dnnl_format_tag_t image_tag(size_t block, size_t channels) {
    size_t run = image_run(block, channels);
    return run == channels ? dnnl_nhwc : run == 8 ? dnnl_nChw8c : dnnl_nChw16c;
}

static dnnl_status_t make_descs(const Convolution *c, Kind kind, Desc given[OPERAND_COUNT], Desc any[OPERAND_COUNT]) {
    dnnl_format_tag_t x_tag = image_tag(c->block, c->in), y_tag = image_tag(c->block, c->out);
    dnnl_dim_t n = (dnnl_dim_t)c->shape.n, h = (dnnl_dim_t)c->shape.h, w = (dnnl_dim_t)c->shape.w,
               in = (dnnl_dim_t)c->in, out = (dnnl_dim_t)c->out;
    const struct {
        int rank;
        dnnl_dims_t dims;
        dnnl_format_tag_t tag;
    } operands[OPERAND_COUNT] = {[X] = {4, {n, in, h, w}, x_tag},
                                 [WEIGHT] = {4, {out, in, 3, 3}, dnnl_hwio},
                                 [Y] = {4, {n, out, h, w}, y_tag},
                                 [BIAS] = {1, {out}, dnnl_x}};
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < OPERAND_COUNT && !status; i++) {
        bool factor = i != BIAS && i != (int)output_of(kind);
        status = desc_make(&given[i], operands[i].rank, operands[i].dims, dnnl_f32, operands[i].tag);
        if (!status)
            status = desc_make(&any[i], operands[i].rank, operands[i].dims, c->bf16 && factor ? dnnl_bf16 : dnnl_f32,
                               i == BIAS ? dnnl_x : dnnl_format_tag_any);
    }
    return status;
}

static const dnnl_dims_t ones = {1, 1};

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t describe(State *s, Kind kind, const Desc *d, dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out) {
    static const dnnl_dims_t none = {0, 0};
    if (kind == FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(out, s->engine, dnnl_forward_training,
                                                              dnnl_convolution_direct, d[X], d[WEIGHT], d[BIAS], d[Y],
                                                              ones, none, ones, ones, attr);
    if (kind == BACKWARD_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(
            out, s->engine, dnnl_convolution_direct, d[X], d[WEIGHT], d[Y], ones, none, ones, ones, hint, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(
        out, s->engine, dnnl_convolution_direct, d[X], d[WEIGHT], d[BIAS], d[Y], ones, none, ones, ones, hint, attr);
}
#else
static dnnl_status_t describe(State *s, Kind kind, const Desc *d, dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t hint, dnnl_primitive_desc_t *out) {
    dnnl_convolution_desc_t c;
    dnnl_status_t status;
    if (kind == FORWARD)
        status = dnnl_convolution_forward_desc_init(&c, dnnl_forward_training, dnnl_convolution_direct, &d[X],
                                                    &d[WEIGHT], &d[BIAS], &d[Y], ones, ones, ones);
    else if (kind == BACKWARD_DATA)
        status = dnnl_convolution_backward_data_desc_init(&c, dnnl_convolution_direct, &d[X], &d[WEIGHT], &d[Y], ones,
                                                          ones, ones);
    else
        status = dnnl_convolution_backward_weights_desc_init(&c, dnnl_convolution_direct, &d[X], &d[WEIGHT], &d[BIAS],
                                                             &d[Y], ones, ones, ones);
    return status ? status : dnnl_primitive_desc_create(out, &c, attr, s->engine, hint);
}
#endif

static dnnl_status_t make_reorder(State *s, DescView from, DescView to, dnnl_primitive_t *out) {
    dnnl_primitive_desc_t description;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);
    if (!status) status = dnnl_reorder_primitive_desc_create(&description, from, s->engine, to, s->engine, attr);
    if (!status) {
        status = dnnl_primitive_create(out, description);
        dnnl_primitive_desc_destroy(description);
    }
    if (attr) dnnl_primitive_attr_destroy(attr);
    return status;
}

static dnnl_status_t make_slot(State *s, Slot *slot, DescView given, DescView wanted, bool is_output) {
    dnnl_status_t status = dnnl_memory_create(&slot->given, given, s->engine, DNNL_MEMORY_NONE);
    if (!status) status = dnnl_memory_create(&slot->wanted, wanted, s->engine, DNNL_MEMORY_NONE);
    slot->bytes = dnnl_memory_desc_get_size(wanted);
    if (status || dnnl_memory_desc_equal(given, wanted)) return status;
    return is_output ? make_reorder(s, wanted, given, &slot->reorder) : make_reorder(s, given, wanted, &slot->reorder);
}

static dnnl_status_t make_slots(State *s, Kind kind, const Desc *given, Primitive *p) {
    static const dnnl_query_t queries[KIND_COUNT][OPERAND_COUNT] = {
        [FORWARD] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
        [BACKWARD_DATA] = {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
        [BACKWARD_WEIGHTS] = {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
    };
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < OPERAND_COUNT && !status; i++) {
        DescView wanted =
            i == BIAS ? DESC_ARG(given[BIAS]) : dnnl_primitive_desc_query_md(p->description, queries[kind][i], 0);
        status = make_slot(s, &p->slots[i], DESC_ARG(given[i]), wanted, i == (int)output_of(kind));
    }
    DescView scratch = dnnl_primitive_desc_query_md(p->description, dnnl_query_scratchpad_md, 0);
    p->scratch_bytes = dnnl_memory_desc_get_size(scratch);
    return status ? status : dnnl_memory_create(&p->scratch, scratch, s->engine, DNNL_MEMORY_NONE);
}

static void free_primitive(Primitive *p) {
    for (int i = 0; i < OPERAND_COUNT; i++) {
        Slot *slot = &p->slots[i];
        if (slot->given) dnnl_memory_destroy(slot->given);
        if (slot->wanted) dnnl_memory_destroy(slot->wanted);
        if (slot->reorder) dnnl_primitive_destroy(slot->reorder);
    }
    if (p->scratch) dnnl_memory_destroy(p->scratch);
    if (p->run) dnnl_primitive_destroy(p->run);
    if (p->description) dnnl_primitive_desc_destroy(p->description);
    *p = (Primitive){0};
}

static dnnl_status_t make_primitive(State *s, Convolution *c, Kind kind) {
    Desc given[OPERAND_COUNT] = {0}, any[OPERAND_COUNT] = {0};
    Primitive *p = &c->kinds[kind];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attr);
    if (!status) status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!status) status = make_descs(c, kind, given, any);
    if (!status) status = describe(s, kind, any, attr, c->kinds[FORWARD].description, &p->description);
    if (!status) status = dnnl_primitive_create(&p->run, p->description);
    if (!status) status = make_slots(s, kind, given, p);
    if (status) free_primitive(p);
    c->made[kind] = !status;
    if (attr) dnnl_primitive_attr_destroy(attr);
    for (int i = 0; i < OPERAND_COUNT; i++) {
        desc_free(given[i]);
        desc_free(any[i]);
    }
    return status;
}

// ---- the cache

static State *get_state(Device *device) {
    if (device->state) return device->state;
    State *s = calloc(1, sizeof *s);
    if (!s || dnnl_engine_create(&s->engine, dnnl_cpu, 0) ||
        dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags)) {
        device_fail(device, STATUS_FAILED, "oneDNN: no engine for the CPU");
        if (s && s->engine) dnnl_engine_destroy(s->engine);
        free(s);
        return NULL;
    }
    return device->state = s;
}

static Convolution *find(State *s, const Conv2dArgs *a, bool bf16) {
    for (size_t i = 0; i < s->count; i++) {
        Convolution *c = &s->items[i];
        bool same = c->shape.n == a->shape.n && c->shape.h == a->shape.h && c->shape.w == a->shape.w;
        if (same && c->in == a->in && c->out == a->out && c->block == a->block && c->bf16 == bf16) return c;
    }
    if (s->count == s->capacity) {
        size_t capacity = s->capacity ? 2 * s->capacity : 32;
        Convolution *items = realloc(s->items, capacity * sizeof *items);
        if (!items) return NULL;
        s->items = items;
        s->capacity = capacity;
    }
    s->items[s->count] = (Convolution){.shape = a->shape, .in = a->in, .out = a->out, .block = a->block, .bf16 = bf16};
    return &s->items[s->count++];
}

static void report(Device *device, const Conv2dArgs *a, Kind kind, dnnl_status_t status) {
    static const char *const names[] = {"forward", "gradient of x", "gradient of the weights"};
    if (status)
        device_fail(device, STATUS_FAILED, "oneDNN: convolution (%s) of %zux%zux%zu, %zu to %zu channels: error %d",
                    names[kind], a->shape.n, a->shape.h, a->shape.w, a->in, a->out, (int)status);
}

static Primitive *get_primitive(Device *device, const Conv2dArgs *a, Kind kind) {
    State *s = get_state(device);
    if (!s) return NULL;
    Convolution *c = find(s, a, device->precision == PRECISION_BF16);
    dnnl_status_t status = c ? dnnl_success : dnnl_out_of_memory;
    if (c && !c->made[FORWARD])
        status = make_primitive(s, c, FORWARD); // the scratchpad mode of the other library version
    if (!status && !c->made[kind]) status = make_primitive(s, c, kind);
    report(device, a, kind, status);
    return status ? NULL : &c->kinds[kind];
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

// oneDNN writes outputs alone; its C API takes every operand without const.
static dnnl_status_t set(dnnl_memory_t memory, const void *data) {
    union {
        const void *given;
        void *taken;
    } handle = {data};
    return dnnl_memory_set_data_handle(memory, handle.taken);
}

static dnnl_status_t reorder(State *s, const Slot *slot, dnnl_memory_t from, dnnl_memory_t to) {
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    return dnnl_primitive_execute(slot->reorder, s->stream, 2, args);
}

// Puts the caller's memory into the slot, and scratch memory where oneDNN wants another layout.
static dnnl_status_t bind(Device *device, Slot *slot, const void *data) {
    if (!slot->reorder) return set(slot->wanted, data);
    void *wanted = device_scratch_bytes(device, slot->bytes);
    if (!wanted) return dnnl_out_of_memory;
    dnnl_status_t status = set(slot->given, data);
    return status ? status : set(slot->wanted, wanted);
}

// Runs one direction on `data`; the output is overwritten. The caller marks and releases the scratch arena.
static bool run(Device *device, const Conv2dArgs *a, Kind kind, const void *const data[OPERAND_COUNT]) {
    static const int names[KIND_COUNT][OPERAND_COUNT] = {
        [FORWARD] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS},
        [BACKWARD_DATA] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_BIAS},
        [BACKWARD_WEIGHTS] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_BIAS},
    };
    Primitive *p = get_primitive(device, a, kind);
    if (!p) return false;
    State *s = device->state;
    int operands = kind == BACKWARD_DATA ? BIAS : OPERAND_COUNT;
    Slot *output = &p->slots[output_of(kind)];
    dnnl_exec_arg_t args[OPERAND_COUNT + 1] = {{DNNL_ARG_SCRATCHPAD, p->scratch}};
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < operands && !status; i++) {
        Slot *slot = &p->slots[i];
        args[i + 1] = (dnnl_exec_arg_t){names[kind][i], slot->wanted};
        status = bind(device, slot, data[i]);
        if (!status && slot->reorder && slot != output) status = reorder(s, slot, slot->given, slot->wanted);
    }
    void *scratch = device_scratch_bytes(device, p->scratch_bytes);
    if (!status) status = scratch ? set(p->scratch, scratch) : dnnl_out_of_memory;
    if (!status) status = dnnl_primitive_execute(p->run, s->stream, operands + 1, args);
    if (!status && output->reorder) status = reorder(s, output, output->wanted, output->given);
    report(device, a, kind, status);
    return !status;
}

static void add(Device *device, size_t count, const real *from, real *to) {
#pragma omp parallel for simd schedule(static) num_threads(device->threads) if (count > 1 << 14)
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

void onednn_conv2d_forward(Device *device, const Conv2dArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    run(device, a, FORWARD, (const void *[]){a->x, a->weight, a->y, a->bias});
    arena_release(&device->scratch, mark);
}

static void backward_data(Device *device, const Conv2dArgs *a) {
    size_t count = image_pixels(a->shape) * a->in;
    ArenaMark mark = arena_mark(&device->scratch);
    real *dx = a->dx_is_new ? a->dx : device_scratch(device, count);
    if (dx && run(device, a, BACKWARD_DATA, (const void *[]){dx, a->weight, a->dy, NULL}) && dx != a->dx)
        add(device, count, dx, a->dx);
    arena_release(&device->scratch, mark);
}

static void backward_weights(Device *device, const Conv2dArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    real *dweight = device_scratch(device, 9 * a->in * a->out), *dbias = device_scratch(device, a->out);
    if (dweight && dbias && run(device, a, BACKWARD_WEIGHTS, (const void *[]){a->x, dweight, a->dy, dbias})) {
        if (a->dweight) add(device, 9 * a->in * a->out, dweight, a->dweight);
        if (a->dbias) add(device, a->out, dbias, a->dbias);
    }
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
