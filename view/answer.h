// SPDX-License-Identifier: Apache-2.0
// Answers of the server (view/server.c) and of what it serves: scenes (view/routes_live.c), runs (view/routes_watch.c).
#ifndef VPD_VIEW_ANSWER_H
#define VPD_VIEW_ANSWER_H

#include "view/live.h"
#include "view/watch.h"

#include <microhttpd.h>

typedef enum MHD_Result Answer;

// A text that stays; `cookie` may be NULL.
Answer answer_page(struct MHD_Connection *connection, const char *type, const char *text, const char *cookie);
// {"error": why}
Answer answer_refuse(struct MHD_Connection *connection, unsigned code, const char *why);
// What a call gave: its bytes, which are freed after sending, or its error.
Answer answer_result(struct MHD_Connection *connection, Status status, const char *type, const ViewBytes *bytes,
                     const Error *err);
// The same for a text with a NUL behind it.
Answer answer_json(struct MHD_Connection *connection, Status status, char *text, const Error *err);

// An argument of the query.
const char *answer_argument(void *connection, const char *name);
bool answer_number(struct MHD_Connection *connection, const char *name, long *out);

// Below /api/.
Answer routes_live_get(Live *live, struct MHD_Connection *connection, const char *path);
Answer routes_live_post(Live *live, struct MHD_Connection *connection, const char *path, const char *body, size_t size);
Answer routes_watch_get(Watch *watch, struct MHD_Connection *connection, const char *path);
Answer routes_watch_post(Watch *watch, struct MHD_Connection *connection, const char *path, const char *body,
                         size_t size);

#endif
