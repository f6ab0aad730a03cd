// SPDX-License-Identifier: Apache-2.0
// The section about edited scenes: one scene, unedited and with four edits, side by side.
#include "app/story.h"

#include "edit/edit.h"
#include "infer/film.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 5, ROWS = 2, STEPS_MAX = 12, EDITS_MAX = 6, EDIT_SIZE = 160, OBJECTS = 2 };

#define CLUSTER_EDIT "cluster: {}"

// What is done to the first states of the episode.
typedef struct Case {
    const char *name;
    char edits[EDITS_MAX][EDIT_SIZE];
    int count;
} Case;

typedef struct Edited {
    Case cases[CASES];
    bool clustered; // objects are clusters, for lack of masks
    int views[ROWS], rows, frames, H, W;
    uint8_t *pictures[ROWS * CASES * (STEPS_MAX + 1)]; // (rows, CASES, frames) of (H,W,3)
    PageScene particles[CASES];
} Edited;

static void add_edit(Case *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_edit(Case *to, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(to->edits[to->count++], EDIT_SIZE, format, list);
    va_end(list);
}

// The objects stand in a corner, then four across, then twice that behind: 16 of two.
static void fill_grid(Case *to, const EditLabel *objects, int count) {
    for (int i = 0; i < count; i++)
        add_edit(to, "move: {label: %d, by: [%.3f, %.3f, 0]}", objects[i].label, -0.7 - objects[i].centre[0],
                 -0.7 + 0.47 * i - objects[i].centre[1]);
    add_edit(to, "copy: {not: {label: 0}, by: [0.47, 0, 0], count: 3}");
    add_edit(to, "copy: {not: {label: 0}, by: [0, %.2f, 0], count: %d}", 0.47 * count, 4 / count - 1);
}

static void fill_cases(Edited *out, const EditLabel *objects, int count) {
    Case *c = out->cases;
    c[0].name = "unedited";
    c[1].name = "one object removed";
    add_edit(&c[1], "remove: {label: %d}", objects[0].label);
    c[2].name = "one object copied";
    add_edit(&c[2], "copy: {label: %d, by: [%.2f, %.2f, 0.1]}", objects[0].label,
             objects[0].centre[0] > 0 ? -0.55 : 0.55, objects[0].centre[1] > 0 ? -0.1 : 0.1);
    c[3].name = "floor removed";
    add_edit(&c[3], "remove: {label: 0}");
    c[4].name = count > 1 ? "16 objects" : "16 copies of one object";
    fill_grid(&c[4], objects, count);
}

// The two largest objects.
static int choose_objects(EditLabel *labels, size_t count, EditLabel *out) {
    int found = 0;
    for (; found < OBJECTS; found++) {
        size_t best = count;
        for (size_t i = 0; i < count; i++)
            if (labels[i].label > 0 && labels[i].particles > 0 &&
                (best == count || labels[i].particles > labels[best].particles))
                best = i;
        if (best == count) break;
        out[found] = labels[best];
        labels[best].particles = 0;
    }
    return found;
}

static Status apply(const Case *c, Device *device, RolloutFile *rollout, Error *err) {
    EditReport report;
    EditList *list = edit_list_create();
    Status status = list ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a list of edits");
    for (int i = 0; i < c->count && status == STATUS_OK; i++) status = edit_list_add(list, c->edits[i], err);
    if (status == STATUS_OK) status = edit_apply(list, device, NULL, 0, rollout, &report, err);
    edit_list_free(list);
    return status;
}

static Status draw_case(Edited *e, int which, RolloutWorkspace *workspace, const RolloutFile *rollout, Error *err) {
    Status status = STATUS_OK;
    for (int f = 0; f < e->frames && status == STATUS_OK; f++) {
        DrawScene scene;
        status = draw_load(&workspace->tape, workspace->model, rollout, (size_t)f, &scene, err);
        for (int row = 0; row < e->rows && status == STATUS_OK; row++) {
            FilmShot shot = {(size_t)f, e->views[row], draw_camera(rollout, (size_t)f, e->views[row])};
            uint8_t **picture = &e->pictures[(row * CASES + which) * e->frames + f];
            *picture = malloc((size_t)e->H * (size_t)e->W * 3);
            if (!*picture) return error_set(err, STATUS_FAILED, "out of memory for pictures");
            status = film_draw_shot(workspace, &scene, &shot, false, *picture, err);
        }
    }
    return status;
}

// The first states of the episode as particles; labels from the mask, else from clusters.
static Status begin(Edited *e, RolloutWorkspace *workspace, const Session *session, const StoryOptions *options,
                    RolloutFile *rollout, Error *err) {
    const Case cluster = {.edits = {CLUSTER_EDIT}, .count = 1};
    RolloutRequest request = {
        .history = {.episode = options->episodes[0], .start = options->start, .time_step = session->meta.time_step}};
    Status status = rollout_run(workspace, options->dataset, &request, rollout, err);
    e->clustered = status == STATUS_OK && !rollout->sets[0].labels;
    return e->clustered ? apply(&cluster, session->device, rollout, err) : status;
}

static Status show_case(Edited *e, int which, RolloutWorkspace *workspace, const Session *session,
                        const StoryOptions *options, Error *err) {
    RolloutFile rollout = {0};
    Status status = begin(e, workspace, session, options, &rollout, err);
    if (status == STATUS_OK) status = apply(&e->cases[which], session->device, &rollout, err);
    if (status == STATUS_OK) status = rollout_simulate(workspace, &rollout, (size_t)e->frames - 1, NULL, err);
    if (status == STATUS_OK) status = draw_case(e, which, workspace, &rollout, err);
    e->particles[which].name = e->cases[which].name;
    if (status == STATUS_OK) status = view_file_bytes(&rollout, &e->particles[which].bytes, err);
    rollout_file_free(&rollout);
    return status;
}

static void add_to_page(Page *page, const Edited *e) {
    const char *columns[CASES], *rows[ROWS] = {"input camera", "held-out camera"};
    char commands[CASES * (EDITS_MAX + 1) * (EDIT_SIZE + 24)] = "";
    size_t used = 0;
    for (int c = 0; c < CASES; c++) {
        columns[c] = e->cases[c].name;
        if (c > 0)
            used += (size_t)snprintf(commands + used, sizeof commands - used, "vpd edit seen.h5 -o edited%d.h5%s", c,
                                     e->clustered ? " --do \"" CLUSTER_EDIT "\"" : "");
        for (int i = 0; i < e->cases[c].count; i++)
            used += (size_t)snprintf(commands + used, sizeof commands - used, " --do \"%s\"", e->cases[c].edits[i]);
        if (c > 0) used += (size_t)snprintf(commands + used, sizeof commands - used, "\n");
    }
    page_moving(
        page, &(PageMoving){.caption =
                                "One scene, unedited and with four different edits; the model draws and predicts every "
                                "picture.",
                            .alt = "The same scene five times: unedited, with an object removed, with an object "
                                   "copied, without its floor, and with sixteen objects.",
                            .rows = e->rows,
                            .columns = CASES,
                            .frames = e->frames,
                            .H = e->H,
                            .W = e->W,
                            .row_names = rows,
                            .column_names = columns,
                            .pictures = (const uint8_t *const *)e->pictures,
                            .fps = 8});
    page_viewer(page, e->particles, CASES, "The same scenes as particles; the panel (P) chooses which are shown.");
    page_command(page,
                 "The edits as commands (docs/editing.md). `vpd rollout MODEL DATA --steps 0 -o seen.h5` writes the "
                 "unedited scene; `vpd rollout MODEL edited1.h5 -o after.h5` predicts what follows an edit.",
                 commands);
}

static Status prepare(Edited *e, RolloutWorkspace *workspace, const Session *session, const StoryOptions *options,
                      bool *found, Error *err) {
    const EpisodeInfo *info = dataset_episode(options->dataset, options->episodes[0]);
    RolloutFile rollout = {0};
    EditLabel *labels = NULL, objects[OBJECTS];
    size_t count = 0;
    Status status = begin(e, workspace, session, options, &rollout, err);
    if (status == STATUS_OK) status = edit_labels(&rollout, &labels, &count, err);
    int chosen = status == STATUS_OK ? choose_objects(labels, count, objects) : 0;
    *found = chosen > 0;
    if (*found) fill_cases(e, objects, chosen);
    free(labels);
    rollout_file_free(&rollout);
    e->frames = (options->steps < STEPS_MAX ? options->steps : STEPS_MAX) + 1;
    e->H = info->H;
    e->W = info->W;
    for (int v = 0; v < info->V && e->rows == 0; v++)
        if (!episode_view_is_heldout(info, v)) e->views[e->rows++] = v;
    if (info->heldout_count > 0) e->views[e->rows++] = info->heldout_views[0];
    return status;
}

Status story_edits(Page *page, const Session *session, const StoryOptions *options, Error *err) {
    RolloutWorkspace workspace = {0};
    Edited *edited = calloc(1, sizeof *edited);
    bool found = false;
    if (!edited) return error_set(err, STATUS_FAILED, "out of memory for pictures");
    rollout_workspace_init(&workspace, session->model);
    Status status = prepare(edited, &workspace, session, options, &found, err);
    for (int c = 0; c < CASES && found && status == STATUS_OK; c++)
        status = show_case(edited, c, &workspace, session, options, err);
    if (status == STATUS_OK && found) {
        page_section(page, "Edited scenes");
        page_text(page,
                  "To the model a scene is a set of particles, so a scene is edited by changing its particles: `vpd "
                  "edit` removes, moves, copies and throws objects, and puts scenes together. The model then predicts "
                  "what follows. It was not trained on edited scenes.");
        add_to_page(page, edited);
    }
    rollout_workspace_free(&workspace);
    for (size_t i = 0; i < sizeof edited->pictures / sizeof *edited->pictures; i++) free(edited->pictures[i]);
    for (int c = 0; c < CASES; c++) free(edited->particles[c].bytes.data);
    free(edited);
    return status;
}
