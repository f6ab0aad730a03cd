// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "base/json.h"
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AWAIT_NANOSECONDS = 20000000 };

// ---- the thread

// Under the lock: the part behind the last one, which is the head and step 0, or a step.
static Status keep_part(Live *live, const SceneView *s, Error *err) {
    Result *r = &live->result;
    const size_t part = r->parts;
    Status status = STATUS_OK;
    size_t *ends = realloc(r->ends, (part + 1) * sizeof *ends);
    if (!ends) return live_no_memory(err);
    r->ends = ends;
    if (part == 0) {
        r->order_steps = r->job.steps + s->view.steps;
        status = view_order(&s->view, r->order_steps, &r->order, err);
        if (status == STATUS_OK) status = view_put_head(&s->view, &r->order, &r->bytes, err);
    }
    if (status == STATUS_OK) status = view_put_step(s->positions, &r->order, part, &r->bytes, err);
    if (status == STATUS_OK) r->ends[r->parts++] = r->bytes.size;
    pthread_cond_broadcast(&live->news);
    return status;
}

// If the job goes on, since after live_ask the result is another one.
static Status put_part(Live *live, size_t step, Error *err) {
    SceneView s = {0};
    Status status = live_view_of_scene(live->scene, step, &s, err);
    pthread_mutex_lock(&live->lock);
    if (status == STATUS_OK && !live->stop) status = keep_part(live, &s, err);
    pthread_mutex_unlock(&live->lock);
    free(s.cameras);
    return status;
}

// The steps from step `first` on.
static Status simulate(Live *live, size_t first, size_t steps, Error *err) {
    vpd_error e = {0};
    Status status = STATUS_OK;
    for (size_t s = first; s < first + steps && status == STATUS_OK && !live->stop; s++) {
        double began = clock_now();
        status = api_status(vpd_scene_step(live->scene, 1, &e), &e, err);
        pthread_mutex_lock(&live->lock);
        live->result.seconds += clock_now() - began;
        pthread_mutex_unlock(&live->lock);
        if (status == STATUS_OK) status = put_part(live, s, err);
    }
    return status;
}

// A copy of a job's scene, with its edits. *warnings (may be NULL): the copy's, if there are any.
static Status edited_copy(Live *live, const LiveJob *job, vpd_scene **out, const char **warnings, Error *err) {
    vpd_edit_report report = {.struct_size = sizeof report, .warnings = ""};
    vpd_error e = {0};
    char folder[FILE_PATH_SIZE];
    pthread_mutex_lock(&live->lock); // another episode may take its place
    Status status = api_status(vpd_scene_copy(live->sources[job->scene].scene, out, &e), &e, err);
    memcpy(folder, live->folder, sizeof folder);
    pthread_mutex_unlock(&live->lock);
    if (status != STATUS_OK) return status;
    status = api_status(*job->edits ? vpd_scene_edit(*out, job->step, job->edits, *folder ? folder : NULL, &report, &e)
                                    : vpd_scene_rewind(*out, job->step, &e),
                        &e, err);
    if (warnings) *warnings = report.warnings;
    return status;
}

static Status keep_warnings(Live *live, long id, const char *warnings, Error *err) {
    char *text = strdup(warnings);
    if (!text) return live_no_memory(err);
    pthread_mutex_lock(&live->lock);
    if (live->result.id == id) {
        free(live->result.warnings);
        live->result.warnings = text;
        text = NULL;
    }
    pthread_mutex_unlock(&live->lock);
    free(text);
    return STATUS_OK;
}

static Status work(Live *live, long id, const LiveJob *job, Error *err) {
    vpd_scene_free(live->scene);
    live->scene = NULL;
    const char *warnings = "";
    Status status = edited_copy(live, job, &live->scene, &warnings, err);
    if (status == STATUS_OK) status = keep_warnings(live, id, warnings, err);
    const size_t first = *job->edits ? 1 : job->step + 1;
    for (size_t s = 0; s < first && status == STATUS_OK; s++) status = put_part(live, s, err);
    return status == STATUS_OK ? simulate(live, first, job->steps, err) : status;
}

// Under the lock: what was ended early is no failure, if there is something to show. The scene keeps what is shown.
static void end_early(Live *live, Error *err) {
    vpd_error e = {0};
    const size_t parts = live->result.parts;
    if (parts > 0) (void)api_status(vpd_scene_rewind(live->scene, parts - 1, &e), &e, err);
    else (void)error_set(err, STATUS_INTERRUPTED, "stopped before the first step was there");
}

static void *run(void *owner) {
    Live *live = owner;
    Result *r = &live->result;
    stop_also(&live->stop);
    for (;;) {
        pthread_mutex_lock(&live->lock);
        while (!live->quit && !r->asked) pthread_cond_wait(&live->wake, &live->lock);
        bool quit = live->quit;
        long id = r->id;
        size_t more = r->more, parts = r->parts;
        LiveJob job = r->job;
        char *edits = strdup(job.edits ? job.edits : "");
        r->asked = false;
        live->stop = r->stopped;
        pthread_mutex_unlock(&live->lock);
        Error err = {0};
        job.edits = edits;
        if (!edits) (void)live_no_memory(&err);
        else if (!quit) (void)(more > 0 ? simulate(live, parts, more, &err) : work(live, id, &job, &err));
        free(edits);
        pthread_mutex_lock(&live->lock);
        if (r->id == id && !r->asked) {
            if (r->stopped && (err.status == STATUS_OK || err.status == STATUS_INTERRUPTED)) {
                err = (Error){0};
                end_early(live, &err);
            }
            r->working = false;
            r->error = err;
            pthread_cond_broadcast(&live->news);
        }
        pthread_mutex_unlock(&live->lock);
        if (quit) return NULL;
    }
}

// ---- what is asked of it

static void clear(Result *r) {
    free((char *)r->job.edits);
    free(r->warnings);
    free(r->ends);
    free(r->bytes.data);
    view_order_free(&r->order);
    *r = (Result){.id = r->id};
}

static Status check_job(const Live *live, const LiveJob *job, Error *err) {
    if (!live->model) return error_set(err, STATUS_BAD_INPUT, "%s", live->why);
    if (job->scene < 0 || job->scene >= live->count)
        return error_set(err, STATUS_BAD_INPUT, "scene: expected 0 to %d, found %d", live->count - 1, job->scene);
    if (job->steps > LIVE_STEPS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "steps: expected at most %d, found %zu", LIVE_STEPS_MAX, job->steps);
    if (job->step > live->sources[job->scene].file.steps)
        return error_set(err, STATUS_BAD_INPUT, "step: expected 0 to %zu, found %zu",
                         live->sources[job->scene].file.steps, job->step);
    return live_check_edits(live, job->edits, err);
}

Status live_try(Live *live, const LiveJob *job, Error *err) {
    vpd_scene *scene = NULL;
    Status status = check_job(live, job, err);
    if (status == STATUS_OK && !*job->edits) status = error_set(err, STATUS_BAD_INPUT, "there are no edits in it");
    if (status == STATUS_OK) status = edited_copy(live, job, &scene, NULL, err);
    vpd_scene_free(scene);
    return status;
}

Status live_ask(Live *live, const LiveJob *job, long *id, Error *err) {
    Status status = check_job(live, job, err);
    char *edits = status == STATUS_OK ? strdup(job->edits) : NULL;
    if (!edits) return status == STATUS_OK ? live_no_memory(err) : status;
    pthread_mutex_lock(&live->lock);
    Result *r = &live->result;
    clear(r);
    *id = ++r->id;
    r->job = *job;
    r->job.edits = edits;
    r->asked = r->working = true;
    live->stop = true; // the job before
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->lock);
    return STATUS_OK;
}

void live_stop(Live *live, long id) {
    pthread_mutex_lock(&live->lock);
    Result *r = &live->result;
    if (r->id == id && r->working) {
        r->stopped = true;
        live->stop = true;
    }
    pthread_mutex_unlock(&live->lock);
}

Status live_more(Live *live, long id, size_t steps, Error *err) {
    Status status = STATUS_OK;
    pthread_mutex_lock(&live->lock);
    Result *r = &live->result;
    if (!live->model || r->id != id || r->parts == 0) status = live_stale(err, id);
    else if (r->working) status = error_set(err, STATUS_BAD_INPUT, "it is still being simulated: wait for its end");
    else if (steps < 1 || steps > LIVE_STEPS_MAX || r->bytes.size + steps * (6 * r->order.movers + 32) > VIEW_BYTES_MAX)
        status = error_set(err, STATUS_BAD_INPUT, "steps: so many cannot be shown; use vpd rollout");
    else {
        r->more = steps;
        r->stopped = false;
        r->asked = r->working = true;
        pthread_cond_signal(&live->wake);
    }
    pthread_mutex_unlock(&live->lock);
    return status;
}

// What is known of it, as JSON in memory that the caller frees; NULL: out of memory.
static char *result_facts(const Result *r) {
    const char *state = r->working                     ? "working"
                        : r->error.status != STATUS_OK ? "failed"
                        : r->stopped                   ? "stopped"
                                                       : "done";
    json_t *why = json_string(r->error.text);
    if (!why) why = json_string("its error is not UTF-8");
    json_t *facts =
        json_pack("{s:I s:s s:I s:f s:o s:o}", "id", (json_int_t)r->id, "state", state, "parts", (json_int_t)r->parts,
                  "seconds", r->seconds, "error", why, "warnings", json_text(r->warnings ? r->warnings : ""));
    char *text = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    json_decref(facts);
    return text;
}

static Status put_result(const Result *r, size_t from, ViewBytes *out, Error *err) {
    size_t begin = from == 0 || r->parts == 0 ? 0 : r->ends[from <= r->parts ? from - 1 : r->parts - 1];
    char *text = result_facts(r);
    size_t length = text ? strlen(text) : 0;
    uint32_t size = (uint32_t)((length + 3) / 4 * 4);
    out->data = text ? malloc(sizeof size + size + r->bytes.size - begin) : NULL;
    if (out->data) {
        out->size = sizeof size + size + r->bytes.size - begin;
        memcpy(out->data, &size, sizeof size);
        memset(out->data + sizeof size, ' ', size);
        memcpy(out->data + sizeof size, text, length);
        if (r->bytes.size > begin) memcpy(out->data + sizeof size + size, r->bytes.data + begin, r->bytes.size - begin);
    }
    free(text);
    return out->data ? STATUS_OK : live_no_memory(err);
}

// The server's only thread waits here, so not for long.
static void await_news(Live *live, long id, size_t from) {
    const Result *r = &live->result;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += AWAIT_NANOSECONDS;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    for (int late = 0; !late && r->id == id && r->working && r->parts <= from;)
        late = pthread_cond_timedwait(&live->news, &live->lock, &end);
}

Status live_result(Live *live, long id, size_t from, ViewBytes *out, Error *err) {
    *out = (ViewBytes){0};
    pthread_mutex_lock(&live->lock);
    await_news(live, id, from);
    Status status = live->result.id == id && id > 0 ? put_result(&live->result, from, out, err) : live_stale(err, id);
    pthread_mutex_unlock(&live->lock);
    return status;
}

// ---- begin and end

Status live_create(const LiveOptions *options, Live **out, Error *err) {
    Live *live = *out = calloc(1, sizeof *live);
    if (!live) return live_no_memory(err);
    live->start = (long long)(1e6 * clock_now());
    pthread_mutex_init(&live->lock, NULL);
    pthread_cond_init(&live->wake, NULL);
    pthread_cond_init(&live->news, NULL);
    Status status = live_open(live, options, err);
    if (status == STATUS_OK) {
        live->started = pthread_create(&live->thread, NULL, run, live) == 0;
        if (!live->started) status = error_set(err, STATUS_FAILED, "cannot start a thread for the viewer");
    }
    if (status == STATUS_OK) return status;
    live_free(live);
    *out = NULL;
    return status;
}

void live_free(Live *live) {
    if (!live) return;
    pthread_mutex_lock(&live->lock);
    live->quit = true;
    live->stop = true;
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->lock);
    if (live->started) pthread_join(live->thread, NULL);
    clear(&live->result);
    vpd_scene_free(live->scene);
    live_close(live);
    free(live);
}
