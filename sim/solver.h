// SPDX-License-Identifier: Apache-2.0
// What is behind the handle of sim/sim.h.
#ifndef VPD_SIM_SOLVER_H
#define VPD_SIM_SOLVER_H

#include "base/arena.h"
#include "sim/topology.h"

// States of a rollout. For a gradient there are segments of `segment` steps: state n lies at start[n/segment] when it
// starts a segment, else at trajectory[(n-1) % segment], until the next segment comes there. Otherwise `segments` is 0
// and two states take turns.
typedef struct SimStates {
    size_t steps, segment, segments, state_bytes, total_bytes;
    size_t in_trajectory; // the segment that lies there
    bool has_total;       // forces of one step are kept without a gradient, too
    char *start, *trajectory, *totals;
} SimStates;

struct SimOnDevice;

struct Sim {
    SimModel model; // its arrays are the simulator's own
    SimOptions options;
    const SimBackend *backend;
    struct SimOnDevice *on_device; // sim/on_device.h; NULL: this process' own threads work
    int threads;
    Arena memory, run_memory; // kept from the first sim_set on; of a rollout
    SimTopology topology;
    SimPacked packed;
    double (*planes)[4];
    double *mass, *rest;               // as given to sim_set: (B,N), (B,N,3)
    size_t (*chunks)[2], (*blocks)[2]; // (threads) first and last of each thread
    void *slots, *force, *drive, *control[SIM_KINDS];
    double *driven;    // (C,B,N,3) where fixed particles are at the start of a control interval
    uint64_t rollouts; // so far
    SimStates states;
    SimBack back; // gradients, once sim_adjoint has run
    size_t peak;
};

// Number i of a packed array, in the solver's precision.
static inline void sim_put(const Sim *sim, void *array, size_t i, double value) {
    if (sim->backend->real_bytes == 8) ((double *)array)[i] = value;
    else ((float *)array)[i] = (float)value;
}
static inline double sim_get(const Sim *sim, const void *array, size_t i) {
    return sim->backend->real_bytes == 8 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

// Where field f of row i lies in blocks of structs of `fields` vectors.
static inline size_t sim_field(const Sim *sim, size_t fields, size_t f, size_t i) {
    const size_t lanes = sim->topology.lanes;
    return (i / lanes * fields + f) * lanes + i % lanes;
}

static inline char *sim_state(const SimStates *s, size_t n) {
    if (!s->segments) return s->trajectory + n % 2 * s->state_bytes;
    return n % s->segment == 0 ? s->start + n / s->segment * s->state_bytes
                               : s->trajectory + (n - 1) % s->segment * s->state_bytes;
}

#endif
