// SPDX-License-Identifier: Apache-2.0
// `vpd sim experiment`: numbers of scenes found again, beside the figures of a paper.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "lab/experiment.h"

#include <math.h>
#include <string.h>

static const Flag flags[] = {
    {.name = "instances", .value = "N", .help = "scenes with other random numbers (default: the experiment's own)"},
    {.name = "output",
     .value = "PAGE.md",
     .help = "page in which the experiment's section is replaced, or put at the end",
     .letter = 'o',
     .writes = "experiments"},
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

static Status find(const char *name, const Experiment **out, Error *err) {
    char known[128] = "";
    for (const Experiment *e = experiments; e->name; e++) {
        if (!strcmp(e->name, name)) {
            *out = e;
            return STATUS_OK;
        }
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "", e->name);
    }
    return error_set(err, STATUS_BAD_INPUT, "unknown experiment \"%.60s\"; there are %s", name, known);
}

static json_t *to_json(const ExperimentResult *result) {
    json_t *rows = json_array();
    for (size_t r = 0; r < result->rows; r++) {
        const ExperimentRow *row = result->row + r;
        const ExperimentFigures f = experiment_figures(row->error, row->instances);
        const double bar = row->bar ? experiment_figures(row->bar, row->instances).median : NAN;
        json_array_append_new(rows, json_pack("{s:s s:s s:o s:o s:o s:o s:o}", "number", row->what, "from", row->from,
                                              "paper", json_finite(row->paper), "mean", json_finite(f.mean), "median",
                                              json_finite(f.median), "largest", json_finite(f.worst), "standard_error",
                                              json_finite(bar)));
    }
    return json_pack("{s:I s:o s:s}", "instances", (json_int_t)result->instances, "errors", rows, "text", result->text);
}

static Status run(const CommandLine *line, Error *err) {
    const Experiment *experiment = NULL;
    const char *page = command_text(line, "output", NULL);
    ExperimentOptions options = {.threads = line->threads, .log = &line->log};
    Device *device = NULL;
    ExperimentResult result = {.rows = 0};
    long instances = 0;
    Status status = find(command_argument(line, 0), &experiment, err);
    if (status == STATUS_OK) status = command_int(line, "instances", 1, 100000, &instances, err);
    if (status == STATUS_OK && page) status = command_check_writable(page, err);
    if (status == STATUS_OK) status = device_open("cpu", line->threads, &device, err);
    options.instances = (size_t)instances;
    options.device = device;
    if (status == STATUS_OK) status = experiment_run(experiment, &options, &result, err);
    if (status == STATUS_OK && page) status = experiment_write_page(experiment, &result, page, err);
    if (status == STATUS_OK && command_has(line, "json")) status = result_json(line, to_json(&result), err);
    else if (status == STATUS_OK) experiment_print(experiment, &result, NULL, stdout);
    experiment_free(&result);
    device_close(device);
    return status;
}

const Command command_sim_experiment = {
    .name = "sim experiment",
    .summary = "find numbers of scenes again, and train a policy",
    .arguments = "mass|contact|fem|landscape|policy",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details =
        "Prints relative errors beside those of the gradSim paper. docs/simulator_experiments.md has the results.",
    .run = run,
};
