// SPDX-License-Identifier: Apache-2.0
#include "ranks/gradients.h"

#include "base/clock.h"
#include "nn/backend.h"
#include "nn/bf16.h"
#include "ranks/gpu_sums.h"

#include <stdlib.h>
#include <string.h>

#define LOOK_SECONDS 5e-4
enum { BUCKET = 1 << 18, ALIGN = 16 }; // elements of a bucket, at least; it is a multiple of ALIGN

typedef enum BucketState {
    BUCKET_OFF,     // nothing in it is wanted
    BUCKET_OPEN,    // ops may still add
    BUCKET_PIECES,  // pieces are on their way to those who add them
    BUCKET_SUMS,    // sums are on their way
    BUCKET_FINISHED // holds the sum over the ranks
} BucketState;

typedef struct Bucket {
    size_t first, count; // elements of the block
    BucketState state;
    bool used;                   // an op of the watched tape has read one of its parameters
    char *pieces;                // (ranks - 1, own piece) from the other ranks, as in `wire`
    RankRequest *going, *coming; // (ranks)
} Bucket;

struct Gradients {
    Ranks *ranks;
    Parameters *set;
    real *block; // (set->size) the set's own gradients, or a copy in host memory
    bool copied; // the second
    bool bf16;   // messages are rounded
    char *wire;  // (set->size) numbers of messages: `block`, or those in bf16
    size_t size; // bytes of each
    Bucket *buckets;
    size_t bucket_count;
    uint32_t *bucket_of; // (set->size / ALIGN)
    char *pieces;
    RankRequest *requests;
    GpuSums *gpu; // instead of messages, and of `block`; or NULL
    TapeWatch watch;
    GradientsTime time;
    double begun;  // when the first bucket went out; 0: none has
    double looked; // when messages were last looked at
    Status status; // of messages during the backward pass
    Error error;
};

// ---- buckets

static size_t piece_begin(const Bucket *b, int ranks, int piece) {
    return b->first + device_sums_piece(b->count, ranks, piece);
}

static size_t piece_count(const Bucket *b, int ranks, int piece) {
    return piece_begin(b, ranks, piece + 1) - piece_begin(b, ranks, piece);
}

static size_t end_of(const Parameters *set, size_t i) {
    return i + 1 < set->count ? set->items[i + 1]->offset : set->size;
}

// Whole parameters up to BUCKET elements or more. Returns how many; `out` may be NULL.
static size_t cut(const Parameters *set, Bucket *out) {
    size_t count = 0, first = 0;
    for (size_t i = 0; i < set->count; i++) {
        size_t end = end_of(set, i);
        if (end - first < BUCKET && i + 1 < set->count) continue;
        if (out) out[count] = (Bucket){.first = first, .count = end - first};
        count++;
        first = end;
    }
    return count;
}

static void lay_out(Gradients *g) {
    size_t size = (size_t)ranks_count(g->ranks);
    char *piece = g->pieces;
    for (size_t i = 0; i < g->bucket_count; i++) {
        Bucket *b = &g->buckets[i];
        b->pieces = piece;
        piece += (size - 1) * piece_count(b, (int)size, ranks_rank(g->ranks)) * g->size;
        b->going = g->requests + 2 * size * i;
        b->coming = b->going + size;
        for (size_t at = b->first; at < b->first + b->count; at += ALIGN) g->bucket_of[at / ALIGN] = (uint32_t)i;
    }
}

static bool allocate(Gradients *g) {
    size_t size = (size_t)ranks_count(g->ranks), elements = g->set->size;
    g->bucket_count = cut(g->set, NULL);
    g->buckets = calloc(g->bucket_count + 1, sizeof *g->buckets);
    g->bucket_of = calloc(elements / ALIGN + 1, sizeof *g->bucket_of);
    g->requests = calloc(2 * size * g->bucket_count + 1, sizeof *g->requests);
    g->copied = !device_shares_host(g->set->device);
    g->block = g->copied ? malloc(elements * sizeof(real) + 1) : g->set->grads;
    g->size = g->bf16 ? sizeof(uint16_t) : sizeof(real);
    g->wire = g->bf16 ? malloc(elements * g->size + 1) : (char *)g->block;
    if (!g->buckets || !g->bucket_of || !g->requests || !g->block || !g->wire) return false;
    cut(g->set, g->buckets);
    size_t pieces = 0;
    for (size_t i = 0; i < g->bucket_count; i++)
        pieces += (size - 1) * piece_count(&g->buckets[i], (int)size, ranks_rank(g->ranks));
    g->pieces = malloc(pieces * g->size + 1);
    return g->pieces;
}

// ---- messages of a bucket

static int tag_of(const Gradients *g, const Bucket *b, bool sum) {
    return RANKS_FIRST_TAG + 2 * (int)(b - g->buckets) + sum;
}

// Stops at the first that is not done, since looking at one moves all along.
static bool all_done(Gradients *g, RankRequest *requests) {
    bool done = true;
    for (int r = 0; r < ranks_count(g->ranks) && done; r++) done = ranks_done(g->ranks, &requests[r]);
    return done;
}

static void keep_status(Gradients *g, Status status, const Error *err) {
    if (status == STATUS_OK || g->status != STATUS_OK) return;
    g->status = status;
    g->error = *err;
}

// Rank `from`'s numbers of the piece that this rank adds up.
static char *piece_of(const Gradients *g, const Bucket *b, int from) {
    int own = ranks_rank(g->ranks), size = ranks_count(g->ranks);
    if (from == own) return g->wire + piece_begin(b, size, own) * g->size;
    return b->pieces + (size_t)(from - (from > own)) * piece_count(b, size, own) * g->size;
}

static void receive_pieces(Gradients *g, Bucket *b) {
    int own = ranks_rank(g->ranks), size = ranks_count(g->ranks);
    size_t bytes = piece_count(b, size, own) * g->size;
    Error err;
    for (int r = 0; r < size && bytes; r++)
        if (r != own)
            keep_status(g,
                        ranks_receive(g->ranks, r, tag_of(g, b, false), piece_of(g, b, r), bytes, &b->coming[r], &err),
                        &err);
}

static void send_pieces(Gradients *g, Bucket *b) {
    int own = ranks_rank(g->ranks), size = ranks_count(g->ranks);
    uint16_t *rounded = (uint16_t *)g->wire;
    Error err;
    if (g->begun == 0) g->begun = clock_now();
    for (size_t i = b->first; g->bf16 && i < b->first + b->count; i++) rounded[i] = bf16_of(g->block[i]);
    for (int r = 0; r < size; r++) {
        size_t bytes = piece_count(b, size, r) * g->size;
        char *piece = g->wire + piece_begin(b, size, r) * g->size;
        if (r == own || !bytes) continue;
        g->time.bytes += (double)bytes;
        keep_status(g, ranks_send(g->ranks, r, tag_of(g, b, false), piece, bytes, &b->going[r], &err), &err);
    }
    b->state = BUCKET_PIECES;
}

static real number_at(const Gradients *g, const char *numbers, size_t i) {
    return g->bf16 ? bf16_value(((const uint16_t *)numbers)[i]) : ((const real *)numbers)[i];
}

// In the order of the ranks, wherever the own piece stands in it; some numbers at a time, which stay in the cache.
static void add_pieces(Gradients *g, const Bucket *b) {
    enum { SOME = 1024 };
    int own = ranks_rank(g->ranks), size = ranks_count(g->ranks);
    size_t count = piece_count(b, size, own);
    real sum[SOME];
    for (size_t first = 0; first < count; first += SOME) {
        size_t some = count - first < SOME ? count - first : SOME;
        for (int r = 0; r < size; r++) {
            const char *piece = piece_of(g, b, r) + first * g->size;
            for (size_t i = 0; i < some; i++) sum[i] = r ? sum[i] + number_at(g, piece, i) : number_at(g, piece, i);
        }
        char *out = piece_of(g, b, own) + first * g->size;
        for (size_t i = 0; i < some; i++)
            if (g->bf16) ((uint16_t *)out)[i] = bf16_of(sum[i]);
            else ((real *)out)[i] = sum[i];
    }
}

static void exchange_sums(Gradients *g, Bucket *b) {
    int own = ranks_rank(g->ranks), size = ranks_count(g->ranks), tag = tag_of(g, b, true);
    size_t bytes = piece_count(b, size, own) * g->size;
    Error err;
    add_pieces(g, b);
    for (int r = 0; r < size; r++) {
        size_t theirs = piece_count(b, size, r) * g->size;
        char *sum = g->wire + piece_begin(b, size, r) * g->size;
        if (r == own) continue;
        if (bytes) {
            g->time.bytes += (double)bytes;
            keep_status(g, ranks_send(g->ranks, r, tag, piece_of(g, b, own), bytes, &b->going[r], &err), &err);
        }
        if (theirs) keep_status(g, ranks_receive(g->ranks, r, tag, sum, theirs, &b->coming[r], &err), &err);
    }
    b->state = BUCKET_SUMS;
}

static void finish_bucket(Gradients *g, Bucket *b) {
    for (size_t i = b->first; g->bf16 && i < b->first + b->count; i++) g->block[i] = number_at(g, g->wire, i);
    b->state = BUCKET_FINISHED;
    g->time.received = clock_now() - g->begun;
}

static void move_along(Gradients *g, Bucket *b) {
    if (b->state != BUCKET_PIECES && b->state != BUCKET_SUMS) return;
    if (!all_done(g, b->coming) || !all_done(g, b->going) || g->status != STATUS_OK) return;
    if (b->state == BUCKET_PIECES) exchange_sums(g, b);
    else finish_bucket(g, b);
}

// ---- during the backward pass

static Bucket *bucket_at(Gradients *g, size_t offset) { return &g->buckets[g->bucket_of[offset / ALIGN]]; }

static bool first_use(void *owner, size_t offset, size_t *group) {
    Gradients *g = owner;
    Bucket *b = bucket_at(g, offset);
    bool first = !b->used && b->state == BUCKET_OPEN;
    b->used = true;
    *group = (size_t)(b - g->buckets);
    return first;
}

static void sum_on_gpu(Gradients *g, const Bucket *b) {
    size_t own = piece_count(b, ranks_count(g->ranks), ranks_rank(g->ranks)),
           others = (size_t)ranks_count(g->ranks) - 1;
    if (g->begun == 0) g->begun = clock_now();
    g->time.bytes += (double)((b->count - own + others * own) * g->size);
    gpu_sums_complete(g->gpu, (size_t)(b - g->buckets));
}

static void close_bucket(Gradients *g, Bucket *b) {
    if (!g->gpu) {
        send_pieces(g, b);
        return;
    }
    sum_on_gpu(g, b);
    b->state = BUCKET_FINISHED;
}

static void complete(void *owner, size_t group) {
    Gradients *g = owner;
    close_bucket(g, &g->buckets[group]);
    g->time.buckets++;
}

static bool is_complete(void *owner, size_t offset) {
    Bucket *b = bucket_at(owner, offset);
    return b->state != BUCKET_OPEN && b->state != BUCKET_OFF;
}

static void move_all(Gradients *g) {
    for (size_t i = 0; i < g->bucket_count; i++) move_along(g, &g->buckets[i]);
}

// A look costs some microseconds, and there are many ops.
static void between(void *owner) {
    Gradients *g = owner;
    double now = clock_now();
    if (g->gpu || g->begun == 0 || now < g->looked + LOOK_SECONDS) return;
    g->looked = now;
    move_all(g);
}

TapeWatch *gradients_watch(Gradients *g) { return g && (!g->copied || g->gpu) ? &g->watch : NULL; }

// ---- a step

static bool is_wanted(const Gradients *g, const Bucket *b, const char *prefix) {
    for (size_t i = 0; i < g->set->count; i++) {
        const Parameter *item = g->set->items[i];
        bool inside = item->offset >= b->first && item->offset < b->first + b->count;
        if (inside && !item->frozen && !strncmp(item->name, prefix, strlen(prefix))) return true;
    }
    return false;
}

Status gradients_begin(Gradients *g, const char *prefix, Error *err) {
    if (!g) return STATUS_OK;
    g->time = (GradientsTime){0};
    g->begun = 0;
    for (size_t i = 0; i < g->bucket_count; i++) {
        Bucket *b = &g->buckets[i];
        b->used = false;
        b->state = is_wanted(g, b, prefix ? prefix : "") ? BUCKET_OPEN : BUCKET_OFF;
        if (g->gpu) gpu_sums_part(g->gpu, i)->wanted = b->state == BUCKET_OPEN;
        else if (b->state == BUCKET_OPEN) receive_pieces(g, b);
    }
    if (g->gpu) gpu_sums_begin(g->gpu);
    return g->status == STATUS_OK ? STATUS_OK : error_set(err, g->status, "%s", g->error.text);
}

static bool is_finished(const Gradients *g) {
    for (size_t i = 0; i < g->bucket_count; i++)
        if (g->buckets[i].state != BUCKET_FINISHED && g->buckets[i].state != BUCKET_OFF) return false;
    return true;
}

// The rank that a message is missing from, for warnings.
static int slowest(const Gradients *g) {
    for (size_t i = 0; i < g->bucket_count; i++)
        for (int r = 0; r < ranks_count(g->ranks); r++)
            if (g->buckets[i].coming[r].handle) return r;
    return ranks_rank(g->ranks);
}

static Status wait_for_sums(Gradients *g, Error *err) {
    RanksWait wait = {0};
    Status status = STATUS_OK;
    for (move_all(g); status == STATUS_OK && !is_finished(g); move_all(g)) {
        if (g->status != STATUS_OK) return error_set(err, g->status, "%s", g->error.text);
        status = ranks_pause(g->ranks, &wait, slowest(g), err);
    }
    return status;
}

Status gradients_finish(Gradients *g, Error *err) {
    if (!g) return STATUS_OK;
    Device *device = g->set->device;
    size_t bytes = g->set->size * sizeof(real);
    bool through_host = g->copied && !g->gpu;
    if (through_host) device->nn->download(device, g->block, g->set->grads, bytes);
    double begun = device_seconds(device);
    Status status = device_status(device, err);
    for (size_t i = g->bucket_count; i-- > 0 && status == STATUS_OK;)
        if (g->buckets[i].state == BUCKET_OPEN) close_bucket(g, &g->buckets[i]);
    if (status == STATUS_OK) status = g->gpu ? gpu_sums_finish(g->gpu, err) : wait_for_sums(g, err);
    g->time.waited = clock_now() - begun;
    if (g->gpu && g->begun > 0) g->time.received = clock_now() - g->begun;
    if (through_host && status == STATUS_OK) device->nn->upload(device, g->set->grads, g->block, bytes);
    return status;
}

GradientsTime gradients_time(const Gradients *g) { return g ? g->time : (GradientsTime){0}; }

// ---- making

static Status open_gpu(Gradients *g, Error *err) {
    Status status = gpu_sums_open(g->ranks, g->set->device, g->bucket_count, &g->gpu, err);
    if (status != STATUS_OK || !g->gpu) return status;
    for (size_t i = 0; i < g->bucket_count; i++)
        *gpu_sums_part(g->gpu, i) =
            (GpuPart){.values = g->set->grads + g->buckets[i].first, .count = g->buckets[i].count};
    return gpu_sums_connect(g->gpu, g->bf16, err);
}

Status gradients_create(Ranks *ranks, Parameters *set, bool bf16, Gradients **out, Error *err) {
    *out = NULL;
    if (!ranks) return STATUS_OK;
    Gradients *g = calloc(1, sizeof *g);
    if (g) *g = (Gradients){.ranks = ranks, .set = set, .bf16 = bf16};
    if (!g || !allocate(g)) {
        gradients_free(g);
        return error_set(err, STATUS_FAILED, "out of memory for the gradients of %d processes", ranks_count(ranks));
    }
    lay_out(g);
    Status status = open_gpu(g, err);
    if (status != STATUS_OK) {
        gradients_free(g);
        return status;
    }
    g->watch = (TapeWatch){g, set->grads, set->size, first_use, complete, is_complete, between};
    *out = g;
    return STATUS_OK;
}

// Messages that are still on their way belong to a step that failed, and the job ends. MPI goes on with them until it
// is closed, so their bytes, the set's gradients among them, are then never freed.
void gradients_free(Gradients *g) {
    if (!g) return;
    gpu_sums_free(g->gpu);
    bool on_their_way = false;
    for (size_t i = 0; g->pieces && i < g->bucket_count; i++)
        for (int r = 0; r < ranks_count(g->ranks); r++) {
            on_their_way = on_their_way || g->buckets[i].coming[r].handle || g->buckets[i].going[r].handle;
            ranks_drop(g->ranks, &g->buckets[i].coming[r], true);
            ranks_drop(g->ranks, &g->buckets[i].going[r], false);
        }
    if (on_their_way && !g->copied && !g->bf16) g->set->grads = NULL;
    if (!on_their_way) {
        if (g->bf16) free(g->wire);
        if (g->copied) free(g->block);
        free(g->pieces);
    }
    free(g->buckets);
    free(g->bucket_of);
    free(g->requests);
    free(g);
}
