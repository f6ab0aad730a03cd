// SPDX-License-Identifier: Apache-2.0
// Arguments in YAML maps, read by tables into structures: for lists of edits and scenes of the simulator. Errors name
// file and line, and for an unknown key the nearest known one.
#ifndef VPD_BASE_ARGUMENTS_H
#define VPD_BASE_ARGUMENTS_H

#include "base/yaml.h"

enum { ARGUMENT_NAME_SIZE = 128, ARGUMENT_PATH_SIZE = 4096 };

// Source of a document, for relative paths and messages.
typedef struct ArgumentReader {
    const char *name, *folder;
    Error *err;
} ArgumentReader;

typedef enum ArgumentType {
    ARG_NUMBER,  // double
    ARG_NUMBERS, // double[numbers]
    ARG_WHOLE,   // long
    ARG_WHOLES,  // int[numbers]
    ARG_NAME,    // char[ARGUMENT_NAME_SIZE]
    ARG_PATH,    // char[ARGUMENT_PATH_SIZE], absolute or beside the document
    ARG_YES,     // bool
    ARG_WORD,    // int, index into `words`
    ARG_OTHER    // whatever `read` makes of it
} ArgumentType;

typedef Status ArgumentRead(const ArgumentReader *reader, const YamlNode *node, void *field);

typedef struct Argument {
    const char *key;
    ArgumentType type;
    size_t offset;     // of the field in its structure
    double min, max;   // bounds of every number
    int numbers;       // how many, for ARG_NUMBERS and ARG_WHOLES
    const char *words; // of ARG_WORD: "a|b"
    size_t given;      // offset of a bool that is set if the argument is given; 0: none
    bool required;
    ArgumentRead *read; // of ARG_OTHER
} Argument;

// A table of arguments and the structure that holds their fields.
typedef struct ArgumentGroup {
    const Argument *table;
    size_t count;
    void *fields;
} ArgumentGroup;

// Keys beside those of the tables.
typedef struct ArgumentRest {
    const char *what; // "key or selection", for messages
    const char *const *words;
    size_t count;
    ArgumentRead *read; // gets `context` as its field
    void *context;
} ArgumentRest;

// Reads every entry of a map; `rest` may be NULL. A missing required argument is an error.
Status arguments_read(const ArgumentReader *reader, const YamlNode *map, const ArgumentGroup *groups, size_t count,
                      const ArgumentRest *rest);

// An ArgumentRead that keeps the node itself, a const YamlNode *, for later.
Status argument_keep(const ArgumentReader *reader, const YamlNode *node, void *field);

// Error "scene.yaml:3: text".
Status argument_error(const ArgumentReader *reader, const YamlNode *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Error "scene.yaml:3: KEY: expected EXPECTED, found ..".
Status argument_wrong(const ArgumentReader *reader, const YamlNode *node, const char *expected);
// Error "unknown WHAT "remov"; did you mean "remove"?", for the node's key.
Status argument_unknown(const ArgumentReader *reader, const YamlNode *node, const char *what, const char *const *words,
                        size_t count);

#endif
