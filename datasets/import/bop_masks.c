// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/bop_masks.h"

#include "base/json_fields.h"
#include "datasets/import/listing.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS_MAX = 512 }; // of an image, and kinds of a scene

// The objects of one obj_id: the largest number in an image; labels first, first + 1, ...
typedef struct Kind {
    long id;
    size_t most, first;
} Kind;

typedef struct Masks {
    char scene[FILE_PATH_SIZE], path[FILE_PATH_SIZE]; // of scene_gt.json
    json_t *root;
    Kind kinds[OBJECTS_MAX]; // by id
    size_t kind_count;
} Masks;

static long id_of(const json_t *object) { return (long)json_integer_value(json_object_get(object, "obj_id")); }

// How many of the list's objects before number `index` have the same obj_id.
static size_t place_of(const json_t *list, size_t index) {
    size_t before = 0;
    long id = id_of(json_array_get(list, index));
    for (size_t i = 0; i < index; i++) before += id_of(json_array_get(list, i)) == id;
    return before;
}

static Kind *find_kind(Masks *masks, long id) {
    for (size_t i = 0; i < masks->kind_count; i++) {
        if (masks->kinds[i].id == id) return &masks->kinds[i];
    }
    return NULL;
}

static int by_id(const void *a, const void *b) {
    long x = ((const Kind *)a)->id, y = ((const Kind *)b)->id;
    return (x > y) - (x < y);
}

static Status count_objects(Masks *masks, const char *key, const json_t *list, Error *err) {
    if (!json_is_array(list) || json_array_size(list) > OBJECTS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: image \"%.40s\": expected a list of at most %d objects",
                         masks->path, key, (int)OBJECTS_MAX);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        if (!json_is_integer(json_object_get(object, "obj_id")))
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: image \"%.40s\": expected a whole number \"obj_id\" of object "
                             "%zu, found none",
                             masks->path, key, i);
        size_t most = place_of(list, i) + 1;
        Kind *kind = find_kind(masks, id_of(object));
        if (!kind && masks->kind_count == OBJECTS_MAX)
            return error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d kinds of objects, found more", masks->path,
                             (int)OBJECTS_MAX);
        if (!kind) {
            kind = &masks->kinds[masks->kind_count++];
            *kind = (Kind){.id = id_of(object)};
        }
        if (kind->most < most) kind->most = most;
    }
    return STATUS_OK;
}

static Status number_labels(Masks *masks, Error *err) {
    const char *key;
    json_t *list;
    size_t next = 1;
    Status status = STATUS_OK;
    json_object_foreach(masks->root, key, list) {
        if (!status) status = count_objects(masks, key, list, err);
    }
    qsort(masks->kinds, masks->kind_count, sizeof *masks->kinds, by_id);
    for (size_t i = 0; i < masks->kind_count; i++) {
        masks->kinds[i].first = next;
        next += masks->kinds[i].most;
    }
    if (!status && next > UINT16_MAX)
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected at most %d objects, found %zu", masks->path,
                           (int)UINT16_MAX, next - 1);
    return status;
}

// ---- reading

static const json_t *objects_of(const Masks *masks, const PosedImage *image) {
    char key[32];
    snprintf(key, sizeof key, "%zu", image->number);
    return json_object_get(masks->root, key);
}

// Writes the label of one object into `out` where the object is visible.
static Status add_object(Masks *masks, const PosedImage *image, const json_t *list, size_t index, Image *out,
                         Error *err) {
    char name[96], path[FILE_PATH_SIZE];
    Image seen = {0};
    uint16_t label = (uint16_t)(find_kind(masks, id_of(json_array_get(list, index)))->first + place_of(list, index));
    snprintf(name, sizeof name, "mask_visib/%06zu_%06zu.png", image->number, index);
    Status status = file_resolve_beneath(path, masks->scene, name, err);
    if (!status) status = image_read_labels(path, &seen, err);
    if (!status && (seen.channels != 1 || seen.type != PIXEL_U8 || seen.H != out->H || seen.W != out->W))
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: expected a mask of one channel, 8 bit, %d x %d, found %d "
                           "channels, %d x %d",
                           path, out->W, out->H, seen.channels, seen.W, seen.H);
    for (size_t i = 0; !status && i < (size_t)out->H * (size_t)out->W; i++) {
        if (((uint8_t *)seen.pixels)[i]) ((uint16_t *)out->pixels)[i] = label;
    }
    image_free(&seen);
    return status;
}

// Called from several threads: `owner` is only read.
static Status read_mask(const PosedSet *set, const PosedImage *image, Image *out, Error *err) {
    Masks *masks = set->owner;
    const json_t *list = objects_of(masks, image);
    int H, W;
    Status status = image_read_size(image->colour, &H, &W, err);
    if (!status) status = image_create(H, W, 1, PIXEL_U16, out, err);
    for (size_t i = 0; !status && i < json_array_size(list); i++) status = add_object(masks, image, list, i, out, err);
    return status;
}

static void close_masks(void *owner) {
    json_decref(((Masks *)owner)->root);
    free(owner);
}

Status bop_masks_open(const char *scene, PosedSet *set, Error *err) {
    if (!has_file(scene, "scene_gt.json") || !has_folder(scene, "mask_visib")) return STATUS_OK;
    Masks *masks = calloc(1, sizeof *masks);
    if (!masks) return error_set(err, STATUS_FAILED, "%s: no memory for its masks", scene);
    set->owner = masks;
    set->close = close_masks;
    set->read_mask = read_mask;
    Status status = file_join(masks->scene, sizeof masks->scene, "", scene, err);
    if (!status) status = file_join(masks->path, sizeof masks->path, scene, "scene_gt.json", err);
    if (!status) status = json_read_file(masks->path, JSON_FILE_MAX, &masks->root, err);
    return status ? status : number_labels(masks, err);
}

Status bop_masks_take(const PosedSet *set, PosedImage *image, Error *err) {
    const Masks *masks = set->owner;
    if (!masks) return STATUS_OK;
    if (!objects_of(masks, image))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected the objects of image \"%zu\", found none; without mask_visib/ the scene is "
                         "imported without masks",
                         masks->path, image->number);
    image->mask = strdup(masks->scene);
    return image->mask ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: no memory", masks->path);
}
