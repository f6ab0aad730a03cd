// SPDX-License-Identifier: Apache-2.0
// Solids of cells inside a closed surface.
#include "base/vector.h"
#include "lab/mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// How often the surface winds around a point.
static double winding(const Mesh *mesh, const double at[3]) {
    double sum = 0;
    for (size_t f = 0; f < mesh->F; f++) sum += mesh_solid_angle(mesh, f, at);
    return sum / (4 * 3.14159265358979323846);
}

enum { WALL = 1, INSIDE = 8, KNOWN = 16 }; // bits of a cell; WALL << axis: the surface may lie before the next centre

typedef struct Fill {
    const Mesh *surface;
    Mesh *mesh;
    double low[3], cell;
    int cells[3];
    uint8_t *state;  // (cells)
    int32_t *stack;  // (cells) of cells whose neighbours are to be looked at
    int32_t *vertex; // (cells[0]+1, cells[1]+1, cells[2]+1), number of the vertex + 1, or 0
} Fill;

static size_t cell_at(const Fill *fill, int i, int j, int k) {
    return ((size_t)i * (size_t)fill->cells[1] + (size_t)j) * (size_t)fill->cells[2] + (size_t)k;
}

static void centre_of(const Fill *fill, size_t cell, double out[3]) {
    const size_t ny = (size_t)fill->cells[1], nz = (size_t)fill->cells[2];
    const size_t at[3] = {cell / (ny * nz), cell / nz % ny, cell % nz};
    for (int c = 0; c < 3; c++) out[c] = fill->low[c] + ((double)at[c] + 0.5) * fill->cell;
}

// ---- which cells lie inside: those that no triangle parts from each other are asked together

// The first and last centre, along each axis, between the ends of a triangle's box, a little enlarged; of `along` the
// last one before the box, too.
static void box_of(const Fill *fill, const int32_t *corner, int along, int first[3], int last[3]) {
    for (int c = 0; c < 3; c++) {
        double low = INFINITY, high = -INFINITY;
        for (int v = 0; v < 3; v++) {
            const double at = (fill->surface->position[3 * corner[v] + c] - fill->low[c]) / fill->cell - 0.5;
            low = fmin(low, at - 1e-6);
            high = fmax(high, at + 1e-6);
        }
        first[c] = (int)fmax(0, c == along ? floor(low) : ceil(low));
        last[c] = (int)fmin(fill->cells[c] - 1, floor(high));
    }
}

static void build_walls(Fill *fill) {
    for (size_t f = 0; f < fill->surface->F; f++)
        for (int along = 0; along < 3; along++) {
            int first[3], last[3];
            box_of(fill, fill->surface->triangle + 3 * f, along, first, last);
            for (int i = first[0]; i <= last[0]; i++)
                for (int j = first[1]; j <= last[1]; j++)
                    for (int k = first[2]; k <= last[2]; k++)
                        fill->state[cell_at(fill, i, j, k)] |= (uint8_t)(WALL << along);
        }
}

// Gives a cell's own side to all cells that can be reached from it.
static void spread(Fill *fill, size_t seed) {
    const size_t step[3] = {(size_t)fill->cells[1] * (size_t)fill->cells[2], (size_t)fill->cells[2], 1};
    const uint8_t side = fill->state[seed] & (INSIDE | KNOWN);
    size_t waiting = 1;
    fill->stack[0] = (int32_t)seed;
    while (waiting) {
        const size_t cell = (size_t)fill->stack[--waiting];
        for (int c = 0; c < 3; c++) {
            const size_t at = cell / step[c] % (size_t)fill->cells[c], before = cell - step[c], behind = cell + step[c];
            if (at > 0 && !(fill->state[before] & (KNOWN | WALL << c))) {
                fill->state[before] |= side;
                fill->stack[waiting++] = (int32_t)before;
            }
            if (at + 1 < (size_t)fill->cells[c] && !(fill->state[cell] & WALL << c) && !(fill->state[behind] & KNOWN)) {
                fill->state[behind] |= side;
                fill->stack[waiting++] = (int32_t)behind;
            }
        }
    }
}

static void find_inside(Fill *fill) {
    const size_t cells = (size_t)fill->cells[0] * (size_t)fill->cells[1] * (size_t)fill->cells[2];
    double centre[3];
    build_walls(fill);
    for (size_t cell = 0; cell < cells; cell++) {
        if (fill->state[cell] & KNOWN) continue;
        centre_of(fill, cell, centre);
        fill->state[cell] |= fabs(winding(fill->surface, centre)) < 0.5 ? KNOWN : KNOWN | INSIDE;
        spread(fill, cell);
    }
}

// ---- the solid

static Status fill_cell(Fill *fill, const int at[3], Error *err) {
    int32_t corner[8];
    double x[3];
    Status status = STATUS_OK;
    if (!(fill->state[cell_at(fill, at[0], at[1], at[2])] & INSIDE)) return STATUS_OK;
    for (int v = 0; v < 8 && status == STATUS_OK; v++) {
        const int place[3] = {at[0] + (v & 1), at[1] + (v >> 1 & 1), at[2] + (v >> 2)};
        int32_t *known =
            fill->vertex +
            ((size_t)place[0] * (size_t)(fill->cells[1] + 1) + (size_t)place[1]) * (size_t)(fill->cells[2] + 1) +
            place[2];
        for (int c = 0; c < 3; c++) x[c] = fill->low[c] + place[c] * fill->cell;
        if (!*known) {
            status = mesh_add_vertex(fill->mesh, x, err);
            *known = (int32_t)fill->mesh->N;
        }
        corner[v] = *known - 1;
    }
    return status == STATUS_OK ? mesh_add_cell(fill->mesh, corner, (at[0] + at[1] + at[2]) % 2, err) : status;
}

// The box of cells around the surface, with the surface in its middle.
static Status fill_size(Fill *fill, const char *name, Error *err) {
    double cells = 1;
    for (int c = 0; c < 3; c++) {
        double low = INFINITY, high = -INFINITY;
        for (size_t i = 0; i < fill->surface->N; i++) {
            low = fmin(low, fill->surface->position[3 * i + (size_t)c]);
            high = fmax(high, fill->surface->position[3 * i + (size_t)c]);
        }
        double count = fmax(1, ceil((high - low) / fill->cell - 1e-9));
        cells *= count + 1;
        fill->cells[c] = (int)fmin(count, MESH_ITEMS_MAX);
        fill->low[c] = (low + high - fill->cell * count) / 2;
    }
    if (cells <= MESH_ITEMS_MAX) return STATUS_OK;
    return error_set(err, STATUS_BAD_INPUT, "%s: fill: %g m makes %.0f cells, more than %d; take larger ones", name,
                     fill->cell, cells, MESH_ITEMS_MAX);
}

// More than a tenth off the surface's volume.
static void note_volume(const Fill *fill, const char *name) {
    const Mesh *s = fill->surface, *made = fill->mesh;
    const double filled = (double)made->T / 5 * fill->cell * fill->cell * fill->cell,
                 closed = fabs(vector_enclosed(s->position, 0, s->triangle, s->F));
    if (fabs(filled - closed) > closed / 10)
        snprintf(fill->mesh->note, sizeof fill->mesh->note,
                 "%.300s: fill: cells of %g m make a volume of %.3g m^3, and the surface holds %.3g m^3; smaller ones "
                 "come nearer",
                 name, fill->cell, filled, closed);
}

Status mesh_fill(Mesh *surface, double cell, const char *name, Mesh *out, Error *err) {
    Fill fill = {.surface = surface, .mesh = out, .cell = cell};
    Status status = mesh_close(surface, name, err);
    if (status == STATUS_OK) status = fill_size(&fill, name, err);
    if (status != STATUS_OK) return status;
    size_t room = (size_t)(fill.cells[0] + 1) * (size_t)(fill.cells[1] + 1) * (size_t)(fill.cells[2] + 1);
    fill.vertex = calloc(room, sizeof *fill.vertex);
    fill.stack = calloc(room, sizeof *fill.stack);
    fill.state = calloc(room, sizeof *fill.state);
    if (!fill.vertex || !fill.stack || !fill.state)
        status = error_set(err, STATUS_FAILED, "%s: out of memory for %zu cells", name, room);
    if (status == STATUS_OK) find_inside(&fill);
    for (int i = 0; i < fill.cells[0] && status == STATUS_OK; i++)
        for (int j = 0; j < fill.cells[1]; j++)
            for (int k = 0; k < fill.cells[2] && status == STATUS_OK; k++)
                status = fill_cell(&fill, (int[]){i, j, k}, err);
    free(fill.vertex);
    free(fill.stack);
    free(fill.state);
    if (status == STATUS_OK && !out->T)
        status =
            error_set(err, STATUS_BAD_INPUT, "%s: fill: no cell of %g m lies inside; take smaller ones", name, cell);
    if (status == STATUS_OK) note_volume(&fill, name);
    return status;
}
