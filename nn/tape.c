// SPDX-License-Identifier: Apache-2.0
#include "nn/tape.h"

#include "base/check.h"
#include "nn/backend.h"
#include "nn/device_memory.h"

#include <string.h>

enum { CLEARED = 8 << 20, CLEARED_ALIGN = 64 }; // bytes that are cleared at once; of each gradient

static const TapePart other = {"inputs", NULL}, gradients = {"gradients", "train.checkpoint_steps=true"};

void tape_init(Tape *tape, Device *device) {
    *tape = (Tape){.device = device,
                   .recording = true,
                   .keep_limit = SIZE_MAX,
                   .parts = {[TAPE_OTHER] = &other, [TAPE_GRADIENTS] = &gradients},
                   .part_count = 2,
                   .next = device->tapes};
    device->tapes = tape;
    arena_init(&tape->host, arena_host_source());
    arena_init(&tape->memory, device->source);
    arena_init(&tape->early, device->source);
}

static void leave_device(Tape *tape) {
    if (!tape->device) return;
    Tape **link = &tape->device->tapes;
    while (*link && *link != tape) link = &(*link)->next;
    CHECK(*link == tape); // else it was moved
    *link = tape->next;
}

void tape_free(Tape *tape) {
    leave_device(tape);
    if (tape->segment) {
        tape_free(tape->segment);
        free(tape->segment);
    }
    arena_free(&tape->host);
    arena_free(&tape->memory);
    arena_free(&tape->early);
    *tape = (Tape){0};
}

// ---- parts

static void note_peaks(Tape *tape) {
    size_t bytes[TAPE_PARTS];
    tape_part_bytes(tape, bytes);
    for (size_t i = 0; i < tape->part_count; i++)
        if (bytes[i] > tape->part_peak[i]) tape->part_peak[i] = bytes[i];
}

static size_t slot_of(Tape *tape, const TapePart *part) {
    size_t slot = 0;
    while (slot < tape->part_count && tape->parts[slot] != part) slot++;
    if (slot == tape->part_count) {
        CHECK(slot < TAPE_PARTS);
        tape->parts[tape->part_count++] = part;
    }
    return slot;
}

void tape_part(Tape *tape, const TapePart *part) {
    TapeSection *section = tape_context(tape, sizeof *section);
    if (!section) return;
    note_peaks(tape);
    *section = (TapeSection){slot_of(tape, part), tape->memory.used, tape->section};
    tape->section = section;
    tape->device->part = part;
    device_flush(tape->device);
}

void tape_reset(Tape *tape) {
    note_peaks(tape);
    tape->section = NULL;
    arena_reset(&tape->host);
    arena_reset(&tape->memory);
    arena_reset(&tape->early);
    tape->cleared = tape->cleared_early = (TapeCleared){0};
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

static void *memory_of(Tape *tape, Arena *arena, size_t count, size_t size) {
    if (device_stopped(tape->device)) return NULL;
    void *memory = arena_array(arena, count, size);
    size_t bytes;
    if (!memory)
        device_no_memory(tape->device, &arena->source, size_mul(count, size, &bytes) ? bytes : SIZE_MAX, "values");
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

bool tape_upload_begin(Tape *tape, size_t count, TapeUpload *out) {
    *out = (TapeUpload){tape, count, 0, arena_array(&tape->host, count, sizeof(real)),
                        tape_memory(tape, count, sizeof(real))};
    if (!out->host) device_no_memory(tape->device, &tape->host.source, count * sizeof(real), "an upload");
    return !tape->device->failed;
}

real *tape_upload_add(TapeUpload *upload, size_t count, const real *from) {
    size_t at = upload->added;
    CHECK(count <= upload->count - at);
    if (count) memcpy(upload->host + at, from, count * sizeof *from);
    upload->added += count;
    return upload->device + at;
}

void tape_upload_end(const TapeUpload *upload) {
    Device *device = upload->tape->device;
    CHECK(upload->added == upload->count);
    device->nn->upload(device, upload->device, upload->host, upload->count * sizeof(real));
}

void *tape_context(Tape *tape, size_t bytes) {
    if (tape->device->failed) return NULL;
    void *context = arena_alloc(&tape->host, bytes);
    if (!context) device_no_memory(tape->device, &tape->host.source, bytes, "the host's part of an op");
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

Tensor *tape_constant_at(Tape *tape, size_t rows, size_t cols, const real *value) {
    Tensor *tensor = tape_context(tape, sizeof *tensor);
    if (!tensor) return tape_tensor(tape, rows, cols, false);
    *tensor = (Tensor){.value = (real *)value, .rows = rows, .cols = cols};
    return tensor;
}

// ---- gradients that are complete before the backward pass ends

// Whether the watch wants this parameter; *offset becomes its place.
static bool is_watched(const TapeWatch *watch, const Tensor *tensor, size_t *offset) {
    if (!watch || !tensor || !tensor->wants_grad || !tensor->grad) return false;
    uintptr_t from = (uintptr_t)watch->grads, at = (uintptr_t)tensor->grad;
    *offset = (at - from) / sizeof(real);
    return at >= from && *offset < watch->size;
}

typedef struct CompleteNode {
    TapeWatch *watch;
    size_t group;
} CompleteNode;

static void complete_backward(Tape *tape, void *context) {
    const CompleteNode *node = context;
    (void)tape;
    node->watch->complete(node->watch->owner, node->group);
}

// The backward pass comes to a node that is recorded before the first use of a group after all of its uses.
static void note_use(Tape *tape, const Tensor *tensor) {
    size_t offset, group;
    while (tape->outer) tape = tape->outer; // what a segment reads, tape_checkpoint's node reads
    TapeWatch *watch = tape->watch;
    if (!is_watched(watch, tensor, &offset) || !watch->first_use(watch->owner, offset, &group)) return;
    CompleteNode *node = tape_context(tape, sizeof *node);
    if (!node) return;
    *node = (CompleteNode){watch, group};
    tape_record(tape, complete_backward, node);
}

// An op that does not name all that it reads in tape_wants would lose gradients.
static void check_not_complete(const Tape *tape, const Tensor *tensor) {
    size_t offset;
    while (tape->outer) tape = tape->outer;
    const TapeWatch *watch = tape->watch;
    CHECK(!is_watched(watch, tensor, &offset) || !watch->is_complete(watch->owner, offset));
}

bool tape_wants(Tape *tape, size_t count, Tensor *const *inputs) {
    for (size_t i = 0; i < count; i++) note_use(tape, inputs[i]);
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
    note_peaks(tape);
    arena_release(&tape->memory, *begin);
    tape->cleared = (TapeCleared){0};
    while (tape->section && tape->section->begin >= tape->memory.used) tape->section = tape->section->previous;
    tape_part(tape, &gradients);
    tape->stage--;
}

void tape_stage(Tape *tape) {
    ArenaMark *begin = tape->recording ? tape_context(tape, sizeof *begin) : NULL;
    if (!begin) return;
    *begin = arena_mark(&tape->memory);
    tape->stage++;
    tape_record(tape, stage_backward, begin);
}

// The gradient of a part is that part of the gradient of the whole.
static real *grad_of_part(Tape *tape, Tensor *part) {
    real *grad = tape_grad(tape, part->whole);
    if (grad) part->grad = grad + (part->value - part->whole->value);
    return part->grad;
}

real *tape_grad_or_new(Tape *tape, Tensor *tensor, bool *is_new) {
    *is_new = false;
    if (!tensor || !tensor->wants_grad) return NULL;
    if (tensor->whole) return grad_of_part(tape, tensor);
    check_not_complete(tape, tensor);
    if (!tensor->grad) {
        Arena *arena = tensor->stage < tape->stage ? &tape->early : &tape->memory;
        tensor->grad = memory_of(tape, arena, tensor->rows * tensor->cols, sizeof(real));
        *is_new = tensor->grad;
    }
    return tensor->grad;
}

// Memory for a small gradient that begins as zero. Each command to a GPU takes time, so many gradients are cleared at
// once.
static real *cleared_memory(Tape *tape, bool early, size_t bytes) {
    TapeCleared *cleared = early ? &tape->cleared_early : &tape->cleared;
    bytes = (bytes + CLEARED_ALIGN - 1) / CLEARED_ALIGN * CLEARED_ALIGN;
    if (!cleared->at || bytes > cleared->left) { // empty gradients have a place, too
        *cleared = (TapeCleared){memory_of(tape, early ? &tape->early : &tape->memory, CLEARED, 1), 0};
        if (!cleared->at) return NULL;
        tape->device->nn->zero(tape->device, cleared->at, CLEARED);
        cleared->left = CLEARED;
    }
    char *memory = cleared->at;
    cleared->at += bytes;
    cleared->left -= bytes;
    return (real *)memory;
}

real *tape_grad(Tape *tape, Tensor *tensor) {
    size_t bytes = tensor ? tensor->rows * tensor->cols * sizeof(real) : 0;
    bool apart = tensor && tensor->wants_grad && !tensor->grad && !tensor->whole;
    if (apart && bytes <= CLEARED / 4 && !device_shares_host(tape->device))
        return tensor->grad = cleared_memory(tape, tensor->stage < tape->stage, bytes);
    bool is_new;
    real *grad = tape_grad_or_new(tape, tensor, &is_new);
    if (is_new) tape->device->nn->zero(tape->device, grad, bytes);
    return grad;
}

void tape_backward_from_grads(Tape *tape) {
    tape_part(tape, &gradients);
    for (TapeNode *node = tape->last; node && !device_stopped(tape->device); node = node->previous) {
        node->backward(tape, node->context);
        if (tape->watch) tape->watch->between(tape->watch->owner);
    }
    note_peaks(tape);
    tape->last = NULL;
}

void tape_backward(Tape *tape, Tensor *loss) {
    TAPE_CHECK_EQ(tape, loss->rows * loss->cols, 1);
    real one = 1, *grad = tape_grad(tape, loss);
    if (grad) tape->device->nn->upload(tape->device, grad, &one, sizeof one);
    tape_backward_from_grads(tape);
}
