// SPDX-License-Identifier: Apache-2.0
// Particles of past sets and points of seen motion belong to the present particle that a plain search over all of them
// finds, entry by entry: also where they are particles, or coincide; with and without radii, moving flags and labels.
// What was found is kept: in the file too, and through edits.
#include "tests/edit_scene.h"

#include "files/rollout_ties.h"

#include <math.h>

enum { N = 400, P = 700 };

static uint32_t state_of_random = 1;
static uint32_t next_random(void) { return state_of_random = state_of_random * 1664525u + 1013904223u; }

static void point_at_random(float *x, uint8_t *colour, uint8_t *moving, size_t i) {
    for (size_t c = 0; c < 3; c++) {
        x[3 * i + c] = (float)(next_random() >> 8) / (1 << 24);
        colour[3 * i + c] = (uint8_t)(next_random() >> 29);
    }
    moving[i] = next_random() >> 31;
}

static void copy_point(const RolloutSet *set, size_t from, float *x, uint8_t *colour, uint8_t *moving, size_t i) {
    memcpy(x + 3 * i, set->positions + 3 * from, 12);
    memcpy(colour + 3 * i, set->colour + 3 * from, 3);
    moving[i] = set->moving[from];
}

// Particles of which some coincide, some differ by less than a square can hold; past ones that are some of them.
static RolloutSet set_at_random(RolloutSet *now, size_t count) {
    RolloutSet set = {.N = count};
    set.positions = malloc(12 * count), set.colour = malloc(3 * count), set.moving = malloc(count);
    for (size_t i = 0; i < count; i++) {
        if (now && i % 3 == 0) copy_point(now, next_random() % N, set.positions, set.colour, set.moving, i);
        else point_at_random(set.positions, set.colour, set.moving, i);
        if (!now && i % 10 == 9) copy_point(&set, i - 5, set.positions, set.colour, set.moving, i);
        if (!now && i % 20 == 18) {
            copy_point(&set, i - 1, set.positions, set.colour, set.moving, i);
            set.positions[3 * i] = 1e-30f, set.positions[3 * (i - 1)] = 2e-30f;
        }
    }
    return set;
}

static MotionField motion_at_random(const RolloutSet *now) {
    MotionField field;
    Error err;
    assert_status_ok(motion_field_create(P, &field, &err), err);
    for (size_t i = 0; i < P; i++) {
        uint8_t colour[3], moving[1];
        point_at_random(field.position + 3 * i, colour, moving, 0);
        if (i % 2) copy_point(now, next_random() % N, field.position + 3 * i, colour, moving, 0);
        for (size_t c = 0; c < 3; c++) field.colour[3 * i + c] = (float)colour[c] / 255;
    }
    return field;
}

// What a scene tells, and the lengths that it counts for.
typedef struct Kind {
    bool radius, moving, labels;
    double reach, diagonal;
} Kind;

static uint16_t *labels_at_random(size_t count) {
    uint16_t *out = malloc(2 * count);
    for (size_t i = 0; i < count; i++) out[i] = (uint16_t)(next_random() >> 30);
    return out;
}

static double diagonal_of(const RolloutSet *set) {
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

static void drop_flags(RolloutSet *set) {
    free(set->moving);
    set->moving = NULL;
}

static RolloutFile file_at_random(Kind *kind) {
    RolloutFile file = {.set_count = 2};
    file.sets[0] = set_at_random(NULL, N);
    file.sets[1] = set_at_random(&file.sets[0], N - 50);
    file.motion = motion_at_random(&file.sets[0]);
    file.has_motion = true;
    for (int k = 0; k < 2; k++) {
        if (kind->labels) file.sets[k].labels = labels_at_random(file.sets[k].N);
        if (!kind->moving) drop_flags(&file.sets[k]);
    }
    if (kind->radius) file.sets[0].radius = malloc(4 * N);
    for (size_t i = 0; kind->radius && i < N; i++) file.sets[0].radius[i] = 0.0625f;
    kind->diagonal = diagonal_of(&file.sets[0]);
    kind->reach = kind->radius ? 0.0625 : 0.02 * kind->diagonal;
    return file;
}

static float flag_and_label(const Kind *kind, const uint8_t *moving, const uint16_t *labels, size_t i) {
    float step = (float)(4 * kind->reach), apart = (float)(4 * kind->diagonal + 1);
    return (moving ? (float)moving[i] * step : 0) + (labels ? (float)labels[i] * apart : 0);
}

// The arithmetic of files/rollout_ties.c and nn/knn.h, over all particles; `labels` NULL for motion.
static uint32_t plain_search(const RolloutSet *now, const Kind *kind, const float *x, const uint8_t *colour,
                             const uint8_t *moving, const uint16_t *labels, size_t at) {
    uint32_t best = 0;
    float least = INFINITY, scale = (float)(2 * kind->reach / 255);
    for (size_t i = 0; i < now->N; i++) {
        float sum = 0;
        for (size_t c = 0; c < 3; c++) {
            float d = now->positions[3 * i + c] - x[3 * at + c];
            sum += d * d;
        }
        for (size_t c = 0; c < 3; c++) {
            float d = (float)now->colour[3 * i + c] * scale - (float)colour[3 * at + c] * scale;
            sum += d * d;
        }
        float d = flag_and_label(kind, now->moving, labels ? now->labels : NULL, i) -
                  flag_and_label(kind, moving, labels, at);
        sum += d * d;
        if (sum < least) least = sum, best = (uint32_t)i;
    }
    return best;
}

static void assert_plain(const RolloutFile *file, const Kind *kind) {
    const RolloutSet *now = file->sets, *past = file->sets + 1;
    uint8_t colour[3 * P], moving[P];
    for (size_t i = 0; i < 3 * P; i++) colour[i] = (uint8_t)lrintf(file->motion.colour[i] * 255);
    memset(moving, 1, sizeof moving);
    for (size_t i = 0; i < P; i++)
        assert_int_equal(file->motion_owner[i],
                         plain_search(now, kind, file->motion.position, colour, now->moving ? moving : NULL, NULL, i));
    for (size_t i = 0; i < past->N; i++)
        assert_int_equal(past->ties[i],
                         plain_search(now, kind, past->positions, past->colour, past->moving, past->labels, i));
    assert_null(now->ties);
}

static void as_a_plain_search(void **state) {
    (void)state;
    for (int which = 0; which < 16; which++) {
        Kind kind = {.radius = which & 1, .moving = which & 2, .labels = which & 4};
        RolloutFile file = file_at_random(&kind);
        Device *device = NULL;
        Error err = {0};
        assert_status_ok(device_open("cpu", which & 8 ? 2 : 1, &device, &err), err);
        assert_status_ok(rollout_tie(&file, device, &err), err);
        assert_plain(&file, &kind);
        file.sets[1].ties[0] ^= 1; // what is known is left alone
        assert_status_ok(rollout_tie(&file, device, &err), err);
        file.sets[1].ties[0] ^= 1;
        assert_plain(&file, &kind);
        device_close(device);
        rollout_file_free(&file);
    }
}

// ---- what is kept

static void edit(RolloutFile *file, const char *first, const char *second) {
    Error err;
    EditReport report;
    const char *const edits[] = {first, second, NULL};
    assert_status_ok(edit_scene_apply(file, edits, 0, &report, &err), err);
}

static RolloutFile write_and_read(RolloutFile *file) {
    char folder[64], path[128];
    Error err;
    RolloutFile read;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/scene.h5", folder);
    assert_status_ok(rollout_file_write(file, path, &err), err);
    assert_status_ok(rollout_file_read(path, &read, &err), err);
    rollout_file_free(file);
    test_remove_folder(folder);
    return read;
}

static void forget(RolloutFile *file) {
    free(file->sets[1].ties);
    free(file->motion_owner);
    file->sets[1].ties = file->motion_owner = NULL;
}

static bool same_rows(const RolloutFile *a, const RolloutFile *b) {
    bool same = true;
    for (int k = 0; k < 2; k++) {
        const RolloutSet *x = a->sets + k, *y = b->sets + k;
        same = same && x->N == y->N && !memcmp(x->positions, y->positions, 12 * x->N);
    }
    return same && a->motion.count == b->motion.count &&
           !memcmp(a->motion.position, b->motion.position, 4 * MOTION_FIELD_WIDTH * a->motion.count);
}

// Two edits are the same by one list and by two with a file between. Copies stand where the copied thing stands: a
// search would tie the motion of all of them to one.
static void through_a_file(void **state) {
    (void)state;
    static const char copy[] = "copy: {label: [red, blue], by: [0, 0, 0], count: 3, as: twin}",
                      leave[] = "remove: {label: twin}";
    RolloutFile once = edit_scene(), twice = edit_scene(), searched = edit_scene();
    edit(&once, copy, leave);
    edit(&twice, copy, NULL);
    edit(&searched, copy, NULL);
    twice = write_and_read(&twice);
    searched = write_and_read(&searched);
    forget(&searched);
    edit(&twice, leave, NULL);
    edit(&searched, leave, NULL);
    assert_true(same_rows(&once, &twice));
    assert_false(same_rows(&once, &searched));
    rollout_file_free(&once);
    rollout_file_free(&twice);
    rollout_file_free(&searched);
}

// A later step: what was seen is its past, row by row.
static void of_a_step(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    Error err;
    edit_scene_steps(&file);
    assert_status_ok(edit_take_step(&file, 1, &err), err);
    for (size_t i = 0; i < ALL; i++) assert_int_equal(file.sets[1].ties[i], i);
    assert_null(file.sets[0].ties);
    rollout_file_free(&file);
}

// Squares that no float holds: some particle owns what is that far away.
static void too_far(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    for (size_t i = 0; i < 5; i++) file.sets[1].positions[3 * i] = 1e30f;
    edit(&file, "move: {label: red, by: [0, 0, 1]}", NULL);
    for (size_t i = 0; i < file.sets[1].N; i++) assert_true(file.sets[1].ties[i] < ALL);
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_plain_search), cmocka_unit_test(through_a_file),
                                       cmocka_unit_test(of_a_step), cmocka_unit_test(too_far)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
