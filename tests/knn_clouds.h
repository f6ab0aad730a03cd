// SPDX-License-Identifier: Apache-2.0
// Points for tests of neighbour searches.
#ifndef VPD_TESTS_KNN_CLOUDS_H
#define VPD_TESTS_KNN_CLOUDS_H

#include "tests/test.h"

#include "base/random.h"
#include "nn/knn.h"

typedef struct Cloud {
    size_t count, extra;
    real *x, *e; // (count, 3), (count, extra)
} Cloud;

static inline float number(uint32_t stream, size_t i) {
    return 2 * random_uniform((RandomKey){7, RANDOM_TEST, stream, 0}, i) - 1;
}

static inline Cloud cloud_new(size_t count, size_t extra) {
    Cloud cloud = {count, extra, calloc(3 * count + 1, sizeof(real)), calloc(extra * count + 1, sizeof(real))};
    assert_true(cloud.x && cloud.e);
    return cloud;
}

static inline void cloud_free(Cloud cloud) {
    free(cloud.x);
    free(cloud.e);
}

// What breaks a search. Lattice: many equal distances and coincident points. Outliers: one in fifty is up to 10^6 away.
// Clusters: half the points lie within 10^-4.
typedef enum Shape {
    SHAPE_BOX,
    SHAPE_LATTICE,
    SHAPE_ONE_PLACE,
    SHAPE_LINE,
    SHAPE_OUTLIERS,
    SHAPE_CLUSTERS,
    SHAPE_COUNT
} Shape;

static inline Cloud cloud_of(Shape shape, size_t count, size_t extra, uint32_t stream) {
    Cloud cloud = cloud_new(count, extra);
    for (size_t i = 0; i < 3 * count; i++) {
        real u = number(stream, i), *x = &cloud.x[i];
        *x = u;
        if (shape == SHAPE_LATTICE) *x = real_floor(3 * u);
        if (shape == SHAPE_ONE_PLACE) *x = (real)(i % 3);
        if (shape == SHAPE_LINE && i % 3) *x = 1;
        if (shape == SHAPE_OUTLIERS && i / 3 % 50 == 0) *x = u * u * u * (real)1e6;
        if (shape == SHAPE_CLUSTERS && i / 3 % 2) *x = (real)1.5 + u * (real)1e-4;
    }
    for (size_t i = 0; i < extra * count; i++)
        cloud.e[i] = shape == SHAPE_BOX || shape == SHAPE_OUTLIERS ? (real)0.3 * number(stream + 1, i)
                                                                   : real_floor(2 * number(stream + 1, i));
    return cloud;
}

// Where each of several clouds begins, and where the last ends.
typedef struct Tables {
    size_t clouds;
    const int32_t *first_point, *first_query;
} Tables;

// A table of clouds of no, a few and many points, in random order.
static inline void make_table(uint32_t stream, size_t clouds, int32_t *first) {
    static const uint32_t most[] = {1, 10, 70, 1500};
    RandomKey key = {3, RANDOM_TEST, stream, 0};
    first[0] = 0;
    for (size_t c = 0; c < clouds; c++)
        first[c + 1] = first[c] + (int32_t)random_below(key, 2 * c, most[random_below(key, 2 * c + 1, 4)]);
}

#endif
