// SPDX-License-Identifier: Apache-2.0
#include "nn/cuda/nccl.h"

#include "nn/bf16.h"
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

struct CudaSums {
    ncclComm_t comm;
    cudaStream_t stream;
    cudaEvent_t before, after; // what a sum waits for; the end of the last one
    int rank, ranks;
    void *pieces;      // (ranks - 1, own piece) from the others
    uint16_t *rounded; // (longest) a sum's numbers in bfloat16; NULL: messages are in f32
    size_t bytes;      // of both
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
    return device_sums_piece(count, sums->ranks, piece);
}

static size_t piece_count(const CudaSums *sums, size_t count, int piece) {
    return piece_begin(sums, count, piece + 1) - piece_begin(sums, count, piece);
}

static void open(Device *device, int rank, int ranks, size_t longest, bool bf16) {
    CudaSums *sums = cuda_state(device)->sums;
    sums->rank = rank;
    sums->ranks = ranks;
    if (!cuda_op(device, "sums over GPUs", rank, ranks)) return;
    size_t pieces = static_cast<size_t>(ranks - 1) * piece_count(sums, longest, 0),
           bytes = bf16 ? (pieces + longest) * sizeof(uint16_t) : pieces * sizeof(real);
    sums->pieces = device->source.allocate(device->source.owner, bytes);
    if (!sums->pieces) return device_no_memory(device, &device->source, bytes, "sums over the GPUs");
    if (bf16) sums->rounded = static_cast<uint16_t *>(sums->pieces) + pieces;
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

static __device__ inline real value_of(real number) { return number; }
static __device__ inline real value_of(uint16_t number) { return bf16_value(number); }
static __device__ inline void put(real value, real *to) { *to = value; }
static __device__ inline void put(real value, uint16_t *to) { *to = bf16_of(value); }

template <class From, class To> static __global__ void convert(const From *from, size_t count, To *to) {
    GRID_LOOP(i, count) put(value_of(from[i]), to + i);
}

template <class T> static __global__ void add_in_order(T *numbers, const T *pieces, size_t count, int ranks, int own) {
    GRID_LOOP(i, count) {
        real sum = value_of(own == 0 ? numbers[i] : pieces[i]); // of rank 0
        for (int r = 1; r < ranks; r++)
            sum += value_of(r == own ? numbers[i] : pieces[static_cast<size_t>(r - (r > own)) * count + i]);
        put(sum, numbers + i);
    }
}

template <class... Parameters, class... Arguments>
static void launch(Device *device, const char *name, size_t count, void (*kernel)(Parameters...), Arguments... all) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(cuda_blocks(count)));
    config.blockDim = dim3(CUDA_THREADS);
    config.stream = cuda_state(device)->sums->stream;
    if (count > 0 && !device->failed)
        cuda_ok(device, cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(all)...), name);
}

// Sends `sent` numbers to rank r and receives others from it.
template <class T>
static void exchange(Device *device, const CudaSums *sums, int r, const T *numbers, size_t sent, T *to,
                     size_t received) {
    if (sent > 0)
        good(device, sums->send(numbers, sent * sizeof(T), ncclInt8, r, sums->comm, sums->stream), "ncclSend");
    if (received > 0)
        good(device, sums->receive(to, received * sizeof(T), ncclInt8, r, sums->comm, sums->stream), "ncclRecv");
}

// Piece r to rank r, and the others' copies of the own piece from them.
template <class T> static void exchange_pieces(Device *device, const CudaSums *sums, T *numbers, size_t count) {
    size_t own = piece_count(sums, count, sums->rank);
    T *piece = static_cast<T *>(sums->pieces);
    good(device, sums->group_start(), "ncclGroupStart");
    for (int r = 0; r < sums->ranks; r++) {
        if (r == sums->rank) continue;
        exchange(device, sums, r, numbers + piece_begin(sums, count, r), piece_count(sums, count, r), piece, own);
        piece += own;
    }
    good(device, sums->group_end(), "ncclGroupEnd");
}

template <class T> static void exchange_sums(Device *device, const CudaSums *sums, T *numbers, size_t count) {
    size_t own = piece_count(sums, count, sums->rank);
    const T *sum = numbers + piece_begin(sums, count, sums->rank);
    good(device, sums->group_start(), "ncclGroupStart");
    for (int r = 0; r < sums->ranks; r++)
        if (r != sums->rank)
            exchange(device, sums, r, sum, own, numbers + piece_begin(sums, count, r), piece_count(sums, count, r));
    good(device, sums->group_end(), "ncclGroupEnd");
}

template <class T> static void sum_up(Device *device, const CudaSums *sums, T *numbers, size_t count) {
    exchange_pieces(device, sums, numbers, count);
    launch(device, "add_in_order", piece_count(sums, count, sums->rank), add_in_order<T>,
           numbers + piece_begin(sums, count, sums->rank), static_cast<const T *>(sums->pieces),
           piece_count(sums, count, sums->rank), sums->ranks, sums->rank);
    if (!device->failed) exchange_sums(device, sums, numbers, count);
}

static void add(Device *device, real *values, size_t count) {
    cuda_flush(device);
    if (!cuda_op(device, "sum over GPUs", count)) return;
    const CudaSums *sums = cuda_state(device)->sums;
    if (!cuda_ok(device, cudaEventRecord(sums->before, cuda_state(device)->stream), "cudaEventRecord") ||
        !cuda_ok(device, cudaStreamWaitEvent(sums->stream, sums->before, 0), "cudaStreamWaitEvent"))
        return;
    if (sums->rounded) {
        launch(device, "convert", count, convert<real, uint16_t>, values, count, sums->rounded);
        sum_up(device, sums, sums->rounded, count);
        launch(device, "convert", count, convert<uint16_t, real>, sums->rounded, count, values);
    } else {
        sum_up(device, sums, values, count);
    }
    if (!device->failed) cuda_ok(device, cudaEventRecord(sums->after, sums->stream), "cudaEventRecord");
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
