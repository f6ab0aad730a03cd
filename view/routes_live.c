// SPDX-License-Identifier: Apache-2.0
// Scenes that can be edited and simulated.
#include "base/json.h"
#include "view/answer.h"
#include "view/request.h"

#include <string.h>

static Answer send_facts(Live *live, struct MHD_Connection *connection) {
    char *text = NULL;
    Error err = {0};
    Status status = live_facts(live, &text, &err);
    return answer_json(connection, status, text, &err);
}

static Answer send_scene(Live *live, struct MHD_Connection *connection) {
    long id = 0;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!answer_number(connection, "id", &id)) return answer_refuse(connection, 400, "expected ?id=NUMBER");
    Status status = live_scene(live, id < LIVE_SCENES_MAX ? (int)id : LIVE_SCENES_MAX, &bytes, &err);
    return answer_result(connection, status, "application/octet-stream", &bytes, &err);
}

static Answer send_result(Live *live, struct MHD_Connection *connection) {
    long id = 0, from = 0;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!answer_number(connection, "id", &id) || !answer_number(connection, "from", &from))
        return answer_refuse(connection, 400, "expected ?id=NUMBER&from=NUMBER");
    Status status = live_result(live, id, (size_t)from, &bytes, &err);
    return answer_result(connection, status, "application/octet-stream", &bytes, &err);
}

static Answer send_recorded(Live *live, struct MHD_Connection *connection) {
    long scene, step, camera;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!answer_number(connection, "scene", &scene) || !answer_number(connection, "step", &step) ||
        !answer_number(connection, "camera", &camera) || scene >= LIVE_SCENES_MAX || camera > INT16_MAX)
        return answer_refuse(connection, 400, "expected ?scene, step and camera");
    Status status = live_recorded(live, (int)scene, (size_t)step, (int)camera, &bytes, &err);
    return answer_result(connection, status, "image/png", &bytes, &err);
}

static Answer send_picture(Live *live, struct MHD_Connection *connection) {
    LivePicture picture = {0};
    ViewBytes bytes = {0};
    Error err = {0};
    if (!request_picture(answer_argument, connection, &picture))
        return answer_refuse(connection, 400, "expected ?scene or result, step, width, height, focal and pose");
    Status status = live_picture(live, &picture, &bytes, &err);
    return answer_result(connection, status, "image/png", &bytes, &err);
}

static Answer send_file(Live *live, struct MHD_Connection *connection) {
    long id = 0;
    char *bytes = NULL;
    size_t size = 0;
    Error err = {0};
    if (!answer_number(connection, "id", &id)) return answer_refuse(connection, 400, "expected ?id=NUMBER");
    Status status = live_file(live, id, &bytes, &size, &err);
    return answer_result(connection, status, "application/octet-stream", &(ViewBytes){(unsigned char *)bytes, size},
                         &err);
}

Answer routes_live_get(Live *live, struct MHD_Connection *connection, const char *path) {
    if (!strcmp(path, "/api/facts")) return send_facts(live, connection);
    if (!strcmp(path, "/api/scene")) return send_scene(live, connection);
    if (!strcmp(path, "/api/result")) return send_result(live, connection);
    if (!strcmp(path, "/api/picture")) return send_picture(live, connection);
    if (!strcmp(path, "/api/recorded")) return send_recorded(live, connection);
    if (!strcmp(path, "/api/rollout.h5")) return send_file(live, connection);
    return answer_refuse(connection, 404, "there is no such page");
}

static Status begin_job(Live *live, const char *body, size_t size, long *id, Error *err) {
    JobRequest request;
    Status status = request_job(body, size, &request, err);
    *id = request.id;
    if (status == STATUS_OK)
        status =
            request.more > 0 ? live_more(live, request.id, request.more, err) : live_ask(live, &request.job, id, err);
    json_decref(request.object);
    return status;
}

Answer routes_live_post(Live *live, struct MHD_Connection *connection, const char *path, const char *body,
                        size_t size) {
    long id = 0;
    Error err = {0};
    if (strcmp(path, "/api/jobs") != 0) return answer_refuse(connection, 404, "there is no such page");
    Status status = begin_job(live, body, size, &id, &err);
    json_t *object = status == STATUS_OK ? json_pack("{s:I}", "id", (json_int_t)id) : NULL;
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return answer_json(connection, status, text, &err);
}
