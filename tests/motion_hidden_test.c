// SPDX-License-Identifier: Apache-2.0
// The floor behind a ball that lies on it: where no camera sees it, it is added, and nowhere else.
#include "motion/hidden.h"
#include "tests/model_scene.h"

enum { VIEWS = 2, SIDE = 48, PIXELS = SIDE * SIDE };
static const double EYE[VIEWS][3] = {{1.6, 0.2, 1.3}, {-0.4, -1.7, 1.2}}, CENTRE[3] = {0, 0, 0.3};
static const double QUARTER[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1}, NOT_TURNED[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static int blind = -1; // a view without depth

typedef struct World {
    uint8_t rgb[3 * VIEWS * PIXELS];
    float depth[VIEWS * PIXELS];
    bool ball[VIEWS * PIXELS];
    double intrinsics[9 * VIEWS], pose[16 * VIEWS];
    Observation observation;
    Device *device;
    Tape tape;
    PointCloud cloud;
    Hidden hidden;
} World;

static void draw(World *w, int view, double end) {
    const double target[3] = {0, 0, 0.2}, up[3] = {0, 0, 1};
    double *K = w->intrinsics + 9 * view, *pose = w->pose + 16 * view;
    camera_intrinsics_from_fov(0.9, SIDE, SIDE, K);
    camera_look_at(EYE[view], target, up, pose);
    for (int p = 0; p < PIXELS; p++) {
        double x[3], d[3];
        int at = view * PIXELS + p;
        camera_unproject_world(K, pose, p % SIDE + 0.5, p / SIDE + 0.5, 1, x);
        for (int c = 0; c < 3; c++) d[c] = x[c] - EYE[view][c];
        double z = scene_trace(EYE[view], d, CENTRE, &w->ball[at]);
        if (!w->ball[at] && EYE[view][0] + z * d[0] < end) z = 0;
        w->depth[at] = view == blind ? 0 : (float)z;
        for (int c = 0; c < 3; c++) w->rgb[3 * at + c] = (uint8_t)((p + 50 * c) % 256);
    }
}

// The first `views` cameras; the floor ends at x = end.
static void look(World *w, int views, double end, const double *turn, bool moves, bool crop) {
    static const int number[VIEWS] = {0, 1};
    static const double bounds[6] = {-2, 0, -1, 2, 2, 1};
    Error err = {0};
    memset(w, 0, sizeof *w);
    for (int view = 0; view < views; view++) draw(w, view, end);
    w->observation = (Observation){.F = 1,
                                   .V = views,
                                   .H = SIDE,
                                   .W = SIDE,
                                   .views = number,
                                   .rgb = w->rgb,
                                   .depth = w->depth,
                                   .intrinsics = w->intrinsics,
                                   .world_from_camera = w->pose,
                                   .bounds = bounds,
                                   .turn = turn};
    assert_status_ok(device_open("cpu", 1, &w->device, &err), err);
    tape_init(&w->tape, w->device);
    assert_status_ok(unproject_frame(&w->observation, 0, (UnprojectOptions){0}, &w->cloud, &err), err);
    const Observation *o = &w->observation;
    for (size_t i = 0; i < w->cloud.count; i++) w->cloud.moving[i] = moves && w->ball[w->cloud.pixel[i]];
    assert_status_ok(hidden_add(&w->tape, 1, &o, crop, 2, &w->cloud, &w->hidden, &err), err);
}

static void forget(World *w) {
    point_cloud_free(&w->cloud);
    tape_free(&w->tape);
    device_close(w->device);
}

typedef enum Sight { OUT_OF_PICTURE, IN_SIGHT, BEHIND_BALL } Sight;

// What a camera shows of x if the ball is as much larger as `margin` tells.
static Sight sight_of(const World *w, int view, const double x[3], double margin) {
    double from_world[16], q[3], xy[2] = {-1, -1};
    pose_inverse(w->pose + 16 * view, from_world);
    pose_apply(from_world, x, q);
    camera_project(w->intrinsics + 9 * view, q, xy);
    if (!(xy[0] >= 0 && xy[0] < SIDE && xy[1] >= 0 && xy[1] < SIDE)) return OUT_OF_PICTURE;
    double d[3], o[3], a = 0, b = 0, c = -(0.3 + margin) * (0.3 + margin);
    for (int k = 0; k < 3; k++) {
        d[k] = x[k] - EYE[view][k], o[k] = EYE[view][k] - CENTRE[k];
        a += d[k] * d[k], b += o[k] * d[k], c += o[k] * o[k];
    }
    return b * b > a * c ? BEHIND_BALL : IN_SIGHT;
}

static void place(const World *w, size_t i, double out[3]) {
    double x[3];
    for (size_t c = 0; c < 3; c++) x[c] = (double)w->cloud.position[3 * i + c];
    observation_turn_back(&w->observation, x, out);
}

// Each lies on the floor, is seen by no camera, and looks like a pixel of the floor that is not at the
// ball's rim. Returns their number.
static size_t check_points(const World *w) {
    const Observation *o = &w->observation;
    for (size_t i = w->hidden.first; i < w->cloud.count; i++) {
        double x[3];
        int32_t like = w->hidden.like[i - w->hidden.first], row = like / SIDE % SIDE, column = like % SIDE;
        place(w, i, x);
        assert_close(x[2], 0, 1e-4, 0);
        for (int v = 0; v < o->V; v++) assert_true(sight_of(w, v, x, 0.03) != IN_SIGHT);
        assert_true(w->cloud.moving[i] == 0 && w->cloud.inside[i] == (x[1] >= 0) && w->ball[w->cloud.pixel[i]]);
        assert_true(w->depth[like] > 0);
        for (int k = 0; k < 25; k++) {
            int y = row + k / 5 - 2, z = column + k % 5 - 2;
            if (y >= 0 && y < SIDE && z >= 0 && z < SIDE) assert_false(w->ball[like + (y - row) * SIDE + z - column]);
        }
        for (size_t c = 0; c < 3; c++)
            assert_close(w->cloud.colour[3 * i + c], w->rgb[3 * (size_t)like + c] / 255.0, 1e-6, 0);
    }
    return w->cloud.count - w->hidden.first;
}

static double nearest(const World *w, const double x[3]) {
    double least = INFINITY;
    for (size_t i = w->hidden.first; i < w->cloud.count; i++) {
        double at[3];
        place(w, i, at);
        least = fmin(least, hypot(at[0] - x[0], at[1] - x[1]));
    }
    return least;
}

// All of the floor around the ball that no camera sees has a point near.
static void check_cover(const World *w) {
    size_t hidden = 0;
    for (int k = 0; k < 40 * 40; k++) {
        const double x[3] = {0.05 * (k % 40) - 1, 0.05 * (k / 40) - 1, 0};
        bool behind = false, seen = false;
        for (int v = 0; v < w->observation.V; v++) {
            Sight sight = sight_of(w, v, x, -0.03);
            behind = behind || sight == BEHIND_BALL, seen = seen || sight == IN_SIGHT;
        }
        if (!behind || seen) continue;
        hidden++;
        assert_true(nearest(w, x) < 0.1); // a pixel is up to 9 cm of floor
    }
    assert_true(hidden > 20);
}

static void behind_a_ball(void **state) {
    (void)state;
    static World w;
    size_t count[VIEWS];
    for (int views = 1; views <= VIEWS; views++)
        for (int turned = 0; turned < 2; turned++) {
            look(&w, views, -INFINITY, turned ? QUARTER : NOT_TURNED, true, false);
            count[views - 1] = check_points(&w);
            check_cover(&w);
            forget(&w);
        }
    assert_true(count[1] > 50);
    look(&w, VIEWS, -INFINITY, NULL, false, false); // what does not move hides nothing that will be seen
    assert_int_equal(w.cloud.count, w.hidden.first);
    forget(&w);
}

// The floor is not longer behind the ball than beside it.
static void at_the_end_of_the_floor(void **state) {
    (void)state;
    static World w;
    look(&w, 1, -0.4, NULL, true, false);
    assert_true(check_points(&w) > 50);
    for (size_t i = w.hidden.first; i < w.cloud.count; i++) assert_true(w.cloud.position[3 * i] > -0.42);
    forget(&w);
}

// With data.crop there is nothing outside the box.
static void inside_the_box(void **state) {
    (void)state;
    static World w;
    look(&w, 1, -INFINITY, QUARTER, true, true);
    assert_true(check_points(&w) > 20);
    for (size_t i = w.hidden.first; i < w.cloud.count; i++) assert_true(w.cloud.inside[i]);
    forget(&w);
}

// A camera without depth says nothing of what is hidden.
static void a_blind_camera(void **state) {
    (void)state;
    static World w;
    blind = 1;
    look(&w, VIEWS, -INFINITY, NULL, true, false);
    size_t count = w.cloud.count - w.hidden.first;
    blind = -1;
    forget(&w);
    look(&w, 1, -INFINITY, NULL, true, false);
    assert_int_equal(w.cloud.count - w.hidden.first, count);
    forget(&w);
}

// Frames that are looked at together have the points that each has alone.
static void frames_together(void **state) {
    (void)state;
    enum { FRAMES = 3 };
    static World w[FRAMES];
    const Observation *o[FRAMES];
    PointCloud cloud[FRAMES] = {{0}};
    Hidden hidden[FRAMES];
    Error err = {0};
    look(&w[0], VIEWS, -INFINITY, NULL, true, false);
    look(&w[1], VIEWS, -INFINITY, NULL, false, false); // nothing moves
    look(&w[2], 1, -0.4, QUARTER, true, false);
    for (int i = 0; i < FRAMES; i++) {
        o[i] = &w[i].observation;
        assert_status_ok(unproject_frame(o[i], 0, (UnprojectOptions){0}, &cloud[i], &err), err);
        memcpy(cloud[i].moving, w[i].cloud.moving, cloud[i].count * sizeof *cloud[i].moving);
    }
    assert_status_ok(hidden_add(&w[0].tape, FRAMES, o, false, 2, cloud, hidden, &err), err);
    assert_true(cloud[0].count > hidden[0].first && cloud[2].count > hidden[2].first);
    for (int i = 0; i < FRAMES; i++) {
        size_t count = cloud[i].count, added = count - hidden[i].first;
        assert_int_equal(count, w[i].cloud.count);
        assert_int_equal(hidden[i].first, w[i].hidden.first);
        assert_memory_equal(cloud[i].position, w[i].cloud.position, 3 * count * sizeof(real));
        assert_memory_equal(cloud[i].colour, w[i].cloud.colour, 3 * count * sizeof(real));
        assert_memory_equal(cloud[i].pixel, w[i].cloud.pixel, count * sizeof(int32_t));
        if (added) assert_memory_equal(hidden[i].like, w[i].hidden.like, added * sizeof(int32_t));
        point_cloud_free(&cloud[i]);
    }
    for (int i = 0; i < FRAMES; i++) forget(&w[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(behind_a_ball), cmocka_unit_test(at_the_end_of_the_floor),
                                       cmocka_unit_test(inside_the_box), cmocka_unit_test(a_blind_camera),
                                       cmocka_unit_test(frames_together)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
