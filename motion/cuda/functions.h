// SPDX-License-Identifier: Apache-2.0
// Scene-flow kernels of the CUDA back end.
#ifndef VPD_MOTION_CUDA_FUNCTIONS_H
#define VPD_MOTION_CUDA_FUNCTIONS_H

#include "motion/backend.h"

void flow_adopt_cuda(Device *, const FlowAdoptArgs *);
void flow_at_cuda(Device *, const FlowAtArgs *);
void flow_motion_cuda(Device *, const FlowMotionArgs *);
void flow_normals_cuda(Device *, const FlowNormalsArgs *);
void flow_pair_points_cuda(Device *, const FlowPairPointsArgs *);
void flow_place_cuda(Device *, const FlowPlaceArgs *);
void flow_step_cuda(Device *, const FlowStepArgs *);
void flow_vote_cuda(Device *, const FlowVoteArgs *);

#endif
