// SPDX-License-Identifier: Apache-2.0
// The number that the element headers compute with: one real with CUDA (and wherever RASTER_LANES is not defined), a
// vector of reals on the CPU (raster/cpu/lanes.h).
#ifndef VPD_RASTER_WIDE_H
#define VPD_RASTER_WIDE_H

#include "nn/element.h"

#ifndef RASTER_LANES
typedef real Wide;
typedef int WideMask; // 0 or 1
ELEMENT Wide wide_all(real x) { return x; }
ELEMENT Wide wide_select(WideMask mask, Wide yes, Wide no) { return mask ? yes : no; }
ELEMENT Wide wide_min(Wide a, Wide b) { return a < b ? a : b; }
ELEMENT Wide wide_max(Wide a, Wide b) { return a > b ? a : b; }
ELEMENT Wide wide_exp(Wide x) { return real_exp(x); }
#endif

#endif
