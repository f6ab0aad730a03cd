// SPDX-License-Identifier: Apache-2.0
// From pixels to points and from points to particles: missing depth, boxes, moving cameras, few points, keys. Values
// are compared with numpy in nn_reference_test.
#include "tests/test.h"

#include "base/camera.h"
#include "encoder/sample.h"

enum { F = 2, V = 2, H = 12, W = 16, PIXELS = H * W };

// Two cameras above a tilted plane; the second one stands at an angle.
typedef struct Scene {
    int views[V];
    uint8_t rgb[F * V * PIXELS * 3];
    float depth[F * V * PIXELS];
    double K[V * 9], pose[F * V * 16], bounds[6];
    Observation o;
} Scene;

static void scene_make(Scene *s) {
    memset(s, 0, sizeof *s);
    for (int v = 0; v < V; v++) {
        s->views[v] = 3 * v;
        camera_intrinsics_from_fov(0.9, H, W, s->K + 9 * v);
        for (int f = 0; f < F; f++)
            assert_true(camera_look_at((double[]){v, 0.2, 2}, (double[]){0.5 * v, 0, 0}, (double[]){0, 1, 0},
                                       s->pose + 16 * (f * V + v)));
    }
    for (int i = 0; i < F * V * PIXELS; i++) {
        s->depth[i] = 1.8f + 0.01f * (float)(i % PIXELS % W) + 0.013f * (float)(i % PIXELS / W);
        for (int c = 0; c < 3; c++) s->rgb[3 * i + c] = (uint8_t)(i * (c + 3));
    }
    memcpy(s->bounds, (double[]){-0.5, -0.5, -1, 0.3, 0.5, 1}, sizeof s->bounds);
    s->o = (Observation){.F = F,
                         .V = V,
                         .H = H,
                         .W = W,
                         .views = s->views,
                         .rgb = s->rgb,
                         .depth = s->depth,
                         .intrinsics = s->K,
                         .world_from_camera = s->pose};
}

static PointCloud unproject(const Scene *s, int frame, UnprojectOptions options) {
    PointCloud cloud = {0};
    Error err = {0};
    assert_status_ok(unproject_frame(&s->o, frame, options, &cloud, &err), err);
    return cloud;
}

static void points_project_back_into_their_pixels(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    PointCloud cloud = unproject(&s, 0, (UnprojectOptions){0});
    assert_int_equal(cloud.count, V * PIXELS);
    for (size_t i = 0; i < cloud.count; i++) {
        int pixel = cloud.pixel[i], view = pixel / PIXELS;
        double from_world[16], q[3], xy[2], point[3];
        for (int c = 0; c < 3; c++) point[c] = (double)cloud.position[3 * i + (size_t)c];
        pose_inverse(s.pose + 16 * view, from_world);
        pose_apply(from_world, point, q);
        double z = camera_project(s.K + 9 * view, q, xy);
        assert_close(z, s.depth[pixel], 1e-6, 0);
        assert_close(xy[0], pixel % W + 0.5, 1e-5, 0);
        assert_close(xy[1], pixel % PIXELS / W + 0.5, 1e-5, 0);
        assert_close(cloud.colour[3 * i + 1], s.rgb[3 * pixel + 1] / 255.0, 1e-7, 0);
        assert_true(cloud.moving[i] == 0 && cloud.inside[i] == 1); // no threshold, no box
    }
    point_cloud_free(&cloud);
}

static void missing_depth_gives_no_point(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    const float bad[] = {0, NAN, INFINITY, -1, -INFINITY};
    for (int i = 0; i < 5; i++) s.depth[20 * i] = bad[i];
    PointCloud cloud = unproject(&s, 0, (UnprojectOptions){.moving_threshold = 0.01});
    assert_int_equal(cloud.count, V * PIXELS - 5);
    for (size_t i = 0; i < cloud.count; i++) assert_true(cloud.pixel[i] % 20 != 0 || cloud.pixel[i] > 80);
    // None at all is no error here: whoever needs points says so.
    memset(s.depth, 0, sizeof s.depth);
    Error err = {0};
    assert_status_ok(unproject_frame(&s.o, 1, (UnprojectOptions){0}, &cloud, &err), err);
    assert_int_equal(cloud.count, 0);
    Selection chosen = {0};
    assert_status_ok(sample_particles(&s.o, &cloud, &(SampleOptions){.sampling = SAMPLING_VOXEL, .N = 10, .extent = 1},
                                      &chosen, &err),
                     err);
    assert_int_equal(chosen.count, 0);
    selection_free(&chosen);
    point_cloud_free(&cloud);
}

static void crop_keeps_the_box(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    s.o.bounds = s.bounds;
    PointCloud all = unproject(&s, 0, (UnprojectOptions){0}),
               cropped = unproject(&s, 0, (UnprojectOptions){.crop = true});
    size_t inside = 0;
    for (size_t i = 0; i < all.count; i++) {
        if (!all.inside[i]) continue;
        assert_int_equal(cropped.pixel[inside], all.pixel[i]);
        for (size_t c = 0; c < 3; c++) {
            double x = (double)all.position[3 * i + c];
            assert_true(x >= s.bounds[c] - 1e-6 && x <= s.bounds[3 + c] + 1e-6);
        }
        inside++;
    }
    assert_int_equal(inside, cropped.count);
    assert_true(inside > 10 && inside + 10 < all.count);
    point_cloud_free(&all);
    point_cloud_free(&cropped);
}

// Something stood in rows 3 and 4 of view 0 in the first frame, and went.
static void flags_mark_what_changed(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    for (int p = 3 * W; p < 5 * W; p++) s.depth[p] -= 0.3f;
    for (int frame = 0; frame < 2; frame++) {
        PointCloud cloud = unproject(&s, frame, (UnprojectOptions){.moving_threshold = 0.05});
        for (size_t i = 0; i < cloud.count; i++)
            assert_true(cloud.moving[i] == (cloud.pixel[i] >= 3 * W && cloud.pixel[i] < 5 * W));
        point_cloud_free(&cloud);
    }
    // Depth that is missing at the other time counts as change; a threshold above the change does not.
    s.depth[V * PIXELS + 3 * W] = 0;
    PointCloud cloud = unproject(&s, 0, (UnprojectOptions){.moving_threshold = 0.4});
    for (size_t i = 0; i < cloud.count; i++) assert_true(cloud.moving[i] == (cloud.pixel[i] == 3 * W));
    point_cloud_free(&cloud);
}

// A camera that moves sees a plane that stands still.
static void moving_camera_marks_nothing_on_a_wall(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    for (int f = 0; f < F; f++)
        for (int v = 0; v < V; v++) {
            double *pose = s.pose + 16 * (f * V + v);
            pose_identity(pose);
            pose[3] = 0.05 * f + v; // sideways: a wall at z = 2 keeps its depth
            for (int p = 0; p < PIXELS; p++) s.depth[(f * V + v) * PIXELS + p] = 2;
        }
    PointCloud cloud = unproject(&s, 1, (UnprojectOptions){.moving_threshold = 0.01});
    for (size_t i = 0; i < cloud.count; i++) assert_true(cloud.moving[i] == 0);
    s.pose[16 * V + 11] = -0.2; // the second frame's camera stepped back but claims the same depth: the wall came along
    PointCloud other = unproject(&s, 1, (UnprojectOptions){.moving_threshold = 0.01});
    size_t moving = 0;
    for (size_t i = 0; i < other.count; i++) moving += other.moving[i] == 1 && other.pixel[i] < PIXELS;
    assert_true(moving > PIXELS / 2);
    point_cloud_free(&cloud);
    point_cloud_free(&other);
}

static Selection choose(const Scene *s, const PointCloud *cloud, SampleOptions options) {
    Selection chosen = {0};
    Error err = {0};
    assert_status_ok(sample_particles(&s->o, cloud, &options, &chosen, &err), err);
    for (size_t i = 0; i + 1 < chosen.count; i++) assert_true(chosen.items[i].key < chosen.items[i + 1].key);
    return chosen;
}

static void uniform_takes_the_smallest_keys(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    PointCloud cloud = unproject(&s, 0, (UnprojectOptions){0});
    SampleOptions options = {.sampling = SAMPLING_UNIFORM, .N = 50, .extent = 1, .seed = 4, .step = 7, .episode = 2};
    Selection chosen = choose(&s, &cloud, options);
    assert_int_equal(chosen.count, 50);
    uint64_t last = chosen.items[49].key;
    size_t smaller = 0;
    for (int p = 0; p < V * PIXELS; p++) { // keys as documented
        uint64_t index = (uint64_t)(s.views[p / PIXELS] * PIXELS + p % PIXELS);
        Random4 r = random4((RandomKey){4, RANDOM_PARTICLES, 7, 2}, index);
        smaller += ((uint64_t)r.v[0] << 32 | r.v[1]) <= last;
    }
    assert_int_equal(smaller, 50);
    // The same pixels at the other time; other ones in another step.
    PointCloud later = unproject(&s, 1, (UnprojectOptions){0});
    Selection again = choose(&s, &later, options);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(later.pixel[again.items[i].index], cloud.pixel[chosen.items[i].index]);
    options.step++;
    Selection other = choose(&s, &cloud, options);
    assert_memory_not_equal(other.items, chosen.items, 50 * sizeof *other.items);
    selection_free(&chosen);
    selection_free(&again);
    selection_free(&other);
    point_cloud_free(&cloud);
    point_cloud_free(&later);
}

// Views are known by their index in the data set: a view's share of the order does not depend on the others.
static void order_within_a_view_is_its_own(void **state) {
    (void)state;
    Scene s, one;
    scene_make(&s);
    scene_make(&one);
    one.o.V = 1;
    one.o.F = 1;
    one.o.views = s.views + 1;
    one.o.depth = s.depth + PIXELS;
    one.o.rgb = s.rgb + 3 * PIXELS;
    one.o.intrinsics = s.K + 9;
    one.o.world_from_camera = s.pose + 16;
    SampleOptions options = {.sampling = SAMPLING_UNIFORM, .N = V * PIXELS, .extent = 1};
    PointCloud both = unproject(&s, 0, (UnprojectOptions){0}), single = unproject(&one, 0, (UnprojectOptions){0});
    Selection a = choose(&s, &both, options), b = choose(&one, &single, options);
    assert_int_equal(a.count, V * PIXELS); // fewer points than N: all of them
    assert_int_equal(b.count, PIXELS);
    size_t next = 0;
    for (size_t i = 0; i < a.count; i++) {
        int32_t pixel = both.pixel[a.items[i].index];
        if (pixel < PIXELS) continue;
        assert_int_equal(single.pixel[b.items[next++].index], pixel - PIXELS);
    }
    assert_int_equal(next, PIXELS);
    selection_free(&a);
    selection_free(&b);
    point_cloud_free(&both);
    point_cloud_free(&single);
}

static size_t count_inside(const PointCloud *cloud, const Selection *chosen) {
    size_t inside = 0;
    for (size_t i = 0; i < chosen->count; i++) inside += cloud->inside[chosen->items[i].index];
    return inside;
}

static void voxels_share_between_box_and_rest(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    s.o.bounds = s.bounds;
    PointCloud cloud = unproject(&s, 0, (UnprojectOptions){0});
    size_t inside = 0;
    for (size_t i = 0; i < cloud.count; i++) inside += cloud.inside[i];
    SampleOptions options = {.sampling = SAMPLING_VOXEL, .N = 60, .extent = 1};
    Selection chosen = choose(&s, &cloud, options);
    assert_int_equal(chosen.count, 60);
    assert_int_equal(count_inside(&cloud, &chosen), 42);
    selection_free(&chosen);
    options.N = cloud.count - 5; // the box cannot fill its share
    chosen = choose(&s, &cloud, options);
    assert_int_equal(count_inside(&cloud, &chosen), inside);
    assert_true(chosen.count <= options.N && chosen.count + cloud.count / 4 > options.N);
    selection_free(&chosen);
    options.N = 2 * cloud.count;
    chosen = choose(&s, &cloud, options);
    assert_int_equal(chosen.count, cloud.count);
    selection_free(&chosen);
    point_cloud_free(&cloud);
}

// Mean over particles of the distance to the nearest other one.
static double mean_gap(const PointCloud *cloud, const Selection *chosen) {
    double sum = 0;
    for (size_t i = 0; i < chosen->count; i++) {
        double nearest = INFINITY;
        for (size_t j = 0; j < chosen->count; j++) {
            const real *a = cloud->position + 3 * chosen->items[i].index,
                       *b = cloud->position + 3 * chosen->items[j].index;
            double d = hypot(hypot((double)(a[0] - b[0]), (double)(a[1] - b[1])), (double)(a[2] - b[2]));
            if (j != i) nearest = fmin(nearest, d);
        }
        sum += nearest;
    }
    return sum / (double)chosen->count;
}

// Voxels spread particles.
static void voxels_spread_particles(void **state) {
    (void)state;
    Scene s;
    scene_make(&s);
    s.o.V = 1;
    PointCloud cloud = unproject(&s, 0, (UnprojectOptions){0});
    double mean[2] = {0};
    for (uint32_t seed = 0; seed < 20; seed++)
        for (int sampling = 0; sampling < 2; sampling++) {
            Selection chosen =
                choose(&s, &cloud, (SampleOptions){.sampling = (Sampling)sampling, .N = 40, .extent = 1, .seed = seed});
            mean[sampling] += mean_gap(&cloud, &chosen) / 20;
            selection_free(&chosen);
        }
    print_message("gap %.4f m by voxels, %.4f m uniform\n", mean[SAMPLING_VOXEL], mean[SAMPLING_UNIFORM]);
    assert_true(mean[SAMPLING_VOXEL] > 1.05 * mean[SAMPLING_UNIFORM]); // about 1.1 for one random point a cell
    point_cloud_free(&cloud);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_project_back_into_their_pixels),
        cmocka_unit_test(missing_depth_gives_no_point),
        cmocka_unit_test(crop_keeps_the_box),
        cmocka_unit_test(flags_mark_what_changed),
        cmocka_unit_test(moving_camera_marks_nothing_on_a_wall),
        cmocka_unit_test(uniform_takes_the_smallest_keys),
        cmocka_unit_test(order_within_a_view_is_its_own),
        cmocka_unit_test(voxels_share_between_box_and_rest),
        cmocka_unit_test(voxels_spread_particles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
