// SPDX-License-Identifier: Apache-2.0
// Pictures of a scene at one moment, and the gradient of a loss on them: the surfaces of its objects, and its planes,
// seen by a camera. scene->picture says how (docs/simulator.md, "Pictures"); what is drawn is raster/raster.h.
//
//     render_open(&scene, &on, &render, err);                      the scene must outlive it
//     render_draw(render, camera, position, &picture, err);
//     render_gradient(render, &loss, &gradient, err);              of the last picture
//
// `position` are the particles of one scene, (N,3), in double, as sim_rollout keeps them. Solids and cloth are drawn by
// their faces; of springs alone, each particle is an octahedron and each spring a cross of three ribbons.
#ifndef VPD_LAB_RENDER_H
#define VPD_LAB_RENDER_H

#include "lab/scene.h"

typedef struct Render Render;

// Lights, background, ambient and the colours of objects may change between pictures; the rest is read once.
// `on` says in which precision and where: threads, isa or device.
Status render_open(const SimScene *scene, const SimOptions *on, Render **out, Error *err);
void render_close(Render *render); // NULL is fine

// Arrays that are NULL are not drawn.
typedef struct RenderPicture {
    double *colour; // (H,W,3), about 0 to 1; of RASTER_SOFT alpha C + (1 - alpha) background, which has no hard edge
    double *alpha;  // (H,W) silhouette of the objects, as if there were no planes
    double *depth;  // (H,W) metres along the camera's axis, of objects and planes; 0: neither
    uint16_t *mask; // (H,W) k + 1: object k is in front; 0: a plane or nothing
} RenderPicture;

Status render_draw(Render *render, const SceneCamera *camera, const double *position, const RenderPicture *out,
                   Error *err);

// What a gradient is added to; arrays that are NULL are not wanted.
typedef struct RenderGradient {
    double *position;           // (N,3)
    double *colour;             // (objects,3) of colours from 0 to 1
    RasterLightGradient *light; // (lights)
    double *pose;               // (6) as in RasterGradient
} RenderGradient;

// `loss` is dLoss/d(colour, alpha, depth) of the last render_draw, which has drawn those of them that are not NULL.
// Shadows, near and far are constants, and so is the pattern of the planes.
Status render_gradient(Render *render, const RasterLoss *loss, const RenderGradient *out, Error *err);

#endif
