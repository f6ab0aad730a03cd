// SPDX-License-Identifier: Apache-2.0
#include "renderer/shade.h"
#include "nn/cpu/vector_math.h"
#include "nn/matmul.h"
#include "renderer/cpu/functions.h"
#include "renderer/cpu/ring_features.h"

#include <omp.h>

// A chunk always has as many rows (the rest is padding), so that a row's bits do not depend on how many others there
// are. Weight gradients are summed in GROUPS groups of chunks, whatever the number of threads.
enum { ROWS = 128, GROUPS = 16 };

typedef struct Layout {
    size_t width[4];           // inputs, hidden, hidden, 4
    size_t weights;            // all weights and biases
    size_t weight[3], bias[3]; // where they stand in a partial gradient
    Precision precision;
} Layout;

// One chunk of samples. The backward pass needs the first part again: it is kept when the tape records.
typedef struct Chunk {
    size_t first, n;       // its samples
    real *in;              // (ROWS, width[0])
    real *h[2], *slope[2]; // (ROWS, hidden) activations and their slopes; slope NULL when nothing is kept
    real *raw;             // (ROWS, 4)
    real *logs;            // (ROWS, 4)
    real *mean;            // (ROWS, 3) mean colour
    real *cuts;            // (ROWS)
    real *draw, *dh[2], *din, *dcuts;
} Chunk;

static Layout make_layout(const ShadeArgs *a, Precision precision) {
    Layout l = {.precision = precision,
                .width = {shade_inputs(a->features, a->view_direction), a->hidden[0], a->hidden[1], 4}};
    for (int i = 0; i < 3; i++) {
        l.weight[i] = l.weights;
        l.bias[i] = l.weight[i] + l.width[i] * l.width[i + 1];
        l.weights = l.bias[i] + l.width[i + 1];
    }
    return l;
}

// Both are multiples of a cache line, since ROWS is.
static size_t forward_reals(const Layout *l, bool slopes) {
    return ROWS * (l->width[0] + (slopes ? 2 : 1) * (l->width[1] + l->width[2]) + 4 + 4 + 3 + 1);
}
static size_t backward_reals(const Layout *l) { return ROWS * (l->width[0] + l->width[1] + l->width[2] + 4 + 1); }

static real *take(real **memory, size_t width) {
    real *rows = *memory;
    *memory += ROWS * width;
    return rows;
}

static void take_forward(const Layout *l, real *memory, bool slopes, Chunk *c) {
    c->in = take(&memory, l->width[0]);
    for (int i = 0; i < 2; i++) {
        c->h[i] = take(&memory, l->width[i + 1]);
        c->slope[i] = slopes ? take(&memory, l->width[i + 1]) : NULL;
    }
    c->raw = take(&memory, 4);
    c->logs = take(&memory, 4);
    c->mean = take(&memory, 3);
    c->cuts = take(&memory, 1);
}

static void take_backward(const Layout *l, real *memory, Chunk *c) {
    c->din = take(&memory, l->width[0]);
    for (int i = 0; i < 2; i++) c->dh[i] = take(&memory, l->width[i + 1]);
    c->draw = take(&memory, 4);
    c->dcuts = take(&memory, 1);
}

static void set_chunk(const ShadeArgs *a, Chunk *c, size_t index) {
    c->first = index * ROWS;
    c->n = chunk_size(a->samples, ROWS, index);
}

static void mean_colour(const ShadeArgs *a, const real *in, real mean[3]) {
    for (int c = 0; c < 3; c++) {
        mean[c] = 0;
        for (size_t k = 0; k < RENDERER_RINGS && a->carry_rgb; k++)
            mean[c] += in[k * a->features + (size_t)c] / RENDERER_RINGS;
    }
}

static void unit_direction(const ShadeArgs *a, size_t s, real *out) {
    const real *d = a->direction + 3 * (size_t)a->ray[s];
    real length = real_sqrt((d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]);
    for (int c = 0; c < 3; c++) out[c] = d[c] / length;
}

static void fill_inputs(const ShadeArgs *a, const Layout *l, Chunk *c) {
    size_t sums = RENDERER_RINGS * a->features;
    for (size_t r = 0; r < c->n; r++) {
        Rings rings;
        real *in = c->in + r * l->width[0];
        gather_neighbours(a, c->first + r, &rings);
        ring_weights(&rings);
        ring_means(a, &rings, in);
        mean_colour(a, in, c->mean + 3 * r);
        c->cuts[r] = rings.cuts;
        memcpy(c->logs + 4 * r, rings.sum, sizeof rings.sum);
        if (a->view_direction) unit_direction(a, c->first + r, in + sums + 4);
    }
    VECTOR_LOOP
    for (size_t i = 0; i < 4 * ROWS; i++) c->logs[i] = ELEMENT_LOG(1 + c->logs[i]);
    for (size_t r = 0; r < c->n; r++) memcpy(c->in + r * l->width[0] + sums, c->logs + 4 * r, 4 * sizeof(real));
}

// h = silu(h + bias) for a row; slope too when it is asked for.
static void activate_row(size_t width, const real *restrict bias, real *restrict h, real *restrict slope) {
    if (slope) {
        VECTOR_LOOP
        for (size_t j = 0; j < width; j++) {
            real x = h[j] + bias[j], s = element_sigmoid(x);
            h[j] = x * s;
            slope[j] = s * (1 + x * (1 - s));
        }
    } else {
        VECTOR_LOOP
        for (size_t j = 0; j < width; j++) {
            real x = h[j] + bias[j];
            h[j] = x * element_sigmoid(x);
        }
    }
}

static void activate(size_t width, const real *bias, real *h, real *slope) {
    for (size_t r = 0; r < ROWS; r++) activate_row(width, bias, h + r * width, slope ? slope + r * width : NULL);
}

static bool run_mlp(const ShadeArgs *a, const Layout *l, Chunk *c) {
    const real *x = c->in;
    bool ok = true;
    for (int i = 0; i < 2; i++) {
        ok = matmul(l->precision, PLAIN, PLAIN, ROWS, l->width[i + 1], l->width[i], x, l->width[i], a->weight[i],
                    l->width[i + 1], 0, c->h[i], l->width[i + 1]) &&
             ok;
        activate(l->width[i + 1], a->bias[i], c->h[i], c->slope[i]);
        x = c->h[i];
    }
    return matmul(l->precision, PLAIN, PLAIN, ROWS, 4, l->width[2], x, l->width[2], a->weight[2], 4, 0, c->raw, 4) &&
           ok;
}

// From the MLP's output to density and colour.
static void finish(const ShadeArgs *a, const Chunk *c) {
    for (size_t r = 0; r < c->n; r++) {
        const real *raw = c->raw + 4 * r, *bias = a->bias[2];
        real *out = a->shaded + 4 * (c->first + r);
        out[0] = element_softplus(raw[0] + bias[0]) * (4 / a->radius) * element_presence(c->cuts[r]);
        for (int k = 0; k < 3; k++)
            out[1 + k] = element_sigmoid(raw[1 + k] + bias[1 + k] + 3 * c->mean[3 * r + (size_t)k]);
    }
}

static void report(Device *device, bool ok, const ShadeArgs *a) {
    if (!ok) device_fail(device, STATUS_FAILED, "renderer: a matrix product for %zu samples failed", a->samples);
}

size_t CPU_FN(shade_saved)(const ShadeArgs *a) {
    Layout layout = make_layout(a, PRECISION_F32);
    return chunk_count(a->samples, ROWS) * forward_reals(&layout, true);
}

void CPU_FN(shade_forward)(Device *device, const ShadeArgs *a) {
    Layout layout = make_layout(a, device->precision);
    ArenaMark mark = arena_mark(&device->scratch);
    size_t size = forward_reals(&layout, a->saved), chunks = chunk_count(a->samples, ROWS);
    real *memory = a->saved ? a->saved : device_scratch(device, size * (size_t)device->threads);
    if (!memory) return;
    // Rows without a sample must hold finite numbers; any will do.
    memset(a->saved ? memory + size * (chunks - 1) : memory, 0,
           size * (a->saved ? 1 : (size_t)device->threads) * sizeof *memory);
    bool ok = true;
#pragma omp parallel num_threads(device->threads) reduction(&& : ok)
    {
        omp_set_num_threads(1); // for oneDNN: a team of one is no parallel region to it
        Chunk chunk = {0};
        take_forward(&layout, memory + size * (size_t)omp_get_thread_num(), false, &chunk);
#pragma omp for schedule(dynamic)
        for (size_t c = 0; c < chunks; c++) {
            if (a->saved) take_forward(&layout, memory + size * c, true, &chunk);
            set_chunk(a, &chunk, c);
            fill_inputs(a, &layout, &chunk);
            ok = run_mlp(a, &layout, &chunk) && ok;
            finish(a, &chunk);
        }
    }
    report(device, ok, a);
    arena_release(&device->scratch, mark);
}

// Values of all samples that the backward pass keeps between its two parts.
typedef struct Pairs {
    real *g;        // (n, 4 D) (dL/da_k) / (0.01 + sum w_k)
    real *w;        // (n, K, 4) ring weights
    real *dx;       // (n, K, 3)
    int32_t *start; // (N+1) of each particle in `pair`
    int32_t *pair;  // (n K) sample * K + place, by particle, ascending
} Pairs;

// dL/draw and dL/dcuts from dL/dshaded; the rings' part of the colour goes to din later.
static void start_backward(const ShadeArgs *a, Chunk *c) {
    for (size_t r = 0; r < c->n; r++) {
        const real *dy = a->dshaded + 4 * (c->first + r), *raw = c->raw + 4 * r, *bias = a->bias[2];
        real *draw = c->draw + 4 * r, unit = 4 / a->radius, logit = raw[0] + bias[0];
        draw[0] = dy[0] * unit * element_presence(c->cuts[r]) * element_sigmoid(logit);
        c->dcuts[r] = dy[0] * unit * element_softplus(logit) * element_presence_slope(c->cuts[r]);
        for (int k = 0; k < 3; k++) {
            real colour = element_sigmoid(raw[1 + k] + bias[1 + k] + 3 * c->mean[3 * r + (size_t)k]);
            draw[1 + k] = dy[1 + k] * colour * (1 - colour);
        }
    }
}

// Adds to `partial` the gradients of weight and bias of layer i, and makes dL/dx (NULL = not wanted).
static bool layer_backward(const ShadeArgs *a, const Layout *l, const Chunk *c, int i, const real *x, const real *dy,
                           real *partial, real *dx) {
    size_t in = l->width[i], out = l->width[i + 1];
    bool ok = matmul(l->precision, TRANSPOSED, PLAIN, in, out, c->n, x, in, dy, out, 1, partial + l->weight[i], out);
    real *dbias = partial + l->bias[i];
    for (size_t r = 0; r < c->n; r++)
        for (size_t j = 0; j < out; j++) dbias[j] += dy[r * out + j];
    return (!dx || matmul(l->precision, PLAIN, TRANSPOSED, c->n, in, out, dy, out, a->weight[i], out, 0, dx, in)) && ok;
}

static void times_slope(const Chunk *c, size_t width, const real *slope, real *dh) {
    for (size_t i = 0; i < c->n * width; i++) dh[i] *= slope[i];
}

static bool mlp_backward(const ShadeArgs *a, const Layout *l, Chunk *c, real *partial, bool inputs) {
    bool ok = layer_backward(a, l, c, 2, c->h[1], c->draw, partial, c->dh[1]);
    times_slope(c, l->width[2], c->slope[1], c->dh[1]);
    ok = layer_backward(a, l, c, 1, c->h[0], c->dh[1], partial, c->dh[0]) && ok;
    times_slope(c, l->width[1], c->slope[0], c->dh[0]);
    return layer_backward(a, l, c, 0, c->in, c->dh[0], partial, inputs ? c->din : NULL) && ok;
}

static void inputs_backward(const ShadeArgs *a, const Layout *l, const Chunk *c, const Pairs *pairs) {
    size_t D = a->features, K = (size_t)a->neighbours;
    for (size_t r = 0; r < c->n; r++) {
        Rings rings;
        size_t s = c->first + r;
        const real *in = c->in + r * l->width[0];
        real *din = c->din + r * l->width[0], *g = pairs->g + s * RENDERER_RINGS * D;
        gather_neighbours(a, s, &rings);
        ring_weights(&rings);
        for (size_t k = 0; k < RENDERER_RINGS; k++) {
            // colour = sigmoid(raw + 3 mean_k a_k[0:3])
            for (size_t i = 0; i < 3 && a->carry_rgb; i++)
                din[k * D + i] += c->draw[4 * r + 1 + i] * ((real)3 / RENDERER_RINGS);
            real scale = 1 / (RING_MEAN_OFFSET + rings.sum[k]);
            for (size_t d = 0; d < D; d++) g[k * D + d] = din[k * D + d] * scale;
        }
        ring_backward(a, &rings, g, in, din + RENDERER_RINGS * D, c->dcuts[r], pairs->w + s * K * 4,
                      pairs->dx + s * K * 3);
    }
}

// Sorts (sample, neighbour) pairs by particle, so that each particle's gradient is summed by one thread in the order of
// samples.
static void sort_pairs(const ShadeArgs *a, Pairs *pairs) {
    size_t N = a->particles, count = a->samples * (size_t)a->neighbours;
    int32_t *start = pairs->start;
    memset(start, 0, (N + 2) * sizeof *start);
    for (size_t i = 0; i < count; i++)
        if (a->neighbour[i] >= 0) start[a->neighbour[i] + 2]++;
    for (size_t p = 1; p <= N; p++) start[p + 1] += start[p];
    // start[p + 1] is where p's next pair goes; afterwards start[p] is where p begins.
    for (size_t i = 0; i < count; i++)
        if (a->neighbour[i] >= 0) pairs->pair[start[a->neighbour[i] + 1]++] = (int32_t)i;
}

static void particle_features(const ShadeArgs *a, const Pairs *pairs, size_t p) {
    size_t D = a->features, K = (size_t)a->neighbours;
    for (size_t first = 0; first < D; first += LANES) {
        Lanes sum = {0};
        for (int32_t j = pairs->start[p]; j < pairs->start[p + 1]; j++) {
            size_t pair = (size_t)pairs->pair[j];
            const real *g = pairs->g + pair / K * RENDERER_RINGS * D + first, *w = pairs->w + 4 * pair;
            for (size_t k = 0; k < RENDERER_RINGS; k++)
                sum = lanes_multiply_add(load_lanes(g + k * D, D - first), lanes_all(w[k]), sum);
        }
        real *df = a->df + p * D + first;
        store_lanes(df, D - first, load_lanes(df, D - first) + sum);
    }
}

static void add_to_particles(Device *device, const ShadeArgs *a, const Pairs *pairs) {
#pragma omp parallel for schedule(static) num_threads(device->threads)
    for (size_t p = 0; p < a->particles; p++) {
        if (pairs->start[p] == pairs->start[p + 1]) continue;
        if (a->df) particle_features(a, pairs, p);
        if (!a->dx) continue;
        real sum[3] = {0};
        for (int32_t j = pairs->start[p]; j < pairs->start[p + 1]; j++)
            for (int c = 0; c < 3; c++) sum[c] += pairs->dx[3 * (size_t)pairs->pair[j] + (size_t)c];
        for (int c = 0; c < 3; c++) a->dx[3 * p + (size_t)c] += sum[c];
    }
}

static void add_to_weights(const ShadeArgs *a, const Layout *l, const real *partial, size_t groups) {
    for (int i = 0; i < 3; i++)
        for (size_t g = 0; g < groups; g++) {
            const real *from = partial + g * l->weights;
            for (size_t j = 0; a->dweight[i] && j < l->width[i] * l->width[i + 1]; j++)
                a->dweight[i][j] += from[l->weight[i] + j];
            for (size_t j = 0; a->dbias[i] && j < l->width[i + 1]; j++) a->dbias[i][j] += from[l->bias[i] + j];
        }
}

static bool make_pairs(Device *device, const ShadeArgs *a, Pairs *pairs) {
    size_t n = a->samples, K = (size_t)a->neighbours;
    *pairs =
        (Pairs){device_scratch(device, n * RENDERER_RINGS * a->features), device_scratch(device, n * K * 4),
                device_scratch(device, n * K * 3), device_scratch_bytes(device, (a->particles + 2) * sizeof(int32_t)),
                device_scratch_bytes(device, n * K * sizeof(int32_t))};
    return !device->failed;
}

// One group of chunks: their weight gradients go to `partial`, the particles' gradients to `pairs`.
static bool group_backward(const ShadeArgs *a, const Layout *l, size_t first, size_t last, Chunk *chunk, real *partial,
                           const Pairs *pairs) {
    bool ok = true;
    memset(partial, 0, l->weights * sizeof *partial);
    for (size_t c = first; c < last; c++) {
        take_forward(l, a->saved + c * forward_reals(l, true), true, chunk);
        set_chunk(a, chunk, c);
        start_backward(a, chunk);
        ok = mlp_backward(a, l, chunk, partial, pairs) && ok;
        if (pairs) inputs_backward(a, l, chunk, pairs);
    }
    return ok;
}

void CPU_FN(shade_backward)(Device *device, const ShadeArgs *a) {
    Layout layout = make_layout(a, device->precision);
    ArenaMark mark = arena_mark(&device->scratch);
    size_t chunks = chunk_count(a->samples, ROWS), groups = chunks < GROUPS ? chunks : GROUPS,
           size = backward_reals(&layout);
    real *memory = device_scratch(device, size * (size_t)device->threads),
         *partial = device_scratch(device, groups * layout.weights);
    Pairs pairs = {0};
    bool inputs = a->dx || a->df, ok = true;
    if (!memory || !partial || (inputs && !make_pairs(device, a, &pairs))) return;
#pragma omp parallel num_threads(device->threads) reduction(&& : ok)
    {
        omp_set_num_threads(1); // see shade_forward
        Chunk chunk = {0};
        take_backward(&layout, memory + size * (size_t)omp_get_thread_num(), &chunk);
#pragma omp single nowait
        if (inputs) sort_pairs(a, &pairs);
#pragma omp for schedule(dynamic)
        for (size_t g = 0; g < groups; g++) {
            size_t first, last;
            thread_range(chunks, (int)g, (int)groups, &first, &last);
            ok =
                group_backward(a, &layout, first, last, &chunk, partial + g * layout.weights, inputs ? &pairs : NULL) &&
                ok;
        }
    }
    if (inputs) add_to_particles(device, a, &pairs);
    add_to_weights(a, &layout, partial, groups);
    report(device, ok, a);
    arena_release(&device->scratch, mark);
}
