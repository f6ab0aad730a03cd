// SPDX-License-Identifier: Apache-2.0
// Where the file of train/motion_cache.h has the motion of each episode: in a block of equal slots, one for each frame.
//
// The file has a header of one page, a table of the episodes' keys and blocks, and the blocks. A block is found by its
// episode's key alone, and never moves. So episodes keep their blocks whatever else is in the data set, and in whatever
// order. Nothing is written while all episodes have blocks. Otherwise the others get blocks too: where episodes lay
// that are no longer in the data set, or at the end. Then a new table is written behind what is in use, and after it
// the header that names it, so that a process that is killed leaves the old table or the new one.
#ifndef VPD_TRAIN_MOTION_TABLE_H
#define VPD_TRAIN_MOTION_TABLE_H

#include "base/error.h"
#include "base/log.h"

#include <stddef.h>
#include <stdint.h>

typedef struct MotionBlock {
    uint64_t key; // hash of all that the motion of the episode and the size of its block depend on
    uint64_t at;  // in the file; 0: no block
    size_t slot;  // bytes, a multiple of 64
    int frames;   // 0: the episode needs no block
} MotionBlock;

typedef struct MotionTable {
    int file;         // open for reading and writing
    const char *name; // for messages
    const Log *log;
    uint64_t options; // hash of the program's version and of the options on which all motion depends
    double extent;    // one of them, metres: to tell whether it is another
    size_t count;
    MotionBlock *block; // (count) of the data set's episodes
} MotionTable;

// Gives each episode its block. A file of other options is emptied; the log says so, and of how many episodes motion is
// kept. *write_error: errno of a failed write, after which the file has its old table, or none; else 0.
Status motion_table_open(const MotionTable *table, int *write_error, Error *err);

#endif
