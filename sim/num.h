// SPDX-License-Identifier: Apache-2.0
// The number type of the element headers (sim/tet.h, ..): a vector of SIM_LANES reals where that is defined (the CPU
// back end), one real otherwise (CUDA, and plain C).
#ifndef VPD_SIM_NUM_H
#define VPD_SIM_NUM_H

#include "nn/element.h"

#define SIM_ELEMENT ELEMENT __attribute__((always_inline)) // with inlining, arrays of three stay in registers

#ifdef SIM_LANES

typedef real Num __attribute__((vector_size(SIM_LANES * sizeof(real))));
#ifdef VPD_DOUBLE
typedef int64_t NumMask __attribute__((vector_size(SIM_LANES * sizeof(real))));
#else
typedef int32_t NumMask __attribute__((vector_size(SIM_LANES * sizeof(real))));
#endif

SIM_ELEMENT Num num_all(real x) { return (Num){0} + x; }
SIM_ELEMENT Num num_if_less(Num a, Num b, Num yes, Num no) {
    NumMask mask = a < b;
    return (Num)(((NumMask)yes & mask) | ((NumMask)no & ~mask));
}
SIM_ELEMENT Num num_sqrt(Num a) {
    Num out;
    for (int l = 0; l < SIM_LANES; l++) out[l] = real_sqrt(a[l]);
    return out;
}

#else

typedef real Num;
SIM_ELEMENT Num num_all(real x) { return x; }
SIM_ELEMENT Num num_if_less(Num a, Num b, Num yes, Num no) { return a < b ? yes : no; }
SIM_ELEMENT Num num_sqrt(Num a) { return real_sqrt(a); }

#endif

// In real constants, so that a vector of float times a constant stays float.
#define NUM(x) ((real)(x))

SIM_ELEMENT Num num_min(Num a, Num b) { return num_if_less(a, b, a, b); }
SIM_ELEMENT Num num_max(Num a, Num b) { return num_if_less(a, b, b, a); }

#ifdef VPD_DOUBLE
SIM_ELEMENT Num num_atan2(Num y, Num x) {
#ifdef SIM_LANES
    for (int l = 0; l < SIM_LANES; l++) y[l] = atan2(y[l], x[l]);
    return y;
#else
    return atan2(y, x);
#endif
}
#else
// Right to 3e-7 of itself: z P(z^2) for the angle below 45 degrees, whose nine coefficients leave an error of 1.5e-8.
SIM_ELEMENT Num num_atan2(Num y, Num x) {
    const real coefficient[] = {NUM(-0.0160686299), NUM(0.0426915251), NUM(-0.0750429556), NUM(0.106409349),
                                NUM(-0.142036453),  NUM(0.199926198),  NUM(-0.333330721),  NUM(1)},
               half_turn = NUM(3.14159265358979323846);
    const Num across = num_max(y, -y), along = num_max(x, -x),
              z = num_min(across, along) / num_max(num_max(across, along), num_all(NUM(1e-30))), square = z * z;
    Num out = num_all(NUM(0.00284988945));
    for (int i = 0; i < 8; i++) out = out * square + coefficient[i];
    out = out * z;
    out = num_if_less(along, across, half_turn / 2 - out, out);
    out = num_if_less(x, num_all(NUM(0)), half_turn - out, out);
    return num_if_less(y, num_all(NUM(0)), -out, out);
}
#endif

SIM_ELEMENT Num num_dot(const Num a[3], const Num b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
SIM_ELEMENT void num_sub(const Num a[3], const Num b[3], Num out[3]) {
    for (int i = 0; i < 3; i++) out[i] = a[i] - b[i];
}
SIM_ELEMENT void num_cross(const Num a[3], const Num b[3], Num out[3]) {
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}
// out += s a
SIM_ELEMENT void num_add_scaled(Num s, const Num a[3], Num out[3]) {
    for (int i = 0; i < 3; i++) out[i] = out[i] + s * a[i];
}
// out += a x b
SIM_ELEMENT void num_add_cross(const Num a[3], const Num b[3], Num out[3]) {
    out[0] = out[0] + (a[1] * b[2] - a[2] * b[1]);
    out[1] = out[1] + (a[2] * b[0] - a[0] * b[2]);
    out[2] = out[2] + (a[0] * b[1] - a[1] * b[0]);
}

#endif
