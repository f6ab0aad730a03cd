// SPDX-License-Identifier: Apache-2.0
// The mathematics of one element of the renderer, each function beside its derivative (docs/model.md, "Renderer").
// Compiles as C and as CUDA; no branches where the CPU vectorises. Operation order is part of the contract: neighbour
// lists are the same on every back end (compile with -ffp-contract=off, --fmad=false).
#ifndef VPD_RENDERER_ELEMENTS_H
#define VPD_RENDERER_ELEMENTS_H

#include "nn/element.h"

// The CPU's ops put a vectorisable exp here before they include this file.
#ifndef ELEMENT_EXP
#define ELEMENT_EXP real_exp
#endif
#ifndef ELEMENT_LOG
#define ELEMENT_LOG real_log
#endif

enum { RENDERER_RINGS = 4, RENDERER_MAX_NEIGHBOURS = 64 };

#define RING_SPACING ((real)0.25)     // rho_k = k / 4
#define RING_SHARPNESS ((real)16)     // 1 / sigma^2, sigma = 1/4
#define RING_MEAN_OFFSET ((real)0.01) // a_k = sum w f / (0.01 + sum w)
#define SAMPLE_SPACING 0.4            // delta / r
#define DISTANCE_OFFSET ((real)1e-12) // |d| = sqrt(d^2 + 1e-12)
#ifdef VPD_DOUBLE
#define LARGEST_U2 (1 - 0x1p-53) // u^2 < 1 is u^2 <= this
#else
#define LARGEST_U2 (1 - 0x1p-24f)
#endif
#define SMALLEST_OPACITY ((real)1e-6) // in the division of depth

// Where samples stand: z_j = (j + xi) step with step = delta / |d|, q = o + z d.
ELEMENT real element_sample_z(long j, real xi, real step) { return ((real)j + xi) * step; }
ELEMENT real element_along(real o, real z, real d) { return o + z * d; }

// u^2 of a particle for the offset (dx,dy,dz) from it to the sample; neighbours have u^2 < 1. A macro: vectors go
// through it too.
#define ELEMENT_U2(dx, dy, dz, inverse_R2)                                                                             \
    (((((dx) * (dx) + (dy) * (dy)) + (dz) * (dz)) + DISTANCE_OFFSET) * (inverse_R2))
ELEMENT real element_u2(real dx, real dy, real dz, real inverse_R2) { return ELEMENT_U2(dx, dy, dz, inverse_R2); }
ELEMENT real element_inverse_R2(real R) { return 1 / (R * R); }

// cut(u) = (1 - u^2)^2 below u = 1, else 0.
ELEMENT real element_cut(real u2) {
    real inside = 1 - u2;
    inside = inside > 0 ? inside : 0;
    return inside * inside;
}
ELEMENT real element_cut_slope(real u, real u2) { // d cut / du
    real inside = 1 - u2;
    inside = inside > 0 ? inside : 0;
    return -4 * u * inside;
}

// exp(-((u - rho)/sigma)^2); w = that times cut.
ELEMENT real element_ring(real u, real rho) {
    real off = u - rho;
    return ELEMENT_EXP(-RING_SHARPNESS * off * off);
}
ELEMENT real element_ring_weight_slope(real u, real rho, real ring, real cut, real cut_slope) { // d (ring cut) / du
    return ring * (cut_slope - 2 * RING_SHARPNESS * (u - rho) * cut);
}

ELEMENT real element_sigmoid(real x) { return 1 / (1 + ELEMENT_EXP(-x)); } // slope s (1 - s)
// log(1 + exp(x)); its slope is the sigmoid.
ELEMENT real element_softplus(real x) {
    real size = x > 0 ? x : -x;
    return (x > 0 ? x : 0) + ELEMENT_LOG(1 + ELEMENT_EXP(-size));
}

// density = softplus(raw) (4 / r) (1 - exp(-4 cuts)), cuts = sum of cut(u_i).
ELEMENT real element_presence(real cuts) { return 1 - ELEMENT_EXP(-4 * cuts); }
ELEMENT real element_presence_slope(real cuts) { return 4 * ELEMENT_EXP(-4 * cuts); }

// alpha = 1 - exp(-density delta).
ELEMENT real element_alpha(real density, real delta) {
#ifdef VPD_DOUBLE
    return -expm1(-density * delta);
#else
    return -expm1f(-density * delta);
#endif
}
// One compositing step: what a sample adds to its pixel is weighted by T_j alpha_j; T_{j+1} = T_j (1 - alpha_j).
// With v_j the derivative of the loss in that weight, the loss changes with tau_j = density_j delta by
//   v_j T_{j+1} - behind_j,  behind_j = sum_{i>j} v_i weight_i + v_end T_end: what a denser sample j hides.
ELEMENT real element_tau_slope(real v, real T_next, real behind) { return v * T_next - behind; }

#endif
