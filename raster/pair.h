// SPDX-License-Identifier: Apache-2.0
// What one sample sees of one face, and the derivatives (docs/rasterisers.md). Compiles as C and as CUDA.
#ifndef VPD_RASTER_PAIR_H
#define VPD_RASTER_PAIR_H

#include "raster/wide.h"

// A face on the screen. Edge e goes from corner e to corner e + 1.
typedef struct PairFace {
    real x[3], y[3], r[3]; // corners in NDC, 1/depth
    real ex[3], ey[3];     // edges
    real inverse[3];       // 1 / length^2 of the edges
    real gx[3], gy[3];     // gradient of weight i over the screen
    real slack;            // the weights' rounding error, twice
} PairFace;

#ifdef VPD_DOUBLE
#define PAIR_ROUNDING 0x1p-52
#else
#define PAIR_ROUNDING 0x1p-23
#endif

// Constants of a face whose area on the screen is not 0; place is (3,3): x, y, r.
ELEMENT void pair_face(const double *place, PairFace *f) {
    double area = (place[3] - place[0]) * (place[7] - place[1]) - (place[6] - place[0]) * (place[4] - place[1]);
    double longest = 0;
    for (int e = 0; e < 3; e++) {
        int b = (e + 1) % 3, opposite = (e + 2) % 3;
        double ex = place[3 * b] - place[3 * e], ey = place[3 * b + 1] - place[3 * e + 1];
        double length2 = ex * ex + ey * ey;
        longest = length2 > longest ? length2 : longest;
        f->x[e] = (real)place[3 * e], f->y[e] = (real)place[3 * e + 1], f->r[e] = (real)place[3 * e + 2];
        f->ex[e] = (real)ex, f->ey[e] = (real)ey;
        f->inverse[e] = (real)(1 / length2);
        f->gx[opposite] = (real)(-ey / area), f->gy[opposite] = (real)(ex / area);
    }
    f->slack = (real)(8 * PAIR_ROUNDING * longest / (area < 0 ? -area : area));
}

// The point of the face that is nearest to the sample: the sample itself, or a point of an edge.
typedef struct Pair {
    Wide w[3];       // its weights on the screen
    Wide edge[3];    // weights of the nearest point of the edges
    Wide qx, qy, d2; // from there to the sample, and its square
    WideMask inside;
    Wide slope[2], inverse; // of the nearest edge, e / |e|^2 and 1 / |e|^2; 0 if the nearest point is a corner
    Wide sign[3];           // -1 at its start, 1 at its end
} Pair;

ELEMENT void pair_locate(const PairFace *f, Wide px, Wide py, Pair *p) {
    const Wide zero = wide_all(0), one = wide_all(1);
    p->d2 = wide_all((real)1e30);
    p->qx = p->qy = p->slope[0] = p->slope[1] = p->inverse = zero;
    for (int i = 0; i < 3; i++) p->edge[i] = p->sign[i] = zero;
    for (int e = 0; e < 3; e++) {
        int b = (e + 1) % 3, o = (e + 2) % 3;
        Wide ax = px - f->x[e], ay = py - f->y[e];
        Wide along = (ax * f->ex[e] + ay * f->ey[e]) * f->inverse[e];
        Wide t = wide_min(wide_max(along, zero), one);
        Wide qx = ax - t * f->ex[e], qy = ay - t * f->ey[e], d2 = qx * qx + qy * qy;
        WideMask nearer = d2 < p->d2;
        Wide inverse = wide_select((along > zero) & (along < one), wide_all(f->inverse[e]), zero);
        p->w[o] = ax * f->gx[o] + ay * f->gy[o];
        p->d2 = wide_select(nearer, d2, p->d2);
        p->qx = wide_select(nearer, qx, p->qx), p->qy = wide_select(nearer, qy, p->qy);
        p->edge[e] = wide_select(nearer, one - t, p->edge[e]), p->edge[b] = wide_select(nearer, t, p->edge[b]);
        p->edge[o] = wide_select(nearer, zero, p->edge[o]);
        p->sign[e] = wide_select(nearer, -one, p->sign[e]), p->sign[b] = wide_select(nearer, one, p->sign[b]);
        p->sign[o] = wide_select(nearer, zero, p->sign[o]);
        p->inverse = wide_select(nearer, inverse, p->inverse);
        p->slope[0] = wide_select(nearer, inverse * f->ex[e], p->slope[0]);
        p->slope[1] = wide_select(nearer, inverse * f->ey[e], p->slope[1]);
    }
    p->inside = (p->w[0] >= zero) & (p->w[1] >= zero) & (p->w[2] >= zero);
    for (int i = 0; i < 3; i++) p->w[i] = wide_select(p->inside, p->w[i], p->edge[i]);
}

// From dLoss/d(w, d2): adds dLoss/d(x, y of the corners) to gx, gy. Inside, w_i changes by -grad w_i . sum w_m dx_m; on
// an edge a + t e with q = sample - (a + t e): d t / da = -((1 - t) e + q) / |e|^2, d t / db = (q - t e) / |e|^2.
ELEMENT void pair_locate_back(const PairFace *f, const Pair *p, const Wide gw[3], Wide gd2, Wide gx[3], Wide gy[3]) {
    const Wide zero = wide_all(0);
    Wide t = gw[0] * p->sign[0] + gw[1] * p->sign[1] + gw[2] * p->sign[2];
    Wide hx = wide_select(p->inside, gw[0] * f->gx[0] + gw[1] * f->gx[1] + gw[2] * f->gx[2], t * p->slope[0]);
    Wide hy = wide_select(p->inside, gw[0] * f->gy[0] + gw[1] * f->gy[1] + gw[2] * f->gy[2], t * p->slope[1]);
    Wide k = wide_select(p->inside, zero, t * p->inverse), twice = gd2 + gd2;
    for (int m = 0; m < 3; m++) {
        Wide along = k * p->sign[m] - twice * p->edge[m];
        gx[m] += along * p->qx - p->w[m] * hx;
        gy[m] += along * p->qy - p->w[m] * hy;
    }
}

// Depth z there, and weights b on the face itself (perspective): z = 1 / sum w r, b_i = w_i r_i z.
ELEMENT Wide pair_depth(const PairFace *f, const Wide w[3], Wide b[3]) {
    Wide z = 1 / (w[0] * f->r[0] + w[1] * f->r[1] + w[2] * f->r[2]);
    for (int i = 0; i < 3; i++) b[i] = w[i] * f->r[i] * z;
    return z;
}

// From dLoss/d(z, b): dLoss/dw to gw, dLoss/dr added to gr.
ELEMENT void pair_depth_back(const PairFace *f, const Wide w[3], const Wide b[3], Wide z, Wide gz, const Wide gb[3],
                             Wide gw[3], Wide gr[3]) {
    Wide mean = gb[0] * b[0] + gb[1] * b[1] + gb[2] * b[2] + z * gz;
    for (int i = 0; i < 3; i++) {
        Wide h = z * (gb[i] - mean);
        gw[i] = h * f->r[i];
        gr[i] += h * w[i];
    }
}

// SoftRas: D = sigmoid(+-d2 / sigma) in *d, and 1 - D; + inside.
ELEMENT Wide pair_soft(const Pair *p, real inverse_sigma, Wide *rest) {
    Wide u = wide_exp(-p->d2 * inverse_sigma), large = 1 / (1 + u), small = u * large;
    *rest = wide_select(p->inside, small, large);
    return wide_select(p->inside, large, small);
}

// One more face for the colour of a sample: a sum of weights D exp(l) and of weighted colours, both divided by the
// exponential of the largest l so far.
typedef struct SoftSum {
    Wide most, sum, colour[3], clear; // clear: product of 1 - D
} SoftSum;

ELEMENT void soft_sum_add(SoftSum *s, Wide d, Wide rest, Wide l, const Wide colour[3]) {
    const Wide one = wide_all(1);
    Wide gap = l - s->most, u = wide_exp(wide_min(gap, -gap));
    WideMask front = gap > wide_all(0);
    Wide keep = wide_select(front, u, one), weight = d * wide_select(front, one, u);
    s->most = wide_max(s->most, l);
    s->sum = s->sum * keep + weight;
    for (int c = 0; c < 3; c++) s->colour[c] = s->colour[c] * keep + weight * colour[c];
    s->clear = s->clear * rest;
}

// From the finished sums (colour divided by sum) and dLoss/d(colour, alpha): dLoss/d(l, d2, colour of this face).
ELEMENT void soft_sum_back(const SoftSum *s, const Pair *p, Wide d, Wide rest, Wide l, const Wide colour[3],
                           real inverse_sigma, const Wide gc[3], Wide ga, Wide *gl, Wide *gd2, Wide face_gc[3]) {
    Wide share = d * wide_exp(wide_min(l - s->most, wide_all(1))) / s->sum, gain = wide_all(0);
    for (int c = 0; c < 3; c++) {
        gain += gc[c] * (colour[c] - s->colour[c]);
        face_gc[c] = share * gc[c];
    }
    *gl = share * gain;
    Wide slope = (share * rest * gain + s->clear * d * ga) * inverse_sigma;
    *gd2 = wide_select(p->inside, slope, -slope);
}

#endif
