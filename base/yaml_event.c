// SPDX-License-Identifier: Apache-2.0
#include "base/yaml_event.h"

#include <string.h>

static Status parser_error(const yaml_parser_t *parser, const char *name, size_t line, Error *err) {
    if (parser->error == YAML_MEMORY_ERROR) return error_set(err, STATUS_FAILED, "%s: out of memory", name);
    if (parser->error != YAML_READER_ERROR) line = parser->problem_mark.line + 1;
    return error_set(err, STATUS_BAD_INPUT, "%s:%zu: not valid YAML: %s", name, line,
                     parser->problem ? parser->problem : "unknown problem");
}

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

Status yaml_event_next(yaml_parser_t *parser, const char *name, size_t *line, yaml_event_t *event, const char **refused,
                       Error *err) {
    *event = (yaml_event_t){0};
    *refused = NULL;
    if (!yaml_parser_parse(parser, event)) return parser_error(parser, name, *line, err);
    *line = event->start_mark.line + 1;
    *refused = refused_part(event);
    return STATUS_OK;
}

const char *yaml_event_text(const yaml_event_t *event) {
    const char *text = (const char *)event->data.scalar.value;
    return strlen(text) == event->data.scalar.length ? text : NULL;
}
