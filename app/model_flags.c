// SPDX-License-Identifier: Apache-2.0
#include "app/model_flags.h"

#include "base/file.h"
#include "base/file_kind.h"
#include "base/image.h"
#include "datasets/h5.h"
#include "edit/edit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

Status command_int_list(const CommandLine *line, const char *flag, long min, long max, IntList *out, Error *err) {
    const char *value = command_text(line, flag, NULL);
    char key[80];
    if (!value) return STATUS_OK;
    snprintf(key, sizeof key, "--%s", flag);
    Option option = {.key = key, .type = OPTION_INT_LIST, .min = (double)min, .max = (double)max};
    return options_set((OptionTable){.options = &option, .count = 1}, out, key, value, err);
}

Status command_analytic(const CommandLine *line, const char **out, Error *err) {
    *out = command_has(line, "analytic") ? command_text(line, "analytic", "{}") : NULL;
    return *out ? edit_simulation_check("--analytic", *out, err) : STATUS_OK;
}

Status command_size(const CommandLine *line, int *H, int *W, Error *err) {
    const char *value = command_text(line, "size", NULL);
    int h = 0, w = 0, used = 0;
    if (!value) return STATUS_OK;
    bool read = sscanf(value, "%5dx%5d%n", &w, &h, &used) == 2 && !value[used];
    if (!read || h < 1 || w < 1 || h > IMAGE_SIDE_MAX || w > IMAGE_SIDE_MAX)
        return error_set(err, STATUS_BAD_INPUT,
                         "--size: expected WIDTHxHEIGHT in pixels such as 128x96, found \"%.40s\"", value);
    *H = h;
    *W = w;
    return STATUS_OK;
}

Status command_box(const CommandLine *line, const char *flag, double b[6], bool *given, Error *err) {
    const char *text = command_text(line, flag, NULL);
    int used = 0;
    *given = false;
    if (!text) return STATUS_OK;
    bool good = sscanf(text, "%lf,%lf,%lf,%lf,%lf,%lf%n", b, b + 1, b + 2, b + 3, b + 4, b + 5, &used) == 6;
    good = good && !text[used];
    for (int c = 0; c < 3 && good; c++) good = isfinite(b[c]) && isfinite(b[3 + c]) && b[c] < b[3 + c];
    *given = good;
    return good ? STATUS_OK
                : error_set(err, STATUS_BAD_INPUT,
                            "--%s: expected x,y,z,x,y,z with each lower number below its upper one, such as "
                            "-2,-2,0,2,2,1.5, found \"%.80s\"",
                            flag, text);
}

Status command_check_writable(const char *path, Error *err) {
    FileDraft draft = {0};
    Status status = file_draft_begin(&draft, path, err);
    file_draft_abandon(&draft);
    return status;
}

// ---- arguments in the wrong order

typedef enum Content { CONTENT_OTHER, CONTENT_DATA, CONTENT_ROLLOUT, CONTENT_CHECKPOINT } Content;

// A run stands for its checkpoints.
static Content content_of(const char *path) {
    static const char *const formats[] = {"", "vpd-dataset", "vpd-rollout", "vpd-checkpoint"};
    char format[64];
    Error ignored;
    if (file_is_folder(path)) return file_is_run(path) ? CONTENT_CHECKPOINT : CONTENT_OTHER;
    h5_read_format(path, format, sizeof format, &ignored);
    if (strcmp(format, "vpd-particles") == 0) return CONTENT_ROLLOUT;
    for (int i = CONTENT_DATA; i <= CONTENT_CHECKPOINT; i++)
        if (strcmp(format, formats[i]) == 0) return (Content)i;
    return CONTENT_OTHER;
}

Status command_explain_swap(const CommandLine *line, Status status, Error *err) {
    if (status != STATUS_BAD_INPUT || line->argument_count != 2) return status;
    Content first = content_of(line->arguments[0]);
    if ((first != CONTENT_DATA && first != CONTENT_ROLLOUT) || content_of(line->arguments[1]) != CONTENT_CHECKPOINT)
        return status;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s is %s; expected a checkpoint; the arguments seem swapped: vpd %s CHECKPOINT %s",
                     line->arguments[0], first == CONTENT_DATA ? "a data set" : "a rollout", line->command->name,
                     first == CONTENT_DATA ? "DATA" : "ROLLOUT");
}

Status command_explain_text(const char *path, Status status, Error *err) {
    const Error first = *err;
    const bool log = name_ends(path, ".jsonl"), scene = name_ends(path, ".yaml") || name_ends(path, ".yml");
    if (status != STATUS_BAD_INPUT || (!log && !scene) || strcmp(file_kind(path), "a text file") != 0) return status;
    return error_set(
        err, STATUS_BAD_INPUT, "%s; %s", first.text,
        log ? "a log is shown by its folder: vpd view FOLDER"
            : "a scene is simulated first: vpd sim run SCENE.yaml -o OUT.h5; a config is trained: vpd train "
              "CONFIG.yaml -o FOLDER");
}

static void note_why(const CommandLine *line, const char *why) {
    if (*why) log_note(&line->log, "on the CPU: %s", why);
}

static const char *device_of(const CommandLine *line) {
    return line->device[0] ? line->device : command_text(line, "device", "auto");
}

Status command_open_device(const CommandLine *line, Device **out, Error *err) {
    char why[DEVICE_WHY_SIZE];
    Status status = device_choose(device_of(line), line->threads, out, why, err);
    if (status == STATUS_OK) note_why(line, why);
    return status;
}

SessionOptions session_options(const CommandLine *line, const char *checkpoint, bool raw) {
    return (SessionOptions){.checkpoint = checkpoint, .device = device_of(line), .threads = line->threads, .raw = raw};
}

Status command_open_session(const CommandLine *line, const char *checkpoint, Session *session, Error *err) {
    SessionOptions options = session_options(line, checkpoint, command_has(line, "raw"));
    Status status = session_open(session, &options, err);
    if (status != STATUS_OK) return status;
    if (*session->note) log_warning(&line->log, "%s", session->note);
    note_why(line, session->device_why);
    log_note(&line->log, "%s: %s weights of step %ld, on %s", session->path,
             options.raw || !session->meta.has_ema ? "raw" : "averaged", session->meta.step, session->device->name);
    return STATUS_OK;
}
