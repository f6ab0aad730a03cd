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

enum { FORMAT = 3 };

void motion_cache_close(MotionCache *cache) {
    if (cache->is_open) close(cache->descriptor);
    free(cache->path);
    free(cache->block);
    free(cache->buffer.bytes);
    *cache = (MotionCache){0};
}

// ---- the file

static const char *name_of(const MotionCache *cache) { return cache->path ? cache->path : "motion in memory"; }

// After a failed write, as on a full disk.
static void stop_writing(MotionCache *cache, int error) {
    log_warning(cache->log,
                "%s: cannot write (%s); training continues, and measures motion that is not in it whenever it is "
                "needed",
                name_of(cache), strerror(error));
    cache->is_full = true;
}

// A hash of all that the motion in every episode depends on.
static uint64_t hash_of_options(const Vpd *model) {
    MotionOptions o = vpd_motion_options(model);
    char text[600];
    int length = snprintf(text, sizeof text, "%d %d %s %d %d %a %a %a %u %ld", FORMAT, MOTION_VERSION, version_number(),
                          vpd_has_bodies(model), o.crop, o.moving_threshold, o.colour_length, o.extent, o.seed,
                          model->config.model.T);
    return XXH3_64bits(text, (size_t)length);
}

static size_t round_up(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t record_bytes(size_t points, size_t flags) {
    return sizeof(MotionRecord) + points * MOTION_FIELD_WIDTH * sizeof(real) + flags;
}

// The blocks that episodes need, without places.
static Status describe_blocks(MotionCache *cache, const Vpd *model, int count, const MotionEpisode *episode,
                              uint64_t options, Error *err) {
    cache->block = calloc((size_t)count + 1, sizeof *cache->block);
    if (!cache->block) return error_no_memory(err, "the motion of %d episodes", count);
    for (int e = 0; e < count; e++) {
        const uint64_t own[] = {episode[e].data, episode[e].pixels, (uint64_t)episode[e].frames};
        size_t flags = (size_t)model->config.model.T * ((episode[e].pixels + 7) / 8);
        cache->block[e] = (MotionBlock){.key = XXH3_64bits_withSeed(own, sizeof own, options),
                                        .slot = round_up(record_bytes(motion_seen_points(), flags)),
                                        .frames = episode[e].frames};
    }
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

Status motion_cache_open(MotionCache *cache, const char *path, const Vpd *model, int count,
                         const MotionEpisode *episode, const Log *log, Error *err) {
    *cache = (MotionCache){.log = log};
    uint64_t options = hash_of_options(model);
    int write_error = 0;
    Status status = describe_blocks(cache, model, count, episode, options, err);
    if (status == STATUS_OK) status = open_file(cache, path, err);
    if (status == STATUS_OK) {
        MotionTable table = {.file = cache->descriptor,
                             .name = name_of(cache),
                             .log = log,
                             .options = options,
                             .extent = model->config.data.extent,
                             .count = (size_t)count,
                             .block = cache->block};
        status = motion_table_open(&table, &write_error, err);
    }
    if (status != STATUS_OK) motion_cache_close(cache);
    else if (write_error) stop_writing(cache, write_error);
    return status;
}

// ---- records

// The block of the frame's episode; NULL: the file has no slot for the frame.
static const MotionBlock *block_of(const MotionCache *cache, VideoFrame of) {
    const MotionBlock *block = cache->is_open ? &cache->block[of.episode] : NULL;
    return block && block->at && of.frame < block->frames ? block : NULL;
}

static off_t place_of(const MotionBlock *block, VideoFrame of) {
    return (off_t)(block->at + (size_t)of.frame * block->slot);
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

static uint64_t checksum_of(const char *record, size_t bytes) {
    return XXH3_64bits(record + sizeof(uint64_t), bytes - sizeof(uint64_t));
}

// A field whose arrays follow a record.
static MotionField field_in(char *bytes, size_t points) {
    return motion_field_in((real *)(bytes + sizeof(MotionRecord)), points);
}

// Reads a record into the buffer; false if it is missing or damaged.
static bool find_record(MotionCache *cache, VideoFrame of, MotionRecord *out) {
    const MotionBlock *block = block_of(cache, of);
    char *bytes = block ? reserve(cache, block->slot) : NULL;
    ssize_t got = bytes ? pread(cache->descriptor, bytes, block->slot, place_of(block, of)) : 0;
    if (got < (ssize_t)sizeof *out) return false;
    memcpy(out, bytes, sizeof *out);
    if (out->key != block->key) return false;
    bool fits = out->frames <= GNN_MAX_SETS && out->flag_bytes <= block->slot;
    size_t size = fits ? record_bytes(out->points, (size_t)out->frames * out->flag_bytes) : SIZE_MAX;
    bool whole = size <= (size_t)got && checksum_of(bytes, size) == out->checksum;
    if (whole && out->frame == of.frame) return true;
    log_note(cache->log, "%s: the motion at episode %d, frame %d is damaged; it is measured again", name_of(cache),
             of.episode, of.frame);
    return false;
}

// Writes a record's arrays, then what is before them, so that a record that was cut short is missing.
static void write_record(MotionCache *cache, const char *bytes, size_t size, off_t at) {
    size_t head = sizeof(MotionRecord), rest = size - head;
    errno = ENOSPC; // for a write that is cut short
    if (pwrite(cache->descriptor, bytes + head, rest, at + (off_t)head) != (ssize_t)rest ||
        pwrite(cache->descriptor, bytes, head, at) != (ssize_t)head)
        stop_writing(cache, errno);
}

// Writes a field and flags as a record into the buffer, and into the file if there is one.
static Status keep_record(MotionCache *cache, VideoFrame of, const MotionSeen *seen, MotionRecord *out, Error *err) {
    const MotionField *field = &seen->field;
    const MotionBlock *block = block_of(cache, of);
    *out = (MotionRecord){.key = block ? block->key : 0,
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
    out->checksum = checksum_of(bytes, size);
    memcpy(bytes, out, sizeof *out);
    if (block && !cache->is_full) write_record(cache, bytes, size, place_of(block, of));
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
