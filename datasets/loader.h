// SPDX-License-Identifier: Apache-2.0
// Loads frames ahead of their use: worker threads read, inflate and check; the caller takes items in the order of its
// requests, whatever the number of threads. Decoded images are kept in memory up to a bound, so a small data set is
// read once.
//   in:  request number i = 0, 1, 2, ... -> (episode, first frame, count, stride), from the caller's function
//   out: Frames of request i, valid until `held` more calls of loader_next
// The function is called in order, from worker threads, one call at a time; make it depend on i (and a seed) alone, so
// that a run that resumes at item i sees the same data.
#ifndef VPD_DATASETS_LOADER_H
#define VPD_DATASETS_LOADER_H

#include "datasets/dataset.h"

enum { LOADER_THREADS_MAX = 256 };

// Fills the request for item `index`; returns false when there are no more items.
typedef bool LoaderSource(void *owner, uint64_t index, FrameRequest *request);

typedef struct LoaderOptions {
    int threads;          // workers, at most LOADER_THREADS_MAX; 0 = read in loader_next itself, without threads
    int prefetch;         // items ready or under way, at least 1; 0 = threads + 1
    int held;             // items that stay valid: the one returned last and those before it; 0 = 1
    size_t cache_bytes;   // bound of decoded images kept
    uint64_t first_index; // number of the first item
    LoaderSource *source;
    void *owner;
} LoaderOptions;

typedef struct Loader Loader;

// The data set must outlive the loader.
Status loader_open(const Dataset *dataset, LoaderOptions options, Loader **out, Error *err);
void loader_close(Loader *loader); // accepts NULL; waits for the workers

// The next item in order; *out is NULL at the end. An error of item i is returned when item i is due.
Status loader_next(Loader *loader, const Frames **out, Error *err);

#endif
