// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of the fused MLP, in chunks of rows.
#include "gnn/cpu/functions.h"
#include "gnn/cpu/message_work.h"
#include "gnn/cpu/rows.h"

#include <omp.h>

static bool is_wide(const MessageTermArgs *term) {
    return term->kind == TERM_ROW && term->weight && term->width > NARROW;
}

// The part of the first layer that all rows of a group share: b0 and terms by group.
static bool group_sums(const MessageArgs *m, const Work *w, Chunk c) {
    size_t n = m->hidden;
    bool ok = true;
    for (size_t g = 0; g < c.groups; g++) memcpy(w->group + g * n, m->bias0, n * sizeof(real));
    for (size_t i = 0; i < m->term_count; i++) {
        const MessageTermArgs *t = &m->terms[i];
        const real *x = t->x + c.group * t->width;
        if (t->kind != TERM_GROUP) continue;
        if (t->weight) ok = times_weight(w, c.groups, x, PLAIN, t->weight, 1, w->group) && ok;
        else row_add(c.groups * n, x, w->group);
    }
    return ok;
}

// One row of the first layer: `base` (b0 and terms by group; a itself if a wide product is there already), plus the
// terms of single rows: terms by other end, which are projected already, and narrow products.
static void first_layer_row(const MessageArgs *m, size_t row, const real *base, real *a) {
    size_t n = m->hidden;
    int32_t other = m->edges.index ? m->edges.index[row] : -1;
    const real *pending = NULL;
    for (size_t i = 0; i < m->term_count; i++) {
        const MessageTermArgs *t = &m->terms[i];
        if (t->kind == TERM_GROUP || is_wide(t) || (t->kind == TERM_OTHER && other < 0)) continue;
        if (t->kind == TERM_OTHER || !t->weight) { // added together with the next narrow product
            if (pending) {
                row_narrow_product(n, 0, base, pending, NULL, NULL, a);
                base = a;
            }
            pending = t->x + (t->kind == TERM_OTHER ? (size_t)other : row) * n;
            continue;
        }
        row_narrow_product(n, t->width, base, pending, t->x + row * t->width, t->weight, a);
        base = a;
        pending = NULL;
    }
    if (pending || base != a) row_narrow_product(n, 0, base, pending, NULL, NULL, a);
}

// a (c.rows, hidden) = b0 + terms
static bool first_layer(const MessageArgs *m, const Work *w, Chunk c, real *a) {
    size_t n = m->hidden, k = m->edges.k;
    bool ok = group_sums(m, w, c), started = false;
    for (size_t i = 0; i < m->term_count; i++) {
        const MessageTermArgs *t = &m->terms[i];
        if (!is_wide(t)) continue;
        ok = times_weight(w, c.rows, t->x + c.row * t->width, PLAIN, t->weight, started ? 1 : 0, a) && ok;
        started = true;
    }
    for (size_t g = 0, r = 0; g < c.groups; g++)
        for (size_t e = 0; e < k; e++, r++) {
            if (started) row_add(n, w->group + g * n, a + r * n);
            first_layer_row(m, c.row + r, started ? a + r * n : w->group + g * n, a + r * n);
        }
    return ok;
}

// The products after the first layer, from ha = act(a): b before and hb after the second activation, y before the norm;
// b and y without their bias.
static bool later_layers(const MessageArgs *m, const Work *w, Chunk c, const real *ha, real *b, real *hb, real *y) {
    if (!m->weight2) return times_weight(w, c.rows, ha, PLAIN, m->weight1, 0, y);
    bool ok = times_weight(w, c.rows, ha, PLAIN, m->weight1, 0, b);
    rows_silu(c.rows, m->hidden, m->bias1, b, hb);
    return times_weight(w, c.rows, hb, PLAIN, m->weight2, 0, y) && ok;
}

static const real *last_bias(const MessageArgs *m) { return m->weight2 ? m->bias2 : m->bias1; }

static size_t present_rows(const MessageArgs *m, size_t group) {
    size_t k = m->edges.k, count = 0;
    if (!m->edges.index) return k;
    for (size_t e = 0; e < k; e++) count += m->edges.index[group * k + e] >= 0;
    return count;
}

static bool row_is_present(const MessageArgs *m, size_t row) { return !m->edges.index || m->edges.index[row] >= 0; }

// y + bias, normalised.
static void finish_row(const MessageArgs *m, const real *y, real *out) {
    size_t n = m->out;
    const real *bias = last_bias(m);
    if (m->gain) row_norm(n, bias, m->gain, m->offset, y, out);
    else row_narrow_product(n, 0, y, bias, NULL, NULL, out);
}

// Norm, residual and outputs of one chunk; y is unchanged.
static void write_outputs(const MessageArgs *m, const Work *w, Chunk c, const real *y) {
    size_t n = m->out, k = m->edges.k;
    for (size_t g = 0, r = 0; g < c.groups; g++) {
        size_t group = c.group + g, present = m->mean_kind == MEAN_GROUP ? present_rows(m, group) : 0;
        real *mean = m->mean_kind == MEAN_GROUP ? m->mean + group * n : NULL;
        if (mean) memset(mean, 0, n * sizeof(real));
        for (size_t e = 0; e < k; e++, r++) {
            size_t row = c.row + r;
            real *line = m->rows ? m->rows + row * n : w->line;
            finish_row(m, y + r * n, line);
            if (m->residual) row_add(n, m->residual + row * n, line);
            if (m->mean_kind == MEAN_NONE || !row_is_present(m, row)) continue;
            if (mean) row_axpy(n, 1 / (real)present, line, mean);
            else row_add(n, line, w->others + (size_t)m->edges.index[row] * n);
        }
    }
}

static bool forward_chunk(const MessageArgs *m, const Work *w, Chunk c) {
    real *a = m->kept_a ? m->kept_a + c.row * m->hidden : w->a;
    real *b = m->kept_b ? m->kept_b + c.row * m->hidden : w->b;
    real *y = m->kept_y ? m->kept_y + c.row * m->out : w->y;
    bool ok = first_layer(m, w, c, a);
    rows_silu(c.rows, m->hidden, NULL, a, w->ha);
    ok = later_layers(m, w, c, w->ha, b, w->hb, y) && ok;
    write_outputs(m, w, c, y);
    return ok;
}

static void report(Device *device, bool ok) {
    if (!ok) device_fail(device, STATUS_FAILED, "message: the matrix product failed");
}

// mean[o] = sum over parts / count
static void finish_mean_of_others(const MessageArgs *m, const WorkPlan *plan, int thread, int threads) {
    size_t n = m->out, first, last;
    thread_range(m->edges.others, thread, threads, &first, &last);
    memset(m->mean + first * n, 0, (last - first) * n * sizeof(real));
    add_others(plan, first * n, last * n, m->mean);
    for (size_t o = first; o < last; o++)
        for (size_t j = 0; m->edges.count[o] > 0 && j < n; j++) m->mean[o * n + j] /= (real)m->edges.count[o];
}

static size_t middle_width(const MessageArgs *m) { return m->weight2 ? m->hidden : m->out; }

static bool is_product(const MessageTermArgs *t) { return t->weight && (t->kind == TERM_GROUP || is_wide(t)); }

static void plan_forward_factors(WorkPlan *plan, const MessageArgs *m) {
    for (size_t i = 0; i < m->term_count; i++)
        if (is_product(&m->terms[i])) plan_factor(plan, PLAIN, m->terms[i].width, m->hidden, m->terms[i].weight);
    plan_factor(plan, PLAIN, m->hidden, middle_width(m), m->weight1);
    if (m->weight2) plan_factor(plan, PLAIN, m->hidden, m->out, m->weight2);
}

void CPU_FN(message_forward)(Device *device, const MessageArgs *m) {
    WorkPlan plan = {.precision = device->precision,
                     .others_size = m->mean_kind == MEAN_OTHER ? m->edges.others * m->out : 0};
    ArenaMark mark = arena_mark(&device->scratch);
    plan_chunks(&plan, m);
    plan_forward_factors(&plan, m);
    bool ok = plan_allocate(&plan, device, m);
    if (!ok) return; // the device has failed
    size_t chunks = chunk_count(m->edges.groups, chunk_groups(m));
#pragma omp parallel num_threads(device->threads) reduction(&& : ok)
    {
        Work w = work_of_thread(&plan, m, omp_get_thread_num());
#pragma omp for schedule(static)
        for (int p = 0; p < plan.parts; p++) {
            size_t first, last;
            work_on_part(&w, p);
            thread_range(chunks, p, plan.parts, &first, &last);
            for (size_t c = first; c < last; c++) ok = forward_chunk(m, &w, chunk_at(m, c)) && ok;
        }
        if (m->mean_kind == MEAN_OTHER) finish_mean_of_others(m, &plan, omp_get_thread_num(), omp_get_num_threads());
    }
    report(device, ok);
    arena_release(&device->scratch, mark);
}

// Offset of each gradient's part in Work.sums.
typedef struct Sums {
    real *term[MESSAGE_MAX_TERMS], *bias0, *weight1, *bias1, *weight2, *bias2, *gain, *offset;
} Sums;

static void plan_sums(WorkPlan *plan, const MessageArgs *m) {
    size_t h = m->hidden, o = m->out, middle = middle_width(m);
    for (size_t i = 0; i < m->term_count; i++)
        plan_slot(plan, m->terms[i].dweight, m->terms[i].weight ? m->terms[i].width * h : 0);
    plan_slot(plan, m->dbias0, h);
    plan_slot(plan, m->dweight1, h * middle);
    plan_slot(plan, m->dbias1, middle);
    plan_slot(plan, m->dweight2, m->weight2 ? h * o : 0);
    plan_slot(plan, m->dbias2, m->weight2 ? o : 0);
    plan_slot(plan, m->dgain, o);
    plan_slot(plan, m->doffset, o);
}

static Sums sums_of(const WorkPlan *plan, const MessageArgs *m, const Work *w) {
    Sums s = {0};
    const SumSlot *slot = plan->slots;
    for (size_t i = 0; i < m->term_count; i++) s.term[i] = w->sums + (slot++)->offset;
    s.bias0 = w->sums + (slot++)->offset;
    s.weight1 = w->sums + (slot++)->offset;
    s.bias1 = w->sums + (slot++)->offset;
    s.weight2 = w->sums + (slot++)->offset;
    s.bias2 = w->sums + (slot++)->offset;
    s.gain = w->sums + (slot++)->offset;
    s.offset = w->sums + (slot++)->offset;
    return s;
}

// Gradient of one row of the output.
static void output_gradient(const MessageArgs *m, size_t row, size_t group, size_t present, real *restrict dy) {
    size_t n = m->out;
    const real *drow = m->drows ? m->drows + row * n : NULL;
    if (m->mean_kind == MEAN_NONE || !m->dmean || !row_is_present(m, row)) {
        if (drow) memcpy(dy, drow, n * sizeof(real));
        else memset(dy, 0, n * sizeof(real));
        return;
    }
    size_t line = m->mean_kind == MEAN_GROUP ? group : (size_t)m->edges.index[row];
    real share = 1 / (real)(m->mean_kind == MEAN_GROUP ? present : (size_t)m->edges.count[line]);
    const real *restrict dmean = m->dmean + line * n;
    for (size_t j = 0; j < n; j++) dy[j] = MADD(share, dmean[j], drow ? drow[j] : 0);
}

static void add_residual_gradient(const MessageArgs *m, size_t row, const real *dy) {
    size_t n = m->out;
    if (!m->dresidual) return;
    if (m->dresidual == m->drows) memcpy(m->dresidual + row * n, dy, n * sizeof *dy);
    else row_add(n, dy, m->dresidual + row * n);
}

// dz, the gradient of the last product, for the rows of a chunk, and the gradients of gain, offset, residual and the
// last bias. y is the product itself (dz may be y).
static void output_backward(const MessageArgs *m, const Work *w, const Sums *s, Chunk c, const real *y, real *dz) {
    size_t n = m->out, k = m->edges.k;
    real *dbias = m->weight2 ? s->bias2 : s->bias1;
    for (size_t g = 0, r = 0; g < c.groups; g++) {
        size_t group = c.group + g, present = m->mean_kind == MEAN_GROUP ? present_rows(m, group) : 0;
        for (size_t e = 0; e < k; e++, r++) {
            real *dy = m->gain ? w->line : dz + r * n;
            output_gradient(m, c.row + r, group, present, dy);
            add_residual_gradient(m, c.row + r, dy);
            if (m->gain)
                row_norm_backward(n, last_bias(m), m->gain, dy, y + r * n, dz + r * n, dbias, s->gain, s->offset);
            else row_add(n, dy, dbias);
        }
    }
}

// Plans the products of the backward pass, and those of the forward pass whose results were not kept.
static void plan_backward_factors(WorkPlan *plan, const MessageArgs *m) {
    plan_factor(plan, TRANSPOSED, m->hidden, middle_width(m), m->weight1);
    if (m->weight2) plan_factor(plan, TRANSPOSED, m->hidden, m->out, m->weight2);
    for (size_t i = 0; i < m->term_count; i++)
        if (m->terms[i].weight && m->terms[i].dx)
            plan_factor(plan, TRANSPOSED, m->terms[i].width, m->hidden, m->terms[i].weight);
    if (!m->kept_a || (m->weight2 && !m->kept_b) || (m->gain && !m->kept_y)) plan_forward_factors(plan, m);
}

// Both hidden layers backwards: dy (rows, out) -> da (rows, hidden), which is returned. Overwrites ha, hb and y.
static real *hidden_backward(const MessageArgs *m, const Work *w, const Sums *s, Chunk c, bool *ok) {
    size_t h = m->hidden, o = m->out;
    const real *dnext = w->y;
    if (m->weight2) {
        if (m->dweight2) *ok = add_weight_gradient(w, c.rows, h, o, w->hb, w->y, s->weight2) && *ok;
        *ok = times_weight(w, c.rows, w->y, TRANSPOSED, m->weight2, 0, w->hb) && *ok;
        rows_times_slope(c.rows, h, w->b, w->hb, s->bias1);
        dnext = w->hb;
    }
    if (m->dweight1) *ok = add_weight_gradient(w, c.rows, h, middle_width(m), w->ha, dnext, s->weight1) && *ok;
    *ok = times_weight(w, c.rows, dnext, TRANSPOSED, m->weight1, 0, w->ha) && *ok;
    rows_times_slope(c.rows, h, w->a, w->ha, s->bias0);
    return w->ha;
}

// Sums da over the rows of each group.
static void sum_groups(const MessageArgs *m, const Work *w, Chunk c, const real *da) {
    size_t n = m->hidden, k = m->edges.k;
    memset(w->group, 0, c.groups * n * sizeof(real));
    for (size_t r = 0; r < c.rows; r++) row_add(n, da + r * n, w->group + r / k * n);
}

// Gradients of a term with `lines` rows of d, the first of which is row `first` of the term.
static bool term_backward(const Work *w, const MessageTermArgs *t, size_t n, size_t first, size_t lines, const real *d,
                          real *dweight) {
    const real *x = t->x + first * t->width;
    real *dx = t->dx ? t->dx + first * t->width : NULL;
    bool ok = true;
    if (!t->weight) {
        if (dx) row_add(lines * n, d, dx);
        return true;
    }
    if (t->dweight) ok = add_weight_gradient(w, lines, t->width, n, x, d, dweight);
    return (!dx || times_weight(w, lines, d, TRANSPOSED, t->weight, 1, dx)) && ok;
}

static bool terms_backward(const MessageArgs *m, const Work *w, const Sums *s, Chunk c, const real *da, bool scatter) {
    size_t n = m->hidden;
    bool ok = true, summed = false;
    for (size_t i = 0; i < m->term_count; i++) {
        const MessageTermArgs *t = &m->terms[i];
        if (t->kind == TERM_OTHER || (!t->dx && !t->dweight)) continue;
        if (t->kind == TERM_GROUP && !summed) {
            sum_groups(m, w, c, da);
            summed = true;
        }
        if (t->kind == TERM_GROUP) ok = term_backward(w, t, n, c.group, c.groups, w->group, s->term[i]) && ok;
        else ok = term_backward(w, t, n, c.row, c.rows, da, s->term[i]) && ok;
    }
    for (size_t r = 0; scatter && r < c.rows; r++) {
        int32_t other = m->edges.index[c.row + r];
        if (other >= 0) row_add(n, da + r * n, w->others + (size_t)other * n);
    }
    return ok;
}

// Recomputes ha and hb of the forward pass, and the slopes of the activations in a and b. Returns the last product,
// which only the norm needs.
static const real *values_again(const MessageArgs *m, const Work *w, Chunk c, bool *ok) {
    size_t h = m->hidden, o = m->out;
    const real *a = m->kept_a ? m->kept_a + c.row * h : w->a, *b = m->kept_b ? m->kept_b + c.row * h : w->b;
    if (!m->kept_a) *ok = first_layer(m, w, c, w->a) && *ok;
    rows_silu_and_slope(c.rows, h, NULL, a, w->a, w->ha);
    if (m->weight2) {
        if (!m->kept_b) *ok = times_weight(w, c.rows, w->ha, PLAIN, m->weight1, 0, w->b) && *ok;
        rows_silu_and_slope(c.rows, h, m->bias1, b, w->b, w->hb);
    }
    if (m->kept_y) return m->kept_y + c.row * o;
    const real *last = m->weight2 ? w->hb : w->ha, *weight = m->weight2 ? m->weight2 : m->weight1;
    if (m->gain) *ok = times_weight(w, c.rows, last, PLAIN, weight, 0, w->y) && *ok;
    return w->y;
}

static bool backward_chunk(const MessageArgs *m, const Work *w, const Sums *s, Chunk c, bool scatter) {
    bool ok = true;
    const real *y = values_again(m, w, c, &ok);
    output_backward(m, w, s, c, y, w->y);
    const real *da = hidden_backward(m, w, s, c, &ok);
    return terms_backward(m, w, s, c, da, scatter) && ok;
}

// Gradients of terms by other end: the same sum for each such term.
static void finish_others(const MessageArgs *m, const WorkPlan *plan, int thread, int threads) {
    size_t first, last;
    thread_range(m->edges.others, thread, threads, &first, &last);
    for (size_t i = 0; i < m->term_count; i++)
        if (m->terms[i].kind == TERM_OTHER && m->terms[i].dx)
            add_others(plan, first * m->hidden, last * m->hidden, m->terms[i].dx);
}

void CPU_FN(message_backward)(Device *device, const MessageArgs *m) {
    bool scatter = false, ok = true;
    for (size_t i = 0; i < m->term_count; i++) scatter = scatter || (m->terms[i].kind == TERM_OTHER && m->terms[i].dx);
    WorkPlan plan = {.precision = device->precision, .others_size = scatter ? m->edges.others * m->hidden : 0};
    ArenaMark mark = arena_mark(&device->scratch);
    plan_chunks(&plan, m);
    plan_sums(&plan, m);
    plan_backward_factors(&plan, m);
    if (!plan_allocate(&plan, device, m)) return;
    size_t chunks = chunk_count(m->edges.groups, chunk_groups(m));
#pragma omp parallel num_threads(device->threads) reduction(&& : ok)
    {
        int t = omp_get_thread_num(), threads = omp_get_num_threads();
        Work w = work_of_thread(&plan, m, t);
#pragma omp for schedule(static)
        for (int p = 0; p < plan.parts; p++) {
            size_t first, last;
            work_on_part(&w, p);
            Sums sums = sums_of(&plan, m, &w);
            thread_range(chunks, p, plan.parts, &first, &last);
            for (size_t c = first; c < last; c++) ok = backward_chunk(m, &w, &sums, chunk_at(m, c), scatter) && ok;
        }
        add_sums(&plan, t, threads);
        if (scatter) finish_others(m, &plan, t, threads);
    }
    report(device, ok);
    arena_release(&device->scratch, mark);
}
