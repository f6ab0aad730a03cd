// SPDX-License-Identifier: Apache-2.0
// Messages between the processes of a job: what ranks/ranks.h needs of MPI. Every function is called by one thread.
#ifndef VPD_RANKS_TRANSPORT_H
#define VPD_RANKS_TRANSPORT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

// A message on its way; the handle is 0 when it has arrived, has failed or was never sent.
typedef struct RankRequest {
    void *handle;
    bool failed;
} RankRequest;

typedef struct Transport {
    void *owner;
    int rank, size;
    char host[64];
    // Both return at once; `bytes` stay as they are until the message is done. Messages from one rank to another with
    // the same tag arrive in order.
    Status (*send)(void *owner, int to, int tag, const void *bytes, size_t count, RankRequest *request, Error *err);
    Status (*receive)(void *owner, int from, int tag, void *bytes, size_t count, RankRequest *request, Error *err);
    // Whether the message is done; also moves all others along. One that failed is not done.
    bool (*done)(void *owner, RankRequest *request);
    // Forgets a message that nobody waits for any more; after that none comes in at its bytes.
    void (*drop)(void *owner, RankRequest *request, bool coming);
    // Ends the use. `together`: every rank has come this far; otherwise all other ranks are ended.
    void (*close)(void *owner, bool together);
} Transport;

typedef struct RanksModule {
    size_t size, transport_size;  // of this struct, which comes first, and of Transport
    const char *version, *commit; // base/version.h
    Status (*open)(Transport *out, Error *err);
} RanksModule;

// The one function that libvpd_mpi.so exports returns this table.
#define RANKS_MODULE_FILE "libvpd_mpi.so"
#define RANKS_MODULE_SYMBOL "vpd_mpi_module"
typedef RanksModule RanksModuleFunction(void);

#endif
