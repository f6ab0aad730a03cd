// SPDX-License-Identifier: Apache-2.0
#include "bodies/rigid_motion.h"

#include "base/camera.h"
#include "base/horn.h"

static void middle(size_t count, const real *x, double out[3]) {
    for (size_t c = 0; c < 3; c++) {
        out[c] = 0;
        for (size_t i = 0; i < count; i++) out[c] += (double)x[3 * i + c];
        out[c] /= (double)count;
    }
}

RigidMotion rigid_motion_fit(size_t count, const real *from, const real *to) {
    RigidMotion out;
    double s[9] = {0}, q[4];
    middle(count, from, out.from);
    middle(count, to, out.to);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < 9; j++)
            s[j] += ((double)from[3 * i + j / 3] - out.from[j / 3]) * ((double)to[3 * i + j % 3] - out.to[j % 3]);
    horn_rotation(s, q);
    rotation_from_quaternion(q, out.rotation);
    return out;
}

void rigid_motion_apply(const RigidMotion *m, const real x[3], real y[3]) {
    double d[3];
    for (int c = 0; c < 3; c++) d[c] = (double)x[c] - m->from[c];
    for (int c = 0; c < 3; c++) {
        const double *row = m->rotation + 3 * c;
        y[c] = (real)(row[0] * d[0] + row[1] * d[1] + row[2] * d[2] + m->to[c]);
    }
}

void rigid_motion_rotate(const RigidMotion *m, real direction[3]) {
    const double d[3] = {(double)direction[0], (double)direction[1], (double)direction[2]};
    for (int c = 0; c < 3; c++) {
        const double *row = m->rotation + 3 * c;
        direction[c] = (real)(row[0] * d[0] + row[1] * d[1] + row[2] * d[2]);
    }
}
