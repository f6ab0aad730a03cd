// SPDX-License-Identifier: Apache-2.0
// One table describes every option: key, type, range, unit, default, help. The YAML file, --set key=value, --help, the
// man page, shell completion and the resolved config written beside a run all come from it.
#ifndef VPD_BASE_OPTIONS_H
#define VPD_BASE_OPTIONS_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { OPTION_TEXT_SIZE = 256, OPTION_LIST_SIZE = 16 };

typedef struct IntList {
    int count, v[OPTION_LIST_SIZE];
} IntList;

static inline bool int_list_has(const IntList *list, int value) {
    for (int i = 0; i < list->count; i++)
        if (list->v[i] == value) return true;
    return false;
}

typedef struct RealList {
    int count;
    double v[OPTION_LIST_SIZE];
} RealList;

typedef enum OptionType {
    OPTION_BOOL,     // bool; YAML true|false|yes|no|on|off
    OPTION_INT,      // long
    OPTION_REAL,     // double
    OPTION_TEXT,     // char[OPTION_TEXT_SIZE]
    OPTION_ENUM,     // int, index into `choices`
    OPTION_INT_LIST, // IntList; YAML [1, 2], command line 1,2
    OPTION_REAL_LIST // RealList
} OptionType;

typedef struct Option {
    const char *key; // dotted: "train.steps"
    OptionType type;
    size_t offset;            // of the field in the config struct
    double min, max;          // of every number; ignored for other types
    const char *unit;         // "m", "steps", "" ...
    const char *default_text; // as it would be written in YAML
    const char *choices;      // OPTION_ENUM: "mean|learned|direction"
    const char *help;         // one sentence
} Option;

// An option that is gone, which older files and command lines may still name.
typedef struct OptionOld {
    const char *key;
    const char *values; // those that are accepted, "auto|random": they say what holds today; NULL: any
    const char *reason; // for the error that another value gets
} OptionOld;

// A default that follows from other options, in the words that help has for it.
typedef struct OptionDefault {
    const char *key, *words;
} OptionDefault;

typedef struct OptionTable {
    const Option *options;
    size_t count;
    const OptionOld *old;           // ended by a key of NULL; NULL: none
    const OptionDefault *otherwise; // the same
} OptionTable;

// Fills the whole config from the defaults of the table.
void options_defaults(OptionTable table, void *config);

// An unknown key names the nearest known one; a value out of range names the range and what was found; an option that
// is gone is accepted with a value that holds today, and the error for another one says what replaced it.
Status options_set(OptionTable table, void *config, const char *key, const char *value, Error *err);

// "key=value", as given to --set.
Status options_set_pair(OptionTable table, void *config, const char *pair, Error *err);

// Reads a YAML file of nested maps (train: {steps: 3}) or dotted keys. Data only: anchors, aliases, tags and
// duplicate keys are errors; errors name file, line and key. given: NULL, or (table.count), set to true where the text
// names the option.
Status options_load_yaml(OptionTable table, void *config, const char *path, bool *given, Error *err);
Status options_parse_yaml(OptionTable table, void *config, const char *text, size_t length, const char *name,
                          bool *given, Error *err);

// Writes the resolved config as YAML, grouped by section, with help and unit as comments when `comments`.
Status options_write_yaml(OptionTable table, const void *config, bool comments, FILE *out);
// The same without comments into a malloc'ed string (for checkpoints); NULL when there is no memory.
char *options_to_yaml(OptionTable table, const void *config);

// One option as text in YAML form; false when it does not fit.
bool options_format(const Option *option, const void *config, char *out, size_t size);

// Appends each option whose value differs between a and b ("model.C: 64 in the checkpoint, 128 here; ...") to `out`;
// returns how many differ. Only keys that begin with `prefix` are compared.
size_t options_diff(OptionTable table, const void *a, const char *name_a, const void *b, const char *name_b,
                    const char *prefix, char *out, size_t size);

// The default as help tells it: "empty" where it is no text.
const char *options_default_words(OptionTable table, const Option *option);
// keys: NULL, or those alone, NULL-terminated and in the table's order.
void options_print_help(OptionTable table, const char *const *keys, FILE *out);
// The known word nearest to `word` by edit distance, or NULL when none is near; also used for subcommands.
const char *options_nearest_word(const char *word, const char *const *words, size_t count);

#endif
