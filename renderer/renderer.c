// SPDX-License-Identifier: Apache-2.0
#include "renderer/renderer.h"

#include "nn/backend.h"
#include "nn/linear.h"
#include "nn/silu.h"
#include "renderer/composite.h"
#include "renderer/elements.h"
#include "renderer/shade.h"

enum { SKY_WIDTH = 16 };

Status renderer_config_check(const RendererConfig *c, Error *err) {
    if (c->features < (c->carry_rgb ? 3 : 1) || c->features > 1024)
        return error_set(err, STATUS_BAD_INPUT, "model.D = %d: expected %d to 1024", c->features, c->carry_rgb ? 3 : 1);
    if (c->neighbours < 1 || c->neighbours > RENDERER_MAX_NEIGHBOURS)
        return error_set(err, STATUS_BAD_INPUT, "renderer.K = %d: expected 1 to %d", c->neighbours,
                         RENDERER_MAX_NEIGHBOURS);
    if (c->samples < 1 || c->samples > 1024)
        return error_set(err, STATUS_BAD_INPUT, "renderer.S = %d: expected 1 to 1024", c->samples);
    if (c->hidden[0] < 1 || c->hidden[1] < 1 || c->hidden[0] > 4096 || c->hidden[1] > 4096)
        return error_set(err, STATUS_BAD_INPUT, "renderer.widths = %d, %d: expected 1 to 4096", c->hidden[0],
                         c->hidden[1]);
    if (!(c->radius > 0) || !isfinite(c->radius))
        return error_set(err, STATUS_BAD_INPUT, "renderer.radius = %g: expected a positive length in metres",
                         c->radius);
    if (!(c->near >= 0) || !(c->far > c->near) || !isfinite(c->far))
        return error_set(err, STATUS_BAD_INPUT,
                         "renderer.near = %g, renderer.far = %g: expected 0 <= near < far, metres", c->near, c->far);
    return STATUS_OK;
}

static void add_mlp(Parameters *set, const char *name, const size_t widths[4], bool zero_last, Tensor *weight[3],
                    Tensor *bias[3]) {
    for (int i = 0; i < 3; i++) {
        ParameterInit init = zero_last && i == 2 ? INIT_ZERO : INIT_UNIFORM;
        weight[i] = parameters_add(set, init, (double)widths[i], 2, widths + i, "%s.weight%d", name, i);
        bias[i] = parameters_add(set, INIT_ZERO, 0, 1, widths + i + 1, "%s.bias%d", name, i);
    }
}

void renderer_create(Renderer *renderer, Parameters *set, const RendererConfig *config) {
    *renderer = (Renderer){.config = *config};
    size_t inputs = shade_inputs((size_t)config->features, config->view_direction);
    size_t widths[4] = {inputs, (size_t)config->hidden[0], (size_t)config->hidden[1], 4};
    add_mlp(set, "renderer", widths, false, renderer->weight, renderer->bias);
    size_t three = 3, sky[4] = {3, SKY_WIDTH, SKY_WIDTH, 3};
    if (config->background == BACKGROUND_LEARNED)
        renderer->background = parameters_add(set, INIT_ZERO, 0, 1, &three, "renderer.background");
    if (config->background == BACKGROUND_DIRECTION)
        add_mlp(set, "renderer.sky", sky, true, renderer->sky_weight, renderer->sky_bias);
}

void renderer_set_background(const Renderer *renderer, Device *device, const double colour[3]) {
    Tensor *logits = renderer->background ? renderer->background : renderer->sky_bias[2];
    if (!logits) return;
    real host[3];
    for (int c = 0; c < 3; c++) {
        double p = fmin(fmax(colour[c], 1e-3), 1 - 1e-3);
        host[c] = (real)log(p / (1 - p));
    }
    device->nn->upload(device, logits->value, host, sizeof host);
}

static Tensor *sky(Tape *tape, const Renderer *renderer, Tensor *y) {
    for (int i = 0; i < 3; i++) {
        y = linear(tape, y, renderer->sky_weight[i], renderer->sky_bias[i]);
        if (i < 2) y = silu(tape, y);
    }
    return y;
}

RendererOutput renderer_forward(Tape *tape, const Renderer *renderer, const RendererParticles *particles,
                                const RendererRays *rays, const RendererSamples *samples) {
    const RendererConfig *config = &renderer->config;
    Tensor *background = rays->background;
    if (config->background == BACKGROUND_LEARNED) background = renderer->background;
    if (config->background == BACKGROUND_DIRECTION) background = sky(tape, renderer, rays->unit);
    Tensor *shaded = shade(tape, config, particles, rays, samples, renderer->weight, renderer->bias);
    CompositeOutput out = composite(tape, samples, shaded, background, config->background != BACKGROUND_MEAN,
                                    (real)(SAMPLE_SPACING * config->radius));
    return (RendererOutput){out.colour, out.opacity, out.depth, shaded};
}
