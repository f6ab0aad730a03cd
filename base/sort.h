// SPDX-License-Identifier: Apache-2.0
#ifndef VPD_BASE_SORT_H
#define VPD_BASE_SORT_H

#include <stddef.h>

// Smallest first.
void sort_floats(float *values, size_t count);
void sort_doubles(double *values, size_t count);

#endif
