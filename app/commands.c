// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"

#include <string.h>

const Command *const commands[] = {
    &command_bench,          &command_completion,  &command_data_check,
    &command_data_convert,   &command_data_import, &command_data_info,
    &command_data_show,      &command_data_subset, &command_edit,
    &command_eval,           &command_export,      &command_init,
    &command_inspect,        &command_man,         &command_render,
    &command_rollout,        &command_page,        &command_selftest,
    &command_sim_experiment, &command_sim_fit,     &command_sim_gradcheck,
    &command_sim_render,     &command_sim_run,     &command_train,
    &command_version,        &command_view,        NULL,
};

// How many of `words` the name takes; 0 when they do not match it.
static int match(const char *name, int count, char **words) {
    const char *second = strchr(name, ' ');
    size_t first = second ? (size_t)(second - name) : strlen(name);
    if (count < 1 || strlen(words[0]) != first || strncmp(words[0], name, first) != 0) return 0;
    if (!second) return 1;
    return count >= 2 && strcmp(words[1], second + 1) == 0 ? 2 : 0;
}

// "data" alone, or "data" with an unknown second word: the words that may follow.
static Status incomplete(const char *group, Error *err) {
    char list[256] = "";
    for (const Command *const *c = commands; *c; c++) {
        size_t length = strlen(group), used = strlen(list);
        if (strncmp((*c)->name, group, length) == 0 && (*c)->name[length] == ' ')
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", (*c)->name + length + 1);
    }
    return *list ? error_set(err, STATUS_BAD_INPUT,
                             "expected \"vpd %s\" with one of %s; add --help to see what it does", group, list)
                 : STATUS_OK;
}

static Status unknown(int count, char **words, Error *err) {
    const char *names[64];
    size_t known = 0;
    char both[128];
    for (const Command *const *c = commands; *c && known < 64; c++) names[known++] = (*c)->name;
    snprintf(both, sizeof both, "%s %s", words[0], count > 1 ? words[1] : "");
    const char *near = count > 1 ? options_nearest_word(both, names, known) : NULL;
    if (near && strchr(near, ' '))
        return error_set(err, STATUS_BAD_INPUT, "unknown command \"%.100s\"; did you mean \"vpd %s\"?", both, near);
    if (!near) {
        Status status = incomplete(words[0], err);
        if (status != STATUS_OK) return status;
        near = options_nearest_word(words[0], names, known);
    }
    if (near)
        return error_set(err, STATUS_BAD_INPUT, "unknown command \"%.100s\"; did you mean \"vpd %s\"?", words[0], near);
    return error_set(err, STATUS_BAD_INPUT, "unknown command \"%.100s\"; \"vpd --help\" lists them", words[0]);
}

Status commands_find(int count, char **words, const Command **out, int *used, Error *err) {
    *out = NULL;
    if (count < 1) return error_set(err, STATUS_BAD_INPUT, "expected a command; \"vpd --help\" lists them");
    for (const Command *const *c = commands; *c; c++) {
        if (!(*used = match((*c)->name, count, words))) continue;
        *out = *c;
        return STATUS_OK;
    }
    return unknown(count, words, err);
}

bool commands_print_group(const char *group, FILE *out) {
    const size_t length = strlen(group);
    bool any = false;
    for (const Command *const *c = commands; *c; c++) {
        if (strncmp((*c)->name, group, length) != 0 || (*c)->name[length] != ' ') continue;
        any = true;
        fprintf(out, "  %-15s %s\n", (*c)->name, (*c)->summary);
    }
    return any;
}

void commands_print_help(FILE *out) {
    fprintf(out, "vpd learns a 3D particle simulator from multi-view RGB-D video.\n\n"
                 "usage: vpd COMMAND [arguments] [flags]\n\n");
    for (const Command *const *c = commands; *c; c++) fprintf(out, "  %-15s %s\n", (*c)->name, (*c)->summary);
    fprintf(
        out,
        "\n\"vpd COMMAND --help\" shows a command's flags, \"vpd --version\" the build and its libraries.\n"
        "Results go to stdout, messages to stderr. Exit status: 0 done, 1 failed or stopped, 2 wrong input or usage.\n"
        "Environment: VPD_THREADS, VPD_ISA (base, avx2, avx512), NO_COLOR.\n");
}
