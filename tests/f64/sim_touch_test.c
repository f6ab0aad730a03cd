// SPDX-License-Identifier: Apache-2.0
// One contact of a particle with a triangle, or of two edges: the nearest point against a search, momenta of the
// forces, and the adjoint against differences, at face, edges and corners, on both sides, where it sticks and where it
// slides.
#include "base/random.h"
#include "sim/touch.h"
#include "tests/test.h"

static double uniform(uint32_t stream, size_t i) { // in -1 .. 1
    const Random4 r = random4((RandomKey){.seed = 3, .purpose = RANDOM_TEST, .step = stream}, i);
    return r.v[0] / 2147483648.0 - 1;
}

static const int places[] = {7, 3, 5, 6, 1, 2, 4, SIM_TOUCH_EDGES};
enum { PLACES = 8, TRIANGLE_PLACES = 7 };

// ---- the nearest point

static double segment(const double x[3], const double a[3], const double b[3]) {
    double along[3], from[3], off[3];
    num_sub(b, a, along);
    num_sub(x, a, from);
    const double t = fmin(fmax(num_dot(along, from) / fmax(num_dot(along, along), 1e-300), 0), 1);
    for (int i = 0; i < 3; i++) off[i] = from[i] - t * along[i];
    return num_dot(off, off);
}

// Squared distance from a triangle: the least of its edges' and of that to its plane, where the foot is inside.
static double search(const double x[3], const double a[3], const double b[3], const double c[3]) {
    const double *corner[3] = {a, b, c};
    double least = fmin(segment(x, a, b), fmin(segment(x, b, c), segment(x, c, a))), ab[3], ac[3], from[3], normal[3];
    num_sub(b, a, ab);
    num_sub(c, a, ac);
    num_sub(x, a, from);
    num_cross(ab, ac, normal);
    bool inside = true;
    for (int j = 0; j < 3; j++) {
        double along[3], off[3], left[3];
        num_sub(corner[(j + 1) % 3], corner[j], along);
        num_sub(x, corner[j], off);
        num_cross(along, off, left);
        inside = inside && num_dot(left, normal) > 0;
    }
    const double height = num_dot(normal, from), size = num_dot(normal, normal);
    return inside && size > 0 ? fmin(least, height * height / size) : least;
}

// A triangle, of height `thin` over its longest edge or at its shortest, and a particle near or far.
static void draw(size_t k, double thin, double x[4][3]) {
    const double along = uniform(2, k), far = uniform(3, k) < 0 ? 1e-3 : 1, s = uniform(4, k), t = uniform(5, k);
    for (size_t i = 0; i < 3; i++) {
        x[1][i] = uniform(6, 3 * k + i);
        x[2][i] = x[1][i] + uniform(7, 3 * k + i);
        const double kink = thin * uniform(8, 3 * k + i);
        x[3][i] = k % 2 ? x[1][i] + along * (x[2][i] - x[1][i]) + kink : x[2][i] + kink;
        x[0][i] = x[1][i] + s * (x[2][i] - x[1][i]) + t * (x[3][i] - x[1][i]) + far * uniform(9, 3 * k + i);
    }
}

// The place that is named has the distance that the search finds, as far as a triangle so thin has one: where rounding
// hides its area (an angle below 3e-8) an edge stands for it.
static void test_nearest(void **state) {
    (void)state;
    for (double thin = 1; thin > 1e-13; thin /= 10) {
        const double allowed = thin > 1e-4 ? 1e-12 : 1e-7;
        int found[8] = {0};
        for (size_t k = 0; k < 20000; k++) {
            double x[4][3], square;
            SimTouchPoint p;
            draw(k, thin, x);
            const int on = sim_touch_nearest(x[0], x[1], x[2], x[3], &square);
            const double least = sqrt(search(x[0], x[1], x[2], x[3]));
            sim_touch_point(on, 1, x, &p);
            found[on]++;
            assert_close(sqrt(square), least, allowed, 0);
            assert_close(fabs(p.gap), least, allowed, 0);
        }
        for (int i = 0; i < TRIANGLE_PLACES && thin > 1e-2; i++) assert_true(found[places[i]] > 100);
    }
}

// Triangles without area, whose corners lie on a line or at one place: finite, and at the right distance.
static void test_no_area(void **state) {
    (void)state;
    static const double parts[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 0, 0}};
    for (size_t k = 0; k < 1400; k++) {
        double x[4][3], v[4][3] = {{1, 2, 3}}, f[4][3], square;
        const SimContact contact = {100, 3, 4, 0.5, 10, 2};
        for (size_t i = 0; i < 3; i++) {
            for (size_t j = 0; j < 3; j++) x[1 + j][i] = parts[k % 7][j] * uniform(11, 3 * (k / 7) + i);
            x[0][i] = 2 * uniform(12, 3 * k + i);
        }
        const int on = sim_touch_nearest(x[0], x[1], x[2], x[3], &square);
        assert_true(on != SIM_TOUCH_FACE);
        assert_close(square, search(x[0], x[1], x[2], x[3]), 1e-12, 0);
        sim_touch_force(&contact, on, 1, x, v, f);
        for (int j = 0; j < 12; j++) assert_true(isfinite(f[j / 3][j % 3]));
    }
}

// Points of two lines are as near to each other as those that a search along one of them finds.
static void test_crossing(void **state) {
    (void)state;
    for (size_t k = 0; k < 2000; k++) {
        double x[4][3], points[2][3], least = INFINITY;
        SimTouchPoint p;
        for (size_t i = 0; i < 12; i++) x[i / 3][i % 3] = uniform(13, 12 * k + i);
        sim_touch_point(SIM_TOUCH_EDGES, k % 2 ? 1 : -1, x, &p);
        for (int i = 0; i < 3; i++) {
            points[0][i] = x[0][i] + p.t[0] * (x[3][i] - x[0][i]);
            points[1][i] = x[1][i] + p.t[1] * (x[2][i] - x[1][i]);
            assert_close(points[0][i] - points[1][i], p.away[i], 1e-9, 0);
            assert_close(p.gap * p.normal[i], p.away[i], 1e-9, 0);
        }
        assert_close(p.weight[0] + p.weight[1] + p.weight[2] + p.weight[3], 0, 1e-9, 0);
        double far[2][3]; // the second line, as long as the nearest point needs
        for (int i = 0; i < 3; i++)
            for (int end = 0; end < 2; end++) far[end][i] = points[1][i] + (end ? 9 : -9) * (x[2][i] - x[1][i]);
        for (int step = -50; step <= 50; step++) {
            double from[3];
            for (int i = 0; i < 3; i++) from[i] = points[0][i] + 0.001 * step * (x[3][i] - x[0][i]);
            least = fmin(least, segment(from, far[0], far[1]));
        }
        assert_close(sqrt(least), fabs(p.gap), 1e-9, 0);
    }
}

// ---- forces

typedef struct Case {
    SimContact contact;
    int on;
    double side, x[4][3], v[4][3];
} Case;

// A particle near one place of a triangle.
static void near_triangle(int place, double side, double x[4][3]) {
    static const double triangle[3][3] = {{0.1, 0, 0.2}, {1.2, 0.1, 0}, {0.3, 0.2, 1.1}};
    double centre[3] = {0, 0, 0}, base[3] = {0, 0, 0}, normal[3], ab[3], ac[3];
    num_sub(triangle[1], triangle[0], ab);
    num_sub(triangle[2], triangle[0], ac);
    num_cross(ab, ac, normal);
    const double length = sqrt(num_dot(normal, normal));
    for (int j = 0; j < 3; j++) {
        num_add_scaled(1.0 / 3, triangle[j], centre);
        if (place & 1 << j) num_add_scaled(1.0 / __builtin_popcount((unsigned)place), triangle[j], base);
        memcpy(x[1 + j], triangle[j], sizeof triangle[j]);
    }
    const double gap = side * 0.03;
    double square;
    for (size_t i = 0; i < 3; i++) x[0][i] = base[i] + gap * normal[i] / length;
    if (place != SIM_TOUCH_FACE) // beyond the edge or corner, on either side of the plane
        for (size_t i = 0; i < 3; i++) x[0][i] += 0.05 * (base[i] - centre[i]);
    assert_int_equal(sim_touch_nearest(x[0], x[1], x[2], x[3], &square), place);
}

// sticks: friction is below its cone; deep: damping is at its full strength.
static Case touch_at(int place, double side, bool sticks, bool leaves, bool deep) {
    static const double edges[4][3] = {{0.1, 0.03, -0.4}, {-0.7, 0, 0.05}, {0.6, 0.1, 0.1}, {-0.1, 0.08, 0.6}};
    Case c = {.on = place, .side = side};
    const size_t seed = (size_t)place + 8 * (size_t)(side > 0) + 16 * sticks + 32 * leaves + 64 * deep;
    if (place == SIM_TOUCH_EDGES) memcpy(c.x, edges, sizeof edges);
    else near_triangle(place, side, c.x);
    for (size_t i = 0; i < 12; i++) c.v[i / 3][i % 3] = 0.3 * uniform(20, 12 * seed + i);
    double between[3], sideways[3], vn, speed;
    SimTouchPoint p;
    sim_touch_point(place, side, c.x, &p);
    sim_touch_between(&p, c.v, between);
    vn = num_dot(p.normal, between);
    for (int i = 0; i < 3; i++) sideways[i] = between[i] - vn * p.normal[i];
    speed = sqrt(num_dot(sideways, sideways));
    for (int i = 0; i < 3; i++) { // as fast as wanted, along the normal and sideways
        const double more =
            ((sticks ? 0.02 : 0.5) / speed - 1) * sideways[i] + ((leaves ? 0.2 : -0.2) - vn) * p.normal[i];
        c.v[0][i] += more;
        if (place == SIM_TOUCH_EDGES) c.v[3][i] += more;
    }
    c.contact = (SimContact){.k_e = 90, .k_d = 5, .k_f = 8, .mu = 0.2, .margin = p.gap + 0.07, .ramp = deep ? 50 : 6};
    const SimContactState friction = sim_contact_state(&c.contact, p.normal, 0.07, between);
    assert_true(deep || friction.ramp < 1);
    return c;
}

// Cases of all kinds, one after another.
static bool next_case(size_t k, Case *c) {
    if (k >= PLACES * 16) return false;
    *c = touch_at(places[k / 16], k & 1 ? 1 : -1, k & 2, k & 4, k & 8);
    return true;
}

// Forces add up to 0. So do their moments, but for that of friction, whose arm is the gap.
static void test_momenta(void **state) {
    (void)state;
    Case c;
    int sliding = 0, sticking = 0;
    for (size_t k = 0; next_case(k, &c); k++) {
        double f[4][3], sum[3] = {0, 0, 0}, moment[3] = {0, 0, 0}, arm[3];
        SimTouchPoint p;
        sim_touch_point(c.on, c.side, c.x, &p);
        sim_touch_force(&c.contact, c.on, c.side, c.x, c.v, f);
        for (int j = 0; j < 4; j++) {
            num_add_scaled(1, f[j], sum);
            num_add_cross(c.x[j], f[j], moment);
        }
        for (int i = 0; i < 3 && c.on == SIM_TOUCH_EDGES; i++) f[0][i] += f[3][i]; // of the first edge
        num_cross(p.away, f[0], arm); // nothing where f is along the normal
        for (int i = 0; i < 3; i++) {
            assert_close(sum[i], 0, 1e-14, 0);
            assert_close(moment[i], arm[i], 1e-14, 0);
        }
        const double fn = num_dot(f[0], p.normal), ft = sqrt(fmax(num_dot(f[0], f[0]) - fn * fn, 0));
        assert_true(fn > 0 && ft > 0);
        assert_true(ft <= c.contact.mu * fn * (1 + 1e-12));
        if (ft > c.contact.mu * fn * (1 - 1e-12)) sliding++;
        else sticking++;
        c.contact.mu = 0;
        sim_touch_force(&c.contact, c.on, c.side, c.x, c.v, f);
        memset(moment, 0, sizeof moment);
        for (int j = 0; j < 4; j++) num_add_cross(c.x[j], f[j], moment);
        for (int i = 0; i < 3; i++) assert_close(moment[i], 0, 1e-14, 0);
    }
    assert_true(sliding == PLACES * 8 && sticking == PLACES * 8);
}

// Where the particle is within the triangle the force is that of a plane; at an edge it points to the particle.
static void test_directions(void **state) {
    (void)state;
    double x[4][3] = {{0.25, 0.25, -0.1}, {0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, v[4][3] = {{0}}, f[4][3];
    const SimContact contact = {.k_e = 100, .margin = 0.3, .ramp = 1};
    sim_touch_force(&contact, 7, 1, x, v, f); // behind: 0.4 deep
    assert_close(f[0][2], 40, 0, 1e-14);
    assert_close(f[1][2], -20, 0, 1e-14);
    assert_close(f[2][2], -10, 0, 1e-14);
    sim_touch_force(&contact, 7, -1, x, v, f); // no inside: 0.2 from the margin, pushed on downwards
    assert_close(f[0][2], -20, 0, 1e-14);
    x[0][0] = 0.5, x[0][1] = -0.1, x[0][2] = 0;
    sim_touch_force(&contact, 3, 1, x, v, f);
    assert_close(f[0][1], -20, 0, 1e-14);
    assert_close(f[1][1], 10, 0, 1e-14);
    assert_close(f[3][1], 0, 0, 0);
}

// ---- the adjoint

static double loss_of(const Case *c, const double w[4][3]) {
    double f[4][3], sum = 0;
    sim_touch_force(&c->contact, c->on, c->side, c->x, c->v, f);
    for (int j = 0; j < 4; j++) sum += num_dot(w[j], f[j]);
    return sum;
}

// Central differences of one number, extrapolated.
static double slope_of(Case *c, double *x, const double w[4][3]) {
    const double kept = *x, h = 1e-4;
    double slope[2];
    for (int k = 0; k < 2; k++) {
        const double step = k ? h / 2 : h;
        *x = kept + step;
        const double above = loss_of(c, w);
        *x = kept - step;
        slope[k] = (above - loss_of(c, w)) / (2 * step);
    }
    *x = kept;
    return (4 * slope[1] - slope[0]) / 3;
}

// Largest difference between adjoint and differences, over the size of the gradient.
static double adjoint_error(Case *c, double planted) {
    double w[4][3], gx[4][3], gv[4][3], worst = 0;
    SimContact g = {0, 0, 0, 0, 0, 0};
    for (size_t i = 0; i < 12; i++) w[i / 3][i % 3] = uniform(30, i);
    sim_touch_adjoint(&c->contact, c->on, c->side, c->x, c->v, w, gx, gv, &g);
    gx[1][0] += planted;
    for (size_t i = 0; i < 12; i++) {
        worst = fmax(worst, fabs(gx[i / 3][i % 3] - slope_of(c, &c->x[i / 3][i % 3], w)) / c->contact.k_e);
        worst = fmax(worst, fabs(gv[i / 3][i % 3] - slope_of(c, &c->v[i / 3][i % 3], w)) / c->contact.k_f);
    }
    worst = fmax(worst, fabs(g.k_e - slope_of(c, &c->contact.k_e, w)));
    worst = fmax(worst, fabs(g.k_d - slope_of(c, &c->contact.k_d, w)));
    worst = fmax(worst, fabs(g.k_f - slope_of(c, &c->contact.k_f, w)));
    return fmax(worst, fabs(g.mu - slope_of(c, &c->contact.mu, w)));
}

static void test_adjoint(void **state) {
    (void)state;
    Case c;
    for (size_t k = 0; next_case(k, &c); k++) {
        const double error = adjoint_error(&c, 0);
        if (!(error < 1e-9)) fail_msg("case %zu, at %d: the adjoint is %.3g from differences", k, c.on, error);
        assert_true(adjoint_error(&c, 1e-4) > 1e-7);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_nearest),    cmocka_unit_test(test_no_area),
                                       cmocka_unit_test(test_crossing),   cmocka_unit_test(test_momenta),
                                       cmocka_unit_test(test_directions), cmocka_unit_test(test_adjoint)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
