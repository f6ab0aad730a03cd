// SPDX-License-Identifier: Apache-2.0
#include "base/image_codecs.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

enum { JPEG_RATIO_MAX = 4096 }; // a grey 8x8 block takes two bits at least

typedef struct JpegJob {
    struct jpeg_error_mgr manager; // first, so that libjpeg's pointer is ours
    jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
} JpegJob;

static void take_error(j_common_ptr common) {
    JpegJob *job = (JpegJob *)common->err;
    job->manager.format_message(common, job->message);
    longjmp(job->jump, 1);
}

// A warning is data that is missing or wrong: libjpeg would fill it with grey.
static void take_warning(j_common_ptr common, int level) {
    if (level < 0) take_error(common);
}

static void say_nothing(j_common_ptr common) { (void)common; }

static Status read_header(struct jpeg_decompress_struct *jpeg, size_t size, Image *out, Error *err) {
    jpeg_read_header(jpeg, TRUE);
    int channels = jpeg->num_components == 1 ? 1 : 3;
    if (jpeg->num_components != 1 && jpeg->num_components != 3)
        return error_set(err, STATUS_BAD_INPUT, "expected a grey or colour JPEG, found %d components",
                         jpeg->num_components);
    size_t pixels = (size_t)jpeg->image_width * jpeg->image_height;
    if (pixels / JPEG_RATIO_MAX > size)
        return error_set(err, STATUS_BAD_INPUT, "declares %u x %u pixels, more than its %zu bytes can hold",
                         jpeg->image_width, jpeg->image_height, size);
    jpeg->out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return image_create((int)jpeg->image_height, (int)jpeg->image_width, channels, PIXEL_U8, out, err);
}

static Status decode(struct jpeg_decompress_struct *jpeg, JpegJob *job, const unsigned char *bytes, size_t size,
                     Image *out, Error *err) {
    if (setjmp(job->jump)) return error_set(err, STATUS_BAD_INPUT, "the JPEG is damaged (%s)", job->message);
    jpeg_mem_src(jpeg, bytes, (unsigned long)size);
    Status status = read_header(jpeg, size, out, err);
    if (status) return status;
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW row = (JSAMPROW)out->pixels + (size_t)jpeg->output_scanline * (size_t)out->W * (size_t)out->channels;
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
    return STATUS_OK;
}

Status image_decode_jpeg(const unsigned char *bytes, size_t size, Image *out, Error *err) {
    struct jpeg_decompress_struct jpeg;
    JpegJob job;
    memset(&jpeg, 0, sizeof jpeg);
    memset(&job, 0, sizeof job);
    jpeg.err = jpeg_std_error(&job.manager);
    job.manager.error_exit = take_error;
    job.manager.emit_message = take_warning;
    job.manager.output_message = say_nothing;
    if (setjmp(job.jump)) return error_set(err, STATUS_FAILED, "no memory for libjpeg");
    jpeg_create_decompress(&jpeg);
    Status status = decode(&jpeg, &job, bytes, size, out, err);
    jpeg_destroy_decompress(&jpeg);
    return status;
}
