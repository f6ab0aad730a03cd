// SPDX-License-Identifier: Apache-2.0
// Films: panels side by side with captions, enlarged to a readable size, written as PNG sequence, GIF (needs no other
// program) or MP4 (by the program ffmpeg). Pictures are (H,W,3) u8.
#ifndef VPD_INFER_VIDEO_H
#define VPD_INFER_VIDEO_H

#include "base/file.h"

#include <stddef.h>
#include <stdint.h>

// ---- one frame

typedef enum VideoScaling { SCALE_NEAREST, SCALE_LANCZOS } VideoScaling;

// Integer factor that makes the longer side at least `side` pixels (at least 1).
int video_scale_for(int H, int W, int side);
// Enlarges (H,W,3) to (H factor, W factor, 3), malloc'ed; Lanczos filter with three lobes.
Status video_enlarge(const uint8_t *rgb, int H, int W, int factor, VideoScaling scaling, uint8_t **out, Error *err);
// |a - b|, mean over channels, from dark (equal) to bright (half the range or more).
void video_difference(const uint8_t *a, const uint8_t *b, size_t pixels, uint8_t *out);

typedef struct VideoPanel {
    const uint8_t *rgb;  // (H,W,3); NULL: an empty panel
    const char *caption; // above the picture; NULL: none
} VideoPanel;

typedef struct VideoLayout {
    int H, W;          // of every panel, before enlarging
    int rows, columns; // panels row by row
    int factor;        // 0: video_scale_for(H, W, 192)
    VideoScaling scaling;
    const char *title; // one line at the top; NULL: none
} VideoLayout;

// ---- a sequence of frames

typedef struct Video {
    int H, W, count, capacity;
    double fps;
    uint8_t **frames; // (count) of (H,W,3)
} Video;

void video_free(Video *video); // accepts {0}
// Copies a frame. The first one determines the size.
Status video_add(Video *video, const uint8_t *rgb, int H, int W, Error *err);
// Draws panels ((rows * columns) of them) into one frame and adds it.
Status video_add_panels(Video *video, const VideoLayout *layout, const VideoPanel *panels, Error *err);

// FOLDER/frame_0000.png, ..
Status video_frame_path(const char *folder, int frame, char path[FILE_PATH_SIZE], Error *err);
Status video_write_gif(const Video *video, const char *path, Error *err);
// Whether video_write can write this kind of file, because MP4 needs ffmpeg. Call it before minutes of drawing.
Status video_check_path(const char *path, Error *err);
// By the file name: .gif, .mp4, else a folder of PNG files.
Status video_write(const Video *video, const char *path, Error *err);

#endif
