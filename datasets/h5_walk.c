// SPDX-License-Identifier: Apache-2.0
#include "datasets/h5.h"

#include <string.h>

typedef struct Walk {
    const H5Place *place;
    const char *what;
    size_t count, count_max;
    H5Visit *visit;
    void *owner;
    Status status;
    Error *err;
} Walk;

static Status check_name(Walk *walk, const char *name) {
    size_t length = strnlen(name, H5_NAME_SIZE);
    if (++walk->count > walk->count_max)
        return error_set(walk->err, STATUS_BAD_INPUT, "%s: expected at most %zu %s, found more", walk->place->text,
                         walk->count_max, walk->what);
    if (length == 0 || length >= H5_NAME_SIZE)
        return error_set(walk->err, STATUS_BAD_INPUT,
                         "%s: expected names of 1 to %d bytes, found a longer or empty one", walk->place->text,
                         H5_NAME_SIZE - 1);
    return STATUS_OK;
}

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *owner) {
    (void)group;
    Walk *walk = owner;
    walk->status = check_name(walk, name);
    if (walk->status == STATUS_OK && info->type != H5L_TYPE_HARD)
        walk->status = error_set(walk->err, STATUS_BAD_INPUT,
                                 "%s/%s: expected an object of this file, found a soft or "
                                 "external link",
                                 walk->place->text, name);
    if (walk->status == STATUS_OK) walk->status = walk->visit(walk->owner, name, walk->err);
    return walk->status == STATUS_OK ? 0 : 1;
}

static herr_t visit_attribute(hid_t object, const char *name, const H5A_info_t *info, void *owner) {
    (void)object;
    (void)info;
    Walk *walk = owner;
    walk->status = check_name(walk, name);
    if (walk->status == STATUS_OK) walk->status = walk->visit(walk->owner, name, walk->err);
    return walk->status == STATUS_OK ? 0 : 1;
}

static Status walk_all(Walk *walk, bool links) {
    hsize_t next = 0;
    h5_lock();
    herr_t rc = links ? H5Literate(walk->place->id, H5_INDEX_NAME, H5_ITER_INC, &next, visit_link, walk)
                      : H5Aiterate2(walk->place->id, H5_INDEX_NAME, H5_ITER_INC, &next, visit_attribute, walk);
    h5_unlock();
    if (walk->status) return walk->status;
    if (rc < 0) return error_set(walk->err, STATUS_BAD_INPUT, "%s: the file is damaged here", walk->place->text);
    return STATUS_OK;
}

Status h5_each_child(const H5Place *group, size_t count_max, H5Visit *visit, void *owner, Error *err) {
    Walk walk = {.place = group, .what = "entries", .count_max = count_max, .visit = visit, .owner = owner, .err = err};
    return walk_all(&walk, true);
}

Status h5_each_attribute(const H5Place *group, size_t count_max, H5Visit *visit, void *owner, Error *err) {
    Walk walk = {
        .place = group, .what = "attributes", .count_max = count_max, .visit = visit, .owner = owner, .err = err};
    return walk_all(&walk, false);
}
