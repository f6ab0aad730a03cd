// SPDX-License-Identifier: Apache-2.0
// Edits that remove, copy, recolour or label particles.
#include "edit/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

Status edit_leave(EditScene *scene, const Mask *mask, bool keep, Error *err) {
    size_t N = scene_now(scene)->N;
    Mask *rest = malloc(N + 1);
    if (!rest) return scene_no_memory(err);
    for (size_t i = 0; i < N; i++) rest[i] = keep ? mask[i] : !mask[i];
    Status status = mask_count(rest, N) > 0
                        ? scene_keep(scene, rest, err)
                        : error_set(err, STATUS_BAD_INPUT, "no particle would be left; a file needs at least one");
    free(rest);
    return status;
}

// Numbers the labels of the selected particles from 1, in rank[LABELS]. Returns how many there are.
static long rank_labels(const RolloutSet *now, const Mask *mask, uint16_t *rank) {
    long count = 0;
    for (size_t i = 0; i < now->N; i++)
        if (mask[i]) rank[now->labels[i]] = 1;
    for (long l = 0; l < LABELS; l++)
        if (rank[l]) rank[l] = (uint16_t)++count;
    return count;
}

// Names of the labels of all copies, `kinds` per copy: "crate", "crate 2", or "object 0 copy".
static EditName *copy_names(const EditScene *scene, const Edit *edit, const uint16_t *rank, long kinds) {
    EditName *names = calloc((size_t)(edit->count * kinds), sizeof *names);
    const char *line = scene_names(scene);
    for (long l = 0; names && l < LABELS; l++) {
        EditName name;
        line = rollout_label_line(line, l, name, sizeof name);
        if (!rank[l]) continue;
        for (long n = 0; n < edit->count; n++) {
            char *out = names[n * kinds + rank[l] - 1], number[24] = "";
            if (n > 0) snprintf(number, sizeof number, " %ld", n + 1);
            const char *base = *edit->as ? edit->as : name;
            snprintf(out, EDIT_NAME_SIZE, "%.*s%s%s", EDIT_NAME_SIZE - 32, base, *edit->as ? "" : " copy", number);
        }
    }
    return names;
}

// Labels the copies from `first` on, `kinds` labels per copy.
static void label_copies(RolloutSet *now, const Edit *edit, size_t N, size_t more, const uint16_t *rank, long first,
                         long kinds) {
    for (size_t i = N; i < now->N; i++) {
        long n = (long)((i - N) / more), kind = *edit->as ? 0 : rank[now->labels[i]] - 1;
        now->labels[i] = (uint16_t)(first + n * kinds + kind);
    }
}

Status edit_copy(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    RolloutSet *now = scene_now(scene);
    size_t N = now->N, more = mask_count(mask, N);
    uint16_t *rank = calloc(LABELS, sizeof *rank);
    EditName *names = NULL;
    long first = 0, kinds = 1;
    Status status = rank ? scene_need_labels(scene, err) : scene_no_memory(err);
    if (status == STATUS_OK) {
        if (*edit->as) rank[0] = 1; // one label per copy
        else kinds = rank_labels(now, mask, rank);
        status = scene_new_labels(scene, kinds * edit->count, &first, err);
    }
    if (status == STATUS_OK && !(names = copy_names(scene, edit, rank, kinds))) status = scene_no_memory(err);
    if (status == STATUS_OK) status = scene_append(scene, mask, (size_t)edit->count, err);
    if (status == STATUS_OK) {
        scene_shift_copies(scene, N, more, edit->by);
        label_copies(now, edit, N, more, rank, first, kinds);
        status = scene_number_copies(scene, N, more, edit->by, err);
    }
    if (status == STATUS_OK)
        status = scene_name_labels(scene, first, kinds * edit->count, (const EditName *)names, err);
    free(names);
    free(rank);
    return status;
}

Status edit_recolour(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    size_t N = scene_now(scene)->N;
    Mask *source = malloc(N + 1);
    Status status = source ? select_evaluate(scene, edit->like, source, err) : scene_no_memory(err);
    if (status == STATUS_OK) status = scene_need_selected(scene, source, "like: ", err);
    if (status == STATUS_OK) status = scene_recolour(scene, mask, source, err);
    free(source);
    return status;
}

Status edit_label(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    RolloutSet *now = scene_now(scene);
    long label = edit->id;
    EditName name;
    memcpy(name, edit->as, sizeof name);
    Status status = scene_need_labels(scene, err);
    if (status == STATUS_OK && !edit->has_id && !scene_label_named(scene, edit->as, &label))
        status = scene_new_labels(scene, 1, &label, err);
    if (status == STATUS_OK) status = scene_name_labels(scene, label, 1, (const EditName *)&name, err);
    for (size_t i = 0; status == STATUS_OK && i < now->N; i++)
        if (mask[i]) now->labels[i] = (uint16_t)label;
    return status;
}

// Labels all selected particles anew: 0 for the floor and small clusters, 1 for the largest cluster, ..
Status edit_cluster(EditScene *scene, const Edit *edit, const Mask *mask, Error *err) {
    RolloutSet *now = scene_now(scene);
    uint32_t *cluster = NULL, count = 0;
    long first = 0;
    Status status = scene_clusters(scene, &edit->cluster, mask, &cluster, &count, err);
    if (status == STATUS_OK && count == 0)
        status = error_set(err, STATUS_BAD_INPUT, "no cluster of %ld particles or more was found", edit->cluster.least);
    if (status == STATUS_OK) status = scene_need_labels(scene, err);
    for (size_t i = 0; status == STATUS_OK && i < now->N; i++)
        if (mask[i]) now->labels[i] = 0;
    if (status == STATUS_OK && mask_count(mask, now->N) == now->N) { // no old label is left
        free(scene->file->label_names);
        scene->file->label_names = NULL;
    }
    if (status == STATUS_OK) status = scene_new_labels(scene, (long)count, &first, err);
    EditName *names = status == STATUS_OK ? calloc(count, sizeof *names) : NULL;
    if (status == STATUS_OK && !names) status = scene_no_memory(err);
    for (uint32_t n = 0; names && n < count; n++) snprintf(names[n], sizeof *names, "cluster %u", n + 1);
    if (status == STATUS_OK) status = scene_name_labels(scene, first, (long)count, (const EditName *)names, err);
    for (size_t i = 0; status == STATUS_OK && i < now->N; i++)
        if (mask[i] && cluster[i]) now->labels[i] = (uint16_t)(first + cluster[i] - 1);
    if (status == STATUS_OK && scene->log)
        log_note(scene->log, "cluster: %u cluster%s found", count, count == 1 ? "" : "s");
    free(names);
    free(cluster);
    return status;
}
