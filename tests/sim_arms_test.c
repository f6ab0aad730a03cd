// SPDX-License-Identifier: Apache-2.0
// Edges of bodies with thin arms, U, L, T, H, crosses and frames: none touches beyond an arm where both are apart.
#define VPD_DOUBLE // the element headers, for what SIM_F64 finds
#include "sim/solver.h"
#include "sim/touching.h"
#include "tests/sim_boxes.h"
#include "tests/sim_meeting.h"
#include "tests/sim_run.h"

static const SimOptions exact = {.precision = SIM_F64, .threads = 1};

// U, L, T, H, cross and frame: cells of a square of three by three, each a box.
static const int masks[] = {0755, 0711, 0722, 0575, 0272, 0757};
enum {
    MASKS = sizeof masks / sizeof *masks,
    LINES = 4,
    CORNERS = 2 * LINES * LINES,
    SHAPE_PARTICLES = CORNERS + 1200,
    SHAPE_FACES = 2500
};

typedef struct Shape {
    Box cell[9];
    size_t cells, faces, particles;
    double x[3 * SHAPE_PARTICLES], thin; // metres through the thinnest cell
    int32_t face[3 * SHAPE_FACES];
} Shape;

static bool is_solid(int mask, int i, int j, int k) {
    return i >= 0 && i < 3 && j >= 0 && j < 3 && k == 0 && (mask >> (3 * j + i) & 1);
}

static void add_cell(int mask, const int at[3], Shape *out) {
    const int32_t step[3] = {1, LINES, LINES * LINES}, first = at[0] + LINES * at[1];
    for (int side = 0; side < 6; side++) {
        const int axis = side % 3, up = side / 3;
        const int32_t low = first + up * step[axis], a = step[(axis + 1) % 3], b = step[(axis + 2) % 3];
        const int32_t turned[2][6] = {{0, b, a + b, 0, a + b, a}, {0, a, a + b, 0, a + b, b}};
        int next[3] = {at[0], at[1], 0};
        next[axis] += up ? 1 : -1;
        if (is_solid(mask, next[0], next[1], next[2])) continue;
        for (int j = 0; j < 6; j++) out->face[3 * out->faces + (size_t)j] = low + turned[up][j];
        out->faces += 2;
    }
    Box *box = &out->cell[out->cells++];
    for (int c = 0; c < 3; c++) {
        box->middle[c] = out->x[3 * first + c];
        for (int k = 0; k < 3; k++) {
            box->half[k][c] = (out->x[3 * (first + step[k]) + c] - out->x[3 * first + c]) / 2;
            box->middle[c] += box->half[k][c];
        }
    }
    for (int k = 0; k < 3; k++) out->thin = fmin(out->thin, 2 * sqrt(vector_dot(box->half[k], box->half[k])));
}

// Arms of 1 to 3 cm, 15 to 40 cm deep, around hollows that the other shape may be in.
static void draw_shape(uint32_t n, uint32_t first, double spread, Shape *out) {
    double line[3][LINES] = {{0}}, turn[3], middle[3];
    const int mask = masks[(int)(uniform(n, first) * MASKS / 2 + MASKS / 2.0) % MASKS];
    *out = (Shape){.thin = INFINITY, .particles = CORNERS};
    for (uint32_t c = 0; c < 3; c++) {
        const double arm = 0.02 + 0.01 * uniform(n, first + 1 + c), all = 0.3 + 0.15 * uniform(n, first + 4 + c);
        line[c][1] = c == 2 ? all : arm, line[c][2] = all - arm, line[c][3] = all;
        turn[c] = 3 * uniform(n, first + 7 + c);
        middle[c] = spread * uniform(n, first + 10 + c);
    }
    for (int i = 0; i < CORNERS; i++) {
        const int at[3] = {i % LINES, i / LINES % LINES, i / LINES / LINES};
        double from[3];
        for (int c = 0; c < 3; c++) from[c] = line[c][at[c]] - line[c][c == 2 ? 1 : 3] / 2;
        sim_scene_turn(turn, from, out->x + 3 * i);
        for (int c = 0; c < 3; c++) out->x[3 * i + c] += middle[c];
    }
    for (int at[3] = {0}; at[1] < 3; at[1]++)
        for (at[0] = 0; at[0] < 3; at[0]++)
            if (is_solid(mask, at[0], at[1], 0)) add_cell(mask, at, out);
}

static bool is_on_hull(const Shape *s, const int32_t *face) {
    double e[2][3], normal[3], to[3], above = 0;
    for (int k = 0; k < 2; k++) vector_between(s->x, face[0], face[1 + k], e[k]);
    vector_cross(e[0], e[1], normal);
    for (size_t i = 0; i < 3 * s->faces; i++) {
        vector_between(s->x, face[0], s->face[i], to);
        above = fmax(above, vector_dot(normal, to));
    }
    return above < 1e-9;
}

// Cuts each face of the hull in three, around a point in its middle; those of hollows stay as they are.
static void refine_hull(Shape *s) {
    for (size_t f = s->faces; f-- > 0 && s->particles < SHAPE_PARTICLES;) {
        int32_t *v = s->face + 3 * f, *more = s->face + 3 * s->faces, middle = (int32_t)s->particles;
        if (!is_on_hull(s, v)) continue;
        for (int c = 0; c < 3; c++)
            s->x[3 * middle + c] = (s->x[3 * v[0] + c] + s->x[3 * v[1] + c] + s->x[3 * v[2] + c]) / 3;
        memcpy(more, (const int32_t[]){v[1], v[2], middle, v[2], v[0], middle}, 6 * sizeof *more);
        v[2] = middle;
        s->particles++;
        s->faces += 2;
    }
}

// The largest overlap of two of their cells; below 0 apart.
static double shapes_overlap(const Shape *a, const Shape *b) {
    double most = -INFINITY;
    for (size_t i = 0; i < a->cells * b->cells; i++)
        most = fmax(most, overlap(&a->cell[i / b->cells], &b->cell[i % b->cells]));
    return most;
}

// Moves the second shape by steps of 5 mm until they overlap by less than this.
static double part_shapes(uint32_t n, const Shape *a, Shape *b, double wanted) {
    double way[3], deep;
    for (uint32_t c = 0; c < 3; c++) way[c] = uniform(n, 60 + c);
    const double length = sqrt(vector_dot(way, way));
    while ((deep = shapes_overlap(a, b)) > wanted)
        for (int c = 0; c < 3; c++) {
            for (size_t i = 0; i < b->particles; i++) b->x[3 * i + (size_t)c] += 0.005 * way[c] / length;
            for (size_t i = 0; i < b->cells; i++) b->cell[i].middle[c] += 0.005 * way[c] / length;
        }
    return deep;
}

// The simulation of two shapes, at rest; close it.
static Sim *open_shapes(const Shape shape[2]) {
    enum { ALL = 2 * SHAPE_PARTICLES };
    static double x[3 * ALL], mass[ALL];
    static int32_t body[ALL], face[2 * 3 * SHAPE_FACES];
    double one = 1, none[3] = {0};
    const size_t first = 3 * shape[0].faces, both = first + 3 * shape[1].faces, own = shape[0].particles;
    const size_t all = own + shape[1].particles;
    for (size_t i = 0; i < all; i++) body[i] = i >= own, mass[i] = 1;
    for (size_t k = 0; k < 2; k++) memcpy(x + 3 * k * own, shape[k].x, 3 * shape[k].particles * sizeof *x);
    for (size_t i = 0; i < both; i++) face[i] = i < first ? shape[0].face[i] : shape[1].face[i - first] + (int32_t)own;
    const SimModel model = {.scenes = 1,
                            .particles = all,
                            .materials = 1,
                            .contacts = &(SimMaterial){0},
                            .faces = both / 3,
                            .face = face,
                            .body = body,
                            .dt = 1e-3};
    SimValues values = {0};
    values.of[SIM_REST] = x, values.of[SIM_MASS] = mass, values.of[SIM_GRAVITY] = none;
    for (SimValue v = SIM_CONTACT_KE; v <= SIM_CONTACT_MU; v++) values.of[v] = &one;
    Error err;
    Sim *sim;
    assert_status_ok(sim_open(&model, &exact, &sim, &err), err);
    assert_status_ok(sim_set(sim, &values, &err), err);
    const SimTouching *t = &sim->packed.touching;
    assert_true(t->body[0].closed && t->body[1].closed);
    return sim;
}

// Touches of two shapes; *least: the smallest gap of a particle.
static int shape_touches(const Shape shape[2], double *least) {
    double x[6 * CORNERS], gap[2 * CORNERS];
    int touches = 0;
    Error err;
    Sim *sim = open_shapes(shape);
    for (int k = 0; k < 2; k++) memcpy(x + 3 * k * CORNERS, shape[k].x, 3 * CORNERS * sizeof *x);
    assert_status_ok(sim_touching(sim, x, gap, &err), err);
    const SimTouching *t = &sim->packed.touching;
    for (size_t i = 0; i < t->rows; i++) touches += t->touches[i];
    *least = INFINITY;
    for (int i = 0; i < 2 * CORNERS; i++) *least = fmin(*least, gap[i]);
    sim_close(sim);
    return touches;
}

// Edges that are beyond a thin arm of the other shape are outside it: shapes that are apart do not touch, and those
// that overlap by little do.
static void test_arms(void **state) {
    int apart = 0, together = 0;
    (void)state;
    for (uint32_t n = 0; n < 2000; n++) {
        Shape shape[2];
        double least;
        draw_shape(n, 300, 0, &shape[0]);
        draw_shape(n, 320, 0.3, &shape[1]);
        const double deep = part_shapes(n, &shape[0], &shape[1], n % 4 ? -0.002 : 0.005);
        const int touches = shape_touches(shape, &least);
        if (deep < -1e-9) assert_int_equal(touches, 0);
        if (deep < -1e-9) assert_true(least == INFINITY); // nothing is told of a start inside another
        else if (deep > 1e-4 && deep < fmin(shape[0].thin, shape[1].thin) / 2) {
            assert_true(touches > 0);
            together++;
        }
        apart += deep < 0 && deep > -0.03;
    }
    printf("%d pairs less than 3 cm apart, %d that overlap by less than half of their arms\n", apart, together);
    assert_true(apart > 1000 && together > 250);
}

// Sharp edges with thicknesses of their own.
static int count_arms(const Sim *sim, int body) {
    const SimTouching *t = &sim->packed.touching;
    int count = 0;
    for (size_t e = 0; e < t->edges; e++) {
        bool any = false;
        for (size_t k = 0; k < SIM_WAYS; k++) any |= t->arm[e * SIM_WAYS + k] > 0;
        count += any && t->edge_body[e] == body;
    }
    return count;
}

// Arms are found where few of a shape's many faces are in hollows; what is convex has none.
static void test_hollows(void **state) {
    int with_arms = 0;
    (void)state;
    for (uint32_t n = 0; n < 200; n++) {
        static Shape shape[2];
        int arms = 0;
        draw_shape(n, 300, 0, &shape[0]);
        shape[1] = (Shape){.thin = INFINITY, .particles = CORNERS};
        memcpy(shape[1].x, shape[0].x, 3 * CORNERS * sizeof *shape->x);
        add_cell(1, (const int[3]){0, 0, 0}, &shape[1]);
        for (int turn = 0; turn < 4; turn++) {
            Sim *sim = open_shapes(shape);
            if (!turn) arms = count_arms(sim, 0);
            with_arms += arms > 0;
            assert_int_equal(count_arms(sim, 0), arms);
            assert_int_equal(count_arms(sim, 1), 0);
            sim_close(sim);
            for (int k = 0; k < 2; k++) refine_hull(&shape[k]);
        }
    }
    assert_true(with_arms > 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arms), cmocka_unit_test(test_hollows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
