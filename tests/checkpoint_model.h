// SPDX-License-Identifier: Apache-2.0
// A small set of parameters on a made-up device, for the tests of checkpoints. The device keeps every number with its
// bits flipped, so that code which reaches into its memory, and not through upload and download, sees rubbish.
#ifndef VPD_TESTS_CHECKPOINT_MODEL_H
#define VPD_TESTS_CHECKPOINT_MODEL_H

#include "files/checkpoint.h"
#include "nn/backend.h"

#include <stdlib.h>
#include <string.h>

enum { MODEL_FLIP = 0x5A };

static inline void flip_copy(void *to, const void *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) ((unsigned char *)to)[i] = ((const unsigned char *)from)[i] ^ MODEL_FLIP;
}
static inline void model_zero(Device *device, void *memory, size_t bytes) {
    (void)device, memset(memory, MODEL_FLIP, bytes);
}
static inline void model_copy(Device *device, void *to, const void *from, size_t bytes) {
    (void)device, memmove(to, from, bytes);
}
static inline void model_upload(Device *device, void *to, const void *host, size_t bytes) {
    (void)device, flip_copy(to, host, bytes);
}
static inline void model_download(Device *device, void *host, const void *from, size_t bytes) {
    (void)device, flip_copy(host, from, bytes);
}

static const NnBackend model_backend = {
    .zero = model_zero, .copy = model_copy, .upload = model_upload, .download = model_download};

static inline Device model_device(void) {
    return (Device){.name = "test", .nn = &model_backend, .source = arena_host_source()};
}

typedef struct ModelShape {
    const char *name;
    int rank;
    size_t dims[4];
} ModelShape;

// Odd sizes, every rank, names that are beginnings of one another.
static const ModelShape model_shapes[] = {
    {"encoder.down0.conv0.weight", 4, {3, 3, 3, 5}},
    {"encoder.down0.conv0.bias", 1, {5}},
    {"gnn.edge.weight0", 2, {7, 9}},
    {"gnn.edge.weight00", 2, {1, 1}},
    {"gnn.edge.bias0", 1, {17}},
    {"renderer.bias", 3, {2, 3, 400}},
};
enum { MODEL_COUNT = sizeof model_shapes / sizeof *model_shapes };

// `reversed` declares the same parameters in another order: other offsets, other padding.
static inline void model_build(Parameters *set, Device *device, const ModelShape *shapes, int count, bool reversed) {
    Error err;
    parameters_init(set, device);
    for (int i = 0; i < count; i++) {
        const ModelShape *shape = &shapes[reversed ? count - 1 - i : i];
        parameters_add(set, INIT_UNIFORM, 10, shape->rank, shape->dims, "%s", shape->name);
    }
    if (parameters_allocate(set, 7, &err) != STATUS_OK) abort();
}

static inline real *model_block(const Parameters *set) {
    return set->device->source.allocate(NULL, set->size * sizeof(real));
}
static inline void model_block_free(const Parameters *set, real *block) {
    set->device->source.release(NULL, block, set->size * sizeof(real));
}

// Fills a block: element j of parameter NAME is `base` + something of the name + j / 16, exact in float and half.
static inline float model_value(const char *name, size_t j, float base) {
    return base + (float)(strlen(name) % 8) + (float)(j % 64) / 16;
}

static inline void model_fill(const Parameters *set, real *block, float base) {
    real *host = calloc(set->size, sizeof *host);
    for (size_t i = 0; host && i < set->count; i++) {
        const Parameter *p = set->items[i];
        for (size_t j = 0; j < p->tensor.rows * p->tensor.cols; j++)
            host[p->offset + j] = model_value(p->name, j, base);
    }
    set->device->nn->upload(set->device, block, host, set->size * sizeof *host);
    free(host);
}

// How many elements of the block are not what model_fill(base) put there.
static inline size_t model_wrong(const Parameters *set, const real *block, float base) {
    size_t wrong = 0;
    real *host = calloc(set->size, sizeof *host);
    set->device->nn->download(set->device, host, block, set->size * sizeof *host);
    for (size_t i = 0; i < set->count; i++) {
        const Parameter *p = set->items[i];
        for (size_t j = 0; j < p->tensor.rows * p->tensor.cols; j++)
            wrong += host[p->offset + j] != model_value(p->name, j, base);
    }
    free(host);
    return wrong;
}

// A resolved config with lengths.
static inline CheckpointMeta model_meta(long step) {
    Error err;
    CheckpointMeta meta = {.step = step, .best_score = 23.5, .time_step = 0.04, .seconds = 12.25};
    config_defaults(&meta.config);
    meta.config.data.time_step = meta.time_step;
    meta.config.gnn.length_scale = 0.1;
    meta.config.renderer.radius = 1.0 / 3;
    snprintf(meta.config.data.path, sizeof meta.config.data.path, "a folder: with #odd 'names'/x.h5");
    snprintf(meta.config.train.out, sizeof meta.config.train.out, "/tmp/run");
    snprintf(meta.config.train.init, sizeof meta.config.train.init, "/tmp/first.h5");
    snprintf(meta.config.train.init_motion, sizeof meta.config.train.init_motion, "/tmp/motion.h5");
    if (config_resolve(&meta.config, &err) != STATUS_OK) abort();
    return meta;
}

// A file with weights 1, m 2, v 3, ema 4 (as model_fill's base).
typedef struct Model {
    Device device;
    Parameters set;
    CheckpointBlocks blocks;
} Model;

static inline void model_create(Model *model, bool reversed) {
    model->device = model_device();
    model_build(&model->set, &model->device, model_shapes, MODEL_COUNT, reversed);
    model->blocks = (CheckpointBlocks){model_block(&model->set), model_block(&model->set), model_block(&model->set)};
}

static inline void model_set(Model *model, float base) {
    model_fill(&model->set, model->set.values, base);
    model_fill(&model->set, model->blocks.m, base + 1);
    model_fill(&model->set, model->blocks.v, base + 2);
    model_fill(&model->set, model->blocks.ema, base + 3);
}

static inline size_t model_all_wrong(const Model *model, float base) {
    return model_wrong(&model->set, model->set.values, base) + model_wrong(&model->set, model->blocks.m, base + 1) +
           model_wrong(&model->set, model->blocks.v, base + 2) + model_wrong(&model->set, model->blocks.ema, base + 3);
}

static inline void model_free(Model *model) {
    model_block_free(&model->set, model->blocks.m);
    model_block_free(&model->set, model->blocks.v);
    model_block_free(&model->set, model->blocks.ema);
    parameters_free(&model->set);
}

#endif
