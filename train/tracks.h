// SPDX-License-Identifier: Apache-2.0
// The moving bodies that are seen in the frames of videos, and where each of them goes in the frames after, as the
// motion fields of those frames tell (docs/training.md, "Windows"). Host memory.
#ifndef VPD_TRAIN_TRACKS_H
#define VPD_TRAIN_TRACKS_H

#include "bodies/body_set.h"
#include "motion/motion_field.h"
#include "train/poses.h"

typedef struct TrackOptions {
    int longest;          // frames that a body is followed, at most
    double colour_length; // metres that a unit of rgb counts in distances
    double reach;         // metres: a point of the next frame farther from a node says nothing of it
    Poses *poses;         // where bodies go, if not as the video shows; or NULL
    double stiff;         // metres: a body whose nodes are farther from a rigid motion bends
    double still;         // metres: a body that moves no farther, as long as it is followed, rests
} TrackOptions;

// Starts as {0}. The windows of `set` are the frames in which something moves, and what rests.
typedef struct Tracks {
    int longest;
    BodySet set;
    int *steps;     // (bodies) frames after which the body's place is known, up to the first where it is not
    real *place;    // (nodes, longest, 3) metres: where they are later, in the order of tracks_places
    size_t room[2]; // for bodies, nodes
} Tracks;

// (nodes of body b, 3): where they are k + 1 frames after those in `set`.
static inline real *tracks_places(const Tracks *t, size_t b, size_t k) {
    size_t first = t->set.first_node[b], count = t->set.first_node[b + 1] - first;
    return t->place + 3 * (first * (size_t)t->longest + k * count);
}

void tracks_free(Tracks *tracks); // accepts {0}

// Adds the frames of a video: `field` (frames), the motion seen in each, {0} where it is not known. Bodies are numbered
// anew in every frame. From a frame to the next each node takes the point of the next frame whose place and colour one
// time step ago were nearest to its own. The body that has most of those points moves them all, if these are half of
// the nodes or more; otherwise the track ends there. But what bends is seen in pieces: there each node goes with the
// body of its own point. Nodes at mirror images take no points and do not count: they move with the others. Bodies that
// come to rest are added once more, in a window in which they rest.
Status tracks_add_video(Tracks *tracks, const TrackOptions *options, int frames, const MotionField *field, Error *err);

// Makes all lengths `scale` times as large.
void tracks_scale(Tracks *tracks, real scale);

// Adds the windows of `from`, which has the same `longest`.
Status tracks_append(Tracks *tracks, const Tracks *from, Error *err);

// Frames after which some body of the window is still known.
int tracks_steps(const Tracks *tracks, size_t window);
// Whether body b of the set moves into its frame; else it is at rest.
bool tracks_moves(const Tracks *tracks, size_t b);

#endif
