// SPDX-License-Identifier: Apache-2.0
// Choice of abstract nodes from the present particles (docs/model.md, "Abstract nodes").
#ifndef VPD_GNN_PLAN_NODES_H
#define VPD_GNN_PLAN_NODES_H

#include "gnn/plan.h"

// Sets plan->node and plan->nodes. Returns the list in host memory, valid until the tape is reset (NULL if the device
// has failed). m is the moving flag in host memory, or NULL.
const int32_t *gnn_choose_nodes(Tape *tape, const GnnConfig *config, const GnnPlanInput *input, const real *m,
                                GnnPlan *plan);

#endif
