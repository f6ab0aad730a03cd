// SPDX-License-Identifier: Apache-2.0
// Sums over ranks in a fixed order, gradients that are summed during the backward pass, and failures of a rank. Ranks
// are threads here (tests/rank_threads.h); tests/cli/ranks.sh starts processes.
#include "test.h"

#include "base/stop.h"
#include "nn/backend.h"
#include "nn/bf16.h"
#include "nn/linear.h"
#include "nn/reduce.h"
#include "rank_threads.h"
#include "ranks/gpu_sums.h"
#include "ranks/gradients.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>

enum { RANKS = 3 };

// ---- shares and sums

static void test_shares(void **state) {
    size_t first, end;
    (void)state;
    ranks_share(NULL, 7, &first, &end);
    assert_true(first == 0 && end == 7);
    assert_int_equal(ranks_count(NULL), 1);
}

// Whatever the number of ranks, their pieces are all of a sum.
static void test_pieces(void **state) {
    (void)state;
    for (int ranks = 1; ranks < 70; ranks++)
        for (size_t count = 0; count < 5000; count += 16) {
            assert_int_equal(device_sums_piece(count, ranks, 0), 0);
            assert_int_equal(device_sums_piece(count, ranks, ranks), count);
            for (int r = 0; r < ranks; r++) {
                size_t begin = device_sums_piece(count, ranks, r), end = device_sums_piece(count, ranks, r + 1);
                assert_true(begin <= end && (begin % DEVICE_SUMS_ALIGN == 0 || begin == count));
            }
        }
}

// The nearest, of two the even one; no number stays none.
static void test_bf16(void **state) {
    static const double rounded[][2] = {{1, 1},
                                        {-1.00390625, -1},
                                        {1.01171875, 1.015625},
                                        {1.004, 1.0078125},
                                        {1.0039, 1},
                                        {1e-40, 9.183549615799121e-41},
                                        {FLT_MAX, INFINITY},
                                        {-INFINITY, -INFINITY}};
    (void)state;
    for (size_t i = 0; i < sizeof rounded / sizeof *rounded; i++)
        assert_true(bf16_value(bf16_of((real)rounded[i][0])) == (real)rounded[i][1]);
    assert_true(isnan(bf16_value(bf16_of((real)NAN))));
    uint32_t all = 0x7fffffff;
    float nan;
    memcpy(&nan, &all, sizeof nan);
    assert_true(isnan(bf16_value(bf16_of((real)nan))));
}

typedef struct Sums {
    size_t first[RANKS], end[RANKS];
    double sum[RANKS][2];
    char name[RANKS][64];
    int here[RANKS], broadcast[RANKS];
    Status status[RANKS];
} Sums;

static void add_up(Ranks *ranks, int rank, void *context) {
    Sums *s = context;
    Error err;
    // in the order of the ranks: (1e16 + 1) - 1e16 = 0, in another 1
    enum { MANY = 100001 }; // more than a message has
    double *values = calloc(MANY, sizeof *values);
    assert_non_null(values);
    values[0] = rank == 0 ? 1e16 : rank == 1 ? 1 : -1e16;
    values[MANY - 1] = rank + 1;
    int number = rank == 0 ? 42 : 0;
    ranks_share(ranks, 7, &s->first[rank], &s->end[rank]);
    s->status[rank] = ranks_sum(ranks, values, MANY, &err);
    if (s->status[rank] == STATUS_OK) s->status[rank] = ranks_broadcast(ranks, &number, sizeof number, &err);
    s->sum[rank][0] = values[0], s->sum[rank][1] = values[MANY - 1];
    free(values);
    snprintf(s->name[rank], sizeof s->name[rank], "%s", ranks_name(ranks, rank));
    s->here[rank] = ranks_count_here(ranks);
    s->broadcast[rank] = number;
    s->status[rank] = ranks_close(ranks, s->status[rank], NULL, &err);
}

static void test_sums(void **state) {
    (void)state;
    for (unsigned seed = 1; seed < 6; seed++) {
        Sums s;
        memset(&s, 0, sizeof s);
        assert_int_equal(rank_threads_run(RANKS, seed, add_up, &s), RANKS);
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(s.status[r], STATUS_OK);
            assert_true(s.sum[r][0] == 0 && s.sum[r][1] == 6);
            assert_int_equal(s.broadcast[r], 42);
            assert_int_equal(s.here[r], RANKS);
            assert_true(s.first[r] == (r ? s.end[r - 1] : 0) && s.end[r] - s.first[r] == (r ? 2 : 3));
        }
        assert_string_equal(s.name[2], "rank 2 (here)");
    }
}

// ---- gradients

// y = sum of ((x W0) W1 W1) over two more layers; W1 is used twice, once in a segment that runs again.
enum { ROWS = 5, WIDTH = 520, LAYERS = 3 };

typedef struct Model {
    Device *device;
    Parameters set;
    Tensor *weight[LAYERS], *frozen, *unused;
    Tape tape;
} Model;

static void model_open(Model *m) {
    Error err;
    memset(m, 0, sizeof *m);
    if (device_open("cpu", 1, &m->device, &err) != STATUS_OK) abort();
    parameters_init(&m->set, m->device);
    for (int i = 0; i < LAYERS; i++)
        m->weight[i] = parameters_add(&m->set, INIT_UNIFORM, WIDTH, 2, (size_t[]){WIDTH, WIDTH}, "a%d.weight", i);
    m->unused = parameters_add(&m->set, INIT_UNIFORM, 1, 2, (size_t[]){WIDTH, WIDTH}, "b.weight");
    m->frozen = parameters_add(&m->set, INIT_UNIFORM, 1, 2, (size_t[]){WIDTH, WIDTH}, "c.weight");
    if (parameters_allocate(&m->set, 3, &err) != STATUS_OK) abort();
    parameters_freeze(&m->set, "c.");
    tape_init(&m->tape, m->device);
}

static void model_close(Model *m) {
    tape_free(&m->tape);
    parameters_free(&m->set);
    device_close(m->device);
}

static void segment(Tape *tape, void *context, Tensor *const *inputs, Tensor **outputs) {
    Model *m = context;
    outputs[0] = linear(tape, inputs[0], m->weight[1], NULL);
}

// Adds the gradients of item `number`; the items of a rank add up in `grads`.
static void learn(Model *m, int number, TapeWatch *watch) {
    real x[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (real)sin(0.37 * i + number);
    tape_reset(&m->tape);
    m->tape.watch = watch;
    Tensor *y = linear(&m->tape, tape_constant(&m->tape, ROWS, WIDTH, x), m->weight[0], NULL), *again;
    y = linear(&m->tape, y, m->weight[1], NULL);
    tape_checkpoint(&m->tape, segment, m, 1, &y, 1, &again);
    y = linear(&m->tape, again, m->weight[2], NULL);
    tape_backward(&m->tape, reduce(&m->tape, y, REDUCE_SQUARE, NULL, NULL, 1));
    m->tape.watch = NULL;
}

typedef struct Learning {
    Model model[RANKS];
    GradientsTime time[RANKS];
    Status status[RANKS];
    Error err[RANKS];
    bool watched, bf16;
} Learning;

static void sum_up(Ranks *ranks, int rank, void *context) {
    Learning *l = context;
    Model *m = &l->model[rank];
    Gradients *gradients = NULL;
    Status status = gradients_create(ranks, &m->set, l->bf16, &gradients, &l->err[rank]);
    for (int step = 0; step < 2 && status == STATUS_OK; step++) {
        parameters_zero_grad(&m->set);
        status = gradients_begin(gradients, NULL, &l->err[rank]);
        learn(m, 2 * rank, NULL);
        learn(m, 2 * rank + 1, l->watched ? gradients_watch(gradients) : NULL);
        if (status == STATUS_OK) status = gradients_finish(gradients, &l->err[rank]);
    }
    l->time[rank] = gradients_time(gradients);
    gradients_free(gradients);
    l->status[rank] = ranks_close(ranks, status, NULL, &l->err[rank]);
}

static real sent(real x, bool bf16) { return bf16 ? bf16_value(bf16_of(x)) : x; }

static void sum_of_ranks(real *out, size_t size, bool bf16) {
    for (int r = 0; r < RANKS; r++) {
        Model m;
        model_open(&m);
        learn(&m, 2 * r, NULL);
        learn(&m, 2 * r + 1, NULL);
        for (size_t i = 0; i < size; i++) out[i] = (r ? out[i] : 0) + sent(m.set.grads[i], bf16);
        model_close(&m);
    }
    for (size_t i = 0; i < size; i++) out[i] = sent(out[i], bf16);
}

// Bit for bit the sum in the order of the ranks, with or without a watch, with messages of either precision.
static void test_gradients(void **state) {
    (void)state;
    for (unsigned seed = 1; seed < 5; seed++) {
        Learning *l = calloc(1, sizeof *l);
        l->watched = seed > 1;
        l->bf16 = seed > 2;
        double number = l->bf16 ? 2 : sizeof(real);
        for (int r = 0; r < RANKS; r++) model_open(&l->model[r]);
        size_t size = l->model[0].set.size;
        real *expected = calloc(size, sizeof *expected);
        sum_of_ranks(expected, size, l->bf16);
        assert_int_equal(rank_threads_run(RANKS, seed, sum_up, l), RANKS);
        for (int r = 0; r < RANKS; r++) {
            assert_status_ok(l->status[r], l->err[r]);
            assert_memory_equal(l->model[r].set.grads, expected, size * sizeof *expected);
            assert_true(l->time[r].buckets == (l->watched ? LAYERS : 0)); // each layer is a bucket
            // the bucket that nothing reads is sent, the frozen one is not
            assert_close(l->time[r].bytes, 2.0 * (RANKS - 1) / RANKS * (LAYERS + 1) * WIDTH * WIDTH * number, 0, 1e-3);
            model_close(&l->model[r]);
        }
        free(expected);
        free(l);
    }
}

static bool always(void *owner, size_t offset) {
    (void)owner;
    (void)offset;
    return true;
}

// An op that names less than it reads would lose gradients: this ends the program.
static void test_late_gradient(void **state) {
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        Model own, *m = &own;
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        model_open(m);
        TapeWatch watch = {.grads = m->set.grads, .size = m->set.size};
        watch.is_complete = always;
        m->tape.watch = &watch;
        tape_grad(&m->tape, m->weight[0]);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

// ---- the order of sums between GPUs

enum { PARTS = 4, STEPS = 3, ASKED_MAX = 1 + STEPS * PARTS };

// A GPU that notes what it is asked for.
typedef struct FakeGpu {
    Device device;
    NnBackend nn;
    real values[PARTS];
    int asked[ASKED_MAX], count, at_once; // at_once: asked for when rank 0 had completed one part of the second step
    bool full, connected;                 // full: without memory for sums
    Status status;
    Error err;
} FakeGpu;

static bool gpu_found(Device *device, unsigned char gpu[DEVICE_GPU_ID]) {
    memset(gpu, 0, DEVICE_GPU_ID);
    memcpy(gpu, &device, sizeof device);
    return true;
}

static void gpu_id(Device *device, unsigned char id[DEVICE_SUMS_ID]) {
    (void)device;
    (void)id;
}

static void gpu_open(Device *device, int rank, int ranks, size_t longest, bool bf16) {
    (void)rank;
    if (ranks != RANKS || longest != 1 || !bf16) abort();
    if (((FakeGpu *)device)->full) device_fail(device, STATUS_FAILED, "no memory");
}

static void gpu_connect(Device *device, const unsigned char id[DEVICE_SUMS_ID]) {
    (void)id;
    ((FakeGpu *)device)->connected = true;
}

static void gpu_add(Device *device, real *values, size_t count) {
    FakeGpu *gpu = (FakeGpu *)device;
    if (count != 1 || gpu->count == ASKED_MAX) abort();
    gpu->asked[gpu->count++] = (int)(values - gpu->values);
}

static bool gpu_done(Device *device) { return !device->failed; }
static void gpu_close(Device *device) { device->state = NULL; }
static const DeviceSums fake_sums = {gpu_found, gpu_id, gpu_open, gpu_connect, gpu_add, gpu_done, gpu_close};

// Each rank completes the parts in another order, rank 0 as 2 3 0 1; the third step lacks part 3.
static void sum_parts(Ranks *ranks, int rank, void *context) {
    FakeGpu *gpu = (FakeGpu *)context + rank;
    GpuSums *sums = NULL;
    Error *err = &gpu->err;
    gpu->nn.sums = &fake_sums;
    gpu->device.nn = &gpu->nn;
    Status status = gpu_sums_open(ranks, &gpu->device, PARTS, &sums, err);
    for (size_t i = 0; i < PARTS && sums; i++)
        *gpu_sums_part(sums, i) = (GpuPart){.values = gpu->values + i, .count = 1};
    if (status == STATUS_OK) status = gpu_sums_connect(sums, true, err);
    for (int step = 0; step < STEPS && status == STATUS_OK; step++) {
        for (size_t i = 0; i < PARTS; i++) gpu_sums_part(sums, i)->wanted = step < 2 || i < 3;
        gpu_sums_begin(sums);
        for (int i = 0; i < PARTS; i++) {
            gpu_sums_complete(sums, (size_t)(i + 2 + rank) % PARTS);
            if (step == 1 && i == 0) gpu->at_once = gpu->count - 1 - PARTS;
        }
        status = gpu_sums_finish(sums, err);
    }
    gpu_sums_free(sums);
    gpu->status = ranks_close(ranks, status, NULL, err);
}

static void test_gpu_order(void **state) {
    static const int expected[] = {0, 3, 2, 1, 0, 2, 3, 0, 1, 2, 1, 0};
    FakeGpu *gpus = calloc(RANKS, sizeof *gpus);
    (void)state;
    assert_int_equal(rank_threads_run(RANKS, 1, sum_parts, gpus), RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(gpus[r].status, STATUS_OK);
        assert_true(gpus[r].connected);
        assert_int_equal(gpus[r].count, sizeof expected / sizeof *expected);
        assert_memory_equal(gpus[r].asked, expected, sizeof expected);
    }
    assert_int_equal(gpus[0].at_once, 1);
    assert_int_equal(gpus[1].at_once, 0);
    free(gpus);
}

// No rank waits in NCCL for one that cannot begin.
static void test_full_gpu(void **state) {
    FakeGpu *gpus = calloc(RANKS, sizeof *gpus);
    (void)state;
    gpus[1].full = true;
    assert_int_equal(rank_threads_run(RANKS, 1, sum_parts, gpus), RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(gpus[r].status, STATUS_FAILED);
        assert_non_null(strstr(gpus[r].err.text, "rank 1 (here): no memory"));
        assert_false(gpus[r].connected);
    }
    free(gpus);
}

// ---- failures

typedef struct Failing {
    Status kind, waited[RANKS], closed[RANKS];
    Error wait_error[RANKS], error[RANKS];
} Failing;

static void fail_one(Ranks *ranks, int rank, void *context) {
    Failing *f = context;
    double one = 1;
    Status status = ranks_barrier(ranks, &f->error[rank]); // all have begun
    if (rank == 1 && f->kind == STATUS_INTERRUPTED) stop_request(STOP_ASKED);
    if (rank == 1) status = error_set(&f->error[rank], f->kind, "the disk is full");
    else if (status == STATUS_OK) status = ranks_sum(ranks, &one, 1, &f->error[rank]);
    f->waited[rank] = status;
    f->wait_error[rank] = f->error[rank];
    f->closed[rank] = ranks_close(ranks, status, NULL, &f->error[rank]);
}

static void test_failure(void **state) {
    (void)state;
    Failing f = {.kind = STATUS_BAD_INPUT};
    assert_int_equal(rank_threads_run(RANKS, 1, fail_one, &f), RANKS);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(f.waited[r], STATUS_BAD_INPUT);
        assert_int_equal(f.closed[r], STATUS_BAD_INPUT);
        assert_string_equal(f.wait_error[r].text, r == 1 ? "the disk is full" : "rank 1 (here): the disk is full");
    }
    assert_string_equal(f.error[0].text, "rank 1 (here): the disk is full");
}

static void test_stop(void **state) {
    (void)state;
    Failing f = {.kind = STATUS_INTERRUPTED};
    assert_int_equal(rank_threads_run(RANKS, 1, fail_one, &f), RANKS);
    assert_int_equal(stop_requested(), STOP_ASKED); // threads share the flag
    for (int r = 0; r < RANKS; r++) assert_int_equal(f.closed[r], STATUS_INTERRUPTED);
    stop_clear();
}

// Rank 2 fails after the others have ended their work.
static void fail_last(Ranks *ranks, int rank, void *context) {
    Failing *f = context;
    Status status = STATUS_OK;
    if (rank == 2) status = error_set(&f->error[rank], STATUS_FAILED, "no memory");
    f->closed[rank] = ranks_close(ranks, status, NULL, &f->error[rank]);
}

static void test_late_failure(void **state) {
    (void)state;
    Failing f = {.kind = STATUS_OK};
    assert_int_equal(rank_threads_run(RANKS, 1, fail_last, &f), RANKS);
    for (int r = 0; r < RANKS; r++) assert_int_equal(f.closed[r], STATUS_FAILED);
    assert_string_equal(f.error[0].text, "rank 2 (here): no memory");
}

static void compare(Ranks *ranks, int rank, void *context) {
    Failing *f = context;
    const char *text =
        rank == 2 ? "data:\n  path: a\ntrain:\n  rate: 0.2\n" : "data:\n  path: a\ntrain:\n  rate: 0.1\n";
    Status status = ranks_same_text(ranks, "same\n", &f->error[rank]);
    if (status == STATUS_OK) status = ranks_same_text(ranks, text, &f->error[rank]);
    f->closed[rank] = ranks_close(ranks, status, NULL, &f->error[rank]);
}

static void test_differences(void **state) {
    (void)state;
    Failing f = {.kind = STATUS_OK};
    assert_int_equal(rank_threads_run(RANKS, 1, compare, &f), RANKS);
    for (int r = 0; r < RANKS; r++) assert_int_equal(f.closed[r], STATUS_BAD_INPUT);
    assert_string_equal(f.error[0].text,
                        "rank 2 (here): expected what rank 0 has, \"train: rate: 0.1\", found \"rate: 0.2\"; start "
                        "all ranks with the same program, options and data");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares),   cmocka_unit_test(test_pieces),        cmocka_unit_test(test_bf16),
        cmocka_unit_test(test_sums),     cmocka_unit_test(test_gradients),     cmocka_unit_test(test_gpu_order),
        cmocka_unit_test(test_full_gpu), cmocka_unit_test(test_late_gradient), cmocka_unit_test(test_failure),
        cmocka_unit_test(test_stop),     cmocka_unit_test(test_late_failure),  cmocka_unit_test(test_differences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
