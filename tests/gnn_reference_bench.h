// SPDX-License-Identifier: Apache-2.0
// What the tests of gnn against PyTorch's values share: tensors read from and compared with one case.
#ifndef VPD_TESTS_GNN_REFERENCE_BENCH_H
#define VPD_TESTS_GNN_REFERENCE_BENCH_H

#include "gnn/plan.h"
#include "motion/flow.h"
#include "nn/backend.h"
#include "tests/gnn_reference_file.h"

#ifdef VPD_DOUBLE
// Outputs are stored in double; 1e-8 leaves room for other orders of summation.
static const double OUT_TOLERANCE = 1e-8;
// Gradients are stored in float32.
static const double GRAD_TOLERANCE = 1e-6;
#else
// A few hundred roundings of 6e-8, and a norm that divides by small spreads.
static const double OUT_TOLERANCE = 5e-5;
static const double GRAD_TOLERANCE = 2e-3;
#endif

static Tensor *read_tensor(Bench *b, const char *name, bool wants_grad) {
    char path[96];
    snprintf(path, sizeof path, "in/%s", name);
    ReferenceArray a = reference_read(b->file, path);
    if (!a.v) return NULL;
    // A vector is one row; scalars per particle (m) are read through ->value.
    Tensor *t = tape_tensor(&b->tape, a.cols == 1 ? 1 : a.rows, a.cols == 1 ? a.rows : a.cols, wants_grad);
    for (size_t i = 0; i < a.rows * a.cols; i++) t->value[i] = (real)a.v[i];
    reference_free(&a);
    return t;
}

static int32_t *read_list(Bench *b, const char *name, size_t *count) {
    char path[96];
    snprintf(path, sizeof path, "in/%s", name);
    ReferenceArray a = reference_read(b->file, path);
    int32_t *list = tape_context(&b->tape, (a.rows * a.cols + 1) * sizeof *list);
    for (size_t i = 0; i < a.rows * a.cols; i++) list[i] = (int32_t)a.v[i];
    *count = a.rows;
    reference_free(&a);
    return list;
}

// Compares with an array of the file, relative to its largest entry.
static void compare(Bench *b, const char *name, const real *found, size_t count, double tolerance) {
    ReferenceArray a = reference_read(b->file, name);
    double largest = 0, worst = 0;
    if (!a.v || a.rows * a.cols != count) {
        print_message("%s/%s: %zu entries wanted, %zu found\n", b->file->group, name, a.rows * a.cols, count);
        b->wrong++;
        reference_free(&a);
        return;
    }
    for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(a.v[i]));
    for (size_t i = 0; i < count; i++) {
        double off = fabs((double)(found ? found[i] : 0) - a.v[i]);
        worst = off > worst || isnan(off) ? off : worst;
    }
    if (!(worst <= tolerance * fmax(largest, 1e-6))) {
        print_message("%s/%s: off by %.3g, largest entry %.3g\n", b->file->group, name, worst, largest);
        b->wrong++;
    }
    reference_free(&a);
}

static void compare_grad(Bench *b, const char *name, const Tensor *t) {
    char path[96];
    snprintf(path, sizeof path, "grad/%s", name);
    if (t) compare(b, path, t->grad, t->rows * t->cols, GRAD_TOLERANCE);
}

// The upstream gradient of columns [first, first + cols) of a case's output.
static void start_gradient(Bench *b, Tensor *t, size_t first) {
    ReferenceArray a = reference_read(b->file, "grad_out");
    real *grad = tape_grad(&b->tape, t);
    for (size_t i = 0; grad && i < t->rows; i++)
        for (size_t c = 0; c < t->cols; c++) grad[i * t->cols + c] = (real)a.v[i * a.cols + first + c];
    reference_free(&a);
}

static const real *read_values(Bench *b, const char *name) {
    Tensor *t = read_tensor(b, name, false);
    return t ? t->value : NULL;
}

static FlowPoints points_that_move(Bench *b, FlowPoints all, const real *m) {
    Tensor *x = tape_tensor(&b->tape, all.count, 3, false), *c = tape_tensor(&b->tape, all.count, 3, false);
    FlowPoints moving = {0, x->value, c->value};
    for (size_t i = 0; i < all.count; i++) {
        if (!(m[i] > 0)) continue;
        memcpy(x->value + 3 * moving.count, all.x + 3 * i, 3 * sizeof(real));
        memcpy(c->value + 3 * moving.count++, all.c + 3 * i, 3 * sizeof(real));
    }
    return moving;
}

// Names of positions, colours and flags.
static FlowPoints read_points(Bench *b, const char *x_name, const char *c_name, const char *m_name,
                              FlowPoints *moving) {
    Tensor *x = read_tensor(b, x_name, false);
    FlowPoints all = {x->rows, x->value, read_values(b, c_name)};
    *moving = points_that_move(b, all, read_values(b, m_name));
    return all;
}

#endif
