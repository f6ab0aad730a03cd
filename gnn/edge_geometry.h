// SPDX-License-Identifier: Apache-2.0
// Geometry of edges from q (sender) to r (receiver), docs/model.md: g = [(x_q - x_r)/ell, |x_q - x_r|/ell], |.| =
// sqrt(d^2 + 1e-12). Absent rows are zero.
#ifndef VPD_GNN_EDGE_GEOMETRY_H
#define VPD_GNN_EDGE_GEOMETRY_H

#include "gnn/edges.h"
#include "nn/tape.h"

enum { EDGE_GEOMETRY = 4 }; // columns of g

typedef struct EdgeGeometryArgs {
    GnnEdges edges;
    bool group_receives; // the group is the receiver of its edges; else the sender
    const real *x_group; // (groups, 3) metres
    const real *x_other; // (others, 3)
    real inverse_ell;
    real *g;                   // (rows, 4), overwritten
    const real *dg;            // (rows, 4)
    real *dx_group, *dx_other; // gradients are added to these; may be the same array; NULL = not needed
} EdgeGeometryArgs;

typedef struct EdgeGeometryCall {
    GnnEdges edges;
    bool group_receives;
    Tensor *x_group, *x_other;
    real ell; // metres
} EdgeGeometryCall;

Tensor *edge_geometry(Tape *tape, const EdgeGeometryCall *call);

#endif
