// SPDX-License-Identifier: Apache-2.0
// The differentiable simulator: particles, springs, tetrahedra, bending hinges, slides, rigid bodies, contact with
// planes and between bodies, and the exact gradient of a rollout.
//
//     sim_open(&model, &options, &sim, err);      what never changes: who is joined to whom, planes, the time step
//     sim_set(sim, &values, err);                 parameters: masses, stiffnesses, gravity, .. (sim/values.h)
//     sim_rollout(sim, &run, err);                states q, u after each kept step
//     sim_adjoint(sim, &run, &loss, &gradient, err); dLoss/d(each value), from dLoss/d(q, u) at kept steps
//
// A step is semi-implicit Euler: u' = u + dt (f(q, u)/m + g), q' = q + dt u'. A fixed particle has 1/m = 0 and feels no
// gravity; it goes on with its initial velocity, or as it is driven. docs/simulator.md has every equation.
//
// SI units. All arrays at this border are double and belong to the caller; inside, the solver works in
// options.precision. B scenes of one topology step together: index 0 is the scene. So (B,N,3) means scene, particle,
// axis. Results have the same bits with any number of threads, and with any memory budget. On a GPU a rollout waits for
// the device only where it hands out frames and at its end.
#ifndef VPD_SIM_SIM_H
#define VPD_SIM_SIM_H

#include "base/error.h"
#include "sim/values.h"

#include <stdbool.h>
#include <stdint.h>

// How tetrahedra damp. By strain: P = k_d F (F'T D + D'T F) with D = dF/dt, which keeps angular momentum. By velocity:
// P = k_d D as published, which also brakes rigid rotation.
typedef enum SimDamping { SIM_DAMPING_STRAIN, SIM_DAMPING_VELOCITY } SimDamping;

typedef enum SimPrecision { SIM_F32, SIM_F64 } SimPrecision;

// Half space normal . x >= offset. Contact has the mean of the plane's and of the particle's material.
typedef struct SimPlane {
    double normal[3]; // of any length above 0
    double offset;    // metres, for the normal scaled to length 1
    int32_t material;
} SimPlane;

// The part of a contact material that is not differentiated; the rest is in SIM_CONTACT_*.
#define SIM_NO_CONTACT (-1e9)
typedef struct SimMaterial {
    double margin; // metres: contact begins at this distance; SIM_NO_CONTACT: what is of it touches nothing
    double fade;   // metres: damping grows from 0 at touch to k_d at this depth; 0: all of it at once, as published
} SimMaterial;

// Topology, shared by all scenes. sim_open copies it.
typedef struct SimModel {
    size_t scenes;    // B, at least 1
    size_t particles; // N, at least 1
    size_t springs, tets, hinges, slides, sockets, planes, materials;
    size_t faces;                // above 0: bodies meet
    size_t rigids;               // rigid bodies
    double dt;                   // seconds, above 0
    SimDamping damping;          // of tets
    const uint8_t *fixed;        // (N) 1: fixed; NULL: none is
    const int32_t *material;     // (N) material of each particle; NULL: 0. Read only when there are planes or faces
    const int32_t *spring;       // (springs,2)
    const int32_t *tet;          // (tets,4); positive volume: (x1-x0) x (x2-x0) . (x3-x0) > 0 in the rest pose
    const int32_t *hinge;        // (hinges,4): opposite vertices of the two triangles, then the shared edge
    const int32_t *slide;        // (slides,4): its position is how far 0 is from 1 along the way from 2 to 3
    const int32_t *socket;       // (sockets,6): two frames of three particles each (sim/socket.h)
    const SimPlane *plane;       // (planes)
    const SimMaterial *contacts; // (materials)
    // Where a particle of one body comes to a face of another they touch. Contact has the mean of their materials, that
    // of the face's first corner among them.
    const int32_t *face; // (faces,3) triangles of one body each; outwards where they enclose it
    const int32_t *body; // (N) number of the body that a particle belongs to; read only when there are faces
    size_t joints;
    const int32_t *joined; // (joints,2) numbers of bodies that do not meet each other; read only when there are faces
    // Particles of a rigid body keep their distances. None of them is fixed, and of elements only springs, hinges,
    // slides and sockets act on them, not all of whose particles are of the same body.
    const int32_t *rigid; // (N) number of the rigid body that a particle belongs to, -1: none; read only when there are
                          // rigid bodies
    // (N) share of a particle's mass m that counts in its rigid body's inertia: the second moment about the centre of
    // mass is the sum of share m r r'. Below 1 where particles lie on the surface of a solid. NULL: 1, point masses.
    const double *inertia;
} SimModel;

typedef struct SimOptions {
    SimPrecision precision;
    int threads;           // 0: as many as pay, at most threads_available()
    double memory_mib;     // for states that the gradient keeps; 0: 256
    const char *isa;       // avx512, avx2 or base; NULL: VPD_ISA, or the best of this processor
    struct Device *device; // a GPU (nn/device.h), which stays open until sim_close; NULL or a CPU: threads and isa hold
} SimOptions;

typedef struct Sim Sim;

// STATUS_BAD_INPUT names the first wrong thing: an index out of range, a size that overflows, a time step not above 0.
Status sim_open(const SimModel *model, const SimOptions *options, Sim **out, Error *err);
void sim_close(Sim *sim); // NULL is fine

// Parameters; `of[v]` is read for each v that sim_value_is_parameter, and copied. It may be NULL when its count is 0
// (no springs, ..). STATUS_BAD_INPUT: a value out of its range or not a number, a free particle whose mass is not above
// 0, an inverted or flat tetrahedron. Call it again after a change; it costs about two steps.
Status sim_set(Sim *sim, const SimValues *values, Error *err);

// Gets frame f = 0 .. steps/every, with the state after step f*every: (B,N,3) each, valid during the call. A status
// other than STATUS_OK ends the rollout.
typedef Status SimKeep(void *context, size_t frame, const double *position, const double *velocity, Error *err);

typedef struct SimRun {
    size_t steps;           // at least 1
    size_t every;           // a frame is kept after this many steps; divides steps
    const double *position; // (B,N,3) metres, at step 0
    const double *velocity; // (B,N,3) m/s; NULL: at rest
    const double
        *force; // (C,B,N,3) newtons, added during control interval c; NULL: none. An impulse p in one step is p/dt
    const double *activation; // (C,B,tets) added to SIM_TET_ACT during control interval c; NULL: none
    const double *torque;     // (C,B,hinges) N m that turn each hinge towards larger angles; NULL: none
    const double *thrust;     // (C,B,slides) N that push each slide towards larger positions; NULL: none
    const double *drive;  // (C,B,N,3) m/s of fixed particles during control interval c; NULL: they keep their velocity
    size_t control_every; // steps of one control interval, at least 1 with controls; C = sim_controls(run)
    bool gradient;        // keep what sim_adjoint needs
    SimKeep *keep;        // may be NULL
    void *context;        // for keep
} SimRun;

static inline size_t sim_frames(const SimRun *run) { return run->steps / run->every + 1; }
static inline bool sim_is_controlled(const SimRun *run) {
    return run->force || run->activation || run->torque || run->thrust || run->drive;
}
static inline size_t sim_controls(const SimRun *run) {
    return run->control_every ? (run->steps + run->control_every - 1) / run->control_every : 0;
}

// STATUS_FAILED when a state is not finite: the sentence names step, scene, particle and element; frames before were
// kept. STATUS_BAD_INPUT when memory_mib is too small for the gradient of so many steps; the sentence says what is
// needed. STATUS_INTERRUPTED as in base/stop.h.
Status sim_rollout(Sim *sim, const SimRun *run, Error *err);

// A SimKeep that copies frames into arrays; context is a SimArrays.
typedef struct SimArrays {
    size_t row;                  // B*N*3
    double *position, *velocity; // (frames,B,N,3); may be NULL
} SimArrays;
Status sim_keep_arrays(void *context, size_t frame, const double *position, const double *velocity, Error *err);

// dLoss/d(position, velocity) of each kept frame: (frames,B,N,3); NULL: zero.
typedef struct SimLoss {
    const double *position, *velocity;
} SimLoss;

// After sim_rollout of the same run with run->gradient. Writes dLoss/d(value) into each array of `gradient` that is not
// NULL, shaped as the value (sim_value_count). `growth` (may be NULL) gets the largest factor by which the adjoint of
// the state grew over the rollout: far above 1e6, a right gradient is useless. May be called again with another loss.
// STATUS_BAD_INPUT: that of SIM_DRIVE is wanted, and the run had none.
Status sim_adjoint(Sim *sim, const SimRun *run, const SimLoss *loss, const SimValues *gradient, double *growth,
                   Error *err);

// After sim_set, on a CPU and not during a rollout: gap (B,N) in metres from each particle at `position` (B,N,3) to the
// nearest body that it, or a sharp edge that ends at it, touches; below 0 inside it, as where a part of such an edge is
// inside a closed body without touching it; INFINITY: neither.
Status sim_touching(Sim *sim, const double *position, double *gap, Error *err);

// Bound on the time step: above it, some small oscillation about the rest pose grows. An estimate from below, from sums
// of stiffness and damping at each particle, and of a rigid body at all particles of a side; INFINITY without forces.
double sim_stable_step(const SimModel *model, const SimValues *values);

// What this simulation holds at most so far, in bytes, kept states of the gradient included.
size_t sim_peak_bytes(const Sim *sim);
const char *sim_isa(const Sim *sim);
int sim_threads(const Sim *sim);

#endif
