// SPDX-License-Identifier: Apache-2.0
// Particles and their rollout as bytes for the page's scripts (view/web/scene.js), little-endian:
//   head    u32 bytes of JSON (a multiple of 4), the JSON, u8 colour [n,4], u16 radius [n], label [n], body+1 [n], each
//           padded to 4 bytes
//   step 0  f32 low [3], high [3], u16 positions [n,3] between the two, padded to 4 bytes
//   step k  the same for the first m particles alone; the others stand still
//   surface u32 triangles [T,3], u32 springs [S,2]: places among the shown particles; u8 touching [steps+1,m] padded
//           to 4 bytes. The JSON says how many ("surface": [T, S, steps+1 or 0]). It stands behind the steps
// The first m of the n shown particles are those that belong to bodies or have a label. n is at most
// VIEW_PARTICLES_MAX: of more particles every second, third, .. one is shown.
#ifndef VPD_VIEW_SCENE_H
#define VPD_VIEW_SCENE_H

#include "api/vpd.h"
#include "base/error.h"
#include "files/rollout_file.h"

enum { VIEW_PARTICLES_MAX = 262144 };
#define VIEW_BYTES_MAX ((size_t)1 << 28) // of all steps of a scene

// Points into a rollout or scene, without positions. All may be NULL.
typedef struct ViewScene {
    size_t count, steps;
    const uint8_t *colour;           // (count,3)
    const float *radius;             // (count) metres
    const uint16_t *labels;          // (count)
    const int32_t *body;             // (count)
    double time_step;                // seconds
    int V, H, W;                     // cameras, and the size of their pictures
    const double *intrinsics;        // (V,3,3)
    const double *world_from_camera; // (V,4,4)
    double up[3];                    // against gravity
    const char *name, *label_names;  // what it is called; a line per label
    const double *bounds;            // (2,3) workspace box
    const RolloutSurface *surface;   // shown if all particles are
} ViewScene;

// Sets `up` to what the cameras say; without cameras, and in scenes of the simulator, it is z.
void view_find_up(ViewScene *scene);

// Which particles are shown, in the order of the bytes.
typedef struct ViewOrder {
    size_t shown, movers, every; // every: 1 of so many particles is shown
    size_t drawn;                // all but hidden points
    uint32_t *index;             // (shown)
} ViewOrder;

typedef struct ViewBytes {
    unsigned char *data;
    size_t size;
} ViewBytes;

// For `steps` steps in all, some of which may follow later. Free with view_order_free.
Status view_order(const ViewScene *scene, size_t steps, ViewOrder *out, Error *err);
void view_order_free(ViewOrder *order); // accepts {0}

// Appends the head, or a step. The caller frees out->data.
Status view_put_head(const ViewScene *scene, const ViewOrder *order, ViewBytes *out, Error *err);
Status view_put_step(const float *positions, const ViewOrder *order, size_t step, ViewBytes *out, Error *err);
// A rollout file: the head and all steps.
Status view_file_bytes(const RolloutFile *file, ViewBytes *out, Error *err);

#endif
