// SPDX-License-Identifier: Apache-2.0
#include "infer/eval_masks.h"

#include "base/camera.h"
#include "infer/metrics.h"

#include <math.h>
#include <stdio.h>

void eval_mask_moving(EvalPixels pixels, const Frames *before, EvalMoving *how, uint8_t *mask) {
    const Frames *f = pixels.now;
    size_t count = (size_t)f->H * (size_t)f->W, at = (size_t)pixels.view * count;
    if (f->mask) mask_from_objects(f->mask + at, count, mask);
    else mask_from_change(f->rgb + 3 * at, before->rgb + 3 * at, count, mask);
    *(f->mask ? &how->masks : &how->changes) = true;
}

void eval_moving_words(EvalMoving how, char *out, size_t size) {
    char change[80];
    snprintf(change, sizeof change, "pixels that changed by more than %g since the last input frame",
             METRICS_CHANGE_THRESHOLD);
    snprintf(out, size, "%s%s%s", how.masks ? "pixels of objects (mask)" : "", how.masks && how.changes ? ", or " : "",
             how.changes ? change : "");
}

// The world point of a pixel; false without depth.
static bool point_of(EvalPixels pixels, int pixel, double point[3]) {
    const Frames *f = pixels.now;
    double z = (double)f->depth[(size_t)pixels.view * (size_t)f->H * (size_t)f->W + (size_t)pixel];
    if (!(z > 0)) return false;
    camera_unproject_pixel(f->intrinsics + 9 * pixels.view, f->world_from_camera + 16 * pixels.view, f->W,
                           (size_t)pixel, z, point);
    return true;
}

void eval_mask_box(EvalPixels pixels, const double *box, uint8_t *mask) {
    for (int i = 0; i < pixels.now->H * pixels.now->W; i++) {
        double point[3];
        bool inside = point_of(pixels, i, point);
        for (int c = 0; inside && c < 3; c++) inside = point[c] >= box[c] && point[c] <= box[3 + c];
        if (!inside) mask[i] = 0;
    }
}

// Whether the view's depth shows this point, within the tolerance.
static bool view_sees(const Frames *f, int view, const double camera_from_world[16], const double point[3]) {
    double q[3], xy[2];
    pose_apply(camera_from_world, point, q);
    double z = camera_project(f->intrinsics + 9 * view, q, xy);
    if (!(z > 0 && xy[0] >= 0 && xy[0] < f->W && xy[1] >= 0 && xy[1] < f->H)) return false;
    size_t pixel = (size_t)xy[1] * (size_t)f->W + (size_t)xy[0];
    double stored = (double)f->depth[(size_t)view * (size_t)f->H * (size_t)f->W + pixel];
    return stored > 0 && fabs(stored - z) <= EVAL_SEEN_TOLERANCE * z;
}

void eval_mask_seen(EvalPixels pixels, const Frames *seen, const uint8_t *heldout, uint8_t *mask) {
    enum { WANTED = 1, SEEN = 2 };
    int count = pixels.now->H * pixels.now->W;
    for (int view = 0; view < seen->V; view++) {
        double camera_from_world[16], point[3];
        if (heldout[view]) continue;
        pose_inverse(seen->world_from_camera + 16 * view, camera_from_world);
        for (int i = 0; i < count; i++)
            if (mask[i] == WANTED && point_of(pixels, i, point) && view_sees(seen, view, camera_from_world, point))
                mask[i] = SEEN;
    }
    for (int i = 0; i < count; i++) mask[i] = mask[i] == SEEN;
}
