// SPDX-License-Identifier: Apache-2.0
// Objects of a scene: shape, material, pose.
#include "lab/scene_file.h"

#include "base/vector.h"
#include "lab/rigid_mass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1e6       // metres; a larger number is taken for a mistake
#define STIFF 1e15    // N/m, Pa, ..
#define NO_MASS 1e-15 // of a joint's point, as a part of another particle's
#define LEAST 1e-12   // of lengths and masses that must be above 0
enum { CELLS_MAX = 4096 };

// ---- shapes

typedef struct Shape {
    double size[3], radius, scale, fill;
    int cells[3];
    long ball_cells;
    char file[ARGUMENT_PATH_SIZE];
    bool has_fill;
    const YamlNode *at, *springs;
} Shape;

#define OF(field) offsetof(Shape, field)
#define LENGTH_MIN 1e-6
#define SIZE(count, least)                                                                                             \
    {                                                                                                                  \
        .key = "size", .type = ARG_NUMBERS, .offset = OF(size), .min = least, .max = FAR, .numbers = count,            \
        .required = true                                                                                               \
    }
#define CELLS(word, count)                                                                                             \
    {                                                                                                                  \
        .key = word, .type = ARG_WHOLES, .offset = OF(cells), .min = 1, .max = CELLS_MAX, .numbers = count,            \
        .required = true                                                                                               \
    }
static const Argument box_arguments[] = {SIZE(3, LENGTH_MIN), CELLS("cells", 3)};
static const Argument cloth_arguments[] = {SIZE(2, LENGTH_MIN), CELLS("cells", 2)};
static const Argument grid_arguments[] = {SIZE(3, 0), CELLS("points", 3)};
static const Argument sphere_arguments[] = {
    {.key = "radius", .type = ARG_NUMBER, .offset = OF(radius), .min = 1e-6, .max = FAR, .required = true},
    {.key = "cells", .type = ARG_WHOLE, .offset = OF(ball_cells), .min = 1, .max = 64, .required = true}};
static const Argument mesh_arguments[] = {
    {.key = "file", .type = ARG_PATH, .offset = OF(file), .required = true},
    {.key = "scale", .type = ARG_NUMBER, .offset = OF(scale), .min = 1e-9, .max = 1e9},
    {.key = "fill", .type = ARG_NUMBER, .offset = OF(fill), .min = 1e-6, .max = FAR, .given = OF(has_fill)}};
static const Argument points_arguments[] = {
    {.key = "at", .type = ARG_OTHER, .offset = OF(at), .required = true, .read = argument_keep},
    {.key = "springs", .type = ARG_OTHER, .offset = OF(springs), .read = argument_keep}};
#undef OF

static Status make_box(const ArgumentReader *reader, const YamlNode *node, const Shape *shape, Mesh *out) {
    (void)node;
    return mesh_make_box(shape->size, shape->cells, out, reader->err);
}

static Status make_cloth(const ArgumentReader *reader, const YamlNode *node, const Shape *shape, Mesh *out) {
    (void)node;
    return mesh_make_cloth(shape->size, shape->cells, out, reader->err);
}

static Status make_grid(const ArgumentReader *reader, const YamlNode *node, const Shape *shape, Mesh *out) {
    for (int c = 0; c < 3; c++)
        if (shape->cells[c] > 1 && shape->size[c] < LENGTH_MIN)
            return argument_error(reader, node, "size: expected at least %g along %d points, found %g", LENGTH_MIN,
                                  (int)shape->cells[c], shape->size[c]);
    return mesh_make_grid(shape->size, shape->cells, out, reader->err);
}

static Status make_sphere(const ArgumentReader *reader, const YamlNode *node, const Shape *shape, Mesh *out) {
    (void)node;
    return mesh_make_sphere(shape->radius, (int)shape->ball_cells, out, reader->err);
}

static Status make_file(const ArgumentReader *reader, const YamlNode *node, const Shape *shape, Mesh *out) {
    Mesh surface = {0};
    Status status = mesh_read(shape->file, &surface, reader->err);
    for (size_t i = 0; i < 3 * surface.N && status == STATUS_OK; i++) surface.position[i] *= shape->scale;
    if (status == STATUS_OK) status = mesh_check(&surface, shape->file, reader->err);
    if (status == STATUS_OK && shape->has_fill && surface.T)
        status = argument_error(reader, node, "fill: %s is solid already", shape->file);
    if (status == STATUS_OK && shape->has_fill)
        status = mesh_fill(&surface, shape->fill, shape->file, out, reader->err);
    else if (status == STATUS_OK) {
        *out = surface;
        surface = (Mesh){0};
    }
    mesh_free(&surface);
    return status;
}

// One row of numbers in the list of rows `key`.
static Status read_row(const ArgumentReader *reader, const char *key, const YamlNode *node, int count, double min,
                       double max, double *out) {
    if (node->kind != YAML_LIST || (int)node->count != count)
        return argument_error(reader, node, "%s: expected lists of %d numbers", key, count);
    for (const YamlNode *entry = node->child; entry; entry = entry->next, out++)
        if (!yaml_tree_number(entry, out) || *out < min || *out > max)
            return argument_error(reader, entry, "%s: expected numbers from %.9g to %.9g, found %.64s", key, min, max,
                                  entry->kind == YAML_TEXT ? entry->text : "something else");
    return STATUS_OK;
}

// A spring of two points that are apart: at one place it would have no direction, and no gradient.
static Status add_spring(const ArgumentReader *reader, const YamlNode *pair, Mesh *out) {
    double row[2], d[3];
    Status status = read_row(reader, "springs", pair, 2, 0, (double)out->N - 1, row);
    if (status != STATUS_OK) return status;
    if (row[0] != floor(row[0]) || row[1] != floor(row[1]) || row[0] == row[1])
        return argument_error(reader, pair, "springs: expected two different whole numbers");
    const int32_t a = (int32_t)row[0], b = (int32_t)row[1];
    vector_between(out->position, a, b, d);
    if (!(sqrt(vector_dot(d, d)) >= LENGTH_MIN))
        return argument_error(reader, pair, "springs: points %d and %d are at one place: expected at least %g m", a, b,
                              LENGTH_MIN);
    return mesh_add_spring(out, a, b, reader->err);
}

static Status make_points(const ArgumentReader *reader, const YamlNode *node, const Shape *shape, Mesh *out) {
    double row[3] = {0};
    Status status = STATUS_OK;
    if (shape->at->kind != YAML_LIST || !shape->at->count)
        return argument_wrong(reader, shape->at, "a list of points [[x, y, z], ..]");
    for (const YamlNode *at = shape->at->child; at && status == STATUS_OK; at = at->next) {
        status = read_row(reader, "at", at, 3, -FAR, FAR, row);
        if (status == STATUS_OK) status = mesh_add_vertex(out, row, reader->err);
    }
    const YamlNode *first = shape->springs && shape->springs->kind == YAML_LIST ? shape->springs->child : NULL;
    if (status == STATUS_OK && shape->springs && !first)
        return argument_wrong(reader, shape->springs, "a list of pairs of points [[0, 1], ..]");
    for (const YamlNode *pair = first; pair && status == STATUS_OK; pair = pair->next)
        status = add_spring(reader, pair, out);
    (void)node;
    return status;
}

#define TABLE(t) t, sizeof t / sizeof *t
static const struct {
    const char *word;
    const Argument *table;
    size_t count;
    Status (*make)(const ArgumentReader *reader, const YamlNode *node, const Shape *shape, Mesh *out);
} shapes[] = {{"box", TABLE(box_arguments), make_box},       {"sphere", TABLE(sphere_arguments), make_sphere},
              {"cloth", TABLE(cloth_arguments), make_cloth}, {"grid", TABLE(grid_arguments), make_grid},
              {"mesh", TABLE(mesh_arguments), make_file},    {"points", TABLE(points_arguments), make_points}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static Status read_shape(const ArgumentReader *reader, const YamlNode *node, void *field) {
    Mesh *out = field;
    Shape shape = {.scale = 1};
    int kind = 0;
    while (strcmp(shapes[kind].word, node->key) != 0) kind++;
    const ArgumentGroup group = {shapes[kind].table, shapes[kind].count, &shape};
    if (out->N) return argument_error(reader, node, "%s: the object has a shape already", node->key);
    Status status = arguments_read(reader, node, &group, 1, NULL);
    if (status != STATUS_OK) return status;
    reader->err->text[0] = 0;
    status = shapes[kind].make(reader, node, &shape, out);
    bool placed = strncmp(reader->err->text, reader->name, strlen(reader->name)) == 0;
    return status == STATUS_OK || placed ? status : error_prefix(reader->err, "%s:%zu", reader->name, node->line);
}

// ---- materials

#define OF(field) offsetof(Solid, field)
#define PASCAL(word, field)                                                                                            \
    { .key = word, .type = ARG_NUMBER, .offset = OF(field), .min = 0, .max = STIFF, .given = OF(has_##field) }
static const Argument solid_arguments[] = {
    PASCAL("young", young),
    {.key = "poisson",
     .type = ARG_NUMBER,
     .offset = OF(poisson),
     .min = -0.99,
     .max = 0.4999,
     .given = OF(has_poisson)},
    PASCAL("lame_lambda", lame_lambda),
    PASCAL("lame_mu", lame_mu),
    PASCAL("mu", mu),
    PASCAL("lambda", lambda),
    {.key = "k_d", .type = ARG_NUMBER, .offset = OF(k_d), .min = 0, .max = STIFF},
    {.key = "act", .type = ARG_NUMBER, .offset = OF(act), .min = -10, .max = 10}};
#undef OF
static const Argument stiffness_arguments[] = {
    {.key = "k_e", .type = ARG_NUMBER, .offset = offsetof(Stiffness, k_e), .min = 0, .max = STIFF, .required = true},
    {.key = "k_d", .type = ARG_NUMBER, .offset = offsetof(Stiffness, k_d), .min = 0, .max = STIFF}};

static Status read_solid(const ArgumentReader *reader, const YamlNode *node, void *field) {
    Solid *out = field;
    const ArgumentGroup group = {TABLE(solid_arguments), out};
    Status status = arguments_read(reader, node, &group, 1, NULL);
    bool young = out->has_young && out->has_poisson, lame = out->has_lame_lambda && out->has_lame_mu,
         own = out->has_mu && out->has_lambda;
    int given =
        out->has_young + out->has_poisson + out->has_lame_lambda + out->has_lame_mu + out->has_mu + out->has_lambda;
    if (status == STATUS_OK && (given != 2 || young + lame + own != 1))
        status = argument_error(reader, node,
                                "solid: expected young and poisson, or lame_lambda and lame_mu, or mu and lambda");
    return status;
}

void solid_stiffness(const Solid *solid, double *mu, double *lambda) {
    double lame_mu = solid->lame_mu, lame_lambda = solid->lame_lambda;
    if (solid->has_young) {
        lame_mu = solid->young / (2 * (1 + solid->poisson));
        lame_lambda = solid->young * solid->poisson / ((1 + solid->poisson) * (1 - 2 * solid->poisson));
    }
    *mu = solid->has_mu ? solid->mu : 4.0 / 3 * lame_mu; // the same stiffness at small strain
    *lambda = solid->has_mu ? solid->lambda : lame_lambda + 5.0 / 6 * lame_mu;
}

static Status read_stiffness(const ArgumentReader *reader, const YamlNode *node, void *field) {
    const ArgumentGroup group = {TABLE(stiffness_arguments), field};
    return arguments_read(reader, node, &group, 1, NULL);
}

// ---- rotation

typedef struct Turn {
    double axis[3], angle;
} Turn;

static Status read_rotation(const ArgumentReader *reader, const YamlNode *node, void *field) {
    static const Argument table[] = {{.key = "axis",
                                      .type = ARG_NUMBERS,
                                      .offset = offsetof(Turn, axis),
                                      .min = -FAR,
                                      .max = FAR,
                                      .numbers = 3,
                                      .required = true},
                                     {.key = "angle",
                                      .type = ARG_NUMBER,
                                      .offset = offsetof(Turn, angle),
                                      .min = -36000,
                                      .max = 36000,
                                      .required = true}};
    Part *part = field;
    Turn turn;
    const ArgumentGroup group = {TABLE(table), &turn};
    Status status = arguments_read(reader, node, &group, 1, NULL);
    double length = sqrt(turn.axis[0] * turn.axis[0] + turn.axis[1] * turn.axis[1] + turn.axis[2] * turn.axis[2]);
    if (status != STATUS_OK) return status;
    if (!(length > 0)) return argument_error(reader, node, "rotation: expected an axis of non-zero length");
    for (int c = 0; c < 3; c++) part->axis[c] = turn.axis[c] / length;
    part->angle = turn.angle * 3.14159265358979323846 / 180;
    return STATUS_OK;
}

// ---- objects

#define OF(field) offsetof(Part, field)
#define VECTOR(word, field)                                                                                            \
    { .key = word, .type = ARG_NUMBERS, .offset = OF(field), .min = -FAR, .max = FAR, .numbers = 3 }
#define SHAPE(word)                                                                                                    \
    { .key = word, .type = ARG_OTHER, .offset = OF(mesh), .read = read_shape }
static const Argument object_arguments[] = {
    SHAPE("box"),
    SHAPE("sphere"),
    SHAPE("cloth"),
    SHAPE("grid"),
    SHAPE("mesh"),
    SHAPE("points"),
    {.key = "density", .type = ARG_NUMBER, .offset = OF(density), .min = -1e12, .max = 1e12, .given = OF(has_density)},
    {.key = "mass", .type = ARG_NUMBER, .offset = OF(mass), .min = -1e12, .max = 1e12, .given = OF(has_mass)},
    {.key = "rigid", .type = ARG_YES, .offset = OF(rigid)},
    {.key = "solid", .type = ARG_OTHER, .offset = OF(solid), .given = OF(has_solid), .read = read_solid},
    {.key = "springs", .type = ARG_OTHER, .offset = OF(springs), .given = OF(has_springs), .read = read_stiffness},
    {.key = "bending", .type = ARG_OTHER, .offset = OF(bending), .given = OF(has_bending), .read = read_stiffness},
    VECTOR("position", position),
    {.key = "rotation", .type = ARG_OTHER, .read = read_rotation},
    VECTOR("velocity", velocity),
    VECTOR("spin", spin),
    {.key = "fixed", .type = ARG_OTHER, .offset = OF(fixed), .read = argument_keep},
    {.key = "contact", .type = ARG_NAME, .offset = OF(contact)},
    {.key = "colour", .type = ARG_NUMBERS, .offset = OF(colour), .max = 255, .numbers = 3, .given = OF(has_colour)}};
#undef OF

// Rodrigues.
void part_turn(const Part *part, double angle, const double x[3], double out[3]) {
    double across[3], along = vector_dot(part->axis, x), c = cos(angle), s = sin(angle);
    vector_cross(part->axis, x, across);
    for (int k = 0; k < 3; k++) out[k] = c * x[k] + s * across[k] + (1 - c) * along * part->axis[k];
}

bool part_is_fixed(const Part *part) {
    return part->fixed && part->fixed->kind == YAML_TEXT && !strcmp(part->fixed->text, "all");
}

// A rigid object has nothing that holds it together or in its place, and fills a volume, or is of points alone.
static Status check_rigid(const ArgumentReader *reader, Part *part) {
    static const char *const others[] = {"solid", "springs", "bending"};
    const YamlNode *node = part->node, *file = yaml_tree_find(node, "mesh");
    if (file) file = yaml_tree_find(file, "file");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (yaml_tree_find(node, others[i]))
            return argument_error(reader, yaml_tree_find(node, others[i]),
                                  "%s: %s: a rigid object has none; leave out this or \"rigid\"", node->key, others[i]);
    if (part->fixed && !part_is_fixed(part))
        return argument_error(reader, part->fixed,
                              "%s: fixed: a rigid object is fixed as a whole, \"fixed: all\", or not at all",
                              node->key);
    if (yaml_tree_find(node, "cloth"))
        return argument_error(reader, yaml_tree_find(node, "rigid"),
                              "%s: rigid: a cloth fills no volume; take a flat box, or a closed mesh", node->key);
    if (part->mesh.T || !part->mesh.F) return STATUS_OK;
    const Status status = mesh_close(&part->mesh, file ? file->text : node->key, reader->err);
    return status == STATUS_OK ? status
                               : error_prefix(reader->err, "%s:%zu: %s: rigid", reader->name, node->line, node->key);
}

// What fits which shape.
static Status check_material(const ArgumentReader *reader, Part *part) {
    const YamlNode *node = part->node;
    const Mesh *m = &part->mesh;
    if (!m->N)
        return argument_error(reader, node, "%s: expected a shape: box, sphere, cloth, grid, mesh or points",
                              node->key);
    if (part->rigid) return check_rigid(reader, part);
    if (m->T && !part->has_solid)
        return argument_error(reader, node, "%s: a solid shape needs \"solid: {young: .., poisson: ..}\"", node->key);
    if (!m->T && part->has_solid)
        return argument_error(reader, node,
                              "%s: solid: the shape has no tetrahedra; a closed mesh gets them by \"fill\"", node->key);
    if (part->has_bending && !m->F)
        return argument_error(reader, node, "%s: bending: the shape has no triangles", node->key);
    if ((m->F || m->S) && !part->has_springs)
        return argument_error(reader, node, "%s: its edges need \"springs: {k_e: ..}\"", node->key);
    if (part->has_springs && !m->F && !m->S)
        return argument_error(reader, node, "%s: springs: the shape has no edges for them", node->key);
    return STATUS_OK;
}

static Status check_mass(const ArgumentReader *reader, const Part *part) {
    const YamlNode *node = part->node;
    double value = part->has_mass ? part->mass : part->density;
    if (part->has_mass == part->has_density)
        return argument_error(reader, node, "%s: expected either \"density\" or \"mass\"", node->key);
    if (part->has_density && !part->mesh.T && !part->mesh.F)
        return argument_error(reader, node, "%s: density: the shape has no volume or area; say \"mass\"", node->key);
    if (!(value > LEAST))
        return argument_error(reader, yaml_tree_find(node, part->has_mass ? "mass" : "density"),
                              "%s: expected more than 0, found %g; particles that stay in their place are \"fixed\"",
                              part->has_mass ? "mass" : "density", value);
    return STATUS_OK;
}

// Masses of a rigid solid, and the points inside it that hold its inertia where its vertices cannot.
static Status weigh(const ArgumentReader *reader, Part *part) {
    const size_t room = part->mesh.N + RIGID_POINTS;
    RigidPoints points = {0};
    Error why;
    part->kg = calloc(room, sizeof *part->kg);
    part->share = calloc(room, sizeof *part->share);
    if (!part->kg || !part->share) return scene_no_memory(reader);
    Status status = rigid_mass(&part->mesh, part->density, part->has_mass ? part->mass : 0, part->kg,
                               part_is_fixed(part) ? NULL : part->share, &points, &why);
    if (status != STATUS_OK) return argument_error(reader, part->node, "%s: rigid: %s", part->node->key, why.text);
    for (size_t k = 0; k < points.count && status == STATUS_OK; k++)
        status = mesh_add_vertex(&part->mesh, points.at[k], reader->err);
    part->hidden = points.count;
    part->weighed = part->mesh.N;
    return status;
}

Status part_read(const ArgumentReader *reader, const YamlNode *node, Part *out) {
    *out = (Part){.node = node};
    const ArgumentGroup group = {TABLE(object_arguments), out};
    Status status = arguments_read(reader, node, &group, 1, NULL);
    if (status == STATUS_OK) status = check_material(reader, out);
    if (status == STATUS_OK) status = check_mass(reader, out);
    return status == STATUS_OK && out->rigid && (out->mesh.T || out->mesh.F) ? weigh(reader, out) : status;
}

void part_free(Part *part) {
    mesh_free(&part->mesh);
    free(part->kg);
    free(part->share);
}

// ---- fixed particles: all, a list of their numbers, or a box in the shape's own coordinates

static Status fix_box(const ArgumentReader *reader, const Part *part, uint8_t *fixed) {
    struct Box {
        double min[3], max[3];
    } box = {{-FAR, -FAR, -FAR}, {FAR, FAR, FAR}};
    static const Argument table[] = {
        {.key = "min", .type = ARG_NUMBERS, .offset = offsetof(struct Box, min), .min = -FAR, .max = FAR, .numbers = 3},
        {.key = "max",
         .type = ARG_NUMBERS,
         .offset = offsetof(struct Box, max),
         .min = -FAR,
         .max = FAR,
         .numbers = 3}};
    const ArgumentGroup group = {TABLE(table), &box};
    Status status = arguments_read(reader, part->fixed, &group, 1, NULL);
    size_t found = 0;
    for (size_t i = 0; i < part->mesh.N && status == STATUS_OK; i++) {
        const double *x = part->mesh.position + 3 * i;
        bool inside = true;
        for (int c = 0; c < 3; c++) inside = inside && x[c] >= box.min[c] && x[c] <= box.max[c];
        fixed[i] = inside;
        found += inside;
    }
    if (status == STATUS_OK && !found)
        status = argument_error(reader, part->fixed, "fixed: the box holds none of the %zu particles", part->mesh.N);
    return status;
}

Status part_fixed(const ArgumentReader *reader, const Part *part, uint8_t *fixed) {
    char expected[80];
    if (!part->fixed) return STATUS_OK;
    if (part->fixed->kind == YAML_MAP) return fix_box(reader, part, fixed);
    if (part_is_fixed(part)) {
        memset(fixed, 1, part->mesh.N);
        return STATUS_OK;
    }
    snprintf(expected, sizeof expected, "numbers of particles, 0 to %zu, all, or {min: .., max: ..}", part->mesh.N - 1);
    if (part->fixed->kind != YAML_LIST) return argument_wrong(reader, part->fixed, expected);
    for (const YamlNode *entry = part->fixed->child; entry; entry = entry->next) {
        double number;
        if (!yaml_tree_number(entry, &number) || number < 0 || number != floor(number) ||
            number >= (double)part->mesh.N)
            return argument_error(reader, entry, "fixed: expected %s, found %.40s", expected,
                                  entry->kind == YAML_TEXT ? entry->text : "something else");
        fixed[(size_t)number] = 1;
    }
    return STATUS_OK;
}

// ---- masses: a quarter of each tet's, a third of each triangle's, else equal shares

// Points of joints have no part in it, but the simulator's particles have a mass above 0.
static void rigid_masses(const Part *part, double *mass, double *share) {
    for (size_t i = 0; i < part->mesh.N; i++) mass[i] = i < part->weighed ? part->kg[i] : NO_MASS * part->kg[0];
    for (size_t i = 0; i < part->weighed && share; i++) share[i] = part->share[i];
}

static Status plain_masses(const ArgumentReader *reader, const Part *part, double *mass) {
    const Mesh *m = &part->mesh;
    double total = 0;
    for (size_t i = 0; i < m->N; i++) mass[i] = m->T || m->F ? 0 : 1;
    for (size_t i = 0; i < 4 * m->T; i++) mass[m->tet[i]] += mesh_tet_volume(m, i / 4) / 4;
    for (size_t i = 0; i < 3 * m->F; i++) mass[m->triangle[i]] += mesh_triangle_area(m, i / 3) / 3;
    for (size_t i = 0; i < m->N; i++) total += mass[i];
    for (size_t i = 0; i < m->N; i++) mass[i] *= part->has_mass ? part->mass / total : part->density;
    if (part->rigid && !part_is_fixed(part) && !rigid_spans(m->position, mass, m->N))
        return argument_error(reader, part->node, "%s: rigid: expected three particles that are not on one line",
                              part->node->key);
    return STATUS_OK;
}

Status part_masses(const ArgumentReader *reader, const Part *part, double *mass, double *share) {
    const Mesh *m = &part->mesh;
    Status status = STATUS_OK;
    for (size_t i = 0; i < m->N && share; i++) share[i] = 1;
    if (part->kg) rigid_masses(part, mass, share);
    else status = plain_masses(reader, part, mass);
    for (size_t i = 0; i < m->N && status == STATUS_OK; i++)
        if (!(mass[i] > 0) || !isfinite(mass[i]))
            status =
                argument_error(reader, part->node, "%s: particle %zu has the mass %g kg", part->node->key, i, mass[i]);
    return status;
}
