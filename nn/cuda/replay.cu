// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/replay.h"

#include "nn/cuda/device.h"
#include "nn/cuda/factors.h"
#include "nn/cuda/launch.h"

// How often a part must repeat unchanged before it is captured (memory is at fixed places from the second step on), and
// how often that number is doubled when a captured part changes.
constexpr int FIRST = 2, DOUBLINGS = 10;

struct CudaCommand {
    CudaCommand *next;
    const CudaCommandType *type;
    void *call;
    cudaGraphNode_t node; // NULL: it added nothing to the stream
};

struct CudaPart {
    CudaPart *next;
    Arena memory; // of its commands
    CudaCommand *first, **end;
    cudaGraph_t captured; // NULL: none; its nodes name those of the next
    cudaGraphExec_t graph;
    int wait;      // repeats before the next capture
    int otherwise; // how often it differed from its graph
};

// What happens to the commands of a part.
enum class PartMode { none, direct, capture, compare };

struct CudaReplay {
    bool on; // within a step
    PartMode mode;
    CudaPart *parts, *part; // all parts, and the current or last one; NULL before the first
    CudaCommand *at;        // the next to compare with
    cudaGraphNode_t last;   // last node of the capture so far
    Arena staging;          // page-locked
    struct FreedMemory *freed;
};

// Memory that commands use which are not in the stream yet: it is given back when they are.
struct FreedMemory {
    FreedMemory *next;
    void *memory;
};

static CudaReplay *replay_of(const Device *device) { return cuda_state(device)->replay; }

// ---- host memory

static void *allocate_locked(void *owner, size_t bytes) {
    const Device *device = static_cast<const Device *>(owner);
    void *memory = nullptr;
    if (cudaSetDevice(cuda_state(device)->index) == cudaSuccess && cudaMallocHost(&memory, bytes) == cudaSuccess)
        return memory;
    cudaGetLastError();
    return nullptr;
}

static void release_locked(void *, void *memory, size_t) { cudaFreeHost(memory); }

void *cuda_staged(Device *device, const void *host, size_t bytes) {
    CudaReplay *replay = replay_of(device);
    if (!replay || !replay->on || device->failed) return nullptr;
    void *held = arena_alloc(&replay->staging, bytes);
    if (!held)
        device_fail(device, STATUS_FAILED, "out of page-locked memory for %zu bytes on their way to the GPU", bytes);
    else memcpy(held, host, bytes);
    return held;
}

bool cuda_free_later(Device *device, void *memory) {
    CudaReplay *replay = replay_of(device);
    if (!replay || (replay->mode != PartMode::capture && replay->mode != PartMode::compare)) return false;
    FreedMemory *freed = static_cast<FreedMemory *>(malloc(sizeof *freed));
    CHECK(freed);
    *freed = {replay->freed, memory};
    replay->freed = freed;
    return true;
}

static void free_now(CudaReplay *replay) {
    while (FreedMemory *freed = replay->freed) {
        replay->freed = freed->next;
        cudaFree(freed->memory);
        free(freed);
    }
}

// ---- parts

static void forget(CudaPart *part) {
    if (part->graph) cudaGraphExecDestroy(part->graph);
    if (part->captured) cudaGraphDestroy(part->captured);
    part->graph = nullptr;
    part->captured = nullptr;
    part->first = nullptr;
    part->end = &part->first;
    arena_reset(&part->memory);
}

static CudaPart *next_part(Device *device, CudaReplay *replay) {
    CudaPart **link = replay->part ? &replay->part->next : &replay->parts;
    if (*link) return *link;
    CudaPart *part = static_cast<CudaPart *>(calloc(1, sizeof *part));
    if (!part) {
        device_fail(device, STATUS_FAILED, "out of memory for a part of a step");
        return nullptr;
    }
    part->wait = FIRST;
    part->end = &part->first;
    arena_init(&part->memory, arena_host_source());
    return *link = part;
}

static void begin_part(Device *device, CudaReplay *replay) {
    CudaPart *part = next_part(device, replay);
    if (!part) return;
    replay->part = part;
    replay->at = part->first;
    replay->mode = PartMode::direct;
    if (part->graph) {
        replay->mode = PartMode::compare;
    } else if (part->wait > 0) {
        part->wait--;
    } else if (cuda_ok(device, cudaStreamBeginCapture(cuda_state(device)->stream, cudaStreamCaptureModeRelaxed),
                       "cudaStreamBeginCapture")) {
        replay->mode = PartMode::capture;
        replay->last = nullptr;
    }
}

// The part differs from its capture: its commands so far go to the stream one by one.
static void come_otherwise(Device *device, CudaReplay *replay) {
    CudaPart *part = replay->part;
    for (CudaCommand *c = part->first; c != replay->at; c = c->next) c->type->run(device, c->call);
    forget(part);
    part->wait = FIRST << (part->otherwise < DOUBLINGS ? part->otherwise++ : DOUBLINGS);
    replay->mode = PartMode::direct;
    device->replay.otherwise++;
}

// Whether the command is the graph's next, perhaps after a change.
static bool follow(CudaReplay *replay, const CudaCommandType *type, const void *call, size_t *changed) {
    CudaCommand *next = replay->at;
    if (!next || next->type != type) return false;
    if (!type->same(next->call, call)) {
        if (!type->change || !next->node || !type->change(replay->part->graph, next->node, next->call, call))
            return false;
        type->copy(next->call, call);
        ++*changed;
    }
    replay->at = next->next;
    return true;
}

// The node that the stream ends in; NULL when that is still `before`.
static cudaGraphNode_t last_node(Device *device, cudaGraphNode_t before) {
    cudaStreamCaptureStatus status;
    const cudaGraphNode_t *nodes = nullptr;
    size_t count = 0;
#if CUDART_VERSION >= 13000
    cudaError_t error =
        cudaStreamGetCaptureInfo(cuda_state(device)->stream, &status, nullptr, nullptr, &nodes, nullptr, &count);
#else
    cudaError_t error =
        cudaStreamGetCaptureInfo_v2(cuda_state(device)->stream, &status, nullptr, nullptr, &nodes, &count);
#endif
    return cuda_ok(device, error, "cudaStreamGetCaptureInfo") && count == 1 && nodes[0] != before ? nodes[0] : nullptr;
}

static void note_command(Device *device, CudaReplay *replay, const CudaCommandType *type, const void *call) {
    CudaPart *part = replay->part;
    CudaCommand *command = static_cast<CudaCommand *>(arena_alloc(&part->memory, sizeof *command));
    void *held = command ? arena_alloc(&part->memory, type->bytes) : nullptr;
    if (!held) return device_fail(device, STATUS_FAILED, "out of memory for the commands of a step");
    type->copy(held, call);
    *command = {nullptr, type, held, last_node(device, replay->last)};
    if (command->node) replay->last = command->node;
    *part->end = command;
    part->end = &command->next;
}

void cuda_give_held(Device *device) {
    CudaState *state = cuda_state(device);
    void (*give)(Device *) = state->held.give;
    const char *op = state->op; // the op whose command comes next
    size_t count = state->size_count;
    state->held.give = nullptr;
    if (!give || device->failed) return;
    state->size_count = 0;
    if (cuda_ok(device, cudaSetDevice(state->index), "cudaSetDevice")) give(device);
    state->op = op;
    state->size_count = count;
}

void cuda_submit(Device *device, const CudaCommandType *type, const void *call) {
    cuda_give_held(device);
    if (device->failed) return;
    device->replay.commands++;
    CudaReplay *replay = replay_of(device);
    if (!replay || !replay->on) return type->run(device, call);
    if (replay->mode == PartMode::none) begin_part(device, replay);
    if (replay->mode == PartMode::compare) {
        if (follow(replay, type, call, &device->replay.changed)) return;
        come_otherwise(device, replay);
    }
    if (device->failed) return;
    type->run(device, call);
    if (replay->mode == PartMode::capture && !device->failed) note_command(device, replay, type, call);
}

static void launch_part(Device *device, const CudaPart *part) {
    if (cuda_ok(device, cudaGraphLaunch(part->graph, cuda_state(device)->stream), "cudaGraphLaunch"))
        device->replay.launched++;
}

static void end_capture(Device *device, CudaPart *part) {
    cudaError_t error = cudaStreamEndCapture(cuda_state(device)->stream, &part->captured);
    if (!device->failed && cuda_ok(device, error, "cudaStreamEndCapture") &&
        cuda_ok(device, cudaGraphInstantiate(&part->graph, part->captured, 0), "cudaGraphInstantiate")) {
        device->replay.captured++;
        launch_part(device, part);
    }
    if (device->failed) forget(part);
}

void cuda_flush(Device *device) {
    cuda_give_held(device);
    CudaReplay *replay = replay_of(device);
    if (!replay || replay->mode == PartMode::none) return;
    if (replay->mode == PartMode::capture) end_capture(device, replay->part);
    else if (replay->mode == PartMode::compare && replay->at) come_otherwise(device, replay);
    else if (replay->mode == PartMode::compare && !device->failed) launch_part(device, replay->part);
    replay->mode = PartMode::none;
    free_now(replay);
}

// ---- steps

static void begin_replay(Device *device) {
    CudaState *state = cuda_state(device);
    if (!state->replay) {
        state->replay = static_cast<CudaReplay *>(calloc(1, sizeof *state->replay));
        if (!state->replay) return device_fail(device, STATUS_FAILED, "out of memory for the commands of a step");
        arena_init(&state->replay->staging, {allocate_locked, release_locked, device, nullptr});
    }
    CudaReplay *replay = state->replay;
    cuda_wait(device); // what was staged has been read
    arena_reset(&replay->staging);
    replay->part = nullptr;
    replay->on = true;
}

void cuda_step_begin(Device *device, bool replay) {
    if (device->failed) return;
    if (replay) begin_replay(device);
    cuda_factors_begin(device);
}

void cuda_step_end(Device *device) {
    cuda_flush(device);
    if (replay_of(device)) replay_of(device)->on = false;
    cuda_factors_end(device);
}

void cuda_replay_close(Device *device) {
    CudaReplay *replay = replay_of(device);
    for (CudaPart *part = replay ? replay->parts : nullptr, *next; part; part = next) {
        next = part->next;
        forget(part);
        arena_free(&part->memory);
        free(part);
    }
    if (replay) free_now(replay);
    if (replay) arena_free(&replay->staging);
    free(replay);
    cuda_state(device)->replay = nullptr;
}
