// SPDX-License-Identifier: Apache-2.0
// gnn in float against PyTorch's values.
#include "tests/gnn_reference.h"

int main(void) { return run_reference_tests(); }
