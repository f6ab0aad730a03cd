// SPDX-License-Identifier: Apache-2.0
// A checkpoint, of any bytes at all or (hostile_h5.h) a byte for a good file and changes to it. Seeds: the model of
// tests/checkpoint_model.h in a training checkpoint, as a publication in f16, and the latter in HDF5's older layout,
// which is refused (h5py, libver="earliest").
#include "tests/fuzz/hostile_h5.h"

#include "base/check.h"
#include "datasets/h5_write.h"
#include "files/checkpoint_arrays.h"
#include "tests/checkpoint_model.h"

// Of a file with changes the checksums are right whatever it holds: the linker (--wrap) leads here, for writer and
// reader alike.
static bool no_checksums;

uint64_t __real_host_arrays_checksum(const HostArrays *arrays);
uint64_t __wrap_host_arrays_checksum(const HostArrays *arrays);
uint64_t __wrap_host_arrays_checksum(const HostArrays *arrays) {
    return no_checksums ? 1 : __real_host_arrays_checksum(arrays);
}

typedef char GroupChecksums[CHECKPOINT_GROUP_COUNT][CHECKSUM_TEXT_SIZE];
void __real_checkpoint_root_checksum(const CheckpointMeta *meta, GroupChecksums checksums, const void *config,
                                     size_t size, char out[CHECKSUM_TEXT_SIZE]);
void __wrap_checkpoint_root_checksum(const CheckpointMeta *meta, GroupChecksums checksums, const void *config,
                                     size_t size, char out[CHECKSUM_TEXT_SIZE]);
void __wrap_checkpoint_root_checksum(const CheckpointMeta *meta, GroupChecksums checksums, const void *config,
                                     size_t size, char out[CHECKSUM_TEXT_SIZE]) {
    if (no_checksums) snprintf(out, CHECKSUM_TEXT_SIZE, "1");
    else __real_checkpoint_root_checksum(meta, checksums, config, size, out);
}

enum { BASES = 2 };

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

// The set that files are loaded into, as it was before the first: that of the seeds, or a smaller one for files with
// changes.
typedef struct Target {
    Model model;
    real *before[4]; // the weights, m, v, ema
} Target;

static real *target_block(Target *target, int i) {
    CheckpointBlocks *blocks = &target->model.blocks;
    return i == 0 ? target->model.set.values : i == 1 ? blocks->m : i == 2 ? blocks->v : blocks->ema;
}

static Target *make_target(bool small) {
    static Target targets[2];
    Target *target = &targets[small];
    Model *model = &target->model;
    if (target->before[0]) return target;
    model->device = model_device();
    model_build(&model->set, &model->device, model_shapes + small, small ? 2 : MODEL_COUNT, false);
    model->blocks = (CheckpointBlocks){model_block(&model->set), model_block(&model->set), model_block(&model->set)};
    model_set(model, 1);
    for (int i = 0; i < 4; i++) {
        size_t bytes = model->set.size * sizeof(real);
        target->before[i] = malloc(bytes);
        CHECK(target->before[i]);
        memcpy(target->before[i], target_block(target, i), bytes);
    }
    return target;
}

// After an error nothing has changed; else it is put back.
static void expect_target(Target *target, Status status, const Error *err) {
    size_t bytes = target->model.set.size * sizeof(real);
    expect_sentence(status, err);
    for (int i = 0; i < 4; i++) {
        CHECK(status == STATUS_OK || memcmp(target_block(target, i), target->before[i], bytes) == 0);
        memcpy(target_block(target, i), target->before[i], bytes);
    }
}

static void load(const CheckpointFile *file, Target *target, bool good) {
    Error err = {0};
    const CheckpointBlocks *blocks = file->meta.has_moments ? &target->model.blocks : NULL;
    Status status = checkpoint_file_load(file, &target->model.set, CHECKPOINT_EMA, NULL, &err);
    expect_target(target, status, &err);
    CHECK(status == STATUS_OK || !good);
    status = checkpoint_file_load(file, &target->model.set, CHECKPOINT_RAW, blocks, &err);
    expect_target(target, status, &err);
}

static void read_open(CheckpointFile *file, bool good) {
    Target *target = make_target(no_checksums);
    Error err = {0};
    Status status = checkpoint_file_read_root(file, &err);
    expect_sentence(status, &err);
    CHECK(status == STATUS_OK || !good);
    if (status == STATUS_OK) load(file, target, good);
    else read_groups(file, &target->model.set);
}

// Every option is more than a reader of HDF5 needs.
static void shorten_config(const char *path) {
    static const char CONFIG[] = "gnn: {length_scale: 0.1, rigid_cue: \"on\"}\nrenderer: {radius: 0.3}\n";
    const size_t size = sizeof CONFIG - 1;
    h5_lock();
    hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    CHECK(H5Ldelete(file, "config", H5P_DEFAULT) >= 0 && h5_write_array(file, "config", H5_U8, 1, &size, CONFIG));
    CHECK(H5Fclose(file) >= 0);
    h5_unlock();
}

// All of a run, or a publication's half floats.
static HostileBase *make_base(int which) {
    char path[128];
    Error err;
    CheckpointMeta meta = model_meta(7);
    Target *target = make_target(true);
    Model *model = &target->model;
    if (!fuzz_folder[0]) fuzz_make_folder();
    snprintf(path, sizeof path, "%s/good.h5", fuzz_folder);
    Status status = checkpoint_save(path, &model->set, &model->blocks, &meta, &err);
    if (status == STATUS_OK && which) status = checkpoint_export_publication(path, CHECKPOINT_EMA, true, path, &err);
    CHECK(status == STATUS_OK);
    shorten_config(path);
    return hostile_base_of_file(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static HostileBase *bases[BASES];
    CheckpointFile file = {0};
    Error err = {0};
    if (size == 0) return 0;
    no_checksums = !hostile_is_raw(data, size);
    int which = data[0] % BASES;
    if (no_checksums && !bases[which]) bases[which] = make_base(which);
    if (no_checksums) hostile_begin(bases[which], data + 1, size - 1);
    Status status = h5_open_memory(data, size, "fuzz.h5", &file.root, &err);
    expect_sentence(status, &err);
    if (status == STATUS_OK) read_open(&file, no_checksums && size - 1 < HOSTILE_CHANGE);
    checkpoint_file_close(&file);
    if (no_checksums) hostile_end();
    return 0;
}
