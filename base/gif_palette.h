// SPDX-License-Identifier: Apache-2.0
// One palette for all frames of a GIF; base/gif.c alone uses it, and its test.
#ifndef VPD_BASE_GIF_PALETTE_H
#define VPD_BASE_GIF_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GIF_PALETTE_MAX = 256, GIF_CELLS = 1 << 18 };

typedef struct GifCell {
    float rgb[3]; // mean colour of its pixels
    double weight;
    uint32_t index;
} GifCell;

typedef struct GifColours {
    int count;
    uint8_t palette[GIF_PALETTE_MAX][3];
    uint8_t *nearest; // (GIF_CELLS) entry of the palette for each cell of 6 bits a channel
    GifCell *cells;
    size_t cell_count;
} GifColours;

// frames[i] are `pixels` of rgb; at most `capacity` colours. false without memory.
bool gif_colours_choose(GifColours *colours, const uint8_t *const *frames, int count, size_t pixels, int capacity);
// Pixels of those frames to entries of the palette.
void gif_colours_map(const GifColours *colours, const uint8_t *rgb, size_t pixels, uint8_t *out);
void gif_colours_free(GifColours *colours);

#endif
