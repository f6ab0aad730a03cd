// SPDX-License-Identifier: Apache-2.0
// Rays of pinhole cameras, made on the host in double precision.
#include "base/camera.h"
#include "nn/backend.h"
#include "renderer/renderer.h"

#include <string.h>

static void normalise(size_t count, const real *direction, real *unit) {
    for (size_t i = 0; i < count; i++) {
        const real *d = direction + 3 * i;
        real length = real_sqrt((d[0] * d[0] + d[1] * d[1]) + d[2] * d[2]);
        for (int c = 0; c < 3; c++) unit[3 * i + c] = length > 0 ? d[c] / length : 0;
    }
}

RendererRays *renderer_rays(Tape *tape, size_t count, const real *origin, const real *direction, const real *jitter,
                            const real *background) {
    static Tensor dead;
    static const RendererRays nothing = {.unit = &dead};
    TapeUpload upload;
    RendererRays *rays = tape_context(tape, sizeof *rays);
    real *unit = tape_context(tape, (3 * count + 1) * sizeof *unit);
    if (!tape_upload_begin(tape, (jitter ? 10 : 9) * count + (background ? 3 : 0), &upload))
        return (RendererRays *)&nothing; // nobody reads it
    normalise(count, direction, unit);
    *rays = (RendererRays){.count = count};
    rays->unit = tape_constant_at(tape, count, 3, tape_upload_add(&upload, 3 * count, unit));
    rays->origin = tape_upload_add(&upload, 3 * count, origin);
    rays->direction = tape_upload_add(&upload, 3 * count, direction);
    if (background) rays->background = tape_constant_at(tape, 1, 3, tape_upload_add(&upload, 3, background));
    if (jitter) rays->jitter = tape_upload_add(&upload, count, jitter);
    tape_upload_end(&upload);
    return rays;
}

void renderer_camera_rays(const RendererCamera *camera, size_t first, size_t count, real *origin, real *direction) {
    const double *pose = camera->world_from_camera;
    size_t W = (size_t)camera->W;
    for (size_t i = 0; i < count; i++) {
        size_t row = (first + i) / W, column = (first + i) % W;
        double p[3];
        camera_unproject(camera->K, (double)column + 0.5, (double)row + 0.5, 1, p);
        for (int c = 0; c < 3; c++) {
            origin[3 * i + c] = (real)pose[4 * c + 3];
            direction[3 * i + c] = (real)(pose[4 * c] * p[0] + pose[4 * c + 1] * p[1] + pose[4 * c + 2] * p[2]);
        }
    }
}
