// SPDX-License-Identifier: Apache-2.0
// `vpd man`: the manual page, from the tables of commands, flags and options. `man -l <(vpd man)` shows it.
#include "app/commands.h"
#include "base/version.h"

#include <string.h>

// Text for troff: no backslash, hyphen or leading dot is taken for a command.
static void put(const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\') fputs("\\e", stdout);
        else if (*text == '-') fputs("\\-", stdout);
        else putchar(*text);
        if (*text == '\n' && (text[1] == '.' || text[1] == '\'')) fputs("\\&", stdout);
    }
}

static void put_line(const char *macro, const char *text) {
    if (macro) printf("%s ", macro);
    put(text);
    putchar('\n');
}

static void put_flag(const Flag *flag) {
    puts(".TP");
    printf(".B ");
    if (flag->letter) printf("\\-%c, ", flag->letter);
    fputs("\\-\\-", stdout);
    put(flag->name);
    if (flag->value) printf(" %s", flag->value);
    putchar('\n');
    put_line(NULL, flag->help);
}

static void put_command(const Command *command) {
    printf(".SS vpd ");
    put(command->name);
    if (*command->arguments) printf(" %s", command->arguments);
    puts(" [flags]");
    put_line(NULL, command->summary);
    for (const Flag *flag = command->flags; flag && flag->name; flag++) put_flag(flag);
    if (!command->details) return;
    puts(".PP");
    put_line(NULL, command->details);
}

static void put_options(const Command *command) {
    OptionTable table = command->options();
    printf(".SH OPTIONS OF ");
    put(command->name);
    printf("\nIn a YAML file, or as \\-\\-set key=value.\n");
    for (size_t i = 0; i < table.count; i++) {
        const Option *option = &table.options[i];
        printf(".TP\n.B ");
        put(option->key);
        if (option->choices) printf(" (%s)", option->choices);
        putchar('\n');
        put(option->help);
        if (option->unit && *option->unit) printf(" In %s.", option->unit);
        printf(" Default: ");
        put(*option->default_text ? option->default_text : "empty");
        puts(".");
    }
}

static Status run_man(const CommandLine *line, Error *err) {
    (void)line;
    (void)err;
    printf(".TH VPD 1 \"\" \"vpd %s\" \"User Commands\"\n.SH NAME\n", version_number());
    puts("vpd \\- learn a 3D particle simulator from multi\\-view RGB\\-D video\n.SH SYNOPSIS\n.B vpd\nCOMMAND "
         "[arguments] [flags]");
    puts(".SH COMMANDS\nEvery command also takes \\-\\-threads N, \\-\\-quiet and \\-\\-help.");
    for (const Command *const *c = commands; *c; c++) put_command(*c);
    OptionTable (*shown)(void) = NULL; // commands that share a table show it once
    for (const Command *const *c = commands; *c; c++) {
        if (!(*c)->options || (*c)->options == shown) continue;
        shown = (*c)->options;
        put_options(*c);
    }
    puts(".SH EXIT STATUS\n0: done. 1: failed or stopped by a signal. 2: wrong input or usage.");
    puts(".SH ENVIRONMENT\n.TP\n.B VPD_THREADS\nprocessors to use, unless \\-\\-threads is given\n.TP\n.B VPD_ISA\n"
         "base, avx2 or avx512: the instruction set of the CPU code\n.TP\n.B NO_COLOR\nno colour in messages");
    return STATUS_OK;
}

const Command command_man = {
    .name = "man",
    .summary = "print the manual page",
    .arguments = "",
    .run = run_man,
};
