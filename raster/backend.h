// SPDX-License-Identifier: Apache-2.0
// The border between the rasterisers and what is done for each sample in one precision. Args hold pointers and doubles,
// never a `real`, because the program has every back end in float and in double.
#ifndef VPD_RASTER_BACKEND_H
#define VPD_RASTER_BACKEND_H

#include "raster/tiles.h"

enum { RASTER_PLACE = 9, RASTER_ATTRIBUTES = 8, RASTER_STATE = 6 };

struct RasterOnDevice;

typedef struct RasterTexture {
    const double *texel; // (H,W,3)
    int H, W;
} RasterTexture;

// Faces as the screen sees them. A point of a face with weights w on the screen has 1/depth = sum w_i r_i.
typedef struct RasterFaces {
    size_t count;
    const double *place;     // (count,3,3): x, y in NDC, r = 1/depth
    int attributes;          // 3, or 8 if any face has a texture
    const double *attribute; // (count,3,attributes): colour; with a texture factor (3), addend (3), u, v
    const int32_t *texture;  // (count) -1: none
    const RasterTexture *textures;
} RasterFaces;

// Values of a slot's gradient: of place, and of the attributes of the corners.
ELEMENT size_t raster_row(const RasterFaces *faces) { return RASTER_PLACE + 3 * (size_t)faces->attributes; }

// Gradients of the texels are summed in parts that only sizes decide, and the parts in their order.
typedef struct RasterTexelSums {
    int parts;           // 0: not wanted
    size_t texels;       // doubles of one part
    const size_t *first; // (textures) where a texture begins
    double *sum;         // (parts,texels)
} RasterTexelSums;

typedef struct RasterSoftArgs {
    const RasterFaces *faces;
    const RasterTiles *tiles;
    int threads;
    struct RasterOnDevice *device;          // NULL on the CPU
    double sigma, gamma, near, far, limit2; // limit2: squared distance from which a face is not seen
    double background[3];
    double *colour, *alpha; // (H,W,3), (H,W) of the grid
    void *state;            // (RASTER_STATE,H,W) reals, which the gradient reads
    // gradient
    const double *colour_grad, *alpha_grad; // NULL: zero
    double *slot_grad;                      // (slots, raster_row)
    RasterTexelSums texels;
} RasterSoftArgs;

// The front face of each sample. Ties go to the face that comes first.
typedef struct RasterVisibleArgs {
    const RasterFaces *faces;
    const RasterTiles *tiles;
    int threads;
    struct RasterOnDevice *device; // NULL on the CPU
    double least, most;            // of r
    const uint8_t *wanted;         // (tiles,RASTER_TILE) rows to draw; NULL: all, as a device does
    int32_t *slot;                 // (H,W) place in the tiles' list; -1: none
} RasterVisibleArgs;

// DIB-R's silhouette: alpha of samples that no face covers.
typedef struct RasterCoverArgs {
    const RasterFaces *faces;
    const RasterTiles *tiles;
    int threads;
    struct RasterOnDevice *device; // NULL on the CPU
    double delta, limit2;
    const uint8_t *covered; // (H,W)
    double *alpha;          // (H,W)
    const double *alpha_grad;
    double *slot_grad; // (slots, raster_row)
} RasterCoverArgs;

typedef struct RasterBackend {
    size_t real_bytes;
    void (*soft)(const RasterSoftArgs *);
    void (*soft_back)(const RasterSoftArgs *);
    void (*visible)(const RasterVisibleArgs *);
    void (*cover)(const RasterCoverArgs *);
    void (*cover_back)(const RasterCoverArgs *);
} RasterBackend;

// NULL for an unknown instruction set, or one that this processor does not run. *isa NULL: the best; set to its name.
const RasterBackend *raster_backend(const char **isa, bool f64);

#endif
