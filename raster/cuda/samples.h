// SPDX-License-Identifier: Apache-2.0
// The rasterisers' work per sample on a GPU, in the precision of `real`, within RASTER_CUDA_SPACE. Forward: a block for
// each tile, a thread for each sample, which goes through the tile's faces in their order. Backward: a warp for each
// face of a tile, whose lanes share the samples of the face's box; the lanes' sums are added in a fixed order. There
// are no atomics.
#include "nn/cuda/launch.h"
#include "nn/cuda/unroll.h"
#include "raster/cuda/functions.h"
#include "raster/pair.h"
#include "raster/texture.h"

namespace RASTER_CUDA_SPACE {

constexpr unsigned TILE_SAMPLES = RASTER_TILE * RASTER_TILE, BATCH = CUDA_WARP;
static_assert(TILE_SAMPLES == CUDA_THREADS, "a thread for each sample of a tile");

// ---- tiles

struct Sample {
    int row, column;
    size_t index; // in the picture
    bool there;
    real x, y;
};

static __device__ inline Sample sample_at(const RasterTiles &tiles, int tile, int row, int column) {
    const RasterGrid &grid = tiles.grid;
    Sample s;
    s.row = tile / tiles.across * RASTER_TILE + row;
    s.column = tile % tiles.across * RASTER_TILE + column;
    s.index = static_cast<size_t>(s.row) * static_cast<size_t>(grid.W) + static_cast<size_t>(s.column);
    s.there = s.row < grid.H && s.column < grid.W;
    s.x = static_cast<real>(raster_grid_x(&grid, s.column));
    s.y = static_cast<real>(raster_grid_y(&grid, s.row));
    return s;
}

static __device__ inline Sample own_sample(const RasterTiles &tiles, int tile) {
    return sample_at(tiles, tile, static_cast<int>(threadIdx.x) / RASTER_TILE,
                     static_cast<int>(threadIdx.x) % RASTER_TILE);
}

// A face of a tile, and the samples near it.
struct TileFace {
    PairFace pair;
    RasterBox box;
    int32_t face;
};

static __device__ inline void load_face(const RasterDeviceScene &s, int tile, int32_t slot, double reach,
                                        TileFace *out) {
    out->face = s.tiles.face[slot];
    const double *place = s.faces.place + RASTER_PLACE * static_cast<size_t>(out->face);
    pair_face(place, &out->pair);
    out->box = raster_tile_box(&s.tiles, tile, raster_box(&s.tiles.grid, place, reach));
}

static __device__ inline bool in_box(const RasterBox &box, const Sample &at) {
    return at.column >= box.x0 && at.column <= box.x1 && at.row >= box.y0 && at.row <= box.y1;
}

// see(face, slot) for the faces whose box holds this thread's sample, in their order. The whole block takes part.
template <class See>
static __device__ inline void each_face(const RasterDeviceScene &s, int tile, const Sample &at, double reach, See see) {
    __shared__ TileFace batch[BATCH];
    const int32_t last = s.tiles.start[tile + 1];
    for (int32_t first = s.tiles.start[tile]; first < last; first += BATCH) {
        const int32_t left = last - first, count = left < static_cast<int32_t>(BATCH) ? left : BATCH;
        if (static_cast<int32_t>(threadIdx.x) < count)
            load_face(s, tile, first + static_cast<int32_t>(threadIdx.x), reach, &batch[threadIdx.x]);
        __syncthreads();
        for (int32_t k = 0; k < count && at.there; k++)
            if (in_box(batch[k].box, at)) see(batch[k], first + k);
        __syncthreads(); // the next faces come where these are read
    }
}

// ---- SoftRas

struct SoftConstants {
    real inverse_sigma, limit2, far, inverse_range; // inverse_range: 1 / ((far - near) gamma)
};

static __device__ inline SoftConstants soft_constants(const RasterSoftArgs &a) {
    return {static_cast<real>(1 / a.sigma), static_cast<real>(a.limit2), static_cast<real>(a.far),
            static_cast<real>(1 / ((a.far - a.near) * a.gamma))};
}

// What a sample sees of a face.
struct SoftHit {
    Pair pair;
    real d, rest, l, depth, b[3], attribute[RASTER_ATTRIBUTES], texel[3], colour[3];
};

// Read again for each sample (volatile): those of all corners in registers would spill.
static __device__ inline real corner_attribute(const RasterFaces &faces, int32_t face, unsigned corner, unsigned k) {
    const size_t row = 3 * static_cast<size_t>(face) + corner;
    const volatile double *from = faces.attribute + row * static_cast<size_t>(faces.attributes);
    return static_cast<real>(from[k]);
}

template <bool textured> static __device__ inline void face_colour(const RasterFaces &faces, int32_t face, SoftHit *h) {
    constexpr unsigned COUNT = textured ? RASTER_ATTRIBUTES : 3;
    UNROLL_LOOP(k, COUNT) {
        h->attribute[k] = 0;
        UNROLL_LOOP(i, 3)
        h->attribute[k] += h->b[i] * corner_attribute(faces, face, i, k);
    }
    UNROLL_LOOP(c, 3) h->colour[c] = h->attribute[c];
    if constexpr (textured) {
        const RasterTexture *texture = faces.textures + faces.texture[face];
        const TexturePlace place =
            texture_place(texture, static_cast<double>(h->attribute[6]), static_cast<double>(h->attribute[7]));
        double value[3];
        texture_value(texture, &place, value);
        UNROLL_LOOP(c, 3) h->texel[c] = static_cast<real>(value[c]);
        UNROLL_LOOP(c, 3) h->colour[c] = h->attribute[c] * h->texel[c] + h->attribute[3 + c];
    }
}

template <bool textured>
static __device__ inline bool soft_hit(const SoftConstants &s, const RasterFaces &faces, const TileFace &f,
                                       const Sample &at, SoftHit *h) {
    pair_locate(&f.pair, at.x, at.y, &h->pair);
    if (!h->pair.inside && !(h->pair.d2 < s.limit2)) return false;
    h->depth = pair_depth(&f.pair, h->pair.w, h->b);
    if (!(h->depth <= s.far)) return false;
    face_colour<textured>(faces, f.face, h);
    h->d = pair_soft(&h->pair, s.inverse_sigma, &h->rest);
    h->l = (s.far - h->depth) * s.inverse_range;
    return true;
}

static __device__ inline void write_sums(const RasterTiles &tiles, const RasterSoftArgs &a, size_t i,
                                         const SoftSum &sum) {
    const size_t count = static_cast<size_t>(tiles.grid.H) * static_cast<size_t>(tiles.grid.W);
    real *state = static_cast<real *>(a.state);
    state[i] = sum.most;
    state[count + i] = sum.sum;
    state[5 * count + i] = sum.clear;
    UNROLL_LOOP(c, 3) {
        const real colour = sum.colour[c] / sum.sum;
        state[(2 + c) * count + i] = colour;
        a.colour[3 * i + c] = static_cast<double>(colour);
    }
    a.alpha[i] = static_cast<double>(1 - sum.clear);
}

static __global__ void soft_tiles(RasterDeviceScene s, RasterSoftArgs a) {
    const SoftConstants constants = soft_constants(a);
    const double reach = sqrt(a.limit2);
    BLOCK_LOOP(t, static_cast<size_t>(raster_tiles_count(&s.tiles))) {
        const int tile = static_cast<int>(t);
        const Sample at = own_sample(s.tiles, tile);
        SoftSum sum;
        sum.most = static_cast<real>(1e-3 / a.gamma); // the background's weight is exp(1e-3 / gamma)
        sum.sum = sum.clear = 1;
        UNROLL_LOOP(c, 3) sum.colour[c] = static_cast<real>(a.background[c]);
        each_face(s, tile, at, reach, [&](const TileFace &f, int32_t) {
            SoftHit hit;
            const bool seen = s.faces.texture[f.face] < 0 ? soft_hit<false>(constants, s.faces, f, at, &hit)
                                                          : soft_hit<true>(constants, s.faces, f, at, &hit);
            if (seen) soft_sum_add(&sum, hit.d, hit.rest, hit.l, hit.colour);
        });
        if (at.there) write_sums(s.tiles, a, at.index, sum);
    }
}

// Gradient of one face. With a texture it takes two rounds, whose sums do not fit into the registers together: that of
// the place, then that of the attributes.
enum Round { PLAIN, TEXTURED_PLACE, TEXTURED_ATTRIBUTES };
template <Round round> struct FaceSums {
    static constexpr bool textured = round != PLAIN, place = round != TEXTURED_ATTRIBUTES,
                          attributes = round != TEXTURED_PLACE;
    static constexpr unsigned COUNT = textured ? RASTER_ATTRIBUTES : 3;
    real x[3], y[3], r[3], attribute[3][COUNT];
};

// From dLoss/d(colour): adds to the attributes' sums; dLoss/db to gb.
template <Round round>
static __device__ inline void face_colour_back(const RasterFaces &faces, int32_t face, const SoftHit &h,
                                               const real gc[3], FaceSums<round> *sums, real gb[3]) {
    using Sums = FaceSums<round>;
    real g[Sums::COUNT];
    UNROLL_LOOP(c, 3) g[c] = gc[c];
    if constexpr (Sums::textured) {
        const RasterTexture *texture = faces.textures + faces.texture[face];
        const TexturePlace place =
            texture_place(texture, static_cast<double>(h.attribute[6]), static_cast<double>(h.attribute[7]));
        double g_value[3], gu, gv;
        UNROLL_LOOP(c, 3) {
            g_value[c] = static_cast<double>(gc[c] * h.attribute[c]);
            g[c] = gc[c] * h.texel[c];
            g[3 + c] = gc[c];
        }
        texture_back(texture, &place, g_value, nullptr, &gu, &gv);
        g[6] = static_cast<real>(gu);
        g[7] = static_cast<real>(gv);
    }
    UNROLL_LOOP(i, 3) {
        gb[i] = 0;
        UNROLL_LOOP(k, Sums::COUNT) {
            gb[i] += g[k] * corner_attribute(faces, face, i, k);
            if (Sums::attributes) sums->attribute[i][k] += g[k] * h.b[i];
        }
    }
}

static __device__ inline SoftSum read_sums(const RasterTiles &tiles, const RasterSoftArgs &a, size_t i) {
    const size_t count = static_cast<size_t>(tiles.grid.H) * static_cast<size_t>(tiles.grid.W);
    const real *state = static_cast<const real *>(a.state);
    SoftSum sum;
    sum.most = state[i];
    sum.sum = state[count + i];
    UNROLL_LOOP(c, 3) sum.colour[c] = state[(2 + c) * count + i];
    sum.clear = state[5 * count + i];
    return sum;
}

template <Round round>
static __device__ inline void sample_back(const RasterDeviceScene &s, const RasterSoftArgs &a,
                                          const SoftConstants &constants, const TileFace &f, const Sample &at,
                                          FaceSums<round> *sums) {
    SoftHit hit;
    if (!soft_hit<FaceSums<round>::textured>(constants, s.faces, f, at, &hit)) return;
    const SoftSum sum = read_sums(s.tiles, a, at.index);
    real gc[3], gl, gd2, face_gc[3], gb[3], gw[3];
    UNROLL_LOOP(c, 3) gc[c] = a.colour_grad ? static_cast<real>(a.colour_grad[3 * at.index + c]) : 0;
    const real ga = a.alpha_grad ? static_cast<real>(a.alpha_grad[at.index]) : 0;
    soft_sum_back(&sum, &hit.pair, hit.d, hit.rest, hit.l, hit.colour, constants.inverse_sigma, gc, ga, &gl, &gd2,
                  face_gc);
    face_colour_back<round>(s.faces, f.face, hit, face_gc, sums, gb);
    pair_depth_back(&f.pair, hit.pair.w, hit.b, hit.depth, -gl * constants.inverse_range, gb, gw, sums->r);
    pair_locate_back(&f.pair, &hit.pair, gw, gd2, sums->x, sums->y);
}

// visit(sample) for the samples of a box, shared by the lanes of a warp.
template <class Visit>
static __device__ inline void each_sample(const RasterTiles &tiles, int tile, const RasterBox &box, Visit visit) {
    const int wide = box.x1 - box.x0 + 1, high = box.y1 - box.y0 + 1, count = wide > 0 && high > 0 ? wide * high : 0;
    for (int i = static_cast<int>(cuda_lane()); i < count; i += CUDA_WARP)
        visit(sample_at(tiles, tile, (box.y0 + i / wide) % RASTER_TILE, (box.x0 + i % wide) % RASTER_TILE));
}

// The sum over the lanes, to *out by the first.
static __device__ inline void write_lanes(real value, double *out) {
    value = warp_sum(value);
    if (cuda_lane() == 0) *out = static_cast<double>(value);
}

template <Round round>
static __device__ inline void face_back(const RasterDeviceScene &s, const RasterSoftArgs &a,
                                        const SoftConstants &constants, int tile, const TileFace &f, double *out) {
    using Sums = FaceSums<round>;
    const unsigned attributes = static_cast<unsigned>(s.faces.attributes);
    Sums sums;
    memset(&sums, 0, sizeof sums);
    each_sample(s.tiles, tile, f.box, [&](const Sample &at) { sample_back<round>(s, a, constants, f, at, &sums); });
    UNROLL_LOOP(i, 3) {
        double *to = out + RASTER_PLACE + attributes * i;
        UNROLL_LOOP(k, Sums::COUNT) {
            if (Sums::attributes) write_lanes(sums.attribute[i][k], to + k);
        }
        if (!Sums::place) continue;
        write_lanes(sums.x[i], out + 3 * i);
        write_lanes(sums.y[i], out + 3 * i + 1);
        write_lanes(sums.r[i], out + 3 * i + 2);
        for (unsigned k = 3 + cuda_lane(); round == PLAIN && k < attributes; k += CUDA_WARP) to[k] = 0;
    }
}

// back(tile, slot, face) for the slots of all tiles, one to a warp; the face lies in shared memory.
template <class Back> static __device__ inline void each_slot(const RasterDeviceScene &s, double reach, Back back) {
    __shared__ TileFace faces[CUDA_THREADS / CUDA_WARP];
    TileFace *f = &faces[cuda_warp()];
    const int32_t warps = static_cast<int32_t>(blockDim.x / CUDA_WARP);
    BLOCK_LOOP(t, static_cast<size_t>(raster_tiles_count(&s.tiles))) {
        const int tile = static_cast<int>(t);
        for (int32_t slot = s.tiles.start[t] + static_cast<int32_t>(cuda_warp()); slot < s.tiles.start[t + 1];
             slot += warps) {
            if (cuda_lane() == 0) load_face(s, tile, slot, reach, f);
            __syncwarp();
            back(tile, slot, *f);
            __syncwarp(); // the next face comes where this one is read
        }
    }
}

template <Round round> __global__ void soft_tiles_back(RasterDeviceScene s, RasterSoftArgs a) {
    const SoftConstants constants = soft_constants(a);
    each_slot(s, sqrt(a.limit2), [&](int tile, int32_t slot, const TileFace &f) {
        if ((s.faces.texture[f.face] >= 0) != FaceSums<round>::textured) return;
        face_back<round>(s, a, constants, tile, f, a.slot_grad + static_cast<size_t>(slot) * raster_row(&s.faces));
    });
}

// ---- visibility

static __global__ void visible_tiles(RasterDeviceScene s, RasterVisibleArgs a) {
    const real least = static_cast<real>(a.least), most = static_cast<real>(a.most);
    BLOCK_LOOP(t, static_cast<size_t>(raster_tiles_count(&s.tiles))) {
        const int tile = static_cast<int>(t);
        const Sample at = own_sample(s.tiles, tile);
        real nearest = -1;
        int32_t in_front = -1;
        each_face(s, tile, at, 0, [&](const TileFace &f, int32_t slot) {
            real r = 0;
            bool seen = true;
            UNROLL_LOOP(k, 3) {
                const unsigned other = (k + 1) % 3;
                const real w = (at.x - f.pair.x[other]) * f.pair.gx[k] + (at.y - f.pair.y[other]) * f.pair.gy[k];
                r += w * f.pair.r[k];
                seen = seen && w >= -f.pair.slack;
            }
            if (!seen || !(r > nearest) || !(r >= least) || !(r <= most)) return;
            nearest = r;
            in_front = slot;
        });
        if (at.there) a.slot[at.index] = in_front;
    }
}

// ---- silhouette

static __global__ void cover_tiles(RasterDeviceScene s, RasterCoverArgs a) {
    const real limit2 = static_cast<real>(a.limit2), per_delta = static_cast<real>(1 / a.delta);
    const double reach = sqrt(a.limit2);
    BLOCK_LOOP(t, static_cast<size_t>(raster_tiles_count(&s.tiles))) {
        const int tile = static_cast<int>(t);
        const Sample at = own_sample(s.tiles, tile);
        real clear = at.there && !a.covered[at.index];
        each_face(s, tile, at, reach, [&](const TileFace &f, int32_t) {
            Pair pair;
            if (clear == 0) return; // covered
            pair_locate(&f.pair, at.x, at.y, &pair);
            if (pair.d2 < limit2) clear *= 1 - wide_exp(-pair.d2 * per_delta);
        });
        if (at.there) a.alpha[at.index] = 1 - static_cast<double>(clear);
    }
}

static __global__ void cover_tiles_back(RasterDeviceScene s, RasterCoverArgs a) {
    const real limit2 = static_cast<real>(a.limit2), per_delta = static_cast<real>(1 / a.delta);
    each_slot(s, sqrt(a.limit2), [&](int tile, int32_t slot, const TileFace &f) {
        real gx[3] = {0, 0, 0}, gy[3] = {0, 0, 0};
        each_sample(s.tiles, tile, f.box, [&](const Sample &at) {
            const real none[3] = {0, 0, 0};
            // dLoss/d alpha times the product over all faces
            const real clear = static_cast<real>(a.alpha_grad[at.index] * (1 - a.alpha[at.index]));
            Pair pair;
            if (clear == 0) return; // covered
            pair_locate(&f.pair, at.x, at.y, &pair);
            if (!(pair.d2 < limit2)) return;
            const real e = wide_exp(-pair.d2 * per_delta),
                       slope = clear * e * -per_delta / wide_max(1 - e, static_cast<real>(1e-7));
            pair_locate_back(&f.pair, &pair, none, slope, gx, gy);
        });
        double *out = a.slot_grad + static_cast<size_t>(slot) * raster_row(&s.faces);
        UNROLL_LOOP(k, 3) {
            write_lanes(gx[k], out + 3 * k);
            write_lanes(gy[k], out + 3 * k + 1);
        }
    });
}

// ---- launches

#define LAUNCH_TILES(name, kernel) launch_tiles(device, name, #kernel, s, kernel, *a)

template <class Args>
static void launch_tiles(Device *device, const char *name, const char *kernel_name, const RasterDeviceScene *s,
                         void (*kernel)(RasterDeviceScene, Args), Args a) {
    if (!cuda_op(device, name, s->tiles.grid.H, s->tiles.grid.W, s->faces.count)) return;
    cuda_launch(device, kernel_name, cuda_blocks(static_cast<size_t>(raster_tiles_count(&s->tiles)), 1), CUDA_THREADS,
                0, kernel, *s, a);
}

void soft(Device *device, const RasterDeviceScene *s, const RasterSoftArgs *a) { LAUNCH_TILES("SoftRas", soft_tiles); }
void soft_back(Device *device, const RasterDeviceScene *s, const RasterSoftArgs *a) {
    LAUNCH_TILES("SoftRas backward", soft_tiles_back<PLAIN>);
    if (!s->faces.textures) return;
    LAUNCH_TILES("SoftRas backward", soft_tiles_back<TEXTURED_PLACE>);
    LAUNCH_TILES("SoftRas backward", soft_tiles_back<TEXTURED_ATTRIBUTES>);
}
void visible(Device *device, const RasterDeviceScene *s, const RasterVisibleArgs *a) {
    LAUNCH_TILES("z-buffer", visible_tiles);
}
void cover(Device *device, const RasterDeviceScene *s, const RasterCoverArgs *a) {
    LAUNCH_TILES("silhouette", cover_tiles);
}
void cover_back(Device *device, const RasterDeviceScene *s, const RasterCoverArgs *a) {
    LAUNCH_TILES("silhouette backward", cover_tiles_back);
}

} // namespace RASTER_CUDA_SPACE
