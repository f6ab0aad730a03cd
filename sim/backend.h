// SPDX-License-Identifier: Apache-2.0
// What a back end of the simulator does: the four phases of a step and of its adjoint, on packed arrays. Structs hold
// pointers, integers and doubles, never a `real`, because each copy of the back end has its own (float or double).
//
// Vertices are the particles of all scenes, sorted in space, in blocks of `lanes`; the last block is padded with fixed
// ones. A record is 8 reals: x y z 0 u v w 0. Elements of one kind lie in blocks of `lanes`, and up to
// SIM_CHUNK_ELEMENTS of them (SIM_CHUNK_SOCKETS, which have six vertices) form a chunk, which adds its forces into
// slots of its own, one for each vertex that it touches. A vertex then adds its slots in a fixed order, so that threads
// change no bit.
#ifndef VPD_SIM_BACKEND_H
#define VPD_SIM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum SimKind {
    SIM_KIND_SPRING,
    SIM_KIND_TET,
    SIM_KIND_HINGE,
    SIM_KIND_SLIDE,
    SIM_KIND_SOCKET,
    SIM_KINDS
} SimKind;
// Packed tables of elements: one of each kind, and limits and friction of hinges.
enum { SIM_TABLE_STOP = SIM_KINDS, SIM_TABLES };

enum { SIM_CHUNK_ELEMENTS = 256, SIM_CHUNK_SOCKETS = 128, SIM_CHUNK_VERTICES = 4 * SIM_CHUNK_ELEMENTS };
enum { SIM_RECORD = 8, SIM_QUAD = 4 };
enum { SIM_FORCE_FIELDS = 3, SIM_DRIVE_FIELDS = 6 };

typedef struct SimChunk {
    SimKind kind;
    int32_t block, blocks;  // of its kind
    int32_t slot, vertices; // its first slot, and how many
} SimChunk;

// A rigid body has vertex blocks of its own.
typedef struct SimRigid {
    int32_t vertex, vertices; // its first vertex, and how many
    int32_t body;             // of SimTouching, where bodies meet
} SimRigid;

// What the particles of one body meet of the others in its scene.
typedef struct SimBody {
    int32_t first, bodies; // of its scene
    int32_t point, points; // its first particle that may touch another body, and how many
    int32_t face, faces;
    int32_t group, groups; // of its tree (sim/nearest.h), 0 without faces
    int32_t edge, edges;   // that are sharp; 0 where its faces have no inside
    int32_t edge_group, edge_groups;
    double longest; // metres at rest, of its sharp edges
    double thin;    // metres at rest, through it where it is thinnest
    bool closed;    // its faces have an inside
    bool moves;     // not all of it is fixed
    bool rigid;     // it keeps its shape
} SimBody;

typedef struct SimTouch {
    int32_t face;     // or edge
    int16_t on, side; // sim_touch_point
    float gap;        // metres
} SimTouch;

// Faces of a body that were nearest to a particle in an earlier step, or its edges whose boxes were nearest to that of
// an edge; -1 behind the last. `until` is the distance of each, and behind them a distance from all others, plus the
// sum of SimTouching.moved of both bodies then. What that sum is less than `until` now is how far it still must be
// away.
enum { SIM_LISTED = 8 };
typedef struct SimListed {
    int32_t element[SIM_LISTED];
    double until[SIM_LISTED + 1];
} SimListed;

// Bodies meet where a particle of one comes to a face of another, or a sharp edge of one crosses one of another
// (sim/touch.h). A particle touches at most SIM_TOUCHES others at once, the first of its scene, and an edge as many
// edges. What they touch has a row for each particle, and behind these one for each edge. Arrays are of all scenes.
enum { SIM_TOUCHES = 4, SIM_MATERIAL = 6, SIM_BRANCHES = 4, SIM_GROUP = 6 * SIM_BRANCHES, SIM_WAYS = 5 };
typedef struct SimTouching {
    size_t bodies, points, faces, groups; // no bodies: they pass through each other
    size_t edges, rows;                   // rows = points + edges
    size_t most;                          // bodies of one scene
    double reach;                         // metres: the largest margin, at least 0
    double dt;
    const SimBody *body;
    const int32_t *point, *point_body; // (points) vertex, and number of its body
    const int32_t *face;               // (faces,3) vertices
    const int32_t *edge, *edge_body; // (edges,4) vertices: both ends, and the third corners of its two faces, first of
                                     // that which goes from end to end; (edges) number of its body
    const float *arm; // (edges, SIM_WAYS) 1 over metres at rest through the body from it (sim_way_of); 0: not thinner
                      // than SimBody.thin
    const int32_t *ring_of,
        *ring;               // vertex v is corner ring[r] % 3 of face ring[r] / 3, r = ring_of[v] .. ring_of[v+1]-1
    const int32_t *material; // (vertices) row of `contact`
    const int32_t *apart_of, *apart; // body b never meets apart[r], r = apart_of[b] .. apart_of[b+1]-1; of the host
    void *rest;                      // (vertices, SIM_RECORD) places at rest; NULL: no body touches itself
    void *contact;                   // (scenes*materials, SIM_MATERIAL) k_e, k_d, k_f, mu, margin, fade
    // of the present step
    void *box;             // (bodies, SIM_RECORD) around each: low corner, 0, high corner, 0
    void *group;           // (groups, SIM_GROUP) trees of boxes
    int32_t *near, *nears; // (bodies, most) others whose boxes overlap, and how many
    SimTouch *touch;       // (rows, SIM_TOUCHES)
    int32_t *touches;      // (rows)
    int32_t *guess;    // (rows, SIM_TOUCHES) faces that were nearest, of edges any of the body's; -1: none. On a GPU
                       // (points, SIM_TOUCHES), as below
    double *clear;     // (points, SIM_TOUCHES) no touch before both bodies have moved so far; NULL: not known
    SimListed *listed; // (rows, SIM_TOUCHES); not on a GPU
    bool *still;       // (bodies) whether all particles were at rest in the last step; not on a GPU
    double *speed, *moved; // (bodies) the largest of a particle in m/s, and metres of all steps so far
    double *fitted;        // (bodies) `moved` when the trees were fitted; NULL: they are fitted in each step
    double *angle;         // (bodies) by which a rigid body turned in the last step; NULL: not known
    void *part;            // (rows, SIM_TOUCHES, 4, SIM_RECORD) of the vertices of sim_touch_vertices: forces; or what
                           // an adjoint adds to dLoss/d(record)
    void *slope;           // (rows, SIM_TOUCHES, SIM_QUAD) dLoss/d(k_e, k_d, k_f, mu)
    void *sum;             // (vertices, SIM_QUAD) of the forces
} SimTouching;

typedef struct SimPacked {
    size_t lanes, vertex_blocks, chunks, slots;
    const SimChunk *chunk;
    const int32_t *slot_vertex;          // (slots)
    const uint16_t *corner[SIM_KINDS];   // (blocks, corners, lanes): slot of the chunk, counted from its first
    const int32_t *slots_of, *slot_list; // vertex i adds slot_list[slots_of[i]] .. slot_list[slots_of[i+1]-1]
    void *element[SIM_TABLES];           // (blocks) SimSpring, SimTet, SimHinge, SimSlide, SimSocket or SimStop
    bool stops;                          // some hinge has limits or friction
    void *control[SIM_KINDS];            // (blocks) reals x lanes, added to the last field of each element; or NULL
    void *vertex;                        // (vertex_blocks) SimVertex
    void *contact;                       // (vertex_blocks, planes) SimContact
    void *force;                         // (vertex_blocks, SIM_FORCE_FIELDS) external force, or NULL
    void *drive;                         // (vertex_blocks, SIM_DRIVE_FIELDS) of fixed vertices: velocity, and place at
                                         // the start of the control interval; or NULL
    const double (*plane)[4];            // unit normal, offset
    size_t planes;
    SimTouching touching;
    const SimRigid *rigid; // (rigids)
    size_t rigids;
    double (*rigid_mass)[2]; // (vertices) kg, and what counts in the inertia; 0 outside rigid bodies
    double dt;
    bool by_strain;
} SimPacked;

// A step: `state` holds the records before it, `next` those after it.
typedef struct SimStep {
    const void *state;
    void *next;
    void *slots; // (slots, SIM_QUAD) forces
    void *total; // (vertices, SIM_QUAD): force on each vertex without gravity, for the adjoint and for rigid bodies; or
                 // NULL
    bool touch;  // touching.sum has forces
    double into; // seconds from the start of the control interval to the end of the step
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
    bool touch;                // touch_sum holds a part of the adjoint too
    bool rest;                 // the rest pose's gradient is wanted
    void *element[SIM_TABLES]; // gradients, shaped as those of SimPacked
    void *vertex, *contact, *force, *drive;
    void *touch_sum;    // (vertices, SIM_RECORD) sums of the adjoints of touches
    void *touch_values; // (vertices, SIM_QUAD) dLoss/d(k_e, k_d, k_f, mu) of touches, half of each where its materials
                        // are
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
    // Bodies that meet, in three phases between which all threads wait: boxes around bodies, with `jump` where the
    // state is not one step from that of the call before; which of them overlap, and their trees; particles and
    // edges that touch, with the forces of a step, or adjoints where `w` (SimBack) is given. Each thread calls them for
    // its share.
    void (*body_boxes)(const SimTouching *, const void *state, bool jump, int thread, int threads);
    void (*body_trees)(const SimTouching *, const void *state, int thread, int threads);
    void (*touches)(const SimTouching *, const void *state, const void *w, int thread, int threads);
    // Their sums at vertices first .. last-1: forces of a step; or adjoints, with back->touch_values.
    void (*touch_sums)(const SimTouching *, const SimBack *, size_t first, size_t last);
    // After the phases: lowers `gap` (vertices) where closed bodies are inside each other, to minus the metres to the
    // surface: at both ends of each sharp edge from the middles of its parts inside, at the corners of each face from
    // its middle, and at one particle of each body from the middle of all.
    void (*surface_gaps)(const SimTouching *, const void *state, double *gap);
} SimBackend;

// The table of (isa, precision); NULL isa: the best that this processor runs. NULL when there is none.
const SimBackend *sim_backend_find(const char *isa, bool f64);

#endif
