// SPDX-License-Identifier: Apache-2.0
#include "files/half.h"

#include <string.h>

// `value` shifted right by `shift` bits, rounded to nearest, ties to even.
static uint32_t shift_round(uint32_t value, int shift) {
    uint32_t kept = value >> shift, rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t half_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return sign | 0x7E00;  // NaN
    if (magnitude >= 0x47800000) return sign | 0x7C00; // 65536 and above
    // 2^-14 and above: change the exponent's offset (127 to 15) and drop 13 bits; a carry goes into the exponent.
    if (magnitude >= 0x38800000) return sign | (uint16_t)shift_round(magnitude - 0x38000000, 13);
    if (magnitude < 0x33000000) return sign; // below half of the smallest, 2^-24
    // Subnormal: the mantissa with its leading 1, in units of 2^-24.
    int exponent = (int)(magnitude >> 23);
    return sign | (uint16_t)shift_round((magnitude & 0x7FFFFF) | 0x800000, 126 - exponent);
}

float half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023, out;
    if (exponent == 0) {
        float value = (float)mantissa * 0x1p-24f; // exact
        memcpy(&out, &value, sizeof out);
        out |= sign;
    } else {
        out = sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) | mantissa << 13;
    }
    float value;
    memcpy(&value, &out, sizeof value);
    return value;
}
