// SPDX-License-Identifier: Apache-2.0
// Numbers and names of labels. Line i of the file's names is the name of label i.
#include "edit/scene.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

Status scene_need_labels(EditScene *scene, Error *err) {
    RolloutSet *now = scene_now(scene);
    if (!now->labels) now->labels = calloc(now->N + 1, sizeof *now->labels);
    return now->labels ? STATUS_OK : scene_no_memory(err);
}

Status scene_spread_labels(EditScene *scene, Error *err) {
    const RolloutSet *now = scene_now(scene);
    for (int k = 1; now->labels && k < scene->file->set_count; k++) {
        RolloutSet *set = &scene->file->sets[k];
        if (set->N == 0) continue;
        if (!set->labels) set->labels = malloc(set->N * sizeof *set->labels);
        if (!set->labels) return scene_no_memory(err);
        for (size_t i = 0; i < set->N; i++) set->labels[i] = now->labels[set->ties[i]];
    }
    return STATUS_OK;
}

static long named_count(const RolloutFile *file) {
    long lines = 0;
    for (const char *c = file->label_names ? file->label_names : ""; *c; c++) lines += *c == '\n' || !c[1];
    return lines < LABELS ? lines : LABELS;
}

const char *scene_names(const EditScene *scene) { return scene->file->label_names ? scene->file->label_names : ""; }

// Number of particles with each label, (LABELS), malloc'ed.
static size_t *tally(const RolloutSet *now) {
    size_t *out = calloc(LABELS, sizeof *out);
    for (size_t i = 0; out && now->labels && i < now->N; i++) out[now->labels[i]]++;
    return out;
}

size_t scene_labels_in(const EditScene *scene, const Mask *mask) {
    const RolloutSet *now = scene_now(scene);
    uint8_t *seen = now->labels ? calloc(LABELS, 1) : NULL;
    size_t count = 0;
    for (size_t i = 0; seen && i < now->N; i++) {
        bool fresh = mask[i] && !seen[now->labels[i]];
        if (fresh) seen[now->labels[i]] = 1;
        count += fresh;
    }
    free(seen);
    return count;
}

// Lists the labels that particles have: "0 (background), 1 (object 0)".
static void list_labels(const EditScene *scene, const size_t *particles, char *out, size_t size) {
    size_t used = 0;
    out[0] = 0;
    const char *line = scene_names(scene);
    for (long l = 0; l < LABELS && used < size; l++) {
        EditName name;
        line = rollout_label_line(line, l, name, sizeof name);
        if (!particles[l]) continue;
        if (size - used < 64) {
            snprintf(out + used, size - used, ", ..");
            return;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%ld (%.40s)", used ? ", " : "", l, name);
    }
}

static bool is_number(const char *name) { return strlen(name) <= 5 && !name[strspn(name, "0123456789")]; }

// Marks all labels with this name and returns the first, or -1. `mark` may be NULL.
static long find_name(const RolloutFile *file, const char *name, uint8_t *mark) {
    const char *line = file->label_names ? file->label_names : "";
    long first = -1;
    for (long label = 0; *line && label < LABELS; label++) {
        size_t length = strcspn(line, "\n");
        bool same = length == strlen(name) && !memcmp(line, name, length);
        if (same && first < 0) first = label;
        if (same && mark) mark[label] = 1;
        line += length + (line[length] == '\n');
    }
    return first;
}

Status scene_find_labels(const EditScene *scene, const char *name, uint8_t *mark, Error *err) {
    const RolloutSet *now = scene_now(scene);
    char list[400];
    if (!now->labels)
        return error_set(err, STATUS_BAD_INPUT,
                         "label %s: the particles have no labels; `cluster: {}` and `label: {.., as: NAME}` make them",
                         name);
    size_t *particles = tally(now);
    if (!particles) return scene_no_memory(err);
    bool found = find_name(scene->file, name, mark) >= 0;
    long number = !found && is_number(name) ? strtol(name, NULL, 10) : -1;
    if (number >= 0 && number < LABELS && (particles[number] || number < named_count(scene->file))) mark[number] = 1;
    found = found || (number >= 0 && number < LABELS && mark[number]);
    if (!found) list_labels(scene, particles, list, sizeof list);
    free(particles);
    return found ? STATUS_OK
                 : error_set(err, STATUS_BAD_INPUT, "there is no label \"%s\"; the particles have %s", name, list);
}

// Writes the old names with the new ones from line `first` on. Labels before that without a name get a default one.
static void put_names(FILE *out, const char *line, long first, long count, const EditName *names) {
    for (long l = 0; *line || l < first + count; l++) {
        size_t length = strcspn(line, "\n");
        if (l >= first && l < first + count) fprintf(out, "%s\n", names[l - first]);
        else if (length == 0) fprintf(out, l ? "label %ld\n" : "background\n", l);
        else fprintf(out, "%.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

Status scene_name_labels(EditScene *scene, long first, long count, const EditName *names, Error *err) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return scene_no_memory(err);
    put_names(out, scene_names(scene), first, count, names);
    bool good = !ferror(out);
    if (fclose(out) != 0 || !good) {
        free(text);
        return scene_no_memory(err);
    }
    free(scene->file->label_names);
    scene->file->label_names = text;
    return STATUS_OK;
}

// A copy of the names that ends with a newline, malloc'ed; set even if they are rejected.
static Status own_names(const char *names, char **out, Error *err) {
    size_t length = strlen(names), lines = 0;
    *out = length <= EDIT_LIST_BYTES_MAX ? malloc(length + 2) : NULL;
    if (length > EDIT_LIST_BYTES_MAX)
        return error_set(err, STATUS_BAD_INPUT, "label names: expected at most %d bytes, found %zu",
                         EDIT_LIST_BYTES_MAX, length);
    if (!*out) return scene_no_memory(err);
    for (size_t i = 0; i <= length; i++) {
        (*out)[i] = names[i] == '\n' ? ' ' : names[i];
        lines += names[i] == '\n' || (!names[i] && i > 0 && names[i - 1] != '\n');
    }
    bool plain = text_is_plain(*out);
    memcpy(*out, names, length + 1);
    if (length > 0 && names[length - 1] != '\n') memcpy(*out + length, "\n", 2);
    if (plain && lines <= LABELS) return STATUS_OK;
    return plain ? error_set(err, STATUS_BAD_INPUT, "label names: expected at most %d lines, found %zu", LABELS, lines)
                 : error_set(err, STATUS_BAD_INPUT,
                             "label names: expected UTF-8 text without control characters, one name per line");
}

Status scene_set_labels(EditScene *scene, const uint16_t *labels, const char *names, Error *err) {
    RolloutSet *now = scene_now(scene);
    char *text = NULL;
    Status status = names ? own_names(names, &text, err) : STATUS_OK;
    if (status == STATUS_OK) status = scene_need_labels(scene, err);
    if (status != STATUS_OK) {
        free(text);
        return status;
    }
    memmove(now->labels, labels, now->N * sizeof *labels); // the source may be the file's own array
    if (!names) return STATUS_OK;
    free(scene->file->label_names);
    scene->file->label_names = text;
    return STATUS_OK;
}

Status scene_new_labels(EditScene *scene, long count, long *first, Error *err) {
    const RolloutSet *now = scene_now(scene);
    long label = named_count(scene->file);
    if (label < 1) label = 1; // 0 is the background
    for (size_t i = 0; now->labels && i < now->N; i++)
        if (now->labels[i] >= label) label = (long)now->labels[i] + 1;
    if (label + count > LABELS)
        return error_set(err, STATUS_BAD_INPUT, "cannot add %ld labels after label %ld: expected at most %d in all",
                         count, label - 1, LABELS - 1);
    *first = label;
    return STATUS_OK;
}

bool scene_label_named(const EditScene *scene, const char *name, long *out) {
    *out = find_name(scene->file, name, NULL);
    return *out >= 0;
}

Status edit_labels(const RolloutFile *file, EditLabel **out, size_t *found, Error *err) {
    const RolloutSet *now = &file->sets[0];
    const EditScene scene = {.file = (RolloutFile *)file}; // only read
    EditLabel *all = calloc(LABELS, sizeof *all);
    *found = 0;
    *out = all;
    if (!all) return scene_no_memory(err);
    for (size_t i = 0; now->labels && i < now->N; i++) {
        EditLabel *label = all + now->labels[i];
        *(rollout_is_hidden(now, i) ? &label->hidden : &label->particles) += 1;
        for (size_t c = 0; c < 3; c++) label->centre[c] += now->positions[3 * i + c];
    }
    const char *line = scene_names(&scene);
    for (int l = 0; l < LABELS; l++) {
        EditLabel label = all[l];
        const size_t count = label.particles + label.hidden;
        line = rollout_label_line(line, l, label.name, sizeof label.name);
        if (count == 0) continue;
        label.label = l;
        for (int c = 0; c < 3; c++) label.centre[c] /= (double)count;
        all[(*found)++] = label;
    }
    return STATUS_OK;
}
