// SPDX-License-Identifier: Apache-2.0
#include "gnn/plan.h"

#include "base/check.h"
#include "gnn/backend.h"
#include "gnn/plan_nodes.h"
#include "gnn/plan_ops.h"
#include "gnn/planning.h"
#include "motion/backend.h"
#include "motion/flow_ops.h"
#include "nn/backend.h"
#include "nn/row_ops.h"

#include <string.h>

// Gaps: particles of each kind among which they are searched (at least four per moving node); nearest points that are
// examined; points of a plane, and the fewest of another body's plane; particles of the smallest body that counts as
// another body.
enum { LOOKED_AMONG = 512, LOOKED_AT = 32, PLANE = 10, PLANE_LEAST = 3, FEWEST = 10 };

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

// Coordinates besides the position for neighbour search: lc colour, lm m.
static real *embed(Planning *p, const GnnSet *set) {
    size_t n = set->x->rows;
    real *extra = planning_temporary(p, n * p->extra, sizeof *extra);
    if (!extra || !p->extra) return extra;
    p->device->nn->zero(p->device, extra, n * p->extra * sizeof *extra);
    planning_gather(p, n, 3, set->c, NULL, (real)p->c->colour_length, extra, p->extra, 0);
    if (set->m) planning_gather(p, n, 1, set->m, NULL, (real)p->c->moving_length, extra, p->extra, 3);
    return extra;
}

PointSet planning_set(Planning *p, size_t t) {
    const GnnSet *set = &p->in->sets.set[t];
    return (PointSet){set->x->rows, set->x->value, embed(p, set)};
}

// Edges from every query to its k nearest indexed points; lists live as long as the tape's tensors.
static GnnEdges nearest_edges(Planning *p, const KnnIndex *index, size_t points, const PointSet *queries,
                              const int32_t *self, size_t k, real **distance2) {
    k = min_size(k, self && points ? points - 1 : points);
    int32_t *found = tape_memory(p->tape, queries->count * k, sizeof *found);
    real *d2 = distance2 ? planning_temporary(p, queries->count * k, sizeof *d2) : NULL;
    planning_search(p, index, queries, p->extra, self, k, found, d2);
    if (distance2) *distance2 = d2;
    return (GnnEdges){.groups = queries->count, .k = k, .others = points, .index = found};
}

// 0, 1, .. count - 1 on the device, so that searches can exclude the point itself.
static const int32_t *own_numbers(Planning *p, size_t count) {
    int32_t *host = tape_context(p->tape, (count + 1) * sizeof *host);
    for (size_t i = 0; host && i < count; i++) host[i] = (int32_t)i;
    return host ? planning_upload_list(p, host, count) : NULL;
}

// Lists the nodes whose flag is `flag`; position[a] = place of node a in the list, or -1.
static size_t list_by_flag(const real *m, size_t count, bool flag, int32_t *list, int32_t *position) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool moves = m && m[i] > 0;
        if (position) position[i] = moves == flag ? (int32_t)found : -1;
        if (moves == flag) list[found++] = (int32_t)i;
    }
    return found;
}

// Adds edges from the nearest static nodes to those from the nearest nodes, which often all belong to the same object.
static void add_cross_edges(Planning *p, GnnEdges *edges) {
    size_t M = p->nodes.count;
    int32_t *list = tape_context(p->tape, (2 * M + 1) * sizeof *list);
    if (!list) return;
    int32_t *position = list + M;
    size_t still = list_by_flag(p->node_m, M, false, list, position), k = min_size(p->c->cross_edges, still);
    if (!k) return;
    const int32_t *device_list = planning_upload_list(p, list, still), *self = planning_upload_list(p, position, M);
    int32_t *found = planning_temporary(p, M * k, sizeof *found),
            *joined = tape_memory(p->tape, M * (edges->k + k), sizeof *joined);
    if (p->device->failed) return;
    PointSet points = planning_subset(p, &p->nodes, device_list, still);
    KnnIndex index = {0};
    planning_index(p, &points, p->extra, &index);
    planning_search(p, &index, &p->nodes, p->extra, self, k, found, NULL);
    PlanJoinArgs args = {M, edges->k, k, edges->index, found, device_list, joined};
    if (!p->device->failed) p->device->gnn->plan_join(p->device, &args);
    edges->index = joined;
    edges->k += k;
}

// Adds contact edges, from the nearest nodes with a different velocity, with which a body may collide. The nearest
// nodes of all mostly belong to the same body.
static void add_contact_edges(Planning *p, GnnEdges *edges) {
    size_t M = p->nodes.count, looked = min_size(LOOKED_AT, M ? M - 1 : 0), k = min_size(p->c->contact_edges, looked);
    if (!k) return;
    int32_t *near = planning_temporary(p, M * looked, sizeof *near),
            *found = planning_temporary(p, M * k, sizeof *found),
            *joined = tape_memory(p->tape, M * (edges->k + k), sizeof *joined);
    const int32_t *own = own_numbers(p, M);
    if (p->device->failed) return;
    KnnIndex index = {0};
    planning_index(p, &p->nodes, 0, &index);
    planning_search(p, &index, &p->nodes, 0, own, looked, near, NULL);
    PlanContactArgs contact = {M,
                               looked,
                               k,
                               near,
                               p->plan->node_velocity,
                               p->nodes.x,
                               p->plan->node_spin,
                               (real)(0.5 * p->c->displacement_scale),
                               found};
    PlanJoinArgs join = {M, edges->k, k, edges->index, found, own, joined};
    if (!p->device->failed) p->device->gnn->plan_contact(p->device, &contact);
    if (!p->device->failed) p->device->gnn->plan_join(p->device, &join);
    edges->index = joined;
    edges->k += k;
}

// log(1 + n) of the edges of every set, and n for the mean.
static void count_edges(Planning *p) {
    size_t T = p->c->T, M = p->nodes.count;
    real *log_count = tape_memory(p->tape, M * T, sizeof *log_count);
    for (size_t t = 0; t < p->in->sets.count; t++) {
        GnnEdges *edges = &p->plan->to_node[t];
        int32_t *count = tape_memory(p->tape, M, sizeof *count);
        PlanCountArgs args = {*edges, count, log_count, T, t};
        if (!p->device->failed) p->device->gnn->plan_count(p->device, &args);
        edges->count = count;
    }
    p->plan->log_count = log_count;
}

static void mark_sets(Planning *p) {
    size_t stride = p->c->T + (p->c->moving_flag ? 1 : 0);
    for (size_t t = 0; t < p->in->sets.count; t++) {
        const GnnSet *set = &p->in->sets.set[t];
        real *mark = tape_memory(p->tape, set->x->rows * stride, sizeof *mark);
        PlanMarkArgs args = {set->x->rows, stride, t, set->m, p->c->moving_flag, mark};
        if (!p->device->failed) p->device->gnn->plan_mark(p->device, &args);
        p->plan->mark[t] = mark;
    }
}

static void make_logits(Planning *p, const real *distance2) {
    size_t count = edge_rows(&p->plan->to_particle);
    real *logit = tape_memory(p->tape, count, sizeof *logit);
    PlanLogitArgs args = {count, distance2, (real)p->c->decode_width, logit};
    if (!p->device->failed) p->device->gnn->plan_logit(p->device, &args);
    p->plan->logit = logit;
}

// The *k particles with the flag nearest to each query (fewer if there are fewer), as rows of *points; NULL if there
// are none.
static const int32_t *nearest_of_flag(Planning *p, const PointSet *queries, bool flag, size_t most, size_t *k,
                                      PointSet *points) {
    int32_t *list = tape_context(p->tape, (p->plan->particles + 1) * sizeof *list);
    size_t count = min_size(most, list ? list_by_flag(p->m, p->plan->particles, flag, list, NULL) : 0);
    *k = min_size(*k, count);
    if (!count || !queries->count) return NULL;
    PointSet all = {p->plan->particles, p->present->x->value, NULL};
    *points = planning_subset(p, &all, planning_upload_list(p, list, count), count);
    int32_t *found = planning_temporary(p, queries->count * *k, sizeof *found);
    KnnIndex index = {0};
    planning_index(p, points, 0, &index);
    planning_search(p, &index, queries, 0, NULL, *k, found, NULL);
    return found;
}

static const real *mean_of_nearest(Planning *p, const PointSet *queries, size_t k, const int32_t *found,
                                   const PointSet *points) {
    real *mean = planning_temporary(p, queries->count * 3, sizeof *mean);
    RowMeanArgs args = {queries->count, k, found, points->x, mean};
    if (!p->device->failed) p->device->nn->row_mean(p->device, &args);
    return mean;
}

// Mean position of the 3 particles nearest to each listed node, among those whose flag differs from the nodes'. NULL if
// there are none.
static const real *mean_of_other_half(Planning *p, const PointSet *queries, bool flag) {
    size_t k = 3;
    PointSet points;
    const int32_t *found = nearest_of_flag(p, queries, !flag, SIZE_MAX, &k, &points);
    return found ? mean_of_nearest(p, queries, k, found, &points) : NULL;
}

static void make_extras(Planning *p) {
    real *extra = tape_memory(p->tape, p->nodes.count * GNN_EXTRAS, sizeof *extra);
    int32_t *list = tape_context(p->tape, (p->nodes.count + 1) * sizeof *list);
    for (int flag = 0; list && flag < 2; flag++) {
        size_t count = list_by_flag(p->node_m, p->nodes.count, flag, list, NULL);
        const int32_t *device_list = planning_upload_list(p, list, count);
        PointSet queries = planning_subset(p, &p->nodes, device_list, count);
        const real *mean = mean_of_other_half(p, &queries, flag);
        PlanExtraArgs args = {count,
                              device_list,
                              mean,
                              p->nodes.x,
                              p->plan->node_velocity,
                              (real)flag,
                              (real)p->c->length_scale,
                              (real)p->c->displacement_scale,
                              extra};
        if (!p->device->failed) p->device->gnn->plan_extra(p->device, &args);
    }
    p->plan->extra = extra;
}

// Moving particles, grouped into bodies, and the moving nodes.
typedef struct Movers {
    size_t count, nodes, looked;
    size_t most; // largest number of moving particles, and of static ones, among which contacts are searched
    const int32_t *list, *row; // (nodes) the nodes, and the rows of their particles in `points`
    PointSet points;           // (count)
    const real *w;             // (count, 3) metres per frame
    const int32_t *near;       // (count, looked)
    const int32_t *body;       // (count) smallest row of each particle's body
} Movers;

static void meet(Planning *p, const Movers *b, PlanMeetArgs *args, size_t column) {
    args->count = b->nodes, args->particles = b->count, args->list = b->list, args->row = b->row, args->body = b->body;
    args->stride = gnn_gap_width(p->c), args->column = column, args->nodes = p->nodes.x, args->x = b->points.x,
    args->w = b->w;
    args->ell = (real)p->c->length_scale, args->s = (real)p->c->displacement_scale, args->out = (real *)p->plan->gap;
    if (!p->device->failed) p->device->gnn->plan_meet(p->device, args);
}

// Contact with the plane of the static particles nearest to each moving one.
static void meet_what_stands(Planning *p, const Movers *b) {
    size_t k = PLANE;
    PointSet points;
    const int32_t *found = nearest_of_flag(p, &b->points, false, b->most, &k, &points);
    PlanMeetArgs args = {.reach = INFINITY};
    if (found) {
        real *normal = planning_temporary(p, b->count * 3, sizeof *normal);
        FlowNormalsArgs plane = {b->count, k, k, found, points.x, normal};
        if (!p->device->failed) p->device->motion->flow_normals(p->device, &plane);
        args.target = mean_of_nearest(p, &b->points, k, found, &points), args.normal = normal;
    }
    meet(p, b, &args, 0);
}

// Contact with the nearest other body, at the plane of its particles there.
static void meet_what_moves(Planning *p, const Movers *b) {
    PlanMeetArgs args = {.target_w = b->w, .reach = (real)(0.5 * p->c->length_scale)};
    int32_t *other = planning_temporary(p, b->count, sizeof *other),
            *own = planning_temporary(p, b->count * PLANE, sizeof *own);
    real *normal = planning_temporary(p, b->count * 3, sizeof *normal);
    PlanSidesArgs sides = {b->count, b->looked, PLANE, FEWEST, PLANE_LEAST, b->near, b->body, other, own};
    FlowNormalsArgs plane = {b->count, PLANE, PLANE, own, b->points.x, normal};
    if (!p->device->failed) p->device->gnn->plan_sides(p->device, &sides);
    if (!p->device->failed) p->device->motion->flow_normals(p->device, &plane);
    args.target = b->points.x, args.normal = normal, args.meets = other;
    meet(p, b, &args, GNN_MEETING);
}

// Velocity of each moving particle from its nodes, and bodies: neighbours that move as one rigid body are joined.
static void find_bodies(Planning *p, const int32_t *particles, Movers *b) {
    enum { JOINED = 8 };
    real *w = planning_temporary(p, 3 * b->count, sizeof *w), *turn = planning_temporary(p, 3 * b->count, sizeof *turn);
    PlanMotionArgs motion = {b->count,
                             particles,
                             p->plan->to_particle,
                             b->points.x,
                             p->nodes.x,
                             tape_upload(p->tape, p->node_m, p->nodes.count, sizeof(real)),
                             p->plan->node_velocity,
                             p->plan->node_spin,
                             w,
                             turn};
    if (!p->device->failed) p->device->gnn->plan_motion(p->device, &motion);
    int32_t *near = planning_temporary(p, b->count * LOOKED_AT, sizeof *near),
            *joined = planning_temporary(p, b->count * JOINED, sizeof *joined),
            *body = planning_temporary(p, b->count, sizeof *body);
    const int32_t *own = own_numbers(p, b->count);
    size_t k = min_size(JOINED, b->count - 1);
    b->looked = min_size(LOOKED_AT, b->count - 1);
    KnnIndex index = {0}, look = {0};
    planning_index(p, &b->points, 0, &index);
    planning_search(p, &index, &b->points, 0, own, b->looked, near, NULL);
    planning_index(p, &b->points, p->extra, &look);
    planning_search(p, &look, &b->points, p->extra, own, k, joined, NULL);
    PlanBodiesArgs bodies = {b->count, k, joined, b->points.x, w, turn, (real)(0.5 * p->c->displacement_scale), body};
    if (!p->device->failed) p->device->gnn->plan_bodies(p->device, &bodies);
    b->w = w, b->near = near, b->body = body;
}

// Keeps `most` of the moving particles, those of nodes and then the first (their order is random): what a node sees
// depends little on N. Returns their number; row[i] = the row of node list[i]'s particle among them.
static size_t thin_out(const Planning *p, const int32_t *list, size_t nodes, int32_t *movers, size_t count, size_t most,
                       int32_t *place, int32_t *row) {
    enum { NOT_KEPT = -1, OF_NODE = -2 };
    size_t kept = 0, others = most > nodes ? most - nodes : 0;
    for (size_t i = 0; i < count; i++) place[movers[i]] = NOT_KEPT;
    for (size_t i = 0; i < nodes; i++) place[p->node_of[list[i]]] = OF_NODE;
    for (size_t i = 0; i < count; i++) {
        int32_t particle = movers[i];
        if (place[particle] == NOT_KEPT && others == 0) continue;
        others -= place[particle] == NOT_KEPT;
        place[particle] = (int32_t)kept;
        movers[kept++] = particle;
    }
    for (size_t i = 0; i < nodes; i++) row[i] = place[p->node_of[list[i]]];
    return kept;
}

// Gaps of each moving node: the first contact of its body with a static plane, and with another body. Contact happens
// at the surface of a body, not at its nodes.
static void make_gaps(Planning *p) {
    size_t M = p->nodes.count, N = p->plan->particles, width = gnn_gap_width(p->c);
    real *gap = tape_memory(p->tape, M * width, sizeof *gap);
    int32_t *list = tape_context(p->tape, (2 * M + 2 * N + 1) * sizeof *list);
    if (p->device->failed) return;
    int32_t *movers = list + M, *position = movers + N, *row = position + N;
    p->device->nn->zero(p->device, gap, M * width * sizeof *gap);
    p->plan->gap = gap;
    Movers b = {.nodes = list_by_flag(p->node_m, M, true, list, NULL),
                .count = list_by_flag(p->m, N, true, movers, NULL)};
    if (!b.nodes || !b.count) return;
    b.most = max_size(LOOKED_AMONG, 4 * b.nodes);
    b.count = thin_out(p, list, b.nodes, movers, b.count, b.most, position, row);
    b.row = planning_upload_list(p, row, b.nodes);
    PointSet all = planning_set(p, p->in->sets.count - 1);
    const int32_t *particles = planning_upload_list(p, movers, b.count);
    b.list = planning_upload_list(p, list, b.nodes);
    b.points = planning_subset(p, &all, particles, b.count);
    find_bodies(p, particles, &b);
    meet_what_stands(p, &b);
    meet_what_moves(p, &b);
}

// The flag of the present particles, and of the nodes, in host memory.
static void fetch_flags(Planning *p) {
    size_t n = p->plan->particles;
    p->m = p->present->m_host;
    real *m = p->present->m && !p->m ? tape_context(p->tape, (n + 1) * sizeof *m) : NULL;
    if (!m) return;
    p->device->nn->download(p->device, m, p->present->m, n * sizeof *m);
    p->m = m;
}

static void choose_nodes(Planning *p) {
    const int32_t *node = gnn_choose_nodes(p->tape, p->c, p->in, p->m, p->plan);
    real *m = p->m ? tape_context(p->tape, (p->plan->nodes + 1) * sizeof *m) : NULL;
    for (size_t i = 0; node && m && i < p->plan->nodes; i++) m[i] = p->m[node[i]];
    p->node_of = node;
    p->node_m = m;
}

static void plan_hierarchical(Planning *p) {
    GnnPlan *plan = p->plan;
    size_t last = p->in->sets.count - 1;
    PointSet set[GNN_MAX_SETS];
    KnnIndex index = {0};
    real *distance2 = NULL;

    choose_nodes(p);
    for (size_t t = 0; t <= last; t++) set[t] = planning_set(p, t);
    if (p->device->failed) return;
    p->nodes = planning_subset(p, &set[last], plan->node, plan->nodes);
    planning_index(p, &p->nodes, p->extra, &index);
    for (size_t t = 0; t <= last; t++)
        plan->to_node[t] = nearest_edges(p, &index, plan->nodes, &set[t], NULL, p->c->k_particle_to_node, NULL);
    plan->node_node =
        nearest_edges(p, &index, plan->nodes, &p->nodes, own_numbers(p, plan->nodes), p->c->k_node_to_node, NULL);
    if (p->c->cross_edges) add_cross_edges(p, &plan->node_node);
    plan->to_particle = nearest_edges(p, &index, plan->nodes, &set[last], NULL, p->c->k_node_to_particle, &distance2);

    count_edges(p);
    make_logits(p, distance2);
    if (gnn_has_node_velocity(p->c)) {
        plan->node_velocity = planning_node_velocity(p, &plan->node_spin);
        if (p->c->contact_edges && !p->device->failed) add_contact_edges(p, &plan->node_node);
    }
    if (p->c->node_extras) make_extras(p);
    if (gnn_has_gap(p->c)) make_gaps(p);
}

static void plan_flat(Planning *p) {
    GnnPlan *plan = p->plan;
    size_t last = p->in->sets.count - 1;
    KnnIndex index = {0}, before = {0};
    PointSet now = planning_set(p, last);
    plan->nodes = now.count;
    planning_index(p, &now, p->extra, &index);
    plan->node_node = nearest_edges(p, &index, now.count, &now, own_numbers(p, now.count), p->c->k_node_to_node, NULL);
    if (last > 0) {
        PointSet past = planning_set(p, last - 1);
        planning_index(p, &past, p->extra, &before);
        plan->past = nearest_edges(p, &before, past.count, &now, NULL, p->c->k_particle_to_node, NULL);
    }
    if (gnn_has_velocity(p->c)) plan->particle_velocity = planning_particle_velocity(p);
}

void gnn_plan_make(Tape *tape, const GnnConfig *config, const GnnPlanInput *input, GnnPlan *plan) {
    Planning p = {.tape = tape, .device = tape->device, .c = config, .in = input, .plan = plan};
    ArenaMark mark = arena_mark(&tape->device->scratch), host = arena_mark(&tape->host);
    *plan = (GnnPlan){0};
    if (tape->device->failed) return;
    CHECK_EQ(input->sets.count, config->T);
    p.present = &input->sets.set[input->sets.count - 1];
    p.extra = config->distance == DISTANCE_APPEARANCE ? 4 : 0;
    plan->particles = p.present->x->rows;
    fetch_flags(&p);
    mark_sets(&p);
    if (config->graph == GRAPH_HIERARCHICAL) plan_hierarchical(&p);
    if (config->graph == GRAPH_FLAT) plan_flat(&p);
    arena_release(&tape->device->scratch, mark);
    arena_release(&tape->host, host);
}
