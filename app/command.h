// SPDX-License-Identifier: Apache-2.0
// Subcommands and their command lines. One table of flags per command is read by the parser and by --help. To add a
// command: write app/cmd_NAME.c with one `const Command command_NAME`, and name it in app/commands.h and
// app/commands.c.
#ifndef VPD_APP_COMMAND_H
#define VPD_APP_COMMAND_H

#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "ranks/ranks.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct Flag {
    const char *name;  // "steps" for --steps
    const char *value; // what its value is called in the help, "N"; NULL for a switch
    const char *help;  // one line
    char letter;       // 'o' for -o; 0 when it has none
    bool repeated;     // may be given more than once
    bool optional;     // its value may be missing; else it stands in the same word: --name=VALUE
    // Kinds of file that the command writes there, such as "png gif" (app/output.c); NULL: it writes nothing there.
    const char *writes;
} Flag;

// For commands whose config comes from an option table.
#define FLAG_SET                                                                                                       \
    { .name = "set", .value = "KEY=VALUE", .help = "set one option (repeated)", .repeated = true }

typedef struct CommandLine CommandLine;

typedef struct Command {
    const char *name;                 // "train", or of two words: "data info"
    const char *summary;              // one line
    const char *arguments;            // "CHECKPOINT DATA"
    int min_arguments, max_arguments; // of positional arguments
    const Flag *flags;                // ends with {0}; may be NULL
    const char *details;              // shown below the flags; may be NULL
    OptionTable (*options)(void);     // listed by --help; NULL when the command has none
    bool spreads;                     // several processes divide its work (ranks/ranks.h)
    Status (*run)(const CommandLine *line, Error *err);
} Command;

// Flags that every command has; ends with {0}.
extern const Flag command_common_flags[];

typedef struct FlagValue {
    const Flag *flag;
    const char *value;
} FlagValue;

struct CommandLine {
    const Command *command;
    const char **arguments; // positional
    int argument_count;
    FlagValue *given;
    int given_count;
    double started;  // clock_now()
    int threads;     // threads in use: --threads N, else all that the machine offers
    Log log;         // messages and progress, on stderr; of rank 0 alone
    Ranks *ranks;    // the processes that divide the work; NULL: this one alone
    char device[32]; // for several processes on a machine: "cuda:1", a GPU of its own; "": as --device says
};

// ---- what a command asks for

// Positional argument i, or NULL when there are not so many.
const char *command_argument(const CommandLine *line, int i);
// Whether the flag was given (for switches).
bool command_has(const CommandLine *line, const char *flag);
// Its value, or `fallback`.
const char *command_text(const CommandLine *line, const char *flag, const char *fallback);
// Value i of a repeated flag; NULL behind the last.
const char *command_repeated(const CommandLine *line, const char *flag, int i);
// *out keeps its value when the flag was not given.
Status command_int(const CommandLine *line, const char *flag, long min, long max, long *out, Error *err);
Status command_small_int(const CommandLine *line, const char *flag, int min, int max, int *out, Error *err);
Status command_real(const CommandLine *line, const char *flag, double min, double max, double *out, Error *err);
// One of "a|b|c"; *out becomes its index, or keeps its value.
Status command_choice(const CommandLine *line, const char *flag, const char *choices, int *out, Error *err);
// Refuses those of `flags`, which ends with NULL, that were given, with "--FLAG: needs WANTED, found FOUND".
Status command_refuse(const CommandLine *line, const char *const *flags, const char *wanted, const char *found,
                      Error *err);
// A flag without which the command makes no sense.
Status command_required(const CommandLine *line, const char *flag, const char **out, Error *err);
// The error for positional argument i being one too many.
Status command_unexpected(const CommandLine *line, int i, Error *err);

// ---- used by main

// `words` follow the command's name. *wants_help: --help was given, and nothing else was checked.
Status command_parse(const Command *command, int count, char **words, CommandLine *out, bool *wants_help, Error *err);
// Joins the other processes of the job, if a launcher started some and the command spreads its work. They divide the
// processors of their machine.
Status command_join(CommandLine *line, Error *err);
void command_line_free(CommandLine *line);
// After wants_help: whether "all" was given too.
bool command_wants_all(const CommandLine *line);
// `all`: every option of the config, not the usual ones alone.
void command_print_help(const Command *command, bool all, FILE *out);

#endif
