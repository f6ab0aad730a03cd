// SPDX-License-Identifier: Apache-2.0
#include "infer/motion.h"

#include "base/camera.h"
#include "base/horn.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

// ---- regression

void line_fit_add(LineFit *fit, double x, double y) {
    fit->x += x;
    fit->y += y;
    fit->xx += x * x;
    fit->xy += x * y;
    fit->yy += y * y;
    fit->count++;
}

double line_fit_slope(const LineFit *fit) { return fit->xx > 0 ? fit->xy / fit->xx : NAN; }

// Centred sums; false if a spread is only rounding error.
static bool centre(const LineFit *fit, double *xx, double *xy, double *yy) {
    if (fit->count < 2) return false;
    double n = (double)fit->count;
    *xx = fit->xx - fit->x * fit->x / n;
    *xy = fit->xy - fit->x * fit->y / n;
    *yy = fit->yy - fit->y * fit->y / n;
    return *xx > 1e-12 * fit->xx;
}

double line_fit_slope_centred(const LineFit *fit) {
    double xx, xy, yy;
    return centre(fit, &xx, &xy, &yy) ? xy / xx : NAN;
}

double line_fit_correlation(const LineFit *fit) {
    double xx, xy, yy;
    if (!centre(fit, &xx, &xy, &yy) || yy <= 1e-12 * fit->yy) return NAN;
    return xy / sqrt(xx * yy);
}

// ---- best rigid motion

bool motion_rigid_residual(const float *before, const float *after, const uint16_t *object, int particles, int id,
                           double *out) {
    double mean_a[3] = {0}, mean_b[3] = {0}, S[9] = {0}, squares = 0;
    int n = 0;
    for (int i = 0; i < particles; i++) {
        if (object[i] != id) continue;
        for (int c = 0; c < 3; c++) {
            mean_a[c] += (double)before[3 * i + c];
            mean_b[c] += (double)after[3 * i + c];
        }
        n++;
    }
    if (n < 4) return false;
    for (int i = 0; i < particles; i++) {
        if (object[i] != id) continue;
        double a[3], b[3];
        for (int c = 0; c < 3; c++) {
            a[c] = (double)before[3 * i + c] - mean_a[c] / n;
            b[c] = (double)after[3 * i + c] - mean_b[c] / n;
            squares += a[c] * a[c] + b[c] * b[c];
        }
        for (int k = 0; k < 9; k++) S[k] += a[k / 3] * b[k % 3];
    }
    *out = sqrt(fmax(squares - 2 * horn_rotation(S, NULL), 0) / n);
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

// Two unit vectors across `up`.
static void horizontal_axes(const double up[3], double a[3], double b[3]) {
    int least = 0;
    for (int c = 1; c < 3; c++)
        if (fabs(up[c]) < fabs(up[least])) least = c;
    for (int c = 0; c < 3; c++) a[c] = (c == least) - up[least] * up[c];
    double length = norm(a);
    for (int c = 0; c < 3; c++) a[c] /= length;
    for (int c = 0; c < 3; c++) b[c] = up[(c + 1) % 3] * a[(c + 2) % 3] - up[(c + 2) % 3] * a[(c + 1) % 3];
}

static void add_object(MotionTally *tally, const MotionStep *step, int k, const double axes[3][3]) {
    ObjectMotion object = measure_object(step, k);
    if (object.particles == 0) {
        tally->unseen++;
        return;
    }
    double error[3], centre_error[3], spread;
    for (int c = 0; c < 3; c++) {
        error[c] = object.predicted[c] - object.truth[c];
        centre_error[c] = object.predicted[c] - (step->position1[3 * k + c] - step->position0[3 * k + c]);
    }
    mean_add(&tally->error, norm(error));
    mean_add(&tally->centre_error, norm(centre_error));
    mean_add(&tally->point_error, object.point_error);
    mean_add(&tally->true_motion, norm(object.truth));
    if (motion_rigid_residual(step->before, step->after, step->object, step->particles, k + 1, &spread))
        mean_add(&tally->spread, spread);
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

bool motion_add(MotionTally *tally, const MotionStep *step) {
    const double z[3] = {0, 0, 1};
    double axes[3][3];
    if (!step_is_finite(step)) {
        tally->rejected++;
        return false;
    }
    memcpy(axes[2], step->up ? step->up : z, sizeof axes[2]);
    horizontal_axes(axes[2], axes[0], axes[1]);
    for (int k = 0; k < step->objects; k++) add_object(tally, step, k, axes);
    add_floor(tally, step);
    return true;
}
