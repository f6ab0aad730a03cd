// SPDX-License-Identifier: Apache-2.0
// The case tables of gnn's ops; see nn/cases.h.
#ifndef VPD_GNN_CASES_H
#define VPD_GNN_CASES_H

#include "gnn/edges.h"
#include "nn/cases.h"

// Edges of a case: the other ends are pseudo-random, and every `hole`-th row is absent (0: none).
GnnEdges case_edges(Tape *tape, size_t groups, size_t k, size_t others, size_t hole);
// Concatenates the columns of two tensors as one tensor of rows * cols rows, so that a case can test both.
Tensor *case_join(Tape *tape, Tensor *a, Tensor *b);

#endif
