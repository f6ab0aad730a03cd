// SPDX-License-Identifier: Apache-2.0
// Animated GIFs: one palette of up to 255 colours for all frames (median cut, refined by k-means, no dithering),
// endless loop, and only the pixels that change are stored after the first frame.
#ifndef VPD_BASE_GIF_H
#define VPD_BASE_GIF_H

#include "base/error.h"

#include <stdint.h>

typedef struct GifOptions {
    double fps;    // 0 counts as 10; more than 50 is shown as 50, as browsers do
    int hold_last; // 1/100 s that the last frame stays longer
} GifOptions;

// frames[i] is (H,W,3). The file appears at once under its name or not at all.
Status gif_write(const char *path, const uint8_t *const *frames, int count, int H, int W, const GifOptions *options,
                 Error *err);

#endif
