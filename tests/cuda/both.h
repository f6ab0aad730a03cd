// SPDX-License-Identifier: Apache-2.0
// Loops of plans and flow on the CPU and by CUDA kernels on the CPU, side by side.
#ifndef VPD_TESTS_CUDA_BOTH_H
#define VPD_TESTS_CUDA_BOTH_H

#include <cmath>

#include "nn/cuda/device.h"

#include "device/cuda/tables.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

extern "C" {
#include "base/random.h"
#include "tests/test.h"
}

#include <vector>

struct Both {
    Device *cpu = nullptr, *gpu = nullptr;
    Both() {
        Error err = {};
        assert_status_ok(device_open("cpu", 2, &cpu, &err), err);
        assert_status_ok(cuda_on_cpu_open(&gpu, &err), err);
        cuda_on_cpu_guard(true);
    }
    ~Both() {
        cuda_on_cpu_guard(false);
        cuda_on_cpu_seed(0);
        device_close(cpu);
        device_close(gpu);
    }
};

struct ArrayBase {
    virtual void begin() = 0; // as it was made
    virtual void begin_on_gpu() = 0;
    virtual double keep_and_compare() = 0; // the device's values, against the CPU's
    virtual bool is_kept() = 0;            // they are those that were kept, bit for bit
    virtual ~ArrayBase() {}
};

// An array on both; at(device) is where its op finds it.
template <class T> struct Array : ArrayBase {
    const Both *both;
    std::vector<T> first, cpu, kept;
    T *gpu;
    Array(const Both &b, const std::vector<T> &values) : both(&b), first(values) {
        gpu = static_cast<T *>(b.gpu->source.allocate(b.gpu, bytes()));
        begin();
    }
    Array(const Array &) = delete;
    ~Array() override { both->gpu->source.release(both->gpu, gpu, bytes()); }
    size_t bytes() const { return first.size() * sizeof(T); }
    T *at(const Device *device) { return device == both->cpu ? cpu.data() : gpu; }
    void begin_on_gpu() override { cuda_upload(both->gpu, gpu, first.data(), bytes()); }
    void begin() override {
        cpu = first;
        cpu.resize(first.size() + 1); // a place for those of no values
        begin_on_gpu();
    }
    std::vector<T> fetch() const {
        std::vector<T> out(first.size());
        cuda_download(both->gpu, out.data(), gpu, bytes());
        return out;
    }
    double keep_and_compare() override {
        double largest = 1e-30, error = 0;
        kept = fetch();
        for (size_t i = 0; i < kept.size(); i++) {
            double want = static_cast<double>(cpu[i]), off = fabs(static_cast<double>(kept[i]) - want);
            if (std::isfinite(want)) largest = fmax(largest, fabs(want));
            if (!(off == 0 || kept[i] == cpu[i])) error = std::isnan(off) ? INFINITY : fmax(error, off);
        }
        return std::is_integral<T>::value ? error : error / largest;
    }
    bool is_kept() override { return bytes() == 0 || memcmp(fetch().data(), kept.data(), bytes()) == 0; }
};

using Floats = Array<float>;
using Integers = Array<int32_t>;

// Pseudo-random values in [-1, 1), the same for the same stream.
static inline float noise(uint32_t stream, size_t i) {
    RandomKey key = {};
    key.seed = 5, key.purpose = RANDOM_TEST, key.step = stream;
    return 2 * random_uniform(key, i) - 1;
}

static inline std::vector<float> floats(size_t count, uint32_t stream, float scale = 1) {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; i++) out[i] = scale * noise(stream, i);
    return out;
}

// Below `end`; from entry k - i % (hole + 1) of each row on -1, hole 0: nowhere.
static inline std::vector<int32_t> integers(size_t rows, size_t k, size_t end, uint32_t stream, size_t hole = 0) {
    std::vector<int32_t> out(rows * k);
    for (size_t i = 0; i < out.size(); i++) {
        bool absent = i % k >= k - i / k % (hole + 1) || end == 0;
        out[i] = absent ? -1 : static_cast<int32_t>((noise(stream, i) + 1) / 2 * static_cast<float>(end));
    }
    return out;
}

template <class T> static std::vector<T> junk(size_t count) { return std::vector<T>(count, static_cast<T>(-7)); }

// Different numbers below `end`.
static inline std::vector<int32_t> some(size_t count, size_t end) {
    std::vector<int32_t> out(count);
    for (size_t i = 0; i < count; i++) out[i] = static_cast<int32_t>(i * 7 % end); // end has no factor 7
    return out;
}

// make(device) gives the op's arguments. Runs it on both, by kernels in several orders of threads; the largest error of
// the outputs relative to their largest value, infinite where two orders differ.
template <class Args, class Make>
double run_both(const Both &both, void (*cpu)(Device *, const Args *), void (*gpu)(Device *, const Args *), Make make,
                const std::vector<ArrayBase *> &outputs) {
    Args args = make(both.cpu);
    Error err = {};
    double error = 0;
    for (ArrayBase *out : outputs) out->begin();
    cpu(both.cpu, &args);
    args = make(both.gpu);
    for (uint64_t seed = 0; seed < 3; seed++) {
        cuda_on_cpu_seed(seed);
        for (ArrayBase *out : outputs) out->begin_on_gpu();
        gpu(both.gpu, &args);
        assert_status_ok(device_status(both.gpu, &err), err);
        for (ArrayBase *out : outputs) {
            if (seed == 0) error = fmax(error, out->keep_and_compare());
            else if (!out->is_kept()) error = INFINITY;
        }
    }
    return error;
}

// 1e-5: the order of sums and the last bits of exp, log, sin and cos. Integers have no error.
// `table` is nn, motion or gnn.
#define assert_both(both, table, op, make, ...)                                                                        \
    do {                                                                                                               \
        double off = run_both(both, (both).cpu->table->op, table##_backend_cuda.op, make, {__VA_ARGS__});              \
        if (!(off <= 1e-5)) fail_msg("%s is off by %g", #op, off);                                                     \
    } while (0)

#endif
