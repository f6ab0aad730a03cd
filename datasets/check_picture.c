// SPDX-License-Identifier: Apache-2.0
#include "datasets/check.h"

#include "base/camera.h"
#include "base/draw.h"
#include "base/sort.h"
#include "datasets/reproject.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = 760, HEADER = 44, POINTS_MAX = 600000, LABELS_MAX = 24, SAMPLE_MAX = 20000 };

static const Colour BACKGROUND = {24, 26, 30}, TEXT = {225, 225, 225}, BOX = {120, 120, 120};

// The camera of one panel and the size of the scene.
typedef struct Panel {
    Canvas canvas;
    double K[9], camera_from_world[16];
} Panel;

typedef struct Scene {
    const Frames *frames;
    const EpisodeInfo *info;
    double centre[3], up[3], side[3]; // side: horizontal, towards the cameras
    double extent;                    // metres around the centre
} Scene;

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static bool normalise(double v[3]) {
    double length = sqrt(dot(v, v));
    for (int i = 0; i < 3 && length > 1e-9; i++) v[i] /= length;
    return length > 1e-9;
}

// World position of pixel `at` of view v; false where depth is missing.
static bool world_point(const Frames *frames, int v, size_t at, double point[3]) {
    size_t pixels = (size_t)frames->W * (size_t)frames->H;
    double depth = frames->depth[(size_t)v * pixels + at];
    if (!(depth > 0)) return false;
    camera_unproject_pixel(frames->intrinsics + 9 * v, frames->world_from_camera + 16 * v, frames->W, at, depth, point);
    return true;
}

// Centre and size from quantiles of sampled points and of the cameras, so that outliers do not matter.
static Status measure(Scene *scene, Error *err) {
    const Frames *frames = scene->frames;
    size_t pixels = (size_t)frames->H * (size_t)frames->W, total = pixels * (size_t)frames->V;
    size_t step = total / SAMPLE_MAX + 1, count = 0;
    float *axis = malloc((SAMPLE_MAX + 1) * sizeof *axis);
    if (!axis) return error_set(err, STATUS_FAILED, "no memory for a picture");
    for (int i = 0; i < 3; i++) {
        double point[3];
        count = 0;
        for (size_t at = 0; at < total; at += step) {
            if (world_point(frames, (int)(at / pixels), at % pixels, point)) axis[count++] = (float)point[i];
        }
        sort_floats(axis, count);
        double pose = frames->world_from_camera[4 * i + 3];
        scene->centre[i] = count ? sorted_quantile(axis, count, 0.5) : pose;
        double low = count ? sorted_quantile(axis, count, 0.05) : pose,
               high = count ? sorted_quantile(axis, count, 0.95) : pose;
        scene->extent = fmax(scene->extent, 0.5 * (high - low));
    }
    free(axis);
    return STATUS_OK;
}

static void orient(Scene *scene) {
    const Frames *frames = scene->frames;
    double away[3] = {0};
    for (int v = 0; v < frames->V; v++) {
        const double *pose = frames->world_from_camera + 16 * v;
        double offset[3];
        for (int i = 0; i < 3; i++) {
            scene->up[i] -= pose[4 * i + 1]; // up in the image
            offset[i] = pose[4 * i + 3] - scene->centre[i];
            away[i] += offset[i];
        }
        // A distant camera widens the picture up to a limit.
        scene->extent = fmax(scene->extent, fmin(0.8 * sqrt(dot(offset, offset)), 3 * scene->extent + 1e-3));
    }
    if (!normalise(scene->up)) scene->up[2] = 1;
    // Prefers the world axis that is close to it.
    for (int i = 0; i < 3; i++) {
        if (fabs(scene->up[i]) < 0.75) continue;
        double sign = scene->up[i] < 0 ? -1 : 1;
        memset(scene->up, 0, sizeof scene->up);
        scene->up[i] = sign;
    }
    double along = dot(away, scene->up);
    for (int i = 0; i < 3; i++) scene->side[i] = away[i] - along * scene->up[i];
    if (!normalise(scene->side)) {
        int least = fabs(scene->up[0]) < 0.9 ? 0 : 1;
        for (int i = 0; i < 3; i++) scene->side[i] = (i == least) - scene->up[least] * scene->up[i];
        normalise(scene->side);
    }
}

static Status open_panel(const Scene *scene, bool above, Panel *panel, Error *err) {
    Status status = canvas_create(PANEL, PANEL, BACKGROUND, &panel->canvas, err);
    if (status) return status;
    double eye[3], across[3], pose[16], up[3];
    for (int i = 0; i < 3; i++)
        across[i] =
            scene->up[(i + 1) % 3] * scene->side[(i + 2) % 3] - scene->up[(i + 2) % 3] * scene->side[(i + 1) % 3];
    for (int i = 0; i < 3; i++) {
        double sideways = 2.3 * scene->side[i] + 1.5 * across[i] + 1.6 * scene->up[i];
        eye[i] = scene->centre[i] + scene->extent * (above ? 4.2 * scene->up[i] : 1.25 * sideways);
        up[i] = above ? -scene->side[i] : scene->up[i];
    }
    if (!camera_look_at(eye, scene->centre, up, pose)) pose_identity(pose);
    pose_inverse(pose, panel->camera_from_world);
    camera_intrinsics_from_fov(0.75, PANEL, PANEL, panel->K);
    return STATUS_OK;
}

// Position in the panel and depth; false behind the eye.
static bool project(const Panel *panel, const double world[3], double out[3]) {
    double point[3];
    pose_apply(panel->camera_from_world, world, point);
    out[2] = camera_project(panel->K, point, out);
    return out[2] > 1e-6;
}

static void draw_edge(Panel *panel, const double a[3], const double b[3], Colour colour) {
    double from[3], to[3];
    if (!project(panel, a, from) || !project(panel, b, to)) return;
    draw_line(&panel->canvas, from, to, 1, colour);
}

static void draw_points(Panel *panel, const Scene *scene) {
    const Frames *frames = scene->frames;
    size_t pixels = (size_t)frames->H * (size_t)frames->W, total = pixels * (size_t)frames->V,
           step = total / POINTS_MAX + 1;
    int size = total < 100000 ? 3 : 2;
    for (size_t at = 0; at < total; at += step) {
        double point[3], xyz[3];
        if (!world_point(frames, (int)(at / pixels), at % pixels, point) || !project(panel, point, xyz)) continue;
        const uint8_t *rgb = frames->rgb + 3 * at;
        draw_point(&panel->canvas, xyz[0], xyz[1], xyz[2], size, (Colour){rgb[0], rgb[1], rgb[2]});
    }
}

static void draw_frustum(Panel *panel, const Scene *scene, int v) {
    const Frames *frames = scene->frames;
    const double *K = frames->intrinsics + 9 * v, *pose = frames->world_from_camera + 16 * v;
    const double corners[4][2] = {{0, 0}, {frames->W, 0}, {frames->W, frames->H}, {0, frames->H}};
    double eye[3] = {pose[3], pose[7], pose[11]}, edge[4][3], xyz[3];
    Colour colour = draw_palette(v);
    for (int i = 0; i < 4; i++)
        camera_unproject_world(K, pose, corners[i][0], corners[i][1], 0.15 * scene->extent, edge[i]);
    for (int i = 0; i < 4; i++) {
        draw_edge(panel, eye, edge[i], colour);
        draw_edge(panel, edge[i], edge[(i + 1) % 4], colour);
    }
    bool held = episode_view_is_heldout(scene->info, v);
    if ((frames->V <= LABELS_MAX || v % (frames->V / LABELS_MAX + 1) == 0) && project(panel, eye, xyz)) {
        char label[32];
        snprintf(label, sizeof label, held ? "%d held out" : "%d", v);
        draw_text(&panel->canvas, (int)xyz[0] + 6, (int)xyz[1] - 12, 1, TEXT, label);
    }
}

static void draw_bounds(Panel *panel, const Scene *scene) {
    const double *bounds = scene->info->bounds;
    for (int corner = 0; bounds && corner < 8; corner++) {
        for (int axis = 0; axis < 3; axis++) {
            if (corner >> axis & 1) continue;
            double a[3], b[3];
            for (int i = 0; i < 3; i++) {
                a[i] = bounds[3 * (corner >> i & 1) + i];
                b[i] = bounds[3 * ((corner | 1 << axis) >> i & 1) + i];
            }
            draw_edge(panel, a, b, BOX);
        }
    }
}

static Status draw_panel(const Scene *scene, bool above, Canvas *page, Error *err) {
    Panel panel;
    Status status = open_panel(scene, above, &panel, err);
    if (status) return status;
    draw_points(&panel, scene);
    draw_bounds(&panel, scene);
    for (int v = 0; v < scene->frames->V; v++) draw_frustum(&panel, scene, v);
    draw_picture(page, above ? PANEL + 2 : 0, HEADER, panel.canvas.rgb, PANEL, PANEL);
    draw_text(page, above ? PANEL + 10 : 8, HEADER + 8, 1, TEXT, above ? "from above" : "from the side");
    canvas_free(&panel.canvas);
    return STATUS_OK;
}

static Status draw_scene(const Scene *scene, const char *title, const char *path, Error *err) {
    Canvas page;
    char line[256];
    Status status = canvas_create(PANEL + HEADER, 2 * PANEL + 2, BACKGROUND, &page, err);
    if (status) return status;
    snprintf(line, sizeof line, "episode %s, %d view%s of %d x %d at %.3f s; scale of the picture %.2f m",
             scene->info->name, scene->frames->V, scene->frames->V == 1 ? "" : "s", scene->frames->W, scene->frames->H,
             scene->frames->time[0], 2 * scene->extent);
    draw_text(&page, 8, 6, 2, TEXT, title);
    draw_text(&page, 8, 28, 1, TEXT, line);
    status = draw_panel(scene, false, &page, err);
    if (!status) status = draw_panel(scene, true, &page, err);
    if (!status) status = canvas_write_png(&page, path, err);
    canvas_free(&page);
    return status;
}

Status dataset_check_picture(const Dataset *dataset, int episode, int frame, const char *title, const char *path,
                             Error *err) {
    Frames frames = {0};
    Scene scene = {.frames = &frames, .info = dataset_episode(dataset, episode)};
    Status status =
        dataset_read_frames(dataset, (FrameRequest){.episode = episode, .first = frame, .count = 1}, &frames, err);
    if (!status) status = measure(&scene, err);
    if (!status) {
        orient(&scene);
        status = draw_scene(&scene, title, path, err);
    }
    frames_free(&frames);
    return status;
}
