// SPDX-License-Identifier: Apache-2.0
// Binary glTF 2.0: a header, a chunk of JSON, and a chunk of numbers.
#ifndef VPD_INFER_GLB_H
#define VPD_INFER_GLB_H

#include "base/json.h"
#include "files/rollout_file.h"

enum { GLB_FLOAT = 5126, GLB_USHORT = 5123, GLB_UINT = 5125, GLB_ARRAY_BUFFER = 34962, GLB_INDICES = 34963 };

// Appends a buffer view and advances the offset. `target` 0: none.
void glb_add_view(json_t *views, size_t *offset, size_t bytes, int target);

json_t *glb_accessor(int view, size_t offset, int component, const char *type, size_t count);
// A VEC3 accessor of floats, with the box of its numbers.
json_t *glb_vectors(int view, size_t offset, const float *x, size_t count);
json_t *glb_numbers(const float *values, int count);

// Unit quaternion, w last, that turns the recording's up to y.
json_t *glb_up_to_y(const RolloutFile *rollout);

bool glb_put(FILE *file, const void *data, size_t bytes);
// A particle's colour as four u16: linear, with alpha 0 where it is not drawn.
bool glb_put_colour(FILE *file, const RolloutSet *set, size_t particle);

typedef struct Glb {
    const RolloutFile *rollout;
    const char *path;
    json_t *root;                           // released by glb_write, also on failure; NULL: no memory
    size_t bytes;                           // of the numbers: a multiple of 4
    bool (*put)(FILE *file, void *context); // writes them
    void *context;
} Glb;

Status glb_too_large(const RolloutFile *rollout, const char *path, Error *err);
Status glb_write(const Glb *glb, Error *err);

#endif
