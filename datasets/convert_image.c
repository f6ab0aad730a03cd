// SPDX-License-Identifier: Apache-2.0
#include "datasets/convert_image.h"

#include "base/camera.h"

#include <math.h>
#include <string.h>

Status convert_plan(const ConvertOptions *options, const EpisodeInfo *info, const char *place, ConvertPlan *out,
                    Error *err) {
    const int *crop = options->crop;
    *out = (ConvertPlan){.crop = {0, 0, info->W, info->H}, .W0 = info->W, .place = place};
    if (crop[2]) {
        if (crop[0] > info->W - crop[2] || crop[1] > info->H - crop[3])
            return error_set(err, STATUS_BAD_INPUT,
                             "%s: expected a crop within %d x %d pixels, asked for %d x %d at (%d, %d)", place, info->W,
                             info->H, crop[2], crop[3], crop[0], crop[1]);
        memcpy(out->crop, crop, sizeof out->crop);
    }
    out->W = options->W ? options->W : out->crop[2];
    out->H = options->H ? options->H : out->crop[3];
    out->u16 = options->depth == DEPTH_AS_U16 || (options->depth == DEPTH_AS_STORED && info->depth_is_u16);
    out->unit = options->unit > 0 ? options->unit : info->depth_is_u16 ? info->depth_scale : 0.001;
    out->box = options->has_box ? options->box : NULL;
    return STATUS_OK;
}

void convert_intrinsics(const ConvertPlan *plan, const double K[9], double out[9]) {
    double moved[9];
    memcpy(moved, K, sizeof moved);
    moved[2] -= plan->crop[0];
    moved[5] -= plan->crop[1];
    camera_resize_intrinsics(moved, plan->crop[3], plan->crop[2], plan->H, plan->W, out);
}

void converted_image_free(ConvertedImage *image) {
    image_free(&image->rgb);
    image_free(&image->depth);
    image_free(&image->mask);
}

// The crop of a stored picture.
static Status cut(const ConvertPlan *plan, const void *pixels, int channels, PixelType type, Image *out, Error *err) {
    size_t pixel = (size_t)channels * (size_t)type, row = (size_t)plan->crop[2] * pixel;
    Status status = image_create(plan->crop[3], plan->crop[2], channels, type, out, err);
    for (int y = 0; !status && y < plan->crop[3]; y++) {
        size_t from = ((size_t)(plan->crop[1] + y) * (size_t)plan->W0 + (size_t)plan->crop[0]) * pixel;
        memcpy((char *)out->pixels + (size_t)y * row, (const char *)pixels + from, row);
    }
    return status;
}

static Status resize_labels(const Image *image, int H, int W, Image *out, Error *err) {
    Status status = image_create(H, W, 1, PIXEL_U16, out, err);
    const uint16_t *from = image->pixels;
    for (int y = 0; !status && y < H; y++) {
        size_t row = (size_t)((2 * (long)y + 1) * image->H / (2 * (long)H)) * (size_t)image->W;
        for (int x = 0; x < W; x++)
            ((uint16_t *)out->pixels)[(size_t)y * (size_t)W + (size_t)x] =
                from[row + (size_t)((2 * (long)x + 1) * image->W / (2 * (long)W))];
    }
    return status;
}

static Status fit(const ConvertPlan *plan, Status (*resize)(const Image *, int, int, Image *, Error *), Image *image,
                  Error *err) {
    Image next = {0};
    if (image->H == plan->H && image->W == plan->W) return STATUS_OK;
    Status status = resize(image, plan->H, plan->W, &next, err);
    image_free(image);
    *image = next;
    return status;
}

// Depth of points outside of the box becomes unknown.
static void cut_to_box(const ConvertPlan *plan, const double K[9], const double pose[16], Image *depth) {
    float *metres = depth->pixels;
    for (size_t i = 0; i < (size_t)depth->H * (size_t)depth->W; i++, metres++) {
        double point[3];
        if (!(*metres > 0)) continue;
        camera_unproject_pixel(K, pose, depth->W, i, *metres, point);
        for (int c = 0; c < 3; c++) {
            if (!(point[c] >= plan->box[c] && point[c] <= plan->box[3 + c])) *metres = 0;
        }
    }
}

static Status to_units(const ConvertPlan *plan, Image *depth, Error *err) {
    size_t pixels = (size_t)depth->H * (size_t)depth->W;
    const float *metres = depth->pixels;
    Image units = {0};
    Status status = image_create(depth->H, depth->W, 1, PIXEL_U16, &units, err);
    for (size_t i = 0; !status && i < pixels; i++) {
        double value = metres[i] / plan->unit;
        if (value >= 65535.5)
            status = error_set(
                err, STATUS_BAD_INPUT,
                "%s: expected depth below %.4g m for u16 in units of %.4g m, found %.4g m; give a larger --unit",
                plan->place, 65535 * plan->unit, plan->unit, metres[i]);
        else ((uint16_t *)units.pixels)[i] = (uint16_t)lrint(value);
    }
    image_free(depth);
    *depth = units;
    return status;
}

Status convert_image(const ConvertPlan *plan, const Frames *frames, int view, ConvertedImage *out, Error *err) {
    size_t pixels = (size_t)frames->H * (size_t)frames->W, at = (size_t)view * pixels;
    double K[9];
    *out = (ConvertedImage){0};
    Status status = cut(plan, frames->rgb + 3 * at, 3, PIXEL_U8, &out->rgb, err);
    if (!status) status = fit(plan, image_resize, &out->rgb, err);
    if (!status) status = cut(plan, frames->depth + at, 1, PIXEL_F32, &out->depth, err);
    if (!status) status = fit(plan, image_resize_depth, &out->depth, err);
    if (!status && frames->mask) status = cut(plan, frames->mask + at, 1, PIXEL_U16, &out->mask, err);
    if (!status && frames->mask) status = fit(plan, resize_labels, &out->mask, err);
    convert_intrinsics(plan, frames->intrinsics + 9 * view, K);
    if (!status && plan->box) cut_to_box(plan, K, frames->world_from_camera + 16 * view, &out->depth);
    if (!status && plan->u16) status = to_units(plan, &out->depth, err);
    if (status) converted_image_free(out);
    return status;
}
