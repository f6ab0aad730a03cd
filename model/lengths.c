// SPDX-License-Identifier: Apache-2.0
#include "model/lengths.h"

#include "base/check.h"
#include "encoder/sample.h"
#include "nn/knn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Growing list of reals.
typedef struct Values {
    real *v;
    size_t count, capacity;
} Values;

static Status append(Values *values, real x, Error *err) {
    if (values->count == values->capacity) {
        size_t capacity = values->capacity ? 2 * values->capacity : 4096;
        real *larger = realloc(values->v, capacity * sizeof *larger);
        if (!larger) return error_set(err, STATUS_FAILED, "out of memory for the lengths of the data");
        values->v = larger;
        values->capacity = capacity;
    }
    values->v[values->count++] = x;
    return STATUS_OK;
}

static int compare_reals(const void *a, const void *b) {
    real x = *(const real *)a, y = *(const real *)b;
    return x < y ? -1 : x > y;
}

static double percentile(Values *values, double share) {
    CHECK(values->v && values->count);
    qsort(values->v, values->count, sizeof *values->v, compare_reals);
    return (double)values->v[(size_t)(share * (double)(values->count - 1) + 0.5)];
}

static void fill_length(Config *config, double *length, double value) {
    if (*length != 0) return;
    *length = value;
    config_set_origin(config, length, ORIGIN_DATA);
}

Status lengths_extent(size_t count, const Observation *observations, double *out, Error *err) {
    Values axis[3] = {{0}};
    PointCloud cloud = {0};
    Status status = STATUS_OK;
    double extent = 0;
    for (size_t i = 0; i < count && extent == 0; i++)
        for (int c = 0; observations[i].bounds && c < 3; c++)
            extent = fmax(extent, observations[i].bounds[3 + c] - observations[i].bounds[c]);
    for (size_t i = 0; i < count && extent == 0 && status == STATUS_OK; i++) {
        status = unproject_frame(&observations[i], observations[i].F - 1, (UnprojectOptions){0}, &cloud, err);
        for (size_t j = 0; j < 3 * cloud.count && status == STATUS_OK; j++)
            status = append(&axis[j % 3], cloud.position[j], err);
    }
    if (extent == 0 && status == STATUS_OK) {
        if (axis[0].count == 0)
            status =
                error_set(err, STATUS_BAD_INPUT,
                          "no valid depth in any input image; depth is metres along the camera's z axis, 0 = missing");
        for (int c = 0; c < 3 && status == STATUS_OK; c++)
            extent = fmax(extent, percentile(&axis[c], 0.95) - percentile(&axis[c], 0.05));
    }
    if (status == STATUS_OK && !(extent > 0))
        status = error_set(err, STATUS_BAD_INPUT, "all points coincide, so the scene has no extent; set data.extent");
    for (int c = 0; c < 3; c++) free(axis[c].v);
    point_cloud_free(&cloud);
    *out = extent;
    return status;
}

static Status derive_extent(Config *config, size_t count, const Observation *observations, Error *err) {
    double extent;
    Status status = lengths_extent(count, observations, &extent, err);
    if (status == STATUS_OK) fill_length(config, &config->data.extent, extent);
    return status;
}

// Distances between nearest neighbours among the chosen particles inside the box of one observation.
static Status append_spacing(const Config *config, Device *device, const Observation *o, uint32_t episode,
                             PointCloud *cloud, Selection *selection, Values *out, Error *err) {
    Status status = unproject_frame(o, o->F - 1, (UnprojectOptions){.crop = config->data.crop}, cloud, err);
    SampleOptions options = {.sampling = (Sampling)config->encoder.sampling,
                             .N = (size_t)config->encoder.N,
                             .extent = config->data.extent,
                             .seed = (uint32_t)config->train.seed,
                             .episode = episode};
    if (status == STATUS_OK) status = sample_particles(o, cloud, &options, selection, err);
    if (status != STATUS_OK) return status;
    size_t n = selection->count, inside = 0;
    real *x = malloc((4 * n + 1) * sizeof *x), *distance2 = x + 3 * n;
    int32_t *self = malloc((2 * n + 1) * sizeof *self), *index = self + n;
    if (!x || !self) status = error_set(err, STATUS_FAILED, "out of memory for the spacing of %zu particles", n);
    for (size_t i = 0; i < n && status == STATUS_OK; i++) {
        size_t from = (size_t)selection->items[i].index;
        if (!cloud->inside[from]) continue;
        memcpy(x + 3 * inside, cloud->position + 3 * from, 3 * sizeof *x);
        self[inside] = (int32_t)inside;
        inside++;
    }
    if (status == STATUS_OK && inside > 1) {
        knn_host(device, &(KnnArgs){.points = inside,
                                    .queries = inside,
                                    .point = x,
                                    .query = x,
                                    .self = self,
                                    .k = 1,
                                    .index = index,
                                    .distance2 = distance2});
        status = device_status(device, err);
        for (size_t i = 0; i < inside && status == STATUS_OK; i++) status = append(out, real_sqrt(distance2[i]), err);
    }
    free(x);
    free(self);
    return status;
}

static Status derive_radius(Config *config, Device *device, size_t count, const Observation *observations, Error *err) {
    Values spacing = {0};
    PointCloud cloud = {0};
    Selection selection = {0};
    Status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = append_spacing(config, device, &observations[i], (uint32_t)i, &cloud, &selection, &spacing, err);
    if (status == STATUS_OK && spacing.count == 0)
        status = error_set(
            err, STATUS_BAD_INPUT,
            "no two points with depth within the workspace box: check bounds and depth, or set renderer.radius");
    if (status == STATUS_OK) fill_length(config, &config->renderer.radius, 2.1 * percentile(&spacing, 0.5));
    if (status == STATUS_OK && !(config->renderer.radius > 0))
        status = error_set(err, STATUS_BAD_INPUT, "most points coincide; set renderer.radius");
    free(spacing.v);
    point_cloud_free(&cloud);
    selection_free(&selection);
    return status;
}

// Sets lengths that are shares of data.extent. Only those that are options may have another value.
static Status derive_shares(Config *config, Error *err) {
    for (int i = 0; i < CONFIG_LENGTHS; i++) {
        const ConfigLength *l = &config_lengths[i];
        double *length = config_length(config, i), share = l->share * config->data.extent;
        if (l->share == 0) continue;
        fill_length(config, length, share);
        if (fabs(*length - share) > 1e-6 * share && !config_is_option(l->key))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected %.6g m, %g of data.extent, found %.6g m; it follows from data.extent and is "
                             "no option, so leave it out",
                             l->key, share, l->share, *length);
    }
    return STATUS_OK;
}

Status lengths_derive(Config *config, Device *device, size_t count, const Observation *observations, Error *err) {
    Status status = config->data.extent > 0 ? STATUS_OK : derive_extent(config, count, observations, err);
    if (status == STATUS_OK) status = derive_shares(config, err);
    if (status != STATUS_OK || config->renderer.radius > 0) return status;
    return derive_radius(config, device, count, observations, err);
}

void lengths_print(const Config *config, const char *before, FILE *out) {
    for (int i = 0; i < CONFIG_LENGTHS; i++)
        fprintf(out, "%s%-26s %.6g m\n", before, config_lengths[i].key, config_length_of(config, i));
}
