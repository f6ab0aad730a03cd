// SPDX-License-Identifier: Apache-2.0
// The motion in a data set's frames (motion/observe.h), measured when it is first needed and then kept in a file of the
// run. A resumed run starts without measuring again. So does a new run with the same options if the file is copied to
// its folder; of data that have changed, it measures the episodes that are new.
//
// The file: a table of episodes (train/motion_table.h), and for each a block of slots, one for each frame. A slot holds
// a MotionRecord and its arrays; a slot that was never written is zero, beyond the end, or has bytes of another record.
// What is kept of an episode depends on its own data, the model's options, the program's version and MOTION_VERSION.
// It does not depend on the other episodes or the device, and not on the commit, so that changes of the program that do
// not affect motion keep the file. A file of other options or another version is emptied. The log says so.
// Every record has a checksum. A damaged record is measured again.
// If a write fails, as on a full disk, training continues: a warning gives the reason, and nothing more is written.
#ifndef VPD_TRAIN_MOTION_CACHE_H
#define VPD_TRAIN_MOTION_CACHE_H

#include "base/log.h"
#include "model/vpd.h"
#include "train/motion_table.h"

// A frame's place in the data set.
typedef struct VideoFrame {
    int episode, frame, stride;
} VideoFrame;

// Start of a slot. It is followed by positions, colours, motion (points, 3) and gradients (points, 9) as f32, and the
// flags.
typedef struct MotionRecord {
    uint64_t checksum; // of the rest of the record, and its arrays
    uint64_t key;      // of the episode
    int32_t frame;
    uint32_t points, frames, none; // none: 0
    uint64_t flag_bytes;
    double light[3];
} MotionRecord;

// What the motion in an episode depends on, besides the model's options.
typedef struct MotionEpisode {
    uint64_t data; // hash of the data
    size_t pixels; // number of input pixels of a frame
    int frames;    // 0: nothing is kept of it
} MotionEpisode;

// Starts as {0}: then only the last record is kept.
typedef struct MotionCache {
    bool is_open; // whether there is a file
    bool is_full; // whether a write has failed
    int descriptor;
    char *path; // for messages; NULL: a file in memory
    const Log *log;
    MotionBlock *block; // (episodes)
    struct MotionBuffer {
        char *bytes;
        size_t capacity;
    } buffer;
    MotionSeen seen; // points into the buffer: what motion_cache_find_seen gave
} MotionCache;

// episode (count): all of the data set. `path` NULL: a file in memory, which ends with the process.
Status motion_cache_open(MotionCache *cache, const char *path, const Vpd *model, int count,
                         const MotionEpisode *episode, const Log *log, Error *err);
void motion_cache_close(MotionCache *cache); // accepts {0}

// The motion of a history whose last frame is `present`, in the tape's host memory. The model's device measures it, if
// the cache does not have it.
Status motion_cache_seen(MotionCache *cache, Tape *tape, const Vpd *model, const Observation *history,
                         VideoFrame present, MotionSeen *out, Error *err);

// The same for callers that read pixels only when needed: false if the motion is not in the cache. Valid until the next
// call for this cache.
bool motion_cache_find_seen(MotionCache *cache, VideoFrame present, const MotionSeen **out);
// Keeps what vpd_observe measured.
Status motion_cache_keep_seen(MotionCache *cache, VideoFrame present, const MotionSeen *seen, Error *err);

#endif
