// SPDX-License-Identifier: Apache-2.0
// A data set, of any bytes at all or (hostile_h5.h) a byte for a good file and changes to it: opening and reading must
// end with frames or with one sentence, never otherwise.
#include "tests/fuzz/hostile_h5.h"

#include "base/check.h"
#include "datasets/dataset_private.h"
#include "tests/dataset_scene.h"

#include <math.h>
#include <string.h>

enum { PIXELS_MAX = 1 << 20, EPISODES_MAX = 4, FRAMES_READ = 3, BASES = 2 };

// Two episodes with still cameras and u16 depth, or one with moving ones and f32.
static HostileBase *make_base(int which) {
    char path[128];
    Error err;
    DatasetWriter *writer;
    Scene scene = scene_make(2, 3, 4, 5, which ? SCENE_MOVING : 0);
    if (!fuzz_folder[0]) fuzz_make_folder();
    snprintf(path, sizeof path, "%s/good.h5", fuzz_folder);
    scene_finish(&scene);
    scene.info.depth_is_u16 = !which;
    scene.info.depth_scale = which ? 1 : 0.001;
    scene.info.properties = (Property[]){{"mass", 1.5}}, scene.info.property_count = 1;
    WriterOptions options = {.name = "good", .missing_depth = which ? MISSING_SKY : MISSING_UNKNOWN};
    CHECK(dataset_writer_open(path, &options, &writer, &err) == STATUS_OK);
    for (int i = 0; i < 2 - which; i++) CHECK(scene_put(writer, &scene, &err) == STATUS_OK);
    CHECK(dataset_writer_finish(writer, &err) == STATUS_OK);
    scene_free(&scene);
    return hostile_base_of_file(path);
}

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

static void read_all(const void *bytes, size_t size, bool good) {
    Dataset *dataset;
    Frames frames = {0};
    Error err = {0};
    if (dataset_open_memory(bytes, size, "fuzz.h5", &dataset, &err)) {
        CHECK(!good && err.text[0] && !strchr(err.text, '\n'));
        return;
    }
    for (int i = 0; i < dataset_episode_count(dataset) && i < EPISODES_MAX; i++) read_episode(dataset, i, &frames);
    frames_free(&frames);
    dataset_close(dataset);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static HostileBase *bases[BASES];
    if (hostile_is_raw(data, size)) {
        read_all(data, size, false);
    } else if (size) {
        int which = data[0] % BASES;
        if (!bases[which]) bases[which] = make_base(which);
        hostile_begin(bases[which], data + 1, size - 1);
        read_all(NULL, 0, size - 1 < HOSTILE_CHANGE);
        hostile_end();
    }
    return 0;
}
