// SPDX-License-Identifier: Apache-2.0
// Shared by hostile_*.c alone.
#ifndef VPD_TESTS_FUZZ_HOSTILE_PRIVATE_H
#define VPD_TESTS_FUZZ_HOSTILE_PRIVATE_H

#include "tests/fuzz/hostile_h5.h"

enum {
    VALUES_MAX = 4096,
    OBJECTS_MAX = 128,
    ATTRIBUTES_MAX = 128,
    PATH_SIZE = 128,
    IMAGE_MAX = 1 << 20,
    USES_MAX = 1000
};

typedef struct Object {
    char path[PATH_SIZE]; // "." is the root
    hid_t type;           // 0: no array
    int rank;
    hsize_t dims[H5_RANK_MAX];
    double *values; // the first VALUES_MAX, 0 where they are no numbers
} Object;

typedef struct Attribute {
    const Object *owner;
    char name[H5_NAME_SIZE];
} Attribute;

// What a change took away.
typedef struct Undo {
    char path[PATH_SIZE + 256]; // of the link; "": an attribute
    hid_t object;               // 0: there was none; the attribute's owner
    char name[PATH_SIZE + 1];   // of the attribute; where a soft link led
    hid_t type, space;          // of the attribute; 0: there was none
    void *value;
} Undo;

struct HostileBase {
    char name[32]; // HDF5 takes open files of one name for one file
    void *image;
    size_t bytes;
    bool modern; // groups in the layout of HDF5 1.8 and later
    hid_t file;  // the image, open, and as it was but for `undos`
    int uses;
    ssize_t open_count; // of ids, before the reader
    Undo undos[HOSTILE_CHANGES_MAX];
    size_t undo_count;
    Object objects[OBJECTS_MAX];
    size_t object_count;
    Attribute attributes[ATTRIBUTES_MAX];
    size_t attribute_count;
};

typedef struct Change {
    HostileBase *base;
    const Object *object;
    hid_t file;
    uint8_t c, d, e;
} Change;

// One change, by five bytes.
void hostile_change(HostileBase *base, const uint8_t *bytes);

// Before a link or attribute is changed: so that hostile_undo can put it back.
void hostile_save_link(const Change *change, const char *path);
void hostile_save_attribute(const Change *change, hid_t object, const char *name);
void hostile_undo(HostileBase *base);

void hostile_remove_link(hid_t file, const char *path);
void hostile_put_attribute(hid_t object, const char *name, hid_t type, hid_t space, const void *value);

#endif
