// SPDX-License-Identifier: Apache-2.0
// Compares a memory estimate with what is available.
#include "base/memory_room.h"
#include "model/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOLD = 4, HINTS = 2, SIZE_TEXT = 32 };

static const char *in_words(double bytes, char text[SIZE_TEXT]) {
    double mib = bytes / (1 << 20);
    if (mib < 1024) snprintf(text, SIZE_TEXT, "%.0f MiB", mib);
    else snprintf(text, SIZE_TEXT, "%.1f GiB", mib / 1024);
    return text;
}

double memory_total(const MemoryEstimate *estimate, bool least) {
    double sum = 0;
    for (int i = 0; i < estimate->count; i++) sum += least ? estimate->part[i].least : estimate->part[i].bytes;
    return sum;
}

static int by_size(const void *a, const void *b) {
    double left = ((const MemoryPart *)a)->bytes, right = ((const MemoryPart *)b)->bytes;
    return (left < right) - (left > right);
}

static size_t tell_parts(const MemoryEstimate *estimate, int most, char *out, size_t size) {
    MemoryEstimate sorted = *estimate;
    size_t used = 0;
    char bytes[SIZE_TEXT];
    qsort(sorted.part, (size_t)sorted.count, sizeof *sorted.part, by_size);
    out[0] = 0;
    double hardly = 0.01 * memory_total(estimate, false);
    for (int i = 0; i < sorted.count && i < most && used < size && sorted.part[i].bytes >= hardly; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s %s", i ? ", " : "", sorted.part[i].name,
                                 in_words(sorted.part[i].bytes, bytes));
    return used;
}

void memory_tell(const MemoryEstimate *estimate, char *out, size_t size) {
    tell_parts(estimate, MEMORY_PARTS, out, size);
}

// The parts in one memory: the device's or the host's. For a CPU device both are the same.
static MemoryEstimate those_in(const MemoryEstimate *all, bool host, bool shared) {
    MemoryEstimate out = {.count = 0};
    for (int i = 0; i < all->count; i++)
        if (shared || all->part[i].on_host == host) out.part[out.count++] = all->part[i];
    return out;
}

static void tell_hints(const MemoryEstimate *estimate, char *out, size_t size) {
    MemoryEstimate sorted = *estimate;
    size_t used = 0;
    int said = 0;
    qsort(sorted.part, (size_t)sorted.count, sizeof *sorted.part, by_size);
    out[0] = 0;
    for (int i = 0; i < sorted.count && said < HINTS && used < size; i++) {
        const MemoryPart *part = &sorted.part[i];
        if (!part->shrink || strstr(out, part->shrink)) continue;
        used += (size_t)snprintf(out + used, size - used, "%s%s by %s", said++ ? "; " : "", part->name, part->shrink);
    }
}

static Status compare(const MemoryEstimate *estimate, double room, const char *where, const char *what, const Log *log,
                      Error *err) {
    double least = memory_total(estimate, true), expected = memory_total(estimate, false);
    char need[SIZE_TEXT], have[SIZE_TEXT], parts[400], hints[300];
    if (expected <= room) return STATUS_OK;
    tell_parts(estimate, TOLD, parts, sizeof parts);
    if (least <= room) {
        log_warning(log, "%s may need %s, and %s has %s left (%s)", what, in_words(expected, need), where,
                    in_words(room, have), parts);
        return STATUS_OK;
    }
    tell_hints(estimate, hints, sizeof hints);
    return error_set(err, STATUS_BAD_INPUT, "%s needs about %s, and %s has %s left: %s; make smaller: %s", what,
                     in_words(expected, need), where, in_words(room, have), parts, hints);
}

Status memory_check(const MemoryEstimate *estimate, const Device *device, const char *what, const Log *log,
                    Error *err) {
    const char *limit = "this machine";
    double host = memory_room(&limit);
    bool shared = device_shares_host(device);
    MemoryEstimate here = those_in(estimate, true, shared), there = those_in(estimate, false, false);
    Status status = compare(&here, host, limit, what, log, err);
    if (status != STATUS_OK || shared || !device->source.room) return status;
    size_t left = SIZE_MAX, total = SIZE_MAX;
    char name[sizeof device->name + 16];
    snprintf(name, sizeof name, "the device (%s)", device->name);
    device->source.room(device->source.owner, &left, &total);
    return left == SIZE_MAX ? STATUS_OK : compare(&there, (double)left, name, what, log, err);
}
