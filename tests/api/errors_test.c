// SPDX-License-Identifier: Apache-2.0
// Every way to use libvpd.so wrongly comes back as one sentence; nothing is printed, nothing ends the process.
#include "tests/api/world.h"

#include <fcntl.h>
#include <sys/stat.h>

typedef struct Given {
    vpd_model *model;
    vpd_scene *scene;
    WorldFrames frames;
} Given;

static Given given;

// ---- nothing is printed while the tests of this file run: both streams go to files that stay empty

static int saved[2];
static char printed[2][96];

static int silence(void **state) {
    if (world_make(state)) return 1;
    for (int i = 0; i < 2; i++) {
        snprintf(printed[i], sizeof printed[i], "%s/printed%d", world_folder, i);
        saved[i] = dup(i + 1);
    }
    given.model = world_open_model("model.h5", 1);
    given.scene = world_episode(given.model);
    world_read_frames(&given.frames);
    return 0;
}

static int end(void **state) {
    vpd_scene_free(given.scene);
    vpd_model_close(given.model);
    return world_remove(state);
}

static void hush(void) {
    fflush(NULL);
    for (int i = 0; i < 2; i++) {
        int fd = open(printed[i], O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_true(fd >= 0 && dup2(fd, i + 1) == i + 1);
        close(fd);
    }
}

// Streams are back before anything is asserted.
static void speak(void) {
    struct stat info[2];
    fflush(NULL);
    for (int i = 0; i < 2; i++) dup2(saved[i], i + 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stat(printed[i], &info[i]), 0);
        assert_int_equal(info[i].st_size, 0);
    }
}

// One wrong call. `words` must stand in the sentence.
#define WRONG(call, words)                                                                                             \
    do {                                                                                                               \
        vpd_error err = {0};                                                                                           \
        hush();                                                                                                        \
        vpd_status status = (call);                                                                                    \
        speak();                                                                                                       \
        if (status != VPD_BAD_INPUT || err.status != status || !strstr(err.text, words))                               \
            fail_msg("%s: status %d, \"%s\"; expected \"%s\"", #call, (int)status, err.text, words);                   \
    } while (0)

static void null_is_an_error(void **state) {
    (void)state;
    vpd_model *model = given.model;
    vpd_scene *scene = given.scene, *out = NULL;
    vpd_model *opened = NULL;
    vpd_model_facts facts = {.struct_size = sizeof facts};
    vpd_scene_facts about = {.struct_size = sizeof about};
    vpd_particle_arrays arrays = {.struct_size = sizeof arrays};
    vpd_view view = world_view(scene, 0);
    uint8_t rgb[3 * WORLD_H * WORLD_W];
    vpd_picture picture = {.struct_size = sizeof picture, .rgb = rgb};
    vpd_frames frames = world_frames(&given.frames);
    float place[3] = {0};
    WRONG(vpd_model_open(NULL, NULL, &opened, &err), "path: expected an object or array, found NULL");
    WRONG(vpd_model_open("x", NULL, NULL, &err), "out: expected");
    WRONG(vpd_model_get_facts(NULL, &facts, &err), "model: expected");
    WRONG(vpd_model_get_facts(model, NULL, &err), "vpd_model_facts: expected");
    WRONG(vpd_scene_encode(NULL, &frames, &out, &err), "model: expected");
    WRONG(vpd_scene_encode(model, NULL, &out, &err), "vpd_frames: expected");
    WRONG(vpd_scene_encode(model, &frames, NULL, &err), "out: expected");
    WRONG(vpd_scene_episode(NULL, "x", NULL, 0, &out, &err), "model: expected");
    WRONG(vpd_scene_episode(model, NULL, NULL, 0, &out, &err), "dataset: expected");
    WRONG(vpd_scene_episode(model, "x", NULL, 0, NULL, &err), "out: expected");
    WRONG(vpd_scene_read(NULL, "x", &out, &err), "model: expected");
    WRONG(vpd_scene_read(model, NULL, &out, &err), "path: expected");
    WRONG(vpd_scene_read(model, "x", NULL, &err), "out: expected");
    WRONG(vpd_scene_write(NULL, "x", &err), "scene: expected");
    WRONG(vpd_scene_write(scene, NULL, &err), "path: expected");
    WRONG(vpd_scene_copy(NULL, &out, &err), "scene: expected");
    WRONG(vpd_scene_copy(scene, NULL, &err), "out: expected");
    WRONG(vpd_scene_get_facts(NULL, &about, &err), "scene: expected");
    WRONG(vpd_scene_get_facts(scene, NULL, &err), "vpd_scene_facts: expected");
    WRONG(vpd_scene_get_particles(NULL, 0, &arrays, &err), "scene: expected");
    WRONG(vpd_scene_get_particles(scene, 0, NULL, &err), "vpd_particle_arrays: expected");
    WRONG(vpd_scene_step(NULL, 1, &err), "scene: expected");
    WRONG(vpd_scene_rewind(NULL, 0, &err), "scene: expected");
    WRONG(vpd_scene_set_positions(NULL, 0, place, 1, &err), "scene: expected");
    WRONG(vpd_scene_set_positions(scene, 0, NULL, 1, &err), "positions: expected");
    WRONG(vpd_scene_camera(NULL, 0, 0, &view, &err), "scene: expected");
    WRONG(vpd_scene_camera(scene, 0, 0, NULL, &err), "vpd_view: expected");
    WRONG(vpd_scene_render(NULL, 0, &view, &picture, &err), "scene: expected");
    WRONG(vpd_scene_render(scene, 0, NULL, &picture, &err), "vpd_view: expected");
    WRONG(vpd_scene_render(scene, 0, &view, NULL, &err), "vpd_picture: expected");
    picture.rgb = NULL;
    WRONG(vpd_scene_render(scene, 0, &view, &picture, &err), "at least one of rgb, colour, depth and opacity");
    assert_int_equal(vpd_scene_step(NULL, 1, NULL), VPD_BAD_INPUT); // no error wanted
    assert_true(!out && !opened);
}

static void sizes_of_structs(void **state) {
    (void)state;
    vpd_model *opened = NULL;
    vpd_scene *scene = given.scene, *out = NULL;
    vpd_open_options options = {0};
    vpd_model_facts facts = {0};
    vpd_scene_facts about = {.struct_size = sizeof about + 8}; // of a newer header
    vpd_particle_arrays arrays = {0};
    vpd_frames frames = {0};
    vpd_view view = {0}, good = world_view(scene, 0);
    vpd_picture picture = {0};
    WRONG(vpd_model_open("x", &options, &opened, &err), "set it to sizeof(vpd_open_options)");
    WRONG(vpd_model_get_facts(given.model, &facts, &err), "set it to sizeof(vpd_model_facts)");
    WRONG(vpd_scene_get_facts(scene, &about, &err), "with the vpd.h of this library");
    WRONG(vpd_scene_get_particles(scene, 0, &arrays, &err), "sizeof(vpd_particle_arrays)");
    WRONG(vpd_scene_encode(given.model, &frames, &out, &err), "sizeof(vpd_frames)");
    WRONG(vpd_scene_camera(scene, 0, 0, &view, &err), "sizeof(vpd_view)");
    WRONG(vpd_scene_render(scene, 0, &view, &picture, &err), "sizeof(vpd_view)");
    WRONG(vpd_scene_render(scene, 0, &good, &picture, &err), "sizeof(vpd_picture)");
}

static void files_that_do_not_fit(void **state) {
    (void)state;
    vpd_model *opened = NULL, *other = world_open_model("other.h5", 1);
    vpd_scene *out = NULL;
    vpd_open_options options = {.struct_size = sizeof options, .device = "tpu"};
    WRONG(vpd_model_open(world_place("nothing"), NULL, &opened, &err), "nothing");
    WRONG(vpd_model_open(world_place("data.h5"), NULL, &opened, &err), "data.h5");
    WRONG(vpd_model_open(world_place("model.h5"), &options, &opened, &err), "tpu: expected auto, cpu");
    options.device = NULL, options.threads = -1;
    WRONG(vpd_model_open(world_place("model.h5"), &options, &opened, &err), "threads: expected 0 to 1024, found -1");
    WRONG(vpd_scene_episode(given.model, world_place("none.h5"), NULL, 0, &out, &err), "none.h5");
    WRONG(vpd_scene_episode(given.model, world_place("data.h5"), "zebra", 0, &out, &err), "no episode zebra");
    WRONG(vpd_scene_episode(given.model, world_place("data.h5"), NULL, 99, &out, &err),
          "start frame 99; expected 1 to 7");
    WRONG(vpd_scene_episode(given.model, world_place("data.h5"), NULL, -2, &out, &err),
          "-1 for the earliest, found -2");
    WRONG(vpd_scene_read(given.model, world_place("data.h5"), &out, &err), "vpd-rollout");
    WRONG(vpd_scene_read(other, world_place("expected.h5"), &out, &err), "expected the checkpoint");
    WRONG(vpd_scene_read(given.model, world_place("raw.h5"), &out, &err), "open the model with raw = 1");
    WRONG(vpd_scene_write(given.scene, "/dev/null/at/all.h5", &err), "/dev/null/at/all.h5");
    assert_true(!out && !opened);
    vpd_model_close(other);
    // The machine's failures are another status.
    vpd_error err = {0};
    vpd_model *diverged = world_open_model("diverged.h5", 1);
    vpd_scene *scene = world_episode(diverged);
    assert_vpd_error(vpd_scene_step(scene, 2, &err), VPD_FAILED, err, "not finite at step 1");
    vpd_scene_free(scene);
    vpd_model_close(diverged);
}

static void numbers_that_do_not_fit(void **state) {
    (void)state;
    vpd_scene *scene = given.scene, *truth;
    vpd_particle_arrays arrays = world_particles(scene, 0);
    vpd_view view = world_view(scene, 0), wrong = view;
    uint8_t rgb[3 * WORLD_H * WORLD_W];
    vpd_picture picture = {.struct_size = sizeof picture, .rgb = rgb};
    float *places = malloc(3 * arrays.count * sizeof *places);
    assert_non_null(places);
    memcpy(places, arrays.positions, 3 * arrays.count * sizeof *places);
    WRONG(vpd_scene_get_particles(scene, 1, &arrays, &err), "step 1: the scene has the steps 0 to 0");
    WRONG(vpd_scene_rewind(scene, 1, &err), "step 1: the scene");
    WRONG(vpd_scene_camera(scene, 1, 0, &wrong, &err), "step 1: the scene");
    WRONG(vpd_scene_render(scene, 1, &view, &picture, &err), "step 1: the scene");
    WRONG(vpd_scene_set_positions(scene, 1, places, arrays.count, &err), "step 1: the scene");
    WRONG(vpd_scene_set_positions(scene, 0, places, 5, &err), "particles, found 5");
    places[4] = NAN;
    WRONG(vpd_scene_set_positions(scene, 0, places, arrays.count, &err), "found nan for particle 1");
    free(places);
    WRONG(vpd_scene_step(scene, SIZE_MAX, &err), "a scene holds at most 1048576");
    WRONG(vpd_scene_camera(scene, 0, 3, &wrong, &err), "camera 3: the scene has 3 cameras");
    WRONG(vpd_scene_camera(scene, 0, -1, &wrong, &err), "camera -1");
    WRONG(vpd_scene_recorded(scene, NULL, 0, 3, rgb, &err), "camera 3: the scene has 3 cameras");
    WRONG(vpd_scene_recorded(scene, NULL, 1, 0, rgb, &err), "step 1: the scene");
    WRONG(vpd_scene_recorded(scene, world_place("none.h5"), 0, 0, rgb, &err), "none.h5");
    WRONG(vpd_scene_recorded(scene, NULL, 0, 0, NULL, &err), "rgb: expected");
    WRONG(vpd_scene_truth(scene, world_place("none.h5"), &truth, &err), "none.h5");
    WRONG(vpd_scene_truth(scene, NULL, NULL, &err), "out: expected");
    WRONG(vpd_scene_truth(NULL, NULL, &truth, &err), "scene: expected");
    wrong = view, wrong.H = 0;
    WRONG(vpd_scene_render(scene, 0, &wrong, &picture, &err),
          "vpd_view: expected 1 to 16384 rows and columns, found 0");
    wrong = view, wrong.W = 16385;
    WRONG(vpd_scene_render(scene, 0, &wrong, &picture, &err), "and 16385");
    wrong = view, wrong.intrinsics[0] = -wrong.intrinsics[0];
    WRONG(vpd_scene_render(scene, 0, &wrong, &picture, &err), "vpd_view intrinsics: expected finite");
    wrong = view, wrong.intrinsics[2] = NAN;
    WRONG(vpd_scene_render(scene, 0, &wrong, &picture, &err), "vpd_view intrinsics: expected finite");
    wrong = view, wrong.world_from_camera[0] = 2;
    WRONG(vpd_scene_render(scene, 0, &wrong, &picture, &err), "vpd_view world_from_camera: expected");
    wrong = view, wrong.world_from_camera[15] = 0;
    WRONG(vpd_scene_render(scene, 0, &wrong, &picture, &err), "found another form");
    wrong = view;
    for (int i = 0; i < 3; i++) wrong.world_from_camera[4 * i] *= -1; // mirrored
    WRONG(vpd_scene_render(scene, 0, &wrong, &picture, &err), "determinant -1");
}

static void in_millimetres(float *depth) {
    for (size_t i = 0; i < WORLD_PIXELS; i++) depth[i] *= 1000;
}

#define WRONG_FRAMES(change, words)                                                                                    \
    do {                                                                                                               \
        WorldFrames w = given.frames;                                                                                  \
        vpd_frames frames = world_frames(&w);                                                                          \
        vpd_scene *out = NULL;                                                                                         \
        change;                                                                                                        \
        WRONG(vpd_scene_encode(given.model, &frames, &out, &err), words);                                              \
        assert_null(out);                                                                                              \
    } while (0)

static void frames_that_do_not_fit(void **state) {
    (void)state;
    double box[6] = {0, 0, 0, 1, 1, -1}, tiny[6] = {0, 0, 0, 1e-3, 1e-3, 1e-3};
    WRONG_FRAMES(frames.F = 3, "expected F = 2 frames, the model's history, found 3");
    WRONG_FRAMES(frames.V = 0, "expected 1 to 65535 views, found 0");
    WRONG_FRAMES(frames.H = -1, "rows and columns, found -1");
    WRONG_FRAMES(frames.rgb = NULL, "vpd_frames rgb: expected");
    WRONG_FRAMES(frames.depth = NULL, "vpd_frames depth: expected");
    WRONG_FRAMES(frames.intrinsics = NULL, "vpd_frames intrinsics: expected");
    WRONG_FRAMES(frames.world_from_camera = NULL, "vpd_frames world_from_camera: expected");
    WRONG_FRAMES(w.depth[WORLD_H * WORLD_W] = -1, "found -1 in frame 0, view 1");
    WRONG_FRAMES(w.depth[0] = NAN, "found nan in frame 0, view 0");
    WRONG_FRAMES(w.intrinsics[9] = 0, "frame 0, view 1: intrinsics");
    WRONG_FRAMES(w.world_from_camera[3 * 16] = 9, "frame 1, view 1: world_from_camera");
    WRONG_FRAMES(in_millimetres(w.depth), "m, and the scene that the model learned in (data.extent) is ");
    WRONG_FRAMES(in_millimetres(w.depth), " m wide; are depth and poses in metres?");
    WRONG_FRAMES(frames.bounds = tiny,
                 ", and its workspace box is 0.001 m wide; are depth, bounds and poses in metres?");
    WRONG_FRAMES(w.time[1] = w.time[0], "time: expected finite, increasing seconds");
    WRONG_FRAMES(w.time[0] = NAN, "time: expected finite, increasing seconds");
    WRONG_FRAMES(w.time[1] += 1, "expected 0.025 to 0.4 s between frames (the model learned 0.1 s), found 1.1 s");
    WRONG_FRAMES(frames.bounds = box,
                 "bounds: expected a finite lower corner below the upper one, found 0 to -1 on axis 2");
    WRONG_FRAMES(memset(w.depth, 0, sizeof w.depth), "no valid depth in any input image");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_an_error),       cmocka_unit_test(sizes_of_structs),
        cmocka_unit_test(files_that_do_not_fit),  cmocka_unit_test(numbers_that_do_not_fit),
        cmocka_unit_test(frames_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, silence, end);
}
