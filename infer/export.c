// SPDX-License-Identifier: Apache-2.0
#include "infer/export.h"

#include "base/check.h"

static const struct {
    const char *name;
    Status (*write)(const RolloutFile *rollout, const char *path, Error *err);
} formats[EXPORT_FORMATS] = {
    [EXPORT_PLY] = {"ply", export_ply},
    [EXPORT_NPZ] = {"npz", export_npz},
    [EXPORT_GLTF] = {"gltf", export_gltf},
    [EXPORT_USDA] = {"usda", export_usda},
};

const char *export_format_name(ExportFormat format) {
    CHECK(format < EXPORT_FORMATS);
    return formats[format].name;
}

Status export_rollout(const RolloutFile *rollout, ExportFormat format, const char *path, Error *err) {
    CHECK(format < EXPORT_FORMATS);
    return formats[format].write(rollout, path, err);
}
