// SPDX-License-Identifier: Apache-2.0
// Which cells of the index a particle touches, and how a ray marches through them: empty cells of every size are
// crossed at once. The same bits on every back end (see renderer/elements.h).
#ifndef VPD_RENDERER_MARCH_H
#define VPD_RENDERER_MARCH_H

#include "renderer/elements.h"
#include "renderer/index.h"

// ---- particles

ELEMENT void march_set_edge(RendererIndex *index, real wanted, real reach) {
    real half = reach / 2;
    index->edge = wanted > half ? wanted : half;
    index->inverse_edge = 1 / index->edge;
}

// From edge, low and high: coarser levels until one cell holds half of the box.
ELEMENT void march_set_levels(IndexFound *found, real edge) {
    real extent = 0;
    for (int c = 0; c < 3; c++)
        extent = found->high[c] - found->low[c] > extent ? found->high[c] - found->low[c] : extent;
    for (found->levels = 0; found->levels < INDEX_LEVELS && 2 * edge < extent; found->levels++) edge *= 4;
}

// Cell coordinate at level 0; monotone in x. Level l has cell >> 2 l.
ELEMENT int32_t march_cell(const RendererIndex *index, real x) { return (int32_t)real_floor(x * index->inverse_edge); }

ELEMENT uint32_t march_hash(int32_t i, int32_t j, int32_t k) {
    uint32_t h = (uint32_t)i * 0x9E3779B1u + (uint32_t)j * 0x85EBCA77u + (uint32_t)k * 0xC2B2AE3Du;
    h ^= h >> 15;
    h *= 0x2C1B3C6Du;
    return h ^ (h >> 13);
}

// Where a scene's cell is in the lists, and in the marks of a level.
ELEMENT uint32_t march_bucket(const RendererIndex *index, uint32_t scene, int32_t i, int32_t j, int32_t k) {
    return scene * (index->mask + 1) + (march_hash(i, j, k) & index->mask);
}
ELEMENT uint8_t *march_mark(const RendererIndex *index, uint32_t scene, int level, int32_t i, int32_t j, int32_t k) {
    uint32_t mask = index->level_mask[level];
    return index->level[level] + (size_t)scene * (mask + 1) + (march_hash(i, j, k) & mask);
}

typedef struct CellBox {
    int32_t low[3], high[3];
} CellBox;

// Half the width of the box with every float position that can have u < 1 after rounding.
ELEMENT real march_safe_reach(real x, real R) { return R * (real)1.00001 + real_fabs(x) * (real)2.4e-7; }

// Finite, with a radius up to `reach`, and within INDEX_CELL_LIMIT cells from the origin; false for NaN.
ELEMENT bool march_particle_fits(const RendererIndex *index, const real *x, real R, real reach) {
    real limit = index->edge * (real)INDEX_CELL_LIMIT;
    bool inside = real_fabs(x[0]) < limit && real_fabs(x[1]) < limit && real_fabs(x[2]) < limit;
    return inside && R > 0 && R <= reach;
}

ELEMENT CellBox march_cell_box(const RendererIndex *index, const real *x, real R) {
    CellBox box;
    for (int c = 0; c < 3; c++) {
        real reach = march_safe_reach(x[c], R);
        box.low[c] = march_cell(index, x[c] - reach);
        box.high[c] = march_cell(index, x[c] + reach);
    }
    return box;
}

ELEMENT size_t march_cell_count(const CellBox *box) {
    size_t count = 1;
    for (int c = 0; c < 3; c++) count *= (size_t)(box->high[c] - box->low[c] + 1);
    return count;
}

// Most cells that the reach of a particle touches: the width of its box in cells, with what march_safe_reach adds and
// the rounding of its sides, both largest at INDEX_CELL_LIMIT.
ELEMENT size_t march_most_cells(const RendererIndex *index, real reach) {
    double rounding = (double)INDEX_CELL_LIMIT * (2 * 2.4e-7 + 4 * 6e-8);
    size_t most = (size_t)(2.0001 * (double)(reach * index->inverse_edge) + rounding) + 2;
    return most * most * most;
}

// ---- rays

typedef struct March {
    real o[3], d[3], inverse[3];
    real xi, step, margin, near, far;
    int32_t j, last; // the next sample; the last that may be kept
    int32_t here[3]; // the last cell that was not empty: most samples are where the one before them was
    uint32_t scene;  // the ray's
    uint32_t bucket; // of that cell
    size_t cells;    // of any level looked at, for tests of the cost
} March;

// The range of j inside the box of all particles and [near, far], one step wider at each end.
ELEMENT bool march_clip(March *m, const RendererIndex *index) {
    const IndexFound *box = index->found;
    real enter = m->near, leave = m->far, size = 0;
    for (int c = 0; c < 3; c++) {
        if (!(box->low[c] <= box->high[c])) return false;
        size = real_fabs(m->o[c]) > size ? real_fabs(m->o[c]) : size;
        size = real_fabs(box->low[c]) > size ? real_fabs(box->low[c]) : size;
        size = real_fabs(box->high[c]) > size ? real_fabs(box->high[c]) : size;
    }
    m->margin = (real)1e-3 * index->edge + (real)2e-6 * size;
    for (int c = 0; c < 3; c++) {
        real low = box->low[c] - m->margin, high = box->high[c] + m->margin;
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
    m->j = first > 0 ? (int32_t)(first < most ? first : most) : 0;
    m->last = (int32_t)(last < most ? last : most);
    return true;
}

// False when the ray can meet nothing. Samples stand `delta` metres apart, the first at xi of that.
ELEMENT bool march_start(March *m, const RendererIndex *index, uint32_t scene, const real *o, const real *d, real xi,
                         real delta, real near, real far) {
    bool fine = true;
    for (int c = 0; c < 3; c++) {
        m->o[c] = o[c];
        m->d[c] = d[c];
        m->inverse[c] = 1 / d[c];
        fine = fine && real_fabs(o[c]) < (real)1e18;
        m->here[c] = INT32_MAX;
    }
    real length = real_sqrt((d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]);
    m->xi = xi;
    m->step = delta / length;
    m->near = near;
    m->far = far;
    m->scene = scene;
    m->bucket = 0;
    m->cells = 0;
    return fine && length > 0 && length < (real)1e18 && march_clip(m, index);
}

// The first sample that may lie outside the cell of `level` around cell coordinates `cell`: at least the next.
ELEMENT int32_t march_first_outside(const March *m, const RendererIndex *index, const int32_t *cell, int level) {
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
    return (int32_t)next + ((real)(int32_t)next < next);
}

// The coarsest level whose cell here is empty; -1 when the bucket has particles.
ELEMENT int march_empty_level(March *m, const RendererIndex *index, const int32_t *cell, uint32_t bucket) {
    m->cells++;
    if (index->start[bucket] < index->start[bucket + 1]) return -1;
    int level = 1;
    for (; level <= index->found->levels; level++) {
        int shift = 2 * level;
        m->cells++;
        if (*march_mark(index, m->scene, level, cell[0] >> shift, cell[1] >> shift, cell[2] >> shift)) break;
    }
    return level - 1;
}

// The next sample in a cell that is not empty: z, its place q and m->bucket, whose particles may reach it. False when
// the ray has no more.
ELEMENT bool march_next(March *m, const RendererIndex *index, real *z, real *q) {
    while (m->j <= m->last) {
        int32_t cell[3];
        *z = element_sample_z(m->j, m->xi, m->step);
        for (int c = 0; c < 3; c++) {
            q[c] = element_along(m->o[c], *z, m->d[c]);
            cell[c] = march_cell(index, q[c]);
        }
        if (cell[0] != m->here[0] || cell[1] != m->here[1] || cell[2] != m->here[2]) {
            uint32_t bucket = march_bucket(index, m->scene, cell[0], cell[1], cell[2]);
            int level = march_empty_level(m, index, cell, bucket);
            if (level >= 0) {
                m->j = march_first_outside(m, index, cell, level);
                continue;
            }
            for (int c = 0; c < 3; c++) m->here[c] = cell[c];
            m->bucket = bucket;
        }
        m->j++;
        if (*z >= m->near && *z <= m->far) return true;
    }
    return false;
}

#endif
