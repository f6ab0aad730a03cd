// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scene of the simulator: refused with an error, or a model whose indices are in range.
#include "tests/fuzz/fuzz.h"

#include "lab/scene.h"

#include <math.h>
#include <string.h>

// Many cells are right, but take long. So files of the corpus have no numbers of three digits, none above e2, and no
// more than 29 cells a side.
static int is_large(const uint8_t *data, size_t size) {
    size_t run = 0;
    int cells = 0;
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '\n') cells = 0;
        if (size - i > 5 && !memcmp(data + i, "cells", 5)) cells = 1;
        run = data[i] >= '0' && data[i] <= '9' ? run + 1 : 0;
        if (run > 2 || (cells && run == 2 && data[i - 1] > '2')) return 1;
        if (i && data[i - 1] == 'e' && run == 1 && data[i] > '2') return 1;
    }
    return 0;
}

static void check(const int32_t *index, size_t count, size_t below) {
    for (size_t i = 0; i < count; i++)
        if ((size_t)index[i] >= below) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    SimScene scene;
    Error err = {0};
    if (is_large(data, size)) return 0;
    Status status = scene_parse((const char *)data, size, "fuzz", "/nowhere", &scene, &err);
    if (status != STATUS_OK && !err.text[0]) abort(); // an error without a word
    const SimModel *m = &scene.model;
    if (status == STATUS_OK) {
        check(m->spring, 2 * m->springs, m->particles);
        check(m->tet, 4 * m->tets, m->particles);
        check(m->hinge, 4 * m->hinges, m->particles);
        check(m->slide, 4 * m->slides, m->particles);
        check(m->socket, 6 * m->sockets, m->particles);
        for (size_t i = 0; i < m->particles && m->rigids; i++)
            if (m->rigid[i] < -1 || m->rigid[i] >= (int32_t)m->rigids || !isfinite(m->inertia[i])) abort();
        check(m->material, m->particles, m->materials ? m->materials : 1);
    }
    scene_free(&scene);
    return 0;
}
