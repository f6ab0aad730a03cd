// SPDX-License-Identifier: Apache-2.0
// `vpd render`: draws a rollout file, beside its video where the data set is available.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "infer/film.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 10000 };

static const Flag flags[] = {
    {.name = "views",
     .value = "LIST",
     .help = "cameras of the data set (default: the first input view and the first held-out one)"},
    {.name = "orbit", .value = "N", .help = "N cameras on a circle around the scene instead, while time goes on"},
    {.name = "cameras", .value = "FILE", .help = "cameras from a JSON file instead; several are a path"},
    {.name = "ride", .value = "N", .help = "with --cameras: N frames from the first camera to the last"},
    {.name = "step", .value = "J", .help = "draw this step only, with time standing still"},
    {.name = "size",
     .value = "WxH",
     .help = "width x height of each picture (default: those of the cameras; another shape is stretched)"},
    {.name = "output",
     .value = "PATH",
     .help = ".gif, .mp4, or a folder for PNG (default: FILE.gif)",
     .letter = 'o',
     .writes = "gif mp4"},
    {.name = "fps", .value = "X", .help = "frames per second (default 8)"},
    {.name = "data",
     .value = "DATA",
     .help = "data set with the true pictures (default: the rollout's own, if it is found)"},
    {.name = "no-truth", .help = "draw the prediction only"},
    {.name = "difference", .help = "add a third picture: |truth - prediction|"},
    {.name = "labels", .help = "draw each object in the colour of its label"},
    {.name = "checkpoint",
     .value = "PATH",
     .help = "the checkpoint that made the rollout (default: the path in the file)"},
    FLAG_DEVICE,
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

// What is drawn, read from the command line.
typedef struct Rendering {
    const char *path; // of the rollout file
    RolloutFile rollout;
    Session session;
    Dataset *truth; // NULL: the prediction only
    int episode;
    Film film;
    Video video;
    char out[FILE_PATH_SIZE];
} Rendering;

static void rendering_free(Rendering *r) {
    video_free(&r->video);
    film_free(&r->film);
    dataset_close(r->truth);
    session_close(&r->session);
    rollout_file_free(&r->rollout);
}

// ---- where to

static Status choose_output(const CommandLine *line, Rendering *r, Error *err) {
    const char *out = command_text(line, "output", NULL);
    size_t length = strlen(r->path);
    if (length > 3 && !strcmp(r->path + length - 3, ".h5")) length -= 3;
    int n = out ? snprintf(r->out, sizeof r->out, "%s", out)
                : snprintf(r->out, sizeof r->out, "%.*s.gif", (int)length, r->path);
    if (n >= (int)sizeof r->out) return error_set(err, STATUS_BAD_INPUT, "--output: the path is too long");
    const char *dot = strrchr(r->out, '.');
    bool file = dot && (!strcmp(dot, ".gif") || !strcmp(dot, ".mp4"));
    Status status = file ? output_check(line, r->out, "gif mp4", err) : STATUS_OK;
    if (status == STATUS_OK) status = video_check_path(r->out, err);
    if (status != STATUS_OK) return status;
    return file ? command_check_writable(r->out, err) : file_make_folders(r->out, err);
}

// ---- from where

typedef struct FilmChoice {
    long step; // -1: all
    int H, W;  // 0: the size of the cameras
} FilmChoice;

// Pictures of --size show all that the cameras see, stretched where their shape is another; 5 % may be rounding.
static void warn_if_stretched(const CommandLine *line, int H, int W, FilmChoice choice) {
    double here = (double)H * choice.W, there = (double)W * choice.H;
    if (choice.H && fabs(here - there) > 0.05 * here)
        log_warning(&line->log,
                    "--size %dx%d: the cameras have pictures of %d x %d, so these are stretched; %dx%d is not",
                    choice.W, choice.H, W, H, choice.W, (int)lround((double)choice.W * H / W));
}

static Status film_path(Rendering *r, const PathCamera *cameras, int count, FilmChoice choice, Error *err) {
    return film_of_path(&r->rollout, cameras, count, choice.step, choice.H, choice.W, &r->film, err);
}

static PathCamera path_camera(const RendererCamera *camera) {
    PathCamera out = {.H = camera->H, .W = camera->W};
    memcpy(out.K, camera->K, sizeof out.K);
    memcpy(out.world_from_camera, camera->world_from_camera, sizeof out.world_from_camera);
    return out;
}

// A circle around the point that the rollout's cameras look at.
static Status film_orbit(Rendering *r, long count, FilmChoice choice, Error *err) {
    const RolloutFile *rollout = &r->rollout;
    OrbitOptions orbit;
    PathCamera *own = calloc((size_t)rollout->V, sizeof *own), *path = calloc((size_t)count, sizeof *path);
    Status status = own && path ? STATUS_OK : error_no_memory(err, "%ld cameras", count);
    for (int v = 0; v < rollout->V && status == STATUS_OK; v++) {
        RendererCamera camera = draw_camera(rollout, 0, v);
        own[v] = path_camera(&camera);
    }
    if (status == STATUS_OK) {
        camera_path_orbit_like(own, rollout->V, rollout->has_bounds ? rollout->bounds : NULL, &orbit);
        camera_path_orbit(&orbit, (int)count, path);
        status = film_path(r, path, (int)count, choice, err);
    }
    free(own);
    free(path);
    return status;
}

static Status film_cameras(const CommandLine *line, Rendering *r, const char *file, long ride, FilmChoice choice,
                           Error *err) {
    PathCamera *keys = NULL, *between = NULL;
    int count = 0;
    Status status = camera_path_read(file, &keys, &count, err);
    if (status == STATUS_OK && ride > 0) {
        between = calloc((size_t)ride, sizeof *between);
        if (between) camera_path_between(keys, count, (int)ride, between);
        else status = error_no_memory(err, "%ld cameras", ride);
    }
    if (status == STATUS_OK) warn_if_stretched(line, keys[0].H, keys[0].W, choice);
    if (status == STATUS_OK) status = film_path(r, between ? between : keys, between ? (int)ride : count, choice, err);
    free(keys);
    free(between);
    return status;
}

// The first input view and the first held-out one.
static IntList default_views(const RolloutFile *rollout) {
    IntList views = {0};
    for (int heldout = 0; heldout < 2; heldout++) {
        int view = 0;
        while (view < rollout->V && (rollout->heldout ? rollout->heldout[view] : 0) != heldout) view++;
        if (view < rollout->V) views.v[views.count++] = view;
    }
    return views;
}

static Status choose_film(const CommandLine *line, Rendering *r, Error *err) {
    IntList views = default_views(&r->rollout);
    FilmChoice choice = {.step = -1};
    long orbit = 0, ride = 0;
    const char *cameras = command_text(line, "cameras", NULL);
    Status status = command_int_list(line, "views", 0, 65535, &views, err);
    if (status == STATUS_OK) status = command_int(line, "orbit", 1, FRAMES_MAX, &orbit, err);
    if (status == STATUS_OK) status = command_int(line, "ride", 1, FRAMES_MAX, &ride, err);
    if (status == STATUS_OK) status = command_int(line, "step", 0, 1000000000, &choice.step, err);
    if (status == STATUS_OK) status = command_size(line, &choice.H, &choice.W, err);
    r->video.fps = 8;
    if (status == STATUS_OK) status = command_real(line, "fps", 0.1, 50, &r->video.fps, err);
    if (status != STATUS_OK) return status;
    if (cameras) return film_cameras(line, r, cameras, ride, choice, err);
    if (r->rollout.V == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: the file has no cameras; give them with --cameras", r->path);
    warn_if_stretched(line, r->rollout.H, r->rollout.W, choice);
    if (orbit) return film_orbit(r, orbit, choice, err);
    return film_of_views(&r->rollout, views.v, views.count, choice.step, choice.H, choice.W, &r->film, err);
}

static Status check_flags(const CommandLine *line, Error *err) {
    if (command_has(line, "views") + command_has(line, "orbit") + command_has(line, "cameras") > 1)
        return error_set(err, STATUS_BAD_INPUT, "--views, --orbit, --cameras: expected one of them");
    if (command_has(line, "ride") && !command_has(line, "cameras"))
        return error_set(err, STATUS_BAD_INPUT, "--ride needs --cameras FILE");
    if (command_has(line, "no-truth") && (command_has(line, "data") || command_has(line, "difference")))
        return error_set(err, STATUS_BAD_INPUT, "--no-truth cannot be combined with --data or --difference");
    if (command_has(line, "labels") && command_has(line, "difference"))
        return error_set(err, STATUS_BAD_INPUT, "--difference cannot be combined with --labels");
    return STATUS_OK;
}

// ---- truth beside

static Status open_truth(Rendering *r, const char *path, Error *err) {
    Status status = dataset_open(path, &r->truth, err);
    if (status == STATUS_OK)
        status = dataset_find_origin(r->truth, r->rollout.dataset, r->rollout.episode, &r->episode, err);
    if (status == STATUS_OK) return status;
    dataset_close(r->truth);
    r->truth = NULL;
    return status;
}

// Whether an edit changed more than labels: what was recorded is then another course of events.
static bool is_changed(const RolloutFile *rollout) {
    const char *line = rollout->edit_history;
    for (; line && *line; line += strcspn(line, "\n"), line += *line == '\n')
        if (*line == '-' && strncmp(line, "- label:", 8) != 0 && strncmp(line, "- cluster:", 10) != 0) return true;
    return false;
}

// A data set named with --data must exist; the one that the rollout came from may be gone.
static Status choose_truth(const CommandLine *line, Rendering *r, Error *err) {
    const char *given = command_text(line, "data", NULL), *own = r->rollout.dataset;
    Error gone;
    if (given) return open_truth(r, given, err);
    if (command_has(line, "no-truth") || command_has(line, "orbit") || command_has(line, "cameras") || !*own)
        return STATUS_OK;
    if (!file_exists(own))
        log_note(&line->log, "%s not found, so the true pictures are left out; give the data set with --data", own);
    else if (open_truth(r, own, &gone) != STATUS_OK)
        log_warning(&line->log, "the true pictures are left out: %s", gone.text);
    return STATUS_OK;
}

static Status open_beside(const CommandLine *line, Rendering *r, Error *err) {
    Status status = choose_truth(line, r, err);
    if (status == STATUS_OK && r->truth && is_changed(&r->rollout))
        log_note(&line->log,
                 "the scene was edited, and the true pictures beside it were not: --no-truth leaves them out");
    return status;
}

// ---- the command

static Status draw_film(const CommandLine *line, Rendering *r, Error *err) {
    FilmOptions options = {.truth = r->truth,
                           .episode = r->episode,
                           .difference = command_has(line, "difference"),
                           .labels = command_has(line, "labels"),
                           .log = &line->log};
    RolloutWorkspace workspace = {0};
    rollout_workspace_init(&workspace, r->session.model);
    Status status = film_draw(&workspace, &r->rollout, &r->film, &options, &r->video, err);
    rollout_workspace_free(&workspace);
    if (status == STATUS_OK) status = video_write(&r->video, r->out, err);
    return status;
}

static Status tell(const CommandLine *line, const Rendering *r, Error *err) {
    const Video *video = &r->video;
    json_t *object = json_pack("{s:[s] s:i s:i s:i s:o s:b}", "written", r->out, "frames", video->count, "width",
                               video->W, "height", video->H, "fps", json_finite(video->fps), "truth", r->truth != NULL);
    return result_tell(line, object, RESULT_STDOUT, err, "%s: %d frame%s of %d x %d pixels", r->out, video->count,
                       video->count == 1 ? "" : "s", video->W, video->H);
}

static Status run_render(const CommandLine *line, Error *err) {
    Rendering r = {.path = command_argument(line, 0)};
    SessionOptions session = session_options(line, command_text(line, "checkpoint", NULL), false);
    Status status = check_flags(line, err);
    if (status == STATUS_OK) status = rollout_file_read(r.path, &r.rollout, err);
    if (status == STATUS_OK) status = choose_output(line, &r, err);
    if (status == STATUS_OK) status = choose_film(line, &r, err);
    if (status == STATUS_OK) status = output_check_frames(line, r.out, (size_t)r.film.frames, err);
    if (status == STATUS_OK) status = session_open_for(&r.session, &session, &r.rollout, r.path, err);
    if (status == STATUS_OK) status = open_beside(line, &r, err);
    if (status == STATUS_OK) status = draw_film(line, &r, err);
    if (status == STATUS_OK) status = tell(line, &r, err);
    rendering_free(&r);
    return status;
}

const Command command_render = {
    .name = "render",
    .summary = "draw a rollout from any camera, as pictures or a video",
    .arguments = "FILE.h5",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "FILE.h5 is what \"vpd rollout\" wrote. The true video is shown beside the prediction for as long as it "
               "lasts. MP4 needs the\nprogram ffmpeg. docs/rollouts.md describes a file of cameras.",
    .run = run_render,
};
