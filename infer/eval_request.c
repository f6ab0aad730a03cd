// SPDX-License-Identifier: Apache-2.0
#include "infer/eval_request.h"

#include "base/file.h"
#include "files/data_record.h"
#include "infer/history.h"

#include <stdlib.h>
#include <string.h>

// ---- which episodes

static Status parse_splits(const char *splits, bool out[SPLIT_COUNT], Error *err) {
    for (const char *at = splits;; at++) {
        char word[16];
        size_t length = strcspn(at, ",");
        Split split;
        snprintf(word, sizeof word, "%.*s", length < sizeof word ? (int)length : 15, at);
        if (!split_parse(word, &split))
            return error_set(err, STATUS_BAD_INPUT,
                             "split: expected train, val or test, or a list of them, found \"%.40s\"", at);
        out[split] = true;
        at += length;
        if (!*at) return STATUS_OK;
    }
}

static Status named_episodes(const Dataset *dataset, const char *const *names, int count, EvalEpisodes *out,
                             Error *err) {
    Status status = STATUS_OK;
    snprintf(out->words, sizeof out->words, "given by name");
    for (int i = 0; status == STATUS_OK && i < count; i++) {
        status = dataset_find_episode(dataset, names[i], &out->list[out->count++], err);
        for (int j = 0; status == STATUS_OK && j < i; j++)
            if (out->list[j] == out->list[i])
                status = error_set(err, STATUS_BAD_INPUT, "episode %s is named twice", names[i]);
    }
    return status;
}

Status eval_episodes_choose(const Dataset *dataset, const char *splits, const char *const *names, int name_count,
                            EvalEpisodes *out, Error *err) {
    const DatasetInfo *info = dataset_info(dataset);
    *out = (EvalEpisodes){0};
    if (!splits) splits = "val,test";
    snprintf(out->words, sizeof out->words, "%.60s", splits);
    Status status = parse_splits(splits, out->split, err);
    if (status != STATUS_OK) return status;
    out->list = calloc((size_t)info->episode_count + (size_t)name_count + 1, sizeof *out->list);
    if (!out->list) return error_set(err, STATUS_FAILED, "out of memory for a list of episodes");
    if (name_count) return named_episodes(dataset, names, name_count, out, err);
    for (int i = 0; i < info->episode_count; i++)
        if (out->split[dataset_episode(dataset, i)->split]) out->list[out->count++] = i;
    if (out->count) return STATUS_OK;
    return error_set(
        err, STATUS_BAD_INPUT,
        "%s: expected episodes of split %s, found %d for train, %d for val, %d for test; choose another split",
        info->path, out->words, info->split_count[SPLIT_TRAIN], info->split_count[SPLIT_VAL],
        info->split_count[SPLIT_TEST]);
}

void eval_episodes_free(EvalEpisodes *episodes) {
    free(episodes->list);
    *episodes = (EvalEpisodes){0};
}

// ---- the evaluation

// Motion is measured on particles of objects, which need masks, against the objects' true positions. Without them the
// report would be empty.
static Status check_motion(const Dataset *dataset, const EvalRequest *request, Error *err) {
    const char *path = dataset_info(dataset)->path;
    bool positions = false;
    if (!request->motion_only) return STATUS_OK;
    if (request->steps == 0)
        return error_set(err, STATUS_BAD_INPUT, "an evaluation of motion alone needs at least 1 step, found 0");
    for (int i = 0; i < request->episodes->count; i++) {
        const EpisodeInfo *info = dataset_episode(dataset, request->episodes->list[i]);
        if (info->object_position && info->O > 0 && info->has_mask) return STATUS_OK;
        positions = positions || (info->object_position && info->O > 0);
    }
    return error_set(
        err, STATUS_BAD_INPUT,
        "%s: the motion of objects cannot be measured, because these episodes have no %s; measure pictures "
        "instead (without --motion)",
        path, positions ? "mask" : "state/object_position");
}

static void put_list(FILE *out, const char *name, const IntList *list) {
    fprintf(out, "%s:", name);
    for (int i = 0; i < list->count; i++) fprintf(out, " %d", list->v[i]);
    fprintf(out, "\n");
}

// What all processes of a job must have in common, a line each. The hash names the checkpoint, wherever it lies.
static char *describe(const Session *session, const Dataset *dataset, const EvalRequest *request,
                      const EvalPlan *plan) {
    char *text = NULL;
    size_t length = 0;
    DataRecord record;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    data_record_make(dataset, &record);
    data_record_print_job(&record, "eval", session->device->name, out);
    fprintf(out, "checkpoint: %s, step %ld%s\n", session->meta.hash, session->meta.step,
            session->raw ? ", raw weights" : "");
    fprintf(out, "steps: %d\nviews: %d\n", plan->steps, plan->views);
    put_list(out, "input views", &request->views);
    put_list(out, "driven", &request->driven);
    fprintf(out, "analytic: %s\n", request->analytic ? request->analytic : "no");
    fprintf(out, "measured: %s%s\npictures: %s\n", request->motion_only ? "motion" : "pictures",
            request->seen_only ? ", seen pixels only" : "", request->pictures ? request->pictures : "none");
    for (int i = 0; i < plan->count; i++) {
        const EvalRollout *rollout = &plan->rollouts[i];
        fprintf(out, "rollout: episode %s, start %d, stride %d\n", dataset_episode(dataset, rollout->episode)->name,
                rollout->start, rollout->stride);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

// Processes with other reports could not add them up.
static Status check_same(const Session *session, const Dataset *dataset, const EvalRequest *request,
                         const EvalPlan *plan, Error *err) {
    if (!request->ranks) return STATUS_OK;
    char *text = describe(session, dataset, request, plan);
    if (!text) return error_set(err, STATUS_FAILED, "out of memory for the options");
    Status status = ranks_same_text(request->ranks, text, err);
    free(text);
    return status;
}

Status eval_request_run(const Session *session, const Dataset *dataset, const EvalRequest *request, Report *report,
                        Error *err) {
    EvalPlan plan = {0};
    EvalChoice choice = {.episodes = request->episodes->list,
                         .episode_count = request->episodes->count,
                         .starts = request->starts,
                         .steps = request->steps};
    EvalOptions options = {.views = &request->views,
                           .driven = &request->driven,
                           .analytic = request->analytic,
                           .seen_only = request->seen_only,
                           .motion_only = request->motion_only,
                           .pictures = request->pictures,
                           .log = request->log,
                           .ranks = request->ranks};
    if (request->motion_only && (request->pictures || request->seen_only))
        return error_set(err, STATUS_BAD_INPUT,
                         "an evaluation of motion alone draws nothing; leave out its pictures and seen_only");
    Status status = check_motion(dataset, request, err);
    if (status == STATUS_OK && request->pictures) status = file_make_folders(request->pictures, err);
    if (status == STATUS_OK) status = eval_plan_make(session->model, dataset, &choice, &plan, err);
    if (status == STATUS_OK && *plan.left_out)
        log_warning(request->log, "too short for %d steps: %s", plan.steps, plan.left_out);
    if (status == STATUS_OK) status = check_same(session, dataset, request, &plan, err);
    if (status == STATUS_OK)
        history_warn(session->model, dataset, plan.rollouts[0].episode, &request->views, request->log);
    if (status == STATUS_OK) status = eval_run(session->model, dataset, &plan, &options, report, err);
    if (status == STATUS_OK) {
        snprintf(report->model, sizeof report->model, "%.400s, step %ld%s", session->path, session->meta.step,
                 session->raw ? ", raw weights" : "");
        snprintf(report->split, sizeof report->split, "%s", request->episodes->words);
    }
    eval_plan_free(&plan);
    return status;
}
