// SPDX-License-Identifier: Apache-2.0
// Rows of several scenes, one behind the other: particles, nodes, rays. A scene may have none.
#ifndef VPD_NN_SCENE_ROWS_H
#define VPD_NN_SCENE_ROWS_H

#include "nn/element.h"

typedef struct SceneRows {
    size_t scenes;        // 0 or 1: all rows are one scene's
    const int32_t *first; // (scenes + 1) where each begins and, at last, where all end; with one scene may be NULL
} SceneRows;

static inline size_t scene_rows_count(SceneRows rows) { return rows.scenes > 1 ? rows.scenes : 1; }

// The scene of a row. `gap` more rows, which `row` counts, stand before each scene but the first.
ELEMENT uint32_t scene_of_row(const SceneRows *rows, size_t row, size_t gap) {
    uint32_t scene = 0;
    for (uint32_t end = (uint32_t)rows->scenes; scene + 1 < end;) {
        uint32_t middle = (scene + end) / 2;
        if ((size_t)rows->first[middle] + gap * middle <= row) scene = middle;
        else end = middle;
    }
    return scene;
}

#endif
