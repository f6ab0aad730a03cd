// SPDX-License-Identifier: Apache-2.0
// The ray renderer (docs/model.md, "Renderer"): particles and rays in, colour, opacity and depth out, with gradients to
// particle positions and features, to the weights and to a learned background. After Point-NeRF (Xu et al., CVPR 2022)
// as used by VPD (Whitney et al., ICLR 2024).
//
//   index   = renderer_index_build(tape, renderer, particles)          once per particle set
//   samples = renderer_place_samples(tape, renderer, index, rays)      integers and depths, outside differentiation
//   output  = renderer_forward(tape, renderer, particles, rays, samples)
//
// `samples` may be used again with moved particles (finite differences). Everything lives on the tape.
#ifndef VPD_RENDERER_RENDERER_H
#define VPD_RENDERER_RENDERER_H

#include "base/error.h"
#include "base/random.h"
#include "nn/parameters.h"
#include "renderer/index.h"
#include "renderer/place_samples.h"

typedef enum RendererBackground {
    BACKGROUND_MEAN,     // a colour given with the rays
    BACKGROUND_LEARNED,  // one learned colour
    BACKGROUND_DIRECTION // an MLP of the ray's direction
} RendererBackground;

typedef struct RendererConfig {
    int features;        // D
    int neighbours;      // K, 1 .. RENDERER_MAX_NEIGHBOURS
    int samples;         // S, samples kept per ray
    int hidden[2];       // widths of the MLP
    double radius;       // r, metres: spacing of samples .4 r, unit of density 4 / r
    double near, far;    // metres along the camera's z
    bool view_direction; // the MLP sees the ray's direction
    bool carry_rgb;      // features 0..2 are rgb
    RendererBackground background;
} RendererConfig;

typedef struct Renderer {
    RendererConfig config;
    Tensor *weight[3], *bias[3];         // renderer.weight0 (4 D + 4 (+ 3), hidden0) ...
    Tensor *background;                  // renderer.background (3), logits; or NULL
    Tensor *sky_weight[3], *sky_bias[3]; // renderer.sky.*; or NULL
} Renderer;

typedef struct RendererParticles {
    Tensor *x;          // (N,3) metres, world
    Tensor *f;          // (N,D)
    const real *radius; // (N) metres, device memory; no gradient
    real reach;         // the largest of them (renderer_reach); particles with a larger one are not seen
    SceneRows scenes;
    size_t most; // with several scenes: particles of the largest
} RendererParticles;

// Device memory.
typedef struct RendererRays {
    size_t count;       // R
    real *origin;       // (R,3) metres, world
    real *direction;    // (R,3) camera z = 1
    Tensor *unit;       // (R,3) direction / |direction|
    real *jitter;       // (R) xi in [0,1); NULL = 0.5
    Tensor *background; // (1,3) or (R,3) colour, for BACKGROUND_MEAN; or NULL = black
    SceneRows scenes;   // as the particles': a ray sees those of its scene
} RendererRays;

typedef struct RendererOutput {
    Tensor *colour;  // (R,3)
    Tensor *opacity; // (R,1)
    Tensor *depth;   // (R,1) metres along the camera's z; 0 where no particle is hit
    Tensor *shaded;  // (samples,4) density in 1/m and colour of each sample
} RendererOutput;

// False, with an error, when a value of the config is out of range.
Status renderer_config_check(const RendererConfig *config, Error *err);

// Declares the parameters (names renderer.*).
void renderer_create(Renderer *renderer, Parameters *set, const RendererConfig *config);
// After parameters_allocate: a learned background starts at this colour (the data's mean).
void renderer_set_background(const Renderer *renderer, Device *device, const double colour[3]);

// Rays from host arrays; jitter and background (3) may be NULL.
RendererRays *renderer_rays(Tape *tape, size_t count, const real *origin, const real *direction, const real *jitter,
                            const real *background);

// The largest finite radius of `count` in host memory; 0 when there is none.
real renderer_reach(size_t count, const real *radius);

RendererIndex *renderer_index_build(Tape *tape, const Renderer *renderer, const RendererParticles *particles);
RendererSamples *renderer_place_samples(Tape *tape, const Renderer *renderer, const RendererIndex *index,
                                        const RendererRays *rays);
RendererOutput renderer_forward(Tape *tape, const Renderer *renderer, const RendererParticles *particles,
                                const RendererRays *rays, const RendererSamples *samples);

// Share of each label in each pixel (R,labels), without gradient: sum_j T_j alpha_j of the neighbours' labels, weighted
// by cut(u). Rows sum to the opacity. label (N) device memory, 0 <= label < labels; other values are ignored.
Tensor *renderer_blend_labels(Tape *tape, const Renderer *renderer, const RendererParticles *particles,
                              const RendererRays *rays, const RendererSamples *samples, const RendererOutput *output,
                              const int32_t *label, int labels);

// A pinhole camera in double precision (base/camera.h).
typedef struct RendererCamera {
    double K[9], world_from_camera[16];
    int H, W;
} RendererCamera;

// Host rays of all pixels [first, first + count) in row-major order; out arrays (count,3).
void renderer_camera_rays(const RendererCamera *camera, size_t first, size_t count, real *origin, real *direction);

// A whole frame in host memory, the caller's; NULL parts are left out.
typedef struct RendererFrame {
    uint8_t *rgb;          // (H,W,3)
    float *colour;         // (H,W,3) before rounding
    float *depth;          // (H,W) metres, 0 = nothing there
    float *opacity;        // (H,W)
    float *label;          // (H,W,labels)
    const int32_t *labels; // (N) device memory, for `label`
    int label_count;
} RendererFrame;

// Draws any camera at any resolution in tiles: memory beyond the index does not grow with the frame. The tape must not
// record; its existing contents are kept, and temporary memory is released.
Status renderer_draw_image(Tape *tape, const Renderer *renderer, const RendererParticles *particles,
                           const real background[3], const RendererCamera *camera, const RendererFrame *frame,
                           Error *err);

#endif
