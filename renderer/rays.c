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

// Numbers of rays in one piece of memory on the host, and in one on the device: they are uploaded at once.
typedef struct RayNumbers {
    real *host, *device; // the next place
} RayNumbers;

// Appends `count` numbers; returns their place on the device.
static real *append(RayNumbers *n, size_t count, const real *from) {
    real *place = n->device;
    memcpy(n->host, from, count * sizeof *from);
    n->host += count;
    n->device += count;
    return place;
}

RendererRays *renderer_rays(Tape *tape, size_t count, const real *origin, const real *direction, const real *jitter,
                            const real *background) {
    static Tensor dead;
    static const RendererRays nothing = {.unit = &dead};
    size_t numbers = (jitter ? 10 : 9) * count + (background ? 3 : 0);
    RendererRays *rays = tape_context(tape, sizeof *rays);
    real *host = arena_array(&tape->host, numbers, sizeof(real)), *memory = tape_memory(tape, numbers, sizeof(real));
    Tensor *unit = tape_constant_at(tape, count, 3, memory),
           *colour = background ? tape_constant_at(tape, 1, 3, memory + 9 * count) : NULL;
    if (!host) device_fail(tape->device, STATUS_FAILED, "out of memory for %zu rays", count);
    if (tape->device->failed) return (RendererRays *)&nothing; // nobody reads it
    normalise(count, direction, host);
    RayNumbers all = {host + 3 * count, memory + 3 * count};
    *rays = (RendererRays){.count = count, .unit = unit, .background = colour};
    rays->origin = append(&all, 3 * count, origin);
    rays->direction = append(&all, 3 * count, direction);
    if (colour) append(&all, 3, background);
    if (jitter) rays->jitter = append(&all, count, jitter);
    tape->device->nn->upload(tape->device, memory, host, numbers * sizeof(real));
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
