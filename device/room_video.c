// SPDX-License-Identifier: Apache-2.0
#include "device/room_video.h"

#include "base/camera.h"

#include <math.h>
#include <stdlib.h>

enum { BOXES = 5 };
static const double room_low[3] = {-1.5, -1.5, 0}, room_high[3] = {1.5, 1.5, 2};

static void box_of(int number, int frame, double low[3], double high[3]) {
    double angle = 1.3 * number, far = 0.6 + 0.02 * frame,
           at[3] = {far * cos(angle), far * sin(angle), 0.1 * number + 0.01 * frame};
    for (int c = 0; c < 3; c++) {
        low[c] = at[c] - (c < 2 ? 0.15 : 0);
        high[c] = low[c] + 0.3;
    }
}

// Where the ray enters and leaves a box, in units of d.
static void cross_box(const double eye[3], const double d[3], const double low[3], const double high[3], double *enter,
                      double *leave) {
    *enter = -INFINITY;
    *leave = INFINITY;
    for (int c = 0; c < 3; c++) {
        double a = (low[c] - eye[c]) / d[c], b = (high[c] - eye[c]) / d[c];
        *enter = fmax(*enter, fmin(a, b));
        *leave = fmin(*leave, fmax(a, b));
    }
}

// Depth of the first surface on a ray, and its box (-1: the room).
static double trace(const double eye[3], const double d[3], int frame, int *box) {
    double enter, leave, nearest;
    cross_box(eye, d, room_low, room_high, &enter, &nearest);
    *box = -1;
    for (int i = 0; i < BOXES; i++) {
        double low[3], high[3];
        box_of(i, frame, low, high);
        cross_box(eye, d, low, high, &enter, &leave);
        if (enter > 0 && enter < leave && enter < nearest) {
            nearest = enter;
            *box = i;
        }
    }
    return nearest;
}

static void draw_image(RoomVideo *r, int frame, int view) {
    const Observation *o = &r->observation;
    double angle = 0.5 + 6.283185307179586 * view / o->V;
    const double eye[3] = {1.4 * cos(angle), 1.4 * sin(angle), 1.5}, target[3] = {0, 0, 0.2}, up[3] = {0, 0, 1};
    size_t image = (size_t)frame * (size_t)o->V + (size_t)view, pixels = (size_t)o->H * (size_t)o->W;
    double *K = r->intrinsics + 9 * view, *pose = r->pose + 16 * image;
    camera_intrinsics_from_fov(1.0, o->H, o->W, K);
    camera_look_at(eye, target, up, pose);
    for (size_t p = 0; p < pixels; p++) {
        double point[3], d[3];
        int box;
        camera_unproject_pixel(K, pose, o->W, p, 1, point);
        for (int c = 0; c < 3; c++) d[c] = point[c] - eye[c];
        double z = trace(eye, d, frame, &box), paint[3] = {0}, high[3]; // the paint moves with the box
        if (box >= 0) box_of(box, frame, paint, high);
        uint8_t *rgb = r->rgb + 3 * (image * pixels + p);
        r->depth[image * pixels + p] = (float)z;
        for (int c = 0; c < 3; c++)
            rgb[c] =
                (uint8_t)(120 + 50 * sin(4 * (eye[c] + z * d[c] - paint[c])) + (box < 0 ? 0 : 60 * cos(2.0 * box + c)));
    }
}

Status room_video_make(RoomVideo *r, int F, int V, int H, int W, Error *err) {
    size_t views = (size_t)V, images = (size_t)F * views, pixels = images * (size_t)H * (size_t)W;
    *r = (RoomVideo){.views = calloc(views, sizeof *r->views),
                     .rgb = malloc(3 * pixels),
                     .depth = malloc(pixels * sizeof *r->depth),
                     .intrinsics = malloc(9 * views * sizeof *r->intrinsics),
                     .pose = malloc(16 * images * sizeof *r->pose)};
    if (!r->views || !r->rgb || !r->depth || !r->intrinsics || !r->pose)
        return error_set(err, STATUS_FAILED, "out of memory for %d frames of %d views of %dx%d", F, V, W, H);
    r->observation = (Observation){.F = F,
                                   .V = V,
                                   .H = H,
                                   .W = W,
                                   .views = r->views,
                                   .rgb = r->rgb,
                                   .depth = r->depth,
                                   .intrinsics = r->intrinsics,
                                   .world_from_camera = r->pose};
    for (int v = 0; v < V; v++) r->views[v] = v;
    for (int f = 0; f < F; f++)
        for (int v = 0; v < V; v++) draw_image(r, f, v);
    return STATUS_OK;
}

void room_video_free(RoomVideo *r) {
    free(r->views);
    free(r->rgb);
    free(r->depth);
    free(r->intrinsics);
    free(r->pose);
    *r = (RoomVideo){0};
}
