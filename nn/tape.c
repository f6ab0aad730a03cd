// SPDX-License-Identifier: Apache-2.0
#include "nn/tape.h"

#include "base/check.h"
#include "nn/backend.h"

#include <string.h>

void tape_init(Tape *tape, Device *device) {
    *tape = (Tape){.device = device, .recording = true, .keep_limit = SIZE_MAX};
    arena_init(&tape->host, arena_host_source());
    arena_init(&tape->memory, device->source);
    arena_init(&tape->early, device->source);
}

void tape_free(Tape *tape) {
    if (tape->segment) {
        tape_free(tape->segment);
        free(tape->segment);
    }
    arena_free(&tape->host);
    arena_free(&tape->memory);
    arena_free(&tape->early);
    *tape = (Tape){0};
}

void tape_reset(Tape *tape) {
    arena_reset(&tape->host);
    arena_reset(&tape->memory);
    arena_reset(&tape->early);
    tape->last = NULL;
    tape->stage = 0;
    tape->kept = 0;
    if (tape->segment) tape_reset(tape->segment);
}

size_t tape_allocations(const Tape *tape) {
    size_t own = tape->host.allocations + tape->memory.allocations + tape->early.allocations;
    return own + (tape->segment ? tape_allocations(tape->segment) : 0);
}

size_t tape_peak_bytes(const Tape *tape) {
    size_t own = tape->host.peak + tape->memory.peak + tape->early.peak;
    return own + (tape->segment ? tape_peak_bytes(tape->segment) : 0);
}

static void fail_for_memory(Tape *tape, size_t count, size_t size) {
    device_fail(tape->device, STATUS_FAILED, "out of memory: %zu values of %zu bytes beside the %.1f MiB in use", count,
                size, (double)tape->memory.used / (1 << 20));
}

static void *memory_of(Tape *tape, Arena *arena, size_t count, size_t size) {
    if (tape->device->failed) return NULL;
    void *memory = arena_array(arena, count, size);
    if (!memory) fail_for_memory(tape, count, size);
    return memory;
}

void *tape_memory(Tape *tape, size_t count, size_t size) { return memory_of(tape, &tape->memory, count, size); }

void *tape_keep(Tape *tape, size_t count, size_t size) {
    size_t bytes;
    if (!size_mul(count, size, &bytes) || bytes > tape->keep_limit - tape->kept) return NULL;
    tape->kept += bytes;
    return tape_memory(tape, count, size);
}

void *tape_upload(Tape *tape, const void *host, size_t count, size_t size) {
    void *memory = host ? tape_memory(tape, count, size) : NULL;
    if (memory) tape->device->nn->upload(tape->device, memory, host, count * size);
    return memory;
}

void *tape_context(Tape *tape, size_t bytes) {
    if (tape->device->failed) return NULL;
    void *context = arena_alloc(&tape->host, bytes);
    if (!context) fail_for_memory(tape, 1, bytes);
    else memset(context, 0, bytes);
    return context;
}

Tensor *tape_tensor(Tape *tape, size_t rows, size_t cols, bool wants_grad) {
    Tensor *tensor = tape_context(tape, sizeof *tensor);
    if (!tensor) tensor = &tape->dead;
    size_t count = 0;
    if (!size_mul(rows, cols, &count)) count = SIZE_MAX;
    *tensor = (Tensor){.rows = rows, .cols = cols, .wants_grad = wants_grad && tape->recording, .stage = tape->stage};
    tensor->value = tape_memory(tape, count, sizeof(real));
    return tensor;
}

Tensor *tape_constant(Tape *tape, size_t rows, size_t cols, const real *host) {
    Tensor *tensor = tape_tensor(tape, rows, cols, false);
    if (tensor->value) tape->device->nn->upload(tape->device, tensor->value, host, rows * cols * sizeof(real));
    return tensor;
}

bool tape_wants(const Tape *tape, size_t count, Tensor *const *inputs) {
    for (size_t i = 0; i < count && tape->recording; i++)
        if (inputs[i] && inputs[i]->wants_grad) return true;
    return false;
}

void tape_record(Tape *tape, TapeBackward backward, void *context) {
    if (!tape->recording) return;
    TapeNode *node = tape_context(tape, sizeof *node);
    if (!node) return;
    *node = (TapeNode){backward, context, tape->last};
    tape->last = node;
}

static void stage_backward(Tape *tape, void *context) {
    const ArenaMark *begin = context;
    arena_release(&tape->memory, *begin);
    tape->stage--;
}

void tape_stage(Tape *tape) {
    ArenaMark *begin = tape->recording ? tape_context(tape, sizeof *begin) : NULL;
    if (!begin) return;
    *begin = arena_mark(&tape->memory);
    tape->stage++;
    tape_record(tape, stage_backward, begin);
}

real *tape_grad_or_new(Tape *tape, Tensor *tensor, bool *is_new) {
    *is_new = false;
    if (!tensor || !tensor->wants_grad) return NULL;
    if (!tensor->grad) {
        Arena *arena = tensor->stage < tape->stage ? &tape->early : &tape->memory;
        tensor->grad = memory_of(tape, arena, tensor->rows * tensor->cols, sizeof(real));
        *is_new = tensor->grad;
    }
    return tensor->grad;
}

real *tape_grad(Tape *tape, Tensor *tensor) {
    bool is_new;
    real *grad = tape_grad_or_new(tape, tensor, &is_new);
    if (is_new) tape->device->nn->zero(tape->device, grad, tensor->rows * tensor->cols * sizeof(real));
    return grad;
}

void tape_backward_from_grads(Tape *tape) {
    for (TapeNode *node = tape->last; node && !tape->device->failed; node = node->previous)
        node->backward(tape, node->context);
    tape->last = NULL;
}

void tape_backward(Tape *tape, Tensor *loss) {
    TAPE_CHECK_EQ(tape, loss->rows * loss->cols, 1);
    real one = 1, *grad = tape_grad(tape, loss);
    if (grad) tape->device->nn->upload(tape->device, grad, &one, sizeof one);
    tape_backward_from_grads(tape);
}
