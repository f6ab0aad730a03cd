// SPDX-License-Identifier: Apache-2.0
#include "base/signal_hold.h"

#include "base/stop.h"

#include <pthread.h>
#include <stddef.h>

// Of each thread: its mask before the hold that is under way.
static _Thread_local struct {
    bool held;
    sigset_t before;
} own;

static bool is_in(int number, const int *list, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (list[i] == number) return true;
    return false;
}

// Signals that have a handler, but those that a fault of the thread itself raises. *stops: those that may end the call.
static void choose_signals(bool stoppable, sigset_t *held, sigset_t *stops) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(held);
    sigemptyset(stops);
    for (int number = 1; number <= SIGRTMAX; number++) {
        struct sigaction action;
        if (is_in(number, faults, sizeof faults / sizeof *faults) || sigaction(number, NULL, &action)) continue;
        if (action.sa_handler == SIG_IGN) continue;
        bool may_end = stoppable && is_in(number, ends, sizeof ends / sizeof *ends);
        if (action.sa_handler != SIG_DFL || may_end) sigaddset(held, number);
        if (may_end && !sigismember(&own.before, number)) sigaddset(stops, number); // else the host waits for it itself
    }
}

// libgomp keeps its threads from one parallel region to the next, in the same order.
static void block_all(const sigset_t *held) {
#pragma omp parallel
    {
        pthread_sigmask(SIG_BLOCK, held, &own.before);
        own.held = true;
    }
}

// A thread that was started since then gets the mask that it would have had without us: the caller's.
static void restore_all(const sigset_t *before) {
#pragma omp parallel
    {
        pthread_sigmask(SIG_SETMASK, own.held ? &own.before : before, NULL);
        own.held = false;
    }
}

void signal_hold(SignalHold *hold, bool stoppable) {
    sigset_t held, stops;
    pthread_sigmask(SIG_SETMASK, NULL, &own.before);
    hold->before = own.before;
    hold->stoppable = stoppable;
    choose_signals(stoppable, &held, &stops);
    block_all(&held);
    if (stoppable) stop_watch_begin(&stops);
}

void signal_release(SignalHold *hold) {
    if (hold->stoppable) stop_watch_end();
    restore_all(&hold->before);
}
