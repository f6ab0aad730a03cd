// SPDX-License-Identifier: Apache-2.0
#include "nn/optimizer.h"

#include "nn/backend.h"
#include "nn/device_memory.h"

#include <stdlib.h>
#include <string.h>

static void *make_block(Device *device, size_t bytes) {
    void *block = device->source.allocate(device->source.owner, bytes + 1);
    if (block) device->optimizer_bytes += bytes + 1;
    if (block) device->nn->zero(device, block, bytes);
    return block;
}

static void drop_block(Device *device, void *block, size_t bytes) {
    if (!block) return;
    device->source.release(device->source.owner, block, bytes + 1);
    device->optimizer_bytes -= bytes + 1;
}

Status optimizer_create(Optimizer *optimizer, Parameters *set, OptimizerConfig config, Error *err) {
    Device *device = set->device;
    size_t bytes = set->size * sizeof(real);
    *optimizer = (Optimizer){.config = config, .set = set};
    optimizer->m = make_block(device, bytes);
    optimizer->v = make_block(device, bytes);
    if (config.ema > 0) optimizer->ema = make_block(device, bytes);
    optimizer->squares = make_block(device, set->count * sizeof *optimizer->squares);
    optimizer->arrays = calloc(set->count + 1, sizeof *optimizer->arrays);
    optimizer->read = calloc(set->count + 1, sizeof *optimizer->read);
    if (!optimizer->m || !optimizer->v || (config.ema > 0 && !optimizer->ema) || !optimizer->squares ||
        !optimizer->arrays || !optimizer->read) {
        optimizer_free(optimizer);
        device_no_memory(device, &device->source, 3 * bytes, "the optimiser's moments");
        return device_status(device, err);
    }
    optimizer_restart_ema(optimizer);
    return STATUS_OK;
}

void optimizer_free(Optimizer *optimizer) {
    if (!optimizer->set) return;
    Device *device = optimizer->set->device;
    size_t bytes = optimizer->set->size * sizeof(real);
    drop_block(device, optimizer->m, bytes);
    drop_block(device, optimizer->v, bytes);
    drop_block(device, optimizer->ema, bytes);
    drop_block(device, optimizer->squares, optimizer->set->count * sizeof *optimizer->squares);
    free(optimizer->arrays);
    free(optimizer->read);
    *optimizer = (Optimizer){0};
}

void optimizer_restart_ema(Optimizer *optimizer) {
    Parameters *set = optimizer->set;
    if (optimizer->ema) set->device->nn->copy(set->device, optimizer->ema, set->values, set->size * sizeof(real));
}

void optimizer_restart(Optimizer *optimizer) {
    Parameters *set = optimizer->set;
    set->device->nn->zero(set->device, optimizer->m, set->size * sizeof(real));
    set->device->nn->zero(set->device, optimizer->v, set->size * sizeof(real));
    optimizer->step = 0;
    optimizer_restart_ema(optimizer);
}

// The number of parameters that are not frozen.
static size_t list_arrays(const Optimizer *optimizer) {
    const Parameters *set = optimizer->set;
    size_t arrays = 0;
    for (size_t i = 0; i < set->count; i++) {
        const Parameter *item = set->items[i];
        if (!item->frozen)
            optimizer->arrays[arrays++] = (OptimizerArray){item->offset, item->tensor.rows * item->tensor.cols,
                                                           item->rank >= 2, item->muon ? item->tensor.cols : 0};
    }
    return arrays;
}

void optimizer_start(Optimizer *optimizer, double rate) {
    const OptimizerConfig *config = &optimizer->config;
    Parameters *set = optimizer->set;
    double step = (double)++optimizer->step;
    SumSquaresArgs squares = {list_arrays(optimizer), optimizer->arrays, set->grads, optimizer->squares};
    UpdateArgs args = {.arrays = squares.arrays,
                       .array = optimizer->arrays,
                       .squares = optimizer->squares,
                       .value = set->values,
                       .m = optimizer->m,
                       .v = optimizer->v,
                       .ema = optimizer->ema,
                       .grad = set->grads,
                       .rate = rate,
                       .beta1 = config->beta1,
                       .beta2 = config->beta2,
                       .epsilon = config->epsilon,
                       .decay = config->weight_decay,
                       .clip = config->clip,
                       .correct1 = 1 - pow(config->beta1, step),
                       .correct2 = 1 - pow(config->beta2, step),
                       .ema_decay = fmin(config->ema, (1.0 + step) / (10.0 + step))};
    set->device->nn->sum_squares(set->device, &squares);
    if (!set->device->failed) set->device->nn->adam(set->device, &args);
    if (!set->device->failed) set->device->nn->muon(set->device, &args);
}

// Names the first parameter with a NaN or infinite gradient.
Status optimizer_finish(Optimizer *optimizer, double *norm, Error *err) {
    const Parameters *set = optimizer->set;
    double sum = 0;
    set->device->nn->download(set->device, optimizer->read, optimizer->squares, set->count * sizeof *optimizer->read);
    Status status = device_status(set->device, err);
    for (size_t i = 0, array = 0; i < set->count && status == STATUS_OK; i++) {
        if (set->items[i]->frozen) continue;
        sum += optimizer->read[array];
        if (!isfinite(optimizer->read[array++]))
            status =
                error_set(err, STATUS_FAILED, "the gradient of %s is not finite; try a lower train.rate or train.clip",
                          set->items[i]->name);
    }
    if (status != STATUS_OK) optimizer->step--;
    *norm = sqrt(sum);
    return status;
}

Status optimizer_step(Optimizer *optimizer, double rate, double *norm, Error *err) {
    optimizer_start(optimizer, rate);
    return optimizer_finish(optimizer, norm, err);
}

void optimizer_swap_ema(Optimizer *optimizer) {
    Parameters *set = optimizer->set;
    Device *device = set->device;
    size_t bytes = set->size * sizeof(real);
    if (!optimizer->ema) return;
    ArenaMark mark = arena_mark(&device->scratch);
    real *held = device_scratch(device, set->size);
    if (held) {
        device->nn->copy(device, held, set->values, bytes);
        device->nn->copy(device, set->values, optimizer->ema, bytes);
        device->nn->copy(device, optimizer->ema, held, bytes);
    }
    arena_release(&device->scratch, mark);
}
