// SPDX-License-Identifier: Apache-2.0
#include "train/motion_cache.h"

#include "base/file.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

enum { FORMAT = 2, HEADER_BYTES = 4096 };
static const char MAGIC[8] = "VPDMOTN";

// The file's header. All numbers in the file are little-endian.
typedef struct Header {
    char magic[8];
    uint64_t key, rows, slot, checksum;
} Header;

static void close_file(MotionCache *cache) {
    if (cache->is_open) close(cache->descriptor);
    cache->is_open = false;
}

void motion_cache_close(MotionCache *cache) {
    close_file(cache);
    free(cache->path);
    free(cache->first_row);
    free(cache->buffer.bytes);
    *cache = (MotionCache){0};
}

// ---- the file

static const char *name_of(const MotionCache *cache) { return cache->path ? cache->path : "motion in memory"; }

// Ends caching after a failed write, as on a full disk.
static void stop_keeping(MotionCache *cache, int error) {
    log_warning(cache->log,
                "%s: cannot write (%s); training continues without it and measures motion whenever it is needed",
                name_of(cache), strerror(error));
    close_file(cache);
}

// A hash of everything that the measured motion depends on.
static uint64_t key_of(const Vpd *model, const MotionSource *source) {
    MotionOptions o = vpd_motion_options(model);
    char text[600];
    int length = snprintf(text, sizeof text, "%d %d %s %d %d %a %a %a %u %ld %ld", FORMAT, MOTION_VERSION,
                          version_number(), vpd_has_bodies(model), o.crop, o.moving_threshold, o.colour_length,
                          o.extent, o.seed, model->config.model.T, model->config.data.stride);
    uint64_t hash = XXH3_64bits_withSeed(text, (size_t)length, source->data);
    const IntList *views = &model->config.data.input_views;
    hash = XXH3_64bits_withSeed(views->v, (size_t)views->count * sizeof *views->v, hash);
    return XXH3_64bits_withSeed(source->frames, (size_t)source->episodes * sizeof *source->frames, hash);
}

static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t record_bytes(size_t points, size_t flags) {
    return sizeof(MotionRecord) + points * MOTION_FIELD_WIDTH * sizeof(real) + flags;
}

static Status read_layout(MotionCache *cache, const Vpd *model, const MotionSource *source, Error *err) {
    size_t rows = 0, flags = (size_t)model->config.model.T * ((source->pixels + 7) / 8);
    cache->first_row = malloc(((size_t)source->episodes + 1) * sizeof *cache->first_row);
    if (!cache->first_row) return error_set(err, STATUS_FAILED, "out of memory for scene flow");
    cache->episodes = source->episodes;
    for (int e = 0; e <= source->episodes; e++) {
        cache->first_row[e] = rows;
        if (e < source->episodes) rows += (size_t)source->frames[e];
    }
    cache->slot = round_up(record_bytes(motion_seen_points(), flags));
    return STATUS_OK;
}

static Status open_file(MotionCache *cache, const char *path, Error *err) {
    struct stat info;
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    if (path && !(cache->path = strdup(path))) return error_set(err, STATUS_FAILED, "out of memory for scene flow");
    cache->descriptor = path ? open(path, flags, 0666) : memfd_create("motion", MFD_CLOEXEC);
    if (cache->descriptor < 0) return file_error(err, name_of(cache), "open", errno);
    cache->is_open = true;
    if (fstat(cache->descriptor, &info) == 0 && S_ISREG(info.st_mode)) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: expected a file, found something else; remove it", path);
}

// Keeps the file's contents if it begins with `wanted`, else empties it.
static Status keep_or_empty(MotionCache *cache, const Header *wanted, Error *err) {
    Header found = {0};
    const char *path = name_of(cache);
    ssize_t got = pread(cache->descriptor, &found, sizeof found, 0);
    if (got < 0) return file_error(err, path, "read", errno);
    if (got == sizeof found && !memcmp(&found, wanted, sizeof found)) return STATUS_OK;
    if (got > 0)
        log_note(cache->log,
                 "%s: made with other data, options or another version of the program; motion is measured again", path);
    errno = ENOSPC; // for a write that is cut short
    if (ftruncate(cache->descriptor, 0) != 0 || ftruncate(cache->descriptor, HEADER_BYTES) != 0 ||
        pwrite(cache->descriptor, wanted, sizeof *wanted, 0) != sizeof *wanted)
        stop_keeping(cache, errno);
    return STATUS_OK;
}

Status motion_cache_open(MotionCache *cache, const char *path, const Vpd *model, const MotionSource *source,
                         const Log *log, Error *err) {
    *cache = (MotionCache){.log = log};
    Status status = read_layout(cache, model, source, err);
    if (status == STATUS_OK) status = open_file(cache, path, err);
    if (status == STATUS_OK) {
        cache->key = key_of(model, source);
        Header header = {.key = cache->key, .rows = cache->first_row[source->episodes], .slot = cache->slot};
        memcpy(header.magic, MAGIC, sizeof MAGIC);
        header.checksum = XXH3_64bits(&header, offsetof(Header, checksum));
        status = keep_or_empty(cache, &header, err);
    }
    if (status != STATUS_OK) motion_cache_close(cache);
    return status;
}

// ---- records

static off_t place_of(const MotionCache *cache, VideoFrame of) {
    return (off_t)(HEADER_BYTES + (cache->first_row[of.episode] + (size_t)of.frame) * cache->slot);
}

static char *reserve(MotionCache *cache, size_t bytes) {
    struct MotionBuffer *buffer = &cache->buffer;
    if (bytes > buffer->capacity) {
        free(buffer->bytes);
        buffer->bytes = malloc(bytes);
        buffer->capacity = buffer->bytes ? bytes : 0;
    }
    return buffer->bytes;
}

// The checksum covers the key too, so that records of a process with other data or options are never accepted.
static uint64_t checksum_of(const MotionCache *cache, const char *record, size_t bytes) {
    return XXH3_64bits_withSeed(record + sizeof(uint64_t), bytes - sizeof(uint64_t), cache->key);
}

// A field whose arrays follow a record.
static MotionField field_in(char *bytes, size_t points) {
    return motion_field_in((real *)(bytes + sizeof(MotionRecord)), points);
}

// Reads a record into the buffer; false if it is missing or damaged.
static bool find_record(MotionCache *cache, VideoFrame of, MotionRecord *out) {
    char *bytes = cache->is_open ? reserve(cache, cache->slot) : NULL;
    ssize_t got = bytes ? pread(cache->descriptor, bytes, cache->slot, place_of(cache, of)) : 0;
    if (got < (ssize_t)sizeof *out) return false;
    static const MotionRecord never;
    memcpy(out, bytes, sizeof *out);
    if (!memcmp(out, &never, sizeof never)) return false;
    size_t size = record_bytes(out->points, (size_t)out->frames * out->flag_bytes);
    bool whole = out->frames <= GNN_MAX_SETS && size <= (size_t)got && checksum_of(cache, bytes, size) == out->checksum;
    if (whole && out->episode == of.episode && out->frame == of.frame) return true;
    log_note(cache->log, "%s: the motion at episode %d, frame %d is damaged; it is measured again", name_of(cache),
             of.episode, of.frame);
    return false;
}

// Writes a field and flags as a record into the buffer, and into the file if there is one.
static Status keep_record(MotionCache *cache, VideoFrame of, const MotionSeen *seen, MotionRecord *out, Error *err) {
    const MotionField *field = &seen->field;
    *out = (MotionRecord){.episode = of.episode,
                          .frame = of.frame,
                          .points = (uint32_t)field->count,
                          .frames = (uint32_t)seen->frames,
                          .flag_bytes = seen->flag_bytes};
    memcpy(out->light, seen->light, sizeof out->light);
    size_t flags = seen->frames * seen->flag_bytes, numbers = field->count * MOTION_FIELD_WIDTH * sizeof(real),
           size = record_bytes(field->count, flags);
    char *bytes = reserve(cache, size);
    if (!bytes) return error_set(err, STATUS_FAILED, "out of memory for the motion field of a frame");
    memcpy(bytes, out, sizeof *out);
    if (numbers) memcpy(bytes + sizeof *out, field->position, numbers); // one block
    if (flags) memcpy(bytes + sizeof *out + numbers, seen->moving, flags);
    out->checksum = checksum_of(cache, bytes, size);
    memcpy(bytes, out, sizeof *out);
    if (!cache->is_open) return STATUS_OK;
    ssize_t put = pwrite(cache->descriptor, bytes, size, place_of(cache, of));
    if (put != (ssize_t)size) stop_keeping(cache, put < 0 ? errno : ENOSPC);
    return STATUS_OK;
}

// ---- motion of a history

// What the bytes of a record hold.
static MotionSeen seen_in(char *bytes, const MotionRecord *record) {
    MotionSeen out = {.field = field_in(bytes, record->points),
                      .frames = record->frames,
                      .flag_bytes = record->flag_bytes,
                      .moving = record->flag_bytes ? (uint8_t *)bytes + record_bytes(record->points, 0) : NULL};
    memcpy(out.light, record->light, sizeof out.light);
    return out;
}

bool motion_cache_find_seen(MotionCache *cache, VideoFrame present, const MotionSeen **out) {
    MotionRecord record;
    bool found = find_record(cache, present, &record);
    if (!found) return false;
    cache->seen = seen_in(cache->buffer.bytes, &record);
    *out = &cache->seen;
    return true;
}

Status motion_cache_keep_seen(MotionCache *cache, VideoFrame present, const MotionSeen *seen, Error *err) {
    MotionRecord record;
    return keep_record(cache, present, seen, &record, err);
}

// Measures the motion of a history on the model's device, with memory of its own.
static Status measure(MotionCache *cache, const Vpd *model, const Observation *history, VideoFrame present,
                      MotionRecord *record, Error *err) {
    MotionSeen seen = {0};
    Tape tape;
    tape_init(&tape, model->device);
    tape_reset(&tape);
    Status status = vpd_observe(&tape, model, history, &seen, err);
    if (status == STATUS_OK) status = keep_record(cache, present, &seen, record, err);
    motion_seen_free(&seen);
    tape_free(&tape);
    return status;
}

Status motion_cache_seen(MotionCache *cache, Tape *tape, const Vpd *model, const Observation *history,
                         VideoFrame present, MotionSeen *out, Error *err) {
    MotionRecord record = {0};
    Status status = STATUS_OK;
    bool found = find_record(cache, present, &record);
    if (found && record.flag_bytes && record.flag_bytes != motion_flag_bytes(history)) found = false;
    if (!found) status = measure(cache, model, history, present, &record, err);
    if (status != STATUS_OK) return status;
    size_t size = record_bytes(record.points, (size_t)record.frames * record.flag_bytes);
    char *bytes = tape_context(tape, size);
    if (!bytes) return device_status(tape->device, err);
    memcpy(bytes, cache->buffer.bytes, size);
    *out = seen_in(bytes, &record);
    return STATUS_OK;
}
