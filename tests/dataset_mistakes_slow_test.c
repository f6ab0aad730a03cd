// SPDX-License-Identifier: Apache-2.0
// The check names each planted mistake, and condemns no right data of any size or kind.
#include "tests/check_report.h"
#include "tests/check_scene.h"

#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
enum { STEP = 7 }; // of the cases, every which: sanitizers take ten times as long
#else
enum { STEP = 1 };
#endif

typedef void Plant(Scene *scene);

static size_t pixels_of(const Scene *scene) { return (size_t)scene->info.H * (size_t)scene->info.W; }
static size_t images_of(const Scene *scene) { return (size_t)scene->info.F * (size_t)scene->info.V; }
static int poses_of(const Scene *scene) { return scene->info.V * (scene->info.moving_cameras ? scene->info.F : 1); }

static void print_findings(const CheckReport *report) {
    for (int i = 0; i < report->finding_count; i++)
        print_message("    %s %s\n", report->findings[i].wrong ? "WRONG" : "note ", report->findings[i].text);
}

// ---- mistakes about cameras and depth

static void scale_depth(Scene *scene, double factor) {
    for (size_t i = 0; i < pixels_of(scene) * images_of(scene); i++) scene->depth[i] *= (float)factor;
}
static void scale_poses(Scene *scene, double factor) {
    for (int v = 0; v < poses_of(scene); v++)
        for (int i = 0; i < 3; i++) scene->poses[16 * v + 4 * i + 3] *= factor;
}
static void ray_power(Scene *scene, double power) {
    size_t W = (size_t)scene->info.W;
    for (size_t i = 0; i < pixels_of(scene) * images_of(scene); i++) {
        double ray[3];
        size_t at = i % pixels_of(scene);
        camera_unproject(scene->K, (double)(at % W) + 0.5, (double)(at / W) + 0.5, 1, ray);
        scene->depth[i] *= (float)pow(ray[0] * ray[0] + ray[1] * ray[1] + 1, 0.5 * power);
    }
}
static void move_centre(Scene *scene, double x, double y) {
    for (int v = 0; v < scene->info.V; v++) scene->K[9 * v + 2] += x, scene->K[9 * v + 5] += y;
}
static void scale_focal(Scene *scene, double x, double y, bool centre) {
    for (int v = 0; v < scene->info.V; v++) {
        scene->K[9 * v] *= x, scene->K[9 * v + 4] *= y;
        if (centre) scene->K[9 * v + 2] *= x, scene->K[9 * v + 5] *= y;
    }
}

static void ray_length(Scene *scene) { ray_power(scene, 1); }
static void not_ray_length(Scene *scene) { ray_power(scene, -1); }
static void opengl(Scene *scene) {
    for (int v = 0; v < poses_of(scene); v++) pose_flip_opengl(scene->poses + 16 * v, scene->poses + 16 * v);
}
static void inverse(Scene *scene) {
    for (int v = 0; v < poses_of(scene); v++) pose_inverse(scene->poses + 16 * v, scene->poses + 16 * v);
}
static void inverse_opengl(Scene *scene) { opengl(scene), inverse(scene); }
static void half_pixel_less(Scene *scene) { move_centre(scene, -0.5, -0.5); }
static void half_pixel_more(Scene *scene) { move_centre(scene, 0.5, 0.5); }
static void rows_from_below(Scene *scene) { move_centre(scene, -0.5, 0.5); }
static void angle_of_height(Scene *scene) { // the right focal length is 60 / 80 of it
    double wide = (double)scene->info.W / scene->info.H;
    scale_focal(scene, wide, wide, false);
}
static void angle_of_width(Scene *scene) {
    double high = (double)scene->info.H / scene->info.W;
    scale_focal(scene, high, high, false);
}
static void depth_buffer(Scene *scene) { // of planes at .02 m and 25 m
    for (size_t i = 0; i < pixels_of(scene) * images_of(scene); i++) {
        double z = (double)scene->depth[i];
        scene->depth[i] = z > 0 ? (float)((1 / 0.02 - 1 / z) / (1 / 0.02 - 1 / 25.0)) : 1;
    }
}
static void depth_millimetres(Scene *scene) { scale_depth(scene, 1000); }
static void depth_divided(Scene *scene) { scale_depth(scene, 0.001); }
static void poses_millimetres(Scene *scene) { scale_poses(scene, 1000); }
static void depth_5000_as_1000(Scene *scene) { scale_depth(scene, 5); }
static void depth_1000_as_5000(Scene *scene) { scale_depth(scene, 0.2); }
static void colmap_scale(Scene *scene) { scale_poses(scene, 0.273); }
static void all_millimetres(Scene *scene) { scale_depth(scene, 1000), scale_poses(scene, 1000); }
static void swapped_centre(Scene *scene) {
    for (int v = 0; v < scene->info.V; v++) {
        double *K = scene->K + 9 * v, kept = K[2];
        K[2] = K[5], K[5] = kept;
    }
}
static void misread(Scene *scene, int places) {
    for (int v = 0; v < poses_of(scene); v++) {
        double *pose = scene->poses + 16 * v, R[9], q[4], read[4], t[3] = {pose[3], pose[7], pose[11]};
        for (int i = 0; i < 9; i++) R[i] = pose[4 * (i / 3) + i % 3];
        quaternion_from_rotation(R, q);
        for (int i = 0; i < 4; i++) read[i] = q[(i + places) % 4];
        rotation_from_quaternion(read, R);
        pose_from_rotation(R, t, pose);
    }
}
static void w_last(Scene *scene) { misread(scene, 1); }
static void w_first(Scene *scene) { misread(scene, 3); }
static void other_size(Scene *scene) { scale_focal(scene, 2, 2, true); }
static void other_focal(Scene *scene) { scale_focal(scene, 0.8, 0.8, false); }

static void exchange_cameras(Scene *scene) {
    double kept[16];
    memcpy(kept, scene->poses + 16, sizeof kept);
    memcpy(scene->poses + 16, scene->poses + 32, sizeof kept);
    memcpy(scene->poses + 32, kept, sizeof kept);
}
static void rotate_cameras(Scene *scene) {
    double kept[16];
    memcpy(kept, scene->poses, sizeof kept);
    memmove(scene->poses, scene->poses + 16, (size_t)(16 * (scene->info.V - 1)) * sizeof *kept);
    memcpy(scene->poses + 16 * (scene->info.V - 1), kept, sizeof kept);
}
static void one_camera_off(Scene *scene) { scene->poses[16 + 11] += 0.08; }

// Pictures come two frames after the poses.
static void late_pictures(Scene *scene) {
    size_t image = pixels_of(scene), count = images_of(scene) - 2;
    memmove(scene->depth + 2 * image, scene->depth, count * image * sizeof *scene->depth);
    memmove(scene->rgb + 6 * image, scene->rgb, 3 * count * image);
}

// ---- mistakes about pictures: what is stored at a pixel is what belongs to [a b c; d e f] (x, y, 1)

static void remap(Scene *scene, bool colour, bool depth, const double m[6]) {
    size_t pixels = pixels_of(scene), count = images_of(scene);
    float *kept = malloc(pixels * sizeof *kept);
    uint8_t *rgb = malloc(3 * pixels);
    assert_true(kept && rgb);
    for (size_t image = 0; image < count; image++) {
        memcpy(kept, scene->depth + image * pixels, pixels * sizeof *kept);
        memcpy(rgb, scene->rgb + 3 * image * pixels, 3 * pixels);
        for (int i = 0; i < (int)pixels; i++) {
            double x = i % scene->info.W + 0.5, y = i / scene->info.W + 0.5;
            int u = (int)floor(m[0] * x + m[1] * y + m[2]), v = (int)floor(m[3] * x + m[4] * y + m[5]);
            bool inside = u >= 0 && v >= 0 && u < scene->info.W && v < scene->info.H;
            size_t from = inside ? (size_t)(v * scene->info.W + u) : 0, to = image * pixels + (size_t)i;
            if (depth) scene->depth[to] = inside ? kept[from] : 0;
            for (size_t c = 0; colour && c < 3; c++) scene->rgb[3 * to + c] = inside ? rgb[3 * from + c] : 0;
        }
    }
    free(kept);
    free(rgb);
}

enum { COLOUR = 1, DEPTH = 2, BOTH = 3 };
static void flip_x(Scene *scene, int what) {
    remap(scene, what & COLOUR, what & DEPTH, (double[]){-1, 0, scene->info.W, 0, 1, 0});
}
static void flip_y(Scene *scene, int what) {
    remap(scene, what & COLOUR, what & DEPTH, (double[]){1, 0, 0, 0, -1, scene->info.H});
}
static void mirrored(Scene *scene) { flip_x(scene, BOTH); }
static void upside_down(Scene *scene) { flip_y(scene, BOTH); }
static void depth_mirrored(Scene *scene) { flip_x(scene, DEPTH); }
static void colour_mirrored(Scene *scene) { flip_x(scene, COLOUR); }
static void colour_half_turn(Scene *scene) { flip_x(scene, COLOUR), flip_y(scene, COLOUR); }
static void both_half_turn(Scene *scene) { flip_x(scene, BOTH), flip_y(scene, BOTH); }
static void colour_turned_right(Scene *scene) { // and brought to the size of depth
    double W = scene->info.W, H = scene->info.H;
    remap(scene, true, false, (double[]){0, W / H, 0, -H / W, 0, H});
}
static void colour_turned_left(Scene *scene) {
    double W = scene->info.W, H = scene->info.H;
    remap(scene, true, false, (double[]){0, -W / H, W, H / W, 0, 0});
}
static void depth_stretched(Scene *scene) { // a crop of 3/4 of the height, resized to all of it
    remap(scene, false, true, (double[]){1, 0, 0, 0, 0.75, 0.125 * scene->info.H});
}
static void colour_shifted(Scene *scene) { remap(scene, true, false, (double[]){1, 0, 4, 0, 1, -3}); }
static void colour_zoomed(Scene *scene) {
    double W = scene->info.W, H = scene->info.H;
    remap(scene, true, false, (double[]){0.8, 0, 0.1 * W, 0, 0.8, 0.1 * H});
}

// The colour of image i becomes that of image order(i).
static void reorder(Scene *scene, int (*order)(const Scene *scene, int f, int v)) {
    size_t bytes = 3 * pixels_of(scene), count = images_of(scene);
    uint8_t *kept = malloc(bytes * count);
    assert_non_null(kept);
    memcpy(kept, scene->rgb, bytes * count);
    for (int i = 0; i < (int)count; i++)
        memcpy(scene->rgb + (size_t)i * bytes,
               kept + (size_t)order(scene, i / scene->info.V, i % scene->info.V) * bytes, bytes);
    free(kept);
}
static int exchanged(const Scene *scene, int f, int v) { return f * scene->info.V + (v == 1 ? 3 : v == 3 ? 1 : v); }
static int next_view(const Scene *scene, int f, int v) { return f * scene->info.V + (v + 1) % scene->info.V; }
static int frame_before(const Scene *scene, int f, int v) { return (f > 1 ? f - 2 : 0) * scene->info.V + v; }
static int anywhere(const Scene *scene, int f, int v) {
    uint64_t state = (uint64_t)(1000 * f + v);
    room_random(&state);
    return (int)(room_random(&state) * (double)images_of(scene));
}
static void colour_exchanged(Scene *scene) { reorder(scene, exchanged); }
static void colour_next_view(Scene *scene) { reorder(scene, next_view); }
static void colour_frame_before(Scene *scene) { reorder(scene, frame_before); }
static void colour_shuffled(Scene *scene) { reorder(scene, anywhere); }
static void no_depth(Scene *scene) { memset(scene->depth, 0, pixels_of(scene) * images_of(scene) * sizeof(float)); }

static const Room USUAL = {.F = 3, .V = 4, .H = 60, .W = 80};
static const Room SINGLE = {.F = 16, .V = 1, .H = 60, .W = 80, .moving_cameras = true, .still_objects = true};
static const Room MOVING_OBJECTS = {.F = 16, .V = 4, .H = 60, .W = 80};
static const Room LATE = {.F = 16, .V = 4, .H = 60, .W = 80, .late = {0, 0, 5, 0}};
static const Room LEVEL = {.F = 8, .V = 4, .H = 96, .W = 128, .level = true, .arc = 4.71};
static const Room LENS = {.F = 3, .V = 4, .H = 60, .W = 80, .k1 = -0.25};

static const struct {
    const char *name;
    const Room *room;
    Plant *plant;
    const char *words;
} MISTAKES[] = {
    {"distance along the ray stored as depth", &USUAL, ray_length, "depth is the length of the ray"},
    {"z divided as if it were a ray's length", &USUAL, not_ray_length, "depth along z was taken for the length"},
    {"OpenGL axes", &USUAL, opengl, "\"OpenGL cameras\""},
    {"camera from world", &USUAL, inverse, "\"camera from world\""},
    {"camera from world, OpenGL axes", &USUAL, inverse_opengl, "\"camera from world, OpenGL\""},
    {"whole-number pixel centres", &USUAL, half_pixel_less, "add 0.5 to cx and cy"},
    {"half a pixel added twice", &USUAL, half_pixel_more, "subtract 0.5 from cx and cy"},
    {"whole-number pixel centres, rows from below", &USUAL, rows_from_below, "add 0.5 to cx and subtract 0.5 from cy"},
    {"the height's angle of view for the width", &USUAL, angle_of_height, "multiply both by height / width"},
    {"the width's angle of view for the height", &USUAL, angle_of_width, "multiply both by width / height"},
    {"a renderer's depth buffer", &USUAL, depth_buffer, "about near = 0.02 m and far = 25 m"},
    {"depth in millimetres", &USUAL, depth_millimetres, "depth is in millimetres"},
    {"metres divided by 1000", &USUAL, depth_divided, "depth was in metres and was taken for millimetres"},
    {"poses in millimetres", &USUAL, poses_millimetres, "divide the translations of world_from_camera by 1000"},
    {"5000 units a metre read as 1000", &USUAL, depth_5000_as_1000,
     "depth has 5000 units in a metre and was read with"},
    {"1000 units a metre read as 5000", &USUAL, depth_1000_as_5000,
     "depth has 1000 units in a metre and was read with"},
    {"COLMAP's scale", &USUAL, colmap_scale, "multiply the translations of world_from_camera by 3.6"},
    {"everything in millimetres", &USUAL, all_millimetres, "are both in millimetres"},
    {"swapped centre", &USUAL, swapped_centre, "cx and cy are swapped"},
    {"quaternions w last", &USUAL, w_last, "\"quaternions w last\""},
    {"quaternions w first", &USUAL, w_first, "\"quaternions w first\""},
    {"intrinsics of the full size", &USUAL, other_size, "multiply all four by 0.5"},
    {"another lens's focal length", &USUAL, other_focal, "multiply fx and fy by 1.25"},
    {"distortion k1 = -0.25 unsaid", &LENS, NULL, "distortion of the lens, about k1 = -0.25"},
    {"two cameras exchanged", &USUAL, exchange_cameras, "the cameras of views 1 and 2 are exchanged"},
    {"cameras in another order", &USUAL, rotate_cameras,
     "give view v the pose and the intrinsics that are stored for view (v + 3) modulo 4"},
    {"one camera off", &USUAL, one_camera_off, "view 1 disagrees with the others"},
    {"pictures late against poses", &SINGLE, late_pictures, "pair each pose with the picture 0.2 s later"},
    {"one camera's clock .5 s off", &LATE, NULL, "view 2 is 5 frames (0.5 s) behind"},
    {"mirrored pictures", &USUAL, mirrored, "the pictures are mirrored"},
    {"upside-down pictures", &USUAL, upside_down, "the pictures are upside down"},
    {"pictures turned by 180 degrees", &USUAL, both_half_turn, "the pictures are turned by 180 degrees"},
    {"mirrored pictures of level cameras", &LEVEL, mirrored, "the pictures are mirrored"},
    {"depth mirrored", &USUAL, depth_mirrored, "the depth pictures alone (not the colour pictures) are mirrored"},
    {"depth stretched from another aspect", &USUAL, depth_stretched,
     "the depth pictures alone (not the colour pictures) are stretched along y"},
    {"colour mirrored", &USUAL, colour_mirrored, "the colour pictures are mirrored"},
    {"colour upside down by EXIF", &USUAL, colour_half_turn, "turned by 180 degrees (EXIF"},
    {"colour turned right by EXIF", &USUAL, colour_turned_right, "turned by 90 degrees to the right (EXIF"},
    {"colour turned left by EXIF", &USUAL, colour_turned_left, "turned by 90 degrees to the left (EXIF"},
    {"colour shifted against depth", &USUAL, colour_shifted, "colour and depth are not registered"},
    {"colour of another lens", &USUAL, colour_zoomed, "colour and depth come from different lenses"},
    {"colour of two views exchanged", &USUAL, colour_exchanged, "the colour pictures of views 1 and 3 are exchanged"},
    {"colour folders in another order", &USUAL, colour_next_view, "the colour pictures come in another order"},
    {"colour two frames late", &MOVING_OBJECTS, colour_frame_before, "is stored 2 frames later"},
    {"colour shuffled", &USUAL, colour_shuffled, "are the colour pictures shuffled"},
    {"no depth", &USUAL, no_depth, "no image has any depth"},
};
enum { MISTAKE_COUNT = sizeof MISTAKES / sizeof MISTAKES[0] };

static bool names_wrong(const CheckReport *report, const char *words) {
    for (int i = 0; i < report->finding_count; i++)
        if (report->findings[i].wrong && strstr(report->findings[i].text, words)) return true;
    return false;
}

static void test_mistakes(void **state) {
    (void)state;
    int missed = 0;
    for (int i = 0; i < MISTAKE_COUNT; i += STEP) {
        Scene scene = room_make(MISTAKES[i].room);
        if (MISTAKES[i].plant) MISTAKES[i].plant(&scene);
        CheckReport report = check_scene(&scene);
        bool named = check_report_fails(&report) && names_wrong(&report, MISTAKES[i].words);
        if (!named) {
            print_message("%s: expected \"%s\"\n", MISTAKES[i].name, MISTAKES[i].words);
            print_findings(&report);
        }
        missed += !named;
        check_report_free(&report);
        scene_free(&scene);
    }
    int count = (MISTAKE_COUNT + STEP - 1) / STEP;
    print_message("planted mistakes named rightly: %d of %d\n", count - missed, count);
    assert_int_equal(missed, 0);
}

// The colour of one view alone is of nothing that the others see.
static int one_view_anywhere(const Scene *scene, int f, int v) {
    return v == 2 ? anywhere(scene, f, v) : f * scene->info.V + v;
}
static void test_view_of_other_colour(void **state) {
    (void)state;
    Scene scene = room_make(&MOVING_OBJECTS);
    reorder(&scene, one_view_anywhere);
    CheckReport report = check_scene(&scene);
    assert_true(names_wrong(&report, "the colour pictures of view 2 do not show"));
    assert_true(names_wrong(&report, "or is its pose wrong?"));
    check_report_free(&report);
    scene_free(&scene);
}

// Doing what the finding says makes the check pass.
static void test_order_followed(void **state) {
    (void)state;
    const char *said = "give view v the pose and the intrinsics that are stored for view (v + ";
    int step = 0, modulo = 0;
    Scene scene = room_make(&USUAL);
    rotate_cameras(&scene);
    CheckReport report = check_scene(&scene);
    assert_true(check_report_fails(&report));
    for (int i = 0; i < report.finding_count; i++) {
        const char *at = strstr(report.findings[i].text, said);
        if (at) assert_int_equal(sscanf(at + strlen(said), "%d) modulo %d", &step, &modulo), 2);
    }
    check_report_free(&report);
    assert_int_equal(modulo, scene.info.V);
    double poses[4 * 16], K[4 * 9];
    memcpy(poses, scene.poses, sizeof poses);
    memcpy(K, scene.K, sizeof K);
    for (int v = 0; v < modulo; v++) {
        memcpy(scene.poses + 16 * v, poses + 16 * ((v + step) % modulo), 16 * sizeof *poses);
        memcpy(scene.K + 9 * v, K + 9 * ((v + step) % modulo), 9 * sizeof *K);
    }
    report = check_scene(&scene);
    assert_false(check_report_fails(&report));
    check_report_free(&report);
    scene_free(&scene);
}

// ---- right data

static const Room RIGHT[] = {
    {.F = 3, .V = 4},
    {.F = 2, .V = 4, .u16 = true},
    {.F = 2, .V = 4, .noise = 0.01},
    {.F = 2, .V = 4, .noise = 0.02, .u16 = true},
    {.F = 2, .V = 3, .noise = 0.015, .lost = 0.15, .u16 = true},
    {.F = 3, .V = 3, .lost = 0.4},
    {.F = 2, .V = 4, .textureless = true},
    {.F = 2, .V = 4, .textureless = true, .noise = 0.01, .grain = 4},
    {.F = 2, .V = 4, .exposures = true},
    {.F = 2, .V = 4, .grain = 10},
    {.F = 2, .V = 4, .exposures = true, .grain = 5, .noise = 0.01},
    {.F = 2, .V = 3, .size = 0.15, .u16 = true},
    {.F = 2, .V = 3, .size = 15},
    {.F = 3, .V = 1},
    {.F = 12, .V = 1, .moving_cameras = true, .still_objects = true},
    {.F = 12, .V = 1, .moving_cameras = true, .step = 0.1, .noise = 0.015},
    {.F = 5, .V = 2, .moving_cameras = true, .arc = 0.3},
    {.F = 5, .V = 3, .moving_cameras = true, .noise = 0.01, .exposures = true},
    {.F = 1, .V = 12},
    {.F = 1, .V = 4, .arc = 6.28},
    {.F = 1, .V = 2, .arc = 3.1, .field = 0.5},
    {.F = 1, .V = 6, .arc = 0.08, .noise = 0.02},
    {.F = 2, .V = 4, .still_objects = true, .noise = 0.005, .u16 = true},
    {.F = 2, .V = 3, .field = 1.7},
    {.F = 2, .V = 3, .field = 0.45, .lost = 0.02},
    {.F = 2, .V = 2},
    {.F = 25, .V = 2, .time_step = 0.033, .noise = 0.01},
    {.F = 14, .V = 3, .time_step = 0.1, .lost = 0.05},
    {.F = 3, .V = 4, .level = true, .arc = 4.71},
    {.F = 3, .V = 2, .alone = true, .arc = 3.14},
    {.F = 14, .V = 2, .alone = true, .arc = 1.8},
    {.F = 14, .V = 4, .alone = true, .arc = 4.71},
};
static const int SIZES[][2] = {{48, 64}, {60, 60}, {37, 53}, {49, 75}, {64, 96}, {33, 41}, {72, 40}};
// The first six put every sample in the top rows when pixels were visited 1000003 apart.
static const int LARGE[][2] = {{100, 100},   {200, 200}, {200, 250}, {400, 500}, {500, 500},
                               {1000, 1000}, {101, 97},  {480, 640}, {128, 192}};
enum {
    RIGHT_COUNT = sizeof RIGHT / sizeof RIGHT[0],
    SIZE_COUNT = sizeof SIZES / sizeof SIZES[0],
    LARGE_COUNT = sizeof LARGE / sizeof LARGE[0]
};

static int condemned(const Room *room) {
    Scene scene = room_make(room);
    CheckReport report = check_scene(&scene);
    bool passes = !check_report_fails(&report);
    if (!passes) {
        print_message("right data condemned: %d frames, %d views of %d x %d, seed %d\n", room->F, room->V, room->W,
                      room->H, (int)room->seed);
        print_findings(&report);
    }
    for (int i = 0; i < report.finding_count; i++) assert_null(strstr(report.findings[i].text, "nan"));
    check_report_free(&report);
    scene_free(&scene);
    return !passes;
}

static void test_right_data(void **state) {
    (void)state;
    int wrong = 0, count = 0;
    for (int i = 0; i < RIGHT_COUNT * SIZE_COUNT; i += STEP) {
        Room room = RIGHT[i % RIGHT_COUNT];
        room.H = SIZES[i / RIGHT_COUNT][0], room.W = SIZES[i / RIGHT_COUNT][1], room.seed = (uint64_t)i;
        wrong += condemned(&room);
        count++;
    }
    for (int i = 0; i < LARGE_COUNT; i += STEP) {
        Room room = {.F = 1, .V = 2, .H = LARGE[i][0], .W = LARGE[i][1]};
        wrong += condemned(&room);
        count++;
    }
    print_message("right data condemned: %d of %d\n", wrong, count);
    assert_true(count * STEP >= 200);
    assert_int_equal(wrong, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_mistakes), TEST(test_order_followed), TEST(test_view_of_other_colour),
                                       TEST(test_right_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
