// SPDX-License-Identifier: Apache-2.0
// What a back end of the simulator does: the four phases of a step and of its adjoint, on packed arrays. Structs hold
// pointers, integers and doubles, never a `real`, because each copy of the back end has its own (float or double).
//
// Vertices are the particles of all scenes, sorted in space, in blocks of `lanes`; the last block is padded with fixed
// ones. A record is 8 reals: x y z 0 u v w 0. Elements of one kind lie in blocks of `lanes`, and up to
// SIM_CHUNK_ELEMENTS of them form a chunk, which adds its forces into slots of its own, one for each vertex that it
// touches. A vertex then adds its slots in a fixed order, so that threads change no bit.
#ifndef VPD_SIM_BACKEND_H
#define VPD_SIM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum SimKind { SIM_KIND_SPRING, SIM_KIND_TET, SIM_KIND_HINGE, SIM_KINDS } SimKind;

enum { SIM_CHUNK_ELEMENTS = 256, SIM_CHUNK_VERTICES = 4 * SIM_CHUNK_ELEMENTS, SIM_RECORD = 8, SIM_QUAD = 4 };

typedef struct SimChunk {
    SimKind kind;
    int32_t block, blocks;  // of its kind
    int32_t slot, vertices; // its first slot, and how many
} SimChunk;

typedef struct SimPacked {
    size_t lanes, vertex_blocks, chunks, slots;
    const SimChunk *chunk;
    const int32_t *slot_vertex;          // (slots)
    const uint16_t *corner[SIM_KINDS];   // (blocks, corners, lanes): slot of the chunk, counted from its first
    const int32_t *slots_of, *slot_list; // vertex i adds slot_list[slots_of[i]] .. slot_list[slots_of[i+1]-1]
    void *element[SIM_KINDS];            // (blocks) SimSpring, SimTet or SimHinge
    void *activation;                    // (tet blocks) reals x lanes, or NULL
    void *vertex;                        // (vertex_blocks) SimVertex
    void *contact;                       // (vertex_blocks, planes) SimContact
    void *force;                         // (vertex_blocks, 3) external force, or NULL
    const double (*plane)[4];            // unit normal, offset
    size_t planes;
    double dt;
    bool by_strain;
} SimPacked;

// A step: `state` holds the records before it, `next` those after it.
typedef struct SimStep {
    const void *state;
    void *next;
    void *slots; // (slots, SIM_QUAD) forces
    void *total; // (vertices, SIM_QUAD): force on each vertex without gravity, for the adjoint; or NULL
} SimStep;

// The adjoint of a step: `adjoint` holds dLoss/d(record) after it, less what `slots` and `loss` hold, and gets that
// before it.
typedef struct SimBack {
    const void *state, *total; // before the step; NULL: only add up the adjoint of the first state
    void *adjoint;             // (vertices, SIM_RECORD)
    void *w;                   // (vertices, SIM_QUAD): dLoss/d(force)
    void *slots;               // (slots, SIM_RECORD)
    const void *loss;          // (vertices, SIM_RECORD) dLoss/d(record) of a kept frame; or NULL
    bool last;                 // slots hold nothing yet
    bool rest;                 // the rest pose's gradient is wanted
    void *element[SIM_KINDS];  // gradients, shaped as those of SimPacked
    void *vertex, *contact, *force;
} SimBack;

typedef struct SimBackend {
    const char *isa;
    int lanes, real_bytes;
    // Forces of chunks first .. last-1 into their slots.
    void (*forces)(const SimPacked *, const SimStep *, size_t first, size_t last);
    // New records of vertex blocks first .. last-1; false when one is not finite.
    bool (*vertices)(const SimPacked *, const SimStep *, size_t first, size_t last);
    // Largest |component| of the adjoint after the step.
    double (*vertices_back)(const SimPacked *, const SimBack *, size_t first, size_t last);
    void (*forces_back)(const SimPacked *, const SimBack *, size_t first, size_t last);
} SimBackend;

// The table of (isa, precision); NULL isa: the best that this processor runs. NULL when there is none.
const SimBackend *sim_backend_find(const char *isa, bool f64);

#endif
