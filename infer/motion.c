// SPDX-License-Identifier: Apache-2.0
#include "infer/motion.h"

#include "base/camera.h"
#include "base/camera_rig.h"
#include "base/horn.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

// ---- best rigid motion

bool motion_fit_rigid(const float *before, const float *after, const uint16_t *object, int particles, int id,
                      RigidFit *out) {
    double S[9] = {0}, squares = 0, turn[4];
    int n = 0;
    *out = (RigidFit){.residual = 0};
    for (int i = 0; i < particles; i++) {
        if (object[i] != id) continue;
        for (int c = 0; c < 3; c++) {
            out->before[c] += (double)before[3 * i + c];
            out->after[c] += (double)after[3 * i + c];
        }
        n++;
    }
    if (n < 4) return false;
    for (int c = 0; c < 3; c++) out->before[c] /= n, out->after[c] /= n;
    for (int i = 0; i < particles; i++) {
        if (object[i] != id) continue;
        double a[3], b[3];
        for (int c = 0; c < 3; c++) {
            a[c] = (double)before[3 * i + c] - out->before[c];
            b[c] = (double)after[3 * i + c] - out->after[c];
            squares += a[c] * a[c] + b[c] * b[c];
        }
        for (int k = 0; k < 9; k++) S[k] += a[k / 3] * b[k % 3];
    }
    out->residual = sqrt(fmax(squares - 2 * horn_rotation(S, turn), 0) / n);
    rotation_from_quaternion(turn, out->rotation);
    return true;
}

// ---- one step

static bool all_finite(const float *values, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static bool all_finite_double(const double *values, size_t count) {
    for (size_t i = 0; values && i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static bool step_is_finite(const MotionStep *step) {
    size_t N = (size_t)step->particles, O = (size_t)step->objects;
    return all_finite(step->before, 3 * N) && all_finite(step->after, 3 * N) &&
           all_finite_double(step->position0, 3 * O) && all_finite_double(step->position1, 3 * O) &&
           all_finite_double(step->quaternion0, 4 * O) && all_finite_double(step->quaternion1, 4 * O);
}

TrueMotion motion_of_object(const MotionStep *step, int k) {
    TrueMotion motion = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    if (step->quaternion0) {
        double R0[9], R1[9];
        rotation_from_quaternion(step->quaternion0 + 4 * k, R0);
        rotation_from_quaternion(step->quaternion1 + 4 * k, R1);
        for (int i = 0; i < 9; i++) {
            motion.R[i] = 0;
            for (int c = 0; c < 3; c++) motion.R[i] += R1[i / 3 * 3 + c] * R0[i % 3 * 3 + c]; // R1 R0^T
        }
    }
    for (int i = 0; i < 3; i++) {
        motion.t[i] = step->position1[3 * k + i];
        for (int c = 0; c < 3; c++) motion.t[i] -= motion.R[3 * i + c] * step->position0[3 * k + c];
    }
    return motion;
}

typedef struct ObjectMotion {
    double predicted[3], truth[3]; // mean displacement
    double point_error;
    int particles;
} ObjectMotion;

static ObjectMotion measure_object(const MotionStep *step, int k) {
    ObjectMotion out = {0};
    TrueMotion motion = motion_of_object(step, k);
    for (int i = 0; i < step->particles; i++) {
        if (step->object[i] != k + 1) continue;
        double square = 0;
        for (int c = 0; c < 3; c++) {
            double place = motion.t[c], x1 = (double)step->after[3 * i + c];
            for (int d = 0; d < 3; d++) place += motion.R[3 * c + d] * (double)step->before[3 * i + d];
            out.predicted[c] += x1 - (double)step->before[3 * i + c];
            out.truth[c] += place - (double)step->before[3 * i + c];
            square += (x1 - place) * (x1 - place);
        }
        out.point_error += sqrt(square);
        out.particles++;
    }
    for (int c = 0; c < 3 && out.particles; c++) {
        out.predicted[c] /= out.particles;
        out.truth[c] /= out.particles;
    }
    if (out.particles) out.point_error /= out.particles;
    return out;
}

static double norm(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

// How far the particles' rigid motion takes the object's centre; with few particles, their mean motion.
static void centre_motion(const MotionStep *step, int k, const RigidFit *fit, const double mean[3], double out[3]) {
    const double *centre = step->position0 + 3 * k;
    for (int c = 0; c < 3; c++) {
        out[c] = fit ? fit->after[c] - centre[c] : mean[c];
        for (int d = 0; d < 3 && fit; d++) out[c] += fit->rotation[3 * c + d] * (centre[d] - fit->before[d]);
    }
}

static void add_object(MotionTally *tally, const MotionStep *step, int k, const double axes[3][3]) {
    ObjectMotion object = measure_object(step, k);
    if (object.particles == 0) {
        tally->unseen++;
        return;
    }
    double error[3], centre[3], centre_error[3];
    RigidFit fit;
    bool rigid = motion_fit_rigid(step->before, step->after, step->object, step->particles, k + 1, &fit);
    centre_motion(step, k, rigid ? &fit : NULL, object.predicted, centre_error);
    for (int c = 0; c < 3; c++) {
        error[c] = object.predicted[c] - object.truth[c];
        centre[c] = step->position1[3 * k + c] - step->position0[3 * k + c];
        centre_error[c] -= centre[c];
    }
    mean_add(&tally->error, norm(error));
    mean_add(&tally->centre_error, norm(centre_error));
    mean_add(&tally->centre_motion, norm(centre));
    mean_add(&tally->point_error, object.point_error);
    mean_add(&tally->true_motion, norm(object.truth));
    if (rigid) mean_add(&tally->spread, fit.residual);
    for (int a = 0; a < 3; a++)
        line_fit_add(a < 2 ? &tally->horizontal : &tally->vertical, vector_dot(object.truth, axes[a]),
                     vector_dot(object.predicted, axes[a]));
}

static void add_floor(MotionTally *tally, const MotionStep *step) {
    for (int i = 0; i < step->particles; i++) {
        double d[3];
        tally->ignored += step->object[i] > step->objects;
        if (step->object[i] != 0) continue;
        for (int c = 0; c < 3; c++) d[c] = (double)step->after[3 * i + c] - (double)step->before[3 * i + c];
        mean_add(&tally->floor_drift, norm(d));
    }
}

void motion_up(int turn, const double *poses, size_t count, double up[3]) {
    camera_rig_up(poses, count, 16 * sizeof *poses, up);
    for (int c = 0; c < 3 && turn != TURN_NONE; c++) up[c] = c == turn - TURN_X ? copysign(1, up[c]) : 0;
}

bool motion_add(MotionTally *tally, const MotionStep *step) {
    double axes[3][3];
    if (!step_is_finite(step)) {
        tally->rejected++;
        return false;
    }
    memcpy(axes[2], step->up, sizeof axes[2]);
    camera_rig_across(axes[2], axes[0], axes[1]);
    for (int k = 0; k < step->objects; k++)
        if (!step->given || !int_list_has(step->given, k)) add_object(tally, step, k, axes);
    add_floor(tally, step);
    return true;
}
