// SPDX-License-Identifier: Apache-2.0
// Runs a case (nn/cases.h) on a device and brings its values to the host; compiles as C and as C++.
#ifndef VPD_TESTS_CUDA_CASE_VALUES_H
#define VPD_TESTS_CUDA_CASE_VALUES_H

#include "tests/test.h"

#include "nn/backend.h"
#include "nn/cases.h"
#include "tests/cuda_on_cpu/cuda_on_cpu.h"

// Values of a case on the host: the output, then each input's gradient (NULL where there is none).
typedef struct Values {
    size_t count;
    real *item[1 + CASE_INPUTS];
    size_t size[1 + CASE_INPUTS];
} Values;

static inline real *download(Device *device, const real *from, size_t count) {
    real *out = (real *)malloc((count + 1) * sizeof *out);
    assert_non_null(out);
    if (from) device->nn->download(device, out, from, count * sizeof *out);
    if (from) return out;
    free(out);
    return NULL;
}

static inline Values run_case(Device *device, const OpCase *c) {
    CaseRun run;
    Error err;
    Values v;
    memset(&v, 0, sizeof v);
    if (case_run(device, c, -1, NULL, 0, true, &run, &err) != STATUS_OK)
        fail_msg("%s: %s (%s)", c->name, err.text, cuda_on_cpu_report());
    for (size_t i = 0; i < 1 + run.input_count; i++) {
        const Tensor *t = i == 0 ? run.output : run.inputs[i - 1];
        v.size[i] = t->rows * t->cols;
        v.item[i] = download(device, i == 0 ? t->value : t->grad, v.size[i]);
    }
    v.count = 1 + run.input_count;
    case_run_free(&run);
    assert_status_ok(device_status(device, &err), err);
    return v;
}

static inline void values_free(Values *v) {
    for (size_t i = 0; i < v->count; i++) free(v->item[i]);
}

// Largest difference relative to the largest value; infinite when either has no number or no gradient where the other
// has one.
static inline double relative_error(const real *a, const real *b, size_t count) {
    double error = 0, size = 1e-30;
    if (!a != !b) return INFINITY;
    for (size_t i = 0; a && i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        if (!isfinite(difference)) return INFINITY;
        if (difference > error) error = difference;
        if (fabs((double)b[i]) > size) size = fabs((double)b[i]);
    }
    return error / size;
}

#endif
