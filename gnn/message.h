// SPDX-License-Identifier: Apache-2.0
// The fused MLP of the dynamics: `message`, `update` and `MLP` of docs/model.md over the rows of GnnEdges.
//
//     a = b0 + sum of terms                a term: rows of x, or x W, taken by row, by group, or by the other end
//     y = act(a) W1 + b1                   one hidden layer (weight2 NULL), or
//     y = act(act(a) W1 + b1) W2 + b2      two
//     y = LN(y)        with gain           eps 1e-5
//     y = y + residual with residual
//
// Outputs: the rows y themselves, and their mean over the rows of a group or over the rows that share another end (0
// where there are none; absent rows never count). Work runs in chunks of rows that stay in the L2 cache; nothing of
// size rows x hidden is written to main memory except what `keep` asks for. Means over the other end are summed per
// thread and added in thread order: no atomics, the same bits with the same number of threads.
#ifndef VPD_GNN_MESSAGE_H
#define VPD_GNN_MESSAGE_H

#include "gnn/edges.h"
#include "nn/tape.h"

enum { MESSAGE_MAX_TERMS = 12 };

typedef enum TermKind {
    TERM_ROW,   // x has a line for each row
    TERM_GROUP, // x has a line for each group
    TERM_OTHER  // x has a line for each other end, projected beforehand: no weight. Absent rows get nothing
} TermKind;

typedef enum MessageMean { MEAN_NONE, MEAN_GROUP, MEAN_OTHER } MessageMean;

// What forward writes for backward to read.
typedef enum MessageKeep {
    KEEP_NOTHING, // everything is computed again
    KEEP_HIDDEN   // the products in front of activations and norm: rows x (1 to 2 hidden + out) values instead of half
                  // the products, as far as the tape's keep_limit goes
} MessageKeep;

typedef struct MessageTermArgs {
    TermKind kind;
    size_t width; // columns of x
    const real *x;
    const real *weight; // (width, hidden), or NULL: width = hidden, x is added as it is
    real *dx, *dweight; // added into; NULL = not wanted
} MessageTermArgs;

typedef struct MessageArgs {
    GnnEdges edges;
    size_t hidden, out;
    size_t term_count;
    MessageTermArgs terms[MESSAGE_MAX_TERMS];
    const real *bias0;           // (hidden)
    const real *weight1, *bias1; // (hidden, hidden); with one hidden layer (hidden, out). bias1 may be NULL
    const real *weight2, *bias2; // (hidden, out), or NULL
    const real *gain, *offset;   // (out), or NULL: no norm
    const real *residual;        // (rows, out), or NULL
    MessageMean mean_kind;
    real *rows; // (rows, out), overwritten, or NULL
    real *mean; // (groups | others, out), overwritten, or NULL
    real *kept_a, *kept_b,
        *kept_y; // (rows, hidden) a, (rows, hidden) and (rows, out) products before their bias; NULL = not kept
    const real *drows, *dmean;                                              // NULL = no gradient has come
    real *dbias0, *dweight1, *dbias1, *dweight2, *dbias2, *dgain, *doffset; // added into; NULL = not wanted
    real *dresidual; // the same; or drows itself: then each row is replaced once it has been read
} MessageArgs;

typedef struct MessageTerm {
    TermKind kind;
    Tensor *x;
    Tensor *weight; // rows weight_row .. weight_row + x->cols - 1 of it are used; NULL: x is projected already
    size_t weight_row;
} MessageTerm;

// One call. `act(a) W1 + b1` has its W1 and b1 in weight1 and bias1 when weight2 is NULL.
typedef struct MessageLayers {
    Tensor *bias0, *weight1, *bias1, *weight2, *bias2, *gain, *offset;
} MessageLayers;

typedef struct MessageCall {
    GnnEdges edges;
    MessageLayers layers;
    size_t term_count;
    MessageTerm terms[MESSAGE_MAX_TERMS];
    Tensor *residual; // (rows, out) or NULL
    bool wants_rows;
    MessageMean mean;
    MessageKeep keep;
} MessageCall;

typedef struct MessageOutput {
    Tensor *rows; // (rows, out), NULL unless wanted
    Tensor *mean; // (groups | others, out), NULL with MEAN_NONE
} MessageOutput;

void message_add_term(MessageCall *call, TermKind kind, Tensor *x, Tensor *weight, size_t weight_row);
// With a residual, the gradient of `rows` is gone once backward has run: its memory becomes the residual's gradient.
MessageOutput message(Tape *tape, const MessageCall *call);

#endif
