// SPDX-License-Identifier: Apache-2.0
// Particles and rollouts as files that other programs read: the present set at step 0 .. steps, with what is known of
// each particle. World coordinates in metres, z up as in the recording, unless a format says otherwise. Each file
// appears at once under its name or not at all.
#ifndef VPD_INFER_EXPORT_H
#define VPD_INFER_EXPORT_H

#include "files/rollout_file.h"

// FOLDER/step_0000.ply, step_0001.ply, ..: binary little-endian, x y z float, and where known red green blue uchar,
// label ushort, radius float. The folder is made; files of other names in it stay.
Status export_ply(const RolloutFile *rollout, const char *folder, Error *err);

// One numpy archive, uncompressed: positions (steps+1,N,3) f4, time (steps+1) f8, background (3) f4, and where known
// features (N,D) or (steps+1,N,D) f4, colour (N,3) u1, radius (N) f4, moving (N) b1, labels (N) u2, bounds (2,3) f8,
// intrinsics (V,3,3) f8, world_from_camera (1 or steps+1,V,4,4) f8; meta, JSON as bytes: where it came from.
Status export_npz(const RolloutFile *rollout, const char *path, Error *err);

// One binary glTF 2.0 (.glb): each step is a node with a point primitive, and an animation scales one after the other
// from 0 to 1 by steps. That is core glTF, which every viewer with node animation plays; morph targets would be smaller
// in nothing, and viewers bound how many they take. A root node turns z up into glTF's y up; colours are linear.
Status export_gltf(const RolloutFile *rollout, const char *path, Error *err);

// One USD text file (.usda): a Points prim with a sample per step, widths (2 radius / 4), displayColor (linear) and
// primvars:label.
Status export_usda(const RolloutFile *rollout, const char *path, Error *err);

typedef enum ExportFormat { EXPORT_PLY, EXPORT_NPZ, EXPORT_GLTF, EXPORT_USDA, EXPORT_FORMATS } ExportFormat;

// "ply", "npz", "gltf", "usda"
const char *export_format_name(ExportFormat format);

// One of the four above.
Status export_rollout(const RolloutFile *rollout, ExportFormat format, const char *path, Error *err);

// sRGB byte to linear [0,1].
float export_linear(uint8_t value);

#endif
