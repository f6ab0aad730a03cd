// SPDX-License-Identifier: Apache-2.0
// Geometry of edges from q (sender) to r (receiver), docs/model.md: g = [(x_q - x_r)/ell, |x_q - x_r|/ell], |.| =
// sqrt(d^2 + 1e-12), and with velocities also (v_q - v_r)/s. Absent rows are zero. Velocities get no gradient.
#ifndef VPD_GNN_EDGE_GEOMETRY_H
#define VPD_GNN_EDGE_GEOMETRY_H

#include "gnn/edges.h"
#include "nn/tape.h"

typedef struct EdgeGeometryArgs {
    GnnEdges edges;
    bool group_receives;           // the group is the receiver of its edges; else the sender
    size_t width;                  // 4, or 7 with velocities
    const real *x_group;           // (groups, 3) metres
    const real *x_other;           // (others, 3)
    const real *v_group, *v_other; // metres per frame, or both NULL
    real inverse_ell, inverse_s;
    real *g;                   // (rows, width), overwritten
    const real *dg;            // (rows, width)
    real *dx_group, *dx_other; // gradients are added to these; may be the same array; NULL = not needed
} EdgeGeometryArgs;

typedef struct EdgeGeometryCall {
    GnnEdges edges;
    bool group_receives;
    Tensor *x_group, *x_other;
    const real *v_group, *v_other;
    real ell, s; // metres
} EdgeGeometryCall;

Tensor *edge_geometry(Tape *tape, const EdgeGeometryCall *call);

#endif
