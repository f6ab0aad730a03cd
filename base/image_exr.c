// SPDX-License-Identifier: Apache-2.0
// OpenEXR by its C library. One channel (or the one called Z) is depth: floats as they stand. R, G and B are a colour
// picture: scene-linear light, which becomes 8-bit sRGB. Only scan lines without compression or with RLE, ZIPS or ZIP:
// other forms would enlarge the attack surface.
#include "base/image_codecs.h"

#include <math.h>
#include <OpenEXR/openexr.h>
#include <stdlib.h>
#include <string.h>

enum { EXR_RATIO_MAX = 4096 }; // pixels of two bytes, deflated to 1032 : 1 at best

typedef struct ExrFile {
    const unsigned char *bytes;
    size_t size;
} ExrFile;

bool image_is_exr(const unsigned char *bytes, size_t size) { return size >= 4 && memcmp(bytes, "v/1\1", 4) == 0; }

static int64_t read_some(exr_const_context_t context, void *owner, void *buffer, uint64_t count, uint64_t offset,
                         exr_stream_error_func_ptr_t fail) {
    const ExrFile *file = owner;
    (void)context;
    (void)fail;
    if (offset > file->size) return -1;
    size_t left = file->size - (size_t)offset, take = count < left ? (size_t)count : left;
    memcpy(buffer, file->bytes + offset, take);
    return (int64_t)take;
}

static int64_t size_of(exr_const_context_t context, void *owner) {
    (void)context;
    return (int64_t)((const ExrFile *)owner)->size;
}

static void say_nothing(exr_const_context_t context, exr_result_t code, const char *text) {
    (void)context;
    (void)code;
    (void)text;
}

// The channels that are wanted, in the order of the picture's; -1: not there.
typedef struct Wanted {
    int index[3], count;
} Wanted;

static int find_channel(const exr_attr_chlist_t *list, const char *name) {
    for (int i = 0; i < list->num_channels; i++)
        if (strcmp(list->entries[i].name.str, name) == 0) return i;
    return -1;
}

static Status choose_channels(const exr_attr_chlist_t *list, Wanted *out, Error *err) {
    int z = find_channel(list, "Z"), r = find_channel(list, "R"), g = find_channel(list, "G"),
        b = find_channel(list, "B");
    if (list->num_channels == 1) z = 0;
    if (z < 0 && (r < 0 || g < 0 || b < 0))
        return error_set(
            err, STATUS_BAD_INPUT,
            "expected an EXR picture with one channel, with Z or with R, G and B, found %d with other names",
            list->num_channels);
    *out = z >= 0 ? (Wanted){{z}, 1} : (Wanted){{r, g, b}, 3};
    for (int i = 0; i < out->count; i++) {
        const exr_attr_chlist_entry_t *channel = &list->entries[out->index[i]];
        if (channel->x_sampling != 1 || channel->y_sampling != 1)
            return error_set(err, STATUS_BAD_INPUT,
                             "expected an EXR channel with all its pixels, found a subsampled one");
    }
    return STATUS_OK;
}

static Status read_shape(exr_const_context_t file, size_t size, exr_attr_box2i_t *window, Wanted *wanted, Error *err) {
    const exr_attr_chlist_t *channels = NULL;
    exr_storage_t storage = EXR_STORAGE_LAST_TYPE;
    exr_compression_t compression = EXR_COMPRESSION_LAST_TYPE;
    int parts = 0;
    if (exr_get_count(file, &parts) || parts != 1 || exr_get_storage(file, 0, &storage) ||
        storage != EXR_STORAGE_SCANLINE)
        return error_set(err, STATUS_BAD_INPUT,
                         "expected an EXR picture of one part in scan lines, found %d parts or tiles or deep data",
                         parts);
    if (exr_get_compression(file, 0, &compression) || compression > EXR_COMPRESSION_ZIP)
        return error_set(err, STATUS_BAD_INPUT,
                         "expected an EXR picture without compression, or with RLE, ZIPS or ZIP, found number %d; save "
                         "it with ZIP",
                         (int)compression);
    if (exr_get_data_window(file, 0, window) || exr_get_channels(file, 0, &channels) || !channels)
        return error_set(err, STATUS_BAD_INPUT, "the EXR picture is damaged (header)");
    int64_t W = (int64_t)window->max.x - window->min.x + 1, H = (int64_t)window->max.y - window->min.y + 1;
    Status status = image_check_size(H, W, err);
    if (status) return status;
    if ((uint64_t)(W * H) / EXR_RATIO_MAX > size)
        return error_set(err, STATUS_BAD_INPUT, "declares %lld x %lld pixels, more than its %zu bytes can hold",
                         (long long)W, (long long)H, size);
    return choose_channels(channels, wanted, err);
}

// Where the lines from y on go. Channels that are not wanted all go to spare, which holds the floats of one chunk:
// without a place some of the library's ways of unpacking write to address 0.
static void aim(exr_decode_pipeline_t *decode, const Wanted *wanted, const Image *out, float *spare, int y) {
    for (int c = 0; c < decode->channel_count; c++) {
        exr_coding_channel_info_t *channel = &decode->channels[c];
        size_t pixel = sizeof(float);
        channel->decode_to_ptr = (uint8_t *)spare;
        for (int i = 0; i < wanted->count; i++)
            if (wanted->index[i] == c) {
                pixel = (size_t)wanted->count * sizeof(float);
                channel->decode_to_ptr =
                    (uint8_t *)((float *)out->pixels + (size_t)y * (size_t)out->W * (size_t)wanted->count + i);
            }
        channel->user_pixel_stride = (int32_t)pixel;
        channel->user_line_stride = (int32_t)((size_t)out->W * pixel);
        channel->user_bytes_per_element = sizeof(float);
        channel->user_data_type = EXR_PIXEL_FLOAT;
    }
}

// Chunk after chunk of lines, each at its own place.
static bool read_lines(exr_const_context_t file, const exr_attr_box2i_t *window, const Wanted *wanted, Image *out) {
    exr_decode_pipeline_t decode = EXR_DECODE_PIPELINE_INITIALIZER;
    int32_t step = 0;
    if (exr_get_scanlines_per_chunk(file, 0, &step) != EXR_ERR_SUCCESS || step < 1) return false;
    float *spare = calloc((size_t)step * (size_t)out->W, sizeof *spare);
    bool good = spare;
    for (int y = 0; good && y < out->H; y += step) {
        exr_chunk_info_t chunk;
        good = exr_read_scanline_chunk_info(file, 0, window->min.y + y, &chunk) == EXR_ERR_SUCCESS &&
               chunk.start_y == window->min.y + y && chunk.height > 0 && chunk.height <= step &&
               chunk.height <= out->H - y && chunk.width == out->W;
        if (good && y == 0) good = exr_decoding_initialize(file, 0, &chunk, &decode) == EXR_ERR_SUCCESS;
        else if (good) good = exr_decoding_update(file, 0, &chunk, &decode) == EXR_ERR_SUCCESS;
        if (!good) break;
        aim(&decode, wanted, out, spare, y);
        if (y == 0) good = exr_decoding_choose_default_routines(file, 0, &decode) == EXR_ERR_SUCCESS;
        good = good && exr_decoding_run(file, 0, &decode) == EXR_ERR_SUCCESS;
    }
    exr_decoding_destroy(file, &decode);
    free(spare);
    return good;
}

static uint8_t to_srgb(float light) {
    double l = light > 0 ? fmin(light, 1) : 0; // NaN is black
    double coded = l <= 0.0031308 ? 12.92 * l : 1.055 * pow(l, 1 / 2.4) - 0.055;
    return (uint8_t)(255 * coded + 0.5);
}

static Status to_colour(Image *floats, Error *err) {
    Image rgb = {0};
    Status status = image_create(floats->H, floats->W, 3, PIXEL_U8, &rgb, err);
    size_t count = status ? 0 : image_bytes(&rgb);
    for (size_t i = 0; i < count; i++) ((uint8_t *)rgb.pixels)[i] = to_srgb(((const float *)floats->pixels)[i]);
    image_free(floats);
    *floats = rgb;
    return status;
}

Status image_decode_exr(const unsigned char *bytes, size_t size, Image *out, Error *err) {
    ExrFile owner = {bytes, size};
    exr_context_initializer_t how = EXR_DEFAULT_CONTEXT_INITIALIZER;
    exr_context_t file = NULL;
    exr_attr_box2i_t window;
    Wanted wanted;
    how.error_handler_fn = say_nothing;
    how.user_data = &owner;
    how.read_fn = read_some;
    how.size_fn = size_of;
    how.max_image_width = how.max_image_height = 64 * IMAGE_SIDE_MAX; // too large ones are told apart from damaged ones
    if (exr_start_read(&file, "picture", &how) != EXR_ERR_SUCCESS)
        return error_set(err, STATUS_BAD_INPUT, "the EXR picture is damaged or cut short (header)");
    Status status = read_shape(file, size, &window, &wanted, err);
    if (!status)
        status = image_create(window.max.y - window.min.y + 1, window.max.x - window.min.x + 1, wanted.count, PIXEL_F32,
                              out, err);
    if (!status && !read_lines(file, &window, &wanted, out))
        status = error_set(err, STATUS_BAD_INPUT, "the EXR picture is damaged or cut short");
    exr_finish(&file);
    return !status && wanted.count == 3 ? to_colour(out, err) : status;
}
