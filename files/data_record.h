// SPDX-License-Identifier: Apache-2.0
// Identifies a data set by a few numbers and hashes in a checkpoint, so that a resumed run uses the same data. It
// covers training and validation episodes, but not file paths or pixels.
#ifndef VPD_FILES_DATA_RECORD_H
#define VPD_FILES_DATA_RECORD_H

#include "datasets/dataset.h"

#include <jansson.h>

enum { DATA_HASH_SIZE = 17 };

typedef struct DataRecord {
    long episodes, frames;        // episodes 0: nothing was recorded
    double time_step;             // seconds between stored frames of the first episode with several; else 0
    char names[DATA_HASH_SIZE];   // of the episodes in order, with their splits
    char lengths[DATA_HASH_SIZE]; // numbers of frames
    char cameras[DATA_HASH_SIZE]; // views, image sizes, intrinsics, poses, which views are held out
    char times[DATA_HASH_SIZE];   // of every frame
    char headers[DATA_HASH_SIZE]; // everything else except images: depth unit, box, masks, objects
} DataRecord;

// Hash of all that the data say of an episode but its images: its name, and what the hashes above are of, without
// splits.
uint64_t data_record_hash_episode(const EpisodeInfo *info);

void data_record_make(const Dataset *dataset, DataRecord *out);
// The lines in which the processes of a job compare what they run: command, program, device and data.
void data_record_print_job(const DataRecord *record, const char *command, const char *device, FILE *out);

// Lists the differences in `out` ("the names of the episodes; 3 episodes then, 5 now") and returns their number.
int data_record_differences(const DataRecord *then, const DataRecord *now, char *out, size_t size);

json_t *data_record_to_json(const DataRecord *record);
// False if `object` is not such a record.
bool data_record_from_json(json_t *object, DataRecord *out);

#endif
