// SPDX-License-Identifier: Apache-2.0
// The order of vertices and elements in memory: sorted along a Morton curve of the rest pose, in blocks and chunks
// (sim/backend.h). All scenes of a batch become one set of vertices.
#ifndef VPD_SIM_TOPOLOGY_H
#define VPD_SIM_TOPOLOGY_H

#include "sim/backend.h"
#include "sim/sim.h"

typedef struct SimTopology {
    size_t lanes, vertices, vertex_blocks; // vertices: B*N, without padding
    size_t elements[SIM_KINDS], blocks[SIM_KINDS], chunks, slots;
    int32_t *vertex_of;             // (B*N) vertex of scene s, particle i at s*N+i
    int32_t *element_of[SIM_KINDS]; // (blocks*lanes) element s*count+e at each place, -1: padding
    SimChunk *chunk;
    uint16_t *corner[SIM_KINDS];
    int32_t *slot_vertex, *slots_of, *slot_list;
    SimRigid *rigid; // (B*rigids)
} SimTopology;

// Numbers of vertices are below this.
static inline size_t sim_padded(const SimTopology *t) { return t->vertex_blocks * t->lanes; }

// Particles of an element of this kind.
static inline size_t sim_corners(SimKind kind) { return kind == SIM_KIND_SPRING ? 2 : kind == SIM_KIND_SOCKET ? 6 : 4; }
static inline size_t sim_elements(const SimModel *model, SimKind kind) {
    const size_t counts[SIM_KINDS] = {[SIM_KIND_SPRING] = model->springs,
                                      [SIM_KIND_TET] = model->tets,
                                      [SIM_KIND_HINGE] = model->hinges,
                                      [SIM_KIND_SLIDE] = model->slides,
                                      [SIM_KIND_SOCKET] = model->sockets};
    return counts[kind];
}
static inline const int32_t *sim_element_particles(const SimModel *model, SimKind kind) {
    const int32_t *const particles[SIM_KINDS] = {[SIM_KIND_SPRING] = model->spring,
                                                 [SIM_KIND_TET] = model->tet,
                                                 [SIM_KIND_HINGE] = model->hinge,
                                                 [SIM_KIND_SLIDE] = model->slide,
                                                 [SIM_KIND_SOCKET] = model->socket};
    return particles[kind];
}

// `rest` (N,3) of the first scene sets the order; NULL: the order of the particles.
Status sim_topology_make(const SimModel *model, const double *rest, size_t lanes, SimTopology *out, Error *err);
void sim_topology_free(SimTopology *topology);

// Writes the order of `count` elements of `corners` particles each along the curve; `of` NULL: of the particles.
Status sim_sort_elements(const double *rest, size_t particles, const int32_t *of, size_t corners, size_t count,
                         int32_t *out, Error *err);

#endif
