// SPDX-License-Identifier: Apache-2.0
// Ops of nn, choices, points and the encoder against the values of PyTorch and numpy in tests/reference/ops.h5.
// Included by a test in float and one in double, which say how close is close.
#ifndef VPD_TESTS_NN_REFERENCE_H
#define VPD_TESTS_NN_REFERENCE_H

#include "encoder/encoder.h"
#include "encoder/sample.h"
#include "encoder/unproject.h"
#include "nn/backend.h"
#include "nn/conv2d.h"
#include "nn/group_norm.h"
#include "nn/image_ops.h"
#include "nn/knn.h"
#include "nn/linear.h"
#include "nn/silu.h"
#include "tests/gnn_reference_file.h"

#ifdef VPD_DOUBLE
static const double OUT_TOLERANCE = 1e-9;  // stored in double; another order of summation
static const double GRAD_TOLERANCE = 2e-7; // stored in float
#else
static const double OUT_TOLERANCE = 3e-5; // a few hundred roundings of 6e-8, and norms that divide by small spreads
static const double GRAD_TOLERANCE = 2e-4;
#endif

static ReferenceArray read_input(const Bench *b, const char *name) {
    char path[96];
    snprintf(path, sizeof path, "in/%s", name);
    return reference_read(b->file, path);
}

// The dims of a dataset of rank 4; of lower rank the first ones are 1.
static void read_dims(const Bench *b, const char *name, size_t dims[4]) {
    char path[160];
    hsize_t stored[8] = {1, 1, 1, 1, 1};
    snprintf(path, sizeof path, "%s/in/%s", b->file->group, name);
    hid_t set = H5Dopen2(b->file->file, path, H5P_DEFAULT), space = H5Dget_space(set);
    int rank = H5Sget_simple_extent_dims(space, stored, NULL);
    assert_true(rank >= 1 && rank <= 4);
    for (int i = 0; i < 4; i++) dims[i] = i < 4 - rank ? 1 : (size_t)stored[i - 4 + rank];
    H5Sclose(space);
    H5Dclose(set);
}

// A tensor of all leading dims x the last.
static Tensor *read_tensor(Bench *b, const char *name) {
    size_t dims[4];
    ReferenceArray a = read_input(b, name);
    if (!a.v) return NULL;
    read_dims(b, name, dims);
    Tensor *t = tape_tensor(&b->tape, dims[0] * dims[1] * dims[2], dims[3], true);
    for (size_t i = 0; i < a.rows * a.cols; i++) t->value[i] = (real)a.v[i];
    reference_free(&a);
    return t;
}

static real *read_reals(const Bench *b, const char *name, size_t *rows) {
    ReferenceArray a = read_input(b, name);
    real *out = malloc((a.rows * a.cols + 1) * sizeof *out);
    for (size_t i = 0; i < a.rows * a.cols; i++) out[i] = (real)a.v[i];
    *rows = a.rows;
    reference_free(&a);
    return out;
}

// Largest difference from a dataset, relative to its largest entry; entries that cancel to 0 (a bias before a norm)
// have the rounding of the terms, which are of order 1.
static void compare(Bench *b, const char *name, const real *found, size_t count, double tolerance) {
    ReferenceArray a = reference_read(b->file, name);
    double largest = 0.3, worst = a.v && a.rows * a.cols == count ? 0 : INFINITY;
    for (size_t i = 0; worst < INFINITY && i < count; i++) largest = fmax(largest, fabs(a.v[i]));
    for (size_t i = 0; worst < INFINITY && i < count; i++) {
        double off = fabs((double)(found ? found[i] : 0) - a.v[i]);
        worst = off <= worst ? worst : isnan(off) ? INFINITY : off;
    }
    if (!(worst <= tolerance * largest)) {
        print_message("%s/%s: off by %.3g, largest entry %.3g\n", b->file->group, name, worst, largest);
        b->wrong++;
    }
    reference_free(&a);
}

// Output, then the gradients of the named inputs from the stored upstream gradient.
static void compare_op(Bench *b, Tensor *y, size_t count, Tensor *const *inputs, const char *const *names) {
    compare(b, "out", y->value, y->rows * y->cols, OUT_TOLERANCE);
    ReferenceArray up = reference_read(b->file, "grad_out");
    real *grad = tape_grad(&b->tape, y);
    for (size_t i = 0; i < y->rows * y->cols; i++) grad[i] = (real)up.v[i];
    reference_free(&up);
    tape_backward_from_grads(&b->tape);
    for (size_t i = 0; i < count; i++) {
        char path[96];
        snprintf(path, sizeof path, "grad/%s", names[i]);
        compare(b, path, inputs[i]->grad, inputs[i]->rows * inputs[i]->cols, GRAD_TOLERANCE);
    }
    tape_reset(&b->tape);
}

// ---- one function per op

static ImageShape read_shape(const Bench *b) {
    size_t dims[4];
    read_dims(b, "x", dims);
    return (ImageShape){dims[0], dims[1], dims[2]};
}

static void check_linear(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Tensor *in[] = {read_tensor(b, "x"), read_tensor(b, "weight"), read_tensor(b, "bias")};
    Tensor *y = linear(&b->tape, in[0], in[1], in[2]);
    if (reference_is(file, "act", "silu")) y = silu(&b->tape, y);
    compare_op(b, y, 3, in, (const char *[]){"x", "weight", "bias"});
}

static void check_conv2d(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Tensor *in[] = {read_tensor(b, "x"), read_tensor(b, "weight"), read_tensor(b, "bias")};
    compare_op(b, conv2d(&b->tape, in[0], read_shape(b), in[1], in[2]), 3, in, (const char *[]){"x", "weight", "bias"});
}

static void check_group_norm(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Tensor *in[] = {read_tensor(b, "x"), read_tensor(b, "gain"), read_tensor(b, "offset")};
    assert_int_equal(group_norm_groups(in[0]->cols), (size_t)reference_number(file, "groups"));
    Tensor *y = group_norm(&b->tape, in[0], read_shape(b), in[1], in[2]);
    compare_op(b, y, 3, in, (const char *[]){"x", "gain", "offset"});
}

static void check_pool(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Tensor *x = read_tensor(b, "x");
    compare_op(b, average_pool_2x2(&b->tape, x, read_shape(b)), 1, &x, (const char *[]){"x"});
}

static void check_upsample(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Tensor *x = read_tensor(b, "x");
    compare_op(b, upsample_concat(&b->tape, NULL, x, read_shape(b)), 1, &x, (const char *[]){"x"});
}

// Neighbours with up to four further coordinates; knn/others leaves each point itself out.
static void check_knn(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    size_t dims[4], points, queries, k = (size_t)reference_number(file, "k");
    ReferenceArray data = read_input(b, "data"), query = read_input(b, "query"), out = reference_read(file, "out");
    bool others = !query.v;
    const ReferenceArray *from = others ? &data : &query;
    read_dims(b, "data", dims);
    points = data.rows;
    queries = from->rows;
    size_t extra = dims[3] - 3;
    real *x = malloc(sizeof *x * points * 3), *e = malloc(sizeof *e * (points * extra + 1)),
         *qx = malloc(sizeof *qx * queries * 3), *qe = malloc(sizeof *qe * (queries * extra + 1));
    int32_t *self = malloc(queries * sizeof *self), *index = malloc(queries * k * sizeof *index);
    for (size_t i = 0; i < points; i++)
        for (size_t d = 0; d < dims[3]; d++)
            *(d < 3 ? &x[3 * i + d] : &e[extra * i + d - 3]) = (real)data.v[i * dims[3] + d];
    for (size_t i = 0; i < queries; i++) {
        self[i] = (int32_t)i;
        for (size_t d = 0; d < dims[3]; d++)
            *(d < 3 ? &qx[3 * i + d] : &qe[extra * i + d - 3]) = (real)from->v[i * dims[3] + d];
    }
    KnnArgs args = {.points = points,
                    .queries = queries,
                    .point = x,
                    .query = qx,
                    .extra = extra,
                    .point_extra = e,
                    .query_extra = qe,
                    .self = others ? self : NULL,
                    .k = (int)k,
                    .index = index};
    knn(b->device, &args);
    for (size_t i = 0; i < queries * k; i++) {
        size_t q = i / k, j = i % k;
        int32_t expected = j < out.cols ? (int32_t)out.v[q * out.cols + j] : -1; // fewer than k points: fewer columns
        if (index[i] == expected) continue;
        print_message("%s: query %zu, neighbour %zu is %d, expected %d\n", file->group, q, j, index[i], expected);
        b->wrong++;
    }
    void *all[] = {x, e, qx, qe, self, index, data.v, query.v, out.v};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

// ---- choices and points

static void compare_choice(Bench *b, const Keyed *items, size_t count) {
    ReferenceArray out = reference_read(b->file, "out");
    bool same = out.rows == count;
    for (size_t i = 0; same && i < count; i++) same = items[i].index == (int32_t)out.v[i];
    if (!same) print_message("%s: another choice (%zu, expected %zu)\n", b->file->group, count, out.rows);
    b->wrong += !same;
    reference_free(&out);
}

static Keyed *read_keys(const Bench *b, size_t *count) {
    char path[96];
    size_t dims[4];
    read_dims(b, "keys", dims);
    uint64_t *keys = malloc(dims[3] * sizeof *keys);
    Keyed *items = malloc(dims[3] * sizeof *items);
    snprintf(path, sizeof path, "%s/in/keys", b->file->group);
    hid_t set = H5Dopen2(b->file->file, path, H5P_DEFAULT); // all 64 bits
    assert_true(H5Dread(set, H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, keys) >= 0);
    H5Dclose(set);
    for (size_t i = 0; i < dims[3]; i++) items[i] = (Keyed){keys[i], (int32_t)i};
    *count = dims[3];
    free(keys);
    return items;
}

static void check_voxel(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    size_t count, points, chosen = 0;
    Error err = {0};
    VoxelTable table = {0};
    Keyed *items = read_keys(b, &count);
    real *x = read_reals(b, "x", &points);
    choose_sort(items, count);
    assert_status_ok(choose_voxel(&table, items, count, (size_t)reference_number(file, "n"), x,
                                  reference_number(file, "X"), &chosen, &err),
                     err);
    compare_choice(b, items, chosen);
    voxel_table_free(&table);
    free(items);
    free(x);
}

// Cameras and depth of a stored case as an observation of one or two frames ("other" is the second).
typedef struct Scene {
    Observation o;
    int *views;
    uint8_t *rgb;
    float *depth;
    double *intrinsics, *pose;
} Scene;

static Scene read_scene(const Bench *b) {
    size_t dims[4];
    read_dims(b, "depth", dims);
    ReferenceArray depth[] = {read_input(b, "depth"), read_input(b, "other_depth")},
                   pose[] = {read_input(b, "pose"), read_input(b, "other_pose")};
    ReferenceArray K = read_input(b, "Kc");
    int F = depth[1].v ? 2 : 1, V = (int)dims[1];
    size_t pixels = dims[1] * dims[2] * dims[3];
    Scene s = {.views = calloc(dims[1], sizeof(int)),
               .rgb = calloc(3 * pixels * 2, 1),
               .depth = calloc(pixels * 2, sizeof(float)),
               .intrinsics = K.v,
               .pose = calloc(32 * dims[1], sizeof(double))};
    for (int f = 0; f < F; f++) {
        for (size_t i = 0; i < pixels; i++) s.depth[(size_t)f * pixels + i] = (float)depth[f].v[i];
        memcpy(s.pose + 16 * V * f, pose[f].v, sizeof(double) * 16 * dims[1]);
        reference_free(&depth[f]);
        reference_free(&pose[f]);
    }
    for (int v = 0; v < V; v++) s.views[v] = v;
    s.o = (Observation){.F = F,
                        .V = V,
                        .H = (int)dims[2],
                        .W = (int)dims[3],
                        .views = s.views,
                        .rgb = s.rgb,
                        .depth = s.depth,
                        .intrinsics = s.intrinsics,
                        .world_from_camera = s.pose};
    return s;
}

static void scene_free(Scene *s) {
    free(s->views);
    free(s->rgb);
    free(s->depth);
    free(s->intrinsics);
    free(s->pose);
}

// Positions and which pixels have one.
static void check_unproject(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Error err = {0};
    Scene s = read_scene(b);
    PointCloud cloud = {0};
    ReferenceArray out = reference_read(file, "out"); // (V,H,W,4)
    assert_status_ok(unproject_frame(&s.o, 0, (UnprojectOptions){0}, &cloud, &err), err);
    size_t next = 0, pixels = out.rows * out.cols / 4;
    double worst = 0;
    for (size_t p = 0; p < pixels; p++) {
        if (out.v[4 * p + 3] == 0) continue;
        if (next >= cloud.count || cloud.pixel[next] != (int32_t)p) fail_msg("pixel %zu has no point", p);
        for (size_t d = 0; d < 3; d++)
            worst = fmax(worst, fabs((double)cloud.position[3 * next + d] - out.v[4 * p + d]));
        next++;
    }
    assert_int_equal(next, cloud.count);
    if (!(worst < 1e-6)) print_message("%s: off by %.3g m\n", file->group, worst);
    b->wrong += !(worst < 1e-6); // cameras are double, positions one rounding to float of a few metres
    reference_free(&out);
    point_cloud_free(&cloud);
    scene_free(&s);
}

static void check_moving_flag(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Error err = {0};
    Scene s = read_scene(b);
    PointCloud cloud = {0};
    ReferenceArray out = reference_read(file, "out"); // (V,H,W)
    assert_status_ok(
        unproject_frame(&s.o, 0, (UnprojectOptions){.moving_threshold = reference_number(file, "zm")}, &cloud, &err),
        err);
    for (size_t i = 0; i < cloud.count; i++) {
        if ((double)cloud.moving[i] == out.v[cloud.pixel[i]]) continue;
        print_message("%s: pixel %d has flag %g\n", file->group, cloud.pixel[i], (double)cloud.moving[i]);
        b->wrong++;
    }
    reference_free(&out);
    point_cloud_free(&cloud);
    scene_free(&s);
}

// ---- the encoder

static void copy_parameter(Bench *b, const Parameter *item) {
    ReferenceArray a = read_input(b, item->name);
    assert_true(a.v && a.rows * a.cols == item->tensor.rows * item->tensor.cols);
    for (size_t i = 0; i < a.rows * a.cols; i++) item->tensor.value[i] = (real)a.v[i];
    reference_free(&a);
}

static EncoderConfig read_encoder_config(const Bench *b) {
    EncoderConfig config = {.levels = (int)reference_number(b->file, "levels"),
                            .latent = (size_t)reference_number(b->file, "D") - 3,
                            .depth_input = reference_number(b->file, "depth_input") != 0,
                            .extent = reference_number(b->file, "X")};
    int widths[ENCODER_MAX_LEVELS] = {0};
    hid_t attribute = H5Aopen_by_name(b->file->file, b->file->group, "widths", H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Aread(attribute, H5T_NATIVE_INT, widths) >= 0);
    H5Aclose(attribute);
    for (int l = 0; l < config.levels; l++) config.widths[l] = (size_t)widths[l];
    return config;
}

static void check_encoder(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Error err = {0};
    size_t dims[4];
    Parameters set;
    Encoder encoder;
    EncoderConfig config = read_encoder_config(b);
    parameters_init(&set, b->device);
    encoder_create(&encoder, &set, &config);
    assert_status_ok(parameters_allocate(&set, 1, &err), err);
    for (size_t i = 0; i < set.count; i++) copy_parameter(b, set.items[i]);
    read_dims(b, "depth", dims);
    size_t pixels = dims[1] * dims[2] * dims[3];
    ReferenceArray rgb = read_input(b, "rgb"), depth = read_input(b, "depth");
    Scene s = {.rgb = malloc(3 * pixels), .depth = malloc(pixels * sizeof(float))};
    for (size_t i = 0; i < 3 * pixels; i++) s.rgb[i] = (uint8_t)rgb.v[i];
    for (size_t i = 0; i < pixels; i++) s.depth[i] = (float)depth.v[i];
    s.o =
        (Observation){.F = 1, .V = (int)dims[1], .H = (int)dims[2], .W = (int)dims[3], .rgb = s.rgb, .depth = s.depth};
    int32_t *all = malloc(pixels * sizeof *all);
    for (size_t i = 0; i < pixels; i++) all[i] = (int32_t)i;
    Tensor *images = encoder_input(&b->tape, &encoder, 1, (const Observation *[]){&s.o}, 0, 1);
    Tensor *hidden = encoder_pixels(&b->tape, &encoder, images, (ImageShape){dims[1], dims[2], dims[3]});
    Tensor *y = encoder_latents(&b->tape, &encoder, hidden, pixels, all);
    Tensor *inputs[64];
    const char *names[64];
    assert_true(set.count <= 64);
    for (size_t i = 0; i < set.count; i++) {
        inputs[i] = &set.items[i]->tensor;
        names[i] = set.items[i]->name;
    }
    compare_op(b, y, set.count, inputs, names);
    reference_free(&rgb);
    reference_free(&depth);
    free(all);
    scene_free(&s);
    parameters_free(&set);
}

static void check_all(const char *const *ops, void (*const *functions)(Reference *, void *), size_t count) {
    Bench b;
    bench_open(&b);
    Reference file = reference_open();
    for (size_t i = 0; i < count; i++) assert_true(reference_each(&file, ops[i], functions[i], &b) > 0);
    H5Fclose(file.file);
    int wrong = b.wrong;
    bench_close(&b);
    assert_int_equal(wrong, 0);
}

static void ops_equal_reference(void **state) {
    (void)state;
    static const char *const ops[] = {"linear", "conv2d", "group_norm", "average_pool", "upsample", "knn"};
    static void (*const functions[])(Reference *, void *) = {check_linear, check_conv2d,   check_group_norm,
                                                             check_pool,   check_upsample, check_knn};
    check_all(ops, functions, 6);
}

static void choices_and_points_equal_reference(void **state) {
    (void)state;
    static const char *const ops[] = {"voxel", "unproject", "moving_flag"};
    static void (*const functions[])(Reference *, void *) = {check_voxel, check_unproject, check_moving_flag};
    check_all(ops, functions, 3);
}

static void encoder_equals_reference(void **state) {
    (void)state;
    static const char *const ops[] = {"encoder"};
    static void (*const functions[])(Reference *, void *) = {check_encoder};
    check_all(ops, functions, 1);
}

// The planted error: the kernel's rows and columns exchanged.
static void check_flipped(Reference *file, void *context) {
    Bench *b = context;
    b->file = file;
    Tensor *in[] = {read_tensor(b, "x"), read_tensor(b, "weight"), read_tensor(b, "bias")};
    size_t size = in[0]->cols * in[1]->cols;
    for (size_t i = 0; i < size; i++) {
        real swap = in[1]->value[1 * size + i];
        in[1]->value[1 * size + i] = in[1]->value[3 * size + i];
        in[1]->value[3 * size + i] = swap;
    }
    int before = b->wrong;
    compare(b, "out", conv2d(&b->tape, in[0], read_shape(b), in[1], in[2])->value, in[0]->rows * in[1]->cols,
            OUT_TOLERANCE);
    if (in[0]->rows > 1) assert_true(b->wrong > before);
}

static void flipped_kernel_is_caught(void **state) {
    (void)state;
    Bench b;
    bench_open(&b);
    Reference file = reference_open();
    reference_each(&file, "conv2d", check_flipped, &b);
    H5Fclose(file.file);
    bench_close(&b);
}

#define NN_REFERENCE_TESTS                                                                                             \
    cmocka_unit_test(ops_equal_reference), cmocka_unit_test(choices_and_points_equal_reference),                       \
        cmocka_unit_test(encoder_equals_reference), cmocka_unit_test(flipped_kernel_is_caught)

#endif
