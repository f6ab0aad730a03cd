// SPDX-License-Identifier: Apache-2.0
// What bodies take of light that comes from one direction (docs/model.md, "Shadows"). Host memory.
#ifndef VPD_MOTION_SHADE_H
#define VPD_MOTION_SHADE_H

#include "nn/device.h"

#include <stdbool.h>

// Particles at the present.
typedef struct ShadeScene {
    size_t count;
    const real *x;       // (count, 3) metres
    const int32_t *body; // (count) number of its body; -1: it stands still
} ShadeScene;

// Some of them.
typedef struct ShadeGroup {
    size_t count;
    uint32_t *particle;
} ShadeGroup;

// Where arrays come from. If memory is short, the device is marked as failed.
typedef struct ShadeMemory {
    Device *device;
    Arena *arena;
} ShadeMemory;

// Not initialised. NULL if memory is short.
void *shade_array(ShadeMemory memory, size_t count, size_t size);

// The particles of bodies, or those that stand still.
ShadeGroup shade_group(ShadeMemory memory, const ShadeScene *scene, bool moves);
// How far particles of bodies shade, metres; 0 or not finite if that is not known.
double shade_spread(const ShadeScene *scene, const ShadeGroup *bodies);

// A plane across the light, with what bodies cover of it.
typedef struct Screen {
    double way[3], u[3], v[3]; // the light's way, a unit vector, and the axes of the plane
    double low[2], cell;       // metres
    size_t wide, high;         // cells
    double *cover, *first;     // share of the light that is taken in each cell, and where along its way
} Screen;

Screen screen_make(ShadeMemory memory);
// Around bodies at x; with room for places that they may go to, or as small as can be. False if they are too far apart.
bool screen_place(Screen *screen, const double way[3], const real *x, const ShadeGroup *bodies, double spread,
                  bool room);
// Whether all of the bodies at x are on it.
bool screen_holds(const Screen *screen, const real *x, const ShadeGroup *bodies);
// The light meets the bodies at x (.., 3). Those that are not on the screen shade nothing.
void screen_cast(Screen *screen, const real *x, const ShadeGroup *bodies);
// The share of the light that does not reach each of a group's particles, which are at x.
void screen_shade(const Screen *screen, const real *x, const ShadeGroup *still, double *shade);

#endif
