// SPDX-License-Identifier: Apache-2.0
// The front face of each sample: its colour and depth in double, and their adjoint.
#ifndef VPD_RASTER_SURFACE_H
#define VPD_RASTER_SURFACE_H

#include "raster/prepare.h"

// Of the faces `p` over a grid. `slot`: place in the tiles' list; -1: none.
typedef struct Surface {
    RasterTiles tiles;
    int32_t *slot;   // (H,W)
    uint8_t *shadow; // (H,W) bit k: the light of set 1 + k does not reach the sample; NULL: all do
} Surface;

// False when memory is short.
bool raster_surface_find(Surface *out, const RasterBackend *backend, const Prepared *p, RasterGrid grid, Arena *memory);
// Shadow maps of size x size for the lights of all sets but the first. `point` (H,W,3): room for what the samples see.
// False when memory is short.
bool raster_surface_shadows(Surface *surface, const RasterBackend *backend, const Prepared *p, int size, double *point,
                            Arena *memory);

static inline int32_t surface_face(const Surface *s, size_t sample) { // drawn face, -1: none
    return s->slot[sample] < 0 ? -1 : s->tiles.face[s->slot[sample]];
}

// A face on the screen: what all of its samples share. {NULL} holds none; beside samples mostly see the same one.
typedef struct SurfaceFace {
    const double *place;
    double gx[3], gy[3]; // gradient of the weights w over the screen
} SurfaceFace;

// Point of a drawn face that a sample sees: weights on the screen, weights b on the face, depth.
typedef struct SurfacePoint {
    double w[3], b[3], z;
} SurfacePoint;
// `face` keeps what was found for the face at `place`, for the next sample.
SurfacePoint raster_surface_point(SurfaceFace *face, const double *place, double x, double y);

// colour (H,W,3), NULL: not wanted; depth (H,W) metres or 0, NULL: not wanted.
void raster_surface_draw(const Surface *surface, const Prepared *p, double *colour, double *depth);
// From dLoss/d(colour, depth), each NULL: zero. slot_grad (slots, prepared_row).
void raster_surface_back(const Surface *surface, const Prepared *p, const double *colour_grad, const double *depth_grad,
                         double *slot_grad, const RasterTexelSums *texels);

#endif
