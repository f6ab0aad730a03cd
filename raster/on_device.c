// SPDX-License-Identifier: Apache-2.0
#include "raster/on_device.h"

#include "nn/backend.h"
#include "nn/device_memory.h"

#include <stdlib.h>
#include <string.h>

struct RasterOnDevice {
    Device *device;
    const RasterDevicePhases *phases;
    const RasterBackend *cpu;
    RasterBackend table;
    Arena memory; // of one call
};

// ---- memory

static void *allocate(RasterOnDevice *on, size_t bytes) {
    if (on->device->failed) return NULL;
    void *out = arena_alloc(&on->memory, bytes);
    if (!out) device_no_memory(on->device, &on->memory.source, bytes, "a picture");
    return out;
}

// NULL where there is nothing on the host.
static void *copy(RasterOnDevice *on, const void *host, size_t bytes) {
    void *out = host ? allocate(on, bytes) : NULL;
    if (out) on->device->nn->upload(on->device, out, host, bytes);
    return out;
}

static void fetch(RasterOnDevice *on, void *host, const void *from, size_t bytes) {
    if (!on->device->failed) on->device->nn->download(on->device, host, from, bytes);
    if (on->device->failed) memset(host, 0, bytes);
}

static size_t samples_of(const RasterTiles *tiles) { return (size_t)tiles->grid.H * (size_t)tiles->grid.W; }

static const RasterTexture *copy_textures(RasterOnDevice *on, const RasterFaces *faces) {
    int32_t count = 0;
    for (size_t f = 0; f < faces->count; f++)
        if (faces->texture[f] >= count) count = faces->texture[f] + 1;
    if (!count) return NULL;
    RasterTexture *host = calloc((size_t)count, sizeof *host);
    if (!host) device_fail(on->device, STATUS_FAILED, "out of memory for %d textures", count);
    for (int32_t i = 0; host && i < count; i++) {
        host[i] = faces->textures[i];
        host[i].texel = copy(on, host[i].texel, 3 * (size_t)host[i].H * (size_t)host[i].W * sizeof(double));
    }
    const RasterTexture *out = copy(on, host, (size_t)count * sizeof *host);
    free(host);
    return out;
}

static RasterDeviceScene copy_scene(RasterOnDevice *on, const RasterFaces *faces, const RasterTiles *tiles) {
    RasterDeviceScene s = {*faces, *tiles};
    s.faces.place = copy(on, faces->place, RASTER_PLACE * faces->count * sizeof(double));
    s.faces.attribute = copy(on, faces->attribute, 3 * faces->count * (size_t)faces->attributes * sizeof(double));
    s.faces.texture = copy(on, faces->texture, faces->count * sizeof(int32_t));
    s.faces.textures = faces->texture ? copy_textures(on, faces) : NULL;
    s.tiles.start = copy(on, tiles->start, ((size_t)raster_tiles_count(tiles) + 1) * sizeof(int32_t));
    s.tiles.face = copy(on, tiles->face, raster_tiles_slots(tiles) * sizeof(int32_t));
    return s;
}

// ---- the table

static void soft(const RasterSoftArgs *a) {
    RasterOnDevice *on = a->device;
    const size_t samples = samples_of(a->tiles), state = RASTER_STATE * samples * on->table.real_bytes;
    arena_reset(&on->memory);
    const RasterDeviceScene scene = copy_scene(on, a->faces, a->tiles);
    RasterSoftArgs args = *a;
    args.colour = allocate(on, 3 * samples * sizeof(double));
    args.alpha = allocate(on, samples * sizeof(double));
    args.state = allocate(on, state);
    if (!on->device->failed) on->phases->soft(on->device, &scene, &args);
    fetch(on, a->colour, args.colour, 3 * samples * sizeof(double));
    fetch(on, a->alpha, args.alpha, samples * sizeof(double));
    fetch(on, a->state, args.state, state);
}

static void soft_back(const RasterSoftArgs *a) {
    RasterOnDevice *on = a->device;
    if (a->texels.parts) { // sums over the texels in a fixed order
        on->cpu->soft_back(a);
        return;
    }
    const size_t samples = samples_of(a->tiles),
                 grads = raster_tiles_slots(a->tiles) * raster_row(a->faces) * sizeof(double);
    arena_reset(&on->memory);
    const RasterDeviceScene scene = copy_scene(on, a->faces, a->tiles);
    RasterSoftArgs args = *a;
    args.state = copy(on, a->state, RASTER_STATE * samples * on->table.real_bytes);
    args.colour_grad = copy(on, a->colour_grad, 3 * samples * sizeof(double));
    args.alpha_grad = copy(on, a->alpha_grad, samples * sizeof(double));
    args.slot_grad = allocate(on, grads);
    if (!on->device->failed) on->phases->soft_back(on->device, &scene, &args);
    fetch(on, a->slot_grad, args.slot_grad, grads);
}

static void visible(const RasterVisibleArgs *a) {
    RasterOnDevice *on = a->device;
    const size_t bytes = samples_of(a->tiles) * sizeof(int32_t);
    arena_reset(&on->memory);
    const RasterFaces places = {.count = a->faces->count, .place = a->faces->place};
    const RasterDeviceScene scene = copy_scene(on, &places, a->tiles);
    RasterVisibleArgs args = *a;
    args.slot = allocate(on, bytes);
    if (!on->device->failed) on->phases->visible(on->device, &scene, &args);
    fetch(on, a->slot, args.slot, bytes);
    if (on->device->failed) memset(a->slot, 0xff, bytes); // no face
}

static void cover(const RasterCoverArgs *a) {
    RasterOnDevice *on = a->device;
    const size_t samples = samples_of(a->tiles);
    arena_reset(&on->memory);
    const RasterFaces places = {.count = a->faces->count, .place = a->faces->place};
    const RasterDeviceScene scene = copy_scene(on, &places, a->tiles);
    RasterCoverArgs args = *a;
    args.covered = copy(on, a->covered, samples);
    args.alpha = allocate(on, samples * sizeof(double));
    if (!on->device->failed) on->phases->cover(on->device, &scene, &args);
    fetch(on, a->alpha, args.alpha, samples * sizeof(double));
}

static void cover_back(const RasterCoverArgs *a) {
    RasterOnDevice *on = a->device;
    const size_t samples = samples_of(a->tiles),
                 grads = raster_tiles_slots(a->tiles) * raster_row(a->faces) * sizeof(double);
    arena_reset(&on->memory);
    RasterFaces places = {.count = a->faces->count, .place = a->faces->place};
    RasterDeviceScene scene = copy_scene(on, &places, a->tiles);
    scene.faces.attributes = a->faces->attributes; // of the rows
    RasterCoverArgs args = *a;
    args.alpha = copy(on, a->alpha, samples * sizeof(double));
    args.alpha_grad = copy(on, a->alpha_grad, samples * sizeof(double));
    args.slot_grad = allocate(on, grads);
    if (!on->device->failed) on->device->nn->zero(on->device, args.slot_grad, grads);
    if (!on->device->failed) on->phases->cover_back(on->device, &scene, &args);
    fetch(on, a->slot_grad, args.slot_grad, grads);
}

// ---- opening

bool raster_device_open(Device *device, bool f64, const RasterBackend *cpu, RasterOnDevice **out) {
    RasterOnDevice *on = *out = calloc(1, sizeof *on);
    if (!on) return false;
    on->device = device;
    on->phases = f64 ? &device->raster->f64 : &device->raster->f32;
    on->cpu = cpu;
    on->table = (RasterBackend){.real_bytes = cpu->real_bytes,
                                .soft = soft,
                                .soft_back = soft_back,
                                .visible = visible,
                                .cover = cover,
                                .cover_back = cover_back};
    arena_init(&on->memory, device->source);
    return true;
}

void raster_device_close(RasterOnDevice *on) {
    if (!on) return;
    arena_free(&on->memory);
    free(on);
}

const RasterBackend *raster_device_table(const RasterOnDevice *on) { return &on->table; }
size_t raster_device_peak(const RasterOnDevice *on) { return on ? on->memory.peak : 0; }
Status raster_device_status(RasterOnDevice *on, Error *err) { return on ? device_status(on->device, err) : STATUS_OK; }
