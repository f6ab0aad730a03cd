// SPDX-License-Identifier: Apache-2.0
// The triangles of a scene for the rasteriser: one mesh for each object, then one for each plane. lab/render.c alone
// uses it.
#ifndef VPD_LAB_RENDER_MESHES_H
#define VPD_LAB_RENDER_MESHES_H

#include "lab/scene.h"

typedef struct RenderMeshes {
    RasterMesh *mesh; // (count)
    size_t count;
    size_t *first;                               // (objects) number of each one's first vertex
    double *position, *colour;                   // (vertices,3) of all objects; then corners of planes
    double *position_gradient, *colour_gradient; // (vertices,3) of objects
    int32_t *face;                               // of all meshes
    double *uv, *texel;                          // of planes
} RenderMeshes;

// false: out of memory.
bool render_meshes_make(const SimScene *scene, RenderMeshes *out);
void render_meshes_free(RenderMeshes *meshes);

// Moves the vertices of objects to where particles (N,3) are, and gives them their object's colour (objects,3).
void render_meshes_move(const SimScene *scene, const double *particles, const double *colour, RenderMeshes *meshes);
// Adds meshes->position_gradient to that of the particles.
void render_meshes_back(const SimScene *scene, const RenderMeshes *meshes, double *particles);

#endif
