// SPDX-License-Identifier: Apache-2.0
// Joints of a scene, made of springs: a point of one object hangs at its place in the middle of four points of the
// other, the corners of a regular tetrahedron. Springs of k along their ways to it hold it with 4/3 k in every
// direction and turn it nowhere. So one point is a ball joint, two on an axis are a hinge, and three hold the objects
// together. A hinge also has an angle, that of a bending element (sim/hinge.h): from each end of its axis, a point of
// one of the objects each, an arm of that object goes out, opposite ways at the start. On either object its forces are
// a pure couple about the axis.
// A ball joint that resists turning has a frame of three points in either object besides (sim/socket.h).
// A slider has no springs but slides (sim/slide.h), whose axes are those of a frame in the first object: one for a
// point of the second along the axis, which is the slider's position, and six that hold three of its points across.
#include "lab/scene_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1e6
#define TURN_MOST 340.0 // degrees between limits: each can be passed by ten
#define SWING_MOST 170.0
#define SLOW 1.0      // degrees/s from which friction is whole, where k_f is not given
#define SLOW_WAY 1e-3 // m/s
enum { CORNERS = 4, POINTS_MAX = 3, HOLDS = 6 };
static const double RADIUS = 0.1, FAR_AWAY = 100; // of the larger object's extent

typedef enum Kind { BALL, HINGE, WELD, SLIDER } Kind;

typedef struct Joint {
    const YamlNode *node, *between;
    double at[3], axis[3], radius;
    Stiffness springs;
    double stiffness, damping, angle, position, limits[2], friction, k_f;
    bool has_axis, has_radius, has_stiffness, has_damping, has_angle, has_position, has_limits, has_friction, has_k_f;
    int kind;
    size_t part[2]; // whose point hangs, and who holds it
} Joint;

// ---- reading

static Status find_part(const ArgumentReader *reader, const SceneHead *head, const YamlNode *name, size_t *out) {
    if (name->kind != YAML_TEXT) return argument_error(reader, name, "between: expected the names of two objects");
    return scene_find_object(reader, head, name, name->text, out);
}

static bool is_solid(const Part *part) { return part->rigid && (part->mesh.T || part->mesh.F); }

static Status find_parts(const ArgumentReader *reader, const SceneHead *head, Joint *joint) {
    const YamlNode *between = joint->between;
    if (between->kind != YAML_LIST || between->count != 2)
        return argument_error(reader, between, "between: expected the names of two objects");
    Status status = find_part(reader, head, between->child, &joint->part[0]);
    if (status == STATUS_OK) status = find_part(reader, head, between->child->next, &joint->part[1]);
    if (status != STATUS_OK) return status;
    const Part *of[2] = {head->part + joint->part[0], head->part + joint->part[1]};
    if (of[0] == of[1]) return argument_error(reader, between, "between: expected two objects, found one twice");
    if (part_is_fixed(of[0]) && part_is_fixed(of[1]))
        return argument_error(reader, between, "between: both objects are fixed");
    if (!is_solid(of[0]) && !is_solid(of[1]))
        return argument_error(reader, between, "between: one of the two must be a rigid solid");
    if (is_solid(of[1])) return STATUS_OK;
    const size_t soft = joint->part[1];
    joint->part[1] = joint->part[0], joint->part[0] = soft;
    return STATUS_OK;
}

static double extent_of(const Mesh *mesh) {
    double box[6] = {INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY}, out = 0;
    for (size_t i = 0; i < mesh->N; i++) scene_grow_box(box, mesh->position + 3 * i);
    for (int c = 0; c < 3; c++) out = fmax(out, box[3 + c] - box[c]);
    return out;
}

static bool is_free(const Joint *joint) { return joint->kind == HINGE || joint->kind == SLIDER; }

static bool has_cone(const Joint *joint) { return joint->kind == BALL && joint->has_limits; }

// The first key of a joint about what it leaves free; NULL: it has none.
static const char *what_moves(const Joint *joint) {
    return joint->has_stiffness  ? "stiffness"
           : joint->has_damping  ? "damping"
           : joint->has_limits   ? "limits"
           : joint->has_friction ? "friction"
           : joint->has_k_f      ? "k_f"
                                 : NULL;
}

// Angles are known up to whole turns, so limits of hinges must be apart from each other on both sides.
static Status check_stop(const ArgumentReader *reader, const Joint *joint) {
    const YamlNode *node = yaml_tree_find(joint->node, "limits");
    const double low = joint->limits[0], high = joint->limits[1];
    if (low > high) return argument_error(reader, node, "limits: expected [low, high], found %g above %g", low, high);
    if (low > 0 || high < 0)
        return argument_error(reader, node, "limits: %s are from the pose at the start, which %g to %g %s leave out",
                              joint->kind == SLIDER ? "positions" : "angles", low, high,
                              joint->kind == SLIDER ? "m" : "degrees");
    if (has_cone(joint) && low < 0)
        return argument_error(reader, node, "limits: a ball joint swings by 0 degrees or more: expected [0, high]");
    if (has_cone(joint) && high > SWING_MOST)
        return argument_error(reader, node, "limits: expected at most %g degrees of a ball joint, found %g", SWING_MOST,
                              high);
    if (joint->kind == HINGE && high - low > TURN_MOST)
        return argument_error(reader, node, "limits: expected at most %g degrees between them, found %g", TURN_MOST,
                              high - low);
    if (joint->has_k_f && !joint->has_friction)
        return argument_error(reader, yaml_tree_find(joint->node, "k_f"), "k_f: the joint has no \"friction\"");
    return STATUS_OK;
}

static Status check_kind(const ArgumentReader *reader, const SceneHead *head, Joint *joint) {
    const Part *of[2] = {head->part + joint->part[0], head->part + joint->part[1]};
    const double length = sqrt(vector_dot(joint->axis, joint->axis));
    const bool has_axis = is_free(joint) || has_cone(joint);
    if (joint->has_axis != has_axis)
        return argument_error(reader, joint->node,
                              "%s: hinges, sliders and ball joints with limits have an axis, other joints have none",
                              joint->node->key);
    const char *moving = what_moves(joint);
    if (joint->has_angle && joint->kind != HINGE)
        return argument_error(reader, yaml_tree_find(joint->node, "angle"), "angle: only a hinge has an angle");
    if (joint->has_position && joint->kind != SLIDER)
        return argument_error(reader, yaml_tree_find(joint->node, "position"),
                              "position: only a slider has a position");
    if (joint->kind == WELD && moving)
        return argument_error(reader, yaml_tree_find(joint->node, moving), "%s: a weld leaves nothing free", moving);
    if (moving && !is_solid(of[0]))
        return argument_error(reader, yaml_tree_find(joint->node, moving),
                              "%s: only joints between two rigid solids have it", moving);
    if (has_axis && !(length > 0))
        return argument_error(reader, joint->node, "axis: expected a vector of non-zero length");
    for (int c = 0; c < 3 && has_axis; c++) joint->axis[c] /= length;
    if (joint->kind != BALL && !is_solid(of[0]))
        return argument_error(reader, joint->between, "between: %s is no rigid solid, so only a ball joint holds it",
                              of[0]->node->key);
    const double extent = fmax(extent_of(&of[0]->mesh), extent_of(&of[1]->mesh));
    if (!joint->has_radius) joint->radius = RADIUS * extent;
    if (joint->radius > FAR_AWAY * extent)
        return argument_error(reader, joint->node, "radius: expected at most %g times the larger object, %.6g m",
                              FAR_AWAY, FAR_AWAY * extent);
    return STATUS_OK;
}

static Status read_joint(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node, Joint *out) {
#define OF(field) offsetof(Joint, field)
    static const Argument table[] = {
        {.key = "between", .type = ARG_OTHER, .offset = OF(between), .required = true, .read = argument_keep},
        {.key = "kind", .type = ARG_WORD, .offset = OF(kind), .words = "ball|hinge|weld|slider"},
        {.key = "at", .type = ARG_NUMBERS, .offset = OF(at), .min = -FAR, .max = FAR, .numbers = 3, .required = true},
        {.key = "axis",
         .type = ARG_NUMBERS,
         .offset = OF(axis),
         .min = -FAR,
         .max = FAR,
         .numbers = 3,
         .given = OF(has_axis)},
        {.key = "radius", .type = ARG_NUMBER, .offset = OF(radius), .min = 1e-6, .max = FAR, .given = OF(has_radius)},
        {.key = "k_e", .type = ARG_NUMBER, .offset = OF(springs.k_e), .max = 1e15, .required = true},
        {.key = "k_d", .type = ARG_NUMBER, .offset = OF(springs.k_d), .max = 1e15},
        {.key = "stiffness", .type = ARG_NUMBER, .offset = OF(stiffness), .max = 1e15, .given = OF(has_stiffness)},
        {.key = "damping", .type = ARG_NUMBER, .offset = OF(damping), .max = 1e15, .given = OF(has_damping)},
        {.key = "angle", .type = ARG_NUMBER, .offset = OF(angle), .min = -180, .max = 180, .given = OF(has_angle)},
        {.key = "position",
         .type = ARG_NUMBER,
         .offset = OF(position),
         .min = -FAR,
         .max = FAR,
         .given = OF(has_position)},
        {.key = "limits",
         .type = ARG_NUMBERS,
         .offset = OF(limits),
         .min = -FAR,
         .max = FAR,
         .numbers = 2,
         .given = OF(has_limits)},
        {.key = "friction", .type = ARG_NUMBER, .offset = OF(friction), .max = 1e15, .given = OF(has_friction)},
        {.key = "k_f", .type = ARG_NUMBER, .offset = OF(k_f), .max = 1e15, .given = OF(has_k_f)}};
#undef OF
    *out = (Joint){.node = node};
    const ArgumentGroup group = {table, sizeof table / sizeof *table, out};
    Status status = scene_check_name(reader, node);
    if (status == STATUS_OK) status = arguments_read(reader, node, &group, 1, NULL);
    if (status == STATUS_OK) status = find_parts(reader, head, out);
    if (status == STATUS_OK) status = check_kind(reader, head, out);
    return status == STATUS_OK ? check_stop(reader, out) : status;
}

// ---- its points and springs

// A new particle of a rigid part at a place of the scene; its number.
static Status add_point(const ArgumentReader *reader, Part *part, const double at[3], int32_t *out) {
    double from[3], own[3];
    for (int c = 0; c < 3; c++) from[c] = at[c] - part->position[c];
    part_turn(part, -part->angle, from, own);
    *out = (int32_t)part->mesh.N;
    part->hidden++;
    return mesh_add_vertex(&part->mesh, own, reader->err);
}

// The particle of a soft part that is nearest to a place, which becomes its own.
static int32_t nearest_point(const Part *part, double at[3]) {
    double least = INFINITY, place[3] = {0};
    int32_t out = 0;
    for (size_t i = 0; i < part->mesh.N; i++) {
        double x[3], square = 0;
        part_turn(part, part->angle, part->mesh.position + 3 * i, x);
        for (int c = 0; c < 3; c++) {
            x[c] += part->position[c];
            square += (x[c] - at[c]) * (x[c] - at[c]);
        }
        if (square >= least) continue;
        least = square;
        out = (int32_t)i;
        memcpy(place, x, sizeof place);
    }
    memcpy(at, place, sizeof place);
    return out;
}

// A point of the first part at `at`, held by the second with a share of the joint's stiffness.
static Status hang(const ArgumentReader *reader, SceneHead *head, const Joint *joint, double at[3], double share) {
    static const double way[CORNERS][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    Part *first = head->part + joint->part[0], *second = head->part + joint->part[1];
    Status status = STATUS_OK;
    int32_t hung = 0;
    if (is_solid(first)) status = add_point(reader, first, at, &hung);
    else hung = nearest_point(first, at);
    for (int k = 0; k < CORNERS && status == STATUS_OK; k++) {
        SceneTie *tie = head->tie + head->tie_count++;
        double corner[3];
        for (int c = 0; c < 3; c++) corner[c] = at[c] + joint->radius * way[k][c] / sqrt(3);
        *tie = (SceneTie){.part = {joint->part[0], joint->part[1]}, .point = {hung, 0}};
        tie->springs = (Stiffness){0.75 * share * joint->springs.k_e, 0.75 * share * joint->springs.k_d};
        status = add_point(reader, second, corner, &tie->point[1]);
    }
    return status;
}

// Which way across an axis does not matter, but fits compare the points: it must not jump where an axis leaves x, y or
// z, so those before have a lead.
static void way_across(const double axis[3], double way[3], double *length) {
    double side[3] = {0};
    int least = 0;
    for (int c = 1; c < 3; c++) least = fabs(axis[c]) + 0.2 * (c - least) < fabs(axis[least]) ? c : least;
    side[least] = 1;
    vector_cross(axis, side, way);
    *length = sqrt(vector_dot(way, way));
}

// So many metres along the axis and across it.
static void place_of(const Joint *joint, double along, double across, double out[3]) {
    double way[3], length;
    way_across(joint->axis, way, &length);
    for (int c = 0; c < 3; c++) out[c] = joint->at[c] + along * joint->axis[c] + across * way[c] / length;
}

// What a joint has along or about what it leaves free, but for its points; k_f where it is not given.
static void fill_free(const Joint *joint, double rest, double k_f, SceneFree *out) {
    *out = (SceneFree){.name = joint->node->key,
                       .stiffness = joint->stiffness,
                       .damping = joint->damping,
                       .rest = rest,
                       .friction = joint->friction,
                       .k_f = joint->has_k_f ? joint->k_f : k_f,
                       .held = joint->has_limits || joint->has_friction};
    if (!joint->has_limits) return;
    memcpy(out->limits, joint->limits, sizeof out->limits);
    out->stop = joint->springs;
}

// The hinge's angle; the first part has a point at one end of the axis.
static Status add_angle(const ArgumentReader *reader, SceneHead *head, const Joint *joint, int32_t end) {
    const double r = joint->radius;
    SceneFree *turn = head->hinge + head->hinge_count++;
    Part *const of[2] = {head->part + joint->part[0], head->part + joint->part[1]};
    double at[3];
    fill_free(joint, joint->angle, joint->friction * 180 / (SLOW * M_PI), turn);
    if (!joint->has_limits) turn->limits[0] = -180, turn->limits[1] = 180;
    for (int j = 0; j < 4; j++) turn->part[j] = joint->part[j % 2];
    turn->point[2] = end;
    place_of(joint, r, r, at);
    Status status = add_point(reader, of[0], at, &turn->point[0]);
    place_of(joint, -r, -r, at);
    if (status == STATUS_OK) status = add_point(reader, of[1], at, &turn->point[1]);
    place_of(joint, -r, 0, at);
    return status == STATUS_OK ? add_point(reader, of[1], at, &turn->point[3]) : status;
}

// Of a ball joint that resists turning: frames of both parts, aligned at the start. Without limits any axis does.
static Status add_ball(const ArgumentReader *reader, SceneHead *head, const Joint *joint) {
    SceneFree *ball = head->ball + head->ball_count++;
    Joint round = *joint;
    Status status = STATUS_OK;
    if (!joint->has_axis) round.axis[2] = 1;
    fill_free(joint, 0, joint->friction * 180 / (SLOW * M_PI), ball);
    for (int j = 0; j < 6 && status == STATUS_OK; j++) {
        double at[3];
        place_of(&round, j % 3 == 1 ? joint->radius : 0, j % 3 == 2 ? joint->radius : 0, at);
        ball->part[j] = joint->part[j / 3];
        status = add_point(reader, head->part + ball->part[j], at, &ball->point[j]);
    }
    return status;
}

// Points of the first part: `at`, and from there along the axis and two ways across.
static Status add_frame(const ArgumentReader *reader, SceneHead *head, const Joint *joint, double way[3][3],
                        int32_t point[4]) {
    double length;
    memcpy(way[0], joint->axis, sizeof way[0]);
    way_across(way[0], way[1], &length);
    for (int c = 0; c < 3; c++) way[1][c] /= length;
    vector_cross(way[0], way[1], way[2]);
    Status status = add_point(reader, head->part + joint->part[0], joint->at, &point[0]);
    for (int k = 0; k < 3 && status == STATUS_OK; k++) {
        double at[3];
        for (int c = 0; c < 3; c++) at[c] = joint->at[c] + joint->radius * way[k][c];
        status = add_point(reader, head->part + joint->part[0], at, &point[1 + k]);
    }
    return status;
}

// A point of the second part along way k of the frame, from one of its points that is 0 there at the start.
static void slide_along(const Joint *joint, const int32_t frame[4], int32_t point, int k, SceneFree *out) {
    for (int j = 0; j < 4; j++) out->part[j] = joint->part[j == 0];
    out->point[0] = point;
    out->point[1] = frame[1 + (k + 1) % 3];
    out->point[2] = frame[0];
    out->point[3] = frame[1 + k];
}

// Three points around `at` in a plane of the axis. As far as they are from it, they resist turning about any axis with
// k_e radius^2.
static Status add_slides(const ArgumentReader *reader, SceneHead *head, const Joint *joint) {
    SceneFree *slider = head->slider + head->slider_count++;
    double way[3][3];
    int32_t frame[4], point;
    Status status = add_frame(reader, head, joint, way, frame);
    if (status == STATUS_OK) status = add_point(reader, head->part + joint->part[1], joint->at, &point);
    if (status != STATUS_OK) return status;
    fill_free(joint, joint->position, joint->friction / SLOW_WAY, slider);
    slide_along(joint, frame, point, 0, slider);
    for (int i = 0; i < 3 && status == STATUS_OK; i++) {
        const double angle = 2 * M_PI * i / 3, out = sqrt(2) * joint->radius;
        double at[3];
        for (int c = 0; c < 3; c++) at[c] = joint->at[c] + out * (cos(angle) * way[0][c] + sin(angle) * way[1][c]);
        status = add_point(reader, head->part + joint->part[1], at, &point);
        for (int k = 1; k < 3; k++) {
            SceneFree *hold = head->hold + head->hold_count++;
            *hold = (SceneFree){.stiffness = joint->springs.k_e / 3, .damping = joint->springs.k_d / 3};
            slide_along(joint, frame, point, k, hold);
        }
    }
    return status;
}

static Status make_joint(const ArgumentReader *reader, SceneHead *head, const Joint *joint) {
    static const int counts[] = {[BALL] = 1, [HINGE] = 2, [WELD] = 3, [SLIDER] = 0};
    const int count = counts[joint->kind];
    const int32_t first = (int32_t)head->part[joint->part[0]].mesh.N;
    Status status = STATUS_OK;
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        const double angle = 2 * M_PI * k / count, round[3] = {cos(angle), sin(angle), 0};
        double at[3];
        for (int c = 0; c < 3; c++) {
            const double way = joint->kind == HINGE  ? (k ? -1 : 1) * joint->axis[c]
                               : joint->kind == WELD ? round[c]
                                                     : 0;
            at[c] = joint->at[c] + joint->radius * way;
        }
        status = hang(reader, head, joint, at, 1.0 / count);
    }
    if (joint->kind == SLIDER) return add_slides(reader, head, joint);
    if (status == STATUS_OK && joint->kind == HINGE) status = add_angle(reader, head, joint, first);
    if (status == STATUS_OK && joint->kind == BALL && what_moves(joint)) status = add_ball(reader, head, joint);
    return status;
}

Status scene_read_joints(const ArgumentReader *reader, SceneHead *head) {
    const YamlNode *map = head->joints;
    if (!map) return STATUS_OK;
    Status status = scene_need(reader, map, YAML_MAP, "a map of joints {hip: {between: [..], at: .., k_e: ..}}");
    if (status != STATUS_OK) return status;
    head->tie = calloc(map->count, POINTS_MAX * CORNERS * sizeof *head->tie);
    head->hinge = calloc(map->count, sizeof *head->hinge);
    head->slider = calloc(map->count, sizeof *head->slider);
    head->hold = calloc(map->count, HOLDS * sizeof *head->hold);
    head->ball = calloc(map->count, sizeof *head->ball);
    head->joined = calloc(map->count, sizeof *head->joined);
    if (!head->tie || !head->hinge || !head->slider || !head->hold || !head->ball || !head->joined)
        return scene_no_memory(reader);
    for (const YamlNode *node = map->child; node && status == STATUS_OK; node = node->next) {
        Joint joint;
        status = read_joint(reader, head, node, &joint);
        if (status == STATUS_OK) status = make_joint(reader, head, &joint);
        for (int k = 0; k < 2; k++) head->joined[head->joint_count][k] = (int32_t)joint.part[k];
        head->joint_count++;
    }
    return status;
}
