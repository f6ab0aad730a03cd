// SPDX-License-Identifier: Apache-2.0
#include "infer/train_hooks.h"

#include "base/file.h"
#include "infer/eval.h"
#include "infer/film.h"
#include "infer/history.h"
#include "infer/truth.h"
#include "train/schedule.h"

#include <math.h>
#include <stdlib.h>

// The first episodes of the validation split, or of the training split if that is empty.
static int choose_episodes(const Dataset *dataset, int *episodes, const char **split) {
    *split = "val";
    int found = dataset_find_split(dataset, SPLIT_VAL, episodes, HOOK_EPISODES);
    if (found == 0) {
        *split = "train";
        found = dataset_find_split(dataset, SPLIT_TRAIN, episodes, HOOK_EPISODES);
    }
    return found < HOOK_EPISODES ? found : HOOK_EPISODES;
}

static double mean_of(const Report *report, ReportRegion region, ReportMetric metric, int step) {
    Mean mean = report_mean(report, METHOD_MODEL, GROUP_INPUT, region, metric, step, -1);
    return mean_value(&mean);
}

static void log_report(RunLog *log, Report *report, bool images) {
    double whole[HOOK_STEPS + 1], moving[HOOK_STEPS + 1], motion[HOOK_STEPS + 1];
    size_t count = (size_t)report->steps + 1;
    for (int step = 0; step <= report->steps; step++) {
        whole[step] = mean_of(report, REGION_WHOLE, METRIC_PSNR, step);
        moving[step] = mean_of(report, REGION_MOVING, METRIC_PSNR, step);
        motion[step] = 100 * mean_value(&report_motion(report, METHOD_MODEL, step)->error);
    }
    if (images) {
        run_log_numbers(log, "psnr", count, whole);
        run_log_numbers(log, "psnr_moving", count, moving);
    }
    run_log_numbers(log, "motion_error_cm", count, motion);
}

// The score without pictures, if the data have true object motion: the error at the last step.
static double motion_score(Report *report) {
    return mean_value(&report_motion(report, METHOD_MODEL, report->steps)->error);
}

static double picture_score(const Report *report) {
    double sum = 0;
    int count = 0;
    for (int step = 1; step <= report->steps; step++) {
        double psnr = mean_of(report, REGION_MOVING, METRIC_PSNR, step);
        if (!isfinite(psnr)) continue;
        sum += psnr;
        count++;
    }
    return count ? -sum / count : NAN;
}

// Plans two starts per episode and at most HOOK_STEPS steps.
static Status plan_validation(const Vpd *model, const TrainData *data, const char **split, EvalPlan *plan, Error *err) {
    int episodes[HOOK_EPISODES];
    EvalChoice choice = {
        .episodes = episodes, .episode_count = choose_episodes(data->dataset, episodes, split), .steps = -1};
    Status status = eval_plan_make(model, data->dataset, &choice, plan, err);
    if (status != STATUS_OK || plan->steps <= HOOK_STEPS) return status;
    eval_plan_free(plan);
    choice.steps = HOOK_STEPS;
    return eval_plan_make(model, data->dataset, &choice, plan, err);
}

// Reads the input of one start: frames, time step and views of the history, and valid depth.
static Status check_start(const Vpd *model, const TrainData *data, const EvalRollout *rollout, Error *err) {
    HistoryRequest request = {.episode = rollout->episode, .start = rollout->start};
    const EpisodeInfo *info = dataset_episode(data->dataset, rollout->episode);
    UnprojectOptions options = {.crop = model->config.data.crop};
    Frames history = {0};
    PointCloud cloud = {0};
    Status status = history_read(model, data->dataset, &request, &history, err);
    Observation observation = frames_observation(&history);
    if (status == STATUS_OK) status = unproject_frame(&observation, observation.F - 1, options, &cloud, err);
    if (status == STATUS_OK && cloud.count == 0)
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s:/episodes/%s/depth: no valid depth in any input view at frame %d%s; \"vpd data check\" "
                           "shows it",
                           info->file, info->name, rollout->start,
                           options.crop ? " within the workspace box (data.crop)" : "");
    point_cloud_free(&cloud);
    frames_free(&history);
    return status;
}

static Status check(void *owner, const Vpd *model, const TrainData *data, Error *err) {
    const char *split = "";
    EvalPlan plan = {0};
    (void)owner;
    Status status = plan_validation(model, data, &split, &plan, err);
    for (int i = 0; i < plan.count && status == STATUS_OK; i++)
        status = check_start(model, data, &plan.rollouts[i], err);
    eval_plan_free(&plan);
    if (status != STATUS_BAD_INPUT) return status;
    return error_prefix(err, "the evaluation that ends the run would fail (%s episodes)", split);
}

static void tell_score(const Log *log, const char *split, bool images, double score) {
    if (!isfinite(score)) log_note(log, "final evaluation on %s episodes: nothing moving could be measured", split);
    else if (images)
        log_note(log, "final evaluation on %s episodes: moving pixels %.2f dB, mean of the predicted steps", split,
                 -score);
    else log_note(log, "final evaluation on %s episodes: motion error %.2f cm at the last step", split, 100 * score);
}

static Status validate(void *owner, const Vpd *model, const TrainData *data, long step, RunLog *log, double *score,
                       Error *err) {
    const char *split;
    EvalPlan plan = {0};
    Report report = {0};
    const TrainConfig *train = &data->config->train;
    const Log *messages = step >= train->steps ? owner : NULL;
    Status status = plan_validation(model, data, &split, &plan, err);
    bool images = schedule_has_images(train, step - 1);
    EvalOptions options = {.motion_only = !images, .log = messages, .ranks = data->ranks};
    if (status == STATUS_OK) status = eval_run(model, data->dataset, &plan, &options, &report, err);
    if (status == STATUS_OK) *score = images ? picture_score(&report) : motion_score(&report);
    if (status == STATUS_OK && ranks_rank(data->ranks) == 0) {
        run_log_begin(log, "eval", step);
        run_log_text(log, "split", split);
        run_log_number(log, "score", *score);
        log_report(log, &report, images);
        status = run_log_end(log, err);
        if (messages) tell_score(messages, split, images, *score);
    }
    report_free(&report);
    eval_plan_free(&plan);
    return status;
}

// One input view of an episode, and a held-out view if there is one.
static int choose_views(const EpisodeInfo *info, int views[2]) {
    int count = 1;
    views[0] = 0;
    while (views[0] + 1 < info->V && episode_view_is_heldout(info, views[0])) views[0]++;
    if (info->heldout_count > 0) views[count++] = info->heldout_views[0];
    return count;
}

// The start of an episode, predicted.
static Status sample(RolloutWorkspace *workspace, const TrainData *data, int episode, RolloutFile *out, Error *err) {
    const EpisodeInfo *info = dataset_episode(data->dataset, episode);
    int stride;
    Status status = history_stride(workspace->model, info, &stride, err);
    if (status != STATUS_OK) return status;
    int start = history_first_start(workspace->model, stride), steps = (info->F - 1 - start) / stride;
    RolloutRequest request = {.history = {.episode = episode, .start = start},
                              .steps = steps < HOOK_STEPS ? steps : HOOK_STEPS};
    return rollout_run(workspace, data->dataset, &request, out, err);
}

static Status write_into(const RolloutFile *rollout, const char *folder, const char *name, Error *err) {
    char path[FILE_PATH_SIZE];
    Status status = file_join(path, sizeof path, folder, name, err);
    return status == STATUS_OK ? rollout_file_write(rollout, path, err) : status;
}

// FOLDER/rollout.h5, and truth.h5 if the data say where objects were. A viewer draws particles: features are left out.
static Status keep_rollout(const RolloutFile *rollout, const TrainData *data, int episode, const char *folder,
                           Error *err) {
    RolloutFile shown = *rollout, truth = {0};
    Error none;
    shown.set_count = 1;
    shown.features = shown.sets[0].features = NULL;
    shown.sets[0].D = 0;
    bool recorded = truth_of_rollout(&shown, dataset_episode(data->dataset, episode), &truth, &none) == STATUS_OK;
    Status status = recorded ? write_into(&truth, folder, "truth.h5", err) : STATUS_OK;
    if (status == STATUS_OK) status = write_into(&shown, folder, "rollout.h5", err);
    rollout_file_free(&truth);
    return status;
}

static Status film(RolloutWorkspace *workspace, const TrainData *data, int episode, const char *folder, Video *video,
                   Error *err) {
    RolloutFile rollout = {0};
    Film shots = {0};
    int views[2], view_count = choose_views(dataset_episode(data->dataset, episode), views);
    Status status = sample(workspace, data, episode, &rollout, err);
    if (status == STATUS_OK) status = keep_rollout(&rollout, data, episode, folder, err);
    if (status == STATUS_OK) status = film_of_views(&rollout, views, view_count, -1, 0, 0, &shots, err);
    FilmOptions options = {.truth = data->dataset, .episode = episode, .difference = true};
    if (status == STATUS_OK) status = film_draw(workspace, &rollout, &shots, &options, video, err);
    film_free(&shots);
    rollout_file_free(&rollout);
    return status;
}

static void show(void *owner, const Vpd *model, const TrainData *data, const char *folder) {
    int episodes[HOOK_EPISODES] = {0};
    const char *split;
    RolloutWorkspace workspace = {0};
    RolloutFile rollout = {0};
    Error none;
    (void)owner;
    if (choose_episodes(data->dataset, episodes, &split) == 0) return;
    rollout_workspace_init(&workspace, model);
    if (sample(&workspace, data, episodes[0], &rollout, &none) == STATUS_OK)
        (void)keep_rollout(&rollout, data, episodes[0], folder, &none);
    rollout_file_free(&rollout);
    rollout_workspace_free(&workspace);
}

static Status draw(void *owner, const Vpd *model, const TrainData *data, long step, const char *folder, RunLog *log,
                   Error *err) {
    int episodes[HOOK_EPISODES] = {0};
    const char *split;
    char path[FILE_PATH_SIZE], name[64];
    Video video = {.fps = 8};
    RolloutWorkspace workspace = {0};
    (void)owner;
    if (choose_episodes(data->dataset, episodes, &split) == 0) return STATUS_OK;
    rollout_workspace_init(&workspace, model);
    snprintf(name, sizeof name, "step_%08ld.gif", step);
    Status status = film(&workspace, data, episodes[0], folder, &video, err);
    if (status == STATUS_OK) status = file_join(path, sizeof path, folder, name, err);
    if (status == STATUS_OK) status = video_write_gif(&video, path, err);
    Image last = {video.H, video.W, 3, PIXEL_U8, video.count ? video.frames[video.count - 1] : NULL};
    if (status == STATUS_OK && last.pixels) status = run_log_picture(log, step, "rollout", &last, err);
    video_free(&video);
    rollout_workspace_free(&workspace);
    return status;
}

TrainHooks train_hooks(const Log *log) { return (TrainHooks){(void *)(uintptr_t)log, check, validate, draw, show}; }
