// SPDX-License-Identifier: Apache-2.0
// Which pixels are a body's: beside another body, on a floor, far away, and of things at rest.
#include "tests/motion_world.h"

// pixels: the body of each, as bodies_register gives it; there are `count` bodies.
static void find_bodies(const MotionField *field, const PointCloud *now, const PointCloud *past, size_t count,
                        int32_t *pixels) {
    Bodies b = {0};
    Error err = {0};
    assert_status_ok(bodies_find(field, LENGTHS, &b, &err), err);
    assert_status_ok(bodies_register(field, now, past, LENGTHS, &b, pixels, &err), err);
    assert_int_equal(b.count, count);
    bodies_free(&b);
}

// Two boxes that touch and move nearly alike, over a floor, with noise: motion alone does not tell their pixels apart.
static void hues_tell_pixels_apart(void **state) {
    (void)state;
    enum { BOXES = 2 * PIXELS, FLOOR = 2000, ALL = BOXES + FLOOR };
    Thing box[2] = {RED, BLUE};
    for (int k = 0; k < 2; k++)
        for (int c = 0; c < 3; c++) {
            box[k].centre[c] = c == 2 ? 0.3 : c == 0 ? 0.2 * k : 0;
            box[k].half[c] = 0.1;
            box[k].turn[c] = k && c == 2 ? 0.15 : 0;
            box[k].shift[c] = c == 0 ? 0.02 : 0;
        }
    World w = world_make(box, 2, 0.006, 0.0005);
    PointCloud now = cloud_make(ALL), past = cloud_make(ALL), *from[2] = {&w.now, &w.past}, *to[2] = {&now, &past};
    for (int f = 0; f < 2; f++) {
        memcpy(to[f]->position, from[f]->position, 3 * BOXES * sizeof *now.position);
        memcpy(to[f]->colour, from[f]->colour, 3 * BOXES * sizeof *now.colour);
        for (size_t i = BOXES; i < ALL; i++) {
            for (size_t c = 0; c < 2; c++) to[f]->position[3 * i + c] = (real)noise(12, 3 * i + c);
            to[f]->moving[i] = 0;
        }
        for (size_t i = 0; i < ALL; i++) to[f]->pixel[i] = (int32_t)i;
    }
    int32_t pixels[ALL];
    find_bodies(&w.field, &now, &past, 2, pixels);
    for (size_t i = 0; i < ALL; i++) assert_int_equal(pixels[i], i < BOXES ? i >= PIXELS : -1);
    world_free(&w);
    point_cloud_free(&now);
    point_cloud_free(&past);
}

// A box with a long handle, and one more pixel that moves as they do but is far from all of them.
static void far_pixels_are_left(void **state) {
    (void)state;
    enum { HANDLE = 12, FAR = PIXELS + HANDLE, ALL = FAR + 1 };
    Thing box = RED;
    for (int c = 0; c < 3; c++) box.turn[c] = 0, box.shift[c] = 0.02 * (c == 0);
    World w = world_make(&box, 1, 0, 0.0005);
    PointCloud now = cloud_make(ALL), past = cloud_make(ALL), *from[2] = {&w.now, &w.past}, *to[2] = {&now, &past};
    for (int f = 0; f < 2; f++) {
        memcpy(to[f]->position, from[f]->position, 3 * PIXELS * sizeof *now.position);
        memcpy(to[f]->colour, from[f]->colour, 3 * PIXELS * sizeof *now.colour);
        for (size_t i = PIXELS; i < ALL; i++) {
            real *x = to[f]->position + 3 * i;
            for (size_t c = 0; c < 3; c++) x[c] = (real)box.centre[c], to[f]->colour[3 * i + c] = (real)box.colour[c];
            x[0] += (real)(f == 0 ? 0.02 : 0);
            x[1] += (real)(box.half[1] + (i == FAR ? 1.2 : 0.05 * (double)(i - PIXELS)));
        }
        for (size_t i = 0; i < ALL; i++) to[f]->pixel[i] = (int32_t)i;
    }
    int32_t pixels[ALL];
    find_bodies(&w.field, &now, &past, 1, pixels);
    for (size_t i = PIXELS; i < FAR; i++) assert_int_equal(pixels[i], 0);
    assert_int_equal(pixels[FAR], -1);
    world_free(&w);
    point_cloud_free(&now);
    point_cloud_free(&past);
}

// On a floor, with nothing that moves: two boxes that touch, of different hues; a long board, which is too wide for a
// body; and a box that is no more than a few pixels.
static void bodies_at_rest(void **state) {
    (void)state;
    enum { FLOOR = 4000, BOARD = 6000, FEW = 20, ALL = FLOOR + 2 * PIXELS + BOARD + FEW };
    const Thing floor = {{0, 0, -1}, {1, 1, 1}, {0}, {0}, {.5, .5, .5}},
                red = {{0, 0, .1}, {.1, .1, .1}, {0}, {0}, {.8, .1, .1}},
                blue = {{.2, 0, .1}, {.1, .1, .1}, {0}, {0}, {.1, .2, .9}},
                board = {{0, .6, .2}, {.5, .05, .2}, {0}, {0}, {.1, .6, .1}},
                small = {{.5, -.5, .05}, {.02, .02, .05}, {0}, {0}, {.9, .9, .1}};
    PointCloud cloud = cloud_make(ALL);
    size_t at = put_thing(&floor, FLOOR, false, &cloud, 0);
    for (size_t i = 0; i < FLOOR; i++) cloud.position[3 * i + 2] = 0;
    at = put_thing(&red, PIXELS, false, &cloud, at);
    at = put_thing(&blue, PIXELS, false, &cloud, at);
    at = put_thing(&board, BOARD, false, &cloud, at);
    at = put_thing(&small, FEW, false, &cloud, at);
    assert_int_equal(at, ALL);
    int32_t pixels[ALL];
    MotionField field;
    Bodies b = {0};
    Error err = {0};
    assert_status_ok(motion_field_create(0, &field, &err), err);
    assert_status_ok(bodies_find(&field, LENGTHS, &b, &err), err);
    assert_status_ok(bodies_register(&field, &cloud, &cloud, LENGTHS, &b, pixels, &err), err);
    assert_int_equal(b.count, 0);
    for (size_t i = 0; i < ALL; i++) {
        bool boxes = i >= FLOOR && i < FLOOR + 2 * PIXELS;
        if (!boxes) assert_int_equal(pixels[i], -1);
        else if ((double)cloud.position[3 * i + 2] > 0.016) assert_int_equal(pixels[i], i >= FLOOR + PIXELS);
    }
    bodies_free(&b);
    motion_field_free(&field);
    point_cloud_free(&cloud);
}

// A box on a floor, of whose pixels every second has no flag in either frame, and some of the floor under it has one:
// the pixels of the box are its own, and those of the floor stand still.
static void pixels_beside_a_body(void **state) {
    (void)state;
    enum { FLOOR = 2000, ALL = PIXELS + FLOOR };
    Thing box = RED;
    for (int c = 0; c < 3; c++) box.turn[c] = 0.05 * (c == 2), box.shift[c] = 0.004 * (c == 0);
    box.centre[2] = box.half[2] + 0.02;
    World w = world_make(&box, 1, 0, 0.0005);
    PointCloud now = cloud_make(ALL), past = cloud_make(ALL), *from[2] = {&w.now, &w.past}, *to[2] = {&now, &past};
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < ALL; i++) {
            bool floor = i >= PIXELS;
            for (size_t c = 0; c < 3; c++) {
                real ground = (real)(c < 2 ? noise(12, 3 * i + c) : 0);
                to[f]->position[3 * i + c] = floor ? ground : from[f]->position[3 * i + c];
                to[f]->colour[3 * i + c] = floor ? (real)0.5 : from[f]->colour[3 * i + c];
            }
            const real *x = to[f]->position + 3 * i;
            to[f]->moving[i] = floor ? fabs((double)x[0]) < 0.1 && fabs((double)x[1]) < 0.1 : i % 2;
        }
    int32_t pixels[ALL];
    find_bodies(&w.field, &now, &past, 1, pixels);
    for (size_t i = 0; i < ALL; i++)
        if (i >= PIXELS || now.position[3 * i + 2] > (real)0.006) assert_int_equal(pixels[i], i < PIXELS ? 0 : -1);
    world_free(&w);
    point_cloud_free(&now);
    point_cloud_free(&past);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_at_rest),
        cmocka_unit_test(hues_tell_pixels_apart),
        cmocka_unit_test(far_pixels_are_left),
        cmocka_unit_test(pixels_beside_a_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
