// SPDX-License-Identifier: Apache-2.0
#include "lab/fit_log.h"

#include "base/file.h"
#include "base/json.h"

typedef struct Steps {
    const FitFree *free;
    const FitResult *result;
} Steps;

static bool write_steps(FILE *file, void *context) {
    const Steps *steps = context;
    const FitResult *r = steps->result;
    bool good = true;
    for (size_t s = 0; s < r->steps && good; s++) {
        json_t *values = json_object();
        for (size_t i = 0; i < r->count; i++)
            json_object_set_new(values, steps->free->variable[i].name, json_finite(r->path[s * r->count + i]));
        json_t *line = json_pack("{s:s s:I s:I s:o s:o}", "kind", "fit", "step", (json_int_t)s, "frames",
                                 (json_int_t)r->step[s].frames, "rms", json_finite(r->step[s].rms), "values", values);
        good = json_write_line(file, line, NULL) == STATUS_OK;
    }
    return good;
}

Status fit_write_log(const FitFree *free, const FitResult *result, const char *path, Error *err) {
    Steps steps = {free, result};
    return file_write_stream(path, write_steps, &steps, err);
}
