// SPDX-License-Identifier: Apache-2.0
// A textured room for tests of the check: a floor, a wall, and balls of which two move, seen by cameras on an arc.
// Depth is exact; what sensors and codecs do to it is added afterwards.
#ifndef VPD_TESTS_CHECK_SCENE_H
#define VPD_TESTS_CHECK_SCENE_H

#include "tests/dataset_scene.h"

typedef struct Room {
    int F, V, H, W;
    bool moving_cameras, still_objects, textureless;
    bool level;       // no wall; cameras upright, at one height
    bool alone;       // small balls and nothing else
    bool shadows;     // below the balls, on a floor of weak texture
    double size;      // 1: a table; lengths grow with it
    double arc;       // radians between the first and the last camera (0: 2.4)
    double field;     // of view, radians (0: 1)
    bool lenses;      // of different fields of view: 1, 1.3 and .8 times `field` in turn
    double k1;        // distortion of the lens
    double time_step; // 0: 0.1 s
    double step;      // of a moving camera, radians (0: 0.03)
    int late[8];      // frames by which the pictures of a view come late
    double noise;     // of depth, standard deviation over depth at the far end; falls with distance
    double lost;      // share of pixels without depth
    double grain;     // grey levels of noise in colour, in blocks of 2 x 2 as codecs leave them
    bool exposures;   // every camera has a gain and an offset of its own
    bool u16;
    uint64_t seed;
} Room;

static inline double room_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

static inline double room_normal(uint64_t *state) {
    double u = room_random(state), v = room_random(state);
    return sqrt(-2 * log(1 - u)) * cos(6.283185307 * v);
}

// Smooth in the plane, of several wavelengths, never repeating.
static inline double room_texture(double u, double v, double phase) {
    return 0.5 + 0.16 * sin(3.1 * u + 1.7 * v + phase) + 0.13 * sin(7.3 * u - 5.9 * v + 2 * phase) +
           0.12 * sin(2.3 * v * v + 9.1 * v + phase) + 0.09 * sin(13.7 * u + 11.3 * v - phase);
}

typedef struct RoomHit {
    double z, level; // depth along the camera's axis (0: nothing); 0..1
    uint16_t mask;
} RoomHit;

static const double ROOM_BALLS[4][4] = {
    {-0.5, 0.35, 0.42, 0.34}, {0.55, -0.25, 0.3, 0.3}, {0.1, 0.6, 0.22, 0.22}, {0.15, -0.7, 0.28, 0.26}};

static inline void room_ball(const Room *room, int ball, double frame, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = ROOM_BALLS[ball][i];
    if (room->still_objects || ball > 1) return;
    double t = frame * (room->time_step > 0 ? room->time_step / 0.1 : 1);
    out[0] += ball ? -0.06 * t : 0.07 * t;
    out[1] += ball ? 0.05 * sin(0.7 * t) : -0.04 * t;
}

static inline double room_floor(const Room *room, double frame, double x, double y) {
    double level = room_texture(2 * x, 2 * y, 0.3), ball[3];
    for (int i = 0; room->shadows && i < 4; i++) {
        room_ball(room, i, frame, ball);
        if (hypot(x - ball[0], y - ball[1]) < 1.2 * ROOM_BALLS[i][3]) return 0.15;
    }
    return room->shadows ? 0.4 + 0.25 * (level - 0.5) : level;
}

// Eye and direction in units of a table.
static inline RoomHit room_trace(const Room *room, double frame, const double eye[3], const double d[3]) {
    RoomHit hit = {0, 0.8, 0};
    if (d[2] < 0 && !room->alone) {
        double t = -eye[2] / d[2], x = eye[0] + t * d[0], y = eye[1] + t * d[1];
        if (fabs(x) < 3 && fabs(y) < 3) hit = (RoomHit){t, room_floor(room, frame, x, y), 0};
    }
    double wall = (-1.6 - eye[0]) / d[0];
    double y = eye[1] + wall * d[1], z = eye[2] + wall * d[2];
    if (!room->level && !room->alone && wall > 0 && (hit.z == 0 || wall < hit.z) && z > 0 && z < 2.5 && fabs(y) < 3)
        hit = (RoomHit){wall, room_texture(2.2 * y + 1, 1.8 * z, 1.9), 0};
    for (int i = 0; i < 4; i++) {
        double ball[3], r = ROOM_BALLS[i][3] * (room->alone ? 0.3 : 1), a = 0, b = 0, c = -r * r;
        room_ball(room, i, frame, ball);
        for (int k = 0; k < 3; k++) {
            double o = eye[k] - ball[k];
            a += d[k] * d[k], b += d[k] * o, c += o * o;
        }
        double root = b * b - a * c, t = root > 0 ? (-b - sqrt(root)) / a : 0;
        if (!(t > 0) || (hit.z > 0 && t >= hit.z)) continue;
        double n[3];
        for (int k = 0; k < 3; k++) n[k] = (eye[k] + t * d[k] - ball[k]) / r;
        hit = (RoomHit){t, room_texture(2.6 * n[0] + n[2], 2.4 * n[1] - n[2], i + 4.0), (uint16_t)(i + 1)};
    }
    if (room->textureless) hit.level = 0.6;
    return hit;
}

// Direction of a pixel in the camera, through a lens with distortion.
static inline void room_ray(const double *K, double k1, double x, double y, double out[3]) {
    camera_unproject(K, x, y, 1, out);
    double bent = sqrt(out[0] * out[0] + out[1] * out[1]), r = bent;
    for (int i = 0; i < 30 && bent > 0; i++) r -= (r * (1 + k1 * r * r) - bent) / (1 + 3 * k1 * r * r);
    for (int i = 0; i < 2 && bent > 0; i++) out[i] *= r / bent;
}

static inline void room_draw(const Room *room, Scene *scene, int f, int v, const double *K, const double *pose,
                             double frame) {
    const EpisodeInfo *info = &scene->info;
    size_t pixels = (size_t)info->H * (size_t)info->W, image = (size_t)f * (size_t)info->V + (size_t)v;
    double size = room->size > 0 ? room->size : 1;
    double eye[3] = {pose[3] / size, pose[7] / size, pose[11] / size};
    for (size_t i = 0; i < pixels; i++) {
        double camera[3], d[3];
        room_ray(K, room->k1, (double)(i % (size_t)info->W) + 0.5, (double)(i / (size_t)info->W) + 0.5, camera);
        for (int k = 0; k < 3; k++)
            d[k] = pose[4 * k] * camera[0] + pose[4 * k + 1] * camera[1] + pose[4 * k + 2] * camera[2];
        RoomHit hit = room_trace(room, frame, eye, d);
        scene->depth[image * pixels + i] = (float)(size * hit.z);
        scene->mask[image * pixels + i] = hit.mask;
        uint8_t *rgb = scene->rgb + 3 * (image * pixels + i);
        for (int k = 0; k < 3; k++) rgb[k] = (uint8_t)(255 * fmin(fmax(hit.level, 0), 1));
    }
}

static inline void room_camera(const Room *room, int frame, int view, double *pose) {
    double arc = room->arc > 0 ? room->arc : 2.4, size = room->size > 0 ? room->size : 1;
    double share = room->V > 1 ? (double)view / (room->V - 1) : 0.5;
    double angle = (share - 0.5) * arc;
    if (room->moving_cameras) angle += (room->step > 0 ? room->step : 0.03) * frame * (1 + 0.1 * sin(frame));
    double radius = 2 + 0.15 * cos(2 * view),
           height = 1.2 + 0.25 * sin(3.0 * view + 0.4 * frame * room->moving_cameras);
    if (room->level) radius = 2, height = 1.2;
    double eye[3] = {radius * cos(angle) * size, radius * sin(angle) * size, height * size};
    double target[3] = {0.05 * view * size, 0, 0.25 * size}, up[3] = {0.25, 0.15 + 0.05 * view, 1};
    if (room->level) target[0] = up[0] = up[1] = 0;
    CHECK(camera_look_at(eye, target, up, pose));
}

static inline void room_blemish(const Room *room, Scene *scene) {
    const EpisodeInfo *info = &scene->info;
    size_t pixels = (size_t)info->H * (size_t)info->W, count = pixels * (size_t)info->F * (size_t)info->V;
    double far = 4 * (room->size > 0 ? room->size : 1);
    uint64_t state = room->seed + 17;
    for (size_t i = 0; i < count; i++) {
        float *depth = &scene->depth[i];
        if (room->noise > 0 && *depth > 0)
            *depth = (float)fmax(1e-3, *depth * (1 + room->noise * fmin(*depth / far, 1) * room_normal(&state)));
        if (room->lost > 0 && room_random(&state) < room->lost) *depth = 0;
        size_t view = i / pixels % (size_t)info->V, x = i % pixels % (size_t)info->W, y = i % pixels / (size_t)info->W;
        double gain = room->exposures ? 0.55 + 0.12 * (double)(view % 4) : 1,
               offset = room->exposures ? 7.0 * (double)(view % 5) : 0;
        uint64_t block = room->seed + (i / pixels << 40) + ((y / 2) << 20) + x / 2;
        double grain = room->grain > 0 ? room->grain * room_normal(&block) : 0;
        for (int k = 0; k < 3; k++)
            scene->rgb[3 * i + (size_t)k] =
                (uint8_t)fmin(fmax(gain * scene->rgb[3 * i + (size_t)k] + offset + grain, 0), 255);
    }
}

// Right as it comes out, but for the clocks that the room says.
static inline Scene room_make(const Room *room) {
    Scene scene = scene_make(room->F, room->V, room->H, room->W, room->moving_cameras ? SCENE_MOVING : 0);
    EpisodeInfo *info = &scene.info;
    info->O = 0, info->A = 0, info->has_mask = false;
    info->depth_is_u16 = room->u16;
    if (room->u16) info->depth_scale = 0.001 * (room->size > 1 ? room->size : 1);
    for (int v = 0; v < info->V; v++) {
        double field = (room->field > 0 ? room->field : 1) * (room->lenses ? (double[]){1, 1.3, 0.8}[v % 3] : 1);
        camera_intrinsics_from_fov(field, info->H, info->W, scene.K + 9 * v);
        scene.K[9 * v + 2] += 0.02 * info->W, scene.K[9 * v + 5] -= 0.03 * info->H;
    }
    for (int f = 0; f < info->F; f++) {
        scene.time[f] = f * (room->time_step > 0 ? room->time_step : 0.1);
        for (int v = 0; v < info->V; v++) {
            double pose[16];
            room_camera(room, f, v, pose);
            if (f == 0 || info->moving_cameras)
                memcpy(scene.poses + 16 * (info->moving_cameras ? f * info->V + v : v), pose, sizeof pose);
            room_draw(room, &scene, f, v, scene.K + 9 * v, pose, f - (v < 8 ? room->late[v] : 0));
        }
    }
    room_blemish(room, &scene);
    info->intrinsics = scene.K, info->world_from_camera = scene.poses, info->time = scene.time;
    return scene;
}

#endif
