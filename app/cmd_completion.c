// SPDX-License-Identifier: Apache-2.0
// `vpd completion`: words for bash and zsh, from the tables of commands, flags and options. `source <(vpd completion)`.
#include "app/commands.h"

#include <string.h>

// Whether the command is the first of its group: "data check" before "data info".
static bool first_of_group(const Command *const *c) {
    size_t length = strcspn((*c)->name, " ");
    return c == commands || strncmp(c[-1]->name, (*c)->name, length) != 0 || c[-1]->name[length] != ' ';
}

// ---- bash

static const char bash_program[] =
    "_vpd() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} at=$COMP_CWORD words=\n"
    "  local -a line=(\"${COMP_WORDS[@]}\")\n"
    "  if [[ ${line[1]} =~ ^(help|man)$ && $at -gt 1 && $word != -* ]]; then\n" // a command follows
    "    line=(vpd \"${line[@]:2}\"); ((at--))\n"
    "  fi\n"
    "  local name=${line[1]} pair=\"${line[1]} ${line[2]-}\"\n"
    "  COMPREPLY=()\n"
    "  [[ -n ${_vpd_flags[$pair]+x} && $at -gt 2 ]] && name=$pair\n"
    "  if [[ $at == 1 ]]; then words=$_vpd_first\n"
    "  elif [[ $before == --set ]]; then words=${_vpd_options[$name]-}; compopt -o nospace\n"
    "  elif [[ $word == -* ]]; then words=${_vpd_flags[$name]-}\n"
    "  elif [[ $at == 2 ]]; then words=${_vpd_second[$name]-}\n"
    "  fi\n"
    "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "}\n"
    "complete -o default -F _vpd vpd\n";

static void put_bash_flags(const Command *command) {
    printf("_vpd_flags['%s']='", command->name);
    for (const Flag *flag = command->flags; flag && flag->name; flag++) printf("--%s ", flag->name);
    for (const Flag *flag = command_common_flags; flag->name; flag++)
        printf("--%s%s", flag->name, flag[1].name ? " " : "'\n");
}

static void put_bash_options(const Command *command) {
    if (!command->options) return;
    OptionTable table = command->options();
    printf("_vpd_options['%s']='", command->name);
    for (size_t i = 0; i < table.count; i++) printf("%s%s=", i ? " " : "", table.options[i].key);
    printf("'\n");
}

static void put_bash(void) {
    printf("# vpd completion\ndeclare -gA _vpd_flags=() _vpd_options=() _vpd_second=()\n_vpd_first='help");
    for (const Command *const *c = commands; *c; c++)
        if (first_of_group(c)) printf(" %.*s", (int)strcspn((*c)->name, " "), (*c)->name);
    printf("'\n");
    for (const Command *const *c = commands; *c; c++) {
        const char *second = strchr((*c)->name, ' ');
        if (second) printf("_vpd_second['%.*s']+='%s '\n", (int)(second - (*c)->name), (*c)->name, second + 1);
        put_bash_flags(*c);
        put_bash_options(*c);
    }
    fputs(bash_program, stdout);
}

// ---- zsh: arrays of 'word:what it is' for _describe

static const char zsh_program[] =
    "if (( CURRENT == 2 )); then _describe -t commands command first\n"
    "elif (( CURRENT == 3 && $#second )) && [[ $PREFIX != -* ]]; then _describe -t commands command second\n"
    "elif [[ $words[CURRENT-1] == --set ]]; then _describe -t settings option settings -S '='\n"
    "elif [[ $PREFIX == -* ]]; then _describe -o -t flags flag flags\n"
    "else _files\n"
    "fi\n";

// Within single quotes: a quote ends them, and a colon in the word would end the word.
static void put_quoted(const char *text) {
    for (; *text; text++) {
        if (*text == '\'') fputs("'\\''", stdout);
        else putchar(*text);
    }
}

static void put_zsh_flags(const Flag *flag) {
    for (; flag && flag->name; flag++) {
        printf("    '--%s:", flag->name);
        put_quoted(flag->help);
        printf("'\n");
    }
}

static void put_zsh_command(const Command *command) {
    printf("('%s')\n  flags=(\n", command->name);
    put_zsh_flags(command->flags);
    put_zsh_flags(command_common_flags);
    printf("  )\n");
    OptionTable table = command->options ? command->options() : (OptionTable){0};
    printf("  settings=(\n");
    for (size_t i = 0; i < table.count; i++) {
        printf("    '%s:", table.options[i].key);
        put_quoted(table.options[i].help);
        printf("'\n");
    }
    printf("  ) ;;\n");
}

// 'word:summary' of every command, or of those whose name begins with "GROUP ".
static void put_zsh_words(const char *group) {
    for (const Command *const *c = commands; *c; c++) {
        const char *second = strchr((*c)->name, ' ');
        size_t length = group ? strlen(group) : 0;
        if (group && (strncmp((*c)->name, group, length) != 0 || (*c)->name[length] != ' ')) continue;
        if (!group && second && !first_of_group(c)) continue;
        if (group) printf("    '%s:", (*c)->name + length + 1);
        else printf("    '%.*s:", (int)strcspn((*c)->name, " "), (*c)->name);
        put_quoted(group || !second                  ? (*c)->summary
                   : !strncmp((*c)->name, "data", 4) ? "work on data sets"
                                                     : "the simulator");
        printf("'\n");
    }
}

static void put_zsh(void) {
    printf("#compdef vpd\n# vpd completion\nlocal -a first second flags settings\n"
           "[[ $words[2] == (help|man) && $CURRENT -gt 2 && $PREFIX != -* ]] && { shift words; (( CURRENT-- )) }\n"
           "local name=$words[2]\nfirst=(\n");
    put_zsh_words(NULL);
    printf("    'help:the commands, or the flags of one'\n)\ncase $words[2] in\n");
    for (const Command *const *c = commands; *c; c++) {
        char group[32];
        if (!strchr((*c)->name, ' ') || !first_of_group(c)) continue;
        snprintf(group, sizeof group, "%.*s", (int)strcspn((*c)->name, " "), (*c)->name);
        printf("(%s)\n  name=\"$words[2] $words[3]\"\n  second=(\n", group);
        put_zsh_words(group);
        printf("  ) ;;\n");
    }
    printf("esac\ncase $name in\n");
    for (const Command *const *c = commands; *c; c++) put_zsh_command(*c);
    printf("esac\n");
    fputs(zsh_program, stdout);
}

static Status run_completion(const CommandLine *line, Error *err) {
    const char *shell = command_argument(line, 0);
    if (!shell || !strcmp(shell, "bash")) put_bash();
    else if (!strcmp(shell, "zsh")) put_zsh();
    else return error_set(err, STATUS_BAD_INPUT, "completion: expected bash or zsh, found \"%.40s\"", shell);
    return STATUS_OK;
}

const Command command_completion = {
    .name = "completion",
    .summary = "print completion for a shell: source <(vpd completion)",
    .arguments = "[bash|zsh]",
    .max_arguments = 1,
    .details = "zsh: write it as a file _vpd into a folder of $fpath.",
    .run = run_completion,
};
