// SPDX-License-Identifier: Apache-2.0
// Shared by the readers of YAML, for base/*.c only.
#ifndef VPD_BASE_YAML_EVENT_H
#define VPD_BASE_YAML_EVENT_H

#include "base/error.h"

#include <stddef.h>
#include <yaml.h>

// The next event, which the caller deletes (also after an error, which leaves it empty). *line follows it, from 1.
// Invalid YAML is an error; *refused becomes NULL, or the reason why the event is not allowed in data: a tag, an anchor
// or an alias.
Status yaml_event_next(yaml_parser_t *parser, const char *name, size_t *line, yaml_event_t *event, const char **refused,
                       Error *err);
// The scalar's text, or NULL when it holds a NUL byte.
const char *yaml_event_text(const yaml_event_t *event);

#endif
