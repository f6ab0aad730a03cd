// SPDX-License-Identifier: Apache-2.0
#include "motion/plane_fit.h"

#include "motion/nearest.h"

double plane_fit_near(const real *x, size_t count, size_t of, PlaneFit *out) {
    double near[PLANE_FIT_NEAR];
    int32_t index[PLANE_FIT_NEAR];
    size_t found = 0;
    for (size_t j = 0; j < count; j++)
        found = nearest_keep(near, index, found, PLANE_FIT_NEAR, squared_distance(x + 3 * of, x + 3 * j), j);
    plane_fit(x, index, found, out);
    return sqrt(near[found - 1]);
}
