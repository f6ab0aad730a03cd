// SPDX-License-Identifier: Apache-2.0
#include "base/yaml.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

enum { KEYS_MAX = 256, KEY_LENGTH_MAX = 64 }; // each new key is held against all before it

typedef struct Reader {
    yaml_parser_t parser;
    const char *name;
    const char *text;
    size_t length, line, nodes;
    size_t characters, bytes;             // the place up to which characters were counted
    const char *keys[YAML_DEPTH_MAX + 1]; // of the maps around the place being read; NULL: an entry of a list
    Error *err;
} Reader;

static Status fail_here(const Reader *reader, const char *what) {
    return error_set(reader->err, STATUS_BAD_INPUT, "%s:%zu: %s", reader->name, reader->line, what);
}

void yaml_tree_free(YamlNode *root) {
    while (root) {
        YamlNode *next = root->next;
        yaml_tree_free(root->child);
        free(root->key);
        free(root->text);
        free(root);
        root = next;
    }
}

static Status parser_error(const Reader *reader) {
    const yaml_parser_t *parser = &reader->parser;
    if (parser->error == YAML_MEMORY_ERROR) return error_no_memory(reader->err, "%s", reader->name);
    size_t line = parser->error == YAML_READER_ERROR ? reader->line : parser->problem_mark.line + 1;
    return error_set(reader->err, STATUS_BAD_INPUT, "%s:%zu: not valid YAML: %s", reader->name, line,
                     parser->problem ? parser->problem : "unknown problem");
}

// Why the event is not allowed in data, or NULL.
static const char *refused_part(const yaml_event_t *event) {
    const yaml_char_t *tag = NULL, *anchor = NULL;
    switch (event->type) {
    case YAML_ALIAS_EVENT: anchor = event->data.alias.anchor; break;
    case YAML_SCALAR_EVENT: tag = event->data.scalar.tag, anchor = event->data.scalar.anchor; break;
    case YAML_SEQUENCE_START_EVENT:
        tag = event->data.sequence_start.tag, anchor = event->data.sequence_start.anchor;
        break;
    case YAML_MAPPING_START_EVENT:
        tag = event->data.mapping_start.tag, anchor = event->data.mapping_start.anchor;
        break;
    default: break;
    }
    return tag ? "tags (!) are not allowed" : anchor ? "anchors (&) and aliases (*) are not allowed" : NULL;
}

// The next event, which the caller deletes; after an error there is none.
static Status next_event(Reader *reader, yaml_event_t *event) {
    *event = (yaml_event_t){0};
    if (!yaml_parser_parse(&reader->parser, event)) return parser_error(reader);
    reader->line = event->start_mark.line + 1;
    const char *refused = refused_part(event);
    if (!refused) return STATUS_OK;
    yaml_event_delete(event);
    return fail_here(reader, refused);
}

static Status copy_text(const Reader *reader, const yaml_event_t *event, char **out) {
    const char *text = (const char *)event->data.scalar.value;
    if (strlen(text) != event->data.scalar.length || !text_is_plain(text))
        return fail_here(reader, "a text holds a control character or a line end");
    *out = strdup(text);
    return *out ? STATUS_OK : error_no_memory(reader->err, "%s", reader->name);
}

static Status read_entries(Reader *reader, YamlNode *parent, int depth);

// libyaml counts characters, and never backwards here.
static size_t byte_of(Reader *reader, size_t character) {
    while (reader->characters < character && reader->bytes < reader->length) {
        reader->bytes++;
        while (reader->bytes < reader->length && ((unsigned char)reader->text[reader->bytes] & 0xC0) == 0x80)
            reader->bytes++;
        reader->characters++;
    }
    return reader->bytes;
}

// The node that begins with `event`.
static Status read_node(Reader *reader, const yaml_event_t *event, int depth, YamlNode **out) {
    if (depth > YAML_DEPTH_MAX) return fail_here(reader, "lists and maps are nested too deeply");
    if (++reader->nodes > YAML_NODES_MAX) return fail_here(reader, "the document has too many entries");
    YamlNode *node = *out = calloc(1, sizeof *node);
    if (!node) return error_no_memory(reader->err, "%s", reader->name);
    node->line = reader->line;
    if (event->type == YAML_SCALAR_EVENT) {
        node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        node->start = byte_of(reader, event->start_mark.index);
        node->end = byte_of(reader, event->end_mark.index);
        return copy_text(reader, event, &node->text);
    }
    node->kind = event->type == YAML_SEQUENCE_START_EVENT ? YAML_LIST : YAML_MAP;
    node->flow = node->kind == YAML_LIST ? event->data.sequence_start.style == YAML_FLOW_SEQUENCE_STYLE
                                         : event->data.mapping_start.style == YAML_FLOW_MAPPING_STYLE;
    return read_entries(reader, node, depth);
}

static Status given_twice(const Reader *reader, int depth) {
    char path[256] = "";
    size_t used = 0;
    for (int i = 0; i <= depth; i++)
        if (reader->keys[i] && used < sizeof path)
            used += (size_t)snprintf(path + used, sizeof path - used, "%s%s", used ? "." : "", reader->keys[i]);
    return error_set(reader->err, STATUS_BAD_INPUT, "%s:%zu: %s: given twice", reader->name, reader->line, path);
}

// One entry of a list, or one pair of a map that begins with its key.
static Status read_entry(Reader *reader, const yaml_event_t *event, const YamlNode *parent, int depth, YamlNode **out) {
    yaml_event_t value;
    char *key = NULL;
    if (parent->kind == YAML_LIST) return read_node(reader, event, depth + 1, out);
    if (event->type != YAML_SCALAR_EVENT) return fail_here(reader, "expected a key");
    if (parent->count >= KEYS_MAX) return fail_here(reader, "a map has too many keys");
    const size_t start = byte_of(reader, event->start_mark.index);
    Status status = copy_text(reader, event, &key);
    if (status == STATUS_OK && strlen(key) > KEY_LENGTH_MAX) status = fail_here(reader, "a key is too long");
    reader->keys[depth] = key;
    if (status == STATUS_OK && yaml_tree_find(parent, key)) status = given_twice(reader, depth);
    if (status == STATUS_OK) status = next_event(reader, &value);
    if (status == STATUS_OK) {
        status = read_node(reader, &value, depth + 1, out);
        yaml_event_delete(&value);
    }
    reader->keys[depth] = NULL;
    if (status == STATUS_OK) (*out)->key = key, (*out)->key_start = start;
    else free(key);
    return status;
}

// From after the start of a list or map to its end. After an error the tree holds what was read before.
static Status read_entries(Reader *reader, YamlNode *parent, int depth) {
    YamlNode **tail = &parent->child;
    for (;;) {
        yaml_event_t event;
        Status status = next_event(reader, &event);
        if (status != STATUS_OK) return status;
        bool end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;
        if (!end) status = read_entry(reader, &event, parent, depth, tail);
        yaml_event_delete(&event);
        if (status != STATUS_OK || end) return status;
        tail = &(*tail)->next;
        parent->count++;
    }
}

static Status read_stream(Reader *reader, YamlNode **out) {
    for (;;) {
        yaml_event_t event;
        Status status = next_event(reader, &event);
        if (status != STATUS_OK) return status;
        bool content = event.type == YAML_SCALAR_EVENT || event.type == YAML_SEQUENCE_START_EVENT ||
                       event.type == YAML_MAPPING_START_EVENT;
        bool end = event.type == YAML_STREAM_END_EVENT;
        if (content && *out) status = fail_here(reader, "expected one YAML document, found more");
        else if (content) status = read_node(reader, &event, 0, out);
        yaml_event_delete(&event);
        if (status != STATUS_OK || end) return status;
    }
}

Status yaml_tree_read(const char *text, size_t length, const char *name, YamlNode **out, Error *err) {
    Reader reader = {.name = name, .text = text, .length = length, .line = 1, .err = err};
    *out = NULL;
    if (!yaml_parser_initialize(&reader.parser)) return error_no_memory(reader.err, "%s", reader.name);
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, length);
    yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
    Status status = read_stream(&reader, out);
    if (status == STATUS_OK && !*out) {
        *out = calloc(1, sizeof **out);
        if (*out) (*out)->text = strdup("");
        if (!*out || !(*out)->text) status = error_no_memory(reader.err, "%s", reader.name);
        else (*out)->line = 1;
    }
    yaml_parser_delete(&reader.parser);
    if (status == STATUS_OK) return STATUS_OK;
    yaml_tree_free(*out);
    *out = NULL;
    return status;
}

const YamlNode *yaml_tree_find(const YamlNode *map, const char *key) {
    const YamlNode *node = map->kind == YAML_MAP ? map->child : NULL;
    while (node && (!node->key || strcmp(node->key, key) != 0)) node = node->next;
    return node;
}

bool yaml_tree_number(const YamlNode *node, double *out) {
    return node->kind == YAML_TEXT && text_number(node->text, out);
}

// ---- writing

// Quoted where it could be read as something else.
static void put_text(FILE *out, const char *text, bool quoted) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+";
    bool dashed = *text == '-' && text[1] >= '0' && text[1] <= '9';
    size_t first = dashed ? 1 : 0, length = strlen(text);
    size_t span = strspn(text + first, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-");
    if (!quoted && length > 0 && first + span == length && strchr(plain, text[first])) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void put_node(FILE *out, const YamlNode *node) {
    if (node->kind == YAML_TEXT) {
        put_text(out, node->text, node->quoted);
        return;
    }
    fputc(node->kind == YAML_MAP ? '{' : '[', out);
    for (const YamlNode *entry = node->child; entry; entry = entry->next) {
        if (entry->key) {
            put_text(out, entry->key, false);
            fputs(": ", out);
        }
        put_node(out, entry);
        if (entry->next) fputs(", ", out);
    }
    fputc(node->kind == YAML_MAP ? '}' : ']', out);
}

char *yaml_tree_flow(const YamlNode *node) {
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    put_node(out, node);
    bool good = !ferror(out);
    if (fclose(out) == 0 && good) return text;
    free(text);
    return NULL;
}
