// SPDX-License-Identifier: Apache-2.0
// Minimisers on functions whose minimum and covariance are known.
#include "lab/minimise.h"

#include "base/random.h"
#include "base/stop.h"
#include "tests/test.h"

static const MinimiseVariable plain = {.low = -INFINITY, .high = INFINITY, .unit = 1};
static const MinimiseVariable logarithmic = {.low = 1e-6, .high = 1e6, .unit = 1, .log = true};

// A residual and its derivatives, along sums->basis where that is wanted.
static void add_row(MinimiseSums *sums, const MinimiseVariable *variable, const double *x, size_t P, double r,
                    const double *J) {
    double along[3] = {0};
    for (size_t k = 0; k < P * P && sums->basis; k++)
        along[k / P] += sums->basis[k] * J[k % P] * minimise_dx_dz(variable + k % P, x[k % P]);
    minimise_add_rows(sums, P, 1, &r, sums->basis ? along : J);
}

// ---- Rosenbrock's valley: r = (10 (y - x^2), 1 - x)

static Status rosenbrock(void *context, const double *x, MinimiseSums *out, Error *err) {
    const double r[] = {10 * (x[1] - x[0] * x[0]), 1 - x[0]}, J[] = {-20 * x[0], 10, -1, 0};
    (void)context;
    (void)err;
    minimise_add_rows(out, 2, 2, r, J);
    return STATUS_OK;
}

static double find_valley(MinimiseMethod method, long iterations, MinimiseResult *result) {
    const MinimiseVariable variable[] = {plain, plain};
    const MinimiseProblem problem = {2, variable, rosenbrock, NULL, MINIMISE_KINKS};
    const MinimiseOptions options = {.method = method, .iterations = iterations, .rate = 0.05};
    double x[] = {-1.2, 1};
    Error err;
    assert_status_ok(minimise(&problem, &options, x, result, &err), err);
    return hypot(x[0] - 1, x[1] - 1);
}

static void test_valley(void **state) {
    MinimiseResult result;
    (void)state;
    assert_close(find_valley(MINIMISE_LM, 100, &result), 0, 1e-9, 0); // J'J is exact at a residual of 0
    assert_true(result.converged && result.iterations < 40);
    assert_close(result.first_cost, 12.1, 0, 1e-12);
    assert_close(find_valley(MINIMISE_LBFGS, 100, &result), 0, 1e-6, 0);
    assert_true(result.converged);
    assert_close(find_valley(MINIMISE_ADAM, 3000, &result), 0, 1e-2, 0); // a first-order method in a bent valley
    find_valley(MINIMISE_LM, 3, &result);
    assert_false(result.converged);
}

// ---- y = a exp(-b t) at T times, with noise

enum { TIMES = 50 };

typedef struct Decay {
    double y[TIMES], slope; // slope: 1, or what a planted fault multiplies the Jacobian by
    bool cliff;             // no value where b > 3
} Decay;

static Status decay_sums(void *context, const double *x, MinimiseSums *out, Error *err) {
    const Decay *d = context;
    (void)err;
    for (int i = 0; i < TIMES; i++) {
        const double t = 0.1 * i, e = exp(-x[1] * t), r = x[0] * e - d->y[i];
        const double J[] = {d->slope * e, d->slope * -t * x[0] * e};
        add_row(out, (MinimiseVariable[]){plain, logarithmic}, x, 2, r, J);
    }
    if (d->cliff && x[1] > 3) out->cost = NAN;
    return STATUS_OK;
}

static Decay decay_data(double noise, uint32_t draw) {
    Decay d = {.slope = 1};
    for (uint32_t i = 0; i < TIMES; i++) {
        const RandomKey key = {9, RANDOM_TEST, draw, 0};
        const double u = 1 - (double)random_uniform(key, 2 * i), v = (double)random_uniform(key, 2 * i + 1);
        d.y[i] = 2 * exp(-0.7 * 0.1 * i) + noise * sqrt(-2 * log(u)) * cos(2 * 3.141592653589793 * v);
    }
    return d;
}

static void fit_decay(Decay *d, MinimiseMethod method, double x[2], MinimiseSpread *spread) {
    const MinimiseVariable variable[] = {plain, logarithmic};
    const MinimiseProblem problem = {2, variable, decay_sums, d, MINIMISE_KINKS};
    const MinimiseOptions options = {.method = method, .iterations = 200};
    MinimiseResult result;
    Error err;
    x[0] = 1, x[1] = 2.5;
    assert_status_ok(minimise(&problem, &options, x, &result, &err), err);
    assert_true(result.converged && result.cost < result.first_cost);
    if (spread) assert_status_ok(minimise_spread(&problem, x, spread, &err), err);
}

// Standard errors against the inverse of the 2x2 matrix J'J, written out.
static void test_covariance(void **state) {
    Decay d = decay_data(0.05, 0);
    MinimiseSpread spread;
    double x[2], aa = 0, ab = 0, bb = 0, sum = 0;
    (void)state;
    fit_decay(&d, MINIMISE_LM, x, &spread);
    for (int i = 0; i < TIMES; i++) {
        const double t = 0.1 * i, e = exp(-x[1] * t), b = -t * x[0] * e;
        aa += e * e, ab += e * b, bb += b * b, sum += (x[0] * e - d.y[i]) * (x[0] * e - d.y[i]);
    }
    const double variance = sum / (TIMES - 2), determinant = aa * bb - ab * ab;
    assert_close(spread.variance, variance, 0, 1e-12);
    assert_close(spread.error[0], sqrt(variance * bb / determinant), 0, 1e-9);
    assert_close(spread.error[1], sqrt(variance * aa / determinant), 0, 1e-9);
    assert_close(spread.covariance[1] * x[1], -variance * ab / determinant, 0, 1e-9);
    assert_int_equal(spread.undetermined, 0);
    minimise_spread_free(&spread);
}

// How many of 300 noisy fits have the truth within one standard error, of two variables.
static int covered(double slope) {
    int inside = 0;
    for (uint32_t draw = 0; draw < 300; draw++) {
        Decay d = decay_data(0.05, draw);
        MinimiseSpread spread;
        double x[2];
        d.slope = 1;
        fit_decay(&d, MINIMISE_LM, x, &spread);
        inside += fabs(x[0] - 2) < slope * spread.error[0];
        inside += fabs(x[1] - 0.7) < slope * spread.error[1];
        minimise_spread_free(&spread);
    }
    return inside;
}

// 68.3 % of 600; the two errors of a fit are correlated, so four standard deviations of 300 draws are 0.107. Planted:
// bars of twice the length.
static void test_coverage(void **state) {
    (void)state;
    assert_close(covered(1) / 600.0, 0.683, 0.107, 0);
    assert_false(test_close(covered(2) / 600.0, 0.683, 0.107, 0));
}

// All methods agree, and survive a region without values. Planted: a Jacobian of the wrong sign finds no way down.
static void test_methods(void **state) {
    Decay d = decay_data(0.01, 1);
    double a[2], b[2];
    (void)state;
    fit_decay(&d, MINIMISE_LM, a, NULL);
    fit_decay(&d, MINIMISE_LBFGS, b, NULL);
    assert_close(b[0], a[0], 0, 1e-6);
    assert_close(b[1], a[1], 0, 1e-6);
    d.cliff = true; // the start's first steps lead beyond
    fit_decay(&d, MINIMISE_LM, b, NULL);
    assert_close(b[1], a[1], 0, 1e-6);
    fit_decay(&d, MINIMISE_LBFGS, b, NULL);
    assert_close(b[1], a[1], 0, 1e-6);
    d.slope = -1;
    const MinimiseVariable variable[] = {plain, logarithmic};
    const MinimiseProblem problem = {2, variable, decay_sums, &d, MINIMISE_KINKS};
    MinimiseResult result;
    Error err;
    b[0] = 1, b[1] = 2.5;
    assert_status_ok(minimise(&problem, &(MinimiseOptions){.method = MINIMISE_LM, .iterations = 50}, b, &result, &err),
                     err);
    assert_true(result.cost == result.first_cost && b[1] == 2.5);
}

static void test_bounds(void **state) {
    static const MinimiseMethod methods[] = {MINIMISE_LM, MINIMISE_LBFGS, MINIMISE_ADAM};
    (void)state;
    for (int k = 0; k < 3; k++) {
        Decay d = decay_data(0, 0);
        MinimiseVariable variable[] = {plain, logarithmic};
        const MinimiseProblem problem = {2, variable, decay_sums, &d, MINIMISE_KINKS};
        const MinimiseOptions options = {.method = methods[k], .iterations = 500};
        MinimiseResult result;
        MinimiseSpread spread;
        Error err;
        double x[] = {5, 2}; // 5 is moved into the bounds
        variable[0].high = 1.5;
        assert_status_ok(minimise(&problem, &options, x, &result, &err), err);
        assert_true(x[0] == 1.5 && x[1] > 0.3 && x[1] < 0.7);
        assert_status_ok(minimise_spread(&problem, x, &spread, &err), err);
        assert_true(spread.error[0] == 0 && spread.error[1] > 0 && isfinite(spread.error[1]));
        minimise_spread_free(&spread);
        variable[0] = (MinimiseVariable){.fixed = true};
        x[0] = 2, x[1] = 2;
        assert_status_ok(minimise(&problem, &options, x, &result, &err), err);
        assert_true(x[0] == 2);
        assert_close(x[1], 0.7, 0, methods[k] == MINIMISE_ADAM ? 1e-3 : 1e-6);
    }
}

// ---- what is not determined: r_i = a b t_i + 0 c - y_i, so only the product of a and b

static Status product(void *context, const double *x, MinimiseSums *out, Error *err) {
    (void)err;
    for (int i = 1; i <= 20; i++) {
        const double r = x[0] * x[1] * i - 6 * i + *(double *)context * (i % 2 - 0.5);
        const double J[] = {x[1] * i, x[0] * i, 0};
        add_row(out, (MinimiseVariable[]){logarithmic, logarithmic, plain}, x, 3, r, J);
    }
    return STATUS_OK;
}

static void test_undetermined(void **state) {
    const MinimiseVariable variable[] = {logarithmic, logarithmic, plain};
    double noise = 0.01, x[] = {1, 2, 5};
    const MinimiseProblem problem = {3, variable, product, &noise, MINIMISE_KINKS};
    MinimiseResult result;
    MinimiseSpread spread;
    Error err;
    (void)state;
    assert_status_ok(minimise(&problem, &(MinimiseOptions){.method = MINIMISE_LM, .iterations = 50}, x, &result, &err),
                     err);
    assert_true(result.converged && x[2] == 5);
    assert_close(x[0] * x[1], 6, 0, 1e-3);   // the noise
    assert_close(x[0] / x[1], 0.5, 0, 1e-6); // not moved along what does nothing
    assert_status_ok(minimise_spread(&problem, x, &spread, &err), err);
    assert_int_equal(spread.undetermined, 2);
    for (int i = 0; i < 3; i++) assert_true(isinf(spread.error[i]));
    for (int k = 0; k < 2; k++) assert_true(isinf(spread.width[k]));
    assert_close(spread.direction[2 * 3] / spread.direction[2 * 3 + 1], 1, 0, 1e-9);
    assert_true(spread.width[2] < 0.01);
    minimise_spread_free(&spread);
}

// ---- a kink: differences along x1 are large, but the cost does not rise

static Status kink(void *context, const double *x, MinimiseSums *out, Error *err) {
    const double r[] = {1, 1, x[0] / 0.3, 0}, J[][2] = {{0, 0}, {0, 0}, {1 / 0.3, 0}, {0, 20}};
    (void)context;
    (void)err;
    for (int i = 0; i < 4; i++) add_row(out, (MinimiseVariable[]){plain, plain}, x, 2, r[i], J[i]);
    return STATUS_OK;
}

static void test_kink(void **state) {
    const MinimiseVariable variable[] = {plain, plain};
    const double x[] = {0, 0};
    (void)state;
    for (int kinked = 0; kinked < 2; kinked++) {
        const MinimiseProblem problem = {2, variable, kink, NULL, kinked ? MINIMISE_KINKS : MINIMISE_SMOOTH};
        MinimiseSpread spread;
        Error err;
        assert_status_ok(minimise_spread(&problem, x, &spread, &err), err);
        assert_close(spread.error[0], 0.3, 0, 1e-9);
        assert_int_equal(spread.undetermined, kinked);
        assert_true(kinked ? isinf(spread.error[1]) : test_close(spread.error[1], 0.05, 0, 1e-9));
        assert_close(fabs(spread.direction[kinked]), 1, 0, 1e-9); // the least determined is the first
        minimise_spread_free(&spread);
    }
}

// ---- a saw-tooth on a wide valley

// Two residuals for a valley of standard error .1 around 0, and teeth of height 12 that are .013 wide. A second
// variable has no effect.
static Status teeth(void *context, const double *x, MinimiseSums *out, Error *err) {
    const double share = x[0] / 0.013 - floor(x[0] / 0.013), high = sqrt(12);
    const double r[] = {1, 1, x[0] / 0.1, high * share}, J[4][2] = {{0}, {0}, {1 / 0.1}, {high / 0.013}};
    (void)err;
    for (int i = 0; i < 4; i++) add_row(out, (MinimiseVariable[]){plain, plain}, x, *(size_t *)context, r[i], J[i]);
    return STATUS_OK;
}

// The error is that of the valley, wider by the teeth (root of 1 + 12, and teeth are found to a factor of 2), not that
// of a tooth; and the better tooth is found.
static void test_teeth(void **state) {
    const double x[] = {0.1432, 0};
    const MinimiseVariable variable[] = {plain, plain};
    (void)state;
    for (size_t P = 1; P <= 2; P++)
        for (int shape = MINIMISE_KINKS; shape <= MINIMISE_JUMPS; shape++) {
            const MinimiseProblem problem = {P, variable, teeth, &P, shape};
            MinimiseSpread spread;
            Error err;
            assert_status_ok(minimise_spread(&problem, x, &spread, &err), err);
            if (shape == MINIMISE_KINKS) assert_true(spread.error[0] < 0.02 * (double)P);
            else assert_true(spread.error[0] > 0.13 && spread.error[0] < 0.8 && fabs(spread.least[0]) < 0.1);
            assert_int_equal(spread.undetermined, P - 1);
            minimise_spread_free(&spread);
        }
}

// ---- parts

static void test_eigen(void **state) {
    enum { N = 7 };
    double matrix[N * N], copy[N * N], value[N], vector[N * N];
    (void)state;
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            matrix[i * N + j] = matrix[j * N + i] =
                (double)random_uniform((RandomKey){3, RANDOM_TEST, 0, 0}, i * N + j);
    memcpy(copy, matrix, sizeof copy);
    minimise_eigen(N, matrix, value, vector);
    for (size_t k = 0; k < N; k++)
        for (size_t i = 0; i < N; i++) {
            double sum = 0;
            for (size_t j = 0; j < N; j++) sum += copy[i * N + j] * vector[k * N + j];
            assert_close(sum, value[k] * vector[k * N + i], 1e-13, 0); // rounding of entries below 1
            assert_true(k == 0 || value[k] >= value[k - 1]);
        }
}

static Status stops(void *context, const double *x, MinimiseSums *out, Error *err) {
    if (++*(int *)context == 5) stop_request(STOP_ASKED);
    return rosenbrock(NULL, x, out, err);
}

static void test_stop(void **state) {
    static const MinimiseMethod methods[] = {MINIMISE_LM, MINIMISE_LBFGS, MINIMISE_ADAM};
    (void)state;
    for (int k = 0; k < 3; k++) {
        const MinimiseVariable variable[] = {plain, plain};
        int calls = 0;
        const MinimiseProblem problem = {2, variable, stops, &calls, MINIMISE_KINKS};
        MinimiseResult result;
        double x[] = {-1.2, 1};
        Error err;
        Status status =
            minimise(&problem, &(MinimiseOptions){.method = methods[k], .iterations = 99}, x, &result, &err);
        stop_clear();
        assert_int_equal(status, STATUS_INTERRUPTED);
        assert_true(calls == 5 && result.cost < result.first_cost && x[0] != -1.2);
    }
}

static Status nowhere(void *context, const double *x, MinimiseSums *out, Error *err) {
    (void)context;
    (void)err;
    out->cost = x[0] * NAN;
    return STATUS_OK;
}

static void test_no_start(void **state) {
    const MinimiseProblem problem = {1, &plain, nowhere, NULL, MINIMISE_KINKS};
    MinimiseResult result;
    double x = 1;
    Error err;
    (void)state;
    assert_status_error(minimise(&problem, &(MinimiseOptions){.iterations = 9}, &x, &result, &err), STATUS_FAILED, err,
                        "not finite at the start");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valley),  cmocka_unit_test(test_covariance), cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_methods), cmocka_unit_test(test_bounds),     cmocka_unit_test(test_undetermined),
        cmocka_unit_test(test_kink),    cmocka_unit_test(test_teeth),      cmocka_unit_test(test_eigen),
        cmocka_unit_test(test_stop),    cmocka_unit_test(test_no_start)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
