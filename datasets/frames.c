// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"
#include "base/stop.h"
#include "datasets/dataset_private.h"
#include "datasets/pixels.h"
#include "datasets/stored.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The pixel arrays of one episode, open during one read; `fd` where the index says how they lie in the file.
typedef struct PixelArrays {
    H5Place file, group;
    bool own_file, open;
    int fd;
    PixelArray rgb, depth, mask;
} PixelArrays;

struct FramesPrivate {
    char *block; // every array of Frames
    size_t capacity;
    uint8_t *image; // one image as stored: rgb, depth, mask
    size_t image_capacity;
    ChunkDecoder decoder;
};

void frames_free(Frames *frames) {
    struct FramesPrivate *own = frames->private_;
    if (own) {
        chunk_decoder_free(&own->decoder);
        free(own->block);
        free(own->image);
        free(own);
    }
    *frames = (Frames){0};
}

// Bytes of an array, padded to 64 and added to *total; false on overflow. *offset gets its place.
static bool place_array(size_t count, size_t width, size_t *offset, size_t *total) {
    size_t bytes;
    *offset = *total;
    if (!size_mul(count, width, &bytes) || !size_add(bytes, 63, &bytes)) return false;
    return size_add(*total, bytes & ~(size_t)63, total);
}

typedef struct FramesLayout {
    size_t views, rgb, depth, mask, intrinsics, poses, time, actions, position, quaternion, total;
} FramesLayout;

static bool lay_out(const EpisodeInfo *info, size_t F, size_t V, FramesLayout *at) {
    size_t images, pixels, A = (size_t)info->A, O = (size_t)info->O, *total = &at->total;
    *at = (FramesLayout){0};
    if (!size_mul(F, V, &images) || !size_mul(images, (size_t)info->H * (size_t)info->W, &pixels)) return false;
    return place_array(V, sizeof(int), &at->views, total) && place_array(pixels, 3, &at->rgb, total) &&
           place_array(pixels, 4, &at->depth, total) && place_array(info->has_mask ? pixels : 0, 2, &at->mask, total) &&
           place_array(9 * V, 8, &at->intrinsics, total) && place_array(16 * images, 8, &at->poses, total) &&
           place_array(F, 8, &at->time, total) && place_array(F * A, 4, &at->actions, total) &&
           place_array(3 * F * O, 8, &at->position, total) && place_array(4 * F * O, 8, &at->quaternion, total);
}

static Status no_memory(const EpisodeInfo *info, size_t bytes, Error *err) {
    return error_set(err, STATUS_FAILED, "%s:/episodes/%s: no memory for %zu bytes of frames; ask for fewer",
                     info->file, info->name, bytes);
}

// Makes room and points every array of `frames` into the block.
static Status reserve(const EpisodeInfo *info, size_t F, size_t V, size_t image_bytes, Frames *frames, Error *err) {
    FramesLayout at;
    if (!frames->private_) frames->private_ = calloc(1, sizeof *frames->private_);
    struct FramesPrivate *own = frames->private_;
    if (!own || !lay_out(info, F, V, &at)) return no_memory(info, SIZE_MAX, err);
    if (own->capacity < at.total) {
        free(own->block);
        own->block = aligned_alloc(64, at.total);
        own->capacity = own->block ? at.total : 0;
        if (!own->block) return no_memory(info, at.total, err);
    }
    if (own->image_capacity < image_bytes) {
        free(own->image);
        own->image = malloc(image_bytes);
        own->image_capacity = own->image ? image_bytes : 0;
        if (!own->image) return no_memory(info, image_bytes, err);
    }
    char *block = own->block;
    frames->views = (int *)(block + at.views);
    frames->rgb = (uint8_t *)(block + at.rgb);
    frames->depth = (float *)(block + at.depth);
    frames->mask = info->has_mask ? (uint16_t *)(block + at.mask) : NULL;
    frames->intrinsics = (double *)(block + at.intrinsics);
    frames->world_from_camera = (double *)(block + at.poses);
    frames->time = (double *)(block + at.time);
    frames->actions = info->actions ? (float *)(block + at.actions) : NULL;
    frames->object_position = info->object_position ? (double *)(block + at.position) : NULL;
    frames->object_quaternion = info->object_quaternion ? (double *)(block + at.quaternion) : NULL;
    return STATUS_OK;
}

static Status check_request(const EpisodeInfo *info, FrameRequest request, Error *err) {
    long long last = request.first + (long long)(request.count - 1) * request.stride;
    if (request.count < 1 || request.first < 0 || request.stride < 1 || last >= info->F)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:/episodes/%s: expected frames within 0 to %d, asked for %d from %d by %d", info->file,
                         info->name, info->F - 1, request.count, request.first, request.stride);
    for (int i = 0; request.views && i < request.view_count; i++) {
        if (request.views[i] < 0 || request.views[i] >= info->V)
            return error_set(err, STATUS_BAD_INPUT, "%s:/episodes/%s: expected views within 0 to %d, asked for %d",
                             info->file, info->name, info->V - 1, request.views[i]);
    }
    if (request.views && request.view_count < 1)
        return error_set(err, STATUS_BAD_INPUT, "%s:/episodes/%s: asked for no view", info->file, info->name);
    return STATUS_OK;
}

// Everything but the pixels comes from the episode's description.
static void copy_small(const EpisodeInfo *info, Frames *out) {
    size_t A = (size_t)info->A, O = (size_t)info->O, V = (size_t)out->V;
    for (size_t v = 0; v < V; v++)
        memcpy(out->intrinsics + 9 * v, info->intrinsics + 9 * out->views[v], 9 * sizeof(double));
    for (size_t i = 0; i < (size_t)out->F; i++) {
        size_t f = (size_t)out->first + i * (size_t)out->stride;
        out->time[i] = info->time[f];
        for (size_t v = 0; v < V; v++)
            memcpy(out->world_from_camera + 16 * (i * V + v), episode_pose(info, (int)f, out->views[v]),
                   16 * sizeof(double));
        if (info->actions) memcpy(out->actions + i * A, info->actions + f * A, A * sizeof(float));
        if (info->object_position)
            memcpy(out->object_position + 3 * i * O, info->object_position + 3 * f * O, 3 * O * sizeof(double));
        if (info->object_quaternion)
            memcpy(out->object_quaternion + 4 * i * O, info->object_quaternion + 4 * f * O, 4 * O * sizeof(double));
    }
}

static Status open_pixels(const H5Place *group, const char *name, unsigned kinds, const EpisodeInfo *info,
                          PixelArray *out, Error *err) {
    H5Array array;
    int rank = kinds == H5_U8 ? 5 : 4;
    H5Expect expect = {.kinds = kinds,
                       .rank = rank,
                       .letters = rank == 5 ? "F,V,H,W,3" : "F,V,H,W",
                       .dims = {(hsize_t)info->F, (hsize_t)info->V, (hsize_t)info->H, (hsize_t)info->W, 3}};
    Status status = h5_open_array(group, name, true, &expect, &array, NULL, err);
    if (!status) pixel_array_init(out, &array);
    return status;
}

static Status open_arrays(const Dataset *dataset, int episode, PixelArrays *arrays, Error *err) {
    const EpisodeInfo *info = &dataset->episodes[episode].info;
    arrays->open = true;
    Status status = dataset_open_episode(dataset, episode, &arrays->file, &arrays->own_file, &arrays->group, err);
    if (!status) status = open_pixels(&arrays->group, "rgb", H5_U8, info, &arrays->rgb, err);
    if (!status)
        status = open_pixels(&arrays->group, "depth", info->depth_is_u16 ? H5_U16 : H5_F32, info, &arrays->depth, err);
    if (!status && info->has_mask) status = open_pixels(&arrays->group, "mask", H5_U16, info, &arrays->mask, err);
    return status;
}

static void close_arrays(PixelArrays *arrays) {
    if (arrays->fd >= 0) close(arrays->fd);
    pixel_array_close(&arrays->rgb);
    pixel_array_close(&arrays->depth);
    pixel_array_close(&arrays->mask);
    h5_close(&arrays->group);
    if (arrays->own_file) h5_close(&arrays->file);
}

// The same without HDF5.
static Status fetch_stored(const Dataset *dataset, const Frames *frames, PixelArrays *arrays, int frame, int view,
                           Error *err) {
    const Episode *episode = &dataset->episodes[frames->episode];
    const EpisodeInfo *info = &episode->info;
    struct FramesPrivate *own = frames->private_;
    size_t pixels = (size_t)info->H * (size_t)info->W;
    uint8_t *depth = own->image + 3 * pixels, *mask = depth + pixels * (info->depth_is_u16 ? 2 : 4);
    Status status = arrays->open ? STATUS_OK : stored_open(&dataset->files[episode->file], &arrays->fd, err);
    if (!status && !arrays->open)
        stored_announce(info, arrays->fd, frames->first, frames->first + (frames->F - 1) * frames->stride);
    arrays->open = true;
    if (!status) status = stored_read(info, arrays->fd, STORED_RGB, &own->decoder, frame, view, own->image, err);
    if (!status) status = stored_read(info, arrays->fd, STORED_DEPTH, &own->decoder, frame, view, depth, err);
    if (!status && info->has_mask)
        status = stored_read(info, arrays->fd, STORED_MASK, &own->decoder, frame, view, mask, err);
    return status;
}

// One image from the file into own->image as stored: rgb, depth, mask.
static Status fetch(const Dataset *dataset, int episode, PixelArrays *arrays, struct FramesPrivate *own, int frame,
                    int view, Error *err) {
    const EpisodeInfo *info = &dataset->episodes[episode].info;
    size_t pixels = (size_t)info->H * (size_t)info->W;
    uint8_t *depth = own->image + 3 * pixels, *mask = depth + pixels * (info->depth_is_u16 ? 2 : 4);
    Status status = arrays->open ? STATUS_OK : open_arrays(dataset, episode, arrays, err);
    if (!status) status = pixel_array_read(&arrays->rgb, &own->decoder, frame, view, own->image, err);
    if (!status) status = pixel_array_read(&arrays->depth, &own->decoder, frame, view, depth, err);
    if (!status && info->has_mask) status = pixel_array_read(&arrays->mask, &own->decoder, frame, view, mask, err);
    return status;
}

static Status convert_f32(const EpisodeInfo *info, const uint8_t *from, size_t pixels, float *out, int frame, int view,
                          Error *err) {
    memcpy(out, from, pixels * sizeof *out);
    for (size_t i = 0; i < pixels; i++) {
        if (!isfinite(out[i])) out[i] = 0;
        if (out[i] < 0)
            return error_set(err, STATUS_BAD_INPUT,
                             "%s:/episodes/%s/depth: expected metres >= 0 with 0 for missing, found %g "
                             "in frame %d, view %d, row %zu, column %zu",
                             info->file, info->name, out[i], frame, view, i / (size_t)info->W, i % (size_t)info->W);
    }
    return STATUS_OK;
}

// Stored image to image number `at` of `out`.
static Status convert(const EpisodeInfo *info, const uint8_t *stored, size_t at, int frame, int view, Frames *out,
                      Error *err) {
    size_t pixels = (size_t)info->H * (size_t)info->W;
    const uint8_t *depth = stored + 3 * pixels;
    float *metres = out->depth + at * pixels;
    memcpy(out->rgb + 3 * at * pixels, stored, 3 * pixels); // NOLINT: reserve() has set it
    if (out->mask) memcpy(out->mask + at * pixels, depth + pixels * (info->depth_is_u16 ? 2 : 4), 2 * pixels);
    if (!info->depth_is_u16) return convert_f32(info, depth, pixels, metres, frame, view, err);
    for (size_t i = 0; i < pixels; i++) {
        uint16_t units;
        memcpy(&units, depth + 2 * i, 2);
        metres[i] = (float)(units * info->depth_scale);
    }
    return STATUS_OK;
}

static Status read_images(const Dataset *dataset, ImageCache *cache, size_t image_bytes, Frames *out, Error *err) {
    const Episode *episode = &dataset->episodes[out->episode];
    struct FramesPrivate *own = out->private_;
    PixelArrays arrays = {.fd = -1};
    Status status = STATUS_OK;
    for (size_t at = 0; !status && at < (size_t)out->F * (size_t)out->V; at++) {
        int frame = out->first + (int)(at / (size_t)out->V) * out->stride, view = out->views[at % (size_t)out->V];
        size_t index = episode->first_image + (size_t)frame * (size_t)episode->info.V + (size_t)view;
        const uint8_t *stored = cache ? image_cache_get(cache, index) : NULL;
        if (!stored && stop_requested()) {
            status = stop_error(err);
        } else if (!stored) {
            status = episode->info.stored ? fetch_stored(dataset, out, &arrays, frame, view, err)
                                          : fetch(dataset, out->episode, &arrays, own, frame, view, err);
            stored = own->image;
            if (!status && cache) image_cache_put(cache, index, stored, image_bytes);
        }
        if (!status) status = convert(&episode->info, stored, at, frame, view, out, err);
    }
    close_arrays(&arrays);
    return status;
}

Status dataset_read_cached(const Dataset *dataset, FrameRequest request, ImageCache *cache, Frames *out, Error *err) {
    const EpisodeInfo *info = dataset_episode(dataset, request.episode);
    if (request.stride == 0) request.stride = 1;
    Status status = check_request(info, request, err);
    if (status) return status;
    size_t F = (size_t)request.count, V = request.views ? (size_t)request.view_count : (size_t)info->V;
    size_t image_bytes =
        (size_t)info->H * (size_t)info->W * (3 + (info->depth_is_u16 ? 2 : 4) + (info->has_mask ? 2 : 0));
    status = reserve(info, F, V, image_bytes, out, err);
    if (status) return status;
    out->episode = request.episode;
    out->first = request.first;
    out->stride = request.stride;
    out->F = (int)F;
    out->V = (int)V;
    out->H = info->H;
    out->W = info->W;
    out->A = info->A;
    out->O = info->O;
    out->bounds = info->bounds;
    for (int v = 0; v < out->V; v++) out->views[v] = request.views ? request.views[v] : v; // NOLINT: the same
    copy_small(info, out);
    return read_images(dataset, cache, image_bytes, out, err);
}

Observation frames_observation(const Frames *frames) {
    int last = frames->F - 1;
    return (Observation){.F = frames->F,
                         .V = frames->V,
                         .H = frames->H,
                         .W = frames->W,
                         .views = frames->views,
                         .rgb = frames->rgb,
                         .depth = frames->depth,
                         .intrinsics = frames->intrinsics,
                         .world_from_camera = frames->world_from_camera,
                         .time_step = last > 0 ? (frames->time[last] - frames->time[0]) / last : 0,
                         .bounds = frames->bounds};
}

Status dataset_read_frames(const Dataset *dataset, FrameRequest request, Frames *out, Error *err) {
    return dataset_read_cached(dataset, request, NULL, out, err);
}
