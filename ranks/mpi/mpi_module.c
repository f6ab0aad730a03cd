// SPDX-License-Identifier: Apache-2.0
// libvpd_mpi.so: messages by MPI. It is a module of its own because the handles of MPI differ from one implementation
// to another, and because a program without it starts faster and needs no MPI.
#include "base/version.h"
#include "ranks/transport.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static Status explain(Error *err, const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return error_set(err, STATUS_FAILED, "MPI: %s: %s", what, text);
}

// A request has the size of an int or of a pointer.
static void keep(RankRequest *request, MPI_Request mpi) {
    _Static_assert(sizeof mpi <= sizeof request->handle, "a request fits into a pointer");
    request->handle = NULL;
    if (mpi != MPI_REQUEST_NULL) memcpy(&request->handle, &mpi, sizeof mpi);
}

static MPI_Request mpi_of(const RankRequest *request) {
    MPI_Request mpi;
    memcpy(&mpi, &request->handle, sizeof mpi);
    return mpi;
}

static Status check_count(size_t count, Error *err) {
    return count <= INT32_MAX ? STATUS_OK : error_set(err, STATUS_FAILED, "a message of %zu bytes is too long", count);
}

static Status send_bytes(void *owner, int to, int tag, const void *bytes, size_t count, RankRequest *request,
                         Error *err) {
    MPI_Request mpi;
    (void)owner;
    Status status = check_count(count, err);
    if (status != STATUS_OK) return status;
    int code = MPI_Isend(bytes, (int)count, MPI_BYTE, to, tag, MPI_COMM_WORLD, &mpi);
    if (code != MPI_SUCCESS) return explain(err, "cannot send", code);
    keep(request, mpi);
    return STATUS_OK;
}

static Status receive_bytes(void *owner, int from, int tag, void *bytes, size_t count, RankRequest *request,
                            Error *err) {
    MPI_Request mpi;
    (void)owner;
    Status status = check_count(count, err);
    if (status != STATUS_OK) return status;
    int code = MPI_Irecv(bytes, (int)count, MPI_BYTE, from, tag, MPI_COMM_WORLD, &mpi);
    if (code != MPI_SUCCESS) return explain(err, "cannot receive", code);
    keep(request, mpi);
    return STATUS_OK;
}

static bool is_done(void *owner, RankRequest *request) {
    int flag = 0;
    (void)owner;
    if (!request->handle) return !request->failed;
    MPI_Request mpi = mpi_of(request);
    int code = MPI_Test(&mpi, &flag, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !flag) return false;
    request->handle = NULL;
    request->failed = code != MPI_SUCCESS;
    return !request->failed;
}

// A message that comes in can be cancelled until its sender is found; after that it soon ends by itself.
static void drop(void *owner, RankRequest *request, bool coming) {
    (void)owner;
    if (!request->handle) return;
    MPI_Request mpi = mpi_of(request);
    const struct timespec millisecond = {0, 1000000};
    int flag = 0;
    if (coming) MPI_Cancel(&mpi);
    for (int i = 0; coming && i < 1000 && MPI_Test(&mpi, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag; i++)
        nanosleep(&millisecond, NULL);
    if (!flag) MPI_Request_free(&mpi);
    request->handle = NULL;
}

static void close_mpi(void *owner, bool together) {
    (void)owner;
    if (together) MPI_Finalize();
    else MPI_Abort(MPI_COMM_WORLD, 1);
}

static Status open_mpi(Transport *out, Error *err) {
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0, have;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &have);
    if (code != MPI_SUCCESS) return explain(err, "cannot start", code);
    *out = (Transport){.send = send_bytes, .receive = receive_bytes, .done = is_done, .drop = drop, .close = close_mpi};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &out->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &out->size);
    MPI_Get_processor_name(host, &length);
    size_t kept = strlen(host) < sizeof out->host ? strlen(host) : sizeof out->host - 1;
    memcpy(out->host, host, kept);
    return STATUS_OK;
}

// A function, because version and commit are known by functions.
__attribute__((visibility("default"))) RanksModule vpd_mpi_module(void);

RanksModule vpd_mpi_module(void) {
    return (RanksModule){sizeof(RanksModule), sizeof(Transport), version_number(), version_commit(), open_mpi};
}
