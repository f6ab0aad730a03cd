// SPDX-License-Identifier: Apache-2.0
// Time for messages and benchmarks; never a source of random numbers or of anything that is saved with a result.
#ifndef VPD_BASE_CLOCK_H
#define VPD_BASE_CLOCK_H

#include <stddef.h>

// Seconds since some fixed moment, never running backwards.
double clock_now(void);

// "1.3 s", "4 min 05 s", "2 h 10 min", "3 d 4 h"; "?" for a negative or infinite time.
void clock_format(double seconds, char *out, size_t size);

#endif
