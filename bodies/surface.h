// SPDX-License-Identifier: Apache-2.0
// The surface that points lie on.
#ifndef VPD_BODIES_SURFACE_H
#define VPD_BODIES_SURFACE_H

#include "nn/real.h"

#include <stddef.h>

// The plane through point `of` of `count` points x (count, 3) and the points near it: its unit normal, of either sign.
// Returns the distance to the farthest of these points; *rough (may be NULL) is the root mean square of their distances
// from the plane through their mean.
double surface_plane(size_t count, const real *x, size_t of, real normal[3], real *rough);

#endif
