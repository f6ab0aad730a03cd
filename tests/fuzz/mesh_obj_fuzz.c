// SPDX-License-Identifier: Apache-2.0
// Any bytes as a .obj mesh.
#include "tests/fuzz/mesh_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Mesh mesh = {0};
    Error err = {0};
    char *text = fuzz_text(data, size);
    fuzz_mesh(mesh_parse_obj(text, size, "fuzz", &mesh, &err), &mesh, &err);
    free(text);
    return 0;
}
