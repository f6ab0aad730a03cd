// SPDX-License-Identifier: Apache-2.0
#include "view/watch.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/file_kind.h"
#include "base/json.h"
#include "base/stop.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    METRICS_BYTES = 1 << 20,
    OPTIONS_BYTES = 1 << 20,
    PICTURE_BYTES = 1 << 26,
    LOOK_SECONDS = 10,
    PAUSE_MICROSECONDS = 20000
};
#define METRICS_MAX ((size_t)1 << 32)

struct Watch {
    char folder[FILE_PATH_SIZE];
    bool own;
    pthread_mutex_t lock; // guards all below
    double looked;        // when facts were asked for last; 0: never
    bool paused, save;
    long saves; // how often was saved
};

// ---- which runs there are

typedef struct Runs {
    char names[WATCH_RUNS_MAX][256], paths[WATCH_RUNS_MAX][FILE_PATH_SIZE];
    int count;
} Runs;

static bool has_file(const char *folder, const char *name) {
    char path[FILE_PATH_SIZE];
    return file_join(path, sizeof path, folder, name, NULL) == STATUS_OK && file_exists(path);
}

static bool is_run(const char *folder) { return file_is_run(folder) || has_file(folder, "metrics.jsonl"); }

static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void add_run(Runs *runs, const char *name, const char *path) {
    if (runs->count == WATCH_RUNS_MAX || strlen(name) >= sizeof runs->names[0]) return;
    snprintf(runs->names[runs->count], sizeof runs->names[0], "%s", name);
    snprintf(runs->paths[runs->count++], FILE_PATH_SIZE, "%s", path);
}

static Status find_runs(const Watch *watch, Runs *runs, Error *err) {
    FileList list = {0};
    char path[FILE_PATH_SIZE];
    runs->count = 0;
    if (watch->own || is_run(watch->folder)) {
        add_run(runs, last_name(watch->folder), watch->folder);
        return STATUS_OK;
    }
    Status status = file_list(watch->folder, &list, err);
    for (size_t i = 0; status == STATUS_OK && i < list.count; i++)
        if (file_join(path, sizeof path, watch->folder, list.names[i], NULL) == STATUS_OK && is_run(path))
            add_run(runs, list.names[i], path);
    file_list_free(&list);
    return status;
}

// The path of a file of the run with this name.
static Status run_file(const Watch *watch, const char *run, const char *name, char out[FILE_PATH_SIZE], Error *err) {
    Runs *runs = malloc(sizeof *runs);
    if (!runs) return error_set(err, STATUS_FAILED, "out of memory for the viewer");
    Status status = find_runs(watch, runs, err);
    int i = 0;
    while (status == STATUS_OK && i < runs->count && strcmp(runs->names[i], run ? run : "") != 0) i++;
    if (status == STATUS_OK && i == runs->count) status = error_set(err, STATUS_BAD_INPUT, "there is no such run");
    if (status == STATUS_OK) status = file_join(out, FILE_PATH_SIZE, runs->paths[i], name, err);
    free(runs);
    return status;
}

Status watch_create(const char *folder, bool own, Watch **out, Error *err) {
    Runs *runs = malloc(sizeof *runs);
    Watch *watch = *out = calloc(1, sizeof *watch);
    Status status = watch && runs ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for the viewer");
    if (status == STATUS_OK) {
        watch->own = own;
        pthread_mutex_init(&watch->lock, NULL);
        snprintf(watch->folder, sizeof watch->folder, "%s", folder);
        for (size_t n = strlen(watch->folder); n > 1 && watch->folder[n - 1] == '/'; n--) watch->folder[n - 1] = 0;
        status = find_runs(watch, runs, err);
    }
    if (status == STATUS_OK && runs->count == 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: there is no run in this folder (vpd train -o %s/NAME)", folder,
                           watch->folder);
    free(runs);
    if (status == STATUS_OK) return status;
    watch_free(watch);
    *out = NULL;
    return status;
}

void watch_free(Watch *watch) {
    if (watch) pthread_mutex_destroy(&watch->lock);
    free(watch);
}

// ---- what a run has

// "SIZE-TIME-NUMBER" of a file, other when it is written anew; "" without it.
static void file_stamp(const char *path, bool with_size, char out[80]) {
    struct stat info;
    *out = 0;
    if (stat(path, &info) != 0) return;
    if (with_size)
        snprintf(out, 80, "%lld-%lld.%09ld", (long long)info.st_size, (long long)info.st_mtim.tv_sec,
                 info.st_mtim.tv_nsec);
    else snprintf(out, 80, "%llu", (unsigned long long)info.st_ino);
}

// Whether the process that the run's file "lock" names is there; of another host it is taken to be.
static bool is_active(const char *folder) {
    char path[FILE_PATH_SIZE], host[256] = "", here[256] = "", *text = NULL;
    size_t length;
    long pid = 0;
    if (file_join(path, sizeof path, folder, "lock", NULL) != STATUS_OK ||
        file_read_all(path, 512, &text, &length, NULL) != STATUS_OK)
        return false;
    bool named = sscanf(text, "%ld %255s", &pid, host) == 2 && pid > 0;
    free(text);
    if (!named || gethostname(here, sizeof here - 1) != 0) return false;
    return strcmp(host, here) != 0 || kill((pid_t)pid, 0) == 0 || errno == EPERM;
}

// The last of pictures/step_*.gif, whose names have leading zeros.
static Status newest_picture(const char *folder, char name[300], Error *err) {
    char pictures[FILE_PATH_SIZE];
    FileList list = {0};
    *name = 0;
    Status status = file_join(pictures, sizeof pictures, folder, "pictures", err);
    if (status != STATUS_OK || !file_is_folder(pictures)) return status;
    status = file_list(pictures, &list, err);
    for (size_t i = list.count; status == STATUS_OK && i-- > 0 && !*name;)
        if (!strncmp(list.names[i], "step_", 5) && name_ends(list.names[i], ".gif") && strlen(list.names[i]) < 256)
            snprintf(name, 300, "pictures/%s", list.names[i]);
    file_list_free(&list);
    return status;
}

static json_t *describe(const Runs *runs, int i) {
    char metrics[FILE_PATH_SIZE], rollout[FILE_PATH_SIZE], picture[300] = "", stamp[80], file[80];
    struct stat info = {0};
    const char *folder = runs->paths[i];
    if (file_join(metrics, sizeof metrics, folder, "metrics.jsonl", NULL) != STATUS_OK ||
        file_join(rollout, sizeof rollout, folder, "pictures/rollout.h5", NULL) != STATUS_OK ||
        newest_picture(folder, picture, NULL) != STATUS_OK)
        return NULL;
    file_stamp(rollout, true, stamp);
    file_stamp(metrics, false, file);
    (void)stat(metrics, &info);
    return json_pack("{s:o s:b s:{s:s s:I} s:o s:s s:b s:b}", "name", json_text(runs->names[i]), "active",
                     is_active(folder), "metrics", "file", file, "size", (json_int_t)info.st_size, "picture",
                     json_text(picture), "rollout", stamp, "truth", has_file(folder, "pictures/truth.h5"), "options",
                     has_file(folder, "config.yaml"));
}

Status watch_facts(Watch *watch, char **out, Error *err) {
    Runs *runs = malloc(sizeof *runs);
    json_t *list = json_array(), *facts = NULL;
    *out = NULL;
    Status status = runs ? find_runs(watch, runs, err) : STATUS_FAILED;
    for (int i = 0; status == STATUS_OK && i < runs->count; i++) {
        json_t *run = describe(runs, i);
        if (run) json_array_append_new(list, run);
    }
    free(runs);
    pthread_mutex_lock(&watch->lock);
    watch->looked = clock_now();
    facts = json_pack("{s:o s:b s:b s:I s:o}", "title", json_text(watch->folder), "own", watch->own, "paused",
                      watch->paused, "saves", (json_int_t)watch->saves, "runs", list);
    pthread_mutex_unlock(&watch->lock);
    if (status == STATUS_OK) *out = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    json_decref(facts);
    return *out || status == STATUS_BAD_INPUT ? status : error_set(err, STATUS_FAILED, "out of memory for the viewer");
}

// Bytes from..from+most of a file.
static Status read_part(const char *path, size_t from, size_t most, ViewBytes *out, Error *err) {
    int fd = -1;
    size_t bytes = 0;
    Status status = file_open(path, METRICS_MAX, &fd, &bytes, err);
    if (status != STATUS_OK) return status;
    size_t left = from < bytes ? bytes - from : 0, size = left < most ? left : most;
    out->data = malloc(size + 1);
    ssize_t got = out->data ? pread(fd, out->data, size, (off_t)from) : -1;
    close(fd);
    if (got >= 0) {
        out->size = (size_t)got;
        return STATUS_OK;
    }
    free(out->data);
    *out = (ViewBytes){0};
    return error_set(err, STATUS_FAILED, "%s: cannot be read", path);
}

Status watch_metrics(Watch *watch, const char *run, size_t from, ViewBytes *out, Error *err) {
    char path[FILE_PATH_SIZE];
    *out = (ViewBytes){0};
    Status status = run_file(watch, run, "metrics.jsonl", path, err);
    if (status == STATUS_OK) status = read_part(path, from, METRICS_BYTES, out, err);
    while (status == STATUS_OK && out->size > 0 && out->data[out->size - 1] != '\n') out->size--; // whole lines
    return status;
}

static Status whole_file(const char *path, size_t most, ViewBytes *out, Error *err) {
    char *text = NULL;
    size_t size = 0;
    *out = (ViewBytes){0};
    Status status = file_read_all(path, most, &text, &size, err);
    if (status == STATUS_OK) *out = (ViewBytes){(unsigned char *)text, size};
    return status;
}

Status watch_options(Watch *watch, const char *run, ViewBytes *out, Error *err) {
    char path[FILE_PATH_SIZE];
    Status status = run_file(watch, run, "config.yaml", path, err);
    return status == STATUS_OK ? whole_file(path, OPTIONS_BYTES, out, err) : status;
}

Status watch_picture(Watch *watch, const char *run, ViewBytes *out, Error *err) {
    char folder[FILE_PATH_SIZE], path[FILE_PATH_SIZE], name[300] = "";
    Status status = run_file(watch, run, "", folder, err);
    if (status == STATUS_OK) status = newest_picture(folder, name, err);
    if (status == STATUS_OK && !*name) status = error_set(err, STATUS_BAD_INPUT, "the run has drawn no picture yet");
    if (status == STATUS_OK) status = file_join(path, sizeof path, folder, name, err);
    return status == STATUS_OK ? whole_file(path, PICTURE_BYTES, out, err) : status;
}

Status watch_scene(Watch *watch, const char *run, bool truth, ViewBytes *out, Error *err) {
    char path[FILE_PATH_SIZE];
    RolloutFile file = {0};
    *out = (ViewBytes){0};
    Status status = run_file(watch, run, truth ? "pictures/truth.h5" : "pictures/rollout.h5", path, err);
    if (status == STATUS_OK) status = rollout_file_read(path, &file, err);
    if (status == STATUS_OK) status = view_file_bytes(&file, out, err);
    rollout_file_free(&file);
    return status;
}

// ---- a run of this process

Status watch_ask(Watch *watch, const char *wish, Error *err) {
    if (!watch->own)
        return error_set(err, STATUS_BAD_INPUT, "only vpd train --view can pause, save and stop its run from the page");
    Status status = STATUS_OK;
    pthread_mutex_lock(&watch->lock);
    if (!strcmp(wish, "pause")) watch->paused = true;
    else if (!strcmp(wish, "go")) watch->paused = false;
    else if (!strcmp(wish, "save")) watch->save = true;
    else if (!strcmp(wish, "stop")) stop_request(STOP_ASKED);
    else status = error_set(err, STATUS_BAD_INPUT, "expected {\"wish\": \"pause\", \"go\", \"save\" or \"stop\"}");
    pthread_mutex_unlock(&watch->lock);
    return status;
}

WatchWish watch_wish(Watch *watch) {
    pthread_mutex_lock(&watch->lock);
    WatchWish wish = {.save = watch->save,
                      .show = watch->looked > 0 && clock_now() - watch->looked < LOOK_SECONDS,
                      .wait = watch->paused};
    watch->saves += watch->save;
    watch->save = false;
    pthread_mutex_unlock(&watch->lock);
    if (wish.wait && !wish.save) usleep(PAUSE_MICROSECONDS);
    return wish;
}
