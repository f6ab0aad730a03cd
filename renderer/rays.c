// SPDX-License-Identifier: Apache-2.0
// Rays of pinhole cameras, made on the host in double precision.
#include "base/camera.h"
#include "nn/backend.h"
#include "renderer/renderer.h"

static real *upload(Tape *tape, size_t count, const real *host) {
    real *memory = host ? tape_memory(tape, count, sizeof(real)) : NULL;
    if (memory) tape->device->nn->upload(tape->device, memory, host, count * sizeof(real));
    return memory;
}

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
    RendererRays *rays = tape_context(tape, sizeof *rays);
    real *unit = arena_array(&tape->host, count * 3, sizeof(real));
    if (!rays || !unit) {
        if (!unit) device_fail(tape->device, STATUS_FAILED, "out of memory for %zu rays", count);
        return (RendererRays *)&nothing; // the device has failed: nobody reads it
    }
    normalise(count, direction, unit);
    *rays = (RendererRays){.count = count,
                           .origin = upload(tape, 3 * count, origin),
                           .direction = upload(tape, 3 * count, direction),
                           .unit = tape_constant(tape, count, 3, unit),
                           .jitter = upload(tape, count, jitter),
                           .background = background ? tape_constant(tape, 1, 3, background) : NULL};
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
