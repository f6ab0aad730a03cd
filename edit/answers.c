// SPDX-License-Identifier: Apache-2.0
#include "edit/answers.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS = 24 }; // places looked at for one point

bool answers_open(Answers *answers, size_t expected) {
    size_t places = 64;
    while (places < expected + expected / 2) places *= 2;
    *answers = (Answers){.places = aligned_alloc(64, places * sizeof(Answer)), .mask = places - 1};
    if (!answers->places) return false;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < places; i++) answers->places[i].owner = ANSWER_NONE;
    return true;
}

void answers_close(Answers *answers) {
    free(answers->places);
    *answers = (Answers){0};
}

static inline uint64_t mix(uint64_t h) {
    h ^= h >> 32;
    h *= 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

size_t answers_place(const Answers *answers, const real x[ANSWER_DIMS]) {
    uint32_t word[ANSWER_DIMS];
    for (int d = 0; d < ANSWER_DIMS; d++) {
        float single = (float)x[d];
        memcpy(&word[d], &single, sizeof single);
    }
    uint64_t h = word[0] | (uint64_t)word[1] << 32;
    h = mix(h) ^ (word[2] | (uint64_t)word[3] << 32);
    h = mix(h) ^ (word[4] | (uint64_t)word[5] << 32);
    h = mix(mix(h) ^ word[6]);
    return (size_t)h & answers->mask;
}

// Bit for bit: 0 and -0 differ.
static inline bool same(const void *a, const void *b) { return memcmp(a, b, ANSWER_DIMS * sizeof(real)) == 0; }

uint32_t answers_find(const Answers *answers, size_t place, const real x[ANSWER_DIMS]) {
    for (int look = 0; look < LOOKS; look++, place = (place + 1) & answers->mask) {
        const Answer *answer = &answers->places[place];
        if (answer->owner == ANSWER_NONE) return ANSWER_NONE;
        if (same(answer->x, x)) return answer->owner;
    }
    return ANSWER_NONE;
}

void answers_add(Answers *answers, size_t place, const real x[ANSWER_DIMS], uint32_t owner) {
    if (answers->count > answers->mask / 4 * 3) return; // crowded: searching costs less than looking
    for (int look = 0; look < LOOKS; look++, place = (place + 1) & answers->mask) {
        Answer *answer = &answers->places[place];
        if (answer->owner != ANSWER_NONE && !same(answer->x, x)) continue;
        if (answer->owner != ANSWER_NONE) return;
        memcpy(answer->x, x, sizeof answer->x);
        answer->owner = owner;
        answers->count++;
        return;
    }
}
