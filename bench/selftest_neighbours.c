// SPDX-License-Identifier: Apache-2.0
#include "base/random.h"
#include "bench/knn_bench.h"
#include "bench/selftest.h"
#include "nn/backend.h"
#include "nn/knn.h"
#include "nn/tape.h"

#include <stdlib.h>
#include <string.h>

typedef struct Search {
    const char *name;
    size_t points, queries, extra;
    int k;
    bool self, equal; // queries are the points themselves; all points coincide
    size_t scenes;
} Search;

enum { MAX_SCENES = 8 };

static const Search searches[] = {
    {"10,000 points on a surface, k 16", 10000, 3000, 0, 16, false, false, 1},
    {"points among themselves, colour and flag, k 8", 3000, 3000, 4, 8, true, false, 1},
    {"one extra coordinate, k 1", 777, 1001, 1, 1, false, false, 1},
    {"fewer points than neighbours", 5, 33, 3, 16, false, false, 1},
    {"one point", 1, 1, 0, 3, false, false, 1},
    {"no point", 0, 7, 0, 2, false, false, 1},
    {"no query", 100, 0, 0, 2, false, false, 1},
    {"all points at one place: ties", 1000, 100, 0, 12, false, true, 1},
    {"eight scenes, each among itself", 20000, 20000, 0, 10, true, false, 8},
    {"six scenes, two of them without points", 20, 300, 1, 3, false, false, 6},
};
static const Search large_search = {"131,072 points on a surface, k 16", 131072, 131072, 0, 16, true, false, 1};

// Points on surfaces or all at one place, and extra coordinates in 0..1.
static void make_points(const Search *s, uint32_t stream, size_t count, real *x, real *extra) {
    RandomKey key = {.seed = 5, .purpose = RANDOM_TEST, .step = stream};
    knn_bench_points(stream, count, x);
    for (size_t i = 0; s->equal && i < 3 * count; i++) x[i] = (real)0.25;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < s->extra; c++) extra[s->extra * i + c] = random_uniform(key, 8 * i + 3 + c);
}

// Where each scene begins, and where the last ends: none has fewer rows than the one before.
static void make_table(size_t scenes, size_t rows, int32_t first[MAX_SCENES + 1]) {
    for (size_t c = 0; c <= scenes; c++) first[c] = (int32_t)(rows * c * c * c / (scenes * scenes * scenes));
}

typedef struct Found {
    int32_t *index;
    real *distance2;
} Found;

// Searches on one device; `found` is host memory.
static Status search(Device *device, const Search *s, const real *point, const real *extra, const real *query,
                     const real *query_extra, const int32_t *self, Found *found, Error *err) {
    size_t k = (size_t)s->k, n = s->queries * k;
    size_t table = s->scenes + 1;
    int32_t first_point[MAX_SCENES + 1], first_query[MAX_SCENES + 1];
    Tape tape;
    make_table(s->scenes, s->points, first_point);
    make_table(s->scenes, s->queries, first_query);
    tape_init(&tape, device);
    KnnArgs args = {.points = s->points,
                    .queries = s->queries,
                    .point = tape_upload(&tape, point, 3 * s->points, sizeof *point),
                    .query = tape_upload(&tape, query, 3 * s->queries, sizeof *query),
                    .extra = s->extra,
                    .point_extra = tape_upload(&tape, extra, s->extra * s->points, sizeof *extra),
                    .query_extra = tape_upload(&tape, query_extra, s->extra * s->queries, sizeof *query_extra),
                    .point_scenes = {s->scenes, tape_upload(&tape, first_point, table, sizeof *first_point)},
                    .query_scenes = {s->scenes, tape_upload(&tape, first_query, table, sizeof *first_query)},
                    .self = s->self ? tape_upload(&tape, self, s->queries, sizeof *self) : NULL,
                    .k = s->k,
                    .index = tape_memory(&tape, n + 1, sizeof(int32_t)),
                    .distance2 = tape_memory(&tape, n + 1, sizeof(real))};
    if (!device->failed) knn(device, &args);
    if (!device->failed) device->nn->download(device, found->index, args.index, n * sizeof *found->index);
    if (!device->failed) device->nn->download(device, found->distance2, args.distance2, n * sizeof *found->distance2);
    Status status = device_status(device, err);
    tape_free(&tape);
    return status;
}

// Share of entries that differ, in lists and squared distances.
static double share_of_others(const Found *a, const Found *b, size_t count) {
    size_t others = 0;
    for (size_t i = 0; i < count; i++)
        others += a->index[i] != b->index[i] || memcmp(&a->distance2[i], &b->distance2[i], sizeof(real)) != 0;
    return count ? (double)others / (double)count : 0;
}

static Status compare_search(const SelfTest *test, const Search *s, SelfTestResult *result, Error *err) {
    size_t n = s->queries * (size_t)s->k + 1;
    real *point = calloc(3 * s->points + 1, sizeof *point), *query = calloc(3 * s->queries + 1, sizeof *query),
         *extra = calloc(s->extra * s->points + 1, sizeof *extra),
         *query_extra = calloc(s->extra * s->queries + 1, sizeof *query_extra);
    int32_t *self = calloc(s->queries + 1, sizeof *self);
    Found expected = {calloc(n, sizeof(int32_t)), calloc(n, sizeof(real))},
          found = {calloc(n, sizeof(int32_t)), calloc(n, sizeof(real))};
    Error failure = {0};
    Status status = STATUS_OK;
    if (!point || !query || !extra || !query_extra || !self || !expected.index || !expected.distance2 || !found.index ||
        !found.distance2)
        status = error_set(err, STATUS_FAILED, "out of memory for a self-test");
    if (status == STATUS_OK) {
        make_points(s, 0, s->points, point, extra);
        make_points(s, s->self ? 0 : 1, s->queries, query, query_extra);
        for (size_t i = 0; i < s->queries; i++) self[i] = (int32_t)i;
        status = search(test->reference, s, point, extra, query, query_extra, self, &expected, err);
    }
    if (status == STATUS_OK &&
        search(test->device, s, point, extra, query, query_extra, self, &found, &failure) != STATUS_OK)
        selftest_note_failure(result, s->name, failure.text);
    else if (status == STATUS_OK) selftest_note(result, s->name, share_of_others(&expected, &found, n - 1));
    void *memory[] = {point,       query,          extra, query_extra, self, expected.index, expected.distance2,
                      found.index, found.distance2};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) free(memory[i]);
    return status;
}

Status selftest_neighbours(SelfTest *test, Error *err) {
    SelfTestResult result = {.part = "neighbours", .name = "knn"};
    Status status = STATUS_OK;
    for (size_t i = 0; i < sizeof searches / sizeof *searches && status == STATUS_OK; i++)
        status = compare_search(test, &searches[i], &result, err);
    if (status == STATUS_OK && test->large) status = compare_search(test, &large_search, &result, err);
    if (status == STATUS_OK) selftest_report(test, &result);
    return status;
}
