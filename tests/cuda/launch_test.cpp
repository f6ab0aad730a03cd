// SPDX-License-Identifier: Apache-2.0
// tests/cuda_on_cpu itself: does it run kernels as CUDA would, and does it notice what CUDA would not forgive?
#include <cmath>

#include "nn/cuda/device.h"
#include "nn/cuda/sums.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

extern "C" {
#include "tests/test.h"
}

#include <csignal>
#include <sys/wait.h>
#include <vector>

struct Gpu {
    Device *device = nullptr;
    Gpu() {
        Error err = {};
        assert_status_ok(cuda_on_cpu_open(&device, &err), err);
    }
    ~Gpu() {
        cuda_device_close(device);
        free(device);
        cuda_on_cpu_seed(0);
    }
    operator Device *() const { return device; }
};

// A host array's copy on the device while it lives.
template <class T> struct Copy {
    Device *device;
    size_t bytes;
    T *memory;
    Copy(Device *on, const std::vector<T> &host) : device(on), bytes(host.size() * sizeof(T)) {
        memory = static_cast<T *>(device->source.allocate(device, bytes));
        cuda_upload(device, memory, host.data(), bytes);
    }
    ~Copy() { device->source.release(device, memory, bytes); }
    std::vector<T> host() {
        std::vector<T> out(bytes / sizeof(T));
        cuda_download(device, out.data(), memory, bytes);
        return out;
    }
};

static void must_succeed(Device *device) {
    Error err = {};
    assert_status_ok(device_status(device, &err), err);
}

// ---- kernels that are right

static __global__ void reverse_block(const int *x, int *y) {
    SHARED(int, tile);
    tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

static void shared_memory_and_barriers(void **) {
    Gpu device;
    std::vector<int> numbers(5 * 96);
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<int>(i);
    Copy<int> x(device, numbers), y(device, std::vector<int>(numbers.size()));
    for (uint64_t seed = 0; seed < 4; seed++) {
        cuda_on_cpu_seed(seed);
        cuda_zero(device, y.memory, y.bytes);
        LAUNCH(device, 5, 96, 96 * sizeof(int), reverse_block, x.memory, y.memory);
        must_succeed(device);
        std::vector<int> got = y.host();
        for (size_t i = 0; i < got.size(); i++) assert_int_equal(got[i], numbers[i / 96 * 96 + 95 - i % 96]);
    }
}

static __global__ void warp_operations(int *out) {
    int lane = static_cast<int>(cuda_lane()), *mine = out + 8 * threadIdx.x;
    mine[0] = warp_sum(lane);
    mine[1] = __shfl_sync(WHOLE_WARP, lane, 5);
    mine[2] = __shfl_up_sync(WHOLE_WARP, lane, 3);
    mine[3] = __shfl_down_sync(WHOLE_WARP, lane, 3);
    mine[4] = static_cast<int>(__ballot_sync(WHOLE_WARP, lane % 3 == 0));
    mine[5] = __any_sync(WHOLE_WARP, lane == 7) * 2 + __all_sync(WHOLE_WARP, lane < 31);
    mine[6] = warp_max(lane * 5 % 32) * 100 + warp_min(lane + 3);
    mine[7] = static_cast<int>(block_sum(1.5f * static_cast<float>(threadIdx.x)));
}

static void warps_work_together(void **) {
    Gpu device;
    Copy<int> out(device, std::vector<int>(64 * 8));
    cuda_on_cpu_seed(3);
    LAUNCH(device, 1, 64, 0, warp_operations, out.memory);
    must_succeed(device);
    std::vector<int> got = out.host();
    for (int t = 0; t < 64; t++) {
        int lane = t % 32;
        const int want[8] = {496,  5,   lane < 3 ? lane : lane - 3, lane > 28 ? lane : lane + 3, 0x49249249, 2,
                             3103, 3024};
        for (int i = 0; i < 8; i++) assert_int_equal(got[static_cast<size_t>(8 * t + i)], want[i]);
    }
}

static __global__ void count_even(const int *x, size_t count, int *even, int *largest) {
    GRID_LOOP(i, count) {
        if (x[i] % 2 == 0) atomicAdd(even, 1);
        atomicMax(largest, x[i]);
    }
}

static void integers_are_counted(void **) {
    Gpu device;
    std::vector<int> numbers(1001);
    for (size_t i = 0; i < numbers.size(); i++) numbers[i] = static_cast<int>(i * 5 % 1001);
    Copy<int> x(device, numbers), result(device, {0, -1});
    LAUNCH(device, cuda_blocks(1001, 64), 64, 0, count_even, x.memory, size_t{1001}, result.memory, result.memory + 1);
    must_succeed(device);
    assert_int_equal(result.host()[0], 501);
    assert_int_equal(result.host()[1], 1000);
}

static void column_sums_have_one_order(void **) {
    Gpu device;
    const size_t shapes[][2] = {{0, 3}, {1, 1}, {7, 33}, {1031, 40}};
    for (auto &shape : shapes) {
        size_t rows = shape[0], cols = shape[1];
        std::vector<float> numbers(rows * cols + 1), first;
        for (size_t i = 0; i < numbers.size(); i++) numbers[i] = sinf(static_cast<float>(i));
        Copy<float> x(device, numbers);
        for (uint64_t seed = 0; seed < 3; seed++) {
            cuda_on_cpu_seed(seed);
            Copy<float> sums(device, std::vector<float>(cols, 1));
            cuda_add_column_sums(static_cast<Device *>(device), rows, cols, CudaMatrix{x.memory, cols}, sums.memory);
            must_succeed(device);
            std::vector<float> got = sums.host();
            if (seed == 0) first = got;
            assert_memory_equal(got.data(), first.data(), cols * sizeof(float));
            for (size_t j = 0; j < cols; j++) {
                double sum = 1;
                for (size_t i = 0; i < rows; i++) sum += static_cast<double>(numbers[i * cols + j]);
                assert_close(got[j], sum, 1e-5, 1e-5); // rounding of a thousand floats near 1
            }
        }
    }
}

// Each round every block writes a number and reads those of all blocks: x (rounds, blocks), y (blocks).
static __global__ void blocks_add_up(int rounds, int *x, int *y) {
    unsigned block = blockIdx.x, blocks = gridDim.x;
    if (threadIdx.x == 0) y[block] = static_cast<int>(block) + 1;
    for (int round = 0; round < rounds; round++) {
        if (threadIdx.x == 0) x[static_cast<unsigned>(round) * blocks + block] = y[block];
        CUDA_GRID_BARRIER();
        if (threadIdx.x == 0)
            for (unsigned b = 0; b < blocks; b++)
                if (b != block) y[block] += x[static_cast<unsigned>(round) * blocks + b];
    }
}

template <class... Parameters, class... Arguments>
static void launch_together(Device *device, unsigned blocks, void (*kernel)(Parameters...), Arguments... arguments) {
    cuda_submit(device, CudaKernelCall<Parameters...>{"kernel", kernel, blocks, 64, sizeof(int), true, {arguments...}});
}

static void blocks_wait_for_each_other(void **) {
    Gpu device;
    Copy<int> x(device, std::vector<int>(2 * 5)), y(device, {0, 0});
    for (uint64_t seed = 0; seed < 4; seed++) {
        cuda_on_cpu_seed(seed);
        launch_together(device, 2, blocks_add_up, 5, x.memory, y.memory);
        must_succeed(device);
        assert_int_equal(y.host()[0], 48); // 1 and 2, then always the sum of both
        assert_int_equal(y.host()[1], 48);
    }
}

// ---- kernels that are wrong

static __global__ void reverse_without_barrier(const int *x, int *y) {
    SHARED(int, tile);
    tile[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

static __global__ void leave_early(int *y) {
    if (threadIdx.x == 40) return;
    __syncthreads();
    y[threadIdx.x] = 1;
}

static __global__ void wait_at_two_places(int *y) {
    if (threadIdx.x < 32) __syncthreads();
    else __syncthreads();
    y[threadIdx.x] = 1;
}

static __global__ void one_block_leaves(int *y) {
    if (blockIdx.x == 1) return;
    CUDA_GRID_BARRIER();
    y[threadIdx.x] = 1;
}

static __global__ void one_thread_leaves(int *y) {
    if (threadIdx.x == 3) return;
    CUDA_GRID_BARRIER();
    y[threadIdx.x] = 1;
}

static __global__ void shuffle_in_a_branch(int *y) {
    if (threadIdx.x % 2) y[threadIdx.x] = __shfl_sync(WHOLE_WARP, 1, 0);
}

static void must_fail(Device *device, const char *in_status, const char *in_report) {
    Error err = {};
    assert_status_error(device_status(device, &err), STATUS_FAILED, err, in_status);
    const char *report = cuda_on_cpu_report();
    if (!strstr(report, in_report)) fail_msg("\"%s\" does not hold \"%s\"", report, in_report);
}

static void faults_are_noticed(void **) {
    Gpu device;
    std::vector<int> numbers(64, 7);
    Copy<int> x(device, numbers), y(device, std::vector<int>(64));
    cuda_on_cpu_seed(1);
    LAUNCH(device, 1, 64, 64 * sizeof(int), reverse_without_barrier, x.memory, y.memory);
    must_succeed(device);
    if (y.host() == numbers) fail_msg("a missing barrier did not show");
    LAUNCH(device, 1, 64, 0, leave_early, y.memory);
    must_fail(device, "leave_early: unspecified launch failure", "waits in");
    LAUNCH(device, 1, 64, 0, wait_at_two_places, y.memory);
    must_fail(device, "launch failure", "while others wait");
    LAUNCH(device, 1, 64, 0, shuffle_in_a_branch, y.memory);
    must_fail(device, "launch failure", "waits in");
    launch_together(device, 2, one_block_leaves, y.memory);
    must_fail(device, "launch failure", "another has ended");
    launch_together(device, 2, one_thread_leaves, y.memory);
    must_fail(device, "launch failure", "waits in");
    LAUNCH(device, 2, 64, 0, one_block_leaves, y.memory);
    must_fail(device, "launch failure", "the launch is not cooperative");
    launch_together(device, 2, blocks_add_up, 1, y.memory, y.memory); // all is as before
    must_succeed(device);
}

static void launch_limits(void **) {
    Gpu device;
    Copy<int> y(device, std::vector<int>(64));
    LAUNCH(device, 1, 1056, 0, leave_early, y.memory);
    must_fail(device, "invalid configuration", "");
    LAUNCH(device, 1, 64, (227 << 10) + 16, leave_early, y.memory);
    must_fail(device, "invalid argument", "");
    launch_together(device, 3, one_block_leaves, y.memory); // more blocks than the GPU has at once
    must_fail(device, "too many blocks in cooperative launch", "");
    LAUNCH(device, 0, 64, 0, leave_early, y.memory); // no blocks: nothing to do
    must_succeed(device);
}

// ---- memory

static void host_code_cannot_reach_device_memory(void **) {
    Gpu device;
    Copy<int> x(device, {1, 2, 3});
    cuda_on_cpu_guard(true);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); // not the sanitizer's report
        _exit(*static_cast<volatile int *>(x.memory));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    assert_int_equal(x.host()[2], 3);
    cuda_on_cpu_guard(false);
}

static void copies_do_not_overlap(void **) {
    Gpu device;
    Copy<int> x(device, {1, 2, 3, 4});
    cuda_copy(device, x.memory + 2, x.memory, 2 * sizeof(int));
    must_succeed(device);
    assert_int_equal(x.host()[3], 2);
    cuda_copy(device, x.memory + 1, x.memory, 2 * sizeof(int));
    must_fail(device, "copy (8), cudaMemcpyAsync: invalid argument", "");
}

struct Addresses {
    const int *host, *device;
    double number;
};

static __global__ void tell_addresses(Addresses a, uint64_t *out) { memcpy(out + 3 * (a.device[0] - 1), &a, sizeof a); }

// So none that a kernel was given by mistake can be followed, in a graph either.
static void kernels_cannot_reach_host_memory(void **) {
    Gpu device;
    Copy<int> places(device, {1, 2});
    Copy<uint64_t> out(device, std::vector<uint64_t>(6));
    int here = 1;
    for (int step = 0; step < 5; step++) {
        cuda_step_begin(device, true);
        for (size_t i = 0; i < 2; i++)
            LAUNCH(device, 1, 32, 0, tell_addresses, Addresses{&here, places.memory + i, 1.5 + step}, out.memory);
        cuda_step_end(device);
        std::vector<uint64_t> got = out.host();
        for (size_t i = 0; i < 2; i++) {
            double number;
            memcpy(&number, &got[3 * i + 2], sizeof number);
            assert_true(got[3 * i] >> 47); // no address at all
            assert_true(got[3 * i + 1] == reinterpret_cast<uint64_t>(places.memory + i));
            assert_true(number == 1.5 + step);
        }
    }
    must_succeed(device);
    assert_true(device.device->replay.changed > 0);
}

static void memory_ends_and_begins_as_nan(void **) {
    Gpu device;
    cuda_on_cpu_limit(1 << 20);
    assert_null(device.device->source.allocate(device, 2 << 20));
    float *memory = static_cast<float *>(device.device->source.allocate(device, 64)), value;
    cuda_download(device, &value, memory, sizeof value);
    must_succeed(device);
    assert_true(std::isnan(value));
    device.device->source.release(device, memory, 64);
    cuda_on_cpu_limit(SIZE_MAX);
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_and_barriers),
        cmocka_unit_test(warps_work_together),
        cmocka_unit_test(integers_are_counted),
        cmocka_unit_test(blocks_wait_for_each_other),
        cmocka_unit_test(column_sums_have_one_order),
        cmocka_unit_test(faults_are_noticed),
        cmocka_unit_test(launch_limits),
        cmocka_unit_test(host_code_cannot_reach_device_memory),
        cmocka_unit_test(copies_do_not_overlap),
        cmocka_unit_test(kernels_cannot_reach_host_memory),
        cmocka_unit_test(memory_ends_and_begins_as_nan),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
