// SPDX-License-Identifier: Apache-2.0
#include "infer/eval.h"

#include "base/progress.h"
#include "base/stop.h"
#include "infer/draw.h"
#include "infer/eval_masks.h"
#include "infer/eval_pictures.h"
#include "infer/truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// State of one evaluation, with buffers that are reused for every picture.
typedef struct Evaluation {
    const Vpd *model;
    const Dataset *dataset;
    const EvalOptions *options;
    Report *report;
    RolloutWorkspace workspace;
    const EpisodeInfo *info; // of the current rollout
    const EvalRollout *start;
    IntList driven; // its objects whose motion is given
    double up[3];   // unit vector, of the current rollout
    RolloutFile rollout;
    Frames last, now;         // all views of the last input frame and of the frame that is measured
    EvalPictures drawn, rest; // all views, drawn with the predicted particles and with those of step 0
    uint8_t *moving, *valid;  // (H,W)
    size_t pixels;            // capacity of the buffers, all views together
    EvalMoving how;
} Evaluation;

static void evaluation_free(Evaluation *e) {
    rollout_workspace_free(&e->workspace);
    rollout_file_free(&e->rollout);
    frames_free(&e->last);
    frames_free(&e->now);
    eval_pictures_free(&e->drawn);
    eval_pictures_free(&e->rest);
    free(e->moving);
    free(e->valid);
}

// ---- memory and frames of one rollout

static Status need_pixels(Evaluation *e, Error *err) {
    size_t pixels = (size_t)e->info->V * (size_t)e->info->H * (size_t)e->info->W;
    e->drawn.V = e->rest.V = e->info->V;
    e->drawn.H = e->rest.H = e->info->H;
    e->drawn.W = e->rest.W = e->info->W;
    if (pixels <= e->pixels) return STATUS_OK;
    free(e->moving);
    free(e->valid);
    e->moving = malloc(pixels);
    e->valid = malloc(pixels);
    bool good =
        e->moving && e->valid && eval_pictures_reserve(&e->drawn, pixels) && eval_pictures_reserve(&e->rest, pixels);
    e->pixels = good ? pixels : 0;
    return good ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for pictures of %zu pixels", pixels);
}

static Status read_frame(const Evaluation *e, int step, Frames *out, Error *err) {
    FrameRequest request = {
        .episode = e->start->episode, .first = e->start->start + step * e->start->stride, .count = 1};
    return dataset_read_frames(e->dataset, request, out, err);
}

// ---- drawing

// Draws every view at `step` with the particles of step `particles`.
static Status draw_all(Evaluation *e, size_t particles, size_t step, EvalPictures *out, Error *err) {
    DrawScene scene;
    size_t pixels = (size_t)e->info->H * (size_t)e->info->W;
    Status status = draw_load(&e->workspace, &e->rollout, particles, &scene, err);
    for (int view = 0; view < e->info->V && status == STATUS_OK; view++) {
        RendererCamera camera = draw_camera(&e->rollout, step, view);
        RendererFrame frame = {.rgb = out->rgb + 3 * pixels * (size_t)view,
                               .depth = out->depth + pixels * (size_t)view};
        status = draw_view(&e->workspace.tape, e->model, &scene, &camera, frame, err);
    }
    return status;
}

// If the cameras do not move, the particles of step 0 look as they did at step 0.
static Status draw_step(Evaluation *e, size_t step, Error *err) {
    Status status = STATUS_OK;
    if (step > 0 && e->info->moving_cameras) status = draw_all(e, 0, step, &e->rest, err);
    if (status == STATUS_OK) status = draw_all(e, step, step, &e->drawn, err);
    if (status == STATUS_OK && step == 0) eval_pictures_copy(&e->drawn, &e->rest);
    return status;
}

// ---- comparing pictures

// Pixels that are measured; NULL: all.
static const uint8_t *find_valid(Evaluation *e, int view) {
    bool crop = e->model->config.data.crop && e->info->bounds;
    EvalPixels pixels = {&e->now, view};
    if (!crop && !e->options->seen_only) return NULL;
    memset(e->valid, 1, (size_t)e->info->H * (size_t)e->info->W);
    if (crop) eval_mask_box(pixels, e->info->bounds, e->valid);
    if (e->options->seen_only) eval_mask_seen(pixels, &e->last, e->rollout.heldout, e->valid);
    return e->valid;
}

static Status compare_view(Evaluation *e, int step, int view, Error *err) {
    size_t pixels = (size_t)e->info->H * (size_t)e->info->W, at = (size_t)view * pixels;
    const struct {
        const uint8_t *rgb;
        const float *depth;
    } predicted[METHOD_COUNT] = {[METHOD_MODEL] = {e->drawn.rgb, e->drawn.depth},
                                 [METHOD_COPY] = {e->last.rgb, e->last.depth},
                                 [METHOD_UNMOVED] = {e->rest.rgb, e->rest.depth}};
    eval_mask_moving((EvalPixels){&e->now, view}, &e->last, &e->how, e->moving);
    ReportImage image = {.step = step,
                         .view = view,
                         .heldout = e->rollout.heldout[view],
                         .H = e->info->H,
                         .W = e->info->W,
                         .truth = e->now.rgb + 3 * at,
                         .true_depth = e->now.depth + at,
                         .moving = e->moving,
                         .valid = find_valid(e, view)};
    Status status = STATUS_OK;
    for (int m = 0; m < METHOD_COUNT && status == STATUS_OK; m++) {
        if (m == METHOD_COPY && step == 0) continue; // this is the true picture itself
        image.method = (ReportMethod)m;
        image.predicted = predicted[m].rgb + 3 * at;
        image.predicted_depth = predicted[m].depth + at;
        status = report_add_image(e->report, &image, err);
    }
    return status;
}

// ---- comparing motion

// Tells the report what is missing.
static bool can_compare_motion(Evaluation *e) {
    const bool poses = e->info->O > 0 && e->info->object_position, masks = e->rollout.sets[0].labels;
    char *still = e->report->still;
    if (!poses) snprintf(still, sizeof e->report->still, "state/object_position is missing in the data");
    if (!masks) snprintf(still, sizeof e->report->still, "masks are missing in the data");
    if (!poses && !masks)
        snprintf(still, sizeof e->report->still, "state/object_position and masks are missing in the data");
    return poses && masks;
}

static void compare_motion(Evaluation *e, int step) {
    const EpisodeInfo *info = e->info;
    size_t O = (size_t)info->O, first = (size_t)e->start->start, frame = first + (size_t)(step * e->start->stride);
    if (!can_compare_motion(e)) return;
    MotionStep motion = {.particles = (int)rollout_drawn(&e->rollout.sets[0]),
                         .objects = info->O,
                         .before = rollout_positions(&e->rollout, 0),
                         .after = rollout_positions(&e->rollout, (size_t)step),
                         .object = e->rollout.sets[0].labels,
                         .position0 = info->object_position + 3 * O * first,
                         .position1 = info->object_position + 3 * O * frame,
                         .given = &e->driven,
                         .up = {e->up[0], e->up[1], e->up[2]}};
    if (info->object_quaternion) {
        motion.quaternion0 = info->object_quaternion + 4 * O * first;
        motion.quaternion1 = info->object_quaternion + 4 * O * frame;
    }
    motion_add(report_motion(e->report, METHOD_MODEL, step), &motion);
    motion.after = motion.before;
    motion_add(report_motion(e->report, METHOD_UNMOVED, step), &motion);
}

// ---- one rollout

static Status measure_step(Evaluation *e, EvalSheet *sheet, int step, Error *err) {
    if (stop_requested()) return stop_error(err);
    if (e->options->motion_only) {
        compare_motion(e, step);
        return STATUS_OK;
    }
    Status status = read_frame(e, step, &e->now, err);
    if (status == STATUS_OK) status = draw_step(e, (size_t)step, err);
    for (int view = 0; view < e->info->V && status == STATUS_OK; view++) status = compare_view(e, step, view, err);
    if (status != STATUS_OK) return status;
    compare_motion(e, step);
    return sheet ? eval_sheet_add(sheet, step, &e->now, &e->drawn, err) : STATUS_OK;
}

static void find_up(const Evaluation *e, const EpisodeInfo *info, double up[3]) {
    motion_up((int)e->model->config.train.turn, info->world_from_camera, episode_poses(info), up);
}

static Status measure_rollout(Evaluation *e, const EvalRollout *start, Error *err) {
    RolloutRequest request = {.history = {.episode = start->episode, .start = start->start, .views = e->options->views},
                              .driven = e->options->driven,
                              .analytic = e->options->analytic,
                              .warnings = e->options->log,
                              .steps = e->report->steps};
    EvalSheet sheet = {0};
    e->start = start;
    e->info = dataset_episode(e->dataset, start->episode);
    find_up(e, e->info, e->up);
    rollout_file_free(&e->rollout);
    Status status = rollout_run(&e->workspace, e->dataset, &request, &e->rollout, err);
    if (status == STATUS_OK && request.driven) status = truth_objects(e->info, request.driven, &e->driven, err);
    if (status == STATUS_OK) status = need_pixels(e, err);
    if (status == STATUS_OK) status = read_frame(e, 0, &e->last, err);
    if (status == STATUS_OK && e->options->pictures)
        status = eval_sheet_open(&sheet, e->options->pictures, &e->rollout, err);
    for (int step = 0; step <= e->report->steps && status == STATUS_OK; step++)
        status = measure_step(e, e->options->pictures ? &sheet : NULL, step, err);
    if (status == STATUS_OK && e->options->pictures) status = eval_sheet_write(&sheet, err);
    eval_sheet_free(&sheet);
    e->report->rollouts += status == STATUS_OK;
    return status;
}

// ---- the evaluation

static void write_heading(const Evaluation *e, const EvalPlan *plan) {
    Report *report = e->report;
    report->episodes = plan->episodes;
    for (int i = 0; i < plan->count; i++)
        report_add_step(report,
                        dataset_episode(e->dataset, plan->rollouts[i].episode)->time_step * plan->rollouts[i].stride);
    find_up(e, dataset_episode(e->dataset, plan->rollouts[plan->count - 1].episode),
            report->up); // not this rank's last
    snprintf(report->data, sizeof report->data, "%.500s", dataset_info(e->dataset)->path);
    eval_moving_words(e->how, report->moving, sizeof report->moving);
    if (e->options->driven) report->driven = *e->options->driven;
    snprintf(report->analytic, sizeof report->analytic, "%s", e->options->analytic ? e->options->analytic : "");
}

// How moving pixels were found by any process.
static Status join_masks(Evaluation *e, Error *err) {
    double found[] = {e->how.masks, e->how.changes};
    Status status = ranks_sum(e->options->ranks, found, 2, err);
    e->how = (EvalMoving){found[0] > 0, found[1] > 0};
    return status;
}

Status eval_run(const Vpd *model, const Dataset *dataset, const EvalPlan *plan, const EvalOptions *options,
                Report *report, Error *err) {
    Evaluation e = {.model = model, .dataset = dataset, .options = options, .report = report};
    Progress progress;
    Status status = report_init(report, plan->steps, plan->views, err);
    rollout_workspace_init(&e.workspace, model);
    size_t first, end;
    ranks_share(options->ranks, (size_t)plan->count, &first, &end);
    progress_start(&progress, options->log, "evaluate", "rollouts", 0, end - first);
    for (size_t i = first; i < end && status == STATUS_OK; i++) {
        status = measure_rollout(&e, &plan->rollouts[i], err);
        progress_update(&progress, i + 1 - first, NULL);
    }
    progress_end(&progress, NULL);
    if (status == STATUS_OK) status = report_join(report, options->ranks, err);
    if (status == STATUS_OK) status = join_masks(&e, err);
    if (status == STATUS_OK) write_heading(&e, plan);
    else report_free(report);
    evaluation_free(&e);
    return status;
}
