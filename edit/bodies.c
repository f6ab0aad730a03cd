// SPDX-License-Identifier: Apache-2.0
// Edits of rigid bodies: which particles belong to one, and where they were one time step before.
#include "edit/scene.h"

#include "base/camera.h"
#include "base/horn.h"

#include <math.h>
#include <stdlib.h>

// ---- numbers

// The first of `count` consecutive numbers behind those in use.
static Status new_numbers(const RolloutSet *now, size_t count, int32_t *first, Error *err) {
    size_t used = scene_body_numbers(now);
    *first = (int32_t)used;
    if (count + used <= ROLLOUT_BODIES_MAX) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "cannot add %zu more bodies to %zu: expected at most %d in all", count,
                     used, ROLLOUT_BODIES_MAX);
}

// Numbers the entries that are `wanted` 0, 1, ..; all others become -1. Returns how many there are.
static size_t rank(int32_t *entry, size_t count, int32_t wanted) {
    size_t found = 0;
    for (size_t b = 0; b < count; b++) entry[b] = entry[b] == wanted ? (int32_t)found++ : -1;
    return found;
}

Status scene_part_bodies(EditScene *scene, const Mask *mask, Error *err) {
    RolloutSet *now = scene_now(scene);
    size_t numbers = scene_body_numbers(now);
    int32_t *part = calloc(numbers + 1, sizeof *part), first = 0;
    if (!part) return scene_no_memory(err);
    for (size_t i = 0; numbers && i < now->N; i++)
        if (now->body[i] >= 0) part[now->body[i]] |= mask[i] ? 1 : 2;
    size_t parted = rank(part, numbers, 3);
    Status status = parted ? new_numbers(now, parted, &first, err) : STATUS_OK;
    for (size_t i = 0; status == STATUS_OK && parted && i < now->N; i++)
        // NOLINTNEXTLINE: numbers is 0 without bodies
        if (mask[i] && now->body[i] >= 0 && part[now->body[i]] >= 0) now->body[i] = first + part[now->body[i]];
    const DriveCopies parts = {.kind = part, .numbers = numbers, .kinds = parted, .times = 1, .first = first};
    if (status == STATUS_OK && parted) status = scene_copy_drives(scene, &parts, err);
    free(part);
    return status;
}

Status scene_number_copies(EditScene *scene, size_t N, size_t more, const double by[3], Error *err) {
    RolloutSet *now = scene_now(scene);
    size_t numbers = scene_body_numbers(now), times = (now->N - N) / more;
    int32_t *kind = calloc(numbers + 1, sizeof *kind), first = 0;
    if (!kind) return scene_no_memory(err);
    for (size_t i = N; numbers && i < N + more; i++)
        if (now->body[i] >= 0) kind[now->body[i]] = 1;
    size_t kinds = rank(kind, numbers, 1);
    Status status = kinds ? new_numbers(now, kinds * times, &first, err) : STATUS_OK;
    for (size_t i = N; status == STATUS_OK && kinds && i < now->N; i++)
        if (now->body[i] >= 0) now->body[i] = first + (int32_t)((i - N) / more * kinds) + kind[now->body[i]];
    const DriveCopies copies = {kind, numbers, kinds, times, first, {by[0], by[1], by[2]}};
    if (status == STATUS_OK) status = scene_copy_drives(scene, &copies, err);
    free(kind);
    return status;
}

Status scene_shift_numbers(const EditScene *scene, EditScene *other, Error *err) {
    RolloutSet *from = scene_now(other);
    int32_t first;
    if (!scene_now(scene)->body || !from->body) return STATUS_OK;
    Status status = new_numbers(scene_now(scene), scene_body_numbers(from), &first, err);
    for (size_t i = 0; status == STATUS_OK && i < from->N; i++)
        if (from->body[i] >= 0) from->body[i] += first;
    for (size_t k = 0; status == STATUS_OK && k < other->file->drives.count; k++) other->file->drives.body[k] += first;
    return status;
}

// ---- what stood still becomes a body

// The selected particles of one label: the body to which most of them belong, and the sums that give its motion from
// the present to the step before.
typedef struct Label {
    int32_t body;      // -1: none
    bool still, fresh; // whether some stood still; whether the body is new
    double count, now[3], before[3], product[9];
    double rotation[9], shift[3]; // before = rotation now + shift
} Label;

typedef struct Labels {
    Label *list; // (count)
    size_t count;
} Labels;

static size_t label_number(const RolloutSet *now, size_t i) { return now->labels ? now->labels[i] : 0; }

static Label *label_of(Labels labels, const RolloutSet *now, size_t i) { return labels.list + label_number(now, i); }

// One more than the largest label.
static size_t count_labels(const RolloutSet *now) {
    uint16_t most = 0;
    for (size_t i = 0; now->labels && i < now->N; i++) most = now->labels[i] > most ? now->labels[i] : most;
    return (size_t)most + 1;
}

static int compare_keys(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// The label and the body of each selected particle that belongs to one, sorted. Returns how many there are.
static size_t sort_pairs(const RolloutSet *now, const Mask *mask, uint64_t *pair) {
    size_t count = 0;
    for (size_t i = 0; i < now->N; i++)
        if (mask[i] && now->body[i] >= 0) pair[count++] = (uint64_t)label_number(now, i) << 32 | (uint32_t)now->body[i];
    qsort(pair, count, sizeof *pair, compare_keys);
    return count;
}

// The body of the longest run of equal pairs of each label; of equally long ones that with the least number.
static void take_longest(Labels labels, const uint64_t *pair, size_t count) {
    size_t longest = 0;
    for (size_t from = 0, to; from < count; from = to) {
        Label *label = &labels.list[pair[from] >> 32];
        for (to = from; to < count && pair[to] == pair[from];) to++;
        if (label->body >= 0 && to - from <= longest) continue;
        label->body = (int32_t)(uint32_t)pair[from];
        longest = to - from;
    }
}

static Status vote(Labels labels, const RolloutSet *now, const Mask *mask, Error *err) {
    uint64_t *pair = malloc((now->N + 1) * sizeof *pair);
    if (!pair) return scene_no_memory(err);
    for (size_t l = 0; l < labels.count; l++) labels.list[l].body = -1;
    for (size_t i = 0; i < now->N; i++)
        if (mask[i] && now->body[i] < 0) label_of(labels, now, i)->still = true;
    take_longest(labels, pair, sort_pairs(now, mask, pair));
    free(pair);
    return STATUS_OK;
}

static Status number_labels(Labels labels, const RolloutSet *now, Error *err) {
    size_t count = 0;
    int32_t first;
    for (size_t l = 0; l < labels.count; l++) {
        Label *label = &labels.list[l];
        label->fresh = label->still && label->body < 0;
        count += label->fresh;
    }
    Status status = new_numbers(now, count, &first, err);
    for (size_t l = 0; l < labels.count && status == STATUS_OK; l++)
        if (labels.list[l].fresh) labels.list[l].body = first++;
    return status;
}

static void add_point(Label *label, const float *now, const float *before) {
    label->count++;
    for (size_t k = 0; k < 9; k++) label->product[k] += (double)now[k / 3] * (double)before[k % 3];
    for (size_t c = 0; c < 3; c++) {
        label->now[c] += (double)now[c];
        label->before[c] += (double)before[c];
    }
}

// The rigid motion nearest to that of the points. A small weight on no rotation decides where points on a line do not.
static void fit_motion(Label *label) {
    double S[9], q[4], n = label->count;
    for (int k = 0; k < 9; k++) S[k] = label->product[k] - label->now[k / 3] * label->before[k % 3] / n;
    double weight = 1e-6 * fabs(S[0] + S[4] + S[8]) + 1e-12 * n;
    for (int k = 0; k < 9; k += 4) S[k] += weight;
    horn_rotation(S, q);
    rotation_from_quaternion(q, label->rotation);
    for (int r = 0; r < 3; r++) {
        label->shift[r] = label->before[r] / n;
        for (int c = 0; c < 3; c++) label->shift[r] -= label->rotation[3 * r + c] * label->now[c] / n;
    }
}

static void join(const Label *label, RolloutSet *now, size_t i) {
    const float *p = now->positions + 3 * i;
    now->body[i] = label->body;
    now->moving[i] = 1;
    for (size_t r = 0; r < 3 && !label->fresh; r++) {
        const double *row = label->rotation + 3 * r;
        now->before[3 * i + r] = (float)(row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + label->shift[r]);
    }
}

static void join_all(Labels labels, RolloutSet *now, const Mask *mask) {
    for (size_t i = 0; i < now->N; i++) {
        Label *label = label_of(labels, now, i);
        if (mask[i] && label->still && !label->fresh && now->body[i] == label->body)
            add_point(label, now->positions + 3 * i, now->before + 3 * i);
    }
    for (size_t l = 0; l < labels.count; l++)
        if (labels.list[l].still && !labels.list[l].fresh) fit_motion(&labels.list[l]);
    for (size_t i = 0; i < now->N; i++)
        if (mask[i] && now->body[i] < 0) join(label_of(labels, now, i), now, i);
}

Status scene_embody(EditScene *scene, const Mask *mask, Error *err) {
    RolloutSet *now = scene_now(scene);
    Labels labels = {.count = count_labels(now)};
    labels.list = calloc(labels.count, sizeof *labels.list);
    if (!labels.list) return scene_no_memory(err);
    Status status = vote(labels, now, mask, err);
    if (status == STATUS_OK) status = number_labels(labels, now, err);
    if (status == STATUS_OK) join_all(labels, now, mask);
    free(labels.list);
    return status;
}

void scene_shift_before(EditScene *scene, const Mask *mask, const double by[3], bool from_now) {
    RolloutSet *now = scene_now(scene);
    const float *from = from_now ? now->positions : now->before;
    for (size_t i = 0; i < now->N; i++)
        for (size_t c = 0; c < 3 && mask[i]; c++) now->before[3 * i + c] = (float)(from[3 * i + c] + by[c]);
}
