// SPDX-License-Identifier: Apache-2.0
// Bodies that are known by points on their surfaces, as rigid bodies of the simulator: where they go by the laws of
// mechanics. The baseline of learned dynamics (docs/evaluation.md).
#ifndef VPD_LAB_ANALYTIC_H
#define VPD_LAB_ANALYTIC_H

#include "sim/sim.h"

#include <math.h>

typedef struct AnalyticBody {
    size_t count;
    const double *now, *before; // (count,3) metres: points on all its sides, at the present and a frame before
    size_t told;                // it moves in so many frames as it is told, whatever it meets,
    const double *motion;       // (told,4,4) x becomes R x + t, and then on as in the last of them
} AnalyticBody;

// As in sim/contact.h; NAN: from the masses. Planes and what is told how to move have the same.
typedef struct AnalyticContact {
    double k_e, k_d, k_f, mu, fade, margin;
} AnalyticContact;

static const AnalyticContact ANALYTIC_CONTACT = {NAN, NAN, NAN, 0.5, 5e-4, 0};

typedef struct AnalyticScene {
    size_t bodies, planes;
    const AnalyticBody *body;
    const SimPlane *plane; // their material is not read
    double frame_time;     // seconds
    double gravity[3];
    AnalyticContact contact;
} AnalyticScene;

typedef struct Analytic Analytic;

// Bodies at the present, each the convex hull of its points. solid[b] (bodies): whether it has a volume; else nothing
// is known of it, and its motion is none. *scene and what it points to must live as long.
Status analytic_begin(const AnalyticScene *scene, bool *solid, Analytic **out, Error *err);
// A frame on: motion (bodies,4,4) takes what is at x at the present to R x + t. After an error the only valid call is
// analytic_end.
Status analytic_frame(Analytic *analytic, double *motion, Error *err);
void analytic_end(Analytic *analytic); // accepts NULL

#endif
