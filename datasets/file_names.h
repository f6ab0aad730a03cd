// SPDX-License-Identifier: Apache-2.0
// The files of a data set that is a folder (its .h5 and .hdf5 files, by name) or a list: a text file with one path a
// line, relative to the list's folder; empty lines and lines that begin with # do not count.
#ifndef VPD_DATASETS_FILE_NAMES_H
#define VPD_DATASETS_FILE_NAMES_H

#include "datasets/dataset_private.h"

Status file_names_add(Dataset *dataset, const char *path, Error *err);
// Names the list and the line of a file that cannot be opened or read; changes nothing where there is no list.
Status file_names_explain(const Dataset *dataset, int file, Error *err);

#endif
