// SPDX-License-Identifier: Apache-2.0
#include "ranks/gpu_sums.h"

#include "nn/backend.h"

#include <stdlib.h>
#include <string.h>

// GPUs must be asked for the same sums in the same order. The first step takes the last parts first; from then on it is
// the order in which rank 0 completed them in that step. A step that wants other parts is a first one again.
struct GpuSums {
    Ranks *ranks;
    Device *device;
    const DeviceSums *sums;
    GpuPart *parts;
    size_t count;
    uint32_t *order, *came; // (count) that of the sums; that of completion in this step
    size_t next, came_count;
    bool *wanted; // (count) in the step before
    bool learned;
};

// ---- opening

// What a rank tells of its GPU.
typedef struct GpuPlace {
    unsigned char gpu[DEVICE_GPU_ID];
    bool found; // NCCL
} GpuPlace;

static Status find_all(Ranks *ranks, Device *device, GpuPlace **out, Error *err) {
    GpuPlace own;
    memset(&own, 0, sizeof own);
    own.found = device->nn->sums && device->nn->sums->found(device, own.gpu);
    *out = calloc((size_t)ranks_count(ranks), sizeof **out);
    if (!*out) return error_set(err, STATUS_FAILED, "out of memory for %d processes", ranks_count(ranks));
    Status status = device_status(device, err);
    return status == STATUS_OK ? ranks_gather(ranks, &own, sizeof own, *out, err) : status;
}

// Whether NCCL can be used; the same on all ranks.
static bool check_places(Ranks *ranks, const GpuPlace *all) {
    const Log *log = ranks_log(ranks);
    for (int r = 0; r < ranks_count(ranks); r++) {
        if (!all[r].found) {
            log_warning(log,
                        "NCCL is missing on %s: gradients go through the host's memory; install libnccl2 (if it is "
                        "there, its header was not when this program was built)",
                        ranks_name(ranks, r));
            return false;
        }
        for (int other = 0; other < r; other++)
            if (!memcmp(all[r].gpu, all[other].gpu, DEVICE_GPU_ID)) {
                log_warning(log, "%s and %s share a GPU: gradients go through the host's memory",
                            ranks_name(ranks, other), ranks_name(ranks, r));
                return false;
            }
    }
    return true;
}

static Status allocate(Ranks *ranks, Device *device, size_t count, GpuSums **out, Error *err) {
    GpuSums *s = calloc(1, sizeof *s);
    if (s) {
        *s = (GpuSums){.ranks = ranks, .device = device, .sums = device->nn->sums, .count = count};
        s->parts = calloc(count + 1, sizeof *s->parts);
        s->order = calloc(count + 1, sizeof *s->order);
        s->came = calloc(count + 1, sizeof *s->came);
        s->wanted = calloc(count + 1, sizeof *s->wanted);
        *out = s;
        if (s->parts && s->order && s->came && s->wanted) return STATUS_OK;
    }
    return error_set(err, STATUS_FAILED, "out of memory for sums between GPUs");
}

Status gpu_sums_open(Ranks *ranks, Device *device, size_t count, GpuSums **out, Error *err) {
    GpuPlace *all = NULL;
    *out = NULL;
    if (device_shares_host(device)) return STATUS_OK;
    Status status = find_all(ranks, device, &all, err);
    bool can = status == STATUS_OK && check_places(ranks, all);
    free(all);
    return can ? allocate(ranks, device, count, out, err) : status;
}

void gpu_sums_free(GpuSums *s) {
    if (!s) return;
    s->sums->close(s->device);
    free(s->parts);
    free(s->order);
    free(s->came);
    free(s->wanted);
    free(s);
}

GpuPart *gpu_sums_part(GpuSums *s, size_t i) { return &s->parts[i]; }

// ---- waiting

// A rank that fails or is stopped meanwhile ends the wait; what is still under way is ended by gpu_sums_free.
static Status wait_for_all(GpuSums *s, Error *err) {
    RanksWait wait = {0};
    Status status = STATUS_OK;
    while (status == STATUS_OK && !s->sums->done(s->device)) {
        status = device_status(s->device, err);
        if (status == STATUS_OK) status = ranks_pause(s->ranks, &wait, RANKS_OTHERS, err);
    }
    return status;
}

// Names all ranks that could not begin: one that fails often makes others fail.
static Status tell_together(GpuSums *s, Error *err) {
    Error own = {0}, *all = calloc((size_t)ranks_count(s->ranks), sizeof *all);
    char names[400] = "";
    const char *why = NULL;
    if (!all) return error_set(err, STATUS_FAILED, "out of memory for %d processes", ranks_count(s->ranks));
    device_status(s->device, &own);
    Status status = ranks_gather(s->ranks, &own, sizeof own, all, err);
    for (int r = 0; status == STATUS_OK && r < ranks_count(s->ranks); r++) {
        if (!all[r].text[0]) continue;
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", why ? ", " : "", ranks_name(s->ranks, r));
        if (!why) why = all[r].text;
    }
    if (why) status = error_set(err, STATUS_FAILED, "%s: %.500s", names, why);
    free(all);
    return status;
}

// Ranks connect when all can. The first sum takes the links, while all are here: later ones need not wait for that.
Status gpu_sums_connect(GpuSums *s, bool bf16, Error *err) {
    unsigned char id[DEVICE_SUMS_ID] = {0};
    size_t longest = 0;
    for (size_t i = 0; i < s->count; i++) longest = s->parts[i].count > longest ? s->parts[i].count : longest;
    s->sums->open(s->device, ranks_rank(s->ranks), ranks_count(s->ranks), longest, bf16);
    if (ranks_rank(s->ranks) == 0) s->sums->make_id(s->device, id);
    Status status = tell_together(s, err);
    if (status == STATUS_OK) status = ranks_broadcast(s->ranks, id, sizeof id, err);
    if (status != STATUS_OK) return status;
    s->sums->connect(s->device, id);
    status = tell_together(s, err);
    if (status != STATUS_OK) return status;
    s->sums->add(s->device, s->parts[0].values, s->parts[0].count);
    return wait_for_all(s, err);
}

// ---- a step

void gpu_sums_begin(GpuSums *s) {
    for (size_t i = 0; i < s->count; i++) {
        GpuPart *part = &s->parts[i];
        s->learned = s->learned && part->wanted == s->wanted[i];
        s->wanted[i] = part->wanted;
        part->complete = !part->wanted;
    }
    for (size_t i = 0; i < s->count && !s->learned; i++) s->order[i] = (uint32_t)(s->count - 1 - i);
    s->next = s->came_count = 0;
}

static void sum_complete(GpuSums *s) {
    for (; s->next < s->count && s->parts[s->order[s->next]].complete; s->next++) {
        const GpuPart *part = &s->parts[s->order[s->next]];
        if (part->wanted) s->sums->add(s->device, part->values, part->count);
    }
}

void gpu_sums_complete(GpuSums *s, size_t i) {
    if (s->parts[i].complete) return;
    s->parts[i].complete = true;
    s->came[s->came_count++] = (uint32_t)i;
    sum_complete(s);
}

// Unwanted parts come last.
static Status learn_order(GpuSums *s, Error *err) {
    for (size_t i = 0; i < s->count; i++)
        if (!s->parts[i].wanted) s->came[s->came_count++] = (uint32_t)i;
    Status status = ranks_broadcast(s->ranks, s->came, s->count * sizeof *s->came, err);
    memcpy(s->order, s->came, s->count * sizeof *s->order);
    s->learned = true;
    return status;
}

Status gpu_sums_finish(GpuSums *s, Error *err) {
    Status status = wait_for_all(s, err);
    return status == STATUS_OK && !s->learned ? learn_order(s, err) : status;
}
