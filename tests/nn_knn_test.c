// SPDX-License-Identifier: Apache-2.0
// Nearest neighbours against a search through all points, and the number of points looked at on growing surfaces.
#include "tests/knn_clouds.h"

// A floor with spheres and a wall 12 m away, seen by two cameras of count / 2 pixels each, in random order.
static void unproject_camera(int camera, size_t rows, size_t cols, real *out) {
    double angle = camera ? 2.0 : 0.3, eye[3] = {2.2 * cos(angle), 2.2 * sin(angle), 1.6},
           length = sqrt(2.2 * 2.2 + 1.6 * 1.6);
    double z[3] = {-eye[0] / length, -eye[1] / length, -eye[2] / length}, side = hypot(z[0], z[1]);
    double x[3] = {z[1] / side, -z[0] / side, 0},
           y[3] = {z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0]};
    for (size_t i = 0; i < rows * cols; i++) {
        double u = 0.6 * (2 * ((double)(i % cols) + 0.5) / (double)cols - 1),
               v = 0.6 * (2 * ((double)(i / cols) + 0.5) / (double)rows - 1), d[3];
        for (int k = 0; k < 3; k++) d[k] = u * x[k] + v * y[k] + z[k];
        double depth = d[2] < -1e-3 ? fmin(-eye[2] / d[2], 12) : 12;
        for (int ball = 0; ball < 12; ball++) {
            double o[3], a = 0, b = 0, c = -0.15 * 0.15;
            for (int k = 0; k < 3; k++) {
                o[k] = eye[k] - (k < 2 ? 0.8 : 0.3) * (double)number(50, (size_t)(3 * ball + k)) - (k == 2 ? 0.3 : 0);
                a += d[k] * d[k];
                b += d[k] * o[k];
                c += o[k] * o[k];
            }
            if (b * b > a * c) depth = fmin(depth, (-b - sqrt(b * b - a * c)) / a);
        }
        for (int k = 0; k < 3; k++) out[3 * i + (size_t)k] = (real)(eye[k] + depth * d[k]);
    }
}

static Cloud surfaces(int log2_count) {
    size_t cols = (size_t)1 << log2_count / 2, rows = ((size_t)1 << log2_count) / cols / 2;
    Cloud cloud = cloud_new((size_t)1 << log2_count, 0);
    for (int camera = 0; camera < 2; camera++)
        unproject_camera(camera, rows, cols, cloud.x + 3 * (size_t)camera * rows * cols);
    for (size_t i = cloud.count; i-- > 1;) {
        size_t j = random_below((RandomKey){9, RANDOM_TEST, 3, 0}, i, (uint32_t)i + 1);
        for (size_t k = 0; k < 3; k++) {
            real swap = cloud.x[3 * i + k];
            cloud.x[3 * i + k] = cloud.x[3 * j + k];
            cloud.x[3 * j + k] = swap;
        }
    }
    return cloud;
}

static Device *open_device(int threads) {
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu", threads, &device, &err), err);
    return device;
}

typedef struct Answer {
    int32_t *index;
    real *distance2;
    uint64_t visited;
} Answer;

static Answer search_clouds(Device *device, const Cloud *points, const Cloud *queries, Tables tables,
                            const int32_t *self, int k) {
    size_t count = queries->count * (size_t)k + 1;
    Answer out = {malloc(count * sizeof *out.index), malloc(count * sizeof *out.distance2), 0};
    KnnArgs args = {.points = points->count,
                    .queries = queries->count,
                    .point = points->x,
                    .query = queries->x,
                    .extra = points->extra,
                    .point_extra = points->e,
                    .query_extra = queries->e,
                    .point_scenes = {tables.clouds, tables.first_point},
                    .query_scenes = {tables.clouds, tables.first_query},
                    .self = self,
                    .k = k,
                    .index = out.index,
                    .distance2 = out.distance2,
                    .visited = &out.visited};
    Error err = {0};
    knn(device, &args);
    assert_status_ok(device_status(device, &err), err);
    return out;
}

static Answer search(Device *device, const Cloud *points, const Cloud *queries, const int32_t *self, int k) {
    return search_clouds(device, points, queries, (Tables){0}, self, k);
}

static void answer_free(Answer answer) {
    free(answer.index);
    free(answer.distance2);
}

static real distance2(const Cloud *points, size_t i, const Cloud *queries, size_t j) {
    real sum = 0;
    for (size_t d = 0; d < 3; d++)
        sum += (points->x[3 * i + d] - queries->x[3 * j + d]) * (points->x[3 * i + d] - queries->x[3 * j + d]);
    for (size_t d = 0, n = points->extra; d < n; d++)
        sum += (points->e[n * i + d] - queries->e[n * j + d]) * (points->e[n * i + d] - queries->e[n * j + d]);
    return sum;
}

typedef struct Found {
    real distance2;
    int32_t point;
} Found;

static int nearer(const void *a, const void *b) {
    const Found *x = a, *y = b;
    if (x->distance2 != y->distance2) return x->distance2 < y->distance2 ? -1 : 1; // NOLINT: ties are exact
    return (x->point > y->point) - (x->point < y->point);
}

// The number of entries that differ from a search through all points.
static size_t count_wrong(const Cloud *points, const Cloud *queries, const int32_t *self, int k, const Answer *answer) {
    size_t wrong = 0;
    Found *found = calloc(points->count + 1, sizeof *found);
    for (size_t q = 0; q < queries->count; q++) {
        size_t count = 0;
        for (size_t i = 0; i < points->count; i++)
            if (!self || self[q] != (int32_t)i) found[count++] = (Found){distance2(points, i, queries, q), (int32_t)i};
        qsort(found, count, sizeof *found, nearer);
        for (size_t j = 0; j < (size_t)k; j++) {
            Found best = j < count ? found[j] : (Found){INFINITY, -1};
            size_t at = q * (size_t)k + j;
            wrong += answer->index[at] != best.point || !(answer->distance2[at] == best.distance2);
        }
    }
    free(found);
    return wrong;
}

static void check_case(Device *const *devices, Shape shape, size_t points, size_t extra, int k, bool same) {
    Cloud cloud = cloud_of(shape, points, extra, 1), others = cloud_of(shape, same ? points : 37, extra, same ? 1 : 4);
    const Cloud *queries = same ? &cloud : &others;
    int32_t *self = calloc(queries->count + 1, sizeof *self);
    for (size_t i = 0; i < queries->count; i++) self[i] = i % 5 == 4 ? -1 : (int32_t)(same ? i : i % (points + 1));
    for (int with_self = 0; with_self < 2; with_self++) {
        const int32_t *mine = with_self ? self : NULL;
        Answer one = search(devices[0], &cloud, queries, mine, k), three = search(devices[1], &cloud, queries, mine, k);
        size_t wrong = count_wrong(&cloud, queries, mine, k, &one);
        if (wrong)
            fail_msg("shape %d, %zu points, %zu extra, k %d, self %d: %zu wrong", shape, points, extra, k, with_self,
                     wrong);
        assert_memory_equal(one.index, three.index, queries->count * (size_t)k * sizeof *one.index);
        assert_memory_equal(one.distance2, three.distance2, queries->count * (size_t)k * sizeof *one.distance2);
        answer_free(one);
        answer_free(three);
    }
    free(self);
    cloud_free(cloud);
    cloud_free(others);
}

static void equals_search_through_all(void **state) {
    (void)state;
    static const size_t counts[] = {0, 1, 2, 7, 8, 9, 64, 65, 513, 700};
    static const int ks[] = {1, 3, 8, 17, 128};
    Device *devices[] = {open_device(1), open_device(3)};
    for (int shape = 0; shape < SHAPE_COUNT; shape++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
                check_case(devices, (Shape)shape, counts[c], (c + i) % (KNN_MAX_EXTRA + 1), ks[i],
                           counts[c] < 600 && i % 2 == 0);
    device_close(devices[0]);
    device_close(devices[1]);
}

// ---- several clouds

enum { CLOUDS = 12 };

static Cloud rows_of(const Cloud *all, const int32_t *first, size_t cloud) {
    size_t row = (size_t)first[cloud];
    return (Cloud){(size_t)first[cloud + 1] - row, all->extra, all->x + 3 * row, all->e + all->extra * row};
}

// The number of entries that differ from those of a search through cloud c alone.
static size_t count_others(Device *device, const Cloud *points, const Cloud *queries, Tables tables, size_t c,
                           const int32_t *self, int k, const Answer *all) {
    Cloud mine = rows_of(points, tables.first_point, c), asked = rows_of(queries, tables.first_query, c);
    int32_t *own = malloc((asked.count + 1) * sizeof *own), first = tables.first_point[c];
    size_t row = (size_t)tables.first_query[c], others = 0;
    for (size_t i = 0; self && i < asked.count; i++) own[i] = self[row + i] < 0 ? -1 : self[row + i] - first;
    Answer alone = search(device, &mine, &asked, self ? own : NULL, k);
    for (size_t i = 0, at = row * (size_t)k; i < asked.count * (size_t)k; i++, at++)
        others += all->index[at] != (alone.index[i] < 0 ? -1 : first + alone.index[i]) ||
                  memcmp(&all->distance2[at], &alone.distance2[i], sizeof(real)) != 0;
    answer_free(alone);
    free(own);
    return others;
}

// `same`: the queries are the points.
static void check_clouds(Device *device, Shape shape, uint32_t stream, size_t extra, int k, bool same) {
    int32_t first_point[CLOUDS + 1], first_query[CLOUDS + 1];
    make_table(stream, CLOUDS, first_point);
    make_table(same ? stream : stream + 1000, CLOUDS, first_query);
    Tables tables = {CLOUDS, first_point, first_query};
    Cloud points = cloud_of(shape, (size_t)first_point[CLOUDS], extra, 1),
          others = cloud_of(shape, (size_t)first_query[CLOUDS], extra, 4);
    const Cloud *queries = same ? &points : &others;
    int32_t *self = calloc(queries->count + 1, sizeof *self);
    for (size_t c = 0; c < CLOUDS; c++)
        for (int32_t i = first_query[c]; i < first_query[c + 1]; i++)
            self[i] = i % 5 == 4 ? -1 : first_point[c] + i - first_query[c];
    for (int with_self = 0; with_self < 2; with_self++) {
        const int32_t *mine = with_self ? self : NULL;
        Answer all = search_clouds(device, &points, queries, tables, mine, k);
        for (size_t c = 0; c < CLOUDS; c++) {
            size_t wrong = count_others(device, &points, queries, tables, c, mine, k, &all);
            if (wrong) fail_msg("shape %d, stream %u, cloud %zu, k %d: %zu wrong", shape, stream, c, k, wrong);
        }
        answer_free(all);
    }
    free(self);
    cloud_free(points);
    cloud_free(others);
}

static void clouds_do_not_see_each_other(void **state) {
    (void)state;
    static const int ks[] = {1, 4, 17};
    Device *devices[] = {open_device(1), open_device(3)};
    for (uint32_t i = 0; i < 60; i++)
        check_clouds(devices[i % 2], (Shape)(i % SHAPE_COUNT), i, i % (KNN_MAX_EXTRA + 1), ks[i % 3], i / 6 % 2);
    device_close(devices[0]);
    device_close(devices[1]);
}

// Guesses near and far: moved points whose guess is their own point or the answer of others. They are written over.
static void check_guesses(Device *device, Shape shape, size_t points, size_t extra) {
    Cloud cloud = cloud_of(shape, points, extra, 1), moved = cloud_of(shape, points, extra, 1);
    Answer out = {malloc(points * sizeof *out.index), malloc(points * sizeof *out.distance2), 0};
    ArenaMark mark = arena_mark(&device->scratch);
    for (size_t i = 0; i < 3 * points; i++) moved.x[i] += (i / 3 % 7 ? (real)0.05 : (real)0.5) * number(8, i);
    for (size_t i = 0; i < points; i++) out.index[i] = (int32_t)(i % 3 ? i : (i * 31) % points);
    KnnArgs args = {.points = points,
                    .queries = points,
                    .point = cloud.x,
                    .query = moved.x,
                    .extra = extra,
                    .point_extra = cloud.e,
                    .query_extra = moved.e,
                    .guesses = true,
                    .guess = out.index,
                    .k = 1,
                    .index = out.index,
                    .distance2 = out.distance2,
                    .visited = &out.visited};
    Error err = {0};
    KnnIndex index;
    knn_index(device, &device->scratch, &args, &index);
    knn_search(device, &index, &args);
    assert_status_ok(device_status(device, &err), err);
    size_t wrong = count_wrong(&cloud, &moved, NULL, 1, &out);
    if (wrong) fail_msg("guesses, shape %d, %zu points, %zu extra: %zu wrong", shape, points, extra, wrong);
    arena_release(&device->scratch, mark);
    answer_free(out);
    cloud_free(cloud);
    cloud_free(moved);
}

static void guesses_change_nothing(void **state) {
    (void)state;
    static const size_t counts[] = {1, 2, 7, 16, 17, 65, 700};
    Device *devices[] = {open_device(1), open_device(3)};
    for (int shape = 0; shape < SHAPE_COUNT; shape++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t extra = 0; extra <= KNN_MAX_EXTRA; extra++)
                check_guesses(devices[(c + extra) % 2], (Shape)shape, counts[c], extra);
    device_close(devices[0]);
    device_close(devices[1]);
}

// On a surface a guess nearby spares most of the tree: points looked at in leaves are those of the queries left over.
static void guesses_spare_the_tree(void **state) {
    (void)state;
    Device *device = open_device(2);
    Cloud cloud = surfaces(12), moved = surfaces(12);
    uint64_t visited[2] = {0};
    int32_t *found = malloc(cloud.count * sizeof *found);
    for (size_t i = 0; i < 3 * cloud.count; i++) moved.x[i] += (real)0.002 * number(8, i);
    for (int with = 0; with < 2; with++) {
        for (size_t i = 0; i < cloud.count; i++) found[i] = (int32_t)i;
        KnnArgs args = {.points = cloud.count,
                        .queries = cloud.count,
                        .point = cloud.x,
                        .query = moved.x,
                        .guesses = with,
                        .guess = with ? found : NULL,
                        .k = 1,
                        .index = found};
        KnnIndex index;
        ArenaMark mark = arena_mark(&device->scratch);
        knn_index(device, &device->scratch, &args, &index);
        args.visited = &visited[with];
        knn_search(device, &index, &args);
        arena_release(&device->scratch, mark);
    }
    print_message("%.2f visited per query, %.2f without guesses\n", (double)visited[1] / (double)cloud.count,
                  (double)visited[0] / (double)cloud.count);
    assert_true(visited[1] * 10 < visited[0]);
    free(found);
    cloud_free(cloud);
    cloud_free(moved);
    device_close(device);
}

static void wrong_entry_is_found(void **state) {
    (void)state;
    Device *device = open_device(1);
    Cloud cloud = cloud_of(SHAPE_BOX, 100, 0, 1);
    Answer answer = search(device, &cloud, &cloud, NULL, 5);
    int32_t swap = answer.index[17 * 5 + 3];
    answer.index[17 * 5 + 3] = answer.index[17 * 5 + 4];
    answer.index[17 * 5 + 4] = swap;
    assert_int_equal(count_wrong(&cloud, &cloud, NULL, 5, &answer), 2);
    answer_free(answer);
    cloud_free(cloud);
    device_close(device);
}

static double visited_per_query(Device *device, Cloud cloud, int k) {
    Answer answer = search(device, &cloud, &cloud, NULL, k);
    double visited = (double)answer.visited / (double)cloud.count;
    answer_free(answer);
    cloud_free(cloud);
    return visited;
}

static void visits_do_not_grow_with_points(void **state) {
    (void)state;
    Device *device = open_device(2);
    double before = 0;
    for (int size = 12; size <= 17; size++) {
        double visited = visited_per_query(device, surfaces(size), 16);
        print_message("2^%d points: %.1f visited per query\n", size, visited);
        assert_true(visited >= 16 && visited < 80); // 16 found in leaves of 8, most of them at the rim of the circle
        if (before > 0) assert_true(visited < 1.1 * before); // so that 2 x the points cost at most 2.2 x
        before = visited;
    }
    device_close(device);
}

// What breaks a flat grid.
static void visits_stay_few_in_uneven_clouds(void **state) {
    (void)state;
    Device *device = open_device(2);
    for (int shape = 0; shape < SHAPE_COUNT; shape++) {
        double visited = visited_per_query(device, cloud_of((Shape)shape, 20000, 0, 1), 16);
        print_message("shape %d: %.1f visited per query\n", shape, visited);
        // Volumes have more rim than surfaces; a lattice of 6^3 places holds 93 points in each.
        assert_true(visited < (shape == SHAPE_LATTICE ? 160 : 130));
    }
    device_close(device);
}

static void *refuse(void *owner, size_t bytes) {
    (void)bytes;
    int *left = owner;
    return (*left)-- > 0 ? aligned_alloc(64, 1 << 12) : NULL;
}

static void release(void *owner, void *memory, size_t bytes) {
    (void)owner;
    (void)bytes;
    free(memory);
}

static void no_memory_is_an_error(void **state) {
    (void)state;
    Device *device = open_device(2);
    arena_free(&device->scratch);
    int left = 0;
    arena_init(&device->scratch, (ArenaSource){refuse, release, &left, NULL});
    Cloud cloud = cloud_of(SHAPE_BOX, 100, 0, 1);
    int32_t index[100];
    KnnArgs args = {.points = 100, .queries = 100, .point = cloud.x, .query = cloud.x, .k = 1, .index = index};
    Error err = {0};
    knn(device, &args);
    assert_status_error(device_status(device, &err), STATUS_FAILED, err, "out of memory");
    cloud_free(cloud);
    device_close(device);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_search_through_all),        cmocka_unit_test(wrong_entry_is_found),
        cmocka_unit_test(guesses_change_nothing),           cmocka_unit_test(guesses_spare_the_tree),
        cmocka_unit_test(clouds_do_not_see_each_other),     cmocka_unit_test(visits_do_not_grow_with_points),
        cmocka_unit_test(visits_stay_few_in_uneven_clouds), cmocka_unit_test(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
