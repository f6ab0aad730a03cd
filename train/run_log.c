// SPDX-License-Identifier: Apache-2.0
#include "train/run_log.h"

#include "base/file.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define LINES_MAX ((size_t)1 << 32) // largest size of metrics.jsonl in bytes

// ---- what a resumed run keeps

// Whether this is a complete line of a step up to `last`, and not of an evaluation of that step that will be repeated.
static bool is_kept(const char *line, size_t length, long last, bool evaluated) {
    json_t *object = json_loadb(line, length, JSON_REJECT_DUPLICATES, NULL);
    const json_t *step = json_object_get(object, "step"); // NULL of NULL
    const char *kind = json_string_value(json_object_get(object, "kind"));
    bool kept = json_is_integer(step) && json_integer_value(step) <= last;
    if (kept && !evaluated && json_integer_value(step) == last) kept = !kind || strcmp(kind, "eval") != 0;
    json_decref(object);
    return kept;
}

// Rewrites metrics.jsonl up to step `last`. A last line without newline was cut by a crash.
static Status drop_later_lines(const char *path, long last, bool evaluated, Error *err) {
    char *text = NULL;
    size_t length = 0, kept = 0;
    if (!file_exists(path)) return STATUS_OK;
    Status status = file_read_all(path, LINES_MAX, &text, &length, err);
    if (status != STATUS_OK) return status;
    for (size_t at = 0; at < length;) {
        char *newline = memchr(text + at, '\n', length - at);
        if (!newline) break;
        size_t size = (size_t)(newline - (text + at));
        if (is_kept(text + at, size, last, evaluated)) {
            memmove(text + kept, text + at, size + 1);
            kept += size + 1;
        }
        at += size + 1;
    }
    if (kept != length) status = file_write_bytes(path, text, kept, err);
    free(text);
    return status;
}

Status run_log_check_new(const char *folder, Error *err) {
    struct stat info;
    char path[FILE_PATH_SIZE];
    Status status = file_join(path, sizeof path, folder, "metrics.jsonl", err);
    if (status != STATUS_OK || stat(path, &info) != 0 || info.st_size == 0) return status;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: this folder holds a run already; continue it with --resume, or choose another train.out",
                     path);
}

// ---- opening and closing

static double wall_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

Status run_log_open(RunLog *log, const char *folder, long resumed_step, bool evaluated, Error *err) {
    *log = (RunLog){0};
    Status status = file_make_folders(folder, err);
    if (status == STATUS_OK) status = file_join(log->path, sizeof log->path, folder, "metrics.jsonl", err);
    if (status == STATUS_OK)
        status = resumed_step < 0 ? run_log_check_new(folder, err)
                                  : drop_later_lines(log->path, resumed_step, evaluated, err);
    if (status == STATUS_OK) {
        log->lines = fopen(log->path, "ae");
        if (!log->lines) status = file_error(err, log->path, "write", errno);
    }
    if (status == STATUS_OK)
        status = tensorboard_open(&log->events, folder, wall_time(), resumed_step < 0 ? -1 : resumed_step + 1, err);
    if (status != STATUS_OK) run_log_close(log);
    return status;
}

void run_log_close(RunLog *log) {
    if (log->lines) fclose(log->lines);
    tensorboard_close(&log->events);
    json_decref(log->line);
    *log = (RunLog){0};
}

// ---- one line

void run_log_begin(RunLog *log, const char *kind, long step) {
    json_decref(log->line);
    log->problem = (Error){0};
    log->step = step;
    snprintf(log->kind, sizeof log->kind, "%s", kind);
    log->line = json_pack("{s:I, s:s}", "step", (json_int_t)step, "kind", kind);
    if (!log->line) error_set(&log->problem, STATUS_FAILED, "%s: out of memory", log->path);
}

static void set(RunLog *log, const char *key, json_t *value) {
    if (log->problem.status != STATUS_OK) json_decref(value);
    else if (json_object_set_new(log->line, key, value))
        error_set(&log->problem, STATUS_FAILED, "%s: out of memory for \"%s\", or it is not UTF-8", log->path, key);
}

static void scalar(RunLog *log, const char *key, long index, double value) {
    char tag[128];
    if (log->problem.status != STATUS_OK) return;
    if (index < 0) snprintf(tag, sizeof tag, "%s/%s", log->kind, key);
    else snprintf(tag, sizeof tag, "%s/%s/%ld", log->kind, key, index);
    tensorboard_scalar(&log->events, wall_time(), log->step, tag, value, &log->problem);
}

void run_log_number(RunLog *log, const char *key, double value) {
    set(log, key, json_finite(value));
    scalar(log, key, -1, value);
}

void run_log_integer(RunLog *log, const char *key, long long value) {
    set(log, key, json_integer(value));
    scalar(log, key, -1, (double)value);
}

void run_log_numbers(RunLog *log, const char *key, size_t count, const double *values) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(list, json_finite(values[i]));
        scalar(log, key, (long)i, values[i]);
    }
    set(log, key, list);
}

void run_log_text(RunLog *log, const char *key, const char *text) { set(log, key, json_string(text)); }

static void tell_listener(RunLog *log) {
    char *text = json_dumps(log->line, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (!text) error_set(&log->problem, STATUS_FAILED, "%s: out of memory for a line", log->path);
    else if (log->listener.line(log->listener.owner, text)) log->asked_to_end = true;
    free(text);
}

Status run_log_end(RunLog *log, Error *err) {
    if (log->problem.status == STATUS_OK) {
        errno = 0;
        Status status = json_write_line(log->lines, json_incref(log->line), &log->problem);
        if (status != STATUS_OK || fflush(log->lines))
            file_error(&log->problem, log->path, "write", errno ? errno : EIO);
    }
    if (log->problem.status == STATUS_OK) tensorboard_flush(&log->events, &log->problem);
    if (log->problem.status == STATUS_OK && log->listener.line) tell_listener(log);
    json_decref(log->line);
    log->line = NULL;
    if (log->problem.status == STATUS_OK) return STATUS_OK;
    return error_set(err, log->problem.status, "%s", log->problem.text);
}

Status run_log_picture(RunLog *log, long step, const char *tag, const Image *image, Error *err) {
    Status status = tensorboard_image(&log->events, wall_time(), step, tag, image, err);
    return status == STATUS_OK ? tensorboard_flush(&log->events, err) : status;
}
