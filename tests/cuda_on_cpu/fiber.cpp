// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_cpu/fiber.h"

#include <cstdint>
#include <cstring>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
static void leave_stack(Fiber *from, const Fiber *to) {
    __sanitizer_start_switch_fiber(&from->shadow, to->stack, to->stack_size);
}
static void enter_stack(Fiber *self, Fiber *from) {
    const void *stack = nullptr;
    size_t size = 0;
    __sanitizer_finish_switch_fiber(self ? self->shadow : nullptr, &stack, &size);
    if (!from || from->stack) return;
    from->stack = const_cast<void *>(stack); // the thread's own, learnt at the first switch away from it
    from->stack_size = size;
}
// What a fiber that was given up had poisoned.
static void clear_stack(Fiber *fiber) { __asan_unpoison_memory_region(fiber->stack, fiber->stack_size); }
#else
static void leave_stack(Fiber *, const Fiber *) {}
static void enter_stack(Fiber *, Fiber *) {}
static void clear_stack(Fiber *) {}
#endif

#ifdef __x86_64__

// Saves what a call preserves, swaps stacks, restores the same of the other side.
extern "C" void vpd_fiber_swap(void **save, void *load);
asm(R"(
.text
.type vpd_fiber_swap, @function
vpd_fiber_swap:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size vpd_fiber_swap, .-vpd_fiber_swap
)");

void fiber_prepare(Fiber *fiber, void (*body)()) {
    clear_stack(fiber);
    uintptr_t top = (reinterpret_cast<uintptr_t>(fiber->stack) + fiber->stack_size) & ~uintptr_t{15};
    uint64_t *stack = reinterpret_cast<uint64_t *>(top) - 8; // six registers, the return address, what body returns to
    memset(stack, 0, 8 * sizeof *stack);
    stack[6] = reinterpret_cast<uintptr_t>(body);
    fiber->context = stack;
}

static void swap(Fiber *from, Fiber *to) { vpd_fiber_swap(&from->context, to->context); }

#else

static ucontext_t *context_of(Fiber *fiber) {
    if (!fiber->context) fiber->context = new ucontext_t; // as many as there are stacks, kept with them
    return static_cast<ucontext_t *>(fiber->context);
}

void fiber_prepare(Fiber *fiber, void (*body)()) {
    clear_stack(fiber);
    ucontext_t *context = context_of(fiber);
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack;
    context->uc_stack.ss_size = fiber->stack_size;
    context->uc_link = nullptr;
    makecontext(context, body, 0);
}

static void swap(Fiber *from, Fiber *to) { swapcontext(context_of(from), context_of(to)); }

#endif

void fiber_switch(Fiber *from, Fiber *to) {
    leave_stack(from, to);
    swap(from, to);
    enter_stack(from, nullptr);
}

void fiber_entered(Fiber *from) { enter_stack(nullptr, from); }
