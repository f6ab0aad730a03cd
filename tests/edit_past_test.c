// SPDX-License-Identifier: Apache-2.0
// Scenes with a past set. Its particles belong to the present particle that a plain search over all of them finds,
// entry by entry: also where they coincide; with and without radii and labels. What was found is kept: in the file too,
// and through edits, which treat the past particles as they treat their owners.
#include "tests/edit_scene.h"

#include "files/rollout_ties.h"

#include <math.h>

enum { N = 400 };

static uint32_t state_of_random = 1;
static uint32_t next_random(void) { return state_of_random = state_of_random * 1664525u + 1013904223u; }

static void point_at_random(float *x, uint8_t *colour, size_t i) {
    for (size_t c = 0; c < 3; c++) {
        x[3 * i + c] = (float)(next_random() >> 8) / (1 << 24);
        colour[3 * i + c] = (uint8_t)(next_random() >> 29);
    }
}

static void copy_point(const RolloutSet *set, size_t from, float *x, uint8_t *colour, size_t i) {
    memcpy(x + 3 * i, set->positions + 3 * from, 12);
    memcpy(colour + 3 * i, set->colour + 3 * from, 3);
}

// Particles of which some coincide, some differ by less than a square can hold; past ones that are some of them.
static RolloutSet set_at_random(RolloutSet *now, size_t count) {
    RolloutSet set = {.N = count};
    set.positions = malloc(12 * count), set.colour = malloc(3 * count);
    for (size_t i = 0; i < count; i++) {
        if (now && i % 3 == 0) copy_point(now, next_random() % N, set.positions, set.colour, i);
        else point_at_random(set.positions, set.colour, i);
        if (!now && i % 10 == 9) copy_point(&set, i - 5, set.positions, set.colour, i);
        if (!now && i % 20 == 18) {
            copy_point(&set, i - 1, set.positions, set.colour, i);
            set.positions[3 * i] = 1e-30f, set.positions[3 * (i - 1)] = 2e-30f;
        }
    }
    return set;
}

// What a scene tells, and the lengths that it counts for.
typedef struct Kind {
    bool radius, labels;
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

static RolloutFile file_at_random(Kind *kind) {
    RolloutFile file = {.set_count = 2};
    file.sets[0] = set_at_random(NULL, N);
    file.sets[1] = set_at_random(&file.sets[0], N - 50);
    for (int k = 0; k < 2 && kind->labels; k++) file.sets[k].labels = labels_at_random(file.sets[k].N);
    if (kind->radius) file.sets[0].radius = malloc(4 * N);
    for (size_t i = 0; kind->radius && i < N; i++) file.sets[0].radius[i] = 0.0625f;
    kind->diagonal = diagonal_of(&file.sets[0]);
    kind->reach = kind->radius ? 0.0625 : 0.02 * kind->diagonal;
    return file;
}

// The arithmetic of files/rollout_ties.c and nn/knn.h, over all particles.
static uint32_t plain_search(const RolloutSet *now, const Kind *kind, const RolloutSet *past, size_t at) {
    uint32_t best = 0;
    float least = INFINITY, scale = (float)(2 * kind->reach / 255), apart = (float)(4 * kind->diagonal + 1);
    for (size_t i = 0; i < now->N; i++) {
        float sum = 0;
        for (size_t c = 0; c < 3; c++) {
            float d = now->positions[3 * i + c] - past->positions[3 * at + c];
            sum += d * d;
        }
        for (size_t c = 0; c < 3; c++) {
            float d = (float)now->colour[3 * i + c] * scale - (float)past->colour[3 * at + c] * scale;
            sum += d * d;
        }
        float d = kind->labels ? (float)now->labels[i] * apart - (float)past->labels[at] * apart : 0;
        sum += d * d;
        if (sum < least) least = sum, best = (uint32_t)i;
    }
    return best;
}

static void assert_plain(const RolloutFile *file, const Kind *kind) {
    const RolloutSet *now = file->sets, *past = file->sets + 1;
    for (size_t i = 0; i < past->N; i++) assert_int_equal(past->ties[i], plain_search(now, kind, past, i));
    assert_null(now->ties);
}

static void as_a_plain_search(void **state) {
    (void)state;
    for (int which = 0; which < 8; which++) {
        Kind kind = {.radius = which & 1, .labels = which & 2};
        RolloutFile file = file_at_random(&kind);
        Device *device = NULL;
        Error err = {0};
        assert_status_ok(device_open("cpu", which & 4 ? 2 : 1, &device, &err), err);
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

// ---- a scene with a past

// The scene of edit_scene.h with a past set instead of bodies. It has no row for the first three particles.
enum { UNSEEN = 3 };

static RolloutFile past_scene(void) {
    RolloutFile file = edit_scene();
    RolloutSet *now = &file.sets[0], *past = &file.sets[1];
    file.set_count = 2;
    past->N = ALL - UNSEEN, past->D = FEATURES;
    past->positions = now->before;
    past->features = malloc(past->N * FEATURES * 4);
    past->colour = malloc(past->N * 3);
    memmove(past->positions, past->positions + 3 * UNSEEN, past->N * 12);
    memcpy(past->features, now->features + FEATURES * UNSEEN, past->N * FEATURES * 4);
    memcpy(past->colour, now->colour + 3 * UNSEEN, past->N * 3);
    free(now->body), free(now->moving);
    now->before = NULL, now->body = NULL, now->moving = NULL;
    return file;
}

// Mean place of the particles of a colour.
static void assert_centre(const RolloutSet *set, int channel, const double place[3]) {
    double mean[3] = {0}, count = (double)edit_scene_coloured(set, channel);
    assert_true(count > 0);
    for (size_t i = 0; i < set->N; i++)
        for (size_t c = 0; c < 3 && set->colour[3 * i + (size_t)channel] == 200; c++)
            mean[c] += set->positions[3 * i + c] / count;
    for (int c = 0; c < 3; c++) assert_close(mean[c], place[c], 1e-5, 0);
}

static void assert_centres(const RolloutFile *file, int channel, const double now[3], const double past[3]) {
    assert_centre(&file->sets[0], channel, now);
    assert_centre(&file->sets[1], channel, past);
}

static const double red[3] = {-0.425, 0.075, 0.275};

// Past particles go where their owners go, and take the labels and looks of these.
static void of_owners(void **state) {
    (void)state;
    RolloutFile file = past_scene();
    RUN(&file, "remove: {label: red}", "copy: {label: blue, by: [0, 0, 1], count: 2}");
    assert_int_equal(file.sets[1].N, ALL + BLOCK - UNSEEN);
    assert_int_equal(edit_scene_coloured(&file.sets[1], 0), 0);
    for (int l = 2; l <= 4; l++) assert_int_equal(edit_scene_labelled(&file.sets[1], l), BLOCK);
    assert_centres(&file, 2, (double[]){0.475, 0.075, 1.275}, (double[]){0.375, 0.075, 1.275});
    RUN(&file, "remove: {floor: true}");
    assert_int_equal(file.sets[1].N, 3 * BLOCK);
    rollout_file_free(&file);

    file = past_scene();
    RUN(&file, "move: {label: red, by: [0, 0.5, 1]}", "rotate: {label: red, axis: [0, 0, 2], angle: 90}",
        "scale: {label: red, factor: 2}");
    assert_centres(&file, 0, (double[]){-0.425, 0.575, 1.275}, (double[]){-0.425, 0.375, 1.275});
    RUN(&file, "recolour: {label: red, like: {label: blue}}");
    assert_int_equal(edit_scene_coloured(&file.sets[1], 2), 2 * BLOCK);
    rollout_file_free(&file);
}

// (now - past) / time step grows by the velocity; with `replace` it is the velocity, and gravity bends the way.
static void thrown(void **state) {
    Error err;
    EditReport report;
    (void)state;
    RolloutFile file = past_scene();
    RUN(&file, "throw: {label: red, velocity: [0, 2, 4]}");
    assert_centres(&file, 0, red, (double[]){-0.425 - 0.1, 0.075 - 0.1, 0.275 - 0.2});
    RUN(&file, "throw: {label: red, velocity: [0, 2, 4], replace: true}");
    assert_centres(&file, 0, red, (double[]){-0.425, 0.075 - 0.1, 0.275 - 0.2});
    assert_int_equal(file.sets[1].N, ALL - UNSEEN);
    RUN(&file, "throw: {label: red, velocity: [0, 0, 0], gravity: [0, 0, -8], replace: true}");
    assert_centres(&file, 0, red, (double[]){-0.425, 0.075, 0.275 - 0.5 * 8 * 0.05 * 0.05});
    RUN(&file, "throw: {label: blue, velocity: [0, 0, 0]}"); // nothing
    assert_centres(&file, 2, (double[]){0.475, 0.075, 0.275}, (double[]){0.375, 0.075, 0.275});
    static const char unseen[] = "throw: {box: {min: [-2, -2, -1], max: [-0.75, -0.95, 1]}, velocity: [0, 0, 1]}";
    assert_status_error(edit_scene_apply(&file, EDITS(unseen), 0, &report, &err), STATUS_BAD_INPUT, err,
                        "the past set has no particles of the selection; `replace: true` adds them");
    rollout_file_free(&file);

    file = edit_scene(); // neither bodies nor a past
    free(file.sets[0].before), free(file.sets[0].body), free(file.sets[0].moving);
    file.sets[0].before = NULL, file.sets[0].body = NULL, file.sets[0].moving = NULL;
    assert_status_error(edit_scene_apply(&file, EDITS("throw: {label: red, velocity: [0, 0, 1]}"), 0, &report, &err),
                        STATUS_BAD_INPUT, err, "a velocity needs bodies or a past set; the file has neither");
    rollout_file_free(&file);
}

static void composed(void **state) {
    char folder[64], path[96], edit[256];
    Error err;
    (void)state;
    RolloutFile file = past_scene();
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/other.h5", folder);
    edit_scene_steps(&file);
    assert_status_ok(rollout_file_write(&file, path, &err), err);
    rollout_file_free(&file);
    file = past_scene();
    snprintf(edit, sizeof edit, "compose: {file: %s, label: red, by: [0, 1, 0], step: 2}", path);
    RUN(&file, edit);
    assert_int_equal(file.sets[1].N, ALL + BLOCK - UNSEEN);
    assert_int_equal(edit_scene_labelled(&file.sets[1], 3), BLOCK);
    assert_close(file.sets[1].positions[3 * (ALL - UNSEEN)] - file.sets[0].positions[3 * ALL], -0.1, 1e-5, 0);
    for (size_t i = 0; i < BLOCK; i++) assert_int_equal(file.sets[1].ties[ALL - UNSEEN + i], ALL + i);
    rollout_file_free(&file);
    test_remove_folder(folder);
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
    free(file->sets[1].labels);
    file->sets[1].ties = NULL, file->sets[1].labels = NULL;
}

static bool same_rows(const RolloutFile *a, const RolloutFile *b) {
    bool same = true;
    for (int k = 0; k < 2; k++) {
        const RolloutSet *x = a->sets + k, *y = b->sets + k;
        same = same && x->N == y->N && !memcmp(x->positions, y->positions, 12 * x->N);
    }
    return same;
}

// Two edits are the same by one list and by two with a file between. Copies stand where the copied thing stands: a
// search would tie the past of all of them to one.
static void through_a_file(void **state) {
    (void)state;
    static const char copy[] = "copy: {label: [red, blue], by: [0, 0, 0], count: 3, as: twin}",
                      leave[] = "remove: {label: twin}";
    RolloutFile once = past_scene(), twice = past_scene(), searched = past_scene();
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

// A later step: the step before it is its past, row by row.
static void of_a_step(void **state) {
    (void)state;
    RolloutFile file = past_scene();
    Error err;
    edit_scene_steps(&file);
    assert_status_ok(edit_take_step(&file, 1, &err), err);
    for (size_t i = 0; i < ALL; i++) assert_int_equal(file.sets[1].ties[i], i);
    assert_null(file.sets[0].ties);
    assert_centres(&file, 0, (double[]){red[0] + 0.1, red[1], red[2]}, red);
    rollout_file_free(&file);
}

// Of more past sets, those of the rollout come before those that were seen; the oldest go.
static void of_older_sets(void **state) {
    (void)state;
    for (size_t step = 1; step <= 2; step++) {
        RolloutFile file = past_scene();
        Error err;
        edit_scene_steps(&file);
        file.set_count = 3;
        file.sets[2] = (RolloutSet){.N = 1, .D = FEATURES, .positions = calloc(3, 4), .features = calloc(FEATURES, 4)};
        float *now = file.sets[0].positions, *past = file.sets[1].positions, first[3];
        memcpy(first, now + 3 * FLOOR, sizeof first);
        assert_status_ok(edit_take_step(&file, step, &err), err);
        assert_int_equal(file.set_count, 3);
        assert_int_equal(file.sets[1].N, ALL);
        assert_close(file.sets[0].positions[3 * FLOOR], first[0] + 0.1 * (double)step, 1e-6, 0);
        assert_close(file.sets[1].positions[3 * FLOOR], first[0] + 0.1 * (double)(step - 1), 1e-6, 0);
        assert_int_equal(file.sets[2].N, step == 1 ? ALL - UNSEEN : ALL);
        if (step == 1) assert_ptr_equal(file.sets[2].positions, past);
        else assert_memory_equal(file.sets[2].positions + 3 * FLOOR, first, sizeof first);
        rollout_file_free(&file);
    }
}

// Squares that no float holds: some particle owns what is that far away.
static void too_far(void **state) {
    (void)state;
    RolloutFile file = past_scene();
    for (size_t i = 0; i < 5; i++) file.sets[1].positions[3 * i] = 1e30f;
    edit(&file, "move: {label: red, by: [0, 0, 1]}", NULL);
    for (size_t i = 0; i < file.sets[1].N; i++) assert_true(file.sets[1].ties[i] < ALL);
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_plain_search), cmocka_unit_test(of_owners), cmocka_unit_test(thrown),
        cmocka_unit_test(composed),          cmocka_unit_test(of_a_step), cmocka_unit_test(through_a_file),
        cmocka_unit_test(of_older_sets),     cmocka_unit_test(too_far),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
