// SPDX-License-Identifier: Apache-2.0
#include "infer/eval_plan.h"

#include "infer/history.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STARTS = 2, EXTRA_TEXT = 24 };

typedef struct Planning {
    const Vpd *model;
    const Dataset *dataset;
    const EvalChoice *choice;
    EvalPlan *plan;
    int left_out, unnamed; // starts that do not fit, and how many of them are not named in the note
    int nearest;           // episode of the last of them
    int nearest_start, nearest_stride;
} Planning;

static int max_int(int a, int b) { return a > b ? a : b; }

void eval_plan_free(EvalPlan *plan) {
    free(plan->rollouts);
    *plan = (EvalPlan){0};
}

// Steps from the latest start (the requested one, or else the earliest possible) to the end, in the episode with the
// fewest.
static Status choose_steps(Planning *p, Error *err) {
    int steps = EVAL_DEFAULT_STEPS;
    for (int i = 0; i < p->choice->episode_count; i++) {
        const EpisodeInfo *info = dataset_episode(p->dataset, p->choice->episodes[i]);
        int stride;
        Status status = history_stride(p->model, info, &stride, err);
        if (status != STATUS_OK) return status;
        int start = history_first_start(p->model, stride);
        for (int k = 0; k < p->choice->starts.count; k++) start = max_int(start, p->choice->starts.v[k]);
        int room = info->F - 1 - start;
        if (room / stride < steps) steps = room / stride;
    }
    p->plan->steps = p->choice->steps >= 0 ? p->choice->steps : steps > 0 ? steps : 0;
    return STATUS_OK;
}

static void note_left_out(Planning *p, int episode, int start, int stride) {
    char *note = p->plan->left_out, word[128];
    size_t used = strlen(note);
    p->left_out++;
    p->nearest = episode, p->nearest_start = start, p->nearest_stride = stride;
    int n = snprintf(word, sizeof word, "%s%s start %d", used ? ", " : "", dataset_episode(p->dataset, episode)->name,
                     start);
    if (n >= (int)sizeof word || used + (size_t)n + EXTRA_TEXT >= sizeof p->plan->left_out) p->unnamed++;
    else memcpy(note + used, word, (size_t)n + 1);
}

// The starts of one episode that fit.
static Status plan_episode(Planning *p, int episode, Error *err) {
    const EpisodeInfo *info = dataset_episode(p->dataset, episode);
    int stride, before = p->plan->count;
    Status status = history_stride(p->model, info, &stride, err);
    if (status != STATUS_OK) return status;
    int first = history_first_start(p->model, stride), last = info->F - 1 - p->plan->steps * stride;
    IntList starts = p->choice->starts;
    if (starts.count == 0) starts = (IntList){.count = last > first ? 2 : 1, .v = {first, first + (last - first) / 2}};
    if (starts.count == 2 && starts.v[0] == starts.v[1]) starts.count = 1;
    for (int i = 0; i < starts.count; i++) {
        if (starts.v[i] >= first && starts.v[i] <= last)
            p->plan->rollouts[p->plan->count++] = (EvalRollout){episode, starts.v[i], stride};
        else note_left_out(p, episode, starts.v[i], stride);
    }
    p->plan->episodes += p->plan->count > before;
    if (info->V > p->plan->views) p->plan->views = info->V;
    return STATUS_OK;
}

static Status nothing_fits(const Planning *p, Error *err) {
    if (p->choice->episode_count == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: no episode to evaluate", dataset_info(p->dataset)->path);
    const EpisodeInfo *info = dataset_episode(p->dataset, p->nearest);
    int first = history_first_start(p->model, p->nearest_stride);
    if (p->nearest_start < first)
        return error_set(
            err, STATUS_BAD_INPUT,
            "%s:/episodes/%s: start frame %d; expected %d or more: the model sees %ld frames, the last of them at the "
            "start",
            info->file, info->name, p->nearest_start, first, p->model->config.model.T);
    if (info->F <= first)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:/episodes/%s: expected at least %d frames for the model's %ld inputs, found %d; leave it "
                         "out, or record more",
                         info->file, info->name, first + 1, p->model->config.model.T, info->F);
    return error_set(err, STATUS_BAD_INPUT,
                     "%s:/episodes/%s: expected at least %d frames for start %d and %d steps, found %d, and no other "
                     "start fits; ask "
                     "for fewer steps or earlier starts",
                     info->file, info->name, p->nearest_start + p->plan->steps * p->nearest_stride + 1,
                     p->nearest_start, p->plan->steps, info->F);
}

Status eval_plan_make(const Vpd *model, const Dataset *dataset, const EvalChoice *choice, EvalPlan *plan, Error *err) {
    Planning p = {.model = model, .dataset = dataset, .choice = choice, .plan = plan};
    size_t starts = choice->starts.count ? (size_t)choice->starts.count : DEFAULT_STARTS;
    *plan = (EvalPlan){.views = 1};
    plan->rollouts = calloc((size_t)choice->episode_count * starts + 1, sizeof *plan->rollouts);
    if (!plan->rollouts)
        return error_set(err, STATUS_FAILED, "out of memory for a plan of %d episodes", choice->episode_count);
    Status status = choose_steps(&p, err);
    for (int i = 0; i < choice->episode_count && status == STATUS_OK; i++)
        status = plan_episode(&p, choice->episodes[i], err);
    if (status == STATUS_OK && plan->count == 0) status = nothing_fits(&p, err);
    if (status != STATUS_OK) {
        eval_plan_free(plan);
        return status;
    }
    size_t used = strlen(plan->left_out);
    if (p.unnamed) snprintf(plan->left_out + used, sizeof plan->left_out - used, " and %d more", p.unnamed);
    return STATUS_OK;
}
