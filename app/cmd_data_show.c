// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "base/file.h"
#include "datasets/show.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

static const Flag flags[] = {
    {.name = "output",
     .value = "FILE",
     .help = "a contact sheet (.png), or an animation of each view (.gif; required)",
     .letter = 'o',
     .writes = "png gif"},
    {.name = "episode", .value = "E", .help = "episode, by name or number (0)"},
    {.name = "view", .value = "N", .help = "only this view (all)"},
    {.name = "columns", .value = "N", .help = "pictures in a row of the sheet (8)"},
    {.name = "width", .value = "N", .help = "width of a picture, pixels (160)"},
    {.name = "depth", .help = "depth below each picture: near is bright, unknown is red"},
    {.name = "fps", .value = "N", .help = "frames per second of the animation (as recorded)"},
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

// out_view3.gif
static void film_name(const char *path, int view, char name[PATH_SIZE]) {
    snprintf(name, PATH_SIZE, "%.*s_view%d.gif", (int)(strlen(path) - strlen(".gif")), path, view);
}

// out.gif of one view; out_view3.gif when there are several, whose names are all checked first.
static Status write_films(const CommandLine *line, const Dataset *dataset, const ShowOptions *options, const char *path,
                          json_t *written, Error *err) {
    int V = dataset_episode(dataset, options->episode)->V, only = V == 1 ? 0 : options->view;
    char name[PATH_SIZE];
    Status status = STATUS_OK;
    if (only >= 0) {
        json_array_append_new(written, json_string(path));
        return dataset_show_gif(dataset, options, only, path, err);
    }
    for (int v = 0; !status && v < V; v++) {
        film_name(path, v, name);
        status = output_check(line, name, "gif", err);
    }
    for (int v = 0; !status && v < V; v++) {
        film_name(path, v, name);
        status = dataset_show_gif(dataset, options, v, name, err);
        json_array_append_new(written, json_string(name));
    }
    return status;
}

static Status tell(const CommandLine *line, const EpisodeInfo *episode, json_t *written, Error *err) {
    size_t count = json_array_size(written);
    char more[48] = "";
    if (count > 1) snprintf(more, sizeof more, " and %zu more", count - 1);
    json_t *object = json_pack("{s:O s:s}", "written", written, "episode", episode->name);
    return result_tell(line, object, RESULT_NOTE, err, "%s%s written", json_string_value(json_array_get(written, 0)),
                       more);
}

static Status run_show(const CommandLine *line, Error *err) {
    const char *path;
    Dataset *dataset = NULL;
    ShowOptions options = {.depth = command_has(line, "depth"), .view = -1, .columns = 8, .width = 160};
    Status status = command_required(line, "output", &path, err);
    if (!status && !name_ends(path, ".png") && !name_ends(path, ".gif"))
        status =
            error_set(err, STATUS_BAD_INPUT,
                      "--output %s: expected a name that ends in .png (a contact sheet) or .gif (an animation)", path);
    if (!status) status = command_check_writable(path, err);
    if (!status) status = command_small_int(line, "columns", 1, 64, &options.columns, err);
    if (!status) status = command_small_int(line, "width", 8, 2048, &options.width, err);
    if (!status) status = command_real(line, "fps", 0.1, 50, &options.fps, err);
    if (!status) status = dataset_open(command_argument(line, 0), &dataset, err);
    if (!status) status = dataset_find_episode(dataset, command_text(line, "episode", "0"), &options.episode, err);
    if (!status)
        status =
            command_small_int(line, "view", 0, dataset_episode(dataset, options.episode)->V - 1, &options.view, err);
    bool film = !status && name_ends(path, ".gif");
    json_t *written = json_array();
    if (!status && film) status = write_films(line, dataset, &options, path, written, err);
    else if (!status) status = dataset_show_sheet(dataset, &options, path, err);
    if (!status && !film) json_array_append_new(written, json_string(path));
    if (!status) status = tell(line, dataset_episode(dataset, options.episode), written, err);
    json_decref(written);
    dataset_close(dataset);
    return status;
}

const Command command_data_show = {
    .name = "data show",
    .summary = "draw an episode as a contact sheet or animations",
    .arguments = "FILE",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .details = "Rows of the sheet are views, columns frames spread over the episode; the views of a still scene fill "
               "its rows.",
    .run = run_show,
};
