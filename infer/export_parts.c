// SPDX-License-Identifier: Apache-2.0
#include "infer/export_parts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- names

static bool identifier_taken(const ExportParts *parts, const char *name) {
    if (!strcmp(name, "materials")) return true; // of export_usda.c
    for (size_t k = 0; k + 1 < parts->count; k++)
        if (!strcmp(parts->part[k].identifier, name)) return true;
    return false;
}

// The last part's.
static void name_part(const RolloutFile *r, long label, const ExportParts *parts) {
    ExportPart *part = parts->part + parts->count - 1;
    if (label < 0) snprintf(part->name, sizeof part->name, "particles");
    else rollout_label_name(r, label, part->name, sizeof part->name);
    char *to = part->identifier;
    if (isdigit((unsigned char)*part->name)) *to++ = '_';
    for (const char *from = part->name; *from && to + 24 < part->identifier + sizeof part->identifier; from++)
        *to++ = isalnum((unsigned char)*from) && (unsigned char)*from < 128 ? *from : '_';
    *to = 0;
    for (long k = label; identifier_taken(parts, part->identifier); k++) snprintf(to, 24, "_%ld", k);
}

// ---- what belongs to a part: a triangle or spring to that of its first corner

static long label_of(const RolloutFile *r, size_t particle) {
    return r->sets[0].labels ? (long)r->sets[0].labels[particle] : -1;
}

// The rows of `corners` numbers each whose first corner has the label, as numbers of particles; marks their corners.
static size_t take_rows(const RolloutFile *r, long label, const int32_t *rows, size_t count, size_t corners,
                        uint32_t *out, uint8_t *mark) {
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        const int32_t *row = rows + corners * i;
        if (label_of(r, (size_t)row[0]) != label) continue;
        for (size_t c = 0; c < corners; c++) {
            out[corners * taken + c] = (uint32_t)row[c];
            mark[row[c]] = 1;
        }
        taken++;
    }
    return taken;
}

// From numbers of particles to numbers of vertices; `place` (N) is overwritten.
static void renumber(ExportPart *part, uint32_t *place) {
    for (size_t v = 0; v < part->count; v++) place[part->particle[v]] = (uint32_t)v;
    for (size_t i = 0; i < 3 * part->triangles; i++) part->triangle[i] = place[part->triangle[i]];
    for (size_t i = 0; i < 2 * part->springs; i++) part->spring[i] = place[part->spring[i]];
}

// `mark`, `place`: (N), for work.
static bool fill_part(const RolloutFile *r, long label, uint8_t *mark, uint32_t *place, ExportPart *part) {
    const RolloutSurface *s = &r->surface;
    const size_t N = r->sets[0].N;
    part->particle = malloc(N * sizeof *part->particle + 1);
    part->triangle = malloc(3 * s->triangles * sizeof *part->triangle + 1);
    part->spring = malloc(2 * s->springs * sizeof *part->spring + 1);
    if (!part->particle || !part->triangle || !part->spring) return false;
    memset(mark, 0, N);
    part->triangles = take_rows(r, label, s->triangle, s->triangles, 3, part->triangle, mark);
    if (!part->triangles) {
        part->springs = take_rows(r, label, s->spring, s->springs, 2, part->spring, mark);
        for (size_t i = 0; i < N; i++) mark[i] |= label_of(r, i) == label;
    }
    for (size_t i = 0; i < N; i++)
        if (mark[i]) part->particle[part->count++] = (uint32_t)i;
    renumber(part, place);
    return true;
}

Status export_parts_find(const RolloutFile *r, ExportParts *out, Error *err) {
    const size_t N = r->sets[0].N, labels = (size_t)UINT16_MAX + 1;
    uint8_t *used = calloc(labels, 1), *mark = malloc(N + 1);
    uint32_t *place = malloc(N * sizeof *place + 1);
    size_t count = 0;
    bool good = used && mark && place;
    *out = (ExportParts){0};
    for (size_t i = 0; good && i < N; i++) {
        uint8_t *first = used + (label_of(r, i) < 0 ? 0 : label_of(r, i));
        count += !*first;
        *first = 1;
    }
    if (good) out->part = calloc(count + 1, sizeof *out->part);
    good = good && out->part;
    for (size_t l = 0; good && l < labels; l++) {
        if (!used[l]) continue;
        const long label = r->sets[0].labels ? (long)l : -1;
        out->count++;
        name_part(r, label, out);
        good = fill_part(r, label, mark, place, out->part + out->count - 1);
    }
    free(used);
    free(mark);
    free(place);
    return good ? STATUS_OK : error_no_memory(err, "an export of %zu particles", N);
}

void export_parts_free(ExportParts *parts) {
    for (size_t k = 0; k < parts->count; k++) {
        free(parts->part[k].particle);
        free(parts->part[k].triangle);
        free(parts->part[k].spring);
    }
    free(parts->part);
    *parts = (ExportParts){0};
}
