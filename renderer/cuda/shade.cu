// SPDX-License-Identifier: Apache-2.0
// A block takes tiles of samples from neighbours to colour in shared memory, and recomputes them in the backward pass:
// writing and reading the 1.3 KB per sample would take longer. Eight lanes share the neighbours, then the features, of
// a sample. Each block sums the weights' gradients of a range of tiles; these are added in order.
#include "nn/cuda/silu.h"
#include "nn/cuda/tensor_product.h"
#include "nn/cuda/tile_product.h"
#include "renderer/shade.h"

#include "renderer/cuda/functions.h"
#include "renderer/cuda/shade_particles.h"
#include "renderer/elements.h"

constexpr unsigned THREADS = 128, LANES = 8, GROUPS = THREADS / LANES, MOST_ROWS = 32, LEAST_ROWS = 4;
constexpr real RINGS = RENDERER_RINGS;
constexpr size_t PARTIALS = 512; // blocks of the backward pass, at most

// Widths of the MLP, how its gradients stand in a partial, and where in shared memory the parts of a tile begin.
struct ShadeShape {
    unsigned width[4]; // inputs, hidden, hidden, 4
    size_t weights, weight[3], bias[3];
    unsigned rows;                  // samples of a tile
    unsigned x[3], slope[3], dx[3]; // tiles: inputs of the layers; slopes, then gradients, of their outputs; where
                                    // the gradients of their inputs go
    unsigned sums, dcuts, ring_weights, floats;
};

static ShadeShape make_shape(const ShadeArgs *a) {
    ShadeShape shape = {};
    const size_t width[4] = {shade_inputs(a->features, a->view_direction), a->hidden[0], a->hidden[1], 4};
    for (int i = 0; i < 4; i++) shape.width[i] = static_cast<unsigned>(width[i]);
    for (int i = 0; i < 3; i++) {
        shape.weight[i] = shape.weights;
        shape.bias[i] = shape.weight[i] + width[i] * width[i + 1];
        shape.weights = shape.bias[i] + width[i + 1];
    }
    return shape;
}

// Results of the rings beside the MLP's inputs.
struct SampleSums {
    real ring[RENDERER_RINGS]; // sum of w_ik
    real cuts, colour[3];      // sum of cut(u_i); mean colour of the rings
};

// Forward, x[2] takes the place of x[0]; backward, the inputs' gradient that of x[1] and x[2].
static void lay_out(int neighbours, bool backward, ShadeShape *shape) {
    unsigned at = 0, rows = shape->rows, stride[4];
    for (int i = 0; i < 4; i++) stride[i] = tile_stride(shape->width[i]);
    auto take = [&](unsigned floats) { return at += floats, at - floats; };
    shape->x[0] = take(rows * (!backward && stride[2] > stride[0] ? stride[2] : stride[0]));
    shape->x[1] = take(rows * stride[1]);
    shape->x[2] = backward ? take(rows * stride[2]) : shape->x[0];
    if (backward) {
        shape->dx[0] = shape->x[1];
        if (at < shape->dx[0] + rows * stride[0]) at = shape->dx[0] + rows * stride[0];
        for (int i = 0; i < 3; i++) shape->slope[i] = take(rows * stride[i + 1]);
        for (int i = 1; i < 3; i++) shape->dx[i] = shape->slope[i - 1];
        shape->dcuts = take(rows);
    }
    shape->sums = take(rows * sizeof(SampleSums) / sizeof(real));
    shape->ring_weights = take(GROUPS * 4 * (static_cast<unsigned>(neighbours) + 1));
    shape->floats = at;
}

// As many rows to a tile as shared memory holds; false, with the device failed, when it holds too few.
static bool choose_rows(Device *device, const ShadeArgs *a, bool backward, ShadeShape *shape) {
    size_t limit = cuda_state(device)->shared_limit;
    for (shape->rows = MOST_ROWS; shape->rows >= LEAST_ROWS; shape->rows /= 2) {
        lay_out(a->neighbours, backward, shape);
        if (shape->floats * sizeof(real) <= limit) return true;
    }
    device_fail(
        device, STATUS_BAD_INPUT,
        "renderer.widths = %zu, %zu with model.D = %zu: %zu bytes of shared memory are needed, this GPU has %zu; "
        "use smaller ones",
        a->hidden[0], a->hidden[1], a->features, shape->floats * sizeof(real), limit);
    return false;
}

// Weights of the hidden layers for tensor cores, and their transposes.
struct ShadeFactors {
    TensorFactor plain[2], turned[2];
};

// The state of a block, shared by its functions. Tiles are made where they are used, so that a layer's number may vary.
struct ShadeBlock {
    const ShadeArgs &a;
    const ShadeShape &shape;
    real *shared;
    size_t samples; // of a.samples rows

    __device__ SharedTile tile(unsigned at, int width) const {
        return {shared + at, tile_stride(shape.width[width]), shape.width[width]};
    }
    __device__ SharedTile x(int layer) const { return tile(shape.x[layer], layer); }
    __device__ SharedTile slope(int layer) const { return tile(shape.slope[layer], layer + 1); }
    __device__ SharedTile dx(int layer) const { return tile(shape.dx[layer], layer); }
    __device__ SampleSums &sums(unsigned row) const { return reinterpret_cast<SampleSums *>(shared + shape.sums)[row]; }
    __device__ real &dcuts(unsigned row) const { return shared[shape.dcuts + row]; }
    // (K) of the sample that the thread's group of lanes works on
    __device__ float4 *ring_weights() const {
        return reinterpret_cast<float4 *>(shared + shape.ring_weights) +
               threadIdx.x / LANES * (static_cast<unsigned>(a.neighbours) + 1);
    }
};

// ---- ring features

// The sum over the lanes of a sample, in all of them.
template <class T> static __device__ T sum_lanes(T value) {
    value += __shfl_xor_sync(WHOLE_WARP, value, 4);
    value += __shfl_xor_sync(WHOLE_WARP, value, 1);
    return value + __shfl_xor_sync(WHOLE_WARP, value, 2);
}

struct Neighbour {
    real offset[3], inverse_R2, u, cut, cut_slope, ring[RENDERER_RINGS]; // offset: sample - particle
};

static __device__ Neighbour see_neighbour(const ShadeArgs &a, size_t s, int32_t particle) {
    Neighbour n;
    size_t ray = 3 * static_cast<size_t>(a.ray[s]);
    for (int c = 0; c < 3; c++)
        n.offset[c] =
            element_along(a.origin[ray + c], a.z[s], a.direction[ray + c]) - a.x[3 * static_cast<size_t>(particle) + c];
    n.inverse_R2 = element_inverse_R2(a.R[particle]);
    real u2 = element_u2(n.offset[0], n.offset[1], n.offset[2], n.inverse_R2);
    n.u = real_sqrt(u2);
    n.cut = element_cut(u2);
    n.cut_slope = element_cut_slope(n.u, u2);
    for (int k = 0; k < RENDERER_RINGS; k++) n.ring[k] = element_ring(n.u, static_cast<real>(k) * RING_SPACING);
    return n;
}

// Ring weights of sample s to shared memory and, with `pairs`, to global memory. Returns the number of neighbours.
static __device__ unsigned weigh_neighbours(const ShadeArgs &a, size_t s, bool there, float4 *weights, float4 *pairs,
                                            SampleSums *sums) {
    unsigned lane = threadIdx.x % LANES, K = static_cast<unsigned>(a.neighbours), count = 0;
    SampleSums own = {};
    for (unsigned i = lane; there && i < K && a.neighbour[s * K + i] >= 0; i += LANES, count++) {
        Neighbour n = see_neighbour(a, s, a.neighbour[s * K + i]);
        float4 w = {n.ring[0] * n.cut, n.ring[1] * n.cut, n.ring[2] * n.cut, n.ring[3] * n.cut};
        weights[i] = w;
        if (pairs) pairs[s * K + i] = w;
        own.ring[0] += w.x;
        own.ring[1] += w.y;
        own.ring[2] += w.z;
        own.ring[3] += w.w;
        own.cuts += n.cut;
    }
    for (int k = 0; k < RENDERER_RINGS; k++) own.ring[k] = sum_lanes(own.ring[k]);
    own.cuts = sum_lanes(own.cuts);
    if (lane == 0) *sums = own;
    return sum_lanes(count);
}

// a_k = sum_i w_ik f_i / (0.01 + sum_i w_ik) and the mean colour, lane by feature.
static __device__ void mean_features(const ShadeArgs &a, size_t s, unsigned count, const float4 *weights,
                                     SampleSums *sums, real *in) {
    const int32_t *list = a.neighbour + s * static_cast<size_t>(a.neighbours);
    for (unsigned d = threadIdx.x % LANES; d < a.features; d += LANES) {
        real mean[RENDERER_RINGS] = {}, colour = 0;
        for (unsigned i = 0; i < count; i++) {
            real f = a.f[static_cast<size_t>(list[i]) * a.features + d];
            float4 w = weights[i];
            mean[0] += w.x * f;
            mean[1] += w.y * f;
            mean[2] += w.z * f;
            mean[3] += w.w * f;
        }
        for (int k = 0; k < RENDERER_RINGS; k++) {
            mean[k] *= 1 / (RING_MEAN_OFFSET + sums->ring[k]);
            in[k * a.features + d] = mean[k];
            colour += mean[k] / RINGS;
        }
        if (d < 3 && a.carry_rgb) sums->colour[d] = colour;
    }
}

static __device__ void add_logs_and_direction(const ShadeArgs &a, size_t s, bool there, const SampleSums &sums,
                                              real *in) {
    unsigned lane = threadIdx.x % LANES;
    if (lane < RENDERER_RINGS) in[lane] = ELEMENT_LOG(1 + sums.ring[lane]);
    if (!a.view_direction || lane >= 3) return;
    const real *d = a.direction + (there ? 3 * static_cast<size_t>(a.ray[s]) : 0);
    in[RENDERER_RINGS + lane] = d[lane] / real_sqrt((d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]);
}

// The MLP's inputs of the tile's samples from `first` on. Rows behind the last sample get numbers too.
static __device__ void fill_inputs(const ShadeBlock &b, size_t first, float4 *pairs) {
    SharedTile in = b.x(0);
    for (unsigned r = threadIdx.x / LANES; r < b.shape.rows; r += GROUPS) { // whole warps: rows are a multiple of 4
        size_t s = first + r;
        bool there = s < b.samples;
        unsigned count = weigh_neighbours(b.a, s, there, b.ring_weights(), pairs, &b.sums(r));
        __syncwarp();
        mean_features(b.a, s, count, b.ring_weights(), &b.sums(r), &in.at(r, 0));
        add_logs_and_direction(b.a, s, there, b.sums(r),
                               &in.at(r, static_cast<unsigned>(RENDERER_RINGS * b.a.features)));
        __syncwarp();
    }
    __syncthreads();
}

// ---- the MLP

// store(i, j, sum) of the products of a hidden layer's weights, or their transpose, with x: on tensor cores `factor`.
template <Precision P, class Store>
static __device__ void layer_product(const ShadeBlock &b, const SharedTile &x, unsigned cols, const real *weight,
                                     const TensorFactor &factor, Store store) {
    if constexpr (P == PRECISION_F32) tile_product(b.shape.rows, cols, x, weight, store);
    else tile_product_tensor<P>(b.shape.rows, cols, x, factor, store);
}

// x[layer + 1] = silu(x[layer] W + b) and, on the way to a backward pass, its slope.
template <Precision P>
static __device__ void hidden_layers(const ShadeBlock &b, const ShadeFactors &factors, bool slopes) {
    UNROLL(1)
    for (int layer = 0; layer < 2; layer++) {
        SharedTile h = b.x(layer + 1), slope = b.slope(layer);
        const real *bias = b.a.bias[layer];
        layer_product<P>(b, b.x(layer), h.width, b.a.weight[layer], factors.plain[layer],
                         [&](unsigned i, unsigned j, real sum) {
                             h.at(i, j) = silu_value(sum + bias[j]);
                             if (slopes) slope.at(i, j) = silu_slope(sum + bias[j]);
                         });
        __syncthreads();
    }
}

// use(i, j, raw) for each of the MLP's four outputs of the tile's rows.
template <class Use> static __device__ void last_layer(const ShadeBlock &b, Use use) {
    const real *bias = b.a.bias[2];
    tile_product<1, 1>(b.shape.rows, 4, b.x(2), b.a.weight[2],
                       [&](unsigned i, unsigned j, real sum) { use(i, j, sum + bias[j]); });
    __syncthreads();
}

template <Precision P>
static __device__ void shade_blocks(const ShadeArgs &a, const ShadeShape &shape, const ShadeFactors &factors) {
    SHARED(real, shared);
    ShadeBlock b = {a, shape, shared, static_cast<size_t>(*a.used)};
    BLOCK_LOOP(tile, (b.samples + shape.rows - 1) / shape.rows) {
        size_t first = tile * shape.rows;
        fill_inputs(b, first, nullptr);
        hidden_layers<P>(b, factors, false);
        last_layer(b, [&](unsigned i, unsigned j, real raw) {
            if (first + i >= b.samples) return;
            const SampleSums &sums = b.sums(i);
            a.shaded[4 * (first + i) + j] = j == 0
                                                ? element_softplus(raw) * (4 / a.radius) * element_presence(sums.cuts)
                                                : element_sigmoid(raw + 3 * sums.colour[j - 1]);
        });
    }
}

template <Precision P>
static __global__ void __launch_bounds__(THREADS, 6)
    shade_tiles(const __grid_constant__ ShadeArgs a, const __grid_constant__ ShadeShape shape,
                const __grid_constant__ ShadeFactors factors) {
    if constexpr (TENSOR_CORES || P == PRECISION_F32) shade_blocks<P>(a, shape, factors);
}

// ---- launches

// The hidden layers' weights for tensor cores, and with `turned` their transposes.
template <Precision P> static ShadeFactors make_factors(Device *device, const ShadeArgs *a, bool turned) {
    ShadeFactors factors = {};
    TensorSources sources = {};
    const size_t in[2] = {shade_inputs(a->features, a->view_direction), a->hidden[0]};
    for (int turn = 0; P != PRECISION_F32 && turn <= turned; turn++)
        for (int layer = 0; layer < 2; layer++) {
            TensorSource *source = tensor_source(&sources, a->hidden[layer], turn);
            tensor_add(source, a->weight[layer], in[layer]);
            (turn ? factors.turned : factors.plain)[layer] = tensor_factor_of<P>(device, &sources);
        }
    if constexpr (P != PRECISION_F32) tensor_pack<P>(device, &sources);
    return factors;
}

// Runs f<P>: in the device's precision, in f32 where a tile has fewer rows than tensor cores take.
template <class F> static void with_precision(const Device *device, const ShadeShape &shape, F f) {
    bool tensor = shape.rows % TENSOR_ROWS == 0;
    if (tensor && device->precision == PRECISION_TF32) f.template operator()<PRECISION_TF32>();
    else if (tensor && device->precision == PRECISION_BF16) f.template operator()<PRECISION_BF16>();
    else f.template operator()<PRECISION_F32>();
}

size_t shade_saved_cuda(const ShadeArgs *) { return 0; }

void shade_forward_cuda(Device *device, const ShadeArgs *a) {
    if (!cuda_op(device, "shading", a->samples, a->particles, a->features, a->hidden[0], a->hidden[1], a->neighbours))
        return;
    ShadeShape shape = make_shape(a);
    if (!choose_rows(device, a, false, &shape)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    with_precision(device, shape, [&]<Precision P>() {
        ShadeFactors factors = make_factors<P>(device, a, cuda_factors_stay(device));
        LAUNCH(device, cuda_blocks(a->samples, shape.rows), THREADS, shape.floats * sizeof(real), shade_tiles<P>, *a,
               shape, factors);
    });
    arena_release(&device->scratch, mark);
}

// ---- backward

struct TurnedWeights {
    real *layer[3]; // (out, in)
};

static __global__ void turn_weights(ShadeArgs a, ShadeShape shape, TurnedWeights turned) {
    for (int layer = 0; layer < 3; layer++) {
        size_t in = shape.width[layer], out = shape.width[layer + 1];
        GRID_LOOP(i, in * out) turned.layer[layer][i] = a.weight[layer][i % in * out + i / in];
    }
}

// dL/draw and dL/dcuts from dL/dshaded; the rings' part of the colour comes later.
static __device__ void start_backward(const ShadeBlock &b, size_t first) {
    SharedTile draw = b.slope(2);
    last_layer(b, [&](unsigned i, unsigned j, real raw) {
        const SampleSums &sums = b.sums(i);
        real dy = first + i < b.samples ? b.a.dshaded[4 * (first + i) + j] : 0;
        if (j == 0) {
            real unit = 4 / b.a.radius;
            draw.at(i, j) = dy * unit * element_presence(sums.cuts) * element_sigmoid(raw);
            b.dcuts(i) = dy * unit * element_softplus(raw) * element_presence_slope(sums.cuts);
        } else {
            real colour = element_sigmoid(raw + 3 * sums.colour[j - 1]);
            draw.at(i, j) = dy * colour * (1 - colour);
        }
    });
}

// Begins, or with `more` adds to, the block's gradients of a layer's weight and bias.
template <Precision P>
static __device__ void add_to_partial(const ShadeBlock &b, int layer, const SharedTile &dy, bool more, real *partial) {
    real *dweight = partial + b.shape.weight[layer], *dbias = partial + b.shape.bias[layer];
    auto add = [&](unsigned i, unsigned j, real sum) {
        real *to = dweight + i * static_cast<size_t>(dy.width) + j;
        *to = more ? *to + sum : sum;
    };
    if (layer == 2) tile_outer<1, 1>(b.shape.rows, b.x(layer), dy, add); // few columns
    else if constexpr (P == PRECISION_F32) tile_outer(b.shape.rows, b.x(layer), dy, add);
    else tile_outer_tensor<P>(b.shape.rows, b.x(layer), dy, add);
    for (unsigned j = threadIdx.x; j < dy.width; j += blockDim.x) {
        real sum = more ? dbias[j] : 0;
        for (unsigned r = 0; r < b.shape.rows; r++) sum += dy.at(r, j);
        dbias[j] = sum;
    }
}

// From the last layer to the inputs (if they want a gradient): dh = (dy W^T) slope, in the slope's place.
template <Precision P>
static __device__ void mlp_backward(const ShadeBlock &b, const TurnedWeights &turned, const ShadeFactors &factors,
                                    bool inputs, bool more, real *partial) {
    UNROLL(1)
    for (int layer = 2; layer >= 0; layer--) {
        SharedTile dy = b.slope(layer), dx = b.dx(layer);
        add_to_partial<P>(b, layer, dy, more, partial);
        auto store = [&](unsigned i, unsigned j, real sum) { dx.at(i, j) = layer > 0 ? dx.at(i, j) * sum : sum; };
        if (layer == 2) tile_product(b.shape.rows, dx.width, dy, turned.layer[2], store); // of few terms
        else if (layer > 0 || inputs)
            layer_product<P>(b, dy, dx.width, turned.layer[layer], factors.turned[layer], store);
        __syncthreads();
    }
}

// dL/dx of sample s's neighbour in place i. own[k]: what a weight of ring k changes beside its own feature.
static __device__ void neighbour_backward(const ShadeArgs &a, size_t s, unsigned i, const real *g, const real *own,
                                          real dcuts, real *dx) {
    size_t pair = s * static_cast<size_t>(a.neighbours) + i, particle = static_cast<size_t>(a.neighbour[pair]);
    Neighbour n = see_neighbour(a, s, a.neighbour[pair]);
    real slope[RENDERER_RINGS] = {}, du = dcuts * n.cut_slope;
    for (unsigned d = 0; d < a.features; d++) {
        real f = a.f[particle * a.features + d];
        for (int k = 0; k < RENDERER_RINGS; k++) slope[k] += f * g[k * a.features + d];
    }
    for (int k = 0; k < RENDERER_RINGS; k++)
        du += (slope[k] + own[k]) *
              element_ring_weight_slope(n.u, static_cast<real>(k) * RING_SPACING, n.ring[k], n.cut, n.cut_slope);
    real factor = -du * n.inverse_R2 / n.u; // d u / d x = -(q - x) / (u R^2)
    for (int c = 0; c < 3; c++) dx[3 * pair + c] = factor * n.offset[c];
}

// From the gradient of the inputs to what particles get, for row r of the tile, which is sample s.
static __device__ void rings_backward(const ShadeBlock &b, size_t s, unsigned r, const ShadePairs &pairs) {
    const ShadeArgs &a = b.a;
    unsigned lane = threadIdx.x % LANES, D = static_cast<unsigned>(a.features), K = static_cast<unsigned>(a.neighbours);
    const SampleSums &sums = b.sums(r);
    const real *mean = &b.x(0).at(r, 0), *draw = &b.slope(2).at(r, 0);
    real *g = &b.dx(0).at(r, 0), own[RENDERER_RINGS] = {};
    for (unsigned d = lane; d < D; d += LANES)
        for (unsigned k = 0; k < RENDERER_RINGS; k++) {
            // colour = sigmoid(raw + 3 mean_k a_k[0:3])
            real dmean = g[k * D + d] + (d < 3 && a.carry_rgb ? draw[1 + d] * (3 / RINGS) : 0);
            g[k * D + d] = dmean * (1 / (RING_MEAN_OFFSET + sums.ring[k]));
            own[k] -= g[k * D + d] * mean[k * D + d];
            if (s < b.samples) pairs.g[s * RENDERER_RINGS * D + k * D + d] = g[k * D + d];
        }
    for (unsigned k = 0; k < RENDERER_RINGS; k++)
        own[k] = sum_lanes(own[k]) + g[RENDERER_RINGS * D + k] / (1 + sums.ring[k]);
    __syncwarp();
    for (unsigned i = lane; s < b.samples && i < K && a.neighbour[s * K + i] >= 0; i += LANES)
        neighbour_backward(a, s, i, g, own, b.dcuts(r), pairs.dx);
}

template <Precision P>
static __device__ void shade_blocks_backward(const ShadeArgs &a, const ShadeShape &shape, const TurnedWeights &turned,
                                             const ShadeFactors &factors, const ShadePairs &pairs, real *partials) {
    SHARED(real, shared);
    ShadeBlock b = {a, shape, shared, static_cast<size_t>(*a.used)};
    size_t tiles = (b.samples + shape.rows - 1) / shape.rows, first_tile = tiles * blockIdx.x / gridDim.x,
           last_tile = tiles * (blockIdx.x + 1) / gridDim.x;
    THREAD_LOOP(i, first_tile < last_tile ? 0 : shape.weights) partials[blockIdx.x * shape.weights + i] = 0;
    for (size_t tile = first_tile; tile < last_tile; tile++) {
        size_t first = tile * shape.rows;
        fill_inputs(b, first, pairs.w);
        hidden_layers<P>(b, factors, true);
        start_backward(b, first);
        mlp_backward<P>(b, turned, factors, pairs.g, tile > first_tile, partials + blockIdx.x * shape.weights);
        for (unsigned r = threadIdx.x / LANES; r < shape.rows && pairs.g; r += GROUPS)
            rings_backward(b, first + r, r, pairs);
        __syncthreads();
    }
}

template <Precision P>
static __global__ void __launch_bounds__(THREADS, 4)
    shade_tiles_backward(const __grid_constant__ ShadeArgs a, const __grid_constant__ ShadeShape shape,
                         const __grid_constant__ TurnedWeights turned, const __grid_constant__ ShadeFactors factors,
                         ShadePairs pairs, real *partials) {
    if constexpr (TENSOR_CORES || P == PRECISION_F32)
        shade_blocks_backward<P>(a, shape, turned, factors, pairs, partials);
}

// Adds the partials in order: eight warps each take a range of them, whose sums are then added in theirs.
static __device__ void add_partials(const ShadeArgs &a, const ShadeShape &shape, size_t count, const real *partials) {
    constexpr unsigned WARPS = CUDA_THREADS / CUDA_WARP;
    __shared__ real sums[WARPS][CUDA_WARP];
    BLOCK_LOOP(tile, (shape.weights + CUDA_WARP - 1) / CUDA_WARP) {
        size_t j = tile * CUDA_WARP + cuda_lane(), last = count * (cuda_warp() + 1) / WARPS;
        real sum = 0;
        for (size_t i = count * cuda_warp() / WARPS; i < last && j < shape.weights; i++)
            sum += partials[i * shape.weights + j];
        sums[cuda_warp()][cuda_lane()] = sum;
        __syncthreads();
        for (unsigned warp = 1; warp < WARPS && cuda_warp() == 0; warp++) sum += sums[warp][cuda_lane()];
        for (int layer = 0; layer < 3 && cuda_warp() == 0; layer++) {
            size_t end = shape.bias[layer] + shape.width[layer + 1];
            if (a.dweight[layer] && j >= shape.weight[layer] && j < shape.bias[layer])
                a.dweight[layer][j - shape.weight[layer]] += sum;
            if (a.dbias[layer] && j >= shape.bias[layer] && j < end) a.dbias[layer][j - shape.bias[layer]] += sum;
        }
        __syncthreads();
    }
}

static __global__ void finish_backward(ShadeArgs a, ShadeShape shape, size_t count, const real *partials,
                                       ShadePairs pairs, CudaLists lists) {
    add_partials(a, shape, count, partials);
    if (pairs.g) add_to_particles(a, pairs, lists);
}

void shade_backward_cuda(Device *device, const ShadeArgs *a) {
    if (!cuda_op(device, "shading, backward", a->samples, a->particles, a->features, a->hidden[0], a->hidden[1],
                 a->neighbours))
        return;
    ShadeShape shape = make_shape(a);
    if (!choose_rows(device, a, true, &shape)) return;
    ArenaMark mark = arena_mark(&device->scratch);
    size_t n = a->samples, K = static_cast<size_t>(a->neighbours), blocks = cuda_blocks(n, shape.rows);
    blocks = blocks < PARTIALS ? blocks : PARTIALS;
    TurnedWeights turned;
    for (int i = 0; i < 3; i++)
        turned.layer[i] = device_scratch(device, static_cast<size_t>(shape.width[i]) * shape.width[i + 1]);
    real *partials = device_scratch(device, blocks * shape.weights);
    ShadePairs pairs = {};
    if (a->dx || a->df)
        pairs = {device_scratch(device, n * RENDERER_RINGS * a->features),
                 reinterpret_cast<float4 *>(device_scratch(device, 4 * n * K)), device_scratch(device, 3 * n * K)};
    LAUNCH(device, cuda_blocks(shape.weights), CUDA_THREADS, 0, turn_weights, *a, shape, turned);
    with_precision(device, shape, [&]<Precision P>() {
        ShadeFactors factors = make_factors<P>(device, a, true);
        LAUNCH(device, blocks, THREADS, shape.floats * sizeof(real), shade_tiles_backward<P>, *a, shape, turned,
               factors, pairs, partials);
    });
    CudaLists lists = {};
    if (pairs.g) lists = cuda_lists(device, n * K, a->neighbour, a->particles);
    size_t tiles = cuda_blocks(shape.weights, CUDA_WARP),
           particles = pairs.g ? cuda_blocks(a->particles, CUDA_THREADS / CUDA_WARP) : 0;
    LAUNCH(device, tiles > particles ? tiles : particles, CUDA_THREADS, 0, finish_backward, *a, shape, blocks, partials,
           pairs, lists);
    arena_release(&device->scratch, mark);
}
