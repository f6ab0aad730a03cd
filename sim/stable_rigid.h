// SPDX-License-Identifier: Apache-2.0
// The part of sim_stable_step that looks at rigid bodies.
#ifndef VPD_SIM_STABLE_RIGID_H
#define VPD_SIM_STABLE_RIGID_H

#include "sim/sim.h"

// Of one scene's particles. Rates: what acts on each, stiffness in N/m along the normal of what it touches, damping in
// N s/m in any direction. Springs act along themselves; hinges have N m/rad and N m s/rad, and act on their angle;
// slides act on their position; sockets have N m/rad and N m s/rad against any turning, and across their axis.
typedef struct SimRigidLoad {
    const double *place, *mass;                    // (N,3) metres, (N) kg
    const double *stiffness, *damping;             // (N) of contact
    const double *spring[2], *hinge[2], *slide[2]; // k_e and k_d (springs), (hinges), (slides); may be NULL
    const double *socket[2], *swing[2];            // k_e and k_d (sockets): in all, and across alone
    const double *low, *high, *stop_k_e;           // (slides) metres, N/m: limits; may be NULL
    int32_t *members, *touching;                   // (N): scratch
    int32_t *held, *bent, *slid, *turned;          // (springs), (hinges), (slides), (sockets): scratch
} SimRigidLoad;

// Bounds of the largest eigenvalues of M^-1 K and M^-1 C of a rigid body, in 1/s2 and 1/s, where all particles in the
// plane of one of its faces touch something: of that face where they are largest, of at most 2,000 faces spread evenly
// over all. Without faces, all of its particles touch. To these come those of its springs, hinges, slides and sockets,
// twice where what is at their other side moves. Slides are taken at that of their limits where they turn the body with
// the longer lever, without limits in the rest pose.
void sim_rigid_rates(const SimModel *model, size_t rigid, const SimRigidLoad *load, double out[2]);

#endif
