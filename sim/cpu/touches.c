// SPDX-License-Identifier: Apache-2.0
// Bodies that meet: their boxes and trees, particles that touch, and sums of what they feel.
#include "sim/cpu/functions.h"
#include "sim/touching.h"

#include <math.h>
#include <string.h>

enum { POINTS_OF_A_TURN = 16 }; // threads take so many in turns, since bodies touch in few places

static void empty_box(real *box) {
    for (int i = 0; i < 3; i++) box[i] = INFINITY, box[SIM_QUAD + i] = -INFINITY;
}

static void grow_box(real *box, const real *low, const real *high) {
    for (int i = 0; i < 3; i++) {
        box[i] = low[i] < box[i] ? low[i] : box[i];
        box[SIM_QUAD + i] = high[i] > box[SIM_QUAD + i] ? high[i] : box[SIM_QUAD + i];
    }
}

static real *root_of(const SimTouching *t, size_t body) {
    return (real *)t->box + ((size_t)t->body[body].node + 1) * SIM_RECORD;
}

void CPU_FN(sim_body_boxes)(const SimTouching *t, const void *state, int thread, int threads) {
    for (size_t b = (size_t)thread; b < t->bodies; b += (size_t)threads) {
        const int32_t *point = t->point + t->body[b].point;
        real *box = root_of(t, b);
        empty_box(box);
        for (int32_t i = 0; i < t->body[b].points; i++) {
            const real *x = sim_place(state, point[i]);
            grow_box(box, x, x);
        }
    }
}

static void list_near(const SimTouching *t, size_t b) {
    const SimBody *body = &t->body[b];
    t->nears[b] = 0;
    for (int32_t other = body->first; other < body->first + body->bodies; other++)
        if ((size_t)other != b && (body->moves || t->body[other].moves) && (body->faces || t->body[other].faces) &&
            sim_boxes_meet(root_of(t, b), root_of(t, (size_t)other), (real)t->reach))
            t->near[b * t->most + (size_t)t->nears[b]++] = other;
}

static void fit_leaf(const SimTouching *t, const SimBody *body, const real *records, int32_t leaf, real *box) {
    empty_box(box);
    for (int32_t f = leaf * SIM_LEAF_FACES; f < (leaf + 1) * SIM_LEAF_FACES && f < body->faces; f++)
        for (int j = 0; j < 3; j++) {
            const real *x = sim_place(records, t->face[3 * (body->face + f) + j]);
            grow_box(box, x, x);
        }
}

void CPU_FN(sim_body_trees)(const SimTouching *t, const void *state, int thread, int threads) {
    for (size_t b = (size_t)thread; b < t->bodies; b += (size_t)threads) {
        const SimBody *body = &t->body[b];
        real *box = (real *)t->box + (size_t)body->node * SIM_RECORD;
        list_near(t, b);
        if (!t->nears[b] || body->leaves < 2) continue; // the root has its box already, and keeps it: others read it
        for (int32_t leaf = 0; leaf < body->leaves; leaf++)
            fit_leaf(t, body, state, leaf, box + (size_t)(body->leaves + leaf) * SIM_RECORD);
        for (int32_t node = body->leaves; node-- > 2;) {
            const real *child = box + (size_t)(2 * node) * SIM_RECORD;
            real *at = box + (size_t)node * SIM_RECORD;
            empty_box(at);
            for (int k = 0; k < 2; k++) grow_box(at, child + k * SIM_RECORD, child + k * SIM_RECORD + SIM_QUAD);
        }
    }
}

void CPU_FN(sim_touches)(const SimTouching *t, const void *state, const void *w, int thread, int threads) {
    const size_t turn = POINTS_OF_A_TURN * (size_t)threads;
    for (size_t first = POINTS_OF_A_TURN * (size_t)thread; first < t->points; first += turn)
        for (size_t i = first; i < first + POINTS_OF_A_TURN && i < t->points; i++) {
            sim_find_touches(t, state, i);
            for (int32_t k = 0; k < t->touches[i]; k++) sim_touch_parts(t, state, w, i, (size_t)k);
        }
}

void CPU_FN(sim_touch_sums)(const SimTouching *t, const SimBack *back, size_t first, size_t last) {
    real *sum = back ? back->touch_sum : t->sum, *values = back ? back->touch_values : NULL;
    const size_t wide = back ? SIM_RECORD : SIM_QUAD, used = back ? SIM_QUAD + 3 : 3;
    memset(sum + first * wide, 0, (last - first) * wide * sizeof *sum);
    for (size_t i = 0; i < t->points; i++)
        for (size_t k = 0; k < (size_t)t->touches[i]; k++) {
            const size_t row = SIM_TOUCHES * i + k;
            const real *part = (const real *)t->part + row * 4 * SIM_RECORD,
                       *slope = (const real *)t->slope + row * SIM_QUAD;
            int32_t vertex[4];
            sim_touch_vertices(t, i, t->touch[row].face, vertex);
            for (size_t j = 0; j < 4; j++) {
                const size_t v = (size_t)vertex[j];
                if (v < first || v >= last) continue;
                for (size_t c = 0; c < used; c++) sum[v * wide + c] += part[j * SIM_RECORD + c];
                for (size_t c = 0; c < SIM_QUAD && back && j < 2; c++) values[v * SIM_QUAD + c] += slope[c] / 2;
            }
        }
}
