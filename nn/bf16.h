// SPDX-License-Identifier: Apache-2.0
// Numbers in bfloat16: the upper half of a float's bits.
#ifndef VPD_NN_BF16_H
#define VPD_NN_BF16_H

#include "nn/element.h"

#include <stdint.h>
#include <string.h>

// The nearest one, of two the even one; what is not a number stays so.
ELEMENT uint16_t bf16_of(real x) {
    float value = (float)x;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

ELEMENT real bf16_value(uint16_t number) {
    uint32_t bits = (uint32_t)number << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
