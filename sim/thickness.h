// SPDX-License-Identifier: Apache-2.0
// How thick closed bodies are at rest.
#ifndef VPD_SIM_THICKNESS_H
#define VPD_SIM_THICKNESS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Metres through a closed body along the normal of a face, where that is least; of many faces, some are looked at. It
// does not depend on how the body is turned, as its box does. *convex: no part of it is above one of these faces.
double sim_thickness(const int32_t *face, size_t faces, const double *rest, bool *convex);

// 1 over metres through a closed body from its sharp edges, each way of sim_way_of, where that is less than `thin`; 0
// elsewhere. `face` (faces,3) outwards, `edge` (edges,4) as in SimTouching, both of numbers in `rest` (particles,3);
// out (edges, SIM_WAYS). STATUS_FAILED: out of memory.
Status sim_thickness_at_edges(const int32_t *face, size_t faces, const double *rest, size_t particles, double thin,
                              const int32_t *edge, size_t edges, float *out, Error *err);

#endif
