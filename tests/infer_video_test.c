// SPDX-License-Identifier: Apache-2.0
// Frames side by side, enlarged, and written as PNG, GIF and MP4.
#include "base/file.h"
#include "base/image.h"
#include "base/process.h"
#include "infer/video.h"
#include "tests/test.h"

#include <sys/stat.h>

enum { H = 15, W = 21, PIXELS = H * W, FRAMES = 5 };

static void draw(int frame, uint8_t *rgb) {
    for (int i = 0; i < PIXELS; i++) {
        bool square = abs(i % W - 4 - 3 * frame) < 3 && abs(i / W - 7) < 3;
        rgb[3 * i] = square ? 220 : 60;
        rgb[3 * i + 1] = square ? 60 : 120;
        rgb[3 * i + 2] = square ? 40 : 160;
    }
}

static void make_video(Video *video) {
    uint8_t rgb[PIXELS * 3];
    Error err;
    *video = (Video){.fps = 12};
    for (int i = 0; i < FRAMES; i++) {
        draw(i, rgb);
        assert_status_ok(video_add(video, rgb, H, W, &err), err);
    }
}

static void test_enlarge(void **state) {
    (void)state;
    uint8_t rgb[PIXELS * 3], flat[PIXELS * 3], *out;
    Error err;
    draw(2, rgb);
    memset(flat, 77, sizeof flat);
    assert_int_equal(video_scale_for(64, 64, 192), 3);
    assert_int_equal(video_scale_for(48, 100, 192), 2);
    assert_int_equal(video_scale_for(500, 20, 192), 1);
    assert_status_ok(video_enlarge(rgb, H, W, 3, SCALE_NEAREST, &out, &err), err);
    for (int i = 0; i < 9 * PIXELS; i++) {
        int x = i % (3 * W) / 3, y = i / (3 * W) / 3;
        assert_memory_equal(out + 3 * i, rgb + 3 * (y * W + x), 3);
    }
    free(out);
    // Lanczos keeps a flat colour, and with an odd factor the middle of each block is the pixel itself.
    assert_status_ok(video_enlarge(flat, H, W, 4, SCALE_LANCZOS, &out, &err), err);
    for (int i = 0; i < 16 * PIXELS * 3; i++) assert_int_equal(out[i], 77);
    free(out);
    assert_status_ok(video_enlarge(rgb, H, W, 3, SCALE_LANCZOS, &out, &err), err);
    for (int i = 0; i < PIXELS; i++) {
        const uint8_t *middle = out + 3 * ((3 * (i / W) + 1) * 3 * W + 3 * (i % W) + 1);
        for (int c = 0; c < 3; c++) assert_true(abs(middle[c] - rgb[3 * i + c]) <= 1);
    }
    free(out);
}

static void test_panels(void **state) {
    (void)state;
    uint8_t rgb[PIXELS * 3], other[PIXELS * 3], difference[PIXELS * 3];
    Video video = {0};
    Error err;
    draw(0, rgb);
    draw(1, other);
    video_difference(rgb, other, PIXELS, difference);
    assert_true(difference[0] == 0 && difference[2] == 4); // equal: the ramp's dark end
    assert_true(difference[3 * (7 * W + 2)] > 150);        // the square was here
    const VideoPanel panels[] = {{rgb, "truth"}, {other, "prediction"}, {difference, "difference"}, {NULL, NULL}};
    VideoLayout layout = {.H = H, .W = W, .rows = 2, .columns = 2, .factor = 8, .title = "step 1"};
    assert_status_ok(video_add_panels(&video, &layout, panels, &err), err);
    assert_int_equal(video.W, 8 + 2 * (8 * W + 8));
    assert_true(video.H > 2 * 8 * H);
    // Somewhere in the first panel's place stands its first pixel, eight times as large.
    const uint8_t *frame = video.frames[0];
    int found = 0;
    for (int y = 0; y < video.H; y++) found += memcmp(frame + 3 * (y * video.W + 12), rgb, 3) == 0;
    assert_true(found >= 8 * H - 8 * 6);
    layout.factor = 2; // another size is no frame of this video
    assert_status_error(video_add_panels(&video, &layout, panels, &err), STATUS_BAD_INPUT, err, "expected");
    video_free(&video);
}

static void test_png(void **state) {
    (void)state;
    char folder[64], path[128];
    uint8_t rgb[PIXELS * 3];
    Video video;
    Image image;
    Error err;
    test_make_folder(folder);
    make_video(&video);
    snprintf(path, sizeof path, "%s/a/b", folder);
    assert_status_ok(video_write(&video, path, &err), err);
    snprintf(path, sizeof path, "%s/a/b/frame_0004.png", folder);
    assert_status_ok(image_read(path, &image, &err), err);
    draw(4, rgb);
    assert_true(image.H == H && image.W == W);
    assert_memory_equal(image.pixels, rgb, sizeof rgb);
    image_free(&image);
    snprintf(path, sizeof path, "%s/a.gif", folder);
    assert_status_ok(video_write(&video, path, &err), err);
    video_free(&video);
    assert_status_error(video_write(&video, path, &err), STATUS_BAD_INPUT, err, "no frame");
    test_remove_folder(folder);
}

// Reads one frame of an MP4 back as PNG.
static void read_frame(const char *path, const char *png, int frame, Image *out) {
    char select[32];
    Process process;
    Error err;
    snprintf(select, sizeof select, "select=eq(n\\,%d)", frame);
    const char *const arguments[] = {"ffmpeg", "-y",   "-loglevel", "error", "-i", path,
                                     "-vf",    select, "-frames:v", "1",     png,  NULL};
    assert_status_ok(process_start(&process, arguments, false, &err), err);
    assert_status_ok(process_finish(&process, &err), err);
    assert_status_ok(image_read(png, out, &err), err);
}

static void test_mp4(void **state) {
    (void)state;
    if (!process_find("ffmpeg")) {
        print_message("ffmpeg is not installed: MP4 is not tested\n");
        skip();
    }
    char folder[64], path[128], png[128];
    uint8_t rgb[PIXELS * 3];
    double sum = 0;
    Video video;
    Image image;
    Error err;
    test_make_folder(folder);
    make_video(&video);
    snprintf(path, sizeof path, "%s/a:b.mp4", folder); // a name that ffmpeg could take for a protocol
    snprintf(png, sizeof png, "%s/back.png", folder);
    assert_status_ok(video_write(&video, path, &err), err);
    snprintf(path, sizeof path, "file:%s/a:b.mp4", folder);
    read_frame(path, png, 3, &image);
    assert_true(image.H == H + 1 && image.W == W + 1); // even sides
    draw(3, rgb);
    for (int i = 0; i < PIXELS * 3; i++)
        sum += abs(((uint8_t *)image.pixels)[i / 3 / W * (W + 1) * 3 + i / 3 % W * 3 + i % 3] - rgb[i]);
    assert_true(sum / (PIXELS * 3) < 12); // half the colour resolution, on a picture that is all edges
    image_free(&image);
    video_free(&video);
    test_remove_folder(folder);
}

static void test_without_ffmpeg(void **state) {
    (void)state;
    char folder[64], path[4300], saved[4096];
    Video video;
    Error err;
    test_make_folder(folder);
    make_video(&video);
    snprintf(saved, sizeof saved, "%s", getenv("PATH"));
    setenv("PATH", folder, 1);
    snprintf(path, sizeof path, "%s/a.mp4", folder);
    Status status = video_write(&video, path, &err);
    setenv("PATH", saved, 1);
    assert_int_equal(status, STATUS_FAILED);
    assert_non_null(strstr(err.text, "apt install ffmpeg"));
    assert_false(file_exists(path));
    // A child that dies at once: its words are told, and no file appears.
    snprintf(path, sizeof path, "%s/ffmpeg", folder);
    assert_status_ok(file_write_bytes(path, "#!/bin/sh\necho no such encoder >&2\nexit 3\n", 42, &err), err);
    assert_int_equal(chmod(path, 0755), 0);
    snprintf(path, sizeof path, "%s:%s", folder, saved);
    setenv("PATH", path, 1);
    snprintf(path, sizeof path, "%s/a.mp4", folder);
    status = video_write(&video, path, &err);
    setenv("PATH", saved, 1);
    assert_int_equal(status, STATUS_FAILED);
    assert_non_null(strstr(err.text, "no such encoder"));
    assert_false(file_exists(path));
    video_free(&video);
    test_remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_enlarge), cmocka_unit_test(test_panels),         cmocka_unit_test(test_png),
        cmocka_unit_test(test_mp4),     cmocka_unit_test(test_without_ffmpeg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
