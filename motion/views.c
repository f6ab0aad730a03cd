// SPDX-License-Identifier: Apache-2.0
#include "motion/views.h"

#include "base/camera.h"

#include <math.h>
#include <stdlib.h>

void views_free(Views *f) {
    free(f->at);
    free(f->eye);
    *f = (Views){0};
}

Status views_make(const Observation *o, const PointCloud *now, Views *out, Error *err) {
    size_t pixels = observation_pixels(o), V = (size_t)o->V, last = (size_t)(o->F - 1);
    *out = (Views){.o = o, .now = now, .at = malloc(pixels * sizeof *out->at), .eye = malloc(19 * V * sizeof(double))};
    if (!out->at || !out->eye) {
        views_free(out);
        return error_set(err, STATUS_FAILED, "out of memory for what %zu pixels show", pixels);
    }
    out->from_world = out->eye + 3 * V;
    for (size_t p = 0; p < pixels; p++) out->at[p] = -1;
    for (size_t i = 0; i < now->count; i++) out->at[now->pixel[i]] = (int32_t)i;
    for (size_t v = 0; v < V; v++) {
        const double *pose = o->world_from_camera + 16 * (last * V + v);
        pose_inverse(pose, out->from_world + 16 * v);
        observation_turn(o, (const double[3]){pose[3], pose[7], pose[11]}, out->eye + 3 * v);
    }
    return STATUS_OK;
}

bool views_inner(const Views *f, size_t pixel) {
    int H = f->o->H, W = f->o->W, row = (int)pixel / W % H, column = (int)pixel % W;
    return row > 0 && column > 0 && row < H - 1 && column < W - 1;
}

double views_find_pixel(const Observation *o, size_t v, const double from_world[16], const double x[3], size_t *pixel) {
    double back[3], q[3], xy[2];
    int H = o->H, W = o->W;
    observation_turn_back(o, x, back);
    pose_apply(from_world, back, q);
    double z = camera_project(o->intrinsics + 9 * v, q, xy);
    if (!(z > 0) || !(xy[0] >= 0 && xy[0] < W && xy[1] >= 0 && xy[1] < H)) return 0;
    *pixel = (v * (size_t)H + (size_t)xy[1]) * (size_t)W + (size_t)xy[0];
    return z;
}

double views_project(const Views *f, size_t v, const double x[3], size_t *pixel) {
    return views_find_pixel(f->o, v, f->from_world + 16 * v, x, pixel);
}
