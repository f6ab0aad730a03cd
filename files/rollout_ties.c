// SPDX-License-Identifier: Apache-2.0
#include "files/rollout_ties.h"

#include "base/sort.h"
#include "nn/knn.h"

#include <math.h>
#include <stdlib.h>

// Distance of colours that differ by their whole range in the search for owners, in multiples of the particles' radius.
// Another label is farther than everything. Without radii, a share of the scene's diagonal is used.
#define COLOUR_RADII 2
#define RADIUS_SHARE 0.02

enum { EXTRA = 4, SAMPLE = 4096 };

double rollout_median_radius(const RolloutFile *file) {
    const RolloutSet *now = &file->sets[0];
    float sample[SAMPLE];
    size_t stride = now->N / SAMPLE + 1, count = 0;
    for (size_t i = 0; now->radius && i < now->N; i += stride)
        if (now->radius[i] > 0) sample[count++] = now->radius[i];
    sort_floats(sample, count);
    return count ? (double)sample[count / 2] : 0;
}

// Diagonal of the particles' bounding box.
static double diagonal(const RolloutSet *set) {
    double sum = 0;
    for (size_t c = 0; c < 3; c++) {
        float low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < set->N; i++) {
            low = fminf(low, set->positions[3 * i + c]);
            high = fmaxf(high, set->positions[3 * i + c]);
        }
        sum += ((double)high - low) * ((double)high - low);
    }
    return sqrt(sum);
}

// Metres for a whole colour range and for a different label; 0 for what is not compared.
typedef struct Lengths {
    real colour, label;
} Lengths;

// Compares only what both sets have.
static Lengths lengths_between(const RolloutSet *now, const RolloutSet *past, double radius) {
    double wide = diagonal(now);
    if (!(radius > 0)) radius = RADIUS_SHARE * wide;
    return (Lengths){.colour = now->colour && past->colour ? (real)(COLOUR_RADII * radius / 255) : 0,
                     .label = now->labels && past->labels ? (real)(4 * wide + 1) : 0};
}

// Extra coordinates (N, EXTRA): colour and label.
static void fill_extra(const RolloutSet *set, Lengths l, real *out) {
    for (size_t i = 0; i < set->N; i++, out += EXTRA) {
        for (size_t c = 0; c < 3; c++) out[c] = set->colour ? (real)set->colour[3 * i + c] * l.colour : 0;
        out[3] = set->labels ? (real)set->labels[i] * l.label : 0;
    }
}

// The nearest present particle of each past one.
static Status search(Device *device, const RolloutSet *now, const RolloutSet *past, Lengths lengths, uint32_t *owner,
                     Error *err) {
    real *extra = malloc((now->N + past->N) * EXTRA * sizeof *extra);
    if (!extra) return error_no_memory(err, "owners of particles");
    real *others = extra + EXTRA * now->N;
    fill_extra(now, lengths, extra);
    fill_extra(past, lengths, others);
    knn_host(device, &(KnnArgs){.points = now->N,
                                .queries = past->N,
                                .point = now->positions,
                                .query = past->positions,
                                .extra = EXTRA,
                                .point_extra = extra,
                                .query_extra = others,
                                .k = 1,
                                .index = (int32_t *)owner});
    free(extra);
    Status status = device_status(device, err);
    for (size_t i = 0; status == STATUS_OK && i < past->N; i++) // squared distances overflow: any particle will do
        if (owner[i] >= now->N) owner[i] = 0;
    return status;
}

static Status tie_set(const RolloutFile *file, Device *device, RolloutSet *past, Error *err) {
    const RolloutSet *now = &file->sets[0];
    if (past->ties || past->N == 0) return STATUS_OK;
    if (now->N > INT32_MAX || past->N > INT32_MAX)
        return error_set(err, STATUS_BAD_INPUT, "expected at most 2^31 - 1 particles, found %zu and %zu", now->N,
                         past->N);
    uint32_t *owner = malloc(past->N * sizeof *owner);
    if (!owner) return error_no_memory(err, "owners of particles");
    Status status = search(device, now, past, lengths_between(now, past, rollout_median_radius(file)), owner, err);
    if (status == STATUS_OK) past->ties = owner;
    else free(owner);
    return status;
}

Status rollout_tie(RolloutFile *file, Device *device, Error *err) {
    Status status = STATUS_OK;
    for (int k = 1; k < file->set_count && status == STATUS_OK; k++)
        status = tie_set(file, device, &file->sets[k], err);
    return status;
}
