// SPDX-License-Identifier: Apache-2.0
// Writes "vpd-dataset" files (docs/data.md), crash-safe: under a temporary name, synced, renamed at the end. In goes
// one episode after the other, image by image; no more than one image is held in memory.
//   open; { begin_episode; pack and put_packed for every (frame, view); end_episode } ...; finish or discard
// Shapes as in datasets/dataset.h. Chunk = one image; filters shuffle + deflate + fletcher32.
#ifndef VPD_DATASETS_WRITER_H
#define VPD_DATASETS_WRITER_H

#include "datasets/dataset.h"
#include "datasets/h5.h"
#include "datasets/pack.h"

typedef struct DatasetWriter DatasetWriter;

typedef struct WriterOptions {
    const char *name, *generator, *licence; // NULL: left out ("vpd" for generator)
    MissingDepth missing_depth;
    int deflate_level; // 1..9; 0 counts as 4
} WriterOptions;

// All of an episode but its pixels. `info` uses F V H W A O, split, source, scene, has_mask, moving_cameras,
// depth_is_u16, depth_scale, and the arrays; `file`, `name`, `time_step` and `even_time` are ignored.
Status dataset_writer_open(const char *path, const WriterOptions *options, DatasetWriter **out, Error *err);
Status dataset_writer_begin_episode(DatasetWriter *writer, const EpisodeInfo *info, Error *err);

// An image is written in two steps: any number of threads pack, one puts.
// rgb (H,W,3); depth (H,W): u16 in units of depth_scale when depth_is_u16, else f32 metres; mask (H,W) or NULL.
typedef struct PackedImage {
    PackedBytes rgb, depth, mask;
} PackedImage;

Status dataset_writer_pack(const DatasetWriter *writer, const uint8_t *rgb, const void *depth, const uint16_t *mask,
                           PackedImage *out, Error *err);
Status dataset_writer_put_packed(DatasetWriter *writer, int frame, int view, const PackedImage *image, Error *err);
void packed_image_free(PackedImage *image); // accepts {0}

// One more array of state/ (docs/data.md), "vertices" or another that no reader needs.
Status dataset_writer_put_state(DatasetWriter *writer, const char *name, H5Kind kind, int rank, const size_t *dims,
                                const void *values, Error *err);

// Every image must have been put.
Status dataset_writer_end_episode(DatasetWriter *writer, Error *err);

// Makes the file appear under its name, or leaves whatever was there before. The writer is gone after either call.
Status dataset_writer_finish(DatasetWriter *writer, Error *err);
void dataset_writer_discard(DatasetWriter *writer); // accepts NULL

#endif
