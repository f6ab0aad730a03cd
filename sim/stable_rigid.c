// SPDX-License-Identifier: Apache-2.0
#include "sim/stable_rigid.h"

#include "base/vector.h"
#include "sim/rest_shape.h"
#include "sim/rigid.h"

#include <math.h>

enum { ITERATIONS = 40, FACES_MAX = 2000 };
static const double thin = 0.02; // of the body's reach: so near to a face's plane particles touch with it

typedef struct Shape {
    const SimRigidLoad *load;
    size_t members, touching, held, bent, slid, turned; // so many of the load's
    double mass, centre[3], inverse[9], reach;          // kg, metres, of its inertia, the farthest particle
} Shape;

static void arm_of(const Shape *s, int32_t i, double r[3]) {
    for (int a = 0; a < 3; a++) r[a] = s->load->place[3 * i + a] - s->centre[a];
}

static void measure(const SimModel *m, size_t rigid, Shape *s) {
    const SimRigidLoad *load = s->load;
    const double still[3] = {0};
    double r[3];
    SimRigidSums sums = {0};
    for (size_t i = 0; i < m->particles; i++) {
        if (m->rigid[i] != (int32_t)rigid) continue;
        load->members[s->members++] = (int32_t)i;
        sim_rigid_add_place(load->mass[i], load->place + 3 * i, still, &sums);
    }
    sim_rigid_middle(&sums);
    s->mass = sums.mass;
    for (int a = 0; a < 3; a++) s->centre[a] = sums.centre[a];
    for (size_t k = 0; k < s->members; k++) {
        const int32_t i = load->members[k];
        arm_of(s, i, r);
        rigid_add_outer(load->mass[i] * (m->inertia ? m->inertia[i] : 1), r, r, sums.second);
        s->reach = fmax(s->reach, sqrt(vector_dot(r, r)));
    }
    rigid_inverse_inertia(sums.second, s->inverse);
}

// Lists the particles that are at least so far along n.
static void list_touching(Shape *s, const double n[3], double height) {
    double r[3];
    s->touching = 0;
    for (size_t k = 0; k < s->members; k++) {
        arm_of(s, s->load->members[k], r);
        if (vector_dot(n, r) >= height) s->load->touching[s->touching++] = s->load->members[k];
    }
}

// What acts on a body: what its particles touch, along n alone where it is given; or its springs, hinges, slides and
// sockets.
typedef struct Action {
    const double *rate, *n; // (N)
    const SimModel *model;  // NULL: what touches
    size_t rigid;
    int damping; // of these elements: 1, or 0: stiffness
} Action;

// Adds the force and torque about the centre on particle i at a motion (velocity, turn).
static void resist_at(const Shape *s, int32_t i, double rate, const double *n, const double motion[6], double out[6]) {
    double r[3], u[3] = {motion[0], motion[1], motion[2]};
    arm_of(s, i, r);
    rigid_add_cross(1, motion + 3, r, u);
    const double along = n ? vector_dot(n, u) : 0;
    for (int a = 0; a < 3; a++) u[a] = rate * (n ? along * n[a] : u[a]);
    rigid_add(1, u, out);
    rigid_add_cross(1, r, u, out + 3);
}

static bool is_of(const Action *by, int32_t particle) { return by->model->rigid[particle] == (int32_t)by->rigid; }

// 2 where a particle of the element that is not of the body moves, too.
static double both(const Action *by, const int32_t *particle, int corners) {
    double out = 1;
    for (int j = 0; j < corners; j++)
        if (!is_of(by, particle[j]) && !(by->model->fixed && by->model->fixed[particle[j]])) out = 2;
    return out;
}

static void resist_spring(const Shape *s, const Action *by, size_t e, double rate, const double motion[6],
                          double out[6]) {
    const int32_t *end = by->model->spring + 2 * e;
    double along[3];
    rest_edge(s->load->place, end[0], end[1], along);
    resist_at(s, end[is_of(by, end[1])], both(by, end, 2) * rate, along, motion, out);
}

// A coordinate of four particles with such a gradient: it changes by slope . motion.
static void resist_along(const Shape *s, const Action *by, const int32_t corner[4], const double gradient[4][3],
                         double rate, const double motion[6], double out[6]) {
    double r[3], slope[6] = {0};
    rate *= both(by, corner, 4);
    for (int j = 0; j < 4; j++) {
        if (!is_of(by, corner[j])) continue;
        arm_of(s, corner[j], r);
        rigid_add(1, gradient[j], slope);
        rigid_add_cross(1, r, gradient[j], slope + 3);
    }
    rate *= vector_dot(slope, motion) + vector_dot(slope + 3, motion + 3);
    for (int a = 0; a < 6; a++) out[a] += rate * slope[a];
}

static void resist_hinge(const Shape *s, const Action *by, size_t e, double rate, const double motion[6],
                         double out[6]) {
    const int32_t *corner = by->model->hinge + 4 * e;
    resist_along(s, by, corner, rest_hinge(s->load->place, corner).gradient, rate, motion, out);
}

// Moves the point of a slide along another one from the same particle, as far as the limits of that let it go to
// either side, where its lever on the body is longer. Across the first it turns its axis by so much more.
static void slide_on(const Shape *s, const Action *by, const int32_t corner[4], double gradient[4][3]) {
    const SimRigidLoad *load = s->load;
    for (size_t k = 0; k < s->slid; k++) {
        const int32_t e = load->slid[k], *of = by->model->slide + 4 * e;
        if (of[2] != corner[2] || !load->stop_k_e || !(load->stop_k_e[e] > 0)) continue;
        double axis[3], h[3], arm[3];
        const double way = rest_slide(load->place, of).position, low = load->low[e] - way, high = load->high[e] - way;
        rest_edge(load->place, of[2], of[3], axis);
        arm_of(s, of[0], arm);
        const double at = vector_dot(arm, axis), far = fabs(at + low) > fabs(at + high) ? low : high;
        const double length = rest_edge(load->place, corner[2], corner[3], h), along = vector_dot(axis, h);
        for (int a = 0; a < 3; a++) {
            const double more = far * (axis[a] - along * h[a]) / length;
            gradient[3][a] += more, gradient[2][a] -= more;
        }
        return;
    }
}

static void resist_slide(const Shape *s, const Action *by, size_t e, double rate, const double motion[6],
                         double out[6]) {
    const int32_t *corner = by->model->slide + 4 * e;
    RestSlide slide = rest_slide(s->load->place, corner);
    slide_on(s, by, corner, slide.gradient);
    resist_along(s, by, corner, slide.gradient, rate, motion, out);
}

// Turning against the other frame, which counts in full, and of its limit across the axis alone: the body may be thin,
// and nothing holds it about that.
static void resist_socket(const Shape *s, const Action *by, size_t e, const double motion[6], double out[6]) {
    const int32_t *corner = by->model->socket + 6 * e;
    const double *turn = motion + 3, all = s->load->socket[by->damping][e], across = s->load->swing[by->damping][e],
                 times = both(by, corner, 6);
    double axis[3];
    rest_edge(s->load->place, corner[0], corner[1], axis);
    const double along = vector_dot(axis, turn);
    for (int a = 0; a < 3; a++) out[3 + a] += times * (all * turn[a] + across * (turn[a] - along * axis[a]));
}

static void resist(const Shape *s, const Action *by, const double motion[6], double out[6]) {
    const SimRigidLoad *load = s->load;
    for (int a = 0; a < 6; a++) out[a] = 0;
    for (size_t k = 0; k < s->touching && !by->model; k++)
        resist_at(s, load->touching[k], by->rate[load->touching[k]], by->n, motion, out);
    const double *const springs = load->spring[by->damping], *const hinges = load->hinge[by->damping],
                        *const slides = load->slide[by->damping];
    for (size_t k = 0; k < s->held && by->model && springs; k++)
        resist_spring(s, by, (size_t)load->held[k], springs[load->held[k]], motion, out);
    for (size_t k = 0; k < s->bent && by->model && hinges; k++)
        resist_hinge(s, by, (size_t)load->bent[k], hinges[load->bent[k]], motion, out);
    for (size_t k = 0; k < s->slid && by->model && slides; k++)
        resist_slide(s, by, (size_t)load->slid[k], slides[load->slid[k]], motion, out);
    for (size_t k = 0; k < s->turned && by->model; k++) resist_socket(s, by, (size_t)load->turned[k], motion, out);
}

// The largest eigenvalue, by the method of powers.
static double largest(const Shape *s, const Action *by) {
    const double reach = s->reach;
    double motion[6] = {0.5, -0.3, 0.4, 0.6 / reach, 0.35 / reach, -0.55 / reach}, force[6], size = 1;
    for (int k = 0; k < ITERATIONS && size > 0; k++) {
        resist(s, by, motion, force);
        rigid_times(s->inverse, force + 3, motion + 3);
        for (int a = 0; a < 3; a++) motion[a] = force[a] / s->mass;
        size = sqrt(vector_dot(motion, motion) + reach * reach * vector_dot(motion + 3, motion + 3));
        for (int a = 0; a < 6 && size > 0; a++) motion[a] /= size;
    }
    return size;
}

static void look(const Shape *s, const double *n, double out[2]) {
    out[0] = fmax(out[0], largest(s, &(Action){.rate = s->load->stiffness, .n = n}));
    out[1] = fmax(out[1], largest(s, &(Action){.rate = s->load->damping}));
}

// Lists the elements that hold a particle of the body.
static size_t list_held(const SimModel *model, size_t rigid, const int32_t *all, size_t count, size_t corners,
                        int32_t *list) {
    size_t out = 0;
    for (size_t e = 0; e < count; e++)
        for (size_t j = 0; j < corners; j++)
            if (model->rigid[all[corners * e + j]] == (int32_t)rigid) {
                list[out++] = (int32_t)e;
                break;
            }
    return out;
}

static void add_joints(Shape *s, const SimModel *model, size_t rigid, double out[2]) {
    s->held = list_held(model, rigid, model->spring, model->springs, 2, s->load->held);
    s->bent = list_held(model, rigid, model->hinge, model->hinges, 4, s->load->bent);
    s->slid = list_held(model, rigid, model->slide, model->slides, 4, s->load->slid);
    s->turned = list_held(model, rigid, model->socket, model->sockets, 6, s->load->turned);
    for (int k = 0; k < 2 && s->held + s->bent + s->slid + s->turned; k++)
        out[k] += largest(s, &(Action){.model = model, .rigid = rigid, .damping = k});
}

// The unit normal of a face of three particles; false where it is flat.
static bool normal_of(const Shape *s, const int32_t corner[3], double n[3]) {
    double ab[3], ac[3];
    vector_between(s->load->place, corner[0], corner[1], ab);
    vector_between(s->load->place, corner[0], corner[2], ac);
    vector_cross(ab, ac, n);
    const double length = sqrt(vector_dot(n, n));
    for (int a = 0; a < 3 && length > 0; a++) n[a] /= length;
    return length > 0;
}

// Of all that may touch at once.
static void look_at_contact(Shape *s, const SimModel *model, size_t rigid, double out[2]) {
    const size_t stride = model->faces / FACES_MAX + 1;
    double n[3] = {0}, r[3];
    bool any = false;
    for (size_t f = 0; f < model->faces; f += stride) {
        const int32_t *corner = model->face + 3 * f;
        if (model->rigid[corner[0]] != (int32_t)rigid || !normal_of(s, corner, n)) continue;
        arm_of(s, corner[0], r);
        list_touching(s, n, vector_dot(n, r) - thin * s->reach);
        look(s, n, out);
        any = true;
    }
    if (any) return;
    list_touching(s, n, -INFINITY);
    look(s, NULL, out);
}

void sim_rigid_rates(const SimModel *model, size_t rigid, const SimRigidLoad *load, double out[2]) {
    Shape s = {.load = load};
    out[0] = out[1] = 0;
    measure(model, rigid, &s);
    look_at_contact(&s, model, rigid, out);
    add_joints(&s, model, rigid, out);
}
