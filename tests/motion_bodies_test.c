// SPDX-License-Identifier: Apache-2.0
// Bodies of a motion field: how many there are, which points are theirs, and how each moved, against known motions of
// painted boxes whose pixels are drawn anew in each frame; and fields with few points, or equal ones.
#include "motion/bodies.h"

#include "base/random.h"
#include "motion/bodies_surface.h"
#include "motion/rigid.h"
#include "tests/test.h"

enum { PIXELS = 400, SEEN = 60 };
static const BodyLengths LENGTHS = {2, 1};

typedef struct Thing {
    double centre[3], half[3], turn[3], shift[3], colour[3];
} Thing;

typedef struct World {
    MotionField field;
    PointCloud now, past;
} World;

static double noise(uint32_t stream, size_t index) {
    return 2 * (double)random_uniform((RandomKey){.seed = 8, .purpose = RANDOM_TEST, .step = stream}, index) - 1;
}

static PointCloud cloud_make(size_t count) {
    PointCloud cloud = {.count = count, .capacity = count};
    cloud.position = calloc(count + 1, 3 * sizeof *cloud.position);
    cloud.colour = calloc(count + 1, 3 * sizeof *cloud.colour);
    cloud.moving = calloc(count + 1, sizeof *cloud.moving);
    cloud.pixel = calloc(count + 1, sizeof *cloud.pixel);
    cloud.inside = calloc(count + 1, sizeof *cloud.inside);
    for (size_t i = 0; i < count; i++) cloud.moving[i] = 1;
    return cloud;
}

// A point of a thing's surface, with depth noise.
static void draw(const Thing *t, uint32_t stream, size_t i, double error, real *x, real *c) {
    for (size_t d = 0; d < 3; d++) {
        double on = d == i % 3 ? (noise(stream, 4 * i) < 0 ? -1 : 1) : noise(stream, 4 * i + 1 + d);
        x[d] = (real)(t->centre[d] + t->half[d] * on + error * noise(stream + 100, 3 * i + d));
        c[d] = (real)t->colour[d];
    }
}

static void motion_of(const Thing *t, real *motion) {
    double step[6] = {t->turn[0], t->turn[1], t->turn[2], t->shift[0], t->shift[1], t->shift[2]};
    for (size_t c = 0; c < RIGID_MOTION; c++) motion[c] = c < 9 && c % 4 == 0;
    rigid_compose(step, motion);
}

// Pixels of the frame before, moved by the thing's motion where `moved`.
static void draw_cloud(const Thing *t, size_t count, bool moved, double error, PointCloud *cloud) {
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < PIXELS; i++) {
            real motion[RIGID_MOTION], centre[3], x[3], *out = cloud->position + 3 * (k * PIXELS + i);
            motion_of(&t[k], motion);
            for (size_t c = 0; c < 3; c++) centre[c] = (real)t[k].centre[c];
            draw(&t[k], (uint32_t)(2 * k + moved), i, error, x, cloud->colour + 3 * (k * PIXELS + i));
            if (moved) rigid_place(motion, centre, x, out);
            else memcpy(out, x, sizeof x);
        }
}

// The field's points are some of the last frame's pixels; their motion has errors.
static void draw_field(const Thing *t, size_t count, double error, World *w) {
    for (size_t j = 0; j < count * SEEN; j++) {
        size_t k = j / SEEN, pixel = k * PIXELS + j % SEEN;
        real motion[RIGID_MOTION], *x = w->field.position + 3 * j;
        motion_of(&t[k], motion);
        memcpy(x, w->now.position + 3 * pixel, 3 * sizeof *x);
        memcpy(w->field.colour + 3 * j, w->now.colour + 3 * pixel, 3 * sizeof *x);
        for (size_t c = 0; c < 3; c++) {
            double before = t[k].centre[c];
            for (size_t d = 0; d < 3; d++) {
                before += (double)motion[3 * d + c] * ((double)x[d] - t[k].centre[d] - t[k].shift[d]);
                w->field.gradient[9 * j + 3 * c + d] = (real)(c == d) - motion[3 * d + c];
            }
            w->field.motion[3 * j + c] = (real)((double)x[c] - before + error * noise(50, 3 * j + c));
        }
    }
}

static World world_make(const Thing *t, size_t count, double depth_error, double motion_error) {
    World w = {{0}, cloud_make(count * PIXELS), cloud_make(count * PIXELS)};
    Error err = {0};
    draw_cloud(t, count, true, depth_error, &w.now);
    draw_cloud(t, count, false, depth_error, &w.past);
    assert_status_ok(motion_field_create(count * SEEN, &w.field, &err), err);
    draw_field(t, count, motion_error, &w);
    return w;
}

static void world_free(World *w) {
    motion_field_free(&w->field);
    point_cloud_free(&w->now);
    point_cloud_free(&w->past);
}

// The error of where the body says that the thing's centre was, metres; -1 unless all its points are the body's alone.
static double centre_error(const Thing *t, size_t k, const Bodies *b) {
    int32_t body = b->body[k * SEEN];
    for (size_t j = 0; j < b->points; j++)
        if ((b->body[j] == body) != (j / SEEN == k)) return -1;
    if (body < 0) return -1;
    const Body *of = &b->list[body];
    double sum = 0;
    for (size_t c = 0; c < 3; c++) {
        double before = (double)(of->centre[c] - of->shift[c]);
        for (size_t d = 0; d < 3; d++)
            before += (double)of->turn[3 * d + c] * (t[k].centre[d] + t[k].shift[d] - (double)of->centre[d]);
        sum += (before - t[k].centre[c]) * (before - t[k].centre[c]);
    }
    return sqrt(sum);
}

static void check(const Thing *t, size_t count, double depth_error, double most) {
    World w = world_make(t, count, depth_error, 0.002);
    int32_t pixels[2 * PIXELS];
    Bodies b = {0};
    Error err = {0};
    assert_status_ok(bodies_find(&w.field, LENGTHS, &b, &err), err);
    assert_status_ok(bodies_register(&w.field, &w.now, &w.past, LENGTHS, &b, pixels, &err), err);
    assert_int_equal(b.count, count);
    for (size_t k = 0; k < count; k++) {
        double error = centre_error(t, k, &b);
        if (!(error >= 0 && error < most))
            fail_msg("body %zu: its centre is off by %g m, or points are wrong", k, error);
    }
    bodies_free(&b);
    world_free(&w);
}

static const Thing RED = {{0, 0, 0.5}, {.1, .08, .09}, {.05, .1, -.08}, {.03, -.02, .01}, {.8, .1, .1}},
                   BLUE = {{.5, .1, .5}, {.09, .1, .07}, {-.1, .02, .05}, {-.02, .03, -.04}, {.1, .2, .9}};

static void finds_bodies_apart(void **state) {
    (void)state;
    check((Thing[]){RED, BLUE}, 2, 0, 0.001);
}

static void finds_one(void **state) {
    (void)state;
    check(&RED, 1, 0, 0.001);
}

// They meet face to face.
static void finds_bodies_that_touch(void **state) {
    (void)state;
    Thing blue = BLUE;
    for (int c = 0; c < 3; c++) blue.centre[c] = RED.centre[c];
    blue.centre[0] += RED.half[0] + blue.half[0];
    check((Thing[]){RED, blue}, 2, 0, 0.002);
}

static void same_motion_apart_is_two(void **state) {
    (void)state;
    Thing other = RED;
    other.centre[1] += 0.5;
    for (int c = 0; c < 3; c++) other.turn[c] = 0;
    Thing first = RED;
    for (int c = 0; c < 3; c++) first.turn[c] = 0;
    check((Thing[]){first, other}, 2, 0, 0.001);
}

// 400 pixels with errors of up to 4 mm: their mean is known to a fraction of that.
static void bears_noise(void **state) {
    (void)state;
    check((Thing[]){RED, BLUE}, 2, 0.004, 0.003);
}

// One or two pixels far from all others show no plane; a third does.
static void few_pixels_have_no_normal(void **state) {
    (void)state;
    for (size_t count = 1; count <= 3; count++) {
        PointCloud cloud = cloud_make(count);
        for (size_t i = 0; i < 3 * count; i++) cloud.position[i] = (real)(0.005 * noise(9, i));
        Surface surface = surface_make(count);
        assert_true(surface_ready(&surface));
        surface_fill(&surface, &cloud, &(Planes){0}, LENGTHS);
        for (size_t i = 0; i < count; i++) {
            double length2 = (double)element_dot(surface.normal + 3 * i, surface.normal + 3 * i);
            assert_close(length2, count == 3, 0, 1e-6);
            assert_true(surface.flat[i] <= 0);
        }
        surface_free(&surface);
        point_cloud_free(&cloud);
    }
}

static void few_points(void **state) {
    (void)state;
    for (size_t count = 0; count < 12; count++) { // all equal
        MotionField field;
        int32_t pixels[12];
        Bodies b = {0};
        Error err = {0};
        PointCloud cloud = cloud_make(count);
        assert_status_ok(motion_field_create(count, &field, &err), err);
        assert_status_ok(bodies_find(&field, LENGTHS, &b, &err), err);
        assert_int_equal(b.count, count > 0);
        for (size_t i = 0; i < b.count; i++)
            for (int c = 0; c < 9; c++) assert_close(b.list[i].turn[c], c % 4 == 0, 1e-6, 0);
        assert_status_ok(bodies_register(&field, &cloud, &cloud, LENGTHS, &b, pixels, &err), err);
        assert_int_equal(b.points, count);
        for (size_t i = 0; i < count; i++) assert_true(b.body[i] >= -1 && b.body[i] < (int32_t)b.count);
        bodies_free(&b);
        motion_field_free(&field);
        point_cloud_free(&cloud);
    }
}

// Two sheets side by side: the larger goes up, the other turns about the edge where they meet, so that neighbours
// across it move alike.
static void linked_bodies_are_divided(void **state) {
    (void)state;
    enum { LARGE = 60, ALL = 80 };
    MotionField field;
    Bodies b = {0};
    Error err = {0};
    assert_status_ok(motion_field_create(ALL, &field, &err), err);
    for (size_t i = 0; i < ALL; i++) {
        bool turns = i >= LARGE;
        double x = 0.01 + 0.03 * (double)((turns ? i - LARGE : i) / 4);
        field.position[3 * i] = (real)(turns ? x : -x);
        field.position[3 * i + 1] = (real)(0.03 * (double)(i % 4));
        field.motion[3 * i + 2] = (real)(turns ? 0.01 + 0.1 * x : 0.01);
        if (turns) field.gradient[9 * i + 6] = (real)0.1, field.gradient[9 * i + 2] = (real)-0.1;
    }
    assert_status_ok(bodies_find(&field, LENGTHS, &b, &err), err);
    assert_int_equal(b.count, 2);
    // Those next to the edge may go with either.
    for (size_t i = 0; i < ALL; i++)
        if (i < LARGE || i >= LARGE + 8) assert_int_equal(b.body[i], i >= LARGE);
    bodies_free(&b);
    motion_field_free(&field);
}

// A floor and a wall, on which depth errs by up to 5 mm, and a ball's worth of points in between.
static void finds_planes(void **state) {
    (void)state;
    enum { FLOOR = 500, WALL = 300, BETWEEN = 60, ALL = FLOOR + WALL + BETWEEN };
    PointCloud cloud = cloud_make(ALL);
    for (size_t i = 0; i < ALL; i++) {
        real *x = cloud.position + 3 * i;
        cloud.moving[i] = 0;
        for (size_t c = 0; c < 3; c++)
            x[c] = (real)(i < FLOOR + WALL ? noise(9, 4 * i + c) : 0.2 + 0.1 * noise(9, 4 * i + c));
        if (i < FLOOR) x[2] = (real)(0.005 * noise(9, 4 * i + 3));
        else if (i < FLOOR + WALL) x[0] = (real)(-1 + 0.005 * noise(9, 4 * i + 3));
    }
    Planes planes = planes_find(&cloud, 2);
    assert_int_equal(planes.count, 2);
    for (size_t i = 0; i < ALL; i++) {
        bool outside = i >= FLOOR + WALL;
        assert_int_equal(planes_outside(&planes, cloud.position + 3 * i), outside);
    }
    for (size_t i = 0; i < ALL; i++)
        cloud.moving[i] = i < FLOOR + WALL; // what moves shows no plane, and a ball is none
    planes = planes_find(&cloud, 2);
    assert_int_equal(planes.count, 0);
    assert_false(planes_outside(&planes, cloud.position));
    point_cloud_free(&cloud);
}

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

// Writes a thing's pixels, without noise, behind those that a cloud has; returns how many there are now.
static size_t put_thing(const Thing *t, size_t pixels, bool moves, PointCloud *cloud, size_t at) {
    for (size_t i = 0; i < pixels; i++, at++) {
        draw(t, 0, i, 0, cloud->position + 3 * at, cloud->colour + 3 * at);
        cloud->moving[at] = moves;
        cloud->pixel[at] = (int32_t)at;
    }
    return at;
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
        cmocka_unit_test(finds_one),
        cmocka_unit_test(finds_bodies_apart),
        cmocka_unit_test(finds_bodies_that_touch),
        cmocka_unit_test(same_motion_apart_is_two),
        cmocka_unit_test(bears_noise),
        cmocka_unit_test(linked_bodies_are_divided),
        cmocka_unit_test(few_pixels_have_no_normal),
        cmocka_unit_test(few_points),
        cmocka_unit_test(finds_planes),
        cmocka_unit_test(bodies_at_rest),
        cmocka_unit_test(hues_tell_pixels_apart),
        cmocka_unit_test(far_pixels_are_left),
        cmocka_unit_test(pixels_beside_a_body),
        cmocka_unit_test(what_slides_along_itself),
        cmocka_unit_test(what_rises_out_of_the_picture),
        cmocka_unit_test(what_stands_beside_a_slow_body),
        cmocka_unit_test(what_is_wide_and_slides_along_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
