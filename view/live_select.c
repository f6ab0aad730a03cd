// SPDX-License-Identifier: Apache-2.0
// Selections of edits, and which edits are taken.
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>

// ---- edits with a file

// "  - compose: {file: "PATH" .. }" on a line, with the path of a file that is shown. Without quotes, braces and the
// like behind the path, no other file can be named.
static bool composes_shown(const Live *live, const char *edits, const char *word) {
    static const char before[] = "  - ", begin[] = "compose: {file: \"";
    const char *line = word - strlen(before), *path = word + strlen(begin);
    if (word - edits < (ptrdiff_t)strlen(before) || strncmp(line, before, strlen(before)) != 0) return false;
    if ((line > edits && line[-1] != '\n') || strncmp(word, begin, strlen(begin)) != 0) return false;
    for (int i = 0; i < live->count; i++) {
        const char *real = live->sources[i].real;
        size_t length = real ? strlen(real) : 0;
        if (!real || strncmp(path, real, length) != 0 || path[length] != '"') continue;
        const char *rest = path + length + 1;
        rest += strspn(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_ .,:[]-");
        return *rest == '}' && (!rest[1] || rest[1] == '\n');
    }
    return false;
}

Status live_check_edits(const Live *live, const char *edits, Error *err) {
    bool good = !strchr(edits, '\\'); // it could spell the word otherwise
    for (const char *word = edits; good && (word = strstr(word, "compose")); word++)
        good = composes_shown(live, edits, word);
    if (good) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "the page takes an edit with a file (compose) only for files that it shows: use vpd edit");
}

// ---- what a selection takes

static Status copy_shown(Live *live, const LiveSelect *select, vpd_scene **out, ViewOrder *order, Error *err) {
    const Result *r = &live->result;
    vpd_error e = {0};
    SceneView view = {0};
    bool of_result = select->scene < 0;
    if (select->scene >= live->count) return error_set(err, STATUS_BAD_INPUT, "there is no scene %d", select->scene);
    if (of_result && (r->id != select->id || r->parts == 0 || r->working)) return live_stale(err, select->id);
    const vpd_scene *scene = of_result ? live->scene : live->sources[select->scene].scene;
    Status status = live_view_of_scene(scene, 0, &view, err);
    if (status == STATUS_OK) status = view_order(&view.view, of_result ? r->order_steps : view.view.steps, order, err);
    free(view.cameras);
    return status == STATUS_OK ? api_status(vpd_scene_copy(scene, out, &e), &e, err) : status;
}

// The selection gets a label of its own, to see which particles those are.
static Status mark(vpd_scene *scene, const LiveSelect *select, uint16_t *before, size_t count, Error *err) {
    vpd_particle_arrays arrays = {.struct_size = sizeof arrays};
    vpd_error e = {0};
    size_t size = strlen(select->where) + 80;
    char *edit = malloc(size);
    if (!edit) return live_no_memory(err);
    snprintf(edit, size, "label: {%s, as: selected in the page, if_empty: skip}", select->where);
    Status status = api_status(vpd_scene_get_particles(scene, select->step, &arrays, &e), &e, err);
    if (status == STATUS_OK && arrays.labels) memcpy(before, arrays.labels, count * sizeof *before);
    if (status == STATUS_OK) status = api_status(vpd_scene_edit(scene, select->step, edit, NULL, NULL, &e), &e, err);
    free(edit);
    return status;
}

static Status find_marked(vpd_scene *scene, const LiveSelect *select, const ViewOrder *order, ViewBytes *out,
                          Error *err) {
    vpd_particle_arrays arrays = {.struct_size = sizeof arrays};
    vpd_error e = {0};
    Status status = api_status(vpd_scene_get_particles(scene, 0, &arrays, &e), &e, err);
    if (status != STATUS_OK) return status;
    size_t count = arrays.count;
    uint16_t *before = calloc(count + 1, sizeof *before);
    *out = (ViewBytes){calloc(order->shown + 1, 1), order->shown};
    status = before && out->data ? mark(scene, select, before, count, err) : live_no_memory(err);
    if (status == STATUS_OK) status = api_status(vpd_scene_get_particles(scene, 0, &arrays, &e), &e, err);
    if (status == STATUS_OK && arrays.count != count) status = error_set(err, STATUS_BAD_INPUT, "this is no selection");
    for (size_t k = 0; status == STATUS_OK && k < order->shown; k++)
        out->data[k] = arrays.labels && arrays.labels[order->index[k]] != before[order->index[k]];
    free(before);
    return status;
}

Status live_select(Live *live, const LiveSelect *select, ViewBytes *out, Error *err) {
    vpd_scene *scene = NULL;
    ViewOrder order = {0};
    *out = (ViewBytes){0};
    if (!live->model) return error_set(err, STATUS_BAD_INPUT, "%s", live->why);
    Status status = live_check_edits(live, select->where, err);
    if (status != STATUS_OK) return status;
    pthread_mutex_lock(&live->lock);
    status = copy_shown(live, select, &scene, &order, err);
    pthread_mutex_unlock(&live->lock);
    if (status == STATUS_OK) status = find_marked(scene, select, &order, out, err);
    vpd_scene_free(scene);
    view_order_free(&order);
    if (status == STATUS_OK) return status;
    free(out->data);
    *out = (ViewBytes){0};
    return status;
}
