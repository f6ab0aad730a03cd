// SPDX-License-Identifier: Apache-2.0
#include "encoder/sample.h"

#include <stdlib.h>
#include <string.h>

// Of the particles beside the moving ones, those inside the workspace box (voxel).
#define INSIDE_SHARE 0.7

enum { MOVING, INSIDE, OUTSIDE, PARTS };

void selection_free(Selection *selection) {
    free(selection->items);
    for (int part = 0; part < PARTS; part++) voxel_table_free(&selection->voxels[part]);
    *selection = (Selection){0};
}

// Every point with its pixel's key; the pixel is numbered by the view's index in the data set, so that the choice does
// not depend on which other views are given.
static void fill_keys(const Observation *o, const PointCloud *cloud, const SampleOptions *options, Keyed *items) {
    RandomKey key = {options->seed, RANDOM_PARTICLES, options->step, options->episode};
    int64_t pixels = (int64_t)o->H * o->W;
    for (size_t i = 0; i < cloud->count; i++) {
        int64_t view = cloud->pixel[i] / pixels, index = o->views[view] * pixels + cloud->pixel[i] % pixels;
        items[i] = (Keyed){choose_key(key, (uint64_t)index), (int32_t)i};
    }
}

typedef bool PointTest(const PointCloud *cloud, int32_t index);
static bool point_moves(const PointCloud *cloud, int32_t index) { return cloud->moving[index] > 0; }
static bool point_is_inside(const PointCloud *cloud, int32_t index) { return cloud->inside[index]; }

// Moves the points that pass to the front, keeping the order of each part; returns their number.
static size_t split(const PointCloud *cloud, PointTest *passes, Keyed *items, size_t count, Keyed *scratch) {
    size_t front = 0, back = 0;
    for (size_t i = 0; i < count; i++) {
        if (passes(cloud, items[i].index)) items[front++] = items[i];
        else scratch[back++] = items[i];
    }
    memcpy(items + front, scratch, back * sizeof *items);
    return front;
}

// Points inside and outside the box; either part fills the places that the other cannot. Without a box all points are
// inside.
static Status sample_by_box(const PointCloud *cloud, const SampleOptions *options, Keyed *items, size_t count, size_t N,
                            Keyed *scratch, Selection *out, size_t *chosen, Error *err) {
    size_t inside = split(cloud, point_is_inside, items, count, scratch), outside = count - inside;
    size_t want_in = (size_t)llrint(INSIDE_SHARE * (double)N), want_out = N - want_in;
    size_t spare_in = inside < want_in ? want_in - inside : 0, spare_out = outside < want_out ? want_out - outside : 0;
    size_t chosen_in = 0, chosen_out = 0;
    Status status = choose_voxel(&out->voxels[INSIDE], items, inside, want_in + spare_out, cloud->position,
                                 options->extent, &chosen_in, err);
    if (status == STATUS_OK)
        status = choose_voxel(&out->voxels[OUTSIDE], items + inside, outside, want_out + spare_in, cloud->position,
                              options->extent, &chosen_out, err);
    memmove(items + chosen_in, items + inside, chosen_out * sizeof *items);
    *chosen = chosen_in + chosen_out;
    return status;
}

// Moving points first; either part fills the places that the other cannot.
static Status sample_voxel(const PointCloud *cloud, const SampleOptions *options, Selection *out, Error *err) {
    Keyed *items = out->items, *scratch = out->items + out->capacity / 2;
    size_t share = (size_t)llrint(options->moving_share * (double)options->N), first = 0, rest = 0, moving = 0;
    if (share > 0) moving = split(cloud, point_moves, items, cloud->count, scratch);
    size_t others = cloud->count - moving;
    if (share + others < options->N) share = options->N - others;
    Status status = STATUS_OK;
    if (moving > 0)
        status =
            choose_voxel(&out->voxels[MOVING], items, moving, share, cloud->position, options->extent, &first, err);
    if (status == STATUS_OK)
        status = sample_by_box(cloud, options, items + moving, others, options->N - first, scratch, out, &rest, err);
    memmove(items + first, items + moving, rest * sizeof *items);
    out->count = first + rest;
    choose_sort(items, out->count);
    return status;
}

Status sample_particles(const Observation *observation, const PointCloud *cloud, const SampleOptions *options,
                        Selection *out, Error *err) {
    if (2 * cloud->count > out->capacity) {
        free(out->items);
        out->capacity = 2 * cloud->count; // the second half is scratch
        out->items = malloc(out->capacity * sizeof *out->items);
        if (!out->items) {
            out->capacity = 0;
            return error_set(err, STATUS_FAILED, "out of memory for choosing among %zu points", cloud->count);
        }
    }
    if (cloud->count == 0) {
        out->count = 0;
        return STATUS_OK;
    }
    fill_keys(observation, cloud, options, out->items);
    choose_sort(out->items, cloud->count);
    out->count = cloud->count < options->N ? cloud->count : options->N;
    if (options->sampling == SAMPLING_UNIFORM) return STATUS_OK;
    return sample_voxel(cloud, options, out, err);
}
