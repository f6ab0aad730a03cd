// SPDX-License-Identifier: Apache-2.0
// Things of one colour that move over a floor: sides that slide along themselves look still, and the body is whole and
// has its motion all the same.
#include "tests/motion_world.h"

enum { GROUND = 4000 };

// Pixels of a floor at height 0.
static size_t put_floor(PointCloud *cloud) {
    const Thing floor = {{0, 0, -1}, {1, 1, 1}, {0}, {0}, {.5, .5, .5}};
    put_thing(&floor, GROUND, false, cloud, 0);
    for (size_t i = 0; i < GROUND; i++) cloud->position[3 * i + 2] = 0;
    return GROUND;
}

// The outside of an upright box in columns of pixels, which are as high in both frames as the picture has them, and end
// on the flat top, or where the picture does. hue: the channel of the colour that is bright.
static void put_columns(const double low[3], const double size[3], double rise, double picture, size_t hue,
                        PointCloud *cloud) {
    enum { ACROSS = 4, ALONG = 8 };
    const double gap = 0.04, bottom = low[2] + rise, top = bottom + size[2];
    for (int k = 0; k < ACROSS * ALONG; k++) {
        const int x = k % ACROSS, y = k / ACROSS;
        const bool side = x == 0 || y == 0 || x == ACROSS - 1 || y == ALONG - 1;
        const double first = gap * fabs(noise(5, (size_t)k)), rows = ceil((bottom - first) / gap);
        for (double z = side ? first + gap * rows : top; z < top + gap && fmin(z, top) < picture; z += gap) {
            const double at[3] = {low[0] + size[0] * x / (ACROSS - 1), low[1] + size[1] * y / (ALONG - 1),
                                  fmin(z, top)};
            for (size_t c = 0; c < 3; c++) {
                cloud->position[3 * cloud->count + c] = (real)at[c];
                cloud->colour[3 * cloud->count + c] = (real)(c == hue ? 0.2 : 0.05);
            }
            cloud->pixel[cloud->count] = (int32_t)cloud->count;
            cloud->count++;
        }
    }
}

// Flags the pixels that are farther than `far` from all of the other frame.
static void flag_changes(PointCloud *cloud, const PointCloud *other, double far) {
    for (size_t i = 0; i < cloud->count; i++) {
        double d2 = INFINITY;
        for (size_t j = 0; j < other->count; j++)
            d2 = fmin(d2, squared_distance(cloud->position + 3 * i, other->position + 3 * j));
        cloud->moving[i] = d2 > far * far;
    }
}

// The field is of one body, which moved by `shift`, metres.
static void check_one(const MotionField *field, const PointCloud *now, const PointCloud *past, const double shift[3],
                      double tolerance, int32_t *pixels) {
    Bodies b = {0};
    Error err = {0};
    assert_status_ok(bodies_find(field, LENGTHS, &b, &err), err);
    assert_status_ok(bodies_register(field, now, past, LENGTHS, &b, pixels, &err), err);
    assert_int_equal(b.count, 1);
    for (size_t c = 0; c < 3; c++) assert_close(b.list[0].shift[c], shift[c], tolerance, 0);
    bodies_free(&b);
}

// A tall box of one colour rises by a pixel and a part. Its sides look as before; only its top tells that it moved.
// `beside`: with it rises one of another hue, whose top the picture does not have.
static void see_rise(bool beside) {
    enum { ALL = GROUND + 2000, TOP = 8 };
    const double low[3] = {0.2, 0.1, 0.1}, size[3] = {0.06, 0.14, 0.36}, rise = beside ? 0.045 : 0.06;
    const double other[3] = {0.28, 0.1, 0.1}, picture = 0.4;
    PointCloud past = cloud_make(ALL), now = cloud_make(ALL);
    past.count = put_floor(&past);
    now.count = put_floor(&now);
    if (beside) put_columns(other, size, 0, picture, 0, &past);
    if (beside) put_columns(other, size, rise, picture, 0, &now);
    put_columns(low, size, 0, 1, 2, &past);
    put_columns(low, size, rise, 1, 2, &now);
    flag_changes(&past, &now, 0.01);
    flag_changes(&now, &past, 0.01);
    MotionField field;
    Error err = {0};
    assert_status_ok(motion_field_create(TOP, &field, &err), err);
    for (size_t j = 0; j < TOP; j++) {
        const size_t pixel = now.count - 1 - 3 * j;
        memcpy(field.position + 3 * j, now.position + 3 * pixel, 3 * sizeof *field.position);
        memcpy(field.colour + 3 * j, now.colour + 3 * pixel, 3 * sizeof *field.colour);
        for (size_t c = 0; c < 3; c++) field.motion[3 * j + c] = (real)(rise * (c == 2) + 0.01 * noise(3, 3 * j + c));
    }
    int32_t pixels[ALL];
    check_one(&field, &now, &past, (double[]){0, 0, rise}, 0.001, pixels);
    for (size_t i = 0; i < now.count; i++) assert_int_equal(pixels[i], i < GROUND ? -1 : 0);
    motion_field_free(&field);
    point_cloud_free(&now);
    point_cloud_free(&past);
}

static void what_slides_along_itself(void **state) {
    (void)state;
    see_rise(false);
}

static void what_rises_out_of_the_picture(void **state) {
    (void)state;
    see_rise(true);
}

// Paints a few pixels of a box on its top, at one corner.
static void paint_corner(real *x, real *c, double slid) {
    enum { FEW = 16 };
    for (size_t i = 0, painted = 0; i < PIXELS && painted < FEW; i++) {
        if ((double)x[3 * i] > -0.05 || (double)x[3 * i + 1] - slid > -0.05 || (double)x[3 * i + 2] < 0.19) continue;
        for (size_t d = 0; d < 3; d++) c[3 * i + d] = (real)(d == 1 ? 0.8 : 0.1);
        painted++;
    }
}

// A box that slides by a millimetre, with a mark, and one of another hue that touches it and stands still.
static void what_stands_beside_a_slow_body(void **state) {
    (void)state;
    enum { ALL = GROUND + 2 * PIXELS };
    Thing slow = {{0, 0, .1}, {.1, .1, .1}, {0}, {0, .001, 0}, {.8, .1, .1}};
    const Thing still = {{.2, 0, .1}, {.1, .1, .1}, {0}, {0}, {.1, .2, .9}};
    World w = world_make(&slow, 1, 0, 0);
    PointCloud now = cloud_make(ALL), past = cloud_make(ALL), *from[2] = {&w.now, &w.past}, *to[2] = {&now, &past};
    for (int f = 0; f < 2; f++) {
        size_t at = put_floor(to[f]);
        memcpy(to[f]->position + 3 * at, from[f]->position, 3 * PIXELS * sizeof *now.position);
        memcpy(to[f]->colour + 3 * at, from[f]->colour, 3 * PIXELS * sizeof *now.colour);
        for (size_t i = at; i < at + PIXELS; i++) to[f]->moving[i] = i % 4 == 0, to[f]->pixel[i] = (int32_t)i;
        paint_corner(to[f]->position + 3 * at, to[f]->colour + 3 * at, f ? 0 : slow.shift[1]);
        put_thing(&still, PIXELS, false, to[f], at + PIXELS);
    }
    int32_t pixels[ALL];
    check_one(&w.field, &now, &past, slow.shift, 0.0001, pixels);
    for (size_t i = GROUND; i < ALL; i++)
        if ((double)now.position[3 * i + 2] > 0.016) assert_int_equal(pixels[i], i >= GROUND + PIXELS);
    world_free(&w);
    point_cloud_free(&now);
    point_cloud_free(&past);
}

// A long box that goes across its long side. Its top and its ends look as before, and the field is off along it.
static void what_is_wide_and_slides_along_itself(void **state) {
    (void)state;
    enum { PLATE = 3000, ALL = GROUND + PLATE, POINTS = 30 };
    Thing plate = {{0, 0, .35}, {.65, .08, .25}, {0}, {0, .04, 0}, {.05, .05, .2}};
    const double off = 0.04;
    const size_t axis[] = {1, 1, 1, 1, 1, 1, 0, 2}; // of the sides: those across its way are the largest
    PointCloud past = cloud_make(ALL), now = cloud_make(ALL), *cloud[2] = {&past, &now};
    for (size_t f = 0; f < 2; f++) {
        size_t at = put_floor(cloud[f]);
        if (f)
            for (size_t c = 0; c < 3; c++) plate.centre[c] += plate.shift[c];
        for (size_t i = 0; i < PLATE; i++, at++) {
            draw(&plate, 20 + (uint32_t)f, 3 * i + axis[i % 8], 0, cloud[f]->position + 3 * at,
                 cloud[f]->colour + 3 * at);
            cloud[f]->pixel[at] = (int32_t)at;
        }
    }
    flag_changes(&past, &now, 0.03);
    flag_changes(&now, &past, 0.03);
    MotionField field;
    Error err = {0};
    assert_status_ok(motion_field_create(POINTS, &field, &err), err);
    size_t pixel = GROUND;
    for (size_t j = 0; j < POINTS; j++, pixel += 1 + PLATE / POINTS / 4) {
        while (!now.moving[pixel]) pixel++;
        memcpy(field.position + 3 * j, now.position + 3 * pixel, 3 * sizeof *field.position);
        memcpy(field.colour + 3 * j, now.colour + 3 * pixel, 3 * sizeof *field.colour);
        for (size_t c = 0; c < 3; c++) field.motion[3 * j + c] = (real)(c == 1 ? plate.shift[c] : off);
    }
    int32_t pixels[ALL];
    check_one(&field, &now, &past, plate.shift, 0.0005, pixels);
    for (size_t i = 0; i < ALL; i++) assert_int_equal(pixels[i], i < GROUND ? -1 : 0);
    motion_field_free(&field);
    point_cloud_free(&now);
    point_cloud_free(&past);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_slides_along_itself),
        cmocka_unit_test(what_rises_out_of_the_picture),
        cmocka_unit_test(what_stands_beside_a_slow_body),
        cmocka_unit_test(what_is_wide_and_slides_along_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
