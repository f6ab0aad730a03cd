// SPDX-License-Identifier: Apache-2.0
// Runs the blocks of a launch. A fiber takes one thread of the block after the other; a thread that must wait keeps its
// fiber, and the next fiber goes on with the threads that have not begun. So a kernel without barriers uses one fiber.
// Blocks run one by one; those of a cooperative launch take turns, each until all its threads wait for the grid.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/cuda_on_cpu/cuda_runtime.h"
#include "tests/cuda_on_cpu/fiber.h"

#include "base/check.h"

#include <map>
#include <sys/mman.h>
#include <utility>
#include <vector>

enum {
    WARP = 32,
    MAX_THREADS = 1024,
    USUAL_SHARED = 48 << 10,
    LARGEST_SHARED = 227 << 10,
    STACK = 256 << 10,
    STACK_STEP =
        STACK + 73 * 64 // no power of two, or the tops of all stacks would share the same few lines of the cache
};

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace {

// Threads that wait for one another: a block's, or a warp's.
struct Barrier {
    unsigned first, expected, arrived; // threads first to first + expected - 1
    const char *file;                  // of the first that arrived
    int line;
};

struct Warp {
    Barrier barrier;
    // What lanes publish; the next round does not overwrite what is still being read.
    CudaOnCpuWords words[2][WARP];
    unsigned ballot[2];
};

struct Thread {
    Fiber *fiber;
    Barrier *waits_at;
    unsigned round; // of its warp
};

struct Block {
    void (*body)(void *);
    void *context;
    unsigned index, count, begun, ended;
    unsigned order[MAX_THREADS]; // in which threads begin
    Thread threads[MAX_THREADS];
    Warp warps[MAX_THREADS / WARP];
    Barrier all, grid; // of all threads; of the grid, those of this block
    std::vector<unsigned> ready;
    std::vector<Fiber *> idle;
    std::vector<char> shared; // of just the launch's size, so that AddressSanitizer sees its end
};

Block blocks[CUDA_ON_CPU_RESIDENT], *block = blocks; // that exist, and the one that runs
bool broken;                                         // a fault was found; the rest of the launch is given up

Fiber caller, *running = &caller, *before;
Fiber fibers[MAX_THREADS];
uint64_t seed, random_state;
char report[512];
std::map<const void *, size_t> opted_in;

uint64_t draw() { // splitmix64
    uint64_t z = random_state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

template <class T> void shuffle(T *items, size_t count) {
    for (size_t i = count; seed && i > 1; i--) std::swap(items[i - 1], items[draw() % i]);
}

void switch_to(Fiber *next) {
    before = running;
    running = next;
    fiber_switch(before, next);
}

// The fiber of a thread that may go on, one that begins the next threads, or the caller when the block is through.
Fiber *next_fiber() {
    if (broken) return &caller;
    if (!block->ready.empty()) {
        unsigned next = block->ready.back();
        block->ready.pop_back();
        return block->threads[next].fiber;
    }
    if (block->begun == block->count) return &caller;
    Fiber *fiber = block->idle.back();
    block->idle.pop_back();
    return fiber;
}

void run_threads() {
    fiber_entered(before);
    while (true) {
        while (block->begun < block->count) {
            threadIdx.x = block->order[block->begun++];
            block->threads[threadIdx.x].fiber = running;
            block->body(block->context);
            block->ended++;
        }
        block->idle.push_back(running);
        switch_to(next_fiber());
    }
}

// All who wait at a barrier of the block may go on; `self`, if it is one of them, does.
void release(Barrier *barrier, unsigned self) {
    size_t first = block->ready.size();
    for (unsigned t = barrier->first; t < barrier->first + barrier->expected; t++) {
        if (t != self) block->ready.push_back(t);
        block->threads[t].waits_at = nullptr;
    }
    shuffle(block->ready.data() + first, block->ready.size() - first);
    barrier->arrived = 0;
}

void wait_at(Barrier *barrier, const char *what, const char *file, int line) {
    unsigned self = threadIdx.x;
    if (barrier->arrived && (barrier->line != line || (barrier->file != file && strcmp(barrier->file, file) != 0))) {
        snprintf(report, sizeof report, "block %u: thread %u is at %s in %s:%d while others wait in %s:%d", blockIdx.x,
                 self, what, file, line, barrier->file, barrier->line);
        broken = true;
    }
    barrier->file = file;
    barrier->line = line;
    if (!broken && ++barrier->arrived == barrier->expected && barrier != &block->grid) return release(barrier, self);
    block->threads[self].waits_at = barrier;
    switch_to(next_fiber());
    threadIdx.x = self;
}

void report_waiting() {
    for (unsigned t = 0; t < block->count; t++) {
        const Barrier *barrier = block->threads[t].waits_at;
        if (!barrier) continue;
        snprintf(report, sizeof report, "block %u: thread %u waits in %s:%d for %u threads that do not come",
                 blockIdx.x, t, barrier->file, barrier->line, barrier->expected - barrier->arrived);
        return;
    }
}

void make_fibers() {
    if (fibers[0].stack) return;
    void *stacks = mmap(nullptr, size_t{STACK_STEP} * MAX_THREADS, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(stacks != MAP_FAILED);
    for (int i = 0; i < MAX_THREADS; i++) {
        fibers[i].stack = static_cast<char *>(stacks) + size_t{STACK_STEP} * i;
        fibers[i].stack_size = STACK;
    }
}

// As many idle fibers at their beginning for each block as it has threads, the first on top.
void reset_fibers(unsigned resident, unsigned threads) {
    for (Fiber &fiber : fibers)
        if (fiber.context == nullptr || broken) fiber_prepare(&fiber, run_threads);
    for (unsigned b = 0; b < resident; b++) {
        blocks[b].idle.clear();
        for (unsigned i = threads; i-- > 0;) blocks[b].idle.push_back(&fibers[b * threads + i]);
    }
}

void start_block(Block *started, unsigned index) {
    block = started;
    block->index = index;
    block->begun = block->ended = 0;
    block->all = block->grid = {0, block->count, 0, nullptr, 0};
    for (unsigned t = 0; t < block->count; t++) {
        block->order[t] = t;
        block->threads[t] = {};
        block->warps[t / WARP].barrier = {t / WARP * WARP, WARP, 0, nullptr, 0};
    }
    shuffle(block->order, block->count);
    if (!block->shared.empty()) memset(block->shared.data(), 0xff, block->shared.size());
}

// Runs a block until all its threads have ended or wait for the grid; true: have ended.
bool go_on(Block *next) {
    block = next;
    blockIdx.x = block->index;
    switch_to(next_fiber());
    bool ended = block->ended == block->count, waits = block->grid.arrived == block->count;
    if (!broken && !ended && !waits) {
        broken = true;
        report_waiting();
    }
    return ended;
}

void run_one_by_one(const std::vector<unsigned> &order) {
    for (size_t i = 0; i < order.size() && !broken; i++) {
        start_block(blocks, order[i]);
        if (go_on(blocks) || broken) continue;
        broken = true;
        snprintf(report, sizeof report, "block %u waits for the grid in %s:%d; the launch is not cooperative", order[i],
                 block->grid.file, block->grid.line);
    }
}

void run_together(const std::vector<unsigned> &order) {
    size_t ended = 0;
    for (size_t i = 0; i < order.size(); i++) start_block(&blocks[i], order[i]);
    while (ended == 0 && !broken) {
        for (size_t i = 0; i < order.size() && !broken; i++) ended += go_on(&blocks[i]);
        for (size_t i = 0; i < order.size() && !broken && ended < order.size(); i++) {
            block = &blocks[i];
            if (ended == 0) release(&block->grid, block->count);
            broken = ended > 0 && block->ended < block->count;
            if (broken)
                snprintf(report, sizeof report, "block %u waits for the grid in %s:%d; another has ended", block->index,
                         block->grid.file, block->grid.line);
        }
    }
}

cudaError_t check_config(const cudaLaunchConfig_t *config, const void *kernel) {
    dim3 grid = config->gridDim, threads = config->blockDim;
    CHECK(grid.y == 1 && grid.z == 1 && threads.y == 1 && threads.z == 1 && threads.x % WARP == 0);
    auto opted = opted_in.find(kernel);
    size_t room = opted == opted_in.end() ? size_t{USUAL_SHARED} : opted->second;
    bool fits = grid.x >= 1 && grid.x <= INT32_MAX && threads.x >= 1 && threads.x <= MAX_THREADS &&
                config->dynamicSmemBytes <= room;
    if (!fits) return cudaErrorInvalidConfiguration;
    bool at_once = grid.x <= CUDA_ON_CPU_RESIDENT && grid.x * threads.x <= MAX_THREADS;
    int can_wait = 0;
    cudaDeviceGetAttribute(&can_wait, cudaDevAttrCooperativeLaunch, 0);
    if (config->numAttrs && !can_wait) return cudaErrorNotSupported;
    return config->numAttrs == 0 || at_once ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge;
}

} // namespace

cudaError_t cuda_on_cpu_opt_in(const void *kernel, cudaFuncAttribute, int bytes) {
    if (bytes > LARGEST_SHARED) return cudaErrorInvalidValue;
    opted_in[kernel] = static_cast<size_t>(bytes);
    return cudaSuccess;
}

cudaError_t cuda_on_cpu_launch(const cudaLaunchConfig_t *config, const void *kernel, void (*thread)(void *),
                               void *context) {
    cudaError_t error = check_config(config, kernel);
    if (error != cudaSuccess) return error;
    if (cuda_on_cpu_count_launch()) return cudaErrorLaunchFailure;
    if (cuda_on_cpu_skipping()) return cudaSuccess;
    unsigned resident = config->numAttrs ? config->gridDim.x : 1;
    make_fibers();
    reset_fibers(resident, config->blockDim.x);
    gridDim = config->gridDim;
    blockDim = config->blockDim;
    broken = false;
    for (unsigned i = 0; i < resident; i++) {
        blocks[i].body = thread;
        blocks[i].context = context;
        blocks[i].count = blockDim.x;
        blocks[i].ready.clear();
        std::vector<char>(config->dynamicSmemBytes).swap(blocks[i].shared);
    }
    std::vector<unsigned> order(gridDim.x);
    for (unsigned i = 0; i < gridDim.x; i++) order[i] = i;
    random_state = seed;
    shuffle(order.data(), order.size());
    cuda_on_cpu_enter();
    if (config->numAttrs) run_together(order);
    else run_one_by_one(order);
    cuda_on_cpu_leave();
    return broken ? cudaErrorLaunchFailure : cudaSuccess;
}

void *cuda_on_cpu_shared() { return block->shared.data(); }

void cuda_on_cpu_sync_block(const char *file, int line) { wait_at(&block->all, "__syncthreads", file, line); }
void cuda_on_cpu_sync_grid(const char *file, int line) { wait_at(&block->grid, "a barrier of the grid", file, line); }

const CudaOnCpuWords *cuda_on_cpu_sync_warp(unsigned mask, CudaOnCpuWords words, const char *file, int line) {
    CHECK(mask == 0xffffffffu); // warps work as a whole here
    Warp *warp = &block->warps[threadIdx.x / WARP];
    CudaOnCpuWords *all = warp->words[block->threads[threadIdx.x].round++ % 2];
    all[threadIdx.x % WARP] = words;
    wait_at(&warp->barrier, "a warp operation", file, line);
    return all;
}

unsigned cuda_on_cpu_ballot(unsigned mask, bool vote, const char *file, int line) {
    Warp *warp = &block->warps[threadIdx.x / WARP];
    unsigned *ballot = &warp->ballot[block->threads[threadIdx.x].round % 2];
    if (warp->barrier.arrived == 0) *ballot = 0;
    *ballot |= static_cast<unsigned>(vote) << threadIdx.x % WARP;
    cuda_on_cpu_sync_warp(mask, {}, file, line);
    return *ballot;
}

void cuda_on_cpu_seed(uint64_t new_seed) { seed = new_seed; }

const char *cuda_on_cpu_report(void) {
    static char last[sizeof report];
    memcpy(last, report, sizeof report);
    report[0] = 0;
    return last;
}
