// SPDX-License-Identifier: Apache-2.0
#include "lab/rigid_mass.h"

#include "base/vector.h"
#include "lab/minimise.h"

#include <math.h>
#include <string.h>

enum { UNKNOWNS = 7, PRODUCTS = 6, TURNS_MAX = 100 };
#define CENTRED 1e-14 // of the body's size, which rounding leaves
#define LOST 1e-8     // eigenvalues below this part of the largest are 0
#define THIN 1e-12    // a second moment below this part of the largest: on one line
#define MET 1e-9      // how well centre and inertia must be met
#define CANCEL 10     // parts of the inertia, each taken as positive, add up to less than so many times it
#define HELD 0.5      // part of the mass that is in points
#define REST 0.1      // part of the inertia that vertices could hold and leave to them
#define NEAR 0.5      // at most, the mean square of their distances in any direction, as a part of the solid's

// ---- integrals of 1, r and r r' over a solid

typedef struct Moments {
    double volume, first[3], second[9];
} Moments;

// A tet of constant density: the integral of r r' is V/20 (sum r_i r_i' + (sum r_i)(sum r_i)').
static void add_tet(Moments *out, const double r[4][3]) {
    double edge[3][3], normal[3], sum[3];
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < 3; k++) edge[k][c] = r[k + 1][c] - r[0][c];
        sum[c] = r[0][c] + r[1][c] + r[2][c] + r[3][c];
    }
    vector_cross(edge[0], edge[1], normal);
    const double volume = vector_dot(normal, edge[2]) / 6;
    out->volume += volume;
    for (int a = 0; a < 3; a++) {
        out->first[a] += volume / 4 * sum[a];
        for (int b = 0; b < 3; b++) {
            double products = sum[a] * sum[b];
            for (int k = 0; k < 4; k++) products += r[k][a] * r[k][b];
            out->second[3 * a + b] += volume / 20 * products;
        }
    }
}

static void take(const Mesh *mesh, int32_t vertex, const double from[3], double out[3]) {
    for (int c = 0; c < 3; c++) out[c] = mesh->position[3 * vertex + c] - from[c];
}

// Of the tets, or of the pyramids on the triangles of a closed surface.
static Moments integrate(const Mesh *mesh, const double from[3]) {
    Moments out = {0};
    double r[4][3] = {{0}};
    for (size_t t = 0; t < mesh->T; t++) {
        for (size_t k = 0; k < 4; k++) take(mesh, mesh->tet[4 * t + k], from, r[k]);
        add_tet(&out, (const double(*)[3])r);
    }
    for (size_t f = 0; f < mesh->F && !mesh->T; f++) {
        for (size_t k = 0; k < 3; k++) take(mesh, mesh->triangle[3 * f + k], from, r[k + 1]);
        add_tet(&out, (const double(*)[3])r);
    }
    return out;
}

// Volume, centre and second moment (3,3) about it.
static Status find_moments(const Mesh *mesh, double *volume, double centre[3], double second[9], Error *err) {
    double from[3] = {0}, reach = 0;
    for (size_t i = 0; i < 3 * mesh->N; i++) from[i % 3] += mesh->position[i] / (double)mesh->N;
    const Moments m = integrate(mesh, from);
    for (size_t i = 0; i < 3 * mesh->N; i++) reach = fmax(reach, fabs(mesh->position[i] - from[i % 3]));
    if (!(fabs(m.volume) > 1e-9 * reach * reach * reach)) // as sim/bodies.c, whose surfaces then are not closed
        return error_set(err, STATUS_BAD_INPUT, "the surface encloses no volume, only %.3g m^3", fabs(m.volume));
    for (int k = 0; k < 9; k++)
        second[k] = (m.second[k] - m.first[k / 3] * m.first[k % 3] / m.volume) * (m.volume > 0 ? 1 : -1);
    for (int c = 0; c < 3; c++) centre[c] = from[c] + m.first[c] / m.volume;
    *volume = fabs(m.volume);
    return STATUS_OK;
}

// ---- small systems

// The shortest x with A x = b, A symmetric (n,n).
static void solve(size_t n, const double *A, const double *b, double *x) {
    double copy[UNKNOWNS * UNKNOWNS], vector[UNKNOWNS * UNKNOWNS], value[UNKNOWNS], rest[UNKNOWNS];
    memcpy(copy, A, n * n * sizeof *A);
    memset(x, 0, n * sizeof *x);
    minimise_eigen(n, copy, value, vector);
    const double largest = fmax(fabs(value[0]), fabs(value[n - 1]));
    for (int turn = 0; turn < 2; turn++) { // the second takes away what the first rounded
        memcpy(rest, b, n * sizeof *rest);
        for (size_t k = 0; k < n * n; k++) rest[k / n] -= A[k] * x[k % n];
        for (size_t k = 0; k < n; k++) {
            double along = 0;
            if (fabs(value[k]) <= LOST * largest) continue;
            for (size_t i = 0; i < n; i++) along += vector[k * n + i] * rest[i] / value[k];
            for (size_t i = 0; i < n; i++) x[i] += along * vector[k * n + i];
        }
    }
}

// Coordinates about a centre in which the masses' second moment is 1, whatever the body's sides are: rows of `basis`.
typedef struct Frame {
    const double *position, *mass;
    size_t N;
    double centre[3], basis[9];
} Frame;

static void find_axes(Frame *frame, double total, double value[3]) {
    double second[9] = {0}, r[3];
    for (size_t i = 0; i < frame->N; i++) {
        for (int c = 0; c < 3; c++) r[c] = frame->position[3 * i + (size_t)c] - frame->centre[c];
        for (int k = 0; k < 9; k++) second[k] += frame->mass[i] / total * r[k / 3] * r[k % 3];
    }
    minimise_eigen(3, second, value, frame->basis);
    for (int k = 0; k < 9; k++) frame->basis[k] /= sqrt(fmax(value[k / 3], THIN * value[2]));
}

static void to_frame(const Frame *frame, size_t i, double y[3]) {
    double r[3];
    for (int c = 0; c < 3; c++) r[c] = frame->position[3 * i + (size_t)c] - frame->centre[c];
    for (int c = 0; c < 3; c++) y[c] = vector_dot(frame->basis + 3 * c, r);
}

static void products(const double y[3], double out[PRODUCTS]) {
    for (int c = 0; c < 3; c++) {
        out[c] = y[c] * y[c];
        out[3 + c] = y[c] * y[(c + 1) % 3];
    }
}

// ---- masses, for density 1

// A quarter of each tet's volume; of a surface each triangle's area by its angles, so that a rectangle's four corners
// have the same whichever way it is cut.
static void lump(const Mesh *mesh, double volume, double *mass) {
    double all = 0;
    memset(mass, 0, mesh->N * sizeof *mass);
    for (size_t i = 0; i < 4 * mesh->T; i++) mass[mesh->tet[i]] += mesh_tet_volume(mesh, i / 4) / 4;
    for (size_t i = 0; i < 3 * mesh->F && !mesh->T; i++) {
        const int32_t *v = mesh->triangle + i / 3 * 3;
        double a[3], b[3], normal[3];
        vector_between(mesh->position, v[i % 3], v[(i + 1) % 3], a);
        vector_between(mesh->position, v[i % 3], v[(i + 2) % 3], b);
        vector_cross(a, b, normal);
        const double twice = sqrt(vector_dot(normal, normal));
        mass[v[i % 3]] += twice * atan2(twice, vector_dot(a, b));
    }
    for (size_t i = 0; i < mesh->N; i++) all += mass[i];
    for (size_t i = 0; i < mesh->N; i++) mass[i] *= volume / all;
}

// The masses' centre in the frame, and their second moment (3,3) about it, both by volume.
static void find_spread(const Frame *frame, double volume, double mean[3], double second[9]) {
    double y[3];
    memset(mean, 0, 3 * sizeof *mean);
    memset(second, 0, 9 * sizeof *second);
    for (size_t i = 0; i < frame->N; i++) {
        to_frame(frame, i, y);
        for (int c = 0; c < 3; c++) mean[c] += frame->mass[i] / volume * y[c];
        for (int k = 0; k < 9; k++) second[k] += frame->mass[i] / volume * y[k / 3] * y[k % 3];
    }
    for (int k = 0; k < 9; k++) second[k] -= mean[k / 3] * mean[k % 3];
}

// Multiplies each mass by exp(step.y), no two by factors further apart than e; they add up to the volume again.
static void tilt(const Frame *frame, double volume, const double step[3], double *mass) {
    double y[3], low = INFINITY, high = -INFINITY, all = 0;
    for (size_t i = 0; i < frame->N; i++) {
        to_frame(frame, i, y);
        low = fmin(low, vector_dot(step, y));
        high = fmax(high, vector_dot(step, y));
    }
    for (size_t i = 0; i < frame->N; i++) {
        to_frame(frame, i, y);
        mass[i] *= exp(vector_dot(step, y) / fmax(1, high - low));
        all += mass[i];
    }
    for (size_t i = 0; i < frame->N; i++) mass[i] *= volume / all;
}

static double largest(const double x[3]) { return fmax(fmax(fabs(x[0]), fabs(x[1])), fabs(x[2])); }

// Changes masses least, by the sum of m log(m / before), so that their centre is the frame's, by Newton's method. All
// stay above 0: the centre of a solid lies between its vertices. false: this one does not.
static bool put_centre(Frame *frame, double volume, double *mass) {
    double value[3], mean[3], second[9], step[3];
    find_axes(frame, volume, value);
    for (int turn = 0; turn < TURNS_MAX; turn++) {
        find_spread(frame, volume, mean, second);
        if (!(largest(mean) > CENTRED)) break;
        solve(3, second, mean, step);
        for (int c = 0; c < 3; c++) step[c] = -step[c];
        tilt(frame, volume, step, mass);
    }
    return largest(mean) < MET;
}

// ---- shares: the s_i = a0 + a.products(y_i) with sum m s products = wanted, and sum m a.products = 0, which is what
// the least sum of m (s - a0)^2 leads to

// false: there are none, or they nearly cancel, so that the rounding of places would change the inertia.
static bool find_shares(const Frame *frame, double volume, const double second[9], double *share) {
    double A[UNKNOWNS * UNKNOWNS] = {0}, wanted[UNKNOWNS] = {0}, x[UNKNOWNS], met[PRODUCTS] = {0}, y[3];
    double p[UNKNOWNS] = {[PRODUCTS] = 1}, parts = 0;
    for (size_t i = 0; i < frame->N; i++) {
        to_frame(frame, i, y);
        products(y, p);
        for (int k = 0; k < UNKNOWNS * UNKNOWNS - 1; k++) // the last one stays 0
            A[k] += frame->mass[i] / volume * p[k / UNKNOWNS] * p[k % UNKNOWNS];
    }
    for (int k = 0; k < PRODUCTS; k++) // basis second basis'
        for (int e = 0; e < 9; e++)
            wanted[k] += frame->basis[3 * (k % 3) + e / 3] * second[e] / volume *
                         frame->basis[3 * (k < 3 ? k : (k + 1) % 3) + e % 3];
    solve(UNKNOWNS, A, wanted, x);
    for (size_t i = 0; i < frame->N; i++) {
        to_frame(frame, i, y);
        products(y, p);
        share[i] = x[PRODUCTS];
        for (int k = 0; k < PRODUCTS; k++) share[i] += x[k] * p[k];
        for (int k = 0; k < PRODUCTS; k++) met[k] += share[i] * frame->mass[i] / volume * p[k];
        parts += fabs(share[i]) * frame->mass[i] / volume * vector_dot(y, y);
    }
    bool good = parts < CANCEL * (wanted[0] + wanted[1] + wanted[2]);
    for (int k = 0; k < PRODUCTS; k++) good = good && fabs(met[k] - wanted[k]) <= MET;
    return good;
}

// ---- points: vertices with one share for all hold most of what they can hold of the inertia so, and equal masses at
// the corners of a tetrahedron the rest, R: it is regular in axes in which R is 1. The nearer the points, the larger
// their shares, and the more rounding changes R; NEAR leaves them inside of convex solids, all of which reach 1.29
// times as far as the root of their mean square in each direction, and points 1.22 times.

// The lower L with L L' = A (3,3), as smooth as A; false: A has an eigenvalue below 0 by more than rounding.
static bool root_of(const double A[9], double L[9]) {
    const double least = 1e-15 * (A[0] + A[4] + A[8]);
    memset(L, 0, 9 * sizeof *L);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            const double rest = A[3 * i + j] - vector_dot(L + 3 * i, L + 3 * j);
            if (i > j) L[3 * i + j] = L[4 * j] > 0 ? rest / L[4 * j] : 0;
            else if (rest > least) L[4 * i] = sqrt(rest);
            else if (rest < -1e3 * least) return false;
        }
    return true;
}

// Eigenvalues of the solid's second moment, where that of the masses is 1.
static void compare_moments(const Frame *frame, double volume, const double second[9], double value[3]) {
    double across[9] = {0}, axes[9];
    for (int k = 0; k < 9; k++)
        for (int e = 0; e < 9; e++)
            across[k] += frame->basis[k / 3 * 3 + e / 3] * second[e] / volume * frame->basis[k % 3 * 3 + e % 3];
    minimise_eigen(3, across, value, axes);
}

// `spread`: the mean squares of the masses along the frame's axes.
static void find_points(const Frame *frame, double volume, const double second[9], const double spread[3], double *mass,
                        double *share, RigidPoints *out) {
    static const double way[RIGID_POINTS][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    double value[3], rest[9], root[9];
    compare_moments(frame, volume, second, value);
    const double part = (1 - REST) * value[0], square = NEAR / (1 - part / value[2]);
    for (int k = 0; k < 9; k++) {
        rest[k] = second[k] / volume;
        for (int e = 0; e < 3; e++) // basis' spread^2 basis is the masses' second moment
            rest[k] -= part * spread[e] * spread[e] * frame->basis[3 * e + k / 3] * frame->basis[3 * e + k % 3];
    }
    root_of(rest, root);
    for (size_t i = 0; i < frame->N + RIGID_POINTS; i++) {
        mass[i] = i < frame->N ? (1 - HELD) * mass[i] : HELD * volume / RIGID_POINTS;
        share[i] = i < frame->N ? part / (1 - HELD) : 1 / (HELD * square);
    }
    out->count = RIGID_POINTS;
    for (int k = 0; k < RIGID_POINTS; k++)
        for (int c = 0; c < 3; c++) out->at[k][c] = frame->centre[c] + sqrt(square) * vector_dot(root + 3 * c, way[k]);
}

Status rigid_mass(const Mesh *mesh, double density, double total, double *mass, double *share, RigidPoints *points,
                  Error *err) {
    Frame frame = {.position = mesh->position, .mass = mass, .N = mesh->N};
    double volume, second[9], root[9], spread[3];
    size_t count = mesh->N;
    Status status = find_moments(mesh, &volume, frame.centre, second, err);
    if (status != STATUS_OK) return status;
    lump(mesh, volume, mass);
    if (!root_of(second, root) || !put_centre(&frame, volume, mass))
        return error_set(err, STATUS_BAD_INPUT, "the surface crosses itself: no solid has its centre and inertia");
    find_axes(&frame, volume, spread);
    if (share) points->count = 0;
    if (share && !find_shares(&frame, volume, second, share)) {
        find_points(&frame, volume, second, spread, mass, share, points);
        count += points->count;
    }
    for (size_t i = 0; i < count; i++) mass[i] *= total > 0 ? total / volume : density;
    return STATUS_OK;
}

bool rigid_spans(const double *position, const double *mass, size_t N) {
    Frame frame = {.position = position, .mass = mass, .N = N};
    double value[3], total = 0;
    for (size_t i = 0; i < N; i++) total += mass[i];
    for (size_t i = 0; i < 3 * N; i++) frame.centre[i % 3] += mass[i / 3] / total * position[i];
    find_axes(&frame, total, value);
    return value[1] > THIN * value[2];
}
