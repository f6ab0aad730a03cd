// SPDX-License-Identifier: Apache-2.0
// The CPU's table of gnn ops.
#include "gnn/backend.h"

#include "gnn/cpu/functions.h"

#define ISA_TEXT_(isa) #isa
#define ISA_TEXT(isa) ISA_TEXT_(isa)

extern const GnnBackend CPU_FN(gnn_backend);
const GnnBackend CPU_FN(gnn_backend) = {.name = ISA_TEXT(VPD_ISA), GNN_OPS(OP_CPU_ENTRY)};
