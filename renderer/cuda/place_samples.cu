// SPDX-License-Identifier: Apache-2.0
// A warp marches a ray (renderer/march.h). Its lanes test 32 particles of a cell at a time, and hold the K nearest so
// far in order. Each ray writes its samples to its own places; they are then packed.
#include "nn/cuda/device.h"
#include "renderer/place_samples.h"

#include "nn/cuda/nearest_list.h"
#include "nn/cuda/sort_scan.h"
#include "renderer/cuda/functions.h"
#include "renderer/march.h"

constexpr unsigned THREADS = 128;

// SamplesFound, for atomics.
struct PlaceTotals {
    unsigned long long candidates, cells;
};
static_assert(sizeof(PlaceTotals) == sizeof(SamplesFound));

// Ray i has its samples from i * S on.
struct KeptSamples {
    int32_t *count; // (R+1), the last 0
    real *z;
    int32_t *neighbour;
};

// The nearest so far by (u^2, index), in rows of 32.
template <int SLOTS> struct Nearest {
    uint64_t row[SLOTS], limit; // candidates at or above the limit cannot enter
};

template <int SLOTS> static __device__ void clear(Nearest<SLOTS> *near) {
    for (int s = 0; s < SLOTS; s++) near->row[s] = NEAREST_EMPTY;
    near->limit = NEAREST_EMPTY;
}

template <int SLOTS> static __device__ void insert(Nearest<SLOTS> *near, uint64_t key, int room) {
    for (int s = 0; s < SLOTS; s++) near->row[s] = nearest_insert(near->row[s], &key);
    near->limit = __shfl_sync(WHOLE_WARP, near->row[SLOTS - 1], (room - 1) % 32);
}

template <int SLOTS>
static __device__ void find_nearest(const RendererIndex &index, int32_t first, int32_t last, const real *q, int room,
                                    Nearest<SLOTS> *near) {
    clear(near);
    for (int32_t block = first; block < last; block += 32) {
        int32_t i = block + static_cast<int32_t>(cuda_lane()), particle = -1;
        real u2 = static_cast<real>(INFINITY);
        // a particle that two cells of one bucket list stands there twice in a row
        if (i < last && (i == first || index.entry[i - 1] != index.entry[i])) {
            particle = index.entry[i];
            float4 p = reinterpret_cast<const float4 *>(index.packed)[particle];
            u2 = element_u2(q[0] - p.x, q[1] - p.y, q[2] - p.z, p.w);
        }
        uint64_t key = u2 <= LARGEST_U2 ? nearest_key(u2, particle) : NEAREST_EMPTY;
        unsigned hits = __ballot_sync(WHOLE_WARP, key < near->limit);
        for (; hits; hits &= hits - 1) {
            uint64_t hit = __shfl_sync(WHOLE_WARP, key, __ffs(static_cast<int>(hits)) - 1);
            if (hit < near->limit) insert(near, hit, room); // the limit may have fallen
        }
    }
}

template <int SLOTS>
static __global__ void __launch_bounds__(THREADS, 7) // 64 registers on 7 blocks: on sm_80 ptxas would take 56 and spill
    march_rays(PlaceSamplesArgs a, RendererIndex index, int neighbours, KeptSamples kept, PlaceTotals *totals) {
    if (blockIdx.x == 0 && threadIdx.x == 0) kept.count[a.rays] = 0;
    WARP_LOOP(ray, a.rays) {
        size_t at = ray * static_cast<size_t>(a.keep), end = at + static_cast<size_t>(a.keep);
        unsigned long long tested = 0;
        March march;
        Nearest<SLOTS> near;
        real z, q[3], xi = a.jitter ? a.jitter[ray] : static_cast<real>(0.5);
        bool meets = march_start(&march, &index, scene_of_row(&a.scenes, ray, 0), a.origin + 3 * ray,
                                 a.direction + 3 * ray, xi, a.delta, a.near, a.far);
        while (meets && at < end && march_next(&march, &index, &z, q)) {
            int32_t first = index.start[march.bucket], last = index.start[march.bucket + 1];
            find_nearest(index, first, last, q, neighbours, &near);
            tested += static_cast<unsigned>(last - first);
            if (__all_sync(WHOLE_WARP, near.row[0] == NEAREST_EMPTY)) continue;
            for (int s = 0; s < SLOTS; s++) {
                int place = 32 * s + static_cast<int>(cuda_lane());
                if (place < neighbours)
                    kept.neighbour[at * static_cast<size_t>(neighbours) + place] = nearest_id(near.row[s]);
            }
            if (cuda_lane() == 0) kept.z[at] = z;
            at++;
        }
        if (cuda_lane() == 0) {
            kept.count[ray] = static_cast<int32_t>(at - ray * static_cast<size_t>(a.keep));
            atomicAdd(&totals->candidates, tested);
            atomicAdd(&totals->cells, static_cast<unsigned long long>(march.cells));
        }
    }
}

// Rows behind the last sample have no neighbours.
static __global__ void pack(RendererSamples out, size_t keep, KeptSamples kept) {
    size_t K = static_cast<size_t>(out.neighbours), end = static_cast<size_t>(out.start[out.rays]);
    WARP_LOOP(ray, out.rays) {
        size_t first = static_cast<size_t>(out.start[ray]), count = static_cast<size_t>(out.start[ray + 1]) - first;
        for (size_t i = cuda_lane(); i < count; i += CUDA_WARP) {
            out.ray[first + i] = static_cast<int32_t>(ray);
            out.z[first + i] = kept.z[ray * keep + i];
        }
        for (size_t i = cuda_lane(); i < count * K; i += CUDA_WARP)
            out.neighbour[first * K + i] = kept.neighbour[ray * keep * K + i];
    }
    GRID_LOOP(i, (out.count - end) * K) out.neighbour[end * K + i] = -1;
}

void place_samples_cuda(Device *device, const PlaceSamplesArgs *a) {
    if (!cuda_op(device, "places of samples", a->rays, a->keep, a->samples->neighbours)) return;
    RendererSamples *samples = a->samples;
    samples->count = a->rays * static_cast<size_t>(a->keep);
    ArenaMark mark = arena_mark(&device->scratch);
    size_t counts = (a->rays + 1) * sizeof(int32_t),
           lists = samples->count * static_cast<size_t>(samples->neighbours) * sizeof(int32_t);
    KeptSamples kept = {static_cast<int32_t *>(device_scratch_bytes(device, counts)),
                        device_scratch(device, samples->count),
                        static_cast<int32_t *>(device_scratch_bytes(device, lists))};
    cuda_zero(device, samples->found, sizeof *samples->found);
    size_t blocks = cuda_blocks(a->rays, THREADS / CUDA_WARP);
    auto march = samples->neighbours > 32 ? march_rays<2> : march_rays<1>;
    LAUNCH(device, blocks, THREADS, 0, march, *a, *a->index, samples->neighbours, kept,
           reinterpret_cast<PlaceTotals *>(samples->found));
    cuda_exclusive_scan(device, a->rays + 1, kept.count, samples->start);
    LAUNCH(device, blocks, THREADS, 0, pack, *samples, static_cast<size_t>(a->keep), kept);
    arena_release(&device->scratch, mark);
}
