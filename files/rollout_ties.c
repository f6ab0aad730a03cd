// SPDX-License-Identifier: Apache-2.0
#include "files/rollout_ties.h"

#include "base/sort.h"
#include "nn/backend.h"
#include "nn/knn.h"

#include <math.h>
#include <stdlib.h>

// Distances in the search for owners, in multiples of the particles' radius: for colours that differ by their whole
// range, and for different moving flags. Another label is farther than everything. Without radii, a share of the
// scene's diagonal is used.
#define COLOUR_RADII 2
#define MOVING_RADII 4
#define RADIUS_SHARE 0.02

enum { EXTRA = 4, SAMPLE = 4096 };

static Status no_memory(Error *err) { return error_set(err, STATUS_FAILED, "out of memory for owners of particles"); }

double rollout_median_radius(const RolloutFile *file) {
    const RolloutSet *now = &file->sets[0];
    float sample[SAMPLE];
    size_t stride = now->N / SAMPLE + 1, count = 0;
    for (size_t i = 0; now->radius && i < now->N; i += stride) sample[count++] = now->radius[i];
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

// Metres for a whole colour range, a different moving flag and a different label; 0 for what is not compared.
typedef struct Lengths {
    real colour, moving, label;
} Lengths;

typedef struct Points {
    size_t count;
    const float *x;
    const uint8_t *colour, *moving;
    const uint16_t *label;
} Points;

static Points particles_of(const RolloutSet *set) {
    return (Points){set->N, set->positions, set->colour, set->moving, set->labels};
}

// Compares only what both sides have.
static Lengths lengths_between(const RolloutFile *file, const Points *now, const Points *points) {
    double wide = diagonal(&file->sets[0]), radius = rollout_median_radius(file);
    if (!(radius > 0)) radius = RADIUS_SHARE * wide;
    return (Lengths){.colour = now->colour && points->colour ? (real)(COLOUR_RADII * radius / 255) : 0,
                     .moving = now->moving && points->moving ? (real)(MOVING_RADII * radius) : 0,
                     .label = now->label && points->label ? (real)(4 * wide + 1) : 0};
}

// Extra coordinates (count, EXTRA): colour, and moving flag and label in one.
static void fill_extra(const Points *p, Lengths l, real *out) {
    for (size_t i = 0; i < p->count; i++, out += EXTRA) {
        for (size_t c = 0; c < 3; c++) out[c] = p->colour ? (real)p->colour[3 * i + c] * l.colour : 0;
        out[3] = p->moving ? (real)p->moving[i] * l.moving : 0;
        out[3] += p->label ? (real)p->label[i] * l.label : 0;
    }
}

static void *upload(Device *device, const void *host, size_t bytes) {
    void *memory = host ? arena_alloc(&device->scratch, bytes) : NULL;
    if (memory) device->nn->upload(device, memory, host, bytes);
    return memory;
}

// The nearest particle of `now` for each point, in host memory.
static Status search(Device *device, const Points *now, const Points *points, Lengths lengths, uint32_t *owner,
                     Error *err) {
    real *extra = malloc((now->count + points->count) * EXTRA * sizeof *extra);
    ArenaMark mark = arena_mark(&device->scratch);
    if (!extra) return no_memory(err);
    real *others = extra + EXTRA * now->count;
    fill_extra(now, lengths, extra);
    fill_extra(points, lengths, others);
    KnnArgs args = {.points = now->count,
                    .queries = points->count,
                    .point = upload(device, now->x, 3 * now->count * sizeof(real)),
                    .query = upload(device, points->x, 3 * points->count * sizeof(real)),
                    .extra = EXTRA,
                    .point_extra = upload(device, extra, EXTRA * now->count * sizeof(real)),
                    .query_extra = upload(device, others, EXTRA * points->count * sizeof(real)),
                    .k = 1,
                    .index = arena_array(&device->scratch, points->count, sizeof(int32_t))};
    bool good = args.point && args.query && args.point_extra && args.query_extra && args.index;
    if (good) knn(device, &args);
    bool found = good && !device->failed;
    if (found) device->nn->download(device, owner, args.index, points->count * sizeof *owner);
    arena_release(&device->scratch, mark);
    free(extra);
    for (size_t i = 0; found && i < points->count; i++) // squared distances overflow: any particle will do
        if (owner[i] >= now->count) owner[i] = 0;
    return good ? device_status(device, err) : no_memory(err);
}

// *out is unchanged if it is known already, if there are no points, and after an error.
static Status find_owners(const RolloutFile *file, Device *device, const Points *points, uint32_t **out, Error *err) {
    const Points now = particles_of(&file->sets[0]);
    if (*out || points->count == 0) return STATUS_OK;
    if (now.count > INT32_MAX || points->count > INT32_MAX)
        return error_set(err, STATUS_BAD_INPUT, "expected at most 2^31 - 1 particles and points, found %zu and %zu",
                         now.count, points->count);
    uint32_t *owner = malloc(points->count * sizeof *owner);
    if (!owner) return no_memory(err);
    Status status = search(device, &now, points, lengths_between(file, &now, points), owner, err);
    if (status == STATUS_OK) *out = owner;
    else free(owner);
    return status;
}

// All points of the motion field count as moving.
static Status tie_motion(RolloutFile *file, Device *device, Error *err) {
    const MotionField *field = &file->motion;
    uint8_t *bytes = malloc(4 * field->count + 1), *moving = bytes + 3 * field->count;
    if (!bytes) return no_memory(err);
    for (size_t i = 0; i < 3 * field->count; i++) bytes[i] = (uint8_t)lrintf(field->colour[i] * 255);
    for (size_t i = 0; i < field->count; i++) moving[i] = 1;
    const Points points = {field->count, field->position, bytes, moving, NULL};
    Status status = find_owners(file, device, &points, &file->motion_owner, err);
    free(bytes);
    return status;
}

Status rollout_tie(RolloutFile *file, Device *device, Error *err) {
    Status status = tie_motion(file, device, err);
    for (int k = 1; k < file->set_count && status == STATUS_OK; k++) {
        const Points points = particles_of(&file->sets[k]);
        status = find_owners(file, device, &points, &file->sets[k].ties, err);
    }
    return status;
}
