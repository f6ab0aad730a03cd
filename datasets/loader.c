// SPDX-License-Identifier: Apache-2.0
#include "datasets/loader.h"

#include "base/check.h"
#include "datasets/dataset_private.h"

#include <pthread.h>
#include <stdlib.h>

typedef enum SlotState { SLOT_FREE, SLOT_READING, SLOT_READY } SlotState;

// Item i lives in slot i % slot_count from the moment its request is made until the caller has moved on from it.
typedef struct Slot {
    SlotState state;
    bool end; // past the last item
    Frames frames;
    Status status;
    Error err;
} Slot;

struct Loader {
    const Dataset *dataset;
    LoaderOptions options;
    ImageCache *cache;
    Slot *slots;
    int slot_count, thread_count;
    pthread_t *threads;
    pthread_mutex_t lock;
    pthread_cond_t slot_freed, slot_ready;
    // Guarded by `lock`:
    uint64_t next_request; // the item the next idle worker takes
    uint64_t next_item;    // the item the caller gets next
    bool ended, stop;
};

// Asks for item `index` and reads it.
static void read_item(Loader *loader, Slot *slot, bool has_request, const FrameRequest *request) {
    slot->end = !has_request;
    slot->status = STATUS_OK;
    slot->err.text[0] = 0;
    if (has_request)
        slot->status = dataset_read_cached(loader->dataset, *request, loader->cache, &slot->frames, &slot->err);
}

// Called under the lock, so that the source is called in order and by one thread at a time.
static bool take_request(Loader *loader, FrameRequest *request, Slot **slot) {
    uint64_t index = loader->next_request++;
    *slot = &loader->slots[index % (uint64_t)loader->slot_count];
    *request = (FrameRequest){.stride = 1};
    bool has_request = !loader->ended && loader->options.source(loader->options.owner, index, request);
    if (!has_request) loader->ended = true;
    return has_request;
}

static bool may_read(const Loader *loader) {
    return !loader->ended && loader->slots[loader->next_request % (uint64_t)loader->slot_count].state == SLOT_FREE;
}

static void *work(void *owner) {
    Loader *loader = owner;
    pthread_mutex_lock(&loader->lock);
    while (!loader->stop) {
        if (!may_read(loader)) {
            pthread_cond_wait(&loader->slot_freed, &loader->lock);
            continue;
        }
        FrameRequest request;
        Slot *slot;
        bool has_request = take_request(loader, &request, &slot);
        slot->state = SLOT_READING;
        pthread_mutex_unlock(&loader->lock);
        read_item(loader, slot, has_request, &request);
        pthread_mutex_lock(&loader->lock);
        slot->state = SLOT_READY;
        pthread_cond_broadcast(&loader->slot_ready);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

static Status start_threads(Loader *loader, Error *err) {
    for (int i = 0; i < loader->options.threads; i++) {
        if (pthread_create(&loader->threads[i], NULL, work, loader) != 0)
            return error_set(err, STATUS_FAILED, "%s: cannot start %d threads to read it", loader->dataset->info.path,
                             loader->options.threads);
        loader->thread_count++;
    }
    return STATUS_OK;
}

Status loader_open(const Dataset *dataset, LoaderOptions options, Loader **out, Error *err) {
    *out = NULL;
    CHECK(options.source && options.threads >= 0 && options.threads <= LOADER_THREADS_MAX && options.prefetch >= 0 &&
          options.held >= 0);
    Loader *loader = calloc(1, sizeof *loader);
    if (!loader) return error_set(err, STATUS_FAILED, "%s: no memory for a loader", dataset->info.path);
    loader->dataset = dataset;
    loader->options = options;
    loader->next_request = loader->next_item = options.first_index;
    if (loader->options.held == 0) loader->options.held = 1;
    // Besides those prefetched, slots for the items in the caller's hands.
    loader->slot_count = loader->options.held;
    if (options.threads > 0) loader->slot_count += options.prefetch ? options.prefetch : options.threads + 1;
    loader->slots = calloc((size_t)loader->slot_count, sizeof *loader->slots);
    loader->threads = calloc((size_t)options.threads + 1, sizeof *loader->threads);
    if (options.cache_bytes) loader->cache = image_cache_create(dataset->image_count, options.cache_bytes);
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->slot_freed, NULL);
    pthread_cond_init(&loader->slot_ready, NULL);
    Status status = STATUS_OK;
    if (!loader->slots || !loader->threads)
        status = error_set(err, STATUS_FAILED, "%s: no memory for a loader", dataset->info.path);
    if (!status) status = start_threads(loader, err);
    if (status) loader_close(loader);
    else *out = loader;
    return status;
}

void loader_close(Loader *loader) {
    if (!loader) return;
    pthread_mutex_lock(&loader->lock);
    loader->stop = true;
    pthread_cond_broadcast(&loader->slot_freed);
    pthread_mutex_unlock(&loader->lock);
    for (int i = 0; i < loader->thread_count; i++) pthread_join(loader->threads[i], NULL);
    for (int i = 0; loader->slots && i < loader->slot_count; i++) frames_free(&loader->slots[i].frames);
    image_cache_free(loader->cache);
    pthread_cond_destroy(&loader->slot_ready);
    pthread_cond_destroy(&loader->slot_freed);
    pthread_mutex_destroy(&loader->lock);
    free(loader->threads);
    free(loader->slots);
    free(loader);
}

// Returns the slot of the oldest item that was held to the workers.
static void free_oldest(Loader *loader) {
    uint64_t held = (uint64_t)loader->options.held;
    if (loader->next_item < loader->options.first_index + held) return;
    loader->slots[(loader->next_item - held) % (uint64_t)loader->slot_count].state = SLOT_FREE;
    pthread_cond_broadcast(&loader->slot_freed);
}

static Slot *wait_for_item(Loader *loader) {
    pthread_mutex_lock(&loader->lock);
    free_oldest(loader);
    Slot *slot = &loader->slots[loader->next_item % (uint64_t)loader->slot_count];
    while (slot->state != SLOT_READY) pthread_cond_wait(&loader->slot_ready, &loader->lock);
    if (!slot->end) loader->next_item++;
    pthread_mutex_unlock(&loader->lock);
    return slot;
}

static Slot *read_here(Loader *loader) {
    FrameRequest request;
    Slot *slot = &loader->slots[0];
    if (loader->ended) return slot;
    bool has_request = take_request(loader, &request, &slot);
    read_item(loader, slot, has_request, &request);
    return slot;
}

Status loader_next(Loader *loader, const Frames **out, Error *err) {
    const Slot *slot = loader->options.threads ? wait_for_item(loader) : read_here(loader);
    *out = NULL;
    if (slot->status) {
        if (err) *err = slot->err;
        return slot->status;
    }
    if (!slot->end) *out = &slot->frames;
    return STATUS_OK;
}
