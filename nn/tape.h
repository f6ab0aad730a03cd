// SPDX-License-Identifier: Apache-2.0
// The tape records ops while the model runs; walking it backwards gives gradients. Everything it hands out lives until
// tape_reset, which keeps the memory for the next step.
//
// Gradients: an op's backward ADDS into the gradients of its inputs. tape_grad zeroes a tensor's gradient when it is
// first asked for within a backward pass; parameters' gradients are zeroed by parameters_zero_grad alone.
#ifndef VPD_NN_TAPE_H
#define VPD_NN_TAPE_H

#include "base/check.h"
#include "nn/device.h"

#include <stdint.h>

// A matrix; images are (n*h*w, channels) with an ImageShape beside them (nn/image_shape.h).
typedef struct Tensor {
    real *value; // (rows, cols), device memory
    real *grad;  // (rows, cols), or NULL before the first contribution
    size_t rows, cols;
    bool wants_grad;
    uint32_t stage;       // of the tape in which it was made
    size_t block;         // layout of images (nn/image_shape.h); 0 in all other tensors
    struct Tensor *whole; // whose memory and gradient this one has a part of (tensor_rows); or NULL
} Tensor;

typedef struct Tape Tape;
typedef void (*TapeBackward)(Tape *tape, void *context);

// A part of a step, for the account of its memory (nn/device_memory.h): constants, compared by their addresses.
typedef struct TapePart {
    const char *name;   // "renderer"
    const char *shrink; // options that make it smaller, or NULL
} TapePart;

// The start of a part's section of `memory`, up to the next section.
typedef struct TapeSection {
    size_t part, begin; // slot, bytes of `memory` then in use
    struct TapeSection *previous;
} TapeSection;

// Somebody who wants parameters' gradients as soon as they are complete, while the backward pass goes on.
typedef struct TapeWatch {
    void *owner;
    const real *grads; // (size) the gradients that are watched
    size_t size;
    // Called for a parameter whenever an op that is recorded reads it: whether nobody has before, of its group.
    bool (*first_use)(void *owner, size_t offset, size_t *group);
    // Called when all ops that read the group have added their gradients.
    void (*complete)(void *owner, size_t group);
    bool (*is_complete)(void *owner, size_t offset);
    void (*between)(void *owner); // called between two ops of the backward pass
} TapeWatch;

enum { TAPE_OTHER, TAPE_GRADIENTS, TAPE_PARTS = 8 }; // name of what precedes the first part; largest number of parts

// Device memory that is cleared and not yet handed out.
typedef struct TapeCleared {
    char *at;
    size_t left; // bytes
} TapeCleared;

typedef struct TapeNode {
    TapeBackward backward;
    void *context;
    struct TapeNode *previous;
} TapeNode;

struct Tape {
    Device *device;
    Arena host;                         // tensors, nodes, contexts
    Arena memory;                       // device memory: values, gradients, what ops save for backward
    Arena early;                        // gradients of tensors that are older than the stage which asks for them
    TapeCleared cleared, cleared_early; // of the two
    TapeNode *last;
    bool recording;    // false: values only
    uint32_t stage;    // stages begun; in the backward pass the current one
    size_t keep_limit; // bytes a step may spend on values that could be recomputed (tape_keep); SIZE_MAX at first
    size_t kept;       // bytes spent
    Tape *segment;     // where tape_checkpoint runs its segment (made at first use)
    Tape *outer;       // of a segment's tape: that of tape_checkpoint
    TapeWatch *watch;  // or NULL
    const TapePart *parts[TAPE_PARTS];
    size_t part_peak[TAPE_PARTS], part_count; // peak bytes of each
    TapeSection *section;                     // newest
    Tape *next;                               // of the device's tapes
    Tensor dead;                              // returned when there is no memory left
};

// The device keeps a pointer to the tape, so a tape must not be moved.
void tape_init(Tape *tape, Device *device);
void tape_free(Tape *tape);
void tape_reset(Tape *tape);
// Blocks requested from the system so far (tape and segment): constant over warm steps.
size_t tape_allocations(const Tape *tape);
size_t tape_peak_bytes(const Tape *tape);

// Never NULL. Without memory the device is marked failed and the tensor has no value: ops must stop at
// tape_context() == NULL before they touch values. Values are not initialised.
Tensor *tape_tensor(Tape *tape, size_t rows, size_t cols, bool wants_grad);
// A tensor of the given host values, without gradient.
Tensor *tape_constant(Tape *tape, size_t rows, size_t cols, const real *host);
// A tensor without gradient on device memory that outlives the tape's step.
Tensor *tape_constant_at(Tape *tape, size_t rows, size_t cols, const real *value);
// Zeroed host memory for an op's context; NULL once the device has failed.
void *tape_context(Tape *tape, size_t bytes);
// Device memory that lives as long as the tape's tensors; NULL once the device has failed. Not initialised.
void *tape_memory(Tape *tape, size_t count, size_t size);
// The same for values that an op's backward could recompute: NULL also when the step has used up its keep_limit.
void *tape_keep(Tape *tape, size_t count, size_t size);
// The same as tape_memory, filled from host memory; NULL also when `host` is.
void *tape_upload(Tape *tape, const void *host, size_t count, size_t size);
// Numbers of several host arrays that are uploaded at once.
typedef struct TapeUpload {
    Tape *tape;
    size_t count, added;
    real *host, *device; // (count)
} TapeUpload;
// Makes room for `count` numbers; false once the device has failed.
bool tape_upload_begin(Tape *tape, size_t count, TapeUpload *out);
real *tape_upload_add(TapeUpload *upload, size_t count, const real *from); // where they will be on the device
void tape_upload_end(const TapeUpload *upload);                            // once all `count` are there
// Begins a stage: a part of the step whose only results are tensors. After its backward pass all memory handed out
// since its start is reused for the gradients of earlier stages, so values must be read before the backward pass. A
// tape without stages is one stage.
void tape_stage(Tape *tape);
// Memory handed out from now on belongs to `part`. Not between a mark and a release of tape->host.
void tape_part(Tape *tape, const TapePart *part);
// True when any of the tensors (NULLs allowed) wants a gradient and the tape records. An op calls it with everything
// that it reads and has gradients for, before it is recorded.
bool tape_wants(Tape *tape, size_t count, Tensor *const *inputs);

void tape_record(Tape *tape, TapeBackward backward, void *context);
// The gradient to add into; NULL when `tensor` is NULL or wants none.
real *tape_grad(Tape *tape, Tensor *tensor);
// The same without zeroing: *is_new says that the gradient is uninitialised and the caller must overwrite all of it.
real *tape_grad_or_new(Tape *tape, Tensor *tensor, bool *is_new);
// d loss = 1 for a (1,1) loss, then every recorded op backwards; the list of ops is empty afterwards.
void tape_backward(Tape *tape, Tensor *loss);
// The same from gradients that are already set.
void tape_backward_from_grads(Tape *tape);

// Runs `segment`, keeps only its inputs and outputs, and runs it again in the backward pass (gradient checkpointing).
// The function must be repeatable: the same inputs give the same outputs. It fills outputs[0..output_count). Gradients
// reach `inputs` and parameters, not other tensors from outside.
typedef void (*TapeSegment)(Tape *tape, void *context, Tensor *const *inputs, Tensor **outputs);
void tape_checkpoint(Tape *tape, TapeSegment segment, void *context, size_t input_count, Tensor *const *inputs,
                     size_t output_count, Tensor **outputs);

// Shape checks that do nothing once the device has failed.
#define TAPE_CHECK_EQ(tape, a, b)                                                                                      \
    do {                                                                                                               \
        if (!(tape)->device->failed) CHECK_EQ(a, b);                                                                   \
    } while (0)

#endif
