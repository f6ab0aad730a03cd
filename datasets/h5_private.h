// SPDX-License-Identifier: Apache-2.0
// Shared by the h5*.c files and datasets/read_many.c alone.
#ifndef VPD_DATASETS_H5_PRIVATE_H
#define VPD_DATASETS_H5_PRIVATE_H

#include "datasets/h5.h"

// A child object of the given type: its id; 0 when absent and not required; negative with `err` set. Fills `text`
// (H5_PLACE_SIZE). The lock is held by the caller.
hid_t h5_open_child(const H5Place *parent, const char *name, bool required, H5I_type_t type, char *text, Error *err);

// "u8 or u16".
void h5_kinds_text(unsigned kinds, char *out, size_t size);

// Opens the file again in a child process and reads all of it there. STATUS_BAD_INPUT when the HDF5 library crashes on
// it. The lock is held by the caller; `open_again` runs in the child and gives the file's id.
Status h5_probe(const char *name, size_t file_bytes, hid_t (*open_again)(const void *), const void *owner, Error *err);

// ---- a child process that reads many files itself

// After fork, in the child, while the parent holds the lock: it is free here.
void h5_lock_forked(void);
// No handler of the parent runs in the child, and nothing is printed.
void h5_become_child(void);
// As h5_open_file, but reads through the file here, in limited processor time: a damaged one ends the process.
Status h5_open_file_here(const char *path, H5Place *file, Error *err);
void h5_walk_here(hid_t file, size_t file_bytes);
// The error for a file on which a child ended with this state of waitpid.
Status h5_crash_error(const char *name, int state, Error *err);

#endif
