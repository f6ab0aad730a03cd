// SPDX-License-Identifier: Apache-2.0
// Pictures of a rollout from any camera, at any step: as `vpd render` shows them and `vpd eval` measures them.
//   { draw_load(step); draw_view per camera } per step
#ifndef VPD_INFER_DRAW_H
#define VPD_INFER_DRAW_H

#include "infer/rollout.h"

// Particles of one step on a tape that does not record; gone with its next reset.
typedef struct DrawScene {
    RendererParticles particles;
    real background[3];
    const int32_t *labels; // (N) device memory; NULL when there are none
    int label_count;
} DrawScene;

// Resets the tape. A rollout whose features do not fit the model is STATUS_BAD_INPUT.
Status draw_load(Tape *tape, const Vpd *model, const RolloutFile *rollout, size_t step, DrawScene *out, Error *err);

// `frame` as in renderer/renderer.h; its labels are filled in here.
Status draw_view(Tape *tape, const Vpd *model, const DrawScene *scene, const RendererCamera *camera,
                 RendererFrame frame, Error *err);

// A camera of the rollout at a step.
RendererCamera draw_camera(const RolloutFile *rollout, size_t step, int view);
// The same camera with pictures of another size.
RendererCamera draw_resized(const RendererCamera *camera, int H, int W);

// Shares of labels (pixels, labels) in colours: grey for label 0, black where nothing is.
void draw_label_colours(const float *share, int labels, size_t pixels, uint8_t *rgb);

#endif
