// SPDX-License-Identifier: Apache-2.0
#include "datasets/check_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { FINDINGS_MAX = 200 }; // listed of errors, and of notes

void check_add_finding(CheckReport *report, bool wrong, const char *format, ...) {
    int *count = wrong ? &report->wrong_count : &report->note_count;
    if (++*count > FINDINGS_MAX) return;
    if (report->finding_count == report->finding_capacity) {
        int capacity = 2 * report->finding_capacity + 8;
        Finding *grown = realloc(report->findings, (size_t)capacity * sizeof *grown);
        if (!grown) return;
        report->findings = grown;
        report->finding_capacity = capacity;
    }
    Finding *finding = &report->findings[report->finding_count++];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    finding->wrong = wrong;
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
