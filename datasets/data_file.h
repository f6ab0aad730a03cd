// SPDX-License-Identifier: Apache-2.0
// One HDF5 file of a data set, and the empty data set that files are added to.
#ifndef VPD_DATASETS_DATA_FILE_H
#define VPD_DATASETS_DATA_FILE_H

#include "datasets/dataset_private.h"

// Without files; NULL without memory. dataset_close frees it.
Dataset *dataset_create(const char *path);
Status dataset_no_memory(const char *path, Error *err);

// The one file of an empty data set.
Status dataset_add_file(Dataset *dataset, const char *path, Error *err);

// Checks and adds everything but the pixels of file `index`, which is open.
Status dataset_read_file(Dataset *dataset, int index, Error *err);
// An error if the file says something else than the data set about pixels without depth.
Status dataset_same_missing_depth(const Dataset *dataset, const DataFile *file, Error *err);

#endif
