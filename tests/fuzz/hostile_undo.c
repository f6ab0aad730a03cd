// SPDX-License-Identifier: Apache-2.0
// What a change takes away is kept, and put back.
#include "tests/fuzz/hostile_private.h"

#include <string.h>

void hostile_save_link(const Change *change, const char *path) {
    H5L_info_t info;
    Undo *undo = &change->base->undos[change->base->undo_count++];
    *undo = (Undo){.object = 0};
    snprintf(undo->path, sizeof undo->path, "%s", path);
    if (H5Lexists(change->file, path, H5P_DEFAULT) <= 0 || H5Lget_info(change->file, path, &info, H5P_DEFAULT) < 0)
        return;
    if (info.type == H5L_TYPE_HARD) undo->object = H5Oopen(change->file, path, H5P_DEFAULT);
    if (info.type == H5L_TYPE_SOFT) H5Lget_val(change->file, path, undo->name, sizeof undo->name, H5P_DEFAULT);
}

void hostile_remove_link(hid_t file, const char *path) {
    if (H5Lexists(file, path, H5P_DEFAULT) > 0) H5Ldelete(file, path, H5P_DEFAULT);
}

void hostile_save_attribute(const Change *change, hid_t object, const char *name) {
    Undo *undo = &change->base->undos[change->base->undo_count++];
    *undo = (Undo){.object = object};
    snprintf(undo->name, sizeof undo->name, "%s", name);
    if (H5Aexists(object, name) <= 0) return;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    undo->type = H5Aget_type(attribute);
    undo->space = H5Aget_space(attribute);
    hssize_t count = H5Sget_simple_extent_npoints(undo->space);
    undo->value = count > 0 ? calloc((size_t)count, H5Tget_size(undo->type)) : NULL;
    if (undo->value && H5Aread(attribute, undo->type, undo->value) < 0) free(undo->value), undo->value = NULL;
    H5Aclose(attribute);
}

void hostile_put_attribute(hid_t object, const char *name, hid_t type, hid_t space, const void *value) {
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute >= 0 && value) H5Awrite(attribute, type, value);
    if (attribute >= 0) H5Aclose(attribute);
}

static void undo_attribute(Undo *undo) {
    if (H5Aexists(undo->object, undo->name) > 0) H5Adelete(undo->object, undo->name);
    if (!undo->type) return;
    hostile_put_attribute(undo->object, undo->name, undo->type, undo->space, undo->value);
    if (undo->value) H5Dvlen_reclaim(undo->type, undo->space, H5P_DEFAULT, undo->value);
    free(undo->value);
    H5Tclose(undo->type);
    H5Sclose(undo->space);
}

// False when HDF5 does not put the object back, as happens once in some 10^5 runs: the file is then opened anew.
static bool undo_link(hid_t file, Undo *undo) {
    hostile_remove_link(file, undo->path);
    if (undo->name[0]) H5Lcreate_soft(undo->name, file, undo->path, H5P_DEFAULT, H5P_DEFAULT);
    return undo->object <= 0 || H5Olink(undo->object, file, undo->path, H5P_DEFAULT, H5P_DEFAULT) >= 0;
}

static void undo_one(HostileBase *base, Undo *undo) {
    if (!undo->path[0]) undo_attribute(undo);
    else if (!undo_link(base->file, undo)) base->uses = 0;
    if (undo->object > 0) H5Oclose(undo->object);
}

void hostile_undo(HostileBase *base) {
    while (base->undo_count) undo_one(base, &base->undos[--base->undo_count]);
}
