// SPDX-License-Identifier: Apache-2.0
// A solid of uniform density that moves as one piece, as masses at the vertices of its mesh (SimModel.inertia).
#ifndef VPD_LAB_RIGID_MASS_H
#define VPD_LAB_RIGID_MASS_H

#include "lab/mesh.h"

// The solid is the mesh's tets or, without any, the inside of its triangles, a closed surface turned either way.
// `mass` (N) gets kg with the solid's own total and centre: `density` in kg/m^3, or in its place `total` in kg where
// that is above 0. `share` (N) gets the part of each that counts in the inertia: the sum of share mass r r' is the
// integral of density r r' over the solid, r from its centre. Shares are as equal as they can be, may be below 0, and
// depend on neither density nor pose; NULL: they are not wanted. STATUS_BAD_INPUT: no volume, too few vertices for
// that inertia.
Status rigid_mass(const Mesh *mesh, double density, double total, double *mass, double *share, Error *err);

// Whether masses at points (N,3) have an inertia about each axis: they are not all on one line.
bool rigid_spans(const double *position, const double *mass, size_t N);

#endif
