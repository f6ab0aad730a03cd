// SPDX-License-Identifier: Apache-2.0
#include "view/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool request_is_loopback(const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0) continue;
        const char *rest = host + length;
        if (!*rest || (*rest == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1))) return true;
    }
    return false;
}

bool request_number(const char *text, long *out) {
    size_t length = text ? strlen(text) : 0;
    if (length < 1 || length > 12 || strspn(text, "0123456789") != length) return false;
    *out = strtol(text, NULL, 10);
    return true;
}

bool request_numbers(const char *text, double *out, int count) {
    char *end = NULL;
    for (int i = 0; text && i < count; i++) {
        out[i] = strtod(text, &end);
        bool good = end != text && isfinite(out[i]) && *end == (i + 1 < count ? ',' : 0);
        text = good ? end + 1 : NULL;
    }
    return text != NULL;
}

bool request_file_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    size_t length = name ? strlen(name) : 0;
    return length > 3 && length < LIVE_NAME_SIZE && name[0] != '.' && strspn(name, letters) == length &&
           !strcmp(name + length - 3, ".h5");
}

bool request_picture(RequestArgument *argument, void *owner, LivePicture *out) {
    long scene = -1, step, width, height;
    double focal, middle;
    *out = (LivePicture){0};
    bool of_scene = request_number(argument(owner, "scene"), &scene);
    bool good = (of_scene || request_number(argument(owner, "result"), &out->id)) &&
                request_number(argument(owner, "step"), &step) && request_number(argument(owner, "width"), &width) &&
                request_number(argument(owner, "height"), &height) && width <= LIVE_PICTURE_SIDE &&
                height <= LIVE_PICTURE_SIDE && request_numbers(argument(owner, "focal"), &focal, 1) &&
                request_numbers(argument(owner, "middle"), &middle, 1) &&
                request_numbers(argument(owner, "pose"), out->view.world_from_camera, 16);
    if (!good) return false;
    out->scene = of_scene ? (int)(scene < LIVE_SCENES_MAX ? scene : LIVE_SCENES_MAX) : -1;
    out->step = (size_t)step;
    out->view.struct_size = sizeof out->view;
    out->view.W = (int)width;
    out->view.H = (int)height;
    const double K[9] = {focal, 0, (double)width / 2, 0, focal, middle, 0, 0, 1};
    memcpy(out->view.intrinsics, K, sizeof K);
    return true;
}

static bool whole(json_t *object, const char *key, json_int_t max, json_int_t *out) {
    json_t *value = json_object_get(object, key);
    *out = value ? json_integer_value(value) : 0;
    return (!value || json_is_integer(value)) && *out >= 0 && *out <= max;
}

Status request_job(const char *text, size_t size, JobRequest *out, Error *err) {
    json_int_t scene, step, steps, more, of;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL), *edits = json_object_get(object, "edits");
    *out = (JobRequest){.object = object};
    bool good = json_is_object(object) && whole(object, "scene", LIVE_SCENES_MAX, &scene) &&
                whole(object, "step", 1 << 30, &step) && whole(object, "steps", LIVE_STEPS_MAX, &steps) &&
                whole(object, "more", LIVE_STEPS_MAX, &more) && whole(object, "id", 1LL << 40, &of) &&
                (!edits || json_is_string(edits));
    if (!good)
        return error_set(
            err, STATUS_BAD_INPUT,
            "expected {\"scene\", \"step\", \"edits\", \"steps\"} or {\"id\", \"more\"}, with at most %d steps",
            LIVE_STEPS_MAX);
    out->job = (LiveJob){(int)scene, (size_t)step, edits ? json_string_value(edits) : "", (size_t)steps};
    out->id = (long)of;
    out->more = (size_t)more;
    return STATUS_OK;
}

Status request_select(const char *text, size_t size, SelectRequest *out, Error *err) {
    json_int_t scene, id, step;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const char *where = json_string_value(json_object_get(object, "where"));
    *out = (SelectRequest){.object = object};
    if (!json_is_object(object) || !where || !*where || !whole(object, "scene", LIVE_SCENES_MAX, &scene) ||
        !whole(object, "result", 1LL << 40, &id) || !whole(object, "step", 1 << 30, &step))
        return error_set(err, STATUS_BAD_INPUT, "expected {\"scene\" or \"result\", \"step\", \"where\"}");
    out->select = (LiveSelect){id > 0 ? -1 : (int)scene, (long)id, (size_t)step, where};
    return STATUS_OK;
}

Status request_episode(const char *text, size_t size, EpisodeRequest *out, Error *err) {
    json_int_t start, steps;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const char *episode = json_string_value(json_object_get(object, "episode"));
    *out = (EpisodeRequest){.object = object, .episode = episode};
    if (!json_is_object(object) || !episode || !whole(object, "start", 1 << 30, &start) ||
        !whole(object, "steps", LIVE_STEPS_MAX, &steps))
        return error_set(err, STATUS_BAD_INPUT, "expected {\"episode\", \"start\", \"steps\"}, at most %d steps",
                         LIVE_STEPS_MAX);
    out->start = json_object_get(object, "start") ? (int)start : -1;
    out->steps = (int)steps;
    return STATUS_OK;
}
