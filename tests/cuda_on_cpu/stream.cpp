// SPDX-License-Identifier: Apache-2.0
// Streams: work is done when it is asked for, but after work that waits for other processes (a library's), which moves
// on when somebody looks.
#include "tests/cuda_on_cpu/cuda_on_cpu.h"
#include "tests/cuda_on_cpu/cuda_runtime.h"

#include <deque>
#include <set>
#include <unistd.h>

struct Stream : cudaStream {
    std::deque<std::function<bool()>> waiting;
    size_t asked = 0, done = 0;

    void look() {
        for (; !waiting.empty() && waiting.front()(); done++) waiting.pop_front();
    }
    void submit(std::function<bool()> work) override {
        waiting.push_back(work);
        asked++;
    }
    void copy(void *to, const void *from, size_t bytes) override {
        cuda_on_cpu_enter();
        memmove(to, from, bytes);
        cuda_on_cpu_leave();
    }
};

struct cudaEvent {
    Stream *stream;
    size_t after; // so many pieces of its work
};

static Stream *own(cudaStream_t stream) { return static_cast<Stream *>(stream); }

static std::set<cudaStream_t> streams;

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    streams.insert(*stream = new Stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    streams.erase(stream);
    return delete own(stream), cudaSuccess;
}

cudaError_t cuda_on_cpu_submit(cudaStream_t stream, std::function<cudaError_t()> work) {
    if (own(stream)->waiting.empty()) return work();
    stream->submit([work] { return work(), true; });
    return cudaSuccess;
}

void cuda_on_cpu_finish(cudaStream_t stream) {
    while (!own(stream)->waiting.empty()) {
        own(stream)->look();
        if (!own(stream)->waiting.empty()) usleep(100);
    }
}

void cuda_on_cpu_finish_all(void) {
    for (cudaStream_t stream : streams) cuda_on_cpu_finish(stream);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) {
    return *event = new cudaEvent{nullptr, 0}, cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) { return delete event, cudaSuccess; }

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (cuda_on_cpu_capturing()) return cudaErrorStreamCaptureUnsupported;
    *event = {own(stream), own(stream)->asked};
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    if (cuda_on_cpu_lost()) return cudaErrorLaunchFailure;
    event->stream->look();
    return event->stream->done >= event->after ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    if (cudaEventQuery(event) == cudaErrorNotReady)
        stream->submit([other = event->stream, after = event->after] { return other->look(), other->done >= after; });
    return cudaSuccess;
}
