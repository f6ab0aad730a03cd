// SPDX-License-Identifier: Apache-2.0
// The shadow of a box on a painted floor goes with the box, and that of a ball in a video with its predicted motion.
#include "infer/draw.h"
#include "model/vpd.h"
#include "tests/flow_movie.h"
#include "tests/shadow_world.h"

// Cameras that see nothing, so that the colours of now are all that is known.
static Shadows *find(World *w) {
    static uint8_t rgb[6];
    static float depth[2];
    static double intrinsics[9], pose[32];
    Observation o = {.F = 2,
                     .V = 1,
                     .H = 1,
                     .W = 1,
                     .rgb = rgb,
                     .depth = depth,
                     .intrinsics = intrinsics,
                     .world_from_camera = pose};
    ShadeMemory memory = {w->device, &w->tape.host};
    return light_find(&w->tape, &o, &w->scene, w->way) ? shadows_find(memory, &w->scene.shade, w->way, D, w->feature)
                                                       : NULL;
}

static const real *change_of(World *w) {
    Shadows *shadows = find(w);
    return shadows ? shadows_change(&w->tape, shadows, w->moved) : NULL;
}

static void go_with_bodies(void **state) {
    (void)state;
    static World w;
    for (int first = 0; first < 2; first++) {
        make(&w, first, DARK);
        double along = 0, length = sqrt(0.3 * 0.3 + 0.2 * 0.2 + 1);
        Shadows *shadows = find(&w);
        assert_non_null(shadows);
        const real *change = shadows_change(&w.tape, shadows, w.moved);
        assert_non_null(change);
        for (int c = 0; c < 3; c++) along += w.way[(c + first) % 3] * WAY[c] / length;
        assert_true(along > cos(0.05)); // 3 degrees
        size_t comes = 0, goes = 0, stays = 0;
        for (size_t i = 0; i < FLOOR; i++) {
            double x[3], by = (double)change[D * i];
            bool before = is_shaded(floor_place(i, x), FROM, -0.05), now = is_shaded(x, TO, -0.05),
                 not_before = !is_shaded(x, FROM, 0.08), not_now = !is_shaded(x, TO, 0.08);
            comes += not_before && now, goes += before && not_now, stays += not_before && not_now;
            if (not_before && now) assert_close(by, -0.6 * (1 - DARK), 0.05, 0);
            if (before && not_now) assert_close((double)w.feature[D * i] + by, 0.6, 0.1, 0);
            if (not_before && not_now) assert_true(by == 0);
            assert_close(change[D * i + 1], 0, 0.02, 0);
        }
        assert_true(comes > 20 && goes > 20 && stays > 2000);
        for (size_t k = D * FLOOR; k < D * N; k++) assert_true(change[k] == 0);
        forget(&w);
    }
}

static size_t count_dark(const World *w, const real *change) {
    size_t count = 0;
    for (size_t i = 0; i < FLOOR; i++) count += (double)(w->feature[D * i] + change[D * i]) < 0.4;
    return count;
}

// Where bodies stay, so do their shadows; a particle that is lost far away or has no place changes nothing of others.
static void stay_with_bodies(void **state) {
    (void)state;
    static World w;
    static const real none[D * N];
    make(&w, 0, DARK);
    size_t dark = count_dark(&w, none);
    const real far[] = {0, 10, 1000, (real)1e30, (real)NAN, (real)INFINITY};
    for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
        memcpy(w.moved, w.x, sizeof w.x);
        w.moved[3 * FLOOR] += far[k];
        const real *change = change_of(&w);
        assert_non_null(change);
        size_t now = count_dark(&w, change);
        assert_true(now <= dark && now + 5 >= dark);
        for (size_t i = 0; i < D * FLOOR && k == 0; i++) assert_true(change[i] == 0);
    }
    // At the present it leaves nothing that could be told, if it is somewhere.
    for (size_t k = 1; k < 4; k++) {
        w.x[3 * FLOOR] = far[k];
        assert_null(find(&w));
    }
    forget(&w);
    make(&w, 0, DARK);
    w.feature[3] = (real)NAN;
    assert_null(find(&w));
    forget(&w);
}

// Without shadows, colours or bodies nothing changes.
static void nothing_to_go_by(void **state) {
    (void)state;
    static World w;
    make(&w, 0, 1);
    assert_null(find(&w));
    memset(w.colour, 0, sizeof w.colour);
    assert_null(find(&w));
    forget(&w);
    make(&w, 0, DARK);
    for (size_t i = FLOOR; i < N; i++) w.body[i] = -1;
    assert_null(find(&w));
    for (size_t i = 0; i < N; i++) w.body[i] = 0;
    assert_null(find(&w));
    w.body[0] = -1; // a single particle stands
    assert_null(find(&w));
    w.scene.shade.count = 0;
    assert_null(find(&w));
    assert_true(!w.device->failed);
    forget(&w);
}

// A rollout in which the box moves, with a known light or without.
static RolloutFile rollout_of(World *w, bool lit) {
    RolloutFile out = {.set_count = 1, .steps = 1, .positions = w->moved};
    double length = sqrt(WAY[0] * WAY[0] + WAY[1] * WAY[1] + WAY[2] * WAY[2]);
    for (int c = 0; c < 3 && lit; c++) out.light[c] = WAY[c] / length;
    out.sets[0] = (RolloutSet){.N = N, .D = D, .positions = w->x, .features = w->feature, .body = w->body};
    return out;
}

// How many particles of the floor are drawn darker than they were, and how many lighter.
static void count_drawn(RolloutWorkspace *workspace, const World *w, const RolloutFile *r, size_t *darker,
                        size_t *lighter) {
    DrawScene scene;
    Error err = {0};
    assert_status_ok(draw_load(workspace, r, 1, &scene, &err), err);
    *darker = *lighter = 0;
    for (size_t i = 0; i < FLOOR; i++) {
        double by = (double)(scene.particles.f->value[D * i] - w->feature[D * i]);
        if (by < -0.1) ++*darker;
        if (by > 0.1) ++*lighter;
    }
}

// One workspace draws rollouts in turns, each with its own shadows, and what an edit has changed.
static void as_they_are_drawn(void **state) {
    (void)state;
    static World w[2];
    Config config;
    Vpd *model;
    RolloutWorkspace workspace;
    RolloutFile rollout[2];
    Error err = {0};
    scene_config(&config, (const char *[]){"model.D=4", NULL});
    for (int k = 0; k < 2; k++) make(&w[k], 0, DARK), rollout[k] = rollout_of(&w[k], k == 0);
    assert_status_ok(vpd_create(&config, w[0].device, &model, &err), err);
    rollout_workspace_init(&workspace, model);
    for (int turn = 0; turn < 3; turn++) {
        size_t darker, lighter;
        count_drawn(&workspace, &w[0], &rollout[0], &darker, &lighter);
        assert_true(darker > 20 && lighter > 20);
        count_drawn(&workspace, &w[1], &rollout[1], &darker, &lighter); // has none
        assert_int_equal(darker + lighter, 0);
    }
    size_t darker, lighter;
    for (size_t i = 0; i < D * FLOOR; i += D) w[0].feature[i] /= 4; // painted black: the light takes less
    count_drawn(&workspace, &w[0], &rollout[0], &darker, &lighter);
    assert_int_equal(darker, 0);
    rollout_workspace_free(&workspace);
    vpd_free(model);
    for (int k = 0; k < 2; k++) forget(&w[k]);
}

// Light that no particle keeps from another shows nothing, in whatever memory it is looked for.
static void nothing_is_shaded(void **state) {
    (void)state;
    static World w;
    Arena memory;
    make(&w, 0, DARK);
    arena_init(&memory, arena_host_source());
    memset(arena_alloc(&memory, 4 << 20), 0x4d, 4 << 20); // numbers such as 8e63
    arena_reset(&memory);
    ShadeMemory from = {w.device, &memory};
    assert_null(shadows_find(from, &w.scene.shade, (double[]){0, 0, 1}, D, w.feature));
    assert_true(!w.device->failed);
    arena_free(&memory);
    forget(&w);
}

// Whether the ball at a frame of the movie takes the light of x.
static bool in_shade(int frame, const double x[3]) {
    double a = 0, b = 0, c = -0.09;
    for (int k = 0; k < 3; k++) {
        double o = x[k] - ((const double[3]){-0.2, -0.1, 0.5}[k] + frame * MOVIE_STEP[k]);
        a += WAY[k] * WAY[k], b -= o * WAY[k], c += o * o;
    }
    return b < 0 && b * b > a * c;
}

// The floor is darker where the ball takes the light, at every frame or always as at frame `mark`.
static void paint_shadows(Movie *m, int mark) {
    for (int image = 0; image < MOVIE_IMAGES; image++)
        for (int p = 0; p < MOVIE_PIXELS; p++) {
            double x[3];
            int at = image * MOVIE_PIXELS + p;
            camera_unproject_pixel(m->intrinsics + 9 * (image % MOVIE_VIEWS), m->pose + 16 * image, MOVIE_SIDE,
                                   (size_t)p, (double)m->depth[at], x);
            bool floor = fabs(x[2]) < 1e-4;
            for (int c = 0; c < 3; c++)
                if (floor)
                    m->rgb[3 * at + c] =
                        (uint8_t)(in_shade(mark < 0 ? image / MOVIE_VIEWS : mark, x) ? 30 : 120 + 10 * (p % 2));
        }
}

// Features of the last input frame (before) and after a step, whose first three numbers are colours.
typedef struct Step {
    size_t count;
    real *x, *before, *after;
    int32_t *body;
    bool moved;
} Step;

enum { TOGETHER = 2 };

static Step keep_step(const Scene *scene) {
    const Tensor *before = scene->sets.set[scene->sets.count - 1].f;
    size_t count = before->rows;
    Step out = {count,
                calloc(3 * count, sizeof(real)),
                calloc(3 * count, sizeof(real)),
                calloc(3 * count, sizeof(real)),
                calloc(count, sizeof(int32_t)),
                false};
    memcpy(out.x, scene->bodies.now, 3 * count * sizeof *out.x);
    memcpy(out.body, scene->bodies.body, count * sizeof *out.body);
    for (size_t i = 0; i < count; i++)
        memcpy(out.before + 3 * i, before->value + before->cols * i, 3 * sizeof *out.before);
    return out;
}

static void take_steps(size_t count, const Movie *const *movies, int first, Step *out) {
    Config config;
    Device *device;
    Vpd *model;
    Tape tape;
    Workspace workspace = {0};
    Observation history[TOGETHER];
    MotionSeen seen[TOGETHER];
    SceneInput inputs[TOGETHER];
    Scene scene[TOGETHER], *scenes[TOGETHER];
    StepOutput moved[TOGETHER];
    size_t at;
    Error err = {0};
    scene_config(&config, (const char *[]){"encoder.N=3200", "encoder.carry_rgb=true", "data.extent=3", NULL});
    assert_status_ok(device_open("cpu", 1, &device, &err), err);
    assert_status_ok(vpd_create(&config, device, &model, &err), err);
    tape_init(&tape, device);
    for (size_t s = 0; s < count; s++) {
        history[s] = movie_part(movies[s], first, 2);
        assert_status_ok(vpd_observe(&tape, model, &history[s], &seen[s], &err), err);
        inputs[s] = (SceneInput){&history[s], &seen[s], {0}};
        scenes[s] = &scene[s];
    }
    assert_status_ok(vpd_place(&tape, model, &workspace, count, inputs, scenes, &at, &err), err);
    assert_status_ok(vpd_encode(&tape, model, count, inputs, scenes, &err), err);
    const Tensor *before[TOGETHER];
    for (size_t s = 0; s < count; s++) out[s] = keep_step(scenes[s]), before[s] = scene_present(scenes[s])->f;
    vpd_steps(&tape, model, count, scenes, moved);
    assert_status_ok(device_status(device, &err), err);
    for (size_t s = 0; s < count; s++) {
        const Tensor *after = scene_present(scenes[s])->f;
        out[s].moved = after != before[s];
        for (size_t i = 0; i < out[s].count; i++)
            memcpy(out[s].after + 3 * i, after->value + after->cols * i, 3 * sizeof *out->after);
        motion_seen_free(&seen[s]);
    }
    tape_free(&tape);
    workspace_free(&workspace);
    vpd_free(model);
    device_close(device);
}

static void take_step(const Movie *movie, int first, Step *out) { take_steps(1, &movie, first, out); }

static void forget_step(Step *step) {
    free(step->x);
    free(step->before);
    free(step->after);
    free(step->body);
}

// Scenes in one batch, with shadows and without, step as each does alone.
static void scenes_do_not_shade_each_other(void **state) {
    (void)state;
    static Movie shaded, plain;
    const Movie *movies[TOGETHER] = {&plain, &shaded};
    Step together[TOGETHER], alone[TOGETHER];
    movie_make(&plain);
    movie_make(&shaded);
    paint_shadows(&shaded, -1);
    take_steps(TOGETHER, movies, 2, together);
    for (int s = 0; s < TOGETHER; s++) {
        take_step(movies[s], 2, &alone[s]);
        size_t bytes = 3 * alone[s].count * sizeof(real);
        assert_int_equal(together[s].count, alone[s].count);
        assert_memory_equal(together[s].x, alone[s].x, bytes);
        assert_memory_equal(together[s].body, alone[s].body, alone[s].count * sizeof(int32_t));
        assert_memory_equal(together[s].before, alone[s].before, bytes);
        assert_memory_equal(together[s].after, alone[s].after, bytes);
    }
    assert_true(alone[1].moved && !alone[0].moved);
    for (int s = 0; s < TOGETHER; s++) forget_step(&together[s]), forget_step(&alone[s]);
}

static void go_with_a_step(void **state) {
    (void)state;
    static Movie movie;
    Step step;
    size_t comes = 0, goes = 0;
    movie_make(&movie);
    take_step(&movie, 2, &step);
    assert_false(step.moved); // no shadow
    forget_step(&step);
    paint_shadows(&movie, 3); // a mark on the floor that looks like the shadow of the last input frame
    take_step(&movie, 2, &step);
    assert_false(step.moved);
    forget_step(&step);
    movie_make(&movie);
    paint_shadows(&movie, -1);
    take_step(&movie, 2, &step);
    assert_true(step.moved);
    for (size_t i = 0; i < step.count; i++) {
        double x[3] = {(double)step.x[3 * i], (double)step.x[3 * i + 1], (double)step.x[3 * i + 2]},
               by = (double)(step.after[3 * i] - step.before[3 * i]);
        if (step.body[i] >= 0) assert_true(by == 0);
        if (step.body[i] >= 0 || fabs(x[2]) > 1e-3) continue;
        bool was_dark = step.before[3 * i] < 0.2f, dark = in_shade(4, x);
        if (was_dark && !dark && by > 0.05) goes++;
        if (!was_dark && dark && by < -0.05) comes++;
        assert_true(was_dark ? by > -0.1 : by < 0.1);
    }
    assert_true(comes > 20 && goes > 5); // particles are as far apart as the shadow moves
    forget_step(&step);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(go_with_bodies),
                                       cmocka_unit_test(as_they_are_drawn),
                                       cmocka_unit_test(stay_with_bodies),
                                       cmocka_unit_test(nothing_to_go_by),
                                       cmocka_unit_test(nothing_is_shaded),
                                       cmocka_unit_test(go_with_a_step),
                                       cmocka_unit_test(scenes_do_not_shade_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
