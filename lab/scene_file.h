// SPDX-License-Identifier: Apache-2.0
// What a scene file says, before it becomes arrays. Shared by lab/scene*.c alone.
#ifndef VPD_LAB_SCENE_FILE_H
#define VPD_LAB_SCENE_FILE_H

#include "base/arguments.h"
#include "lab/mesh.h"
#include "lab/scene.h"

#include <string.h>

typedef struct Solid {
    double young, poisson, lame_lambda, lame_mu, mu, lambda, k_d, act;
    bool has_young, has_poisson, has_lame_lambda, has_lame_mu, has_mu, has_lambda;
} Solid;

typedef struct Stiffness {
    double k_e, k_d;
} Stiffness;

typedef struct SceneContact {
    char name[ARGUMENT_NAME_SIZE];
    double k_e, k_d, k_f, mu, fade, margin;
} SceneContact;

// One object: a mesh in coordinates of its own, and what is done with it.
typedef struct Part {
    const YamlNode *node;
    Mesh mesh;
    bool has_solid, has_springs, has_bending, has_density, has_mass;
    bool rigid; // moves as one piece
    Solid solid;
    Stiffness springs, bending;
    double density, mass; // kg/m^3, of cloth kg/m^2; kg
    double position[3], axis[3], angle, velocity[3], spin[3];
    const YamlNode *fixed;
    char contact[ARGUMENT_NAME_SIZE];
    double colour[3];
    bool has_colour;
    int material;       // number of the contact
    size_t hidden;      // the last vertices of the mesh, of rigid_mass and of joints
    double *kg, *share; // (weighed) of a rigid solid's first vertices; NULL: it is none
    size_t weighed;
} Part;

// The mesh and the properties of one entry of `objects`; part_free also after an error.
Status part_read(const ArgumentReader *reader, const YamlNode *node, Part *out);
void part_free(Part *part);

// x turned about the part's axis by so many radians.
void part_turn(const Part *part, double angle, const double x[3], double out[3]);

// `fixed: all`
bool part_is_fixed(const Part *part);
// Sets (N) 1 for the particles that the key `fixed` names.
Status part_fixed(const ArgumentReader *reader, const Part *part, uint8_t *fixed);
// (N) kg, and the shares (N) of them that count in the inertia of a rigid object, 1 for others; NULL: not wanted.
Status part_masses(const ArgumentReader *reader, const Part *part, double *mass, double *share);
// The model's own mu and lambda.
void solid_stiffness(const Solid *solid, double *mu, double *lambda);

// An entry of `controls`, from frame `from` up to `to`.
typedef struct SceneControl {
    char object[ARGUMENT_NAME_SIZE], joint[ARGUMENT_NAME_SIZE];
    double force[3], activation, velocity[3], spin[3];
    bool has_force, has_activation, has_velocity, has_spin;
    double push, target, speed; // of a hinge: N m, degrees, degrees/s; of a slider: N, m, m/s
    bool has_torque, has_angle, has_thrust, has_position, has_speed;
    long from, to;
    const SceneObject *of; // NULL: of a joint
    bool slides;           // the joint is a slider
    size_t axis;           // of the scene's hinges or sliders
} SceneControl;

// A spring of a joint.
typedef struct SceneTie {
    size_t part[2];
    int32_t point[2]; // vertices of their meshes
    Stiffness springs;
} SceneTie;

// The angle of a joint that is a hinge, the position of one that is a slider, or how one that is a ball turns; or a
// slide that holds a slider.
typedef struct SceneFree {
    const char *name; // NULL: it holds
    size_t part[6];
    int32_t point[6]; // vertices of the parts' meshes, as in SimModel.hinge, SimModel.slide or SimModel.socket
    double stiffness, damping, rest; // N m/rad, N m s/rad, degrees; or N/m, N s/m, m, from the start
    double limits[2], friction, k_f; // degrees, N m, N m s/rad; or m, N, N s/m
    Stiffness stop;                  // of the joint's springs; 0 without limits
    bool held;                       // has limits or friction
} SceneFree;

// ---- the whole file

typedef struct SceneHead {
    SimScene *scene;
    double fps, gravity[3];
    bool has_gravity;
    int up, precision, damping;
    const YamlNode *contacts, *planes, *objects, *joints, *controls, *values, *cameras, *picture, *lights, *fit,
        *random;
    SceneContact *contact;
    size_t contact_count;
    Part *part;
    size_t part_count;
    SceneControl *control;
    size_t control_count;
    SceneTie *tie;
    SceneFree *hinge, *slider, *hold, *ball;
    int32_t (*joined)[2]; // the parts of each joint
    size_t tie_count, hinge_count, slider_count, hold_count, ball_count, joint_count;
} SceneHead;

// Adds the points of joints to the meshes of rigid parts, and lists their springs, hinges, slides and sockets.
// Before scene_fill.
Status scene_read_joints(const ArgumentReader *reader, SceneHead *head);

// Makes and fills the arrays of the scene's model and values.
Status scene_fill(const ArgumentReader *reader, const SceneHead *head);

// The number of the object of that name, also before scene_fill; `node` says where the name stands.
Status scene_find_object(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node, const char *name,
                         size_t *out);

// Forces, activations and what motors do, of the controls; then, once places and velocities are known, what moves fixed
// particles.
Status scene_read_controls(const ArgumentReader *reader, SceneHead *head);
Status scene_read_drives(const ArgumentReader *reader, const SceneHead *head);

// Puts the numbers of the section `values` in the place of those that keys of objects give. Forces are shared before
// that, so a known force stays known to each particle.
Status scene_read_values(const ArgumentReader *reader, const SceneHead *head);

// Fills scene->picture, after scene_fill.
Status scene_read_picture(const ArgumentReader *reader, const SceneHead *head);

// That the key of an entry can be the name of an object, a contact or a joint. A fit and `random` name numbers by
// paths, such as box.velocity.x, so a name has no dot.
static inline Status scene_check_name(const ArgumentReader *reader, const YamlNode *node) {
    if (strlen(node->key) >= SCENE_NAME_SIZE) return argument_error(reader, node, "the name is too long");
    if (!strchr(node->key, '.')) return STATUS_OK;
    return argument_error(reader, node, "%s: a name has no dot, which leads to its numbers", node->key);
}

// That an entry is a list or a map which is not empty.
static inline Status scene_need(const ArgumentReader *reader, const YamlNode *node, YamlKind kind,
                                const char *expected) {
    return node->kind == kind && node->count ? STATUS_OK : argument_wrong(reader, node, expected);
}

static inline Status scene_no_memory(const ArgumentReader *reader) {
    return error_set(reader->err, STATUS_FAILED, "%s: out of memory for the scene", reader->name);
}

#endif
