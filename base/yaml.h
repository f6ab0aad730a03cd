// SPDX-License-Identifier: Apache-2.0
// A YAML document as a tree of texts, lists and maps: the only reader of YAML, for options and for lists of edits. Data
// only: anchors, aliases, tags and keys given twice are errors that name file and line; so is text that does not fit on
// one line (base/text.h). Names begin with yaml_tree, since libyaml has a yaml_free of its own.
#ifndef VPD_BASE_YAML_H
#define VPD_BASE_YAML_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum YamlKind { YAML_TEXT, YAML_LIST, YAML_MAP } YamlKind;

typedef struct YamlNode {
    YamlKind kind;
    size_t line;                   // where it stands, from 1
    char *key;                     // in a map; else NULL
    char *text;                    // YAML_TEXT; empty where nothing stands
    bool quoted;                   // the text stood in quotes
    size_t start, end;             // YAML_TEXT: the bytes of the document that hold it
    size_t key_start;              // byte of the document where the key begins
    bool flow;                     // a list or map in brackets
    struct YamlNode *child, *next; // first entry of a list or map; the entry after this one
    size_t count;                  // entries
} YamlNode;

enum { YAML_DEPTH_MAX = 24, YAML_NODES_MAX = 1 << 18 };

// The only document of `text`; an empty one is an empty text. `name` is for messages.
Status yaml_tree_read(const char *text, size_t length, const char *name, YamlNode **out, Error *err);
void yaml_tree_free(YamlNode *root); // accepts NULL

// The entry with this key, or NULL.
const YamlNode *yaml_tree_find(const YamlNode *map, const char *key);
// A decimal, finite number; "1e-3" is one, "nan" and "0x1" are not.
bool yaml_tree_number(const YamlNode *node, double *out);

// The node as it may stand on one line, "{label: 2, by: [0, 0, 1]}", malloc'ed; without its own key. NULL without
// memory. Reading it gives the same tree.
char *yaml_tree_flow(const YamlNode *node);

#endif
