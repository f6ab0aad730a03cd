// SPDX-License-Identifier: Apache-2.0
#include "ranks/ranks.h"

#include "base/clock.h"
#include "base/module.h"
#include "base/stop.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_END = 1, TAG_GATHER, TAG_BROADCAST, LOOKS = 200, NAME_SIZE = 96 };
#define SLOW_SECONDS 60.0 // a wait that is worth a warning
#define END_SECONDS 20.0  // for other ranks to end after this one

// The last message of a rank to each other one.
typedef struct RankEnd {
    Status status;
    int stop;      // the reason to stop (base/stop.h)
    bool heard_of; // the status is that of another rank
    Error error;
} RankEnd;

typedef struct RankPlace {
    char host[64];
} RankPlace;

struct Ranks {
    Transport transport;
    const Log *log;
    int rank, size, size_here;
    char (*names)[NAME_SIZE];
    RankEnd own, *ends;                  // ends (size): of the others
    RankRequest *end_coming, *end_going; // (size)
    bool heard;                          // own.status is that of another rank
    bool failed;                         // a message has
};

// ---- numbers

int ranks_rank(const Ranks *ranks) { return ranks ? ranks->rank : 0; }
int ranks_count(const Ranks *ranks) { return ranks ? ranks->size : 1; }
int ranks_count_here(const Ranks *ranks) { return ranks ? ranks->size_here : 1; }
const char *ranks_name(const Ranks *ranks, int rank) { return ranks ? ranks->names[rank] : "rank 0"; }

void ranks_set_log(Ranks *ranks, const Log *log) {
    if (ranks) ranks->log = log;
}

const Log *ranks_log(const Ranks *ranks) { return ranks->log; }

void ranks_share(const Ranks *ranks, size_t count, size_t *first, size_t *end) {
    size_t rank = (size_t)ranks_rank(ranks), size = (size_t)ranks_count(ranks), even = count / size,
           more = count % size;
    *first = rank * even + (rank < more ? rank : more);
    *end = *first + even + (rank < more);
}

static int number_of(const char *name) {
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

// How many processes the launcher says it started: Open MPI; MPICH and Slurm's pmi2; Slurm's pmix, which alone sets
// PMIX_RANK. 1 without one.
static int started(void) {
    int count = number_of("OMPI_COMM_WORLD_SIZE");
    if (count == 0) count = number_of("PMI_SIZE");
    if (count == 0 && getenv("PMIX_RANK")) count = number_of("SLURM_NTASKS");
    return count > 1 ? count : 1;
}

// ---- opening

static Status load(Transport *out, Error *err) {
    char folder[PATH_MAX], path[MODULE_PATH_SIZE];
    const void *symbol = NULL;
    if (!module_find(RANKS_MODULE_FILE, folder, path))
        return error_set(err, STATUS_BAD_INPUT,
                         "started as one of %d processes, but " RANKS_MODULE_FILE
                         " is not in %s: this build has no MPI; build with libopenmpi-dev, or start one process",
                         started(), folder);
    Status status = module_load(path, RANKS_MODULE_SYMBOL, &symbol, err);
    if (status != STATUS_OK) return status;
    RanksModule module = ((RanksModuleFunction *)(uintptr_t)symbol)();
    if (module.size != sizeof module || module.transport_size != sizeof *out)
        return error_set(err, STATUS_FAILED,
                         "%s: expected structs as in this program, found other sizes; build both together", path);
    status = module_check_version(path, module.version, module.commit, err);
    return status == STATUS_OK ? module.open(out, err) : status;
}

static void free_all(Ranks *ranks) {
    free(ranks->names);
    free(ranks->ends);
    free(ranks->end_coming);
    free(ranks->end_going);
    free(ranks);
}

static Status allocate(const Transport *transport, Ranks **out, Error *err) {
    size_t size = (size_t)transport->size;
    Ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks) {
        *ranks = (Ranks){.transport = *transport, .rank = transport->rank, .size = transport->size};
        ranks->names = calloc(size, sizeof *ranks->names);
        ranks->ends = calloc(size, sizeof *ranks->ends);
        ranks->end_coming = calloc(size, sizeof *ranks->end_coming);
        ranks->end_going = calloc(size, sizeof *ranks->end_going);
        if (ranks->names && ranks->ends && ranks->end_coming && ranks->end_going) {
            *out = ranks;
            return STATUS_OK;
        }
        free_all(ranks);
    }
    return error_set(err, STATUS_FAILED, "out of memory for %zu processes", size);
}

static Status learn_places(Ranks *ranks, Error *err) {
    RankPlace own = {{0}}, *all = calloc((size_t)ranks->size, sizeof *all);
    if (!all) return error_set(err, STATUS_FAILED, "out of memory for %d processes", ranks->size);
    memcpy(own.host, ranks->transport.host, sizeof own.host);
    for (int r = 0; r < ranks->size; r++) snprintf(ranks->names[r], NAME_SIZE, "rank %d", r);
    Status status = ranks_gather(ranks, &own, sizeof own, all, err);
    for (int r = 0; r < ranks->size && status == STATUS_OK; r++) {
        snprintf(ranks->names[r], NAME_SIZE, "rank %d (%.63s)", r, all[r].host);
        ranks->size_here += !strcmp(all[r].host, own.host);
    }
    free(all);
    return status;
}

Status ranks_open_over(const Transport *transport, Ranks **out, Error *err) {
    Ranks *ranks;
    Status status = allocate(transport, &ranks, err);
    if (status != STATUS_OK) return status;
    for (int r = 0; r < ranks->size && status == STATUS_OK; r++)
        if (r != ranks->rank)
            status = ranks_receive(ranks, r, TAG_END, &ranks->ends[r], sizeof *ranks->ends, &ranks->end_coming[r], err);
    if (status == STATUS_OK) status = learn_places(ranks, err);
    if (status == STATUS_OK) *out = ranks;
    else free_all(ranks);
    return status;
}

Status ranks_open(Ranks **out, Error *err) {
    Transport transport = {0};
    *out = NULL;
    if (started() == 1) return STATUS_OK;
    Status status = load(&transport, err);
    if (status != STATUS_OK) return status;
    status = ranks_open_over(&transport, out, err);
    if (status != STATUS_OK) transport.close(transport.owner, false);
    return status;
}

// ---- the end of a job

// Ends that have come in: those of ranks that failed become this rank's error.
static Status hear_ends(Ranks *ranks, Error *err) {
    for (int r = 0; r < ranks->size; r++) {
        RankEnd *end = &ranks->ends[r];
        if (!ranks->end_coming[r].handle || !ranks_done(ranks, &ranks->end_coming[r])) continue;
        end->error.text[sizeof end->error.text - 1] = 0;
        if (end->status == STATUS_OK || ranks->heard) continue;
        ranks->heard = true;
        ranks->own.error.status = end->status;
        snprintf(ranks->own.error.text, sizeof ranks->own.error.text, "%s%s%.900s",
                 end->heard_of ? "" : ranks_name(ranks, r), end->heard_of ? "" : ": ", end->error.text);
        if (end->status == STATUS_INTERRUPTED) stop_request(end->stop);
    }
    if (!ranks->heard) return STATUS_OK;
    if (ranks->own.error.status == STATUS_INTERRUPTED) return stop_error(err);
    return error_set(err, ranks->own.error.status, "%s", ranks->own.error.text);
}

static void tell_end(Ranks *ranks, Status status, const Error *err) {
    Error ignored;
    ranks->own.status = status;
    ranks->own.stop = stop_requested();
    ranks->own.heard_of = ranks->heard;
    if (status != STATUS_OK && err) ranks->own.error = *err;
    for (int r = 0; r < ranks->size; r++)
        if (r != ranks->rank)
            ranks_send(ranks, r, TAG_END, &ranks->own, sizeof ranks->own, &ranks->end_going[r], &ignored);
}

static void nap(double seconds) {
    struct timespec time = {(time_t)seconds, (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

// Whether every other rank has ended too, within a time after a failure.
static bool wait_for_ends(Ranks *ranks, bool patient) {
    double begun = clock_now();
    for (bool all = false; !all;) {
        all = true;
        for (int r = 0; r < ranks->size; r++) {
            all = (!ranks->end_coming[r].handle || ranks_done(ranks, &ranks->end_coming[r])) && all;
            all = (!ranks->end_going[r].handle || ranks_done(ranks, &ranks->end_going[r])) && all;
            patient = patient && ranks->ends[r].status == STATUS_OK;
        }
        if (!all && !patient && clock_now() - begun > END_SECONDS) return false;
        if (!all) nap(0.0005);
    }
    return true;
}

// The failure that started all others: of the lowest rank that did not hear of it.
static Status first_failure(const Ranks *ranks, Status status, Error *err) {
    for (int r = 0; r < ranks->size; r++) {
        const RankEnd *end = r == ranks->rank ? &ranks->own : &ranks->ends[r];
        if (end->status == STATUS_OK || end->heard_of) continue;
        if (r == ranks->rank || status == STATUS_INTERRUPTED) return status;
        if (status != STATUS_OK) return end->status; // heard of, with the rank's name
        return error_set(err, end->status, "%s: %s", ranks_name(ranks, r), end->error.text);
    }
    return status;
}

Status ranks_close(Ranks *ranks, Status status, void (*tell)(const char *text), Error *err) {
    if (!ranks) return status;
    tell_end(ranks, status, err);
    bool together = wait_for_ends(ranks, status == STATUS_OK);
    status = first_failure(ranks, status, err);
    if (status != STATUS_OK && ranks->rank == 0 && tell) tell(err->text);
    ranks->transport.close(ranks->transport.owner, together);
    free_all(ranks);
    return status;
}

// ---- messages

Status ranks_send(Ranks *ranks, int to, int tag, const void *bytes, size_t count, RankRequest *request, Error *err) {
    *request = (RankRequest){0};
    return ranks->transport.send(ranks->transport.owner, to, tag, bytes, count, request, err);
}

Status ranks_receive(Ranks *ranks, int from, int tag, void *bytes, size_t count, RankRequest *request, Error *err) {
    *request = (RankRequest){0};
    return ranks->transport.receive(ranks->transport.owner, from, tag, bytes, count, request, err);
}

bool ranks_done(Ranks *ranks, RankRequest *request) {
    bool done = request->handle ? ranks->transport.done(ranks->transport.owner, request) : !request->failed;
    ranks->failed = ranks->failed || request->failed;
    return done;
}

void ranks_drop(Ranks *ranks, RankRequest *request, bool coming) {
    if (request->handle) ranks->transport.drop(ranks->transport.owner, request, coming);
}

// Looks often at first, because most waits are short, and then leaves the processor to others.
Status ranks_pause(Ranks *ranks, RanksWait *wait, int from, Error *err) {
    if (wait->looks == 0) wait->begun = clock_now();
    if (++wait->looks < LOOKS) return STATUS_OK;
    Status status = hear_ends(ranks, err);
    if (status != STATUS_OK) return status;
    if (stop_requested()) return stop_error(err);
    if (ranks->failed)
        return error_set(err, STATUS_FAILED,
                         "a message between the processes failed; start all ranks with the same program, options and "
                         "data");
    double waited = clock_now() - wait->begun;
    if (waited > SLOW_SECONDS && !wait->warned) {
        log_warning(ranks->log, "%s has waited for %s for %.0f s", ranks_name(ranks, ranks->rank),
                    from == RANKS_OTHERS ? "the others" : ranks_name(ranks, from), waited);
        wait->warned = true;
    }
    nap(waited > 1 ? 1e-3 : 5e-5);
    return STATUS_OK;
}

static Status finish(Ranks *ranks, RankRequest *request, int with, bool coming, Error *err) {
    RanksWait wait = {0};
    Status status = STATUS_OK;
    while (status == STATUS_OK && !ranks_done(ranks, request)) status = ranks_pause(ranks, &wait, with, err);
    if (status != STATUS_OK) ranks_drop(ranks, request, coming);
    return status;
}

static Status send_all(Ranks *ranks, int to, int tag, const void *bytes, size_t count, Error *err) {
    RankRequest request;
    Status status = ranks_send(ranks, to, tag, bytes, count, &request, err);
    return status == STATUS_OK ? finish(ranks, &request, to, false, err) : status;
}

static Status receive_all(Ranks *ranks, int from, int tag, void *bytes, size_t count, Error *err) {
    RankRequest request;
    Status status = ranks_receive(ranks, from, tag, bytes, count, &request, err);
    return status == STATUS_OK ? finish(ranks, &request, from, true, err) : status;
}

// ---- all together

Status ranks_broadcast(Ranks *ranks, void *bytes, size_t count, Error *err) {
    Status status = STATUS_OK;
    if (!ranks) return STATUS_OK;
    if (ranks->rank > 0) return receive_all(ranks, 0, TAG_BROADCAST, bytes, count, err);
    for (int r = 1; r < ranks->size && status == STATUS_OK; r++)
        status = send_all(ranks, r, TAG_BROADCAST, bytes, count, err);
    return status;
}

// Through rank 0: few short messages.
Status ranks_gather(Ranks *ranks, const void *own, size_t bytes, void *all, Error *err) {
    char *to = all;
    if (!ranks) {
        memcpy(all, own, bytes);
        return STATUS_OK;
    }
    memcpy(to + (size_t)ranks->rank * bytes, own, bytes);
    Status status = ranks->rank > 0 ? send_all(ranks, 0, TAG_GATHER, own, bytes, err) : STATUS_OK;
    for (int r = 1; ranks->rank == 0 && r < ranks->size && status == STATUS_OK; r++)
        status = receive_all(ranks, r, TAG_GATHER, to + (size_t)r * bytes, bytes, err);
    return status == STATUS_OK ? ranks_broadcast(ranks, all, (size_t)ranks->size * bytes, err) : status;
}

Status ranks_barrier(Ranks *ranks, Error *err) {
    double none = 0;
    return ranks_sum(ranks, &none, 1, err);
}

Status ranks_first_begin(Ranks *ranks, Error *err) {
    return ranks_rank(ranks) > 0 ? ranks_barrier(ranks, err) : STATUS_OK;
}

Status ranks_first_end(Ranks *ranks, Error *err) {
    return ranks_rank(ranks) == 0 ? ranks_barrier(ranks, err) : STATUS_OK;
}

Status ranks_sum(Ranks *ranks, double *values, size_t count, Error *err) {
    if (!ranks || count == 0) return STATUS_OK;
    enum { PIECE = 1 << 16 }; // numbers of a message
    double *all = malloc((size_t)ranks->size * (count < PIECE ? count : PIECE) * sizeof *all);
    if (!all) return error_set(err, STATUS_FAILED, "out of memory for sums over %d processes", ranks->size);
    Status status = STATUS_OK;
    for (size_t first = 0; first < count && status == STATUS_OK; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        status = ranks_gather(ranks, values + first, some * sizeof *values, all, err);
        for (size_t i = 0; i < some && status == STATUS_OK; i++) {
            values[first + i] = all[i];
            for (size_t r = 1; r < (size_t)ranks->size; r++) values[first + i] += all[r * some + i];
        }
    }
    free(all);
    return status;
}

// ---- whether all agree

static size_t line_length(const char *text) { return strcspn(text, "\n"); }

// The first line that differs, with the unindented line that it stands under; both texts end with a line.
static Status tell_difference(const char *theirs, const char *own, Error *err) {
    const char *section = "";
    while (*theirs && line_length(theirs) == line_length(own) && !memcmp(theirs, own, line_length(own) + 1)) {
        if (*own != ' ') section = own;
        theirs += line_length(theirs) + 1;
        own += line_length(own) + 1;
    }
    size_t indent = strspn(own, " ");
    return error_set(err, STATUS_BAD_INPUT,
                     "expected what rank 0 has, \"%.*s%.*s\", found \"%.*s\"; start all ranks with the same program, "
                     "options and data",
                     indent ? (int)line_length(section) : 0, section, (int)line_length(theirs) - (indent ? 1 : 0),
                     theirs + (indent ? 1 : 0), (int)(line_length(own) - indent), own + indent);
}

Status ranks_same_text(Ranks *ranks, const char *text, Error *err) {
    if (!ranks) return STATUS_OK;
    double length = (double)strlen(text) + 1;
    Status status = ranks_broadcast(ranks, &length, sizeof length, err);
    char *theirs = status == STATUS_OK ? calloc((size_t)length + 1, 1) : NULL;
    if (status == STATUS_OK && !theirs) status = error_set(err, STATUS_FAILED, "out of memory for a text");
    if (status != STATUS_OK) return status;
    memcpy(theirs, text, ranks->rank == 0 ? (size_t)length : 0);
    status = ranks_broadcast(ranks, theirs, (size_t)length, err);
    if (status == STATUS_OK && strcmp(theirs, text) != 0) status = tell_difference(theirs, text, err);
    free(theirs);
    return status == STATUS_OK ? ranks_barrier(ranks, err) : status;
}
