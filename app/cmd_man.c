// SPDX-License-Identifier: Apache-2.0
// `vpd man`: manual pages, from the tables of commands, flags and options: vpd(1), and one per command,
// vpd-data-check(1).
#include "app/commands.h"
#include "base/file.h"
#include "base/version.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Flag flags[] = {
    {.name = "output", .value = "FOLDER", .help = "write all pages there: vpd.1, vpd-train.1, ..", .letter = 'o'},
    {0},
};

// Text for troff: no backslash, hyphen or leading dot is taken for a command.
static void put(FILE *out, const char *text) {
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    for (; *text; text++) {
        if (*text == '\\') fputs("\\e", out);
        else if (*text == '-') fputs("\\-", out);
        else putc(*text, out);
        if (*text == '\n' && (text[1] == '.' || text[1] == '\'')) fputs("\\&", out);
    }
}

static void put_line(FILE *out, const char *text) {
    put(out, text);
    putc('\n', out);
}

static void put_flag(FILE *out, const Flag *flag) {
    fputs(".TP\n.B ", out);
    if (flag->letter) fprintf(out, "\\-%c, ", flag->letter);
    fputs("\\-\\-", out);
    put(out, flag->name);
    if (flag->value) fprintf(out, "%s%s", flag->optional ? "" : " ", flag->value);
    putc('\n', out);
    put_line(out, flag->help);
}

static void put_options(FILE *out, OptionTable table) {
    fprintf(out, ".SH OPTIONS\nIn a YAML file, or as \\-\\-set key=value.\n");
    for (size_t i = 0; i < table.count; i++) {
        const Option *option = &table.options[i];
        fputs(".TP\n.B ", out);
        put(out, option->key);
        if (option->choices) fprintf(out, " (%s)", option->choices);
        putc('\n', out);
        put(out, option->help);
        if (option->unit && *option->unit) fprintf(out, " In %s.", option->unit);
        fputs(" Default: ", out);
        put(out, options_default_words(table, option));
        fputs(".\n", out);
    }
}

// "data check" as "data-check", behind "vpd-".
static void page_name(const Command *command, char out[64]) {
    snprintf(out, 64, "vpd-%s", command->name);
    for (char *c = out; *c; c++)
        if (*c == ' ') *c = '-';
}

static void put_command_page(FILE *out, const Command *command) {
    char name[64];
    page_name(command, name);
    fprintf(out, ".TH \"%s\" 1 \"\" \"vpd %s\" \"User Commands\"\n.SH NAME\n", name, version_number());
    put(out, name);
    fputs(" \\- ", out);
    put_line(out, command->summary);
    fprintf(out, ".SH SYNOPSIS\n.B vpd %s\n%s%s[flags]\n.SH FLAGS\n", command->name, command->arguments,
            *command->arguments ? " " : "");
    for (const Flag *flag = command->flags; flag && flag->name; flag++) put_flag(out, flag);
    for (const Flag *flag = command_common_flags; flag->name; flag++) put_flag(out, flag);
    if (command->details) {
        fputs(".SH DESCRIPTION\n", out);
        put_line(out, command->details);
    }
    if (command->options) put_options(out, command->options());
    fputs(".SH SEE ALSO\n.BR vpd (1)\n", out);
}

static void put_program_page(FILE *out) {
    fprintf(out, ".TH VPD 1 \"\" \"vpd %s\" \"User Commands\"\n.SH NAME\n", version_number());
    fputs("vpd \\- learn a 3D particle simulator from multi\\-view RGB\\-D video\n.SH SYNOPSIS\n.B vpd\nCOMMAND "
          "[arguments] [flags]\n",
          out);
    fputs(".SH COMMANDS\nEvery command also takes \\-\\-threads N, \\-\\-quiet and \\-\\-help.\n", out);
    for (const Command *const *c = commands; *c; c++) {
        char name[64];
        page_name(*c, name);
        fprintf(out, ".TP\n.B vpd %s", (*c)->name);
        if (*(*c)->arguments) fprintf(out, " %s", (*c)->arguments);
        putc('\n', out);
        put(out, (*c)->summary);
        fputs(":\n.BR ", out);
        put(out, name);
        fputs(" (1)\n", out);
    }
    fputs(".SH EXIT STATUS\n0: done. 1: failed or stopped by a signal. 2: wrong input or usage.\n"
          ".SH ENVIRONMENT\n.TP\n.B VPD_THREADS\nprocessors to use, unless \\-\\-threads is given\n.TP\n.B VPD_ISA\n"
          "base, avx2 or avx512: the instruction set of the CPU code\n.TP\n.B NO_COLOR\nno colour in messages\n",
          out);
}

// `context` is the command; NULL: the program.
static bool put_page(FILE *file, void *context) {
    if (context) put_command_page(file, context);
    else put_program_page(file);
    return true;
}

static Status write_pages(const char *folder, Error *err) {
    char path[FILE_PATH_SIZE], name[80], stem[64];
    Status status = file_make_folders(folder, err);
    if (status == STATUS_OK) status = file_join(path, sizeof path, folder, "vpd.1", err);
    if (status == STATUS_OK) status = file_write_stream(path, put_page, NULL, err);
    for (const Command *const *c = commands; *c && status == STATUS_OK; c++) {
        page_name(*c, stem);
        snprintf(name, sizeof name, "%s.1", stem);
        status = file_join(path, sizeof path, folder, name, err);
        if (status == STATUS_OK) status = file_write_stream(path, put_page, (void *)*c, err); // only read
    }
    return status;
}

// As a page where somebody reads it on a terminal; else, and without the program man, the source.
static void show_page(const Command *command) {
    const bool read = isatty(STDOUT_FILENO) && system("command -v man >/dev/null") == 0;
    FILE *viewer = read ? popen("man -l -", "w") : NULL;
    put_page(viewer ? viewer : stdout, (void *)command); // only read
    if (viewer) pclose(viewer);
}

static Status run_man(const CommandLine *line, Error *err) {
    const char *folder = command_text(line, "output", NULL);
    const Command *command = NULL;
    int used = 0;
    if (folder && line->argument_count > 0)
        return error_set(err, STATUS_BAD_INPUT, "--output writes all pages; give it without \"%.100s\"",
                         command_argument(line, 0));
    if (folder) return write_pages(folder, err);
    char *words[2] = {(char *)command_argument(line, 0), (char *)command_argument(line, 1)}; // only read
    Status status =
        line->argument_count > 0 ? commands_find(line->argument_count, words, &command, &used, err) : STATUS_OK;
    if (status == STATUS_OK) show_page(command);
    return status;
}

const Command command_man = {
    .name = "man",
    .summary = "show the manual page of the program or of a command",
    .arguments = "[COMMAND]",
    .max_arguments = 2,
    .flags = flags,
    .details = "Without a command it is the program's. On a terminal the program man shows it; elsewhere its source is "
               "printed.",
    .run = run_man,
};
