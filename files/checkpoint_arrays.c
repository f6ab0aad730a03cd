// SPDX-License-Identifier: Apache-2.0
#include "files/checkpoint_arrays.h"

#include "files/half.h"
#include "nn/backend.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

_Static_assert(sizeof(real) == sizeof(float), "checkpoints hold f32");

const char *const checkpoint_group_paths[CHECKPOINT_GROUP_COUNT] = {"parameters", "moments/m", "moments/v", "ema"};

void host_arrays_free(HostArrays *arrays) {
    free(arrays->items);
    free(arrays->values);
    *arrays = (HostArrays){0};
}

Status host_arrays_allocate(HostArrays *arrays, Error *err) {
    size_t bytes, used = 0;
    arrays->size = 0;
    for (size_t i = 0; i < arrays->count; i++) {
        if (!size_add(arrays->size, arrays->items[i].size, &arrays->size)) arrays->size = SIZE_MAX;
    }
    bool fits = size_mul(arrays->size, sizeof(float), &bytes);
    arrays->values = fits ? malloc(bytes + 1) : NULL;
    if (!arrays->values) return error_set(err, STATUS_FAILED, "out of memory for %zu weights", arrays->size);
    for (size_t i = 0; i < arrays->count; i++) {
        arrays->items[i].values = arrays->values + used;
        used += arrays->items[i].size;
    }
    return STATUS_OK;
}

// ---- conversion from and to device blocks

static int compare_names(const void *a, const void *b) {
    return strcmp(((const HostArray *)a)->name, ((const HostArray *)b)->name);
}

// Shapes without values, in order of the names; parameters without elements are skipped.
static Status describe(const Parameters *set, HostArrays *out, Error *err) {
    *out = (HostArrays){.items = calloc(set->count + 1, sizeof *out->items)};
    if (!out->items) return error_set(err, STATUS_FAILED, "out of memory for the names of %zu weights", set->count);
    for (size_t i = 0; i < set->count; i++) {
        const Parameter *from = set->items[i];
        HostArray *to = &out->items[out->count];
        *to = (HostArray){.kind = H5_F32, .rank = from->rank, .size = from->tensor.rows * from->tensor.cols};
        memcpy(to->name, from->name, sizeof from->name);
        memcpy(to->dims, from->dims, sizeof to->dims);
        if (to->size) out->count++;
    }
    qsort(out->items, out->count, sizeof *out->items, compare_names);
    return STATUS_OK;
}

static bool all_finite(const float *values, size_t count) {
    float sum = 0;
    for (size_t i = 0; i < count; i++) sum += values[i] * 0; // 0, or NaN if any value is not finite
    return sum == 0;
}

Status host_arrays_from_block(const Parameters *set, const real *block, const char *name, HostArrays *out, Error *err) {
    Device *device = set->device;
    real *host = calloc(set->size + 1, sizeof(real));
    Status status = describe(set, out, err);
    if (status == STATUS_OK) status = host_arrays_allocate(out, err);
    if (status == STATUS_OK && !host)
        status = error_set(err, STATUS_FAILED, "out of memory for %zu weights", set->size);
    if (status == STATUS_OK) {
        device->nn->download(device, host, block, set->size * sizeof(real));
        status = device_status(device, err);
    }
    for (size_t i = 0; status == STATUS_OK && i < out->count; i++) {
        HostArray *array = &out->items[i];
        memcpy(array->values, host + parameters_find(set, array->name)->offset, array->size * sizeof(float));
        if (!all_finite(array->values, array->size))
            status =
                error_set(err, STATUS_FAILED, "%s: not saved: %s holds a value that is not finite", name, array->name);
    }
    free(host);
    if (status != STATUS_OK) host_arrays_free(out);
    return status;
}

Status host_arrays_to_block(const HostArrays *arrays, const Parameters *set, real **block, Error *err) {
    *block = calloc(set->size + 1, sizeof(real));
    if (!*block) return error_set(err, STATUS_FAILED, "out of memory for %zu weights", set->size);
    for (size_t i = 0; i < arrays->count; i++) {
        const HostArray *array = &arrays->items[i];
        memcpy(*block + parameters_find(set, array->name)->offset, array->values, array->size * sizeof(float));
    }
    return STATUS_OK;
}

Status host_arrays_to_half(HostArrays *arrays, Error *err) {
    for (size_t i = 0; i < arrays->count; i++) {
        HostArray *array = &arrays->items[i];
        for (size_t j = 0; j < array->size; j++) {
            float rounded = half_to_float(half_from_float(array->values[j]));
            if (!isfinite(rounded))
                return error_set(err, STATUS_BAD_INPUT,
                                 "%s: expected values within +-65504 for f16, found %g; write f32 "
                                 "instead",
                                 array->name, (double)array->values[j]);
            array->values[j] = rounded;
        }
        array->kind = H5_F16;
    }
    return STATUS_OK;
}

// ---- against the model

typedef struct Differences {
    char text[640];
    size_t used, count, shown;
} Differences;

static void shape_text(H5Kind kind, int rank, const size_t *dims, char *out, size_t size) {
    size_t used = (size_t)snprintf(out, size, "%s [", h5_kind_name(kind));
    for (int i = 0; i < rank && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%zu", i ? "," : "", dims[i]);
    if (used < size) snprintf(out + used, size - used, "]");
}

// As many as fit are listed; all are counted.
static void add_difference(Differences *all, const char *name, const char *expected, const char *found) {
    char line[320];
    int length =
        snprintf(line, sizeof line, "%s%s: expected %s, found %s", all->count ? "; " : "", name, expected, found);
    if (all->shown == all->count && all->used + (size_t)length < sizeof all->text) {
        memcpy(all->text + all->used, line, (size_t)length + 1);
        all->used += (size_t)length;
        all->shown++;
    }
    all->count++;
}

static bool same_shape(const HostArray *a, const HostArray *b) {
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

// `has` or `needs` may be NULL; if both are given, they have one name.
static void compare_arrays(const HostArray *has, const HostArray *needs, Differences *all) {
    char has_text[120] = "nothing", needs_text[120] = "no such array";
    if (has && needs && same_shape(has, needs)) return;
    if (has) shape_text(has->kind, has->rank, has->dims, has_text, sizeof has_text);
    if (needs) shape_text(H5_F32, needs->rank, needs->dims, needs_text, sizeof needs_text);
    add_difference(all, has ? has->name : needs->name, needs_text, has_text);
}

// Merges two sorted lists.
static void collect_differences(const HostArrays *found, const HostArrays *wanted, Differences *all) {
    size_t f = 0, w = 0;
    while (f < found->count || w < wanted->count) {
        int order = f == found->count    ? 1
                    : w == wanted->count ? -1
                                         : strcmp(found->items[f].name, wanted->items[w].name);
        const HostArray *has = order <= 0 ? &found->items[f++] : NULL;
        const HostArray *needs = order >= 0 ? &wanted->items[w++] : NULL;
        compare_arrays(has, needs, all);
    }
}

Status host_arrays_compare(const HostArrays *arrays, const Parameters *set, const char *place, Error *err) {
    HostArrays wanted;
    Differences all = {.count = 0};
    Status status = describe(set, &wanted, err);
    if (status != STATUS_OK) return status;
    collect_differences(arrays, &wanted, &all);
    host_arrays_free(&wanted);
    if (all.count == 0) return STATUS_OK;
    char more[40] = "";
    if (all.shown < all.count) snprintf(more, sizeof more, "; and %zu more", all.count - all.shown);
    return error_set(err, STATUS_BAD_INPUT,
                     "%.240s: the weights do not fit the config's model (%zu difference%s): %s%s", place, all.count,
                     all.count == 1 ? "" : "s", all.text, more);
}

// ---- checksums

uint64_t host_arrays_checksum(const HostArrays *arrays) {
    uint64_t sum = 0;
    for (size_t i = 0; i < arrays->count; i++) {
        const HostArray *array = &arrays->items[i];
        uint64_t dims[PARAMETER_MAX_RANK];
        for (int d = 0; d < array->rank; d++) dims[d] = array->dims[d];
        sum = XXH3_64bits_withSeed(array->name, strlen(array->name), sum);
        sum = XXH3_64bits_withSeed(dims, (size_t)array->rank * sizeof *dims, sum);
        sum = XXH3_64bits_withSeed(array->values, array->size * sizeof(float), sum);
    }
    return sum;
}

void checkpoint_root_checksum(const CheckpointMeta *meta, char checksums[CHECKPOINT_GROUP_COUNT][CHECKSUM_TEXT_SIZE],
                              const void *config, size_t config_size, char out[CHECKSUM_TEXT_SIZE]) {
    char text[512], score[32] = "nan"; // printf would print the sign of NaN
    if (!isnan(meta->best_score)) snprintf(score, sizeof score, "%.17g", meta->best_score);
    int used = snprintf(text, sizeof text, "%d.%d\n%s\n%s\n%ld\n%s\n%.17g\n%.17g\n", meta->version[0], meta->version[1],
                        meta->publication ? "publication" : "training", meta->commit, meta->step, score,
                        meta->time_step, meta->seconds);
    for (int i = 0; i < CHECKPOINT_GROUP_COUNT; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s\n", checksums[i]);
    uint64_t sum = XXH3_64bits_withSeed(config, config_size, XXH3_64bits(text, (size_t)used));
    snprintf(out, CHECKSUM_TEXT_SIZE, "%016" PRIx64, sum);
}

void checkpoint_run_checksum(const char *record, char out[CHECKSUM_TEXT_SIZE]) {
    snprintf(out, CHECKSUM_TEXT_SIZE, "%016" PRIx64, (uint64_t)XXH3_64bits(record, strlen(record)));
}
