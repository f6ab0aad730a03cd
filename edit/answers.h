// SPDX-License-Identifier: Apache-2.0
// Answers of neighbour searches by the point that was asked, shared by edit/tie.c and its test alone: a point with the
// same coordinates, bit for bit, need not be searched again. A table of fixed size that forgets what has no room near
// its place, so that no file can make it slow; what it does not know is searched.
#ifndef VPD_EDIT_ANSWERS_H
#define VPD_EDIT_ANSWERS_H

#include "nn/real.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ANSWER_DIMS = 7 };
#define ANSWER_NONE UINT32_MAX

typedef struct Answer {
    real x[ANSWER_DIMS];
    uint32_t owner; // ANSWER_NONE: an empty place
} Answer;

typedef struct Answers {
    Answer *places; // (mask + 1), a power of two
    size_t mask, count;
} Answers;

// Room for some `expected` answers. False without memory.
bool answers_open(Answers *answers, size_t expected);
void answers_close(Answers *answers); // accepts {0}

// Where a point begins to be looked for; the place may be prefetched.
size_t answers_place(const Answers *answers, const real x[ANSWER_DIMS]);
// The answer or ANSWER_NONE; any number of threads at once.
uint32_t answers_find(const Answers *answers, size_t place, const real x[ANSWER_DIMS]);
// A point that is there keeps its first answer.
void answers_add(Answers *answers, size_t place, const real x[ANSWER_DIMS], uint32_t owner);

#endif
