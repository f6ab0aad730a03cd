// SPDX-License-Identifier: Apache-2.0
// Bodies in pictures that show more pixels than the search can look at: those that it looks at are few, the same in
// every frame, and some of each place; the others get the body of one of them.
#include "device/room_video.h"
#include "motion/bodies_surface.h"
#include "motion/flags.h"
#include "motion/observe.h"
#include "nn/backend.h"
#include "tests/test.h"

enum { BOXES = 5, VIEWS = 4, PAIRS = 500000 };
static const MotionOptions OPTIONS = {.moving_threshold = 0.00375, .colour_length = 1.5, .extent = 3};
static const BodyLengths LENGTHS = {3, 1.5};

typedef struct Clouds {
    Device *device;
    Tape tape;
    PointCloud past, now;
} Clouds;

// Normal, of this standard deviation in metres, but for the tails.
static void add_noise(const Observation *o, double sigma) {
    for (size_t i = 0; i < 2 * observation_pixels(o); i++) {
        Random4 random = random4((RandomKey){.seed = 2, .purpose = RANDOM_TEST}, i);
        float *z = (float *)o->depth + i;
        double sum = 0;
        for (int k = 0; k < 4; k++) sum += (double)random_to_unit(random.v[k]) - 0.5;
        if (*z > 0) *z += (float)(sigma * sqrt(3) * sum);
    }
}

static void make(Clouds *w, int side, double noise) {
    RoomVideo room;
    Error err = {0};
    *w = (Clouds){0};
    assert_status_ok(device_open("cpu", 1, &w->device, &err), err);
    tape_init(&w->tape, w->device);
    assert_status_ok(room_video_make(&room, 2, VIEWS, side, side, &err), err);
    if (noise > 0) add_noise(&room.observation, noise);
    for (int f = 0; f < 2; f++) {
        PointCloud *cloud = f ? &w->now : &w->past;
        UnprojectOptions options = {.moving_threshold = OPTIONS.moving_threshold};
        assert_status_ok(unproject_frame(&room.observation, f, options, cloud, &err), err);
        flags_confirm(&w->tape, OPTIONS.colour_length, cloud);
    }
    room_video_free(&room);
}

static void forget(Clouds *w) {
    point_cloud_free(&w->past);
    point_cloud_free(&w->now);
    tape_free(&w->tape);
    device_close(w->device);
}

static Surface surface_of(const PointCloud *cloud) {
    Surface s = surface_make(cloud->count);
    Planes planes = planes_find(cloud, OPTIONS.extent);
    assert_true(surface_ready(&s));
    surface_fill(&s, cloud, &planes, LENGTHS);
    return s;
}

// The box of the second frame (device/room_video.c) that x is on, or -1.
static int box_at(const real *x) {
    for (int k = 0; k < BOXES; k++) {
        double far = 0.62, middle[3] = {far * cos(1.3 * k), far * sin(1.3 * k), 0.1 * k + 0.16};
        bool on = true;
        for (int c = 0; c < 3; c++) on = on && fabs((double)x[c] - middle[c]) < 0.15 + 1e-4;
        if (on) return k;
    }
    return -1;
}

// The body of most points of each box; -1 behind them, for the room.
static void find_owners(const PointCloud *now, const int32_t *body, size_t bodies, int32_t owner[BOXES + 1]) {
    size_t *votes = calloc(BOXES * bodies + 1, sizeof *votes);
    for (size_t i = 0; i < now->count; i++) {
        int box = box_at(now->position + 3 * i);
        if (box >= 0 && body[i] >= 0 && (size_t)body[i] < bodies) votes[(size_t)box * bodies + (size_t)body[i]]++;
    }
    for (size_t k = 0; k < BOXES; k++) {
        owner[k] = 0;
        for (size_t j = 0; j < bodies; j++)
            if (votes[k * bodies + j] > votes[k * bodies + (size_t)owner[k]]) owner[k] = (int32_t)j;
    }
    owner[BOXES] = -1;
    free(votes);
}

// How far a body takes x from where its box was, metres.
static double motion_error(const Body *body, int box, const real *x) {
    const double step[3] = {0.02 * cos(1.3 * box), 0.02 * sin(1.3 * box), 0.01};
    double before[3], sum = 0;
    body_place_before(body, x, before);
    for (int c = 0; c < 3; c++) sum += squared((double)x[c] - step[c] - before[c]);
    return sqrt(sum);
}

// The bodies of the clouds, one for each box, and that of each point.
typedef struct Found {
    Clouds clouds;
    Bodies bodies;
    int32_t *body;
} Found;

static void find(Found *f, int side, double noise) {
    MotionField field;
    Error err = {0};
    Clouds *w = &f->clouds;
    make(w, side, noise);
    f->body = malloc(w->now.count * sizeof *f->body);
    assert_status_ok(motion_from_clouds(&w->tape, &OPTIONS, &w->now, &w->past, &field, &err), err);
    assert_status_ok(bodies_find(&field, LENGTHS, &f->bodies, &err), err);
    assert_status_ok(bodies_register(&field, &w->now, &w->past, LENGTHS, &f->bodies, f->body, &err), err);
    assert_int_equal(f->bodies.count, BOXES);
    motion_field_free(&field);
}

static void forget_found(Found *f) {
    free(f->body);
    bodies_free(&f->bodies);
    forget(&f->clouds);
}

// Of 262,144 points, nearly all pixels of boxes and room; the search of all of them says the same.
static void all_pixels_have_their_body(void **state) {
    (void)state;
    Found f;
    int32_t owner[BOXES + 1];
    find(&f, 256, 0);
    const PointCloud *now = &f.clouds.now;
    find_owners(now, f.body, f.bodies.count, owner);
    size_t wrong = 0, on_boxes = 0;
    for (size_t i = 0; i < now->count; i++) {
        int box = box_at(now->position + 3 * i);
        wrong += f.body[i] != owner[box < 0 ? BOXES : box];
        on_boxes += box >= 0;
        // A hundredth of the distance between pixels.
        if (box >= 0) assert_true(motion_error(&f.bodies.list[owner[box]], box, now->position + 3 * i) < 0.0001);
    }
    assert_true(on_boxes > 50000);
    if (wrong > on_boxes / 10000) fail_msg("%zu of %zu points have a wrong body", wrong, now->count);
    forget_found(&f);
}

// Pieces of a box that only meet when the last pixels get their bodies are joined.
static void noise_splits_no_box(void **state) {
    (void)state;
    Found f;
    find(&f, 192, 0.01);
    forget_found(&f);
}

// Pairs of pixels of the same cell, and the number of cells.
static size_t count_pairs(const Surface *s, size_t *cells) {
    size_t pairs = 0;
    *cells = 0;
    for (size_t first = 0, last; first < s->count; first = last) {
        for (last = first + 1; last < s->count && s->order[last].key == s->order[first].key;) last++;
        pairs += (last - first) * (last - first);
        ++*cells;
    }
    return pairs;
}

static void few_are_looked_at(void **state) {
    (void)state;
    for (int side = 64; side <= 256; side *= 2) {
        Clouds w;
        size_t cells, all_cells;
        make(&w, side, 0);
        Surface s = surface_of(&w.now);
        size_t pairs = count_pairs(&s, &cells);
        assert_true(pairs <= PAIRS);
        assert_int_equal(s.count < s.all, side == 256); // all of smaller pictures
        if (side == 256) assert_true(pairs > PAIRS / 2);
        uint8_t *seen = calloc(w.now.count, 1);
        for (size_t i = 0; i < s.all; i++) assert_int_equal(seen[s.pixel[i]]++, 0);
        for (size_t i = 0; i < s.count; i++) assert_int_equal(w.now.moving[s.pixel[i]] > 0, i < s.first_still);
        s.count = s.all;
        surface_grid(&s, s.cell);
        count_pairs(&s, &all_cells);
        assert_int_equal(cells, all_cells); // no place is empty
        free(seen);
        surface_free(&s);
        forget(&w);
    }
}

// The order of a frame's points, and how many came before, do not matter.
static void the_same_are_looked_at(void **state) {
    (void)state;
    Clouds w;
    make(&w, 256, 0);
    PointCloud *now = &w.now, turned = {0};
    Error err = {0};
    size_t n = now->count;
    Surface s = surface_of(now), t = surface_make(n);
    assert_status_ok(point_cloud_reserve(&turned, n, &err), err);
    turned.count = n;
    for (size_t i = 0; i < n; i++) {
        point_cloud_get(now, i, turned.position + 3 * (n - 1 - i), turned.colour + 3 * (n - 1 - i));
        turned.moving[n - 1 - i] = now->moving[i];
        turned.pixel[n - 1 - i] = now->pixel[i];
    }
    Planes planes = planes_find(now, OPTIONS.extent);
    assert_true(surface_ready(&t));
    surface_fill(&t, &turned, &planes, LENGTHS);
    assert_int_equal(t.count, s.count);
    uint8_t *kept = calloc(n, 1);
    for (size_t i = 0; i < s.count; i++) kept[s.pixel[i]] = 1;
    for (size_t i = 0; i < t.count; i++) assert_true(kept[n - 1 - (size_t)t.pixel[i]]);
    free(kept);
    surface_free(&s);
    surface_free(&t);
    point_cloud_free(&turned);
    forget(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pixels_have_their_body),
        cmocka_unit_test(noise_splits_no_box),
        cmocka_unit_test(few_are_looked_at),
        cmocka_unit_test(the_same_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
