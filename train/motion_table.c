// SPDX-License-Identifier: Apache-2.0
#include "train/motion_table.h"

#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { HEADER_BYTES = 4096 };
static const char MAGIC[8] = "VPDMOTN";
static const uint64_t END = (uint64_t)1 << 60; // no place lies behind

// All numbers in the file are little-endian.
typedef struct Header {
    char magic[8];
    uint64_t options;
    double extent;
    uint64_t table, entries, table_checksum;
    uint64_t checksum; // of the above
} Header;

typedef struct Entry {
    uint64_t key, at;
} Entry;

// The file's table, by increasing keys.
typedef struct Found {
    Header header; // {0}: there is no table
    Entry *entry;  // (header.entries)
} Found;

// A part of the file that is in use.
typedef struct Span {
    uint64_t begin, end;
} Span;

static uint64_t round_up(uint64_t bytes) { return (bytes + 63) / 64 * 64; }

static uint64_t block_bytes(const MotionBlock *b) { return (uint64_t)b->frames * b->slot; }

static uint64_t checksum_of(const Header *header) { return XXH3_64bits(header, offsetof(Header, checksum)); }

// ---- reading and writing

// The bytes that are there.
static ssize_t read_all(int file, void *out, size_t bytes, uint64_t at) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(file, (char *)out + done, bytes - done, (off_t)(at + done));
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static bool write_all(int file, const void *from, size_t bytes, uint64_t at) {
    for (size_t done = 0; done < bytes;) {
        ssize_t put = pwrite(file, (const char *)from + done, bytes - done, (off_t)(at + done));
        if (put == 0) errno = ENOSPC;
        if (put <= 0) return false;
        done += (size_t)put;
    }
    return true;
}

// A file in some folders cannot be synced; that is no failure.
static bool sync_file(int file) { return fdatasync(file) == 0 || errno == EINVAL || errno == ENOSYS; }

// Why a header is not of these options; NULL if it is, or if there is none yet.
static const char *doubt_of(const Header *header, const MotionTable *t, char *text, size_t size) {
    static const Header none;
    if (!memcmp(header, &none, sizeof none)) return NULL;
    if (memcmp(header->magic, MAGIC, sizeof MAGIC) || header->checksum != checksum_of(header))
        return "damaged, or made by another version of the program";
    if (header->options == t->options) return NULL;
    if (header->extent == t->extent) return "made with other options or another version of the program";
    snprintf(text, size, "made with data.extent %.17g m, this run has %.17g m", header->extent, t->extent);
    return text;
}

// Reads the table; *doubt: why there is none, or NULL in an empty file.
static Status read_table(const MotionTable *t, Found *out, const char **doubt, char *text, size_t size, Error *err) {
    Header *header = &out->header;
    struct stat info;
    if (fstat(t->file, &info) != 0 || read_all(t->file, header, sizeof *header, 0) < 0)
        return file_error(err, t->name, "read", errno);
    *doubt = doubt_of(header, t, text, size);
    if (*doubt || !header->magic[0]) return STATUS_OK;
    *doubt = "damaged";
    uint64_t room = (uint64_t)info.st_size;
    if (header->table > room || header->entries > (room - header->table) / sizeof *out->entry) return STATUS_OK;
    size_t bytes = (size_t)header->entries * sizeof *out->entry;
    out->entry = malloc(bytes + 1);
    if (!out->entry) return error_no_memory(err, "the episodes in %s", t->name);
    ssize_t got = read_all(t->file, out->entry, bytes, header->table);
    if (got < 0) return file_error(err, t->name, "read", errno);
    if ((size_t)got == bytes && XXH3_64bits(out->entry, bytes) == header->table_checksum) *doubt = NULL;
    return STATUS_OK;
}

// ---- blocks

static int by_key(const void *a, const void *b) {
    uint64_t x = ((const Entry *)a)->key, y = ((const Entry *)b)->key;
    return x < y ? -1 : x > y;
}

static int by_begin(const void *a, const void *b) {
    uint64_t x = ((const Span *)a)->begin, y = ((const Span *)b)->begin;
    return x < y ? -1 : x > y;
}

// Takes blocks from the file's table; returns their number.
static size_t take_blocks(const MotionTable *t, const Found *found) {
    size_t kept = 0;
    for (size_t e = 0; e < t->count; e++) {
        MotionBlock *b = &t->block[e];
        Entry wanted = {.key = b->key};
        b->at = 0;
        if (!b->frames || !found->header.entries) continue;
        const Entry *entry = bsearch(&wanted, found->entry, found->header.entries, sizeof wanted, by_key);
        bool sound = entry && entry->at >= HEADER_BYTES && entry->at < END && block_bytes(b) < END;
        if (sound) b->at = entry->at, kept++;
    }
    return kept;
}

// Gives blocks to the episodes that have none, and puts them and a table of `entries` where nothing lies that is in
// use. Returns the table's place. span (count + 2).
static uint64_t place_blocks(const MotionTable *t, const Header *old, uint64_t entries, Span *span) {
    size_t spans = 0;
    uint64_t end = HEADER_BYTES;
    if (old->entries) span[spans++] = (Span){old->table, old->table + old->entries * sizeof(Entry)};
    for (size_t e = 0; e < t->count; e++) {
        const MotionBlock *b = &t->block[e];
        if (b->at) span[spans++] = (Span){b->at, b->at + block_bytes(b)};
    }
    for (size_t i = 0; i < spans; i++)
        if (span[i].end > end) end = span[i].end;
    uint64_t table = round_up(end);
    span[spans++] = (Span){table, table + entries * sizeof(Entry)};
    qsort(span, spans, sizeof *span, by_begin);
    uint64_t at = HEADER_BYTES;
    size_t next = 0; // span behind `at`
    for (size_t e = 0; e < t->count; e++) {
        MotionBlock *b = &t->block[e];
        if (b->at || !b->frames) continue;
        for (; next < spans && at + block_bytes(b) > span[next].begin; next++)
            if (round_up(span[next].end) > at) at = round_up(span[next].end);
        b->at = at;
        at += block_bytes(b);
    }
    return table;
}

// Writes a table of all blocks, then the header that names it. The last sync is for processes of other machines.
static bool write_table(const MotionTable *t, Entry *entry, size_t entries, uint64_t at) {
    Header header = {.options = t->options, .extent = t->extent, .table = at, .entries = entries};
    size_t bytes = entries * sizeof *entry;
    for (size_t e = 0, n = 0; e < t->count; e++)
        if (t->block[e].frames) entry[n++] = (Entry){t->block[e].key, t->block[e].at};
    qsort(entry, entries, sizeof *entry, by_key);
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.table_checksum = XXH3_64bits(entry, bytes);
    header.checksum = checksum_of(&header);
    return write_all(t->file, entry, bytes, at) && sync_file(t->file) &&
           write_all(t->file, &header, sizeof header, 0) && sync_file(t->file);
}

static Status add_blocks(const MotionTable *t, const Found *found, size_t wanted, int *write_error, Error *err) {
    Span *span = malloc((t->count + 2) * sizeof *span);
    Entry *entry = malloc((wanted + 1) * sizeof *entry);
    Status status = STATUS_OK;
    if (!span || !entry) status = error_no_memory(err, "the motion of %zu episodes", t->count);
    else if (!write_table(t, entry, wanted, place_blocks(t, &found->header, wanted, span))) *write_error = errno;
    free(span);
    free(entry);
    return status;
}

Status motion_table_open(const MotionTable *t, int *write_error, Error *err) {
    Found found = {.entry = NULL};
    const char *doubt = NULL;
    char text[120];
    size_t wanted = 0;
    *write_error = 0;
    for (size_t e = 0; e < t->count; e++) wanted += t->block[e].frames > 0;
    Status status = read_table(t, &found, &doubt, text, sizeof text, err);
    if (status == STATUS_OK && doubt) {
        log_note(t->log, "%s: %s; motion is measured again", t->name, doubt);
        found.header = (Header){.entries = 0};
        if (ftruncate(t->file, 0) != 0) *write_error = errno;
    }
    size_t kept = status == STATUS_OK ? take_blocks(t, &found) : 0;
    if (status == STATUS_OK && found.header.magic[0] && kept < wanted)
        log_note(t->log, "%s: motion of %zu of %zu episodes is kept, that of the others is measured", t->name, kept,
                 wanted);
    if (status == STATUS_OK && !*write_error && (kept < wanted || !found.header.magic[0]))
        status = add_blocks(t, &found, wanted, write_error, err);
    free(found.entry);
    return status;
}
