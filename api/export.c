// SPDX-License-Identifier: Apache-2.0
#include "infer/export.h"
#include "api/api.h"

// The two enums name the same formats.
_Static_assert((int)VPD_EXPORT_PLY == (int)EXPORT_PLY && (int)VPD_EXPORT_NPZ == (int)EXPORT_NPZ &&
                   (int)VPD_EXPORT_GLTF == (int)EXPORT_GLTF && (int)VPD_EXPORT_USDA == (int)EXPORT_USDA,
               "vpd_export_format is ExportFormat");

static Status check_target(vpd_export_format format, const char *path, Error *err) {
    static const char *const kinds[EXPORT_FORMATS] = {
        [EXPORT_NPZ] = "npz", [EXPORT_GLTF] = "glb", [EXPORT_USDA] = "usda"};
    if ((int)format < 0 || (int)format >= (int)EXPORT_FORMATS)
        return error_set(err, STATUS_BAD_INPUT, "format: expected one of vpd_export_format, 0 to %d, found %d",
                         (int)EXPORT_FORMATS - 1, (int)format);
    Status status = api_check_pointer(path, "path", err);
    if (status != STATUS_OK || format == VPD_EXPORT_PLY) return status; // its files have names of their own
    return api_check_output(path, kinds[format], err);
}

vpd_status vpd_scene_export(const vpd_scene *scene, vpd_export_format format, const char *path, vpd_error *err) {
    Error e = {0};
    Status status = api_check_pointer(scene, "scene", &e);
    if (status == STATUS_OK) status = check_target(format, path, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(scene->model, 0, false);
    status = export_rollout(&scene->file, (ExportFormat)format, path, &e);
    call_end(&call);
    return api_result(status, &e, err);
}

vpd_status vpd_rollout_export(const char *rollout, vpd_export_format format, const char *path, vpd_error *err) {
    Error e = {0};
    RolloutFile file = {0};
    Status status = api_check_pointer(rollout, "rollout", &e);
    if (status == STATUS_OK) status = check_target(format, path, &e);
    if (status != STATUS_OK) return api_result(status, &e, err);
    Call call = call_begin(NULL, 0, false);
    status = rollout_file_read(rollout, &file, &e);
    if (status == STATUS_OK) status = export_rollout(&file, (ExportFormat)format, path, &e);
    rollout_file_free(&file);
    call_end(&call);
    return api_result(status, &e, err);
}
