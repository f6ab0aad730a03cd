// SPDX-License-Identifier: Apache-2.0
// Marches rays through the index: empty cells of every size are crossed at once, samples in the others are tested
// against the particles that their cell lists.
#include "renderer/place_samples.h"
#include "nn/cpu/lanes.h"
#include "renderer/cpu/functions.h"
#include "renderer/elements.h"

enum { RAY_CHUNK = 32, BLOCK = 256 };

// The particles of one bucket, copied so that tests run on vectors.
typedef struct Candidates {
    const RendererIndex *index;
    int64_t bucket; // whose list is loaded; -1 none
    int count;
    real x[BLOCK], y[BLOCK], z[BLOCK], inverse_R2[BLOCK];
    int32_t particle[BLOCK];
} Candidates;

// The K nearest so far, by (u^2, index).
typedef struct Nearest {
    int count, room;
    real limit;   // the largest u^2 that may still enter
    int32_t last; // offered
    real u2[RENDERER_MAX_NEIGHBOURS];
    int32_t particle[RENDERER_MAX_NEIGHBOURS];
} Nearest;

typedef struct March {
    const PlaceSamplesArgs *args;
    Candidates *candidates;
    real o[3], d[3], inverse[3];
    real xi, step, margin;
    long j, last;
    size_t tested, cells; // counted for tests of the cost
} March;

// Lists ascend by index: an equal u2 goes behind. A particle that two cells of one bucket list is offered twice in a
// row.
static void offer(Nearest *near, real u2, int32_t particle) {
    if (particle == near->last || (near->count == near->room && u2 >= near->u2[near->room - 1])) return;
    near->last = particle;
    int at = near->count < near->room ? near->count++ : near->room - 1;
    for (; at > 0 && u2 < near->u2[at - 1]; at--) {
        near->u2[at] = near->u2[at - 1];
        near->particle[at] = near->particle[at - 1];
    }
    near->u2[at] = u2;
    near->particle[at] = particle;
    if (near->count == near->room) near->limit = near->u2[near->room - 1];
}

// Copies entries [first, last), with particles that nothing reaches up to a multiple of LANES.
static void load(Candidates *c, int32_t first, int32_t last) {
    const int32_t *entry = c->index->entry + first;
    int count = last - first;
    for (int i = 0; i < count; i++) {
        const real *p = c->index->packed + 4 * (size_t)entry[i];
        c->x[i] = p[0];
        c->y[i] = p[1];
        c->z[i] = p[2];
        c->inverse_R2[i] = p[3];
        c->particle[i] = entry[i];
    }
    c->count = count;
    for (int i = count; i % LANES; i++) {
        c->x[i] = c->y[i] = c->z[i] = 0;
        c->inverse_R2[i] = (real)INFINITY;
    }
}

static void test_block(Candidates *c, const real q[3], Nearest *near) {
    for (int b = 0; b < c->count; b += LANES) {
        Lanes dx = q[0] - lanes_load(c->x + b), dy = q[1] - lanes_load(c->y + b), dz = q[2] - lanes_load(c->z + b);
        Lanes u2 = ELEMENT_U2(dx, dy, dz, lanes_load(c->inverse_R2 + b));
        for (unsigned hits = lanes_at_most(u2, near->limit); hits; hits &= hits - 1) {
            int i = __builtin_ctz(hits);
            offer(near, u2[i], c->particle[b + i]);
        }
    }
}

static void find_nearest(March *m, uint32_t bucket, const real q[3], Nearest *near) {
    Candidates *c = m->candidates;
    int32_t first = c->index->start[bucket], last = c->index->start[bucket + 1];
    m->tested += (size_t)(last - first);
    near->count = 0;
    near->limit = LARGEST_U2;
    near->last = -1;
    if (last - first <= BLOCK) { // the next sample is often in the same cell
        if (c->bucket != (int64_t)bucket) {
            c->bucket = bucket;
            load(c, first, last);
        }
        test_block(c, q, near);
        return;
    }
    c->bucket = bucket;
    for (; first < last; first += BLOCK) {
        load(c, first, last - first < BLOCK ? last : first + BLOCK);
        test_block(c, q, near);
    }
    c->bucket = -1;
}

// The first sample that may lie outside the cell of `level` around cell coordinates `cell`: at least the next.
static long first_outside(const March *m, const int32_t cell[3], int level) {
    const RendererIndex *index = m->args->index;
    real t = (real)INFINITY;
    for (int c = 0; c < 3; c++) {
        if (m->d[c] == 0) continue;
        int32_t low = (cell[c] >> (2 * level)) * (1 << (2 * level)), high = low + (1 << (2 * level));
        // The margin covers the rounding of q and of t: samples that are skipped lie inside, never the other way round.
        real wall = m->d[c] > 0 ? (real)high * index->edge - m->margin : (real)low * index->edge + m->margin;
        real at = (wall - m->o[c]) * m->inverse[c];
        t = at < t ? at : t;
    }
    real next = t / m->step - m->xi;
    if (!(next > (real)m->j + 1)) return m->j + 1;
    if (!(next <= (real)m->last)) return m->last + 1;
    return (long)next + ((real)(long)next < next);
}

// The coarsest level whose cell here is empty; -1 when the bucket has particles.
static int empty_level(March *m, const int32_t cell[3], uint32_t bucket) {
    const RendererIndex *index = m->args->index;
    m->cells++;
    if (index->start[bucket] < index->start[bucket + 1]) return -1;
    int level = 1;
    for (; level <= index->levels; level++) {
        int shift = 2 * level;
        uint32_t hash = index_hash(cell[0] >> shift, cell[1] >> shift, cell[2] >> shift);
        m->cells++;
        if (index->level[level][hash & index->level_mask[level]]) break;
    }
    return level - 1;
}

// The range of j inside the box of all particles and [near, far], one step wider at each end.
static bool clip(March *m, real near, real far) {
    const RendererIndex *index = m->args->index;
    real enter = near, leave = far, size = 0;
    for (int c = 0; c < 3; c++) {
        if (!(index->low[c] <= index->high[c])) return false;
        size = real_fabs(m->o[c]) > size ? real_fabs(m->o[c]) : size;
        size = real_fabs(index->low[c]) > size ? real_fabs(index->low[c]) : size;
        size = real_fabs(index->high[c]) > size ? real_fabs(index->high[c]) : size;
    }
    m->margin = (real)1e-3 * index->edge + (real)2e-6 * size;
    for (int c = 0; c < 3; c++) {
        real low = index->low[c] - m->margin, high = index->high[c] + m->margin;
        if (m->d[c] == 0) {
            if (m->o[c] < low || m->o[c] > high) return false;
            continue;
        }
        real a = (low - m->o[c]) * m->inverse[c], b = (high - m->o[c]) * m->inverse[c];
        enter = (a < b ? a : b) > enter ? (a < b ? a : b) : enter;
        leave = (a < b ? b : a) < leave ? (a < b ? b : a) : leave;
    }
    if (!(enter <= leave)) return false;
    real first = enter / m->step - 2, last = leave / m->step + 2, most = (real)(1 << 30);
    m->j = first > 0 ? (long)(first < most ? first : most) : 0;
    m->last = (long)(last < most ? last : most);
    return true;
}

static bool start_march(March *m, const PlaceSamplesArgs *a, size_t ray) {
    memcpy(m->o, a->origin + 3 * ray, sizeof m->o);
    memcpy(m->d, a->direction + 3 * ray, sizeof m->d);
    real length = real_sqrt((m->d[0] * m->d[0] + m->d[1] * m->d[1]) + m->d[2] * m->d[2]);
    bool fine = length > 0 && length < (real)1e18;
    for (int c = 0; c < 3; c++) {
        fine = fine && real_fabs(m->o[c]) < (real)1e18;
        m->inverse[c] = 1 / m->d[c];
    }
    m->xi = a->jitter ? a->jitter[ray] : (real)0.5;
    m->step = a->delta / length;
    return fine && clip(m, a->near, a->far);
}

// Finds the next sample that has neighbours; false when the ray has no more.
static bool next_sample(March *m, real *z, Nearest *near) {
    const PlaceSamplesArgs *a = m->args;
    int32_t here[3] = {INT32_MAX, 0,
                       0}; // the last cell that was not empty: most samples are where the one before them was
    uint32_t bucket = 0;
    while (m->j <= m->last) {
        int32_t cell[3];
        real q[3];
        *z = element_sample_z(m->j, m->xi, m->step);
        for (int c = 0; c < 3; c++) {
            q[c] = element_along(m->o[c], *z, m->d[c]);
            cell[c] = INDEX_CELL(a->index, q[c]);
        }
        if (cell[0] != here[0] || cell[1] != here[1] || cell[2] != here[2]) {
            bucket = index_hash(cell[0], cell[1], cell[2]) & a->index->mask;
            int level = empty_level(m, cell, bucket);
            if (level >= 0) {
                m->j = first_outside(m, cell, level);
                continue;
            }
            memcpy(here, cell, sizeof here);
        }
        m->j++;
        if (*z < a->near || *z > a->far) continue;
        find_nearest(m, bucket, q, near);
        if (near->count > 0) return true;
    }
    return false;
}

// Writes the ray's samples from *at on.
static void place_ray(March *m, size_t ray, size_t *at) {
    const PlaceSamplesArgs *a = m->args;
    RendererSamples *out = a->samples;
    size_t K = (size_t)out->neighbours, end = *at + (size_t)a->keep;
    if (!start_march(m, a, ray)) return;
    Nearest near;
    near.room = out->neighbours;
    for (real z; *at < end && next_sample(m, &z, &near); (*at)++) {
        int32_t *list = out->neighbour + *at * K;
        memcpy(list, near.particle, (size_t)near.count * sizeof *list);
        memset(list + near.count, 0xff, (K - (size_t)near.count) * sizeof *list); // -1
        out->z[*at] = z;
        out->ray[*at] = (int32_t)ray;
    }
}

// Chunks stand at their own places, RAY_CHUNK * S apart; moves them together. `start` holds each ray's count.
static void pack(const PlaceSamplesArgs *a) {
    RendererSamples *out = a->samples;
    size_t at = 0, room = (size_t)RAY_CHUNK * (size_t)a->keep, K = (size_t)out->neighbours;
    for (size_t c = 0; c < chunk_count(a->rays, RAY_CHUNK); c++) {
        size_t first = at;
        for (size_t i = c * RAY_CHUNK; i < c * RAY_CHUNK + chunk_size(a->rays, RAY_CHUNK, c); i++) {
            size_t count = (size_t)out->start[i];
            out->start[i] = (int32_t)at;
            at += count;
        }
        memmove(out->z + first, out->z + c * room, (at - first) * sizeof *out->z);
        memmove(out->ray + first, out->ray + c * room, (at - first) * sizeof *out->ray);
        memmove(out->neighbour + first * K, out->neighbour + c * room * K, (at - first) * K * sizeof *out->neighbour);
    }
    out->start[a->rays] = (int32_t)at;
    out->count = at;
}

void CPU_FN(place_samples)(Device *device, const PlaceSamplesArgs *a) {
    size_t tested = 0, cells = 0;
#pragma omp parallel num_threads(device->threads) reduction(+ : tested, cells)
    {
        Candidates candidates = {.index = a->index, .bucket = -1};
        March march = {.args = a, .candidates = &candidates};
#pragma omp for schedule(dynamic)
        for (size_t c = 0; c < chunk_count(a->rays, RAY_CHUNK); c++) {
            size_t at = c * RAY_CHUNK * (size_t)a->keep;
            for (size_t i = c * RAY_CHUNK; i < c * RAY_CHUNK + chunk_size(a->rays, RAY_CHUNK, c); i++) {
                size_t first = at;
                place_ray(&march, i, &at);
                a->samples->start[i] = (int32_t)(at - first);
            }
        }
        tested = march.tested;
        cells = march.cells;
    }
    a->samples->candidates = tested;
    a->samples->cells = cells;
    pack(a);
}
