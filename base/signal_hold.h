// SPDX-License-Identifier: Apache-2.0
// For calls of the library: the host's signal handlers must not run on a thread that computes (base/stop.h says why).
// Every signal that has a handler waits until the call returns, in the calling thread and in the threads of OpenMP,
// which the host may have started before; another thread of the host may take it meanwhile. Signals without a handler
// act as ever: Ctrl-Z stops the process, a SIGTERM that nobody handles ends it. Faults (SIGSEGV, SIGFPE, ...) are never
// held.
#ifndef VPD_BASE_SIGNAL_HOLD_H
#define VPD_BASE_SIGNAL_HOLD_H

#include <signal.h>
#include <stdbool.h>

typedef struct SignalHold {
    sigset_t before; // the calling thread's mask
    bool stoppable;
} SignalHold;

// Set OpenMP's number of threads first, and leave it until the release. Holds are not nested. stoppable: SIGINT,
// SIGTERM and SIGHUP are held even without a handler, and one that waits makes stop_requested() true.
void signal_hold(SignalHold *hold, bool stoppable);
// The masks are what they were; signals that waited are delivered now.
void signal_release(SignalHold *hold);

#endif
