// SPDX-License-Identifier: Apache-2.0
// Reads what an index keeps of many files, in several child processes at a time: HDF5 reads one file at a time in a
// process, and crashes on some damaged ones. A file that kills its child is refused, as h5_open_file does.
#ifndef VPD_DATASETS_READ_MANY_H
#define VPD_DATASETS_READ_MANY_H

#include "datasets/record.h"

// Appends the records of the listed files of the data set, in any order. After an error it is that of the first file
// in the list that has one.
Status read_many(const Dataset *dataset, const int *files, int count, Bytes *out, Error *err);

#endif
