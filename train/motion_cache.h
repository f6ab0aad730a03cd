// SPDX-License-Identifier: Apache-2.0
// The motion in a data set's frames (motion/observe.h), measured when it is first needed and then kept in a file of the
// run. A resumed run starts without measuring again, and so does a new run with the same data and options if the file
// is copied to its folder.
//
// The file: a header of one page, then slots of fixed size, one for each frame of each episode. A slot holds a
// MotionRecord and its arrays; a slot that was never written is zero or beyond the end.
// Every record has a checksum. A damaged record is measured again. A file of other data, options or version is emptied.
// The log says so. The version is the program's and MOTION_VERSION, not the commit, so that changes of the program that
// do not affect motion keep the file. The device does not matter either.
// If a write fails, as on a full disk, training continues: a warning gives the reason, and caching ends.
#ifndef VPD_TRAIN_MOTION_CACHE_H
#define VPD_TRAIN_MOTION_CACHE_H

#include "base/log.h"
#include "model/vpd.h"

// A frame's place in the data set.
typedef struct VideoFrame {
    int episode, frame, stride;
} VideoFrame;

// Start of a slot. It is followed by positions, colours, motion (points, 3) and gradients (points, 9) as f32, and the
// flags.
typedef struct MotionRecord {
    uint64_t checksum; // of the rest of the record, its arrays, and the cache's key
    int32_t episode, frame;
    uint32_t points, frames;
    uint64_t flag_bytes;
    double light[3];
} MotionRecord;

// What the motion in a data set depends on, besides the model's options.
typedef struct MotionSource {
    int episodes;
    const int *frames; // (episodes)
    size_t pixels;     // largest number of input pixels of a frame
    uint64_t data;     // hash of the data set
} MotionSource;

// Starts as {0}: then only the last record is kept.
typedef struct MotionCache {
    bool is_open; // whether there is a file
    int descriptor;
    char *path;   // for messages; NULL: a file in memory
    uint64_t key; // hash of everything that the motion depends on
    const Log *log;
    size_t *first_row; // (episodes + 1) number of rows before each episode
    int episodes;
    size_t slot; // bytes
    struct MotionBuffer {
        char *bytes;
        size_t capacity;
    } buffer;
    MotionSeen seen; // points into the buffer: what motion_cache_find_seen gave
} MotionCache;

// `path` NULL: a file in memory, which ends with the process.
Status motion_cache_open(MotionCache *cache, const char *path, const Vpd *model, const MotionSource *source,
                         const Log *log, Error *err);
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
