// SPDX-License-Identifier: Apache-2.0
// Whether a file of a data set is still the one that was opened.
#ifndef VPD_DATASETS_FILE_STAMP_H
#define VPD_DATASETS_FILE_STAMP_H

#include "datasets/dataset_private.h"

// Whether two stamps are of the same file with the same content. Mode, owner and links change the time of change alone,
// and some network file systems number a file anew; a file that replaces another changes both, or was made at another
// time. What is written into the same file looks like a new mode if size and time of modification are set back.
bool file_stamp_same(const FileStamp *a, const FileStamp *b);
Status file_stamp(const char *path, FileStamp *out, Error *err);
// An error if the file is not the one that had its stamp, or was changed since.
Status file_stamp_check(const DataFile *file, Error *err);
// The same of a file that is open, whatever has its name now.
Status file_stamp_check_open(const DataFile *file, int fd, Error *err);

#endif
