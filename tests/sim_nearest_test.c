// SPDX-License-Identifier: Apache-2.0
// Which face of a body is nearest to a particle, and on which side the particle is: as CPU back ends find them, against
// a search over all faces, and against shapes whose inside is known.
#include "base/random.h"
#include "base/vector.h"
#include "sim/solver.h"
#include "tests/test.h"

static const double STEP = 0.01; // seconds

enum { CELLS = 5, POINTS = 400, MOST_FACES = 6000, MOST_PARTICLES = 6000 };

typedef struct Mesh {
    size_t particles, faces;
    double x[3 * MOST_PARTICLES];
    int32_t face[3 * MOST_FACES];
} Mesh;

static double uniform(uint32_t stream, size_t i) { // in 0 .. 1
    return random4((RandomKey){.seed = 4, .purpose = RANDOM_TEST, .step = stream}, i).v[0] / 4294967296.0;
}

// ---- shapes

typedef bool Solid(const int cell[3]);
static bool box(const int c[3]) { return c[0] > 0 && c[0] < 4 && c[1] > 0 && c[1] < 4 && c[2] > 0 && c[2] < 4; }
static bool angle(const int c[3]) { return box(c) && (c[0] == 1 || c[1] == 1); }
static bool hollow(const int c[3]) { return box(c) && !(c[0] == 2 && c[1] == 2 && c[2] == 2); }
static bool ring(const int c[3]) { return box(c) && c[2] == 2 && !(c[0] == 2 && c[1] == 2); }
static bool two(const int c[3]) { return box(c) && c[0] != 2; }
static bool at_an_edge(const int c[3]) { return box(c) && c[2] == 2 && c[0] < 3 && c[1] < 3 && c[0] == c[1]; }
static bool at_a_corner(const int c[3]) { return box(c) && c[0] < 3 && c[0] == c[1] && c[1] == c[2]; }

static bool holds(Solid *solid, const int cell[3]) {
    for (int i = 0; i < 3; i++)
        if (cell[i] < 0 || cell[i] >= CELLS) return false;
    return solid(cell);
}

// The surface of cells of 1/2 m, outwards; or inwards.
static void surface_of(Solid *solid, bool inwards, Mesh *out) {
    static int32_t number[(CELLS + 1) * (CELLS + 1) * (CELLS + 1)];
    memset(number, 0xff, sizeof number);
    out->particles = out->faces = 0;
    for (int i = 0; i < CELLS * CELLS * CELLS * 6; i++) {
        const int cell[3] = {i / 6 % CELLS, i / 6 / CELLS % CELLS, i / 6 / CELLS / CELLS}, axis = i % 3, up = i / 3 % 2;
        int other[3] = {cell[0], cell[1], cell[2]};
        int32_t corner[4];
        other[axis] += up ? 1 : -1;
        if (!holds(solid, cell) || holds(solid, other)) continue;
        for (int j = 0; j < 4; j++) { // about the axis
            int at[3] = {cell[0], cell[1], cell[2]};
            at[axis] += up;
            at[(axis + 1) % 3] += j == 1 || j == 2;
            at[(axis + 2) % 3] += j >= 2;
            int32_t *n = &number[(at[2] * (CELLS + 1) + at[1]) * (CELLS + 1) + at[0]];
            if (*n < 0) {
                *n = (int32_t)out->particles++;
                for (int c = 0; c < 3; c++) out->x[3 * *n + c] = at[c] / 2.0;
            }
            corner[j] = *n;
        }
        const int turn = up == !inwards;
        const int32_t both[6] = {corner[0], corner[turn ? 1 : 2], corner[turn ? 2 : 1],
                                 corner[0], corner[turn ? 2 : 3], corner[turn ? 3 : 2]};
        memcpy(out->face + 3 * out->faces, both, sizeof both);
        out->faces += 2;
    }
}

// A dented ball about (1,1,1), by latitude and longitude, with thin triangles at its poles.
static double dented(double z, double turn) { return 0.8 + 0.15 * sin(3 * turn) * (1 - z * z); }
static void ball(Mesh *out) {
    enum { ROWS = 16, COLUMNS = 32 };
    out->particles = 2 + (ROWS - 1) * COLUMNS;
    out->faces = 0;
    for (int i = 0; i < (int)out->particles; i++) {
        const double z = i < 2 ? 1 - 2 * i : cos(M_PI * (1 + (i - 2) / COLUMNS) / ROWS), turn = (i - 2) % COLUMNS,
                     r = dented(z, turn * 2 * M_PI / COLUMNS), across = sqrt(1 - z * z);
        out->x[3 * i] = 1 + r * across * cos(turn * 2 * M_PI / COLUMNS);
        out->x[3 * i + 1] = 1 + r * across * sin(turn * 2 * M_PI / COLUMNS);
        out->x[3 * i + 2] = 1 + r * z;
    }
    for (int row = 0; row < ROWS; row++)
        for (int c = 0; c < COLUMNS; c++) {
            const int at = 2 + (row - 1) * COLUMNS, next = (c + 1) % COLUMNS;
            const int32_t a = row ? at + c : 0, b = row ? at + next : 0, d = row < ROWS - 1 ? at + COLUMNS + c : 1,
                          e = row < ROWS - 1 ? at + COLUMNS + next : 1;
            const int32_t two_of[2][3] = {{a, d, e}, {a, e, b}};
            for (int k = 0; k < 2; k++) {
                const int32_t *f = two_of[k];
                if (f[0] == f[1] || f[1] == f[2] || f[0] == f[2]) continue;
                memcpy(out->face + 3 * out->faces++, f, sizeof two_of[k]);
            }
        }
}

// A spike whose tip has four faces, one of them cut into many: a mean of normals that leaves their angles out is
// theirs.
static void spike(Mesh *out) {
    enum { MANY = 20, ROUND = MANY + 3 };
    static const double square[4][2] = {{0.8, 0.8}, {1.2, 0.8}, {1.2, 1.2}, {0.8, 1.2}};
    out->particles = 1 + ROUND;
    out->faces = 0;
    memcpy(out->x, (double[3]){1, 1, 2}, 3 * sizeof(double));
    for (int32_t i = 0; i < ROUND; i++) {
        const double part = i < MANY ? (double)i / MANY : 0;
        const int at = i < MANY ? 0 : i - MANY + 1;
        double *x = out->x + 3 * (1 + i);
        for (int c = 0; c < 2; c++) x[c] = square[at][c] + part * (square[1][c] - square[0][c]);
        x[2] = 0.5;
        const int32_t f[5] = {0, 1 + i, 1 + (i + 1) % ROUND, 0, 1 + i};
        memcpy(out->face + 3 * out->faces++, f + i % 3, 3 * sizeof *f); // the tip is any of its corners
    }
    for (int32_t i = 0; i < ROUND - 2; i++) // the base, seen from its last corner
        memcpy(out->face + 3 * out->faces++, (int32_t[3]){ROUND, 2 + i, 1 + i}, 3 * sizeof(int32_t));
}

// A wrinkled sheet; its faces as often as wanted: again, turned round.
static void sheet(bool both_sides, Mesh *out) {
    enum { SIDE = 20 };
    out->particles = SIDE * SIDE;
    out->faces = 0;
    for (size_t i = 0; i < SIDE * SIDE; i++) {
        out->x[3 * i] = (double)(i % SIDE) / 8;
        out->x[3 * i + 1] = (double)(i / SIDE) / 8;
        out->x[3 * i + 2] = both_sides ? 1 : 1 + 0.2 * uniform(50, i);
    }
    for (int32_t i = 0; i < SIDE * (SIDE - 1); i++) {
        if (i % SIDE + 1 == SIDE) continue;
        const int32_t f[12] = {i, i + 1,        i + SIDE + 1, i, i + SIDE + 1, i + SIDE, i + SIDE, i + SIDE + 1,
                               i, i + SIDE + 1, i + 1,        i};
        memcpy(out->face + 3 * out->faces, f, sizeof f);
        out->faces += both_sides ? 4 : 2;
    }
}

// ---- the search

static double segment(const double x[3], const double a[3], const double b[3]) {
    double along[3], from[3], off[3];
    for (int c = 0; c < 3; c++) along[c] = b[c] - a[c], from[c] = x[c] - a[c];
    const double t = fmin(fmax(vector_dot(along, from) / vector_dot(along, along), 0), 1);
    for (int c = 0; c < 3; c++) off[c] = from[c] - t * along[c];
    return vector_dot(off, off);
}

// Squared distance from face f; *above: the height over its plane.
static double distance_of(const double *x, const int32_t f[3], const double p[3], double *above) {
    const double *corner[3] = {x + 3 * f[0], x + 3 * f[1], x + 3 * f[2]};
    double e[2][3], from[3], normal[3], least = INFINITY;
    bool inside = true;
    for (int c = 0; c < 3; c++) from[c] = p[c] - corner[0][c];
    vector_between(x, f[0], f[1], e[0]);
    vector_between(x, f[0], f[2], e[1]);
    vector_cross(e[0], e[1], normal);
    for (int j = 0; j < 3; j++) {
        double along[3], off[3], left[3];
        least = fmin(least, segment(p, corner[j], corner[(j + 1) % 3]));
        vector_between(x, f[j], f[(j + 1) % 3], along);
        for (int c = 0; c < 3; c++) off[c] = p[c] - corner[j][c];
        vector_cross(along, off, left);
        inside = inside && vector_dot(left, normal) > 0;
    }
    *above = vector_dot(normal, from) / sqrt(vector_dot(normal, normal));
    return inside ? fmin(least, *above * *above) : least;
}

// ---- a body and a cloud of points, as the simulator has them

typedef struct World {
    const Mesh *mesh;
    Sim *sim;
    void *state;
    double *x; // (particles) as the solver has rounded them, by vertex
} World;

// rigid: the solver takes it that the body's surface never folds through itself.
static void open_world(World *w, const Mesh *mesh, bool rigid, const double *points, SimPrecision precision,
                       const char *isa) {
    const size_t all = mesh->particles + POINTS;
    int32_t *body = calloc(all, sizeof *body), *of = calloc(all, sizeof *of);
    uint8_t *fixed = calloc(all, 1);
    double *x = calloc(3 * all, sizeof *x), *mass = calloc(all, sizeof *mass), one[1] = {1}, none[3] = {0, 0, 0};
    assert_true(body && of && fixed && x && mass);
    for (size_t i = 0; i < all; i++)
        body[i] = i >= mesh->particles, of[i] = -body[i], fixed[i] = !body[i] && !rigid, mass[i] = 1;
    memcpy(x, mesh->x, 3 * mesh->particles * sizeof *x);
    memcpy(x + 3 * mesh->particles, points, 3 * POINTS * sizeof *x);
    const SimMaterial material = {.margin = 0.4};
    const SimModel model = {.scenes = 1,
                            .particles = all,
                            .materials = 1,
                            .contacts = &material,
                            .faces = mesh->faces,
                            .face = mesh->face,
                            .body = body,
                            .fixed = fixed,
                            .rigids = rigid,
                            .rigid = of,
                            .dt = STEP};
    SimValues values = {0};
    values.of[SIM_REST] = x, values.of[SIM_MASS] = mass, values.of[SIM_GRAVITY] = none;
    for (SimValue v = SIM_CONTACT_KE; v <= SIM_CONTACT_MU; v++) values.of[v] = one;
    Error err;
    *w = (World){.mesh = mesh};
    assert_status_ok(sim_open(&model, &(SimOptions){.precision = precision, .threads = 1, .isa = isa}, &w->sim, &err),
                     err);
    assert_status_ok(sim_set(w->sim, &values, &err), err);
    const size_t rows = w->sim->topology.vertex_blocks * w->sim->topology.lanes;
    w->state = calloc(rows * SIM_RECORD, (size_t)w->sim->backend->real_bytes);
    w->x = calloc(3 * rows, sizeof *w->x);
    assert_true(w->state && w->x);
    for (size_t i = 0; i < 3 * all; i++) {
        const size_t vertex = (size_t)w->sim->topology.vertex_of[i / 3];
        sim_put(w->sim, w->state, SIM_RECORD * vertex + i % 3, x[i]);
        w->x[3 * vertex + i % 3] = sim_get(w->sim, w->state, SIM_RECORD * vertex + i % 3);
    }
    free(body), free(of), free(fixed), free(x), free(mass);
}

static void close_world(World *w) {
    sim_close(w->sim);
    free(w->state);
    free(w->x);
}

// jump: whatever was found before says nothing of where the particles are now.
static void find(World *w, bool jump) {
    const SimTouching *t = &w->sim->packed.touching;
    w->sim->backend->body_boxes(t, w->state, jump, 0, 1);
    w->sim->backend->body_trees(t, w->state, 0, 1);
    w->sim->backend->touches(t, w->state, NULL, 0, 1);
}

// What is known of a shape: 1 inside, -1 outside, 0 at its surface.
typedef int Inside(const void *shape, const double x[3]);

static int inside_cells(const void *shape, const double x[3]) {
    Solid *const *solid = shape;
    int cell[3], in = 0;
    for (int k = 0; k < 8; k++) { // the cells at a tiny cube around x
        for (int c = 0; c < 3; c++) cell[c] = (int)floor(2 * x[c] + (k >> c & 1 ? 1e-6 : -1e-6));
        in += holds(*solid, cell);
    }
    return in == 8 ? 1 : in ? 0 : -1;
}

// By the angle that the faces fill around x (van Oosterom and Strackee 1983).
static int inside_mesh(const void *shape, const double x[3]) {
    const Mesh *m = shape;
    double all = 0;
    for (size_t f = 0; f < m->faces; f++) {
        double e[3][3], length[3], across[3], above;
        if (distance_of(m->x, m->face + 3 * f, x, &above) < 1e-12) return 0;
        for (int j = 0; j < 3; j++) {
            for (int c = 0; c < 3; c++) e[j][c] = m->x[3 * m->face[3 * f + (size_t)j] + c] - x[c];
            length[j] = sqrt(vector_dot(e[j], e[j]));
        }
        vector_cross(e[1], e[2], across);
        all += 2 * atan2(vector_dot(e[0], across),
                         length[0] * length[1] * length[2] + vector_dot(e[0], e[1]) * length[2] +
                             vector_dot(e[1], e[2]) * length[0] + vector_dot(e[2], e[0]) * length[1]);
    }
    return all > 2 * M_PI ? 1 : -1;
}

static int no_inside(const void *shape, const double x[3]) { return (void)shape, (void)x, -1; }

// Compares what was found with a search. exact: distances are, so that among equal ones the first face is found.
static void compare(const World *w, bool exact, Inside *inside, const void *shape, const char *name) {
    const SimTouching *t = &w->sim->packed.touching;
    const double rounding = w->sim->backend->real_bytes == 8 ? 1e-12 : 2e-6;
    size_t touched = 0, within = 0;
    for (size_t i = 0; i < t->points; i++) {
        if (t->point_body[i] == 0) continue;
        const double *p = w->x + 3 * t->point[i];
        const SimTouch touch = t->touch[SIM_TOUCHES * i];
        double least = INFINITY, above;
        int32_t first = -1;
        for (int32_t f = 0; f < (int32_t)t->faces; f++) {
            const double square = distance_of(w->x, t->face + 3 * f, p, &above);
            if (square < least) least = square, first = f;
        }
        least = sqrt(least);
        const int in = inside(shape, p);
        if (in < 0 && fabs(least - 0.4) > 1e-5) assert_int_equal(t->touches[i], least < 0.4);
        if (in > 0) assert_int_equal(t->touches[i], 1);
        if (!t->touches[i]) continue;
        const double got = sqrt(distance_of(w->x, t->face + 3 * touch.face, p, &above));
        if (!(got <= least + rounding)) fail_msg("%s: face %d is %g away, not %g", name, touch.face, got, least);
        if (exact && touch.face != first) fail_msg("%s: face %d before %d, equally near", name, touch.face, first);
        assert_int_equal(t->guess[SIM_TOUCHES * i], touch.face);
        touched++;
        within += in > 0;
        if (in == 0 || least < 1e-5 || inside == no_inside) continue;
        const double side = touch.on == 7 ? above * touch.side : touch.side;
        if ((side > 0) != (in < 0))
            fail_msg("%s: (%g %g %g) %g away, on %d of face %d, is %s", name, p[0], p[1], p[2], least, touch.on,
                     touch.face, in < 0 ? "outside" : "inside");
    }
    assert_true(touched > POINTS / 20 && (inside == no_inside || within > POINTS / 100));
}

static void same_touches(const World *a, const SimTouch *touch, const int32_t *touches) {
    const SimTouching *t = &a->sim->packed.touching;
    assert_memory_equal(touches, t->touches, t->points * sizeof *touches);
    for (size_t i = 0; i < t->points; i++)
        assert_memory_equal(touch + SIM_TOUCHES * i, t->touch + SIM_TOUCHES * i, (size_t)t->touches[i] * sizeof *touch);
}

// Whatever is guessed, and wherever the particles were before, the same bits are found.
static void guess(World *w) {
    SimTouching *t = &w->sim->packed.touching;
    const size_t all = t->points * SIM_TOUCHES * sizeof *t->touch;
    SimTouch *kept = malloc(all);
    int32_t *touches = malloc(t->points * sizeof *touches);
    assert_true(kept && touches);
    memcpy(kept, t->touch, all);
    memcpy(touches, t->touches, t->points * sizeof *touches);
    for (uint32_t draw = 0; draw < 5; draw++) {
        for (size_t i = 0; i < t->points * SIM_TOUCHES; i++)
            t->guess[i] = (int32_t)(uniform(60 + draw, i) * (double)(t->faces + 20)) - 10; // some are of no face
        find(w, true);
        same_touches(w, kept, touches);
    }
    free(kept), free(touches);
}

// Moves all particles by a step, forwards or back, as the solver does; each body drifts, and its particles wander by up
// to so many m/s.
static void step(World *w, uint32_t draw, double wander, bool back) {
    const SimTouching *t = &w->sim->packed.touching;
    for (size_t i = 0; i < 3 * t->points; i++) {
        const size_t at = SIM_RECORD * (size_t)t->point[i / 3] + i % 3;
        const double x = sim_get(w->sim, w->state, at), v = sim_get(w->sim, w->state, at + SIM_QUAD),
                     drift = t->point_body[i / 3] ? cos(draw / 9.0 + (double)(i % 3)) : 0;
        if (back) sim_put(w->sim, w->state, at, x - STEP * v);
        sim_put(w->sim, w->state, at + SIM_QUAD, 3 * drift + 2 * wander * (uniform(200 + draw, i) - 0.5));
        if (!back) sim_put(w->sim, w->state, at, x + STEP * sim_get(w->sim, w->state, at + SIM_QUAD));
    }
}

// What is known from steps before saves time and changes no bits.
static void follow(World *w, World *fresh, double wander) {
    const SimTouching *t = &w->sim->packed.touching, *u = &fresh->sim->packed.touching;
    const size_t bytes =
        w->sim->topology.vertex_blocks * w->sim->topology.lanes * SIM_RECORD * (size_t)w->sim->backend->real_bytes;
    size_t touched = 0, known = 0;
    for (uint32_t n = 0; n < 40; n++) {
        find(w, n == 0);
        memcpy(fresh->state, w->state, bytes);
        find(fresh, true);
        same_touches(w, u->touch, u->touches);
        for (size_t i = 0; i < t->points; i++) {
            touched += (size_t)t->touches[i];
            known += t->clear && t->moved[0] + t->moved[1] < t->clear[SIM_TOUCHES * i + (size_t)!t->point_body[i]];
        }
        step(w, n, wander, n > 20 && n < 33);
    }
    assert_true(touched > POINTS / 2 && known > POINTS / 2);
}

// Points around a mesh: anywhere, and near or at its corners, edges and faces; on a grid of 1/8 m where `exact`.
static void cloud(const Mesh *m, bool exact, double *points) {
    for (size_t i = 0; i < POINTS; i++) {
        const int32_t *f = m->face + 3 * ((size_t)(uniform(1, i) * (double)m->faces) % m->faces);
        double weight[3] = {1, uniform(2, i), uniform(3, i)};
        if (i % 4 == 1) weight[1] = weight[2] = 0;
        if (i % 4 == 2) weight[2] = 0;
        const double all = weight[0] + weight[1] + weight[2], far = i % 3 == 0 ? 0.2 : i % 3 == 1 ? 0.01 : 1e-3;
        for (size_t c = 0; c < 3; c++) {
            double x = far * (2 * uniform(4, 3 * i + c) - 1);
            for (size_t j = 0; j < 3; j++) x += weight[j] / all * m->x[3 * f[j] + (int32_t)c];
            if (i % 4 == 0) x = 2.5 * uniform(5, 3 * i + c);
            points[3 * i + c] = exact ? floor(8 * x + 0.5) / 8 : x;
        }
    }
}

static void check(const Mesh *mesh, bool exact, bool closed, Inside *inside, const void *shape, const char *name) {
    static const char *const isas[] = {"base", "avx2", "avx512"};
    static double points[3 * POINTS];
    cloud(mesh, exact, points);
    for (int k = 0; k < 6; k++) {
        World w, fresh;
        if (!sim_backend_find(isas[k / 2], k % 2)) continue;
        open_world(&w, mesh, true, points, k % 2 ? SIM_F64 : SIM_F32, isas[k / 2]);
        assert_int_equal(w.sim->packed.touching.body[0].closed, closed);
        find(&w, true);
        compare(&w, exact, inside, shape, name);
        guess(&w);
        open_world(&fresh, mesh, true, points, k % 2 ? SIM_F64 : SIM_F32, isas[k / 2]);
        follow(&w, &fresh, 0.15);
        close_world(&fresh);
        close_world(&w);
    }
}

static Mesh mesh;

static void test_cells(void **state) {
    (void)state;
    // Sharp edges are those around the solid, without diagonals, inner corners, and where two solids meet.
    static const struct {
        const char *name;
        Solid *solid;
        int32_t edges;
    } shapes[] = {{"box", box, 36}, {"angle", angle, 39},     {"hollow", hollow, 36},     {"ring", ring, 36},
                  {"two", two, 56}, {"edge", at_an_edge, 22}, {"corner", at_a_corner, 24}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        World w;
        static const double points[3 * POINTS] = {0};
        surface_of(shapes[i].solid, i % 2, &mesh);
        open_world(&w, &mesh, true, points, SIM_F64, NULL);
        assert_int_equal(w.sim->packed.touching.body[0].edges, shapes[i].edges);
        assert_true(w.sim->packed.touching.body[0].longest == 0.5);
        close_world(&w);
        for (int exact = 0; exact < 2; exact++)
            check(&mesh, exact, true, inside_cells, &shapes[i].solid, shapes[i].name);
    }
}

static void test_ball(void **state) {
    (void)state;
    ball(&mesh);
    check(&mesh, false, true, inside_mesh, &mesh, "ball");
}

static void test_spike(void **state) {
    (void)state;
    spike(&mesh);
    check(&mesh, false, true, inside_mesh, &mesh, "spike");
}

// Sheets have no inside, even with faces on both sides; nor has a box that lacks a face.
static void test_sheets(void **state) {
    (void)state;
    for (int both = 0; both < 2; both++) {
        sheet(both, &mesh);
        check(&mesh, false, false, no_inside, NULL, "sheet");
    }
    surface_of(box, false, &mesh);
    mesh.faces--;
    check(&mesh, true, false, no_inside, NULL, "open box");
}

// A soft ball that crumples: its surface folds through itself, so what was far outside is inside in the next step.
static void test_crumpled(void **state) {
    (void)state;
    static double points[3 * POINTS];
    ball(&mesh);
    cloud(&mesh, false, points);
    for (int p = SIM_F32; p <= SIM_F64; p++) {
        World w, fresh;
        open_world(&w, &mesh, false, points, (SimPrecision)p, NULL);
        open_world(&fresh, &mesh, false, points, (SimPrecision)p, NULL);
        follow(&w, &fresh, 3);
        close_world(&fresh);
        close_world(&w);
    }
}

// What a rollout that explodes has before it ends: places too large to square, infinite, or no numbers. Whatever face
// is named is one of the body.
static void test_no_numbers(void **state) {
    (void)state;
    static double points[3 * POINTS];
    surface_of(angle, false, &mesh);
    cloud(&mesh, false, points);
    for (int k = 0; k < 24; k++) {
        World w;
        open_world(&w, &mesh, true, points, k % 2 ? SIM_F64 : SIM_F32, NULL);
        const SimTouching *t = &w.sim->packed.touching;
        const double huge = k % 2 ? 1e200 : 1e25;
        for (size_t i = 0; i < 3 * t->points; i++) {
            const size_t at = SIM_RECORD * (size_t)t->point[i / 3] + i % 3;
            const double x = sim_get(w.sim, w.state, at), wild[] = {INFINITY, -INFINITY, NAN};
            if (k / 2 % 4 == 3 || uniform(300, i) < 0.1) sim_put(w.sim, w.state, at, huge * x);
            if (k / 2 % 4 < 3 && uniform(301 + (uint32_t)k, i) < (k < 8 ? 0.001 : 0.1))
                sim_put(w.sim, w.state, at, wild[k / 2 % 4]);
        }
        for (int again = 0; again < 2; again++) {
            find(&w, again == 0);
            for (size_t i = 0; i < t->points; i++) {
                assert_true(t->touches[i] >= 0 && t->touches[i] <= SIM_TOUCHES);
                for (size_t j = 0; j < SIM_TOUCHES; j++) {
                    const int32_t guess = t->guess[SIM_TOUCHES * i + j];
                    assert_true(guess >= -1 && guess < (int32_t)t->faces);
                    if ((int32_t)j < t->touches[i])
                        assert_in_range(t->touch[SIM_TOUCHES * i + j].face, 0, t->faces - 1);
                }
            }
        }
        close_world(&w);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells),    cmocka_unit_test(test_ball),
                                       cmocka_unit_test(test_spike),    cmocka_unit_test(test_sheets),
                                       cmocka_unit_test(test_crumpled), cmocka_unit_test(test_no_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
