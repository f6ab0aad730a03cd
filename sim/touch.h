// SPDX-License-Identifier: Apache-2.0
// Contact of a particle with a triangle of another body, or of two edges that cross, and its adjoint, for single
// numbers (not for vectors of them). Corner 0 of the arrays is the particle; 1, 2, 3 are the triangle's. Its nearest
// point has the weights b, so that
//   away = x0 - sum b_j x_j, v = v0 - sum b_j v_j, n = away/|away| (of a face: its own normal), gap = n.away,
//   depth = margin - gap;
// the particle feels the force f of sim/contact.h, and corner j feels -b_j f. Momentum never changes, and angular
// momentum only by the moment of friction, whose arm is `away`.
//
// Of edges, corners 0 and 3 are the ends of one, a and b, and corners 1 and 2 those of the other, c and d. Their lines
// are nearest to each other at a + s (b - a) and c + t (d - c), between which are `away` and v. So the weights are
// {s - 1, 1 - t, t, -s}, where a particle has -1 and b, and n is (b - a) x (d - c) of length 1, with the sign `side`.
#ifndef VPD_SIM_TOUCH_H
#define VPD_SIM_TOUCH_H

#include "sim/contact.h"

#ifdef SIM_LANES
#error "sim/touch.h is for single numbers"
#endif

enum { SIM_TOUCH_FACE = 7, SIM_TOUCH_EDGES = 8 };

// Corners between which the point of a triangle lies that is nearest to x: bit j for corner j, so 7 is inside the
// triangle, two bits are an edge and one a corner. *square is the squared distance from a point of the triangle, so it
// may be too large by rounding, and too small only by its own. (Ericson, Real-Time Collision Detection, 2004, section
// 5.1.5, with cross products, which stay exact in thin triangles.) Where rounding hides the area, the longest edge
// stands for the triangle.
SIM_ELEMENT int sim_touch_nearest(const real x[3], const real a[3], const real b[3], const real c[3], real *square) {
    const real thin = sizeof(real) == 8 ? NUM(1e-15) : NUM(1e-6); // squared sine of the angle at a
    real ab[3], ac[3], bc[3], ap[3], bp[3], cp[3], normal[3], turned[3], from[3];
    num_sub(b, a, ab);
    num_sub(c, a, ac);
    num_sub(c, b, bc);
    num_sub(x, a, ap);
    num_sub(x, b, bp);
    num_sub(x, c, cp);
    num_cross(ab, ac, normal);
    num_cross(normal, ap, turned);
    const real d1 = num_dot(ab, ap), d2 = num_dot(ac, ap), d3 = num_dot(ab, bp), d4 = num_dot(ac, bp),
               d5 = num_dot(ab, cp), d6 = num_dot(ac, cp);
    const real ab2 = num_dot(ab, ab), ac2 = num_dot(ac, ac), bc2 = num_dot(bc, bc), area = num_dot(normal, normal),
               vb = num_dot(turned, ac), vc = -num_dot(turned, ab), va = area - vb - vc;
    real weight[2] = {0, 0};
    const bool flat = !(area > thin * ab2 * ac2),
               inside = !flat && num_min(va, num_min(vb, vc)) >= area * (sizeof(real) == 8 ? NUM(-1e-14) : NUM(-1e-6));
    int on = SIM_TOUCH_FACE;
    if (inside) on = SIM_TOUCH_FACE; // and over its edges: where faces go on flat, the normal does not turn there
    else if (d1 <= 0 && d2 <= 0) on = 1;
    else if (d3 >= 0 && d4 <= d3) on = 2;
    else if (d6 >= 0 && d5 <= d6) on = 4;
    else if (flat) on = ab2 >= ac2 && ab2 >= bc2 ? 3 : ac2 >= bc2 ? 5 : 6;
    else if (vc <= 0 && d1 >= 0 && d3 <= 0) on = 3;
    else if (vb <= 0 && d2 >= 0 && d6 <= 0) on = 5;
    else if (va <= 0 && d4 >= d3 && d5 >= d6) on = 6;
    if (on == 3 || on == 5 || on == 6) {
        const real t = on == 3 ? d1 / ab2 : on == 5 ? d2 / ac2 : num_dot(bc, bp) / bc2;
        if (t <= 0) on &= -on; // its first corner
        else if (t >= 1) on &= on - 1;
        else if (on == 6) weight[0] = 1 - t, weight[1] = t;
        else weight[on == 5] = t;
    }
    if (on == SIM_TOUCH_FACE) {
        const real over = 1 / (num_max(va, NUM(0)) + num_max(vb, NUM(0)) + num_max(vc, NUM(0)));
        weight[0] = num_max(vb, NUM(0)) * over, weight[1] = num_max(vc, NUM(0)) * over;
    }
    for (int i = 0; i < 3; i++)
        from[i] = on == 2 ? bp[i] : on == 4 ? cp[i] : ap[i] - (weight[0] * ab[i] + weight[1] * ac[i]);
    *square = num_dot(from, from);
    return on;
}

// The nearest points as differentiable functions of the corners that they lie between.
typedef struct SimTouchPoint {
    int base, other[2], edges;   // the first corner, and those at the ends of `edges` edges from it
    real edge[2][3], inverse[3]; // inverse of the edges' products: 00, 01, 11
    real from[3], away[3];       // of the particle, from the base and from the nearest point
    real t[2], weight[4];        // away = from - sum t edge; weight[1 + j] = b_j
    real normal[3], over, gap;   // normal = over * (edge 0 x edge 1, of a face) or over * away
} SimTouchPoint;

// Of two edges: edge 0 is b - a, edge 1 is d - c, from = a - c, and away = from + t[0] edge 0 - t[1] edge 1.
SIM_ELEMENT void sim_touch_crossing(real side, const real x[4][3], SimTouchPoint *p) {
    real across[3], turned[3];
    num_sub(x[3], x[0], p->edge[0]);
    num_sub(x[2], x[1], p->edge[1]);
    num_sub(x[0], x[1], p->from);
    num_cross(p->edge[0], p->edge[1], across);
    const real square = num_max(num_dot(across, across), NUM(1e-30)), over = 1 / square;
    p->inverse[0] = num_dot(p->edge[1], p->edge[1]) * over;
    p->inverse[1] = num_dot(p->edge[0], p->edge[1]) * over;
    p->inverse[2] = num_dot(p->edge[0], p->edge[0]) * over;
    for (int k = 0; k < 2; k++) {
        num_cross(p->edge[1 - k], p->from, turned);
        p->t[k] = num_dot(turned, across) * over;
    }
    p->over = side / num_sqrt(square);
    for (int i = 0; i < 3; i++) {
        p->normal[i] = p->over * across[i];
        p->away[i] = p->from[i] + p->t[0] * p->edge[0][i] - p->t[1] * p->edge[1][i];
    }
    p->gap = num_dot(p->normal, p->from);
    p->weight[0] = p->t[0] - 1, p->weight[3] = -p->t[0];
    p->weight[1] = 1 - p->t[1], p->weight[2] = p->t[1];
}

// side: 1; or -1 where the particle is behind a face that has no inside, or inside at an edge or a corner.
SIM_ELEMENT void sim_touch_point(int on, real side, const real x[4][3], SimTouchPoint *p) {
    real direction[3] = {0, 0, 0};
    if (on == SIM_TOUCH_EDGES) {
        sim_touch_crossing(side, x, p);
        return;
    }
    p->base = on & 1 ? 1 : on & 2 ? 2 : 3;
    p->edges = 0;
    p->t[0] = p->t[1] = 0;
    for (int j = p->base + 1; j < 4; j++)
        if (on & 1 << (j - 1)) {
            p->other[p->edges] = j;
            num_sub(x[j], x[p->base], p->edge[p->edges++]);
        }
    num_sub(x[0], x[p->base], p->from);
    if (p->edges == 1) {
        p->inverse[0] = 1 / num_dot(p->edge[0], p->edge[0]);
        p->t[0] = p->inverse[0] * num_dot(p->edge[0], p->from);
    } else if (p->edges == 2) {
        const real m00 = num_dot(p->edge[0], p->edge[0]), m01 = num_dot(p->edge[0], p->edge[1]),
                   m11 = num_dot(p->edge[1], p->edge[1]);
        real turned[3];
        num_cross(p->edge[0], p->edge[1], direction);
        num_cross(direction, p->from, turned);
        const real over = 1 / num_dot(direction, direction);
        p->inverse[0] = m11 * over, p->inverse[1] = -m01 * over, p->inverse[2] = m00 * over;
        p->t[0] = num_dot(turned, p->edge[1]) * over;
        p->t[1] = -num_dot(turned, p->edge[0]) * over;
    }
    for (int i = 0; i < 3; i++) p->away[i] = p->from[i], p->weight[1 + i] = 0;
    p->weight[0] = -1;
    p->weight[p->base] = 1 - p->t[0] - p->t[1];
    for (int k = 0; k < p->edges; k++) {
        num_add_scaled(-p->t[k], p->edge[k], p->away);
        p->weight[p->other[k]] = p->t[k];
    }
    for (int i = 0; i < 3 && p->edges < 2; i++) direction[i] = p->away[i];
    p->over = side / num_max(num_sqrt(num_dot(direction, direction)), NUM(1e-30));
    for (int i = 0; i < 3; i++) p->normal[i] = p->over * direction[i];
    p->gap = num_dot(p->normal, p->edges == 2 ? p->from : p->away);
}

// The part of the particle, or of the first edge's point, less that of the nearest point.
SIM_ELEMENT void sim_touch_between(const SimTouchPoint *p, const real of[4][3], real out[3]) {
    for (int i = 0; i < 3; i++) out[i] = of[0][i];
    num_add_scaled(-1 - p->weight[0], of[0], out); // 0 of a particle
    for (int j = 1; j < 4; j++) num_add_scaled(-p->weight[j], of[j], out);
}

// Writes the four forces.
SIM_ELEMENT void sim_touch_force(const SimContact *c, int on, real side, const real x[4][3], const real v[4][3],
                                 real f[4][3]) {
    SimTouchPoint p;
    real between[3], force[3] = {0, 0, 0};
    sim_touch_point(on, side, x, &p);
    sim_touch_between(&p, v, between);
    sim_contact_force(c, p.normal, c->margin - p.gap, between, force);
    for (int j = 0; j < 4; j++)
        for (int i = 0; i < 3; i++) f[j][i] = -p.weight[j] * force[i];
}

// From dLoss/d(weights, normal, gap) to those of the positions. g_weight has those of weight[1..3].
SIM_ELEMENT void sim_touch_positions(const SimTouchPoint *p, const real g_weight[4], real gn[3], real g_gap,
                                     real gx[4][3]) {
    real g_from[3] = {0, 0, 0}, g_away[3] = {0, 0, 0}, g_edge[2][3] = {{0, 0, 0}, {0, 0, 0}}, across[3], r[2], y[2];
    if (p->edges == 2) num_add_scaled(g_gap, p->from, gn);
    const real along = num_dot(p->normal, gn);
    for (int i = 0; i < 3; i++) across[i] = p->over * (gn[i] - along * p->normal[i]);
    if (p->edges == 2) {
        num_add_scaled(g_gap, p->normal, g_from);
        num_add_cross(p->edge[1], across, g_edge[0]);
        num_add_cross(across, p->edge[0], g_edge[1]);
    } else {
        num_add_scaled(g_gap, p->normal, g_away);
        num_add_scaled(1, across, g_away);
    }
    // t is where |from - sum t edge| is least: implicit differentiation.
    for (int k = 0; k < p->edges; k++) r[k] = g_weight[p->other[k]] - g_weight[p->base] - num_dot(p->edge[k], g_away);
    if (p->edges == 1) y[0] = p->inverse[0] * r[0];
    if (p->edges == 2)
        y[0] = p->inverse[0] * r[0] + p->inverse[1] * r[1], y[1] = p->inverse[1] * r[0] + p->inverse[2] * r[1];
    for (int k = 0; k < p->edges; k++) num_add_scaled(y[k], p->edge[k], g_away);
    num_add_scaled(1, g_away, g_from);
    for (int i = 0; i < 3; i++) {
        gx[0][i] = g_from[i];
        for (int j = 1; j < 4; j++) gx[j][i] = 0;
        gx[p->base][i] = -g_from[i];
        for (int k = 0; k < p->edges; k++) {
            const real g = g_edge[k][i] - g_away[i] * p->t[k] + y[k] * p->away[i];
            gx[p->other[k]][i] = g;
            gx[p->base][i] -= g;
        }
    }
}

// The same of two edges; g_weight has those of all weights.
SIM_ELEMENT void sim_touch_crossing_positions(const SimTouchPoint *p, const real g_weight[4], real gn[3], real g_gap,
                                              real gx[4][3]) {
    real g_from[3] = {0, 0, 0}, g_edge[2][3] = {{0, 0, 0}, {0, 0, 0}}, across[3];
    const real r[2] = {g_weight[0] - g_weight[3], g_weight[2] - g_weight[1]},
               y[2] = {p->inverse[0] * r[0] + p->inverse[1] * r[1], p->inverse[1] * r[0] + p->inverse[2] * r[1]};
    num_add_scaled(g_gap, p->from, gn);
    const real along = num_dot(p->normal, gn);
    for (int i = 0; i < 3; i++) across[i] = p->over * (gn[i] - along * p->normal[i]);
    num_add_cross(p->edge[1], across, g_edge[0]);
    num_add_cross(across, p->edge[0], g_edge[1]);
    for (int i = 0; i < 3; i++) { // the points are where |away| is least: implicit differentiation
        const real g_points = y[1] * p->edge[1][i] - y[0] * p->edge[0][i];
        g_from[i] = g_gap * p->normal[i] + g_points;
        g_edge[0][i] += p->t[0] * g_points - y[0] * p->away[i];
        g_edge[1][i] += y[1] * p->away[i] - p->t[1] * g_points;
    }
    for (int i = 0; i < 3; i++) {
        gx[0][i] = g_from[i] - g_edge[0][i];
        gx[3][i] = g_edge[0][i];
        gx[1][i] = -g_from[i] - g_edge[1][i];
        gx[2][i] = g_edge[1][i];
    }
}

// w = dLoss/df of the four; writes dLoss/dx and dLoss/dv, and adds to dLoss/d(k_e, k_d, k_f, mu).
SIM_ELEMENT void sim_touch_adjoint(const SimContact *c, int on, real side, const real x[4][3], const real v[4][3],
                                   const real w[4][3], real gx[4][3], real gv[4][3], SimContact *gradient) {
    SimTouchPoint p;
    real between[3], of_force[3], force[3] = {0, 0, 0}, g_between[3] = {0, 0, 0}, gn[3], g_depth, g_weight[4];
    sim_touch_point(on, side, x, &p);
    sim_touch_between(&p, v, between);
    sim_touch_between(&p, w, of_force);
    sim_contact_force(c, p.normal, c->margin - p.gap, between, force);
    sim_contact_adjoint(c, p.normal, c->margin - p.gap, between, of_force, &g_depth, gn, g_between, gradient);
    for (int j = 0; j < 4; j++) {
        g_weight[j] = -num_dot(g_between, v[j]) - num_dot(force, w[j]);
        for (int i = 0; i < 3; i++) gv[j][i] = -p.weight[j] * g_between[i];
    }
    if (on == SIM_TOUCH_EDGES) sim_touch_crossing_positions(&p, g_weight, gn, -g_depth, gx);
    else sim_touch_positions(&p, g_weight, gn, -g_depth, gx);
}

#endif
