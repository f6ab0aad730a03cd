// SPDX-License-Identifier: Apache-2.0
// Evaluation: an untrained model that carries nothing on scores as standing still does, pictures are those of the
// rollout and measure the same when they are read back, starts that do not fit are left out by name; films show what
// the evaluation measured.
#include "base/file.h"
#include "base/image.h"
#include "infer/eval.h"
#include "infer/eval_frames.h"
#include "infer/eval_masks.h"
#include "infer/eval_request.h"
#include "infer/film.h"
#include "tests/infer_world.h"

static void plan_and_run(World *world, EvalChoice choice, EvalOptions options, Report *report) {
    EvalPlan plan;
    Error err = {0};
    assert_status_ok(eval_plan_make(world->model, world->dataset, &choice, &plan, &err), err);
    assert_status_ok(eval_run(world->model, world->dataset, &plan, &options, report, &err), err);
    assert_int_equal(report->rollouts, plan.count);
    eval_plan_free(&plan);
}

static const int ALL_EPISODES[] = {0, 1, 2};

// How many values of two methods differ, of all metrics, regions, groups and steps; *values counts those compared.
static int methods_differ(const Report *report, ReportMethod a, ReportMethod b, int *values) {
    int differ = 0;
    *values = 0;
    for (int i = 0; i < GROUP_COUNT * REGION_COUNT * METRIC_COUNT; i++) {
        for (int step = 0; step <= report->steps; step++) {
            int group = i % GROUP_COUNT, region = i / GROUP_COUNT % REGION_COUNT,
                metric = i / GROUP_COUNT / REGION_COUNT;
            Mean x = report_mean(report, a, group, region, metric, step, -1),
                 y = report_mean(report, b, group, region, metric, step, -1);
            differ += x.count != y.count || x.sum != y.sum || x.rejected || y.rejected;
            *values += x.count > 0;
        }
    }
    return differ;
}

static void untrained_is_no_dynamics(void **state) {
    (void)state;
    World world;
    Report report;
    int values;
    for (int cameras = 0; cameras < 2; cameras++) {
        WorldShape shape = WORLD_PLAIN;
        shape.moving_cameras = cameras;
        world_open(&world, shape);
        world_model(&world, (const char *[]){"gnn.graph=hierarchical", NULL}, false);
        plan_and_run(&world, (EvalChoice){.episodes = ALL_EPISODES, .episode_count = 3, .steps = 4}, (EvalOptions){0},
                     &report);
        assert_int_equal(report.rollouts, 6); // starts 1 and 2
        assert_int_equal(report.episodes, 3);
        assert_int_equal(methods_differ(&report, METHOD_MODEL, METHOD_UNMOVED, &values), 0);
        assert_true(values > 80);
        assert_true(methods_differ(&report, METHOD_MODEL, METHOD_COPY, &values) >
                    80); // planted: the comparison can see

        // One held-out view of three; the ball flies 10 cm a step along x and nothing predicted it.
        Mean input = report_mean(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 1, -1);
        Mean heldout = report_mean(&report, METHOD_MODEL, GROUP_HELDOUT, REGION_WHOLE, METRIC_PSNR, 1, -1);
        assert_int_equal(input.count, 12);
        assert_int_equal(heldout.count, 6);
        for (int step = 0; step <= 4; step++) {
            const MotionTally *motion = report_motion(&report, METHOD_MODEL, step);
            assert_close(mean_value(&motion->true_motion), 0.1 * step, 1e-6, 0);
            assert_close(mean_value(&motion->error), 0.1 * step, 1e-6, 0);
            assert_close(mean_value(&motion->floor_drift), 0, 0, 0);
        }
        // Copying the last frame is no prediction of itself; it ages.
        Mean first = report_mean(&report, METHOD_COPY, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 1, -1);
        Mean last = report_mean(&report, METHOD_COPY, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 4, -1);
        assert_int_equal(report_mean(&report, METHOD_COPY, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 0, -1).count, 0);
        assert_true(mean_value(&first) > mean_value(&last));
        report_free(&report);

        // A model that moves its particles is another matter.
        world_model(&world, NULL, true);
        plan_and_run(&world, (EvalChoice){.episodes = ALL_EPISODES, .episode_count = 1, .steps = 4}, (EvalOptions){0},
                     &report);
        assert_true(methods_differ(&report, METHOD_MODEL, METHOD_UNMOVED, &values) > 40);
        report_free(&report);
        world_close(&world);
    }
}

// Up is along the axis of train.turn, else at right angles to the cameras' x axes (the world's look_at). The ball flies
// along x.
static void up_is_of_the_cameras_or_the_training(void **state) {
    (void)state;
    static const double cameras[3] = {0.3, 0.2, 1}, y[3] = {0, 1, 0};
    World world;
    world_open(&world, WORLD_PLAIN);
    for (int turned = 0; turned < 2; turned++) {
        const double *up = turned ? y : cameras;
        double length = sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2]);
        Report report;
        world_model(&world, (const char *[]){turned ? "train.turn=y" : "train.turn=none", NULL}, false);
        plan_and_run(&world, (EvalChoice){.episodes = ALL_EPISODES, .episode_count = 1, .steps = 4},
                     (EvalOptions){.motion_only = true}, &report);
        for (int c = 0; c < 3; c++) assert_close(report.up[c], up[c] / length, 1e-3, 0); // a little decides the sign
        const MotionTally *motion = report_motion(&report, METHOD_MODEL, 4);
        double upward = 0.4 * up[0] / length;
        assert_close(motion->vertical.xx, 2 * upward * upward, 1e-3, 0); // two starts, of .4 m
        assert_close(motion->horizontal.xx, 2 * (0.16 - upward * upward), 1e-3, 0);
        report_free(&report);
    }
    world_close(&world);
}

// The same motion as with pictures, and none of those.
static void motion_alone_draws_nothing(void **state) {
    (void)state;
    World world;
    Report whole, motion;
    int values;
    EvalChoice choice = {.episodes = ALL_EPISODES, .episode_count = 1, .steps = 4};
    world_open(&world, WORLD_PLAIN);
    world_model(&world, NULL, true);
    plan_and_run(&world, choice, (EvalOptions){0}, &whole);
    plan_and_run(&world, choice, (EvalOptions){.motion_only = true}, &motion);
    assert_int_equal(methods_differ(&motion, METHOD_MODEL, METHOD_MODEL, &values), 0);
    assert_int_equal(values, 0);
    for (int step = 1; step <= 4; step++) {
        const MotionTally *a = report_motion(&whole, METHOD_MODEL, step),
                          *b = report_motion(&motion, METHOD_MODEL, step);
        assert_true(a->error.count > 0 && a->error.count == b->error.count && a->error.sum == b->error.sum);
        assert_true(a->floor_drift.sum == b->floor_drift.sum);
    }
    report_free(&whole);
    report_free(&motion);
    world_close(&world);
}

// Motion alone that cannot be measured is refused, with the reason.
static void motion_that_cannot_be_measured(void **state) {
    (void)state;
    static const char *const reasons[] = {"because these episodes have no mask",
                                          "because these episodes have no state/object_"};
    for (int i = 0; i < 2; i++) {
        World world;
        WorldShape shape = WORLD_PLAIN;
        shape.no_mask = i == 0, shape.no_state = i == 1;
        world_open(&world, shape);
        world_model(&world, NULL, false);
        Session session = {.model = world.model};
        EvalEpisodes episodes;
        Report report = {0};
        Error err = {0};
        assert_status_ok(eval_episodes_choose(world.dataset, "train,val,test", NULL, 0, &episodes, &err), err);
        EvalRequest request = {.episodes = &episodes, .steps = 2, .motion_only = true};
        assert_status_error(eval_request_run(&session, world.dataset, &request, &report, &err), STATUS_BAD_INPUT, err,
                            reasons[i]);
        request.steps = 0;
        assert_status_error(eval_request_run(&session, world.dataset, &request, &report, &err), STATUS_BAD_INPUT, err,
                            "motion alone needs at least 1 step");
        request.motion_only = false; // pictures can be measured
        assert_status_ok(eval_request_run(&session, world.dataset, &request, &report, &err), err);
        report_free(&report);
        eval_episodes_free(&episodes);
        world_close(&world);
    }
}

// One warning where the cameras' up, (.3, .2, 1), is another one than the model's, where the scene, 2 m wide, is
// much larger or smaller than the model's, or where its frames, .1 s apart, are much further apart. None of up for no
// gravity or no model of motion.
static void unlike_data_are_told(void **state) {
    (void)state;
    static const char *const up = "held with (0.28, 0.19, 0.94) up, but the model learned gravity along y";
    static const struct {
        const char *turn, *other, *extent, *words; // words NULL: silent
    } cases[] = {{"train.turn=y", "model.T=2", "data.extent=2", up},
                 {"train.turn=z", "model.T=2", "data.extent=2", NULL},
                 {"train.turn=none", "model.T=2", "data.extent=2", NULL},
                 {"train.turn=y", "model.T=1", "data.extent=2", NULL},
                 {"train.turn=z", "model.T=2", "data.extent=0.7", NULL},
                 {"train.turn=z", "model.T=2", "data.extent=0.6", "2 m wide, but the model learned in one of 0.6 m"},
                 {"train.turn=z", "model.T=2", "data.extent=7", "2 m wide, but the model learned in one of 7 m"},
                 {"train.turn=z", "data.time_step=0.07", "data.extent=2", NULL},
                 {"train.turn=z", "data.time_step=0.06", "data.extent=2",
                  "sees a frame every 0.1 s here, and learned from one every 0.06 s, so its predictions may be wrong"},
                 {"data.slowest=0.07", "data.time_step=0.06", "data.extent=2", NULL}};
    World world;
    world_open(&world, WORLD_PLAIN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t length = 0;
        Log log = {.out = open_memstream(&text, &length), .quiet = true};
        EvalEpisodes episodes;
        Report report = {0};
        Error err = {0};
        world_model(&world, (const char *[]){cases[i].turn, cases[i].other, cases[i].extent, NULL}, false);
        Session session = {.model = world.model};
        assert_status_ok(eval_episodes_choose(world.dataset, "train,val,test", NULL, 0, &episodes, &err), err);
        EvalRequest request = {.episodes = &episodes, .steps = 1, .log = &log};
        assert_status_ok(eval_request_run(&session, world.dataset, &request, &report, &err), err);
        fclose(log.out);
        const char *found = cases[i].words ? strstr(text, cases[i].words) : NULL;
        assert_true(cases[i].words ? found && !strstr(found, "warning") : !*text);
        free(text);
        report_free(&report);
        eval_episodes_free(&episodes);
    }
    world_close(&world);
}

static void wrong_units_are_told(void **state) {
    (void)state;
    char *text = NULL;
    size_t length = 0;
    Log log = {.out = open_memstream(&text, &length), .quiet = true};
    World world;
    world_open(&world, WORLD_PLAIN);
    world_model(&world, (const char *[]){"train.turn=z", "data.extent=0.002", NULL}, false);
    double *bounds = (double *)dataset_episode(world.dataset, 0)->bounds;
    assert_non_null(bounds);
    for (int i = 0; i < 6; i++) bounds[i] *= 0.001; // as where poses and depth are in millimetres
    history_warn(world.model, world.dataset, 0, &(IntList){0}, &log);
    fclose(log.out);
    assert_non_null(strstr(text, "its workspace box is 0.002 m wide; are depth, poses and bounds in metres?"));
    assert_null(strstr(text, "the model learned in"));
    free(text);
    world_close(&world);
}

static void read_picture(const char *folder, const char *name, Image *image) {
    char path[FILE_PATH_SIZE];
    Error err = {0};
    assert_status_ok(file_join(path, sizeof path, folder, name, &err), err);
    assert_status_ok(image_read(path, image, &err), err);
}

static void pictures_are_the_rollouts(void **state) {
    (void)state;
    World world;
    Report report, again;
    RolloutFile saved, r;
    Error err = {0};
    char folder[256], from[300], path[256];
    world_open(&world, WORLD_PLAIN);
    world_model(&world, NULL, true);
    snprintf(folder, sizeof folder, "%s/pictures", world.folder);
    snprintf(from, sizeof from, "%s/start_2", folder);
    snprintf(path, sizeof path, "%s/out.h5", world.folder);
    EvalChoice choice = {.episodes = (int[]){1}, .episode_count = 1, .starts = {.count = 1, .v = {2}}, .steps = 5};
    plan_and_run(&world, choice, (EvalOptions){.pictures = folder}, &report);

    // Another rollout of the same start, through a file: the same pictures, byte for byte.
    assert_status_ok(world_rollout(&world, 1, 2, 5, &saved, &err), err);
    assert_status_ok(rollout_file_write(&saved, path, &err), err);
    assert_status_ok(rollout_file_read(path, &r, &err), err);
    uint8_t *rgb = malloc(3 * 24 * 28);
    for (size_t step = 0; step <= 5; step += 5) {
        for (int view = 0; view < 3; view++) {
            char name[64];
            DrawScene scene;
            Image image;
            FilmShot shot = {step, view, draw_camera(&r, step, view)};
            assert_status_ok(draw_load(&world.workspace, &r, step, &scene, &err), err);
            assert_status_ok(film_draw_shot(&world.workspace, &scene, &shot, false, rgb, &err), err);
            snprintf(name, sizeof name, "000001/view_%d/frame_%04d.png", view, 2 + (int)step);
            read_picture(from, name, &image);
            assert_true(image.H == 24 && image.W == 28 && image.channels == 3);
            assert_memory_equal(image.pixels, rgb, 3 * 24 * 28);
            image_free(&image);
        }
    }
    free(rgb);

    // Read back as another system's pictures, they measure the same; depth was rounded to millimetres.
    EvalFramesOptions frames = {.folder = from, .last_input = 2, .steps = 5};
    assert_status_ok(eval_frames(world.dataset, &frames, &again, &err), err);
    for (int step = 0; step <= 5; step++) {
        for (int i = 0; i < GROUP_COUNT * REGION_COUNT * METRIC_COUNT; i++) {
            int group = i % GROUP_COUNT, region = i / GROUP_COUNT % REGION_COUNT,
                metric = i / GROUP_COUNT / REGION_COUNT;
            Mean a = report_mean(&report, METHOD_MODEL, group, region, metric, step, -1),
                 b = report_mean(&again, METHOD_MODEL, group, region, metric, step, -1);
            assert_int_equal(a.count, b.count);
            assert_true(a.count > 0);
            assert_close(mean_value(&a), mean_value(&b), metric == METRIC_DEPTH ? 5e-4 : 1e-9, 0);
        }
    }
    // The sheet: truth and model of the first input view and the held-out one, six steps.
    Image sheet;
    read_picture(folder, "000001_start_2.png", &sheet);
    assert_true(sheet.W > 6 * 28 && sheet.H > 4 * 24);
    image_free(&sheet);
    report_free(&report);
    report_free(&again);
    rollout_file_free(&saved);
    rollout_file_free(&r);
    world_close(&world);
}

static void starts_that_fit(void **state) {
    (void)state;
    World world;
    EvalPlan plan;
    Error err = {0};
    world_open(&world, WORLD_PLAIN); // 8 frames: steps end at 7
    world_model(&world, NULL, false);
    EvalChoice choice = {
        .episodes = ALL_EPISODES, .episode_count = 2, .starts = {.count = 3, .v = {1, 4, 0}}, .steps = 5};
    assert_status_ok(eval_plan_make(world.model, world.dataset, &choice, &plan, &err), err);
    assert_int_equal(plan.count, 2);
    assert_int_equal(plan.rollouts[1].episode, 1);
    assert_int_equal(plan.rollouts[1].start, 1);
    assert_string_equal(plan.left_out, "000000 start 4, 000000 start 0, 000001 start 4, 000001 start 0");
    eval_plan_free(&plan);

    choice.starts = (IntList){.count = 1, .v = {4}};
    assert_status_error(eval_plan_make(world.model, world.dataset, &choice, &plan, &err), STATUS_BAD_INPUT, err,
                        "expected at least 10 frames for start 4 and 5 steps, found 8");
    choice.starts = (IntList){.count = 1, .v = {0}};
    assert_status_error(eval_plan_make(world.model, world.dataset, &choice, &plan, &err), STATUS_BAD_INPUT, err,
                        "start frame 0; expected 1 or more");
    choice.episode_count = 0;
    assert_status_error(eval_plan_make(world.model, world.dataset, &choice, &plan, &err), STATUS_BAD_INPUT, err,
                        "no episode to evaluate");

    // What is not said: as many steps as there are, up to 12; the earliest start and one halfway.
    choice = (EvalChoice){.episodes = ALL_EPISODES, .episode_count = 1, .steps = -1};
    assert_status_ok(eval_plan_make(world.model, world.dataset, &choice, &plan, &err), err);
    assert_int_equal(plan.steps, 6);
    assert_int_equal(plan.count, 1);
    eval_plan_free(&plan);
    choice.steps = 2;
    assert_status_ok(eval_plan_make(world.model, world.dataset, &choice, &plan, &err), err);
    assert_int_equal(plan.count, 2);
    assert_int_equal(plan.rollouts[1].start, 3);
    eval_plan_free(&plan);
    world_model(&world, (const char *const[]){"data.time_step=0.25", "gnn.graph=hierarchical", NULL}, false);
    assert_status_error(eval_plan_make(world.model, world.dataset, &choice, &plan, &err), STATUS_BAD_INPUT, err,
                        "expected frames every 0.25 s");
    world_close(&world);
}

// A static scene: reconstruction alone, and without a mask no moving pixels.
static void one_frame_is_enough(void **state) {
    (void)state;
    World world;
    Report report;
    world_open(&world, (WorldShape){.F = 1, .V = 3, .H = 16, .W = 16, .episodes = 1, .no_mask = true});
    world_model(&world, (const char *const[]){"model.T=1", NULL}, false);
    plan_and_run(&world, (EvalChoice){.episodes = ALL_EPISODES, .episode_count = 1, .steps = -1}, (EvalOptions){0},
                 &report);
    assert_int_equal(report.steps, 0);
    assert_int_equal(report_mean(&report, METHOD_MODEL, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 0, -1).count, 2);
    assert_int_equal(report_mean(&report, METHOD_MODEL, GROUP_INPUT, REGION_MOVING, METRIC_PSNR, 0, -1).count, 0);
    assert_non_null(strstr(report.moving, "since the last input frame"));
    report_free(&report);
    world_close(&world);
}

// Without a mask, moving pixels are those that change; with data.crop, those outside the box count no more.
static void masks_and_crops(void **state) {
    (void)state;
    World world;
    Report all, cropped;
    WorldShape shape = WORLD_PLAIN;
    EvalChoice choice = {.episodes = ALL_EPISODES, .episode_count = 1, .starts = {.count = 1, .v = {1}}, .steps = 3};
    shape.no_mask = true;
    world_open(&world, shape);
    world_model(&world, NULL, false);
    plan_and_run(&world, choice, (EvalOptions){0}, &all);
    assert_int_equal(report_mean(&all, METHOD_COPY, GROUP_INPUT, REGION_MOVING, METRIC_PSNR, 0, -1).count, 0);
    assert_int_equal(report_mean(&all, METHOD_COPY, GROUP_INPUT, REGION_MOVING, METRIC_PSNR, 3, -1).count, 2);
    assert_int_equal(report_motion(&all, METHOD_MODEL, 3)->error.count, 0); // no mask tells whose the particles are
    world_model(&world, (const char *const[]){"data.crop=true", NULL}, false);
    plan_and_run(&world, choice, (EvalOptions){0}, &cropped);
    // Nothing changes outside the box, so its pixels only dilute the error of the last frame.
    Mean wide = report_mean(&all, METHOD_COPY, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 3, -1);
    Mean narrow = report_mean(&cropped, METHOD_COPY, GROUP_INPUT, REGION_WHOLE, METRIC_PSNR, 3, -1);
    assert_true(mean_value(&narrow) < mean_value(&wide) - 1);
    report_free(&all);
    report_free(&cropped);
    world_close(&world);
}

static size_t count_mask(const uint8_t *mask, size_t pixels) {
    size_t count = 0;
    for (size_t i = 0; i < pixels; i++) count += mask[i];
    return count;
}

// A point on the checkered floor or the ball, seen by two views of three that look from one side.
static void pixels_that_inputs_see(void **state) {
    (void)state;
    enum { PIXELS = 24 * 28 };
    World world;
    Frames frames = {0};
    Report all, seen;
    Error err = {0};
    uint8_t mask[PIXELS], none[3] = {0}, last[3] = {0, 0, 1}, every[3] = {1, 1, 1};
    world_open(&world, WORLD_PLAIN);
    assert_status_ok(dataset_read_frames(world.dataset, (FrameRequest){.episode = 0, .count = 1}, &frames, &err), err);
    size_t depth = 0;
    for (size_t i = 0; i < PIXELS; i++) depth += frames.depth[2 * PIXELS + i] > 0;
    // A view sees its own points, and only pixels with depth have a point.
    memset(mask, 1, PIXELS);
    eval_mask_seen((EvalPixels){&frames, 2}, &frames, none, mask);
    assert_int_equal(count_mask(mask, PIXELS), depth);
    // Other views see most of them, not what lies behind the ball or out of their pictures.
    memset(mask, 1, PIXELS);
    eval_mask_seen((EvalPixels){&frames, 2}, &frames, last, mask);
    assert_true(count_mask(mask, PIXELS) > depth / 4 && count_mask(mask, PIXELS) < depth);
    eval_mask_seen((EvalPixels){&frames, 2}, &frames, every, mask);
    assert_int_equal(count_mask(mask, PIXELS), 0);
    // The box of the workspace: fewer points, none outside.
    memset(mask, 1, PIXELS);
    eval_mask_box((EvalPixels){&frames, 0}, (double[]){-1, -1, -1, 1, 1, 1}, mask);
    assert_true(count_mask(mask, PIXELS) > 20 && count_mask(mask, PIXELS) < depth);
    eval_mask_box((EvalPixels){&frames, 0}, (double[]){5, 5, 5, 6, 6, 6}, mask);
    assert_int_equal(count_mask(mask, PIXELS), 0);

    EvalChoice choice = {.episodes = ALL_EPISODES, .episode_count = 1, .starts = {.count = 1, .v = {1}}, .steps = 0};
    world_model(&world, NULL, false);
    plan_and_run(&world, choice, (EvalOptions){0}, &all);
    plan_and_run(&world, choice, (EvalOptions){.seen_only = true}, &seen);
    Mean a = report_mean(&all, METHOD_MODEL, GROUP_HELDOUT, REGION_WHOLE, METRIC_PSNR, 0, -1);
    Mean b = report_mean(&seen, METHOD_MODEL, GROUP_HELDOUT, REGION_WHOLE, METRIC_PSNR, 0, -1);
    assert_true(a.count == 1 && b.count == 1 && a.sum != b.sum);
    report_free(&all);
    report_free(&seen);
    frames_free(&frames);
    world_close(&world);
}

static void films(void **state) {
    (void)state;
    World world;
    RolloutFile r;
    Film film;
    Video video = {0};
    Error err = {0};
    world_open(&world, WORLD_PLAIN);
    world_model(&world, NULL, true);
    assert_status_ok(world_rollout(&world, 2, 5, 4, &r, &err), err); // the video ends at step 2

    assert_status_ok(film_of_views(&r, (int[]){0, 2}, 2, -1, 0, 0, &film, &err), err);
    assert_true(film.frames == 5 && film.rows == 2 && film.H == 24 && film.W == 28);
    FilmOptions options = {.truth = world.dataset, .episode = 2, .difference = true};
    assert_status_ok(film_draw(&world.workspace, &r, &film, &options, &video, &err), err);
    assert_int_equal(video.count, 5);
    int with_truth = video.W;
    video_free(&video);
    options = (FilmOptions){.labels = true};
    assert_status_ok(film_draw(&world.workspace, &r, &film, &options, &video, &err), err);
    assert_true(video.W < with_truth / 2);
    video_free(&video);
    film_free(&film);

    // A path of cameras: time is spread over it; larger pictures of the same field of view.
    PathCamera path[9] = {{.H = 0}};
    for (int i = 0; i < 9; i++) {
        memcpy(path[i].K, r.intrinsics, sizeof path[i].K);
        memcpy(path[i].world_from_camera, rollout_pose(&r, 0, 1), sizeof path[i].world_from_camera);
        path[i].H = 24, path[i].W = 28;
    }
    assert_status_ok(film_of_path(&r, path, 9, -1, 48, 56, &film, &err), err);
    assert_int_equal(film.shots[0].step, 0);
    assert_int_equal(film.shots[4].step, 2);
    assert_int_equal(film.shots[8].step, 4);
    assert_close(film.shots[0].camera.K[0], 2 * r.intrinsics[0], 1e-9, 0);
    film_free(&film);
    assert_status_ok(film_of_path(&r, path, 1, -1, 0, 0, &film, &err), err);
    assert_true(film.frames == 5 && film.shots[4].step == 4);
    film_free(&film);
    assert_status_ok(film_of_path(&r, path, 9, 3, 0, 0, &film, &err), err);
    assert_true(film.frames == 9 && film.shots[0].step == 3);
    film_free(&film);

    assert_status_error(film_of_views(&r, (int[]){3}, 1, -1, 0, 0, &film, &err), STATUS_BAD_INPUT, err, "found view 3");
    assert_status_error(film_of_views(&r, (int[]){0}, 1, 5, 0, 0, &film, &err), STATUS_BAD_INPUT, err,
                        "a step of the rollout, 0 to 4, found 5");
    rollout_file_free(&r);
    world_close(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(untrained_is_no_dynamics),
        cmocka_unit_test(up_is_of_the_cameras_or_the_training),
        cmocka_unit_test(unlike_data_are_told),
        cmocka_unit_test(wrong_units_are_told),
        cmocka_unit_test(motion_alone_draws_nothing),
        cmocka_unit_test(pictures_are_the_rollouts),
        cmocka_unit_test(starts_that_fit),
        cmocka_unit_test(one_frame_is_enough),
        cmocka_unit_test(masks_and_crops),
        cmocka_unit_test(pixels_that_inputs_see),
        cmocka_unit_test(films),
        cmocka_unit_test(motion_that_cannot_be_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
