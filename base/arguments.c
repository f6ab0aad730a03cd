// SPDX-License-Identifier: Apache-2.0
#include "base/arguments.h"

#include "base/file.h"
#include "base/options.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORDS_MAX = 64 };

Status argument_error(const ArgumentReader *reader, const YamlNode *node, const char *format, ...) {
    char words[512];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    return error_set(reader->err, STATUS_BAD_INPUT, "%s:%zu: %s", reader->name, node->line, words);
}

Status argument_unknown(const ArgumentReader *reader, const YamlNode *node, const char *what, const char *const *words,
                        size_t count) {
    const char *near = options_nearest_word(node->key, words, count);
    char list[400] = "";
    if (near) return argument_error(reader, node, "unknown %s \"%s\"; did you mean \"%s\"?", what, node->key, near);
    for (size_t i = 0, used = 0; i < count; i++) {
        const bool room = used + strlen(words[i]) + sizeof ", , .." <= sizeof list;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", room ? words[i] : "..");
        if (!room) break;
    }
    return argument_error(reader, node, "unknown %s \"%s\"; expected one of %s", what, node->key, list);
}

// ---- values

Status argument_wrong(const ArgumentReader *reader, const YamlNode *node, const char *expected) {
    char list[32];
    snprintf(list, sizeof list, "a list of %zu", node->count);
    const char *map = node->count ? "a map" : "an empty map";
    const char *found = node->kind == YAML_LIST ? list : node->kind == YAML_MAP ? map : node->text;
    return argument_error(reader, node, "%s: expected %s, found %.64s", node->key ? node->key : "the list", expected,
                          *found ? found : "nothing");
}

static bool number_in(const Argument *argument, const YamlNode *node, double *out) {
    return yaml_tree_number(node, out) && *out >= argument->min && *out <= argument->max;
}

// The range is said where it is narrow, or where a number is beyond it.
static Status wrong_number(const ArgumentReader *reader, const Argument *argument, const YamlNode *node) {
    char expected[160], range[80] = "";
    double value;
    bool whole = argument->type == ARG_WHOLE || argument->type == ARG_WHOLES;
    const bool beyond = node->kind == YAML_TEXT && yaml_tree_number(node, &value) && !number_in(argument, node, &value);
    if (fabs(argument->min) < 1e9 || fabs(argument->max) < 1e9 || beyond)
        snprintf(range, sizeof range, " from %.9g to %.9g", argument->min, argument->max);
    if (argument->numbers)
        snprintf(expected, sizeof expected, "a list of %d %s numbers%s", argument->numbers, whole ? "whole" : "finite",
                 range);
    else snprintf(expected, sizeof expected, "%s%s", whole ? "a whole number" : "a finite number", range);
    return argument_wrong(reader, node, expected);
}

// An entry of a list of the right length has a wrong value.
static Status wrong_entry(const ArgumentReader *reader, const Argument *argument, const YamlNode *list,
                          const YamlNode *entry) {
    const char *key = list->key ? list->key : "the list";
    if (entry->kind == YAML_TEXT && !yaml_tree_number(entry, &(double){0}))
        return argument_error(reader, entry, "%s: expected %d finite numbers, found \"%.64s\" among them", key,
                              argument->numbers, entry->text);
    if (entry->kind == YAML_TEXT)
        return argument_error(reader, entry, "%s: expected %snumbers from %.9g to %.9g, found %.64s among them", key,
                              argument->type == ARG_WHOLES ? "whole " : "", argument->min, argument->max, entry->text);
    return argument_error(reader, entry, "%s: expected %d finite numbers, found %s among them", key, argument->numbers,
                          entry->kind == YAML_LIST ? "a list" : "a map");
}

static Status read_numbers(const ArgumentReader *reader, const Argument *argument, const YamlNode *node, double *out) {
    if (node->kind != YAML_LIST || (int)node->count != argument->numbers) return wrong_number(reader, argument, node);
    for (const YamlNode *entry = node->child; entry; entry = entry->next)
        if (!number_in(argument, entry, out++)) return wrong_entry(reader, argument, node, entry);
    return STATUS_OK;
}

static Status read_whole(const ArgumentReader *reader, const Argument *argument, const YamlNode *node, long *out) {
    double number;
    if (!number_in(argument, node, &number) || number != floor(number)) return wrong_number(reader, argument, node);
    *out = (long)number;
    return STATUS_OK;
}

static Status read_wholes(const ArgumentReader *reader, const Argument *argument, const YamlNode *node, int *out) {
    if (node->kind != YAML_LIST || (int)node->count != argument->numbers) return wrong_number(reader, argument, node);
    for (const YamlNode *entry = node->child; entry; entry = entry->next) {
        double number;
        if (!number_in(argument, entry, &number) || number != floor(number))
            return wrong_entry(reader, argument, node, entry);
        *out++ = (int)number;
    }
    return STATUS_OK;
}

static Status read_yes(const ArgumentReader *reader, const YamlNode *node, bool *out) {
    static const char *const words[] = {"false", "true", "no", "yes"};
    for (int i = 0; i < 4 && node->kind == YAML_TEXT; i++) {
        if (strcasecmp(node->text, words[i]) != 0) continue;
        *out = i % 2;
        return STATUS_OK;
    }
    return argument_wrong(reader, node, "true or false");
}

static Status read_word(const ArgumentReader *reader, const Argument *argument, const YamlNode *node, int *out) {
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
    return argument_wrong(reader, node, argument->words);
}

static Status read_name(const ArgumentReader *reader, const YamlNode *node, char *out) {
    if (node->kind != YAML_TEXT || !*node->text || strlen(node->text) >= ARGUMENT_NAME_SIZE)
        return argument_wrong(reader, node, "a name of 1 to 127 bytes");
    memcpy(out, node->text, strlen(node->text) + 1);
    return STATUS_OK;
}

static Status read_path(const ArgumentReader *reader, const YamlNode *node, char *out) {
    char joined[ARGUMENT_PATH_SIZE];
    if (node->kind != YAML_TEXT || !*node->text) return argument_wrong(reader, node, "the path of a file");
    Status status = file_join(joined, sizeof joined, reader->folder, node->text, reader->err);
    if (status != STATUS_OK) return error_prefix(reader->err, "%s:%zu", reader->name, node->line);
    char *absolute = realpath(joined, NULL); // if the file is missing, the error comes when it is opened
    snprintf(out, ARGUMENT_PATH_SIZE, "%.*s", ARGUMENT_PATH_SIZE - 1, absolute ? absolute : joined);
    free(absolute);
    return STATUS_OK;
}

static Status read_one(const ArgumentReader *reader, const Argument *argument, const YamlNode *node, void *fields) {
    void *field = (char *)fields + argument->offset;
    if (argument->given) *(bool *)((char *)fields + argument->given) = true;
    switch (argument->type) {
    case ARG_NUMBER: return number_in(argument, node, field) ? STATUS_OK : wrong_number(reader, argument, node);
    case ARG_NUMBERS: return read_numbers(reader, argument, node, field);
    case ARG_WHOLE: return read_whole(reader, argument, node, field);
    case ARG_WHOLES: return read_wholes(reader, argument, node, field);
    case ARG_NAME: return read_name(reader, node, field);
    case ARG_PATH: return read_path(reader, node, field);
    case ARG_YES: return read_yes(reader, node, field);
    case ARG_WORD: return read_word(reader, argument, node, field);
    case ARG_OTHER: return argument->read(reader, node, field);
    }
    return STATUS_OK;
}

// ---- maps

static const Argument *find(const ArgumentGroup *groups, size_t count, const char *key, void **fields) {
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count; i++)
            if (!strcmp(groups[g].table[i].key, key)) {
                *fields = groups[g].fields;
                return groups[g].table + i;
            }
    return NULL;
}

static Status unknown_key(const ArgumentReader *reader, const YamlNode *node, const ArgumentGroup *groups, size_t count,
                          const ArgumentRest *rest) {
    const char *words[WORDS_MAX];
    size_t known = 0;
    for (size_t g = 0; g < count; g++)
        for (size_t i = 0; i < groups[g].count && known < WORDS_MAX; i++) words[known++] = groups[g].table[i].key;
    for (size_t i = 0; rest && i < rest->count && known < WORDS_MAX; i++) words[known++] = rest->words[i];
    return argument_unknown(reader, node, rest ? rest->what : "key", words, known);
}

static Status check_required(const ArgumentReader *reader, const YamlNode *map, const ArgumentGroup *group) {
    for (size_t i = 0; i < group->count; i++)
        if (group->table[i].required && !yaml_tree_find(map, group->table[i].key))
            return argument_error(reader, map, "%s: \"%s\" is missing", map->key ? map->key : "the map",
                                  group->table[i].key);
    return STATUS_OK;
}

static bool in_rest(const ArgumentRest *rest, const char *key) {
    for (size_t i = 0; rest && i < rest->count; i++)
        if (!strcmp(rest->words[i], key)) return true;
    return false;
}

Status arguments_read(const ArgumentReader *reader, const YamlNode *map, const ArgumentGroup *groups, size_t count,
                      const ArgumentRest *rest) {
    Status status = STATUS_OK;
    if (map->kind != YAML_MAP) return argument_wrong(reader, map, "a map {key: value, ..}");
    for (const YamlNode *node = map->child; node && status == STATUS_OK; node = node->next) {
        void *fields = NULL;
        const Argument *argument = find(groups, count, node->key, &fields);
        if (argument) status = read_one(reader, argument, node, fields);
        else if (in_rest(rest, node->key)) status = rest->read(reader, node, rest->context);
        else status = unknown_key(reader, node, groups, count, rest);
    }
    for (size_t g = 0; g < count && status == STATUS_OK; g++) status = check_required(reader, map, groups + g);
    return status;
}

Status argument_keep(const ArgumentReader *reader, const YamlNode *node, void *field) {
    (void)reader;
    *(const YamlNode **)field = node;
    return STATUS_OK;
}
