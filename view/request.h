// SPDX-License-Identifier: Apache-2.0
// Reads what requests say; none of it is trusted.
#ifndef VPD_VIEW_REQUEST_H
#define VPD_VIEW_REQUEST_H

#include "view/live.h"

#include <jansson.h>
#include <stdbool.h>

// "127.0.0.1", "localhost" or "[::1]", with any port: an SSH tunnel may have another one.
bool request_is_loopback(const char *host);
// A whole number of at most 12 digits. `text` may be NULL, here and below.
bool request_number(const char *text, long *out);
// `count` finite numbers with commas between.
bool request_numbers(const char *text, double *out, int count);
// The value of one key: a query's argument; NULL if there is none.
typedef const char *RequestArgument(void *owner, const char *name);
bool request_picture(RequestArgument *argument, void *owner, LivePicture *out);

// A name for a dropped file: letters, digits, "_", "-" and ".", which does not begin it; ".h5" at the end.
bool request_file_name(const char *name);

// A job, or steps more of result `id`. job.edits points into `object`.
typedef struct JobRequest {
    json_t *object;
    LiveJob job;
    long id;
    size_t more; // 0: it is a job
} JobRequest;

// A selection; select.where points into `object`.
typedef struct SelectRequest {
    json_t *object;
    LiveSelect select;
} SelectRequest;

// Another episode; its name points into `object`.
typedef struct EpisodeRequest {
    json_t *object;
    const char *episode;
    int start, steps; // start -1: the earliest
} EpisodeRequest;

// json_decref out->object after use, also after an error.
Status request_job(const char *text, size_t size, JobRequest *out, Error *err);
Status request_select(const char *text, size_t size, SelectRequest *out, Error *err);
Status request_episode(const char *text, size_t size, EpisodeRequest *out, Error *err);

#endif
