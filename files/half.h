// SPDX-License-Identifier: Apache-2.0
// IEEE 754 half precision (1 sign, 5 exponent, 10 mantissa bits) in integer arithmetic, with the same bits on every
// machine.
#ifndef VPD_FILES_HALF_H
#define VPD_FILES_HALF_H

#include <stdint.h>

// Rounds to nearest, ties to even. From 65520 on the result is infinity; NaN stays NaN.
uint16_t half_from_float(float value);
float half_to_float(uint16_t bits);

#endif
