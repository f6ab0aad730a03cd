// SPDX-License-Identifier: Apache-2.0
// Shared by checkpoint*.c alone: named float arrays in host memory, and the parts of a checkpoint file. All data
// between Parameters (a padded block on a device) and HDF5 passes through HostArrays.
#ifndef VPD_FILES_CHECKPOINT_ARRAYS_H
#define VPD_FILES_CHECKPOINT_ARRAYS_H

#include "datasets/h5.h"
#include "files/checkpoint.h"

typedef struct HostArray {
    char name[H5_NAME_SIZE];
    H5Kind kind; // as stored: H5_F32 or H5_F16
    int rank;
    size_t dims[PARAMETER_MAX_RANK], size; // size: their product
    float *values;                         // (size), within HostArrays.values
} HostArray;

typedef struct HostArrays {
    HostArray *items; // in byte order of their names
    size_t count, size;
    float *values; // (size), NULL while only shapes are known
} HostArrays;

void host_arrays_free(HostArrays *arrays); // accepts {0}

// Copies a block of the set from its device. A value that is not finite is STATUS_FAILED. `name` is the file, for
// errors.
Status host_arrays_from_block(const Parameters *set, const real *block, const char *name, HostArrays *out, Error *err);
// Copies to malloc'ed memory laid out like the set's blocks, with padding 0. The arrays must have passed
// host_arrays_compare.
Status host_arrays_to_block(const HostArrays *arrays, const Parameters *set, real **block, Error *err);

// Rounds every value to f16 and marks the arrays as f16. A value beyond the range of f16 is an error.
Status host_arrays_to_half(HostArrays *arrays, Error *err);

// Allocates `values` after items and sizes are set.
Status host_arrays_allocate(HostArrays *arrays, Error *err);

// Compares names and shapes with the model's. One error lists all differences after `place` ("a.h5:/ema").
Status host_arrays_compare(const HostArrays *arrays, const Parameters *set, const char *place, Error *err);

uint64_t host_arrays_checksum(const HostArrays *arrays);

enum { CHECKSUM_TEXT_SIZE = 17, CHECKPOINT_GROUP_COUNT = 4 };
extern const char
    *const checkpoint_group_paths[CHECKPOINT_GROUP_COUNT]; // "parameters", "moments/m", "moments/v", "ema"
typedef enum CheckpointGroup { GROUP_PARAMETERS, GROUP_M, GROUP_V, GROUP_EMA } CheckpointGroup;

// The root's checksum. `checksums` are those of the groups, "" if a group is missing.
void checkpoint_root_checksum(const CheckpointMeta *meta, char checksums[CHECKPOINT_GROUP_COUNT][CHECKSUM_TEXT_SIZE],
                              const void *config, size_t config_size, char out[CHECKSUM_TEXT_SIZE]);
void checkpoint_run_checksum(const char *record, char out[CHECKSUM_TEXT_SIZE]);

// ---- the file (checkpoint_write.c, checkpoint_read.c)

// The arrays of each group; count 0 = no such group. publication, commit and version are taken from the meta.
Status checkpoint_write_file(const char *path, const CheckpointMeta *meta,
                             const HostArrays groups[CHECKPOINT_GROUP_COUNT], Error *err);

// Removes paths of the training machine (data.path, train.out, train.init, train.init_motion), which mean nothing
// elsewhere.
void checkpoint_clear_paths(Config *config);

// Writes the arrays as /ema alone, without those paths. Takes ownership of the arrays.
Status checkpoint_write_publication(const char *path, HostArrays *arrays, bool half, const CheckpointMeta *meta,
                                    Error *err);

// An open file with the contents of its root.
typedef struct CheckpointFile {
    H5Place root;
    CheckpointMeta meta;
    char checksums[CHECKPOINT_GROUP_COUNT][CHECKSUM_TEXT_SIZE]; // "" if a group is missing
} CheckpointFile;

Status checkpoint_file_open(const char *path, CheckpointFile *file, Error *err);
// Reads the rest of the root of an open file.
Status checkpoint_file_read_root(CheckpointFile *file, Error *err);
void checkpoint_file_close(CheckpointFile *file); // accepts {0}

// The group of these weights; an error if the file has no such group.
Status checkpoint_file_choose(const CheckpointFile *file, CheckpointWeights which, CheckpointGroup *group, Error *err);

// Reads a group and compares its checksum. If `set` is not NULL, names and shapes must match the model.
Status checkpoint_file_read(const CheckpointFile *file, CheckpointGroup group, const Parameters *set, HostArrays *out,
                            Error *err);

// checkpoint_load and checkpoint_resume for an open file. `blocks` NULL = the weights alone.
Status checkpoint_file_load(const CheckpointFile *file, Parameters *set, CheckpointWeights which,
                            const CheckpointBlocks *blocks, Error *err);

#endif
