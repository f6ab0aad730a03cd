// SPDX-License-Identifier: Apache-2.0
// Shared by the parts of a plan: its state, searches, and velocities (docs/model.md, "Velocities").
#ifndef VPD_GNN_PLANNING_H
#define VPD_GNN_PLANNING_H

#include "gnn/plan.h"
#include "nn/knn.h"

// Points in the coordinates in which neighbours are searched: positions and extra coordinates.
typedef struct PointSet {
    size_t count;
    const real *x;     // (count, 3)
    const real *extra; // (count, Planning.extra), or as many as the search says
} PointSet;

typedef struct Planning {
    Tape *tape;
    Device *device;
    const GnnConfig *c;
    const GnnPlanInput *in;
    GnnPlan *plan;
    const GnnSet *present;
    size_t extra;           // number of coordinates besides the position
    const real *m, *node_m; // moving flags in host memory, or NULL
    const int32_t *node_of; // (nodes) particles, in host memory
    PointSet nodes;
} Planning;

// Device memory that is released when the plan is made.
void *planning_temporary(Planning *p, size_t count, size_t size);
int32_t *planning_upload_list(Planning *p, const int32_t *host, size_t count);
void planning_gather(Planning *p, size_t count, size_t width, const real *x, const int32_t *index, real scale,
                     real *out, size_t stride, size_t column);
PointSet planning_set(Planning *p, size_t t);
PointSet planning_subset(Planning *p, const PointSet *of, const int32_t *list, size_t count);
void planning_index(Planning *p, const PointSet *points, size_t extra, KnnIndex *index);
void planning_search(Planning *p, const KnnIndex *index, const PointSet *queries, size_t extra, const int32_t *self,
                     size_t k, int32_t *found, real *distance2);

// Velocities (M, 3) and angular velocities *spin (M, 3) of nodes.
const real *planning_node_velocity(Planning *p, const real **spin);
// (N, 3), in a flat graph.
const real *planning_particle_velocity(Planning *p);

#endif
