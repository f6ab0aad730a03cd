// SPDX-License-Identifier: Apache-2.0
// `vpd edit`: changes the particles of a rollout file by a list of edits; "vpd rollout" goes on from the result.
#include "app/commands.h"
#include "app/model_flags.h"
#include "edit/edit.h"

#include <stdlib.h>
#include <string.h>

static const Flag flags[] = {
    {.name = "script", .value = "EDITS.yaml", .help = "list of edits (repeated)", .repeated = true},
    {.name = "do",
     .value = "EDIT",
     .help = "one edit, after the scripts: \"remove: {label: 2}\" (repeated)",
     .repeated = true},
    {.name = "step",
     .value = "J",
     .help = "edit the state at this step of the rollout (default 0: what the model saw)"},
    {.name = "out", .value = "FILE.h5", .help = "particle file to write", .letter = 'o'},
    {.name = "show-history", .help = "print the edits that made FILE.h5 as a list, and do nothing else"},
    {.name = "show-labels", .help = "print the labels of FILE.h5, or of the result where there are edits"},
    {.name = "time", .help = "say how long the edits took"},
    {0},
};

static Status show_history(const RolloutFile *file, Error *err) {
    char *script = NULL;
    Status status = edit_history_script(file, &script, err);
    if (status == STATUS_OK) fputs(script, stdout);
    free(script);
    return status;
}

static Status show_labels(const RolloutFile *file, Error *err) {
    EditLabel *labels = NULL;
    size_t count = 0;
    Status status = edit_labels(file, &labels, &count, err);
    for (size_t i = 0; i < count; i++)
        printf("label %5d  %9zu particles  centre %7.3f %7.3f %7.3f  %s\n", labels[i].label, labels[i].particles,
               labels[i].centre[0], labels[i].centre[1], labels[i].centre[2], labels[i].name);
    if (status == STATUS_OK && count == 0) printf("no labels\n");
    free(labels);
    return status;
}

static Status read_edits(const CommandLine *line, EditList **out, Error *err) {
    EditList *list = *out = edit_list_create();
    Status status = list ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a list of edits");
    for (int i = 0; status == STATUS_OK && command_repeated(line, "script", i); i++)
        status = edit_list_load(list, command_repeated(line, "script", i), err);
    for (int i = 0; status == STATUS_OK && command_repeated(line, "do", i); i++)
        status = edit_list_add(list, command_repeated(line, "do", i), err);
    return status;
}

static void report_edits(const CommandLine *line, const char *out, const RolloutFile *file, const EditReport *report) {
    printf("%s: %zu particles, %zu before, %zu edit%s", out, report->after, report->before, report->applied,
           report->applied == 1 ? "" : "s");
    if (report->skipped) printf(", %zu left out", report->skipped);
    printf(" (episode %s, frame %d)\n", *file->episode ? file->episode : "unknown", file->first_frame);
    if (command_has(line, "time"))
        printf("%.3f s for the edits, %.3f s before to tie past sets and clouds to the particles\n",
               report->edit_seconds, report->tie_seconds);
}

static Status edit_file(const CommandLine *line, const EditList *list, RolloutFile *file, Error *err) {
    const char *out;
    long step = 0;
    Device *device = NULL;
    EditReport report;
    Status status = command_required(line, "out", &out, err);
    if (status == STATUS_OK) status = command_int(line, "step", 0, 1000000000, &step, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status == STATUS_OK) status = device_open("cpu", line->threads, &device, err);
    if (status == STATUS_OK) status = edit_apply(list, device, &line->log, (size_t)step, file, &report, err);
    if (status == STATUS_OK) status = rollout_file_write(file, out, err);
    if (status == STATUS_OK) report_edits(line, out, file, &report);
    device_close(device);
    return status;
}

static Status run_edit(const CommandLine *line, Error *err) {
    RolloutFile file = {0};
    EditList *list = NULL;
    const char *path = command_argument(line, 0);
    bool shows = command_has(line, "show-history") || command_has(line, "show-labels");
    Status status = read_edits(line, &list, err);
    bool edits = status == STATUS_OK && (edit_list_count(list) > 0 || command_has(line, "out"));
    if (status == STATUS_OK && !edits && !shows)
        status = error_set(err, STATUS_BAD_INPUT, "expected edits: --script FILE, or --do \"remove: {label: 2}\"");
    if (status == STATUS_OK) status = rollout_file_read(path, &file, err);
    if (status == STATUS_OK && command_has(line, "show-history")) status = show_history(&file, err);
    else if (status == STATUS_OK && edits) status = edit_file(line, list, &file, err);
    if (status == STATUS_OK && command_has(line, "show-labels")) status = show_labels(&file, err);
    rollout_file_free(&file);
    edit_list_free(list);
    return status;
}

const Command command_edit = {
    .name = "edit",
    .summary = "remove, move, copy, throw, recolour and compose particles",
    .arguments = "FILE.h5",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details =
        "FILE.h5 is what \"vpd rollout\" or \"vpd edit\" wrote. docs/editing.md lists every edit and selection. The "
        "result has no steps:\n"
        "\"vpd rollout CHECKPOINT OUT.h5 --steps N -o NEW.h5\" goes on from it, \"vpd render OUT.h5\" draws it.",
    .run = run_edit,
};
