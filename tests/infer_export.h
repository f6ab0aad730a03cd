// SPDX-License-Identifier: Apache-2.0
// For tests of exported rollouts: small rollouts of known numbers, and files read back in a folder of the test's own.
#ifndef VPD_TESTS_INFER_EXPORT_H
#define VPD_TESTS_INFER_EXPORT_H

#include "base/file.h"
#include "infer/export.h"
#include "infer/rollout.h"
#include "tests/test.h"

enum { N = 5, STEPS = 3, D = 2 };

static char folder[64];

static inline const char *place(const char *name) {
    static char path[4][128];
    static int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static inline int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    return 0;
}

static inline int remove_folder(void **state) {
    (void)state;
    test_remove_folder(folder);
    return 0;
}

static inline void *memory(size_t bytes) {
    void *out = malloc(bytes);
    assert_non_null(out);
    return out;
}

// `all`: with everything that a file may have; else positions alone.
static inline RolloutFile make_rollout(size_t steps, bool all) {
    RolloutFile r = {
        .set_count = 1, .steps = steps, .time_step = 0.25, .background = {0.25f, 0.5f, 1}, .episode = "a \"b\""};
    RolloutSet *set = &r.sets[0];
    set->N = N;
    set->positions = memory(3 * N * sizeof(float));
    r.positions = memory(3 * N * (steps + 1) * sizeof(float));
    r.time = memory((steps + 1) * sizeof(double));
    for (size_t i = 0; i < 3 * N; i++) set->positions[i] = (float)i / 7 - 1;
    for (size_t i = 0; i < 3 * N * steps; i++) r.positions[i] = (float)(i * i) / 13 - 3;
    for (size_t j = 0; j <= steps; j++) r.time[j] = 2 + 0.25 * (double)j;
    if (!all) return r;
    set->D = D;
    set->features = memory(N * D * sizeof(float));
    r.features = memory(steps * N * D * sizeof(float));
    set->colour = memory(3 * N);
    set->radius = memory(N * sizeof(float));
    set->labels = memory(N * sizeof *set->labels);
    set->moving = memory(N);
    for (size_t i = 0; i < N * D; i++) set->features[i] = (float)i;
    for (size_t i = 0; i < steps * N * D; i++) r.features[i] = -(float)i;
    for (size_t i = 0; i < 3 * N; i++) set->colour[i] = (uint8_t)(17 * i);
    for (size_t i = 0; i < N; i++)
        set->radius[i] = 0.5f + (float)i, set->labels[i] = (uint16_t)(300 * i), set->moving[i] = i & 1;
    set->radius[N - 1] = 0; // not drawn
    return r;
}

// Particles 0, 1 and 2 are a flag; 3 and 4 are a chain. The flag's edge 0-1 is a spring too.
static inline RolloutFile make_simulated(size_t steps) {
    RolloutFile r = make_rollout(steps, true);
    RolloutSurface *s = &r.surface;
    memcpy(r.sets[0].labels, (uint16_t[N]){1, 1, 1, 2, 2}, N * sizeof(uint16_t));
    r.label_names = strdup("background\nflag\n2 links\n");
    *s = (RolloutSurface){.triangles = 1, .springs = 2, .frames = steps + 1};
    s->triangle = memory(3 * sizeof *s->triangle);
    s->spring = memory(4 * sizeof *s->spring);
    s->touching = memory((steps + 1) * N);
    memcpy(s->triangle, (int32_t[]){0, 2, 1}, 3 * sizeof *s->triangle);
    memcpy(s->spring, (int32_t[]){0, 1, 4, 3}, 4 * sizeof *s->spring);
    memset(s->touching, 1, (steps + 1) * N);
    return r;
}

static inline char *read_all(const char *path, size_t *length) {
    Error err = {0};
    static char *text; // not on the stack: gcc takes the result for a pointer to it
    assert_status_ok(file_read_all(path, 1 << 24, &text, length, &err), err);
    return text;
}

static inline uint64_t number(const char *at, int bytes) {
    uint64_t out = 0;
    for (int i = bytes; i-- > 0;) out = out << 8 | (uint8_t)at[i];
    return out;
}

#endif
