// SPDX-License-Identifier: Apache-2.0
#include "view/answer.h"

#include "base/json.h"
#include "view/request.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char *const HEADERS[][2] = {
    {"Content-Security-Policy", "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; "
                                "base-uri 'none'; form-action 'none'; object-src 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

static Answer answer(struct MHD_Connection *connection, unsigned code, const char *type, void *bytes, size_t size,
                     enum MHD_ResponseMemoryMode mode, const char *cookie) {
    struct MHD_Response *response = MHD_create_response_from_buffer(size, bytes, mode);
    if (!response) {
        if (mode == MHD_RESPMEM_MUST_FREE) free(bytes);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++)
        MHD_add_response_header(response, HEADERS[i][0], HEADERS[i][1]);
    if (cookie) MHD_add_response_header(response, "Set-Cookie", cookie);
    Answer result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static Answer answer_bytes(struct MHD_Connection *connection, const char *type, void *bytes, size_t size) {
    return answer(connection, 200, type, bytes, size, MHD_RESPMEM_MUST_FREE, NULL);
}

Answer answer_page(struct MHD_Connection *connection, const char *type, const char *text, const char *cookie) {
    return answer(connection, 200, type, (void *)(uintptr_t)text, strlen(text), MHD_RESPMEM_PERSISTENT, cookie);
}

Answer answer_refuse(struct MHD_Connection *connection, unsigned code, const char *why) {
    json_t *words = json_string(why);
    json_t *object = json_pack("{s:o}", "error", words ? words : json_string("refused"));
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) return MHD_NO;
    return answer(connection, code, "application/json", text, strlen(text), MHD_RESPMEM_MUST_FREE, NULL);
}

static Answer answer_error(struct MHD_Connection *connection, Status status, const Error *err) {
    return answer_refuse(connection, status == STATUS_BAD_INPUT ? 422 : 500, err->text);
}

Answer answer_result(struct MHD_Connection *connection, Status status, const char *type, const ViewBytes *bytes,
                     const Error *err) {
    if (status != STATUS_OK) return answer_error(connection, status, err);
    return answer_bytes(connection, type, bytes->data, bytes->size);
}

Answer answer_json(struct MHD_Connection *connection, Status status, char *text, const Error *err) {
    if (status != STATUS_OK) return answer_error(connection, status, err);
    return text ? answer_bytes(connection, "application/json", text, strlen(text)) : MHD_NO;
}

const char *answer_argument(void *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

bool answer_number(struct MHD_Connection *connection, const char *name, long *out) {
    return request_number(answer_argument(connection, name), out);
}
