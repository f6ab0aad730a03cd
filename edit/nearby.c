// SPDX-License-Identifier: Apache-2.0
#include "edit/nearby.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// CELLS for each particle at most; on a surface most of them are empty and a full one holds some ten.
enum { CELLS = 4, SIDE_CELLS_MAX = 4096 };

// A place in cells may be off by SIDE_CELLS_MAX times 2^-22 for rounding. Lengths and their squares may be off by far
// less than MORE.
#define SLACK 0.004f
#define MORE (1 + 1e-5f)

// Scenes beyond these lengths, metres, are not sorted: squares would vanish or grow without bound.
#define SHORTEST 1e-9f
#define LONGEST 1e18f

typedef float Four __attribute__((vector_size(NEARBY_LANES * sizeof(float))));
typedef uint64_t Any __attribute__((vector_size(NEARBY_LANES * sizeof(float)))); // of a comparison: 0 where none holds

// ---- the grid

static int cells_along(float length, float side) {
    float cells = length / side;
    return cells < SIDE_CELLS_MAX - 1 ? (int)cells + 1 : SIDE_CELLS_MAX;
}

// The smallest cells of which there are not too many; false: the scene is too small or large.
static bool choose_cells(Nearby *nearby, size_t count, const float length[3]) {
    float longest = fmaxf(fmaxf(length[0], length[1]), length[2]);
    if (!(longest > SHORTEST && longest < LONGEST)) return false;
    for (float side = longest; side > longest / (SIDE_CELLS_MAX - 2); side *= 0.95f) {
        double product = 1;
        for (int c = 0; c < 3; c++) product *= cells_along(length[c], side);
        if (product > CELLS * (double)count + 64) break;
        nearby->per_metre = 1 / side;
        for (int c = 0; c < 3; c++) nearby->cells[c] = cells_along(length[c], side);
    }
    return true;
}

// The corner of the grid, and how long it is.
static void bound(Nearby *nearby, const float *x, size_t count, float length[3]) {
    for (size_t c = 0; c < 3; c++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < count; i++) {
            low = x[3 * i + c] < low ? x[3 * i + c] : low;
            high = x[3 * i + c] > high ? x[3 * i + c] : high;
        }
        nearby->low[c] = low;
        length[c] = high - low;
    }
}

// Where x lies along axis c, in cells.
static inline float in_cells(const Nearby *nearby, float x, int c) { return (x - nearby->low[c]) * nearby->per_metre; }

static inline int clamp_cell(const Nearby *nearby, float u, int c) {
    int last = nearby->cells[c] - 1;
    return u >= (float)last ? last : u > 0 ? (int)u : 0;
}

static inline size_t row_of(const Nearby *nearby, int y, int z) {
    return ((size_t)z * (size_t)nearby->cells[1] + (size_t)y) * (size_t)nearby->cells[0];
}

static size_t cell_of(const Nearby *nearby, const float *x) {
    int cell[3];
    for (int c = 0; c < 3; c++) cell[c] = clamp_cell(nearby, in_cells(nearby, x[c], c), c);
    return row_of(nearby, cell[1], cell[2]) + (size_t)cell[0];
}

static void put(NearbyBlock *blocks, size_t place, size_t i, const float *x, const float *extra) {
    NearbyBlock *block = &blocks[place / NEARBY_LANES];
    size_t lane = place % NEARBY_LANES;
    for (size_t c = 0; c < 3; c++) block->x[c][lane] = x[3 * i + c];
    for (size_t c = 0; c < NEARBY_EXTRA; c++) block->x[3 + c][lane] = extra[NEARBY_EXTRA * i + c];
    block->id[lane] = (uint32_t)i;
}

// Particles in the order of their cells, by index within one: a counting sort.
static void sort(Nearby *nearby, size_t count, size_t cells, uint32_t *cell, const float *x, const float *extra,
                 int threads) {
    memset(nearby->start, 0, (cells + 2) * sizeof *nearby->start);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < count; i++) cell[i] = (uint32_t)cell_of(nearby, x + 3 * i);
    for (size_t i = 0; i < count; i++) nearby->start[cell[i] + 2]++;
    for (size_t c = 2; c < cells + 2; c++) nearby->start[c] += nearby->start[c - 1];
    for (size_t i = 0; i < count; i++) cell[i] = nearby->start[cell[i] + 1]++; // its place
    for (size_t place = count; place % NEARBY_LANES; place++) {
        NearbyBlock *block = &nearby->blocks[place / NEARBY_LANES];
        for (size_t d = 0; d < NEARBY_DIMS; d++) block->x[d][place % NEARBY_LANES] = INFINITY;
        block->id[place % NEARBY_LANES] = NEARBY_NONE;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t i = 0; i < count; i++) put(nearby->blocks, cell[i], i, x, extra);
}

bool nearby_open(Nearby *nearby, size_t count, const float *x, const float *extra, int threads) {
    float length[3];
    *nearby = (Nearby){0};
    bound(nearby, x, count, length);
    if (!choose_cells(nearby, count, length)) return true;
    size_t cells = row_of(nearby, 0, nearby->cells[2]);
    uint32_t *cell = malloc(count * sizeof *cell);
    nearby->start = malloc((cells + 2) * sizeof *nearby->start);
    nearby->blocks = aligned_alloc(64, (count / NEARBY_LANES + 1) * sizeof *nearby->blocks);
    bool good = cell && nearby->start && nearby->blocks;
    if (good) sort(nearby, count, cells, cell, x, extra, threads);
    else nearby_close(nearby);
    free(cell);
    return good;
}

void nearby_close(Nearby *nearby) {
    free(nearby->start);
    free(nearby->blocks);
    *nearby = (Nearby){0};
}

// ---- a search

typedef struct Search {
    const Nearby *nearby;
    const float *q;
    float u[3];  // its place in cells
    int cell[3]; // the cell it is in, or the nearest to it
    float least; // squared distance of the nearest so far
    uint32_t id; // and which it is
    float rings; // what may still be looked at
    size_t work;
} Search;

static inline Four all(float x) { return (Four){x, x, x, x}; }

static inline Four distances(const NearbyBlock *block, const float *q) {
    Four sum = {0};
    for (int d = 0; d < NEARBY_DIMS; d++) {
        Four x;
        memcpy(&x, block->x[d], sizeof x);
        x -= all(q[d]);
        sum += x * x;
    }
    return sum;
}

static inline void take(Search *s, const NearbyBlock *block, Four sum) {
    for (int i = 0; i < NEARBY_LANES; i++)
        if (sum[i] < s->least || (sum[i] == s->least && block->id[i] < s->id)) {
            s->least = sum[i];
            s->id = block->id[i];
        }
}

// The particles of a run of cells, and those that share blocks with them. False: that is too much.
static inline bool look(Search *s, size_t row, int first, int last) {
    size_t from = s->nearby->start[row + (size_t)first], end = s->nearby->start[row + (size_t)last + 1];
    if (end - from >= s->work) return false;
    s->work -= end - from + 1;
    for (size_t b = from / NEARBY_LANES; b * NEARBY_LANES < end; b++) {
        const NearbyBlock *block = &s->nearby->blocks[b];
        Four sum = distances(block, s->q);
        Any near = (Any)(sum <= all(s->least));
        if (near[0] | near[1]) take(s, block, sum);
        if (s->least == 0 && first == last) break; // indices rise in a cell
    }
    return true;
}

// The cells along axis c within `reach` cells of the point.
static inline void cells_within(const Search *s, int c, float reach, int cells[2]) {
    cells[0] = clamp_cell(s->nearby, s->u[c] - reach - SLACK, c);
    cells[1] = clamp_cell(s->nearby, s->u[c] + reach + SLACK, c);
}

// How far cell `cell` is from the point along axis c, in cells, squared; never more than it is.
static inline float away2(const Search *s, int cell, int c) {
    float below = (float)cell - s->u[c], above = s->u[c] - (float)(cell + 1), way = below > above ? below : above;
    return way > SLACK ? (way - SLACK) * (way - SLACK) : 0;
}

// What a nearer particle may be away by place, in cells, squared; never less.
static inline float reach2(const Search *s) { return s->least * (s->nearby->per_metre * s->nearby->per_metre) * MORE; }

// All cells that may hold a nearer particle than was found.
static bool look_within(Search *s) {
    int x[2], y[2], z[2];
    float reach = sqrtf(reach2(s));
    if (!(reach < s->rings)) return false;
    cells_within(s, 1, reach, y);
    cells_within(s, 2, reach, z);
    for (int j = z[0]; j <= z[1]; j++)
        for (int i = y[0]; i <= y[1]; i++) {
            float rest = reach2(s) * MORE - away2(s, i, 1) - away2(s, j, 2);
            if (rest < 0) continue;
            cells_within(s, 0, sqrtf(rest), x);
            bool own = i == s->cell[1] && j == s->cell[2]; // its cell was looked at
            if (own && x[0] == x[1] && x[0] == s->cell[0]) continue;
            if (!look(s, row_of(s->nearby, i, j), x[0], x[1])) return false;
        }
    return true;
}

// The cells along axis c up to `ring` from the point's own.
static inline void cells_around(const Search *s, int c, int ring, int cells[2]) {
    int last = s->nearby->cells[c] - 1;
    cells[0] = s->cell[c] > ring ? s->cell[c] - ring : 0;
    cells[1] = s->cell[c] + ring < last ? s->cell[c] + ring : last;
}

static bool look_at_ring(Search *s, int ring) {
    int x[2], y[2], z[2];
    cells_around(s, 0, ring, x);
    cells_around(s, 1, ring, y);
    cells_around(s, 2, ring, z);
    for (int j = z[0]; j <= z[1]; j++)
        for (int i = y[0]; i <= y[1]; i++)
            if (!look(s, row_of(s->nearby, i, j), x[0], x[1])) return false;
    return true;
}

// Any particle: in the point's own cell, else around it.
static bool look_around(Search *s) {
    for (int ring = 0; (float)ring <= s->rings && s->id == NEARBY_NONE; ring = ring ? 2 * ring : 1)
        if (!look_at_ring(s, ring)) return false;
    return s->id != NEARBY_NONE;
}

static uint32_t find(const Nearby *nearby, NearbyLimits limits, const float *q) {
    Search s = {.nearby = nearby, .q = q, .least = INFINITY, .id = NEARBY_NONE, .rings = limits.rings};
    s.work = limits.work;
    for (int c = 0; c < 3; c++) {
        s.u[c] = in_cells(nearby, q[c], c);
        s.cell[c] = clamp_cell(nearby, s.u[c], c);
    }
    return look_around(&s) && look_within(&s) ? s.id : NEARBY_NONE;
}

// Cells and particles come from all over memory: they are fetched together.
static void fetch(const Nearby *nearby, size_t count, const float (*q)[NEARBY_DIMS]) {
    const uint32_t *start[NEARBY_POINTS];
    for (size_t i = 0; i < count; i++) {
        start[i] = nearby->start + cell_of(nearby, q[i]);
        __builtin_prefetch(start[i]);
    }
    for (size_t i = 0; i < count; i++) {
        const char *block = (const char *)(nearby->blocks + *start[i] / NEARBY_LANES);
        for (size_t line = 0; line < 6; line++) __builtin_prefetch(block + 64 * line);
    }
}

void nearby_find(const Nearby *nearby, NearbyLimits limits, size_t count, const float (*q)[NEARBY_DIMS],
                 uint32_t *out) {
    if (nearby->start) fetch(nearby, count, q);
    for (size_t i = 0; i < count; i++) out[i] = nearby->start ? find(nearby, limits, q[i]) : NEARBY_NONE;
}
