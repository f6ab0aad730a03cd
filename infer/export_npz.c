// SPDX-License-Identifier: Apache-2.0
// A zip archive of stored (uncompressed) .npy files. Every entry uses zip's 64-bit sizes, so that no array is too
// large; readers of numpy archives (Python's zipfile, cnpy, ..) accept both sizes.
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "infer/export.h"
#include "infer/rollout.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { ENTRIES_MAX = 20, HEADER_MAX = 256, PARTS_MAX = 2 };

// An array in one piece, or in two: step 0 and the steps after it are separate arrays.
typedef struct Entry {
    const char *name, *type; // "positions", "<f4"
    int rank;
    size_t dims[4];
    const void *part[PARTS_MAX];
    size_t bytes[PARTS_MAX];
    // filled while writing
    char header[HEADER_MAX];
    size_t header_bytes, size, offset;
    uint32_t crc;
} Entry;

typedef struct Archive {
    Entry entry[ENTRIES_MAX];
    int count;
} Archive;

static size_t type_bytes(const char *type) { return (size_t)atoi(type + 2); }

// `dims` end with 0. If `first` is NULL, the array is left out.
static void add(Archive *a, const char *name, const char *type, const size_t *dims, const void *first,
                const void *rest) {
    size_t row = type_bytes(type);
    if (!first) return;
    CHECK(a->count < ENTRIES_MAX);
    Entry *e = &a->entry[a->count++];
    *e = (Entry){.name = name, .type = type, .part = {first, rest}};
    while (dims[e->rank]) {
        e->dims[e->rank] = dims[e->rank];
        row *= e->rank > 0 || !rest ? dims[e->rank] : 1;
        e->rank++;
    }
    e->bytes[0] = row;
    e->bytes[1] = rest ? row * (e->dims[0] - 1) : 0;
}

static void add_cameras(Archive *a, const RolloutFile *r) {
    size_t V = (size_t)r->V, F = (size_t)r->camera_frames;
    add(a, "intrinsics", "<f8", (size_t[]){V, 3, 3, 0}, r->intrinsics, NULL);
    add(a, "world_from_camera", "<f8", (size_t[]){F, V, 4, 4, 0}, r->world_from_camera, NULL);
}

static void add_surface(Archive *a, const RolloutFile *r) {
    const RolloutSurface *s = &r->surface;
    add(a, "triangles", "<i4", (size_t[]){s->triangles, 3, 0}, s->triangles ? s->triangle : NULL, NULL);
    add(a, "springs", "<i4", (size_t[]){s->springs, 2, 0}, s->springs ? s->spring : NULL, NULL);
    add(a, "touching", "|u1", (size_t[]){s->frames, r->sets[0].N, 0}, s->touching, NULL);
}

static void collect(Archive *a, const RolloutFile *r, const char *meta, const char *meta_type) {
    const RolloutSet *set = &r->sets[0];
    size_t N = set->N, D = set->D, S = r->steps + 1;
    add(a, "positions", "<f4", (size_t[]){S, N, 3, 0}, set->positions, r->steps ? r->positions : NULL);
    if (r->features) add(a, "features", "<f4", (size_t[]){S, N, D, 0}, set->features, r->features);
    else add(a, "features", "<f4", (size_t[]){N, D, 0}, set->features, NULL);
    add(a, "colour", "|u1", (size_t[]){N, 3, 0}, set->colour, NULL);
    add(a, "radius", "<f4", (size_t[]){N, 0}, set->radius, NULL);
    add(a, "moving", "|b1", (size_t[]){N, 0}, set->moving, NULL);
    add(a, "labels", "<u2", (size_t[]){N, 0}, set->labels, NULL);
    add(a, "time", "<f8", (size_t[]){S, 0}, r->time, NULL);
    add(a, "background", "<f4", (size_t[]){3, 0}, r->background, NULL);
    add(a, "light", "<f8", (size_t[]){3, 0}, rollout_has_light(r) ? r->light : NULL, NULL);
    add(a, "bounds", "<f8", (size_t[]){2, 3, 0}, r->has_bounds ? r->bounds : NULL, NULL);
    add_surface(a, r);
    if (r->V > 0) add_cameras(a, r);
    add(a, "meta", meta_type, (size_t[]){0}, meta, NULL);
}

// ---- numpy's header: magic, version 1.0, length, a dict padded with blanks so that the data begin at a multiple of 64

static void write_npy_header(Entry *e) {
    char shape[128] = "";
    size_t used = 0;
    for (int i = 0; i < e->rank; i++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%zu%s", e->dims[i],
                                 i == 0 || i + 1 < e->rank ? "," : "");
    int length = snprintf(e->header + 10, HEADER_MAX - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                          e->type, shape);
    size_t total = (10 + (size_t)length + 1 + 63) / 64 * 64;
    CHECK(total <= HEADER_MAX);
    memset(e->header + 10 + length, ' ', total - 10 - (size_t)length);
    e->header[total - 1] = '\n';
    memcpy(e->header, "\x93NUMPY\x01\x00", 8);
    e->header[8] = (char)((total - 10) & 255);
    e->header[9] = (char)((total - 10) >> 8);
    e->header_bytes = total;
}

static uint32_t add_crc(uint32_t crc, const void *data, size_t bytes) {
    const uint8_t *at = data;
    for (size_t done = 0; done < bytes;) {
        size_t piece = bytes - done < 1 << 30 ? bytes - done : 1 << 30; // zlib takes lengths as uInt
        crc = (uint32_t)crc32(crc, at + done, (uInt)piece);
        done += piece;
    }
    return crc;
}

static void prepare(Entry *e) {
    write_npy_header(e);
    e->size = e->header_bytes + e->bytes[0] + e->bytes[1];
    e->crc = add_crc(0, e->header, e->header_bytes);
    for (int i = 0; i < PARTS_MAX; i++) e->crc = add_crc(e->crc, e->part[i], e->bytes[i]);
}

// ---- zip's records, little-endian

typedef struct Record {
    uint8_t bytes[192];
    size_t size;
} Record;

static void put(Record *r, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) r->bytes[r->size++] = (uint8_t)(value >> (8 * i));
}

static void put_name(Record *r, const Entry *e) {
    r->size += (size_t)snprintf((char *)r->bytes + r->size, sizeof r->bytes - r->size, "%s.npy", e->name);
}

enum {
    VERSION = 45,
    STORED = 0,
    DATE = 0x21
}; // version 4.5 supports 64-bit sizes; dated 1 January 1980, so that equal content gives equal bytes

// Fields that local and central records share: version, flags, method, time, date, checksum, and the marker for 64-bit
// sizes.
static void put_common(Record *r, const Entry *e) {
    put(r, VERSION, 2), put(r, 0, 2), put(r, STORED, 2), put(r, 0, 2), put(r, DATE, 2), put(r, e->crc, 4);
    put(r, UINT32_MAX, 4), put(r, UINT32_MAX, 4), put(r, strlen(e->name) + 4, 2);
}

static Record local_record(const Entry *e) {
    Record r = {0};
    put(&r, 0x04034b50, 4);
    put_common(&r, e);
    put(&r, 20, 2);
    put_name(&r, e);
    put(&r, 1, 2), put(&r, 16, 2), put(&r, e->size, 8), put(&r, e->size, 8);
    return r;
}

static Record central_record(const Entry *e) {
    Record r = {0};
    put(&r, 0x02014b50, 4), put(&r, VERSION, 2);
    put_common(&r, e);
    put(&r, 28, 2), put(&r, 0, 2), put(&r, 0, 2), put(&r, 0, 2), put(&r, 0, 4), put(&r, UINT32_MAX, 4);
    put_name(&r, e);
    put(&r, 1, 2), put(&r, 24, 2), put(&r, e->size, 8), put(&r, e->size, 8), put(&r, e->offset, 8);
    return r;
}

static Record end_record(int count, size_t start, size_t size) {
    Record r = {0};
    put(&r, 0x06064b50, 4), put(&r, 44, 8), put(&r, VERSION, 2), put(&r, VERSION, 2), put(&r, 0, 4), put(&r, 0, 4);
    put(&r, (uint64_t)count, 8), put(&r, (uint64_t)count, 8), put(&r, size, 8), put(&r, start, 8);
    put(&r, 0x07064b50, 4), put(&r, 0, 4), put(&r, start + size, 8), put(&r, 1, 4);
    put(&r, 0x06054b50, 4), put(&r, 0, 4), put(&r, (uint64_t)count, 2), put(&r, (uint64_t)count, 2);
    put(&r, UINT32_MAX, 4), put(&r, UINT32_MAX, 4), put(&r, 0, 2);
    return r;
}

static bool write_out(FILE *file, const void *data, size_t bytes, size_t *at) {
    *at += bytes;
    return bytes == 0 || fwrite(data, 1, bytes, file) == bytes;
}

static bool write_archive(FILE *file, void *context) {
    Archive *a = context;
    size_t at = 0, start;
    bool good = true;
    for (int i = 0; i < a->count && good; i++) {
        Entry *e = &a->entry[i];
        prepare(e);
        e->offset = at;
        Record local = local_record(e);
        good = write_out(file, local.bytes, local.size, &at) && write_out(file, e->header, e->header_bytes, &at);
        for (int k = 0; k < PARTS_MAX && good; k++) good = write_out(file, e->part[k], e->bytes[k], &at);
    }
    start = at;
    for (int i = 0; i < a->count && good; i++) {
        Record central = central_record(&a->entry[i]);
        good = write_out(file, central.bytes, central.size, &at);
    }
    Record end = end_record(a->count, start, at - start);
    return good && write_out(file, end.bytes, end.size, &at);
}

Status export_npz(const RolloutFile *r, const char *path, Error *err) {
    char type[32];
    json_t *meta = json_pack("{s:o s:o s:o s:o s:i s:i s:o s:o s:o}", "checkpoint", json_text(r->checkpoint),
                             "checkpoint_hash", json_text(r->checkpoint_hash), "dataset", json_text(r->dataset),
                             "episode", json_text(r->episode), "first_frame", r->first_frame, "frame_stride",
                             r->frame_stride, "time_step", json_finite(r->time_step), "label_names",
                             json_text(r->label_names), "edit_history", json_text(r->edit_history));
    char *text = meta ? json_dumps(meta, JSON_COMPACT) : NULL;
    Archive *archive = calloc(1, sizeof *archive);
    Status status =
        text && archive ? STATUS_OK : error_set(err, STATUS_FAILED, "%s: out of memory for the archive", path);
    if (status == STATUS_OK) {
        snprintf(type, sizeof type, "|S%zu", strlen(text));
        collect(archive, r, text, type);
        status = file_write_stream(path, write_archive, archive, err);
    }
    free(archive);
    free(text);
    json_decref(meta);
    return status;
}
