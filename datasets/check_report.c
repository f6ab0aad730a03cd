// SPDX-License-Identifier: Apache-2.0
#include "datasets/check_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINDINGS_MAX = 200 }; // listed of errors, and of notes

// A finding before which `before` are listed; NULL without memory.
static Finding *insert(CheckReport *report, int before) {
    if (report->finding_count == report->finding_capacity) {
        int capacity = 2 * report->finding_capacity + 8;
        Finding *grown = realloc(report->findings, (size_t)capacity * sizeof *grown);
        if (!grown) return NULL;
        report->findings = grown;
        report->finding_capacity = capacity;
    }
    Finding *finding = &report->findings[before];
    memmove(finding + 1, finding, (size_t)(report->finding_count++ - before) * sizeof *finding);
    return finding;
}

static void fill(Finding *finding, bool wrong, const char *format, va_list arguments) {
    if (!finding) return;
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    finding->wrong = wrong;
}

void check_add_finding(CheckReport *report, bool wrong, const char *format, ...) {
    int *count = wrong ? &report->wrong_count : &report->note_count;
    if (++*count > FINDINGS_MAX) return;
    va_list arguments;
    va_start(arguments, format);
    fill(insert(report, report->finding_count), wrong, format, arguments);
    va_end(arguments);
}

void check_add_cause(CheckReport *report, const char *format, ...) {
    report->wrong_count++;
    va_list arguments;
    va_start(arguments, format);
    fill(insert(report, 0), true, format, arguments);
    va_end(arguments);
}

bool check_report_fails(const CheckReport *report) { return report->wrong_count > 0; }

int check_report_unlisted(const CheckReport *report) {
    return report->wrong_count + report->note_count - report->finding_count;
}

void check_report_free(CheckReport *report) {
    free(report->episodes);
    free(report->pairs);
    free(report->findings);
    *report = (CheckReport){0};
}
