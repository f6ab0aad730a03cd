// SPDX-License-Identifier: Apache-2.0
#include "infer/export_parts.h"

#include "base/hash.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Finding {
    const RolloutFile *rollout;
    ExportParts *out;
    uint32_t *part_of; // (LABELS) the part of each label
    uint32_t *mark;    // (N) the last part that took a particle, counted from 1
    uint32_t *place;   // (N) number of a particle among the vertices of the part at hand
    uint32_t *taken;   // (slots) hash table of identifiers: parts, counted from 1; 0: free
    size_t slots;
} Finding;

enum { LABELS = UINT16_MAX + 1 };

// ---- names

static bool identifier_taken(const Finding *f, const char *name, size_t *slot) {
    uint64_t key = 0;
    for (const char *c = name; *c; c++) key = key * 31 + (unsigned char)*c;
    for (*slot = hash_slot(key, f->slots); f->taken[*slot]; *slot = (*slot + 1) & (f->slots - 1))
        if (!strcmp(f->out->part[f->taken[*slot] - 1].identifier, name)) return true;
    return !strcmp(name, "materials"); // of export_usda.c
}

// Its identifier, from its name.
static void identify_part(Finding *f, size_t k, long label) {
    ExportPart *part = f->out->part + k;
    char *to = part->identifier;
    size_t slot;
    if (isdigit((unsigned char)*part->name)) *to++ = '_';
    for (const char *from = part->name; *from && to + 24 < part->identifier + sizeof part->identifier; from++)
        *to++ = isalnum((unsigned char)*from) && (unsigned char)*from < 128 ? *from : '_';
    *to = 0;
    for (long n = label; identifier_taken(f, part->identifier, &slot); n++) snprintf(to, 24, "_%ld", n);
    f->taken[slot] = (uint32_t)k + 1;
}

// A part for each label that a particle has.
static bool make_parts(Finding *f) {
    const RolloutFile *r = f->rollout;
    const uint16_t *labels = r->sets[0].labels;
    const char *line = r->label_names ? r->label_names : "";
    size_t count = 0;
    for (size_t i = 0; i < r->sets[0].N; i++) f->part_of[labels ? labels[i] : 0] = 1;
    for (size_t l = 0; l < LABELS; l++) count += f->part_of[l];
    for (f->slots = 2; f->slots < 2 * count + 2;) f->slots *= 2;
    f->taken = calloc(f->slots, sizeof *f->taken);
    f->out->part = calloc(count + 1, sizeof *f->out->part);
    if (!f->taken || !f->out->part) return false;
    for (size_t l = 0; l < LABELS; l++) {
        ExportPart *part = f->out->part + f->out->count;
        char name[EXPORT_NAME_SIZE];
        line = rollout_label_line(line, (long)l, name, sizeof name);
        if (!f->part_of[l]) continue;
        snprintf(part->name, sizeof part->name, "%s", labels ? name : "particles");
        identify_part(f, f->out->count, labels ? (long)l : -1);
        f->part_of[l] = (uint32_t)f->out->count++;
    }
    return true;
}

// ---- what belongs to a part: a triangle or spring to that of its first corner

static ExportPart *part_of(const Finding *f, size_t particle) {
    const uint16_t *labels = f->rollout->sets[0].labels;
    return f->out->part + f->part_of[labels ? labels[particle] : 0];
}

static void put_rows(uint32_t *out, size_t *count, const int32_t *row, size_t corners) {
    for (size_t c = 0; out && c < corners; c++) out[corners * *count + c] = (uint32_t)row[c];
    ++*count;
}

// Counts what each part has, and fills the arrays of parts that have them.
static void share_out(Finding *f) {
    const RolloutSurface *s = &f->rollout->surface;
    for (size_t k = 0; k < f->out->count; k++)
        f->out->part[k].count = f->out->part[k].triangles = f->out->part[k].springs = 0;
    for (size_t i = 0; i < s->triangles; i++) {
        ExportPart *part = part_of(f, (size_t)s->triangle[3 * i]);
        put_rows(part->triangle, &part->triangles, s->triangle + 3 * i, 3);
    }
    for (size_t i = 0; i < s->springs; i++) {
        ExportPart *part = part_of(f, (size_t)s->spring[2 * i]);
        if (!part->triangles) put_rows(part->spring, &part->springs, s->spring + 2 * i, 2);
    }
    for (size_t i = 0; i < f->rollout->sets[0].N; i++) {
        ExportPart *part = part_of(f, i);
        if (!part->triangles) put_rows(part->particle, &part->count, &(int32_t){(int32_t)i}, 1);
    }
}

static bool make_room(ExportPart *part) {
    const size_t most = part->count + 3 * part->triangles + 2 * part->springs; // corners may be of other parts
    part->particle = malloc(most * sizeof *part->particle + 1);
    part->triangle = malloc(3 * part->triangles * sizeof *part->triangle + 1);
    part->spring = malloc(2 * part->springs * sizeof *part->spring + 1);
    return part->particle && part->triangle && part->spring;
}

// ---- vertices

static void take_vertices(Finding *f, size_t k, const uint32_t *particle, size_t count) {
    ExportPart *part = f->out->part + k;
    for (size_t i = 0; i < count; i++) {
        if (f->mark[particle[i]] == k + 1) continue;
        f->mark[particle[i]] = (uint32_t)k + 1;
        part->particle[part->count++] = particle[i];
    }
}

static int by_number(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

// From numbers of particles to numbers of vertices.
static void number_vertices(Finding *f, size_t k) {
    ExportPart *part = f->out->part + k;
    for (size_t v = 0; v < part->count; v++) f->mark[part->particle[v]] = (uint32_t)k + 1;
    take_vertices(f, k, part->triangle, 3 * part->triangles);
    take_vertices(f, k, part->spring, 2 * part->springs);
    qsort(part->particle, part->count, sizeof *part->particle, by_number);
    for (size_t v = 0; v < part->count; v++) f->place[part->particle[v]] = (uint32_t)v;
    for (size_t i = 0; i < 3 * part->triangles; i++) part->triangle[i] = f->place[part->triangle[i]];
    for (size_t i = 0; i < 2 * part->springs; i++) part->spring[i] = f->place[part->spring[i]];
}

Status export_parts_find(const RolloutFile *r, ExportParts *out, Error *err) {
    const size_t N = r->sets[0].N;
    Finding f = {.rollout = r,
                 .out = out,
                 .part_of = calloc(LABELS, sizeof *f.part_of),
                 .mark = calloc(N + 1, sizeof *f.mark),
                 .place = malloc(N * sizeof *f.place + 1)};
    *out = (ExportParts){0};
    bool good = f.part_of && f.mark && f.place && make_parts(&f);
    if (good) share_out(&f);
    for (size_t k = 0; good && k < out->count; k++) good = make_room(out->part + k);
    if (good) share_out(&f);
    for (size_t k = 0; good && k < out->count; k++) number_vertices(&f, k);
    free(f.part_of);
    free(f.mark);
    free(f.place);
    free(f.taken);
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
