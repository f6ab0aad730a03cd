// SPDX-License-Identifier: Apache-2.0
// Reads lists of edits from YAML, and makes them from a file's history.
#include "edit/list.h"

#include "base/file.h"
#include "base/file_kind.h"

#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(Edit, field)
#define VECTOR(word, field, needed)                                                                                    \
    {                                                                                                                  \
        .key = word, .type = ARG_NUMBERS, .offset = AT(field), .min = -EDIT_FAR, .max = EDIT_FAR, .numbers = 3,        \
        .required = needed                                                                                             \
    }
#define OPTIONAL_VECTOR(word, field, has)                                                                              \
    {                                                                                                                  \
        .key = word, .type = ARG_NUMBERS, .offset = AT(field), .min = -EDIT_FAR, .max = EDIT_FAR, .numbers = 3,        \
        .given = AT(has)                                                                                               \
    }
#define ABOUT OPTIONAL_VECTOR("about", about, has_about)
#define NAME(needed)                                                                                                   \
    { .key = "as", .type = ARG_NAME, .offset = AT(as), .required = needed }

static const Argument common[] = {{.key = "if_empty", .type = ARG_WORD, .offset = AT(if_empty), .words = "fail|skip"}};
static const Argument move[] = {VECTOR("by", by, true)};
static const Argument rotate[] = {
    VECTOR("axis", axis, true),
    {.key = "angle", .type = ARG_NUMBER, .offset = AT(angle), .min = -36000, .max = 36000, .required = true},
    ABOUT};
static const Argument scale[] = {
    {.key = "factor", .type = ARG_NUMBER, .offset = AT(factor), .min = 1e-3, .max = 1e3, .required = true}, ABOUT};
static const Argument copy[] = {
    VECTOR("by", by, true),
    NAME(false),
    {.key = "count", .type = ARG_WHOLE, .offset = AT(count), .min = 1, .max = EDIT_COPIES_MAX}};
static const Argument recolour[] = {
    {.key = "like", .type = ARG_OTHER, .offset = AT(like), .required = true, .read = select_read}};
static const Argument throw[] = {VECTOR("velocity", velocity, true),
                                 OPTIONAL_VECTOR("gravity", gravity, has_gravity),
                                 {.key = "replace", .type = ARG_YES, .offset = AT(replace)}};
static const Argument drive[] = {
    {.key = "path", .type = ARG_OTHER, .offset = AT(path), .read = edit_path_read},
    OPTIONAL_VECTOR("velocity", velocity, has_velocity),
    {.key = "steps", .type = ARG_WHOLE, .offset = AT(steps), .min = 1, .max = EDIT_DRIVE_STEPS_MAX}};
static const Argument simulate[] = {
    {.key = "steps", .type = ARG_WHOLE, .offset = AT(steps), .min = 1, .max = EDIT_DRIVE_STEPS_MAX},
    OPTIONAL_VECTOR("gravity", gravity, has_gravity),
    {.key = "contact", .type = ARG_OTHER, .offset = AT(contact), .read = edit_contact_read}};
static const Argument label[] = {NAME(true),
                                 {.key = "id", .type = ARG_WHOLE, .offset = AT(id), .max = 65535, .given = AT(has_id)}};
static const Argument compose[] = {{.key = "file", .type = ARG_PATH, .offset = AT(file), .required = true},
                                   {.key = "step", .type = ARG_WHOLE, .offset = AT(step), .max = 1 << 20},
                                   VECTOR("by", by, false),
                                   NAME(false)};

typedef struct Op {
    const char *word;
    EditOp op;
    const Argument *table;
    size_t count;
    bool all; // without a selection, all particles are taken
} Op;

#define TABLE(t) t, sizeof t / sizeof *t
static const Op ops[] = {
    {"remove", EDIT_REMOVE, NULL, 0, false},
    {"keep", EDIT_KEEP, NULL, 0, false},
    {"move", EDIT_MOVE, TABLE(move), false},
    {"rotate", EDIT_ROTATE, TABLE(rotate), false},
    {"scale", EDIT_SCALE, TABLE(scale), false},
    {"copy", EDIT_COPY, TABLE(copy), false},
    {"recolour", EDIT_RECOLOUR, TABLE(recolour), false},
    {"throw", EDIT_THROW, TABLE(throw), false},
    {"drive", EDIT_DRIVE, TABLE(drive), false},
    {"simulate", EDIT_SIMULATE, TABLE(simulate), true},
    {"label", EDIT_LABEL, TABLE(label), false},
    {"cluster", EDIT_CLUSTER, NULL, 0, true},
    {"compose", EDIT_COMPOSE, TABLE(compose), true},
};
enum { OPS = sizeof ops / sizeof *ops };

// ---- lists

EditList *edit_list_create(void) {
    EditList *list = calloc(1, sizeof *list);
    if (list) list->tail = &list->first;
    return list;
}

void edit_list_free(EditList *list) {
    for (Edit *edit = list ? list->first : NULL, *next; edit; edit = next) {
        next = edit->next;
        select_free(edit->select);
        select_free(edit->like);
        free((double *)edit->path.pose);
        free(edit->source);
        free(edit->text);
        free(edit);
    }
    free(list);
}

size_t edit_list_count(const EditList *list) { return list->count; }

// ---- one edit

static Status unknown_op(const ArgumentReader *reader, const YamlNode *node) {
    const char *words[OPS];
    for (int i = 0; i < OPS; i++) words[i] = ops[i].word;
    return argument_unknown(reader, node, "edit", words, OPS);
}

static Status read_arguments(const ArgumentReader *reader, const YamlNode *node, const Op *op, Edit *out) {
    const ArgumentGroup groups[] = {{common, 1, out}, // arguments of every edit
                                    {op->table, op->count, out},
                                    {CLUSTER_ARGUMENTS, CLUSTER_ARGUMENT_COUNT, &out->cluster}};
    *out = (Edit){
        .op = op->op, .line = node->line, .count = 1, .cluster = cluster_defaults(), .contact = ANALYTIC_CONTACT};
    Status status = edit_arguments_read(reader, node, groups, op->op == EDIT_CLUSTER ? 3 : 2, &out->select);
    if (status == STATUS_OK && !out->select && !op->all)
        status = argument_error(reader, node, "%s: expected a selection of particles (`all: true` takes every one)",
                                op->word);
    double length = out->axis[0] * out->axis[0] + out->axis[1] * out->axis[1] + out->axis[2] * out->axis[2];
    if (status == STATUS_OK && op->op == EDIT_ROTATE && !(length > 0))
        status = argument_error(reader, node, "rotate: expected an axis of non-zero length");
    return status;
}

// `file` is written as an absolute path, so that the history is valid in any folder.
static char *one_line(const YamlNode *node, const Edit *edit) {
    YamlNode *file = (YamlNode *)(edit->op == EDIT_COMPOSE ? yaml_tree_find(node, "file") : NULL);
    char *given = file ? file->text : NULL;
    if (file) file->text = (char *)edit->file;
    YamlNode entry = *node, map = {.kind = YAML_MAP, .child = &entry};
    entry.next = NULL;
    char *flow = yaml_tree_flow(&map), *out = NULL;
    if (file) file->text = given;
    // {remove: {..}} without its outer braces
    if (flow) out = strndup(flow + 1, strlen(flow) - 2);
    free(flow);
    return out;
}

static Status read_edit(const ArgumentReader *reader, const YamlNode *node, Edit *out) {
    const Op *op = NULL;
    for (int i = 0; i < OPS && !op; i++)
        if (!strcmp(ops[i].word, node->key)) op = ops + i;
    if (!op) return unknown_op(reader, node);
    Status status = read_arguments(reader, node, op, out);
    if (status != STATUS_OK) return status;
    out->word = op->word;
    out->source = strdup(reader->name);
    out->text = one_line(node, out);
    return out->source && out->text ? STATUS_OK
                                    : error_set(reader->err, STATUS_FAILED, "%s: out of memory", reader->name);
}

// An edit is a map with one entry: {remove: {..}}.
static Status add_item(EditList *list, const ArgumentReader *reader, const YamlNode *item) {
    if (item->kind != YAML_MAP || item->count != 1)
        return argument_error(reader, item, "expected one edit such as \"remove: {label: 2}\", found %s",
                              item->kind != YAML_MAP ? "something else than a map"
                              : item->count          ? "a map of several entries"
                                                     : "an empty map");
    Edit *edit = calloc(1, sizeof *edit);
    if (!edit) return error_set(reader->err, STATUS_FAILED, "%s: out of memory", reader->name);
    *list->tail = edit; // added before it is checked, so that the list frees it in any case
    list->tail = &edit->next;
    list->count++;
    return read_edit(reader, item->child, edit);
}

// ---- a whole list

static Status check_version(const ArgumentReader *reader, const YamlNode *root) {
    const YamlNode *version = yaml_tree_find(root, "version");
    double number;
    if (!version)
        return argument_error(reader, root, "\"version: %d\" is missing: expected a list of edits", EDIT_LIST_VERSION);
    if (!yaml_tree_number(version, &number) || number < 1)
        return argument_error(reader, version, "version: expected a number such as %d", EDIT_LIST_VERSION);
    if (number > EDIT_LIST_VERSION)
        return argument_error(
            reader, version, "this list of edits has version %.32s, but this program reads version %d; use a newer vpd",
            version->text, EDIT_LIST_VERSION);
    return STATUS_OK;
}

static Status add_list(EditList *list, const ArgumentReader *reader, const YamlNode *root) {
    static const char *const words[] = {"version", "edits"};
    if (root->kind != YAML_MAP)
        return argument_error(reader, root, "expected \"version: %d\" and \"edits:\" with a list", EDIT_LIST_VERSION);
    Status status = check_version(reader, root);
    for (const YamlNode *node = root->child; node && status == STATUS_OK; node = node->next)
        if (strcmp(node->key, "version") != 0 && strcmp(node->key, "edits") != 0)
            status = argument_unknown(reader, node, "key", words, 2);
    const YamlNode *edits = yaml_tree_find(root, "edits");
    if (status != STATUS_OK) return status;
    if (!edits || edits->kind != YAML_LIST)
        return argument_error(reader, edits ? edits : root, "expected \"edits:\" with a list of edits");
    for (const YamlNode *item = edits->child; item && status == STATUS_OK; item = item->next)
        status = add_item(list, reader, item);
    return status;
}

Status edit_list_parse(EditList *list, const char *text, size_t length, const char *name, const char *folder,
                       Error *err) {
    const ArgumentReader reader = {name, folder, err};
    YamlNode *root = NULL;
    Status status = yaml_tree_read(text, length, name, &root, err);
    if (status == STATUS_OK) status = add_list(list, &reader, root);
    yaml_tree_free(root);
    return status;
}

Status edit_list_load(EditList *list, const char *path, Error *err) {
    char *text = NULL, folder[FILE_PATH_SIZE];
    size_t length = 0;
    Status status = file_folder(folder, path, err);
    if (status == STATUS_OK) status = file_expect_text(path, "a list of edits in YAML", err);
    if (status == STATUS_OK) status = file_read_all(path, EDIT_LIST_BYTES_MAX, &text, &length, err);
    if (status == STATUS_OK) status = edit_list_parse(list, text, length, path, folder, err);
    free(text);
    return status;
}

Status edit_list_add(EditList *list, const char *name, const char *text, Error *err) {
    const ArgumentReader reader = {name, ".", err};
    YamlNode *root = NULL;
    Status status = yaml_tree_read(text, strlen(text), reader.name, &root, err);
    if (status == STATUS_OK) status = add_item(list, &reader, root);
    yaml_tree_free(root);
    return status;
}

// Whether this is a single edit, such as {remove: {..}}, and not a list.
static bool is_edit(const YamlNode *root) {
    return root->kind == YAML_MAP && root->count == 1 && !yaml_tree_find(root, "version") &&
           !yaml_tree_find(root, "edits");
}

Status edit_list_read(EditList *list, const char *text, const char *name, const char *folder, Error *err) {
    const ArgumentReader reader = {name, folder, err};
    YamlNode *root = NULL;
    size_t length = strlen(text);
    if (length > EDIT_LIST_BYTES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d bytes, found %zu", name, EDIT_LIST_BYTES_MAX,
                         length);
    Status status = yaml_tree_read(text, length, name, &root, err);
    const YamlNode *item = status == STATUS_OK && root->kind == YAML_LIST ? root->child : NULL;
    for (; item && status == STATUS_OK; item = item->next) status = add_item(list, &reader, item);
    if (status == STATUS_OK && root->kind != YAML_LIST)
        status = is_edit(root) ? add_item(list, &reader, root) : add_list(list, &reader, root);
    yaml_tree_free(root);
    return status;
}

// ---- history

Status edit_history_script(const RolloutFile *file, char **out, Error *err) {
    const char *history = file->edit_history ? file->edit_history : "";
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    const bool any = !strncmp(history, "- ", 2) || strstr(history, "\n- "); // comments may have dashes too
    if (!stream) return error_set(err, STATUS_FAILED, "out of memory for the edit history");
    fprintf(stream, "version: %d\nedits:%s\n", EDIT_LIST_VERSION, any ? "" : " []");
    while (*history) {
        int line = (int)strcspn(history, "\n");
        fprintf(stream, "  %.*s\n", line, history);
        history += line + (history[line] == '\n');
    }
    bool good = !ferror(stream);
    *out = fclose(stream) == 0 && good ? text : NULL;
    if (*out) return STATUS_OK;
    free(text);
    return error_set(err, STATUS_FAILED, "out of memory for the edit history");
}
