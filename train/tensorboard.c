// SPDX-License-Identifier: Apache-2.0
#include "train/tensorboard.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t tensorboard_crc32c(const void *bytes, size_t count) {
    const unsigned char *at = bytes;
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < count; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0x82F63B78 & -(crc & 1));
    }
    return ~crc;
}

uint32_t tensorboard_masked_crc(const void *bytes, size_t count) {
    uint32_t crc = tensorboard_crc32c(bytes, count);
    return (crc >> 15 | crc << 17) + 0xA282EAD8;
}

// ---- protobuf

// A message under construction; `bytes` NULL after a failed allocation.
typedef struct Message {
    unsigned char *bytes;
    size_t count, capacity;
    bool failed;
} Message;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 }; // wire types

static void put_bytes(Message *m, const void *bytes, size_t count) {
    if (m->capacity - m->count < count) {
        size_t capacity = 2 * m->capacity + count + 64;
        unsigned char *grown = m->failed ? NULL : realloc(m->bytes, capacity);
        if (!grown) {
            m->failed = true;
            return;
        }
        m->bytes = grown;
        m->capacity = capacity;
    }
    memcpy(m->bytes + m->count, bytes, count);
    m->count += count;
}

static void put_little_endian(Message *m, uint64_t value, int count) {
    unsigned char bytes[8];
    for (int i = 0; i < count; i++) bytes[i] = (unsigned char)(value >> 8 * i);
    put_bytes(m, bytes, (size_t)count);
}

static void put_varint(Message *m, uint64_t value) {
    for (; value >= 128; value >>= 7) put_little_endian(m, (value & 127) | 128, 1);
    put_little_endian(m, value, 1);
}

static void put_tag(Message *m, int field, int wire) { put_varint(m, (uint64_t)(field << 3 | wire)); }

static void put_number(Message *m, int field, uint64_t value) {
    put_tag(m, field, VARINT);
    put_varint(m, value);
}

static void put_block(Message *m, int field, const void *bytes, size_t count) {
    put_tag(m, field, BYTES);
    put_varint(m, count);
    put_bytes(m, bytes, count);
}

// Finishes `inner` and appends it to `outer` as a field.
static void put_message(Message *outer, int field, Message *inner) {
    put_block(outer, field, inner->bytes, inner->count);
    outer->failed |= inner->failed;
    free(inner->bytes);
    *inner = (Message){0};
}

// Event: wall_time = 1, step = 2
static Message begin_event(double wall_time, long step) {
    Message event = {0};
    uint64_t bits;
    memcpy(&bits, &wall_time, sizeof bits);
    put_tag(&event, 1, FIXED64);
    put_little_endian(&event, bits, 8);
    if (step > 0) put_number(&event, 2, (uint64_t)step);
    return event;
}

// ---- records

static Status write_record(TensorBoard *board, Message *event, Error *err) {
    Message record = {0};
    put_little_endian(&record, event->count, 8);
    if (!record.failed) put_little_endian(&record, tensorboard_masked_crc(record.bytes, 8), 4);
    put_bytes(&record, event->bytes, event->count);
    put_little_endian(&record, tensorboard_masked_crc(event->bytes, event->count), 4);
    Status status = STATUS_OK;
    if (record.failed || event->failed) status = error_set(err, STATUS_FAILED, "%s: out of memory", board->path);
    else if (fwrite(record.bytes, 1, record.count, board->file) != record.count)
        status = file_error(err, board->path, "write", errno);
    free(record.bytes);
    free(event->bytes);
    *event = (Message){0};
    return status;
}

// Event.summary = 5; Summary.value = 1; Value.tag = 1, followed by the fields already in `value`.
static Status write_value(TensorBoard *board, double wall_time, long step, Message *value, Error *err) {
    Message summary = {0}, event = begin_event(wall_time, step);
    put_message(&summary, 1, value);
    put_message(&event, 5, &summary);
    return write_record(board, &event, err);
}

Status tensorboard_scalar(TensorBoard *board, double wall_time, long step, const char *tag, double value, Error *err) {
    Message message = {0};
    float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    put_block(&message, 1, tag, strlen(tag));
    put_tag(&message, 2, FIXED32); // Value.simple_value
    put_little_endian(&message, bits, 4);
    return write_value(board, wall_time, step, &message, err);
}

Status tensorboard_image(TensorBoard *board, double wall_time, long step, const char *tag, const Image *image,
                         Error *err) {
    unsigned char *png = NULL;
    size_t size = 0;
    Status status = image_encode_png(image, &png, &size, err);
    if (status != STATUS_OK) return status;
    // Summary.Image: height = 1, width = 2, colorspace = 3 (the number of channels), encoded_image_string = 4
    Message picture = {0}, message = {0};
    put_number(&picture, 1, (uint64_t)image->H);
    put_number(&picture, 2, (uint64_t)image->W);
    put_number(&picture, 3, (uint64_t)image->channels);
    put_block(&picture, 4, png, size);
    free(png);
    put_block(&message, 1, tag, strlen(tag));
    put_message(&message, 4, &picture);
    return write_value(board, wall_time, step, &message, err);
}

Status tensorboard_flush(TensorBoard *board, Error *err) {
    return fflush(board->file) ? file_error(err, board->path, "write", errno) : STATUS_OK;
}

// ---- the file

// Readers sort the files of a folder by name, so names begin with the time.
static int open_new(TensorBoard *board, const char *folder, double wall_time) {
    char host[64] = "";
    if (gethostname(host, sizeof host - 1) || strchr(host, '/')) host[0] = 0;
    for (int i = 0; i < 1000; i++) {
        int n = snprintf(board->path, sizeof board->path, "%s/events.out.tfevents.%010lld.%s.%ld.%d", folder,
                         (long long)wall_time, *host ? host : "host", (long)getpid(), i);
        if (n >= (int)sizeof board->path) return ENAMETOOLONG;
        int fd = open(board->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            board->file = fdopen(fd, "wb");
            if (board->file) return 0;
            close(fd);
            return ENOMEM;
        }
        if (errno != EEXIST) return errno;
    }
    return EEXIST;
}

// file_version = 3; for a resumed run session_log = 7 with status = 1: START
static Status write_start(TensorBoard *board, double wall_time, long forget_from, Error *err) {
    static const char version[] = "brain.Event:2";
    Message event = begin_event(wall_time, 0), session = {0};
    put_block(&event, 3, version, sizeof version - 1);
    Status status = write_record(board, &event, err);
    if (status != STATUS_OK || forget_from < 0) return status;
    event = begin_event(wall_time, forget_from);
    put_number(&session, 1, 1);
    put_message(&event, 7, &session);
    return write_record(board, &event, err);
}

Status tensorboard_open(TensorBoard *board, const char *folder, double wall_time, long forget_from, Error *err) {
    *board = (TensorBoard){0};
    int code = open_new(board, folder, wall_time);
    if (code) return file_error(err, board->path, "write", code);
    Status status = write_start(board, wall_time, forget_from, err);
    if (status == STATUS_OK) status = tensorboard_flush(board, err);
    if (status != STATUS_OK) tensorboard_close(board);
    return status;
}

void tensorboard_close(TensorBoard *board) {
    if (board->file) fclose(board->file);
    board->file = NULL;
}
