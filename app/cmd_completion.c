// SPDX-License-Identifier: Apache-2.0
// `vpd completion`: words for bash, from the tables of commands, flags and options. `source <(vpd completion)`.
#include "app/commands.h"

#include <string.h>

static const char program[] =
    "_vpd() {\n"
    "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} name=${COMP_WORDS[1]} words=\n"
    "  local pair=\"$name ${COMP_WORDS[2]-}\"\n"
    "  COMPREPLY=()\n"
    "  [[ -n ${_vpd_flags[$pair]+x} && $COMP_CWORD -gt 2 ]] && name=$pair\n"
    "  if [[ $COMP_CWORD == 1 ]]; then words=$_vpd_first\n"
    "  elif [[ $before == --set ]]; then words=${_vpd_options[$name]-}; compopt -o nospace\n"
    "  elif [[ $word == -* ]]; then words=${_vpd_flags[$name]-}\n"
    "  elif [[ $COMP_CWORD == 2 ]]; then words=${_vpd_second[$name]-}\n"
    "  fi\n"
    "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
    "}\n"
    "complete -o default -F _vpd vpd\n";

static void put_flags(const Command *command) {
    printf("_vpd_flags['%s']='", command->name);
    for (const Flag *flag = command->flags; flag && flag->name; flag++) printf("--%s ", flag->name);
    printf("--threads --quiet --help'\n");
}

static void put_options(const Command *command) {
    if (!command->options) return;
    OptionTable table = command->options();
    printf("_vpd_options['%s']='", command->name);
    for (size_t i = 0; i < table.count; i++) printf("%s%s=", i ? " " : "", table.options[i].key);
    printf("'\n");
}

static Status run_completion(const CommandLine *line, Error *err) {
    (void)line;
    (void)err;
    printf("# vpd completion\ndeclare -gA _vpd_flags=() _vpd_options=() _vpd_second=()\n_vpd_first='help");
    for (const Command *const *c = commands; *c; c++) {
        size_t length = strcspn((*c)->name, " ");
        bool again = c != commands && strncmp(c[-1]->name, (*c)->name, length) == 0 && c[-1]->name[length] == ' ';
        if (!again) printf(" %.*s", (int)length, (*c)->name);
    }
    printf("'\n");
    for (const Command *const *c = commands; *c; c++) {
        const char *second = strchr((*c)->name, ' ');
        if (second) printf("_vpd_second['%.*s']+='%s '\n", (int)(second - (*c)->name), (*c)->name, second + 1);
        put_flags(*c);
        put_options(*c);
    }
    fputs(program, stdout);
    return STATUS_OK;
}

const Command command_completion = {
    .name = "completion",
    .summary = "print words for bash: source <(vpd completion)",
    .arguments = "",
    .run = run_completion,
};
