// SPDX-License-Identifier: Apache-2.0
// A simulated rollout as objects that other programs can draw: one part for each label, with the triangles or the
// springs of /surface/ (docs/rollouts.md).
#ifndef VPD_INFER_EXPORT_PARTS_H
#define VPD_INFER_EXPORT_PARTS_H

#include "files/rollout_file.h"

enum { EXPORT_NAME_SIZE = 128 };

typedef struct ExportPart {
    char name[EXPORT_NAME_SIZE];       // the label's
    char identifier[EXPORT_NAME_SIZE]; // the same of letters, digits and _ alone, and of this part alone
    size_t count;                      // vertices: of a part with triangles their corners, else all of its particles
    uint32_t *particle;                // (count) number of each, rising
    size_t triangles, springs;         // springs: 0 of a part with triangles, whose edges they are
    uint32_t *triangle, *spring;       // (triangles,3), (springs,2) numbers of vertices
} ExportPart;

typedef struct ExportParts {
    size_t count;
    ExportPart *part;
} ExportParts;

// Without labels everything is one part, "particles".
Status export_parts_find(const RolloutFile *rollout, ExportParts *out, Error *err);
void export_parts_free(ExportParts *parts); // accepts {0}

// export_gltf of a rollout with triangles or springs.
Status export_gltf_meshes(const RolloutFile *rollout, const char *path, Error *err);

#endif
