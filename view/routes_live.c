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

typedef Status SceneReader(const Live *live, int scene, ViewBytes *out, Error *err);

static Answer send_scene(Live *live, struct MHD_Connection *connection, SceneReader *read) {
    long id = 0;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!answer_number(connection, "id", &id)) return answer_refuse(connection, 400, "expected ?id=NUMBER");
    Status status = read(live, id < LIVE_SCENES_MAX ? (int)id : LIVE_SCENES_MAX, &bytes, &err);
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

static bool read_camera(struct MHD_Connection *connection, long *scene, long *step, long *camera) {
    return answer_number(connection, "scene", scene) && answer_number(connection, "step", step) &&
           answer_number(connection, "camera", camera) && *scene < LIVE_SCENES_MAX && *camera <= INT16_MAX;
}

static Answer send_object(struct MHD_Connection *connection, Status status, json_t *object, const Error *err) {
    char *text = object && status == STATUS_OK ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return answer_json(connection, status, text, err);
}

static Answer send_psnr(Live *live, struct MHD_Connection *connection) {
    long scene, step, camera;
    double psnr = 0;
    Error err = {0};
    if (!read_camera(connection, &scene, &step, &camera))
        return answer_refuse(connection, 400, "expected ?scene, step and camera");
    Status status = live_psnr(live, (int)scene, (size_t)step, (int)camera, &psnr, &err);
    return send_object(connection, status, json_pack("{s:o}", "psnr", json_finite(psnr)), &err);
}

static Answer send_recorded(Live *live, struct MHD_Connection *connection) {
    long scene, step, camera;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!read_camera(connection, &scene, &step, &camera))
        return answer_refuse(connection, 400, "expected ?scene, step and camera");
    Status status = live_recorded(live, (int)scene, (size_t)step, (int)camera, &bytes, &err);
    return answer_result(connection, status, "image/png", &bytes, &err);
}

static Answer send_picture(Live *live, struct MHD_Connection *connection) {
    LivePicture picture = {0};
    ViewBytes bytes = {0};
    Error err = {0};
    if (!request_picture(answer_argument, connection, &picture))
        return answer_refuse(connection, 400, "expected ?scene or result, step, width, height, focal, middle and pose");
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
    if (!strcmp(path, "/api/scene")) return send_scene(live, connection, live_scene);
    if (!strcmp(path, "/api/truth")) return send_scene(live, connection, live_truth);
    if (!strcmp(path, "/api/result")) return send_result(live, connection);
    if (!strcmp(path, "/api/picture")) return send_picture(live, connection);
    if (!strcmp(path, "/api/psnr")) return send_psnr(live, connection);
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

static Answer post_job(Live *live, struct MHD_Connection *connection, const char *body, size_t size) {
    long id = 0;
    Error err = {0};
    Status status = begin_job(live, body, size, &id, &err);
    return send_object(connection, status, json_pack("{s:I}", "id", (json_int_t)id), &err);
}

static Answer post_stop(Live *live, struct MHD_Connection *connection, const char *body, size_t size) {
    JobRequest request;
    Error err = {0};
    Status status = request_job(body, size, &request, &err);
    if (status == STATUS_OK) live_stop(live, request.id);
    json_decref(request.object);
    return send_object(connection, status, json_object(), &err);
}

static Answer post_check(Live *live, struct MHD_Connection *connection, const char *body, size_t size) {
    JobRequest request;
    Error err = {0};
    Status status = request_job(body, size, &request, &err);
    if (status == STATUS_OK) status = live_try(live, &request.job, &err);
    json_decref(request.object);
    return send_object(connection, status, json_object(), &err);
}

static Answer post_select(Live *live, struct MHD_Connection *connection, const char *body, size_t size) {
    SelectRequest request;
    ViewBytes bytes = {0};
    Error err = {0};
    Status status = request_select(body, size, &request, &err);
    if (status == STATUS_OK) status = live_select(live, &request.select, &bytes, &err);
    json_decref(request.object);
    return answer_result(connection, status, "application/octet-stream", &bytes, &err);
}

static Answer post_episode(Live *live, struct MHD_Connection *connection, const char *body, size_t size) {
    EpisodeRequest request;
    Error err = {0};
    Status status = request_episode(body, size, &request, &err);
    if (status == STATUS_OK) status = live_episode(live, request.episode, request.start, request.steps, &err);
    json_decref(request.object);
    return send_object(connection, status, json_object(), &err);
}

Answer routes_live_post(Live *live, struct MHD_Connection *connection, const char *path, const char *body,
                        size_t size) {
    if (!strcmp(path, "/api/jobs")) return post_job(live, connection, body, size);
    if (!strcmp(path, "/api/stop")) return post_stop(live, connection, body, size);
    if (!strcmp(path, "/api/check")) return post_check(live, connection, body, size);
    if (!strcmp(path, "/api/select")) return post_select(live, connection, body, size);
    if (!strcmp(path, "/api/episode")) return post_episode(live, connection, body, size);
    return answer_refuse(connection, 404, "there is no such page");
}
