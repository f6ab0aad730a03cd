// SPDX-License-Identifier: Apache-2.0
#include "sim/topology.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Morton order

typedef struct Key {
    uint64_t code;
    int32_t index;
} Key;

static int compare_keys(const void *a, const void *b) {
    const Key *x = a, *y = b;
    if (x->code != y->code) return x->code < y->code ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

// Bits of a 21-bit number, two zeros between each.
static uint64_t spread(uint64_t x) {
    x = (x | x << 32) & 0x1f00000000ffff;
    x = (x | x << 16) & 0x1f0000ff0000ff;
    x = (x | x << 8) & 0x100f00f00f00f00f;
    x = (x | x << 4) & 0x10c30c30c30c30c3;
    return (x | x << 2) & 0x1249249249249249;
}

typedef struct Box {
    double low[3], scale;
} Box;

static Box box_of(const double *points, size_t count) {
    Box box = {{INFINITY, INFINITY, INFINITY}, 0};
    double high[3] = {-INFINITY, -INFINITY, -INFINITY}, side = 0;
    for (size_t i = 0; i < 3 * count; i++) {
        box.low[i % 3] = fmin(box.low[i % 3], points[i]);
        high[i % 3] = fmax(high[i % 3], points[i]);
    }
    for (int c = 0; c < 3; c++) side = fmax(side, high[c] - box.low[c]);
    box.scale = side > 0 && isfinite(side) ? 0x1fffff / side : 0;
    return box;
}

static uint64_t morton(const Box *box, const double *point) {
    uint64_t code = 0;
    for (int c = 0; c < 3; c++) {
        double at = (point[c] - box->low[c]) * box->scale;
        code |= spread(at > 0 ? (uint64_t)at : 0) << c;
    }
    return code;
}

// The middle of an element's particles at rest.
static void middle(const double *rest, const int32_t *particles, size_t corners, double out[3]) {
    for (int c = 0; c < 3; c++) {
        out[c] = 0;
        for (size_t j = 0; j < corners; j++) out[c] += rest[3 * (size_t)particles[j] + (size_t)c] / (double)corners;
    }
}

Status sim_sort_elements(const double *rest, size_t particles, const int32_t *of, size_t corners, size_t count,
                         int32_t *out, Error *err) {
    Key *keys = malloc((count + 1) * sizeof *keys);
    if (!keys) return error_set(err, STATUS_FAILED, "out of memory for the order of %zu elements", count);
    Box box = rest ? box_of(rest, particles) : (Box){.scale = 0};
    for (size_t e = 0; e < count; e++) {
        double at[3] = {0};
        const int32_t self = (int32_t)e;
        if (rest) middle(rest, of ? of + corners * e : &self, corners, at);
        keys[e] = (Key){rest ? morton(&box, at) : 0, self};
    }
    qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t e = 0; e < count; e++) out[e] = keys[e].index;
    free(keys);
    return STATUS_OK;
}

// ---- vertices and elements

static size_t round_up(size_t count, size_t lanes) { return (count + lanes - 1) / lanes * lanes; }

// Gives blocks from vertex `first` on to the rigid bodies of a scene; the first vertex behind them.
static size_t place_rigid(const SimModel *model, size_t first, size_t lanes, SimRigid *rigid) {
    for (size_t i = 0; i < model->particles && model->rigids; i++)
        if (model->rigid[i] >= 0) {
            rigid[model->rigid[i]].vertices++;
            if (model->body) rigid[model->rigid[i]].body = model->body[i];
        }
    if (model->rigids) first = round_up(first, lanes);
    for (size_t r = 0; r < model->rigids; r++) {
        rigid[r].vertex = (int32_t)first;
        first += round_up((size_t)rigid[r].vertices, lanes);
    }
    return first;
}

// Vertices of one scene from `next` on: those of rigid bodies, then the others; the first one behind them.
static size_t place_scene(const SimModel *model, const int32_t *order, size_t next, size_t lanes, size_t scene,
                          SimRigid *rigid, int32_t *vertex_of) {
    next = place_rigid(model, next, lanes, rigid);
    for (size_t r = 0; r < model->rigids; r++) rigid[r].vertices = 0;
    for (size_t i = 0; i < model->particles; i++) {
        SimRigid *of = model->rigids && model->rigid[order[i]] >= 0 ? &rigid[model->rigid[order[i]]] : NULL;
        vertex_of[scene * model->particles + (size_t)order[i]] = of ? of->vertex + of->vertices++ : (int32_t)next++;
    }
    return next;
}

static Status order_vertices(const SimModel *model, const double *rest, SimTopology *out, Error *err) {
    const size_t N = model->particles;
    int32_t *order = malloc((N + 1) * sizeof *order);
    out->vertices = model->scenes * N;
    out->vertex_of = malloc(out->vertices * sizeof *out->vertex_of);
    out->rigid = calloc(model->scenes * model->rigids + 1, sizeof *out->rigid);
    Status status = !order || !out->vertex_of || !out->rigid
                        ? error_set(err, STATUS_FAILED, "out of memory for %zu particles", N)
                        : sim_sort_elements(rest, N, NULL, 1, N, order, err);
    size_t next = 0;
    for (size_t s = 0; s < model->scenes && status == STATUS_OK; s++)
        next = place_scene(model, order, next, out->lanes, s, out->rigid + s * model->rigids, out->vertex_of);
    out->vertex_blocks = round_up(next, out->lanes) / out->lanes;
    free(order);
    return status;
}

static Status order_elements(const SimModel *model, const double *rest, SimKind kind, SimTopology *out, Error *err) {
    const size_t count = sim_elements(model, kind), all = count * model->scenes;
    const size_t places = round_up(all, out->lanes);
    out->elements[kind] = all;
    out->blocks[kind] = places / out->lanes;
    if (!all) return STATUS_OK;
    int32_t *order = out->element_of[kind] = malloc(places * sizeof *order);
    if (!order) return error_set(err, STATUS_FAILED, "out of memory for %zu elements", all);
    Status status = sim_sort_elements(rest, model->particles, sim_element_particles(model, kind), sim_corners(kind),
                                      count, order, err);
    for (size_t i = count; i < all && status == STATUS_OK; i++)
        order[i] = order[i % count] + (int32_t)(i / count * count);
    for (size_t i = all; i < places; i++) order[i] = -1;
    return status;
}

// ---- chunks

typedef struct Builder {
    const SimModel *model;
    SimTopology *out;
    int32_t *local; // (vertices) slot in the present chunk, or -1
} Builder;

// The vertex at corner j of the element at this place; padding repeats the last element.
static int32_t vertex_at(const Builder *b, SimKind kind, size_t place, size_t j) {
    const size_t count = sim_elements(b->model, kind), last = b->out->elements[kind] - 1;
    size_t element = (size_t)b->out->element_of[kind][place < last ? place : last];
    int32_t particle = sim_element_particles(b->model, kind)[sim_corners(kind) * (element % count) + j];
    return b->out->vertex_of[element / count * b->model->particles + (size_t)particle];
}

static void add_chunk(Builder *b, SimKind kind, size_t block, size_t blocks) {
    SimTopology *out = b->out;
    const size_t corners = sim_corners(kind), lanes = out->lanes;
    SimChunk *chunk = &out->chunk[out->chunks++];
    *chunk = (SimChunk){kind, (int32_t)block, (int32_t)blocks, (int32_t)out->slots, 0};
    for (size_t i = block * lanes; i < (block + blocks) * lanes; i++)
        for (size_t j = 0; j < corners; j++) {
            int32_t vertex = vertex_at(b, kind, i, j);
            if (b->local[vertex] < 0) {
                b->local[vertex] = chunk->vertices++;
                out->slot_vertex[out->slots++] = vertex;
            }
            out->corner[kind][(i / lanes * corners + j) * lanes + i % lanes] = (uint16_t)b->local[vertex];
        }
    for (size_t s = (size_t)chunk->slot; s < out->slots; s++) b->local[out->slot_vertex[s]] = -1;
}

// Lists the slots of each vertex in ascending order.
static void list_slots(SimTopology *out) {
    const size_t padded = sim_padded(out);
    for (size_t s = 0; s < out->slots; s++) out->slots_of[out->slot_vertex[s] + 1]++;
    for (size_t v = 0; v < padded; v++) out->slots_of[v + 1] += out->slots_of[v];
    for (size_t s = out->slots; s-- > 0;) { // from behind: slots_of[v+1] goes down to the first slot of v
        int32_t vertex = out->slot_vertex[s];
        out->slot_list[--out->slots_of[vertex + 1]] = (int32_t)s;
    }
    memmove(out->slots_of, out->slots_of + 1, padded * sizeof *out->slots_of);
    out->slots_of[padded] = (int32_t)out->slots;
}

// Of one chunk.
static size_t most_elements(int kind) { return kind == SIM_KIND_SOCKET ? SIM_CHUNK_SOCKETS : SIM_CHUNK_ELEMENTS; }

static bool allocate(SimTopology *out) {
    size_t chunks = 0, corners = 0;
    bool ok = true;
    for (int k = 0; k < SIM_KINDS; k++) {
        size_t places = out->blocks[k] * out->lanes;
        chunks += (places + most_elements(k) - 1) / most_elements(k);
        corners += places * sim_corners((SimKind)k);
        if (places) ok &= !!(out->corner[k] = malloc(places * sim_corners((SimKind)k) * sizeof *out->corner[k]));
    }
    out->chunk = malloc((chunks + 1) * sizeof *out->chunk);
    out->slot_vertex = malloc((corners + 1) * sizeof *out->slot_vertex);
    out->slots_of = calloc(sim_padded(out) + 2, sizeof *out->slots_of);
    return ok && out->chunk && out->slot_vertex && out->slots_of;
}

static Status make_chunks(const SimModel *model, SimTopology *out, Error *err) {
    Builder b = {model, out, malloc(sim_padded(out) * sizeof *b.local)};
    if (!allocate(out) || !b.local) {
        free(b.local);
        return error_set(err, STATUS_FAILED, "out of memory for %zu vertices", out->vertices);
    }
    memset(b.local, 0xff, sim_padded(out) * sizeof *b.local);
    for (int k = 0; k < SIM_KINDS; k++) {
        const size_t most = most_elements(k) / out->lanes;
        for (size_t block = 0; block < out->blocks[k]; block += most) {
            size_t left = out->blocks[k] - block;
            add_chunk(&b, (SimKind)k, block, left < most ? left : most);
        }
    }
    free(b.local);
    out->slot_list = malloc((out->slots + 1) * sizeof *out->slot_list);
    if (!out->slot_list) return error_set(err, STATUS_FAILED, "out of memory for %zu vertices", out->vertices);
    list_slots(out);
    return STATUS_OK;
}

Status sim_topology_make(const SimModel *model, const double *rest, size_t lanes, SimTopology *out, Error *err) {
    *out = (SimTopology){.lanes = lanes};
    Status status = order_vertices(model, rest, out, err);
    for (int k = 0; k < SIM_KINDS && status == STATUS_OK; k++)
        status = order_elements(model, rest, (SimKind)k, out, err);
    if (status == STATUS_OK) status = make_chunks(model, out, err);
    return status;
}

void sim_topology_free(SimTopology *t) {
    for (int k = 0; k < SIM_KINDS; k++) {
        free(t->element_of[k]);
        free(t->corner[k]);
    }
    free(t->vertex_of);
    free(t->rigid);
    free(t->chunk);
    free(t->slot_vertex);
    free(t->slots_of);
    free(t->slot_list);
    *t = (SimTopology){0};
}
