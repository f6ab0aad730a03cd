// SPDX-License-Identifier: Apache-2.0
#include "app/inspect.h"

#include "base/file.h"
#include "base/log.h"
#include "datasets/dataset.h"
#include "datasets/h5.h"
#include "files/checkpoint.h"
#include "files/safetensors.h"
#include "infer/rollout.h"

#include <stdlib.h>
#include <string.h>

// ---- data sets

static json_t *range(int low, int high) { return low == high ? json_integer(low) : json_pack("[i,i]", low, high); }

// Smallest and largest of a number over all episodes.
static json_t *span(const Dataset *dataset, int (*of)(const EpisodeInfo *)) {
    int low = of(dataset_episode(dataset, 0)), high = low;
    for (int i = 1; i < dataset_episode_count(dataset); i++) {
        int value = of(dataset_episode(dataset, i));
        low = value < low ? value : low;
        high = value > high ? value : high;
    }
    return range(low, high);
}

static int frames_of(const EpisodeInfo *info) { return info->F; }
static int views_of(const EpisodeInfo *info) { return info->V; }
static int height_of(const EpisodeInfo *info) { return info->H; }
static int width_of(const EpisodeInfo *info) { return info->W; }
static int objects_of(const EpisodeInfo *info) { return info->O; }

static json_t *describe_dataset(const Dataset *dataset) {
    const DatasetInfo *info = dataset_info(dataset);
    const EpisodeInfo *first = dataset_episode(dataset, 0);
    char version[32];
    snprintf(version, sizeof version, "%u.%u", info->version_major, info->version_minor);
    return json_pack("{s:s s:s s:s s:s s:s s:s s:s s:i s:i s:{s:i s:i s:i} s:o s:o s:o s:o s:o s:b s:b s:b s:b s:o}",
                     "kind", "data set", "path", info->path, "format", version, "name", info->name, "generator",
                     info->generator, "created", info->created, "licence", info->licence, "files", info->file_count,
                     "episodes", info->episode_count, "splits", "train", info->split_count[SPLIT_TRAIN], "val",
                     info->split_count[SPLIT_VAL], "test", info->split_count[SPLIT_TEST], "frames",
                     span(dataset, frames_of), "views", span(dataset, views_of), "height", span(dataset, height_of),
                     "width", span(dataset, width_of), "objects", span(dataset, objects_of), "mask", first->has_mask,
                     "bounds", first->bounds != NULL, "actions", first->actions != NULL, "moving_cameras",
                     first->moving_cameras, "time_step", json_finite(first->time_step));
}

static Status inspect_dataset(const char *path, json_t **out, Error *err) {
    Dataset *dataset;
    Status status = dataset_open(path, &dataset, err);
    if (status != STATUS_OK) return status;
    *out = describe_dataset(dataset);
    dataset_close(dataset);
    return STATUS_OK;
}

// ---- rollouts and particles

// Particles of each label, without hidden points, by its name: the line of label_names, else its number.
static json_t *count_labels(const RolloutFile *r) {
    const RolloutSet *set = &r->sets[0];
    size_t *counts = calloc(UINT16_MAX + 1, sizeof *counts);
    json_t *out = json_object();
    for (size_t i = 0; counts && i < set->N; i++) counts[set->labels[i]] += !rollout_is_hidden(set, i);
    const char *line = r->label_names ? r->label_names : "";
    for (size_t label = 0; counts && label <= UINT16_MAX; label++) {
        char name[128];
        line = rollout_label_line(line, (long)label, name, sizeof name);
        const json_int_t before = json_integer_value(json_object_get(out, name)); // of a label with the same name
        if (counts[label]) json_object_set_new(out, name, json_integer(before + (json_int_t)counts[label]));
    }
    free(counts);
    return out;
}

// [[low x, y, z], [high x, y, z]] of a step.
static json_t *box_of(const RolloutFile *r, size_t step) {
    const float *x = rollout_positions(r, step);
    json_t *low = json_array(), *high = json_array();
    for (size_t c = 0; c < 3; c++) {
        float least = x[c], most = x[c];
        for (size_t i = 1; i < r->sets[0].N; i++) {
            least = x[3 * i + c] < least ? x[3 * i + c] : least;
            most = x[3 * i + c] > most ? x[3 * i + c] : most;
        }
        json_array_append_new(low, json_finite((double)least));
        json_array_append_new(high, json_finite((double)most));
    }
    return json_pack("[o,o]", low, high);
}

static json_t *lines_of(const char *text) {
    json_t *out = json_array();
    while (text && *text) {
        size_t length = strcspn(text, "\n");
        json_array_append_new(out, json_stringn(text, length));
        text += length + (text[length] == '\n');
    }
    return out;
}

// Different numbers of bodies; -1 is none.
static size_t count_bodies(const int32_t *body, size_t rows) {
    uint8_t *seen = calloc(ROLLOUT_BODIES_MAX, 1);
    size_t count = 0;
    for (size_t i = 0; seen && i < rows; i++) {
        if (body[i] < 0 || seen[body[i]]) continue;
        seen[body[i]] = 1;
        count++;
    }
    free(seen);
    return count;
}

// Particles of each input frame before the present, newest first.
static json_t *count_past(const RolloutFile *r) {
    json_t *out = json_array();
    for (int i = 1; i < r->set_count; i++) json_array_append_new(out, json_integer((json_int_t)r->sets[i].N));
    return out;
}

static void describe_drives(const RolloutDrives *drives, json_t *out) {
    int32_t last = 0;
    if (!drives->count) return;
    for (size_t k = 0; k < drives->count; k++) last = drives->step[k] > last ? drives->step[k] : last;
    json_object_set_new(out, "driven_bodies", json_integer((json_int_t)count_bodies(drives->body, drives->count)));
    json_object_set_new(out, "driven_steps", json_integer(last));
}

static json_t *describe_rollout(const char *path, const RolloutFile *r) {
    const RolloutSet *now = &r->sets[0];
    json_t *out = json_pack(
        "{s:s s:s s:s s:s s:I s:I s:I s:f s:f s:f s:i s:i s:i s:[f,f,f] s:b s:s s:s s:s s:s s:i s:i}", "kind",
        r->steps ? "rollout" : "particles", "path", path, "generator", r->generator, "created", r->created, "particles",
        (json_int_t)rollout_drawn(now), "features", (json_int_t)now->D, "steps", (json_int_t)r->steps, "time_step",
        r->time_step, "first_time", r->time[0], "last_time", r->time[r->steps], "cameras", r->V, "height", r->H,
        "width", r->W, "background", (double)r->background[0], (double)r->background[1], (double)r->background[2],
        "moving_cameras", r->camera_frames > 1, "checkpoint", r->checkpoint, "checkpoint_hash", r->checkpoint_hash,
        "dataset", r->dataset, "episode", r->episode, "first_frame", r->first_frame, "frame_stride", r->frame_stride);
    if (!out) return NULL;
    size_t hidden = now->N - rollout_drawn(now);
    if (hidden) json_object_set_new(out, "hidden_points", json_integer((json_int_t)hidden));
    if (r->surface.triangles) json_object_set_new(out, "triangles", json_integer((json_int_t)r->surface.triangles));
    if (r->surface.springs) json_object_set_new(out, "springs", json_integer((json_int_t)r->surface.springs));
    if (now->body) json_object_set_new(out, "bodies", json_integer((json_int_t)count_bodies(now->body, now->N)));
    describe_drives(&r->drives, out);
    if (rollout_has_light(r))
        json_object_set_new(out, "light", json_pack("[f,f,f]", r->light[0], r->light[1], r->light[2]));
    if (r->set_count > 1) {
        json_object_set_new(out, "past_particles", count_past(r));
        json_object_set_new(out, "ties", json_boolean(r->sets[1].ties));
    }
    if (now->N > 0) json_object_set_new(out, "box_first", box_of(r, 0));
    if (now->N > 0) json_object_set_new(out, "box_last", box_of(r, r->steps));
    if (now->labels) json_object_set_new(out, "labels", count_labels(r));
    json_object_set_new(out, "edits", lines_of(r->edit_history));
    return out;
}

static Status inspect_rollout(const char *path, json_t **out, Error *err) {
    RolloutFile rollout;
    Status status = rollout_file_read(path, &rollout, err);
    if (status != STATUS_OK) return status;
    *out = describe_rollout(path, &rollout);
    rollout_file_free(&rollout);
    return STATUS_OK;
}

// ---- checkpoints and runs

static json_t *describe_checkpoint(const char *path, const CheckpointMeta *meta) {
    const Config *c = &meta->config;
    char version[32];
    snprintf(version, sizeof version, "%d.%d", meta->version[0], meta->version[1]);
    return json_pack(
        "{s:s s:s s:s s:s s:s s:s s:I s:o s:o s:o s:b s:b s:b s:{s:I s:I s:I s:I s:I s:I s:I s:I} s:{s:f s:f s:f s:f}}",
        "kind", "checkpoint", "path", path, "format", version, "contents",
        meta->publication ? "publication" : "training", "commit", meta->commit, "hash", meta->hash, "step",
        (json_int_t)meta->step, "best_score", json_finite(meta->best_score), "time_step", json_finite(meta->time_step),
        "seconds", json_finite(meta->seconds), "averaged", meta->has_ema, "moments", meta->has_moments, "half",
        meta->is_half, "model", "T", (json_int_t)c->model.T, "D", (json_int_t)c->model.D, "C", (json_int_t)c->model.C,
        "N", (json_int_t)c->encoder.N, "M", (json_int_t)c->gnn.M, "L", (json_int_t)c->gnn.L, "K",
        (json_int_t)c->renderer.K, "S", (json_int_t)c->renderer.S, "lengths", "extent", c->data.extent, "length_scale",
        c->gnn.length_scale, "displacement_scale", c->gnn.displacement_scale, "radius", c->renderer.radius);
}

static Status inspect_checkpoint(const char *path, json_t **out, Error *err) {
    CheckpointMeta meta;
    Status status = checkpoint_verify(path, err); // every checksum, not the root's alone
    if (status == STATUS_OK) status = checkpoint_read_meta(path, &meta, err);
    if (status == STATUS_OK) *out = describe_checkpoint(path, &meta);
    return status;
}

// The checkpoint that `best` or `latest` of a run names; JSON null where there is none.
static Status inspect_named(const char *folder, const char *name, json_t *out, Error *err) {
    char path[FILE_PATH_SIZE];
    CheckpointFound found;
    json_t *checkpoint = NULL;
    Status status = file_join(path, sizeof path, folder, name, err);
    if (status != STATUS_OK || !file_exists(path)) return status;
    status = checkpoint_find(path, &found, err);
    if (status == STATUS_OK) status = inspect_checkpoint(found.path, &checkpoint, err);
    if (status == STATUS_OK) json_object_set_new(out, name, checkpoint);
    return status;
}

static Status inspect_run(const char *path, const char *checkpoints, json_t **out, Error *err) {
    FileList list = {0}, steps = {0};
    Status status = file_list(path, &list, err);
    if (status == STATUS_OK) status = file_list(checkpoints, &steps, err);
    json_t *files = json_array(), *saved = json_array();
    for (size_t i = 0; i < list.count; i++) json_array_append_new(files, json_string(list.names[i]));
    for (size_t i = 0; i < steps.count; i++)
        if (!strncmp(steps.names[i], "step_", 5)) json_array_append_new(saved, json_string(steps.names[i]));
    *out = json_pack("{s:s s:s s:o s:o}", "kind", "run", "path", path, "files", files, "checkpoints", saved);
    if (status == STATUS_OK) status = inspect_named(checkpoints, "best", *out, err);
    if (status == STATUS_OK) status = inspect_named(checkpoints, "latest", *out, err);
    file_list_free(&list);
    file_list_free(&steps);
    return status;
}

// ---- safetensors

static Status inspect_safetensors(const char *path, json_t **out, Error *err) {
    SafetensorsFile file;
    size_t numbers = 0;
    Status status = safetensors_read(path, &file, err);
    if (status != STATUS_OK) return status;
    json_t *arrays = json_object(), *texts = json_object();
    for (size_t i = 0; i < file.count; i++) {
        json_t *shape = json_array();
        size_t size = 1;
        for (int d = 0; d < file.arrays[i].rank; d++) {
            size *= file.arrays[i].dims[d];
            json_array_append_new(shape, json_integer((json_int_t)file.arrays[i].dims[d]));
        }
        numbers += size;
        json_object_set_new(arrays, file.arrays[i].name, shape);
    }
    for (size_t i = 0; i < file.text_count; i++)
        if (strcmp(file.texts[i].key, "config") != 0)
            json_object_set_new(texts, file.texts[i].key, json_string(file.texts[i].value));
    *out = json_pack("{s:s s:s s:I s:o s:o}", "kind", "safetensors", "path", path, "numbers", (json_int_t)numbers,
                     "metadata", texts, "arrays", arrays);
    safetensors_free(&file);
    return STATUS_OK;
}

// ---- any of them

// The attribute `format` of an HDF5 file.
static Status inspect_folder(const char *path, json_t **out, Error *err) {
    char checkpoints[FILE_PATH_SIZE];
    Status status = file_join(checkpoints, sizeof checkpoints, path, "checkpoints", err);
    if (status != STATUS_OK) return status;
    return file_is_folder(checkpoints) ? inspect_run(path, checkpoints, out, err) : inspect_dataset(path, out, err);
}

static Status inspect_file(const char *path, json_t **out, Error *err) {
    char format[64];
    if (name_ends(path, ".safetensors")) return inspect_safetensors(path, out, err);
    if (dataset_is_list(path)) return inspect_dataset(path, out, err);
    Status status = h5_read_format(path, format, sizeof format, err);
    if (status != STATUS_OK) return status;
    if (!strcmp(format, "vpd-dataset")) return inspect_dataset(path, out, err);
    if (!strcmp(format, "vpd-checkpoint")) return inspect_checkpoint(path, out, err);
    if (!strcmp(format, "vpd-rollout") || !strcmp(format, "vpd-particles")) return inspect_rollout(path, out, err);
    return error_set(
        err, STATUS_BAD_INPUT,
        "%s: expected the attribute format to be vpd-dataset, vpd-checkpoint, vpd-rollout or vpd-particles, "
        "found \"%s\"",
        path, format);
}

Status inspect_path(const char *path, json_t **out, Error *err) {
    *out = NULL;
    Status status = file_is_folder(path) ? inspect_folder(path, out, err) : inspect_file(path, out, err);
    if (status == STATUS_OK && !*out) status = error_set(err, STATUS_FAILED, "%s: no memory for what it holds", path);
    if (status != STATUS_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

// ---- as text

static void print_value(const json_t *value, FILE *out) {
    if (json_is_string(value)) {
        char *text = strdup(json_string_value(value));
        if (text) log_clean(text);
        fputs(text && *text ? text : "-", out);
        free(text);
    } else if (json_is_boolean(value)) {
        fputs(json_is_true(value) ? "yes" : "no", out);
    } else if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (i) fputs(json_is_array(json_array_get(value, i)) ? " to " : " ", out);
            print_value(json_array_get(value, i), out);
        }
        if (!json_array_size(value)) fputs("-", out);
    } else if (json_is_real(value)) {
        fprintf(out, "%.6g", json_real_value(value));
    } else if (json_is_integer(value)) {
        fprintf(out, "%lld", (long long)json_integer_value(value));
    } else {
        fputs("-", out);
    }
}

static int widest_key(const json_t *object) {
    const char *key;
    json_t *value;
    size_t widest = 0;
    json_object_foreach((json_t *)object, key, value) // jansson's macro takes no const
        widest = !json_is_object(value) && strlen(key) > widest ? strlen(key) : widest;
    return (int)(widest < 100 ? widest : 100);
}

static void print_object(const json_t *object, int indent, FILE *out) {
    const char *key;
    json_t *value;
    int width = widest_key(object);
    json_object_foreach((json_t *)object, key, value) {
        char name[128];
        snprintf(name, sizeof name, "%s", key);
        log_clean(name);
        if (json_is_object(value)) {
            fprintf(out, "%*s%s\n", indent, "", name);
            print_object(value, indent + 2, out);
            continue;
        }
        fprintf(out, "%*s%-*s  ", indent, "", width, name);
        print_value(value, out);
        fputc('\n', out);
    }
}

void inspect_print(const json_t *object, FILE *out) { print_object(object, 0, out); }
