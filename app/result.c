// SPDX-License-Identifier: Apache-2.0
#include "app/result.h"

#include "base/clock.h"
#include "datasets/json.h"

#include <stdarg.h>

// "command" first, "seconds" last.
Status result_json(const CommandLine *line, json_t *object, Error *err) {
    json_t *all = object ? json_pack("{s:s}", "command", line->command->name) : NULL;
    bool good = all && json_object_update(all, object) == 0 &&
                json_object_set_new(all, "seconds", json_finite(clock_now() - line->started)) == 0;
    json_decref(object);
    if (good) return json_write_line(stdout, all, err);
    json_decref(all);
    return error_set(err, STATUS_FAILED, "--json: a path or name is no UTF-8, or memory ran out");
}

Status result_tell(const CommandLine *line, json_t *object, ResultPlace place, Error *err, const char *format, ...) {
    char text[4096 + 512];
    va_list args;
    if (command_has(line, "json")) return result_json(line, object, err);
    json_decref(object);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (place == RESULT_STDOUT) puts(text);
    else log_note(&line->log, "%s", text);
    return STATUS_OK;
}

Status result_of_dataset(const CommandLine *line, const char *path, json_t **out, Error *err) {
    *out = NULL;
    return command_has(line, "json") ? dataset_written_json(path, out, err) : STATUS_OK;
}
