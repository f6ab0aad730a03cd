// SPDX-License-Identifier: Apache-2.0
// TensorBoard event files: records of (u64 length, its masked CRC-32C, an Event in protobuf, its masked CRC-32C). The
// fields are defined in tensorflow/core/util/event.proto and summary.proto.
#ifndef VPD_TRAIN_TENSORBOARD_H
#define VPD_TRAIN_TENSORBOARD_H

#include "base/error.h"
#include "base/image.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct TensorBoard {
    FILE *file;
    char path[4096];
} TensorBoard;

// Creates a file in `folder`. wall_time: seconds since 1970. forget_from >= 0: a resumed run; readers discard what
// earlier files say about steps from there on.
Status tensorboard_open(TensorBoard *board, const char *folder, double wall_time, long forget_from, Error *err);
void tensorboard_close(TensorBoard *board); // accepts {0}

Status tensorboard_scalar(TensorBoard *board, double wall_time, long step, const char *tag, double value, Error *err);
// An 8-bit picture of 1 to 4 channels, stored as PNG.
Status tensorboard_image(TensorBoard *board, double wall_time, long step, const char *tag, const Image *image,
                         Error *err);
Status tensorboard_flush(TensorBoard *board, Error *err);

// CRC-32C (Castagnoli), and its masked form in records: rotated right by 15 bits, plus 0xa282ead8.
uint32_t tensorboard_crc32c(const void *bytes, size_t count);
uint32_t tensorboard_masked_crc(const void *bytes, size_t count);

#endif
