// SPDX-License-Identifier: Apache-2.0
#include "datasets/dataset_private.h"

#include <math.h>
#include <stdlib.h>

#define VERTICES_MAX ((hsize_t)1 << 24)
#define BYTES_MAX ((size_t)1 << 32)

static Status read_all(H5Array *array, double **out, Error *err) {
    const size_t count = array->bytes / h5_kind_bytes(array->kind);
    *out = malloc(count * sizeof **out);
    if (!*out) return error_set(err, STATUS_FAILED, "%s: no memory to read it", array->text);
    Status status = h5_array_read(array, H5_F64, *out, err);
    for (size_t i = 0; i < count && !status; i++)
        if (!isfinite((*out)[i]))
            status = error_set(err, STATUS_BAD_INPUT, "%s: expected finite numbers, found %g", array->text, (*out)[i]);
    return status;
}

Status dataset_read_vertices(const Dataset *dataset, int episode, double **out, size_t *count, Error *err) {
    const H5Expect expect = {.kinds = H5_REALS,
                             .rank = 3,
                             .dims = {(hsize_t)dataset_episode(dataset, episode)->F, 0, 3},
                             .dims_max = VERTICES_MAX,
                             .bytes_max = BYTES_MAX,
                             .letters = "F,P,3"};
    H5Place file, group, state = {0};
    H5Array array = {0};
    bool own, found = false;
    *out = NULL;
    *count = 0;
    Status status = dataset_open_episode(dataset, episode, &file, &own, &group, err);
    if (status) return status;
    status = h5_open_group(&group, "state", false, &state, &found, err);
    if (!status && found) status = h5_open_array(&state, "vertices", false, &expect, &array, &found, err);
    if (!status && found) status = read_all(&array, out, err);
    if (!status && found) *count = (size_t)array.dims[1];
    h5_array_close(&array);
    h5_close(&state);
    h5_close(&group);
    if (own) h5_close(&file);
    if (status) free(*out), *out = NULL;
    return status;
}
