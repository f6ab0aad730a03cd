// SPDX-License-Identifier: Apache-2.0
// Points of past sets and clouds belong to the present particle that a plain search over all of them finds, entry by
// entry: also points that are particles, that were met before, that coincide, and whose differences vanish when they
// are squared; with and without radii, moving flags and labels. What was found is kept: in the file too, and through
// edits. And the grid answers what is nearest, or nothing.
#include "edit/nearby.h"
#include "edit/scene.h"
#include "tests/edit_scene.h"

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

static void copy_point(RolloutSet *set, size_t from, float *x, uint8_t *colour, uint8_t *moving, size_t i) {
    memcpy(x + 3 * i, set->positions + 3 * from, 12);
    memcpy(colour + 3 * i, set->colour + 3 * from, 3);
    moving[i] = set->moving[from];
}

// Particles of which some coincide, some differ by less than a square can hold; points that are some of them.
static RolloutSet set_at_random(RolloutSet *now, size_t count, size_t cloud) {
    RolloutSet set = {.N = count, .P = cloud};
    set.positions = malloc(12 * count), set.colour = malloc(3 * count), set.moving = malloc(count);
    set.cloud_positions = malloc(12 * cloud), set.cloud_colour = malloc(3 * cloud), set.cloud_moving = malloc(cloud);
    for (size_t i = 0; i < count; i++) {
        if (now && i % 3 == 0) copy_point(now, next_random() % N, set.positions, set.colour, set.moving, i);
        else point_at_random(set.positions, set.colour, set.moving, i);
        if (!now && i % 10 == 9) copy_point(&set, i - 5, set.positions, set.colour, set.moving, i);
        if (!now && i % 20 == 18) {
            copy_point(&set, i - 1, set.positions, set.colour, set.moving, i);
            set.positions[3 * i] = 1e-30f, set.positions[3 * (i - 1)] = 2e-30f;
        }
    }
    for (size_t i = 0; i < cloud; i++) {
        if (i % 2)
            copy_point(i % 4 == 1 || !now ? &set : now, next_random() % (count < N ? count : N), set.cloud_positions,
                       set.cloud_colour, set.cloud_moving, i);
        else point_at_random(set.cloud_positions, set.cloud_colour, set.cloud_moving, i);
    }
    return set;
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
    free(set->cloud_moving);
    set->moving = set->cloud_moving = NULL;
}

static RolloutFile file_at_random(Kind *kind) {
    RolloutFile file = {.set_count = 2};
    file.sets[0] = set_at_random(NULL, N, P);
    file.sets[1] = set_at_random(&file.sets[0], N - 50, P);
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

// The arithmetic of edit/tie.c and nn/knn.h, over all particles; `labels` NULL for a cloud.
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
    for (const RolloutSet *set = now; set <= past; set++)
        for (size_t i = 0; i < P; i++)
            assert_int_equal(set->cloud_ties[i], plain_search(now, kind, set->cloud_positions, set->cloud_colour,
                                                              set->cloud_moving, NULL, i));
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
        EditScene scene = {.file = &file, .device = device};
        assert_status_ok(scene_tie(&scene, true, &err), err);
        assert_plain(&file, &kind);
        file.sets[1].ties[0] ^= 1; // what is known is left alone
        assert_status_ok(scene_tie(&scene, true, &err), err);
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
    for (int k = 0; k < 2; k++) {
        free(file->sets[k].ties);
        free(file->sets[k].cloud_ties);
        file->sets[k].ties = file->sets[k].cloud_ties = NULL;
    }
}

static bool same_rows(const RolloutFile *a, const RolloutFile *b) {
    bool same = true;
    for (int k = 0; k < 2; k++) {
        const RolloutSet *x = a->sets + k, *y = b->sets + k;
        same = same && x->N == y->N && x->P == y->P && !memcmp(x->positions, y->positions, 12 * x->N) &&
               !memcmp(x->cloud_positions, y->cloud_positions, 12 * x->P);
    }
    return same;
}

// Two edits are the same by one list and by two with a file between. Copies stand in the thing that was copied: a
// search among them would tie many points to others.
static void through_a_file(void **state) {
    (void)state;
    static const char copy[] = "copy: {label: [red, blue], by: [0.013, 0, 0], count: 3, as: twin}",
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

// Labels are of particles alone: clouds stay as they are, and their ties are not looked for.
static void labels_need_no_clouds(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    edit(&file, "label: {label: red, as: crate}", "cluster: {label: blue}");
    assert_true(file.sets[1].ties && !file.sets[0].cloud_ties && !file.sets[1].cloud_ties);
    file = write_and_read(&file);
    assert_true(file.sets[1].ties && !file.sets[0].cloud_ties && !file.sets[1].cloud_ties);
    edit(&file, "label: {label: crate, as: box}", "move: {label: box, by: [1, 0, 0]}");
    assert_true(file.sets[0].cloud_ties && file.sets[1].cloud_ties);
    rollout_file_free(&file);
}

// A later step: what was seen is its past, row by row, and particles are the clouds.
static void of_a_step(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    Error err;
    edit_scene_steps(&file);
    assert_status_ok(edit_take_step(&file, 1, &err), err);
    for (size_t i = 0; i < ALL; i++) {
        assert_int_equal(file.sets[1].ties[i], i);
        assert_int_equal(file.sets[0].cloud_ties[i], i);
        assert_int_equal(file.sets[1].cloud_ties[i], i);
    }
    assert_null(file.sets[0].ties);
    rollout_file_free(&file);
}

// ---- the grid

enum { MANY = 3000 };

// Particles in clumps of different size, some of them one place, one far off; the last coordinate is a flag.
static void clumps(float *x, float *extra) {
    for (size_t i = 0; i < MANY; i++) {
        float size = i % 3 == 0 ? 1.0f : i % 3 == 1 ? 0.01f : 0;
        for (size_t c = 0; c < 3; c++) x[3 * i + c] = (float)(i % 5) + size * (float)(next_random() >> 8) / (1 << 24);
        for (size_t c = 0; c < 3; c++) extra[4 * i + c] = 0.001f * (float)(next_random() >> 28);
        extra[4 * i + 3] = next_random() >> 31 ? 0.25f : 0;
    }
    x[0] = 40;
}

static uint32_t plain_nearest(const float *x, const float *extra, const float *q) {
    uint32_t best = 0;
    float least = INFINITY;
    for (size_t i = 0; i < MANY; i++) {
        float sum = 0;
        for (size_t d = 0; d < NEARBY_DIMS; d++) {
            float e = (d < 3 ? x[3 * i + d] : extra[4 * i + d - 3]) - q[d];
            sum += e * e;
        }
        if (sum < least) least = sum, best = (uint32_t)i;
    }
    return best;
}

// What the grid answers is the nearest; it answers points near particles, and without limits all. `scale` and `away`:
// lengths of the scene, and where it lies.
static void grid(float scale, float away) {
    static float x[3 * MANY], extra[4 * MANY], q[MANY][NEARBY_DIMS];
    const NearbyLimits limits[] = {{4, 1024}, {INFINITY, SIZE_MAX}, {4, 3}};
    size_t answered[3] = {0};
    Nearby nearby;
    clumps(x, extra);
    for (size_t i = 0; i < 3 * MANY; i++) x[i] = x[i] * scale + away;
    for (size_t i = 0; i < 4 * MANY; i++) extra[i] *= scale;
    for (size_t i = 0; i < MANY; i++) {
        float off = i % 2 ? 0 : i % 4 ? 0.02f * scale : 0.5f * scale;
        for (size_t c = 0; c < 3; c++) q[i][c] = x[3 * i + c] + off * (float)(next_random() >> 8) / (1 << 24);
        memcpy(q[i] + 3, extra + 4 * (i % 8 ? i : next_random() % MANY), 16);
        if (i % 100 == 0) q[i][i % 3] += (i % 200 ? -1e3f : 1e30f) * scale; // far outside
    }
    assert_true(nearby_open(&nearby, MANY, x, extra, 1));
    for (size_t which = 0; which < 3; which++)
        for (size_t i = 0; i < MANY; i += NEARBY_POINTS) {
            uint32_t found[NEARBY_POINTS];
            size_t n = MANY - i < NEARBY_POINTS ? MANY - i : NEARBY_POINTS;
            nearby_find(&nearby, limits[which], n, (const float(*)[NEARBY_DIMS])q + i, found);
            for (size_t k = 0; k < n; k++) {
                if (found[k] == NEARBY_NONE) continue;
                answered[which]++;
                assert_int_equal(found[k], plain_nearest(x, extra, q[i + k]));
            }
        }
    nearby_close(&nearby);
    nearby_close(&nearby);
    assert_true(answered[0] > MANY / 2 && answered[0] < MANY && answered[2] < MANY / 10);
    assert_true(answered[1] >= MANY - MANY / 100); // squares of what is 1e30 away are infinite
}

static void nearest_in_the_grid(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++) grid(1, 0);
    grid(1e-6f, 0);
    grid(1, 1000); // places of few digits
    grid(1e6f, -3e6f);
}

// One place has no cells, nor what is too large for squares: nothing is answered, and a tree gives the answer.
static void scenes_without_a_grid(void **state) {
    (void)state;
    const float x[] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, extra[12] = {0}, wide[] = {0, 0, 0, 1e25f, 0, 0, -3e38f, 0, 0};
    const float q[1][NEARBY_DIMS] = {{1, 1, 1}};
    for (int i = 0; i < 2; i++) {
        Nearby nearby;
        uint32_t found = 0;
        assert_true(nearby_open(&nearby, 3, i ? wide : x, extra, 1));
        nearby_find(&nearby, (NearbyLimits){INFINITY, SIZE_MAX}, 1, q, &found);
        assert_int_equal(found, NEARBY_NONE);
        nearby_close(&nearby);
    }
    Kind kind = {.moving = true};
    RolloutFile file = file_at_random(&kind);
    for (size_t i = 0; i < 3 * N; i++) file.sets[0].positions[i] = 0.5f;
    kind.diagonal = kind.reach = 0;
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu", 2, &device, &err), err);
    assert_status_ok(edit_tie(&file, device, &err), err);
    assert_plain(&file, &kind);
    device_close(device);
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_plain_search),     cmocka_unit_test(through_a_file),
        cmocka_unit_test(labels_need_no_clouds), cmocka_unit_test(of_a_step),
        cmocka_unit_test(nearest_in_the_grid),   cmocka_unit_test(scenes_without_a_grid)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
