// SPDX-License-Identifier: Apache-2.0
// Options from YAML, and back. Only maps, texts and flat lists are let through.
#include "base/options_internal.h"

#include "base/file.h"
#include "base/file_kind.h"
#include "base/yaml.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 20, KEY_SIZE = 256 };

typedef struct Reader {
    OptionTable table;
    void *config;
    const char *name;    // of the file, for errors
    bool *seen;          // (table.count) options that the text names
    char path[KEY_SIZE]; // dotted key at the place being read
    size_t line;
    Error *err;
} Reader;

static Status fail_here(Reader *reader, const char *what) {
    return error_set(reader->err, STATUS_BAD_INPUT, "%s:%zu: %s%s%s", reader->name, reader->line, reader->path,
                     *reader->path ? ": " : "", what);
}

// The first option below the section `path`, or NULL when there is no such section.
static const Option *section_find(OptionTable table, const char *path) {
    size_t length = strlen(path);
    for (size_t i = 0; i < table.count; i++) {
        const char *key = table.options[i].key;
        if (strncmp(key, path, length) == 0 && key[length] == '.') return &table.options[i];
    }
    return NULL;
}

static Status set_option(Reader *reader, const char *value) {
    Status status = options_set(reader->table, reader->config, reader->path, value, reader->err);
    return status == STATUS_OK ? status : error_prefix(reader->err, "%s:%zu", reader->name, reader->line);
}

static Status set_value(Reader *reader, const char *value) {
    const Option *option = option_find(reader->table, reader->path);
    if (!option && section_find(reader->table, reader->path))
        return *value ? fail_here(reader, "is a section, expected keys below it") : STATUS_OK;
    bool *seen = option ? &reader->seen[option - reader->table.options] : NULL;
    if (seen && *seen) return fail_here(reader, "given twice");
    if (seen) *seen = true;
    return set_option(reader, value);
}

static Status read_list(Reader *reader, const YamlNode *list) {
    char text[OPTION_VALUE_SIZE] = "";
    size_t used = 0;
    const Option *option = option_find(reader->table, reader->path);
    if (option && !option_is_list(option)) return fail_here(reader, "expected a single value, found a list");
    for (const YamlNode *item = list->child; item; item = item->next) {
        if (item->kind != YAML_TEXT || !*item->text || strpbrk(item->text, ",[]"))
            return fail_here(reader, "expected a flat list of numbers");
        if (used + strlen(item->text) + 2 > sizeof text) return fail_here(reader, "the list is too long");
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? "," : "", item->text);
    }
    return set_value(reader, *text ? text : "[]");
}

// The entries of a map; the path of its section stands in reader->path.
static Status read_map(Reader *reader, const YamlNode *map) {
    size_t base = strlen(reader->path);
    Status status = STATUS_OK;
    for (const YamlNode *node = map->child; node && status == STATUS_OK; node = node->next) {
        int length = snprintf(reader->path + base, KEY_SIZE - base, "%s%s", base ? "." : "", node->key);
        reader->line = node->line;
        if (length >= (int)(KEY_SIZE - base)) status = fail_here(reader, "a key is too long");
        else if (node->kind == YAML_TEXT) status = set_value(reader, node->text);
        else if (node->kind == YAML_LIST) status = read_list(reader, node);
        else if (option_find(reader->table, reader->path))
            status = fail_here(reader, "expected a value, found a section");
        else if (section_find(reader->table, reader->path)) status = read_map(reader, node);
        else status = set_option(reader, ""); // suggests the nearest name
        if (status == STATUS_OK) reader->path[base] = 0;
    }
    return status;
}

Status options_parse_yaml(OptionTable table, void *config, const char *text, size_t length, const char *name,
                          bool *given, Error *err) {
    Reader reader = {.table = table, .config = config, .name = name, .line = 1, .err = err};
    YamlNode *root;
    Status status = yaml_tree_read(text, length, name, &root, err);
    if (status != STATUS_OK) return status;
    reader.seen = calloc(table.count + 1, sizeof *reader.seen);
    if (!reader.seen) status = error_set(err, STATUS_FAILED, "%s: out of memory", name);
    else if (root->kind == YAML_MAP) status = read_map(&reader, root);
    else if (root->kind == YAML_LIST || *root->text) status = fail_here(&reader, "expected \"key: value\" lines");
    yaml_tree_free(root);
    for (size_t i = 0; reader.seen && given && i < table.count; i++) given[i] = given[i] || reader.seen[i];
    free(reader.seen);
    return status;
}

Status options_load_yaml(OptionTable table, void *config, const char *path, bool *given, Error *err) {
    char *text = NULL;
    size_t length = 0;
    Status status = file_expect_text(path, "a config in YAML", err);
    if (status == STATUS_OK) status = file_read_all(path, MAX_FILE, &text, &length, err);
    if (status == STATUS_OK) status = options_parse_yaml(table, config, text, length, path, given, err);
    free(text);
    return status;
}

// ---- writing

static void write_option(const Option *option, const void *config, bool comments, size_t base, int indent, FILE *out) {
    char value[2 * OPTION_VALUE_SIZE];
    options_format(option, config, value, sizeof value);
    fprintf(out, "%*s%s: %s", indent, "", option->key + base, value);
    bool unit = option->unit && *option->unit;
    if (comments)
        fprintf(out, "  # %s%s%s%s", option->help, unit ? " (" : "", unit ? option->unit : "", unit ? ")" : "");
    fputc('\n', out);
}

// All options whose key begins with the first `base` characters of `section`, in the table's order; a section below
// stands where its first option is.
static void write_section(OptionTable table, const void *config, bool comments, const char *section, size_t base,
                          int indent, FILE *out) {
    for (size_t i = 0; i < table.count; i++) {
        const Option *option = &table.options[i];
        if (strncmp(option->key, section, base) != 0) continue;
        const char *dot = strchr(option->key + base, '.');
        if (!dot) {
            write_option(option, config, comments, base, indent, out);
            continue;
        }
        char below[KEY_SIZE];
        size_t length = (size_t)(dot - option->key);
        snprintf(below, sizeof below, "%.*s", (int)length, option->key);
        if (section_find(table, below) != option) continue; // written with the section's first option
        fprintf(out, "%*s%s:\n", indent, "", below + base);
        write_section(table, config, comments, option->key, length + 1, indent + 2, out);
    }
}

Status options_write_yaml(OptionTable table, const void *config, bool comments, FILE *out) {
    write_section(table, config, comments, "", 0, 0, out);
    return ferror(out) ? error_set(NULL, STATUS_FAILED, "write failed") : STATUS_OK;
}

char *options_to_yaml(OptionTable table, const void *config) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    Status status = options_write_yaml(table, config, false, out);
    if (fclose(out) == 0 && status == STATUS_OK) return text;
    free(text);
    return NULL;
}
