// SPDX-License-Identifier: Apache-2.0
#include "model/scene_flow.h"

#include "base/random.h"
#include "nn/backend.h"

#include <string.h>

GnnPoints points_of_cloud(Tape *tape, const PointCloud *cloud) {
    return (GnnPoints){cloud->count, tape_upload(tape, cloud->position, 3 * cloud->count, sizeof(real)),
                       tape_upload(tape, cloud->colour, 3 * cloud->count, sizeof(real))};
}

// Points of a cloud, in host memory of the tape.
typedef struct Picked {
    size_t count;
    int32_t *index;
} Picked;

static GnnPoints upload_picked(Tape *tape, const PointCloud *cloud, size_t count, const int32_t *index) {
    real *x = tape_context(tape, (6 * count + 1) * sizeof *x);
    if (!x || !index) return (GnnPoints){0};
    real *c = x + 3 * count;
    for (size_t i = 0; i < count; i++) {
        memcpy(x + 3 * i, cloud->position + 3 * (size_t)index[i], 3 * sizeof *x);
        memcpy(c + 3 * i, cloud->colour + 3 * (size_t)index[i], 3 * sizeof *c);
    }
    return (GnnPoints){count, tape_upload(tape, x, 3 * count, sizeof *x), tape_upload(tape, c, 3 * count, sizeof *c)};
}

static Picked pick_moving(Tape *tape, const PointCloud *cloud) {
    Picked out = {.index = tape_context(tape, (cloud->count + 1) * sizeof *out.index)};
    for (size_t i = 0; out.index && i < cloud->count; i++)
        if (cloud->moving[i] > 0) out.index[out.count++] = (int32_t)i;
    return out;
}

static void flow_of(Tape *tape, const Vpd *model, const SceneFlowArgs *a, const Picked *from) {
    Picked to = pick_moving(tape, a->to);
    if (tape->device->failed) return;
    FlowArgs flow = {.queries = a->queries,
                     .from = points_of_cloud(tape, a->from),
                     .to = points_of_cloud(tape, a->to),
                     .from_moving = upload_picked(tape, a->from, from->count, from->index),
                     .to_moving = upload_picked(tape, a->to, to.count, to.index),
                     .colour_length = (real)model->config.gnn.colour_length,
                     .extent = (real)model->config.data.extent,
                     .rigid = a->rigid,
                     .u = a->u,
                     .g = a->g};
    ArenaMark mark = arena_mark(&tape->device->scratch);
    flow_between(tape->device, &flow);
    arena_release(&tape->device->scratch, mark);
}

void scene_flow(Tape *tape, const Vpd *model, const SceneFlowArgs *a) {
    Picked from = pick_moving(tape, a->from);
    flow_of(tape, model, a, &from);
}

GnnFlow scene_cue(Tape *tape, const Vpd *model, const PointCloud *now, const PointCloud *past) {
    bool rigid = model->dynamics->config.rigid_cue;
    RandomKey key = {(uint32_t)model->config.train.seed, RANDOM_FLOW, 0, 0};
    Picked moving = pick_moving(tape, now);
    Keyed *items = tape_context(tape, (now->count + 1) * sizeof *items);
    if (tape->device->failed) return (GnnFlow){0};
    bool flags = model->dynamics->config.moving_flag;
    size_t count = flags ? moving.count : now->count, most = flags ? CUE_POINTS : CUE_POINTS_OF_ALL;
    for (size_t i = 0; i < count; i++) {
        int32_t from = flags ? moving.index[i] : (int32_t)i;
        items[i] = (Keyed){choose_key(key, (uint64_t)from), from};
    }
    choose_sort(items, count);
    if (count > most) count = most;
    int32_t *index = tape_context(tape, (count + 1) * sizeof *index);
    for (size_t i = 0; index && i < count; i++) index[i] = items[i].index;
    real *u = tape_memory(tape, 3 * count + 1, sizeof *u),
         *g = rigid ? tape_memory(tape, 9 * count + 1, sizeof *g) : NULL;
    if (tape->device->failed) return (GnnFlow){0};
    GnnFlow out = {upload_picked(tape, now, count, index), u, g};
    flow_of(tape, model, &(SceneFlowArgs){now, past, out.points, rigid, u, g}, &moving);
    return out;
}
