// SPDX-License-Identifier: Apache-2.0
// From pixels to particles against PyTorch's values: which points are chosen, and what they say of motion in the end.
#include "encoder/sample.h"
#include "tests/gnn_reference_file.h"
#include "tests/model_scene.h"

#include "model/vpd.h"
#include "motion/flags.h"

static double *read_doubles(const Reference *file, const char *name, size_t *count) {
    ReferenceArray a = reference_read(file, name);
    *count = a.v ? a.rows * a.cols : 0;
    return a.v;
}

// The cases' keys are those of pixels 3 i of a single row.
static PointCloud read_points(const Reference *file) {
    size_t numbers, count, others;
    double *x = read_doubles(file, "in/x", &numbers), *inside = read_doubles(file, "in/inside", &others),
           *moving = read_doubles(file, "in/m", &others);
    count = numbers / 3;
    PointCloud cloud = {.count = count,
                        .position = calloc(numbers, sizeof(real)),
                        .moving = calloc(count, sizeof(real)),
                        .pixel = calloc(count, sizeof(int32_t)),
                        .inside = calloc(count, 1)};
    for (size_t i = 0; i < numbers; i++) cloud.position[i] = (real)x[i];
    for (size_t i = 0; i < count; i++) {
        cloud.moving[i] = moving ? (real)moving[i] : 0;
        cloud.inside[i] = !inside || inside[i] > 0;
        cloud.pixel[i] = 3 * (int32_t)i;
    }
    free(x);
    free(inside);
    free(moving);
    return cloud;
}

// The choice must be the case's, in its order; returns whether it is. A VoxelTable's past must not matter.
static bool same_choice(const Reference *file, const PointCloud *cloud, Selection *chosen, double moving_share) {
    int view = 0;
    Error err = {0};
    Observation o = {.V = 1, .H = 1, .W = 3 * (int)cloud->count, .views = &view};
    SampleOptions options = {.sampling = reference_is(file, "sampling", "voxel") ? SAMPLING_VOXEL : SAMPLING_UNIFORM,
                             .N = (size_t)reference_number(file, "N"),
                             .moving_share = moving_share,
                             .extent = reference_number(file, "X"),
                             .seed = (uint32_t)reference_number(file, "seed"),
                             .step = (uint32_t)reference_number(file, "step"),
                             .episode = (uint32_t)reference_number(file, "episode")};
    assert_status_ok(sample_particles(&o, cloud, &options, chosen, &err), err);
    ReferenceArray out = reference_read(file, "out");
    bool same = out.rows == chosen->count;
    for (size_t i = 0; same && i < chosen->count; i++) same = chosen->items[i].index == (int32_t)out.v[i];
    reference_free(&out);
    return same;
}

static void check_particles(Reference *file, void *context) {
    PointCloud cloud = read_points(file);
    if (!same_choice(file, &cloud, context, reference_number(file, "moving_share")))
        fail_msg("%s: another choice", file->group);
    // The planted error: another share for points that move.
    if (!strcmp(file->group, "particles/moving")) assert_false(same_choice(file, &cloud, context, 0.5));
    point_cloud_free(&cloud);
}

static void choices_agree(void **state) {
    (void)state;
    Reference file = reference_open();
    Selection chosen = {0}; // the same for all cases
    assert_true(reference_each(&file, "particles", check_particles, &chosen) > 5);
    selection_free(&chosen);
    H5Fclose(file.file);
}

// Frames of views that stand still, as the case has them.
typedef struct Images {
    Observation o;
    int views[2];
    uint8_t *rgb;
    float *depth;
    double *intrinsics, *pose;
} Images;

static void read_images(const Reference *file, Images *images) {
    size_t colours, pixels, numbers;
    double *rgb = read_doubles(file, "in/rgb", &colours), *depth = read_doubles(file, "in/depth", &pixels);
    double *pose = read_doubles(file, "in/pose", &numbers);
    *images = (Images){.views = {0, 1},
                       .rgb = malloc(colours),
                       .depth = malloc(pixels * sizeof(float)),
                       .intrinsics = read_doubles(file, "in/Kc", &numbers),
                       .pose = malloc(64 * sizeof(double))};
    for (size_t i = 0; i < colours; i++) images->rgb[i] = (uint8_t)rgb[i];
    for (size_t i = 0; i < pixels; i++) images->depth[i] = (float)depth[i];
    for (size_t frame = 0; frame < 2; frame++) memcpy(images->pose + 32 * frame, pose, 32 * sizeof *pose);
    images->o = (Observation){.F = 2,
                              .V = 2,
                              .H = SCENE_H,
                              .W = SCENE_W,
                              .views = images->views,
                              .rgb = images->rgb,
                              .depth = images->depth,
                              .intrinsics = images->intrinsics,
                              .world_from_camera = images->pose};
    assert_int_equal(pixels, SCENE_IMAGES * SCENE_PIXELS);
    free(rgb);
    free(depth);
    free(pose);
}

// Chosen pixels of the present, and their flags; returns how many differ.
static size_t wrong_flags(const Reference *file, const Scene *scene) {
    ReferenceArray out = reference_read(file, "out"); // pixel, m; the same of the past
    size_t wrong = 0;
    assert_int_equal(scene->sets.set[1].x->rows, out.rows);
    for (size_t i = 0; i < out.rows; i++) {
        wrong += scene->points[1].pixel[i] != (int32_t)out.v[4 * i];
        wrong += (double)scene->moving[i] != out.v[4 * i + 1];
    }
    reference_free(&out);
    return wrong;
}

// The moving flags of all frames, which no bodies correct.
static void see_flags(Tape *tape, MotionOptions options, const Observation *o, MotionSeen *out) {
    Error err = {0};
    *out = (MotionSeen){.frames = (size_t)o->F, .flag_bytes = motion_flag_bytes(o)};
    out->moving = calloc(out->frames, out->flag_bytes);
    for (int f = 0; f < o->F; f++) {
        PointCloud cloud = {0};
        assert_status_ok(
            unproject_frame(o, f, (UnprojectOptions){options.crop, options.moving_threshold}, &cloud, &err), err);
        flags_confirm(tape, options.colour_length, &cloud);
        flags_pack(&cloud, out->moving + (size_t)f * out->flag_bytes);
        point_cloud_free(&cloud);
    }
}

static void check_observation(Reference *file, void *context) {
    (void)context;
    Images images;
    read_images(file, &images);
    const char *const colours[] = {"gnn.colour_length=1", "gnn.colour_length=0.01"};
    for (int planted = 0; planted < 2; planted++) {
        Config config;
        Device *device = NULL;
        Vpd *model = NULL;
        Tape tape;
        Workspace workspace = {0};
        Scene scene;
        size_t at;
        Error err = {0};
        scene_config(&config, (const char *[]){"gnn.graph=hierarchical", "encoder.N=200", "gnn.moving_threshold=0.015",
                                               "gnn.length_scale=0.2", "gnn.graph=flat", colours[planted],
                                               NULL}); // no bodies correct flags
        assert_status_ok(device_open("cpu", 2, &device, &err), err);
        assert_status_ok(vpd_create(&config, device, &model, &err), err);
        tape_init(&tape, device);
        MotionSeen seen;
        see_flags(&tape, vpd_motion_options(model), &images.o, &seen);
        SceneInput input = {&images.o, &seen, {3, 4, 6}};
        assert_status_ok(vpd_place(&tape, model, &workspace, 1, &input, &(Scene *){&scene}, &at, &err), err);
        assert_status_ok(vpd_encode(&tape, model, 1, &input, &(Scene *){&scene}, &err), err);
        motion_seen_free(&seen);
        size_t wrong = wrong_flags(file, &scene);
        if (planted) assert_true(wrong > 10); // other voters
        else assert_int_equal(wrong, 0);
        tape_free(&tape);
        workspace_free(&workspace);
        vpd_free(model);
        device_close(device);
    }
    free(images.rgb);
    free(images.depth);
    free(images.intrinsics);
    free(images.pose);
}

static void observations_agree(void **state) {
    (void)state;
    Reference file = reference_open();
    assert_true(reference_each(&file, "observation", check_observation, NULL) > 0);
    H5Fclose(file.file);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(choices_agree), cmocka_unit_test(observations_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
