// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/inspect.h"
#include "app/model_flags.h"

static const Flag flags[] = {
    {.name = "json", .help = "one JSON object instead of lines"},
    {0},
};

static Status run_inspect(const CommandLine *line, Error *err) {
    json_t *object;
    const char *path = command_argument(line, 0);
    Status status = inspect_path(path, &object, err);
    if (status != STATUS_OK) return command_explain_text(path, status, err);
    if (command_has(line, "json")) return json_write_line(stdout, object, err);
    inspect_print(object, stdout);
    json_decref(object);
    return STATUS_OK;
}

const Command command_inspect = {
    .name = "inspect",
    .summary = "show what a file holds: data set, checkpoint, run, rollout, particles",
    .arguments = "PATH",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details =
        "PATH is any file that vpd writes (safetensors too), a run's folder, or a folder of data sets. Checkpoints\n"
        "are compared with their checksums. \"vpd data info\" lists the episodes of a data set.",
    .run = run_inspect,
};
