// SPDX-License-Identifier: Apache-2.0
// Every subcommand: one line here and one in app/commands.c.
#ifndef VPD_APP_COMMANDS_H
#define VPD_APP_COMMANDS_H

#include "app/command.h"

extern const Command command_bench;
extern const Command command_completion;
extern const Command command_data_check;
extern const Command command_data_convert;
extern const Command command_data_import;
extern const Command command_data_info;
extern const Command command_data_show;
extern const Command command_data_subset;
extern const Command command_edit;
extern const Command command_eval;
extern const Command command_export;
extern const Command command_init;
extern const Command command_inspect;
extern const Command command_man;
extern const Command command_render;
extern const Command command_rollout;
extern const Command command_page;
extern const Command command_selftest;
extern const Command command_sim_experiment;
extern const Command command_sim_fit;
extern const Command command_sim_gradcheck;
extern const Command command_sim_render;
extern const Command command_sim_run;
extern const Command command_train;
extern const Command command_version;
extern const Command command_view;

// Ends with NULL; in the order of `vpd --help`.
extern const Command *const commands[];

// Finds the command that the first words name ("train", "data info") and how many words its name has. An unknown one is
// an error that names the nearest; *out is NULL then.
Status commands_find(int count, char **words, const Command **out, int *used, Error *err);

void commands_print_help(FILE *out);
// The commands of "data", "sim"; false: there is no such group.
bool commands_print_group(const char *group, FILE *out);

#endif
