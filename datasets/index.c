// SPDX-License-Identifier: Apache-2.0
#include "datasets/index.h"

#include "base/array.h"
#include "base/file.h"
#include "base/version.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>

#define INDEX_BYTES_MAX ((size_t)1 << 40)
#define INDEX_NAME ".vpd-index"
enum { INDEX_VERSION = 6 };

typedef struct IndexHead {
    char magic[8];
    uint32_t version, head_bytes;
    char program[48];
} IndexHead;

static IndexHead head_of_this(void) {
    IndexHead head = {.magic = {'v', 'p', 'd', 'i', 'n', 'd', 'e', 'x'}, INDEX_VERSION, sizeof head, ""};
    snprintf(head.program, sizeof head.program, "%s", version_number());
    return head;
}

void index_free(Index *index) {
    if (index->mapped) munmap(index->bytes, index->size);
    else free(index->bytes);
    free(index->records);
    *index = (Index){0};
}

static int compare_names(const void *a, const void *b) {
    return strcmp(record_name(*(const Record *const *)a), record_name(*(const Record *const *)b));
}

static bool add_record(Index *index, const Record *record, size_t *capacity) {
    if (index->count == *capacity) {
        size_t wanted = 2 * *capacity + 256;
        if (!array_grow(&index->records, wanted, sizeof(*index->records))) return false;
        *capacity = wanted;
    }
    index->records[index->count++] = record;
    return true;
}

// Lists the records in the bytes; false when anything in them is damaged.
static bool parse(Index *index) {
    const IndexHead wanted = head_of_this();
    size_t at = sizeof wanted, capacity = 0;
    if (index->size < at || memcmp(index->bytes, &wanted, sizeof wanted) != 0) return false;
    while (at < index->size) {
        const Record *record = record_at((const char *)index->bytes + at, index->size - at);
        if (!record || !add_record(index, record, &capacity)) return false;
        at += record_bytes(record);
    }
    if (index->count) qsort(index->records, index->count, sizeof *index->records, compare_names);
    return true;
}

const Record *index_find(const Index *index, const char *name, const FileStamp *stamp) {
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(record_name(index->records[middle]), name);
        if (order == 0) return record_fits(index->records[middle], stamp) ? index->records[middle] : NULL;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return NULL;
}

void index_begin(Bytes *bytes) {
    const IndexHead head = head_of_this();
    bytes_add(bytes, &head, sizeof head);
}

bool index_adopt(Bytes *bytes, Index *out) {
    *out = (Index){.bytes = bytes->data, .size = bytes->size};
    bool good = !bytes->failed;
    *bytes = (Bytes){0};
    good = good && parse(out);
    if (!good) index_free(out);
    return good;
}

// ---- the file

static void cache_place(const char *dataset, char *out, size_t size) {
    char real[PATH_MAX];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool named = cache && cache[0] == '/';
    if (!named && !(home && home[0] == '/')) return;
    if (!realpath(dataset, real)) return;
    int n = snprintf(out, size, "%s%s/vpd/index-%016llx", named ? cache : home, named ? "" : "/.cache",
                     (unsigned long long)XXH3_64bits(real, strlen(real)));
    if (n >= (int)size) out[0] = 0;
}

void index_places(const char *dataset, IndexPlaces *out) {
    *out = (IndexPlaces){0};
    size_t size = sizeof out->path[0];
    int n = snprintf(out->path[0], size, "%s%s" INDEX_NAME, dataset, file_is_folder(dataset) ? "/" : "");
    if (n >= (int)size) out->path[0][0] = 0;
    cache_place(dataset, out->path[1], size);
}

bool index_load(const char *path, Index *out) {
    Error ignored;
    int fd;
    *out = (Index){0};
    if (!path[0] || file_open(path, INDEX_BYTES_MAX, &fd, &out->size, &ignored) != STATUS_OK) return false;
    void *bytes = out->size ? mmap(NULL, out->size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (bytes == MAP_FAILED) return false;
    out->bytes = bytes;
    out->mapped = true;
    if (parse(out)) return true;
    index_free(out);
    return false;
}

const char *index_save(const IndexPlaces *places, const Index *index, Error *err) {
    Error later;
    for (int i = 0; i < INDEX_PLACES; i++) {
        const char *path = places->path[i];
        Error *why = i == 0 ? err : &later;
        if (!path[0]) continue;
        if (file_write_bytes(path, index->bytes, index->size, why) == STATUS_OK) return path;
    }
    return NULL;
}
