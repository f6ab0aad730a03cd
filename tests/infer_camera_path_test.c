// SPDX-License-Identifier: Apache-2.0
// Orbits and rides: every camera is rigid, looks where it should and stands where it should; JSON cameras and their
// errors.
#include "base/camera.h"
#include "base/file.h"
#include "infer/camera_path.h"
#include "tests/test.h"

enum { COUNT = 25 };

static PathCamera looking(const double eye[3], const double target[3], const double up[3], int H, int W, double fov) {
    PathCamera camera = {.H = H, .W = W};
    camera_intrinsics_from_fov(fov, H, W, camera.K);
    assert_true(camera_look_at(eye, target, up, camera.world_from_camera));
    return camera;
}

static void assert_rigid(const PathCamera *camera) {
    double off, determinant;
    assert_true(pose_rotation_error(camera->world_from_camera, &off, &determinant));
    assert_close(off, 0, 1e-9, 0);
    assert_close(determinant, 1, 1e-9, 0);
}

static double distance(const PathCamera *camera, const double point[3]) {
    double sum = 0;
    for (int c = 0; c < 3; c++) sum += pow(camera->world_from_camera[4 * c + 3] - point[c], 2);
    return sqrt(sum);
}

// Where the middle of the picture falls: the pixel of `point`.
static void assert_centred(const PathCamera *camera, const double point[3]) {
    double inverse[16], local[3], xy[2];
    pose_inverse(camera->world_from_camera, inverse);
    pose_apply(inverse, point, local);
    assert_true(camera_project(camera->K, local, xy) > 0);
    assert_close(xy[0], camera->W / 2.0, 1e-6, 0);
    assert_close(xy[1], camera->H / 2.0, 1e-6, 0);
}

// Four cameras around a point, at two heights, z up.
static void make_ring(PathCamera *cameras, const double target[3]) {
    const double up[3] = {0, 0, 1};
    for (int i = 0; i < 4; i++) {
        double angle = i * 1.5707963,
               eye[3] = {target[0] + 2 * cos(angle), target[1] + 2 * sin(angle), target[2] + 1 + 0.2 * (i % 2)};
        cameras[i] = looking(eye, target, up, 48, 64, 0.9);
    }
}

static void test_focus(void **state) {
    (void)state;
    const double target[3] = {0.3, -0.2, 0.5};
    PathCamera cameras[4];
    double focus[3], up[3];
    make_ring(cameras, target);
    camera_path_focus(cameras, 4, focus, up);
    for (int c = 0; c < 3; c++) assert_close(focus[c], target[c], 1e-6, 0);
    assert_close(up[2], 1, 1e-2, 0);
    camera_path_focus(cameras, 1, focus, up); // one camera: a metre ahead of it
    assert_close(distance(cameras, focus), 1, 1e-9, 0);
}

static void test_orbit(void **state) {
    (void)state;
    const double target[3] = {0.3, -0.2, 0.5};
    PathCamera cameras[4], path[COUNT];
    OrbitOptions orbit;
    make_ring(cameras, target);
    camera_path_orbit_like(cameras, 4, NULL, &orbit);
    assert_close(orbit.fov, 0.9, 1e-9, 0);
    camera_path_orbit(&orbit, COUNT, path);
    for (int i = 0; i < COUNT; i++) {
        assert_rigid(path + i);
        assert_centred(path + i, target);
        assert_close(distance(path + i, target), orbit.radius, 1e-9, 0);
        assert_true(path[i].H == 48 && path[i].W == 64);
    }
    // It begins on the first camera's side and closes: the step from last to first is one of COUNT equal ones.
    assert_close(path[0].world_from_camera[7], target[1], 2e-2, 0);
    double first[3] = {path[0].world_from_camera[3], path[0].world_from_camera[7], path[0].world_from_camera[11]};
    double step = distance(path + 1, first);
    assert_close(distance(path + COUNT - 1, first), step, 1e-9, 0);
}

// Bounds are a box in which things stay, with a middle that may be high above them: what the cameras look at goes
// first.
static void test_orbit_centre(void **state) {
    (void)state;
    const double target[3] = {0.3, -0.2, 0.5}, around[6] = {-1, -1, 0, 1, 1, 2}, beside[6] = {2, -1, 0, 4, 1, 2};
    PathCamera cameras[4];
    OrbitOptions orbit;
    make_ring(cameras, target);
    camera_path_orbit_like(cameras, 4, around, &orbit);
    for (int c = 0; c < 3; c++) assert_close(orbit.centre[c], target[c], 1e-6, 0);
    camera_path_orbit_like(cameras, 4, beside, &orbit);
    assert_close(orbit.centre[0], 3, 1e-12, 0);
    camera_path_orbit_like(cameras, 1, around, &orbit);
    assert_close(orbit.centre[2], 1, 1e-12, 0);
}

// A long lens far away and wide ones nearby that show the same: the orbit shows that too.
static void test_orbit_lenses(void **state) {
    (void)state;
    const double target[3] = {0, 0, 0}, up[3] = {0, 0, 1};
    PathCamera cameras[3];
    OrbitOptions orbit;
    for (int i = 0; i < 3; i++) {
        double half = 0.2 * (i + 1), eye[3] = {0.5 / half * cos(2 * i), 0.5 / half * sin(2 * i), 0.1};
        cameras[i] = looking(eye, target, up, 48, 64, 2 * atan(half));
    }
    camera_path_orbit_like(cameras, 3, NULL, &orbit);
    assert_close(orbit.radius * tan(orbit.fov / 2), 0.5, 0.01, 0);
}

static void test_orbit_y_up(void **state) {
    (void)state;
    OrbitOptions orbit = {
        .centre = {1, 2, 3}, .up = {0, -5, 0}, .radius = 2, .elevation = 0.5, .turns = 1, .fov = 1, .H = 8, .W = 8};
    PathCamera path[COUNT];
    camera_path_orbit(&orbit, COUNT, path);
    for (int i = 0; i < COUNT; i++) {
        assert_rigid(path + i);
        assert_centred(path + i, orbit.centre);
        assert_close(path[i].world_from_camera[7], 2 - 2 * sin(0.5), 1e-9, 0); // above, along -y
        assert_true(path[i].world_from_camera[5] > 0);                         // image columns run down, along +y
    }
}

static void test_between(void **state) {
    (void)state;
    const double target[3] = {0, 0, 0.5};
    PathCamera cameras[4], path[COUNT];
    make_ring(cameras, target);
    camera_path_between(cameras, 4, COUNT, path); // COUNT - 1 is a multiple of 3: keys are met exactly
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 16; i++)
            assert_close(path[8 * k].world_from_camera[i], cameras[k].world_from_camera[i], 1e-6, 0);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_rigid(path + i);
        assert_centred(path + i, target);
        assert_true(distance(path + i, target) > 2);
    }
    // Opposite cameras: the ride goes round, not through the scene.
    PathCamera opposite[2] = {cameras[0], cameras[2]};
    camera_path_between(opposite, 2, COUNT, path);
    for (int i = 0; i < COUNT; i++) assert_close(distance(path + i, target), sqrt(5), 1e-6, 0);
}

// Cameras that look past the common focus keep their own direction; another size and field of view are carried over.
static void test_between_odd_cameras(void **state) {
    (void)state;
    const double up[3] = {0, 0, 1}, eyes[2][3] = {{2, 0, 1}, {0, 2, 1.5}}, targets[2][3] = {{0, 0.3, 0}, {0.2, 0, 0.4}};
    PathCamera keys[2] = {looking(eyes[0], targets[0], up, 48, 64, 0.9),
                          looking(eyes[1], targets[1], up, 96, 128, 0.7)};
    PathCamera path[3], one[2];
    camera_path_between(keys, 2, 3, path);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 16; i++)
            assert_close(path[2 * k].world_from_camera[i], keys[k].world_from_camera[i], 1e-9, 0);
    assert_rigid(path + 1);
    assert_true(path[2].W == 64);
    assert_close(path[2].K[0], keys[1].K[0] / 2, 1e-9, 0);
    camera_path_between(keys, 1, 2, one); // one key stands still
    assert_memory_equal(one[0].K, one[1].K, sizeof one[0].K);
    for (int i = 0; i < 16; i++) assert_close(one[1].world_from_camera[i], keys[0].world_from_camera[i], 1e-9, 0);
}

static Status parse(const char *text, PathCamera **out, int *count, Error *err) {
    return camera_path_parse(text, strlen(text), "path.json", out, count, err);
}

static void test_json(void **state) {
    (void)state;
    const char *text = "{\"width\": 64, \"height\": 48, \"cameras\": ["
                       "{\"eye\": [2, 0, 1], \"target\": [0, 0, 0.5], \"fov_degrees\": 60},"
                       "{\"intrinsics\": [[50, 0, 32], [0, 50, 24], [0, 0, 1]],"
                       " \"world_from_camera\": [[1, 0, 0, 5], [0, 1, 0, 6], [0, 0, 1, 7], [0, 0, 0, 1]]}]}";
    const double target[3] = {0, 0, 0.5};
    PathCamera *cameras;
    int count;
    Error err;
    assert_status_ok(parse(text, &cameras, &count, &err), err);
    assert_int_equal(count, 2);
    assert_centred(cameras, target);
    assert_close(cameras[0].K[0], 32 / tan(3.14159265358979 / 6), 1e-9, 0);
    assert_close(cameras[1].world_from_camera[11], 7, 0, 0);
    assert_close(cameras[1].K[5], 24, 0, 0);
    free(cameras);
}

#define ROOT "{\"width\": 64, \"height\": 48, \"cameras\": ["
static void test_json_errors(void **state) {
    (void)state;
    const char *const cases[][2] = {
        {"{", "path.json:1:1: not valid JSON"},
        {"[]", "expected {\"width\""},
        {"{\"width\": 64, \"height\": 48, \"cameras\": []}", "1 to 100000 cameras"},
        {"{\"width\": 0, \"height\": 48, \"cameras\": [{}]}", "width: expected a whole number from 1 to 16384"},
        {"{\"width\": 64, \"cameras\": [{}]}", "height: expected"},
        {ROOT "7]}", "camera 0: entry: expected an object"},
        {ROOT "{\"target\": [0, 0, 0]}]}", "camera 0: eye: expected [x, y, z]"},
        {ROOT "{\"eye\": [0, 0, 1], \"target\": [0, 0]}]}", "camera 0: target: expected [x, y, z]"},
        {ROOT "{\"eye\": [1, 0, 0], \"target\": [1, 0, 0]}]}", "camera 0: target: expected a point other than eye"},
        {ROOT "{\"eye\": [1, 0, 1], \"target\": [0, 0, 0], \"fov_degrees\": 180}]}",
         "fov_degrees: expected a number from 1 to 170"},
        {ROOT "{\"eye\": [1, 0, 1], \"target\": [0, 0, 0], \"fov\": 40}]}", "camera 0: fov: expected a known key"},
        {ROOT "{\"world_from_camera\": [[2,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]}", "a rotation with determinant +1"},
        {ROOT "{\"world_from_camera\": [[1,0,0,0],[0,1,0,0],[0,0,1,0]]}]}", "4 rows of 4 numbers"},
        {ROOT "{\"eye\": [1, 0, 1], \"target\": [0, 0, 0], \"intrinsics\": [[-5,0,1],[0,5,1],[0,0,1]]}]}",
         "fx, fy above 0"},
        {"{\"width\": 64, \"width\": 64, \"height\": 48, \"cameras\": []}", "duplicate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        PathCamera *cameras;
        int count;
        Error err;
        assert_status_error(parse(cases[i][0], &cameras, &count, &err), STATUS_BAD_INPUT, err, cases[i][1]);
        assert_null(cameras);
    }
    PathCamera *cameras;
    int count;
    Error err;
    assert_status_error(camera_path_read("/nowhere.json", &cameras, &count, &err), STATUS_BAD_INPUT, err,
                        "/nowhere.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_focus),
        cmocka_unit_test(test_orbit),
        cmocka_unit_test(test_orbit_centre),
        cmocka_unit_test(test_orbit_lenses),
        cmocka_unit_test(test_orbit_y_up),
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_between_odd_cameras),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
