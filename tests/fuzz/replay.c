// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on every file of its corpus, and on mutations of each that are the same in every run (Philox). It
// stands in for libFuzzer where there is no clang, and under ASan it is a regression test.
//   NAME_replay CORPUS [MUTATIONS PER FILE]
#include "tests/fuzz/fuzz.h"

#include "base/file.h"
#include "base/random.h"

#include <string.h>

enum { MAX_FILE = 64 << 20, MUTATIONS = 200 };

// Sizes and counts that readers trip over.
static const uint64_t awkward[] = {
    0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, ~0ull};

static void flip_bit(uint8_t *data, size_t size, Random4 r) { data[r.v[1] % size] ^= (uint8_t)(1u << r.v[2] % 8); }

static void set_number(uint8_t *data, size_t size, Random4 r) {
    uint64_t number = awkward[r.v[1] % (sizeof awkward / sizeof *awkward)];
    size_t width = (size_t)1 << r.v[2] % 4, at = r.v[3] % size;
    memcpy(data + at, &number, width < size - at ? width : size - at);
}

static void move_block(uint8_t *data, size_t size, Random4 r) {
    size_t from = r.v[1] % size, to = r.v[2] % size, room = size - (from > to ? from : to);
    memmove(data + to, data + from, 1 + r.v[3] % room);
}

static void zero_block(uint8_t *data, size_t size, Random4 r) {
    size_t at = r.v[1] % size, room = size - at;
    memset(data + at, r.v[2] % 2 ? 0xFF : 0, 1 + r.v[3] % (room < 64 ? room : 64));
}

// One to four changes, one mutation in eight also cut short; half of the changes in the first 2 KiB, where headers are.
static size_t mutate(uint8_t *data, size_t size, RandomKey key) {
    static void (*const changes[])(uint8_t *, size_t, Random4) = {flip_bit, set_number, move_block, zero_block};
    Random4 choice = random4(key, 0);
    for (uint32_t i = 0; i <= choice.v[0] % 4; i++) {
        Random4 r = random4(key, i + 1);
        size_t reach = r.v[0] % 2 && size > 2048 ? 2048 : size;
        changes[r.v[0] / 2 % 4](data, reach, r);
    }
    return choice.v[1] % 8 == 0 ? choice.v[2] % size : size;
}

static void replay_file(const char *text, size_t size, uint32_t file, long mutations) {
    LLVMFuzzerTestOneInput((const uint8_t *)text, size);
    for (long i = 0; size && i < mutations; i++) {
        uint8_t *copy = malloc(size);
        if (!copy) abort();
        memcpy(copy, text, size);
        RandomKey key = {.purpose = RANDOM_TEST, .step = (uint32_t)i, .episode = file};
        size_t left = mutate(copy, size, key);
        uint8_t *exact = realloc(copy, left ? left : 1); // so that reading beyond the end is seen
        LLVMFuzzerTestOneInput(exact ? exact : copy, left);
        free(exact ? exact : copy);
    }
}

int main(int argc, char **argv) {
    FileList list;
    Error err;
    long mutations = argc > 2 ? atol(argv[2]) : MUTATIONS;
    if (argc < 2 || file_list(argv[1], &list, &err) != STATUS_OK || list.count == 0) {
        fprintf(stderr, "no corpus: %s\n", argc < 2 ? "usage: replay FOLDER [MUTATIONS]" : argv[1]);
        return 1;
    }
    for (size_t i = 0; i < list.count; i++) {
        char path[FILE_PATH_SIZE], *text;
        size_t size;
        if (file_join(path, sizeof path, argv[1], list.names[i], &err) != STATUS_OK ||
            file_read_all(path, MAX_FILE, &text, &size, &err) != STATUS_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        replay_file(text, size, (uint32_t)i, mutations);
        free(text);
    }
    printf("%zu files, %ld mutations of each\n", list.count, mutations);
    file_list_free(&list);
    return 0;
}
