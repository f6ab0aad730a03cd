// SPDX-License-Identifier: Apache-2.0
// From a scene to faces on the screen, in double: light at the corners, camera axes, the part in front of the near
// plane, projection; and the adjoint of all that.
#ifndef VPD_RASTER_PREPARE_H
#define VPD_RASTER_PREPARE_H

#include "raster/backend.h"
#include "raster/light.h"

// A corner of a face that is drawn: of its scene's face the point a + t (b - a).
typedef struct RasterCorner {
    int8_t a, b;
    double t;
} RasterCorner;

enum { RASTER_LIT = 6, RASTER_SHADOWS = 8 };

typedef struct Prepared {
    const RasterScene *scene;
    const RasterCamera *camera;
    int threads;
    struct RasterOnDevice *device; // raster/backend.h
    size_t vertices, sources;      // of the scene
    int32_t *vertex, *mesh;        // (sources,3), (sources)
    double *world, *seen;          // (vertices,3) positions in the world and in the camera's axes
    double *normal;                // (vertices,3) sums of (x1 - x0) x (x2 - x0)
    double eye[3], rotation[9];    // rotation: world_from_camera's
    // Sets of lights: the first has all that cast no shadows, each further one has one light that does.
    int sets;
    LightSet set[1 + RASTER_SHADOWS];
    size_t first_light[1 + RASTER_SHADOWS]; // (of a further set) its light
    RasterLight *steady;                    // lights of the first set
    size_t *steady_index;
    double *lit;          // (sets,sources,3,6)
    RasterFaces faces;    // attribute: (sets,count,3,attributes)
    int32_t *source;      // (count)
    RasterCorner *corner; // (count,3)
} Prepared;

static inline size_t prepared_row(const Prepared *p) { // of the gradient of a drawn face
    return RASTER_PLACE + 3 * (size_t)p->faces.attributes * (size_t)p->sets;
}

// `shadows`: lights that cast shadows get sets of their own. False when memory is short.
bool raster_prepare(Prepared *out, const RasterScene *scene, const RasterCamera *camera, bool shadows, int threads,
                    struct RasterOnDevice *device, Arena *memory);
// face_grad (count, prepared_row): dLoss/d(place, attribute of each set). False when memory is short.
bool raster_prepare_back(const Prepared *p, const double *face_grad, RasterGradient *gradient, Arena *memory);

// ---- shared by its files

// Light at the corners of all faces of the scene, into p->lit. False when memory is short.
bool raster_light(Prepared *p, Arena *memory);
// From dLoss/d(lit): sets the colours, lights and harmonics of `gradient`, adds to pose (through the eye), and to
// `world` (vertices,3).
bool raster_light_back(const Prepared *p, const double *lit_grad, RasterGradient *gradient, double *world,
                       Arena *memory);

#endif
