// SPDX-License-Identifier: Apache-2.0
#include "infer/rollout.h"

#include "base/array.h"
#include "base/progress.h"
#include "base/stop.h"
#include "edit/edit.h"
#include "files/rollout_ties.h"
#include "infer/motion.h"
#include "infer/truth.h"
#include "nn/backend.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void rollout_workspace_init(RolloutWorkspace *workspace, const Vpd *model) {
    *workspace = (RolloutWorkspace){.model = model};
    tape_init(&workspace->tape, model->device);
    workspace->tape.recording = false;
    arena_init(&workspace->shadow_memory, arena_host_source());
}

void rollout_workspace_free(RolloutWorkspace *workspace) {
    if (!workspace->model) return;
    tape_free(&workspace->tape);
    workspace_free(&workspace->scene);
    arena_free(&workspace->shadow_memory);
    *workspace = (RolloutWorkspace){0};
}

// The number in the episode's name, or else a hash of the name (FNV-1a).
static SceneKey key_of(const Vpd *model, const char *episode) {
    uint32_t number = 2166136261u;
    bool digits = episode[0] && strlen(episode) <= 9;
    for (const char *c = episode; *c; c++) {
        digits = digits && isdigit((unsigned char)*c);
        number = (number ^ (unsigned char)*c) * 16777619u;
    }
    return (SceneKey){.seed = (uint32_t)model->config.train.seed,
                      .episode = digits ? (uint32_t)strtoul(episode, NULL, 10) : number};
}

// ---- step 0: from the device to the host

// Copies `count` floats of device memory to new host memory; NULL if there are none or memory is short.
static float *fetch(Device *device, const real *from, size_t count) {
    float *host = count && from ? malloc(count * sizeof *host) : NULL;
    if (host) device->nn->download(device, host, from, count * sizeof *host);
    return host;
}

// Converts values in [0,1] to bytes. Colours were bytes originally, so they are exact.
static uint8_t *bytes_of(const float *values, size_t count, float scale) {
    uint8_t *bytes = values ? malloc(count) : NULL;
    for (size_t i = 0; bytes && i < count; i++) bytes[i] = (uint8_t)lrintf(values[i] * scale);
    return bytes;
}

static uint8_t *fetch_bytes(Device *device, const real *from, size_t count, float scale) {
    float *values = fetch(device, from, count);
    uint8_t *bytes = bytes_of(values, count, scale);
    free(values);
    return bytes;
}

static bool keep_set(Device *device, const GnnSet *from, const real *radius, RolloutSet *out) {
    size_t N = from->x->rows;
    *out = (RolloutSet){.N = N, .D = from->f->cols};
    if (N == 0) return true;
    out->positions = fetch(device, from->x->value, 3 * N);
    out->features = fetch(device, from->f->value, out->D * N);
    out->colour = fetch_bytes(device, from->c, 3 * N, 255);
    out->radius = fetch(device, radius, N);
    return out->positions && out->features && out->colour && (!radius || out->radius);
}

static bool keep_bodies(const SceneBodies *bodies, RolloutSet *out) {
    size_t N = bodies->count;
    if (N == 0) return true;
    out->moving = malloc(N);
    out->before = malloc(3 * N * sizeof *out->before);
    out->body = malloc(N * sizeof *out->body);
    if (!out->moving || !out->before || !out->body) return false;
    memcpy(out->before, bodies->before, 3 * N * sizeof *out->before);
    memcpy(out->body, bodies->body, N * sizeof *out->body);
    for (size_t i = 0; i < N; i++) out->moving[i] = out->body[i] >= 0;
    return true;
}

static bool keep_sets(const RolloutWorkspace *w, const Scene *scene, RolloutFile *out) {
    int T = (int)scene->sets.count;
    bool good = true;
    out->set_count = T;
    for (int back = 0; back < T; back++) {
        int t = T - 1 - back;
        const real *radius = back == 0 ? scene->radius->value : NULL;
        good = keep_set(w->model->device, &scene->sets.set[t], radius, &out->sets[back]) && good;
    }
    good = keep_bodies(&scene->bodies, &out->sets[0]) && good;
    for (int c = 0; c < 3; c++) out->background[c] = scene->background[c];
    memcpy(out->light, scene->light, sizeof out->light);
    return good;
}

// Takes the mask's object ids at the particles' pixels of the present frame, and writes the names, one per line.
static bool keep_labels(const Frames *frames, const int32_t *pixel, RolloutFile *out) {
    RolloutSet *now = &out->sets[0];
    size_t image = (size_t)frames->V * (size_t)frames->H * (size_t)frames->W;
    if (!frames->mask || !pixel) return true;
    const uint16_t *mask = frames->mask + image * (size_t)(frames->F - 1);
    now->labels = malloc(now->N * sizeof *now->labels);
    size_t capacity = 16 * ((size_t)frames->O + 1);
    out->label_names = malloc(capacity);
    if (!now->labels || !out->label_names) return false;
    for (size_t i = 0; i < now->N; i++) now->labels[i] = mask[pixel[i]];
    size_t used = (size_t)snprintf(out->label_names, capacity, "background\n");
    for (int k = 0; k < frames->O && used < capacity; k++)
        used += (size_t)snprintf(out->label_names + used, capacity - used, "object %d\n", k);
    return true;
}

// ---- cameras and times

// Times and cameras of the episode. After its end, time advances by the time step and cameras stay.
static Status set_surroundings(const EpisodeInfo *info, RolloutFile *r, Error *err) {
    size_t V = (size_t)info->V, frames = info->moving_cameras ? r->steps + 1 : 1;
    double *time = malloc((r->steps + 1) * sizeof *time), *poses = malloc(frames * V * 16 * sizeof *poses);
    if (!time || !poses) {
        free(time);
        free(poses);
        return error_no_memory(err, "the rollout of %zu particles", r->sets[0].N);
    }
    double interval = r->time_step > 0 ? r->time_step : 1;
    for (size_t j = 0; j <= r->steps; j++) {
        size_t frame = (size_t)r->first_frame + j * (size_t)r->frame_stride, last = (size_t)info->F - 1;
        time[j] = frame <= last || j == 0 ? info->time[frame] : time[j - 1] + interval;
        for (size_t v = 0; v < V && j < frames; v++)
            memcpy(poses + 16 * (j * V + v), episode_pose(info, (int)(frame < last ? frame : last), (int)v),
                   16 * sizeof *poses);
    }
    free(r->time);
    free(r->world_from_camera);
    r->time = time;
    r->world_from_camera = poses;
    r->camera_frames = (int)frames;
    return STATUS_OK;
}

static int present_frame(const Frames *history) { return history->first + (history->F - 1) * history->stride; }

static Status keep_source(const EpisodeInfo *info, const Frames *history, RolloutFile *out, Error *err) {
    size_t V = (size_t)info->V;
    char *absolute = *info->file ? realpath(info->file, NULL) : NULL;
    snprintf(out->dataset, sizeof out->dataset, "%s", absolute ? absolute : info->file);
    free(absolute);
    snprintf(out->episode, sizeof out->episode, "%s", info->name);
    out->first_frame = present_frame(history);
    out->frame_stride = history->stride;
    out->time_step = info->time_step * history->stride;
    out->has_bounds = info->bounds;
    if (info->bounds) memcpy(out->bounds, info->bounds, sizeof out->bounds);
    out->V = info->V, out->H = info->H, out->W = info->W;
    out->intrinsics = malloc(9 * V * sizeof *out->intrinsics);
    out->heldout = malloc(V);
    if (!out->intrinsics || !out->heldout) return error_no_memory(err, "the rollout of %zu particles", out->sets[0].N);
    memcpy(out->intrinsics, info->intrinsics, 9 * V * sizeof *out->intrinsics);
    memset(out->heldout, 1, V);
    for (int i = 0; i < history->V; i++) out->heldout[history->views[i]] = 0;
    return set_surroundings(info, out, err);
}

Status rollout_begin(RolloutWorkspace *w, const EpisodeInfo *info, const Frames *history, RolloutFile *out,
                     Error *err) {
    Scene scene;
    *out = (RolloutFile){0};
    tape_reset(&w->tape);
    Observation o = frames_observation(history);
    Status status =
        vpd_observe_and_encode(&w->tape, w->model, &w->scene, &o, key_of(w->model, info->name), &scene, err);
    if (status != STATUS_OK) {
        rollout_file_free(out);
        if (*info->file) error_prefix(err, "%s:/episodes/%s, frame %d", info->file, info->name, present_frame(history));
        return status;
    }
    if (!keep_sets(w, &scene, out) || !keep_labels(history, scene.points[scene.sets.count - 1].pixel, out))
        status = error_no_memory(err, "the rollout of %zu particles", out->sets[0].N);
    if (status == STATUS_OK) status = device_status(w->model->device, err);
    if (status == STATUS_OK) status = rollout_tie(out, w->model->device, err);
    if (status == STATUS_OK) status = keep_source(info, history, out, err);
    if (status != STATUS_OK) rollout_file_free(out);
    return status;
}

// ---- one step: from the host to the device and back

static const real *values_of(Tape *tape, const uint8_t *bytes, size_t count, real scale) {
    real *values = bytes ? tape_context(tape, (count + 1) * sizeof *values) : NULL;
    for (size_t i = 0; values && i < count; i++) values[i] = (real)bytes[i] / scale;
    return values;
}

// The particle set `back` steps before the present one.
static GnnSet load_set(Tape *tape, const RolloutFile *r, size_t back) {
    static const float nothing[1]; // data of an empty input set
    bool seen = back > r->steps;   // an input frame; else the present particles at an earlier step
    const RolloutSet *set = &r->sets[seen ? back - r->steps : 0];
    const float *x = seen ? set->positions : rollout_positions(r, r->steps - back);
    const float *f = seen ? set->features : rollout_features(r, r->steps - back);
    return (GnnSet){.x = tape_constant(tape, set->N, 3, x ? x : nothing),
                    .f = tape_constant(tape, set->N, r->sets[0].D, f ? f : nothing),
                    .c = tape_upload(tape, values_of(tape, set->colour, 3 * set->N, 255), 3 * set->N, sizeof(real))};
}

// The motions of driven bodies in the next step.
static void load_drives(Tape *tape, const RolloutFile *r, SceneBodies *bodies) {
    const RolloutDrives *drives = &r->drives;
    size_t count = 0;
    for (size_t k = 0; k < drives->count; k++) count += (size_t)drives->step[k] == r->steps + 1;
    bodies->drive = tape_context(tape, (count + 1) * sizeof *bodies->drive);
    for (size_t k = 0; bodies->drive && k < drives->count; k++) {
        if ((size_t)drives->step[k] != r->steps + 1) continue;
        SceneDrive *to = &bodies->drive[bodies->drives++];
        *to = (SceneDrive){.body = drives->body[k]};
        for (size_t c = 0; c < 3; c++) {
            memcpy(to->motion.rotation + 3 * c, drives->motion + 16 * k + 4 * c, 3 * sizeof(double));
            to->motion.to[c] = drives->motion[16 * k + 4 * c + 3];
        }
    }
}

// The same bodies with numbers that follow each other, in the same order.
static void number_bodies(Tape *tape, SceneBodies *bodies) {
    int32_t most = -1, next = 0;
    for (size_t i = 0; i < bodies->count; i++) most = bodies->body[i] > most ? bodies->body[i] : most;
    int32_t *rank = tape_context(tape, (size_t)(most + 2) * sizeof *rank);
    if (!rank) return;
    memset(rank, 0, (size_t)(most + 2) * sizeof *rank);
    for (size_t i = 0; i < bodies->count; i++) rank[bodies->body[i] + 1] = 1;
    for (int32_t b = 0; b <= most; b++) rank[b + 1] = rank[b + 1] ? next++ : -1;
    for (size_t i = 0; i < bodies->count; i++)
        if (bodies->body[i] >= 0) bodies->body[i] = rank[bodies->body[i] + 1];
    for (size_t k = 0; k < bodies->drives; k++)
        if (bodies->drive[k].body <= most) bodies->drive[k].body = rank[bodies->drive[k].body + 1];
}

static SceneBodies load_bodies(Tape *tape, const Vpd *model, const RolloutFile *r) {
    const RolloutSet *set = &r->sets[0];
    size_t N = set->N;
    SceneBodies out = {.count = N,
                       .scale = (real)vpd_scale(model, r->time_step),
                       .body = tape_context(tape, N * sizeof *out.body),
                       .before = tape_context(tape, 3 * N * sizeof *out.before),
                       .now = tape_context(tape, 3 * N * sizeof *out.now),
                       .image = tape_context(tape, N)};
    if (tape->device->failed) return (SceneBodies){0};
    const float *before = r->steps > 0 ? rollout_positions(r, r->steps - 1) : set->before;
    for (size_t i = 0; i < N; i++) out.image[i] = set->radius && set->radius[i] == 0;
    memcpy(out.body, set->body, N * sizeof *out.body);
    memcpy(out.before, before, 3 * N * sizeof *out.before);
    memcpy(out.now, rollout_positions(r, r->steps), 3 * N * sizeof *out.now);
    load_drives(tape, r, &out);
    number_bodies(tape, &out);
    return out;
}

static void load_scene(RolloutWorkspace *w, const RolloutFile *r, Scene *scene) {
    size_t T = (size_t)r->set_count;
    *scene = (Scene){.sets = {.count = T}, .key = key_of(w->model, r->episode), .rollout_step = (uint32_t)r->steps};
    for (size_t back = 0; back < T; back++) scene->sets.set[T - 1 - back] = load_set(&w->tape, r, back);
    scene->step = &w->scene.step;
    if (vpd_has_bodies(w->model)) scene->bodies = load_bodies(&w->tape, w->model, r);
}

static Status keep_step(RolloutWorkspace *w, const Scene *scene, RolloutFile *r, Error *err) {
    const GnnSet *now = &scene->sets.set[scene->sets.count - 1];
    Device *device = w->model->device;
    size_t N = r->sets[0].N, D = r->sets[0].D;
    float *x = r->positions + r->steps * 3 * N, *f = r->features ? r->features + r->steps * D * N : NULL;
    device->nn->download(device, x, now->x->value, 3 * N * sizeof *x);
    if (f) device->nn->download(device, f, now->f->value, D * N * sizeof *f);
    Status status = device_status(device, err);
    bool finite = true;
    for (size_t i = 0; i < 3 * N; i++) finite = finite && isfinite(x[i]);
    for (size_t i = 0; f && i < D * N; i++) finite = finite && isfinite(f[i]);
    if (status == STATUS_OK && !finite)
        status = error_set(
            err, STATUS_FAILED,
            "the particles of episode %s are not finite at step %zu, because the weights have diverged; train at "
            "a lower rate",
            r->episode, r->steps + 1);
    if (status == STATUS_OK) r->steps++;
    return status;
}

static Status run_step(RolloutWorkspace *w, RolloutFile *r, Error *err) {
    Scene scene;
    if (stop_requested()) return stop_error(err);
    tape_reset(&w->tape);
    load_scene(w, r, &scene);
    vpd_step(&w->tape, w->model, &scene);
    Status status = device_status(w->model->device, err);
    return status == STATUS_OK ? keep_step(w, &scene, r, err) : status;
}

// ---- many steps

// Whether steps change the features of particles, so that they are kept at every step.
static bool changes_features(const Vpd *model) {
    return model->config.gnn.feature_change > 0 && vpd_has_dynamics(model) && !vpd_has_bodies(model);
}

// Makes room for `more` steps, and sets their times and poses.
static Status extend(const Vpd *model, RolloutFile *r, size_t more, Error *err) {
    size_t steps = r->steps + more, N = r->sets[0].N, D = r->sets[0].D, poses = 16 * (size_t)r->V;
    bool change = changes_features(model) || r->features, moving = r->camera_frames > 1;
    bool good = array_grow(&r->positions, steps * 3 * N, sizeof *r->positions) &&
                array_grow(&r->time, steps + 1, sizeof *r->time);
    if (good && change) good = array_grow(&r->features, steps * D * N, sizeof *r->features);
    if (good && moving) good = array_grow(&r->world_from_camera, (steps + 1) * poses, sizeof *r->world_from_camera);
    if (!good) return error_no_memory(err, "the rollout of %zu particles", N);
    for (size_t j = r->steps + 1; j <= steps; j++) {
        r->time[j] = r->time[j - 1] + (r->time_step > 0 ? r->time_step : 1);
        if (moving)
            memcpy(r->world_from_camera + j * poses, r->world_from_camera + r->steps * poses, poses * sizeof(double));
    }
    return STATUS_OK;
}

// Whether the rollout holds everything that this model's steps read.
static Status check_rollout(const Vpd *model, const RolloutFile *r, Error *err) {
    const GnnConfig *c = &model->dynamics->config;
    int T = vpd_has_bodies(model) ? 1 : (int)c->T;
    if (r->set_count != T || r->sets[0].D != c->D)
        return error_set(err, STATUS_BAD_INPUT, "the rollout: expected %d input set%s of %zu features, found %d of %zu",
                         T, T == 1 ? "" : "s", c->D, r->set_count, r->sets[0].D);
    if (vpd_has_bodies(model) && !r->sets[0].body)
        return error_set(err, STATUS_BAD_INPUT,
                         "the rollout: expected the bodies of its particles and where they were one time step before "
                         "(/now/body, /now/before), found none");
    if (r->steps > 0 && changes_features(model) && !r->features)
        return error_set(err, STATUS_BAD_INPUT,
                         "the rollout: expected features at every step, because this model changes them, found none");
    for (int i = 0; i < r->set_count; i++) {
        const RolloutSet *set = &r->sets[i];
        if (set->N && (!set->features || !set->colour))
            return error_set(err, STATUS_BAD_INPUT, "the rollout: input set %d lacks features or colours", i);
    }
    return STATUS_OK;
}

Status rollout_simulate(RolloutWorkspace *w, RolloutFile *r, size_t steps, const Log *log, Error *err) {
    Progress progress;
    size_t first = r->steps;
    if (steps == 0) return STATUS_OK;
    Status status = vpd_has_dynamics(w->model) ? check_rollout(w->model, r, err) : STATUS_OK;
    if (status == STATUS_OK) status = extend(w->model, r, steps, err);
    if (status != STATUS_OK) return status;
    progress_start(&progress, log, "roll out", "steps", 0, steps);
    for (size_t j = 0; j < steps && status == STATUS_OK; j++) {
        status = run_step(w, r, err);
        progress_update(&progress, r->steps - first, NULL);
    }
    progress_end(&progress, NULL);
    if (r->camera_frames > 1) r->camera_frames = (int)r->steps + 1;
    return status;
}

static Status drive(const EpisodeInfo *info, const RolloutRequest *request, RolloutFile *out, Error *err) {
    int known = (info->F - 1 - out->first_frame) / out->frame_stride;
    Status status = truth_drive(info, request->driven, out, request->warnings, err);
    if (status == STATUS_OK && known < request->steps)
        log_warning(request->warnings,
                    "episode %s ends %d step%s after frame %d: what is driven goes on by itself from there", info->name,
                    known, known == 1 ? "" : "s", out->first_frame);
    return status;
}

// Training about an axis of the world says that gravity is along it.
static Status simulate(const Vpd *model, const EpisodeInfo *info, const RolloutRequest *request, RolloutFile *out,
                       Error *err) {
    const int turn = (int)model->config.train.turn;
    double up[3];
    if (request->steps < 1) return STATUS_OK;
    motion_up(turn, info->world_from_camera, episode_poses(info), up);
    const EditSimulation simulation = {.name = "--analytic",
                                       .map = request->analytic,
                                       .steps = (size_t)request->steps,
                                       .up = turn == TURN_NONE ? NULL : up,
                                       .log = request->warnings};
    return edit_simulate_bodies(out, &simulation, err);
}

Status rollout_run(RolloutWorkspace *w, const Dataset *dataset, const RolloutRequest *request, RolloutFile *out,
                   Error *err) {
    Frames history = {0};
    *out = (RolloutFile){0};
    Status status = history_read(w->model, dataset, &request->history, &history, err);
    if (status == STATUS_OK)
        status = rollout_begin(w, dataset_episode(dataset, request->history.episode), &history, out, err);
    if (status == STATUS_OK && request->driven && request->driven->count)
        status = drive(dataset_episode(dataset, request->history.episode), request, out, err);
    if (status == STATUS_OK && request->analytic)
        status = simulate(w->model, dataset_episode(dataset, request->history.episode), request, out, err);
    if (status == STATUS_OK) status = rollout_simulate(w, out, (size_t)request->steps, request->log, err);
    if (status == STATUS_OK) status = set_surroundings(dataset_episode(dataset, request->history.episode), out, err);
    if (status != STATUS_OK) rollout_file_free(out);
    frames_free(&history);
    return status;
}
