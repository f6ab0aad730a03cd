// SPDX-License-Identifier: Apache-2.0
#include "nn/parameters.h"

#include "base/check.h"
#include "base/random.h"
#include "nn/backend.h"
#include "nn/device_memory.h"

#include <stdarg.h>
#include <string.h>

enum { PAD = 16 }; // elements; keeps every parameter 64-byte aligned in float

void parameters_init(Parameters *set, Device *device) { *set = (Parameters){.device = device}; }

void parameters_free(Parameters *set) {
    if (!set->device) return;
    ArenaSource source = set->device->source;
    size_t bytes = set->size * sizeof(real);
    if (set->values) source.release(source.owner, set->values, bytes);
    if (set->grads) source.release(source.owner, set->grads, bytes);
    if (set->values && set->grads) set->device->parameter_bytes -= 2 * bytes;
    for (size_t i = 0; i < set->count; i++) free(set->items[i]);
    free(set->items);
    *set = (Parameters){0};
}

static bool reserve(Parameters *set) {
    if (set->count < set->capacity) return true;
    size_t capacity = set->capacity ? 2 * set->capacity : 64;
    Parameter **items = realloc(set->items, capacity * sizeof(Parameter *));
    if (!items) return false;
    set->items = items;
    set->capacity = capacity;
    return true;
}

Tensor *parameters_add(Parameters *set, ParameterInit init, double fan_in, int rank, const size_t *dims,
                       const char *format, ...) {
    static Tensor none; // never read: parameters_allocate reports `failed`
    Parameter *item = reserve(set) ? calloc(1, sizeof *item) : NULL;
    if (!item) {
        set->failed = true;
        return &none;
    }
    va_list args;
    va_start(args, format);
    int length = vsnprintf(item->name, sizeof item->name, format, args);
    va_end(args);
    CHECK(length > 0 && length < (int)sizeof item->name && rank >= 1 && rank <= PARAMETER_MAX_RANK);
    CHECK(!parameters_find(set, item->name));
    item->rank = rank;
    item->init = init;
    item->fan_in = fan_in;
    item->tensor = (Tensor){.rows = 1, .cols = dims[rank - 1], .wants_grad = true};
    for (int i = 0; i < rank; i++) item->dims[i] = dims[i];
    for (int i = 0; i + 1 < rank; i++) item->tensor.rows *= dims[i];
    item->offset = set->size;
    set->size += (item->tensor.rows * item->tensor.cols + PAD - 1) / PAD * PAD;
    set->items[set->count++] = item;
    return &item->tensor;
}

static void fill_initial(const Parameter *item, uint32_t seed, uint32_t index, real *out) {
    RandomKey key = {.seed = seed, .purpose = RANDOM_INIT, .step = index};
    double bound = item->fan_in > 0 ? sqrt(3 / item->fan_in) : 0;
    for (size_t i = 0; i < item->tensor.rows * item->tensor.cols; i++) {
        float unit = item->init == INIT_UNIFORM ? random_uniform(key, i) : 0;
        out[i] = item->init == INIT_ONE ? 1 : item->init == INIT_ZERO ? 0 : (real)((2 * (double)unit - 1) * bound);
    }
}

Status parameters_allocate(Parameters *set, uint32_t seed, Error *err) {
    ArenaSource source = set->device->source;
    size_t bytes = set->size * sizeof(real);
    real *host = calloc(set->size + 1, sizeof(real));
    set->values = source.allocate(source.owner, bytes);
    set->grads = source.allocate(source.owner, bytes);
    if (set->values && set->grads) set->device->parameter_bytes += 2 * bytes;
    if (set->failed || !host || !set->values || !set->grads) {
        free(host);
        device_no_memory(set->device, &source, 2 * bytes, "parameters and their gradients");
        return device_status(set->device, err);
    }
    for (size_t i = 0; i < set->count; i++) {
        Parameter *item = set->items[i];
        item->tensor.value = set->values + item->offset;
        item->tensor.grad = set->grads + item->offset;
        fill_initial(item, seed, (uint32_t)i, host + item->offset);
    }
    set->device->nn->upload(set->device, set->values, host, bytes);
    parameters_zero_grad(set);
    free(host);
    return device_status(set->device, err);
}

void parameters_zero_grad(Parameters *set) { set->device->nn->zero(set->device, set->grads, set->size * sizeof(real)); }

static bool begins_with(const Parameter *item, const char *prefix) {
    return strncmp(item->name, prefix, strlen(prefix)) == 0;
}

static void set_frozen(Parameter *item, bool frozen) {
    item->frozen = frozen;
    item->tensor.wants_grad = !frozen;
}

size_t parameters_freeze(Parameters *set, const char *prefix) {
    size_t frozen = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (!begins_with(set->items[i], prefix)) continue;
        set->items[i]->stays = true;
        set_frozen(set->items[i], true);
        frozen++;
    }
    return frozen;
}

void parameters_choose(Parameters *set, const char *prefix, bool inside) {
    for (size_t i = 0; i < set->count; i++) {
        Parameter *item = set->items[i];
        set_frozen(item, item->stays || begins_with(item, prefix) != inside);
    }
}

void parameters_use_muon(Parameters *set, const char *prefix) {
    for (size_t i = 0; i < set->count; i++) {
        Parameter *item = set->items[i];
        if (item->rank == 2 && item->dims[0] == item->dims[1] && begins_with(item, prefix)) item->muon = true;
    }
}

const Parameter *parameters_find(const Parameters *set, const char *name) {
    for (size_t i = 0; i < set->count; i++)
        if (!strcmp(set->items[i]->name, name)) return set->items[i];
    return NULL;
}

size_t parameters_element_count(const Parameters *set) {
    size_t elements = 0;
    for (size_t i = 0; i < set->count; i++) elements += set->items[i]->tensor.rows * set->items[i]->tensor.cols;
    return elements;
}
