// SPDX-License-Identifier: Apache-2.0
// Reads selections, which are maps and may contain maps.
#include "edit/list.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAR 1e6 // metres; a larger number is taken for a mistake
#define AT(field) offsetof(Select, field)
#define OF(field) offsetof(ClusterOptions, field)

// "plane", "none", or a height below which everything is floor.
static Status read_floor(const ArgumentReader *reader, const YamlNode *node, void *field) {
    ClusterOptions *out = field; // the whole of it, because several fields are set
    out->has_height = yaml_tree_number(node, &out->height);
    bool plane = node->kind == YAML_TEXT && !strcmp(node->text, "plane");
    bool none = node->kind == YAML_TEXT && !strcmp(node->text, "none");
    out->floor = !none;
    return out->has_height || plane || none ? STATUS_OK
                                            : argument_wrong(reader, node, "plane, none, or a height in metres");
}

const Argument CLUSTER_ARGUMENTS[] = {
    {.key = "link", .type = ARG_NUMBER, .offset = OF(link), .min = 1e-9, .max = FAR},
    {.key = "least", .type = ARG_WHOLE, .offset = OF(least), .min = 1, .max = 1e9},
    {.key = "floor", .type = ARG_OTHER, .read = read_floor},
    {.key = "within", .type = ARG_NUMBER, .offset = OF(plane.within), .min = 1e-9, .max = FAR},
    {.key = "seed", .type = ARG_WHOLE, .offset = OF(plane.seed), .max = 4294967295.0},
};
const size_t CLUSTER_ARGUMENT_COUNT = sizeof CLUSTER_ARGUMENTS / sizeof *CLUSTER_ARGUMENTS;

ClusterOptions cluster_defaults(void) { return (ClusterOptions){.floor = true, .least = 20}; }

#define POINT(word, field)                                                                                             \
    { .key = word, .type = ARG_NUMBERS, .offset = AT(field), .min = -FAR, .max = FAR, .numbers = 3, .required = true }
static const Argument box[] = {POINT("min", a), POINT("max", b)};
static const Argument sphere[] = {
    POINT("centre", a),
    {.key = "radius", .type = ARG_NUMBER, .offset = AT(size), .min = 0, .max = FAR, .required = true}};
static const Argument plane[] = {
    POINT("point", a),
    POINT("normal", b),
    {.key = "within", .type = ARG_NUMBER, .offset = AT(size), .max = FAR, .given = AT(has_size)}};
static const Argument colour[] = {
    {.key = "rgb", .type = ARG_NUMBERS, .offset = AT(a), .max = 255, .numbers = 3, .required = true},
    {.key = "within", .type = ARG_NUMBER, .offset = AT(size), .max = 442}};
static const Argument height[] = {{.key = "above", .type = ARG_NUMBER, .offset = AT(low), .min = -FAR, .max = FAR},
                                  {.key = "below", .type = ARG_NUMBER, .offset = AT(high), .min = -FAR, .max = FAR}};
static const Argument on_floor[] = {
    {.key = "within", .type = ARG_NUMBER, .offset = AT(cluster.plane.within), .min = 1e-9, .max = FAR},
    {.key = "seed", .type = ARG_WHOLE, .offset = AT(cluster.plane.seed), .max = 4294967295.0}};
static const Argument cluster[] = {{.key = "id", .type = ARG_WHOLE, .offset = AT(id), .min = 1, .max = 1e9},
                                   {.key = "near",
                                    .type = ARG_NUMBERS,
                                    .offset = AT(a),
                                    .min = -FAR,
                                    .max = FAR,
                                    .numbers = 3,
                                    .given = AT(has_near)}};
static const Argument pixel[] = {
    {.key = "view", .type = ARG_WHOLE, .offset = AT(view), .max = 65535, .required = true},
    {.key = "at", .type = ARG_NUMBERS, .offset = AT(pixel), .min = -1e5, .max = 1e5, .numbers = 2, .required = true},
    {.key = "take", .type = ARG_WORD, .offset = AT(take), .words = "label|cluster|particle", .given = AT(has_take)}};

typedef struct Kind {
    const char *word;
    SelectKind kind;
    const Argument *table;
    size_t count;
    bool clusters; // whether the arguments of clusters are accepted too
} Kind;

#define TABLE(t) t, sizeof t / sizeof *t
static const Kind kinds[] = {
    {"all", SELECT_ALL, NULL, 0, false},
    {"label", SELECT_LABEL, NULL, 0, false},
    {"box", SELECT_BOX, TABLE(box), false},
    {"sphere", SELECT_SPHERE, TABLE(sphere), false},
    {"plane", SELECT_PLANE, TABLE(plane), false},
    {"colour", SELECT_COLOUR, TABLE(colour), false},
    {"height", SELECT_HEIGHT, TABLE(height), false},
    {"moving", SELECT_MOVING, NULL, 0, false},
    {"body", SELECT_BODY, NULL, 0, false},
    {"floor", SELECT_FLOOR, TABLE(on_floor), false},
    {"cluster", SELECT_CLUSTER, TABLE(cluster), true},
    {"pixel", SELECT_PIXEL, TABLE(pixel), true},
    {"and", SELECT_AND, NULL, 0, false},
    {"or", SELECT_OR, NULL, 0, false},
    {"not", SELECT_NOT, NULL, 0, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const Kind *find_kind(const char *key) {
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(kinds[i].word, key)) return kinds + i;
    return NULL;
}

void select_free(Select *select) {
    while (select) {
        Select *next = select->next;
        select_free(select->child);
        free(select);
        select = next;
    }
}

static Status create(const ArgumentReader *reader, SelectKind kind, Select **out) {
    *out = calloc(1, sizeof **out);
    if (!*out) return error_no_memory(reader->err, "%s", reader->name);
    **out = (Select){.kind = kind, .low = -INFINITY, .high = INFINITY, .id = -1, .cluster = cluster_defaults()};
    if (kind == SELECT_COLOUR) (*out)->size = 40;
    return STATUS_OK;
}

// Adds a selection to *all, so that both must hold.
static Status select_both(const ArgumentReader *reader, Select **all, Select *more) {
    Select *first = *all;
    if (first && first->kind != SELECT_AND) {
        Status status = create(reader, SELECT_AND, all);
        if (status != STATUS_OK) {
            select_free(more);
            *all = first;
            return status;
        }
        (*all)->child = first;
    }
    if (!first) {
        *all = more;
        return STATUS_OK;
    }
    Select **tail = &(*all)->child;
    while (*tail) tail = &(*tail)->next;
    *tail = more;
    return STATUS_OK;
}

// ---- maps

// One entry such as `label: 2`.
static Status select_read_entry(const ArgumentReader *reader, const YamlNode *node, Select **out);

static Status read_rest(const ArgumentReader *reader, const YamlNode *node, void *select) {
    Select *more = NULL;
    Status status = select_read_entry(reader, node, &more);
    return status == STATUS_OK ? select_both(reader, select, more) : status;
}

Status edit_arguments_read(const ArgumentReader *reader, const YamlNode *map, const ArgumentGroup *groups, size_t count,
                           Select **select) {
    const char *words[KINDS];
    for (int i = 0; i < KINDS; i++) words[i] = kinds[i].word;
    const ArgumentRest rest = {"key or selection", words, KINDS, read_rest, select};
    return arguments_read(reader, map, groups, count, select ? &rest : NULL);
}

// ---- selections

// ---- one kind each

static Status read_label(const ArgumentReader *reader, const YamlNode *node, Select *out) {
    if (node->kind != YAML_TEXT || !*node->text || strlen(node->text) >= EDIT_NAME_SIZE)
        return argument_error(reader, node, "label: expected a label's number or name, or a list of them");
    memcpy(out->name, node->text, strlen(node->text) + 1);
    return STATUS_OK;
}

// Operands: a list of maps for `and`, `or`; a list of texts for a list of labels.
static Status read_list(const ArgumentReader *reader, const YamlNode *node, Select *out) {
    Select **tail = &out->child;
    bool labels = out->kind == SELECT_LABEL;
    if (node->kind != YAML_LIST || !node->child)
        return argument_error(reader, node, "%s: expected a list of %s", node->key,
                              labels ? "labels [1, 2]; this one is empty" : "selections [{..}, {..}]");
    if (labels) out->kind = SELECT_OR;
    for (const YamlNode *entry = node->child; entry; entry = entry->next) {
        Status status = labels ? create(reader, SELECT_LABEL, tail) : select_read(reader, entry, tail);
        if (status == STATUS_OK && labels) status = read_label(reader, entry, *tail);
        if (status != STATUS_OK) return status;
        tail = &(*tail)->next;
    }
    return STATUS_OK;
}

// One value, `key: value`, as a map of its own.
static Status read_value(const ArgumentReader *reader, const YamlNode *node, const Argument *value, Select *out) {
    const ArgumentGroup group = {value, 1, out};
    YamlNode entry = *node, map = {.kind = YAML_MAP, .line = node->line, .child = &entry};
    entry.next = NULL;
    return edit_arguments_read(reader, &map, &group, 1, NULL);
}

static Status read_flag(const ArgumentReader *reader, const YamlNode *node, Select *out) {
    const Argument yes = {.key = node->key, .type = ARG_YES, .offset = AT(yes)};
    Status status = read_value(reader, node, &yes, out);
    if (status != STATUS_OK || out->yes || out->kind == SELECT_MOVING) return status;
    return argument_error(reader, node, "%s: expected true; `not: {%s: true}` takes the others", node->key, node->key);
}

static Status read_body(const ArgumentReader *reader, const YamlNode *node, Select *out) {
    const Argument number = {.key = node->key, .type = ARG_WHOLE, .offset = AT(id), .max = 1e9};
    return read_value(reader, node, &number, out);
}

static Status read_table(const ArgumentReader *reader, const YamlNode *node, const Kind *kind, Select *out) {
    const ArgumentGroup groups[] = {{kind->table, kind->count, out},
                                    {CLUSTER_ARGUMENTS, CLUSTER_ARGUMENT_COUNT, &out->cluster}};
    return edit_arguments_read(reader, node, groups, kind->clusters ? 2 : 1, NULL);
}

// Conditions that the tables cannot express.
static Status check(const ArgumentReader *reader, const YamlNode *node, const Select *s) {
    for (int c = 0; c < 3 && s->kind == SELECT_BOX; c++)
        if (!(s->a[c] <= s->b[c])) return argument_error(reader, node, "box: expected min <= max in x, y and z");
    if (s->kind == SELECT_PLANE && !(s->b[0] * s->b[0] + s->b[1] * s->b[1] + s->b[2] * s->b[2] > 0))
        return argument_error(reader, node, "plane: expected a normal of non-zero length");
    if (s->kind == SELECT_HEIGHT && !(s->low < s->high))
        return argument_error(reader, node, "height: expected above < below");
    if (s->kind == SELECT_HEIGHT && isinf(s->low) && isinf(s->high))
        return argument_error(reader, node, "height: expected \"above\", \"below\" or both");
    if (s->kind == SELECT_CLUSTER && s->has_near == (s->id > 0))
        return argument_error(reader, node, "cluster: expected either \"id\" or \"near\"");
    return STATUS_OK;
}

static Status read_kind(const ArgumentReader *reader, const YamlNode *node, const Kind *kind, Select *out) {
    switch (kind->kind) {
    case SELECT_ALL:
    case SELECT_MOVING: return read_flag(reader, node, out);
    case SELECT_BODY: return read_body(reader, node, out);
    case SELECT_LABEL: return (node->kind == YAML_LIST ? read_list : read_label)(reader, node, out);
    case SELECT_AND:
    case SELECT_OR: return read_list(reader, node, out);
    case SELECT_NOT: return select_read(reader, node, &out->child);
    case SELECT_FLOOR:
        return node->kind == YAML_MAP ? read_table(reader, node, kind, out) : read_flag(reader, node, out);
    default: break;
    }
    Status status = read_table(reader, node, kind, out);
    return status == STATUS_OK ? check(reader, node, out) : status;
}

static Status select_read_entry(const ArgumentReader *reader, const YamlNode *node, Select **out) {
    const Kind *kind = find_kind(node->key);
    Status status = create(reader, kind->kind, out);
    if (status == STATUS_OK) status = read_kind(reader, node, kind, *out);
    if (status == STATUS_OK) return STATUS_OK;
    select_free(*out);
    *out = NULL;
    return status;
}

Status select_read(const ArgumentReader *reader, const YamlNode *map, void *field) {
    Select **out = field;
    *out = NULL; // NOLINT: arguments_read has a place for every argument that it finds
    Status status = edit_arguments_read(reader, map, NULL, 0, out);
    if (status == STATUS_OK && !*out) status = argument_error(reader, map, "expected a selection, found an empty map");
    if (status == STATUS_OK) return STATUS_OK;
    select_free(*out);
    *out = NULL;
    return status;
}
