// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "infer/train_hooks.h"
#include "train/trainer.h"

static Status check_options(const vpd_train_options *options, Error *err) {
    Status status = API_CHECK_STRUCT(options, vpd_train_options, err);
    if (status == STATUS_OK) status = api_check_texts(options->set, options->set_count, "set", err);
    return status == STATUS_OK ? api_check_threads(options->threads, err) : status;
}

static Status read_config(const vpd_train_options *options, Config *config, Error *err) {
    RunConfigRequest request = {.file = options->config,
                                .pairs = options->set,
                                .pair_count = options->set_count,
                                .out = options->out,
                                .data = options->data,
                                .resume = options->resume};
    return run_config_read(&request, config, err);
}

static bool tell_line(void *owner, const char *json) {
    const vpd_train_options *options = owner;
    return options->line(options->context, json) != 0;
}

static Status train(const vpd_train_options *options, ApiNotes *notes, char **report, Error *err) {
    Config config;
    Device *device = NULL;
    TrainSummary summary;
    char why[DEVICE_WHY_SIZE];
    TrainOptions wanted = {.resume = options->resume,
                           .dry_run = options->dry_run,
                           .log = &notes->log,
                           .listener = {(void *)options, options->line ? tell_line : NULL},
                           .hooks = train_hooks(&notes->log)};
    Status status = read_config(options, &config, err);
    if (status == STATUS_OK) status = device_choose(options->device, options->threads, &device, why, err);
    if (status == STATUS_OK) status = train_run(&config, device, &wanted, &summary, err);
    if (status == STATUS_OK)
        status = api_report(train_summary_json(&config, options->dry_run, &summary), notes, report, err);
    device_close(device);
    return status;
}

vpd_status vpd_train(const vpd_train_options *options, char **report, vpd_error *err) {
    Error e = {0};
    ApiNotes notes = {0};
    if (report) *report = NULL;
    Status status = check_options(options, &e);
    if (status == STATUS_OK) status = api_notes_open(&notes, &e);
    if (status == STATUS_OK) {
        Call call = call_begin(NULL, options->threads, true);
        status = train(options, &notes, report, &e);
        call_end(&call);
    }
    api_notes_free(&notes);
    return api_result(status, &e, err);
}
