// SPDX-License-Identifier: Apache-2.0
#include "app/command.h"
#include "train/checkpoint.h"

static const Flag flags[] = {
    {.name = "safetensors", .value = "FILE", .help = "write a safetensors file: weights, config and lengths"},
    {.name = "checkpoint", .value = "FILE", .help = "write a checkpoint for publication: these weights alone"},
    {.name = "raw", .help = "the weights as the optimiser left them, not their moving average"},
    {.name = "half", .help = "in half precision (f16)"},
    {0},
};

static Status run_export(const CommandLine *line, Error *err) {
    CheckpointFound found;
    CheckpointMeta meta;
    const char *safetensors = command_text(line, "safetensors", NULL),
               *publication = command_text(line, "checkpoint", NULL);
    CheckpointWeights which = command_has(line, "raw") ? CHECKPOINT_RAW : CHECKPOINT_EMA;
    bool half = command_has(line, "half");
    if (!safetensors && !publication)
        return error_set(err, STATUS_BAD_INPUT, "export needs --safetensors FILE or --checkpoint FILE");
    Status status = checkpoint_find(command_argument(line, 0), &found, err);
    if (status != STATUS_OK) return status;
    if (*found.note) log_warning(&line->log, "%s", found.note);
    status = checkpoint_read_meta(found.path, &meta, err);
    if (status == STATUS_OK && safetensors)
        status = checkpoint_export_safetensors(found.path, which, half, safetensors, err);
    if (status == STATUS_OK && publication)
        status = checkpoint_export_publication(found.path, which, half, publication, err);
    if (status != STATUS_OK) return status;
    log_note(&line->log, "%s: %s weights of step %ld written", found.path,
             which == CHECKPOINT_RAW || !meta.has_ema ? "raw" : "averaged", meta.step);
    return STATUS_OK;
}

const Command command_export = {
    .name = "export",
    .summary = "write a checkpoint's weights for others to read",
    .arguments = "CHECKPOINT",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "CHECKPOINT is a file, or a run's folder (its best, else its latest checkpoint).",
    .run = run_export,
};
