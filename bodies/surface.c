// SPDX-License-Identifier: Apache-2.0
#include "bodies/surface.h"

#include "motion/rigid.h"

#include <string.h>

// Points that a plane is fitted to.
enum { NEAR = 8 };

typedef struct Near {
    double distance2;
    size_t index;
} Near;

static size_t nearest_points(size_t count, const real *x, size_t of, Near *near) {
    size_t found = 0;
    for (size_t j = 0; j < count; j++) {
        double d2 = squared_distance(x + 3 * of, x + 3 * j);
        size_t at = found;
        while (at > 0 && d2 < near[at - 1].distance2) at--;
        if (at == NEAR) continue;
        if (found < NEAR) found++;
        memmove(near + at + 1, near + at, (found - at - 1) * sizeof *near);
        near[at] = (Near){d2, j};
    }
    return found;
}

double surface_plane(size_t count, const real *x, size_t of, real normal[3], real *rough) {
    Near near[NEAR];
    size_t found = nearest_points(count, x, of, near);
    double mean[3] = {0}, spread[9] = {0};
    for (size_t k = 0; k < 3 * found; k++) mean[k % 3] += (double)x[3 * near[k / 3].index + k % 3] / (double)found;
    for (size_t k = 0; k < 9 * found; k++) {
        const real *y = x + 3 * near[k / 9].index;
        size_t a = k % 9 / 3, b = k % 3;
        spread[k % 9] += ((double)y[a] - mean[a]) * ((double)y[b] - mean[b]);
    }
    rigid_least_direction(spread, normal);
    if (rough) *rough = (real)sqrt(fmax(0, fmin(spread[0], fmin(spread[4], spread[8]))) / (double)found);
    return sqrt(near[found - 1].distance2);
}
