// SPDX-License-Identifier: Apache-2.0
// For tests of libvpd.so: the files of tests/api/make_world.c, and what those tests share. Nothing of the library but
// its public header is seen here, so that what is tested is what others link.
#ifndef VPD_TESTS_API_WORLD_H
#define VPD_TESTS_API_WORLD_H

#include "tests/test.h"

#include <vpd.h>

enum { WORLD_T = 2, WORLD_V = 2, WORLD_H = 24, WORLD_W = 28, WORLD_START = 3 };
enum { WORLD_PIXELS = WORLD_T * WORLD_V * WORLD_H * WORLD_W };

// As make_world writes them, one behind the other.
typedef struct WorldFrames {
    uint8_t rgb[3 * WORLD_PIXELS];
    float depth[WORLD_PIXELS];
    uint16_t mask[WORLD_PIXELS];
    double intrinsics[9 * WORLD_V], world_from_camera[16 * WORLD_T * WORLD_V], time[WORLD_T];
} WorldFrames;

static char world_folder[64];

static inline const char *world_place(const char *name) {
    static _Thread_local char path[4][128];
    static _Thread_local int next;
    char *out = path[next++ % 4];
    snprintf(out, sizeof path[0], "%s/%s", world_folder, name);
    return out;
}

static inline int world_make(void **state) {
    (void)state;
    char command[512];
    const char *maker = getenv("VPD_MAKE_WORLD");
    if (!maker) fail_msg("VPD_MAKE_WORLD is not set");
    test_make_folder(world_folder);
    snprintf(command, sizeof command, "'%s' '%s'", maker, world_folder);
    return system(command);
}

static inline int world_remove(void **state) {
    (void)state;
    test_remove_folder(world_folder);
    return 0;
}

#define assert_vpd_ok(call, err)                                                                                       \
    do {                                                                                                               \
        if ((call) != VPD_OK || (err).text[0]) fail_msg("%s: %s", #call, (err).text);                                  \
    } while (0)

#define assert_vpd_error(call, wanted, err, words)                                                                     \
    do {                                                                                                               \
        (err) = (vpd_error){0};                                                                                        \
        vpd_status got_status = (call);                                                                                \
        if (got_status != (wanted) || (err).status != (wanted) || !strstr((err).text, words))                          \
            fail_msg("%s: status %d, \"%s\"; expected status %d, \"%s\"", #call, (int)got_status, (err).text,          \
                     (int)(wanted), words);                                                                            \
    } while (0)

static inline vpd_model *world_open_model(const char *name, int threads) {
    vpd_open_options options = {.struct_size = sizeof options, .device = "cpu", .threads = threads};
    vpd_model *model = NULL;
    vpd_error err = {0};
    assert_vpd_ok(vpd_model_open(world_place(name), &options, &model, &err), err);
    return model;
}

static inline vpd_scene *world_episode(vpd_model *model) {
    vpd_scene *scene = NULL;
    vpd_error err = {0};
    assert_vpd_ok(vpd_scene_episode(model, world_place("data.h5"), "000002", WORLD_START, &scene, &err), err);
    return scene;
}

static inline vpd_particle_arrays world_particles(const vpd_scene *scene, size_t step) {
    vpd_particle_arrays p = {.struct_size = sizeof p};
    vpd_error err = {0};
    assert_vpd_ok(vpd_scene_get_particles(scene, step, &p, &err), err);
    return p;
}

static inline void world_same_positions(const vpd_scene *a, const vpd_scene *b, size_t step) {
    vpd_particle_arrays x = world_particles(a, step), y = world_particles(b, step);
    assert_int_equal(x.count, y.count);
    assert_memory_equal(x.positions, y.positions, 3 * x.count * sizeof(float));
}

static inline vpd_view world_view(const vpd_scene *scene, int camera) {
    vpd_view view = {.struct_size = sizeof view};
    vpd_error err = {0};
    assert_vpd_ok(vpd_scene_camera(scene, 0, camera, &view, &err), err);
    return view;
}

// All but mask, bounds and name.
static inline vpd_frames world_frames(const WorldFrames *w) {
    return (vpd_frames){.struct_size = sizeof(vpd_frames),
                        .F = WORLD_T,
                        .V = WORLD_V,
                        .H = WORLD_H,
                        .W = WORLD_W,
                        .rgb = w->rgb,
                        .depth = w->depth,
                        .intrinsics = w->intrinsics,
                        .world_from_camera = w->world_from_camera,
                        .time = w->time};
}

static inline void world_read_frames(WorldFrames *w) {
    FILE *file = fopen(world_place("frames.bin"), "rb");
    assert_non_null(file);
    size_t got = fread(w->rgb, 1, sizeof w->rgb, file) + fread(w->depth, 1, sizeof w->depth, file) +
                 fread(w->mask, 1, sizeof w->mask, file) + fread(w->intrinsics, 1, sizeof w->intrinsics, file) +
                 fread(w->world_from_camera, 1, sizeof w->world_from_camera, file) +
                 fread(w->time, 1, sizeof w->time, file);
    assert_int_equal(got, sizeof w->rgb + sizeof w->depth + sizeof w->mask + sizeof w->intrinsics +
                              sizeof w->world_from_camera + sizeof w->time);
    fclose(file);
}

#endif
