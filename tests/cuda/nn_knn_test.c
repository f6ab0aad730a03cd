// SPDX-License-Identifier: Apache-2.0
// Neighbour lists of the CUDA kernels, run on the CPU, equal the CPU back end's entry by entry.
#include "tests/cuda/devices.h"
#include "tests/knn_clouds.h"

#include "nn/backend.h"

static void *upload(Device *device, Arena *memory, const void *host, size_t bytes) {
    void *out = arena_alloc(memory, bytes);
    assert_non_null(out);
    if (host) device->nn->upload(device, out, host, bytes);
    return host ? out : NULL;
}

typedef struct Answer {
    int32_t *index;  // (queries, k)
    real *distance2; // (queries, k)
} Answer;

static Answer search(Device *device, const Cloud *points, const Cloud *queries, Tables tables, const int32_t *self,
                     int k) {
    size_t count = queries->count * (size_t)k, table = (tables.clouds + 1) * sizeof(int32_t);
    Answer out = {malloc(count * sizeof *out.index + 1), malloc(count * sizeof *out.distance2 + 1)};
    Arena memory;
    Error err = {0};
    arena_init(&memory, device->source);
    KnnArgs args = {.points = points->count,
                    .queries = queries->count,
                    .extra = points->extra,
                    .k = k,
                    .point = upload(device, &memory, points->x, 3 * points->count * sizeof(real)),
                    .query = upload(device, &memory, queries->x, 3 * queries->count * sizeof(real)),
                    .point_extra = upload(device, &memory, points->e, points->extra * points->count * sizeof(real)),
                    .query_extra = upload(device, &memory, queries->e, queries->extra * queries->count * sizeof(real)),
                    .point_scenes = {tables.clouds, upload(device, &memory, tables.first_point, table)},
                    .query_scenes = {tables.clouds, upload(device, &memory, tables.first_query, table)},
                    .self = upload(device, &memory, self, queries->count * sizeof *self),
                    .index = arena_array(&memory, count, sizeof(int32_t)),
                    .distance2 = arena_array(&memory, count, sizeof(real))};
    knn(device, &args);
    device->nn->download(device, out.index, args.index, count * sizeof *out.index);
    device->nn->download(device, out.distance2, args.distance2, count * sizeof *out.distance2);
    if (device_status(device, &err) != STATUS_OK) fail_msg("%s (%s)", err.text, cuda_on_cpu_report());
    arena_free(&memory);
    return out;
}

static void answer_free(Answer answer) {
    free(answer.index);
    free(answer.distance2);
}

static void compare(const Devices *devices, Shape shape, size_t points, size_t asked, Tables tables, size_t extra,
                    int k) {
    Cloud cloud = cloud_of(shape, points, extra, 1), queries = cloud_of(shape, asked, extra, points % 2 ? 1 : 3);
    int32_t *self = calloc(queries.count + 1, sizeof *self);
    for (size_t i = 0; i < queries.count; i++) self[i] = i % 5 == 4 ? -1 : (int32_t)i;
    for (int with_self = 0; with_self < 2; with_self++) {
        const int32_t *mine = with_self ? self : NULL;
        Answer cpu = search(devices->cpu, &cloud, &queries, tables, mine, k);
        Answer cuda = search(devices->gpu, &cloud, &queries, tables, mine, k);
        size_t count = queries.count * (size_t)k;
        if (memcmp(cpu.index, cuda.index, count * sizeof *cpu.index) != 0 ||
            memcmp(cpu.distance2, cuda.distance2, count * sizeof *cpu.distance2) != 0)
            fail_msg("shape %d, %zu points, %zu clouds, %zu extra, k %d, self %d: another list", (int)shape, points,
                     tables.clouds, extra, k, with_self);
        answer_free(cpu);
        answer_free(cuda);
    }
    free(self);
    cloud_free(cloud);
    cloud_free(queries);
}

static void check_search(const Devices *devices, Shape shape, size_t points, size_t asked, size_t extra, int k) {
    compare(devices, shape, points, asked, (Tables){0}, extra, k);
}

static void equals_the_cpu(void **state) {
    static const size_t counts[] = {0, 1, 2, 31, 32, 33, 200, 1025};
    static const int ks[] = {1, 16, 32, 33};
    cuda_on_cpu_guard(true);
    for (int shape = 0; shape < SHAPE_COUNT; shape++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            cuda_on_cpu_seed(c);
            check_search(*state, (Shape)shape, counts[c], counts[c] / 4 + 5, (c + (size_t)shape) % (KNN_MAX_EXTRA + 1),
                         ks[(c + (size_t)shape) % 4]);
        }
    cuda_on_cpu_seed(0);
    cuda_on_cpu_guard(false);
}

enum { CLOUDS = 5 };

static void clouds_equal_the_cpu(void **state) {
    static const int ks[] = {1, 4, 33};
    cuda_on_cpu_guard(true);
    for (uint32_t i = 0; i < 15; i++) {
        int32_t first_point[CLOUDS + 1], first_query[CLOUDS + 1];
        make_table(i, CLOUDS, first_point);
        make_table(i % 2 ? i : i + 1000, CLOUDS, first_query);
        Tables tables = {1 + i % CLOUDS, first_point, first_query};
        cuda_on_cpu_seed(i);
        compare(*state, (Shape)(i % SHAPE_COUNT), (size_t)first_point[tables.clouds],
                (size_t)first_query[tables.clouds], tables, i % (KNN_MAX_EXTRA + 1), ks[i % 3]);
    }
    cuda_on_cpu_seed(0);
    cuda_on_cpu_guard(false);
}

// Four levels of boxes; and lists so long that fewer warps fit into a block.
static void many_points_and_neighbours(void **state) {
    check_search(*state, SHAPE_BOX, 40000, 100, 0, 16);
    check_search(*state, SHAPE_CLUSTERS, 1500, 5, 1, 700);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(equals_the_cpu), cmocka_unit_test(clouds_equal_the_cpu),
                                       cmocka_unit_test(many_points_and_neighbours)};
    return cmocka_run_group_tests(tests, devices_setup, devices_teardown);
}
