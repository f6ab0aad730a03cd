// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan.
#include "gnn/cpu/functions.h"
#include "gnn/cpu/scatter.h"
#include "gnn/plan_elements.h"

#include <omp.h>

void CPU_FN(plan_scatter)(Device *device, const PlanScatterArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) memcpy(a->out + (size_t)a->list[i] * 3, a->x + i * 3, 3 * sizeof(real));
}

void CPU_FN(plan_mark)(Device *device, const PlanMarkArgs *a) {
    (void)device;
    memset(a->out, 0, a->count * a->stride * sizeof(real));
    for (size_t i = 0; i < a->count; i++) {
        a->out[i * a->stride + a->t] = 1;
        if (a->has_flag && a->m) a->out[(i + 1) * a->stride - 1] = a->m[i];
    }
}

void CPU_FN(plan_count)(Device *device, const PlanCountArgs *a) {
    (void)device;
    memset(a->count, 0, a->edges.others * sizeof *a->count);
    for (size_t r = 0; r < edge_rows(&a->edges); r++)
        if (a->edges.index[r] >= 0) a->count[a->edges.index[r]]++;
    for (size_t o = 0; o < a->edges.others; o++)
        a->log_count[o * a->stride + a->column] = real_log1p((real)a->count[o]);
}

void CPU_FN(plan_contact)(Device *device, const PlanContactArgs *a) {
    (void)device;
    for (size_t q = 0; q < a->nodes; q++) {
        int32_t *out = a->out + q * a->k;
        size_t found = 0;
        for (size_t j = 0; j < a->looked && found < a->k; j++) {
            int32_t other = a->near[q * a->looked + j];
            if (other < 0) break;
            if (plan_is_contact(a, q, (size_t)other)) out[found++] = other;
        }
        while (found < a->k) out[found++] = -1;
    }
}

void CPU_FN(plan_join)(Device *device, const PlanJoinArgs *a) {
    (void)device;
    for (size_t r = 0; r < a->rows; r++) {
        int32_t *out = a->out + r * (a->ka + a->kb);
        memcpy(out, a->a + r * a->ka, a->ka * sizeof *out);
        for (size_t j = 0; j < a->kb; j++) {
            int32_t b = a->b[r * a->kb + j];
            out[a->ka + j] = b < 0 ? -1 : a->list[b];
        }
    }
}

void CPU_FN(plan_logit)(Device *device, const PlanLogitArgs *a) {
    (void)device;
    real factor = plan_logit_factor(a->width);
    for (size_t i = 0; i < a->count; i++) a->logit[i] = factor * a->distance2[i];
}

static void carry_particle(const PlanCarryArgs *a, size_t i, real *w, real *sum) {
    size_t k = a->edges.k;
    const int32_t *index = a->edges.index + i * k;
    real d[3];
    for (size_t c = 0; c < 3; c++) d[c] = a->x[i * 3 + c] - a->past[i * 3 + c];
    plan_softmax(k, index, a->logit + i * k, w);
    for (size_t e = 0; e < k; e++)
        if (index[e] >= 0) plan_carry_edge(a, i, (size_t)index[e], w[e], d, sum + (size_t)index[e] * PLAN_MOMENTS);
}

void CPU_FN(plan_carry)(Device *device, const PlanCarryArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    Scatter sums, weights;
    size_t k = a->edges.k, nodes = a->edges.others;
    if (!scatter_open(&sums, device, nodes * PLAN_MOMENTS) || !scatter_open(&weights, device, k + 1)) return;
#pragma omp parallel num_threads(device->threads)
    {
        int t = omp_get_thread_num(), threads = omp_get_num_threads();
        real *sum = scatter_part(&sums, t), *w = scatter_part(&weights, t);
        size_t first, last;
        thread_range(a->edges.groups, t, threads, &first, &last);
        for (size_t i = first; i < last; i++) carry_particle(a, i, w, sum);
#pragma omp barrier
        thread_range(nodes, t, threads, &first, &last);
        for (size_t o = first; o < last; o++) {
            real total[PLAN_MOMENTS] = {0};
            for (int p = 0; p < threads; p++)
                for (size_t c = 0; c < PLAN_MOMENTS; c++)
                    total[c] += sums.memory[sums.size * (size_t)p + o * PLAN_MOMENTS + c];
            plan_carry_node(a, o, total);
        }
    }
    arena_release(&device->scratch, mark);
}

void CPU_FN(plan_spin)(Device *device, const PlanSpinArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) plan_spin_row(a, i);
}

static int32_t root_of(int32_t *body, int32_t i) {
    while (body[i] != i) i = body[i] = body[body[i]];
    return i;
}

void CPU_FN(plan_bodies)(Device *device, const PlanBodiesArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) a->body[i] = (int32_t)i;
    for (size_t i = 0; i < a->count; i++)
        for (size_t e = 0; e < a->k && a->near[i * a->k + e] >= 0; e++) {
            int32_t j = a->near[i * a->k + e], p = root_of(a->body, (int32_t)i), q = root_of(a->body, j);
            if (p == q || !plan_moves_along(a, i, (size_t)j) || !plan_moves_along(a, (size_t)j, i)) continue;
            a->body[p > q ? p : q] = p > q ? q : p;
        }
    for (size_t i = 0; i < a->count; i++) a->body[i] = root_of(a->body, (int32_t)i);
}

// The first k of its neighbours that are of a particle's own body, filled up with itself.
static void list_own(const PlanSidesArgs *a, size_t i) {
    size_t own = 0;
    for (size_t e = 0; e < a->looked && own < a->k && a->near[i * a->looked + e] >= 0; e++)
        if (a->body[a->near[i * a->looked + e]] == a->body[i]) a->own[i * a->k + own++] = a->near[i * a->looked + e];
    while (own < a->k) a->own[i * a->k + own++] = (int32_t)i;
}

static int32_t first_other(const PlanSidesArgs *a, size_t i, const int32_t *size) {
    for (size_t e = 0; e < a->looked && a->near[i * a->looked + e] >= 0; e++) {
        int32_t j = a->near[i * a->looked + e];
        if (plan_is_other_side(a, i, (size_t)j, size)) return j;
    }
    return -1;
}

void CPU_FN(plan_sides)(Device *device, const PlanSidesArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    int32_t *size = device_scratch_bytes(device, (a->count + 1) * sizeof *size);
    if (!size) return;
    memset(size, 0, a->count * sizeof *size);
    for (size_t i = 0; i < a->count; i++) size[a->body[i]]++;
#pragma omp parallel num_threads(device->threads) if (a->count > 1024)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < a->count; i++) list_own(a, i);
#pragma omp for schedule(static)
        for (size_t i = 0; i < a->count; i++) a->other[i] = first_other(a, i, size);
    }
    arena_release(&device->scratch, mark);
}

// A body while its first meeting is looked for.
typedef struct Body {
    real middle[3], left; // left: infinite where there is no meeting
    int32_t count, first; // first: the particle that meets something, -1 none
} Body;

// Bodies stand in the rows of their first particles.
static void find_meetings(Device *device, const PlanMeetArgs *a, Body *bodies, real *left) {
    for (size_t i = 0; i < a->particles; i++) bodies[i] = (Body){.left = INFINITY, .first = -1};
    for (size_t i = 0; i < a->particles; i++) {
        Body *b = &bodies[a->body[i]];
        for (size_t c = 0; c < 3; c++) b->middle[c] += a->x[3 * i + c];
        b->count++;
    }
    for (size_t i = 0; i < a->particles; i++)
        for (size_t c = 0; bodies[i].count && c < 3; c++) bodies[i].middle[c] /= (real)bodies[i].count;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->particles > 1024)
    for (size_t i = 0; i < a->particles; i++) {
        PlanMeeting one;
        left[i] = plan_meeting_of(a, i, bodies[a->body[i]].middle, &one) ? one.left : INFINITY;
    }
    for (size_t i = 0; i < a->particles; i++) {
        Body *b = &bodies[a->body[i]];
        if (left[i] < b->left) b->left = left[i], b->first = (int32_t)i;
    }
}

void CPU_FN(plan_meet)(Device *device, const PlanMeetArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    Body *bodies = device_scratch_bytes(device, (a->particles + 1) * sizeof *bodies);
    real *left = device_scratch(device, a->particles + 1);
    if (!bodies || !left) return;
    find_meetings(device, a, bodies, left);
    for (size_t i = 0; i < a->count; i++) {
        const Body *b = &bodies[a->body[a->row[i]]];
        plan_meet_row(a, i, b->middle, b->first);
    }
    arena_release(&device->scratch, mark);
}

void CPU_FN(plan_motion)(Device *device, const PlanMotionArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) plan_motion_row(a, i);
}

void CPU_FN(plan_extra)(Device *device, const PlanExtraArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) plan_extra_row(a, i);
}

void CPU_FN(plan_spread)(Device *device, const PlanSpreadArgs *a) {
    (void)device;
    double total = 0;
    for (size_t j = 0; j < a->channels; j++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < a->nodes; i++) sum += (double)a->h[i * a->channels + j];
        double mean = sum / (double)(a->nodes ? a->nodes : 1);
        for (size_t i = 0; i < a->nodes; i++)
            square += ((double)a->h[i * a->channels + j] - mean) * ((double)a->h[i * a->channels + j] - mean);
        total += sqrt(square / (double)(a->nodes ? a->nodes : 1));
    }
    *a->spread = (real)(total / (double)(a->channels ? a->channels : 1));
}
