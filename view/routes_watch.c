// SPDX-License-Identifier: Apache-2.0
// Training runs.
#include "base/json.h"
#include "view/answer.h"

#include <stdlib.h>
#include <string.h>

static const char *run_of(struct MHD_Connection *connection) { return answer_argument(connection, "run"); }

static Answer send_facts(Watch *watch, struct MHD_Connection *connection) {
    char *text = NULL;
    Error err = {0};
    Status status = watch_facts(watch, &text, &err);
    return answer_json(connection, status, text, &err);
}

static Answer send_metrics(Watch *watch, struct MHD_Connection *connection) {
    long from = 0;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!answer_number(connection, "from", &from)) return answer_refuse(connection, 400, "expected ?run and from");
    Status status = watch_metrics(watch, run_of(connection), (size_t)from, &bytes, &err);
    return answer_result(connection, status, "application/x-ndjson", &bytes, &err);
}

static Answer send_scene(Watch *watch, struct MHD_Connection *connection) {
    ViewBytes bytes = {0};
    Error err = {0};
    const char *which = answer_argument(connection, "which");
    Status status = watch_scene(watch, run_of(connection), which && !strcmp(which, "truth"), &bytes, &err);
    return answer_result(connection, status, "application/octet-stream", &bytes, &err);
}

typedef Status FileReader(Watch *watch, const char *run, ViewBytes *out, Error *err);

static Answer send_file(Watch *watch, struct MHD_Connection *connection, FileReader *read, const char *type) {
    ViewBytes bytes = {0};
    Error err = {0};
    Status status = read(watch, run_of(connection), &bytes, &err);
    return answer_result(connection, status, type, &bytes, &err);
}

Answer routes_watch_get(Watch *watch, struct MHD_Connection *connection, const char *path) {
    if (!strcmp(path, "/api/facts")) return send_facts(watch, connection);
    if (!strcmp(path, "/api/metrics")) return send_metrics(watch, connection);
    if (!strcmp(path, "/api/scene")) return send_scene(watch, connection);
    if (!strcmp(path, "/api/options")) return send_file(watch, connection, watch_options, "text/plain; charset=utf-8");
    if (!strcmp(path, "/api/picture")) return send_file(watch, connection, watch_picture, "image/gif");
    return answer_refuse(connection, 404, "there is no such page");
}

Answer routes_watch_post(Watch *watch, struct MHD_Connection *connection, const char *path, const char *body,
                         size_t size) {
    Error err = {0};
    if (strcmp(path, "/api/wish") != 0) return answer_refuse(connection, 404, "there is no such page");
    json_t *object = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
    const char *wish = json_string_value(json_object_get(object, "wish"));
    Status status = watch_ask(watch, wish ? wish : "", &err);
    json_decref(object);
    return answer_json(connection, status, status == STATUS_OK ? strdup("{}") : NULL, &err);
}
