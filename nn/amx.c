// SPDX-License-Identifier: Apache-2.0
// A tile has 16 rows of 64 bytes. One of A holds 16 rows x 32 of k; one of B 16 pairs of k x 16 columns, so that both
// factors of a pair lie in 4 bytes; one of C 16 x 16 floats. Tiles 0 to 3 sum a square of 32 x 32, 4 and 5 are A's, 6
// and 7 B's.
#include "nn/amx.h"

#if defined(VPD_HAS_AMX) && !defined(VPD_DOUBLE)
#include <cpuid.h>
#include <immintrin.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef uint16_t Bf16;

enum { SIDE = 16, DEPTH = 32, TILE = SIDE * DEPTH, SQUARE = 2 * SIDE, ROW_BYTES = 64, MAX_PIECES = 3 };
enum { BLOCK_DEPTH = 4 * DEPTH }; // terms of k in a panel of A, which stays in the L1 cache

#define AMX_INLINE static inline __attribute__((always_inline)) // compiled once for each number of pieces

bool amx_ready(void) {
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18, FEATURES = 7 };
    const unsigned wanted = 1u << 24 | 1u << 22; // AMX-TILE, AMX-BF16; clang 14 does not know them by name
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512bf16") && __get_cpuid_count(FEATURES, 0, &a, &b, &c, &d) &&
           (d & wanted) == wanted && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

// ---- packing

static size_t tiles(size_t count, size_t side) { return (count + side - 1) / side; }

// The bits of the first `count` of 16 lanes.
AMX_INLINE __mmask16 lanes(size_t count) { return (__mmask16)(count >= SIDE ? 0xffff : (1u << count) - 1); }

AMX_INLINE size_t beyond(size_t count, size_t first) { return count > first ? count - first : 0; }

AMX_INLINE __m512 widen(__m256i x) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16)); }

// piece[i]: the i-th pieces of 32 numbers.
AMX_INLINE void split(int pieces, __m512 low, __m512 high, __m512i piece[MAX_PIECES]) {
    for (int i = 0; i < pieces; i++) {
        piece[i] = (__m512i)_mm512_cvtne2ps_pbh(high, low);
        if (i + 1 == pieces) return;
        low = _mm512_sub_ps(low, widen(_mm512_castsi512_si256(piece[i])));
        high = _mm512_sub_ps(high, widen(_mm512_extracti64x4_epi64(piece[i], 1)));
    }
}

// r (16, 16) transposed, elements of 4 bytes.
AMX_INLINE void turn(__m512i r[SIDE]) {
    __m512i t[SIDE];
    for (int i = 0; i < SIDE; i += 2) {
        t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < SIDE; i += 4) {
        r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; i++)
        for (int half = 0; half < SIDE; half += 8) {
            t[half + i] = _mm512_shuffle_i32x4(r[half + i], r[half + i + 4], 0x88);
            t[half + i + 4] = _mm512_shuffle_i32x4(r[half + i], r[half + i + 4], 0xdd);
        }
    for (int i = 0; i < 8; i++) {
        r[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        r[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
    }
}

// The tiles, one for each piece, of `rows` (up to 16) rows and `cols` (up to 32) columns of x: [row][col], or turned
// [pair of cols][row].
AMX_INLINE void pack_rows(int pieces, bool turned, const real *x, size_t ld, size_t rows, size_t cols, Bf16 *to) {
    __m512i v[MAX_PIECES][SIDE], piece[MAX_PIECES];
    __mmask16 low = lanes(cols), high = lanes(beyond(cols, SIDE));
    for (size_t r = 0; r < SIDE; r++) {
        const real *row = x + (r < rows ? r * ld : 0);
        __mmask16 present = r < rows ? 0xffff : 0;
        split(pieces, _mm512_maskz_loadu_ps(low & present, row),
              _mm512_maskz_loadu_ps(high & present, cols > SIDE ? row + SIDE : row), piece);
        for (int i = 0; i < pieces; i++) v[i][r] = piece[i];
    }
    for (int i = 0; i < pieces; i++) {
        if (turned) turn(v[i]);
        for (int r = 0; r < SIDE; r++) _mm512_store_si512(to + i * TILE + r * DEPTH, v[i][r]);
    }
}

// The same of `rows` (up to 32) rows and `cols` (up to 16) columns: [pair of rows][col], or turned [col][row].
AMX_INLINE void pack_pairs(int pieces, bool turned, const real *x, size_t ld, size_t rows, size_t cols, Bf16 *to) {
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                           21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    __m512i v[MAX_PIECES][SIDE], piece[MAX_PIECES];
    __mmask16 present = lanes(cols);
    for (size_t r = 0; r < SIDE; r++) {
        bool even = 2 * r < rows, odd = 2 * r + 1 < rows;
        split(pieces, _mm512_maskz_loadu_ps(even ? present : 0, even ? x + 2 * r * ld : x),
              _mm512_maskz_loadu_ps(odd ? present : 0, odd ? x + (2 * r + 1) * ld : x), piece);
        for (int i = 0; i < pieces; i++) v[i][r] = _mm512_permutexvar_epi16(order, piece[i]);
    }
    for (int i = 0; i < pieces; i++) {
        if (turned) turn(v[i]);
        for (int r = 0; r < SIDE; r++) _mm512_store_si512(to + i * TILE + r * DEPTH, v[i][r]);
    }
}

// Where a tile's pieces begin: side tile o, depth tile l of `depth_tiles`.
AMX_INLINE size_t tile_at(int pieces, size_t o, size_t l, size_t depth_tiles) {
    return (o * depth_tiles + l) * (size_t)pieces * TILE;
}

AMX_INLINE void pack_b(int pieces, Transpose tb, size_t k, size_t n, const real *b, size_t ldb, Bf16 *to) {
    size_t depth_tiles = tiles(k, DEPTH);
    for (size_t j = 0; j < tiles(n, SQUARE) * SQUARE; j += SIDE)
        for (size_t l = 0; l < k; l += DEPTH) {
            Bf16 *tile = to + tile_at(pieces, j / SIDE, l / DEPTH, depth_tiles);
            size_t cols = beyond(n, j), first = cols ? j : 0;
            if (tb == TRANSPOSED) pack_rows(pieces, true, b + first * ldb + l, ldb, cols, k - l, tile);
            else pack_pairs(pieces, false, b + l * ldb + first, ldb, k - l, cols, tile);
        }
}

// A panel of A: up to 32 rows, `depth` of k.
AMX_INLINE void pack_a(int pieces, Transpose ta, size_t m, size_t depth, const real *a, size_t lda, Bf16 *to) {
    size_t depth_tiles = tiles(depth, DEPTH);
    for (size_t i = 0; i < SQUARE; i += SIDE)
        for (size_t l = 0; l < depth; l += DEPTH) {
            Bf16 *tile = to + tile_at(pieces, i / SIDE, l / DEPTH, depth_tiles);
            size_t rows = beyond(m, i), first = rows ? i : 0;
            if (ta == TRANSPOSED) pack_pairs(pieces, true, a + l * lda + first, lda, depth - l, rows, tile);
            else pack_rows(pieces, false, a + first * lda + l, lda, rows, depth - l, tile);
        }
}

// ---- multiplying

typedef struct TileConfig {
    uint8_t palette, start, reserved[14];
    uint16_t row_bytes[SIDE];
    uint8_t rows[SIDE];
} TileConfig;

static const TileConfig whole_tiles = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

// The compiler does not know that tile loads read memory.
AMX_INLINE void finish_stores(void) { __asm__ volatile("" ::: "memory"); }

// Tiles 0 to 3 += 32 rows of A x 32 columns of B over `depth_tiles`; b_step: from one column tile of B to the next.
AMX_INLINE void add_square(int pieces, const Bf16 *a, const Bf16 *b, size_t depth_tiles, size_t b_step) {
    const Bf16 *a1 = a + tile_at(pieces, 1, 0, depth_tiles), *b1 = b + b_step;
    for (size_t l = 0; l < depth_tiles * (size_t)pieces * TILE; l += (size_t)pieces * TILE)
        for (int order = pieces - 1; order >= 0; order--)
            for (int p = 0; p <= order; p++) {
                size_t pa = l + (size_t)p * TILE, pb = l + (size_t)(order - p) * TILE;
                _tile_loadd(4, a + pa, ROW_BYTES);
                _tile_loadd(6, b + pb, ROW_BYTES);
                _tile_dpbf16ps(0, 4, 6);
                _tile_loadd(7, b1 + pb, ROW_BYTES);
                _tile_dpbf16ps(1, 4, 7);
                _tile_loadd(5, a1 + pa, ROW_BYTES);
                _tile_dpbf16ps(2, 5, 6);
                _tile_dpbf16ps(3, 5, 7);
            }
}

AMX_INLINE void clear_square(void) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

AMX_INLINE void load_square(const real *c, size_t ldc) {
    size_t stride = ldc * sizeof *c;
    _tile_loadd(0, c, stride);
    _tile_loadd(1, c + SIDE, stride);
    _tile_loadd(2, c + SIDE * ldc, stride);
    _tile_loadd(3, c + SIDE * ldc + SIDE, stride);
}

AMX_INLINE void store_square(real *c, size_t ldc) {
    size_t stride = ldc * sizeof *c;
    _tile_stored(0, c, stride);
    _tile_stored(1, c + SIDE, stride);
    _tile_stored(2, c + SIDE * ldc, stride);
    _tile_stored(3, c + SIDE * ldc + SIDE, stride);
}

// The same at the edge of C, with fewer than 32 rows or columns.
static void store_part(size_t rows, size_t cols, bool add, real *c, size_t ldc) {
    real square[SQUARE * SQUARE] __attribute__((aligned(64)));
    store_square(square, SQUARE);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) c[i * ldc + j] = square[i * SQUARE + j] + (add ? c[i * ldc + j] : 0);
}

// Up to 32 rows of C from a panel of A and the depth tiles of B that begin at b.
AMX_INLINE void multiply_panel(int pieces, const Bf16 *a, const Bf16 *b, size_t m, size_t n, size_t depth_tiles,
                               size_t b_step, bool add, real *c, size_t ldc) {
    for (size_t j = 0; j < n; j += SQUARE, b += 2 * b_step) {
        bool whole = m >= SQUARE && n - j >= SQUARE;
        if (whole && add) load_square(c + j, ldc);
        else clear_square();
        add_square(pieces, a, b, depth_tiles, b_step);
        if (whole) store_square(c + j, ldc);
        else store_part(m < SQUARE ? m : SQUARE, n - j < SQUARE ? n - j : SQUARE, add, c + j, ldc);
    }
}

AMX_INLINE void multiply(int pieces, Transpose ta, size_t m, size_t n, size_t k, const real *a, size_t lda,
                         const Bf16 *b, bool add, real *c, size_t ldc) {
    Bf16 panel[MAX_PIECES * SQUARE * BLOCK_DEPTH] __attribute__((aligned(64)));
    size_t b_step = tile_at(pieces, 1, 0, tiles(k, DEPTH));
    _tile_loadconfig(&whole_tiles);
    for (size_t i = 0; i < m; i += SQUARE)
        for (size_t l = 0; l < k; l += BLOCK_DEPTH) {
            size_t depth = k - l < BLOCK_DEPTH ? k - l : BLOCK_DEPTH;
            const real *from = ta == TRANSPOSED ? a + l * lda + i : a + i * lda + l;
            pack_a(pieces, ta, m - i, depth, from, lda, panel);
            finish_stores();
            multiply_panel(pieces, panel, b + tile_at(pieces, 0, l / DEPTH, 0), m - i, n, tiles(depth, DEPTH), b_step,
                           add || l > 0, c + i * ldc, ldc);
        }
    _tile_release();
}

size_t amx_packed_bytes(int pieces, size_t k, size_t n) {
    return (size_t)pieces * tiles(n, SQUARE) * 2 * tiles(k, DEPTH) * TILE * sizeof(Bf16);
}

void amx_pack(int pieces, Transpose tb, size_t k, size_t n, const real *b, size_t ldb, void *packed) {
    if (pieces == 1) pack_b(1, tb, k, n, b, ldb, packed);
    else if (pieces == 2) pack_b(2, tb, k, n, b, ldb, packed);
    else pack_b(3, tb, k, n, b, ldb, packed);
}

void amx_multiply(int pieces, Transpose ta, size_t m, size_t n, size_t k, const real *a, size_t lda, const void *packed,
                  bool add, real *c, size_t ldc) {
    if (pieces == 1) multiply(1, ta, m, n, k, a, lda, packed, add, c, ldc);
    else if (pieces == 2) multiply(2, ta, m, n, k, a, lda, packed, add, c, ldc);
    else multiply(3, ta, m, n, k, a, lda, packed, add, c, ldc);
}

#else // other processors, and double: amx_ready returned false, so nothing calls these

#include "base/check.h"

bool amx_ready(void) { return false; }

size_t amx_packed_bytes(int pieces, size_t k, size_t n) {
    (void)pieces, (void)k, (void)n;
    CHECK(!"AMX is not compiled in");
    return 0;
}

void amx_pack(int pieces, Transpose tb, size_t k, size_t n, const real *b, size_t ldb, void *packed) {
    (void)pieces, (void)tb, (void)k, (void)n, (void)b, (void)ldb, (void)packed;
    CHECK(!"AMX is not compiled in");
}

void amx_multiply(int pieces, Transpose ta, size_t m, size_t n, size_t k, const real *a, size_t lda, const void *packed,
                  bool add, real *c, size_t ldc) {
    (void)pieces, (void)ta, (void)m, (void)n, (void)k, (void)a, (void)lda, (void)packed, (void)add, (void)c, (void)ldc;
    CHECK(!"AMX is not compiled in");
}

#endif
