// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as a data set: opening and reading must end with frames or with one sentence, never otherwise.
#include "base/check.h"
#include "datasets/dataset_private.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

// HDF5 loses memory on its own error paths; ours is still watched.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

enum { PIXELS_MAX = 1 << 20, EPISODES_MAX = 4, FRAMES_READ = 3 };

static void read_episode(const Dataset *dataset, int episode, Frames *frames) {
    const EpisodeInfo *info = dataset_episode(dataset, episode);
    Error err = {0};
    int views[1] = {info->V - 1}, count = info->F < FRAMES_READ ? info->F : FRAMES_READ;
    if ((size_t)info->H * (size_t)info->W > PIXELS_MAX) return;
    FrameRequest request = {
        .episode = episode, .first = info->F - count, .count = count, .views = views, .view_count = 1};
    if (dataset_read_frames(dataset, request, frames, &err)) {
        CHECK(err.text[0] && !strchr(err.text, '\n'));
        return;
    }
    for (int i = 0; i < count * info->H * info->W; i++) CHECK(isfinite(frames->depth[i]) && frames->depth[i] >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    Dataset *dataset;
    Frames frames = {0};
    Error err = {0};
    if (dataset_open_memory(bytes, size, "fuzz.h5", &dataset, &err)) {
        CHECK(err.text[0] && !strchr(err.text, '\n'));
        return 0;
    }
    for (int i = 0; i < dataset_episode_count(dataset) && i < EPISODES_MAX; i++) read_episode(dataset, i, &frames);
    frames_free(&frames);
    dataset_close(dataset);
    return 0;
}
