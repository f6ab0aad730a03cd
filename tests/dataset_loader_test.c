// SPDX-License-Identifier: Apache-2.0
// The loader: the same items in the same order for any number of threads and any size of its cache.
#include "base/random.h"
#include "datasets/dataset_private.h"
#include "datasets/h5_chunk.h"
#include "datasets/loader.h"
#include "tests/dataset_scene.h"
#include "tests/dataset_work_folder.h"

typedef struct Source {
    int items, bad_item;
    uint64_t last;
    bool in_order;
} Source;

static bool next_request(void *owner, uint64_t index, FrameRequest *request) {
    Source *source = owner;
    if (index != source->last) source->in_order = false;
    source->last = index + 1;
    if (index >= (uint64_t)source->items) return false;
    RandomKey key = {3, RANDOM_EPISODE, 0, 0};
    request->episode = (int)random_below(key, 2 * index, 3);
    request->first = (int)random_below(key, 2 * index + 1, 4);
    request->count = (int)index == source->bad_item ? 99 : 3;
    return true;
}

static uint64_t hash_frames(const Frames *frames, uint64_t hash) {
    size_t pixels = (size_t)(frames->F * frames->V * frames->H * frames->W);
    for (size_t i = 0; i < pixels; i++)
        hash = (hash ^ frames->rgb[3 * i] ^ (uint64_t)(frames->depth[i] * 1e6)) * 1099511628211u;
    return (hash ^ (uint64_t)frames->episode ^ (uint64_t)frames->first << 8) * 1099511628211u;
}

// All items of a loader as one number.
static uint64_t run_loader(const Dataset *dataset, int threads, size_t cache, uint64_t first, int items) {
    Error err = {0};
    Source source = {.items = items, .bad_item = -1, .last = first, .in_order = true};
    Loader *loader;
    const Frames *frames;
    uint64_t hash = 1, count = 0;
    LoaderOptions options = {
        .threads = threads, .cache_bytes = cache, .first_index = first, .source = next_request, .owner = &source};
    assert_status_ok(loader_open(dataset, options, &loader, &err), err);
    while (true) {
        assert_status_ok(loader_next(loader, &frames, &err), err);
        if (!frames) break;
        hash = hash_frames(frames, hash);
        count++;
    }
    assert_status_ok(loader_next(loader, &frames, &err), err); // the end stays the end
    assert_null(frames);
    loader_close(loader);
    assert_int_equal(count, (uint64_t)items - first);
    assert_true(source.in_order);
    return hash;
}

static void test_cache_is_bounded(void **state) {
    (void)state;
    enum { IMAGES = 8, BYTES = 100, KEPT = 3 };
    uint8_t pixels[BYTES];
    assert_null(image_cache_create(IMAGES, IMAGES * sizeof(void *) - 1)); // no room for the table
    ImageCache *cache = image_cache_create(IMAGES, IMAGES * sizeof(void *) + (KEPT + 1) * BYTES - 1);
    for (int i = 0; i < IMAGES; i++) {
        memset(pixels, i, BYTES);
        image_cache_put(cache, (size_t)i, pixels, BYTES);
    }
    for (int i = 0; i < IMAGES; i++) {
        const uint8_t *kept = image_cache_get(cache, (size_t)i);
        assert_true(i < KEPT ? kept && kept[BYTES - 1] == i : !kept);
    }
    image_cache_free(cache);
}

static Dataset *loader_dataset(void) {
    Error err = {0};
    Scene scene = scene_make(6, 3, 12, 14, SCENE_MOVING);
    scene_finish(&scene);
    assert_status_ok(scene_write(path, &scene, 3, &err), err);
    scene_free(&scene);
    return open_good(path);
}

static void test_loader(void **state) {
    (void)state;
    Dataset *dataset = loader_dataset();
    uint64_t whole = run_loader(dataset, 0, 0, 0, 40), tail = run_loader(dataset, 0, 0, 17, 40);
    assert_true(whole != tail);
    for (int threads = 0; threads <= 4; threads++) {
        assert_true(run_loader(dataset, threads, 0, 0, 40) == whole);
        assert_true(run_loader(dataset, threads, 5000, 0, 40) == whole); // room for a few images
        assert_true(run_loader(dataset, threads, 1 << 20, 0, 40) == whole);
        assert_true(run_loader(dataset, threads, 1 << 20, 17, 40) == tail);
    }
    dataset_close(dataset);
}

// Items that are held stay as they are while others are read.
static void test_loader_holds(void **state) {
    (void)state;
    enum { HELD = 4 };
    Error err = {0};
    Dataset *dataset = loader_dataset();
    for (int threads = 0; threads <= 3; threads++) {
        Source source = {.items = 30, .bad_item = -1, .in_order = true};
        Loader *loader;
        const Frames *frames[HELD];
        uint64_t hashes[HELD];
        LoaderOptions options = {.threads = threads, .held = HELD, .source = next_request, .owner = &source};
        assert_status_ok(loader_open(dataset, options, &loader, &err), err);
        for (int i = 0; i < source.items; i++) {
            assert_status_ok(loader_next(loader, &frames[i % HELD], &err), err);
            hashes[i % HELD] = hash_frames(frames[i % HELD], 1);
            for (int k = 0; k < HELD && k <= i; k++) assert_true(hash_frames(frames[k], 1) == hashes[k]);
        }
        loader_close(loader);
    }
    dataset_close(dataset);
}

// An item that fails is reported in its turn; those around it are delivered, and closing early is no trouble.
static void test_loader_errors(void **state) {
    (void)state;
    Error err = {0};
    Dataset *dataset = loader_dataset();
    for (int threads = 0; threads <= 2; threads++) {
        Source source = {.items = 100, .bad_item = 5, .in_order = true};
        Loader *loader;
        const Frames *frames;
        LoaderOptions options = {.threads = threads, .prefetch = 3, .source = next_request, .owner = &source};
        assert_status_ok(loader_open(dataset, options, &loader, &err), err);
        for (int i = 0; i < 8; i++) {
            if (i == 5)
                assert_status_error(loader_next(loader, &frames, &err), STATUS_BAD_INPUT, err,
                                    "expected frames within");
            else assert_status_ok(loader_next(loader, &frames, &err), err);
        }
        loader_close(loader);
    }
    loader_close(NULL);
    dataset_close(dataset);
}

// The comparison that everything above leans on sees one wrong bit.
static void test_planted_error(void **state) {
    (void)state;
    uint8_t bytes[100] = {1, 2, 3};
    uint32_t before = h5_fletcher32(bytes, 99);
    bytes[98] ^= 1;
    assert_true(h5_fletcher32(bytes, 99) != before);
    Dataset *dataset = loader_dataset();
    Frames frames = {0};
    Error err = {0};
    assert_status_ok(dataset_read_frames(dataset, (FrameRequest){.count = 1}, &frames, &err), err);
    uint64_t hash = hash_frames(&frames, 1);
    frames.rgb[0] ^= 1;
    assert_true(hash_frames(&frames, 1) != hash);
    frames_free(&frames);
    dataset_close(dataset);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_loader),           TEST(test_loader_holds),  TEST(test_loader_errors),
        TEST(test_cache_is_bounded), TEST(test_planted_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
