// SPDX-License-Identifier: Apache-2.0
// A solid of uniform density that moves as one piece, as masses at the vertices of its mesh (SimModel.inertia).
#ifndef VPD_LAB_RIGID_MASS_H
#define VPD_LAB_RIGID_MASS_H

#include "lab/mesh.h"

enum { RIGID_POINTS = 4 };

// Places of masses that are no vertices of a mesh, inside its solid where that is convex.
typedef struct RigidPoints {
    size_t count; // 0 or RIGID_POINTS
    double at[RIGID_POINTS][3];
} RigidPoints;

// The solid is the mesh's tets or, without any, the inside of its triangles, a closed surface turned either way.
// `mass` gets kg with the solid's own total and centre: `density` in kg/m^3, or in its place `total` in kg where that
// is above 0. `share` gets the part of each that counts in the inertia: the sum of share mass r r' is the integral of
// density r r' over the solid, r from its centre. They have room for N + RIGID_POINTS: first for the vertices, then for
// the points.
//
// Where vertices can hold that inertia there are no points, and shares are as equal as they can be; some may be below
// 0. Where they cannot (all of them at the rims of a cylinder), or only with shares that nearly cancel, points hold
// what is left, and half of the mass; all vertices then have one share, and all are above 0. Shares depend on neither
// density nor pose. `share` NULL: they are not wanted, and there are no points; `points` may then be NULL.
//
// STATUS_BAD_INPUT: no volume, or a surface that crosses itself so that no solid has its centre and inertia.
Status rigid_mass(const Mesh *mesh, double density, double total, double *mass, double *share, RigidPoints *points,
                  Error *err);

// Whether masses at points (N,3) have an inertia about each axis: they are not all on one line.
bool rigid_spans(const double *position, const double *mass, size_t N);

#endif
