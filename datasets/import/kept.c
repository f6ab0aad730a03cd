// SPDX-License-Identifier: Apache-2.0
#include "datasets/import/kept.h"

#include "base/camera.h"

#include <math.h>

static void add_point(ImportKept *kept, const double bounds[6], const double p[3]) {
    bool inside = bounds != NULL;
    for (int c = 0; c < 3; c++) {
        kept->low[c] = kept->depth ? fmin(kept->low[c], p[c]) : p[c];
        kept->high[c] = kept->depth ? fmax(kept->high[c], p[c]) : p[c];
        inside = inside && p[c] >= bounds[c] && p[c] <= bounds[3 + c];
    }
    kept->depth++;
    kept->inside += inside;
}

void kept_add(ImportKept *kept, const EpisodeInfo *info, size_t cell, const Image *depth) {
    size_t view = cell % (size_t)info->V;
    const double *K = info->intrinsics + 9 * view, *pose = episode_pose(info, (int)(cell / (size_t)info->V), (int)view);
    for (size_t at = 0; at < (size_t)depth->H * (size_t)depth->W; at++) {
        double z = depth->type == PIXEL_F32 ? (double)((const float *)depth->pixels)[at]
                                            : ((const uint16_t *)depth->pixels)[at] * info->depth_scale;
        double p[3];
        if (!(z > 0)) continue;
        camera_unproject_pixel(K, pose, depth->W, at, z, p);
        add_point(kept, info->bounds, p);
    }
}

void kept_merge(ImportKept *into, const ImportKept *from) {
    for (int c = 0; from->depth > 0 && c < 3; c++) {
        into->low[c] = into->depth ? fmin(into->low[c], from->low[c]) : from->low[c];
        into->high[c] = into->depth ? fmax(into->high[c], from->high[c]) : from->high[c];
    }
    into->depth += from->depth;
    into->inside += from->inside;
    into->left_out.moments += from->left_out.moments;
    into->left_out.pictures += from->left_out.pictures;
}

Status kept_check(const ImportKept *kept, const ImportOptions *options, const char *path, Error *err) {
    bool limits = !isnan(options->near) || !isnan(options->far);
    if (kept->depth == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: no pixel has depth%s", path,
                         limits ? " between --near and --far" : "; check the depth pictures and --depth-unit");
    if (!options->has_bounds || kept->inside > 0) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT,
                     "%s: no point lies within --bounds; all points lie from %.3g,%.3g,%.3g to %.3g,%.3g,%.3g", path,
                     kept->low[0], kept->low[1], kept->low[2], kept->high[0], kept->high[1], kept->high[2]);
}
