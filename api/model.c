// SPDX-License-Identifier: Apache-2.0
#include "api/api.h"
#include "base/stop.h"
#include "base/version.h"

#include <omp.h>
#include <stdlib.h>

const char *vpd_library_version(void) { return version_number(); }
const char *vpd_library_commit(void) { return version_commit(); }
int vpd_library_api(void) { return VPD_API_VERSION; }

Call call_begin(vpd_model *model, int threads, bool stoppable) {
    if (model) pthread_mutex_lock(&model->lock);
    Call call = {.model = model, .threads = omp_get_max_threads()};
    if (threads == 0) threads = model ? model->session.device->threads : threads_available();
    if (threads > 0) omp_set_num_threads(threads);
    signal_hold(&call.hold, stoppable);
    return call;
}

void call_end(Call *call) {
    signal_release(&call->hold);
    omp_set_num_threads(call->threads);
    if (call->model) pthread_mutex_unlock(&call->model->lock);
}

void vpd_stop(void) { stop_watched(); }

static Status read_options(const char *path, const vpd_open_options *options, SessionOptions *wanted, Error *err) {
    Status status = api_check_pointer(path, "path", err);
    if (status == STATUS_OK && options) status = API_CHECK_STRUCT(options, vpd_open_options, err);
    if (status != STATUS_OK) return status;
    if (options) {
        wanted->device = options->device;
        wanted->threads = options->threads;
        wanted->raw = options->raw;
    }
    return api_check_threads(wanted->threads, err);
}

static Status open_model(const SessionOptions *wanted, vpd_model **out, Error *err) {
    vpd_model *model = calloc(1, sizeof *model);
    if (!model) return error_set(err, STATUS_FAILED, "out of memory for a model");
    Status status = session_open(&model->session, wanted, err);
    if (status != STATUS_OK) {
        free(model);
        return status;
    }
    rollout_workspace_init(&model->workspace, model->session.model);
    pthread_mutex_init(&model->lock, NULL); // cannot fail without attributes
    model->references = 1;
    *out = model;
    return STATUS_OK;
}

// Opening a device may run a self-test, and sets the number of threads.
static Status open_held(const char *path, const vpd_open_options *options, vpd_model **out, Error *err) {
    SessionOptions wanted = {.checkpoint = path};
    Status status = read_options(path, options, &wanted, err);
    if (status != STATUS_OK) return status;
    Call call = call_begin(NULL, wanted.threads, false);
    status = open_model(&wanted, out, err);
    call_end(&call);
    return status;
}

vpd_status vpd_model_open(const char *path, const vpd_open_options *options, vpd_model **out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(out, "out", &e);
    if (status == STATUS_OK) {
        *out = NULL;
        status = open_held(path, options, out, &e);
    }
    return api_result(status, &e, err);
}

void vpd_model_close(vpd_model *model) {
    if (!model) return;
    pthread_mutex_lock(&model->lock);
    bool last = --model->references == 0;
    pthread_mutex_unlock(&model->lock);
    if (!last) return;
    rollout_workspace_free(&model->workspace);
    session_close(&model->session);
    pthread_mutex_destroy(&model->lock);
    free(model);
}

vpd_status vpd_model_get_facts(const vpd_model *model, vpd_model_facts *out, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(model, "model", &e);
    if (status == STATUS_OK) status = API_CHECK_STRUCT(out, vpd_model_facts, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    const Session *s = &model->session;
    const Config *c = &s->meta.config;
    *out = (vpd_model_facts){.struct_size = sizeof *out,
                             .history = (int)c->model.T,
                             .features = (int)c->model.D,
                             .particles_max = (int)c->encoder.N,
                             .has_dynamics = vpd_has_dynamics(s->model),
                             .time_step = s->meta.time_step,
                             .radius = c->renderer.radius,
                             .train_step = s->meta.step,
                             .path = s->path,
                             .hash = s->meta.hash,
                             .device = s->device->name,
                             .note = s->note,
                             .device_why = s->device_why};
    return api_result(STATUS_OK, &e, err);
}
