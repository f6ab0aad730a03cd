// SPDX-License-Identifier: Apache-2.0
// From what a scene file says to the arrays of the simulator.
#include "base/vector.h"
#include "lab/allocate.h"
#include "lab/scene_file.h"
#include "sim/rest_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// Where each object's rows begin; edges of triangles become springs, and those of two triangles hinges.
static Status lay_out(const ArgumentReader *reader, const SceneHead *head, MeshEdge **edges, size_t *edge_count) {
    SimScene *scene = head->scene;
    SimModel *m = &scene->model;
    for (size_t p = 0; p < head->part_count; p++) {
        const Part *part = head->part + p;
        SceneObject *object = scene->objects + p;
        const bool rigid = object->rigid = part->rigid;
        Status status = rigid ? STATUS_OK : mesh_edges(&part->mesh, edges + p, edge_count + p, reader->err);
        if (status != STATUS_OK) return status;
        strcpy(object->name, part->node->key);
        strcpy(object->note, part->mesh.note);
        for (int c = 0; c < 3; c++) object->colour[c] = (uint8_t)lround(part->colour[c]);
        size_t inner = 0;
        for (size_t e = 0; e < edge_count[p]; e++) inner += edges[p][e].count == 2;
        object->particle = m->particles, object->particles = part->mesh.N;
        object->hidden = part->hidden;
        object->spring = m->springs, object->springs = rigid ? 0 : part->mesh.S + edge_count[p];
        object->tet = m->tets, object->tets = rigid ? 0 : part->mesh.T;
        object->hinge = m->hinges, object->hinges = part->has_bending ? inner : 0;
        m->particles += object->particles;
        m->springs += object->springs;
        m->tets += object->tets;
        m->hinges += object->hinges;
        m->rigids += rigid && !part_is_fixed(part);
    }
    m->springs += head->tie_count;
    m->hinges += head->hinge_count;
    m->slides += head->slider_count + head->hold_count;
    m->sockets += head->ball_count;
    if (m->particles <= MESH_ITEMS_MAX && m->springs <= MESH_ITEMS_MAX && m->tets <= MESH_ITEMS_MAX) return STATUS_OK;
    return argument_error(reader, head->objects, "objects: more than %d particles, springs or tetrahedra",
                          MESH_ITEMS_MAX);
}

#define CONTROLS_MAX ((size_t)1 << 28)  // doubles
#define POSITIONS_MAX ((size_t)1 << 36) // of all frames

static Status check_frames(const ArgumentReader *reader, const SceneHead *head) {
    const SimScene *scene = head->scene;
    if ((size_t)scene->frames * scene->model.particles <= POSITIONS_MAX) return STATUS_OK;
    return argument_error(reader, head->objects, "objects: %ld frames of %zu particles: more than %zu positions in all",
                          scene->frames, scene->model.particles, POSITIONS_MAX);
}

static Status check_controls(const ArgumentReader *reader, const SceneHead *head) {
    const SimModel *m = &head->scene->model;
    if (!head->controls ||
        (size_t)head->scene->frames * (3 * m->particles + m->tets + m->hinges + m->slides) <= CONTROLS_MAX)
        return STATUS_OK;
    return argument_error(reader, head->controls,
                          "controls: %ld frames of %zu particles and %zu tetrahedra are too many", head->scene->frames,
                          m->particles, m->tets);
}

static Status make_arrays(const ArgumentReader *reader, const SceneHead *head) {
    SimScene *scene = head->scene;
    SimModel *m = &scene->model;
    bool good = true;
    m->fixed = allocate(m->particles, 1, &good);
    m->material = allocate(m->particles, sizeof *m->material, &good);
    m->spring = allocate(m->springs, 2 * sizeof *m->spring, &good);
    m->tet = allocate(m->tets, 4 * sizeof *m->tet, &good);
    m->hinge = allocate(m->hinges, 4 * sizeof *m->hinge, &good);
    m->slide = allocate(m->slides, 4 * sizeof *m->slide, &good);
    m->socket = allocate(m->sockets, 6 * sizeof *m->socket, &good);
    m->rigid = m->rigids ? allocate(m->particles, sizeof *m->rigid, &good) : NULL;
    m->inertia = m->rigids ? allocate(m->particles, sizeof *m->inertia, &good) : NULL;
    m->contacts = allocate(m->materials, sizeof *m->contacts, &good);
    size_t controls = head->controls ? (size_t)scene->frames : 0;
    bool stops = false;
    for (size_t h = 0; h < head->hinge_count; h++) stops |= head->hinge[h].held;
    for (int v = 0; v < SIM_VALUES && good; v++) {
        size_t count = sim_value_count(m, controls, v);
        if (count && v != SIM_DRIVE && (stops || !sim_value_is_stop((SimValue)v)))
            scene->values.of[v] = allocate(count, sizeof(double), &good);
    }
    return good ? STATUS_OK : scene_no_memory(reader);
}

static Status fill_particles(const ArgumentReader *reader, SimScene *scene, const Part *part,
                             const SceneObject *object) {
    double *mass = scene->values.of[SIM_MASS] + object->particle,
           *rest = scene->values.of[SIM_REST] + 3 * object->particle;
    double *velocity = scene->values.of[SIM_VELOCITY] + 3 * object->particle, centre[3] = {0}, total = 0;
    const bool turns = scene->model.inertia && !part_is_fixed(part);
    double *share = turns ? (double *)scene->model.inertia + object->particle : NULL;
    Status status = part_fixed(reader, part, (uint8_t *)scene->model.fixed + object->particle);
    if (status == STATUS_OK) status = part_masses(reader, part, mass, share);
    if (status != STATUS_OK) return status;
    for (size_t i = 0; i < object->particles; i++) {
        part_turn(part, part->angle, part->mesh.position + 3 * i, rest + 3 * i);
        for (int c = 0; c < 3; c++) {
            rest[3 * i + (size_t)c] += part->position[c];
            centre[c] += mass[i] * rest[3 * i + (size_t)c];
        }
        total += mass[i];
        const bool hidden = i >= scene_own_particles(object) && scene->model.materials;
        ((int32_t *)scene->model.material)[object->particle + i] =
            hidden ? (int32_t)scene->model.materials - 1 : part->material;
    }
    // v + spin x (x - centre); fixed particles stay. The centre is that before the section `values`, as fits need it:
    // the derivative by a mass is that of the mass alone.
    for (size_t i = 0; i < object->particles; i++) {
        double from[3], around[3];
        for (int c = 0; c < 3; c++) from[c] = rest[3 * i + (size_t)c] - centre[c] / total;
        vector_cross(part->spin, from, around);
        for (int c = 0; c < 3 && !scene->model.fixed[object->particle + i]; c++)
            velocity[3 * i + (size_t)c] = part->velocity[c] + around[c];
    }
    memcpy(scene->values.of[SIM_POSITION] + 3 * object->particle, rest, 3 * object->particles * sizeof *rest);
    return STATUS_OK;
}

static void fill_spring(SimScene *scene, const Stiffness *springs, size_t spring, int32_t a, int32_t b) {
    const double *rest = scene->values.of[SIM_REST];
    double d[3];
    vector_between(rest, a, b, d);
    ((int32_t *)scene->model.spring)[2 * spring] = a;
    ((int32_t *)scene->model.spring)[2 * spring + 1] = b;
    scene->values.of[SIM_SPRING_LENGTH][spring] = sqrt(vector_dot(d, d));
    scene->values.of[SIM_SPRING_KE][spring] = springs->k_e;
    scene->values.of[SIM_SPRING_KD][spring] = springs->k_d;
}

static void fill_hinge(SimScene *scene, const Stiffness *bending, size_t hinge, const int32_t v[4]) {
    memcpy((int32_t *)scene->model.hinge + 4 * hinge, v, 4 * sizeof *v);
    scene->values.of[SIM_HINGE_KE][hinge] = bending->k_e;
    scene->values.of[SIM_HINGE_KD][hinge] = bending->k_d;
    scene->values.of[SIM_HINGE_ANGLE][hinge] = rest_hinge(scene->values.of[SIM_REST], v).angle;
}

static void fill_elements(SimScene *scene, const Part *part, const SceneObject *object, const MeshEdge *edges,
                          size_t edge_count) {
    const int32_t first = (int32_t)object->particle;
    const Mesh *mesh = &part->mesh;
    size_t spring = object->spring, hinge = object->hinge;
    double mu, lambda;
    for (size_t i = 0; i < mesh->S; i++)
        fill_spring(scene, &part->springs, spring++, first + mesh->spring[2 * i], first + mesh->spring[2 * i + 1]);
    for (size_t i = 0; i < edge_count; i++) {
        fill_spring(scene, &part->springs, spring++, first + edges[i].a, first + edges[i].b);
        const int32_t v[4] = {first + edges[i].opposite[0], first + edges[i].opposite[1], first + edges[i].a,
                              first + edges[i].b};
        if (part->has_bending && edges[i].count == 2) fill_hinge(scene, &part->bending, hinge++, v);
    }
    solid_stiffness(&part->solid, &mu, &lambda);
    for (size_t i = 0; i < 4 * mesh->T; i++) ((int32_t *)scene->model.tet)[4 * object->tet + i] = first + mesh->tet[i];
    for (size_t i = object->tet; i < object->tet + object->tets; i++) {
        scene->values.of[SIM_TET_MU][i] = mu;
        scene->values.of[SIM_TET_LAMBDA][i] = lambda;
        scene->values.of[SIM_TET_KD][i] = part->solid.k_d;
        scene->values.of[SIM_TET_ACT][i] = part->solid.act;
    }
}

// Of an object about an axis, its moment of inertia over its mass.
static double gyration(const SimScene *scene, const SceneObject *object, const double at[3], const double axis[3]) {
    const double *mass = scene->values.of[SIM_MASS], *x = scene->values.of[SIM_REST];
    double total = 0, centre[3] = {0}, out = 0, r[3];
    for (size_t i = object->particle; i < object->particle + object->particles; i++) {
        total += mass[i];
        for (size_t c = 0; c < 3; c++) centre[c] += mass[i] * x[3 * i + c];
    }
    for (int c = 0; c < 3; c++) centre[c] /= total;
    for (size_t i = object->particle; i < object->particle + object->particles; i++) {
        for (size_t c = 0; c < 3; c++) r[c] = x[3 * i + c] - centre[c];
        const double along = vector_dot(r, axis);
        out += scene->model.inertia[i] * mass[i] / total * (vector_dot(r, r) - along * along);
    }
    for (int c = 0; c < 3; c++) r[c] = centre[c] - at[c];
    const double along = vector_dot(r, axis);
    return out + vector_dot(r, r) - along * along;
}

// So stiff is a limit that an object on its hinge swings against it as fast as it would against the joint's springs,
// which bound the step already: k_e inertia / mass, of that object which has less.
static void fill_stop(SimScene *scene, const SceneFree *turn, size_t hinge, const int32_t v[4]) {
    double axis[3], least = INFINITY, *const *of = scene->values.of;
    rest_edge(of[SIM_REST], v[2], v[3], axis);
    for (int j = 0; j < 2; j++) {
        const SceneObject *object = scene->objects + turn->part[j];
        if (!scene->model.fixed[object->particle])
            least = fmin(least, gyration(scene, object, of[SIM_REST] + 3 * v[2], axis));
    }
    of[SIM_HINGE_LOW][hinge] = turn->limits[0] * M_PI / 180;
    of[SIM_HINGE_HIGH][hinge] = turn->limits[1] * M_PI / 180;
    of[SIM_STOP_KE][hinge] = turn->stop.k_e * least;
    of[SIM_STOP_KD][hinge] = turn->stop.k_d * least;
    of[SIM_HINGE_FRICTION][hinge] = turn->friction;
    of[SIM_HINGE_KF][hinge] = turn->k_f;
}

static void find_corners(const SimScene *scene, const SceneFree *of, int corners, int32_t *v) {
    for (int j = 0; j < corners; j++) v[j] = (int32_t)scene->objects[of->part[j]].particle + of->point[j];
}

// Its forces are length k_e angle d_i (sim/hinge.h), and its torque is to be stiffness angle.
static void fill_turn(SimScene *scene, const SceneFree *turn, size_t hinge, SceneAxis *out) {
    int32_t v[4];
    find_corners(scene, turn, 4, v);
    const double length = rest_edge(scene->values.of[SIM_REST], v[2], v[3], NULL);
    fill_hinge(scene, &(Stiffness){turn->stiffness / length, turn->damping / length}, hinge, v);
    scene->values.of[SIM_HINGE_ANGLE][hinge] = turn->rest * M_PI / 180; // 0 is the start
    if (scene->values.of[SIM_HINGE_LOW]) fill_stop(scene, turn, hinge, v);
    strcpy(out->name, turn->name);
    out->row = hinge;
}

static void fill_slide(SimScene *scene, const SceneFree *along, size_t slide) {
    double *const *of = scene->values.of;
    int32_t *v = (int32_t *)scene->model.slide + 4 * slide;
    find_corners(scene, along, 4, v);
    of[SIM_SLIDE_KE][slide] = along->stiffness;
    of[SIM_SLIDE_KD][slide] = along->damping;
    of[SIM_SLIDE_POSITION][slide] = along->name ? along->rest : rest_slide(of[SIM_REST], v).position;
    of[SIM_SLIDE_LOW][slide] = along->limits[0];
    of[SIM_SLIDE_HIGH][slide] = along->limits[1];
    of[SIM_SLIDE_STOP_KE][slide] = along->stop.k_e;
    of[SIM_SLIDE_STOP_KD][slide] = along->stop.k_d;
    of[SIM_SLIDE_FRICTION][slide] = along->friction;
    of[SIM_SLIDE_KF][slide] = along->k_f;
}

static void fill_sliders(SimScene *scene, const SceneHead *head) {
    for (size_t k = 0; k < scene->sliders; k++) {
        fill_slide(scene, head->slider + k, k);
        strcpy(scene->slider[k].name, head->slider[k].name);
        scene->slider[k].row = k;
    }
    for (size_t k = 0; k < head->hold_count; k++) fill_slide(scene, head->hold + k, scene->sliders + k);
}

// Across an axis, the least of an object's moments of inertia over its mass.
static double least_gyration(const SimScene *scene, const SceneObject *object, const double at[3], const double axis[3],
                             const double side[3]) {
    double other[3], middle[3];
    vector_cross(axis, side, other);
    for (int c = 0; c < 3; c++) middle[c] = (side[c] + other[c]) / sqrt(2);
    const double a = gyration(scene, object, at, side), b = gyration(scene, object, at, other);
    return (a + b) / 2 - hypot((a - b) / 2, gyration(scene, object, at, middle) - (a + b) / 2);
}

// Its limit is as stiff as that of a hinge would be about the axis across it about which either object turns most
// easily.
static void fill_ball(SimScene *scene, const SceneFree *ball, size_t socket, SceneAxis *out) {
    double *const *of = scene->values.of, *rest = of[SIM_REST], axis[3], side[3], least = INFINITY;
    int32_t *v = (int32_t *)scene->model.socket + 6 * socket;
    find_corners(scene, ball, 6, v);
    rest_edge(rest, v[0], v[1], axis);
    rest_edge(rest, v[0], v[2], side);
    for (int j = 0; j < 2; j++) {
        const SceneObject *object = scene->objects + ball->part[3 * j];
        if (!scene->model.fixed[object->particle])
            least = fmin(least, least_gyration(scene, object, rest + 3 * v[0], axis, side));
    }
    of[SIM_SOCKET_KE][socket] = ball->stiffness;
    of[SIM_SOCKET_KD][socket] = ball->damping;
    of[SIM_SOCKET_HIGH][socket] = ball->limits[1] * M_PI / 180;
    of[SIM_SOCKET_STOP_KE][socket] = ball->stop.k_e * least;
    of[SIM_SOCKET_STOP_KD][socket] = ball->stop.k_d * least;
    of[SIM_SOCKET_FRICTION][socket] = ball->friction;
    of[SIM_SOCKET_KF][socket] = ball->k_f;
    strcpy(out->name, ball->name);
    out->row = socket;
}

// Behind the springs and hinges of all objects. Objects that are joined do not meet.
static Status fill_joints(const ArgumentReader *reader, const SceneHead *head) {
    SimScene *scene = head->scene;
    bool good = true;
    for (size_t k = 0; k < head->tie_count; k++) {
        const SceneTie *tie = head->tie + k;
        int32_t end[2];
        for (int j = 0; j < 2; j++) end[j] = (int32_t)scene->objects[tie->part[j]].particle + tie->point[j];
        fill_spring(scene, &tie->springs, scene->model.springs - head->tie_count + k, end[0], end[1]);
    }
    scene->hinge = allocate(head->hinge_count, sizeof *scene->hinge, &good);
    scene->slider = allocate(head->slider_count, sizeof *scene->slider, &good);
    scene->ball = allocate(head->ball_count, sizeof *scene->ball, &good);
    scene->hinges = good ? head->hinge_count : 0;
    scene->balls = good ? head->ball_count : 0;
    scene->sliders = good ? head->slider_count : 0;
    for (size_t k = 0; k < scene->hinges; k++)
        fill_turn(scene, head->hinge + k, scene->model.hinges - scene->hinges + k, scene->hinge + k);
    if (good) fill_sliders(scene, head);
    for (size_t k = 0; k < scene->balls; k++) fill_ball(scene, head->ball + k, k, scene->ball + k);
    int32_t *joined = allocate(head->joint_count, sizeof *head->joined, &good);
    if (good && head->joint_count) memcpy(joined, head->joined, head->joint_count * sizeof *head->joined);
    scene->model.joined = joined;
    scene->model.joints = good ? head->joint_count : 0;
    scene->joint_springs = head->tie_count;
    return good ? STATUS_OK : scene_no_memory(reader);
}

// Numbers of the rigid bodies, one an object that is not fixed.
static void fill_rigid(SimScene *scene) {
    int32_t rigids = 0;
    for (size_t p = 0; p < scene->object_count && scene->model.rigids; p++) {
        const SceneObject *object = scene->objects + p;
        const bool moves = object->rigid && !scene->model.fixed[object->particle];
        for (size_t i = object->particle; i < object->particle + object->particles; i++)
            ((int32_t *)scene->model.rigid)[i] = moves ? rigids : -1;
        rigids += moves;
    }
}

static void fill_contacts(const SceneHead *head) {
    double *const *of = head->scene->values.of;
    if (head->scene->model.materials > head->contact_count) // of hidden points
        ((SimMaterial *)head->scene->model.contacts)[head->contact_count].margin = SIM_NO_CONTACT;
    for (size_t i = 0; i < head->contact_count; i++) {
        const SceneContact *contact = head->contact + i;
        ((SimMaterial *)head->scene->model.contacts)[i] = (SimMaterial){contact->margin, contact->fade};
        of[SIM_CONTACT_KE][i] = contact->k_e;
        of[SIM_CONTACT_KD][i] = contact->k_d;
        of[SIM_CONTACT_KF][i] = contact->k_f;
        of[SIM_CONTACT_MU][i] = contact->mu;
    }
}

// The surfaces of solids and cloth; objects of springs alone have none.
static Status fill_faces(const ArgumentReader *reader, SimScene *scene, const Part *part, SceneObject *object) {
    int32_t *face = NULL;
    size_t faces = 0;
    Status status = mesh_surface(&part->mesh, &face, &faces, reader->err);
    if (status == STATUS_OK && faces) {
        int32_t *all = realloc(scene->face, 3 * (scene->faces + faces) * sizeof *all);
        if (all) {
            memcpy(all + 3 * scene->faces, face, 3 * faces * sizeof *all);
            scene->face = all;
        } else status = scene_no_memory(reader);
    }
    object->face = scene->faces, object->faces = faces;
    object->smooth = !yaml_tree_find(part->node, "box");
    if (status == STATUS_OK) scene->faces += faces;
    free(face);
    return status;
}

// Objects meet, and cloth itself, where they have surfaces and contact materials.
static Status fill_bodies(const ArgumentReader *reader, SimScene *scene) {
    SimModel *m = &scene->model;
    bool good = true;
    // A solid does not touch itself.
    const bool alone = scene->object_count == 1 && (scene->objects->tets > 0 || scene->objects->rigid);
    if (alone || !m->materials || !scene->faces) return STATUS_OK;
    int32_t *face = allocate(scene->faces, 3 * sizeof *face, &good),
            *body = allocate(m->particles, sizeof *body, &good);
    for (size_t b = 0; b < scene->object_count && good; b++) {
        const SceneObject *object = scene->objects + b;
        for (size_t i = 0; i < object->particles; i++) body[object->particle + i] = (int32_t)b;
        for (size_t i = 3 * object->face; i < 3 * (object->face + object->faces); i++)
            face[i] = scene->face[i] + (int32_t)object->particle;
    }
    m->face = face;
    m->body = body;
    m->faces = good ? scene->faces : 0;
    return good ? STATUS_OK : scene_no_memory(reader);
}

static const uint8_t palette[][3] = {{214, 90, 70},   {70, 130, 200}, {90, 170, 90},   {225, 170, 60},
                                     {150, 100, 190}, {80, 180, 180}, {200, 110, 150}, {130, 130, 130}};

Status scene_fill(const ArgumentReader *reader, const SceneHead *head) {
    SimScene *scene = head->scene;
    MeshEdge **edges = calloc(head->part_count, sizeof *edges);
    size_t *edge_count = calloc(head->part_count, sizeof *edge_count);
    scene->objects = calloc(head->part_count, sizeof *scene->objects);
    scene->object_count = head->part_count;
    Status status = edges && edge_count && scene->objects ? STATUS_OK : scene_no_memory(reader);
    if (status == STATUS_OK) status = lay_out(reader, head, edges, edge_count);
    if (status == STATUS_OK) status = check_frames(reader, head);
    if (status == STATUS_OK) status = check_controls(reader, head);
    if (status == STATUS_OK) status = make_arrays(reader, head);
    for (size_t p = 0; p < head->part_count && status == STATUS_OK; p++) {
        if (!head->part[p].has_colour) memcpy(scene->objects[p].colour, palette[p % 8], 3);
        status = fill_particles(reader, scene, head->part + p, scene->objects + p);
        if (status == STATUS_OK && !scene->objects[p].rigid)
            fill_elements(scene, head->part + p, scene->objects + p, edges[p], edge_count[p]);
        if (status == STATUS_OK) status = fill_faces(reader, scene, head->part + p, scene->objects + p);
    }
    if (status == STATUS_OK) status = fill_bodies(reader, scene);
    if (status == STATUS_OK) status = fill_joints(reader, head);
    if (status == STATUS_OK) fill_rigid(scene);
    if (status == STATUS_OK) fill_contacts(head);
    if (status == STATUS_OK) memcpy(scene->values.of[SIM_GRAVITY], head->gravity, sizeof head->gravity);
    for (size_t p = 0; p < head->part_count && edges; p++) free(edges[p]);
    free(edges);
    free(edge_count);
    return status;
}
