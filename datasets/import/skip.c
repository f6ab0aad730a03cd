// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/stop.h"
#include "datasets/import/job.h"

#include <stdlib.h>
#include <string.h>

#define ADVICE "; --skip-bad leaves such pictures out"

void import_report_free(ImportReport *report) {
    for (size_t i = 0; i < report->bad; i++) free(report->why[i]);
    free(report->why);
    *report = (ImportReport){0};
}

// Adds a hint about --skip-bad to an error about a picture; a long sentence is shortened to make room for it.
Status job_advise_skip(const ImportJob *job, Status status, Error *err) {
    if (status != STATUS_BAD_INPUT || job->options->report || !err || strstr(err->text, ADVICE)) return status;
    Error before = *err;
    return error_set(err, status, "%.*s" ADVICE, (int)(sizeof before.text - sizeof ADVICE), before.text);
}

static Status find_file(const char *path, Error *err) {
    return !path || file_exists(path) ? STATUS_OK : file_check(path, IMAGE_FILE_MAX, err);
}

// Whether the picture's files exist. Fast, so a missing file is reported before anything is written.
static Status find_files(const PosedImage *image, Error *err) {
    Status status = find_file(image->colour, err);
    if (!status) status = find_file(image->depth, err);
    return status ? status : find_file(image->mask, err);
}

// Reads all pictures. why[i] becomes the error of number i, or NULL.
static Status probe_all(const PosedSet *set, char **why, Error *err) {
    Status status = STATUS_OK;
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t i = 0; i < set->count; i++) {
        Error own = {0};
        if (stop_requested()) continue;
        Status here = find_files(&set->images[i], &own);
        if (!here) here = picture_probe(set, &set->images[i], &own);
        if (here == STATUS_BAD_INPUT) why[i] = strdup(own.text);
        if (here && !why[i]) {
#pragma omp critical
            {
                if (!status && err) *err = own;
                status = here;
            }
        }
    }
    if (status) return status;
    return stop_requested() ? stop_error(err) : status;
}

static Status add_to_report(ImportReport *report, char *why, Error *err) {
    char **grown = realloc(report->why, (report->bad + 1) * sizeof *grown);
    if (grown) {
        report->why = grown;
        grown[report->bad++] = why;
        return STATUS_OK;
    }
    free(why);
    return error_set(err, STATUS_FAILED, "no memory for a list of pictures");
}

// A bad picture removes its view of a still scene, or its moment with the pictures of the other cameras.
static Status drop(ImportJob *job, char **why, Error *err) {
    PosedSet *set = &job->set;
    ImportReport *report = job->options->report;
    size_t before = set->count, groups = (size_t)(set->F == 1 ? set->V : set->F), kept = 0;
    bool *keep = malloc((groups + 1) * sizeof *keep);
    const char *first = NULL;
    Status status = keep ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: no memory to import it", job->path);
    if (status) return status;
    memset(keep, true, groups * sizeof *keep);
    for (size_t i = 0; !status && i < before; i++) {
        const PosedImage *image = &set->images[i];
        if (!why[i]) continue;
        keep[set->F == 1 ? image->view : image->frame] = false;
        if (!first) first = why[i];
        status = add_to_report(report, why[i], err);
        why[i] = NULL;
    }
    for (size_t i = 0; i < groups; i++) kept += keep[i];
    report->pictures += before;
    if (!status && kept == 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: none of the %zu pictures is usable; the first: %s", job->path,
                           before, first ? first : "none");
    else if (!status && kept < groups) status = posed_set_keep(set, keep, err);
    report->left_out += before - set->count;
    free(keep);
    return status;
}

Status job_drop_bad(ImportJob *job, Error *err) {
    PosedSet *set = &job->set;
    Status status = STATUS_OK;
    if (!job->options->report) {
        for (size_t i = 0; !status && i < set->count; i++) status = find_files(&set->images[i], err);
        return job_advise_skip(job, status, err);
    }
    size_t count = set->count;
    char **why = calloc(count + 1, sizeof *why);
    if (!why) return error_set(err, STATUS_FAILED, "%s: no memory to import it", job->path);
    status = probe_all(set, why, err);
    if (!status) status = drop(job, why, err);
    for (size_t i = 0; i < count; i++) free(why[i]);
    free(why);
    return status;
}
