// SPDX-License-Identifier: Apache-2.0
// The small loops of a plan.
#include "gnn/cpu/functions.h"
#include "gnn/cpu/scatter.h"
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
            for (size_t c = 0; c < 3; c++) out[c] = a->scale * value[c] + (a->shift ? a->shift[3 * q + c] : 0);
        }
}

// The pairs of one query, nearest first: insertion into a short list.
static void order_pairs(size_t pairs, const real *distance2, uint8_t *order) {
    for (size_t j = 0; j < pairs; j++) {
        size_t at = j;
        for (; at > 0 && distance2[order[at - 1]] > distance2[j]; at--) order[at] = order[at - 1];
        order[at] = (uint8_t)j;
    }
}

void CPU_FN(plan_trimmed_mean)(Device *device, const PlanTrimmedMeanArgs *a) {
#pragma omp parallel for schedule(static) num_threads(device->threads) if (a->queries > 16)
    for (size_t q = 0; q < a->queries; q++) {
        uint8_t order[PLAN_MAX_PAIRS];
        real sum[3] = {0};
        order_pairs(a->pairs, a->distance2 + q * a->pairs, order);
        for (size_t i = 0; i < a->kept; i++) {
            size_t j = q * a->pairs + order[i];
            for (size_t c = 0; c < 3; c++) sum[c] += a->target[3 * (size_t)a->match[j] + c] - a->start[3 * j + c];
        }
        for (size_t c = 0; c < 3; c++) a->out[3 * q + c] = sum[c] / (real)a->kept;
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
            real square = 0;
            for (size_t c = 0; c < 3; c++) {
                real d = a->v[(size_t)other * 3 + c] - a->v[q * 3 + c];
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

void CPU_FN(plan_carry)(Device *device, const PlanCarryArgs *a) {
    ArenaMark mark = arena_mark(&device->scratch);
    Scatter sums, weights;
    size_t k = a->edges.k, nodes = a->edges.others;
    memset(a->v, 0, nodes * 3 * sizeof(real));
    if (!scatter_open(&sums, device, nodes * 4) || !scatter_open(&weights, device, k + 1)) return;
#pragma omp parallel num_threads(device->threads)
    {
        int t = omp_get_thread_num(), threads = omp_get_num_threads();
        real *sum = scatter_part(&sums, t), *w = scatter_part(&weights, t);
        size_t first, last;
        thread_range(a->edges.groups, t, threads, &first, &last);
        for (size_t i = first; i < last; i++) {
            const int32_t *index = a->edges.index + i * k;
            softmax(k, index, a->logit + i * k, w);
            for (size_t e = 0; e < k; e++) {
                if (index[e] < 0) continue;
                real *to = sum + (size_t)index[e] * 4;
                for (size_t c = 0; c < 3; c++) to[c] += w[e] * (a->x[i * 3 + c] - a->past[i * 3 + c]);
                to[3] += w[e];
            }
        }
#pragma omp barrier
        thread_range(nodes, t, threads, &first, &last);
        for (size_t o = first; o < last; o++) {
            real total[4] = {0};
            for (int p = 0; p < threads; p++)
                for (size_t c = 0; c < 4; c++) total[c] += sums.memory[sums.size * (size_t)p + o * 4 + c];
            for (size_t c = 0; c < 3; c++) a->v[o * 3 + c] = total[3] < (real)1e-6 ? 0 : total[c] / total[3];
        }
    }
    arena_release(&device->scratch, mark);
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
        real least = square_between(a->mean + 3 * best, a->x + 3 * best);
        for (size_t j = 1; j < a->k; j++) {
            size_t other = (size_t)near[j];
            real square = square_between(a->mean + 3 * other, a->x + 3 * other);
            if (square < least) least = square, best = other;
        }
        size_t node = (size_t)a->list[i];
        real *out = a->out + 7 * node, length = real_sqrt(least), limit = 3 * a->ell,
             factor = (length > limit ? limit / length : 1) / a->ell;
        for (size_t c = 0; c < 3; c++) {
            out[c] = (a->x[3 * best + c] - a->nodes[3 * node + c]) / a->ell;
            out[3 + c] = (a->mean[3 * best + c] - a->x[3 * best + c]) * factor;
        }
        out[6] = length * factor;
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
