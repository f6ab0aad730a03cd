// SPDX-License-Identifier: Apache-2.0
// Simple raster drawing for pictures: points with a z-buffer, lines, rectangles, text in a tiny built-in font.
// Canvas: rgb (H,W,3) u8 and z (H,W) f32, metres from the eye. Everything outside the canvas is clipped.
#ifndef VPD_BASE_DRAW_H
#define VPD_BASE_DRAW_H

#include "base/error.h"

#include <stdint.h>

enum { DRAW_FONT_W = 6, DRAW_FONT_H = 9 }; // cell of one character at scale 1

typedef struct Colour {
    uint8_t r, g, b;
} Colour;

typedef struct Canvas {
    int H, W;
    uint8_t *rgb; // (H,W,3)
    float *z;     // (H,W), infinity where nothing was drawn
} Canvas;

Status canvas_create(int H, int W, Colour background, Canvas *out, Error *err);
void canvas_free(Canvas *canvas);
Status canvas_write_png(const Canvas *canvas, const char *path, Error *err);

// A square of `size` pixels around (x, y), drawn where z is nearer than the canvas.
void draw_point(Canvas *canvas, double x, double y, double z, int size, Colour colour);
// z runs linearly in 1/z between the ends; pass z = 0 to draw over everything.
void draw_line(Canvas *canvas, const double a[3], const double b[3], int width, Colour colour);
void draw_rectangle(Canvas *canvas, int x, int y, int w, int h, Colour colour); // filled
// Copies an (H,W,3) picture, its corner at (x, y).
void draw_picture(Canvas *canvas, int x, int y, const uint8_t *rgb, int H, int W);
// ASCII 32..126; other bytes are drawn as '?'. Returns the x behind the text.
int draw_text(Canvas *canvas, int x, int y, int scale, Colour colour, const char *text);

// A distinct colour for any index.
Colour draw_palette(int index);

#endif
