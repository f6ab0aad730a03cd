// SPDX-License-Identifier: Apache-2.0
// Ring features of one sample and their derivative, vectorised over neighbours and over features.
#ifndef VPD_RENDERER_CPU_RING_FEATURES_H
#define VPD_RENDERER_CPU_RING_FEATURES_H

#include "nn/cpu/lanes.h"
#include "renderer/cpu/fast_math.h"
#include "renderer/elements.h" // after fast_math.h, which chooses the exp
#include "renderer/shade.h"

// Ring features of a sample, kept for the derivative. Entries from `count` to the next multiple of LANES
// have u = 1.
typedef struct Rings {
    int count; // neighbours
    int32_t particle[RENDERER_MAX_NEIGHBOURS];
    real dx[RENDERER_MAX_NEIGHBOURS], dy[RENDERER_MAX_NEIGHBOURS], dz[RENDERER_MAX_NEIGHBOURS]; // sample - particle
    real inverse_R2[RENDERER_MAX_NEIGHBOURS];
    real u[RENDERER_MAX_NEIGHBOURS], cut[RENDERER_MAX_NEIGHBOURS], cut_slope[RENDERER_MAX_NEIGHBOURS];
    real ring[RENDERER_RINGS][RENDERER_MAX_NEIGHBOURS]; // exp(-((u - rho)/sigma)^2)
    real w[RENDERER_RINGS][RENDERER_MAX_NEIGHBOURS];    // ring cut
    real sum[RENDERER_RINGS];                           // of w
    real cuts;                                          // sum of cuts
} Rings;

static inline int padded_count(int count) { return (count + LANES - 1) / LANES * LANES; }

static inline Lanes load_lanes(const real *p, size_t n) {
    Lanes v = {0};
    if (n >= LANES) memcpy(&v, p, sizeof v);
    else memcpy(&v, p, n * sizeof *p);
    return v;
}

static inline void store_lanes(real *p, size_t n, Lanes v) {
    if (n >= LANES) memcpy(p, &v, sizeof v);
    else memcpy(p, &v, n * sizeof *p);
}

// a * b + c
static inline Lanes lanes_multiply_add(Lanes a, Lanes b, Lanes c) {
#if defined(__FMA__) && !defined(VPD_DOUBLE)
    return (Lanes)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
    return a * b + c;
#endif
}

static inline real sum_lanes(Lanes v) { return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7])); }

// Offsets of sample s to its neighbours.
static inline void gather_neighbours(const ShadeArgs *a, size_t s, Rings *r) {
    const int32_t *list = a->neighbour + s * (size_t)a->neighbours;
    const real *o = a->origin + 3 * (size_t)a->ray[s], *d = a->direction + 3 * (size_t)a->ray[s];
    real q[3];
    for (int c = 0; c < 3; c++) q[c] = element_along(o[c], a->z[s], d[c]);
    int count = 0;
    for (; count < a->neighbours && list[count] >= 0; count++) {
        const real *x = a->x + 3 * (size_t)list[count];
        r->particle[count] = list[count];
        r->dx[count] = q[0] - x[0];
        r->dy[count] = q[1] - x[1];
        r->dz[count] = q[2] - x[2];
        r->inverse_R2[count] = element_inverse_R2(a->R[list[count]]);
    }
    r->count = count;
    for (int i = count; i < padded_count(count); i++) {
        r->dx[i] = r->inverse_R2[i] = 1;
        r->dy[i] = r->dz[i] = 0;
    }
}

static inline void ring_weights(Rings *r) {
    Lanes sum[RENDERER_RINGS] = {{0}}, cuts = {0};
    for (int b = 0; b < r->count; b += LANES) {
        VECTOR_LOOP
        for (int i = b; i < b + LANES; i++) {
            real u2 = element_u2(r->dx[i], r->dy[i], r->dz[i], r->inverse_R2[i]);
            r->u[i] = real_sqrt(u2);
            r->cut[i] = element_cut(u2);
            r->cut_slope[i] = element_cut_slope(r->u[i], u2);
        }
        cuts += lanes_load(r->cut + b);
        for (int k = 0; k < RENDERER_RINGS; k++) {
            VECTOR_LOOP
            for (int i = b; i < b + LANES; i++) {
                r->ring[k][i] = element_ring(r->u[i], (real)k * RING_SPACING);
                r->w[k][i] = r->ring[k][i] * r->cut[i];
            }
            sum[k] += lanes_load(r->w[k] + b);
        }
    }
    r->cuts = sum_lanes(cuts); // entries behind `count` have no cut
    for (int k = 0; k < RENDERER_RINGS; k++) r->sum[k] = sum_lanes(sum[k]);
}

// in = [a_0 .. a_3], features block by block: a_k = sum_i w_ik f_i / (0.01 + sum_i w_ik).
static inline void ring_means(const ShadeArgs *a, const Rings *r, real *in) {
    size_t D = a->features;
    real scale[RENDERER_RINGS];
    for (int k = 0; k < RENDERER_RINGS; k++) scale[k] = 1 / (RING_MEAN_OFFSET + r->sum[k]);
    for (size_t first = 0; first < D; first += LANES) {
        Lanes sum[RENDERER_RINGS] = {{0}};
        for (int i = 0; i < r->count; i++) {
            Lanes f = load_lanes(a->f + (size_t)r->particle[i] * D + first, D - first);
            for (int k = 0; k < RENDERER_RINGS; k++) sum[k] = lanes_multiply_add(f, lanes_all(r->w[k][i]), sum[k]);
        }
        for (int k = 0; k < RENDERER_RINGS; k++) store_lanes(in + (size_t)k * D + first, D - first, sum[k] * scale[k]);
    }
}

// t[k] = sum_d g_kd f_d of particle `p`.
static inline void feature_products(const ShadeArgs *a, int32_t p, const real *g, real t[RENDERER_RINGS]) {
    size_t D = a->features;
    Lanes sum[RENDERER_RINGS] = {{0}};
    for (size_t first = 0; first < D; first += LANES) {
        Lanes f = load_lanes(a->f + (size_t)p * D + first, D - first);
        for (int k = 0; k < RENDERER_RINGS; k++)
            sum[k] = lanes_multiply_add(f, load_lanes(g + (size_t)k * D + first, D - first), sum[k]);
    }
    for (int k = 0; k < RENDERER_RINGS; k++) t[k] = sum_lanes(sum[k]);
}

// From g_k = (dL/da_k) / (0.01 + sum w_k), the means a, dL/dlog_k and dL/dcuts: the weights w_ik (count x 4) and
// dL/dx_i (count x 3).
static inline void ring_backward(const ShadeArgs *a, const Rings *r, const real *g, const real *means, const real *dlog,
                                 real dcuts, real *w, real *dx) {
    size_t D = a->features;
    real own[RENDERER_RINGS]; // effect of a weight beside its own feature
    for (int k = 0; k < RENDERER_RINGS; k++) {
        own[k] = dlog[k] / (1 + r->sum[k]);
        for (size_t d = 0; d < D; d++) own[k] -= g[(size_t)k * D + d] * means[(size_t)k * D + d];
    }
    for (int i = 0; i < r->count; i++) {
        real t[RENDERER_RINGS], du = dcuts * r->cut_slope[i];
        feature_products(a, r->particle[i], g, t);
        for (int k = 0; k < RENDERER_RINGS; k++) {
            real rho = (real)k * RING_SPACING;
            w[4 * i + k] = r->w[k][i];
            du += (t[k] + own[k]) * element_ring_weight_slope(r->u[i], rho, r->ring[k][i], r->cut[i], r->cut_slope[i]);
        }
        // d u / d x = -(q - x) / (u R^2)
        real factor = -du * r->inverse_R2[i] / r->u[i];
        dx[3 * i] = factor * r->dx[i];
        dx[3 * i + 1] = factor * r->dy[i];
        dx[3 * i + 2] = factor * r->dz[i];
    }
}

#endif
