// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "datasets/dataset.h"
#include "infer/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX ((size_t)1 << 20) // what a file may hold

static const char edited[] = "# positions were set through libvpd";

// ---- where scenes come from and where they go

Status scene_create(vpd_model *model, RolloutFile *file, vpd_scene **out, Error *err) {
    vpd_scene *scene = calloc(1, sizeof *scene);
    if (!scene) {
        rollout_file_free(file);
        return error_set(err, STATUS_FAILED, "out of memory for a scene");
    }
    *scene = (vpd_scene){.model = model, .file = *file};
    model->references++;
    *out = scene;
    return STATUS_OK;
}

void vpd_scene_free(vpd_scene *scene) {
    if (!scene) return;
    vpd_model *model = scene->model;
    pthread_mutex_lock(&model->lock);
    edit_mechanics_free(scene->coming);
    pthread_mutex_unlock(&model->lock);
    rollout_file_free(&scene->file);
    free(scene->warnings);
    free(scene);
    vpd_model_close(model);
}

Status scene_copy_whole(const vpd_scene *scene, RolloutFile *out, Error *err) {
    size_t told = scene->told;
    Status status = rollout_file_copy(&scene->file, out, err);
    return status == STATUS_OK ? edit_mechanics_tell(scene->coming, out, &told, SIZE_MAX, NULL, err) : status;
}

// Checks the arguments of all functions that make a scene.
static Status check_new(const vpd_model *model, vpd_scene **out, Error *err) {
    Status status = api_check_pointer(model, "model", err);
    if (status == STATUS_OK) status = api_check_pointer(out, "out", err);
    if (status == STATUS_OK) *out = NULL;
    return status;
}

static Status run_episode(vpd_model *model, const Dataset *dataset, const char *episode, int start, RolloutFile *out,
                          Error *err) {
    const Session *session = &model->session;
    RolloutRequest request = {0};
    HistoryRequest *history = &request.history;
    int stride = 1;
    Status status = dataset_find_episode(dataset, episode, &history->episode, err);
    if (status != STATUS_OK) return status;
    const EpisodeInfo *info = dataset_episode(dataset, history->episode);
    status = history_stride(session->model, info, &stride, err);
    history->start = start >= 0 ? start : history_first_start(session->model, stride);
    if (status == STATUS_OK) status = rollout_run(&model->workspace, dataset, &request, out, err);
    if (status == STATUS_OK) session_sign(session, out);
    return status;
}

vpd_status vpd_scene_episode(vpd_model *model, const char *path, const char *episode, int start, vpd_scene **out,
                             vpd_error *err) {
    Error e = {0};
    RolloutFile file = {0};
    Dataset *dataset = NULL;
    Status status = check_new(model, out, &e);
    if (status == STATUS_OK) status = api_check_pointer(path, "dataset", &e);
    if (status == STATUS_OK && start < -1)
        status = error_set(&e, STATUS_BAD_INPUT, "start: expected a frame, or -1 for the earliest, found %d", start);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(model, 0, true);
    status = dataset_open(path, &dataset, &e);
    if (status == STATUS_OK) status = run_episode(model, dataset, episode, start, &file, &e);
    if (status == STATUS_OK) status = scene_create(model, &file, out, &e);
    dataset_close(dataset);
    call_end(&call);
    return api_result(status, &e, err);
}

// Checks that this model's weights made the file.
static Status check_weights(const Session *session, const RolloutFile *file, const char *path, Error *err) {
    size_t D = (size_t)session->meta.config.model.D;
    Status status = session_check(session, file, path, err);
    if (status != STATUS_OK) return status;
    bool known = *file->checkpoint_hash;
    if (known && session_is_raw(file) != session->raw)
        return error_set(err, STATUS_BAD_INPUT, "%s: made with %s weights; open the model with raw = %d", path,
                         session->raw ? "averaged" : "raw", !session->raw);
    if (!file->sets[0].features || file->sets[0].D == D) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected %zu features per particle for this model, found %zu", path, D,
                     file->sets[0].D);
}

vpd_status vpd_scene_read(vpd_model *model, const char *path, vpd_scene **out, vpd_error *err) {
    Error e = {0};
    RolloutFile file = {0};
    Status status = check_new(model, out, &e);
    if (status == STATUS_OK) status = api_check_pointer(path, "path", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(model, 0, false);
    status = rollout_file_read(path, &file, &e);
    if (status == STATUS_OK) status = check_weights(&model->session, &file, path, &e);
    if (status == STATUS_OK) status = scene_create(model, &file, out, &e);
    else rollout_file_free(&file);
    call_end(&call);
    return api_result(status, &e, err);
}

static Status write_whole(const vpd_scene *scene, const char *path, Error *err) {
    RolloutFile whole = {0};
    if (!scene->coming) return rollout_file_write(&scene->file, path, err);
    Status status = scene_copy_whole(scene, &whole, err);
    if (status == STATUS_OK) status = rollout_file_write(&whole, path, err);
    rollout_file_free(&whole);
    return status;
}

vpd_status vpd_scene_write(const vpd_scene *scene, const char *path, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(path, "path", &e);
    if (status == STATUS_OK) status = api_check_output(path, "vpd-rollout vpd-particles", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = write_whole(scene, path, &e);
    call_end(&call);
    return api_result(status, &e, err);
}

vpd_status vpd_scene_copy(const vpd_scene *scene, vpd_scene **out, vpd_error *err) {
    Error e = {0};
    RolloutFile file = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = check_new(scene->model, out, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = rollout_file_copy(&scene->file, &file, &e);
    if (status == STATUS_OK) status = scene_create(scene->model, &file, out, &e);
    if (status == STATUS_OK) (*out)->coming = edit_mechanics_share(scene->coming), (*out)->told = scene->told;
    call_end(&call);
    return api_result(status, &e, err);
}

// ---- what is in them

vpd_status vpd_scene_get_facts(const vpd_scene *scene, vpd_scene_facts *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_scene_facts, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    const RolloutFile *r = &scene->file;
    *out = (vpd_scene_facts){.struct_size = sizeof *out,
                             .particles = r->sets[0].N,
                             .features = r->sets[0].D,
                             .steps = r->steps,
                             .time_step = r->time_step,
                             .cameras = r->V,
                             .height = r->H,
                             .width = r->W,
                             .name = r->episode,
                             .label_names = r->label_names ? r->label_names : ""};
    memcpy(out->background, r->background, sizeof out->background);
    call_end(&call);
    return api_result(STATUS_OK, &e, err);
}

static void give_particles(const RolloutFile *r, size_t step, vpd_particle_arrays *out) {
    const RolloutSet *now = &r->sets[0];
    *out = (vpd_particle_arrays){.struct_size = sizeof *out,
                                 .count = now->N,
                                 .features = now->D,
                                 .time = r->time[step],
                                 .positions = rollout_positions(r, step),
                                 .feature = rollout_features(r, step),
                                 .colour = now->colour,
                                 .labels = now->labels,
                                 .moving = now->moving,
                                 .radius = now->radius,
                                 .body = now->body};
}

vpd_status vpd_scene_get_particles(const vpd_scene *scene, size_t step, vpd_particle_arrays *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_particle_arrays, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = api_check_step(&scene->file, step, &e);
    if (status == STATUS_OK) give_particles(&scene->file, step, out);
    call_end(&call);
    return api_result(status, &e, err);
}

// ---- what changes them

static Status check_more(const RolloutFile *r, size_t steps, Error *err) {
    if (steps <= STEPS_MAX && r->steps + steps <= STEPS_MAX) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "steps: a scene holds at most %zu, found %zu and %zu more; rewind it",
                     STEPS_MAX, r->steps, steps);
}

vpd_status vpd_scene_step(vpd_scene *scene, size_t steps, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, true);
    status = check_more(&scene->file, steps, &e);
    RolloutFile *file = &scene->file;
    if (status == STATUS_OK)
        status = edit_mechanics_tell(scene->coming, file, &scene->told, file->steps + steps, NULL, &e);
    if (status == STATUS_OK) status = rollout_simulate(&scene->model->workspace, file, steps, NULL, &e);
    call_end(&call);
    return api_result(status, &e, err);
}

static Status rewind_to(RolloutFile *r, size_t step, Error *err) {
    Status status = api_check_step(r, step, err);
    if (status != STATUS_OK) return status;
    r->steps = step; // the arrays keep their room
    if (r->camera_frames > 1) r->camera_frames = (int)step + 1;
    return STATUS_OK;
}

vpd_status vpd_scene_rewind(vpd_scene *scene, size_t step, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = rewind_to(&scene->file, step, &e);
    call_end(&call);
    return api_result(status, &e, err);
}

static Status set_positions(RolloutFile *r, size_t step, const float *positions, Error *err) {
    size_t N = r->sets[0].N;
    for (size_t i = 0; i < 3 * N; i++)
        if (!isfinite(positions[i]))
            return error_set(err, STATUS_BAD_INPUT, "positions: expected finite metres, found %g for particle %zu",
                             (double)positions[i], i / 3);
    bool noted = r->edit_history && strstr(r->edit_history, edited);
    Status status = noted ? STATUS_OK : rollout_file_note(r, edited, err);
    if (status != STATUS_OK) return status;
    float *to = step == 0 ? r->sets[0].positions : r->positions + (step - 1) * 3 * N;
    memmove(to, positions, 3 * N * sizeof *to); // it may be what vpd_scene_get_particles gave
    return STATUS_OK;
}

vpd_status vpd_scene_set_positions(vpd_scene *scene, size_t step, const float *positions, size_t count,
                                   vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = api_check_pointer(positions, "positions", &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = api_check_step(&scene->file, step, &e);
    if (status == STATUS_OK) status = api_check_count(&scene->file, count, "positions", &e);
    if (status == STATUS_OK) status = set_positions(&scene->file, step, positions, &e);
    call_end(&call);
    return api_result(status, &e, err);
}
