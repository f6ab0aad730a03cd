// SPDX-License-Identifier: Apache-2.0
// Options from YAML by libyaml's events, and back. Only maps, scalars and flat lists are let through.
#include "base/options_internal.h"

#include "base/file.h"
#include "base/file_kind.h"
#include "base/yaml_event.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FILE = 1 << 20, MAX_DEPTH = 6, KEY_SIZE = 256, VALUE_SEEN = 1 << 7 };

typedef struct Reader {
    OptionTable table;
    void *config;
    const char *name; // of the file, for errors
    yaml_parser_t parser;
    unsigned char
        *seen; // per option: VALUE_SEEN, and bit d on the first option of a section of depth d once it was opened
    char path[KEY_SIZE]; // dotted key at the place being read
    size_t line;
    Error *err;
} Reader;

static Status fail_here(Reader *reader, const char *what) {
    return error_set(reader->err, STATUS_BAD_INPUT, "%s:%zu: %s%s%s", reader->name, reader->line, reader->path,
                     *reader->path ? ": " : "", what);
}

// The next event, which the caller deletes; a tag, anchor or alias is an error.
static Status next_event(Reader *reader, yaml_event_t *event) {
    const char *refused;
    Status status = yaml_event_next(&reader->parser, reader->name, &reader->line, event, &refused, reader->err);
    if (status != STATUS_OK || !refused) return status;
    yaml_event_delete(event);
    return fail_here(reader, refused);
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

static Status mark_seen(Reader *reader, const Option *option, unsigned char bit) {
    unsigned char *seen = &reader->seen[option - reader->table.options];
    if (*seen & bit) return fail_here(reader, "given twice");
    *seen |= bit;
    return STATUS_OK;
}

static Status set_value(Reader *reader, const char *value) {
    const Option *option = option_find(reader->table, reader->path);
    Status status = STATUS_OK;
    if (!option && section_find(reader->table, reader->path))
        return *value ? fail_here(reader, "is a section, expected keys below it") : STATUS_OK;
    if (option) status = mark_seen(reader, option, VALUE_SEEN);
    if (status != STATUS_OK) return status;
    status = options_set(reader->table, reader->config, reader->path, value, reader->err);
    return status == STATUS_OK ? status : error_prefix(reader->err, "%s:%zu", reader->name, reader->line);
}

// Appends one item of a list to `text`.
static Status append_item(Reader *reader, const yaml_event_t *event, char *text, size_t size) {
    const char *item = event->type == YAML_SCALAR_EVENT ? yaml_event_text(event) : NULL;
    size_t used = strlen(text);
    if (!item || !*item || item[strcspn(item, ",[]")]) return fail_here(reader, "expected a flat list of numbers");
    if (used + strlen(item) + 2 > size) return fail_here(reader, "the list is too long");
    snprintf(text + used, size - used, "%s%s", used ? "," : "", item);
    return STATUS_OK;
}

static Status read_list(Reader *reader) {
    char text[OPTION_VALUE_SIZE] = "";
    yaml_event_t event;
    const Option *option = option_find(reader->table, reader->path);
    if (option && !option_is_list(option)) return fail_here(reader, "expected a single value, found a list");
    for (;;) {
        Status status = next_event(reader, &event);
        bool end = event.type == YAML_SEQUENCE_END_EVENT;
        if (status == STATUS_OK && !end) status = append_item(reader, &event, text, sizeof text);
        yaml_event_delete(&event);
        if (status != STATUS_OK) return status;
        if (end) return set_value(reader, *text ? text : "[]");
    }
}

static Status read_map(Reader *reader, int depth);

static Status open_section(Reader *reader, int depth) {
    if (option_find(reader->table, reader->path)) return fail_here(reader, "expected a value, found a section");
    const Option *first = section_find(reader->table, reader->path);
    if (!first) { // options_set suggests the nearest name
        Status status = options_set(reader->table, reader->config, reader->path, "", reader->err);
        return status == STATUS_OK ? status : error_prefix(reader->err, "%s:%zu", reader->name, reader->line);
    }
    int dots = 0;
    for (const char *c = reader->path; *c; c++) dots += *c == '.';
    if (depth >= MAX_DEPTH || dots > MAX_DEPTH) return fail_here(reader, "sections are nested too deeply");
    Status status = mark_seen(reader, first, (unsigned char)(1 << dots));
    return status == STATUS_OK ? read_map(reader, depth + 1) : status;
}

static Status read_value(Reader *reader, int depth) {
    yaml_event_t event;
    Status status = next_event(reader, &event);
    if (status != STATUS_OK) return status;
    const char *text = event.type == YAML_SCALAR_EVENT ? yaml_event_text(&event) : NULL;
    if (event.type == YAML_SEQUENCE_START_EVENT) status = read_list(reader);
    else if (event.type == YAML_MAPPING_START_EVENT) status = open_section(reader, depth);
    else status = text ? set_value(reader, text) : fail_here(reader, "the value holds a NUL character");
    yaml_event_delete(&event);
    return status;
}

// Puts the key behind the path of its section.
static Status enter_key(Reader *reader, const yaml_event_t *event, size_t base) {
    const char *key = event->type == YAML_SCALAR_EVENT ? yaml_event_text(event) : NULL;
    if (!key || !*key) return fail_here(reader, "expected a key");
    int n = snprintf(reader->path + base, KEY_SIZE - base, "%s%s", base ? "." : "", key);
    if (n < (int)(KEY_SIZE - base)) return STATUS_OK;
    reader->path[base] = 0;
    return fail_here(reader, "a key is too long");
}

// From after the map's start to its end.
static Status read_map(Reader *reader, int depth) {
    size_t base = strlen(reader->path);
    for (;;) {
        yaml_event_t event;
        Status status = next_event(reader, &event);
        bool end = event.type == YAML_MAPPING_END_EVENT;
        if (status == STATUS_OK && !end) status = enter_key(reader, &event, base);
        yaml_event_delete(&event);
        if (status != STATUS_OK || end) return status;
        status = read_value(reader, depth);
        if (status != STATUS_OK) return status;
        reader->path[base] = 0;
    }
}

// The stream: nothing, or one document that is a map (or empty).
static Status read_stream(Reader *reader) {
    bool found = false;
    for (;;) {
        yaml_event_t event;
        Status status = next_event(reader, &event);
        yaml_event_type_t type = event.type;
        bool empty = type == YAML_SCALAR_EVENT && event.data.scalar.length == 0;
        yaml_event_delete(&event);
        if (status != STATUS_OK || type == YAML_STREAM_END_EVENT) return status;
        if (type == YAML_DOCUMENT_START_EVENT && found)
            return fail_here(reader, "expected one YAML document, found more");
        found = found || type == YAML_DOCUMENT_START_EVENT;
        if (type == YAML_MAPPING_START_EVENT) status = read_map(reader, 0);
        else if (type == YAML_SEQUENCE_START_EVENT || (type == YAML_SCALAR_EVENT && !empty))
            status = fail_here(reader, "expected \"key: value\" lines");
        if (status != STATUS_OK) return status;
    }
}

Status options_parse_yaml(OptionTable table, void *config, const char *text, size_t length, const char *name,
                          bool *given, Error *err) {
    Reader reader = {.table = table, .config = config, .name = name, .line = 1, .err = err};
    Status status = STATUS_FAILED;
    reader.seen = calloc(table.count + 1, 1);
    if (!reader.seen || !yaml_parser_initialize(&reader.parser)) {
        free(reader.seen);
        return error_set(err, STATUS_FAILED, "%s: out of memory", name);
    }
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    status = read_stream(&reader);
    yaml_parser_delete(&reader.parser);
    for (size_t i = 0; given && i < table.count; i++) given[i] = given[i] || reader.seen[i] & VALUE_SEEN;
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

char *options_to_yaml(OptionTable table, const void *config, bool comments) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    Status status = options_write_yaml(table, config, comments, out);
    if (fclose(out) == 0 && status == STATUS_OK) return text;
    free(text);
    return NULL;
}
