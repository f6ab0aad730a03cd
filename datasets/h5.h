// SPDX-License-Identifier: Apache-2.0
// Guarded access to HDF5 files, for data sets, checkpoints and rollouts: everything in a file is checked before use.
// Hard links only; layout compact, contiguous or chunked, never virtual or external; filters shuffle, deflate and
// fletcher32 only, never a plug-in; types, signs, ranks and dimensions exact; declared bytes against stored bytes. HDF5
// has process-wide state, so one process-wide lock guards every call into it (the one exception to "no globals"): hold
// h5_lock around every H5* call of your own. The functions here take it themselves; it is recursive.
#ifndef VPD_DATASETS_H5_H
#define VPD_DATASETS_H5_H

#include "base/error.h"

#define H5_USE_110_API // names of the functions that later libraries keep
#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { H5_RANK_MAX = 8, H5_PLACE_SIZE = 512, H5_NAME_SIZE = 96 };

// While held, HDF5 prints nothing; h5_cause gives its own words for the last failure on this thread.
void h5_lock(void);
void h5_unlock(void);
void h5_cause(char *out, size_t size);

// An open file or group, with its place for messages: "a.h5:/episodes/000003".
typedef struct H5Place {
    hid_t id; // H5I_INVALID_HID (or 0) when closed
    size_t file_bytes;
    char text[H5_PLACE_SIZE];
} H5Place;

// The separator between a place and the message: a root's place, "a.h5:", already ends in a colon.
static inline const char *h5_colon(const char *text) {
    size_t length = strlen(text);
    return length > 0 && text[length - 1] == ':' ? "" : ":";
}

// HDF5 crashes on some damaged files, so a child process (fork) reads through the file first.
Status h5_open_file(const char *path, H5Place *file, Error *err);
// Without the child process, for a file that has passed it.
Status h5_open_file_again(const char *path, H5Place *file, Error *err);
// A file that lies in memory; `bytes` must stay until it is closed. Also read by a child process first.
Status h5_open_memory(const void *bytes, size_t size, const char *name, H5Place *file, Error *err);
void h5_close(H5Place *place); // accepts {0}

// Child by one plain name. When it is absent: `required` makes that an error, else *found (may be NULL) says so.
Status h5_open_group(const H5Place *parent, const char *name, bool required, H5Place *group, bool *found, Error *err);

// Calls `visit` for the name of every link, in the order of names. Anything but a hard link is an error, and so is a
// name that is too long.
typedef Status H5Visit(void *owner, const char *name, Error *err);
Status h5_each_child(const H5Place *group, size_t count_max, H5Visit *visit, void *owner, Error *err);
Status h5_each_attribute(const H5Place *group, size_t count_max, H5Visit *visit, void *owner, Error *err);

// Exact types. The masks below say which of them are allowed.
typedef enum H5Kind {
    H5_U8 = 1,
    H5_U16 = 2,
    H5_U32 = 4,
    H5_U64 = 8,
    H5_I8 = 16,
    H5_I16 = 32,
    H5_I32 = 64,
    H5_I64 = 128,
    H5_F16 = 256,
    H5_F32 = 512,
    H5_F64 = 1024,
    H5_REALS = H5_F32 | H5_F64,
    H5_INTEGERS = H5_U8 | H5_U16 | H5_U32 | H5_U64 | H5_I8 | H5_I16 | H5_I32 | H5_I64
} H5Kind;

size_t h5_kind_bytes(H5Kind kind);
const char *h5_kind_name(H5Kind kind);
hid_t h5_kind_memory_type(H5Kind kind); // native byte order; not to be closed
H5Kind h5_kind_of(hid_t type);          // 0 when it is none of them

// What an array must be. A dimension of 0 is any from 1 to dims_max.
typedef struct H5Expect {
    unsigned kinds;
    int rank;
    hsize_t dims[H5_RANK_MAX];
    hsize_t dims_max;    // 0 counts as 2^31 - 1
    size_t bytes_max;    // declared bytes of the whole; 0 = whatever storage allows
    const char *letters; // "F,V,H,W" for messages
    const char *remedy;  // what to do about another shape, for messages; NULL: nothing
} H5Expect;

typedef struct H5Array {
    hid_t id;
    H5Kind kind;
    bool native_order; // stored in this machine's byte order
    int rank;
    hsize_t dims[H5_RANK_MAX];
    size_t bytes;              // declared
    bool chunked, plain_edges; // plain_edges: chunks that reach beyond the end went through no filter
    hsize_t chunk[H5_RANK_MAX];
    int filter_count;
    H5Z_filter_t filters[8]; // in the order of writing
    struct H5Look *look;     // what h5_chunk.c knows of the chunks; NULL: nothing yet
    char text[H5_PLACE_SIZE];
} H5Array;

Status h5_open_array(const H5Place *parent, const char *name, bool required, const H5Expect *expect, H5Array *out,
                     bool *found, Error *err);
void h5_array_close(H5Array *array); // accepts {0}

// The whole array as `kind` in native order; `out` has room for its elements.
Status h5_array_read(H5Array *array, H5Kind kind, void *out, Error *err);
// `count` elements from `start` on in each dimension.
Status h5_array_read_block(H5Array *array, const hsize_t *start, const hsize_t *count, H5Kind kind, void *out,
                           Error *err);

// Attributes. Absent: as h5_open_group. Text: fixed or variable length, trailing padding cut; longer than `size` is an
// error.
Status h5_attribute_text(const H5Place *place, const char *name, bool required, char *out, size_t size, bool *found,
                         Error *err);
// The root's attribute format must be `wanted`, or `also` (may be NULL); else the error says what kind of file it is.
Status h5_check_format(const H5Place *file, const char *wanted, const char *also, Error *err);
// The root's attribute format of the file at `path`; "" when it has none, and after an error.
Status h5_read_format(const char *path, char *out, size_t size, Error *err);
// Scalars or lists of numbers, of any integer (`integers` true) or also floating type, as double; at most `capacity`.
Status h5_attribute_numbers(hid_t object, const char *text, const char *name, bool required, bool integers, double *out,
                            int capacity, int *count, Error *err);
// Whether an attribute holds one number (used to pick the scalars out of properties/*).
bool h5_attribute_is_scalar_number(const H5Place *place, const char *name);

#endif
