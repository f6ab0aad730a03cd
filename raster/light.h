// SPDX-License-Identifier: Apache-2.0
// Light at one point of a surface, in double, and its derivative (docs/rasterisers.md). Compiles as C and as CUDA.
//   light E = sum over lights colour max(0, n.l) + sum over k harmonics_k Y_k(n)
//   shine S = specular sum over lights colour max(0, reflection . view)^shininess, where n.l > 0
//   reflection = 2 (n.l) n - l;  out = albedo E (3), S (3)
#ifndef VPD_RASTER_LIGHT_H
#define VPD_RASTER_LIGHT_H

#include "nn/element.h"
#include "raster/raster.h"

// Lights that are added together.
typedef struct LightSet {
    const RasterLight *light;
    size_t count;
    const double *harmonics; // (9,3) or NULL
    bool plain;              // E = 1 instead
} LightSet;

typedef struct LightPoint {
    double point[3], normal[3], albedo[3], eye[3]; // normal: unit, or 0
    double specular, shininess;
} LightPoint;

// dLoss/d(LightPoint) and, in rows of 6, of the lights (direction, colour); all are added to.
typedef struct LightGradient {
    double point[3], normal[3], albedo[3], eye[3];
    double *light, *harmonics;
} LightGradient;

ELEMENT double light_dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// out = in / |in| and |in|; 0 for 0.
ELEMENT double light_unit(const double in[3], double out[3]) {
    double length = sqrt(light_dot(in, in));
    for (int i = 0; i < 3; i++) out[i] = length > 0 ? in[i] / length : 0;
    return length;
}

// dLoss/d(in) is added to `grad`.
ELEMENT void light_unit_back(const double unit[3], double length, const double g[3], double grad[3]) {
    double along = light_dot(unit, g);
    for (int i = 0; i < 3; i++) grad[i] += length > 0 ? (g[i] - unit[i] * along) / length : 0;
}

ELEMENT void light_harmonics(const double n[3], double Y[9]) {
    double x = n[0], y = n[1], z = n[2];
    Y[0] = 0.28209479177387814;
    Y[1] = 0.48860251190291992 * y, Y[2] = 0.48860251190291992 * z, Y[3] = 0.48860251190291992 * x;
    Y[4] = 1.0925484305920792 * x * y, Y[5] = 1.0925484305920792 * y * z;
    Y[6] = 0.31539156525252005 * (3 * z * z - 1);
    Y[7] = 1.0925484305920792 * x * z, Y[8] = 0.54627421529603959 * (x * x - y * y);
}

ELEMENT void light_harmonics_back(const double n[3], const double g[9], double grad[3]) {
    double x = n[0], y = n[1], z = n[2];
    const double a = 0.48860251190291992, b = 1.0925484305920792;
    grad[0] += a * g[3] + b * (g[4] * y + g[7] * z + g[8] * x);
    grad[1] += a * g[1] + b * (g[4] * x + g[5] * z - g[8] * y);
    grad[2] += a * g[2] + b * (g[5] * y + g[7] * x) + 6 * 0.31539156525252005 * g[6] * z;
}

// What one light does at a point.
typedef struct LightRay {
    double direction[3], length, view[3], view_length, lambert, mirror, power;
} LightRay;

ELEMENT LightRay light_ray(const RasterLight *light, const LightPoint *p) {
    LightRay r;
    double to_eye[3] = {p->eye[0] - p->point[0], p->eye[1] - p->point[1], p->eye[2] - p->point[2]};
    r.length = light_unit(light->direction, r.direction);
    r.view_length = light_unit(to_eye, r.view);
    r.lambert = light_dot(p->normal, r.direction);
    r.mirror = 2 * r.lambert * light_dot(p->normal, r.view) - light_dot(r.direction, r.view);
    bool shines = p->specular != 0 && r.lambert > 0 && r.mirror > 0;
    r.power = shines ? pow(r.mirror, p->shininess) : 0;
    r.lambert = r.lambert > 0 ? r.lambert : 0;
    return r;
}

ELEMENT void light_sum(const LightSet *set, const LightPoint *p, double E[3], double S[3]) {
    for (int c = 0; c < 3; c++) E[c] = set->plain, S[c] = 0;
    for (size_t k = 0; k < set->count; k++) {
        LightRay r = light_ray(&set->light[k], p);
        for (int c = 0; c < 3; c++) E[c] += set->light[k].colour[c] * r.lambert;
        for (int c = 0; c < 3; c++) S[c] += p->specular * set->light[k].colour[c] * r.power;
    }
    if (!set->harmonics) return;
    double Y[9];
    light_harmonics(p->normal, Y);
    for (int k = 0; k < 9; k++)
        for (int c = 0; c < 3; c++) E[c] += set->harmonics[3 * k + c] * Y[k];
}

ELEMENT void light_shade(const LightSet *set, const LightPoint *p, double out[6]) {
    light_sum(set, p, out, out + 3);
    for (int c = 0; c < 3; c++) out[c] *= p->albedo[c];
}

// From dLoss/d(lambert, mirror) of a light: of its direction (added to its row), of normal, point and eye.
ELEMENT void light_ray_back(const LightRay *r, const LightPoint *p, double g_lambert, double g_mirror, double *row,
                            LightGradient *g) {
    double nl = light_dot(p->normal, r->direction), nv = light_dot(p->normal, r->view), g_direction[3], g_view[3],
           g_eye[3] = {0};
    for (int i = 0; i < 3; i++) {
        g_direction[i] = g_lambert * p->normal[i] + g_mirror * (2 * nv * p->normal[i] - r->view[i]);
        g_view[i] = g_mirror * (2 * nl * p->normal[i] - r->direction[i]);
        g->normal[i] += g_lambert * r->direction[i] + 2 * g_mirror * (nv * r->direction[i] + nl * r->view[i]);
    }
    light_unit_back(r->direction, r->length, g_direction, row);
    light_unit_back(r->view, r->view_length, g_view, g_eye);
    for (int i = 0; i < 3; i++) g->eye[i] += g_eye[i], g->point[i] -= g_eye[i];
}

ELEMENT void light_shade_back(const LightSet *set, const LightPoint *p, const double g_out[6], LightGradient *g) {
    double E[3], S[3], gE[3];
    light_sum(set, p, E, S);
    for (int c = 0; c < 3; c++) g->albedo[c] += g_out[c] * E[c], gE[c] = g_out[c] * p->albedo[c];
    for (size_t k = 0; k < set->count; k++) {
        const double *colour = set->light[k].colour;
        LightRay r = light_ray(&set->light[k], p);
        double *row = g->light + 6 * k;
        for (int c = 0; c < 3; c++) row[3 + c] += gE[c] * r.lambert + g_out[3 + c] * p->specular * r.power;
        double slope = r.power > 0 ? p->specular * p->shininess * r.power / r.mirror : 0;
        light_ray_back(&r, p, r.lambert > 0 ? light_dot(gE, colour) : 0, slope * light_dot(g_out + 3, colour), row, g);
    }
    if (!set->harmonics) return;
    double Y[9], gY[9];
    light_harmonics(p->normal, Y);
    for (int k = 0; k < 9; k++) {
        gY[k] = light_dot(gE, set->harmonics + 3 * k);
        for (int c = 0; c < 3; c++) g->harmonics[3 * k + c] += gE[c] * Y[k];
    }
    light_harmonics_back(p->normal, gY, g->normal);
}

#endif
