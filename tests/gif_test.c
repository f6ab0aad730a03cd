// SPDX-License-Identifier: Apache-2.0
// GIFs are read back with giflib: sizes, times, and colours near those that went in.
#include "base/gif.h"
#include "base/gif_palette.h"
#include "tests/test.h"

#include <gif_lib.h>

enum { H = 48, W = 64, PIXELS = H * W, FRAMES = 7 };

// Smooth colours with a disc that moves.
static void draw(int frame, uint8_t *rgb) {
    for (int i = 0; i < PIXELS; i++) {
        int x = i % W, y = i / W, dx = x - 10 - 6 * frame, dy = y - 20;
        bool disc = dx * dx + dy * dy < 60;
        rgb[3 * i] = (uint8_t)(disc ? 230 : 3 * x);
        rgb[3 * i + 1] = (uint8_t)(disc ? 80 : 5 * y);
        rgb[3 * i + 2] = (uint8_t)(disc ? 20 : 128 + x - y);
    }
}

static void make_frames(uint8_t *frames[FRAMES]) {
    for (int i = 0; i < FRAMES; i++) draw(i, frames[i] = malloc(PIXELS * 3));
}

static void free_frames(uint8_t *frames[FRAMES]) {
    for (int i = 0; i < FRAMES; i++) free(frames[i]);
}

// Draws image i of the file over the canvas of palette entries, as a browser does; returns its time in 1/100 s.
static int show_frame(GifFileType *gif, int i, uint8_t *canvas) {
    GraphicsControlBlock control;
    const SavedImage *image = gif->SavedImages + i;
    const GifImageDesc *d = &image->ImageDesc;
    assert_int_equal(DGifSavedExtensionToGCB(gif, i, &control), GIF_OK);
    for (int y = 0; y < d->Height; y++) {
        for (int x = 0; x < d->Width; x++) {
            uint8_t entry = image->RasterBits[y * d->Width + x];
            if (entry != control.TransparentColor) canvas[(y + d->Top) * gif->SWidth + x + d->Left] = entry;
        }
    }
    return control.DelayTime;
}

static void test_round_trip(void **state) {
    (void)state;
    char folder[64], path[128];
    uint8_t *frames[FRAMES], canvas[PIXELS] = {0};
    int code, time = 0;
    Error err;
    GifOptions options = {.fps = 24, .hold_last = 50};
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.gif", folder);
    make_frames(frames);
    assert_status_ok(gif_write(path, (const uint8_t *const *)frames, FRAMES, H, W, &options, &err), err);
    GifFileType *gif = DGifOpenFileName(path, &code);
    assert_non_null(gif);
    assert_int_equal(DGifSlurp(gif), GIF_OK);
    assert_int_equal(gif->ImageCount, FRAMES);
    assert_true(gif->SWidth == W && gif->SHeight == H);
    for (int i = 0; i < FRAMES; i++) {
        double square = 0;
        time += show_frame(gif, i, canvas);
        for (int p = 0; p < PIXELS; p++) {
            GifColorType c = gif->SColorMap->Colors[canvas[p]];
            const double d[3] = {c.Red - frames[i][3 * p], c.Green - frames[i][3 * p + 1],
                                 c.Blue - frames[i][3 * p + 2]};
            square += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        }
        // 3000 different colours in 255 entries: 5 levels are about the spacing of the palette.
        assert_true(sqrt(square / (3 * PIXELS)) < 5);
    }
    assert_int_equal(time, 50 + lround(100 * FRAMES / 24.0));
    assert_true(gif->SavedImages[1].ImageDesc.Width < 40); // only what changed is stored
    DGifCloseFile(gif, &code);
    free_frames(frames);
    test_remove_folder(folder);
}

// Few colours come back exactly; equal frames and one frame are files too.
static void test_few_colours(void **state) {
    (void)state;
    char folder[64], path[128];
    uint8_t rgb[12] = {0, 0, 0, 255, 255, 255, 17, 34, 51, 200, 100, 7}, canvas[4];
    const uint8_t *frames[2] = {rgb, rgb};
    int code;
    Error err;
    GifOptions options = {0};
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/a.gif", folder);
    for (int count = 1; count <= 2; count++) {
        assert_status_ok(gif_write(path, frames, count, 2, 2, &options, &err), err);
        GifFileType *gif = DGifOpenFileName(path, &code);
        assert_int_equal(DGifSlurp(gif), GIF_OK);
        for (int i = 0; i < count; i++) assert_int_equal(show_frame(gif, i, canvas), 10);
        for (int p = 0; p < 4; p++) {
            GifColorType c = gif->SColorMap->Colors[canvas[p]];
            assert_true(c.Red == rgb[3 * p] && c.Green == rgb[3 * p + 1] && c.Blue == rgb[3 * p + 2]);
        }
        DGifCloseFile(gif, &code);
    }
    test_remove_folder(folder);
}

static void test_palette(void **state) {
    (void)state;
    uint8_t *frames[FRAMES], *entries = malloc(PIXELS);
    GifColours colours;
    double squares[3];
    const int capacities[3] = {4, 32, 255};
    make_frames(frames);
    for (int k = 0; k < 3; k++) {
        assert_true(gif_colours_choose(&colours, (const uint8_t *const *)frames, FRAMES, PIXELS, capacities[k]));
        assert_int_equal(colours.count, capacities[k]);
        gif_colours_map(&colours, frames[3], PIXELS, entries);
        squares[k] = 0;
        for (int i = 0; i < PIXELS * 3; i++)
            squares[k] += pow(colours.palette[entries[i / 3]][i % 3] - frames[3][i], 2);
        gif_colours_free(&colours);
    }
    assert_true(squares[1] < 0.4 * squares[0] && squares[2] < 0.4 * squares[1]); // more colours are nearer
    free(entries);
    free_frames(frames);
}

static void test_errors(void **state) {
    (void)state;
    uint8_t rgb[3] = {0};
    const uint8_t *frames[1] = {rgb};
    GifOptions options = {0};
    Error err;
    assert_status_error(gif_write("a.gif", frames, 0, 1, 1, &options, &err), STATUS_BAD_INPUT, err,
                        "a.gif: expected frames");
    assert_status_error(gif_write("a.gif", frames, 1, 1, 70000, &options, &err), STATUS_BAD_INPUT, err, "70000 x 1");
    assert_status_error(gif_write("/dev/null/a.gif", frames, 1, 1, 1, &options, &err), STATUS_BAD_INPUT, err,
                        "/dev/null/a.gif");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_few_colours),
        cmocka_unit_test(test_palette),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
