// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES "values."

static bool starts_with(const char *text, const char *start) { return !strncmp(text, start, strlen(start)); }

bool fit_rows_named(const char *name) { return starts_with(name, VALUES); }

// The object and the value of a name, and what comes after them: "" or ".3".
static const SceneObject *find(const SimScene *scene, const char *name, SimValue *value, const char **rest) {
    for (size_t o = 0; o < scene->object_count && fit_rows_named(name); o++) {
        const SceneObject *object = scene->objects + o;
        const char *of = name + strlen(VALUES) + strlen(object->name) + 1;
        size_t first;
        if (!starts_with(name + strlen(VALUES), object->name) || of[-1] != '.') continue;
        for (int v = 0; v < SIM_VALUES; v++) {
            *value = (SimValue)v;
            *rest = of + strlen(sim_value_info[v].name);
            if (scene_value_rows(object, *value, &first) && starts_with(of, sim_value_info[v].name) &&
                (!**rest || **rest == '.'))
                return object;
        }
    }
    return NULL;
}

bool fit_rows_list(const SimScene *scene, const char *name, char list[FIT_NAME_SIZE]) {
    SimValue value;
    const char *rest;
    if (!find(scene, name, &value, &rest)) return false;
    snprintf(list, FIT_NAME_SIZE, "%.*s", (int)(rest - name), name);
    return true;
}

void fit_rows_find(const SimScene *scene, size_t list_rows, FitVariable *v) {
    const char *rest;
    char *end;
    size_t first;
    const SceneObject *object = find(scene, v->name, &v->value, &rest);
    if (!object || !list_rows || *rest != '.') return;
    const size_t axes = sim_value_info[v->value].axes, row = (size_t)strtoul(rest + 1, &end, 10);
    v->entries = scene_value_rows(object, v->value, &first) / list_rows;
    v->apart = axes;
    v->entry = axes * (first + row * v->entries) + (*end == '.' ? (size_t)(end[1] - 'x') : 0);
}

// ---- lists at the end of a text

// `line`: what begins each further line of eight rows.
static void write_rows(const SimScene *scene, const SceneObject *object, SimValue value, const char *line, FILE *out) {
    const SimValueInfo *info = sim_value_info + value;
    size_t first;
    const size_t rows = scene_value_rows(object, value, &first);
    const double *from = scene->values.of[value] + info->axes * first;
    fprintf(out, "%s: [", info->name);
    for (size_t i = 0; i < rows; i++, from += info->axes) {
        fprintf(out, "%s", i % 8 ? ", " : i ? line : "");
        if (info->axes == 1) fprintf(out, "%.17g", from[0]);
        else fprintf(out, "[%.17g, %.17g, %.17g]", from[0], from[1], from[2]);
    }
    fprintf(out, "]");
}

static bool is_named(const SimScene *scene, const SceneObject *object, SimValue wanted, const char *const *names,
                     size_t count) {
    SimValue value;
    const char *rest;
    for (size_t i = 0; i < count; i++)
        if (find(scene, names[i], &value, &rest) == object && value == wanted) return true;
    return false;
}

static void write_object(const SimScene *scene, const SceneObject *object, const char *const *names, size_t count,
                         FILE *out) {
    bool begun = false;
    for (int v = 0; v < SIM_VALUES; v++) {
        if (!is_named(scene, object, (SimValue)v, names, count)) continue;
        if (!begun) fprintf(out, "  %s:\n", object->name);
        begun = true;
        fprintf(out, "    ");
        write_rows(scene, object, (SimValue)v, ",\n      ", out);
        fprintf(out, "\n");
    }
}

// Closes the stream; `more`, which it has written, becomes the text.
static Status take_text(FILE *out, char **more, const size_t *size, const char *path, char **text, size_t *length,
                        Error *err) {
    if (!out || fclose(out) || !*more) {
        free(*more);
        return error_set(err, STATUS_FAILED, "%s: out of memory for a fit", path);
    }
    free(*text);
    *text = *more, *length = *size;
    return STATUS_OK;
}

Status fit_rows_add(const SimScene *scene, const char *const *names, size_t count, const char *path, char **text,
                    size_t *length, Error *err) {
    char *more = NULL;
    size_t size;
    FILE *out = open_memstream(&more, &size);
    if (out) {
        fwrite(*text, 1, *length, out);
        fprintf(out, "%svalues: # one number for each particle or element\n",
                *length && (*text)[*length - 1] == '\n' ? "" : "\n");
        for (size_t o = 0; o < scene->object_count; o++) write_object(scene, scene->objects + o, names, count, out);
    }
    return take_text(out, &more, &size, path, text, length, err);
}

// What separates an entry from the first one of a map, which begins at byte `at`: a comma, or a line of the same
// indent.
static void separate(const YamlNode *map, const char *text, size_t at, FILE *out) {
    size_t indent = 0;
    while (indent < at && text[at - indent - 1] == ' ') indent++;
    fprintf(out, map->flow ? ", " : "\n%*s", map->flow ? 0 : (int)indent, "");
}

Status fit_rows_insert(const SimScene *scene, const char *name, const YamlNode *values, const char *path, char **text,
                       size_t *length, Error *err) {
    SimValue value;
    const char *rest;
    char *more = NULL;
    size_t size;
    const SceneObject *object = find(scene, name, &value, &rest);
    const YamlNode *own = yaml_tree_find(values, object->name), *map = own ? own : values;
    const size_t at = map->child->key_start;
    FILE *out = open_memstream(&more, &size);
    if (out) {
        fwrite(*text, 1, at, out);
        if (!own) fprintf(out, "%s: {", object->name);
        write_rows(scene, object, value, ", ", out);
        if (!own) fprintf(out, "}");
        separate(map, *text, at, out);
        fwrite(*text + at, 1, *length - at, out);
    }
    return take_text(out, &more, &size, path, text, length, err);
}
