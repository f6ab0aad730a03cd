// SPDX-License-Identifier: Apache-2.0
// The section `values` of a scene file: numbers of single particles, springs, tetrahedra and hinges of an object.
#include "lab/rigid_mass.h"
#include "lab/scene_file.h"
#include "sim/rest_shape.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 64 };

size_t scene_value_rows(const SceneObject *object, SimValue value, size_t *first) {
    *first = 0;
    if (sim_value_is_stop(value)) return 0; // of joints, as slides and sockets are
    switch (sim_value_info[value].per) {
    case SIM_PER_PARTICLE: *first = object->particle; return object->particles;
    case SIM_PER_SPRING: *first = object->spring; return object->springs;
    case SIM_PER_TET: *first = object->tet; return object->tets;
    case SIM_PER_HINGE: *first = object->hinge; return object->hinges;
    default: return 0;
    }
}

Status scene_find_object(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node, const char *name,
                         size_t *out) {
    const char *words[NAMES_MAX];
    size_t known = 0;
    for (*out = 0; *out < head->part_count; ++*out) {
        const char *key = head->part[*out].node->key;
        if (!strcmp(key, name)) return STATUS_OK;
        if (known < NAMES_MAX) words[known++] = key;
    }
    YamlNode named = {.line = node->line, .key = (char *)name};
    return argument_unknown(reader, &named, "object", words, known);
}

static Status find_value(const ArgumentReader *reader, const SceneObject *object, const YamlNode *node, SimValue *out) {
    const char *words[SIM_VALUES];
    size_t known = 0, first;
    for (int v = 0; v < SIM_VALUES; v++) {
        if (!scene_value_rows(object, (SimValue)v, &first)) continue;
        *out = (SimValue)v;
        if (!strcmp(sim_value_info[v].name, node->key)) return STATUS_OK;
        words[known++] = sim_value_info[v].name;
    }
    return argument_unknown(reader, node, "value of particles or elements", words, known);
}

// A number, or [x, y, z] of a value with three axes.
static Status read_row(const ArgumentReader *reader, const YamlNode *node, const SimValueInfo *info, double *out) {
    const YamlNode *entry = info->axes == 1 ? node : node->child;
    char expected[96];
    snprintf(expected, sizeof expected, "%s from %.9g to %.9g for each row", info->axes == 1 ? "a number" : "[x, y, z]",
             info->low, info->high);
    if (info->axes == 3 && (node->kind != YAML_LIST || node->count != 3))
        return argument_error(reader, node, "%s: expected %s", info->name, expected);
    for (size_t c = 0; c < info->axes; c++, entry = entry->next)
        if (!yaml_tree_number(entry, out + c) || out[c] < info->low || out[c] > info->high)
            return argument_error(reader, entry, "%s: expected %s, found %.64s", info->name, expected,
                                  entry->kind == YAML_TEXT ? entry->text : "something else");
    return STATUS_OK;
}

static Status wrong_rows(const ArgumentReader *reader, const SceneObject *object, const YamlNode *node, bool particles,
                         size_t rows) {
    char hidden[64] = "";
    if (particles && object->hidden)
        snprintf(hidden, sizeof hidden, "; the last %zu are of hidden points", object->hidden);
    return argument_error(reader, node, "%s: expected a list of %zu rows, or of a number by which %zu can be divided%s",
                          node->key, rows, rows, hidden);
}

static Status read_value(const ArgumentReader *reader, SimScene *scene, const SceneObject *object,
                         const YamlNode *node) {
    SimValue value = SIM_VALUES;
    size_t first = 0, row = 0;
    Status status = find_value(reader, object, node, &value);
    if (status != STATUS_OK) return status;
    const SimValueInfo *info = sim_value_info + value;
    const size_t rows = scene_value_rows(object, value, &first);
    if (node->kind != YAML_LIST || !node->count || rows % node->count)
        return wrong_rows(reader, object, node, info->per == SIM_PER_PARTICLE, rows);
    for (const YamlNode *entry = node->child; entry && status == STATUS_OK; entry = entry->next) {
        double numbers[3];
        status = read_row(reader, entry, info, numbers);
        if (status == STATUS_OK && value == SIM_MASS && !(numbers[0] > 0))
            status = argument_error(reader, entry,
                                    "mass: expected more than 0, found %g; particles that stay in their place are "
                                    "\"fixed\"",
                                    numbers[0]);
        for (size_t k = 0; k < rows / node->count && status == STATUS_OK; k++)
            memcpy(scene->values.of[value] + info->axes * (first + row++), numbers, info->axes * sizeof *numbers);
    }
    return status;
}

// A new rest pose is one of tets, which need a volume in it, or of hinges.
static Status check_rest(const ArgumentReader *reader, const SimScene *scene, const SceneObject *object,
                         const YamlNode *node) {
    RestShape shape;
    if (node && (object->rigid || !(object->tets || object->hinges)))
        return argument_error(reader, node, "rest: %s has no rest pose: %s", object->name,
                              object->rigid ? "it is rigid, and keeps the shape of its positions"
                                            : "it has neither tetrahedra nor bending");
    for (size_t t = 0; t < object->tets && node; t++)
        if (!rest_shape_of(scene->values.of[SIM_REST], scene->model.tet + 4 * (object->tet + t), &shape))
            return argument_error(reader, node, "rest: tetrahedron %zu is flat or inverted: its volume is %.3g m^3",
                                  t + 1, shape.volume);
    return STATUS_OK;
}

// New places of a rigid object leave it an inertia about each axis.
static Status check_places(const ArgumentReader *reader, const SimScene *scene, const SceneObject *object,
                           const YamlNode *node) {
    double *const *of = scene->values.of;
    if (!node || !object->rigid || scene->model.fixed[object->particle] ||
        rigid_spans(of[SIM_POSITION] + 3 * object->particle, of[SIM_MASS] + object->particle, object->particles))
        return STATUS_OK;
    return argument_error(reader, node, "position: all particles of %s are on one line, and it is rigid", object->name);
}

static Status read_object(const ArgumentReader *reader, const SceneHead *head, const YamlNode *node) {
    SimScene *scene = head->scene;
    size_t number;
    Status status = scene_find_object(reader, head, node, node->key, &number);
    if (status != STATUS_OK) return status;
    const SceneObject *object = scene->objects + number;
    status = scene_need(reader, node, YAML_MAP, "a map of values {mass: [..]}");
    for (const YamlNode *entry = status == STATUS_OK ? node->child : NULL; entry && status == STATUS_OK;
         entry = entry->next)
        status = read_value(reader, scene, object, entry);
    if (status == STATUS_OK) status = check_rest(reader, scene, object, yaml_tree_find(node, "rest"));
    return status == STATUS_OK ? check_places(reader, scene, object, yaml_tree_find(node, "position")) : status;
}

Status scene_read_values(const ArgumentReader *reader, const SceneHead *head) {
    const YamlNode *values = head->values;
    if (!values) return STATUS_OK;
    Status status = scene_need(reader, values, YAML_MAP, "a map of objects {ball: {mass: [..]}}");
    for (const YamlNode *node = values->child; node && status == STATUS_OK; node = node->next)
        status = read_object(reader, head, node);
    return status;
}
