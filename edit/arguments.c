// SPDX-License-Identifier: Apache-2.0
// Reads one entry of a YAML map into a field of a structure.
#include "edit/list.h"

#include "base/file.h"
#include "base/options.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

Status list_error(const ListReader *reader, const YamlNode *node, const char *format, ...) {
    char words[512];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    return error_set(reader->err, STATUS_BAD_INPUT, "%s:%zu: %s", reader->name, node->line, words);
}

Status list_unknown(const ListReader *reader, const YamlNode *node, const char *what, const char *const *words,
                    size_t count) {
    const char *near = options_nearest_word(node->key, words, count);
    char list[400] = "";
    if (near) return list_error(reader, node, "unknown %s \"%s\"; did you mean \"%s\"?", what, node->key, near);
    for (size_t i = 0, used = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
    return list_error(reader, node, "unknown %s \"%s\"; expected one of %s", what, node->key, list);
}

// ---- values

Status list_wrong(const ListReader *reader, const YamlNode *node, const char *expected) {
    char list[32];
    snprintf(list, sizeof list, "a list of %zu", node->count);
    const char *found = node->kind == YAML_LIST ? list : node->kind == YAML_MAP ? "a map" : node->text;
    return list_error(reader, node, "%s: expected %s, found %.64s", node->key ? node->key : "the list", expected,
                      *found ? found : "nothing");
}

static Status wrong_number(const ListReader *reader, const Argument *argument, const YamlNode *node) {
    char expected[160], range[80] = "";
    bool whole = argument->type == ARG_WHOLE;
    if (fabs(argument->min) < 1e9 || fabs(argument->max) < 1e9)
        snprintf(range, sizeof range, " from %g to %g", argument->min, argument->max);
    if (argument->numbers)
        snprintf(expected, sizeof expected, "a list of %d finite numbers%s", argument->numbers, range);
    else snprintf(expected, sizeof expected, "%s%s", whole ? "a whole number" : "a finite number", range);
    return list_wrong(reader, node, expected);
}

// An entry of a list of the right length has a wrong value.
static Status wrong_entry(const ListReader *reader, const Argument *argument, const YamlNode *list,
                          const YamlNode *entry) {
    const char *key = list->key ? list->key : "the list";
    if (entry->kind == YAML_TEXT && !yaml_tree_number(entry, &(double){0}))
        return list_error(reader, entry, "%s: expected %d finite numbers, found \"%.64s\" among them", key,
                          argument->numbers, entry->text);
    if (entry->kind == YAML_TEXT)
        return list_error(reader, entry, "%s: expected numbers from %g to %g, found %.64s among them", key,
                          argument->min, argument->max, entry->text);
    return list_error(reader, entry, "%s: expected %d finite numbers, found %s among them", key, argument->numbers,
                      entry->kind == YAML_LIST ? "a list" : "a map");
}

static bool number_in(const Argument *argument, const YamlNode *node, double *out) {
    return yaml_tree_number(node, out) && *out >= argument->min && *out <= argument->max;
}

static Status read_numbers(const ListReader *reader, const Argument *argument, const YamlNode *node, double *out) {
    if (node->kind != YAML_LIST || (int)node->count != argument->numbers) return wrong_number(reader, argument, node);
    for (const YamlNode *entry = node->child; entry; entry = entry->next)
        if (!number_in(argument, entry, out++)) return wrong_entry(reader, argument, node, entry);
    return STATUS_OK;
}

static Status read_whole(const ListReader *reader, const Argument *argument, const YamlNode *node, long *out) {
    double number;
    if (!number_in(argument, node, &number) || number != floor(number)) return wrong_number(reader, argument, node);
    *out = (long)number;
    return STATUS_OK;
}

static Status read_yes(const ListReader *reader, const YamlNode *node, bool *out) {
    static const char *const words[] = {"false", "true", "no", "yes"};
    for (int i = 0; i < 4 && node->kind == YAML_TEXT; i++) {
        if (strcasecmp(node->text, words[i]) != 0) continue;
        *out = i % 2;
        return STATUS_OK;
    }
    return list_wrong(reader, node, "true or false");
}

static Status read_word(const ListReader *reader, const Argument *argument, const YamlNode *node, int *out) {
    const char *words = argument->words;
    for (int i = 0; node->kind == YAML_TEXT; i++) {
        size_t length = strcspn(words, "|");
        if (strlen(node->text) == length && strncmp(words, node->text, length) == 0) {
            *out = i;
            return STATUS_OK;
        }
        if (!words[length]) break;
        words += length + 1;
    }
    return list_wrong(reader, node, argument->words);
}

static Status read_name(const ListReader *reader, const YamlNode *node, char *out) {
    if (node->kind != YAML_TEXT || !*node->text || strlen(node->text) >= EDIT_NAME_SIZE)
        return list_wrong(reader, node, "a name of 1 to 127 bytes");
    memcpy(out, node->text, strlen(node->text) + 1);
    return STATUS_OK;
}

static Status read_path(const ListReader *reader, const YamlNode *node, char *out) {
    char joined[EDIT_PATH_SIZE];
    if (node->kind != YAML_TEXT || !*node->text) return list_wrong(reader, node, "the path of a file");
    Status status = file_join(joined, sizeof joined, reader->folder, node->text, reader->err);
    if (status != STATUS_OK) return error_prefix(reader->err, "%s:%zu", reader->name, node->line);
    char *absolute = realpath(joined, NULL); // if the file is missing, the error comes when it is opened
    snprintf(out, EDIT_PATH_SIZE, "%.*s", EDIT_PATH_SIZE - 1, absolute ? absolute : joined);
    free(absolute);
    return STATUS_OK;
}

// "plane", "none", or a height below which everything is floor.
static Status read_floor(const ListReader *reader, const YamlNode *node, ClusterOptions *out) {
    out->has_height = yaml_tree_number(node, &out->height);
    bool plane = node->kind == YAML_TEXT && !strcmp(node->text, "plane");
    bool none = node->kind == YAML_TEXT && !strcmp(node->text, "none");
    out->floor = !none;
    return out->has_height || plane || none ? STATUS_OK
                                            : list_wrong(reader, node, "plane, none, or a height in metres");
}

Status argument_read(const ListReader *reader, const Argument *argument, const YamlNode *node, void *fields) {
    void *field = (char *)fields + argument->offset;
    if (argument->given) *(bool *)((char *)fields + argument->given) = true;
    switch (argument->type) {
    case ARG_NUMBER: return number_in(argument, node, field) ? STATUS_OK : wrong_number(reader, argument, node);
    case ARG_NUMBERS: return read_numbers(reader, argument, node, field);
    case ARG_WHOLE: return read_whole(reader, argument, node, field);
    case ARG_NAME: return read_name(reader, node, field);
    case ARG_PATH: return read_path(reader, node, field);
    case ARG_YES: return read_yes(reader, node, field);
    case ARG_WORD: return read_word(reader, argument, node, field);
    case ARG_FLOOR: return read_floor(reader, node, fields);
    case ARG_SELECTION: break; // edit/select_read.c
    }
    return STATUS_OK;
}
