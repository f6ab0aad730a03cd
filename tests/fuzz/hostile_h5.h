// SPDX-License-Identifier: Apache-2.0
// Hostile contents in sound HDF5, which flipped bits rarely reach: bytes say which object or attribute of a good file
// is removed or replaced, and by what type, shape, layout, value, link or kind of object. Five bytes a change:
//   which object or attribute, what happens, and three numbers for it
// HDF5 itself makes these changes, in a file in memory that stays open and is put right again afterwards. The linker
// (--wrap) has h5_open_file and h5_open_memory give that file: no child process looks at it first (datasets/h5_probe.c;
// a fork costs 20 ms under ASan), as it has nothing to find there.
#ifndef VPD_TESTS_FUZZ_HOSTILE_H5_H
#define VPD_TESTS_FUZZ_HOSTILE_H5_H

#include "datasets/h5.h"
#include "tests/fuzz/fuzz.h"

enum { HOSTILE_CHANGE = 5, HOSTILE_CHANGES_MAX = 4 };

// To write a good file of a stranger's layout.
typedef struct HostileItem {
    const char *path;
    H5Kind kind; // 0: a group
    int rank;
    size_t dims[4];
} HostileItem;

typedef struct HostileFile {
    const HostileItem *items; // groups stand before what is in them
    size_t item_count;
    double (*sound_value)(const char *path, size_t i); // of element i
    void (*write_root)(hid_t file);                    // attributes; NULL: none
} HostileFile;

// A good file with the list of what is in it. Kept until the process ends; it must open (else abort).
typedef struct HostileBase HostileBase;
HostileBase *hostile_base_of_file(const char *path);
HostileBase *hostile_base_of_items(const HostileFile *file);

// From begin to end whatever readers open is this file with these changes; `size` below HOSTILE_CHANGE leaves it as it
// is.
void hostile_begin(HostileBase *base, const uint8_t *changes, size_t size);
void hostile_end(void);

// Whether the input is a file as it is; else it is a list of changes. VPD_FUZZ_LAYOUT=c takes every input as changes,
// r as a file; without it those are files that begin like HDF5.
bool hostile_is_raw(const uint8_t *data, size_t size);

#endif
