// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan.
#include "gnn/cpu/functions.h"
#include "gnn/cpu/scatter.h"
#include "gnn/element.h"
#include "gnn/plan_ops.h"

#include <omp.h>

void CPU_FN(plan_gather)(Device *device, const PlanGatherArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->count > 4096)
    for (size_t i = 0; i < a->count; i++) {
        const real *x = a->x + (a->index ? (size_t)a->index[i] : i) * a->width;
        real *out = a->out + i * a->stride + a->column;
        for (size_t c = 0; c < a->width; c++) out[c] = a->scale * x[c];
    }
}

void CPU_FN(plan_scatter)(Device *device, const PlanScatterArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) memcpy(a->out + (size_t)a->list[i] * 3, a->x + i * 3, 3 * sizeof(real));
}

void CPU_FN(plan_add)(Device *device, const PlanAddArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) a->out[i] = a->a[i] + a->factor * a->b[i];
}

void CPU_FN(plan_mean)(Device *device, const PlanMeanArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 256)
    for (size_t q = 0; q < a->queries; q++) {
        const int32_t *index = a->index + q * a->k;
        real sum[3] = {0};
        size_t count = 0;
        for (size_t j = 0; j < a->k && index[j] >= 0; j++, count++)
            for (size_t c = 0; c < 3; c++) sum[c] += a->value[(size_t)index[j] * 3 + c];
        for (size_t c = 0; c < 3; c++) a->out[q * 3 + c] = count ? sum[c] / (real)count : 0;
    }
}

void CPU_FN(plan_pairs)(Device *device, const PlanPairsArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 16)
    for (size_t q = 0; q < a->queries; q++)
        for (size_t j = 0; j < a->pairs; j++) {
            const real *value = a->value + 3 * (size_t)a->index[q * a->k + j * a->every];
            real *out = a->out + 3 * (q * a->pairs + j);
            for (size_t c = 0; c < 3; c++) out[c] = a->scale * value[c];
        }
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
    for (size_t o = 0; o < a->edges.others; o++) a->log_count[o * a->stride + a->column] = real_log1p((real)a->count[o]);
}

void CPU_FN(plan_contact)(Device *device, const PlanContactArgs *a) {
    (void)device;
    for (size_t q = 0; q < a->nodes; q++) {
        int32_t *out = a->out + q * a->k;
        size_t found = 0;
        for (size_t j = 0; j < a->looked && found < a->k; j++) {
            int32_t other = a->near[q * a->looked + j];
            if (other < 0) break;
            real r[3], own[3], square = 0;
            for (size_t c = 0; c < 3; c++) r[c] = a->x[(size_t)other * 3 + c] - a->x[q * 3 + c];
            element_carried(a->v + q * 3, a->spin ? a->spin + q * 3 : NULL, r, own);
            for (size_t c = 0; c < 3; c++) {
                real d = a->v[(size_t)other * 3 + c] - own[c];
                square += d * d;
            }
            if (square >= a->least * a->least) out[found++] = other;
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
    real factor = -1 / (2 * a->width * a->width);
    for (size_t i = 0; i < a->count; i++) a->logit[i] = factor * a->distance2[i];
}

// w (k) = softmax of logit over the entries that are present.
static void softmax(size_t k, const int32_t *index, const real *logit, real *w) {
    real top = -INFINITY, sum = 0;
    for (size_t e = 0; e < k; e++)
        if (index[e] >= 0 && logit[e] > top) top = logit[e];
    for (size_t e = 0; e < k; e++) sum += w[e] = index[e] < 0 ? 0 : real_exp(logit[e] - top);
    for (size_t e = 0; e < k; e++)
        if (sum > 0) w[e] /= sum;
}

// Moments of the particles around a node: weight, r, d, r x d, r r' (xx xy xz yy yz zz), with r from the node and d their displacements.
enum { MOMENTS = 16 };

static void add_moments(real w, const real *r, const real *d, real *to) {
    to[0] += w;
    for (size_t c = 0; c < 3; c++) {
        to[1 + c] += w * r[c];
        to[4 + c] += w * d[c];
    }
    element_add_cross(w, r, d, to + 7);
    for (size_t c = 0; c < 3; c++) {
        to[10 + c] += w * r[0] * r[c];
        if (c > 0) to[12 + c] += w * r[1] * r[c];
    }
    to[15] += w * r[2] * r[2];
}

// The rigid motion of moments about their mean: spin solves (inertia + damping) spin = angular part; v at the node.
static void rigid_of_moments(const real *m, real damping, real *v, real *spin) {
    double w = (double)m[0], r[3], d[3], l[3], a[9], xx = (double)m[10], yy = (double)m[13], zz = (double)m[15];
    for (size_t c = 0; c < 3; c++) r[c] = (double)m[1 + c] / w, d[c] = (double)m[4 + c] / w;
    for (size_t c = 0; c < 3; c++) l[c] = (double)m[7 + c] / w - (r[(c + 1) % 3] * d[(c + 2) % 3] - r[(c + 2) % 3] * d[(c + 1) % 3]);
    double sxx = xx / w - r[0] * r[0], syy = yy / w - r[1] * r[1], szz = zz / w - r[2] * r[2];
    a[0] = syy + szz + (double)damping, a[4] = sxx + szz + (double)damping, a[8] = sxx + syy + (double)damping;
    a[1] = a[3] = r[0] * r[1] - (double)m[11] / w;
    a[2] = a[6] = r[0] * r[2] - (double)m[12] / w;
    a[5] = a[7] = r[1] * r[2] - (double)m[14] / w;
    double determinant = a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) + a[2] * (a[3] * a[7] - a[4] * a[6]), s[3];
    for (size_t c = 0; c < 3; c++) { // Cramer: the matrix is symmetric and positive
        const double *p = a + 3 * ((c + 1) % 3), *q = a + 3 * ((c + 2) % 3);
        double minor[3] = {p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]};
        s[c] = (minor[0] * l[0] + minor[1] * l[1] + minor[2] * l[2]) / determinant;
    }
    for (size_t c = 0; c < 3; c++) {
        spin[c] = (real)s[c];
        v[c] = (real)(d[c] - (s[(c + 1) % 3] * r[(c + 2) % 3] - s[(c + 2) % 3] * r[(c + 1) % 3]));
    }
}

static void carry_particle(const PlanCarryArgs *a, size_t i, real *w, real *sum) {
    size_t k = a->edges.k, width = a->spin ? MOMENTS : 4;
    const int32_t *index = a->edges.index + i * k;
    real d[3], r[3];
    for (size_t c = 0; c < 3; c++) d[c] = a->x[i * 3 + c] - a->past[i * 3 + c];
    softmax(k, index, a->logit + i * k, w);
    for (size_t e = 0; e < k; e++) {
        if (index[e] < 0) continue;
        real *to = sum + (size_t)index[e] * width;
        if (a->spin) {
            for (size_t c = 0; c < 3; c++) r[c] = a->x[i * 3 + c] - a->node[(size_t)index[e] * 3 + c];
            add_moments(w[e], r, d, to);
            continue;
        }
        to[0] += w[e];
        for (size_t c = 0; c < 3; c++) to[1 + c] += w[e] * d[c];
    }
}

static void finish_carry(const PlanCarryArgs *a, size_t node, const real *total) {
    real *v = a->v + node * 3;
    if (a->spin) memset(a->spin + node * 3, 0, 3 * sizeof *v);
    memset(v, 0, 3 * sizeof *v);
    if (total[0] < (real)1e-6) return;
    if (a->spin) rigid_of_moments(total, a->damping, v, a->spin + node * 3);
    else
        for (size_t c = 0; c < 3; c++) v[c] = total[1 + c] / total[0];
}

void CPU_FN(plan_carry)(Device *device, const PlanCarryArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    Scatter sums, weights;
    size_t k = a->edges.k, nodes = a->edges.others, width = a->spin ? MOMENTS : 4;
    if (!scatter_open(&sums, device, nodes * width) || !scatter_open(&weights, device, k + 1)) return;
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
            real total[MOMENTS] = {0};
            for (int p = 0; p < threads; p++)
                for (size_t c = 0; c < width; c++) total[c] += sums.memory[sums.size * (size_t)p + o * width + c];
            finish_carry(a, o, total);
        }
    }
    arena_release(&device->scratch, mark);
}

void CPU_FN(plan_spin)(Device *device, const PlanSpinArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) {
        const real *g = a->g + 9 * i;
        real *spin = a->spin + 3 * (size_t)a->list[i], half = a->scale / 2;
        spin[0] = half * (g[7] - g[5]);
        spin[1] = half * (g[2] - g[6]);
        spin[2] = half * (g[3] - g[1]);
    }
}

void CPU_FN(plan_smooth)(Device *device, const PlanSmoothArgs *a) {
    (void)device;
    real factor = -1 / (2 * a->width * a->width);
    for (size_t i = 0; i < a->nodes; i++) {
        // The node itself is at distance 0, so the largest exponent is 0.
        real sum = 1, v[3] = {a->v[i * 3], a->v[i * 3 + 1], a->v[i * 3 + 2]};
        for (size_t e = 0; e < a->k; e++) {
            int32_t other = a->index[i * a->k + e];
            if (other < 0) continue;
            real w = real_exp(factor * a->distance2[i * a->k + e]);
            sum += w;
            for (size_t c = 0; c < 3; c++) v[c] += w * a->v[(size_t)other * 3 + c];
        }
        for (size_t c = 0; c < 3; c++) a->out[i * 3 + c] = v[c] / sum;
    }
}

static real square_between(const real *a, const real *b) {
    real sum = 0;
    for (size_t c = 0; c < 3; c++) sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

void CPU_FN(plan_gap)(Device *device, const PlanGapArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) {
        const int32_t *near = a->near + i * a->k;
        size_t best = (size_t)near[0];
        real least = square_between(a->target + 3 * best, a->x + 3 * best);
        for (size_t j = 1; j < a->k; j++) {
            size_t other = (size_t)near[j];
            real square = square_between(a->target + 3 * other, a->x + 3 * other);
            if (square < least) least = square, best = other;
        }
        size_t node = (size_t)a->list[i];
        real *out = a->out + 7 * node, length = real_sqrt(least), limit = 3 * a->ell,
             factor = (length > limit ? limit / length : 1) / a->ell;
        for (size_t c = 0; c < 3; c++) {
            out[c] = (a->x[3 * best + c] - a->nodes[3 * node + c]) / a->ell;
            out[3 + c] = (a->target[3 * best + c] - a->x[3 * best + c]) * factor;
        }
        out[6] = length * factor;
    }
}

static int32_t root_of(int32_t *body, int32_t i) {
    while (body[i] != i) i = body[i] = body[body[i]];
    return i;
}

static bool moves_along(const PlanBodiesArgs *a, size_t i, size_t j) {
    real r[3], carried[3], off[3];
    for (size_t c = 0; c < 3; c++) r[c] = a->x[3 * j + c] - a->x[3 * i + c];
    element_carried(a->w + 3 * i, a->turn + 3 * i, r, carried);
    for (size_t c = 0; c < 3; c++) off[c] = a->w[3 * j + c] - carried[c];
    return element_dot(off, off) < a->least * a->least;
}

void CPU_FN(plan_bodies)(Device *device, const PlanBodiesArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) a->body[i] = (int32_t)i;
    for (size_t i = 0; i < a->count; i++)
        for (size_t e = 0; e < a->k && a->near[i * a->k + e] >= 0; e++) {
            int32_t j = a->near[i * a->k + e], p = root_of(a->body, (int32_t)i), q = root_of(a->body, j);
            if (p == q || !moves_along(a, i, (size_t)j) || !moves_along(a, (size_t)j, i)) continue;
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
        bool plane = a->own[(size_t)j * a->k + a->plane - 1] != j;
        if (a->body[j] != a->body[i] && (size_t)size[a->body[j]] >= a->fewest && plane) return j;
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

// A particle and the plane that it may meet.
typedef struct Meeting {
    real normal[3], gap, left, along, w[3];
} Meeting;

static bool meeting_of(const PlanMeetArgs *a, size_t particle, const real *middle, Meeting *m) {
    size_t to = particle;
    if (!a->target || (a->meets && a->meets[particle] < 0)) return false;
    if (a->meets) to = (size_t)a->meets[particle];
    const real *target = a->target + 3 * to, *normal = a->normal + 3 * to;
    real d[3], up[3], along[3], after[3];
    for (size_t c = 0; c < 3; c++) {
        d[c] = a->x[3 * particle + c] - target[c];
        up[c] = middle[c] - target[c];
        m->w[c] = a->w[3 * particle + c] - (a->target_w ? a->target_w[3 * to + c] : 0);
    }
    real sign = element_dot(normal, up) < 0 ? -1 : 1;
    for (size_t c = 0; c < 3; c++) m->normal[c] = sign * normal[c];
    m->gap = element_dot(d, m->normal);
    m->left = m->gap + element_dot(m->w, m->normal);
    for (size_t c = 0; c < 3; c++) {
        along[c] = d[c] - m->gap * m->normal[c];
        after[c] = d[c] + m->w[c] - m->left * m->normal[c];
    }
    m->along = real_sqrt(element_dot(along, along));
    return element_dot(after, after) <= a->reach * a->reach;
}

static real within(real x, real limit) { return x < -limit ? -limit : x > limit ? limit : x; }

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
        Meeting one;
        left[i] = meeting_of(a, i, bodies[a->body[i]].middle, &one) ? one.left : INFINITY;
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
        size_t node = (size_t)a->list[i];
        real limit = 3 * a->ell, *out = a->out + a->stride * node + a->column;
        Meeting first = {.gap = limit, .left = INFINITY};
        if (b->first >= 0) {
            meeting_of(a, (size_t)b->first, b->middle, &first);
            for (size_t c = 0; c < 3; c++) out[c] = (a->x[3 * (size_t)b->first + c] - a->nodes[3 * node + c]) / a->ell;
        }
        for (size_t c = 0; c < 3; c++) {
            out[3 + c] = first.normal[c];
            out[9 + c] = first.w[c] / a->s;
        }
        out[6] = within(first.gap, limit) / a->ell;
        out[7] = within(first.left, limit) / a->s;
        out[8] = within(first.along, limit) / a->ell;
    }
    arena_release(&device->scratch, mark);
}

static size_t moving_node(const PlanMotionArgs *a, const int32_t *index) {
    for (size_t e = 0; e < a->edges.k && index[e] >= 0; e++)
        if (a->m[index[e]] > 0) return (size_t)index[e];
    return index[0] < 0 ? 0 : (size_t)index[0];
}

void CPU_FN(plan_motion)(Device *device, const PlanMotionArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) {
        size_t node = moving_node(a, a->edges.index + (size_t)a->list[i] * a->edges.k);
        real r[3];
        for (size_t c = 0; c < 3; c++) r[c] = a->x[3 * i + c] - a->node[3 * node + c];
        element_carried(a->v + 3 * node, a->spin + 3 * node, r, a->out + 3 * i);
        memcpy(a->turn + 3 * i, a->spin + 3 * node, 3 * sizeof(real));
    }
}

void CPU_FN(plan_extra)(Device *device, const PlanExtraArgs *a) {
    (void)device;
    for (size_t i = 0; i < a->count; i++) {
        size_t node = (size_t)a->list[i];
        real *extra = a->extra + node * 8, off[3] = {0}, square = 0;
        for (size_t c = 0; a->mean && c < 3; c++) {
            off[c] = a->mean[i * 3 + c] - a->x[node * 3 + c];
            square += off[c] * off[c];
        }
        real length = real_sqrt(square), limit = 3 * a->ell, factor = (length > limit ? limit / length : 1) / a->ell;
        for (size_t c = 0; c < 3; c++) {
            extra[c] = a->v ? a->v[node * 3 + c] / a->s : 0;
            extra[3 + c] = off[c] * factor;
        }
        extra[6] = length * factor;
        extra[7] = a->m;
    }
}

// A candidate for the farthest point: the larger distance, ties to the smaller index.
typedef struct Farthest {
    real distance;
    int32_t index;
} Farthest;

static Farthest farther(Farthest a, Farthest b) {
    return b.distance > a.distance || (b.distance == a.distance && b.index < a.index) ? b : a;
}

// Distances of points [first, last) to the chosen set after `from` has joined it, and the largest of them.
static Farthest farthest_in_range(const PlanFarthestArgs *a, size_t first, size_t last, const real *from) {
    Farthest best = {-1, INT32_MAX};
    for (size_t i = first; i < last; i++) {
        real dx = a->x[i * 3] - from[0], dy = a->x[i * 3 + 1] - from[1], dz = a->x[i * 3 + 2] - from[2];
        real d = dx * dx + dy * dy + dz * dz;
        if (d < a->distance[i]) a->distance[i] = d;
        if (a->distance[i] > best.distance) best = (Farthest){a->distance[i], (int32_t)i};
    }
    return best;
}

void CPU_FN(plan_farthest)(Device *device, const PlanFarthestArgs *a) {
    enum { MAX_PARTS = 64 };
    Farthest part[MAX_PARTS];
    for (size_t i = 0; i < a->count; i++) a->distance[i] = INFINITY;
    for (size_t j = 0; j < a->want; j++) {
        Farthest best = {-1, a->start};
        for (int t = 0; j > 0 && t < MAX_PARTS; t++) best = farther(best, part[t]);
        a->chosen[j] = best.index;
        const real *from = a->x + (size_t)best.index * 3;
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->count > 1 << 15)
        for (int t = 0; t < MAX_PARTS; t++) {
            size_t first, last;
            thread_range(a->count, t, MAX_PARTS, &first, &last);
            part[t] = farthest_in_range(a, first, last, from);
        }
    }
}

void CPU_FN(plan_spread)(Device *device, const PlanSpreadArgs *a) {
    (void)device;
    double total = 0;
    for (size_t j = 0; j < a->channels; j++) {
        double sum = 0, square = 0;
        for (size_t i = 0; i < a->nodes; i++) sum += (double)a->h[i * a->channels + j];
        double mean = sum / (double)(a->nodes ? a->nodes : 1);
        for (size_t i = 0; i < a->nodes; i++) square += ((double)a->h[i * a->channels + j] - mean) * ((double)a->h[i * a->channels + j] - mean);
        total += sqrt(square / (double)(a->nodes ? a->nodes : 1));
    }
    *a->spread = (real)(total / (double)(a->channels ? a->channels : 1));
}
