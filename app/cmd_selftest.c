// SPDX-License-Identifier: Apache-2.0
// `vpd selftest`: does a device compute what the CPU's baseline code computes?
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/result.h"
#include "base/version.h"
#include "train/selftest.h"

#include <string.h>

static const Flag flags[] = {
    {.name = "device", .value = "DEVICE", .help = "what is tested (default auto)"},
    {.name = "reference", .value = "DEVICE", .help = "what it is compared with (default cpu:base)"},
    {.name = "steps", .value = "N", .help = "training steps of each model (default 10)"},
    {.name = "large", .help = "also the sizes that vpd bench ops times, and models of the reference widths"},
    {.name = "json", .value = "FILE", .help = "write the results there, too (-: on stdout, instead of the table)"},
    {0},
};

typedef struct Report {
    json_t *rows;
    bool table; // on stdout
} Report;

static void print_result(void *context, const SelfTestResult *r) {
    Report *report = context;
    if (report->table)
        printf("%-13s %-22s %6zu %6zu  %9.2e %9.0e  %s%s\n", r->part, r->name, r->checked, r->failed, r->worst,
               r->allowed, r->failed ? "FAILED: " : "", r->failed || r->worst > 0 ? r->where : "");
    if (report->table) fflush(stdout);
    if (report->rows)
        json_array_append_new(report->rows,
                              json_pack("{s:s s:s s:I s:I s:o s:o s:s}", "part", r->part, "name", r->name, "checked",
                                        (json_int_t)r->checked, "failed", (json_int_t)r->failed, "worst",
                                        json_finite(r->worst), "allowed", json_finite(r->allowed), "where", r->where));
}

static Status run_tests(SelfTest *test, bool table, Error *err) {
    if (table)
        printf("device     %s\nreference  %s\n\n%-13s %-22s %6s %6s  %9s %9s  %s\n", test->device->name,
               test->reference->name, "part", "name", "cases", "failed", "worst", "allowed", "where");
    Status status = selftest_neighbours(test, err);
    for (Precision p = PRECISION_F32; p <= PRECISION_TF32 && status == STATUS_OK; p++) {
        device_set_precision(test->device, p);
        if (test->device->precision != p) continue; // that it lacks
        test->precision = p;
        status = selftest_ops(test, err);
        if (status == STATUS_OK) status = selftest_models(test, err);
        if (status == STATUS_OK) status = selftest_replays(test, err);
    }
    if (status != STATUS_OK) return status;
    if (table && test->device->note[0]) printf("\n%s\n", test->device->note);
    if (table) printf("\n%s\n", test->failed ? "something differs" : "all agree");
    return test->failed ? error_set(err, STATUS_FAILED, "the self-test of %s failed in %zu places", test->device->name,
                                    test->failed)
                        : STATUS_OK;
}

static Status write_json(const char *path, const SelfTest *test, json_t *rows, Error *err) {
    json_t *all = json_pack("{s:s s:i s:s s:s s:s s:I s:O}", "format", "vpd-selftest", "version", 1, "commit",
                            version_commit(), "device", test->device->name, "reference", test->reference->name,
                            "failed", (json_int_t)test->failed, "results", rows);
    if (result_on_stdout(path)) return json_write_line(stdout, all, err);
    FILE *out = fopen(path, "w");
    if (!out) {
        json_decref(all);
        return error_set(err, STATUS_FAILED, "%s: cannot write there", path);
    }
    Status status = json_write_line(out, all, err);
    if (fclose(out) && status == STATUS_OK) status = error_set(err, STATUS_FAILED, "%s: write failed", path);
    return status;
}

static Status run_selftest(const CommandLine *line, Error *err) {
    const char *path = command_text(line, "json", NULL);
    Report report = {path ? json_array() : NULL, !result_on_stdout(path)};
    SelfTest test = {.large = command_has(line, "large"), .report = print_result, .context = &report};
    Error unwritten = {0};
    long steps = 10;
    Status status = command_int(line, "steps", 1, 1000, &steps, err);
    test.steps = (int)steps;
    if (status == STATUS_OK)
        status = device_open(command_text(line, "reference", "cpu:base"), line->threads, &test.reference, err);
    if (status == STATUS_OK) status = command_open_device(line, &test.device, err);
    if (status == STATUS_OK) {
        status = run_tests(&test, report.table, err);
        if (path && write_json(path, &test, report.rows, &unwritten) != STATUS_OK && status == STATUS_OK) {
            *err = unwritten;
            status = STATUS_FAILED;
        }
    }
    json_decref(report.rows);
    device_close(test.device);
    device_close(test.reference);
    return status;
}

const Command command_selftest = {
    .name = "selftest",
    .summary = "does a device compute what the CPU's baseline code computes?",
    .arguments = "",
    .flags = flags,
    .details = "Nearest neighbours entry by entry; every op forward and backward, the same bits again, and training "
               "steps of small models, in each model.precision that the device has; on made-up data. Exit status 1 "
               "when anything differs by more than is allowed.",
    .run = run_selftest,
};
