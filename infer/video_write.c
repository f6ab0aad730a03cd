// SPDX-License-Identifier: Apache-2.0
// Writes frames to files.
#include "infer/video.h"

#include "base/file.h"
#include "base/gif.h"
#include "base/image.h"
#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static double fps_of(const Video *video) { return video->fps > 0 ? video->fps : 10; }

static Status check_frames(const Video *video, const char *path, Error *err) {
    return video->count > 0 ? STATUS_OK : error_set(err, STATUS_BAD_INPUT, "%s: the video has no frames", path);
}

Status video_frame_path(const char *folder, int frame, char path[FILE_PATH_SIZE], Error *err) {
    char name[32];
    snprintf(name, sizeof name, "frame_%04d.png", frame);
    return file_join(path, FILE_PATH_SIZE, folder, name, err);
}

// Writes the frames, and removes those that follow, of a longer film before.
static Status write_png(const Video *video, const char *folder, Error *err) {
    char path[FILE_PATH_SIZE];
    Status status = check_frames(video, folder, err);
    if (status == STATUS_OK) status = file_make_folders(folder, err);
    for (int i = 0; i < video->count && status == STATUS_OK; i++) {
        Image image = {video->H, video->W, 3, PIXEL_U8, video->frames[i]};
        status = video_frame_path(folder, i, path, err);
        if (status == STATUS_OK) status = image_write_png(&image, path, err);
    }
    for (int i = video->count; status == STATUS_OK; i++) { // of a longer film that was there before
        status = video_frame_path(folder, i, path, err);
        if (status == STATUS_OK && unlink(path) != 0) break;
    }
    return status;
}

Status video_write_gif(const Video *video, const char *path, Error *err) {
    GifOptions options = {.fps = fps_of(video), .hold_last = 60};
    Status status = check_frames(video, path, err);
    if (status != STATUS_OK) return status;
    return gif_write(path, (const uint8_t *const *)video->frames, video->count, video->H, video->W, &options, err);
}

// ---- MP4

static Status find_ffmpeg(const char *path, Error *err) {
    if (process_find("ffmpeg")) return STATUS_OK;
    return error_set(err, STATUS_FAILED,
                     "%s: MP4 needs the program ffmpeg, which is not installed; run \"apt install ffmpeg\", or write "
                     ".gif or a folder of PNG instead",
                     path);
}

// yuv420p needs even sides, so an odd last row or column is repeated.
static void pad_to_even(const Video *video, int frame, uint8_t *out) {
    int H = video->H + video->H % 2, W = video->W + video->W % 2;
    for (int y = 0; y < H; y++) {
        const uint8_t *row = video->frames[frame] + 3 * (size_t)(y < video->H ? y : video->H - 1) * (size_t)video->W;
        uint8_t *to = out + 3 * (size_t)y * (size_t)W;
        memcpy(to, row, 3 * (size_t)video->W);
        if (W > video->W) memcpy(to + 3 * (size_t)video->W, row + 3 * (size_t)(video->W - 1), 3);
    }
}

static Status start_ffmpeg(const Video *video, const char *path, Process *process, Error *err) {
    char size[32], rate[32];
    snprintf(size, sizeof size, "%dx%d", video->W + video->W % 2, video->H + video->H % 2);
    snprintf(rate, sizeof rate, "%.6g", fps_of(video));
    // The prefix "file:" stops ffmpeg from reading a path with a colon as a protocol.
    char target[FILE_PATH_SIZE + 8];
    snprintf(target, sizeof target, "file:%s", path);
    const char *const arguments[] = {
        "ffmpeg",   "-hide_banner", "-loglevel",  "error",   "-nostdin", "-y",   "-f", "rawvideo",
        "-pix_fmt", "rgb24",        "-s",         size,      "-r",       rate,   "-i", "pipe:0",
        "-an",      "-c:v",         "libx264",    "-preset", "medium",   "-crf", "18", "-pix_fmt",
        "yuv420p",  "-movflags",    "+faststart", "-f",      "mp4",      target, NULL};
    return process_start(process, arguments, true, err);
}

static Status feed_ffmpeg(const Video *video, Process *process, Error *err) {
    size_t bytes = 3 * (size_t)(video->H + video->H % 2) * (size_t)(video->W + video->W % 2);
    uint8_t *frame = malloc(bytes);
    Status status =
        frame ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a frame of %d x %d", video->W, video->H);
    for (int i = 0; i < video->count && status == STATUS_OK; i++) {
        pad_to_even(video, i, frame);
        status = process_write(process, frame, bytes, err);
    }
    free(frame);
    return status;
}

// H.264 in yuv420p (an odd last row or column is repeated), which every browser plays. Without ffmpeg it is
// STATUS_FAILED, and the error names the Debian package.
static Status write_mp4(const Video *video, const char *path, Error *err) {
    Process process = {0};
    FileDraft draft = {0};
    Status status = check_frames(video, path, err);
    if (status == STATUS_OK) status = find_ffmpeg(path, err);
    if (status == STATUS_OK) status = file_draft_begin(&draft, path, err);
    if (status == STATUS_OK) status = start_ffmpeg(video, draft.temporary, &process, err);
    if (status == STATUS_OK) {
        Error fed;
        Status feeding = feed_ffmpeg(video, &process, &fed);
        // ffmpeg's own message explains more than a broken pipe.
        status = process_finish(&process, err);
        if (status == STATUS_OK && feeding != STATUS_OK) status = error_set(err, feeding, "%s", fed.text);
        if (status != STATUS_OK) error_prefix(err, "%s", path);
    }
    if (status == STATUS_OK) status = file_draft_commit(&draft, err);
    process_abandon(&process);
    file_draft_abandon(&draft);
    return status;
}

// ---- by name

Status video_check_path(const char *path, Error *err) {
    static const char *const others[] = {".jpg", ".jpeg", ".png", ".bmp",  ".webp", ".tif",  ".tiff", ".exr",  ".avi",
                                         ".mov", ".webm", ".mkv", ".m4v",  ".mpg",  ".mpeg", ".h5",   ".hdf5", ".ply",
                                         ".xyz", ".npy",  ".npz", ".json", ".yaml", ".svg",  ".pdf"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t length = strlen(path), end = strlen(others[i]);
        if (length > end && !strcasecmp(path + length - end, others[i]) && !file_is_folder(path))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected a name that ends in .gif or .mp4 (a film), or a folder for PNG pictures, "
                             "found %s",
                             path, others[i]);
    }
    return name_ends(path, ".mp4") ? find_ffmpeg(path, err) : STATUS_OK;
}

Status video_write(const Video *video, const char *path, Error *err) {
    if (name_ends(path, ".gif")) return video_write_gif(video, path, err);
    if (name_ends(path, ".mp4")) return write_mp4(video, path, err);
    return write_png(video, path, err);
}
