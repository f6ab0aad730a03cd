// SPDX-License-Identifier: Apache-2.0
// The motion seen of a ball that flies over a floor: its points have bodies and their rigid motion, the floor's have
// none, with exact depth and with noise.
#include "base/random.h"
#include "motion/observe.h"
#include "tests/flow_movie.h"

static const MotionOptions OPTIONS = {.moving_threshold = 0.005, .colour_length = 1, .extent = 2, .seed = 3};

typedef struct Seen {
    Movie movie;
    Device *device;
    Tape tape;
    MotionSeen seen;
} Seen;

// Errors of depth that are normal and grow with its square, as a sensor's do.
static void add_noise(Movie *m, double share) {
    for (size_t i = 0; i < MOVIE_IMAGES * MOVIE_PIXELS; i++) {
        double sum = 0, z = (double)m->depth[i];
        for (size_t k = 0; k < 12; k++)
            sum += (double)random_uniform((RandomKey){.seed = 5, .purpose = RANDOM_TEST}, 12 * i + k);
        m->depth[i] = (float)(z + share * z * z * (sum - 6));
    }
}

// The motion between a frame and the next.
static void see(Seen *s, MotionOptions options, int frame, double noise) {
    Error err = {0};
    movie_make(&s->movie);
    add_noise(&s->movie, noise);
    Observation two = movie_part(&s->movie, frame, 2);
    assert_status_ok(device_open("cpu", 1, &s->device, &err), err);
    tape_init(&s->tape, s->device);
    assert_status_ok(motion_observe(&s->tape, &options, &two, &s->seen, &err), err);
}

static void forget(Seen *s) {
    motion_seen_free(&s->seen);
    tape_free(&s->tape);
    device_close(s->device);
}

static double middle(int frame, int c) { return (const double[3]){-0.2, -0.1, 0.5}[c] + frame * MOVIE_STEP[c]; }

// Distance from the ball's middle; its radius is 0.3.
static double from_middle(const real *x, int frame) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += pow((double)x[c] - middle(frame, c), 2);
    return sqrt(sum);
}

typedef struct Counts {
    size_t ball, ball_still, floor, floor_moving;
} Counts;

// Mirror images lie on the ball too, most of them where no camera looks: their middle is on the other side of the
// ball's than that of what is seen. Returns their number.
static size_t check_images(const MotionField *f, int frame) {
    double seen[3] = {0}, mirrored[3] = {0};
    size_t images = 0, points = 0;
    for (size_t i = 0; i < f->count; i++) {
        if (f->body[i] < 0) assert_true(f->mirrored[i] == 0);
        if (f->body[i] < 0 || from_middle(f->position + 3 * i, frame) > 0.35) continue;
        double *sum = f->mirrored[i] > 0 ? mirrored : seen;
        images += f->mirrored[i] > 0, points++;
        for (size_t c = 0; c < 3; c++) sum[c] += (double)f->position[3 * i + c] - middle(frame, (int)c);
        if (f->mirrored[i] > 0) assert_close(from_middle(f->position + 3 * i, frame), 0.3, 0.02, 0);
    }
    assert_true(2 * images <= points);
    if (images) assert_true(seen[0] * mirrored[0] + seen[1] * mirrored[1] + seen[2] * mirrored[2] < 0);
    return images;
}

static Counts count(const MotionField *f, int frame) {
    Counts n = {0};
    for (size_t i = 0; i < f->count; i++) {
        bool ball = from_middle(f->position + 3 * i, frame) < 0.35, moves = f->body[i] >= 0;
        if (ball) n.ball++, n.ball_still += !moves;
        else n.floor++, n.floor_moving += moves;
    }
    return n;
}

// Where each point says that the ball's middle was.
static void check_motion(const MotionField *f, int frame, double most) {
    static const real grey[3] = {0.5f, 0.5f, 0.5f};
    for (size_t i = 0; i < f->count; i++) {
        for (size_t c = 0; c < 3; c++) {
            double moved = (double)f->motion[3 * i + c];
            if (f->body[i] < 0) assert_true(moved == 0);
            for (size_t d = 0; d < 3; d++) {
                double g = (double)f->gradient[9 * i + 3 * c + d];
                moved += g * (middle(frame, (int)d) - (double)f->position[3 * i + d]);
                if (f->body[i] < 0) assert_true(g == 0);
            }
            if (f->body[i] >= 0) assert_close(moved, MOVIE_STEP[c], most, 0);
        }
    }
    double before[3];
    int body = motion_field_body(f, 1, (double[3]){0, 0, 0.5}, grey);
    assert_true(body >= 0);
    motion_field_before(f, body, (double[3]){0, 0, 0.5}, before);
}

static void check_ball(int frame) {
    static Seen s;
    see(&s, OPTIONS, frame, 0);
    const MotionField *f = &s.seen.field;
    Counts n = count(f, frame + 1);
    assert_true(f->count <= motion_seen_points() && n.ball > 100 && n.floor > 400);
    assert_true(n.floor_moving == 0 && n.ball_still < n.ball / 10);
    size_t points = 0;
    for (size_t i = 0; i < f->count; i++) {
        assert_true(f->body[i] == -1 || f->body[i] == 0);
        points += f->body[i] == 0 && f->mirrored[i] == 0;
    }
    assert_true(points > 256); // those with a flag, and others
    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < i && f->body[i] == 0; j++)
            assert_true(f->body[j] < 0 || squared_distance(f->position + 3 * i, f->position + 3 * j) > 0);
    check_motion(f, frame + 1, 0.001); // a hundredth of the motion; pixels are 4 cm apart
    assert_true(check_images(f, frame + 1) > 50);
    forget(&s);
}

// Pixels are further apart than the least cells of a surface.
static void one_ball(void **state) {
    (void)state;
    for (int frame = 0; frame + 1 < MOVIE_FRAMES; frame++) check_ball(frame);
}

// The ball stands: it is a body without motion, and as many of its points are in the field.
static void a_ball_at_rest(void **state) {
    (void)state;
    static Seen s;
    Error err = {0};
    MotionOptions options = OPTIONS;
    options.extent = 3; // the ball is not wide
    movie_make(&s.movie);
    Observation two = movie_part(&s.movie, 0, 1);
    const size_t image = MOVIE_VIEWS * MOVIE_PIXELS;
    memcpy(s.movie.depth + image, s.movie.depth, image * sizeof *s.movie.depth);
    memcpy(s.movie.rgb + 3 * image, s.movie.rgb, 3 * image);
    two.F = 2;
    assert_status_ok(device_open("cpu", 1, &s.device, &err), err);
    tape_init(&s.tape, s.device);
    assert_status_ok(motion_observe(&s.tape, &options, &two, &s.seen, &err), err);
    const MotionField *f = &s.seen.field;
    Counts n = count(f, 0);
    assert_true(f->count <= motion_seen_points() && n.ball > 100 && n.floor > 400);
    assert_true(n.floor_moving == 0 && n.ball_still < n.ball / 10);
    for (size_t i = 0; i < 3 * f->count; i++) assert_true(f->motion[i] == 0 && f->body[i / 3] <= 0);
    forget(&s);
}

// Noise of 1 cm at the ball, where flags of 5 mm would be everywhere.
static void noise_is_no_motion(void **state) {
    (void)state;
    static Seen s;
    see(&s, OPTIONS, 0, 0.005);
    Counts n = count(&s.seen.field, 1);
    assert_true(n.ball > 100 && n.floor > 400);
    assert_true(n.floor_moving < n.floor / 100 && n.ball_still < n.ball / 5);
    check_motion(&s.seen.field, 1, 0.02);
    forget(&s);
}

// Whether the ball is between the first camera and x.
static bool is_behind(const real *x, int frame) {
    const double eye[3] = {1.6, 0.2, 1.3};
    double d[3], length = 0, along = 0, across = 0;
    for (size_t c = 0; c < 3; c++) d[c] = (double)x[c] - eye[c], length += d[c] * d[c];
    for (size_t c = 0; c < 3; c++) along += (middle(frame, (int)c) - eye[c]) * d[c] / length;
    for (size_t c = 0; c < 3; c++) across += pow(eye[c] + along * d[c] - middle(frame, (int)c), 2);
    return along < 1 && across < 0.25 * 0.25;
}

// The floor that the only camera cannot see is a surface too.
static void hidden_floor(void **state) {
    (void)state;
    static Seen s;
    Error err = {0};
    size_t behind = 0;
    movie_make(&s.movie);
    for (int frame = 0; frame < MOVIE_FRAMES; frame++) // the other camera has no depth
        memset(s.movie.depth + (frame * MOVIE_VIEWS + 1) * MOVIE_PIXELS, 0, MOVIE_PIXELS * sizeof *s.movie.depth);
    Observation two = movie_part(&s.movie, 0, 2);
    assert_status_ok(device_open("cpu", 1, &s.device, &err), err);
    tape_init(&s.tape, s.device);
    assert_status_ok(motion_observe(&s.tape, &OPTIONS, &two, &s.seen, &err), err);
    const MotionField *f = &s.seen.field;
    for (size_t i = 0; i < f->count; i++) {
        if (!is_behind(f->position + 3 * i, 1) || f->body[i] >= 0) continue;
        assert_close(f->position[3 * i + 2], 0, 1e-3, 0);
        behind++;
    }
    assert_true(behind > 20);
    forget(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_ball),
        cmocka_unit_test(a_ball_at_rest),
        cmocka_unit_test(noise_is_no_motion),
        cmocka_unit_test(hidden_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
