// SPDX-License-Identifier: Apache-2.0
#include "nn/backend.h"
#include "nn/cases.h"
#include "nn/ssim_loss.h"

enum { ROWS = SSIM_SIDE * SSIM_SIDE };

// sizes: patches, rows between their beginnings.
static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    int32_t host[8], *first = tape_memory(tape, 8, sizeof *first);
    for (int i = 0; i < 8; i++) host[i] = (int32_t)(i * c->sizes[1]);
    if (first) tape->device->nn->upload(tape->device, first, host, sizeof host);
    return ssim_loss(tape, in[0], in[1]->value, (size_t)c->sizes[0], first);
}

static const OpCase cases[] = {
    {.name = "ssim_loss none", .inputs = {{"x", 3, 3, 0, 1, true}, {"target", 3, 3, 0, 1, false}}, .run = run},
    {.name = "ssim_loss one patch",
     .inputs = {{"x", ROWS, 3, 0, 1, true}, {"target", ROWS, 3, 0, 1, false}},
     .run = run,
     .sizes = {1, 0}},
    {.name = "ssim_loss patches that overlap",
     .inputs = {{"x", ROWS + 20, 1, 0, 1, true}, {"target", ROWS + 20, 1, 0, 1, false}},
     .run = run,
     .sizes = {3, 7}},
};

const OpCases ssim_loss_cases = {"ssim_loss", cases, sizeof cases / sizeof *cases};
