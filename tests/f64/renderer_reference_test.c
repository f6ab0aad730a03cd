// SPDX-License-Identifier: Apache-2.0
// The renderer in double against PyTorch's values.
#include "tests/renderer_reference.h"

int main(void) { return run_reference_tests(); }
