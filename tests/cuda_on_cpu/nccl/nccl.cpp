// SPDX-License-Identifier: Apache-2.0
// A libnccl.so.2 for the tests: processes of one machine, messages through a file in shared memory with a box for each
// pair of ranks. Whatever is sent or received moves on when its stream is looked at. NCCL_ON_CPU chooses a fault of
// rank 1: "init" (it cannot begin), "lost" (a link is lost after some sums: what is under way never ends by itself).
#include "tests/cuda_on_cpu/nccl.h"

#include <atomic>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const size_t ROOM = 1 << 16;

struct Box {
    std::atomic<uint32_t> full;
    char bytes[ROOM];
};

struct Shared {
    std::atomic<int> here, broken;
};

struct NcclOnCpuComm {
    Shared *shared;
    size_t bytes;
    int rank, ranks;
    double begun;
    bool ended;
    Box *box(int from, int to) { return reinterpret_cast<Box *>(shared + 1) + from * ranks + to; }
};

struct Message {
    ncclComm_t comm;
    cudaStream_t stream;
    int peer;
    bool coming;
    char *at;
    size_t left;
};

static std::vector<Message> group;
static int groups; // ended so far

static double now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

static bool fault(const NcclOnCpuComm *comm, const char *kind) {
    const char *asked = getenv("NCCL_ON_CPU");
    return comm->rank == 1 && asked && !strcmp(asked, kind);
}

static bool is_lost(const NcclOnCpuComm *comm) { return fault(comm, "lost") && groups > 12; }

// Whether the whole message has gone.
static bool move(Message &m) {
    Box *box = m.coming ? m.comm->box(m.peer, m.comm->rank) : m.comm->box(m.comm->rank, m.peer);
    while (m.left > 0 && (box->full != 0) == m.coming) {
        size_t part = m.left < ROOM ? m.left : ROOM;
        if (m.coming) m.stream->copy(m.at, box->bytes, part);
        else m.stream->copy(box->bytes, m.at, part);
        box->full = !m.coming;
        m.at += part;
        m.left -= part;
    }
    return m.left == 0;
}

static ncclResult_t map(NcclOnCpuComm *comm, const char *path) {
    size_t pairs = static_cast<size_t>(comm->ranks) * static_cast<size_t>(comm->ranks);
    comm->bytes = sizeof(Shared) + pairs * sizeof(Box);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, static_cast<off_t>(comm->bytes))) return ncclSystemError;
    void *memory = mmap(nullptr, comm->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    comm->shared = static_cast<Shared *>(memory);
    return memory == MAP_FAILED ? ncclSystemError : ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    snprintf(id->internal, sizeof id->internal, "/dev/shm/vpd_nccl_XXXXXX");
    int file = mkstemp(id->internal);
    return file >= 0 && close(file) == 0 ? ncclSuccess : ncclSystemError;
}

// The last one to come removes the file's name.
ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks, ncclUniqueId id, int rank) {
    NcclOnCpuComm *comm = *out = new NcclOnCpuComm{nullptr, 0, rank, ranks, now(), false};
    if (map(comm, id.internal)) return ncclSystemError;
    if (fault(comm, "init")) comm->shared->broken = 1;
    if (++comm->shared->here == ranks) unlink(id.internal);
    while (comm->shared->here < ranks) {
        if (comm->shared->broken || now() > comm->begun + 60) return ncclSystemError;
        usleep(1000);
    }
    return comm->shared->broken ? ncclSystemError : ncclSuccess;
}

// What waits in streams must not touch the file any more: it ends at once.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
    comm->ended = true;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error) {
    *error = is_lost(comm) ? ncclSystemError : ncclSuccess;
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclSystemError ? "unhandled system error" : "another error";
}

ncclResult_t ncclGroupStart() { return ncclSuccess; }

ncclResult_t ncclGroupEnd() {
    if (group.empty()) return ncclSuccess;
    group[0].stream->submit([messages = group]() mutable {
        bool done = true;
        for (Message &m : messages) done = (m.comm->ended || (!is_lost(m.comm) && move(m))) && done;
        return done;
    });
    group.clear();
    groups++;
    return ncclSuccess;
}

static ncclResult_t keep(Message message) {
    bool good = message.comm && message.peer >= 0 && message.peer < message.comm->ranks && message.left > 0;
    if (good) group.push_back(message);
    return good ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
    return keep({comm, stream, peer, false, static_cast<char *>(const_cast<void *>(from)), count});
}

ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t, int peer, ncclComm_t comm, cudaStream_t stream) {
    return keep({comm, stream, peer, true, static_cast<char *>(to), count});
}
