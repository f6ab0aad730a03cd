// SPDX-License-Identifier: Apache-2.0
// Differentiable rasterisers: triangles with lights, seen by a camera, to a picture; and the exact gradient of a loss
// on that picture. docs/rasterisers.md has every equation.
//
//     raster_open(&options, &raster, err);
//     raster_draw(raster, &scene, &camera, &picture, err);              colour, alpha, depth, face
//     raster_gradient(raster, &scene, &camera, &loss, &gradient, err);  dLoss/d(vertices, colours, texels, lights,
//     pose)
//
// RASTER_SOFT is SoftRas (Liu et al. 2019), RASTER_DIBR is DIB-R (Chen et al. 2019), RASTER_HARD a z-buffer with hard
// shadows. Arrays at this border are double and belong to the caller; inside, the work per pixel of RASTER_SOFT and of
// DIB-R's silhouette is done in options.precision. Cameras are those of base/camera.h. Results have the same bits with
// any number of threads.
#ifndef VPD_RASTER_RASTER_H
#define VPD_RASTER_RASTER_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum RasterMethod { RASTER_SOFT, RASTER_DIBR, RASTER_HARD } RasterMethod;
typedef enum RasterPrecision { RASTER_F32, RASTER_F64 } RasterPrecision;

// Both sides of a face are drawn. Its normal is (x1 - x0) x (x2 - x0); light falls on the side that it points to.
typedef struct RasterMesh {
    size_t vertices, faces;
    const double *position;     // (vertices,3) metres, world
    const int32_t *face;        // (faces,3)
    const double *colour;       // (vertices,3); NULL: white
    const double *texel;        // (texture_H,texture_W,3), multiplied with the colour; NULL: no texture
    const double *uv;           // (faces,3,2) with a texture: (0,0) first row's left end, (1,1) last row's right end
    int texture_H, texture_W;   // sampled bilinearly; the border goes on outside
    bool smooth;                // normals are means at vertices, weighted by area; else those of faces
    double specular, shininess; // Phong: specular * (reflection . view)^shininess, shininess at least 1
} RasterMesh;

typedef struct RasterLight {
    double direction[3]; // towards the light, any length above 0
    double colour[3];
    bool shadow; // RASTER_HARD: casts shadows
} RasterLight;

// Light is computed at the corners of faces and interpolated. Without lights and harmonics, light is 1 everywhere.
typedef struct RasterScene {
    const RasterMesh *mesh;
    size_t meshes;
    const RasterLight *light;
    size_t lights;
    const double
        *harmonics; // (9,3) of real spherical harmonics Y_00, Y_1-1, Y_10, Y_11, Y_2-2, .. of the normal; or NULL
    double background[3];
} RasterScene;

// Only what lies between the planes of depth near and far is drawn.
typedef struct RasterCamera {
    int H, W;
    double K[9], world_from_camera[16];
    double near, far; // metres, 0 < near < far
} RasterCamera;

typedef struct RasterOptions {
    RasterMethod method;
    RasterPrecision precision;
    int threads;           // 0: threads_available()
    const char *isa;       // avx512, avx2 or base; NULL: VPD_ISA, or the best of this processor
    struct Device *device; // a GPU (nn/device.h) for the work per sample, open until raster_close; NULL or a CPU: none
    int samples;           // along a pixel's side: 1 or 2; 0: 1
    double sigma;          // RASTER_SOFT: blur of edges, squared NDC; 0: 1e-5
    double gamma;          // RASTER_SOFT: blur along depth, shares of far - near; 0: 1e-4
    double delta;          // RASTER_DIBR: blur of the silhouette, squared NDC; 0: 1/7000
    int shadow_size;       // side of a shadow map; 0: 1024
} RasterOptions;

// Arrays that are NULL are not drawn. Depth and face are those of the front face at the centre of the pixel.
typedef struct RasterPicture {
    double *colour; // (H,W,3)
    double *alpha;  // (H,W) silhouette
    double *depth;  // (H,W) metres along the camera's axis; 0: no face
    int32_t *face;  // (H,W) number of the face, counted over all meshes; -1: none
} RasterPicture;

// dLoss/d(picture); NULL: zero.
typedef struct RasterLoss {
    const double *colour, *alpha, *depth;
} RasterLoss;

typedef struct RasterMeshGradient {
    double *position, *colour, *texel; // as in RasterMesh; NULL: not wanted
} RasterMeshGradient;

typedef struct RasterLightGradient {
    double direction[3], colour[3];
} RasterLightGradient;

// Where shadows fall is taken as constant, and so are near and far.
typedef struct RasterGradient {
    RasterMeshGradient *mesh;   // (meshes)
    RasterLightGradient *light; // (lights); NULL: not wanted
    double *harmonics;          // (9,3); NULL: not wanted
    double background[3];
    double
        pose[6]; // of a shift of the camera along the world's axes (3), and of a turn about its centre around them (3)
} RasterGradient;

typedef struct Raster Raster;

// STATUS_BAD_INPUT: an option out of its range.
Status raster_open(const RasterOptions *options, Raster **out, Error *err);
void raster_close(Raster *raster); // NULL is fine

// STATUS_BAD_INPUT names what is wrong: an index out of range, a number that is not finite, a size above 16384.
Status raster_draw(Raster *raster, const RasterScene *scene, const RasterCamera *camera, const RasterPicture *out,
                   Error *err);
// Of the same scene and camera as the last raster_draw. Writes every array that is not NULL.
Status raster_gradient(Raster *raster, const RasterScene *scene, const RasterCamera *camera, const RasterLoss *loss,
                       RasterGradient *gradient, Error *err);

// Planes that hold every vertex in front of the camera with some room, for camera->near and far; {1e-3, 1} without any.
// Call it once, not in every step of an optimisation: RASTER_SOFT depends on them.
void raster_depth_range(const RasterScene *scene, const double world_from_camera[16], double *near, double *far);

size_t raster_peak_bytes(const Raster *raster); // held at most so far
const char *raster_isa(const Raster *raster);

#endif
