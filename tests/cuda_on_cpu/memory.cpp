// SPDX-License-Identifier: Apache-2.0
// Device memory: pieces of one range of addresses, which the guard closes to the host in a single call.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/cuda_on_cpu/cuda_runtime.h"

#include "base/check.h"

#include <map>
#include <set>
#include <sys/mman.h>

static const size_t REGION = size_t{16} << 30, PAGE = 4096;

static struct Memory {
    char *base;
    std::map<size_t, size_t> pieces; // offset -> bytes, of what is handed out
    size_t used, limit = REGION;
    bool guarded;
    int inside; // nested cuda_on_cpu_enter
} memory;

static void protect(int access) {
    if (memory.base && !memory.pieces.empty()) {
        auto last = memory.pieces.rbegin();
        CHECK(mprotect(memory.base, last->first + last->second, access) == 0);
    }
}

void cuda_on_cpu_guard(bool on) {
    protect(on ? PROT_NONE : PROT_READ | PROT_WRITE);
    memory.guarded = on;
}

void cuda_on_cpu_enter(void) {
    if (memory.inside++ == 0 && memory.guarded) protect(PROT_READ | PROT_WRITE);
}

void cuda_on_cpu_leave(void) {
    if (--memory.inside == 0 && memory.guarded) protect(PROT_NONE);
}

void cuda_on_cpu_limit(size_t bytes) { memory.limit = bytes; }

// The first gap that is large enough.
static size_t find_gap(size_t bytes) {
    size_t at = 0;
    for (auto &piece : memory.pieces) {
        if (piece.first - at >= bytes) break;
        at = piece.first + piece.second;
    }
    return at;
}

cudaError_t cudaMalloc(void **out, size_t bytes) {
    size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    if (!memory.base) {
        void *base = mmap(nullptr, REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(base != MAP_FAILED);
        madvise(base, REGION, MADV_HUGEPAGE); // where there are such pages, the guard is closed sooner
        memory.base = static_cast<char *>(base);
    }
    if (cuda_on_cpu_lost()) return cudaErrorLaunchFailure;
    size_t at = find_gap(whole);
    if (whole < bytes || memory.used + whole > memory.limit || at + whole > REGION) return cudaErrorMemoryAllocation;
    memory.pieces[at] = whole;
    memory.used += whole;
    *out = memory.base + at;
    cuda_on_cpu_enter();
    CHECK(mprotect(*out, whole, PROT_READ | PROT_WRITE) == 0); // closed once, when other pieces lay behind it
    if (!cuda_on_cpu_skipping()) memset(*out, 0xff, whole);    // NaN, and -1 in integers
    cuda_on_cpu_leave();
    return cudaSuccess;
}

// As a GPU's, waits for all work that is under way.
cudaError_t cudaFree(void *piece) {
    auto found = memory.pieces.find(static_cast<size_t>(static_cast<char *>(piece) - memory.base));
    if (!piece) return cudaSuccess;
    cuda_on_cpu_finish_all();
    if (found == memory.pieces.end()) return cudaErrorInvalidValue;
    mprotect(piece, found->second, PROT_READ | PROT_WRITE);
    madvise(piece, found->second, MADV_DONTNEED);
    memory.used -= found->second;
    memory.pieces.erase(found);
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *left, size_t *total) {
    *left = memory.limit - memory.used;
    *total = memory.limit;
    return cudaSuccess;
}

// Whether [at, at + bytes) lies in one piece.
static bool is_device_memory(const void *at, size_t bytes) {
    size_t offset = static_cast<size_t>(static_cast<const char *>(at) - memory.base);
    auto next = memory.pieces.upper_bound(offset);
    if (next == memory.pieces.begin()) return false;
    auto piece = std::prev(next);
    return offset + bytes <= piece->first + piece->second;
}

// Heaps, libraries and stacks of the host lie above `lowest`, and shadows of sanitizers below. Numbers are hardly ever
// taken for an address: two of 32 bits side by side are where the second is above 20,479, and doubles are above 2^47.
static bool is_host_address(uint64_t word) {
    const uint64_t lowest = 0x500000000000, first = reinterpret_cast<uint64_t>(memory.base);
    unsigned char in_core;
    if (word < lowest || word >> 47 || (memory.base && word - first < REGION)) return false;
    return mincore(reinterpret_cast<void *>(word / PAGE * PAGE), 1, &in_core) == 0;
}

// Half of an address may be left over beside a flag or a number of 32 bits, which stays.
void cuda_on_cpu_hide_host(void *argument, size_t bytes) {
    const uint64_t nowhere = 0xdead00000000; // a processor has no such addresses
    uint64_t word;
    for (char *at = static_cast<char *>(argument), *end = at + bytes / sizeof word * sizeof word; at < end;
         at += sizeof word) {
        memcpy(&word, at, sizeof word);
        if (!is_host_address(word)) continue;
        word = (word & UINT32_MAX) | nowhere;
        memcpy(at, &word, sizeof word);
    }
}

static std::set<void *> locked; // page-locked memory of the host, by its beginning

cudaError_t cudaMallocHost(void **out, size_t bytes) {
    *out = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (*out) locked.insert(*out);
    return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void *piece) {
    if (locked.erase(piece) == 0) return cudaErrorInvalidValue;
    free(piece);
    return cudaSuccess;
}

// A graph reads the host's memory when it is launched: that of the moment of capture must still be there.
static bool may_be_captured(const void *from, cudaMemcpyKind kind) {
    auto next = locked.upper_bound(const_cast<void *>(from));
    return kind == cudaMemcpyDeviceToDevice || (kind == cudaMemcpyHostToDevice && next != locked.begin());
}

static bool do_overlap(const void *a, const void *b, size_t bytes) {
    uintptr_t first = reinterpret_cast<uintptr_t>(a), second = reinterpret_cast<uintptr_t>(b);
    return (first < second ? second - first : first - second) < bytes;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    if (bytes == 0) return cudaSuccess;
    if (cuda_on_cpu_lost()) return cudaErrorLaunchFailure;
    if (kind != cudaMemcpyHostToDevice && !is_device_memory(from, bytes)) return cudaErrorInvalidValue;
    if (kind != cudaMemcpyDeviceToHost && !is_device_memory(to, bytes)) return cudaErrorInvalidValue;
    if (do_overlap(to, from, bytes)) return cudaErrorInvalidValue; // undefined there
    if (cuda_on_cpu_capturing() && !may_be_captured(from, kind)) return cudaErrorStreamCaptureUnsupported;
    if (cuda_on_cpu_skipping() && kind == cudaMemcpyDeviceToHost) memset(to, 0, bytes);
    return cuda_on_cpu_do([=] { memcpy(to, from, bytes); });
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t) {
    if (bytes == 0) return cudaSuccess;
    if (cuda_on_cpu_lost()) return cudaErrorLaunchFailure;
    if (!is_device_memory(to, bytes)) return cudaErrorInvalidValue;
    return cuda_on_cpu_do([=] { memset(to, byte, bytes); });
}
