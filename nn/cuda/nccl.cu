// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/nccl.h"

#include "nn/cuda/device.h"

#if !__has_include(<nccl.h>)

const DeviceSums *const cuda_sums = nullptr;
void cuda_sums_close(Device *) {}

#else

#include "nn/cuda/library.h"
#include "nn/device_memory.h"

#include <nccl.h>

#define NAME_OF_(number) "libnccl.so." #number
#define NAME_OF(number) NAME_OF_(number)

constexpr size_t ALIGN = 64; // elements of which a piece is a multiple

struct CudaSums {
    ncclComm_t comm;
    cudaStream_t stream;
    cudaEvent_t before, after; // what a sum waits for; the end of the last one
    int rank, ranks;
    real *pieces; // (ranks - 1, own piece) from the others
    size_t bytes;
    decltype(&ncclGetUniqueId) get_id;
    decltype(&ncclCommInitRank) init;
    decltype(&ncclCommAbort) abort;
    decltype(&ncclCommGetAsyncError) get_error;
    decltype(&ncclGetErrorString) text;
    decltype(&ncclGroupStart) group_start;
    decltype(&ncclGroupEnd) group_end;
    decltype(&ncclSend) send;
    decltype(&ncclRecv) receive;
};

static bool good(Device *device, ncclResult_t result, const char *what) {
    if (result != ncclSuccess)
        device_fail(device, STATUS_FAILED, "NCCL: %s: %s; NCCL_DEBUG=INFO says more", what,
                    cuda_state(device)->sums->text(result));
    return !device->failed;
}

// ---- opening

static bool find_functions(Device *device, CudaSums *sums) {
    void *library = cuda_library_open(device, NAME_OF(NCCL_MAJOR));
    const struct {
        const char *name;
        void *function;
    } functions[] = {{"ncclGetUniqueId", &sums->get_id},  {"ncclCommInitRank", &sums->init},
                     {"ncclCommAbort", &sums->abort},     {"ncclCommGetAsyncError", &sums->get_error},
                     {"ncclGetErrorString", &sums->text}, {"ncclGroupStart", &sums->group_start},
                     {"ncclGroupEnd", &sums->group_end},  {"ncclSend", &sums->send},
                     {"ncclRecv", &sums->receive}};
    for (auto &f : functions)
        if (!cuda_library_function(device, library, f.name, static_cast<void **>(f.function))) return false;
    return true;
}

// Without the library the device works on.
static bool find(Device *device, unsigned char gpu[DEVICE_GPU_ID]) {
    CudaState *state = cuda_state(device);
    cudaDeviceProp found;
    if (!cuda_op(device, "look for NCCL") ||
        !cuda_ok(device, cudaGetDeviceProperties(&found, state->index), "cudaGetDeviceProperties"))
        return false;
    memcpy(gpu, &found.uuid, DEVICE_GPU_ID);
    CudaSums *sums = static_cast<CudaSums *>(calloc(1, sizeof *sums));
    if (sums && find_functions(device, sums)) {
        state->sums = sums;
        return true;
    }
    free(sums);
    device_status(device, nullptr);
    return false;
}

static void make_id(Device *device, unsigned char id[DEVICE_SUMS_ID]) {
    ncclUniqueId made = {};
    static_assert(sizeof made == DEVICE_SUMS_ID);
    if (cuda_op(device, "ncclGetUniqueId")) good(device, cuda_state(device)->sums->get_id(&made), "ncclGetUniqueId");
    memcpy(id, &made, sizeof made);
}

// ---- pieces: number r is added by rank r

static size_t piece_begin(const CudaSums *sums, size_t count, int piece) {
    size_t even = (count / static_cast<size_t>(sums->ranks) / ALIGN + 1) * ALIGN,
           at = static_cast<size_t>(piece) * even;
    return at < count ? at : count;
}

static size_t piece_count(const CudaSums *sums, size_t count, int piece) {
    return piece_begin(sums, count, piece + 1) - piece_begin(sums, count, piece);
}

static void open(Device *device, int rank, int ranks, size_t longest) {
    CudaSums *sums = cuda_state(device)->sums;
    sums->rank = rank;
    sums->ranks = ranks;
    if (!cuda_op(device, "sums over GPUs", rank, ranks)) return;
    size_t bytes = static_cast<size_t>(ranks - 1) * piece_count(sums, longest, 0) * sizeof(real);
    sums->pieces = static_cast<real *>(device->source.allocate(device->source.owner, bytes));
    if (!sums->pieces) return device_no_memory(device, &device->source, bytes, "sums over the GPUs");
    sums->bytes = bytes;
    device->library_bytes += bytes;
    if (cuda_ok(device, cudaStreamCreateWithFlags(&sums->stream, cudaStreamNonBlocking), "cudaStreamCreate") &&
        cuda_ok(device, cudaEventCreateWithFlags(&sums->before, cudaEventDisableTiming), "cudaEventCreate"))
        cuda_ok(device, cudaEventCreateWithFlags(&sums->after, cudaEventDisableTiming), "cudaEventCreate");
}

static void connect(Device *device, const unsigned char id[DEVICE_SUMS_ID]) {
    CudaSums *sums = cuda_state(device)->sums;
    ncclUniqueId made;
    memcpy(&made, id, sizeof made);
    if (cuda_op(device, "ncclCommInitRank", sums->rank, sums->ranks))
        good(device, sums->init(&sums->comm, sums->ranks, made, sums->rank), "ncclCommInitRank");
}

// ---- a sum

static __global__ void add_in_order(real *values, const real *pieces, size_t count, int ranks, int own) {
    GRID_LOOP(i, count) {
        real sum = own == 0 ? values[i] : pieces[i]; // of rank 0
        for (int r = 1; r < ranks; r++)
            sum += r == own ? values[i] : pieces[static_cast<size_t>(r - (r > own)) * count + i];
        values[i] = sum;
    }
}

// Sends `sent` numbers to rank r and receives others from it.
static void exchange(Device *device, const CudaSums *sums, int r, const real *values, size_t sent, real *to,
                     size_t received) {
    if (sent > 0) good(device, sums->send(values, sent, ncclFloat, r, sums->comm, sums->stream), "ncclSend");
    if (received > 0) good(device, sums->receive(to, received, ncclFloat, r, sums->comm, sums->stream), "ncclRecv");
}

// Piece r to rank r, and the others' copies of the own piece from them.
static void exchange_pieces(Device *device, const CudaSums *sums, real *values, size_t count) {
    size_t own = piece_count(sums, count, sums->rank);
    real *piece = sums->pieces;
    good(device, sums->group_start(), "ncclGroupStart");
    for (int r = 0; r < sums->ranks; r++) {
        if (r == sums->rank) continue;
        exchange(device, sums, r, values + piece_begin(sums, count, r), piece_count(sums, count, r), piece, own);
        piece += own;
    }
    good(device, sums->group_end(), "ncclGroupEnd");
}

static void exchange_sums(Device *device, const CudaSums *sums, real *values, size_t count) {
    size_t own = piece_count(sums, count, sums->rank);
    const real *sum = values + piece_begin(sums, count, sums->rank);
    good(device, sums->group_start(), "ncclGroupStart");
    for (int r = 0; r < sums->ranks; r++)
        if (r != sums->rank)
            exchange(device, sums, r, sum, own, values + piece_begin(sums, count, r), piece_count(sums, count, r));
    good(device, sums->group_end(), "ncclGroupEnd");
}

static void add_pieces(Device *device, const CudaSums *sums, real *values, size_t count) {
    size_t own = piece_count(sums, count, sums->rank);
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(cuda_blocks(own)));
    config.blockDim = dim3(CUDA_THREADS);
    config.stream = sums->stream;
    if (own > 0 && !device->failed)
        cuda_ok(device,
                cudaLaunchKernelEx(&config, add_in_order, values + piece_begin(sums, count, sums->rank),
                                   static_cast<const real *>(sums->pieces), own, sums->ranks, sums->rank),
                "add_in_order");
}

static void add(Device *device, real *values, size_t count) {
    cuda_flush(device);
    if (!cuda_op(device, "sum over GPUs", count)) return;
    const CudaSums *sums = cuda_state(device)->sums;
    if (!cuda_ok(device, cudaEventRecord(sums->before, cuda_state(device)->stream), "cudaEventRecord") ||
        !cuda_ok(device, cudaStreamWaitEvent(sums->stream, sums->before, 0), "cudaStreamWaitEvent"))
        return;
    exchange_pieces(device, sums, values, count);
    add_pieces(device, sums, values, count);
    if (device->failed) return;
    exchange_sums(device, sums, values, count);
    cuda_ok(device, cudaEventRecord(sums->after, sums->stream), "cudaEventRecord");
}

static bool is_done(Device *device) {
    const CudaSums *sums = cuda_state(device)->sums;
    ncclResult_t state = ncclSuccess;
    if (!cuda_op(device, "sum over GPUs") || !good(device, sums->get_error(sums->comm, &state), "a sum over GPUs") ||
        !good(device, state, "a sum over GPUs"))
        return false;
    cudaError_t error = cudaEventQuery(sums->after);
    return error != cudaErrorNotReady && cuda_ok(device, error, "a sum over GPUs");
}

// Aborts, because that waits for no other rank; ranks that end well have all sums behind them.
void cuda_sums_close(Device *device) {
    CudaSums *sums = cuda_state(device)->sums;
    if (!sums) return;
    if (sums->comm) sums->abort(sums->comm);
    if (sums->after) cudaEventDestroy(sums->after);
    if (sums->before) cudaEventDestroy(sums->before);
    if (sums->stream) cudaStreamDestroy(sums->stream);
    if (sums->pieces) device->source.release(device->source.owner, sums->pieces, sums->bytes);
    device->library_bytes -= sums->bytes;
    free(sums);
    cuda_state(device)->sums = nullptr;
}

static const DeviceSums table = {find, make_id, open, connect, add, is_done, cuda_sums_close};
const DeviceSums *const cuda_sums = &table;

#endif
