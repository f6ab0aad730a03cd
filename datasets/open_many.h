// SPDX-License-Identifier: Apache-2.0
// Opens a data set of more files than are kept open: from its index, and the files that are new or changed.
#ifndef VPD_DATASETS_OPEN_MANY_H
#define VPD_DATASETS_OPEN_MANY_H

#include "datasets/dataset_private.h"

// Adds the episodes of all files that the data set lists.
Status open_many(Dataset *dataset, Error *err);

#endif
