// SPDX-License-Identifier: Apache-2.0
// Every case of every op of nn in float: the same bits again, the same bits for other numbers of threads where the op
// promises them, no allocation once warm, an error wherever memory ends.
#include "tests/test.h"

#include "bench/case_tables.h"

static Device *open_device(int threads) {
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu", threads, &device, &err), err);
    return device;
}

typedef void Check(const OpCase *c, const char *op, void *context);

static void each_case(Check *check, void *context) {
    for (size_t t = 0; t < nn_case_table_count; t++)
        for (size_t i = 0; i < nn_case_tables[t]->count; i++)
            if (!nn_case_tables[t]->cases[i].bench) check(&nn_case_tables[t]->cases[i], nn_case_tables[t]->op, context);
}

// Where the processor has AMX; elsewhere f32 four times.
static void each_precision(Check *check, Device **devices) {
    for (int p = PRECISION_F32; p <= PRECISION_BF16; p++) {
        for (int i = 0; i < 2; i++) device_set_precision(devices[i], (Precision)p);
        each_case(check, devices);
    }
}

static void run_case(Device *device, const OpCase *c, CaseRun *run) {
    Error err = {0};
    if (case_run(device, c, -1, NULL, 0, true, run, &err) != STATUS_OK) fail_msg("%s: %s", c->name, err.text);
}

static bool same(const Tensor *a, const Tensor *b, bool grads) {
    size_t bytes = a->rows * a->cols * sizeof(real);
    if (!grads) return !memcmp(a->value, b->value, bytes);
    return !a->grad == !b->grad && (!a->grad || !memcmp(a->grad, b->grad, bytes));
}

static void check_same_bits(const OpCase *c, Device *first, Device *second) {
    CaseRun a, b;
    run_case(first, c, &a);
    run_case(second, c, &b);
    if (!same(a.output, b.output, false)) fail_msg("%s: other values", c->name);
    for (size_t i = 0; i < a.input_count; i++)
        if (!same(a.inputs[i], b.inputs[i], true)) fail_msg("%s: another gradient of %s", c->name, c->inputs[i].name);
    case_run_free(&a);
    case_run_free(&b);
}

static void check_repeats(const OpCase *c, const char *op, void *context) {
    (void)op;
    Device **devices = context;
    check_same_bits(c, devices[0], devices[1]);
}

static void the_same_bits_again(void **state) {
    (void)state;
    Device *devices[] = {open_device(2), open_device(2)};
    each_precision(check_repeats, devices);
    for (int i = 0; i < 2; i++) device_close(devices[i]);
}

// Weight gradients of products are summed by thread.
static bool depends_on_threads(const char *op) { return !strcmp(op, "linear") || !strcmp(op, "conv2d"); }

static void check_threads(const OpCase *c, const char *op, void *context) {
    Device **devices = context;
    if (!depends_on_threads(op)) check_same_bits(c, devices[0], devices[1]);
}

static void any_number_of_threads(void **state) {
    (void)state;
    Device *devices[] = {open_device(1), open_device(3)};
    each_precision(check_threads, devices);
    for (int i = 0; i < 2; i++) device_close(devices[i]);
}

// By how much b misses a, over the root mean square of a.
static double miss(const real *a, const real *b, size_t count) {
    double square = 0, off = 0;
    for (size_t i = 0; i < count; i++) square += (double)a[i] * (double)a[i];
    for (size_t i = 0; i < count; i++) off = fmax(off, fabs((double)a[i] - (double)b[i]));
    return square > 0 ? off / sqrt(square / (double)count) : off;
}

static void check_miss(const OpCase *c, const char *what, const real *a, const real *b, size_t count, bool rounded) {
    double off = a ? miss(a, b, count) : 0;
    // Factors of 8 bits, some dozens of them in a sum: 2^-9 each, twice, and the largest of thousands of numbers.
    if (!(off < 0.03)) fail_msg("%s: %s misses by %g", c->name, what, off);
    // What rounds nothing would have run in float.
    if (rounded && a && count && !(off > 1e-5)) fail_msg("%s: %s is as in float (%g)", c->name, what, off);
}

static void check_convolution(const OpCase *c, const char *op, void *context) {
    Device **devices = context;
    if (strcmp(op, "conv2d")) return;
    bool rounded = devices[1]->precision == PRECISION_BF16;
    CaseRun a, b;
    run_case(devices[0], c, &a);
    run_case(devices[1], c, &b);
    check_miss(c, "y", a.output->value, b.output->value, a.output->rows * a.output->cols, rounded);
    for (size_t i = 0; i < a.input_count; i++)
        check_miss(c, c->inputs[i].name, a.inputs[i]->grad, b.inputs[i]->grad, a.inputs[i]->rows * a.inputs[i]->cols,
                   rounded && strcmp(c->inputs[i].name, "bias"));
    case_run_free(&a);
    case_run_free(&b);
}

// bf16 alone rounds the factors of convolutions.
static void convolutions_in_bf16(void **state) {
    (void)state;
    Device *devices[] = {open_device(2), open_device(2)};
    device_set_precision(devices[1], PRECISION_BF16);
    each_case(check_convolution, devices);
    for (int i = 0; i < 2; i++) device_close(devices[i]);
}

// A source of blocks that ends.
static void *allocate_some(void *owner, size_t bytes) {
    int *left = owner;
    return (*left)-- > 0 ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
}

static void release_some(void *owner, void *memory, size_t bytes) {
    (void)owner;
    (void)bytes;
    free(memory);
}

// Blocks of 1 MiB hold a whole small case: the tape's first block, then the scratch memory's.
static void check_memory(const OpCase *c, const char *op, void *context) {
    (void)op;
    Device *device = context;
    int left, *owner = device->source.owner;
    for (left = 0; left < 100; left++) {
        CaseRun run;
        Error err = {0};
        int blocks = left;
        *owner = blocks;
        arena_free(&device->scratch);
        Status status = case_run(device, c, -1, NULL, 0, true, &run, &err);
        case_run_free(&run);
        if (status == STATUS_OK) return;
        if (status != STATUS_FAILED || !strstr(err.text, "out of memory"))
            fail_msg("%s with %d blocks: %s", c->name, blocks, err.text);
    }
    fail_msg("%s: never enough memory", c->name);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    int left = 0;
    Device *device = open_device(2);
    ArenaSource usual = device->source;
    device->source = (ArenaSource){allocate_some, release_some, &left, NULL};
    arena_free(&device->scratch);
    arena_init(&device->scratch, device->source);
    each_case(check_memory, device);
    arena_free(&device->scratch);
    arena_init(&device->scratch, usual);
    device->source = usual;
    device_close(device);
}

// The same op again and again on one tape.
static void check_warm(const OpCase *c, const char *op, void *context) {
    (void)op;
    Device *device = context;
    Tape tape;
    tape_init(&tape, device);
    size_t warm = 0;
    for (int round = 0; round < 5; round++) {
        tape_reset(&tape);
        arena_reset(&device->scratch);
        Tensor *inputs[CASE_INPUTS];
        for (size_t i = 0; i < case_input_count(c); i++) {
            inputs[i] = tape_tensor(&tape, c->inputs[i].rows, c->inputs[i].cols, c->inputs[i].wants_grad);
            for (size_t j = 0; j < inputs[i]->rows * inputs[i]->cols; j++) inputs[i]->value[j] = (real)0.5;
        }
        Tensor *y = c->run(&tape, inputs, c);
        real *grad = tape_grad(&tape, y);
        for (size_t j = 0; grad && j < y->rows * y->cols; j++) grad[j] = 1;
        tape_backward_from_grads(&tape);
        size_t now = tape_allocations(&tape) + device->scratch.allocations;
        if (round > 2 && now != warm) fail_msg("%s allocates when warm", c->name);
        warm = now;
    }
    tape_free(&tape);
}

static void warm_ops_allocate_nothing(void **state) {
    (void)state;
    Device *device = open_device(2);
    each_case(check_warm, device);
    device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bits_again), cmocka_unit_test(any_number_of_threads),
                                       cmocka_unit_test(convolutions_in_bf16), cmocka_unit_test(no_memory_is_an_error),
                                       cmocka_unit_test(warm_ops_allocate_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
