// SPDX-License-Identifier: Apache-2.0
// What a data set is, in a few numbers and hashes: kept in a checkpoint, so that a resumed run goes on with the data it
// began with. Training and validation episodes count; where the files lie and what their pixels hold does not.
#ifndef VPD_FILES_DATA_RECORD_H
#define VPD_FILES_DATA_RECORD_H

#include "datasets/dataset.h"

#include <jansson.h>

enum { DATA_HASH_SIZE = 17 };

typedef struct DataRecord {
    long episodes, frames;        // episodes 0: nothing is recorded
    double time_step;             // seconds between the stored frames of the first episode that has several; else 0
    char names[DATA_HASH_SIZE];   // of the episodes, in order, with their splits
    char lengths[DATA_HASH_SIZE]; // frames of each
    char cameras[DATA_HASH_SIZE]; // views, image sizes, intrinsics, poses, which views are held out
    char times[DATA_HASH_SIZE];   // of every frame
    char headers[DATA_HASH_SIZE]; // all else that is known without reading images: depth's unit, box, masks, objects
} DataRecord;

void data_record_make(const Dataset *dataset, DataRecord *out);

// Says in `out` what differs ("the names of the episodes; 3 episodes then, 5 now"); returns how many things do.
int data_record_differences(const DataRecord *then, const DataRecord *now, char *out, size_t size);

json_t *data_record_to_json(const DataRecord *record);
// False when `object` is not such a record.
bool data_record_from_json(json_t *object, DataRecord *out);

#endif
