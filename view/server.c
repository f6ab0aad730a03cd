// SPDX-License-Identifier: Apache-2.0
#include "view/server.h"

#include "base/clock.h"
#include "base/json.h"
#include "view/web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

enum {
    TOKEN_BYTES = 16,
    TOKEN_SIZE = 2 * TOKEN_BYTES + 1,
    PORTS = 32,
    CONNECTIONS = 128,
    HEADER_BYTES = 16384, // memory of a connection for the request line and headers
    BODY_BYTES = 65536,   // of a POST
    IDLE_SECONDS = 10,    // without a byte
    REQUEST_SECONDS = 10  // for a whole request
};

// A connection; `since` is when its present request began, 0 while an answer is sent.
typedef struct Slot {
    int socket; // -1: free
    double since;
} Slot;

struct Server {
    Live *live;
    struct MHD_Daemon *daemon;
    int port;
    char token[TOKEN_SIZE], cookie[TOKEN_SIZE], cookie_name[24];
    pthread_mutex_t lock; // guards `slots`
    Slot slots[CONNECTIONS];
};

typedef struct Request {
    char *body;
    size_t size;
    bool too_large;
} Request;

// ---- answers

static const char *const HEADERS[][2] = {
    {"Content-Security-Policy", "default-src 'self'; img-src 'self' data: blob:; frame-ancestors 'none'; "
                                "base-uri 'none'; form-action 'none'; object-src 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cache-Control", "no-store"},
};

static enum MHD_Result send_bytes(struct MHD_Connection *connection, unsigned code, const char *type, void *bytes,
                                  size_t size, enum MHD_ResponseMemoryMode mode, const char *cookie) {
    struct MHD_Response *response = MHD_create_response_from_buffer(size, bytes, mode);
    if (!response) {
        if (mode == MHD_RESPMEM_MUST_FREE) free(bytes);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", type);
    for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++)
        MHD_add_response_header(response, HEADERS[i][0], HEADERS[i][1]);
    if (cookie) MHD_add_response_header(response, "Set-Cookie", cookie);
    enum MHD_Result result = MHD_queue_response(connection, code, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_json(struct MHD_Connection *connection, unsigned code, json_t *object) {
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (!text) return MHD_NO;
    return send_bytes(connection, code, "application/json", text, strlen(text), MHD_RESPMEM_MUST_FREE, NULL);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *why) {
    json_t *words = json_string(why);
    return send_json(connection, code, json_pack("{s:o}", "error", words ? words : json_string("refused")));
}

static enum MHD_Result send_error(struct MHD_Connection *connection, Status status, const Error *err) {
    return refuse(connection, status == STATUS_BAD_INPUT ? 422 : 500, err->text);
}

// ---- who may ask

static bool same_secret(const char *given, const char *secret) {
    size_t length = given ? strlen(given) : 0;
    unsigned char different = length != TOKEN_SIZE - 1;
    for (size_t i = 0; i < TOKEN_SIZE - 1; i++)
        different |= (unsigned char)(given && i < length ? given[i] : 0) ^ (unsigned char)secret[i];
    return different == 0;
}

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

// "127.0.0.1", "localhost" or "[::1]", with any port: an SSH tunnel may have another one.
static bool is_loopback(const char *host) {
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if (strncasecmp(host, names[i], length) != 0) continue;
        const char *rest = host + length;
        if (!*rest || (*rest == ':' && strspn(rest + 1, "0123456789") == strlen(rest + 1))) return true;
    }
    return false;
}

// Pages of other sites may not ask: their names are not loopback's (DNS rebinding), and their Origin is another one.
static bool from_here(struct MHD_Connection *connection, bool changes) {
    const char *host = header(connection, "Host"), *origin = header(connection, "Origin"),
               *site = header(connection, "Sec-Fetch-Site");
    if (!is_loopback(host)) return false;
    if (site && strcmp(site, "same-origin") != 0 && (changes || strcmp(site, "none") != 0)) return false;
    if (!origin) return !changes;
    return strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

static bool has_cookie(const Server *server, struct MHD_Connection *connection) {
    return same_secret(MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, server->cookie_name), server->cookie);
}

// ---- requests

static bool number_argument(struct MHD_Connection *connection, const char *name, long *out) {
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    size_t length = text ? strlen(text) : 0;
    if (length < 1 || length > 12 || strspn(text, "0123456789") != length) return false;
    *out = strtol(text, NULL, 10);
    return true;
}

static enum MHD_Result send_page(Server *server, struct MHD_Connection *connection) {
    char cookie[160];
    snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", server->cookie_name, server->cookie);
    return send_bytes(connection, 200, "text/html; charset=utf-8", (void *)INDEX_HTML, strlen(INDEX_HTML),
                      MHD_RESPMEM_PERSISTENT, cookie);
}

static enum MHD_Result send_facts(Server *server, struct MHD_Connection *connection) {
    char *text = NULL;
    Error err = {0};
    Status status = live_facts(server->live, &text, &err);
    if (status != STATUS_OK) return send_error(connection, status, &err);
    return send_bytes(connection, 200, "application/json", text, strlen(text), MHD_RESPMEM_MUST_FREE, NULL);
}

static enum MHD_Result send_binary(struct MHD_Connection *connection, Status status, void *bytes, size_t size,
                                   const Error *err) {
    if (status != STATUS_OK) return send_error(connection, status, err);
    return send_bytes(connection, 200, "application/octet-stream", bytes, size, MHD_RESPMEM_MUST_FREE, NULL);
}

static enum MHD_Result send_scene(Server *server, struct MHD_Connection *connection) {
    long id = 0;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!number_argument(connection, "id", &id)) return refuse(connection, 400, "expected ?id=NUMBER");
    Status status = live_scene(server->live, id < LIVE_SCENES_MAX ? (int)id : LIVE_SCENES_MAX, &bytes, &err);
    return send_binary(connection, status, bytes.data, bytes.size, &err);
}

static enum MHD_Result send_result(Server *server, struct MHD_Connection *connection) {
    long id = 0, from = 0;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!number_argument(connection, "id", &id) || !number_argument(connection, "from", &from))
        return refuse(connection, 400, "expected ?id=NUMBER&from=NUMBER");
    Status status = live_result(server->live, id, (size_t)from, &bytes, &err);
    return send_binary(connection, status, bytes.data, bytes.size, &err);
}

// `count` numbers with commas between.
static bool numbers_argument(struct MHD_Connection *connection, const char *name, double *out, int count) {
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
    char *end = NULL;
    for (int i = 0; text && i < count; i++) {
        out[i] = strtod(text, &end);
        bool good = end != text && isfinite(out[i]) && *end == (i + 1 < count ? ',' : 0);
        text = good ? end + 1 : NULL;
    }
    return text != NULL;
}

static bool read_picture(struct MHD_Connection *connection, LivePicture *out) {
    long scene = -1, step, width, height;
    double focal;
    bool of_scene = number_argument(connection, "scene", &scene);
    bool good = (of_scene || number_argument(connection, "result", &out->id)) &&
                number_argument(connection, "step", &step) && number_argument(connection, "width", &width) &&
                number_argument(connection, "height", &height) && width <= LIVE_PICTURE_SIDE &&
                height <= LIVE_PICTURE_SIDE && numbers_argument(connection, "focal", &focal, 1) &&
                numbers_argument(connection, "pose", out->view.world_from_camera, 16);
    if (!good) return false;
    out->scene = of_scene ? (int)(scene < LIVE_SCENES_MAX ? scene : LIVE_SCENES_MAX) : -1;
    out->step = (size_t)step;
    out->view.struct_size = sizeof out->view;
    out->view.W = (int)width;
    out->view.H = (int)height;
    const double K[9] = {focal, 0, (double)width / 2, 0, focal, (double)height / 2, 0, 0, 1};
    memcpy(out->view.intrinsics, K, sizeof K);
    return true;
}

static enum MHD_Result send_png(struct MHD_Connection *connection, Status status, const ViewBytes *png,
                                const Error *err) {
    if (status != STATUS_OK) return send_error(connection, status, err);
    return send_bytes(connection, 200, "image/png", png->data, png->size, MHD_RESPMEM_MUST_FREE, NULL);
}

static enum MHD_Result send_recorded(Server *server, struct MHD_Connection *connection) {
    long scene, step, camera;
    ViewBytes bytes = {0};
    Error err = {0};
    if (!number_argument(connection, "scene", &scene) || !number_argument(connection, "step", &step) ||
        !number_argument(connection, "camera", &camera) || scene >= LIVE_SCENES_MAX || camera > INT16_MAX)
        return refuse(connection, 400, "expected ?scene, step and camera");
    Status status = live_recorded(server->live, (int)scene, (size_t)step, (int)camera, &bytes, &err);
    return send_png(connection, status, &bytes, &err);
}

static enum MHD_Result send_picture(Server *server, struct MHD_Connection *connection) {
    LivePicture picture = {0};
    ViewBytes bytes = {0};
    Error err = {0};
    if (!read_picture(connection, &picture))
        return refuse(connection, 400, "expected ?scene or result, step, width, height, focal and pose");
    Status status = live_picture(server->live, &picture, &bytes, &err);
    return send_png(connection, status, &bytes, &err);
}

static enum MHD_Result send_file(Server *server, struct MHD_Connection *connection) {
    long id = 0;
    char *bytes = NULL;
    size_t size = 0;
    Error err = {0};
    if (!number_argument(connection, "id", &id)) return refuse(connection, 400, "expected ?id=NUMBER");
    Status status = live_file(server->live, id, &bytes, &size, &err);
    return send_binary(connection, status, bytes, size, &err);
}

static bool whole(json_t *object, const char *key, json_int_t max, json_int_t *out) {
    json_t *value = json_object_get(object, key);
    *out = value ? json_integer_value(value) : 0;
    return (!value || json_is_integer(value)) && *out >= 0 && *out <= max;
}

static Status read_job(Server *server, json_t *object, long *id, Error *err) {
    json_int_t scene, step, steps, more, of;
    json_t *edits = json_object_get(object, "edits");
    bool good = json_is_object(object) && whole(object, "scene", LIVE_SCENES_MAX, &scene) &&
                whole(object, "step", 1 << 30, &step) && whole(object, "steps", LIVE_STEPS_MAX, &steps) &&
                whole(object, "more", LIVE_STEPS_MAX, &more) && whole(object, "id", 1LL << 40, &of) &&
                (!edits || json_is_string(edits));
    if (!good)
        return error_set(
            err, STATUS_BAD_INPUT,
            "expected {\"scene\", \"step\", \"edits\", \"steps\"} or {\"id\", \"more\"}, with at most %d steps",
            LIVE_STEPS_MAX);
    if (more > 0) return live_more(server->live, *id = (long)of, (size_t)more, err);
    LiveJob job = {(int)scene, (size_t)step, edits ? json_string_value(edits) : "", (size_t)steps};
    return live_ask(server->live, &job, id, err);
}

static enum MHD_Result post_job(Server *server, struct MHD_Connection *connection, const Request *request) {
    const char *type = header(connection, "Content-Type");
    long id = 0;
    Error err = {0};
    if (!type || strcmp(type, "application/json") != 0) return refuse(connection, 415, "expected application/json");
    json_t *object = json_loadb(request->body ? request->body : "", request->size, JSON_REJECT_DUPLICATES, NULL);
    Status status = read_job(server, object, &id, &err);
    json_decref(object);
    if (status != STATUS_OK) return send_error(connection, status, &err);
    return send_json(connection, 200, json_pack("{s:I}", "id", (json_int_t)id));
}

static enum MHD_Result get(Server *server, struct MHD_Connection *connection, const char *path) {
    if (!strcmp(path, "/")) return send_page(server, connection);
    if (!strcmp(path, "/viewer.css"))
        return send_bytes(connection, 200, "text/css", (void *)VIEWER_CSS, strlen(VIEWER_CSS), MHD_RESPMEM_PERSISTENT,
                          NULL);
    if (!strcmp(path, "/viewer.js"))
        return send_bytes(connection, 200, "text/javascript", (void *)VIEWER_JS, strlen(VIEWER_JS),
                          MHD_RESPMEM_PERSISTENT, NULL);
    if (!strcmp(path, "/api/facts")) return send_facts(server, connection);
    if (!strcmp(path, "/api/scene")) return send_scene(server, connection);
    if (!strcmp(path, "/api/result")) return send_result(server, connection);
    if (!strcmp(path, "/api/picture")) return send_picture(server, connection);
    if (!strcmp(path, "/api/recorded")) return send_recorded(server, connection);
    if (!strcmp(path, "/api/rollout.h5")) return send_file(server, connection);
    return refuse(connection, 404, "there is no such page");
}

// ---- connections

static void set_since(Server *server, struct MHD_Connection *connection, double since) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    pthread_mutex_lock(&server->lock);
    for (int i = 0; info && i < CONNECTIONS; i++)
        if (server->slots[i].socket == info->connect_fd) server->slots[i].since = since;
    pthread_mutex_unlock(&server->lock);
}

static void on_connection(void *owner, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    Server *server = owner;
    (void)context;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    bool starts = code == MHD_CONNECTION_NOTIFY_STARTED;
    pthread_mutex_lock(&server->lock);
    for (int i = 0; info && i < CONNECTIONS; i++)
        if (server->slots[i].socket == (starts ? -1 : info->connect_fd)) {
            server->slots[i] = (Slot){starts ? info->connect_fd : -1, clock_now()};
            break;
        }
    pthread_mutex_unlock(&server->lock);
}

static void on_completed(void *owner, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
    Request *request = *context;
    (void)code;
    set_since(owner, connection, clock_now());
    if (request) free(request->body);
    free(request);
    *context = NULL;
}

void server_tidy(Server *server) {
    double now = clock_now();
    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < CONNECTIONS; i++) {
        Slot *slot = server->slots + i;
        if (slot->socket >= 0 && slot->since > 0 && now - slot->since > REQUEST_SECONDS)
            shutdown(slot->socket, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->lock);
}

static void take_body(Request *request, const char *data, size_t size) {
    char *body = request->size + size <= BODY_BYTES ? realloc(request->body, request->size + size) : NULL;
    if (!body) {
        request->too_large = true;
        return;
    }
    memcpy(body + request->size, data, size);
    request->body = body;
    request->size += size;
}

// What is refused before a body is read.
static enum MHD_Result check(Server *server, struct MHD_Connection *connection, const char *path, bool post,
                             bool *good) {
    const char *length = header(connection, "Content-Length");
    const char *token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
    *good = false;
    if (!from_here(connection, post)) return refuse(connection, 403, "this page may be asked from this machine alone");
    bool opens = !post && !strcmp(path, "/") && same_secret(token, server->token);
    if (!opens && !has_cookie(server, connection))
        return refuse(connection, 401, "open the address that vpd view printed, with its token");
    if (length && (strlen(length) > 9 || atol(length) > (post ? BODY_BYTES : 0)))
        return refuse(connection, 413, "the request is too large");
    if (post && strcmp(path, "/api/jobs") != 0) return refuse(connection, 404, "there is no such page");
    *good = true;
    return MHD_YES;
}

static enum MHD_Result on_request(void *owner, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *data, size_t *size, void **context) {
    Server *server = owner;
    Request *request = *context;
    bool post = !strcmp(method, "POST"), good;
    (void)version;
    if (!request) {
        *context = request = calloc(1, sizeof *request);
        if (!request) return MHD_NO;
        if (!post && strcmp(method, "GET") != 0) return refuse(connection, 405, "expected GET or POST");
        return check(server, connection, path, post, &good);
    }
    if (*size > 0) {
        take_body(request, data, *size);
        *size = 0;
        return MHD_YES;
    }
    set_since(server, connection, 0);
    if (request->too_large) return refuse(connection, 413, "the request is too large");
    return post ? post_job(server, connection, request) : get(server, connection, path);
}

// ---- start and end

static Status make_secret(char out[TOKEN_SIZE], Error *err) {
    unsigned char bytes[TOKEN_BYTES];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return error_set(err, STATUS_FAILED, "cannot get random numbers for a token: %s", strerror(errno));
    for (size_t i = 0; i < TOKEN_BYTES; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return STATUS_OK;
}

static void listen_on(Server *server, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    snprintf(server->cookie_name, sizeof server->cookie_name, "vpd_%d", port);
    server->daemon =
        MHD_start_daemon(MHD_USE_AUTO | MHD_USE_INTERNAL_POLLING_THREAD, (uint16_t)port, NULL, NULL, on_request, server,
                         MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADER_BYTES,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_NOTIFY_COMPLETED,
                         on_completed, server, MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_END);
    server->port = port;
}

Status server_start(Live *live, int port, Server **out, Error *err) {
    Server *server = *out = calloc(1, sizeof *server);
    if (!server) return error_set(err, STATUS_FAILED, "out of memory for the viewer");
    server->live = live;
    pthread_mutex_init(&server->lock, NULL);
    for (int i = 0; i < CONNECTIONS; i++) server->slots[i].socket = -1;
    Status status = make_secret(server->token, err);
    if (status == STATUS_OK) status = make_secret(server->cookie, err);
    for (int i = 0; i < PORTS && status == STATUS_OK && !server->daemon && port + i < 65536; i++)
        listen_on(server, port + i);
    if (status == STATUS_OK && !server->daemon)
        status = error_set(err, STATUS_FAILED, "--port: the ports %d to %d of 127.0.0.1 are taken; name another one",
                           port, port + PORTS - 1);
    if (status != STATUS_OK) {
        server_stop(server);
        *out = NULL;
    }
    return status;
}

int server_port(const Server *server) { return server->port; }
const char *server_token(const Server *server) { return server->token; }

void server_stop(Server *server) {
    if (!server) return;
    if (server->daemon) MHD_stop_daemon(server->daemon);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
