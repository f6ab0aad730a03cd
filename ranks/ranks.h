// SPDX-License-Identifier: Apache-2.0
// The processes of a job that "mpirun -n 4 vpd .." or "srun vpd .." starts. They are numbered from 0 ("ranks"), and
// each runs the same command. Where a function takes Ranks, NULL stands for a process that works alone; sums and
// broadcasts then do nothing.
//
// Failures: a rank that ends with an error tells all others, whose next wait returns that error with the rank's name.
// So every rank ends, and rank 0 prints one sentence. A request to stop reaches all ranks in the same way.
// Every sum adds in the order of the ranks, so the same number of ranks gives the same bits, whatever comes first.
#ifndef VPD_RANKS_RANKS_H
#define VPD_RANKS_RANKS_H

#include "base/log.h"
#include "ranks/transport.h"

typedef struct Ranks Ranks;

// Joins the other processes of the job. NULL where there are none.
Status ranks_open(Ranks **out, Error *err);
// The same over other messages (tests). Takes the transport over.
Status ranks_open_over(const Transport *transport, Ranks **out, Error *err);
// Ends the job with this rank's status; the result is that of the rank that failed first in order, and *err what
// rank 0 gives to `tell` (or NULL) before any other ends, since a launcher may then end rank 0. Waits for the other
// ranks, which learn of a failure.
Status ranks_close(Ranks *ranks, Status status, void (*tell)(const char *text), Error *err);

int ranks_rank(const Ranks *ranks); // from 0
int ranks_count(const Ranks *ranks);
// "rank 2 (node1)"
const char *ranks_name(const Ranks *ranks, int rank);
// Number of ranks on this rank's machine.
int ranks_count_here(const Ranks *ranks);
// Where warnings of slow ranks go.
void ranks_set_log(Ranks *ranks, const Log *log);
const Log *ranks_log(const Ranks *ranks);

// This rank's part of `count` items: `*first` up to and without `*end`. Parts differ by at most one item.
void ranks_share(const Ranks *ranks, size_t count, size_t *first, size_t *end);

Status ranks_barrier(Ranks *ranks, Error *err);
// What rank 0 does between these two is done before the others pass the first: it makes a file that they find.
Status ranks_first_begin(Ranks *ranks, Error *err);
Status ranks_first_end(Ranks *ranks, Error *err);
// all (ranks, bytes): what each rank has in `own`.
Status ranks_gather(Ranks *ranks, const void *own, size_t bytes, void *all, Error *err);
// Adds up each value over the ranks; the result is the same everywhere.
Status ranks_sum(Ranks *ranks, double *values, size_t count, Error *err);
// Fills `bytes` with those of rank 0.
Status ranks_broadcast(Ranks *ranks, void *bytes, size_t count, Error *err);
// An error on every rank if some rank's text differs from that of rank 0; it tells the first line that does.
Status ranks_same_text(Ranks *ranks, const char *text, Error *err);

// ---- messages, for ranks/gradients.h

enum { RANKS_FIRST_TAG = 16 };
Status ranks_send(Ranks *ranks, int to, int tag, const void *bytes, size_t count, RankRequest *request, Error *err);
Status ranks_receive(Ranks *ranks, int from, int tag, void *bytes, size_t count, RankRequest *request, Error *err);
bool ranks_done(Ranks *ranks, RankRequest *request);
void ranks_drop(Ranks *ranks, RankRequest *request, bool coming);

// A wait in a loop of the caller's: between two looks at its messages it calls ranks_pause, which returns an error when
// another rank has failed or a stop is requested, and warns of `from` when that takes long.
enum { RANKS_OTHERS = -1 }; // `from` somebody, who is not known
typedef struct RanksWait {
    double begun;
    int looks;
    bool warned;
} RanksWait;
Status ranks_pause(Ranks *ranks, RanksWait *wait, int from, Error *err);

#endif
