// SPDX-License-Identifier: Apache-2.0
// Particles as bytes for the page: what is read back is what was in the file; bodies come first; of very many particles
// only some are shown, and the head says so.
#include "base/json.h"
#include "tests/edit_scene.h"
#include "view/scene.h"

static uint32_t number_at(const ViewBytes *bytes, size_t at) {
    uint32_t value;
    memcpy(&value, bytes->data + at, 4);
    return value;
}

static json_t *head_of(const ViewBytes *bytes, size_t *end) {
    size_t size = number_at(bytes, 0);
    json_t *head = json_loadb((char *)bytes->data + 4, size, 0, NULL);
    assert_non_null(head);
    assert_int_equal(size % 4, 0);
    *end = 4 + size;
    return head;
}

static long whole(json_t *head, const char *key) { return (long)json_integer_value(json_object_get(head, key)); }

// Position of the k-th particle of a step that begins at `at`.
static void place(const ViewBytes *bytes, size_t at, size_t k, double out[3]) {
    float box[6];
    memcpy(box, bytes->data + at, sizeof box);
    for (size_t c = 0; c < 3; c++) {
        uint16_t value;
        memcpy(&value, bytes->data + at + 24 + 2 * (3 * k + c), 2);
        out[c] = (double)box[c] + ((double)box[3 + c] - (double)box[c]) * value / 65535;
    }
}

static void test_bytes(void **state) {
    (void)state;
    RolloutFile file = edit_scene();
    ViewBytes bytes = {0};
    Error err;
    double p[3];
    size_t at, movers = 2 * BLOCK;
    edit_scene_steps(&file);
    assert_status_ok(view_file_bytes(&file, &bytes, &err), err);
    json_t *head = head_of(&bytes, &at);
    assert_int_equal(whole(head, "shown"), ALL);
    assert_int_equal(whole(head, "movers"), movers);
    assert_int_equal(whole(head, "every"), 1);
    assert_int_equal(json_array_size(json_object_get(head, "cameras")), 1);
    assert_string_equal(json_string_value(json_object_get(head, "labels")), "background\nred\nblue\n");
    const unsigned char *colour = bytes.data + at, *body = colour + 4 * ALL + 2 * 2 * ALL;
    assert_int_equal(colour[0], 200); // a red particle is the first
    assert_int_equal(body[0] + 256 * body[1], RED + 1);
    assert_int_equal(body[2 * movers] + 256 * body[2 * movers + 1], 0);
    at += 4 * ALL + 3 * 2 * ALL;
    for (size_t s = 0; s <= 2; s++) {
        const float *x = s == 0 ? file.sets[0].positions : file.positions + (s - 1) * 3 * ALL;
        for (size_t k = 0; k < movers; k++) {
            place(&bytes, at, k, p);
            for (size_t c = 0; c < 3; c++) // half of 1/65535 of a box of less than 2.1 m
                assert_close(p[c], (double)x[3 * (FLOOR + k) + c], 2e-5, 0);
        }
        at += 24 + 6 * (s == 0 ? ALL : movers);
    }
    assert_int_equal(at, bytes.size);
    json_decref(head);
    free(bytes.data);
    rollout_file_free(&file);
}

// Against gravity: as the cameras say, but z in scenes of the simulator.
static void test_up(void **state) {
    (void)state;
    double pose[16] = {1, 0, 0, 0, 0, -.8, -.6, 3, 0, .6, -.8, 4, 0, 0, 0, 1}; // looks along -z and down, y is up
    const RolloutSurface simulated = {.frames = 1};
    ViewScene scene = {.V = 1, .world_from_camera = pose};
    view_find_up(&scene);
    for (int c = 0; c < 3; c++) assert_close(scene.up[c], c == 1, 1e-12, 0); // the world's axis itself
    scene.surface = &simulated;
    view_find_up(&scene);
    for (int c = 0; c < 3; c++) assert_close(scene.up[c], c == 2, 1e-12, 0);
}

// A million particles, and nothing but positions.
static void test_many(void **state) {
    (void)state;
    enum { MANY = 1000000 };
    RolloutFile file = {.set_count = 1, .time_step = 0.05};
    ViewBytes bytes = {0};
    Error err;
    size_t at;
    file.sets[0] = (RolloutSet){.N = MANY, .positions = calloc(3 * MANY, 4)};
    file.time = calloc(1, sizeof(double));
    for (size_t i = 0; i < 3 * MANY; i++) file.sets[0].positions[i] = (float)i;
    file.sets[0].positions[4] = INFINITY; // of a damaged file
    file.sets[0].radius = calloc(MANY, 4);
    for (size_t i = 2; i < MANY; i++) file.sets[0].radius[i] = 0.1F; // the first two are hidden points
    assert_status_ok(view_file_bytes(&file, &bytes, &err), err);
    json_t *head = head_of(&bytes, &at);
    assert_int_equal(whole(head, "particles"), MANY - 2);
    assert_int_equal(whole(head, "every"), 4);
    assert_int_equal(whole(head, "shown"), MANY / 4 - 1);
    assert_int_equal(whole(head, "movers"), MANY / 4 - 1); // without bodies all may move
    assert_true(bytes.size < 10 * MANY);
    json_decref(head);
    free(bytes.data);
    rollout_file_free(&file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bytes), cmocka_unit_test(test_up),
                                       cmocka_unit_test(test_many)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
