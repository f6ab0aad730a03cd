// SPDX-License-Identifier: Apache-2.0
// Inputs are known by name: bias0 .. offset, residual and product, and terms "row", "group", "other", each followed by
// its weight "W" or by none. sizes: groups, k, others (0: only rows), mean, period of absent rows, keep, whether rows
// are requested.
#include "gnn/cases.h"
#include "gnn/message.h"

#include <string.h>

enum { GROUPS, K, OTHERS, MEAN, HOLE, KEEP, ROWS };

static void assign_input(MessageCall *call, const OpCase *c, size_t i, Tensor *const *in) {
    const char *name = c->inputs[i].name, *next = i + 1 < CASE_INPUTS ? c->inputs[i + 1].name : NULL;
    MessageLayers *l = &call->layers;
    struct {
        const char *name;
        Tensor **to;
    } fields[] = {{"bias0", &l->bias0},     {"weight1", &l->weight1},     {"bias1", &l->bias1},
                  {"weight2", &l->weight2}, {"bias2", &l->bias2},         {"gain", &l->gain},
                  {"offset", &l->offset},   {"residual", &call->residual}};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++)
        if (!strcmp(name, fields[f].name)) *fields[f].to = in[i];
    Tensor *weight = next && next[0] == 'W' ? in[i + 1] : NULL;
    if (!strcmp(name, "row")) message_add_term(call, TERM_ROW, in[i], weight, 0);
    if (!strcmp(name, "group")) message_add_term(call, TERM_GROUP, in[i], weight, 0);
    if (!strcmp(name, "other")) message_add_term(call, TERM_OTHER, in[i], NULL, 0);
    if (!strcmp(name, "product")) call->product[call->product[0] ? 1 : 0] = in[i];
}

static Tensor *run(Tape *tape, Tensor *const *in, const OpCase *c) {
    MessageCall call = {.mean = (MessageMean)c->sizes[MEAN], .keep = (MessageKeep)c->sizes[KEEP]};
    call.edges = edges_of_rows((size_t)c->sizes[GROUPS]);
    if (c->sizes[OTHERS])
        call.edges = case_edges(tape, (size_t)c->sizes[GROUPS], (size_t)c->sizes[K], (size_t)c->sizes[OTHERS],
                                (size_t)c->sizes[HOLE]);
    call.wants_rows = c->sizes[ROWS] != 0;
    for (size_t i = 0; i < case_input_count(c); i++) assign_input(&call, c, i, in);
    MessageOutput output = message(tape, &call);
    for (int i = 0; i < MESSAGE_PRODUCTS; i++)
        if (output.product[i]) output.rows = case_join(tape, output.rows, output.product[i]);
    if (output.rows && output.mean) return case_join(tape, output.rows, output.mean);
    return output.rows ? output.rows : output.mean;
}

#define LAYERS(h, o)                                                                                                   \
    {"bias0", 1, h, -1, 1, true}, {"weight1", h, h, -.5, .5, true}, {"bias1", 1, h, -1, 1, true},                      \
        {"weight2", h, o, -.5, .5, true}, {                                                                            \
        "bias2", 1, o, -1, 1, true                                                                                     \
    }
#define NORM(o)                                                                                                        \
    {"gain", 1, o, .5, 1.5, true}, { "offset", 1, o, -1, 1, true }
#define X(name, rows, cols)                                                                                            \
    { name, rows, cols, -1, 1, true }

// Particles to nodes: the mean over the other end.
#define ENCODE(label, groups, k, others, h, hole, keep, is_bench)                                                      \
    {                                                                                                                  \
        .name = "message encode " label, .run = run, .sizes = {groups, k, others, MEAN_OTHER, hole, keep, 0},          \
        .inputs = {LAYERS(h, h),          NORM(h),      X("group", groups, 9),   X("W", 9, h),                         \
                   X("group", groups, 3), X("W", 3, h), X("row", groups * k, 4), X("W", 4, h)},                        \
        .flops = 12.0 * groups * k * h * h + 6.0 * groups * k * 4 * h + 6.0 * groups * 12 * h, .bench = is_bench       \
    }
// A round of messages between nodes: edge state, residual, rows and mean.
#define ROUND(label, groups, k, others, h, hole, keep, is_bench)                                                       \
    {                                                                                                                  \
        .name = "message round " label, .run = run, .sizes = {groups, k, others, MEAN_GROUP, hole, keep, 1},           \
        .inputs = {LAYERS(h, h),          NORM(h),                                                                     \
                   X("other", others, h), X("group", groups, h),                                                       \
                   X("W", h, h),          X("row", groups * k, h),                                                     \
                   X("W", h, h),          X("residual", groups * k, h)},                                               \
        .flops = 18.0 * groups * k * h * h + 6.0 * groups * h * h, .bench = is_bench                                   \
    }
// Nodes to particles: the mean over the group.
#define DECODE(label, groups, k, others, h, hole, keep, is_bench)                                                      \
    {                                                                                                                  \
        .name = "message decode " label, .run = run, .sizes = {groups, k, others, MEAN_GROUP, hole, keep, 0},          \
        .inputs = {LAYERS(h, h),          NORM(h),      X("other", others, h),                                         \
                   X("group", groups, 5), X("W", 5, h), X("row", groups * k, 4),                                       \
                   X("W", 4, h)},                                                                                      \
        .flops = 12.0 * groups * k * h * h + 6.0 * groups * k * 4 * h + 6.0 * groups * 5 * h, .bench = is_bench        \
    }
#define UPDATE(label, groups, h, keep, is_bench)                                                                       \
    {                                                                                                                  \
        .name = "message update " label, .run = run, .sizes = {groups, 1, 0, MEAN_NONE, 0, keep, 1},                   \
        .inputs = {LAYERS(h, h),                                                                                       \
                   NORM(h),                                                                                            \
                   X("row", groups, h),                                                                                \
                   X("W", h, h),                                                                                       \
                   X("row", groups, 2),                                                                                \
                   X("W", 2, h),                                                                                       \
                   X("row", groups, h),                                                                                \
                   X("W", h, h),                                                                                       \
                   X("residual", groups, h)},                                                                          \
        .flops = 24.0 * groups * h * h, .bench = is_bench                                                              \
    }

// A node's update, and the products that the next round begins with.
#define PRODUCTS(label, groups, h, keep, is_bench)                                                                     \
    {                                                                                                                  \
        .name = "message products " label, .run = run, .sizes = {groups, 1, 0, MEAN_NONE, 0, keep, 1},                 \
        .inputs = {LAYERS(h, h),       NORM(h),           X("row", groups, h), X("W", h, h), X("residual", groups, h), \
                   X("product", h, h), X("product", h, h)},                                                            \
        .flops = 30.0 * groups * h * h, .bench = is_bench                                                              \
    }

static const OpCase cases[] = {
    ENCODE("odd", 13, 3, 5, 6, 0, KEEP_NOTHING, false),
    ENCODE("kept", 13, 3, 5, 6, 4, KEEP_HIDDEN, false),
    ENCODE("several chunks", 201, 3, 7, 5, 11, KEEP_NOTHING, false),
    ENCODE("none", 0, 3, 5, 6, 0, KEEP_NOTHING, false),
    ENCODE("others without edges", 2, 1, 40, 6, 0, KEEP_HIDDEN, false),
    ENCODE("all absent", 4, 2, 5, 6, 1, KEEP_NOTHING, false),
    ENCODE("wide groups", 3, 150, 4, 5, 0, KEEP_HIDDEN, false),
    ENCODE("many chunks", 700, 3, 7, 5, 11, KEEP_NOTHING, false),
    ENCODE("256 wide", 5, 3, 4, 140, 7, KEEP_NOTHING, false),
    ENCODE("more than 256 wide", 3, 2, 4, 260, 0, KEEP_HIDDEN, false),
    ROUND("odd", 9, 4, 9, 11, 0, KEEP_NOTHING, false),
    ROUND("64 wide", 5, 4, 5, 40, 3, KEEP_NOTHING, false),
    ROUND("128 wide, kept", 5, 4, 5, 70, 3, KEEP_HIDDEN, false),
    ROUND("absent", 9, 4, 9, 11, 3, KEEP_NOTHING, false),
    ROUND("kept", 9, 4, 9, 11, 3, KEEP_HIDDEN, false),
    ROUND("kept several chunks", 150, 2, 9, 9, 0, KEEP_HIDDEN, false),
    ROUND("one node", 1, 0, 1, 11, 0, KEEP_NOTHING, false),
    DECODE("odd", 17, 4, 6, 6, 0, KEEP_NOTHING, false),
    DECODE("kept", 17, 4, 6, 6, 5, KEEP_HIDDEN, false),
    UPDATE("odd", 7, 9, KEEP_NOTHING, false),
    UPDATE("kept", 7, 9, KEEP_HIDDEN, false),
    UPDATE("none", 0, 9, KEEP_HIDDEN, false),
    UPDATE("several chunks", 300, 4, KEEP_NOTHING, false),
    PRODUCTS("odd", 7, 9, KEEP_NOTHING, false),
    PRODUCTS("none", 0, 9, KEEP_HIDDEN, false),
    PRODUCTS("several tiles, 64 wide", 150, 40, KEEP_NOTHING, false),
    PRODUCTS("128 wide, kept", 70, 70, KEEP_HIDDEN, false),
    {.name = "message product, wider out",
     .run = run,
     .sizes = {20, 1, 0, MEAN_NONE, 0, KEEP_NOTHING, 1},
     .inputs = {X("bias0", 1, 6), X("weight1", 6, 10), X("bias1", 1, 10), X("row", 20, 6), X("product", 10, 6)}},
    {.name = "message plain mlp",
     .run = run,
     .sizes = {5, 1, 0, MEAN_NONE, 0, KEEP_HIDDEN, 1},
     .inputs = {LAYERS(6, 4), X("row", 5, 12), X("W", 12, 6)}},
    {.name = "message one hidden layer",
     .run = run,
     .sizes = {5, 3, 4, MEAN_NONE, 0, KEEP_NOTHING, 1},
     .inputs = {X("bias0", 1, 6), X("weight1", 6, 1), X("other", 4, 6), X("group", 5, 3), X("W", 3, 6), X("row", 15, 4),
                X("W", 4, 6)}},
    {.name = "message one hidden layer kept, wider out",
     .run = run,
     .sizes = {5, 1, 0, MEAN_NONE, 0, KEEP_HIDDEN, 1},
     .inputs = {X("bias0", 1, 6), X("weight1", 6, 10), X("bias1", 1, 10), X("row", 5, 6), X("group", 5, 6)}},
    {.name = "message one hidden layer, 128 wide",
     .run = run,
     .sizes = {50, 2, 4, MEAN_NONE, 5, KEEP_NOTHING, 1},
     .inputs = {X("bias0", 1, 66), X("weight1", 66, 1), X("other", 4, 66), X("group", 50, 3), X("W", 3, 66),
                X("row", 100, 4), X("W", 4, 66)}},
    {.name = "message constant x",
     .run = run,
     .sizes = {5, 3, 4, MEAN_GROUP, 0, KEEP_NOTHING, 0},
     .inputs = {LAYERS(6, 6),
                NORM(6),
                {"group", 5, 3, -1, 1, false},
                X("W", 3, 6),
                X("row", 15, 4),
                {"W", 4, 6, -1, 1, false}}},
    {.name = "message constant wide x",
     .run = run,
     .sizes = {100, 1, 0, MEAN_NONE, 0, KEEP_NOTHING, 1},
     .inputs = {LAYERS(6, 4), {"row", 100, 40, -1, 1, false}, X("W", 40, 6)}},
    ENCODE("paper, nothing kept", 16384, 3, 1024, 128, 0, KEEP_NOTHING, true),
    ENCODE("paper, kept", 16384, 3, 1024, 128, 0, KEEP_HIDDEN, true),
    ROUND("paper, nothing kept", 1024, 10, 1024, 128, 0, KEEP_NOTHING, true),
    ROUND("paper, kept", 1024, 10, 1024, 128, 0, KEEP_HIDDEN, true),
    DECODE("paper, nothing kept", 16384, 4, 1024, 128, 0, KEEP_NOTHING, true),
    DECODE("paper, kept", 16384, 4, 1024, 128, 0, KEEP_HIDDEN, true),
    UPDATE("paper, nothing kept", 1024, 128, KEEP_NOTHING, true),
    PRODUCTS("paper, nothing kept", 1024, 128, KEEP_NOTHING, true),
};

const OpCases message_cases = {"message", cases, sizeof cases / sizeof *cases};
