// SPDX-License-Identifier: Apache-2.0
// The true poses of an episode's objects, as labels for tracks (train.labels=states): which object a body seen in the
// video is, and where that goes.
#ifndef VPD_TRAIN_POSES_H
#define VPD_TRAIN_POSES_H

#include "datasets/dataset.h"
#include "nn/real.h"

enum { POSES_TEXT = 400 };

// Frames first, first + stride, .. of an episode, numbered from 0, and what was asked of them.
typedef struct Poses {
    const EpisodeInfo *episode; // with object_position
    int first, stride;
    double tolerance;        // metres
    int known, strange;      // bodies that were objects, and those that were none
    int frame, body;         // the first of the latter
    double place[3], way[3]; // its middle and motion, metres
    int objects, plain;      // that were seen to move, and of these those whose turning was not; after poses_close
    double (*error)[2];      // (objects) metres, summed: of an object that does not turn, and of one that does
} Poses;

// Room for what poses_look learns; poses_close frees it.
Status poses_open(Poses *poses, Error *err);
void poses_close(Poses *poses);
// Learns from a body of the video whether it shows its object's turning. That of a ball of one colour is not seen: if
// the points of an object's bodies move more as if it did not turn, poses_move does not turn its points.
void poses_look(Poses *poses, int frame, size_t count, const real *now, const real *before);

// The object that body number `body` of a frame is: the motion of its points from `before` to `now` (count, 3) and the
// object's since the frame before, turned or not, differ at most by the tolerance on the average; the nearest one if
// there are several; -1: none.
int poses_find(Poses *poses, int frame, int body, size_t count, const real *now, const real *before);
// Where a point x of an object at frame `from` is at frame `to`.
void poses_move(const Poses *poses, int object, int from, int to, const real x[3], real y[3]);
// The episode, frame and body of the first body that was no object, and how it moved.
void poses_tell(const Poses *poses, char *out, size_t size);
// An error if most bodies were no object: then the states are not those of the video.
Status poses_check(const Poses *poses, Error *err);

#endif
