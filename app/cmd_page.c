// SPDX-License-Identifier: Apache-2.0
// `vpd page`: one self-contained HTML page that shows what the model of a run, or a pretrained one, predicts.
#include "app/commands.h"
#include "app/model_flags.h"
#include "app/output.h"
#include "app/result.h"
#include "app/story.h"
#include "base/clock.h"

#include <stdlib.h>

enum { SHOWN = 2 };

static const Flag flags[] = {
    {.name = "run", .value = "FOLDER", .help = "folder of a training run: shows its model and its training curves"},
    {.name = "carried", .value = "CHECKPOINT", .help = "checkpoint of a pretrained model, shown after the run"},
    {.name = "carried-note",
     .value = "TEXT",
     .help = "a sentence about the pretrained model, put before the number of its training steps"},
    {.name = "output", .value = "FILE", .help = "the HTML file (default index.html)", .letter = 'o', .writes = "html"},
    {.name = "start", .value = "F", .help = "last input frame of the videos (default 3, or the last one)"},
    {.name = "steps", .value = "N", .help = "number of predicted steps in the videos (default 16)"},
    {.name = "commands", .value = "TEXT", .help = "commands to print at the end of the page, one a line"},
    FLAG_RAW,
    FLAG_DEVICE,
    FLAG_FORCE,
    FLAG_JSON,
    {0},
};

// Test episodes, else validation, else training.
static int unseen_episodes(const Dataset *dataset, int *episodes, int capacity) {
    static const Split order[] = {SPLIT_TEST, SPLIT_VAL, SPLIT_TRAIN};
    for (int i = 0; i < 3; i++) {
        int found = dataset_find_split(dataset, order[i], episodes, capacity);
        if (found > 0) return found;
    }
    return 0;
}

static Status show_model(const CommandLine *line, Page *page, const char *title, const char *note,
                         const char *checkpoint, StoryOptions *story, bool edits, Error *err) {
    char text[1024], spent[64];
    Session session = {0};
    Status status = command_open_session(line, checkpoint, &session, err);
    if (status != STATUS_OK) return status;
    clock_format(session.meta.seconds, spent, sizeof spent);
    bool trained_on = dataset_episode(story->dataset, story->episodes[0])->split == SPLIT_TRAIN;
    snprintf(text, sizeof text,
             "%.500s%s%ld training steps took %s (vpd commit `%.12s`). The input of the model is %ld "
             "frame%s of each input camera; it predicts what follows. A held-out camera is never an input. %s",
             note, note[0] ? " " : "", session.meta.step, spent, session.meta.commit, session.model->config.model.T,
             session.model->config.model.T == 1 ? "" : "s",
             trained_on ? "The data set has training episodes only, so this page does not show how well the model does "
                          "on new ones."
                        : "The episodes on this page were not used for training.");
    page_section(page, title);
    page_text(page, text);
    status = story_moving(page, &session, story, err);
    if (status == STATUS_OK) status = story_figures(page, &session, story, err);
    if (status == STATUS_OK && edits) status = story_edits(page, &session, story, err);
    session_close(&session);
    return status;
}

static Status fill_page(const CommandLine *line, Page *page, StoryOptions *story, Error *err) {
    const char *run = command_text(line, "run", NULL), *carried = command_text(line, "carried", NULL),
               *commands_text = command_text(line, "commands", NULL);
    Status status = STATUS_OK;
    page_text(page,
              "The model turns RGB-D video from several cameras into particles. A network predicts how the bodies "
              "move, step by step, and a renderer draws them from any camera. All of this was learned "
              "from video: the model was given no object shapes, no tracked points and no laws of physics.");
    if (run) {
        status = show_model(line, page, "The trained model", "", run, story, false, err);
        if (status == STATUS_OK) status = story_curves(page, run, err);
    }
    if (status == STATUS_OK && carried)
        status = show_model(line, page, "The pretrained model", command_text(line, "carried-note", ""), carried, story,
                            true, err);
    if (commands_text) {
        page_section(page, "Commands");
        page_command(page, NULL, commands_text);
    }
    return status;
}

static Status run_page(const CommandLine *line, Error *err) {
    const char *out = command_text(line, "output", "index.html");
    int *episodes = NULL, capacity = 0;
    int start = 3, steps = 16;
    Dataset *dataset = NULL;
    Page *page = NULL;
    if (!command_has(line, "run") && !command_has(line, "carried"))
        return error_set(err, STATUS_BAD_INPUT, "expected --run FOLDER or --carried CHECKPOINT");
    Status status = command_small_int(line, "start", 0, 1000000, &start, err);
    if (status == STATUS_OK) status = command_small_int(line, "steps", 1, 1023, &steps, err);
    if (status == STATUS_OK) status = output_check(line, out, "html", err);
    if (status == STATUS_OK) status = command_check_writable(out, err);
    if (status == STATUS_OK) status = dataset_open(command_argument(line, 0), &dataset, err);
    if (status == STATUS_OK) {
        capacity = dataset_episode_count(dataset);
        episodes = calloc((size_t)capacity + 1, sizeof *episodes);
        if (!episodes) status = error_set(err, STATUS_FAILED, "out of memory for a list of episodes");
    }
    if (status == STATUS_OK)
        status =
            page_create("Visual Particle Dynamics", "A 3D particle simulator learned from RGB-D video", &page, err);
    if (status == STATUS_OK) {
        int count = unseen_episodes(dataset, episodes, capacity);
        for (int i = 0; i < count && i < SHOWN && !command_has(line, "start"); i++) // short episodes
            if (dataset_episode(dataset, episodes[i])->F <= start) start = dataset_episode(dataset, episodes[i])->F - 1;
        StoryOptions story = {.dataset = dataset,
                              .episodes = episodes,
                              .episode_count = count < SHOWN ? count : SHOWN,
                              .measured = episodes,
                              .measured_count = count,
                              .start = start,
                              .steps = steps,
                              .log = &line->log};
        status = fill_page(line, page, &story, err);
        Status written = page_finish(page, status == STATUS_OK ? out : NULL, status == STATUS_OK ? err : NULL);
        if (status == STATUS_OK) status = written;
    }
    if (status == STATUS_OK)
        status = result_tell(line, json_pack("{s:[s]}", "written", out), RESULT_NOTE, err, "%s written", out);
    free(episodes);
    dataset_close(dataset);
    return status;
}

const Command command_page = {
    .name = "page",
    .summary = "write an HTML page with the videos, figures and curves of a model",
    .arguments = "DATA",
    .min_arguments = 1,
    .max_arguments = 1,
    .flags = flags,
    .run = run_page,
};
