// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/file.h"
#include "datasets/h5_write.h"
#include "tests/fuzz/hostile_private.h"

#include <string.h>

// ---- what readers open

static HostileBase *current; // with changes, between begin and end

Status __real_h5_open_file(const char *path, H5Place *file, Error *err);
Status __real_h5_open_memory(const void *bytes, size_t size, const char *name, H5Place *file, Error *err);
Status __wrap_h5_open_file(const char *path, H5Place *file, Error *err);
Status __wrap_h5_open_memory(const void *bytes, size_t size, const char *name, H5Place *file, Error *err);

static Status open_current(const char *name, H5Place *file) {
    hsize_t bytes;
    h5_lock();
    if (H5Fget_filesize(current->file, &bytes) < 0) abort();
    *file = (H5Place){.id = H5Gopen2(current->file, "/", H5P_DEFAULT), .file_bytes = (size_t)bytes};
    h5_unlock();
    snprintf(file->text, sizeof file->text, "%s:", name);
    return STATUS_OK;
}

Status __wrap_h5_open_file(const char *path, H5Place *file, Error *err) {
    return current ? open_current(path, file) : __real_h5_open_file(path, file, err);
}

Status __wrap_h5_open_memory(const void *bytes, size_t size, const char *name, H5Place *file, Error *err) {
    return current ? open_current(name, file) : __real_h5_open_memory(bytes, size, name, file, err);
}

bool hostile_is_raw(const uint8_t *data, size_t size) {
    const char *only = getenv("VPD_FUZZ_LAYOUT");
    return only ? only[0] == 'r' : size > 4 && memcmp(data, "\x89HDF", 4) == 0;
}

// HDF5 loses memory on its own error paths; ours is still watched.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

// ---- the good file

static hid_t open_base(const HostileBase *base) {
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 14, 0);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    if (base->modern) H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110);
    H5Pset_file_image(access, base->image, base->bytes);
    hid_t file = H5Fopen(base->name, H5F_ACC_RDWR, access);
    H5Pclose(access);
    if (file < 0) abort();
    return file;
}

static void *take_image(hid_t file, size_t *bytes) {
    H5Fflush(file, H5F_SCOPE_GLOBAL);
    *bytes = (size_t)H5Fget_file_image(file, NULL, 0);
    void *image = malloc(*bytes);
    if (!image || H5Fget_file_image(file, image, *bytes) < 0) abort();
    return image;
}

static herr_t list_attribute(hid_t id, const char *name, const H5A_info_t *info, void *owner) {
    HostileBase *base = owner;
    (void)id, (void)info;
    if (base->attribute_count == ATTRIBUTES_MAX) abort();
    Attribute *attribute = &base->attributes[base->attribute_count++];
    attribute->owner = &base->objects[base->object_count - 1];
    snprintf(attribute->name, sizeof attribute->name, "%s", name);
    return 0;
}

static void list_array(Object *object, hid_t id) {
    hid_t space = H5Dget_space(id);
    object->type = H5Dget_type(id);
    object->rank = H5Sget_simple_extent_dims(space, object->dims, NULL);
    object->values = calloc(VALUES_MAX, sizeof *object->values);
    if (!object->values || object->rank < 0) abort();
    if (H5Sget_simple_extent_npoints(space) <= VALUES_MAX)
        H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, object->values);
    H5Sclose(space);
}

static herr_t list_object(hid_t root, const char *name, const H5O_info_t *info, void *owner) {
    HostileBase *base = owner;
    hid_t id = H5Oopen(root, name, H5P_DEFAULT);
    hsize_t next = 0;
    if (id < 0 || base->object_count == OBJECTS_MAX) abort();
    Object *object = &base->objects[base->object_count++];
    snprintf(object->path, sizeof object->path, "%s", name);
    if (info->type == H5O_TYPE_DATASET) list_array(object, id);
    H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, &next, list_attribute, base);
    H5Oclose(id);
    return 0;
}

static HostileBase *make_base(void *image, size_t bytes) {
    static int count;
    HostileBase *base = calloc(1, sizeof *base);
    if (!base) abort();
    snprintf(base->name, sizeof base->name, "hostile %d", count++);
    base->image = image;
    base->bytes = bytes;
    h5_lock();
    hid_t file = open_base(base);
    H5G_info_t info;
    if (H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, list_object, base, H5O_INFO_BASIC) < 0 || base->object_count < 2 ||
        H5Gget_info(file, &info) < 0)
        abort();
    base->modern = info.storage_type != H5G_STORAGE_TYPE_SYMBOL_TABLE;
    H5Fclose(file);
    h5_unlock();
    return base;
}

HostileBase *hostile_base_of_file(const char *path) {
    char *image;
    size_t bytes;
    if (file_read_all(path, IMAGE_MAX, &image, &bytes, NULL) != STATUS_OK) abort();
    return make_base(image, bytes);
}

static void write_item(const HostileFile *good, hid_t file, const HostileItem *item) {
    double *values = calloc(VALUES_MAX, sizeof *values);
    hsize_t count = 1, dims[4] = {0};
    for (int i = 0; i < item->rank; i++) count *= dims[i] = item->dims[i];
    for (size_t i = 0; i < count; i++) values[i] = good->sound_value(item->path, i);
    hid_t space = H5Screate_simple(item->rank, dims, NULL);
    hid_t array =
        H5Dcreate2(file, item->path, h5_kind_memory_type(item->kind), space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) abort();
    H5Dclose(array);
    H5Sclose(space);
    free(values);
}

HostileBase *hostile_base_of_items(const HostileFile *good) {
    size_t bytes;
    h5_lock();
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_core(access, 1 << 16, 0);
    hid_t file = H5Fcreate("hostile", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pclose(access);
    if (good->write_root) good->write_root(file);
    for (const HostileItem *item = good->items; item < good->items + good->item_count; item++) {
        if (item->kind) write_item(good, file, item);
        else h5_close_id(h5_create_group(file, item->path));
    }
    void *image = take_image(file, &bytes);
    H5Fclose(file);
    h5_unlock();
    return make_base(image, bytes);
}

// ---- its use

// The library's own garbage gathers in a file that is open for long.
static void renew(HostileBase *base) {
    if (base->uses++ % USES_MAX) return;
    if (base->file) H5Fclose(base->file);
    base->file = open_base(base);
}

void hostile_begin(HostileBase *base, const uint8_t *changes, size_t size) {
    h5_lock();
    renew(base);
    for (size_t i = 0; i < HOSTILE_CHANGES_MAX && HOSTILE_CHANGE * (i + 1) <= size; i++)
        hostile_change(base, changes + HOSTILE_CHANGE * i);
    base->open_count = H5Fget_obj_count(base->file, H5F_OBJ_ALL);
    h5_unlock();
    current = base;
}

void hostile_end(void) {
    HostileBase *base = current;
    current = NULL;
    h5_lock();
    CHECK(H5Fget_obj_count(base->file, H5F_OBJ_ALL) == base->open_count); // the reader has closed what it opened
    hostile_undo(base);
    h5_unlock();
}
