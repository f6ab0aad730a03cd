// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/job.h"

#include "base/camera.h"
#include "datasets/dataset_private.h"
#include "datasets/import/listing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE_TOLERANCE 0.03 // relative, of width over height; sizes may be rounded

static const char *picture_name(const ImportJob *job, const PosedImage *image) {
    return image->colour ? image->colour : job->path;
}

// A set of pictures without frames and views: one still scene.
static Status number_views(ImportJob *job, Error *err) {
    PosedSet *set = &job->set;
    if (set->V > 0) return STATUS_OK;
    Status status = posed_set_drop_lost(set, job->path, job->log, err);
    for (size_t i = 0; i < set->count; i++) {
        set->images[i].view = (int)i;
        set->images[i].frame = 0;
    }
    set->F = 1;
    set->V = (int)set->count;
    return status;
}

// Keeps every Nth picture of a static scene; time series are thinned by frames.
static Status thin(ImportJob *job, int every, Error *err) {
    size_t groups = (size_t)(job->set.F == 1 ? job->set.V : job->set.F);
    bool *keep = malloc((groups + 1) * sizeof *keep);
    if (!keep) return error_set(err, STATUS_FAILED, "%s: no memory to import it", job->path);
    for (size_t i = 0; i < groups; i++) keep[i] = i % (size_t)every == 0;
    Status status = posed_set_keep(&job->set, keep, err);
    free(keep);
    return status;
}

static Status check_camera(const ImportJob *job, const PosedImage *image, Error *err) {
    const double *K = image->lens.K;
    double skew, determinant;
    if (!pose_rotation_error(image->world_from_camera, &skew, &determinant))
        return error_set(err, STATUS_BAD_INPUT, "%s: expected a finite pose of this picture, found none",
                         picture_name(job, image));
    if (skew > POSE_TOLERANCE || determinant < 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected finite [R t; 0 0 0 1] with R orthonormal as the pose of this picture, found R "
                         "that is off by %.3g with determinant %.3g",
                         picture_name(job, image), skew, determinant);
    if (!(K[0] > 0 && K[4] > 0) || !isfinite(K[0] + K[1] + K[2] + K[4] + K[5]))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: expected positive focal lengths and a finite centre for this picture, found fx %.6g, fy "
                         "%.6g, cx %.6g, cy %.6g",
                         picture_name(job, image), K[0], K[4], K[2], K[5]);
    return STATUS_OK;
}

static Status size_of(const ImportJob *job, const PosedImage *image, int *H, int *W, Error *err) {
    if (!job->set.read) return image_read_size(image->colour, H, W, err);
    Image colour = {0};
    Status status = job->set.read(&job->set, image, false, &colour, err);
    *H = colour.H;
    *W = colour.W;
    image_free(&colour);
    return status;
}

// K belongs to the recorded picture, unless the importer gives its size.
static Status complete_cameras(ImportJob *job, Error *err) {
    Status status = STATUS_OK;
    for (size_t i = 0; !status && i < job->set.count; i++) {
        PosedImage *image = &job->set.images[i];
        status = check_camera(job, image, err);
        if (!status && image->lens.H == 0)
            status = job_advise_skip(job, size_of(job, image, &image->lens.H, &image->lens.W, err), err);
    }
    return status;
}

// Intrinsics are scaled to the pictures, each side by itself: another shape is more likely a mistake.
static bool has_other_shape(const PosedImage *image, int H, int W) {
    double here = (double)image->lens.W * H, there = (double)image->lens.H * W;
    return fabs(here - there) > SHAPE_TOLERANCE * here;
}

// Pictures that are files can each have another size and shape: tells of the first of them, and how many there are.
static Status look_at_sizes(const ImportJob *job, int first_H, int first_W, Error *err) {
    size_t sizes = 0, shapes = 0, count = job->set.read ? 1 : job->set.count;
    char size[512] = "", shape[512] = "";
    Status status = STATUS_OK;
    for (size_t i = 0; !status && i < count; i++) {
        const PosedImage *image = &job->set.images[i];
        int H = first_H, W = first_W;
        if (i > 0) status = size_of(job, image, &H, &W, err);
        if (status) return job_advise_skip(job, status, err);
        if ((H != first_H || W != first_W) && sizes++ == 0)
            snprintf(size, sizeof size, "%.400s has %d x %d", picture_name(job, image), W, H);
        if (has_other_shape(image, H, W) && shapes++ == 0)
            snprintf(shape, sizeof shape, "%.400s: has %d x %d pixels, and its intrinsics are for %d x %d",
                     picture_name(job, image), W, H, image->lens.W, image->lens.H);
    }
    if (shapes)
        log_warning(job->log,
                    "%s: are width and height exchanged, or is the picture cropped? (so are %zu of %zu pictures)",
                    shape, shapes, count);
    if (sizes && !job->options->H)
        log_warning(job->log,
                    "%s: %zu of %zu pictures have another size than the first, %d x %d: %s; all are resampled to that "
                    "of the first (--size WxH chooses another)",
                    job->path, sizes, count, first_W, first_H, size);
    return STATUS_OK;
}

// The first pictures define the size and the type of depth.
static Status look_at_first(ImportJob *job, Error *err) {
    const PosedSet *set = &job->set;
    const PosedImage *first = &set->images[0];
    Image depth = {0};
    int H = 0, W = 0;
    Status status = size_of(job, first, &H, &W, err);
    if (!status) status = picture_read(set, first, true, &depth, err);
    status = job_advise_skip(job, status, err);
    if (!status) status = look_at_sizes(job, H, W, err);
    job->info.H = job->options->H ? job->options->H : H;
    job->info.W = job->options->W ? job->options->W : W;
    job->is_f32 = depth.type != PIXEL_U16 || set->coding == DEPTH_RAY_LENGTH || set->coding == DEPTH_BUFFER;
    for (size_t i = 0; i < set->count; i++) {
        double scale = set->images[i].depth_scale;
        job->is_f32 = job->is_f32 || (scale > 0 && scale != set->depth_scale);
    }
    image_free(&depth);
    return status;
}

Status job_complete(ImportJob *job, Error *err) {
    const ImportOptions *options = job->options;
    PosedSet *set = &job->set;
    Status status = number_views(job, err);
    if (!status && options->as == AS_VIDEO) status = posed_set_as_video(set, options->fps, job->path, err);
    if (!status && options->as == AS_STILL) status = posed_set_as_still(set, job->path, err);
    if (status) return status;
    if (options->every > 1) status = thin(job, options->every, err);
    if (!status) status = job_drop_bad(job, err);
    if (status) return status;
    if (set->count == 0 || set->V > VIEWS_MAX)
        return error_set(err, STATUS_BAD_INPUT, "%s: expected 1 to %d posed pictures, found %zu", job->path, VIEWS_MAX,
                         set->count);
    if (!isnan(options->near)) set->near = options->near;
    if (!isnan(options->far)) set->far = options->far;
    for (size_t i = 0; i < set->count; i++) {
        PosedImage *image = &set->images[i];
        bool exr = image->depth && name_ends(image->depth, ".exr");
        if (exr && image->depth_scale == 0 && !set->unit_is_said) image->depth_scale = 1;
    }
    if (options->depth_unit > 0) {
        set->depth_scale = options->depth_unit;
        for (size_t i = 0; i < set->count; i++) set->images[i].depth_scale = 0;
    }
    status = complete_cameras(job, err);
    return status ? status : look_at_first(job, err);
}
