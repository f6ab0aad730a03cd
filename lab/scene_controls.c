// SPDX-License-Identifier: Apache-2.0
// Controls of a scene: a force, an activation, a motion, or what a joint's motor does, during some frames.
#include "lab/allocate.h"
#include "lab/scene_file.h"
#include "sim/rigid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64 };

static bool is_motion(const SceneControl *control) { return control->has_velocity || control->has_spin; }

static size_t fixed_count(const SimScene *scene, const SceneObject *object) {
    size_t count = 0;
    for (size_t i = object->particle; i < object->particle + scene_own_particles(object); i++)
        count += scene->model.fixed[i];
    return count;
}

// ---- of joints

// The hinge or slider of that name.
static Status find_axis(const ArgumentReader *reader, const SimScene *scene, const YamlNode *node, SceneControl *out) {
    const char *words[NAMES_MAX];
    size_t known = 0;
    for (size_t i = 0; i < scene->hinges + scene->sliders; i++) {
        out->slides = i >= scene->hinges;
        out->axis = i - (out->slides ? scene->hinges : 0);
        const char *name = (out->slides ? scene->slider : scene->hinge)[out->axis].name;
        if (!strcmp(name, out->joint)) return STATUS_OK;
        if (known < NAMES_MAX) words[known++] = name;
    }
    YamlNode named = {.line = node->line, .key = out->joint};
    if (!known) return argument_error(reader, &named, "joint: the scene has no \"joints\" that are hinges or sliders");
    return argument_unknown(reader, &named, "hinge or slider", words, known);
}

// How far a control has moved the angle or the position of rest in the middle of frame f.
static double moved(const SimScene *scene, const SceneControl *c, long f) {
    const double frames = f < c->from ? 0 : f < c->to ? (double)(f - c->from) + 0.5 : (double)(c->to - c->from);
    return (f >= c->from && f < c->to ? c->target : 0) + frames * scene->frame_time * c->speed;
}

static const SceneFree *free_of(const SceneHead *head, bool slides, size_t axis) {
    return (slides ? head->slider : head->hinge) + axis;
}

static Status check_motor(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node,
                          const SceneControl *c) {
    const SceneFree *of = free_of(head, c->slides, c->axis);
    const bool of_hinge = c->has_torque || c->has_angle, of_slider = c->has_thrust || c->has_position,
               of_object = c->has_activation || is_motion(c), any = of_hinge || of_slider || c->has_speed;
    if (!c->slides && (of_slider || of_object || !any))
        return argument_error(reader, node, "%s is a hinge: expected \"torque\", \"angle\" or \"speed\"", c->joint);
    if (c->slides && (of_hinge || of_object || !any))
        return argument_error(reader, node, "%s is a slider: expected \"force\", \"position\" or \"speed\"", c->joint);
    if ((c->has_angle || c->has_position) && !(of->stiffness > 0))
        return argument_error(reader, node, "%s: joint %s has no \"stiffness\" that would take it there",
                              c->slides ? "position" : "angle", c->joint);
    if (c->has_speed && !(of->stiffness + of->damping > 0))
        return argument_error(reader, node, "speed: joint %s has no \"damping\" that would bring it to a speed",
                              c->joint);
    return STATUS_OK;
}

// Springs know their angle up to a whole turn, so that a target half a turn away has two ways to it.
static Status apply_motor(const ArgumentReader *reader, const SceneHead *head, bool slides, size_t axis) {
    SimScene *scene = head->scene;
    const SceneFree *of = free_of(head, slides, axis);
    const size_t rows = slides ? scene->model.slides : scene->model.hinges;
    double *push =
        scene->values.of[slides ? SIM_THRUST : SIM_TORQUE] + (slides ? scene->slider : scene->hinge)[axis].row;
    for (long f = 0; f < scene->frames; f++, push += rows) {
        double target = 0, speed = 0;
        for (size_t k = 0; k < head->control_count; k++) {
            const SceneControl *c = head->control + k;
            const bool now = f >= c->from && f < c->to;
            if (c->of || c->slides != slides || c->axis != axis) continue;
            target += moved(scene, c, f);
            speed += now ? c->speed : 0;
            *push += now ? c->push : 0;
        }
        if (!slides && of->stiffness > 0 && fabs(target) > 180)
            return argument_error(reader, head->controls, "joint %s: its controls turn it by more than 180 degrees",
                                  of->name);
        const double servo = of->stiffness * target + of->damping * speed;
        *push += slides ? servo : servo * M_PI / 180;
    }
    return STATUS_OK;
}

static Status apply_motors(const ArgumentReader *reader, const SceneHead *head) {
    const SimScene *scene = head->scene;
    Status status = STATUS_OK;
    for (size_t i = 0; i < scene->hinges && status == STATUS_OK; i++) status = apply_motor(reader, head, false, i);
    for (size_t i = 0; i < scene->sliders && status == STATUS_OK; i++) status = apply_motor(reader, head, true, i);
    return status;
}

// ---- of both

static Status check_control(const ArgumentReader *reader, const SimScene *scene, const YamlNode *node,
                            const SceneControl *c) {
    if (c->has_torque || c->has_angle || c->has_position || c->has_speed)
        return argument_error(reader, node, "\"torque\", \"angle\", \"position\" and \"speed\" are for a \"joint\"");
    if (!c->has_force && !c->has_activation && !is_motion(c))
        return argument_error(reader, node, "expected \"force\", \"activation\", \"velocity\" or \"spin\"");
    if (c->has_activation && c->of->rigid)
        return argument_error(reader, node, "activation: %s is rigid; it can be moved by a \"force\"", c->object);
    if (c->has_activation && !c->of->tets)
        return argument_error(reader, node, "activation: %s has no tetrahedra", c->object);
    if (is_motion(c) && !fixed_count(scene, c->of))
        return argument_error(reader, node,
                              "%s: a control moves \"fixed\" particles, and %s has none; its \"velocity\" at the start "
                              "belongs to the object, and a \"force\" pushes it",
                              c->has_velocity ? "velocity" : "spin", c->object);
    return STATUS_OK;
}

static Status read_control(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node,
                           SceneControl *out) {
    const SimScene *scene = head->scene;
    size_t number;
    const bool joint = node->kind == YAML_MAP && yaml_tree_find(node, "joint");
#define NUMBER(word, field, has, most)                                                                                 \
    {                                                                                                                  \
        .key = word, .type = ARG_NUMBER, .offset = offsetof(SceneControl, field), .min = -(most), .max = most,         \
        .given = offsetof(SceneControl, has)                                                                           \
    }
#define NUMBERS(word, field, most)                                                                                     \
    {                                                                                                                  \
        .key = word, .type = ARG_NUMBERS, .offset = offsetof(SceneControl, field), .min = -(most), .max = most,        \
        .numbers = 3, .given = offsetof(SceneControl, has_##field)                                                     \
    }
    const Argument table[] = {
        {.key = "object", .type = ARG_NAME, .offset = offsetof(SceneControl, object)},
        {.key = "joint", .type = ARG_NAME, .offset = offsetof(SceneControl, joint)},
        joint ? (Argument)NUMBER("force", push, has_thrust, 1e12) : (Argument)NUMBERS("force", force, 1e12),
        NUMBERS("velocity", velocity, 1e6),
        NUMBERS("spin", spin, 1e6),
        NUMBER("activation", activation, has_activation, 10),
        NUMBER("torque", push, has_torque, 1e12),
        NUMBER("angle", target, has_angle, 180),
        NUMBER("position", target, has_position, 1e6),
        NUMBER("speed", speed, has_speed, 1e6),
        {.key = "from", .type = ARG_WHOLE, .offset = offsetof(SceneControl, from), .max = (double)scene->frames},
        {.key = "to", .type = ARG_WHOLE, .offset = offsetof(SceneControl, to), .max = (double)scene->frames}};
#undef NUMBERS
#undef NUMBER
    *out = (SceneControl){.to = scene->frames};
    const ArgumentGroup group = {table, sizeof table / sizeof *table, out};
    Status status = arguments_read(reader, node, &group, 1, NULL);
    if (status == STATUS_OK && !*out->object == !*out->joint)
        status = argument_error(reader, node, "expected an \"object\" or a \"joint\"");
    if (status == STATUS_OK && out->from >= out->to)
        status = argument_error(reader, node, "to: expected a frame after %ld, where the control begins, found %ld",
                                out->from, out->to);
    if (status != STATUS_OK) return status;
    if (*out->joint) {
        status = find_axis(reader, scene, node, out);
        return status == STATUS_OK ? check_motor(reader, head, node, out) : status;
    }
    status = scene_find_object(reader, head, node, out->object, &number);
    if (status != STATUS_OK) return status;
    out->of = scene->objects + number;
    return check_control(reader, scene, node, out);
}

static void apply(SimScene *scene, const SceneControl *control) {
    const SimModel *m = &scene->model;
    const SceneObject *object = control->of;
    const double *mass = scene->values.of[SIM_MASS];
    double total = 0;
    for (size_t i = 0; i < object->particles; i++) total += mass[object->particle + i];
    for (long f = control->from; f < control->to; f++) {
        const size_t at = 3 * ((size_t)f * m->particles + object->particle);
        for (size_t i = 0; i < 3 * object->particles && control->has_force; i++)
            scene->values.of[SIM_FORCE][at + i] += control->force[i % 3] * mass[object->particle + i / 3] / total;
        const size_t tet = (size_t)f * m->tets + object->tet;
        for (size_t i = 0; i < object->tets && control->has_activation; i++)
            scene->values.of[SIM_ACTIVATION][tet + i] += control->activation;
    }
}

Status scene_read_controls(const ArgumentReader *reader, SceneHead *head) {
    const YamlNode *list = head->controls;
    if (!list) return STATUS_OK;
    Status status = scene_need(reader, list, YAML_LIST, "a list of controls [{object: .., force: ..}]");
    if (status != STATUS_OK) return status;
    head->control = calloc(list->count, sizeof *head->control);
    if (!head->control) return scene_no_memory(reader);
    for (const YamlNode *node = list->child; node && status == STATUS_OK; node = node->next) {
        SceneControl *control = &head->control[head->control_count++];
        status = read_control(reader, head, node, control);
        if (status == STATUS_OK && control->of) apply(head->scene, control);
    }
    return status == STATUS_OK ? apply_motors(reader, head) : status;
}

// ---- motions of fixed particles

// What all controls together do with an object's fixed particles in frame f.
static void motion_of(const SceneHead *head, const SceneObject *object, long f, double velocity[3], double spin[3]) {
    for (int c = 0; c < 3; c++) velocity[c] = spin[c] = 0;
    for (size_t k = 0; k < head->control_count; k++) {
        const SceneControl *control = &head->control[k];
        if (control->of != object || f < control->from || f >= control->to) continue;
        for (int c = 0; c < 3; c++) velocity[c] += control->velocity[c], spin[c] += control->spin[c];
    }
}

static void middle_of(const SimScene *scene, const SceneObject *object, size_t count, const double *place,
                      double out[3]) {
    for (int c = 0; c < 3; c++) out[c] = 0;
    for (size_t i = 0; i < scene_own_particles(object); i++)
        for (size_t c = 0; c < 3 && scene->model.fixed[object->particle + i]; c++)
            out[c] += place[3 * i + c] / (double)count;
}

// Velocities of an object's fixed particles, which take them along its motion to where each frame ends. `place`
// (particles,3): where they are, which goes on.
static void drive_object(const SceneHead *head, const SceneObject *object, double *place) {
    const SimScene *scene = head->scene;
    const double T = scene->frame_time;
    const size_t count = fixed_count(scene, object);
    for (long f = 0; f < scene->frames && count; f++) {
        double velocity[3], spin[3], angle[3], turn[9], middle[3];
        motion_of(head, object, f, velocity, spin);
        middle_of(scene, object, count, place, middle);
        for (int c = 0; c < 3; c++) angle[c] = T * spin[c];
        rigid_turn(angle, turn);
        for (size_t i = 0; i < object->particles; i++) {
            const size_t particle = object->particle + i;
            double *drive = scene->values.of[SIM_DRIVE] + 3 * ((size_t)f * scene->model.particles + particle), arm[3],
                   turned[3];
            if (!scene->model.fixed[particle]) continue;
            for (size_t c = 0; c < 3; c++) arm[c] = place[3 * i + c] - middle[c];
            rigid_times(turn, arm, turned);
            for (size_t c = 0; c < 3; c++) {
                drive[c] = scene->values.of[SIM_VELOCITY][3 * particle + c] + velocity[c] + (turned[c] - arm[c]) / T;
                place[3 * i + c] += T * drive[c];
            }
        }
    }
}

Status scene_read_drives(const ArgumentReader *reader, const SceneHead *head) {
    SimScene *scene = head->scene;
    bool any = false, good = true;
    for (size_t k = 0; k < head->control_count; k++) any |= is_motion(&head->control[k]);
    if (!any) return STATUS_OK;
    double *place = allocate(3 * scene->model.particles, sizeof *place, &good);
    scene->values.of[SIM_DRIVE] =
        allocate(sim_value_count(&scene->model, (size_t)scene->frames, SIM_DRIVE), sizeof(double), &good);
    if (good) memcpy(place, scene->values.of[SIM_POSITION], 3 * scene->model.particles * sizeof *place);
    for (size_t o = 0; o < scene->object_count && good; o++)
        drive_object(head, scene->objects + o, place + 3 * scene->objects[o].particle);
    free(place);
    return good ? STATUS_OK : scene_no_memory(reader);
}
