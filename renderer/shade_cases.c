// SPDX-License-Identifier: Apache-2.0
#include "renderer/cases.h"
#include "renderer/shade.h"

enum { RAYS, SAMPLES, NEIGHBOURS, VIEW_DIRECTION, CARRY_RGB }; // in `sizes`

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    const long *sizes = c->sizes;
    RendererConfig config = {.radius = 0.7, .view_direction = sizes[VIEW_DIRECTION], .carry_rgb = sizes[CARRY_RGB]};
    RendererParticles particles = {.x = in[0], .f = in[1], .radius = in[2]->value};
    RendererRays *rays = case_rays(tape, (size_t)sizes[RAYS]);
    RendererSamples *samples =
        case_samples(tape, rays->count, (size_t)sizes[SAMPLES], (int)sizes[NEIGHBOURS], in[0]->rows);
    Tensor *weight[3] = {in[3], in[5], in[7]}, *bias[3] = {in[4], in[6], in[8]};
    return shade(tape, &config, &particles, rays, samples, weight, bias);
}

#define INPUTS(D, view) (4 * (D) + 4 + 3 * (view))
// Radii so large that most neighbours are inside, and positions so close to samples that no weight vanishes.
#define SHADE_CASE(label, rays, n, K, N, D, H0, H1, view, rgb, moving, is_bench)                                       \
    {                                                                                                                  \
        .name = "shade " label,                                                                                        \
        .inputs = {{"x", N, 3, -0.4, 0.4, moving},    {"f", N, D, -1, 1, true},                                        \
                   {"R", N, 1, 0.8, 1.2, false},      {"weight0", INPUTS(D, view), H0, -0.3, 0.3, true},               \
                   {"bias0", 1, H0, -0.3, 0.3, true}, {"weight1", H0, H1, -0.4, 0.4, true},                            \
                   {"bias1", 1, H1, -0.3, 0.3, true}, {"weight2", H1, 4, -0.4, 0.4, true},                             \
                   {"bias2", 1, 4, -0.3, 0.3, true}},                                                                  \
        .run = run, .sizes = {rays, n, K, view, rgb},                                                                  \
        .flops = 6.0 * (n) * (INPUTS(D, view) * (H0) + (H0) * (H1) + (H1)*4), .bench = is_bench                        \
    }

static const OpCase cases[] = {
    SHADE_CASE("none", 3, 0, 4, 5, 5, 8, 8, 0, 1, true, false),
    SHADE_CASE("one", 1, 1, 1, 1, 3, 1, 1, 0, 1, true, false),
    SHADE_CASE("odd", 4, 11, 3, 7, 5, 7, 9, 0, 1, true, false),
    SHADE_CASE("view direction", 6, 17, 8, 20, 16, 12, 10, 1, 1, true, false),
    SHADE_CASE("without rgb", 6, 17, 8, 20, 1, 12, 10, 1, 0, true, false),
    SHADE_CASE("K above N", 6, 17, 64, 11, 6, 8, 8, 0, 1, true, false),
    SHADE_CASE("K 19", 6, 40, 19, 90, 6, 8, 8, 0, 1, true, false),
    SHADE_CASE("several chunks", 50, 700, 8, 40, 16, 16, 16, 0, 1, true, false),
    SHADE_CASE("more chunks than groups", 80, 2600, 4, 30, 4, 5, 5, 0, 1, true, false),
    SHADE_CASE("positions without gradient", 4, 11, 3, 7, 5, 7, 9, 0, 1, false, false),
    SHADE_CASE("paper", 1024, 5120, 8, 16384, 16, 64, 64, 0, 1, true, true),
    SHADE_CASE("paper with view direction", 1024, 5120, 8, 16384, 16, 64, 64, 1, 1, true, true),
};

const OpCases shade_cases = {"shade", cases, sizeof cases / sizeof *cases};
