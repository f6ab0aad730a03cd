// SPDX-License-Identifier: Apache-2.0
// `vpd edit`: changes the particles of a rollout file by a list of edits; "vpd rollout" goes on from the result.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
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
    {.name = "output",
     .value = "FILE.h5",
     .help = "particle file to write",
     .letter = 'o',
     .writes = "vpd-rollout vpd-particles"},
    {.name = "show-history", .help = "print the edits that made FILE.h5 as a list, and do nothing else"},
    {.name = "show-labels", .help = "print the labels of FILE.h5, or of the result if there are edits"},
    {.name = "time", .help = "say how long the edits took"},
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

// The command's output: collected in `json` with --json, else printed at once.
typedef struct Told {
    const CommandLine *line;
    json_t *json;
} Told;

static Status put(Told *told, const char *key, json_t *value, Error *err) {
    return json_object_set_new(told->json, key, value) == 0
               ? STATUS_OK
               : error_set(err, STATUS_FAILED, "--json: %s is no UTF-8, or memory ran out", key);
}

static Status show_history(Told *told, const RolloutFile *file, Error *err) {
    char *script = NULL;
    Status status = edit_history_script(file, &script, err);
    if (status == STATUS_OK && told->json) status = put(told, "history", json_string(script), err);
    else if (status == STATUS_OK) fputs(script, stdout);
    free(script);
    return status;
}

static json_t *label_json(const EditLabel *l) {
    return json_pack("{s:i s:s s:I s:I s:[o,o,o]}", "label", l->label, "name", l->name, "particles",
                     (json_int_t)l->particles, "hidden_points", (json_int_t)l->hidden, "centre",
                     json_finite(l->centre[0]), json_finite(l->centre[1]), json_finite(l->centre[2]));
}

static void print_label(const EditLabel *l) {
    char counts[80];
    printf("label %5d  %-36s  centre %7.3f %7.3f %7.3f  %s\n", l->label,
           rollout_count_text(l->particles, l->hidden, counts), l->centre[0], l->centre[1], l->centre[2], l->name);
}

static Status show_labels(Told *told, const RolloutFile *file, Error *err) {
    EditLabel *labels = NULL;
    size_t count = 0;
    json_t *list = told->json ? json_array() : NULL;
    Status status = edit_labels(file, &labels, &count, err);
    for (size_t i = 0; i < count; i++) {
        if (list) json_array_append_new(list, label_json(labels + i));
        else print_label(labels + i);
    }
    if (status == STATUS_OK && list) status = put(told, "labels", json_incref(list), err);
    else if (status == STATUS_OK && count == 0) printf("no labels\n");
    json_decref(list);
    free(labels);
    return status;
}

static Status read_edits(const CommandLine *line, EditList **out, Error *err) {
    EditList *list = *out = edit_list_create();
    Status status = list ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a list of edits");
    for (int i = 0; status == STATUS_OK && command_repeated(line, "script", i); i++)
        status = edit_list_load(list, command_repeated(line, "script", i), err);
    bool several = command_repeated(line, "do", 0) && command_repeated(line, "do", 1);
    for (int i = 0; status == STATUS_OK && command_repeated(line, "do", i); i++) {
        char name[32] = "--do";
        if (several) snprintf(name, sizeof name, "--do number %d", i + 1);
        status = edit_list_add(list, name, command_repeated(line, "do", i), err);
    }
    return status;
}

static Status report_edits(Told *told, const char *out, const RolloutFile *file, const EditReport *report, Error *err) {
    size_t after = report->after - report->hidden_after, before = report->before - report->hidden_before;
    if (told->json) {
        json_t *object =
            json_pack("{s:[s] s:I s:I s:I s:I s:I s:I s:s s:i s:o}", "written", out, "particles", (json_int_t)after,
                      "hidden_points", (json_int_t)report->hidden_after, "particles_before", (json_int_t)before,
                      "hidden_points_before", (json_int_t)report->hidden_before, "edits", (json_int_t)report->applied,
                      "left_out", (json_int_t)report->skipped, "episode", file->episode, "first_frame",
                      file->first_frame, "edit_seconds", json_finite(report->edit_seconds));
        bool good = object && json_object_update(told->json, object) == 0;
        json_decref(object);
        return good ? STATUS_OK : error_set(err, STATUS_FAILED, "--json: a path is no UTF-8, or memory ran out");
    }
    char now[80], then[80];
    printf("%s: %s; before %s; %zu edit%s", out, rollout_count_text(after, report->hidden_after, now),
           rollout_count_text(before, report->hidden_before, then), report->applied, report->applied == 1 ? "" : "s");
    if (report->skipped) printf(", %zu left out", report->skipped);
    printf(" (episode %s, frame %d)\n", *file->episode ? file->episode : "unknown", file->first_frame);
    if (command_has(told->line, "time")) printf("%.3f s for the edits\n", report->edit_seconds);
    return STATUS_OK;
}

// --step without edits: the labels of that step are shown.
static Status go_to_step(const CommandLine *line, RolloutFile *file, Error *err) {
    long step = 0;
    Status status = command_int(line, "step", 0, 1000000000, &step, err);
    return status == STATUS_OK ? edit_take_step(file, (size_t)step, err) : status;
}

static Status edit_file(Told *told, const EditList *list, RolloutFile *file, Error *err) {
    const CommandLine *line = told->line;
    const char *out;
    long step = 0;
    Device *device = NULL;
    EditReport report;
    Status status = command_required(line, "output", &out, err);
    if (status == STATUS_OK) status = command_int(line, "step", 0, 1000000000, &step, err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status == STATUS_OK) status = device_open("cpu", line->threads, &device, err);
    if (status == STATUS_OK) status = edit_apply(list, device, &line->log, (size_t)step, file, &report, err);
    if (status == STATUS_OK) status = rollout_file_write(file, out, err);
    if (status == STATUS_OK) status = report_edits(told, out, file, &report, err);
    device_close(device);
    return status;
}

static Status run_edit(const CommandLine *line, Error *err) {
    RolloutFile file = {0};
    EditList *list = NULL;
    const char *path = command_argument(line, 0);
    bool shows = command_has(line, "show-history") || command_has(line, "show-labels");
    Status status = read_edits(line, &list, err);
    bool edits = status == STATUS_OK && (edit_list_count(list) > 0 || command_has(line, "output"));
    if (status == STATUS_OK && !edits && !shows)
        status = error_set(err, STATUS_BAD_INPUT, "expected edits: --script FILE, or --do \"remove: {label: 2}\"");
    if (status == STATUS_OK) status = rollout_file_read(path, &file, err);
    Told told = {line, command_has(line, "json") ? json_object() : NULL};
    if (status == STATUS_OK && command_has(line, "show-history")) status = show_history(&told, &file, err);
    else if (status == STATUS_OK) status = edits ? edit_file(&told, list, &file, err) : go_to_step(line, &file, err);
    if (status == STATUS_OK && command_has(line, "show-labels")) status = show_labels(&told, &file, err);
    if (status == STATUS_OK && told.json) status = result_json(line, json_incref(told.json), err);
    json_decref(told.json);
    rollout_file_free(&file);
    edit_list_free(list);
    return status;
}

const Command command_edit = {
    .name = "edit",
    .summary = "remove, move, copy, throw, drive, simulate, recolour and compose particles",
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
