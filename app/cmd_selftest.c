// SPDX-License-Identifier: Apache-2.0
// `vpd selftest`: compare a device's results with those of the CPU's baseline code
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "base/version.h"
#include "bench/selftest.h"

#include <errno.h>
#include <string.h>

static const Flag flags[] = {
    {.name = "device", .value = "DEVICE", .help = "device to test (default auto)"},
    {.name = "reference", .value = "DEVICE", .help = "reference device (default cpu:base)"},
    {.name = "steps", .value = "N", .help = "training steps of each model (default 10)"},
    {.name = "quick", .help = "for compute-sanitizer: one step of each model, in f32, and no graphs"},
    {.name = "large", .help = "also test the sizes of \"vpd bench ops\", and models of full width"},
    {.name = "output", .value = "FILE.json", .help = "write the results as JSON", .letter = 'o', .writes = "selftest"},
    {.name = "json", .help = "print the same on stdout, instead of the table"},
    FLAG_FORCE,
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
    if (status == STATUS_OK) status = selftest_sim(test, err);
    if (status == STATUS_OK) status = selftest_raster(test, err);
    for (Precision p = PRECISION_F32; p <= PRECISION_TF32 && status == STATUS_OK; p++) {
        device_set_precision(test->device, p);
        if (test->device->precision != p) continue; // that it lacks
        test->precision = p;
        status = selftest_ops(test, err);
        if (test->quick && p != PRECISION_F32) continue;
        if (status == STATUS_OK) status = selftest_models(test, err);
        if (test->quick) continue;
        if (status == STATUS_OK) status = selftest_replays(test, err);
    }
    if (status != STATUS_OK) return status;
    if (table && test->device->note[0]) printf("\n%s\n", test->device->note);
    if (table) printf("\n%s\n", test->failed ? "something differs" : "all agree");
    return test->failed ? error_set(err, STATUS_FAILED, "the self-test of %s failed in %zu places", test->device->name,
                                    test->failed)
                        : STATUS_OK;
}

static Status print_json(FILE *out, const SelfTest *test, json_t *rows, Error *err) {
    json_t *all = json_pack("{s:s s:i s:s s:s s:s s:I s:O}", "format", "vpd-selftest", "version", 1, "commit",
                            version_commit(), "device", test->device->name, "reference", test->reference->name,
                            "failed", (json_int_t)test->failed, "results", rows);
    return json_write_line(out, all, err);
}

// Runs after the tests, also when some failed. `file` may be NULL.
static Status give_results(const CommandLine *line, const SelfTest *test, json_t *rows, FILE *file, Error *err) {
    const char *path = command_text(line, "output", NULL);
    Status status = command_has(line, "json") ? print_json(stdout, test, rows, err) : STATUS_OK;
    if (file && status == STATUS_OK) status = print_json(file, test, rows, err);
    errno = 0;
    if (file && fclose(file) && status == STATUS_OK) status = file_error(err, path, "write", errno);
    return status;
}

// The file is opened before the minutes that the tests take. It may be /dev/stdout.
static Status open_output(const CommandLine *line, FILE **out, Error *err) {
    const char *path = command_text(line, "output", NULL);
    Status status = path ? file_make_parent(path, err) : STATUS_OK;
    if (status != STATUS_OK) return status;
    *out = path ? fopen(path, "w") : NULL;
    return path && !*out ? file_error(err, path, "write", errno) : STATUS_OK;
}

static Status run_selftest(const CommandLine *line, Error *err) {
    bool json = command_has(line, "json");
    FILE *file = NULL;
    Report report = {json || command_has(line, "output") ? json_array() : NULL, !json};
    SelfTest test = {.steps = 10,
                     .large = command_has(line, "large"),
                     .quick = command_has(line, "quick"),
                     .report = print_result,
                     .context = &report};
    Error unwritten = {0};
    Status status = command_small_int(line, "steps", 1, 1000, &test.steps, err);
    if (test.quick) test.steps = 1;
    if (status == STATUS_OK)
        status = device_open(command_text(line, "reference", "cpu:base"), line->threads, &test.reference, err);
    if (status == STATUS_OK) status = command_open_device(line, &test.device, err);
    if (status == STATUS_OK) status = open_output(line, &file, err);
    if (status == STATUS_OK) {
        status = run_tests(&test, report.table, err);
        Status written = give_results(line, &test, report.rows, file, &unwritten);
        if (written != STATUS_OK && status == STATUS_OK) {
            *err = unwritten;
            status = written;
        }
    }
    json_decref(report.rows);
    device_close(test.device);
    device_close(test.reference);
    return status;
}

const Command command_selftest = {
    .name = "selftest",
    .summary = "compare a device's results with those of the CPU's baseline code",
    .arguments = "",
    .flags = flags,
    .details = "Compares nearest neighbours entry by entry, simulator and rasterisers in f32 and f64, every op forward "
               "and backward "
               "(twice,\nfor equal bits), and training steps of small models, in each model.precision of the device, "
               "on synthetic data.\nExit "
               "status 1 when a difference exceeds its tolerance.",
    .run = run_selftest,
};
