// SPDX-License-Identifier: Apache-2.0
#include "view/server.h"

#include "base/clock.h"
#include "base/json.h"
#include "view/again.h"
#include "view/answer.h"
#include "view/request.h"
#include "view/web.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PORTS = 32,
    CONNECTIONS = 128,
    ROOM = 16,            // of them kept free of connections that have not shown a token or cookie
    HEADER_BYTES = 16384, // memory of a connection for the request line and headers
    BODY_BYTES = 65536,   // of a POST
    IDLE_SECONDS = 10,    // without a byte
    REQUEST_SECONDS = 10  // for a whole request
};

// A connection; `since` is when its present request began, 0 while an answer is sent.
typedef struct Slot {
    int socket; // -1: free
    bool known; // has shown a token or cookie
    double since;
} Slot;

struct Server {
    Live *live;   // or
    Watch *watch; // runs
    struct MHD_Daemon *daemon;
    int port;
    char token[SECRET_SIZE], cookie[SECRET_SIZE], cookie_name[24];
    Again again;
    pthread_mutex_t lock; // guards `slots`
    Slot slots[CONNECTIONS];
};

typedef struct Request {
    char *body;
    size_t size;
    bool too_large;
    LiveUpload *upload; // in place of a body
} Request;

// ---- who may ask

static const char *header(struct MHD_Connection *connection, const char *name) {
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

// Pages of other sites may not ask: their names are not loopback's (DNS rebinding), and their Origin is another one.
static bool from_here(struct MHD_Connection *connection, bool changes) {
    const char *host = header(connection, "Host"), *origin = header(connection, "Origin"),
               *site = header(connection, "Sec-Fetch-Site");
    if (!request_is_loopback(host)) return false;
    if (site && strcmp(site, "same-origin") != 0 && (changes || strcmp(site, "none") != 0)) return false;
    if (!origin) return !changes;
    return strncmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

static bool has_type(struct MHD_Connection *connection, const char *wanted) {
    const char *type = header(connection, "Content-Type");
    return type && !strcmp(type, wanted);
}

static bool has_cookie(const Server *server, struct MHD_Connection *connection) {
    return secret_same(MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, server->cookie_name), server->cookie);
}

// ---- requests

static Answer answer_with_cookie(const Server *server, struct MHD_Connection *connection, const char *type,
                                 const char *text) {
    char cookie[160];
    snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", server->cookie_name, server->cookie);
    return answer_page(connection, type, text, cookie);
}

static Answer answer_object(struct MHD_Connection *connection, json_t *object) {
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return answer_json(connection, STATUS_OK, text, NULL);
}

// A page that an earlier server let in (view/again.h).
static Answer greet_again(const Server *server, struct MHD_Connection *connection) {
    char proof[HMAC_SIZE];
    if (!again_prove(&server->again, answer_argument(connection, "nonce"), proof))
        return answer_refuse(connection, 400, "expected ?nonce=32 hexadecimal digits");
    return answer_object(connection, json_pack("{s:s s:s}", "nonce", server->again.nonce, "proof", proof));
}

static Answer admit_again(const Server *server, struct MHD_Connection *connection, const char *body, size_t size) {
    json_t *object = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
    bool good = again_accepts(&server->again, json_string_value(json_object_get(object, "proof")));
    json_decref(object);
    return good ? answer_with_cookie(server, connection, "application/json", "{}")
                : answer_refuse(connection, 401, "this is no proof");
}

static Answer get(Server *server, struct MHD_Connection *connection, const char *path) {
    if (!strcmp(path, "/")) return answer_with_cookie(server, connection, "text/html; charset=utf-8", INDEX_HTML);
    if (!strcmp(path, "/api/again")) return greet_again(server, connection);
    if (!strcmp(path, "/api/key")) return answer_object(connection, json_pack("{s:s}", "key", server->again.key));
    if (!strcmp(path, "/viewer.css")) return answer_page(connection, "text/css", VIEWER_CSS, NULL);
    if (!strcmp(path, "/viewer.js")) return answer_page(connection, "text/javascript", VIEWER_JS, NULL);
    return server->live ? routes_live_get(server->live, connection, path)
                        : routes_watch_get(server->watch, connection, path);
}

static Answer end_upload(struct MHD_Connection *connection, const Request *request) {
    int scene = 0;
    char text[32];
    Error err = {0};
    Status status = live_upload_end(request->upload, &scene, &err);
    snprintf(text, sizeof text, "{\"id\":%d}", scene);
    return answer_json(connection, status, status == STATUS_OK ? strdup(text) : NULL, &err);
}

static Answer post(Server *server, struct MHD_Connection *connection, const char *path, const Request *request) {
    const char *body = request->body ? request->body : "";
    if (request->upload) return end_upload(connection, request);
    if (!has_type(connection, "application/json")) return answer_refuse(connection, 415, "expected application/json");
    if (!strcmp(path, "/api/again")) return admit_again(server, connection, body, request->size);
    return server->live ? routes_live_post(server->live, connection, path, body, request->size)
                        : routes_watch_post(server->watch, connection, path, body, request->size);
}

// ---- connections

static int socket_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -2;
}

static Slot *slot_of(Server *server, int socket) {
    for (int i = 0; i < CONNECTIONS; i++)
        if (server->slots[i].socket == socket) return server->slots + i;
    return NULL;
}

// When a request began, or that an answer is sent; whether who asks is `known`.
static void set_slot(Server *server, struct MHD_Connection *connection, double since, bool known) {
    pthread_mutex_lock(&server->lock);
    Slot *slot = slot_of(server, socket_of(connection));
    if (slot) *slot = (Slot){slot->socket, slot->known || known, since};
    pthread_mutex_unlock(&server->lock);
}

// Strangers take no room from others: where little is left, the oldest of theirs is ended.
static void make_room(Server *server) {
    Slot *oldest = NULL;
    int open = 0;
    for (int i = 0; i < CONNECTIONS; i++) {
        Slot *slot = server->slots + i;
        open += slot->socket >= 0;
        if (slot->socket >= 0 && !slot->known && slot->since > 0 && (!oldest || slot->since < oldest->since))
            oldest = slot;
    }
    if (!oldest || open <= CONNECTIONS - ROOM) return;
    shutdown(oldest->socket, SHUT_RDWR);
    oldest->since = 0; // not again
}

static void on_connection(void *owner, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code) {
    Server *server = owner;
    (void)context;
    const bool starts = code == MHD_CONNECTION_NOTIFY_STARTED;
    pthread_mutex_lock(&server->lock);
    Slot *slot = slot_of(server, starts ? -1 : socket_of(connection));
    if (slot) *slot = (Slot){starts ? socket_of(connection) : -1, false, clock_now()};
    if (starts) make_room(server);
    pthread_mutex_unlock(&server->lock);
}

static void on_completed(void *owner, struct MHD_Connection *connection, void **context,
                         enum MHD_RequestTerminationCode code) {
    Request *request = *context;
    (void)code;
    set_slot(owner, connection, clock_now(), false);
    if (request) {
        live_upload_free(request->upload);
        free(request->body);
    }
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
    if (request->upload) {
        live_upload_write(request->upload, data, size);
        return;
    }
    char *body = request->size + size <= BODY_BYTES ? realloc(request->body, request->size + size) : NULL;
    if (!body) {
        request->too_large = true;
        return;
    }
    memcpy(body + request->size, data, size);
    request->body = body;
    request->size += size;
}

static bool is_upload(const Server *server, const char *path) { return server->live && !strcmp(path, "/api/file"); }

static Answer begin_upload(Server *server, struct MHD_Connection *connection, Request *request) {
    const char *name = answer_argument(connection, "name");
    Error err = {0};
    if (!has_type(connection, "application/octet-stream"))
        return answer_refuse(connection, 415, "expected application/octet-stream");
    if (!request_file_name(name))
        return answer_refuse(connection, 422, "expected ?name=NAME.h5 with letters, digits, _, - and . in it");
    Status status = live_upload_begin(server->live, name, &request->upload, &err);
    return status == STATUS_OK ? MHD_YES : answer_json(connection, status, NULL, &err);
}

// What is refused before a body is read.
static Answer check(Server *server, struct MHD_Connection *connection, const char *path, bool post, bool *good) {
    const char *length = header(connection, "Content-Length");
    const char *token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");
    *good = false;
    if (!from_here(connection, post))
        return answer_refuse(connection, 403, "this page may be asked from this machine alone");
    bool opens = !strcmp(path, "/api/again") || (!post && !strcmp(path, "/") && secret_same(token, server->token));
    if (!opens && !has_cookie(server, connection))
        return answer_refuse(connection, 401, "open the address that vpd view printed, with its token");
    long most = !post ? 0 : is_upload(server, path) ? (long)LIVE_FILE_BYTES : BODY_BYTES;
    if (length && (strlen(length) > 9 || atol(length) > most))
        return answer_refuse(connection, 413, "the request is too large");
    if (post && strncmp(path, "/api/", 5) != 0) return answer_refuse(connection, 404, "there is no such page");
    *good = true;
    return MHD_YES;
}

static Answer on_request(void *owner, struct MHD_Connection *connection, const char *path, const char *method,
                         const char *version, const char *data, size_t *size, void **context) {
    Server *server = owner;
    Request *request = *context;
    bool posts = !strcmp(method, "POST"), good;
    (void)version;
    if (!request) {
        *context = request = calloc(1, sizeof *request);
        if (!request) return MHD_NO;
        if (!posts && strcmp(method, "GET") != 0) return answer_refuse(connection, 405, "expected GET or POST");
        Answer answer = check(server, connection, path, posts, &good);
        return good && posts && is_upload(server, path) ? begin_upload(server, connection, request) : answer;
    }
    if (*size > 0) {
        if (request->upload) set_slot(server, connection, clock_now(), true); // files take their time
        take_body(request, data, *size);
        *size = 0;
        return MHD_YES;
    }
    set_slot(server, connection, 0, strcmp(path, "/api/again") != 0);
    if (request->too_large) return answer_refuse(connection, 413, "the request is too large");
    return posts ? post(server, connection, path, request) : get(server, connection, path);
}

// ---- start and end

// Keys are there before the first request.
static Status listen_on(Server *server, int port, Error *err) {
    Status status = again_open(port, &server->again, err);
    if (status != STATUS_OK) return status;
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
    return STATUS_OK;
}

Status server_start(Live *live, Watch *watch, int port, Server **out, Error *err) {
    Server *server = *out = calloc(1, sizeof *server);
    if (!server) return error_set(err, STATUS_FAILED, "out of memory for the viewer");
    server->live = live;
    server->watch = watch;
    pthread_mutex_init(&server->lock, NULL);
    for (int i = 0; i < CONNECTIONS; i++) server->slots[i].socket = -1;
    Status status = secret_make(server->token, err);
    if (status == STATUS_OK) status = secret_make(server->cookie, err);
    for (int i = 0; i < PORTS && status == STATUS_OK && !server->daemon && port + i < 65536; i++)
        status = listen_on(server, port + i, err);
    if (status == STATUS_OK && !server->daemon)
        status = error_set(err, STATUS_FAILED, "--port: the ports %d to %d of 127.0.0.1 are taken; name another one",
                           port, port + PORTS - 1);
    if (status != STATUS_OK) {
        server_stop(server);
        *out = NULL;
    }
    return status;
}

void server_tell(const Server *server, FILE *out) {
    char host[256] = "";
    const char *user = getenv("USER");
    if (gethostname(host, sizeof host - 1) != 0 || !*host) snprintf(host, sizeof host, "HOST");
    fprintf(out, "http://127.0.0.1:%d/?token=%s\n", server->port, server->token);
    fprintf(out, "From another machine first:  ssh -L %d:127.0.0.1:%d %s%s%s\n", server->port, server->port,
            user ? user : "", user ? "@" : "", host);
}

void server_stop(Server *server) {
    if (!server) return;
    if (server->daemon) MHD_stop_daemon(server->daemon);
    pthread_mutex_destroy(&server->lock);
    free(server);
}
