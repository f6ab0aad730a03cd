// SPDX-License-Identifier: Apache-2.0
// The section about edited scenes: one scene, unedited and with four edits, side by side.
#include "app/story.h"

#include "base/camera_rig.h"
#include "base/vector.h"
#include "edit/edit.h"
#include "infer/film.h"
#include "infer/motion.h"

#include <math.h>
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

// Where edits put objects: the axes of the ground, the middle of all objects, and a length that keeps two apart.
typedef struct Ground {
    double along[3], across[3], up[3], middle[3]; // metres
    double apart;
} Ground;

// The edit `what` with an offset; `rest` follows it.
static void add_offset(Case *to, const Ground *g, const char *what, const double by[3], const char *rest) {
    double v[3];
    for (int c = 0; c < 3; c++) v[c] = fabs(by[c]) < 1e-4 * g->apart ? 0 : by[c];
    add_edit(to, "%s, by: [%.4g, %.4g, %.4g]%s}", what, v[0], v[1], v[2], rest);
}

// Moves an object level to this place from the middle, in units of `apart`.
static void add_move(Case *to, const Ground *g, const EditLabel *object, double along, double across) {
    double by[3];
    char what[32];
    for (int c = 0; c < 3; c++)
        by[c] = g->middle[c] - object->centre[c] + g->apart * (along * g->along[c] + across * g->across[c]);
    double rise = vector_dot(by, g->up);
    for (int c = 0; c < 3; c++) by[c] -= rise * g->up[c];
    snprintf(what, sizeof what, "move: {label: %d", object->label);
    add_offset(to, g, what, by, "");
}

// The chosen objects alone, in a grid of four by four about the middle: they stand in a corner, then four along, then
// as many rows as make 16.
static void fill_grid(Case *to, const Ground *g, const EditLabel *objects, int count) {
    double column[3], row[3];
    char rows[16];
    int last = objects[count - 1].label;
    add_edit(to, "remove: {not: {label: [0, %d, %d]}, if_empty: skip}", objects[0].label, last);
    for (int i = 0; i < count; i++) add_move(to, g, &objects[i], -1.5, i - 1.5);
    for (int c = 0; c < 3; c++) column[c] = g->apart * g->along[c], row[c] = g->apart * count * g->across[c];
    snprintf(rows, sizeof rows, ", count: %d", 4 / count - 1);
    add_offset(to, g, "copy: {not: {label: 0}", column, ", count: 3");
    add_offset(to, g, "copy: {not: {label: 0}", row, rows);
}

// The copy stands a little higher beside the object: near the middle, but not where the other one is.
static void add_copy(Case *to, const Ground *g, const EditLabel *objects, int count) {
    double by[3] = {0}, best = -1;
    char what[32];
    for (int side = 0; side < 4; side++) {
        double way[3], other = 0, middle = 0; // squares of distances, in units of `apart`
        for (int c = 0; c < 3; c++) {
            way[c] = g->apart * ((side < 2 ? 1.2 : -1.2) * (side % 2 ? g->across : g->along)[c] + 0.2 * g->up[c]);
            double at = objects[0].centre[c] + way[c];
            other += pow((at - objects[count - 1].centre[c]) / g->apart, 2);
            middle += pow((at - g->middle[c]) / g->apart, 2);
        }
        double score = other < 1 ? other : 1 + 1 / middle;
        if (score > best) best = score, memcpy(by, way, sizeof by);
    }
    snprintf(what, sizeof what, "copy: {label: %d", objects[0].label);
    add_offset(to, g, what, by, "");
}

static void fill_cases(Edited *out, const Ground *ground, const EditLabel *objects, int count) {
    Case *c = out->cases;
    c[0].name = "unedited";
    c[1].name = "one object removed";
    add_edit(&c[1], "remove: {label: %d}", objects[0].label);
    c[2].name = "one object copied";
    add_copy(&c[2], ground, objects, count);
    c[3].name = "ground removed";
    add_edit(&c[3], "remove: {label: 0}");
    c[4].name = count > 1 ? "16 objects" : "16 copies of one object";
    fill_grid(&c[4], ground, objects, count);
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

// Three times the root mean square distance of an object's particles from their mean: about its diameter, metres.
static double size_of(const RolloutSet *now, const EditLabel *object) {
    double sum = 0;
    for (size_t i = 0; i < now->N; i++)
        for (size_t c = 0; c < 3 && now->labels[i] == object->label; c++)
            sum += pow((double)now->positions[3 * i + c] - object->centre[c], 2);
    return 3 * sqrt(sum / (double)object->particles);
}

static Ground find_ground(const Session *session, const RolloutFile *rollout, const EditLabel *objects, int count) {
    Ground g = {.apart = 0};
    size_t poses = (size_t)rollout->V * (size_t)rollout->camera_frames;
    motion_up((int)session->model->config.train.turn, rollout->world_from_camera, poses, g.up);
    camera_rig_across(g.up, g.along, g.across);
    for (int i = 0; i < count; i++) {
        g.apart = fmax(g.apart, 1.2 * size_of(&rollout->sets[0], &objects[i]));
        for (int c = 0; c < 3; c++) g.middle[c] += objects[i].centre[c] / count;
    }
    return g;
}

static Status apply(const Case *c, Device *device, RolloutFile *rollout, Error *err) {
    EditReport report;
    EditList *list = edit_list_create();
    Status status = list ? STATUS_OK : error_set(err, STATUS_FAILED, "out of memory for a list of edits");
    for (int i = 0; i < c->count && status == STATUS_OK; i++) status = edit_list_add(list, "--do", c->edits[i], err);
    if (status == STATUS_OK) status = edit_apply(list, device, NULL, 0, rollout, &report, err);
    edit_list_free(list);
    return status;
}

static Status draw_case(Edited *e, int which, RolloutWorkspace *workspace, const RolloutFile *rollout, Error *err) {
    Status status = STATUS_OK;
    for (int f = 0; f < e->frames && status == STATUS_OK; f++) {
        DrawScene scene;
        status = draw_load(workspace, rollout, (size_t)f, &scene, err);
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
    RolloutRequest request = {.history = {.episode = options->episodes[0], .start = options->start}};
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

static void add_to_page(Page *page, const Edited *e, const StoryOptions *options) {
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
                                   "copied, without its ground, and with sixteen objects.",
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
    char how[768];
    snprintf(how, sizeof how,
             "The edits as commands (docs/editing.md). `vpd rollout MODEL DATA --episode '%s' --start %d --steps 0 -o "
             "seen.h5` writes the unedited scene; `vpd rollout MODEL edited1.h5 -o after.h5` predicts what follows an "
             "edit.",
             dataset_episode_label(options->dataset, options->episodes[0]).text, options->start);
    page_command(page, how, commands);
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
    Ground ground = find_ground(session, &rollout, objects, chosen);
    if (*found) fill_cases(e, &ground, objects, chosen);
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
        add_to_page(page, edited, options);
    }
    rollout_workspace_free(&workspace);
    for (size_t i = 0; i < sizeof edited->pictures / sizeof *edited->pictures; i++) free(edited->pictures[i]);
    for (int c = 0; c < CASES; c++) free(edited->particles[c].bytes.data);
    free(edited);
    return status;
}
