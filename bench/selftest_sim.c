// SPDX-License-Identifier: Apache-2.0
#include "bench/selftest.h"
#include "bench/sim_cases.h"
#include "device/sim_options.h"

#include <stdio.h>

// Compares the device with test->reference (`result`), and a second run on the device with its first (`again`).
static Status compare_case(const SelfTest *test, const SimCase *c, SimPrecision precision, SelfTestResult *result,
                           SelfTestResult *again, Error *err) {
    const SimOptions reference = sim_options_of(test->reference, precision),
                     options = sim_options_of(test->device, precision);
    SimCaseRun expected, found[2] = {0};
    Error failure = {0};
    const char *where = "";
    char text[96];
    Status status = sim_case_run(c, &reference, &expected, err), ran = status;
    for (int i = 0; i < 2 && ran == STATUS_OK; i++) ran = sim_case_run(c, &options, &found[i], &failure);
    if (status == STATUS_OK && ran != STATUS_OK) selftest_note_failure(result, c->name, failure.text);
    if (ran == STATUS_OK) {
        const double error = sim_case_error(&expected, &found[0], &where);
        snprintf(text, sizeof text, "%s: %s", c->name, where);
        selftest_note(result, text, error);
        selftest_note(again, c->name, sim_case_error(&found[0], &found[1], &where));
    }
    sim_case_run_free(&expected);
    for (int i = 0; i < 2; i++) sim_case_run_free(&found[i]);
    return status;
}

Status selftest_sim(SelfTest *test, Error *err) {
    static const char *const parts[2] = {"sim f32", "sim f64"};
    Status status = STATUS_OK;
    SelfTestResult again = {.part = "again", .name = "sim"};
    for (SimPrecision p = SIM_F32; p <= SIM_F64; p++)
        for (size_t i = 0; i < sim_case_count && status == STATUS_OK; i++) {
            const SimCase *c = &sim_cases[i];
            SelfTestResult result = {.part = parts[p], .name = c->name, .allowed = c->allowed[p]};
            status = compare_case(test, c, p, &result, &again, err);
            if (status == STATUS_OK) selftest_report(test, &result);
        }
    if (status == STATUS_OK) selftest_report(test, &again);
    return status;
}
