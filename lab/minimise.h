// SPDX-License-Identifier: Apache-2.0
// Minimises a sum of squares or another smooth function of few to some hundred variables within bounds, and says how
// well the result is determined. All in double, in a fixed order of sums.
//
//     minimise(&problem, &options, x, &result, err);    Levenberg-Marquardt, L-BFGS or Adam
//     minimise_spread(&problem, x, &spread, err);       standard errors, and directions that nothing determines
//
// The caller's function adds up residuals r(x): cost = sum r^2 / 2, gradient J'r, normal J'J, with J = dr/dx. So no
// Jacobian of all residuals is ever held. Only MINIMISE_LM and minimise_spread ask for J'J; for the other methods the
// cost need not be a sum of squares.
//
// Inside, a variable is measured by `unit`, or by its logarithm: z = x / unit, z = log x. Steps, tolerances, widths and
// directions are in z.
#ifndef VPD_LAB_MINIMISE_H
#define VPD_LAB_MINIMISE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum MinimiseMethod { MINIMISE_LM, MINIMISE_LBFGS, MINIMISE_ADAM } MinimiseMethod;

typedef struct MinimiseVariable {
    double low, high; // bounds; may be infinite. Above 0 with `log`
    double unit;      // above 0; how far counts as far for a variable that is not `log`
    bool log;         // moves as its logarithm
    bool fixed;       // stays where it is
} MinimiseVariable;

typedef struct MinimiseSums {
    double cost;         // sum of r^2 / 2. Not finite where the function has no value: a search goes back from there
    double residuals;    // how many
    double *gradient;    // (P) J'r; NULL: not wanted
    double *normal;      // (P,P) J'J; NULL: not wanted
    const double *basis; // (P,P) rows: directions in z along which derivatives are wanted, 0 where a row is 0; NULL:
                         // along x itself. minimise_spread alone asks
    bool far;            // by differences between the points that are a row of basis ahead and behind; else where x is
} MinimiseSums;

// z = x / unit or log x of variable i, and back.
double minimise_z(const MinimiseVariable *variable, double x);
double minimise_x(const MinimiseVariable *variable, double z);
double minimise_dx_dz(const MinimiseVariable *variable, double x);

// Fills in `out`; its arrays are 0 before. A status other than STATUS_OK ends everything.
typedef Status MinimiseFunction(void *context, const double *x, MinimiseSums *out, Error *err);

// What r(x) is like. With kinks, minimise_spread holds standard errors against the cost itself. With jumps, the slope
// nowhere says how far x may go, and minimise_spread looks past them: rough ones jump everywhere in one valley, which
// ends where some distances in a row cost more.
typedef enum MinimiseShape { MINIMISE_SMOOTH, MINIMISE_KINKS, MINIMISE_JUMPS, MINIMISE_ROUGH } MinimiseShape;

typedef struct MinimiseProblem {
    size_t variables; // P, at least 1
    const MinimiseVariable *variable;
    MinimiseFunction *function;
    void *context;
    MinimiseShape shape;
} MinimiseProblem;

// After each step that was taken, and once before the first, with what is best so far.
typedef void MinimiseReport(void *context, long iteration, double cost, const double *x);

typedef struct MinimiseOptions {
    MinimiseMethod method;
    long iterations;  // at most
    double tolerance; // ends when no z moves by more than this; 0: 1e-9. MINIMISE_LM also ends where a step of a
                      // hundredth of a standard error would do as much
    double rate;      // MINIMISE_ADAM: largest step of a z, falling to 0 over the iterations; 0: 0.03
    MinimiseReport *report;
    void *context; // of report
} MinimiseOptions;

typedef struct MinimiseResult {
    double first_cost, cost;
    long iterations, calls; // of the function
    bool converged;         // not ended by `iterations`
} MinimiseResult;

// x (P) holds the start, which is moved into the bounds, and then the best point that was met, also when the status is
// STATUS_INTERRUPTED (base/stop.h). STATUS_FAILED when the cost is not finite at the start.
Status minimise(const MinimiseProblem *problem, const MinimiseOptions *options, double *x, MinimiseResult *result,
                Error *err);

// Adds `rows` residuals and their rows of the Jacobian (rows,P), which may be NULL when sums->gradient is.
void minimise_add_rows(MinimiseSums *sums, size_t P, size_t rows, const double *residual, const double *jacobian);

// ---- how well a result is determined

// The curvature J'J over the variance of a residual, 2 cost / (residuals - free variables), is inverted. This holds for
// errors of the data that are independent and equally large. J is from differences over the standard errors that it
// gives: where r(x) has kinks, its slope at x itself says little about how far the data let x move.
typedef struct MinimiseSpread {
    size_t variables;
    double cost, variance; // at x; of a residual
    // (P) standard error of x; INFINITY where undetermined; 0 for one that is fixed or, rightly, at a bound
    double *error;
    double *covariance;  // (P,P) of z, of what is determined
    double *direction;   // (P,P) rows: unit vectors in z, least determined first
    double *width;       // (P) standard error along each of them; INFINITY: without effect
    size_t undetermined; // how many of the directions: wider than MINIMISE_LOST, or too weak for the arithmetic
    double *least;       // (P) the best point that was met, x or a better one, and its cost
    double least_cost;
} MinimiseSpread;

#define MINIMISE_LOST 1.0 // a factor of e, or one unit

// At x, which should be a minimum. A variable that is fixed or at a bound has no direction. Errors of differences can
// hide that a direction has no effect, so the function is asked again, by `basis`, for derivatives along the directions
// that were found: where x is, and then `far`, until the standard errors along them agree with the length of the
// differences, and unless the problem is smooth until the cost rises over them. A direction that explodes so far away
// keeps what was found nearer.
Status minimise_spread(const MinimiseProblem *problem, const double *x, MinimiseSpread *out, Error *err);
void minimise_spread_free(MinimiseSpread *spread); // accepts {0}

// Moves x along a direction in z until variable i is `to`: along one that is not determined, the cost hardly changes.
// Stops at bounds, each variable by itself.
void minimise_along(const MinimiseProblem *problem, const double *direction, size_t i, double to, double *x);

// Eigenvalues (n), rising, and unit eigenvectors, the rows of `vector` (n,n), of a symmetric matrix (n,n), which is
// overwritten. By Jacobi rotations.
void minimise_eigen(size_t n, double *matrix, double *value, double *vector);

#endif
