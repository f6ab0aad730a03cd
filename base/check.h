// SPDX-License-Identifier: Apache-2.0
// CHECK guards against programmer errors and stays active in release builds. Nothing that a user's input or a failed
// allocation can cause may reach it: those are Errors (base/error.h).
#ifndef VPD_BASE_CHECK_H
#define VPD_BASE_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: CHECK(%s) failed in %s\n", __FILE__, __LINE__, #condition, __func__);              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

// CHECK_EQ prints both operands (integers of any width).
#define CHECK_EQ(a, b)                                                                                                 \
    do {                                                                                                               \
        long long check_a = (long long)(a), check_b = (long long)(b);                                                  \
        if (check_a != check_b) {                                                                                      \
            fprintf(stderr, "%s:%d: CHECK_EQ(%s, %s) failed in %s: %lld != %lld\n", __FILE__, __LINE__, #a, #b,        \
                    __func__, check_a, check_b);                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

// Sizes that come from files go through these; they return 0 and leave *out alone on overflow.
static inline int size_mul(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline int size_add(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }

#endif
