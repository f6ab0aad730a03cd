// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .node and, behind the first 0, a .ele.
#include "tests/fuzz/mesh_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Mesh mesh = {0};
    Error err = {0};
    const uint8_t *zero = memchr(data, 0, size);
    size_t first = zero ? (size_t)(zero - data) : size, second = zero ? size - first - 1 : 0;
    char *node = fuzz_text(data, first), *ele = fuzz_text(zero ? zero + 1 : data, second);
    fuzz_mesh(mesh_parse_tetgen((MeshFile){node, first, "node"}, (MeshFile){ele, second, "ele"}, &mesh, &err), &mesh,
              &err);
    free(node);
    free(ele);
    return 0;
}
