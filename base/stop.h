// SPDX-License-Identifier: Apache-2.0
// How work is asked to end early: by a signal, by a closed pipe, or by the program that called the library. A request
// sets a flag. Long loops look at it and return stop_error() where work can be saved or left.
//
// No signal handler of ours exists. Code that oneDNN 2.6 generates (its matrix product) points the stack register into
// the heap for a while, so a handler that ran on that thread would overwrite the heap. Therefore:
// - In the program the stop signals are blocked in every thread, and one thread that computes nothing waits for them.
// - In the library (base/signal_hold.h) signals with a handler are blocked while a call computes.
// The flag is the one mutable state of the project that is global.
#ifndef VPD_BASE_STOP_H
#define VPD_BASE_STOP_H

#include "base/error.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

// Reasons that are no signal. SIGPIPE as a reason means that the reader of standard output has gone.
enum { STOP_ASKED = -1 };

// For programs: SIGINT, SIGTERM, SIGHUP and SIGUSR1 ask to stop from here on. Call it before any other thread exists. A
// second signal that comes more than STOP_AGAIN_SECONDS after the first ends the process at once; sooner it is part of
// the same request ("timeout" sends SIGTERM twice, and a closed terminal can send SIGHUP twice). SIGHUP stays ignored
// under nohup.
#define STOP_AGAIN_SECONDS 0.25
Status stop_install(Error *err);

// Why to stop (the signal's number or STOP_ASKED), or 0. Any thread may ask; it costs as much as reading a variable.
int stop_requested(void);

// Asks to stop, from any thread.
void stop_request(int reason);

// STATUS_INTERRUPTED and "stopped by SIGTERM".
Status stop_error(Error *err);

// In the calling thread stop_requested() is also true while *flag is: so one of several jobs in a process is ended. The
// flag stays until the job has returned. NULL: no flag any more.
void stop_also(const atomic_bool *flag);

// Forgets the request (tests).
void stop_clear(void);

// ---- in somebody else's process

// Between begin and end stop_requested() in this thread also sees those of SIGINT, SIGTERM and SIGHUP in `signals` that
// wait because the thread has them blocked. They go on waiting, so the host's handler runs when they are unblocked. The
// last end forgets the request.
void stop_watch_begin(const sigset_t *signals);
void stop_watch_end(void);

// Asks all calls between begin and end to stop, whatever their thread; without any it does nothing. A signal handler
// may call it.
void stop_watched(void);

#endif
