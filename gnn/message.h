// SPDX-License-Identifier: Apache-2.0
// The fused MLP of the dynamics: `message`, `update` and `MLP` of docs/model.md over the rows of GnnEdges.
//
//     a = b0 + sum of terms                a term: rows of x, or x W, taken by row, by group, or by the other end
//     y = act(a) W1 + b1                   one hidden layer (weight2 NULL), or
//     y = act(act(a) W1 + b1) W2 + b2      two
//     y = LN(y)        with gain           eps 1e-5
//     y = y + residual with residual
//
// Outputs: the rows y themselves, their products with weights, for terms of later messages, and their mean over the
// rows of a group or over the rows with the same other end (0 if there are none; absent rows never count). Work runs in
// chunks of rows that stay in the L2 cache; nothing of size rows x hidden is written to main memory except what `keep`
// requests. Means over the other end are summed per thread and added in thread order, without atomics, so that the same
// number of threads gives the same bits.
#ifndef VPD_GNN_MESSAGE_H
#define VPD_GNN_MESSAGE_H

#include "gnn/edges.h"
#include "nn/tape.h"

enum { MESSAGE_MAX_TERMS = 12, MESSAGE_PRODUCTS = 2 };

typedef enum TermKind {
    TERM_ROW,   // x has a row for each row
    TERM_GROUP, // x has a row for each group
    // x has a row for each other end and is projected already, so there is no weight. Absent rows get nothing
    TERM_OTHER
} TermKind;

typedef enum MessageMean { MEAN_NONE, MEAN_GROUP, MEAN_OTHER } MessageMean;

// What the forward pass keeps for the backward pass.
typedef enum MessageKeep {
    KEEP_NOTHING, // everything is recomputed
    KEEP_HIDDEN   // the products in front of activations and norm: rows x (1 to 2 hidden + out) values instead of half
                  // the products, as far as the tape's keep_limit goes
} MessageKeep;

typedef struct MessageTermArgs {
    TermKind kind;
    size_t width; // columns of x
    const real *x;
    const real *weight; // (width, hidden), or NULL: width = hidden, and x is added unchanged
    real *dx, *dweight; // gradients are added to these; NULL = not needed
} MessageTermArgs;

// Products of the rows, where the back end makes them (GnnBackend.message_products).
typedef struct MessageProductArgs {
    const real *weight; // (out, hidden), or NULL
    real *y;            // (rows, hidden), overwritten
    const real *dy;     // NULL = no gradient
    real *dweight;      // is added to; NULL = not needed
} MessageProductArgs;

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
    MessageProductArgs product[MESSAGE_PRODUCTS];
    real *drows;       // NULL = no gradient; the products' share is added
    const real *dmean; // NULL = no gradient
    // gradients are added to these; NULL = not needed
    real *dbias0, *dweight1, *dbias1, *dweight2, *dbias2, *dgain, *doffset;
    real *dresidual; // the same; or drows itself: then each row is overwritten after it was read
} MessageArgs;

typedef struct MessageTerm {
    TermKind kind;
    Tensor *x;
    Tensor *weight; // its rows weight_row .. weight_row + x->cols - 1 are used; NULL: x is projected already
    size_t weight_row;
} MessageTerm;

// One call. With one hidden layer, weight1 and bias1 are the output layer and weight2 is NULL.
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
    Tensor *product[MESSAGE_PRODUCTS]; // weights (out, hidden) that the rows are multiplied by, or NULL
    MessageMean mean;
    MessageKeep keep;
} MessageCall;

typedef struct MessageOutput {
    Tensor *rows;                      // (rows, out), NULL unless requested
    Tensor *product[MESSAGE_PRODUCTS]; // (rows, hidden), NULL without their weight
    Tensor *mean;                      // (groups | others, out), NULL with MEAN_NONE
} MessageOutput;

void message_add_term(MessageCall *call, TermKind kind, Tensor *x, Tensor *weight, size_t weight_row);
// With a residual, the backward pass overwrites the gradient of `rows`: its memory becomes the residual's gradient.
MessageOutput message(Tape *tape, const MessageCall *call);

#endif
