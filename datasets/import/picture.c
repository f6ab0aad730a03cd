// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/picture.h"

#include "base/camera.h"

#include <math.h>
#include <string.h>

#define SAME_PIXEL 1e-6 // intrinsics with a smaller difference, relative to the width, are equal

static void turn_over(Image *image) {
    size_t row = (size_t)image->W * (size_t)image->channels * (size_t)image->type;
    char *pixels = image->pixels;
    for (int y = 0; y < image->H / 2; y++) {
        char *a = pixels + (size_t)y * row, *b = pixels + (size_t)(image->H - 1 - y) * row;
        for (size_t i = 0; i < row; i++) {
            char kept = a[i];
            a[i] = b[i];
            b[i] = kept;
        }
    }
}

Status picture_read(const PosedSet *set, const PosedImage *image, bool depth, Image *out, Error *err) {
    Status status =
        set->read ? set->read(set, image, depth, out, err) : image_read(depth ? image->depth : image->colour, out, err);
    if (!status && set->upside_down) turn_over(out);
    return status;
}

// The lens for a picture of this size.
static Lens lens_for(const PosedImage *image, bool depth, const Image *picture) {
    const Lens *lens = depth && image->depth_lens.K[0] != 0 ? &image->depth_lens : &image->lens;
    if (lens->H == picture->H && lens->W == picture->W) return *lens;
    return lens_resize(lens, picture->H, picture->W);
}

static bool lens_shows(const Lens *lens, const View *view) {
    bool same = lens_is_plain(lens);
    for (int i = 0; i < 9; i++) same = same && fabs(lens->K[i] - view->K[i]) <= SAME_PIXEL * view->W;
    return same;
}

// The four pixels around a position within the picture, and the weights of a linear mixture.
typedef struct Corners {
    size_t at[4];
    double weight[4];
} Corners;

static Corners corners_of(const Image *in, double x, double y) {
    double u = fmin(fmax(x - 0.5, 0), in->W - 1), v = fmin(fmax(y - 0.5, 0), in->H - 1);
    size_t x0 = (size_t)u, y0 = (size_t)v, W = (size_t)in->W;
    size_t right = x0 + 1 < W, low = y0 + 1 < (size_t)in->H ? W : 0, at = y0 * W + x0;
    double s = u - (double)x0, t = v - (double)y0;
    return (Corners){{at, at + right, at + low, at + low + right},
                     {(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t}};
}

typedef void Sampler(const Image *in, double x, double y, void *out);

static void sample_colour(const Image *in, double x, double y, void *out) {
    Corners corners = corners_of(in, x, y);
    const uint8_t *pixels = in->pixels;
    for (size_t c = 0; c < 3; c++) {
        double sum = 0;
        for (int i = 0; i < 4; i++) sum += corners.weight[i] * pixels[3 * corners.at[i] + c];
        ((uint8_t *)out)[c] = (uint8_t)(sum + 0.5);
    }
}

static void sample_nearest(const Image *in, double x, double y, void *out) {
    size_t width = (size_t)in->type, at = (size_t)y * (size_t)in->W + (size_t)x;
    memcpy(out, (const char *)in->pixels + at * width, width);
}

// Pixels outside the recorded picture are black, without depth.
static Status warp(const Image *in, const Lens *lens, const View *view, Sampler *sample, Image *out, Error *err) {
    Status status = image_create(view->H, view->W, in->channels, in->type, out, err);
    if (status) return status;
    size_t bytes = (size_t)in->channels * (size_t)in->type;
    char *to = out->pixels;
    for (int y = 0; y < view->H; y++) {
        for (int x = 0; x < view->W; x++, to += bytes) {
            double at[2];
            lens_map(lens, view->K, (double[]){x + 0.5, y + 0.5}, at);
            if (at[0] >= 0 && at[1] >= 0 && at[0] < in->W && at[1] < in->H) sample(in, at[0], at[1], to);
        }
    }
    return STATUS_OK;
}

// Whether the picture already has the view's size and intrinsics.
static bool is_view(const Image *picture, const Lens *lens, const View *view) {
    return picture->H == view->H && picture->W == view->W && lens_shows(lens, view);
}

static void replace(Image *picture, const Image *next) {
    image_free(picture);
    *picture = *next;
}

static Status bring_labels(Image *picture, Lens lens, const View *view, Error *err) {
    Image next = {0};
    if (is_view(picture, &lens, view)) return STATUS_OK;
    Status status = warp(picture, &lens, view, sample_nearest, &next, err);
    replace(picture, &next);
    return status;
}

// Resamples `picture` for the view: resized if that is enough, else reduced first if it is larger, then warped.
static Status bring_colour(Image *picture, Lens lens, const View *view, Error *err) {
    Lens resized = lens_resize(&lens, view->H, view->W);
    bool same = picture->H == view->H && picture->W == view->W;
    bool larger = picture->H >= view->H && picture->W >= view->W;
    Image next = {0};
    Status status = STATUS_OK;
    if (!same && (lens_shows(&resized, view) || larger)) {
        status = image_resize(picture, view->H, view->W, &next, err);
        replace(picture, &next);
        lens = resized;
    }
    if (status || lens_shows(&lens, view)) return status;
    status = warp(picture, &lens, view, sample_colour, &next, err);
    replace(picture, &next);
    return status;
}

typedef struct LensAndView {
    const Lens *lens;
    const View *view;
} LensAndView;

static void from_view(const void *owner, double x, double y, double out[2]) {
    const LensAndView *pair = owner;
    lens_map(pair->lens, pair->view->K, (double[]){x, y}, out);
}

static Status bring_depth(Image *picture, Lens lens, const View *view, Error *err) {
    const LensAndView pair = {&lens, view};
    Image next = {0};
    if (is_view(picture, &lens, view)) return STATUS_OK;
    Status status = image_map_depth(picture, view->H, view->W, (PixelMap){from_view, &pair}, &next, err);
    replace(picture, &next);
    return status;
}

Status picture_colour(const PosedSet *set, const PosedImage *image, const View *view, Image *out, Error *err) {
    Image read = {0};
    *out = (Image){0};
    Status status = picture_read(set, image, false, &read, err);
    if (!status) status = image_to_rgb8(&read, out, err);
    if (!status) status = bring_colour(out, lens_for(image, false, out), view, err);
    image_free(&read);
    return status;
}

// ---- depth

static double metres_of(const PosedSet *set, double units, double scale) {
    if (set->coding != DEPTH_BUFFER) return units * scale;
    double n = set->buffer_near, f = set->buffer_far;
    return units < 1 ? n / (1 - units * (1 - n / f)) : 0;
}

// Converts a distance from the camera's centre to depth along z.
static double along_z(const Lens *lens, int x, int y, double metres) {
    double ray[3];
    camera_unproject(lens->K, x + 0.5, y + 0.5, 1, ray);
    return metres / sqrt(ray[0] * ray[0] + ray[1] * ray[1] + 1);
}

static bool in_range(const PosedSet *set, double metres) {
    return metres > 0 && metres >= set->near && metres <= set->far && isfinite(metres);
}

static Status to_metres(const PosedSet *set, const PosedImage *image, const Lens *lens, const Image *in, Image *out,
                        Error *err) {
    double scale = image->depth_scale > 0 ? image->depth_scale : set->depth_scale;
    Status status = image_create(in->H, in->W, 1, PIXEL_F32, out, err);
    if (status) return status;
    float *to = out->pixels;
    for (int y = 0; y < in->H; y++) {
        for (int x = 0; x < in->W; x++, to++) {
            size_t at = (size_t)y * (size_t)in->W + (size_t)x;
            double units = in->type == PIXEL_F32 ? ((float *)in->pixels)[at] : ((uint16_t *)in->pixels)[at];
            if (set->coding == DEPTH_BUFFER && (units < 0 || units > 1)) {
                image_free(out);
                return error_set(err, STATUS_BAD_INPUT,
                                 "%s: expected OpenGL's buffer, 0 to 1, as depth_near and depth_far say, found %g; "
                                 "metres are \"depth_unit\": 1",
                                 image->depth ? image->depth : "depth", units);
            }
            double metres = metres_of(set, units, scale);
            if (set->coding == DEPTH_RAY_LENGTH) metres = along_z(lens, x, y, metres);
            *to = in_range(set, metres) ? (float)metres : 0;
        }
    }
    return STATUS_OK;
}

static void clean_units(const PosedSet *set, Image *image) {
    size_t pixels = (size_t)image->H * (size_t)image->W;
    uint16_t *units = image->pixels;
    for (size_t i = 0; i < pixels; i++) {
        if (set->coding == DEPTH_ROTATED) units[i] = (uint16_t)(units[i] << 13 | units[i] >> 3);
        if (!in_range(set, units[i] * set->depth_scale)) units[i] = 0;
    }
}

static Status check_depth(const PosedImage *image, const Image *read, bool f32, Error *err) {
    bool good = read->channels == 1 && read->type != PIXEL_U8 && (f32 || read->type == PIXEL_U16);
    return good ? STATUS_OK
                : error_set(err, STATUS_BAD_INPUT, "%s: expected depth of one channel of %s, found %d of %d bytes",
                            image->depth ? image->depth : "depth", f32 ? "16 bit or float32" : "16 bit", read->channels,
                            (int)read->type);
}

Status picture_depth(const PosedSet *set, const PosedImage *image, const View *view, bool f32, Image *out, Error *err) {
    Image read = {0};
    *out = (Image){0};
    Status status = picture_read(set, image, true, &read, err);
    if (status) return status;
    Lens lens = lens_for(image, true, &read);
    status = check_depth(image, &read, f32, err);
    if (status) image_free(&read);
    if (status) return status;
    if (f32) status = to_metres(set, image, &lens, &read, out, err);
    else {
        *out = read;
        read = (Image){0};
        clean_units(set, out);
    }
    image_free(&read);
    return status ? status : bring_depth(out, lens, view, err);
}

// ---- masks

static Status read_mask(const PosedSet *set, const PosedImage *image, Image *out, Error *err) {
    Status status = set->read_mask ? set->read_mask(set, image, out, err) : image_read_labels(image->mask, out, err);
    if (!status && (out->channels != 1 || out->type == PIXEL_F32))
        status = error_set(err, STATUS_BAD_INPUT, "%s: expected a picture of labels with one channel, found %d",
                           image->mask, out->channels);
    return status;
}

Status picture_mask(const PosedSet *set, const PosedImage *image, const View *view, Image *out, Error *err) {
    Image read = {0};
    Status status = read_mask(set, image, &read, err);
    *out = (Image){0};
    if (!status) status = image_create(read.H, read.W, 1, PIXEL_U16, out, err);
    for (size_t i = 0; !status && i < (size_t)read.H * (size_t)read.W; i++)
        ((uint16_t *)out->pixels)[i] =
            read.type == PIXEL_U8 ? ((uint8_t *)read.pixels)[i] : ((uint16_t *)read.pixels)[i];
    if (!status && set->upside_down) turn_over(out);
    if (!status) status = bring_labels(out, lens_for(image, false, out), view, err);
    image_free(&read);
    return status;
}

Status picture_probe(const PosedSet *set, const PosedImage *image, Error *err) {
    Image colour = {0}, depth = {0}, mask = {0}, rgb = {0};
    Status status = picture_read(set, image, false, &colour, err);
    if (!status) status = image_to_rgb8(&colour, &rgb, err);
    if (!status) status = picture_read(set, image, true, &depth, err);
    if (!status) status = check_depth(image, &depth, true, err);
    if (!status && image->mask) status = read_mask(set, image, &mask, err);
    image_free(&colour);
    image_free(&depth);
    image_free(&mask);
    image_free(&rgb);
    return status;
}
