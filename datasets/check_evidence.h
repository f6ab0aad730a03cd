// SPDX-License-Identifier: Apache-2.0
// The sample of a data set on which the check tests hypotheses: images of a few episodes, with every n-th pixel only
// (with intrinsics to match, so the depths stay exact), and the pairs of them that should show the same places.
#ifndef VPD_DATASETS_CHECK_EVIDENCE_H
#define VPD_DATASETS_CHECK_EVIDENCE_H

#include "datasets/reproject.h"

typedef struct KeptImage {
    int slot;  // of the episode, in Evidence.episodes
    int order; // of the frame among those kept of the episode
    int view;
    int H, W, step;        // pixels kept; step between them in the picture
    double K[9], pose[16]; // of the thinned picture
    float *depth, *grey;   // (H,W) metres; 0..255, mean of the pixels that a kept one stands for
} KeptImage;

typedef struct KeptEpisode {
    int episode, first, stride, frames, views; // frames first, first + stride, ...
    bool moving;
    double seconds; // from one kept frame to the next; 0 when there is one
    int image;      // index of its first image; order runs slowest, view fastest
} KeptEpisode;

typedef struct KeptPair {
    int a, b; // images
} KeptPair;

typedef struct Evidence {
    KeptEpisode *episodes;
    int episode_count;
    KeptImage *images;
    int image_count;
    KeptPair *pairs;
    int pair_count;
    size_t points; // per pair
} Evidence;

// Decides what to keep; images are added as they are read.
Status evidence_plan(Evidence *evidence, const Dataset *dataset, Error *err);
// Keeps the images of one frame that was read with all its views, when the plan wants them.
Status evidence_take(Evidence *evidence, const Frames *frames, Error *err);
void evidence_free(Evidence *evidence);

// Index of an image, -1 when there is none.
int evidence_find(const Evidence *evidence, int slot, int order, int view);
// The largest depth.
float evidence_farthest(const Evidence *evidence);
// Without a hypothesis.
Shot evidence_shot(const KeptImage *image);

#endif
