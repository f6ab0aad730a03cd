// SPDX-License-Identifier: Apache-2.0
// Any bytes at all as a checkpoint. Seeds: the model of tests/checkpoint_model.h in a training checkpoint, as a
// publication in f16, and the latter in HDF5's older layout, which is refused (h5py, libver="earliest").
#include "base/check.h"
#include "tests/checkpoint_model.h"
#include "tests/fuzz/fuzz.h"
#include "train/checkpoint_arrays.h"

// HDF5 loses memory on its own error paths; ours is still watched.
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

static void expect_sentence(Status status, const Error *err) {
    CHECK(status == STATUS_OK || (err->text[0] && !strchr(err->text, '\n')));
}

// The arrays whatever the root holds, so that its checksum does not stop the fuzzer. The checksum at the end does.
static void read_groups(CheckpointFile *file, const Parameters *set) {
    for (int i = 0; i < CHECKPOINT_GROUP_COUNT; i++) {
        HostArrays arrays;
        Error err = {0};
        Status status = checkpoint_file_read(file, (CheckpointGroup)i, i % 2 ? set : NULL, &arrays, &err);
        expect_sentence(status, &err);
        for (size_t j = 0; j < arrays.size; j++) CHECK(isfinite(arrays.values[j]));
        host_arrays_free(&arrays);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    CheckpointFile file = {0};
    Error err = {0};
    Model model;
    Status status = h5_open_memory(bytes, size, "fuzz.h5", &file.root, &err);
    expect_sentence(status, &err);
    if (status != STATUS_OK) return 0;
    model_create(&model, false);
    model_set(&model, 1);
    status = checkpoint_file_read_root(&file, &err);
    expect_sentence(status, &err);
    if (status == STATUS_OK) status = checkpoint_file_load(&file, &model.set, CHECKPOINT_EMA, NULL, &err);
    expect_sentence(status, &err);
    CHECK(status == STATUS_OK || model_all_wrong(&model, 1) == 0);
    read_groups(&file, &model.set);
    checkpoint_file_close(&file);
    model_free(&model);
    return 0;
}
