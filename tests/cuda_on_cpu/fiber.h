// SPDX-License-Identifier: Apache-2.0
// Fibers: stacks that are switched between by hand. AddressSanitizer is told of every switch.
#ifndef VPD_TESTS_CUDA_ON_CPU_FIBER_H
#define VPD_TESTS_CUDA_ON_CPU_FIBER_H

#include <cstddef>

struct Fiber {
    void *context;     // stack pointer while suspended (x86-64), or ucontext_t
    void *stack;       // lowest address; the caller's own stack in the first fiber
    size_t stack_size; // bytes
    void *shadow;      // AddressSanitizer's
};

// Makes `fiber` start in body() at the next switch to it, on its stack. body must not return.
void fiber_prepare(Fiber *fiber, void (*body)());
// Suspends `from`, which runs, and goes on with `to`.
void fiber_switch(Fiber *from, Fiber *to);
// To be called first in body(): `from` is the fiber that switched here.
void fiber_entered(Fiber *from);

#endif
