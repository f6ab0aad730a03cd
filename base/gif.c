// SPDX-License-Identifier: Apache-2.0
#include "base/gif.h"

#include "base/file.h"
#include "base/gif_palette.h"
#include "base/stop.h"

#include <gif_lib.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLOURS_MAX = 255, SIDE_MAX = 65535 }; // one entry is left for "unchanged"

// Where a frame differs from the one before.
typedef struct Area {
    int x, y, w, h;
} Area;

typedef struct Writer {
    GifFileType *gif;
    GifColours colours;
    int H, W;
    uint8_t *before, *now, *line; // entries of the palette: (H,W), (H,W), (W)
} Writer;

static int write_bytes(GifFileType *gif, const GifByteType *bytes, int count) {
    return (int)fwrite(bytes, 1, (size_t)count, gif->UserData);
}

// Time of frame i in 1/100 s, so that rounding does not add up.
static int delay_of(const GifOptions *options, int i, bool last) {
    double fps = options->fps > 0 ? fmin(options->fps, 50) : 10;
    return (int)(lround(100 * (i + 1) / fps) - lround(100 * i / fps)) + (last ? options->hold_last : 0);
}

static ColorMapObject *make_map(const GifColours *colours) {
    int size = 2;
    while (size < colours->count + 1) size *= 2;
    ColorMapObject *map = GifMakeMapObject(size, NULL);
    for (int i = 0; map && i < colours->count; i++)
        map->Colors[i] = (GifColorType){colours->palette[i][0], colours->palette[i][1], colours->palette[i][2]};
    return map;
}

static bool put_header(Writer *writer) {
    static const unsigned char forever[3] = {1, 0, 0};
    GifFileType *gif = writer->gif;
    ColorMapObject *map = make_map(&writer->colours);
    EGifSetGifVersion(gif, true);
    bool good = map && EGifPutScreenDesc(gif, writer->W, writer->H, 8, 0, map) == GIF_OK &&
                EGifPutExtensionLeader(gif, APPLICATION_EXT_FUNC_CODE) == GIF_OK &&
                EGifPutExtensionBlock(gif, 11, "NETSCAPE2.0") == GIF_OK &&
                EGifPutExtensionBlock(gif, sizeof forever, forever) == GIF_OK && EGifPutExtensionTrailer(gif) == GIF_OK;
    if (map) GifFreeMapObject(map);
    return good;
}

// The smallest rectangle that holds every change; one pixel when there is none.
static Area changed_area(const Writer *writer) {
    int x0 = writer->W, y0 = writer->H, x1 = -1, y1 = -1;
    for (int y = 0; y < writer->H; y++) {
        for (int x = 0; x < writer->W; x++) {
            size_t at = (size_t)y * (size_t)writer->W + (size_t)x;
            if (writer->now[at] == writer->before[at]) continue;
            x0 = x < x0 ? x : x0;
            x1 = x > x1 ? x : x1;
            y0 = y < y0 ? y : y0;
            y1 = y;
        }
    }
    return x1 < 0 ? (Area){0, 0, 1, 1} : (Area){x0, y0, x1 - x0 + 1, y1 - y0 + 1};
}

static bool put_frame(Writer *writer, int delay, bool first) {
    GifByteType extension[4];
    Area area = first ? (Area){0, 0, writer->W, writer->H} : changed_area(writer);
    GraphicsControlBlock control = {.DisposalMode = DISPOSE_DO_NOT,
                                    .DelayTime = delay,
                                    .TransparentColor = first ? NO_TRANSPARENT_COLOR : writer->colours.count};
    EGifGCBToExtension(&control, extension);
    bool good = EGifPutExtension(writer->gif, GRAPHICS_EXT_FUNC_CODE, sizeof extension, extension) == GIF_OK &&
                EGifPutImageDesc(writer->gif, area.x, area.y, area.w, area.h, false, NULL) == GIF_OK;
    for (int y = area.y; good && y < area.y + area.h && !stop_requested(); y++) {
        for (int x = 0; x < area.w; x++) {
            size_t at = (size_t)y * (size_t)writer->W + (size_t)(area.x + x);
            bool same = !first && writer->now[at] == writer->before[at];
            writer->line[x] = same ? (uint8_t)writer->colours.count : writer->now[at];
        }
        good = EGifPutLine(writer->gif, writer->line, area.w) == GIF_OK;
    }
    return good;
}

static bool put_all(Writer *writer, const uint8_t *const *frames, int count, const GifOptions *options) {
    size_t pixels = (size_t)writer->H * (size_t)writer->W;
    bool good = put_header(writer);
    for (int i = 0; good && i < count && !stop_requested(); i++) {
        gif_colours_map(&writer->colours, frames[i], pixels, writer->now);
        good = put_frame(writer, delay_of(options, i, i == count - 1), i == 0);
        memcpy(writer->before, writer->now, pixels);
    }
    return good;
}

// The whole file in memory: malloc'ed bytes, or NULL.
static char *build(const uint8_t *const *frames, int count, int H, int W, const GifOptions *options, size_t *size) {
    size_t pixels = (size_t)H * (size_t)W;
    int code = 0;
    char *bytes = NULL;
    Writer writer = {.H = H, .W = W, .before = malloc(pixels), .now = malloc(pixels), .line = malloc((size_t)W)};
    FILE *out = open_memstream(&bytes, size);
    bool good = out && writer.before && writer.now && writer.line &&
                gif_colours_choose(&writer.colours, frames, count, pixels, COLOURS_MAX);
    if (good) writer.gif = EGifOpen(out, write_bytes, &code);
    good = writer.gif && put_all(&writer, frames, count, options);
    if (writer.gif) good = EGifCloseFile(writer.gif, &code) == GIF_OK && good;
    if (out) good = fclose(out) == 0 && good;
    gif_colours_free(&writer.colours);
    free(writer.before);
    free(writer.now);
    free(writer.line);
    if (good) return bytes;
    free(bytes);
    return NULL;
}

Status gif_write(const char *path, const uint8_t *const *frames, int count, int H, int W, const GifOptions *options,
                 Error *err) {
    size_t size = 0;
    if (count < 1 || H < 1 || W < 1 || H > SIDE_MAX || W > SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected frames with sides of 1 to %d, found %d frames of %d x %d",
                         path, SIDE_MAX, count, W, H);
    char *bytes = build(frames, count, H, W, options, &size);
    if (stop_requested()) {
        free(bytes);
        return stop_error(err);
    }
    if (!bytes) return error_set(err, STATUS_FAILED, "%s: no memory for %d frames of %d x %d", path, count, W, H);
    Status status = file_write_bytes(path, bytes, size, err);
    free(bytes);
    return status;
}
