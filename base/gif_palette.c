// SPDX-License-Identifier: Apache-2.0
// Colours are counted in cells of 6 bits a channel; boxes of cells are split where that removes most variance (Heckbert
// 1982, Wu 1992), then the palette is refined by k-means.
#include "base/gif_palette.h"

#include <stdlib.h>
#include <string.h>

enum { REFINEMENTS = 6 };

typedef struct Box {
    size_t first, count; // cells
    double score;        // variance times weight along `axis`, the one where it is largest
    int axis;
} Box;

static size_t cell_index(const uint8_t *rgb) {
    return (size_t)(rgb[0] >> 2) << 12 | (size_t)(rgb[1] >> 2) << 6 | (size_t)(rgb[2] >> 2);
}

// ---- counting

static void count_pixels(const uint8_t *rgb, size_t pixels, uint64_t (*sums)[4]) {
    for (size_t i = 0; i < pixels; i++) {
        uint64_t *sum = sums[cell_index(rgb + 3 * i)];
        for (int c = 0; c < 3; c++) sum[c] += rgb[3 * i + (size_t)c];
        sum[3]++;
    }
}

// Cells that hold pixels, with their mean colour.
static bool collect_cells(GifColours *colours, const uint64_t (*sums)[4]) {
    size_t count = 0;
    for (size_t i = 0; i < GIF_CELLS; i++) count += sums[i][3] > 0;
    colours->cells = malloc((count ? count : 1) * sizeof *colours->cells);
    if (!colours->cells) return false;
    for (size_t i = 0; i < GIF_CELLS; i++) {
        if (sums[i][3] == 0) continue;
        GifCell *cell = colours->cells + colours->cell_count++;
        cell->weight = (double)sums[i][3];
        cell->index = (uint32_t)i;
        for (int c = 0; c < 3; c++) cell->rgb[c] = (float)((double)sums[i][c] / cell->weight);
    }
    return true;
}

// ---- median cut

static Box measure_box(const GifCell *cells, size_t first, size_t count) {
    Box box = {.first = first, .count = count};
    for (int c = 0; c < 3; c++) {
        double weight = 0, sum = 0, square = 0;
        for (size_t i = first; i < first + count; i++) {
            double v = (double)cells[i].rgb[c];
            weight += cells[i].weight;
            sum += cells[i].weight * v;
            square += cells[i].weight * v * v;
        }
        double score = square - sum * sum / weight;
        if (count > 1 && score > box.score) {
            box.score = score;
            box.axis = c;
        }
    }
    return box;
}

// Moves the cells below the box's mean along its axis to the front; returns how many there are.
static size_t partition(GifCell *cells, const Box *box) {
    double weight = 0, sum = 0;
    size_t low = box->first;
    for (size_t i = box->first; i < box->first + box->count; i++) {
        weight += cells[i].weight;
        sum += cells[i].weight * (double)cells[i].rgb[box->axis];
    }
    for (size_t i = box->first; i < box->first + box->count; i++) {
        if ((double)cells[i].rgb[box->axis] >= sum / weight) continue;
        GifCell cell = cells[low];
        cells[low++] = cells[i];
        cells[i] = cell;
    }
    return low - box->first;
}

static int split_boxes(GifCell *cells, size_t count, int capacity, Box *boxes) {
    int used = 1;
    boxes[0] = measure_box(cells, 0, count);
    while (used < capacity) {
        int worst = 0;
        for (int i = 1; i < used; i++)
            if (boxes[i].score > boxes[worst].score) worst = i;
        if (boxes[worst].score <= 1e-6) break;
        Box box = boxes[worst];
        size_t low = partition(cells, &box);
        if (low == 0 || low == box.count) { // rounding: nothing to separate
            boxes[worst].score = 0;
            continue;
        }
        boxes[worst] = measure_box(cells, box.first, low);
        boxes[used++] = measure_box(cells, box.first + low, box.count - low);
    }
    return used;
}

// ---- refinement

static int nearest_colour(const float (*palette)[3], int count, const float rgb[3]) {
    int best = 0;
    float least = 1e30f;
    for (int i = 0; i < count; i++) {
        float d = 0;
        for (int c = 0; c < 3; c++) d += (palette[i][c] - rgb[c]) * (palette[i][c] - rgb[c]);
        if (d < least) {
            least = d;
            best = i;
        }
    }
    return best;
}

// Each colour becomes the mean of the cells that are nearest to it.
static void refine(const GifColours *colours, float (*palette)[3]) {
    double sums[GIF_PALETTE_MAX][4] = {{0}};
    for (size_t i = 0; i < colours->cell_count; i++) {
        const GifCell *cell = colours->cells + i;
        double *sum = sums[nearest_colour((const float(*)[3])palette, colours->count, cell->rgb)];
        for (int c = 0; c < 3; c++) sum[c] += cell->weight * (double)cell->rgb[c];
        sum[3] += cell->weight;
    }
    for (int i = 0; i < colours->count; i++)
        for (int c = 0; c < 3 && sums[i][3] > 0; c++) palette[i][c] = (float)(sums[i][c] / sums[i][3]);
}

static void choose_palette(GifColours *colours, int capacity) {
    Box boxes[GIF_PALETTE_MAX];
    float palette[GIF_PALETTE_MAX][3] = {{0}};
    colours->count = split_boxes(colours->cells, colours->cell_count, capacity, boxes);
    for (int b = 0; b < colours->count; b++) {
        double weight = 0, sum[3] = {0};
        for (size_t i = boxes[b].first; i < boxes[b].first + boxes[b].count; i++) {
            weight += colours->cells[i].weight;
            for (int c = 0; c < 3; c++) sum[c] += colours->cells[i].weight * (double)colours->cells[i].rgb[c];
        }
        for (int c = 0; c < 3; c++) palette[b][c] = (float)(sum[c] / weight);
    }
    bool exact = colours->cell_count <= (size_t)colours->count;
    for (int i = 0; i < REFINEMENTS && !exact; i++) refine(colours, palette);
    for (int b = 0; b < colours->count; b++)
        for (int c = 0; c < 3; c++) colours->palette[b][c] = (uint8_t)(palette[b][c] + 0.5f);
    for (size_t i = 0; i < colours->cell_count; i++)
        colours->nearest[colours->cells[i].index] =
            (uint8_t)nearest_colour((const float(*)[3])palette, colours->count, colours->cells[i].rgb);
}

bool gif_colours_choose(GifColours *colours, const uint8_t *const *frames, int count, size_t pixels, int capacity) {
    uint64_t(*sums)[4] = calloc(GIF_CELLS, sizeof *sums);
    *colours = (GifColours){.nearest = calloc(GIF_CELLS, 1)};
    bool good = sums && colours->nearest;
    for (int i = 0; good && i < count; i++) count_pixels(frames[i], pixels, sums);
    good = good && collect_cells(colours, (const uint64_t(*)[4])sums);
    if (good && colours->cell_count > 0)
        choose_palette(colours, capacity < GIF_PALETTE_MAX ? capacity : GIF_PALETTE_MAX);
    free(sums);
    if (!good) gif_colours_free(colours);
    return good;
}

void gif_colours_map(const GifColours *colours, const uint8_t *rgb, size_t pixels, uint8_t *out) {
    for (size_t i = 0; i < pixels; i++) out[i] = colours->nearest[cell_index(rgb + 3 * i)];
}

void gif_colours_free(GifColours *colours) {
    free(colours->cells);
    free(colours->nearest);
    *colours = (GifColours){0};
}
