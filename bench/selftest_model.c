// SPDX-License-Identifier: Apache-2.0
#include "bench/selftest_model.h"

#include "base/check.h"
#include "device/room_video.h"
#include "train/schedule.h"

#include <string.h>

Status selftest_open_model(SelfTestModel *model, Device *device, const Config *config, const Observation *frames,
                           Error *err) {
    const TrainConfig *t = &config->train;
    *model = (SelfTestModel){0};
    tape_init(&model->tape, device);
    Status status = vpd_create(config, device, &model->model, err);
    MotionSource source = {1, &frames->F, (size_t)frames->V * (size_t)frames->H * (size_t)frames->W, 0};
    if (status == STATUS_OK)
        status = motion_cache_open(&model->workspace.motion, NULL, model->model, &source, NULL, err);
    OptimizerConfig options = schedule_optimizer(t);
    return status == STATUS_OK ? optimizer_create(&model->optimizer, &model->model->parameters, options, err) : status;
}

void selftest_close_model(SelfTestModel *model) {
    optimizer_free(&model->optimizer);
    loss_workspace_free(&model->workspace);
    tape_free(&model->tape);
    vpd_free(model->model);
}

Status selftest_gradient(SelfTestModel *model, const Observation *frames, int step, double *loss, Error *err) {
    LossParts parts = {0};
    LossValues values;
    int views[SELFTEST_VIEWS];
    CHECK_EQ(frames->V, SELFTEST_VIEWS);
    for (int v = 0; v < frames->V; v++) views[v] = v;
    EpisodeInput input = {
        .frames = frames, .input_views = views, .input_view_count = frames->V, .key = {1, (uint32_t)step, 0}};
    EpisodeBatch batch = {1, 1, &input, frames->F - (int)model->model->config.model.T, NULL};
    parameters_zero_grad(&model->model->parameters);
    Status status = train_episodes(&model->tape, model->model, &model->workspace, &batch, &values, err);
    if (status == STATUS_OK) status = loss_read(&model->tape, &values, &parts, err);
    *loss = parts.total;
    return status;
}

Status selftest_update(SelfTestModel *model, int step, Error *err) {
    double norm;
    return optimizer_step(&model->optimizer, schedule_rate(&model->model->config.train, step), &norm, err);
}

Status selftest_each_form(SelfTest *test, int frames, int side, SelfTestForm *compare, Error *err) {
    RoomVideo room;
    Status status = room_video_make(&room, frames, SELFTEST_VIEWS, side, side, err);
    for (int form = 0; form < STEP_FORMS && status == STATUS_OK; form++)
        if (!test->model || !strcmp(test->model, step_form_names[form]))
            status = compare(test, (StepForm)form, &room.observation, err);
    room_video_free(&room);
    return status;
}
