// SPDX-License-Identifier: Apache-2.0
#include "nn/knn.h"

#include "base/check.h"
#include "nn/backend.h"

void knn_index(Device *device, Arena *memory, const KnnArgs *args, KnnIndex *index) {
    CHECK(args->extra <= KNN_MAX_EXTRA && args->points <= INT32_MAX &&
          (args->point_scenes.scenes <= 1 || args->point_scenes.first));
    *index = (KnnIndex){args->points, args->extra, scene_rows_count(args->point_scenes), NULL};
    if (!device->failed) device->nn->knn_index(device, memory, args, index);
}

void knn_search(Device *device, const KnnIndex *index, const KnnArgs *args) {
    if (device->failed || args->queries == 0 || args->k <= 0) return;
    CHECK(index->extra == args->extra && index->scenes == scene_rows_count(args->query_scenes));
    CHECK(index->scenes == 1 || (args->query_scenes.first && args->queries <= INT32_MAX && !args->guess));
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

// Where the device can read an array of the host.
static const void *from_host(Device *device, const void *host, size_t bytes) {
    if (!host || bytes == 0 || device_shares_host(device)) return host;
    void *memory = device_scratch_bytes(device, bytes);
    if (memory) device->nn->upload(device, memory, host, bytes);
    return memory;
}

// Where the device can write what the host wants.
static void *for_host(Device *device, void *host, size_t bytes) {
    return !host || bytes == 0 || device_shares_host(device) ? host : device_scratch_bytes(device, bytes);
}

static void to_host(Device *device, void *host, const void *memory, size_t bytes) {
    if (memory != host && !device->failed) device->nn->download(device, host, memory, bytes);
}

static const int32_t *rows_from_host(Device *device, SceneRows rows) {
    return from_host(device, rows.first, (rows.scenes + 1) * sizeof *rows.first);
}

void knn_host(Device *device, const KnnArgs *args) {
    size_t points = args->points * sizeof(real), queries = args->queries * sizeof(real),
           found = args->queries * (size_t)args->k;
    bool themselves = args->query == args->point && queries == points;
    ArenaMark mark = arena_mark(&device->scratch);
    KnnArgs on_device = *args;
    CHECK(!args->guesses);
    on_device.point = from_host(device, args->point, 3 * points);
    on_device.query = themselves ? on_device.point : from_host(device, args->query, 3 * queries);
    on_device.point_extra = from_host(device, args->point_extra, args->extra * points);
    on_device.query_extra = from_host(device, args->query_extra, args->extra * queries);
    on_device.point_scenes.first = rows_from_host(device, args->point_scenes);
    on_device.query_scenes.first = args->query_scenes.first == args->point_scenes.first
                                       ? on_device.point_scenes.first
                                       : rows_from_host(device, args->query_scenes);
    on_device.self = from_host(device, args->self, args->queries * sizeof(int32_t));
    on_device.index = args->index ? for_host(device, args->index, found * sizeof(int32_t))
                                  : device_scratch_bytes(device, found * sizeof(int32_t));
    on_device.distance2 = for_host(device, args->distance2, found * sizeof(real));
    if (!device->failed) knn(device, &on_device);
    if (args->index) to_host(device, args->index, on_device.index, found * sizeof(int32_t));
    to_host(device, args->distance2, on_device.distance2, found * sizeof(real));
    arena_release(&device->scratch, mark);
}
