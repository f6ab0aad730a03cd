// SPDX-License-Identifier: Apache-2.0
// Scenes that the renderer's tests share: particles on surfaces, rays of a camera, a renderer with random weights.
#ifndef VPD_TESTS_RENDERER_SCENE_H
#define VPD_TESTS_RENDERER_SCENE_H

#include "base/camera.h"
#include "base/random.h"
#include "nn/backend.h"
#include "renderer/elements.h"
#include "renderer/renderer.h"
#include "tests/test.h"

enum { SPLIT_SCENES = 4 };

typedef struct Scene {
    Device *device;
    Parameters set;
    Renderer renderer;
    Tape tape;
    size_t N, R;
    int D;
    real *x, *f, *radius; // host copies, the test's to change
    real *origin, *direction, *jitter;
    real background[3];
    // Of scene_split, the first particles and rays of each scene: the second has no particles, the third no rays.
    bool split;
    int32_t first_particle[SPLIT_SCENES + 1], first_ray[SPLIT_SCENES + 1];
} Scene;

static inline double scene_uniform(uint32_t stream, size_t index, double low, double high) {
    RandomKey key = {.seed = 77, .purpose = RANDOM_TEST, .step = stream};
    return low + (high - low) * (double)random_uniform(key, index);
}

static inline RendererConfig scene_config(void) {
    return (RendererConfig){.features = 6,
                            .neighbours = 8,
                            .samples = 16,
                            .hidden = {12, 12},
                            .radius = 0.08,
                            .near = 0.05,
                            .far = 6,
                            .carry_rgb = true};
}

// A wavy floor and a sphere above it, N points; radii vary by a factor of 4.
static inline void scene_particles(Scene *s, size_t N) {
    s->N = N;
    s->x = calloc(3 * N + 1, sizeof(real));
    s->f = calloc((size_t)s->D * N + 1, sizeof(real));
    s->radius = calloc(N + 1, sizeof(real));
    for (size_t i = 0; i < N; i++) {
        double u = scene_uniform(1, i, -1, 1), v = scene_uniform(2, i, -1, 1);
        double floor_point[3] = {u, v, 0.1 * sin(4 * u) * cos(3 * v)};
        double angle = 3.14159265 * u, height = sqrt(fmax(0, 1 - v * v));
        double ball_point[3] = {0.3 * cos(angle) * height, 0.3 * sin(angle) * height, 0.5 + 0.3 * v};
        for (size_t c = 0; c < 3; c++) s->x[3 * i + c] = (real)(i % 3 ? floor_point : ball_point)[c];
        s->radius[i] = (real)(s->renderer.config.radius * scene_uniform(3, i, 0.55, 2.2));
    }
    for (size_t i = 0; i < (size_t)s->D * N; i++) s->f[i] = (real)scene_uniform(4, i, 0, 1);
}

// Rays from two eyes, one of them inside the cloud, in directions that mostly meet something.
static inline void scene_rays(Scene *s, size_t R) {
    s->R = R;
    s->origin = calloc(3 * R + 1, sizeof(real));
    s->direction = calloc(3 * R + 1, sizeof(real));
    s->jitter = calloc(R + 1, sizeof(real));
    for (size_t i = 0; i < R; i++) {
        double eye[2][3] = {{1.4, -1.1, 1.2}, {0.05, 0.1, 0.35}};
        double target[3] = {scene_uniform(5, i, -1, 1), scene_uniform(6, i, -1, 1), scene_uniform(7, i, -0.4, 0.8)};
        double scale = scene_uniform(8, i, 0.3, 1.2);
        for (size_t c = 0; c < 3; c++) {
            s->origin[3 * i + c] = (real)eye[i % 2][c];
            s->direction[3 * i + c] = (real)((target[c] - eye[i % 2][c]) * scale);
        }
        s->jitter[i] = (real)scene_uniform(9, i, 0, 1);
    }
}

// On a device that scene_close will close.
static inline void scene_open_on(Scene *s, Device *device, const RendererConfig *config, size_t N, size_t R) {
    memset(s, 0, sizeof *s);
    s->device = device;
    Error err = {0};
    assert_status_ok(renderer_config_check(config, &err), err);
    parameters_init(&s->set, s->device);
    renderer_create(&s->renderer, &s->set, config);
    assert_status_ok(parameters_allocate(&s->set, 5, &err), err);
    tape_init(&s->tape, s->device);
    s->D = config->features;
    scene_particles(s, N);
    scene_rays(s, R);
    for (int c = 0; c < 3; c++) s->background[c] = (real)(0.2 + 0.3 * c);
}

static inline void scene_open_with(Scene *s, const RendererConfig *config, size_t N, size_t R, int threads) {
    Device *device = NULL;
    Error err = {0};
    assert_status_ok(device_open("cpu", threads, &device, &err), err);
    scene_open_on(s, device, config, N, R);
}

static inline void scene_open(Scene *s, size_t N, size_t R) {
    RendererConfig config = scene_config();
    scene_open_with(s, &config, N, R, 2);
}

static inline void scene_close(Scene *s) {
    free(s->x);
    free(s->f);
    free(s->radius);
    free(s->origin);
    free(s->direction);
    free(s->jitter);
    tape_free(&s->tape);
    parameters_free(&s->set);
    device_close(s->device);
}

// Distance along d from o to a room of a floor, a wall and three balls; 0 when nothing is hit. `slope` = cosine at the
// surface.
static inline double scene_room_hit(const double o[3], const double d[3], double *slope) {
    static const double balls[3][4] = {{0.3, 0.2, 0.25, 0.25}, {-0.4, -0.1, 0.2, 0.2}, {0, -0.6, 0.3, 0.15}};
    double best = 1e9, length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    *slope = 1;
    if (d[2] < 0) { // the floor, 4 x 4 m
        double t = -o[2] / d[2];
        if (fabs(o[0] + t * d[0]) < 2 && fabs(o[1] + t * d[1]) < 2) best = t, *slope = -d[2] / length;
    }
    double wall = (2 - o[1]) / d[1];
    if (wall > 0 && wall < best && o[2] + wall * d[2] < 1 && fabs(o[0] + wall * d[0]) < 2)
        best = wall, *slope = fabs(d[1]) / length;
    for (int b = 0; b < 3; b++) {
        double v[3] = {o[0] - balls[b][0], o[1] - balls[b][1], o[2] - balls[b][2]};
        double B = v[0] * d[0] + v[1] * d[1] + v[2] * d[2], A = length * length;
        double C = v[0] * v[0] + v[1] * v[1] + v[2] * v[2] - balls[b][3] * balls[b][3], root = B * B - A * C;
        double t = root > 0 ? (-B - sqrt(root)) / A : 0;
        if (t > 0 && t < best) best = t, *slope = sqrt(root) / (length * balls[b][3]);
    }
    return best < 1e8 ? best : 0;
}

static inline RendererCamera scene_camera(int number, int H, int W) {
    RendererCamera camera = {.H = H, .W = W};
    double angle = 1.57 * number + 0.4, eye[3] = {1.6 * cos(angle), 1.6 * sin(angle), 1.1}, target[3] = {0, 0, 0.1},
           up[3] = {0, 0, 1};
    camera_intrinsics_from_fov(1.0, H, W, camera.K);
    if (!camera_look_at(eye, target, up, camera.world_from_camera)) fail_msg("camera %d", number);
    return camera;
}

// Replaces the particles by the unprojected pixels of four cameras in that room, 4 side^2 at most, in random order;
// reach follows the spacing of the pixels on the surface, within [0.6, 2.3] r with r its median.
static inline void scene_unproject_room(Scene *s, int side) {
    size_t pixels = (size_t)side * (size_t)side, most = 4 * pixels;
    s->x = realloc(s->x, 3 * most * sizeof(real));
    s->f = realloc(s->f, (size_t)s->D * most * sizeof(real));
    s->radius = realloc(s->radius, most * sizeof(real));
    s->renderer.config.radius = 2.1 * 0.7 * 2.0 / (side / (2 * tan(0.5)));
    size_t N = 0, step = 7919; // a prime: visits every pixel once, in no order of space
    for (size_t n = 0; n < most; n++) {
        size_t i = n * step % most;
        RendererCamera camera = scene_camera((int)(i / pixels), side, side);
        real origin[3], direction[3];
        renderer_camera_rays(&camera, i % pixels, 1, origin, direction);
        double o[3] = {origin[0], origin[1], origin[2]}, d[3] = {direction[0], direction[1], direction[2]}, slope;
        double z = scene_room_hit(o, d, &slope), r = s->renderer.config.radius;
        if (z == 0) continue;
        for (size_t c = 0; c < 3; c++) s->x[3 * N + c] = (real)(o[c] + z * d[c]);
        double reach = 2.1 * 0.7 * z / (side / (2 * tan(0.5))) / sqrt(fmax(slope, 0.1));
        s->radius[N++] = (real)fmin(fmax(reach, 0.6 * r), 2.3 * r);
    }
    s->N = N;
    for (size_t i = 0; i < (size_t)s->D * N; i++) s->f[i] = (real)scene_uniform(4, i, 0, 1);
}

// Replaces the rays by R pixels of cameras 0..3 (views = 4) or all of another one (views = 1), at side x side.
static inline void scene_room_rays(Scene *s, size_t R, int side, int views) {
    free(s->origin);
    free(s->direction);
    free(s->jitter);
    scene_rays(s, R);
    for (size_t i = 0; i < R; i++) {
        RendererCamera camera = scene_camera(views == 1 ? 7 : (int)(i % 4), side, side);
        size_t pixel = views == 1 ? i : (size_t)scene_uniform(40, i, 0, (double)side * side);
        renderer_camera_rays(&camera, pixel, 1, s->origin + 3 * i, s->direction + 3 * i);
    }
}

// The particles on the tape, with gradients.
static inline RendererParticles scene_upload(Scene *s) {
    RendererParticles p = {.x = tape_tensor(&s->tape, s->N, 3, true),
                           .f = tape_tensor(&s->tape, s->N, (size_t)s->D, true),
                           .reach = renderer_reach(s->N, s->radius)};
    real *radius = tape_memory(&s->tape, s->N, sizeof(real));
    assert_non_null(radius);
    s->device->nn->upload(s->device, p.x->value, s->x, 3 * s->N * sizeof(real));
    s->device->nn->upload(s->device, p.f->value, s->f, (size_t)s->D * s->N * sizeof(real));
    s->device->nn->upload(s->device, radius, s->radius, s->N * sizeof(real));
    p.radius = radius;
    return p;
}

// Cuts particles and rays into scenes, which lie in the same place.
static inline void scene_split(Scene *s) {
    int32_t N = (int32_t)s->N, R = (int32_t)s->R;
    s->split = true;
    memcpy(s->first_particle, (int32_t[]){0, N / 10, N / 10, N / 2, N}, sizeof s->first_particle);
    memcpy(s->first_ray, (int32_t[]){0, R / 3, R / 2, R / 2, R}, sizeof s->first_ray);
}

// The scene of a ray of a split scene; 0 of others.
static inline int scene_of_ray(const Scene *s, size_t ray) {
    int scene = 0;
    while (s->split && s->first_ray[scene + 1] <= (int32_t)ray) scene++;
    return scene;
}

static inline SceneRows scene_rows(Scene *s, const int32_t first[SPLIT_SCENES + 1]) {
    return (SceneRows){SPLIT_SCENES, tape_upload(&s->tape, first, SPLIT_SCENES + 1, sizeof *first)};
}

// Everything of one forward pass.
typedef struct Drawn {
    RendererParticles particles;
    RendererRays *rays;
    RendererIndex *index;
    RendererSamples *samples;
    RendererOutput out;
} Drawn;

static inline void scene_place(Scene *s, Drawn *d) {
    d->particles = scene_upload(s);
    d->rays = renderer_rays(&s->tape, s->R, s->origin, s->direction, s->jitter, s->background);
    if (s->split) {
        d->particles.scenes = scene_rows(s, s->first_particle);
        d->particles.most = s->N - s->N / 2; // of the last
        d->rays->scenes = scene_rows(s, s->first_ray);
    }
    d->index = renderer_index_build(&s->tape, &s->renderer, &d->particles);
    d->samples = renderer_place_samples(&s->tape, &s->renderer, d->index, d->rays);
}

static inline Drawn scene_draw(Scene *s) {
    Drawn d = {0};
    Error err = {0};
    scene_place(s, &d);
    d.out = renderer_forward(&s->tape, &s->renderer, &d.particles, d.rays, d.samples);
    assert_status_ok(device_status(s->device, &err), err);
    return d;
}

// The loss's upstream gradients: fixed random numbers for colour, opacity and depth of each ray.
static inline double scene_upstream(int part, size_t index) { return scene_uniform(20 + (uint32_t)part, index, -1, 1); }

static inline double scene_objective(const Drawn *d) {
    const Tensor *parts[3] = {d->out.colour, d->out.opacity, d->out.depth};
    double sum = 0;
    for (int p = 0; p < 3; p++)
        for (size_t i = 0; i < parts[p]->rows * parts[p]->cols; i++)
            sum += (double)parts[p]->value[i] * scene_upstream(p, i);
    return sum;
}

// Backward from these gradients for rays [first, last), zero for the others.
static inline void scene_backward_part(Scene *s, Drawn *d, size_t first, size_t last) {
    Tensor *parts[3] = {d->out.colour, d->out.opacity, d->out.depth};
    for (int p = 0; p < 3; p++) {
        real *grad = tape_grad(&s->tape, parts[p]);
        for (size_t i = first * parts[p]->cols; i < last * parts[p]->cols; i++) grad[i] = (real)scene_upstream(p, i);
    }
    tape_backward_from_grads(&s->tape);
}

static inline void scene_backward(Scene *s, Drawn *d) { scene_backward_part(s, d, 0, s->R); }

#endif
