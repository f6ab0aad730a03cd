// SPDX-License-Identifier: Apache-2.0
// What the page gets of scenes: bytes, files, and what belongs to them.
#include "base/json.h"
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- a scene of the model as bytes

static Status fill_cameras(const vpd_scene *scene, const vpd_scene_facts *facts, SceneView *out, Error *err) {
    vpd_view camera = {.struct_size = sizeof camera};
    vpd_error e = {0};
    size_t V = (size_t)facts->cameras;
    out->cameras = calloc(25 * V + 1, sizeof *out->cameras);
    if (!out->cameras) return live_no_memory(err);
    for (size_t v = 0; v < V; v++) {
        Status status = api_status(vpd_scene_camera(scene, 0, (int)v, &camera, &e), &e, err);
        if (status != STATUS_OK) return status;
        memcpy(out->cameras + 9 * v, camera.intrinsics, sizeof camera.intrinsics);
        memcpy(out->cameras + 9 * V + 16 * v, camera.world_from_camera, sizeof camera.world_from_camera);
    }
    return STATUS_OK;
}

Status live_view_of_scene(const vpd_scene *scene, size_t step, SceneView *out, Error *err) {
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
    view_find_up(&out->view);
    return STATUS_OK;
}

// ---- files

Status live_temporary_begin(Temporary *t, Error *err) {
    const char *place = getenv("TMPDIR");
    Status status = file_join(t->folder, sizeof t->folder, place && *place ? place : "/tmp", "vpd-view-XXXXXX", err);
    if (status != STATUS_OK) return status;
    if (!mkdtemp(t->folder)) return error_set(err, STATUS_FAILED, "%s: cannot make a folder there", t->folder);
    status = file_join(t->path, sizeof t->path, t->folder, "rollout.h5", err);
    if (status != STATUS_OK) rmdir(t->folder);
    return status;
}

void live_temporary_end(const Temporary *t) {
    unlink(t->path);
    rmdir(t->folder);
}

// Saved to a file, read and removed.
Status live_file(Live *live, long id, char **bytes, size_t *size, Error *err) {
    Temporary file;
    vpd_error e = {0};
    Status status = live_temporary_begin(&file, err);
    if (status != STATUS_OK) return status;
    pthread_mutex_lock(&live->lock);
    bool there = live->result.id == id && live->result.parts > 0 && !live->result.working;
    status = there ? api_status(vpd_scene_write(live->scene, file.path, &e), &e, err) : live_stale(err, id);
    pthread_mutex_unlock(&live->lock);
    if (status == STATUS_OK) status = file_read_all(file.path, (size_t)1 << 32, bytes, size, err);
    live_temporary_end(&file);
    return status;
}

// ---- scenes

void live_source_free(Source *source) {
    vpd_scene_free(source->scene);
    rollout_file_free(&source->file);
    free(source->real);
    *source = (Source){0};
}

Status live_scene(const Live *live, int scene, ViewBytes *out, Error *err) {
    *out = (ViewBytes){0};
    if (scene < 0 || scene >= live->count)
        return error_set(err, STATUS_BAD_INPUT, "scene: expected 0 to %d, found %d", live->count - 1, scene);
    return view_file_bytes(&live->sources[scene].file, out, err);
}

// Every step of a scene of the model.
static Status scene_bytes(const vpd_scene *scene, ViewBytes *out, Error *err) {
    ViewOrder order = {0};
    SceneView s = {0};
    size_t steps = 0;
    Status status = STATUS_OK;
    for (size_t k = 0; k <= steps && status == STATUS_OK; k++) {
        status = live_view_of_scene(scene, k, &s, err);
        steps = s.view.steps;
        if (status == STATUS_OK && k == 0) {
            status = view_order(&s.view, steps, &order, err);
            if (status == STATUS_OK) status = view_put_head(&s.view, &order, out, err);
        }
        if (status == STATUS_OK) status = view_put_step(s.positions, &order, k, out, err);
        free(s.cameras);
    }
    view_order_free(&order);
    return status;
}

Status live_truth(const Live *live, int scene, ViewBytes *out, Error *err) {
    vpd_scene *truth = NULL;
    vpd_error e = {0};
    *out = (ViewBytes){0};
    if (scene < 0 || scene >= live->count || !live->sources[scene].scene)
        return error_set(err, STATUS_BAD_INPUT, "scene %d: there is nothing recorded without its model", scene);
    Status status = api_status(vpd_scene_truth(live->sources[scene].scene, live->dataset, &truth, &e), &e, err);
    if (status == STATUS_OK) status = scene_bytes(truth, out, err);
    vpd_scene_free(truth);
    if (status == STATUS_OK) return status;
    free(out->data);
    *out = (ViewBytes){0};
    return status;
}

// Whether `compose` can add a source's particles to those of the first: one model made both.
static bool fits(const Source *first, const Source *source) {
    const RolloutFile *a = &first->file, *b = &source->file;
    return source->scene && a->set_count == b->set_count && a->sets[0].D == b->sets[0].D &&
           (!*a->checkpoint_hash || !*b->checkpoint_hash || !strcmp(a->checkpoint_hash, b->checkpoint_hash));
}

// The episode before the one that is shown, that one, and the one behind it; "" if there is none.
static json_t *episodes(const Live *live) {
    json_t *list = json_array();
    const int at = live->episode;
    const char *here = live->predicts ? at < 0 ? live->sources[0].file.episode : live->episodes[at] : "";
    const char *later = live->predicts && at >= 0 ? live->episodes[at + 1] : NULL;
    json_array_append_new(list, json_text(live->predicts && at > 0 ? live->episodes[at - 1] : ""));
    json_array_append_new(list, json_text(here));
    json_array_append_new(list, json_text(later ? later : ""));
    return list;
}

Status live_facts(const Live *live, char **out, Error *err) {
    json_t *scenes = json_array();
    for (int i = 0; i < live->count; i++) {
        const Source *source = &live->sources[i];
        const char *real = source->real && fits(&live->sources[0], source) ? source->real : "";
        json_array_append_new(scenes, json_pack("{s:o s:o}", "file", json_text(source->path), "real", json_text(real)));
    }
    json_t *facts = json_pack("{s:I s:o s:b s:b s:b s:I s:o s:o s:o}", "start", (json_int_t)live->start, "title",
                              json_text(live->title), "simulates", live->model != NULL, "predicts", live->predicts,
                              "compares", live->dataset != NULL, "generation", (json_int_t)live->generation, "why",
                              json_text(live->why), "scenes", scenes, "episodes", episodes(live));
    *out = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    json_decref(facts);
    return *out ? STATUS_OK : live_no_memory(err);
}
