// SPDX-License-Identifier: Apache-2.0
// The reports of several processes as one: sums are added, in the order of the ranks.
#include "infer/report.h"

#include <stdlib.h>

// Numbers of a report on their way to a flat list, or back from it.
typedef struct Numbers {
    double *list;
    size_t at;
    bool back;
} Numbers;

static void number(Numbers *n, double *value) {
    if (n->back) *value = n->list[n->at++];
    else n->list[n->at++] = *value;
}

static void count(Numbers *n, size_t *value) {
    double as = (double)*value;
    number(n, &as);
    *value = (size_t)as;
}

static void mean(Numbers *n, Mean *value) {
    number(n, &value->sum);
    number(n, &value->square);
    count(n, &value->count);
    count(n, &value->rejected);
}

static void line_fit(Numbers *n, LineFit *fit) {
    double *values[] = {&fit->x, &fit->y, &fit->xx, &fit->xy, &fit->yy};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) number(n, values[i]);
    count(n, &fit->count);
}

static void tally(Numbers *n, MotionTally *t) {
    Mean *means[] = {&t->error,         &t->centre_error, &t->point_error, &t->true_motion,
                     &t->centre_motion, &t->spread,       &t->floor_drift};
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) mean(n, means[i]);
    line_fit(n, &t->horizontal);
    line_fit(n, &t->vertical);
    count(n, &t->unseen);
    count(n, &t->ignored);
    count(n, &t->rejected);
}

static void whole(Numbers *n, Report *report, size_t cells, size_t tallies) {
    size_t rollouts = (size_t)report->rollouts;
    for (size_t c = 0; c < cells; c++)
        for (int r = 0; r < REGION_COUNT; r++)
            for (int m = 0; m < METRIC_COUNT; m++) mean(n, &report->cells[c].value[r][m]);
    for (size_t i = 0; i < tallies; i++) tally(n, &report->motion[i]);
    count(n, &rollouts);
    report->rollouts = (int)rollouts;
}

Status report_join(Report *report, Ranks *ranks, Error *err) {
    size_t steps = (size_t)report->steps + 1, tallies = METHOD_COUNT * steps,
           cells = METHOD_COUNT * GROUP_COUNT * steps * (size_t)report->views,
           room =
               cells * sizeof *report->cells / sizeof(double) + tallies * sizeof *report->motion / sizeof(double) + 1;
    Numbers n = {.list = ranks ? malloc(room * sizeof(double)) : NULL};
    if (!ranks) return STATUS_OK;
    if (!n.list) return error_set(err, STATUS_FAILED, "out of memory for a report");
    whole(&n, report, cells, tallies);
    Status status = ranks_sum(ranks, n.list, n.at, err);
    n.at = 0, n.back = true;
    if (status == STATUS_OK) whole(&n, report, cells, tallies);
    free(n.list);
    return status;
}
