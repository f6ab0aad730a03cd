// SPDX-License-Identifier: Apache-2.0
// Training of the bodies' network in batches of windows (docs/training.md, "Windows"): a window is a frame of a video
// with its moving bodies and what stands around them, and where the bodies are in the frames after. Windows come from
// motion fields (train/tracks.h), not from pictures.
#ifndef VPD_TRAIN_WINDOWS_H
#define VPD_TRAIN_WINDOWS_H

#include "train/loss.h"
#include "train/tracks.h"
#include "train/train_data.h"

// A window of a batch.
typedef struct DrawnWindow {
    size_t index;   // in the tracks
    double turn[9]; // augmentation: orthogonal, applied to positions
    double push[3]; // augmentation: metres per time step that all its bodies are faster, before the turn
} DrawnWindow;

// Starts as {0}. Memory of a batch is kept.
typedef struct Windows {
    Tracks tracks;
    BodyScales scales;
    uint32_t *order; // (windows of the tracks) those that are followed longest come first
    size_t *with;    // (longest + 1) number of windows that are followed for so many steps at least
    int episodes;    // from which they were made
    // ---- a batch
    BodySet set;
    BodyInputs inputs;
    size_t total;       // windows of the batch, those of other ranks too
    TapeWatch *watch;   // of the last backward pass of a batch, or NULL
    DrawnWindow *drawn; // (set.windows)
    size_t *source;     // (set.bodies) number in the tracks
    RigidMotion *motion;
    bool *driven;       // (set.bodies) moves as the video says, as long as that is known
    RigidMotion *drive; // (set.bodies) how, in the next step
    size_t drawn_room, body_room;
} Windows;

void windows_free(Windows *windows); // accepts {0}

// What windows are made from.
typedef struct WindowSource {
    const TrainData *data;
    int threads;
    const Vpd *model;
    MotionCache *cache;
    const Log *log;
    size_t enough; // stop at so many windows of the longest rollout; SIZE_MAX: all episodes
} WindowSource;

// Follows the bodies of every training episode; motion fields that are not in the cache are measured. An error if no
// window is followed as long as the longest rollout.
Status windows_make(Windows *windows, const WindowSource *source, Error *err);
// Measures the motion fields that are not in the cache: each rank its part of the episodes. Waits for all ranks, which
// then find the fields in the file that they share.
Status windows_measure(const WindowSource *source, Error *err);
// The order by which windows are drawn, after the tracks were filled.
Status windows_sort(Windows *windows, Error *err);

// Draws the batch of an optimiser step: this rank's part of train.windows windows that are followed for `rollout` steps
// or more, turned at random about train.turn.
Status windows_draw(Windows *windows, const TrainConfig *train, const Ranks *ranks, int threads, long step,
                    long rollout, Error *err);
// push (3): metres per time step that all bodies of a window in free flight are to be faster, in half of the cases, so
// that its first body has a random velocity, more often a slow one: bodies that touch nothing fall as they do, however
// fast they are. 0 where a sphere around a body would come near a surface on the way, with either velocity, or where a
// body is slow.
void windows_push(const Windows *windows, size_t window, long rollout, Random4 random, double push[3]);
// Fills the batch from `drawn` (count).
Status windows_fill(Windows *windows, size_t count, int threads, Error *err);
// Adds the gradients of the batch's loss, whose value is added to *parts. Each step of the rollout has a loss of its
// own: no gradient goes through the steps before. Moves the batch along.
Status windows_learn(Windows *windows, Tape *tape, const Vpd *model, long rollout, LossParts *parts, Error *err);

#endif
