// SPDX-License-Identifier: Apache-2.0
// A thin plate slides on a table, seen from above: its shadow tells the light, and a mark on the table does not,
// whatever the plate looks like and whatever is thought to be under it.
#include "base/camera.h"
#include "motion/light.h"
#include "tests/test.h"

#include <math.h>

enum { SIDE = 100, PIXELS = SIDE * SIDE };
static const double HALF = 0.15, EYE = 1.5;

typedef struct Plate {
    double tall, step; // metres
    double way[3];     // of the light
} Plate;

static const Plate PLATES[] = {{0.025, 0.05, {1, 0.2, -0.3}}, {0.2, 0.28, {1, 0.2, -1}}};

typedef struct World {
    uint8_t rgb[2 * 3 * PIXELS];
    float depth[2 * PIXELS];
    double intrinsics[9], pose[2 * 16];
    size_t count;
    real x[6 * PIXELS], before[6 * PIXELS], colour[6 * PIXELS];
    int32_t body[2 * PIXELS], pixel[2 * PIXELS];
} World;

// Where the light comes to a place of the table through the plate, whose middle is at x = middle.
static bool is_shaded(const Plate *plate, const double x[3], double middle) {
    double from = 0, to = INFINITY;
    for (int c = 0; c < 3; c++) {
        double low = (double[]){middle - HALF, -HALF, 0}[c], high = (double[]){middle + HALF, HALF, plate->tall}[c],
               a = (low - x[c]) / -plate->way[c], b = (high - x[c]) / -plate->way[c];
        from = fmax(from, fmin(a, b)), to = fmin(to, fmax(a, b));
    }
    return from < to;
}

static void add_particle(World *w, const double x[3], double step, int32_t pixel, int32_t body, uint8_t grey) {
    for (size_t c = 0; c < 3; c++) {
        w->x[3 * w->count + c] = w->before[3 * w->count + c] = (real)x[c];
        w->colour[3 * w->count + c] = (real)grey / 255;
    }
    w->before[3 * w->count] -= (real)step;
    w->pixel[w->count] = pixel;
    w->body[w->count++] = body;
}

// The plate is of grey `look`. What is dark on the table goes with it, or has always been there.
static void make(World *w, const Plate *plate, uint8_t look, bool goes) {
    const double eye[3] = {0, 0, EYE}, target[3] = {0}, up[3] = {0, 1, 0};
    memset(w, 0, sizeof *w);
    camera_intrinsics_from_fov(0.9, SIDE, SIDE, w->intrinsics);
    for (int frame = 0; frame < 2; frame++) {
        double *pose = w->pose + 16 * frame, middle = plate->step * (frame - 1);
        camera_look_at(eye, target, up, pose);
        for (int32_t p = 0; p < PIXELS; p++) {
            double table[3], top[3];
            camera_unproject_pixel(w->intrinsics, pose, SIDE, (size_t)p, EYE, table);
            camera_unproject_pixel(w->intrinsics, pose, SIDE, (size_t)p, EYE - plate->tall, top);
            bool on = fabs(top[0] - middle) < HALF && fabs(top[1]) < HALF;
            uint8_t grey = on ? look : is_shaded(plate, table, goes ? middle : 0) ? 60 : (uint8_t)(150 + 10 * (p % 2));
            w->depth[frame * PIXELS + p] = (float)(on ? EYE - plate->tall : EYE);
            memset(w->rgb + 3 * (frame * PIXELS + p), grey, 3);
            if (frame == 0) continue;
            add_particle(w, on ? top : table, on ? plate->step : 0, p, on ? 0 : -1, grey);
            if (on)
                add_particle(w, table, 0, p, -1, table[0] > 0 ? 60 : 150); // hidden: it looks like what is beside it
        }
    }
}

static bool find(const World *w, double way[3]) {
    static const int views[1] = {0};
    Observation o = {.F = 2,
                     .V = 1,
                     .H = SIDE,
                     .W = SIDE,
                     .views = views,
                     .rgb = w->rgb,
                     .depth = w->depth,
                     .intrinsics = w->intrinsics,
                     .world_from_camera = w->pose};
    LightScene scene = {{w->count, w->x, w->body}, w->before, w->colour, w->pixel};
    Device *device;
    Tape tape;
    Error err = {0};
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    tape_init(&tape, device);
    bool found = light_find(&tape, &o, &scene, way);
    assert_status_ok(device_status(device, &err), err);
    tape_free(&tape);
    device_close(device);
    return found;
}

static void shadows_and_marks(void **state) {
    (void)state;
    static World w;
    const uint8_t looks[] = {10, 90, 170, 250};
    for (size_t k = 0; k < 2 * sizeof looks; k++) {
        const Plate *plate = &PLATES[k % 2];
        double way[3], along = 0, length2 = 0;
        make(&w, plate, looks[k / 2], true);
        assert_true(find(&w, way));
        for (int c = 0; c < 3; c++) along += way[c] * plate->way[c], length2 += plate->way[c] * plate->way[c];
        assert_true(along > 0.97 * sqrt(length2));
        make(&w, plate, looks[k / 2], false);
        assert_false(find(&w, way));
    }
}

// A plate that has not moved says nothing of what is dark.
static void at_rest(void **state) {
    (void)state;
    static World w;
    double way[3];
    make(&w, &PLATES[0], 90, false);
    memcpy(w.before, w.x, sizeof w.x);
    memcpy(w.rgb, w.rgb + 3 * PIXELS, 3 * PIXELS);
    memcpy(w.depth, w.depth + PIXELS, PIXELS * sizeof *w.depth);
    assert_true(find(&w, way));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shadows_and_marks), cmocka_unit_test(at_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
