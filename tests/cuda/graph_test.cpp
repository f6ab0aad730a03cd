// SPDX-License-Identifier: Apache-2.0
// Steps that come again as graphs (nn/cuda/replay.h): numbers, kernels and commands that change, waits, faults.
#include "nn/cuda/blas.h"
#include "nn/cuda/device.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

extern "C" {
#include "tests/test.h"
}

#include <vector>

constexpr size_t COUNT = 700;
constexpr int STEPS = 9;

static __global__ void add(size_t count, real number, real *x) { GRID_LOOP(i, count) x[i] += number; }

static __global__ void twice(size_t count, real *x) { GRID_LOOP(i, count) x[i] *= 2; }

// A device with an array, and what it should hold.
struct Work {
    Device *device = nullptr;
    real *x = nullptr;
    bool replays;
    std::vector<real> want = std::vector<real>(COUNT);

    explicit Work(bool replay = true) : replays(replay) {
        Error err = {};
        assert_status_ok(cuda_on_cpu_open(&device, &err), err);
        x = static_cast<real *>(device->source.allocate(device, COUNT * sizeof *x));
    }
    ~Work() {
        device->source.release(device, x, COUNT * sizeof *x);
        device_close(device);
    }

    void begin(real first) {
        device_step_begin(device, replays);
        for (size_t i = 0; i < COUNT; i++) want[i] = first + static_cast<real>(i);
        std::vector<real> host = want;
        cuda_upload(device, x, host.data(), COUNT * sizeof *x);
    } // the host's memory is gone
    void add_number(real number, size_t count = COUNT) {
        if (cuda_op(device, "add", count)) LAUNCH(device, cuda_blocks(count), CUDA_THREADS, 0, add, count, number, x);
        for (size_t i = 0; i < count; i++) want[i] += number;
    }
    void double_all() {
        if (cuda_op(device, "twice", COUNT)) LAUNCH(device, cuda_blocks(COUNT), CUDA_THREADS, 0, twice, COUNT, x);
        for (real &number : want) number *= 2;
    }
    void check() {
        Error err = {};
        std::vector<real> got(COUNT);
        cuda_download(device, got.data(), x, COUNT * sizeof *x);
        assert_status_ok(device_status(device, &err), err);
        assert_memory_equal(got.data(), want.data(), COUNT * sizeof *x);
    }
    void end() {
        device_step_end(device);
        check();
    }
    void expect(size_t captured, size_t launched, size_t changed, size_t otherwise) const {
        DeviceReplay r = device->replay;
        if (r.captured != captured || r.launched != launched || r.changed != changed || r.otherwise != otherwise)
            fail_msg("captured %zu, launched %zu, changed %zu, otherwise %zu", r.captured, r.launched, r.changed,
                     r.otherwise);
    }
};

static void the_third_time_is_captured(void **) {
    Work work;
    for (int step = 0; step < STEPS; step++) {
        work.begin(static_cast<real>(step)); // uploads hold other numbers each time
        work.add_number(3);
        work.double_all();
        work.end();
    }
    work.expect(1, STEPS - 2, 0, 0);
}

// A graph is launched when its part ends: memory of its commands that was given back before is still there.
static void memory_is_given_back_behind_its_commands(void **) {
    Work work;
    for (int step = 0; step < STEPS; step++) {
        work.begin(1);
        real *y = static_cast<real *>(work.device->source.allocate(work.device, COUNT * sizeof *y));
        LAUNCH(work.device, 1, CUDA_THREADS, 0, add, COUNT, 1, y);
        work.device->source.release(work.device, y, COUNT * sizeof *y);
        real *z = static_cast<real *>(work.device->source.allocate(work.device, COUNT * sizeof *z));
        for (size_t i = 0; i < COUNT; i++) z[i] = 5; // as another process would, to which the memory may go
        work.add_number(3);
        work.end();
        for (size_t i = 0; i < COUNT; i++) assert_true(z[i] == 5);
        work.device->source.release(work.device, z, COUNT * sizeof *z);
    }
    assert_true(work.device->replay.launched >= 3);
}

static void nothing_is_captured_unasked(void **) {
    Work work(false);
    for (int step = 0; step < STEPS; step++) {
        work.begin(1);
        work.double_all();
        work.end();
    }
    work.expect(0, 0, 0, 0);
}

static void arguments_and_sizes_change(void **) {
    Work work;
    for (int step = 0; step < STEPS; step++) {
        work.begin(0);
        work.add_number(static_cast<real>(step), step < 6 ? COUNT : COUNT / 2);
        work.end();
    }
    work.expect(1, STEPS - 2, STEPS - 3, 0);
}

// The commands before the other one are done once, as are those behind it.
static void another_kernel(void **) {
    Work work;
    for (int step = 0; step < 3 * STEPS; step++) {
        work.begin(1);
        work.add_number(1);
        if (step == 5) work.double_all();
        else work.add_number(2);
        work.double_all();
        work.end();
    }
    // captured at 2, launched at 2, 3, 4; otherwise at 5, as it comes at 6 and 7, captured again at 8
    work.expect(2, 3 + 3 * STEPS - 8, 0, 1);
}

static void fewer_commands(void **) {
    Work work;
    for (int step = 0; step < STEPS; step++) {
        work.begin(1);
        work.add_number(1);
        if (step != 4) work.double_all();
        work.end();
    }
    work.expect(2, 2 + STEPS - 7, 0, 1);
}

static void more_commands(void **) {
    Work work;
    for (int step = 0; step < STEPS; step++) {
        work.begin(1);
        work.add_number(1);
        if (step == 4) work.double_all();
        work.end();
    }
    work.expect(2, 2 + STEPS - 7, 0, 1);
}

// What never comes the same way twice is captured ever more rarely.
static void never_the_same(void **) {
    Work work;
    for (int step = 0; step < 100; step++) {
        work.begin(1);
        for (int i = 0; i < step % 3; i++) work.double_all();
        work.add_number(1);
        work.end();
    }
    assert_in_range(work.device->replay.captured, 3, 6);
    assert_int_equal(work.device->replay.captured, work.device->replay.launched);
}

static void a_wait_ends_a_part(void **) {
    Work work;
    for (int step = 0; step < STEPS; step++) {
        work.begin(1);
        work.add_number(1);
        work.check();
        device_flush(work.device); // with nothing under way: no part
        work.double_all();
        device_flush(work.device);
        work.add_number(4);
        work.end();
    }
    work.expect(3, 3 * (STEPS - 2), 0, 0);
}

// Products with other factors cannot be changed in a graph.
static void library_calls(void **) {
    Work work;
    for (int step = 0; step < STEPS; step++) {
        size_t n = step < 5 ? 20 : 10;
        work.begin(1);
        cuda_matmul(work.device, PLAIN, TRANSPOSED, n, 1, 20, work.x, 20, work.x + 400, 20, 0, work.x + 600, 1);
        for (size_t i = 0; i < n; i++) {
            real sum = 0;
            for (size_t j = 0; j < 20; j++) sum += work.want[20 * i + j] * work.want[400 + j];
            work.want[600 + i] = sum;
        }
        work.end();
    }
    work.expect(2, 3 + 1, 0, 1);
}

static void a_lost_gpu(void **) {
    for (int lost_in = 0; lost_in < 5; lost_in++) { // as it comes, in a capture, in a launch
        Work work;
        Error err = {};
        for (int step = 0; step <= lost_in; step++) {
            if (step == lost_in) cuda_on_cpu_lose(0);
            work.begin(1);
            work.add_number(1);
            device_step_end(work.device);
            cuda_wait(work.device);
            if (step == lost_in)
                assert_status_error(device_status(work.device, &err), STATUS_FAILED, err, "unspecified launch failure");
            else assert_status_ok(device_status(work.device, &err), err);
        }
        cuda_on_cpu_lose(-1);
    }
}

// A failure in the middle of a capture leaves none behind; a later step begins anew.
static void a_failure_while_capturing(void **) {
    Work work;
    Error err = {};
    for (int step = 0; step < STEPS; step++) {
        work.begin(1);
        work.add_number(1);
        if (step == 2) {
            device_fail(work.device, STATUS_FAILED, "planted");
            device_step_end(work.device);
            assert_status_error(device_status(work.device, &err), STATUS_FAILED, err, "planted");
            continue;
        }
        work.double_all();
        work.end();
    }
    work.expect(1, STEPS - 3, 0, 0);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_third_time_is_captured),
        cmocka_unit_test(memory_is_given_back_behind_its_commands),
        cmocka_unit_test(nothing_is_captured_unasked),
        cmocka_unit_test(arguments_and_sizes_change),
        cmocka_unit_test(another_kernel),
        cmocka_unit_test(fewer_commands),
        cmocka_unit_test(more_commands),
        cmocka_unit_test(never_the_same),
        cmocka_unit_test(a_wait_ends_a_part),
        cmocka_unit_test(library_calls),
        cmocka_unit_test(a_lost_gpu),
        cmocka_unit_test(a_failure_while_capturing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
