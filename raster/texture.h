// SPDX-License-Identifier: Apache-2.0
// Bilinear textures, in double. Texel (row, column) has its centre at u = (column + 1/2)/W, v = (row + 1/2)/H; beyond
// the outer centres the border goes on. Compiles as C and as CUDA.
#ifndef VPD_RASTER_TEXTURE_H
#define VPD_RASTER_TEXTURE_H

#include "nn/element.h"
#include "raster/backend.h"

typedef struct TexturePlace {
    size_t texel[4]; // first double of: here, to the right, below, both
    double x, y;     // shares of the right and lower ones
    double dx, dy;   // dx/du, dy/dv
} TexturePlace;

ELEMENT double texture_axis(double u, int count, int *at, int *next, double *slope) {
    double x = u * count - 0.5;
    *slope = x > 0 && x < count - 1 ? count : 0;
    x = x > 0 ? x < count - 1 ? x : count - 1 : 0; // NaN: 0
    *at = (int)x;
    *next = *at < count - 1 ? *at + 1 : *at;
    return x - *at;
}

ELEMENT TexturePlace texture_place(const RasterTexture *texture, double u, double v) {
    TexturePlace p;
    int left, right, up, low;
    p.x = texture_axis(u, texture->W, &left, &right, &p.dx);
    p.y = texture_axis(v, texture->H, &up, &low, &p.dy);
    size_t W = (size_t)texture->W, one = (size_t)up * W, two = (size_t)low * W;
    p.texel[0] = 3 * (one + (size_t)left), p.texel[1] = 3 * (one + (size_t)right);
    p.texel[2] = 3 * (two + (size_t)left), p.texel[3] = 3 * (two + (size_t)right);
    return p;
}

ELEMENT void texture_weights(const TexturePlace *p, double weight[4]) {
    weight[0] = (1 - p->x) * (1 - p->y), weight[1] = p->x * (1 - p->y);
    weight[2] = (1 - p->x) * p->y, weight[3] = p->x * p->y;
}

ELEMENT void texture_value(const RasterTexture *texture, const TexturePlace *p, double out[3]) {
    double weight[4];
    texture_weights(p, weight);
    for (int c = 0; c < 3; c++) {
        out[c] = 0;
        for (int i = 0; i < 4; i++) out[c] += weight[i] * texture->texel[p->texel[i] + (size_t)c];
    }
}

// From dLoss/d(value): adds to dLoss/d(texels) unless NULL; dLoss/d(u, v) to *gu, *gv.
ELEMENT void texture_back(const RasterTexture *texture, const TexturePlace *p, const double g[3], double *texel_grad,
                          double *gu, double *gv) {
    double weight[4], along[4] = {0};
    texture_weights(p, weight);
    for (int i = 0; i < 4; i++)
        for (int c = 0; c < 3; c++) {
            along[i] += g[c] * texture->texel[p->texel[i] + (size_t)c];
            if (texel_grad) texel_grad[p->texel[i] + (size_t)c] += weight[i] * g[c];
        }
    *gu = p->dx * ((1 - p->y) * (along[1] - along[0]) + p->y * (along[3] - along[2]));
    *gv = p->dy * ((1 - p->x) * (along[2] - along[0]) + p->x * (along[3] - along[1]));
}

#endif
