// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process, for tests: messages are copied through a list. A seed delays them, so that they
// arrive in another order.
#ifndef VPD_TESTS_RANK_THREADS_H
#define VPD_TESTS_RANK_THREADS_H

#include "ranks/ranks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct Letter {
    int from, to, tag, delay; // looks until it arrives
    size_t count;
    void *bytes; // of a receiver: where they go
    bool taken;
    struct Letter *next;
} Letter;

enum { THREAD_RANKS_MAX = 8 };

typedef struct RankThreads {
    pthread_mutex_t lock;
    Letter *sent, **last;
    unsigned seed;
    struct RankEndpoint {
        struct RankThreads *all;
        int rank;
    } endpoint[THREAD_RANKS_MAX];
} RankThreads;

static Status rank_threads_send(void *owner, int to, int tag, const void *bytes, size_t count, RankRequest *request,
                                Error *err) {
    struct RankEndpoint *e = owner;
    Letter *letter = malloc(sizeof *letter);
    (void)request;
    (void)err;
    *letter = (Letter){e->rank, to, tag, 0, count, malloc(count + 1), false, NULL};
    memcpy(letter->bytes, bytes, count);
    pthread_mutex_lock(&e->all->lock);
    e->all->seed = e->all->seed * 1103515245u + 12345u;
    letter->delay = (int)(e->all->seed >> 16 & 63);
    *e->all->last = letter;
    e->all->last = &letter->next;
    pthread_mutex_unlock(&e->all->lock);
    return STATUS_OK;
}

static Status rank_threads_receive(void *owner, int from, int tag, void *bytes, size_t count, RankRequest *request,
                                   Error *err) {
    struct RankEndpoint *e = owner;
    Letter *wanted = malloc(sizeof *wanted);
    (void)err;
    *wanted = (Letter){from, e->rank, tag, 0, count, bytes, false, NULL};
    request->handle = wanted;
    return STATUS_OK;
}

// The oldest letter of a sender with a tag comes first.
static bool rank_threads_done(void *owner, RankRequest *request) {
    struct RankEndpoint *e = owner;
    Letter *wanted = request->handle;
    bool done = false;
    pthread_mutex_lock(&e->all->lock);
    for (Letter *l = e->all->sent; l; l = l->next) {
        if (l->taken || l->to != wanted->to || l->from != wanted->from || l->tag != wanted->tag) continue;
        if (l->delay-- > 0) break;
        memcpy(wanted->bytes, l->bytes, l->count);
        l->taken = done = true;
        break;
    }
    pthread_mutex_unlock(&e->all->lock);
    if (!done) return false;
    free(wanted);
    request->handle = NULL;
    return true;
}

static void rank_threads_drop(void *owner, RankRequest *request, bool coming) {
    (void)owner;
    (void)coming;
    free(request->handle);
    request->handle = NULL;
}

static void rank_threads_close(void *owner, bool together) {
    (void)owner;
    (void)together;
}

typedef struct RankThread {
    RankThreads *all;
    Ranks *ranks;
    int rank;
    void (*work)(Ranks *ranks, int rank, void *context);
    void *context;
    pthread_t thread;
    Status status;
} RankThread;

static void *rank_thread_main(void *owner) {
    RankThread *t = owner;
    t->work(t->ranks, t->rank, t->context);
    return NULL;
}

static void *rank_thread_open(void *owner) {
    RankThread *t = owner;
    Error err;
    t->all->endpoint[t->rank] = (struct RankEndpoint){t->all, t->rank};
    Transport transport = {.owner = &t->all->endpoint[t->rank],
                           .rank = t->rank,
                           .size = t->all->endpoint[THREAD_RANKS_MAX - 1].rank,
                           .host = "here",
                           .send = rank_threads_send,
                           .receive = rank_threads_receive,
                           .done = rank_threads_done,
                           .drop = rank_threads_drop,
                           .close = rank_threads_close};
    t->status = ranks_open_over(&transport, &t->ranks, &err);
    return t->status == STATUS_OK ? rank_thread_main(owner) : NULL;
}

// Runs `work` as `size` (< THREAD_RANKS_MAX) ranks, which close their Ranks themselves. Returns how many opened.
static inline int rank_threads_run(int size, unsigned seed, void (*work)(Ranks *, int, void *), void *context) {
    RankThreads all = {.seed = seed};
    RankThread thread[THREAD_RANKS_MAX];
    int opened = 0;
    all.last = &all.sent;
    all.endpoint[THREAD_RANKS_MAX - 1].rank = size;
    pthread_mutex_init(&all.lock, NULL);
    for (int r = 0; r < size; r++) {
        thread[r] = (RankThread){.all = &all, .rank = r, .work = work, .context = context};
        pthread_create(&thread[r].thread, NULL, rank_thread_open, &thread[r]);
    }
    for (int r = 0; r < size; r++) {
        pthread_join(thread[r].thread, NULL);
        opened += thread[r].status == STATUS_OK;
    }
    for (Letter *l = all.sent, *next; l; l = next) {
        next = l->next;
        free(l->bytes);
        free(l);
    }
    pthread_mutex_destroy(&all.lock);
    return opened;
}

#endif
