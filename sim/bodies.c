// SPDX-License-Identifier: Apache-2.0
#include "sim/bodies.h"

#include "base/check.h"
#include "base/vector.h"
#include "sim/pack.h"
#include "sim/thickness.h"
#include "sim/touching.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- one scene

// What is found of the bodies of one scene; numbers are those of its particles.
typedef struct Surfaces {
    size_t bodies;
    SimBody *body;
    int32_t *face, *point, *point_body; // (faces,3), (points), (points)
    int32_t *edge, *edge_body;          // (edges,4), (edges)
    float *arm;                         // (edges, SIM_WAYS)
    bool *convex;                       // (bodies)
    size_t points, edges, groups;
} Surfaces;

typedef struct Edge {
    int32_t low, high, forward, third; // forward: 1 from low to high, else -1; the third corner of the face
} Edge;

static int compare_edges(const void *a, const void *b) {
    const Edge *x = a, *y = b;
    if (x->low != y->low) return x->low < y->low ? -1 : 1;
    return (x->high > y->high) - (x->high < y->high);
}

// The edges of each face, those of the same particles side by side.
static void sort_edges(const int32_t *face, size_t faces, Edge *edge) {
    for (size_t i = 0; i < 3 * faces; i++) {
        const int32_t *of = face + i / 3 * 3, a = face[i], b = of[(i + 1) % 3], third = of[(i + 2) % 3];
        edge[i] = a < b ? (Edge){a, b, 1, third} : (Edge){b, a, -1, third};
    }
    qsort(edge, 3 * faces, sizeof *edge, compare_edges);
}

// Each edge of a closed surface has as many faces on one side as on the other: two, or more where solids meet at it.
static bool is_closed(const int32_t *face, size_t faces, Edge *edge) {
    int32_t forward = 0;
    sort_edges(face, faces, edge);
    for (size_t i = 0; i < 3 * faces; i++) {
        forward += edge[i].forward;
        if ((i + 1 == 3 * faces || compare_edges(edge + i, edge + i + 1)) && forward) return false;
    }
    return true;
}

// 1: faces point outwards; -1: inwards; 0: they enclose nothing, like a sheet with faces on both sides.
static int direction_of(const int32_t *face, size_t faces, const double *rest) {
    const double all = 6 * vector_enclosed(rest, face[0], face, faces);
    double reach = 0;
    for (size_t f = 0; f < faces; f++) {
        double e[3];
        vector_between(rest, face[0], face[3 * f], e);
        reach = fmax(reach, vector_dot(e, e));
    }
    return fabs(all) > 1e-9 * reach * sqrt(reach) ? all > 0 ? 1 : -1 : 0;
}

// The faces of one body along the curve, outwards when they enclose it.
static Status order_faces(const Sim *sim, SimBody *body, int32_t *face, Error *err) {
    const size_t faces = (size_t)body->faces;
    int32_t *order = malloc((faces + 1) * sizeof *order), *copy = malloc((3 * faces + 1) * sizeof *copy);
    Edge *edge = malloc((3 * faces + 1) * sizeof *edge);
    Status status = order && copy && edge ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for faces");
    if (status == STATUS_OK) status = sim_sort_elements(sim->rest, sim->model.particles, face, 3, faces, order, err);
    if (status == STATUS_OK) {
        memcpy(copy, face, 3 * faces * sizeof *copy);
        for (size_t f = 0; f < faces; f++) memcpy(face + 3 * f, copy + 3 * order[f], 3 * sizeof *face);
    }
    const int direction =
        status == STATUS_OK && faces > 0 && is_closed(face, faces, edge) ? direction_of(face, faces, sim->rest) : 0;
    body->closed = direction != 0;
    for (size_t f = 0; direction < 0 && f < faces; f++) {
        const int32_t kept = face[3 * f + 1];
        face[3 * f + 1] = face[3 * f + 2];
        face[3 * f + 2] = kept;
    }
    free(order);
    free(copy);
    free(edge);
    return status;
}

// Groups of a tree over so many faces or edges, behind those that there are.
static void add_groups(Surfaces *s, int32_t count, int32_t *group, int32_t *groups) {
    *groups = sim_tree_groups(count);
    *group = (int32_t)s->groups;
    s->groups += (size_t)*groups;
}

static Status fill_faces(const Sim *sim, Surfaces *s, Error *err) {
    const SimModel *m = &sim->model;
    size_t faces = 0;
    Status status = STATUS_OK;
    for (size_t f = 0; f < m->faces; f++) s->body[m->body[m->face[3 * f]]].faces++;
    for (size_t b = 0; b < s->bodies; b++) {
        s->body[b].face = (int32_t)faces;
        faces += (size_t)s->body[b].faces;
        s->body[b].faces = 0;
    }
    for (size_t f = 0; f < m->faces; f++) {
        SimBody *body = &s->body[m->body[m->face[3 * f]]];
        memcpy(s->face + 3 * (body->face + body->faces++), m->face + 3 * f, 3 * sizeof *s->face);
    }
    for (size_t b = 0; b < s->bodies && status == STATUS_OK; b++) {
        SimBody *body = &s->body[b];
        status = order_faces(sim, body, s->face + 3 * body->face, err);
        if (body->closed)
            body->thin = sim_thickness(s->face + 3 * body->face, (size_t)body->faces, sim->rest, &s->convex[b]);
        add_groups(s, body->faces, &body->group, &body->groups);
    }
    return status;
}

// Of two faces at an edge: `to` from its low end to their third corners, and their normals. `forward` goes from the
// edge's low end to its high one, and both point outwards.
typedef struct Fold {
    double to[2][3], normal[2][3], size[2];
} Fold;

static Fold fold_at(const double *rest, const Edge *forward, const Edge *backward) {
    Fold out;
    double along[3];
    vector_between(rest, forward->low, forward->high, along);
    vector_between(rest, forward->low, forward->third, out.to[0]);
    vector_between(rest, forward->low, backward->third, out.to[1]);
    vector_cross(along, out.to[0], out.normal[0]);
    vector_cross(out.to[1], along, out.normal[1]);
    for (int k = 0; k < 2; k++) out.size[k] = sqrt(vector_dot(out.normal[k], out.normal[k]));
    return out;
}

// Whether they turn by more than 30 degrees and the body lies between them.
static bool is_sharp(const Fold *f) {
    return vector_dot(f->normal[0], f->normal[1]) < cos(M_PI / 6) * f->size[0] * f->size[1] &&
           vector_dot(f->normal[0], f->to[1]) < 0;
}

// Whether each is above the other one by more than so many metres. Of a sliver alone, rounding says nothing.
static bool is_hollow(const Fold *f, double least) {
    return vector_dot(f->normal[0], f->to[1]) > least * f->size[0] &&
           vector_dot(f->normal[1], f->to[0]) > least * f->size[1];
}

// Appends the sharp edges of a closed body, in any order; those where more than two faces meet are left out. A body is
// convex where it is so at all of its edges and is one surface without holes, by Euler's number.
static void append_edges(const Sim *sim, Surfaces *s, SimBody *body, Edge *edge, bool *convex) {
    const double flat = 1e-3; // of its thickness, as in sim_thickness
    const size_t edges = 3 * (size_t)body->faces;
    size_t next;
    int32_t all = 0;
    sort_edges(s->face + 3 * body->face, (size_t)body->faces, edge);
    for (size_t i = 0; i < edges; i = next, all++) {
        for (next = i + 1; next < edges && !compare_edges(edge + i, edge + next);) next++;
        if (next != i + 2) continue;
        const Edge *forward = edge + i + (edge[i].forward < 0), *backward = edge + i + (edge[i].forward > 0);
        const Fold fold = fold_at(sim->rest, forward, backward);
        *convex &= !is_hollow(&fold, flat * body->thin);
        if (!is_sharp(&fold)) continue;
        const int32_t row[4] = {forward->low, forward->high, forward->third, backward->third};
        double along[3];
        vector_between(sim->rest, row[0], row[1], along);
        body->longest = fmax(body->longest, sqrt(vector_dot(along, along)));
        memcpy(s->edge + 4 * (s->edges + (size_t)body->edges++), row, sizeof row);
    }
    *convex &= body->points - all + body->faces == 2;
}

// How thick a body is at its edges.
static Status measure_arms(const Sim *sim, const Surfaces *s, const SimBody *body, Error *err) {
    float *arm = s->arm + SIM_WAYS * (size_t)body->edge;
    memset(arm, 0, (size_t)body->edges * SIM_WAYS * sizeof *arm);
    if (!body->edges || s->convex[body - s->body]) return STATUS_OK;
    return sim_thickness_at_edges(s->face + 3 * body->face, (size_t)body->faces, sim->rest, sim->model.particles,
                                  body->thin, s->edge + 4 * body->edge, (size_t)body->edges, arm, err);
}

// The sharp edges of closed bodies, along the curve.
static Status list_edges(const Sim *sim, Surfaces *s, Error *err) {
    const size_t most = 3 * sim->model.faces;
    Edge *edge = malloc((most + 1) * sizeof *edge);
    int32_t *order = malloc((most + 1) * sizeof *order), *copy = malloc((4 * most + 1) * sizeof *copy);
    Status status = edge && order && copy ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for edges");
    for (size_t b = 0; b < s->bodies && status == STATUS_OK; b++) {
        SimBody *body = &s->body[b];
        int32_t *own = s->edge + 4 * s->edges;
        body->edge = (int32_t)s->edges;
        if (body->closed) append_edges(sim, s, body, edge, &s->convex[b]);
        const size_t edges = (size_t)body->edges;
        memcpy(copy, own, 4 * edges * sizeof *copy);
        status = sim_sort_elements(sim->rest, sim->model.particles, own, 4, edges, order, err);
        for (size_t i = 0; i < edges && status == STATUS_OK; i++) {
            memcpy(own + 4 * i, copy + 4 * order[i], 4 * sizeof *own);
            s->edge_body[s->edges + i] = (int32_t)b;
        }
        if (status == STATUS_OK) status = measure_arms(sim, s, body, err);
        s->edges += edges;
        add_groups(s, body->edges, &body->edge_group, &body->edge_groups);
    }
    free(edge);
    free(order);
    free(copy);
    return status;
}

// Those at corners of faces; all of a body without faces.
static Status list_points(const Sim *sim, Surfaces *s, Error *err) {
    const SimModel *m = &sim->model;
    uint8_t *corner = calloc(m->particles, 1);
    if (!corner) return error_set(err, STATUS_FAILED, "out of memory for %zu particles", m->particles);
    for (size_t i = 0; i < 3 * m->faces; i++) corner[m->face[i]] = 1;
    for (size_t b = 0; b < s->bodies; b++) s->body[b].bodies = (int32_t)s->bodies;
    for (size_t i = 0; i < m->particles; i++) {
        SimBody *body = &s->body[m->body[i]];
        body->points += corner[i] || !body->faces;
        body->moves |= !(m->fixed && m->fixed[i]);
        body->rigid |= m->rigids && m->rigid[i] >= 0;
    }
    for (size_t b = 0; b < s->bodies; b++) {
        s->body[b].point = (int32_t)s->points;
        s->points += (size_t)s->body[b].points;
        s->body[b].points = 0;
    }
    for (size_t i = 0; i < m->particles; i++) {
        SimBody *body = &s->body[m->body[i]];
        if (!corner[i] && body->faces) continue;
        s->point[body->point + body->points] = (int32_t)i;
        s->point_body[body->point + body->points++] = m->body[i];
    }
    free(corner);
    return STATUS_OK;
}

// ---- all scenes

void sim_empty_groups(const Sim *sim, size_t groups, void *group) {
    for (size_t i = 0; i < groups * SIM_GROUP; i++)
        sim_put(sim, group, i, i % SIM_GROUP < 3 * SIM_BRANCHES ? INFINITY : -INFINITY);
}

// Room for what steps find; that of a GPU is its own (sim/device_bodies.c).
static bool make_room(Sim *sim, SimTouching *t) {
    const size_t real_bytes = (size_t)sim->backend->real_bytes;
    Arena *memory = &sim->memory;
    if (sim->on_device) return true;
    t->box = arena_array(memory, t->bodies, SIM_RECORD * real_bytes);
    t->group = arena_array(memory, t->groups, SIM_GROUP * real_bytes);
    t->near = arena_array(memory, t->bodies * t->most, sizeof *t->near);
    t->nears = arena_array(memory, t->bodies, sizeof *t->nears);
    t->touch = arena_array(memory, t->rows, SIM_TOUCHES * sizeof *t->touch);
    t->touches = arena_array(memory, t->rows, sizeof *t->touches);
    t->guess = arena_array(memory, t->rows, SIM_TOUCHES * sizeof *t->guess);
    t->clear = arena_array(memory, t->points, SIM_TOUCHES * sizeof *t->clear);
    t->listed = arena_array(memory, t->rows, SIM_TOUCHES * sizeof *t->listed);
    t->still = arena_array(memory, t->bodies, sizeof *t->still);
    t->speed = arena_array(memory, t->bodies, sizeof *t->speed);
    t->moved = arena_array(memory, t->bodies, sizeof *t->moved);
    t->fitted = arena_array(memory, t->bodies, sizeof *t->fitted);
    t->part = arena_array(memory, t->rows, SIM_TOUCHES * 4 * SIM_RECORD * real_bytes);
    t->slope = arena_array(memory, t->rows, SIM_TOUCHES * SIM_QUAD * real_bytes);
    t->angle = arena_array(memory, t->bodies, sizeof *t->angle);
    t->sum = arena_array(memory, sim_padded(&sim->topology), SIM_QUAD * real_bytes);
    if (!t->box || !t->group || !t->near || !t->nears || !t->touch || !t->touches || !t->guess || !t->clear ||
        !t->listed || !t->still || !t->speed || !t->moved || !t->fitted || !t->angle || !t->part || !t->slope ||
        !t->sum)
        return false;
    sim_empty_groups(sim, t->groups, t->group); // nodes without faces stay so
    memset(t->angle, 0, t->bodies * sizeof *t->angle);
    memset(t->guess, 0xff, t->rows * SIM_TOUCHES * sizeof *t->guess);
    return true;
}

// The faces at each vertex.
static void list_ring(const SimTouching *t, size_t vertices, int32_t *of, int32_t *ring) {
    memset(of, 0, (vertices + 2) * sizeof *of);
    for (size_t i = 0; i < 3 * t->faces; i++) of[t->face[i] + 2]++;
    for (size_t v = 0; v < vertices; v++) of[v + 2] += of[v + 1];
    for (size_t i = 0; i < 3 * t->faces; i++) ring[of[t->face[i] + 1]++] = (int32_t)i;
}

// Both bodies of each joint, in all scenes.
static bool list_apart(Sim *sim, size_t bodies, SimTouching *t) {
    const SimModel *m = &sim->model;
    const size_t all = m->scenes * bodies;
    int32_t *of = arena_array(&sim->memory, all + 2, sizeof *of),
            *apart = arena_array(&sim->memory, 2 * m->scenes * m->joints, sizeof *apart);
    if (!of || !apart) return false;
    memset(of, 0, (all + 2) * sizeof *of);
    for (int turn = 0; turn < 2; turn++) { // counts, then lists
        for (size_t b = 0; b < all && turn; b++) of[b + 2] += of[b + 1];
        for (size_t i = 0; i < 2 * m->scenes * m->joints; i++) {
            const int32_t *pair = m->joined + i / 2 % m->joints * 2;
            const int32_t first = (int32_t)(i / 2 / m->joints * bodies), self = first + pair[i % 2];
            if (turn) apart[of[self + 1]++] = first + pair[1 - i % 2];
            else of[self + 2]++;
        }
    }
    t->apart_of = of, t->apart = apart;
    return true;
}

static Status repeat(Sim *sim, const Surfaces *s, Error *err) {
    const SimModel *m = &sim->model;
    const size_t B = m->scenes, N = m->particles, vertices = sim_padded(&sim->topology);
    SimTouching t = {.bodies = B * s->bodies,
                     .points = B * s->points,
                     .faces = B * m->faces,
                     .groups = B * s->groups,
                     .edges = B * s->edges,
                     .rows = B * (s->points + s->edges),
                     .most = s->bodies,
                     .dt = m->dt};
    Arena *memory = &sim->memory;
    SimBody *body = arena_array(memory, t.bodies, sizeof *body);
    int32_t *face = arena_array(memory, t.faces, 3 * sizeof *face),
            *point = arena_array(memory, t.points, sizeof *point),
            *point_body = arena_array(memory, t.points, sizeof *point_body),
            *edge = arena_array(memory, t.edges, 4 * sizeof *edge),
            *edge_body = arena_array(memory, t.edges, sizeof *edge_body),
            *ring_of = arena_array(memory, vertices + 2, sizeof *ring_of),
            *ring = arena_array(memory, t.faces, 3 * sizeof *ring),
            *material = arena_array(memory, vertices, sizeof *material);
    float *arm = arena_array(memory, t.edges, SIM_WAYS * sizeof *arm);
    t.contact = arena_array(memory, B * m->materials, SIM_MATERIAL * (size_t)sim->backend->real_bytes);
    bool alone = false;
    for (size_t b = 0; b < s->bodies; b++) alone |= s->body[b].faces && !s->body[b].closed;
    const size_t rows = alone ? vertices : 0;
    t.rest = arena_array(memory, rows, SIM_RECORD * (size_t)sim->backend->real_bytes);
    if (!t.rest || !body || !face || !point || !point_body || !edge || !edge_body || !arm || !ring_of || !ring ||
        !material || !t.contact || !list_apart(sim, s->bodies, &t) || !make_room(sim, &t))
        return error_set(err, STATUS_FAILED, "out of memory for %zu bodies that meet", t.bodies);
    for (size_t i = 0; i < m->materials; i++) t.reach = fmax(t.reach, m->contacts[i].margin);
    for (size_t scene = 0; scene < B; scene++) {
        const int32_t *vertex_of = sim->topology.vertex_of + scene * N;
        for (size_t b = 0; b < s->bodies; b++) {
            SimBody *out = &body[scene * s->bodies + b];
            *out = s->body[b];
            out->first = (int32_t)(scene * s->bodies);
            out->point += (int32_t)(scene * s->points);
            out->face += (int32_t)(scene * m->faces);
            out->group += (int32_t)(scene * s->groups);
            out->edge += (int32_t)(scene * s->edges);
            out->edge_group += (int32_t)(scene * s->groups);
        }
        for (size_t i = 0; i < 3 * m->faces; i++) face[3 * scene * m->faces + i] = vertex_of[s->face[i]];
        for (size_t i = 0; i < s->points; i++) {
            point[scene * s->points + i] = vertex_of[s->point[i]];
            point_body[scene * s->points + i] = (int32_t)(scene * s->bodies) + s->point_body[i];
        }
        for (size_t i = 0; i < 4 * s->edges; i++) edge[4 * scene * s->edges + i] = vertex_of[s->edge[i]];
        for (size_t i = 0; i < s->edges; i++)
            edge_body[scene * s->edges + i] = (int32_t)(scene * s->bodies) + s->edge_body[i];
        memcpy(arm + scene * s->edges * SIM_WAYS, s->arm, s->edges * SIM_WAYS * sizeof *arm);
        for (size_t i = 0; i < N; i++)
            material[vertex_of[i]] = (int32_t)(scene * m->materials) + (m->material ? m->material[i] : 0);
    }
    t.body = body, t.face = face, t.edge = edge, t.edge_body = edge_body, t.arm = arm, t.point = point,
    t.point_body = point_body, t.material = material;
    if (!alone) t.rest = NULL;
    list_ring(&t, vertices, ring_of, ring);
    t.ring_of = ring_of, t.ring = ring;
    sim->packed.touching = t;
    for (size_t r = 0; r < B * m->rigids; r++) // body numbers were those of the first scene
        sim->topology.rigid[r].body = (int32_t)(r / m->rigids * s->bodies) + sim->topology.rigid[r].body;
    return STATUS_OK;
}

Status sim_make_bodies(Sim *sim, Error *err) {
    const SimModel *m = &sim->model;
    Surfaces s = {0};
    if (!m->faces) return STATUS_OK;
    for (size_t i = 0; i < m->particles; i++)
        if ((size_t)m->body[i] >= s.bodies) s.bodies = (size_t)m->body[i] + 1;
    s.body = calloc(s.bodies, sizeof *s.body);
    s.face = malloc(3 * m->faces * sizeof *s.face);
    s.point = malloc(m->particles * sizeof *s.point);
    s.point_body = malloc(m->particles * sizeof *s.point_body);
    s.edge = malloc(6 * m->faces * sizeof *s.edge); // an edge has two faces
    s.edge_body = malloc(2 * m->faces * sizeof *s.edge_body);
    s.arm = malloc(2 * m->faces * SIM_WAYS * sizeof *s.arm);
    s.convex = malloc(s.bodies * sizeof *s.convex);
    Status status = s.body && s.face && s.point && s.point_body && s.edge && s.edge_body && s.arm && s.convex
                        ? STATUS_OK
                        : error_set(err, STATUS_FAILED, "out of memory for the surfaces of %zu bodies", s.bodies);
    if (status == STATUS_OK) status = fill_faces(sim, &s, err);
    if (status == STATUS_OK) status = list_points(sim, &s, err);
    if (status == STATUS_OK) status = list_edges(sim, &s, err);
    if (status == STATUS_OK) status = repeat(sim, &s, err);
    free(s.body);
    free(s.face);
    free(s.point);
    free(s.point_body);
    free(s.edge);
    free(s.edge_body);
    free(s.arm);
    free(s.convex);
    return status;
}

// Lowers `of` (vertices) to the gaps of particles, and of edges at their four ends.
static void note_gaps(const SimTouching *t, double *of) {
    for (size_t i = 0; i < t->rows; i++)
        for (size_t k = 0; k < (size_t)t->touches[i]; k++) {
            const SimTouch *touch = &t->touch[SIM_TOUCHES * i + k];
            int32_t vertex[4];
            sim_touch_vertices(t, i, touch, vertex);
            for (int j = 0; j < (i < t->points ? 1 : 4); j++) of[vertex[j]] = fmin(of[vertex[j]], (double)touch->gap);
        }
}

Status sim_touching(Sim *sim, const double *position, double *gap, Error *err) {
    CHECK(sim->packed.chunk && !sim->on_device);
    const SimTouching *t = &sim->packed.touching;
    const size_t vertices = sim->topology.vertices, padded = sim_padded(&sim->topology);
    char *records = aligned_alloc(64, padded * SIM_RECORD * (size_t)sim->backend->real_bytes);
    double *of = malloc(padded * sizeof *of);
    Status status =
        records && of ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for %zu particles", vertices);
    for (size_t v = 0; v < padded && status == STATUS_OK; v++) of[v] = INFINITY;
    if (status == STATUS_OK && t->bodies) {
        sim_pack_records(sim, position, NULL, records);
        sim->backend->body_boxes(t, records, true, 0, 1);
        sim->backend->body_trees(t, records, 0, 1);
        sim->backend->touches(t, records, NULL, 0, 1);
        note_gaps(t, of);
        sim->backend->surface_gaps(t, records, of);
    }
    for (size_t i = 0; i < vertices && status == STATUS_OK; i++) gap[i] = of[sim->topology.vertex_of[i]];
    free(records);
    free(of);
    return status;
}

void sim_pack_bodies(const Sim *sim, const SimValues *values) {
    const SimModel *m = &sim->model;
    const SimTouching *t = &sim->packed.touching;
    for (size_t i = 0; i < m->scenes * m->materials && t->bodies; i++) {
        const SimMaterial *material = &m->contacts[i % m->materials];
        for (size_t f = 0; f < 4; f++)
            sim_put(sim, t->contact, SIM_MATERIAL * i + f,
                    values->of[SIM_CONTACT_KE + f] ? values->of[SIM_CONTACT_KE + f][i] : 0);
        sim_put(sim, t->contact, SIM_MATERIAL * i + 4, material->margin);
        sim_put(sim, t->contact, SIM_MATERIAL * i + 5, material->fade);
    }
    if (t->rest) sim_pack_records(sim, sim->rest, NULL, t->rest);
}
