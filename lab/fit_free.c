// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_free.h"

#include "base/arguments.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "lab/fit_rows.h"
#include "lab/fit_section.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MAX = 1 << 24, LEAVES_MAX = 1 << 16, NUMBER_SIZE = 32, LOOKED_AT = 64 };
#define SHARES 1e-6 // rounding of shares in inertia, which are found from a small system

// ---- every number of the file, by name

typedef struct Leaf {
    char name[FIT_NAME_SIZE];
    const YamlNode *node;
    size_t rows; // of the list that it stands in
} Leaf;

typedef struct Leaves {
    Leaf *leaf;
    size_t count;
} Leaves;

static void add_leaf(Leaves *leaves, const char *name, const YamlNode *node, size_t rows) {
    if (leaves->count >= LEAVES_MAX) return;
    Leaf *leaf = leaves->leaf + leaves->count++;
    memcpy(leaf->name, name, strlen(name) + 1);
    leaf->node = node;
    leaf->rows = rows;
}

// Numbers below `node`; entries of a list of three are x, y and z, but rows of `values` go by number. Names that are
// too long are left out.
static void collect(Leaves *leaves, const char *name, const YamlNode *node, size_t rows) {
    char longer[FIT_NAME_SIZE], number[24];
    double value;
    if (node->kind == YAML_TEXT) {
        if (!node->quoted && yaml_tree_number(node, &value)) add_leaf(leaves, name, node, rows);
        return;
    }
    const bool numbered = node->key && fit_rows_named(name);
    size_t entry = 0;
    for (const YamlNode *child = node->child; child; child = child->next, entry++) {
        if (node->count == 3 && child->kind == YAML_TEXT && !numbered)
            snprintf(number, sizeof number, "%c", "xyz"[entry]);
        else snprintf(number, sizeof number, "%zu", entry);
        const int length =
            snprintf(longer, sizeof longer, "%s%s%s", name, *name ? "." : "", child->key ? child->key : number);
        if (length > 0 && (size_t)length < sizeof longer)
            collect(leaves, longer, child, node->key ? node->count : rows);
    }
}

// Objects and contacts go by their own names.
static void collect_all(Leaves *leaves, const YamlNode *root) {
    static const char *const named[] = {"objects", "contacts"};
    for (int i = 0; i < 2; i++) {
        const YamlNode *map = yaml_tree_find(root, named[i]);
        if (map && map->kind == YAML_MAP) collect(leaves, "", map, 0);
    }
    for (const YamlNode *node = root->child; node; node = node->next)
        if (node->key && strcmp(node->key, "objects") && strcmp(node->key, "contacts") && strcmp(node->key, "fit") &&
            strcmp(node->key, "random") && strlen(node->key) < FIT_NAME_SIZE)
            collect(leaves, node->key, node, 0);
}

// ---- names to numbers

static Status look_at(FitFree *f, const SimScene *base, double *x, size_t i, Error *err);

// As it stands in the file, without bounds.
static FitVariable variable_of(const SimScene *scene, const Leaf *leaf) {
    FitVariable v = {.low = -INFINITY,
                     .high = INFINITY,
                     .most = INFINITY,
                     .text = leaf->node->start,
                     .length = leaf->node->end - leaf->node->start};
    yaml_tree_number(leaf->node, &v.in_file);
    v.start = v.in_file;
    memcpy(v.name, leaf->name, sizeof v.name);
    fit_rows_find(scene, leaf->rows, &v);
    return v;
}

static bool can_be_free(const FitFree *f, const SimScene *scene, const Leaf *leaf) {
    FitVariable v = variable_of(scene, leaf);
    FitFree alone = *f;
    double x = v.start;
    Error ignored;
    SimScene changed;
    bool read = false;
    alone.variable = &v;
    alone.count = 1;
    if (!f->random) return look_at(&alone, scene, &x, 0, &ignored) == STATUS_OK;
    for (int sign = -1; sign <= 1 && !read; sign += 2) { // not a count
        x = v.start + sign * 1e-4 * fmax(fabs(v.start), 1e-2);
        read = fit_free_scene(&alone, &x, &changed, &ignored) == STATUS_OK;
        scene_free(&changed);
    }
    return read;
}

// Names the others that can be free; of a long file those further down are not looked at.
static Status unknown_name(const ArgumentReader *reader, const FitFree *f, const SimScene *scene, const FitEntry *entry,
                           const Leaves *leaves) {
    const char **words = calloc(leaves->count + 1, sizeof *words);
    size_t count = 0;
    YamlNode named = {.line = entry->node ? entry->node->line : 1, .key = (char *)entry->name};
    for (size_t i = 0; i < leaves->count && words; i++)
        if (i >= LOOKED_AT || can_be_free(f, scene, leaves->leaf + i)) words[count++] = leaves->leaf[i].name;
    Status status = words ? argument_unknown(reader, &named, "number of the scene", words, count)
                          : error_no_memory(reader->err, "a fit of %s", reader->name);
    if (words && f->random) {
        const Error unknown = *reader->err;
        status = error_set(reader->err, status, "%s; only numbers that stand in the file can be drawn", unknown.text);
    }
    free(words);
    return status;
}

static Status check_start(const char *path, size_t line, const FitVariable *v, Error *err) {
    const double high = fmin(v->high, v->most);
    if (isfinite(v->start) && v->start >= v->low && v->start <= high && v->low < high) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s:%zu: %s: the start %g is not between low %g and high %g", path, line,
                     v->name, v->start, v->low, high);
}

static Status add_variable(const ArgumentReader *reader, FitFree *out, const SimScene *scene, const FitEntry *entry,
                           const Leaf *leaf) {
    size_t i = 0;
    while (i < out->count && out->variable[i].text != leaf->node->start) i++;
    if (i < out->count && !out->random) return STATUS_OK; // named twice
    if (i == FIT_VARIABLES_MAX)
        return error_set(reader->err, STATUS_BAD_INPUT, "%s: more than %d numbers are free", reader->name,
                         FIT_VARIABLES_MAX);
    FitVariable *v = out->variable + i;
    *v = variable_of(scene, leaf);
    out->count += i == out->count;
    if (entry->has_start) v->start = entry->start;
    if (entry->has_low) v->low = entry->low;
    if (entry->has_high) v->high = entry->high;
    if (out->random && entry->has_low && entry->has_high) return STATUS_OK;
    if (out->random)
        return argument_error(reader, entry->node, "%s: expected {low: .., high: ..}, between which it is drawn",
                              entry->name);
    return check_start(reader->name, leaf->node->line, v, reader->err);
}

// All numbers that the entry names: the one, or those below it.
static Status add_named(const ArgumentReader *reader, FitFree *out, const SimScene *scene, const FitEntry *entry,
                        const Leaves *leaves) {
    const size_t length = strlen(entry->name);
    Status status = STATUS_OK;
    bool found = false;
    for (size_t i = 0; i < leaves->count && status == STATUS_OK; i++) {
        const char *name = leaves->leaf[i].name;
        if (strncmp(name, entry->name, length) != 0 || (name[length] && name[length] != '.')) continue;
        if (found && !name[length]) continue; // an object and a contact have a name in common
        found = true;
        status = add_variable(reader, out, scene, entry, leaves->leaf + i);
        if (!name[length]) break;
    }
    return status == STATUS_OK && !found ? unknown_name(reader, out, scene, entry, leaves) : status;
}

static int by_place(const void *a, const void *b) {
    const FitVariable *x = a, *y = b;
    return (x->text > y->text) - (x->text < y->text);
}

// The section's entries; with names, those, within the bounds that the section gives them.
static Status add_all(const ArgumentReader *reader, FitFree *out, const SimScene *scene, const FitSection *section,
                      const Leaves *leaves, const char *const *names, size_t name_count) {
    Status status = STATUS_OK;
    FitEntry entry;
    for (const YamlNode *node = section->list ? section->list->child : NULL; node && status == STATUS_OK;
         node = node->next) {
        bool wanted = !names;
        status = fit_entry_read(reader, node, out->random, &entry);
        for (size_t i = 0; i < name_count && status == STATUS_OK; i++) wanted = wanted || !strcmp(names[i], entry.name);
        if (status == STATUS_OK && wanted) status = add_named(reader, out, scene, &entry, leaves);
    }
    for (size_t i = 0; i < name_count && status == STATUS_OK; i++)
        status = add_named(reader, out, scene, &(FitEntry){.name = names[i]}, leaves);
    if (status == STATUS_OK) qsort(out->variable, out->count, sizeof *out->variable, by_place);
    return status;
}

// ---- scenes

Status fit_free_text(const FitFree *f, const double *x, char **out, size_t *length, Error *err) {
    char *text = *out = malloc(f->length + f->count * NUMBER_SIZE + 1);
    size_t from = 0, to = 0;
    if (!text) return error_no_memory(err, "a fit of %s", f->path);
    for (size_t i = 0; i < f->count; i++) {
        const FitVariable *v = f->variable + i;
        memcpy(text + to, f->text + from, v->text - from);
        to += v->text - from;
        to += (size_t)snprintf(text + to, NUMBER_SIZE, "%.17g", x ? x[i] : v->start);
        from = v->text + v->length;
    }
    memcpy(text + to, f->text + from, f->length - from + 1);
    *length = to + f->length - from;
    return STATUS_OK;
}

Status fit_free_scene(const FitFree *f, const double *x, SimScene *out, Error *err) {
    char *text;
    size_t length;
    *out = (SimScene){0};
    Status status = fit_free_text(f, x, &text, &length, err);
    if (status == STATUS_OK) status = scene_parse(text, length, f->path, f->folder, out, err);
    free(text);
    return status;
}

static bool same_bytes(const void *a, const void *b, size_t count) { return count == 0 || memcmp(a, b, count) == 0; }

// Whether two arrays differ by more than this part of the largest.
static bool differ(const double *a, const double *b, size_t count, double rounding) {
    double most = 0, apart = 0;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, fabs(a[i]));
        apart = fmax(apart, fabs(a[i] - b[i]));
    }
    return apart > rounding * most;
}

// Whether both scenes differ in nothing but values.
static bool same_model(const SimScene *a, const SimScene *b) {
    const SimModel *m = &a->model, *n = &b->model;
    return m->particles == n->particles && m->springs == n->springs && m->tets == n->tets && m->hinges == n->hinges &&
           m->planes == n->planes && m->faces == n->faces && m->materials == n->materials && m->dt == n->dt &&
           a->frames == b->frames && a->substeps == b->substeps && same_bytes(m->fixed, n->fixed, m->particles) &&
           same_bytes(m->material, n->material, m->particles * sizeof *m->material) &&
           same_bytes(m->spring, n->spring, 2 * m->springs * sizeof *m->spring) &&
           same_bytes(m->tet, n->tet, 4 * m->tets * sizeof *m->tet) &&
           same_bytes(m->hinge, n->hinge, 4 * m->hinges * sizeof *m->hinge) && m->slides == n->slides &&
           same_bytes(m->slide, n->slide, 4 * m->slides * sizeof *m->slide) && m->sockets == n->sockets &&
           same_bytes(m->socket, n->socket, 6 * m->sockets * sizeof *m->socket) &&
           same_bytes(m->face, n->face, 3 * m->faces * sizeof *m->face) && m->rigids == n->rigids &&
           same_bytes(m->rigid, n->rigid, m->rigids ? m->particles * sizeof *m->rigid : 0) &&
           !differ(m->inertia, n->inertia, m->rigids ? m->particles : 0, SHARES) &&
           same_bytes(m->body, n->body, m->faces ? m->particles * sizeof *m->body : 0) &&
           same_bytes(m->plane, n->plane, m->planes * sizeof *m->plane) &&
           same_bytes(m->contacts, n->contacts, m->materials * sizeof *m->contacts);
}

// Whether the values of both scenes differ, and whether those that do are never below 0.
static bool moves(const SimScene *a, const SimScene *b, bool *positive) {
    const SimRun run = scene_run(a);
    bool any = false;
    *positive = true;
    for (int v = 0; v < SIM_VALUES; v++) {
        const size_t count = sim_value_count(&a->model, sim_controls(&run), v);
        if (!a->values.of[v] || !differ(a->values.of[v], b->values.of[v], count, 1e-10)) continue;
        any = true;
        *positive = *positive && sim_value_info[v].low >= 0;
    }
    return any;
}

// Bounds of a logarithm: four powers of ten each way, unless the user says.
static void choose_range(FitVariable *v) {
    const bool positive = v->positive && v->start >= 0 && v->in_file >= 0; // Poisson's ratio may be below 0, mu is not
    v->range = (MinimiseVariable){.low = v->low, .high = fmin(v->high, v->most)};
    v->range.log = positive && v->start > 0 && !(v->low <= 0 && isfinite(v->low));
    if (positive && !isfinite(v->low)) v->range.low = v->range.log ? 1e-4 * v->start : 0;
    if (v->range.log && !isfinite(v->range.high)) v->range.high = 1e4 * v->start;
    v->range.unit = isfinite(v->range.high - v->range.low) ? (v->range.high - v->range.low) / 2 : 1;
}

static size_t line_of(const FitFree *f, const FitVariable *v) {
    size_t line = 1;
    for (size_t i = 0; i < v->text; i++) line += f->text[i] == '\n';
    return line;
}

Status fit_free_bound(FitFree *f, const char *name, double start, double low, double high, Error *err) {
    const size_t length = strlen(name);
    Status status = STATUS_OK;
    for (size_t i = 0; i < f->count && status == STATUS_OK; i++) {
        FitVariable *v = f->variable + i;
        if (strncmp(v->name, name, length) != 0 || (v->name[length] && v->name[length] != '.')) continue;
        if (!isnan(start)) v->start = start;
        if (!isnan(low)) v->low = low;
        if (!isnan(high)) v->high = high;
        status = check_start(f->path, line_of(f, v), v, err);
        choose_range(v);
    }
    return status;
}

// Reads the scene with each number changed by a little, upwards if the reader lets it. What a number of `values` does
// is known.
static Status look_at(FitFree *f, const SimScene *base, double *x, size_t i, Error *err) {
    FitVariable *v = f->variable + i;
    if (v->entries) {
        v->positive = sim_value_info[v->value].low >= 0;
        choose_range(v);
        return STATUS_OK;
    }
    const double by = 1e-4 * fmax(fabs(x[i]), 1e-2), before = x[i];
    SimScene changed;
    x[i] = before + by;
    Status status = fit_free_scene(f, x, &changed, err);
    if (status == STATUS_BAD_INPUT) {
        x[i] = before - by;
        v->most = before;
        status = fit_free_scene(f, x, &changed, err);
    }
    x[i] = before;
    if (status == STATUS_BAD_INPUT)
        return error_set(err, status, "%s: %s: a fit cannot change this number by a little", f->path, v->name);
    if (status != STATUS_OK) return status;
    const bool same = same_model(base, &changed), any = same && moves(base, &changed, &v->positive);
    scene_free(&changed);
    if (!same || !any)
        return error_set(err, STATUS_BAD_INPUT, "%s: %s cannot be fitted: %s", f->path, v->name,
                         same ? "the motion does not depend on it"
                              : "it is none of the values that have gradients (docs/simulator.md)");
    choose_range(v);
    return STATUS_OK;
}

static Status look_at_all(FitFree *f, Error *err) {
    double *x = calloc(f->count, sizeof *x);
    SimScene base = {0};
    if (!x) return error_no_memory(err, "a fit of %s", f->path);
    for (size_t i = 0; i < f->count; i++) x[i] = f->variable[i].start;
    Status status = fit_free_scene(f, NULL, &base, err);
    for (size_t i = 0; i < f->count && status == STATUS_OK; i++) status = look_at(f, &base, x, i, err);
    scene_free(&base);
    free(x);
    return status;
}

// ---- the file

// Words that name what is free.
static Status wanted_names(const ArgumentReader *reader, const FitSection *section, const char *const *names,
                           size_t name_count, const char ***out, size_t *count) {
    const size_t most = name_count + (section->list ? section->list->count : 0);
    const char **words = *out = calloc(most + 1, sizeof *words);
    if (!words) return error_no_memory(reader->err, "a fit of %s", reader->name);
    for (size_t i = 0; i < name_count; i++) words[(*count)++] = names[i];
    for (const YamlNode *node = section->list && !names ? section->list->child : NULL; node; node = node->next)
        if (node->key || node->kind == YAML_TEXT) words[(*count)++] = node->key ? node->key : node->text;
    return STATUS_OK;
}

static bool has_leaf(const Leaves *leaves, const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; i < leaves->count; i++) {
        const char *found = leaves->leaf[i].name;
        if (!strncmp(found, name, length) && (!found[length] || found[length] == '.')) return true;
    }
    return false;
}

// Writes lists that are named and that the file does not have into the section `values`, one at a time, or all to the
// end of a text without one; *added: there are some.
static Status add_lists(const ArgumentReader *reader, FitFree *f, const SimScene *scene, const YamlNode *root,
                        const FitSection *section, const Leaves *leaves, const char *const *names, size_t name_count,
                        bool *added) {
    const char **words = NULL;
    size_t count = 0, missing = 0;
    char list[FIT_NAME_SIZE];
    Status status = wanted_names(reader, section, names, name_count, &words, &count);
    for (size_t i = 0; i < count; i++)
        if (fit_rows_list(scene, words[i], list) && !has_leaf(leaves, list)) words[missing++] = words[i];
    *added = missing > 0;
    const YamlNode *values = yaml_tree_find(root, "values");
    if (status == STATUS_OK && missing && values)
        status = fit_rows_insert(scene, words[0], values, reader->name, &f->text, &f->length, reader->err);
    else if (status == STATUS_OK && missing)
        status = fit_rows_add(scene, words, missing, reader->name, &f->text, &f->length, reader->err);
    free(words);
    return status;
}

// *again: lists were added, and the text has to be read again.
static Status read_tree(FitFree *f, const SimScene *scene, const YamlNode *root, const char *const *names,
                        size_t name_count, bool *again, Error *err) {
    const ArgumentReader reader = {f->path, f->folder, err};
    Leaves leaves = {calloc(LEAVES_MAX, sizeof(Leaf)), 0};
    FitSection section = {0};
    Status status = leaves.leaf ? STATUS_OK : error_no_memory(err, "a fit of %s", f->path);
    if (status == STATUS_OK) collect_all(&leaves, root);
    if (status == STATUS_OK)
        status = f->random ? random_section_read(&reader, root, &section) : fit_section_read(&reader, root, &section);
    f->compare = section.compare;
    if (status == STATUS_OK) status = add_lists(&reader, f, scene, root, &section, &leaves, names, name_count, again);
    if (status == STATUS_OK && !*again) status = add_all(&reader, f, scene, &section, &leaves, names, name_count);
    free(leaves.leaf);
    return status;
}

// The variables that the text names; lists that it names and has not are added to it.
static Status read_text(FitFree *f, const SimScene *scene, const char *const *names, size_t name_count, Error *err) {
    bool again = true;
    f->variable = calloc(FIT_VARIABLES_MAX, sizeof *f->variable);
    Status status = f->variable ? STATUS_OK : error_no_memory(err, "a fit of %s", f->path);
    while (status == STATUS_OK && again) {
        YamlNode *root = NULL;
        status = yaml_tree_read(f->text, f->length, f->path, &root, err);
        if (status == STATUS_OK) status = read_tree(f, scene, root, names, name_count, &again, err);
        yaml_tree_free(root);
    }
    return status;
}

static Status take_text(const char *text, size_t length, const char *path, FitFree *out, Error *err) {
    char folder[FILE_PATH_SIZE];
    *out = (FitFree){0};
    Status status = file_folder(folder, path, err);
    if (status != STATUS_OK) return status;
    *out = (FitFree){.path = strdup(path), .text = calloc(length + 1, 1), .length = length};
    if (out->text) memcpy(out->text, text, length);
    out->folder = strdup(folder);
    return out->path && out->folder && out->text ? STATUS_OK : error_no_memory(err, "a fit of %s", path);
}

Status fit_free_parse(const char *text, size_t length, const char *path, const char *const *names, size_t name_count,
                      FitFree *out, Error *err) {
    SimScene scene = {0};
    Status status = take_text(text, length, path, out, err);
    if (status == STATUS_OK) // errors of the file itself come first
        status = scene_parse(out->text, out->length, out->path, out->folder, &scene, err);
    if (status == STATUS_OK) status = read_text(out, &scene, names, name_count, err);
    if (status == STATUS_OK && !out->count)
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: nothing is free; say which numbers to fit: \"fit: {free: [ball.density]}\", or --free",
                           path);
    scene_free(&scene);
    if (status == STATUS_OK) status = look_at_all(out, err);
    if (status != STATUS_OK) fit_free_close(out);
    return status;
}

static Status read_file(const char *path, char **text, size_t *length, Error *err) {
    *text = NULL;
    Status status = file_expect_text(path, "a scene in YAML", err);
    return status == STATUS_OK ? file_read_all(path, FILE_MAX, text, length, err) : status;
}

Status fit_free_read(const char *path, const char *const *names, size_t name_count, FitFree *out, Error *err) {
    char *text;
    size_t length;
    *out = (FitFree){0};
    Status status = read_file(path, &text, &length, err);
    if (status == STATUS_OK) status = fit_free_parse(text, length, path, names, name_count, out, err);
    free(text);
    return status;
}

// The numbers of one section, as they stand there.
static Status read_section(const SimScene *scene, bool random, FitFree *out, Error *err) {
    char *text;
    size_t length;
    *out = (FitFree){0};
    Status status = read_file(scene->path, &text, &length, err);
    if (status == STATUS_OK) status = take_text(text, length, scene->path, out, err);
    out->random = random;
    if (status == STATUS_OK) status = read_text(out, scene, NULL, 0, err);
    free(text);
    if (status != STATUS_OK) fit_free_close(out);
    return status;
}

Status fit_free_random(const SimScene *scene, FitFree *out, Error *err) { return read_section(scene, true, out, err); }

Status fit_free_check(const SimScene *scene, Error *err) {
    FitFree f = {0};
    Status status = scene->has_fit ? read_section(scene, false, &f, err) : STATUS_OK;
    fit_free_close(&f);
    if (status == STATUS_OK && scene->has_random) status = read_section(scene, true, &f, err);
    fit_free_close(&f);
    return status;
}

void fit_free_close(FitFree *f) {
    free(f->path);
    free(f->folder);
    free(f->text);
    free(f->variable);
    *f = (FitFree){0};
}
