// SPDX-License-Identifier: Apache-2.0
// `vpd sim render`: a scene's rollout as a data set or as a film.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "app/sim_scene.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/stop.h"
#include "base/vector.h"
#include "infer/video.h"
#include "lab/draw.h"
#include "lab/footage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const Flag flags[] = {
    {.name = "output",
     .value = "PATH",
     .help = "data set (.h5), film (.gif, .mp4), or a folder for PNG (required)",
     .letter = 'o',
     .writes = "vpd-dataset gif mp4"},
    {.name = "split", .value = "train|val|test", .help = "of the data set's episodes (default train)"},
    {.name = "episodes", .value = "N", .help = "of a data set, each with other numbers of the scene's section random"},
    {.name = "seed", .value = "N", .help = "of these numbers (default the scene's seed)"},
    FLAG_SIM_DEVICE,
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

static bool is_dataset(const char *path) {
    size_t length = strlen(path);
    return length > 3 && !strcmp(path + length - 3, ".h5");
}

static Status check_output(const char *out, Error *err) {
    if (is_dataset(out)) return command_check_writable(out, err);
    const char *dot = strrchr(out, '.');
    bool film = dot && (!strcmp(dot, ".gif") || !strcmp(dot, ".mp4"));
    if (name_ends(out, ".hdf5") && !file_is_folder(out))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a data set's name to end in .h5, found .hdf5", out);
    Status status = video_check_path(out, err);
    if (status != STATUS_OK) return status;
    return film ? command_check_writable(out, err) : file_make_folders(out, err);
}

// A film has no split.
static Status check_flags(const CommandLine *line, const char *out, Error *err) {
    static const char *const of_dataset[] = {"split", "episodes", "seed", NULL};
    return is_dataset(out) ? STATUS_OK : command_refuse(line, of_dataset, "a data set (.h5) as --output", out, err);
}

// ---- films

// About as many rows as columns.
static VideoLayout lay_out(const ScenePicture *picture) {
    size_t columns = 1;
    while (columns * columns < picture->cameras) columns++;
    return (VideoLayout){.H = picture->H,
                         .W = picture->W,
                         .rows = (int)((picture->cameras + columns - 1) / columns),
                         .columns = (int)columns,
                         .factor = 1};
}

typedef struct Film {
    const SimScene *scene;
    Render *render;
    double *colour;
    uint8_t *rgb; // (panels,H,W,3)
    VideoPanel *panel;
    VideoLayout layout;
    Video video;
} Film;

static Status add_frame(Film *film, const double *position, Error *err) {
    const ScenePicture *picture = &film->scene->picture;
    const RenderPicture out = {.colour = film->colour};
    const size_t pixels = (size_t)picture->H * (size_t)picture->W;
    Status status = stop_requested() ? stop_error(err) : STATUS_OK;
    for (size_t v = 0; v < picture->cameras && status == STATUS_OK; v++) {
        status = render_draw(film->render, picture->camera + v, position, &out, err);
        if (status == STATUS_OK) footage_bytes(film->colour, pixels, film->rgb + 3 * pixels * v);
        film->panel[v] = (VideoPanel){film->rgb + 3 * pixels * v, picture->camera[v].name};
    }
    if (status != STATUS_OK) return status;
    if (picture->cameras == 1) return video_add(&film->video, film->rgb, picture->H, picture->W, err);
    return video_add_panels(&film->video, &film->layout, film->panel, err);
}

static Status write_film(const SimScene *scene, const Footage *footage, const SimOptions *on, const char *out,
                         Error *err) {
    const SimOptions options = scene_options_on(scene, on);
    const ScenePicture *picture = &scene->picture;
    const size_t pixels = (size_t)picture->H * (size_t)picture->W;
    Film film = {.scene = scene, .layout = lay_out(picture), .video = {.fps = 1 / scene->frame_time}};
    film.colour = calloc(pixels, 3 * sizeof *film.colour);
    film.rgb = calloc(picture->cameras, 3 * pixels);
    film.panel = calloc((size_t)film.layout.rows * (size_t)film.layout.columns, sizeof *film.panel);
    Status status = film.colour && film.rgb && film.panel
                        ? STATUS_OK
                        : error_set(err, STATUS_FAILED, "%s: out of memory for a film", scene->path);
    if (status == STATUS_OK) status = render_open(scene, &options, &film.render, err);
    for (size_t f = 0; f < footage->frames && status == STATUS_OK; f++)
        status = add_frame(&film, footage->position + 3 * f * scene->model.particles, err);
    if (status == STATUS_OK) status = video_write(&film.video, out, err);
    render_close(film.render);
    video_free(&film.video);
    free(film.colour);
    free(film.rgb);
    free(film.panel);
    return status;
}

// ---- data sets

typedef struct Set {
    const CommandLine *line;
    const SimOptions *on;
    Split split;
    long episodes, seed; // episodes 0: the scene as it stands
    long episode;        // that is written
    size_t frames;       // of all
    double fastest;      // m/s, particle of all frames
    long fastest_in;     // its episode
    long exploded;       // draws whose state was not finite
} Set;

enum { MOST_EXPLODED = 3 }; // more than the episodes that did not

static void note_motion(Set *set, const SimScene *scene, const Footage *footage) {
    set->frames += footage->frames;
    for (size_t i = 0; i < footage->frames * scene->model.particles; i++) {
        const double *u = footage->velocity + 3 * i, speed = sqrt(vector_dot(u, u));
        if (speed > set->fastest) set->fastest_in = set->episode;
        set->fastest = fmax(set->fastest, speed);
    }
}

// An episode of the scene, in which the numbers of `drawn` are x. *exploded: its state was not finite.
static Status add_episode(Set *set, DatasetWriter *writer, SimScene *scene, const FitFree *drawn, const double *x,
                          bool *exploded, Error *err) {
    Footage footage = {0};
    Status status = footage_run(scene, set->on, &footage, err);
    *exploded = status == STATUS_FAILED && footage.began;
    if (status == STATUS_OK) status = footage_add(writer, scene, &footage, set->split, drawn, x, set->on, err);
    if (status == STATUS_OK) note_motion(set, scene, &footage);
    footage_free(&footage);
    return status;
}

static void warn_exploded(Set *set, const char *why) {
    if (!set->exploded++)
        log_warning(&set->line->log, "episode %ld is drawn again, and so will others like it: %s", set->episode, why);
}

// Draws the episode until its state stays finite; fails when most draws of the set do not.
static Status add_drawn_episode(Set *set, DatasetWriter *writer, const FitFree *random, double *x, Error *err) {
    uint32_t draw = 0;
    for (;;) {
        Error why;
        SimScene scene;
        bool exploded;
        Status status = draw_scene(random, (uint32_t)set->seed, (size_t)set->episode, &draw, x, &scene, err);
        if (status != STATUS_OK) return status;
        status = add_episode(set, writer, &scene, random, x, &exploded, &why);
        scene_free(&scene);
        if (status == STATUS_OK) return status;
        if (status == STATUS_INTERRUPTED) return *err = why, status;
        if (exploded) warn_exploded(set, why.text);
        if (exploded && set->exploded <= set->episode + MOST_EXPLODED) continue;
        if (!exploded) return error_set(err, status, "episode %ld: %s", set->episode, why.text);
        return error_set(err, status, "%ld of %ld draws exploded; the last, of episode %ld: %s", set->exploded,
                         set->exploded + set->episode, set->episode, why.text);
    }
}

static Status add_drawn(Set *set, DatasetWriter *writer, SimScene *scene, Error *err) {
    FitFree random = {0};
    Progress progress;
    Status status = fit_free_random(scene, &random, err);
    double *x = calloc(random.count + 1, sizeof *x);
    if (status == STATUS_OK && !x) status = error_no_memory(err, "%s", scene->path);
    if (status == STATUS_OK) status = draw_check(&random, err);
    progress_start(&progress, &set->line->log, "render", "episodes", 0, (size_t)set->episodes);
    for (set->episode = 0; set->episode < set->episodes && status == STATUS_OK; set->episode++) {
        status = add_drawn_episode(set, writer, &random, x, err);
        progress_update(&progress, (size_t)set->episode + 1, NULL);
    }
    if (status == STATUS_OK) progress_end(&progress, NULL);
    fit_free_close(&random);
    free(x);
    return status;
}

static Status write_set(Set *set, SimScene *scene, const char *out, Error *err) {
    DatasetWriter *writer = NULL;
    bool exploded;
    Status status = footage_open(out, &writer, err);
    if (status == STATUS_OK && set->episodes) status = add_drawn(set, writer, scene, err);
    else if (status == STATUS_OK) status = add_episode(set, writer, scene, &(FitFree){0}, NULL, &exploded, err);
    if (status == STATUS_OK) return dataset_writer_finish(writer, err);
    dataset_writer_discard(writer);
    return status;
}

// ---- the command

static Status tell(const CommandLine *line, const char *out, const SimScene *scene, const Set *set, Error *err) {
    const ScenePicture *p = &scene->picture;
    char episodes[96] = "", which[48] = "";
    json_t *object = json_pack("{s:[s] s:I s:i s:i s:i s:f}", "written", out, "frames", (json_int_t)set->frames,
                               "cameras", (int)p->cameras, "width", p->W, "height", p->H, "fastest", set->fastest);
    if (set->episodes) {
        json_object_set_new(object, "episodes", json_integer(set->episodes));
        json_object_set_new(object, "fastest_in", json_integer(set->fastest_in));
        json_object_set_new(object, "exploded", json_integer(set->exploded));
        int n = snprintf(episodes, sizeof episodes, "%ld episode%s, ", set->episodes, set->episodes == 1 ? "" : "s");
        if (set->exploded)
            snprintf(episodes + n, sizeof episodes - (size_t)n, "%ld drawn again since they exploded, ", set->exploded);
        snprintf(which, sizeof which, " (episode %ld)", set->fastest_in);
    }
    return result_tell(line, object, RESULT_STDOUT, err,
                       "%s: %s%zu frames of %zu camera%s, %d x %d pixels, particles up to %.3g m/s fast%s", out,
                       episodes, set->frames, p->cameras, p->cameras == 1 ? "" : "s", p->W, p->H, set->fastest, which);
}

static Status read_set(const CommandLine *line, const SimScene *scene, Set *out, Error *err) {
    int split = SPLIT_TRAIN;
    out->line = line;
    out->seed = scene->seed;
    Status status = command_choice(line, "split", "train|val|test", &split, err);
    if (status == STATUS_OK) status = command_int(line, "episodes", 1, 1000000, &out->episodes, err);
    if (status == STATUS_OK) status = command_int(line, "seed", 0, UINT32_MAX, &out->seed, err);
    if (status == STATUS_OK && out->episodes && !scene->has_random)
        status =
            error_set(err, STATUS_BAD_INPUT,
                      "%s: --episodes needs numbers that differ between them: \"random: {ball.position.z: {low: .5, "
                      "high: 1}}\"",
                      scene->path);
    if (status == STATUS_OK && !out->episodes && command_text(line, "seed", NULL))
        status = error_set(err, STATUS_BAD_INPUT, "--seed is of the numbers of --episodes N");
    out->split = (Split)split;
    return status;
}

static Status run(const CommandLine *line, Error *err) {
    SimScene scene = {0};
    Footage footage = {0};
    Device *device = NULL;
    SimOptions on;
    Set set = {.on = &on};
    const char *out;
    Status status = command_required(line, "output", &out, err);
    if (status == STATUS_OK) status = check_flags(line, out, err);
    if (status == STATUS_OK) status = sim_scene_read(line, &scene, err);
    if (status == STATUS_OK) status = read_set(line, &scene, &set, err);
    if (status == STATUS_OK) status = check_output(out, err);
    if (status == STATUS_OK) status = output_check_frames(line, out, (size_t)scene.frames + 1, err);
    if (status == STATUS_OK) status = sim_scene_device(line, &device, &on, err);
    if (status == STATUS_OK && is_dataset(out)) status = write_set(&set, &scene, out, err);
    else if (status == STATUS_OK) {
        status = footage_run(&scene, &on, &footage, err);
        if (status == STATUS_OK) status = write_film(&scene, &footage, &on, out, err);
        if (status == STATUS_OK) note_motion(&set, &scene, &footage);
    }
    if (status == STATUS_OK) status = tell(line, out, &scene, &set, err);
    footage_free(&footage);
    scene_free(&scene);
    device_close(device);
    return status;
}

const Command command_sim_render = {
    .name = "sim render",
    .summary = "draw a scene's rollout, as a data set or a film",
    .arguments = "SCENE.yaml",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details =
        "The scene's cameras, lights and picture say what is seen (docs/scenes.md); without them, one camera "
        "sees the whole motion.\nA data set holds colour, depth, masks, and state/* with every particle. --episodes N "
        "draws the numbers of\nthe scene's section random N times, each between its low and high.",
    .run = run,
};
