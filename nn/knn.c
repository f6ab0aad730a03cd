// SPDX-License-Identifier: Apache-2.0
#include "nn/knn.h"

#include "base/check.h"
#include "nn/backend.h"

void knn_index(Device *device, Arena *memory, const KnnArgs *args, KnnIndex *index) {
    CHECK(args->extra <= KNN_MAX_EXTRA && args->points <= INT32_MAX);
    *index = (KnnIndex){args->points, args->extra, NULL};
    if (!device->failed) device->nn->knn_index(device, memory, args, index);
}

void knn_search(Device *device, const KnnIndex *index, const KnnArgs *args) {
    if (device->failed || args->queries == 0 || args->k <= 0) return;
    CHECK(index->extra == args->extra);
    ArenaMark mark = arena_mark(&device->scratch);
    device->nn->knn_search(device, index, args);
    arena_release(&device->scratch, mark);
}

void knn(Device *device, const KnnArgs *args) {
    KnnIndex index;
    ArenaMark mark = arena_mark(&device->scratch);
    knn_index(device, &device->scratch, args, &index);
    knn_search(device, &index, args);
    arena_release(&device->scratch, mark);
}
