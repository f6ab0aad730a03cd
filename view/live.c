// SPDX-License-Identifier: Apache-2.0
#include "view/live.h"

#include "base/file.h"
#include "base/image.h"
#include "base/json.h"
#include "base/version.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A file whose steps are shown as they are; and, with a model, what jobs begin with.
typedef struct Source {
    const char *path; // of the rollout or the data set
    RolloutFile file;
    vpd_scene *scene;
} Source;

typedef struct Result {
    long id;
    bool working, asked; // asked: a job waits for the thread
    LiveJob job;         // edits in memory of our own
    size_t more;         // steps to go on by, in place of a job
    Error error;         // why it ended early
    ViewOrder order;     // of the parts
    ViewBytes bytes;     // the parts
    size_t *ends, parts; // (parts) where each ends
} Result;

struct Live {
    Source sources[LIVE_SCENES_MAX];
    int count;
    vpd_model *model; // NULL: nothing can be simulated, `why` says why
    char why[1200], title[FILE_PATH_SIZE];
    const char *dataset; // NULL: the one that each scene names
    pthread_t thread;
    bool started, quit;
    pthread_mutex_t lock; // guards all below
    pthread_cond_t wake;
    Result result;
    vpd_scene *scene; // of the result; the thread's
};

static Status api_status(vpd_status status, const vpd_error *from, Error *err) {
    return status == VPD_OK ? STATUS_OK : error_set(err, (Status)status, "%s", from->text);
}

static Status no_memory(Error *err) { return error_set(err, STATUS_FAILED, "out of memory for the viewer"); }

// ---- a scene of the model as bytes

typedef struct SceneView {
    ViewScene view;         // without positions
    const float *positions; // of one step
    double *cameras;        // intrinsics and poses
} SceneView;

static Status fill_cameras(const vpd_scene *scene, const vpd_scene_facts *facts, SceneView *out, Error *err) {
    vpd_view camera = {.struct_size = sizeof camera};
    vpd_error e = {0};
    size_t V = (size_t)facts->cameras;
    out->cameras = calloc(25 * V + 1, sizeof *out->cameras);
    if (!out->cameras) return no_memory(err);
    for (size_t v = 0; v < V; v++) {
        Status status = api_status(vpd_scene_camera(scene, 0, (int)v, &camera, &e), &e, err);
        if (status != STATUS_OK) return status;
        memcpy(out->cameras + 9 * v, camera.intrinsics, sizeof camera.intrinsics);
        memcpy(out->cameras + 9 * V + 16 * v, camera.world_from_camera, sizeof camera.world_from_camera);
    }
    return STATUS_OK;
}

static Status view_of_scene(const vpd_scene *scene, size_t step, SceneView *out, Error *err) {
    vpd_scene_facts facts = {.struct_size = sizeof facts};
    vpd_particle_arrays arrays = {.struct_size = sizeof arrays};
    vpd_error e = {0};
    *out = (SceneView){0};
    Status status = api_status(vpd_scene_get_facts(scene, &facts, &e), &e, err);
    if (status == STATUS_OK) status = fill_cameras(scene, &facts, out, err);
    if (status == STATUS_OK) status = api_status(vpd_scene_get_particles(scene, step, &arrays, &e), &e, err);
    if (status != STATUS_OK) return status;
    out->positions = arrays.positions;
    out->view = (ViewScene){.count = arrays.count,
                            .steps = facts.steps,
                            .colour = arrays.colour,
                            .radius = arrays.radius,
                            .labels = arrays.labels,
                            .body = arrays.body,
                            .time_step = facts.time_step,
                            .V = facts.cameras,
                            .H = facts.height,
                            .W = facts.width,
                            .intrinsics = out->cameras,
                            .world_from_camera = out->cameras + 9 * (size_t)facts.cameras,
                            .name = facts.name,
                            .label_names = facts.label_names};
    memcpy(out->view.background, facts.background, sizeof facts.background);
    return STATUS_OK;
}

// ---- the thread

// The part behind the last one: the head and step 0, or a step.
static Status put_part(Live *live, Error *err) {
    Result *r = &live->result;
    SceneView s = {0};
    size_t part = r->parts, *ends;
    Status status = view_of_scene(live->scene, part, &s, err);
    pthread_mutex_lock(&live->lock);
    ends = realloc(r->ends, (part + 1) * sizeof *ends);
    if (ends) r->ends = ends;
    else if (status == STATUS_OK) status = no_memory(err);
    if (status == STATUS_OK && part == 0) {
        status = view_order(&s.view, r->job.steps + s.view.steps, &r->order, err);
        if (status == STATUS_OK) status = view_put_head(&s.view, &r->order, &r->bytes, err);
    }
    if (status == STATUS_OK) status = view_put_step(s.positions, &r->order, part, &r->bytes, err);
    if (status == STATUS_OK) r->ends[r->parts++] = r->bytes.size;
    pthread_mutex_unlock(&live->lock);
    free(s.cameras);
    return status;
}

static bool outdated(Live *live, long id) {
    pthread_mutex_lock(&live->lock);
    bool old = live->quit || live->result.id != id;
    pthread_mutex_unlock(&live->lock);
    return old;
}

static Status simulate(Live *live, long id, size_t steps, Error *err) {
    vpd_error e = {0};
    Status status = STATUS_OK;
    for (size_t s = 0; s < steps && status == STATUS_OK && !outdated(live, id); s++) {
        status = api_status(vpd_scene_step(live->scene, 1, &e), &e, err);
        if (status == STATUS_OK && !outdated(live, id)) status = put_part(live, err);
    }
    return status;
}

static Status prepare(Live *live, const LiveJob *job, Error *err) {
    vpd_error e = {0};
    vpd_scene_free(live->scene);
    live->scene = NULL;
    Status status = api_status(vpd_scene_copy(live->sources[job->scene].scene, &live->scene, &e), &e, err);
    if (status != STATUS_OK) return status;
    return api_status(*job->edits ? vpd_scene_edit(live->scene, job->step, job->edits, NULL, NULL, &e)
                                  : vpd_scene_rewind(live->scene, job->step, &e),
                      &e, err);
}

static Status work(Live *live, long id, const LiveJob *job, size_t more, Error *err) {
    if (more > 0) return simulate(live, id, more, err);
    Status status = prepare(live, job, err);
    for (size_t s = 0; s <= (*job->edits ? 0 : job->step) && status == STATUS_OK; s++)
        if (!outdated(live, id)) status = put_part(live, err);
    return status == STATUS_OK ? simulate(live, id, job->steps, err) : status;
}

static void *run(void *owner) {
    Live *live = owner;
    Result *r = &live->result;
    for (;;) {
        pthread_mutex_lock(&live->lock);
        while (!live->quit && !r->asked) pthread_cond_wait(&live->wake, &live->lock);
        bool quit = live->quit;
        long id = r->id;
        size_t more = r->more;
        LiveJob job = r->job;
        char *edits = strdup(job.edits ? job.edits : "");
        r->asked = false;
        pthread_mutex_unlock(&live->lock);
        Error err = {0};
        job.edits = edits;
        if (!edits) (void)no_memory(&err);
        else if (!quit) (void)work(live, id, &job, more, &err);
        free(edits);
        pthread_mutex_lock(&live->lock);
        if (r->id == id && !r->asked) {
            r->working = false;
            r->error = err;
        }
        pthread_mutex_unlock(&live->lock);
        if (quit) return NULL;
    }
}

// ---- what is asked of it

static void clear(Result *r) {
    free((char *)r->job.edits);
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
    // A file that is named in an edit could lie anywhere. A backslash could spell the word otherwise.
    if (strstr(job->edits, "compose") || strchr(job->edits, '\\'))
        return error_set(err, STATUS_BAD_INPUT, "the page takes no edit with a file (compose): use vpd edit");
    return STATUS_OK;
}

Status live_ask(Live *live, const LiveJob *job, long *id, Error *err) {
    Status status = check_job(live, job, err);
    char *edits = status == STATUS_OK ? strdup(job->edits) : NULL;
    if (!edits) return status == STATUS_OK ? no_memory(err) : status;
    pthread_mutex_lock(&live->lock);
    Result *r = &live->result;
    clear(r);
    *id = ++r->id;
    r->job = *job;
    r->job.edits = edits;
    r->asked = r->working = true;
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->lock);
    return STATUS_OK;
}

static Status stale(Error *err, long id) {
    return error_set(err, STATUS_BAD_INPUT, "result %ld is gone, because another one was asked for", id);
}

Status live_more(Live *live, long id, size_t steps, Error *err) {
    Status status = STATUS_OK;
    pthread_mutex_lock(&live->lock);
    Result *r = &live->result;
    if (!live->model || r->id != id || r->parts == 0) status = stale(err, id);
    else if (r->working) status = error_set(err, STATUS_BAD_INPUT, "it is still being simulated: wait for its end");
    else if (steps < 1 || steps > LIVE_STEPS_MAX || r->bytes.size + steps * (6 * r->order.movers + 32) > VIEW_BYTES_MAX)
        status = error_set(err, STATUS_BAD_INPUT, "steps: so many cannot be shown; use vpd rollout");
    else {
        r->more = steps;
        r->asked = r->working = true;
        pthread_cond_signal(&live->wake);
    }
    pthread_mutex_unlock(&live->lock);
    return status;
}

static Status put_result(const Result *r, size_t from, ViewBytes *out, Error *err) {
    size_t begin = from == 0 || r->parts == 0 ? 0 : r->ends[from <= r->parts ? from - 1 : r->parts - 1];
    const char *state = r->working ? "working" : r->error.status == STATUS_OK ? "done" : "failed";
    json_t *facts = json_pack("{s:I s:s s:I s:s}", "id", (json_int_t)r->id, "state", state, "parts",
                              (json_int_t)r->parts, "error", r->error.text);
    char *text = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    json_decref(facts);
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
    return out->data ? STATUS_OK : no_memory(err);
}

Status live_result(Live *live, long id, size_t from, ViewBytes *out, Error *err) {
    *out = (ViewBytes){0};
    pthread_mutex_lock(&live->lock);
    Status status = live->result.id == id && id > 0 ? put_result(&live->result, from, out, err) : stale(err, id);
    pthread_mutex_unlock(&live->lock);
    return status;
}

static Status draw(const vpd_scene *scene, const LivePicture *picture, ViewBytes *out, Error *err) {
    Image image = {0};
    vpd_error e = {0};
    Status status = image_create(picture->view.H, picture->view.W, 3, PIXEL_U8, &image, err);
    vpd_picture parts = {.struct_size = sizeof parts, .rgb = image.pixels};
    if (status == STATUS_OK)
        status = api_status(vpd_scene_render(scene, picture->step, &picture->view, &parts, &e), &e, err);
    if (status == STATUS_OK) status = image_encode_png(&image, &out->data, &out->size, err);
    image_free(&image);
    return status;
}

Status live_recorded(Live *live, int scene, size_t step, int camera, ViewBytes *out, Error *err) {
    Image image = {0};
    vpd_error e = {0};
    *out = (ViewBytes){0};
    if (scene < 0 || scene >= live->count || !live->sources[scene].scene)
        return error_set(err, STATUS_BAD_INPUT, "scene %d: there is no recording without its model", scene);
    const Source *source = &live->sources[scene];
    Status status = image_create(source->file.H, source->file.W, 3, PIXEL_U8, &image, err);
    if (status == STATUS_OK)
        status = api_status(vpd_scene_recorded(source->scene, live->dataset, step, camera, image.pixels, &e), &e, err);
    if (status == STATUS_OK) status = image_encode_png(&image, &out->data, &out->size, err);
    image_free(&image);
    return status;
}

Status live_picture(Live *live, const LivePicture *picture, ViewBytes *out, Error *err) {
    const vpd_view *view = &picture->view;
    *out = (ViewBytes){0};
    if (!live->model) return error_set(err, STATUS_BAD_INPUT, "%s", live->why);
    if (picture->scene >= live->count || view->H < 1 || view->W < 1 || view->H > LIVE_PICTURE_SIDE ||
        view->W > LIVE_PICTURE_SIDE)
        return error_set(err, STATUS_BAD_INPUT, "a picture: expected one of %d scenes, and sides of 1 to %d pixels",
                         live->count, LIVE_PICTURE_SIDE);
    pthread_mutex_lock(&live->lock);
    const Result *r = &live->result;
    bool there = picture->scene >= 0 || (r->id == picture->id && r->parts > 0 && !r->working);
    Status status =
        there ? draw(picture->scene >= 0 ? live->sources[picture->scene].scene : live->scene, picture, out, err)
              : stale(err, picture->id);
    pthread_mutex_unlock(&live->lock);
    return status;
}

// The path of a file in a new folder of its own; both are removed in the end.
typedef struct Temporary {
    char folder[FILE_PATH_SIZE], path[FILE_PATH_SIZE];
} Temporary;

static Status temporary_begin(Temporary *t, Error *err) {
    const char *place = getenv("TMPDIR");
    Status status = file_join(t->folder, sizeof t->folder, place && *place ? place : "/tmp", "vpd-view-XXXXXX", err);
    if (status != STATUS_OK) return status;
    if (!mkdtemp(t->folder)) return error_set(err, STATUS_FAILED, "%s: cannot make a folder there", t->folder);
    status = file_join(t->path, sizeof t->path, t->folder, "rollout.h5", err);
    if (status != STATUS_OK) rmdir(t->folder);
    return status;
}

static void temporary_end(const Temporary *t) {
    unlink(t->path);
    rmdir(t->folder);
}

// Saved to a file, read and removed.
Status live_file(Live *live, long id, char **bytes, size_t *size, Error *err) {
    Temporary file;
    vpd_error e = {0};
    Status status = temporary_begin(&file, err);
    if (status != STATUS_OK) return status;
    pthread_mutex_lock(&live->lock);
    bool there = live->result.id == id && live->result.parts > 0 && !live->result.working;
    status = there ? api_status(vpd_scene_write(live->scene, file.path, &e), &e, err) : stale(err, id);
    pthread_mutex_unlock(&live->lock);
    if (status == STATUS_OK) status = file_read_all(file.path, (size_t)1 << 32, bytes, size, err);
    temporary_end(&file);
    return status;
}

// ---- scenes

Status live_scene(const Live *live, int scene, ViewBytes *out, Error *err) {
    *out = (ViewBytes){0};
    if (scene < 0 || scene >= live->count)
        return error_set(err, STATUS_BAD_INPUT, "scene: expected 0 to %d, found %d", live->count - 1, scene);
    return view_file_bytes(&live->sources[scene].file, out, err);
}

static json_t *text(const char *words) {
    json_t *value = json_string(words);
    return value ? value : json_string("");
}

Status live_facts(const Live *live, char **out, Error *err) {
    vpd_model_facts model = {.struct_size = sizeof model};
    json_t *scenes = json_array();
    if (live->model) vpd_model_get_facts(live->model, &model, NULL);
    for (int i = 0; i < live->count; i++)
        json_array_append_new(scenes, json_pack("{s:o}", "file", text(live->sources[i].path)));
    json_t *facts =
        json_pack("{s:s s:o s:b s:o s:o s:o s:o}", "version", version_number(), "title", text(live->title), "simulates",
                  live->model != NULL, "why", text(live->why), "model", text(model.path ? model.path : ""), "device",
                  text(model.device ? model.device : ""), "scenes", scenes);
    *out = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    json_decref(facts);
    return *out ? STATUS_OK : no_memory(err);
}

// ---- opening

static Status open_model(Live *live, const LiveOptions *options, Error *err) {
    vpd_open_options open = {
        .struct_size = sizeof open, .device = options->device, .threads = options->threads, .raw = options->raw};
    const char *path = options->model;
    vpd_error e = {0};
    if (!path && live->count > 0) path = live->sources[0].file.checkpoint;
    if (!path || !*path) {
        snprintf(live->why, sizeof live->why, "the file names no checkpoint; give it too: vpd view CHECKPOINT FILE");
        return STATUS_OK;
    }
    Status status = api_status(vpd_model_open(path, &open, &live->model, &e), &e, err);
    if (status == STATUS_OK || options->model) return status;
    snprintf(live->why, sizeof live->why, "the checkpoint of the rollout cannot be opened: %.1000s", err->text);
    return STATUS_OK;
}

static Status open_rollouts(Live *live, const LiveOptions *options, Error *err) {
    Status status = STATUS_OK;
    for (int i = 0; i < options->rollout_count && status == STATUS_OK; i++) {
        live->sources[i].path = options->rollouts[i];
        status = rollout_file_read(options->rollouts[i], &live->sources[i].file, err);
        live->count += status == STATUS_OK;
    }
    if (status == STATUS_OK) status = open_model(live, options, err);
    for (int i = 0; i < live->count && live->model && status == STATUS_OK; i++) {
        vpd_error e = {0};
        if (vpd_scene_read(live->model, options->rollouts[i], &live->sources[i].scene, &e) == VPD_OK) continue;
        if (options->model) status = api_status(e.status, &e, err);
        else snprintf(live->why, sizeof live->why, "%.1000s", e.text);
    }
    if (status == STATUS_OK && live->model && !live->sources[0].scene) {
        vpd_model_close(live->model);
        live->model = NULL;
    }
    return status;
}

// The rollout goes through a file, so that it is read as any other is.
static Status keep_file(Source *source, Error *err) {
    Temporary file;
    vpd_error e = {0};
    Status status = temporary_begin(&file, err);
    if (status != STATUS_OK) return status;
    status = api_status(vpd_scene_write(source->scene, file.path, &e), &e, err);
    if (status == STATUS_OK) status = rollout_file_read(file.path, &source->file, err);
    temporary_end(&file);
    return status;
}

static Status open_episode(Live *live, const LiveOptions *options, Error *err) {
    Source *source = &live->sources[0];
    source->path = options->dataset;
    vpd_error e = {0};
    Status status = open_model(live, options, err);
    if (status != STATUS_OK) return status;
    status = api_status(
        vpd_scene_episode(live->model, options->dataset, options->episode, options->start, &source->scene, &e), &e,
        err);
    if (status == STATUS_OK) status = api_status(vpd_scene_step(source->scene, (size_t)options->steps, &e), &e, err);
    if (status == STATUS_OK) status = keep_file(source, err);
    live->count = status == STATUS_OK;
    return status;
}

Status live_create(const LiveOptions *options, Live **out, Error *err) {
    Live *live = *out = calloc(1, sizeof *live);
    if (!live) return no_memory(err);
    pthread_mutex_init(&live->lock, NULL);
    pthread_cond_init(&live->wake, NULL);
    live->dataset = options->dataset;
    const char *shown = options->rollout_count > 0 ? options->rollouts[0] : options->dataset;
    snprintf(live->title, sizeof live->title, "%s", shown);
    Status status = options->rollout_count > 0 ? open_rollouts(live, options, err) : open_episode(live, options, err);
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
    pthread_cond_signal(&live->wake);
    pthread_mutex_unlock(&live->lock);
    if (live->started) pthread_join(live->thread, NULL);
    clear(&live->result);
    vpd_scene_free(live->scene);
    for (int i = 0; i < LIVE_SCENES_MAX; i++) {
        vpd_scene_free(live->sources[i].scene);
        rollout_file_free(&live->sources[i].file);
    }
    vpd_model_close(live->model);
    free(live);
}
