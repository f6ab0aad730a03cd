// SPDX-License-Identifier: Apache-2.0
// Exports rollouts for other programs: the present particles at steps 0 to `steps`, with all that is known of each
// particle. World coordinates in metres, as in the recording, unless a format says otherwise. A file appears under its
// name only when it is complete.
#ifndef VPD_INFER_EXPORT_H
#define VPD_INFER_EXPORT_H

#include "files/rollout_file.h"

// Of the simulator's rollouts all formats hold triangles and springs too.

// FOLDER/step_0000.ply, step_0001.ply, ..: binary little-endian, x y z float, and if known red green blue uchar, label
// ushort, radius float; triangles are faces, springs edges. The folder is created; other files in it are kept.
Status export_ply(const RolloutFile *rollout, const char *folder, Error *err);

// One uncompressed numpy archive: positions (steps+1,N,3) f4, time (steps+1) f8, background (3) f4, and if known
// features (N,D) or (steps+1,N,D) f4, colour (N,3) u1, radius (N) f4, moving (N) b1, labels (N) u2, triangles (T,3) i4,
// springs (S,2) i4, touching (steps+1,N) u1, bounds (2,3) f8, intrinsics (V,3,3) f8, world_from_camera (1 or
// steps+1,V,4,4) f8; meta: the origin of the rollout, as bytes of JSON.
Status export_npz(const RolloutFile *rollout, const char *path, Error *err);

// One binary glTF 2.0 file (.glb). A root node turns the recording's up to glTF's y. Colours are linear.
// Points: each step is a node with a point primitive, and an animation shows one node at a time by its scale, 0 or 1.
// This is core glTF, which every viewer with node animation plays; morph targets would not be smaller, and viewers
// limit their number. Particles that are not drawn have alpha 0, which the material masks. With triangles or springs: a
// node, mesh and material for each label, and each later step is a morph target (infer/export_parts.h).
Status export_gltf(const RolloutFile *rollout, const char *path, Error *err);

// One USD text file (.usda), with a time sample per step. upAxis is Y where that is up, else Z. Colours
// (displayColor) are linear.
// Points: a Points prim with widths (radius / 2), displayColor and primvars:label.
// With triangles or springs: an Xform for each label, which holds a Mesh, or Points and BasisCurves.
Status export_usda(const RolloutFile *rollout, const char *path, Error *err);

typedef enum ExportFormat { EXPORT_PLY, EXPORT_NPZ, EXPORT_GLTF, EXPORT_USDA, EXPORT_FORMATS } ExportFormat;

// "ply", "npz", "gltf", "usda"
const char *export_format_name(ExportFormat format);

// Writes one of the four formats above.
Status export_rollout(const RolloutFile *rollout, ExportFormat format, const char *path, Error *err);

// Converts an sRGB byte to linear [0,1].
float export_linear(uint8_t value);

// The axis of the world nearest to up, as the cameras are held (base/camera_rig.h): 0 .. 2. *sign is -1 where up is
// against it. z without cameras, and of the simulator.
int export_up(const RolloutFile *rollout, int *sign);

#endif
