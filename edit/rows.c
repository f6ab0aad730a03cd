// SPDX-License-Identifier: Apache-2.0
// Selects, copies and joins rows of the arrays of all sets.
#include "edit/scene.h"

#include <stdlib.h>
#include <string.h>

typedef struct Field {
    size_t pointer, bytes; // offset of the array in a RolloutSet; bytes of one number
    size_t width;          // numbers per row; 0: D
    bool zero;             // if only one of two joined sets has the array, the other counts as 0
    bool past;             // whether past sets have it
    const char *name;
} Field;

#define AT(field) offsetof(RolloutSet, field)
static const Field fields[] = {
    {AT(positions), 4, 3, false, true, "positions"}, {AT(features), 4, 0, false, true, "features"},
    {AT(colour), 1, 3, false, true, "colours"},      {AT(labels), 2, 1, true, true, "labels"},
    {AT(radius), 4, 1, false, false, "radii"},       {AT(before), 4, 3, false, false, "bodies"},
    {AT(body), 4, 1, false, false, "bodies"},        {AT(moving), 1, 1, false, false, "bodies"},
    {AT(shown), 8, 2, true, false, "shadows"},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static void **array_of(const RolloutSet *set, const Field *field) { return (void **)((char *)set + field->pointer); }
static size_t row_bytes(const RolloutSet *set, const Field *field) {
    return field->bytes * (field->width ? field->width : set->D);
}

Status scene_need_selected(const EditScene *scene, const Mask *mask, const char *argument, Error *err) {
    const RolloutSet *now = scene_now(scene);
    const size_t drawn = rollout_drawn(now);
    char counts[80];
    if (mask_count(mask, now->N) > 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%sthe selection takes none of the %s%s", argument,
                     rollout_count_text(drawn, now->N - drawn, counts),
                     *argument ? "" : "; with `if_empty: skip` the edit is left out instead");
}

size_t mask_count(const Mask *mask, size_t count) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += mask[i];
    return sum;
}

uint32_t *scene_count_up(size_t count) {
    uint32_t *out = malloc((count + 1) * sizeof *out);
    for (size_t i = 0; out && i < count; i++) out[i] = (uint32_t)i;
    return out;
}

// ---- rows of one set

// Copies rows `index`, in rising order, to `to`, consecutive rows at once. `to` may be `from`.
static char *copy_rows(char *to, const char *from, const uint32_t *index, size_t count, size_t bytes) {
    for (size_t r = 0, end; r < count; r = end) {
        for (end = r + 1; end < count && index[end] == index[end - 1] + 1;) end++;
        memmove(to, from + (size_t)index[r] * bytes, (end - r) * bytes);
        to += (end - r) * bytes;
    }
    return to;
}

// Keeps the first `kept` rows of every array and appends `times` copies of rows `index`.
static bool append_rows(RolloutSet *set, const uint32_t *index, size_t count, size_t times, size_t kept) {
    for (int i = 0; i < FIELDS; i++) {
        void **array = array_of(set, fields + i);
        size_t bytes = row_bytes(set, fields + i);
        if (!*array) continue;
        if (kept == 0 && times == 1) { // in place, because allocation costs more than the copy
            copy_rows(*array, *array, index, count, bytes);
            continue;
        }
        char *out = malloc((kept + times * count) * bytes + 1), *to = out;
        if (!out) return false;
        memcpy(out, *array, kept * bytes);
        to += kept * bytes;
        for (size_t n = 0; n < times; n++) to = copy_rows(to, *array, index, count, bytes);
        free(*array);
        *array = out;
    }
    set->N = kept + times * count;
    return true;
}

// Rows whose owner is selected, in order.
static uint32_t *find_rows(const RolloutSet *set, const Mask *mask, size_t *count) {
    uint32_t *index = malloc((set->N + 1) * sizeof *index);
    *count = 0;
    for (size_t i = 0; index && i < set->N; i++)
        if (scene_selected(set, mask, i)) index[(*count)++] = (uint32_t)i;
    return index;
}

// New index of each selected particle, counted from `first`.
static uint32_t *number(const Mask *mask, size_t N, size_t first) {
    uint32_t *map = malloc((N + 1) * sizeof *map);
    for (size_t i = 0; map && i < N; i++) {
        map[i] = (uint32_t)first;
        first += mask[i];
    }
    return map;
}

// Arguments of take_past: selected rows are appended `times` over, or kept while all others are removed.
typedef struct Taking {
    const Mask *mask;
    uint32_t *map;   // (N) new index of a selected particle, in the first copy
    size_t selected; // number of selected particles
    size_t times;
    bool append;
} Taking;

// Does this for one past set.
static bool take_past(RolloutSet *set, const Taking *t) {
    size_t rows = set->N, kept = t->append ? rows : 0, count;
    if (rows == 0) return true;
    uint32_t *index = find_rows(set, t->mask, &count);
    uint32_t *out = malloc((kept + t->times * count + 1) * sizeof *out), *to = out + kept;
    bool good = index && out;
    if (good && kept) memcpy(out, set->ties, kept * sizeof *out);
    for (size_t n = 0; good && n < t->times; n++)
        for (size_t r = 0; r < count; r++) *to++ = t->map[set->ties[index[r]]] + (uint32_t)(n * t->selected);
    good = good && append_rows(set, index, count, t->times, kept);
    free(index);
    if (good) {
        free(set->ties);
        set->ties = out;
    } else free(out);
    return good;
}

static Status take_all(EditScene *scene, const Mask *mask, bool append, size_t times, Error *err) {
    RolloutSet *now = scene_now(scene);
    size_t N = now->N, count;
    uint32_t *index = find_rows(now, mask, &count);
    const Taking t = {mask, number(mask, N, append ? N : 0), count, times, append};
    bool good = t.map && index;
    for (int k = 1; good && k < scene->file->set_count; k++) good = take_past(&scene->file->sets[k], &t);
    good = good && append_rows(now, index, count, times, append ? N : 0);
    free(t.map);
    free(index);
    return good ? STATUS_OK : scene_no_memory(err);
}

Status scene_keep(EditScene *scene, const Mask *mask, Error *err) {
    Status status = take_all(scene, mask, false, 1, err);
    return status == STATUS_OK ? scene_forget_drives(scene, err) : status;
}

static Status check_sum(size_t now, size_t more, const char *what, Error *err) {
    if (more <= EDIT_PARTICLES_MAX && now <= EDIT_PARTICLES_MAX - more) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "cannot add %zu %s to %zu: expected at most %zu in all", more, what, now,
                     EDIT_PARTICLES_MAX);
}

Status scene_append(EditScene *scene, const Mask *mask, size_t times, Error *err) {
    size_t N = scene_now(scene)->N, more = times * mask_count(mask, N);
    Status status = check_sum(N, more, "particles", err);
    // a past set may have many more rows per particle
    for (int k = 1; k < scene->file->set_count && status == STATUS_OK; k++)
        status = check_sum(0, (times + 1) * scene->file->sets[k].N, "points", err);
    return status == STATUS_OK ? take_all(scene, mask, true, times, err) : status;
}

// ---- two scenes

static Status join_array(RolloutSet *to, const RolloutSet *from, const Field *field, Error *err) {
    void **a = array_of(to, field), *b = *array_of(from, field);
    size_t bytes = row_bytes(to, field);
    if ((!*a && !b) || from->N == 0) return STATUS_OK;
    if (!field->zero && ((!*a && to->N) || !b))
        return error_set(err, STATUS_BAD_INPUT, "expected %s in both files or in none, found them in one", field->name);
    char *out = calloc(to->N + from->N, bytes + 1);
    if (!out) return scene_no_memory(err);
    if (*a) memcpy(out, *a, to->N * bytes);
    if (b) memcpy(out + to->N * bytes, b, from->N * bytes);
    free(*a);
    *a = out;
    return STATUS_OK;
}

// `first`: the index of the other scene's first particle.
static bool join_ties(RolloutSet *to, const RolloutSet *from, size_t first) {
    uint32_t *out = realloc(to->ties, (to->N + from->N + 1) * sizeof *out);
    if (!out) return false;
    to->ties = out;
    for (size_t i = 0; i < from->N; i++) out[to->N + i] = from->ties[i] + (uint32_t)first;
    return true;
}

static Status join_set(RolloutSet *to, const RolloutSet *from, bool past, size_t first, Error *err) {
    if (past && !join_ties(to, from, first)) return scene_no_memory(err);
    if (to->N == 0) to->D = from->D;
    for (int i = 0; i < FIELDS; i++) {
        Status status = join_array(to, from, fields + i, err);
        if (status != STATUS_OK) return status;
    }
    to->N += from->N;
    return STATUS_OK;
}

Status scene_join(EditScene *scene, EditScene *other, Error *err) {
    RolloutFile *a = scene->file, *b = other->file;
    size_t first = a->sets[0].N;
    Status status = STATUS_OK;
    for (int k = 0; k < a->set_count && status == STATUS_OK; k++)
        status = check_sum(a->sets[k].N, b->sets[k].N, "particles", err);
    if (status == STATUS_OK) status = scene_shift_numbers(scene, other, err);
    for (int k = 0; k < a->set_count && status == STATUS_OK; k++)
        status = join_set(&a->sets[k], &b->sets[k], k > 0, first, err);
    const RolloutDrives *d = &b->drives;
    for (size_t k = 0; k < d->count && status == STATUS_OK; k++)
        status = rollout_drive_add(&a->drives, d->body[k], (size_t)d->step[k], d->motion + 16 * k, err);
    return status;
}

// ---- replacing the past

// Appends rows `index` of `from` to one array of `to`. An array that `to` lacks stays missing.
static Status add_rows(RolloutSet *to, const RolloutSet *from, const Field *field, const uint32_t *index, size_t count,
                       Error *err) {
    void **a = array_of(to, field);
    const char *b = *array_of(from, field);
    size_t bytes = row_bytes(from, field);
    if (!field->past || (to->N > 0 && !*a) || (!b && !field->zero)) return STATUS_OK;
    char *out = calloc(to->N + count + 1, bytes);
    if (!out) return scene_no_memory(err);
    if (*a) memcpy(out, *a, to->N * bytes);
    for (size_t r = 0; b && r < count; r++) memcpy(out + (to->N + r) * bytes, b + (size_t)index[r] * bytes, bytes);
    free(*a);
    *a = out;
    return STATUS_OK;
}

// Removes the selected particles from a past set and puts copies of the present ones there.
static Status replace_rows(EditScene *scene, RolloutSet *set, const Mask *mask, const Mask *others, uint32_t *same,
                           Error *err) {
    const RolloutSet *now = scene_now(scene);
    size_t count;
    if (!take_past(set, &(Taking){others, same, 0, 1, false})) return scene_no_memory(err);
    uint32_t *index = find_rows(now, mask, &count);
    uint32_t *larger = index ? realloc(set->ties, (set->N + count + 1) * sizeof *larger) : NULL;
    Status status = larger ? STATUS_OK : scene_no_memory(err);
    if (larger) set->ties = larger;
    if (set->N == 0) set->D = now->D;
    if (larger) memcpy(larger + set->N, index, count * sizeof *larger);
    for (int i = 0; i < FIELDS && status == STATUS_OK; i++) status = add_rows(set, now, fields + i, index, count, err);
    if (status == STATUS_OK) set->N += count;
    free(index);
    return status;
}

Status scene_replace_past(EditScene *scene, const Mask *mask, Error *err) {
    size_t N = scene_now(scene)->N;
    Mask *others = calloc(N + 1, 1);
    uint32_t *same = scene_count_up(N);
    Status status = others && same ? STATUS_OK : scene_no_memory(err);
    for (size_t i = 0; status == STATUS_OK && i < N; i++) others[i] = !mask[i];
    for (int k = 1; k < scene->file->set_count && status == STATUS_OK; k++)
        status = replace_rows(scene, &scene->file->sets[k], mask, others, same, err);
    free(others);
    free(same);
    return status;
}
