// SPDX-License-Identifier: Apache-2.0
// The case tables of gnn by CUDA kernels on the CPU against the CPU back end, forward and backward; the same bits in
// any order of threads; and kernels with planted faults, which must not pass.
#include <cmath>

#include "nn/cuda/device.h"
#include "nn/cuda/tensor_core.h"

#include "device/cuda/tables.h"
#include "gnn/cuda/functions.h"
#include "nn/cuda/factors.h"
#include "nn/cuda/lists.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

extern "C" {
#include "bench/case_tables.h"
#include "gnn/message.h"
#include "nn/backend.h"
#include "tests/test.h"
}

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

// ---- message.cu once more, with one fault at a time

namespace faulty {

int skipped = -1, barriers; // the barrier that is left out; a number for each in the text
bool last_lane_is_lost, sums_as_they_come, rows_are_swapped, depths_are_swapped, sums_are_left;

static unsigned row_of_a(unsigned i) { return tensor_row(rows_are_swapped ? 1 - i : i); }
template <Precision P> static unsigned depth_of_a(unsigned i) {
    return tensor_a_depth<P>(depths_are_swapped ? i ^ 2 : i);
}

static unsigned lane() { return last_lane_is_lost && cuda_lane() == 31 ? 30 : cuda_lane(); }

static float sum_of_warp(float value) {
    static float sum;
    if (!sums_as_they_come) return warp_sum(value);
    __syncwarp();
    sum = 0;
    __syncwarp();
    sum += value;
    __syncwarp();
    return sum;
}

#undef __syncthreads
#undef __syncwarp
#undef CUDA_GRID_BARRIER
enum { FIRST_BARRIER = __COUNTER__ + 1 };
#define WAIT(wait)                                                                                                     \
    do {                                                                                                               \
        if (skipped != __COUNTER__ - FIRST_BARRIER) wait;                                                              \
    } while (0)
#define __syncthreads() WAIT(cuda_on_cpu_sync_block(__FILE__, __LINE__))
#define __syncwarp() WAIT(cuda_on_cpu_sync_warp(WHOLE_WARP, CudaOnCpuWords(), __FILE__, __LINE__))
#define CUDA_GRID_BARRIER()                                                                                            \
    do {                                                                                                               \
        if (skipped != __COUNTER__ - FIRST_BARRIER) cuda_on_cpu_sync_grid(__FILE__, __LINE__);                         \
        else cuda_on_cpu_sync_block(__FILE__, __LINE__); /* blocks alone do not wait */                                \
    } while (0)
#define cuda_lane lane
#define warp_sum sum_of_warp
// What a tensor core multiplies, and adds to.
#define tensor_row row_of_a
#define tensor_a_depth depth_of_a
#include "nn/cuda/tensor_product.h"
#undef tensor_row
#undef tensor_a_depth
template <Precision P, int COLS>
static void product_on_sums(const float *x, unsigned stride, unsigned depth, const TensorFactor &factor, unsigned from,
                            unsigned first, float (&sum)[2][COLS]) {
    if (sums_are_left) sum[0][0] += 1;
    tensor_product<P>(x, stride, depth, factor, from, first, sum);
}
#define tensor_product product_on_sums
#include "gnn/cuda/message.cu"

#include "gnn/cuda/message_bf16.cu"
#include "gnn/cuda/message_f32.cu"
#include "gnn/cuda/message_tf32.cu"
#undef tensor_product
enum { BARRIERS = __COUNTER__ - FIRST_BARRIER };
#undef cuda_lane
#undef warp_sum

} // namespace faulty

// ---- both devices

static const NnBackend memory_alone = [] {
    NnBackend nn = {};
    nn.zero = cuda_zero;
    nn.copy = cuda_copy;
    nn.upload = cuda_upload;
    nn.download = cuda_download;
    return nn;
}();

struct Devices {
    Device *cpu = nullptr, *gpu = nullptr;
    Devices() {
        Error err = {};
        assert_status_ok(device_open("cpu", 2, &cpu, &err), err);
        assert_status_ok(cuda_on_cpu_open(&gpu, &err), err);
        gpu->nn = &memory_alone;
        gpu->gnn = &gnn_backend_cuda;
        cuda_on_cpu_guard(true);
    }
    ~Devices() {
        cuda_on_cpu_guard(false);
        cuda_on_cpu_seed(0);
        device_close(cpu);
        cuda_device_close(gpu);
        free(gpu);
    }
};

typedef std::vector<float> Floats;

// The case's output and the gradients of its inputs, an array each; none where it failed.
static std::vector<Floats> run_case(Device *device, const OpCase *c, Error *err) {
    CaseRun run;
    std::vector<Floats> out;
    Status status = case_run(device, c, -1, nullptr, 0, true, &run, err);
    for (size_t i = 0; status == STATUS_OK && i <= run.input_count; i++) {
        const Tensor *t = i < run.input_count ? run.inputs[i] : run.output;
        const float *from = i < run.input_count ? t->grad : t->value;
        out.push_back(Floats(from ? t->rows * t->cols : 0));
        if (from) device->nn->download(device, out.back().data(), from, out.back().size() * sizeof(float));
    }
    case_run_free(&run);
    return out;
}

// The largest difference, relative to the largest value; infinite with NaN.
static double difference(const Floats &got, const Floats &want) {
    double largest = 1e-30, off = 0;
    if (got.size() != want.size()) return INFINITY;
    for (size_t i = 0; i < got.size(); i++) {
        double here = fabs(static_cast<double>(got[i]) - static_cast<double>(want[i]));
        off = std::isnan(here) ? INFINITY : fmax(off, here);
        largest = fmax(largest, fabs(static_cast<double>(want[i])));
    }
    return off / largest;
}

// Of the largest value. f32: the order of sums, and exp to a few last bits. tf32 and bf16 round factors by up to
// 2^-11 and 2^-8, in up to five products one behind the other; found were 2e-3 and 1.4e-2.
#ifdef __SANITIZE_ADDRESS__ // for time: another kind of fragment is all that tf32 has of its own
static const std::vector<Precision> ROUNDED = {PRECISION_BF16};
#else
static const std::vector<Precision> ROUNDED = {PRECISION_TF32, PRECISION_BF16};
#endif

static double tolerance(Precision precision) {
    return precision == PRECISION_F32 ? 1e-5 : precision == PRECISION_TF32 ? 5e-3 : 3e-2;
}

// Otherwise what is wrong in `why`.
static bool is_right(const Devices &both, const OpCase *c, uint64_t seeds, char why[300]) {
    Error err = {};
    std::vector<Floats> want = run_case(both.cpu, c, &err), first;
    double allowed = tolerance(both.gpu->precision);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        cuda_on_cpu_seed(seed);
        std::vector<Floats> got = run_case(both.gpu, c, &err);
        if (got.empty()) return snprintf(why, 300, "%s: %.200s", c->name, err.text), false;
        if (seed == 0) first = got;
        for (size_t i = 0; i < got.size(); i++) {
            const char *of = i + 1 < got.size() ? c->inputs[i].name : "output";
            double off = difference(got[i], want[i]);
            if (!(off <= allowed)) return snprintf(why, 300, "%s, %s: off by %g", c->name, of, off), false;
            if (got[i] != first[i])
                return snprintf(why, 300, "%s, %s: other bits, order %d", c->name, of, (int)seed), false;
        }
    }
    return true;
}

template <class F> static void each_case(F f) {
    for (size_t t = 0; t < gnn_case_table_count; t++)
        for (size_t i = 0; i < gnn_case_tables[t]->count; i++)
            if (!gnn_case_tables[t]->cases[i].bench) f(&gnn_case_tables[t]->cases[i]);
}

static void kernels_do_as_the_cpu(void **) {
    Devices both;
    char why[300];
    each_case([&](const OpCase *c) {
        if (!is_right(both, c, 3, why)) fail_msg("%s", why);
    });
}

// Whether all is as f32 has it, to the bit.
static bool is_exact(const Devices &both, const OpCase *c) {
    Error err = {};
    Precision precision = both.gpu->precision;
    std::vector<Floats> rounded = run_case(both.gpu, c, &err);
    both.gpu->precision = PRECISION_F32;
    bool exact = rounded == run_case(both.gpu, c, &err);
    both.gpu->precision = precision;
    return exact;
}

static void precisions(void **) {
    Devices both;
    char why[300];
    for (Precision precision : ROUNDED) {
        device_set_precision(both.gpu, precision);
        each_case([&](const OpCase *c) {
            bool products = strstr(c->name, "message") && c->sizes[0] > 1 && !strstr(c->name, "absent");
            if (!is_right(both, c, 3, why)) fail_msg("precision %d: %s", precision, why);
            if (products && is_exact(both, c)) fail_msg("precision %d: %s has the bits of f32", precision, c->name);
        });
    }
    device_set_precision(both.gpu, PRECISION_BF16X3); // that it lacks
    assert_int_equal(both.gpu->precision, PRECISION_F32);
}

// Smaller tiles, more of them.
static void little_shared_memory(void **) {
    Devices both;
    char why[300];
    each_case([&](const OpCase *c) {
        bool wide = strstr(c->name, "256 wide"), middle = strstr(c->name, "64 wide") || strstr(c->name, "128 wide");
        cuda_state(both.gpu)->shared_limit = wide ? 227 << 10 : middle ? 34 << 10 : 9 << 10;
        for (Precision precision : {PRECISION_BF16, PRECISION_TF32, PRECISION_F32}) {
            both.gpu->precision = precision;
            if (!is_right(both, c, 1, why)) fail_msg("precision %d: %s", precision, why);
        }
    });
    Error err = {};
    cuda_state(both.gpu)->shared_limit = 9 << 10;
    each_case([&](const OpCase *c) {
        if (!strstr(c->name, "256 wide")) return;
        assert_true(run_case(both.gpu, c, &err).empty());
        if (!strstr(err.text, "shared memory")) fail_msg("%s", err.text);
    });
}

// A message that finds no memory is not done later, when the device works again.
static void without_memory_nothing_is_done(void **) {
    Devices both;
    Device *gpu = both.gpu;
    Error err = {};
    MessageArgs a = {};
    real gradient = 0;
    a.edges.groups = a.edges.others = 4;
    a.edges.k = 3;
    a.hidden = a.out = 8;
    a.mean_kind = MEAN_GROUP;
    a.mean = a.dbias0 = &gradient;
    for (auto op : {gpu->gnn->message_forward, gpu->gnn->message_backward}) {
        long before = cuda_on_cpu_launches();
        cuda_on_cpu_limit(0);
        op(gpu, &a);
        cuda_on_cpu_limit(SIZE_MAX);
        assert_status_error(device_status(gpu, &err), STATUS_FAILED, err, "out of memory");
        cuda_wait(gpu);
        assert_status_ok(device_status(gpu, &err), err);
        assert_int_equal(cuda_on_cpu_launches(), before);
    }
}

// ---- faults

static bool faults_show_in(const Devices &both, Precision precision) {
    static const char *const names[] = {"encode odd", "encode several", "round odd",  "round 64",
                                        "products",   "constant wide",  "encode many"};
    char why[300];
    bool shows = false;
    both.gpu->precision = precision;
    each_case([&](const OpCase *c) {
        size_t all = cuda_state(both.gpu)->shared_limit;
        for (const char *name : names) {
            if (shows || !strstr(c->name, name)) continue;
            if (strstr(name, "many")) // several tiles to a block
                cuda_state(both.gpu)->shared_limit = precision == PRECISION_F32 ? 9 << 10 : 15 << 10;
            shows = !is_right(both, c, 3, why);
            cuda_state(both.gpu)->shared_limit = all;
        }
    });
    if (shows) printf("          precision %d: %s\n", precision, why);
    return shows;
}

static bool faults_show(const Devices &both) {
    return faults_show_in(both, PRECISION_F32) || faults_show_in(both, PRECISION_BF16);
}

// Whether the faults show, or end the process: without a barrier kernels may find addresses that are not there yet.
static bool faults_show_apart(const Devices &both) {
    enum { HIDDEN = 77 };
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        for (int signal_of_a_crash : {SIGSEGV, SIGBUS, SIGABRT}) signal(signal_of_a_crash, SIG_DFL);
        both.cpu->threads = 1; // those of OpenMP do not come along
        bool show = faults_show(both);
        fflush(stdout);
        _exit(show ? 0 : HIDDEN);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return !WIFEXITED(status) || WEXITSTATUS(status) != HIDDEN;
}

// Says what the cases are good for, not what the kernels do: once is enough, without sanitizers.
static void faults_are_noticed(void **) {
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    Devices both;
    GnnBackend table = gnn_backend_cuda;
    table.message_forward = faulty::message_forward_cuda;
    table.message_backward = faulty::message_backward_cuda;
    both.gpu->gnn = &table;
    assert_false(faults_show(both)); // without any
    for (faulty::skipped = 0; faulty::skipped < faulty::BARRIERS; faulty::skipped++)
        if (!faults_show_apart(both)) fail_msg("barrier %d of message.cu can be left out", faulty::skipped);
    faulty::skipped = -1;
    for (bool *fault : {&faulty::last_lane_is_lost, &faulty::sums_as_they_come}) {
        *fault = true;
        assert_true(faults_show(both));
        *fault = false;
    }
    for (Precision precision : ROUNDED)
        for (bool *fault : {&faulty::rows_are_swapped, &faulty::depths_are_swapped, &faulty::sums_are_left}) {
            *fault = true;
            assert_true(faults_show_in(both, precision));
            *fault = false;
        }
}

int main() {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_do_as_the_cpu), cmocka_unit_test(precisions), cmocka_unit_test(little_shared_memory),
        cmocka_unit_test(without_memory_nothing_is_done), cmocka_unit_test(faults_are_noticed)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
