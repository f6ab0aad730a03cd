// SPDX-License-Identifier: Apache-2.0
// Scene-flow kernels of the CPU back end, declared once per instruction set; backend.c puts them in the table.
#ifndef VPD_MOTION_CPU_FUNCTIONS_H
#define VPD_MOTION_CPU_FUNCTIONS_H

#include "motion/backend.h"
#include "nn/cpu/cpu.h"

void CPU_FN(flow_adopt)(Device *, const struct FlowAdoptArgs *);
void CPU_FN(flow_at)(Device *, const struct FlowAtArgs *);
void CPU_FN(flow_motion)(Device *, const struct FlowMotionArgs *);
void CPU_FN(flow_normals)(Device *, const struct FlowNormalsArgs *);
void CPU_FN(flow_pair_points)(Device *, const struct FlowPairPointsArgs *);
void CPU_FN(flow_place)(Device *, const struct FlowPlaceArgs *);
void CPU_FN(flow_step)(Device *, const struct FlowStepArgs *);
void CPU_FN(flow_vote)(Device *, const struct FlowVoteArgs *);

#endif
