// SPDX-License-Identifier: Apache-2.0
// Draws a rollout from any camera at any step, for `vpd render` and `vpd eval`.
//   { draw_load(step); draw_view per camera } per step
#ifndef VPD_INFER_DRAW_H
#define VPD_INFER_DRAW_H

#include "infer/rollout.h"

// Particles of one step, on the workspace's tape; valid until its next reset.
typedef struct DrawScene {
    RendererParticles particles;
    real background[3];
    const int32_t *labels; // (N) device memory; NULL without labels
    int label_count;
} DrawScene;

// Resets the tape first. Features that do not fit the model are STATUS_BAD_INPUT.
Status draw_load(RolloutWorkspace *workspace, const RolloutFile *rollout, size_t step, DrawScene *out, Error *err);

// `frame` as in renderer/renderer.h; this function fills in its labels.
Status draw_view(Tape *tape, const Vpd *model, const DrawScene *scene, const RendererCamera *camera,
                 RendererFrame frame, Error *err);

// A camera of the rollout at a step.
RendererCamera draw_camera(const RolloutFile *rollout, size_t step, int view);
// The same camera with another picture size.
RendererCamera draw_resized(const RendererCamera *camera, int H, int W);

// Label shares (pixels, labels) as colours: grey for label 0, black where there are no particles.
void draw_label_colours(const float *share, int labels, size_t pixels, uint8_t *rgb);

#endif
