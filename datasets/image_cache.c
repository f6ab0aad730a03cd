// SPDX-License-Identifier: Apache-2.0
#include "datasets/dataset_private.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct ImageCache {
    size_t count, bytes_max;
    atomic_size_t bytes;
    _Atomic(uint8_t *) images[]; // (count) NULL until kept
};

ImageCache *image_cache_create(size_t image_count, size_t bytes_max) {
    size_t table;
    // The table counts too: a data set with a huge number of tiny images gets no cache.
    if (__builtin_mul_overflow(image_count, sizeof(_Atomic(uint8_t *)), &table) || table > bytes_max) return NULL;
    ImageCache *cache = calloc(1, sizeof *cache + table);
    if (!cache) return NULL;
    cache->count = image_count;
    cache->bytes_max = bytes_max;
    atomic_init(&cache->bytes, table);
    return cache;
}

void image_cache_free(ImageCache *cache) {
    if (!cache) return;
    for (size_t i = 0; i < cache->count; i++) free(atomic_load_explicit(&cache->images[i], memory_order_relaxed));
    free(cache);
}

const uint8_t *image_cache_get(const ImageCache *cache, size_t index) {
    return atomic_load_explicit(&cache->images[index], memory_order_acquire);
}

void image_cache_put(ImageCache *cache, size_t index, const uint8_t *pixels, size_t bytes) {
    size_t before = atomic_fetch_add(&cache->bytes, bytes);
    uint8_t *copy = before + bytes <= cache->bytes_max ? malloc(bytes) : NULL, *expected = NULL;
    if (copy) memcpy(copy, pixels, bytes);
    if (copy && atomic_compare_exchange_strong_explicit(&cache->images[index], &expected, copy, memory_order_acq_rel,
                                                        memory_order_acquire))
        return;
    free(copy);
    atomic_fetch_sub(&cache->bytes, bytes);
}
